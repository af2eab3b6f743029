//! The commands of the campaign, and their memory.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ralph_memory::entry::{self, Outcome as Ended};
use ralph_memory::memory::{EntryChanges, Report, Run};
use ralph_memory::{Id, Knowledge, Memory, Request, Source, Task};

use super::{Files, opened};

/// When the commands run.
pub(super) const NOW: &str = "2026-11-20T10:00:00Z";
/// What an agent says in the end.
const SAID: &str = "<journal>It parses.</journal>\n<learning category=\"pitfall\" tags=\"unicode\">Mind the BOM.</learning>\n\
                    <task-done>t-parser</task-done>\n";

/// A command, and what it is to do.
pub(crate) struct Case {
    /// What it is called here.
    pub(crate) name: &'static str,
    pub(super) arguments: &'static [&'static str],
    /// What is run first, so that it has something to do.
    pub(super) first: Option<&'static [&'static str]>,
    pub(super) input: &'static str,
    /// Whether it did what it was asked, which is looked at where it did not do exactly what it does on a good
    /// day.
    pub(super) is_done: fn(&Files) -> bool,
    /// Whether it has several steps, each of which stays done when a later one fails.
    pub(super) in_steps: bool,
    /// Whether it writes the cache in a way that no command before it does.
    pub(super) writes_cache: bool,
    /// Whether leftovers of a failed first try are still visible after a second one, and reported.
    pub(super) leaves_a_trace: bool,
}

impl Case {
    const fn new(name: &'static str, arguments: &'static [&'static str], is_done: fn(&Files) -> bool) -> Case {
        Case {
            name,
            arguments,
            first: None,
            input: "",
            is_done,
            in_steps: false,
            writes_cache: false,
            leaves_a_trace: false,
        }
    }
}

const UPDATE: &[&str] = &["add", "Cargo bench requires nightly", "--tags", "cargo,nightly", "--body", "Not any more."];
const RENAME: &[&str] = &["edit", "the-parser-is-slow", "--title", "The lexer is slow"];
/// The editor of `edit`.
pub(super) const EDITOR: (&str, &str) = ("EDITOR", "/bin/sed -i 's/the lexer[.]/the printer./'");

/// The commands that write, in the order in which one would use them.
pub(crate) const CASES: [Case; 18] = [
    Case { in_steps: true, ..Case::new("init", &["init"], |files| files.contains_key(".ralph/config.toml")) },
    Case {
        writes_cache: true,
        ..Case::new("add, new", &["add", "Zebras have stripes", "--tags", "zebra", "--body", "Black ones."], |files| {
            has(files, ".ralph/knowledge/", "Black ones.")
        })
    },
    Case::new("add, update", UPDATE, |files| has(files, ".ralph/knowledge/", "Not any more.")),
    Case::new("note", &["add", "--event", "decision", "We take markdown."], |files| {
        has(files, ".ralph/knowledge/events/", "We take markdown.")
    }),
    Case::new("supersede", &["edit", "cargo-bench-requires-nightly", "--supersedes", "sockets-time-out"], |files| {
        has(files, ".ralph/knowledge/cargo", "supersedes: [knowledge/sockets-time-out]")
    }),
    Case::new("promote", &["edit", "sockets-time-out", "--scope", "feature:network"], |files| {
        has(files, ".ralph/knowledge/sockets", "feature:network")
    }),
    Case {
        writes_cache: true,
        ..Case::new("restore", &["restore", "2026-09-28-for-a-day"], |files| {
            has(files, ".ralph/knowledge/events/", "For a day.")
        })
    },
    Case::new("restore, of a live entry", &["restore", "the-parser-is-slow"], |files| {
        has(files, ".ralph/knowledge/", "It is the parser.")
    }),
    Case {
        in_steps: true,
        leaves_a_trace: true,
        ..Case::new("rename", RENAME, |files| has(files, ".ralph/knowledge/", "title: \"The lexer is slow\""))
    },
    Case {
        in_steps: true,
        leaves_a_trace: true,
        ..Case::new("edit", &["edit", "the-parser-is-slow"], |files| {
            has(files, ".ralph/knowledge/", "It is the printer.")
        })
    },
    Case {
        first: Some(RENAME),
        ..Case::new("undo", &["undo"], |files| has(files, ".ralph/knowledge/the-parser-is-slow.md", "It is the lexer."))
    },
    Case {
        first: Some(UPDATE),
        ..Case::new("undo, of an update", &["undo"], |files| {
            has(files, ".ralph/knowledge/cargo", "Use `cargo") && !has(files, ".ralph/knowledge/", "Not any more.")
        })
    },
    Case::new("archive", &["archive", "sockets-time-out", "tables-are-many"], |files| {
        ["After 30 seconds.", "One for each kind."].iter().all(|text| has(files, ".ralph/archive/", text))
    }),
    Case {
        in_steps: true,
        leaves_a_trace: true,
        ..Case::new("tidy", &["tidy"], |files| {
            // What cannot be read now is left alone, and what became part of another can be moved later.
            let statements = ["Mind `ON DELETE`.", "Do it at night.", "Run them alone.", "For each connection."];
            statements.iter().all(|statement| has(files, ".ralph/knowledge/", statement))
        })
    },
    Case::new("context", &["context", "--task", "Write the parser", "--task-id", "t-parser", "--run", "run-1"], |_| {
        true
    }),
    Case {
        in_steps: true,
        input: SAID,
        ..Case::new("record", &["record", "--task-id", "t-parser", "--run", "run-1"], |files| {
            has(files, ".ralph/journal/run-1/", "It parses.") && has(files, ".ralph/knowledge/", "Mind the BOM.")
        })
    },
    Case { writes_cache: true, ..Case::new("index", &["index"], |_| true) },
    Case { writes_cache: true, ..Case::new("index --rebuild", &["index", "--rebuild"], |_| true) },
];

/// Returns whether a file below a path says this.
fn has(files: &Files, below: &str, text: &str) -> bool {
    let says = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(text);
    files.iter().any(|(path, bytes)| path.starts_with(below) && bytes.as_deref().is_some_and(says))
}

/// Returns the noon of a day of 2026, counted from its first.
pub(crate) fn at(day: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800 + day * 24 * 3600)
}

/// Adds what `tidy` makes one entry of.
pub(crate) fn add_learnings(memory: &Memory) {
    for (title, body) in [
        ("Foreign keys are off", "Switch them on.\n\nFor each connection."),
        ("Cascades delete", "Mind `ON DELETE`."),
        ("Migrations lock", "Run them alone.\n\nSwitch them on."),
        ("Vacuum takes long", "Do it at night."),
    ] {
        let learning = Knowledge {
            category: Some("pitfall".into()),
            source: Source::Agent,
            ..Knowledge::new(title, ["sqlite", "schema"], body)
        };
        memory.add(&learning).unwrap();
    }
}

/// Makes a memory in which each command has something to do.
pub(super) fn prepare(root: &Path) {
    Memory::init(root).unwrap();
    fs::write(root.join(".ralph/config.toml"), "format = 1\n[maintenance]\nlearnings = 3\n").unwrap();
    let on = |day: u64| opened(root).with_clock(move || at(day));
    let memory = on(270);
    let add =
        |title: &str, tags: &[&str], body: &str| memory.add(&Knowledge::new(title, tags.to_vec(), body)).unwrap().id;
    add("Cargo bench requires nightly", &["cargo", "nightly"], "Use `cargo +nightly bench`.");
    add("Sockets time out", &["network", "timeout"], "After 30 seconds.");
    add("The parser is slow", &["parser"], "It is the parser.");
    add("The parser is slow", &["parser"], "It is the lexer.");
    let old = add("The old schema", &["old"], "With one table.");
    let new = add("Tables are many", &["tables"], "One for each kind.");
    memory.change(&new, &EntryChanges::superseding([old.clone()])).unwrap();
    let hint = |summary: &str, until: &str| {
        memory
            .add(&Knowledge { expires_at: entry::parse_time(until), ..Knowledge::event("hint", summary).unwrap() })
            .unwrap();
    };
    hint("For a day.", "2026-10-01");
    on(280).tidy(false).unwrap();
    add_learnings(&on(281));
    hint("For a month.", "2026-11-01");
    let task = |title: &str, id: &str| Task { id: Some(id.to_owned()), ..Task::new(title) };
    let memory = on(300);
    for outcome in [Ended::Failed, Ended::Done] {
        let iteration = memory.begin(&task("Write the lexer", "t-lexer"), &Run::named("run-1")).unwrap();
        let report = Report { outcome: Some(outcome), duration_secs: Some(1.0), ..Report::default() };
        memory.finish(&iteration, &report).unwrap();
    }
    let request = Request { task: task("Write the parser", "t-parser"), ..Request::default() };
    let memory = on(322);
    memory.note_context(&request.task, Some("run-1"), &memory.context(&request).unwrap());
    // This process stays at work on it.
    memory.begin(&task("Write the printer", "t-printer"), &Run::named("run-2")).unwrap();
    memory.rebuild_index().unwrap();
    assert!(memory.show(&Id::parse("knowledge/2026-09-28-for-a-day").unwrap()).unwrap().entry.summary.archived);
}
