//! Finds sigils in a text in one pass, and in linear time for any text.
//!
//! It knows where elements may begin and end, and nothing about their meaning. One pass builds tables of the places
//! that would otherwise need a search for each element: the next closing tag, the next closing fence, the other end of
//! inline code.

use std::collections::HashMap;
use std::ops::Range;

use super::tags::{attributes, closes, columns, in_list, is_quoted, is_suggestions_heading, opens, without_marks};
use super::{ReportElement, SUGGESTIONS};
use crate::text::lines::CodeFence;

/// How many empty lines may be between the heading of suggestions and their fence.
const MAX_BLANK: usize = 3;
/// How much further a line of code is indented than the text around it, in columns.
const CODE_INDENT: usize = 4;
/// What nobody reads as the agent's report: comments, thoughts, code and quotations, by how they begin and end, in lower case. A tag
/// may have attributes.
const HIDDEN: [(&str, &str); 9] = [
    ("<!--", "-->"),
    ("<think", "</think>"),
    ("<thinking", "</thinking>"),
    ("<thought", "</thought>"),
    ("<reasoning", "</reasoning>"),
    ("<analysis", "</analysis>"),
    ("<scratchpad", "</scratchpad>"),
    ("<pre", "</pre>"),
    ("<blockquote", "</blockquote>"),
];

/// An element of a text that is outside of code, quotations, comments and thoughts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element<'a> {
    /// Which element it is.
    pub(super) of: &'static ReportElement,
    /// The attributes of its opening tag, names in lower case.
    pub(super) attributes: Vec<(String, &'a str)>,
    /// Its content, trimmed; `None` if it is never closed.
    pub(super) content: Option<&'a str>,
    /// The line that it begins in, from 1.
    pub(super) line: u32,
    /// Whether it begins its line, after the marks of lists and emphasis.
    pub(super) is_first: bool,
    /// Whether it neither begins nor ends a line: it may be what a sentence is about.
    pub(super) is_in_passing: bool,
    /// Its range, in bytes, up to its content if it is never closed.
    pub(super) place: Range<usize>,
}

/// Calls `each` for the elements of a text, in order. `each` returns whether an element was valid; the content of an
/// invalid one is searched as well. Returns the number of steps.
pub(super) fn scan<'a>(text: &'a str, each: &mut dyn FnMut(Element<'a>) -> bool) -> usize {
    SigilScanner::new(text).run(each)
}

/// A line, without its end.
struct SigilLine<'a> {
    start: usize,
    text: &'a str,
}

/// Where the tags of one name are, in order.
#[derive(Default)]
struct Tags {
    /// The opening tags that begin a line.
    first: Vec<usize>,
    /// All opening tags.
    opening: Vec<usize>,
    /// The closing tags, with their ends.
    closing: Vec<Range<usize>>,
    /// The closing tags outside of code and quotations.
    clean: Vec<Range<usize>>,
}

struct SigilScanner<'a> {
    text: &'a str,
    lines: Vec<SigilLine<'a>>,
    /// For each line and each of the marks `` ` `` and `~`: the length of the longest fence from here on that could
    /// close another one.
    closers: Vec<[usize; 2]>,
    /// The end of inline code that begins here.
    code: HashMap<usize, usize>,
    /// The ends of comments and thoughts, for each of [`HIDDEN`].
    hidden_ends: [Vec<usize>; HIDDEN.len()],
    tags: HashMap<&'static str, Tags>,
    /// Up to here, the line has only marks and elements.
    line_begun: usize,
    /// For the places where this was asked: whether only marks and elements follow in the line.
    line_ends: HashMap<usize, bool>,
    steps: usize,
}

impl<'a> SigilScanner<'a> {
    fn new(text: &'a str) -> SigilScanner<'a> {
        // A byte order mark does not belong to the first line.
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut start = text.len() - bare.len();
        let lines: Vec<SigilLine<'a>> = bare
            .split('\n')
            .map(|line| {
                let line = SigilLine { start, text: line };
                start += line.text.len() + 1;
                line
            })
            .collect();
        let mut closers = vec![[0; 2]; lines.len() + 1];
        for (at, line) in lines.iter().enumerate().rev() {
            closers[at] = closers[at + 1];
            if let Some(fence) = CodeFence::closed_by(line.text) {
                let longest = &mut closers[at][usize::from(fence.mark == '~')];
                *longest = fence.length.max(*longest);
            }
        }
        let lower = text.to_ascii_lowercase();
        let hidden_ends = HIDDEN.map(|(_, end)| lower.match_indices(end).map(|(at, _)| at + end.len()).collect());
        let (code, tags, line_ends) = Default::default();
        let mut scanner =
            SigilScanner { text, lines, closers, code, hidden_ends, tags, line_begun: 0, line_ends, steps: 0 };
        scanner.find_code();
        scanner.find_tags();
        scanner
    }

    /// Returns where the agent's own text begins. Where a model's template opens its thoughts, the text has only their end.
    fn start(&self) -> (usize, usize) {
        let begins = |line: &SigilLine<'_>, tag: &str| {
            let start = line.text.trim_start().get(..tag.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(tag))
        };
        let is_of_thoughts = |line: &SigilLine<'_>| begins(line, "<think") || begins(line, "</think");
        let first = self.lines.iter().position(is_of_thoughts).filter(|at| begins(&self.lines[*at], "</think"));
        let line = first.map(|at| (at, &self.lines[at]));
        line.map_or((0, 0), |(at, line)| (at, line.start + line.text.find('>').map_or(line.text.len(), |end| end + 1)))
    }

    /// Returns the end of the comment or the thoughts that begin here; `None` if none do, or they have no end.
    fn hidden(&self, at: usize) -> Option<usize> {
        let begins = |start: &str| {
            let text = self.text.get(at..at + start.len());
            let is_whole = start == "<!--"
                || self.text[at..].get(start.len()..).is_some_and(|rest| rest.starts_with(['>', ' ', '\n']));
            is_whole && text.is_some_and(|text| text.eq_ignore_ascii_case(start))
        };
        let ends = &self.hidden_ends[HIDDEN.iter().position(|(start, _)| begins(start))?];
        ends.get(ends.partition_point(|end| *end <= at)).copied()
    }

    /// Records where inline code is: between runs of backticks of one length, within a paragraph.
    fn find_code(&mut self) {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in 0..=self.lines.len() {
            let line = self.lines.get(at);
            // A sigil that begins a line is never inside code that a stray backtick opened before it.
            let ends_paragraph = line.is_none_or(|line| {
                let bare = line.text.trim();
                bare.is_empty()
                    || is_quoted(bare)
                    || CodeFence::opened_by(in_list(bare)).is_some()
                    || opens(in_list(bare)).is_some()
            });
            if ends_paragraph {
                let mut next: HashMap<usize, usize> = HashMap::new();
                for run in runs.drain(..).rev() {
                    if let Some(end) = next.insert(run.len(), run.end) {
                        self.code.insert(run.start, end);
                    }
                }
            }
            let Some(line) = line else { break };
            let mut rest = 0;
            while let Some(found) = line.text[rest..].find('`') {
                let start = rest + found;
                let length = line.text[start..].bytes().take_while(|byte| *byte == b'`').count();
                runs.push(line.start + start..line.start + start + length);
                rest = start + length;
            }
        }
    }

    /// Records where tags are, and which closing tags are outside of code.
    fn find_tags(&mut self) {
        let mut at = 0;
        // A fence that is open here is closed in this line.
        let mut closed_in = None;
        while let Some(line) = self.lines.get(at) {
            if closed_in.is_some_and(|closed_in| at > closed_in) {
                closed_in = None;
            }
            if closed_in.is_none() {
                let opened = CodeFence::opened_by(in_list(line.text));
                closed_in = opened.and_then(|fence| self.closing_line(at + 1, fence));
            }
            let is_quoted = is_quoted(line.text);
            let first = line.text.len() - line.text.trim_start().len();
            let mut code_end = 0;
            let mut rest = 0;
            while let Some(found) = line.text[rest..].find(['<', '`']) {
                let start = rest + found;
                let offset = line.start + start;
                let tail = &line.text[start..];
                if let Some(run) = tail.strip_prefix('`').map(|_| tail.len() - tail.trim_start_matches('`').len()) {
                    // Code that continues on the next line is left alone, because an element that ends in it would have
                    // no end.
                    if offset >= code_end
                        && let Some(end) = self.code.get(&offset).filter(|end| **end <= line.start + line.text.len())
                    {
                        code_end = *end;
                    }
                    rest = start + run;
                    continue;
                }
                rest = start + 1;
                if let Some((element, length)) = closes(tail) {
                    let tags = self.tags.entry(element.name).or_default();
                    tags.closing.push(offset..offset + length);
                    if closed_in.is_none() && !is_quoted && offset >= code_end {
                        tags.clean.push(offset..offset + length);
                    }
                } else if let Some(element) = opens(tail) {
                    let tags = self.tags.entry(element.name).or_default();
                    tags.opening.push(offset);
                    if start == first {
                        tags.first.push(offset);
                    }
                }
            }
            at += 1;
        }
    }

    /// Returns the first line from `at` on that closes a fence, if there is one.
    fn closing_line(&self, at: usize, fence: CodeFence) -> Option<usize> {
        if self.closers.get(at)?[usize::from(fence.mark == '~')] < fence.length {
            return None;
        }
        self.lines[at..].iter().position(|line| fence.is_closed_by(line.text)).map(|found| at + found)
    }

    fn run(mut self, each: &mut dyn FnMut(Element<'a>) -> bool) -> usize {
        let (mut at, mut offset) = self.start();
        self.line_begun = offset;
        // Whether the line before is empty or code, and where the text of the list begins that the line is in.
        let (mut is_apart, mut list) = (true, 0);
        while at < self.lines.len() {
            self.steps += 1;
            let (start, line) = (self.lines[at].start, self.lines[at].text);
            if offset <= start {
                (offset, self.line_begun) = (start, start);
                let indent = columns(line);
                let is_code = is_apart && indent >= list + CODE_INDENT;
                if is_code || is_quoted(line) || line.trim().is_empty() {
                    is_apart = is_code || line.trim().is_empty();
                    at += 1;
                    continue;
                }
                let listed = in_list(line);
                if listed.len() < line.trim_start().len() {
                    list = columns(line) + line.trim_start().len() - listed.len();
                } else if is_apart {
                    list = list.min(indent);
                }
                is_apart = false;
                if is_suggestions_heading(line)
                    && let Some(end) = self.look_at_suggestions(at, each)
                {
                    self.steps += end - at;
                    at = end;
                    continue;
                }
                if let Some(fence) = CodeFence::opened_by(listed) {
                    let end = match self.closing_line(at + 1, fence) {
                        Some(closed) => closed + 1,
                        // It was left open, and a sigil follows it.
                        None => self.line_with_sigil(at + 1),
                    };
                    self.steps += end - at;
                    at = end;
                    continue;
                }
            }
            if let Some(next) = self.look_at_line(at, offset, each) {
                offset = next;
                // The skipped part may end in a later line.
                while self.lines.get(at + 1).is_some_and(|line| line.start <= offset) {
                    self.steps += 1;
                    at += 1;
                }
            } else {
                at += 1;
                offset = 0;
            }
        }
        self.steps
    }

    /// Reads the block under the heading in a line, which is the fence that follows directly. Returns the line after
    /// it.
    fn look_at_suggestions(&self, at: usize, each: &mut dyn FnMut(Element<'a>) -> bool) -> Option<usize> {
        let is_blank = |at: &usize| self.lines.get(*at).is_some_and(|line| line.text.trim().is_empty());
        let opened = (at + 1..).take(MAX_BLANK + 1).find(|at| !is_blank(at))?;
        let fence = CodeFence::opened_by(self.lines.get(opened)?.text)?;
        let closed = self.closing_line(opened + 1, fence)?;
        let content = &self.text[self.lines[opened + 1].start..self.lines[closed].start];
        let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let place = self.lines[at].start..self.lines[closed].start + self.lines[closed].text.len();
        let (of, attributes) = (&SUGGESTIONS, Vec::new());
        let (content, is_first, is_in_passing) = (Some(content.trim()), true, false);
        each(Element { of, attributes, content, line, is_first, is_in_passing, place });
        Some(closed + 1)
    }

    fn line_with_sigil(&self, at: usize) -> usize {
        let found = self.lines.iter().skip(at).position(|line| opens(line.text.trim_start()).is_some());
        found.map_or(self.lines.len(), |found| at + found)
    }

    /// Reads the rest of a line. Returns where to continue after something that may end in another line.
    fn look_at_line(
        &mut self,
        at: usize,
        mut offset: usize,
        each: &mut dyn FnMut(Element<'a>) -> bool,
    ) -> Option<usize> {
        let (start, text) = (self.lines[at].start, self.lines[at].text);
        let end = start + text.len();
        while let Some(found) = self.text.get(offset..end)?.find(['<', '`']) {
            self.steps += 1;
            offset += found;
            let tail = &self.text[offset..];
            if tail.starts_with('`') {
                if let Some(end) = self.code.get(&offset) {
                    return Some(*end);
                }
                offset += text[offset - start..].bytes().take_while(|byte| *byte == b'`').count();
                continue;
            }
            self.line_begun = end - without_marks(&self.text[self.line_begun.min(end)..end]).len();
            let is_first = self.line_begun == offset;
            if let Some(hidden) = self.hidden(offset) {
                self.pass(is_first, hidden, end);
                return Some(hidden);
            }
            let Some(of) = opens(tail) else {
                offset += 1;
                continue;
            };
            let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let Some((attributes, length)) = attributes(tail, of.name, &mut self.steps) else {
                let (place, content, is_in_passing) = (offset..offset + 1, None, false);
                each(Element { of, attributes: Vec::new(), content, line, is_first, is_in_passing, place });
                offset += 1;
                continue;
            };
            let content = offset + length;
            let closing = self.closing(of, content, is_first);
            // In a line of JSON that a caller calls the agent's text, an element stands in a text of its own.
            let may_pass = !is_first && !text.trim_start().starts_with('{');
            let is_in_passing = may_pass && closing.as_ref().is_some_and(|closing| !self.ends_line(closing.end));
            let element = Element {
                of,
                attributes,
                content: closing.as_ref().map(|closing| self.text[content..closing.start].trim()),
                line,
                is_first,
                is_in_passing,
                place: offset..closing.as_ref().map_or(content, |closing| closing.end),
            };
            let is_good = each(element);
            let next = closing.filter(|_| is_good).map_or(content, |closing| closing.end);
            self.pass(is_first, next, end);
            return Some(next);
        }
        None
    }

    /// Takes note that something ends at `next`, in a line that ends at `end`.
    fn pass(&mut self, is_first: bool, next: usize, end: usize) {
        if is_first || next > end {
            self.line_begun = next;
        }
    }

    /// Returns whether only emphasis, comments and other elements follow in the line.
    fn ends_line(&mut self, mut at: usize) -> bool {
        let mut passed = Vec::new();
        let ends = loop {
            if let Some(known) = self.line_ends.get(&at) {
                break *known;
            }
            passed.push(at);
            self.steps += 1;
            let rest = self.text[at..].trim_start_matches([' ', '\t', '\r', '*', '_', '~']);
            at = self.text.len() - rest.len();
            if rest.is_empty() || rest.starts_with('\n') {
                break true;
            }
            let closed = || closes(rest).map(|(_, length)| at + length);
            match self.hidden(at).or_else(closed).or_else(|| self.element_end(at)) {
                Some(next) => at = next,
                None => break false,
            }
        };
        self.line_ends.extend(passed.into_iter().map(|at| (at, ends)));
        ends
    }

    /// Returns the end of the element that begins here.
    fn element_end(&mut self, at: usize) -> Option<usize> {
        let of = opens(&self.text[at..])?;
        let (_, length) = attributes(&self.text[at..], of.name, &mut self.steps)?;
        self.closing(of, at + length, false).map(|closing| closing.end)
    }

    /// Returns the closing tag that ends the content which begins at `content`: the first one outside of code or, if
    /// another element with the name comes before that, the first one anywhere. A tag that comes only after the next
    /// element with the name belongs to that element. A tag in code does not end what began in the middle of a line,
    /// because that is prose.
    fn closing(&self, element: &ReportElement, content: usize, is_first: bool) -> Option<Range<usize>> {
        let tags = self.tags.get(element.name)?;
        let next = |all: &[usize]| all.get(all.partition_point(|at| *at < content)).copied().unwrap_or(usize::MAX);
        let after = |all: &[Range<usize>]| all.get(all.partition_point(|tag| tag.start < content)).cloned();
        let any = after(&tags.closing)?;
        // An element whose content is one short word, or lines of its own form, contains no other element.
        let other = if element.holds_any_text() { next(&tags.first) } else { next(&tags.opening) };
        if any.start > other {
            return None;
        }
        let clean = after(&tags.clean).filter(|clean| clean.start < other);
        clean.or_else(|| Some(any).filter(|_| is_first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and contents in a text; an element counts as valid if it has content.
    fn found(text: &str) -> Vec<(&'static str, Option<&str>, u32)> {
        let mut found = Vec::new();
        scan(text, &mut |element| {
            found.push((element.of.name, element.content, element.line));
            element.content.is_some()
        });
        found
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&'static str, &str)]) {
        let found: Vec<_> = found(text).into_iter().map(|(name, content, _)| (name, content.unwrap_or("!"))).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn elements_are_found_in_order() {
        check("a <journal> x </journal> b\n<task-done>t</task-done>", &[("journal", "x"), ("task-done", "t")]);
        check("<Journal >\n\nx\n\n</JOURNAL >", &[("journal", "x")]);
        check("<journalist>x</journalist> <jour>", &[]);
        assert_eq!(found("\r\n\r\n<journal>x\r\n</journal>\r\n"), [("journal", Some("x"), 3)]);
    }

    #[test]
    fn code_and_quotations_are_passed_over() {
        check("```\n<journal>x</journal>\n```\n<task-done>t</task-done>", &[("task-done", "t")]);
        check("  ~~~~ text\n```\n<journal>x</journal>\n~~~\n~~~~\n", &[]);
        check("a `<journal>x</journal>` b", &[]);
        check("a ``<journal>`x</journal>`` b", &[]);
        check("`a\n<b> <journal>x</journal>` b", &[]);
        check("> <journal>x</journal>\n  > more", &[]);
        // A stray backtick hides neither what begins a line nor what is in another paragraph.
        check("a ` b\n<journal>x</journal>\n`", &[("journal", "x")]);
        check("a ` b\n\nc <journal>x</journal> `", &[("journal", "x")]);
        check("```rust `x`\n<journal>x</journal>", &[("journal", "x")]);
    }

    #[test]
    fn a_fence_left_open_ends_at_a_sigil() {
        check("```\ncode\n<journal>x</journal>\n", &[("journal", "x")]);
        check("```\ncode a <journal>x</journal>\n  <task-done>t</task-done>\n", &[("task-done", "t")]);
        check("````\n```\n<journal>x</journal>\n", &[("journal", "x")]);
    }

    #[test]
    fn contents_may_be_anything() {
        check("<journal>\n```\n</journal>\n```\nx\n</journal>", &[("journal", "```\n</journal>\n```\nx")]);
        check("<journal>a `</journal>` b</journal>", &[("journal", "a `</journal>` b")]);
        check("<journal>a <task-done>t</task-done> b</journal>", &[("journal", "a <task-done>t</task-done> b")]);
        check(
            "<journal>\n```sh\nopen\n</journal>\n<task-done>t</task-done>",
            &[("journal", "```sh\nopen"), ("task-done", "t")],
        );
        check("<journal>one ` tick</journal>\nand ` more", &[("journal", "one ` tick")]);
        check("<journal>I used <journal> here</journal>", &[("journal", "I used <journal> here")]);
    }

    #[test]
    fn unclosed_elements_swallow_nothing() {
        check("<journal>\nx\n<task-done>t</task-done>", &[("journal", "!"), ("task-done", "t")]);
        check("<journal>\nx\n<journal>\ny\n</journal>", &[("journal", "!"), ("journal", "y")]);
        check("I end with <task-done> once done.\n<task-done>t</task-done>", &[("task-done", "!"), ("task-done", "t")]);
        check("use <task-done> so: <task-done>t</task-done>", &[("task-done", "!"), ("task-done", "t")]);
        check("<journal", &[]);
        check("<journal a", &[("journal", "!")]);
        check("<journal a=\"x>\n<task-done>t</task-done>", &[("journal", "!"), ("task-done", "t")]);
    }

    #[test]
    fn attributes_come_in_every_style() {
        let mut found = Vec::new();
        scan("<knowledge Tags = 'a, \"b\"' title=\"x > y\"\n other=z alone/ >c</knowledge>", &mut |element| {
            found.extend(element.attributes.into_iter().map(|(key, value)| format!("{key}={value}")));
            true
        });
        assert_eq!(found, ["tags=a, \"b\"", "title=x > y", "other=z"]);
    }

    /// A text four times as long takes about four times the steps, and a rejected element does not change that.
    #[test]
    fn the_time_is_linear() {
        let steps = |unit: &str, n: usize, is_good: bool| scan(&unit.repeat(n), &mut |_| is_good);
        let growing = |n: usize| (1..n).map(|length| "`".repeat(length) + " ").collect::<String>();
        for unit in [
            "<journal>",
            "<journal>\n",
            "<task-done>",
            "</journal>",
            "`",
            "` ",
            "``` \n",
            "~~~\n",
            "<",
            "<journal ",
            "<journal a=\"",
            "<journal a='x\"",
            "<failure-report>",
            "<failure-report>`</failure-report>`",
            "<journal>x`</journal>`",
            "<journal>\n```\n</journal>\n",
            "```\n<journal>\n",
            "> <journal>\n",
            "\n",
            "<knowledge tags=a>",
            "`<journal>",
            "<journal>`",
        ] {
            for is_good in [true, false] {
                // The tail closes everything at the end.
                let few = steps(unit, 1_000, is_good);
                let many = steps(unit, 4_000, is_good);
                assert!(many <= 5 * few + 100, "{unit:?} {is_good}: {few} {many}");
                let tailed = |n: usize| unit.repeat(n) + "`</journal></failure-report></task-done></knowledge>`";
                let few = scan(&tailed(1_000), &mut |_| is_good);
                let many = scan(&tailed(4_000), &mut |_| is_good);
                assert!(many <= 5 * few + 100, "{unit:?} {is_good}: {few} {many}");
            }
        }
        let few = scan(&growing(200), &mut |_| true);
        let many = scan(&growing(400), &mut |_| true);
        assert!(many <= 3 * few + 100);
    }
}
