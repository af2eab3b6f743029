//! Files below open folders. A name is never followed where it is a link or a junction.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, OpenOptions};
use std::os::windows::fs::{FileTypeExt, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use bitflags::bitflags;
use winapi_util::file::information;

use super::fd::{AsFd, BorrowedFd, OwnedFd};
use super::io::{Errno, ErrnoResult};
pub(crate) use super::process::{Gid, Uid, geteuid};

/// Opens folders, too.
const BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Opens a link itself.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Asks for nothing but the metadata, which everyone may have at the same time.
const READ_ATTRIBUTES: u32 = 0x80;
/// Lets others read and write what is open, and not rename or remove it.
const SHARE_ALL_BUT_DELETE: u32 = 0x1 | 0x2;
/// Attributes of files.
const READ_ONLY: u64 = 0x1;
const FOLDER: u64 = 0x10;
const REPARSE_POINT: u64 = 0x400;
/// What a scanner of viruses that has just opened a file lets other calls fail with: access denied, a sharing violation, a
/// lock violation.
const TRANSIENT: [i32; 3] = [5, 32, 33];
/// How long to wait before the second try; each further wait is twice as long, 1.3 s together.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const N_WAITS: u32 = 7;
/// The seconds from 1601 to 1970, and the parts that Windows counts in each.
const UNIX_EPOCH: i64 = 11_644_473_600;
const PARTS: i64 = 10_000_000;

bitflags! {
    /// How a file is opened.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OFlags: u32 {
        const RDONLY = 0;
        const WRONLY = 0x1;
        const RDWR = 0x2;
        const CREATE = 0x40;
        const EXCL = 0x80;
        const APPEND = 0x400;
        const DIRECTORY = 0x1_0000;
        const NOFOLLOW = 0x2_0000;
        // These are for what Windows does not have: pipes and terminals with names, `exec`.
        const NOCTTY = 0;
        const NONBLOCK = 0;
        const CLOEXEC = 0;
    }

    /// How a name is meant.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AtFlags: u32 {
        const SYMLINK_NOFOLLOW = 0x1;
        const REMOVEDIR = 0x2;
        const EACCESS = 0;
    }

    /// Who may read and write a file. It is told, and never changed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Mode: u32 {
        const RWXU = 0o700;
        const RWXG = 0o070;
        const RWXO = 0o007;
    }

    /// What somebody wants to do with a file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AccessKind: u32 {
        const WRITE_OK = 0x2;
        const EXEC_OK = 0x1;
    }
}

pub use AccessKind as Access;

impl Mode {
    pub(crate) const fn from_raw_mode(mode: u32) -> Mode {
        Mode::from_bits_truncate(mode & 0o777)
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    RegularFile,
    Directory,
    Symlink,
    Unknown,
}

impl FileType {
    pub(crate) const fn from_raw_mode(mode: u32) -> FileType {
        match mode & 0o170_000 {
            0o100_000 => FileType::RegularFile,
            0o040_000 => FileType::Directory,
            0o120_000 => FileType::Symlink,
            _ => FileType::Unknown,
        }
    }
}

impl From<fs::FileType> for FileType {
    fn from(of_std: fs::FileType) -> FileType {
        match of_std {
            _ if of_std.is_symlink() => FileType::Symlink,
            _ if of_std.is_dir() => FileType::Directory,
            _ => FileType::RegularFile,
        }
    }
}

/// The metadata of a file.
#[allow(clippy::struct_field_names, reason = "they are those of POSIX")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub(crate) st_mode: u32,
    pub(crate) st_uid: u32,
    pub(crate) st_gid: u32,
    pub(crate) st_dev: u64,
    pub(crate) st_ino: u64,
    pub(crate) st_nlink: u64,
    pub(crate) st_size: i64,
    pub(crate) st_mtime: i64,
    pub(crate) st_mtime_nsec: i64,
    /// When it was created, or written if that was later. A change of its name or its attributes does not show.
    pub(crate) st_ctime: i64,
    pub(crate) st_ctime_nsec: i64,
}

/// Returns a time of Windows in seconds since 1970, and nanoseconds.
pub(super) fn unix_time(time: u64) -> (i64, i64) {
    let time = i64::try_from(time).unwrap_or(i64::MAX);
    (time.div_euclid(PARTS) - UNIX_EPOCH, time.rem_euclid(PARTS) * 100)
}

pub(crate) fn fstat(opened: impl AsFd) -> ErrnoResult<Stat> {
    let file = opened.as_fd().file;
    let found = information(file)?;
    let attributes = found.file_attributes();
    let kind = match attributes {
        // Of these, only links and junctions lead elsewhere; a file in the cloud is a file.
        _ if attributes & REPARSE_POINT != 0 && file.metadata()?.is_symlink() => 0o120_000,
        _ if attributes & FOLDER != 0 => 0o040_100,
        _ => 0o100_000,
    };
    let mode = if attributes & READ_ONLY != 0 { 0o400 } else { 0o600 };
    let written = found.last_write_time().unwrap_or(0);
    let changed = written.max(found.creation_time().unwrap_or(0));
    let ((st_mtime, st_mtime_nsec), (st_ctime, st_ctime_nsec)) = (unix_time(written), unix_time(changed));
    Ok(Stat {
        st_mode: kind | mode,
        st_uid: geteuid().as_raw(),
        st_gid: 1,
        st_dev: found.volume_serial_number(),
        st_ino: found.file_index(),
        st_nlink: found.number_of_links(),
        st_size: found.file_size().try_into().unwrap_or(i64::MAX),
        st_mtime,
        st_mtime_nsec,
        st_ctime,
        st_ctime_nsec,
    })
}

pub(crate) fn stat(path: impl AsRef<Path>) -> ErrnoResult<Stat> {
    fstat(OpenOptions::new().access_mode(READ_ATTRIBUTES).custom_flags(BACKUP_SEMANTICS).open(path)?)
}

pub(crate) fn statat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> ErrnoResult<Stat> {
    let is_followed = !flags.contains(AtFlags::SYMLINK_NOFOLLOW);
    let mut options = OpenOptions::new();
    options.access_mode(READ_ATTRIBUTES);
    options.custom_flags(BACKUP_SEMANTICS | if is_followed { 0 } else { OPEN_REPARSE_POINT });
    fstat(options.open(path_at(folder.as_fd(), name.as_ref())?)?)
}

/// Returns the path of a name below a folder.
fn path_at(folder: BorrowedFd<'_>, name: &OsStr) -> ErrnoResult<PathBuf> {
    let mut path = folder.path.ok_or(Errno::BADF)?.to_owned();
    // A `:` separates the name of a stream from that of its file.
    if name.as_encoded_bytes().iter().any(|byte| matches!(byte, b'\\' | b':')) {
        return Err(Errno::INVAL);
    }
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            _ => return Err(Errno::INVAL),
        }
    }
    Ok(path)
}

/// Opens a path from the user, and follows links in all but its last part, there too without `NOFOLLOW`.
pub(crate) fn open(path: impl AsRef<Path>, flags: OFlags, _: Mode) -> ErrnoResult<OwnedFd> {
    let mut opened = open_path(path.as_ref().to_owned(), flags)?;
    if flags.contains(OFlags::DIRECTORY) {
        // It may be relative, and contain links.
        opened.path = fs::canonicalize(&opened.path)?;
    }
    Ok(opened)
}

pub(crate) fn openat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: OFlags, _: Mode) -> ErrnoResult<OwnedFd> {
    open_path(path_at(folder.as_fd(), name.as_ref())?, flags)
}

fn open_path(path: PathBuf, flags: OFlags) -> ErrnoResult<OwnedFd> {
    let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
    let (creates, appends) = (flags.contains(OFlags::CREATE), flags.contains(OFlags::APPEND));
    let follows = !flags.contains(OFlags::NOFOLLOW);
    let mut options = OpenOptions::new();
    options.read(!flags.contains(OFlags::WRONLY)).write(writes && !appends).append(appends);
    options.create(creates).create_new(creates && flags.contains(OFlags::EXCL));
    options.custom_flags(BACKUP_SEMANTICS | if follows { 0 } else { OPEN_REPARSE_POINT });
    if flags.contains(OFlags::DIRECTORY) {
        options.share_mode(SHARE_ALL_BUT_DELETE);
    }
    let opened = OwnedFd { file: options.open(&path)?, path };
    let found = opened.file.metadata()?;
    match flags.contains(OFlags::DIRECTORY) {
        _ if found.is_symlink() => Err(Errno::LOOP),
        true if !found.is_dir() => Err(Errno::NOTDIR),
        _ => Ok(opened),
    }
}

/// The names in a folder.
pub struct Dir(fs::ReadDir);

impl Dir {
    pub(crate) fn read_from(folder: impl AsFd) -> ErrnoResult<Dir> {
        Ok(Dir(fs::read_dir(folder.as_fd().path.ok_or(Errno::BADF)?)?))
    }
}

impl Iterator for Dir {
    type Item = ErrnoResult<FoundName>;

    fn next(&mut self) -> Option<ErrnoResult<FoundName>> {
        let found = |found: fs::DirEntry| {
            let name = CString::new(found.file_name().into_encoded_bytes()).map_err(|_| Errno::INVAL)?;
            Ok(FoundName { name, kind: found.file_type()?.into() })
        };
        Some(self.0.next()?.map_err(Errno::from).and_then(found))
    }
}

/// A name in a folder, and what it names.
pub struct FoundName {
    name: CString,
    kind: FileType,
}

impl FoundName {
    pub(crate) fn file_name(&self) -> &CStr {
        &self.name
    }

    pub(crate) fn file_type(&self) -> FileType {
        self.kind
    }
}

pub(crate) fn mkdirat(folder: impl AsFd, name: impl AsRef<OsStr>, _: Mode) -> ErrnoResult<()> {
    Ok(fs::create_dir(path_at(folder.as_fd(), name.as_ref())?)?)
}

/// Calls again what fails for a moment.
fn persistently(call: impl Fn() -> std::io::Result<()>) -> ErrnoResult<()> {
    let is_transient = |error: &std::io::Error| error.raw_os_error().is_some_and(|number| TRANSIENT.contains(&number));
    for n_tried in 0..N_WAITS {
        match call() {
            Err(error) if is_transient(&error) => std::thread::sleep(FIRST_WAIT * 2_u32.pow(n_tried)),
            result => return Ok(result?),
        }
    }
    Ok(call()?)
}

pub(crate) fn renameat(
    from: impl AsFd,
    from_name: impl AsRef<OsStr>,
    to: impl AsFd,
    to_name: impl AsRef<OsStr>,
) -> ErrnoResult<()> {
    let from = path_at(from.as_fd(), from_name.as_ref())?;
    let to = path_at(to.as_fd(), to_name.as_ref())?;
    persistently(|| fs::rename(&from, &to))
}

/// Renames a folder and never replaces anything. For a file, Windows has no such call that the standard library knows.
pub(crate) fn rename_folder(from: (impl AsFd, &str), to: (impl AsFd, &str)) -> ErrnoResult<()> {
    match statat(&from.0, from.1, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode))? {
        FileType::Directory => match statat(&to.0, to.1, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(Errno::EXIST),
            Err(Errno::NOENT) => renameat(from.0, from.1, to.0, to.1),
            Err(error) => Err(error),
        },
        _ => Err(Errno::NOSYS),
    }
}

pub(crate) fn unlinkat(folder: impl AsFd, name: impl AsRef<OsStr>, flags: AtFlags) -> ErrnoResult<()> {
    let path = path_at(folder.as_fd(), name.as_ref())?;
    // A junction and a link to a folder are removed as folders are.
    let is_link_to_folder = |found: fs::Metadata| FileTypeExt::is_symlink_dir(&found.file_type());
    let is_folder = flags.contains(AtFlags::REMOVEDIR) || fs::symlink_metadata(&path).is_ok_and(is_link_to_folder);
    persistently(|| if is_folder { fs::remove_dir(&path) } else { fs::remove_file(&path) })
}

pub(crate) fn accessat(folder: impl AsFd, name: &str, kind: Access, flags: AtFlags) -> ErrnoResult<()> {
    let mode = statat(folder, name, flags)?.st_mode;
    let is_folder = FileType::from_raw_mode(mode) == FileType::Directory;
    // Of a folder, the attribute means something else.
    let is_denied = kind.contains(Access::WRITE_OK) && mode & 0o200 == 0 && !is_folder;
    if is_denied { Err(Errno::ACCESS) } else { Ok(()) }
}

pub(crate) fn access(path: impl AsRef<Path>, kind: Access) -> ErrnoResult<()> {
    let found = fs::metadata(path)?;
    let is_denied = kind.contains(Access::WRITE_OK) && found.is_file() && found.permissions().readonly();
    if is_denied { Err(Errno::ACCESS) } else { Ok(()) }
}

pub(crate) fn fchmod(_: impl AsFd, _: Mode) -> ErrnoResult<()> {
    Ok(())
}

pub(crate) fn fchown(_: impl AsFd, _: Option<Uid>, _: Option<Gid>) -> ErrnoResult<()> {
    Ok(())
}
