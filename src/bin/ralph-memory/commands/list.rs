//! `list`: lists entries or tags.

use std::collections::BTreeMap;
use std::io;

use crate::answers::{EXCERPT, marks};
use crate::error::check_whole;
use crate::exit::Exit;
use crate::parse::{self, Since};
use crate::session::Globals;
use crate::ui::{ID, PLAIN, QUIET, Ui};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use ralph_memory::entry::EntrySummary;
use ralph_memory::memory::{EntryFilter, EntrySort, Useless, WrittenBy};
use ralph_memory::{Kind, Memory, Scope};
use serde::Serialize;

/// List entries, or their tags
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory list --tag sqlite
  ralph-memory list --sort updated --limit 10
  ralph-memory list --since \"2 weeks\"
  ralph-memory list --never-helped
  ralph-memory list --unreviewed --since yesterday
  ralph-memory list --tags")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct ListArgs {
    /// Only entries with this tag; may be repeated
    #[arg(long = "tag")]
    tag: Vec<String>,
    /// Only `knowledge` or `journal`
    #[arg(long)]
    kind: Option<Kind>,
    /// Only entries of this feature
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
    /// Only entries with this scope
    #[arg(long, value_parser = parse::scope)]
    scope: Option<Scope>,
    /// Only entries with this category
    #[arg(long)]
    category: Option<String>,
    /// Include the archive
    #[arg(long)]
    archived: bool,
    /// Only entries whose text was written since then, as their dates say: a date, `yesterday`, or how long ago (12h, 2d, "3 weeks")
    #[arg(long, value_name = "WHEN", value_parser = parse::since)]
    since: Option<Since>,
    /// Only knowledge that no context has included
    #[arg(long, conflicts_with = "never_helped")]
    unused: bool,
    /// Only knowledge that was in the contexts of failed attempts at three or more tasks, and of no successful attempt
    #[arg(long)]
    never_helped: bool,
    /// Only knowledge that agents wrote and no person has confirmed or changed, each with its first line
    #[arg(long)]
    unreviewed: bool,
    /// The order: last `updated` or `created` first, by `title`, most `used` first, or by `importance` [default: by path]
    #[arg(long, value_name = "ORDER", value_parser = PossibleValuesParser::new(EntrySort::WORDS).try_map(|word| word.parse::<EntrySort>()))]
    sort: Option<EntrySort>,
    /// Reverse the order
    #[arg(long)]
    reverse: bool,
    /// List at most this many entries; 0 for all
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count::<usize>)]
    limit: Option<usize>,
    /// List the tags instead of the entries, with the number of entries for each
    #[arg(long, conflicts_with_all = ["sort", "reverse", "limit"])]
    tags: bool,
}

#[derive(Serialize)]
struct Entries {
    entries: Vec<EntrySummary>,
    entry_count: usize,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: ListArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?.for_one_answer();
    let filter = EntryFilter {
        kind: args.kind,
        tags: args.tag,
        feature: args.feature,
        scope: args.scope,
        category: args.category,
        archived: args.archived,
        since: args.since.map(|since| since.from(globals.now())),
        useless: match (args.unused, args.never_helped) {
            (true, _) => Some(Useless::Unused),
            (_, true) => Some(Useless::NeverHelped),
            (false, false) => None,
        },
        author: args.unreviewed.then_some(WrittenBy::Unreviewed),
        sort: args.sort,
        reverse: args.reverse,
        limit: None,
    };
    let mut listed = memory.list(&filter);
    check_whole(&listed.problems)?;
    let in_all = listed.entries.len();
    listed.entries.truncate(args.limit.filter(|limit| *limit > 0).unwrap_or(in_all));
    if ui.json {
        if args.tags {
            ui.json(BTreeMap::from([("tag_counts", listed.tags)]), &listed.problems)?;
        } else {
            ui.json(Entries { entries: listed.entries, entry_count: in_all }, &listed.problems)?;
        }
        return Ok(Exit::Done);
    }
    if args.tags {
        for (tag, count) in &listed.tags {
            let tag = ui.styled(ID, tag);
            ui.line(format_args!("{count:>5} {tag}"))?;
        }
    } else {
        show_entries(ui, &memory, &listed.entries, (in_all, args.unreviewed))?;
    }
    ui.problems(&listed.problems);
    Ok(Exit::Done)
}

/// Lists entries for a person, of `in_all`; each with its first line where they are there to be reviewed.
fn show_entries(
    ui: &mut Ui<'_>,
    memory: &Memory,
    entries: &[EntrySummary],
    (in_all, unreviewed): (usize, bool),
) -> io::Result<()> {
    let is_review = unreviewed && !entries.is_empty();
    let first_lines = if is_review { memory.excerpts(entries, "", EXCERPT) } else { Vec::new() };
    let mut first_lines = first_lines.into_iter();
    for item in entries {
        let id = ui.styled(ID, item.id.as_str());
        let title = ui.styled(PLAIN, &item.title);
        let about = item.outcome.map_or_else(|| item.tags.join(", "), |outcome| outcome.as_str().to_owned());
        let about = if about.is_empty() { about } else { ui.styled(QUIET, &format!("  [{about}]")) };
        ui.line(format_args!("{id}  {title}{about}{}", marks(item)))?;
        if let Some(line) = first_lines.next() {
            ui.line(format_args!("    {}", ui.styled(PLAIN, &line)))?;
        }
    }
    if entries.is_empty() {
        ui.note("no entries");
    }
    if entries.len() < in_all {
        ui.note(&format!("{} more; `--limit 0` lists all", in_all - entries.len()));
    }
    if is_review {
        ui.note("hint: `edit ID --confirm` keeps an entry as yours, `edit ID` changes it, `archive ID` removes it");
    }
    Ok(())
}
