//! The points of a memory on a Qdrant server that a team shares: compared with the files, and updated.
//!
//! The files are the source. Of this project's points on the server, only those that were stored from here are removed:
//! others may have stored entries of another branch.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::FOLDER;
use super::breaker::CircuitBreaker;
use super::chunk::Chunk;
use super::embedder::{Embedder, GROUP, chunks_of};
use super::failure::ServerFailure;
use super::http::RequestError;
use super::lists::RemoteManifest;
use super::ollama::Timeouts;
use super::qdrant::{Point, PointsFound, QdrantClient, RecreateOutcome, StoredPoint};
use super::report::EmbedReport;
use super::vectors::VectorRecord;
use crate::catalog::{Area, Catalog, RowId};
use crate::entry::{Id, read};
use crate::error::{Error, Problem, Result};
use crate::workspace::{Work, Workspace};

/// The fingerprint in the manifest of an entry whose points are those of another text than its file's.
const OUTDATED: u64 = 0;

/// Keeps the points on a Qdrant server in step with the files.
#[derive(Debug)]
pub(super) struct RemoteSync {
    qdrant: QdrantClient,
    manifest: RemoteManifest,
}

/// Why a synchronisation ended early.
enum SyncStop {
    /// A server failed.
    Failed(ServerFailure),
    /// A collection cannot be used; the report says why.
    Unusable,
    /// The cache cannot be written.
    Cache(Error),
}

impl From<ServerFailure> for SyncStop {
    fn from(failure: ServerFailure) -> SyncStop {
        SyncStop::Failed(failure)
    }
}

impl From<Error> for SyncStop {
    fn from(error: Error) -> SyncStop {
        SyncStop::Cache(error)
    }
}

/// The input of a synchronisation.
struct SyncRun<'a> {
    workspace: &'a Workspace,
    embedder: &'a Embedder,
    breaker: &'a CircuitBreaker,
    /// The previous content of the manifest.
    before: HashMap<String, u64>,
    /// Whether the model gives other vectors than before.
    is_other_model: bool,
    dimensions: usize,
    report: EmbedReport,
}

/// The content of a server, compared with the files.
struct Comparison {
    /// The entries whose points match the files, with the fingerprints of their files.
    current: Vec<(Id, u64)>,
    /// The files whose points are missing or differ.
    pending: Vec<String>,
    /// The entries that were stored from here, and that no file has.
    gone: Vec<Id>,
    /// All entries that the server had.
    on_server: BTreeSet<String>,
}

impl RemoteSync {
    /// Returns the synchronisation with a server of vectors by this model, as the settings name it.
    pub(super) fn new(qdrant: QdrantClient, model: &str) -> RemoteSync {
        let name = format!("{}\n{}\n{model}", qdrant.url(), qdrant.place());
        let manifest = RemoteManifest::new(format!("{FOLDER}/{:016x}.there", xxh3_64(name.as_bytes())));
        RemoteSync { qdrant, manifest }
    }

    pub(super) fn qdrant(&self) -> &QdrantClient {
        &self.qdrant
    }

    pub(super) fn manifest(&self) -> &RemoteManifest {
        &self.manifest
    }

    /// Describes a failure of the server.
    pub(super) fn failure(&self, error: RequestError) -> ServerFailure {
        ServerFailure::of_qdrant(&self.qdrant, error)
    }

    /// Stores the vectors of a few files during another call.
    pub(super) fn store_now(
        &self,
        workspace: &Workspace,
        paths: &[String],
        records: &[VectorRecord],
    ) -> std::result::Result<(), ServerFailure> {
        let points = points(workspace, paths, records);
        let _asking = workspace.doing(Work::AskingQdrant, None);
        self.qdrant.put(&points, Timeouts::Query).map_err(|error| self.failure(error))?;
        self.manifest.append(workspace, &fingerprints(workspace, paths, records));
        Ok(())
    }

    /// Notes which entries a server has lost that this project stored there: those of missing collections, and those of
    /// `named` that it was asked for by name. Returns whether there are any.
    pub(super) fn note_lost(
        &self,
        workspace: &Workspace,
        live: &Catalog,
        named: &[&(Id, Option<String>)],
        found: &PointsFound,
    ) -> bool {
        let there: HashSet<&Id> = found.matches.iter().map(|found| &found.entry).collect();
        let mut lost: Vec<Id> = named.iter().map(|(id, _)| id).filter(|id| !there.contains(id)).cloned().collect();
        if !found.missing.is_empty() {
            let is_missing =
                |row: &RowId| found.missing.contains(&self.qdrant.home(live.head(*row).feature.as_deref()));
            lost.extend(live.rows().filter(is_missing).filter_map(|row| live.id(row)));
        }
        let manifest = self.manifest.read(workspace);
        lost.retain(|id| manifest.get(id.as_str()).is_some_and(|file| *file != OUTDATED));
        let lost: Vec<(Id, u64)> = lost.into_iter().map(|id| (id, OUTDATED)).collect();
        self.manifest.append(workspace, &lost);
        !lost.is_empty()
    }

    /// Stores missing and different points, and removes those that were stored from here and are in no file any more.
    /// With `rebuild`, first deletes this project's points, and embeds all of it again.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] and [`Error::Io`] where the cache cannot be written.
    pub(super) fn synchronize(
        &self,
        workspace: &Workspace,
        embedder: &Embedder,
        breaker: &CircuitBreaker,
        rebuild: bool,
    ) -> Result<EmbedReport> {
        let before = self.manifest.read(workspace);
        let report = EmbedReport { entries: before.len(), ..EmbedReport::default() };
        let mut run = SyncRun { workspace, embedder, breaker, before, is_other_model: false, dimensions: 0, report };
        match self.run(&mut run, rebuild) {
            Ok(()) | Err(SyncStop::Unusable) => {}
            Err(SyncStop::Failed(failure)) => run.report.problems.extend(breaker.report(workspace, &failure)),
            Err(SyncStop::Cache(error)) => return Err(error),
        }
        Ok(run.report.bounded())
    }

    fn run(&self, run: &mut SyncRun<'_>, rebuild: bool) -> std::result::Result<(), SyncStop> {
        let workspace = run.workspace;
        let probe = run.embedder.probe(workspace)?;
        run.breaker.reset(workspace);
        run.dimensions = probe.len();
        run.is_other_model = run.embedder.forget_other_model(workspace, &probe)?;
        if rebuild && !run.is_other_model {
            // Where the model's probe was not noted before, its vectors may be those of another one.
            run.embedder.clear(workspace, &probe)?;
        }
        let live = workspace.catalog(Area::Live);
        let rows: Vec<RowId> = live.rows().filter(|row| live.is_indexable(*row)).collect();
        let features: BTreeSet<Option<String>> = rows.iter().map(|row| live.head(*row).feature).collect();
        let features: Vec<Option<&str>> = features.iter().map(Option::as_deref).collect();
        let asking = workspace.doing(Work::AskingQdrant, None);
        if rebuild {
            self.recreate_collections(run, &features)?;
        }
        self.prepare_collections(run, &features)?;
        let stored = self.qdrant.stored().map_err(|error| self.failure(error))?;
        drop(asking);
        let mut comparison = self.compare(run, &live, &rows, stored);
        let asking = workspace.doing(Work::AskingQdrant, None);
        self.qdrant.remove(&comparison.gone).map_err(|error| self.failure(error))?;
        drop(asking);
        run.report.removed = comparison.gone.len();
        run.report.entries = comparison.current.len();
        self.store_pending(run, &mut comparison);
        run.report.entries += run.report.new;
        self.write_manifest(run, comparison);
        Ok(())
    }

    /// Deletes the collections, and creates them again, unless that would delete points of other projects.
    fn recreate_collections(
        &self,
        run: &mut SyncRun<'_>,
        features: &[Option<&str>],
    ) -> std::result::Result<(), SyncStop> {
        let outcome = self.qdrant.recreate(run.dimensions, features).map_err(|error| self.failure(error))?;
        let RecreateOutcome::Shared { collection, others } = outcome else { return Ok(()) };
        let hint = if self.qdrant.is_per_feature() {
            "give `qdrant.collection` a `name` of this project's own, and switch its `per_feature` off"
        } else {
            "give `qdrant.collection` a `name` of this project's own"
        };
        let message = format!("collection `{collection}` holds {others} vectors of other projects, and is not rebuilt");
        run.report.problems.push(Problem::warning(self.qdrant.url(), "semantic-shared", message, hint));
        Err(SyncStop::Unusable)
    }

    /// Creates the collections that are missing, and reports those that differ from the settings.
    fn prepare_collections(
        &self,
        run: &mut SyncRun<'_>,
        features: &[Option<&str>],
    ) -> std::result::Result<(), SyncStop> {
        let prepared = self.qdrant.prepare(run.dimensions, features).map_err(|error| self.failure(error))?;
        let hint = "run `ralph-memory index --rebuild --remote` to rebuild it from the settings";
        run.report.problems.extend(prepared.differences.iter().map(|difference| {
            Problem::warning(self.qdrant.url(), "semantic-configuration", difference.to_string(), hint)
        }));
        if prepared.is_usable() { Ok(()) } else { Err(SyncStop::Unusable) }
    }

    /// Compares the points on the server with the files.
    fn compare(&self, run: &SyncRun<'_>, live: &Catalog, rows: &[RowId], stored: Vec<StoredPoint>) -> Comparison {
        let workspace = run.workspace;
        let mut by_entry: BTreeMap<Id, Vec<StoredPoint>> = BTreeMap::new();
        for point in stored {
            by_entry.entry(point.entry.clone()).or_default().push(point);
        }
        let on_server = by_entry.keys().map(Id::to_string).collect();
        let (mut current, mut pending) = (Vec::new(), Vec::new());
        let mut reading = workspace.doing(Work::Reading, Some(rows.len()));
        for row in rows {
            reading.advance(1);
            let (path, Some(id)) = (live.path(*row), live.id(*row)) else { continue };
            let Ok(file) = workspace.store.read(&path) else { continue };
            let chunks = chunks_of(workspace, &path, &file.bytes);
            let stored = by_entry.remove(&id).unwrap_or_default();
            let feature = live.head(*row).feature;
            if !run.is_other_model && is_same(&stored, &chunks, feature.as_deref(), self.qdrant.model()) {
                current.push((id, xxh3_64(&file.bytes)));
            } else {
                pending.push(path);
            }
        }
        let gone = by_entry.into_keys().filter(|id| run.before.contains_key(id.as_str())).collect();
        Comparison { current, pending, gone, on_server }
    }

    /// Embeds and stores the pending files group by group, until all are done or a server fails.
    fn store_pending(&self, run: &mut SyncRun<'_>, comparison: &mut Comparison) {
        let (workspace, embedder) = (run.workspace, run.embedder);
        let known = embedder.cached_texts(workspace, &comparison.pending, Some(run.dimensions));
        let mut refused = Vec::new();
        let mut failure = None;
        let mut storing = workspace.doing(Work::Storing, Some(comparison.pending.len()));
        for group in comparison.pending.chunks(GROUP) {
            let embedded = embedder.embed_files(workspace, group, &known, Timeouts::Batch).and_then(|embedded| {
                let points = points(workspace, group, &embedded.records);
                self.qdrant.put(&points, Timeouts::Batch).map_err(|error| self.failure(error))?;
                Ok(embedded)
            });
            let embedded = match embedded {
                Ok(embedded) => embedded,
                Err(failed) => {
                    failure = Some(failed);
                    break;
                }
            };
            run.report.problems.extend(embedded.problems);
            refused.extend(embedded.refused);
            let stored = fingerprints(workspace, group, &embedded.records);
            run.report.new += stored.len();
            comparison.current.extend(stored);
            embedder.keep(workspace, &embedded.records);
            storing.advance(group.len());
        }
        drop(storing);
        if let Some(failure) = failure {
            run.report.problems.extend(run.breaker.report(workspace, &failure));
            if run.is_other_model {
                run.report.problems.push(self.half_replaced());
            }
            embedder.refused().append(workspace, &refused);
        } else {
            embedder.refused().replace(workspace, &refused);
        }
    }

    /// Returns the warning that the server still has vectors of the previous model of that name.
    fn half_replaced(&self) -> Problem {
        let message = format!("`{}` gives other vectors than before, and not all are there", self.qdrant.model());
        let hint = "run `ralph-memory index --rebuild --remote` when the server works again";
        Problem::warning(self.qdrant.url(), "semantic-model", message, hint)
    }

    /// Records the server's current state: the entries that are up to date, and those that could not be updated, which
    /// are removed when their file is. It keeps the records that another process added meanwhile. Without this list the
    /// next call asks the server again.
    fn write_manifest(&self, run: &SyncRun<'_>, comparison: Comparison) {
        let Comparison { mut current, gone, on_server, .. } = comparison;
        let settled: BTreeSet<String> = current.iter().map(|(id, _)| id).chain(&gone).map(Id::to_string).collect();
        let outdated = run.before.keys().filter(|id| on_server.contains(id.as_str()));
        let mut left: BTreeMap<String, u64> = outdated.map(|id| (id.clone(), OUTDATED)).collect();
        let now = self.manifest.read(run.workspace);
        left.extend(now.into_iter().filter(|(id, file)| run.before.get(id) != Some(file)));
        left.retain(|id, _| !settled.contains(id));
        current.extend(left.into_iter().filter_map(|(id, file)| Some((Id::parse(&id)?, file))));
        self.manifest.replace(run.workspace, &current);
    }
}

/// Returns those of the files that have vectors among these: their ids, and their fingerprints.
fn fingerprints(workspace: &Workspace, paths: &[String], records: &[VectorRecord]) -> Vec<(Id, u64)> {
    let files: BTreeSet<u64> = records.iter().map(|record| record.file).collect();
    let of = |path: &String| Some((Id::of_path(path)?, xxh3_64(&workspace.store.read(path).ok()?.bytes)));
    paths.iter().filter_map(of).filter(|(_, file)| files.contains(file)).collect()
}

/// Returns the vectors as points of the entries that are not archived.
fn points(workspace: &Workspace, paths: &[String], records: &[VectorRecord]) -> Vec<Point> {
    let mut points = Vec::new();
    for path in paths.iter().filter(|path| !path.starts_with("archive/")) {
        let (Ok(file), Some(id)) = (workspace.store.read(path), Id::of_path(path)) else { continue };
        let hash = xxh3_64(&file.bytes);
        let feature = read(path, &file.bytes).head.feature;
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

/// Returns whether a server has exactly these chunks of an entry, in the collection where they are searched.
fn is_same(stored: &[StoredPoint], chunks: &[Chunk], feature: Option<&str>, model: &str) -> bool {
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
