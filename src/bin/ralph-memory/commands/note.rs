//! `note`: records an event.

use ralph_memory::entry::EVENTS;
use ralph_memory::entry::Event;
use ralph_memory::{Scope, Source};
use serde_json::{Map, Value};

use crate::exit::Exit;
use crate::parse::{self, Expiry};
use crate::project_paths;
use crate::session::{Globals, writer};
use crate::ui::{ID, Ui};

/// Record an event, such as a decision or a rejection; contexts of the tasks in its scope then show it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory note --event decision --summary \"Sessions stay in SQLite.\"
  ralph-memory note --event rejection --summary \"No tests.\" --scope task:t-12")]
pub(crate) struct NoteArgs {
    /// The kind of event: `submission`, `rejection`, `approval`, `decision`, `follow_up`, `hint` or `dispute`
    #[arg(long, value_name = "EVENT", value_parser = event)]
    event: String,
    /// What happened, in at most 800 characters; its first sentence becomes the title
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    summary: String,
    /// Keywords, split at commas [default: the event]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    tags: Vec<String>,
    /// Whom it concerns: `project`, `feature:NAME`, `section:ID` or `task:ID`
    #[arg(long, value_parser = parse::scope, default_value = "project")]
    scope: Scope,
    /// Who noted it: `human`, `agent`, `coder`, `reviewer`, `orchestrator` or `coordinator` [default: `agent` where a
    /// coding agent runs the command, else `human`]
    #[arg(long, value_parser = parse::source)]
    source: Option<Source>,
    /// From 0 to 100; more important events are shown first and kept longer [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::importance)]
    importance: Option<u8>,
    /// The feature that it belongs to
    #[arg(long)]
    feature: Option<String>,
    /// A project file that it is about, relative to the working folder; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    files: Vec<String>,
    /// When it is no longer of interest: a date, a time, or hours, days or weeks from now (`30d`)
    #[arg(long, value_name = "WHEN", value_parser = parse::expiry)]
    expires: Option<Expiry>,
    /// Details for programs, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = details)]
    details: Option<Map<String, Value>>,
    /// The task during which it happened
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    task_id: Option<String>,
    /// The run during which it happened
    #[arg(long, value_name = "ID", value_parser = parse::task_id)]
    run_id: Option<String>,
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

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: NoteArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let files = project_paths::of_project(&memory, &args.files)?;
    let event = Event {
        tags: args.tags,
        scope: args.scope,
        source: writer(args.source),
        importance: args.importance,
        feature: args.feature,
        task_id: args.task_id,
        run_id: args.run_id,
        expires_at: args.expires.map(|expiry| expiry.from(globals.now())),
        files: files.clone(),
        details: args.details,
        ..Event::new(args.event, args.summary)
    };
    let mut noted = memory.note(&event)?;
    noted.problems.extend(project_paths::missing(&memory, &files));
    if ui.json {
        ui.json(&noted, &noted.problems)?;
    } else {
        let id = ui.styled(ID, noted.id.as_str());
        ui.line(format_args!("{} {id}", noted.action.as_str()))?;
        ui.problems(&noted.problems);
    }
    Ok(Exit::Done)
}
