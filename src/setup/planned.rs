//! What a plan contains: files with their changes, steps for a person, problems.

use std::path::{Path, PathBuf};

use serde::Serialize;
use similar::TextDiff;

use super::client::SetupClient;
use super::locate::ClientPlace;
use crate::error::Problem;

/// What happens to a file.
///
/// ```
/// use ralph_memory::setup::PlannedAction;
/// assert_eq!(serde_json::to_string(&PlannedAction::Create)?, "\"create\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedAction {
    /// It is created.
    Create,
    /// It exists, and gets or loses setup's part.
    Edit,
    /// It is deleted: it contains nothing but setup's part.
    Delete,
    /// It is as it should be.
    #[default]
    Keep,
}

/// A file of a plan.
///
/// ```
/// use ralph_memory::setup::{Setup, SetupClient, SetupOptions, SetupScope, PlannedAction};
///
/// # let folder = tempfile::tempdir()?;
/// # let project = folder.path();
/// # let program = project.join("ralph-memory");
/// let setup = Setup::new(project, &program, &|_| None);
/// let plan = setup.plan(&[SetupClient::AgentsMd], SetupScope::Project, SetupOptions::default())?;
/// let file = &plan.files[0];
/// assert_eq!((file.path.to_str(), file.action), (Some("AGENTS.md"), PlannedAction::Create));
/// assert!(file.diff.starts_with("--- /dev/null\n+++ b/AGENTS.md\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PlannedFile {
    /// The file: relative to the project if it is in there.
    pub path: PathBuf,
    /// The clients that use it.
    pub clients: Vec<SetupClient>,
    /// What happens to it.
    pub action: PlannedAction,
    /// What it lacks, in words.
    pub lacks: Vec<String>,
    /// The change as a unified diff; empty if it stays as it is.
    pub diff: String,
    #[serde(skip)]
    pub(super) place: ClientPlace,
    /// What it contains now.
    #[serde(skip)]
    pub(super) before: Option<String>,
    /// What it will contain.
    #[serde(skip)]
    pub(super) after: Option<String>,
}

impl PlannedFile {
    /// Notes that a client uses it.
    pub(super) fn is_of(&mut self, client: SetupClient) {
        if !self.clients.contains(&client) {
            self.clients.push(client);
        }
    }

    /// Returns the file with what happens to it, now that this is known.
    pub(super) fn decided(mut self) -> PlannedFile {
        self.action = match (&self.before, &self.after) {
            (None, Some(_)) => PlannedAction::Create,
            (Some(_), None) => PlannedAction::Delete,
            (before, after) if before == after => PlannedAction::Keep,
            _ => PlannedAction::Edit,
        };
        self.diff = diff(&self.path, self.before.as_deref(), self.after.as_deref());
        self
    }
}

/// Something that only a person can do.
///
/// ```
/// use ralph_memory::setup::{Setup, SetupClient, SetupOptions, SetupScope};
///
/// # let folder = tempfile::tempdir()?;
/// # let project = folder.path();
/// # let program = project.join("ralph-memory");
/// let setup = Setup::new(project, &program, &|_| None);
/// let plan = setup.plan(&[SetupClient::Codex], SetupScope::Project, SetupOptions::default())?;
/// assert!(plan.steps[0].step.contains("trust the new hooks"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetupStep {
    /// The client.
    pub client: SetupClient,
    /// What to do in it, as an imperative.
    pub step: String,
}

/// What a setup or a removal will do.
///
/// ```
/// use ralph_memory::setup::{Setup, SetupClient, SetupOptions, SetupScope};
///
/// # let folder = tempfile::tempdir()?;
/// # let project = folder.path();
/// # let program = project.join("ralph-memory");
/// let setup = Setup::new(project, &program, &|_| None);
/// let plan = setup.plan(&[SetupClient::Devin], SetupScope::Project, SetupOptions::default())?;
/// assert!(!plan.is_empty() && !plan.is_connected());
/// for problem in &plan.problems {
///     eprintln!("{problem} ({})", problem.hint);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SetupPlan {
    /// All files that were looked at, in order of their paths.
    pub files: Vec<PlannedFile>,
    /// The clients that are not refused.
    pub clients: Vec<SetupClient>,
    /// An error for each client that is refused, and warnings.
    pub problems: Vec<Problem>,
    /// What only a person can do, once the plan is applied.
    pub steps: Vec<SetupStep>,
}

impl SetupPlan {
    /// Returns whether all clients are connected, by these files or in another way, and nothing is doubtful.
    pub fn is_connected(&self) -> bool {
        self.is_empty() && self.problems.iter().all(|problem| problem.code == CONNECTED)
    }

    /// Returns whether it changes no file.
    pub fn is_empty(&self) -> bool {
        self.files.iter().all(|file| file.action == PlannedAction::Keep)
    }
}

/// The code of a client that is connected in another way.
pub(super) const CONNECTED: &str = "connected-otherwise";

/// Returns the change as a unified diff.
fn diff(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{}", path.display()),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    diff.unified_diff().context_radius(3).header(&name("a", before), &name("b", after)).to_string()
}
