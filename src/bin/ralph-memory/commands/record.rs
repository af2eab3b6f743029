//! `record`: records an attempt at a task, from its agent's output.

use std::ffi::OsString;
use std::io::{BufReader, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use ralph_memory::agent_output::transcript::{self, Options, Reader, Transcript, UNKNOWN_FORMAT};
use ralph_memory::entry::{Outcome, Validation};
use ralph_memory::error::Argument;
use ralph_memory::memory::{AttemptView, KeptAttempt, Recorded, Report, Written, record_command};
use ralph_memory::text::decoded;
use ralph_memory::{Error, Memory, Task};
use serde::Serialize;

use crate::answers::{show_removed, show_similar};
use crate::authors::run_of_environment;
use crate::error::{NoAnswer, UsageError};
use crate::exit::Exit;
use crate::parse::{self, OutputFormat};
use crate::project_paths;
use crate::session::{Globals, session_of_environment, state_folders};
use crate::ui::{self, Ui};

/// The largest output of a verification that is read, in bytes.
const MAX_TEXT: u64 = 64 * 1024 * 1024;

/// Record an attempt at a task in the journal, from its agent's output
///
/// Reads the elements that `context` asks the agent for: outcome, notes, knowledge, a failure report. An event stream
/// or session file of Claude Code, Codex or opencode, of any length, also provides files, errors, cost, tokens and a
/// summary. Options take precedence over what the text says. An attempt that a hook or a tool has already recorded is
/// completed. One that cannot be written to the journal is saved in a file that the message names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  agent < prompt.md > output.txt
  ralph-memory record output.txt --task \"Fix the login\" --agent-exit $?
  codex exec --json - < prompt.md | ralph-memory record --task \"Fix the login\"
  ralph-memory record output.txt --task \"Fix the login\" --exit-code && break
  cargo test > test.txt 2>&1
  ralph-memory record output.txt --task \"Fix the login\" --verify-exit $? \\
    --verify-command \"cargo test\" --verify-output test.txt")]
pub(crate) struct RecordArgs {
    /// What the agent wrote: its final text or its event stream [default: standard input]; or the file of an attempt
    /// that could not be recorded before
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Accept FILE as a saved attempt even if it is outside of your state folders. Such a file states the result of
    /// verification and a person's feedback, so it must not come from an agent
    #[arg(long, requires = "file")]
    kept: bool,
    /// The run that the attempt belongs to [default: `RALPH_RUN_ID`, else the session whose agent calls, else the run that was
    /// active in this folder in the last two hours, else a new one]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The task's title [default: the task that the output names, else the only one that the run asked a context for]
    #[arg(long, value_name = "TITLE", allow_hyphen_values = true)]
    task: Option<String>,
    /// The task's id [default: derived from the title]
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    task_id: Option<String>,
    /// The feature that the task belongs to
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// The section that the task belongs to
    #[arg(long, value_name = "ID")]
    section: Option<String>,
    /// How it ended, whatever the text says: done, failed, blocked, retried, error, partial, interrupted
    ///
    /// `done` and `failed` are what an agent reports. `retried`: it reports success, but verification fails. `blocked`: it
    /// reports neither. `error`: it could not start, or crashed. `interrupted`: somebody stopped it. `partial`: a session
    /// changed files and reported nothing.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<Outcome>,
    /// The model that worked on it [default: the one that its event stream names]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The agent's exit status
    #[arg(long, value_name = "STATUS", allow_negative_numbers = true, value_parser = parse::status)]
    agent_exit: Option<i32>,
    /// The command line that says whether the task is done
    #[arg(long, value_name = "COMMAND", requires = "verify_exit")]
    verify_command: Option<String>,
    /// Its exit status; 0 means that the task is done
    #[arg(long, value_name = "STATUS", allow_negative_numbers = true, value_parser = parse::status)]
    verify_exit: Option<i32>,
    /// The file with its output
    #[arg(long, value_name = "FILE", requires = "verify_exit")]
    verify_output: Option<PathBuf>,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "MS", allow_negative_numbers = true, value_parser = parse::count::<u64>, requires = "verify_exit")]
    verify_ms: Option<u64>,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = OutputFormat::Auto)]
    format: OutputFormat,
    /// Answer with the exit code, for a loop: 0 if the attempt is done, 1 if it is not, 7 if it could not be recorded
    #[arg(long)]
    exit_code: bool,
}

impl RecordArgs {
    fn task(&self) -> Option<Task> {
        let title = self.task.as_ref().filter(|title| !title.trim().is_empty());
        let (id, feature, section) = (self.task_id.clone(), self.feature.clone(), self.section.clone());
        if [&title.cloned(), &id, &feature, &section].into_iter().all(Option::is_none) {
            return None;
        }
        Some(Task { id, feature, section, ..Task::new(title.cloned().unwrap_or_default()) })
    }

    /// Returns whether an output without any text still is an attempt: the options say how it ended.
    fn allows_silence(&self) -> bool {
        self.outcome.is_some() || self.verify_exit.is_some() || self.agent_exit.is_some_and(|status| status != 0)
    }

    /// Returns whether an option states more about the attempt than its text does.
    fn says_how_it_ended(&self) -> bool {
        self.allows_silence() || self.model.is_some() || self.agent_exit.is_some()
    }
}

#[derive(Serialize)]
struct RecordAnswer<'a> {
    attempt: AttemptView,
    knowledge: &'a [Written],
    refused: &'a [String],
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &RecordArgs) -> anyhow::Result<Exit> {
    let recorded = recorded(globals, args).and_then(|recorded| {
        show(ui, &recorded, args.task.is_some() || args.task_id.is_some())?;
        Ok(recorded)
    });
    match recorded {
        Ok(recorded) if args.exit_code && recorded.outcome != Outcome::Done => Ok(Exit::No),
        Ok(_) => Ok(Exit::Done),
        Err(error) if args.exit_code => Err(NoAnswer(error).into()),
        Err(error) => Err(error),
    }
}

fn recorded(globals: &Globals, args: &RecordArgs) -> anyhow::Result<Recorded> {
    let Some(file) = &args.file else { return record(globals, args) };
    for named in [Some(file), args.verify_output.as_ref()].into_iter().flatten() {
        project_paths::check_file(named, "")?;
    }
    let is_trusted = args.kept || state_folders().hold(file);
    let (message, hint) = match KeptAttempt::read(file) {
        Ok(Some(kept)) if is_trusted => return record_kept(&globals.open()?, kept, args),
        Ok(Some(_)) => (
            format!("`{}` looks like a saved attempt, and is outside of your state folders", file.display()),
            "if it does not come from an agent, `--kept` accepts it",
        ),
        Err(error @ (Error::NewerFormat { .. } | Error::Invalid { .. })) => return Err(error.into()),
        Ok(None) if is_trusted => (
            format!("`{}` is not a saved attempt", file.display()),
            "an agent's output is recorded without `--kept`, from a file outside of your state folders",
        ),
        // An error of reading it is reported where it is read.
        Ok(None) | Err(_) => return record(globals, args),
    };
    Err(UsageError { message, hint: hint.to_owned() }.into())
}

/// Records an attempt that could not be recorded when its agent ended.
fn record_kept(memory: &Memory, kept: KeptAttempt, args: &RecordArgs) -> anyhow::Result<Recorded> {
    let (run, task) = (args.run.clone(), args.task());
    let names_one = run.is_some() || task.is_some();
    if args.says_how_it_ended() || kept.is_complete() && names_one {
        let message = format!("`{}` is a saved attempt, which already states how it ended", kept.path().display());
        let hint = "leave the other options out".to_owned();
        return Err(UsageError { message, hint }.into());
    }
    let kept = kept.named(run, task);
    memory.record_kept(&kept).map_err(|error| match error {
        Error::Invalid { what: Argument::Attempt, reason } => UsageError {
            message: format!("cannot tell which task it is about: {reason}"),
            hint: saved_hint(memory.root(), kept.path()),
        }
        .into(),
        error => error.into(),
    })
}

fn saved_hint(root: &Path, kept: &Path) -> String {
    format!("{} records it; delete the file to discard it", record_command(root, kept))
}

/// Records an agent's output. It is read before anything can fail, since it may not be readable a second time.
fn record(globals: &Globals, args: &RecordArgs) -> anyhow::Result<Recorded> {
    let opened = globals.open();
    let root = opened.as_ref().ok().map(|memory| memory.root().to_owned());
    let session = || opened.as_ref().ok().and_then(session_of_environment);
    let run = args.run.clone().or_else(run_of_environment).or_else(session);
    let reader = match &opened {
        Ok(memory) => memory.reader(args.format.into()),
        Err(_) => Reader::new(Options { format: args.format.into(), ..Options::default() }),
    };
    let name = args.file.clone().unwrap_or_else(|| "standard input".into());
    let said = transcript(reader, args.file.as_deref());
    let (memory, transcript) = match (opened, said) {
        (Ok(memory), Ok(transcript)) => (Ok(memory), transcript),
        (Err(error), Ok(transcript)) => (Err(error), transcript),
        (Err(error), Err(_)) => return Err(error),
        (Ok(_), Err(source)) => return Err(Error::Io { action: "read", path: name, source }.into()),
    };
    let unfit = if is_nothing(&transcript) && !args.allows_silence() {
        let message = format!("`{}` is empty: there is nothing to record", name.display());
        let hint = "give the agent's output, or say how it ended with `--outcome` or `--agent-exit`".to_owned();
        Some(UsageError { message, hint })
    } else {
        no_stream(&transcript, args.format, &name)
    };
    let mut report = Report {
        transcript: Some(transcript),
        agent_exit: args.agent_exit,
        outcome: args.outcome,
        model: args.model.clone(),
        validation: args.verify_exit.map(|exit_code| Validation {
            command: args.verify_command.clone().unwrap_or_default(),
            exit_code,
            duration_ms: args.verify_ms.unwrap_or_default(),
        }),
        ..Report::default()
    };
    let recorded = memory.and_then(|memory| {
        if let Some(usage) = unfit {
            return Err(usage.into());
        }
        if let Some(path) = &args.verify_output {
            report.sections.validation_output = match read(path) {
                // Input from a pipe cannot be read again, so it is saved before anything else.
                Err(error) if args.file.is_none() => {
                    let reason =
                        std::error::Error::source(&error).map_or_else(String::new, |reason| format!(": {reason}"));
                    format!("{error}{reason}")
                }
                read => read?,
            };
        }
        memory.record(args.task().as_ref(), run.as_deref(), &report).map_err(which)
    });
    recorded.map_err(|error| match error.downcast_ref::<Error>() {
        // It is saved already.
        Some(Error::NotRecorded { .. } | Error::NotKept { .. }) => error,
        _ => keep(globals, args, (root, run), &report, error),
    })
}

fn is_nothing(said: &Transcript) -> bool {
    said.text.trim().is_empty() && said.n_events == 0
}

/// Returns the problem if the options name a format and the output has no event of it.
fn no_stream(transcript: &Transcript, format: OutputFormat, name: &Path) -> Option<UsageError> {
    if transcript.format == transcript::Format::Unknown {
        let message = format!("cannot record `{}`: {UNKNOWN_FORMAT}", name.display());
        return Some(UsageError { message, hint: "if it is the agent's text, give `--format text`".to_owned() });
    }
    let broken =
        transcript.broken.first().filter(|_| transcript.n_events == 0 && !matches!(format, OutputFormat::Auto))?;
    let (line, reason, format) = (broken.line, &broken.reason, transcript.format.name());
    Some(UsageError {
        message: format!("cannot record `{}`: it has no event of {format}; line {line}: {reason}", name.display()),
        hint: "leave `--format` out, or give `--format text` for plain text".to_owned(),
    })
}

/// Saves the text from standard input, which cannot be read again, although its iteration is unknown. Returns the error
/// with the place of the file.
fn keep(
    globals: &Globals,
    args: &RecordArgs,
    (root, run): (Option<PathBuf>, Option<String>),
    report: &Report,
    error: anyhow::Error,
) -> anyhow::Error {
    let Ok(start) = globals.start() else { return error };
    if args.file.is_some() || report.transcript.as_ref().is_none_or(is_nothing) {
        return error;
    }
    let (root, kept) = save_input(&root.unwrap_or(start), run, args.task(), report, globals.now());
    let source = match (error.downcast::<UsageError>(), &kept) {
        (Ok(UsageError { message, hint }), Ok(kept)) => {
            let hint = format!("{hint}; the input is saved with these options: {}", saved_hint(&root, kept));
            return UsageError { message, hint }.into();
        }
        (Ok(usage), Err(_)) => Error::Invalid { what: Argument::Attempt, reason: usage.to_string() },
        (Err(error), _) => match error.downcast::<Error>() {
            Ok(source) => source,
            Err(error) => return error,
        },
    };
    let source = Box::new(source);
    match kept {
        Ok(kept) => Error::NotRecorded { root, kept, source }.into(),
        Err(Error::NotKept { root, text, reason, .. }) => Error::NotKept { root, text, reason, source }.into(),
        Err(_) => (*source).into(),
    }
}

/// Saves a report for the memory that `start` is in, or for the missing one there. Returns the root of that memory, and the
/// file.
fn save_input(
    start: &Path,
    run: Option<String>,
    task: Option<Task>,
    report: &Report,
    now: DateTime<Utc>,
) -> (PathBuf, Result<PathBuf, Error>) {
    let start = start.canonicalize().unwrap_or_else(|_| start.to_owned());
    // A missing memory should be at the root of the repository, else in the folder itself.
    let above = |is_it: fn(&Path) -> bool| start.ancestors().find(|folder| is_it(folder));
    let root =
        above(Memory::is_in).or_else(|| above(|folder| folder.join(".git").exists())).unwrap_or(&start).to_owned();
    let kept = state_folders().keep(&root, run, task, report, now);
    (root, kept)
}

/// Saves the text from standard input for a call of `record` whose options are invalid, and returns what to do with it.
/// Returns nothing if the call names a file, or the input is empty.
pub(crate) fn rescue(program: clap::Command, arguments: &[OsString]) -> Option<String> {
    let matches = program.ignore_errors(true).try_get_matches_from(arguments).ok()?;
    if matches.subcommand_name() != Some("record") {
        return None;
    }
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let is_help = words.iter().any(|word| matches!(*word, "-h" | "--help" | "-V" | "--version"));
    let value = |option: &str| {
        let behind = words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1)).copied();
        behind.or_else(|| words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('=')))
    };
    if is_help || std::io::stdin().is_terminal() || words[1..].iter().any(|word| Path::new(word).is_file()) {
        return None;
    }
    let transcript = transcript(Reader::new(Options::default()), None).ok()?;
    if is_nothing(&transcript) {
        return None;
    }
    let start = value("--root").map_or_else(std::env::current_dir, |root| Ok(PathBuf::from(root))).ok()?;
    let report = Report { transcript: Some(transcript), ..Report::default() };
    let (root, kept) = save_input(&start, run_of_environment(), value("--task").map(Task::new), &report, Utc::now());
    Some(match kept {
        Ok(kept) => format!("the input is saved: {}", saved_hint(&root, &kept)),
        Err(Error::NotKept { text, reason, .. }) => format!("the input could not be saved ({reason}):\n{text}"),
        Err(error) => format!("the input could not be saved: {error}"),
    })
}

/// Returns what to do if it is unknown which task the attempt is at.
fn which(error: Error) -> anyhow::Error {
    match error {
        Error::Invalid { what: Argument::Attempt, reason } => UsageError {
            message: format!("cannot tell which task it is about: {reason}"),
            hint: "name it with `--task TITLE`".to_owned(),
        }
        .into(),
        error => error.into(),
    }
}

/// Shows what was written, and the task, unless the options named it.
fn show(ui: &mut Ui<'_>, recorded: &Recorded, names_task: bool) -> anyhow::Result<()> {
    if ui.json {
        let Recorded { knowledge, refused, .. } = recorded;
        let answer = RecordAnswer { attempt: recorded.view(), knowledge, refused };
        return Ok(ui.json(answer, &recorded.problems)?);
    }
    let id = ui.styled(ui::ID, recorded.id.as_str());
    let task = if names_task { String::new() } else { format!(": {}", recorded.attempt.task_title) };
    ui.line(format!("recorded {id} ({}){task}", recorded.outcome.as_str()))?;
    for added in &recorded.knowledge {
        let id = ui.styled(ui::ID, added.id.as_str());
        ui.line(format!("{} {id}", added.action.as_str()))?;
        show_similar(ui, added);
        show_removed(ui, added);
    }
    for refused in &recorded.refused {
        ui.warn(&format!("report: {refused}"));
    }
    ui.problems(&recorded.problems);
    Ok(())
}

fn read(path: &Path) -> Result<String, Error> {
    let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    text_of(file).map_err(failed)
}

/// Reads the agent's output, without keeping it in memory.
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
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is over the limit of 64 MiB"));
    }
    Ok(decoded(&bytes).into_owned())
}
