//! Vectors for entries: an entry is cut into chunks, the chunks are embedded by Ollama, and the cache keeps the
//! vectors.
//!
//! It does not know Qdrant, nor what is searched. Nothing that looks like a secret is sent to a server, and an entry
//! has all of its vectors or none.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::FOLDER;
use super::breaker::CircuitBreaker;
use super::chunk::{self, Chunk};
use super::failure::ServerFailure;
use super::http::{RequestError, TimeLimit};
use super::lists::RefusedFiles;
use super::ollama::{BATCH, OllamaClient, Timeouts};
use super::report::{EmbedReport, REFUSED_CODE};
use super::vectors::{QueryVector, VectorCache, VectorRecord, VectorScan};
use crate::catalog::{Area, Catalog};
use crate::entry::path::display_path;
use crate::entry::{Id, read};
use crate::error::{Error, Problem, Result};
use crate::secret::redact;
use crate::workspace::{Work, Workspace};

/// How many entries are embedded before their vectors are written: an interrupted call loses no more.
pub(super) const GROUP: usize = 64;
/// The text that is embedded to find out how many dimensions a model has, and whether the model has changed.
const PROBE: &str = "dimensions";
/// The fingerprint under which the cache keeps the vector of that text. No file has it, as no two files have the same.
const PROBE_FILE: u64 = 0;
/// The least cosine between two vectors of one text by one model: machines round differently.
const SAME_MODEL: f32 = 0.99;
/// A text that every model accepts. If it is refused too, the server is at fault and not a text.
const HARMLESS: &str = "a text that every model takes";
/// From how many records on the cache may be compacted.
const COMPACT_FROM: usize = 1_000;

/// Embeds entries, and keeps their vectors in the cache.
#[derive(Debug)]
pub(super) struct Embedder {
    ollama: OllamaClient,
    cache: VectorCache,
    refused: RefusedFiles,
    /// The command that embeds entries without a vector.
    command: &'static str,
}

/// The vectors of some files.
#[derive(Debug, Clone, Default)]
pub(super) struct EmbeddedFiles {
    /// The vectors, all of a file or none, in the order of the files.
    pub(super) records: Vec<VectorRecord>,
    /// Which files have none, and why.
    pub(super) problems: Vec<Problem>,
    /// The fingerprints of the files that the model refused.
    pub(super) refused: Vec<u64>,
}

/// A chunk of a file.
struct FileChunk {
    path: String,
    file: u64,
    chunk: Chunk,
    number: u16,
    of: u16,
}

/// The vectors of texts by the hash of each, and why others have none.
#[derive(Default)]
struct EmbeddedTexts {
    vectors: HashMap<u64, VectorRecord>,
    refused: HashMap<u64, RequestError>,
}

impl Embedder {
    /// Returns the embedder of a model; `command` is the subcommand that embeds entries without a vector.
    pub(super) fn new(ollama: OllamaClient, command: &'static str) -> Embedder {
        let cache = VectorCache::of(ollama.model());
        let refused = RefusedFiles::new(format!("{}.refused", cache.path()));
        Embedder { ollama, cache, refused, command }
    }

    pub(super) fn ollama(&self) -> &OllamaClient {
        &self.ollama
    }

    pub(super) fn cache(&self) -> &VectorCache {
        &self.cache
    }

    pub(super) fn refused(&self) -> &RefusedFiles {
        &self.refused
    }

    pub(super) fn command(&self) -> &'static str {
        self.command
    }

    /// Embeds all entries that have no vector, archived ones included. What was embedded before a failure is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] and [`Error::Io`] where the cache cannot be written.
    pub(super) fn embed_all(&self, workspace: &Workspace, breaker: &CircuitBreaker) -> Result<EmbedReport> {
        let catalogs = [Area::Live, Area::Archive].map(|area| workspace.catalog(area));
        let mut scan = self.cache.scan(&workspace.store, None);
        let n_indexable = paths(&catalogs, &|_| true).len();
        let mut report = EmbedReport {
            entries: paths(&catalogs, &|file| scan.best.contains_key(&file)).len(),
            ..EmbedReport::default()
        };
        let probe = match self.probe(workspace) {
            Ok(vector) => vector,
            Err(failure) => {
                report.problems = breaker.report(workspace, &failure);
                return Ok(report);
            }
        };
        breaker.reset(workspace);
        if self.forget_other_model(workspace, &probe)? {
            scan = VectorScan::default();
        }
        let pending = paths(&catalogs, &|file| !scan.best.contains_key(&file));
        self.embed_pending(workspace, breaker, &pending, probe.len(), &mut report)?;
        report.entries = n_indexable - pending.len() + report.new;
        self.compact(workspace, &catalogs, &scan)?;
        Ok(report.bounded())
    }

    /// Embeds files group by group, until all are done or the server fails.
    fn embed_pending(
        &self,
        workspace: &Workspace,
        breaker: &CircuitBreaker,
        pending: &[String],
        dimensions: usize,
        report: &mut EmbedReport,
    ) -> Result<()> {
        let known = self.cached_texts(workspace, pending, Some(dimensions));
        let mut refused = Vec::new();
        let mut failure = None;
        let mut embedding = workspace.doing(Work::Embedding, Some(pending.len()));
        for group in pending.chunks(GROUP) {
            let embedded = match self.embed_files(workspace, group, &known, Timeouts::Batch) {
                Ok(embedded) => embedded,
                Err(failed) => {
                    failure = Some(failed);
                    break;
                }
            };
            report.problems.extend(embedded.problems);
            refused.extend(embedded.refused);
            report.new += embedded.records.iter().filter(|record| record.number == 0).count();
            let lock = workspace.wait_for_cache()?;
            let added = self.cache.add(&workspace.store, &lock, &embedded.records);
            added.map_err(|source| cache_error(workspace, source))?;
            embedding.advance(group.len());
        }
        drop(embedding);
        if let Some(failure) = failure {
            report.problems.extend(breaker.report(workspace, &failure));
            self.refused.append(workspace, &refused);
        } else {
            self.refused.replace(workspace, &refused);
        }
        Ok(())
    }

    /// Removes the vectors of files that are gone, once they are more than half.
    fn compact(&self, workspace: &Workspace, catalogs: &[Catalog], scan: &VectorScan) -> Result<()> {
        let files = |catalog: &Catalog| catalog.rows().map(|row| catalog.fingerprint(row)).collect::<Vec<_>>();
        let existing: HashSet<u64> = catalogs.iter().flat_map(files).collect();
        if scan.records <= COMPACT_FROM || scan.best.len() <= 2 * existing.len() {
            return Ok(());
        }
        let lock = workspace.wait_for_cache()?;
        let keeps = |file| existing.contains(&file) || file == PROBE_FILE;
        self.cache.compact(&workspace.store, &lock, &keeps).map_err(|source| cache_error(workspace, source))
    }

    /// Embeds a few files during another call, and keeps the vectors in the cache.
    pub(super) fn embed_now(
        &self,
        workspace: &Workspace,
        paths: &[String],
        dimensions: Option<usize>,
    ) -> std::result::Result<EmbeddedFiles, ServerFailure> {
        let known = self.cached_texts(workspace, paths, dimensions);
        let embedding = workspace.doing(Work::Embedding, Some(paths.len()));
        let embedded = self.embed_files(workspace, paths, &known, Timeouts::Query)?;
        drop(embedding);
        self.keep(workspace, &embedded.records);
        if !embedded.refused.is_empty() {
            self.refused.append(workspace, &embedded.refused);
        }
        Ok(embedded)
    }

    /// Writes vectors to the cache, unless another process writes it for long; then the next call computes them again.
    pub(super) fn keep(&self, workspace: &Workspace, records: &[VectorRecord]) {
        if let Some(lock) = workspace.store.cache_lock() {
            let _ = self.cache.add(&workspace.store, &lock, records);
        }
    }

    /// Returns the vector of a query.
    pub(super) fn embed_query(
        &self,
        workspace: &Workspace,
        text: &str,
    ) -> std::result::Result<Vec<f32>, ServerFailure> {
        let _asking = workspace.doing(Work::AskingOllama, None);
        self.ollama.embed_query(text).map_err(|error| self.failure(error))
    }

    /// Returns the vector that the model gives for a text that never changes.
    pub(super) fn probe(&self, workspace: &Workspace) -> std::result::Result<Vec<f32>, ServerFailure> {
        let _asking = workspace.doing(Work::AskingOllama, None);
        let limit = self.ollama.time_limit(Timeouts::Batch);
        self.ollama.embed_document(PROBE, &limit).map_err(|error| self.failure(error))
    }

    /// Notes the vector of the probe. Where the model gave another one before, or vectors of other dimensions, clears
    /// the cache, since vectors of two models of one name cannot be compared; returns whether it did.
    pub(super) fn forget_other_model(&self, workspace: &Workspace, probe: &[f32]) -> Result<bool> {
        let store = &workspace.store;
        let content = xxh3_64(PROBE.as_bytes());
        let known = self.cache.with_contents(store, None, &|known| known == content).remove(&content);
        let query = QueryVector::new(probe);
        let is_same =
            |known: &VectorRecord| known.dimensions() == probe.len() && known.similarity(&query) >= SAME_MODEL;
        if known.as_ref().is_some_and(is_same) {
            return Ok(false);
        }
        let lock = workspace.wait_for_cache()?;
        let is_other = known.is_some() || self.cache.dimensions(store).is_some_and(|known| known != probe.len());
        let cleared = if is_other { self.cache.clear(store, &lock) } else { Ok(()) };
        let record = VectorRecord::new(PROBE_FILE, content, 0, 1, probe);
        let noted = cleared.and_then(|()| self.cache.add(store, &lock, &[record]));
        noted.map_err(|source| cache_error(workspace, source))?;
        Ok(is_other)
    }

    /// Clears the cache, and notes the vector of the probe.
    pub(super) fn clear(&self, workspace: &Workspace, probe: &[f32]) -> Result<()> {
        let lock = workspace.wait_for_cache()?;
        self.cache.clear(&workspace.store, &lock).map_err(|source| cache_error(workspace, source))?;
        drop(lock);
        self.forget_other_model(workspace, probe).map(|_| ())
    }

    /// Returns the vectors that the cache has for the texts of these files, by the hash of the text.
    pub(super) fn cached_texts(
        &self,
        workspace: &Workspace,
        paths: &[String],
        dimensions: Option<usize>,
    ) -> HashMap<u64, VectorRecord> {
        let mut wanted = HashSet::new();
        for group in paths.chunks(GROUP) {
            wanted.extend(file_chunks(workspace, group).into_iter().map(|piece| piece.chunk.content));
        }
        self.cache.with_contents(&workspace.store, dimensions, &|content| wanted.contains(&content))
    }

    /// Returns the vectors of files, and which files cannot have any. `known` are those of texts that need not be sent.
    pub(super) fn embed_files(
        &self,
        workspace: &Workspace,
        paths: &[String],
        known: &HashMap<u64, VectorRecord>,
        timeouts: Timeouts,
    ) -> std::result::Result<EmbeddedFiles, ServerFailure> {
        let pieces = file_chunks(workspace, paths);
        let missing = pieces.iter().filter(|piece| !known.contains_key(&piece.chunk.content));
        let embedded = self.embed_texts(missing.collect(), timeouts)?;
        let is_other = |record: &VectorRecord| known.values().any(|known| known.dimensions() != record.dimensions());
        if embedded.vectors.values().next().is_some_and(is_other) {
            // The name now refers to another model, whose vectors cannot be compared with the known ones.
            return self.embed_files(workspace, paths, &HashMap::new(), timeouts);
        }
        Ok(self.assemble(&pieces, known, &embedded))
    }

    /// Sends texts to the server, each once.
    fn embed_texts(
        &self,
        mut pieces: Vec<&FileChunk>,
        timeouts: Timeouts,
    ) -> std::result::Result<EmbeddedTexts, ServerFailure> {
        let limit = self.ollama.time_limit(timeouts);
        pieces.sort_by_key(|piece| piece.chunk.content);
        pieces.dedup_by_key(|piece| piece.chunk.content);
        let mut embedded = EmbeddedTexts::default();
        for batch in pieces.chunks(BATCH) {
            let texts: Vec<String> = batch.iter().map(|piece| piece.chunk.text.clone()).collect();
            let vectors = self.embed_batch(&texts, &limit).map_err(|error| self.failure(error))?;
            for (piece, vector) in batch.iter().zip(vectors) {
                let content = piece.chunk.content;
                match vector {
                    Ok(vector) => {
                        embedded.vectors.insert(content, VectorRecord::new(0, content, 0, 1, &vector));
                    }
                    Err(error) => {
                        embedded.refused.insert(content, error);
                    }
                }
            }
        }
        Ok(embedded)
    }

    /// Returns the vectors of texts, or why one has none. One text that the model refuses does not keep the others from
    /// their vectors.
    fn embed_batch(
        &self,
        texts: &[String],
        limit: &TimeLimit,
    ) -> std::result::Result<Vec<std::result::Result<Vec<f32>, RequestError>>, RequestError> {
        let error = match self.ollama.embed_documents(texts, limit) {
            Ok(vectors) => return Ok(vectors.into_iter().map(Ok).collect()),
            Err(error) if may_be_the_text(&error) => error,
            Err(error) => return Err(error),
        };
        let mut singly = Vec::with_capacity(texts.len());
        for text in texts {
            match self.ollama.embed_document(text, limit) {
                // A server that is slow or gone says nothing about a text.
                Err(error) if !may_be_the_text(&error) => return Err(error),
                vector => singly.push(vector),
            }
        }
        if singly.iter().all(std::result::Result::is_err) {
            self.ollama
                .embed_document(HARMLESS, limit)
                .map_err(|harmless| if may_be_the_text(&harmless) { error } else { harmless })?;
        }
        Ok(singly)
    }

    /// Puts the vectors of texts together to those of files.
    fn assemble(
        &self,
        pieces: &[FileChunk],
        known: &HashMap<u64, VectorRecord>,
        embedded: &EmbeddedTexts,
    ) -> EmbeddedFiles {
        let mut files = EmbeddedFiles::default();
        for pieces in pieces.chunk_by(|one, other| one.path == other.path) {
            let vector = |piece: &FileChunk| {
                let content = piece.chunk.content;
                let record = known.get(&content).or_else(|| embedded.vectors.get(&content))?;
                Some(record.at(piece.file, piece.number, piece.of))
            };
            if let Some(all) = pieces.iter().map(vector).collect::<Option<Vec<VectorRecord>>>() {
                files.records.extend(all);
            } else if let Some(error) = pieces.iter().find_map(|piece| embedded.refused.get(&piece.chunk.content)) {
                files.refused.push(pieces[0].file);
                files.problems.push(Problem::warning(
                    display_path(&pieces[0].path),
                    REFUSED_CODE,
                    format!("it cannot be embedded: {error}"),
                    format!("it is found by its words alone; `{}` tries it again", self.command),
                ));
            }
        }
        files
    }

    fn failure(&self, error: RequestError) -> ServerFailure {
        ServerFailure::of_ollama(&self.ollama, error)
    }
}

/// Returns the text of an entry to embed. Secrets are redacted in the whole text before it is cut, since a chunk may
/// have a value without its name: people may have committed one before any check.
pub(super) fn chunks_of(workspace: &Workspace, path: &str, bytes: &[u8]) -> Vec<Chunk> {
    let mut entry = read(path, bytes);
    let allowed = &workspace.settings.allowed_secrets;
    entry.head.title = redact(&entry.head.title, allowed);
    entry.text = redact(&entry.text, allowed);
    let id = Id::of_path(path);
    chunk::chunks(&entry, id.as_ref().map_or("", Id::stem))
}

/// Reads the chunks of files. A file that is gone has none.
fn file_chunks(workspace: &Workspace, paths: &[String]) -> Vec<FileChunk> {
    let mut pieces = Vec::new();
    for path in paths {
        let Ok(file) = workspace.store.read(path) else { continue };
        let chunks = chunks_of(workspace, path, &file.bytes);
        let of = u16::try_from(chunks.len()).unwrap_or(u16::MAX);
        let file = xxh3_64(&file.bytes);
        let numbered = chunks.into_iter().zip(0u16..);
        pieces.extend(numbered.map(|(chunk, number)| FileChunk { path: path.clone(), file, chunk, number, of }));
    }
    pieces
}

/// Returns the paths of the entries whose fingerprint is wanted and that the index holds.
fn paths(catalogs: &[Catalog], is_wanted: &dyn Fn(u64) -> bool) -> Vec<String> {
    let of = |catalog: &Catalog| {
        let rows = catalog.rows().filter(|row| catalog.is_indexable(*row));
        let rows = rows.filter(|row| is_wanted(catalog.fingerprint(*row)));
        rows.map(|row| catalog.path(row)).collect::<Vec<_>>()
    };
    catalogs.iter().flat_map(of).collect()
}

/// Returns whether the model may have refused a text; else the server is at fault.
fn may_be_the_text(error: &RequestError) -> bool {
    matches!(error, RequestError::Refused { status: 400 | 413 | 500, .. } | RequestError::Broken(_))
}

fn cache_error(workspace: &Workspace, source: std::io::Error) -> Error {
    Error::Io { action: "write", path: workspace.store.cache().join(FOLDER), source }
}
