//! JSON as some clients write it.

/// Replaces what some clients write although JSON does not allow it: a byte order mark, bytes that are not UTF-8, and
/// half of a surrogate pair from a text that was cut inside an emoji. JSON stays as it is.
pub fn repaired_json(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let unit = |at: usize| {
        let escape = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(escape, 16).ok()
    };
    let (mut repaired, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        repaired.push_str(&text[at..escape]);
        let (high, low) = (unit(escape), unit(escape + 6));
        let length = match (high, low) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                repaired.push_str("\\ufffd");
                at = escape + 6;
                continue;
            }
            _ => text[escape..].chars().take(2).map(char::len_utf8).sum(),
        };
        repaired.push_str(&text[escape..escape + length]);
        at = escape + length;
    }
    repaired + &text[at..]
}
