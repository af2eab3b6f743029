//! Reads and writes entry files.
//!
//! This is the only module that touches them. It knows the folder layout and nothing of their content. Every path is
//! opened from the root's descriptor, part by part and never through a link, so nothing outside of the folder is read
//! or written. A write goes to a temporary file in the same folder and is renamed over the target, so a reader sees the
//! old text or the new one.

mod anchor;
#[cfg(target_os = "linux")]
mod cache;
mod clone;
mod common;
mod copies;
mod files;
mod folder;
mod init;
mod layout;
mod lock;
mod make_folders;
mod moves;
mod name;
mod operation_log;
mod outside;
mod private;
mod read;
mod remove;
mod replace_file;
mod seal;
mod survey;
mod sweep;
mod temp;
mod trust;
mod undo;
mod user_key;
mod visit;
mod write;

pub use crate::entry::path::version_of;
pub(crate) use clone::git_dir;
pub(crate) use copies::{Copy, TREES, TreeEntry};
#[cfg(feature = "runner")]
pub(crate) use folder::parent_of;
pub(crate) use folder::{FileKind, FileStat, Folder};
pub(crate) use layout::CONFIG;
pub use layout::Store;
pub(crate) use lock::Lock;
pub use name::stem_for_title;
pub(crate) use name::{archived_path, is_reserved_name};
pub(crate) use operation_log::MAX_BYTES as MAX_LOGGED_BYTES;
pub use operation_log::OperationScope;
pub(crate) use operation_log::record::{LoggedChange, LoggedOperation, OperationHead};
pub use outside::write_file;
pub(crate) use private::{
    check_own_memory, make_own_memory, open_own_file, private_names, read_if_begins, remove_private, rename_private,
    write_private,
};
pub(crate) use read::Unreadable;
pub(crate) use seal::{SHORT_SUM, SealKey};
pub(crate) use survey::{FolderState, LockState, Paths, Survey};
pub(crate) use trust::Trust;
pub use undo::KeptText;
pub(crate) use undo::MAX_EDITED_BYTES;
pub(crate) use visit::SourceFiles;
pub(crate) use write::Created;

#[cfg(test)]
mod tests;
