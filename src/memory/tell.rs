//! Answers: searching, and the context for a task.

use serde::Serialize;

use super::Memory;
use super::sync::View;
use super::write::within;
use crate::catalog::{Area, Catalog};
use crate::context::{self, Context, Material, Reference, Request};
use crate::entry::knowledge::{Class, class};
use crate::entry::{Kind, read};
use crate::error::{Problem, Result};
use crate::retrieve::{self, Hit, Query};
use crate::text;

/// How much of an entry's text is looked at for an excerpt, in bytes: the few that are longer are not
/// worth the time.
const EXCERPT_BYTES: usize = 64 * 1024;

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
        let mut views = vec![self.view(Area::Live)?];
        if query.archived {
            views.push(self.view(Area::Archive)?);
        }
        let hits = self.hits(&views, query, limit, &|_| true)?;
        let problems =
            views.iter().flat_map(|view| view.catalog.problems()).chain(self.settings_problems.clone()).collect();
        Ok(Found { hits, problems })
    }

    /// Returns, for each of the hits, the line of its text that shares most words with the query, in
    /// at most `limit` characters; an empty one where the file cannot be read any more.
    pub fn excerpts(&self, hits: &[Hit], query: &str, limit: usize) -> Vec<String> {
        let excerpt = |hit: &Hit| {
            let path = within(&hit.path);
            let text = self.store.read(path).map(|file| read(path, &file.bytes).text).unwrap_or_default();
            let end =
                (0..=text.len().min(EXCERPT_BYTES)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
            text::excerpt(&text[..end], query, limit)
        };
        hits.iter().map(excerpt).collect()
    }

    fn hits(
        &self,
        views: &[View],
        query: &Query,
        limit: usize,
        keep: &dyn Fn(&crate::entry::Head) -> bool,
    ) -> Result<Vec<Hit>> {
        let catalogs: Vec<&Catalog> = views.iter().map(|view| &view.catalog).collect();
        let query = Query { text_weight: query.text_weight.or(Some(self.settings.text_weight)), ..query.clone() };
        let snapshot = Memory::snapshot(views).map_err(|source| self.index_error(Area::Live, source))?;
        retrieve::search(&catalogs, &snapshot, &query, limit, self.now(), keep)
            .map_err(|source| self.index_error(Area::Live, source))
    }

    /// Returns what an agent should know before it begins a task: matching knowledge within the
    /// budget, and how to write to this memory.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::error::Error::Invalid) where the budget is under what the
    /// instructions and the first section need, and those of [`Memory::search`].
    pub fn context(&self, request: &Request) -> Result<Context> {
        let task = &request.task;
        let task_id = task.id.clone().unwrap_or_else(|| context::Task::id_of_title(&task.title));
        let budget = request.budget.unwrap_or_else(|| context::default_budget(self.settings.context_budget, &task_id));
        budget.check(&task_id)?;
        let view = self.view(Area::Live)?;
        let query = Query {
            text: task.text(),
            feature: task.feature.clone(),
            files: task.files.clone(),
            kind: Some(Kind::Knowledge),
            ..Query::default()
        };
        let views = [view];
        let hits = self.hits(&views, &query, context::MAX_CANDIDATES, &|head| {
            head.valid && class(head.category.as_deref()) != Class::Event && task.sees(&head.scope)
        })?;
        let mut references = Vec::new();
        for hit in context::relevant(hits) {
            let path = within(&hit.path);
            // A file that vanished since the scan is no longer known.
            if let Ok(file) = self.store.read(path) {
                let entry = read(path, &file.bytes);
                references.push(Reference {
                    id: hit.id,
                    title: hit.title,
                    tags: hit.tags,
                    category: None,
                    recency: None,
                    body: entry.body,
                });
            }
        }
        let material = Material { task_id, knowledge: references, ..Material::default() };
        let mut context = context::build(&material, budget, self.settings.body_words);
        context.problems = views[0].catalog.problems();
        context.problems.extend(self.settings_problems.clone());
        Ok(context)
    }
}
