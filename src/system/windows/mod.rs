//! What `unix.rs` has, for Windows: by std and by handles of files, as far as Windows has it.
//!
//! A folder that is open cannot be renamed or removed, nor one above it, so what stands below it is opened by its path.
//! Whose a file is, and who may read it, is not asked: a person's folders are closed to others by their access control lists.

#![allow(clippy::unnecessary_wraps, reason = "some of what can fail on Unix cannot fail here")]

pub mod fd;
pub mod fs;
pub mod io;
pub mod process;
#[cfg(feature = "runner")]
pub mod signals;

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata};
use std::os::windows::fs::FileExt as _;
#[cfg(feature = "cli")]
use std::os::windows::process::CommandExt as _;
use std::path::{Path, PathBuf};
#[cfg(feature = "runner")]
use std::process::{Child, Command};
#[cfg(feature = "cli")]
use std::time::{Duration, Instant};

pub use self::process::{CommandExt, ExitStatusExt};

/// Whether a process has a group, with which it is ended.
#[cfg(feature = "runner")]
pub(crate) const HAS_GROUPS: bool = false;
/// What a file that runs may end in, in the order in which it is looked for.
const PROGRAMS: [&str; 4] = ["exe", "com", "cmd", "bat"];

/// Reads and writes at an offset.
pub trait FileExt {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()>;
    fn write_all_at(&self, buffer: &[u8], offset: u64) -> std::io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.seek_read(buffer, offset)
    }

    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
        while !buffer.is_empty() {
            let n_read = self.seek_read(buffer, offset)?;
            if n_read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[n_read..];
            offset += n_read as u64;
        }
        Ok(())
    }

    fn write_all_at(&self, mut buffer: &[u8], mut offset: u64) -> std::io::Result<()> {
        while !buffer.is_empty() {
            let n_written = self.seek_write(buffer, offset)?;
            buffer = &buffer[n_written..];
            offset += n_written as u64;
        }
        Ok(())
    }
}

/// What Unix says of a file beside what std has everywhere.
pub trait MetadataExt {
    fn uid(&self) -> u32;
    fn mode(&self) -> u32;
    fn mtime(&self) -> i64;
    fn mtime_nsec(&self) -> i64;
}

impl MetadataExt for Metadata {
    fn uid(&self) -> u32 {
        process::geteuid().as_raw()
    }

    fn mode(&self) -> u32 {
        0o600
    }

    fn mtime(&self) -> i64 {
        fs::unix_time(std::os::windows::fs::MetadataExt::last_write_time(self)).0
    }

    fn mtime_nsec(&self) -> i64 {
        fs::unix_time(std::os::windows::fs::MetadataExt::last_write_time(self)).1
    }
}

/// Folders get the access control list of the folder that they are in.
pub trait DirBuilderExt {
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _: u32) -> &mut DirBuilder {
        self
    }
}

/// Returns the name that these bytes are; those that are no UTF-8 are replaced.
pub(crate) fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Returns the text of a path, with `/` between its parts as everywhere in a memory; `None` if it is not UTF-8.
pub fn slashed(path: &Path) -> Option<String> {
    Some(path.to_str()?.replace('\\', "/"))
}

/// Returns a path that other programs understand, for one without links: without the `\\?\` before the letter of its drive.
pub fn plain(path: PathBuf) -> PathBuf {
    let bare =
        path.to_str().and_then(|path| path.strip_prefix(r"\\?\")).filter(|path| path.as_bytes().get(1) == Some(&b':'));
    bare.map(PathBuf::from).unwrap_or(path)
}

/// Returns a variable of the environment, or that which Windows has in its place.
pub fn variable(name: &str) -> Option<OsString> {
    let of_windows = || match name {
        "HOME" => std::env::var_os("USERPROFILE"),
        "TMPDIR" => std::env::var_os("TEMP"),
        _ => None,
    };
    std::env::var_os(name).or_else(of_windows)
}

/// Returns the mode of a file with these bits.
pub(crate) fn permissions(bits: u32) -> fs::Mode {
    fs::Mode::from_raw_mode(bits)
}

/// Returns the volume and the number by which the file system knows a file.
pub(crate) fn file_id(file: &File, _: &Metadata) -> std::io::Result<(u64, u64)> {
    let stat = fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Open files have no names of their own.
pub(crate) fn place_of_open(_: &File) -> Option<(&'static str, String)> {
    None
}

/// NTFS writes names down in its own journal.
pub(crate) fn sync_folder(_: &fd::OwnedFd) -> std::io::Result<()> {
    Ok(())
}

/// Returns the name of this machine.
pub(crate) fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns the program that a path names, whose extension may be left out.
pub(crate) fn program_at(path: PathBuf) -> Option<PathBuf> {
    let has_extension =
        path.extension().is_some_and(|own| PROGRAMS.iter().any(|known| own.eq_ignore_ascii_case(known)));
    let full = PROGRAMS.iter().map(|extension| {
        let mut full = path.clone().into_os_string();
        full.push(".");
        full.push(extension);
        PathBuf::from(full)
    });
    let full = full.filter(|_| !has_extension).collect::<Vec<_>>();
    Some(path).filter(|_| has_extension).into_iter().chain(full).find(|path| path.is_file())
}

/// Returns a command that runs a program. What npm installs is a script that Windows finds by its extension alone.
#[cfg(feature = "runner")]
pub(crate) fn command(program: &str) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).filter(|_| !program.contains(['/', '\\']));
    Command::new(folders.find_map(|folder| program_at(folder.join(program))).unwrap_or_else(|| program.into()))
}

/// Returns a command that runs a line as a person types it, with the path as its last argument.
#[cfg(feature = "cli")]
pub fn shell(line: &str, path: Option<&Path>) -> Command {
    let mut command = Command::new("cmd");
    // A path of Windows has no `"`.
    let path = path.map(|path| format!(" \"{}\"", path.display())).unwrap_or_default();
    command.args(["/d", "/c"]).raw_arg(format!("\"{line}{path}\""));
    command
}

/// Returns what opens a file in the program that the person has for it.
#[cfg(feature = "cli")]
pub fn opener() -> Command {
    Command::new("explorer")
}

/// A thread cannot wait for a command that another one may end.
#[cfg(feature = "runner")]
pub(crate) fn await_exit(_: process::Pid) -> bool {
    false
}

/// Returns whether a command has exited. Its number stays its own until it is dropped.
#[cfg(feature = "runner")]
pub(crate) fn has_exited(command: &mut Child) -> bool {
    matches!(command.try_wait(), Ok(Some(_)))
}

/// A pipe that nobody reads is an error of the next write.
#[cfg(feature = "cli")]
pub fn is_read() -> bool {
    true
}

/// No path of a file leads to a pipe.
#[cfg(feature = "cli")]
pub fn is_pipe(_: &Path) -> bool {
    false
}

/// Returns how much time of the processor this process took at most: all since it was first asked.
#[cfg(feature = "cli")]
pub fn processor_time() -> Duration {
    static FIRST: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}
