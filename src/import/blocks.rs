//! The blocks of a markdown text, and what they say without their markup.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::entry::body::options;

/// A block at the top level of a text.
pub(super) struct MarkdownBlock {
    pub(super) range: Range<usize>,
    pub(super) kind: MarkdownBlockKind,
}

pub(super) enum MarkdownBlockKind {
    Paragraph,
    List {
        is_ordered: bool,
        items: Vec<Range<usize>>,
    },
    /// Code, tables and the rest.
    Other,
}

/// Returns the text of an item of a list without its marker, its box and its indentation.
pub(super) fn item_text(item: &str) -> String {
    let item = item.trim_end();
    let marker = item.find(char::is_whitespace).unwrap_or(item.len());
    let start = marker + item[marker..].find(|letter: char| letter != ' ').unwrap_or(0);
    let first = item[start..].trim_start_matches("[ ] ").trim_start_matches("[x] ").trim_start_matches("[X] ");
    let unindented = |line: &str| {
        let n_spaces = line.len() - line.trim_start_matches(' ').len();
        line[n_spaces.min(start)..].to_owned()
    };
    let mut lines = first.split('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    [first].into_iter().chain(lines.map(unindented)).collect::<Vec<_>>().join("\n")
}

/// Returns the blocks of a text.
pub(super) fn blocks(text: &str) -> Vec<MarkdownBlock> {
    let (mut blocks, mut depth, mut start): (Vec<MarkdownBlock>, usize, usize) = (Vec::new(), 0, 0);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let kind = match tag {
                        Tag::Paragraph => MarkdownBlockKind::Paragraph,
                        Tag::List(first) => MarkdownBlockKind::List { is_ordered: first.is_some(), items: Vec::new() },
                        _ => MarkdownBlockKind::Other,
                    };
                    blocks.push(MarkdownBlock { range: range.clone(), kind });
                } else if depth == 1 && tag == Tag::Item {
                    start = range.start;
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth -= 1;
                if let (1, TagEnd::Item, Some(MarkdownBlock { kind: MarkdownBlockKind::List { items, .. }, .. })) =
                    (depth, tag, blocks.last_mut())
                {
                    items.push(start..range.end);
                }
            }
            // A line between two parts, and HTML.
            Event::Rule => {}
            _ if depth == 0 => blocks.push(MarkdownBlock { range, kind: MarkdownBlockKind::Other }),
            _ => {}
        }
    }
    blocks
}

/// Returns a text with the comments of HTML in it blanked, outside of code.
pub(super) fn without_comments(text: &str) -> String {
    let mut kept = text.to_owned();
    let mut open: Option<usize> = None;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        let (Event::Html(html) | Event::InlineHtml(html)) = &event else { continue };
        let start = open.or_else(|| html.trim_start().starts_with("<!--").then_some(range.start));
        let Some(start) = start else { continue };
        open = (!html.contains("-->")).then_some(start);
        if open.is_none() {
            let blank: String = text[start..range.end].chars().filter(|letter| *letter == '\n').collect();
            let blank = " ".repeat(range.end - start - blank.len()) + &blank;
            kept.replace_range(start..range.end, &blank);
        }
    }
    kept
}

/// Returns how many words a text says, without those of links, pictures and imported files.
pub(super) fn n_words(text: &str) -> usize {
    let (mut n_words, mut depth) = (0, 0_usize);
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Image { .. } | Tag::Link { .. }) => depth += 1,
            Event::End(TagEnd::Image | TagEnd::Link) => depth = depth.saturating_sub(1),
            Event::Text(said) | Event::Code(said) if depth == 0 => {
                let words = said.split_whitespace().filter(|word| !(word.starts_with('@') && word.contains('.')));
                n_words += words.filter(|word| word.contains(char::is_alphanumeric)).count();
            }
            _ => {}
        }
    }
    n_words
}
