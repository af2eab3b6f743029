//! Layers: entries of other memories beside those of this one.

use std::collections::HashSet;

use super::hits::{areas_of, hits};
use super::show::{ShowResult, show};
use super::view::EntryView;
use crate::entry::path::display_path;
use crate::entry::{EntrySummary, Head, Id, Kind};
use crate::error::{Problem, Result};
use crate::index::catalog::{Area, Catalog};
use crate::index::{Part, Snapshot, Statistics};
use crate::open::Memory;
use crate::search::retrieve::{Hit, Query, statistics};
use crate::workspace::{Layer, Opened, View, Workspace};

/// A query of a memory and its layers.
///
/// All of them score with common statistics, as if they were one memory, so their scores compare: a word is rare in a large
/// memory and common in a small one. Layers are searched by words alone: their texts are sent to no server.
#[derive(Default)]
pub(crate) struct LayeredQuery {
    layers: Vec<Layer>,
    /// What was opened of each layer.
    opened: Vec<Option<Opened>>,
    /// The statistics of this memory, and those of each layer.
    statistics: Vec<Statistics>,
    problems: Vec<Problem>,
}

impl LayeredQuery {
    /// Opens the layers, if a query finds something in any.
    pub(crate) fn new(workspace: &Workspace, snapshot: &Snapshot, query: &Query) -> Result<LayeredQuery> {
        if !workspace.has_layers() || query.kind == Some(Kind::Journal) {
            return Ok(LayeredQuery::default());
        }
        let count = |workspace: &Workspace, snapshot: &Snapshot, query: &Query| {
            statistics(snapshot, query).map_err(|source| workspace.index_error(Area::Live, source))
        };
        let (layers, problems) = workspace.layers();
        let statistics = vec![count(workspace, snapshot, query)?];
        let mut layered = LayeredQuery { statistics, problems, ..LayeredQuery::default() };
        let query = of_layers(query);
        for layer in layers {
            let mut opened = None;
            let answer = |_: &[_], snapshot: &Snapshot| count(&layer.workspace, snapshot, &query);
            match layer.workspace.answer_from(&mut opened, areas_of(&query), answer) {
                Ok(counted) => {
                    layered.statistics.push(counted);
                    layered.opened.push(opened);
                    layered.layers.push(layer);
                }
                Err(error) => layered.problems.push(layer.problem(&error)),
            }
        }
        Ok(layered)
    }

    /// Returns the statistics of all memories but one: 0 is this one.
    pub(crate) fn elsewhere(&self, memory: usize) -> Statistics {
        let mut sum = Statistics::default();
        let others = self.statistics.iter().enumerate().filter(|(number, _)| *number != memory);
        others.for_each(|(_, other)| sum.add_others(other));
        sum
    }

    /// Returns the workspace of an entry: this one, or that of its layer.
    pub(crate) fn workspace_of<'a>(&'a self, own: &'a Workspace, entry: &EntrySummary) -> Option<&'a Workspace> {
        own.among(&self.layers, entry)
    }

    /// Adds the knowledge of layers to the hits of this memory, best first, at most `limit` in all; of equal scores those
    /// from here come first. `trim` leaves of a layer's hits those that count. A text that an earlier memory, that of the
    /// `views` before all, might answer with is no hit of a layer. Returns the problems of layers.
    pub(crate) fn add_hits(
        &mut self,
        views: &[View],
        query: &Query,
        limit: usize,
        keep: &dyn Fn(&Head) -> bool,
        trim: fn(Vec<Hit>) -> Vec<Hit>,
        hits_here: &mut Vec<Hit>,
    ) -> Vec<Problem> {
        let mut problems = std::mem::take(&mut self.problems);
        let query = of_layers(query);
        let answers = |head: &Head| keep(head) && query.admits(head);
        let texts_of =
            |views: &[View]| -> Vec<_> { views.iter().flat_map(|view| texts(&view.catalog, &answers)).collect() };
        let mut known: HashSet<(String, u64)> = texts_of(views).into_iter().collect();
        let factor = by_meaning(hits_here);
        for number in 0..self.layers.len() {
            let elsewhere = self.elsewhere(number + 1);
            let (layer, opened) = (&self.layers[number], &mut self.opened[number]);
            let answered = layer.workspace.answer_from(opened, areas_of(&query), |views, snapshot| {
                let keep = |head: &Head| keep(head) && !known.contains(&text(head));
                let found = hits(&layer.workspace, views, (snapshot, &elsewhere), &query, None, limit, &keep)?;
                Ok((trim(found), texts_of(views), unlisted(&views[0].catalog)))
            });
            match answered {
                Ok((mut found, texts, unlisted)) => {
                    for hit in &mut found {
                        mark(&layer.name, &mut hit.entry);
                        hit.contradicts.iter_mut().for_each(|id| *id = id.in_layer(&layer.name));
                        // In millionths, as scores are: equal ones stay equal.
                        hit.score = (hit.score * factor * 1e6).round() / 1e6;
                        hit.explanation.iter_mut().for_each(|part| part.value *= factor);
                    }
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
}

/// Returns the query for layers: their attempts belong to their own projects.
fn of_layers(query: &Query) -> Query {
    Query { kind: Some(Kind::Knowledge), ..query.clone() }
}

/// Returns how many times as high the best score is as the best one by words alone.
fn by_meaning(hits: &[Hit]) -> f64 {
    let of_meaning = |hit: &Hit| -> f64 {
        let parts = hit.explanation.iter().filter(|part| part.part == Part::Semantic.as_str());
        parts.map(|part| part.value).sum()
    };
    let by_words = hits.iter().map(|hit| hit.score - of_meaning(hit)).fold(0.0, f64::max);
    if by_words > 0.0 { hits[0].score / by_words } else { 1.0 }
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

impl Memory {
    /// Returns one entry of a layer, and its mark; `None` if the settings name no such layer.
    pub fn show_in_layer(&self, layer: &str, id: &Id) -> Option<Result<ShowResult>> {
        let shown = match self.workspace.layer_named(layer)? {
            Ok(opened) => show(&opened.workspace, id),
            Err(error) => Err(error),
        };
        Some(shown.map(|mut shown| {
            let EntryView {
                summary,
                supersedes,
                superseded_by,
                would_supersede,
                would_be_superseded_by,
                links,
                backlinks,
                ..
            } = &mut shown.entry;
            let of_links = links.iter_mut().chain(backlinks).filter_map(|link| link.id.as_mut());
            let others = [supersedes, superseded_by, would_supersede, would_be_superseded_by].into_iter().flatten();
            others.chain(of_links).for_each(|id| *id = id.in_layer(layer));
            mark(layer, summary);
            shown
        }))
    }
}

/// Marks an entry as one of a layer, with the id by which it is shown here.
fn mark(layer: &str, entry: &mut EntrySummary) {
    entry.id = entry.id.in_layer(layer);
    entry.layer = Some(layer.to_owned());
}
