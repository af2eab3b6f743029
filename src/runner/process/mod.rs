//! Runs a command until it, or the run, ends.
//!
//! Everything that happens arrives in one channel: what the command writes, that it closed an output, that it exited.
//! So it never waits for one thing after another, and no amount of output blocks. The command has a process group of
//! its own, with which its children are ended; a process that left the group is found by its parents (see
//! [`ProcessFamily`]). The group's leader is a [`GroupGuard`], which ends it when this process is killed.

mod guard;
mod output;
mod running;

use std::ffi::OsStr;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use self::guard::GroupGuard;
use self::output::OutputTail;
use self::running::RunningCommand;
use super::family::ProcessFamily;
use super::interrupt::Interrupt;
use crate::error::{Error, Result};
use crate::system::posix;
use crate::system::posix::io::Errno;
use crate::system::posix::process::{Pid, Signal};
use crate::system::posix::{CommandExt as _, ExitStatusExt as _};

pub(super) use std::process::Command;

/// The hint for a program that does not exist.
pub(super) const INSTALL_IT: &str =
    "install it, or write where it is: a path with a `/` in it begins in the project's folder";
/// How much time a command and its children get to end, by default.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;
/// How many chunks may wait to be processed; beyond that, the command waits.
const MAX_WAITING: usize = 64;
/// How long an interrupt goes unnoticed at most.
const POLL: Duration = Duration::from_millis(50);

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessOutput {
    /// The end of its standard output; bytes that are no UTF-8 are replaced.
    pub(super) stdout: String,
    /// The end of its error output.
    pub(super) stderr: String,
    /// Its exit status, as a shell reports it: 128 and the signal that ended it.
    pub(super) exit_code: i32,
    /// How long it took.
    pub(super) duration: Duration,
    /// Whether it was ended by an interrupt.
    pub(super) interrupted: bool,
    /// The time-out that ended it.
    pub(super) timed_out: Option<Duration>,
}

/// What happens while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputEvent<'a> {
    /// It is this process.
    Started(u32),
    /// It wrote this to one of its outputs; its lines follow.
    Bytes(OutputStream, &'a [u8]),
    /// It wrote this line.
    Line(OutputStream, &'a str),
    /// Nothing happened for a moment.
    Quiet,
    /// It was interrupted or took longer than it may, and gets time to end.
    Stopping { is_late: bool },
}

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputStream {
    Standard,
    Error,
}

enum PipeEvent {
    Bytes(OutputStream, Vec<u8>),
    Closed(OutputStream),
    Exited,
}

/// Returns a command that works in `folder`. A program with a `/` in its name is a path relative to it.
pub(super) fn command(program: &str, arguments: &[impl AsRef<OsStr>], folder: &Path) -> Command {
    let mut command = posix::command(program);
    command.args(arguments).current_dir(folder);
    command
}

/// Runs a command with this input, for at most `limit`, and calls `see` with what happens meanwhile. After an interrupt
/// or the limit, the command and its children have the time `grace` to end.
///
/// # Errors
///
/// [`Error::Unusable`] where the program does not exist or is not one; [`Error::Io`] where it cannot be run.
pub(super) fn run(
    mut command: Command,
    stdin: &[u8],
    limit: Option<Duration>,
    (interrupt, grace): (&Interrupt, Duration),
    see: &mut dyn FnMut(OutputEvent<'_>),
) -> Result<ProcessOutput> {
    let ((mut child, family, _guard, start), running) = interrupt.start(|| {
        // Without a shell there is none, and everything else goes on as it does with one.
        let mut guard = posix::HAS_GROUPS.then(GroupGuard::start).and_then(io::Result::ok);
        let start = Instant::now();
        let child = spawn(&mut command, guard.as_ref())?;
        let pid = Pid::from_child(&child);
        if let Some(guard) = &mut guard {
            guard.watch(pid);
        }
        let family = ProcessFamily { group: guard.as_ref().map_or(pid, GroupGuard::group), command: pid };
        Ok(((child, family, guard, start), family))
    })?;
    see(OutputEvent::Started(child.id()));
    // A closed channel would make its receiver spin.
    let (_open, events) = listen(&mut child, stdin);
    let mut watched = RunningCommand::new(family, (interrupt, grace), (start, limit));
    while !watched.is_over() {
        match events.recv_timeout(POLL) {
            Ok(PipeEvent::Bytes(stream, bytes)) => {
                see(OutputEvent::Bytes(stream, &bytes));
                watched.outputs[stream as usize].take(&bytes, &mut |line| see(OutputEvent::Line(stream, line)));
            }
            Ok(PipeEvent::Closed(stream)) => watched.outputs[stream as usize].is_closed = true,
            Ok(PipeEvent::Exited) => watched.exited = Some(Instant::now()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => see(OutputEvent::Quiet),
        }
        if watched.exited.is_none() && posix::has_exited(&mut child) {
            watched.exited = Some(Instant::now());
        }
        if let Some(seen) = watched.end_if_due() {
            see(seen);
        }
    }
    if watched.ended.is_some() {
        // What is left of its children.
        family.signal(Signal::KILL);
    }
    // From here on another process may get its number.
    drop(running);
    let status = child.wait().map_err(|source| io_error(&command, source))?;
    let [stdout, stderr] = watched.outputs.map(OutputTail::text);
    Ok(ProcessOutput {
        stdout,
        stderr,
        exit_code: exit_code(status),
        duration: start.elapsed(),
        interrupted: watched.ended.is_some() && !watched.is_too_long,
        timed_out: limit.filter(|_| watched.is_too_long),
    })
}

fn spawn(command: &mut Command, guard: Option<&GroupGuard>) -> Result<Child> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(guard.map_or(0, |guard| guard.group().as_raw_nonzero().get()));
    command.spawn().map_err(|source| {
        let program = &*command.get_program().to_string_lossy();
        let folder = command.get_current_dir();
        let refuse = |message: String, hint: &str| Error::unusable(message, hint);
        match source.kind() {
            io::ErrorKind::NotFound
                if program.contains('/') && folder.is_some_and(|folder| folder.join(program).exists()) =>
            {
                refuse(
                    format!("`{program}` cannot be run: there is no program where its first line says"),
                    "correct the line that begins with `#!`",
                )
            }
            io::ErrorKind::NotFound if folder.is_none_or(Path::is_dir) => {
                refuse(format!("there is no command `{program}`"), INSTALL_IT)
            }
            io::ErrorKind::PermissionDenied => not_executable(program),
            _ if Errno::from_io_error(&source) == Some(Errno::NOEXEC) => refuse(
                format!("`{program}` cannot be run: it is neither a program nor a script"),
                "let a script begin with a line like `#!/bin/sh`, or name what runs it: `sh script`",
            ),
            _ => io_error(command, source),
        }
    })
}

/// Returns the error for a program that exists and may not be run.
pub(super) fn not_executable(program: &str) -> Error {
    let message = format!("`{program}` cannot be run: it is not executable");
    Error::unusable(message, "`chmod +x` makes a script executable")
}

fn io_error(command: &Command, source: io::Error) -> Error {
    Error::Io { action: "run", path: command.get_program().into(), source }
}

/// Starts threads that follow the command. They end with it. A thread that a child of the command delays discards what
/// still arrives, so that it does not delay the child in turn.
fn listen(child: &mut Child, stdin: &[u8]) -> (SyncSender<PipeEvent>, Receiver<PipeEvent>) {
    let pid = Pid::from_child(child);
    let (sender, events) = sync_channel(MAX_WAITING);
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = stdin.to_owned();
        // Whether it reads is its own business.
        thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
    let stdout = child.stdout.take().map(|pipe| (OutputStream::Standard, Box::new(pipe) as Box<dyn Read + Send>));
    let stderr = child.stderr.take().map(|pipe| (OutputStream::Error, Box::new(pipe) as Box<dyn Read + Send>));
    for (stream, pipe) in stdout.into_iter().chain(stderr) {
        let sender = sender.clone();
        thread::spawn(move || read(pipe, stream, &sender));
    }
    let exits = sender.clone();
    thread::spawn(move || posix::await_exit(pid).then(|| exits.send(PipeEvent::Exited)));
    (sender, events)
}

fn read(mut pipe: impl Read, stream: OutputStream, sender: &SyncSender<PipeEvent>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_read) => {
                if sender.send(PipeEvent::Bytes(stream, buffer[..n_read].to_owned())).is_err() {
                    let _ = io::copy(&mut pipe, &mut io::sink());
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = sender.send(PipeEvent::Closed(stream));
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

#[cfg(test)]
mod tests;
