//! Which changes of code make a fact doubtful: by the files that it names, and by the names in its text.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, TestBase, ids, write_program};

const KEEP_RS: &str = r#"//! Keeps connections open between requests.

use std::time::{Duration, Instant};

/// The proxy closes a connection after 40 seconds.
pub const IDLE_SECONDS: u64 = 30;
pub const MAX_IDLE: usize = 8;

pub struct Keeper {
    idle: Vec<Connection>,
    closed: usize,
}

impl Keeper {
    pub fn new() -> Keeper {
        Keeper { idle: Vec::new(), closed: 0 }
    }

    /// Takes the connection that was used last.
    pub fn take(&mut self, now: Instant) -> Option<Connection> {
        self.drop_old(now);
        self.idle.pop()
    }

    fn drop_old(&mut self, now: Instant) {
        let limit = Duration::from_secs(IDLE_SECONDS);
        let before = self.idle.len();
        self.idle.retain(|connection| now - connection.used_at < limit);
        self.closed += before - self.idle.len();
        log::debug!("closed {} connections", self.closed);
    }

    pub fn give_back(&mut self, connection: Connection) {
        if self.idle.len() < MAX_IDLE {
            self.idle.push(connection);
        }
    }
}
"#;

const POOL_PY: &str = r#""""The pool of database connections."""

import logging
import random
import time

from app import settings

POOL_SIZE = 5
log = logging.getLogger(__name__)


def connect(url=settings.DATABASE_URL):
    """Returns a pool.

    It opens POOL_SIZE connections at once.
    """
    log.info("opening %d connections", POOL_SIZE)
    return Pool(url, size=POOL_SIZE, timeout=3)


def retry_delay(
    attempt,
    base=0.5,
):
    """Returns how many seconds to wait before the next attempt."""
    return base * 2 ** attempt


class Pool:
    def __init__(self, url, size, timeout):
        self.url = url
        self.size = size
        self.timeout = timeout

    def query(self, text):
        for attempt in range(5):
            try:
                return self.send(text)
            except ConnectionError:
                time.sleep(retry_delay(attempt) + random.random())
        raise ConnectionError(self.url)
"#;

/// Two projects, each of one file.
const PROJECTS: [(&str, &str); 2] = [("src/keep.rs", KEEP_RS), ("app/pool.py", POOL_PY)];

/// Facts about them: the project, a short name, and the text.
const FACTS: [(usize, &str, &str); 4] = [
    (0, "idle", "Idle connections live 30 s: the proxy closes them after 40, see `IDLE_SECONDS`."),
    (
        0,
        "take",
        "`Keeper::take` gives out the connection used last, so that the others grow old and drop_old finds them.",
    ),
    (1, "size", "The database allows 20 connections and four workers share it, so `POOL_SIZE` is 5."),
    (1, "delay", "The wait before another attempt doubles each time, from half a second on: `retry_delay()`."),
];

/// A change of the code of a project.
#[derive(Clone, Copy)]
struct Change {
    /// The fact, by its name.
    fact: &'static str,
    what: &'static str,
    /// Whether a careful colleague would look at the fact again.
    is_decisive: bool,
    /// Where the file is afterwards, if it moved; empty if it is gone.
    to: Option<&'static str>,
    edit: fn(&str) -> String,
}

const fn change(fact: &'static str, what: &'static str, is_decisive: bool, edit: fn(&str) -> String) -> Change {
    Change { fact, what, is_decisive, to: None, edit }
}

const fn moved(to: &'static str, change: Change) -> Change {
    Change { to: Some(to), ..change }
}

/// The changes. What a colleague would say was written down before the program saw any of them.
const CHANGES: [Change; 20] = [
    // Rust.
    change("idle", "the constant has another value", true, |c| c.replace("u64 = 30", "u64 = 60")),
    change("idle", "the comment above it is reworded", false, |c| {
        c.replace("The proxy closes a connection after 40 seconds.", "IDLE_SECONDS is below the 40 s of the proxy.")
    }),
    change("idle", "the constant moves down", false, |c| {
        let line = "pub const IDLE_SECONDS: u64 = 30;\n";
        c.replace(line, "").replace("impl Keeper {", &format!("{line}\nimpl Keeper {{"))
    }),
    change("idle", "another constant changes", false, |c| c.replace("usize = 8", "usize = 16")),
    change("idle", "the constant gets another name", true, |c| c.replace("IDLE_SECONDS", "IDLE_LIMIT")),
    change("idle", "what it is used for changes", true, |c| {
        c.replace("from_secs(IDLE_SECONDS)", "from_secs(IDLE_SECONDS.min(20))")
    }),
    change("take", "the function does something else", true, |c| c.replace("idle.pop()", "idle.swap_remove(0)")),
    change("take", "the function gets a parameter", true, |c| {
        c.replace("take(&mut self, ", "take(&mut self, host: &str, ")
    }),
    moved("src/pool/keep.rs", change("idle", "the file moves", false, str::to_owned)),
    change("idle", "eight other methods are added", false, |c| {
        let rest = "    pub fn give_back(&mut self, connection: Connection) {\n";
        let method =
            |n: usize| format!("    pub fn kind_{n}(&self) -> usize {{\n        self.closed + {n}\n    }}\n\n");
        let methods: String = (0..8).map(method).collect();
        c.replace("    closed: usize,\n", "    closed: usize,\n    opened: usize,\n").replace(rest, &(methods + rest))
    }),
    // Python.
    change("size", "the constant has another value", true, |c| c.replace("POOL_SIZE = 5", "POOL_SIZE = 20")),
    change("size", "a docstring that names it is reworded", false, |c| {
        c.replace("It opens POOL_SIZE connections at once.", "All POOL_SIZE connections are opened at once.")
    }),
    change("size", "a formatter breaks a call into lines", false, |c| {
        c.replace(
            "Pool(url, size=POOL_SIZE, timeout=3)",
            "Pool(\n        url,\n        size=POOL_SIZE,\n        timeout=3,\n    )",
        )
    }),
    change("size", "the constant gets a comment in its line", false, |c| {
        c.replace("POOL_SIZE = 5", "POOL_SIZE = 5  # four workers share 20")
    }),
    change("delay", "a default in the signature changes", true, |c| c.replace("base=0.5", "base=2.0")),
    change("delay", "the function computes something else", true, |c| {
        c.replace("base * 2 ** attempt", "base * attempt")
    }),
    moved("", change("size", "the file is deleted", true, str::to_owned)),
    moved(
        "app/database/pool.py",
        change("size", "the file moves, and the value changes", true, |c| c.replace("POOL_SIZE = 5", "POOL_SIZE = 20")),
    ),
    change("size", "a log line that has it is reworded", false, |c| {
        c.replace("opening %d connections", "opening a pool of %d")
    }),
    change("delay", "imports are sorted", false, |c| {
        c.replace("import logging\nimport random\nimport time\n", "import time\nimport logging\nimport random\n")
    }),
];

/// A project in a repository of its own.
struct Project(TestBase);

impl Project {
    fn new() -> Project {
        let project = Project(TestBase::new());
        project.git(&["init", "--quiet", "--initial-branch", "main"], "");
        project
    }

    fn git(&self, arguments: &[&str], at: &str) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
        command.current_dir(self.0.root()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.0.home()).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_COMMITTER_DATE", at);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, at: &str) {
        self.git(&["add", "--all"], "");
        self.git(&["commit", "--quiet", "--message", "m"], at);
    }

    fn fact(&self, stem: &str, file: &str, text: &str) {
        let head = format!("title: \"The {stem}\"\ntags: [{stem}]\ncreated_at: \"2026-02-01\"\nfiles: [{file}]");
        self.0.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\n{text}\n"));
    }

    /// Gives a fact another date.
    fn date(&self, stem: &str, day: &str) {
        let path = format!(".ralph/knowledge/{stem}.md");
        self.0.write(&path, self.0.read(&path).replace("2026-02-01", day));
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.0.with(arguments).env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_NOSYSTEM", "1").run()
    }

    /// Returns what `check` says of facts: the names of the entries, and the messages.
    fn doubts(&self) -> Vec<(String, String)> {
        let checked = self.run(&["check", "--json"]).json(0);
        let problems = checked["problems"].as_array().unwrap().iter().filter(|problem| problem["code"] == "unverified");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let stem = |path: String| path.replace(".ralph/knowledge/", "").replace(".md", "");
        problems.map(|problem| (stem(text(&problem["path"])), text(&problem["message"]))).collect()
    }

    /// Writes two facts about the keeper, and commits them after the code.
    fn with_keeper() -> Project {
        let project = Project::new();
        project.0.write("src/keep.rs", KEEP_RS);
        project.commit("2026-01-20T00:00:00Z");
        for (_, stem, text) in &FACTS[..2] {
            project.fact(stem, "src/keep.rs", &format!("{text} About connections of the keeper."));
        }
        project.commit("2026-02-10T00:00:00Z");
        project
    }

    fn keep(&self, from: &str, to: &str) -> &Project {
        assert!(KEEP_RS.contains(from));
        self.0.write("src/keep.rs", KEEP_RS.replace(from, to));
        self
    }
}

/// The totals are those of the documentation.
#[test]
fn facts_are_doubted_where_a_line_with_their_names_changed() {
    let (mut missed, mut wrong) = (Vec::new(), Vec::new());
    for (of, (file, code)) in PROJECTS.into_iter().enumerate() {
        let project = Project::new();
        let facts = FACTS.iter().filter(|(project, ..)| *project == of);
        project.0.write(file, code);
        project.commit("2026-01-20T00:00:00Z");
        for (_, name, text) in facts.clone() {
            project.fact(name, file, text);
        }
        project.commit("2026-02-10T00:00:00Z");
        let known = |change: &&Change| facts.clone().any(|(_, name, _)| *name == change.fact);
        for change in CHANGES.iter().filter(known) {
            let new = (change.edit)(code);
            assert!(new != code || change.to.is_some(), "nothing changes: {}", change.what);
            fs::remove_file(project.0.at(file)).unwrap();
            let to = change.to.unwrap_or(file);
            if !to.is_empty() {
                project.0.write(to, &new);
            }
            project.commit("2026-03-01T00:00:00Z");
            let is_doubted = project.doubts().iter().any(|(name, _)| name == change.fact);
            match (is_doubted, change.is_decisive) {
                (false, true) => missed.push(change.what),
                (true, false) => wrong.push(change.what),
                _ => {}
            }
            project.git(&["reset", "--hard", "--quiet", "HEAD~"], "");
        }
    }
    // What changes is in another line than the name.
    assert_eq!(
        missed,
        [
            "the function does something else",
            "a default in the signature changes",
            "the function computes something else"
        ]
    );
    // A line that has the name says the same in other words.
    assert_eq!(
        wrong,
        [
            "a docstring that names it is reworded",
            "a formatter breaks a call into lines",
            "the constant gets a comment in its line",
            "a log line that has it is reworded"
        ]
    );
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/design/measurements.md");
    let documented = fs::read_to_string(page).unwrap();
    let n_right = CHANGES.iter().filter(|change| change.is_decisive).count() - missed.len();
    for (what, n) in [
        ("doubts that are right", n_right),
        ("changes that are missed", missed.len()),
        ("doubts that are wrong", wrong.len()),
    ] {
        let row = format!("| {what} | {n} |\n");
        assert!(documented.contains(&row), "the page lacks {row}");
    }
}

/// The message of a name that changed.
fn of_name(stem: &str, name: &str) -> (String, String) {
    (stem.to_owned(), format!("unverified: `{name}` in `src/keep.rs` changed after this was written"))
}

#[test]
fn a_doubted_entry_says_which_name_changed_and_keeps_its_place() {
    let project = Project::with_keeper();
    let context = || project.run(&["context", "--task", "connections of the keeper", "--json"]).json(0);
    let (before, first) = (context(), |context: &Value| ids(&context["entries"])[0].clone());
    let doubted = first(&before).replace("knowledge/", "");
    let (name, from, to) = match doubted.as_str() {
        "idle" => ("IDLE_SECONDS", "u64 = 30", "u64 = 60"),
        _ => ("take", "take(&mut self, ", "take(&mut self, host: &str, "),
    };
    project.keep(from, to);
    assert_eq!(project.doubts(), [], "it is not committed yet");
    project.commit("2026-03-01T00:00:00Z");
    assert_eq!(project.doubts(), [of_name(&doubted, name)]);
    let after = context();
    let said = format!("**unverified: `{name}` in `src/keep.rs` changed after this was written**");
    assert!(after["prompt"].as_str().unwrap().contains(&said), "{after}");
    assert_eq!(ids(&after["entries"]), ids(&before["entries"]));
    // Without git nothing is doubted.
    fs::remove_dir_all(project.0.at(".git")).unwrap();
    assert_eq!(project.doubts(), []);
}

#[test]
fn a_confirmed_entry_is_good_again_until_the_next_change() {
    let project = Project::with_keeper();
    project.keep("u64 = 30", "u64 = 60").commit("2026-03-01T00:00:00Z");
    // Another key says nothing about the fact.
    let fact = project.0.read(".ralph/knowledge/idle.md");
    project.0.write(".ralph/knowledge/idle.md", fact.replace("tags:", "aliases: [Patience]\ntags:"));
    project.commit("2026-03-02T00:00:00Z");
    assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
    project.0.with(["edit", "idle", "--confirm"]).now("2026-03-03T00:00:00Z").run().says(0, "updated");
    assert_eq!(project.doubts(), [], "not even before it is committed");
    project.commit("2026-03-04T00:00:00Z");
    assert_eq!(project.doubts(), []);
    project.keep("u64 = 30", "u64 = 90").commit("2026-03-05T00:00:00Z");
    assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
    // A new text, by any editor and with no new date, begins anew.
    project.0.write(".ralph/knowledge/idle.md", fact.replace("live 30 s", "live 90 s"));
    project.commit("2026-03-06T00:00:00Z");
    assert_eq!(project.doubts(), []);
}

#[test]
fn renames_are_followed_and_branches_count_by_what_they_merged() {
    let project = Project::with_keeper();
    // A branch that began before the facts were written, and ends after them.
    project.git(&["checkout", "--quiet", "-b", "other", "HEAD~"], "");
    project.keep("u64 = 30", "u64 = 60").commit("2026-02-05T00:00:00Z");
    project.git(&["checkout", "--quiet", "main"], "");
    for (day, (from, to)) in [("src/keep.rs", "src/kept.rs"), ("src/kept.rs", "lib/keep.rs")].into_iter().enumerate() {
        fs::create_dir_all(project.0.at("lib")).unwrap();
        project.git(&["mv", from, to], "");
        project.commit(&format!("2026-03-0{}T00:00:00Z", day + 1));
        assert_eq!(project.doubts(), []);
    }
    project.git(&["merge", "--quiet", "--no-edit", "other"], "2026-03-03T00:00:00Z");
    assert!(project.0.read("lib/keep.rs").contains("u64 = 60"));
    assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
    // Of a shallow clone, nobody knows which commit has the entry.
    let shallow = project.0.home().join("shallow");
    let url = format!("file://{}", project.0.root().display());
    project.git(&["clone", "--quiet", "--depth", "1", &url, shallow.to_str().unwrap()], "");
    let checked = project.0.with(["check", "--json"]).env("PATH", std::env::var_os("PATH").unwrap()).folder(&shallow);
    let codes = checked.run().json(0)["problems"].to_string();
    assert!(!codes.contains("changed after"), "{codes}");
}

/// Returns the lines that `check --diff` prints with these options.
fn diff(project: &Project, options: &[&str], code: i32) -> String {
    let ran = project.run(&[&["check", "--diff"], options].concat());
    assert_eq!(ran.code, Some(code), "{ran}");
    ran.stdout
}

#[test]
fn a_diff_names_the_facts_that_it_touches() {
    let project = Project::with_keeper();
    let line =
        ".ralph/knowledge/idle.md:5:8: the change touches `IDLE_SECONDS` in `src/keep.rs`, which this entry names\n";
    assert_eq!(diff(&project, &["--strict"], 0), "");
    // A comment and another line touch nothing.
    project.keep("after 40 seconds", "after 41 seconds").keep("usize = 8", "usize = 9");
    assert_eq!(diff(&project, &[], 0), "");
    project.keep("u64 = 30", "u64 = 60");
    assert_eq!(diff(&project, &[], 0), line);
    assert_eq!(diff(&project, &["--strict"], 1), line);
    // Staged, committed, and as a range of either kind.
    project.git(&["checkout", "--quiet", "-b", "topic"], "");
    project.git(&["add", "--all"], "");
    assert_eq!(diff(&project, &["--strict"], 1), line);
    project.commit("2026-03-01T00:00:00Z");
    assert_eq!(diff(&project, &[], 0), "");
    for range in ["main...HEAD", "main..", "main", "HEAD~"] {
        assert_eq!(diff(&project, &[range], 0), line, "{range}");
    }
    assert_eq!(diff(&project, &["HEAD..main"], 0), line, "back again");
    // What main did meanwhile is not of the topic.
    project.git(&["checkout", "--quiet", "main"], "");
    project.keep("take(&mut self, ", "take(&mut self, host: &str, ").commit("2026-03-02T00:00:00Z");
    project.git(&["checkout", "--quiet", "topic"], "");
    assert_eq!(diff(&project, &["main...HEAD"], 0), line);
    let both = diff(&project, &["main..HEAD"], 0);
    assert!(both.contains(line) && both.contains("the change touches `take`"), "{both}");
    // The other formats have the same.
    let json = project.run(&["check", "--diff", "main...", "--json"]).json(0);
    assert_eq!((&json["counts"]["warnings"], &json["problems"][0]["code"]), (&Value::from(1), &Value::from("touched")));
    let github = project.run(&["check", "--diff=main...", "--format", "github"]).stdout;
    assert!(github.starts_with("::warning file=.ralph/knowledge/idle.md,line=5,"), "{github}");
    // Whoever confirms the fact, or adds one, in the same change knew of it.
    project.run(&["edit", "idle", "--confirm"]).says(0, "updated");
    assert_eq!(diff(&project, &["main..."], 0), "");
    project.git(&["checkout", "--quiet", ".ralph"], "");
    project.0.write("src/keep.rs", KEEP_RS);
    project.fact("new", "src/keep.rs", "`IDLE_SECONDS` is 30 again.");
    project.date("new", "2026-03-02");
    assert_eq!(diff(&project, &[], 0), line);
    // A rename alone touches nothing; a file that goes touches what names it.
    project.git(&["checkout", "--quiet", "src"], "");
    project.git(&["mv", "src/keep.rs", "src/kept.rs"], "");
    assert_eq!(diff(&project, &[], 0), "");
    project.0.write("src/kept.rs", "fn other() {}\n");
    let gone = diff(&project, &[], 0);
    assert_eq!(gone.matches("the change removes `src/keep.rs`, which this entry names").count(), 2, "{gone}");
}

#[test]
fn a_large_file_hides_no_change_of_another() {
    let project = Project::with_keeper();
    let large = "1,2,3,4,5,6,7,8\n".repeat(600_000);
    project.0.write("data.csv", &large);
    project.fact("data", "data.csv", "The column `price_total` is a sum.");
    project.fact("bare", "data.csv", "It is large.");
    project.commit("2026-02-11T00:00:00Z");
    project.0.write("data.csv", large + "9\n");
    project.keep("u64 = 30", "u64 = 60").commit("2026-03-01T00:00:00Z");
    assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
    let said = diff(&project, &["HEAD~", "--strict"], 1);
    assert!(said.contains("touches `IDLE_SECONDS`"), "{said}");
    // Whether a file that is not read has its names, nobody knows.
    let unread = "the change of `data.csv`, which this entry names, could not be compared\n";
    assert!(said.contains(unread) && said.matches("data.csv").count() == 1, "{said}");
}

#[test]
fn a_gate_that_cannot_read_does_not_pass() {
    let project = Project::with_keeper();
    project.keep("u64 = 30", "u64 = 60").commit("2026-03-01T00:00:00Z");
    let bin = project.0.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    for (word, refused) in [("cat-file", "exit 1"), ("--batch", "exit 1"), ("--batch", "/bin/sleep 1.3")] {
        let git = format!("case \" $* \" in *' {word} '*) {refused};; esac\nPATH='{path}' exec git \"$@\"\n");
        write_program(&bin.join("git"), format!("#!/bin/sh\n{git}"));
        let ran = project.0.with(["check", "--diff", "HEAD~", "--strict"]).env("PATH", &bin).run();
        let expected = if refused == "exit 1" { "could not be compared" } else { "touches `IDLE_SECONDS`" };
        assert!(ran.code == Some(1) && ran.stdout.contains(expected), "{word} {refused} {ran}");
    }
}

#[test]
fn a_diff_follows_earlier_renames() {
    let project = Project::with_keeper();
    for (from, to) in [("src/keep.rs", "src/kept.rs"), ("src/kept.rs", "src/last.rs")] {
        project.git(&["mv", from, to], "");
        project.commit("2026-03-01T00:00:00Z");
    }
    project.0.write("src/last.rs", KEEP_RS.replace("u64 = 30", "u64 = 60"));
    let said = diff(&project, &["--strict"], 1);
    assert!(said.contains("touches `IDLE_SECONDS` in `src/last.rs`"), "{said}");
    project.commit("2026-03-02T00:00:00Z");
    assert_eq!(diff(&project, &["HEAD~..HEAD"], 0), said);
    // Without settings of the user.
    project.git(&["config", "diff.renameLimit", "1"], "");
    project.git(&["config", "diff.renames", "false"], "");
    assert_eq!(diff(&project, &["HEAD~..HEAD"], 0), said);
}

#[test]
fn a_restored_entry_is_as_old_as_its_text() {
    let project = Project::with_keeper();
    project.keep("u64 = 30", "u64 = 60").commit("2026-03-01T00:00:00Z");
    let fact = project.0.read(".ralph/knowledge/idle.md");
    fs::remove_file(project.0.at(".ralph/knowledge/idle.md")).unwrap();
    project.0.write(".ralph/archive/knowledge/idle.md", &fact);
    project.commit("2026-03-02T00:00:00Z");
    fs::remove_file(project.0.at(".ralph/archive/knowledge/idle.md")).unwrap();
    project.0.write(".ralph/knowledge/idle.md", &fact);
    project.commit("2026-03-03T00:00:00Z");
    assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
}

#[test]
fn a_text_of_a_merge_is_compared_by_its_names() {
    let project = Project::with_keeper();
    project.git(&["checkout", "--quiet", "-b", "other"], "");
    project.0.write("other", "");
    project.commit("2026-02-11T00:00:00Z");
    project.git(&["checkout", "--quiet", "main"], "");
    project.git(&["merge", "--quiet", "--no-ff", "--no-commit", "other"], "");
    let fact = project.0.read(".ralph/knowledge/idle.md");
    project.0.write(".ralph/knowledge/idle.md", fact.replace("after 40", "after forty"));
    project.commit("2026-02-12T00:00:00Z");
    project.keep("u64 = 30", "u64 = 60").commit("2026-03-01T00:00:00Z");
    assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
}

#[test]
fn a_file_without_the_names_of_a_fact_has_its_own_rule() {
    let project = Project::new();
    let lines = |from: usize| (from..from + 40).map(|line| line.to_string() + "\n").collect::<String>();
    project.0.write("src/moved.rs", lines(0)).write("src/half.rs", lines(0));
    project.fact("moved", "src/moved.rs", "It has lines.");
    project.fact("half", "src/half.rs", "`IDLE_SECONDS` is elsewhere.");
    project.commit("2026-02-10T00:00:00Z");
    assert_eq!(project.doubts(), [], "the commit of a fact is no change of its file");
    project.git(&["mv", "src/moved.rs", "src/there.rs"], "");
    project.0.write("src/half.rs", lines(20));
    assert_eq!(
        diff(&project, &[], 0),
        ".ralph/knowledge/half.md:5:8: the change rewrites `src/half.rs`, which this entry names\n"
    );
    project.commit("2026-03-01T00:00:00Z");
    let message = "unverified: `src/half.rs` changed much after this was written".to_owned();
    assert_eq!(project.doubts(), [("half".to_owned(), message)]);
}

#[test]
fn facts_that_git_ignores_are_touched_too() {
    let project = Project::new();
    project.0.write("src/keep.rs", KEEP_RS).write(".gitignore", "/.ralph/\n");
    project.commit("2026-02-10T00:00:00Z");
    project.fact("idle", "src/keep.rs", FACTS[0].2);
    assert_eq!(diff(&project, &[], 0), "");
    project.keep("u64 = 30", "u64 = 60");
    assert!(diff(&project, &[], 0).contains("touches `IDLE_SECONDS`"));
    // Whoever confirmed it after the commit knew of the change.
    project.0.with(["edit", "idle", "--confirm"]).now("2026-03-03T00:00:00Z").run().says(0, "updated");
    assert_eq!(diff(&project, &["--strict"], 0), "");
}

#[test]
fn a_range_that_git_does_not_know_is_an_error_and_no_option() {
    let project = Project::with_keeper();
    let trace = project.0.home().join("trace");
    let output = format!("--output={}", trace.display());
    for (range, name) in [
        ("nowhere", "nowhere"),
        ("main...nowhere", "nowhere"),
        (output.as_str(), output.as_str()),
        ("--all..main", "--all"),
        ("main..-h", "-h"),
        ("main:src/keep.rs", "main:src/keep.rs"),
    ] {
        let ran = project.run(&["check", &format!("--diff={range}")]);
        let said = format!("range: `{name}` is no commit that git knows");
        assert!(ran.code == Some(2) && ran.stderr.contains(&said), "{ran}");
        assert!(ran.stderr.contains("main...HEAD"), "a hint says what a range is: {ran}");
    }
    assert!(!trace.exists());
    project.git(&["checkout", "--quiet", "--orphan", "apart"], "");
    project.commit("2026-03-01T00:00:00Z");
    let ran = project.run(&["check", "--diff", "main...apart"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("`main...apart` have no common commit"), "{ran}");
    fs::remove_dir_all(project.0.at(".git")).unwrap();
    let ran = project.run(&["check", "--diff"]);
    assert!(ran.stderr.contains("`git diff` failed: the memory is not in a work tree"), "{ran}");
    // Before the first commit there is nothing to compare with.
    project.git(&["init", "--quiet"], "");
    let ran = project.run(&["check", "--diff"]);
    assert!(ran.stderr.contains("`HEAD` is no commit that git knows"), "{ran}");
}

#[test]
fn an_entry_that_git_does_not_know_is_as_old_as_its_date() {
    let project = Project::with_keeper();
    for (stem, day) in [("draft", "2026-02-09"), ("late", "2026-02-11")] {
        project.fact(stem, "src/keep.rs", "`MAX_IDLE` is 8.");
        project.date(stem, day);
    }
    project.keep("usize = 8", "usize = 9");
    let draft =
        ".ralph/knowledge/draft.md:5:8: the change touches `MAX_IDLE` in `src/keep.rs`, which this entry names\n";
    assert_eq!(diff(&project, &[], 0), draft);
    // What the change commits is new, however old it says that it is.
    project.commit("2026-03-01T00:00:00Z");
    assert_eq!(diff(&project, &["HEAD~..HEAD"], 0), "");
    assert_eq!(diff(&project, &["HEAD~"], 0), "");
}

#[test]
fn an_entry_with_another_name_title_or_tags_says_the_same() {
    let changes: [&[&[&str]]; 4] = [
        &[&["git", "mv", ".ralph/knowledge/idle.md", ".ralph/knowledge/rest.md"]],
        &[&["edit", "idle", "--title", "Rest"]],
        &[&["edit", "idle", "--tags", "rest"]],
        &[&["edit", "idle", "--title", "Nap"], &["edit", "nap", "--tags", "nap"], &["edit", "nap", "--title", "Rest"]],
    ];
    for commands in changes {
        let project = Project::with_keeper();
        let stem = if commands[0].contains(&"--tags") { "idle" } else { "rest" };
        for (day, command) in commands.iter().enumerate() {
            if command[0] == "git" {
                project.git(&command[1..], "");
            } else {
                project.run(command).says(0, "");
            }
            if day + 1 < commands.len() {
                project.commit(&format!("2026-03-0{}T00:00:00Z", day + 1));
            }
        }
        project.keep("u64 = 30", "u64 = 60");
        let is_touched = |options: &[&str]| {
            let said = diff(&project, options, 0);
            said.contains(&format!("{stem}.md")) && said.lines().count() == 1
        };
        assert!(is_touched(&[]), "{commands:?}");
        project.commit("2026-03-04T00:00:00Z");
        let range = format!("HEAD~{}", commands.len());
        assert!(is_touched(&[&range]) && is_touched(&[&format!("{range}..HEAD")]), "{commands:?}");
        assert_eq!(project.doubts(), [of_name(stem, "IDLE_SECONDS")], "{commands:?}");
        project.0.with(["edit", stem, "--confirm"]).now("2026-03-05T00:00:00Z").run().says(0, "updated");
        assert!(!is_touched(&[&range]), "{commands:?}");
        project.commit("2026-03-05T00:00:00Z");
        assert_eq!(project.doubts(), [], "{commands:?}");
    }
}

#[test]
fn a_file_that_becomes_a_link_is_gone() {
    let project = Project::with_keeper();
    fs::remove_file(project.0.at("src/keep.rs")).unwrap();
    std::os::unix::fs::symlink("elsewhere.rs", project.0.at("src/keep.rs")).unwrap();
    let said = diff(&project, &[], 0);
    assert_eq!(said.matches("the change removes `src/keep.rs`, which this entry names").count(), 2, "{said}");
    project.commit("2026-03-01T00:00:00Z");
    assert_eq!(diff(&project, &["HEAD~..HEAD"], 0), said);
    // A link has no names, so that of one nothing is known.
    assert_eq!(diff(&project, &["HEAD..HEAD~"], 0), "");
}

#[test]
fn a_file_is_the_same_however_an_entry_spells_it() {
    // The last sign is an e and an accent, which the entry writes as one.
    for (file, named) in [("src/keep.rs", "./src/keep.rs"), ("src/caf\u{65}\u{301}.rs", "src/caf\u{e9}.rs")] {
        let project = Project::new();
        project.0.write(file, KEEP_RS);
        project.fact("idle", named, FACTS[0].2);
        project.commit("2026-02-10T00:00:00Z");
        project.0.write(file, KEEP_RS.replace("u64 = 30", "u64 = 60"));
        assert!(diff(&project, &[], 0).contains("touches `IDLE_SECONDS`"), "{named}");
        project.commit("2026-03-01T00:00:00Z");
        assert!(diff(&project, &["HEAD~..HEAD"], 0).contains("touches `IDLE_SECONDS`"), "{named}");
        if named.is_ascii() {
            assert_eq!(project.doubts(), [of_name("idle", "IDLE_SECONDS")]);
        }
    }
}
