//! Problems in the formats of people and other programs.
//!
//! Beside this program's own JSON: `human` shows the line with the problem, and `github` annotates the files of a pull
//! request. Both are read on terminals, so paths go through [`for_line`], and messages through [`one_line`].

mod human;

use std::io::{self, Write};

use ralph_memory::Problem;
use ralph_memory::error::Severity;
use ralph_memory::text::for_line;

use crate::ui::one_line;

pub(crate) use human::{human, listed};

/// Writes a workflow command of GitHub Actions for each problem.
pub(crate) fn github(out: &mut dyn Write, problems: &[Problem]) -> io::Result<()> {
    for problem in problems {
        let command = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Notice => "notice",
        };
        write!(out, "::{command} file={}", property(&problem.path))?;
        if let Some(line) = problem.line {
            write!(out, ",line={line}")?;
            if let Some(column) = problem.column {
                write!(out, ",col={column}")?;
            }
        }
        // One line each: a runner decodes `%0A`, and prints what follows as lines of the log.
        let message = [&problem.message, &problem.hint].map(|text| one_line(text).replace('%', "%25"));
        writeln!(out, ",title={}::{}", property(&problem.code), message.join("%0A").trim_end_matches("%0A"))?;
    }
    Ok(())
}

/// Escapes the value of a property of a workflow command.
fn property(text: &str) -> String {
    for_line(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use ralph_memory::error::{Message, Tally};
    use ralph_memory::memory::CheckReport;

    use super::*;

    /// Returns a problem at this line and column; 0 means that there is none.
    pub(super) fn problem(severity: Severity, line: u32, column: u32) -> Problem {
        Problem {
            path: ".ralph/knowledge/a.md".to_owned(),
            line: (line > 0).then_some(line),
            column: (column > 0).then_some(column),
            severity,
            code: "some-code".to_owned(),
            message: "what is wrong".into(),
            hint: "how to fix it".into(),
        }
    }

    /// Returns the result of a check that found these problems.
    pub(super) fn checked(problems: Vec<Problem>, files: usize) -> CheckReport {
        let mut total = Tally::default();
        for problem in &problems {
            *total.of(problem.severity) += 1;
        }
        CheckReport { problems, total, files, ok: Vec::new() }
    }

    pub(super) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn workflow_commands_are_escaped() {
        let check = |problem: Problem, expected: &str| assert_eq!(text(|out| github(out, &[problem])), expected);
        check(
            problem(Severity::Error, 2, 9),
            "::error file=.ralph/knowledge/a.md,line=2,col=9,title=some-code::what is wrong%0Ahow to fix it\n",
        );
        check(
            problem(Severity::Warning, 0, 9),
            "::warning file=.ralph/knowledge/a.md,title=some-code::what is wrong%0Ahow to fix it\n",
        );
        let odd = Problem {
            path: ".ralph/knowledge/a,b:100%.md".to_owned(),
            message: "50%: a,\r\n::error::b\u{1b}".into(),
            hint: Message::default(),
            ..problem(Severity::Error, 1, 0)
        };
        check(
            odd,
            "::error file=.ralph/knowledge/a%2Cb%3A100%25.md,line=1,title=some-code::50%25: a,\\u{d} ::error::b\\u{1b}\n",
        );
    }
}
