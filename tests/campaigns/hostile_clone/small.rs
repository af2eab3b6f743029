//! Small clones, of which there can be many: few entries, no second clone to compare with, and no tracer. Instead, what
//! is outside of the memory is listed before and after each step. Each printed command is tried.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::forged::FORGED;
use super::judge::{Class, Judge, World, answer, ended};
use super::repository::{self, CLIENTS, Clone, NAMES, OUTER_LINKS, SEALS};
use super::steps::{ANY, Hand, OF_KIND};
use super::surroundings::Around;
use super::{CANARY, Made, names};
use crate::program::files;
use crate::random::Random;
use crate::tally::Tally;

/// The kinds of small clones, each as often as it is here.
const FIRST: [&str; 18] = [
    NAMES,
    CLIENTS,
    OUTER_LINKS,
    NAMES,
    CLIENTS,
    SEALS,
    NAMES,
    CLIENTS,
    OUTER_LINKS,
    NAMES,
    CLIENTS,
    NAMES,
    "links",
    NAMES,
    CLIENTS,
    OUTER_LINKS,
    SEALS,
    NAMES,
];
/// How many threads make clones, beside those that make traced ones: a thread often waits for a disk.
const THREADS: usize = 3;
/// An editor that leaves an entry that cannot be read, so that the program says how to go on.
const EDITOR: &str = "#!/bin/sh\nprintf -- '---\\ntitle: [\\n' > \"$1\"\n";

/// Makes so many small clones below `place`, all of one kind if `only` names one.
pub(super) fn run(made: &Made<'_>, place: &Path, clones: usize, only: Option<&'static str>, seed: u64) -> Tally {
    let editor = made.bin.join("zqeditor");
    fs::write(&editor, EDITOR).unwrap();
    fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let next = AtomicUsize::new(0);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        let thread = |thread: usize| {
            let place = place.join(format!("small-{thread}"));
            let next = &next;
            scope.spawn(move || {
                fs::create_dir(&place).unwrap();
                let judge = Judge::new(&place);
                let mut part = Part { made, place: &place, only, seed, hand: Hand::new(), judge };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= clones {
                        return part.judge.done();
                    }
                    part.clone(number);
                }
            })
        };
        let threads: Vec<_> = (0..THREADS).map(thread).collect();
        for thread in threads {
            tally.join(thread.join().unwrap());
        }
    });
    tally
}

/// The part of the campaign that one thread does.
struct Part<'a> {
    made: &'a Made<'a>,
    place: &'a Path,
    only: Option<&'static str>,
    seed: u64,
    hand: Hand,
    judge: Judge,
}

impl Part<'_> {
    /// Makes a clone, and runs its steps.
    fn clone(&mut self, number: usize) {
        let mut random = Random(self.seed.wrapping_mul(7_000_003).wrapping_add(number as u64));
        let random = &mut random;
        let place = repository::fresh(self.place, self.judge.tally["small"]);
        let (outside, home) = (repository::begin(&place), place.join("home"));
        let first = self.only.unwrap_or(FIRST[number % FIRST.len()]);
        let folder = if first == NAMES && random.below(3) == 0 { names::folder(random) } else { "clone".to_owned() };
        let mut clone =
            repository::make_small(place.join(&folder), &self.made.template, &self.made.own, &outside, first, random);
        if folder != "clone" {
            clone.names.hostile.push(folder.into());
        }
        self.judge.count("small", &clone);
        let what = format!("seed {}, small clone {number} ({})", self.seed, clone.kinds.join(", "));
        let around = Around::new(&clone, &home, &self.made.own, vec![place.clone()]);
        let mut seen = around.look();
        let world = World { clone: &clone, around, home };
        for at in 0..OF_KIND + ANY {
            let step = self.hand.deal(if at < OF_KIND { first } else { "" }, random);
            self.judge.tally.count(format!("step: {:?}", step.arguments));
            let arguments = world.arguments(step, random);
            let mut command = world.prepare(Command::new(self.made.program), self.made, &clone.root, &arguments);
            command.env("EDITOR", "zqeditor").env("GIT_CONFIG_NOSYSTEM", "1");
            let (answer, ()) = answer(command, step, self.place, |command| ended(command, step.is_endless));
            seen = self.judge.judge(&answer, &arguments, &world, &seen, &format!("{what}, step {at}: {arguments:?}"));
        }
        self.taken_over(&clone, &what);
    }

    /// Looks for what came into the memory from outside, or from a forged state.
    fn taken_over(&mut self, clone: &Clone, what: &str) {
        let memory = clone.root.join(".ralph");
        // Through a link, there is what is outside.
        let folders = ["knowledge", "journal", "archive"].map(|name| memory.join(name));
        let folders = folders.iter().filter(|folder| !memory.is_symlink() && !folder.is_symlink());
        let is_small = |path: &std::path::PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|stat| stat.is_file() && stat.len() < 1 << 20)
        };
        for path in folders.flat_map(|folder| files(folder)).filter(is_small) {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
            for (word, class) in [(CANARY, Class::Said), (FORGED, Class::Believed)] {
                if text.contains(word) {
                    self.judge.fault(class, what, &format!("{} has {word}", path.display()));
                }
            }
        }
    }
}
