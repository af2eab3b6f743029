//! An attempt of a run, from its beginning to its journal entry.
//!
//! Plain data: an attempt is kept in a file, so fields are never renamed.

use chrono::{DateTime, SubsecRound as _, Utc};
use serde::{Deserialize, Serialize};

use super::process_identity::ProcessIdentity;
use crate::context::Task;
use crate::entry::{Attempt, AttemptHead, Id, Sections, Source};
use crate::error::Problem;
use crate::journal::{BEGUN, journal_path};
use crate::text::{for_terminal, shorten};

/// The longest line of text that is kept, in characters.
pub(super) const MAX_LINE: usize = 2_000;

/// One iteration, from its beginning to its entry in the journal.
///
/// The process that calls [`Memory::begin`](crate::Memory::begin) works on it. It is kept in `.ralph/state/` until it is
/// finished, so that the next call of `begin` records it as interrupted if that process ends before.
///
/// ```
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let begun = memory.begin(&Task::new("Translate the error messages"), &memory.new_run())?;
/// assert_eq!((begun.number, begun.attempt, begun.model.as_str()), (1, 1, "sonnet"));
///
/// assert!(begun.context.contains("**Title:** Translate the error messages"));
///
/// let open = memory.open_attempts();
/// assert_eq!(open[0].task.title, "Translate the error messages");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAttempt {
    /// The run.
    pub run_id: String,
    /// Its number in the run, from 1.
    pub number: u32,
    /// The task, without the secrets that it was begun with.
    pub task: Task,
    /// The number of this attempt at the task, from 1.
    pub attempt: usize,
    /// The model that should work on it; empty if none was chosen.
    pub model: String,
    /// Why this model.
    pub rationale: String,
    /// How often the task failed in a row, and one more if an error or a state recurs.
    pub rung: u32,
    /// When it began, in whole microseconds.
    pub started_at: DateTime<Utc>,
    /// The knowledge that its context shows.
    pub entries: Vec<Id>,
    /// What its context left out for space.
    pub left_out: Vec<Id>,
    /// The git tree of the work tree when it began, without `.ralph/`; none where there is no git.
    pub tree: Option<String>,
    /// The process that works on it from beginning to end, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<ProcessIdentity>,
    /// The process of its agent, if it was [recorded](crate::Memory::note_agent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ProcessIdentity>,
    /// Whether nobody began it before its agent ended, so that nobody knows how long it took.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unmeasured: bool,
    /// The whole prompt of the agent, markdown: the task, the notes on it, and how to report. Not kept in `state/`.
    #[serde(skip)]
    pub context: String,
    /// Where the task ends and the notes begin in it, in bytes.
    #[serde(skip)]
    pub(crate) notes_start: usize,
    /// Problems of the files that were read. Not kept in `state/`.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl OpenAttempt {
    /// Returns an iteration with only these values.
    pub(crate) fn new(run_id: String, number: u32, task: Task, started_at: DateTime<Utc>) -> OpenAttempt {
        OpenAttempt {
            run_id,
            number,
            task,
            attempt: 1,
            model: String::new(),
            rationale: String::new(),
            rung: 0,
            // The precision of the journal.
            started_at: started_at.trunc_subsecs(6),
            entries: Vec::new(),
            left_out: Vec::new(),
            tree: None,
            holder: None,
            agent: None,
            is_unmeasured: false,
            context: String::new(),
            notes_start: 0,
            problems: Vec::new(),
        }
    }

    /// Returns the id of its task.
    pub fn task_id(&self) -> String {
        self.task.own_id()
    }

    /// Returns the id that its entry in the journal gets if its number is free.
    pub fn id(&self) -> String {
        self.journal_path().trim_end_matches(".md").to_owned()
    }

    /// Returns the attempt of this iteration that has this head and these sections.
    pub(super) fn attempt_with(&self, head: AttemptHead, sections: Sections) -> Attempt {
        Attempt {
            run_id: self.run_id.clone(),
            task_id: self.task.is_named().then(|| self.task_id()),
            task_title: self.task.title.clone(),
            feature: self.task.feature.clone(),
            source: Source::Agent,
            started_at: self.started_at,
            head,
            sections,
        }
    }

    /// Returns the path of its file in the journal if its number is free.
    pub(crate) fn journal_path(&self) -> String {
        journal_path(&self.run_id, self.number)
    }

    /// Returns the path of its file in `state/`.
    pub(crate) fn state_path(&self) -> String {
        format!("state/{}", self.state_name())
    }

    /// Returns the same path, below `state/`.
    pub(crate) fn state_name(&self) -> String {
        format!("{BEGUN}/{}", self.state_file())
    }

    /// Returns the name of that file.
    pub(crate) fn state_file(&self) -> String {
        format!("{}-{:04}.json", self.run_id, self.number)
    }
}

/// Returns whether a text can be the name of a git tree: git must not read it as an option or a revision.
pub(super) fn is_tree(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns a text as one line without control characters, of at most [`MAX_LINE`] characters.
pub(super) fn line(text: &str) -> String {
    shorten(&for_terminal(&text.replace(['\n', '\r', '\t'], " ")), MAX_LINE)
}
