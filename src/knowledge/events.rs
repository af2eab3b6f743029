//! The live events.

use crate::entry::{Head, Id};
use crate::index::catalog::{Catalog, RowId};
use crate::search::retrieve::{is_told, superseded};
use crate::workspace::Workspace;

/// Returns the live events that count: valid, not expired, and not replaced.
pub(crate) fn live_events(workspace: &Workspace, live: &Catalog) -> Vec<(RowId, Id, Head)> {
    let mut rows = live.knowledge_rows().filter(|row| live.is_event(*row) && live.is_indexable(*row)).peekable();
    if rows.peek().is_none() {
        return Vec::new();
    }
    let now = workspace.now();
    let superseded = superseded(&[live], now);
    rows.filter_map(|row| Some((row, live.id(row)?, live.head(row).without_future(now))))
        .filter(|(_, id, head)| is_told(head, now, || superseded.contains(id)))
        .collect()
}
