//! The briefings of a project's year: each keeps its budget, and shows what readers of the journal found most useful.
//!
//! The year is a function of a seed. A day has the attempts, the knowledge and the edits of a working day; after it
//! comes the briefing of the next session. `briefings/choices.txt` has what readers chose on the sampled days of seed 1,
//! from [`pages`] alone. A change of `briefings/` makes the choices worthless: have them made again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ralph_memory::context::{Briefing, BriefingRequest, Budget};
use ralph_memory::entry::{Outcome, Sections, Validation};
use ralph_memory::memory::{EntryChanges, EntryFilter, Report, Run};
use ralph_memory::{Id, Kind, Knowledge, Memory, Scope};

#[path = "briefings/pages.rs"]
mod pages;
#[path = "briefings/story.rs"]
pub(crate) mod story;
#[path = "briefings/words.rs"]
mod words;

use story::{Fact, Planned, Step, Story};

/// What readers of the pages chose.
const CHOICES: &str = include_str!("briefings/choices.txt");
/// The seed of the year that they read.
pub(crate) const CHOSEN_SEED: u64 = 1;
/// The most tokens of a briefing.
const TOKENS: usize = 1_200;
/// The least share of the choices that the briefings name, in percent.
const LEAST_SHARE: usize = 80;
/// Monday, 5 January 2026, 08:00 UTC.
const START: u64 = 1_767_600_000;
const HOUR: u64 = 3_600;
/// The sampled days: each sixth from this one on, up to the last.
const FIRST_SAMPLE: usize = 10;
const SAMPLE_EVERY: usize = 6;
const LAST_SAMPLE: usize = 244;

/// What came of a year.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) days: usize,
    pub(crate) tasks: usize,
    pub(crate) attempts: usize,
    /// The largest briefing, in tokens.
    pub(crate) largest: usize,
    /// The share of the choices that the briefings name, in percent.
    pub(crate) share: usize,
    /// The choices of every other sampled day from the first on, which are for looking at, and the others, which are held
    /// out.
    pub(crate) seen: Score,
    pub(crate) held_out: Score,
    /// The same choices by what they are.
    pub(crate) chosen_tasks: Score,
    pub(crate) chosen_errors: Score,
    pub(crate) chosen_entries: Score,
    /// The days and choices that are not in the briefing.
    pub(crate) missing: Vec<String>,
}

/// How many of the chosen things the briefings name.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Score {
    pub(crate) named: usize,
    pub(crate) chosen: usize,
}

impl Score {
    fn add(&mut self, is_named: bool) {
        self.chosen += 1;
        self.named += usize::from(is_named);
    }
}

/// An attempt as the journal has it.
pub(crate) struct Past {
    id: Id,
    day: usize,
    pub(crate) plan: Planned,
}

/// A memory in the middle of its year.
pub(crate) struct Year {
    pub(crate) memory: Memory,
    pub(crate) folder: PathBuf,
    pub(crate) seconds: Arc<AtomicU64>,
    pub(crate) story: Story,
    pub(crate) past: Vec<Past>,
    decisions: BTreeMap<String, Id>,
    /// Whether attempts name the files of their tasks as changed.
    pub(crate) has_files: bool,
}

impl Year {
    pub(crate) fn begin(folder: &Path, seed: u64) -> Year {
        let seconds = Arc::new(AtomicU64::new(START));
        Memory::init(folder).unwrap();
        let memory = opened(folder, &seconds);
        let (story, past, decisions) = (story::story(seed), Vec::new(), BTreeMap::new());
        Year { memory, folder: folder.to_owned(), seconds, story, past, decisions, has_files: false }
    }

    /// Returns the memory as another process sees it.
    pub(crate) fn opened(&self) -> Memory {
        opened(&self.folder, &self.seconds)
    }

    /// Lives through a day. `each` attempt is looked at before it is made.
    pub(crate) fn live(&mut self, day: usize, each: &mut dyn FnMut(&Year, &Planned)) {
        self.seconds.store(morning(day), Ordering::SeqCst);
        for step in std::mem::take(&mut self.story.days[day]) {
            match step {
                Step::Attempt(plan) => {
                    each(self, &plan);
                    self.attempt(day, plan);
                }
                Step::Add(fact) => drop(self.memory.add(&knowledge(fact)).unwrap()),
                Step::Decide(text, replaced) => self.decide(text, replaced),
                Step::Edit(place) => self.edit(day, place),
                Step::Prune => drop(self.memory.tidy(false).unwrap()),
            }
            self.seconds.fetch_add(HOUR / 2, Ordering::SeqCst);
        }
    }

    fn attempt(&mut self, day: usize, plan: Planned) {
        let run = Run::named(format!("run-{day:04}"));
        let iteration = self.memory.begin(&self.story.tasks[plan.task], &run).unwrap();
        self.seconds.fetch_add(HOUR / 4, Ordering::SeqCst);
        let mut report = report(&plan, &iteration.task_id());
        if self.has_files {
            report.files.modified.clone_from(&self.story.tasks[plan.task].files);
        }
        let recorded = self.memory.finish(&iteration, &report).unwrap();
        self.past.push(Past { id: recorded.id, day, plan });
    }

    fn decide(&mut self, text: String, replaced: Option<String>) {
        let added = self.memory.add(&Knowledge::event("decision", &text).unwrap()).unwrap();
        if let Some(old) = replaced.and_then(|replaced| self.decisions.get(&replaced)) {
            self.memory.change(&added.id, &EntryChanges::superseding([old.clone()])).unwrap();
        }
        self.decisions.insert(text, added.id);
    }

    /// Adds a sentence to an entry by hand.
    fn edit(&self, day: usize, place: usize) {
        let entries = self.memory.list(&EntryFilter { kind: Some(Kind::Knowledge), ..EntryFilter::default() }).entries;
        let entry = &entries[place * entries.len() / 1_000];
        let file = self.memory.root().join(entry.path.as_str());
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{}\n\nStill true on {}.\n", text.trim_end(), date(day))).unwrap();
    }

    fn briefing(&self) -> Briefing {
        self.memory.briefing(&BriefingRequest::default()).unwrap()
    }
}

/// Opens the memory with this clock.
fn opened(folder: &Path, seconds: &Arc<AtomicU64>) -> Memory {
    let own = Arc::clone(seconds);
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(own.load(Ordering::SeqCst));
    Memory::open(folder).unwrap().with_clock(clock)
}

fn morning(day: usize) -> u64 {
    START + (day / 5 * 7 + day % 5) as u64 * 24 * HOUR
}

fn date(day: usize) -> String {
    let time = chrono::DateTime::from_timestamp(i64::try_from(morning(day)).unwrap(), 0).unwrap();
    time.format("%Y-%m-%d").to_string()
}

fn knowledge(fact: Fact) -> Knowledge {
    let tags: Vec<&str> = fact.title.split(|character: char| !character.is_alphanumeric()).collect();
    let tags: Vec<&str> = tags.into_iter().filter(|word| word.len() > 5).take(3).collect();
    let tags = if tags.is_empty() { vec!["project"] } else { tags };
    let scope = match &fact.feature {
        Some(feature) if fact.is_scoped => Scope::Feature(feature.clone()),
        _ => Scope::Project,
    };
    Knowledge { category: fact.category, feature: fact.feature, scope, ..Knowledge::new(&fact.title, tags, &fact.body) }
}

fn report(plan: &Planned, task: &str) -> Report {
    let Some(failure) = &plan.failure else {
        let sections = Sections { summary: plan.summary.clone(), ..Sections::default() };
        return Report { outcome: Some(plan.outcome), sections, ..Report::default() };
    };
    let story::Failure { tried, why, error, next } = failure;
    let next = next.as_ref().map(|next| format!("<retry-suggestion>{next}</retry-suggestion>\n")).unwrap_or_default();
    let failed = format!(
        "<failure-report>\nwhat_tried: {tried}\nwhy_failed: {why}\nerror_category: test_failure\nstack_trace: {}\n\
         </failure-report>\n{next}",
        error.line
    );
    if plan.outcome == Outcome::Retried {
        let validation = Some(Validation { command: "make test".to_owned(), exit_code: 2, duration_ms: 40_000 });
        let sections = Sections { validation_output: error.line.clone(), ..Sections::default() };
        let text = format!("{failed}<journal>It works now.</journal>\n<task-done>{task}</task-done>");
        return Report { text, validation, sections, outcome: Some(Outcome::Retried), ..Report::default() };
    }
    Report { text: failed, outcome: Some(plan.outcome), ..Report::default() }
}

/// Returns whether a day is sampled.
fn is_sampled(day: usize) -> bool {
    (FIRST_SAMPLE..=LAST_SAMPLE).contains(&day) && (day - FIRST_SAMPLE).is_multiple_of(SAMPLE_EVERY)
}

/// Returns the chosen things of a day.
fn choices(day: usize) -> impl Iterator<Item = &'static str> {
    let of_day = move |line: &&str| line.split('\t').nth(1).is_some_and(|of| of.parse() == Ok(day));
    CHOICES.lines().filter(|line| !line.starts_with('#')).filter(of_day).flat_map(|line| line.split('\t').skip(2))
}

impl Year {
    /// Returns whether a briefing names a thing: a task and an entry by its id, an error by its text.
    fn names(&self, briefing: &str, thing: &str) -> bool {
        if let Some(name) = thing.strip_prefix("error:") {
            let failures = self.past.iter().filter_map(|past| past.plan.failure.as_ref());
            let error = failures.map(|failure| &failure.error).find(|error| error.name == name);
            return briefing.contains(&error.unwrap_or_else(|| panic!("no error {name}")).constant);
        }
        let is_known = match Id::parse(thing) {
            Some(id) if thing.starts_with("knowledge/") => self.memory.show(&id).is_ok(),
            _ => self.story.tasks.iter().any(|task| task.id.as_deref() == Some(thing)),
        };
        assert!(is_known, "there is no {thing}");
        briefing.contains(&format!("`{thing}`"))
    }

    /// Compares a day's briefing with what readers chose.
    fn score(&self, day: usize, briefing: &str, outcomes: &mut Outcomes) {
        for thing in choices(day) {
            let is_named = self.names(briefing, thing);
            let is_held_out = (day - FIRST_SAMPLE) / SAMPLE_EVERY % 2 == 1;
            let half = if is_held_out { &mut outcomes.held_out } else { &mut outcomes.seen };
            half.add(is_named);
            let of_kind = match thing.split_once([':', '/']) {
                Some(("error", _)) => &mut outcomes.chosen_errors,
                Some(_) => &mut outcomes.chosen_entries,
                None => &mut outcomes.chosen_tasks,
            };
            of_kind.add(is_named);
            if !is_named {
                outcomes.missing.push(format!("{day} {thing}"));
            }
        }
    }
}

/// Lives through the first days of a year in a folder, which gets a memory. With `pages`, the pages of the sampled days
/// are written there.
pub(crate) fn run(folder: &Path, days: usize, seed: u64, pages: Option<&Path>) -> Outcomes {
    let mut year = Year::begin(folder, seed);
    let mut outcomes = Outcomes::default();
    for day in 0..days.min(story::DAYS) {
        year.live(day, &mut |_, _| {});
        let briefing = year.briefing();
        let size = Budget::tokens(0).cost(&briefing.text);
        assert!((1..=TOKENS).contains(&size), "seed {seed}: the briefing of day {day} has {size} tokens");
        assert_eq!(briefing.problems, [], "seed {seed}, day {day}");
        // Another process sees the same.
        assert_eq!(year.opened().briefing(&BriefingRequest::default()).unwrap(), briefing, "seed {seed}, day {day}");
        outcomes.largest = outcomes.largest.max(size);
        outcomes.days += 1;
        if !is_sampled(day) {
            continue;
        }
        if seed == CHOSEN_SEED {
            year.score(day, &briefing.text, &mut outcomes);
        }
        if let Some(pages) = pages {
            fs::write(pages.join(format!("day-{day:03}.md")), pages::page(&year, day)).unwrap();
        }
    }
    let (seen, held_out) = (outcomes.seen, outcomes.held_out);
    outcomes.share = (seen.named + held_out.named) * 100 / (seen.chosen + held_out.chosen).max(1);
    let has_choices = seen.chosen + held_out.chosen > 0;
    assert!(!has_choices || outcomes.share >= LEAST_SHARE, "seed {seed}: {outcomes:?}");
    outcomes.attempts = year.past.len();
    outcomes.tasks = year.past.iter().map(|past| past.plan.task + 1).max().unwrap_or_default();
    outcomes
}
