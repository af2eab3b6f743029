//! Runs of a loop: their names, the iterations that are begun, and those that are in the journal.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, SubsecRound as _, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{Holder, Memory};
use crate::catalog::Area;
use crate::context::{Budget, Task};
use crate::entry::{Id, is_ahead};
use crate::error::{Error, Problem, Result};
use crate::history::AttemptSummary;
use crate::journal::{
    BEGUN, attempt, attempt_at, both_areas, check_name, check_number, check_run_name, journal_path, latest_start,
    next_number, run_of, summaries,
};
use crate::strategy::Strategy;
use crate::text::shorten;

/// How long a run is taken to go on after its last iteration ended, in hours.
const ACTIVE_HOURS: i64 = 2;
/// How much longer ago an iteration may have begun that ended in that time, in hours.
const LONGEST_HOURS: i64 = 24;
/// How long the lock is waited for while an agent runs.
const BRIEFLY: Duration = Duration::from_millis(250);
/// How long is waited for an agent to end whose run was killed just now, and how often that is looked at.
const AGENT_ENDS: Duration = Duration::from_secs(1);
const AGENT_LOOK: Duration = Duration::from_millis(10);
/// How much of a task's title is told beside an iteration, in characters.
const NAMED_TITLE: usize = 60;

/// One invocation of a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    /// Its name: letters, digits, `.`, `_` and `-`, at most 64, the first one no `.`; and
    /// no name that Windows gives a meaning of its own.
    pub id: String,
    /// How models are chosen; without one, as the settings say.
    pub strategy: Option<Strategy>,
    /// How many iterations it has at most; told to the agent, and kept by the caller.
    pub limit: Option<u32>,
    /// How much text a context has at most; without one, as the settings say.
    pub budget: Option<Budget>,
    /// The process that works on its iterations from beginning to end: while it is there, nobody else takes
    /// one of them for interrupted. Without one, whoever begins next does.
    pub holder: Option<Holder>,
}

impl Run {
    /// Returns a run of this name, with nothing but what the settings say.
    pub fn named(id: impl Into<String>) -> Run {
        Run { id: id.into(), ..Run::default() }
    }
}

/// One iteration, from its beginning to its entry in the journal.
///
/// It is plain data: what [`Memory::begin`] returns is kept in `.ralph/state/` until it is finished,
/// so that another process can finish it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 1.
    pub number: u32,
    /// The task.
    pub task: Task,
    /// The number of this attempt at the task, from 1.
    pub attempt: usize,
    /// The model that should work on it.
    pub model: String,
    /// Why this one.
    pub rationale: String,
    /// How bad it looks: see [`rung`](crate::history::rung).
    pub rung: u32,
    /// When it began, in whole seconds.
    pub started_at: DateTime<Utc>,
    /// The knowledge that its context shows.
    pub entries: Vec<Id>,
    /// What its context left out for space.
    pub left_out: Vec<Id>,
    /// The git tree of the work tree when it began, without `.ralph/`; none where there is no git.
    pub tree: Option<String>,
    /// The process that works on it, where one does from beginning to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The process of its agent, where that was [noted](Memory::note_agent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Holder>,
    /// What the agent should know: markdown. Not kept in `state/`.
    #[serde(skip)]
    pub context: String,
    /// What is wrong with files that were looked at. Not kept in `state/`.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl Iteration {
    /// Returns an iteration of which no more is known.
    pub(super) fn new(run_id: String, number: u32, task: Task, started_at: DateTime<Utc>) -> Iteration {
        Iteration {
            run_id,
            number,
            task,
            attempt: 1,
            model: String::new(),
            rationale: String::new(),
            rung: 0,
            // As exact as the journal has it.
            started_at: started_at.trunc_subsecs(0),
            entries: Vec::new(),
            left_out: Vec::new(),
            tree: None,
            holder: None,
            agent: None,
            context: String::new(),
            problems: Vec::new(),
        }
    }

    /// Returns the id of its task.
    pub fn task_id(&self) -> String {
        self.task.own_id()
    }

    /// Returns the id that its entry in the journal gets, were it the only one of its number.
    pub fn id(&self) -> String {
        self.journal_path().trim_end_matches(".md").to_owned()
    }

    /// Returns the path of its file in the journal, were it the only one of its number.
    pub(super) fn journal_path(&self) -> String {
        journal_path(&self.run_id, self.number)
    }

    /// Returns the path of its file in `state/`.
    pub(super) fn state_path(&self) -> String {
        format!("state/{}", self.state_name())
    }

    /// Returns the same path, below `state/`.
    pub(super) fn state_name(&self) -> String {
        format!("{BEGUN}/{}-{:04}.json", self.run_id, self.number)
    }
}

impl Memory {
    /// Returns a new run, with a name that no other has: `run-` and eight random hexadecimal digits.
    pub fn new_run(&self) -> Run {
        loop {
            // Hash keys come from the system's randomness; the rest tells two of one process apart.
            let random = RandomState::new().hash_one((SystemTime::now(), std::process::id()));
            let id = format!("run-{:08x}", random >> 32);
            if self.store.folder(&format!("journal/{id}")).is_err() {
                return Run::named(id);
            }
        }
    }

    /// Returns the name of the run that was active last, if that was within two hours: one that ended an
    /// iteration, or began one. What the journal says of the [future](crate::entry::is_ahead) does not count.
    pub fn recent_run(&self) -> Option<String> {
        let now = self.now();
        let since = now - TimeDelta::hours(ACTIVE_HOURS);
        let first = (since - TimeDelta::hours(LONGEST_HOURS)).timestamp();
        let catalog = self.catalog(Area::Live);
        let begun = first..=latest_start(now);
        let recent = catalog.journal_rows().filter(|row| begun.contains(&catalog.recency(*row)));
        let finished = recent.filter_map(|row| {
            let run = run_of(&catalog.id(row)?)?;
            Some((AttemptSummary::new(catalog.id(row)?, catalog.head(row))?.ended_at(), run))
        });
        // One that was begun here was begun, whatever the clock said then.
        let open = self.open_iterations().into_iter().map(|open| (open.started_at.min(now), open.run_id));
        self.newest(finished.chain(open).filter(|(at, _)| *at >= since && !is_ahead(*at, now)))
    }

    /// Returns the name of the run that began an iteration last, however long ago. What the journal says of the
    /// [future](crate::entry::is_ahead) does not count.
    pub fn newest_run(&self) -> Option<String> {
        let catalog = self.catalog(Area::Live);
        let now = self.now();
        let latest = latest_start(now);
        let begun = catalog.journal_rows().filter(|row| catalog.recency(*row) <= latest);
        let finished = begun.filter_map(|row| Some((catalog.recency(row), run_of(&catalog.id(row)?)?)));
        let open = self.open_iterations().into_iter().map(|open| (open.started_at.min(now).timestamp(), open.run_id));
        self.newest(finished.chain(open))
    }

    /// Returns the run with the latest time. Times are whole seconds; of several runs in one the folder
    /// tells which was written to last.
    fn newest<T: Ord>(&self, runs: impl Iterator<Item = (T, String)>) -> Option<String> {
        let written = |run: &str| {
            let folder = self.store.folder(&format!("journal/{run}")).and_then(|folder| folder.stat());
            folder.map_or(i64::MAX, |stat| stat.mtime)
        };
        let mut latest: Vec<(T, String)> = Vec::new();
        for (at, run) in runs {
            match latest.first().map(|(newest, _)| at.cmp(newest)) {
                Some(std::cmp::Ordering::Less) => continue,
                Some(std::cmp::Ordering::Equal) => {}
                Some(std::cmp::Ordering::Greater) | None => latest.clear(),
            }
            if latest.iter().all(|(_, known)| *known != run) {
                latest.push((at, run));
            }
        }
        latest.into_iter().map(|(_, run)| (written(&run), run)).max().map(|(_, run)| run)
    }

    /// Returns the iteration that a caller means who did not begin it itself: the open one of this run and
    /// number; else the one that is in the journal already, since it was taken for interrupted; else a
    /// new one of the task, in the run that was active last, or one of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where several are open that could be meant, or none and no task is named, and
    /// [`Error::Io`].
    pub fn resume(&self, run: Option<&str>, number: Option<u32>, task_id: Option<&str>) -> Result<Iteration> {
        self.resume_at(run, number, task_id, self.now())
    }

    /// Does the same; one that is new began at that time.
    pub(super) fn resume_at(
        &self,
        run: Option<&str>,
        number: Option<u32>,
        task_id: Option<&str>,
        at: DateTime<Utc>,
    ) -> Result<Iteration> {
        run.map_or(Ok(()), check_run_name)?;
        task_id.map_or(Ok(()), |task_id| check_name("task id", task_id))?;
        number.map_or(Ok(()), check_number)?;
        let is_meant = |open: &Iteration| {
            run.is_none_or(|run| open.run_id == run)
                && number.is_none_or(|number| open.number == number)
                && task_id.is_none_or(|task_id| open.task_id() == task_id)
        };
        let mut open: Vec<Iteration> = self.begun()?.into_iter().filter(is_meant).collect();
        if open.len() > 1 {
            let names: Vec<String> = open
                .iter()
                .map(|open| format!("{} of {} ({})", open.number, open.run_id, shorten(&open.task.title, NAMED_TITLE)))
                .collect();
            let reason = format!("several are begun and not recorded: {}", names.join(", "));
            return Err(Error::Invalid { what: "iteration".to_owned(), reason });
        }
        if let Some(open) = open.pop() {
            return Ok(open);
        }
        if let (Some(run), Some(number)) = (run, number)
            && let Some(late) = self.late(run, number)
            && task_id.is_none_or(|task_id| late.task_id() == task_id)
        {
            return Ok(late);
        }
        let Some(task_id) = task_id else {
            let reason = "none is begun that could be meant, and no task is named".to_owned();
            return Err(Error::Invalid { what: "iteration".to_owned(), reason });
        };
        let run_id = run.map(str::to_owned).or_else(|| self.recent_run()).unwrap_or_else(|| self.new_run().id);
        let catalogs = both_areas(&self.workspace);
        let catalogs = catalogs.each_ref();
        let known = summaries(self.now(), &catalogs, |catalog| catalog.rows_of_task(task_id));
        let newest = known.last().and_then(|newest| attempt(&self.workspace, &catalogs, &newest.id));
        let task = Task {
            id: Some(task_id.to_owned()),
            feature: newest.as_ref().and_then(|attempt| attempt.feature.clone()),
            section: newest.as_ref().and_then(|attempt| attempt.head.section.clone()),
            // Of a task that nobody named, the id is all there is to call it by.
            ..Task::new(
                newest
                    .map(|attempt| attempt.task_title)
                    .filter(|title| !title.is_empty())
                    .unwrap_or_else(|| task_id.to_owned()),
            )
        };
        let number = number.map_or_else(|| next_number(&self.workspace, &run_id), Ok)?;
        Ok(Iteration { attempt: known.len() + 1, ..Iteration::new(run_id, number, task, at) })
    }

    /// Returns an iteration as the journal has it.
    fn late(&self, run_id: &str, number: u32) -> Option<Iteration> {
        let attempt = attempt_at(&self.workspace, &journal_path(run_id, number))?;
        let task = Task {
            id: attempt.task_id,
            feature: attempt.feature,
            section: attempt.head.section,
            ..Task::new(attempt.task_title)
        };
        Some(Iteration {
            model: attempt.head.model.unwrap_or_default(),
            rationale: attempt.head.model_rationale.unwrap_or_default(),
            entries: attempt.head.context,
            ..Iteration::new(run_id.to_owned(), number, task, attempt.started_at)
        })
    }

    /// Notes which process is the agent of an iteration. Where whoever started it is killed and the agent is not,
    /// [`Memory::begin`] then begins nothing beside it. What stands in the way of noting it changes nothing else.
    pub fn note_agent(&self, iteration: &mut Iteration, pid: u32) {
        iteration.agent = Holder::of(pid);
        // Its output waits meanwhile.
        if let Ok(lock) = self.store.lock(BRIEFLY) {
            let _ = self.keep_open(&lock, iteration);
        }
    }
}

/// Refuses to begin anything beside an agent that is at work although nobody waits for it: what it does to the
/// files would be credited to another one.
pub(super) fn refuse_beside_agents(open: &[Iteration]) -> Result<()> {
    let since = Instant::now();
    loop {
        let left = |holder: &Option<Holder>| holder.as_ref().is_some_and(Holder::is_alive);
        let agent = open.iter().find(|open| !left(&open.holder) && left(&open.agent));
        let Some(Iteration { run_id, number, agent: Some(agent), .. }) = agent else { return Ok(()) };
        if since.elapsed() >= AGENT_ENDS {
            return Err(Error::StillWorking { run_id: run_id.clone(), number: *number, pid: agent.pid() });
        }
        std::thread::sleep(AGENT_LOOK);
    }
}
