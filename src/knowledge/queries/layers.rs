//! Layers: entries of other memories beside those of this one.

use std::collections::HashSet;

use super::hits::{areas_of, hits};
use super::show::{ShowResult, show};
use crate::entry::path::display_path;
use crate::entry::{Head, Id, Kind};
use crate::error::{Problem, Result};
use crate::index::catalog::Catalog;
use crate::search::retrieve::{Hit, Query};
use crate::workspace::Workspace;

/// Adds the knowledge of layers to the hits of a query, best first, at most `limit` in all; of equal scores those from
/// here come first. `trim` leaves of a layer's hits those that count. A text that an earlier memory, `own` before all,
/// might answer with is no hit of a layer. Returns the problems of layers.
///
/// Each layer scores with its own statistics, by words alone: its texts are sent to no server. A word is rare in a large
/// memory and common in a small one, so the scores of two memories say nothing about each other. The best hit of each
/// shows how much of the query it has, which does, and the scores of a layer are multiplied accordingly.
pub(crate) fn add_layers(
    workspace: &Workspace,
    own: &Catalog,
    query: &Query,
    limit: usize,
    keep: &dyn Fn(&Head) -> bool,
    trim: fn(Vec<Hit>) -> Vec<Hit>,
    hits_here: &mut Vec<Hit>,
) -> Vec<Problem> {
    if workspace.settings.layers.is_empty() || query.kind == Some(Kind::Journal) {
        return Vec::new();
    }
    let query = Query { kind: Some(Kind::Knowledge), ..query.clone() };
    let (layers, mut problems) = workspace.layers();
    let answers = |head: &Head| keep(head) && query.admits(head);
    let mut known: HashSet<(String, u64)> = texts(own, &answers).collect();
    let mut unit = unit_of(hits_here);
    for layer in layers {
        let answered = layer.workspace.answer(areas_of(&query), |views, snapshot| {
            let keep = |head: &Head| keep(head) && !known.contains(&text(head));
            let found = hits(&layer.workspace, views, snapshot, &query, None, limit, &keep)?;
            let catalog = &views[0].catalog;
            Ok((trim(found), texts(catalog, &answers).collect::<Vec<_>>(), unlisted(catalog)))
        });
        match answered {
            Ok((mut found, texts, unlisted)) => {
                let own_unit = unit_of(&found);
                let factor = unit.zip(own_unit).map_or(1.0, |(unit, own)| unit / own);
                for hit in &mut found {
                    hit.entry.layer = Some(layer.name.clone());
                    hit.score *= factor;
                    hit.explanation.iter_mut().for_each(|part| part.value *= factor);
                }
                unit = unit.or(own_unit);
                hits_here.append(&mut found);
                known.extend(texts);
                problems.extend(unlisted.map(|problem| layer.problem(&problem)));
            }
            Err(error) => problems.push(layer.problem(&error)),
        }
    }
    hits_here.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits_here.truncate(limit);
    problems
}

/// Returns the score that a hit with all of the query's words would have, by the best one; `None` if nothing scores.
fn unit_of(hits: &[Hit]) -> Option<f64> {
    const LEAST_SHARE: f64 = 0.01;
    let best = hits.first().filter(|best| best.score > 0.0)?;
    Some(best.score / best.evidence.share.max(LEAST_SHARE))
}

/// Returns why the knowledge of a memory cannot be listed.
fn unlisted(catalog: &Catalog) -> Option<String> {
    let folder = display_path("knowledge");
    let problem = catalog.problems().into_iter().find(|problem| problem.path == folder)?;
    Some(format!("`{folder}`: {}", problem.message))
}

/// Returns the texts of the knowledge in a catalog that an answer may contain.
pub(crate) fn texts(catalog: &Catalog, answers: &dyn Fn(&Head) -> bool) -> impl Iterator<Item = (String, u64)> {
    let rows = catalog.knowledge_rows().filter(|row| catalog.is_indexable(*row));
    rows.map(|row| catalog.light_head(row)).filter(|head| answers(head)).map(|head| text(&head))
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
