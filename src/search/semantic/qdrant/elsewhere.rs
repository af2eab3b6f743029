//! Searching the points of other projects, by meaning and by words in one query.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::collections::WORDS;
use super::points::CHUNKS;
use super::wire::{FIELDS_OF_OTHERS, is, is_any};
use super::{QdrantClient, path};
use crate::entry::Kind;
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

impl QdrantClient {
    /// Returns the entries of other projects that match best, best first, then by project and id.
    ///
    /// The server ranks by reciprocal rank fusion: an entry that is near the top by meaning and by words is before one that
    /// is at the top of one list. Vectors of other models are left out. All of it takes no longer than one request may.
    ///
    /// # Errors
    ///
    /// Those of the requests.
    pub fn search_elsewhere(&self, query: &ElsewhereQuery<'_>) -> Result<Vec<ElsewhereMatch>, RequestError> {
        let n_chunks = query.limit.saturating_mul(CHUNKS);
        let prefetch = self.prefetch(query, n_chunks);
        if prefetch.is_empty() || n_chunks == 0 {
            return Ok(Vec::new());
        }
        let body = json!({
            "prefetch": prefetch,
            "query": { "fusion": "rrf" },
            "limit": n_chunks,
            "with_payload": FIELDS_OF_OTHERS,
        });
        let time: TimeLimit = self.time_limit(Timeouts::Query);
        let mut found = Vec::new();
        for collection in self.collections(&time)? {
            let mut answer = match self.call(&time, "POST", &format!("{}/points/query", path(&collection)), &body) {
                Err(error) if error.is_missing_collection() => continue,
                answer => answer?,
            };
            let points: Vec<Map<String, Value>> = take(&mut answer, "points")?;
            found.extend(points.iter().filter_map(|point| self.read_of_others(point)));
        }
        let name = |found: &ElsewhereMatch| (found.hit.project.clone(), found.hit.id.clone());
        found.sort_by(|one, other| other.hit.score.total_cmp(&one.hit.score).then_with(|| name(one).cmp(&name(other))));
        let mut known = HashSet::new();
        found.retain(|found| known.insert(name(found)));
        found.truncate(query.limit);
        Ok(found)
    }

    /// Returns the lists that the server makes and joins.
    fn prefetch(&self, query: &ElsewhereQuery<'_>, n_chunks: usize) -> Vec<Value> {
        let mut conditions = Vec::new();
        conditions.extend(query.feature.map(|feature| is("feature", feature)));
        conditions.extend(query.kind.map(|kind| is("kind", kind.as_str())));
        if !query.projects.is_empty() {
            let projects: Vec<&str> = query.projects.iter().map(String::as_str).collect();
            conditions.push(is_any("project", &projects));
        }
        let filter = |conditions: Vec<Value>| json!({ "must": conditions, "must_not": [self.own()] });
        let words = (!query.words.is_empty()).then(
            || json!({ "query": query.words, "using": WORDS, "filter": filter(conditions.clone()), "limit": n_chunks }),
        );
        let meaning = query.vector.map(|vector| {
            let conditions = conditions.iter().cloned().chain([is("model", &self.model)]).collect();
            json!({
                "query": vector,
                "filter": filter(conditions),
                "limit": n_chunks,
                "score_threshold": query.min_score.next_down(),
                "params": { "hnsw_ef": self.settings.hnsw.ef },
            })
        });
        words.into_iter().chain(meaning).collect()
    }
}
