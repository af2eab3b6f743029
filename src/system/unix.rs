//! What POSIX alone has: rustix, the extensions that std has for Unix, and what is done with them in a line or two.
//!
//! `windows/` has the same names for Windows. No other file knows on which of the two it runs.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
#[cfg(feature = "runner")]
use std::process::{Child, Command};

pub use std::os::fd;
pub use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
pub use std::os::unix::process::{CommandExt, ExitStatusExt};

pub use rustix::{fs, io, process};

/// Whether a process has a group, with which it is ended.
#[cfg(feature = "runner")]
pub(crate) const HAS_GROUPS: bool = true;

/// Signals such as Ctrl-C in a thread that may do anything.
#[cfg(feature = "runner")]
pub mod signals {
    use std::sync::Arc;

    pub use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    pub use signal_hook::flag::register;
    pub use signal_hook::iterator::Signals;
    pub use signal_hook::low_level::emulate_default_handler;

    /// Makes a file over the limit of `ulimit -f` a write error, like a full disk, instead of the end of the process. Child
    /// processes get the default handler again.
    pub fn outlive_file_limit() {
        let _ = register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
}

/// Returns the name that these bytes are.
pub(crate) fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// Returns the text of a path; `None` if it is not UTF-8.
pub fn slashed(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}

/// Returns a path that other programs understand, for one without links.
pub fn plain(path: PathBuf) -> PathBuf {
    path
}

/// Returns a variable of the environment.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the mode of a file with these bits, for which systems have other types.
#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "they are not the same on macOS"
)]
pub(crate) fn permissions(bits: u32) -> fs::Mode {
    (bits & 0o777).try_into().map_or(fs::Mode::empty(), fs::Mode::from_bits_truncate)
}

/// Returns the device and the number by which the file system knows a file.
#[allow(clippy::unnecessary_wraps, reason = "Windows asks the file system once more")]
pub(crate) fn file_id(_: &File, metadata: &Metadata) -> std::io::Result<(u64, u64)> {
    Ok((metadata.dev(), metadata.ino()))
}

/// Returns a folder in which an open file has a name, and the name.
#[allow(clippy::unnecessary_wraps, reason = "on Windows, open files have no names")]
pub(crate) fn place_of_open(file: &File) -> Option<(&'static str, String)> {
    let folder = if super::is_portable() { "/dev/fd" } else { "/proc/self/fd" };
    Some((folder, fd::AsRawFd::as_raw_fd(file).to_string()))
}

/// Makes changes to the names in an open folder durable.
pub(crate) fn sync_folder(folder: &fd::OwnedFd) -> std::io::Result<()> {
    File::from(folder.try_clone()?).sync_all()
}

/// Returns the name of this machine.
pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the program that a path names.
pub(crate) fn program_at(path: PathBuf) -> Option<PathBuf> {
    let may_run = |file: &Metadata| file.is_file() && file.mode() & 0o111 != 0;
    path.metadata().is_ok_and(|file| may_run(&file)).then_some(path)
}

/// Returns a command that runs a program.
#[cfg(feature = "runner")]
pub(crate) fn command(program: &str) -> Command {
    Command::new(program)
}

/// Returns a command that runs a line as a person types it, with the path as its last argument.
#[cfg(feature = "cli")]
pub fn shell(line: &str, path: Option<&Path>) -> Command {
    let mut command = Command::new("sh");
    match path {
        Some(path) => command.arg("-c").arg(format!("{line} \"$@\"")).arg(line).arg(path),
        None => command.arg("-c").arg(line),
    };
    command
}

/// Returns what opens a file in the program that the person has for it.
#[cfg(feature = "cli")]
pub fn opener() -> Command {
    Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" })
}

/// Waits until a command has exited. It stays a zombie, and its number its own, until it is waited for in the end.
#[cfg(feature = "runner")]
pub(crate) fn await_exit(command: process::Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(command), options).err() == Some(io::Errno::INTR) {}
    true
}

/// Returns whether a command has exited, where [`await_exit`] cannot wait for it.
#[cfg(feature = "runner")]
pub(crate) fn has_exited(_: &mut Child) -> bool {
    false
}

/// Returns whether somebody may still read standard output: `head` ends before the command that it reads from has more to
/// say.
#[cfg(feature = "cli")]
pub fn is_read() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let out = std::io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let at_once = Timespec::default();
    let is_polled = poll(&mut polled, Some(&at_once)).is_ok();
    !is_polled || !polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Returns whether a path is that of a pipe, into which nobody may ever write.
#[cfg(feature = "cli")]
pub fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|data| std::os::unix::fs::FileTypeExt::is_fifo(&data.file_type()))
}

/// Returns how much time of the processor this process took.
#[cfg(feature = "cli")]
pub fn processor_time() -> std::time::Duration {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::ProcessCPUTime);
    std::time::Duration::try_from(time).unwrap_or_default()
}
