//! Fields of events, each read on its own: one that is of another kind than expected is not there, and nothing
//! is built of what is not asked for, however deep or long it is.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A field's value, not looked into yet; `None` where there is none or it is `null`.
pub(super) type Field<'a> = Option<&'a RawValue>;

/// Reads a line as an event.
pub(super) fn event<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    if !line.starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    // Its place in the line helps; what it says is not repeated, since it may be anything.
    serde_json::from_str(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "its JSON ends too early".to_owned(),
        _ => format!("it is no JSON object, from column {} on", error.column()),
    })
}

/// Reads a field that is an object.
pub(super) fn object<'a, T: Deserialize<'a>>(field: Field<'a>) -> Option<T> {
    let text = field?.get();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

/// Reads a field that is a text.
pub(super) fn text(field: Field<'_>) -> Option<String> {
    serde_json::from_str(field?.get()).ok()
}

/// Returns whether a field is this text.
pub(super) fn is(field: Field<'_>, expected: &str) -> bool {
    // Names of events are short, and written without escapes by both.
    field.is_some_and(|field| field.get().strip_prefix('"').and_then(|text| text.strip_suffix('"')) == Some(expected))
}

/// Returns whether a field is true.
pub(super) fn is_true(field: Field<'_>) -> bool {
    field.is_some_and(|field| field.get() == "true")
}

/// Reads a field that is a whole number, not below 0.
pub(super) fn count(field: Field<'_>) -> Option<u64> {
    serde_json::from_str(field?.get()).ok()
}

/// Reads a field that is a number, not below 0.
pub(super) fn amount(field: Field<'_>) -> Option<f64> {
    serde_json::from_str(field?.get()).ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Calls `each` for the items of a field that is a list.
pub(super) fn items<'a>(field: Field<'a>, each: &mut dyn FnMut(Field<'a>)) {
    if let Some(field) = field {
        let _ = serde_json::Deserializer::from_str(field.get()).deserialize_seq(Items(each));
    }
}

/// Calls `each` for the values of a field that is an object.
pub(super) fn values<'a>(field: Field<'a>, each: &mut dyn FnMut(Field<'a>)) {
    if let Some(field) = field {
        let _ = serde_json::Deserializer::from_str(field.get()).deserialize_map(Items(each));
    }
}

struct Items<'f, 'a>(&'f mut dyn FnMut(Field<'a>));

impl<'a> Visitor<'a> for Items<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&'a RawValue>()? {
            (self.0)(Some(item));
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some((_, value)) = entries.next_entry::<IgnoredAny, &'a RawValue>()? {
            (self.0)(Some(value));
        }
        Ok(())
    }
}
