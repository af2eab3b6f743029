//! Bodies of entries as HTML.
//!
//! The parser says what a text means; every tag is written here, from a fixed list. Raw HTML becomes text, images are never loaded, and
//! links lead only to the web, to a mail address or to an entry. Nesting and the size of the result are limited.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Escaper, Markup, PreEscaped};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag};
use ralph_memory::Id;

use super::links::entry_address;

/// How many elements may lie in each other. What is nested deeper is written without its tags.
const MAX_DEPTH: usize = 24;
/// How many elements a table needs inside of it.
const TABLE_DEPTH: usize = 4;
/// The limit of the result, in bytes. Tags are longer than their marks.
const MAX_HTML: usize = 4 * 1024 * 1024;
/// The most brackets of a body that is read as markdown: the parser holds each until it knows that it is no link.
const MAX_BRACKETS: usize = 400_000;

fn parser(body: &str) -> Parser<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS;
    Parser::new_ext(body, options)
}

fn is_bracketed(body: &str) -> bool {
    body.bytes().filter(|byte| *byte == b'[').count() > MAX_BRACKETS
}

/// Where the links of a body lead: the entries by the text of the link.
pub(super) type Targets = BTreeMap<String, Id>;

/// Returns the destinations of a body's links that may be files of entries, each with the id that it would be. `path` is that of the body's
/// file below `.ralph/`.
pub(super) fn linked_files(body: &str, path: &str) -> Targets {
    if is_bracketed(body) || !body.contains(".md") {
        return Targets::new();
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let id = |destination: &str| {
        let file = destination.split(['#', '?']).next().unwrap_or_default();
        let (mut parts, file) = match file.strip_prefix(".ralph/") {
            Some(file) => (Vec::new(), file),
            None => (folder.split('/').collect(), file),
        };
        for part in file.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        Id::of_path(&parts.join("/"))
    };
    let destinations = parser(body).filter_map(|event| match event {
        Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, .. }) => None,
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url),
        _ => None,
    });
    destinations.filter_map(|to| Some((to.to_string(), id(&to)?))).take(MAX_FILES).collect()
}

/// How many links to files of entries are followed.
const MAX_FILES: usize = 1_000;

/// Returns a body as HTML. `targets` are the entries to which its links lead. A text without them is what an agent or a command printed:
/// its line breaks stay, which are white space in markdown.
pub(super) fn rendered(body: &str, targets: Option<&Targets>) -> Markup {
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let mut writer = HtmlWriter { level: 2, targets, ..HtmlWriter::default() };
    if is_bracketed(&body) {
        writer.raw(&body);
    } else {
        for event in parser(&body) {
            writer.event(event);
            if writer.out.len() > MAX_HTML {
                writer.close_all();
                writer.out.push_str("<p><em>The rest is in the file: it is too long for a page.</em></p>");
                break;
            }
        }
    }
    writer.close_all();
    PreEscaped(writer.out)
}

#[derive(Default)]
struct HtmlWriter<'a> {
    out: String,
    /// The end tags of the open elements; empty for those without tags.
    closing: Vec<&'static str>,
    /// The level of the last heading; a page has one heading of level 1, before the body.
    level: usize,
    /// How many links are open: HTML has no links in links.
    in_link: usize,
    /// What each open link or image ends with, in text.
    tails: Vec<String>,
    alignments: Vec<Alignment>,
    /// The number of the cell in its row.
    cell: usize,
    is_head: bool,
    targets: Option<&'a Targets>,
}

impl HtmlWriter<'_> {
    fn text(&mut self, text: &str) {
        let _ = Escaper::new(&mut self.out).write_str(text);
    }

    fn raw(&mut self, text: &str) {
        self.out.push_str("<pre tabindex=\"0\" class=\"wrap\" dir=\"auto\">");
        self.text(text);
        self.out.push_str("</pre>");
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            Event::Text(text) => self.text(&text),
            Event::Code(code) | Event::InlineMath(code) | Event::DisplayMath(code) => {
                self.out.push_str("<code>");
                self.text(&code);
                self.out.push_str("</code>");
            }
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::FootnoteReference(name) => self.text(&name),
            Event::SoftBreak => self.out.push_str(if self.targets.is_none() { "<br>\n" } else { "\n" }),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.out.push_str(if is_done { "☑ " } else { "☐ " }),
        }
    }

    /// Writes a start tag, and notes its end tag.
    fn open(&mut self, start: &str, end: &'static str) {
        self.out.push_str(start);
        self.closing.push(end);
    }

    /// Leaves out the tags of an element.
    fn skip(&mut self) {
        self.closing.push("");
    }

    fn start(&mut self, tag: Tag<'_>) {
        let depth = self.closing.len();
        let needed = match tag {
            Tag::Table(_) => TABLE_DEPTH,
            Tag::List(_) => 2,
            _ => 1,
        };
        match tag {
            Tag::Link { link_type, dest_url, .. } => self.link(link_type, &dest_url),
            Tag::Image { dest_url, .. } => self.image(&dest_url),
            Tag::Table(alignments) if depth + needed <= MAX_DEPTH => {
                self.alignments = alignments;
                self.open(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>",
                    "</tbody></table></div>",
                );
            }
            _ if depth + needed > MAX_DEPTH => {
                self.out.push(' ');
                self.skip();
            }
            tag => self.element(&tag),
        }
    }

    fn element(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => self.open("<p dir=\"auto\">", "</p>"),
            Tag::HtmlBlock => self.open("<p class=\"raw\" dir=\"auto\">", "</p>"),
            Tag::Heading { level, .. } => self.heading(*level),
            Tag::BlockQuote(_) => self.open("<blockquote dir=\"auto\">", "</blockquote>"),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.open("<pre tabindex=\"0\"><code>", "</code></pre>");
            }
            Tag::List(None) => self.open("<ul dir=\"auto\">", "</ul>"),
            Tag::List(Some(1)) => self.open("<ol dir=\"auto\">", "</ol>"),
            Tag::List(Some(first)) => {
                self.open(&format!("<ol dir=\"auto\" start=\"{}\">", (*first).min(999_999_999)), "</ol>");
            }
            Tag::Item => self.open("<li>", "</li>"),
            Tag::TableHead => {
                (self.cell, self.is_head) = (0, true);
                self.open("<thead><tr>", "</tr></thead><tbody>");
            }
            Tag::TableRow => {
                (self.cell, self.is_head) = (0, false);
                self.open("<tr>", "</tr>");
            }
            Tag::TableCell => self.table_cell(),
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<del>", "</del>"),
            _ => self.skip(),
        }
    }

    /// A heading is never more than one level below the one before it.
    fn heading(&mut self, level: HeadingLevel) {
        const TAGS: [(&str, &str); 4] = [
            ("<h3 dir=\"auto\">", "</h3>"),
            ("<h4 dir=\"auto\">", "</h4>"),
            ("<h5 dir=\"auto\">", "</h5>"),
            ("<h6 dir=\"auto\">", "</h6>"),
        ];
        self.level = (level as usize + 2).clamp(3, 6).min(self.level + 1);
        let (start, end) = TAGS[self.level - 3];
        self.open(start, end);
    }

    fn table_cell(&mut self) {
        let class = match self.alignments.get(self.cell) {
            Some(Alignment::Right) => " class=\"num\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        self.cell += 1;
        if self.is_head {
            self.open(&format!("<th scope=\"col\" dir=\"auto\"{class}>"), "</th>");
        } else {
            self.open(&format!("<td dir=\"auto\"{class}>"), "</td>");
        }
    }

    fn link(&mut self, kind: LinkType, destination: &str) {
        let target = [destination, destination.trim()].iter().find_map(|name| self.targets?.get(*name));
        let is_wiki = matches!(kind, LinkType::WikiLink { .. });
        let address = match target {
            Some(id) => Some((entry_address(id), "")),
            None if is_wiki => None,
            None => web_address(kind, destination).map(|address| (address, " rel=\"noopener noreferrer nofollow\"")),
        };
        // What is not followed is shown where its text does not say it.
        let tail = if address.is_some() || is_wiki { String::new() } else { format!(" ({destination})") };
        self.anchor(address, tail);
    }

    /// An image is a link: what loads one tells its server who reads.
    fn image(&mut self, destination: &str) {
        let address = web_address(LinkType::Inline, destination);
        let tail = if address.is_some() { String::new() } else { format!(" ({destination})") };
        if self.closing.len() < MAX_DEPTH {
            self.out.push_str("<span class=\"quiet\">Image:</span> ");
        }
        self.anchor(address.map(|address| (address, " rel=\"noopener noreferrer nofollow\"")), tail);
    }

    fn anchor(&mut self, address: Option<(String, &str)>, tail: String) {
        if self.closing.len() >= MAX_DEPTH {
            return self.skip();
        }
        self.tails.push(tail);
        if let Some((address, rel)) = address.filter(|_| self.in_link == 0) {
            self.in_link += 1;
            self.out.push_str("<a href=\"");
            self.text(&address);
            let _ = write!(self.out, "\"{rel}>");
            self.closing.push("</a>");
        } else {
            self.open("<span class=\"dead\">", "</span>");
        }
    }

    fn end(&mut self) {
        let Some(end) = self.closing.pop() else { return };
        if matches!(end, "</a>" | "</span>") {
            let tail = self.tails.pop().unwrap_or_default();
            self.text(&tail);
            self.in_link -= usize::from(end == "</a>");
        }
        self.out.push_str(end);
        if !matches!(end, "" | "</a>" | "</span>" | "</em>" | "</strong>" | "</del>") {
            self.out.push('\n');
        }
    }

    fn close_all(&mut self) {
        while !self.closing.is_empty() {
            self.end();
        }
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

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let targets = Targets::from([("wal".to_owned(), Id::parse("knowledge/wal-mode").unwrap())]);
        assert_eq!(rendered(body, Some(&targets)).into_string().trim(), expected, "{body}");
    }

    #[test]
    fn markup_is_text_and_only_known_addresses_are_links() {
        check("a <b onclick=\"x()\">b</b>", "<p dir=\"auto\">a &lt;b onclick=&quot;x()&quot;&gt;b&lt;/b&gt;</p>");
        check("<script>x()</script>", "<p class=\"raw\" dir=\"auto\">&lt;script&gt;x()&lt;/script&gt;</p>");
        check("[a](javascript:x)", "<p dir=\"auto\"><span class=\"dead\">a (javascript:x)</span></p>");
        check("[a](JAVASCRIPT&#58;x)", "<p dir=\"auto\"><span class=\"dead\">a (JAVASCRIPT:x)</span></p>");
        check(
            "![a](data:image/svg+xml,x)",
            "<p dir=\"auto\"><span class=\"quiet\">Image:</span> <span class=\"dead\">a (data:image/svg+xml,x)</span></p>",
        );
        check(
            "![a [b](https://b.example)](https://a.example/x.png)",
            "<p dir=\"auto\"><span class=\"quiet\">Image:</span> <a href=\"https://a.example/x.png\" rel=\"noopener noreferrer nofollow\">a <span class=\"dead\">b</span></a></p>",
        );
        check("[a](//evil.example)", "<p dir=\"auto\"><span class=\"dead\">a (//evil.example)</span></p>");
        check(
            "<me@mail.example>",
            "<p dir=\"auto\"><a href=\"mailto:me@mail.example\" rel=\"noopener noreferrer nofollow\">me@mail.example</a></p>",
        );
        check(
            "[[wal]] [[nobody]]",
            "<p dir=\"auto\"><a href=\"entry?id=knowledge%2Fwal-mode\">wal</a> <span class=\"dead\">nobody</span></p>",
        );
    }

    #[test]
    fn files_of_entries_are_linked() {
        let found = |body: &str, path: &str| -> Vec<String> {
            linked_files(body, path).into_values().map(|id| id.to_string()).collect()
        };
        assert_eq!(found("[a](wal.md)", "knowledge/x.md"), ["knowledge/wal"]);
        assert_eq!(found("[a](../journal/run-1/0001.md#x)", "knowledge/x.md"), ["journal/run-1/0001"]);
        assert_eq!(found("[a](.ralph/knowledge/wal.md)", "knowledge/team/x.md"), ["knowledge/wal"]);
        assert!(found("[a](../../../etc/x.md) [b](README.md)", "knowledge/x.md").len() <= 1);
    }

    #[test]
    fn nesting_is_limited() {
        for mark in ["> ", "- ", "1. ", "*", "**", "[", "![", "~~"] {
            let end = if mark.contains('[') { "](y)".repeat(10_000) } else { String::new() };
            let html = rendered(&(mark.repeat(10_000) + "x" + &end), Some(&Targets::new())).into_string();
            let (mut depth, mut most) = (0_usize, 0);
            for tag in html.split('<').skip(1) {
                if tag.starts_with('/') {
                    depth -= 1;
                } else if !tag.starts_with("br") && !tag.starts_with("hr") {
                    depth += 1;
                }
                most = most.max(depth);
            }
            assert!(depth == 0 && most <= MAX_DEPTH + 3, "{mark}: {depth}, {most}");
            assert!(html.contains('x'), "{mark}");
        }
    }

    #[test]
    fn headings_skip_no_level() {
        let html = rendered("##### a\n\n# b\n\n#### c", Some(&Targets::new())).into_string();
        assert_eq!(html.lines().map(|line| &line[..3]).collect::<Vec<_>>(), ["<h3", "<h3", "<h4"]);
    }
}
