//! Processes. There are no groups and no signals: a command is ended with what it started, or told nothing.

use std::num::NonZeroI32;
use std::process::{Child, Command, ExitStatus, Stdio};

use super::io::{Errno, ErrnoResult};

/// The number of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pid(NonZeroI32);

impl Pid {
    pub(crate) fn from_raw(number: i32) -> Option<Pid> {
        NonZeroI32::new(number).filter(|number| number.get() > 0).map(Pid)
    }

    pub(crate) fn from_child(child: &Child) -> Pid {
        // Numbers of processes are small.
        i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap_or(Pid(NonZeroI32::MAX))
    }

    pub(crate) fn as_raw_nonzero(self) -> NonZeroI32 {
        self.0
    }
}

/// What a process is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Kill,
}

impl Signal {
    pub const INT: Signal = Signal::Interrupt;
    pub const TERM: Signal = Signal::Terminate;
    pub const KILL: Signal = Signal::Kill;
}

/// A user. Only the one who runs this is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uid(u32);

/// A group of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gid(u32);

impl Gid {
    pub(crate) fn from_raw(number: u32) -> Gid {
        Gid(number)
    }
}

impl Uid {
    pub(crate) fn from_raw(number: u32) -> Uid {
        Uid(number)
    }

    pub(crate) fn as_raw(self) -> u32 {
        self.0
    }

    pub(crate) fn is_root(self) -> bool {
        self.0 == 0
    }
}

pub(crate) fn geteuid() -> Uid {
    Uid(1)
}

pub(crate) fn kill_process(pid: Pid, signal: Signal) -> ErrnoResult<()> {
    end(pid, signal, &["/f"])
}

/// Ends a process with those that it started.
pub(crate) fn kill_process_group(group: Pid, signal: Signal) -> ErrnoResult<()> {
    end(group, signal, &["/t", "/f"])
}

fn end(pid: Pid, signal: Signal, options: &[&str]) -> ErrnoResult<()> {
    // Ctrl-C in a console is for every process in it. Nothing else can be told to one.
    if signal != Signal::Interrupt {
        system("taskkill").args(options).args(["/pid", &pid.0.to_string()]).output()?;
    }
    Ok(())
}

/// Returns whether a process runs, or may run.
pub(crate) fn test_kill_process(pid: Pid) -> ErrnoResult<()> {
    if std::process::id() == pid.0.get().unsigned_abs() {
        return Ok(());
    }
    let filter = format!("PID eq {}", pid.0);
    let Ok(told) = system("tasklist").args(["/nh", "/fo", "csv", "/fi", &filter]).output() else { return Ok(()) };
    let told = String::from_utf8_lossy(&told.stdout);
    // If no such process runs, it prints a sentence without quotes, in the user's language.
    if told.contains(&format!("\"{}\"", pid.0)) { Ok(()) } else { Err(Errno::SRCH) }
}

/// Returns a program of Windows itself, whatever `PATH` has.
fn system(name: &str) -> Command {
    let root = std::env::var_os("SystemRoot").unwrap_or_else(|| r"C:\Windows".into());
    let mut command = Command::new(std::path::Path::new(&root).join("System32").join(name).with_extension("exe"));
    command.stdin(Stdio::null());
    command
}

/// A command stays in the console, so that Ctrl-C reaches it.
pub trait CommandExt {
    fn process_group(&mut self, group: i32) -> &mut Command;
}

impl CommandExt for Command {
    fn process_group(&mut self, _: i32) -> &mut Command {
        self
    }
}

/// No signal ends a process.
pub trait ExitStatusExt {
    fn signal(&self) -> Option<i32>;
}

impl ExitStatusExt for ExitStatus {
    fn signal(&self) -> Option<i32> {
        None
    }
}
