//! What somebody else committed to `.ralph/state/` and `.ralph/cache/` is not believed, and neither are times that
//! have not come yet.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::DateTime;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::program::files;
use crate::support::{Ran, TestBase, git};

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

/// Commits all of the project, ignored files too, and returns a fresh clone of it.
fn cloned(base: &TestBase) -> TestBase {
    let clone = TestBase::without_memory();
    git(base, &["init", "--quiet"]);
    git(base, &["add", "--all", "--force"]);
    git(base, &["commit", "--quiet", "--message", "m"]);
    fs::remove_dir(clone.root()).unwrap();
    git(base, &["clone", "--quiet", ".", clone.root().to_str().unwrap()]);
    clone
}

fn run(base: &TestBase, arguments: &[&str], input: &str) -> Ran {
    base.with(arguments).env("PATH", path()).env("GIT_CONFIG_NOSYSTEM", "1").input(input).run()
}

/// An iteration as the program keeps it, begun shortly before the time of every run.
fn iteration() -> Value {
    json!({
        "run_id": "run-1", "number": 1, "attempt": 1, "model": "opus", "rationale": "why", "rung": 0,
        "task": {
            "title": "A task", "description": "", "id": "t-1", "feature": null, "section": null, "files": []
        },
        "started_at": "2026-11-20T09:59:00Z", "entries": ["knowledge/a"], "left_out": [],
        "tree": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    })
}

const ITERATION: &str = ".ralph/state/attempts/run-1-0001.json";

/// Returns the content of an iteration's file as if it had been written here.
fn sealed(base: &TestBase, text: &str) -> String {
    let mut store = ralph_memory::internals::Store::open(&base.root()).unwrap();
    store.keep_key_in(vec![base.state_folder()]);
    let line = store.make_state_key().unwrap().line(text.as_bytes());
    format!("{text}{}", String::from_utf8(line).unwrap())
}

#[test]
fn a_tree_that_is_an_option_empties_no_file() {
    let base = TestBase::new();
    let target = base.home().join("precious");
    fs::write(&target, "kept").unwrap();
    let tree = json!(format!("--output={}", target.display()));
    base.write("src/a.rs", "a\n").write(ITERATION, with(iteration(), "tree", tree).to_string());
    let clone = cloned(&base);
    for arguments in [&["record"][..], &["record", "--run", "run-1"]] {
        let ran = run(&clone, arguments, "hi");
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept", "{ran}");
        ran.refuses(2, "cannot tell which task it is about");
    }
    let checked = run(&clone, &["check", "--json"], "").json(1);
    let codes: Vec<&str> =
        checked["problems"].as_array().unwrap().iter().map(|p| p["code"].as_str().unwrap()).collect();
    // What each `record` was given is kept.
    let expected = ["bad-attempt", "tracked-state", "not-recorded", "not-recorded"];
    assert_eq!(codes, expected, "{checked}");
}

/// Returns the iteration with something else at a path of keys.
fn with(mut value: Value, at: &str, new: Value) -> Value {
    *value.pointer_mut(&format!("/{at}")).unwrap() = new;
    value
}

#[test]
fn an_iteration_from_a_clone_is_never_resumed() {
    let base = TestBase::new();
    base.write(ITERATION, sealed(&base, &iteration().to_string()));
    let open = |base: &TestBase| base.memory().open_attempts().len();
    assert_eq!(open(&base), 1);
    let clone = cloned(&base);
    assert_eq!(open(&clone), 0);
    let ran = run(&clone, &["record", "--run", "run-1"], "hi");
    ran.refuses(2, "cannot tell which task it is about");
    let checked = run(&clone, &["check", "--json"], "").json(1);
    let tracked = |problem: &&Value| problem["code"].as_str().unwrap().starts_with("tracked-");
    let problem = checked["problems"].as_array().unwrap().iter().find(tracked).unwrap();
    assert_eq!(problem["severity"], "error", "{problem}");
    let fix = problem["hint"].as_str().unwrap();
    assert!(fix.contains("`git rm -r --cached --ignore-unmatch .ralph/cache .ralph/state`"), "{problem}");
    let problems = |clone: &TestBase| {
        let checked = run(clone, &["check", "--json"], "").json(1);
        let problems = checked["problems"].as_array().unwrap();
        problems
            .iter()
            // What `record` was given is kept.
            .filter(|problem| problem["severity"] != "notice" && problem["code"] != "not-recorded")
            .map(|problem| format!("{} {}", problem["path"], problem["code"]))
            .collect::<Vec<_>>()
    };
    let expected = [format!("\"{ITERATION}\" \"bad-attempt\""), format!("\"{ITERATION}\" \"tracked-state\"")];
    assert_eq!(problems(&clone), expected);
    // Iterations that begin here count, even if they are committed; those from a clone do not, whatever git says about
    // them.
    let memory = clone.memory();
    memory.begin(&ralph_memory::Task::new("Mine"), &ralph_memory::memory::Run::named("run-2")).unwrap();
    git(&clone, &["add", "--all", "--force"]);
    assert_eq!(open(&clone), 1);
    git(&clone, &["rm", "-r", "--quiet", "--cached", ".ralph/state"]);
    assert_eq!(open(&clone), 1);
    assert_eq!(problems(&clone), expected[..1]);
    fs::remove_dir_all(clone.at(".git")).unwrap();
    assert_eq!(open(&clone), 1);
}

#[test]
fn working_files_of_git_from_elsewhere_are_removed() {
    for begins in [true, false] {
        let base = TestBase::new();
        let planted = [".ralph/state/git/objects/info/alternates", ".ralph/state/git/index", ".ralph/state/git/x/y"];
        for path in planted {
            base.write(path, "/elsewhere\n");
        }
        let clone = cloned(&base);
        if begins {
            run(&clone, &["context", "--task", "A task"], "").says(0, "attempt 1 at ");
        } else {
            run(&clone, &["record", "--task-id", "t-1"], "hi").says(0, "recorded journal/");
        }
        for path in planted {
            assert!(!clone.at(path).exists(), "{path}");
        }
    }
}

/// Begins and records an attempt of the iteration's task.
#[track_caller]
fn works(base: &TestBase, case: &str) {
    let begun = base.run(["context", "--task", "A task", "--task-id", "t-1", "--run", "run-1"]);
    assert_eq!(begun.code, Some(0), "{case}: {begun}");
    let recorded = base.with(["record", "--run", "run-1", "--task-id", "t-1"]).input("hi").run();
    assert_eq!(recorded.code, Some(0), "{case}: {recorded}");
}

#[test]
fn foreign_files_in_the_state_folder_are_reported_and_not_trusted() {
    let refused = |name: &str, text: &str, what: &str| {
        let base = TestBase::new();
        let text = if text.len() < 1 << 20 { sealed(&base, text) } else { text.to_owned() };
        base.write(&format!(".ralph/state/attempts/{name}"), &text);
        let open = base.memory().open_attempts();
        assert_eq!(open, [], "{name} {text}");
        let checked = base.run(["check", "--json"]);
        let problems = checked.json(1)["problems"].clone();
        assert_eq!(problems[0]["code"], "bad-attempt", "{name}: {checked}");
        assert!(problems[0]["message"].as_str().unwrap().contains(what), "{name} {what}: {checked}");
        assert_eq!(problems.as_array().unwrap().len(), 1, "{checked}");
        // It does no harm.
        works(&base, &format!("{name} {text}"));
    };
    let long = "x".repeat(100_000);
    for (at, new, what) in [
        ("run_id", json!("../../x"), "`run_id`"),
        ("run_id", json!("run-2"), "its name"),
        ("number", json!(0), "`number`"),
        ("number", json!(2), "its name"),
        ("number", json!(10_000_000), "`number`"),
        ("task/id", json!("a b"), "`task.id`"),
        ("task/id", json!("../x"), "`task.id`"),
        ("task/title", json!(" "), "title"),
        ("task/title", json!("a\u{1b}[31mb"), "title"),
        ("task/title", json!(long), "title"),
        ("task/feature", json!("a\nb"), "feature"),
        ("task/files", json!(["a\u{0}"]), "files"),
        ("model", json!("--model\nx"), "model"),
        ("model", json!(long), "model"),
        ("rationale", json!("\u{9b}31m"), "rationale"),
        ("tree", json!("--output=/tmp/x"), "tree"),
        ("tree", json!("HEAD"), "tree"),
        ("tree", json!("4b825dc642cb6eb9a060e54bf8d69288fbee490"), "tree"),
        ("tree", json!("4B825DC642CB6EB9A060E54BF8D69288FBEE4904"), "tree"),
        ("entries", json!(["../x"]), "entries"),
        ("entries", json!(["knowledge/a\u{1b}"]), "entries"),
        ("left_out", json!(["config.toml"]), "left_out"),
        ("started_at", json!("yesterday"), "column"),
        ("attempt", json!(-1), "column"),
    ] {
        refused("run-1-0001.json", &with(iteration(), at, new).to_string(), what);
    }
    let mut held = iteration();
    held["holder"] = json!({"pid": 0, "started": 1});
    refused("run-1-0001.json", &held.to_string(), "holder");
    refused("run-1-1.json", &iteration().to_string(), "its name");
    refused("run-1-0001.json", "", "line 1, column 0");
    refused("run-1-0001.json", "[1]", "line 1, column");
    refused("run-1-0001.json", &" ".repeat(2 << 20), "2097152 bytes");
}

#[test]
fn texts_of_a_task_are_kept_in_a_readable_form() {
    let base = TestBase::new();
    let title = format!("A task \u{1b}[31m {}", "long ".repeat(5_000));
    let description = "More.\n".repeat(200_000);
    let arguments = ["context", "--task", &title, "--task-id", "t-1", "--feature", "a\tb"];
    base.write("task.json", json!({}).to_string());
    let memory = base.memory();
    let task = ralph_memory::Task {
        description,
        id: Some("t-2".to_owned()),
        files: (0..5_000).map(|number| format!("src/{number}")).collect(),
        ..ralph_memory::Task::new(title.clone())
    };
    let begun = memory.begin(&task, &ralph_memory::memory::Run::named("run-2")).unwrap();
    base.run(arguments).says(0, "attempt 1 at t-1");
    let open = memory.open_attempts();
    assert_eq!(
        open.iter().map(|open| (open.task_id(), open.number)).collect::<Vec<_>>(),
        [("t-2".into(), begun.number)]
    );
    // The only context that is noted says which task it is.
    let recorded = base.with(["record", "--json"]).input("hi").run().json(0);
    assert_eq!((&recorded["attempt"]["task_id"], &recorded["attempt"]["feature"]), (&json!("t-1"), &json!("a b")));
}

/// A memory whose index is worth having: so many entries that a search makes one.
fn indexed(word: &str) -> TestBase {
    let base = TestBase::new();
    fill(&base, word);
    base.run(["index"]).says(0, "the index has ");
    base
}

fn fill(base: &TestBase, word: &str) {
    for number in 0..40 {
        let one = if number == 7 { word } else { "nightly" };
        base.entry(&format!("e{number}"), &format!("Entry {number}"), "x", &format!("It is about the {one}."));
    }
}

/// Replaces a file with another one, as git does.
fn put(path: &Path, bytes: &[u8]) {
    let beside = path.with_file_name("beside");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&beside, bytes).unwrap();
    fs::rename(beside, path).unwrap();
}

fn copy_cache(from: &TestBase, to: &TestBase) {
    let cache = from.at(".ralph/cache");
    for file in files(&cache) {
        put(&to.at(".ralph/cache").join(file.strip_prefix(&cache).unwrap()), &fs::read(&file).unwrap());
    }
}

/// Makes a cache that was made from other words say that it was made from these files: the fingerprint of the entry
/// is exchanged, and the checksum of the catalog recomputed.
fn forge(foreign: &TestBase, own: &TestBase) {
    let hash = |base: &TestBase| xxh3_64(base.read(".ralph/knowledge/e7.md").as_bytes()).to_le_bytes();
    let (old, new) = (hash(foreign), hash(own));
    for path in files(&foreign.at(".ralph/cache")) {
        if !path.file_name().unwrap().to_str().unwrap().starts_with("manifest-") {
            continue;
        }
        let mut bytes = fs::read(&path).unwrap();
        while let Some(at) = bytes.windows(8).position(|window| window == old) {
            bytes[at..at + 8].copy_from_slice(&new);
        }
        let sum = xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
        fs::write(path, bytes).unwrap();
    }
}

#[track_caller]
fn found(base: &TestBase, word: &str) -> Vec<String> {
    let ran = run(base, &["search", word, "--json"], "");
    assert!(ran.stderr.is_empty(), "{ran}");
    let answer = ran.json(ran.code.unwrap());
    crate::support::ids(&answer["entries"])
}

#[test]
fn an_entry_is_found_by_its_own_words_despite_a_cloned_cache() {
    let (own, foreign) = (TestBase::new(), indexed("marmots"));
    fill(&own, "walrus");
    // Of the same length, so that only its bytes differ.
    foreign.entry("e7", "Entry 7", "x", "It is about the marmot.");
    foreign.run(["index", "--rebuild"]).says(0, "the index has ");
    forge(&foreign, &own);
    copy_cache(&foreign, &own);
    let clone = cloned(&own);
    let check = |base: &TestBase| {
        assert_eq!(found(base, "walrus"), ["knowledge/e7"]);
        assert_eq!(found(base, "marmot"), Vec::<String>::new());
    };
    check(&clone);
    run(&clone, &["index"], "").says(0, "the index has ");
    check(&clone);
    run(&clone, &["add", "More", "--tags", "y", "--body", "Nothing."], "").says(0, "created knowledge/more");
    check(&clone);
    // A pull that puts it over a cache that was made here.
    for only in ["manifest-", "heads-", ".json", ".term", ".idx", ".store", ".fieldnorm", ".pos", "seal", ""] {
        let good = files(&clone.at(".ralph/cache"));
        copy_some(&foreign, &clone, only);
        check(&clone);
        assert!(good.len() > 8, "{only} {good:?}");
        run(&clone, &["index"], "").says(0, "the index has ");
        check(&clone);
    }
}

/// Puts files of one cache whose names have this in them into the places of the other's.
fn copy_some(from: &TestBase, to: &TestBase, only: &str) {
    let key = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let kind = name.split(['.', '-']).next_back().filter(|_| name.contains('.')).unwrap_or(&name).to_owned();
        (path.parent().unwrap().file_name().unwrap().to_owned(), kind)
    };
    let sources = files(&from.at(".ralph/cache"));
    for target in files(&to.at(".ralph/cache")) {
        let name = target.file_name().unwrap().to_str().unwrap();
        let is_lock = name == "lock" || name == "anchor";
        let source =
            sources.iter().find(|source| key(source) == key(&target) || source.file_name() == target.file_name());
        if let Some(source) = source.filter(|_| name.contains(only) && !is_lock) {
            put(&target, &fs::read(source).unwrap());
        }
    }
}

#[test]
fn a_copied_or_moved_project_rebuilds_its_cache_silently() {
    let base = indexed("walrus");
    assert_eq!(found(&base, "walrus"), ["knowledge/e7"]);
    let copy = cloned_without_git(&base);
    assert_eq!(found(&copy, "walrus"), ["knowledge/e7"]);
    let indexes = |base: &TestBase| {
        let ran = run(base, &["check", "--json"], "");
        let checked = ran.json(ran.code.unwrap());
        let mut all = ["ok", "problems"].into_iter().flat_map(|key| checked[key].as_array().unwrap());
        all.find(|finding| finding["code"] == "index").unwrap()["message"].as_str().unwrap().to_owned()
    };
    assert!(indexes(&copy).starts_with("live: commit "), "{}", indexes(&copy));
    let moved = TestBase::without_memory();
    fs::remove_dir(moved.root()).unwrap();
    fs::rename(base.root(), moved.root()).unwrap();
    assert_eq!(found(&moved, "walrus"), ["knowledge/e7"]);
    assert!(indexes(&moved).starts_with("live: commit "), "{}", indexes(&moved));
}

/// Returns a copy of a project, with all that is in its cache.
fn cloned_without_git(base: &TestBase) -> TestBase {
    let copy = TestBase::without_memory();
    for file in files(&base.root()) {
        put(&copy.at(file.strip_prefix(base.root()).unwrap().to_str().unwrap()), &fs::read(&file).unwrap());
    }
    copy
}

/// How many bytes a run reads: the shell counts those of its children, once they have ended.
#[cfg(target_os = "linux")]
fn bytes_read(base: &TestBase, arguments: &[&str]) -> (Option<i32>, u64) {
    let script = "\"$@\" >/dev/null; code=$?; while read -r line; do echo \"$line\"; done </proc/$$/io; exit $code";
    let run = base.with(arguments).env("PATH", path());
    let command = run.command();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args()).current_dir(base.root());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = shell.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let read = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap_or_else(|| panic!("{text}"));
    (output.status.code(), read.parse().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn huge_files_in_the_cache_are_not_read() {
    const SIZE: u64 = 3 << 30;
    let good = indexed("walrus");
    let mut paths: Vec<PathBuf> = files(&good.at(".ralph/cache"));
    paths.retain(|path| !path.ends_with("lock") && !path.to_str().unwrap().contains("/archive/"));
    let index = paths.iter().find(|path| path.ends_with("meta.json")).unwrap().parent().unwrap().to_owned();
    paths.push(index.join("seal"));
    assert!(paths.iter().any(|path| path.ends_with(".managed.json")) && paths.len() > 9, "{paths:?}");
    for path in paths {
        let base = cloned_without_git(&good);
        let path = base.at(path.strip_prefix(good.root()).unwrap().to_str().unwrap());
        for keeps in [true, false] {
            let mut options = File::options();
            let file = options.write(true).create(true).truncate(!keeps).open(&path).unwrap();
            file.set_len(SIZE).unwrap();
            for command in [&["search", "walrus"][..], &["index"], &["check"]] {
                let (code, read) = bytes_read(&base, command);
                assert!(code.is_some_and(|code| code < 2), "{command:?}: {code:?} {}", path.display());
                assert!(read < 32 << 20, "{command:?} read {read} bytes of {}", path.display());
            }
            assert_eq!(found(&base, "walrus"), ["knowledge/e7"], "{}", path.display());
            // A manifest may be swept away; all others are there for the next round.
        }
    }
}

/// Writes an attempt into the journal.
fn attempt(base: &TestBase, run: &str, number: u32, started_at: &str, task: &str, outcome: &str) {
    let head = format!(
        "run_id: \"{run}\"\ntask_id: \"{task}\"\ntask_title: \"Task {task}\"\niteration: {number}\noutcome: {outcome}\n\
         started_at: \"{started_at}\"\nsource: agent"
    );
    base.write(&format!(".ralph/journal/{run}/{number:04}.md"), format!("---\n{head}\n---\n\nNotes.\n"));
}

#[test]
fn a_run_from_the_future_is_not_joined() {
    let base = TestBase::new();
    attempt(&base, "run-future", 1, "2099-01-01T00:00:00Z", "t-evil", "failed");
    // This one came with a merge, and goes on where it began.
    attempt(&base, "run-merged", 1, "2026-11-20T09:40:00Z", "t-1", "failed");
    let mine = ["record", "--task", "Mine", "--task-id", "t-1", "--run", "run-mine", "--outcome", "failed"];
    base.with(mine).now("2026-11-20T09:30:00Z").run().answer(0);
    // It says that it lasts for decades.
    attempt(&base, "run-long", 1, "2026-11-20T09:20:00Z", "t-2", "failed");
    let long = base.read(".ralph/journal/run-long/0001.md").replace("source:", "duration_secs: 900000000\nsource:");
    base.write(".ralph/journal/run-long/0001.md", long);
    let now = DateTime::parse_from_rfc3339("2026-11-20T10:00:00Z").unwrap();
    let memory = base.memory().with_clock(move || now.into());
    assert_eq!(memory.recent_run().as_deref(), Some("run-mine"));
    assert_eq!(memory.newest_run().as_deref(), Some("run-merged"), "`--resume` takes any");
    fs::remove_dir_all(base.at(".ralph/journal/run-merged")).unwrap();
    base.run(["context", "--task", "Another"]).says(0, "**Iteration:** 2 of unlimited");
    for arguments in [&["record", "--task-id", "t-9", "--json"][..], &["record", "--json"]] {
        let recorded = base.with(arguments).input("hi").run().json(0);
        assert!(recorded["attempt"]["id"].as_str().unwrap().starts_with("journal/run-mine/"), "{recorded}");
    }
    let resumed = base.run(["run", "--resume", "--agent", "true", "--max-iterations", "1", "--json"]);
    assert!(resumed.stdout.contains("\"run-mine\"") && !resumed.stdout.contains("run-future"), "{resumed}");
    // Until one is begun here, nothing is active: the journal alone speaks of the future.
    for run in ["run-mine", "run-long"] {
        fs::remove_dir_all(base.at(&format!(".ralph/journal/{run}"))).unwrap();
    }
    assert_eq!((memory.recent_run(), memory.newest_run()), (None, None));
    let checked = base.run(["check", "--json"]).json(0);
    let problem = &checked["problems"][0];
    assert_eq!((&problem["code"], &problem["severity"]), (&json!("from-the-future"), &json!("warning")), "{checked}");
    assert_eq!((&problem["path"], &problem["line"]), (&json!(".ralph/journal/run-future/0001.md"), &json!(7)));
}

#[test]
fn an_attempt_from_the_future_does_not_stay_the_last_one() {
    let base = TestBase::new();
    attempt(&base, "run-future", 1, "2099-01-01T00:00:00Z", "t-1", "done");
    for number in 1..=4 {
        attempt(&base, "run-mine", number, &format!("2026-11-20T09:0{number}:00Z"), "t-1", "failed");
    }
    let context = base.run(["context", "--task", "Task t-1", "--task-id", "t-1", "--run", "run-mine"]);
    assert_eq!(context.code, Some(0));
    assert!(context.stdout.contains("attempt #6, 4 consecutive failure(s)"), "{context}");
    let memory = base.memory();
    let now = DateTime::parse_from_rfc3339("2026-11-20T10:00:00Z").unwrap();
    let memory = memory.with_clock(move || now.into());
    let newest = memory.recent_iterations(None, 1);
    assert_eq!((newest.items[0].attempt.run_id.as_str(), newest.in_all), ("run-mine", 5));
}

#[test]
fn the_highest_number_of_all_does_not_end_a_run() {
    let base = TestBase::new();
    attempt(&base, "run-1", 3, "2026-11-20T09:00:00Z", "t-1", "failed");
    attempt(&base, "run-1", 9_999_999, "2026-11-20T09:01:00Z", "t-1", "failed");
    attempt(&base, "run-1", 9_999_998, "2026-11-20T09:02:00Z", "t-1", "failed");
    let context = ["context", "--task", "Task t-1", "--task-id", "t-1", "--run", "run-1"];
    base.run(context).says(0, "**Iteration:** 4 of unlimited");
    let recorded = base.with(["record", "--run", "run-1", "--task-id", "t-1"]).input("hi").run().answer(0);
    assert!(recorded.starts_with("recorded journal/run-1/0004 "), "{recorded}");
    let recorded = base.with(["record", "--run", "run-1", "--task-id", "t-2"]).input("hi").run().answer(0);
    assert!(recorded.starts_with("recorded journal/run-1/0005 "), "{recorded}");
    let resumed = base.run(["run", "--resume", "--agent", "true", "--max-iterations", "1"]);
    assert!(base.at(".ralph/journal/run-1/0006.md").exists(), "{resumed}");
}

#[test]
fn knowledge_from_the_future_is_not_the_newest() {
    let base = TestBase::new();
    base.entry("old", "Walrus one", "x", "It is about the walrus.");
    base.entry("evil", "Walrus two", "x", "It is about the walrus.");
    let evil = base.read(".ralph/knowledge/evil.md").replace("2026-02-17", "2099-02-17");
    base.write(".ralph/knowledge/evil.md", evil);
    assert_eq!(found(&base, "walrus"), ["knowledge/old", "knowledge/evil"]);
    let checked = base.run(["check", "--json"]).json(0);
    let problems = checked["problems"].as_array().unwrap();
    let future = problems.iter().find(|problem| problem["code"] == "from-the-future").unwrap();
    assert_eq!((&future["path"], &future["line"]), (&json!(".ralph/knowledge/evil.md"), &json!(4)), "{checked}");
}
