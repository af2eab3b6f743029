//! The end of a text of any length.

use super::MAX_TEXT;

/// The last bytes of the input.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    n_dropped: u64,
    /// Whether the kept part begins with a line.
    begins_with_line: bool,
}

impl Default for Tail {
    /// Keeps as much as is kept of an agent's text.
    fn default() -> Tail {
        Tail::new(MAX_TEXT)
    }
}

impl Tail {
    pub(super) fn new(limit: usize) -> Tail {
        Tail { bytes: Vec::new(), limit, n_dropped: 0, begins_with_line: true }
    }

    /// Returns the tail of a text before which this many bytes were dropped.
    pub(super) fn of(text: String, n_dropped: u64) -> Tail {
        Tail { limit: text.len(), bytes: text.into_bytes(), n_dropped, begins_with_line: true }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // In pieces, so that a large input does not make the buffer large.
        for piece in bytes.chunks((self.limit / 8).max(1)) {
            self.bytes.extend_from_slice(piece);
            // This is done seldom, because it moves all kept bytes.
            if self.bytes.len() > self.limit + self.limit / 8 {
                self.cut(self.bytes.len() - self.limit);
            }
        }
    }

    /// Returns the input, if none of it was dropped.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (self.n_dropped == 0).then_some(&self.bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.n_dropped == 0
    }

    /// Returns whether the text occurs in about the last `within` bytes.
    pub(super) fn ends_near(&self, text: &str, within: usize) -> bool {
        let start = self.bytes.len().saturating_sub(text.len() + within);
        // Both are UTF-8. If the window begins inside a character, only that character is not.
        String::from_utf8_lossy(&self.bytes[start..]).contains(text)
    }

    fn cut(&mut self, n_bytes: usize) {
        if let Some(last) = self.bytes[..n_bytes].last() {
            self.begins_with_line = *last == b'\n';
        }
        self.bytes.drain(..n_bytes);
        self.n_dropped += n_bytes as u64;
    }

    /// Returns the text, with invalid UTF-8 replaced, and the number of dropped bytes before it. It begins with a line
    /// if one begins in its first half: half a line may hold half a secret.
    pub(super) fn into_text(mut self) -> (String, u64) {
        self.cut(self.bytes.len().saturating_sub(self.limit));
        if !self.begins_with_line {
            let half = &self.bytes[..self.bytes.len() / 2];
            let line = half.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.cut(line);
        }
        let text = String::from_utf8(self.bytes);
        (text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()), self.n_dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_the_end_is_kept_from_a_line_start() {
        #[track_caller]
        fn check(parts: &[&str], limit: usize, text: &str, n_dropped: u64) {
            let mut tail = Tail::new(limit);
            for part in parts {
                tail.push(part.as_bytes());
            }
            assert_eq!(tail.into_text(), (text.to_owned(), n_dropped));
        }
        check(&[], 4, "", 0);
        check(&["abc\n"], 4, "abc\n", 0);
        check(&["abc\n", "de\n"], 3, "de\n", 4);
        check(&["abc\n", "d\ne\nf\n"], 8, "d\ne\nf\n", 4);
        check(&["0123456789", "0123456789", "x\nabcdef"], 8, "abcdef", 22);
        check(&["é", "éé"], 3, "\u{fffd}é", 3);
    }
}
