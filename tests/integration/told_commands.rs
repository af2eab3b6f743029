//! Commands that messages tell people and agents to run. Names of a clone are in them, and none of these runs anything.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::architecture::{Source, sources};
use crate::printed::{commands_in, run_printed};
use crate::support::{Ran, TestBase};

/// The only file that puts a value into a command.
const HOME: &str = "src/text/command.rs";
/// Literals that say which command failed, of a name that is a word of this crate.
const FAILED: [(&str, &str); 1] = [("src/error/mod.rs", "`git {command}` failed: {reason}")];
/// Macros whose first texts are formats.
const FORMATS: [&str; 7] = ["format", "format_args", "write", "writeln", "print", "println", "error"];

/// Returns the literals of a file before its tests, each with the code before it. A line that continues is one with the
/// next.
fn literals(code: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(character) = code[at..].chars().next() {
        let rest = &code[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if character == '\'' {
            // A character, or a lifetime.
            let length = if rest[1..].starts_with('\\') { 2 } else { 1 };
            let end = rest[1..]
                .char_indices()
                .nth(length)
                .map(|(end, _)| end + 1)
                .filter(|end| rest[*end..].starts_with('\''));
            at += end.map_or(1, |end| end + 1);
        } else if let Some(raw) = rest.strip_prefix("r#\"").or_else(|| rest.strip_prefix("r\"")) {
            let start = rest.len() - raw.len();
            let close = if start == 3 { "\"#" } else { "\"" };
            let end = raw.find(close).unwrap_or(raw.len());
            found.push((&code[..at], raw[..end].to_owned()));
            at += start + end + close.len();
        } else if character == '"' {
            let mut text = String::new();
            let mut inside = rest.char_indices().skip(1);
            let mut end = rest.len();
            while let Some((next, character)) = inside.next() {
                match character {
                    '"' => {
                        end = next + 1;
                        break;
                    }
                    '\\' => match inside.next() {
                        Some((_, '\n')) => {
                            let blank = |(_, character): &(usize, char)| character.is_whitespace();
                            while inside.clone().next().as_ref().is_some_and(blank) {
                                inside.next();
                            }
                        }
                        Some((_, escaped)) => text.extend(['\\', escaped]),
                        None => {}
                    },
                    _ => text.push(character),
                }
            }
            found.push((&code[..at], text));
            at += end;
        } else {
            at += character.len_utf8();
        }
    }
    found
}

/// Returns whether a text that follows this code is an argument of a macro that formats.
fn is_format(before: &str) -> bool {
    let mut depth = 0;
    for (at, character) in before.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' if depth == 0 => {
                let name = before[..at].trim_end_matches('!');
                return FORMATS.iter().any(|format| name.ends_with(format));
            }
            '(' => depth -= 1,
            ';' | '{' | '}' if depth == 0 => return false,
            _ => {}
        }
    }
    false
}

/// Returns whether a part of a format is a command with a value in it: a word of small letters, or an option, and a value
/// behind it.
fn is_built_command(part: &str) -> bool {
    let part = part.replace("{{", "").replace("}}", "");
    let Some((first, rest)) = part.split_once(' ') else { return false };
    let is_word =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || "-_./".contains(character);
    !first.is_empty() && first.chars().all(is_word) && rest.contains('{')
}

/// Returns the literals of a file that put a command together.
fn built_commands(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (before, text) in literals(source.before_tests()) {
        let parts: Vec<&str> = text.split('`').collect();
        let in_backquotes = parts.iter().skip(1).step_by(2).any(|part| is_built_command(part));
        let bare = text
            .split("ralph-memory ")
            .skip(1)
            .map(|rest| rest.split(['`', ':', ';', ',', '.', '\n']).next().unwrap_or_default());
        let is_bare = bare.into_iter().any(is_built_command);
        // One that the next piece of text completes.
        let is_open = parts.len() % 2 == 0
            && parts.last().is_some_and(|part| part.starts_with("ralph-memory ") || part.starts_with("git "));
        let is_known = FAILED.contains(&(source.path.as_str(), &text));
        if (is_format(before) && (in_backquotes || is_bare) || is_open) && source.path != HOME && !is_known {
            found.push(format!("{}: {text}", source.path));
        }
    }
    found
}

#[test]
fn no_printed_command_is_put_together_from_text() {
    let sources = sources("src");
    let n_literals: usize = sources.iter().map(|source| literals(source.before_tests()).len()).sum();
    assert!(n_literals > 5_000, "literals are not found where this test looks: {n_literals}");
    let found: Vec<String> = sources.iter().flat_map(built_commands).collect();
    assert_eq!(found, [""; 0], "use `text::printed_command`");
}

#[test]
fn commands_from_text_are_detected() {
    let found = |code: &str| built_commands(&Source::new("src/store/mod.rs".to_owned(), code)).len();
    for built in [
        r#"format!("run `ralph-memory restore {id}`")"#,
        r#"format!("`ralph-memory supersede {} {}`", old, new)"#,
        r#"ui.note(&format!("`--root {}` names it", path.display()))"#,
        "format!(\n    \"let yourself read it: `chmod u+rwx \\\n     .ralph/{name}`\"\n)",
        r#"writeln!(text, "next: ralph-memory show {id}")"#,
        r#"#[error("no `a`; `git show {path}` prints it")]"#,
        r#"let hint = "hint: `ralph-memory show ".to_owned() + id;"#,
        r#"format!("{}: `kill {pid}`", one('x', "}"))"#,
    ] {
        assert_eq!(found(built), 1, "{built}");
    }
    for other in [
        r#"format!("`ralph-memory check` says where {it} is")"#,
        r#"format!("there is no `{name}` in `{path}`")"#,
        r#"let hint = "`--agent \"claude -p --model {model}\"`";"#,
        r#"printed_command("ralph-memory restore ID", &[("ID", id)])"#,
        r#"format!("`{{ {name} }}` is passed as it is")"#,
        "// format!(\"`ralph-memory show {id}`\")",
        "#[cfg(test)]\nmod tests { fn f() { format!(\"`ralph-memory show {id}`\"); } }",
    ] {
        assert_eq!(found(other), 0, "{other}");
    }
}

/// Names of files that a shell acts on, or that break a command.
const ODD: [&str; 16] = [
    "wal-mode-$(sh<x)",
    "a;touch x",
    "a`touch x`b",
    "a&&touch x",
    "a|sh x",
    "a>y",
    "-rf",
    "it's",
    "it’s",
    "a \"b\" c",
    "x!y",
    "a\\",
    "a\ntouch x",
    "a\u{1b}[31m",
    "a'$(sh<x)'b",
    "'; touch x; '",
];
/// Names of files that a shell takes as they are, between quotes at most.
const ORDINARY: [&str; 9] = ["plain", "a b", "~root", "=ls", "=(sh x)", "x (2)", "größe", "*", "{a,b} #c"];

/// Runs each command of these outputs by two shells. Returns the calls.
#[track_caller]
fn run_all(outputs: &[Ran]) -> BTreeSet<Vec<String>> {
    let mut calls = BTreeSet::new();
    for ran in outputs {
        for command in [&ran.stdout, &ran.stderr].into_iter().flat_map(|text| commands_in(text)) {
            let called = ["sh", "bash"].map(|shell| run_printed(shell, &command));
            assert_eq!(called[0], called[1], "{command}");
            calls.extend(called);
        }
    }
    // Each word is one of ours, or the whole name of a file.
    let names: BTreeSet<String> = ODD.iter().chain(&ORDINARY).map(|name| format!("knowledge/{name}")).collect();
    for word in calls.iter().flatten().filter(|word| word.starts_with("knowledge/")) {
        assert!(names.contains(word), "{word:?} is no name");
    }
    calls
}

/// Fails unless each name that can be quoted is a word behind `command` in a call, and no other is.
#[track_caller]
fn assert_told(calls: &BTreeSet<Vec<String>>, command: &[&str], prefix: &str) {
    let words =
        |call: &Vec<String>| call.starts_with(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let told: BTreeSet<&str> = calls.iter().filter(|call| words(call)).flatten().map(String::as_str).collect();
    for name in ORDINARY {
        assert!(told.contains(&*format!("{prefix}{name}")), "{command:?} does not name {name:?}: {told:?}");
    }
    for name in ODD.iter().filter(|name| **name != "-rf") {
        assert!(!told.contains(&*format!("{prefix}{name}")), "{command:?} names {name:?}");
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    ODD.into_iter().chain(ORDINARY)
}

#[test]
fn what_check_tells_runs_nothing_of_a_name() {
    let base = TestBase::new();
    for (at, name) in names().enumerate() {
        base.entry(name, &format!("Rule number {at} of them"), "x", "text");
        base.entry(&format!("{name}/same-{at}"), &format!("Rule number {at} of them"), "x", "other");
        base.write(&format!(".ralph/archive/knowledge/{name}-gone.md"), "---\ntitle: G\ntags: [x]\n---\n");
    }
    let links: String =
        names().filter(|name| !name.contains('\n')).map(|name| format!("[[{name}-gone]]\n\n")).collect();
    base.entry("links", "Links to the archive", "y", &links);
    let text = base.run(["check"]);
    let formats = ["github", "json", "sarif"].map(|format| base.run(["check", "--format", format]));
    let mut commands = BTreeSet::new();
    for command in [&text.stdout, &text.stderr].into_iter().flat_map(|text| commands_in(text)) {
        commands.insert(command);
    }
    assert!(commands.iter().any(|command| command.starts_with("ralph-memory supersede")), "{text}");
    assert!(commands.iter().any(|command| command.starts_with("ralph-memory restore")), "{text}");
    for command in &commands {
        for shell in ["sh", "bash"] {
            run_printed(shell, command);
        }
    }
    let _ = formats;
}
