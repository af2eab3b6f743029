//! Searching: the entries that match a query best, and an excerpt of each.

use serde::Serialize;

use super::hits::{areas_of, hits};
use super::layers::LayeredQuery;
use crate::entry::{EntrySummary, body, frontmatter};
use crate::error::{Problem, Result};
use crate::index::Snapshot;
use crate::search::retrieve::{Hit, Meaning, Query};
use crate::text;
use crate::text::secret::redact;
use crate::workspace::{View, Work, Workspace};

/// How much of an entry's text is searched for an excerpt, in bytes. Longer entries are rare, and the rest of them is
/// not worth the time.
const EXCERPT_BYTES: usize = 64 * 1024;
/// How much of it is read where the query is empty, in bytes.
const BEGINNING_BYTES: usize = 4 * 1024;

/// The result of [`Memory::search`](crate::Memory::search).
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Query};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Ports of the staging hosts", ["staging"], "PostgreSQL listens on 5433."))?;
/// std::fs::write(root.join(".ralph/knowledge/draft.md"), "---\ntitle: never closed\n")?;
/// let found = memory.search(&Query { text: "which port has postgresql".into(), ..Query::default() }, 5)?;
/// assert_eq!(found.hits[0].entry.id.as_str(), "knowledge/ports-of-the-staging-hosts");
/// assert_eq!(found.problems[0].path, ".ralph/knowledge/draft.md", "a broken file hides no other");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchResults {
    /// The entries, best first.
    pub hits: Vec<Hit>,
    /// Problems of the files that were read.
    pub problems: Vec<Problem>,
}

/// Returns the `limit` entries that match best, best first. `meaning` returns how similar the entries and the query are
/// in meaning, if that is known, and otherwise why not.
pub(crate) fn search(
    workspace: &Workspace,
    query: &Query,
    limit: usize,
    meaning: impl Fn(&[View], &Snapshot) -> (Option<Meaning>, Vec<Problem>),
) -> Result<SearchResults> {
    workspace.answer(areas_of(query), |views, snapshot| {
        let (meaning, mut unknown) = meaning(views, snapshot);
        let mut layers = LayeredQuery::new(workspace, snapshot, query)?;
        let searched = (snapshot, &layers.elsewhere(0));
        let mut hits = hits(workspace, views, searched, query, meaning.as_ref(), limit, &|_| true)?;
        unknown.extend(layers.add_hits(views, query, limit, &|_| true, |hits| hits, &mut hits));
        let problems = views.iter().flat_map(|view| view.catalog.problems());
        let problems = problems.chain(workspace.settings_problems.clone()).chain(unknown).collect();
        Ok(SearchResults { hits, problems })
    })
}

/// Returns, for each of the entries, the line of its text that shares most words with the query.
pub(crate) fn excerpts<'a>(
    workspace: &Workspace,
    entries: impl IntoIterator<Item = &'a EntrySummary>,
    query: &str,
    limit: usize,
) -> Vec<String> {
    let entries: Vec<&EntrySummary> = entries.into_iter().collect();
    let layers = workspace.layers().0;
    let excerpt = |entry: &EntrySummary| {
        let Some(workspace) = workspace.among(&layers, entry) else { return String::new() };
        let Ok(file) = workspace.store.read(entry.path.as_relative()) else { return String::new() };
        let text = String::from_utf8_lossy(&file.bytes);
        let body = frontmatter::body(&text);
        let most = if query.trim().is_empty() { BEGINNING_BYTES } else { EXCERPT_BYTES };
        let beginning = &body[..text::floor(body, most)];
        // Redaction comes before a line is cut, which could leave half a secret.
        text::excerpt(&redact(&body::prose(beginning), &workspace.settings.allowed_secrets), query, limit)
    };
    let mut reading = workspace.doing(Work::Reading, Some(entries.len()));
    entries.into_iter().map(excerpt).inspect(|_| reading.advance(1)).collect()
}
