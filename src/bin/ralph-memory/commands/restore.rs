//! `restore`: brings an archived entry back, or an earlier text of a live one.

use std::io;

use ralph_memory::entry::EntrySummary;
use ralph_memory::memory::EntryVersion;
use ralph_memory::text::{printed_command, shorten};
use ralph_memory::{Id, Kind};
use serde_json::json;

use crate::answers::show_written;
use crate::authors::is_run_by_agent;
use crate::exit::Exit;
use crate::parse;
use crate::session::Globals;
use crate::ui::{ID, QUIET, Ui};

/// How much of a text is shown in the list, in characters.
const EXCERPT: usize = 60;

/// Bring back an archived entry, or an earlier text of a live one
///
/// For a year, the undo log keeps replaced texts, at most 64 MiB of them, on this machine only. Older ones are in git,
/// if they were committed. The text that is replaced goes to the log, too.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory restore knowledge/cargo-bench-requires-nightly
  ralph-memory restore wal-mode --list
  ralph-memory restore wal-mode --before 12")]
pub(crate) struct RestoreArgs {
    /// The archived entry; or a live one, which gets its last text before this one
    #[arg(value_parser = parse::id)]
    id: Id,
    /// Bring back the text from before this operation, as `--list` names it, or the text that a removed work tree left, as
    /// `check` names it
    #[arg(long, value_name = "OPERATION")]
    before: Option<String>,
    /// List the earlier texts of a live entry, newest first
    #[arg(long, conflicts_with = "before")]
    list: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, mut args: RestoreArgs) -> anyhow::Result<Exit> {
    let memory = globals.of_ids(ui, [&mut args.id])?.open()?;
    if args.list {
        list(ui, &args.id, &memory.versions(&args.id)?)?;
        return Ok(Exit::Done);
    }
    let restored = memory.restore(&args.id, args.before.as_deref())?;
    show_written(ui, &restored)?;
    let is_agents = |entry: EntrySummary| entry.kind == Kind::Knowledge && !entry.source.is_person();
    if args.before.is_none()
        && !is_run_by_agent()
        && memory.show(&restored.id).is_ok_and(|shown| is_agents(shown.entry.summary))
    {
        let confirm = printed_command("ralph-memory edit ID --confirm", &[("ID", restored.id.as_str())]);
        ui.note(&format!("{confirm} makes it yours, so that `tidy` leaves it here"));
    }
    if args.before.is_none() && memory.versions(&restored.id).is_ok_and(|versions| versions.len() > 1) {
        let list = printed_command("ralph-memory restore ID --list", &[("ID", restored.id.as_str())]);
        ui.note(&format!("{list} shows its other texts"));
    }
    Ok(Exit::Done)
}

fn list(ui: &mut Ui<'_>, id: &Id, versions: &[EntryVersion]) -> io::Result<()> {
    if ui.json {
        return ui.json(json!({ "id": id, "versions": versions }), &[]);
    }
    if versions.is_empty() {
        ui.note("the undo log has no earlier text of it");
    }
    for EntryVersion { version, at, command, text } in versions {
        let version = ui.styled(ID, &format!("{version:>4}"));
        let time = ui.styled(QUIET, &at.format("%Y-%m-%d %H:%M").to_string());
        let body = text.rsplit_once("\n---\n").map_or(text.as_str(), |(_, body)| body);
        let excerpt = shorten(body.trim_start().lines().next().unwrap_or_default(), EXCERPT);
        ui.line(format_args!("{version}  {time}  {command}: {excerpt}"))?;
    }
    Ok(())
}
