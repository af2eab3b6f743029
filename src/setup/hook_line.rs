//! The commands that clients run: the server, and the line at each event of a session.
//!
//! The line is frozen: Codex trusts a hook by the hash of its definition, so a registered line never changes, whatever
//! the program does behind it. A command is setup's only if it is this one, to the letter: a shell runs everything else
//! in a line, too.

use std::path::Path;

use crate::sessions::HookEvent;

/// The program's name where a shell finds it.
pub(super) const PROGRAM: &str = "ralph-memory";

/// A command of setup's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnCommand {
    /// The program's name, or its full path.
    pub(super) program: String,
    /// Whether the file is the user's own, where an earlier setup may have written another full path.
    pub(super) is_users: bool,
    /// The event of a hook, and the client's name; `None` for the program alone, whose arguments stand elsewhere.
    pub(super) hook: Option<(HookEvent, Option<&'static str>)>,
}

impl OwnCommand {
    /// Returns the command as it is written.
    pub(super) fn text(&self) -> String {
        self.with(&self.program)
    }

    fn with(&self, program: &str) -> String {
        match self.hook {
            Some((event, agent)) => hook_line(program, event, agent),
            None => program.to_owned(),
        }
    }

    /// Returns the program of a text that is this command: in a project the bare name, and in files of the user's own
    /// also a full path.
    pub(super) fn program_in(&self, text: &str) -> Option<String> {
        let program = match self.hook {
            Some(_) => shlex::split(text)?.into_iter().next()?,
            None => text.to_owned(),
        };
        let is_known = program == PROGRAM || self.is_users && is_full_path(&program);
        (is_known && self.with(&program) == text).then_some(program)
    }
}

/// Returns the line for an event. An older program that lacks the command, or a missing one, must do no harm: with exit
/// code 2, a hook ends a prompt, or makes an agent continue forever.
fn hook_line(program: &str, event: HookEvent, agent: Option<&str>) -> String {
    let program = shlex::try_quote(program).unwrap_or_default();
    let agent = agent.map(|agent| format!(" --agent {agent}")).unwrap_or_default();
    format!("{program} hook {}{agent} || exit 0", event.as_str())
}

/// Returns whether a program is called as this one is, wherever it is installed.
pub(super) fn is_own_program(program: &str) -> bool {
    program.rsplit('/').next() == Some(PROGRAM)
}

fn is_full_path(program: &str) -> bool {
    Path::new(program).is_absolute() && is_own_program(program) && !program.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never change these: see the top of this file.
    #[test]
    fn the_registered_lines_are_frozen() {
        for (event, agent, line) in [
            (HookEvent::SessionStart, None, "ralph-memory hook session-start || exit 0"),
            (HookEvent::Prompt, None, "ralph-memory hook prompt || exit 0"),
            (HookEvent::Tool, None, "ralph-memory hook tool || exit 0"),
            (HookEvent::Stop, None, "ralph-memory hook stop || exit 0"),
            (HookEvent::SessionEnd, None, "ralph-memory hook session-end || exit 0"),
            (HookEvent::SessionStart, Some("codex"), "ralph-memory hook session-start --agent codex || exit 0"),
        ] {
            assert_eq!(hook_line("ralph-memory", event, agent), line);
        }
    }

    #[test]
    fn a_line_is_own_only_to_the_letter() {
        let check = |line: &str, in_project: bool, in_home: bool| {
            for (is_users, expected) in [(false, in_project), (true, in_home)] {
                let own =
                    |agent| OwnCommand { program: PROGRAM.to_owned(), is_users, hook: Some((HookEvent::Stop, agent)) };
                let found = [None, Some("codex")].into_iter().any(|agent| own(agent).program_in(line).is_some());
                assert_eq!(found, expected, "{line:?}, {is_users}");
            }
        };
        check("ralph-memory hook stop || exit 0", true, true);
        check("ralph-memory hook stop --agent codex || exit 0", true, true);
        check("'/opt/my tools/ralph-memory' hook stop --agent codex || exit 0", false, true);
        for line in [
            "ralph-memory hook stop",
            "ralph-memory hook session-end || exit 0",
            "ralph-memory hook stop || exit 0; touch x",
            "ralph-memory hook stop && touch x",
            "ralph-memory hook stop || exit 0\ntouch x",
            "ralph-memory hook stop || exit 0 # x",
            "ralph-memory hook stop --agent codex --root ../x || exit 0",
            "ralph-memory  hook stop || exit 0",
            "\"ralph-memory\" hook stop || exit 0",
            "ralph-memory$(touch x) hook stop || exit 0",
            "'ralph-memory'$(touch x) hook stop || exit 0",
            "RALPH_MEMORY_CONFIG=x ralph-memory hook stop || exit 0",
            "env ralph-memory hook stop || exit 0",
            "./ralph-memory hook stop || exit 0",
            "x/ralph-memory hook stop || exit 0",
            "/opt/../tmp/ralph-memory hook stop || exit 0",
            "/opt/other-ralph-memory hook stop || exit 0",
            "'",
            "",
        ] {
            check(line, false, false);
        }
    }
}
