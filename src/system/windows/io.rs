//! The errors of the system, each by one number: Windows has several for some.

use std::io;

pub type ErrnoResult<T> = Result<T, Errno>;

/// An error of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(i32);

impl Errno {
    pub const NOENT: Errno = Errno(2);
    pub const MFILE: Errno = Errno(4);
    pub const ACCESS: Errno = Errno(5);
    pub const BADF: Errno = Errno(6);
    pub const NOMEM: Errno = Errno(8);
    pub const ROFS: Errno = Errno(19);
    pub const NODEV: Errno = Errno(20);
    pub const NOTSUP: Errno = Errno(50);
    pub const NXIO: Errno = Errno(55);
    pub const STALE: Errno = Errno(59);
    pub const INVAL: Errno = Errno(87);
    pub const NOSYS: Errno = Errno(120);
    pub const NOTEMPTY: Errno = Errno(145);
    pub const EXIST: Errno = Errno(183);
    pub const NOEXEC: Errno = Errno(193);
    pub const NOTDIR: Errno = Errno(267);
    pub const IO: Errno = Errno(1117);
    pub const PERM: Errno = Errno(1314);
    pub const NFILE: Errno = Errno(1450);
    pub const LOOP: Errno = Errno(1921);
    pub const OPNOTSUPP: Errno = Errno::NOTSUP;
    /// No error of a file has this number: that of a process which does not exist.
    pub const SRCH: Errno = Errno(-1);

    pub(crate) fn from_io_error(error: &io::Error) -> Option<Errno> {
        match error.kind() {
            io::ErrorKind::NotFound => Some(Errno::NOENT),
            io::ErrorKind::AlreadyExists => Some(Errno::EXIST),
            io::ErrorKind::DirectoryNotEmpty => Some(Errno::NOTEMPTY),
            _ => error.raw_os_error().map(Errno),
        }
    }

    pub(crate) const fn raw_os_error(self) -> i32 {
        self.0
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        Errno::from_io_error(&error).unwrap_or(Errno::IO)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0)
    }
}
