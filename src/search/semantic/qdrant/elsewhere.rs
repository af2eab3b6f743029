//! Searching the points of other projects, by words and by meaning in one request.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::collections::WORDS;
use super::points::{CHUNKS, MAX_CHUNKS};
use super::wire::{FIELDS_OF_OTHERS, is, is_any};
use super::{QdrantClient, path};
use crate::entry::Kind;
use crate::search::retrieve::points_of_cosine;
use crate::search::semantic::ProjectHit;
use crate::search::semantic::http::{RequestError, TimeLimit, Timeouts, take};
use crate::search::semantic::word_vector::WordVector;

/// What is searched in other projects.
#[derive(Debug, Clone, Copy)]
pub struct ElsewhereQuery<'a> {
    /// The vector of the query; without one only words count.
    pub vector: Option<&'a [f32]>,
    /// The words of the query.
    pub words: &'a WordVector,
    /// How many entries are returned at most.
    pub limit: usize,
    /// The least cosine of an entry that none of the words finds.
    pub min_score: f32,
    /// The share of meaning in a score, below 1.
    pub weight: f64,
    /// Their projects; all others if empty.
    pub projects: &'a [String],
    /// Their feature.
    pub feature: Option<&'a str>,
    /// Their kind.
    pub kind: Option<Kind>,
}

/// An entry of another project, by the chunk of it that matches best.
#[derive(Debug, Clone, PartialEq)]
pub struct ElsewhereMatch {
    /// The entry.
    pub hit: ProjectHit,
    /// Which of its chunks this is.
    pub number: u32,
    /// The hash of the chunk's text.
    pub content: u64,
}

/// How a point matches, by the server.
#[derive(Default)]
struct Matching {
    words: f64,
    cosine: f64,
    point: Option<ElsewhereMatch>,
}

impl QdrantClient {
    /// Returns the entries of other projects that match best and that `keep` accepts, best first, then by project and id.
    ///
    /// The server finds the best by words and the best by meaning, and gives both scores for all of them; a score is their
    /// weighted sum, as for entries from here. (Its own fusions go by ranks, and lose a tenth of nDCG@10 on judged sets.)
    /// Vectors of other models do not count. All of it takes no longer than one request may.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn search_elsewhere(
        &self,
        query: &ElsewhereQuery<'_>,
        keep: &dyn Fn(&ElsewhereMatch) -> bool,
    ) -> Result<Vec<ElsewhereMatch>, RequestError> {
        let time = self.time_limit(Timeouts::Query);
        let collections = self.collections(&time)?;
        let mut n_chunks = query.limit.saturating_mul(CHUNKS).max(1);
        loop {
            let mut found: BTreeMap<String, Matching> = BTreeMap::new();
            let searches = self.searches(query, n_chunks);
            let mut is_all = true;
            for collection in if searches.is_empty() { &[][..] } else { &collections } {
                is_all &= self.search_collection(&time, collection, &searches, &mut found)?;
            }
            let mut best = best(found.into_values(), query.weight);
            best.retain(keep);
            // A long entry may have all of the best chunks.
            if is_all || best.len() >= query.limit || n_chunks >= query.limit.saturating_mul(MAX_CHUNKS) {
                best.truncate(query.limit);
                return Ok(best);
            }
            n_chunks = n_chunks.saturating_mul(CHUNKS);
        }
    }

    /// Runs the searches in one collection, and returns whether it has no more than was found.
    fn search_collection(
        &self,
        time: &TimeLimit,
        collection: &str,
        searches: &[(By, Value)],
        found: &mut BTreeMap<String, Matching>,
    ) -> Result<bool, RequestError> {
        let bodies: Vec<&Value> = searches.iter().map(|(_, body)| body).collect();
        let to = format!("{}/points/query/batch", path(collection));
        let mut answers: Vec<Value> = match self.call(time, "POST", &to, &json!({ "searches": bodies })) {
            Err(error) if error.is_missing_collection() => return Ok(true),
            // A feature of this name in another project, whose vectors are of another model.
            Err(RequestError::Refused { status: 400, .. }) if collection != self.collection() => return Ok(true),
            answer => serde_json::from_value(answer?).unwrap_or_default(),
        };
        if answers.len() != searches.len() {
            let n = answers.len();
            return Err(RequestError::Broken(format!("it answered {n} of {} queries", searches.len())));
        }
        let mut is_all = true;
        for ((by, body), answer) in searches.iter().zip(&mut answers) {
            let points: Vec<Map<String, Value>> = take(answer, "points")?;
            // Half of what both searches may return is one list full.
            is_all &= (points.len() as u64) < body["limit"].as_u64().unwrap_or_default() / 2;
            self.add(*by, &points, found);
        }
        Ok(is_all)
    }

    /// Notes how points match, by one of the searches. Broken points are left out.
    fn add(&self, by: By, points: &[Map<String, Value>], found: &mut BTreeMap<String, Matching>) {
        for point in points {
            let (Some(id), Some(read)) = (point["id"].as_str(), self.read_of_others(point)) else { continue };
            let matching = found.entry(id.to_owned()).or_default();
            match by {
                By::Words => matching.words = read.hit.score,
                By::Meaning => matching.cosine = read.hit.score.clamp(0.0, 1.0),
            }
            matching.point = Some(read);
        }
    }

    /// Returns the searches of one request: all that words or meaning find, once with scores by words and once by meaning.
    fn searches(&self, query: &ElsewhereQuery<'_>, n_chunks: usize) -> Vec<(By, Value)> {
        let mut conditions = Vec::new();
        conditions.extend(query.feature.map(|feature| is("feature", feature)));
        conditions.extend(query.kind.map(|kind| is("kind", kind.as_str())));
        if !query.projects.is_empty() {
            let projects: Vec<&str> = query.projects.iter().map(String::as_str).collect();
            conditions.push(is_any("project", &projects));
        }
        let outdated = json!({ "key": "outdated", "match": { "value": true } });
        let filter = |conditions: Vec<Value>| json!({ "must": conditions, "must_not": [self.own(), outdated] });
        let words = (!query.words.is_empty()).then(|| {
            let filter = filter(conditions.clone());
            (By::Words, json!({ "query": query.words, "using": WORDS, "filter": filter, "limit": n_chunks }))
        });
        let meaning = query.vector.map(|vector| {
            let conditions = conditions.iter().cloned().chain([is("model", &self.model)]).collect();
            let body = json!({
                "query": vector,
                "filter": filter(conditions),
                "limit": n_chunks,
                "params": { "hnsw_ef": self.settings.hnsw.ef },
            });
            (By::Meaning, body)
        });
        let mut searches: Vec<(By, Value)> = words.into_iter().chain(meaning).collect();
        let mut prefetch: Vec<Value> = searches.iter().map(|(_, body)| body.clone()).collect();
        for ((by, body), prefetched) in searches.iter_mut().zip(&mut prefetch) {
            if matches!(by, By::Meaning) {
                prefetched["score_threshold"] = json!(query.min_score.next_down());
            }
            body["limit"] = json!(2 * n_chunks);
            body["with_payload"] = json!(FIELDS_OF_OTHERS);
        }
        for (_, body) in &mut searches {
            body["prefetch"] = json!(prefetch);
        }
        searches
    }
}

/// By what a search ranks.
#[derive(Clone, Copy)]
enum By {
    Words,
    Meaning,
}

/// Returns the best chunk of each entry, best first.
fn best(found: impl Iterator<Item = Matching>, weight: f64) -> Vec<ElsewhereMatch> {
    let found: Vec<Matching> = found.collect();
    let best_by_words = found.iter().map(|matching| matching.words).fold(0.0, f64::max);
    let of_cosine = points_of_cosine(best_by_words, weight);
    let scored = found.into_iter().filter_map(|matching| {
        let mut point = matching.point?;
        point.hit.score = matching.words + of_cosine * matching.cosine;
        Some(point)
    });
    let mut found: Vec<ElsewhereMatch> = scored.collect();
    let name = |found: &ElsewhereMatch| (found.hit.project.clone(), found.hit.id.clone());
    found.sort_by(|one, other| other.hit.score.total_cmp(&one.hit.score).then_with(|| name(one).cmp(&name(other))));
    let mut known = HashSet::new();
    found.retain(|found| known.insert(name(found)));
    found
}
