//! Semantic search: the cosines of the entries and a query, from the cache or from a Qdrant server.
//!
//! Nothing here makes a call fail. A server that is absent, slow or broken costs one warning, and then only words
//! count. Results from a Qdrant server count only for entries that exist here and whose text is still the embedded one.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::breaker::CircuitBreaker;
use super::chunk::EntryChunks;
use super::embedder::{EmbeddedFiles, Embedder};
use super::failure::ServerFailure;
use super::http::RequestError;
use super::ollama::OllamaClient;
use super::qdrant::{ElsewhereMatch, ElsewhereQuery, PointMatch, PointQuery, PointsFound, QdrantClient};
use super::remote::RemoteSync;
use super::report::{EmbedReport, ProjectHit, SemanticStatus};
use super::vectors::{QueryVector, VectorRecord};
use super::word_vector::WordVector;
use crate::entry::{Id, Kind};
use crate::error::{Problem, Result};
use crate::index::Snapshot;
use crate::index::catalog::{Area, Catalog, RowId};
use crate::search::retrieve::{MAX_CANDIDATES, Meaning, Query, by_words, not_in_future};
use crate::settings::Settings;
use crate::text::secret::redact;
use crate::workspace::{View, Workspace};

/// How many entries without a vector a search embeds at most; more are for `index`.
const MAX_EMBEDDED: usize = 8;
/// How many entries are requested for each one that is wanted, because some results do not count.
const SPARE: usize = 3;

/// The number of a catalog, a row of it, and the cosine of the entry and a query.
type Cosine = (usize, RowId, f32);

/// Searches by meaning, and embeds what was written.
#[derive(Debug)]
pub(super) struct Searcher {
    embedder: Embedder,
    remote: Option<RemoteSync>,
    breaker: CircuitBreaker,
}

impl Searcher {
    /// Returns the search with the servers of the settings, if they name any, for the memory in `root`. No request is
    /// made.
    pub(super) fn new(settings: &Settings, root: &Path) -> Option<Searcher> {
        let ollama = OllamaClient::new(&settings.ollama)?;
        let mut of_qdrant = settings.qdrant.clone();
        if of_qdrant.project.is_empty() {
            // Without a name two projects would mix up their entries.
            let folder = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            of_qdrant.project = name.unwrap_or_default();
        }
        let qdrant = QdrantClient::new(&of_qdrant, ollama.model());
        let addresses = [Some(ollama.url()), qdrant.as_ref().map(QdrantClient::url)];
        let breaker = CircuitBreaker::new(addresses.into_iter().flatten().map(str::to_owned).collect());
        let remote = qdrant.map(|qdrant| RemoteSync::new(qdrant, ollama.model()));
        let command = if remote.is_some() { "ralph-memory index --remote" } else { "ralph-memory index" };
        Some(Searcher { embedder: Embedder::new(ollama, command), remote, breaker })
    }

    /// Embeds all entries that have no vector.
    pub(super) fn embed_all(&self, workspace: &Workspace) -> Result<EmbedReport> {
        self.breaker.conclude(workspace, |report| self.embedder.embed_all(workspace, &self.breaker, report))
    }

    /// Updates the Qdrant server from the files, if there is one.
    pub(super) fn synchronize(&self, workspace: &Workspace, rebuild: bool) -> Option<Result<EmbedReport>> {
        let remote = self.remote.as_ref()?;
        Some(self.breaker.conclude(workspace, |report| {
            remote.synchronize(workspace, &self.embedder, &self.breaker, rebuild, report)
        }))
    }

    /// Embeds entries that a call has written, and returns the problems.
    pub(super) fn embed_written(&self, workspace: &Workspace, paths: &[String]) -> Vec<Problem> {
        let (embedded, mut problems) = self.breaker.guard(workspace, |_| self.embed_now(workspace, paths, None));
        problems.extend(embedded.into_iter().flat_map(|embedded| embedded.problems));
        problems
    }

    /// Returns the cosines of the entries of the views and a query, unless a server fails, and the problems.
    pub(super) fn search(
        &self,
        workspace: &Workspace,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
        weight: f64,
    ) -> (Option<Meaning>, Vec<Problem>) {
        // People also search for the place of one of their tokens.
        let text = redact(&query.text, &workspace.settings.allowed_secrets);
        let query = &Query { text, ..query.clone() };
        let catalogs: Vec<&Catalog> = views.iter().map(|view| &view.catalog).collect();
        let (found, problems) = self.breaker.guard(workspace, |problems| match &self.remote {
            Some(remote) => self.search_remote(remote, workspace, &catalogs, snapshot, query, problems),
            None => self.search_cache(workspace, &catalogs, query, problems),
        });
        let meaning = found.map(|mut similar| {
            sort(&mut similar, &catalogs, workspace.now());
            Meaning { similar, weight, limit: workspace.settings.semantic.limit, min_score: min_cosine(workspace) }
        });
        (meaning, problems)
    }

    /// Removes what this project has on the Qdrant server, if there is one.
    pub(super) fn remove_remote(&self, workspace: &Workspace) -> Option<Result<EmbedReport>> {
        let remote = self.remote.as_ref()?;
        Some(self.breaker.conclude(workspace, |report| Ok(remote.remove_all(workspace, report)?)))
    }

    /// Returns the entries of other projects on the Qdrant server that match a query best, unless there is none or it
    /// fails, and the problems. If no vector can be computed, words alone count.
    pub(super) fn search_elsewhere(
        &self,
        workspace: &Workspace,
        query: &Query,
        limit: usize,
        projects: &[String],
    ) -> Option<(Option<Vec<ProjectHit>>, Vec<Problem>)> {
        let remote = self.remote.as_ref()?;
        let text = redact(&query.text, &workspace.settings.allowed_secrets);
        let words = WordVector::of_query(&text);
        let settings = &workspace.settings;
        let weight = query.semantic_weight.unwrap_or(settings.semantic.weight);
        let by_meaning = weight > 0.0 && settings.ollama.reads(&text);
        Some(self.breaker.guard(workspace, |problems| {
            let embedded = by_meaning.then(|| self.embedder.embed_query(workspace, &text)).transpose();
            let vector = embedded.unwrap_or_else(|failure| {
                problems.push(failure.problem());
                None
            });
            let query = ElsewhereQuery {
                vector: vector.as_deref(),
                words: &words,
                limit,
                min_score: min_cosine(workspace),
                weight,
                projects,
                feature: query.in_feature.as_deref(),
                kind: query.kind,
            };
            let live = workspace.catalog(Area::Live);
            let is_new =
                |found: &ElsewhereMatch| !is_here(workspace, &live, &found.hit.id, found.number, found.content);
            let found = remote.ask(workspace, |qdrant| qdrant.search_elsewhere(&query, &is_new))?;
            Ok(found.into_iter().map(|found| found.hit).collect())
        }))
    }

    /// Computes the cosines from the vectors of the cache.
    fn search_cache(
        &self,
        workspace: &Workspace,
        catalogs: &[&Catalog],
        query: &Query,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<Cosine>, ServerFailure> {
        let vector = QueryVector::new(&self.embedder.embed_query(workspace, &query.text)?);
        let mut scan = self.embedder.cache.scan(&workspace.store, Some(&vector));
        let has_vector = |catalog: &Catalog, row| scan.best.contains_key(&catalog.fingerprint(row));
        let added = self.embed_missing(workspace, catalogs, vector.dimensions(), problems, &has_vector)?;
        let Some(added) = added else { return Ok(Vec::new()) };
        for record in added {
            let best = scan.best.entry(record.head.file).or_insert(f32::MIN);
            *best = best.max(record.similarity(&vector));
        }
        let mut similar = Vec::new();
        for (number, catalog) in catalogs.iter().enumerate() {
            let rows = catalog.rows().filter_map(|row| Some((row, *scan.best.get(&catalog.fingerprint(row))?)));
            similar.extend(rows.filter(|(_, best)| *best > 0.0).map(|(row, best)| (number, row, best)));
        }
        Ok(similar)
    }

    /// Asks the Qdrant server for the cosines of the best entries, and of those that words find.
    fn search_remote(
        &self,
        remote: &RemoteSync,
        workspace: &Workspace,
        catalogs: &[&Catalog],
        snapshot: &Snapshot,
        query: &Query,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<Cosine>, ServerFailure> {
        let vector = self.embedder.embed_query(workspace, &query.text)?;
        // The server has no archived entries.
        let live = &catalogs[..1];
        let also = found_by_words(workspace, catalogs, snapshot, query);
        let request = PointQuery {
            vector: &vector,
            limit: workspace.settings.semantic.limit * SPARE,
            min_score: min_cosine(workspace),
            feature: query.in_feature.as_deref(),
            kind: query.kind,
            also: &also,
        };
        let mut found = PointsFound::default();
        // What the server turns out to have lost is stored again before it is asked again.
        for _ in 0..2 {
            let manifest = remote.manifest(workspace);
            let is_there = |catalog: &Catalog, row| {
                let known = catalog.id(row).and_then(|id| manifest.get(id.as_str()).copied());
                known == Some(catalog.fingerprint(row))
            };
            if self.embed_missing(workspace, live, vector.len(), problems, &is_there)?.is_none() {
                return Ok(Vec::new());
            }
            found = remote.ask(workspace, |qdrant| qdrant.search(&request))?;
            // The server knows nothing about a feature in another form of Unicode.
            let is_asked = |feature: &Option<String>| query.in_feature.is_none() || *feature == query.in_feature;
            let named: Vec<_> = also.iter().filter(|(_, feature)| is_asked(feature)).collect();
            if !remote.note_lost(workspace, live[0], &named, &found) {
                break;
            }
        }
        Ok(found.matches.iter().filter_map(|found| located(workspace, catalogs, found)).collect())
    }

    /// Embeds the entries that lack a vector if they are few, without those that the model refused recently, and
    /// returns their vectors; otherwise reports how many there are. Returns `None` if so many lack one that the others
    /// would outrank them just for having one.
    fn embed_missing(
        &self,
        workspace: &Workspace,
        catalogs: &[&Catalog],
        dimensions: usize,
        problems: &mut Vec<Problem>,
        has_vector: &dyn Fn(&Catalog, RowId) -> bool,
    ) -> Result<Option<Vec<VectorRecord>>, ServerFailure> {
        let refused = self.embedder.recently_refused(workspace);
        let mut pending = Vec::new();
        for catalog in catalogs {
            let rows = catalog.rows().filter(|row| catalog.is_embedded(*row) && !has_vector(catalog, *row));
            let rows = rows.filter(|row| !refused.contains(&catalog.fingerprint(*row)));
            pending.extend(rows.map(|row| catalog.path(row)));
        }
        if pending.len() > MAX_EMBEDDED {
            let n = pending.len();
            problems.push(Problem::warning(
                self.embedder.ollama.url(),
                "semantic-pending",
                format!("{n} entries have no vector yet and are found by their words alone"),
                format!("run `{}`", self.embedder.command),
            ));
            let all: usize = catalogs.iter().map(|catalog| catalog.len()).sum();
            return Ok((n * 10 <= all).then(Vec::new));
        }
        if pending.is_empty() {
            return Ok(Some(Vec::new()));
        }
        match self.embed_now(workspace, &pending, Some(dimensions)) {
            Ok(embedded) => {
                problems.extend(embedded.problems);
                Ok(Some(embedded.records))
            }
            // A server that did not answer in time is not asked for more.
            Err(failure) if matches!(failure.error, RequestError::TimedOut(_)) => Err(failure),
            Err(failure) => {
                problems.push(failure.problem_that("new entries are found by their words alone"));
                Ok(Some(Vec::new()))
            }
        }
    }

    /// Embeds a few entries during another call, and stores the vectors where they are kept.
    fn embed_now(
        &self,
        workspace: &Workspace,
        paths: &[String],
        dimensions: Option<usize>,
    ) -> Result<EmbeddedFiles, ServerFailure> {
        let embedded = self.embedder.embed_now(workspace, paths, dimensions)?;
        if let Some(remote) = &self.remote {
            remote.store_now(workspace, &embedded)?;
        }
        Ok(embedded)
    }

    /// Asks the servers whether they work. A failure that this reports is not reported again.
    pub(super) fn status(&self, workspace: &Workspace) -> SemanticStatus {
        match self.check(workspace) {
            Ok(detail) => {
                self.breaker.reset(workspace);
                let exposes_key = self.remote.as_ref().is_some_and(|remote| remote.qdrant.exposes_key());
                let more = "; `qdrant.api_key` goes over the network where others can read it";
                let more = if exposes_key { more } else { "" };
                let fix = exposes_key.then(|| "give `qdrant.url` an `https://` address".to_owned());
                SemanticStatus { wanted: true, active: true, detail: format!("RAG: active ({detail}){more}"), fix }
            }
            Err(failure) => {
                let _ = self.breaker.report(workspace, &failure);
                let Problem { message, hint, .. } = failure.problem();
                SemanticStatus::failed(&format!("{}: {message}", failure.address), hint.to_string())
            }
        }
    }

    /// Sends the requests that a search needs, and identifies the servers.
    fn check(&self, workspace: &Workspace) -> Result<String, ServerFailure> {
        let ollama = &self.embedder.ollama;
        self.embedder.ask(workspace, OllamaClient::check)?;
        let dimensions = self.embedder.embed_query(workspace, "how does it do")?.len();
        let model = format!("ollama {} {dimensions}d", ollama.model());
        let Some(remote) = &self.remote else { return Ok(model) };
        let info = remote.ask(workspace, QdrantClient::check)?;
        let empty = if info.is_prepared { "" } else { " and empty" };
        let (vector, min_score) = (&vec![1.0; dimensions], min_cosine(workspace));
        let probe = PointQuery { vector, limit: 1, min_score, ..PointQuery::default() };
        remote.ask(workspace, |qdrant| qdrant.search(&probe))?;
        let shown = if remote.qdrant.shares_text() { ", texts shared" } else { "" };
        Ok(format!("qdrant ok{empty}{shown}, {model}"))
    }
}

/// Returns the live entries that words find, with their features: a server is asked for their cosines by name.
fn found_by_words(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    snapshot: &Snapshot,
    query: &Query,
) -> Vec<(Id, Option<String>)> {
    // A context shows both kinds, each beside the best of its own.
    let kinds = query.kind.map_or_else(|| vec![Kind::Knowledge, Kind::Journal], |kind| vec![kind]);
    let mut also = Vec::new();
    for kind in kinds {
        let query = Query { kind: Some(kind), ..query.clone() };
        // A broken index is reported by the search itself.
        let found = by_words(catalogs, snapshot, &query, MAX_CANDIDATES, workspace.now()).unwrap_or_default();
        let live = found.into_iter().filter(|(catalog, _)| *catalog == 0);
        also.extend(live.filter_map(|(_, row)| Some((catalogs[0].id(row)?, catalogs[0].head(row).feature))));
    }
    also
}

/// Returns the row of an entry that a server found, if it is here and its embedded text is still current.
fn located(workspace: &Workspace, catalogs: &[&Catalog], found: &PointMatch) -> Option<Cosine> {
    let row = |(number, catalog): (usize, &&Catalog)| Some((number, catalog.row_of_id(&found.entry)?));
    let (number, row) = catalogs.iter().enumerate().find_map(row)?;
    let is_current = has_text(workspace, catalogs[number], row, found.number, found.content);
    (is_current && found.score > 0.0).then_some((number, row, found.score))
}

/// Returns whether an entry of another project is the copy of one that is here, with the same text.
fn is_here(workspace: &Workspace, live: &Catalog, id: &Id, number: u32, content: u64) -> bool {
    live.row_of_id(id).is_some_and(|row| has_text(workspace, live, row, number, content))
}

fn has_text(workspace: &Workspace, catalog: &Catalog, row: RowId, number: u32, content: u64) -> bool {
    let file = EntryChunks::read(workspace, &catalog.path(row));
    file.is_some_and(|file| file.chunks.get(number as usize).is_some_and(|chunk| chunk.content == content))
}

/// Sorts cosines, the greatest first; of equal ones the newer entry first, then by id, as hits are sorted.
fn sort(similar: &mut [Cosine], catalogs: &[&Catalog], now: DateTime<Utc>) {
    let recency = |found: &Cosine| not_in_future(catalogs[found.0].recency(found.1), now);
    let id = |found: &Cosine| catalogs[found.0].id(found.1);
    similar.sort_by(|one, other| {
        other.2.total_cmp(&one.2).then_with(|| recency(other).cmp(&recency(one))).then_with(|| id(one).cmp(&id(other)))
    });
}

/// Returns the least cosine at which semantic search alone finds an entry, as vectors are compared.
#[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more than 24 bits")]
fn min_cosine(workspace: &Workspace) -> f32 {
    workspace.settings.min_similarity() as f32
}
