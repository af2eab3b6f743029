//! Links that come and go: while the memory is called, another thread exchanges one of its folders or files with
//! a link to one outside, over and over.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ralph_memory::memory::{EntryChanges, EntryFilter, Report, Run};
use ralph_memory::{Id, Knowledge, Memory, Query, Task};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Outcome;
use super::sentinel::{CANARY, Sentinel};
use crate::program::{copy, files};
use crate::random::Random;

/// What is exchanged with a link, one after the other.
const TARGETS: [&str; 9] = [
    "knowledge",
    "knowledge/team",
    "archive",
    "archive/knowledge",
    "cache",
    "state",
    "knowledge/note-1.md",
    "knowledge/team/note-4.md",
    "archive/knowledge/note-1.md",
];
/// How many calls there are before another path is exchanged, and the memory is created again.
const CALLS: usize = 10;

/// Makes so many calls in memories that `fresh` makes.
pub(super) fn run(fresh: &dyn Fn() -> PathBuf, calls: usize, random: &mut Random, outcome: &mut Outcome, seed: u64) {
    let mut burst = 0;
    while outcome.under_swaps < calls {
        let target = TARGETS[burst % TARGETS.len()];
        burst += 1;
        let place = fresh();
        let (root, aside) = (place.join("project"), place.join("aside"));
        let memory = begin(&root);
        fs::create_dir(&aside).unwrap();
        let link = aside.join("link");
        symlink(place.join("outside").join(target), &link).unwrap();
        // A cache that could be mistaken for the memory's own.
        copy(&root.join(".ralph/cache"), &place.join("outside/cache"), &|_| false);
        let mut sentinel = Sentinel::new(&place, &[root.join(".ralph"), aside.clone()]);
        let what = format!("seed {seed}, burst {burst}: links for {target}");
        let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        let real = root.join(".ralph").join(target);
        // As fast as it goes, or so that most of a call finds what it looks for.
        let longest = *random.pick(&[0, 0, 3_000, 30_000, 300_000]);
        let mut pauses = Random(seed + burst as u64);
        let written = thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    exchange(&real, &link);
                    pause(pauses.below(longest / 30 + 1));
                    exchange(&real, &link);
                    swaps.fetch_add(2, Ordering::Relaxed);
                    pause(pauses.below(longest + 1));
                }
            });
            let stop_at_the_end = Stop(&stop);
            let written: Vec<String> = (0..CALLS.min(calls - outcome.under_swaps))
                .filter_map(|_| call(&memory, random, outcome, &what))
                .collect();
            drop(stop_at_the_end);
            written
        });
        outcome.swaps += swaps.load(Ordering::Relaxed);
        sentinel.check(&what);
        // Under which name does not matter: a file may be exchanged while it is replaced, and is then the one aside,
        // whose name has no extension. What a later call replaced is in the undo log.
        let log = root.join(".ralph/state/undo");
        let is_text = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "md") || *path == link || path.starts_with(&log)
        };
        let texts: Vec<String> = [root.join(".ralph"), aside]
            .iter()
            .flat_map(|folder| files(folder))
            .filter(|path| is_text(path) && !path.is_symlink())
            .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
            .collect();
        for body in written {
            assert!(texts.iter().any(|text| text.contains(&body)), "{what}: `{body}` is lost");
        }
    }
}

/// Puts a link in the place of each sort of file and folder in `cache/` and `state/`, one after the other, and of
/// names that the program may use next; each leads to a copy outside.
pub(super) fn stand_still(fresh: &dyn Fn() -> PathBuf, random: &mut Random, outcome: &mut Outcome, seed: u64) {
    let mut done = BTreeSet::new();
    loop {
        let place = fresh();
        let (root, outside) = (place.join("project"), place.join("outside"));
        let memory = begin(&root);
        let own = root.join(".ralph");
        memory.begin(&Task::new("A task"), &Run::named("run-0000000b")).unwrap();
        for area in ["cache", "state"] {
            copy(&own.join(area), &outside.join(area), &|_| false);
        }
        let index = files(&own.join("cache")).into_iter().find(|path| path.ends_with("live/meta.json")).unwrap();
        let (index, git) = (index.parent().unwrap().to_owned(), own.join("state/git"));
        let next = ["meta.json.tmp", ".managed.json.tmp", "seal.tmp"].map(|name| index.join(name));
        let mut all: Vec<PathBuf> = ["cache", "state"].iter().flat_map(|area| files(&own.join(area))).collect();
        all.extend(
            all.clone().iter().flat_map(|path| path.ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>()),
        );
        all.retain(|path| path.starts_with(&own) && *path != own);
        all.extend(next.into_iter().chain([git.join("objects"), git.join("index")]));
        // Of files with names at random one of each sort will do.
        let sort = |path: &Path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            let name =
                name.rsplit_once('.').filter(|(stem, _)| stem.len() > 30).map_or(name, |(_, extension)| extension);
            let name = name.split_once("manifest-").map_or(name, |_| "manifest");
            path.with_file_name(name).strip_prefix(&own).unwrap().to_owned()
        };
        let Some(path) = all.into_iter().find(|path| !done.contains(&sort(path))) else { break };
        done.insert(sort(&path));
        let target = outside.join(path.strip_prefix(&own).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
            Ok(_) => fs::remove_file(&path).unwrap(),
            Err(_) => {}
        }
        symlink(&target, &path).unwrap();
        let mut sentinel = Sentinel::new(&place, std::slice::from_ref(&own));
        let what = format!("seed {seed}: a link for {}", path.strip_prefix(&own).unwrap().display());
        // What is there already is known by its stat: a change makes it be looked at.
        for _ in 0..12 {
            call(&memory, random, outcome, &what);
        }
        if let Ok(iteration) = memory.begin(&Task::new("Another task"), &Run::named("run-0000000c")) {
            let report = Report { text: "<journal>It.</journal>".to_owned(), ..Report::default() };
            let _ = memory.finish(&iteration, &report);
        }
        let _ = memory.rebuild_index();
        sentinel.check(&what);
    }
    outcome.links = done.len();
}

/// Lets the other thread end, however this one ends.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes entries down, some of them in a subfolder, and old versions of each.
fn begin(root: &Path) -> Memory {
    let memory = Memory::open(root).unwrap();
    for folder in ["knowledge/team", "archive/knowledge/team"] {
        fs::create_dir_all(root.join(".ralph").join(folder)).unwrap();
    }
    let text = |number: usize, age: &str| {
        format!("---\ntitle: \"Note {number}\"\ntags: [n{number}]\n---\n\nA nightly note, {age}.\n")
    };
    for number in 0..40 {
        let folder = if number == 4 { "knowledge/team" } else { "knowledge" };
        let path = root.join(".ralph").join(folder).join(format!("note-{number}.md"));
        fs::write(path, text(number, "new")).unwrap();
        let archive = root.join(".ralph/archive").join(folder).join(format!("note-{number}.md"));
        fs::write(archive, text(number, "old")).unwrap();
    }
    memory.rebuild_index().unwrap();
    memory
}

/// Exchanges two names. A name that the memory has in use in this very moment stays what it is.
fn exchange(one: &Path, other: &Path) {
    let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
}

fn pause(turns: usize) {
    for _ in 0..turns {
        std::hint::spin_loop();
    }
}

/// Makes one call, which may fail, and returns what it wrote if it did.
fn call(memory: &Memory, random: &mut Random, outcome: &mut Outcome, what: &str) -> Option<String> {
    outcome.under_swaps += 1;
    let number = outcome.under_swaps;
    let id = |random: &mut Random| Id::parse(&format!("note-{}", random.pick(&[1, 1, 4, 5]))).unwrap();
    let body = format!("It is number {number} of all.");
    let mut written = None;
    let told = match random.below(8) {
        0 => {
            let added = memory.add(&Knowledge::new(format!("Added {number}"), [format!("a{number}")], &body));
            added.map(|added| (written = Some(body), format!("{added:?}")).1)
        }
        1 => {
            let of = *random.pick(&[1, 4, 5]);
            let added = memory.add(&Knowledge::new(format!("Note {of}"), [format!("n{of}")], &body));
            added.map(|added| (written = Some(body), format!("{added:?}")).1)
        }
        2 => memory.restore(&id(random), None).map(|restored| format!("{restored:?}")),
        3 => memory
            .change(&id(random), &EntryChanges::superseding([id(random)]))
            .map(|superseded| format!("{superseded:?}")),
        4 => memory.update_index().map(|rebuilt| format!("{rebuilt:?}")),
        5 => Ok(format!("{:?}", memory.check())),
        6 => Ok(format!("{:?}", memory.list(&EntryFilter { archived: true, ..EntryFilter::default() }))),
        _ => {
            let query = Query { text: format!("nightly {CANARY}"), archived: true, ..Query::default() };
            memory.search(&query, 50).map(|found| format!("{found:?}"))
        }
    };
    outcome.done_under_swaps += usize::from(told.is_ok());
    // A refused path is reported, which is the memory's own.
    let told = told.unwrap_or_else(|error| format!("{error:?}"));
    assert!(!told.contains(CANARY), "{what}: {told}");
    written
}
