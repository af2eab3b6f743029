//! Retrieval: entries that match a query, scored and explained.
//!
//! The index scores; this module defines the query, and leaves out expired and superseded entries.

mod contradictions;
mod counted;
mod event_caps;
mod supersede;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::entry::{EntryNames, EntrySummary, Head, Id, Kind, NamedEntry, Scope, Source, is_ahead};
use crate::index::catalog::{Catalog, RowId};
use crate::index::{
    self, Bonus, Candidate, Failure, Filter, Match, Part, Scores, Snapshot, Statistics, TEXT_WEIGHT, TextQuery,
};
use crate::text::{fold_tag, has_tag, is_same_name};

use self::contradictions::with_contradictions;
pub(crate) use self::contradictions::{contradicting, contradictions, in_order};
pub(crate) use crate::index::TermEvidence;
use counted::holds;
pub(crate) use counted::{is_told, with_people};
pub(crate) use event_caps::beyond_caps;
pub(crate) use supersede::{Replacements, in_circles, may_replace};

/// The largest share of meaning in a score: with a share of 1, words would find nothing.
const MOST_MEANING: f64 = 0.99;

/// How many hits of each kind a context considers at most, and about how many a server is asked by name.
pub(crate) const MAX_CANDIDATES: usize = 100;

/// A query.
///
/// ```
/// use ralph_memory::{Kind, Knowledge, Memory, Query};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Vacuum at night", ["postgres"], "The nightly vacuum takes an hour."))?;
/// memory.add(&Knowledge::new("Vacuum the office", ["office"], "On Mondays."))?;
/// let query = Query { kind: Some(Kind::Knowledge), tags: vec!["postgres".into()], ..Query::default() };
/// let found = memory.search(&Query { text: "vacuum".into(), ..query }, 5)?;
/// assert_eq!((found.hits.len(), found.hits[0].entry.title.as_str()), (1, "Vacuum at night"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The words to search for. Of several lines the first counts as a title.
    pub text: String,
    /// More words to search for, which give no points to tags: an error's category, named paths.
    pub more: String,
    /// The current feature: tags in its name get points.
    pub feature: Option<String>,
    /// The current paths: tags in one of them get points, and entries whose `files` name one.
    pub files: Vec<String>,
    /// Finds only this kind.
    pub kind: Option<Kind>,
    /// Finds only entries with all of these tags.
    pub tags: Vec<String>,
    /// Finds only entries of this feature.
    pub in_feature: Option<String>,
    /// Finds only entries with this scope.
    pub scope: Option<Scope>,
    /// Finds expired and superseded entries, too. The caller adds the archive.
    pub archived: bool,
    /// The weight of words compared with the points for tags; the default is 1.
    pub text_weight: Option<f64>,
    /// The share of meaning in a score, if there is a server; the default is in the settings.
    pub semantic_weight: Option<f64>,
}

/// How similar the entries and the query are in meaning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meaning {
    /// The number of a catalog, a row of it, and the cosine of the angle between the two, over 0; the most similar
    /// first.
    pub similar: Vec<(usize, RowId, f32)>,
    /// The share of meaning in a score, below 1.
    pub weight: f64,
    /// How many entries it may find alone. Matches by words count however similar they are.
    pub limit: usize,
    /// The minimum similarity of such an entry.
    pub min_score: f32,
}

/// A part of a score.
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Query};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Cookies are signed", ["login"], "With the key of the session store."))?;
/// let query = Query { text: "login cookies".into(), ..Query::default() };
/// let hit = memory.search(&query, 1)?.hits.remove(0);
/// let sum: f64 = hit.explanation.iter().map(|explained| explained.value).sum();
/// assert!((sum - hit.score).abs() < 1e-6);
/// assert!(hit.explanation.iter().any(|explained| explained.part.contains("tag")), "{:?}", hit.explanation);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The name of the part.
    pub part: &'static str,
    /// What it adds.
    pub value: f64,
}

/// A found entry.
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Query};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Time zones", ["time"], "Store UTC."))?;
/// memory.add(&Knowledge::new("Calendar", ["ui"], "It shows the time zone of the browser."))?;
/// let hits = memory.search(&Query { text: "time zones".into(), ..Query::default() }, 5)?.hits;
/// assert_eq!(hits[0].entry.title, "Time zones");
/// assert!(hits[0].score > hits[1].score);
/// assert_eq!(hits[0].similarity, None, "no server compares what they mean");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The entry.
    #[serde(flatten)]
    pub entry: EntrySummary,
    /// How well it matches. Scores are comparable only within one search.
    pub score: f64,
    /// How similar it and the query are in meaning, if that is known: the cosine of the angle between their vectors,
    /// comparable between searches with the same model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The evidence for it, independent of the other hits. Its share is 1 if one of its tags or its meaning matches.
    #[serde(skip)]
    pub(crate) evidence: TermEvidence,
    /// The other hits of which only one can hold if this one does: those of the same title, and those that replace the same entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<Id>,
    /// The parts of the score. They add up to it.
    pub explanation: Vec<Explained>,
}

/// Returns the `limit` entries that match best, best first; of equal scores the newer first, then by id. `keep` decides
/// whether a matching entry may be among them.
///
/// `snapshot` contains the index of the entries of `catalogs`; the statistics of what is searched `elsewhere` count as well. An entry without a score is not found. With a `meaning`,
/// all matches by words gain points for similarity, and the most similar of the others are found, too: a weighted sum
/// of scores by words, relative to the best of them, and of cosines.
///
/// # Errors
///
/// Those of reading the index.
pub fn search(
    catalogs: &[&Catalog],
    (snapshot, elsewhere): (&Snapshot, &Statistics),
    query: &Query,
    meaning: Option<&Meaning>,
    limit: usize,
    now: DateTime<Utc>,
    keep: &dyn Fn(&Head) -> bool,
) -> Result<Vec<Hit>, Failure> {
    let mut scores = Scores::new(snapshot, &text_query(query), elsewhere)?;
    // An archived entry replaces nothing any more.
    let replacements = replacements(&catalogs[..catalogs.len().min(1)], now).counted;
    let superseded = replaced(&replacements);
    let is_wanted =
        |id: &Id, head: &Head| (query.archived || holds(head, now, || superseded.contains(id))) && keep(head);
    if let Some(meaning) = meaning {
        let is_wanted = |id: &Id, head: &Head| query.admits(head) && is_wanted(id, head);
        scores.add(&bonuses(meaning, catalogs, scores.best(), &is_wanted))?;
    }
    let mut n_asked = limit;
    loop {
        let candidates = scores.top(n_asked).to_vec();
        let ranked = located(catalogs, &scores, &candidates, now)?;
        let (hits, is_enough) = pick(catalogs, ranked, limit, &is_wanted);
        // If some of the best are excluded, more are requested.
        if is_enough || candidates.len() >= scores.len() {
            let is_current = |(found, head): &&(Ranked, Head)| {
                found.catalog == 0 && holds(head, now, || superseded.contains(&found.id))
            };
            let current = hits.iter().filter(is_current).map(|(found, head)| (&found.id, head));
            let contradictions = contradictions(current, &replacements, now);
            let candidates: Vec<Candidate> = hits.iter().map(|(found, _)| found.candidate).collect();
            let least = meaning.map_or(f32::MAX, |meaning| meaning.min_score);
            let similar = meaning.map_or(&[][..], |meaning| &meaning.similar);
            let hit = |((found, head), matched): ((Ranked, Head), Match)| {
                let is_it = |(catalog, row, _): &&(usize, RowId, f32)| (*catalog, *row) == (found.catalog, found.row);
                let similarity = similar.iter().find(is_it).map(|(.., similarity)| *similarity);
                let is_meant = similarity.is_some_and(|similarity| similarity >= least);
                let is_tagged = matched.parts.iter().any(|(part, _)| part.is_of_labels());
                let share = if is_meant || is_tagged { 1.0 } else { matched.evidence.share };
                Hit {
                    entry: EntrySummary::new(found.id, &found.path, head, &superseded, now),
                    score: from_millionths(found.candidate.score),
                    similarity: similarity.map(f64::from),
                    evidence: TermEvidence { share, ..matched.evidence },
                    contradicts: Vec::new(),
                    explanation: matched.parts.iter().map(explained).collect(),
                }
            };
            let hits = hits.into_iter().zip(scores.matches(&candidates)?).map(hit).collect();
            return Ok(with_contradictions(hits, &contradictions));
        }
        n_asked = n_asked.saturating_mul(4);
    }
}

/// Returns the first `limit` wanted entries, in which agents leave room for what people wrote about it, and whether no further
/// candidate can change that.
fn pick(
    catalogs: &[&Catalog],
    ranked: Vec<Ranked>,
    limit: usize,
    is_wanted: &dyn Fn(&Id, &Head) -> bool,
) -> (Vec<(Ranked, Head)>, bool) {
    let best = ranked.first().map_or(0, |first| first.candidate.score);
    let (mut n_agents, mut n_people, mut picked) = (0, 0, Vec::new());
    let is_fair = |n_agents: usize, n_people: usize| n_agents * 2 <= limit || n_people * 2 >= limit;
    let mut is_enough = false;
    for found in ranked {
        let is_full = picked.len() >= limit;
        is_enough = is_full && (is_fair(n_agents, n_people) || found.candidate.score.saturating_mul(3) < best);
        if is_enough {
            break;
        }
        let head = catalogs[found.catalog].head(found.row);
        let is_of_person = author_of(head.kind, head.source);
        if (!is_full || is_of_person == Some(true)) && is_wanted(&found.id, &head) {
            n_agents += usize::from(is_of_person == Some(false));
            n_people += usize::from(is_of_person == Some(true));
            picked.push((picked.len(), (found, head)));
        }
    }
    is_enough |= picked.len() >= limit && is_fair(n_agents, n_people);
    let mut picked = with_people(picked, |(_, (_, head))| author_of(head.kind, head.source));
    picked.truncate(limit);
    picked.sort_by_key(|(place, _)| *place);
    (picked.into_iter().map(|(_, hit)| hit).collect(), is_enough)
}

/// Returns whether a person wrote an entry; `None` of one that nobody wrote as knowledge.
fn author_of(kind: Kind, source: Source) -> Option<bool> {
    (kind == Kind::Knowledge).then(|| source.is_person())
}

impl Query {
    /// Returns whether an entry meets the conditions of the query.
    pub(crate) fn admits(&self, head: &Head) -> bool {
        self.kind.is_none_or(|kind| kind == head.kind)
            && self.tags.iter().all(|tag| has_tag(&head.tags, tag))
            && (self.in_feature.is_none() || is_same_name(head.feature.as_deref(), self.in_feature.as_deref()))
            && self.scope.as_ref().is_none_or(|scope| *scope == head.scope)
    }
}

/// Returns the statistics of a query in a snapshot, for searches [elsewhere](search).
///
/// # Errors
///
/// Those of reading the index.
pub(crate) fn statistics(snapshot: &Snapshot, query: &Query) -> Result<Statistics, Failure> {
    index::statistics(snapshot, &text_query(query))
}

/// Returns the rows that the words and tags of a query find, best first, at most `limit`; excluded entries may be among
/// them.
///
/// # Errors
///
/// Those of reading the index.
#[cfg(feature = "semantic")]
pub(crate) fn by_words(
    catalogs: &[&Catalog],
    snapshot: &Snapshot,
    query: &Query,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<Vec<(usize, RowId)>, Failure> {
    let mut scores = Scores::new(snapshot, &text_query(query), &Statistics::default())?;
    let candidates = scores.top(limit).to_vec();
    let found = located(catalogs, &scores, &candidates, now)?;
    Ok(found.into_iter().take(limit).map(|found| (found.catalog, found.row)).collect())
}

/// Returns the points that entries gain for similarity. The most similar of the accepted entries are found by
/// similarity alone.
fn bonuses(meaning: &Meaning, catalogs: &[&Catalog], best: i64, is_wanted: &dyn Fn(&Id, &Head) -> bool) -> Vec<Bonus> {
    let factor = points_of_cosine(from_millionths(best), meaning.weight);
    // The cosine itself, not relative to the closest entry: that one may have little to do with the query, and would
    // count in full. Measured on bugs with vectors of all-MiniLM-L6-v2: .701 instead of .680 nDCG@10 with shares of the
    // closest, and .660 with shares of the rest above the limit.
    #[expect(clippy::cast_possible_truncation, reason = "scores are rounded to millionths")]
    let points = |similarity: f32| (factor * f64::from(similarity) * 1_000_000.0).round() as i64;
    let mut left = meaning.limit;
    let mut bonuses = Vec::with_capacity(meaning.similar.len());
    for (catalog, row, similarity) in &meaning.similar {
        let (catalog, row) = (catalogs[*catalog], *row);
        if !catalog.is_indexable(row) {
            continue;
        }
        // Only heads of the few candidates are read.
        let alone = left > 0
            && *similarity >= meaning.min_score
            && catalog.id(row).is_some_and(|id| is_wanted(&id, &catalog.head(row)));
        left -= usize::from(alone);
        bonuses.push(Bonus { path: catalog.path(row), points: points(*similarity), alone });
    }
    bonuses
}

/// Returns the points for a cosine of 1, if meaning has this share in a score and words give at most so many points.
pub(crate) fn points_of_cosine(best_by_words: f64, weight: f64) -> f64 {
    // If no word matches, any unit works: there is nothing to weigh against.
    let best = if best_by_words > 0.0 { best_by_words } else { 1.0 };
    let share = weight.clamp(0.0, MOST_MEANING);
    best * share / (1.0 - share)
}

/// A candidate, and its row in the catalog.
struct Ranked {
    candidate: Candidate,
    catalog: usize,
    row: RowId,
    id: Id,
    path: String,
}

/// Returns the candidates in the order of hits, with their rows.
fn located(
    catalogs: &[&Catalog],
    scores: &Scores<'_>,
    candidates: &[Candidate],
    now: DateTime<Utc>,
) -> Result<Vec<Ranked>, Failure> {
    let mut found = Vec::with_capacity(candidates.len());
    for (candidate, path) in candidates.iter().zip(scores.paths(candidates)?) {
        let row = |(number, catalog): (usize, &&Catalog)| catalog.row_of_path(&path).map(|row| (number, row));
        // A document without a row belongs to a deleted file: the snapshot leaves those out.
        if let (Some((catalog, row)), Some(id)) = (catalogs.iter().enumerate().find_map(row), Id::of_path(&path)) {
            found.push(Ranked { candidate: *candidate, catalog, row, id, path });
        }
    }
    found.sort_by_cached_key(|found| {
        let recency = not_in_future(catalogs[found.catalog].recency(found.row), now);
        (Reverse(found.candidate.score), Reverse(recency), found.id.clone(), found.path.clone())
    });
    Ok(found)
}

/// Returns a time in microseconds since 1970 for ordering; a time in the future counts as missing.
pub(crate) fn not_in_future(time: i64, now: DateTime<Utc>) -> i64 {
    if DateTime::from_timestamp_micros(time).is_some_and(|time| is_ahead(time, now)) { i64::MIN } else { time }
}

fn explained((part, value): &(Part, i64)) -> Explained {
    Explained { part: part.as_str(), value: from_millionths(*value) }
}

#[expect(clippy::cast_precision_loss, reason = "scores have far fewer than 53 bits")]
fn from_millionths(value: i64) -> f64 {
    value as f64 / 1_000_000.0
}

fn text_query(query: &Query) -> TextQuery {
    let mut filters = Vec::new();
    filters.extend(query.kind.map(Filter::Kind));
    filters.extend(query.tags.iter().map(|tag| Filter::Tag(fold_tag(tag))));
    filters.extend(query.in_feature.clone().map(Filter::Feature));
    filters.extend(query.scope.as_ref().map(|scope| Filter::Scope(scope.to_string())));
    let text = [query.text.as_str(), query.feature.as_deref().unwrap_or_default(), &query.more];
    let text: Vec<&str> = text.into_iter().filter(|part| !part.trim().is_empty()).collect();
    TextQuery {
        text: text.join("\n"),
        tag_text: query.text.clone(),
        feature: query.feature.clone(),
        paths: query.files.clone(),
        text_weight: query.text_weight.unwrap_or(TEXT_WEIGHT),
        filters,
    }
}

/// Returns the ids that a live, valid entry replaces.
pub(crate) fn superseded(catalogs: &[&Catalog], now: DateTime<Utc>) -> HashSet<Id> {
    replaced(&replacements(catalogs, now).counted)
}

/// Returns which live, valid entry replaces which.
pub(crate) fn replacements(catalogs: &[&Catalog], now: DateTime<Utc>) -> Replacements {
    let mut replacements = Replacements::default();
    for catalog in catalogs {
        let current = |old: &Id| catalog.renamed(old).unwrap_or(old).clone();
        let source_of = |old: &Id| catalog.row_of_id(old).map(|row| catalog.head(row).source);
        for row in catalog.rows().filter(|row| catalog.supersedes_any(*row) && catalog.is_indexable(*row)) {
            if let Some(id) = catalog.id(row) {
                replacements.add(&id, &catalog.head(row), now, &current, &source_of);
            }
        }
    }
    replacements
}

/// Returns what these live entries replace, also by ids that entries had before they were renamed.
pub(crate) fn replacements_among<'a>(
    live: impl Iterator<Item = (&'a Id, &'a Head)> + Clone,
    names: &EntryNames,
    now: DateTime<Utc>,
) -> Replacements {
    let sources: HashMap<&Id, Source> = live.clone().map(|(id, head)| (id, head.source)).collect();
    let current = |old: &Id| names.of_id(old).map_or(old, NamedEntry::id).clone();
    let mut replacements = Replacements::default();
    for (id, head) in live {
        replacements.add(id, head, now, &current, &|old| sources.get(old).copied());
    }
    replacements
}

/// Returns the ids that another one replaces; of `pairs` the first replaces the second. Entries that replace each other
/// in a circle all stay: nothing says which of them is the newest, and hiding them all would lose their content.
pub(crate) fn replaced(pairs: &[(Id, Id)]) -> HashSet<Id> {
    let circling = in_circles(pairs);
    let counts = |(new, old): &&(Id, Id)| new != old && !(circling.contains(new) && circling.contains(old));
    pairs.iter().filter(counts).map(|(_, old)| old.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_hides_none_of_its_entries() {
        let id = |name: &str| Id::parse(name).unwrap();
        let pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "old"), ("new", "a"), ("x", "x")];
        let pairs = pairs.map(|(new, old)| (id(new), id(old)));
        let mut found: Vec<Id> = replaced(&pairs).into_iter().collect();
        found.sort();
        assert_eq!(found, [id("a"), id("old")]);
    }
}
