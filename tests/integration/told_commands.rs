//! Commands that messages tell people and agents to run. Names of a clone are in them, and none of these runs anything.

use std::collections::BTreeSet;
use std::fs;

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
        // A subcommand, not an option.
        let is_bare = bare.into_iter().any(|command| !command.starts_with('-') && is_built_command(command));
        // One that the next piece of text completes.
        let is_open = parts.len().is_multiple_of(2)
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
        r#"format!("`ralph-memory edit {} --supersedes {}`", old, new)"#,
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

/// Names of files that a shell acts on, or that no quotes make a word of every shell.
const ODD: [&str; 16] = [
    "wal-mode-$(sh<x)",
    "a;touch x.md",
    "a`touch x`b",
    "a&&touch x",
    "a|sh x",
    "a>y",
    "a\\",
    "a\ntouch x",
    "a\u{1b}[31m",
    "it's",
    "it’s",
    "a \"b\" c",
    "x!y",
    "a'$(sh<x)'b",
    "'; touch x; '",
    "a\u{202e}b",
];
/// Names of files that a shell takes as they are, between quotes at most.
const ORDINARY: [&str; 10] = ["plain", "-rf", "a b", "~root", "=ls", "=(sh x)", "x (2)", "größe", "*", "{a,b} c"];

/// Runs each command of these outputs by two shells, and returns their words.
#[track_caller]
fn run_all(outputs: &[Ran]) -> BTreeSet<Vec<String>> {
    let texts = outputs.iter().flat_map(|ran| [&ran.stdout, &ran.stderr]);
    let commands: BTreeSet<String> = texts.flat_map(|text| commands_in(text)).collect();
    let run = |command: &String| {
        let [words, of_bash] = ["sh", "bash"].map(|shell| run_printed(shell, command));
        assert_eq!(words, of_bash, "{command}");
        words
    };
    commands.iter().map(run).collect()
}

/// Fails unless a command that begins with these words has this one if a name can be in it, or else nothing of the name.
#[track_caller]
fn assert_told(calls: &BTreeSet<Vec<String>>, command: &[&str], word: &str, name: &str) {
    let begins =
        |call: &&Vec<String>| call.iter().zip(command).filter(|(one, other)| one == *other).count() == command.len();
    let told: Vec<&String> = calls.iter().filter(begins).flatten().collect();
    assert!(!told.is_empty(), "no {command:?} in {calls:?}");
    assert_eq!(told.iter().any(|told| **told == word), ORDINARY.contains(&name), "{word:?} in {told:?}");
    assert!(ORDINARY.contains(&name) || !told.iter().any(|told| told.contains(name)), "{name:?} in {told:?}");
}

/// Returns each name, and a word that has nothing in common with that of another.
fn names() -> impl Iterator<Item = (&'static str, String)> {
    ODD.into_iter().chain(ORDINARY).zip('a'..).map(|(name, letter)| (name, letter.to_string().repeat(6)))
}

#[test]
fn no_command_of_a_message_runs_what_is_in_a_name() {
    let base = TestBase::new();
    let (edit, restore) = (["ralph-memory", "edit"], ["ralph-memory", "restore"]);
    // Two entries of each title.
    for (name, word) in names() {
        for (stem, body) in [(name, "It is 80."), (&word, "It is 81.")] {
            base.entry(stem, &format!("{word}x {word}y {word}z"), &word, body);
        }
    }
    let checked = ["human", "github", "json", "sarif"].map(|format| base.run(["check", "--format", format]));
    let calls = run_all(&checked);
    for (name, word) in names() {
        assert_told(&calls, &edit, &format!("knowledge/{name}"), name);
        fs::remove_file(base.at(&format!(".ralph/knowledge/{word}.md"))).unwrap();
    }
    for (name, word) in names() {
        let id = format!("knowledge/{name}");
        // One that is like it is added.
        let title = format!("{word}x {word}y {word}z too");
        let added = base.run(["add", &title, "--tags", &word, "--body", "Both."]);
        assert_told(&run_all(&[added]), &edit, &id, name);
        fs::remove_file(base.at(&format!(".ralph/knowledge/{word}x-{word}y-{word}z-too.md"))).unwrap();
        // An editor that fails after something was saved.
        let path = format!(".ralph/knowledge/{name}.md");
        let editor = "echo Mine >> \"$1\"; exit 1;";
        let ran = base.with(["edit", "--", &path]).env("EDITOR", editor).env("PATH", "/usr/bin:/bin").run();
        assert_told(&run_all(&[ran]), &edit, &id, name);
        fs::create_dir_all(base.at(".ralph/archive/knowledge")).unwrap();
        fs::rename(base.at(&path), base.at(&format!(".ralph/archive/knowledge/{name}.md"))).unwrap();
    }
    // Links to what is archived now. Not each name can be in a link.
    for (name, word) in names() {
        base.entry(&word, &format!("Link {word}"), &word, &format!("[[{name}]]"));
    }
    let calls = run_all(&[base.run(["check"]), base.run(["search", "80"]), base.run(["list", "--archived"])]);
    for name in ORDINARY {
        assert_told(&calls, &restore, &format!("knowledge/{name}"), name);
    }
}

#[test]
fn what_an_agent_wants_to_replace_is_told_without_what_a_shell_runs() {
    let base = TestBase::new();
    for (name, word) in names() {
        base.entry(name, &format!("Of a person {word}"), "x", "It is 80.");
        let head = format!(
            "title: Of an agent {word}\ntags: [x]\nsource: agent\nsupersedes: ['knowledge/{}']",
            name.replace('\'', "''")
        );
        base.write(&format!(".ralph/knowledge/{word}.md"), format!("---\n{head}\n---\n\nIt is 81.\n"));
    }
    let checked = base.run(["check"]);
    assert!(checked.stdout.contains("an agent wants this entry to replace"), "{checked}");
    let calls = run_all(&[checked]);
    for name in ORDINARY {
        assert_told(&calls, &["ralph-memory", "edit"], &format!("knowledge/{name}"), name);
    }
}

#[test]
fn no_command_of_a_message_runs_what_is_in_the_path_of_a_project() {
    for (name, _) in names() {
        let base = TestBase::without_memory();
        let below = base.at(name).join("below");
        fs::create_dir_all(&below).unwrap();
        let root = base.at(name).to_str().unwrap().to_owned();
        base.with(["init"]).folder(&root).run().says(0, "created");
        let calls = run_all(&[base.with(["record"]).folder(&root).input("hi").run()]);
        assert_told(&calls, &["ralph-memory", "--root"], &root, name);
        let is_whole = |call: &Vec<String>| call.ends_with(&["--task-id".to_owned(), "<ID-OF-ITS-TASK>".to_owned()]);
        assert!(calls.iter().any(is_whole), "{calls:?}");
        let ran = base.with(["--root".as_ref(), below.as_os_str(), "list".as_ref()]).run();
        assert_told(&run_all(&[ran]), &["ralph-memory", "--root"], &root, name);
    }
}

#[test]
fn check_reports_names_that_a_shell_acts_on() {
    let base = TestBase::new();
    let fine = ["it's", "a b (c)", "größe", "x!y", "~root"];
    for name in ["a$b", "a`b", "a;b", "a|b", "a&b", "a<b", "a>b", "a\\b", "a\nb", "-rf"].iter().chain(&fine) {
        base.entry(
            name,
            &format!("Title of {}", name.len() + name.chars().map(|c| c as usize).sum::<usize>()),
            "x",
            name,
        );
    }
    base.write(".ralph/archive/knowledge/$(x).md", "---\ntitle: Gone\ntags: [x]\n---\n\nText.\n");
    let ran = base.run(["check", "--json"]);
    let problems = &ran.json(0)["problems"];
    let paths: Vec<&str> = problems
        .as_array()
        .unwrap()
        .iter()
        .filter(|problem| problem["code"] == "unsafe-name")
        .map(|problem| {
            assert_eq!(problem["severity"], "warning");
            problem["path"].as_str().unwrap()
        })
        .collect();
    assert_eq!(paths.len(), 11, "{ran}");
    assert!(!fine.iter().any(|name| paths.iter().any(|path| path.contains(name))), "{paths:?}");
    base.run(["check"]).says(0, "on which a shell acts");
    // Thousands are counted, not listed.
    for at in 0..1_100 {
        base.entry(&format!("n{at};x"), &format!("Title {at} of {at}"), "x", &format!("{at}"));
    }
    let answer = base.run(["check", "--json"]).json(0);
    let n_listed = answer["problems"].as_array().unwrap().len();
    assert!(n_listed <= 1_001, "{n_listed}");
}
