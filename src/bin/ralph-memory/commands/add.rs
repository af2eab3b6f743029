//! `add`: writes knowledge.

use std::io::{self, IsTerminal as _, Read as _};

use ralph_memory::entry::MAX_FILE_BYTES;
use ralph_memory::text::printed_command;
use ralph_memory::{Error, Id, Knowledge, Scope, Source};

use crate::error::UsageError;
use crate::exit::Exit;
use crate::parse::{self, Expiry};
use crate::project_paths;
use crate::session::{Globals, writer};
use crate::ui::{ID, Ui};

/// Add knowledge: as a new entry, or by updating the one that says the same
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory add --title \"WAL mode\" --tags sqlite --body \"Readers never wait.\"
  ralph-memory add --title \"How we release\" --tags release < notes.md")]
pub(crate) struct AddArgs {
    /// Short and descriptive
    #[arg(long, allow_hyphen_values = true)]
    title: String,
    /// Keywords, split at commas
    #[arg(long, required = true, value_delimiter = ',', value_name = "A,B")]
    tags: Vec<String>,
    /// The text, in markdown [default: read from standard input]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// Such as `pitfall`, `tool_usage`, `testing_strategy` or `code_structure`
    #[arg(long)]
    category: Option<String>,
    /// The feature that it is about; raises its score for the tasks of that feature
    #[arg(long)]
    feature: Option<String>,
    /// Who sees it: `project`, `feature:NAME`, `section:ID` or `task:ID`
    #[arg(long, value_parser = parse::scope, default_value = "project")]
    scope: Scope,
    /// From 0 to 100 [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::importance)]
    importance: Option<u8>,
    /// Who wrote it: `human`, `agent`, `coder`, `reviewer`, `orchestrator` or `coordinator` [default: `agent` where a
    /// coding agent runs the command, else `human`]
    #[arg(long, value_parser = parse::source)]
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

/// How many lines that are gone are shown.
const MAX_REMOVED: usize = 20;

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: AddArgs) -> anyhow::Result<Exit> {
    // A missing memory is reported before a person types a body.
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let body = args.body.map_or_else(from_stdin, Ok)?;
    let files = project_paths::of_project(&memory, &args.files)?;
    // A renamed entry is replaced under its id of today.
    let supersedes = args.supersedes.iter().map(|id| Ok(memory.show(id)?.entry.summary.id));
    let supersedes = supersedes.collect::<ralph_memory::Result<Vec<_>>>()?;
    let knowledge = Knowledge {
        category: args.category,
        feature: args.feature,
        scope: args.scope,
        importance: args.importance,
        source: writer(args.source),
        task_id: args.task_id,
        run_id: args.run_id,
        expires_at: args.expires.map(|expiry| expiry.from(globals.now())),
        supersedes,
        files: files.clone(),
        questions: args.questions,
        ..Knowledge::new(args.title, args.tags, body)
    };
    let mut added = memory.add(&knowledge)?;
    added.problems.extend(project_paths::missing(&memory, &files));
    if ui.json {
        ui.json(&added, &added.problems)?;
    } else {
        let id = ui.styled(ID, added.id.as_str());
        ui.line(format_args!("{} {id}", added.action.as_str()))?;
        if let Some(archived) = &added.archived {
            ui.note(&format!("the previous version is kept as {archived}"));
        }
        show_removed(ui, &added.removed);
        if let Some(first) = added.similar.first() {
            let similar: Vec<&str> = added.similar.iter().map(Id::as_str).collect();
            ui.note(&format!("similar: {}", similar.join(", ")));
            let ids = [("OLD", first.as_str()), ("NEW", added.id.as_str())];
            let supersede = printed_command("ralph-memory supersede OLD NEW", &ids);
            ui.note(&format!("hint: if it replaces one of them, {supersede}"));
        }
        ui.problems(&added.problems);
    }
    Ok(Exit::Done)
}

/// Shows the lines of the previous version that are gone, and how they come back.
fn show_removed(ui: &mut Ui<'_>, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let more = lines.len().saturating_sub(MAX_REMOVED);
    ui.note(&format!(
        "{} gone; `ralph-memory undo` brings back what was there:",
        if lines.len() == 1 { "1 line is".to_owned() } else { format!("{} lines are", lines.len()) }
    ));
    for line in lines.iter().take(MAX_REMOVED) {
        ui.note(&format!("- {line}"));
    }
    if more > 0 {
        ui.note(&format!("and {more} more"));
    }
}

fn from_stdin() -> anyhow::Result<String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let hint =
            "give it with `--body TEXT`, or put it on standard input: `ralph-memory add … < notes.md`".to_owned();
        return Err(UsageError { message: "no body".to_owned(), hint }.into());
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    let unreadable = |source| Error::Io { action: "read", path: "standard input".into(), source };
    stdin.lock().take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let invalid = |reason: &str, hint: &str| UsageError {
        message: format!("the body on standard input {reason}"),
        hint: hint.to_owned(),
    };
    if bytes.len() > MAX_FILE_BYTES {
        let hint = "write a summary, or split it into several entries";
        return Err(invalid("is over 1 MiB, the limit of an entry", hint).into());
    }
    let hint = "convert it first, as with `iconv -f LATIN1 -t UTF-8`";
    Ok(String::from_utf8(bytes).map_err(|_| invalid("is not UTF-8", hint))?)
}
