//! `merge-driver`: the command that git runs to merge two versions of an entry.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::Error;
use ralph_memory::entry::{Merged, merge};
use ralph_memory::memory::write_file;

use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse;
use crate::ui::Ui;

/// The folder of a memory, as part of a path.
const MEMORY: &str = ".ralph/";

/// Merge two versions of an entry by key and by block, for git; exit code 1 if a person has to decide
///
/// `check --register-merge-driver` tells git to run it. The result replaces OURS. If both sides changed a key, the
/// later value counts, and the other stays as a comment that `check` reports. Only bodies get conflict markers. Files
/// that cannot be one entry, such as two entries that got the same name, are a conflict: OURS stays, with THEIRS between
/// conflict markers at its end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory merge-driver --path .ralph/knowledge/a.md base ours theirs")]
pub(crate) struct MergeDriverArgs {
    /// The version that both come from; empty if there is none
    base: PathBuf,
    /// Our version, which the result replaces
    ours: PathBuf,
    /// Their version
    theirs: PathBuf,
    /// The path of the file in the work tree
    #[arg(long, value_name = "PATH")]
    path: String,
    /// The length of conflict markers
    #[arg(long, value_name = "N", default_value_t = 7, allow_negative_numbers = true, value_parser = parse::positive::<u8>)]
    marker_size: u8,
}

pub(crate) fn run(ui: &mut Ui<'_>, args: &MergeDriverArgs) -> anyhow::Result<Exit> {
    let hint = "`--path` names a file below `.ralph/`, as git's `%P` does";
    let path = within(&args.path)
        .ok_or_else(|| UsageError::new(format!("`{}` is not an entry of a memory", args.path), hint))?;
    let [base, ours, theirs] = [&args.base, &args.ours, &args.theirs].map(|path| read(path));
    let (base, ours, theirs) = (base?, ours?, theirs?);
    let (merged, conflict) = match merge(path, &base, &ours, &theirs, args.marker_size.into()) {
        Merged::One { bytes, conflicts: 0 } => (bytes, None),
        Merged::One { bytes, .. } => (bytes, Some("both changed the same part of its body".to_owned())),
        Merged::Both { bytes, reason } => {
            (bytes, Some(format!("{reason}; theirs is between conflict markers at the end of ours")))
        }
    };
    if merged != ours {
        // Git reads the file of this name after this program has ended.
        write_file(&args.ours, &merged)?;
    }
    let Some(conflict) = conflict else { return Ok(Exit::Done) };
    ui.warn(&format!("{}: {conflict}", args.path));
    Ok(Exit::No)
}

/// Returns the part of a path inside of the memory.
fn within(path: &str) -> Option<&str> {
    path.strip_prefix(MEMORY).or_else(|| Some(path.rsplit_once("/.ralph/")?.1))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_the_memory() {
        assert_eq!(within(".ralph/knowledge/a.md"), Some("knowledge/a.md"));
        assert_eq!(within("a/b/.ralph/knowledge/a.md"), Some("knowledge/a.md"));
        assert_eq!(within("a/.ralph/x/.ralph/knowledge/a.md"), Some("knowledge/a.md"));
        assert_eq!(within(".ralph/x/.ralph/knowledge/a.md"), Some("x/.ralph/knowledge/a.md"));
        assert_eq!(within("src/main.rs"), None);
        assert_eq!(within("not.ralph/knowledge/a.md"), None);
    }
}
