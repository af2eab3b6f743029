//! Edits that change one key, or the body, and leave every other byte of a file alone.
//!
//! An edit is made on the text, at the place that [`guard::scan`] found, and then verified: the frontmatter is parsed
//! before and after, and only the edited keys may differ. An edit that cannot be verified is refused, so a layout that
//! this module does not know never damages a file.

use serde_json::Value;

use super::frontmatter::{self, double_quote, quote};
use super::guard::{self, Key, Style};
use super::{MAX_FILE_BYTES, MAX_FRONTMATTER_BYTES};
use crate::text::lines::{between_commas, scalar};

/// Why a change is refused whose result cannot be verified.
const LAYOUT: &str = "its frontmatter has a layout that cannot be edited safely; change it in an editor";
/// Why a change is refused that adds too much.
const TOO_LARGE: &str = "it would then be over the size limit of an entry";

/// One change to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets a key to this text, number, list of texts or mapping, on one line. A missing key is added after the last.
    Set(&'static str, Value),
    /// Appends items to a list, in the file's own style. A missing key is added, and a string with commas becomes a list.
    AddItems(&'static str, Vec<String>),
    /// Removes a key with its lines. A missing key is not an error.
    Remove(&'static str),
    /// Replaces everything after the frontmatter.
    Body(String),
}

impl Change {
    /// Returns the key that it changes; `None` for the body.
    pub(crate) fn key(&self) -> Option<&'static str> {
        match self {
            Change::Set(key, _) | Change::AddItems(key, _) | Change::Remove(key) => Some(key),
            Change::Body(_) => None,
        }
    }
}

/// Returns the file `text` with the changes made, or why they cannot be made safely.
pub fn apply(text: &str, changes: &[Change]) -> Result<String, String> {
    let framed = frontmatter::framed(text);
    let split = frontmatter::split(&framed).map_err(|_| "its frontmatter is never closed".to_owned())?;
    // What begins like a frontmatter below blank lines is text, and stays that.
    if framed.len() > text.len() && !split.head.is_empty() {
        return Err(LAYOUT.to_owned());
    }
    let text = &*framed;
    let head = head_with(&text[split.head.clone()], changes, split.newline)?;
    let mut edited = [&text[..split.head.start], &head, &text[split.head.end..split.body]].concat();
    match changes.iter().rev().find_map(|change| if let Change::Body(body) = change { Some(body) } else { None }) {
        Some(body) => push_body(&mut edited, body, split.newline),
        None => edited.push_str(&text[split.body..]),
    }
    let end = split.head.start + head.len();
    if frontmatter::split(&edited).map(|split| split.head) != Ok(split.head.start..end) {
        return Err(LAYOUT.to_owned());
    }
    if edited.len() > MAX_FILE_BYTES { Err(TOO_LARGE.to_owned()) } else { Ok(edited) }
}

/// Returns the frontmatter `head` with the changes of its keys, or why they cannot be made safely.
pub(super) fn head_with(head: &str, changes: &[Change], newline: &str) -> Result<String, String> {
    let mut edited = head.to_owned();
    for change in changes {
        edited = match change {
            Change::Set(key, value) => set(&edited, key, value, newline)?,
            Change::AddItems(key, items) => with_items(&edited, key, items, newline)?,
            Change::Remove(key) => without(&edited, key)?,
            Change::Body(_) => continue,
        };
    }
    let keys: Vec<&str> = changes.iter().filter_map(Change::key).collect();
    if frontmatter::only_differs_in(head, &edited, &keys) { Ok(edited) } else { Err(LAYOUT.to_owned()) }
}

/// Returns the items of a list, or of a string with commas, as readers of entries see them.
pub(crate) fn list_items(value: Option<&Value>) -> Vec<String> {
    let items = match value {
        Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
        Some(Value::String(text)) => between_commas(text),
        _ => Vec::new(),
    };
    items.iter().map(|item: &String| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Returns the key that has the time of a file's last change. Another program's name for it is updated, so that the
/// file does not contradict itself.
pub(crate) fn updated_key(text: &str) -> &'static str {
    let keys = frontmatter::split(text).ok().and_then(|split| guard::scan(&text[split.head]).ok()).unwrap_or_default();
    let has_key = |name: &str| keys.iter().any(|key| key.name == name);
    if has_key("modified") && !has_key("updated_at") { "modified" } else { "updated_at" }
}

/// Returns a value as YAML on one line. JSON is YAML in its flow style.
pub(crate) fn rendered(value: &Value) -> String {
    match value {
        Value::String(text) => double_quote(text),
        Value::Array(_) => list(&list_items(Some(value))),
        _ => value.to_string(),
    }
}

/// Writes a list on one line.
pub(super) fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
    format!("[{}]", items.join(", "))
}

fn find(head: &str, name: &str) -> Result<Option<Key>, String> {
    let keys = guard::scan(head).map_err(|_| "its frontmatter has something that entries may not have".to_owned())?;
    Ok(keys.into_iter().find(|key| key.name == name))
}

/// Returns the value of a key; `None` if there is none, or the frontmatter cannot be read.
fn value(head: &str, name: &str) -> Option<Value> {
    frontmatter::parse(head).ok().and_then(|mut fields| fields.remove(name))
}

fn verified<const N: usize>(heads: [String; N], has_change: impl Fn(&str) -> bool) -> Result<String, String> {
    if heads.iter().any(|head| head.len() > MAX_FRONTMATTER_BYTES) {
        return Err(TOO_LARGE.to_owned());
    }
    heads.into_iter().find(|head| has_change(head)).ok_or_else(|| LAYOUT.to_owned())
}

/// Returns the frontmatter with a key set to a value.
fn set(head: &str, name: &str, new: &Value, newline: &str) -> Result<String, String> {
    let (written, mut edited) = (rendered(new), head.to_owned());
    match find(head, name)? {
        None => push_line(&mut edited, &format!("{name}: {written}"), newline),
        Some(key) if key.value.is_empty() => edited.insert_str(key.colon_end, &format!(" {written}")),
        // A value that begins below its key moves up to the line of the key.
        Some(key) if head[key.colon_end..key.value.start].contains('\n') => {
            edited.replace_range(key.colon_end..key.value.end, &format!(" {written}"));
        }
        Some(key) => edited.replace_range(key.value, &written),
    }
    verified([edited], |head| match (value(head, name), new) {
        // A number is read as the text that was written.
        (Some(found), Value::Number(number)) => found == number.to_string(),
        (found, Value::Array(_)) => list_items(found.as_ref()) == list_items(Some(new)),
        (found, _) => found.as_ref() == Some(new),
    })
}

fn without(head: &str, name: &str) -> Result<String, String> {
    let mut edited = head.to_owned();
    if let Some(key) = find(head, name)? {
        edited.replace_range(key.start..line_end(head, key.end()), "");
    }
    verified([edited], |head| value(head, name).is_none())
}

/// Returns the frontmatter with more items at the end of a list.
fn with_items(head: &str, name: &str, more: &[String], newline: &str) -> Result<String, String> {
    if more.is_empty() {
        return Ok(head.to_owned());
    }
    let fields =
        frontmatter::parse(head).map_err(|fault| format!("its frontmatter cannot be read: {}", fault.message))?;
    let items = [list_items(fields.get(name)), more.to_vec()].concat();
    let with = |at: usize, text: &str| [&head[..at], text, &head[at..]].concat();
    let written: Vec<String> = more.iter().map(|item| quote(item)).collect();
    let flow = written.join(", ");
    let has_items = |head: &str| list_items(value(head, name).as_ref()) == items;
    match find(head, name)? {
        Some(key) if key.style == Style::FlowList => {
            let end = key.value.end.saturating_sub(1);
            let last = head[..end].trim_end();
            let first = match last.chars().next_back() {
                Some('[') => with(last.len(), &flow),
                Some(',') => with(last.len(), &format!(" {flow},")),
                _ => with(last.len(), &format!(", {flow}")),
            };
            // Behind a comment, the items come on the next line.
            verified([first, with(end, &format!(", {flow}")), with(end, &flow)], has_items)
        }
        Some(key) if key.style == Style::BlockList => {
            let at = line_end(head, key.value.end);
            let indent = &head[head[..key.value.start].rfind('\n').map_or(0, |at| at + 1)..key.value.start];
            let line_break = if head[..at].ends_with('\n') { "" } else { newline };
            let lines: Vec<String> = written.iter().map(|item| format!("{indent}- {item}{newline}")).collect();
            verified([with(at, &format!("{line_break}{}", lines.concat()))], has_items)
        }
        Some(key) if matches!(key.style, Style::FlowMap | Style::BlockMap) => Err(format!("`{name}` is not a list")),
        // A string with commas becomes a list on one line.
        _ => set(head, name, &Value::from(items.as_slice()), newline),
    }
}

/// Adds a body, with an empty line before it and these line ends.
fn push_body(text: &mut String, body: &str, newline: &str) {
    if !text.ends_with('\n') {
        text.push_str(newline);
    }
    let body = body.trim_matches(['\n', '\r']).trim_end();
    if !body.is_empty() {
        text.push_str(newline);
        for line in body.lines() {
            text.push_str(line);
            text.push_str(newline);
        }
    }
}

fn push_line(head: &mut String, line: &str, newline: &str) {
    if !head.is_empty() && !head.ends_with('\n') {
        head.push_str(newline);
    }
    head.push_str(line);
    head.push_str(newline);
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
        Change::Set("k", value.into())
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
        check("a: b\n", Change::Set("k", 70.into()), "a: b\nk: 70\n");
    }

    #[test]
    fn a_mapping_is_written_on_one_line() {
        let mapping = |text: &str| Change::Set("k", serde_json::from_str(text).unwrap());
        let rich = r#"{"a":1,"b":[true,null,-2.5,"x: #y"],"c":{"d \"e\"":"\n→"}}"#;
        check("a: b\n", mapping(rich), &format!("a: b\nk: {rich}\n"));
        check("k:\n  a: 1\n  b: [x]\nc: d\n", mapping("{}"), "k: {}\nc: d\n");
    }

    #[test]
    fn a_list_grows_in_its_own_style() {
        check("tags: [a, b]\n", tags(&["c", "d e"]), "tags: [a, b, c, d e]\n");
        check("tags: [ a ]\n", tags(&["c"]), "tags: [ a, c ]\n");
        check("tags: [a, ]\n", tags(&["c"]), "tags: [a, c, ]\n");
        check("tags: []\n", tags(&["c"]), "tags: [c]\n");
        check("tags: [a,\n  b] # x\n", tags(&["c"]), "tags: [a,\n  b, c] # x\n");
        check("tags:\n  - a\n  - b # x\n\nc: d\n", tags(&["c"]), "tags:\n  - a\n  - b # x\n  - c\n\nc: d\n");
        check("tags: [a,\n  b # x\n]\n", tags(&["c"]), "tags: [a,\n  b # x\n, c]\n");
        check("tags: [a, # x\n]\n", tags(&["c"]), "tags: [a, # x\nc]\n");
        check("tags:\n- a\nc: d\n", tags(&["yes"]), "tags:\n- a\n- \"yes\"\nc: d\n");
        check("tags: a, b # x\n", tags(&["c"]), "tags: [a, b, c] # x\n");
        check("tags: \"a\"\n", tags(&["c"]), "tags: [a, c]\n");
        check("tags: 'a'\n", tags(&["c"]), "tags: [a, c]\n");
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
        let files = || Change::Set("files", vec!["src/a", "b: c"].into());
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
    fn a_text_without_frontmatter_gets_one() {
        let check = |text: &str, expected: &str| assert_eq!(apply(text, &[set("w")]).as_deref(), Ok(expected));
        check("# Note\n\nText.\n", "---\nk: \"w\"\n---\n# Note\n\nText.\n");
        check("\u{feff}# Note\r\n", "\u{feff}---\r\nk: \"w\"\r\n---\r\n# Note\r\n");
    }

    #[test]
    fn unsafe_edits_are_refused() {
        for text in [
            "\n---\na: b\n---\n",
            "---\nnever: closed\n",
            "---\nk: *x\n---\n",
            "---\n{k: v}\n---\n",
            "---\n- k: v\n---\n",
        ] {
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
            let Ok(edited) = apply(&text, &[Change::Set(name, new.clone().into())]) else {
                // Only edits of invalid YAML may be refused.
                let split = frontmatter::split(&text).unwrap();
                let head = &text[split.head];
                prop_assert!(frontmatter::parse(head).is_err(), "refused: {text:?}");
                return Ok(());
            };
            let own = |text: &str| {
                let split = frontmatter::split(text).unwrap();
                let keys = guard::scan(&text[split.head.clone()]).unwrap();
                keys.iter().find(|key| key.name == name).map(|key| {
                    (split.head.start + key.start, split.head.start + key.end())
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
        fn added_tags_are_read_back(text in note(), new in "[a-z'\"][a-z #:]{0,8}[a-z]") {
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
}
