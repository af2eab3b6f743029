//! Feedback from a person who stopped a run, for the next attempt.

use std::io::{BufRead, IsTerminal as _, Read as _, Write};

use ralph_memory::runner::Interrupt;

const QUESTION: &str = "\
What should the next attempt know? An empty line ends it; Ctrl-C again ends everything.";
/// The limit of the feedback, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// Returns whether there is a person to ask.
pub(crate) fn is_wanted(interrupt: &Interrupt) -> bool {
    interrupt.is_by_person() && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks, and reads lines up to an empty one. If reading fails, the answer is the text up to there.
pub(crate) fn ask(input: &mut dyn BufRead, err: &mut dyn Write) -> String {
    // The terminal has shown `^C`.
    let _ = write!(err, "\n{QUESTION}\n");
    let mut answer = String::new();
    let mut line = Vec::new();
    while answer.len() < MAX_BYTES {
        let _ = write!(err, "> ").and_then(|()| err.flush());
        line.clear();
        let room = (MAX_BYTES - answer.len()) as u64;
        let is_read = input.take(room).read_until(b'\n', &mut line).is_ok();
        let text = String::from_utf8_lossy(&line);
        if text.trim().is_empty() {
            break;
        }
        answer.push_str(text.trim_end());
        answer.push('\n');
        if !is_read {
            break;
        }
    }
    answer.truncate(answer.trim_end().len());
    answer
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};

    use super::*;

    #[track_caller]
    fn check(typed: &[u8], expected: &str) {
        let mut err = Vec::new();
        assert_eq!(ask(&mut Cursor::new(typed), &mut err), expected);
        let err = String::from_utf8(err).unwrap();
        assert_eq!(err.matches(QUESTION).count(), 1);
    }

    #[test]
    fn lines_are_read_up_to_an_empty_one() {
        check(b"", "");
        check(b"\n", "");
        check(b"  \r\nmore\n", "");
        check(b"Use the lock.\n\nmore\n", "Use the lock.");
        check("é \r\n  - two\n".as_bytes(), "é\n  - two");
        check(b"no end", "no end");
        check(b"a\xffb\n", "a\u{fffd}b");
    }

    #[test]
    fn feedback_is_cut_to_the_size_of_a_section() {
        let mut err = Vec::new();
        let answer = ask(&mut Cursor::new(b"x\n".repeat(MAX_BYTES)), &mut err);
        assert_eq!(answer.len(), MAX_BYTES - 1);
        let answer = ask(&mut Cursor::new(vec![b'x'; MAX_BYTES * 2]), &mut err);
        assert_eq!(answer.len(), MAX_BYTES);
    }

    #[test]
    fn input_before_a_read_error_counts() {
        struct BrokenInput(bool);
        impl io::Read for BrokenInput {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                buffer[..2].copy_from_slice(b"a\n");
                Ok(2)
            }
        }
        assert_eq!(ask(&mut io::BufReader::new(BrokenInput(false)), &mut Vec::new()), "a");
    }

    #[test]
    fn a_closed_terminal_stops_nothing() {
        assert_eq!(ask(&mut Cursor::new(b"a\n"), &mut io::Cursor::new(&mut [0_u8; 0][..])), "a");
    }

    #[test]
    fn only_the_person_who_stopped_the_run_is_asked() {
        assert!(!is_wanted(&Interrupt::default()));
    }
}
