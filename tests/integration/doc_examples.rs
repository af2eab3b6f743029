//! Every example of the documentation works: sessions print what the page shows, commands are understood, and settings,
//! entries, JSON and TOML can be read. Examples in Rust are tests of the library's documentation.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::docs::{Block, blocks, pages};
use crate::support::{TestBase, git, write_program};

/// What commands print of which a page shows nothing: the beginning of a command, and what it must print in this order.
const UNSHOWN: [(&str, &[&str]); 2] = [
    ("ralph-memory init", &["created .ralph/knowledge/\n", "created .ralph/config.toml\n"]),
    (
        "ralph-memory run --task",
        &["done", "  done         Make the database tests pass in CI (1 attempt)\n", "  attempts     1 (1 done)\n"],
    ),
];
/// The agent of the sessions: it does its task if it may edit files.
const AGENT: &str = "#!/bin/sh\ncase \"$*\" in *acceptEdits*|*workspace-write*) ;; *) exit 9;; esac\n\
                     id=$(sed -n 's/^\\*\\*ID:\\*\\* //p')\necho \"<task-done>$id</task-done>\"\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Returns the blocks of all pages in these languages.
fn all_blocks(languages: &[&str]) -> Vec<Block> {
    let blocks = pages().into_iter().flat_map(|page| blocks(&page)).collect::<Vec<_>>();
    blocks.into_iter().filter(|block| languages.contains(&block.language.as_str())).collect()
}

/// Returns the arguments of each call of the program in a `sh` block, without what is read from and written to a file.
fn calls(block: &str) -> Vec<Vec<String>> {
    let block = block.replace("\\\n", " ").replace("|\n", "| ").replace("; ", " ; ");
    let words = block.lines().map(|line| shlex::split(line).unwrap_or_else(|| panic!("{line}")));
    let programs = words.flat_map(|words| {
        let ends = |word: &String| ["|", "&&", ";"].contains(&word.as_str());
        words.split(ends).map(<[String]>::to_vec).collect::<Vec<_>>()
    });
    programs.filter_map(|words| arguments(&words)).collect()
}

/// Returns the arguments with which a command calls the program, if it does.
fn arguments(words: &[String]) -> Option<Vec<String>> {
    let first = words.first()?;
    let is_run = first == "cargo" && words.get(1).is_some_and(|word| word == "run");
    let at = match first.as_str() {
        "ralph-memory" => 0,
        // An example has a command line of its own.
        _ if is_run && !words.contains(&"--example".to_owned()) => words.iter().position(|word| word == "--")?,
        _ => return None,
    };
    Some(words[at + 1..].iter().take_while(|word| !["<", ">"].contains(&word.as_str())).cloned().collect())
}

#[test]
fn every_command_is_understood() {
    let mut n_run = 0;
    for block in all_blocks(&["sh"]) {
        for arguments in calls(&block.text) {
            // Without a memory, a valid command ends before it does anything.
            let base = TestBase::without_memory();
            git(&base, &["init", "--quiet"]);
            // What a shell would put in their place.
            let expand = |word: String| word.replace("$?", "0").replace("~/src/project", ".");
            let arguments: Vec<String> = arguments.into_iter().map(expand).collect();
            // What an example records was written by the commands before it, and what it merges by git.
            for file in ["output.jsonl", "output.txt", "test.txt", "base", "ours", "theirs"] {
                base.write(file, "Done.");
            }
            let ran = base.with(&arguments).input("Done.").run();
            // Setup needs no memory, and finds no client in an empty home.
            let is_no = arguments.first().is_some_and(|command| command == "setup") && ran.code == Some(1);
            // With `--exit-code`, what is not recorded has an exit code of its own.
            let is_unrecorded = arguments.iter().any(|argument| argument == "--exit-code") && ran.code == Some(7);
            // What an example imports was written by people, or by another program.
            let is_import = arguments.first().is_some_and(|command| command == "import") && ran.code == Some(2);
            let is_absent = is_import && ran.stderr.contains("` does not exist\nhint: check the spelling; ");
            let is_understood = is_no || is_unrecorded || is_absent || ran.code == Some(0) || ran.code == Some(3);
            assert!(is_understood, "{}: {arguments:?}: {ran}", block.place);
            n_run += 1;
        }
    }
    assert!(n_run > 50, "{n_run}");
}

/// Returns the commands of a `console` block, each with the output that the README shows.
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
        goes_on = command.is_some() && all.last().is_some_and(|(command, _)| is_unfinished(command));
    }
    all
}

/// Returns whether a shell waits for more of a command: it ends with `\` or `|`, or in a text between double quotes or up to
/// a line `END`.
fn is_unfinished(command: &str) -> bool {
    if let Some((_, text)) = command.split_once("<<'END'") {
        return !text.ends_with("\nEND");
    }
    command.ends_with(['\\', '|']) || (command.matches('"').count() - command.matches("\\\"").count()) % 2 == 1
}

/// The folder of a page's sessions: a project, and stubs for programs that may not be installed.
struct Stage {
    base: TestBase,
    programs: PathBuf,
}

impl Stage {
    fn new() -> Stage {
        let base = TestBase::without_memory();
        let programs = base.home().join("bin");
        fs::create_dir_all(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_ralph-memory"), programs.join("ralph-memory")).unwrap();
        for (name, script) in [("claude", AGENT), ("codex", AGENT), ("cargo", "#!/bin/sh\n[ \"$1\" = test ]\n")] {
            write_program(&programs.join(name), script);
        }
        Stage { base, programs }
    }

    /// Runs a command and returns its exit code and its output, errors last.
    fn run(&self, command: &str) -> (Option<i32>, String, String) {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.programs.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.base.root());
        shell.env_clear().env("PATH", path).env("HOME", self.base.home());
        // A reader has told git this.
        for role in ["AUTHOR", "COMMITTER"] {
            shell.env(format!("GIT_{role}_NAME"), "reader").env(format!("GIT_{role}_EMAIL"), "reader@example.org");
        }
        let output = shell.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }
}

/// Returns the part of `shown` that `printed` lacks; an ellipsis, `…`, matches any text.
fn missing<'a>(shown: &'a str, printed: &str) -> Option<&'a str> {
    let parts: Vec<&str> = shown.split('…').collect();
    let [only] = parts[..] else {
        let mut rest = printed;
        for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            let Some((_, behind)) = rest.split_once(part) else { return Some(part) };
            rest = behind;
        }
        return None;
    };
    (only != printed).then_some(only)
}

/// Checks what a command printed of which the page at `place` shows nothing.
fn check_unshown(command: &str, out: &str, place: &str) {
    let row = UNSHOWN.iter().find(|(beginning, _)| command.starts_with(beginning));
    let (_, expected) = row.unwrap_or_else(|| panic!("{place}: nothing checks what `{command}` prints"));
    assert_eq!(missing(&expected.join("…"), out), None, "{place}: {command}\nprinted:\n{out}");
}

/// Seen in 0.1.0: the documentation showed outdated output.
#[test]
fn console_sessions_match_the_pages() {
    let mut n_commands = 0;
    for page in pages() {
        let stage = Stage::new();
        for block in blocks(&page).into_iter().filter(|block| block.language == "console") {
            for (command, shown) in session(&block.text) {
                let (code, out, err) = stage.run(&command);
                // Errors that `check` finds are shown, too.
                let expected = Some(i32::from(shown.contains("error[")));
                assert_eq!(code, expected, "{}: {command}\n{out}{err}", block.place);
                let missing = missing(&shown, &out);
                assert_eq!(missing, None, "{}: {command}\nprinted:\n{out}{err}", block.place);
                if shown.trim() == "…" {
                    check_unshown(&command, &out, &block.place);
                }
                n_commands += 1;
            }
        }
    }
    assert!(n_commands > 15, "{n_commands}");
}

/// The demonstration on this repository's own memory prints what the README shows.
#[test]
fn the_demonstration_prints_what_the_readme_shows() {
    let root = root();
    let readme = blocks(&pages().into_iter().find(|page| page.path == "README.md").unwrap());
    let at = readme.iter().position(|block| block.language == "sh" && block.text.contains("memory context")).unwrap();
    let (command, shown) = (&readme[at].text, &readme[at + 1].text);
    let base = TestBase::without_memory();
    for file in walkdir::WalkDir::new(root.join(".ralph/knowledge")).into_iter().map(Result::unwrap) {
        if file.file_type().is_file() {
            let path = file.path().strip_prefix(&root).unwrap();
            base.write(path.to_str().unwrap(), fs::read(file.path()).unwrap());
        }
    }
    let ran = base.run(&calls(command)[0]);
    assert_eq!((ran.code, missing(shown, &ran.stdout)), (Some(0), None), "{ran}");
}

/// Those in other languages need more than Rust: `.ci/run` runs them.
#[test]
fn the_loop_of_the_guide_in_a_shell_fails_fails_and_is_done() {
    let script = root().join("tests/loops/run.sh");
    let output = Command::new(script).args([env!("CARGO_BIN_EXE_ralph-memory"), "bash"]).output().unwrap();
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!((out.as_str(), output.status.code()), ("bash: failed, failed, done\n", Some(0)), "{err}");
}

#[test]
fn every_example_in_json_can_be_read() {
    for block in all_blocks(&["json"]) {
        serde_json::from_str::<serde_json::Value>(&block.text)
            .unwrap_or_else(|error| panic!("{}: {error}", block.place));
    }
}

/// Settings apply as the user's own without a warning; those of other programs are valid.
#[test]
fn every_example_in_toml_can_be_read() {
    let reference = fs::read_to_string(root().join("docs/src/reference/settings.md")).unwrap();
    let mut n_settings = 0;
    for block in all_blocks(&["toml"]) {
        let table: toml::Table = toml::from_str(&block.text).unwrap_or_else(|error| panic!("{}: {error}", block.place));
        if !table.keys().all(|name| reference.contains(&format!("\n## {name}\n"))) {
            continue;
        }
        let base = TestBase::new();
        base.write("own.toml", &block.text);
        let ran = base.with(["list", "--json"]).env("RALPH_MEMORY_CONFIG", base.at("own.toml")).run();
        assert_eq!(ran.json(0)["problems"].as_array().unwrap().len(), 0, "{}: {ran}", block.place);
        n_settings += 1;
    }
    assert!(n_settings >= 4, "{n_settings}");
}

#[test]
fn every_example_of_an_entry_is_valid() {
    let entries = all_blocks(&["markdown"]).into_iter().filter(|block| block.text.starts_with("---\n"));
    let mut n_entries = 0;
    for block in entries {
        let base = TestBase::new();
        let is_attempt = block.text.contains("\nrun_id: ");
        base.write(
            if is_attempt { ".ralph/journal/run-1a2b3c4d/0003.md" } else { ".ralph/knowledge/a.md" },
            &block.text,
        );
        // The source of the imported one.
        base.write("CLAUDE.md", "## Testing\n\nRun `just test` before each commit.\n");
        let ran = base.run(["check", "--strict"]);
        assert_eq!(ran.code, Some(0), "{}: {ran}", block.place);
        n_entries += 1;
    }
    assert!(n_entries >= 3, "{n_entries}");
}

/// Examples in Rust are run as tests of the library, which names their pages.
#[test]
fn every_page_with_rust_is_a_test_of_the_library() {
    let library = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for block in all_blocks(&["rust"]) {
        let page = block.place.split(':').next().unwrap();
        assert!(library.contains(&format!("include_str!(\"../{page}\")")), "{page} is not in src/lib.rs");
    }
}

#[test]
fn commands_are_found_in_blocks() {
    let block = "ralph-memory add \"a b\" \\\n  --tags 'c' < x.md\ncargo test\n\
                 cargo run -q -- context --task x > y # why\ncat a |\n  ralph-memory search x; ralph-memory list\n";
    let expected: [&[&str]; 4] =
        [&["add", "a b", "--tags", "c"], &["context", "--task", "x"], &["search", "x"], &["list"]];
    assert_eq!(calls(block), expected);
}

#[test]
fn an_ellipsis_matches_any_text() {
    assert_eq!(missing("a\n…\nc\n", "a\nb\nc\n"), None);
    assert_eq!(missing("a\n…\nd\n", "a\nb\nc\n"), Some("d"));
    assert_eq!(missing("a\n", "a\nb\n"), Some("a\n"));
}

/// Each line of the threat model is kept by a test, by its name.
#[test]
fn every_line_of_the_threat_model_names_its_tests() {
    let root = root();
    let model = fs::read_to_string(root.join("docs/src/design/threat-model.md")).unwrap();
    let sources: String = ["src", "tests"]
        .iter()
        .flat_map(|folder| walkdir::WalkDir::new(root.join(folder)))
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "rs"))
        .map(|entry| fs::read_to_string(entry.path()).unwrap())
        .collect();
    let mut kept = 0;
    // Tables of tests have their names in the third column.
    let tables = model.split("\n## ").filter(|part| part.contains("| kept by |"));
    for row in tables.flat_map(str::lines).filter(|line| line.starts_with("| ")) {
        let cell = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        if ["kept by", "---"].iter().any(|head| cell.contains(head)) {
            continue;
        }
        for test in cell.split(", ").map(|name| name.trim_matches('`')) {
            assert!(
                sources.contains(&format!("#[test]\nfn {test}("))
                    || sources.contains(&format!("#[test]\n    fn {test}(")),
                "{test}"
            );
            kept += 1;
        }
    }
    assert!(kept > 30, "{kept}");
}
