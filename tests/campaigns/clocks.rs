//! Edits that clocks hide: the time of a file is what it was, or lies a day, decades or a nanosecond beside it,
//! its size stays, or it changes in the very tick of the last look. Every search and list finds what the
//! file says now.
//!
//! The tests make a few of these edits, and the program `campaigns` as many as one likes.

use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use ralph_memory::internals::{Area, Catalog, Committed, Store, folder_name};
use ralph_memory::memory::EntryFilter;
use ralph_memory::{Memory, Query};

use crate::program::{Program, word};
use crate::random::Random;

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many edits there were.
    pub(crate) edits: usize,
    /// After how many of them the library was asked, and after how many a new process.
    pub(crate) by_library: usize,
    pub(crate) by_process: usize,
    /// How many left the size, and how many were made so soon after a look that not even the stat changed.
    pub(crate) same_size: usize,
    pub(crate) same_stat: usize,
}

/// How a file gets its new bytes.
#[derive(Debug, Clone, Copy)]
enum Edit {
    /// Its word alone is written, in place.
    Word,
    /// All of it is written, in place; the size stays, or does not.
    InPlace(bool),
    /// A file beside it is renamed over it; the size stays, or does not.
    Rename(bool),
}

/// What its time is set to then.
#[derive(Debug, Clone, Copy)]
enum Clock {
    /// Nothing.
    Left,
    /// What it was before the edit.
    Back,
    /// What it was, and a nanosecond.
    Further,
    /// A day from now, in either direction.
    Day(i64),
    /// So many seconds after 1970.
    At(u64),
}

const EDITS: [Edit; 5] =
    [Edit::Word, Edit::InPlace(true), Edit::InPlace(false), Edit::Rename(true), Edit::Rename(false)];
const CLOCKS: [Clock; 7] = [
    Clock::Left,
    Clock::Back,
    Clock::Further,
    Clock::Day(1),
    Clock::Day(-1),
    Clock::At(0),
    // 2106-02-07, where seconds of 32 bits end.
    Clock::At(4_294_967_295),
];
/// How many entries there are: so many that the index is worth committing, and each is edited many times.
const ENTRIES: usize = 40;

/// An entry as it must be found.
struct Note {
    path: PathBuf,
    /// The word that only its body has.
    word: String,
    /// How often more text was put behind it.
    length: usize,
}

fn text(word: &str, length: usize) -> String {
    let more = "And something more. ".repeat(length);
    format!("---\ntitle: \"About {word}\"\ntags: [clock]\n---\n\nIt says {word}. {more}\n")
}

fn set_time(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn change(note: &Note, edit: Edit, old: &str) {
    let new = text(&note.word, note.length);
    match edit {
        Edit::Word => {
            let before = fs::read_to_string(&note.path).unwrap();
            let mut file = OpenOptions::new().write(true).open(&note.path).unwrap();
            for (at, _) in before.match_indices(old) {
                file.seek(std::io::SeekFrom::Start(at as u64)).unwrap();
                file.write_all(note.word.as_bytes()).unwrap();
            }
        }
        Edit::InPlace(_) => fs::write(&note.path, new).unwrap(),
        Edit::Rename(_) => {
            let beside = note.path.with_file_name(".beside.swp");
            fs::write(&beside, new).unwrap();
            fs::rename(beside, &note.path).unwrap();
        }
    }
}

/// Returns whether their stats are equal.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let stat =
        |file: &Metadata| (file.ino(), file.size(), file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec());
    stat(one) == stat(other)
}

/// Edits entries of a new memory in `place` so often, and asks for each new word and each old one.
pub(crate) fn run(place: &Path, program: &Path, edits: usize, seed: u64) -> Outcome {
    let program = Program::new(program, place);
    let root = place.join("project");
    fs::create_dir(&root).unwrap();
    Memory::init(&root).unwrap();
    let memory = Memory::open(&root).unwrap();
    let store = Store::open(&root).unwrap();
    let mut random = Random(seed);
    let mut n_words = 0;
    let mut next_word = || {
        n_words += 1;
        word(n_words)
    };
    let mut notes: Vec<Note> = Vec::new();
    for number in 0..ENTRIES {
        let folder = ["knowledge", "knowledge/team", "archive/knowledge"][number % 3];
        let path = root.join(".ralph").join(folder).join(format!("note-{number}.md"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let note = Note { path, word: next_word(), length: 0 };
        fs::write(&note.path, text(&note.word, 0)).unwrap();
        notes.push(note);
    }
    memory.rebuild_index().unwrap();

    let mut outcome = Outcome::default();
    while outcome.edits < edits {
        let note = &mut notes[random.below(ENTRIES)];
        let (mut edit, mut clock) = (*random.pick(&EDITS), *random.pick(&CLOCKS));
        let folder = note.path.parent().unwrap().to_owned();
        let area = if note.path.starts_with(root.join(".ralph/archive")) { Area::Archive } else { Area::Live };
        // What the index holds is written once more, looked at, and edited, as soon as they come.
        let mut index = None;
        if random.below(3) == 0 {
            memory.update_index().unwrap();
            index = committed(&store, area);
            (edit, clock) = (Edit::Word, Clock::Left);
            change(note, edit, &note.word);
        }
        let (before, folder_before) = (fs::metadata(&note.path).unwrap(), fs::metadata(&folder).unwrap());
        let old = std::mem::replace(&mut note.word, next_word());
        if let Edit::InPlace(false) | Edit::Rename(false) = edit {
            note.length = (note.length + 1) % 3;
        }
        if let Some(index) = index {
            // What every call does with the files first, and no more: the two edits may lie in one tick then.
            let scan = Catalog::scan(&store, area, Some(index.id()), SystemTime::now());
            scan.read(&store, &mut |_, _| {}).save(&store, index.id(), false).unwrap();
        }
        change(note, edit, &old);
        let mtime = before.modified().unwrap();
        let day = Duration::from_secs(24 * 3600);
        match clock {
            Clock::Left => {}
            Clock::Back => set_time(&note.path, mtime),
            Clock::Further => set_time(&note.path, mtime + Duration::from_nanos(1)),
            Clock::Day(1) => set_time(&note.path, SystemTime::now() + day),
            Clock::Day(_) => set_time(&note.path, SystemTime::now() - day),
            Clock::At(seconds) => set_time(&note.path, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
        }
        if random.below(4) == 0 {
            // The time of the folder is no better a witness.
            set_time(&folder, folder_before.modified().unwrap());
        }
        let after = fs::metadata(&note.path).unwrap();
        outcome.edits += 1;
        outcome.same_size += usize::from(before.len() == after.len());
        outcome.same_stat += usize::from(is_same(&before, &after));

        let place = format!("seed {seed}, edit {}: {edit:?}, {clock:?} of {}", outcome.edits, note.path.display());
        let ask = random.below(5);
        if ask != 0 {
            ask_library(&memory, note, &old, &place);
            outcome.by_library += 1;
        }
        if ask < 2 {
            let off = *random.pick(&[0, 1, -1]);
            ask_process(&program, &root, note, &old, off, &place);
            outcome.by_process += 1;
        }
        if random.below(8) == 0 {
            memory.update_index().unwrap();
        }
    }
    // And all at once, with unrelated changes in between.
    for note in &notes {
        ask_library(&memory, note, "zznever", &format!("seed {seed}, in the end, {}", note.path.display()));
    }
    outcome
}

/// Opens what is committed of an area.
fn committed(store: &Store, area: Area) -> Option<Committed> {
    let area = if matches!(area, Area::Archive) { "archive" } else { "live" };
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Committed::open(
        store.folder(&format!("cache/{}/{area}", folder_name())).ok()?,
        store.cache_key().ok()?,
        boot.trim(),
    )
    .ok()
}

fn search(memory: &Memory, word: &str) -> Vec<(PathBuf, String)> {
    let query = Query { text: word.to_owned(), archived: true, ..Query::default() };
    let hits = memory.search(&query, 10).unwrap().hits;
    hits.into_iter().map(|hit| (memory.root().join(hit.entry.path), hit.entry.title)).collect()
}

fn ask_library(memory: &Memory, note: &Note, old: &str, place: &str) {
    assert_eq!(search(memory, &note.word), [(note.path.clone(), format!("About {}", note.word))], "{place}");
    assert_eq!(search(memory, old), [], "what is gone is found: {place}");
    let listed = memory.list(&EntryFilter { archived: true, ..EntryFilter::default() });
    let titles: Vec<&str> = listed
        .entries
        .iter()
        .filter(|entry| memory.root().join(&entry.path) == note.path)
        .map(|entry| entry.title.as_str())
        .collect();
    assert_eq!(titles, [format!("About {}", note.word)], "{place}");
}

/// Asks a new process, whose own clock is some days off.
fn ask_process(program: &Program, root: &Path, note: &Note, old: &str, days: i64, place: &str) {
    let now: DateTime<Utc> = SystemTime::now().into();
    let now = (now + TimeDelta::days(days)).to_rfc3339_opts(SecondsFormat::Secs, true);
    let search = |word: &str| program.run(root, &now, &["search", word, "--archived", "--json"], "");
    let hits = search(old).ended(1, place).json()["entries"].clone();
    assert_eq!(hits, serde_json::json!([]), "what is gone is found: {place}");
    let found = search(&note.word).ended(0, place).json();
    let hits = found["entries"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{place}: {found}");
    assert_eq!(root.join(hits[0]["path"].as_str().unwrap()), note.path, "{place}");
    let listed = program.run(root, &now, &["list", "--archived"], "").ended(0, place).stdout;
    assert!(listed.contains(&format!("About {}", note.word)) && !listed.contains(old), "{place}: {listed}");
}
