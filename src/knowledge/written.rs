//! The result of writing an entry.

use serde::Serialize;

use crate::entry::Id;
use crate::entry::path::EntryPath;
use crate::error::Problem;
use crate::text::choice;

choice! {
    /// What a call did to an entry.
    ///
    /// ```
    /// use ralph_memory::memory::WriteAction;
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let mut knowledge = Knowledge::new("Feature flags", ["flags"], "They live in `flags.toml`.");
    /// assert_eq!(memory.add(&knowledge)?.action, WriteAction::Created);
    /// knowledge.body = "They live in `config/flags.toml`.".into();
    /// assert_eq!(memory.add(&knowledge)?.action.as_str(), "updated");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Default)]
    pub enum WriteAction {
        /// There is a new entry.
        Created = "created",
        /// An entry was changed; the undo log has its old text.
        Updated = "updated",
        /// Nothing had to be written.
        #[default]
        Unchanged = "unchanged",
        /// An archived entry is live again, or an entry has an earlier text again.
        Restored = "restored",
    }
}

/// The result of each call that writes an entry, such as [`Memory::add`](crate::Memory::add) and
/// [`Memory::change`](crate::Memory::change).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Rotate the signing key", ["keys"], "Every 90 days, with `just rotate`."))?;
/// let written = memory.add(&Knowledge::new("Rotate the signing key", ["keys"], "Every 30 days, with `just rotate`."))?;
/// assert_eq!(written.removed, ["Every 90 days, with `just rotate`."]);
/// assert!(memory.versions(&written.id)?[0].text.contains("Every 90 days"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// What was done.
    pub action: WriteAction,
    /// The entry.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// Its file.
    pub path: EntryPath,
    /// Its id before, if it has another one now.
    pub previous_id: Option<Id>,
    /// For a new entry that its writer gave no tags, those that it got.
    pub derived_tags: Vec<String>,
    /// The lines of the replaced text that are not in the new one, without blank ones.
    pub removed: Vec<String>,
    /// For a new entry, the ids of the most similar ones by title, tags and body, the nearest first. If one states the
    /// same, the new entry may replace it.
    pub similar: Vec<Id>,
    /// The entries of people that this one, by an agent, replaces once a person confirms it.
    pub suggested: Vec<Id>,
    /// Problems on the way that a person should see.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl Written {
    /// Returns the result for an entry of which there is nothing else to say.
    pub(crate) fn new(action: WriteAction, id: Id, title: String, path: &str) -> Written {
        Written { action, id, title, path: EntryPath::new(path), ..Written::default() }
    }
}
