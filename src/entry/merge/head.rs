//! Merges two versions of frontmatter, key by key.

use std::collections::HashSet;

use serde_json::Value;

use super::CONFLICT;
use crate::entry::edit::{self, Change};
use crate::entry::fields;
use crate::entry::frontmatter::{self, Fields};
use crate::entry::guard::{self, Key, Style};
use crate::entry::{MAX_FRONTMATTER_BYTES, Source, parse_time};
use crate::text::fold;

/// The key of former ids and titles.
const ALIASES: &str = "aliases";
/// The keys that say where it was learned.
const ORIGIN: [&str; 2] = ["task_id", "run_id"];
/// The keys with the time of the last change, and of the creation.
const UPDATED: [&str; 2] = ["updated_at", "modified"];
const CREATED: [&str; 2] = ["created_at", "created"];

/// A version of an entry.
pub(super) struct Version<'a> {
    /// The text before the frontmatter: a byte order mark, the opening line.
    pub(super) before: &'a str,
    head: &'a str,
    /// The closing line.
    pub(super) fence: &'a str,
    pub(super) body: &'a str,
    pub(super) newline: &'static str,
    keys: Vec<Key>,
    fields: Fields,
}

impl<'a> Version<'a> {
    /// Reads a version; `None` if its frontmatter cannot be read.
    pub(super) fn read(text: &'a str) -> Option<Version<'a>> {
        let split = frontmatter::split(text).ok()?;
        let head = &text[split.head.clone()];
        let (fields, keys) = (frontmatter::parse(head).ok()?, guard::scan(head).ok()?);
        Some(Version {
            before: &text[..split.head.start],
            head,
            fence: &text[split.head.end..split.body],
            body: &text[split.body..],
            newline: split.newline,
            keys,
            fields,
        })
    }

    pub(super) fn title(&self) -> String {
        self.fields.get("title").and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Returns whether a title, folded, is among its aliases.
    pub(super) fn was_called(&self, title: &str) -> bool {
        edit::list_items(self.value(ALIASES)).iter().any(|alias| fold(alias) == title)
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    /// Returns a value on one line: as written in the file, or as JSON if it has several lines.
    fn shown(&self, name: &str) -> Option<String> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        let text = &self.head[key.value.clone()];
        let is_block = matches!(key.style, Style::BlockList | Style::BlockMap | Style::BlockScalar);
        let is_one_line = !is_block && !text.contains(['\n', '\r']);
        if is_one_line { Some(text.to_owned()) } else { self.value(name).map(Value::to_string) }
    }

    fn time(&self, names: [&str; 2]) -> Option<chrono::DateTime<chrono::Utc>> {
        names.iter().filter_map(|name| parse_time(self.value(name)?.as_str()?)).max()
    }

    fn recency(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        self.time(UPDATED).max(self.time(CREATED))
    }

    /// Returns the lines of a key with its value, without comments and blank lines below it.
    fn lines(&self, name: &str) -> Option<&'a str> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        Some(&self.head[key.start..self.end(key)])
    }

    /// Returns the comments and blank lines below one of the keys, or above the first.
    fn below(&self, at: Option<usize>) -> &'a str {
        let start = at.map_or(0, |at| self.end(&self.keys[at]));
        let next = self.keys.get(at.map_or(0, |at| at + 1));
        &self.head[start..next.map_or(self.head.len(), |next| next.start)]
    }

    /// Returns the comment behind the value of a key.
    fn beside(&self, name: &str) -> Option<&'a str> {
        let key = self.keys.iter().find(|key| key.name == name)?;
        let comment = self.head[key.end()..self.end(key)].trim();
        comment.starts_with('#').then_some(comment)
    }

    /// Returns all its comments but those within values.
    fn comments(&self) -> HashSet<&'a str> {
        let below = [None].into_iter().chain((0..self.keys.len()).map(Some)).map(|at| self.below(at));
        let beside = self.keys.iter().filter_map(|key| self.beside(&key.name));
        below.flat_map(str::lines).map(str::trim).filter(|line| line.starts_with('#')).chain(beside).collect()
    }

    /// Returns the comments within values of several lines.
    fn inner_comments(&self) -> Vec<&'a str> {
        let is_collection =
            |key: &&Key| matches!(key.style, Style::FlowList | Style::FlowMap | Style::BlockList | Style::BlockMap);
        let values = self.keys.iter().filter(is_collection).map(|key| &self.head[key.colon_end..key.value.end]);
        values.filter(|value| value.contains('\n')).flat_map(str::lines).filter_map(comment).collect()
    }

    fn end(&self, key: &Key) -> usize {
        self.head[key.end()..].find('\n').map_or(self.head.len(), |at| key.end() + at + 1)
    }
}

/// The merge result for a key.
enum Decision {
    /// It is as one side has it.
    Version {
        /// Whether that is their side: if they have none, it is removed.
        is_theirs: bool,
        /// Whether the other side's value is kept as a comment.
        keeps_other: bool,
    },
    /// It is a list of these items.
    Items(Vec<String>),
}

/// Returns the merged frontmatter; `None` if it would not read back as intended.
pub(super) fn merge(base: Option<&Version<'_>>, ours: &Version<'_>, theirs: &Version<'_>) -> Option<String> {
    let newline = ours.newline;
    let mut names: Vec<&str> = ours.keys.iter().map(|key| key.name.as_str()).collect();
    names.extend(theirs.keys.iter().map(|key| key.name.as_str()).filter(|name| ours.lines(name).is_none()));
    let mut head = String::new();
    let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
    let mut expected: Vec<(&str, Option<Value>)> = Vec::new();
    let old: HashSet<&str> = base.map(Version::comments).unwrap_or_default();
    let known = &old | &ours.comments();
    push(&mut head, ours.below(None), newline);
    for name in names {
        if let Some(at) = theirs.keys.iter().position(|key| key.name == name) {
            push_new(&mut head, theirs.below(at.checked_sub(1)), &known, newline);
        }
        let decision = decide(name, base, ours, theirs);
        let (own, other) = (ours.lines(name).unwrap_or_default(), theirs.lines(name).unwrap_or_default());
        // A list is changed below, in the style of our version.
        let (is_theirs, keeps_other) = match decision {
            Decision::Version { is_theirs, keeps_other } => (is_theirs || own.is_empty(), keeps_other),
            Decision::Items(_) => (own.is_empty(), false),
        };
        push(&mut head, if is_theirs { other } else { own }, newline);
        let (kept, dropped) = if is_theirs { (theirs, ours) } else { (ours, theirs) };
        if let Some(lost) = dropped.shown(name).filter(|_| keeps_other) {
            push(&mut head, &format!("{CONFLICT}{name}: {lost}\n"), newline);
        }
        if dropped.beside(name) != kept.beside(name) {
            push_new(&mut head, dropped.beside(name).unwrap_or_default(), &old, newline);
        }
        match decision {
            Decision::Version { .. } => expected.push((name, kept.value(name).cloned())),
            Decision::Items(items) => lists.push((name, items)),
        }
        // Comments and blank lines below one of our keys stay where they are.
        if let Some(at) = ours.keys.iter().position(|key| key.name == name) {
            push(&mut head, ours.below(Some(at)), newline);
        }
    }
    push_new(&mut head, theirs.below(theirs.keys.len().checked_sub(1)), &known, newline);
    for (name, items) in lists {
        head = with_items(&head, name, &items, newline)?;
    }
    if let Some(lost) = lost_title(base, ours, theirs) {
        // Links may use it.
        let mut items = edit::list_items(frontmatter::parse(&head).ok()?.get(ALIASES));
        if !items.contains(&lost) {
            items.push(lost);
            head = with_items(&head, ALIASES, &items, newline)?;
            expected.retain(|(name, _)| *name != ALIASES);
        }
    }
    push_inner(&mut head, base, ours, theirs);
    let fields = frontmatter::parse(&head).ok()?;
    let is_as_expected = expected.iter().all(|(name, value)| fields.get(*name) == value.as_ref());
    (is_as_expected && head.len() <= MAX_FRONTMATTER_BYTES).then_some(head)
}

/// Returns the title of the side that loses it, if the other title is not the same but for case and spaces.
fn lost_title(base: Option<&Version<'_>>, ours: &Version<'_>, theirs: &Version<'_>) -> Option<String> {
    let (own, other) = (ours.title(), theirs.title());
    let Decision::Version { is_theirs, keeps_other: true } = decide("title", base, ours, theirs) else { return None };
    let lost = Some(if is_theirs { own.clone() } else { other.clone() }).filter(|lost| !lost.is_empty())?;
    (fold(&own) != fold(&other)).then_some(lost)
}

/// Adds the comments of a text that are not known, each on a line of its own.
fn push_new(head: &mut String, text: &str, known: &HashSet<&str>, newline: &str) {
    for line in text.lines().map(str::trim).filter(|line| line.starts_with('#') && !known.contains(line)) {
        push(head, &format!("{line}\n"), newline);
    }
}

/// Adds the comments within values that are lost where a value is the other side's, or a list was written again. One that
/// a side took out stays out.
fn push_inner(head: &mut String, base: Option<&Version<'_>>, ours: &Version<'_>, theirs: &Version<'_>) {
    let (old, own, other) =
        (base.map(Version::inner_comments).unwrap_or_default(), ours.inner_comments(), theirs.inner_comments());
    for comment in own.iter().chain(&other) {
        let is_out = old.contains(comment) && !(own.contains(comment) && other.contains(comment));
        if !is_out && !head.lines().any(|line| line.trim_end().ends_with(comment)) {
            push(head, &format!("{comment}\n"), ours.newline);
        }
    }
}

/// Returns the comment of a line within a value.
fn comment(line: &str) -> Option<&str> {
    let item = line.trim().trim_start_matches("- ");
    let quote = item.chars().next().filter(|first| matches!(first, '"' | '\''));
    let text = quote.and_then(|quote| Some(item[1..].split_once(quote)?.1)).unwrap_or(item);
    if text.starts_with('#') { Some(text) } else { text.split_once(" #").map(|(before, _)| &text[before.len() + 1..]) }
}

fn push(head: &mut String, text: &str, newline: &str) {
    if text.is_empty() {
        return;
    }
    if !head.is_empty() && !head.ends_with('\n') {
        head.push_str(newline);
    }
    head.push_str(&text.replace("\r\n", "\n").replace('\n', newline));
}

fn decide(name: &str, base: Option<&Version<'_>>, ours: &Version<'_>, theirs: &Version<'_>) -> Decision {
    let take = |is_theirs| Decision::Version { is_theirs, keeps_other: false };
    let (old, own, other) = (base.and_then(|base| base.value(name)), ours.value(name), theirs.value(name));
    if own == other {
        return take(ours.lines(name).is_none());
    }
    if other == old && base.is_some() {
        return take(false);
    }
    // If both sides have a list, it is changed in our style.
    if own == old && base.is_some() && !(fields::is_set(name) && own.is_some() && other.is_some()) {
        return take(true);
    }
    let (Some(own), Some(other)) = (own, other) else {
        // A key that one side removed and the other changed, or that only one has, stays.
        return take(own.is_none());
    };
    if fields::is_set(name) {
        return Decision::Items(merged_items(old, own, other));
    }
    let time = |value: &Value| value.as_str().and_then(parse_time);
    if UPDATED.contains(&name) {
        return take(time(other) > time(own));
    }
    if CREATED.contains(&name) {
        return take(time(other).is_some_and(|other| time(own).is_none_or(|own| other < own)));
    }
    if ORIGIN.contains(&name) {
        // What two work trees learned was learned first by the earlier one, whichever is merged into the other.
        let order = |version: &Version<'_>| (version.recency(), version.value("run_id").map(Value::to_string));
        return take(order(theirs) < order(ours));
    }
    if name == "source" && [own, other].iter().any(|source| is_person(source)) {
        // An agent's text that a person wrote as well is the person's.
        return take(!is_person(own));
    }
    Decision::Version { is_theirs: theirs.recency() > ours.recency(), keeps_other: true }
}

fn is_person(source: &Value) -> bool {
    source.as_str().and_then(Source::in_file).is_some_and(Source::is_person)
}

/// Returns our items, then their additional ones, without those that one of the two removed.
fn merged_items(old: Option<&Value>, own: &Value, other: &Value) -> Vec<String> {
    let items = |value: &Value| edit::list_items(Some(value));
    let (old, own, other) = (old.map(items).unwrap_or_default(), items(own), items(other));
    let is_out = |item: &String| old.contains(item) && !(own.contains(item) && other.contains(item));
    let mut merged: Vec<String> = Vec::new();
    for item in own.iter().chain(&other) {
        if !is_out(item) && !merged.contains(item) {
            merged.push(item.clone());
        }
    }
    merged
}

/// Returns the frontmatter with these items in the list of this name. A list that only grows keeps its style.
fn with_items(head: &str, name: &str, items: &[String], newline: &str) -> Option<String> {
    let name = fields::find(name)?.name;
    let own = edit::list_items(frontmatter::parse(head).ok()?.get(name));
    let change = match items.strip_prefix(own.as_slice()) {
        Some(more) => Change::AddItems(name, more.to_vec()),
        None => Change::Set(name, items.into()),
    };
    edit::head_with(head, &[change], newline).ok()
}
