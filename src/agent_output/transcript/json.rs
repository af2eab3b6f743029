//! Fields of events, each read separately. A field of an unexpected type counts as missing. Unused values are never
//! built, however deep or long they are.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The longest id and name that is kept, in bytes.
const MAX_NAME: usize = 200;
/// How many of the first fields of an object are kept.
const MAX_FIELDS: usize = 512;
/// A field's value, not parsed yet; `None` if it is missing or `null`.
pub(super) type Field<'a> = Option<&'a RawValue>;

/// The fields of an object, by name.
#[derive(Debug, Default)]
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    pub(super) fn get(&self, name: &str) -> Field<'a> {
        let value = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        value.filter(|value| value.get() != "null")
    }

    /// Returns all fields.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), *value))
    }

    pub(super) fn object(&self, name: &str) -> Object<'a> {
        object(self.get(name))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        text(self.get(name))
    }

    pub(super) fn short(&self, name: &str) -> Option<String> {
        short(self.get(name))
    }

    pub(super) fn count(&self, name: &str) -> Option<u64> {
        count(self.get(name))
    }

    pub(super) fn amount(&self, name: &str) -> Option<f64> {
        amount(self.get(name))
    }

    /// Returns whether a field is true.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|field| field.get() == "true")
    }

    /// Returns whether a field is this text. Names of events are short, and all clients write them without escapes.
    pub(super) fn is(&self, name: &str, expected: &str) -> bool {
        let text = |field: &'a RawValue| field.get().strip_prefix('"')?.strip_suffix('"');
        self.get(name).and_then(text) == Some(expected)
    }
}

/// Reads a line as an event.
pub(super) fn event(line: &str) -> Result<Object<'_>, String> {
    if !line.starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    // The position in the line helps; the content is not repeated, since it may be anything.
    serde_json::from_str(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "its JSON ends too early".to_owned(),
        _ => format!("it is not a JSON object, from column {} on", error.column()),
    })
}

/// Reads a field that is an object; an unreadable one counts as one without fields.
pub(super) fn object(field: Field<'_>) -> Object<'_> {
    part(field).unwrap_or_default()
}

/// Reads a field that is an object with important parts. Fails if it is unreadable.
pub(super) fn part(field: Field<'_>) -> Result<Object<'_>, String> {
    let text = field.map(RawValue::get).filter(|text| text.starts_with('{'));
    text.map_or(Ok(Object::default()), |text| {
        serde_json::from_str(text).map_err(|_| "a part of it cannot be read".to_owned())
    })
}

/// Reads a field that is a short text.
pub(super) fn short(field: Field<'_>) -> Option<String> {
    // Quotes and escapes make it longer, never shorter.
    let field = field.filter(|field| field.get().len() <= 6 * MAX_NAME);
    text(field).filter(|short| !short.is_empty() && short.len() <= MAX_NAME)
}

/// Reads a field that is a text. Every text is readable: half of a surrogate pair, which JavaScript leaves when it cuts
/// an emoji, becomes U+FFFD.
pub(super) fn text(field: Field<'_>) -> Option<String> {
    serde_json::from_str(field?.get()).ok().map(|BorrowedText(text)| text.into_owned())
}

/// Reads a field that is a non-negative integer.
pub(super) fn count(field: Field<'_>) -> Option<u64> {
    serde_json::from_str(field?.get()).ok()
}

/// Reads a field that is a non-negative number.
fn amount(field: Field<'_>) -> Option<f64> {
    serde_json::from_str(field?.get()).ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Returns the items of a field that is a list, one after another: a list may be as long as its line.
pub(super) fn items(field: Field<'_>) -> impl Iterator<Item = Field<'_>> {
    let mut rest = field.and_then(|field| field.get().strip_prefix('['));
    std::iter::from_fn(move || {
        let text = rest?;
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        let item = values.next()?.ok()?;
        rest = text[values.byte_offset()..].trim_start().strip_prefix(',');
        Some(Some(item))
    })
}

/// Calls `each` for the objects of a field that is a list. One that cannot be read is a failure, but the others are
/// read.
pub(super) fn each<'a>(field: Field<'a>, mut each: impl FnMut(Object<'a>)) -> Result<(), String> {
    first_failure(items(field).map(|item| part(item).map(&mut each)))
}

/// Evaluates all of these, and returns the first failure.
pub(super) fn first_failure(all: impl Iterator<Item = Result<(), String>>) -> Result<(), String> {
    let mut first = Ok(());
    for one in all {
        first = first.and(one);
    }
    first
}

/// Reads a line that is one list.
pub(super) fn list(line: &str) -> Result<&RawValue, String> {
    serde_json::from_str(line).map_err(|_| "it is not a JSON object, nor a list of them".to_owned())
}

/// Reads the first item of a line that is a list of events, or the beginning of one.
pub(super) fn list_head(line: &str) -> Option<Object<'_>> {
    let first = serde_json::Deserializer::from_str(line.strip_prefix('[')?).into_iter::<&RawValue>().next()?.ok()?;
    event(first.get()).ok()
}

/// A text that may contain half of a surrogate pair, which serde does not accept as text.
struct BorrowedText<'a>(Cow<'a, str>);

impl<'a> Deserialize<'a> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<BorrowedText<'a>, D::Error> {
        // serde accepts it as bytes, in the encoding that UTF-8 would have for surrogates.
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl<'a> Visitor<'a> for Bytes {
    type Value = BorrowedText<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'a [u8]) -> Result<BorrowedText<'a>, E> {
        std::str::from_utf8(bytes)
            .map_or_else(|_| self.visit_bytes(bytes), |text| Ok(BorrowedText(Cow::Borrowed(text))))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<BorrowedText<'a>, E> {
        let text = String::from_utf8(bytes.to_owned()).unwrap_or_else(|error| without_surrogates(error.into_bytes()));
        Ok(BorrowedText(Cow::Owned(text)))
    }
}

/// Replaces each surrogate with one U+FFFD; both have three bytes.
fn without_surrogates(mut bytes: Vec<u8>) -> String {
    for at in 2..bytes.len() {
        if let place @ [0xed, 0xa0..=0xbf, _] = &mut bytes[at - 2..=at] {
            place.copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl<'a> Deserialize<'a> for Object<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Object<'a>, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'a> Visitor<'a> for ObjectVisitor {
    type Value = Object<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<Object<'a>, A::Error> {
        let mut fields: Vec<(Cow<'a, str>, &'a RawValue)> = Vec::new();
        while let Some((BorrowedText(name), value)) = entries.next_entry()? {
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("a field is there twice"));
            }
            if fields.len() < MAX_FIELDS {
                fields.push((name, value));
            }
        }
        Ok(Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let field: &RawValue = serde_json::from_str(json).unwrap();
        assert_eq!(text(Some(field)).as_deref(), expected, "{json}");
    }

    #[test]
    fn half_a_surrogate_pair_becomes_one_replacement() {
        check(r#""a\ud83d\n""#, Some("a\u{fffd}\n"));
        check(r#""\ude00\ud83d\ud83d\ude00\ud83d""#, Some("\u{fffd}\u{fffd}\u{1f600}\u{fffd}"));
        check(r#""\ud83dé퟿\ud83d\u00e9""#, Some("\u{fffd}é\u{d7ff}\u{fffd}é"));
        check(r#""""#, Some(""));
        check("[237,160,128]", None);
        check(r#"{"a":"b"}"#, None);
        check("7", None);
    }

    #[test]
    fn keys_are_read_like_texts() {
        let known = event(r#"{"\udc00":{"\ud83d":1},"known":"\ud83d","b":2}"#).unwrap();
        assert_eq!(known.text("known").as_deref(), Some("\u{fffd}"));
        let odd: &RawValue = serde_json::from_str(r#"{"\ud83d":1,"a":2}"#).unwrap();
        let mut seen = Vec::new();
        object(Some(odd)).values().for_each(|(_, value)| seen.extend(count(Some(value))));
        assert_eq!(seen, [1, 2]);
    }

    #[test]
    fn an_unreadable_part_is_reported() {
        let check = |json: &str, is_there: Option<bool>| {
            let field: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(part(Some(field)).ok().map(|part| part.get("known").is_some()), is_there, "{json}");
            assert_eq!(object(Some(field)).get("known").is_some(), is_there == Some(true), "{json}");
        };
        check(r#"{"known":1}"#, Some(true));
        check(r#"{"known":1,"known":2}"#, None);
        check(r#"{"known":null}"#, Some(false));
        check("7", Some(false));
        check("[7]", Some(false));
    }

    proptest! {
        /// Every text that JavaScript can write is read, and in the form in which JavaScript shows it.
        #[test]
        fn any_text_is_read(units in prop::collection::vec((prop_oneof![any::<u16>(), 0xd7f0u16..0xe010], any::<bool>()), 0..40)) {
            let mut json = String::from("\"");
            for (unit, is_escaped) in &units {
                match char::from_u32(u32::from(*unit)).filter(|unit| !(*is_escaped || unit.is_control() || "\"\\".contains(*unit))) {
                    Some(plain) => json.push(plain),
                    None => write!(json, "\\u{unit:04x}").unwrap(),
                }
            }
            json.push('"');
            let units: Vec<u16> = units.into_iter().map(|(unit, _)| unit).collect();
            let field: &RawValue = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(text(Some(field)), Some(String::from_utf16_lossy(&units)));
        }
    }
}
