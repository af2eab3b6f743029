//! Markdown of people and agents: instructions such as CLAUDE.md, and folders of notes such as Cline's memory bank.
//!
//! A note is an entry. It is split only where its sections stand for themselves: they are long, there are several, and
//! each says more than a date, a number or a list of links. What does not stand for itself stays with the note.

use std::collections::HashMap;
use std::ops::Range;

use chrono::TimeDelta;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::concept;
use super::files::{ImportFile, without_comments};
use super::gathered::{Fact, SourceContent};
use super::report::ImportOrigin;
use super::request::ImportRequest;
use super::sources::is_instructions;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::{OutlineHeading, headings};
use crate::text::title_of;
use crate::workspace::Workspace;

/// The files of a memory bank that describe the state of the work, which soon changes.
const STATES: [&str; 2] = ["activeContext", "progress"];
/// How long such a state is of interest.
const STATE_DAYS: i64 = 30;
/// The fewest items of a list that is all of a file of instructions, for each of them to be a rule of its own.
const MIN_RULES: usize = 8;
/// The fewest words of a section that says something: a date, a number or a link is a detail.
const MIN_WORDS: usize = 1;
/// The most words, beside links, of a text that only names another file.
const MAX_POINTER_WORDS: usize = 12;
/// The words with which generated instructions begin.
const BOILERPLATE: &str = "This file provides guidance to";
/// What people leave in a template where nothing is known yet.
const FILLERS: [&str; 12] = [
    "tbd",
    "todo",
    "n/a",
    "none",
    "none yet",
    "nothing yet",
    "tba",
    "wip",
    "to be defined",
    "to be determined",
    "...",
    "…",
];
/// The headings of a licence's text.
const LICENCES: [&str; 5] = ["license", "licence", "copyright", "licensing", "license and copyright"];

/// When a text is split into its sections.
#[derive(Clone, Copy)]
struct SplitRule {
    /// How many words it has at least, for each level.
    long: [usize; 2],
    /// How many words each section has at least that becomes an entry.
    section: usize,
    /// How many such sections it has at least.
    sections: usize,
}

/// Each section of instructions is about another matter, and a long one is split again.
const INSTRUCTIONS: SplitRule = SplitRule { long: [0, 250], section: MIN_WORDS, sections: 1 };
/// A note is about one matter, unless it is so long that nobody reads it as one.
/// Measured by subjects of commits against the notes that they changed: a section of 80 words or of all sizes lost up to
/// .16 of hit@5 on two memory banks, and no split at all .06 on one of long guides.
const NOTE: SplitRule = SplitRule { long: [1_000, 1_000], section: 150, sections: 3 };

/// A part of a file that becomes an entry.
#[derive(Debug, PartialEq, Eq)]
struct NotePart {
    /// The headings above it and its own, from the outermost on; empty for the file itself.
    headings: Vec<String>,
    line: usize,
    body: String,
}

/// Reads instructions such as CLAUDE.md or AGENTS.md.
pub(super) fn sections(_: &Workspace, request: &ImportRequest, file: &ImportFile, content: &mut SourceContent) {
    // Those of a folder are about the files in it.
    let folder = file.around(request.source);
    let about = Knowledge {
        source: request.writer,
        files: folder.map(|folder| format!("{folder}/**")).into_iter().collect(),
        ..Knowledge::new("", ["guidelines".to_owned()].into_iter().chain(file.tags()), "")
    };
    let (heading, start) = file.title();
    // The name of the file says nothing, and neither does the heading of one at the top.
    let name = folder.map_or(heading, |folder| folder.rsplit('/').next().unwrap_or(folder).to_owned());
    let rules = rules_of(&file.text[start..]);
    if rules.len() >= MIN_RULES {
        let before = file.text[..start].matches('\n').count();
        for (line, body) in rules {
            let title = title_of(&body);
            let from = ImportOrigin { line: line_of(file, before + line), ..file.origin() };
            let fact = Fact::new(format!("{}#{title}", file.key), from, Knowledge { title, body, ..about.clone() });
            content.add(Fact { within: Some(name.clone()), ..fact });
        }
        return;
    }
    add_parts(file, &about, (&name, start), INSTRUCTIONS, content);
}

/// Reads a note of a folder of markdown.
pub(super) fn memory_bank(
    workspace: &Workspace,
    request: &ImportRequest,
    file: &ImportFile,
    content: &mut SourceContent,
) {
    if let Some(reason) = concept::reserved(file) {
        return content.report.skip(file.origin(), reason);
    }
    let mut about = concept::about(workspace, request, file);
    if STATES.contains(&file.stem()) {
        about.expires_at.get_or_insert_with(|| workspace.now() + TimeDelta::days(STATE_DAYS));
    }
    let (title, start) = file.title();
    let first = content.facts.len();
    match concept::unit(file, start) {
        Some(body) => content.add(Fact::new(file.key.clone(), file.origin(), Knowledge { title, body, ..about })),
        None => add_parts(file, &about, (&title, start), NOTE, content),
    }
    let (date, said) = (concept::date(file), concept::said(file));
    for fact in &mut content.facts[first..] {
        fact.date = date;
        fact.said.clone_from(&said);
    }
}

/// Adds the parts of a file, whose text begins at `start` and is called `name`.
fn add_parts(
    file: &ImportFile,
    about: &Knowledge,
    (name, start): (&str, usize),
    rule: SplitRule,
    content: &mut SourceContent,
) {
    if LICENCES.contains(&file.stem().to_lowercase().as_str()) {
        return content.report.skip(file.origin(), "it is the text of a licence");
    }
    let text = &file.text[start..];
    let mut parts = Vec::new();
    split(text, (0, 0..text.len()), Vec::new(), rule, &mut parts);
    let is_split = parts.len() > 1;
    let is_of_instructions = rule.long[0] == 0;
    let all: Vec<Vec<String>> = parts.iter().map(|part| part.headings.clone()).collect();
    let has_parts = |above: &[String]| all.iter().any(|below| below.len() > above.len() && below.starts_with(above));
    let mut seen: HashMap<String, usize> = HashMap::new();
    for NotePart { headings, line, body } in parts {
        let body = if headings.is_empty() { file.described(&body) } else { body };
        let line = line_of(file, file.text[..start].matches('\n').count() + line);
        let from = ImportOrigin { line, ..file.origin() };
        let title = match headings.as_slice() {
            [] => name.to_owned(),
            sections if is_of_instructions => sections.join(": "),
            sections => format!("{name}: {}", sections.join(": ")),
        };
        // What is left of a section whose parts are entries.
        if body.trim().is_empty() && is_split && has_parts(&headings) {
            continue;
        }
        if let Some(reason) = no_fact(headings.last().map_or("", String::as_str), &body) {
            content.report.skip_titled(from, &title, reason);
            continue;
        }
        let key = headings.join("/");
        let number = seen.entry(key.clone()).or_default();
        *number += 1;
        // A second section of the same name must not replace the first.
        let behind = if *number > 1 { format!("~{number}") } else { String::new() };
        let key = if is_split { format!("{}#{key}{behind}", file.key) } else { file.key.clone() };
        let heading = Some(title.as_str().into()).filter(|_| is_split);
        let from = ImportOrigin { heading, line: from.line.filter(|_| is_split), ..from };
        // Other names are those of the note, not of its sections.
        let aliases = if headings.is_empty() { about.aliases.clone() } else { Vec::new() };
        let fact = Fact::new(key, from, Knowledge { title, body, aliases, ..about.clone() });
        content.add(Fact { within: Some(name.to_owned()).filter(|_| is_of_instructions), ..fact });
    }
}

/// Returns a line of a file, from 1.
fn line_of(file: &ImportFile, line: usize) -> Option<u32> {
    Some(file.n_before.saturating_add(u32::try_from(line).ok()?))
}

/// Adds the parts of the text in `range`, whose own heading begins at `start` and whose headings are `above`: all of it, or each section that stands for
/// itself, after what is left.
fn split(
    text: &str,
    (start, range): (usize, Range<usize>),
    above: Vec<String>,
    rule: SplitRule,
    parts: &mut Vec<NotePart>,
) {
    let own = &text[range.clone()];
    let line = text[..start].matches('\n').count() + 1;
    let all = headings(own);
    let level = all.iter().map(|heading| heading.level).min().unwrap_or_default();
    let children: Vec<&OutlineHeading> = all.iter().filter(|heading| heading.level == level).collect();
    let end_of = |index: usize| children.get(index + 1).map_or(own.len(), |next| next.range.start);
    let body_of = |index: usize| &own[children[index].range.end..end_of(index)];
    let stands = |index: &usize| {
        let body = body_of(*index);
        n_words(body) >= rule.section && no_fact(&children[*index].title, body).is_none()
    };
    let standing: Vec<usize> = (0..children.len()).filter(stands).collect();
    let long = rule.long.get(above.len()).copied();
    let is_split = long.is_some_and(|long| n_words(own) >= long) && standing.len() >= rule.sections;
    if !is_split {
        return parts.push(NotePart { headings: above, line, body: own.to_owned() });
    }
    let mut rest = own[..children[0].range.start].to_owned();
    let at = parts.len();
    for (index, child) in children.iter().enumerate() {
        if standing.contains(&index) || no_fact(&child.title, body_of(index)).is_some() {
            let below = [above.as_slice(), std::slice::from_ref(&child.title)].concat();
            let of_child = range.start + child.range.end..range.start + end_of(index);
            split(text, (range.start + child.range.start, of_child), below, rule, parts);
            continue;
        }
        rest.push_str(&own[child.range.start..end_of(index)]);
    }
    parts.insert(at, NotePart { headings: above, line, body: rest });
}

/// Returns the items of the list that a text consists of, with their lines; none if there is anything else.
fn rules_of(text: &str) -> Vec<(usize, String)> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::List(_)) => depth += 1,
            Event::End(TagEnd::List(_)) => depth -= 1,
            Event::Start(Tag::Item) if depth == 1 => start = range.start,
            Event::End(TagEnd::Item) if depth == 1 => {
                let item = text[start..range.end].trim_end();
                let marker = item.find(char::is_whitespace).unwrap_or(item.len());
                let lines = item[marker..].trim_start().lines();
                let body: Vec<&str> = lines.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
                items.push((text[..start].matches('\n').count() + 1, body.join("\n")));
            }
            _ if depth == 0 => return Vec::new(),
            _ => {}
        }
    }
    items
}

/// Returns why a section is no fact; `None` if it is one.
fn no_fact(title: &str, body: &str) -> Option<&'static str> {
    let said = without_comments(body);
    if said.lines().all(|line| is_filler(line.trim())) {
        return Some(if said.is_empty() {
            "it is empty"
        } else {
            "it is what a template says, which nobody filled in"
        });
    }
    if LICENCES.contains(&title.to_lowercase().as_str()) {
        return Some("it is the text of a licence");
    }
    let names_file = said.lines().any(|line| line.trim().starts_with('@')) || is_instructions(&said);
    let links = links(&said);
    let is_pointer = said.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('@'))
        || names_file && n_words(&said) <= MAX_POINTER_WORDS && said.lines().count() <= 3;
    if is_pointer {
        return Some("it only names files that a client reads in its place");
    }
    if !links.is_empty() && links.iter().all(|link| link.starts_with('#')) && n_words(&said) < MIN_WORDS {
        return Some("it is a table of contents");
    }
    (said.starts_with(BOILERPLATE) && said.lines().count() <= 2).then_some("it only introduces the rest of the file")
}

/// Returns whether a line is what a template has where somebody should write something.
fn is_filler(line: &str) -> bool {
    let bare = line.trim_start_matches(['#', '-', '*', '_', '>', ' ']).trim_end_matches(['*', '_', ' ', '.', ':']);
    let is_bracketed = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    bare.is_empty()
        || is_bracketed.is_some_and(|inner| !inner.contains(['[', ']']))
        || FILLERS.contains(&bare.to_lowercase().as_str())
}

/// Returns the number of words that a text says beside its links: those with a letter, and those of code.
fn n_words(text: &str) -> usize {
    let (mut n_words, mut depth) = (0, 0_usize);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Link { .. }) => depth += 1,
            Event::End(TagEnd::Link) => depth = depth.saturating_sub(1),
            Event::Text(text) | Event::Code(text) if depth == 0 => {
                n_words += text
                    .split_whitespace()
                    .filter(|word| word.chars().any(char::is_alphabetic))
                    .map(weight)
                    .sum::<usize>();
            }
            _ => {}
        }
    }
    n_words
}

/// Returns how many words a run of letters stands for. Chinese, Japanese and Thai have no spaces.
fn weight(word: &str) -> usize {
    let n_wide = word.chars().filter(|letter| *letter as u32 >= 0x0e00 && letter.is_alphabetic()).count();
    n_wide.div_ceil(2).max(1)
}

/// Returns where the links of a text lead.
fn links(text: &str) -> Vec<String> {
    let of_event = |event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    };
    Parser::new(text).filter_map(of_event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, rule: SplitRule, expected: &[(&str, &str, usize)]) {
        let mut parts = Vec::new();
        split(text, (0, 0..text.len()), Vec::new(), rule, &mut parts);
        let found: Vec<_> =
            parts.iter().map(|part| (part.headings.join("/"), part.body.trim().to_owned(), part.line)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(key, body, line)| ((*key).to_owned(), (*body).to_owned(), *line)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn every_text_belongs_to_one_part() {
        check("intro here\n", INSTRUCTIONS, &[("", "intro here", 1)]);
        check(
            "about it\n## A\none two\n### B\nthree four\n## C\n12\n## D\nfive six\n",
            INSTRUCTIONS,
            &[("", "about it\n## C\n12", 1), ("A", "one two\n### B\nthree four", 2), ("D", "five six", 8)],
        );
        check("```\n## no\n```\n## A\none two\n", INSTRUCTIONS, &[("", "```\n## no\n```", 1), ("A", "one two", 4)]);
        let word = "word ".repeat(130);
        let long = format!("## A\n### B\n{word}\n### C\n{word}\n");
        let word = word.trim();
        check(&long, INSTRUCTIONS, &[("", "", 1), ("A", "", 1), ("A/B", word, 2), ("A/C", word, 4)]);
    }

    #[test]
    fn a_note_is_split_only_where_it_is_long_and_its_sections_stand_for_themselves() {
        let word = "word ".repeat(400);
        let word = word.trim();
        let short = "# One\nA fact.\n## Created\n2026-01-02\n## Related\n- [two](two.md)\n";
        check(short, NOTE, &[("", short.trim(), 1)]);
        let two = format!("## A\n{word}\n## B\n{word}\n## C\n{word}\n## D\nSee E.\n");
        check(&two, NOTE, &[("", "## D\nSee E.", 1), ("A", word, 1), ("B", word, 3), ("C", word, 5)]);
        let unsplit = format!("## A\n{word} {word} {word}\n## B\nb\n");
        check(&unsplit, NOTE, &[("", unsplit.trim(), 1)]);
    }

    #[test]
    fn what_says_nothing_is_no_fact() {
        let check = |title: &str, body: &str, expected: Option<&str>| {
            let found = no_fact(title, body);
            assert_eq!(found.map(|found| found.rsplit(' ').next().unwrap()), expected, "{title}: {body}");
        };
        check("Tests", "Run `just test`.", None);
        check("Tests", "<!-- how to run them -->\n", Some("empty"));
        check("Goals", "- [Describe the goal]\n- [ ]\n_TBD_\n", Some("in"));
        check("Contents", "- [One](#one)\n- [Two](#two)\n", Some("contents"));
        check("Links", "- [One](one.md)\n", None);
        check("", "@../AGENTS.md\n", Some("place"));
        check("", "See [AGENTS.md](../AGENTS.md).", Some("place"));
        check("License", "MIT, by the authors.", Some("licence"));
        check("", "This file provides guidance to agents that work here.", Some("file"));
    }

    #[test]
    fn a_list_alone_is_a_rule_for_each_item() {
        let rules = rules_of("- Use pnpm\n- ALWAYS run\n  `just test`\n  - twice\n");
        assert_eq!(rules, [(1, "Use pnpm".to_owned()), (2, "ALWAYS run\n`just test`\n- twice".to_owned())]);
        assert_eq!(rules_of("Rules:\n\n- one\n"), []);
    }

    #[test]
    fn words_are_counted_beside_links_and_in_every_script() {
        let check = |text: &str, expected: usize| assert_eq!(n_words(text), expected, "{text}");
        check("2026-01-02", 0);
        check("8080", 0);
        check("- [one](x)\n- two", 1);
        check("`just test` runs", 3);
        check("設定を保存する", 4);
    }
}
