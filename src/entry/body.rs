//! Bodies: their words without markup, their links, and cuts that keep markdown valid.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::Link;
use crate::text::lines::CodeFence;

/// The content of a body without its markup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// The text, code included, with a line break between blocks, and the target of a link or an image after its text.
    pub text: String,
    /// The `[[…]]` links, with lines counted from the body's first line; the first [`MAX_LINKS`] of them.
    pub links: Vec<Link>,
    /// The number of all links.
    pub n_links: usize,
}

/// The most brackets of a body that is read as markdown.
const MAX_BRACKETS: usize = 400_000;
/// The most links of a body that are followed. Each is kept in the head of its entry and looked up by every check. A
/// file of 1 MiB can have 170,000.
pub(crate) const MAX_LINKS: usize = 1_000;

pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS
}

/// Returns the blocks of a body: text between blank lines, and fences with the blank lines in them. Each is without the
/// blank lines around it.
pub fn blocks(body: &str) -> Vec<&str> {
    parts(body).into_iter().map(bare).filter(|block| !block.is_empty()).collect()
}

/// Returns a part without the blank lines around it.
pub(super) fn bare(part: &str) -> &str {
    part.trim_end().trim_start_matches(['\n', '\r'])
}

/// Returns the parts of a body: each is a block with the blank lines after it, and the first one also has those before
/// it. Together they are the body.
///
/// These are not quite the blocks of markdown: each item of a list with blank lines between its items is one part. So
/// two sides can change different items, or add one, without a conflict.
pub(super) fn parts(body: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    let (mut has_text, mut is_behind_blank) = (false, false);
    let mut fence: Option<CodeFence> = None;
    for line in body.split_inclusive('\n') {
        let bare = line.trim();
        if fence.is_none() && has_text && is_behind_blank && !bare.is_empty() {
            parts.push(&body[start..at]);
            (start, has_text) = (at, false);
        }
        fence = match fence {
            Some(open) => Some(open).filter(|open| !open.is_closed_by(bare)),
            None => CodeFence::opened_by(bare),
        };
        has_text |= !bare.is_empty();
        is_behind_blank = bare.is_empty();
        at += line.len();
    }
    if start < body.len() {
        parts.push(&body[start..]);
    }
    parts
}

/// Reads the body of an entry, whose first line is line `first_line` of the file.
pub fn digest(body: &str, first_line: u32) -> Digest {
    if is_bracketed(body) {
        return Digest { text: body.to_owned(), ..Digest::default() };
    }
    let mut digest = Digest { text: String::with_capacity(body.len()), ..Digest::default() };
    let mut open = Vec::new();
    for event in Parser::new_ext(body, options()) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                let says_its_target =
                    matches!(link_type, LinkType::Autolink | LinkType::Email | LinkType::WikiLink { .. });
                open.push((!says_its_target).then_some(dest_url));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(target) = open.pop().flatten() {
                    digest.text.push(' ');
                    digest.text.push_str(&target);
                    digest.text.push(' ');
                }
            }
            event => push_text(&mut digest.text, &event),
        }
    }
    // Computing offsets takes time, and most bodies have no link.
    if body.contains("[[") {
        let (mut offset, mut line) = (0, first_line);
        let targets = targets(body);
        digest.n_links = targets.len();
        // One that names only a heading leads to this body.
        let outward = targets.into_iter().filter(|(.., target)| !target.trim_start().starts_with('#'));
        for (start, _, target) in outward.take(MAX_LINKS) {
            let n_lines = body.get(offset..start).unwrap_or_default().matches('\n').count();
            (offset, line) = (start, line.saturating_add(u32::try_from(n_lines).unwrap_or(u32::MAX)));
            digest.links.push(Link { target: target.trim().to_owned(), line });
        }
    }
    digest
}

/// Returns the `[[…]]` links of a body: the place and the length of each target as it is written, and the target.
pub(super) fn targets(body: &str) -> Vec<(usize, usize, String)> {
    let links = Parser::new_ext(body, options()).into_offset_iter().filter_map(|(event, range)| {
        let Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) = event else {
            return None;
        };
        let start = range.start + body[range.clone()].find("[[")? + 2;
        let rest = &body[start..range.end];
        let end = rest.find(['|', ']']).unwrap_or(rest.len());
        // In a table, the bar before a label is escaped.
        let written = rest[..end].strip_suffix('\\').unwrap_or(&rest[..end]);
        Some((start, written.len(), dest_url.trim_end_matches('\\').to_owned()))
    });
    links.collect()
}

/// Returns the text of a body without its headings, or with them if there is nothing else.
pub(crate) fn prose(body: &str) -> String {
    if is_bracketed(body) {
        return body.to_owned();
    }
    let (mut prose, mut headings, mut is_heading) = (String::new(), String::new(), false);
    for event in Parser::new_ext(body, options()) {
        is_heading |= matches!(event, Event::Start(Tag::Heading { .. }));
        push_text(if is_heading { &mut headings } else { &mut prose }, &event);
        is_heading &= !matches!(event, Event::End(TagEnd::Heading(_)));
    }
    if prose.trim().is_empty() { headings } else { prose }
}

/// Returns the first paragraph or item of a body that is a sentence, on one line: no heading, no code, no table, no
/// comment, no image, nothing that a template left to fill in, and no line such as `Status: accepted` that only names a
/// value. If there is none, the body's first words.
pub(crate) fn leading_prose(body: &str) -> String {
    if is_bracketed(body) {
        return body.trim_start().lines().next().unwrap_or_default().to_owned();
    }
    let (mut block, mut first, mut depth) = (String::new(), String::new(), 0_usize);
    // A paragraph ends at its own end, the text of an item at the next block in it or at its end.
    for event in Parser::new_ext(body, options()) {
        let is_end = match event {
            Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock) => {
                depth += 1;
                true
            }
            Event::Start(Tag::Image { .. }) => {
                depth += 1;
                false
            }
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock | TagEnd::Image) => {
                depth = depth.saturating_sub(1);
                false
            }
            Event::Text(text) if depth == 0 => {
                block.push_str(&text);
                false
            }
            Event::Code(code) if depth == 0 => {
                block.push_str(&format!("`{code}`"));
                false
            }
            Event::SoftBreak if depth == 0 => {
                block.push(' ');
                false
            }
            Event::Start(Tag::List(_) | Tag::Paragraph | Tag::Item | Tag::BlockQuote(_))
            | Event::HardBreak
            | Event::End(TagEnd::Paragraph | TagEnd::Item) => true,
            _ => false,
        };
        if is_end && !block.trim().is_empty() {
            let said = std::mem::take(&mut block);
            let sentence = without_label(said.trim());
            if is_sentence(sentence) {
                return sentence.to_owned();
            }
            if first.is_empty() {
                said.trim().clone_into(&mut first);
            }
        }
    }
    let left = prose(body);
    let left = left.trim_start().lines().next().unwrap_or_default();
    if first.is_empty() { left.trim().to_owned() } else { first }
}

/// Returns a body with its description before it, unless it begins with it.
pub(crate) fn described(description: &str, body: &str) -> String {
    if leading_prose(body).starts_with(description) { body.to_owned() } else { format!("{description}\n\n{body}") }
}

/// What a note calls the sentence that says what it is about.
const LABELS: [&str; 7] = ["description", "summary", "purpose", "overview", "abstract", "tl;dr", "goal"];
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

/// Returns a sentence without a word such as `Description:` before it.
fn without_label(text: &str) -> &str {
    let label = text.split_once(':').filter(|(name, _)| LABELS.iter().any(|label| name.eq_ignore_ascii_case(label)));
    label.map_or(text, |(_, rest)| rest.trim_start())
}

/// Returns whether a paragraph is a sentence, and not only a value behind its name, a date, a mark such as `[!note]`, or
/// what a template says.
fn is_sentence(text: &str) -> bool {
    /// The most words of a value or of its name.
    const MAX_VALUE: usize = 3;
    let n_words = |text: &str| text.split_whitespace().count();
    let is_value = text
        .split_once(':')
        .is_some_and(|(name, value)| n_words(name) <= MAX_VALUE && n_words(value) <= MAX_VALUE && !text.ends_with('.'));
    let is_introduction = text.ends_with(':') && n_words(text) <= MAX_VALUE;
    let is_wide = |letter: char| letter as u32 >= 0x0e00 && letter.is_alphabetic();
    let is_placeholder = [('[', ']'), ('{', '}'), ('<', '>')].iter().any(|(open, close)| {
        text.trim_end_matches('.').strip_prefix(*open).and_then(|rest| rest.strip_suffix(*close)).is_some()
    });
    let lower = text.to_lowercase().replace('’', "'");
    let is_instruction = INSTRUCTIONS.iter().any(|start| lower.starts_with(start));
    let is_of_template = is_placeholder || is_instruction;
    let has_words = n_words(text) > 1 || text.chars().filter(|letter| is_wide(*letter)).count() > MAX_VALUE;
    has_words
        && !is_value
        && !is_introduction
        && !is_of_template
        && !text.starts_with("[!")
        && text.contains(char::is_alphabetic)
}

/// Returns whether a body has too many brackets for a text with links: the parser holds a hundred bytes for each until
/// it knows that it is not a link.
pub(super) fn is_bracketed(body: &str) -> bool {
    body.len() > MAX_BRACKETS && body.bytes().filter(|byte| *byte == b'[').count() > MAX_BRACKETS
}

fn push_text(text: &mut String, event: &Event<'_>) {
    match event {
        Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => text.push_str(part),
        Event::End(TagEnd::TableCell) => text.push(' '),
        Event::SoftBreak
        | Event::HardBreak
        | Event::Rule
        | Event::End(
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::Item
            | TagEnd::CodeBlock
            | TagEnd::TableRow
            | TagEnd::TableHead,
        ) => text.push('\n'),
        _ => {}
    }
}

/// Ends a body of which only the first part is shown.
pub(crate) const TRUNCATED: &str = "[truncated]";

/// Returns the longest beginning of `body` that `fits`, followed by [`TRUNCATED`] on a line of its own; the whole body,
/// without its outer blank lines, if that fits; or `None` if not even one word does.
///
/// The cut is at the end of a block. If the first block alone is too long, the cut is at the end of a line, else of a
/// word, and an open code fence is closed. `fits` gets the whole result. It must accept every beginning of a text that
/// it accepts.
pub(crate) fn cut(body: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let body = body.trim_matches(['\n', '\r']).trim_end();
    if fits(body) {
        return Some(body.to_owned());
    }
    let with_mark = |part: &str, close: Option<&str>| {
        let close = close.map(|fence| format!("\n{fence}")).unwrap_or_default();
        format!("{}{close}\n\n{TRUNCATED}", part.trim_end())
    };
    let blocks = block_ends(body);
    // `fits` is monotonic, so bisection finds the last end that fits.
    let last_that_fits = |ends: &[usize], close: Option<&str>| {
        let n_fitting = ends.partition_point(|end| fits(&with_mark(&body[..*end], close)));
        n_fitting.checked_sub(1).map(|last| with_mark(&body[..ends[last]], close))
    };
    if let Some(whole_blocks) = last_that_fits(&blocks, None) {
        return Some(whole_blocks);
    }
    let first = &body[..blocks.first().copied().unwrap_or(body.len())];
    let fence = first.lines().next().and_then(CodeFence::opened_by);
    let closing = fence.map(|fence| fence.mark.to_string().repeat(fence.length));
    let head = if fence.is_some() { first.find('\n').map_or(first.len(), |at| at + 1) } else { 0 };
    let line_ends: Vec<usize> = first.match_indices('\n').map(|(at, _)| at).filter(|at| *at > head).collect();
    if let Some(lines) = last_that_fits(&line_ends, closing.as_deref()) {
        return Some(lines);
    }
    let word_ends: Vec<usize> = first
        .char_indices()
        .zip(first.chars().skip(1))
        .filter(|((at, character), next)| *at >= head && !character.is_whitespace() && next.is_whitespace())
        .map(|((at, character), _)| at + character.len_utf8())
        .collect();
    last_that_fits(&word_ends, closing.as_deref())
}

/// Returns where the top-level blocks of a body end.
fn block_ends(body: &str) -> Vec<usize> {
    if is_bracketed(body) {
        return Vec::new();
    }
    let mut depth = 0usize;
    let mut ends = Vec::new();
    for (event, range) in Parser::new_ext(body, options()).into_offset_iter() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => {
                depth -= 1;
                if depth == 0 {
                    ends.push(range.end);
                }
            }
            Event::Rule | Event::Html(_) if depth == 0 => ends.push(range.end),
            _ => {}
        }
    }
    ends.dedup();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_brackets_is_plain_text() {
        let body = format!("# Title\n\n{} [[link]]\n", "[".repeat(MAX_BRACKETS));
        let digest = digest(&body, 1);
        assert_eq!((digest.text.as_str(), digest.links.len(), block_ends(&body).len()), (body.as_str(), 0, 0));
        let digest = super::digest(&body[..200], 1);
        assert_ne!(digest.text, body[..200]);
    }

    #[test]
    fn markup_is_left_out_and_code_kept() {
        let text = |body: &str| digest(body, 1).text;
        assert_eq!(text("# A *b*\n\nc `d_e`\nf\n"), "A b\nc d_e\nf\n");
        assert_eq!(text("- a\n- [b](http://c) d <http://e>\n"), "a\nb http://c  d http://e\n");
        assert_eq!(text("```rust\nlet x = 1;\n```\n"), "let x = 1;\n\n");
        assert_eq!(text("| a | b |\n|---|---|\n| c | d |\n"), "a b \nc d \n");
        assert_eq!(text("Vec<u8> <b>x</b>\n"), "Vec<u8> <b>x</b>\n");
    }

    #[test]
    fn links_are_found_outside_code_with_their_lines() {
        let links: Vec<_> = digest("a [[knowledge/x]]\n`[[no]]`\n\n```\n[[no]]\n```\n[[A title]]\n", 5).links;
        let link = |target: &str, line| Link { target: target.to_owned(), line };
        assert_eq!(links, [link("knowledge/x", 5), link("A title", 11)]);
    }

    #[track_caller]
    fn check_cut(body: &str, limit: usize, expected: Option<&str>) {
        let cut = cut(body, &|text| text.len() <= limit);
        assert_eq!(cut.as_deref(), expected);
        assert!(cut.is_none_or(|cut| cut.len() <= limit));
    }

    #[test]
    fn cuts_leave_blocks_whole() {
        let body = "\nfirst one\n\nsecond one\n\n```sh\nls\ncat x\n```\n\nlast\n";
        check_cut(body, 100, Some("first one\n\nsecond one\n\n```sh\nls\ncat x\n```\n\nlast"));
        check_cut(body, 46, Some("first one\n\nsecond one\n\n[truncated]"));
        check_cut(body, 22, Some("first one\n\n[truncated]"));
        check_cut(body, 21, Some("first\n\n[truncated]"));
        check_cut(body, 17, None);
    }

    #[test]
    fn a_fence_open_at_the_cut_is_closed() {
        let body = "````sh\none\ntwo\nthree four five six seven\n````\n";
        check_cut(body, 32, Some("````sh\none\ntwo\n````\n\n[truncated]"));
        check_cut(body, 31, Some("````sh\none\n````\n\n[truncated]"));
        check_cut(body, 27, None);
    }

    #[test]
    fn cuts_are_at_character_ends() {
        check_cut("äöü äöü äöü", 19, Some("äöü\n\n[truncated]"));
    }

    #[test]
    fn a_fence_is_one_block() {
        assert_eq!(blocks("# A\n\none\ntwo\n\n```\nx\n\ny\n```\n"), ["# A", "one\ntwo", "```\nx\n\ny\n```"]);
    }

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
            "- [ ] ",
            "---",
        ] {
            check(before);
        }
        let check = |body: &str, expected: &str| assert_eq!(leading_prose(body), expected, "{body}");
        check("Description: The broker wants TLS.\n", "The broker wants TLS.");
        check("**Purpose:** Keep the broker up all night.\n", "Keep the broker up all night.");
        check("- **TL;DR**: it wants TLS\n", "it wants TLS");
        check("Description: [what it does]\n\nIt wants TLS.\n", "It wants TLS.");
        check("# Only\n", "Only");
    }
}
