//! The command line that clients run at the events of a session.
//!
//! It is frozen: Codex trusts a hook by the hash of its definition, so a registered line never changes, whatever the
//! program does behind it.

use crate::hook::HookEvent;

/// Returns the line for an event. An older program that lacks the command, or a missing one, must do no harm: exit
/// code 2 of a hook ends a prompt, or makes an agent continue for ever.
pub(super) fn hook_line(program: &str, event: HookEvent, agent: Option<&str>) -> String {
    let program = shlex::try_quote(program).unwrap_or_default();
    let agent = agent.map(|agent| format!(" --agent {agent}")).unwrap_or_default();
    format!("{program} hook {}{agent} || exit 0", event.as_str())
}

/// Returns the program of a line for this event, whatever its other arguments are; `None` for other commands.
pub(super) fn program_of(line: &str, event: HookEvent) -> Option<String> {
    let words = shlex::split(line)?;
    let [program, hook, name, ..] = words.as_slice() else { return None };
    (is_own_program(program) && hook == "hook" && name == event.as_str()).then(|| program.clone())
}

/// Returns whether a line is one that set-up writes for this event, with whatever path of the program.
pub(super) fn is_own_line(line: &str, event: HookEvent) -> bool {
    let words = shlex::split(line).unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let agent = match words.as_slice() {
        [_, _, _, "||", "exit", "0"] => None,
        [_, _, _, "--agent", agent, "||", "exit", "0"] => Some(*agent),
        _ => return false,
    };
    program_of(line, event).is_some_and(|program| hook_line(&program, event, agent) == line)
}

/// Returns whether a command is this program, wherever it is installed.
pub(super) fn is_own_program(command: &str) -> bool {
    command.rsplit('/').next() == Some("ralph-memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never change these: see the top of this file.
    #[test]
    fn the_registered_lines_are_frozen() {
        let line = |event, agent| hook_line("ralph-memory", event, agent);
        assert_eq!(line(HookEvent::SessionStart, None), "ralph-memory hook session-start || exit 0");
        assert_eq!(line(HookEvent::Prompt, None), "ralph-memory hook prompt || exit 0");
        assert_eq!(line(HookEvent::Stop, None), "ralph-memory hook stop || exit 0");
        assert_eq!(line(HookEvent::SessionEnd, None), "ralph-memory hook session-end || exit 0");
        assert_eq!(
            line(HookEvent::SessionStart, Some("codex")),
            "ralph-memory hook session-start --agent codex || exit 0"
        );
    }

    #[test]
    fn own_lines_are_recognised() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(program_of(line, HookEvent::Stop).as_deref(), expected, "{line}");
        };
        check("ralph-memory hook stop || exit 0", Some("ralph-memory"));
        check("'/opt/my tools/ralph-memory' hook stop --agent codex || exit 0", Some("/opt/my tools/ralph-memory"));
        check("ralph-memory hook stop", Some("ralph-memory"));
        check("ralph-memory hook session-end || exit 0", None);
        check("echo ralph-memory hook stop", None);
        check("other-ralph-memory hook stop", None);
        check("'", None);
    }

    #[test]
    fn a_line_with_more_in_it_is_a_persons() {
        let check = |line: &str, expected: bool| assert_eq!(is_own_line(line, HookEvent::Stop), expected, "{line}");
        check("ralph-memory hook stop || exit 0", true);
        check("'/opt/my tools/ralph-memory' hook stop --agent codex || exit 0", true);
        check("ralph-memory hook stop", false);
        check("ralph-memory hook stop && ./notify.sh", false);
        check("ralph-memory hook stop || exit 0; ./notify.sh", false);
        check("ralph-memory hook stop --agent codex --root ../shared || exit 0", false);
        check("ralph-memory hook session-end || exit 0", false);
        check("'", false);
    }
}
