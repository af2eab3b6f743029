//! Points of a Qdrant server: stored, removed, found and listed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};

use super::wire::{FIELDS_OF_MATCH, FIELDS_OF_STORED, QueryResult, ScrollPage, is, is_any, is_kind};
use super::{CollectionsReport, Point, PointMatch, QdrantClient, StoredPoint, path};
use crate::entry::{Id, Kind};
use crate::semantic::Timeouts;
use crate::semantic::http::{RequestError, TimeLimit};

/// How many bytes of points are stored at once, about: a server takes 32 MB, and one call has only so much time.
const MAX_BATCH: usize = 1024 * 1024;
/// The most bytes that one number of a vector takes as text, with its comma.
const NUMBER_BYTES: usize = 16;
/// About how many bytes a point has beside its vector and names.
const POINT_BYTES: usize = 320;
/// How many entries, or kept points, one call that deletes names.
const MAX_NAMED: usize = 512;
/// How many points a page of a list has: about 200 KB.
const PAGE: usize = 1_000;
/// The most points that are listed: a server that sends more has no end.
const MAX_LISTED: usize = 10_000_000;
/// How many chunks are asked for at first, for each entry that is wanted.
const CHUNKS: usize = 4;
/// How many at most, where a few long entries have all the best ones.
const MAX_CHUNKS: usize = 64;

impl QdrantClient {
    /// Stores points. Those that are there are replaced, so it may be called again.
    ///
    /// What the server has of the same entries beyond their number of chunks (`of`) is removed afterwards, and what it
    /// has of them in collections of other features. Chunks that are not given stay as they are, so give all of an
    /// entry whose number of chunks or feature is another one.
    ///
    /// With the patience of a query all of it takes no longer than one call may, and what is in collections of other
    /// features stays until it is done with more of it: there may be many of them.
    pub fn put(&self, points: &[Point], patience: Timeouts) -> Result<(), RequestError> {
        let clock = match patience {
            Timeouts::Query => &self.together(),
            Timeouts::Batch => &self.each(),
        };
        let mut by_home: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
        for point in points {
            by_home.entry(self.home(point.feature.as_deref())).or_default().push(point);
        }
        for (home, points) in &by_home {
            for batch in batches(points) {
                let points: Vec<Value> = batch
                    .iter()
                    .map(|point| {
                        let id = self.point_id(point.entry.as_str(), point.number);
                        json!({ "id": id, "vector": point.vector, "payload": self.payload(point) })
                    })
                    .collect();
                let to = format!("{}/points?wait=true", path(home));
                let body = json!({ "points": points });
                match self.call::<Value>(clock, "PUT", &to, Some(&body)) {
                    // The first of its feature.
                    Err(trouble) if trouble.is_missing_collection() && *home != self.collection => {
                        let dimensions = batch.first().map_or(0, |point| point.vector.len());
                        self.prepare_one(clock, home, dimensions, &mut CollectionsReport::default())?;
                        self.call::<Value>(clock, "PUT", &to, Some(&body))?;
                    }
                    answer => drop(answer?),
                }
            }
            self.remove_surplus(clock, home, points)?;
        }
        if self.is_per_feature && patience == Timeouts::Batch && !points.is_empty() {
            for collection in self.collections(&self.together())? {
                // Of one that was given with two features both stay, rather than none.
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

    /// Removes all points of entries, whichever model and feature they are of. Entries of other projects stay.
    pub fn remove(&self, entries: &[Id]) -> Result<(), RequestError> {
        if entries.is_empty() {
            return Ok(());
        }
        let entries: Vec<&str> = entries.iter().map(Id::as_str).collect();
        for collection in self.collections(&self.together())? {
            self.remove_from(&collection, &entries)?;
        }
        Ok(())
    }

    /// Returns the entries whose best chunk fits a vector best, best first, then by id: at most `limit`, and none that
    /// fits less than `min_score`.
    ///
    /// All of it takes no longer than one call may. With a feature only its entries are looked at; one that nothing
    /// was ever stored of has none.
    pub fn search(
        &self,
        vector: &[f32],
        limit: usize,
        min_score: f32,
        feature: Option<&str>,
        kind: Option<Kind>,
    ) -> Result<Vec<PointMatch>, RequestError> {
        self.search_with(&PointQuery { vector, limit, min_score, feature, kind, also: &[] })
    }

    /// Returns what [`search`](QdrantClient::search) does, and how well some other entries fit, however little that is, in
    /// the same calls.
    pub fn search_with(&self, wanted: &PointQuery<'_>) -> Result<Vec<PointMatch>, RequestError> {
        let PointQuery { limit, feature, .. } = *wanted;
        if limit == 0 && wanted.also.is_empty() {
            return Ok(Vec::new());
        }
        let clock = self.together();
        let collections = match feature {
            Some(feature) => vec![self.home(Some(feature))],
            None => self.collections(&clock)?,
        };
        let (mut near, mut named) = (HashMap::new(), HashMap::new());
        for collection in &collections {
            match self.search_one(&clock, collection, wanted) {
                Ok((found, also)) => {
                    for found in found.into_values() {
                        keep_best(&mut near, found);
                    }
                    for found in also.into_values() {
                        keep_best(&mut named, found);
                    }
                }
                // Nothing was stored of this feature yet; or it was deleted just now.
                Err(trouble) if trouble.is_missing_collection() && *collection != self.collection => {
                    let path = path(&self.collection);
                    self.call::<Value>(&clock, "GET", &path, None::<&()>)?;
                }
                // What is wrong with the call itself the collection of the settings says too, or else it is this one that
                // is not for such vectors: another project's, whose features have the same name and whose model is another.
                Err(trouble @ RequestError::Refused { status: 400, .. }) if *collection != self.collection => {
                    if feature.is_some() && self.search_one(&clock, &self.collection, wanted).is_err() {
                        return Err(trouble);
                    }
                }
                Err(trouble) => return Err(trouble),
            }
        }
        let sort = |found: &mut Vec<PointMatch>| {
            found.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.entry.cmp(&other.entry)));
        };
        let mut found: Vec<PointMatch> = near.into_values().collect();
        sort(&mut found);
        found.truncate(limit);
        // A graph may miss the best chunk of an entry, and a list of few entries does not.
        found.retain(|found| !named.get(&found.entry).is_some_and(|named| named.score >= found.score));
        let near: HashSet<Id> = found.iter().map(|found| found.entry.clone()).collect();
        found.extend(named.into_values().filter(|named| !near.contains(&named.entry)));
        sort(&mut found);
        Ok(found)
    }

    /// Returns what the server has of this project, by any model, in no order.
    ///
    /// In one collection for all only that one is looked at.
    pub fn stored(&self) -> Result<Vec<StoredPoint>, RequestError> {
        let mut stored = Vec::new();
        for collection in self.collections(&self.together())? {
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
                let page: ScrollPage = match self.call(&self.each(), "POST", &to, Some(&body)) {
                    Err(trouble) if trouble.is_missing_collection() && collection != self.collection => break,
                    page => page?,
                };
                stored.extend(page.points.iter().filter_map(|listed| self.read_stored(listed, &collection)));
                let next = page.next_page_offset.unwrap_or_default();
                if next.is_null() {
                    break;
                }
                if next == offset || page.points.is_empty() || stored.len() > MAX_LISTED {
                    return Err(RequestError::Broken("its list of points has no end".to_owned()));
                }
                offset = next;
            }
        }
        Ok(stored)
    }

    /// Removes what a collection has of the entries of these points beyond their number of chunks.
    fn remove_surplus(&self, clock: &TimeLimit, collection: &str, points: &[&Point]) -> Result<(), RequestError> {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for point in points {
            // A number that is stored is not removed again, whatever `of` says.
            let count = counts.entry(point.entry.as_str()).or_default();
            *count = (*count).max(point.of).max(point.number.saturating_add(1));
        }
        let (mut entries, mut kept) = (Vec::new(), Vec::new());
        for (entry, count) in counts {
            entries.push(entry);
            kept.extend((0..count).map(|number| self.point_id(entry, number)));
            if entries.len() + kept.len() >= MAX_NAMED {
                self.remove_but(clock, collection, &std::mem::take(&mut entries), &std::mem::take(&mut kept))?;
            }
        }
        self.remove_but(clock, collection, &entries, &kept)
    }

    /// Removes all points of entries but some.
    fn remove_but(
        &self,
        clock: &TimeLimit,
        collection: &str,
        entries: &[&str],
        kept: &[String],
    ) -> Result<(), RequestError> {
        if entries.is_empty() {
            return Ok(());
        }
        let filter = json!({ "must": [self.own(), is_any("entry", entries)], "must_not": [{ "has_id": kept }] });
        self.delete(clock, collection, &filter)
    }

    /// Removes all points of entries from a collection, which need not be there.
    fn remove_from(&self, collection: &str, entries: &[&str]) -> Result<(), RequestError> {
        for entries in entries.chunks(MAX_NAMED) {
            match self.delete(&self.each(), collection, &json!({ "must": [self.own(), is_any("entry", entries)] })) {
                Err(trouble) if trouble.is_missing_collection() => return Ok(()),
                result => result?,
            }
        }
        Ok(())
    }

    /// Deletes the points that a filter lets through.
    pub(super) fn delete(&self, clock: &TimeLimit, collection: &str, filter: &Value) -> Result<(), RequestError> {
        let to = format!("{}/points/delete?wait=true", path(collection));
        self.call::<Value>(clock, "POST", &to, Some(&json!({ "filter": filter }))).map(|_| ())
    }

    /// Finds the best chunk of each entry in a collection: of those that fit best, and of those that are named and lie
    /// there.
    ///
    /// Entries have any number of chunks, so more chunks are asked for than entries are wanted, and more again as long
    /// as there are some and they are of too few entries.
    fn search_one(
        &self,
        clock: &TimeLimit,
        collection: &str,
        wanted: &PointQuery<'_>,
    ) -> Result<(BestByEntry, BestByEntry), RequestError> {
        let mut own = vec![self.own(), is("model", &self.model)];
        own.extend(wanted.feature.map(|feature| is("feature", feature)));
        own.extend(wanted.kind.map(is_kind));
        let also = wanted.also.iter().filter(|(_, feature)| self.home(feature.as_deref()) == collection);
        let also: Vec<&str> = also.map(|(entry, _)| entry.as_str()).collect();
        let named: Vec<Value> = own.iter().cloned().chain([is_any("entry", &also)]).collect();
        // It gives what is better than this, and what is as good counts too.
        let near = json!({ "filter": { "must": own }, "score_threshold": wanted.min_score.next_down() });
        let mut asked = [
            ChunkQuery { body: near, n_entries: wanted.limit, n_chunks: wanted.limit.saturating_mul(CHUNKS) },
            ChunkQuery {
                body: json!({ "filter": { "must": named } }),
                n_entries: also.len(),
                n_chunks: also.len() * CHUNKS,
            },
        ];
        let mut best = [BestByEntry::new(), BestByEntry::new()];
        loop {
            let open: Vec<usize> = (0..asked.len()).filter(|number| asked[*number].n_chunks > 0).collect();
            if open.is_empty() {
                let [near, named] = best;
                return Ok((near, named));
            }
            let bodies: Vec<Value> = open.iter().map(|number| self.body(wanted, &asked[*number])).collect();
            let found = self.query(clock, collection, &bodies)?;
            for (number, found) in open.into_iter().zip(found) {
                let (asked, best) = (&mut asked[number], &mut best[number]);
                for found in found.points.iter().filter_map(|scored| self.read_match(scored)) {
                    if number == 1 || found.score >= wanted.min_score {
                        keep_best(best, found);
                    }
                }
                let is_all =
                    found.points.len() < asked.n_chunks || asked.n_chunks >= asked.n_entries.saturating_mul(MAX_CHUNKS);
                let is_done = is_all || best.len() >= asked.n_entries;
                asked.n_chunks = if is_done { 0 } else { asked.n_chunks.saturating_mul(CHUNKS) };
            }
        }
    }

    fn body(&self, wanted: &PointQuery<'_>, asked: &ChunkQuery) -> Value {
        let mut body = asked.body.clone();
        body["query"] = json!(wanted.vector);
        body["limit"] = json!(asked.n_chunks);
        body["params"] = json!({ "hnsw_ef": self.hnsw_ef });
        body["with_payload"] = json!(FIELDS_OF_MATCH);
        body
    }

    /// Makes one query, or several in one call.
    fn query(&self, clock: &TimeLimit, collection: &str, bodies: &[Value]) -> Result<Vec<QueryResult>, RequestError> {
        let to = format!("{}/points/query", path(collection));
        if let [body] = bodies {
            return Ok(vec![self.call(clock, "POST", &to, Some(body))?]);
        }
        let found: Vec<QueryResult> =
            self.call(clock, "POST", &format!("{to}/batch"), Some(&json!({ "searches": bodies })))?;
        if found.len() == bodies.len() {
            return Ok(found);
        }
        Err(RequestError::Broken(format!("it answers {} queries of {}", found.len(), bodies.len())))
    }
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct PointQuery<'a> {
    /// What it means.
    pub vector: &'a [f32],
    /// How many entries at most.
    pub limit: usize,
    /// How well they fit at least.
    pub min_score: f32,
    /// Their feature.
    pub feature: Option<&'a str>,
    /// Their kind.
    pub kind: Option<Kind>,
    /// Entries that are told of, however little they fit, beyond the limit, and the feature of each.
    pub also: &'a [(Id, Option<String>)],
}

/// The best chunk of each entry.
type BestByEntry = HashMap<Id, PointMatch>;

/// A query, and how much of it is wanted: no chunks any more where all of it is there.
struct ChunkQuery {
    body: Value,
    n_entries: usize,
    n_chunks: usize,
}

/// Keeps the better one of two chunks of an entry; of two that are equally good the first.
fn keep_best(best: &mut BestByEntry, found: PointMatch) {
    let is_better = |known: &PointMatch| match found.score.total_cmp(&known.score) {
        std::cmp::Ordering::Equal => found.number < known.number,
        order => order.is_gt(),
    };
    if best.get(&found.entry).is_none_or(is_better) {
        best.insert(found.entry.clone(), found);
    }
}

/// Splits points so that each part has no more bytes than are stored at once.
fn batches<'a, 'b>(points: &'b [&'a Point]) -> Vec<&'b [&'a Point]> {
    let bytes = |point: &Point| {
        let feature = point.feature.as_ref().map_or(0, String::len);
        point.vector.len() * NUMBER_BYTES + POINT_BYTES + point.entry.as_str().len() + feature
    };
    let mut batches = Vec::new();
    let (mut begin, mut size) = (0, 0);
    for (at, point) in points.iter().enumerate() {
        let bytes = bytes(point);
        if size + bytes > MAX_BATCH && at > begin {
            batches.push(&points[begin..at]);
            (begin, size) = (at, 0);
        }
        size += bytes;
    }
    if begin < points.len() {
        batches.push(&points[begin..]);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(number: u32, dimensions: usize) -> Point {
        let entry = Id::parse("knowledge/wal").unwrap();
        let vector = vec![-1.175_494_4e-38; dimensions];
        Point { entry, number, of: 1, content: 0, vector, feature: None, kind: Kind::Knowledge }
    }

    #[test]
    fn batches_are_bounded_and_hold_every_point() {
        let points: Vec<Point> = (0..300).map(|number| point(number, 768)).collect();
        let points: Vec<&Point> = points.iter().collect();
        let parts = batches(&points);
        assert!(parts.len() > 2);
        assert_eq!(parts.concat().len(), 300);
        for part in parts {
            let vectors: Vec<&[f32]> = part.iter().map(|point| point.vector.as_slice()).collect();
            assert!(serde_json::to_string(&vectors).unwrap().len() < MAX_BATCH);
        }
        let huge = point(0, MAX_BATCH);
        assert_eq!(batches(&[&huge, &huge]).len(), 2);
        assert!(batches(&[]).is_empty());
    }
}
