//! Edits that change one key, or the body, and leave every other byte of a file alone.
//!
//! An edit is made on the text, at the place that [`guard::scan`] found, and then verified: the frontmatter is parsed
//! before and after, and only the edited keys may differ. An edit that cannot be verified is refused, so a layout that
//! this module does not know never damages a file.

use serde_json::{Map, Value};

use super::frontmatter::{self, double_quote, quote};
use super::guard::{self, Key, Style};
use super::{MAX_FILE_BYTES, MAX_FRONTMATTER_BYTES};

/// One change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets a key to this text, in double quotes. A missing key is added after the last.
    Set(&'static str, String),
    /// Sets a key to this whole number.
    SetNumber(&'static str, i64),
    /// Sets a key to this mapping, on one line.
    SetMapping(&'static str, Map<String, Value>),
    /// Appends items to a list, in the file's own style. A missing key is added.
    AddItems(&'static str, Vec<String>),
    /// Sets a key to this list, on one line.
    SetItems(&'static str, Vec<String>),
    /// Replaces each item of a list that is written as the first text by the second, which needs no quotes.
    ReplaceItem(&'static str, String, String),
    /// Removes a key with its lines. A missing key is not an error.
    Remove(&'static str),
    /// Replaces everything after the frontmatter.
    Body(String),
}

impl Change {
    /// Returns the key that it changes; `None` for the body.
    pub(crate) fn key(&self) -> Option<&'static str> {
        match self {
            Change::Set(key, _)
            | Change::SetNumber(key, _)
            | Change::SetMapping(key, _)
            | Change::AddItems(key, _)
            | Change::SetItems(key, _)
            | Change::ReplaceItem(key, ..)
            | Change::Remove(key) => Some(key),
            Change::Body(_) => None,
        }
    }
}

/// Returns the file `text` with the changes made, or why they cannot be made safely.
pub fn apply(text: &str, changes: &[Change]) -> Result<String, String> {
    let mut edited = text.to_owned();
    for change in changes {
        edited = apply_one(&edited, change)?;
    }
    let head_of = |text: &str| {
        let split = frontmatter::split(text).map_err(|_| "the edited file would have no frontmatter".to_owned())?;
        Ok::<_, String>(text[split.head].to_owned())
    };
    let keys: Vec<&str> = changes.iter().filter_map(Change::key).collect();
    let (before, after) = (head_of(text)?, head_of(&edited)?);
    let says_so = |change: &Change| is_done(change, &before, &after);
    if !frontmatter::only_differs_in(&before, &after, &keys) || !changes.iter().all(says_so) {
        return Err("its frontmatter has a layout that cannot be edited safely; change it in an editor".to_owned());
    }
    if edited.len() > MAX_FILE_BYTES || after.len() > MAX_FRONTMATTER_BYTES {
        return Err("it would then be over the size limit of an entry".to_owned());
    }
    Ok(edited)
}

/// Returns whether the edited frontmatter has the requested change.
fn is_done(change: &Change, before: &str, after: &str) -> bool {
    let value = |head: &str, key: &str| frontmatter::parse(head).ok().map(|mut fields| fields.remove(key));
    let items = |head: &str, key: &str| value(head, key).map(|value| list_items(value.as_ref()));
    match change {
        Change::Set(key, text) => value(after, key) == Some(Some(Value::String(text.clone()))),
        Change::SetNumber(key, number) => value(after, key) == Some(Some(Value::String(number.to_string()))),
        Change::SetMapping(key, mapping) => value(after, key) == Some(Some(Value::Object(mapping.clone()))),
        Change::SetItems(key, new) => items(after, key).as_ref() == Some(new),
        Change::Remove(key) => value(after, key) == Some(None),
        Change::AddItems(key, new) => {
            let old = items(before, key).unwrap_or_default();
            items(after, key) == Some(old.into_iter().chain(new.iter().cloned()).collect())
        }
        Change::ReplaceItem(key, old, new) => {
            let replaced = |item: String| if item == *old { new.clone() } else { item };
            let old_items = items(before, key).unwrap_or_default();
            items(after, key) == Some(old_items.into_iter().map(replaced).collect())
        }
        Change::Body(_) => true,
    }
}

/// Returns the items of a list, or of a string with commas, as readers of entries see them.
pub(crate) fn list_items(value: Option<&Value>) -> Vec<String> {
    let items = match value {
        Some(Value::Array(items)) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    items.iter().map(|item: &String| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Returns whether the frontmatter of a file has a top-level key of this name.
pub(crate) fn has_key(text: &str, name: &str) -> bool {
    let Ok(split) = frontmatter::split(text) else { return false };
    guard::scan(&text[split.head]).is_ok_and(|keys| keys.iter().any(|key| key.name == name))
}

/// Returns the key that has the time of a file's last change. Another program's name for it is updated, so that the
/// file does not contradict itself.
pub(crate) fn updated_key(text: &str) -> &'static str {
    if has_key(text, "modified") && !has_key(text, "updated_at") { "modified" } else { "updated_at" }
}

fn apply_one(text: &str, change: &Change) -> Result<String, String> {
    let split = frontmatter::split(text).map_err(|_| "it has no frontmatter".to_owned())?;
    let newline = split.newline;
    if let Change::Body(body) = change {
        return Ok(with_body(text, split.body, newline, body));
    }
    let head = &text[split.head.clone()];
    let keys = guard::scan(head).map_err(|_| "its frontmatter has something that entries may not have".to_owned())?;
    let find = |name: &str| keys.iter().find(|key| key.name == name);
    let mut new_head = head.to_owned();
    match change {
        Change::Set(name, value) => set(&mut new_head, find(name), name, &double_quote(value), newline),
        Change::SetNumber(name, value) => set(&mut new_head, find(name), name, &value.to_string(), newline),
        Change::SetMapping(name, mapping) => set(&mut new_head, find(name), name, &flow(mapping), newline),
        Change::SetItems(name, items) => set(&mut new_head, find(name), name, &list(items), newline),
        Change::ReplaceItem(name, old, new) => {
            if let Some(key) = find(name) {
                let value = replaced_item(&head[key.value.clone()], old, new);
                new_head.replace_range(key.value.clone(), &value);
            }
        }
        Change::AddItems(name, items) => add_items(&mut new_head, find(name), name, items, newline)?,
        Change::Remove(name) => {
            if let Some(key) = find(name) {
                new_head.replace_range(key.start..line_end(head, key.value.end.max(key.colon_end)), "");
            }
        }
        Change::Body(_) => {}
    }
    Ok([&text[..split.head.start], &new_head, &text[split.head.end..]].concat())
}

/// Returns a mapping as YAML on one line: JSON is YAML in its flow style.
pub(super) fn flow(mapping: &Map<String, Value>) -> String {
    Value::Object(mapping.clone()).to_string()
}

/// Writes a list on one line.
pub(super) fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
    format!("[{}]", items.join(", "))
}

/// Replaces the body, with an empty line before it and the file's own line ends.
fn with_body(text: &str, body_start: usize, newline: &str, body: &str) -> String {
    let mut edited = text[..body_start].to_owned();
    if !edited.ends_with('\n') {
        edited.push_str(newline);
    }
    let body = body.trim_matches(['\n', '\r']).trim_end();
    if !body.is_empty() {
        edited.push_str(newline);
        for line in body.lines() {
            edited.push_str(line);
            edited.push_str(newline);
        }
    }
    edited
}

/// Sets a key of the frontmatter `head` to a value in its written form.
pub(super) fn set(head: &mut String, key: Option<&Key>, name: &str, rendered: &str, newline: &str) {
    match key {
        None => push_line(head, &format!("{name}: {rendered}"), newline),
        Some(key) if key.value.is_empty() => head.insert_str(key.colon_end, &format!(" {rendered}")),
        // A value that begins below its key moves up to the line of the key.
        Some(key) if head[key.colon_end..key.value.start].contains('\n') => {
            head.replace_range(key.colon_end..key.value.end, &format!(" {rendered}"));
        }
        Some(key) => head.replace_range(key.value.clone(), rendered),
    }
}

/// Returns the written form of a list in which an item is replaced wherever it stands alone.
fn replaced_item(list: &str, old: &str, new: &str) -> String {
    let is_edge = |character: Option<char>| {
        character.is_none_or(|character| character.is_whitespace() || matches!(character, ',' | '[' | ']' | '"' | '\''))
    };
    let mut replaced = String::with_capacity(list.len());
    let mut copied = 0;
    for (at, _) in list.match_indices(old) {
        let end = at + old.len();
        if at >= copied && is_edge(list[..at].chars().next_back()) && is_edge(list[end..].chars().next()) {
            replaced.push_str(&list[copied..at]);
            replaced.push_str(new);
            copied = end;
        }
    }
    replaced + &list[copied..]
}

fn push_line(head: &mut String, line: &str, newline: &str) {
    if !head.is_empty() && !head.ends_with('\n') {
        head.push_str(newline);
    }
    head.push_str(line);
    head.push_str(newline);
}

fn add_items(head: &mut String, key: Option<&Key>, name: &str, items: &[String], newline: &str) -> Result<(), String> {
    if items.is_empty() {
        return Ok(());
    }
    let flow: Vec<String> = items.iter().map(|item| quote(item)).collect();
    let Some(key) = key else {
        push_line(head, &format!("{name}: [{}]", flow.join(", ")), newline);
        return Ok(());
    };
    let value = &head[key.value.clone()];
    let closes = |quote| value.len() > 1 && value.ends_with(quote);
    if key.style == Style::DoubleQuoted && !closes('"') || key.style == Style::SingleQuoted && !closes('\'') {
        return Err(format!("the quote of `{name}` is never closed"));
    }
    match key.style {
        Style::Empty => head.insert_str(key.colon_end, &format!(" [{}]", flow.join(", "))),
        Style::FlowList { last_item, empty: true, .. } => head.insert_str(last_item, &flow.join(", ")),
        Style::FlowList { last_item, trailing_comma, .. } => {
            let at = if trailing_comma {
                last_item + head[last_item..].find(',').map_or(0, |comma| comma + 1)
            } else {
                last_item
            };
            let glue = if trailing_comma { " " } else { ", " };
            let end = if trailing_comma { "," } else { "" };
            head.insert_str(at, &format!("{glue}{}{end}", flow.join(", ")));
        }
        Style::BlockList { indent } => {
            let at = line_end(head, key.value.end);
            let mut lines = String::new();
            if !head[..at].ends_with('\n') {
                lines.push_str(newline);
            }
            for item in &flow {
                lines.push_str(&format!("{}- {item}{newline}", " ".repeat(indent)));
            }
            head.insert_str(at, &lines);
        }
        Style::Plain if matches!(&head[key.value.clone()], "~" | "null" | "Null" | "NULL") => {
            head.replace_range(key.value.clone(), &format!("[{}]", flow.join(", ")));
        }
        Style::Plain | Style::DoubleQuoted | Style::SingleQuoted
            if items.iter().any(|item| item.contains(',') || quote(item) != *item) =>
        {
            // Such an item would end the string, or be split: the value becomes a list.
            extend_as_list(head, key, flow)?;
        }
        // A string with commas stays one.
        Style::Plain => head.insert_str(key.value.end, &format!(", {}", items.join(", "))),
        Style::DoubleQuoted => {
            let escaped = double_quote(&items.join(", "));
            head.insert_str(key.value.end - 1, &format!(", {}", &escaped[1..escaped.len() - 1]));
        }
        Style::SingleQuoted => {
            head.insert_str(key.value.end - 1, &format!(", {}", items.join(", ").replace('\'', "''")));
        }
        // A block of text also has a string with commas; it becomes a list on one line.
        Style::BlockScalar => extend_as_list(head, key, flow)?,
        Style::FlowMap | Style::BlockMap => return Err(format!("`{name}` is not a list")),
    }
    Ok(())
}

/// Makes a list of a scalar with commas, and appends further items.
fn extend_as_list(head: &mut String, key: &Key, flow: Vec<String>) -> Result<(), String> {
    let text = unquoted(&head[key.value.clone()], key.style)?;
    let old = list_items(Some(&Value::String(text))).into_iter().map(|item| quote(&item));
    let list: Vec<String> = old.chain(flow).collect();
    head.replace_range(key.value.clone(), &format!("[{}]", list.join(", ")));
    Ok(())
}

/// Returns the text of a scalar.
fn unquoted(scalar: &str, style: Style) -> Result<String, String> {
    if style == Style::Plain {
        return Ok(scalar.to_owned());
    }
    match frontmatter::parse(&format!("key: {scalar}\n")).ok().and_then(|mut fields| fields.remove("key")) {
        Some(Value::String(text)) => Ok(text),
        _ => Err("its list cannot be read".to_owned()),
    }
}

/// Returns the offset after the line that contains `offset`.
fn line_end(text: &str, offset: usize) -> usize {
    text[offset..].find('\n').map_or(text.len(), |at| offset + at + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_cases::cases;

    #[test]
    fn an_edit_never_exceeds_the_size_limit() {
        let file = "---\ntags: [a]\n---\nbody\n";
        let refused = |change| apply(file, &[change]).unwrap_err();
        let too_large = "it would then be over the size limit of an entry";
        assert_eq!(refused(Change::AddItems("tags", vec!["b".repeat(MAX_FRONTMATTER_BYTES)])), too_large);
        assert_eq!(refused(Change::Body("b".repeat(MAX_FILE_BYTES))), too_large);
    }

    #[track_caller]
    fn check(head: &str, change: Change, expected: &str) {
        let file = |head: &str| format!("---\n{head}---\nbody\n");
        assert_eq!(apply(&file(head), &[change]).unwrap(), file(expected));
    }

    fn tags(items: &[&str]) -> Change {
        Change::AddItems("tags", items.iter().map(|item| (*item).to_owned()).collect())
    }

    fn set(value: &str) -> Change {
        Change::Set("k", value.to_owned())
    }

    #[test]
    fn a_value_is_replaced_in_place() {
        check("a: b\nk: v # why\nc: d\n", set("w"), "a: b\nk: \"w\" # why\nc: d\n");
        check("k:   'v'\n", set("w"), "k:   \"w\"\n");
        check("k:\nc: d\n", set("w"), "k: \"w\"\nc: d\n");
        check("k: v\n  goes on\nc: d\n", set("w"), "k: \"w\"\nc: d\n");
        check("k: |\n  v\n\n  v\nc: d\n", set("w"), "k: \"w\"\nc: d\n");
        check("k:\n  - a\n  - b\nc: d\n", set("w"), "k: \"w\"\nc: d\n");
        check("a: b\n", set("w: \"x\""), "a: b\nk: \"w: \\\"x\\\"\"\n");
        check("", set("w"), "k: \"w\"\n");
        check("a: b\n", Change::SetNumber("k", 70), "a: b\nk: 70\n");
    }

    #[test]
    fn a_mapping_is_written_on_one_line() {
        let mapping = |text: &str| Change::SetMapping("k", serde_json::from_str(text).unwrap());
        let rich = r#"{"a":1,"b":[true,null,-2.5,"x: #y"],"c":{"d \"e\"":"\n→"}}"#;
        check("a: b\n", mapping(rich), &format!("a: b\nk: {rich}\n"));
        check("k:\n  a: 1\n  b: [x]\nc: d\n", mapping("{}"), "k: {}\nc: d\n");
    }

    #[test]
    fn an_item_is_replaced_in_every_style() {
        let item = || Change::ReplaceItem("k", "a".to_owned(), "b-2".to_owned());
        check("k: [a, aa, \"a\"] # a\n", item(), "k: [b-2, aa, \"b-2\"] # a\n");
        check("k:\n  - a\n  - x/a\n", item(), "k:\n  - b-2\n  - x/a\n");
        check("k: x, a\n", item(), "k: x, b-2\n");
        check("k: [b]\nl: [a]\n", item(), "k: [b]\nl: [a]\n");
    }

    #[test]
    fn a_list_grows_in_its_own_style() {
        check("tags: [a, b]\n", tags(&["c", "d e"]), "tags: [a, b, c, d e]\n");
        check("tags: [ a ]\n", tags(&["c"]), "tags: [ a, c ]\n");
        check("tags: [a, ]\n", tags(&["c"]), "tags: [a, c, ]\n");
        check("tags: []\n", tags(&["c"]), "tags: [c]\n");
        check("tags: [a,\n  b] # x\n", tags(&["c"]), "tags: [a,\n  b, c] # x\n");
        check("tags:\n  - a\n  - b # x\n\nc: d\n", tags(&["c"]), "tags:\n  - a\n  - b # x\n  - c\n\nc: d\n");
        check("tags:\n- a\nc: d\n", tags(&["yes"]), "tags:\n- a\n- \"yes\"\nc: d\n");
        check("tags: a, b # x\n", tags(&["c"]), "tags: a, b, c # x\n");
        check("tags: \"a\"\n", tags(&["c"]), "tags: \"a, c\"\n");
        check("tags: 'a'\n", tags(&["c"]), "tags: 'a, c'\n");
        check("tags: >-\n  a,\n  b\nc: d\n", tags(&["c"]), "tags: [a, b, c]\nc: d\n");
        check("tags: |\n  a, b\n\nc: d\n", tags(&["c"]), "tags: [a, b, c]\n\nc: d\n");
        check("tags: >+ # why\n  a, it's\n", tags(&["c,d"]), "tags: [a, \"it's\", \"c,d\"]\n");
        // Items that a string with commas cannot hold make it a list.
        check("tags: a, b # x\n", tags(&["issue #12"]), "tags: [a, b, \"issue #12\"] # x\n");
        check("tags: 'it''s, b'\n", tags(&["c,d"]), "tags: [\"it's\", b, \"c,d\"]\n");
        check("tags: \"a\"\n", tags(&["c\"d"]), "tags: [a, \"c\\\"d\"]\n");
        check("tags:\n", tags(&["c"]), "tags: [c]\n");
        check("a: b\n", tags(&["c", "1.0"]), "a: b\ntags: [c, \"1.0\"]\n");
        assert!(apply("---\ntags: {a: b}\n---\n", &[tags(&["c"])]).is_err());
    }

    #[test]
    fn a_key_is_removed_with_its_lines() {
        check("a: b\nk: v # x\nc: d\n", Change::Remove("k"), "a: b\nc: d\n");
        let files = || Change::SetItems("files", vec!["src/a".into(), "b: c".into()]);
        check("files: [x]\nc: d\n", files(), "files: [src/a, \"b: c\"]\nc: d\n");
        check("files:\n  - x\n  - y\nc: d\n", files(), "files: [src/a, \"b: c\"]\nc: d\n");
        check("k:\n  - a\n  - b\nc: d\n", Change::Remove("k"), "c: d\n");
        check("a: b\n", Change::Remove("k"), "a: b\n");
    }

    #[test]
    fn a_body_takes_the_line_ends_of_its_file() {
        let body = || [Change::Body("x\ny".to_owned())];
        assert_eq!(
            apply("---\r\na: b\r\n---\r\n\r\nold\r\n", &body()).unwrap(),
            "---\r\na: b\r\n---\r\n\r\nx\r\ny\r\n"
        );
        assert_eq!(apply("---\na: b\n---", &body()).unwrap(), "---\na: b\n---\n\nx\ny\n");
        assert_eq!(apply("---\na: b\n---\nold", &[Change::Body("\n".to_owned())]).unwrap(), "---\na: b\n---\n");
    }

    /// Found by the fuzzer: the end of the frontmatter was mistaken for the quote.
    #[test]
    fn a_quote_that_is_never_closed_is_refused() {
        for quote in ['"', '\''] {
            for rest in ["", "a", "a\nb: qѓ"] {
                let text = format!("---\ntags: {quote}{rest}\n---\n");
                assert!(apply(&text, &[tags(&["c"])]).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn unsafe_edits_are_refused() {
        for text in ["no frontmatter", "---\nk: *x\n---\n", "---\n{k: v}\n---\n", "---\n- k\n---\n"] {
            assert!(apply(text, &[set("w")]).is_err(), "{text:?}");
        }
    }

    /// A value as people write it: its text in the file, which is complete YAML.
    fn value() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z][a-z0-9 ]{0,12}[a-z]",
            "[a-z]{1,5}( [*&!#%@-]?[a-z]{1,4}){0,3}",
            "\"([a-z :#,*&!-]|\\\\n|\\\\\"){0,12}\"",
            "'([a-z :#,*&!\"-]|''){0,12}'",
            Just("[a, 'b, c', \"d\"]".to_owned()),
            Just("[]".to_owned()),
            Just("[a,\n  b, # c\n  d]".to_owned()),
            Just("{a: b, c: [d]}".to_owned()),
            Just("|\n  a: b\n\n   # c\n  - d".to_owned()),
            Just(">-\n  folded *text*\n  &here".to_owned()),
            Just("\n  - a\n  - \"b: c\"\n  - d # e".to_owned()),
            Just("\n- a\n- b".to_owned()),
            Just("\n  x: y\n  z:\n    - w".to_owned()),
            Just("words\n  that go on\n  - here".to_owned()),
            Just("\"over\n  lines\"".to_owned()),
            Just("2026-11-20".to_owned()),
            Just("0123456".to_owned()),
            Just("1234567e8".to_owned()),
            Just("~".to_owned()),
            Just(String::new()),
        ]
    }

    fn note() -> impl Strategy<Value = String> {
        let line = (
            value(),
            prop_oneof![Just(""), Just("  # why: \"x"), Just("   ")],
            prop_oneof![Just(""), Just("# own\n"), Just("\n")],
        );
        (proptest::collection::vec(line, 1..7), any::<bool>(), any::<bool>(), "(\n|[a-zA-Z*#` é-]{0,20}\n){0,6}")
            .prop_map(|(lines, crlf, bom, body)| {
                let names = ["title", "tags", "k", "own key", "\"quoted\"", "x-y", "z"];
                let mut text = "---\n".to_owned();
                for (index, (value, tail, above)) in lines.iter().enumerate() {
                    let tail = if value.contains('\n') || value.is_empty() { "" } else { tail };
                    let space = if value.starts_with('\n') || value.is_empty() { "" } else { " " };
                    text.push_str(&format!("{above}{}:{space}{value}{tail}\n", names[index]));
                }
                text.push_str("---\n");
                text.push_str(&body);
                if crlf {
                    text = text.replace('\n', "\r\n");
                }
                if bom { format!("\u{feff}{text}") } else { text }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: cases(1_500), ..ProptestConfig::default() })]

        /// Every line outside of the edited key stays, in order, to the byte.
        #[test]
        fn an_edit_changes_only_its_own_lines(text in note(), pick in 0usize..6, new in "[ -~é]{0,16}") {
            let name: &'static str = ["title", "tags", "k", "x-y", "z", "fresh"][pick];
            let Ok(edited) = apply(&text, &[Change::Set(name, new.clone())]) else {
                // Only edits of invalid YAML may be refused.
                let split = frontmatter::split(&text).unwrap();
                let head = &text[split.head];
                prop_assert!(guard::scan(head).is_err() || frontmatter::parse(head).is_err(), "refused: {text:?}");
                return Ok(());
            };
            let own = |text: &str| {
                let split = frontmatter::split(text).unwrap();
                let keys = guard::scan(&text[split.head.clone()]).unwrap();
                keys.iter().find(|key| key.name == name).map(|key| {
                    let end = key.value.end.max(key.colon_end);
                    (split.head.start + key.start, split.head.start + end)
                })
            };
            let (start, end) = own(&edited).unwrap();
            let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let rest = match own(&text) {
                Some((old_start, old_end)) => {
                    prop_assert_eq!(&text[..old_start], &edited[..start]);
                    prop_assert_eq!(&text[old_end..], &edited[end..]);
                    text.len() - (old_end - old_start)
                }
                None => text.len() + line_break.len(),
            };
            prop_assert_eq!(edited.len() - (end - start), rest);
            let split = frontmatter::split(&edited).unwrap();
            let fields = frontmatter::parse(&edited[split.head]).unwrap();
            prop_assert_eq!(fields.get(name), Some(&serde_json::Value::String(new)));
        }

        /// New tags are read back after the old ones.
        #[test]
        fn added_tags_are_read_back(text in note(), new in "[a-z#'\"][a-z #:]{0,8}[a-z]") {
            let tags_of = |text: &str| super::super::read("knowledge/x.md", text.as_bytes()).head.tags;
            let before = tags_of(&text);
            if let Ok(edited) = apply(&text, &[Change::AddItems("tags", vec![new.clone()])]) {
                let mut expected = before;
                if !expected.contains(&new) {
                    expected.push(new);
                }
                prop_assert_eq!(tags_of(&edited), expected);
            }
        }
    }

    #[test]
    fn an_edit_keeps_comments_and_quoting() {
        let file = "---\n# ours\ntitle: 'A'   # odd quoting\ntags: [a,b]\n---\nbody\n";
        let changes = [Change::AddItems("tags", vec!["c".into()]), Change::Set("feature", "x".into())];
        assert_eq!(
            apply(file, &changes).unwrap(),
            "---\n# ours\ntitle: 'A'   # odd quoting\ntags: [a,b, c]\nfeature: \"x\"\n---\nbody\n",
        );
    }
}
