//! Points of a Qdrant server: stored, removed, searched and listed.
//!
//! Only points of this project are changed, and storing is repeatable: ids depend on the entry and the chunk alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::wire::{FIELDS_OF_MATCH, FIELDS_OF_STORED, is, is_any};
use super::{CollectionsReport, Point, PointMatch, QdrantClient, StoredPoint, path};
use crate::entry::{Id, Kind};
use crate::search::semantic::http::{RequestError, TimeLimit, Timeouts, take};
use crate::search::semantic::word_vector::WordVector;

/// About how many bytes of points are stored at once: a server accepts 32 MB, and a request has a time limit.
const MAX_BATCH: usize = 1024 * 1024;
/// How many bytes a number of a vector has at most as text, with its comma.
const NUMBER_BYTES: usize = 16;
/// About how many bytes a point has besides its vector. The longest names fit into what a server accepts beyond a
/// batch.
const POINT_BYTES: usize = 512;
/// How many bytes a word of a text has at most as text, with its weight and commas.
const WORD_BYTES: usize = 32;
/// How many entries, or points to keep, a request to delete names at most.
const MAX_NAMED: usize = 512;
/// How many points a page of a listing has: about 200 KB.
const PAGE: usize = 1_000;
/// How many points are listed at most. A server that sends more is taken to send them endlessly.
const MAX_LISTED: usize = 10_000_000;
/// How many chunks are requested at first, for each entry that is wanted.
pub(super) const CHUNKS: usize = 4;
/// How many are requested at most, if a few long entries have all of the best ones.
pub(super) const MAX_CHUNKS: usize = 64;

impl QdrantClient {
    /// Stores points, and replaces those that exist. A collection that is missing is created.
    ///
    /// Afterwards it removes what the server has of the same entries beyond their number of chunks (`of`), and in
    /// collections of other features. Other chunks stay as they are: give all chunks of an entry whose number of chunks
    /// or feature changed.
    ///
    /// With [`Timeouts::Query`] all of it takes no longer than one request may, and points in collections of other
    /// features stay until the next call with [`Timeouts::Batch`]: there may be many collections.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn put(&self, points: &[Point], timeouts: Timeouts) -> Result<(), RequestError> {
        let time = &self.time_limit(timeouts);
        let mut by_home: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
        for point in points {
            by_home.entry(self.home(point.feature.as_deref())).or_default().push(point);
        }
        for (home, points) in &by_home {
            let dimensions = points.first().map_or(0, |point| point.vector.len());
            for batch in batches(points) {
                let body = SentPoints { points: batch.iter().map(|point| self.sent(point)).collect() };
                let to = format!("{}/points?wait=true", path(home));
                match self.call(time, "PUT", &to, &body) {
                    // The first write.
                    Err(error) if error.is_missing_collection() => {
                        self.prepare_one(time, home, dimensions, &mut CollectionsReport::default())?;
                        self.call(time, "PUT", &to, &body)?;
                    }
                    answer => drop(answer?),
                }
            }
            self.remove_surplus(time, home, points)?;
        }
        if self.is_per_feature() && timeouts == Timeouts::Batch && !points.is_empty() {
            for collection in self.collections(&self.time_limit(Timeouts::Query))? {
                // If an entry was given with two features, both stay.
                let here = by_home.get(&collection).map(Vec::as_slice).unwrap_or_default();
                let here: HashSet<&Id> = here.iter().map(|point| &point.entry).collect();
                let elsewhere: BTreeSet<&Id> =
                    points.iter().map(|point| &point.entry).filter(|entry| !here.contains(entry)).collect();
                let elsewhere: Vec<&str> = elsewhere.into_iter().map(Id::as_str).collect();
                self.remove_from(&collection, &elsewhere)?;
            }
        }
        Ok(())
    }

    /// Removes all points of entries, of every model and feature. Entries of other projects stay.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn remove(&self, entries: &[Id]) -> Result<(), RequestError> {
        if entries.is_empty() {
            return Ok(());
        }
        let entries: Vec<&str> = entries.iter().map(Id::as_str).collect();
        for collection in self.collections(&self.time_limit(Timeouts::Query))? {
            self.remove_from(&collection, &entries)?;
        }
        Ok(())
    }

    /// Returns the entries whose best chunk matches a vector best, best first, then by id, and with the same requests
    /// those that are named, however small their cosines.
    ///
    /// All of it takes no longer than one request may. With a feature only its entries are searched.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn search(&self, query: &PointQuery<'_>) -> Result<PointsFound, RequestError> {
        let PointQuery { limit, feature, .. } = *query;
        if limit == 0 && query.also.is_empty() {
            return Ok(PointsFound::default());
        }
        let time = self.time_limit(Timeouts::Query);
        let collections = match feature {
            Some(feature) => vec![self.home(Some(feature))],
            None => self.collections(&time)?,
        };
        let (mut near, mut named, mut missing) = (BestByEntry::new(), BestByEntry::new(), HashSet::new());
        for collection in &collections {
            match self.search_one(&time, collection, query) {
                Ok([found, also]) => {
                    keep_best(&mut near, found.into_values());
                    keep_best(&mut named, also.into_values());
                }
                // Nothing was stored there yet, or it was deleted.
                Err(error) if error.is_missing_collection() => drop(missing.insert(collection.clone())),
                // If the request itself is wrong, the collection of the settings refuses it, too. Else this collection is
                // not for such vectors: it is of another project with a feature of this name, and of another model.
                Err(error @ RequestError::Refused { status: 400, .. }) if collection != self.collection() => {
                    let is_refused = |error: RequestError| !error.is_missing_collection();
                    if feature.is_some() && self.search_one(&time, self.collection(), query).is_err_and(is_refused) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        // The graph may miss the best chunk of an entry; a filter by entries does not.
        keep_best(&mut named, sorted(near).into_iter().take(limit));
        Ok(PointsFound { matches: sorted(named), missing })
    }

    /// Returns the points of this project, of every model, in no order. Where there is one collection for all features,
    /// only that one is listed.
    ///
    /// # Errors
    ///
    /// Those of the requests, and [`RequestError::Broken`] where the listing does not end.
    pub fn stored(&self) -> Result<Vec<StoredPoint>, RequestError> {
        let mut stored = Vec::new();
        for collection in self.collections(&self.time_limit(Timeouts::Query))? {
            let mut offset = Value::Null;
            loop {
                let body = json!({
                    "filter": { "must": [self.own()] },
                    "limit": PAGE,
                    "with_payload": FIELDS_OF_STORED,
                    "with_vector": false,
                    "offset": offset,
                });
                let to = format!("{}/points/scroll", path(&collection));
                let mut page = match self.call(&self.time_limit(Timeouts::Batch), "POST", &to, &body) {
                    Err(error) if error.is_missing_collection() => break,
                    page => page?,
                };
                let points: Vec<Map<String, Value>> = take(&mut page, "points")?;
                stored.extend(points.iter().filter_map(|point| self.read_stored(point, &collection)));
                let next = page["next_page_offset"].take();
                if next.is_null() {
                    break;
                }
                if next == offset || points.is_empty() || stored.len() > MAX_LISTED {
                    return Err(RequestError::Broken("its listing of points does not end".to_owned()));
                }
                offset = next;
            }
        }
        Ok(stored)
    }

    fn sent<'a>(&self, point: &'a Point) -> SentPoint<'a> {
        SentPoint {
            id: self.point_id(point.entry.as_str(), point.number),
            vector: SentVectors { meaning: &point.vector, words: &point.words },
            payload: self.payload(point),
        }
    }

    /// Removes what a collection has of the entries of these points beyond their number of chunks.
    fn remove_surplus(&self, time: &TimeLimit, collection: &str, points: &[&Point]) -> Result<(), RequestError> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for point in points {
            // A chunk that was just stored is not removed, whatever `of` says.
            let count = counts.entry(point.entry.as_str()).or_default();
            *count = (*count).max(point.of).max(point.number.saturating_add(1));
        }
        let (mut entries, mut kept) = (Vec::new(), Vec::new());
        for (entry, count) in counts {
            entries.push(entry);
            kept.extend((0..count).map(|number| self.point_id(entry, number)));
            if entries.len() + kept.len() >= MAX_NAMED {
                self.remove_but(time, collection, &std::mem::take(&mut entries), &std::mem::take(&mut kept))?;
            }
        }
        self.remove_but(time, collection, &entries, &kept)
    }

    /// Removes all points of entries from a collection, which need not exist.
    fn remove_from(&self, collection: &str, entries: &[&str]) -> Result<(), RequestError> {
        let mut groups = entries.chunks(MAX_NAMED);
        groups.try_for_each(|group| self.remove_but(&self.time_limit(Timeouts::Batch), collection, group, &[]))
    }

    /// Removes all points of entries but some from a collection, which need not exist.
    fn remove_but(
        &self,
        time: &TimeLimit,
        collection: &str,
        entries: &[&str],
        kept: &[String],
    ) -> Result<(), RequestError> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut filter = json!({ "must": [self.own(), is_any("entry", entries)] });
        if !kept.is_empty() {
            filter["must_not"] = json!([{ "has_id": kept }]);
        }
        match self.delete(time, collection, &filter) {
            Err(error) if error.is_missing_collection() => Ok(()),
            result => result,
        }
    }

    /// Finds the best chunk of each entry in a collection: of those that match best, and of those that are named and in
    /// this collection.
    ///
    /// Entries have any number of chunks, so more chunks are requested than entries are wanted, and more again as long
    /// as there are more and they are of too few entries.
    fn search_one(
        &self,
        time: &TimeLimit,
        collection: &str,
        query: &PointQuery<'_>,
    ) -> Result<[BestByEntry; 2], RequestError> {
        let mut own = vec![self.own(), is("model", &self.model)];
        own.extend(query.feature.map(|feature| is("feature", feature)));
        own.extend(query.kind.map(|kind| is("kind", kind.as_str())));
        let also = query.also.iter().filter(|(_, feature)| self.home(feature.as_deref()) == collection);
        let also: Vec<&str> = also.map(|(entry, _)| entry.as_str()).collect();
        let of_named: Vec<Value> = own.iter().cloned().chain([is_any("entry", &also)]).collect();
        let pending = |filter: Vec<Value>, min_score: f32, n_entries: usize| {
            let body = json!({
                "query": query.vector,
                "filter": { "must": filter },
                // The server returns what is better than the threshold, but an equal cosine counts, too. Infinity
                // becomes null, which is no threshold.
                "score_threshold": min_score.next_down(),
                "params": { "hnsw_ef": self.settings.hnsw.ef },
                "with_payload": FIELDS_OF_MATCH,
            });
            let n_chunks = n_entries.saturating_mul(CHUNKS);
            ChunkQuery { body, min_score, n_entries, n_chunks, best: BestByEntry::new() }
        };
        let mut queries =
            [pending(own, query.min_score, query.limit), pending(of_named, f32::NEG_INFINITY, also.len())];
        loop {
            let mut open: Vec<&mut ChunkQuery> = queries.iter_mut().filter(|query| query.n_chunks > 0).collect();
            if open.is_empty() {
                return Ok(queries.map(|query| query.best));
            }
            let results = self.query(time, collection, &mut open)?;
            for (query, points) in open.into_iter().zip(results) {
                let found = points.iter().filter_map(|point| self.read_match(point));
                keep_best(&mut query.best, found.filter(|found| found.score >= query.min_score));
                let is_all =
                    points.len() < query.n_chunks || query.n_chunks >= query.n_entries.saturating_mul(MAX_CHUNKS);
                let is_done = is_all || query.best.len() >= query.n_entries;
                query.n_chunks = if is_done { 0 } else { query.n_chunks.saturating_mul(CHUNKS) };
            }
        }
    }

    /// Runs one query, or several in one request, and returns the points that each found.
    fn query(
        &self,
        time: &TimeLimit,
        collection: &str,
        queries: &mut [&mut ChunkQuery],
    ) -> Result<Vec<Vec<Map<String, Value>>>, RequestError> {
        for query in &mut *queries {
            query.body["limit"] = json!(query.n_chunks);
        }
        let to = format!("{}/points/query", path(collection));
        let mut results: Vec<Value> = if let [query] = queries {
            vec![self.call(time, "POST", &to, &query.body)?]
        } else {
            let bodies: Vec<&Value> = queries.iter().map(|query| &query.body).collect();
            let found = self.call(time, "POST", &format!("{to}/batch"), &json!({ "searches": bodies }))?;
            serde_json::from_value(found).unwrap_or_default()
        };
        if results.len() != queries.len() {
            return Err(RequestError::Broken(format!("it answered {} of {} queries", results.len(), queries.len())));
        }
        results.iter_mut().map(|result| take(result, "points")).collect()
    }
}

/// Points as they are sent. As a [`Value`] each number of a vector would have twice as many digits.
#[derive(Serialize)]
struct SentPoints<'a> {
    points: Vec<SentPoint<'a>>,
}

#[derive(Serialize)]
struct SentPoint<'a> {
    id: String,
    vector: SentVectors<'a>,
    payload: Value,
}

/// The vectors of a point. The name `words` is that of `WORDS`.
#[derive(Serialize)]
struct SentVectors<'a> {
    /// The vector that has no name.
    #[serde(rename = "")]
    meaning: &'a [f32],
    words: &'a WordVector,
}

/// What is searched.
#[derive(Debug, Clone, Copy, Default)]
pub struct PointQuery<'a> {
    /// The vector of the query.
    pub vector: &'a [f32],
    /// How many entries are returned at most, beside `also`.
    pub limit: usize,
    /// The least cosine of an entry that is not in `also`.
    pub min_score: f32,
    /// Their feature.
    pub feature: Option<&'a str>,
    /// Their kind.
    pub kind: Option<Kind>,
    /// Entries whose cosines are returned in any case, and the feature of each.
    pub also: &'a [(Id, Option<String>)],
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PointsFound {
    /// The best chunk of each entry, best first, then by id.
    pub matches: Vec<PointMatch>,
    /// The searched collections that the server does not have.
    pub missing: HashSet<String>,
}

/// The best chunk of each entry.
type BestByEntry = HashMap<Id, PointMatch>;

/// A query, and how many chunks it asks for: 0 when it is complete.
struct ChunkQuery {
    body: Value,
    min_score: f32,
    n_entries: usize,
    n_chunks: usize,
    best: BestByEntry,
}

fn sorted(found: BestByEntry) -> Vec<PointMatch> {
    let mut found: Vec<PointMatch> = found.into_values().collect();
    found.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.entry.cmp(&other.entry)));
    found
}

/// Keeps the best chunk of each entry; of two that are equally good the first.
fn keep_best(best: &mut BestByEntry, found: impl Iterator<Item = PointMatch>) {
    for found in found {
        let is_better = |known: &PointMatch| match found.score.total_cmp(&known.score) {
            std::cmp::Ordering::Equal => found.number < known.number,
            order => order.is_gt(),
        };
        if best.get(&found.entry).is_none_or(is_better) {
            best.insert(found.entry.clone(), found);
        }
    }
}

/// Returns points in the groups in which they are stored.
fn batches<'a>(points: &'a [&'a Point]) -> impl Iterator<Item = &'a [&'a Point]> {
    let mut left = points;
    std::iter::from_fn(move || {
        let mut n_bytes = 0;
        let is_full = |point: &&Point| {
            n_bytes += n_bytes_of(point);
            n_bytes > MAX_BATCH
        };
        let end = left.iter().position(is_full).unwrap_or(left.len()).max(1).min(left.len());
        let (batch, behind) = left.split_at(end);
        left = behind;
        (!batch.is_empty()).then_some(batch)
    })
}

fn n_bytes_of(point: &Point) -> usize {
    let shown = point.shown.iter().flatten().map(|text| 2 * text.len()).sum::<usize>();
    point.vector.len() * NUMBER_BYTES + point.words.len() * WORD_BYTES + shown + POINT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded() {
        let text: Vec<String> = (0..2_000).map(|number| format!("w{number}")).collect();
        let words = WordVector::of_text(&text.join(" "));
        for dimensions in [96, 768, 8_192, MAX_BATCH] {
            let vector = vec![-1.175_494_4e-38_f32; dimensions];
            let entry = Id::parse("knowledge/a").unwrap();
            let point = Point {
                entry,
                number: 0,
                of: 1,
                content: 0,
                vector,
                words: words.clone(),
                shown: None,
                is_outdated: false,
                feature: None,
            };
            let vectors = SentVectors { meaning: &point.vector, words: &point.words };
            let sent = serde_json::to_string(&vectors).unwrap();
            assert!(sent.len() <= n_bytes_of(&point), "{dimensions}: {} bytes", sent.len());
            let points = [&point; 5];
            let sizes: Vec<usize> = batches(&points).map(<[_]>::len).collect();
            let at_once = (MAX_BATCH / n_bytes_of(&point)).clamp(1, 5);
            assert_eq!((sizes[0], sizes.iter().sum::<usize>()), (at_once, 5), "{dimensions}");
        }
        assert_eq!(batches(&[]).count(), 0);
    }
}
