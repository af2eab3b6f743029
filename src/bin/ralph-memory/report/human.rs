//! Problems for a person: each with its line of the file.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use ralph_memory::Problem;
use ralph_memory::error::{Severity, Tally};
use ralph_memory::memory::CheckReport;
use ralph_memory::text::for_terminal;

use crate::ui::count;

/// How much of a line is shown before and after the place, in characters. With its number it fits on most terminals.
const BEFORE: usize = 60;
const BEHIND: usize = 60;
/// Marks where a line was cut.
const CUT: &str = "…";

/// Writes findings about parts of the memory, each in a line.
pub(crate) fn listed(out: &mut dyn Write, state: &str, findings: &[Problem]) -> io::Result<()> {
    // A path may contain a line break.
    let one_line = |text: &str| for_terminal(&text.replace('\n', "\u{fffd}"));
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
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    for problem in &checked.problems {
        let shown = problem.line.and_then(|line| {
            let text = source_line(&problem.path, line)?;
            Some((line, Excerpt::new(&text, problem.column)))
        });
        writeln!(out, "{}\n", renderer.render(&groups(problem, shown.as_ref())))?;
    }
    writeln!(out, "{}", summary(checked))
}

fn groups<'a>(problem: &'a Problem, shown: Option<&'a (u32, Excerpt)>) -> Vec<Group<'a>> {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Notice => Level::NOTE.with_name("notice"),
    };
    let path = for_terminal(&problem.path);
    let message = for_terminal(&problem.message);
    let hint = Level::HELP.message(for_terminal(&problem.hint));
    let Some((line, excerpt)) = shown else {
        // The same form as in the problem itself: with the line and the column, if there are any.
        let of_memory = problem.path == ".ralph/";
        let message = if of_memory { message } else { for_terminal(&problem.to_string()) };
        return vec![level.primary_title(message).id(problem.code.as_str()).element(hint)];
    };
    let number = usize::try_from(*line).unwrap_or(usize::MAX);
    let mark = AnnotationKind::Primary.span(excerpt.marked.clone());
    let snippet = Snippet::source(excerpt.text.as_str()).line_start(number).annotation(mark);
    let title = level.primary_title(message).id(problem.code.as_str());
    let group = match problem.column.filter(|_| !excerpt.is_exact) {
        None => title.element(snippet.path(path)),
        Some(column) => title.element(Origin::path(path).line(number).char_column(column as usize)).element(snippet),
    };
    vec![group.element(hint)]
}

/// The part of a line that is shown.
#[derive(Debug, PartialEq, Eq)]
struct Excerpt {
    text: String,
    /// The bytes of `text` that are marked.
    marked: std::ops::Range<usize>,
    /// Whether the mark is at the same column as in the whole line.
    is_exact: bool,
}

impl Excerpt {
    /// Takes the surroundings of a column, which is counted from 1. Without a column it takes and marks the beginning
    /// of the line.
    fn new(line: &str, column: Option<u32>) -> Excerpt {
        let length = line.chars().count();
        let place = column.map(|column| (column as usize).saturating_sub(1).min(length));
        let from = place.unwrap_or(0).saturating_sub(BEFORE);
        let to = (place.unwrap_or(0) + BEHIND).min(length);
        let part =
            |from: usize, to: usize| -> String { line.chars().skip(from).take(to.saturating_sub(from)).collect() };
        let mut text = if from > 0 { CUT.to_owned() } else { String::new() };
        let marked = if let Some(place) = place {
            // Escaping makes text longer, so the parts are measured after it.
            text.push_str(&for_terminal(&part(from, place)));
            let start = text.len();
            text.push_str(&for_terminal(&part(place, (place + 1).min(to))));
            let end = text.len();
            text.push_str(&for_terminal(&part((place + 1).min(to), to)));
            start..end
        } else {
            text.push_str(&for_terminal(&part(from, to)));
            let start = text.len() - text.trim_start().len();
            start..text.trim_end().len().max(start)
        };
        if to < length {
            text.push_str(CUT);
        }
        let is_exact = place.is_none_or(|place| text[..marked.start] == part(0, place));
        Excerpt { text, marked, is_exact }
    }
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
        assert_eq!(written, expected, "\n{written}");
    }

    #[test]
    fn the_place_is_marked_in_its_line() {
        check(
            problem(Severity::Error, 12, 8),
            Some("title: *x"),
            "error[some-code]: what is wrong
  --> .ralph/knowledge/a.md:12:8
   |
12 | title: *x
   |        ^
   |
   = help: how to fix it

1 error, 0 warnings in 3 files
",
        );
    }

    #[test]
    fn a_link_without_column_marks_the_line() {
        check(
            problem(Severity::Warning, 12, 0),
            Some("  see [[x]]  "),
            "warning[some-code]: what is wrong
  --> .ralph/knowledge/a.md:12:3
   |
12 |   see [[x]]  
   |   ^^^^^^^^^
   |
   = help: how to fix it

0 errors, 1 warning in 3 files
",
        );
    }

    #[test]
    fn the_column_is_that_of_the_file_where_the_line_is_cut() {
        check(
            problem(Severity::Error, 2, 201),
            Some(&("x".repeat(200) + "y")),
            "error[some-code]: what is wrong
 --> .ralph/knowledge/a.md:2:201
  |
 ::: \n2 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy
  |                                                              ^
  |
  = help: how to fix it

1 error, 0 warnings in 3 files
",
        );
    }

    #[test]
    fn a_problem_without_a_line_shows_its_path() {
        let expected = "error[some-code]: .ralph/knowledge/a.md: what is wrong
 |
 = help: how to fix it

1 error, 0 warnings in 3 files
";
        check(problem(Severity::Error, 0, 0), None, expected);
        // The file may be gone, or may not be one that is read.
        let at_a_line = expected.replace("a.md:", "a.md:4:2:");
        check(problem(Severity::Error, 4, 2), None, &at_a_line);
    }

    #[test]
    fn a_problem_of_the_memory_names_no_file() {
        let problem = Problem { path: ".ralph/".to_owned(), ..problem(Severity::Warning, 0, 0) };
        let expected =
            "warning[some-code]: what is wrong\n |\n = help: how to fix it\n\n0 errors, 1 warning in 3 files\n";
        check(problem, None, expected);
    }

    #[test]
    fn findings_are_lines() {
        let finding = |code: &str, message: &str| Problem::notice(".ralph/", code, message, "");
        let findings = [finding("git-commit", "everything is committed"), finding("x", "`a\u{1b}\n\u{202e}`")];
        assert_eq!(
            text(|out| listed(out, "ok", &findings)),
            "ok       git-commit   everything is committed\nok       x            `a\\u{1b}\u{fffd}\\u{202e}`\n"
        );
    }

    #[test]
    fn excerpts_are_cut_and_safe() {
        let excerpt = |line: &str, column| {
            let excerpt = Excerpt::new(line, column);
            (excerpt.text.clone(), excerpt.text[excerpt.marked].to_owned())
        };
        let two = |text: &str, marked: &str| (text.to_owned(), marked.to_owned());
        assert_eq!(excerpt("abc", Some(2)), two("abc", "b"));
        assert_eq!(excerpt("abc", Some(4)), two("abc", ""));
        assert_eq!(excerpt("abc", Some(99)), two("abc", ""));
        assert_eq!(excerpt("", Some(1)), two("", ""));
        assert_eq!(excerpt("", None), two("", ""));
        assert_eq!(excerpt("  ab  ", None), two("  ab  ", "ab"));
        assert_eq!(excerpt("é\u{1b}\u{1b}x", Some(3)), two("é\\u{1b}\\u{1b}x", "\\u{1b}"));
        let long = "x".repeat(200) + "y" + &"z".repeat(200);
        let expected = format!("…{}y{}…", "x".repeat(60), "z".repeat(59));
        assert_eq!(excerpt(&long, Some(201)), two(&expected, "y"));
        let start = "x".repeat(60);
        assert_eq!(excerpt(&long, None), two(&format!("{start}…"), &start));
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
