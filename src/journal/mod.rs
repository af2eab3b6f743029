//! The journal: the attempts that its entries describe.
//!
//! It reads the entries of catalogs and knows nothing of iterations that are still going on.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::catalog::{Catalog, RowId};
use crate::entry::{self, Attempt, Id};
use crate::history::{self, Past};
use crate::workspace::Workspace;

/// Returns the attempts of these rows, live ones before archived ones of the same id, oldest first.
pub(crate) fn pasts(now: DateTime<Utc>, catalogs: &[&Catalog], rows: impl Fn(&Catalog) -> Vec<RowId>) -> Vec<Past> {
    let mut pasts: Vec<Past> = Vec::new();
    let mut known: HashSet<Id> = HashSet::new();
    for catalog in catalogs {
        for row in rows(catalog) {
            let past =
                catalog.id(row).filter(|_| catalog.is_indexable(row)).and_then(|id| Past::new(id, catalog.head(row)));
            pasts.extend(past.filter(|past| known.insert(past.id.clone())));
        }
    }
    history::sort(&mut pasts, now);
    pasts
}

/// Returns all that an entry of the journal says.
pub(crate) fn attempt(workspace: &Workspace, catalogs: &[&Catalog], id: &Id) -> Option<Attempt> {
    let path = catalogs.iter().find_map(|catalog| catalog.row_of_id(id).map(|row| catalog.path(row)))?;
    Attempt::of(&entry::read(&path, &workspace.store.read(&path).ok()?.bytes))
}
