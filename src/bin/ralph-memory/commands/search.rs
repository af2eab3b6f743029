//! `search`: finds entries.

use std::collections::HashMap;

use ralph_memory::memory::{EntryView, ProjectHit};
use ralph_memory::text::shorten;
use ralph_memory::{Hit, Id, Kind, Query, Scope};
use serde_json::json;

use crate::answers::{marks, with_excerpts};
use crate::error::UsageError;
use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{ID, PLAIN, QUIET, TITLE, Ui, used};
use crate::{parse, project_paths};

/// How many hits are shown with a line of their text.
const MAX_EXCERPTS: usize = 10;
/// The length of such a line, in characters: with its indentation it fits on a terminal of 80 columns.
const EXCERPT_WIDTH: usize = 76;

/// Find the entries that match best; exit code 1 if there are none
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory search \"why does the bench fail\"
  ralph-memory search sqlite locking --tag testing --explain
  ralph-memory search -- --nocapture
  ralph-memory search \"token refresh\" --everywhere --project web")]
pub(crate) struct SearchArgs {
    /// Words to search for; operators are ignored
    #[arg(required = true)]
    query: Vec<String>,
    /// Return at most this many entries [default: 10, or the setting `search.limit`]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::positive::<usize>)]
    limit: Option<usize>,
    /// Only entries with this tag; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only `knowledge` or `journal`
    #[arg(long)]
    kind: Option<Kind>,
    /// Only entries of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Only entries with this scope
    #[arg(long, value_parser = parse::scope)]
    scope: Option<Scope>,
    /// Include archived, expired and superseded entries
    #[arg(long)]
    archived: bool,
    /// The feature that you work on: entries tagged with words of its name score higher
    #[arg(long, value_name = "NAME")]
    for_feature: Option<String>,
    /// A file that you work on, relative to the working folder: entries tagged with a part of its path score higher;
    /// may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// Also search the other projects on the Qdrant server of `qdrant.url`
    #[arg(long)]
    everywhere: bool,
    /// Of the other projects only this one; may be repeated
    #[arg(long = "project", value_name = "NAME", requires = "everywhere")]
    projects: Vec<String>,
    /// Show the parts of each score
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: SearchArgs) -> anyhow::Result<Exit> {
    let text = args.query.join(" ");
    if text.trim().is_empty() {
        let hint = "give the words to look for: `ralph-memory search \"nightly toolchain\"`".to_owned();
        return Err(UsageError { message: "the query is empty".to_owned(), hint }.into());
    }
    let memory = globals.open()?.for_one_answer();
    let query = Query {
        text,
        feature: args.for_feature,
        files: project_paths::of_project(&memory, &args.files)?,
        kind: args.kind,
        tags: args.tags,
        in_feature: args.feature,
        scope: args.scope,
        archived: args.archived,
        ..Query::default()
    };
    let limit = args.limit.unwrap_or(memory.settings().search_limit);
    let (found, elsewhere) = if args.everywhere {
        let (found, hits) = memory.search_everywhere(&query, limit, &args.projects)?;
        (found, Some(hits))
    } else {
        (memory.search(&query, limit)?, None)
    };
    let mut usage = if args.explain { memory.usage() } else { HashMap::new() };
    let view = |hit: Hit| {
        let usage = usage.remove(&hit.entry.id);
        let explanation = if args.explain { hit.explanation.clone() } else { Vec::new() };
        EntryView { usage, explanation, ..EntryView::from(hit) }
    };
    let mut entries: Vec<EntryView> = found.hits.into_iter().map(view).collect();
    let is_empty = entries.is_empty() && elsewhere.iter().flatten().all(Vec::is_empty);
    if ui.json {
        let entries = with_excerpts(&memory, entries, &query.text);
        let mut answer = json!({ "entries": entries });
        if let Some(hits) = elsewhere {
            answer["elsewhere"] = json!(hits);
        }
        ui.json(answer, &found.problems)?;
    } else {
        // Many hits are read by a program, or for their titles.
        let summaries = entries.iter().take(MAX_EXCERPTS).map(|entry| &entry.summary);
        let excerpts = memory.excerpts(summaries, &query.text, EXCERPT_WIDTH);
        entries.iter_mut().zip(excerpts).for_each(|(entry, excerpt)| entry.excerpt = Some(excerpt));
        for (index, entry) in entries.iter().enumerate() {
            show(ui, index + 1, entry)?;
        }
        if is_empty {
            ui.note("nothing found");
        }
        if let Some(hits) = elsewhere {
            show_elsewhere(ui, hits.as_deref())?;
        }
        ui.problems(&found.problems);
    }
    Ok(if is_empty { Exit::No } else { Exit::Done })
}

/// Prints the entries of other projects, apart from those that are known here.
fn show_elsewhere(ui: &mut Ui<'_>, hits: Option<&[ProjectHit]>) -> anyhow::Result<()> {
    let Some(hits) = hits else {
        ui.note("other projects were not searched");
        return Ok(());
    };
    if hits.is_empty() {
        ui.note("nothing found in other projects");
        return Ok(());
    }
    ui.line(format_args!("In other projects, as they describe themselves:"))?;
    for (index, hit) in hits.iter().enumerate() {
        let id = format!("{}  in {}", hit.id, hit.project);
        let id = ui.styled(ID, &id);
        let Some(title) = hit.title.as_ref().filter(|title| !title.is_empty()) else {
            ui.line(format_args!("{}. {id}", index + 1))?;
            continue;
        };
        let title = ui.styled(TITLE, title);
        ui.line(format_args!("{}. {title}", index + 1))?;
        ui.line(format_args!("   {id}"))?;
        if let Some(excerpt) = hit.excerpt.as_ref().filter(|excerpt| !excerpt.is_empty()) {
            let excerpt = shorten(excerpt, EXCERPT_WIDTH);
            let excerpt = ui.styled(PLAIN, &excerpt);
            ui.line(format_args!("   {excerpt}"))?;
        }
    }
    Ok(())
}

fn show(ui: &mut Ui<'_>, rank: usize, view: &EntryView) -> anyhow::Result<()> {
    let entry = &view.summary;
    let title = if entry.title.is_empty() { "(no title)" } else { &entry.title };
    let title = ui.styled(TITLE, title);
    let id = ui.styled(ID, entry.id.as_str());
    let tags = if entry.tags.is_empty() { String::new() } else { format!("  [{}]", entry.tags.join(", ")) };
    let tags = ui.styled(QUIET, &tags);
    ui.line(format_args!("{rank}. {title}  {:.2}", view.score.unwrap_or_default()))?;
    ui.line(format_args!("   {id}{tags}{}", marks(entry)))?;
    if !view.contradicts.is_empty() {
        let others: Vec<&str> = view.contradicts.iter().map(Id::as_str).collect();
        ui.line(format_args!("   contradicts {}", others.join(", ")))?;
    }
    if let Some(excerpt) = view.excerpt.as_ref().filter(|excerpt| !excerpt.is_empty()) {
        let excerpt = ui.styled(PLAIN, excerpt);
        ui.line(format_args!("   {excerpt}"))?;
    }
    for part in &view.explanation {
        ui.line(format_args!("   {:>8.3} {}", part.value, part.part))?;
    }
    if let Some(usage) = &view.usage {
        ui.line(format_args!("   {}", used(usage)))?;
    }
    Ok(())
}
