//! The commands that run in hostile clones, and how they are dealt.

use super::repository::{CLIENTS, NAMES, OUTER_LINKS, SEALS};
use crate::random::Random;

/// A command, and what it reads.
pub(crate) struct Step {
    pub(crate) arguments: &'static [&'static str],
    pub(super) input: &'static str,
    /// Whether its answer is the same wherever and whenever it is asked.
    pub(super) is_compared: bool,
    /// Whether it names a run at random, so that answers behind it differ.
    pub(super) is_random: bool,
    /// Whether it goes on until it is ended, which happens after its first line.
    pub(super) is_endless: bool,
}

const fn asks(arguments: &'static [&'static str]) -> Step {
    Step { arguments, input: "", is_compared: true, is_random: false, is_endless: false }
}

const fn does(arguments: &'static [&'static str], input: &'static str) -> Step {
    Step { arguments, input, is_compared: false, is_random: false, is_endless: false }
}

const fn begins_a_run(arguments: &'static [&'static str], input: &'static str) -> Step {
    Step { arguments, input, is_compared: false, is_random: true, is_endless: false }
}

const fn goes_on(arguments: &'static [&'static str]) -> Step {
    Step { arguments, input: "", is_compared: false, is_random: false, is_endless: true }
}

const SAID: &str = "<journal>It parses.</journal>\n<knowledge tags=\"nightly\" title=\"Note 3 old\">Not so.</knowledge>\n\
                    <learning category=\"pitfall\" tags=\"unicode\">Mind the BOM.</learning>\n<task-done>t-1</task-done>\n";

/// An agent that has done its task, which is ticked in the checklist.
const DONE: &str = "echo <task-done>{task_id}</task-done>";
/// An export whose entry has a path that leads elsewhere.
const STREAM: &str = "{\"program\":\"ralph-memory\",\"schema_version\":1,\"type\":\"begin\"}\n\
                      {\"body\":\"x\",\"path\":\"knowledge/../../../outside/x.md\",\"type\":\"entry\"}\n";

/// Commands, most of them in several ways; beside them the server for agents runs, which is asked everything, and that for
/// browsers, which is visited. Names in braces stand for those of the clone.
pub(crate) const STEPS: [Step; 128] = [
    asks(&["search", "nightly toolchain", "--limit", "50", "--json"]),
    asks(&["search", "zebra giraffe lion", "--limit", "50", "--json"]),
    asks(&["search", "old words", "--archived", "--explain", "--json"]),
    asks(&["list", "--json"]),
    asks(&["list", "--archived", "--json"]),
    does(&["list"], ""),
    asks(&["list", "--never-helped", "--sort", "used", "--json"]),
    asks(&["log", "--limit", "50", "--json"]),
    does(&["log", "--full"], ""),
    asks(&["stats", "--json"]),
    does(&["stats"], ""),
    asks(&["show", "task:t-1", "--json"]),
    does(&["show", "run:run-0000000a"], ""),
    asks(&["show", "note-1", "--json"]),
    asks(&["show", "hostile-0", "--json"]),
    does(&["show", "linked"], ""),
    asks(&[
        "context",
        "--task",
        "Use the nightly toolchain",
        "--task-id",
        "t-1",
        "--run",
        "run-0000000a",
        "--dry-run",
        "--json",
    ]),
    does(&["context", "--task", "Use the nightly toolchain"], ""),
    asks(&["context", "--json"]),
    begins_a_run(&["context", "--task", "Use the nightly toolchain", "--task-id", "t-1"], ""),
    begins_a_run(&["record", "--task-id", "t-1"], SAID),
    asks(&["context", "--task", "Use it", "--task-id", "t-2", "--run", "run-0000000c", "--json"]),
    does(&["record", "--run", "run-0000000c", "--json"], SAID),
    does(&["record", "--run", "run-0000000d", "--task-id", "t-3", "--outcome", "failed"], "No."),
    begins_a_run(&["run", "--task", "Use it", "--agent", "cat", "--verify", "true", "--max-iterations", "2"], ""),
    begins_a_run(&["run", "--resume", "--agent", "cat", "--max-iterations", "1"], ""),
    does(&["--quiet"], ""),
    asks(&["--json"]),
    does(&["check"], ""),
    does(&["check", "--json"], ""),
    does(&["check", "--strict", "--format", "json"], ""),
    does(&["check", "--format", "sarif"], ""),
    does(&["check", "--format", "github"], ""),
    asks(&["add", "Added", "--tags", "nightly", "--body", "It is new.", "--json"]),
    asks(&["add", "Another", "--tags", "old", "--body", "It is another.", "--json"]),
    asks(&["add", "--event", "decision", "We take it.", "--json"]),
    asks(&["edit", "note-6", "--supersedes", "note-4", "--json"]),
    asks(&["edit", "note-7", "--scope", "feature:x", "--json"]),
    asks(&["tidy", "--dry-run", "--json"]),
    asks(&["tidy", "--json"]),
    does(&["restore", "note-4"], ""),
    does(&["edit", "note-3", "--title", "A note with another title"], ""),
    does(&["edit", "note-4"], ""),
    does(&["archive", "note-4"], ""),
    asks(&["undo", "--list", "--json"]),
    does(&["undo"], ""),
    does(&["index"], ""),
    does(&["index", "--rebuild"], ""),
    does(&["init"], ""),
    does(&["check", "--register-merge-driver"], ""),
    does(&["merge-driver", "--path", ".ralph/knowledge/note-1.md", "../base", "../ours", "../theirs"], ""),
    does(&["hook", "session-start"], r#"{"session_id": "s-1", "source": "startup", "transcript_path": "/dev/zero"}"#),
    does(&["hook", "prompt"], r#"{"session_id": "s-1", "prompt": "Which nightly toolchain do the old notes use?"}"#),
    does(&["hook", "stop"], r#"{"session_id": "s-1", "last_assistant_message": "<task-failed>t-9</task-failed>"}"#),
    does(&["hook", "session-end"], r#"{"session_id": "s-1", "transcript_path": "/dev/zero"}"#),
    does(&["import", "rules", "--dry-run"], ""),
    does(&["import", "sections"], ""),
    does(&["import", "rules"], ""),
    does(&["import", "claude-memory"], ""),
    does(&["import", "adr"], ""),
    does(&["import", "adr", "docs/decisions", "--tag", "{tag}"], ""),
    does(&["import", "memory-bank"], ""),
    does(&["import", "jsonl", "memories.jsonl", "--body-field", "text"], ""),
    does(&["import", "ralph", "memory.db"], ""),
    does(&["import", "transcripts"], ""),
    does(&["import", "export", "-"], STREAM),
    does(&["setup", "{client}", "--check"], ""),
    does(&["setup", "{client}", "--check", "--json"], ""),
    does(&["setup", "{client}"], ""),
    does(&["setup", "{client}", "--allow-tools", "--each-prompt"], ""),
    does(&["setup", "{client}", "--remove"], ""),
    does(&["setup", "{client}", "--scope", "user"], ""),
    does(&["setup", "{client}", "--scope", "user", "--remove"], ""),
    does(&["setup", "--check"], ""),
    does(&["setup", "--dry-run"], ""),
    does(&["setup", "--yes"], ""),
    does(&["setup", "--remove", "--yes"], ""),
    does(&["check", "--fix"], ""),
    does(&["check", "--fix", "--json"], ""),
    does(&["export"], ""),
    does(&["man", "manual"], ""),
    does(&["complete", "--", "show", ""], ""),
    does(&["complete", "--shell", "bash", "--", "ralph-memory list --tag "], ""),
    does(&["complete", "--shell", "zsh", "--", "log", "--task", ""], ""),
    does(&["complete", "--shell", "fish", "--", "archive", ""], ""),
    does(&["undo", "--dry-run"], ""),
    does(&["undo", "900"], ""),
    does(&["undo", "--clear"], ""),
    does(&["log", "--follow", "--run", "run-0000000b"], ""),
    does(&["log", "--follow", "--json", "--run", "{run}"], ""),
    does(&["log", "--task", "{task}", "--full"], ""),
    does(&["log", "--feature", "{feature}", "--json"], ""),
    goes_on(&["watch", "--json"]),
    goes_on(&["serve", "--port", "0", "--json"]),
    begins_a_run(&["run", "--task-file", "TODO.md", "--agent", DONE, "--max-iterations", "2"], ""),
    begins_a_run(
        &["run", "--task-file", "TODO.md", "--agent", "cat {prompt_file}", "--max-iterations", "1", "--log", "logs"],
        "",
    ),
    begins_a_run(
        &["run", "--task", "{title}", "--agent", "cat", "--feature", "{feature}", "--max-iterations", "1"],
        "",
    ),
    begins_a_run(&["run", "--resume", "--max-iterations", "1"], ""),
    does(&["show", "{entry}"], ""),
    does(&["show", "{entry}", "--json"], ""),
    does(&["show", "knowledge/{entry}"], ""),
    does(&["show", "task:{task}"], ""),
    does(&["show", "{task}"], ""),
    does(&["show", "run:{run}"], ""),
    does(&["show", "{run}", "--json"], ""),
    does(&["show", "../../etc/passwd"], ""),
    does(&["show", ""], ""),
    does(&["show", "knowledge/"], ""),
    does(&["show", "task:"], ""),
    does(&["show", "archive/knowledge/{entry}"], ""),
    does(&["list", "--tag", "{tag}"], ""),
    does(&["list", "--feature", "{feature}", "--archived", "--json"], ""),
    does(&["search", "{title}"], ""),
    does(&["archive", "--", "{entry}"], ""),
    does(&["restore", "--", "{entry}"], ""),
    does(&["edit", "--supersedes={entry}", "--", "{entry}"], ""),
    does(&["edit", "--scope=section:{feature}", "--", "{entry}"], ""),
    does(&["edit", "--title={title}", "--", "{entry}"], ""),
    does(&["edit", "--", "{entry}"], ""),
    does(&["add", "Pair 0 {title}", "--tags", "nightly", "--body", "About {title} and nightly."], ""),
    does(&["add", "Another note", "--tags", "nightly", "--body", "It is.", "--supersedes", "{entry}"], ""),
    does(&["context", "--task", "{title}", "--feature", "{feature}"], ""),
    does(&["context", "--task", "{title}", "--run", "run-0000000e"], ""),
    begins_a_run(&["record", "--task-id", "{task}"], SAID),
    does(&["merge-driver", "--path", ".ralph/archive/knowledge/{entry}.md", "../base", "../ours", "../theirs"], ""),
    does(&["completions", "bash"], ""),
    does(&["man", "../man"], ""),
    does(&["--help"], ""),
];

/// How many steps of a small clone are of its kind; the others are any.
pub(super) const OF_KIND: usize = 2;
pub(super) const ANY: usize = 2;

/// Returns whether a step is about what a kind of clone has.
fn is_about(step: &Step, kind: &str) -> bool {
    let asks_for =
        |places: &[&str]| step.arguments.iter().any(|argument| places.iter().any(|place| argument.contains(place)));
    let is_one_of = |commands: &[&str]| commands.contains(&step.arguments[0]);
    match kind {
        NAMES => {
            asks_for(&["{entry}", "{task}", "{run}", "{tag}", "{feature}", "{title}"])
                || is_one_of(&["check", "--quiet", "--json", "complete", "tidy", "hook"])
        }
        CLIENTS => is_one_of(&["setup"]),
        OUTER_LINKS => is_one_of(&["setup", "man", "import", "init", "check"]) || asks_for(&["TODO.md"]),
        SEALS => {
            is_one_of(&["record", "--quiet", "--json", "undo", "watch", "serve", "hook"])
                || asks_for(&["--resume", "--follow", "run-0000000b"])
        }
        _ => true,
    }
}

/// Deals steps for small clones: of each kind, and of all, each comes once before one comes again.
pub(super) struct Hand {
    kinds: std::collections::BTreeMap<&'static str, Vec<&'static Step>>,
}

impl Hand {
    pub(super) fn new() -> Hand {
        Hand { kinds: std::collections::BTreeMap::new() }
    }

    /// Returns a step that is about this kind.
    pub(super) fn deal(&mut self, kind: &'static str, random: &mut Random) -> &'static Step {
        let left = self.kinds.entry(kind).or_default();
        if left.is_empty() {
            left.extend(STEPS.iter().filter(|step| is_about(step, kind)));
        }
        left.swap_remove(random.below(left.len()))
    }
}
