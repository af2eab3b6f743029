//! Rules for agents, such as CLAUDE.md: each item of a list, and each section, that stands for itself is an entry.
//!
//! What depends on its surroundings stays with them: words without a sentence, the steps of a procedure, and what a sentence
//! before a list introduces. Who the agent should be, and what a client writes into such a file, is no rule.

use std::ops::Range;

use super::blocks::{MarkdownBlock, MarkdownBlockKind, blocks, item_text, n_words, without_comments};
use super::files::ImportFile;
use super::item::Item;
use super::places;
use super::report::{ImportOrigin, ImportReport};
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::{OutlineHeading, headings};
use crate::entry::path::{in_folder, is_project_path};
use crate::text::{fold, title_of};

/// The keys of the paths that a file of rules is for, one for each maker.
const PATHS: [&str; 4] = ["globs", "applyTo", "paths", "fileMatchPattern"];
/// The fewest words of an item that stands for itself.
const MIN_ITEM: usize = 3;
/// The fewest words of an item that needs no sentence before its list.
const MIN_SENTENCE: usize = 6;
/// The most words of a paragraph before a list that is its heading.
const MAX_LABEL: usize = 5;
/// The most words of a heading that is a tag.
const MAX_TAG: usize = 3;
/// The words of a heading of pitfalls.
const PITFALLS: [&str; 14] = [
    "gotcha",
    "gotchas",
    "pitfall",
    "pitfalls",
    "caveat",
    "caveats",
    "footgun",
    "footguns",
    "trap",
    "traps",
    "quirks",
    "antipatterns",
    "anti-patterns",
    "mistakes",
];
/// Words of a rule.
const RULE_WORDS: [&str; 16] = [
    "always", "avoid", "cannot", "don't", "do", "ensure", "keep", "must", "never", "no", "not", "only", "prefer",
    "should", "use", "without",
];
/// How a sentence begins that says who the agent should be, or that a client writes into such a file.
const NO_RULES: [&str; 9] = [
    "you are ",
    "you're ",
    "act as ",
    "imagine you are ",
    "your role is ",
    "as a senior ",
    "as an expert ",
    "this file provides guidance",
    "this file contains instructions for ",
];

/// Reads a file of rules.
pub(super) fn read(file: &ImportFile, report: &mut ImportReport) -> Vec<Item> {
    let text = without_comments(&file.text);
    let mut rules = Rules { file, about: about(file), items: Vec::new(), text: &text };
    let all = headings(&text);
    let is_title = |first: &OutlineHeading| {
        let is_above = all.iter().all(|other| other.range == first.range || other.level > first.level);
        first.level == 1 && is_above && !has_pitfall_word(&first.title)
    };
    let title = all.first().filter(|first| is_title(first));
    let mut above: Vec<(u8, String)> = Vec::new();
    rules.section(&[], 0..all.first().map_or(text.len(), |first| first.range.start));
    for (index, heading) in all.iter().enumerate() {
        above.retain(|(level, _)| *level < heading.level);
        if title.is_none_or(|title| title.range != heading.range) {
            above.push((heading.level, heading.title.clone()));
        }
        let end = all.get(index + 1).map_or(text.len(), |next| next.range.start);
        let names: Vec<String> = above.iter().map(|(_, name)| name.clone()).filter(|name| !name.is_empty()).collect();
        rules.section(&names, heading.range.end..end);
    }
    let items = rules.items;
    if items.is_empty() {
        report.skip(ImportOrigin::file(&file.path), "", "it has no rule that stands for itself");
    }
    items
}

/// Returns what all rules of a file have: the paths that they are for, and the folder that they are in.
fn about(file: &ImportFile) -> Knowledge {
    let patterns: Vec<String> = PATHS.iter().flat_map(|key| file.list(key)).collect();
    // A rule for everything is about no file in particular.
    let is_for_all = patterns.iter().any(|pattern| matches!(pattern.as_str(), "*" | "**" | "**/*" | "**/**"));
    let mut files: Vec<String> = patterns.iter().map(|pattern| pattern.trim_start_matches("./").to_owned()).collect();
    files.retain(|pattern| !is_for_all && is_project_path(pattern.trim_end_matches('/')));
    let folder = places::folder_of_rules(&file.path);
    let mut tags = vec!["rules".to_owned()];
    if file.is_in_project() && !folder.is_empty() {
        tags.push(folder.replace(',', " "));
        for pattern in &mut files {
            *pattern = in_folder(folder, pattern);
        }
        if files.is_empty() {
            files.push(in_folder(folder, "**"));
        }
    }
    tags.extend(file.list("tags"));
    Knowledge { source: file.writer, files, ..Knowledge::new("", tags, "") }
}

/// The rules of a file so far.
struct Rules<'a> {
    file: &'a ImportFile,
    about: Knowledge,
    items: Vec<Item>,
    text: &'a str,
}

impl Rules<'_> {
    /// Adds the rules in this part of the text, below these headings.
    fn section(&mut self, names: &[String], range: Range<usize>) {
        let (line, text) = (self.text[..range.start].matches('\n').count() + 1, self.text[range].to_owned());
        self.part(names, &text, line);
    }

    /// Adds the rules in a text that begins on this line.
    fn part(&mut self, names: &[String], text: &str, line: usize) {
        let line_of = |at: usize| line + text[..at].matches('\n').count();
        // What stays together.
        let mut rest: Vec<(usize, String)> = Vec::new();
        let (mut is_open, mut may_name) = (false, false);
        for MarkdownBlock { range, kind } in blocks(text) {
            let block = text[range.clone()].trim_end().to_owned();
            let (was_open, could_name) = (std::mem::take(&mut is_open), std::mem::take(&mut may_name));
            match kind {
                MarkdownBlockKind::List { is_ordered, items } => {
                    let before = rest.last().map(|(_, before)| before.clone()).filter(|_| could_name);
                    let items: Vec<(usize, &str)> =
                        items.into_iter().map(|item| (line_of(item.start), text[item].trim_end())).collect();
                    match self.list(names, before.as_deref(), is_ordered, &items) {
                        Some(is_named) => {
                            rest.truncate(rest.len() - usize::from(is_named));
                            is_open = items.last().is_some_and(|(_, last)| last.ends_with(':'));
                        }
                        None => rest.push((range.start, block)),
                    }
                }
                // What stands below the last item of a list without indentation.
                MarkdownBlockKind::Other if was_open => {
                    if let Some(last) = self.items.last_mut() {
                        last.knowledge.body = format!("{}\n\n{block}", last.knowledge.body);
                    }
                }
                MarkdownBlockKind::Paragraph if !self.paragraph(names, &block, line_of(range.start)) => {
                    rest.push((range.start, block));
                    may_name = true;
                }
                MarkdownBlockKind::Paragraph => {}
                MarkdownBlockKind::Other => rest.push((range.start, block)),
            }
        }
        if let Some((start, _)) = rest.first() {
            let line = line_of(*start);
            let whole: Vec<String> = rest.into_iter().map(|(_, block)| block).collect();
            self.whole(names, &whole.join("\n\n"), line);
        }
    }

    /// Adds the items of a list, each with its line, below the paragraph `before` it. Returns whether that only names the list;
    /// `None` if the list stays with the rest.
    fn list(
        &mut self,
        names: &[String],
        before: Option<&str>,
        is_ordered: bool,
        items: &[(usize, &str)],
    ) -> Option<bool> {
        let label = before.and_then(label);
        let is_introduced = label.is_none() && before.is_some_and(|before| before.ends_with(':'));
        let is_named = label.is_some() || is_introduced;
        let below: Vec<String> = names.iter().cloned().chain(label).collect();
        let bodies: Vec<String> = items.iter().map(|(_, item)| item_text(item)).collect();
        if !is_split(&bodies, is_ordered, is_introduced, is_of_pitfalls(&below)) {
            return None;
        }
        let mut short: Vec<&str> = Vec::new();
        for ((line, item), body) in items.iter().zip(&bodies) {
            if !self.item(&below, body, *line) {
                short.push(item);
            }
        }
        if let (false, Some((line, _))) = (short.is_empty(), items.first()) {
            self.whole(&below, &short.join("\n"), *line);
        }
        Some(is_named)
    }

    /// Adds the rules in a paragraph that are entries of their own. Returns whether nothing of it stays with the rest.
    fn paragraph(&mut self, names: &[String], block: &str, line: usize) -> bool {
        match rule_sentences(block) {
            None if is_of_pitfalls(names) && label(block).is_none() && !block.ends_with(':') => {
                self.item(names, block, line)
            }
            None => false,
            Some(sentences) => {
                for sentence in sentences {
                    self.item(names, &sentence, line);
                }
                true
            }
        }
    }

    /// Adds an item of a list, or those of the list in it that it names. Returns whether it stands for itself.
    fn item(&mut self, names: &[String], body: &str, line: usize) -> bool {
        let inner = blocks(body);
        if let [first, rest @ ..] = inner.as_slice()
            && let [MarkdownBlock { kind: MarkdownBlockKind::List { .. }, range }] = rest
            && let Some(label) = label(body[first.range.clone()].trim_end())
        {
            let line = line + body[..range.start].matches('\n').count();
            self.part(&[names, &[label]].concat(), &body[range.clone()], line);
            return true;
        }
        let Some(sentences) = rule_sentences(body) else {
            let stands = n_words(body) >= if is_of_pitfalls(names) { 1 } else { MIN_ITEM };
            if stands {
                self.push(names, &title_in(body), body, line);
            }
            return stands;
        };
        for sentence in sentences {
            self.item(names, &sentence, line);
        }
        true
    }

    /// Adds what is left of a section, under the names of its headings.
    fn whole(&mut self, names: &[String], body: &str, line: usize) {
        let n_words = n_words(body);
        // A heading says what a single word means, but not what a link does.
        if n_words == 0 || (names.is_empty() || body.contains("](")) && n_words < MIN_ITEM {
            return;
        }
        let is_pitfall = |name: &&String| has_pitfall_word(name);
        // The heading of all pitfalls says nothing about one.
        let own: Vec<&str> = names.iter().filter(|name| !is_pitfall(name)).map(String::as_str).collect();
        let described = self.file.word(&["description"]).filter(|text| self.items.is_empty() && text.len() <= 100);
        let title = match (names, own.as_slice()) {
            ([], _) => described.map_or_else(|| title_in(body), str::to_owned),
            (names, []) => names.join(": "),
            (_, own) if is_of_pitfalls(names) => own.last().copied().unwrap_or_default().to_owned(),
            (_, own) => own.join(": "),
        };
        self.push(names, &title, body, line);
    }

    fn push(&mut self, names: &[String], title: &str, body: &str, line: usize) {
        let tags = names.iter().map(|name| name.replace(',', " "));
        let short = tags.filter(|name| (1..=MAX_TAG).contains(&n_words(name)));
        let category = is_of_pitfalls(names).then(|| "pitfall".to_owned());
        let knowledge = Knowledge {
            title: title.to_owned(),
            body: body.to_owned(),
            category,
            tags: self.about.tags.iter().cloned().chain(short).collect(),
            ..self.about.clone()
        };
        let folder = places::folder_of_rules(&self.file.path);
        let of = names.last().map(String::as_str).filter(|name| *name != title);
        let of = of.unwrap_or(if folder.is_empty() { self.file.stem() } else { folder });
        self.items.push(Item::new(self.file, Some(&names.join("/")), line, of, knowledge));
    }
}

/// Returns whether each item of a list is a rule of its own.
fn is_split(items: &[String], is_ordered: bool, is_introduced: bool, is_of_pitfalls: bool) -> bool {
    let most = |is_it: &dyn Fn(&str) -> bool| items.iter().filter(|item| is_it(item)).count() * 2 >= items.len();
    let is_rule = |item: &str| {
        let first = item.lines().next().unwrap_or_default().to_lowercase();
        first.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').any(|word| RULE_WORDS.contains(&word))
    };
    let stands = |item: &str| n_words(item) >= MIN_ITEM;
    if is_of_pitfalls {
        true
    } else if is_ordered {
        // Others are the steps of a procedure.
        most(&is_rule)
    } else if is_introduced {
        most(&is_rule) || items.iter().all(|item| n_words(item) >= MIN_SENTENCE)
    } else {
        most(&stands)
    }
}

/// Returns the name that a paragraph gives to the list below it.
fn label(paragraph: &str) -> Option<String> {
    let text = plain(paragraph);
    let (is_bold, has_colon) = (paragraph.starts_with("**"), text.ends_with(':'));
    let bare = text.trim_end_matches([':', ' ']);
    let words = n_words(bare);
    let limit = if is_bold || !has_colon { MAX_LABEL } else { MIN_ITEM };
    let is_sentence = bare.ends_with(['.', '!', '?', '`']) || paragraph.contains('\n');
    ((1..=limit).contains(&words) && !is_sentence).then(|| bare.to_owned())
}

/// Returns the sentences of a paragraph that are rules, where one of its sentences is not a rule; `None` where all may be.
fn rule_sentences(paragraph: &str) -> Option<Vec<String>> {
    let is_no_rule = |sentence: &str| {
        let plain = plain(sentence).to_lowercase();
        NO_RULES.iter().any(|begin| plain.trim_start_matches(['#', '>', ' ']).starts_with(begin))
    };
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut sentences = Vec::new();
    let mut rest = line.as_str();
    while !rest.is_empty() {
        let sentence = crate::text::first_sentence(rest, usize::MAX);
        rest = rest.get(sentence.len()..).unwrap_or_default().trim_start();
        sentences.push(sentence);
    }
    let n_all = sentences.len();
    sentences.retain(|sentence| !is_no_rule(sentence));
    (sentences.len() < n_all).then_some(sentences)
}

fn is_of_pitfalls(names: &[String]) -> bool {
    names.iter().any(|name| has_pitfall_word(name))
}

fn has_pitfall_word(name: &str) -> bool {
    let name = fold(name);
    let mut words = name.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    words.any(|word| PITFALLS.contains(&word)) || name == "known issues" || name == "watch out"
}

fn title_in(text: &str) -> String {
    plain(&title_of(&plain(text)))
}

fn plain(text: &str) -> String {
    text.replace("**", "").replace("__", "").trim_matches(['*', '_', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Source;
    use crate::entry::frontmatter::Fields;

    /// Checks the titles and the categories of the entries of a file of rules.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let (path, key) = ("CLAUDE.md".to_owned(), "CLAUDE.md".to_owned());
        let file =
            ImportFile { path, key, text: text.to_owned(), fields: Fields::new(), n_before: 0, writer: Source::Human };
        let items = read(&file, &mut ImportReport::default());
        let found = |item: &Item| {
            let Knowledge { title, category, .. } = &item.knowledge;
            category.as_ref().map_or_else(|| title.clone(), |category| format!("{category}: {title}"))
        };
        assert_eq!(items.iter().map(found).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn each_item_that_stands_for_itself_is_an_entry() {
        check(
            "# CLAUDE.md\n\nThis file provides guidance to Claude Code.\n\n## Git\n\n- Never commit to `main`, never push.\n- Squash merge.\n",
            &["Never commit to `main`, never push.", "Git"],
        );
        check(
            "- **Use pnpm.** Never npm.\n- Run the linter\n  before a commit.\n",
            &["Use pnpm.", "Run the linter before a commit."],
        );
        check("## Layers\n\nThe API has three layers:\n\n- routes\n- services\n", &["Layers"]);
        check("## Release\n\n1. Raise the version.\n2. Tag it.\n3. Push the tag.\n", &["Release"]);
        check(
            "## Rules\n\n1. Always test the code.\n2. Never push to main.\n",
            &["Always test the code.", "Never push to main."],
        );
        check(
            "- Testing:\n  - Run the tests first.\n  - Never mock the clock.\n",
            &["Run the tests first.", "Never mock the clock."],
        );
        check(
            "Code style\n- Write short functions.\n- Name things well enough.\n",
            &["Write short functions.", "Name things well enough."],
        );
    }

    #[test]
    fn each_pitfall_is_an_entry() {
        check(
            "## Gotchas\n\n- Port 5432 is taken.\n  ```sh\n  lsof\n  ```\n- Redis evicts.\n\n### Clocks\n\nThey drift a lot.\n",
            &["pitfall: Port 5432 is taken.", "pitfall: Redis evicts.", "pitfall: They drift a lot."],
        );
        check("**Common pitfalls:**\n\n1. Do it twice.\n", &["pitfall: Do it twice."]);
    }

    #[test]
    fn a_persona_and_what_says_nothing_is_no_rule() {
        check(
            "You are a senior engineer. Be concise. Never write comments that restate code.\n",
            &["Never write comments that restate code."],
        );
        check(
            "# Agent\n\nYou are an expert in Rust.\n\n[![CI](a.svg)](b)\n\n<!-- - Never do this here. -->\n\n@docs/x.md\n",
            &[],
        );
    }

    #[test]
    fn sections_keep_their_tables_and_code() {
        check(
            "# Shop\n\n## API\n\nRoutes are in `src`.\n\n### Ports\n\n| a | b |\n|---|---|\n| web | 80 |\n",
            &["API", "API: Ports"],
        );
        check(
            "- Run the tests with:\n\n```sh\njust test\n```\n\nMore of it here.\n",
            &["Run the tests with:", "More of it here."],
        );
    }
}
