//! The block of instructions that setup writes into `AGENTS.md` and `CLAUDE.md`, between two markers.

use std::ops::Range;

/// The line before the block.
pub(crate) const BEGIN: &str = "<!-- ralph-memory:begin -->";
/// The line after the block.
pub(crate) const END: &str = "<!-- ralph-memory:end -->";

/// Returns the place of the block, with the end of its last line; `None` if there is no marker.
///
/// # Errors
///
/// Which markers do not belong together.
pub(crate) fn own_block(text: &str) -> Result<Option<Range<usize>>, String> {
    let mut markers = Vec::new();
    let mut offset = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let bare = line.trim();
        if bare == BEGIN || bare == END {
            markers.push((bare == BEGIN, number, offset..offset + line.len()));
        }
        offset += line.len();
    }
    match markers.as_slice() {
        [] => Ok(None),
        [(true, _, begin), (false, _, end)] => Ok(Some(begin.start..end.end)),
        [.., (_, line, _)] => {
            Err(format!("the markers `{BEGIN}` and `{END}` do not form one pair (the last one is on line {line})"))
        }
    }
}
