//! `import`: imports notes, decision records, rules, JSON Lines and past sessions.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use clap::ValueEnum;
use ralph_memory::Error;
use ralph_memory::memory::{ImportAction, ImportInput, ImportKind, ImportReport, ImportRequest, ImportedItem};
use serde::Serialize;

use crate::error::UsageError;
use crate::exit::Exit;
use crate::project_paths;
use crate::session::{Globals, agent_folders, client_of_environment};
use crate::ui::{ID, PLAIN, QUIET, Ui};

/// The largest standard input, in bytes.
const MAX_INPUT: u64 = 4 * 1024 * 1024;
/// How many names of files are printed.
const MAX_NAMED: usize = 5;
/// The word in the place of a path that imports past sessions.
const TRANSCRIPTS: &str = "transcripts";

/// Import notes, decision records, rules for agents, JSON Lines and past sessions
///
/// Without a path, it shows what there is to import, and imports nothing. A note becomes an entry, a decision record
/// one of the category `decision`, and in a file of rules such as `CLAUDE.md` each item and each section that stands for
/// itself. `import transcripts` imports the past sessions of Claude Code and Codex in this project.
///
/// Each entry says in its `details` where it comes from, so a repeated import changes nothing. If the source has changed
/// since, the entry is updated, unless someone has edited it. What looks like a secret is refused and named, and the rest
/// is imported. The exit code is 1 if something was refused or is in conflict with the memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory import
  ralph-memory import CLAUDE.md .cursor/rules docs/adr
  ralph-memory import ~/notes --tag notes --dry-run
  ralph-memory import --as jsonl memories.txt
  ralph-memory import transcripts --since 30")]
pub(crate) struct ImportArgs {
    /// Files and folders, `-` for JSON Lines on standard input, or `transcripts` for past sessions
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What the files are, where their names do not say it
    #[arg(long = "as", value_name = "KIND", value_enum)]
    kind: Option<SourceKind>,
    /// Show what would be done without doing it
    #[arg(long)]
    dry_run: bool,
    /// A tag for each new entry; may be repeated
    #[arg(long = "tag", value_delimiter = ',', value_name = "TAG")]
    tags: Vec<String>,
    /// Only sessions that ended in the last DAYS days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    since: Option<u32>,
    /// Accept this text, which looks like a secret but is not one; may be repeated
    #[arg(long = "allow-secret", value_name = "FINGERPRINT")]
    allow_secrets: Vec<String>,
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SourceKind {
    /// Notes, decision records and rules, told apart by their names
    Markdown,
    /// Rules for agents
    Rules,
    /// An object a line, with `title`, `body`, `tags`, `category` and `created_at`
    Jsonl,
    /// A past session, or a saved event stream
    Transcript,
}

#[derive(Serialize)]
struct ImportAnswer<'a> {
    dry_run: bool,
    #[serde(flatten)]
    report: &'a ImportReport,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ImportArgs) -> anyhow::Result<Exit> {
    let is_transcripts = args.paths.first().is_some_and(|path| path == Path::new(TRANSCRIPTS));
    let paths = &args.paths[usize::from(is_transcripts)..];
    let kind = match args.kind {
        None => is_transcripts.then_some(ImportKind::Transcript),
        Some(SourceKind::Markdown) => Some(ImportKind::Markdown),
        Some(SourceKind::Rules) => Some(ImportKind::Rules),
        Some(SourceKind::Jsonl) => Some(ImportKind::Jsonl),
        Some(SourceKind::Transcript) => Some(ImportKind::Transcript),
    };
    if is_transcripts && kind != Some(ImportKind::Transcript) {
        let hint = "name the folder as `./transcripts` if you mean one";
        return Err(
            UsageError::new("`import transcripts` reads past sessions, and --as says something else", hint).into()
        );
    }
    let is_of_sessions = kind == Some(ImportKind::Transcript);
    if args.since.is_some() && !is_of_sessions {
        let hint = "`ralph-memory import transcripts` imports them";
        return Err(UsageError::new("--since is for past sessions", hint).into());
    }
    if is_of_sessions && !args.tags.is_empty() {
        return Err(UsageError::new("--tag is for entries, and past sessions become attempts", "leave it out").into());
    }
    let input = match paths {
        [] => ImportInput::UsualPlaces(agent_folders()),
        [only] if only == Path::new("-") && !is_of_sessions => ImportInput::Text(from_stdin()?),
        paths => {
            let hint = "name a file or a folder that exists; `ralph-memory import` shows what there is";
            paths.iter().try_for_each(|path| project_paths::check_exists(path, "", hint))?;
            ImportInput::Paths(paths.to_vec())
        }
    };
    let memory = globals.open()?.allow_secrets(&args.allow_secrets)?;
    let is_preview = paths.is_empty() && !is_of_sessions;
    let request = ImportRequest {
        kind,
        dry_run: args.dry_run || is_preview,
        tags: args.tags.clone(),
        since: args.since.map(|days| globals.now() - TimeDelta::days(i64::from(days))),
        ongoing: client_of_environment().map(|(_, id)| id),
        ..ImportRequest::new(input)
    };
    let report = memory.import(&request)?;
    if ui.json {
        ui.json(ImportAnswer { dry_run: request.dry_run, report: &report }, &report.problems)?;
    } else if is_preview && !args.dry_run {
        show_importable(ui, &report)?;
    } else {
        show(ui, &report, &request)?;
    }
    let needs_a_person = report.items.iter().any(|item| item.action.needs_a_person());
    Ok(if needs_a_person && !is_preview { Exit::No } else { Exit::Done })
}

/// Shows what there is to import: a line for each file, or each folder of records, rules and sessions.
fn show_importable(ui: &mut Ui<'_>, report: &ImportReport) -> io::Result<()> {
    let mut places: Vec<(String, Vec<&ImportedItem>)> = Vec::new();
    for item in &report.items {
        let is_session = item.from.path.ends_with("jsonl");
        let place = if is_session { TRANSCRIPTS.to_owned() } else { place_of(&item.from.path) };
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, items)) => items.push(item),
            None => places.push((place, vec![item])),
        }
    }
    for (place, items) in &places {
        let counts = ImportAction::ALL.iter().map(|action| {
            let count = items.iter().filter(|item| item.action == *action).count();
            (count, if *action == ImportAction::Added { "new" } else { action.as_str() })
        });
        ui.line(format_args!("{}: {}", ui.styled(ID, place), counted(counts)))?;
    }
    let is_new = |item: &&ImportedItem| matches!(item.action, ImportAction::Added | ImportAction::Updated);
    ui.note(&if places.is_empty() {
        "found nothing to import in the usual places; name a file or a folder".to_owned()
    } else if !report.items.iter().any(|item| is_new(&item)) {
        "nothing new to import (`--dry-run` shows why, item by item)".to_owned()
    } else {
        "nothing was imported; `ralph-memory import PATH...` imports what you name, and `--dry-run` shows each item"
            .to_owned()
    });
    ui.problems(&report.problems);
    Ok(())
}

/// Returns the place that a person names to import a file: its folder, where it has many such files.
fn place_of(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stands_alone = folder.is_empty() || path.ends_with("AGENTS.md") || path.ends_with("CLAUDE.md");
    if stands_alone { path.to_owned() } else { folder.to_owned() }
}

/// Shows what became of an import.
fn show(ui: &mut Ui<'_>, report: &ImportReport, request: &ImportRequest) -> io::Result<()> {
    for item in report.items.iter().filter(|item| item.action != ImportAction::Unchanged) {
        let what = match &item.id {
            Some(id) => ui.styled(ID, id.as_str()),
            None if item.title.is_empty() => String::new(),
            None => format!("`{}`", ui.styled(PLAIN, &item.title)),
        };
        let from = ui.styled(QUIET, &format!("from {}", item.from));
        let reason = item.reason.as_ref().map(|reason| format!(": {}", ui.styled(PLAIN, reason)));
        let line = [item.action.as_str(), &what, &from].into_iter().filter(|part| !part.is_empty());
        let line = line.collect::<Vec<_>>().join(" ");
        ui.line(format_args!("{line}{}", reason.unwrap_or_default()))?;
    }
    let counts = counted(ImportAction::ALL.iter().map(|&action| (report.count(action), action.as_str())));
    let counts = if counts.is_empty() { "found nothing to import".to_owned() } else { counts };
    let suffix = if request.dry_run { " (dry run: nothing was changed)" } else { "" };
    let read = if report.read.is_empty() { String::new() } else { format!("; read {}", named(&report.read)) };
    ui.note(&format!("{counts}{suffix}{read}"));
    ui.problems(&report.problems);
    Ok(())
}

fn counted(counts: impl Iterator<Item = (usize, &'static str)>) -> String {
    let some = counts.filter(|(count, _)| *count > 0);
    some.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Names the first files, and counts the others.
fn named(files: &[String]) -> String {
    let first = files.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn from_stdin() -> anyhow::Result<Vec<u8>> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let hint = "`ralph-memory import - < FILE`, or name a file";
        return Err(UsageError::new("nothing is on standard input", hint).into());
    }
    let failed = |source| Error::Io { action: "read", path: "standard input".into(), source };
    let mut bytes = Vec::new();
    stdin.lock().take(MAX_INPUT + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
