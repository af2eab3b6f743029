//! What a query means: how alike the entries are, and what stands in the way of saying so.
//!
//! Nothing here ever fails a call. A server that is absent, slow or broken costs one warning, and words alone count.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use chrono::{DateTime, Duration, Utc};
use serde::{Deserialize, Serialize};

use super::Memory;
use super::embed::Failed;
use crate::catalog::{Catalog, RowId};
use crate::entry::{Id, Kind};
use crate::error::{Message, Problem, Severity};
use crate::index::Snapshot;
use crate::retrieve::{Meaning, Query, by_words, come};
use crate::secret::redact;
use crate::semantic::qdrant::Wanted;
use crate::semantic::vectors::{FOLDER, Looked, Prepared, Vectors};
use crate::semantic::{Ollama, Qdrant, Trouble};
use crate::workspace::View;
use crate::workspace::Work;

/// How long nobody is asked after one that did not answer in time: whoever waited once need not wait again.
const PAUSE: Duration = Duration::seconds(60);
/// A failure that took longer than this is waited for once, whatever it is.
const LONG: std::time::Duration = std::time::Duration::from_millis(500);
/// The longest file that says so, in bytes.
const MAX_PAUSE: u64 = 4_096;
/// How many entries a reading call embeds at most; more are for `index`.
const FEW: usize = 8;
/// How many more entries are asked of a server than are wanted: of some it does not know that they are not.
const SPARE: usize = 3;
/// Of how many entries of each kind that words found, the best, a server is asked how alike they are: of as many as a
/// context looks at.
const BY_WORDS: usize = crate::context::MAX_CANDIDATES;

/// The servers of the settings, and what is known of them.
#[derive(Default)]
pub(super) struct Servers {
    found: OnceLock<Found>,
    state: Mutex<State>,
}

struct Found {
    ollama: Option<Ollama>,
    qdrant: Option<Qdrant>,
}

#[derive(Default)]
struct State {
    /// What was warned of.
    told: BTreeSet<String>,
    pause: Option<Pause>,
}

/// Until when nobody is asked, and why.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pause {
    until: DateTime<Utc>,
    address: String,
    message: String,
}

/// What was found out of how alike entries are.
type Similar = Vec<(usize, RowId, f32)>;

/// How finding entries by their meaning does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeaningStatus {
    /// Whether it is asked for: an address is set, and its weight is not 0.
    pub wanted: bool,
    /// Whether it works.
    pub active: bool,
    /// What there is, or why not, in one line.
    pub detail: String,
    /// The command that mends it, or what to set; also where it works and should not work so.
    pub mend: Option<String>,
}

impl Memory {
    pub(super) fn ollama(&self) -> Option<&Ollama> {
        self.found().ollama.as_ref()
    }

    pub(super) fn qdrant(&self) -> Option<&Qdrant> {
        self.found().qdrant.as_ref()
    }

    fn found(&self) -> &Found {
        self.servers.found.get_or_init(|| {
            let ollama = Ollama::new(&self.settings.ollama);
            let model = ollama.as_ref().map(Ollama::model).unwrap_or_default();
            let mut settings = self.settings.qdrant.clone();
            if settings.project.is_empty() {
                // Without a name two projects would take each other's entries for their own.
                let folder = std::path::absolute(self.root()).unwrap_or_else(|_| self.root().to_owned());
                settings.project =
                    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            }
            Found { qdrant: Qdrant::new(&settings, model).filter(|_| ollama.is_some()), ollama }
        })
    }

    /// Returns how alike the entries of the views and a query are, where that can be said, and what stands in the way.
    pub(super) fn meaning(
        &self,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
    ) -> (Option<Meaning>, Vec<Problem>) {
        let weight = query.semantic_weight.unwrap_or(self.settings.semantic.weight);
        let Some(ollama) = self.ollama().filter(|_| weight > 0.0 && !query.text.trim().is_empty()) else {
            return (None, Vec::new());
        };
        if let Some(problem) = self.paused() {
            return (None, self.once(vec![problem]));
        }
        // A person may look for the place of a token that they hold.
        let text = redact(&query.text, &self.settings.allowed_secrets);
        let query = &Query { text, ..query.clone() };
        let begun = Instant::now();
        let result = match self.qdrant() {
            Some(qdrant) => self.similar_there(ollama, qdrant, views, snapshot, query),
            None => self.similar_here(ollama, views, query),
        };
        match result {
            Ok((similar, problems)) => {
                let limit = self.settings.semantic.limit;
                let min_score = self.least();
                (Some(Meaning { similar, weight, limit, min_score }), self.once(problems))
            }
            Err((failed, mut problems)) => {
                self.pause_after(&failed, begun.elapsed());
                problems.push(failed.problem());
                (None, self.once(problems))
            }
        }
    }

    /// Finds out by the vectors of the cache.
    fn similar_here(
        &self,
        ollama: &Ollama,
        views: &[View],
        query: &Query,
    ) -> Result<(Similar, Vec<Problem>), (Failed, Vec<Problem>)> {
        let vector = self.embed_query(ollama, &query.text).map_err(|failed| (failed, Vec::new()))?;
        let prepared = Prepared::new(&vector);
        let mut looked = Vectors::of(ollama.model()).look(&self.store, Some(&prepared));
        let catalogs: Vec<&Catalog> = views.iter().map(|view| &view.catalog).collect();
        let refused = self.refused(ollama);
        let mut pending = pending(&catalogs, &looked);
        pending.retain(|(number, row)| !refused.contains(&catalogs[*number].fingerprint(*row)));
        let dimensions = prepared.dimensions();
        let problems = self.few(ollama, dimensions, &catalogs, &pending, "index", &mut |records| {
            for record in records {
                let best = looked.best.entry(record.file).or_insert(f32::MIN);
                *best = best.max(record.similarity(&prepared));
            }
        })?;
        if is_half(&pending, &catalogs) {
            return Ok((Similar::new(), problems));
        }
        let mut similar = Similar::new();
        for (number, catalog) in catalogs.iter().enumerate() {
            let rows = catalog.rows().filter_map(|row| Some((row, *looked.best.get(&catalog.fingerprint(row))?)));
            similar.extend(rows.filter(|(_, best)| *best > 0.0).map(|(row, best)| (number, row, best)));
        }
        sort(&mut similar, &catalogs, self.now());
        Ok((similar, problems))
    }

    /// Finds out by the server that is shared. What it says of entries that are not here, or that say something else
    /// by now, does not count.
    fn similar_there(
        &self,
        ollama: &Ollama,
        qdrant: &Qdrant,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
    ) -> Result<(Similar, Vec<Problem>), (Failed, Vec<Problem>)> {
        let vector = self.embed_query(ollama, &query.text).map_err(|failed| (failed, Vec::new()))?;
        let catalogs: Vec<&Catalog> = views.iter().map(|view| &view.catalog).collect();
        let known = self.known_there(ollama, qdrant);
        let live = catalogs[0];
        let is_there = |row: RowId| {
            live.id(row).is_some_and(|id| known.get(id.as_str()).is_some_and(|file| *file == live.fingerprint(row)))
        };
        let refused = self.refused(ollama);
        let rows = live.rows().filter(|row| live.is_indexable(*row) && !is_there(*row));
        let rows = rows.filter(|row| !refused.contains(&live.fingerprint(*row)));
        let pending: Vec<(usize, RowId)> = rows.map(|row| (0, row)).collect();
        let problems = self.few(ollama, vector.len(), &catalogs, &pending, "index --remote", &mut |_| {})?;
        if is_half(&pending, &catalogs[..1]) {
            return Ok((Similar::new(), problems));
        }
        let limit = self.settings.semantic.limit * SPARE;
        let wanted = Wanted {
            vector: &vector,
            limit,
            min_score: self.least(),
            feature: query.in_feature.as_deref(),
            kind: query.kind,
            also: &self.found_by_words(&catalogs, snapshot, query),
        };
        let asking = self.doing(Work::AskingQdrant, None);
        let found = match qdrant.search_with(&wanted) {
            Ok(found) => found,
            Err(trouble) => return Err((Failed::of_shared(qdrant, trouble), problems)),
        };
        drop(asking);
        let mut similar = Similar::new();
        for found in found {
            let row = |(number, catalog): (usize, &&Catalog)| Some((number, catalog.row_of_id(&found.entry)?));
            let Some((number, row)) = catalogs.iter().enumerate().find_map(row) else { continue };
            let path = catalogs[number].path(row);
            let Ok(file) = self.store.read(&path) else { continue };
            let chunks = self.chunks(&path, &file.bytes);
            if chunks.get(found.number as usize).is_some_and(|chunk| chunk.content == found.content)
                && found.score > 0.0
            {
                similar.push((number, row, found.score));
            }
        }
        sort(&mut similar, &catalogs, self.now());
        Ok((similar, problems))
    }

    /// Returns the vector of a query.
    fn embed_query(&self, ollama: &Ollama, text: &str) -> Result<Vec<f32>, Failed> {
        let _asking = self.doing(Work::AskingOllama, None);
        ollama.embed_query(text).map_err(|trouble| Failed::of(ollama, trouble))
    }

    /// Returns the live entries that words find, with their features: those whose cosines are asked for by name.
    fn found_by_words(&self, catalogs: &[&Catalog], snapshot: &Snapshot, query: &Query) -> Vec<(Id, Option<String>)> {
        // A context shows both kinds, each beside its own best.
        let kinds = query.kind.map_or_else(|| vec![Kind::Knowledge, Kind::Journal], |kind| vec![kind]);
        let mut also = Vec::new();
        for kind in kinds {
            let query = Query { kind: Some(kind), ..self.weighed(query) };
            // What is wrong with the index the search itself says.
            let found = by_words(catalogs, snapshot, &query, BY_WORDS, self.now()).unwrap_or_default();
            // The server has no archived ones.
            let live = found.into_iter().filter(|(catalog, _)| *catalog == 0);
            also.extend(live.filter_map(|(_, row)| Some((catalogs[0].id(row)?, catalogs[0].head(row).feature))));
        }
        also
    }

    /// Embeds the entries that have no vector, if they are few, and says so if they are not.
    fn few(
        &self,
        ollama: &Ollama,
        dimensions: usize,
        catalogs: &[&Catalog],
        pending: &[(usize, RowId)],
        command: &str,
        give: &mut dyn FnMut(&[crate::semantic::vectors::Record]),
    ) -> Result<Vec<Problem>, (Failed, Vec<Problem>)> {
        if pending.len() > FEW {
            let n = pending.len();
            return Ok(vec![Problem {
                message: format!("{n} entries have no vector yet and are found by their words alone").into(),
                hint: format!("run `ralph-memory {command}`").into(),
                ..warning("semantic-pending", ollama.url())
            }]);
        }
        if pending.is_empty() {
            return Ok(Vec::new());
        }
        let paths: Vec<String> = pending.iter().map(|(number, row)| catalogs[*number].path(*row)).collect();
        match self.embed_paths(&paths, Some(dimensions)) {
            Ok(made) => {
                give(&made.records);
                Ok(made.problems)
            }
            // Who did not answer in time is not asked for more.
            Err(failed) if matches!(failed.trouble, Trouble::TimedOut(_)) => Err((failed, Vec::new())),
            Err(failed) => Ok(vec![Problem {
                message: format!("{}; what is new is found by its words alone", failed.trouble).into(),
                ..failed.problem()
            }]),
        }
    }

    /// Returns how alike in meaning what only meaning finds must be, from -1 to 1: what the settings say, else what
    /// suits the model.
    pub fn least_similarity(&self) -> f64 {
        let set = self.settings.semantic.min_score;
        if set < 0.0 { self.settings.ollama.min_score() } else { set }
    }

    /// The same, as vectors are compared.
    #[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more than 24 bits")]
    fn least(&self) -> f32 {
        self.least_similarity() as f32
    }

    /// Says once what went wrong, and asks nobody for a while where somebody waited for it.
    pub(super) fn failed(&self, failed: &Failed) -> Vec<Problem> {
        self.pause_after(failed, std::time::Duration::ZERO);
        self.once(vec![failed.problem()])
    }

    /// Asks nobody for a while where somebody waited for it.
    pub(super) fn pause_after(&self, failed: &Failed, took: std::time::Duration) {
        if matches!(failed.trouble, Trouble::TimedOut(_)) || took > LONG {
            let pause = Pause {
                until: self.now() + PAUSE,
                address: failed.address.clone(),
                message: failed.trouble.to_string(),
            };
            // The next process is to know it, too. A cache that cannot be written lets it find out itself.
            let text = serde_json::to_string(&pause).unwrap_or_default();
            if let Ok(anchor) = self.store.make_anchor() {
                let _ = self.store.write_cache(&pause_file(), anchor.sealed_line(&text).as_bytes());
            }
            self.state().pause = Some(pause);
        }
    }

    /// Returns why nobody is asked at present.
    pub(super) fn paused(&self) -> Option<Problem> {
        let kept = || {
            let mut text = String::new();
            let file = self.store.open_cache(&pause_file()).ok()?;
            file.take(MAX_PAUSE).read_to_string(&mut text).ok()?;
            serde_json::from_str::<Pause>(self.store.anchor()?.unsealed_line(text.trim_end())?).ok()
        };
        let left = |pause: &Pause| {
            let left = pause.until - self.now();
            // A clock that was put back would make it last.
            (left > Duration::zero() && left <= PAUSE && self.has_address(&pause.address)).then_some(left)
        };
        let holds = |pause: Pause| left(&pause).map(|left| (pause, left));
        // Another process may have waited since this one did.
        let own = self.state().pause.clone().and_then(holds);
        let (pause, left) = own.or_else(|| kept().and_then(holds))?;
        Some(Problem {
            message: format!("{}; it is not asked for {} s, and words alone count", pause.message, left.num_seconds())
                .into(),
            hint: "run `ralph-memory doctor`, which asks it again".into(),
            ..warning("semantic-paused", &pause.address)
        })
    }

    fn has_address(&self, address: &str) -> bool {
        self.ollama().is_some_and(|ollama| ollama.url() == address)
            || self.qdrant().is_some_and(|qdrant| qdrant.url() == address)
    }

    /// Forgets that a server did not answer.
    pub(super) fn end_pause(&self) {
        self.state().pause = None;
        let _ = self.store.remove_cache(&pause_file());
    }

    /// Returns those of the problems that were not told yet: another one of the same server has another mend.
    pub(super) fn once(&self, problems: Vec<Problem>) -> Vec<Problem> {
        let mut state = self.state();
        let key = |problem: &Problem| format!("{} {} {}", problem.code, problem.path, problem.hint);
        problems.into_iter().filter(|problem| state.told.insert(key(problem))).collect()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.servers.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the servers how they do, once for all calls that follow: what does not work is not warned of again.
    pub fn meaning_status(&self) -> MeaningStatus {
        let off = |detail: &str, mend: Option<&str>| MeaningStatus {
            wanted: false,
            active: false,
            detail: format!("RAG: off ({detail})"),
            mend: mend.map(str::to_owned),
        };
        let Some(ollama) = self.ollama() else {
            return if self.settings.qdrant.url.is_empty() {
                off("`ollama.url` is not set", None)
            } else {
                let mend = "set `ollama.url`, `http://localhost:11434` as it comes";
                MeaningStatus { wanted: true, ..off("`qdrant.url` is set and `ollama.url` is not", Some(mend)) }
            };
        };
        if self.settings.semantic.weight <= 0.0 {
            return off("`semantic.weight` is 0", None);
        }
        let asked = || -> Result<String, Failed> {
            let asking = self.doing(Work::AskingOllama, None);
            ollama.check().map_err(|trouble| Failed::within(ollama, trouble, "check_timeout_ms"))?;
            let dimensions = self.embed_query(ollama, "how does it do")?.len();
            drop(asking);
            let of_ollama = format!("ollama {} {dimensions}d", ollama.model());
            let Some(qdrant) = self.qdrant() else { return Ok(of_ollama) };
            let _asking = self.doing(Work::AskingQdrant, None);
            let shared = |trouble| Failed::of_shared(qdrant, trouble);
            let checked = qdrant.check().map_err(shared)?;
            if !checked.is_prepared {
                let message = "Collection not found".to_owned();
                return Err(shared(Trouble::Refused { status: 404, message }));
            }
            let least = self.least();
            let probe = vec![1.0; dimensions];
            qdrant.search(&probe, 1, least, None, None).map_err(shared)?;
            Ok(format!("qdrant ok, {of_ollama}"))
        };
        match asked() {
            Ok(detail) => {
                self.end_pause();
                let shows_key = self.qdrant().is_some_and(Qdrant::shows_key);
                let (more, mend) = if shows_key {
                    let mend = "give `qdrant.url` an `https://` address".to_owned();
                    ("; `qdrant.api_key` goes over the network where others can read it", Some(mend))
                } else {
                    ("", None)
                };
                MeaningStatus { wanted: true, active: true, detail: format!("RAG: active ({detail}){more}"), mend }
            }
            Err(failed) => {
                // Whoever is told here need not be warned by every call that follows.
                let _ = self.failed(&failed);
                let Problem { message, hint, .. } = failed.problem();
                let detail = format!("RAG: off ({}: {message})", failed.address);
                MeaningStatus { wanted: true, active: false, detail, mend: Some(hint.to_string()) }
            }
        }
    }
}

/// Sorts what was found, most alike first; of those that are equally alike the newer first, then by id, as hits are.
fn sort(similar: &mut Similar, catalogs: &[&Catalog], now: DateTime<Utc>) {
    let recency = |found: &(usize, RowId, f32)| come(catalogs[found.0].recency(found.1), now);
    let id = |found: &(usize, RowId, f32)| catalogs[found.0].id(found.1);
    similar.sort_by(|one, other| {
        other.2.total_cmp(&one.2).then_with(|| recency(other).cmp(&recency(one))).then_with(|| id(one).cmp(&id(other)))
    });
}

/// Returns whether so many entries have no vector that the others would get ahead of them for having one.
fn is_half(pending: &[(usize, RowId)], catalogs: &[&Catalog]) -> bool {
    let all: usize = catalogs.iter().map(|catalog| catalog.len()).sum();
    pending.len() > FEW && pending.len() * 10 > all
}

fn pause_file() -> String {
    format!("{FOLDER}/pause.json")
}

/// Returns the rows that should have a vector and have none.
fn pending(catalogs: &[&Catalog], looked: &Looked) -> Vec<(usize, RowId)> {
    let mut pending = Vec::new();
    for (number, catalog) in catalogs.iter().enumerate() {
        let rows = catalog.rows().filter(|row| catalog.is_indexable(*row));
        pending
            .extend(rows.filter(|row| !looked.best.contains_key(&catalog.fingerprint(*row))).map(|row| (number, row)));
    }
    pending
}

/// Returns a warning of a server, without words.
pub(super) fn warning(code: &str, address: &str) -> Problem {
    Problem {
        path: address.to_owned(),
        line: None,
        column: None,
        severity: Severity::Warning,
        code: code.to_owned(),
        message: Message::default(),
        hint: Message::default(),
    }
}
