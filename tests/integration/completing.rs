//! What shells complete from the memory.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{PROGRAM, TestBase, write_program};

/// Makes a memory with a fact, a file of the archive and an attempt.
fn base() -> TestBase {
    let base = TestBase::new();
    base.entry("wal-mode", "WAL mode", "sqlite, storage", "Readers go on.")
        .entry("use-make", "Use make", "build", "It is there.")
        .write(".ralph/archive/knowledge/old-host.md", "---\ntitle: Old host\ntags: [x]\n---\n\nGone.\n")
        .write(".ralph/knowledge/login.md", "---\ntitle: Logins\ntags: [auth]\nfeature: login\n---\n\nThey expire.\n");
    let begun = ["context", "Fix the login", "--task-id", "fix-login", "--feature", "login", "--run", "run-1a2b"];
    assert_eq!(base.run(begun).code, Some(0));
    base.with(["record", "--run", "run-1a2b"])
        .input("<task-failed>fix-login</task-failed>")
        .run()
        .says(0, "journal/run-1a2b/0001");
    base
}

/// Returns the candidates for the last of these words.
fn candidates(base: &TestBase, words: &[&str]) -> Vec<String> {
    let answer = base.run([&["complete", "--"], words].concat()).answer(0);
    answer.lines().map(|line| line.split_once('\t').unwrap().0.to_owned()).collect()
}

#[test]
fn every_kind_of_name_is_completed() {
    let base = base();
    let check = |words: &[&str], expected: &[&str]| assert_eq!(candidates(&base, words), expected, "{words:?}");
    check(&["edit", "wal"], &["wal-mode"]);
    check(&["edit", "knowledge/wa"], &["knowledge/wal-mode"]);
    check(&["edit", ""], &["login", "use-make", "wal-mode"]);
    check(&["restore", ""], &["old-host"]);
    check(&["archive", "login", "jour"], &["journal/run-1a2b/0001"]);
    check(&["list", "--tag", "s"], &["sqlite", "storage"]);
    check(&["list", "--tag=s"], &["--tag=sqlite", "--tag=storage"]);
    check(&["add", "--tags", "build,sq"], &["build,sqlite"]);
    check(&["search", "x", "--feature", ""], &["login"]);
    check(&["log", "--task", ""], &["fix-login"]);
    check(&["log", "--run", "run"], &["run-1a2b"]);
    check(&["log", "--fact", "wal"], &["wal-mode"]);
    check(&["show", "fix"], &["fix-login"]);
    check(&["show", "run"], &["run-1a2b"]);
    check(&["show", "task:fix"], &["task:fix-login"]);
    check(&["show", "run:"], &["run:run-1a2b"]);
    check(&["list", "--limit", ""], &[]);
    assert_eq!(base.run(["complete", "--", "edit", "wal"]).answer(0), "wal-mode\tWAL mode\n");
}

#[test]
fn the_memory_is_that_of_the_options() {
    let base = base();
    let home = base.home();
    let from_home = |words: &[&str]| base.with([&["complete", "--"], words].concat()).folder(&home).run().answer(0);
    assert_eq!(from_home(&["edit", "wal"]), "", "there is no memory here");
    assert_eq!(from_home(&["-C", "../project", "edit", "wal"]), "wal-mode\tWAL mode\n");
    assert_eq!(from_home(&["edit", "--root=../project", "wal"]), "wal-mode\tWAL mode\n");
    for odd in [&["-C", "gone", "edit", "w"][..], &["--root", "gone", "edit", "w"], &["edit", "--no-such", ""], &[]] {
        assert_eq!(from_home(odd), "", "{odd:?}");
    }
    base.write(".ralph/config.toml", "[[[");
    assert_eq!(base.run(["complete", "--", "edit", "wal"]).answer(0), "", "settings that cannot be read");
}

/// Odd names, as a clone may bring them.
const ODD: &str = r#""$(touch gone)", "`id`", "a;b", "--x", "a b", "it's", "fine", "a\tb", "a\u202eb""#;

/// Where the program does not know the shell, a candidate stands on the command line as it is, and the next Enter runs it.
#[test]
fn without_a_shell_nothing_that_one_would_act_on_is_offered() {
    let base = TestBase::new();
    base.entry("a", r"Title \e]0;x\a\n$(touch gone)", ODD, "A.");
    assert_eq!(candidates(&base, &["list", "--tag", ""]), ["fine"]);
    let answer = base.run(["complete", "--", "edit", ""]).answer(0);
    assert_eq!(answer, "a\tTitle \\u{1b}]0;x\\u{7} $(touch gone)\n");
    // No program is run, not even git.
    let trap = base.home().join("bin");
    fs::create_dir(&trap).unwrap();
    write_program(&trap.join("git"), "#!/bin/sh\n/bin/touch \"$0.ran\"\n");
    fs::create_dir(base.at(".git")).unwrap();
    let run = base.with(["complete", "--", "show", ""]).env("PATH", &trap).run();
    assert!(run.stdout.starts_with("a\t") && !trap.join("git.ran").exists(), "{run}");
}

/// A shell gives the command line, and a candidate with an odd character would need its quotes.
#[test]
fn only_plain_names_are_completed_in_every_shell() {
    let base = base();
    base.entry("b", "B", ODD, "B.").entry("long", "L", &"x".repeat(300), "L.");
    let offered = |shell: &str, line: &str| {
        let answer = base.run(["complete", "--shell", shell, "--", &format!("ralph-memory {line}")]).answer(0);
        answer.lines().map(|line| line.split_once('\t').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    for shell in ["bash", "zsh", "fish"] {
        let kept = if shell == "bash" { "" } else { "--tag=" };
        for (line, expected) in [
            ("list --tag ", &["auth", "build", "fine", "sqlite", "storage"][..]),
            ("list --tag x", &[]),
            ("list --tag 'a", &[]),
            ("-C '.' edit wal", &["wal-mode"]),
            ("-C 'a b' edit wal", &[]),
        ] {
            assert_eq!(offered(shell, line), expected, "{shell}: {line}");
        }
        assert_eq!(offered(shell, "list --tag=fi"), [format!("{kept}fine")], "{shell}");
    }
    base.run(["complete", "--shell", "tcsh", "--", "x"]).refuses(2, "possible values: bash, zsh, fish");
}

/// Runs bash's completion of a command line, and returns what it offers.
fn in_bash(base: &TestBase, line: &str) -> String {
    let script = base.home().join("completions.bash");
    fs::write(&script, base.run(["completions", "bash"]).answer(0)).unwrap();
    // What bash splits matters to the function of clap alone.
    let words: Vec<String> = line.split(' ').map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let (n_before, n_characters) = (words.len() - 1, line.chars().count());
    let call = format!(
        "source {}; COMP_WORDS=({}); COMP_CWORD={n_before}; COMP_LINE=$LINE; COMP_POINT={n_characters}
         spec=$(complete -p ralph-memory); spec=${{spec#*-F }}
         ${{spec%% *}} ralph-memory \"${{COMP_WORDS[-1]}}\" ''; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
    );
    let folder = Path::new(PROGRAM).parent().unwrap();
    let output = Command::new("bash")
        .args(["--norc", "-c", &call])
        .current_dir(base.root())
        .env_clear()
        .env("HOME", base.home())
        .env("LINE", line)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_names_and_options() {
    let base = base();
    let check = |line: &str, expected: &str| assert_eq!(in_bash(&base, line), expected, "{line}");
    check("ralph-memory edit wal", "wal-mode\n");
    check("ralph-memory list --tag=s", "sqlite\nstorage\n");
    check("A='x y' ralph-memory log --feature lo", "login\n");
    check("ralph-memory add --tags sqlite,a", "sqlite,auth\n");
    check("ralph-memory show task:f", "fix-login\n");
    check("ralph-memory list --never", "--never-helped\n");
    check("ralph-memory tid", "tidy\n");
    check("ralph-memory merge-driver --mark", "--marker-size\n");
    // The program of the command line may be a file of a clone: it is not run before Enter.
    write_program(&base.at("ralph-memory"), "#!/bin/sh\ntouch ran\n");
    assert_eq!(in_bash(&base, "./ralph-memory edit wal"), "wal-mode\n");
    assert!(!base.at("ran").exists());
}

#[test]
fn scripts_ask_the_program_too_and_have_nothing_hidden() {
    let base = TestBase::without_memory();
    let script = |shell: &str| base.run(["completions", shell]).answer(0);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(shell);
        assert!(script.contains("quiet") && script.contains("version"), "{shell}");
        assert!(!script.contains("The time to use instead of the clock") && !script.contains("--now"), "{shell}");
        assert!(!script.contains("subcmd__complete)") && !script.contains("'complete:"), "{shell}");
        let asks = format!("command ralph-memory complete --shell {shell} -- ");
        assert_eq!(script.contains(&asks), ["bash", "zsh", "fish"].contains(&shell), "{shell}");
    }
    let fish = script("fish");
    for line in ["\"__fish_ralph_memory_using_subcommand show\" -f -a", "using_subcommand context\" -l feature -x -a"] {
        assert!(fish.contains(line), "{line}");
    }
    let zsh = script("zsh");
    assert!(zsh.starts_with("#compdef ralph-memory\n"), "zsh reads this line only at the top");
    assert_eq!(zsh.matches("_ralph-memory() {\n    _ralph-memory_candidates && return 0\n").count(), 1);
}
