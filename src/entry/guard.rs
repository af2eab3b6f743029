//! A scan of frontmatter before any YAML parser sees it.
//!
//! It refuses anything that can cost a parser its memory or its time (anchors, aliases, tags, depth, control
//! characters), with its place. It also finds the top-level keys with the bytes of their values, so that an edit can
//! change one key and leave every other byte alone. It does not interpret values: the parser does.

use std::ops::Range;

/// How deep collections may be nested.
const MAX_DEPTH: usize = 32;
/// The code of a conflict that git left.
pub(super) const CONFLICT: &str = "merge-conflict";

/// How a top-level value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Nothing after the colon, and nothing below that belongs to it.
    Empty,
    /// A plain scalar.
    Plain,
    /// `'…'` or `"…"`
    Quoted,
    /// `[…]`
    FlowList,
    /// `{…}`
    FlowMap,
    /// `- item` lines.
    BlockList,
    /// `key: value` lines further in.
    BlockMap,
    /// `|` or `>` and the lines below.
    BlockScalar,
}

/// A top-level key and the place of its value. Offsets are bytes from the start of the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key, without quotes.
    pub name: String,
    /// The start of its line.
    pub start: usize,
    /// After the colon.
    pub colon_end: usize,
    /// The value, without the white space around it or a comment after it.
    pub value: Range<usize>,
    /// How the value is written.
    pub style: Style,
}

impl Key {
    /// Returns where its value begins; where it has none, its own start.
    pub(super) fn place(&self) -> usize {
        if self.value.is_empty() { self.start } else { self.value.start }
    }

    /// Returns where its value ends; where it has none, the end of its colon.
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.colon_end)
    }
}

/// Why frontmatter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The code of the problem, such as `yaml-alias`.
    pub code: &'static str,
    /// The place, in bytes from the start of the frontmatter.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// Finds the top-level keys of `head`, in order, or the first construct that no parser may see.
///
/// Text that is not a mapping, or not YAML at all, gives the keys that could be recognised.
pub fn scan(head: &str) -> Result<Vec<Key>, Fault> {
    let is_refused = |character: char| character.is_control() && !matches!(character, '\n' | '\r' | '\t' | '\u{85}');
    if let Some((offset, character)) = head.char_indices().find(|(_, character)| is_refused(*character)) {
        let message = format!("the frontmatter has a control character (U+{:04X})", u32::from(character));
        return Err(Fault { code: "control-character", offset, message, hint: "delete it" });
    }
    if let Some(Range { start: offset, .. }) = conflicts(head).into_iter().next() {
        let message = "git left a conflict here".to_owned();
        let hint = "decide between the two versions and delete the marker lines";
        return Err(Fault { code: CONFLICT, offset, message, hint });
    }
    let (bytes, keys, open) = (head.as_bytes(), Vec::new(), Vec::new());
    let mut scanner = YamlScanner { text: head, bytes, at: 0, line_start: 0, keys, open };
    while scanner.next_token().is_some() {
        scanner.node()?;
    }
    Ok(scanner.keys)
}

/// Returns the character that a line of git's conflict markers consists of.
pub(super) fn marker(line: &str) -> Option<char> {
    let bare = line.trim_end();
    let first = bare.chars().next()?;
    let label = bare.trim_start_matches(first);
    // Where both sides renamed the file, they are longer by one.
    let is_marker = matches!(bare.len() - label.len(), 7 | 8);
    match first {
        '<' | '>' | '|' if is_marker && (label.is_empty() || label.starts_with(' ')) => Some(first),
        '=' if is_marker && label.is_empty() => Some(first),
        _ => None,
    }
}

/// Returns the conflicts in a text, each from the line of its first marker to that of its last, and markers that stand alone.
pub(crate) fn conflicts(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut open, mut offset) = (Vec::new(), None, 0);
    for line in text.split_inclusive('\n') {
        let here = offset..offset + line.trim_end().len();
        match marker(line) {
            Some('<') => found.extend(open.replace(here)),
            Some('>') => found.push(open.take().map_or(here.clone(), |start: Range<usize>| start.start..here.end)),
            Some('|') if open.is_none() => found.push(here),
            _ => {}
        }
        offset += line.len();
    }
    found.extend(open);
    found
}

/// Returns the fault of a node that begins with `&`, `*` or `!`.
fn property(byte: u8, offset: usize) -> Fault {
    let (code, name) = match byte {
        b'&' => ("yaml-anchor", "anchor (`&`)"),
        b'*' => ("yaml-alias", "alias (`*`)"),
        _ => ("yaml-tag", "tag (`!`)"),
    };
    let message = format!("a YAML {name} begins here, and entries may not have any");
    Fault { code, offset, message, hint: "put the value in double quotes, without a comment behind it" }
}

fn too_deep(offset: usize) -> Fault {
    let message = format!("collections are nested more than {MAX_DEPTH} levels deep");
    Fault { code: "yaml-too-deep", offset, message, hint: "flatten the value, or move it into the body" }
}

struct YamlScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line_start: usize,
    keys: Vec<Key>,
    /// The columns of the block collections that are open, outermost first.
    open: Vec<usize>,
}

impl YamlScanner<'_> {
    /// Skips white space, line ends and comments; returns the next byte, if there is one.
    fn next_token(&mut self) -> Option<u8> {
        loop {
            match *self.bytes.get(self.at)? {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' => self.next_line(),
                b'#' if self.starts_comment() => self.next_line(),
                byte => return Some(byte),
            }
        }
    }

    /// Reads what is next in block context: the mark of an item, a key with its colon, or a value with the rest of its
    /// last line.
    fn node(&mut self) -> Result<(), Fault> {
        let (start, byte) = (self.at, self.bytes[self.at]);
        let column = start - self.line_start;
        let is_mark = matches!(byte, b'-' | b'?') && self.is_blank_at(start + 1);
        if self.text[self.line_start..start].trim().is_empty() {
            let is_item = is_mark && byte == b'-';
            self.open.retain(|open| *open < column || (*open == column && is_item));
        }
        if is_mark {
            self.enter(column)?;
            if byte == b'-' {
                self.note(start..self.trimmed(self.line_end()), Style::BlockList);
            } else if column > 0 {
                self.note(start..start + 1, Style::BlockMap);
            }
            self.at += 1;
            return Ok(());
        }
        let style = match byte {
            b'&' | b'*' | b'!' => return Err(property(byte, start)),
            b'|' | b'>' => {
                let end = self.deeper_lines(false);
                self.note(start..end, Style::BlockScalar);
                return Ok(());
            }
            b'"' | b'\'' => self.quoted(byte),
            b'[' | b'{' => self.flow()?,
            _ => self.plain(),
        };
        let end = self.trimmed(self.at).max(start);
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if self.is_colon() {
            self.enter(column)?;
            self.at += 1;
            if column == 0 {
                let name = unquote(&self.text[start..end]);
                self.keys.push(Key { name, start, colon_end: self.at, value: self.at..self.at, style: Style::Empty });
            } else {
                self.note(start..end, Style::BlockMap);
            }
            return Ok(());
        }
        self.note(start..end, style);
        if style == Style::Plain {
            let end = self.deeper_lines(true);
            self.note(end..end, style);
        } else {
            self.next_line();
        }
        Ok(())
    }

    /// Counts a block collection that begins at this column.
    fn enter(&mut self, column: usize) -> Result<(), Fault> {
        if self.open.last().is_none_or(|open| *open < column) {
            self.open.push(column);
            if self.open.len() > MAX_DEPTH {
                return Err(too_deep(self.at));
            }
        }
        Ok(())
    }

    /// Notes a part of the value of the newest top-level key; the first part says how it is written.
    fn note(&mut self, part: Range<usize>, style: Style) {
        let Some(key) = self.keys.last_mut() else { return };
        if key.style == Style::Empty {
            (key.value, key.style) = (part, style);
        } else {
            key.value.end = key.value.end.max(part.end);
        }
    }

    /// Skips the rest of this line, and the lines below that go on with its scalar: they are indented more than the
    /// collection that it is in. Returns the end of the scalar.
    fn deeper_lines(&mut self, is_plain: bool) -> usize {
        let parent = self.open.last().copied().unwrap_or_default();
        let mut end = self.trimmed(if is_plain { self.at } else { self.line_end() });
        self.next_line();
        let mut at = self.at;
        for line in self.text[self.at..].split_inclusive('\n') {
            let bare = line.trim_start_matches([' ', '\t']);
            at += line.len();
            if bare.trim().is_empty() || (is_plain && bare.starts_with('#')) {
                continue;
            }
            if line.len() - bare.len() <= parent {
                break;
            }
            (self.at, self.line_start, end) = (at, at, self.trimmed(at));
        }
        end
    }

    /// Reads a quoted scalar, over lines if it runs on; an unclosed one ends with the text.
    fn quoted(&mut self, quote: u8) -> Style {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += 1;
            if *byte == b'\\' && quote == b'"' {
                self.at = (self.at + 1).min(self.bytes.len());
            } else if *byte == quote {
                if quote == b'"' || self.bytes.get(self.at) != Some(&quote) {
                    break;
                }
                self.at += 1;
            }
        }
        Style::Quoted
    }

    /// Reads a flow collection, over lines if it runs on.
    fn flow(&mut self) -> Result<Style, Fault> {
        let style = if self.bytes[self.at] == b'[' { Style::FlowList } else { Style::FlowMap };
        let (mut depth, mut begins_node) = (0, true);
        while let Some(byte) = self.next_token() {
            match byte {
                b'&' | b'*' | b'!' if begins_node => return Err(property(byte, self.at)),
                b'"' | b'\'' if begins_node => {
                    self.quoted(byte);
                    begins_node = false;
                    continue;
                }
                b'[' | b'{' if depth + self.open.len() == MAX_DEPTH => return Err(too_deep(self.at)),
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                b',' | b':' | b'?' => {}
                _ => {
                    self.skip_to(|byte| matches!(byte, b',' | b'[' | b']' | b'{' | b'}' | b'\n' | b':'));
                    begins_node = false;
                    continue;
                }
            }
            self.at += 1;
            begins_node = !matches!(byte, b']' | b'}');
            if depth == 0 {
                break;
            }
        }
        Ok(style)
    }

    /// Reads a plain scalar up to the end of this line, or up to its colon.
    fn plain(&mut self) -> Style {
        while !self.is_colon() && !matches!(self.bytes.get(self.at), None | Some(b'\n')) && !self.starts_comment() {
            self.at += 1;
        }
        Style::Plain
    }

    /// Skips the bytes of a scalar up to the first one that ends it, or to a comment.
    fn skip_to(&mut self, is_end: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|byte| !is_end(*byte)) && !self.starts_comment() {
            self.at += 1;
        }
    }

    fn is_colon(&self) -> bool {
        self.bytes.get(self.at) == Some(&b':') && self.is_blank_at(self.at + 1)
    }

    fn starts_comment(&self) -> bool {
        self.bytes.get(self.at) == Some(&b'#') && (self.at == 0 || self.is_blank_at(self.at - 1))
    }

    fn is_blank_at(&self, offset: usize) -> bool {
        self.bytes.get(offset).is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
    }

    fn line_end(&self) -> usize {
        self.text[self.at..].find('\n').map_or(self.text.len(), |length| self.at + length)
    }

    fn next_line(&mut self) {
        self.at = (self.line_end() + 1).min(self.text.len());
        self.line_start = self.at;
    }

    fn trimmed(&self, end: usize) -> usize {
        self.text[..end].trim_end().len()
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
    fn check_refused(head: &str, code: &str, offset: usize) {
        let fault = scan(head).unwrap_err();
        assert_eq!((fault.code, fault.offset), (code, offset), "{head:?}");
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
        for (head, expected) in [
            ("a: b\n", Style::Plain),
            ("a: 'b'\n", Style::Quoted),
            ("a: \"b\"\n", Style::Quoted),
            ("a: >\n  b\n", Style::BlockScalar),
            ("a:\n  - b\n  - c\n", Style::BlockList),
            ("a:\n- b\n", Style::BlockList),
            ("a:\n  b: c\n", Style::BlockMap),
            ("a: {}\n", Style::FlowMap),
            ("a: []\n", Style::FlowList),
            ("a: [b, c , ]\n", Style::FlowList),
            ("a:\n  \"b\"\n", Style::Quoted),
        ] {
            assert_eq!(style(head), expected, "{head:?}");
        }
    }

    #[test]
    fn refused_constructs_are_found_at_their_place() {
        check_refused("a: &x b\n", "yaml-anchor", 3);
        check_refused("a: b\nc: *x\n", "yaml-alias", 8);
        check_refused("a: [b, *x]\n", "yaml-alias", 7);
        check_refused("a: {b: *x}\n", "yaml-alias", 7);
        check_refused("a: {b, \n&x c}\n", "yaml-anchor", 8);
        check_refused("a:\n  - - *x\n", "yaml-alias", 9);
        check_refused("- *x\n", "yaml-alias", 2);
        check_refused("<<: *x\n", "yaml-alias", 4);
        check_refused("*x : y\n", "yaml-alias", 0);
        check_refused("a: !!str b\n", "yaml-tag", 3);
        check_refused("a:\n  !x b\n", "yaml-tag", 5);
        check_refused("a: b\u{7}\n", "control-character", 4);
        check_refused("a: b\n<<<<<<< ours\n", "merge-conflict", 5);
        check_refused(&format!("a: {}", "[".repeat(32_000)), "yaml-too-deep", 3 + 31);
        let deep: Vec<String> = (0..40).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect();
        assert_eq!(scan(&deep.concat()).unwrap_err().code, "yaml-too-deep");
        assert_eq!(scan(&"- ".repeat(40)).unwrap_err().code, "yaml-too-deep");
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

    #[test]
    fn conflicts_are_found_as_a_whole_and_single_markers_too() {
        let found = |text: &str| conflicts(text).into_iter().map(|place| text[place].to_owned()).collect::<Vec<_>>();
        let one = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n";
        let two = "<<<<<<<< HEAD:x\nc\n|||||||| base\n========\nd\n>>>>>>>> other:y\n";
        assert_eq!(found(&format!("x\n{one}y\n{two}")), [one.trim_end(), two.trim_end()]);
        assert_eq!(found("<<<<<<< a\n=======\n<<<<<<< b\r\n|||||||\n"), ["<<<<<<< a", "<<<<<<< b"]);
        assert_eq!(found(">>>>>>> a\n||||||| b\n"), [">>>>>>> a", "||||||| b"]);
        assert_eq!(found("    <<<<<<< a\n<<<<<<<<< b\n<<<<<<<c\n=======\n> >>>>>>> d\n"), [""; 0]);
    }
}
