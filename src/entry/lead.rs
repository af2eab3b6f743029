//! The sentence of a body that a colleague would say.
//!
//! Notes begin with much else: their dates and states, pictures, what they are for, and what their template says. All of that
//! is left out where anything else is said.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::body::{is_bracketed, options, prose};
use super::markup::without_markup;
use super::outline::headings;

/// What a note calls the sentence that says what it is about.
const LABELS: [&str; 7] = ["description", "summary", "purpose", "overview", "abstract", "tl;dr", "goal"];
/// The names of values that say something about the note and not about its matter.
const NAMES: [&str; 30] = [
    "status",
    "state",
    "stand",
    "date",
    "datum",
    "fecha",
    "data",
    "author",
    "authors",
    "autor",
    "autoren",
    "owner",
    "version",
    "created",
    "updated",
    "modified",
    "started",
    "ended",
    "last updated",
    "last modified",
    "priority",
    "priorität",
    "session",
    "deciders",
    "tags",
    "type",
    "reviewers",
    "estado",
    "deadline",
    "due",
];
/// The first words of what templates of notes and of decision records tell their reader to write.
const INSTRUCTIONS: [&str; 10] = [
    "what is the issue that we're seeing",
    "what is the change that we're proposing",
    "what becomes easier or more difficult",
    "describe the",
    "describe your",
    "replace this",
    "fill in",
    "insert your",
    "add your",
    "this section describes",
];
/// The last words of a sentence that only announces what comes after it.
const ANNOUNCING: [&str; 4] = [" because", " which", " following", " that"];
/// The most words of a value or of its name.
const MAX_VALUE: usize = 3;
/// The most words of a state or a date with its remarks.
const MAX_STATE: usize = 8;
/// The most words of a text such as `None at this time.`
const MAX_NONE: usize = 4;
/// How many paragraphs and items are looked at.
const MAX_BLOCKS: usize = 60;

/// A paragraph or the text of an item.
#[derive(Debug, Default)]
struct TextBlock {
    text: String,
    /// The places in it at which a line ends.
    line_ends: Vec<usize>,
    /// How much of it is not in italics, and not the text of a link, in letters.
    n_upright: usize,
    n_unlinked: usize,
    /// It without code, in which brackets are no placeholders.
    plain: String,
    is_quote: bool,
    /// Whether it comes directly after the block before it, with no heading, code, table or comment between them.
    is_next: bool,
}

/// Returns the first paragraph or item of a body that is a sentence, on one line: no heading, no code, no table, no
/// comment, no image, no links alone, no mark of a box, nothing that a template left to fill in, and no lines such as `Status: accepted` that
/// only name values. A quotation, a text all in italics or one that is cut is taken only if there is nothing else. If there is no
/// sentence at all, returns the first paragraph or item; without one, the headings of what is left, such as diagrams; without
/// those, the body's first line.
pub(crate) fn leading_prose(body: &str) -> String {
    if is_bracketed(body) {
        return body.trim_start().lines().next().unwrap_or_default().to_owned();
    }
    let body = &without_markup(body);
    let blocks = blocks(body);
    let mut second_choice = None;
    for (at, block) in blocks.iter().enumerate() {
        let sentence = without_label(block.text.trim());
        if !is_sentence(sentence) || block.names_values() || block.n_unlinked == 0 || is_of_template(&block.plain) {
            continue;
        }
        let said = announced(sentence, blocks.get(at + 1));
        let is_cut = sentence.ends_with(['…']) || sentence.ends_with("...");
        if !block.is_quote && block.n_upright > 0 && !is_cut {
            return said;
        }
        second_choice = second_choice.or(Some(said));
    }
    let first = || blocks.first().map(|block| block.text.trim().to_owned());
    let titles = || {
        let titles: Vec<String> = headings(body).into_iter().map(|heading| heading.title).collect();
        Some(titles.join(", ")).filter(|titles| !titles.is_empty())
    };
    let left = || prose(body).trim_start().lines().next().unwrap_or_default().trim().to_owned();
    second_choice.or_else(first).or_else(titles).unwrap_or_else(left)
}

/// Returns a body with its description before it, unless it begins with it, or the description is cut.
pub(crate) fn described(description: &str, body: &str) -> String {
    let is_cut = description.ends_with(['…']) || description.ends_with("...");
    let is_said = is_cut || leading_prose(body).starts_with(description);
    if is_said { body.to_owned() } else { format!("{description}\n\n{body}") }
}

/// Returns the first paragraphs and items of a body that have text.
fn blocks(body: &str) -> Vec<TextBlock> {
    let (mut blocks, mut block) = (Vec::new(), TextBlock::default());
    let (mut hidden, mut marks) = (0_usize, OpenMarks::default());
    let mut is_next = true;
    // A paragraph ends at its own end, the text of an item at the next block in it or at its end.
    for event in Parser::new_ext(body, options()) {
        let is_end = match &event {
            Event::Start(
                Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock | Tag::Image { .. },
            ) => {
                hidden += 1;
                is_next &= matches!(event, Event::Start(Tag::Image { .. }));
                !matches!(event, Event::Start(Tag::Image { .. }))
            }
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock | TagEnd::Image) => {
                hidden = hidden.saturating_sub(1);
                false
            }
            Event::Text(text) | Event::Code(text) if hidden == 0 => {
                let mark = if matches!(event, Event::Code(_)) { "`" } else { "" };
                let n_letters = text.chars().filter(|letter| letter.is_alphanumeric()).count();
                block.text.push_str(&format!("{mark}{text}{mark}"));
                block.plain.push_str(if mark.is_empty() { text } else { "" });
                block.n_upright += if marks.italics == 0 { n_letters } else { 0 };
                block.n_unlinked += if marks.links == 0 { n_letters } else { 0 };
                false
            }
            Event::SoftBreak | Event::HardBreak if hidden == 0 => {
                block.line_ends.push(block.text.len());
                block.text.push(' ');
                false
            }
            Event::Start(Tag::List(_) | Tag::Paragraph | Tag::Item | Tag::BlockQuote(_))
            | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::BlockQuote(_)) => true,
            _ => false,
        };
        if is_end {
            (block.is_quote, block.is_next) = (marks.quotes > 0, is_next || blocks.is_empty());
            if block.text.trim().is_empty() {
                block = TextBlock::default();
            } else {
                blocks.push(std::mem::take(&mut block));
                is_next = !matches!(
                    event,
                    Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock)
                );
            }
        }
        marks.note(&event);
        if blocks.len() >= MAX_BLOCKS {
            break;
        }
    }
    blocks
}

/// How many marks are open around a text.
#[derive(Default)]
struct OpenMarks {
    quotes: usize,
    italics: usize,
    links: usize,
}

impl OpenMarks {
    fn note(&mut self, event: &Event<'_>) {
        let depth = match event {
            Event::Start(Tag::BlockQuote(_)) | Event::End(TagEnd::BlockQuote(_)) => &mut self.quotes,
            Event::Start(Tag::Emphasis) | Event::End(TagEnd::Emphasis) => &mut self.italics,
            Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link) => &mut self.links,
            _ => return,
        };
        *depth = if matches!(event, Event::Start(_)) { *depth + 1 } else { depth.saturating_sub(1) };
    }
}

impl TextBlock {
    /// Returns whether each of several lines is a value behind its name.
    fn names_values(&self) -> bool {
        let mut start = 0;
        let ends = self.line_ends.iter().copied().chain([self.text.len()]);
        let lines: Vec<&str> = ends.map(|end| self.text[std::mem::replace(&mut start, end)..end].trim()).collect();
        let is_named = |line: &&str| line.split_once(':').is_some_and(|(name, _)| n_words(name) <= MAX_VALUE);
        lines.len() > 1 && lines.iter().filter(|line| !line.is_empty()).all(is_named)
    }
}

/// Returns a sentence, with what comes after it if it only announces that.
fn announced(sentence: &str, next: Option<&TextBlock>) -> String {
    let begins =
        |rest: &str| rest.chars().next().is_some_and(|letter| letter.is_uppercase() || !letter.is_alphabetic());
    let has_other = sentence.match_indices(". ").any(|(at, end)| begins(&sentence[at + end.len()..]));
    let is_whole = |next: &&TextBlock| next.is_next && is_sentence(next.text.trim());
    match next.filter(|next| announces(sentence) && !has_other && is_whole(next)) {
        Some(next) => format!("{sentence} {}", next.text.trim()),
        None => sentence.to_owned(),
    }
}

/// Returns whether a sentence only announces what comes after it.
fn announces(sentence: &str) -> bool {
    let bare = sentence.trim_end_matches([',', ':', ' ']);
    sentence.ends_with(':') || !sentence.ends_with('.') && ANNOUNCING.iter().any(|end| bare.ends_with(end))
}

/// Returns a sentence without a word such as `Description:` before it.
fn without_label(text: &str) -> &str {
    let label = text.split_once(':').filter(|(name, _)| LABELS.iter().any(|label| name.eq_ignore_ascii_case(label)));
    label.map_or(text, |(_, rest)| rest.trim_start())
}

/// Returns whether a paragraph is a sentence, and not only a value behind its name, a date, or what a template says.
fn is_sentence(text: &str) -> bool {
    let is_value = text.split_once(':').is_some_and(|(name, value)| {
        let is_short = n_words(name) <= MAX_VALUE && n_words(value) <= MAX_VALUE && !text.ends_with('.');
        let is_named = NAMES.contains(&name.trim().to_lowercase().as_str());
        is_short && !announces(text) || is_named && n_words(value) <= MAX_STATE && !text.ends_with('.')
    });
    let is_introduction = text.ends_with(':') && n_words(text) <= MAX_VALUE;
    let is_wide = |letter: char| letter as u32 >= 0x0e00 && letter.is_alphabetic();
    let lower = text.to_lowercase().replace('’', "'");
    let is_instruction = INSTRUCTIONS.iter().any(|start| lower.starts_with(start));
    let is_none =
        n_words(text) <= MAX_NONE && lower.split(|letter: char| !letter.is_alphabetic()).next() == Some("none");
    let has_words = n_words(text) > 1 || text.chars().filter(|letter| is_wide(*letter)).count() > MAX_VALUE;
    has_words
        && !is_value
        && !is_introduction
        && !is_instruction
        && !is_none
        && !is_in_brackets(text)
        && text.contains(char::is_alphabetic)
}

/// Returns whether all of a text is in brackets.
fn is_in_brackets(text: &str) -> bool {
    [('[', ']'), ('{', '}'), ('<', '>')].iter().any(|(open, close)| {
        text.trim_end_matches('.').strip_prefix(*open).and_then(|rest| rest.strip_suffix(*close)).is_some()
    })
}

/// Returns whether somebody should have filled a text in: it has words in capitals, alternatives or the form of a date in
/// brackets.
fn is_of_template(text: &str) -> bool {
    let is_open = |inside: &str| {
        let n_loud = inside.chars().filter(|letter| letter.is_uppercase()).count();
        let is_loud = n_loud > 3 && !inside.contains(char::is_lowercase) && inside.contains([' ', '_', '-', '/']);
        is_loud || inside.contains(" | ") || inside.contains("YYYY")
    };
    let between = |open: char, close: char| {
        text.split(open).skip(1).filter_map(move |rest| rest.split_once(close)).map(|(inside, _)| inside)
    };
    between('[', ']').chain(between('{', '}')).any(is_open)
}

fn n_words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_of_prose_is_what_a_colleague_would_say() {
        let check = |before: &str| {
            let body = format!("{before}\n\nThe broker wants TLS. More.\n");
            assert_eq!(leading_prose(&body), "The broker wants TLS. More.", "{before}");
        };
        for before in [
            "# Broker",
            "**Status:** Accepted",
            "Status: accepted on 2026-01-02",
            "1. 2026-01-02",
            "1.",
            "```bash\nrun it now\n```",
            "<!-- say what it is -->",
            "<!--\nsay what\n\nit is\n-->",
            "| Key | Value |\n|---|---|\n| Author of it | Somebody else |",
            "![The plan of it](plan.png)",
            "[![build is passing](https://ci/x.svg)](https://ci) ![license of it](l.svg)",
            "[Describe the broker in a sentence]",
            "_{Describe it, e.g. in two to three sentences.}_",
            "<what it is about>",
            "What is the issue that we’re seeing that is motivating this decision or change?",
            "Describe the context and problem statement here.",
            "> [!note]",
            "**Started**: 2026-01-02\n**Focus**: the broker of the shop\n**Status**: in progress",
            "**Started**: 2026-01-02  \n**Focus**: the broker of the shop  \n**Status**: in progress",
            "*Created: 2026-01-02 13:21*\n*Last Updated: 2026-01-03*",
            "Status: PLANNED (2026-01-02), not implemented",
            "Autor: Somebody of the team",
            "[HIGH-LEVEL DESCRIPTION OF THE PROJECT]: what it is",
            "Priority of it: [High | Medium | Low]",
            "Session of [YYYY-MM-DD], the morning",
            "_This document describes the broker._",
            "> You are an expert in brokers.",
            "- [One of the notes](one.md)\n- [Another of the notes](two.md)",
            "Repo-local context for five changed paths of the…",
            "- None currently identified.",
            "- [ ] ",
            "---",
            "#tag1 #tag2/sub",
            "%% a comment of obsidian %%",
            "%%\na comment\n\nof obsidian\n%%",
            "import X from \"./y\"",
            "import Tabs from '@theme/Tabs';\nimport TabItem from '@theme/TabItem';",
        ] {
            check(before);
        }
        let check = |body: &str, expected: &str| assert_eq!(leading_prose(body), expected, "{body}");
        check("Description: The broker wants TLS.\n", "The broker wants TLS.");
        check("**Purpose:** Keep the broker up all night.\n", "Keep the broker up all night.");
        check("- **TL;DR**: it wants TLS\n", "it wants TLS");
        check("Description: [what it does]\n\nIt wants TLS.\n", "It wants TLS.");
        check("# Only\n", "Only");
        check("### Plan\n\n```mermaid\nflowchart TD\n```\n\n### Act\n\n```mermaid\nflowchart LR\n```\n", "Plan, Act");
        check("```bash\nmake\n```\n", "make");
    }

    #[test]
    fn the_marks_of_a_box_are_no_text() {
        let check = |body: &str| assert_eq!(leading_prose(body), "Never restart it. More.", "{body}");
        check("> [!WARNING]\n> Never restart it. More.\n");
        check("> [!note]- Careful\n> Never restart it. More.\n>\n> Else.\n");
        check("!!! warning \"Careful\"\n    Never restart it. More.\n\n    Else.\n");
        check("??? note\n\n    Never restart it. More.\n");
        check(":::note\nNever restart it. More.\n:::\n");
        check(":::warning[Careful]\n\nNever restart it. More.\n\n:::\n");
        check("{% hint style=\"info\" %}\nNever restart it. More.\n{% endhint %}\n");
        check("{% hint style=\"info\" %} Never restart it. More. {% endhint %}\n");
        check("Never restart it. %% or so %%More.\n");
        check("```python\nimport x from \"y\"\n```\n\nNever restart it. More.\n");
        let check = |body: &str, expected: &str| assert_eq!(leading_prose(body), expected, "{body}");
        check("> [!tip] Restart it never\n", "Restart it never");
        check("Use it!!! warning or not, 50 %% of it.\n", "Use it!!! warning or not, 50 %% of it.");
        check("import the data from the dump first.\n", "import the data from the dump first.");
    }

    #[test]
    fn a_sentence_that_announces_something_says_what() {
        let check = |body: &str, expected: &str| assert_eq!(leading_prose(body), expected, "{body}");
        check(
            "We use three tiers of tests:\n\n1. Unit tests run first.\n2. More.\n",
            "We use three tiers of tests: Unit tests run first.",
        );
        check(
            "Chosen option: \"Playwright\", because\n\n- it runs in CI\n",
            "Chosen option: \"Playwright\", because it runs in CI",
        );
        check("It is slow. These help:\n\n- caches of it\n", "It is slow. These help:");
        check(
            "Use a cache, e.g. one of these:\n\n- Redis for sessions\n",
            "Use a cache, e.g. one of these: Redis for sessions",
        );
        // What is not its continuation is not put behind it.
        check("Run this command first:\n\n```\nmake\n```\n\nIt takes a minute.\n", "Run this command first:");
        check("These are the next steps:\n\n## Other\n\nIt takes a minute.\n", "These are the next steps:");
    }

    #[test]
    fn what_is_all_there_is_is_said() {
        let check = |body: &str, expected: &str| assert_eq!(leading_prose(body), expected, "{body}");
        check("> Keep calm and ping.\n", "Keep calm and ping.");
        check("*All of it is in italics.*\n", "All of it is in italics.");
        check("Status: accepted\n", "Status: accepted");
        check("Note: the server closes idle connections.\n", "Note: the server closes idle connections.");
        check("State: we keep it in Redux, never in components.\n", "State: we keep it in Redux, never in components.");
        check("Set `env[DATABASE_URL]` before the start.\n", "Set `env[DATABASE_URL]` before the start.");
        check("設定は[本番 環境]を見る。\n", "設定は[本番 環境]を見る。");
    }

    #[test]
    fn a_description_that_is_cut_is_not_put_before_a_body() {
        assert_eq!(described("It wants TLS.", "More of it.\n"), "It wants TLS.\n\nMore of it.\n");
        assert_eq!(described("It wants TLS and …", "It wants TLS and a key.\n"), "It wants TLS and a key.\n");
    }
}
