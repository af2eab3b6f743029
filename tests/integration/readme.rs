//! Every command that the README shows is understood by the program.

use std::path::Path;

use crate::support::TestBase;

/// Returns the calls of the program in code blocks for a shell, as their arguments.
fn commands(readme: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut block = None;
    let mut joined = String::new();
    for line in readme.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language.trim()) };
            continue;
        }
        // What follows a prompt is a command; without one, it is what a command printed.
        let line = match block {
            Some("console") if joined.is_empty() => line.strip_prefix("$ ").unwrap_or_default(),
            Some("console" | "sh") => line,
            _ => continue,
        };
        if let Some(part) = line.strip_suffix('\\') {
            joined.push_str(part);
            continue;
        }
        joined.push_str(line);
        if line.ends_with('|') {
            continue;
        }
        found.extend(programs(&std::mem::take(&mut joined)).iter().filter_map(|words| arguments(words)));
    }
    found
}

/// Returns the arguments with which a command calls the program, if it does.
fn arguments(words: &[String]) -> Option<Vec<String>> {
    let first = words.first()?;
    if first == "ralph-memory" {
        return Some(words[1..].to_vec());
    }
    let is_run = first == "cargo" && words.get(1).is_some_and(|word| word == "run");
    let at = words.iter().position(|word| word == "--").filter(|_| is_run)?;
    // An example has a command line of its own.
    (!words.iter().any(|word| word == "--example")).then(|| words[at + 1..].to_vec())
}

/// Splits a line as a shell does: into the programs of a pipe or list, and these into words. Where
/// input comes from and output goes to is left out.
fn programs(line: &str) -> Vec<Vec<String>> {
    let mut programs = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut is_file = false;
    let mut characters = line.chars();
    loop {
        let character = characters.next().filter(|character| *character != '#' || word.is_some());
        let ends_word = character.is_none_or(|character| character.is_whitespace() || "|&;<>".contains(character));
        if ends_word && let Some(word) = word.take() {
            let program = programs.last_mut().unwrap();
            if is_file {
                is_file = false;
            } else {
                program.push(word);
            }
        }
        match character {
            None => return programs,
            Some('|' | '&' | ';') => programs.push(Vec::new()),
            Some('<' | '>') => is_file = true,
            Some(quote @ ('\'' | '"')) => {
                let inside: String = characters.by_ref().take_while(|next| *next != quote).collect();
                word.get_or_insert_default().push_str(&inside);
            }
            Some(character) if character.is_whitespace() => {}
            Some(character) => word.get_or_insert_default().push(character),
        }
    }
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

/// Returns the commands of a `console` block, each with what the README says that it prints.
fn session(block: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut goes_on = false;
    for line in block.lines() {
        let command = if goes_on { Some(line) } else { line.strip_prefix("$ ") };
        match (command, all.last_mut()) {
            (Some(line), Some((last, _))) if goes_on => last.push_str(&format!("\n{line}")),
            (Some(line), _) => all.push((line.to_owned(), String::new())),
            (None, Some((_, printed))) => printed.push_str(&format!("{line}\n")),
            (None, None) => panic!("{line}"),
        }
        goes_on = command.is_some_and(|line| line.ends_with(['\\', '|']));
    }
    all
}

/// What was seen in 0.1.0: the README showed what the program had printed some time ago.
#[test]
fn two_minutes_go_as_the_readme_says() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let block = readme.split_once("## Two minutes").unwrap().1.split_once("```console\n").unwrap().1;
    let session = session(block.split_once("```").unwrap().0);
    assert!(session.len() >= 5, "{session:?}");
    let base = TestBase::without_memory();
    let programs = base.home().join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ralph-memory"), programs.join("ralph-memory")).unwrap();
    // The agent is one that does what it is asked, where it may edit files; the tests pass.
    let claude = "#!/bin/sh\ncase \"$*\" in *acceptEdits*) ;; *) exit 9;; esac\nid=$(sed -n 's/^\\*\\*ID:\\*\\* //p')\n\
                  echo \"<task-done>$id</task-done>\"\n";
    for (name, script) in [("claude", claude), ("cargo", "#!/bin/sh\n[ \"$1\" = test ]\n")] {
        std::fs::write(programs.join(name), script).unwrap();
        std::fs::set_permissions(programs.join(name), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (command, expected) in session {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &command]).current_dir(base.root()).env_clear().env("PATH", path).env("HOME", base.home());
        let ran = shell.output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{command}\n{out}{err}");
        if expected.is_empty() {
            assert!(command.contains(" run "), "{command}");
            assert!(base.at(".ralph/journal").read_dir().unwrap().count() == 1, "{out}{err}");
        } else {
            assert_eq!(out, expected, "{command}");
        }
    }
}

/// The demonstration on this repository's own memory prints what the README shows of it.
#[test]
fn the_demonstration_prints_what_the_readme_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let demonstration = readme.split_once("this prints what it knows").unwrap().1;
    let (command, rest) = demonstration.split_once("```sh\n").unwrap().1.split_once("```").unwrap();
    let shown = rest.split_once("```text\n").unwrap().1.split_once("\n```\n").unwrap().0;
    let base = TestBase::without_memory();
    for file in walkdir::WalkDir::new(root.join(".ralph/knowledge")).into_iter().map(Result::unwrap) {
        if file.file_type().is_file() {
            let path = file.path().strip_prefix(root).unwrap();
            base.write(path.to_str().unwrap(), std::fs::read(file.path()).unwrap());
        }
    }
    let printed = base.run(&commands(&format!("```sh\n{command}```\n"))[0]).answer(0);
    // What is left out stands for any text.
    let mut rest = printed.as_str();
    for part in shown.split('…').map(str::trim).filter(|part| !part.is_empty()) {
        rest = rest.split_once(part).unwrap_or_else(|| panic!("{part}\nis not in\n{rest}")).1;
    }
}

#[test]
fn commands_are_found_in_code_blocks() {
    let readme = "ralph-memory no\n```sh\nralph-memory add --title \"a b\" \\\n  --tags 'c' < x.md\ncargo test\n\
                  cargo run -q -- context --task x > y # why\n```\n```toml\nralph-memory = 1\n```\n\
                  ```console\n$ cat a |\n  ralph-memory search x; ralph-memory list\nralph-memory no\n```\n\
                  ```text\nralph-memory no\n```\n";
    let expected: [&[&str]; 4] =
        [&["add", "--title", "a b", "--tags", "c"], &["context", "--task", "x"], &["search", "x"], &["list"]];
    assert_eq!(commands(readme), expected);
}

/// Each line of the threat model is kept by a test, by its name.
#[test]
fn every_line_of_the_threat_model_is_kept_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = std::fs::read_to_string(root.join("docs/threat-model.md")).unwrap();
    let sources: String = ["src", "tests"]
        .iter()
        .flat_map(|folder| walkdir::WalkDir::new(root.join(folder)))
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "rs"))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    let mut kept = 0;
    // Tables of lines that are kept by tests have those in their third column, behind what happens.
    let tables = model.split("\n## ").filter(|part| part.contains("| kept by |"));
    for row in tables.flat_map(str::lines).filter(|line| line.starts_with("| ")) {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        if ["kept by", "---"].iter().any(|head| cell.contains(head)) {
            continue;
        }
        for test in cell.split(", ").map(|name| name.trim_matches('`')) {
            assert!(
                sources.contains(&format!("#[test]\nfn {test}()"))
                    || sources.contains(&format!("#[test]\n    fn {test}()")),
                "{test}"
            );
            kept += 1;
        }
    }
    assert!(kept > 30, "{kept}");
}
