//! Vectors for entries: an entry is cut into chunks, the chunks are embedded by Ollama, and the cache keeps the
//! vectors.
//!
//! It knows neither Qdrant nor what is searched for. Nothing that looks like a secret is sent to a server, and an entry
//! has all of its vectors or none.

use std::collections::{HashMap, HashSet};
use std::io;

use chrono::{DateTime, TimeDelta};
use xxhash_rust::xxh3::xxh3_64;

use super::breaker::CircuitBreaker;
use super::chunk::{Chunk, EntryChunks};
use super::failure::{EmbedStop, ServerFailure};
use super::http::{RequestError, TimeLimit, Timeouts};
use super::ollama::{BATCH, OllamaClient};
use super::report::{EmbedReport, REFUSED_CODE};
use super::sealed_list::SealedList;
use super::vectors::{QueryVector, VectorCache, VectorRecord, VectorScan};
use crate::entry::path::display_path;
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog};
use crate::store::Lock;
use crate::workspace::{Work, Workspace};

/// How many entries are embedded before their vectors are written: an interrupted call loses no more.
const GROUP: usize = 64;
/// The text that is embedded to find out how many dimensions a model has, and whether the model has changed.
const PROBE: &str = "dimensions";
/// The fingerprint under which the cache keeps the vector of that text. It is that of no file, because no two files
/// share one.
const PROBE_FILE: u64 = 0;
/// The lowest cosine between two vectors of the same text by the same model, because machines round differently.
const SAME_MODEL: f32 = 0.99;
/// A text that every model accepts. If it is refused as well, the fault is the server's and not a text's.
const HARMLESS: &str = "a text that every model takes";
/// The number of records from which the cache may be compacted.
const COMPACT_FROM: usize = 1_000;
/// The longest list of refused files that is read, in bytes: about 20,000 files.
const MAX_REFUSED: u64 = 1024 * 1024;
/// How long searches wait before they send a refused text again. `index` sends it at any time: the cause may have been
/// the state of the server and not the text.
const REFUSED_FOR: TimeDelta = TimeDelta::hours(1);

/// Embeds entries, and keeps their vectors in the cache.
#[derive(Debug)]
pub(super) struct Embedder {
    pub(super) ollama: OllamaClient,
    pub(super) cache: VectorCache,
    /// The fingerprints of the files that the model refused, each with the second in which it did.
    refused: SealedList,
    /// The command that embeds entries without a vector.
    pub(super) command: &'static str,
}

/// The vectors of some files.
#[derive(Debug, Clone, Default)]
pub(super) struct EmbeddedFiles {
    /// The files that have vectors.
    pub(super) files: Vec<EntryChunks>,
    /// Their vectors, in the order of the files.
    pub(super) records: Vec<VectorRecord>,
    /// Which files have none, and why.
    pub(super) problems: Vec<Problem>,
    /// The fingerprints of the files that the model refused.
    refused: Vec<u64>,
}

impl Embedder {
    /// Returns the embedder of a model; `command` is the subcommand that embeds entries without a vector.
    pub(super) fn new(ollama: OllamaClient, command: &'static str) -> Embedder {
        let cache = VectorCache::of(ollama.model());
        let refused = SealedList::new(format!("{}.refused", cache.path()), MAX_REFUSED);
        Embedder { ollama, cache, refused, command }
    }

    /// Returns the fingerprints of the files that the model refused within the last hour.
    pub(super) fn recently_refused(&self, workspace: &Workspace) -> HashSet<u64> {
        let now = workspace.now();
        let counts = |at: i64| {
            let age = DateTime::from_timestamp(at, 0).map(|at| now - at);
            // A clock that was set back would prolong it.
            age.is_some_and(|age| (TimeDelta::zero()..REFUSED_FOR).contains(&age))
        };
        let files = self.refused.read::<(u64, i64)>(workspace).into_iter();
        files.filter_map(|(file, at)| counts(at).then_some(file)).collect()
    }

    /// Sends requests to the server.
    pub(super) fn ask<T>(
        &self,
        workspace: &Workspace,
        requests: impl FnOnce(&OllamaClient) -> Result<T, RequestError>,
    ) -> Result<T, ServerFailure> {
        let _asking = workspace.doing(Work::AskingOllama, None);
        requests(&self.ollama).map_err(|error| self.ollama.failure(error))
    }

    /// Embeds all entries that have no vector, archived ones included. What was embedded before a failure is kept.
    pub(super) fn embed_all(
        &self,
        workspace: &Workspace,
        breaker: &CircuitBreaker,
        report: &mut EmbedReport,
    ) -> Result<(), EmbedStop> {
        let catalogs = [Area::Live, Area::Archive].map(|area| workspace.catalog(area));
        let mut scan = self.cache.scan(&workspace.store, None);
        let files = indexable(&catalogs);
        let pending = |scan: &VectorScan| -> Vec<String> {
            let pending = files.iter().filter(|(_, file)| !scan.best.contains_key(file));
            pending.map(|(path, _)| path.clone()).collect()
        };
        report.entries = files.len() - pending(&scan).len();
        let probe = self.probe(workspace)?;
        breaker.reset(workspace);
        if self.forget_other_model(workspace, &probe, false)? {
            scan = VectorScan::default();
        }
        let pending = pending(&scan);
        report.entries = files.len() - pending.len();
        self.embed_groups(workspace, Work::Embedding, &pending, probe.len(), report, &mut |embedded| {
            Ok(self.change_cache(workspace, &|lock| self.cache.add(&workspace.store, lock, &embedded.records))?)
        })?;
        Ok(self.compact(workspace, &catalogs, &scan)?)
    }

    /// Embeds files group by group and passes each group to `store`, until all are done or one fails.
    pub(super) fn embed_groups(
        &self,
        workspace: &Workspace,
        work: Work,
        pending: &[String],
        dimensions: usize,
        report: &mut EmbedReport,
        store: &mut dyn FnMut(&EmbeddedFiles) -> Result<(), EmbedStop>,
    ) -> Result<(), EmbedStop> {
        let mut contents = HashSet::new();
        for group in pending.chunks(GROUP) {
            contents.extend(contents_of(&EntryChunks::read_all(workspace, group)));
        }
        let known =
            self.cache.with_contents(&workspace.store, Some(dimensions), &|content| contents.contains(&content));
        let (now, mut refused) = (workspace.now().timestamp(), Vec::new());
        let mut ongoing = workspace.doing(work, Some(pending.len()));
        let result = pending.chunks(GROUP).try_for_each(|group| {
            let embedded = self.embed_files(EntryChunks::read_all(workspace, group), &known, Timeouts::Batch)?;
            store(&embedded)?;
            report.entries += embedded.files.len();
            report.new += embedded.files.len();
            report.problems.extend(embedded.problems);
            refused.extend(embedded.refused.into_iter().map(|file| (file, now)));
            ongoing.advance(group.len());
            Ok(())
        });
        if result.is_ok() {
            self.refused.replace(workspace, &refused);
        } else {
            self.refused.append(workspace, &refused);
        }
        result
    }

    /// Removes the vectors of files that are gone, once they are more than half.
    fn compact(&self, workspace: &Workspace, catalogs: &[Catalog], scan: &VectorScan) -> Result<()> {
        let files = |catalog: &Catalog| catalog.rows().map(|row| catalog.fingerprint(row)).collect::<Vec<_>>();
        let existing: HashSet<u64> = catalogs.iter().flat_map(files).collect();
        if scan.records <= COMPACT_FROM || scan.best.len() <= 2 * existing.len() {
            return Ok(());
        }
        let keeps = |file| existing.contains(&file) || file == PROBE_FILE;
        self.change_cache(workspace, &|lock| self.cache.compact(&workspace.store, lock, &keeps))
    }

    fn change_cache(&self, workspace: &Workspace, change: &dyn Fn(&Lock) -> io::Result<()>) -> Result<()> {
        let lock = workspace.wait_for_cache()?;
        let path = || workspace.store.cache().join(self.cache.path());
        change(&lock).map_err(|source| Error::Io { action: "write", path: path(), source })
    }

    /// Embeds a few files during another call, and keeps the vectors in the cache.
    pub(super) fn embed_now(
        &self,
        workspace: &Workspace,
        paths: &[String],
        dimensions: Option<usize>,
    ) -> Result<EmbeddedFiles, ServerFailure> {
        let files = EntryChunks::read_all(workspace, paths);
        let contents: HashSet<u64> = contents_of(&files).collect();
        let known = self.cache.with_contents(&workspace.store, dimensions, &|content| contents.contains(&content));
        let embedding = workspace.doing(Work::Embedding, Some(paths.len()));
        let embedded = self.embed_files(files, &known, Timeouts::Query)?;
        drop(embedding);
        self.keep(workspace, &embedded.records);
        let now = workspace.now().timestamp();
        let refused: Vec<(u64, i64)> = embedded.refused.iter().map(|file| (*file, now)).collect();
        self.refused.append(workspace, &refused);
        Ok(embedded)
    }

    /// Writes vectors to the cache. If another process holds it for too long, the next call computes them again.
    pub(super) fn keep(&self, workspace: &Workspace, records: &[VectorRecord]) {
        if let Some(lock) = workspace.store.cache_lock() {
            let _ = self.cache.add(&workspace.store, &lock, records);
        }
    }

    /// Returns the vector of a query.
    pub(super) fn embed_query(&self, workspace: &Workspace, text: &str) -> Result<Vec<f32>, ServerFailure> {
        self.ask(workspace, |ollama| ollama.embed_query(text))
    }

    /// Returns the vector that the model gives for a text that never changes.
    pub(super) fn probe(&self, workspace: &Workspace) -> Result<Vec<f32>, ServerFailure> {
        self.ask(workspace, |ollama| ollama.embed_document(PROBE, &ollama.time_limit(Timeouts::Batch)))
    }

    /// Notes the vector of the probe. Where the model gave another one before, or vectors of other dimensions, clears
    /// the cache, since vectors of two models of one name cannot be compared; returns whether that is so. With `always`
    /// it clears the cache in any case.
    pub(super) fn forget_other_model(&self, workspace: &Workspace, probe: &[f32], always: bool) -> Result<bool> {
        let store = &workspace.store;
        let content = xxh3_64(PROBE.as_bytes());
        let known = self.cache.with_contents(store, None, &|known| known == content).remove(&content);
        let query = QueryVector::new(probe);
        let is_same =
            |known: &VectorRecord| known.dimensions() == probe.len() && known.similarity(&query) >= SAME_MODEL;
        if !always && known.as_ref().is_some_and(is_same) {
            return Ok(false);
        }
        let is_other = known.map_or_else(
            || self.cache.dimensions(store).is_some_and(|known| known != probe.len()),
            |known| !is_same(&known),
        );
        self.change_cache(workspace, &|lock| {
            if is_other || always {
                self.cache.clear(store, lock)?;
            }
            self.cache.add(store, lock, &[VectorRecord::new(PROBE_FILE, content, 0, 1, probe)])
        })?;
        Ok(is_other)
    }

    /// Returns the vectors of files, and which files cannot have any. `known` are those of texts that need not be sent.
    fn embed_files(
        &self,
        files: Vec<EntryChunks>,
        known: &HashMap<u64, VectorRecord>,
        timeouts: Timeouts,
    ) -> Result<EmbeddedFiles, ServerFailure> {
        let chunks = files.iter().flat_map(|file| &file.chunks);
        let missing = chunks.filter(|chunk| !known.contains_key(&chunk.content));
        let sent = self.embed_texts(missing.collect(), timeouts)?;
        let dimensions = sent.values().find_map(|vector| Some(vector.as_ref().ok()?.dimensions()));
        if dimensions.is_some_and(|dimensions| known.values().any(|known| known.dimensions() != dimensions)) {
            // The name now refers to another model, whose vectors cannot be compared with the known ones.
            return self.embed_files(files, &HashMap::new(), timeouts);
        }
        let mut embedded = EmbeddedFiles::default();
        for file in files {
            let of = u16::try_from(file.chunks.len()).unwrap_or(u16::MAX);
            let vector = |(chunk, number): (&Chunk, u16)| {
                let known = known.get(&chunk.content).map(Ok);
                let record = known.or_else(|| sent.get(&chunk.content).map(std::result::Result::as_ref))?;
                Some(record.map(|record| record.at(file.fingerprint, number, of)))
            };
            match file.chunks.iter().zip(0..).filter_map(vector).collect::<Result<Vec<_>, _>>() {
                Ok(records) => {
                    embedded.records.extend(records);
                    embedded.files.push(file);
                }
                Err(error) => {
                    embedded.refused.push(file.fingerprint);
                    embedded.problems.push(Problem::warning(
                        display_path(&file.path),
                        REFUSED_CODE,
                        format!("it cannot be embedded: {error}"),
                        format!("it is found by its words alone; `{}` tries it again", self.command),
                    ));
                }
            }
        }
        Ok(embedded)
    }

    /// Sends texts to the server, each once. Returns the vectors by the hash of the text, and why others have none.
    fn embed_texts(
        &self,
        mut chunks: Vec<&Chunk>,
        timeouts: Timeouts,
    ) -> Result<HashMap<u64, Result<VectorRecord, RequestError>>, ServerFailure> {
        let limit = self.ollama.time_limit(timeouts);
        chunks.sort_by_key(|chunk| chunk.content);
        chunks.dedup_by_key(|chunk| chunk.content);
        let mut embedded = HashMap::new();
        for batch in chunks.chunks(BATCH) {
            let texts: Vec<&str> = batch.iter().map(|chunk| chunk.text.as_str()).collect();
            let vectors = self.embed_batch(&texts, &limit).map_err(|error| self.ollama.failure(error))?;
            embedded.extend(batch.iter().zip(vectors).map(|(chunk, vector)| {
                (chunk.content, vector.map(|vector| VectorRecord::new(0, chunk.content, 0, 1, &vector)))
            }));
        }
        Ok(embedded)
    }

    /// Returns the vectors of texts, or why one has none. A text that the model refuses does not affect the others.
    fn embed_batch(
        &self,
        texts: &[&str],
        limit: &TimeLimit,
    ) -> Result<Vec<Result<Vec<f32>, RequestError>>, RequestError> {
        let error = match self.ollama.embed_documents(texts, limit) {
            Err(error) if may_be_the_text(&error) => error,
            vectors => return Ok(vectors?.into_iter().map(Ok).collect()),
        };
        let mut singly = Vec::with_capacity(texts.len());
        for text in texts {
            match self.ollama.embed_document(text, limit) {
                // A server that is slow or gone says nothing about a text.
                Err(error) if !may_be_the_text(&error) => return Err(error),
                vector => singly.push(vector),
            }
        }
        if singly.iter().all(Result::is_err) {
            self.ollama
                .embed_document(HARMLESS, limit)
                .map_err(|harmless| if may_be_the_text(&harmless) { error } else { harmless })?;
        }
        Ok(singly)
    }
}

fn contents_of(files: &[EntryChunks]) -> impl Iterator<Item = u64> {
    files.iter().flat_map(|file| &file.chunks).map(|chunk| chunk.content)
}

/// Returns the paths and the fingerprints of the entries that the index holds.
fn indexable(catalogs: &[Catalog]) -> Vec<(String, u64)> {
    let of = |catalog: &Catalog| {
        let rows = catalog.rows().filter(|row| catalog.is_embedded(*row));
        rows.map(|row| (catalog.path(row), catalog.fingerprint(row))).collect::<Vec<_>>()
    };
    catalogs.iter().flat_map(of).collect()
}

/// Returns whether the model may have refused a text; else the server is at fault.
fn may_be_the_text(error: &RequestError) -> bool {
    matches!(error, RequestError::Refused { status: 400 | 413 | 500, .. } | RequestError::Broken(_))
}
