//! Runs a program and lets one of its file operations fail, as a disk would.
//!
//! The program makes its system calls without the C library, so nothing that is loaded before it could come
//! between. It is traced instead: it stops at each call, and the one that is to fail never reaches the kernel.
//! Linux on x86-64 alone.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, c_long, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::calls::{About, argument, held, target, trace};

/// How long a run may take. One that takes longer hangs, and is ended.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) at: At,
    /// Which of the errors that it can give, counted on from the first when there are fewer.
    pub(crate) error: usize,
    /// Which of them are not counted.
    pub(crate) thin: Thin,
    /// A part of a path: calls are counted from the first one on that is about such a path. Empty for all.
    pub(crate) since: &'static str,
    /// Errors that calls can give beside their own, unless they only read.
    pub(crate) more: &'static [Errno],
    /// Whether the program is killed before the call, instead of an error. Only calls are counted that change the files
    /// of the memory: between two of them a kill leaves the same files.
    pub(crate) kills: bool,
}

impl Fault {
    /// Returns the fault that is the first error of a call.
    pub(crate) fn at(at: At) -> Fault {
        Fault { at, error: 0, thin: Thin::default(), since: "", more: &[], kills: false }
    }
}

/// Says which call is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum At {
    /// The one with this number among those that are counted, from 1.
    Number(usize),
    /// The first of this name about a path that has this in it.
    Call(&'static str, &'static str),
}

/// Calls of which few are counted: those below a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thin {
    /// The path, below the program's folder.
    pub(crate) path: &'static str,
    /// Whether those that do not only read are counted all the same.
    pub(crate) only_reading: bool,
    /// How many of them there are for one that counts.
    pub(crate) one_in: usize,
    /// How many are left out before the first that counts.
    pub(crate) first: usize,
}

impl Default for Thin {
    /// Leaves nothing out.
    fn default() -> Thin {
        Thin { path: "", only_reading: true, one_in: 1, first: 0 }
    }
}

/// The call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Injected {
    pub(crate) call: &'static str,
    pub(crate) does: Does,
    /// What it was about.
    pub(crate) path: PathBuf,
    pub(crate) error: Errno,
    /// How many errors it could have given.
    pub(crate) n_errors: usize,
}

/// What became of a run.
#[derive(Debug)]
pub(crate) struct Traced {
    /// The exit code; none where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// How many calls were counted; with a fault, up to that.
    pub(crate) counted: usize,
    pub(crate) injected: Option<Injected>,
}

/// What a call does, as far as it decides how it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Opens a file that is there.
    Opens,
    /// Opens a file, or makes it.
    Makes,
    /// Makes a name.
    Names,
    /// Removes a name.
    Removes,
    /// Says what is under a name.
    Looks,
    /// Reads from a descriptor, or says something of it.
    Reads,
    /// Lets a file be read as memory.
    Maps,
    /// Writes to a descriptor, or waits until that is on the disk.
    Writes,
    /// Changes what a file has, or who may use it.
    Changes,
    /// Makes a second descriptor.
    Doubles,
}

impl Does {
    /// Returns whether it leaves everything as it is.
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Does::Opens | Does::Looks | Does::Reads | Does::Maps | Does::Doubles)
    }

    /// Returns the errors that it gives on a bad day.
    pub(crate) fn errors(self) -> &'static [Errno] {
        match self {
            Does::Opens => &[Errno::EIO, Errno::EACCES, Errno::EMFILE],
            Does::Makes => &[Errno::ENOSPC, Errno::EIO, Errno::EACCES, Errno::EMFILE],
            Does::Names => &[Errno::ENOSPC, Errno::EIO, Errno::EACCES],
            Does::Removes | Does::Looks => &[Errno::EIO, Errno::EACCES],
            Does::Reads | Does::Maps | Does::Changes => &[Errno::EIO],
            Does::Writes => &[Errno::EIO, Errno::ENOSPC],
            Does::Doubles => &[Errno::EMFILE],
        }
    }
}

/// Returns what a call is; none where it is no file operation that can be counted.
fn operation(registers: &user_regs_struct) -> Option<(&'static str, Does, About)> {
    use About::{Below, Descriptor, Path};
    let argument = |at| argument(registers, at);
    let opens = |flags: u64| {
        if flags & u64::from(libc::O_CREAT.unsigned_abs()) == 0 { Does::Opens } else { Does::Makes }
    };
    Some(match c_long::try_from(registers.orig_rax).ok()? {
        libc::SYS_open => ("open", opens(argument(1)), Path(0)),
        libc::SYS_openat => ("openat", opens(argument(2)), Below(0)),
        // Its flags are behind a pointer; the program makes no file by it.
        libc::SYS_openat2 => ("openat2", Does::Opens, Below(0)),
        libc::SYS_mkdir => ("mkdir", Does::Names, Path(0)),
        libc::SYS_mkdirat => ("mkdirat", Does::Names, Below(0)),
        libc::SYS_rename => ("rename", Does::Names, Path(0)),
        libc::SYS_renameat => ("renameat", Does::Names, Below(0)),
        libc::SYS_renameat2 => ("renameat2", Does::Names, Below(0)),
        libc::SYS_link => ("link", Does::Names, Path(0)),
        libc::SYS_linkat => ("linkat", Does::Names, Below(0)),
        libc::SYS_unlink => ("unlink", Does::Removes, Path(0)),
        libc::SYS_rmdir => ("rmdir", Does::Removes, Path(0)),
        libc::SYS_unlinkat => ("unlinkat", Does::Removes, Below(0)),
        libc::SYS_stat => ("stat", Does::Looks, Path(0)),
        libc::SYS_lstat => ("lstat", Does::Looks, Path(0)),
        libc::SYS_access => ("access", Does::Looks, Path(0)),
        libc::SYS_newfstatat => ("newfstatat", Does::Looks, Below(0)),
        libc::SYS_statx => ("statx", Does::Looks, Below(0)),
        libc::SYS_faccessat => ("faccessat", Does::Looks, Below(0)),
        libc::SYS_faccessat2 => ("faccessat2", Does::Looks, Below(0)),
        libc::SYS_fstat => ("fstat", Does::Reads, Descriptor(0)),
        libc::SYS_read => ("read", Does::Reads, Descriptor(0)),
        libc::SYS_pread64 => ("pread64", Does::Reads, Descriptor(0)),
        libc::SYS_readv => ("readv", Does::Reads, Descriptor(0)),
        libc::SYS_getdents64 => ("getdents64", Does::Reads, Descriptor(0)),
        libc::SYS_mmap => ("mmap", Does::Maps, Descriptor(4)),
        libc::SYS_write => ("write", Does::Writes, Descriptor(0)),
        libc::SYS_pwrite64 => ("pwrite64", Does::Writes, Descriptor(0)),
        libc::SYS_writev => ("writev", Does::Writes, Descriptor(0)),
        libc::SYS_fsync => ("fsync", Does::Writes, Descriptor(0)),
        libc::SYS_fdatasync => ("fdatasync", Does::Writes, Descriptor(0)),
        libc::SYS_ftruncate => ("ftruncate", Does::Changes, Descriptor(0)),
        libc::SYS_fchmod => ("fchmod", Does::Changes, Descriptor(0)),
        libc::SYS_fchown => ("fchown", Does::Changes, Descriptor(0)),
        // A shared lock is taken to read.
        libc::SYS_flock if argument(1) & u64::from(libc::LOCK_SH.unsigned_abs()) != 0 => {
            ("flock", Does::Reads, Descriptor(0))
        }
        libc::SYS_flock => ("flock", Does::Changes, Descriptor(0)),
        libc::SYS_fcntl if argument(1) == u64::from(libc::F_DUPFD_CLOEXEC.unsigned_abs()) => {
            ("fcntl", Does::Doubles, Descriptor(0))
        }
        _ => return None,
    })
}

/// A program with its arguments, its folder and its variables, and what its files lie below.
#[derive(Debug, Clone)]
pub(crate) struct Program<'a> {
    pub(crate) path: &'a Path,
    pub(crate) arguments: Vec<String>,
    /// Its variables beside HOME and PATH.
    pub(crate) variables: &'a [(&'a str, &'a str)],
    pub(crate) input: &'a str,
    /// The working folder. File operations below it are counted.
    pub(crate) folder: &'a Path,
    pub(crate) home: PathBuf,
}

impl Program<'_> {
    /// Runs it without looking.
    pub(crate) fn run(&self) -> Traced {
        let mut command = Command::new(self.path);
        let status = self.prepare(command.args(&self.arguments)).status().unwrap();
        self.traced(status.code(), 0, None)
    }

    /// Runs it, and lets one of its calls fail.
    pub(crate) fn run_with(&self, fault: Fault) -> Traced {
        let mut command = held(self.path);
        let (_child, pid) = trace(self.prepare(command.args(&self.arguments)), Options::empty());
        let (ended, waiting) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill(pid, Signal::SIGKILL);
            }
        });
        let mut tracer = Tracer {
            program: pid,
            root: self.folder,
            fault,
            runs: false,
            counted: 0,
            is_since: fault.since.is_empty(),
            n_thin: 0,
            injected: None,
            threads: HashMap::new(),
        };
        let code = tracer.follow(pid);
        drop(ended);
        self.traced(code, tracer.counted, tracer.injected)
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let file = |name: &str| fs::File::create(self.home.join(name)).unwrap();
        fs::write(self.home.join("in"), self.input).unwrap();
        // Without git, which has file operations of its own.
        command.env_clear().env("HOME", &self.home).env("PATH", &self.home).current_dir(self.folder);
        command.envs(self.variables.iter().copied());
        command.stdin(Stdio::from(fs::File::open(self.home.join("in")).unwrap()));
        command.stdout(Stdio::from(file("out"))).stderr(Stdio::from(file("err")))
    }

    fn traced(&self, code: Option<i32>, counted: usize, injected: Option<Injected>) -> Traced {
        let said = |name: &str| fs::read_to_string(self.home.join(name)).unwrap();
        Traced { code, stdout: said("out"), stderr: said("err"), counted, injected }
    }
}

/// Where a thread is.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    in_call: bool,
    /// What the call that it is in gives.
    fails: Option<Errno>,
}

struct Tracer<'a> {
    program: Pid,
    root: &'a Path,
    fault: Fault,
    /// Whether the program runs by now, and not the shell.
    runs: bool,
    counted: usize,
    /// Whether the part of the program has come that is looked at.
    is_since: bool,
    /// How many calls there were of those that are thinned out.
    n_thin: usize,
    injected: Option<Injected>,
    threads: HashMap<Pid, Thread>,
}

impl Tracer<'_> {
    /// Goes from stop to stop until the program has ended, and returns its exit code.
    fn follow(&mut self, program: Pid) -> Option<i32> {
        // Other tests have children and tracers of their own.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(flags)).unwrap() {
                WaitStatus::Exited(pid, code) if pid == program => return Some(code),
                WaitStatus::Signaled(pid, ..) if pid == program => return None,
                WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..) => {
                    self.threads.remove(&pid);
                }
                WaitStatus::PtraceSyscall(pid) => {
                    // A thread that is killed at its stop is gone, and says so next.
                    let _ = self.step(pid);
                    self.resume(pid, None);
                }
                WaitStatus::PtraceEvent(pid, _, event) => {
                    self.runs |= event == libc::PTRACE_EVENT_EXEC;
                    self.resume(pid, None);
                }
                WaitStatus::Stopped(pid, signal) => self.resume(pid, Some(signal)),
                WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
            }
        }
    }

    fn resume(&self, pid: Pid, signal: Option<Signal>) {
        let is_in_call = self.threads.get(&pid).is_some_and(|thread| thread.in_call);
        // What comes after the fault need not be looked at.
        let _ = if self.injected.is_some() && !is_in_call {
            ptrace::cont(pid, signal)
        } else {
            ptrace::syscall(pid, signal)
        };
    }

    fn step(&mut self, pid: Pid) -> nix::Result<()> {
        let thread = self.threads.entry(pid).or_default();
        thread.in_call = !thread.in_call;
        if !self.runs {
            return Ok(());
        }
        if !thread.in_call {
            if let Some(error) = thread.fails.take() {
                let mut registers = ptrace::getregs(pid)?;
                registers.rax = i64::from(-(error as i32)).cast_unsigned();
                ptrace::setregs(pid, registers)?;
            }
            return Ok(());
        }
        let mut registers = ptrace::getregs(pid)?;
        let Some((call, does, about)) = operation(&registers) else { return Ok(()) };
        let Some(path) = target(pid, &registers, about).filter(|path| path.starts_with(self.root)) else {
            return Ok(());
        };
        if self.injected.is_some() || self.fault.kills && !self.changes_files(call, does, &path) {
            return Ok(());
        }
        if !self.is_since {
            self.is_since = path.to_string_lossy().contains(self.fault.since);
            return Ok(());
        }
        // What an editor does is its own affair.
        if !Path::new(&format!("/proc/{}/task/{pid}", self.program)).exists() {
            return Ok(());
        }
        let Thin { path: thinned, only_reading, one_in, first } = self.fault.thin;
        if (does.only_reads() || !only_reading) && path.starts_with(self.root.join(thinned)) {
            self.n_thin += 1;
            if (self.n_thin + one_in - 1) % one_in != first {
                return Ok(());
            }
        }
        self.counted += 1;
        let is_meant = match self.fault.at {
            At::Number(number) => self.counted == number,
            At::Call(name, part) => name == call && path.to_string_lossy().contains(part),
        };
        if !is_meant {
            return Ok(());
        }
        let more = if does.only_reads() { &[] } else { self.fault.more };
        let errors = [does.errors(), more].concat();
        let error = errors[self.fault.error % errors.len()];
        self.injected = Some(Injected { call, does, path, error, n_errors: errors.len() });
        if self.fault.kills {
            return kill(self.program, Signal::SIGKILL);
        }
        self.threads.entry(pid).or_default().fails = Some(error);
        // No call has this number: the kernel does nothing.
        registers.orig_rax = u64::MAX;
        ptrace::setregs(pid, registers)
    }

    /// Returns whether a call may change what is in the files of the memory, outside of the cache.
    fn changes_files(&self, call: &str, does: Does, path: &Path) -> bool {
        !does.only_reads()
            && !matches!(call, "fsync" | "fdatasync" | "flock" | "fchmod" | "fchown")
            && [".ralph", ".git/ralph-memory"].iter().any(|folder| path.starts_with(self.root.join(folder)))
            && !path.starts_with(self.root.join(".ralph/cache"))
    }
}
