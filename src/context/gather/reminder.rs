//! A reminder: the few entries that are about a prompt.
//!
//! Most prompts need none, and a reminder that has nothing to do with the work costs attention. So an entry must share
//! enough words with the prompt, whatever else matches. If the index is out of date, nobody waits for it.

use crate::context::Reference;
use crate::context::write::remind;
use crate::entry::{Id, Kind};
use crate::index::Statistics;
use crate::knowledge::queries::hits;
use crate::search::retrieve::{Hit, Query, is_told, with_people};
use crate::text::floor;
use crate::workspace::Workspace;

/// How many entries a reminder shows at most.
const MAX_ENTRIES: usize = 3;
/// How many hits are considered.
const MAX_HITS: usize = 10;
/// How much of a prompt is searched for, in bytes. The rest of a longer prompt is pasted text.
const MAX_PROMPT: usize = 2_000;
/// How many words of the prompt an entry must have. On the golden set, 1 of 50 prompts without a subject, such as "fix
/// the tests", and 5 of 86 prompts about another project get a reminder. With 3 words, it is 8 and 25.
const LEAST_WORDS: usize = 4;
/// The share of the prompt's words that an entry must have, by weight. Of the entries shown for titles of tasks, 73 %
/// matter to them. With a share of 0.3, it is 71 %; with 0.5, it is 79 %, and a tenth fewer tasks get a reminder.
const LEAST_SHARE: f64 = 0.4;

/// Returns the reminder for a prompt, without the entries in `shown`, and the entries in it. Returns `None` if no entry
/// is about the prompt.
pub(crate) fn reminder(workspace: &Workspace, prompt: &str, shown: &[String]) -> Option<(String, Vec<Id>)> {
    let text = prompt[..floor(prompt, MAX_PROMPT)].to_owned();
    let query = Query { text, kind: Some(Kind::Knowledge), ..Query::default() };
    let hits = workspace.quick_answer(|views, snapshot| {
        hits(workspace, views, (snapshot, &Statistics::default()), &query, None, MAX_HITS, &|head| {
            is_told(head, workspace.now(), || false)
        })
    })?;
    let is_about = |hit: &Hit| hit.evidence.words >= LEAST_WORDS && hit.evidence.share >= LEAST_SHARE;
    let hits = hits.into_iter().filter(is_about);
    let new = hits.filter(|hit| !shown.iter().any(|id| id == hit.entry.id.as_str())).collect();
    let references: Vec<Reference> = with_people(new, |hit: &Hit| Some(hit.entry.source.is_person()))
        .into_iter()
        .take(MAX_ENTRIES)
        .filter_map(|hit| {
            let path = hit.entry.path.as_relative();
            let entry = workspace.read_beginning(path)?;
            Some(Reference {
                id: hit.entry.id.clone(),
                body: entry.said(),
                title: entry.head.title_with_status(),
                tags: entry.head.tags,
                category: entry.head.category,
                contradicts: hit.contradicts,
                unverified: None,
            })
        })
        .collect();
    let ids: Vec<Id> = references.iter().map(|reference| reference.id.clone()).collect();
    (!ids.is_empty()).then(|| (remind(&references), ids))
}
