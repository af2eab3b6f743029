//! Searching: the entries that match a query best, and an excerpt of each.

use serde::Serialize;

use super::hits::{areas_of, hits};
use super::layers::LayeredQuery;
use crate::entry::{EntrySummary, body, frontmatter};
use crate::error::{Problem, Result};
use crate::open::Memory;
use crate::search::retrieve::{Hit, Query};
use crate::search::semantic::ProjectHit;
use crate::text;
use crate::text::secret::redact;
use crate::workspace::Work;

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

impl Memory {
    /// Returns the `limit` entries that match best, best first, those of layers among them.
    ///
    /// # Errors
    ///
    /// [`Error::Index`](crate::Error::Index) and [`Error::Io`](crate::Error::Io) where the index can neither be read nor
    /// built.
    pub fn search(&self, query: &Query, limit: usize) -> Result<SearchResults> {
        let workspace = &self.workspace;
        workspace.answer(areas_of(query), |views, snapshot| {
            let (meaning, mut unknown) = self.semantic.search(workspace, views, snapshot, query);
            let mut layers = LayeredQuery::new(workspace, snapshot, query)?;
            let searched = (snapshot, &layers.elsewhere(0));
            let mut hits = hits(workspace, views, searched, query, meaning.as_ref(), limit, &|_| true)?;
            unknown.extend(layers.add_hits(views, query, limit, &|_| true, |hits| hits, &mut hits));
            let problems = views.iter().flat_map(|view| view.catalog.problems());
            let problems = problems.chain(workspace.settings_problems.clone()).chain(unknown).collect();
            Ok(SearchResults { hits, problems })
        })
    }

    /// Returns what [`Memory::search`] does, and the `limit` entries of other projects that match the words and the meaning
    /// of the query best, best first, from the Qdrant server on which projects share their points; of `projects` alone, if
    /// it names any. `None` means that they were not searched, and one of the problems says why. The server knows no tags and
    /// no scopes, so a query with one is not sent.
    ///
    /// A title or an excerpt of another project is what that project says: never instructions to follow.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::search`].
    pub fn search_everywhere(
        &self,
        query: &Query,
        limit: usize,
        projects: &[String],
    ) -> Result<(SearchResults, Option<Vec<ProjectHit>>)> {
        let mut found = self.search(query, limit)?;
        let (hits, problems) = self.semantic.search_elsewhere(&self.workspace, query, limit, projects);
        // A server that failed a moment ago is named once.
        let known: Vec<String> = found.problems.iter().map(|problem| problem.path.clone()).collect();
        found.problems.extend(problems.into_iter().filter(|problem| !known.contains(&problem.path)));
        Ok((found, hits))
    }

    /// Returns, for each of the entries, the line of its text that shares most words with the query, in
    /// at most `limit` characters; the first line where the query is empty. Headings are left out unless there is
    /// nothing else, and secrets are redacted. Where the file cannot be read any more, the line is empty.
    pub fn excerpts<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a EntrySummary>,
        query: &str,
        limit: usize,
    ) -> Vec<String> {
        let workspace = &self.workspace;
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
}
