//! The searcher of a build without the feature `semantic`: it finds nothing, and reports that once if the settings name
//! a server.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::report::{EmbedReport, ProjectHit, SemanticStatus};
use crate::error::{Error, Problem, Result};
use crate::index::Snapshot;
use crate::search::retrieve::{Meaning, Query};
use crate::settings::Settings;
use crate::workspace::{View, Workspace};

const REASON: &str = "this build has no semantic search";
const FIX: &str = "build it with the feature `semantic`, or remove `ollama.url` and `qdrant.url` from the settings";

/// Reports once that there is no semantic search.
#[derive(Debug)]
pub(super) struct Searcher {
    /// The server that the settings name.
    address: String,
    is_reported: AtomicBool,
}

#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "with the feature it has servers, which can fail")]
impl Searcher {
    /// Returns the searcher, if the settings name a server.
    pub(super) fn new(settings: &Settings, _root: &Path) -> Option<Searcher> {
        let addresses = [&settings.ollama.url, &settings.qdrant.url];
        let address = addresses.into_iter().find(|url| !url.is_empty())?.clone();
        Some(Searcher { address, is_reported: AtomicBool::new(false) })
    }

    /// Embeds nothing.
    pub(super) fn embed_all(&self, workspace: &Workspace) -> Result<EmbedReport> {
        Ok(EmbedReport { problems: self.embed_written(workspace, &[]), ..EmbedReport::default() })
    }

    /// Embeds nothing. The first time that it matters, returns the problem that there is no semantic search.
    pub(super) fn embed_written(&self, _workspace: &Workspace, _paths: &[String]) -> Vec<Problem> {
        if self.is_reported.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let message = format!("{REASON}; words alone count");
        vec![Problem::warning(self.address.as_str(), "semantic-absent", message, FIX)]
    }

    /// Fails: there is no client for the server.
    pub(super) fn synchronize(&self, _workspace: &Workspace, _rebuild: bool) -> Option<Result<EmbedReport>> {
        Some(Err(Error::invalid("qdrant.url", format!("{REASON}; {FIX}"))))
    }

    /// Fails: there is no client for the server.
    pub(super) fn remove_remote(&self, workspace: &Workspace) -> Option<Result<EmbedReport>> {
        self.synchronize(workspace, false)
    }

    /// Searches nothing.
    pub(super) fn search_elsewhere(
        &self,
        workspace: &Workspace,
        _query: &Query,
        _limit: usize,
        _projects: &[String],
    ) -> Option<(Option<Vec<ProjectHit>>, Vec<Problem>)> {
        Some((None, self.embed_written(workspace, &[])))
    }

    /// Finds nothing.
    pub(super) fn search(
        &self,
        workspace: &Workspace,
        _views: &[View],
        _snapshot: &Snapshot,
        _query: &Query,
        _weight: f64,
    ) -> (Option<Meaning>, Vec<Problem>) {
        (None, self.embed_written(workspace, &[]))
    }

    /// Reports that there is no semantic search.
    pub(super) fn status(&self, _workspace: &Workspace) -> SemanticStatus {
        SemanticStatus::failed(REASON, FIX.to_owned())
    }
}
