//! A top-level key of frontmatter, the place of its value, and the style of that.

use std::ops::Range;

/// How a top-level value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Nothing after the colon, and nothing below that belongs to it.
    Empty,
    /// A plain scalar.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `[…]`, with the offset after its last item, and whether a comma follows that item.
    FlowList {
        /// The offset after the last item, or after the `[` of an empty list.
        last_item: usize,
        /// Whether the list is empty.
        empty: bool,
        /// Whether a comma is between the last item and the `]`.
        trailing_comma: bool,
    },
    /// `{…}`
    FlowMap,
    /// `- item` lines.
    BlockList {
        /// The column of the last `-`.
        indent: usize,
    },
    /// `key: value` lines further in.
    BlockMap,
    /// `|` or `>` and the lines below.
    BlockScalar,
}

impl Style {
    /// Returns whether the value is one piece of text.
    pub fn is_scalar(self) -> bool {
        matches!(self, Style::Plain | Style::SingleQuoted | Style::DoubleQuoted | Style::BlockScalar | Style::Empty)
    }

    /// Returns whether the value is a list.
    pub fn is_list(self) -> bool {
        matches!(self, Style::FlowList { .. } | Style::BlockList { .. })
    }
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
