//! The query of the index, its weights, and the parts of a score.

use super::document::{Filter, N_OF_STREAM};
use crate::entry::Kind;
use crate::text::choice;

/// A query.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TextQuery {
    /// The words to search for. If there are several lines, the first counts as a title.
    pub text: String,
    /// The words that give points to matching tags, and are not searched for: the text of a task without additions for
    /// the search. Empty means the same as `text`.
    pub tag_text: String,
    /// The feature whose name gives points to the tags it matches.
    pub feature: Option<String>,
    /// The paths whose parts give points to the tags they match, and which give points to the entries that name them.
    pub paths: Vec<String>,
    /// The weight of all words; [`TEXT`] if nobody measures something else.
    pub text_weight: f64,
    /// The conditions for every hit.
    pub filters: Vec<Filter>,
}

impl TextQuery {
    /// Returns the kind that every hit has, if one is asked for.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.filters.iter().find_map(|filter| if let Filter::Kind(kind) = filter { Some(*kind) } else { None })
    }
}

// The weights, each with the measurement that chose it. nDCG@10 on 92 duplicate bug reports ("bugs") and 2,446 short
// notes ("notes"); differences are relative to the score without it.

/// The weight of all words, compared with the points for tags. Those are the seeds' whole score. Beside words, 0.25 to 2
/// made no difference beyond noise on notes (-.011 to -.001).
pub(crate) const TEXT: f64 = 1.0;
/// Words in the title, the tags, the body, and the questions that an entry answers. For titles, 1 instead of 2 lost .032
/// on bugs, 3 lost .009. Tags count as much as the body: .5 lost .017 on reports that no weight was chosen by, .016 on
/// questions over abstracts (CACM) and .006 on the golden set, and gained .002 on notes. Questions count as much as a
/// title: people ask in the words of the problem, and questions are written in these words. Whole tokens count as in a title.
pub(super) const FIELDS: [f64; N_OF_STREAM] = [2.0, 1.0, 1.0, 2.0];
/// By what a word's points in a field are divided, unless it is the word's best field in the document. Among the many words of a
/// long query, one that is in title, tags and body counts for too much: in full, -.008 on bugs, -.016 on the golden set and
/// -.024 in Thai. In a short query it says what the document is about: divided, -.010 on CACM and -.007 in Ukrainian.
pub(super) const OTHER_FIELDS: i64 = 2;
/// The shares of the word stream and of the part stream, which has identifiers' parts: without them, -.005 on bugs and
/// -.007 on notes; half instead of a third, -.006 and -.003.
///
/// The whole stream adds to them: who writes `task_tools` means it rather than titles with both words.
pub(super) const STREAMS: [f64; 3] = [1.0 - 1.0 / 3.0, 1.0 / 3.0, 1.0];
/// Words that only make a question of others. In a query of one line they count if there are no others, and never as parts.
pub(super) const QUESTION_WORDS: [&str; 37] = [
    "am", "can", "could", "did", "didn", "do", "does", "doesn", "don", "had", "has", "have", "how", "i", "may", "me",
    "might", "must", "my", "our", "shall", "should", "shouldn", "us", "we", "were", "what", "when", "where", "which",
    "who", "whom", "whose", "why", "would", "you", "your",
];
/// Words of the first line of a query of several lines: a report's first line is its title. 1.5 gained .034 on bugs. 2
/// gained as much there and lost .015 on texts whose first line is not a title.
pub(super) const FIRST_LINE: f64 = 1.5;
/// The share of the text score that a document gains when it has every word of the query: within noise on both sets,
/// +.003±.002 on titles of bugs against their bodies.
pub(super) const COVERAGE: f64 = 0.3;
/// The longest query, in distinct words, for which coverage is counted; 16 at most, the bits of a `u16`. Longer queries
/// lost by it, .003 to .010.
pub(super) const COVERAGE_TERMS: usize = 12;
/// How many distinct words of each stream are searched for: the rarest. Without a cap, -.003 on bugs and -.018 on reports
/// cut in two; and it bounds the time.
pub(super) const MAX_TERMS: usize = 24;
/// Points for a tag whose words are all in the task's text, in the feature's name, and in one of the paths: the seeds'.
pub(super) const TAG_POINTS: [f64; 3] = [2.0, 2.0, 1.0];
/// Points for a file that the task names: where the entry names it, or a folder above it or a pattern that matches it. An
/// entry that names one file says more about it than one about a whole folder does.
pub(super) const FILE_POINTS: [f64; 2] = [2.0, 1.0];
/// Parts of paths of at most this many characters match no tag.
pub(super) const SHORT_PATH_PART: usize = 2;

choice! {
    /// A part of a score, with the name that explanations show, in the order in which they are reported.
    pub(crate) enum Part {
        Title = "title",
        Tags = "tags",
        Body = "body",
        Questions = "questions",
        Identifiers = "identifiers",
        Coverage = "coverage",
        TaskTags = "task_tags",
        FeatureTags = "feature_tags",
        PathTags = "path_tags",
        Files = "files",
        Semantic = "semantic",
    }
}

impl Part {
    /// Returns whether it is a match of a tag or of a file.
    pub(crate) fn is_of_labels(self) -> bool {
        matches!(self, Part::TaskTags | Part::FeatureTags | Part::PathTags | Part::Files)
    }
}
