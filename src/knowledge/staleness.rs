//! Staleness: whether the files that an entry names are gone or have changed a lot since it was written.
//!
//! Git is asked once for all entries; the verdict itself is pure.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::entry::path::{is_pattern, is_project_path};
use crate::entry::{Head, ImportedFrom};
use crate::git::Touch;
use crate::workspace::{Work, Workspace};

/// How many paths git is asked about in a call.
const MAX_PATHS: usize = 1_000;

/// A file has changed much if the lines added and removed are at least this share of its lines...
const MUCH: f64 = 0.5;
/// ... and at least so many: in a small file every change is a large share.
const LEAST_LINES: u64 = 10;

/// Git's data about the files that entries name.
#[derive(Debug, Default)]
struct FileHistory {
    /// The commits that changed them, the newest first.
    touches: Vec<Touch>,
    /// The files that exist.
    present: HashSet<String>,
    /// The number of lines of each tracked one.
    lines: HashMap<String, u64>,
}

/// Why and since when an entry may be outdated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Staleness {
    /// The commit that removed a file, or by which it had changed much.
    pub(crate) commit: String,
    /// The file.
    pub(crate) path: String,
    /// Whether it is gone.
    pub(crate) is_gone: bool,
}

impl Staleness {
    /// Returns the first digits of the commit, as git shows them.
    pub(crate) fn short_commit(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }
}

/// Returns the staleness of the entries with these heads; all `None` if there is no git.
pub(crate) fn staleness(workspace: &Workspace, heads: &[&Head]) -> Vec<Option<Staleness>> {
    let now = workspace.now();
    let recency = |head: &Head| head.clone().without_future(now).recency();
    let dated: Vec<_> = heads.iter().filter_map(|head| Some((recency(head)?, &head.files))).collect();
    let mut paths: Vec<&str> = dated
        .iter()
        .flat_map(|(_, files)| *files)
        .map(|file| file.trim_end_matches('/'))
        .filter(|path| is_project_path(path) && !is_pattern(path))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MAX_PATHS);
    let oldest = dated.iter().filter(|(_, files)| !files.is_empty()).map(|(written, _)| *written).min();
    let known = oldest.and_then(|oldest| history_of(workspace, &paths, oldest)).unwrap_or_default();
    let verdict = |head: &&Head| {
        // Another import follows the file that an entry comes from; its date may be older than the commit that added it.
        let own = head.imported.as_ref().and_then(ImportedFrom::file);
        let files: Vec<String> = head.files.iter().filter(|file| Some(file.as_str()) != own).cloned().collect();
        recency(head).and_then(|written| stale_since(&files, written, &known))
    };
    heads.iter().map(verdict).collect()
}

/// Asks git for the changes to files since a time; `None` if there are no files, or no git.
fn history_of(workspace: &Workspace, paths: &[&str], since: DateTime<Utc>) -> Option<FileHistory> {
    if paths.is_empty() {
        return None;
    }
    let tree = workspace.work_tree()?;
    let _asking = workspace.doing(Work::AskingGit, None);
    let touches = tree.touches(paths, since).unwrap_or_default();
    let touched: HashSet<&str> = touches.iter().map(|touch| touch.path.as_str()).collect();
    let is_present = |path: &&str| workspace.root().join(path).symlink_metadata().is_ok();
    let present: Vec<&str> = paths.iter().copied().filter(is_present).collect();
    let counted: Vec<&str> = present.iter().copied().filter(|path| touched.contains(path)).collect();
    let lines = tree.line_counts(&counted).unwrap_or_default().into_iter().collect();
    Some(FileHistory { touches, present: present.into_iter().map(str::to_owned).collect(), lines })
}

/// Returns which of the `files` that an entry names is gone, or has changed much, since the entry was `written`: the
/// first one if there are several. A folder can be gone; changes in it do not count.
fn stale_since(files: &[String], written: DateTime<Utc>, known: &FileHistory) -> Option<Staleness> {
    // A pattern is about whatever files there are.
    files.iter().filter(|file| !is_pattern(file)).find_map(|file| {
        let path = file.trim_end_matches('/');
        let is_below = |touch: &&Touch| touch.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let since: Vec<&Touch> = known.touches.iter().filter(|touch| touch.at > written.timestamp()).collect();
        if !known.present.contains(path) {
            let last = since.iter().find(|touch| touch.path == path || is_below(touch))?;
            return Some(Staleness { commit: last.commit.clone(), path: path.to_owned(), is_gone: true });
        }
        let lines = *known.lines.get(path)?;
        let mut changed = 0;
        for touch in since.iter().rev().filter(|touch| touch.path == path) {
            changed += touch.lines;
            if changed >= LEAST_LINES && is_much(changed, lines) {
                return Some(Staleness { commit: touch.commit.clone(), path: path.to_owned(), is_gone: false });
            }
        }
        None
    })
}

#[expect(clippy::cast_precision_loss, reason = "no file has 2^52 lines")]
fn is_much(changed: u64, lines: u64) -> bool {
    changed as f64 >= lines as f64 * MUCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_time;

    fn touch(path: &str, commit: &str, at: &str, lines: u64) -> Touch {
        let at = parse_time(at).unwrap().timestamp();
        Touch { path: path.to_owned(), commit: commit.to_owned(), at, lines }
    }

    #[track_caller]
    fn check(files: &[&str], written: &str, expected: Option<(&str, &str, bool)>) {
        let known = FileHistory {
            touches: vec![
                touch("gone.rs", "deleted0", "2026-01-05", 100),
                touch("old/x.rs", "deleted1", "2026-01-05", 10),
                touch("much.rs", "second", "2026-01-04", 30),
                touch("small.rs", "second", "2026-01-04", 9),
                touch("dir/x.rs", "second", "2026-01-04", 900),
                touch("much.rs", "first", "2026-01-03", 30),
            ],
            present: ["much.rs", "small.rs", "dir", "same.rs"].map(str::to_owned).into(),
            lines: [("much.rs", 100), ("small.rs", 3), ("same.rs", 5), ("dir/x.rs", 1)]
                .map(|(path, n)| (path.to_owned(), n))
                .into(),
        };
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let found = stale_since(&files, parse_time(written).unwrap(), &known);
        let found = found.as_ref().map(|found| (found.commit.as_str(), found.path.as_str(), found.is_gone));
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn a_removed_or_much_changed_file_makes_an_entry_stale() {
        check(&["gone.rs"], "2026-01-01", Some(("deleted0", "gone.rs", true)));
        check(&["same.rs", "old/"], "2026-01-01", Some(("deleted1", "old", true)));
        // Half of its lines, in the second of two commits.
        check(&["much.rs"], "2026-01-01", Some(("second", "much.rs", false)));
        check(&["much.rs"], "2026-01-03T12:00:00Z", None);
        // Few lines, no change since, a folder, a path that never existed.
        check(&["small.rs"], "2026-01-01", None);
        check(&["gone.rs", "much.rs"], "2026-01-06", None);
        check(&["dir"], "2026-01-01", None);
        check(&["never.rs"], "2026-01-01", None);
        check(&[], "2026-01-01", None);
    }
}
