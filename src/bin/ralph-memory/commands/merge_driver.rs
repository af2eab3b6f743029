//! `merge-driver`: the command that git runs to merge two versions of an entry.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::entry::{Merged, merge};
use ralph_memory::memory::write_file;
use ralph_memory::{Error, Memory};

use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse;
use crate::ui::Ui;

/// The folder of a memory, as part of a path.
const MEMORY: &str = ".ralph/";
/// The variables with which git names the merged commits.
const HEADS: &str = "GITHEAD_";

/// Merge two versions of an entry by key and by block, for git; exit code 1 if a person has to decide
///
/// `doctor --register-merge-driver` tells git to run it. The result replaces OURS. If both sides changed a key, the
/// later value counts, and the other stays as a comment that `check` reports. Only bodies get conflict markers. Two
/// entries that got the same name are kept apart: theirs becomes a file beside ours. If git takes a file in the archive
/// for an entry that was moved, and both sides changed it, that is a conflict.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  git config merge.ralph-memory.driver \\
    \"ralph-memory merge-driver --marker-size %L --path %P %O %A %B\"")]
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
    let (root, path) = split(&args.path).ok_or_else(|| UsageError {
        message: format!("`{}` is not an entry of a memory", args.path),
        hint: "`--path` names a file below `.ralph/`, as git's `%P` does".to_owned(),
    })?;
    let texts = [&args.base, &args.ours, &args.theirs].map(|path| read(path));
    let [base, ours, theirs] = texts;
    let (Some(base), Some(ours), Some(theirs)) = (base?, ours?, theirs?) else {
        ui.warn(&format!("{}: not merged: one of its versions is not UTF-8", args.path));
        return Ok(Exit::No);
    };
    match merge(path, &base, &ours, &theirs, args.marker_size.into()) {
        Merged::Text { text, conflicts } => {
            if text != ours {
                // Git reads the file of this name after this program has ended.
                write_file(&args.ours, text.as_bytes())?;
            }
            if conflicts == 0 {
                return Ok(Exit::Done);
            }
            ui.warn(&format!("{}: both changed the same part of its body", args.path));
            Ok(Exit::No)
        }
        // Git found the base under another name, so ours is not at this path.
        Merged::Apart if !base.trim().is_empty() && !Path::new(&args.path).is_file() => {
            let reason = "one entry got two titles, and was moved";
            ui.warn(&format!("{}: not merged, ours stays: {reason}", args.path));
            Ok(Exit::No)
        }
        Merged::Apart => {
            let heads: Vec<String> = std::env::vars_os()
                .filter_map(|(name, _)| name.to_str()?.strip_prefix(HEADS).map(str::to_owned))
                .collect();
            let memory = Memory::open(Path::new(if root.is_empty() { "." } else { root }))?;
            let kept = memory.keep_apart(path, &theirs, &heads)?;
            let kept = if root.is_empty() { kept } else { format!("{root}/{kept}") };
            ui.warn(&format!("{}: two entries have this name; theirs is now {kept}: `git add` it", args.path));
            Ok(Exit::Done)
        }
        Merged::Refused(reason) => {
            let shown = &args.path;
            ui.warn(&format!("{shown}: not merged, ours stays: {reason}"));
            if path.starts_with("archive/") {
                // The files are still ours, so the side that moved it is known.
                let stage = if Path::new(shown).is_file() { 3 } else { 2 };
                ui.warn(&format!("`git show :{stage}:{shown}` prints the version of the side that did not move it"));
            }
            Ok(Exit::No)
        }
    }
}

/// Returns the folder that contains the memory, and the path inside it.
fn split(path: &str) -> Option<(&str, &str)> {
    if let Some(rest) = path.strip_prefix(MEMORY) {
        return Some(("", rest));
    }
    let at = path.rfind(&format!("/{MEMORY}"))?;
    Some((&path[..at], &path[at + 1 + MEMORY.len()..]))
}

/// Reads a version; `None` if it is not UTF-8.
fn read(path: &Path) -> Result<Option<String>, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })?;
    Ok(String::from_utf8(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_the_memory() {
        assert_eq!(split(".ralph/knowledge/a.md"), Some(("", "knowledge/a.md")));
        assert_eq!(split("a/b/.ralph/knowledge/a.md"), Some(("a/b", "knowledge/a.md")));
        assert_eq!(split("a/.ralph/x/.ralph/knowledge/a.md"), Some(("a/.ralph/x", "knowledge/a.md")));
        assert_eq!(split("src/main.rs"), None);
        assert_eq!(split("not.ralph/knowledge/a.md"), None);
    }
}
