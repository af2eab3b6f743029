//! A year of a project, from a seed number: runs, iterations, tidying up, and knowledge that comes bit by bit.
//!
//! What matters is planted: the entries of the golden set, which people judged useful for tasks that are
//! worded otherwise. Around it grow short notes on all and sundry. In the end the memory must still put what
//! matters before the tasks that need it, and no context was ever over its budget.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ralph_memory::context::{Budget, Request};
use ralph_memory::entry::Outcome;
use ralph_memory::memory::{Report, Run};
use ralph_memory::{Id, Knowledge, Memory, Task};

use crate::random::Random;

/// How large a year is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// How many days it has.
    pub(crate) days: u64,
    /// Runs in these days.
    pub(crate) runs: usize,
    /// Iterations of all runs.
    pub(crate) iterations: usize,
    /// Knowledge entries that are written, those that are planted included.
    pub(crate) knowledge: usize,
    /// Of so many judged tasks one is asked for.
    pub(crate) one_in: usize,
}

/// What came of a year.
#[derive(Debug, Default)]
pub(crate) struct Year {
    /// Of the entries that a task needs, how many its context has in the end.
    pub(crate) recall: f64,
    /// How many it has in a memory with nothing but what is planted.
    pub(crate) recall_at_the_start: f64,
    /// Of these, how many it still has in the end.
    pub(crate) still_retrieved: f64,
    /// How many pairs of a task and an entry that it needs there are.
    pub(crate) pairs: usize,
    /// The largest context, in characters, and what it may have at most.
    pub(crate) largest: usize,
    pub(crate) budget: usize,
    /// How many entries are live in the end, and how many went to the archive.
    pub(crate) live: usize,
    pub(crate) archived: usize,
    /// How many of the planted ones are in the archive.
    pub(crate) planted_archived: usize,
}

/// A task of the golden set, with the entries that it needs.
struct Judged {
    task: Task,
    needed: BTreeSet<String>,
}

/// The grade of an entry that a task needs.
const NEEDED: f64 = 2.0;

fn judged(golden: &Path) -> Vec<Judged> {
    let text = fs::read_to_string(golden.join("tasks.jsonl")).unwrap();
    let judged = |line: &str| {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        let files =
            task["files"].as_array().into_iter().flatten().map(|file| file.as_str().unwrap().to_owned()).collect();
        let relevant: BTreeMap<String, f64> = serde_json::from_value(task["relevant"].clone()).unwrap();
        Judged {
            task: Task {
                description: text("description"),
                feature: task["feature"].as_str().map(str::to_owned),
                files,
                ..Task::new(text("title"))
            },
            needed: relevant.into_iter().filter(|(_, grade)| *grade >= NEEDED).map(|(id, _)| id).collect(),
        }
    };
    text.lines().map(judged).collect()
}

/// Returns the entries of the golden set, in the order of their names.
fn planted(golden: &Path) -> Vec<(String, Knowledge)> {
    let mut files: Vec<_> =
        fs::read_dir(golden.join(".ralph/knowledge")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let entry = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let entry = ralph_memory::internals::entry::read(&format!("knowledge/{name}"), &fs::read(path).unwrap());
        let head = entry.head;
        let id = format!("knowledge/{}", name.trim_end_matches(".md"));
        let knowledge = Knowledge {
            category: head.category,
            feature: head.feature,
            files: head.files,
            ..Knowledge::new(head.title, head.tags, entry.body.trim())
        };
        (id, knowledge)
    };
    files.iter().map(entry).collect()
}

/// Words of which notes on all and sundry are made: subject, tool and what one does with it.
const TOOLS: [(&str, &[&str]); 10] = [
    ("vim", &["buffer", "register", "macro", "fold", "quickfix", "motion", "spellcheck"]),
    ("git", &["rebase", "stash", "bisect", "worktree", "reflog", "hunk", "submodule"]),
    ("postgres", &["index", "vacuum", "enum", "lateral join", "extension", "window function", "upsert"]),
    ("ruby", &["block", "hash", "struct", "refinement", "enumerator", "symbol", "heredoc"]),
    ("tmux", &["pane", "session", "layout", "prefix", "status line", "copy mode", "popup"]),
    ("css", &["grid", "flexbox", "selector", "gradient", "transition", "media query", "variable"]),
    ("react", &["hook", "effect", "reducer", "ref", "memo", "context", "portal"]),
    ("unix", &["pipe", "cron job", "signal", "file descriptor", "locale", "shebang", "umask"]),
    ("elixir", &["process", "supervisor", "pattern match", "genserver", "stream", "sigil", "atom"]),
    ("docker", &["layer", "volume", "network", "entrypoint", "build stage", "healthcheck", "tag"]),
];
const VERBS: [&str; 8] = ["Rename", "List", "Undo", "Inspect", "Speed up", "Escape", "Combine", "Default"];
const WAYS: [&str; 6] = [
    "There is a flag for it that few know; it takes the name first and the value behind it.",
    "The manual hides it below the options: give it twice and it also shows what it skipped.",
    "It works from any folder, but only once the configuration was read again.",
    "Beware that the old syntax still parses and does something else.",
    "Of several the last one wins, which surprised everyone.",
    "A short alias saves the typing, and a test the embarrassment.",
];

fn note(random: &mut Random, number: usize) -> Knowledge {
    let (tool, things) = random.pick(&TOOLS);
    let (thing, verb, way) = (random.pick(things), random.pick(&VERBS), random.pick(&WAYS));
    let category = random.pick(&["tool_usage", "pitfall", "", "", "other"]);
    Knowledge {
        category: Some((*category).to_owned()).filter(|category| !category.is_empty()),
        ..Knowledge::new(
            format!("{verb} a {thing} in {tool}, no. {number}"),
            [*tool, thing],
            format!("To {} a {thing} with {tool}: {way}\n\nSeen on day {number}.", verb.to_lowercase()),
        )
    }
}

/// Returns how many pairs there are of a task and an entry that it needs, and those of which the task's context
/// has the entry. One that became part of another is found where it is now.
fn needed(memory: &Memory, judged: &[Judged], names: &BTreeMap<String, Id>) -> (usize, BTreeSet<(usize, String)>) {
    let mut found = BTreeSet::new();
    let mut all = 0;
    for (number, Judged { task, needed }) in judged.iter().enumerate() {
        let context = memory.context(&Request { task: task.clone(), ..Request::default() }).unwrap();
        for id in needed {
            let own = &names[id];
            let by = memory.show(own).unwrap().entry.superseded_by;
            all += 1;
            if context.entries.iter().any(|shown| shown == own || by.contains(shown)) {
                found.insert((number, id.clone()));
            }
        }
    }
    (all, found)
}

/// Lives through a year in a folder, which gets a memory. `golden` is the folder of the golden set.
pub(crate) fn live(folder: &Path, golden: &Path, size: Size, seed: u64) -> Year {
    let mut random = Random(seed);
    let seconds = Arc::new(AtomicU64::new(1_767_225_600));
    let own = Arc::clone(&seconds);
    Memory::init(folder).unwrap();
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(own.load(Ordering::SeqCst));
    let memory = Memory::open(folder).unwrap().with_clock(clock);
    let planted = planted(golden);
    let judged: Vec<Judged> = judged(golden).into_iter().step_by(size.one_in).collect();
    let budget = 27_000;
    let at_the_start = {
        let folder = folder.join("planted");
        fs::create_dir(&folder).unwrap();
        Memory::init(&folder).unwrap();
        let memory = Memory::open(&folder).unwrap();
        let names = planted.iter().map(|(id, knowledge)| (id.clone(), memory.add(knowledge).unwrap().id)).collect();
        needed(&memory, &judged, &names).1
    };
    let mut year = Year { budget, ..Year::default() };

    // What is written when: everything that matters within the first ten months, the rest whenever.
    let mut plan: Vec<(usize, usize)> = Vec::new();
    for number in 0..size.knowledge {
        let share = if number < planted.len() { 10 } else { 12 };
        plan.push((random.below(size.iterations * share / 12), number));
    }
    plan.sort_unstable();
    let mut plan = plan.into_iter().peekable();
    let mut names: BTreeMap<String, Id> = BTreeMap::new();
    let step = size.days * 24 * 3600 / size.iterations as u64;
    for iteration in 0..size.iterations {
        seconds.fetch_add(step, Ordering::SeqCst);
        while let Some((_, number)) = plan.next_if(|(at, _)| *at <= iteration) {
            match planted.get(number) {
                Some((id, knowledge)) => {
                    let added = memory.add(knowledge).unwrap();
                    names.insert(id.clone(), added.id);
                }
                None => drop(memory.add(&note(&mut random, number)).unwrap()),
            }
        }
        let run = Run::named(format!("run-{:08x}", iteration * size.runs / size.iterations));
        // One of three tasks is an ordinary one, that nothing was planted for.
        let task = if random.below(3) < 2 {
            random.pick(&judged).task.clone()
        } else {
            let (tool, things) = random.pick(&TOOLS);
            Task::new(format!("{} the {} of our {tool} setup", random.pick(&VERBS), random.pick(things)))
        };
        let begun = memory.begin(&task, &run).unwrap();
        let instructions = ralph_memory::internals::Instructions::new(begun.task_id()).text();
        let cost = Budget::characters(0).cost(&begun.context) - Budget::characters(0).cost(&instructions);
        year.largest = year.largest.max(cost);
        assert!(cost <= budget, "seed {seed}: the context of iteration {iteration} has {cost} characters");
        let outcome = *random.pick(&[Outcome::Done, Outcome::Done, Outcome::Failed, Outcome::Blocked]);
        let report = Report { outcome: Some(outcome), duration_secs: Some(60.0), ..Report::default() };
        memory.finish(&begun, &report).unwrap();
        let is_last_of_run = (iteration + 1) * size.runs / size.iterations != iteration * size.runs / size.iterations;
        if is_last_of_run {
            memory.tidy(false).unwrap();
        }
    }

    let archived = |id: &Id| memory.show(id).unwrap().entry.summary.archived;
    year.planted_archived = names.values().filter(|id| archived(id)).count();
    let status = memory.status();
    (year.live, year.archived) = (status.counts.knowledge, status.counts.archive);
    let (all, at_the_end) = needed(&memory, &judged, &names);
    let still = at_the_end.intersection(&at_the_start).count();
    #[expect(clippy::cast_precision_loss, reason = "there are some hundreds")]
    let share = |found: usize, of: usize| found as f64 / of as f64;
    year.pairs = all;
    year.recall = share(at_the_end.len(), all);
    year.recall_at_the_start = share(at_the_start.len(), all);
    year.still_retrieved = share(still, at_the_start.len());
    year
}
