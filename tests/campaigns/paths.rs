//! Names and links that lead elsewhere: titles, ids, runs and tasks of all kinds, and links that replace a memory's own
//! folders and files while it is written to. Nothing outside of `.ralph/` is changed or read, and every new name is
//! valid on every system. The same holds for links that existed before, also in place of a file of the cache.
//!
//! Of a number of names, a twentieth are ids that each command gets, and a twentieth are calls during which links
//! appear and disappear. The rest are titles, at most a thousand in one memory. The tests try a few, and the program
//! `campaigns` any number.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::context::Request;
use ralph_memory::entry::Outcome as Ended;
use ralph_memory::internals::{stem_for_title, version_of};
use ralph_memory::memory::{EntryChanges, Report, Run};
use ralph_memory::{Error, Id, Knowledge, Memory, Scope, Task};

use crate::program::{NOW, Program, files};
use crate::random::Random;

#[path = "paths/sentinel.rs"]
mod sentinel;
#[path = "paths/swaps.rs"]
mod swaps;

use sentinel::{CANARY, Sentinel};

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many titles were given, and how many of them were refused.
    pub(crate) titles: usize,
    pub(crate) refused: usize,
    /// How many ids were given, to how many calls, and how many of these did something.
    pub(crate) ids: usize,
    pub(crate) calls: usize,
    pub(crate) done: usize,
    /// In how many places a link existed before the calls began.
    pub(crate) links: usize,
    /// How many calls there were while links came and went, how many of them did their work, and how often a link
    /// came or went.
    pub(crate) under_swaps: usize,
    pub(crate) done_under_swaps: usize,
    pub(crate) swaps: usize,
    /// Whether it would have been seen that something was read.
    pub(crate) sees_reading: bool,
}

/// How many titles one memory gets at most.
const MEMORY: usize = 1_000;
/// One of so many ids is given to new processes too.
const BY_PROCESS: usize = 10;

/// Tries so many names in folders below `place`.
pub(crate) fn run(place: &Path, program: &Path, size: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    let mut outcome = Outcome::default();
    let program = Program::new(program, place);
    let share = size / 20;
    let titles = size - 2 * share;
    for begin in (0..titles).step_by(MEMORY) {
        let place = fresh(place, "titles");
        give_titles(&place, MEMORY.min(titles - begin), &mut random, &mut outcome, seed);
    }
    for begin in (0..share).step_by(MEMORY) {
        let place = fresh(place, "ids");
        give_ids(&place, &program, MEMORY.min(share - begin), &mut random, &mut outcome, seed);
    }
    swaps::stand_still(&|| fresh(place, "links"), &mut random, &mut outcome, seed);
    outcome.under_swaps = 0;
    outcome.done_under_swaps = 0;
    swaps::run(&|| fresh(place, "swaps"), share, &mut random, &mut outcome, seed);
    outcome
}

/// Makes an empty folder with a memory in its folder `project`.
fn fresh(place: &Path, name: &str) -> PathBuf {
    let place = place.join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(place.join("project")).unwrap();
    Memory::init(&place.join("project")).unwrap();
    place
}

/// What titles are made of.
const PIECES: [&str; 64] = [
    "../",
    "..\\",
    "/",
    "\\",
    ".",
    "..",
    "/etc/passwd",
    "C:\\Windows\\",
    "\\\\?\\",
    "file:///",
    "~",
    "$HOME",
    "`id`",
    "%2e%2e%2f",
    "%00",
    "\0",
    "\u{1}",
    "\u{1b}[31m",
    "\u{1b}]8;;http://x\u{7}",
    "\u{7f}",
    "\u{85}",
    "\u{9b}2J",
    "\n",
    "\r\n",
    "\t",
    "\u{2028}",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{a0}",
    "\u{fffd}",
    "CON",
    "con.",
    "nul",
    "NUL.md",
    "aux",
    "Prn",
    "com1",
    "COM¹",
    "lpt9",
    "LPT³",
    "conin$",
    "clock$",
    ":stream",
    "*?<>|\"'",
    " ",
    ". ",
    "-",
    "--root",
    ".git",
    ".tmp-1-0",
    "note-1",
    "é",
    "e\u{301}",
    "ﬁ",
    "ß",
    "İ",
    "日本語",
    "😀",
    "👨‍👩‍👧",
    "canary",
    ".md",
];

/// Returns one of these.
fn one_of(random: &mut Random, of: &[&'static str]) -> &'static str {
    of[random.below(of.len())]
}

/// Returns names with which an agent could try to leave the folder.
fn hostile(random: &mut Random) -> String {
    let mut title = String::new();
    for _ in 0..=random.below(6) {
        match random.below(12) {
            0 => title.push_str(&one_of(random, &PIECES).repeat(1 + random.below(120))),
            1 => title.extend(char::from_u32(u32::try_from(random.below(0x0011_0000)).unwrap())),
            2 => title.push_str(one_of(random, &["words", "of", "a title", "Benches", "x1"])),
            _ => title.push_str(one_of(random, &PIECES)),
        }
    }
    title
}

/// Gives so many titles to one memory.
fn give_titles(place: &Path, titles: usize, random: &mut Random, outcome: &mut Outcome, seed: u64) {
    let root = place.join("project");
    let mut sentinel = Sentinel::new(place, &[root.join(".ralph")]);
    outcome.sees_reading = sentinel.sees_reading();
    let memory = Memory::open(&root).unwrap();
    for _ in 0..titles {
        outcome.titles += 1;
        let title = hostile(random);
        let place = format!("seed {seed}, title {}: {title:?}", outcome.titles);
        check_stem(&stem_for_title(&title, &|_| false), &place);
        let tag = format!("t{}", outcome.titles);
        let added = if random.below(10) == 0 {
            Knowledge::event("decision", &title).and_then(|event| memory.add(&Knowledge { tags: vec![tag], ..event }))
        } else {
            memory.add(&Knowledge::new(&title, [tag], format!("Body {}.", outcome.titles)))
        };
        match added {
            Ok(added) => {
                let folder = added.path.as_str().rsplit_once('/').unwrap().0;
                assert!([".ralph/knowledge", ".ralph/knowledge/events"].contains(&folder), "{place}: {}", added.path);
                let text = fs::read_to_string(root.join(&added.path)).unwrap();
                assert!(text.contains(&format!("{}", outcome.titles)) || !text.contains("Body"), "{place}: {text}");
                assert!(!added.title.contains(char::is_control), "{place}: {:?}", added.title);
            }
            // A title such as `/etc/passwd:stream--root*?` may well be a password.
            Err(Error::Invalid { .. } | Error::Secret { .. }) => outcome.refused += 1,
            Err(error) => panic!("{place}: {error}"),
        }
    }
    let place = format!("seed {seed}, up to title {}", outcome.titles);
    check_names(&root.join(".ralph"), &place);
    sentinel.check(&place);
}

/// Fails unless the stem is one that every system takes.
fn check_stem(stem: &str, place: &str) {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    assert!((1..=80).contains(&stem.len()) && stem.bytes().all(is_plain), "{place}: `{stem}`");
    assert!(!stem.starts_with('-') && !stem.ends_with('-'), "{place}: `{stem}`");
    assert!(!is_reserved(stem), "{place}: `{stem}`");
}

/// Returns whether it is reserved on Windows, whatever follows its first dot.
fn is_reserved(name: &str) -> bool {
    let first = name.split('.').next().unwrap().to_lowercase();
    let port = first.strip_prefix("com").or_else(|| first.strip_prefix("lpt"));
    matches!(first.as_str(), "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" | "clock$")
        || port.is_some_and(|number| {
            number.chars().count() == 1
                && number.contains(|digit: char| digit.is_ascii_digit() || "¹²³".contains(digit))
        })
}

/// Looks at the names of all files and folders of entries, and of iterations that are begun.
fn check_names(memory: &Path, place: &str) {
    for path in ["knowledge", "journal", "archive", "state"].iter().flat_map(|folder| files(&memory.join(folder))) {
        let path = path.strip_prefix(memory).unwrap().to_str().unwrap().to_owned();
        let place = format!("{place}: {path}");
        let parts: Vec<&str> = path.split('/').collect();
        let (name, folders) = parts.split_last().unwrap();
        for part in &parts {
            assert!(!is_reserved(part) && !part.ends_with(['.', ' ']) && part.len() <= 255, "{place}");
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            assert!(part.bytes().all(is_plain) && !part.starts_with('-'), "{place}");
        }
        if folders.contains(&"knowledge") && *name != ".gitkeep" {
            let stem = name.strip_suffix(".md").unwrap_or_else(|| panic!("{place}"));
            check_stem(version_of(stem).map_or(stem, |(stem, ..)| stem), &place);
        }
    }
}

/// Returns an id, or a name of a run or a task, that looks like a path.
fn hostile_id(place: &Path, random: &mut Random) -> String {
    if random.below(3) == 0 {
        return hostile(random);
    }
    let parts = [
        "..",
        "..",
        "..",
        ".",
        "",
        "knowledge",
        "archive",
        "journal",
        "state",
        "cache",
        "outside",
        "project",
        "canary",
        "passwd",
        "note-1",
        "run-0000000a",
        "0001",
        ".ralph",
        "src",
        "config",
    ];
    let mut id = one_of(random, &["", "", "knowledge/", "journal/", "archive/knowledge/", "/"]).to_owned();
    if random.below(8) == 0 {
        id = format!("{}/", place.display());
    }
    for _ in 0..=random.below(5) {
        id.push_str(one_of(random, &parts));
        id.push_str(one_of(random, &["/", "/", "/", "//", "\\", "/./", "%2f", ""]));
    }
    id.push_str(one_of(random, &["", "canary", "outside/canary", "note-1", "passwd"]));
    id.push_str(one_of(random, &["", ".md", ".md", "\0", ".md\0", "/", ".."]));
    id
}

/// Gives so many ids to all calls that take one.
fn give_ids(place: &Path, program: &Program, ids: usize, random: &mut Random, outcome: &mut Outcome, seed: u64) {
    let root = place.join("project");
    let mut sentinel = Sentinel::new(place, &[root.join(".ralph")]);
    let memory = Memory::open(&root).unwrap();
    for number in 1..4 {
        let knowledge = Knowledge::new(format!("Note {number}"), [format!("n{number}")], "Nightly.");
        memory.add(&knowledge).unwrap();
        memory.add(&Knowledge { body: "Nightly, again.".to_owned(), ..knowledge }).unwrap();
    }
    let note = Id::parse("note-2").unwrap();
    for _ in 0..ids {
        outcome.ids += 1;
        let name = hostile_id(place, random);
        let what = format!("seed {seed}, id {}: {name:?}", outcome.ids);
        let mut told = |call: &str, result: ralph_memory::Result<String>| {
            outcome.calls += 1;
            outcome.done += usize::from(result.is_ok());
            let text = result.unwrap_or_else(|error| {
                let is_meant = matches!(
                    error,
                    Error::Invalid { .. }
                        | Error::NoSuchEntry { .. }
                        | Error::NoVersion { .. }
                        | Error::AlreadyArchived { .. }
                        | Error::Uneditable { .. }
                );
                assert!(is_meant, "{what}, {call}: {error:?}");
                format!("{error:?}")
            });
            assert!(!text.contains(CANARY), "{what}, {call}: {text}");
        };
        if let Some(id) = Id::parse(&name) {
            told("show", memory.show(&id).map(|shown| format!("{shown:?}")));
            told("restore", memory.restore(&id, None).map(|restored| format!("{restored:?}")));
            told("rename", memory.change(&id, &EntryChanges::titled(&*name)).map(|renamed| format!("{renamed:?}")));
            told("archive", memory.archive(std::slice::from_ref(&id)).map(|archived| format!("{archived:?}")));
            told(
                "supersede",
                memory
                    .change(&note, &EntryChanges::superseding([id.clone()]))
                    .map(|superseded| format!("{superseded:?}")),
            );
            told(
                "supersede by",
                memory
                    .change(&id, &EntryChanges::superseding([note.clone()]))
                    .map(|superseded| format!("{superseded:?}")),
            );
            let scoped = EntryChanges { scope: Some(Scope::from(name.clone())), ..EntryChanges::default() };
            told("promote", memory.change(&id, &scoped).map(|promoted| format!("{promoted:?}")));
        }
        let named = Task { id: Some(name.clone()), ..Task::new("A nightly task") };
        let of_task = memory.context(&Request { task: named.clone(), ..Request::default() });
        told("context", of_task.map(|context| context.text));
        for (task, run) in [(named, Run::named("run-0000000b")), (Task::new("A task"), Run::named(name.clone()))] {
            let recorded = memory.begin(&task, &run).and_then(|iteration| {
                let text = format!("<knowledge tags=\"a\" title=\"x\">{CANARY}</knowledge>").replace(CANARY, "It.");
                let report = Report { text, outcome: Some(Ended::Failed), ..Report::default() };
                memory.finish(&iteration, &report)
            });
            told("finish", recorded.map(|recorded| format!("{recorded:?}")));
        }
        told("task", Ok(format!("{:?} {:?}", memory.task(&name), memory.run(&name))));
        let silent = Report { outcome: Some(Ended::Failed), ..Report::default() };
        let told_task = Task { id: Some(name.clone()), ..Task::new("Told") };
        told("record", memory.record(Some(&told_task), Some(&name), &silent).map(|recorded| format!("{recorded:?}")));
        if outcome.ids.is_multiple_of(BY_PROCESS) && !name.contains('\0') {
            by_process(program, &root, &name, &what);
        }
        if outcome.ids.is_multiple_of(100) {
            sentinel.check(&what);
        }
    }
    let what = format!("seed {seed}, up to id {}", outcome.ids);
    sentinel.check(&what);
    check_names(&root.join(".ralph"), &what);
}

fn by_process(program: &Program, root: &Path, name: &str, what: &str) {
    let commands: [&[&str]; 16] = [
        &["show", name],
        &["show", &format!("task:{name}")],
        &["show", &format!("run:{name}")],
        &["log", "--run", name],
        &["log", "--task", name],
        &["restore", name],
        &["archive", name],
        &["edit", name],
        &["edit", name, "--title", name],
        &["edit", "note-2", "--supersedes", name],
        &["edit", name, "--supersedes", "note-2"],
        &["edit", name, "--scope", name],
        &["context", "--task", "t", "--task-id", name],
        &["context", "--task", "t", "--run", name],
        &["record", "--run", name, "--task-id", "t-1"],
        &["record", "--run", "run-0000000c", "--task-id", name],
    ];
    for command in commands {
        let ran = program.run(root, NOW, command, "");
        assert!(ran.signal.is_none() && matches!(ran.code, Some(0..=2 | 4)), "{what}: {ran}");
        assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY), "{what}: {ran}");
    }
}
