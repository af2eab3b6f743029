//! The commands, one file each: `NAMEArgs` has the options, its comments are the help, and `run` runs the command. `overview` is
//! the program without a command.

pub(crate) mod add;
pub(crate) mod archive;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod edit;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod overview;
pub(crate) mod record;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod search;
#[cfg(feature = "page")]
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod tidy;
pub(crate) mod undo;
pub(crate) mod watch;
