//! Vectors on a server that a team shares: filled from the files, and compared with them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;

use xxhash_rust::xxh3::xxh3_64;

use super::Memory;
use super::embed::{Embedded, Failed, GROUP, Made, PROBE, bounded};
use super::meaning::warning;
use crate::catalog::Area;
use crate::entry::{Id, read};
use crate::error::{Error, Problem, Result};
use crate::semantic::chunk::Chunk;
use crate::semantic::qdrant::{Anew, Point, Stored};
use crate::semantic::vectors::{FOLDER, Record, Vectors};
use crate::semantic::{Ollama, Patience, Qdrant};
use crate::workspace::Work;

/// The fingerprint of an entry whose points are those of another text than its file's.
const NOT_THIS: u64 = 0;
/// The longest list of what a server has that is read, in bytes: of about a million entries.
const MAX_KNOWN: u64 = 64 * 1024 * 1024;

impl Memory {
    /// Makes the Qdrant server say what the files say: stores what it lacks or has differently, and removes what was
    /// put there from here and is in no file any more. What others put there stays: it may be on another branch. With
    /// `anew`, what this project has there is made anew, which a model of other dimensions needs.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::embed`].
    pub fn share(&self, anew: bool) -> Result<Embedded> {
        let (Some(ollama), Some(qdrant)) = (self.ollama(), self.qdrant()) else {
            let what = if self.ollama().is_none() { "ollama.url" } else { "qdrant.url" };
            let reason = "it is not set, and to fill the server both it and the other address are needed".to_owned();
            return Err(Error::Invalid { what: what.to_owned(), reason });
        };
        let mut result = Embedded::default();
        let failed = |result: &mut Embedded, failed: Failed| {
            result.problems.extend(self.failed(&failed));
            Ok(bounded(std::mem::take(result)))
        };
        let shared = |trouble| Failed::of_shared(qdrant, trouble);
        let before = self.known_there(ollama, qdrant);
        result.entries = before.len();
        let asking = self.doing(Work::AskingOllama, None);
        let probe = match ollama.embed_document(PROBE, &ollama.clock(Patience::Batch)) {
            Ok(vector) => vector,
            Err(trouble) => return failed(&mut result, Failed::of_batch(ollama, trouble)),
        };
        drop(asking);
        self.end_pause();
        let dimensions = probe.len();
        let vectors = Vectors::of(ollama.model());
        let is_other = self.probed(&vectors, &probe)?;
        if anew && !is_other {
            // Where nothing was noted of the model before, its vectors may be another one's.
            let lock = self.wait_for_cache()?;
            vectors.clear(&self.store, &lock).map_err(|source| self.vectors_error(source))?;
            drop(lock);
            self.probed(&vectors, &probe)?;
        }
        let live = self.catalog(Area::Live);
        let rows: Vec<_> = live.rows().filter(|row| live.is_indexable(*row)).collect();
        let features: BTreeSet<Option<String>> = rows.iter().map(|row| live.head(*row).feature).collect();
        let features: Vec<Option<&str>> = features.iter().map(Option::as_deref).collect();
        let asking = self.doing(Work::AskingQdrant, None);
        match if anew { qdrant.recreate(dimensions, &features).map(Some) } else { Ok(None) } {
            Ok(Some(Anew::Shared { collection, others })) => {
                result.problems.push(Problem {
                    message: format!(
                        "collection `{collection}` holds {others} vectors of other projects, and is not made anew"
                    )
                    .into(),
                    hint: if self.settings.qdrant.collections == crate::settings::CollectionLayout::PerFeature {
                        "set `qdrant.collections` to `shared`, and `qdrant.collection` to a name of this project's own"
                            .into()
                    } else {
                        "set `qdrant.collection` to a name of this project's own".into()
                    },
                    ..warning("semantic-shared", qdrant.url())
                });
                return Ok(result);
            }
            Ok(_) => {}
            Err(trouble) => return failed(&mut result, shared(trouble)),
        }
        match qdrant.prepare(dimensions, &features) {
            Ok(prepared) => {
                for difference in &prepared.differences {
                    result.problems.push(Problem {
                        message: difference.to_string().into(),
                        hint: "run `ralph-memory index --rebuild --remote` to make it as the settings say".into(),
                        ..warning("semantic-configuration", qdrant.url())
                    });
                }
                if !prepared.is_usable() {
                    return Ok(bounded(result));
                }
            }
            Err(trouble) => return failed(&mut result, shared(trouble)),
        }
        let stored = match qdrant.stored() {
            Ok(stored) => stored,
            Err(trouble) => return failed(&mut result, shared(trouble)),
        };
        drop(asking);
        let mut there: BTreeMap<Id, Vec<Stored>> = BTreeMap::new();
        for stored in stored {
            there.entry(stored.entry.clone()).or_default().push(stored);
        }
        let on_server: BTreeSet<String> = there.keys().map(Id::to_string).collect();
        let mut known: Vec<(Id, u64)> = Vec::new();
        let mut pending = Vec::new();
        let mut reading = self.doing(Work::Reading, Some(rows.len()));
        for row in rows {
            reading.advance(1);
            let (path, Some(id)) = (live.path(row), live.id(row)) else { continue };
            let Ok(file) = self.store.read(&path) else { continue };
            let chunks = self.chunks(&path, &file.bytes);
            let stored = there.remove(&id).unwrap_or_default();
            if !is_other && is_same(&stored, &chunks, live.head(row).feature.as_deref(), qdrant.model()) {
                known.push((id, xxh3_64(&file.bytes)));
            } else {
                pending.push(path);
            }
        }
        drop(reading);
        let asking = self.doing(Work::AskingQdrant, None);
        // Of what was never here nobody here can say that it is gone: others may have it, on another branch.
        let gone: Vec<Id> = there.into_keys().filter(|id| before.contains_key(id.as_str())).collect();
        if let Err(trouble) = qdrant.remove(&gone) {
            return failed(&mut result, shared(trouble));
        }
        drop(asking);
        result.removed = gone.len();
        result.entries = known.len();
        let contents = self.known_contents(&vectors, &pending, Some(dimensions));
        let (mut refused, mut is_whole) = (Vec::new(), true);
        let mut storing = self.doing(Work::Storing, Some(pending.len()));
        for group in pending.chunks(GROUP) {
            let made = self.vectors_of(ollama, group, &contents, Patience::Batch).and_then(|made| {
                qdrant.put(&self.points(group, &made.records), Patience::Batch).map_err(shared)?;
                Ok(made)
            });
            let Made { records, problems, refused: taken_not } = match made {
                Ok(made) => made,
                Err(problem) => {
                    result.problems.extend(self.failed(&problem));
                    if is_other {
                        result.problems.push(Problem {
                            message: format!(
                                "`{}` gives other vectors than before, and not all are there",
                                qdrant.model()
                            )
                            .into(),
                            hint: "run `ralph-memory index --rebuild --remote` when the server is well".into(),
                            ..warning("semantic-model", qdrant.url())
                        });
                    }
                    is_whole = false;
                    break;
                }
            };
            result.problems.extend(problems);
            refused.extend(taken_not);
            let now = self.there_now(group, &records);
            result.new += now.len();
            known.extend(now);
            // The server has them: a cache that cannot be written costs embedding them once more, some day.
            if let Some(lock) = self.store.cache_lock() {
                let _ = vectors.add(&self.store, &lock, &records);
            }
            storing.advance(group.len());
        }
        drop(storing);
        result.entries += result.new;
        self.set_refused(ollama, &refused, is_whole);
        // What could not be brought up to date is there still, and is to go when its file does. So is what another
        // process stored meanwhile.
        let settled: BTreeSet<String> = known.iter().map(|(id, _)| id).chain(&gone).map(Id::to_string).collect();
        let stale = before.keys().filter(|id| on_server.contains(id.as_str()));
        let mut left: BTreeMap<String, u64> = stale.map(|id| (id.clone(), NOT_THIS)).collect();
        let later = self.known_there(ollama, qdrant).into_iter().filter(|(id, file)| before.get(id) != Some(file));
        left.extend(later);
        left.retain(|id, _| !settled.contains(id));
        known.extend(left.into_iter().filter_map(|(id, file)| Some((Id::parse(&id)?, file))));
        // Without this list the next call asks the server again, no more.
        let _ = self.known_lines(&known).and_then(|lines| self.store.write_cache(&known_file(ollama, qdrant), &lines));
        Ok(bounded(result))
    }

    /// Returns the entries that the server had when it was last filled from here, and the fingerprints of their files.
    pub(super) fn known_there(&self, ollama: &Ollama, qdrant: &Qdrant) -> HashMap<String, u64> {
        let mut text = String::new();
        if let Ok(file) = self.store.open_cache(&known_file(ollama, qdrant)) {
            // What is no text is not known.
            let _ = file.take(MAX_KNOWN).read_to_string(&mut text);
        }
        let Some(anchor) = self.store.anchor() else { return HashMap::new() };
        // What this list names is removed from the server when it is in no file: only what was written here counts.
        let lines = text.lines().filter_map(|line| anchor.unsealed_line(line)?.split_once('\t'));
        lines.filter_map(|(id, file)| Some((id.to_owned(), u64::from_str_radix(file, 16).ok()?))).collect()
    }

    /// Writes down what a server has.
    pub(super) fn known_lines(&self, known: &[(Id, u64)]) -> std::io::Result<Vec<u8>> {
        let anchor = self.store.make_anchor()?;
        let line = |(id, file): &(Id, u64)| anchor.sealed_line(&format!("{id}\t{file:016x}"));
        Ok(known.iter().map(line).collect::<String>().into_bytes())
    }

    /// Returns those of the files that have these vectors: their ids, and their fingerprints.
    pub(super) fn there_now(&self, paths: &[String], records: &[Record]) -> Vec<(Id, u64)> {
        let files: BTreeSet<u64> = records.iter().map(|record| record.file).collect();
        let of = |path: &String| Some((Id::of_path(path)?, xxh3_64(&self.store.read(path).ok()?.bytes)));
        paths.iter().filter_map(of).filter(|(_, file)| files.contains(file)).collect()
    }

    /// Returns the vectors as points of the entries that are live.
    pub(super) fn points(&self, paths: &[String], records: &[Record]) -> Vec<Point> {
        let mut points = Vec::new();
        for path in paths {
            let (Ok(file), Some(id)) = (self.store.read(path), Id::of_path(path)) else { continue };
            let hash = xxh3_64(&file.bytes);
            let feature = read(path, &file.bytes).head.feature;
            if path.starts_with("archive/") {
                continue;
            }
            points.extend(records.iter().filter(|record| record.file == hash).map(|record| Point {
                entry: id.clone(),
                number: record.number.into(),
                of: record.of.into(),
                content: record.content,
                vector: record.vector(),
                feature: feature.clone(),
                kind: id.kind(),
            }));
        }
        points
    }
}

/// Returns whether a server has exactly these chunks of an entry, where they are looked for.
fn is_same(stored: &[Stored], chunks: &[Chunk], feature: Option<&str>, model: &str) -> bool {
    let has = |number: usize, chunk: &Chunk| {
        stored.iter().any(|stored| {
            stored.number as usize == number
                && stored.of as usize == chunks.len()
                && stored.content == chunk.content
                && stored.feature.as_deref() == feature
                && stored.model == model
                && stored.is_in_place
        })
    };
    stored.len() == chunks.len() && chunks.iter().enumerate().all(|(number, chunk)| has(number, chunk))
}

/// Returns the file of the cache that lists what a server was seen to have: an id and a fingerprint a line, of which
/// the last of an id counts.
pub(super) fn known_file(ollama: &Ollama, qdrant: &Qdrant) -> String {
    let name = format!("{}\n{}\n{}", qdrant.url(), qdrant.place(), ollama.model());
    format!("{FOLDER}/{:016x}.there", xxh3_64(name.as_bytes()))
}
