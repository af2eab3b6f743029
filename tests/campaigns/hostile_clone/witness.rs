//! Runs a program under a tracer and notes what it does beyond its own folder: programs that it starts, sockets,
//! and every path that it makes, changes or removes. Linux on x86-64 alone.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::Duration;

use nix::libc::{self, c_long, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::calls::{About, argument, target, trace, word_at};

/// How long a run may take before it is ended, whatever it waits for.
const TIME_OUT: Duration = Duration::from_secs(60);

/// What a run did.
#[derive(Debug, Default)]
pub(crate) struct Testimony {
    /// The exit code; none where a signal ended the program.
    pub(crate) code: Option<i32>,
    /// The command lines of the programs that were started, each with the program that started it.
    pub(crate) started: Vec<Started>,
    /// The calls that made, changed or removed a path, or opened a socket, and succeeded.
    pub(crate) changed: Vec<(&'static str, PathBuf)>,
    /// The most memory that one of the processes had, in kilobytes.
    pub(crate) peak_kb: u64,
    /// The CPU time of all processes, in milliseconds.
    pub(crate) cpu_ms: u64,
}

/// A program that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    /// The name of the program that started it.
    pub(crate) by: String,
    /// Its command line.
    pub(crate) arguments: Vec<String>,
}

/// Runs a command that [waits for its tracer](crate::calls::held), and notes what it does until it and all that it started have
/// ended. `talk` is given the child once it is traced, in a thread of its own.
pub(crate) fn witness(command: &mut Command, talk: impl FnOnce(&mut Child) + Send) -> Testimony {
    let (mut child, pid) = trace(command, Options::PTRACE_O_TRACEEXIT);
    let (ended, waiting) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waiting.recv_timeout(TIME_OUT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill(pid, Signal::SIGKILL);
            }
        });
        scope.spawn(move || talk(&mut child));
        let mut tracer = Tracer {
            testimony: Testimony::default(),
            threads: HashMap::new(),
            programs: HashMap::from([(pid, None)]),
            processes: HashMap::new(),
        };
        tracer.testimony.code = tracer.follow(pid);
        drop(ended);
        tracer.testimony
    })
}

/// A call that will have changed something if it succeeds.
#[derive(Debug)]
struct Pending {
    call: &'static str,
    paths: Vec<PathBuf>,
}

struct Tracer {
    testimony: Testimony,
    /// What each thread that is in a call is about to change; none between calls.
    threads: HashMap<Pid, Option<Pending>>,
    /// The program that each process runs; none before its first.
    programs: HashMap<Pid, Option<String>>,
    /// The process that each thread belongs to.
    processes: HashMap<Pid, Pid>,
}

impl Tracer {
    /// Goes from stop to stop until the program and its children have ended, and returns the program's exit code.
    fn follow(&mut self, program: Pid) -> Option<i32> {
        // Other tests have children and tracers of their own.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let mut code = None;
        loop {
            // Children that the program left behind are followed to their end, too.
            let Ok(stop) = waitpid(None, Some(flags)) else { return code };
            match stop {
                WaitStatus::Exited(pid, status) => {
                    self.threads.remove(&pid);
                    if pid == program {
                        code = Some(status);
                    }
                }
                WaitStatus::Signaled(pid, ..) => drop(self.threads.remove(&pid)),
                WaitStatus::PtraceSyscall(pid) => {
                    // A thread that is killed at its stop is gone, and says so next.
                    let _ = self.step(pid);
                    let _ = ptrace::syscall(pid, None);
                }
                WaitStatus::PtraceEvent(pid, _, event) => {
                    self.event(pid, event);
                    let _ = ptrace::syscall(pid, None);
                }
                // Where a new thread or a group of processes stops, there is no signal to hand on.
                WaitStatus::Stopped(pid, Signal::SIGTRAP) => drop(ptrace::syscall(pid, None)),
                WaitStatus::Stopped(pid, signal) => drop(ptrace::syscall(pid, Some(signal))),
                WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
            }
        }
    }

    fn event(&mut self, pid: Pid, event: i32) {
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let Ok(new) = ptrace::getevent(pid) else { return };
                let new = Pid::from_raw(i32::try_from(new).unwrap());
                let parent = self.process_of(pid);
                let program = self.programs.get(&parent).cloned().flatten();
                if self.process_of(new) == new {
                    self.programs.insert(new, program);
                }
            }
            libc::PTRACE_EVENT_EXEC => {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let arguments: Vec<String> = line
                    .strip_suffix(&[0])
                    .unwrap_or(&line)
                    .split(|byte| *byte == 0)
                    .map(|argument| String::from_utf8_lossy(argument).into_owned())
                    .collect();
                let name = arguments.first().map_or("", |path| path.rsplit('/').next().unwrap_or_default()).to_owned();
                let before = self.programs.insert(pid, Some(name)).flatten();
                // The program itself takes the place of the shell that waited for the tracer.
                if let Some(by) = before {
                    self.testimony.started.push(Started { by, arguments });
                }
            }
            libc::PTRACE_EVENT_EXIT if self.process_of(pid) == pid => {
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
                let peak = peak.trim().trim_end_matches(" kB").parse().unwrap_or(0);
                self.testimony.peak_kb = self.testimony.peak_kb.max(peak);
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                // Behind the name, which may have spaces, CPU times are the twelfth and the thirteenth field, in hundredths of a second.
                let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
                let ticks: u64 =
                    fields.get(11..13).unwrap_or_default().iter().filter_map(|field| field.parse::<u64>().ok()).sum();
                self.testimony.cpu_ms += ticks * 10;
            }
            _ => {}
        }
    }

    /// Returns the process that a thread belongs to.
    fn process_of(&mut self, thread: Pid) -> Pid {
        *self.processes.entry(thread).or_insert_with(|| {
            let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
            let id = status.lines().find_map(|line| line.strip_prefix("Tgid:")).and_then(|id| id.trim().parse().ok());
            id.map_or(thread, Pid::from_raw)
        })
    }

    fn step(&mut self, pid: Pid) -> nix::Result<()> {
        let process = self.process_of(pid);
        if self.programs.get(&process).is_none_or(Option::is_none) {
            return Ok(());
        }
        if let Some(pending) = self.threads.remove(&pid) {
            if let Some(pending) = pending
                && ptrace::getregs(pid)?.rax.cast_signed() >= 0
            {
                let changed = pending.paths.into_iter().map(|path| (pending.call, path));
                self.testimony.changed.extend(changed);
            }
            return Ok(());
        }
        let registers = ptrace::getregs(pid)?;
        self.threads.insert(pid, change(pid, &registers));
        Ok(())
    }
}

/// Returns what a call changes if it succeeds; none where it only looks.
fn change(pid: Pid, registers: &user_regs_struct) -> Option<Pending> {
    use About::{Below, Descriptor, Path};
    let argument = |at| argument(registers, at);
    let writes = |flags: u64| {
        let changing = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        flags & u64::from(changing.unsigned_abs()) != 0
    };
    let (call, about): (_, &[About]) = match c_long::try_from(registers.orig_rax).ok()? {
        libc::SYS_open if writes(argument(1)) => ("open", &[Path(0)]),
        libc::SYS_creat => ("creat", &[Path(0)]),
        libc::SYS_openat if writes(argument(2)) => ("openat", &[Below(0)]),
        libc::SYS_openat2 if writes(word_at(pid, argument(2))?) => ("openat2", &[Below(0)]),
        libc::SYS_mkdir => ("mkdir", &[Path(0)]),
        libc::SYS_mkdirat => ("mkdirat", &[Below(0)]),
        libc::SYS_mknod => ("mknod", &[Path(0)]),
        libc::SYS_mknodat => ("mknodat", &[Below(0)]),
        libc::SYS_rename => ("rename", &[Path(0), Path(1)]),
        libc::SYS_renameat => ("renameat", &[Below(0), Below(2)]),
        libc::SYS_renameat2 => ("renameat2", &[Below(0), Below(2)]),
        libc::SYS_link => ("link", &[Path(0), Path(1)]),
        // What is linked may be a descriptor of a file without a name; the new name is what counts.
        libc::SYS_linkat => ("linkat", &[Below(2)]),
        libc::SYS_symlink => ("symlink", &[Path(1)]),
        libc::SYS_symlinkat => ("symlinkat", &[Below(1)]),
        libc::SYS_unlink => ("unlink", &[Path(0)]),
        libc::SYS_rmdir => ("rmdir", &[Path(0)]),
        libc::SYS_unlinkat => ("unlinkat", &[Below(0)]),
        libc::SYS_truncate => ("truncate", &[Path(0)]),
        libc::SYS_ftruncate => ("ftruncate", &[Descriptor(0)]),
        libc::SYS_chmod => ("chmod", &[Path(0)]),
        libc::SYS_fchmod => ("fchmod", &[Descriptor(0)]),
        libc::SYS_fchmodat => ("fchmodat", &[Below(0)]),
        libc::SYS_chown => ("chown", &[Path(0)]),
        libc::SYS_lchown => ("lchown", &[Path(0)]),
        libc::SYS_fchown => ("fchown", &[Descriptor(0)]),
        libc::SYS_fchownat => ("fchownat", &[Below(0)]),
        libc::SYS_utimes => ("utimes", &[Path(0)]),
        // Without a path it is about the descriptor.
        libc::SYS_utimensat if argument(1) == 0 => ("utimensat", &[Descriptor(0)]),
        libc::SYS_utimensat => ("utimensat", &[Below(0)]),
        libc::SYS_setxattr => ("setxattr", &[Path(0)]),
        libc::SYS_lsetxattr => ("lsetxattr", &[Path(0)]),
        libc::SYS_fsetxattr => ("fsetxattr", &[Descriptor(0)]),
        libc::SYS_socket => ("socket", &[]),
        libc::SYS_connect => ("connect", &[]),
        _ => return None,
    };
    let mut paths: Vec<PathBuf> = about.iter().filter_map(|about| resolved(pid, registers, *about)).collect();
    if about.is_empty() {
        paths.push(PathBuf::new());
    }
    Some(Pending { call, paths })
}

/// Returns the path that a call is about, with the links in its folders followed.
fn resolved(pid: Pid, registers: &user_regs_struct, about: About) -> Option<PathBuf> {
    let path = target(pid, registers, about)?;
    if matches!(about, About::Descriptor(_)) {
        return Some(path);
    }
    // `/proc/self` is another process here.
    if path.starts_with("/proc") {
        return fs::read_link(path.to_string_lossy().replace("/self/", &format!("/{pid}/"))).ok().or(Some(path));
    }
    let (folder, name) = (path.parent()?, path.file_name());
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    Some(name.map_or(folder.clone(), |name| folder.join(name)))
}
