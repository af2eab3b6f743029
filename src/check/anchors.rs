//! Whether what an entry says of files may still hold: they may have gone since, or be others by now.
//!
//! Pure: what git knows of the files in, a verdict out.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::git::Touch;

/// A file has changed much when as many lines were added and taken out as this share of what it has...
const MUCH: f64 = 0.5;
/// ... and at least so many: of a small file every change is a large share.
const LEAST_LINES: u64 = 10;

/// What is known of the files that entries name.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// What commits did to them, the newest first.
    pub touches: Vec<Touch>,
    /// Those that are there.
    pub present: HashSet<String>,
    /// How many lines each of those has that git keeps track of.
    pub lines: HashMap<String, u64>,
}

/// Since when, and why, nobody knows whether an entry still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unverified {
    /// The commit that took a file away, or by which it had changed much.
    pub commit: String,
    /// The file.
    pub path: String,
    /// Whether it is gone.
    pub is_gone: bool,
}

impl Unverified {
    /// Returns the first digits of the commit, as git shows them.
    pub fn short_commit(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }
}

/// Returns whether one of `files`, which an entry names that was written at `written`, is gone since, or
/// has changed much: where several are, the one that comes first in the entry. A folder can be gone, and what
/// changes in it says nothing.
pub fn unverified(files: &[String], written: DateTime<Utc>, known: &Files) -> Option<Unverified> {
    files.iter().find_map(|file| {
        let path = file.trim_end_matches('/');
        let is_below = |touch: &&Touch| touch.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let since: Vec<&Touch> = known.touches.iter().filter(|touch| touch.at > written.timestamp()).collect();
        if !known.present.contains(path) {
            let last = since.iter().find(|touch| touch.path == path || is_below(touch))?;
            return Some(Unverified { commit: last.commit.clone(), path: path.to_owned(), is_gone: true });
        }
        let lines = *known.lines.get(path)?;
        let mut changed = 0;
        for touch in since.iter().rev().filter(|touch| touch.path == path) {
            changed += touch.lines;
            if changed >= LEAST_LINES && is_much(changed, lines) {
                return Some(Unverified { commit: touch.commit.clone(), path: path.to_owned(), is_gone: false });
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
        let known = Files {
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
        let found = unverified(&files, parse_time(written).unwrap(), &known);
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
