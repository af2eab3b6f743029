//! The live events, and which of them are over the limits.

use std::collections::HashSet;

use crate::entry::{Head, Id};
use crate::index::catalog::{Catalog, RowId};
use crate::search::retrieve::{self, superseded};
use crate::workspace::Workspace;

/// Returns the live events over the limits. Decision records that were imported are documents, of which a project has as many
/// as it has.
pub(crate) fn beyond_caps(workspace: &Workspace, live: &Catalog) -> HashSet<Id> {
    retrieve::beyond_caps(
        live_events(workspace, live)
            .iter()
            .filter(|(.., head)| head.imported.is_none())
            .map(|(_, id, head)| (id, head)),
        workspace.settings.events,
    )
}

/// Returns the live events that count: valid, not expired, and not replaced.
pub(crate) fn live_events(workspace: &Workspace, live: &Catalog) -> Vec<(RowId, Id, Head)> {
    let mut rows = live.knowledge_rows().filter(|row| live.is_event(*row) && live.is_indexable(*row)).peekable();
    if rows.peek().is_none() {
        return Vec::new();
    }
    let now = workspace.now();
    let superseded = superseded(&[live], now);
    rows.filter_map(|row| Some((row, live.id(row)?, live.head(row).without_future(now))))
        .filter(|(_, id, head)| head.valid && !head.is_expired(now) && !superseded.contains(id))
        .collect()
}
