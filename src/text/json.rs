//! JSON and text as clients and shells write them: the one lenient reader.
//!
//! Pure.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Returns a text: UTF-16 where a byte order mark says so, as PowerShell writes files, else UTF-8, without the mark. What is
/// neither is replaced.
pub fn decoded(input: &[u8]) -> Cow<'_, str> {
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = input {
        let text = Utf16Decoder::default().push(input).into_owned();
        return Cow::Owned(String::from_utf8_lossy(&text).into_owned());
    }
    String::from_utf8_lossy(input.strip_prefix("\u{feff}".as_bytes()).unwrap_or(input))
}

/// Returns a text as [`decoded`] does; `None` where it is neither UTF-8 nor UTF-16.
pub fn decoded_whole(input: &[u8]) -> Option<Cow<'_, str>> {
    let text = decoded(input);
    (!text.contains(char::REPLACEMENT_CHARACTER) || std::str::from_utf8(input).is_ok()).then_some(text)
}

/// Reads a JSON document as clients write it.
///
/// # Errors
///
/// That of `serde_json`, which counts places in the repaired text.
pub fn read_json<T: DeserializeOwned>(input: &[u8]) -> serde_json::Result<T> {
    serde_json::from_str(&repaired_json(&decoded(input)))
}

/// Replaces what some clients write although JSON does not allow it: control characters in a text, and half of a surrogate
/// pair from a text that was cut inside an emoji. JSON stays as it is.
pub fn repaired_json(text: &str) -> Cow<'_, str> {
    let is_odd = |next: char| next < ' ';
    if !text.contains(is_odd) && !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let unit = |at: usize| {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let (mut repaired, mut at, mut is_in_text) = (String::with_capacity(text.len()), 0, false);
    while let Some(found) = text[at..].find(|next: char| next == '"' || next == '\\' || is_odd(next)) {
        let place = at + found;
        repaired.push_str(&text[at..place]);
        at = place + 1;
        match (text.as_bytes()[place], unit(place), unit(place + 6)) {
            (b'"', ..) => is_in_text = !is_in_text,
            (b'\\', Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => at = place + 12,
            (b'\\', Some(0xd800..0xe000), _) => {
                repaired.push_str("\\ufffd");
                at = place + 6;
                continue;
            }
            (b'\\', ..) => at = place + text[place..].chars().take(2).map(char::len_utf8).sum::<usize>(),
            (control, ..) if is_in_text => {
                repaired.push_str(&format!("\\u{control:04x}"));
                continue;
            }
            _ => {}
        }
        repaired.push_str(&text[place..at]);
    }
    Cow::Owned(repaired + &text[at..])
}

/// Makes a unit of UTF-16 of two bytes.
type UnitOf = fn([u8; 2]) -> u16;

/// Decodes UTF-16 piece by piece, if the input begins with a byte order mark of that; else it changes nothing.
#[expect(clippy::option_option, reason = "what is not known yet is no other encoding")]
#[derive(Debug, Default)]
pub(crate) struct Utf16Decoder {
    /// What makes two bytes a unit, once the first two are known; none for another encoding.
    unit: Option<Option<UnitOf>>,
    /// The bytes whose unit or pair is not complete.
    rest: Vec<u8>,
}

impl Utf16Decoder {
    /// Returns the next piece as UTF-8.
    pub(crate) fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if matches!(self.unit, Some(None)) {
            return Cow::Borrowed(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let Some(decided) = self.unit.or_else(|| {
            Some(match self.rest.get(..2)? {
                [0xff, 0xfe] => Some(u16::from_le_bytes as UnitOf),
                [0xfe, 0xff] => Some(u16::from_be_bytes as UnitOf),
                _ => None,
            })
        }) else {
            return Cow::Borrowed(&[]);
        };
        if self.unit.is_none() && decided.is_some() {
            self.rest.drain(..2);
        }
        self.unit = Some(decided);
        let Some(unit) = decided else { return Cow::Owned(std::mem::take(&mut self.rest)) };
        let mut units: Vec<u16> = self.rest.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        // The other half of a pair comes with the next piece.
        units.pop_if(|last| (0xd800..0xdc00).contains(&*last));
        self.rest.drain(..2 * units.len());
        Cow::Owned(String::from_utf16_lossy(&units).into_bytes())
    }

    /// Returns what is left at the end of the input.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.rest);
        if matches!(self.unit, Some(Some(_))) && !rest.is_empty() { "\u{fffd}".as_bytes().to_vec() } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_clients_write_in_place_of_json_is_repaired() {
        let utf16 = |text: &str, to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            format!("\u{feff}{text}").encode_utf16().flat_map(to_bytes).collect()
        };
        let rows: [(&[u8], &str); 14] = [
            (br#"{"m":"a"}"#, "a"),
            (br#"{"m":"cut \ud83d"}"#, "cut \u{fffd}"),
            (br#"{"m":"\udc00 \uD83D\ud83d\ude00 \\ud83d"}"#, "\u{fffd} \u{fffd}\u{1f600} \\ud83d"),
            (br#"{"m":"\ud83d\n\u00e9"}"#, "\u{fffd}\n\u{e9}"),
            (b"{\"m\":\"a raw\ttab\"}", "a raw\ttab"),
            (b"{\n\t\"m\": \"two\r\nlines\"\n}", "two\r\nlines"),
            (b"{\"m\":\"\x00\x01\x1b[2m\"}", "\0\u{1}\u{1b}[2m"),
            (b"{\"m\":\"a \\\"quoted\\\"\ttab\"}", "a \"quoted\"\ttab"),
            (b"{\"m\":\"ends \\\\\",\t\"n\":\"\t\"}", "ends \\"),
            (b"\xef\xbb\xbf{\"m\":\"a\"}", "a"),
            (b"{\"m\":\"a\xff\"}", "a\u{fffd}"),
            (&utf16(r#"{"m":"é 🦀"}"#, u16::to_le_bytes), "é 🦀"),
            (&utf16(r#"{"m":"é 🦀"}"#, u16::to_be_bytes), "é 🦀"),
            (&utf16("{\"m\":\"\t\\ud83d\"}", u16::to_le_bytes), "\t\u{fffd}"),
        ];
        for (input, expected) in rows {
            let shown = String::from_utf8_lossy(input);
            let object: Value = read_json(input).expect(&shown);
            assert_eq!(object["m"], expected, "{shown}");
        }
        for broken in ["{\"m\":\"a", "{\"m\":\"\\", "{\"m\":\"\\u12", "\u{1}"] {
            assert!(serde_json::from_str::<Value>(&repaired_json(broken)).is_err(), "{broken}");
        }
    }

    proptest! {
        /// Every text that JavaScript can write is read, and in the form in which JavaScript shows it.
        #[test]
        fn any_text_is_read(units in prop::collection::vec((prop_oneof![any::<u16>(), 0xd7f0u16..0xe010, 0u16..40], any::<bool>()), 0..40)) {
            let mut json = String::from("\"");
            for (unit, is_escaped) in &units {
                match char::from_u32(u32::from(*unit)).filter(|unit| !(*is_escaped || "\"\\".contains(*unit))) {
                    Some(plain) => json.push(plain),
                    None => write!(json, "\\u{unit:04x}").unwrap(),
                }
            }
            json.push('"');
            let units: Vec<u16> = units.into_iter().map(|(unit, _)| unit).collect();
            let text: String = serde_json::from_str(&repaired_json(&json)).unwrap();
            prop_assert_eq!(text, String::from_utf16_lossy(&units));
        }
    }

    #[test]
    fn pieces_are_decoded_as_the_whole() {
        for text in ["é 🦀\r\n<task-done>t</task-done>", "", "a"] {
            let little: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
            for input in [little.as_slice(), text.as_bytes()] {
                for size in 1..=input.len().max(1) {
                    let mut decoder = Utf16Decoder::default();
                    let pieces = input.chunks(size).map(|piece| decoder.push(piece).into_owned());
                    let mut found: Vec<u8> = pieces.collect::<Vec<_>>().concat();
                    found.extend(decoder.finish());
                    assert_eq!(String::from_utf8(found).unwrap(), text, "{size}");
                }
            }
        }
    }
}
