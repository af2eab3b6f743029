//! What the doctor found, for a person.

use std::io::{self, Write};

use ralph_memory::doctor::{Diagnosis, State};
use ralph_memory::text::for_terminal;

/// Writes a line for each finding, and below it how to mend what is wrong.
pub(crate) fn diagnosis(out: &mut dyn Write, diagnosis: &Diagnosis) -> io::Result<()> {
    for finding in &diagnosis.findings {
        let state = match finding.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Error => "error",
        };
        writeln!(out, "{state:<8} {:<11} {}", finding.what, one_line(&finding.detail))?;
        if let Some(mend) = &finding.mend {
            writeln!(out, "{:20} mend: {}", "", one_line(mend))?;
        }
    }
    Ok(())
}

/// Makes the text safe for a terminal, and for a list of lines: a path may hold a line break.
fn one_line(text: &str) -> String {
    for_terminal(&text.replace('\n', "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use ralph_memory::doctor::Finding;

    use super::super::tests::text;
    use super::*;

    #[test]
    fn findings_are_lines() {
        let finding = |what, state, detail: &str, mend: Option<&str>| Finding {
            what,
            state,
            detail: detail.into(),
            mend: mend.map(Into::into),
        };
        let findings = vec![
            finding("git-commit", State::Ok, "everything is committed", None),
            finding("leftovers", State::Warning, "1 file: `a\u{1b}\n\u{202e}`", Some("delete it")),
        ];
        assert_eq!(
            text(|out| diagnosis(out, &Diagnosis { findings })),
            "ok       git-commit  everything is committed\n\
             warning  leftovers   1 file: `a\\u{1b}\u{fffd}\\u{202e}`\n\
             \x20                    mend: delete it\n"
        );
    }
}
