//! Frontmatter: where it is in a file, and its keys and values.
//!
//! This is the only file that knows YAML. The splitter is exact to the byte. `gray_matter` reads the head through an
//! engine, which has [`guard`] refuse input that no parser may see, and then reads the values with `serde_yaml`. It keeps
//! no formatting: [`edit`](super::edit) changes the text, and [`only_differs_in`] verifies the result.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use gray_matter::engine::Engine;
use gray_matter::{Matter, Pod};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::MAX_FRONTMATTER_BYTES;
use super::guard::{self, Fault, Key, Style};

/// The byte offsets of the parts of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The frontmatter, between the line that opens it and the line that closes it.
    pub head: Range<usize>,
    /// Where the body begins, after the closing line.
    pub body: usize,
    /// The line of the file on which the body begins, counted from 1.
    pub body_line: u32,
    /// The end of the opening line: `"\n"` or `"\r\n"`.
    pub newline: &'static str,
}

/// Why a file has no frontmatter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The file does not begin with a `---` line.
    Absent,
    /// The opening `---` line has no closing one.
    Unclosed,
}

/// Finds the frontmatter of a file: the lines between a first line `---` and the next line `---`. Both may have
/// trailing white space, and a byte order mark may precede the first.
///
/// Some programs put an empty frontmatter before the real one, which then is that of the file. What is between two such
/// lines and no mapping of YAML is text.
pub fn split(text: &str) -> Result<Split, Missing> {
    let first = split_at(text, if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })?;
    let head = &text[first.head.clone()];
    if !head.trim().is_empty() {
        return if is_prose(head) { Err(Missing::Absent) } else { Ok(first) };
    }
    let n_blank = text[first.body..].len() - text[first.body..].trim_start().len();
    // Two lines may also be around a paragraph.
    let is_real = |split: &Split| {
        let head = &text[split.head.clone()];
        head.lines().all(|line| !line.trim().is_empty()) && parse(head).is_ok_and(|fields| !fields.is_empty())
    };
    Ok(split_at(text, first.body + n_blank).ok().filter(is_real).unwrap_or(first))
}

/// Returns whether what is between two lines `---` is text: it is between blank lines, as markdown wants it for a line across
/// the page, or begins with a heading above one, or nothing in it can be a key.
fn is_prose(head: &str) -> bool {
    let lines: Vec<&str> = head.lines().map(str::trim).collect();
    let is_blank = |line: Option<&&str>| line.is_some_and(|line| line.is_empty());
    let is_apart = is_blank(lines.first()) && is_blank(lines.last());
    let is_heading = lines.first().is_some_and(|line| line.starts_with('#')) && is_blank(lines.get(1));
    is_apart || is_heading || !head.contains([':', '[', '{'])
}

/// Finds the frontmatter that begins at this offset.
fn split_at(text: &str, start: usize) -> Result<Split, Missing> {
    let n_before = text[..start].matches('\n').count();
    let mut lines = text[start..].split_inclusive('\n');
    let opening = lines.next().unwrap_or_default();
    let is_at_line = start == 0 || text[..start].ends_with(['\n', '\u{feff}']);
    if opening.trim_end() != "---" || !is_at_line {
        return Err(Missing::Absent);
    }
    let head_start = start + opening.len();
    let mut offset = head_start;
    for (index, line) in lines.enumerate() {
        if line.starts_with("---") && line.trim_end() == "---" {
            return Ok(Split {
                head: head_start..offset,
                body: offset + line.len(),
                body_line: u32::try_from(n_before + index).map_or(u32::MAX, |index| index.saturating_add(3)),
                newline: if opening.ends_with("\r\n") { "\r\n" } else { "\n" },
            });
        }
        offset += line.len();
    }
    Err(Missing::Unclosed)
}

/// Returns what a file says after its frontmatter: without one, all of it but a byte order mark.
pub(crate) fn body(text: &str) -> &str {
    split(text).map_or_else(|_| text.strip_prefix('\u{feff}').unwrap_or(text), |split| &text[split.body..])
}

/// Returns the text with an empty frontmatter if it has none.
pub(crate) fn framed(text: &str) -> Cow<'_, str> {
    if split(text) != Err(Missing::Absent) {
        return Cow::Borrowed(text);
    }
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (mark, rest) = text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest));
    Cow::Owned([mark, "---", newline, "---", newline, rest].concat())
}

/// The keys and values of the frontmatter. Scalars of known keys are the text in the file.
pub(crate) type Fields = HashMap<String, Value>;

/// Reads the frontmatter `head`.
///
/// A value that should be text or a list is returned as text or a list of text, as written:
/// a title `1.10` is `"1.10"`, not a number. Null is left out.
///
/// # Errors
///
/// The first thing that is wrong, if it is over 16 KiB, [`guard::scan`] refuses it, or it is not a mapping.
pub fn parse(head: &str) -> Result<Fields, Fault> {
    if head.len() > MAX_FRONTMATTER_BYTES {
        let message = format!("the frontmatter has {} bytes; the limit is {MAX_FRONTMATTER_BYTES}", head.len());
        let hint = "move the long values into the body";
        return Err(Fault { code: "frontmatter-too-large", offset: 0, message, hint });
    }
    let document = format!("---\n{head}\n---\n");
    match Matter::<Yaml>::new().parse::<Fields>(&document) {
        Ok(parsed) => Ok(parsed.data.unwrap_or_default()),
        Err(_) => Err(locate(head)),
    }
}

/// Returns the keys and values of a file's frontmatter; `None` if it has none, or they cannot be read.
pub(crate) fn fields_of(file: &str) -> Option<Fields> {
    split(file).ok().and_then(|split| parse(&file[split.head]).ok())
}

/// Returns the place of the first placeholder of a template that is a value, an item or a line without quotes.
fn placeholder(head: &str) -> Option<usize> {
    let is_bare = |at: &usize| {
        let before = head[..*at].rsplit('\n').next().unwrap_or_default();
        let is_closed = head[*at..].lines().next().is_some_and(|line| line.contains("}}"));
        let is_quoted = before.matches(['"', '\'']).count() % 2 == 1;
        is_closed && !is_quoted && (before.trim().is_empty() || before.trim_end().ends_with([':', '-', '[', ',']))
    };
    head.match_indices("{{").map(|(at, _)| at).find(is_bare)
}

/// Looks again for what is wrong and where, which `gray_matter` drops.
fn locate(head: &str) -> Fault {
    if let Some(offset) = placeholder(head) {
        let message = "the frontmatter is not valid YAML: this placeholder is still in it".to_owned();
        return Fault { code: "yaml", offset, message, hint: "fill it in, or put it in double quotes" };
    }
    let keys = match guard::scan(head) {
        Ok(keys) => keys,
        Err(fault) => return fault,
    };
    // The parser gives the start of the mapping as the place.
    let is_second = |(at, key): &(usize, &Key)| keys[..*at].iter().any(|first| first.name == key.name);
    if let Some((_, key)) = keys.iter().enumerate().find(is_second) {
        let message = format!("the key `{}` is here for the second time", key.name);
        return Fault { code: "duplicate-key", offset: key.start, message, hint: "keep one of the two lines" };
    }
    let (mut offset, message) = match serde_yaml::from_str::<serde_yaml::Mapping>(head) {
        Err(error) => (error.location().map_or(0, |location| location.index().min(head.len())), error.to_string()),
        Ok(_) => (0, "a value has a type that no entry can have".to_owned()),
    };
    // The parser may notice it only in another line than that of the value.
    let parts = keys.iter().zip(keys.iter().skip(1).map(|next| next.start).chain([head.len()]));
    let is_bad = |part: &str| StyledValue { keys: &[] }.deserialize(serde_yaml::Deserializer::from_str(part)).is_err();
    if let Some((key, end)) = parts.into_iter().find(|(key, end)| is_bad(&head[key.start..*end]))
        && !(key.start..end).contains(&offset)
    {
        offset = key.place();
    }
    let message = message.split(" at line ").next().unwrap_or_default();
    let hint = if message.contains("mapping values are not allowed") {
        "put the value in double quotes: a colon and a space inside it begin another value"
    } else if message.contains("expected a YAML mapping") {
        "write each field as `key: value`, with a space after the colon"
    } else if message.contains("cannot start any token") {
        "put the value in double quotes, and indent with spaces, not tabs"
    } else if head.lines().any(|line| line.contains("[#") || line.contains(", #")) {
        "put each item that begins with `#` in double quotes: elsewhere it begins a comment"
    } else {
        "put the value in double quotes, or close the quote or bracket that is open"
    };
    Fault { code: "yaml", offset, message: format!("the frontmatter is not valid YAML: {message}"), hint }
}

/// Returns whether two frontmatters are equal except for the named keys, and whether both are valid YAML. Every edit
/// depends on this. It does not use what [`guard::scan`] found.
pub(crate) fn only_differs_in(before: &str, after: &str, edited: &[&str]) -> bool {
    let rest = |head: &str| match serde_yaml::from_str(head) {
        Ok(serde_yaml::Value::Mapping(mut mapping)) => {
            mapping.retain(|key, _| !key.as_str().is_some_and(|key| edited.contains(&key)));
            Some(mapping)
        }
        Ok(serde_yaml::Value::Null) => Some(serde_yaml::Mapping::new()),
        _ => None,
    };
    let before = rest(before);
    before.is_some() && before == rest(after)
}

/// Writes `text` so that every YAML reader reads it back: plain if it is unambiguous, else in double quotes.
///
/// Plain are lowercase and mixed-case words of `A-Z a-z 0-9 _ . / -` and single spaces that begin
/// with a letter, except the words that YAML 1.1 reads as truth values or null.
pub fn quote(text: &str) -> String {
    const WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '/' | '-' | ' '))
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { double_quote(text) }
}

/// Writes `text` in double quotes, on one line.
pub fn double_quote(text: &str) -> String {
    use fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Line separators fold in some parsers, and a lone no-break space is trimmed by one.
            '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            _ if character.is_control() => {
                let _ = write!(quoted, "\\x{:02X}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// The engine that `gray_matter` calls.
struct Yaml;

impl Engine for Yaml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        let failed = |message: &str| gray_matter::Error::deserialize_error(message);
        let keys = guard::scan(content).map_err(|fault| failed(&fault.message))?;
        let read = |keys| StyledValue { keys }.deserialize(serde_yaml::Deserializer::from_str(content));
        // A value of an unexpected shape fails the typed reading. The untyped one still returns the others, so that one
        // odd key does not hide them.
        let pod = read(&keys).or_else(|_| read(&[])).map_err(|error| failed(&error.to_string()))?;
        match pod {
            Pod::Hash(_) => Ok(pod),
            // Comments alone.
            Pod::Null => Ok(Pod::new_hash()),
            _ => Err(failed("expected a mapping")),
        }
    }
}

/// Reads a value. In a mapping, the style in which a key's value is written decides whether it is text or a list of text;
/// all other values are read as what YAML takes them for.
struct StyledValue<'a> {
    keys: &'a [Key],
}

impl<'de> DeserializeSeed<'de> for StyledValue<'_> {
    type Value = Pod;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Pod, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StyledValue<'_> {
    type Value = Pod;
    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Pod, E> {
        Ok(Pod::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Pod, E> {
        Ok(Pod::Boolean(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Pod, E> {
        Ok(Pod::Integer(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Pod, E> {
        Ok(i64::try_from(value).map_or_else(|_| Pod::String(value.to_string()), Pod::Integer))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Pod, E> {
        // JSON, through which callers read the fields, has no infinity.
        Ok(if value.is_finite() { Pod::Float(value) } else { Pod::String(value.to_string()) })
    }
    fn visit_str<E>(self, value: &str) -> Result<Pod, E> {
        Ok(Pod::String(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Pod, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(StyledValue { keys: &[] })? {
            items.push(item);
        }
        Ok(Pod::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pod, A::Error> {
        let mut fields = HashMap::new();
        while let Some(key) = map.next_key::<String>()? {
            let style = self.keys.iter().find(|known| known.name == key).map(|known| known.style);
            let value = match style {
                Some(Style::Empty | Style::Plain | Style::Quoted | Style::BlockScalar) => {
                    map.next_value::<Option<String>>()?.map_or(Pod::Null, Pod::String)
                }
                Some(Style::FlowList | Style::BlockList) => {
                    let items = map.next_value::<Vec<Option<String>>>()?;
                    Pod::Array(items.into_iter().flatten().map(Pod::String).collect())
                }
                Some(Style::FlowMap | Style::BlockMap) | None => map.next_value_seed(StyledValue { keys: &[] })?,
            };
            if fields.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("duplicate entry with key \"{key}\"")));
            }
        }
        // Of the frontmatter itself, not of a mapping in it.
        fields.retain(|_, value| self.keys.is_empty() || *value != Pod::Null);
        Ok(Pod::Hash(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(head: &str, expected: &Value) {
        let fields = parse(head).unwrap();
        assert_eq!(serde_json::to_value(fields).unwrap(), *expected, "{head:?}");
    }

    #[test]
    fn text_stays_the_text_that_was_written() {
        check("title: 42\n", &json!({"title": "42"}));
        check(
            "title: 1.10\nid: 1234567e8\nsha: 0123456\n",
            &json!({"title": "1.10", "id": "1234567e8", "sha": "0123456"}),
        );
        check("title: yes\n", &json!({"title": "yes"}));
        check("title: 2026-11-20\n", &json!({"title": "2026-11-20"}));
        check("title: .inf\n", &json!({"title": ".inf"}));
        check("title: ~\ntags:\nfeature: null\n", &json!({}));
        check("title: \"null\"\n", &json!({"title": "null"}));
        check("title: \"a \\\"b\\\" \\u00e9\"\n", &json!({"title": "a \"b\" é"}));
        check("tags: [1.10, true, no, a b]\n", &json!({"tags": ["1.10", "true", "no", "a b"]}));
        check("tags:\n  - 007\n  -\n", &json!({"tags": ["007"]}));
        check("title: >-\n  a\n  b\n", &json!({"title": "a b"}));
        check("details: {a: 1, b: [x, 2.5]}\n", &json!({"details": {"a": 1, "b": ["x", 2.5]}}));
    }

    #[test]
    fn one_odd_value_does_not_hide_the_others() {
        check("title: a\ntags: [[b]]\n", &json!({"title": "a", "tags": [["b"]]}));
        check("title: [a]\ntags: {b: c}\n", &json!({"title": ["a"], "tags": {"b": "c"}}));
    }

    #[test]
    fn faults_are_located() {
        let fault = |head: &str| parse(head).unwrap_err();
        let check = |head: &str, code: &str, offset: usize| {
            assert_eq!((fault(head).code, fault(head).offset), (code, offset), "{head:?}");
        };
        check("title: a\ntitle: b\n", "duplicate-key", 9);
        check("a: b\nc: d: e\n", "yaml", 9);
        check("title: a\n\ttags: b\n", "yaml", 9);
        check("title: \"a\n", "yaml", 7);
        check("a: *x\n", "yaml-alias", 3);
        // What a template left is named itself.
        for (head, offset) in [
            ("title: {{title}}\n", 7),
            ("title: a\ntags:\n  - a\n  - b\n  - {{tag}}\n", 31),
            ("tags: [{{tag}}, b]\n", 7),
            ("tags: [a, {{tag}}]\ntitle: \"{{a}}\"\n", 10),
            ("title: a\n{{more}}\n", 9),
            ("title: \"{{a}}\"\ndate: {{date}}\n", 21),
        ] {
            check(head, "yaml", offset);
            assert!(fault(head).message.contains("placeholder"), "{head}");
        }
        check("title: \"[{{a}}]\"\nc: d: e\n", "yaml", 21);
        assert!(fault("tags: [#infra, #db]\n").hint.contains('#'));
        assert!(fault("- a\n- b\n").message.contains("expected"));
        assert_eq!(
            parse(&format!("title: a\n#{}\n", "b".repeat(16 * 1024))).unwrap_err().code,
            "frontmatter-too-large"
        );
    }

    #[test]
    fn the_split_is_exact() {
        let parts = |text: &str| {
            split(text)
                .map(|split| (text[split.head.clone()].to_owned(), text[split.body..].to_owned(), split.body_line))
        };
        let ok = |head: &str, body: &str, line| Ok((head.to_owned(), body.to_owned(), line));
        assert_eq!(parts("---\na: b\n---\nbody\n"), ok("a: b\n", "body\n", 4));
        assert_eq!(parts("\u{feff}---\r\na: b\r\n---\r\nbody"), ok("a: b\r\n", "body", 4));
        assert_eq!(parts("---  \na: b\n---\t\n"), ok("a: b\n", "", 4));
        assert_eq!(parts("---\n---\n\n---\n"), ok("", "\n---\n", 3));
        assert_eq!(parts("---\n---\n---\na: b\n---\nbody\n"), ok("a: b\n", "body\n", 6));
        assert_eq!(parts("\u{feff}---\r\n \r\n---\r\n\r\n---\r\na: b\r\n---\r\nbody"), ok("a: b\r\n", "body", 8));
        for body in ["---\n\nNote: it holds.\n\n---\n", "---\nIt holds.\n---\n", " ---\na: b\n---\n", "---\n---\n"] {
            assert_eq!(parts(&format!("---\n---\n{body}")), ok("", body, 3), "{body:?}");
        }
        for text in
            ["---\n\n# A\n\nb: c.\n\n---\n", "---\n# A\n\nb: c\n---\n", "---\nIt holds.\n---\n", "---\n- a\n---\n"]
        {
            assert_eq!(parts(text), Err(Missing::Absent), "{text:?}");
            assert_eq!(parts(&framed(text)), ok("", text, 3), "{text:?}");
        }
        assert_eq!(parts("---\n# a\nb: c\n---\n"), ok("# a\nb: c\n", "", 5));
        assert_eq!(parts("---\na: \"b\n---\n"), ok("a: \"b\n", "", 4));
        assert_eq!(parts("---\na: |\n  ---\n---"), ok("a: |\n  ---\n", "", 5));
        assert_eq!(parts("---\na: b\n"), Err(Missing::Unclosed));
        assert_eq!(parts("---"), Err(Missing::Unclosed));
        for text in ["", "a", "----\n---\n", "\n---\na: b\n---\n", "--- a\n---\n", " ---\n---\n"] {
            assert_eq!(parts(text), Err(Missing::Absent), "{text:?}");
        }
    }

    #[test]
    fn quoted_text_is_read_back() {
        for text in [
            "a",
            "yes",
            "No",
            "1",
            "2026-01-01",
            "a: b",
            "a #b",
            "[a]",
            "é",
            "",
            " a",
            "a ",
            "*a",
            "\u{2028}",
            "\u{a0}",
            "a\u{1b}b",
            "\"\\",
            "nightly-2026/x_y.z",
            "\u{feff}a",
            "\u{85}",
            "a\nb\tc",
        ] {
            let head = format!("title: {}\ntags: [{}]\n", quote(text), quote(text));
            check(&head, &json!({"title": text, "tags": [text]}));
        }
    }

    #[test]
    fn edits_are_compared_key_by_key() {
        assert!(only_differs_in("a: b\nc: d\n", "c: d\na: e\n", &["a"]));
        assert!(only_differs_in("", "a: e\n", &["a"]));
        assert!(!only_differs_in("a: b\nc: d\n", "a: b\nc: e\n", &["a"]));
        assert!(!only_differs_in("a: b\n", "a: [\n", &["a"]));
    }
}
