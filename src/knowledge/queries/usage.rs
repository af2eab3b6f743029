//! Usage: the outcomes of the attempts whose contexts included an entry.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::entry::Id;
use crate::index::catalog::{Area, Catalog};
use crate::journal;
use crate::journal::history::{self, Usage};
use crate::workspace::Workspace;

/// Returns the usage of all entries that were included in a context.
pub(crate) fn usage(workspace: &Workspace) -> HashMap<Id, Usage> {
    all_usage(workspace.now(), &[&workspace.catalog(Area::Live), &workspace.catalog(Area::Archive)])
}

/// Does what [`usage()`] does with entries that are read already. Archived attempts count as well.
pub(super) fn all_usage(now: DateTime<Utc>, catalogs: &[&Catalog]) -> HashMap<Id, Usage> {
    history::usage(journal::light_summaries(now, catalogs).iter())
}
