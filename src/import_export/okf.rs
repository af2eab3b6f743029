//! The knowledge of a memory as a bundle in the Open Knowledge Format (OKF 0.2): a folder of markdown with frontmatter,
//! which `memory-bank` imports back.
//!
//! The keys of an entry stay beside those of the format, and its links become relative links of markdown. Equal memories
//! give equal bundles.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::{Value, json};

use super::concept::OWN_ID;
use super::export::check_path;
use crate::entry::edit::rendered;
use crate::entry::frontmatter::{Fields, fields_of, quote};
use crate::entry::lead::leading_prose;
use crate::entry::path::display_path;
use crate::entry::relink::as_markdown;
use crate::entry::{Entry, Head, Id, Source, read, timestamp};
use crate::error::{Error, IoContext as _, Problem, Result};
use crate::index::catalog::{Area, names};
use crate::store::{Folder, Unreadable};
use crate::text::first_sentence;
use crate::workspace::{Workspace, unlisted};

/// The version of the format.
const VERSION: &str = "0.2";
/// The file that lists the others. The format gives it and `log.md` a meaning of their own.
const INDEX: &str = "index.md";
/// The type of an entry without a category.
const TYPE: &str = "note";
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 200;
/// The keys of an entry that only this program reads, or that the format has under another name.
const LEFT_OUT: [&str; 4] = ["details", "expires_at", "fingerprints", "source"];

/// What [`Memory::export_okf`](crate::Memory::export_okf) wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OkfReport {
    /// How many entries.
    pub n_entries: usize,
    /// The entries that could not be exported.
    pub problems: Vec<Problem>,
}

/// Writes the live knowledge to a new or empty folder.
pub(crate) fn export_okf(workspace: &Workspace, path: &Path) -> Result<OkfReport> {
    let (live, archive) = (workspace.catalog(Area::Live), workspace.catalog(Area::Archive));
    if let Some(error) = unlisted(&workspace.store, &live) {
        return Err(error);
    }
    let unusable = |why: &str| {
        let message = format!("cannot export to `{}`: it is {why}", path.display());
        Err(Error::unusable(message, "name a folder that does not exist yet"))
    };
    if path.symlink_metadata().is_ok() && !path.is_dir() {
        return unusable("not a folder");
    }
    let folder = Folder::make(path).io("make", path)?;
    if !folder.names().io("list", path)?.is_empty() {
        return unusable("not empty");
    }
    let names = names(&live, &archive);
    let mut sources: Vec<(Id, String)> =
        live.knowledge_rows().filter_map(|row| Some((live.id(row)?, live.path(row)))).collect();
    sources.sort();
    let mut paths: HashMap<Id, String> = HashMap::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (id, source) in &sources {
        let path = free_path(source, &taken);
        taken.insert(path.to_lowercase());
        paths.insert(id.clone(), path);
    }
    let mut report = OkfReport::default();
    let mut index = format!("---\nokf_version: \"{VERSION}\"\n---\n\n# Knowledge\n\n");
    for (id, source) in &sources {
        let Some(target) = paths.get(id) else { continue };
        let Some((entry, fields)) = entry_at(workspace, source, &mut report) else { continue };
        let description = first_sentence(&leading_prose(&entry.body), MAX_DESCRIPTION);
        let to_root = "../".repeat(target.matches('/').count());
        let body = as_markdown(&entry.body, &|link| {
            let (_, heading) = names.without_heading(link, &entry.head.scope);
            let path = paths.get(names.of_link(link, &entry.head.scope)?.live()?)?;
            Some(target_of(&format!("{to_root}{path}{}", heading.to_lowercase().replace(' ', "-"))))
        });
        let text = format!("{}\n{}", frontmatter(&entry.head, id, &description, fields), body.trim_start_matches('\n'));
        folder.create(target, text.as_bytes()).io("write", path.join(target))?;
        let title = entry.head.title.replace(['[', ']'], "");
        let behind = if description.is_empty() { String::new() } else { format!(" - {description}") };
        index.push_str(&format!("* [{title}]({}){behind}\n", target_of(target)));
        report.n_entries += 1;
    }
    folder.create(INDEX, index.as_bytes()).io("write", path.join(INDEX))?;
    Ok(report)
}

/// Returns the path of an entry in the bundle: that below `knowledge/`, unless the format gives the name a meaning or
/// another entry has it.
fn free_path(source: &str, taken: &BTreeSet<String>) -> String {
    let path = source.strip_prefix("knowledge/").unwrap_or(source);
    let stem = path.strip_suffix(".md").unwrap_or(path);
    let is_free = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        name != INDEX && name != "log.md" && !taken.contains(&path.to_lowercase())
    };
    let numbered = (2_usize..).map(|number| format!("{stem}-{number}.md"));
    std::iter::once(path.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// Reads an entry. One that is gone is left out, and so is one that cannot be read, which is reported.
fn entry_at(workspace: &Workspace, path: &str, report: &mut OkfReport) -> Option<(Entry, Fields)> {
    let mut fail = |reason: String| {
        let (message, hint) = (format!("it cannot be exported: {reason}"), "fix the file, and export again");
        report.problems.push(Problem::error(display_path(path), "not-exported", message, hint));
    };
    if let Err(reason) = check_path(path) {
        fail(reason.to_owned());
        return None;
    }
    let bytes = match workspace.store.read(path) {
        Ok(file) => file.bytes,
        Err(Unreadable::Missing) => return None,
        Err(unreadable) => {
            fail(unreadable.into_error(workspace.store.memory().join(path)).to_string());
            return None;
        }
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        fail("it is not UTF-8".to_owned());
        return None;
    };
    let entry = read(path, &bytes);
    if !entry.head.valid {
        fail("its frontmatter cannot be read".to_owned());
        return None;
    }
    Some((entry, fields_of(text).unwrap_or_default()))
}

/// Writes the frontmatter of a concept: what the format knows, then what else the entry has.
fn frontmatter(head: &Head, id: &Id, description: &str, own: Fields) -> String {
    let writer = match head.source {
        Source::Human => "human:unknown".to_owned(),
        _ => format!("{}/{}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
    };
    let mut generated = json!({ "by": writer });
    if let Some(at) = head.updated_at.max(head.created_at) {
        generated["at"] = json!(timestamp(at));
    }
    let mut fields: Vec<(String, Value)> = Vec::new();
    let mut add = |key: &str, value: Value| fields.push((key.to_owned(), value));
    add("type", json!(head.category.as_deref().unwrap_or(TYPE)));
    add("title", json!(head.title));
    if !description.is_empty() {
        add("description", json!(description));
    }
    add("tags", json!(head.tags));
    add("generated", generated);
    if let Some(at) = head.expires_at {
        add("stale_after", json!(timestamp(at)));
    }
    add(OWN_ID, json!(id));
    let is_new = |key: &String| !LEFT_OUT.contains(&key.as_str()) && fields.iter().all(|(known, _)| known != key);
    let mut own: Vec<(String, Value)> = own.into_iter().filter(|(key, _)| is_new(key)).collect();
    own.sort_by(|(one, _), (other, _)| one.cmp(other));
    fields.extend(own);
    let lines = fields.iter().map(|(key, value)| format!("{}: {}\n", quote(key), rendered(value)));
    format!("---\n{}---\n", lines.collect::<String>())
}

/// Returns the target of a link of markdown.
fn target_of(path: &str) -> String {
    if path.contains([' ', '(', ')', '<', '>']) {
        format!("<{}>", path.replace(['<', '>'], ""))
    } else {
        path.to_owned()
    }
}
