//! More changes at once than a queue of notifications holds, and folders that come, go and change their names under a
//! watcher: a few seconds after all is quiet its view is that of the files, and the index that it keeps answers as a new one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ralph_memory::memory::{CheckReport, EntryFilter, WatchEvent, WatchHandle, WatchMode};
use ralph_memory::{Memory, Query};

use crate::program::{files, git, word};
use crate::random::Random;

/// Longer than any wait lasts.
const LONGEST: Duration = Duration::from_secs(300);

/// The storms, by name.
pub(crate) const STORMS: [(&str, Storm); 5] = [
    ("creates with a stalled consumer", creates),
    ("folders made and written to at once", folders),
    ("renames of large folders", renames),
    ("checkouts", checkouts),
    ("rebases", rebases),
];

/// Does something to the files of a project, with about so many of them.
pub(crate) type Storm = fn(&Path, usize, &mut Random);

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) storms: usize,
    /// How long after the last change the view was right, at most, by the storm's name.
    pub(crate) slowest: Vec<(&'static str, Duration)>,
}

/// Makes so many of each storm whose name begins with `only`, with about so many files each, and says of each how long it
/// took.
pub(crate) fn run(
    place: &Path,
    only: &str,
    times: usize,
    size: usize,
    seed: u64,
    say: &mut dyn FnMut(&str, Duration),
) -> Outcome {
    let mut random = Random(seed);
    let mut outcome = Outcome::default();
    for (name, storm) in STORMS.into_iter().filter(|(name, _)| name.starts_with(only)) {
        let mut slowest = Duration::ZERO;
        for number in 0..times {
            let root = place.join(format!("{}-{number}", name.split(' ').next().unwrap_or_default()));
            fs::create_dir_all(&root).unwrap();
            Memory::init(&root).unwrap();
            prepare(&root, name, size, &mut random);
            let memory = Arc::new(Memory::open(&root).unwrap());
            let watching = memory.watch(WatchMode::Native).unwrap();
            let ready = watching.events().recv_timeout(LONGEST).unwrap();
            assert!(matches!(ready, WatchEvent::Ready { polling: false, .. }), "{ready:?}");
            let mut view = on_disk(&root);
            // Nothing receives the events during the storm.
            storm(&root, size, &mut random);
            let quiet = Instant::now();
            catch_up(&watching, &mut view, &on_disk(&root), name);
            is_indexed(&memory, name);
            let took = quiet.elapsed();
            say(name, took);
            slowest = slowest.max(took);
            drop(watching);
            equals_a_rebuild(&memory, &root, name);
            fs::remove_dir_all(&root).unwrap();
            outcome.storms += 1;
        }
        outcome.slowest.push((name, slowest));
    }
    outcome
}

/// Reads events until the known files are these.
fn catch_up(watching: &WatchHandle, view: &mut BTreeSet<String>, expected: &BTreeSet<String>, storm: &str) {
    let begun = Instant::now();
    while view != expected {
        match watching.events().recv_timeout(LONGEST.saturating_sub(begun.elapsed())) {
            Ok(WatchEvent::Changed(changes)) => {
                view.extend(changes.indexed);
                for path in &changes.removed {
                    view.remove(path);
                }
            }
            Ok(WatchEvent::Notice { message }) => panic!("{storm}: {message}"),
            Ok(WatchEvent::Ready { .. }) => {}
            Err(error) => panic!("{storm}: {error}; {} of {}", view.len(), expected.len()),
        }
    }
}

/// Waits until the index holds every file as it is: what `check` says of it.
fn is_indexed(memory: &Memory, storm: &str) {
    let begun = Instant::now();
    loop {
        let CheckReport { problems, ok, .. } = memory.check();
        let findings = ok.into_iter().chain(problems).filter(|finding| finding.code == "index");
        let index: Vec<String> = findings.map(|finding| finding.message.to_string()).collect();
        if index.iter().all(|detail| detail.ends_with(" 0 not indexed yet") || detail.ends_with("nothing to index")) {
            return;
        }
        assert!(begun.elapsed() < LONGEST, "{storm}: {index:?}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

fn equals_a_rebuild(memory: &Memory, root: &Path, storm: &str) {
    let answers = || {
        let query = Query { text: "the word of the storm".to_owned(), ..Query::default() };
        let listed = memory.list(&EntryFilter { archived: true, ..EntryFilter::default() });
        (
            memory.search(&query, 50).unwrap().hits,
            listed.entries.into_iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>(),
        )
    };
    let grown = answers();
    fs::remove_dir_all(root.join(".ralph/cache")).unwrap();
    assert_eq!(grown, answers(), "{storm}: the index equals a rebuild");
}

fn on_disk(root: &Path) -> BTreeSet<String> {
    let folders = ["knowledge", "journal", "archive"].map(|name| files(&root.join(".ralph").join(name)));
    folders.concat().into_iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
}

fn text(number: usize) -> String {
    format!("---\ntitle: \"Entry {number}\"\ntags: [storm]\n---\n\nThe word is {}.\n", word(number))
}

fn write(folder: &Path, number: usize) {
    fs::write(folder.join(format!("e{number}.md")), text(number)).unwrap();
}

/// Makes what is there before the storm.
fn prepare(root: &Path, storm: &str, size: usize, random: &mut Random) {
    let knowledge = root.join(".ralph/knowledge");
    match storm {
        "renames of large folders" => {
            for folder in 0..4 {
                let folder = knowledge.join(format!("large-{folder}/inner"));
                fs::create_dir_all(&folder).unwrap();
                (0..size / 4).for_each(|number| write(&folder, number * 10 + random.below(1)));
            }
            // One id each: the stems of four folders must differ.
            for (at, folder) in (0..4).map(|folder| (folder, knowledge.join(format!("large-{folder}/inner")))) {
                for path in files(&folder) {
                    let name = path.file_name().unwrap().to_str().unwrap().replace('e', &format!("f{at}-"));
                    fs::rename(&path, folder.join(name)).unwrap();
                }
            }
        }
        "checkouts" | "rebases" => {
            git(root, &["init", "-q", "-b", "main"]);
            (0..size / 2).for_each(|number| write(&knowledge, number));
            git(root, &["add", "-A"]);
            git(root, &["commit", "-q", "-m", "one"]);
            git(root, &["checkout", "-q", "-b", "other"]);
            for number in 0..size / 2 {
                match number % 3 {
                    0 => fs::remove_file(knowledge.join(format!("e{number}.md"))).unwrap(),
                    1 => fs::write(knowledge.join(format!("e{number}.md")), text(number + 500_000)).unwrap(),
                    _ => {}
                }
            }
            let team = knowledge.join("team");
            fs::create_dir(&team).unwrap();
            (size..size + size / 4).for_each(|number| write(&team, number));
            git(root, &["add", "-A"]);
            git(root, &["commit", "-q", "-m", "two"]);
            if storm == "rebases" {
                // A stack of commits of which each has a part of the files.
                for commit in 0..10 {
                    (0..size / 20).for_each(|number| write(&team, 2 * size + commit * size + number));
                    git(root, &["add", "-A"]);
                    git(root, &["commit", "-q", "-m", "more"]);
                }
                git(root, &["checkout", "-q", "main"]);
                (0..size / 4).for_each(|number| write(&knowledge, 100 * size + number));
                git(root, &["add", "-A"]);
                git(root, &["commit", "-q", "-m", "aside"]);
            }
            git(root, &["checkout", "-q", "main"]);
        }
        _ => {}
    }
}

fn creates(root: &Path, size: usize, _: &mut Random) {
    let knowledge = root.join(".ralph/knowledge");
    (0..size).for_each(|number| write(&knowledge, number));
}

/// Every folder is written to the moment it is there, and some go again.
fn folders(root: &Path, size: usize, random: &mut Random) {
    let mut number = 0;
    while number < size {
        let folder = root.join(format!(".ralph/knowledge/d{}/s{}", random.below(1 + size / 20), number));
        fs::create_dir_all(&folder).unwrap();
        for _ in 0..=random.below(8) {
            write(&folder, number);
            number += 1;
        }
        if random.below(5) == 0 {
            // The same folder is created again, and one is removed for good.
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
            write(&folder, number);
            number += 1;
        }
        if random.below(10) == 0 {
            fs::remove_dir_all(&folder).unwrap();
        }
    }
}

/// Folders get each other's names, new ones, and files while they do.
fn renames(root: &Path, size: usize, random: &mut Random) {
    let knowledge = root.join(".ralph/knowledge");
    let mut names: Vec<String> = (0..4).map(|folder| format!("large-{folder}")).collect();
    for number in 0..12 {
        let at = random.below(names.len());
        let new = if number % 3 == 0 { format!("deep-{number}/moved") } else { format!("moved-{number}") };
        fs::create_dir_all(knowledge.join(&new).parent().unwrap()).unwrap();
        fs::rename(knowledge.join(&names[at]), knowledge.join(&new)).unwrap();
        names[at].clone_from(&new);
        write(&knowledge.join(&new).join("inner"), 10_000_000 + size * 100 + number);
        if number == 6 {
            // One goes out of the memory, and another comes in under its name.
            fs::rename(knowledge.join(&new), root.join("outside")).unwrap();
            fs::create_dir_all(knowledge.join(&new).join("inner")).unwrap();
            write(&knowledge.join(&new).join("inner"), 20_000_000 + number);
        }
    }
}

fn checkouts(root: &Path, _: usize, random: &mut Random) {
    for _ in 0..3 + random.below(4) {
        git(root, &["checkout", "-q", "other"]);
        git(root, &["checkout", "-q", "main"]);
    }
    git(root, &["checkout", "-q", "other"]);
}

fn rebases(root: &Path, _: usize, _: &mut Random) {
    git(root, &["checkout", "-q", "other"]);
    git(root, &["rebase", "-q", "main"]);
}
