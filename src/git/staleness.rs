//! Judges whether an entry may be out of date: whether a file that it names has disappeared or changed much since.
//!
//! Pure: what git knows of the files in, a verdict out. It runs no git and reads no file.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use super::Touch;

/// A file has changed much when the added and removed lines are this share of its lines ...
const MUCH: f64 = 0.5;
/// ... and at least this many: in a small file every change is a large share.
const MIN_LINES: u64 = 10;

/// What is known of the files that entries name.
#[derive(Debug, Clone, Default)]
pub struct NamedFiles {
    /// What commits did to them, the newest first.
    pub touches: Vec<Touch>,
    /// Those that exist.
    pub present: HashSet<String>,
    /// The number of lines of those that git tracks.
    pub lines: HashMap<String, u64>,
}

/// Why an entry may be out of date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Staleness {
    /// The commit that removed the file, or with which the file had changed much.
    pub commit: String,
    /// The file.
    pub path: String,
    /// Whether the file no longer exists.
    pub is_gone: bool,
}

impl Staleness {
    /// Returns the first digits of the commit, as git shows them.
    pub fn short_commit(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }
}

/// Returns why an entry of time `written` that names `files` may be out of date: the first of the files that has
/// disappeared or changed much since. A folder can only disappear; a change in it proves nothing.
pub fn staleness(files: &[String], written: DateTime<Utc>, known: &NamedFiles) -> Option<Staleness> {
    files.iter().find_map(|file| {
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
            if changed >= MIN_LINES && is_much(changed, lines) {
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
        let known = NamedFiles {
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
        let found = staleness(&files, parse_time(written).unwrap(), &known);
        let found = found.as_ref().map(|found| (found.commit.as_str(), found.path.as_str(), found.is_gone));
        assert_eq!(found, expected, "{files:?}");
    }

    #[test]
    fn what_is_gone_or_changed_much_is_told() {
        check(&["gone.rs"], "2026-01-01", Some(("deleted0", "gone.rs", true)));
        check(&["same.rs", "old/"], "2026-01-01", Some(("deleted1", "old", true)));
        // Half of what there is, by the second of two commits.
        check(&["much.rs"], "2026-01-01", Some(("second", "much.rs", false)));
        check(&["much.rs"], "2026-01-03T12:00:00Z", None);
        // Few lines, no change since, a folder, a path that never was.
        check(&["small.rs"], "2026-01-01", None);
        check(&["gone.rs", "much.rs"], "2026-01-06", None);
        check(&["dir"], "2026-01-01", None);
        check(&["never.rs"], "2026-01-01", None);
        check(&[], "2026-01-01", None);
    }
}
