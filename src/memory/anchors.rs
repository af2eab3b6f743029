//! Knowledge that speaks of files: whether these are still what they were.

use std::collections::HashSet;

use super::Memory;
use crate::check::{Files, Unverified, unverified};
use crate::entry::Head;
use crate::workspace::Work;

/// How many paths git is asked about in a call.
const MAX_PATHS: usize = 1_000;

impl Memory {
    /// Returns, for each of the heads, whether a file that it names is gone or has changed much since it was
    /// written; all `None` where there is no git to ask.
    pub(super) fn unverified(&self, heads: &[&Head]) -> Vec<Option<Unverified>> {
        let now = self.now();
        let recency = |head: &Head| head.clone().as_of(now).recency();
        let named = || heads.iter().filter_map(|head| Some((recency(head)?, &head.files)));
        let mut paths: Vec<&str> = named()
            .flat_map(|(_, files)| files)
            .map(|file| file.trim_end_matches('/'))
            .filter(|path| is_plain(path))
            .collect();
        paths.sort_unstable();
        paths.dedup();
        paths.truncate(MAX_PATHS);
        let oldest = named().filter(|(_, files)| !files.is_empty()).map(|(written, _)| written).min();
        let known = match (oldest, self.work_tree()) {
            (Some(oldest), Some(tree)) if !paths.is_empty() => {
                let _asking = self.doing(Work::AskingGit, None);
                let touches = tree.touches(&paths, oldest).unwrap_or_default();
                let touched: HashSet<&str> = touches.iter().map(|touch| touch.path.as_str()).collect();
                let present: Vec<&str> =
                    paths.iter().copied().filter(|path| self.root().join(path).symlink_metadata().is_ok()).collect();
                let counted: Vec<&str> = present.iter().copied().filter(|path| touched.contains(path)).collect();
                let lines = tree.line_counts(&counted).unwrap_or_default().into_iter().collect();
                let present = present.into_iter().map(str::to_owned).collect();
                Files { touches, present, lines }
            }
            _ => Files::default(),
        };
        let verdict = |head: &&Head| recency(head).and_then(|written| unverified(&head.files, written, &known));
        heads.iter().map(verdict).collect()
    }
}

/// Returns whether a path is one in the project, of which git can be asked.
pub(super) fn is_plain(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains('\0')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
