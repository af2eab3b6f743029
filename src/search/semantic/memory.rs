//! The semantic memory: whether a call involves servers at all.
//!
//! The [`Searcher`] sends the requests. In a build without the feature `semantic` it has no clients, and reports that.

use std::path::Path;

use super::Searcher;
use super::report::{EmbedReport, ProjectHit, SemanticStatus};
use crate::error::{Error, Problem, Result};
use crate::index::Snapshot;
use crate::search::retrieve::{Meaning, Query};
use crate::settings::Settings;
use crate::workspace::{View, Workspace};

/// Semantic search in one memory, and the vectors of its entries. Without servers in the settings it does nothing.
#[derive(Debug)]
pub(crate) struct SemanticMemory {
    searcher: Option<Searcher>,
}

impl SemanticMemory {
    /// Returns the semantic memory with the servers of the settings, for the memory in `root`. No request is made.
    pub(crate) fn new(settings: &Settings, root: &Path) -> SemanticMemory {
        SemanticMemory { searcher: Searcher::new(settings, root) }
    }

    /// Embeds all entries that have no vector, including archived ones.
    pub(crate) fn embed_missing(&self, workspace: &Workspace) -> Result<EmbedReport> {
        self.searcher.as_ref().map_or_else(|| Ok(EmbedReport::default()), |searcher| searcher.embed_all(workspace))
    }

    /// Embeds entries that a call has written, unless the settings leave meaning out of the score.
    pub(crate) fn embed_written(&self, workspace: &Workspace, paths: &[String]) -> Vec<Problem> {
        let is_wanted = !paths.is_empty() && workspace.settings.semantic.weight > 0.0;
        let searcher = self.searcher.as_ref().filter(|_| is_wanted);
        searcher.map_or_else(Vec::new, |searcher| searcher.embed_written(workspace, paths))
    }

    /// Updates the Qdrant server from the files; with `rebuild` from nothing.
    pub(crate) fn sync_remote(&self, workspace: &Workspace, rebuild: bool) -> Result<EmbedReport> {
        let report = self.searcher.as_ref().and_then(|searcher| searcher.synchronize(workspace, rebuild));
        report.unwrap_or_else(|| Err(self.no_server()))
    }

    /// Removes what this project has on the Qdrant server.
    pub(crate) fn remove_remote(&self, workspace: &Workspace) -> Result<EmbedReport> {
        let report = self.searcher.as_ref().and_then(|searcher| searcher.remove_remote(workspace));
        report.unwrap_or_else(|| Err(self.no_server()))
    }

    /// Returns the entries of other projects that match a query best, unless they cannot be searched, and the problems.
    pub(crate) fn search_elsewhere(
        &self,
        workspace: &Workspace,
        query: &Query,
        limit: usize,
        projects: &[String],
    ) -> (Option<Vec<ProjectHit>>, Vec<Problem>) {
        let not_searched = |place: &str, reason: &str, hint: &str| {
            let message = format!("{reason}; other projects are not searched");
            (None, vec![Problem::warning(place, "elsewhere", message, hint)])
        };
        if !query.tags.is_empty() || query.scope.is_some() {
            let reason = "the server knows neither tags nor scopes of entries";
            return not_searched("qdrant.url", reason, "leave out the tags and the scope");
        }
        let found =
            self.searcher.as_ref().and_then(|searcher| searcher.search_elsewhere(workspace, query, limit, projects));
        found.unwrap_or_else(|| {
            let hint = "set `ollama.url` and `qdrant.url` in your own settings";
            not_searched(self.missing_setting(), "it is not set", hint)
        })
    }

    fn missing_setting(&self) -> &'static str {
        if self.searcher.is_none() { "ollama.url" } else { "qdrant.url" }
    }

    fn no_server(&self) -> Error {
        let reason = "it is not set; the server requires `ollama.url` and `qdrant.url`".to_owned();
        Error::invalid(self.missing_setting(), reason)
    }

    /// Returns the cosines of the entries of the views and a query, if they are wanted and known, and the problems.
    pub(crate) fn search(
        &self,
        workspace: &Workspace,
        views: &[View],
        snapshot: &Snapshot,
        query: &Query,
    ) -> (Option<Meaning>, Vec<Problem>) {
        let weight = query.semantic_weight.unwrap_or(workspace.settings.semantic.weight);
        let is_wanted = weight > 0.0 && !query.text.trim().is_empty() && workspace.settings.ollama.reads(&query.text);
        match self.searcher.as_ref().filter(|_| is_wanted) {
            Some(searcher) => searcher.search(workspace, views, snapshot, query, weight),
            None => (None, Vec::new()),
        }
    }

    /// Asks the servers whether they work.
    pub(crate) fn status(&self, workspace: &Workspace) -> SemanticStatus {
        let settings = &workspace.settings;
        match &self.searcher {
            None if settings.qdrant.url.is_empty() => SemanticStatus::off("`ollama.url` is not set"),
            None => {
                let fix = "set `ollama.url`; a local server has `http://localhost:11434`";
                SemanticStatus::failed("`qdrant.url` is set and `ollama.url` is not", fix.to_owned())
            }
            Some(_) if settings.semantic.weight <= 0.0 => SemanticStatus::off("`semantic.weight` is 0"),
            Some(searcher) => searcher.status(workspace),
        }
    }
}
