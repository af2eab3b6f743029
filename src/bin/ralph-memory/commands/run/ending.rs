//! How a run ends: the summary for people and programs, and the exit code.

use ralph_memory::memory::TidyReport;
use ralph_memory::runner::{RunEnd, RunLimit, RunProgress};
use ralph_memory::text::dollars;
use ralph_memory::{Memory, Problem};

use super::summary::{RunSummary, learned};
use crate::exit::Exit;
use crate::ui::Ui;

/// Tidies the memory, if the settings ask for it. A failure is reported, and does not change how the run ended.
pub(super) fn maintain(ui: &mut Ui<'_>, memory: &Memory) -> TidyReport {
    let _operation = memory.operation("run");
    let report = memory.tidy(false).unwrap_or_else(|error| {
        let message = format!("the memory was not tidied: {error}");
        let problem = Problem::warning(".ralph/", "not-tidied", message, "`ralph-memory tidy` does it by hand");
        TidyReport { problems: vec![problem], ..TidyReport::default() }
    });
    ui.problems(&report.problems);
    report
}

/// Reports how a run ended, and returns its exit code. An error that ended it comes after the results before it.
pub(super) fn close(
    ui: &mut Ui<'_>,
    run_id: &str,
    progress: &RunProgress,
    ended: anyhow::Result<RunEnd>,
    maintenance: Option<&TidyReport>,
) -> anyhow::Result<Exit> {
    let done = matches!(ended, Ok(RunEnd::Done));
    let limit = match &ended {
        Ok(RunEnd::Limit(limit)) => Some(option(*limit)),
        _ => None,
    };
    let stopped = match &ended {
        Ok(RunEnd::Interrupted) => Some("interrupted"),
        Ok(RunEnd::NotTicked(_)) => Some("not-ticked"),
        Ok(RunEnd::Crashing(_)) => Some("crashing"),
        Ok(RunEnd::UsageLimit(_)) => Some("usage-limit"),
        _ => None,
    };
    let learned = learned(progress);
    let mut summary = RunSummary::of(run_id, progress, &learned, maintenance);
    (summary.done, summary.limit, summary.stopped) = (done, limit, stopped);
    // JSON answers are one object, and that is the error. A run without attempts has nothing to sum up.
    if !ui.json && !progress.attempts.is_empty() {
        summary.show(ui, maintenance)?;
    }
    let end = ended?;
    if ui.json {
        let of_maintenance = maintenance.iter().flat_map(|report| &report.problems);
        let problems: Vec<Problem> = progress.problems.iter().chain(of_maintenance).cloned().collect();
        ui.json(summary, &problems)?;
    }
    let (exit, note) = match end {
        RunEnd::Done => return Ok(Exit::Done),
        RunEnd::Interrupted => (Exit::Interrupted, "interrupted; `ralph-memory run --resume` continues".to_owned()),
        RunEnd::Limit(limit) => (Exit::No, limit_note(limit)),
        RunEnd::Crashing(message) => {
            (Exit::No, format!("{message}; `run --resume` continues, and `--keep-going` tries again after a pause"))
        }
        RunEnd::UsageLimit(message) => {
            (Exit::No, format!("{message}; `run --resume` continues then, and `--keep-going` waits for it"))
        }
        RunEnd::NotTicked(reason) => {
            (Exit::Refused, format!("the task is done, and its box could not be ticked: {reason}; tick it by hand"))
        }
    };
    ui.warn(&note);
    Ok(exit)
}

/// Returns the option that sets a limit.
fn option(limit: RunLimit) -> &'static str {
    match limit {
        RunLimit::Iterations => "--max-iterations",
        RunLimit::Attempts => "--max-attempts",
        RunLimit::Cost { .. } => "--max-cost",
        RunLimit::Tokens { .. } => "--max-tokens",
    }
}

fn limit_note(limit: RunLimit) -> String {
    let spent = match limit {
        RunLimit::Iterations => {
            return "the run has made all its attempts; `--max-iterations N` allows more, `run --resume` continues"
                .to_owned();
        }
        RunLimit::Attempts => return "the task had all its attempts; `--max-attempts N` allows more".to_owned(),
        RunLimit::Cost { spent, limit } => {
            format!("{} of {}; `run --resume --max-cost`", dollars(spent), dollars(limit))
        }
        RunLimit::Tokens { spent, limit } => format!("{spent} of {limit} tokens; `run --resume --max-tokens`"),
    };
    format!("the run has used {spent} with a higher limit continues")
}

#[cfg(test)]
mod tests {
    use ralph_memory::entry::Outcome;
    use ralph_memory::runner::RunAttempt;

    use super::*;

    fn attempt() -> RunAttempt {
        RunAttempt {
            number: 1,
            outcome: Outcome::Blocked,
            reason: None,
            model: None,
            cost_usd: None,
            tokens: None,
            duration_secs: 1.0,
            learned: Vec::new(),
        }
    }

    #[test]
    fn the_end_of_a_run_has_its_message_and_exit_code() {
        #[track_caller]
        fn check(ended: anyhow::Result<RunEnd>, json: bool, expected: Option<Exit>, out: &str, err: &str) {
            let (mut to_out, mut to_err) = (Vec::new(), Vec::new());
            let mut ui = Ui::plain(&mut to_out, &mut to_err, json);
            let progress = RunProgress { attempts: vec![attempt()], ..RunProgress::default() };
            assert_eq!(close(&mut ui, "run-1", &progress, ended, None).ok(), expected);
            let (to_out, to_err) = (String::from_utf8(to_out).unwrap(), String::from_utf8(to_err).unwrap());
            assert!(to_out.starts_with(out), "{to_out}");
            assert!(to_err.contains(err) && to_err.is_empty() == err.is_empty(), "{to_err}");
        }
        check(Ok(RunEnd::Done), false, Some(Exit::Done), "run-1  done\n", "");
        check(Ok(RunEnd::Done), true, Some(Exit::Done), "{\"schema_version\":1,\"run_id\":\"run-1\"", "");
        check(Ok(RunEnd::Limit(RunLimit::Iterations)), false, Some(Exit::No), "run-1  not done\n", "--max-iterations");
        check(Ok(RunEnd::Limit(RunLimit::Attempts)), true, Some(Exit::No), "{", "--max-attempts");
        let spent = || Ok(RunEnd::Limit(RunLimit::Cost { spent: 2.0, limit: 1.0 }));
        check(spent(), false, Some(Exit::No), "run-1  not done\n", "used $2.00 of $1.00; `run --resume --max-cost`");
        check(Ok(RunEnd::Interrupted), false, Some(Exit::Interrupted), "run-1  not done\n", "--resume");
        check(Ok(RunEnd::NotTicked("x\u{1b}".into())), false, Some(Exit::Refused), "run-1", "ticked: x\\u{1b}");
        check(Err(anyhow::anyhow!("full")), false, None, "run-1  not done\n", "");
        check(Err(anyhow::anyhow!("full")), true, None, "", "");
    }

    #[test]
    fn a_run_without_attempts_has_no_summary() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::plain(&mut out, &mut err, false);
        close(&mut ui, "run-1", &RunProgress::default(), Err(anyhow::anyhow!("full")), None).unwrap_err();
        let spent = RunLimit::Tokens { spent: 2, limit: 1 };
        close(&mut ui, "run-1", &RunProgress::default(), Ok(RunEnd::Limit(spent)), None).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "");
        assert!(String::from_utf8(err).unwrap().starts_with("the run has used 2 of 1 tokens"));
    }
}
