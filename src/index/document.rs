//! The indexed form of an entry, and its fields.

use tantivy::TantivyDocument;
use tantivy::schema::{FAST, Field, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions};

use super::tokens::{self, Stems};
use crate::entry::path::files_and_patterns;
use crate::entry::{Head, Kind};
use crate::text::nfc;

/// Changes whenever the same entry would give another document; part of the index folder's name.
pub(super) const VERSION: u32 = 9;

/// The number of text fields in the word stream and in the part stream.
pub(super) const N_OF_STREAM: usize = 4;
/// The field of the whole stream, which has one for all texts, and the number of text fields in all.
pub(super) const WHOLES: usize = 2 * N_OF_STREAM;
pub(super) const N_TEXTS: usize = WHOLES + 1;
/// The name of the field with the paths.
pub(super) const PATH: &str = "path";
/// Which of a stream's fields has the questions.
pub(super) const QUESTIONS: usize = 3;

/// Begin the terms of files and of patterns, which are beside the tags.
pub(super) const FILE_MARK: char = '\u{1}';
pub(super) const PATTERN_MARK: char = '\u{2}';
/// Separates the words of a tag in its term. It sorts before every letter and digit.
pub(super) const TAG_SEPARATOR: char = '\u{1f}';

/// The fields of the index. Of a document only the path is kept, in a column: text is read from the file.
#[derive(Debug, Clone)]
pub(super) struct IndexFields {
    pub(super) schema: Schema,
    pub(super) path: Field,
    /// Title, tags, body and questions in the word stream, then the same in the part stream, then all in the whole stream.
    pub(super) text: [Field; N_TEXTS],
    /// A tag as its stems, sorted, with [`TAG_SEPARATOR`] between them; and the files and patterns behind their marks.
    pub(super) tag: Field,
    /// The filters of searches: terms made by [`Filter::term`].
    pub(super) filter: Field,
}

impl Default for IndexFields {
    fn default() -> IndexFields {
        let mut schema = Schema::builder();
        let path = schema.add_text_field(PATH, STRING | FAST);
        let text = std::array::from_fn(|at| {
            let (stream, _) = tokens::STREAMS[at / N_OF_STREAM];
            let name = format!("{stream}_{}", ["title", "tags", "body", "questions"][at % N_OF_STREAM]);
            // A document is given the tokens with spaces between them.
            let indexing =
                TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
            schema.add_text_field(&name, TextOptions::default().set_indexing_options(indexing))
        });
        let mut raw = |name: &str| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer("raw")
                .set_fieldnorms(false)
                .set_index_option(IndexRecordOption::Basic);
            schema.add_text_field(name, TextOptions::default().set_indexing_options(indexing))
        };
        let (tag, filter) = (raw("tag"), raw("filter"));
        IndexFields { schema: schema.build(), path, text, tag, filter }
    }
}

/// A condition for entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Filter {
    /// It is of this kind.
    Kind(Kind),
    /// It has this tag, in lower case, or one below it.
    Tag(String),
    /// It belongs to this feature.
    Feature(String),
    /// It has this scope, as written in a file.
    Scope(String),
}

impl Filter {
    pub(super) fn term(&self) -> String {
        let term = match self {
            Filter::Kind(kind) => format!("kind:{kind}"),
            Filter::Tag(tag) => format!("tag:{tag}"),
            Filter::Feature(feature) => format!("feature:{feature}"),
            Filter::Scope(scope) => format!("scope:{scope}"),
        };
        nfc(&term).into_owned()
    }
}

/// An entry in the form for the index.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The file, relative to `.ralph/`.
    pub path: &'a str,
    /// The frontmatter.
    pub head: &'a Head,
    /// The body as in the file.
    pub body: &'a str,
    /// The body without markup.
    pub text: &'a str,
}

impl Document<'_> {
    pub(super) fn to_tantivy(self, fields: &IndexFields, stems: &mut Stems) -> TantivyDocument {
        let Document { path, head, body, text } = self;
        let mut document = TantivyDocument::new();
        document.add_text(fields.path, path);
        let title = if repeats_the_body(&head.title, body) { "" } else { &head.title };
        let tags = head.tags.join("\n");
        // An old id is for links, and says what the old title says.
        let names = head.aliases.iter().filter(|alias| !alias.contains('/'));
        let questions = head.questions.iter().chain(names).map(String::as_str).collect::<Vec<_>>().join("\n");
        for (index, value) in [title, &tags, text, &questions].repeat(3).into_iter().enumerate() {
            let tokens = tokens::spaced(index / N_OF_STREAM, value, stems);
            if !tokens.is_empty() {
                document.add_text(fields.text[index.min(WHOLES)], tokens);
            }
        }
        let mut tag_terms: Vec<String> =
            head.tags.iter().map(|tag| tag_term(tag, stems)).filter(|term| !term.is_empty()).collect();
        tag_terms.sort_unstable();
        tag_terms.dedup();
        for term in tag_terms.into_iter().chain(file_terms(head.files.iter().map(String::as_str))) {
            document.add_text(fields.tag, term);
        }
        let mut filters = vec![Filter::Kind(head.kind), Filter::Scope(head.scope.to_string())];
        filters.extend(head.feature.iter().map(|feature| Filter::Feature(feature.clone())));
        // A tag is found by those above it, too: `ai/agents` by `ai`.
        let above = |tag: &String| tag.match_indices('/').map(|(at, _)| tag[..at].to_owned()).collect::<Vec<_>>();
        let mut tags: Vec<String> = head.tags.iter().flat_map(above).chain(head.tags.iter().cloned()).collect();
        tags.sort_unstable();
        tags.dedup();
        filters.extend(tags.into_iter().filter(|tag| !tag.is_empty()).map(Filter::Tag));
        for filter in filters {
            document.add_text(fields.filter, filter.term());
        }
        document
    }
}

/// Returns the terms of the files, the folders and the patterns that an entry names.
pub(super) fn file_terms<'a>(files: impl Iterator<Item = &'a str>) -> impl Iterator<Item = String> {
    let (files, patterns) = files_and_patterns(files);
    let files = files.into_iter().map(|file| format!("{FILE_MARK}{file}"));
    files.chain(patterns.into_iter().map(|pattern| format!("{PATTERN_MARK}{pattern}")))
}

fn tag_term(tag: &str, stems: &mut Stems) -> String {
    tokens::tag_words(tag, stems).join(&TAG_SEPARATOR.to_string())
}

/// Returns whether a title is only the body's beginning: cut off in the middle of a line, or whole if nothing follows.
///
/// Such a title adds nothing. Counted as a title, a cut one cost .13 nDCG@10 on notes without headings, because their
/// first words got triple weight, and a whole one .09 on facts of one line. A first line that is repeated whole, with
/// more below it, is a heading and counts.
fn repeats_the_body(title: &str, body: &str) -> bool {
    let title = title.trim_end().trim_end_matches('…').trim_end_matches("...").trim();
    // The marks that are left out of a title which is made from a text.
    let body = body.trim_start_matches(|character: char| character.is_whitespace() || "#-*>".contains(character));
    if title.is_empty() || body.is_empty() {
        return false;
    }
    if let Some(rest) = behind(title, body) {
        let rest = rest.trim_start_matches([' ', '\t']);
        return rest.trim().is_empty() || !rest.starts_with(['\n', '\r']);
    }
    // Without its full stop, or with another mark, it is still the whole text.
    let is_mark = |character: char| character.is_whitespace() || ".,:;!?".contains(character);
    behind(title.trim_end_matches(is_mark), body).is_some_and(|rest| rest.trim_end_matches(is_mark).is_empty())
}

/// Returns the text in `body` after the words of `title`, if it begins with them, whatever the case and the white
/// space.
fn behind<'a>(title: &str, body: &'a str) -> Option<&'a str> {
    let mut rest = body;
    for word in title.split_whitespace() {
        rest = rest.trim_start();
        for wanted in word.chars() {
            let mut left = rest.chars();
            if !left.next()?.to_lowercase().eq(wanted.to_lowercase()) {
                return None;
            }
            rest = left.as_str();
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_cut_from_the_body_are_distinguished_from_headings() {
        let check =
            |title: &str, body: &str, expected: bool| assert_eq!(repeats_the_body(title, body), expected, "{title:?}");
        check("Use the nightly tool", "Use the nightly toolchain for benches.\n", true);
        check("Use the nightly…", "\nUse the\nnightly toolchain.\n", true);
        check("Use the nightly toolchain", "Use the nightly toolchain\n\nMore.\n", false);
        check("Nightly benches. Always", "Nightly benches. Always", true);
        check("Use the nightly toolchain", "Use the nightly toolchain.\n", true);
        check("use the nightly toolchain!", "Use the nightly  toolchain", true);
        check("Use the nightly toolchain.", "- Use the nightly\ntoolchain. It is pinned.\n", true);
        check("Nightly", "# Nightly\n\nUse the toolchain.\n", false);
        check("Nightly.", "Nightly\n\nUse the toolchain.\n", false);
        check("Nightly", "", false);
        check("Nightly", "Use the nightly toolchain\n", false);
        check("", "Use\n", false);
    }

    #[test]
    fn a_tag_is_one_term_of_sorted_stems() {
        assert_eq!(tag_term("connection-pools", &mut Stems::default()), "connect\u{1f}pool");
    }
}
