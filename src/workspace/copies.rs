//! Removes copies of attempts that nobody needs any more.

use chrono::{DateTime, TimeDelta, Utc};

use super::Workspace;
use crate::store::Copy;

/// How long a copy stays after the default branch had the attempt.
const KEPT: TimeDelta = TimeDelta::days(90);
/// The size of all copies from which the oldest go, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

impl Workspace {
    /// Removes the copies of attempts that the default branch has had for 90 days, and the oldest ones beyond 64 MiB.
    pub(crate) fn prune_copies(&self) {
        let mut copies = self.store.all_copies();
        let Some(before) = self.now().checked_sub_signed(KEPT) else { return };
        if copies.iter().any(|copy| copy.written < before) {
            let held = self.work_tree().map(|tree| tree.held_before(before, &["journal", "archive/journal"]));
            for path in held.into_iter().flatten() {
                let live = path.strip_prefix("archive/").unwrap_or(&path).to_owned();
                for held in [format!("archive/{live}"), live] {
                    copies.retain(|copy| copy.path != held || self.drop(copy, before));
                }
            }
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

    /// Removes a copy that was written before this time, and returns whether it stays.
    fn drop(&self, copy: &Copy, before: DateTime<Utc>) -> bool {
        let is_old = copy.written < before;
        if is_old {
            self.store.remove_copy(&copy.path);
        }
        !is_old
    }
}
