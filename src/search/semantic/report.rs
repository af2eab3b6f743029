//! Reports about vectors and the servers that compute them, for callers.
//!
//! These types are the same in a build without the feature `semantic`.

use serde::Serialize;

use crate::entry::Id;
use crate::error::Problem;

/// How many entries without a vector are named.
#[cfg(feature = "semantic")]
const MAX_NAMED: usize = 5;
/// The code of the problem of an entry that the model does not accept.
#[cfg(feature = "semantic")]
pub(super) const REFUSED_CODE: &str = "semantic-refused";

/// The result of [`Memory::embed_missing`](crate::memory::Memory::embed_missing) and
/// [`Memory::sync_remote`](crate::memory::Memory::sync_remote).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("GPU queue", ["gpu"], "Jobs over an hour go to `long`."))?;
/// let report = memory.embed_missing()?;
/// assert_eq!((report.entries, report.new), (0, 0), "without `ollama.url` nothing is embedded");
/// assert!(report.problems.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EmbedReport {
    /// How many entries have vectors now.
    pub entries: usize,
    /// How many of them were embedded, or stored on the server.
    pub new: usize,
    /// How many entries were removed from the server: this project had stored them, and no file contains them any more.
    pub removed: usize,
    /// The problems.
    pub problems: Vec<Problem>,
}

#[cfg(feature = "semantic")]
impl EmbedReport {
    /// Lists only a few of the entries without a vector.
    pub(super) fn bounded(mut self) -> EmbedReport {
        let is_refused = |problem: &Problem| problem.code == REFUSED_CODE;
        let (mut refused, others): (Vec<_>, Vec<_>) = self.problems.into_iter().partition(is_refused);
        let n_more = refused.len().saturating_sub(MAX_NAMED);
        refused.truncate(MAX_NAMED);
        if let Some(last) = refused.last_mut().filter(|_| n_more > 0) {
            last.message = format!("{}; {n_more} more like this", last.message).into();
        }
        self.problems = [others, refused].concat();
        self
    }
}

/// An entry of another project, as the Qdrant server has it on which projects share their points. All of it is what that
/// project says, or whoever else can write there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectHit {
    /// The project's name.
    pub project: String,
    /// The entry, in that project.
    pub id: Id,
    /// Its title, if that project shares texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The beginning of the passage that matches, if that project shares texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// How well it matches. Only comparable with those of other entries from this search.
    pub score: f64,
}

/// Whether semantic search works.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let status = memory.semantic_status();
/// assert!(!status.wanted && !status.active, "the settings name no server");
/// assert_eq!(status.fix, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SemanticStatus {
    /// Whether the settings ask for it: they name a server, and `semantic.weight` is not 0.
    pub wanted: bool,
    /// Whether it works.
    pub active: bool,
    /// The servers and the model in use, or why there are none, in one line.
    pub detail: String,
    /// The command or the setting that fixes a failure, or a risk while it works.
    pub fix: Option<String>,
}

impl SemanticStatus {
    /// Reports that the settings do not ask for semantic search.
    pub(super) fn off(reason: &str) -> SemanticStatus {
        SemanticStatus { wanted: false, active: false, detail: format!("RAG: off ({reason})"), fix: None }
    }

    /// Reports that semantic search is wanted and does not work.
    pub(super) fn failed(reason: &str, fix: String) -> SemanticStatus {
        SemanticStatus { wanted: true, fix: Some(fix), ..SemanticStatus::off(reason) }
    }
}
