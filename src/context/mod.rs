//! The text that is put before an agent: sections, each within its budget.
//!
//! Pure: references in, text out. What comes from entries is fenced by a delimiter that it cannot
//! forge, with sigils defused, and stands as reference, not as orders. A context never exceeds its
//! budget, and says what it left out and how to get it.

mod budget;
mod render;

use serde::Serialize;

use crate::entry::{Id, Scope};
use crate::error::Problem;
use crate::retrieve::Hit;
use crate::text::fold;

pub use budget::{Budget, Unit, default_budget};
pub use render::{INSTRUCTIONS, build};

/// How many entries are looked at for a context.
pub const MAX_CANDIDATES: usize = 40;
/// What scores under this share of the best is left out: it shares a common word or two with the
/// task, and an agent reads all that it is given. Of the entries that the golden set's tasks must have,
/// .91 are then in the context, and the median task is shown 12; a quarter keeps .92 of them and shows
/// 18, .45 keeps .84 and shows 5.
const RELEVANT_SHARE: f64 = 0.3;

/// A task that an agent is about to begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, at length.
    pub description: String,
    /// Its id: entries of scope `task:ID` are seen.
    pub id: Option<String>,
    /// The feature it belongs to: entries of scope `feature:NAME` are seen.
    pub feature: Option<String>,
    /// The section it belongs to: entries of scope `section:ID` are seen.
    pub section: Option<String>,
    /// Project paths that it touches, or that were touched lately.
    pub files: Vec<String>,
}

impl Task {
    /// Returns a task with nothing but a title.
    pub fn new(title: impl Into<String>) -> Task {
        Task { title: title.into(), ..Task::default() }
    }

    /// Returns the id of a task that has none but its title: `t-` and ten hexadecimal digits.
    ///
    /// ```
    /// use ralph_memory::Task;
    /// assert_eq!(Task::id_of_title("Add the memory tables"), Task::id_of_title(" add the memory  tables"));
    /// assert_eq!(Task::id_of_title("x").len(), 12);
    /// ```
    pub fn id_of_title(title: &str) -> String {
        format!("t-{:010x}", xxhash_rust::xxh3::xxh3_64(fold(title).as_bytes()) >> 24)
    }

    /// Returns title and description, one below the other.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.title.trim(), self.description.trim()).trim().to_owned()
    }

    /// Returns whether entries of this scope concern the task.
    pub fn sees(&self, scope: &Scope) -> bool {
        match scope {
            Scope::Project => true,
            Scope::Feature(name) => self.feature.as_ref() == Some(name),
            Scope::Section(id) => self.section.as_ref() == Some(id),
            Scope::Task(id) => self.id.as_ref() == Some(id),
            Scope::Unknown(_) => false,
        }
    }
}

/// A context that is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The task.
    pub task: Task,
    /// How much text at most; without one, what the settings say.
    pub budget: Option<Budget>,
}

/// An entry as a context shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its id.
    pub id: Id,
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its body, as in the file.
    pub body: String,
}

/// A context, ready for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Context {
    /// The text, markdown.
    #[serde(rename = "context")]
    pub text: String,
    /// The entries that it shows, in order.
    pub entries: Vec<Id>,
    /// The entries that matched and did not fit, in order.
    pub left_out: Vec<Id>,
    /// What is wrong with files that were looked at.
    pub problems: Vec<Problem>,
}

/// Returns the hits that are near enough to the best one, in order.
pub fn relevant(hits: Vec<Hit>) -> Vec<Hit> {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    hits.into_iter().filter(|hit| hit.score >= best * RELEVANT_SHARE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_sees_its_own_scopes() {
        let task = Task { id: Some("t-1".into()), feature: Some("f".into()), ..Task::new("x") };
        let sees = |scope: &str| task.sees(&Scope::from(scope.to_owned()));
        assert!(sees("project") && sees("task:t-1") && sees("feature:f"));
        assert!(!sees("task:t-2") && !sees("feature:g") && !sees("section:s") && !sees("everyone"));
    }
}
