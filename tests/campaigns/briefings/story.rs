//! What happens in the year, day by day, from a seed: a pure function, which asks the memory nothing.

use std::collections::BTreeSet;

use ralph_memory::Task;
use ralph_memory::entry::Outcome;

use super::words::{Cause, Decision, WORDS};
use crate::random::Random;

/// How many working days the year has.
pub(crate) const DAYS: usize = 250;
/// The weeks in which hardly anybody works.
const QUIET_WEEKS: [usize; 3] = [14, 30, 41];
/// After how many days most of the work goes to another area.
const PHASE: usize = 28;

/// Something that happens on a day.
#[derive(Debug)]
pub(crate) enum Step {
    Attempt(Planned),
    Add(Fact),
    /// A decision, and the text of the one that it replaces.
    Decide(String, Option<String>),
    /// Somebody adds a sentence to an entry by hand: so much of the way through the list of entries, in thousandths.
    Edit(usize),
    Prune,
}

/// An attempt at a task.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) task: usize,
    pub(crate) outcome: Outcome,
    pub(crate) summary: String,
    pub(crate) failure: Option<Failure>,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) tried: String,
    pub(crate) why: String,
    pub(crate) error: ErrorText,
    pub(crate) next: Option<String>,
}

/// An error: a name for it, its line, and the longest part of the line that is the same each time.
#[derive(Debug, Clone)]
pub(crate) struct ErrorText {
    pub(crate) name: String,
    pub(crate) line: String,
    pub(crate) constant: String,
}

/// Knowledge that somebody writes.
#[derive(Debug)]
pub(crate) struct Fact {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) category: Option<String>,
    pub(crate) feature: Option<String>,
    /// Whether only tasks of its feature see it.
    pub(crate) is_scoped: bool,
}

/// A year.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) tasks: Vec<Task>,
    pub(crate) days: Vec<Vec<Step>>,
}

/// A task that is worked on.
struct Open {
    task: usize,
    area: usize,
    component: &'static str,
    cause: usize,
    /// How many failures come before it is done; `None` if it never is.
    failures: Option<usize>,
    /// After how many failures it is given up.
    patience: usize,
    /// The least number of days between two attempts.
    pause: usize,
    n_failed: usize,
    last_day: usize,
    last: Option<(&'static Cause, &'static str)>,
}

struct Author {
    random: Random,
    story: Story,
    open: Vec<Open>,
    /// The combinations of an area, a goal and a component that nobody has worked on.
    ideas: Vec<(usize, usize, usize)>,
    learned: BTreeSet<String>,
}

/// Writes the story of a year.
pub(crate) fn story(seed: u64) -> Story {
    let mut ideas = Vec::new();
    for (number, area) in WORDS.areas.iter().enumerate() {
        for goal in 0..area.goals.len() {
            ideas.extend((0..area.components.len()).map(|component| (number, goal, component)));
        }
    }
    let mut author =
        Author { random: Random(seed), story: Story::default(), open: Vec::new(), ideas, learned: BTreeSet::new() };
    for day in 0..DAYS {
        let steps = author.day(day);
        author.story.days.push(steps);
    }
    author.story
}

impl Author {
    fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    fn day(&mut self, day: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for (_, category, title, body) in WORDS.notes.iter().filter(|note| note.0 == day) {
            steps.push(Step::Add(Fact {
                title: title.clone(),
                body: body.clone(),
                category: Some(category.clone()).filter(|category| !category.is_empty()),
                feature: None,
                is_scoped: false,
            }));
        }
        for Decision { day: at, text, later } in &WORDS.decisions {
            if *at == day {
                steps.push(Step::Decide(text.clone(), None));
            }
            if let Some((_, later)) = later.as_ref().filter(|(at, _)| *at == day) {
                steps.push(Step::Decide(later.clone(), Some(text.clone())));
            }
        }
        let is_quiet = QUIET_WEEKS.contains(&(day / 5));
        let n_attempts = if is_quiet { self.random.below(2) } else { 2 + self.random.below(6) };
        for _ in 0..n_attempts {
            self.attempt(day, &mut steps);
        }
        if self.chance(8) {
            steps.push(Step::Edit(self.random.below(1_000)));
        }
        if day % 20 == 19 {
            steps.push(Step::Prune);
        }
        steps
    }

    /// Begins a task.
    fn begin(&mut self, day: usize) -> usize {
        let focus = (day / PHASE) % WORDS.areas.len();
        let is_focus = self.chance(62);
        let fitting: Vec<usize> = (0..self.ideas.len()).filter(|at| !is_focus || self.ideas[*at].0 == focus).collect();
        let at = if fitting.is_empty() { self.random.below(self.ideas.len()) } else { *self.random.pick(&fitting) };
        let (area, goal, component) = self.ideas.swap_remove(at);
        let Self { random, story, .. } = self;
        let place = &WORDS.areas[area];
        let component = place.components[component].as_str();
        let title = place.goals[goal].replace("{c}", component);
        let number = story.tasks.len();
        let file = format!("services/{}/{}.rs", place.name, component.replace(' ', "_"));
        story.tasks.push(Task {
            id: Some(format!("{}-{}", place.name, number + 101)),
            feature: Some(place.name.clone()),
            description: format!("{title}. It concerns the part of {} that {file} has.", place.name),
            files: vec![file],
            ..Task::new(title)
        });
        let many = 4 + random.below(3);
        let (failures, patience, pause) = match random.below(100) {
            0..40 => (Some(0), 99, 0),
            40..65 => (Some(1), 99, 0),
            65..81 => (Some(2), 99, 0),
            81..90 => (Some(3), 99, 1),
            90..95 => (Some(many), 99, 1),
            95..97 => (None, many - 1, 1),
            // Long-standing ones: somebody looks at them every few weeks.
            97..99 => (Some(many), 99, 12 + random.below(14)),
            _ => (None, 99, 15 + random.below(14)),
        };
        let cause = random.below(place.causes.len());
        self.open.push(Open {
            task: number,
            area,
            component,
            cause,
            failures,
            patience,
            pause,
            n_failed: 0,
            last_day: day,
            last: None,
        });
        self.open.len() - 1
    }

    fn attempt(&mut self, day: usize, steps: &mut Vec<Step>) {
        let due: Vec<usize> = (0..self.open.len())
            .filter(|at| {
                let open = &self.open[*at];
                open.n_failed == 0 || day >= open.last_day + open.pause
            })
            .collect();
        let continues = !due.is_empty() && (due.len() > 6 || self.chance(63));
        let at = if continues { *self.random.pick(&due) } else { self.begin(day) };
        let planned = self.outcome(day, at);
        let (outcome, task) = (planned.outcome, planned.task);
        let is_new = planned.failure.is_some();
        steps.push(Step::Attempt(planned));
        self.open[at].last_day = day;
        if outcome == Outcome::Done {
            self.learn(at, steps);
            self.open.remove(at);
        } else if is_new && self.open[at].n_failed >= self.open[at].patience {
            let open = self.open.remove(at);
            let Task { title, id, .. } = &self.story.tasks[task];
            let why = open.last.map_or("it is not worth it", |(cause, _)| &cause.why).replace("{c}", open.component);
            let id = id.as_deref().unwrap_or_default();
            steps.push(Step::Decide(format!("We give up {id}, {title}: {why}."), None));
        }
    }

    /// Decides how an attempt at an open task ends.
    fn outcome(&mut self, day: usize, at: usize) -> Planned {
        let Open { task, area, component, failures, n_failed, .. } = self.open[at];
        let title = self.story.tasks[task].title.clone();
        let plain = |outcome, summary: String| Planned { task, outcome, summary, failure: None };
        match self.random.below(100) {
            0..3 => return plain(Outcome::Interrupted, "Stopped before anything was changed.".to_owned()),
            3..6 => return plain(Outcome::Partial, format!("The first half: {title}. The rest needs a review.")),
            _ => {}
        }
        let raging: Vec<usize> = (0..WORDS.plagues.len())
            .filter(|number| {
                let plague = &WORDS.plagues[*number];
                (plague.areas.is_empty() || plague.areas.contains(&area))
                    && plague.lasts.iter().any(|(first, last)| (*first..*last).contains(&day))
            })
            .collect();
        let is_struck = !raging.is_empty() && self.chance(24);
        if !is_struck && failures.is_some_and(|failures| n_failed >= failures) {
            return plain(Outcome::Done, format!("{title}: done, with tests for the {component}."));
        }
        let (name, cause) = if is_struck {
            let plague = &WORDS.plagues[*self.random.pick(&raging)];
            (plague.name.clone(), &plague.cause)
        } else {
            // The first attempts often fail by something else than the last one.
            let number = if n_failed == 0 && self.chance(45) {
                self.random.below(WORDS.areas[area].causes.len())
            } else {
                self.open[at].cause
            };
            let slug = component.replace(' ', "-");
            (format!("{slug}-{}", number + 1), &WORDS.areas[area].causes[number])
        };
        let failure = self.failure(name, cause, component);
        let open = &mut self.open[at];
        open.last = Some((cause, component));
        open.n_failed += 1;
        let outcome = *self.random.pick(&[
            Outcome::Failed,
            Outcome::Failed,
            Outcome::Failed,
            Outcome::Failed,
            Outcome::Retried,
            Outcome::Retried,
            Outcome::Blocked,
        ]);
        Planned { task, outcome, summary: String::new(), failure: Some(failure) }
    }

    fn failure(&mut self, name: String, cause: &'static Cause, component: &str) -> Failure {
        let fill = |text: &str| text.replace("{c}", component);
        let error = fill(&cause.error);
        let constant = error.split("{n}").max_by_key(|part| part.len()).unwrap_or_default().trim().to_owned();
        let line = error.replace("{n}", &(2 + self.random.below(900)).to_string());
        let next = self.chance(40).then(|| {
            let (_, title, _) = &cause.lesson;
            format!("Try this next: {}.", fill(title))
        });
        Failure {
            tried: fill(&cause.tried[self.random.below(2)]),
            why: fill(&cause.why),
            error: ErrorText { name, line, constant },
            next,
        }
    }

    /// Writes down what somebody learned from a task that is done.
    fn learn(&mut self, at: usize, steps: &mut Vec<Step>) {
        let Open { area, component, last, .. } = self.open[at];
        let is_worth_it = if last.is_some() { self.chance(55) } else { self.chance(7) };
        if !is_worth_it {
            return;
        }
        let (category, title, body) = match last {
            Some((cause, _)) => &cause.lesson,
            None => self.random.pick(&WORDS.praise),
        };
        let fill = |text: &str| text.replace("{c}", component);
        if self.learned.insert(fill(title)) {
            let is_scoped = self.chance(25);
            steps.push(Step::Add(Fact {
                title: fill(title),
                body: fill(body),
                category: Some(category.clone()),
                feature: Some(WORDS.areas[area].name.clone()),
                is_scoped,
            }));
        }
    }
}
