//! Problems for a person: each with its line of the file.

use std::io::{self, Write};

use ralph_memory::Problem;
use ralph_memory::error::{Severity, Tally};
use ralph_memory::memory::CheckReport;
use ralph_memory::text::{for_line, for_terminal};

use crate::ui::{ERROR, HINT, WARNING, count, one_line, paint};

/// How much of a line is shown before and after the place, in characters. With its number it fits on most terminals.
const BEFORE: usize = 60;
const BEHIND: usize = 60;

/// Writes findings about parts of the memory, each in a line.
pub(crate) fn listed(out: &mut dyn Write, state: &str, findings: &[Problem]) -> io::Result<()> {
    findings
        .iter()
        .try_for_each(|finding| writeln!(out, "{state:<8} {:<12} {}", finding.code, one_line(&finding.message)))
}

/// Writes the problems, and a line that counts them. `source_line` gives a line of a file by its path and number.
pub(crate) fn human(
    out: &mut dyn Write,
    checked: &CheckReport,
    source_line: &mut dyn FnMut(&str, u32) -> Option<String>,
    colour: bool,
) -> io::Result<()> {
    for problem in &checked.problems {
        let (style, label) = match problem.severity {
            Severity::Error => (ERROR, "error"),
            Severity::Warning => (WARNING, "warning"),
            Severity::Notice => (HINT, "notice"),
        };
        let line = problem.line.and_then(|line| Some((line, source_line(&problem.path, line)?)));
        let names_file = line.is_none() && problem.path != ".ralph/";
        let message = if names_file { problem.to_string() } else { problem.message.to_string() };
        let label = paint(colour, style, &format!("{label}[{}]:", problem.code));
        writeln!(out, "{label} {}", one_line(&message))?;
        if let Some((line, text)) = line {
            let column = problem.column.map(|column| format!(":{column}")).unwrap_or_default();
            writeln!(out, "  --> {}:{line}{column}", for_line(&problem.path))?;
            writeln!(out, "  {line} | {}", for_terminal(&excerpt(&text, problem.column)))?;
        }
        writeln!(out, "{} {}\n", paint(colour, HINT, "hint:"), one_line(&problem.hint))?;
    }
    writeln!(out, "{}", summary(checked))
}

/// Returns the surroundings of a column, which is counted from 1, or the beginning of the line.
fn excerpt(line: &str, column: Option<u32>) -> String {
    let length = line.chars().count();
    let place = column.map_or(0, |column| (column as usize).saturating_sub(1).min(length));
    let from = place.saturating_sub(BEFORE);
    let part: String = line.chars().skip(from).take(place - from + BEHIND).collect();
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{part}{}", cut(from > 0), cut(length > place + BEHIND))
}

fn summary(checked: &CheckReport) -> String {
    let files = count(checked.files, "file");
    let Tally { errors, warnings, notices } = checked.total;
    let notices = match notices {
        0 => String::new(),
        notices => format!(", {}", count(notices, "notice")),
    };
    match (errors, warnings) {
        (0, 0) => format!("no problems in {files}{notices}"),
        _ => format!("{}, {} in {files}{notices}", count(errors, "error"), count(warnings, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{checked, problem, text};
    use super::*;

    #[track_caller]
    fn check(problem: Problem, line: Option<&str>, expected: &str) {
        let checked = checked(vec![problem], 3);
        let written = text(|out| human(out, &checked, &mut |_, _| line.map(str::to_owned), false));
        let summary = "1 error, 0 warnings in 3 files\n";
        assert_eq!(written, format!("{expected}hint: how to fix it\n\n{summary}"), "\n{written}");
    }

    #[test]
    fn a_problem_has_its_place_and_its_line() {
        let at = |place| format!("error[some-code]: .ralph/knowledge/a.md{place}: what is wrong\n");
        let error = |line, column| problem(Severity::Error, line, column);
        let shown = "error[some-code]: what is wrong\n  --> .ralph/knowledge/a.md:12:8\n  12 | title: *x\n";
        check(error(12, 8), Some("title: *x"), shown);
        // The file may be gone, or may not be one that is read.
        check(error(4, 2), None, &at(":4:2"));
        check(error(0, 0), None, &at(""));
        let of_memory = Problem { path: ".ralph/".to_owned(), ..error(0, 0) };
        check(of_memory, None, "error[some-code]: what is wrong\n");
    }

    #[test]
    fn findings_are_lines() {
        let finding = |code: &str, message: &str| Problem::notice(".ralph/", code, message, "");
        let findings = [finding("git-commit", "everything is committed"), finding("x", "`a\u{1b}\n\u{202e}`")];
        assert_eq!(
            text(|out| listed(out, "ok", &findings)),
            "ok       git-commit   everything is committed\nok       x            `a\\u{1b} \\u{202e}`\n"
        );
    }

    #[test]
    fn long_lines_are_cut_around_the_column() {
        let long = "x".repeat(200) + "y" + &"z".repeat(200);
        assert_eq!(excerpt(&long, Some(201)), format!("…{}y{}…", "x".repeat(60), "z".repeat(59)));
        assert_eq!(excerpt(&long, None), format!("{}…", "x".repeat(60)));
        for column in [None, Some(1), Some(4), Some(99)] {
            assert_eq!(excerpt("abc", column), "abc");
        }
    }

    #[test]
    fn control_characters_of_files_never_reach_the_terminal() {
        let odd = "\u{1b}]8;;x\u{7}\u{9b}\u{202e}\r";
        let problem = Problem {
            path: format!(".ralph/knowledge/{odd}.md"),
            message: odd.into(),
            hint: odd.into(),
            ..problem(Severity::Error, 2, 3)
        };
        let without_line = Problem { line: None, ..problem.clone() };
        for problem in [problem, without_line] {
            let checked = checked(vec![problem], 1);
            let written = text(|out| human(out, &checked, &mut |_, _| Some(odd.to_owned()), false));
            assert!(
                !written.chars().any(|found| found != '\n' && odd.contains(found) && !found.is_ascii_graphic()),
                "{written:?}"
            );
        }
    }

    #[test]
    fn the_summary_counts_errors_warnings_and_files() {
        let (error, warning) = (problem(Severity::Error, 0, 0), problem(Severity::Warning, 0, 0));
        let summary = |problems: &[Problem], files| summary(&checked(problems.to_vec(), files));
        assert_eq!(summary(&[], 0), "no problems in 0 files");
        let two = Problem { line: Some(2), ..error.clone() };
        assert_eq!(summary(&[error.clone(), two, warning], 12), "2 errors, 1 warning in 12 files");
        assert_eq!(summary(&[error], 1), "1 error, 0 warnings in 1 file");
    }
}
