//! `ralph-memory` without a command: how things stand, and what to do next.

use std::path::Path;

use ralph_memory::entry::timestamp;
use ralph_memory::memory::{EntryCounts, LivePhase, MemoryStatus, OpenAttempt, StuckTask};
use ralph_memory::setup::{SetupClient, SetupScope};
use ralph_memory::text::printed_command;
use ralph_memory::{Error, Memory};
use serde_json::{Value, json};

use crate::answers::LOST;
use crate::commands::setup;
use crate::error::check_whole;
use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{ERROR, GOOD, PLAIN, TITLE, Ui, count};

/// How many stuck tasks a person sees.
const MAX_STUCK: usize = 3;

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals) -> anyhow::Result<Exit> {
    match globals.open() {
        Ok(memory) => show(ui, &memory.for_one_answer())?,
        Err(error) => match error.downcast_ref() {
            Some(Error::NoMemory { start, .. }) => show_nothing(ui, start)?,
            _ => return Err(error),
        },
    }
    Ok(Exit::Done)
}

/// Says what a memory is, where there is none.
fn show_nothing(ui: &mut Ui<'_>, start: &Path) -> anyhow::Result<()> {
    let next = "ralph-memory init";
    if ui.json {
        let counts = EntryCounts::default();
        let nothing: [(); 0] = [];
        let answer = json!({
            "root": Value::Null, "counts": counts, "categories": {}, "open": nothing, "stuck": nothing,
            "not_connected": nothing, "next": format!("`{next}` creates a memory"),
        });
        return Ok(ui.json(answer, &[])?);
    }
    let folder = ui.styled(TITLE, &start.display().to_string());
    ui.line(format_args!("{folder}: no memory here"))?;
    ui.line(
        "A memory tells coding agents what was tried, what failed and what was learned. It is markdown in `.ralph/`.",
    )?;
    let next = ui.styled(GOOD, next);
    Ok(ui.line(format_args!("next: `{next}` creates one"))?)
}

fn show(ui: &mut Ui<'_>, memory: &Memory) -> anyhow::Result<()> {
    let status = memory.status();
    check_whole(&status.problems)?;
    let (open, stuck) = (memory.open_attempts(), memory.overview(0).stuck);
    let unconnected = unconnected(memory)?;
    let next = ui.hinted(&next(&status.counts, &stuck, &unconnected));
    if ui.json {
        let MemoryStatus { root, counts, categories, problems } = &status;
        let answer = json!({
            "root": root, "counts": counts, "categories": categories, "open": memory.live_runs(), "stuck": stuck,
            "not_connected": unconnected, "next": next,
        });
        return Ok(ui.json(answer, problems)?);
    }
    let root = ui.styled(TITLE, &status.root);
    ui.line(root)?;
    for (name, value) in fields(&status).iter().filter(|(_, value)| !value.is_empty()) {
        ui.field(name, PLAIN, value)?;
    }
    for iteration in &open {
        let OpenAttempt { run_id, number, task, started_at, .. } = iteration;
        let begun = timestamp(*started_at);
        let live = memory.run(run_id).map(|run| run.live).unwrap_or_default();
        let is_lost = live.iter().any(|run| run.phase == LivePhase::Lost);
        let lost = if is_lost { LOST } else { "" };
        ui.field("open", PLAIN, &format!("{run_id}/{number}  {} (begun {begun}{lost})", task.title))?;
    }
    for StuckTask { id, title, streak, reason, .. } in stuck.iter().take(MAX_STUCK) {
        let name = if title.is_empty() { id } else { title };
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        ui.field("stuck", ERROR, &format!("{name} failed {}{why}", count(*streak as usize, "time")))?;
    }
    if stuck.len() > MAX_STUCK {
        ui.field("stuck", PLAIN, &format!("{} more", stuck.len() - MAX_STUCK))?;
    }
    if !unconnected.is_empty() {
        ui.field("not set up", PLAIN, &setup::titles(&unconnected))?;
    }
    let next = ui.styled(PLAIN, &next);
    Ok(ui.line(format_args!("next: {next}"))?)
}

/// Returns the counts for a person; what is 0 is left out, except for knowledge and attempts.
fn fields(status: &MemoryStatus) -> [(&'static str, String); 9] {
    let MemoryStatus { counts, categories, .. } = status;
    let categories = categories.iter().map(|(category, count)| {
        let category = if category.is_empty() { "plain" } else { category };
        format!("{count} {category}")
    });
    let categories = categories.collect::<Vec<_>>().join(", ");
    let unless_none = |count: usize, text: String| if count == 0 { String::new() } else { text };
    let number = |count: usize| unless_none(count, count.to_string());
    let knowledge = match counts.knowledge {
        0 => "0".to_owned(),
        count => format!("{count} ({categories})"),
    };
    let unreviewed = format!("{}; `ralph-memory list --unreviewed` shows what agents wrote", counts.unreviewed);
    let unreviewed = unless_none(counts.unreviewed, unreviewed);
    let pending = format!("{}, but searches find them", counts.not_indexed);
    let problems =
        format!("{}, {}; run `ralph-memory check`", count(counts.errors, "error"), count(counts.warnings, "warning"));
    [
        ("knowledge", knowledge),
        ("unreviewed", unreviewed),
        ("attempts", counts.journal.to_string()),
        ("archive", number(counts.archive)),
        ("tags", number(counts.tags)),
        ("expired", number(counts.expired)),
        ("superseded", number(counts.superseded)),
        ("not indexed", unless_none(counts.not_indexed, pending)),
        ("problems", unless_none(counts.errors + counts.warnings, problems)),
    ]
}

/// Returns the clients that are here and were never connected, if none is.
fn unconnected(memory: &Memory) -> anyhow::Result<Vec<SetupClient>> {
    let setup = setup::in_project(memory.root().to_owned())?;
    if crate::own::is_at(memory.root()) || SetupScope::ALL.iter().any(|scope| !setup.set_up(*scope).is_empty()) {
        return Ok(Vec::new());
    }
    Ok(setup.found(SetupScope::Project))
}

/// Returns what a person does next, the most pressing first.
fn next(counts: &EntryCounts, stuck: &[StuckTask], unconnected: &[SetupClient]) -> String {
    if counts.errors > 0 {
        return "`ralph-memory check` shows what is wrong, and how to fix it".to_owned();
    }
    if let Some(task) = stuck.first() {
        let show = printed_command("ralph-memory show TASK", &[("TASK", &format!("task:{}", task.id))]);
        return format!("{show} shows what was tried");
    }
    if !unconnected.is_empty() {
        return format!("`ralph-memory setup` connects {}", setup::titles(unconnected));
    }
    if counts.knowledge + counts.journal == 0 {
        return "`ralph-memory add` writes the first entry, and `ralph-memory import` takes over what you have"
            .to_owned();
    }
    "`ralph-memory search WORDS` finds what is known; `ralph-memory help` lists all commands".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_step_is_the_most_pressing() {
        let empty = EntryCounts::default();
        let broken = EntryCounts { errors: 1, knowledge: 1, ..EntryCounts::default() };
        let used = EntryCounts { knowledge: 1, ..EntryCounts::default() };
        let stuck = [StuckTask {
            id: "t-1".to_owned(),
            title: "Fix it".to_owned(),
            feature: None,
            streak: 3,
            reason: String::new(),
            next_model: None,
        }];
        let clients = [SetupClient::Claude, SetupClient::Codex];
        assert!(next(&broken, &stuck, &clients).starts_with("`ralph-memory check`"));
        assert_eq!(next(&used, &stuck, &clients), "`ralph-memory show task:t-1` shows what was tried");
        assert_eq!(next(&empty, &[], &clients), "`ralph-memory setup` connects Claude Code, Codex");
        assert!(next(&empty, &[], &[]).starts_with("`ralph-memory add`"));
        assert!(next(&used, &[], &[]).starts_with("`ralph-memory search WORDS`"));
    }
}
