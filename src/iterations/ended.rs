//! An attempt whose agent has ended, with all that is known of it before it is in the journal.

use chrono::{DateTime, Utc};

use super::iteration::Iteration;
use super::work_tree::WorkTreeChanges;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Attempt, Files, Id, Outcome};
use crate::error::{Error, Problem, Result};
use crate::history::Report;
use crate::journal::IterationView;
use crate::knowledge::Added;
use crate::sigil::Said;
use crate::transcript::Transcript;

/// What [`Memory::finish`](crate::Memory::finish) wrote.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Recorded {
    /// The entry in the journal.
    pub id: Id,
    /// Its file, relative to the folder that holds `.ralph/`.
    pub path: String,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The knowledge that was written down, in the order in which the agent wrote it.
    pub knowledge: Vec<Added>,
    /// What the agent wrote in a way that could not be taken over; its next context lists it.
    pub refused: Vec<String>,
    /// What the entry in the journal says.
    pub attempt: Attempt,
    /// What happened on the way that a person should look at.
    pub problems: Vec<Problem>,
}

impl Recorded {
    /// Returns the attempt as the views of the journal have it.
    pub fn view(&self) -> IterationView {
        IterationView::new(self.id.clone(), self.path.clone(), self.attempt.clone())
    }
}

/// An attempt whose agent has ended.
pub(super) struct EndedAttempt<'a> {
    pub(super) iteration: &'a Iteration,
    /// As the caller gave it.
    pub(super) report: &'a Report,
    pub(super) transcript: &'a Transcript,
    pub(super) changes: WorkTreeChanges,
    /// Why git saw nothing, where it should have.
    pub(super) unknown_changes: Option<Problem>,
    /// When.
    pub(super) at: DateTime<Utc>,
    /// Whether it comes from a file, which may have been left behind by a call that got to the journal.
    pub(super) was_kept: bool,
    /// Whether secrets were removed from the text.
    pub(super) is_redacted: bool,
}

impl<'a> EndedAttempt<'a> {
    /// Returns an attempt whose agent has just ended, before anybody asked git.
    pub(super) fn new(
        iteration: &'a Iteration,
        report: &'a Report,
        transcript: &'a Transcript,
        at: DateTime<Utc>,
    ) -> EndedAttempt<'a> {
        let changes = WorkTreeChanges::default();
        EndedAttempt {
            iteration,
            report,
            transcript,
            changes,
            unknown_changes: None,
            at,
            was_kept: false,
            is_redacted: false,
        }
    }

    /// Refuses knowledge that a secret was removed from, as it would have been refused with the secret.
    pub(super) fn without_secret(&self, knowledge: Knowledge) -> Result<Knowledge> {
        let is_marked = |text: &str| text.contains("[redacted: ");
        if self.is_redacted
            && (is_marked(&knowledge.title)
                || is_marked(&knowledge.body)
                || knowledge.tags.iter().chain(&knowledge.questions).any(|text| is_marked(text)))
        {
            return Err(Error::invalid("knowledge", "it held what looks like a secret; leave it out"));
        }
        Ok(knowledge)
    }

    /// Returns the files that the iteration had to do with: those of the report, with what git and the agent's tools add.
    pub(super) fn files(&self, report: &Report, output: &Said) -> Files {
        let (changes, by_tools) = (&self.changes, &self.transcript.files);
        let mut files = report.files.clone();
        extend(&mut files.relevant, output.failure.as_ref().map(|report| report.files.clone()).unwrap_or_default());
        extend(&mut files.created, changes.created.clone());
        extend(&mut files.modified, changes.modified.clone());
        // What git saw is sure; a tool may write a file anew that was there.
        let is_new = |path: &&String| !files.modified.contains(path);
        let created: Vec<String> = by_tools.created.iter().filter(is_new).cloned().collect();
        extend(&mut files.created, created);
        extend(&mut files.modified, by_tools.modified.clone());
        extend(&mut files.read, by_tools.read.clone());
        // A file that was created here was not changed here as well, nor was a changed one only read.
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
