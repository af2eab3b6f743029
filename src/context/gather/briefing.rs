//! The material of a briefing: tasks that failed last, recurring errors, and the knowledge that helped.
//!
//! It opens only the files that it shows, searches the index a few times, contacts no server and does not run git,
//! because a session waits for it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;

use chrono::TimeDelta;

use super::recurring::context_error;
use super::remedies::{CurrentFailure, remedies};
use crate::context::write::{self, BriefingMaterial, OpenTask};
use crate::context::{Briefing, BriefingRequest, Budget, NumberedAttempt, Reference};
use crate::entry::imported::file_of;
use crate::entry::knowledge::{Class, class, unsettled};
use crate::entry::path::is_pattern;
use crate::entry::{Head, Id, Outcome, Scope};
use crate::error::{Problem, Result};
use crate::index::Snapshot;
use crate::index::catalog::{Area, Catalog, RowId};
use crate::journal;
use crate::journal::history::{self, AttemptSummary, Usage};
use crate::knowledge::queries::{text, texts};
use crate::knowledge::{Staleness, live_events};
use crate::search::retrieve::{
    beyond_caps, contradicting, contradictions, in_order, is_told, replacements, superseded, with_people,
};
use crate::workspace::{View, Workspace};

/// How many tasks, errors and entries are read at most, which is more than fit.
const MAX_OPEN: usize = 12;
/// How many of the tasks may have an unknown outcome.
const MAX_PARTIAL: usize = 3;
const MAX_ERRORS: usize = 3;
const MAX_KNOWLEDGE: usize = 40;
const MAX_RECENT: usize = 8;
/// How many entries of one imported file are shown.
const MAX_OF_FILE: usize = 3;
/// How many of the newest attempts are searched for recurring errors.
const RECENT_ATTEMPTS: usize = 500;
/// How long before the last attempt the use of an entry still counts: what helped in spring says little in autumn.
const USED_WITHIN: TimeDelta = TimeDelta::days(60);
/// How long an attempt at no known task is shown.
const TOLD_WITHIN: TimeDelta = TimeDelta::days(7);
/// The category of events that every session should know.
const DECISION: &str = "decision";

/// Returns the briefing. Earlier sessions were `told` about the attempts with these ids.
pub(crate) fn briefing(workspace: &Workspace, request: &BriefingRequest, told: &[String]) -> Result<Briefing> {
    let budget = request.budget.unwrap_or_else(|| Budget::tokens(write::DEFAULT_TOKENS));
    write::check_budget(budget, request.by_tools)?;
    let brief = |live: &Catalog, searched: Option<(&[View], &Snapshot)>| {
        let archive = workspace.catalog(Area::Archive);
        let mut material = material(workspace, &[live, &archive], searched, (told, request.client));
        let (of_layers, problems) = known_in_layers(workspace, live);
        material.knowledge.extend(of_layers);
        material.has_more |= material.knowledge.len() > MAX_KNOWLEDGE;
        material.knowledge.truncate(MAX_KNOWLEDGE);
        let mut briefing = write::brief(&material, budget, request.by_tools);
        briefing.problems = live.problems();
        briefing.problems.extend(workspace.settings_problems.iter().cloned().chain(problems));
        briefing
    };
    let answer = |views: &[View], snapshot: &Snapshot| Ok(brief(&views[0].catalog, Some((views, snapshot))));
    // A hook neither writes an index nor waits for one.
    let answered = if workspace.is_hurried {
        workspace.quick_answer(answer)
    } else {
        workspace.answer(&[Area::Live], answer).ok()
    };
    if let Some(answered) = answered {
        return Ok(answered);
    }
    let live = workspace.catalog(Area::Live);
    workspace.check_whole(&live)?;
    Ok(brief(&live, None))
}

/// Gathers the material of a briefing. Remedies are included only with the data for a search.
fn material(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    searched: Option<(&[View], &Snapshot)>,
    (told, client): (&[String], Option<&str>),
) -> BriefingMaterial {
    let live = catalogs[0];
    let attempts = journal::light_summaries(workspace.now(), catalogs);
    let since = attempts.last().map(|attempt| attempt.started_at);
    let recent = &attempts[attempts.len().saturating_sub(RECENT_ATTEMPTS)..];
    let errors: Vec<_> = history::pressing_errors(recent, &[]).into_iter().take(MAX_ERRORS).collect();
    let mut open = open_tasks(workspace, catalogs, &attempts, told);
    let mut has_more = open.len() > MAX_OPEN;
    open.truncate(MAX_OPEN);
    let remedies = searched.map_or_else(Vec::new, |(views, snapshot)| {
        let of_errors = errors.iter().filter_map(|error| CurrentFailure::of_error(workspace, catalogs, error));
        let failures: Vec<_> = of_errors.chain(open.iter().map(CurrentFailure::of_task)).collect();
        remedies(workspace, views, snapshot, &failures)
    });
    let mut heads = known(workspace, live, &remedies, client);
    sort_by_worth(&mut heads, &remedies, &attempts);
    without_more_of_a_file(&mut heads);
    let is_of_person = |(.., head): &(RowId, Id, Head)| Some(head.source.is_person());
    let mut heads = with_people(heads, is_of_person);
    has_more |= heads.len() > MAX_KNOWLEDGE;
    let replacements = replacements(&[live], workspace.now()).counted;
    let contradictions = contradictions(heads.iter().map(|(_, id, head)| (id, head)), &replacements, workspace.now());
    in_order(&mut heads, &contradictions, |(_, id, _)| id);
    let knowledge = references(workspace, live, heads.iter().take(MAX_KNOWLEDGE), &contradictions);
    heads.retain(|(_, _, head)| since.is_some_and(|since| head.recency() >= Some(since)));
    heads.sort_by_key(|(_, id, head)| (Reverse(head.recency()), id.clone()));
    let heads = with_people(heads, is_of_person);
    BriefingMaterial {
        open,
        errors: errors.iter().map(|error| context_error(workspace, catalogs, error)).collect(),
        knowledge,
        recent: references(workspace, live, heads.iter().take(MAX_RECENT), &contradictions),
        since,
        has_more,
    }
}

/// Sorts entries: remedies first, then those that helped recently, then by importance, then by date.
fn sort_by_worth(heads: &mut [(RowId, Id, Head)], remedies: &[Id], attempts: &[AttemptSummary]) {
    // The time comes from the journal, so that the same files give the same order on every day.
    let from = attempts.last().and_then(|attempt| attempt.started_at.checked_sub_signed(USED_WITHIN));
    let usage = history::usage(attempts.iter().filter(|attempt| Some(attempt.started_at) >= from));
    heads.sort_by_cached_key(|(_, id, head)| {
        let remedy = remedies.iter().position(|remedy| remedy == id).unwrap_or(usize::MAX);
        // Every context shows the decisions, so a success proves nothing about them.
        let is_event = class(head.category.as_deref()) == Class::Event;
        let succeeded = usage.get(id).filter(|_| !is_event).map_or(0, |Usage { succeeded, .. }| *succeeded);
        // The id makes the order total.
        (remedy, Reverse((succeeded, head.weight(), head.recency())), id.clone())
    });
}

/// Returns the remedies and the knowledge that concerns the whole project, with their rows. Of the events, it has only
/// decisions, and not more than the settings allow. It has nothing that is superseded, expired or invalid.
fn known(workspace: &Workspace, live: &Catalog, remedies: &[Id], client: Option<&str>) -> Vec<(RowId, Id, Head)> {
    let now = workspace.now();
    let replaced = superseded(&[live], now);
    // Decision records that were imported are documents, of which a project has as many as it has.
    let events = live_events(workspace, live);
    let events = events.iter().filter(|(.., head)| head.imported.is_none()).map(|(_, id, head)| (id, head));
    let beyond = beyond_caps(events, &[], workspace.settings.events);
    let rows = live.knowledge_rows().filter(|row| live.is_indexable(*row));
    let with_head = rows.filter_map(|row| Some((row, live.id(row)?, live.light_head(row).without_future(now))));
    let is_known = |id: &Id, head: &Head| {
        let is_event = class(head.category.as_deref()) == Class::Event;
        is_told(head, now, || replaced.contains(id))
            && (head.scope == Scope::Project || remedies.contains(id))
            && unsettled(head.status.as_deref()).is_none()
            && (!is_loaded(head, client, false) || remedies.contains(id))
            && (!is_event || head.category.as_deref() == Some(DECISION))
    };
    with_head.filter(|(_, id, head)| is_known(id, head) && !beyond.contains(id)).collect()
}

/// A client that reads none of the instructions and rules: those of another project.
const NO_CLIENT: Option<&str> = Some("");
/// The files and folders of instructions and rules, with the clients that always read them by themselves. A client that reads
/// one only if another is not there is not among them: a fact that is told twice costs less than one that nobody tells.
const READ_BY: [(&str, &[&str]); 12] = [
    ("AGENTS.md", &["codex", "cursor", "opencode", "copilot", "vscode", "devin"]),
    ("CLAUDE.md", &["claude", "copilot", "vscode", "devin"]),
    (".claude/CLAUDE.md", &["claude"]),
    (".claude/rules", &["claude"]),
    ("GEMINI.md", &["gemini"]),
    (".github/copilot-instructions.md", &["copilot", "vscode"]),
    (".github/instructions", &["copilot", "vscode"]),
    (".cursor/rules", &["cursor"]),
    (".cursorrules", &["cursor"]),
    (".devin/rules", &["devin"]),
    (".windsurf/rules", &["devin"]),
    (".windsurfrules", &["devin"]),
];

/// Returns whether the client gives an entry to its agent anyway: it comes from instructions or rules that it reads. Those of
/// a folder of the project it reads only where it `works_there`. A client that is not known reads all of them.
pub(super) fn is_loaded(head: &Head, client: Option<&str>, works_there: bool) -> bool {
    let Some(path) = head.imported.as_deref().and_then(file_of) else { return false };
    let is_at =
        |path: &str, place: &str| path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_read_by = |by: &[&str]| client.is_none_or(|client| by.contains(&client));
    let reads = |path: &str| READ_BY.iter().any(|(place, by)| is_at(path, place) && is_read_by(by));
    reads(path) || works_there && path.match_indices('/').any(|(at, _)| reads(&path[at + 1..]))
}

/// Returns the knowledge of layers that concerns their whole project, the most important first, without texts that an earlier
/// memory has, and the problems of layers. Events are not among it: they happened elsewhere.
fn known_in_layers(workspace: &Workspace, own: &Catalog) -> (Vec<Reference>, Vec<Problem>) {
    let (layers, mut problems) = workspace.layers();
    if layers.is_empty() {
        return (Vec::new(), problems);
    }
    let is_shared = |head: &Head| head.scope == Scope::Project;
    let mut before: HashSet<_> = texts(own, &is_shared).collect();
    let mut found = Vec::new();
    for layer in layers {
        let read = |views: &[View], _: &Snapshot| {
            let catalog = &views[0].catalog;
            let mut heads = known(&layer.workspace, catalog, &[], NO_CLIENT);
            let is_event = |head: &Head| class(head.category.as_deref()) == Class::Event;
            heads.retain(|(_, _, head)| !is_event(head) && !before.contains(&text(head)));
            sort_by_worth(&mut heads, &[], &[]);
            without_more_of_a_file(&mut heads);
            let of_head = |entry: &(RowId, Id, Head)| {
                let reference = references(&layer.workspace, catalog, std::iter::once(entry), &[]).pop()?;
                let worth = (entry.2.weight(), entry.2.recency());
                Some((worth, Reference { id: entry.1.in_layer(&layer.name), ..reference }))
            };
            let of_layer: Vec<_> = heads.iter().take(MAX_KNOWLEDGE + 1).filter_map(of_head).collect();
            Ok((of_layer, texts(catalog, &is_shared).collect::<Vec<_>>()))
        };
        // A hook leaves out a layer that it would have to read file by file.
        let answered = if workspace.is_hurried {
            layer.workspace.quick_answer(read)
        } else {
            layer.workspace.answer(&[Area::Live], read).map_err(|error| problems.push(layer.problem(&error))).ok()
        };
        if let Some((of_layer, texts)) = answered {
            found.extend(of_layer);
            before.extend(texts);
        }
    }
    found.sort_by_key(|(worth, _)| Reverse(*worth));
    (found.into_iter().map(|(_, reference)| reference).collect(), problems)
}

/// Leaves only the first [`MAX_OF_FILE`] entries that were imported from one file.
fn without_more_of_a_file(heads: &mut Vec<(RowId, Id, Head)>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    heads.retain(|(_, _, head)| {
        let Some(imported) = &head.imported else { return true };
        let n_seen = seen.entry(imported.split('#').next().unwrap_or_default().to_owned()).or_default();
        *n_seen += 1;
        *n_seen <= MAX_OF_FILE
    });
}

fn references<'a>(
    workspace: &Workspace,
    live: &Catalog,
    entries: impl Iterator<Item = &'a (RowId, Id, Head)>,
    contradictions: &[Vec<Id>],
) -> Vec<Reference> {
    let reference = |(row, id, _): &(RowId, Id, Head)| {
        let path = live.path(*row);
        let entry = workspace.read_beginning(&path)?;
        Some(Reference {
            id: id.clone(),
            body: entry.said(),
            title: entry.head.title_with_status(),
            tags: entry.head.tags,
            category: entry.head.category,
            contradicts: contradicting(id, contradictions),
            unverified: gone_file(workspace, &entry.head.files),
        })
    };
    entries.filter_map(reference).collect()
}

/// Returns the first of the files that is gone; a pattern is about whatever files there are. Other reasons to doubt an entry
/// come from git, for which a session does not wait.
pub(super) fn gone_file(workspace: &Workspace, files: &[String]) -> Option<Staleness> {
    let is_gone = |file: &&String| {
        !is_pattern(file)
            && std::fs::symlink_metadata(workspace.root().join(file))
                .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    files.iter().find(is_gone).map(|path| Staleness::Gone { path: path.clone() })
}

/// Returns the tasks that failed last and are not done, most recent first, each with its last failure, and then the
/// newest tasks whose last attempt is partial; one more than is shown. An attempt at no known task never becomes done:
/// it stays for a week, or until a session was `told` about it.
fn open_tasks(
    workspace: &Workspace,
    catalogs: &[&Catalog],
    attempts: &[AttemptSummary],
    told: &[String],
) -> Vec<OpenTask> {
    let since = workspace.now() - TOLD_WITHIN;
    let is_news = |attempt: &AttemptSummary| {
        attempt.started_at >= since
            && attempt.head.outcome.is_failure_of_task()
            && !told.iter().any(|id| *id == attempt.id.as_str())
    };
    let mut of_task: HashMap<&str, Vec<&AttemptSummary>> = HashMap::new();
    for attempt in attempts {
        if let Some(id) = &attempt.task_id {
            of_task.entry(id).or_default().push(attempt);
        }
    }
    let (mut known, mut n_partial) = (HashSet::new(), 0);
    let open = attempts.iter().rev().filter_map(|attempt| {
        let Some(id) = attempt.task_id.as_deref() else {
            let read = || journal::attempt(workspace, catalogs, &attempt.id);
            let failed_at = attempt.started_at;
            let attempt = NumberedAttempt {
                id: attempt.id.clone(),
                number: 1,
                n_alike: 0,
                attempt: is_news(attempt).then(read)??,
            };
            return Some(OpenTask { id: None, streak: 1, failed_at, last: attempt });
        };
        if !known.insert(id) {
            return None;
        }
        let of_task = &of_task[id];
        let failed = history::streak(of_task);
        let mut shown: Vec<_> = failed.iter().rev().copied().collect();
        if let Some(last) = of_task.last().filter(|last| failed.is_empty() && last.head.outcome == Outcome::Partial) {
            n_partial += 1;
            shown.extend((n_partial <= MAX_PARTIAL).then_some((of_task.len() - 1, *last)));
        }
        // Of two that say equally much, the minimum is the first one, which is newer.
        let (number, last) = shown.iter().min_by_key(|(_, attempt)| Reverse(attempt.head.account))?;
        let attempt = journal::attempt(workspace, catalogs, &last.id)?;
        Some(OpenTask {
            id: Some(id.to_owned()),
            streak: u32::try_from(failed.len()).unwrap_or(u32::MAX),
            failed_at: shown[0].1.started_at,
            last: NumberedAttempt { id: last.id.clone(), number: number + 1, n_alike: 0, attempt },
        })
    });
    let mut open: Vec<OpenTask> = open.take(MAX_OPEN + 1).collect();
    open.sort_by_key(|task| task.streak == 0);
    open
}
