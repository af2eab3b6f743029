//! The headings of a markdown text, with the text below each of them.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::body::{is_bracketed, options};
use crate::text::one_line;

/// A heading at the top level of a text: one in a quotation or a list is part of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutlineHeading {
    /// Its level, from 1 to 6.
    pub(crate) level: u8,
    /// Its text, without markup.
    pub(crate) title: String,
    /// Where it begins, and where the text below it begins, in bytes.
    pub(crate) range: Range<usize>,
}

/// Returns the headings of a text, in order. Lines that begin with `#` in a code block do not count.
pub(crate) fn headings(text: &str) -> Vec<OutlineHeading> {
    if is_bracketed(text) {
        return Vec::new();
    }
    let mut headings: Vec<OutlineHeading> = Vec::new();
    let (mut depth, mut is_open, mut in_image) = (0_usize, false, false);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                headings.push(OutlineHeading { level: number(level), title: String::new(), range });
                is_open = true;
            }
            Event::End(TagEnd::Heading(_)) => is_open = false,
            Event::SoftBreak | Event::HardBreak if is_open => {
                if let Some(heading) = headings.last_mut() {
                    heading.title.push(' ');
                }
            }
            // A badge is no part of a title.
            Event::Start(Tag::Image { .. }) => in_image = true,
            Event::End(TagEnd::Image) => in_image = false,
            Event::Text(part) | Event::Code(part) if is_open && !in_image => {
                if let Some(heading) = headings.last_mut() {
                    heading.title.push_str(&part);
                }
            }
            Event::Start(Tag::BlockQuote(_) | Tag::List(_)) => depth += 1,
            Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_)) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    for heading in &mut headings {
        heading.title = one_line(&heading.title);
    }
    headings
}

/// Returns the first heading of a text, if it may be the title of all of it: it is of the first level, or each other is
/// below it.
pub(crate) fn title_heading(text: &str) -> Option<OutlineHeading> {
    let mut all = headings(text).into_iter();
    let first = all.next()?;
    let is_above = first.level == 1 || all.all(|other| other.level > first.level);
    (is_above && !first.title.is_empty()).then_some(first)
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_in_code_quotations_and_lists_are_none() {
        let text = "# A `b`\n\n```sh\n# no\n```\n\n> ## no\n\n- x\n\n  ## no\n\nTwo\nlines\n---\n\n### C #\nend\n";
        let found: Vec<(u8, String)> =
            headings(text).into_iter().map(|heading| (heading.level, heading.title)).collect();
        assert_eq!(found, [(1, "A b".to_owned()), (2, "Two lines".to_owned()), (3, "C".to_owned())]);
    }

    #[test]
    fn the_text_below_a_heading_begins_after_it() {
        let text = "## One\ntext\n\nTwo\n---\nmore\n";
        let below: Vec<&str> = headings(text).iter().map(|heading| &text[heading.range.end..]).collect();
        assert_eq!(below, ["text\n\nTwo\n---\nmore\n", "more\n"]);
    }
}
