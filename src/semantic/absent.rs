//! The semantic memory of a build without the feature `semantic`: it does nothing, and reports that once if the
//! settings name a server.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::report::{EmbedReport, SemanticStatus};
use crate::error::{Error, Problem, Result};
use crate::index::Snapshot;
use crate::retrieve::{Meaning, Query};
use crate::settings::Settings;
use crate::workspace::{View, Workspace};

const REASON: &str = "this build has no semantic search";
const FIX: &str = "build it with the feature `semantic`, or remove `ollama.url` and `qdrant.url` from the settings";

/// Reports once that there is no semantic search, if the settings ask for it.
#[derive(Debug)]
pub(crate) struct SemanticMemory {
    /// The server that the settings name.
    address: Option<String>,
    is_reported: AtomicBool,
}

impl SemanticMemory {
    /// Returns the semantic memory of these settings.
    pub(crate) fn new(settings: &Settings, _root: &Path) -> SemanticMemory {
        let addresses = [&settings.ollama.url, &settings.qdrant.url];
        let address = addresses.into_iter().find(|url| !url.is_empty()).cloned();
        SemanticMemory { address, is_reported: AtomicBool::new(false) }
    }

    /// Embeds nothing.
    #[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
    pub(crate) fn embed_missing(&self, _workspace: &Workspace) -> Result<EmbedReport> {
        Ok(EmbedReport { problems: self.report(), ..EmbedReport::default() })
    }

    /// Embeds nothing.
    pub(crate) fn embed_written(&self, workspace: &Workspace, paths: &[String]) -> Vec<Problem> {
        let is_wanted = !paths.is_empty() && workspace.settings.semantic.weight > 0.0;
        if is_wanted { self.report() } else { Vec::new() }
    }

    /// Fails: there is no client for the server.
    #[expect(clippy::unused_self, reason = "with the feature it has the servers")]
    pub(crate) fn sync_remote(&self, _workspace: &Workspace, _rebuild: bool) -> Result<EmbedReport> {
        Err(Error::invalid("qdrant.url", format!("{REASON}; {FIX}")))
    }

    /// Finds nothing.
    pub(crate) fn search(
        &self,
        workspace: &Workspace,
        _views: &[View],
        _snapshot: &Snapshot,
        query: &Query,
    ) -> (Option<Meaning>, Vec<Problem>) {
        let weight = query.semantic_weight.unwrap_or(workspace.settings.semantic.weight);
        let is_wanted = weight > 0.0 && !query.text.trim().is_empty();
        (None, if is_wanted { self.report() } else { Vec::new() })
    }

    /// Reports that there is no semantic search.
    pub(crate) fn status(&self, workspace: &Workspace) -> SemanticStatus {
        match &self.address {
            None => SemanticStatus::off("`ollama.url` is not set"),
            Some(_) if workspace.settings.semantic.weight <= 0.0 => SemanticStatus::off("`semantic.weight` is 0"),
            Some(_) => SemanticStatus::failed(REASON, FIX.to_owned()),
        }
    }

    /// Returns the problem that there is no semantic search, the first time that it matters.
    fn report(&self) -> Vec<Problem> {
        let Some(address) = self.address.as_ref().filter(|_| !self.is_reported.swap(true, Ordering::Relaxed)) else {
            return Vec::new();
        };
        vec![Problem::warning(address, "semantic-absent", format!("{REASON}; words alone count"), FIX)]
    }
}
