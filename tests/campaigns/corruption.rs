//! Damage to files that can be rebuilt: a file below `cache/` or `state/` is changed in a bit, cut, emptied, deleted,
//! filled with noise, replaced by other content with a matching checksum, or by a folder. No command crashes, all
//! answer like a copy without a cache, and the next write leaves a working index.
//!
//! The tests do a few of these, and the program `campaigns` any number.

use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::memory::{Run, StateFolders};
use ralph_memory::{Memory, Task};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::program::{NOW, Program, Ran, copy_project, files};
use crate::random::Random;

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many files were damaged, and how many of them below `state/`.
    pub(crate) damaged: usize,
    pub(crate) in_state: usize,
    /// How often each damage was done.
    pub(crate) kinds: [usize; KINDS.len()],
    /// After how many the index was at once reported as unknown, or as missing.
    pub(crate) noticed: usize,
}

/// After this number of damages everything starts again, so that no memory grows large.
const GENERATION: usize = 20;
/// How many entries there are: more than it takes for a search to make an index.
const ENTRIES: usize = 45;
/// What is asked, in an order of its own each time. What `check` says of the
/// cache is its own.
const COMMANDS: [&[&str]; 6] = [
    &["search", "nightly toolchain seven", "--limit", "20", "--explain", "--json"],
    &["search", "old nightly words", "--limit", "20", "--archived", "--json"],
    &["list", "--archived", "--json"],
    &["context", "--task", "Use the nightly toolchain", "--run", "run-0000000a", "--json"],
    &["--json"],
    &["check", "--json"],
];

/// What is done to a file.
const KINDS: [&str; 9] = [
    "a bit of",
    "the end of",
    "emptied",
    "noise in",
    "other noise in",
    "deleted",
    "a folder for",
    "other content and its checksum",
    "another file of the same bytes",
];

/// Damages files of new memories in `place`, one at a time, and asks after each.
pub(crate) fn run(place: &Path, program: &Path, damages: usize, seed: u64) -> Outcome {
    let program = Program::new(program, place);
    let (root, other) = (place.join("project"), place.join("without-cache"));
    let mut random = Random(seed);
    let mut outcome = Outcome::default();
    while outcome.damaged < damages {
        if outcome.damaged.is_multiple_of(GENERATION) {
            begin(&program, &root);
        }
        outcome.damaged += 1;
        let (done, kind) = damage(&root.join(".ralph"), outcome.damaged - 1, &mut random);
        outcome.kinds[kind] += 1;
        outcome.in_state += usize::from(done.starts_with("state/"));
        let place = format!("seed {seed}, damage {}: {done}", outcome.damaged);
        if live_index(&program, &root, &place).is_none() {
            outcome.noticed += 1;
        }
        let _ = fs::remove_dir_all(&other);
        copy_project(&root, &other, &|path| path.ends_with(".ralph/cache"));
        ask(&program, &root, &other, outcome.damaged, &mut random, &place);
        // Whatever it was, the write has repaired it.
        assert!(live_index(&program, &root, &place).is_some(), "{place}: {:?}", checked(&program, &root, &place));
        check(program.run(&root, NOW, &["index"], ""), &[0], &place);
        for problem in checked(&program, &root, &place)["problems"].as_array().unwrap() {
            assert!(problem["code"] != "index", "{place}: {problem}");
        }
    }
    outcome
}

/// Makes a memory with live and archived entries, an iteration that is recorded and one that is not, and an index
/// in several pieces.
fn begin(program: &Program, root: &Path) {
    let _ = fs::remove_dir_all(root);
    fs::create_dir(root).unwrap();
    let must = |arguments: &[&str], input: &str| drop(check(program.run(root, NOW, arguments, input), &[0], "begin"));
    must(&["init"], "");
    for number in 0..ENTRIES {
        let folder = if number % 5 == 0 { "archive/knowledge" } else { "knowledge" };
        let path = root.join(".ralph").join(folder).join(format!("note-{number}.md"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let words = ["nightly", "toolchain", "old", "seven", "words"];
        let (one, two) = (words[number % 5], words[number * number % 5]);
        let text = format!("---\ntitle: \"Note {number} {one}\"\ntags: [{two}]\n---\n\nAbout {one} and {two}.\n");
        fs::write(path, text).unwrap();
    }
    must(&["index"], "");
    for number in 0..3 {
        let title = format!("Added {number}");
        must(&["add", &title, "--tags", "nightly", "--body", "It is a nightly one."], "");
    }
    must(&["add", "Added 1", "--tags", "nightly", "--body", "Its old words are in the archive."], "");
    must(&["context", "--task", "A task", "--run", "run-0000000b"], "");
    must(&["record", "--run", "run-0000000b", "--outcome", "failed"], "<journal>No toolchain.</journal>");
    must(&["context", "--task", "A third task", "--run", "run-0000000b"], "");
    let memory = Memory::open(root).unwrap().keeping_in(StateFolders::new([program.state_folder()]));
    memory.begin(&Task::new("Another task"), &Run::named("run-0000000b")).unwrap();
}

/// Damages a random file: the kinds of damage come in turn, and every fourth is to the state. Returns what was done, to
/// which file, and the number of the kind.
fn damage(memory: &Path, number: usize, random: &mut Random) -> (String, usize) {
    let kind = number % KINDS.len();
    // The locks' files stay for ever; what is in them may be anything. An empty file has no bit to change.
    let can_be = |path: &PathBuf| {
        let is_lock = path.file_name().is_some_and(|name| name == "lock");
        (kind < 5 || !is_lock) && (![0, 7].contains(&kind) || fs::metadata(path).unwrap().len() > 0)
    };
    let of = |area: &str| files(&memory.join(area)).into_iter().filter(can_be).collect::<Vec<_>>();
    let in_state = if number % 4 == 3 { of("state") } else { Vec::new() };
    let paths = if in_state.is_empty() { of("cache") } else { in_state };
    let path = random.pick(&paths);
    let mut bytes = fs::read(path).unwrap();
    match kind {
        0 => {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        1 => bytes.truncate(random.below(bytes.len() + 1)),
        2 => bytes.clear(),
        3 => bytes.iter_mut().for_each(|byte| *byte = noise(random)),
        7 => bytes = recomputed(&bytes, random),
        8 => {}
        // Of another size.
        _ => bytes = (0..random.below(3_000)).map(|_| noise(random)).collect(),
    }
    match kind {
        5 => fs::remove_file(path).unwrap(),
        6 => {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
            if random.below(2) == 0 {
                fs::write(path.join("inside"), bytes).unwrap();
            }
        }
        // As git does, and any program with a copy of the file.
        7 | 8 => {
            let beside = path.with_file_name("beside");
            fs::write(&beside, bytes).unwrap();
            fs::rename(beside, path).unwrap();
        }
        // In place: a process that has mapped the file sees the change.
        _ => fs::write(path, bytes).unwrap(),
    }
    (format!("{}: {}", path.strip_prefix(memory).unwrap().display(), KINDS[kind]), kind)
}

/// Changes a bit of what a file holds, and whatever checksum it can have behind it.
fn recomputed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let Some(end) = content(bytes).map(<[u8]>::len).or(bytes.len().checked_sub(8)).filter(|end| *end > 0) else {
        return bytes.to_vec();
    };
    let mut changed = bytes[..end].to_vec();
    changed[random.below(end)] ^= 1 << random.below(8);
    match content(bytes) {
        Some(_) => craft(bytes, &changed),
        None => [&changed[..], &xxh3_64(&changed).to_le_bytes()].concat(),
    }
}

/// Returns what a file of a segment holds, without the footer that Tantivy puts behind it.
fn content(bytes: &[u8]) -> Option<&[u8]> {
    let (head, end) = bytes.split_last_chunk::<8>()?;
    let length = u32::from_le_bytes(*end.first_chunk()?) as usize;
    let (content, footer) = head.split_at_checked(head.len().checked_sub(length)?)?;
    serde_json::from_slice::<Value>(footer).is_ok_and(|footer| footer["crc"].is_u64()).then_some(content)
}

/// Replaces the content of a segment's file, with a matching footer.
pub(crate) fn craft(bytes: &[u8], new: &[u8]) -> Vec<u8> {
    let old = content(bytes).unwrap().len();
    let mut footer: Value = serde_json::from_slice(&bytes[old..bytes.len() - 8]).unwrap();
    footer["crc"] = crc(new).into();
    let footer = footer.to_string();
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [new, footer.as_bytes(), &length, &bytes[bytes.len() - 4..]].concat()
}

/// The checksum that Tantivy puts there: CRC-32 as in ISO-HDLC.
fn crc(bytes: &[u8]) -> u32 {
    let byte = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
    };
    !bytes.iter().fold(!0, byte)
}

fn noise(random: &mut Random) -> u8 {
    u8::try_from(random.below(256)).unwrap()
}

/// Asks the one with the damage and the one without a cache the same.
fn ask(program: &Program, root: &Path, other: &Path, number: usize, random: &mut Random, place: &str) {
    let mut order: Vec<&[&str]> = COMMANDS.to_vec();
    while !order.is_empty() {
        let command = order.swap_remove(random.below(order.len()));
        same(program, root, other, command, place);
    }
    let title = format!("Written behind {number}");
    // Another entry, and another version of one.
    same(program, root, other, &["add", &title, "--tags", "nightly", "--body", &title, "--json"], place);
    let update = ["add", "Added 2", "--tags", "nightly", "--body", &title, "--json"];
    same(program, root, other, &update, place);
    same(program, root, other, COMMANDS[0], place);
    same(program, root, other, COMMANDS[2], place);
}

fn same(program: &Program, root: &Path, other: &Path, command: &[&str], place: &str) {
    let asked = check(program.run(root, NOW, command, ""), &[0, 1], place);
    let _ = fs::remove_dir_all(other.join(".ralph/cache"));
    let without = check(program.run(other, NOW, command, ""), &[0, 1], place);
    let told = |ran: &Ran| {
        let mut json = ran.json();
        // Where it is, and what the index lacks, is not the same.
        json.as_object_mut().unwrap().remove("root");
        if command[0] == "check" {
            return (None, of_files(&json));
        }
        if let Some(counts) = json.get_mut("counts").and_then(Value::as_object_mut) {
            counts.remove("not_indexed");
        }
        (ran.code, json)
    };
    assert_eq!(told(&asked), told(&without), "{place}: {asked}");
    assert!(asked.stderr == without.stderr, "{place}: {asked}");
}

/// Fails unless it ended, by itself, with one of these exit codes.
#[track_caller]
fn check(ran: Ran, codes: &[i32], place: &str) -> Ran {
    assert!(ran.signal.is_none(), "{place}: {ran}");
    assert!(ran.code.is_some_and(|code| codes.contains(&code)), "{place}: {ran}");
    ran
}

/// Returns the problems of files in the answer of `check`.
fn of_files(checked: &Value) -> Value {
    let problems = checked["problems"].as_array().unwrap().iter();
    problems.filter(|problem| problem["path"] != ".ralph/").cloned().collect()
}

fn checked(program: &Program, root: &Path, place: &str) -> Value {
    check(program.run(root, NOW, &["check", "--json"], ""), &[0, 1], place).json()
}

/// Returns what `check` says of the index of live entries, where there is one that is known to be whole.
fn live_index(program: &Program, root: &Path, place: &str) -> Option<String> {
    let checked = checked(program, root, place);
    let mut messages = checked["ok"].as_array().unwrap().iter().filter_map(|finding| finding["message"].as_str());
    messages.find(|detail| detail.starts_with("live: commit ")).map(str::to_owned)
}
