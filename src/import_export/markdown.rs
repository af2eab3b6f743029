//! Markdown whose sections become entries: CLAUDE.md and AGENTS.md, and folders of markdown such as Cline's memory bank.

use std::collections::HashMap;

use chrono::TimeDelta;

use super::files::ImportFile;
use super::gathered::{Fact, SourceContent};
use super::report::ImportOrigin;
use super::request::ImportRequest;
use crate::entry::knowledge::{Class, Knowledge, class};
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::parse_time;
use crate::workspace::Workspace;

/// The files of a memory bank that describe the state of the work, which soon changes.
const STATES: [&str; 2] = ["activeContext", "progress"];
/// How long such a state is of interest.
const STATE_DAYS: i64 = 30;

/// A part of a file below a heading.
struct MarkdownSection<'a> {
    /// The heading with the one above it; empty before the first heading.
    title: String,
    /// The headings, which distinguish it within the file.
    key: String,
    line: u32,
    body: &'a str,
    /// Whether there are headings below it that have their own sections.
    has_parts: bool,
}

/// Reads the sections of CLAUDE.md or AGENTS.md.
pub(super) fn sections(_: &Workspace, request: &ImportRequest, file: &ImportFile, content: &mut SourceContent) {
    let about = Knowledge { source: request.writer, ..Knowledge::new("", ["guidelines"], "") };
    split(file, &about, 3, content);
}

/// Reads a file of a folder of markdown: if its frontmatter has a title it is one entry, else each section is.
pub(super) fn memory_bank(
    workspace: &Workspace,
    request: &ImportRequest,
    file: &ImportFile,
    content: &mut SourceContent,
) {
    let mut tags: Vec<String> = vec![file.stem().to_owned()];
    tags.extend(file.list("tags"));
    // An event would be another kind of entry.
    let category = file.word(&["category", "type"]).filter(|category| class(Some(category)) != Class::Event);
    let is_state = STATES.contains(&file.stem());
    let about = Knowledge {
        category: category.map(str::to_owned),
        source: request.writer,
        expires_at: is_state.then(|| workspace.now() + TimeDelta::days(STATE_DAYS)),
        ..Knowledge::new("", tags, "")
    };
    let Some(title) = file.word(&["title", "name"]) else {
        return split(file, &about, 2, content);
    };
    let knowledge = Knowledge { title: title.to_owned(), body: file.text.clone(), ..about };
    let date = file.word(&["modified", "updated", "date", "created"]).and_then(parse_time);
    content.add(Fact { date, ..Fact::new(file.key.clone(), file.origin(), knowledge) });
}

/// Adds the sections of a file, down to headings of this level.
fn split(file: &ImportFile, about: &Knowledge, deepest: u8, content: &mut SourceContent) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for section in sections_of(&file.text, deepest) {
        let is_bare = section.body.trim().is_empty();
        let from = ImportOrigin { line: Some(file.n_before.saturating_add(section.line)), ..file.origin() };
        if is_bare && (section.has_parts || section.title.is_empty()) {
            continue;
        }
        if !is_bare && section.body.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('@')) {
            content.report.skip(from, "it only names files that a client reads in its place");
            continue;
        }
        let title = if section.title.is_empty() { file.stem().to_owned() } else { section.title };
        let number = seen.entry(section.key.clone()).or_default();
        *number += 1;
        // A second section of the same name must not replace the first.
        let behind = if *number > 1 { format!("~{number}") } else { String::new() };
        let from = ImportOrigin { heading: Some(title.as_str().into()), ..from };
        let knowledge = Knowledge { title, body: section.body.to_owned(), ..about.clone() };
        content.add(Fact::new(format!("{}#{}{behind}", file.key, section.key), from, knowledge));
    }
}

/// Returns the sections of a text down to headings of this level; deeper ones are part of them.
fn sections_of(text: &str, deepest: u8) -> Vec<MarkdownSection<'_>> {
    let headings: Vec<OutlineHeading> = headings(text).into_iter().filter(|heading| heading.level <= deepest).collect();
    let first = headings.first().map_or(text.len(), |heading| heading.range.start);
    let before = MarkdownSection {
        title: String::new(),
        key: String::new(),
        line: 1,
        body: &text[..first],
        has_parts: !headings.is_empty(),
    };
    let mut sections = vec![before];
    let mut above: Vec<&OutlineHeading> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for (index, heading) in headings.iter().enumerate() {
        above.retain(|other| other.level < heading.level);
        let parents: Vec<&str> = above.iter().map(|other| other.title.as_str()).collect();
        let next = headings.get(index + 1);
        line += text[counted..heading.range.start].matches('\n').count();
        counted = heading.range.start;
        // The title of the file says nothing about a section.
        let parent = above.iter().rev().find(|other| other.level > 1);
        sections.push(MarkdownSection {
            title: parent
                .map_or_else(|| heading.title.clone(), |parent| format!("{}: {}", parent.title, heading.title)),
            key: [&parents[..], &[&heading.title]].concat().join("/"),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            body: &text[heading.range.end..next.map_or(text.len(), |next| next.range.start)],
            has_parts: next.is_some_and(|next| next.level > heading.level),
        });
        above.push(heading);
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, deepest: u8, expected: &[(&str, &str, u32)]) {
        let sections = sections_of(text, deepest);
        let sections = sections.iter().filter(|section| !section.body.trim().is_empty());
        let found: Vec<_> = sections.map(|section| (section.key.as_str(), section.body.trim(), section.line)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn every_text_belongs_to_one_section() {
        check("intro\n", 3, &[("", "intro", 1)]);
        check(
            "# P\nabout\n## A\na\n### B\nb\n#### C\nc\n## D\nd\n",
            3,
            &[("P", "about", 1), ("P/A", "a", 3), ("P/A/B", "b\n#### C\nc", 5), ("P/D", "d", 9)],
        );
        check("## A\na\n### B\nb\n", 2, &[("A", "a\n### B\nb", 1)]);
        check("```\n## no\n```\n## A\na\n", 3, &[("", "```\n## no\n```", 1), ("A", "a", 4)]);
    }

    #[test]
    fn the_title_of_a_section_names_the_one_above_it() {
        let titles: Vec<String> =
            sections_of("# P\n## A\n### B\nb\n", 3).into_iter().map(|section| section.title).collect();
        assert_eq!(titles, ["", "P", "A", "A: B"]);
    }
}
