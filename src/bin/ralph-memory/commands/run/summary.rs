//! The summary at the end of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_memory::entry::Outcome;
use ralph_memory::memory::{AddAction, Added, TidyReport};
use ralph_memory::runner::{RunIteration, RunTask, dollars, duration};
use serde::Serialize;

use crate::answers::EntryChange;
use crate::commands::tidy;
use crate::ui::{ID, PLAIN, TITLE, Ui, count};

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunSummary {
    /// The run.
    pub(crate) run_id: String,
    /// Its tasks, in the order in which they were begun.
    pub(crate) tasks: Vec<RunTask>,
    /// How many iterations there were.
    #[serde(rename = "iteration_count")]
    pub(crate) iterations: usize,
    /// How each of them ended, in order.
    #[serde(rename = "iterations")]
    pub(crate) ends: Vec<EndAnswer>,
    /// How many of them ended in which way.
    pub(crate) outcomes: BTreeMap<&'static str, usize>,
    /// The number of iterations of each known model.
    pub(crate) models: BTreeMap<String, usize>,
    /// Their cost in US dollars; `None` if no iteration reports one.
    pub(crate) cost_usd: Option<f64>,
    /// How long the agent worked, in seconds.
    pub(crate) duration_secs: f64,
    /// The entries that were created or updated, each once.
    #[serde(skip)]
    pub(crate) learned: Vec<Added>,
    /// Whether all requested work is done.
    pub(crate) done: bool,
    /// The limit that ended it, by the name of its option.
    pub(crate) limit: Option<&'static str>,
    /// Why else it ended early: `interrupted`, `crashing` or `usage-limit` if the agent cannot work, or `not-ticked` if a
    /// task is done and its box in the checklist could not be ticked.
    pub(crate) stopped: Option<&'static str>,
    /// The sigils of its agents that were refused.
    pub(crate) refused: Vec<String>,
    /// The maintenance at its end, if the settings ask for it.
    #[serde(skip)]
    pub(crate) maintenance: Option<TidyReport>,
}

/// The end of an iteration in JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EndAnswer {
    /// Its number in the run.
    number: u32,
    /// How it ended.
    outcome: &'static str,
    /// Why its task is not done, where the outcome does not say it all.
    reason: Option<String>,
    /// The model that worked on it, if known.
    model: Option<String>,
    /// Its cost in US dollars, if known.
    cost_usd: Option<f64>,
    /// How long the agent worked, in seconds.
    duration_secs: f64,
}

impl EndAnswer {
    fn of(iteration: &RunIteration) -> EndAnswer {
        EndAnswer {
            number: iteration.number,
            outcome: iteration.outcome.as_str(),
            reason: iteration.reason.clone(),
            model: iteration.model.clone(),
            cost_usd: iteration.cost_usd,
            duration_secs: iteration.duration.as_secs_f64(),
        }
    }
}

/// The JSON form of the summary.
#[derive(Serialize)]
struct RunAnswer<'a> {
    #[serde(flatten)]
    summary: &'a RunSummary,
    knowledge: Vec<EntryChange<'a>>,
    maintenance: Option<&'a TidyReport>,
}

impl RunSummary {
    /// Summarises a run.
    pub(crate) fn of(run_id: &str, tasks: Vec<RunTask>, iterations: &[RunIteration], done: bool) -> RunSummary {
        let mut summary = RunSummary {
            run_id: run_id.to_owned(),
            tasks,
            iterations: iterations.len(),
            ends: iterations.iter().map(EndAnswer::of).collect(),
            outcomes: BTreeMap::new(),
            models: BTreeMap::new(),
            cost_usd: None,
            duration_secs: iterations
                .iter()
                .map(|iteration| iteration.duration.as_secs_f64())
                .fold(0.0, |sum, secs| sum + secs),
            learned: Vec::new(),
            done,
            limit: None,
            stopped: None,
            refused: Vec::new(),
            maintenance: None,
        };
        for iteration in iterations {
            *summary.outcomes.entry(iteration.outcome.as_str()).or_default() += 1;
            if let Some(model) = &iteration.model {
                *summary.models.entry(model.clone()).or_default() += 1;
            }
            if let Some(cost) = iteration.cost_usd {
                *summary.cost_usd.get_or_insert_default() += cost;
            }
            iteration.learned.iter().for_each(|learned| summary.learn(learned));
        }
        summary.cost_usd = summary.cost_usd.map(|cost| (cost * 1e6).round() / 1e6);
        summary
    }

    /// An entry that the run created stays created, however often it is updated later.
    fn learn(&mut self, learned: &Added) {
        if learned.action == AddAction::Unchanged {
            return;
        }
        match self.learned.iter_mut().find(|known| known.id == learned.id) {
            Some(known) => known.title.clone_from(&learned.title),
            None => self.learned.push(learned.clone()),
        }
    }

    /// Returns the JSON form.
    pub(crate) fn answer(&self) -> impl Serialize {
        RunAnswer {
            summary: self,
            knowledge: self.learned.iter().map(EntryChange::of).collect(),
            maintenance: self.maintenance.as_ref(),
        }
    }

    /// Shows it to a person.
    pub(crate) fn show(&self, ui: &mut Ui<'_>) -> anyhow::Result<()> {
        let run = ui.styled(TITLE, &self.run_id);
        ui.line(format_args!("{run}  {}", if self.done { "done" } else { "not done" }))?;
        for task in &self.tasks {
            let name = if task.done { "done" } else { "open" };
            ui.field(name, PLAIN, &format!("{} ({})", task.title, count(task.iterations as usize, "iteration")))?;
        }
        // In their documented order, which is not alphabetical.
        let outcomes = Outcome::ALL.iter().map(|outcome| outcome.as_str());
        let outcomes = outcomes.filter_map(|name| Some(format!("{} {name}", self.outcomes.get(name)?)));
        let outcomes = outcomes.collect::<Vec<_>>().join(", ");
        let iterations = format!("{} ({outcomes})", self.iterations);
        let mut models: Vec<(&String, &usize)> = self.models.iter().collect();
        models.sort_by_key(|(_, n_iterations)| std::cmp::Reverse(**n_iterations));
        let models = models.iter().map(|(model, n_iterations)| format!("{n_iterations} {model}")).collect::<Vec<_>>();
        let fields = [
            ("iterations", iterations),
            ("models", models.join(", ")),
            ("cost", self.cost_usd.map(dollars).unwrap_or_default()),
            ("time", duration(Duration::try_from_secs_f64(self.duration_secs).unwrap_or_default())),
            ("limit", self.limit.unwrap_or_default().to_owned()),
        ];
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            ui.field(name, PLAIN, value)?;
        }
        if let Some(report) = &self.maintenance {
            ui.field("maintenance", PLAIN, &tidy::sum(report, false))?;
        }
        for learned in &self.learned {
            ui.field(learned.action.as_str(), ID, learned.id.as_str())?;
            let title = ui.styled(PLAIN, &learned.title);
            ui.line(format_args!("  {:11}  {title}", ""))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ralph_memory::Id;
    use ralph_memory::memory::EntryPath;

    use super::*;

    fn learned(id: &str, action: AddAction, title: &str) -> Added {
        Added {
            id: Id::parse(id).unwrap(),
            title: title.into(),
            action,
            path: EntryPath::new(&format!("{id}.md")),
            archived: None,
            removed: Vec::new(),
            similar: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn iteration(number: u32, outcome: Outcome, model: &str, learned: &[Added]) -> RunIteration {
        let cost_usd = (number != 2).then_some(0.25);
        RunIteration {
            number,
            outcome,
            reason: (outcome == Outcome::Failed).then(|| "the table is locked".to_owned()),
            model: Some(model.into()),
            cost_usd,
            duration: Duration::from_millis(40_500),
            learned: learned.to_vec(),
        }
    }

    fn summary() -> RunSummary {
        let created = learned("knowledge/wal-mode", AddAction::Created, "WAL mode");
        let updated = learned("knowledge/wal-mode", AddAction::Updated, "WAL\u{1b} mode");
        let same = learned("knowledge/same", AddAction::Unchanged, "Same");
        let iterations = [
            iteration(1, Outcome::Failed, "haiku", &[created, same]),
            iteration(2, Outcome::Retried, "sonnet", &[updated]),
            iteration(3, Outcome::Done, "sonnet", &[]),
        ];
        let task = RunTask { id: "t-1".into(), title: "Add the tables".into(), iterations: 3, done: true };
        RunSummary::of("run-1a2b3c4d", vec![task], &iterations, true)
    }

    fn shown(summary: &RunSummary) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::plain(&mut out, &mut err, false);
        summary.show(&mut ui).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_person_gets_a_summary() {
        let expected = "\
run-1a2b3c4d  done
  done         Add the tables (3 iterations)
  iterations   3 (1 done, 1 failed, 1 retried)
  models       2 sonnet, 1 haiku
  cost         $0.50
  time         2 min 1 s
  created      knowledge/wal-mode
               WAL\\u{1b} mode
";
        assert_eq!(shown(&summary()), expected);
    }

    #[test]
    fn a_program_gets_everything() {
        let end = |number: u32, outcome: &str, reason: Option<&str>, model: &str, cost_usd: Option<f64>| {
            serde_json::json!({
                "number": number, "outcome": outcome, "reason": reason, "model": model, "cost_usd": cost_usd,
                "duration_secs": 40.5,
            })
        };
        let expected = serde_json::json!({
            "run_id": "run-1a2b3c4d",
            "tasks": [{"id": "t-1", "title": "Add the tables", "iteration_count": 3, "done": true}],
            "iteration_count": 3,
            "iterations": [
                end(1, "failed", Some("the table is locked"), "haiku", Some(0.25)),
                end(2, "retried", None, "sonnet", None),
                end(3, "done", None, "sonnet", Some(0.25)),
            ],
            "outcomes": {"done": 1, "failed": 1, "retried": 1},
            "models": {"haiku": 1, "sonnet": 2},
            "cost_usd": 0.5,
            "duration_secs": 121.5,
            "done": true,
            "limit": null,
            "stopped": null,
            "refused": [],
            "knowledge": [{
                "action": "created", "id": "knowledge/wal-mode", "title": "WAL\u{1b} mode",
                "path": ".ralph/knowledge/wal-mode.md", "previous": null, "removed": [], "similar": [],
            }],
            "maintenance": null,
        });
        assert_eq!(serde_json::to_value(summary().answer()).unwrap(), expected);
    }
}
