//! Finds the id of a request in a line that is not valid JSON, or too long to keep.
//!
//! A client waits for an answer with the id of its request, so it ignores an error without one. One value in the line
//! is broken or too long. The id is a member before that value, or one of the members between it and the end.

use rmcp::model::{NumberOrString, RequestId};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

/// Returns the id in a line that has this start and this end: a text, or a whole number.
pub(super) fn request_id(start: &[u8], end: &[u8]) -> Option<RequestId> {
    let members = start.trim_ascii_start().strip_prefix(b"{")?;
    id_among(members, false).or_else(|| {
        // A text cannot hold this key, since its quotes would have backslashes.
        let at = end.windows(4).rposition(|bytes| bytes == br#""id""#)?;
        id_among(&end[at..], true)
    })
}

/// Returns the id among the members of an object; with `to_the_end` only if nothing but members comes after it.
fn id_among(mut text: &[u8], to_the_end: bool) -> Option<RequestId> {
    let mut found = None;
    loop {
        let key: String = value(&mut text)?;
        mark(&mut text, b":")?;
        if key == "id" {
            found = match value(&mut text)? {
                Value::String(id) => Some(NumberOrString::String(id.into())),
                Value::Number(id) => id.as_i64().map(NumberOrString::Number),
                _ => None,
            };
        } else {
            value::<IgnoredAny>(&mut text)?;
        }
        let is_over = mark(&mut text, b",}")? == b'}';
        if is_over || (found.is_some() && !to_the_end) {
            return found.filter(|_| !to_the_end || text.trim_ascii().is_empty());
        }
    }
}

/// Reads the value at the beginning of a text, and takes it off.
fn value<'a, T: Deserialize<'a>>(text: &mut &'a [u8]) -> Option<T> {
    let mut values = Deserializer::from_slice(text).into_iter();
    let value = values.next()?.ok()?;
    *text = &text[values.byte_offset()..];
    Some(value)
}

/// Takes one of these marks off the beginning of a text.
fn mark(text: &mut &[u8], marks: &[u8]) -> Option<u8> {
    let (first, rest) = text.trim_ascii_start().split_first()?;
    *text = rest;
    Some(*first).filter(|mark| marks.contains(mark))
}
