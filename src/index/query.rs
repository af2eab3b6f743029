//! The query of the index, its weights, and the parts of a score.

use super::document::Filter;
use crate::text::choice;

/// A query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextQuery {
    /// The words to search for. If there are several lines, the first counts as a title.
    pub text: String,
    /// The words that give points to matching tags, and are not searched for: the text of a task without additions for
    /// the search. Empty means the same as `text`.
    pub tag_text: String,
    /// The feature whose name gives points to the tags it matches.
    pub feature: Option<String>,
    /// The paths whose parts give points to the tags they match.
    pub paths: Vec<String>,
    /// The conditions for every hit.
    pub filters: Vec<Filter>,
}

/// The weights of the parts of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weights {
    /// The weight of all words, compared with the points for tags.
    pub text: f64,
    /// Words in the title.
    pub title: f64,
    /// Words in the tags.
    pub tags: f64,
    /// Words in the body.
    pub body: f64,
    /// Words in the questions that it answers.
    pub questions: f64,
    /// The share of the part stream; the word stream has the rest.
    pub parts_share: f64,
    /// Words of the first line of a query of several lines.
    pub first_line: f64,
    /// The share of the text score that a document gains when it has every word of the query.
    pub coverage: f64,
    /// The longest query, in distinct words, for which coverage is counted; 16 at most.
    pub coverage_terms: usize,
    /// How many distinct words of each stream are searched for: the rarest.
    pub max_terms: usize,
    /// Points for a tag whose words are all in the task's text.
    pub task_tag: f64,
    /// Points for a tag whose words are all in the feature's name.
    pub feature_tag: f64,
    /// Points for a tag whose words are all in one of the paths.
    pub path_tag: f64,
    /// Parts of paths of at most this many characters match no tag.
    pub short_path_part: usize,
}

choice! {
    /// A part of a score.
    #[derive(PartialOrd, Ord)]
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
        Semantic = "semantic",
    }
}

impl Part {
    /// Returns whether it is a match of a tag.
    pub(crate) fn is_of_tags(self) -> bool {
        matches!(self, Part::TaskTags | Part::FeatureTags | Part::PathTags)
    }
}
