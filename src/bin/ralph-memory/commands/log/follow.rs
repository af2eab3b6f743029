//! `log --follow`: prints attempts as they reach the journal, and what runs do meanwhile.
//!
//! The watcher reports files of the journal; what runs do is read from their files in `state/`, a few times a second.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use ralph_memory::memory::{
    EntryFilter, IterationView, LiveAction, LiveActionKind, LivePhase, LiveRun, LogFilter, LoggedAttempt, WatchEvent,
    WatchMode,
};
use ralph_memory::transcript::AgentSpending;
use ralph_memory::{Id, Kind, Memory};
use serde::Serialize;

use super::show;
use crate::activity;
use crate::error::NothingFound;
use crate::exit::Exit;
use crate::ui::{ERROR, ID, PLAIN, QUIET, TITLE, Ui, spent};

/// How often the files of runs are read.
const LOOK: Duration = Duration::from_millis(250);
/// After how many actions a person reads what the agent spent. With `--json` every change is printed.
const SPENDING_EVERY: u64 = 10;

/// What is printed with `--json`, one object a line.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum LogEvent<'a> {
    /// An attempt is in the journal.
    Attempt { attempt: &'a LoggedAttempt },
    /// The same, with `--full`.
    #[serde(rename = "attempt")]
    FullAttempt { attempt: &'a IterationView },
    /// An iteration began.
    Started { live: &'a LiveRun },
    /// It does something else now.
    Phase { run_id: &'a str, iteration: Option<u32>, phase: LivePhase },
    /// Something happened in it.
    Action { run_id: &'a str, iteration: Option<u32>, action: &'a LiveAction },
    /// Its agent spent more: what it spent so far.
    Spending {
        run_id: &'a str,
        iteration: Option<u32>,
        #[serde(flatten)]
        spending: AgentSpending,
    },
    /// The run has ended.
    Ended { run_id: &'a str },
}

/// What was printed of a run in progress.
#[derive(Clone, Copy)]
struct PrintedRun {
    iteration: Option<u32>,
    phase: LivePhase,
    n_actions: u64,
    spending: AgentSpending,
    /// How many actions there were when that was printed.
    n_at_spending: u64,
}

/// A run, or an open iteration of a run that has no process.
type LiveKey = (String, Option<u32>);

/// Prints what happens.
struct Follower<'a, 'ui> {
    ui: &'a mut Ui<'ui>,
    memory: &'a Memory,
    filter: &'a LogFilter,
    is_full: bool,
    /// The attempts that are not new.
    known: HashSet<Id>,
    live: HashMap<LiveKey, PrintedRun>,
}

/// Prints what happens until Ctrl-C or, if the filter names a run, until that has ended.
pub(super) fn follow(ui: &mut Ui<'_>, memory: Memory, filter: &LogFilter, is_full: bool) -> anyhow::Result<Exit> {
    activity::close();
    let interrupt = activity::interrupt()?;
    let memory = Arc::new(memory);
    let watcher = memory.watch(WatchMode::Native)?;
    let mut follower = Follower { ui, memory: &memory, filter, is_full, known: HashSet::new(), live: HashMap::new() };
    let mut is_ready = false;
    while !interrupt.is_raised() {
        match watcher.events().recv_timeout(LOOK) {
            Ok(WatchEvent::Ready { .. }) => {
                follower.begin()?;
                is_ready = true;
            }
            Ok(WatchEvent::Changed(changes)) => {
                follower.written(&changes.indexed)?;
                follower.ui.problems(&changes.problems);
            }
            Ok(WatchEvent::Notice { message }) => follower.ui.warn(&message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the watcher ended unexpectedly"),
        }
        if is_ready && follower.look()? {
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
            self.attempt(attempt)?;
        }
        self.ui.problems(&log.problems);
        Ok(())
    }

    /// Prints what runs do, and returns whether the one that is followed has ended.
    fn look(&mut self) -> anyhow::Result<bool> {
        let mut live = self.memory.live_runs();
        for run in live.iter_mut().filter(|run| run.phase == LivePhase::Between) {
            // One that is being prepared has no model yet.
            run.iteration = None;
        }
        live.retain(|run| self.is_wanted(run));
        for run in &live {
            self.run(run)?;
        }
        let keys: HashSet<LiveKey> = live.iter().map(key).collect();
        let mut ended: Vec<LiveKey> = self.live.keys().filter(|key| !keys.contains(*key)).cloned().collect();
        ended.sort();
        for key in ended {
            self.live.remove(&key);
            self.recorded(&key.0)?;
            // An iteration of your own loop says nothing about the rest of the run.
            if key.1.is_none() {
                self.event(&LogEvent::Ended { run_id: &key.0 })?;
            }
        }
        let is_over = self.filter.run_id.is_some() && live.is_empty();
        if let Some(run_id) = self.filter.run_id.as_ref().filter(|_| is_over) {
            self.recorded(run_id)?;
        }
        Ok(is_over)
    }

    /// Returns whether the filter accepts a run in progress.
    fn is_wanted(&self, run: &LiveRun) -> bool {
        let LogFilter { task_id, run_id, feature, .. } = self.filter;
        // Between two iterations a run has no task.
        let is_named = |own: &Option<String>, wanted: &Option<String>| {
            wanted.is_none() || own == wanted || run.iteration.is_none()
        };
        run_id.as_ref().is_none_or(|wanted| run.run_id == *wanted)
            && is_named(&run.task_id, task_id)
            && is_named(&run.feature, feature)
    }

    /// Prints what is new of a run.
    fn run(&mut self, run: &LiveRun) -> anyhow::Result<()> {
        let before = self.live.get(&key(run)).copied();
        let same = before.filter(|printed| printed.iteration == run.iteration);
        if same.is_none() {
            self.recorded(&run.run_id)?;
            if run.iteration.is_some() {
                self.event(&LogEvent::Started { live: run })?;
            }
        }
        let n_printed = same.map_or(0, |printed| printed.n_actions);
        let n_new = usize::try_from(run.n_actions.saturating_sub(n_printed)).unwrap_or(usize::MAX);
        let (run_id, iteration, phase) = (run.run_id.as_str(), run.iteration, run.phase);
        let actions = &run.actions[run.actions.len().saturating_sub(n_new)..];
        for action in actions {
            self.event(&LogEvent::Action { run_id, iteration, action })?;
        }
        let is_other_phase = same.is_some_and(|printed| printed.phase != phase);
        if is_other_phase {
            self.event(&LogEvent::Phase { run_id, iteration, phase })?;
        }
        let (n_actions, spending) = (run.n_actions, run.spending);
        let before = same.map(|printed| (printed.spending, printed.n_at_spending)).unwrap_or_default();
        let is_due = self.ui.json || is_other_phase || n_actions.saturating_sub(before.1) >= SPENDING_EVERY;
        let is_new = is_due && spending.is_known() && spending != before.0;
        if is_new {
            self.event(&LogEvent::Spending { run_id, iteration, spending })?;
        }
        let (spending, n_at_spending) = if is_new { (spending, n_actions) } else { before };
        self.live.insert(key(run), PrintedRun { iteration, phase, n_actions, spending, n_at_spending });
        Ok(())
    }

    /// Prints the attempts of these files that are new.
    fn written(&mut self, paths: &[String]) -> anyhow::Result<()> {
        let ids = paths.iter().filter_map(|path| Id::parse(path)).filter(|id| id.kind() == Kind::Journal);
        let ids: Vec<Id> = ids.filter(|id| !self.known.contains(id)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        self.print_new(&LogFilter { ids, limit: None, since: None, ..self.filter.clone() })
    }

    /// Prints the attempts of a run that are new.
    fn recorded(&mut self, run_id: &str) -> anyhow::Result<()> {
        self.print_new(&LogFilter { run_id: Some(run_id.to_owned()), limit: Some(50), ..self.filter.clone() })
    }

    fn print_new(&mut self, filter: &LogFilter) -> anyhow::Result<()> {
        for attempt in self.memory.log(filter).attempts.iter().rev() {
            if self.known.insert(attempt.id.clone()) {
                self.attempt(attempt)?;
            }
        }
        Ok(())
    }

    fn attempt(&mut self, attempt: &LoggedAttempt) -> anyhow::Result<()> {
        let view = (self.is_full && self.ui.json).then(|| self.memory.iteration(&attempt.id)).flatten();
        match &view {
            _ if !self.ui.json => show(self.ui, self.memory, attempt, self.is_full),
            Some(attempt) => self.event(&LogEvent::FullAttempt { attempt }),
            None => self.event(&LogEvent::Attempt { attempt }),
        }
    }

    fn event(&mut self, event: &LogEvent<'_>) -> anyhow::Result<()> {
        if self.ui.json {
            self.ui.json(event, &[])?;
            return Ok(());
        }
        let place = |run_id: &str, iteration: Option<u32>| match iteration {
            Some(iteration) => format!("{run_id}/{iteration}"),
            None => run_id.to_owned(),
        };
        match event {
            LogEvent::Started { live } => {
                let title = self.ui.styled(TITLE, &live.task_title);
                let place = self.ui.styled(ID, &place(&live.run_id, live.iteration));
                let model = self.ui.styled(QUIET, live.model.as_deref().unwrap_or_default());
                self.ui.hanging(4, format!("{place}  {title}  {model}").trim_end())?;
            }
            LogEvent::Phase { run_id, iteration, phase } => {
                // The attempt or the next iteration says more.
                if !matches!(phase, LivePhase::Between | LivePhase::Open) {
                    let place = self.ui.styled(ID, &place(run_id, *iteration));
                    self.ui.line(format_args!("{place}  {}", phase.as_str()))?;
                }
            }
            LogEvent::Action { run_id, iteration, action } => {
                let place = self.ui.styled(ID, &place(run_id, *iteration));
                let text = match action.kind {
                    LiveActionKind::Tool => self.ui.styled(QUIET, &format!("→ {}", action.text)),
                    LiveActionKind::Failure => self.ui.styled(ERROR, &format!("failed: {}", action.text)),
                    _ => self.ui.styled(PLAIN, &action.text),
                };
                self.ui.hanging(4, format_args!("{place}  {text}"))?;
            }
            LogEvent::Spending { run_id, iteration, spending } => {
                let place = self.ui.styled(ID, &place(run_id, *iteration));
                let text = self.ui.styled(QUIET, &format!("{} so far", spent(*spending)));
                self.ui.hanging(4, format_args!("{place}  {text}"))?;
            }
            LogEvent::Ended { run_id } => {
                let place = self.ui.styled(ID, run_id);
                self.ui.line(format_args!("{place}  ended"))?;
            }
            LogEvent::Attempt { .. } | LogEvent::FullAttempt { .. } => {}
        }
        Ok(())
    }
}

/// Returns what identifies a run in progress. Only a run without a process can have several open iterations.
fn key(run: &LiveRun) -> LiveKey {
    (run.run_id.clone(), run.iteration.filter(|_| run.phase == LivePhase::Open))
}
