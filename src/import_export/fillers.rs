//! What says nothing in a source: templates, what nobody filled in, tables of contents, licences, and texts that only name
//! another file.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::files::{ImportFile, without_comments};
use super::sources::file_name;
use super::sources::is_instructions;

/// The fewest words of a section that says something: a date, a number or a link is a detail.
pub(super) const MIN_WORDS: usize = 1;
/// The fewest words of a heading that is a sentence.
const MIN_SENTENCE: usize = 3;
/// The most words, beside links, of a text that only names another file.
const MAX_POINTER_WORDS: usize = 12;
/// The most words of the sentence that says why a text only names another file.
const MAX_REMARK_WORDS: usize = 20;
/// The words with which generated instructions begin.
const BOILERPLATE: &str = "This file provides guidance to";
/// The most words beside the placeholders of a line that says nothing. A rule may have a label or a name to fill in.
const MAX_WORDS_BESIDE: usize = 3;
const UNFILLED: &str = "it is what a template says, which nobody filled in";
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
/// The folders of templates, without the `_` before their names.
const TEMPLATE_FOLDERS: [&str; 1] = ["templates"];
/// What licences say. A text with two of them is one, if it is as long as the shortest.
const LICENCE_CLAUSES: [&str; 9] = [
    "permission is hereby granted",
    "permission to use, copy, modify",
    "redistribution and use in source and binary forms",
    "the above copyright notice",
    "subject to the following conditions",
    "without warranty of any kind",
    "without warranties or conditions of any kind",
    "\"as is\"",
    "in no event shall",
];
/// The fewest words of a licence's text.
const MIN_LICENCE_WORDS: usize = 40;
/// The names of values that say how far a note is, and not what it knows.
const STATE_NAMES: [&str; 12] = [
    "created",
    "created at",
    "updated",
    "last updated",
    "date",
    "status",
    "priority",
    "started",
    "completed",
    "due",
    "owner",
    "assignee",
];
/// The names of values that name the text in the place of this one.
const POINTER_NAMES: [&str; 5] = ["see", "see also", "moved to", "siehe", "continued in"];

/// Returns why a file is a template by its name or its folder: `adr-template.md`, `0000-adr-template-de.md`, `templates/`.
pub(super) fn is_template(file: &ImportFile) -> Option<&'static str> {
    let folder = file.folder.to_lowercase();
    let stem = file.stem().to_lowercase();
    let mut words = stem.split(|letter: char| !letter.is_alphanumeric()).rev();
    // A language may follow.
    let last = words.next().filter(|last| last.len() != 2).or_else(|| words.next());
    let is_one =
        last == Some("template") || folder.split('/').any(|part| TEMPLATE_FOLDERS.contains(&part.trim_matches('_')));
    is_one.then_some("it is a template")
}

/// Returns why a text says nothing whatever its kind: nobody filled it in, or it only says where another text is.
pub(super) fn no_content(text: &str) -> Option<&'static str> {
    let said = without_comments(text);
    if said.is_empty() {
        return Some("it is empty");
    }
    if is_left_open(&said) || is_unfilled(&said) {
        return Some(UNFILLED);
    }
    is_stub(&said).then_some("it only names another text")
}

/// Returns why a section is no fact; `None` if it is one.
pub(super) fn no_fact(body: &str) -> Option<&'static str> {
    if let Some(reason) = no_content(body) {
        return Some(reason);
    }
    let said = without_comments(body);
    if is_licence(&said) {
        return Some("it is the text of a licence");
    }
    let links = links(&said);
    let is_pointer = said.lines().all(|line| line.trim().is_empty() || is_import(line))
        || is_instructions(&said) && n_words(&said) <= MAX_POINTER_WORDS && said.lines().count() <= 3;
    if is_pointer {
        return Some("it only names files that a client reads in its place");
    }
    if !links.is_empty() && links.iter().all(|link| link.starts_with('#')) && n_words(&said) < MIN_WORDS {
        return Some("it is a table of contents");
    }
    (said.starts_with(BOILERPLATE) && said.lines().count() <= 2).then_some("it only introduces the rest of the file")
}

/// Returns what a section says: its text, or its heading, if that is a sentence with nothing below it.
///
/// # Errors
///
/// Why it is no fact.
pub(super) fn fact_of(heading: Option<&str>, body: String) -> Result<String, &'static str> {
    let is_sentence = |heading: &&str| n_words(heading) >= MIN_SENTENCE && no_fact(heading).is_none();
    match no_fact(&body) {
        None => Ok(body),
        Some(reason) if !without_comments(&body).is_empty() => Err(reason),
        Some(reason) => heading.filter(is_sentence).map(str::to_owned).ok_or(reason),
    }
}

/// Returns whether a line, which may be an item of a list, is only an `@` and a path, whose file a client reads in its place.
fn is_import(line: &str) -> bool {
    let bare = line.trim().trim_start_matches(['-', '*', '+']).trim().trim_matches('`');
    bare.strip_prefix('@').is_some_and(|path| {
        let is_path = path.contains('/') || file_name(path).rsplit_once('.').is_some_and(|(name, _)| !name.is_empty());
        is_path && !path.contains(char::is_whitespace)
    })
}

/// Returns whether a text is that of a licence: its clauses tell, since a rule about licences has the same heading.
fn is_licence(text: &str) -> bool {
    let plain = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().replace(['“', '”'], "\"");
    let n_clauses = LICENCE_CLAUSES.iter().filter(|clause| plain.contains(**clause)).count();
    n_clauses >= 2 && n_words(text) >= MIN_LICENCE_WORDS
}

/// Returns whether all that a text says, headings aside, is what a template has where somebody should write something.
fn is_left_open(text: &str) -> bool {
    let bare = |line: &str| {
        let bare = line.trim_start_matches(['#', '-', '*', '_', '>', ' ']).trim_end_matches(['*', '_', ' ', '.', ':']);
        bare.to_lowercase()
    };
    let is_filler = |line: &str| {
        let bare = bare(line);
        let is_bracketed = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        is_bracketed.is_some_and(|inner| !inner.contains(['[', ']'])) || FILLERS.contains(&bare.as_str())
    };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !bare(line).is_empty()).collect();
    let is_all = lines.iter().all(|line| line.starts_with('#') || is_filler(line));
    is_all && (lines.is_empty() || lines.iter().any(|line| is_filler(line)))
}

/// Returns whether most lines of a text, beside headings and code, have a placeholder in the place of what they are about.
fn is_unfilled(text: &str) -> bool {
    let (mut n_lines, mut n_unfilled, mut is_code) = (0, 0, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code || line.starts_with('#') || !line.contains(char::is_alphabetic) || line.ends_with(':') {
            continue;
        }
        n_lines += 1;
        n_unfilled += usize::from(has_placeholder(line) && n_words_beside_brackets(line) <= MAX_WORDS_BESIDE);
    }
    n_unfilled >= 2 && n_unfilled * 2 > n_lines
}

/// Returns the number of words of a line that are not in brackets.
fn n_words_beside_brackets(line: &str) -> usize {
    let mut depth = 0_usize;
    let beside = line.chars().filter(|letter| {
        depth += usize::from(matches!(letter, '[' | '{' | '<'));
        let is_beside = depth == 0;
        depth = depth.saturating_sub(usize::from(matches!(letter, ']' | '}' | '>')));
        is_beside
    });
    let beside: String = beside.collect();
    beside.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count()
}

/// Returns whether a line has a placeholder: `[NAME OF IT]`, `[Proposed | Accepted]`, `{short title}`, `<what it is>` or
/// `YYYY-MM-DD`. What is between backquotes is code.
fn has_placeholder(line: &str) -> bool {
    let prose: String = line.split('`').step_by(2).collect();
    let between = |open: char, close: char, is_one: &dyn Fn(&str, &str) -> bool| {
        prose.match_indices(open).any(|(at, _)| {
            let inner = &prose[at + open.len_utf8()..];
            inner.split_once(close).is_some_and(|(inner, behind)| !inner.contains(open) && is_one(inner, behind))
        })
    };
    let has_words = |inner: &str| inner.contains(char::is_alphabetic) && inner.trim().contains(' ');
    let is_upper = |inner: &str| {
        inner.chars().filter(|letter| letter.is_alphabetic()).count() > 2 && !inner.contains(char::is_lowercase)
    };
    prose.contains("YYYY-MM-DD")
        || between('[', ']', &|inner, behind| {
            !behind.starts_with(['(', '[', ':', ']']) && (is_upper(inner) || inner.contains(" | "))
        })
        || between('{', '}', &|inner, _| has_words(inner) && !inner.contains([':', '=', '"', ';']))
        || between('<', '>', &|inner, _| has_words(inner) && !inner.contains(['=', '/', '"', ':', '!']))
}

/// Returns whether a text only says how far something is and where it is described, or only where.
fn is_stub(text: &str) -> bool {
    let (mut n_states, mut names_other, mut rest) = (0, false, String::new());
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let bare: String = line.chars().filter(|letter| !matches!(letter, '*' | '_')).collect();
        let named = bare.trim_start_matches(['-', ' ']).split_once(':');
        let name = named.map(|(name, _)| name.trim().to_lowercase()).unwrap_or_default();
        if STATE_NAMES.contains(&name.as_str()) {
            n_states += 1;
        } else if POINTER_NAMES.contains(&name.as_str()) && line.contains("](") {
            names_other = true;
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    let n_left = n_words(&rest);
    names_other && n_left <= MAX_REMARK_WORDS || n_states >= 2 && n_left == 0 && !links(&rest).is_empty()
}

/// Returns the number of words that a text says beside its links: those with a letter, and those of code.
pub(super) fn n_words(text: &str) -> usize {
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

    #[test]
    fn what_says_nothing_is_no_fact() {
        let licence = "Copyright (c) 2026 The Authors\n\nPermission is hereby granted, free of charge, to any person who obtains a copy of this \
             software, to deal in it without restriction, including the rights to use, copy, modify and sell it.\n\n\
             THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND. IN NO EVENT SHALL THE AUTHORS BE LIABLE.\n";
        for (body, expected) in [
            ("Run `just test`.", None),
            ("<!-- how to run them -->\n", Some("it is empty")),
            ("- [Describe the goal]\n- [ ]\n_TBD_\n", Some(UNFILLED)),
            ("- [One](#one)\n- [Two](#two)\n", Some("it is a table of contents")),
            ("- [One](one.md)\n", None),
            ("@../AGENTS.md\n", Some("it only names files that a client reads in its place")),
            ("- @docs/a\n- `@b.md`\n", Some("it only names files that a client reads in its place")),
            ("@Transactional\n", None),
            ("@b.md says why\n", None),
            ("See [AGENTS.md](../AGENTS.md).", Some("it only names files that a client reads in its place")),
            ("This file provides guidance to agents that work here.", Some("it only introduces the rest of the file")),
            // Licences, and rules about them.
            (licence, Some("it is the text of a licence")),
            ("License everything under 0BSD.", None),
            ("We say without warranty of any kind, and \"as is\".", None),
            // Templates, and what only looks like them.
            (
                "# Brief\n\n[HIGH-LEVEL DESCRIPTION OF IT]\n\n## Goals\n\n- [FIRST GOAL]\n- Second: [GOAL]\n",
                Some(UNFILLED),
            ),
            ("**Date:** YYYY-MM-DD\n**Who:** {names of the deciders}\n\n<what it is about>\n", Some(UNFILLED)),
            ("[Proposed | Accepted | Rejected]\n\nDate: YYYY-MM-DD\n", Some(UNFILLED)),
            ("- [MUST] Use tabs in all files.\n- [NEVER] Push to main without a review.\n", None),
            ("- [API] lives in src/api and is public\n- [DB] lives in src/db\n- The rest is in src\n", None),
            ("Use helm upgrade <release name> in it.\nThen call curl <host name> for the health.\n", None),
            ("- `GET /brands/{brand id}` lists\n- `[NAME]` is needed\n", None),
            ("- [API](api.md) is public\n- [SQL][sql] is not\n- Vec<T> and <br />\n", None),
            // Pointers and stubs, and a note that knows something.
            (
                "**Status:** RESOLVED\n**See:** [ADR 1](001-it.md)\n\n---\n\n*Kept for context. All has moved to ADR 1.*\n",
                Some("it only names another text"),
            ),
            (
                "*Created: 2025-04-14*\n\n**Status**: 🔄 **IN_PROGRESS**\n\n## Details\n\n[Details](tasks/T1.md)\n",
                Some("it only names another text"),
            ),
            ("*Created: 2025-04-14*\n**Status**: done\n\nThe cache has 5 GB, see [it](it.md).\n", None),
            ("**Port**: 8080\n**Host**: db\n\n[More](more.md)\n", None),
            ("## Rules\n\n[Add the rules of the project here]\n\n## Issues\n\n- None yet.\n", Some(UNFILLED)),
            ("## Never push to main\n\n---\n", None),
            ("## Issues\n\n- None of them is open.\n", None),
        ] {
            assert_eq!(no_fact(body), expected, "{body}");
        }
    }

    #[test]
    fn templates_are_known_by_their_names_and_folders() {
        let check = |folder: &str, name: &str, expected: bool| {
            let file = ImportFile {
                folder: folder.to_owned(),
                ..ImportFile::new(format!("{folder}/{name}"), String::new(), String::new())
            };
            assert_eq!(is_template(&file).is_some(), expected, "{folder}/{name}");
        };
        check("", "adr-template.md", true);
        check("", "0000-adr-template-de.md", true);
        check("", "template.md", true);
        check("notes", "commit_message_template.md", true);
        check("Templates", "progress.md", true);
        check("ops/_templates", "progress.md", true);
        check("", "email-templates.md", false);
        check("", "template-engine.md", false);
        check("ops", "ab.md", false);
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
