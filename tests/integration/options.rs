//! Options of every command: the folder, colours, quiet and the pager.

use std::fs;

use crate::pty::Terminal;
use crate::support::{Run, TestBase, heed_interrupts, write_program};

/// How many entries are more than a terminal of 24 rows shows.
const MANY: usize = 30;

/// Makes a memory whose list is longer than the terminal is high.
fn long() -> TestBase {
    let base = TestBase::new();
    for number in 0..MANY {
        base.entry(&format!("note-{number:02}"), &format!("Note {number}"), "zebra", "It is striped.");
    }
    base
}

/// Runs it on a terminal, and returns the exit code and the display.
fn on_terminal(run: &Run<'_>) -> (Option<i32>, String) {
    let (status, screen, _) = Terminal::start(run.command()).end();
    (status.code(), screen)
}

/// A pager that shows that it ran, and what it was given.
const PAGER: &str = "sed 's/^/paged: /'";

#[test]
fn a_command_starts_in_the_folder_of_its_option() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "sqlite", "Readers go on.").write("src/db.rs", "");
    let home = base.home();
    let listed = base.run(["list"]).answer(0);
    let from_home = |arguments: &[&str]| base.with(arguments).folder(&home).run();
    assert_eq!(from_home(&["-C", "../project", "list"]).answer(0), listed);
    assert_eq!(from_home(&["list", "-C", "../project/src"]).answer(0), listed, "the memory is the nearest one upward");
    assert_eq!(from_home(&["-C", "../project/src", "--root", "..", "list"]).answer(0), listed);
    assert_eq!(from_home(&["-C", "../project", "-C", "src", "list"]).answer(0), listed, "one after the other");
    // Paths of files begin there, too.
    let add = ["-C", "../project/src", "add", "T", "--tags", "a", "--body", "B.", "--file", "db.rs"];
    from_home(&add).says(0, "created knowledge/t");
    assert!(base.read(".ralph/knowledge/t.md").contains("src/db.rs"));
    from_home(&["-C", "gone", "list"]).refuses(2, "`gone` does not exist");
    base.write("file", "");
    from_home(&["-C", "../project/file", "list"]).refuses(2, "`../project/file` is not a folder");
    assert_eq!(from_home(&["-C", "gone", "hook", "prompt"]).code, Some(0), "a client must not stop at it");
}

#[test]
fn a_named_folder_wins_over_that_of_the_client() {
    let (base, other) = (TestBase::new(), TestBase::new());
    other.entry("other", "Other", "zebra", "It is striped.");
    let hook = |arguments: &[&str]| {
        let input = format!(r#"{{"session_id":"s","source":"startup","cwd":"{}"}}"#, other.root().display());
        base.with(arguments).input(input).run().stdout
    };
    assert!(hook(&["hook", "session-start"]).contains("Other"));
    let own = hook(&["-C", ".", "hook", "session-start"]);
    assert!(own.contains("# Project Memory") && !own.contains("Other"), "{own}");
}

#[test]
fn colours_follow_the_option_then_the_environment() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "sqlite", "Readers go on.");
    let is_coloured = |arguments: &[&str]| {
        let run = base.with(arguments).env("NO_COLOR", "1").run();
        assert!(run.stdout.contains("knowledge/wal") || run.stdout.contains("Usage"), "{run}");
        run.stdout.contains('\u{1b}')
    };
    assert!(!is_coloured(&["list"]));
    assert!(!is_coloured(&["list", "--color", "auto"]));
    assert!(is_coloured(&["list", "--color", "always"]));
    assert!(is_coloured(&["--color=always", "list"]));
    assert!(is_coloured(&["--color=always", "--help"]));
    assert!(!is_coloured(&["--help"]));
    assert!(!is_coloured(&["list", "--json", "--color", "always"]), "JSON has no colours");
    let usage = base.run(["list", "--color", "always", "--no-such"]);
    assert!(usage.code == Some(2) && usage.stderr.contains("\u{1b}["), "{usage}");
    base.run(["list", "--color", "pink"]).refuses(2, "invalid value 'pink' for '--color <WHEN>'");
    for (arguments, expected) in [(&["list"][..], true), (&["list", "--color", "never"], false)] {
        let (_, _, bytes) = Terminal::start(base.with(arguments).command()).end();
        assert_eq!(bytes.contains("\u{1b}[36m"), expected, "{arguments:?}: {bytes}");
    }
}

#[test]
fn a_terminal_shows_lines_that_are_broken_between_words() {
    let base = TestBase::new();
    let title = "The tests start a database in a container of their own and wait until it accepts connections";
    base.entry("db", title, "docker", "It is slow.").entry("wide", &"データベース".repeat(10), "x", "It is wide.");
    base.write(".ralph/knowledge/bare.md", "---\ntitle: Without tags\n---\n\nText.\n");
    let piped = base.run(["list"]).stdout;
    assert_eq!(piped.lines().count(), 3, "one line for each entry: {piped}");
    assert!(piped.contains("knowledge/bare  Without tags\n"), "{piped}");
    let (_, screen, _) = Terminal::start(base.with(["list"]).env("PAGER", "cat").command()).end();
    assert!(screen.contains("in a container of their own and wait\n    until it accepts"), "{screen}");
    assert_eq!(screen.lines().filter(|line| line.starts_with("    ")).count(), 2, "{screen}");
    // Nothing is lost, not even of a text without spaces.
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    assert!(bare(&screen).contains(&bare(&piped)), "{screen}");
    base.run(["search", "tags"]).says(0, "   knowledge/bare\n");
}

#[test]
fn quiet_leaves_out_notes_but_neither_answers_nor_warnings() {
    let base = TestBase::new();
    base.entry("wal", "WAL mode", "sqlite", "Readers go on.").write(".ralph/knowledge/broken.md", "---\ntitle: [\n");
    let both = |arguments: &[&str]| {
        let loud = base.run(arguments);
        let quiet = base.run([arguments, &["-q"]].concat());
        assert_eq!((loud.code, &loud.stdout), (quiet.code, &quiet.stdout), "{loud}");
        (loud.stderr, quiet.stderr)
    };
    let (loud, quiet) = both(&["search", "zebra"]);
    assert!(loud.starts_with("nothing found\n") && quiet.starts_with("warning: "), "{loud}{quiet}");
    assert_eq!(loud.replace("nothing found\n", ""), quiet);
    let (loud, quiet) = both(&["show", "gone"]);
    assert_eq!(loud, quiet);
    assert!(quiet.contains("error: ") && quiet.contains("hint: "), "{quiet}");
}

#[test]
fn a_long_answer_goes_through_the_pager() {
    let base = long();
    let list = |pager: &str| base.with(["list"]).env("RALPH_MEMORY_PAGER", pager).env("PAGER", "false");
    let (code, screen) = on_terminal(&list(PAGER));
    assert_eq!(code, Some(0));
    assert_eq!(screen.lines().filter(|line| line.starts_with("paged: knowledge/note-")).count(), MANY, "{screen}");
    let (_, screen) = on_terminal(&base.with(["list"]).env("PAGER", PAGER));
    assert!(screen.starts_with("paged: "), "{screen}");
    for (arguments, first) in [
        (&["search", "zebra", "--limit", "20"][..], "paged: 1. Note"),
        (&["context", "Groom the zebra"], "paged: ## Assigned Task"),
    ] {
        let (code, screen) = on_terminal(&base.with(arguments).env("PAGER", PAGER));
        assert!(code == Some(0) && screen.contains(first), "{arguments:?}: {screen}");
    }
}

#[test]
fn notes_are_below_the_answer() {
    let base = long();
    let check = |run: &Run<'_>| {
        let (code, screen) = on_terminal(run);
        assert_eq!(code, Some(0));
        assert_eq!(screen.trim_end().lines().last(), Some("2 more; `--limit 0` lists all"), "{screen}");
        assert!(screen.contains("knowledge/note-00"), "{screen}");
    };
    let list = base.with(["list", "--limit", "28"]);
    check(&list.env("PAGER", PAGER));
    check(&base.with(["list", "--limit", "28", "--no-pager"]));
}

#[test]
fn no_pager_runs_where_nobody_pages() {
    let base = long();
    let plain = base.with(["list"]).env("PAGER", PAGER).run().answer(0);
    assert!(plain.starts_with("knowledge/note-00"), "{plain}");
    let run = |arguments: &[&str]| base.with(arguments).env("PAGER", PAGER);
    for unpaged in [
        run(&["list", "--no-pager"]),
        run(&["list", "--json"]),
        run(&["list", "--limit", "20"]),
        run(&["check"]),
        run(&["list"]).env("TERM", "dumb"),
        run(&["list"]).env("CLAUDECODE", "1"),
        run(&["list"]).env("RALPH_RUN_ID", "run-1"),
        run(&["list"]).env("RALPH_MEMORY_PAGER", ""),
        run(&["list"]).env("RALPH_MEMORY_PAGER", "cat"),
    ] {
        let (_, screen) = on_terminal(&unpaged);
        assert!(!screen.contains("paged: ") && !screen.is_empty(), "{screen}");
    }
}

#[test]
fn a_pager_that_cannot_run_or_ends_early_loses_nothing() {
    let base = long();
    let (code, screen) = on_terminal(&base.with(["list"]).env("PAGER", "/gone/pager"));
    assert_eq!(code, Some(0));
    assert!(screen.contains("cannot run the pager `/gone/pager`"), "{screen}");
    assert_eq!(screen.lines().filter(|line| line.starts_with("knowledge/note-")).count(), MANY, "{screen}");
    let (code, screen) = on_terminal(&base.with(["list"]).env("PAGER", "head -n 1"));
    assert_eq!((code, screen.lines().count()), (Some(0), 1), "{screen}");
    // More than a pipe holds, so that writing fails.
    base.write(".ralph/knowledge/huge.md", format!("---\ntitle: Huge\ntags: [a]\n---\n\n{}", "zebra\n".repeat(50_000)));
    let (code, screen) = on_terminal(&base.with(["show", "huge"]).env("PAGER", "true"));
    assert_eq!((code, screen.as_str()), (Some(0), ""));
    // The exit code is that of the command.
    let (code, _) = on_terminal(&base.with(["show", "none-of-these"]).env("PAGER", PAGER));
    assert_eq!(code, Some(1));
}

#[test]
fn less_is_the_pager_unless_another_is_named() {
    let base = long();
    let folder = base.home().join("bin");
    fs::create_dir(&folder).unwrap();
    write_program(&folder.join("less"), "#!/bin/sh\necho \"options: $*\"\n/bin/cat\n");
    let (code, screen) = on_terminal(&base.with(["list"]).env("PATH", &folder));
    assert_eq!(code, Some(0));
    assert!(screen.starts_with("options: -FRX\nknowledge/note-00"), "{screen}");
    // Nobody misses it where it is not installed.
    fs::remove_file(folder.join("less")).unwrap();
    let (code, screen) = on_terminal(&base.with(["list"]).env("PATH", &folder));
    assert_eq!(code, Some(0));
    assert!(screen.starts_with("knowledge/note-00") && !screen.contains("pager"), "{screen}");
}

#[test]
fn an_interrupt_is_for_the_pager() {
    heed_interrupts();
    let base = long();
    let mut terminal =
        Terminal::start(base.with(["list"]).env("PAGER", "echo ready; read -r line <&2; echo done").command());
    terminal.wait_for("ready");
    terminal.signal(rustix::process::Signal::INT);
    terminal.type_in("\n");
    let (status, screen, _) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen}");
    assert!(screen.ends_with("done"), "{screen}");
}

#[test]
fn control_characters_reach_no_pager() {
    let base = long();
    base.entry("odd", r"Odd \e]0;title\a\u202e", "zebra", "It is striped.");
    let mut terminal = Terminal::start(base.with(["list"]).env("PAGER", "cat -u").command());
    terminal.wait_for("Odd \\u{1b}]0;title\\u{7}\\u{202e}");
    let (status, _, bytes) = terminal.end();
    assert!(status.success() && !bytes.contains("\u{1b}]") && !bytes.contains('\u{202e}'), "{bytes}");
}
