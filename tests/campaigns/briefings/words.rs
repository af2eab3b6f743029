//! The words of the year, which are in `words.toml`: features with their components, what goes wrong in them, and what people
//! decide and write down.

use std::sync::LazyLock;

use serde::Deserialize;

pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| toml::from_str(include_str!("words.toml")).unwrap());

/// A category, a title and a text; the category may be empty.
type Lesson = (String, String, String);

#[derive(Deserialize)]
pub(super) struct Words {
    pub(super) areas: Vec<Area>,
    pub(super) plagues: Vec<Plague>,
    pub(super) decisions: Vec<Decision>,
    /// What people write down, each with its day.
    pub(super) notes: Vec<(usize, String, String, String)>,
    pub(super) praise: Vec<Lesson>,
}

/// A part of the product.
#[derive(Deserialize)]
pub(super) struct Area {
    pub(super) name: String,
    pub(super) components: Vec<String>,
    pub(super) goals: Vec<String>,
    pub(super) causes: Vec<Cause>,
}

/// Something that goes wrong.
#[derive(Deserialize)]
pub(super) struct Cause {
    pub(super) tried: [String; 2],
    pub(super) why: String,
    pub(super) error: String,
    pub(super) lesson: Lesson,
}

/// Something that goes wrong in several tasks while it lasts.
#[derive(Deserialize)]
pub(super) struct Plague {
    pub(super) name: String,
    /// The numbers of the areas that it is met in; all, if there are none.
    pub(super) areas: Vec<usize>,
    /// The first and the last working day, and those of its return.
    pub(super) lasts: Vec<(usize, usize)>,
    #[serde(flatten)]
    pub(super) cause: Cause,
}

#[derive(Deserialize)]
pub(super) struct Decision {
    pub(super) day: usize,
    pub(super) text: String,
    /// The day and the text of the decision that replaces it.
    pub(super) later: Option<(usize, String)>,
}
