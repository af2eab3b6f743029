//! Entries whose source is gone: the file that they were imported from, or their part of it.
//!
//! Each file is read once for all of its entries, and no link is followed.

use std::collections::{BTreeMap, HashSet};

use crate::entry::imported::IMPORTED;
use crate::entry::outline::headings;
use crate::entry::path::display_path;
use crate::entry::{Id, frontmatter};
use crate::error::Problem;
use crate::index::catalog::{Area, Catalog, RowId};
use crate::store::Folder;
use crate::text::{letters, printed_command};
use crate::workspace::Workspace;

/// The source of JSON files.
const JSONL: &str = "jsonl";
/// The largest file whose parts are looked for, in bytes.
const MAX_FILE: usize = 512 * 1024;
/// How much is read of all files, in bytes. The parts of the rest are not looked for.
const MAX_READ: usize = 64 * 1024 * 1024;

/// Returns whether a live entry was imported from a file of the project that is gone, or no longer has it.
pub(crate) fn is_source_gone(workspace: &Workspace, id: &Id) -> bool {
    let live = workspace.catalog(Area::Live);
    let is_it = |path: String| gone_sources(workspace, &live).iter().any(|gone| gone.path == display_path(&path));
    let row = live.row_of_id(id).filter(|row| live.head(*row).imported.is_some());
    row.is_some_and(|row| is_it(live.path(row)))
}

/// Returns the live entries that were imported from files of the project that are gone, or no longer have them.
pub(super) fn gone_sources(workspace: &Workspace, live: &Catalog) -> Vec<Problem> {
    // The rows of the entries of each file, with the source and the part of the file.
    let mut of_file: BTreeMap<String, Vec<(RowId, String, String)>> = BTreeMap::new();
    live.visit_knowledge(|row, head| {
        let Some(imported) = &head.imported else { return };
        // Which object of a JSON file it is says nothing of the file's words.
        let part = imported.section().filter(|_| imported.source != JSONL).unwrap_or_default().to_owned();
        if let Some(file) = imported.file() {
            of_file.entry(file.to_owned()).or_default().push((row, imported.source.clone(), part));
        }
    });
    let folder = Folder::open(workspace.root()).ok();
    let (mut problems, mut n_read) = (Vec::new(), 0);
    for (file, entries) in of_file {
        let is_gone = workspace.lacks(&file);
        let has_parts = entries.iter().any(|(.., part)| !part.is_empty());
        let text = folder.as_ref().filter(|_| !is_gone && has_parts && n_read < MAX_READ);
        let text =
            text.and_then(|folder| folder.read(&file, MAX_FILE).ok()).and_then(|bytes| String::from_utf8(bytes).ok());
        n_read += text.as_ref().map_or(0, String::len);
        let source = text.as_deref().map(SourceText::new);
        for (row, imported_as, part) in entries {
            let path = live.path(row);
            let has_it = |source: &SourceText| part.is_empty() || source.has(&part, || is_heading(workspace, &path));
            if !is_gone && source.as_ref().is_none_or(has_it) {
                continue;
            }
            let what = if is_gone { "is gone" } else { "no longer has it" };
            // An import looks for other files than those of JSON by itself.
            let id = live.id(row).unwrap_or_default();
            let confirm = printed_command("ralph-memory edit ID --confirm", &[("ID", id.as_str())]);
            let hint = if imported_as == JSONL {
                printed_command("ralph-memory archive ID", &[("ID", id.as_str())])
            } else {
                printed_command("ralph-memory import SOURCE", &[("SOURCE", &imported_as)])
            };
            problems.push(Problem::warning(
                display_path(&path),
                "source-gone",
                format!("it was imported from `{file}`, which {what}"),
                format!("{hint} archives it; {confirm} keeps it as your own"),
            ));
        }
    }
    problems
}

/// Returns whether the part of which the entry at `path` was imported has a heading: the item of a list has none.
fn is_heading(workspace: &Workspace, path: &str) -> bool {
    let read = || {
        let fields = frontmatter::fields_of(&workspace.read_entry(path).ok()?.0)?;
        fields.get("details")?.get(IMPORTED)?.get("heading").cloned()
    };
    read().is_some()
}

/// The text of a file that entries were imported from.
struct SourceText {
    headings: HashSet<String>,
    /// All of it without what an import leaves out of a title: marks and the ends of lines.
    letters: String,
}

impl SourceText {
    fn new(text: &str) -> SourceText {
        let text = frontmatter::body(text).replace("\r\n", "\n");
        SourceText {
            headings: headings(&text).into_iter().map(|heading| heading.title).collect(),
            letters: letters(&text),
        }
    }

    /// Returns whether it has this part: the headings above it and its own with `/` between them, or the beginning of an
    /// item of a list, which is no heading.
    fn has(&self, part: &str, is_heading: impl Fn() -> bool) -> bool {
        let without = |part: &'_ str, mark: &str| {
            let counted = part.rsplit_once(mark).filter(|(_, number)| number.parse::<usize>().is_ok());
            counted.map_or(part, |(before, _)| before).len()
        };
        // What an import puts behind the second of a name, and behind the parts of a long one.
        let whole = &part[..without(part, " part ")];
        let named = [whole, &whole[..without(whole, "~")]];
        let has_heading = named.iter().any(|name| {
            self.headings.contains(*name)
                || name.match_indices('/').any(|(at, _)| self.headings.contains(&name[at + 1..]))
        });
        has_heading || !is_heading() && self.letters.contains(&letters(whole))
    }
}
