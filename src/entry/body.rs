//! Bodies: their words without markup, their links, and cuts that keep markdown valid.

use std::ops::Range;

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

pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS
}

/// Returns the blocks of a body: text between blank lines, and fences with the blank lines in them. Each is without the
/// blank lines around it.
pub fn blocks(body: &str) -> Vec<&str> {
    parts(body).into_iter().map(bare).filter(|block| !block.is_empty()).collect()
}

fn bare(part: &str) -> &str {
    part.trim_end().trim_start_matches(['\n', '\r'])
}

/// Returns the parts of a body: each is a block with the blank lines after it, and the first one also has those before
/// it. Together they are the body.
///
/// These are not quite the blocks of markdown: each item of a list with blank lines between its items is one part.
fn parts(body: &str) -> Vec<&str> {
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
pub(crate) fn targets(body: &str) -> Vec<(usize, usize, String)> {
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

/// Returns the text of a body without markup, also that of HTML; code keeps its backticks.
pub(crate) fn unmarked(body: &str) -> String {
    if is_bracketed(body) {
        return body.to_owned();
    }
    let mut text = String::with_capacity(body.len());
    for event in Parser::new_ext(body, options()) {
        match &event {
            Event::Code(code) => text.extend(["`", code, "`"]),
            Event::Html(tag) | Event::InlineHtml(tag) if is_markup(tag) => {}
            event => push_text(&mut text, event),
        }
    }
    text
}

/// Returns whether this HTML is a comment, or a tag that says how a text looks: `<T>` of `Vec<T>` is text.
fn is_markup(html: &str) -> bool {
    const TAGS: [&str; 18] = [
        "b",
        "blockquote",
        "br",
        "code",
        "del",
        "details",
        "div",
        "em",
        "i",
        "kbd",
        "p",
        "s",
        "small",
        "span",
        "strong",
        "sub",
        "summary",
        "u",
    ];
    let name = html.trim_start_matches(['<', '/']).split(|letter: char| !letter.is_ascii_alphanumeric()).next();
    html.starts_with("<!--") || name.is_some_and(|name| TAGS.contains(&name))
}

/// Returns whether a body has too many brackets for a text with links: the parser holds a hundred bytes for each until
/// it knows that it is not a link.
pub(crate) fn is_bracketed(body: &str) -> bool {
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

/// The fewest characters of a word that is cut: one or two letters are of no use.
const MIN_CHARACTERS: usize = 8;

/// A block of a body that is in no other one.
struct TopBlock {
    range: Range<usize>,
    /// Its code fence, with the beginning of the code.
    fence: Option<(usize, CodeFence)>,
}

/// Returns the longest beginning of `body` that `fits`, followed by [`TRUNCATED`] on a line of its own; the whole body,
/// without its outer blank lines, if that fits; or `None` if only a few characters do.
///
/// The cut is at the end of a block, unless half as much again fits up to the end of a line; then there, with the same exception
/// for the end of a word, and for any place in a word. A code fence that is open at the cut is closed. `fits` gets the whole
/// result. It must accept every beginning of a text that it accepts.
pub(crate) fn cut(body: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let body = body.trim_matches(['\n', '\r']).trim_end();
    if fits(body) {
        return Some(body.to_owned());
    }
    let blocks = top_blocks(body);
    let fits_to = |end: usize| fits(&beginning(body, &blocks, end));
    let has_code = |end: &usize| open_fence(&blocks, *end).is_none_or(|(code, _)| end > code);
    let mut best: Option<usize> = None;
    for level in [CutLevel::Block, CutLevel::Line, CutLevel::Word, CutLevel::Character] {
        let mut ends = level.ends(body, &blocks);
        ends.retain(|end| best.is_none_or(|best| end * 2 >= best * 3) && has_code(end));
        if ends.first().is_some_and(|end| fits_to(*end)) {
            // `fits` is monotonic, so bisection finds the last end that fits.
            let n_more = ends[1..].partition_point(|end| fits_to(*end));
            best = Some(ends[n_more]);
        }
    }
    best.map(|end| beginning(body, &blocks, end))
}

/// What a cut does not divide.
#[derive(Clone, Copy)]
enum CutLevel {
    Block,
    Line,
    Word,
    Character,
}

impl CutLevel {
    /// Returns where a body can be cut.
    fn ends(self, body: &str, blocks: &[TopBlock]) -> Vec<usize> {
        let places = body.char_indices();
        match self {
            CutLevel::Block => blocks.iter().map(|block| block.range.end).collect(),
            CutLevel::Line => places.filter(|(_, character)| *character == '\n').map(|(at, _)| at).collect(),
            CutLevel::Word => places.map(|(at, _)| at).filter(|at| is_at_edge(body, *at)).collect(),
            CutLevel::Character => ends_within_words(body),
        }
    }
}

/// Returns the places within words that have [`MIN_CHARACTERS`] of the word before them.
fn ends_within_words(body: &str) -> Vec<usize> {
    let mut before = 0;
    let is_within = |(_, character): &(usize, char)| {
        let n_before = std::mem::take(&mut before);
        before = if character.is_whitespace() { 0 } else { n_before + 1 };
        before > MIN_CHARACTERS
    };
    body.char_indices().filter(is_within).map(|(at, _)| at).collect()
}

fn is_at_edge(body: &str, at: usize) -> bool {
    body[..at].ends_with(|character: char| !character.is_whitespace()) && body[at..].starts_with(char::is_whitespace)
}

/// Returns the beginning of a body up to `end`, with the marks that it was cut.
fn beginning(body: &str, blocks: &[TopBlock], end: usize) -> String {
    let within = |character: Option<char>| character.is_some_and(|character| !character.is_whitespace());
    let (part, rest) = body.split_at(end);
    let mark = if within(part.chars().next_back()) && within(rest.chars().next()) { "…" } else { "" };
    let close = open_fence(blocks, end).map(|(_, fence)| format!("\n{}", fence.mark.to_string().repeat(fence.length)));
    format!("{}{mark}{}\n\n{TRUNCATED}", part.trim_end(), close.unwrap_or_default())
}

/// Returns the code fence that is open at a place, with the beginning of the code.
fn open_fence(blocks: &[TopBlock], at: usize) -> Option<&(usize, CodeFence)> {
    let block = blocks.get(blocks.partition_point(|block| block.range.end <= at))?;
    block.fence.as_ref().filter(|_| block.range.start < at)
}

fn top_blocks(body: &str) -> Vec<TopBlock> {
    if is_bracketed(body) {
        return Vec::new();
    }
    let mut depth = 0usize;
    let mut blocks = Vec::new();
    for (event, range) in Parser::new_ext(body, options()).into_offset_iter() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Rule | Event::Html(_) => {}
            _ => continue,
        }
        if depth == 0 {
            let range = range.start..range.start + body[range.clone()].trim_end().len();
            let head = body[range.clone()].lines().next().unwrap_or_default();
            let fence = CodeFence::opened_by(head).map(|fence| (range.start + head.len() + 1, fence));
            blocks.push(TopBlock { range, fence });
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_brackets_is_plain_text() {
        let body = format!("# Title\n\n{} [[link]]\n", "[".repeat(MAX_BRACKETS));
        let digest = digest(&body, 1);
        assert_eq!((digest.text.as_str(), digest.links.len(), top_blocks(&body).len()), (body.as_str(), 0, 0));
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
        let cut = |body: &str, limit: usize| cut(body, &|text| text.chars().count() <= limit);
        assert_eq!(cut("one two three", 20).as_deref(), Some("one two three"));
        assert_eq!(cut("one two three, four", 18).as_deref(), Some("one\n\n[truncated]"));
        assert_eq!(cut("日本語日本語日本語", 8), None);
        assert_eq!(cut(&"日本語".repeat(9), 21), None);
        assert_eq!(cut(&"日本語".repeat(9), 22).as_deref(), Some("日本語日本語日本…\n\n[truncated]"));
    }

    #[test]
    fn a_large_block_behind_a_small_one_is_cut() {
        let check = |body: &str, limit, expected: &str| check_cut(body, limit, Some(expected));
        let words = "one two three four five six seven eight nine ten";
        check(&format!("Ports:\n\n{words}\n"), 50, "Ports:\n\none two three four five six\n\n[truncated]");
        check(&format!("Ports:\n\n{}\n", "x".repeat(99)), 36, "Ports:\n\nxxxxxxxxxxxx…\n\n[truncated]");
        check(
            &format!("Ports:\n\n```sh\none\ntwo\n{words}\n```\n"),
            43,
            "Ports:\n\n```sh\none\ntwo\n```\n\n[truncated]",
        );
        check(&format!("[a]: b\n\n{}\n", "語".repeat(99)), 48, "[a]: b\n\n語語語語語語語語…\n\n[truncated]");
        // What is not much longer is not worth half a block.
        check("one two three four\n\nfive six seven eight\n", 39, "one two three four\n\n[truncated]");
    }

    #[test]
    fn a_fence_is_one_block() {
        assert_eq!(blocks("# A\n\none\ntwo\n\n```\nx\n\ny\n```\n"), ["# A", "one\ntwo", "```\nx\n\ny\n```"]);
    }
}
