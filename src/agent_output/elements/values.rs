//! The meaning of an element: a value made from its attributes and content, or why it is refused.

use super::tokens::Element;
use super::{ElementKind, FailureReport, Noted, Sigil, TaskEnd};
use crate::entry::Difficulty;
use crate::entry::knowledge::MAX_QUESTIONS;
use crate::settings;
use crate::text::lines::each_once;
use crate::text::{one_line, title_of};

/// The placeholder for a difficulty in the instructions.
const DIFFICULTY_PLACEHOLDER: &str = "trivial, easy, moderate, hard or blocked";
/// The longest name of a task in an element, in characters: longer text is prose.
const MAX_NAME: usize = 300;
/// How many words the name of an unknown field of a failure report may have: more are a sentence.
const MAX_LABEL: usize = 3;
/// The keys of a failure report.
const KEYS: [&str; 6] =
    ["what_tried", "why_failed", "error_category", "relevant_files", "stack_trace", "retry_suggestion"];

/// Why an element is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Skip {
    /// It is an example in the instructions, repeated.
    Example,
    /// It is prose that names an element.
    Prose,
    /// It is invalid, for this reason.
    Refused(String),
}

/// Reads an element.
pub(super) fn value(element: &Element<'_>) -> Result<Sigil, Skip> {
    let refused = |reason: &str| Err(Skip::Refused(reason.to_owned()));
    let Some(content) = element.content else {
        return if element.is_first {
            refused(&format!("has no </{}> after it", element.of.name))
        } else {
            Err(Skip::Prose)
        };
    };
    if let ElementKind::Fact { is_learning } = element.of.kind {
        return fact(element, content, is_learning);
    }
    if content.is_empty() {
        return refused("is empty");
    }
    if is_placeholder(content) {
        return Err(Skip::Example);
    }
    match element.of.kind {
        ElementKind::TaskEnd(outcome) => {
            let named = task(content)?;
            Ok(Sigil::End(TaskEnd { line: element.line, outcome, named }))
        }
        ElementKind::NextModel => match word(content) {
            model if settings::is_model(model) => Ok(Sigil::NextModel(model.to_owned())),
            _ => refused("does not name a model in one word"),
        },
        ElementKind::Difficulty if content == DIFFICULTY_PLACEHOLDER => Err(Skip::Example),
        ElementKind::Difficulty => match Difficulty::parse(&word(content).to_lowercase()) {
            Some(difficulty) => Ok(Sigil::Difficulty(difficulty)),
            None => refused("is not one of trivial, easy, moderate, hard and blocked"),
        },
        ElementKind::Section(_) => Ok(Sigil::Section(element.of.name, content.to_owned())),
        ElementKind::Notes => Ok(Sigil::Journal(content.to_owned())),
        ElementKind::FailureReport => failure_report(content).map(Sigil::FailureReport),
        ElementKind::Fact { .. } | ElementKind::Suggestions => refused("is not read"),
    }
}

/// Reads a fact. One without its attributes is refused before its content is read.
fn fact(element: &Element<'_>, content: &str, is_learning: bool) -> Result<Sigil, Skip> {
    let refused = |reason: &str| Err(Skip::Refused(reason.to_owned()));
    let attribute = |name: &str| {
        let of_name = element.attributes.iter().find(|(key, _)| key == name);
        of_name.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    let tags = attribute("tags").map(tags).unwrap_or_default();
    let questions = attribute("questions").map(questions).unwrap_or_default();
    let title = attribute("title").map(one_line);
    let category = attribute("category").map(str::to_lowercase);
    let is_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    match &category {
        _ if questions.len() > MAX_QUESTIONS => return refused("with more than ten questions"),
        _ if is_placeholder(content) => return Err(Skip::Example),
        _ if tags.is_empty() => return refused("without tags"),
        _ if !is_learning && title.is_none() => return refused("without a title"),
        None if is_learning => return refused("without a category"),
        _ if content.is_empty() => return refused("is empty"),
        Some(category) if is_learning && !category.chars().all(is_word) => {
            return refused("has a category that is not one word");
        }
        _ => {}
    }
    let title = if is_learning { title_of(content) } else { title.unwrap_or_default() };
    let (line, name, body) = (element.line, element.of.name, content.to_owned());
    Ok(Sigil::Knowledge(Noted { line, name, title, tags, category: category.filter(|_| is_learning), questions, body }))
}

/// Returns whether a text is a placeholder like those in the instructions.
pub(super) fn is_placeholder(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| matches!(character, '…' | '.' | ' ' | '\n' | '\r' | '\t'))
}

/// Returns content without the backticks or quotes that agents put around words.
fn word(content: &str) -> &str {
    content.trim_matches(['`', '"', '\'', '*']).trim()
}

/// Reads the name of a task: its id or its title.
fn task(content: &str) -> Result<String, Skip> {
    let name = one_line(word(content));
    if name.is_empty() || name.chars().count() > MAX_NAME {
        return Err(Skip::Refused("does not contain the id of a task".to_owned()));
    }
    Ok(name)
}

fn tags(text: &str) -> Vec<String> {
    each_once(text.split(','), |tag| tag.trim().trim_matches(['`', '"', '\'', '[', ']', '#']).trim().to_lowercase())
}

/// Returns the questions in an attribute: each ends at a question mark, at the end of a line or at a semicolon.
fn questions(text: &str) -> Vec<String> {
    let all = text.split_inclusive(['?', '？']).flat_map(|question| question.split(['\n', ';', '|']));
    all.map(one_line).filter(|question| question.contains(char::is_alphanumeric)).collect()
}

/// Reads the lines of a failure report. What follows a field belongs to it, up to the next line with the form of a field.
fn failure_report(content: &str) -> Result<FailureReport, Skip> {
    let mut values: Vec<(&str, String)> = Vec::new();
    let mut other: Vec<&str> = Vec::new();
    let mut is_known = false;
    for line in content.lines() {
        let inside_trace = values.last().is_some_and(|(key, _)| is_known && *key == "stack_trace");
        match field(line) {
            Some((Some(key), value)) => {
                is_known = true;
                values.push((key, value.to_owned()));
            }
            // A trace has lines of this form, too: only the keys of a report end it.
            Some((None, _)) if !inside_trace => {
                is_known = false;
                other.push(line);
            }
            _ => match values.last_mut().filter(|_| is_known) {
                Some((_, value)) => {
                    value.push('\n');
                    value.push_str(line);
                }
                None => other.push(line),
            },
        }
    }
    let given = |name: &str| {
        let of_name = values.iter().filter(|(key, _)| *key == name).map(|(_, value)| value.trim());
        of_name.into_iter().find(|value| !value.is_empty() && !is_placeholder(value))
    };
    let other = other.join("\n").trim().to_owned();
    if !values.is_empty() && other.is_empty() && KEYS.iter().all(|key| given(key).is_none()) {
        return Err(Skip::Example);
    }
    let (tried, why) = (given("what_tried"), given("why_failed"));
    let has_neither = tried.is_none() && why.is_none();
    let category = given("error_category").map(category).filter(|category| !category.is_empty());
    Ok(FailureReport {
        tried: tried.unwrap_or_default().to_owned(),
        why: if has_neither { other.clone() } else { why.unwrap_or_default().to_owned() },
        category: category.unwrap_or_else(|| "unknown".to_owned()),
        files: given("relevant_files").map(files).unwrap_or_default(),
        stack_trace: given("stack_trace").map(str::to_owned),
        retry_suggestion: given("retry_suggestion").map(str::to_owned),
        other: if has_neither { String::new() } else { other },
    })
}

/// Returns the value of a line with the form of a field, and its key if that is one of a report.
fn field(line: &str) -> Option<(Option<&'static str>, &str)> {
    let (name, value) = line.split_once(':')?;
    // In `http://…` and `std::fs` the colon ends no key.
    if value.starts_with([':', '/']) {
        return None;
    }
    let bare = name.trim().trim_start_matches(['-', '*', ' ']).trim_end_matches('*').trim_end();
    let folded = bare.to_ascii_lowercase().replace([' ', '-'], "_");
    if let Some(key) = KEYS.into_iter().find(|key| *key == folded) {
        return Some((Some(key), value.trim_start_matches('*')));
    }
    // Other words are one only if there are few of them at the start of the line.
    let is_word = |word: &str| word.chars().all(|next| next.is_alphanumeric() || matches!(next, '_' | '-'));
    let is_label = name.starts_with(char::is_alphabetic)
        && name.split(' ').count() <= MAX_LABEL
        && name.split(' ').all(is_word)
        && (value.is_empty() || value.starts_with(char::is_whitespace));
    is_label.then_some((None, value))
}

fn category(text: &str) -> String {
    let word = word(text).lines().next().unwrap_or_default().to_lowercase();
    let folded: String =
        word.chars().map(|character| if character.is_alphanumeric() { character } else { '_' }).collect();
    folded.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

fn files(text: &str) -> Vec<String> {
    let is_mark = ['`', '"', '\'', '[', ']'];
    each_once(text.split([',', '\n']), |file| {
        file.trim().trim_start_matches(['-', '*', ' ']).trim_matches(is_mark).trim().to_owned()
    })
}
