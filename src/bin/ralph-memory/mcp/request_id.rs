//! Finds the id of a request in a line that is not valid JSON, or too long to keep.
//!
//! A client waits for an answer with the id of its request, so it ignores an error without one. The scan looks only at
//! brackets, strings, colons and commas, so it finds the id whatever is wrong inside a value.

use rmcp::model::{NumberOrString, RequestId};
use serde_json::Value;

/// The limit of an id's length, in bytes, quotes and escapes included.
const MAX_ID: usize = 4096;

/// Takes a line in pieces, and knows its top-level id after the end of that value.
#[derive(Default)]
pub(super) struct IdScan {
    /// How many brackets are open.
    depth: usize,
    place: IdPlace,
    /// Whether the line's first value is over, or is not an object: nothing after it counts.
    is_over: bool,
    /// The text at the top level since the last `{`, `:` or `,`, up to one byte over the limit of an id.
    token: Vec<u8>,
    /// Whether the token is the value of the key `id`.
    is_id: bool,
    found: Option<RequestId>,
}

/// The state of the scan.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum IdPlace {
    #[default]
    Outside,
    InString,
    BehindBackslash,
}

impl IdScan {
    /// Returns the id in a whole line.
    pub(super) fn of(line: &[u8]) -> Option<RequestId> {
        let mut scan = IdScan::default();
        scan.take(line);
        scan.found()
    }

    /// Returns the id if it is one that an answer can have: a text, or a whole number. Of several the last counts, as
    /// in most parsers.
    pub(super) fn found(self) -> Option<RequestId> {
        self.found
    }

    /// Takes the next piece of the line.
    pub(super) fn take(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.is_over {
                return;
            }
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.place != IdPlace::Outside {
            self.place = match (self.place, byte) {
                (IdPlace::InString, b'"') => IdPlace::Outside,
                (IdPlace::InString, b'\\') => IdPlace::BehindBackslash,
                _ => IdPlace::InString,
            };
            self.keep(byte);
            return;
        }
        match (byte, self.depth) {
            (b'{', 0) => self.depth = 1,
            (b'[', 0) => self.is_over = true,
            (b'{' | b'[', _) => {
                self.depth += 1;
                // A key or an id with brackets in it is neither.
                self.token = vec![byte];
            }
            (b':', 1) => {
                self.is_id = serde_json::from_slice::<String>(&self.token).is_ok_and(|key| key == "id");
                self.token.clear();
            }
            (b',' | b'}' | b']', 1) => {
                if std::mem::take(&mut self.is_id) && self.token.len() <= MAX_ID {
                    self.found = id(&self.token);
                }
                self.token.clear();
                self.is_over = byte != b',';
            }
            (b'}' | b']', _) => self.depth = self.depth.saturating_sub(1),
            (b'"', 1..) => {
                self.place = IdPlace::InString;
                self.keep(byte);
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= MAX_ID {
            self.token.push(byte);
        }
    }
}

fn id(token: &[u8]) -> Option<RequestId> {
    match serde_json::from_slice(token).ok()? {
        Value::String(id) => Some(NumberOrString::String(id.as_str().into())),
        Value::Number(id) => id.as_i64().map(NumberOrString::Number),
        _ => None,
    }
}
