//! The program that shows long answers on a terminal, page by page.
//!
//! A pager is a command, so only the environment names it, never a setting, because a clone could contain one. The
//! answer is complete before the pager starts, and has no characters that a terminal acts on.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Child, Command, Stdio};

use console::{Term, measure_text_width};
use ralph_memory::system::posix::shell;

use crate::activity;
use crate::authors::is_run_by_agent;
use crate::ui::Ui;

/// The variables that name a pager; the first one that is set counts.
const VARIABLES: [&str; 2] = ["RALPH_MEMORY_PAGER", "PAGER"];
/// Shows colours, ends by itself if the answer fits, and leaves it on the screen.
const LESS_OPTIONS: &str = "FRX";
/// The exit codes of a shell that cannot run a command.
const NOT_RUN: [i32; 2] = [126, 127];

/// A way to show a long answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pager {
    /// A command line of the person's own, for the shell.
    Own(String),
    /// `less`, if it is installed.
    Less,
}

impl Pager {
    /// Returns the pager, where a person reads the output on a terminal. An agent may have a terminal, too, and would
    /// wait for a key forever.
    pub(crate) fn of_environment() -> Option<Pager> {
        if !io::stdout().is_terminal() || is_run_by_agent() {
            return None;
        }
        let is_capable = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        is_capable.then(|| Pager::chosen(&|name| std::env::var_os(name))).flatten()
    }

    /// Returns the pager that the variables name. An empty one, and `cat`, mean none, as for git.
    fn chosen(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<Pager> {
        let Some(named) = VARIABLES.into_iter().find_map(variable) else { return Some(Pager::Less) };
        let command = named.to_string_lossy().trim().to_owned();
        (!command.is_empty() && command != "cat").then_some(Pager::Own(command))
    }

    /// Shows an answer: by the pager if it is longer than the terminal is high, else directly. A pager that
    /// cannot be run loses nothing of the answer.
    pub(crate) fn show(&self, ui: &mut Ui<'_>, answer: &[u8]) -> io::Result<()> {
        let is_long = Term::stdout().size_checked().is_some_and(|(rows, columns)| !fits(answer, rows, columns));
        if is_long && self.shows(ui, answer)? {
            return Ok(());
        }
        ui.out.write_all(answer)
    }

    /// Returns whether the pager ran.
    fn shows(&self, ui: &mut Ui<'_>, answer: &[u8]) -> io::Result<bool> {
        activity::leave_to_pager()?;
        let mut pager = match self.start() {
            Ok(pager) => pager,
            Err(_) if *self == Pager::Less => return Ok(false),
            Err(error) => {
                ui.note(&format!("cannot start a pager: {error}"));
                return Ok(false);
            }
        };
        if let Some(mut input) = pager.stdin.take() {
            // A person may leave a pager before the end of the answer.
            let _ = input.write_all(answer);
        }
        let status = pager.wait()?;
        let is_run = !status.code().is_some_and(|code| NOT_RUN.contains(&code));
        if let Pager::Own(command) = self
            && !is_run
        {
            ui.note(&format!("cannot run the pager `{command}`; the variable RALPH_MEMORY_PAGER or PAGER names it"));
        }
        Ok(is_run)
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = match self {
            Pager::Own(line) => {
                let mut shell = shell(line, None);
                // Most people set PAGER to `less` alone, which would show colours as codes.
                if std::env::var_os("LESS").is_none() {
                    shell.env("LESS", LESS_OPTIONS);
                }
                shell
            }
            Pager::Less => {
                let mut less = Command::new("less");
                less.arg(format!("-{LESS_OPTIONS}"));
                less
            }
        };
        command.stdin(Stdio::piped()).spawn()
    }
}

/// Returns whether the text leaves a row of the terminal for the shell's prompt.
fn fits(text: &[u8], rows: u16, columns: u16) -> bool {
    let text = String::from_utf8_lossy(text);
    let height = |line: &str| measure_text_width(line).div_ceil(usize::from(columns).max(1)).max(1);
    text.lines().map(height).sum::<usize>() < usize::from(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_name_the_pager() {
        let check = |variables: &[(&str, &str)], expected: Option<Pager>| {
            let variable = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
            assert_eq!(Pager::chosen(&variable), expected, "{variables:?}");
        };
        let own = |command: &str| Some(Pager::Own(command.to_owned()));
        check(&[], Some(Pager::Less));
        check(&[("PAGER", "most -s")], own("most -s"));
        check(&[("PAGER", "most"), ("RALPH_MEMORY_PAGER", "less -S")], own("less -S"));
        check(&[("PAGER", "most"), ("RALPH_MEMORY_PAGER", "")], None);
        check(&[("PAGER", " cat ")], None);
    }

    #[test]
    fn an_answer_fits_if_its_rows_do() {
        assert!(fits(b"a\nb\n", 3, 80));
        assert!(!fits(b"a\nb\nc\n", 3, 80));
        assert!(fits(b"", 1, 80));
        assert!(fits(b"1234\n\n", 3, 4));
        assert!(!fits(b"12345\n\n", 3, 4), "a long line takes two rows");
        assert!(fits(b"\x1b[1m1234\x1b[0m\n\n", 3, 4), "colours take no room");
    }
}
