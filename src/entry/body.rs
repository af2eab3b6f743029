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
}
