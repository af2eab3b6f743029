//! The doctor's findings, for a person.

use std::io::{self, Write};

use ralph_memory::memory::{Diagnosis, FindingState};
use ralph_memory::text::for_terminal;

/// Writes a line for each finding and, below it, the fix.
pub(crate) fn diagnosis(out: &mut dyn Write, diagnosis: &Diagnosis) -> io::Result<()> {
    for finding in &diagnosis.findings {
        let state = match finding.state {
            FindingState::Ok => "ok",
            FindingState::Warning => "warning",
            FindingState::Error => "error",
        };
        writeln!(out, "{state:<8} {:<11} {}", finding.what, one_line(&finding.detail))?;
        if let Some(hint) = &finding.hint {
            writeln!(out, "{:20} fix: {}", "", one_line(hint))?;
        }
    }
    Ok(())
}

/// Makes the text safe for a terminal and for a list of lines: a path may contain a line break.
fn one_line(text: &str) -> String {
    for_terminal(&text.replace('\n', "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use ralph_memory::memory::Finding;

    use super::super::tests::text;
    use super::*;

    #[test]
    fn findings_are_lines() {
        let finding = |what, state, detail: &str, hint: Option<&str>| Finding {
            what,
            state,
            detail: detail.into(),
            hint: hint.map(Into::into),
        };
        let findings = vec![
            finding("git-commit", FindingState::Ok, "everything is committed", None),
            finding("leftovers", FindingState::Warning, "1 file: `a\u{1b}\n\u{202e}`", Some("delete it")),
        ];
        assert_eq!(
            text(|out| diagnosis(out, &Diagnosis { findings })),
            "ok       git-commit  everything is committed\n\
             warning  leftovers   1 file: `a\\u{1b}\u{fffd}\\u{202e}`\n\
             \x20                    fix: delete it\n"
        );
    }
}
