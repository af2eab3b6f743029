//! Removes copies of attempts that nobody needs any more.

use std::collections::HashSet;

use chrono::TimeDelta;

use super::Workspace;

/// How long a copy stays after the default branch had the attempt.
const KEPT: TimeDelta = TimeDelta::days(90);
/// The size of all copies from which the oldest go, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

impl Workspace {
    /// Removes the copies of attempts that the default branch has had for 90 days, and the oldest ones beyond 64 MiB.
    pub(crate) fn prune_copies(&self) {
        let mut copies = self.store.all_copies();
        let Some(before) = self.now().checked_sub_signed(KEPT) else { return };
        if copies.iter().any(|copy| copy.written < before)
            && let Some(tree) = self.work_tree()
        {
            let held = tree.held_before(before, &["journal", "archive/journal"]);
            let live = |path: &str| path.strip_prefix("archive/").unwrap_or(path).to_owned();
            let held: HashSet<(String, String)> = held.into_iter().map(|(path, id)| (live(&path), id)).collect();
            copies.retain(|copy| {
                // One with other bytes may be another attempt.
                let id = || self.store.read_copy(&copy.path).map(|bytes| tree.object_id(&bytes));
                let is_held = copy.written < before && id().is_some_and(|id| held.contains(&(live(&copy.path), id)));
                if is_held {
                    self.store.remove_copy(&copy.path);
                }
                !is_held
            });
        }
        copies.sort_by_key(|copy| copy.written);
        let mut bytes: u64 = copies.iter().map(|copy| copy.size).sum();
        for copy in copies.iter().take_while(|copy| {
            let is_over = bytes > MAX_BYTES;
            bytes = bytes.saturating_sub(copy.size);
            is_over
        }) {
            self.store.remove_copy(&copy.path);
        }
    }
}
