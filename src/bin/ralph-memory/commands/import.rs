//! `import`: takes in what other programs remember.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ralph_memory::Error;
use ralph_memory::memory::{
    ImportAction, ImportInput, ImportReport, ImportRequest, ImportSource, ImportedItem, JsonlFields,
};
use ralph_memory::text::printed_command;
use serde::Serialize;

use crate::error::UsageError;
use crate::exit::Exit;
use crate::project_paths;
use crate::session::{Globals, agent_folders, client_of_environment, writer};
use crate::ui::{ID, QUIET, Ui};

/// The largest standard input, in bytes.
const MAX_INPUT: u64 = 512 * 1024 * 1024;
/// How many files are named that were read.
const MAX_NAMED: usize = 5;

/// Import what other programs remember: instructions, rules, decisions, notes, past sessions
///
/// Each entry says in its `details` where it comes from, so a repeated import changes nothing. If the source has changed
/// since, the entry is updated, unless someone has edited it. What looks like a secret is refused and named, and the rest
/// is imported. The exit code is 1 if something was refused or is in conflict with the memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory import sections --dry-run
  ralph-memory import rules
  ralph-memory import adr docs/decisions
  ralph-memory import transcripts --since 30
  ralph-memory import jsonl memories.jsonl --body-field memory.text
  ralph-memory export | ralph-memory import export - --root ~/src/project")]
pub(crate) struct ImportArgs {
    /// What is imported
    #[arg(value_parser = source())]
    source: ImportSource,
    /// The file or the folder, or `-` for standard input [default: the usual place of the source]
    path: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// A tag for each new entry; may be repeated
    #[arg(long = "tag", value_delimiter = ',', value_name = "TAG")]
    tags: Vec<String>,
    /// Only sessions that ended in the last so many days; for `transcripts`
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    since: Option<u32>,
    /// The field of the title, with `.` between the names of nested objects; for `jsonl`, as the following
    #[arg(long, value_name = "NAME")]
    title_field: Option<String>,
    /// The field of the text
    #[arg(long, value_name = "NAME")]
    body_field: Option<String>,
    /// The field of the tags: a list, or words between commas
    #[arg(long, value_name = "NAME")]
    tags_field: Option<String>,
    /// The field of the category
    #[arg(long, value_name = "NAME")]
    category_field: Option<String>,
    /// The field that a repeated import recognises the object by
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
    /// Accept invisible characters, which your own entries may have; for `export`
    #[arg(long)]
    allow_invisible: bool,
}

/// Parses the name of a source, and lists all of them with their help.
fn source() -> impl TypedValueParser<Value = ImportSource> {
    let sources = ImportSource::ALL.map(|source| PossibleValue::new(source.as_str()).help(help(source)));
    PossibleValuesParser::new(sources).try_map(|name| ImportSource::parse(&name).ok_or("there is no such source"))
}

fn help(source: ImportSource) -> &'static str {
    match source {
        ImportSource::Sections => {
            "AGENTS.md, CLAUDE.md and the like: each section of the second and third level becomes an entry"
        }
        ImportSource::Rules => {
            "Rules for Cursor, Copilot, Claude Code, Devin, Windsurf, Kiro and Cline: each file becomes an entry about the paths that it is for"
        }
        ImportSource::ClaudeMemory => {
            "Claude Code's own memory of this project: each file becomes an entry, except those about you"
        }
        ImportSource::Adr => {
            "Architecture decision records (Nygard, MADR): each becomes an entry that replaces those that it supersedes"
        }
        ImportSource::MemoryBank => {
            "A folder of markdown, such as Cline's memory bank: each section becomes an entry, or the file if it has a title"
        }
        ImportSource::Jsonl => "JSON Lines: each object becomes an entry",
        ImportSource::Ralph => {
            "The database of `RefoundAI/ralph`, read with `sqlite3`: each row of its journal becomes an attempt"
        }
        ImportSource::Transcripts => {
            "Past sessions of Claude Code and Codex in this project: each that changed files or reported something becomes an attempt"
        }
        ImportSource::Export => "What `export` printed: each file is written as it was",
        _ => "",
    }
}

#[derive(Serialize)]
struct ImportAnswer<'a> {
    source: &'static str,
    dry_run: bool,
    #[serde(flatten)]
    report: &'a ImportReport,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ImportArgs) -> anyhow::Result<Exit> {
    let source = args.source;
    args.check(source)?;
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let input = match &args.path {
        None => ImportInput::UsualPlace(agent_folders()),
        Some(path) if path == Path::new("-") => ImportInput::Text(from_stdin()?),
        Some(path) => {
            match source {
                ImportSource::Export => project_paths::check_file(path, "")?,
                _ => project_paths::check_exists(path, "", "name a file or a folder that exists")?,
            }
            ImportInput::Path(path.clone())
        }
    };
    let request = ImportRequest {
        dry_run: args.dry_run,
        tags: args.tags.clone(),
        writer: writer(None),
        since: args.since.map(|days| globals.now() - TimeDelta::days(i64::from(days))),
        fields: args.fields(),
        ongoing: client_of_environment().map(|(_, id)| id),
        allow_invisible: args.allow_invisible,
        ..ImportRequest::new(source, input)
    };
    let report = memory.import(&request)?;
    if ui.json {
        ui.json(ImportAnswer { source: source.as_str(), dry_run: args.dry_run, report: &report }, &report.problems)?;
    } else {
        show(ui, &report, source, args.dry_run)?;
    }
    let needs_a_person = report.items.iter().any(|item| item.action.needs_a_person());
    Ok(if needs_a_person { Exit::No } else { Exit::Done })
}

impl ImportArgs {
    fn fields(&self) -> JsonlFields {
        JsonlFields {
            title: self.title_field.clone(),
            body: self.body_field.clone(),
            tags: self.tags_field.clone(),
            category: self.category_field.clone(),
            id: self.id_field.clone(),
        }
    }

    /// Refuses options that mean nothing for the source.
    fn check(&self, source: ImportSource) -> Result<(), UsageError> {
        let of_another = |option: &str, owner: ImportSource| UsageError {
            message: format!("{option} has no meaning for `{}`", source.as_str()),
            hint: format!(
                "it is for {}; leave it out",
                printed_command("ralph-memory import SOURCE", &[("SOURCE", owner.as_str())])
            ),
        };
        if self.since.is_some() && source != ImportSource::Transcripts {
            return Err(of_another("--since", ImportSource::Transcripts));
        }
        if self.allow_invisible && source != ImportSource::Export {
            return Err(of_another("--allow-invisible", ImportSource::Export));
        }
        if self.fields() != JsonlFields::default() && source != ImportSource::Jsonl {
            return Err(of_another("an option that names a field", ImportSource::Jsonl));
        }
        let makes_entries = !matches!(source, ImportSource::Transcripts | ImportSource::Ralph | ImportSource::Export);
        if !self.tags.is_empty() && !makes_entries {
            let message = format!("--tag has no meaning for `{}`", source.as_str());
            return Err(UsageError { message, hint: "attempts and exported entries keep what they have".to_owned() });
        }
        Ok(())
    }
}

fn show(ui: &mut Ui<'_>, report: &ImportReport, source: ImportSource, dry_run: bool) -> io::Result<()> {
    for item in report.items.iter().filter(|item| item.action != ImportAction::Unchanged) {
        show_item(ui, item)?;
    }
    let named = |places: &[String]| {
        let more = places.len().saturating_sub(MAX_NAMED);
        let first = places.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{first} and {more} more") } else { first }
    };
    if report.read.is_empty() && report.items.is_empty() {
        let places = if report.searched.is_empty() { "no folder".to_owned() } else { named(&report.searched) };
        ui.warn(&format!("found no {}: looked in {places}", source.as_str()));
        return Ok(());
    }
    let counts = ImportAction::ALL.iter().filter(|action| report.count(**action) > 0);
    let counts: Vec<String> = counts.map(|action| format!("{} {}", report.count(*action), action.as_str())).collect();
    let counts = if counts.is_empty() { "nothing to import".to_owned() } else { counts.join(", ") };
    let suffix = if dry_run { " (dry run: nothing was changed)" } else { "" };
    let read = if report.read.is_empty() { "nothing".to_owned() } else { named(&report.read) };
    ui.note(&format!("{counts}{suffix}; read {read}"));
    ui.problems(&report.problems);
    Ok(())
}

fn show_item(ui: &mut Ui<'_>, item: &ImportedItem) -> io::Result<()> {
    let what = match &item.id {
        Some(id) => ui.styled(ID, id.as_str()),
        None if item.title.is_empty() => String::new(),
        None => format!("`{}`", ui.styled(crate::ui::PLAIN, &item.title)),
    };
    let from = ui.styled(QUIET, &format!("from {}", item.from));
    let reason = item.reason.as_ref().map(|reason| format!(": {}", ui.styled(crate::ui::PLAIN, reason)));
    let line = [item.action.as_str(), &what, &from].into_iter().filter(|part| !part.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    ui.line(format_args!("{line}{}", reason.unwrap_or_default()))
}

fn from_stdin() -> anyhow::Result<Vec<u8>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let hint = "`ralph-memory export | ralph-memory import export -`, or name a file".to_owned();
        return Err(UsageError { message: "nothing is on standard input".to_owned(), hint }.into());
    }
    let failed = |source| Error::Io { action: "read", path: "standard input".into(), source };
    let mut bytes = Vec::new();
    stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_INPUT {
        let reason = "it is over the limit of 512 MiB".to_owned();
        return Err(Error::Invalid { what: "standard input".into(), reason }.into());
    }
    Ok(bytes)
}
