//! Answers: searching.

use std::cell::OnceCell;

use serde::Serialize;

use super::Memory;
use crate::catalog::{Area, Catalog};
use crate::entry::knowledge::{Class, class};
use crate::entry::path::memory_relative;
use crate::entry::{EntrySummary, Head, Id, body, frontmatter};
use crate::error::{Problem, Result};
use crate::index::Snapshot;
use crate::retrieve::{self, Hit, Meaning, Query};
use crate::secret::redact;
use crate::text;
use crate::workspace::View;
use crate::workspace::Work;

/// How much of an entry's text is looked at for an excerpt, in bytes: the few that are longer are not
/// worth the time.
const EXCERPT_BYTES: usize = 64 * 1024;
/// The same where no words are looked for in it.
const BEGINNING_BYTES: usize = 4 * 1024;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// The entries, best first.
    pub hits: Vec<Hit>,
    /// What is wrong with files that were looked at.
    pub problems: Vec<Problem>,
}

impl Memory {
    /// Returns the `limit` entries that match best, best first.
    ///
    /// # Errors
    ///
    /// [`Error::Index`](crate::error::Error::Index) where the index can neither be read nor made.
    pub fn search(&self, query: &Query, limit: usize) -> Result<Found> {
        let areas = if query.archived { &[Area::Live, Area::Archive][..] } else { &[Area::Live] };
        self.answer(areas, |views, snapshot| {
            let (meaning, unknown) = self.meaning(views, snapshot, query);
            let hits = self.hits(views, snapshot, query, meaning.as_ref(), limit, &|_| true)?;
            let problems = views.iter().flat_map(|view| view.catalog.problems());
            let problems = problems.chain(self.settings_problems.clone()).chain(unknown).collect();
            Ok(Found { hits, problems })
        })
    }

    /// Returns, for each of the entries, the line of its text that shares most words with the query, in
    /// at most `limit` characters; the first line where the query is empty. Headings are no such lines unless there is
    /// nothing else, and secrets are redacted. Where the file cannot be read any more, the line is empty.
    pub fn excerpts<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a EntrySummary>,
        query: &str,
        limit: usize,
    ) -> Vec<String> {
        let excerpt = |entry: &EntrySummary| {
            let Ok(file) = self.store.read(memory_relative(&entry.path)) else { return String::new() };
            let text = String::from_utf8_lossy(&file.bytes);
            let body = frontmatter::split(&text).map_or(&*text, |split| &text[split.body..]);
            let most = if query.trim().is_empty() { BEGINNING_BYTES } else { EXCERPT_BYTES };
            let end = (0..=body.len().min(most)).rev().find(|end| body.is_char_boundary(*end)).unwrap_or_default();
            // Before a line of it is cut, which could leave half a secret.
            text::excerpt(&redact(&body::prose(&body[..end]), &self.settings.allowed_secrets), query, limit)
        };
        let entries: Vec<&EntrySummary> = entries.into_iter().collect();
        let mut reading = self.doing(Work::Reading, Some(entries.len()));
        entries.into_iter().map(excerpt).inspect(|_| reading.advance(1)).collect()
    }

    /// Returns a query with the weight that the settings give words, where it has none.
    pub(super) fn weighed(&self, query: &Query) -> Query {
        Query { text_weight: query.text_weight.or(Some(self.settings.text_weight)), ..query.clone() }
    }

    /// Returns the hits of a query among the entries of the views, of which `snapshot` was made.
    pub(super) fn hits(
        &self,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
        meaning: Option<&Meaning>,
        limit: usize,
        keep: &dyn Fn(&crate::entry::Head) -> bool,
    ) -> Result<Vec<Hit>> {
        let catalogs: Vec<&Catalog> = views.iter().map(|view| &view.catalog).collect();
        let query = self.weighed(query);
        // Few searches meet an event, and only those need to know which are one too many.
        let beyond = OnceCell::new();
        let keep = |id: &Id, head: &Head| {
            let is_event = class(head.category.as_deref()) == Class::Event;
            keep(head)
                && (!is_event || query.archived || !beyond.get_or_init(|| self.beyond_caps(catalogs[0])).contains(id))
        };
        retrieve::search(&catalogs, snapshot, &query, meaning, limit, self.now(), &keep)
            .map_err(|source| self.index_error(Area::Live, source))
    }
}
