//! The arguments of [`Error::Invalid`](super::Error::Invalid).
//!
//! Arguments that callers handle specially have their own variant, so no code compares names.

use std::fmt;

/// The argument that an [`Error::Invalid`](super::Error::Invalid) is about. `Display` writes its name in the caller's
/// terms.
///
/// ```
/// use ralph_memory::error::Argument;
/// use ralph_memory::{Error, Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let Err(Error::Invalid { what, .. }) = memory.add(&Knowledge::new("Shards", ["db"], " \n")) else { panic!() };
/// assert_eq!((&what, what.to_string().as_str()), (&Argument::Body, "body"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Argument {
    /// The text of an entry.
    Body,
    /// The attempt.
    Attempt,
    /// Any other, by its name.
    Named(String),
}

impl fmt::Display for Argument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Argument::Body => "body",
            Argument::Attempt => "attempt",
            Argument::Named(name) => name,
        })
    }
}

impl<Name: Into<String>> From<Name> for Argument {
    fn from(name: Name) -> Argument {
        Argument::Named(name.into())
    }
}
