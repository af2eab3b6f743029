//! The block of instructions in `AGENTS.md` and `CLAUDE.md`, between two markers.

use super::entry::WantState;
use super::lines::{appended, cut_out, line_end};
use crate::text::{BEGIN, END, own_block};

/// The instructions. They are read at the start of every session, so they are few.
const INSTRUCTIONS: &str = "\
## Memory of this project

`.ralph/` has what earlier sessions tried and learned. The server `ralph-memory` reads and writes it.

- Before a task, call `build_context` with the task. Without the server, run `ralph-memory context \"TASK\"`.
- When something has cost time that others would lose again, record it with `add_knowledge`.
- When an approach fails, or a task is done, record it with `record_attempt`.
";

fn block(line_end: &str) -> String {
    format!("{BEGIN}\n{INSTRUCTIONS}{END}\n").replace('\n', line_end)
}

/// Compares the block with a text.
pub(super) fn compare(text: &str) -> WantState {
    match own_block(text) {
        Err(reason) => WantState::Broken(reason),
        Ok(None) => WantState::Added,
        // The last line may lack its end.
        Ok(Some(range)) if text[range.clone()].trim_end() == block(line_end(text)).trim_end() => WantState::Unchanged,
        Ok(Some(_)) => WantState::Changed,
    }
}

/// Returns a text that lacks the block with the block at its end.
pub(super) fn with(text: &str) -> String {
    appended(text, &block("\n"))
}

/// Returns the text without the block, and without the empty line before it.
///
/// # Errors
///
/// Which markers do not belong together.
pub(super) fn without(text: &str) -> Result<String, String> {
    let Some(range) = own_block(text)? else { return Ok(text.to_owned()) };
    Ok(cut_out(text, range))
}

#[cfg(test)]
mod tests {
    use super::super::entry::WantState::{Added, Changed, Unchanged};
    use super::*;

    #[test]
    fn the_block_is_short() {
        assert!(block("\n").lines().count() <= 12);
    }

    #[test]
    fn a_block_is_added_compared_and_taken_out() {
        for text in ["", "# Rules\n", "# Rules\r\n", "# Rules", "\u{feff}# Rules\n\n"] {
            let made = with(text);
            assert_eq!(made.contains('\r'), text.contains('\r'));
            let old = made.replace("Before a task", "At first");
            assert_eq!((compare(text), compare(&made), compare(&old)), (Added, Unchanged, Changed));
            assert_eq!(without(&made).as_deref(), Ok(text));
        }
        let between = format!("a\n\n{}b\n", block("\n"));
        assert_eq!(without(&between).unwrap(), "a\nb\n");
        assert_eq!(compare(&format!("text about `{BEGIN}`\n")), Added);
    }

    #[test]
    fn markers_that_form_no_pair_are_refused() {
        for text in
            [BEGIN.to_owned(), END.to_owned(), format!("{END}\n{BEGIN}\n"), format!("{BEGIN}\n{BEGIN}\n{END}\n")]
        {
            assert!(without(&text).unwrap_err().contains("do not form one pair"), "{text}");
        }
    }
}
