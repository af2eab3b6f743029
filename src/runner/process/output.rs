//! The end of a command's output, and its lines as they arrive.
//!
//! It knows bytes and lines, but nothing about processes. At most twice the limit is in memory, whatever the size of
//! the output.

/// How much of a line is offered, in bytes.
pub(super) const MAX_LINE: usize = 4096;

/// What is kept of an output.
pub(super) struct OutputTail {
    bytes: Vec<u8>,
    limit: usize,
    begins_with_line: bool,
    /// The line that is not complete yet, or as much of it as is shown.
    line: Vec<u8>,
    pub(super) is_closed: bool,
}

impl OutputTail {
    pub(super) fn new(limit: usize) -> OutputTail {
        OutputTail { bytes: Vec::new(), limit, begins_with_line: true, line: Vec::new(), is_closed: false }
    }

    pub(super) fn take(&mut self, bytes: &[u8], see: &mut dyn FnMut(&str)) {
        self.bytes.extend_from_slice(bytes);
        // Seldom, since it moves all that is kept.
        if self.bytes.len() >= self.limit * 2 {
            self.cut(self.bytes.len() - self.limit);
        }
        for part in bytes.split_inclusive(|byte| is_line_end(*byte)) {
            let is_complete = part.last().is_some_and(|byte| is_line_end(*byte));
            let part = if is_complete { &part[..part.len() - 1] } else { part };
            let room = MAX_LINE - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if is_complete {
                if !self.line.is_empty() {
                    see(&String::from_utf8_lossy(&self.line));
                }
                self.line.clear();
            }
        }
    }

    fn cut(&mut self, n_bytes: usize) {
        if let Some(last) = self.bytes[..n_bytes].last() {
            self.begins_with_line = *last == b'\n';
        }
        self.bytes.drain(..n_bytes);
    }

    /// Returns what is kept; bytes that are no UTF-8 are replaced. It begins with a line, where one begins in the first half of it.
    pub(super) fn text(mut self) -> String {
        self.cut(self.bytes.len().saturating_sub(self.limit));
        if !self.begins_with_line {
            let half = &self.bytes[..self.bytes.len() / 2];
            let line = half.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.cut(line);
        }
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A bare `\r` is how a line is written over, which for a viewer is another line.
fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
