//! The summary at the end of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_memory::entry::Outcome;
use ralph_memory::memory::{TidyReport, WriteAction, Written};
use ralph_memory::runner::{RunAttempt, RunProgress, RunTask};
use ralph_memory::text::{dollars, duration};
use serde::Serialize;

use crate::commands::tidy;
use crate::ui::{ID, PLAIN, TITLE, Ui, count};

/// The summary of a run.
#[derive(Serialize)]
pub(super) struct RunSummary<'a> {
    run_id: &'a str,
    /// Its tasks, in the order in which they were begun.
    tasks: &'a [RunTask],
    /// Its attempts, in order.
    attempts: &'a [RunAttempt],
    /// How many of them ended in which way.
    outcomes: BTreeMap<Outcome, usize>,
    /// The number of attempts of each known model.
    models: BTreeMap<&'a str, usize>,
    /// Their cost in US dollars; `None` if no attempt reports one.
    cost_usd: Option<f64>,
    /// How long the agent worked, in seconds.
    duration_secs: f64,
    /// Whether all requested work is done.
    pub(super) done: bool,
    /// The limit that ended it, by the name of its option.
    pub(super) limit: Option<&'static str>,
    /// Why else it ended early: `interrupted`, `crashing` or `usage-limit` if the agent cannot work, or `not-ticked` if a
    /// task is done and its box in the checklist could not be ticked.
    pub(super) stopped: Option<&'static str>,
    /// The report elements of its agents that were refused.
    refused: &'a [String],
    /// The entries that were created or updated, each once.
    knowledge: &'a [Written],
    /// The maintenance at its end, if the settings ask for it.
    maintenance: Option<&'a TidyReport>,
}

/// Returns the entries that a run created or updated, each once. An entry that it created stays created, however often
/// it is updated later.
pub(super) fn learned(progress: &RunProgress) -> Vec<Written> {
    let mut all: Vec<Written> = Vec::new();
    let changes = progress.attempts.iter().flat_map(|attempt| &attempt.learned);
    for change in changes.filter(|change| change.action != WriteAction::Unchanged) {
        match all.iter_mut().find(|known| known.id == change.id) {
            Some(known) => known.title.clone_from(&change.title),
            None => all.push(change.clone()),
        }
    }
    all
}

impl<'a> RunSummary<'a> {
    /// Summarises a run that is not done.
    pub(super) fn of(
        run_id: &'a str,
        progress: &'a RunProgress,
        learned: &'a [Written],
        maintenance: Option<&'a TidyReport>,
    ) -> RunSummary<'a> {
        let attempts = &progress.attempts;
        let (mut outcomes, mut models) = (BTreeMap::new(), BTreeMap::new());
        for attempt in attempts {
            *outcomes.entry(attempt.outcome).or_default() += 1;
            if let Some(model) = &attempt.model {
                *models.entry(model.as_str()).or_default() += 1;
            }
        }
        let costs: Vec<f64> = attempts.iter().filter_map(|attempt| attempt.cost_usd).collect();
        RunSummary {
            run_id,
            tasks: &progress.tasks,
            attempts,
            outcomes,
            models,
            cost_usd: (!costs.is_empty()).then(|| (costs.iter().sum::<f64>() * 1e6).round() / 1e6),
            // Without attempts, `sum` would be -0.
            duration_secs: attempts.iter().fold(0.0, |sum, attempt| sum + attempt.duration_secs),
            done: false,
            limit: None,
            stopped: None,
            refused: &progress.refused,
            knowledge: learned,
            maintenance,
        }
    }

    /// Shows it to a person.
    pub(super) fn show(&self, ui: &mut Ui<'_>, maintenance: Option<&TidyReport>) -> anyhow::Result<()> {
        let run = ui.styled(TITLE, self.run_id);
        ui.line(format_args!("{run}  {}", if self.done { "done" } else { "not done" }))?;
        for task in self.tasks {
            let name = if task.done { "done" } else { "open" };
            ui.field(name, PLAIN, &format!("{} ({})", task.title, count(task.attempts as usize, "attempt")))?;
        }
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(outcome, n)| format!("{n} {}", outcome.as_str())).collect();
        let mut models: Vec<(&&str, &usize)> = self.models.iter().collect();
        models.sort_by_key(|(_, n_attempts)| std::cmp::Reverse(**n_attempts));
        let models: Vec<String> = models.iter().map(|(model, n_attempts)| format!("{n_attempts} {model}")).collect();
        let fields = [
            ("attempts", format!("{} ({})", self.attempts.len(), outcomes.join(", "))),
            ("models", models.join(", ")),
            ("cost", self.cost_usd.map(dollars).unwrap_or_default()),
            ("time", duration(Duration::try_from_secs_f64(self.duration_secs).unwrap_or_default())),
            ("limit", self.limit.unwrap_or_default().to_owned()),
            ("maintenance", maintenance.map(|report| tidy::sum(report, false)).unwrap_or_default()),
        ];
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            ui.field(name, PLAIN, value)?;
        }
        for change in self.knowledge {
            ui.field(change.action.as_str(), ID, change.id.as_str())?;
            let title = ui.styled(PLAIN, &change.title);
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

    fn learned(id: &str, action: WriteAction, title: &str) -> Written {
        Written {
            id: Id::parse(id).unwrap(),
            title: title.into(),
            action,
            path: EntryPath::new(&format!("{id}.md")),
            previous_id: None,
            derived_tags: Vec::new(),
            removed: Vec::new(),
            similar: Vec::new(),
            suggested: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn attempt(number: u32, outcome: Outcome, model: &str, learned: &[Written]) -> RunAttempt {
        RunAttempt {
            number,
            outcome,
            reason: (outcome == Outcome::Failed).then(|| "the table is locked".to_owned()),
            model: Some(model.into()),
            cost_usd: (number != 2).then_some(0.25),
            tokens: None,
            duration_secs: 40.5,
            learned: learned.to_vec(),
        }
    }

    fn check(test: impl FnOnce(&RunSummary<'_>)) {
        let created = learned("knowledge/wal-mode", WriteAction::Created, "WAL mode");
        let updated = learned("knowledge/wal-mode", WriteAction::Updated, "WAL\u{1b} mode");
        let same = learned("knowledge/same", WriteAction::Unchanged, "Same");
        let attempts = vec![
            attempt(1, Outcome::Failed, "haiku", &[created, same]),
            attempt(2, Outcome::Retried, "sonnet", &[updated]),
            attempt(3, Outcome::Done, "sonnet", &[]),
        ];
        let tasks = vec![RunTask { id: "t-1".into(), title: "Add the tables".into(), attempts: 3, done: true }];
        let progress = RunProgress { attempts, tasks, ..RunProgress::default() };
        let learned = super::learned(&progress);
        let mut summary = RunSummary::of("run-1a2b3c4d", &progress, &learned, None);
        summary.done = true;
        test(&summary);
    }

    #[test]
    fn a_person_gets_a_summary() {
        let expected = "\
run-1a2b3c4d  done
  done         Add the tables (3 attempts)
  attempts     3 (1 done, 1 failed, 1 retried)
  models       2 sonnet, 1 haiku
  cost         $0.50
  time         2 min 1 s
  created      knowledge/wal-mode
               WAL\\u{1b} mode
";
        check(|summary| {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            summary.show(&mut Ui::plain(&mut out, &mut err, false), None).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        });
    }

    #[test]
    fn a_program_gets_everything() {
        let end = |number: u32, outcome: &str, reason: Option<&str>, model: &str, cost_usd: Option<f64>| {
            serde_json::json!({
                "number": number, "outcome": outcome, "reason": reason, "model": model, "cost_usd": cost_usd, "tokens": null,
                "duration_secs": 40.5,
            })
        };
        let expected = serde_json::json!({
            "run_id": "run-1a2b3c4d",
            "tasks": [{"id": "t-1", "title": "Add the tables", "attempts": 3, "done": true}],
            "attempts": [
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
                "path": ".ralph/knowledge/wal-mode.md", "previous_id": null, "derived_tags": [],
                "removed": [], "similar": [], "suggested": [],
            }],
            "maintenance": null,
        });
        check(|summary| assert_eq!(serde_json::to_value(summary).unwrap(), expected));
    }
}
