//! The answers that several commands share.
//!
//! `docs/src/reference/json.md` explains them, and `docs/json-schema.json` is their schema.

use std::io;

use ralph_memory::entry::EntrySummary;
use ralph_memory::entry::timestamp;
use ralph_memory::memory::{Iteration, Written};
use ralph_memory::text::{for_terminal, printed_command, with_invisible_shown};
use ralph_memory::{Id, Memory};
use serde::Serialize;

use crate::ui::{ID, Ui, count};

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

/// Prints what became of an entry.
pub(crate) fn show_written(ui: &mut Ui<'_>, written: &Written) -> io::Result<()> {
    if ui.json {
        return ui.json(written, &written.problems);
    }
    let id = ui.styled(ID, written.id.as_str());
    let before = written.previous_id.as_ref().map(|before| format!(" (was {before})")).unwrap_or_default();
    ui.line(format_args!("{} {id}{before}", written.action.as_str()))?;
    for old in &written.suggested {
        let old = ui.styled(ID, old.as_str());
        ui.line(format_args!("suggested that {id} replaces {old}, which stays until a person confirms it"))?;
    }
    if !written.derived_tags.is_empty() {
        let tags = for_terminal(&written.derived_tags.join(", "));
        ui.note(&format!("tags, from its title and the nearest entries: {tags}"));
    }
    if written.links > 0 {
        let ids: Vec<&str> = written.linking.iter().map(Id::as_str).collect();
        ui.note(&format!("changed {} in {}", count(written.links, "link"), ids.join(", ")));
    }
    if let Some(first) = written.similar.first() {
        let similar: Vec<&str> = written.similar.iter().map(Id::as_str).collect();
        ui.note(&format!("similar: {}", similar.join(", ")));
        let ids = [("OLD", first.as_str()), ("NEW", written.id.as_str())];
        let supersede = printed_command("ralph-memory edit NEW --supersedes OLD", &ids);
        ui.note(&format!("hint: if it replaces one of them, {supersede}"));
    }
    ui.problems(&written.problems);
    Ok(())
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
