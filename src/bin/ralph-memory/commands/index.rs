//! `index`: brings the search index up to date, or rebuilds it; and the vectors, here or on a server.

use ralph_memory::Problem;
use ralph_memory::memory::EmbedReport;
use serde_json::json;

use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{Ui, count};

/// Update the search index, and the vectors if there is an Ollama server; searching needs neither
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory index
  ralph-memory index --rebuild
  ralph-memory index --remote")]
pub(crate) struct IndexArgs {
    /// Rebuild it from the files
    #[arg(long)]
    rebuild: bool,
    /// Make the Qdrant server of `qdrant.url` match the files: upload what it lacks, and remove what was uploaded from
    /// here and is no longer in any file; with `--rebuild`, rebuild what this project has there
    #[arg(long)]
    remote: bool,
    /// Instead, remove everything that this project has on that server
    #[arg(long, requires = "remote", conflicts_with = "rebuild")]
    remove: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &IndexArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let index = if args.rebuild && !args.remote { memory.rebuild_index()? } else { memory.update_index()? };
    let mut vectors = if args.remove {
        Some(memory.remove_remote()?)
    } else if args.remote {
        Some(memory.sync_remote(args.rebuild)?)
    } else {
        memory.settings().embeds_alone().then(|| memory.embed_missing()).transpose()?
    };
    let problems: Vec<Problem> =
        vectors.as_mut().map(|vectors| std::mem::take(&mut vectors.problems)).unwrap_or_default();
    if ui.json {
        let vectors = vectors.map(|EmbedReport { entries, new, removed, .. }| {
            json!({ "entry_count": entries, "new_count": new, "removed_count": removed })
        });
        let index = json!({ "path": index.path, "entry_count": index.entries });
        ui.json(json!({ "index": index, "vectors": vectors }), &problems)?;
    } else {
        ui.line(format_args!("the index has {}", count(index.entries, "entry")))?;
        if args.remove {
            let removed = vectors.map_or(0, |vectors| vectors.removed);
            if problems.is_empty() {
                ui.line(format_args!("removed {} of this project from the server", count(removed, "entry")))?;
                ui.note("hint: remove `qdrant.url` from your settings, or the next search uploads entries again");
            }
        } else if let Some(EmbedReport { entries: known, new, removed, .. }) = &vectors {
            let place = if args.remote { "the server has" } else { "there are vectors of" };
            let removed = if *removed > 0 { format!(", {removed} removed") } else { String::new() };
            ui.line(format_args!("{place} {}, {new} new{removed}", count(*known, "entry")))?;
        }
        ui.problems(&problems);
    }
    // An explicit request must succeed or fail.
    Ok(if args.remote && !problems.is_empty() { Exit::No } else { Exit::Done })
}
