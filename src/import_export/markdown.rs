//! Markdown of people and agents: instructions such as CLAUDE.md, and folders of notes such as Cline's memory bank.
//!
//! A note is an entry. It is split only where its sections stand for themselves: they are long, there are several, and
//! each says more than a date, a number or a list of links. What does not stand for itself stays with the note.

use std::collections::HashMap;
use std::ops::Range;

use chrono::TimeDelta;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::concept;
use super::files::{ImportFile, without_ordinal};
use super::fillers::{MIN_WORDS, fact_of, is_template, n_words, no_fact};
use super::gathered::{Fact, SourceContent};
use super::report::ImportOrigin;
use super::request::ImportRequest;
use super::sources::is_instructions;
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::path::in_folder;
use crate::text::{letters, title_of};
use crate::workspace::Workspace;

/// The files of a memory bank that describe the state of the work, which soon changes.
const STATES: [&str; 2] = ["activeContext", "progress"];
/// How long such a state is of interest.
const STATE_DAYS: i64 = 30;
/// The fewest items of a list that is all of a file of instructions, for each of them to be a rule of its own.
const MIN_RULES: usize = 8;
/// The words of instructions of a folder up to which they are one entry.
const MAX_WHOLE: usize = 400;
/// The fewest words of a section of instructions that is an entry of its own.
const MIN_SECTION: usize = 25;

/// The words of headings that any file of instructions may have.
const OF_ANY: [&str; 45] = [
    "a",
    "about",
    "agent",
    "agents",
    "ai",
    "an",
    "and",
    "assistant",
    "assistants",
    "claude",
    "code",
    "codebase",
    "codex",
    "coding",
    "context",
    "contributing",
    "contributor",
    "conventions",
    "copilot",
    "cursor",
    "development",
    "for",
    "gemini",
    "general",
    "guidance",
    "guide",
    "guidelines",
    "in",
    "instructions",
    "md",
    "memory",
    "of",
    "on",
    "our",
    "overview",
    "project",
    "readme",
    "repo",
    "repository",
    "rules",
    "the",
    "this",
    "to",
    "with",
    "working",
];

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

/// Each section of instructions is about another matter, and a long one is split again. Short ones stay together, unless
/// all of them are short.
const INSTRUCTIONS: [SplitRule; 2] = [
    SplitRule { long: [0, 250], section: MIN_SECTION, sections: 1 },
    SplitRule { long: [0, 250], section: MIN_WORDS, sections: 1 },
];
/// The instructions of a folder are about one matter, unless they are long.
const OF_FOLDER: [SplitRule; 1] = [SplitRule { long: [MAX_WHOLE, 250], section: MIN_SECTION, sections: 1 }];
/// A note is about one matter, unless it is so long that nobody reads it as one.
/// Measured by subjects of commits against the notes that they changed: a section of 80 words or of all sizes lost up to
/// .16 of hit@5 on two memory banks, and no split at all .06 on one of long guides.
const NOTE: [SplitRule; 1] = [SplitRule { long: [1_000, 1_000], section: 150, sections: 3 }];

/// A part of a file that becomes an entry.
#[derive(Debug, PartialEq, Eq)]
struct NotePart {
    /// The headings above it and its own, from the outermost on; empty for the file itself.
    headings: Vec<String>,
    line: usize,
    body: String,
}

/// What the text of a file is called.
struct TextName<'a> {
    name: &'a str,
    /// A longer one, which distinguishes it from others of its name.
    longer: Option<&'a str>,
    /// Whether the name is that of a heading.
    is_heading: bool,
    /// Where it begins in the file.
    start: usize,
    /// Whether the titles of its sections begin with its name.
    in_titles: bool,
}

impl TextName<'_> {
    /// Returns the title of the section below these headings, and a longer one.
    fn title(&self, headings: &[String]) -> (String, Option<String>) {
        let sections = headings.iter().map(|heading| without_ordinal(heading)).collect::<Vec<_>>().join(": ");
        let below = |name: &str| match headings {
            [] => name.to_owned(),
            _ => format!("{name}: {sections}"),
        };
        let title = if headings.is_empty() || self.in_titles { below(self.name) } else { sections.clone() };
        (title, self.longer.map(below))
    }
}

/// Reads instructions such as CLAUDE.md or AGENTS.md.
pub(super) fn sections(workspace: &Workspace, request: &ImportRequest, file: &ImportFile, content: &mut SourceContent) {
    // Those of a folder are about the files in it.
    let folder = file.around(request.source);
    let about = Knowledge {
        source: request.writer,
        files: folder.map(|folder| in_folder(folder, "**")).into_iter().collect(),
        ..Knowledge::new("", ["guidelines".to_owned()].into_iter().chain(file.tags()), "")
    };
    let (heading, start) = file.title_to(1);
    // The name of the file says nothing.
    let root = workspace.root().file_name().unwrap_or_default().to_string_lossy();
    let last = folder.map(|folder| folder.rsplit('/').next().unwrap_or(folder));
    let says_more = says_more(&heading, last.unwrap_or(&root));
    let place = last.filter(|_| !says_more);
    let name = place.unwrap_or(&heading);
    let longer = folder.map(|folder| if says_more { format!("{folder}: {name}") } else { folder.to_owned() });
    let longer = Some(longer.as_deref().unwrap_or(name));
    let in_titles = folder.is_some() || says_more;
    let named = TextName { name, longer, is_heading: file.heading(1).is_some(), start, in_titles };
    let text = &file.text[start..];
    if folder.is_some() && n_words(text) < MAX_WHOLE {
        return add_parts(file, &about, &named, &OF_FOLDER, content);
    }
    let rules = rules_of(text);
    if rules.len() >= MIN_RULES {
        let before = file.text[..start].matches('\n').count();
        let mut keys = SectionKeys::default();
        for (line, body) in rules {
            let heading = title_of(&body);
            let key = format!("{}#{}", file.key, keys.next(&heading));
            let from = ImportOrigin { line: line_of(file, before + line), ..file.origin() };
            let (title, longer_title) = named.title(&[heading]);
            let fact = Fact::new(key, from, Knowledge { title, body, ..about.clone() });
            content.add(Fact { longer_title, ..fact });
        }
        return;
    }
    add_parts(file, &about, &named, if folder.is_some() { &OF_FOLDER } else { &INSTRUCTIONS }, content);
}

/// Returns whether the heading of a file of instructions says more than the name of its folder and what all such files are.
fn says_more(heading: &str, folder: &str) -> bool {
    if is_instructions(heading) {
        return false;
    }
    let (name, heading) = (folder.to_lowercase(), heading.to_lowercase());
    let words = |text: &str| -> Vec<String> {
        text.split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let of_project = words(&name);
    letters(&heading) != letters(&name)
        && words(&heading).iter().any(|word| !of_project.contains(word) && !OF_ANY.contains(&word.as_str()))
}

/// The keys of the sections of a file. A second one of a name must not replace the first.
#[derive(Default)]
struct SectionKeys(HashMap<String, usize>);

impl SectionKeys {
    /// Returns the key of the next section of this name.
    fn next(&mut self, name: &str) -> String {
        let number = self.0.entry(name.to_owned()).or_default();
        *number += 1;
        if *number > 1 { format!("{name}~{number}") } else { name.to_owned() }
    }
}

/// Reads a note of a folder of markdown.
pub(super) fn memory_bank(
    workspace: &Workspace,
    request: &ImportRequest,
    file: &ImportFile,
    content: &mut SourceContent,
) {
    if let Some(reason) = is_template(file).or_else(|| concept::reserved(file)) {
        return content.report.skip(file.origin(), reason);
    }
    let about = concept::about(workspace, request, file);
    let (title, start) = file.title();
    let first = content.facts.len();
    let is_heading = file.heading(u8::MAX).is_some();
    let named = TextName { name: &title, longer: None, is_heading, start, in_titles: true };
    match concept::unit(file, start) {
        Some(body) => content.add(Fact::new(file.key.clone(), file.origin(), Knowledge { title, body, ..about })),
        None => add_parts(file, &about, &named, &NOTE, content),
    }
    let (date, said) = (concept::date(workspace, file), concept::said(file));
    // From now on, since an old one would be hidden as soon as it is imported.
    let end = STATES.contains(&file.stem()).then(|| workspace.now() + TimeDelta::days(STATE_DAYS));
    for fact in &mut content.facts[first..] {
        fact.date = date;
        fact.knowledge.expires_at = fact.knowledge.expires_at.or(end);
        fact.said.clone_from(&said);
    }
}

/// Adds the parts of a file, by the first of these rules that splits it.
fn add_parts(
    file: &ImportFile,
    about: &Knowledge,
    named: &TextName<'_>,
    rules: &[SplitRule],
    content: &mut SourceContent,
) {
    let text = &file.text[named.start..];
    let own_heading = Some(named.name).filter(|_| named.is_heading);
    if let Err(reason) = fact_of(own_heading, text.to_owned()) {
        return content.report.skip_titled(file.origin(), named.name, reason);
    }
    let parts = parts_of(text, rules);
    let is_split = parts.len() > 1;
    let all: Vec<Vec<String>> = parts.iter().map(|part| part.headings.clone()).collect();
    let has_parts = |above: &[String]| all.iter().any(|below| below.len() > above.len() && below.starts_with(above));
    let mut keys = SectionKeys::default();
    for NotePart { headings, line, body } in parts {
        let body = if headings.is_empty() { file.described(&body) } else { body };
        let line = line_of(file, file.text[..named.start].matches('\n').count() + line);
        let from = ImportOrigin { line, ..file.origin() };
        let (title, longer_title) = named.title(&headings);
        // What is left of a section whose parts are entries.
        if body.trim().is_empty() && is_split && has_parts(&headings) {
            continue;
        }
        let heading = headings.last().map(String::as_str).or(own_heading.filter(|_| !is_split));
        let body = match fact_of(heading, body) {
            Ok(body) => body,
            Err(reason) => {
                content.report.skip_titled(from, &title, reason);
                continue;
            }
        };
        let key = keys.next(&headings.join("/"));
        let key = if is_split { format!("{}#{key}", file.key) } else { file.key.clone() };
        let heading = Some(title.as_str().into()).filter(|_| is_split);
        let from = ImportOrigin { heading, line: from.line.filter(|_| is_split), ..from };
        // Other names are those of the note, not of its sections.
        let aliases = if headings.is_empty() { about.aliases.clone() } else { Vec::new() };
        let fact = Fact::new(key, from, Knowledge { title, body, aliases, ..about.clone() });
        content.add(Fact { longer_title, ..fact });
    }
}

/// Returns the parts of a text, by the first of these rules that splits it.
fn parts_of(text: &str, rules: &[SplitRule]) -> Vec<NotePart> {
    let mut parts = Vec::new();
    for rule in rules {
        parts.clear();
        split(text, (0, 0..text.len()), Vec::new(), *rule, &mut parts);
        if parts.len() > 1 {
            break;
        }
    }
    parts
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
        n_words(body) >= rule.section && no_fact(body).is_none()
    };
    let standing: Vec<usize> = (0..children.len()).filter(stands).collect();
    let long = rule.long.get(above.len()).copied();
    // Steps of one list, with whole sentences as headings, are one matter.
    let is_step = |title: &str| {
        let bare = without_ordinal(title);
        bare.len() < title.len() && (bare.ends_with('.') || bare.contains(". "))
    };
    let is_list = children.iter().any(|child| is_step(&child.title));
    let is_split = !is_list && long.is_some_and(|long| n_words(own) >= long) && standing.len() >= rule.sections;
    if !is_split {
        return parts.push(NotePart { headings: above, line, body: own.to_owned() });
    }
    let mut rest = own[..children[0].range.start].to_owned();
    let at = parts.len();
    for (index, child) in children.iter().enumerate() {
        if standing.contains(&index) || no_fact(body_of(index)).is_some() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, rules: &[SplitRule], expected: &[(&str, &str, usize)]) {
        let parts = parts_of(text, rules);
        let found: Vec<_> =
            parts.iter().map(|part| (part.headings.join("/"), part.body.trim().to_owned(), part.line)).collect();
        let expected: Vec<_> =
            expected.iter().map(|(key, body, line)| ((*key).to_owned(), (*body).to_owned(), *line)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn every_text_belongs_to_one_part() {
        check("intro here\n", &INSTRUCTIONS, &[("", "intro here", 1)]);
        check(
            "about it\n## A\none two\n### B\nthree four\n## C\n12\n## D\nfive six\n",
            &INSTRUCTIONS,
            &[("", "about it\n## C\n12", 1), ("A", "one two\n### B\nthree four", 2), ("D", "five six", 8)],
        );
        check("```\n## no\n```\n## A\none two\n", &INSTRUCTIONS, &[("", "```\n## no\n```", 1), ("A", "one two", 4)]);
        let word = "word ".repeat(130);
        let long = format!("## A\n### B\n{word}\n### C\n{word}\n");
        let word = word.trim();
        check(&long, &INSTRUCTIONS, &[("", "", 1), ("A", "", 1), ("A/B", word, 2), ("A/C", word, 4)]);
    }

    #[test]
    fn a_note_is_split_only_where_it_is_long_and_its_sections_stand_for_themselves() {
        let word = "word ".repeat(400);
        let word = word.trim();
        let short = "# One\nA fact.\n## Created\n2026-01-02\n## Related\n- [two](two.md)\n";
        check(short, &NOTE, &[("", short.trim(), 1)]);
        let two = format!("## A\n{word}\n## B\n{word}\n## C\n{word}\n## D\nSee E.\n");
        check(&two, &NOTE, &[("", "## D\nSee E.", 1), ("A", word, 1), ("B", word, 3), ("C", word, 5)]);
        let unsplit = format!("## A\n{word} {word} {word}\n## B\nb\n");
        check(&unsplit, &NOTE, &[("", unsplit.trim(), 1)]);
    }

    #[test]
    fn short_sections_of_instructions_stay_with_the_rest_unless_all_are_short() {
        let word = "word ".repeat(30);
        let word = word.trim();
        let text = format!("about it\n## A\n{word}\n## B\nNot this.\n## C\n{word}\n");
        check(&text, &INSTRUCTIONS, &[("", "about it\n## B\nNot this.", 1), ("A", word, 2), ("C", word, 6)]);
        check("## A\nOne.\n## B\nTwo.\n", &INSTRUCTIONS, &[("", "", 1), ("A", "One.", 1), ("B", "Two.", 3)]);
        check(&text, &OF_FOLDER, &[("", text.trim(), 1)]);
        let long = format!("{text}## D\n{}\n", "long ".repeat(400).trim());
        assert_eq!(parts_of(&long, &OF_FOLDER).len(), 4);
    }

    #[test]
    fn the_steps_of_a_list_are_one_note() {
        let word = "word ".repeat(400);
        let steps = format!("## 1. Use office hours\n{word}\n## 2. Sleep well. Eat.\n{word}\n## 3. Try it\n{word}\n");
        assert_eq!(parts_of(&steps, &NOTE).len(), 1);
        assert_eq!(parts_of(&steps.replace(". Eat.", ""), &NOTE).len(), 4);
    }

    #[test]
    fn a_list_alone_is_a_rule_for_each_item() {
        let rules = rules_of("- Use pnpm\n- ALWAYS run\n  `just test`\n  - twice\n");
        assert_eq!(rules, [(1, "Use pnpm".to_owned()), (2, "ALWAYS run\n`just test`\n- twice".to_owned())]);
        assert_eq!(rules_of("Rules:\n\n- one\n"), []);
    }
}
