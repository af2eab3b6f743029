//! Fields of events, each read separately, from lines that were repaired. A field of an unexpected type counts as missing. Unused values are never
//! built, however deep or long they are.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
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

/// Reads a field that is a text.
pub(super) fn text(field: Field<'_>) -> Option<String> {
    serde_json::from_str(field?.get()).ok().map(|BorrowedText(text)| text.into_owned())
}

/// Reads a field that is a non-negative integer.
pub(super) fn count(field: Field<'_>) -> Option<u64> {
    number(field)
}

/// Reads a field that is a non-negative number.
fn amount(field: Field<'_>) -> Option<f64> {
    number(field).filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Reads a field that is a number, or a number as text.
fn number<T: DeserializeOwned>(field: Field<'_>) -> Option<T> {
    serde_json::from_str(field?.get().trim_matches('"')).ok()
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

/// A text that is copied only where it has escapes.
#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

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
    use super::*;

    #[test]
    fn numbers_may_be_texts() {
        let figures: Object<'_> = serde_json::from_str(r#"{"a":"0.5","b":"12","c":0.5,"d":"x","e":"-1"}"#).unwrap();
        assert_eq!(["a", "c", "d", "e"].map(|name| figures.amount(name)), [Some(0.5), Some(0.5), None, None]);
        assert_eq!(["a", "b", "e"].map(|name| figures.count(name)), [None, Some(12), None]);
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
}
