//! Layers: entries of other memories beside those of this one.

use std::collections::HashSet;

use super::hits::{areas_of, hits};
use super::show::{ShowResult, show};
use crate::entry::{Head, Id, Kind};
use crate::error::{Problem, Result};
use crate::index::catalog::Catalog;
use crate::search::retrieve::{Hit, Query};
use crate::workspace::Workspace;

/// Adds the knowledge of layers to the hits of a query, best first, at most `limit` in all; of equal scores those from
/// here come first. A text that an earlier memory has, `own` before all, is no hit of a layer. Returns the problems of
/// layers.
///
/// Each layer scores with its own statistics, by words alone: its texts are sent to no server.
pub(crate) fn add_layers(
    workspace: &Workspace,
    own: &Catalog,
    query: &Query,
    limit: usize,
    keep: &dyn Fn(&Head) -> bool,
    hits_here: &mut Vec<Hit>,
) -> Vec<Problem> {
    if workspace.settings.layers.is_empty() || query.kind == Some(Kind::Journal) {
        return Vec::new();
    }
    let query = Query { kind: Some(Kind::Knowledge), ..query.clone() };
    let (layers, mut problems) = workspace.layers();
    let mut known: HashSet<(String, u64)> = texts(own).collect();
    for layer in layers {
        let answered = layer.workspace.answer(areas_of(&query), |views, snapshot| {
            let keep = |head: &Head| keep(head) && !known.contains(&text(head));
            let found = hits(&layer.workspace, views, snapshot, &query, None, limit, &keep)?;
            Ok((found, texts(&views[0].catalog).collect::<Vec<_>>()))
        });
        match answered {
            Ok((mut found, texts)) => {
                for hit in &mut found {
                    hit.entry.layer = Some(layer.name.clone());
                }
                hits_here.append(&mut found);
                known.extend(texts);
            }
            Err(error) => problems.push(layer.problem(&error)),
        }
    }
    hits_here.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits_here.truncate(limit);
    problems
}

/// Returns the texts of the knowledge in a catalog.
pub(crate) fn texts(catalog: &Catalog) -> impl Iterator<Item = (String, u64)> {
    let rows = catalog.knowledge_rows().filter(|row| catalog.is_indexable(*row));
    rows.map(|row| text(&catalog.light_head(row)))
}

/// Returns the title of an entry, and the fingerprint of its body.
pub(crate) fn text(head: &Head) -> (String, u64) {
    (head.title.clone(), head.body_fingerprint)
}

/// Returns the entry of a layer with this id; `None` if there is no such layer.
pub(crate) fn show_in_layer(workspace: &Workspace, name: &str, id: &Id) -> Option<Result<ShowResult>> {
    let layer = workspace.layers().0.into_iter().find(|layer| layer.name == name)?;
    Some(show(&layer.workspace, id).map(|mut shown| {
        shown.entry.summary.layer = Some(layer.name);
        shown
    }))
}
