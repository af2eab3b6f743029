//! Rewrites the links of a body, and leaves every other byte alone: `[[…]]`, and links of markdown to files.
//!
//! Links are found as [`digest`](super::body::digest) finds them, so code spans and fences stay as they are. The result
//! is read again: if its links are not the expected ones, nothing is rewritten.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use super::body::{is_bracketed, options, targets};

/// A link of markdown, `[text](target)`, or only a target: of a definition, `[label]: target`, or in HTML.
#[derive(Debug)]
pub(crate) struct MarkdownLink {
    /// The text that people see.
    text: Range<usize>,
    /// Its target, as it is written.
    written: Range<usize>,
    /// Its target, without escapes of markdown.
    pub(crate) target: String,
}

/// Returns the body with its links of markdown changed as `change` says, and how many were; `None` if none is, or it
/// cannot be done safely.
pub(crate) fn relink_files(body: &str, change: &dyn Fn(&MarkdownLink) -> Option<String>) -> Option<(String, usize)> {
    let links = markdown_links(body);
    let (mut relinked, mut copied, mut n_changed) = (String::with_capacity(body.len()), 0, 0);
    let mut expected = Vec::new();
    for link in links {
        let Some(target) = change(&link) else {
            expected.push(link.target);
            continue;
        };
        let place = link.written;
        expected.push(target.clone());
        relinked.push_str(body.get(copied..place.start)?);
        relinked.push_str(&target);
        copied = place.end;
        n_changed += 1;
    }
    relinked.push_str(body.get(copied..)?);
    let found: Vec<String> = markdown_links(&relinked).into_iter().map(|link| link.target).collect();
    let is_expected = found == expected && targets(&relinked).len() == targets(body).len();
    (n_changed > 0 && is_expected).then_some((relinked, n_changed))
}

/// Returns the links and definitions of markdown in a body, and the links of HTML, in their order, without images.
fn markdown_links(body: &str) -> Vec<MarkdownLink> {
    if is_bracketed(body) || !["](", "]:", "<a "].iter().any(|mark| body.contains(mark)) {
        return Vec::new();
    }
    let mut links: Vec<MarkdownLink> = Vec::new();
    let mut open = None::<MarkdownLink>;
    let mut events = Parser::new_ext(body, options()).into_offset_iter();
    for (event, range) in events.by_ref() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) if open.is_none() => links.extend(links_of_html(body, range)),
            Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. }) => {
                let start = range.start + 1;
                let (text, written, target) = (start..start, start..start, dest_url.to_string());
                open = Some(MarkdownLink { text, written, target });
            }
            Event::End(TagEnd::Link) => {
                let written = open.take().and_then(|link| Some((written(body, link.text.end, range.end)?, link)));
                links.extend(written.map(|(written, link)| MarkdownLink { written, ..link }));
            }
            _ => {
                if let Some(link) = &mut open {
                    link.text.end = link.text.end.max(range.end);
                }
            }
        }
    }
    // A footnote is written like one.
    let definitions = events.reference_definitions().iter().filter(|(label, _)| !label.starts_with('^'));
    for (_, definition) in definitions {
        let (span, target) = (definition.span.clone(), definition.dest.to_string());
        let start = body.get(span.clone()).and_then(|text| text.find("]:")).map(|at| span.start + at);
        if let Some(start) = start
            && let Some(written) = place_of_target(body, start + 2, span.end)
        {
            links.push(MarkdownLink { text: start..start, written, target });
        }
    }
    links.sort_by_key(|link| link.written.start);
    links
}

/// Returns the links in a piece of HTML: `<a href="target">`.
fn links_of_html(body: &str, range: Range<usize>) -> Vec<MarkdownLink> {
    let html = &body[range.clone()];
    let link = |(at, _): (usize, &str)| {
        let tag = &html[at..at + html[at..].find('>')?];
        let start = tag.find(" href=\"")? + " href=\"".len();
        let target = tag[start..].split('"').next()?.to_owned();
        let start = range.start + at + start;
        let written = start..start + target.len();
        Some(MarkdownLink { text: start..start, written, target })
    };
    html.match_indices("<a ").filter_map(link).collect()
}

/// Returns where the target of a link is written whose text ends at `start`, and which ends at `end`.
fn written(body: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let rest = body.get(start..end)?;
    let at = rest.find("](").filter(|at| rest[..*at].trim().is_empty())?;
    place_of_target(body, start + at + 2, end.checked_sub(1)?)
}

/// Returns where the target is written that begins behind the white space at `start`.
fn place_of_target(body: &str, start: usize, end: usize) -> Option<Range<usize>> {
    let rest = body.get(start..end)?;
    let start = start + (rest.len() - rest.trim_start().len());
    let rest = body.get(start..end)?;
    match rest.strip_prefix('<') {
        Some(inner) => Some(start + 1..start + 1 + inner.find('>')?),
        None => Some(start..start + rest.find(char::is_whitespace).unwrap_or(rest.len())),
    }
}

/// Returns the path that a target means in a file of `folder`, and what is behind it: `#heading` or a query. Both paths
/// begin at the project. `None` for an address, for a heading alone and for a path that leads out of the project.
pub(crate) fn path_of_target<'a>(folder: &str, target: &'a str) -> Option<(String, &'a str)> {
    let (path, behind) = target.split_at(target.find(['#', '?']).unwrap_or(target.len()));
    let is_address = path.starts_with("//") || path.split('/').next().is_some_and(|first| first.contains(':'));
    if path.is_empty() || is_address {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    let from_folder = if path.starts_with('/') { "" } else { folder };
    for part in from_folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let end = if path.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    Some((parts.join("/") + end, behind))
}

/// Returns the path that a target has without the escapes of addresses.
pub(crate) fn unescaped(path: &str) -> Cow<'_, str> {
    percent_decode_str(path).decode_utf8_lossy()
}

/// Returns a path as the target of a link: what would end the target or mean something else in it is escaped. A `%` is
/// taken as part of an escape.
pub(crate) fn escaped_target(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter.is_ascii_control() || matches!(letter, ' ' | '(' | ')' | '<' | '>' | '\\' | '"' | '&' | '`' | '|') {
            let _ = write!(escaped, "%{:02X}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_files(body: &str, expected: Option<&str>) {
        let change = |link: &MarkdownLink| {
            let (path, behind) = path_of_target("docs/a", &link.target)?;
            Some(escaped_target(&format!("../../{path}")) + behind)
        };
        let relinked = relink_files(body, &change);
        assert_eq!(relinked.as_ref().map(|(body, _)| body.as_str()), expected, "{body}");
    }

    #[test]
    fn links_to_files_change_and_their_text_stays() {
        check_files("[`f(x)`](c.rs) [y](<d e.md>)", Some("[`f(x)`](../../docs/a/c.rs) [y](<../../docs/a/d%20e.md>)"));
        check_files("[a][r] and [r]\n\n[r]: c.md 'T'\n", Some("[a][r] and [r]\n\n[r]: ../../docs/a/c.md 'T'\n"));
        check_files("[![badge](b.svg)](c.md)", Some("[![badge](b.svg)](../../docs/a/c.md)"));
        check_files("[a](/src/(x).rs#L3) [b](e/)", Some("[a](../../src/%28x%29.rs#L3) [b](../../docs/a/e/)"));
    }

    #[test]
    fn links_of_html_change_like_those_of_markdown() {
        check_files(
            "An <a class=\"x\" href=\"c.md#d\">*c*</a>.",
            Some("An <a class=\"x\" href=\"../../docs/a/c.md#d\">*c*</a>."),
        );
        check_files(
            "<p>\n<a href=\"../b/note.md\">a</a> <a href=\"https://x.y\">b</a>\n</p>\n",
            Some("<p>\n<a href=\"../../docs/b/note.md\">a</a> <a href=\"https://x.y\">b</a>\n</p>\n"),
        );
        check_files("`<a href=\"c.md\">`", None);
    }

    #[test]
    fn addresses_images_and_code_stay() {
        for body in [
            "[a](https://x.y/z.md) [b](mailto:x@y) [c](//x/y) [d](#here) <https://x.y>",
            "![i](i.png) `[a](b.md)`",
            "```\n[a](b.md)\n```\n",
            "[out](../../../x.md) and [[b.md]]",
            "plain [^1]\n\n[^1]: footnote\n",
        ] {
            check_files(body, None);
        }
    }
}
