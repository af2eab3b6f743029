//! Every command that the README shows is understood by the program.

use std::path::Path;

use crate::support::TestBase;

/// Returns the command lines in code blocks that call the program, as their arguments.
fn commands(readme: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut joined = String::new();
    for line in readme.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if !is_code {
            continue;
        }
        if let Some(part) = line.strip_suffix('\\') {
            joined.push_str(part);
            continue;
        }
        joined.push_str(line);
        found.extend(arguments(&std::mem::take(&mut joined)));
    }
    found
}

/// Returns the arguments with which a line calls the program, if it does.
fn arguments(line: &str) -> Option<Vec<String>> {
    let words = words(line.trim_start().trim_start_matches("$ "));
    let first = words.first()?;
    if first == "ralph-memory" {
        return Some(words[1..].to_vec());
    }
    let is_run = first == "cargo" && words.get(1).is_some_and(|word| word == "run");
    let at = words.iter().position(|word| word == "--").filter(|_| is_run)?;
    // An example has a command line of its own.
    (!words.iter().any(|word| word == "--example")).then(|| words[at + 1..].to_vec())
}

/// Splits a line as a shell does, up to the first operator or comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' | '"' => {
                let inside: String = characters.by_ref().take_while(|next| *next != character).collect();
                word.get_or_insert_default().push_str(&inside);
            }
            '|' | '<' | '>' | ';' | '&' => break,
            '#' if word.is_none() => break,
            character if character.is_whitespace() => words.extend(word.take()),
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[test]
fn every_command_in_the_readme_is_understood() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let commands = commands(&readme);
    assert!(commands.len() >= 2, "{commands:?}");
    for command in commands {
        // Where there is no memory, a command that is understood ends before it does anything.
        let base = TestBase::without_memory();
        let ran = base.run(&command);
        assert!(ran.code == Some(0) || ran.code == Some(3), "{command:?}: {ran}");
    }
}

#[test]
fn commands_are_found_in_code_blocks() {
    let readme = "ralph-memory no\n```sh\n$ ralph-memory add --title \"a b\" \\\n  --tags 'c' < x.md\ncargo test\n\
                  cargo run -q -- context --task x # why\nls | ralph-memory search x\n```\nralph-memory no\n";
    let expected = [vec!["add", "--title", "a b", "--tags", "c"], vec!["context", "--task", "x"]];
    assert_eq!(commands(readme), expected);
}
