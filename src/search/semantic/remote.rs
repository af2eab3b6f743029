//! The points of a memory on a Qdrant server that a team shares: compared with the files, and updated.
//!
//! The files are the source. Of this project's points on the server, only those that were stored from here are removed:
//! others may have stored entries of another branch.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::FOLDER;
use super::breaker::CircuitBreaker;
use super::chunk::{Chunk, EntryChunks};
use super::embedder::{EmbeddedFiles, Embedder};
use super::failure::{EmbedStop, ServerFailure};
use super::http::{RequestError, Timeouts};
use super::qdrant::{Point, PointsFound, QdrantClient, StoredPoint};
use super::report::EmbedReport;
use super::sealed_list::SealedList;
use super::vectors::VectorRecord;
use super::word_vector::WordVector;
use crate::entry::Id;
use crate::error::Problem;
use crate::index::TOKENS_VERSION;
use crate::index::catalog::{Area, Catalog, RowId};
use crate::search::retrieve::superseded;
use crate::workspace::{Work, Workspace};

/// The fingerprint in the manifest of an entry whose points are of another text than that of its file.
const OUTDATED: u64 = 0;
/// The longest manifest that is read, in bytes: about a million entries.
const MAX_MANIFEST: u64 = 64 * 1024 * 1024;

/// Keeps the points on a Qdrant server in step with the files.
#[derive(Debug)]
pub(super) struct RemoteSync {
    pub(super) qdrant: QdrantClient,
    /// The entries that the server had when this project last stored there, with the fingerprints of their files. Of two
    /// lines of an entry the last counts. Points of these entries are removed from the server when no file has them any
    /// more, so only lines that were written here count.
    manifest: SealedList,
}

/// The content of a server, compared with the files.
struct Comparison {
    /// The entries whose points match the files, with the fingerprints of their files.
    current: Vec<(String, u64)>,
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
        let manifest = SealedList::new(format!("{FOLDER}/{:016x}.there", xxh3_64(name.as_bytes())), MAX_MANIFEST);
        RemoteSync { qdrant, manifest }
    }

    /// Returns the fingerprints of the files that were stored on the server, by the entries' ids.
    pub(super) fn manifest(&self, workspace: &Workspace) -> HashMap<String, u64> {
        self.manifest.read(workspace).into_iter().collect()
    }

    /// Sends requests to the server.
    pub(super) fn ask<T>(
        &self,
        workspace: &Workspace,
        requests: impl FnOnce(&QdrantClient) -> Result<T, RequestError>,
    ) -> Result<T, ServerFailure> {
        let _asking = workspace.doing(Work::AskingQdrant, None);
        requests(&self.qdrant).map_err(|error| self.qdrant.failure(error))
    }

    /// Stores the vectors of a few files during another call.
    pub(super) fn store_now(&self, workspace: &Workspace, embedded: &EmbeddedFiles) -> Result<(), ServerFailure> {
        self.ask(workspace, |qdrant| qdrant.put(&points(workspace, embedded, qdrant.shares_text()), Timeouts::Query))?;
        self.manifest.append(workspace, &fingerprints(embedded));
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
        let manifest = self.manifest(workspace);
        lost.retain(|id| manifest.get(id.as_str()).is_some_and(|file| *file != OUTDATED));
        let lost: Vec<(String, u64)> = lost.iter().map(|id| (id.to_string(), OUTDATED)).collect();
        self.manifest.append(workspace, &lost);
        !lost.is_empty()
    }

    /// Stores missing and different points, and removes those that were stored from here and are no longer in any file.
    /// With `rebuild`, first deletes this project's points, and embeds all of it again.
    pub(super) fn synchronize(
        &self,
        workspace: &Workspace,
        embedder: &Embedder,
        breaker: &CircuitBreaker,
        rebuild: bool,
        report: &mut EmbedReport,
    ) -> Result<(), EmbedStop> {
        let before = &self.manifest(workspace);
        report.entries = before.len();
        let probe = embedder.probe(workspace)?;
        breaker.reset(workspace);
        let is_other_model = embedder.forget_other_model(workspace, &probe, rebuild)?;
        let live = workspace.catalog(Area::Live);
        let rows: Vec<RowId> = live.rows().filter(|row| live.is_embedded(*row)).collect();
        let features: BTreeSet<Option<String>> = rows.iter().map(|row| live.head(*row).feature).collect();
        let features: Vec<Option<&str>> = features.iter().map(Option::as_deref).collect();
        if !self.prepare_collections(workspace, rebuild, probe.len(), &features, report)? {
            return Ok(());
        }
        if !self.qdrant.shares_text() {
            self.ask(workspace, QdrantClient::forget_texts)?;
        }
        let stored = self.ask(workspace, QdrantClient::stored)?;
        let mut comparison = self.compare(workspace, &live, &rows, before, stored, is_other_model);
        self.ask(workspace, |qdrant| qdrant.remove(&comparison.gone))?;
        report.removed = comparison.gone.len();
        report.entries = comparison.current.len();
        let (pending, current) = (&comparison.pending, &mut comparison.current);
        let store = &mut |embedded: &EmbeddedFiles| {
            self.ask(workspace, |qdrant| {
                qdrant.put(&points(workspace, embedded, qdrant.shares_text()), Timeouts::Batch)
            })?;
            current.extend(fingerprints(embedded));
            embedder.keep(workspace, &embedded.records);
            Ok(())
        };
        let result = embedder.embed_groups(workspace, Work::Storing, pending, probe.len(), report, store);
        if result.is_err() && is_other_model {
            report.problems.push(self.half_replaced());
        }
        self.write_manifest(workspace, before, comparison);
        result
    }

    /// Removes all points of this project.
    pub(super) fn remove_all(&self, workspace: &Workspace, report: &mut EmbedReport) -> Result<(), ServerFailure> {
        report.removed = self.ask(workspace, QdrantClient::remove_project)?;
        self.manifest.replace::<(String, u64)>(workspace, &[]);
        Ok(())
    }

    /// Creates the collections that are missing, and with `rebuild` all of them again; reports those that differ from
    /// the settings. Returns whether they are usable.
    fn prepare_collections(
        &self,
        workspace: &Workspace,
        rebuild: bool,
        dimensions: usize,
        features: &[Option<&str>],
        report: &mut EmbedReport,
    ) -> Result<bool, ServerFailure> {
        let prepare = if rebuild { QdrantClient::recreate } else { QdrantClient::prepare };
        let prepared = self.ask(workspace, |qdrant| prepare(qdrant, dimensions, features))?;
        if let Some((collection, others)) = prepared.shared {
            let hint = if self.qdrant.is_per_feature() {
                "give `qdrant.collection` a `name` of this project's own, and switch its `per_feature` off"
            } else {
                "give `qdrant.collection` a `name` of this project's own"
            };
            let message =
                format!("collection `{collection}` holds {others} vectors of other projects, and is not rebuilt");
            report.problems.push(Problem::warning(self.qdrant.url(), "semantic-shared", message, hint));
        }
        let hint = "run `ralph-memory index --rebuild --remote` to rebuild it from the settings";
        let differences = prepared.differences.into_iter();
        report.problems.extend(
            differences
                .map(|difference| Problem::warning(self.qdrant.url(), "semantic-configuration", difference, hint)),
        );
        Ok(!prepared.is_unusable)
    }

    /// Compares the points on the server with the files.
    fn compare(
        &self,
        workspace: &Workspace,
        live: &Catalog,
        rows: &[RowId],
        before: &HashMap<String, u64>,
        stored: Vec<StoredPoint>,
        is_other_model: bool,
    ) -> Comparison {
        let mut by_entry: BTreeMap<Id, Vec<StoredPoint>> = BTreeMap::new();
        for point in stored {
            by_entry.entry(point.entry.clone()).or_default().push(point);
        }
        let on_server = by_entry.keys().map(Id::to_string).collect();
        let (mut current, mut pending) = (Vec::new(), Vec::new());
        let (allowed, outdated) = (&workspace.settings.allowed_secrets, outdated(workspace, live));
        let mut reading = workspace.doing(Work::Reading, Some(rows.len()));
        for row in rows {
            reading.advance(1);
            let Some(file) = EntryChunks::read(workspace, &live.path(*row)) else { continue };
            let stored = by_entry.remove(&file.id).unwrap_or_default();
            let title = self.qdrant.shares_text().then(|| file.shown("", allowed)[0].clone());
            let is_outdated = outdated.contains(&file.id);
            if !is_other_model && is_same(&stored, &file, self.qdrant.model(), title.as_deref(), is_outdated) {
                current.push((file.id.to_string(), file.fingerprint));
            } else {
                pending.push(file.path);
            }
        }
        let gone = by_entry.into_keys().filter(|id| before.contains_key(id.as_str())).collect();
        Comparison { current, pending, gone, on_server }
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
    fn write_manifest(&self, workspace: &Workspace, before: &HashMap<String, u64>, comparison: Comparison) {
        let Comparison { mut current, gone, on_server, .. } = comparison;
        let gone = gone.iter().map(Id::to_string);
        let settled: BTreeSet<String> = current.iter().map(|(id, _)| id.clone()).chain(gone).collect();
        let outdated = before.keys().filter(|id| on_server.contains(id.as_str()));
        let mut left: BTreeMap<String, u64> = outdated.map(|id| (id.clone(), OUTDATED)).collect();
        left.extend(self.manifest(workspace).into_iter().filter(|(id, file)| before.get(id) != Some(file)));
        left.retain(|id, _| !settled.contains(id));
        current.extend(left);
        self.manifest.replace(workspace, &current);
    }
}

/// Returns the files that are not archived: the server has no others.
fn live(embedded: &EmbeddedFiles) -> impl Iterator<Item = &EntryChunks> {
    embedded.files.iter().filter(|file| !file.path.starts_with("archive/"))
}

fn outdated(workspace: &Workspace, live: &Catalog) -> HashSet<Id> {
    let now = workspace.now();
    let mut outdated = superseded(&[live], now);
    outdated.extend(live.rows().filter(|row| live.head(*row).is_expired(now)).filter_map(|row| live.id(row)));
    outdated
}

fn fingerprints(embedded: &EmbeddedFiles) -> Vec<(String, u64)> {
    live(embedded).map(|file| (file.id.to_string(), file.fingerprint)).collect()
}

/// Returns the vectors as points of the entries.
fn points(workspace: &Workspace, embedded: &EmbeddedFiles, shares_text: bool) -> Vec<Point> {
    let allowed = &workspace.settings.allowed_secrets;
    let outdated = outdated(workspace, &workspace.catalog(Area::Live));
    let of = |file: &EntryChunks| {
        let text = |number: u16| file.chunks.get(usize::from(number)).map_or("", |chunk| chunk.text.as_str());
        let records = embedded.records.iter().filter(|record| record.head.file == file.fingerprint);
        let point = |record: &VectorRecord| Point {
            entry: file.id.clone(),
            number: record.head.number.into(),
            of: record.head.of.into(),
            content: record.head.content,
            vector: record.vector(),
            words: WordVector::of_text(text(record.head.number)),
            shown: shares_text.then(|| file.shown(text(record.head.number), allowed)),
            is_outdated: outdated.contains(&file.id),
            feature: file.feature.clone(),
        };
        records.map(point).collect::<Vec<_>>()
    };
    live(embedded).flat_map(of).collect()
}

/// Returns whether a server has exactly these chunks of an entry, in the collection where they are searched.
fn is_same(stored: &[StoredPoint], file: &EntryChunks, model: &str, title: Option<&str>, is_outdated: bool) -> bool {
    let n_chunks = file.chunks.len();
    let has = |(number, chunk): (usize, &Chunk)| {
        stored.iter().any(|stored| {
            stored.number as usize == number
                && stored.of as usize == n_chunks
                && stored.content == chunk.content
                && stored.feature == file.feature
                && stored.model == model
                && stored.words == TOKENS_VERSION
                && stored.title.as_deref() == title
                && stored.is_outdated == is_outdated
                && stored.is_in_place
        })
    };
    stored.len() == n_chunks && file.chunks.iter().enumerate().all(has)
}
