//! What Linux alone has, and what takes its place on other systems.
//!
//! Everything else of the program is POSIX, which [`posix`] has: on Windows, a second implementation of it. The feature `portable`
//! switches what is Linux's off, so that tests and campaigns run on Linux as on a system without it.

#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::{Command, Stdio};

use self::posix::fd::{AsFd, OwnedFd};
use self::posix::fs::OFlags;
use self::posix::io::Errno;
use self::posix::process::{Pid, test_kill_process};
#[cfg(unix)]
pub use self::unix as posix;
#[cfg(windows)]
pub use self::windows as posix;

/// How a file gets another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenameKind {
    /// Never in the place of another file.
    New,
    /// The two files take each other's names.
    Exchange,
}

/// What the system says of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// When it was started, in ticks since the machine was; 0 if the system does not say.
    pub(crate) started: u64,
    /// Whether it ended, and nobody waited for it yet.
    pub(crate) is_zombie: bool,
}

/// Whether to ask the system to rename without replacing a file, and to exchange two names.
pub(crate) const HAS_RENAME_FLAGS: bool = !is_portable() || cfg!(any(target_vendor = "apple", windows));

/// Returns whether to do without what only Linux has.
pub(crate) const fn is_portable() -> bool {
    cfg!(any(feature = "portable", not(target_os = "linux")))
}

/// Opens a path below a folder without following a link in any part of it; `None` if the caller must open part by part.
pub(crate) fn open_beneath(folder: impl AsFd, path: &str, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
    if is_portable() {
        return None;
    }
    linux::open_beneath(folder, path, flags)
}

/// Renames a file in one step. `false` means that nothing was done because the system or the file system cannot do it.
pub(crate) fn rename(kind: RenameKind, from: (impl AsFd, &str), to: (impl AsFd, &str)) -> io::Result<bool> {
    match renamed(kind, from, to) {
        Ok(()) => Ok(true),
        Err(error) if [Errno::NOSYS, Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn renamed(kind: RenameKind, from: (impl AsFd, &str), to: (impl AsFd, &str)) -> Result<(), Errno> {
    use posix::fs::{RenameFlags, renameat_with};

    let flags = match kind {
        RenameKind::New => RenameFlags::NOREPLACE,
        RenameKind::Exchange => RenameFlags::EXCHANGE,
    };
    renameat_with(from.0, from.1, to.0, to.1, flags)
}

#[cfg(windows)]
fn renamed(kind: RenameKind, from: (impl AsFd, &str), to: (impl AsFd, &str)) -> Result<(), Errno> {
    if kind == RenameKind::New { posix::fs::rename_folder(from, to) } else { Err(Errno::NOSYS) }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple", windows)))]
fn renamed(_: RenameKind, _: (impl AsFd, &str), _: (impl AsFd, &str)) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Returns whether this name is a mount point, as when a container mounts a single file. Other systems mount no files.
pub(crate) fn is_mount(folder: impl AsFd, name: &str) -> bool {
    !is_portable() && linux::is_mount(folder, name)
}

/// Returns a word that changes when the machine restarts, or nothing if the system has none.
pub(crate) fn boot() -> String {
    proc("sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns a word for the place in which process numbers have the same meaning: this machine until it restarts, and in it
/// the container. `None` if the system has no such word.
pub(crate) fn process_place() -> Option<String> {
    let namespace = if is_portable() { None } else { fs::read_link("/proc/self/ns/pid").ok() }?;
    Some(format!("{} {}", boot(), namespace.display()))
}

/// Returns the processes of the machine by their numbers: from `/proc`, else from `ps`.
pub(crate) fn processes() -> BTreeMap<i32, ProcessStat> {
    if is_portable() {
        let told = Command::new("ps").args(["-A", "-o", "pid=,ppid=,pgid="]).stderr(Stdio::null()).output();
        let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned()).unwrap_or_default();
        return told.lines().filter_map(told_process).collect();
    }
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, stat(&proc(&format!("{pid}/stat"))?)?))).collect()
}

/// Reads a line of `ps`: `PID PARENT GROUP`.
fn told_process(line: &str) -> Option<(i32, ProcessStat)> {
    let mut numbers = line.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some((next()?, ProcessStat { parent: next()?, group: next()?, ..ProcessStat::default() }))
}

/// Returns when the process with this number was started; `None` if none runs. Where the system does not say when, every
/// process was started at 0, so a later one with the number is taken for it.
pub(crate) fn started(pid: u32) -> Option<u64> {
    if is_portable() {
        let pid = Pid::from_raw(pid.try_into().ok()?)?;
        return matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)).then_some(0);
    }
    let stat = stat(&proc(&format!("{pid}/stat"))?)?;
    (!stat.is_zombie).then_some(stat.started)
}

/// Reads `stat` of a process (`proc(5)`): `PID (NAME) STATE PARENT GROUP …`, where a name may hold anything, and the 22nd
/// field is the time of the start.
fn stat(text: &str) -> Option<ProcessStat> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(ProcessStat { parent, group, started: fields.nth(16)?.parse().ok()?, is_zombie })
}

/// Returns whether this process ignores a signal, as far as the system tells.
pub(crate) fn is_ignored(signal: i32) -> bool {
    is_in_mask(&proc("self/status").unwrap_or_default(), signal)
}

/// Reads the signals that a process ignores, a bit for each from the lowest.
fn is_in_mask(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    signal > 0 && mask.checked_shr(signal.unsigned_abs() - 1).unwrap_or(0) & 1 == 1
}

/// Reads a file below `/proc`.
fn proc(path: &str) -> Option<String> {
    if is_portable() { None } else { fs::read_to_string(format!("/proc/{path}")).ok() }
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::system::posix::fd::{AsFd, OwnedFd};
    use crate::system::posix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, openat2, statx};
    use crate::system::posix::io::Errno;

    pub(super) fn open_beneath(folder: impl AsFd, path: &str, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(folder, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            // Kernels before 5.6, sandboxes that do not know the call, and a concurrent rename.
            Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => None,
            result => Some(result),
        }
    }

    pub(super) fn is_mount(folder: impl AsFd, name: &str) -> bool {
        statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty())
            .is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use crate::system::posix::fd::{AsFd, OwnedFd};
    use crate::system::posix::fs::OFlags;
    use crate::system::posix::io::Errno;

    pub(super) fn open_beneath(_: impl AsFd, _: &str, _: OFlags) -> Option<Result<OwnedFd, Errno>> {
        None
    }

    pub(super) fn is_mount(_: impl AsFd, _: &str) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let rest = (8..22).map(|number| number.to_string()).collect::<Vec<_>>().join(" ");
        let read = |state: &str| stat(&format!("7 (a) b (c)) {state} 3 4 5 6 {rest} 2200 23"));
        let expected = ProcessStat { parent: 3, group: 4, started: 2200, is_zombie: false };
        assert_eq!(read("S"), Some(expected));
        assert_eq!(read("Z"), Some(ProcessStat { is_zombie: true, ..expected }));
        assert_eq!(stat("7 (a"), None);
    }

    #[test]
    fn ignored_signals_are_read() {
        let check = |status: &str, signal, expected: bool| assert_eq!(is_in_mask(status, signal), expected, "{status}");
        let (hang_up, interrupt, terminate) = (1, 2, 15);
        check("Name:\tx\nSigIgn:\t0000000000000001\n", hang_up, true);
        check("SigIgn:\t0000000000000001\n", interrupt, false);
        check("SigIgn:\t0000000000004002\n", interrupt, true);
        check("SigIgn:\t0000000000004002\n", terminate, true);
        check("SigBlk:\t0000000000000001\nSigIgn:\t0\n", hang_up, false);
        check("", hang_up, false);
        check("SigIgn:\tzz\n", hang_up, false);
    }

    #[test]
    fn processes_are_told_with_their_parents() {
        let own = processes()[&i32::try_from(std::process::id()).unwrap()];
        assert_eq!(own.parent.unsigned_abs(), std::os::unix::process::parent_id());
        let expected = ProcessStat { parent: 1, group: 7, ..ProcessStat::default() };
        assert_eq!(told_process("  7     1     7"), Some((7, expected)));
        assert_eq!(told_process("  PID  PPID"), None);
    }
}
