//! The commands that run in hostile clones, and how they are dealt.

use std::sync::LazyLock;

use serde::Deserialize;

use super::repository::{CLIENTS, NAMES, OUTER_LINKS, SEALS};
use crate::random::Random;

/// A command, and what it reads.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) arguments: Vec<String>,
    pub(super) input: String,
    /// Whether its answer is the same wherever and whenever it is asked.
    pub(super) is_compared: bool,
    /// Whether it names a run at random, so that answers behind it differ.
    pub(super) is_random: bool,
    /// Whether it goes on until it is ended, which happens after its first line.
    pub(super) is_endless: bool,
}

/// The commands, by what their answers are; of some, what they read.
#[derive(Deserialize)]
struct Table {
    asks: Vec<String>,
    does: Vec<String>,
    reads: Vec<(String, String)>,
    begins_a_run: Vec<(String, String)>,
    goes_on: Vec<String>,
}

/// All commands, which are in `steps.toml`.
pub(crate) static STEPS: LazyLock<Vec<Step>> = LazyLock::new(|| {
    let Table { asks, does, reads, begins_a_run, goes_on } = toml::from_str(include_str!("steps.toml")).unwrap();
    let step = |line: String| Step { arguments: shlex::split(&line).unwrap(), ..Step::default() };
    let asks = asks.into_iter().map(|line| Step { is_compared: true, ..step(line) });
    let reads = reads.into_iter().map(|(line, input)| Step { input, ..step(line) });
    let runs = begins_a_run.into_iter().map(|(line, input)| Step { input, is_random: true, ..step(line) });
    let goes_on = goes_on.into_iter().map(|line| Step { is_endless: true, ..step(line) });
    asks.chain(does.into_iter().map(step)).chain(reads).chain(runs).chain(goes_on).collect()
});

/// How many steps of a small clone are of its kind; the others are any.
pub(super) const OF_KIND: usize = 2;
pub(super) const ANY: usize = 2;

/// Returns whether a step is about what a kind of clone has.
fn is_about(step: &Step, kind: &str) -> bool {
    let asks_for =
        |places: &[&str]| step.arguments.iter().any(|argument| places.iter().any(|place| argument.contains(place)));
    let is_one_of = |commands: &[&str]| commands.contains(&step.arguments[0].as_str());
    match kind {
        NAMES => {
            asks_for(&["{entry}", "{task}", "{run}", "{tag}", "{feature}", "{title}"])
                || is_one_of(&["check", "--quiet", "--json", "tidy", "hook"])
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
