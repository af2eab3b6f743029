//! Options of every command: the folder, colours and quiet.

use crate::pty::Terminal;
use crate::support::TestBase;

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
    assert!(!is_coloured(&["--help"]));
    assert!(!is_coloured(&["list", "--json", "--color", "always"]), "JSON has no colours");
    base.run(["list", "--color", "pink"]).refuses(2, "invalid value 'pink' for '--color <WHEN>'");
    for (arguments, expected) in [(&["list"][..], true), (&["list", "--color", "never"], false)] {
        let (_, _, bytes) = Terminal::start(base.with(arguments).command()).end();
        assert_eq!(bytes.contains("\u{1b}[36m"), expected, "{arguments:?}: {bytes}");
    }
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
