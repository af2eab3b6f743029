//! `log --follow`: prints attempts as they reach the journal, and what runs are doing.
//!
//! The watcher reports files of the journal; what runs do is read from their files in `state/`, a few times a second.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use clap::builder::styling::Style;
use ralph_memory::agent_output::transcript::AgentSpending;
use ralph_memory::memory::{
    AttemptView, EntryFilter, LiveAction, LiveActionKind, LivePhase, LiveRun, LogFilter, WatchEvent, WatchMode,
};
use ralph_memory::{Id, Kind, Memory};
use serde::Serialize;

use super::show;
use crate::activity::{self, grouped};
use crate::error::NothingFound;
use crate::exit::Exit;
use crate::ui::{ERROR, ID, PLAIN, QUIET, TITLE, Ui, is_read, spent};

/// How often the files of runs are read.
const LOOK: Duration = Duration::from_millis(250);
/// After how many actions a person reads what the agent spent. With `--json` every change is printed.
const SPENDING_EVERY: u64 = 10;

/// What is printed with `--json`, one object a line.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum LogEvent<'a> {
    /// An attempt is in the journal.
    Attempt { attempt: &'a AttemptView },
    /// An attempt began.
    Started { live: &'a LiveRun },
    /// It does something else now.
    Phase { run_id: &'a str, iteration: Option<u32>, phase: LivePhase },
    /// Something happened in it: its action of this number. Numbers that are missing happened too fast to be kept.
    Action { run_id: &'a str, iteration: Option<u32>, number: u64, action: &'a LiveAction },
    /// Its agent spent more: what it spent so far.
    Spending {
        run_id: &'a str,
        iteration: Option<u32>,
        #[serde(flatten)]
        spending: AgentSpending,
    },
    /// The run has ended; with its last attempt open, if its process is lost.
    Ended { run_id: &'a str, lost: bool },
}

/// What was printed of an attempt.
#[derive(Clone, Copy)]
struct PrintedAttempt {
    phase: LivePhase,
    n_actions: u64,
    spending: AgentSpending,
    /// How many actions there were when that was printed.
    n_at_spending: u64,
}

/// Prints what happens.
struct Follower<'a, 'ui> {
    ui: &'a mut Ui<'ui>,
    memory: &'a Memory,
    filter: &'a LogFilter,
    is_full: bool,
    /// The attempts that are not new.
    known: HashSet<Id>,
    /// What was printed of the attempts that the last look found.
    printed: HashMap<(String, u32), PrintedAttempt>,
    /// The runs in progress that have a process, whatever the filter says of them, and whether something of them was printed.
    runs: HashMap<String, bool>,
}

/// Prints what happens until Ctrl-C or, if the filter names a run, until that has ended.
pub(super) fn follow(ui: &mut Ui<'_>, memory: Memory, filter: &LogFilter, is_full: bool) -> anyhow::Result<Exit> {
    activity::close();
    let interrupt = activity::interrupt()?;
    let memory = Arc::new(memory);
    let watcher = memory.watch(WatchMode::Native)?;
    let (known, printed, runs) = (HashSet::new(), HashMap::new(), HashMap::new());
    let mut follower = Follower { ui, memory: &memory, filter, is_full, known, printed, runs };
    let mut is_ready = false;
    while !interrupt.is_raised() {
        match watcher.events().recv_timeout(LOOK) {
            Ok(WatchEvent::Ready { .. }) => {
                follower.begin()?;
                is_ready = true;
            }
            Ok(WatchEvent::Changed(changes)) => {
                // The last actions come before their attempt.
                let is_over = is_ready && follower.look()?;
                follower.written(&changes.indexed)?;
                if is_over {
                    return Ok(Exit::Done);
                }
                follower.ui.problems(&changes.problems);
            }
            Ok(WatchEvent::Notice { message }) => follower.ui.warn(&message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the watcher ended unexpectedly"),
        }
        if is_ready && follower.look()? || !is_read() {
            return Ok(Exit::Done);
        }
        follower.ui.out.flush()?;
    }
    Ok(Exit::Interrupted)
}

impl Follower<'_, '_> {
    /// Prints the attempts so far, oldest first, since later ones follow below them.
    fn begin(&mut self) -> anyhow::Result<()> {
        let of_journal = EntryFilter { kind: Some(Kind::Journal), archived: true, ..EntryFilter::default() };
        self.known = self.memory.list(&of_journal).entries.into_iter().map(|entry| entry.id).collect();
        let log = self.memory.log(self.filter);
        if let Some(run) = self.filter.run_id.as_ref().filter(|run| self.memory.run(run).is_none()) {
            let hint = "`ralph-memory log` lists attempts with their runs".to_owned();
            return Err(NothingFound { message: format!("there is no run `{run}`"), hint }.into());
        }
        for attempt in log.attempts.iter().rev() {
            self.event(&LogEvent::Attempt { attempt })?;
        }
        self.ui.problems(&log.problems);
        // What ended before is not news.
        for run in self.memory.recent_runs().iter().filter(|run| run.phase == LivePhase::Ended) {
            self.note(
                run,
                PrintedAttempt { phase: run.phase, n_actions: run.n_actions, spending: run.spending, n_at_spending: 0 },
            );
        }
        Ok(())
    }

    /// Prints what runs do, and returns whether the one that is followed has ended.
    fn look(&mut self) -> anyhow::Result<bool> {
        let runs = self.memory.recent_runs();
        let mut lost = HashSet::new();
        for run in runs.iter().filter(|run| run.phase != LivePhase::Between && self.filter.accepts_live(run)) {
            self.run(run)?;
            if run.phase == LivePhase::Lost {
                lost.insert(run.run_id.as_str());
            }
        }
        let found: HashSet<_> = runs.iter().filter_map(printed_key).collect();
        self.printed.retain(|key, _| found.contains(key));
        let goes_on = |run: &&LiveRun| !matches!(run.phase, LivePhase::Ended | LivePhase::Lost);
        // A loop of one's own has no process, so nobody knows when its run ends.
        let has_process = |run: &&LiveRun| goes_on(run) && run.phase != LivePhase::Open;
        let now: HashSet<&str> = runs.iter().filter(has_process).map(|run| run.run_id.as_str()).collect();
        let mut ended: Vec<String> = self.runs.keys().filter(|run| !now.contains(run.as_str())).cloned().collect();
        ended.sort();
        for run_id in ended {
            let was_printed = self.runs.remove(&run_id).unwrap_or_default();
            let is_followed = self.filter.run_id.as_ref() == Some(&run_id);
            if was_printed || is_followed {
                self.recorded(&run_id, None)?;
                self.event(&LogEvent::Ended { run_id: &run_id, lost: lost.contains(run_id.as_str()) })?;
            }
        }
        for run_id in now {
            self.runs.entry(run_id.to_owned()).or_default();
        }
        let Some(run_id) = &self.filter.run_id else { return Ok(false) };
        let is_over = !runs.iter().filter(goes_on).any(|run| run.run_id == *run_id);
        if is_over {
            self.recorded(run_id, None)?;
        }
        Ok(is_over)
    }

    /// Prints what is new of an attempt.
    fn run(&mut self, run: &LiveRun) -> anyhow::Result<()> {
        let before = printed_key(run).and_then(|key| self.printed.get(&key).copied());
        // One that is lost was printed while it went on, or is of another day.
        let is_news = before.is_none() && run.phase != LivePhase::Lost;
        if is_news {
            // Its own attempt comes after its actions.
            self.recorded(&run.run_id, run.iteration)?;
            self.event(&LogEvent::Started { live: run })?;
        }
        if before.is_none() && !is_news {
            return Ok(());
        }
        let (run_id, iteration, phase) = (run.run_id.as_str(), run.iteration, run.phase);
        let n_printed = before.map_or(0, |printed| printed.n_actions);
        let n_new = usize::try_from(run.n_actions.saturating_sub(n_printed)).unwrap_or(usize::MAX);
        let actions = &run.actions[run.actions.len().saturating_sub(n_new)..];
        if n_new > actions.len() && !self.ui.json {
            let more = format!("… {} more", grouped(n_new - actions.len()));
            self.happened(run_id, iteration, QUIET, &more)?;
        }
        for (at, action) in actions.iter().enumerate() {
            let number = run.n_actions - (actions.len() - at - 1) as u64;
            self.event(&LogEvent::Action { run_id, iteration, number, action })?;
        }
        let is_other_phase = before.is_some_and(|printed| printed.phase != phase);
        // The attempt says more.
        if is_other_phase && phase != LivePhase::Ended {
            self.event(&LogEvent::Phase { run_id, iteration, phase })?;
        }
        let (n_actions, spending) = (run.n_actions, run.spending);
        let before = before.map(|printed| (printed.spending, printed.n_at_spending)).unwrap_or_default();
        let is_due = self.ui.json || is_other_phase || n_actions.saturating_sub(before.1) >= SPENDING_EVERY;
        let is_new = is_due && spending.is_known() && spending != before.0;
        if is_new {
            self.event(&LogEvent::Spending { run_id, iteration, spending })?;
        }
        let (spending, n_at_spending) = if is_new { (spending, n_actions) } else { before };
        self.note(run, PrintedAttempt { phase, n_actions, spending, n_at_spending });
        if is_news || !actions.is_empty() || is_new {
            self.runs.insert(run.run_id.clone(), true);
        }
        Ok(())
    }

    fn note(&mut self, run: &LiveRun, printed: PrintedAttempt) {
        if let Some(key) = printed_key(run) {
            self.printed.insert(key, printed);
        }
    }

    /// Prints the attempts of these files that are new.
    fn written(&mut self, paths: &[String]) -> anyhow::Result<()> {
        let ids = paths.iter().filter_map(|path| Id::parse(path)).filter(|id| id.kind() == Kind::Journal);
        let ids: Vec<Id> = ids.filter(|id| !self.known.contains(id)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        self.print_new(&LogFilter { ids, limit: None, since: None, ..self.filter.clone() }, None)
    }

    /// Prints the attempts of a run that are new, up to this one.
    fn recorded(&mut self, run_id: &str, before: Option<u32>) -> anyhow::Result<()> {
        let filter = LogFilter { run_id: Some(run_id.to_owned()), limit: Some(50), ..self.filter.clone() };
        self.print_new(&filter, before)
    }

    fn print_new(&mut self, filter: &LogFilter, before: Option<u32>) -> anyhow::Result<()> {
        for attempt in self.memory.log(filter).attempts.iter().rev() {
            let is_wanted = before.is_none_or(|before| attempt.attempt.head.iteration < before);
            if is_wanted && self.known.insert(attempt.id.clone()) {
                self.event(&LogEvent::Attempt { attempt })?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &LogEvent<'_>) -> anyhow::Result<()> {
        if self.ui.json {
            self.ui.json(event, &[])?;
            return Ok(());
        }
        let (run_id, iteration, style, text) = match *event {
            LogEvent::Attempt { attempt } => return show(self.ui, attempt, self.is_full),
            LogEvent::Started { live } => {
                let model = self.ui.styled(QUIET, live.model.as_deref().unwrap_or_default());
                let title = self.ui.styled(TITLE, &live.task_title);
                let place = self.ui.styled(ID, &place(&live.run_id, live.iteration));
                self.ui.line(format!("{place}  {title}  {model}").trim_end())?;
                return Ok(());
            }
            // The attempt or the next one says more.
            LogEvent::Phase { phase: LivePhase::Between | LivePhase::Open | LivePhase::Lost, .. } => return Ok(()),
            LogEvent::Phase { run_id, iteration, phase } => (run_id, iteration, PLAIN, phase.as_str().to_owned()),
            LogEvent::Action { run_id, iteration, action, .. } => {
                let (style, text) = match action.kind {
                    LiveActionKind::Tool => (QUIET, format!("→ {}", action.text)),
                    LiveActionKind::Failure => (ERROR, format!("failed: {}", action.text)),
                    _ => (PLAIN, action.text.clone()),
                };
                (run_id, iteration, style, text)
            }
            LogEvent::Spending { run_id, iteration, spending } => {
                (run_id, iteration, QUIET, format!("{} so far", spent(spending)))
            }
            LogEvent::Ended { run_id, lost } => {
                let how = if lost { "lost: its process ended before the attempt was recorded" } else { "ended" };
                (run_id, None, PLAIN, how.to_owned())
            }
        };
        self.happened(run_id, iteration, style, &text)
    }

    /// Prints what happened in an attempt, in a line.
    fn happened(&mut self, run_id: &str, iteration: Option<u32>, style: Style, text: &str) -> anyhow::Result<()> {
        let place = self.ui.styled(ID, &place(run_id, iteration));
        let text = self.ui.styled(style, text);
        self.ui.line(format_args!("{place}  {text}"))?;
        Ok(())
    }
}

/// Returns what identifies an attempt.
fn printed_key(run: &LiveRun) -> Option<(String, u32)> {
    Some((run.run_id.clone(), run.iteration?))
}

fn place(run_id: &str, iteration: Option<u32>) -> String {
    iteration.map_or_else(|| run_id.to_owned(), |iteration| format!("{run_id}/{iteration}"))
}
