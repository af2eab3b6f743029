//! `import`: imports what other programs remember.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use clap::builder::{PossibleValue, TypedValueParser};
use ralph_memory::Error;
use ralph_memory::error::Problem;
use ralph_memory::memory::{
    ImportAction, ImportInput, ImportReport, ImportRequest, ImportSource, ImportedItem, JsonlFields,
};
use ralph_memory::text::printed_command;
use serde::Serialize;
use serde_json::json;

use crate::authors::writer;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::project_paths;
use crate::session::{Globals, agent_folders, client_of_environment};
use crate::ui::{ID, PLAIN, QUIET, Ui};

/// The largest standard input, in bytes.
const MAX_INPUT: u64 = 512 * 1024 * 1024;
/// How many files are named that were read.
const MAX_NAMED: usize = 5;

/// Import what other programs remember: instructions, rules, decisions, notes, past sessions
///
/// Without arguments, it shows what there is to import in the project and its subfolders, and imports nothing. Given only a file or a folder, it
/// recognises the source: `CLAUDE.md` has sections, `docs/adr` has decisions.
///
/// Each entry says in its `details` where it comes from, so a repeated import changes nothing. If the source has changed
/// since, the entry is updated, unless someone has edited it. What looks like a secret is refused and named, and the rest
/// is imported. The exit code is 1 if something was refused or is in conflict with the memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory import
  ralph-memory import sections --dry-run
  ralph-memory import CLAUDE.md
  ralph-memory import adr docs/choices
  ralph-memory import transcripts --since 30
  ralph-memory import transcripts run.jsonl
  ralph-memory import jsonl memories.jsonl --body-field memory.text")]
pub(crate) struct ImportArgs {
    /// What to import: a source, or a file, a folder or `-` whose source can be recognised
    #[arg(value_parser = SourceOrPath, value_name = "SOURCE|PATH")]
    what: Option<PathBuf>,
    /// The file or the folder, or `-` for standard input [default: the usual place of the source]
    path: Option<PathBuf>,
    /// Show what would be done without doing it
    #[arg(long)]
    dry_run: bool,
    /// A tag for each new entry; may be repeated
    #[arg(long = "tag", value_delimiter = ',', value_name = "TAG")]
    tags: Vec<String>,
    /// Only sessions that ended in the last DAYS days; for `transcripts`
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    since: Option<u32>,
    /// The field of the title, with `.` between the names of nested objects; for `jsonl`, like the following options
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
    /// The field by which a repeated import recognises the object
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
}

/// Accepts the name of a source or a path, and lists the sources with their help.
#[derive(Clone)]
struct SourceOrPath;

impl TypedValueParser for SourceOrPath {
    type Value = PathBuf;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<PathBuf, clap::Error> {
        clap::builder::PathBufValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let sources = ImportSource::ALL.iter().copied();
        Some(Box::new(sources.map(|source| PossibleValue::new(source.as_str()).help(source.help()))))
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
    let Some(what) = &args.what else { return show_importable(ui, globals, args) };
    let (source, path) = match what.to_str().and_then(ImportSource::parse) {
        Some(source) => (Some(source), args.path.as_ref()),
        None if args.path.is_none() => (None, Some(what)),
        None => {
            return Err(UsageError::new(format!("`{}` is not a source", what.display()), sources_hint()).into());
        }
    };
    if let Some(source) = source {
        args.check(source)?;
    }
    let input = match path {
        None => ImportInput::UsualPlace(agent_folders()),
        Some(path) if path == Path::new("-") => ImportInput::Text(from_stdin()?),
        Some(path) => {
            match source {
                Some(_) => project_paths::check_exists(path, "", "name a file or a folder that exists")?,
                None => project_paths::check_exists(path, "", &sources_hint())?,
            }
            ImportInput::Path(path.clone())
        }
    };
    let told = source.or_else(|| told_from(&input)).ok_or_else(|| {
        let hint = format!("name the source before the path; {}", sources_hint());
        UsageError::new(format!("nothing says what `{}` is", what.display()), hint)
    })?;
    args.check(told)?;
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let request = args.request(globals, told, input);
    let report = memory.import(&request)?;
    if ui.json {
        ui.json(ImportAnswer { source: told.as_str(), dry_run: args.dry_run, report: &report }, &report.problems)?;
    } else {
        show(ui, &report, &request, source.is_none())?;
    }
    let needs_a_person = report.items.iter().any(|item| item.action.needs_a_person());
    Ok(if needs_a_person { Exit::No } else { Exit::Done })
}

/// Returns the source of a path or a text, where it says that itself.
fn told_from(input: &ImportInput) -> Option<ImportSource> {
    match input {
        ImportInput::Path(path) => ImportSource::of_path(path),
        ImportInput::Text(text) => Some(ImportSource::of_lines(text)),
        ImportInput::UsualPlace(_) => None,
    }
}

fn sources_hint() -> String {
    format!("sources are {}", ImportSource::WORDS.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
}

/// Shows what each source has in its usual place, and imports nothing.
fn show_importable(ui: &mut Ui<'_>, globals: &Globals, args: &ImportArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    let request = args.request(globals, ImportSource::Sections, ImportInput::UsualPlace(agent_folders()));
    for (source, answer) in memory.importable(&request) {
        match answer {
            Ok(report) if report.items.is_empty() => {}
            Ok(report) => found.push((source, report)),
            Err(error) => {
                let hint = printed_command("ralph-memory import SOURCE", &[("SOURCE", source.as_str())]);
                let hint = format!("{hint} says what to do");
                problems.push(Problem::warning(source.as_str(), "not-read", error.to_string(), hint));
            }
        }
    }
    problems.extend(found.iter().flat_map(|(_, report)| report.problems.clone()));
    if ui.json {
        let answers =
            found.iter().map(|(source, report)| ImportAnswer { source: source.as_str(), dry_run: true, report });
        ui.json(json!({ "sources": answers.collect::<Vec<_>>() }), &problems)?;
        return Ok(Exit::Done);
    }
    for (source, report) in &found {
        let counts = counts(report, |action| match action {
            ImportAction::Added => "new",
            ImportAction::Updated => "changed",
            action => action.as_str(),
        });
        let read = if report.read.is_empty() { "nothing".to_owned() } else { named(&report.read) };
        let read = ui.styled(QUIET, &format!("in {read}"));
        ui.line(format_args!("{}: {counts} {read}", ui.styled(ID, source.as_str())))?;
    }
    let items = || found.iter().flat_map(|(_, report)| &report.items).map(|item| item.action);
    let is_new = |action| matches!(action, ImportAction::Added | ImportAction::Updated | ImportAction::Archived);
    ui.note(if found.is_empty() {
        "found nothing to import; a path imports a file or a folder from elsewhere"
    } else if items().any(is_new) {
        "nothing was imported; `ralph-memory import SOURCE` imports one of these, with --dry-run it shows each item"
    } else if items().all(|action| action == ImportAction::Unchanged) {
        "there is nothing new to import: the memory has all of it"
    } else {
        "there is nothing new to import; `ralph-memory import SOURCE --dry-run` says why of each item"
    });
    ui.problems(&problems);
    Ok(Exit::Done)
}

impl ImportArgs {
    fn request(&self, globals: &Globals, source: ImportSource, input: ImportInput) -> ImportRequest {
        ImportRequest {
            dry_run: self.dry_run,
            tags: self.tags.clone(),
            writer: writer(None),
            since: self.since.map(|days| globals.now() - TimeDelta::days(i64::from(days))),
            fields: self.fields(),
            ongoing: client_of_environment().map(|(_, id)| id),
            ..ImportRequest::new(source, input)
        }
    }

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
        let meaningless = |option| format!("{option} has no meaning for `{}`", source.as_str());
        let has_fields = self.fields() != JsonlFields::default();
        for (is_given, option, owner) in [
            (self.since.is_some(), "--since", ImportSource::Transcripts),
            (has_fields, "an option that names a field", ImportSource::Jsonl),
        ] {
            if is_given && source != owner {
                let command = printed_command("ralph-memory import SOURCE", &[("SOURCE", owner.as_str())]);
                return Err(UsageError::new(meaningless(option), format!("it is for {command}; leave it out")));
            }
        }
        let makes_entries = !matches!(source, ImportSource::Transcripts | ImportSource::Ralph);
        if !self.tags.is_empty() && !makes_entries {
            return Err(UsageError::new(meaningless("--tag"), "it is for entries, and attempts have no tags"));
        }
        Ok(())
    }
}

/// Shows what became of an import. `is_told` says that the source was told from the path.
fn show(ui: &mut Ui<'_>, report: &ImportReport, request: &ImportRequest, is_told: bool) -> io::Result<()> {
    for item in report.items.iter().filter(|item| item.action != ImportAction::Unchanged) {
        show_item(ui, item)?;
    }
    let source = request.source.as_str();
    if report.read.is_empty() && report.items.is_empty() {
        let places = if report.searched.is_empty() { "no folder".to_owned() } else { named(&report.searched) };
        ui.warn(&format!("found no {source}: looked in {places}"));
        return Ok(());
    }
    let counts = counts(report, ImportAction::as_str);
    let counts = if counts.is_empty() { "nothing to import".to_owned() } else { counts };
    let suffix = if request.dry_run { " (dry run: nothing was changed)" } else { "" };
    let read = if report.read.is_empty() { "nothing".to_owned() } else { named(&report.read) };
    let source = if is_told { format!(" as `{source}`") } else { String::new() };
    ui.note(&format!("{counts}{suffix}; read {read}{source}"));
    ui.problems(&report.problems);
    Ok(())
}

/// Returns how many items became what, in these words.
fn counts(report: &ImportReport, word: impl Fn(ImportAction) -> &'static str) -> String {
    let counted = ImportAction::ALL.iter().map(|&action| (report.count(action), word(action)));
    let some = counted.filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Names the first places, and counts the others.
fn named(places: &[String]) -> String {
    let first = places.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match places.len().saturating_sub(MAX_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn show_item(ui: &mut Ui<'_>, item: &ImportedItem) -> io::Result<()> {
    let what = match &item.id {
        Some(id) => ui.styled(ID, id.as_str()),
        None if item.title.is_empty() => String::new(),
        None => format!("`{}`", ui.styled(PLAIN, &item.title)),
    };
    let from = ui.styled(QUIET, &format!("from {}", item.from));
    let reason = item.reason.as_ref().map(|reason| format!(": {}", ui.styled(PLAIN, reason)));
    let line = [item.action.as_str(), &what, &from].into_iter().filter(|part| !part.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    ui.line(format_args!("{line}{}", reason.unwrap_or_default()))
}

fn from_stdin() -> anyhow::Result<Vec<u8>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let hint = "`ralph-memory import jsonl - < FILE`, or name a file";
        return Err(UsageError::new("nothing is on standard input", hint).into());
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
