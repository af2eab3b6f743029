//! The end of a text that may be of any length.

/// The last bytes of what was pushed.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    n_dropped: u64,
    /// Whether what is kept begins with a line.
    begins_with_line: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Tail {
        Tail { bytes: Vec::new(), limit, n_dropped: 0, begins_with_line: true }
    }

    /// Returns the tail of a text before which so many bytes were not kept.
    pub(super) fn of(text: String, n_dropped: u64) -> Tail {
        Tail { limit: text.len(), bytes: text.into_bytes(), n_dropped, begins_with_line: true }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        // In pieces, so that a large one does not make it large.
        for piece in bytes.chunks((self.limit / 8).max(1)) {
            self.bytes.extend_from_slice(piece);
            // Seldom, since it moves all that is kept.
            if self.bytes.len() > self.limit + self.limit / 8 {
                self.cut(self.bytes.len() - self.limit);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.n_dropped == 0
    }

    /// Returns whether the text stands in the last `within` bytes, or so.
    pub(super) fn ends_near(&self, text: &str, within: usize) -> bool {
        let start = self.bytes.len().saturating_sub(text.len() + within);
        // Both are UTF-8, and where the piece begins inside a character only that one is not.
        String::from_utf8_lossy(&self.bytes[start..]).contains(text)
    }

    fn cut(&mut self, n_bytes: usize) {
        if let Some(last) = self.bytes[..n_bytes].last() {
            self.begins_with_line = *last == b'\n';
        }
        self.bytes.drain(..n_bytes);
        self.n_dropped += n_bytes as u64;
    }

    /// Returns the text, with what is no UTF-8 replaced, and how many bytes before it were not kept. It begins
    /// with a line, where one begins in the first half of it: half a line may hold half a secret.
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
    fn of_too_much_the_end_is_kept_from_a_line_on() {
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
