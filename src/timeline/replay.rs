//! A replay of the journal: whether contexts had what later successes needed, and which repeated errors the hook at a
//! tool's call would have explained.
//!
//! What an attempt's context showed is in the journal. What it would have shown under other settings is found by gathering
//! it again from what existed when the attempt began. Entries are taken as they are now: the journal does not have their
//! former texts, nor the descriptions of tasks.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::stats::{StatsFilter, key};
use crate::context::{Budget, Run, Task, context_budget, gather, instructions};
use crate::entry::path::{is_pattern, matches_pattern};
use crate::entry::{Experiment, Head, Id, Kind, Outcome};
use crate::error::{Problem, Result};
use crate::index::catalog::Catalog;
use crate::index::hints::{Hint, attempts_of, key_of_error, rows_of, success_after};
use crate::journal::history::AttemptSummary;
use crate::journal::{both_areas, of_feature, problems_of};
use crate::search::semantic::SemanticMemory;
use crate::text::nfc;
use crate::workspace::Workspace;

/// The result of [`Memory::replay`](crate::Memory::replay).
///
/// ```
/// use ralph_memory::entry::Outcome;
/// use ralph_memory::memory::{Report, StatsFilter};
/// use ralph_memory::{Knowledge, Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Decimal money", ["invoice", "money"], "Never a float."))?;
/// let run = memory.new_run();
/// for outcome in [Outcome::Failed, Outcome::Done] {
///     let attempt = memory.begin(&Task::new("Sum up the money of an invoice"), &run)?;
///     memory.finish(&attempt, &Report { outcome: Some(outcome), ..Report::default() })?;
/// }
/// let replay = memory.replay(&StatsFilter::default(), None)?;
/// assert_eq!(replay.successes[0].needed[0].as_str(), "knowledge/decimal-money");
/// assert_eq!((replay.needed, replay.contexts[0].in_time, replay.contexts[0].before), (1, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Replay {
    /// The successes after failures, oldest first.
    pub successes: Vec<ReplayedSuccess>,
    /// How many entries they needed in all; an entry counts once for each of them.
    pub needed: usize,
    /// Of these, how many were changed after the first of the attempts began: what the contexts said then is not known.
    pub changed_since: usize,
    /// Of these, how many are archived or gone, so that no rebuilt context has them.
    pub gone: usize,
    /// The contexts: as recorded and, if settings are compared, rebuilt under the present settings and under the changed ones.
    pub contexts: Vec<ReplayedContexts>,
    /// The repeated errors.
    pub errors: ReplayedErrors,
    /// Problems of the files that were read.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

/// A success of a [`Replay`], after failures of its task since that was last done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedSuccess {
    /// The attempt.
    pub id: Id,
    /// Its task.
    pub task_id: String,
    /// How many attempts failed before it.
    pub failures: usize,
    /// The entries that it needed: those that its context showed, and those that name a file which it created or changed and
    /// that existed when it began.
    pub needed: Vec<Id>,
}

/// The contexts of the attempts of a [`Replay`]'s successes and of the failures before them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReplayedContexts {
    /// `recorded`, `present` or `changed`.
    pub settings: &'static str,
    /// How many needed entries the context of the success had, or an earlier one.
    pub in_time: usize,
    /// Of these, how many the context of a failure before it had.
    pub before: usize,
    /// How many attempts before the success a context first had these, on average.
    pub attempts_before: Option<f64>,
    /// How many tokens the entries of a context have, on average.
    pub entry_tokens: Option<f64>,
    /// How many tokens a context has besides the task and the instructions, on average; `None` as recorded.
    pub context_tokens: Option<f64>,
}

/// The errors that occurred in an earlier attempt as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ReplayedErrors {
    /// How many attempts failed with such an error.
    pub repeated: usize,
    /// In how many of them `hook tool` would have named an earlier attempt.
    pub explained: usize,
    /// Of these, in how many it would have said what solved it.
    pub solved: usize,
    /// In how many it would have been silent because more than three tasks had the error.
    pub shared: usize,
    /// In how many it would have been silent because the error's line has too few words.
    pub unspecific: usize,
}

/// Knowledge as it is now.
struct KnownEntry {
    head: Head,
    path: String,
    is_archived: bool,
}

/// The attempts at a task from the one after its last success to the next success.
struct Streak<'a> {
    attempts: Vec<&'a AttemptSummary>,
    success: ReplayedSuccess,
}

/// What a context showed, and its tokens besides the instructions.
type Shown = (Vec<Id>, Option<usize>);

/// Replays the attempts that the filter accepts: the successes and the errors in them.
pub(crate) fn replay(
    workspace: &mut Workspace,
    semantic: &SemanticMemory,
    filter: &StatsFilter,
    changed: Option<(Workspace, SemanticMemory)>,
) -> Result<Replay> {
    let catalogs = both_areas(workspace);
    let catalogs = catalogs.each_ref();
    let attempts = of_feature(workspace.now(), &catalogs, None);
    let known = knowledge(&catalogs);
    let streaks = streaks(&attempts, filter, &known);
    let needed = || streaks.iter().flat_map(|streak| streak.success.needed.iter().map(move |id| (streak, id)));
    let is_changed = |(streak, id): &(&Streak<'_>, &Id)| {
        known.get(*id).is_some_and(|known| known.head.updated_at > Some(streak.attempts[0].began_at))
    };
    let tokens = tokens(workspace, &known, &streaks);
    let mut replay = Replay {
        needed: needed().count(),
        changed_since: needed().filter(is_changed).count(),
        gone: needed().filter(|(_, id)| known.get(*id).is_none_or(|known| known.is_archived)).count(),
        contexts: vec![ReplayedContexts::of("recorded", &streaks, &tokens, &mut |attempt| {
            Ok((attempt.head.context.clone(), None))
        })?],
        errors: errors(&attempts, filter),
        problems: problems_of(workspace, &catalogs),
        ..Replay::default()
    };
    if let Some((mut changed, of_changed)) = changed {
        for (settings, workspace, semantic) in
            [("present", workspace, semantic), ("changed", &mut changed, &of_changed)]
        {
            let of = &mut |attempt: &AttemptSummary| rebuilt(workspace, semantic, attempt);
            replay.contexts.push(ReplayedContexts::of(settings, &streaks, &tokens, of)?);
        }
    }
    replay.successes = streaks.into_iter().map(|streak| streak.success).collect();
    Ok(replay)
}

/// Returns the knowledge in these catalogs, the live one first.
fn knowledge(catalogs: &[&Catalog]) -> HashMap<Id, KnownEntry> {
    let mut known = HashMap::new();
    for (at, catalog) in catalogs.iter().enumerate() {
        for row in catalog.knowledge_rows() {
            let entry = || KnownEntry { head: catalog.head(row), path: catalog.path(row), is_archived: at > 0 };
            catalog.id(row).map(|id| known.entry(id).or_insert_with(entry));
        }
    }
    known
}

/// Returns the successes after failures that are accepted, with the attempts before them. Tasks from which the memory was
/// withheld are left out.
fn streaks<'a>(
    attempts: &'a [AttemptSummary],
    filter: &StatsFilter,
    known: &HashMap<Id, KnownEntry>,
) -> Vec<Streak<'a>> {
    let mut open: HashMap<Cow<'_, str>, Vec<&AttemptSummary>> = HashMap::new();
    let mut streaks = Vec::new();
    for attempt in attempts {
        let Some(task) = key(attempt.task_id.as_deref()) else { continue };
        let own = open.entry(task.clone()).or_default();
        own.push(attempt);
        if attempt.head.outcome != Outcome::Done {
            continue;
        }
        let own = std::mem::take(own);
        let failures = own.iter().filter(|attempt| attempt.head.outcome.is_failure_of_task()).count();
        if failures > 0 && own[0].head.experiment != Some(Experiment::Withheld) && filter.accepts(attempt) {
            let needed = needed(attempt, known);
            let success = ReplayedSuccess { id: attempt.id.clone(), task_id: task.into_owned(), failures, needed };
            streaks.push(Streak { attempts: own, success });
        }
    }
    streaks
}

/// Returns the entries that a success needed.
fn needed(success: &AttemptSummary, known: &HashMap<Id, KnownEntry>) -> Vec<Id> {
    let files = &success.head.files;
    let is_touched = |path: &String| {
        let is_it = |file: &String| nfc(file) == nfc(path) || is_pattern(path) && matches_pattern(path, file);
        files.created.iter().chain(&files.modified).any(is_it)
    };
    let is_about = |head: &Head| head.valid && head.existed(success.began_at) && head.files.iter().any(is_touched);
    let mut named: Vec<&Id> = known.iter().filter(|(_, known)| is_about(&known.head)).map(|(id, _)| id).collect();
    named.sort_unstable();
    let mut needed = success.head.context.clone();
    needed.extend(named.into_iter().filter(|id| !success.head.context.contains(id)).cloned());
    needed
}

/// Returns how many tokens the entries have that contexts of these attempts may show.
fn tokens(workspace: &Workspace, known: &HashMap<Id, KnownEntry>, streaks: &[Streak<'_>]) -> HashMap<Id, usize> {
    let of = |(id, known): (&Id, &KnownEntry)| {
        let entry = workspace.read_beginning(&known.path)?;
        Some((id.clone(), Budget::tokens(0).cost(&format!("{}\n{}", entry.head.title, entry.said()))))
    };
    known.iter().filter(|_| !streaks.is_empty()).filter_map(of).collect()
}

/// Returns the context that an attempt would have had from what existed when it began.
fn rebuilt(workspace: &mut Workspace, semantic: &SemanticMemory, attempt: &AttemptSummary) -> Result<Shown> {
    let at = attempt.began_at;
    workspace.as_of = Some(at);
    workspace.clock = Arc::new(move || at.into());
    workspace.settings.experiment_share = 0.0;
    let task = Task {
        id: attempt.task_id.clone(),
        feature: attempt.feature.clone(),
        section: attempt.head.section.clone(),
        ..Task::new(&attempt.task_title)
    };
    let budget = context_budget(workspace, None, &task, &instructions(workspace, &task, false))?;
    let run = |_: &Catalog| Ok((Run::named(&attempt.run_id), attempt.head.iteration));
    let context = gather(workspace, semantic, &task, &run, budget, false)?;
    let notes = &context.text[context.notes_start..context.notes_end];
    Ok((context.entries, Some(Budget::tokens(0).cost(notes))))
}

impl ReplayedContexts {
    /// Returns what the contexts `of` the attempts had of what was needed.
    fn of(
        settings: &'static str,
        streaks: &[Streak<'_>],
        tokens: &HashMap<Id, usize>,
        of: &mut dyn FnMut(&AttemptSummary) -> Result<Shown>,
    ) -> Result<ReplayedContexts> {
        let mut contexts = ReplayedContexts { settings, ..ReplayedContexts::default() };
        let (mut n_contexts, mut of_entries, mut in_all, mut early) = (0, 0, None, 0);
        for Streak { attempts, success } in streaks {
            let shown = attempts.iter().map(|attempt| of(attempt)).collect::<Result<Vec<Shown>>>()?;
            n_contexts += shown.len();
            for (entries, in_context) in &shown {
                of_entries += entries.iter().filter_map(|id| tokens.get(id)).sum::<usize>();
                in_all = in_context.map(|tokens| in_all.unwrap_or_default() + tokens);
            }
            for id in &success.needed {
                if let Some(first) = shown.iter().position(|(entries, _)| entries.contains(id)) {
                    let before = shown.len() - 1 - first;
                    contexts.in_time += 1;
                    contexts.before += usize::from(before > 0);
                    early += before;
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "there are fewer attempts than that")]
        let mean = |sum: usize, of: usize| (of > 0).then(|| sum as f64 / of as f64);
        contexts.attempts_before = mean(early, contexts.before);
        contexts.entry_tokens = mean(of_entries, n_contexts);
        contexts.context_tokens = in_all.and_then(|tokens| mean(tokens, n_contexts));
        Ok(contexts)
    }
}

/// Returns what the hook at a tool's call would have said about the errors of these attempts, given oldest first, that had
/// occurred before, by its own rules.
fn errors(attempts: &[AttemptSummary], filter: &StatsFilter) -> ReplayedErrors {
    let mut errors = ReplayedErrors::default();
    let (mut known, mut table) = (HashSet::new(), HashMap::<u64, Vec<Hint>>::new());
    for attempt in attempts {
        let is_repeated = attempt.head.error_fingerprint.is_some_and(|error| !known.insert(error));
        if is_repeated && filter.accepts(attempt) {
            errors.repeated += 1;
            let line = attempt.head.line_fingerprint.and_then(|line| table.get(&key_of_error(line)));
            let told = line.map(|rows| attempts_of(rows, attempts.len()));
            let is_solved =
                |row: &&Hint| table.get(&row.task).is_some_and(|of_task| success_after(of_task, row).is_some());
            match told {
                None => errors.unspecific += 1,
                Some(rows) if rows.is_empty() => errors.shared += 1,
                Some(rows) => {
                    errors.explained += 1;
                    errors.solved += usize::from(rows.iter().any(is_solved));
                }
            }
        }
        let head = Head {
            valid: true,
            title: attempt.task_title.clone(),
            task_id: attempt.task_id.clone(),
            created_at: Some(attempt.began_at),
            attempt: Some(attempt.head.clone()),
            ..Head::empty(Kind::Journal)
        };
        for row in rows_of(attempt.id.as_str(), 0, &head) {
            table.entry(row.key).or_default().push(row);
        }
    }
    errors
}
