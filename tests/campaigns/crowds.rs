//! Many processes use one memory: writers with entries of their own beside searchers and a watcher, and editors of the
//! same few files, one of which does not use locks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ralph_memory::internals::entry::read;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::program::{NOW, Program, Watcher, files, is_temporary, word};
use crate::random::Random;

/// How many write at a time, and how many search beside them.
const WRITERS: usize = 8;
const SEARCHERS: usize = 2;
/// How many files the editors share.
const SHARED: usize = 20;
/// Longer than any wait for the watcher lasts.
const LONGEST: Duration = Duration::from_secs(120);

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many writes were acknowledged, and how long the slowest took.
    pub(crate) written: usize,
    pub(crate) slowest: Duration,
    /// How many searches there were meanwhile.
    pub(crate) searches: usize,
    /// How many writes were refused because an editor came between, and how many versions of such an editor were put
    /// aside.
    pub(crate) refused: usize,
    pub(crate) kept: usize,
}

/// Lets eight processes at a time write so many entries each, while two search and one watches.
pub(crate) fn writers(place: &Path, path: &Path, each: usize) -> Outcome {
    let root = place.join("project");
    fs::create_dir(&root).unwrap();
    let program = Program::new(path, place);
    program.run(&root, NOW, &["init"], "").ended(0, "init");
    let watcher = Watcher::start(&program, &root, BTreeSet::new());
    let (is_over, searches) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut outcome = Outcome::default();
    thread::scope(|scope| {
        for _ in 0..SEARCHERS {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    let ran = program.run(&root, NOW, &["search", "written by many", "--json"], "");
                    assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
                    searches.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let (program, root) = (&program, &root);
        let write = move |writer: usize| {
            let mut slowest = Duration::ZERO;
            let mut ids = Vec::new();
            for number in 0..each {
                let word = word(writer * 1_000_000 + number);
                // Every third title is the same for all, so that names collide; its tags keep the entries apart.
                let title = if number % 3 == 0 { format!("Note {}", number / 3) } else { format!("Note {word}") };
                let (tag, body, scope) =
                    (format!("w{writer}"), format!("Written by many: {word}."), format!("task:w{writer}"));
                let begun = Instant::now();
                let arguments = ["add", &title, "--tags", &tag, "--scope", &scope, "--body", &body, "--json"];
                let added = program.run(root, NOW, &arguments, "").ended(0, "add").json();
                slowest = slowest.max(begun.elapsed());
                assert_eq!(added["action"], "created");
                ids.push(added["id"].as_str().unwrap().to_owned());
                // What was acknowledged is found at once.
                if number % 10 == 0 {
                    program.run(root, NOW, &["search", &word, "--json"], "").ended(0, "what was added is found");
                }
            }
            (ids, slowest)
        };
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        let mut ids = BTreeSet::new();
        for writer in writers {
            let (own, slowest) = writer.join().unwrap();
            outcome.written += own.len();
            outcome.slowest = outcome.slowest.max(slowest);
            ids.extend(own);
        }
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(ids.len(), outcome.written, "no id was given twice");
    });
    outcome.searches = searches.load(Ordering::SeqCst);
    let on_disk: BTreeSet<String> = files(&root.join(".ralph/knowledge"))
        .iter()
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        .collect();
    assert_eq!(on_disk.len(), outcome.written, "none is lost, and nothing else is there");
    let mut words = BTreeSet::new();
    for path in &on_disk {
        let text = fs::read_to_string(root.join(path)).unwrap();
        assert_eq!(read(&path[7..], text.as_bytes()).head.problems, [], "{path}");
        words.insert(text.split("many: ").nth(1).unwrap().trim().to_owned());
    }
    assert_eq!(words.len(), outcome.written, "each says what it was given");
    watcher.catch_up(&|| on_disk.clone(), LONGEST);
    drop(watcher);
    equals_a_rebuild(&program, &root, "written by many");
    outcome
}

/// Fails unless the index, as it has grown, answers as one made from nothing.
fn equals_a_rebuild(program: &Program, root: &Path, query: &str) {
    let answers = || {
        let found = program.run(root, NOW, &["search", query, "--limit", "1000", "--explain", "--json"], "").stdout;
        (found, program.run(root, NOW, &["list", "--archived", "--json"], "").stdout)
    };
    let grown = answers();
    fs::remove_dir_all(root.join(".ralph/cache")).unwrap();
    assert_eq!(grown, answers(), "the index equals a rebuild");
}

/// Lets eight processes at a time edit the same twenty files so many times each: every edit adds a tag and takes
/// none away. With `ninth`, somebody who knows nothing of locks saves them too.
pub(crate) fn editors(place: &Path, path: &Path, each: usize, ninth: bool, seed: u64) -> Outcome {
    let root = place.join(if ninth { "nine" } else { "eight" });
    fs::create_dir(&root).unwrap();
    let program = Program::new(path, place);
    program.run(&root, NOW, &["init"], "").ended(0, "init");
    for number in 0..SHARED {
        let title = format!("Shared {number}");
        program.run(&root, NOW, &["add", &title, "--tags", "shared", "--body", "The same."], "").ended(0, "add");
    }
    let (is_over, refused) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut outcome = Outcome::default();
    let mut displaced = Vec::new();
    let mut saved = Vec::new();
    let mut tags: Vec<(usize, String)> = Vec::new();
    thread::scope(|scope| {
        let (program, root, is_over, refused) = (&program, &root, &is_over, &refused);
        let other = ninth.then(|| scope.spawn(move || ignorant(root, is_over, seed)));
        let edit = move |editor: usize| {
            let mut random = Random(seed + editor as u64);
            let mut slowest = Duration::ZERO;
            let mut tags = Vec::new();
            for number in 0..each {
                let (file, tag) = (random.below(SHARED), format!("e{editor}n{number}"));
                let (title, both) = (format!("Shared {file}"), format!("shared,{tag}"));
                let begun = Instant::now();
                loop {
                    let ran = program.run(root, NOW, &["add", &title, "--tags", &both, "--body", "The same."], "");
                    match ran.code {
                        Some(0) => break,
                        // Its file changed again and again: it reports that, and the caller retries.
                        Some(4) if ninth => {
                            refused.fetch_add(1, Ordering::SeqCst);
                        }
                        _ => panic!("{ran}"),
                    }
                }
                slowest = slowest.max(begun.elapsed());
                tags.push((file, tag));
            }
            (tags, slowest)
        };
        let editors: Vec<_> = (0..WRITERS).map(|editor| scope.spawn(move || edit(editor))).collect();
        for editor in editors {
            let (own, slowest) = editor.join().unwrap();
            outcome.written += own.len();
            outcome.slowest = outcome.slowest.max(slowest);
            tags.extend(own);
        }
        is_over.store(true, Ordering::SeqCst);
        if let Some(other) = other {
            (saved, displaced) = other.join().unwrap();
        }
    });
    outcome.refused = refused.load(Ordering::SeqCst);
    let live = |file: usize| fs::read_to_string(root.join(format!(".ralph/knowledge/shared-{file}.md"))).unwrap();
    let archive: Vec<(PathBuf, String)> = files(&root.join(".ralph/archive"))
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    outcome.kept = archive.iter().filter(|(path, _)| path.to_string_lossy().contains(".conflict-")).count();
    // The texts of the undo log, by file.
    let earlier: Vec<Vec<String>> = (0..SHARED)
        .map(|file| {
            let list = ["restore", &format!("shared-{file}"), "--list", "--json"];
            let list = program.run(&root, NOW, &list, "").ended(0, "the texts are listed").json();
            let texts = list["versions"].as_array().unwrap().iter();
            texts.map(|version| version["text"].as_str().unwrap().to_owned()).collect()
        })
        .collect();
    let kept = |file: usize| {
        let archived = archive.iter().filter(move |(path, _)| is_version_of(path, file)).map(|(_, text)| text);
        archived.chain(&earlier[file])
    };
    let has_tag =
        |text: &str, tag: &str| read("knowledge/x.md", text.as_bytes()).head.tags.iter().any(|own| own == tag);
    if ninth {
        // What he overwrote is his to answer for; all else is somewhere.
        for (file, tag) in &tags {
            let is_kept = || kept(*file).any(|text| has_tag(text, tag));
            let was_overwritten = || displaced.iter().any(|text: &String| has_tag(text, tag));
            assert!(has_tag(&live(*file), tag) || is_kept() || was_overwritten(), "{tag} is in no version of {file}");
        }
        for (file, word) in &saved {
            let is_kept = || kept(*file).any(|text| text.contains(word.as_str()));
            let by_himself = || displaced.iter().any(|text: &String| text.contains(word.as_str()));
            assert!(
                live(*file).contains(word.as_str()) || is_kept() || by_himself(),
                "{word} is in no version of {file}"
            );
        }
    } else {
        for file in 0..SHARED {
            let expected: BTreeSet<&str> =
                tags.iter().filter(|(own, _)| *own == file).map(|(_, tag)| tag.as_str()).chain(["shared"]).collect();
            let entry = read("knowledge/x.md", live(file).as_bytes());
            let found: BTreeSet<&str> = entry.head.tags.iter().map(String::as_str).collect();
            assert_eq!(found, expected, "no edit of file {file} is lost");
            assert_eq!(entry.head.tags.len(), expected.len());
        }
    }
    let left: Vec<PathBuf> = files(&root.join(".ralph")).into_iter().filter(|path| is_temporary(path)).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "nothing is left");
    equals_a_rebuild(&program, &root, "shared the same");
    outcome
}

fn is_version_of(path: &Path, file: usize) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("shared-{file}.")))
}

/// Saves the files again and again, as an editor does that knows nothing of locks: it writes a new file and puts it in
/// the place of the old one. Returns what it saved where, and what was displaced by it.
fn ignorant(root: &Path, is_over: &AtomicBool, seed: u64) -> (Vec<(usize, String)>, Vec<String>) {
    let mut random = Random(seed + 99);
    let (mut saved, mut displaced) = (Vec::new(), Vec::new());
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let (file, word) = (random.below(SHARED), word(30_000_000 + number));
        let path = root.join(format!(".ralph/knowledge/shared-{file}.md"));
        let temporary = root.join(".ralph/knowledge/.own.swp");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&temporary, format!("{}\n\nSaved as {word}.\n", text.trim_end())).unwrap();
        // The exchange shows the campaign what was there at that moment; for the file it is a rename.
        renameat_with(CWD, &temporary, CWD, &path, RenameFlags::EXCHANGE).unwrap();
        displaced.push(fs::read_to_string(&temporary).unwrap());
        fs::remove_file(&temporary).unwrap();
        saved.push((file, word));
        number += 1;
        thread::park_timeout(Duration::from_millis(1 + random.below(10) as u64));
    }
    (saved, displaced)
}
