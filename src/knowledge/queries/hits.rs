//! The entries of one memory that match a query.

use crate::entry::Head;
use crate::entry::knowledge::is_proposed;
use crate::error::Result;
use crate::index::catalog::{Area, Catalog};
use crate::index::{Snapshot, Statistics};
use crate::search::retrieve::{self, Hit, Meaning, Query};
use crate::workspace::{View, Workspace};

/// Returns where a query searches.
pub(super) fn areas_of(query: &Query) -> &'static [Area] {
    if query.archived { &[Area::Live, Area::Archive] } else { &[Area::Live] }
}

/// Returns the hits of a query among the entries of the views that `keep` accepts. `snapshot` was made of the views; the
/// statistics of what is searched `elsewhere` count as well.
pub(crate) fn hits(
    workspace: &Workspace,
    views: &[View],
    (snapshot, elsewhere): (&Snapshot, &Statistics),
    query: &Query,
    meaning: Option<&Meaning>,
    limit: usize,
    keep: &dyn Fn(&Head) -> bool,
) -> Result<Vec<Hit>> {
    // Nobody but people is told what is only proposed.
    let keep = |head: &Head| (workspace.store.author.is_person() || !is_proposed(head)) && keep(head);
    let catalogs: Vec<&Catalog> = views.iter().map(|view| &view.catalog).collect();
    retrieve::search(&catalogs, (snapshot, elsewhere), query, meaning, limit, workspace.now(), &keep)
        .map_err(|source| workspace.index_error(Area::Live, source))
}
