//! The events of `watch` and `Memory::watch`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use ralph_memory::Knowledge;
use ralph_memory::memory::{FileChanges, WatchEvent, WatchMode};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::TestBase;

/// Longer than anything takes, on however busy a machine.
const LONGEST: Duration = Duration::from_secs(60);

/// The running command; killed if a test fails.
struct Command {
    child: Child,
    lines: Receiver<String>,
}

impl Command {
    fn start(base: &TestBase, arguments: &[&str]) -> Command {
        let mut command = base.with(["watch"].iter().chain(arguments)).command();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let out: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in out {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines() {
                    let _ = sender.send(line.unwrap());
                }
            });
        }
        Command { child, lines }
    }

    #[track_caller]
    fn line(&self) -> String {
        self.lines.recv_timeout(LONGEST).expect("a line")
    }

    #[track_caller]
    fn json(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_command_prints_what_it_indexed() {
    let base = TestBase::new();
    base.entry("a", "Alpha", "x", "one");
    let mut command = Command::start(&base, &["--json"]);
    let ready = command.json();
    assert_eq!(
        (&ready["event"], &ready["entry_count"], &ready["polling"]),
        (&"ready".into(), &1.into(), &false.into())
    );
    assert_eq!(ready["schema_version"], 1);

    base.entry("b", "Beta", "x", "two");
    let changed = command.json();
    assert_eq!((&changed["event"], &changed["entry_count"]), (&"changed".into(), &2.into()));
    assert_eq!(
        (&changed["indexed"], &changed["removed"]),
        (&vec![".ralph/knowledge/b.md"].into(), &Vec::<String>::new().into())
    );
    // It is in the index, not only reported.
    let checked = base.run(["check"]).stdout;
    assert!(checked.contains("2 documents for 2 entries, 0 not indexed yet"), "{checked}");

    // In a folder that appeared with it, with its problems; and removed files.
    base.write(".ralph/knowledge/team/new/c.md", "---\ntitle: never closed\n");
    fs::remove_file(base.at(".ralph/knowledge/a.md")).unwrap();
    let (mut indexed, mut removed, mut problems) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    while indexed.is_empty() || removed.is_empty() {
        let changed = command.json();
        indexed.extend(changed["indexed"].as_array().unwrap().iter().map(ToString::to_string));
        removed.extend(changed["removed"].as_array().unwrap().iter().map(ToString::to_string));
        problems.extend(changed["problems"].as_array().unwrap().iter().map(|problem| problem["code"].to_string()));
    }
    assert_eq!(indexed, BTreeSet::from(["\".ralph/knowledge/team/new/c.md\"".to_owned()]));
    assert_eq!(removed, BTreeSet::from(["\".ralph/knowledge/a.md\"".to_owned()]));
    assert_eq!(problems, BTreeSet::from(["\"frontmatter-unclosed\"".to_owned()]));

    kill_process(Pid::from_child(&command.child), Signal::INT).unwrap();
    assert_eq!(command.child.wait().unwrap().code(), Some(130));
}

#[test]
fn printed_lines_contain_no_control_characters() {
    let base = TestBase::new();
    let command = Command::start(&base, &["--poll"]);
    assert_eq!(command.line(), "watching 0 entries in 2 folders, by checking every second; Ctrl-C ends it");
    base.entry("a\u{1b}]52;c;x\u{7}\u{202e}", "Alpha", "x", "one");
    let shown = ".ralph/knowledge/a\\u{1b}]52;c;x\\u{7}\\u{202e}.md";
    let warning = "the file name has an invisible character: U+202E";
    // One of them comes by another pipe.
    let told: BTreeSet<String> = (0..3).map(|_| command.line()).collect();
    let expected =
        [format!("warning: {shown}: {warning}"), "hint: rename the file".into(), format!("indexed  {shown}")];
    assert_eq!(told, BTreeSet::from(expected));
    // The next commands read nothing again.
    assert!(base.run(["search", "one"]).stdout.contains("Alpha"));
}

#[test]
fn watch_ends_when_its_output_is_closed() {
    let base = TestBase::new();
    let mut command = base.with(["watch", "--json"]).command();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 1];
    stdout.read_exact(&mut first).unwrap();
    drop(stdout);
    base.entry("a", "Alpha", "x", "one");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn watch_requires_a_memory() {
    let base = TestBase::without_memory();
    base.run(["watch"]).refuses(3, "no memory in ");
}

fn changes(told: &Receiver<WatchEvent>) -> FileChanges {
    loop {
        match told.recv_timeout(LONGEST).expect("a change") {
            WatchEvent::Changed(changes) => return changes,
            WatchEvent::Ready { .. } | WatchEvent::Notice { .. } => {}
        }
    }
}

/// Collects events until the known files are these.
#[track_caller]
fn until(told: &Receiver<WatchEvent>, view: &mut BTreeSet<String>, expected: &BTreeSet<String>) {
    while view != expected {
        let changes = changes(told);
        view.extend(changes.indexed);
        view.retain(|path| !changes.removed.contains(path));
        assert_eq!(changes.entries, view.len());
    }
}

fn files(base: &TestBase) -> BTreeSet<String> {
    ["knowledge", "journal", "archive"]
        .iter()
        .filter(|folder| base.at(&format!(".ralph/{folder}")).exists())
        .flat_map(|folder| base.files(&format!(".ralph/{folder}")))
        .collect()
}

#[test]
fn a_channel_reports_to_callers_of_the_library() {
    for mode in [WatchMode::Native, WatchMode::Poll] {
        let base = TestBase::new();
        let memory = Arc::new(base.memory());
        let watching = memory.watch(mode).unwrap();
        let ready = watching.events().recv_timeout(LONGEST).unwrap();
        assert_eq!(ready, WatchEvent::Ready { entries: 0, folders: 2, polling: mode == WatchMode::Poll });
        let mut view = BTreeSet::new();
        // Writes of the caller itself are reported as well.
        memory.add(&Knowledge::new("Own", ["x"], "own")).unwrap();
        until(watching.events(), &mut view, &files(&base));
        assert_eq!(view, BTreeSet::from([".ralph/knowledge/own.md".to_owned()]));
        // A folder is renamed, created again under its name, moved out, and all of it removed and restored.
        for number in 0..3 {
            base.entry(&format!("team/n{number}"), &format!("N{number}"), "x", "n");
        }
        until(watching.events(), &mut view, &files(&base));
        fs::rename(base.at(".ralph/knowledge/team"), base.at(".ralph/knowledge/crew")).unwrap();
        base.entry("team/fresh", "Fresh", "x", "n");
        until(watching.events(), &mut view, &files(&base));
        base.entry("crew/later", "Later", "x", "n");
        base.entry("team/later", "Later too", "x", "n");
        until(watching.events(), &mut view, &files(&base));
        fs::rename(base.at(".ralph"), base.at("aside")).unwrap();
        until(watching.events(), &mut view, &BTreeSet::new());
        fs::rename(base.at("aside"), base.at(".ralph")).unwrap();
        until(watching.events(), &mut view, &files(&base));
        base.entry("crew/last", "Last", "x", "n");
        until(watching.events(), &mut view, &files(&base));
        drop(watching);
    }
}

#[test]
fn reading_is_not_a_change() {
    let base = TestBase::new();
    base.entry("a", "Alpha", "x", "one");
    let memory = Arc::new(base.memory());
    let watching = memory.watch(WatchMode::Native).unwrap();
    assert!(matches!(watching.events().recv_timeout(LONGEST).unwrap(), WatchEvent::Ready { entries: 1, .. }));
    for arguments in [["search", "one"].as_slice(), &["show", "a"], &["list"], &["check"], &["--quiet"]] {
        let _ = base.run(arguments).answer(0);
    }
    // Equal bytes are not a change either.
    base.entry("a", "Alpha", "x", "one");
    base.entry("b", "Beta", "x", "two");
    assert_eq!(changes(watching.events()).indexed, [".ralph/knowledge/b.md"]);
}

/// No event is received for as long as it lasts; then all of them arrive, combined.
#[test]
fn a_stalled_receiver_misses_nothing() {
    let base = TestBase::new();
    let memory = Arc::new(base.memory());
    let watching = memory.watch(WatchMode::Native).unwrap();
    let other = memory.watch(WatchMode::Native).unwrap();
    for watching in [&watching, &other] {
        assert!(matches!(watching.events().recv_timeout(LONGEST).unwrap(), WatchEvent::Ready { entries: 0, .. }));
    }
    let mut seen = BTreeSet::new();
    for number in 0..15 {
        // Another watcher says when each has been seen, so that they cannot be put together by chance.
        base.entry(&format!("n{number}"), &format!("N{number}"), "x", "n");
        until(other.events(), &mut seen, &files(&base));
    }
    fs::remove_file(base.at(".ralph/knowledge/n0.md")).unwrap();
    let mut view = BTreeSet::new();
    until(watching.events(), &mut view, &files(&base));
    assert_eq!(view.len(), 14);
}

#[test]
fn an_unwritable_cache_is_reported_once_and_changes_still_are() {
    let base = TestBase::new();
    base.entry("a", "Alpha", "x", "one");
    // A file is in its place.
    base.write(".ralph/cache", "no folder");
    let memory = Arc::new(base.memory());
    let watching = memory.watch(WatchMode::Native).unwrap();
    assert!(matches!(watching.events().recv_timeout(LONGEST).unwrap(), WatchEvent::Ready { entries: 1, .. }));
    let mut told = Vec::new();
    for number in 0..2 {
        base.entry(&format!("b{number}"), "Beta", "x", "two");
        loop {
            let watched = watching.events().recv_timeout(LONGEST).unwrap();
            let is_it = matches!(&watched, WatchEvent::Changed(changes) if changes.indexed.contains(&format!(".ralph/knowledge/b{number}.md")));
            told.push(watched);
            if is_it {
                break;
            }
        }
    }
    let notices: Vec<&WatchEvent> =
        told.iter().filter(|watched| matches!(watched, WatchEvent::Notice { .. })).collect();
    assert_eq!(
        notices,
        [&WatchEvent::Notice { message: "the index is not kept up to date: the cache cannot be written".to_owned() }]
    );
}
