//! The commands, one file each: `NAMEArgs` has the options, its comments are the help, and `run` runs the command.

pub(crate) mod add;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod consolidate;
pub(crate) mod context;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod merge_driver;
pub(crate) mod note;
pub(crate) mod promote;
pub(crate) mod prune;
pub(crate) mod record;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod supersede;
pub(crate) mod watch;
