//! Vectors for entries: made where they are missing, and kept in the cache.

use std::collections::{HashMap, HashSet};
use std::io::{Read as _, Write as _};
use std::time::Instant;

use chrono::{DateTime, TimeDelta};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::Memory;
use super::meaning::warning;
use super::share::known_file;
use crate::catalog::{Area, Catalog};
use crate::entry::path::display_path;
use crate::entry::{Id, read};
use crate::error::{Error, Problem, Result};
use crate::secret::redact;
use crate::semantic::chunk::{self, Chunk};
use crate::semantic::vectors::{FOLDER, Looked, Prepared, Record, Vectors};
use crate::semantic::{Ollama, Patience, Qdrant, Trouble};
use crate::workspace::Work;

/// How many entries are embedded before what was made is kept: whoever stops it loses no more.
pub(super) const GROUP: usize = 64;
/// How many entries that cannot be embedded are named.
const MAX_NAMED: usize = 5;
/// The longest list of them that is read, in bytes: of about 37,000.
const MAX_REFUSED: u64 = 1024 * 1024;
/// How long what a model did not take is not sent again by those who ask for something else.
const REFUSED: TimeDelta = TimeDelta::hours(1);
/// What is embedded to see how many dimensions a model has, and whether it is the one that it was.
pub(super) const PROBE: &str = "dimensions";
/// The fingerprint under which that vector is kept; that no file has it is as sure as that no two have the same.
const PROBE_FILE: u64 = 0;
/// How alike the vectors of one text by one model are, at least: other machines round otherwise.
const SAME: f32 = 0.99;

/// A server that did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) address: String,
    pub(super) trouble: Trouble,
    mend: String,
}

impl Failed {
    /// What Ollama did while somebody waited for something else.
    pub(super) fn of(ollama: &Ollama, trouble: Trouble) -> Failed {
        Failed::within(ollama, trouble, "query_timeout_ms")
    }

    /// What Ollama did while somebody waited for vectors.
    pub(super) fn of_batch(ollama: &Ollama, trouble: Trouble) -> Failed {
        Failed::within(ollama, trouble, "embed_timeout_ms")
    }

    /// What Ollama did within the time-out of a setting.
    pub(super) fn within(ollama: &Ollama, trouble: Trouble, setting: &str) -> Failed {
        let mend = match &trouble {
            Trouble::Unreachable(_) => "start it with `ollama serve`, or correct `ollama.url`".to_owned(),
            Trouble::TimedOut(_) => {
                format!("see whether the model fits into memory with `ollama ps`, or raise `ollama.{setting}`")
            }
            Trouble::Refused { status: 404, .. } => format!("run `ollama pull {}`", ollama.model()),
            Trouble::Refused { .. } => "look into the log of Ollama".to_owned(),
            Trouble::Broken(_) => {
                "see that `ollama.url` is the address of an Ollama server, and `ollama.model` a model \
                                   that embeds"
                    .to_owned()
            }
        };
        Failed { address: ollama.url().to_owned(), trouble, mend }
    }

    pub(super) fn of_shared(qdrant: &Qdrant, trouble: Trouble) -> Failed {
        let mend = if trouble.is_missing_collection() {
            "run `ralph-memory index --remote`, which makes and fills it"
        } else if trouble.is_wrong_dimension() {
            "run `ralph-memory index --rebuild --remote`: the model has changed"
        } else if trouble.is_denied() {
            "correct `qdrant.api_key`"
        } else {
            match trouble {
                Trouble::TimedOut(_) => "see how the server does, or raise `qdrant.timeout_ms`",
                Trouble::Unreachable(_) => "start the server, or correct `qdrant.url`",
                _ => "see that `qdrant.url` is the address of a Qdrant server, and look into its log",
            }
        };
        Failed { address: qdrant.url().to_owned(), trouble, mend: mend.to_owned() }
    }

    /// Returns what a person is told of it.
    pub(super) fn problem(&self) -> Problem {
        Problem {
            message: format!("{}; words alone count", self.trouble).into(),
            hint: self.mend.as_str().into(),
            ..warning("semantic-off", &self.address)
        }
    }
}

/// What [`Memory::embed`] and [`Memory::share`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Embedded {
    /// How many entries have vectors now.
    pub entries: usize,
    /// How many of them were embedded, or stored on the server.
    pub new: usize,
    /// How many entries were removed from the server: they were put there from here, and are in no file any more.
    pub removed: usize,
    /// What stood in the way.
    pub problems: Vec<Problem>,
}

/// What came of asking for vectors of files.
#[derive(Debug, Clone, Default)]
pub(super) struct Made {
    /// The vectors, all of a file or none, in the order of the files.
    pub(super) records: Vec<Record>,
    /// Which files have none, and why.
    pub(super) problems: Vec<Problem>,
    /// The fingerprints of those that the model did not take.
    pub(super) refused: Vec<u64>,
}

/// A chunk that needs a vector.
struct Piece {
    path: String,
    file: u64,
    chunk: Chunk,
    number: u16,
    of: u16,
}

impl Memory {
    /// Gives vectors to all entries that have none, archived ones included. Without `ollama.url` there is
    /// nothing to do.
    ///
    /// A server that fails is a problem of the answer, and what was made before is kept.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process keeps writing the cache.
    pub fn embed(&self) -> Result<Embedded> {
        let Some(ollama) = self.ollama() else { return Ok(Embedded::default()) };
        let catalogs = [Area::Live, Area::Archive].map(|area| self.catalog(area));
        let vectors = Vectors::of(ollama.model());
        let mut looked = vectors.look(&self.store, None);
        let mut result = Embedded::default();
        let paths = |is_wanted: &dyn Fn(u64) -> bool| -> Vec<String> {
            let of = |catalog: &Catalog| {
                let rows = catalog.rows().filter(|row| catalog.is_indexable(*row));
                let rows = rows.filter(|row| is_wanted(catalog.fingerprint(*row)));
                rows.map(|row| catalog.path(row)).collect::<Vec<_>>()
            };
            catalogs.iter().flat_map(of).collect()
        };
        let all = paths(&|_| true).len();
        result.entries = paths(&|file| looked.best.contains_key(&file)).len();
        let asking = self.doing(Work::AskingOllama, None);
        let probe = match ollama.embed_document(PROBE, &ollama.clock(Patience::Batch)) {
            Ok(vector) => vector,
            Err(trouble) => {
                result.problems = self.failed(&Failed::of_batch(ollama, trouble));
                return Ok(result);
            }
        };
        drop(asking);
        self.end_pause();
        let dimensions = probe.len();
        // A model that gives other vectors by now makes all of them anew.
        if self.probed(&vectors, &probe)? {
            looked = Looked::default();
        }
        let pending = paths(&|file| !looked.best.contains_key(&file));
        let known = self.known_contents(&vectors, &pending, Some(dimensions));
        let (mut refused, mut is_whole) = (Vec::new(), true);
        let mut embedding = self.doing(Work::Embedding, Some(pending.len()));
        for group in pending.chunks(GROUP) {
            let made = match self.vectors_of(ollama, group, &known, Patience::Batch) {
                Ok(made) => made,
                Err(failed) => {
                    result.problems.extend(self.failed(&failed));
                    is_whole = false;
                    break;
                }
            };
            result.problems.extend(made.problems);
            refused.extend(made.refused);
            result.new += made.records.iter().filter(|record| record.number == 0).count();
            let lock = self.wait_for_cache()?;
            vectors.add(&self.store, &lock, &made.records).map_err(|source| self.vectors_error(source))?;
            embedding.advance(group.len());
        }
        drop(embedding);
        self.set_refused(ollama, &refused, is_whole);
        result.entries = all - pending.len() + result.new;
        let live: HashSet<u64> =
            catalogs.iter().flat_map(|catalog| catalog.rows().map(|row| catalog.fingerprint(row))).collect();
        let keeps = |file| live.contains(&file) || file == PROBE_FILE;
        if looked.records > 1_000 && looked.best.len() > 2 * live.len() {
            let lock = self.wait_for_cache()?;
            vectors.compact(&self.store, &lock, &keeps).map_err(|source| self.vectors_error(source))?;
        }
        Ok(bounded(result))
    }

    /// Notes which vector a model gives to a text that never changes; returns whether it gave another one before, and
    /// then forgets all that it gave: the vectors of two models of one name cannot stand beside each other.
    pub(super) fn probed(&self, vectors: &Vectors, probe: &[f32]) -> Result<bool> {
        let content = xxh3_64(PROBE.as_bytes());
        let known = vectors.with_contents(&self.store, None, &|known| known == content).remove(&content);
        let is_same =
            |known: &Record| known.dimensions() == probe.len() && known.similarity(&Prepared::new(probe)) >= SAME;
        if known.as_ref().is_some_and(is_same) {
            return Ok(false);
        }
        let lock = self.wait_for_cache()?;
        let is_other = known.is_some() || vectors.dimensions(&self.store).is_some_and(|known| known != probe.len());
        let written = if is_other { vectors.clear(&self.store, &lock) } else { Ok(()) };
        let record = Record::new(PROBE_FILE, content, 0, 1, probe);
        written
            .and_then(|()| vectors.add(&self.store, &lock, &[record]))
            .map_err(|source| self.vectors_error(source))?;
        Ok(is_other)
    }

    /// Returns what fills the vectors, or the server that is shared.
    pub(super) fn index_command(&self) -> &'static str {
        if self.qdrant().is_some() { "index --remote" } else { "index" }
    }

    /// Gives vectors to a few entries that were just written or found to have none, and returns them. A query's
    /// patience is enough for that.
    pub(super) fn embed_paths(&self, paths: &[String], dimensions: Option<usize>) -> std::result::Result<Made, Failed> {
        let Some(ollama) = self.ollama() else { return Ok(Made::default()) };
        let vectors = Vectors::of(ollama.model());
        let known = self.known_contents(&vectors, paths, dimensions);
        let embedding = self.doing(Work::Embedding, Some(paths.len()));
        let made = self.vectors_of(ollama, paths, &known, Patience::Query)?;
        drop(embedding);
        // Another process may write the cache for a moment, and what was made took longer than that.
        if let Some(lock) = self.store.cache_lock() {
            // A cache that cannot be written costs the next call the same.
            let _ = vectors.add(&self.store, &lock, &made.records);
        }
        if !made.refused.is_empty() {
            self.set_refused(ollama, &made.refused, false);
        }
        if let Some(qdrant) = self.qdrant() {
            let points = self.points(paths, &made.records);
            let _asking = self.doing(Work::AskingQdrant, None);
            qdrant.put(&points, Patience::Query).map_err(|trouble| Failed::of_shared(qdrant, trouble))?;
            let lines = self.known_lines(&self.there_now(paths, &made.records));
            if let (Ok(lines), Ok(mut file)) = (lines, self.store.append_cache(&known_file(ollama, qdrant))) {
                let _ = file.write_all(&lines);
            }
        }
        Ok(made)
    }

    /// Returns the fingerprints of files that the model did not take. They are not sent again with every search, but
    /// after an hour, and by `index` at any time: it may have been the server's state and not the text.
    pub(super) fn refused(&self, ollama: &Ollama) -> HashSet<u64> {
        let mut text = String::new();
        if let Ok(file) = self.store.open_cache(&refused_file(ollama)) {
            // What is no text is not known.
            let _ = file.take(MAX_REFUSED).read_to_string(&mut text);
        }
        let (now, Some(anchor)) = (self.now(), self.store.anchor()) else { return HashSet::new() };
        let read = |line: &str| {
            let (file, at) = anchor.unsealed_line(line)?.split_once('\t')?;
            let age = now - DateTime::from_timestamp(at.parse().ok()?, 0)?;
            // A clock that was put back would make it last.
            let counts = (TimeDelta::zero()..REFUSED).contains(&age);
            u64::from_str_radix(file, 16).ok().filter(|_| counts)
        };
        text.lines().filter_map(read).collect()
    }

    /// Notes what a model did not take; with `is_all` nothing else is refused any more. What cannot be noted is sent
    /// once more.
    pub(super) fn set_refused(&self, ollama: &Ollama, files: &[u64], is_all: bool) {
        let (name, now) = (refused_file(ollama), self.now().timestamp());
        let Ok(anchor) = self.store.make_anchor() else { return };
        let lines: String = files.iter().map(|file| anchor.sealed_line(&format!("{file:016x}\t{now}"))).collect();
        if is_all {
            let _ = self.store.write_cache(&name, lines.as_bytes());
        } else if let Ok(mut file) = self.store.append_cache(&name) {
            let _ = file.write_all(lines.as_bytes());
        }
    }

    /// Gives vectors to entries that this call has written, where that is asked for.
    pub(super) fn embed_written(&self, paths: &[String]) -> Vec<Problem> {
        if paths.is_empty() || self.ollama().is_none() || self.settings.semantic.weight <= 0.0 {
            return Vec::new();
        }
        if let Some(problem) = self.paused() {
            return self.once(vec![problem]);
        }
        let begun = Instant::now();
        match self.embed_paths(paths, None) {
            Ok(made) => made.problems,
            Err(failed) => {
                self.pause_after(&failed, begun.elapsed());
                self.once(vec![failed.problem()])
            }
        }
    }

    /// Returns the vectors there are already of texts that stand in these files.
    pub(super) fn known_contents(
        &self,
        vectors: &Vectors,
        paths: &[String],
        dimensions: Option<usize>,
    ) -> HashMap<u64, Record> {
        let mut wanted = HashSet::new();
        for group in paths.chunks(GROUP) {
            wanted.extend(self.pieces(group).into_iter().map(|piece| piece.chunk.content));
        }
        vectors.with_contents(&self.store, dimensions, &|content| wanted.contains(&content))
    }

    /// Returns what of an entry is embedded: nothing that looks like a secret, which people may have committed before
    /// somebody looked. It is looked for in the whole of a text: a piece may hold a value without its name.
    pub(super) fn chunks(&self, path: &str, bytes: &[u8]) -> Vec<Chunk> {
        let mut entry = read(path, bytes);
        let allowed = &self.settings.allowed_secrets;
        entry.head.title = redact(&entry.head.title, allowed);
        entry.text = redact(&entry.text, allowed);
        let id = Id::of_path(path);
        chunk::chunks(&entry, id.as_ref().map_or("", Id::stem))
    }

    /// Reads the chunks of files. One that is gone by now has none.
    fn pieces(&self, paths: &[String]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for path in paths {
            let Ok(file) = self.store.read(path) else { continue };
            let chunks = self.chunks(path, &file.bytes);
            let of = u16::try_from(chunks.len()).unwrap_or(u16::MAX);
            pieces.extend(chunks.into_iter().zip(0u16..).map(|(chunk, number)| Piece {
                path: path.clone(),
                file: xxh3_64(&file.bytes),
                chunk,
                number,
                of,
            }));
        }
        pieces
    }

    /// Returns the vectors of files, and which cannot have any.
    pub(super) fn vectors_of(
        &self,
        ollama: &Ollama,
        paths: &[String],
        known: &HashMap<u64, Record>,
        patience: Patience,
    ) -> std::result::Result<Made, Failed> {
        let failed = if patience == Patience::Query { Failed::of } else { Failed::of_batch };
        let clock = ollama.clock(patience);
        let pieces = self.pieces(paths);
        let mut made: HashMap<u64, Record> = HashMap::new();
        let mut refused: HashMap<u64, Trouble> = HashMap::new();
        let mut missing: Vec<&Piece> =
            pieces.iter().filter(|piece| !known.contains_key(&piece.chunk.content)).collect();
        missing.sort_by_key(|piece| piece.chunk.content);
        missing.dedup_by_key(|piece| piece.chunk.content);
        for batch in missing.chunks(ollama.batch()) {
            let texts: Vec<String> = batch.iter().map(|piece| piece.chunk.text.clone()).collect();
            let vectors: Vec<_> = match ollama.embed_documents(&texts, &clock) {
                Ok(vectors) => vectors.into_iter().map(Ok).collect(),
                // One text that the model does not take must not keep the others from their vectors.
                Err(trouble) if is_of_a_text(&trouble) => {
                    let mut alone = Vec::with_capacity(texts.len());
                    for text in &texts {
                        match ollama.embed_document(text, &clock) {
                            // A server that is slow or gone says nothing of a text.
                            Err(trouble) if !is_of_a_text(&trouble) => return Err(failed(ollama, trouble)),
                            vector => alone.push(vector),
                        }
                    }
                    if alone.iter().all(std::result::Result::is_err) {
                        match ollama.embed_document("a text that every model takes", &clock) {
                            Ok(_) => {}
                            Err(ill) if is_of_a_text(&ill) => return Err(failed(ollama, trouble)),
                            Err(gone) => return Err(failed(ollama, gone)),
                        }
                    }
                    alone
                }
                Err(trouble) => return Err(failed(ollama, trouble)),
            };
            for (piece, vector) in batch.iter().zip(vectors) {
                let content = piece.chunk.content;
                match vector {
                    Ok(vector) => drop(made.insert(content, Record::new(0, content, 0, 1, &vector))),
                    Err(trouble) => drop(refused.insert(content, trouble)),
                }
            }
        }
        let other = |record: &Record| known.values().any(|known| known.dimensions() != record.dimensions());
        if made.values().next().is_some_and(other) {
            // A model of the same name by now gives other vectors, which cannot stand beside those.
            return self.vectors_of(ollama, paths, &HashMap::new(), patience);
        }
        let mut result = Made::default();
        for pieces in pieces.chunk_by(|one, other| one.path == other.path) {
            let vector = |piece: &Piece| {
                let record = known.get(&piece.chunk.content).or_else(|| made.get(&piece.chunk.content))?;
                Some(record.at(piece.file, piece.number, piece.of))
            };
            if let Some(all) = pieces.iter().map(vector).collect::<Option<Vec<Record>>>() {
                result.records.extend(all);
            } else if let Some(trouble) = pieces.iter().find_map(|piece| refused.get(&piece.chunk.content)) {
                result.refused.push(pieces[0].file);
                result.problems.push(Problem {
                    message: format!("it cannot be embedded: {trouble}").into(),
                    hint: format!(
                        "it is found by its words alone; `ralph-memory {}` tries it again",
                        self.index_command()
                    )
                    .into(),
                    ..warning("semantic-refused", &display_path(&pieces[0].path))
                });
            }
        }
        Ok(result)
    }

    pub(super) fn vectors_error(&self, source: std::io::Error) -> Error {
        Error::Io { action: "write", path: self.store.cache().join(FOLDER), source }
    }
}

/// Returns the file of the cache that lists what a model did not take: a fingerprint and the second of that, a line each.
fn refused_file(ollama: &Ollama) -> String {
    format!("{}.refused", Vectors::of(ollama.model()).path())
}

/// Returns whether it may be a text that the model does not take, and not the server.
fn is_of_a_text(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Refused { status: 400 | 413 | 500, .. } | Trouble::Broken(_))
}

/// Names no more than a few entries that have no vector.
pub(super) fn bounded(mut result: Embedded) -> Embedded {
    let is_refused = |problem: &&Problem| problem.code == "semantic-refused";
    let n = result.problems.iter().filter(is_refused).count();
    let mut left = MAX_NAMED;
    result.problems.retain(|problem| {
        let is_kept = problem.code != "semantic-refused" || left > 0;
        left = left.saturating_sub(usize::from(problem.code == "semantic-refused"));
        is_kept
    });
    if n > MAX_NAMED
        && let Some(last) = result.problems.iter_mut().rev().find(|problem| problem.code == "semantic-refused")
    {
        last.message = format!("{}; {} more like this", last.message, n - MAX_NAMED).into();
    }
    result
}
