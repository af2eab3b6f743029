//! When the files of a source were last committed: the date of an entry whose source has none.
//!
//! It is no part of what an import recognises an entry by, so a later commit of the same text changes nothing.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::entry::is_ahead;
use crate::workspace::{Work, Workspace};

/// How many paths git is asked about. Of more files, it is asked about their folders.
const MAX_PATHS: usize = 1_000;

/// Returns when these files of the project were last committed, those of which git says it.
pub(super) fn commit_dates(workspace: &Workspace, mut files: Vec<&str>) -> HashMap<String, DateTime<Utc>> {
    if files.len() > MAX_PATHS {
        files = files.iter().map(|file| file.rsplit_once('/').map_or(*file, |(folder, _)| folder)).collect();
    }
    files.sort_unstable();
    files.dedup();
    files.truncate(MAX_PATHS);
    let Some(tree) = workspace.work_tree().filter(|_| !files.is_empty()) else { return HashMap::new() };
    let _asking = workspace.doing(Work::AskingGit, None);
    let mut dates = HashMap::new();
    // The newest first.
    for touch in tree.touches(&files, DateTime::UNIX_EPOCH).unwrap_or_default() {
        let at = DateTime::from_timestamp(touch.at, 0).filter(|at| !is_ahead(*at, workspace.now()));
        if let Some(at) = at {
            dates.entry(touch.path).or_insert(at);
        }
    }
    dates
}
