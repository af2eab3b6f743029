//! What the hook at calls of tools says: at each error of a generated year that came back, and in sessions about other
//! things, where it has to be silent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;

use ralph_memory::context::Budget;
use ralph_memory::entry::{Files, Outcome, Sections, Validation};
use ralph_memory::internals::entry::line_fingerprint;
use ralph_memory::memory::{HookCall, HookEvent, Report, Run};
use ralph_memory::{Knowledge, Memory, Task};
use serde_json::{Value, json};

use crate::briefings::Year;
use crate::briefings::story::{DAYS, Planned};
use crate::random::Random;

#[path = "hints/outputs.rs"]
mod outputs;

/// The limits of what is said, in tokens and items.
const MAX_TOKENS: usize = 120;
const MAX_OF_CALL: usize = 3;
const MAX_OF_SESSION: usize = 8;
/// An error of more tasks than this says nothing.
const MAX_TASKS: usize = 3;
/// The least share of the known errors at which it has to speak, and the largest share of other calls, in percent.
const LEAST_SPOKEN: usize = 90;
const MOST_ELSEWHERE: usize = 2;
/// How many calls a session about other things has.
const CALLS: usize = 25;
/// How many attempts of the journal failed with outputs of the same kinds of programs.
const FAILED_BEFORE: usize = 150;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// How many failures of the year had an error that the journal had before.
    pub(crate) came_back: usize,
    /// Of these, how many are told apart by nothing, or are of more than three tasks.
    pub(crate) untold: usize,
    pub(crate) shared: usize,
    /// At how many of the others it spoke.
    pub(crate) spoken: usize,
    /// How many of the others had been solved, and at how many it said by what.
    pub(crate) solved: usize,
    pub(crate) named: usize,
    /// The calls of sessions about other things, and how many of them are failures.
    pub(crate) calls: usize,
    pub(crate) failures: usize,
    /// What was said there, with the output.
    pub(crate) elsewhere: Vec<String>,
    /// The tokens of a session in which it spoke: of the year, and of those that read everything that anybody changed.
    pub(crate) median: usize,
    pub(crate) largest: usize,
    pub(crate) median_of_busy: usize,
    pub(crate) largest_of_busy: usize,
}

/// Calls a hook, and returns the text for the agent. What it says keeps the limits.
fn fire(year: &Year, event: HookEvent, session: &str, more: &Value) -> String {
    let mut input = json!({"session_id": session, "cwd": year.folder});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let call = HookCall::new(event, Some("claude"), input.to_string().as_bytes(), &|_| None).unwrap();
    // Files of sessions have times of this machine, so the hook has its clock, too.
    let answer = Memory::open(&year.folder).unwrap().hook(&call, &|| false);
    assert_eq!(answer.notes, [""; 0], "{input}");
    let answer: Value = serde_json::from_str(&answer.output).unwrap_or_default();
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned();
    if event == HookEvent::Tool {
        let items: Vec<&str> = text.lines().skip(2).collect();
        assert!(items.len() <= MAX_OF_CALL && items.iter().all(|item| tokens(item) <= MAX_TOKENS), "{text}");
    }
    text
}

fn tokens(text: &str) -> usize {
    Budget::tokens(0).cost(text)
}

fn fails(year: &Year, session: &str, command: &str, output: &str) -> String {
    let more = json!({
        "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": command},
        "error": format!("Exit code 1\n{output}"),
    });
    fire(year, HookEvent::Tool, session, &more)
}

fn reads(year: &Year, session: &str, file: &str) -> String {
    let more = json!({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {"file_path": file}});
    fire(year, HookEvent::Tool, session, &more)
}

/// The failures of an error until now: their tasks, and whether each was done later.
#[derive(Default)]
struct Known {
    tasks: BTreeMap<usize, bool>,
}

/// Lives through the first days of a year, and meets each failure with the hook before it is recorded. Then works for
/// `calls` calls on other things.
pub(crate) fn run(folder: &Path, days: usize, calls: usize, seed: u64) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let mut year = Year::begin(folder, seed);
    year.has_files = true;
    let (mut known, mut of_sessions): (BTreeMap<u64, Known>, Vec<usize>) = (BTreeMap::new(), Vec::new());
    for day in 0..days.min(DAYS) {
        fire(&year, HookEvent::SessionStart, &format!("day-{day}"), &json!({"source": "startup"}));
        year.live(day, &mut |year, plan| meet(year, plan, &mut known, &mut outcomes, &mut of_sessions));
    }
    (outcomes.median, outcomes.largest) = middle_and_end(of_sessions);
    let told = outcomes.came_back - outcomes.untold - outcomes.shared;
    assert!(outcomes.spoken * 100 >= told * LEAST_SPOKEN, "seed {seed}: {outcomes:?}");
    assert!(outcomes.named * 100 >= outcomes.solved * LEAST_SPOKEN, "seed {seed}: {outcomes:?}");
    busy_sessions(&year, &mut outcomes);
    elsewhere(&year, calls, seed, &mut outcomes);
    assert!(outcomes.elsewhere.len() * 100 <= outcomes.calls * MOST_ELSEWHERE, "seed {seed}: {outcomes:#?}");
    outcomes
}

fn middle_and_end(mut of_sessions: Vec<usize>) -> (usize, usize) {
    of_sessions.sort_unstable();
    (of_sessions[of_sessions.len() / 2], of_sessions[of_sessions.len() - 1])
}

/// An attempt of the year fails, or does its task.
fn meet(
    year: &Year,
    plan: &Planned,
    known: &mut BTreeMap<u64, Known>,
    outcomes: &mut Outcomes,
    of_sessions: &mut Vec<usize>,
) {
    let Some(failure) = &plan.failure else {
        let is_done = plan.outcome == Outcome::Done;
        known.values_mut().filter_map(|known| known.tasks.get_mut(&plan.task)).for_each(|done| *done |= is_done);
        return;
    };
    let session = format!("attempt-{}", year.past.len());
    let output =
        format!("running the tests\n12 passed\n{}\nmake: *** [Makefile:12: test] Error 2\n", failure.error.line);
    let text = fails(year, &session, "make test", &output);
    assert_eq!(fails(year, &session, "make test", &output), "", "each item comes once in a session");
    if !text.is_empty() {
        of_sessions.push(tokens(&text));
    }
    // Without a fingerprint, lines are told apart by their words.
    let fingerprint = line_fingerprint(&failure.error.line);
    let line: String = failure.error.line.chars().filter(|character| !character.is_ascii_digit()).collect();
    let key = fingerprint.unwrap_or_else(|| line.bytes().map(u64::from).sum());
    let before = known.entry(key).or_default();
    if before.tasks.is_empty() {
        assert_eq!(text, "", "nobody knew {}", failure.error.line);
    } else {
        outcomes.came_back += 1;
        if fingerprint.is_none() {
            outcomes.untold += 1;
        } else if before.tasks.len() > MAX_TASKS {
            outcomes.shared += 1;
        } else {
            let is_solved = before.tasks.values().any(|is_done| *is_done);
            outcomes.spoken += usize::from(text.contains("failed with this error"));
            outcomes.solved += usize::from(is_solved);
            outcomes.named += usize::from(is_solved && text.contains("A later one succeeded"));
        }
        assert!(text.is_empty() || before.tasks.len() <= MAX_TASKS, "{text}");
    }
    // It failed again, so what did the task before is not the end of it.
    before.tasks.entry(plan.task).or_default();
}

/// Sessions that read what anybody changed, which are told most.
fn busy_sessions(year: &Year, outcomes: &mut Outcomes) {
    let files: BTreeSet<&String> = year.past.iter().flat_map(|past| &year.story.tasks[past.plan.task].files).collect();
    let files: Vec<&String> = files.into_iter().collect();
    let mut of_sessions = Vec::new();
    for (number, files) in files.chunks(15).enumerate() {
        let said = files.iter().map(|file| reads(year, &format!("busy-{number}"), file));
        let said: Vec<String> = said.filter(|text| !text.is_empty()).collect();
        let n_items: usize = said.iter().map(|text| text.lines().skip(2).count()).sum();
        assert!(n_items <= MAX_OF_SESSION, "{said:?}");
        of_sessions.push(said.iter().map(|text| tokens(text)).sum());
    }
    (outcomes.median_of_busy, outcomes.largest_of_busy) = middle_and_end(of_sessions);
}

/// Sessions about other things, in a memory that has seen programs of the same kinds fail.
fn elsewhere(year: &Year, calls: usize, seed: u64, outcomes: &mut Outcomes) {
    let mut random = Random(seed.wrapping_mul(7_919));
    for number in 0..FAILED_BEFORE {
        let (command, output) = outputs::failure(&mut random);
        let task = Task::new(format!("Move {} to the new shop, part {number}", outputs::module(&mut random)));
        let open = year.memory.begin(&task, &Run::named("run-99999999")).unwrap();
        let sections = Sections {
            what_tried: "Moved the module as it was.".to_owned(),
            why_failed: "The new shop has other types.".to_owned(),
            validation_output: output,
            ..Sections::default()
        };
        let files = Files { modified: vec![format!("shop/{}.rs", outputs::module(&mut random))], ..Files::default() };
        let validation = Some(Validation { command: command.to_owned(), exit_code: 1, duration_ms: 9_000 });
        let outcome = Some(Outcome::Failed);
        year.memory.finish(&open, &Report { outcome, sections, files, validation, ..Report::default() }).unwrap();
        year.seconds.fetch_add(60, Ordering::SeqCst);
        if number % 4 == 0 {
            let title = format!("Part {number} has a trap");
            let files = vec![format!("shop/{}.rs", outputs::module(&mut random))];
            let category = Some("pitfall".to_owned());
            let pitfall =
                Knowledge::new(title, ["shop"], format!("It is read twice, by part {number} and by the next."));
            year.memory.add(&Knowledge { category, files, ..pitfall }).unwrap();
        }
    }
    for number in 0..calls {
        let session = format!("other-{}", number / CALLS);
        if number % CALLS == 0 {
            fire(year, HookEvent::SessionStart, &session, &json!({"source": "startup"}));
        }
        outcomes.calls += 1;
        let (text, what) = match random.below(3) {
            0 => {
                outcomes.failures += 1;
                let (command, output) = outputs::failure(&mut random);
                (fails(year, &session, command, &output), output)
            }
            1 => {
                let (command, output) = outputs::success(&mut random);
                let more = json!({
                    "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command},
                    "tool_response": {"stdout": output},
                });
                (fire(year, HookEvent::Tool, &session, &more), output)
            }
            _ => {
                let file = format!("web/{}.ts", outputs::module(&mut random));
                (reads(year, &session, &file), file)
            }
        };
        if !text.is_empty() {
            outcomes.elsewhere.push(format!("{what}{text}"));
        }
    }
}
