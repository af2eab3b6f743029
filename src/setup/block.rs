//! The block of instructions in `AGENTS.md` and `CLAUDE.md`, between two markers.

use std::ops::Range;

use super::insertion::{Insertion, line_end};
use crate::text::OWN_BLOCK;

const BEGIN: &str = OWN_BLOCK[0];
const END: &str = OWN_BLOCK[1];

/// The instructions. They are read at the start of every session, so they are few.
const INSTRUCTIONS: &str = "\
## Memory of this project

`.ralph/` has what earlier sessions tried and learned. The server `ralph-memory` reads and writes it.

- Before a task, call `build_context` with the task. Without the server, run `ralph-memory context --task \"TASK\"`.
- When something has cost time that others would lose again, record it with `add_knowledge`.
- When an approach fails, or a task is done, record it with `record_attempt`.
";

/// Returns the block with the line ends of a file.
fn block(line_end: &str) -> String {
    format!("{BEGIN}\n{INSTRUCTIONS}{END}\n").replace('\n', line_end)
}

/// What a file has in the place of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockState {
    Missing,
    Current,
    /// It is of another version.
    Outdated(Range<usize>),
}

/// Looks for the block.
///
/// # Errors
///
/// Which markers do not belong together.
pub(super) fn block_state(text: &str) -> Result<BlockState, String> {
    match find(text)? {
        None => Ok(BlockState::Missing),
        Some(range) if text[range.clone()].trim_end() == block(line_end(text)).trim_end() => Ok(BlockState::Current),
        Some(range) => Ok(BlockState::Outdated(range)),
    }
}

/// Returns the insertion of a block that is missing, at the end of the file.
pub(super) fn insertion(text: &str) -> Insertion {
    let end = line_end(text);
    let before = match text {
        "" => "",
        text if text.ends_with('\n') => end,
        _ => &end.repeat(2),
    };
    Insertion::new(text.len(), format!("{before}{}", block(end)))
}

/// Returns the text with the block in the place of an outdated one.
pub(super) fn updated(text: &str, range: Range<usize>) -> String {
    let block = block(line_end(text));
    // The last line may lack its end.
    let block = if text[range.clone()].ends_with('\n') { &block } else { block.trim_end() };
    format!("{}{block}{}", &text[..range.start], &text[range.end..])
}

/// Returns the text without the block, and without the empty line before it; `None` if it has none.
///
/// # Errors
///
/// Those of [`block_state`].
pub(super) fn without(text: &str) -> Result<Option<String>, String> {
    let Some(range) = find(text)? else { return Ok(None) };
    let mut start = range.start;
    for blank in ["\r\n", "\n"] {
        if text[..start].ends_with(&format!("{blank}{blank}")) {
            start -= blank.len();
            break;
        }
    }
    Ok(Some(format!("{}{}", &text[..start], &text[range.end..])))
}

/// Returns the place of the block, with the end of its last line.
fn find(text: &str) -> Result<Option<Range<usize>>, String> {
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

#[cfg(test)]
mod tests {
    use super::super::insertion::insert;
    use super::*;

    #[test]
    fn the_block_is_short() {
        assert!(block("\n").lines().count() <= 12);
    }

    #[test]
    fn a_block_is_added_updated_and_taken_out() {
        for text in ["", "# Rules\n", "# Rules\r\n", "# Rules", "\u{feff}# Rules\n\n"] {
            let with = insert(text, &[insertion(text)]);
            assert_eq!(block_state(&with), Ok(BlockState::Current), "{with:?}");
            assert_eq!(with.contains('\r'), text.contains('\r'));
            let old = with.replace("Before a task", "At first");
            let Ok(BlockState::Outdated(range)) = block_state(&old) else { panic!("{old:?}") };
            assert_eq!(updated(&old, range), with);
            let without = without(&with).unwrap().unwrap();
            assert_eq!(without.trim_end(), text.trim_end());
        }
        let between = format!("a\n\n{}b\n", block("\n"));
        assert_eq!(without(&between).unwrap().unwrap(), "a\nb\n");
        assert_eq!(without(&format!("text about `{BEGIN}`\n")), Ok(None));
    }

    #[test]
    fn markers_that_form_no_pair_are_refused() {
        for text in
            [BEGIN.to_owned(), END.to_owned(), format!("{END}\n{BEGIN}\n"), format!("{BEGIN}\n{BEGIN}\n{END}\n")]
        {
            assert!(block_state(&text).unwrap_err().contains("do not form one pair"), "{text}");
            assert!(without(&text).is_err());
        }
    }
}
