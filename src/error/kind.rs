//! The kinds of errors, by who can do something about them.
//!
//! The program maps the kinds to exit codes.

use super::Error;

/// The kind of an error, by who can do something about it. A new kind is a breaking change: callers match on all of
/// them.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::error::ErrorKind;
/// # let folder = tempfile::tempdir()?;
/// let error = Memory::open(folder.path()).err().unwrap();
/// assert_eq!(error.kind(), ErrorKind::NoMemory);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The requested object does not exist.
    NotFound,
    /// An argument, a value or a setting makes no sense.
    Usage,
    /// There is no memory here.
    NoMemory,
    /// The call would do harm: a conflict, a secret, a newer format, a file that cannot be edited.
    Refused,
    /// Another process held its lock too long; the same call may work later.
    Busy,
    /// The file system, `git` or a cache failed.
    Environment,
    /// A bug.
    Bug,
}

impl Error {
    /// Returns the kind of the error; for an attempt that was not recorded, the kind of the reason.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::NoSuchEntry { .. }
            | Error::NoVersion { .. }
            | Error::AlreadyArchived { .. }
            | Error::NothingToRedo
            | Error::NoOperation { .. } => ErrorKind::NotFound,
            Error::Invalid { .. } | Error::Settings { .. } | Error::BudgetTooSmall { .. } | Error::Unusable { .. } => {
                ErrorKind::Usage
            }
            Error::NoMemory { .. } => ErrorKind::NoMemory,
            Error::NewerFormat { .. }
            | Error::Uneditable { .. }
            | Error::Conflict { .. }
            | Error::NotUndoable { .. }
            | Error::InvalidEdit { .. }
            | Error::TitleTaken { .. }
            | Error::Outdated { .. }
            | Error::ChangedSince { .. }
            | Error::SupersedesCycle { .. }
            | Error::Secret { .. }
            | Error::StillWorking { .. }
            | Error::Held { .. }
            | Error::ForeignOwner { .. }
            | Error::OutsideRoot { .. } => ErrorKind::Refused,
            Error::Locked { .. } => ErrorKind::Busy,
            Error::Io { .. } | Error::Git { .. } | Error::Index { .. } => ErrorKind::Environment,
            Error::NotRecorded { source, .. }
            | Error::NotKept { source, .. }
            | Error::PartlySetUp { source, .. }
            | Error::HalfUndone { source, .. } => source.kind(),
            Error::Panicked { .. } => ErrorKind::Bug,
        }
    }

    /// Returns the error for an argument that cannot be used.
    pub(crate) fn unusable(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Unusable { message: message.into(), hint: hint.into() }
    }
}
