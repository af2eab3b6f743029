//! The system calls of a program that is traced: what each is about, read from the program's registers and memory.
//! Linux on x86-64 alone.

use std::ffi::OsStr;
use std::fs;
use std::io::IoSliceMut;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use nix::libc::{self, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The longest path that the system takes, in bytes.
const MAX_PATH: usize = 4096;

/// Returns a shell that stops until it is [traced](trace), and is then replaced by the program.
pub(crate) fn held(program: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]).arg(program);
    command
}

/// Starts a [held] program, and traces it and all that it starts, with these options beside the common ones.
pub(crate) fn trace(command: &mut Command, options: Options) -> (Child, Pid) {
    let child = command.spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(pid, Signal::SIGSTOP));
    let common = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, common | options).expect("a process may trace its own child");
    kill(pid, Signal::SIGCONT).unwrap();
    (child, pid)
}

/// Where a call says what it is about: the number of an argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum About {
    /// A descriptor.
    Descriptor(usize),
    /// A path that begins at the working folder.
    Path(usize),
    /// A descriptor of a folder, and a path below it behind that. An empty path is the descriptor itself.
    Below(usize),
}

/// Returns an argument of a call.
pub(crate) fn argument(registers: &user_regs_struct, at: usize) -> u64 {
    [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9][at]
}

/// Returns what a call is about; none where that is no file.
pub(crate) fn target(pid: Pid, registers: &user_regs_struct, about: About) -> Option<PathBuf> {
    match about {
        About::Descriptor(at) => descriptor(pid, argument(registers, at)),
        About::Path(at) => Some(working_folder(pid)?.join(path_at(pid, argument(registers, at))?)),
        About::Below(at) => {
            let path = path_at(pid, argument(registers, at + 1))?;
            if path.is_absolute() {
                return Some(path);
            }
            let folder = descriptor(pid, argument(registers, at))?;
            Some(if path.as_os_str().is_empty() { folder } else { folder.join(path) })
        }
    }
}

fn working_folder(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

fn descriptor(pid: Pid, number: u64) -> Option<PathBuf> {
    // Descriptors are 32 bits; the rest of the register may hold anything.
    #[expect(clippy::cast_possible_truncation, reason = "as the kernel does")]
    #[expect(clippy::cast_possible_wrap, reason = "as the kernel does")]
    let number = number as u32 as i32;
    if number == libc::AT_FDCWD {
        return working_folder(pid);
    }
    fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()
}

/// Reads 64 bits in the memory of the program.
pub(crate) fn word_at(pid: Pid, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let remote = [RemoteIoVec { base: usize::try_from(address).ok()?, len: bytes.len() }];
    let read = process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &remote).ok()?;
    (read == bytes.len()).then(|| u64::from_ne_bytes(bytes))
}

/// Reads a path in the memory of the program.
fn path_at(pid: Pid, address: u64) -> Option<PathBuf> {
    let address = usize::try_from(address).ok()?;
    let mut bytes = [0; MAX_PATH];
    // The page behind it may not be there.
    let room = MAX_PATH - address % MAX_PATH;
    let read = |at: usize, buffer: &mut [u8]| {
        let remote = [RemoteIoVec { base: address + at, len: buffer.len() }];
        process_vm_readv(pid, &mut [IoSliceMut::new(buffer)], &remote).ok()
    };
    let mut n_bytes = read(0, &mut bytes[..room])?;
    if !bytes[..n_bytes].contains(&0) {
        n_bytes += read(n_bytes, &mut bytes[n_bytes..])?;
    }
    let end = bytes[..n_bytes].iter().position(|byte| *byte == 0)?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes[..end])))
}
