//! The script that completes commands in a shell. `tests/shells` runs it in each of the shells.

use std::process::Command;

use crate::support::TestBase;

#[test]
fn bash_completes_commands_and_their_options() {
    let script = TestBase::without_memory().run(["completions", "bash"]).answer(0);
    for (line, expected) in [("ralph-memory tid", "tidy\n"), ("ralph-memory list --never", "--never-helped\n")] {
        let call = "eval \"$SCRIPT\"; COMP_WORDS=($LINE); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
             _ralph__memory ralph-memory \"${COMP_WORDS[-1]}\" ''; printf '%s\\n' \"${COMPREPLY[@]}\"";
        let bash = Command::new("bash").args(["--norc", "-c", call]).env("SCRIPT", &script).env("LINE", line).output();
        assert_eq!(String::from_utf8(bash.unwrap().stdout).unwrap(), expected, "{line}");
    }
}
