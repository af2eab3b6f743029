//! The boxes of a checklist, found in markdown.
//!
//! It reads no file. A box's mark is the one byte that a tick changes.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::context::Task;
use crate::text::shorten;

/// How many lines that are no boxes are named, and how much of each is shown, in characters.
const MAX_ODD: usize = 10;
const MAX_SHOWN: usize = 60;

/// What a box begins with: a bracket, or a symbol of an open one.
const BOXES: &[char] = &['[', '(', '☐', '⬜', '□', '▢', '◻'];

/// A box of a checklist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runner) struct ChecklistItem {
    /// Its first line.
    pub(in crate::runner) title: String,
    /// The rest of its text, without the boxes in it.
    pub(in crate::runner) description: String,
    /// The titles of the boxes that it is in, the outermost first.
    pub(in crate::runner) parents: Vec<String>,
    /// The line that it begins in, from 1.
    pub(in crate::runner) line: usize,
    pub(super) is_ticked: bool,
    /// The byte between its brackets.
    pub(super) mark: usize,
}

impl ChecklistItem {
    /// Returns it as a task. To a memory, two boxes with the same title are one task.
    pub(in crate::runner) fn task(&self) -> Task {
        let parents = self.parents.join(" › ");
        let description = match (parents.is_empty(), self.description.is_empty()) {
            (true, _) => self.description.clone(),
            (false, true) => format!("Part of: {parents}"),
            (false, false) => format!("Part of: {parents}\n\n{}", self.description),
        };
        Task { id: Some(Task::id_of_title(&self.title)), description, ..Task::new(self.title.clone()) }
    }

    pub(super) fn is_named_like(&self, other: &ChecklistItem) -> bool {
        self.title == other.title && self.parents == other.parents
    }
}

/// A list item that is being read.
struct OpenItem {
    range: Range<usize>,
    /// Whether its box is ticked, and the byte between the brackets.
    mark: Option<(bool, usize)>,
    /// The places of the boxes in it.
    inner: Vec<Range<usize>>,
}

/// Returns the first lines that look like boxes and are neither open nor ticked, with their numbers: `- [~]`, `- []`, `-[ ]`,
/// `- [ ]x`, `- ( ) x`, `- ☐ x`. `items` are the boxes of the text.
pub(super) fn odd_boxes(text: &str, items: &[ChecklistItem]) -> Vec<String> {
    // A text in code, a quotation or a comment is not part of the checklist.
    let mut others: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        let is_other = matches!(
            event,
            Event::Start(Tag::CodeBlock(_) | Tag::BlockQuote(_) | Tag::HtmlBlock)
                | Event::Code(_)
                | Event::InlineHtml(_)
        );
        others.extend(is_other.then_some(range));
    }
    let boxes: HashSet<usize> = items.iter().map(|item| item.line).collect();
    let (mut odd, mut start, mut from) = (Vec::new(), 0, 0);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let bracket = line.find(BOXES).map_or(start, |bracket| start + bracket);
        while others.get(from).is_some_and(|other| other.end <= bracket) {
            from += 1;
        }
        let is_other = others.get(from).is_some_and(|other| other.contains(&bracket));
        if !is_other && is_like_a_box(line.trim()) && !boxes.contains(&(at + 1)) {
            odd.push(format!("line {}: {}", at + 1, shorten(line.trim(), MAX_SHOWN)));
        }
        start += line.len();
    }
    odd.truncate(MAX_ODD);
    odd
}

/// Returns whether a line begins like a box, with or without the mark of a list, and whatever is in its brackets: nothing,
/// white space, `x` or a symbol. `[1]` is a note, `[a](b)` a link.
fn is_like_a_box(line: &str) -> bool {
    let bare = line.trim_start_matches(|mark: char| mark.is_ascii_digit() || ".)-*+•–— \t".contains(mark));
    let is_marked = bare.len() < line.len();
    let is_round = || bare.strip_prefix("( ").is_some_and(|rest| is_marked && rest.trim_start().starts_with(')'));
    if bare.starts_with(&BOXES[2..]) || is_round() {
        return true;
    }
    let Some((inside, rest)) = bare.strip_prefix('[').and_then(|box_| box_.split_once(']')) else { return false };
    let is_mark = match inside.trim() {
        "" => is_marked || !inside.is_empty(),
        "x" | "X" => true,
        other => is_marked && other.chars().count() == 1 && !other.chars().all(char::is_numeric),
    };
    is_mark && !rest.starts_with(['(', '[', ':'])
}

/// Returns the boxes of a text in the order of work: nested boxes come before their parent, which is done when they
/// are. Quoted text has no boxes.
pub(super) fn items(text: &str) -> Vec<ChecklistItem> {
    const BOM: &str = "\u{feff}";
    let markdown = text.strip_prefix(BOM).unwrap_or(text);
    let start = text.len() - markdown.len();
    let mut found = Vec::new();
    let mut open: Vec<OpenItem> = Vec::new();
    let mut n_quotes = 0;
    for (event, range) in Parser::new_ext(markdown, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::Start(Tag::BlockQuote(_)) => n_quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => n_quotes -= 1,
            Event::Start(Tag::Item) => open.push(OpenItem { range, mark: None, inner: Vec::new() }),
            Event::TaskListMarker(is_ticked) if n_quotes == 0 => {
                let bracket = markdown[range.clone()].find('[').map(|at| range.start + at + 1);
                if let (Some(item), Some(mark)) = (open.last_mut(), bracket) {
                    item.mark = Some((is_ticked, mark));
                }
            }
            Event::End(TagEnd::Item) => {
                let Some(item) = open.pop() else { continue };
                let Some((is_ticked, mark)) = item.mark else { continue };
                let (title, description) = content(markdown, &item, mark);
                if title.is_empty() {
                    continue;
                }
                for outer in &mut open {
                    outer.inner.push(item.range.clone());
                }
                let outer = open.iter().filter_map(|outer| Some(content(markdown, outer, outer.mark?.1).0));
                let line = markdown[..mark].matches('\n').count() + 1;
                found.push(ChecklistItem {
                    title,
                    description,
                    parents: outer.collect(),
                    line,
                    is_ticked,
                    mark: mark + start,
                });
            }
            _ => {}
        }
    }
    found
}

/// Returns the first line of an item, and what else stands in it.
fn content(text: &str, item: &OpenItem, mark: usize) -> (String, String) {
    let mut own = String::new();
    let mut at = mark + "x]".len();
    let mut inner = item.inner.clone();
    inner.sort_by_key(|inner| inner.start);
    for inner in inner {
        // Boxes in boxes stand in the range of the outer one.
        own.push_str(text.get(at..inner.start).unwrap_or_default().trim_end_matches([' ', '\t']));
        at = at.max(inner.end);
    }
    own.push_str(text.get(at..item.range.end).unwrap_or_default());
    let own = own.trim();
    let (title, rest) = own.split_once('\n').unwrap_or((own, ""));
    let line_start = text[..mark].rfind('\n').map_or(0, |at| at + 1);
    let indent = columns(&text[line_start..mark - 1]);
    let lines: Vec<&str> = rest.lines().map(|line| outdented(line, indent).trim_end()).collect();
    (title.trim().to_owned(), lines.join("\n").trim_matches('\n').to_owned())
}

/// Returns how wide the beginning of a line is, a tab reaching to the next multiple of 4.
fn columns(text: &str) -> usize {
    text.chars().fold(0, |column, character| if character == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

/// Removes white space of this width from the beginning of a line; a tab is removed as a whole.
fn outdented(line: &str, width: usize) -> &str {
    let is_kept = |(at, character): &(usize, char)| !matches!(character, ' ' | '\t') || columns(&line[..*at]) >= width;
    line.char_indices().find(is_kept).map_or("", |(at, _)| &line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the boxes as a line each: ticked or not, parents and title, description.
    fn told(text: &str) -> Vec<String> {
        let tell = |item: &ChecklistItem| {
            let names: Vec<&str> = item.parents.iter().chain([&item.title]).map(String::as_str).collect();
            let description = item.description.replace('\n', "|");
            format!("{}{}:{}:{}", if item.is_ticked { '+' } else { '-' }, item.line, names.join(">"), description)
        };
        items(text).iter().map(tell).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(told(text), expected, "{text:?}");
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(told(&crlf), expected, "{crlf:?}");
        let bom = format!("\u{feff}{text}");
        assert_eq!(told(&bom), expected, "{bom:?}");
        for item in items(&bom) {
            let around = &bom[item.mark - 1..item.mark + 2];
            assert!(around.starts_with('[') && around.ends_with(']'), "{around:?}");
        }
    }

    #[test]
    fn boxes_are_found_whatever_the_list() {
        check("- [ ] one\n- [x] two\n- [X] three\n", &["-1:one:", "+2:two:", "+3:three:"]);
        check("* [ ] one\n\n+ [ ] two\n\n1. [ ] three\n2) [ ] four", &["-1:one:", "-3:two:", "-5:three:", "-6:four:"]);
        check("# Tasks\n\nText.\n\n-   [ ] `a` **b** [c](d)  \n", &["-5:`a` **b** [c](d):"]);
        check("-\t[ ] one\n\ttwo\n", &["-1:one:two"]);
        check("- [ ] one\n\n- [ ] two\n\n  more\n\n- [ ] three\n", &["-1:one:", "-3:two:more", "-7:three:"]);
        check("- [ ] é 日本\n", &["-1:é 日本:"]);
    }

    #[test]
    fn what_is_not_a_box_is_left_alone() {
        check("```\n- [ ] one\n```\n~~~md\n- [ ] two\n~~~\n", &[]);
        check("    - [ ] code\n", &[]);
        check("> - [ ] quoted\n", &[]);
        check("<!--\n- [ ] remark\n-->\n", &[]);
        check("[ ] one\n\n- [] two\n- [y] three\n- [ ]four\n- \\[ ] five\n- `[ ]` six\n- x [ ] seven\n", &[]);
        check("- [ ]\n- [ ] \n", &[]);
        check("- [ ] one\n\n  ```\n  - [ ] code\n  ```\n", &["-1:one:```|- [ ] code|```"]);
        check("", &[]);
    }

    #[test]
    fn what_is_almost_a_box_is_named() {
        let check = |text: &str, expected: &[usize]| {
            let odd = odd_boxes(text, &items(text));
            let lines: Vec<usize> = odd.iter().map(|odd| odd[5..odd.find(':').unwrap()].parse().unwrap()).collect();
            assert_eq!(lines, expected, "{text} {odd:?}");
        };
        for odd in [
            "- [~] half",
            "- [/] half",
            "- [-] half",
            "- [>] later",
            "- [?] half",
            "- [✓] done",
            "- [] no",
            "-[ ] no",
            "*[x] no",
            "- [ ]no",
            "- [x]no",
            "- [  ] two",
            "1. [~] half",
            "2) [] no",
            "1.[ ] no",
            "[ ] no mark",
            "- ( ) round",
            "- ☐ symbol",
            "1. ⬜ symbol",
            "☐ no mark",
            "• [ ] no",
            "- [ ]",
            "- [d] done",
            "  - [~] deep",
            "-\t[]\tno",
        ] {
            check(&format!("- [x] one\n\n{odd}\n"), &[3]);
        }
        for other in [
            "- [x] two",
            "- [ ] two",
            "- [a](b) link",
            "- [a][b] link",
            "- [1] note",
            "[x]: y",
            "- `[~]` code",
            "> - [~] said",
            "<!-- - [~] remark -->",
            "<!--\n- [~] remark\n-->",
            "```\n- [~] code\n```",
            "    - [~] code",
            "- [two] words",
            "- (a) note",
            "- () is the unit",
            "( ) no mark",
            "- ✅ done",
            "- `☐` code",
            "a ☐ b",
            "a [~] b",
        ] {
            check(&format!("# List\n\n{other}\n"), &[]);
        }
        check("- [~] a\n- [ ] b\n- [] c\n", &[1, 3]);
    }

    #[test]
    fn a_description_is_what_stands_in_the_item() {
        check("- [ ] one\n  two\n  three\n\nText.\n", &["-1:one:two|three"]);
        check(
            "- [ ] one\n\n  two\n\n      code\n  - point\n    - deep\n\n- [ ] next\n",
            &["-1:one:two||    code|- point|  - deep", "-9:next:"],
        );
        check("- [ ] one\nlazy\n", &["-1:one:lazy"]);
        check("10. [ ] one\n    two\n", &["-1:one:two"]);
        check("- [ ] one  \n\t  two\n", &["-1:one:  two"]);
    }

    #[test]
    fn boxes_in_a_box_come_before_it() {
        check(
            "- [ ] a\n  - [ ] b\n    - [ ] c\n  - [x] d\n- [ ] e\n",
            &["-3:a>b>c:", "-2:a>b:", "+4:a>d:", "-1:a:", "-5:e:"],
        );
        check("- [ ] a\n  why\n  - [ ] b\n    how\n  - point\n", &["-3:a>b:how", "-1:a:why|- point"]);
        check("- group\n  - [ ] a\n  - sub\n    - [ ] b\n", &["-2:a:", "-4:b:"]);
        check("- [x] a\n  - [ ] b\n", &["-2:a>b:", "+1:a:"]);
        check("1. [ ] a\n   - [ ] b\n\n     text\n\n   after\n2. [ ] c\n", &["-2:a>b:text", "-1:a:after", "-7:c:"]);
    }

    #[test]
    fn a_box_is_a_task() {
        let items = items("- [ ] Storage\n  - [ ] Write  tests\n    at length\n  - [ ] Ship\n");
        let tasks: Vec<Task> = items.iter().map(ChecklistItem::task).collect();
        assert_eq!(tasks[0].title, "Write  tests");
        assert_eq!(tasks[0].id.as_deref(), Some(Task::id_of_title("write tests").as_str()));
        assert_eq!(tasks[0].description, "Part of: Storage\n\nat length");
        assert_eq!((tasks[1].description.as_str(), tasks[2].description.as_str()), ("Part of: Storage", ""));
    }
}
