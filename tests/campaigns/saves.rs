//! The ways in which editors save a file: no answer is stale after any of them, and a watcher only reports the entry.
//!
//! The ways are described in the editors' own documentation and their users' reports; the operations on files are the
//! same, call for call.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_memory::memory::{EntryFilter, WatchEvent, WatchMode};
use ralph_memory::{Memory, Query};

use crate::program::{files, word};
use crate::random::Random;

/// What saves a file.
pub(crate) type Save = fn(&Path, &str);

/// The ways, by name.
pub(crate) const WAYS: [(&str, Save); 10] = [
    ("vim, backupcopy=no", vim_renames),
    ("vim, backupcopy=yes", vim_copies),
    ("vim, nowritebackup", vim_writes),
    ("Emacs", emacs),
    ("JetBrains", jetbrains),
    ("VS Code", vs_code),
    ("sed -i", sed),
    ("mv over it", moves_over),
    ("cp -p over it", copies_over),
    ("a patch in place", patches),
];

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(name)
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap()
}

/// Makes the swap file that vim has while a file is open, and the file by which it finds out whether it may write.
fn with_vim(path: &Path, save: impl FnOnce()) {
    let swap = beside(path, &format!(".{}.swp", name(path)));
    fs::write(beside(path, &format!(".{}.swx", name(path))), "").unwrap();
    fs::remove_file(beside(path, &format!(".{}.swx", name(path)))).unwrap();
    fs::write(&swap, "b0VIM 9.0").unwrap();
    fs::write(beside(path, "4913"), "").unwrap();
    fs::remove_file(beside(path, "4913")).unwrap();
    save();
    fs::remove_file(swap).unwrap();
}

fn vim_renames(path: &Path, text: &str) {
    with_vim(path, || {
        let backup = beside(path, &format!("{}~", name(path)));
        fs::rename(path, &backup).unwrap();
        fs::write(path, text).unwrap();
        fs::remove_file(backup).unwrap();
    });
}

fn vim_copies(path: &Path, text: &str) {
    with_vim(path, || {
        let backup = beside(path, &format!("{}~", name(path)));
        fs::copy(path, &backup).unwrap();
        fs::write(path, text).unwrap();
        fs::remove_file(backup).unwrap();
    });
}

fn vim_writes(path: &Path, text: &str) {
    with_vim(path, || fs::write(path, text).unwrap());
}

fn emacs(path: &Path, text: &str) {
    let lock = beside(path, &format!(".#{}", name(path)));
    symlink("person@host.4711:1795000000", &lock).unwrap();
    let autosave = beside(path, &format!("#{}#", name(path)));
    fs::write(&autosave, &text[..text.len() / 2]).unwrap();
    let backup = beside(path, &format!("{}~", name(path)));
    fs::rename(path, &backup).unwrap();
    fs::write(path, text).unwrap();
    fs::remove_file(autosave).unwrap();
    fs::remove_file(lock).unwrap();
    fs::remove_file(backup).unwrap();
}

fn jetbrains(path: &Path, text: &str) {
    let (new, old) = (format!("{}___jb_tmp___", name(path)), format!("{}___jb_old___", name(path)));
    fs::write(beside(path, &new), text).unwrap();
    fs::rename(path, beside(path, &old)).unwrap();
    fs::rename(beside(path, &new), path).unwrap();
    fs::remove_file(beside(path, &old)).unwrap();
}

fn vs_code(path: &Path, text: &str) {
    let mut file = File::create(path).unwrap();
    let (first, rest) = text.as_bytes().split_at(text.len() / 3);
    file.write_all(first).unwrap();
    file.write_all(rest).unwrap();
}

fn sed(path: &Path, text: &str) {
    let temporary = beside(path, "sedQ4Fh2x");
    fs::write(&temporary, text).unwrap();
    fs::rename(temporary, path).unwrap();
}

fn moves_over(path: &Path, text: &str) {
    let elsewhere =
        path.ancestors().find(|folder| folder.ends_with(".ralph")).and_then(Path::parent).unwrap().join("new.md");
    fs::write(&elsewhere, text).unwrap();
    fs::rename(elsewhere, path).unwrap();
}

/// What comes has the time of another file, as `cp -p` and `rsync -t` give it.
fn copies_over(path: &Path, text: &str) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    fs::write(path, text).unwrap();
    OpenOptions::new().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn patches(path: &Path, text: &str) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(4)).unwrap();
    file.write_all(&text.as_bytes()[4..]).unwrap();
    file.set_len(text.len() as u64).unwrap();
}

/// Returns the text of an entry that has one word for itself.
pub(crate) fn text(title: &str, word: &str, more: usize) -> String {
    format!("---\ntitle: \"{title}\"\ntags: [saved]\n---\n\nThe word is {word}.\n{}", "And more.\n".repeat(more))
}

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) saves: usize,
    /// How long the watcher took at most behind the last save of a way.
    pub(crate) slowest: Duration,
}

/// Saves entries of a memory in `place` so many times in each way.
pub(crate) fn run(place: &Path, times: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    Memory::init(place).unwrap();
    let memory = Arc::new(Memory::open(place).unwrap());
    let knowledge = place.join(".ralph/knowledge");
    let paths: Vec<PathBuf> = (0..12).map(|number| knowledge.join(format!("entry-{number}.md"))).collect();
    let mut words: Vec<String> = (0..12).map(|number| word(1_000_000 + number)).collect();
    for (number, path) in paths.iter().enumerate() {
        fs::write(path, text(&format!("Entry {number}"), &words[number], 0)).unwrap();
    }
    memory.update_index().unwrap();
    let watching = memory.watch(WatchMode::Native).unwrap();
    let ready = watching.events().recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(matches!(ready, WatchEvent::Ready { entries: 12, .. }), "{ready:?}");
    let names: BTreeSet<String> = paths.iter().map(|path| format!(".ralph/knowledge/{}", name(path))).collect();
    let mut outcome = Outcome::default();
    for (way, save) in WAYS {
        let mut saved = BTreeSet::new();
        for _ in 0..times {
            let number = random.below(paths.len());
            let fresh = word(outcome.saves);
            // Every second text has the size of the one before.
            let more = if random.below(2) == 0 { 0 } else { random.below(20) };
            save(&paths[number], &text(&format!("Entry {number}"), &fresh, more));
            saved.insert(format!(".ralph/knowledge/entry-{number}.md"));
            let found = |word: &str| {
                let query = Query { text: word.to_owned(), ..Query::default() };
                memory
                    .search(&query, 10)
                    .unwrap()
                    .hits
                    .into_iter()
                    .map(|hit| hit.entry.path.to_string())
                    .collect::<Vec<_>>()
            };
            assert_eq!(found(&fresh), [format!(".ralph/knowledge/entry-{number}.md")], "{way}: the new text is found");
            assert_eq!(found(&words[number]), Vec::<String>::new(), "{way}: the old text is not");
            assert_eq!(
                memory.list(&EntryFilter::default()).entries.len(),
                paths.len(),
                "{way}: nothing else is an entry"
            );
            words[number] = fresh;
            outcome.saves += 1;
        }
        // The watcher reports the saved file and nothing else, and soon.
        let begun = Instant::now();
        let mut told = BTreeSet::new();
        while told != saved {
            let watched = watching.events().recv_timeout(Duration::from_secs(60));
            let Ok(WatchEvent::Changed(changes)) = watched else { panic!("{way}: {watched:?}") };
            assert!(changes.indexed.iter().all(|path| names.contains(path)), "{way}: {changes:?}");
            told.extend(changes.indexed);
        }
        outcome.slowest = outcome.slowest.max(begun.elapsed());
    }
    drop(watching);
    assert_eq!(files(&knowledge).len(), paths.len(), "the editors left nothing");
    outcome
}
