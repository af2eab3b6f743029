//! A scan of frontmatter before any YAML parser sees it.
//!
//! It refuses anything that can cost a parser its memory or its time (anchors, aliases, tags, depth, control
//! characters), with its place. It also finds the top-level keys with the bytes of their values, so that an edit can
//! change one key and leave every other byte alone. It does not interpret values: the parser does.

use std::ops::Range;

pub(crate) use super::key::{Key, Style};

/// How deep collections may be nested.
pub(crate) const MAX_DEPTH: usize = 32;

/// Constructs that no parser may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// `&name`
    Anchor,
    /// `*name`
    Alias,
    /// `!name`
    Tag,
    /// More than [`MAX_DEPTH`] collections inside each other.
    TooDeep,
    /// A control character.
    Control(char),
    /// A conflict marker of a version control merge.
    ConflictMarker,
}

/// Finds the top-level keys of `head`, in order, or the first refused construct and its offset.
///
/// Text that is not a mapping, or not YAML at all, gives the keys that could be recognised.
pub fn scan(head: &str) -> Result<Vec<Key>, (Refusal, usize)> {
    if let Some((offset, character)) = head.char_indices().find(|(_, character)| is_refused_control(*character)) {
        return Err((Refusal::Control(character), offset));
    }
    if let Some(offset) = conflict_marker(head) {
        return Err((Refusal::ConflictMarker, offset));
    }
    let mut scanner =
        YamlScanner { text: head, bytes: head.as_bytes(), at: 0, keys: Vec::new(), open: Vec::new(), plain: None };
    scanner.run()?;
    Ok(scanner.keys)
}

fn is_refused_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\r' | '\t' | '\u{85}')
}

/// Returns the offset of the first conflict marker of git, if there is one.
pub(crate) fn conflict_marker(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        let is_marker = |mark: &str| bare == mark || bare.strip_prefix(mark).is_some_and(|rest| rest.starts_with(' '));
        if is_marker("<<<<<<<") || is_marker(">>>>>>>") || is_marker("|||||||") {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

/// Returns the style of a scalar that begins with this byte.
fn scalar_style(byte: u8) -> Style {
    match byte {
        b'"' => Style::DoubleQuoted,
        b'\'' => Style::SingleQuoted,
        _ => Style::Plain,
    }
}

/// Returns why a node that begins with `&`, `*` or `!` is refused.
fn refusal_of(byte: u8) -> Refusal {
    match byte {
        b'&' => Refusal::Anchor,
        b'*' => Refusal::Alias,
        _ => Refusal::Tag,
    }
}

struct YamlScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    keys: Vec<Key>,
    /// The columns of the block collections that are open, outermost first.
    open: Vec<usize>,
    /// The column beyond which a line continues a plain scalar, after a line that ended in one.
    plain: Option<usize>,
}

impl YamlScanner<'_> {
    fn run(&mut self) -> Result<(), (Refusal, usize)> {
        while self.at < self.bytes.len() {
            self.line()?;
        }
        Ok(())
    }

    /// Goes to the first node of a line, and returns its column; reads a line that has none to its end.
    fn first_column(&mut self) -> Option<usize> {
        let line_start = self.at;
        let column = self.skip_spaces();
        if self.at_line_end() || self.bytes[self.at] == b'#' {
            self.skip_line();
            return None;
        }
        if self.plain.is_some_and(|parent| column > parent) {
            // The rest of a plain scalar: nothing in it can be a node of its own.
            let end = self.line_end();
            self.end_value(line_start, end, 0);
            self.skip_line();
            return None;
        }
        self.plain = None;
        Some(column)
    }

    /// Reads one line in block context, and every further line that its value takes.
    fn line(&mut self) -> Result<(), (Refusal, usize)> {
        let line_start = self.at;
        let Some(mut column) = self.first_column() else { return Ok(()) };
        let is_item = self.bytes[self.at] == b'-' && self.is_blank_at(self.at + 1);
        self.open.retain(|open| *open < column || (*open == column && is_item));
        let top_level_key = column == 0 && !is_item;
        let (first_column, mut key_column) = (column, None);
        // One pass for each `- `, `? ` and `key: ` on the line.
        while !self.at_line_end() && !self.starts_comment() {
            let (byte, node_start) = (self.bytes[self.at], self.at);
            if matches!(byte, b'-' | b'?') && self.is_blank_at(self.at + 1) && key_column.is_none() {
                self.enter(column)?;
                if byte == b'-' && !top_level_key {
                    self.note_item(line_start, first_column, column);
                }
                self.at += 1;
                column += 1 + self.skip_spaces();
                continue;
            }
            let parent = key_column.unwrap_or_else(|| self.parent_of(column));
            match byte {
                b'&' | b'*' | b'!' => return Err((refusal_of(byte), node_start)),
                b'|' | b'>' => {
                    let end =
                        self.block_scalar(if key_column.is_none() && first_column == column { column } else { parent });
                    self.set_value(line_start, node_start..end, Style::BlockScalar, first_column);
                    return Ok(());
                }
                b'"' | b'\'' => self.quoted(byte),
                b'[' | b'{' => {
                    let style = self.flow(node_start)?;
                    if !self.is_colon() {
                        self.set_value(line_start, node_start..self.at, style, first_column);
                    }
                }
                _ => self.plain(),
            }
            let node_end = self.trimmed_end(node_start, self.at);
            self.skip_spaces();
            if self.is_colon() {
                if key_column.is_none() {
                    self.enter(column)?;
                }
                key_column = Some(column);
                self.at += 1;
                if top_level_key && node_start == line_start {
                    self.note_key(node_start..node_end);
                }
                column += self.at - node_start + self.skip_spaces();
                continue;
            }
            if !matches!(byte, b'[' | b'{') {
                let style = scalar_style(byte);
                self.set_value(line_start, node_start..node_end, style, first_column);
                if style == Style::Plain {
                    self.plain = Some(key_column.unwrap_or(parent));
                }
            }
            break;
        }
        self.skip_line();
        Ok(())
    }

    /// Returns the column of the block collection that contains a node at this column.
    fn parent_of(&self, column: usize) -> usize {
        self.open.last().copied().filter(|_| column > 0).unwrap_or(column)
    }

    /// Counts a block collection that begins at this column.
    fn enter(&mut self, column: usize) -> Result<(), (Refusal, usize)> {
        if self.open.last().is_none_or(|open| *open < column) {
            self.open.push(column);
            if self.open.len() > MAX_DEPTH {
                return Err((Refusal::TooDeep, self.at));
            }
        }
        Ok(())
    }

    /// Records a value that belongs to the newest top-level key: on its own line, or below it.
    fn set_value(&mut self, line_start: usize, value: Range<usize>, style: Style, column: usize) {
        let Some(key) = self.keys.last_mut() else { return };
        if key.style == Style::Empty && key.value.is_empty() {
            let on_its_line = key.start == line_start;
            key.style = if on_its_line || column == 0 || style != Style::Plain { style } else { Style::Plain };
            key.value = value;
            if !on_its_line && self.open.len() > 1 {
                key.style = Style::BlockMap;
                key.value.start = line_start + column;
            }
        } else {
            key.value.end = key.value.end.max(value.end);
        }
    }

    /// Records a top-level key, whose colon has just been read.
    fn note_key(&mut self, node: Range<usize>) {
        let (name, at) = (unquote(&self.text[node.clone()]), self.at);
        self.keys.push(Key { name, start: node.start, colon_end: at, value: at..at, style: Style::Empty });
    }

    fn note_item(&mut self, line_start: usize, first_column: usize, column: usize) {
        let Some(key) = self.keys.last_mut() else { return };
        let end = {
            let rest = &self.bytes[self.at..];
            self.at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
        };
        let end = self.text[..end].trim_end().len();
        if key.style == Style::Empty && key.start != line_start {
            key.style = Style::BlockList { indent: column };
            key.value = line_start + first_column..end;
        } else {
            key.value.end = key.value.end.max(end);
        }
    }

    fn end_value(&mut self, line_start: usize, end: usize, _column: usize) {
        let end = self.trimmed_end(line_start, end);
        if let Some(key) = self.keys.last_mut() {
            key.value.end = key.value.end.max(end);
        }
    }

    /// Reads a block scalar whose lines are indented more than `parent`; returns where it ends.
    fn block_scalar(&mut self, parent: usize) -> usize {
        self.skip_line();
        let mut end = self.trimmed_end(0, self.at);
        while self.at < self.bytes.len() {
            let start = self.at;
            let column = self.skip_spaces();
            if self.at_line_end() {
                self.skip_line();
                continue;
            }
            if column <= parent && !(parent == 0 && column > 0) {
                self.at = start;
                break;
            }
            self.skip_line();
            end = self.trimmed_end(start, self.at);
        }
        end
    }

    /// Reads a quoted scalar, over lines if it runs on; an unclosed one ends with the text.
    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            let byte = self.bytes[self.at];
            self.at += 1;
            if byte == b'\\' && quote == b'"' {
                self.at = (self.at + 1).min(self.bytes.len());
            } else if byte == quote {
                if quote == b'\'' && self.bytes.get(self.at) == Some(&b'\'') {
                    self.at += 1;
                } else {
                    return;
                }
            }
        }
    }

    /// Reads a flow collection, over lines if it runs on.
    fn flow(&mut self, start: usize) -> Result<Style, (Refusal, usize)> {
        let is_list = self.bytes[start] == b'[';
        let mut depth = 0;
        let mut node_start = true;
        let (mut last_item, mut empty, mut trailing_comma) = (start + 1, true, false);
        loop {
            self.skip_flow_blanks();
            let Some(&byte) = self.bytes.get(self.at) else { break };
            match byte {
                b'[' | b'{' => {
                    depth += 1;
                    if depth + self.open.len() > MAX_DEPTH {
                        return Err((Refusal::TooDeep, self.at));
                    }
                    self.at += 1;
                    node_start = true;
                    if depth == 1 {
                        continue;
                    }
                }
                b']' | b'}' => {
                    depth -= 1;
                    self.at += 1;
                    node_start = false;
                    if depth == 0 {
                        break;
                    }
                }
                b',' => {
                    self.at += 1;
                    node_start = true;
                    if depth == 1 {
                        trailing_comma = true;
                        continue;
                    }
                }
                b'&' | b'*' | b'!' if node_start => return Err((refusal_of(byte), self.at)),
                b'"' | b'\'' if node_start => {
                    self.quoted(byte);
                    node_start = false;
                }
                b':' | b'?' => {
                    self.at += 1;
                    node_start = true;
                }
                _ => {
                    self.flow_scalar();
                    node_start = false;
                }
            }
            if depth >= 1 {
                last_item = self.text[..self.at].trim_end().len();
                empty = false;
                trailing_comma = false;
            }
        }
        Ok(if is_list { Style::FlowList { last_item, empty, trailing_comma } } else { Style::FlowMap })
    }

    /// Skips blanks, line ends and comments between the nodes of a flow collection.
    fn skip_flow_blanks(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'#' if self.at == 0 || self.is_blank_at(self.at - 1) => self.skip_line(),
                _ => break,
            }
        }
    }

    /// Reads a plain scalar of a flow collection up to the end of this line.
    fn flow_scalar(&mut self) {
        while self.at < self.bytes.len()
            && !matches!(self.bytes[self.at], b',' | b'[' | b']' | b'{' | b'}' | b'\n' | b':')
            && !(self.bytes[self.at] == b'#' && self.is_blank_at(self.at - 1))
        {
            self.at += 1;
        }
    }

    /// Reads a plain scalar up to the end of this line.
    fn plain(&mut self) {
        while !self.at_line_end() && !self.is_colon() && !self.starts_comment() {
            self.at += 1;
        }
    }

    fn is_colon(&self) -> bool {
        self.bytes.get(self.at) == Some(&b':') && self.is_blank_at(self.at + 1)
    }

    fn starts_comment(&self) -> bool {
        self.bytes.get(self.at) == Some(&b'#') && (self.at == 0 || self.is_blank_at(self.at - 1))
    }

    /// Returns whether white space or the end is at the offset.
    fn is_blank_at(&self, offset: usize) -> bool {
        self.bytes.get(offset).is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    fn at_line_end(&self) -> bool {
        self.bytes.get(self.at).is_none_or(|byte| *byte == b'\n')
            || (self.bytes[self.at] == b'\r' && self.bytes.get(self.at + 1) == Some(&b'\n'))
    }

    /// Skips spaces and tabs; returns how many.
    fn skip_spaces(&mut self) -> usize {
        let start = self.at;
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at - start
    }

    fn line_end(&self) -> usize {
        let rest = &self.bytes[self.at..];
        self.at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
    }

    fn skip_line(&mut self) {
        self.at = (self.line_end() + 1).min(self.bytes.len());
    }

    fn trimmed_end(&self, start: usize, end: usize) -> usize {
        start + self.text[start..end].trim_end().len()
    }
}

/// Returns a key without its quotes. Escapes stay as written: no key of ours has any.
fn unquote(key: &str) -> String {
    let inner = |quote: char| key.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(key).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(head: &str) -> Vec<(String, String)> {
        let keys = scan(head).unwrap();
        keys.into_iter().map(|key| (key.name, head[key.value].to_owned())).collect()
    }

    #[track_caller]
    fn check(head: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(keys(head), expected);
    }

    #[track_caller]
    fn check_refused(head: &str, refusal: Refusal, offset: usize) {
        assert_eq!(scan(head).unwrap_err(), (refusal, offset));
    }

    #[test]
    fn values_end_where_they_end() {
        check("a: b\nc: d\n", &[("a", "b"), ("c", "d")]);
        check("a: b # note\n# note\nc:   d  \n", &[("a", "b"), ("c", "d")]);
        check("a: \"x: y # z\" # note\n", &[("a", "\"x: y # z\"")]);
        check("a: 'it''s' # note\n", &[("a", "'it''s'")]);
        check("\"a b\": c\n'd': e\n", &[("a b", "c"), ("d", "e")]);
        check("a: [b, \"c]\", d] # e\nf: g\n", &[("a", "[b, \"c]\", d]"), ("f", "g")]);
        check("a: [b,\nc, # no ]\n  d]\nf: g\n", &[("a", "[b,\nc, # no ]\n  d]"), ("f", "g")]);
        check("a:\n  - b\n  - c # d\ne: f\n", &[("a", "- b\n  - c # d"), ("e", "f")]);
        check("a:\n- b\n- c\ne: f\n", &[("a", "- b\n- c"), ("e", "f")]);
        check("a: |\n  b: c\n\n  # d\ne: f\n", &[("a", "|\n  b: c\n\n  # d"), ("e", "f")]);
        check("a: b\n  c d\n  *e*\nf: g\n", &[("a", "b\n  c d\n  *e*"), ("f", "g")]);
        check("a: \"b\nc: d\"\ne: f\n", &[("a", "\"b\nc: d\""), ("e", "f")]);
        check("a:\n  b: c\n  d:\n    e: f\ng: h\n", &[("a", "b: c\n  d:\n    e: f"), ("g", "h")]);
        check("a:\nb:\n", &[("a", ""), ("b", "")]);
        check("a: b\r\nc: d\r\n", &[("a", "b"), ("c", "d")]);
        check("url: http://x.y/z#w\n", &[("url", "http://x.y/z#w")]);
        check("a: {b: c, d: [e]}\nf: g\n", &[("a", "{b: c, d: [e]}"), ("f", "g")]);
    }

    #[test]
    fn styles_are_distinguished() {
        let style = |head: &str| scan(head).unwrap().remove(0).style;
        assert_eq!(style("a: b\n"), Style::Plain);
        assert_eq!(style("a: 'b'\n"), Style::SingleQuoted);
        assert_eq!(style("a: \"b\"\n"), Style::DoubleQuoted);
        assert_eq!(style("a: >\n  b\n"), Style::BlockScalar);
        assert_eq!(style("a:\n  - b\n  - c\n"), Style::BlockList { indent: 2 });
        assert_eq!(style("a:\n- b\n"), Style::BlockList { indent: 0 });
        assert_eq!(style("a:\n  b: c\n"), Style::BlockMap);
        assert_eq!(style("a: {}\n"), Style::FlowMap);
        assert_eq!(style("a: []\n"), Style::FlowList { last_item: 4, empty: true, trailing_comma: false });
        assert_eq!(style("a: [b, c , ]\n"), Style::FlowList { last_item: 8, empty: false, trailing_comma: true });
        assert_eq!(style("a:\n  \"b\"\n"), Style::DoubleQuoted);
    }

    #[test]
    fn refused_constructs_are_found_at_their_place() {
        check_refused("a: &x b\n", Refusal::Anchor, 3);
        check_refused("a: b\nc: *x\n", Refusal::Alias, 8);
        check_refused("a: [b, *x]\n", Refusal::Alias, 7);
        check_refused("a: {b: *x}\n", Refusal::Alias, 7);
        check_refused("a: {b, \n&x c}\n", Refusal::Anchor, 8);
        check_refused("a:\n  - - *x\n", Refusal::Alias, 9);
        check_refused("- *x\n", Refusal::Alias, 2);
        check_refused("<<: *x\n", Refusal::Alias, 4);
        check_refused("*x : y\n", Refusal::Alias, 0);
        check_refused("a: !!str b\n", Refusal::Tag, 3);
        check_refused("a:\n  !x b\n", Refusal::Tag, 5);
        check_refused("a: b\u{7}\n", Refusal::Control('\u{7}'), 4);
        check_refused("a: b\n<<<<<<< ours\n", Refusal::ConflictMarker, 5);
        check_refused(&format!("a: {}", "[".repeat(32_000)), Refusal::TooDeep, 3 + 31);
        let deep: Vec<String> = (0..40).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect();
        assert_eq!(scan(&deep.concat()).unwrap_err().0, Refusal::TooDeep);
        assert_eq!(scan(&"- ".repeat(40)).unwrap_err().0, Refusal::TooDeep);
    }

    #[test]
    fn similar_but_harmless_constructs_are_accepted() {
        for head in [
            "a: R&D\n",
            "a: b *c* d\n",
            "a: \"*x\"\n",
            "a: '&x'\n",
            "a: b! c\n",
            "a: |\n  *x\n  &y !z\n",
            "a: >-\n *x\n",
            "# *x &y\na: b\n",
            "a: b # *x\n",
            "a: [b*c, d&e, f!]\n",
            "a: b\n  & c\n",
            "a: \"b\n  *c\"\n",
            "a: [\"*x\", '&y']\n",
        ] {
            assert!(scan(head).is_ok(), "{head:?}: {:?}", scan(head));
        }
    }
}
