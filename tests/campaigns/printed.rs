//! Commands that the program prints, run as a person or an agent would run them: by a shell.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The programs whose commands messages tell.
const PROGRAMS: [&str; 9] = ["cargo", "chmod", "claude", "git", "kill", "ollama", "ralph-memory", "sudo", "touch"];
/// Writes down its own name and its arguments, each with a NUL at its end, and an empty one at the end of the call.
const STUB: &str = "#!/bin/sh\n{ printf '%s\\0' \"${0##*/}\" \"$@\"; printf '\\0'; } >> \"$CALLS\"\n";

/// Returns the commands in a text: those between backquotes, options of the program among them, and those that fill the end
/// of a line, behind `hint:`, `run` or a prompt. A backquote in a name hides no command behind it.
pub(crate) fn commands_in(text: &str) -> Vec<String> {
    let command = |text: &str| {
        let is_of = |program: &&str| text.strip_prefix(*program).is_some_and(|rest| rest.starts_with(' '));
        let is_option = text.starts_with("--") && text.contains(' ');
        if is_option {
            Some(format!("ralph-memory {text}"))
        } else {
            PROGRAMS.iter().any(is_of).then(|| text.to_owned())
        }
    };
    let mut found = Vec::new();
    for line in text.lines() {
        let quoted = line.match_indices('`').map(|(at, _)| line[at + 1..].split('`').next().unwrap_or_default());
        let ends = ["hint: ", "run ", "$ "].iter().filter_map(|start| line.split_once(start).map(|(_, rest)| rest));
        found.extend(quoted.chain(ends).filter_map(command));
    }
    found.sort();
    found.dedup();
    found
}

/// Runs a command by a shell, in an empty folder where its programs only write their arguments down, and returns what
/// its only call wrote: the name of the program and its arguments. Fails if anything else ran, was said or was written.
#[track_caller]
pub(crate) fn run_printed(shell: &str, command: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let [stubs, place] = ["stubs", "place"].map(|name| folder.path().join(name));
    let calls = folder.path().join("calls");
    fs::create_dir(&stubs).unwrap();
    fs::create_dir(&place).unwrap();
    // Another process writes them: a child of another thread could hold a file open that is written here, and what is
    // open for writing cannot be run.
    let mut write = Command::new("sh");
    write.args(["-c", "for name; do printf %s \"$STUB\" > \"$name\"; done; chmod +x \"$@\"", "sh"]).args(PROGRAMS);
    assert!(write.current_dir(&stubs).env("STUB", STUB).status().unwrap().success());
    // What a redirection may read, and what `sh<x` runs.
    fs::write(place.join("x"), "echo > PWNED\n").unwrap();
    let path = format!("{}:/usr/bin:/bin", stubs.display());
    let mut run = Command::new(shell);
    run.args(["-c", command])
        .current_dir(&place)
        .env_clear()
        .env("HOME", &place)
        .env("PATH", path)
        .env("CALLS", &calls);
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.is_empty(), "{shell} -c {command:?}: {}: {said}", output.status);
    assert_eq!(names(&place), ["x"], "{shell} -c {command:?} wrote a file");
    let text = fs::read_to_string(&calls).unwrap_or_default();
    let calls: Vec<&str> = text.split_terminator("\0\0").collect();
    let [call] = calls.as_slice() else { panic!("{shell} -c {command:?} ran {calls:?}") };
    call.split('\0').map(str::to_owned).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
