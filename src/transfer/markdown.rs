//! Markdown whose sections become entries: CLAUDE.md and AGENTS.md, and folders of markdown such as Cline's memory bank.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::files::{self, ImportFile};
use super::gathered::{Fact, SourceContent};
use super::report::{ImportOrigin, ImportedItem};
use super::request::ImportRequest;
use crate::entry::Source;
use crate::entry::frontmatter::Fields;
use crate::entry::knowledge::{Class, Knowledge, class};
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::parse_time;
use crate::error::Result;
use crate::text::own_block;
use crate::workspace::Workspace;

/// Where the instructions of agents are.
const INSTRUCTIONS: [&str; 5] =
    ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];
/// Where memory banks are.
const MEMORY_BANKS: [&str; 4] = ["memory-bank", ".serena/memories", "cline_docs", ".memory-bank"];
/// The files of a memory bank that tell the state of the work, which soon is another one.
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

/// Finds the sections of CLAUDE.md and AGENTS.md.
pub(super) fn sections(workspace: &Workspace, request: &ImportRequest) -> Result<SourceContent> {
    let mut gathered = SourceContent::default();
    let wanted = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        matches!(name, "AGENTS.md" | "CLAUDE.md" | "GEMINI.md" | "copilot-instructions.md")
    };
    for file in files::texts(workspace, request, &mut gathered, &INSTRUCTIONS, &wanted)? {
        let Some((_, text, n_before)) = parts(&file, &mut gathered) else { continue };
        let about = Knowledge { source: request.writer, ..Knowledge::new("", ["guidelines"], "") };
        let text = without_own_block(&file, text, &mut gathered);
        split(&file, &text, n_before, &about, 3, &mut gathered);
    }
    Ok(gathered)
}

/// Returns the end of a file with empty lines in place of the block that set-up writes: it is about the memory, and no part
/// of it. Without a pair of markers nobody knows where the block ends, so all of it stays.
pub(super) fn without_own_block(file: &ImportFile, text: &str, gathered: &mut SourceContent) -> String {
    let n_before = file.text.len() - text.len();
    match own_block(&file.text) {
        Ok(Some(block)) if block.start >= n_before => {
            let (start, end) = (block.start - n_before, block.end - n_before);
            let lines = "\n".repeat(text[start..end].matches('\n').count());
            [&text[..start], &lines, &text[end..]].concat()
        }
        Ok(_) => text.to_owned(),
        Err(reason) => {
            let reason = format!("{reason}, so the text between them is imported like the rest; remove the markers");
            gathered.left_out.push(ImportedItem::skipped(ImportOrigin::file(&file.path), reason));
            text.to_owned()
        }
    }
}

/// Finds the entries of a folder of markdown: a file whose frontmatter has a title is one, of others each section is.
pub(super) fn memory_bank(workspace: &Workspace, request: &ImportRequest) -> Result<SourceContent> {
    let mut gathered = SourceContent::default();
    let wanted = |path: &str| ["md", "markdown"].iter().any(|extension| files::has_extension(path, extension));
    for file in files::texts(workspace, request, &mut gathered, &MEMORY_BANKS, &wanted)? {
        let Some((fields, text, n_before)) = parts(&file, &mut gathered) else { continue };
        let about = about(&file, &fields, request.writer, workspace.now());
        if let Some(title) = files::word(&fields, "title").or_else(|| files::word(&fields, "name")) {
            let knowledge = Knowledge { title: title.to_owned(), body: text.to_owned(), ..about };
            let date = ["modified", "updated", "date", "created"].into_iter().find_map(|key| files::word(&fields, key));
            let fact = Fact::new(file.key.clone(), ImportOrigin::file(&file.path), knowledge);
            gathered.add(Fact { date: date.and_then(parse_time), ..fact });
        } else {
            split(&file, text, n_before, &about, 2, &mut gathered);
        }
    }
    Ok(gathered)
}

/// Returns what all entries of a file have in common.
fn about(file: &ImportFile, fields: &Fields, writer: Source, now: DateTime<Utc>) -> Knowledge {
    let mut tags: Vec<String> = vec![file.stem().to_owned()];
    tags.extend(files::list(fields, "tags"));
    let category = ["category", "type"].into_iter().find_map(|key| files::word(fields, key));
    // An event would be another kind of entry.
    let category = category.filter(|category| class(Some(category)) != Class::Event);
    let is_state = STATES.contains(&file.stem());
    Knowledge {
        category: category.map(str::to_owned),
        source: writer,
        expires_at: is_state.then(|| now + TimeDelta::days(STATE_DAYS)),
        ..Knowledge::new("", tags, "")
    }
}

/// Splits the frontmatter off; a file whose frontmatter cannot be read is left out.
fn parts<'a>(file: &'a ImportFile, gathered: &mut SourceContent) -> Option<(Fields, &'a str, u32)> {
    match file.parts() {
        Ok(parts) => Some(parts),
        Err(reason) => {
            gathered.left_out.push(ImportedItem::skipped(ImportOrigin::file(&file.path), reason));
            None
        }
    }
}

/// Adds the sections of a text, down to headings of this level.
fn split(file: &ImportFile, text: &str, n_before: u32, about: &Knowledge, deepest: u8, gathered: &mut SourceContent) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for section in sections_of(text, deepest) {
        let is_bare = section.body.trim().is_empty();
        if is_bare && (section.has_parts || section.title.is_empty()) {
            continue;
        }
        if !is_bare && section.body.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('@')) {
            let from =
                ImportOrigin { line: Some(n_before.saturating_add(section.line)), ..ImportOrigin::file(&file.path) };
            gathered.left_out.push(ImportedItem::skipped(from, "it only names files that a client reads in its place"));
            continue;
        }
        let title = if section.title.is_empty() { file.stem().to_owned() } else { section.title };
        let number = seen.entry(section.key.clone()).or_default();
        *number += 1;
        // The second section of a name must not take the place of the first.
        let behind = if *number > 1 { format!("~{number}") } else { String::new() };
        let from = ImportOrigin {
            path: file.path.clone(),
            heading: Some(title.as_str().into()),
            line: Some(n_before.saturating_add(section.line)),
        };
        let knowledge = Knowledge { title, body: section.body.to_owned(), ..about.clone() };
        gathered.add(Fact::new(format!("{}#{}{behind}", file.key, section.key), from, knowledge));
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
