//! Bodies of entries as HTML.
//!
//! `pulldown_cmark` writes the HTML; the events that it gets are filtered. Raw HTML becomes text, images are never loaded, and links lead
//! only to the web, to a mail address or to an entry. Nesting and the size of the result are limited.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use ralph_memory::Id;

use super::html::entry_address;

/// How many elements may lie in each other. What is nested deeper is written without its tags.
const MAX_DEPTH: usize = 24;
/// The limit of what becomes HTML, in bytes, and how many bytes the tags of an element count as.
const MAX_BYTES: usize = 4 * 1024 * 1024;
const TAG_BYTES: usize = 64;
/// The most brackets of a body that is read as markdown: the parser holds each until it knows that it is no link.
const MAX_BRACKETS: usize = 400_000;

/// Where the links of a body lead: the entries by the text of the link.
pub(super) type Targets = BTreeMap<String, Id>;

/// Returns a body as HTML. `targets` are the entries to which its links lead. A text without them is what an agent or a command printed:
/// its line breaks stay, which are white space in markdown.
pub(super) fn rendered(body: &str, targets: Option<&Targets>) -> Markup {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    if body.bytes().filter(|byte| *byte == b'[').count() > MAX_BRACKETS {
        return html! { pre.wrap tabindex="0" { (body) } };
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS;
    let mut filter = EventFilter { targets, ..EventFilter::default() };
    for event in Parser::new_ext(&body, options) {
        filter.event(event);
        if filter.bytes > MAX_BYTES {
            break;
        }
    }
    let is_whole = filter.bytes <= MAX_BYTES;
    while !filter.open.is_empty() {
        filter.end();
    }
    let mut written = String::new();
    pulldown_cmark::html::push_html(&mut written, filter.events.into_iter());
    html! {
        (PreEscaped(written))
        @if !is_whole { p { em { "The rest is in the file: it is too long for a page." } } }
    }
}

/// The events of a body that may become HTML.
#[derive(Default)]
struct EventFilter<'a, 'body> {
    events: Vec<Event<'body>>,
    /// What the open elements end with; nothing for those that are left out.
    open: Vec<Vec<Event<'body>>>,
    /// How many links are open: HTML has no links in links.
    in_link: usize,
    bytes: usize,
    targets: Option<&'a Targets>,
}

impl<'body> EventFilter<'_, 'body> {
    fn event(&mut self, event: Event<'body>) {
        let event = match event {
            Event::Start(tag) => return self.start(tag),
            Event::End(_) => return self.end(),
            Event::Html(text) | Event::InlineHtml(text) | Event::FootnoteReference(text) => Event::Text(text),
            Event::InlineMath(text) | Event::DisplayMath(text) => Event::Code(text),
            Event::SoftBreak if self.targets.is_none() => Event::HardBreak,
            Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
            event => event,
        };
        self.bytes += match &event {
            Event::Text(text) | Event::Code(text) => text.len(),
            _ => TAG_BYTES,
        };
        self.events.push(event);
    }

    fn start(&mut self, tag: Tag<'body>) {
        self.bytes += TAG_BYTES;
        // A table and a list need room for what makes them one.
        let needed = match tag {
            Tag::Table(_) => 4,
            Tag::List(_) => 2,
            _ => 1,
        };
        if self.open.len() + needed > MAX_DEPTH {
            self.events.push(Event::Text(" ".into()));
            return self.open.push(Vec::new());
        }
        match tag {
            Tag::Link { link_type, dest_url, .. } => self.link(link_type, &dest_url),
            // What loads an image tells its server who reads.
            Tag::Image { dest_url, .. } => {
                self.events.push(Event::Text("Image: ".into()));
                self.link(LinkType::Inline, &dest_url);
            }
            Tag::Heading { level, .. } => {
                // The page has a heading of level 1 before the body.
                let level = HeadingLevel::try_from(level as usize + 1).unwrap_or(HeadingLevel::H6);
                self.element(Tag::Heading { level, id: None, classes: Vec::new(), attrs: Vec::new() });
            }
            Tag::HtmlBlock | Tag::CodeBlock(_) => self.element(Tag::CodeBlock(CodeBlockKind::Indented)),
            Tag::Table(alignments) => {
                // The policy of the page refuses the style that an alignment is written as.
                let tag = Tag::Table(vec![Alignment::None; alignments.len()]);
                self.between(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\">",
                    Some(tag),
                    "</div>",
                );
            }
            tag => self.element(tag),
        }
    }

    fn element(&mut self, tag: Tag<'body>) {
        let end = tag.to_end();
        self.events.push(Event::Start(tag));
        self.open.push(vec![Event::End(end)]);
    }

    /// Begins an element in tags of ours.
    fn between(&mut self, start: &'static str, tag: Option<Tag<'body>>, end: &'static str) {
        let inner = tag.as_ref().map(|tag| Event::End(tag.to_end()));
        self.events.push(Event::InlineHtml(start.into()));
        self.events.extend(tag.map(Event::Start));
        self.open.push(inner.into_iter().chain([Event::InlineHtml(end.into())]).collect());
    }

    fn link(&mut self, kind: LinkType, destination: &str) {
        let target = self.targets.and_then(|targets| targets.get(destination.trim()));
        let is_wiki = matches!(kind, LinkType::WikiLink { .. });
        let address = match target {
            Some(id) => Some(entry_address(id)),
            None if is_wiki => None,
            None => web_address(kind, destination),
        };
        // What is not followed is shown where its text does not say it.
        let tail = (address.is_none() && !is_wiki).then(|| Event::Text(format!(" ({destination})").into()));
        if let Some(address) = address.filter(|_| self.in_link == 0) {
            self.in_link += 1;
            let (title, id) = ("".into(), "".into());
            self.element(Tag::Link { link_type: LinkType::Inline, dest_url: address.into(), title, id });
        } else {
            self.between("<span class=\"dead\">", None, "</span>");
        }
        if let (Some(tail), Some(end)) = (tail, self.open.last_mut()) {
            end.insert(0, tail);
        }
    }

    fn end(&mut self) {
        let end = self.open.pop().unwrap_or_default();
        self.in_link -= usize::from(end.last() == Some(&Event::End(TagEnd::Link)));
        self.events.extend(end);
    }
}

/// Returns the address of a link that leads to the web or to a mail address.
fn web_address(kind: LinkType, destination: &str) -> Option<String> {
    if kind == LinkType::Email {
        return Some(format!("mailto:{destination}"));
    }
    let (scheme, _) = destination.split_once(':')?;
    let is_known = ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    (is_known && !destination.contains(char::is_control)).then(|| destination.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_and_only_known_addresses_are_links() {
        let targets = Targets::from([("wal".to_owned(), Id::parse("knowledge/wal-mode").unwrap())]);
        for (body, expected) in [
            ("a <b onclick=\"x()\">b</b>", "<p>a &lt;b onclick=\"x()\"&gt;b&lt;/b&gt;</p>"),
            ("<script>x()</script>", "<pre><code>&lt;script&gt;x()&lt;/script&gt;</code></pre>"),
            ("[a](javascript:x)", "<p><span class=\"dead\">a (javascript:x)</span></p>"),
            ("[a](JAVASCRIPT&#58;x)", "<p><span class=\"dead\">a (JAVASCRIPT:x)</span></p>"),
            ("[a](//evil.example)", "<p><span class=\"dead\">a (//evil.example)</span></p>"),
            ("![a](data:image/svg+xml,x)", "<p>Image: <span class=\"dead\">a (data:image/svg+xml,x)</span></p>"),
            (
                "![a [b](https://b.example)](https://a.example/x.png)",
                "<p>Image: <a href=\"https://a.example/x.png\">a <span class=\"dead\">b</span></a></p>",
            ),
            ("<me@mail.example>", "<p><a href=\"mailto:me@mail.example\">me@mail.example</a></p>"),
            (
                "[[wal]] [[nobody]]",
                "<p><a href=\"entry?id=knowledge%2Fwal-mode\">wal</a> <span class=\"dead\">nobody</span></p>",
            ),
            ("# a\n\n###### b", "<h2>a</h2>\n<h6>b</h6>"),
            ("```js onload=x\na\n```", "<pre><code>a\n</code></pre>"),
        ] {
            assert_eq!(rendered(body, Some(&targets)).into_string().trim(), expected, "{body}");
        }
    }

    #[test]
    fn nesting_and_size_are_limited() {
        for mark in ["> ", "- ", "1. ", "*", "**", "[", "![", "~~a"] {
            let end = if mark.contains('[') { "](y)".repeat(10_000) } else { String::new() };
            let html = rendered(&(mark.repeat(10_000) + "x" + &end), Some(&Targets::new())).into_string();
            let (mut depth, mut most) = (0_usize, 0);
            for tag in html.split('<').skip(1).filter(|tag| !tag.contains("/>")) {
                if tag.starts_with('/') {
                    depth -= 1;
                } else {
                    depth += 1;
                }
                most = most.max(depth);
            }
            assert!(depth == 0 && most <= MAX_DEPTH + 3, "{mark}: {depth}, {most}");
            assert!(html.contains('x'), "{mark}");
        }
        let long = rendered(&"- *a*\n".repeat(100_000), None).into_string();
        assert!(long.len() < 2 * MAX_BYTES && long.ends_with("too long for a page.</em></p>"), "{}", long.len());
    }
}
