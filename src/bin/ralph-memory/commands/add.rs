//! `add`: writes knowledge, or an event.

use std::io::{self, IsTerminal as _, Read as _};

use ralph_memory::entry::{EVENTS, MAX_FILE_BYTES};
use ralph_memory::text::decoded_whole;
use ralph_memory::{Error, Id, Knowledge, Memory, Scope, Source};
use serde_json::{Map, Value};

use crate::answers::{show_removed, show_written};
use crate::authors::{author, is_run_by_agent};
use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse::{self, Expiry};
use crate::session::Globals;
use crate::ui::Ui;
use crate::{own, project_paths};

/// Add knowledge or, with `--event`, an event: as a new entry, or by updating the entry that says the same
///
/// Events are decisions, rejections and the like. Contexts of the tasks in their scope show them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory add \"WAL mode\" --body \"Readers never wait.\"
  ralph-memory add \"How we release\" --tags release < notes.md
  ralph-memory add \"Sessions stay in SQLite.\" --event decision
  ralph-memory add \"No tests.\" --event rejection --scope task:t-12
  ralph-memory add --own \"Rust on this laptop\" --body \"rustup is in /opt.\"")]
pub(crate) struct AddArgs {
    /// The title, short and descriptive; of an event, what happened, in at most 800 characters
    title: String,
    /// Keywords, split at commas [default: from the title and the nearest entries; of an event, its kind]
    #[arg(long, alias = "tag", value_delimiter = ',', value_name = "A,B")]
    tags: Vec<String>,
    /// The text, in markdown [default: read from standard input]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// Add an event: `submission`, `rejection`, `approval`, `decision`, `follow_up`, `hint` or `dispute`
    #[arg(long, value_name = "KIND", value_parser = event, conflicts_with_all = ["body", "category", "questions", "supersedes"])]
    event: Option<String>,
    /// Such as `pitfall`, `tool_usage`, `testing_strategy` or `code_structure`
    #[arg(long)]
    category: Option<String>,
    /// The feature that it is about; raises its score for the tasks of that feature
    #[arg(long)]
    feature: Option<String>,
    /// Which tasks see it: `project`, `feature:NAME`, `section:ID` or `task:ID`
    #[arg(long, value_parser = parse::scope, default_value = "project")]
    scope: Scope,
    /// From 0 to 100 [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::importance)]
    importance: Option<u8>,
    /// Who wrote it: `human`, `agent`, `coder`, `reviewer`, `orchestrator` or `coordinator` [default: `agent` where a
    /// coding agent runs the command, else `human`]
    #[arg(long)]
    source: Option<Source>,
    /// A project file that it is about, relative to the working folder; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// A question that it answers, in the words of someone who has the problem; searches match it like the title; may
    /// be repeated
    #[arg(long = "question", value_name = "TEXT", allow_hyphen_values = true, value_parser = parse::question)]
    questions: Vec<String>,
    /// When it stops being true: a date, a time, or hours, days or weeks from now (`30d`)
    #[arg(long, value_name = "WHEN", value_parser = parse::expiry)]
    expires: Option<Expiry>,
    /// Details for programs, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = details)]
    details: Option<Map<String, Value>>,
    /// The task during which it was learned
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    task_id: Option<String>,
    /// The run during which it was learned
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    run_id: Option<String>,
    /// An entry that it replaces; may be repeated
    #[arg(long, value_name = "ID", value_parser = parse::id)]
    supersedes: Vec<Id>,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
}

fn event(text: &str) -> Result<String, String> {
    if EVENTS.contains(&text) { Ok(text.to_owned()) } else { Err(format!("not one of {}", EVENTS.join(", "))) }
}

fn details(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(details)) => Ok(details),
        Ok(_) => Err("not a JSON object, such as `{\"ticket\": 12}`".to_owned()),
        Err(error) => Err(format!("not JSON: {error}")),
    }
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, mut args: AddArgs) -> anyhow::Result<Exit> {
    if args.source == Some(Source::Human) && is_run_by_agent() {
        let message = "`--source human` says that a person wrote this, and a coding agent runs this command";
        return Err(UsageError::new(message, "leave it out").into());
    }
    if globals.is_own() {
        own::take_prefix(args.supersedes.iter_mut())?;
    }
    // A missing memory is reported before a person types a body.
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let files = project_paths::of_project(&memory, &args.files)?;
    let mut added = memory.add(&args.into_knowledge(&memory, globals, files.clone())?)?;
    added.problems.extend(project_paths::missing(&memory, &files));
    show_written(ui, &added)?;
    show_removed(ui, &added);
    if globals.is_own() {
        ui.note("`ralph-memory undo` takes it back");
    }
    Ok(Exit::Done)
}

impl AddArgs {
    fn into_knowledge(self, memory: &Memory, globals: &Globals, files: Vec<String>) -> anyhow::Result<Knowledge> {
        // A renamed entry is replaced under its id of today.
        let supersedes = self.supersedes.iter().map(|id| Ok(memory.show(id)?.entry.summary.id));
        let fact = match self.event {
            Some(event) => Knowledge::event(event, self.title)?,
            None => Knowledge {
                category: self.category,
                supersedes: supersedes.collect::<ralph_memory::Result<Vec<_>>>()?,
                questions: self.questions,
                ..Knowledge::new(self.title, Vec::<String>::new(), self.body.map_or_else(from_stdin, Ok)?)
            },
        };
        Ok(Knowledge {
            tags: self.tags,
            feature: self.feature,
            scope: self.scope,
            importance: self.importance,
            source: self.source.unwrap_or(author().source()),
            task_id: self.task_id,
            run_id: self.run_id,
            expires_at: self.expires.map(|expiry| expiry.from(globals.now())),
            files,
            details: self.details,
            ..fact
        })
    }
}

fn from_stdin() -> anyhow::Result<String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let hint = "give it with `--body TEXT`, or put it on standard input: `ralph-memory add … < notes.md`";
        return Err(UsageError::new("no body", hint).into());
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    let unreadable = |source| Error::Io { action: "read", path: "standard input".into(), source };
    stdin.lock().take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let invalid = |reason: &str, hint: &str| UsageError::new(format!("the body on standard input {reason}"), hint);
    if bytes.len() > MAX_FILE_BYTES {
        let hint = "write a summary, or split it into several entries";
        return Err(invalid("is over 1 MiB, the limit of an entry", hint).into());
    }
    let hint = "convert it first, as with `iconv -f LATIN1 -t UTF-8`";
    Ok(decoded_whole(&bytes).ok_or_else(|| invalid("is not UTF-8", hint))?.into_owned())
}
