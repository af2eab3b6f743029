//! The shapes of `--json` answers that several commands share.
//!
//! `docs/src/reference/json.md` explains them, and `docs/json-schema.json` is their schema.

use ralph_memory::entry::timestamp;
use ralph_memory::entry::{EntryPath, EntrySummary};
use ralph_memory::memory::{AddAction, Added, Iteration};
use ralph_memory::text::with_invisible_shown;
use ralph_memory::{Id, Memory};
use serde::Serialize;

/// The longest line that an entry is listed with, in characters.
const EXCERPT: usize = 200;

/// An entry in a list.
#[derive(Serialize)]
pub(crate) struct ListedEntry {
    #[serde(flatten)]
    pub(crate) entry: EntrySummary,
    /// The line of its text that matches the query best, else its first line.
    pub(crate) excerpt: String,
}

/// Returns the entries as a list shows them. `query` has the words of a search, if there was one.
pub(crate) fn listed<'a>(
    memory: &Memory,
    entries: impl Iterator<Item = &'a EntrySummary> + Clone,
    query: &str,
) -> Vec<ListedEntry> {
    let excerpts = memory.excerpts(entries.clone(), query, EXCERPT);
    entries.zip(excerpts).map(|(entry, excerpt)| ListedEntry { entry: entry.clone(), excerpt }).collect()
}

/// Returns the same for an agent, with invisible characters made visible. Programs get texts unchanged.
pub(crate) fn listed_for_agent(memory: &Memory, entries: &[EntrySummary], query: &str) -> Vec<ListedEntry> {
    let mut listed = listed(memory, entries.iter(), query);
    for ListedEntry { entry, excerpt } in &mut listed {
        let texts = [&mut entry.title, excerpt].into_iter().chain(&mut entry.tags);
        for text in texts.chain(&mut entry.category).chain(&mut entry.feature) {
            *text = with_invisible_shown(text);
        }
    }
    listed
}

/// The result of writing an entry.
#[derive(Serialize)]
pub(crate) struct EntryChange<'a> {
    pub(crate) action: AddAction,
    pub(crate) id: &'a Id,
    pub(crate) title: &'a str,
    pub(crate) path: &'a EntryPath,
    /// Where its previous version is.
    pub(crate) previous: Option<&'a EntryPath>,
    /// The lines of it that are gone.
    pub(crate) removed: &'a [String],
    pub(crate) similar: &'a [Id],
}

impl EntryChange<'_> {
    pub(crate) fn of(added: &Added) -> EntryChange<'_> {
        EntryChange {
            action: added.action,
            id: &added.id,
            title: &added.title,
            path: &added.path,
            previous: added.archived.as_ref(),
            removed: &added.removed,
            similar: &added.similar,
        }
    }
}

/// An iteration that has begun.
#[derive(Serialize)]
pub(crate) struct Begun<'a> {
    /// The id that its entry in the journal gets.
    pub(crate) id: String,
    pub(crate) run_id: &'a str,
    pub(crate) iteration: u32,
    pub(crate) task_id: String,
    pub(crate) task_title: &'a str,
    pub(crate) feature: Option<&'a str>,
    pub(crate) section: Option<&'a str>,
    pub(crate) files: &'a [String],
    pub(crate) attempt: usize,
    pub(crate) model: &'a str,
    pub(crate) rationale: &'a str,
    pub(crate) started_at: String,
    /// The git tree of the work tree at that time.
    pub(crate) tree: Option<&'a str>,
}

impl Begun<'_> {
    pub(crate) fn of(iteration: &Iteration) -> Begun<'_> {
        Begun {
            id: iteration.id(),
            run_id: &iteration.run_id,
            iteration: iteration.number,
            task_id: iteration.task_id(),
            task_title: &iteration.task.title,
            feature: iteration.task.feature.as_deref(),
            section: iteration.task.section.as_deref(),
            files: &iteration.task.files,
            attempt: iteration.attempt,
            model: &iteration.model,
            rationale: &iteration.rationale,
            started_at: timestamp(iteration.started_at),
            tree: iteration.tree.as_deref(),
        }
    }
}
