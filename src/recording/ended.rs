//! An attempt whose agent has ended, with everything known about it before it is in the journal.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::notes::Channel;
use super::open_attempt::OpenAttempt;
use super::work_tree::WorkTreeChanges;
use crate::agent_output::elements::ParsedSigils;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Attempt, Files, Id, Outcome};
use crate::error::{Error, Problem, Result};
use crate::journal::AttemptView;
use crate::journal::history::RedactedReport;
use crate::knowledge::Written;

/// How a place from which a secret was removed begins.
const MARK: &str = "[redacted: ";

/// What [`Memory::finish`](crate::Memory::finish) wrote.
///
/// ```
/// use ralph_memory::memory::Report;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let attempt = memory.begin(&Task::new("Speed up the tests"), &memory.new_run())?;
/// let text = "<knowledge tags=\"tests\" title=\"Share one database\">A database a test takes 2 s.</knowledge>\n\
///             <knowledge title=\"Use nextest\">It is faster.</knowledge>";
/// let recorded = memory.finish(&attempt, &Report { text: text.into(), ..Report::default() })?;
/// assert_eq!(recorded.knowledge[0].title, "Share one database");
/// assert_eq!(recorded.refused, ["line 2: <knowledge> without tags"]);
/// assert!(memory.root().join(&recorded.path).is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recorded {
    /// The entry in the journal.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// The number of the attempt at its task, from 1.
    pub number: usize,
    /// Its outcome.
    pub outcome: Outcome,
    /// The knowledge that was recorded, in the order in which the agent wrote it.
    pub knowledge: Vec<Written>,
    /// The elements of the agent's report that were refused, or not written as they should be; its next context lists them.
    pub refused: Vec<String>,
    /// The content of the entry in the journal.
    pub attempt: Attempt,
    /// Problems on the way that a person should see.
    pub problems: Vec<Problem>,
}

impl Recorded {
    /// Returns the attempt in the form of the journal's views.
    pub fn view(&self) -> AttemptView {
        AttemptView::new(self.id.clone(), self.path.clone(), self.attempt.clone())
    }
}

/// An attempt whose agent has ended, in the form in which it is saved until the journal has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedAttempt {
    pub(crate) iteration: OpenAttempt,
    /// The caller's report, and the agent's output.
    pub(crate) said: RedactedReport,
    /// The changes according to git.
    pub(crate) changes: WorkTreeChanges,
    /// The time.
    pub(crate) at: DateTime<Utc>,
    /// Why git found no changes, if it should have.
    #[serde(skip)]
    pub(crate) unknown_changes: Option<Problem>,
    /// Whether it comes from a file, which a call may have left behind after it wrote the journal.
    #[serde(skip)]
    pub(crate) was_kept: bool,
    /// How it is reported, and whether the caller names its run; `None` if it was begun, and is reported once.
    #[serde(skip)]
    pub(crate) told: Option<(Channel, bool)>,
    /// Why elements of its report were refused before.
    #[serde(skip)]
    pub(crate) refused: Vec<String>,
}

impl EndedAttempt {
    /// Returns an attempt whose agent has ended, before git is asked.
    pub(crate) fn new(iteration: OpenAttempt, said: RedactedReport, at: DateTime<Utc>) -> EndedAttempt {
        EndedAttempt {
            iteration,
            said,
            changes: WorkTreeChanges::default(),
            at,
            unknown_changes: None,
            was_kept: false,
            told: None,
            refused: Vec::new(),
        }
    }

    /// Refuses knowledge from which a secret was removed.
    pub(crate) fn without_secret(&self, knowledge: &Knowledge) -> Result<()> {
        let Knowledge { title, body, tags, questions, .. } = knowledge;
        let fields = [("title", title), ("body", body)].into_iter().chain(tags.iter().map(|tag| ("tags", tag)));
        let mut fields = fields.chain(questions.iter().map(|question| ("questions", question)));
        let removed = fields.find_map(|(name, text)| Some((name, text, text.find(MARK)?)));
        let Some((name, text, at)) = removed.filter(|_| self.said.is_redacted) else {
            return Ok(());
        };
        let pattern = text[at + MARK.len()..].split(']').next().unwrap_or_default();
        let line = text[..at].matches('\n').count() + 1;
        let reason = format!("this looks like a secret: {pattern}; leave it out");
        Err(Error::invalid(format!("{name}, line {line}"), reason))
    }

    /// Returns the files that it touched: those of the report, of git and of the agent's tools.
    pub(crate) fn files(&self, output: &ParsedSigils) -> Files {
        let (changes, by_tools) = (&self.changes, &self.said.transcript.files);
        let mut files = self.said.report.files.clone();
        extend(&mut files.relevant, output.failure.as_ref().map(|report| report.files.clone()).unwrap_or_default());
        extend(&mut files.created, changes.created.clone());
        extend(&mut files.modified, changes.modified.clone());
        // Git's changes are certain; a tool may write an existing file again.
        let is_new = |path: &&String| !files.modified.contains(path);
        let created: Vec<String> = by_tools.created.iter().filter(is_new).cloned().collect();
        extend(&mut files.created, created);
        extend(&mut files.modified, by_tools.modified.clone());
        extend(&mut files.read, by_tools.read.clone());
        // A created file is not listed as changed, nor a changed one as read.
        let Files { created, modified, read, .. } = &mut files;
        modified.retain(|path| !created.contains(path));
        read.retain(|path| !created.contains(path) && !modified.contains(path));
        files
    }
}

/// Adds the paths that are not in a list yet.
fn extend(list: &mut Vec<String>, paths: Vec<String>) {
    for path in paths {
        if !list.contains(&path) {
            list.push(path);
        }
    }
}
