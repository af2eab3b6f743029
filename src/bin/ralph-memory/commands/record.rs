//! `record`: ends an iteration with what its agent said.

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use ralph_memory::entry::Outcome;
use ralph_memory::memory::{Recorded, Report, Validated};
use ralph_memory::transcript::{Reader, Transcript};
use ralph_memory::{Error, Id};
use serde::Serialize;

use crate::error::{Exit, Usage};
use crate::parse::{self, Format};
use crate::session::{Globals, run_of_environment};
use crate::ui::{self, Ui};

/// The largest output of a verification that is read, in bytes.
const MAX_TEXT: u64 = 64 * 1024 * 1024;

/// End an iteration: read what its agent said, and write the journal
///
/// The text is read for the elements that `context` asks the agent for: how it ended, notes, knowledge,
/// a failure report. Of the event stream of Claude Code or Codex, which may be of any length, files, errors,
/// cost, tokens and a summary are taken too; what an option says counts over it. It ends the iteration that
/// `context` began; where several are open, say which.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  agent < prompt.md > output.txt; ralph-memory record output.txt --agent-exit $?
  claude -p --output-format stream-json --verbose < prompt.md | ralph-memory record
  cargo test > test.txt 2>&1; ralph-memory record output.txt --verify-command \"cargo test\" --verify-exit $? --verify-output test.txt
  echo \"<task-failed>t-1</task-failed>\" | ralph-memory record --task-id t-1")]
pub(crate) struct Args {
    /// What the agent wrote: its final text, or its event stream [default: standard input]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The run of the iteration [default: `RALPH_RUN_ID`, else that of the open one]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The iteration's number in its run
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iteration: Option<u32>,
    /// The task, where no iteration of it was begun
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    task_id: Option<String>,
    /// How it ended, whatever the text says: done, failed, blocked, retried, error, partial, interrupted
    #[arg(long, value_name = "OUTCOME", value_parser = parse::outcome)]
    outcome: Option<Outcome>,
    /// The model that worked on it [default: the one that was chosen]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The agent's exit status
    #[arg(long, value_name = "STATUS", allow_negative_numbers = true)]
    agent_exit: Option<i32>,
    /// The command line that says whether the task is done
    #[arg(long, value_name = "COMMAND", requires = "verify_exit")]
    verify_command: Option<String>,
    /// Its exit status; 0 means that the task is done
    #[arg(long, value_name = "STATUS", allow_negative_numbers = true)]
    verify_exit: Option<i32>,
    /// The file with what it printed
    #[arg(long, value_name = "FILE", requires = "verify_exit")]
    verify_output: Option<PathBuf>,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "MS", requires = "verify_exit")]
    verify_ms: Option<u64>,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Auto)]
    format: Format,
}

#[derive(Serialize)]
struct Answer<'a> {
    recorded: &'a Recorded,
    id: &'a Id,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &Args) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let run = args.run.clone().or_else(run_of_environment);
    let iteration =
        memory.resume(run.as_deref(), args.iteration, args.task_id.as_deref()).map_err(|error| match error {
            Error::Invalid { what, reason } if what == "iteration" => anyhow::Error::from(Usage {
                message: format!("cannot tell which iteration ends: {reason}"),
                hint:
                    "`ralph-memory context --task TITLE` begins one; `--run` and `--iteration` name one; `--task-id` \
                       records an attempt that was not begun here"
                        .to_owned(),
            }),
            error => error.into(),
        })?;
    let reader = memory.reader(args.format.into());
    let name = args.file.clone().unwrap_or_else(|| "standard input".into());
    let transcript = transcript(reader, args.file.as_deref()).map_err(|source| Error::Io {
        action: "read",
        path: name.clone(),
        source,
    })?;
    if matches!(args.format, Format::Claude | Format::Codex)
        && transcript.n_events == 0
        && let Some(broken) = transcript.broken.first()
    {
        let (line, reason, format) = (broken.line, &broken.reason, transcript.format.name());
        return Err(Usage {
            message: format!(
                "cannot record `{}`: it holds no event of {format}; line {line}: {reason}",
                name.display()
            ),
            hint: "leave `--format` out, or say `--format text` for plain text".to_owned(),
        }
        .into());
    }
    let output = args.verify_output.as_deref().map(read).transpose()?.unwrap_or_default();
    let report = Report {
        transcript: Some(transcript),
        agent_exit: args.agent_exit,
        outcome: args.outcome,
        model: args.model.clone(),
        validation: args.verify_exit.map(|exit_code| Validated {
            command: args.verify_command.clone().unwrap_or_default(),
            exit_code,
            output,
            duration_ms: args.verify_ms.unwrap_or_default(),
        }),
        ..Report::default()
    };
    let recorded = memory.finish(&iteration, &report)?;
    if ui.json {
        ui.json(Answer { recorded: &recorded, id: &recorded.id }, &recorded.problems)?;
        return Ok(Exit::Done);
    }
    let id = ui.styled(ui::ID, recorded.id.as_str());
    ui.line(format!("recorded {id} ({})", recorded.outcome.as_str()))?;
    for added in &recorded.knowledge {
        let id = ui.styled(ui::ID, added.id.as_str());
        ui.line(format!("{} {id}", added.action.as_str()))?;
    }
    for refused in &recorded.refused {
        ui.note(&format!("not taken over: {refused}"));
    }
    ui.problems(&recorded.problems);
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<String, Error> {
    let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    text_of(file).map_err(failed)
}

/// Reads what the agent wrote, without holding it.
fn transcript(reader: Reader, path: Option<&Path>) -> std::io::Result<Transcript> {
    match path {
        Some(path) => reader.read(BufReader::new(std::fs::File::open(path)?)),
        None => reader.read(std::io::stdin().lock()),
    }
}

fn text_of(from: impl std::io::Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let mut from = from.take(MAX_TEXT + 1);
    from.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it has more than 64 MiB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
