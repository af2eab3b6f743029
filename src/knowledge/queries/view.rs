//! The view of an entry that every answer shares.

use serde::Serialize;
use serde_json::Value;

use crate::entry::{EntrySummary, Id};
use crate::journal::history::Usage;
use crate::search::retrieve::{Explained, Hit};

/// An entry, as every answer shows it: its summary, and what was asked for beside it. What is not known or was not asked for is
/// empty, and left out of its JSON.
///
/// ```
/// use ralph_memory::memory::EntryChanges;
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let old = memory.add(&Knowledge::new("Deploy by hand", ["deploy"], "Copy the files."))?.id;
/// let new = memory.add(&Knowledge::new("Deploy with CI", ["deploy"], "Push a tag."))?.id;
/// memory.change(&new, &EntryChanges::superseding([old.clone()]))?;
/// let entry = memory.show(&old)?.entry;
/// assert!(entry.summary.superseded);
/// assert_eq!((entry.superseded_by, entry.body.trim()), (vec![new], "Copy the files."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct EntryView {
    /// Its summary.
    #[serde(flatten)]
    pub summary: EntrySummary,
    /// The line of its text that matches the query best, else its first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// How well it matches a query; comparable within one search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// How similar it and the query are in meaning: see [`Hit::similarity`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
    /// The other hits that contradict it: see [`Hit::contradicts`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<Id>,
    /// The parts of the score. They add up to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<Explained>,
    /// The outcomes of the attempts whose contexts included it, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The task during which it was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The run during which it was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// When it stops being true, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The entries that it replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<Id>,
    /// The live entries that replace it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<Id>,
    /// The entries of people that this one, by an agent, would replace if a person confirmed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_supersede: Vec<Id>,
    /// The live entries of agents that would replace this one, by a person, if a person confirmed it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_be_superseded_by: Vec<Id>,
    /// The project paths that it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The questions that it answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// All of its frontmatter, including keys that are unknown to this program; null if it cannot be read.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub frontmatter: Value,
    /// Its body, as in the file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The entries that its body links to, and the links that lead to no entry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<EntryLink>,
    /// The live entries whose bodies link to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backlinks: Vec<EntryLink>,
}

/// A link between two entries, `[[…]]` in the body of one of them.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Error codes", ["api"], "See [[Retries]] and [[time-outs]]."))?;
/// let id = memory.add(&Knowledge::new("Retries", ["api"], "Only after a 503."))?.id;
/// let backlink = &memory.show(&id)?.entry.backlinks[0];
/// assert_eq!((backlink.text.as_str(), backlink.line), ("Error codes", 8));
/// let links = backlink.id.as_ref().map(|id| memory.show(id)).transpose()?.ok_or("no entry")?.entry.links;
/// assert_eq!((links[0].id.as_ref(), links[1].id.as_ref()), (Some(&id), None), "nothing is called `time-outs`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryLink {
    /// The entry at the other end; `None` if there is none.
    pub id: Option<Id>,
    /// The text between the brackets, or the title of the entry that links.
    pub text: String,
    /// The line of the link in its file.
    pub line: u32,
}

impl From<EntrySummary> for EntryView {
    fn from(summary: EntrySummary) -> EntryView {
        EntryView { summary, ..EntryView::default() }
    }
}

impl From<Hit> for EntryView {
    fn from(hit: Hit) -> EntryView {
        EntryView {
            score: Some(hit.score),
            similarity: hit.similarity,
            contradicts: hit.contradicts,
            explanation: hit.explanation,
            ..EntryView::from(hit.entry)
        }
    }
}
