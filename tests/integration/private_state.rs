//! What a memory keeps for itself: nobody else reads it, holds it or writes it, and no secret is shown of it.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::UNIX_EPOCH;

use ralph_memory::Task;
use ralph_memory::memory::Run;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::support::{PROGRAM, Ran, TestBase, git};

/// A token of no account.
const TOKEN: &str = concat!("ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");

fn run(base: &TestBase, arguments: &[&str]) -> Ran {
    base.with([&["run"], arguments].concat()).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Returns the files below a folder that another user could read or open.
fn open_to_others(base: &TestBase, folder: &str) -> Vec<String> {
    let files = base.files(folder).into_iter().filter(|file| !file.starts_with(".ralph/state/git/"));
    files
        .filter(|file| mode(&base.at(file)) != 0o600)
        .map(|file| format!("{file} {:o}", mode(&base.at(&file))))
        .collect()
}

/// Begins an iteration of this run, which this process works on.
fn begin(base: &TestBase, run: &str) {
    base.memory().begin(&Task::new("Mine"), &Run::named(run)).unwrap();
}

/// An archive, a clone or another file system can have any inode number and any birth time.
#[test]
fn who_knows_all_about_the_files_cannot_seal_one() {
    let base = TestBase::new();
    run(&base, &["--task", "x", "--agent", "true", "--max-iterations", "1"]).says(1, "--max-iterations N");
    let evil = base.home().join("evil");
    let kept = base.read(".ralph/state/run.json");
    let text = kept.trim_end().rsplit_once('\n').unwrap().0;
    let forged = text.replace("\"true\"", &format!("\"touch {}\"", evil.display()));
    assert_ne!(text, forged);
    let lock = fs::metadata(base.at(".ralph/state/lock")).unwrap();
    let born = lock.created().map_or(0, |born| born.duration_since(UNIX_EPOCH).unwrap().as_nanos());
    for born in [born, 0] {
        let key = xxh3_64(format!("{} {born}", lock.ino()).as_bytes());
        base.write(".ralph/state/run.json", format!("{forged}\n{:016x}\n", xxh3_64_with_seed(forged.as_bytes(), key)));
        let ran = run(&base, &["--resume"]);
        assert!(!evil.exists(), "{ran}");
        ran.refuses(2, "no agent is named");
    }
    base.write(".ralph/state/run.json", kept);
    run(&base, &["--resume", "--max-iterations", "1"]).says(1, "--max-iterations N");
}

/// The person's own files: of another folder, and from before a key was lost.
#[test]
fn what_was_written_elsewhere_or_with_another_key_is_not_believed() {
    let base = TestBase::new();
    let key = base.state_folder().join("key");
    run(&base, &["--task", "x", "--agent", "true", "--max-iterations", "1"]).says(1, "--max-iterations N");
    assert_eq!((fs::read(&key).unwrap().len(), mode(&key), mode(key.parent().unwrap())), (32, 0o600, 0o700));
    begin(&base, "run-2");
    let status = |base: &TestBase| base.run([""; 0]).stdout;
    assert!(status(&base).contains("run-2/1"), "{}", status(&base));

    let copy = TestBase::without_memory();
    fs::remove_dir(copy.root()).unwrap();
    assert!(std::process::Command::new("cp").args(["-a"]).args([base.root(), copy.root()]).status().unwrap().success());
    fs::create_dir_all(copy.state_folder()).unwrap();
    fs::copy(&key, copy.state_folder().join("key")).unwrap();
    run(&copy, &["--resume"]).refuses(2, "no agent is named");
    assert!(!status(&copy).contains("run-2/1"));

    fs::remove_file(&key).unwrap();
    run(&base, &["--resume"]).refuses(2, "no agent is named");
    assert!(!status(&base).contains("run-2/1"));
    let checked = base.run(["check", "--json"]).json(1);
    assert_eq!(checked["problems"][0]["code"], "bad-attempt", "{checked}");
    assert!(!key.exists(), "reading writes nothing");
}

#[test]
fn a_key_that_others_could_know_is_replaced() {
    type Spoil = fn(&Path);
    let spoil: [(&str, Spoil); 6] = [
        ("readable for others", |key| fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap()),
        ("short", |key| fs::write(key, [7; 31]).unwrap()),
        ("long", |key| fs::write(key, [7; 33]).unwrap()),
        ("link", |key| {
            fs::rename(key, key.with_extension("old")).unwrap();
            symlink(key.with_extension("old"), key).unwrap();
        }),
        ("pipe", |key| {
            fs::remove_file(key).unwrap();
            let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(key).status().unwrap();
            assert!(made.success());
        }),
        // Only the superuser can give a file away.
        ("another user's", |key| {
            if std::os::unix::fs::chown(key, Some(65_534), None).is_err() {
                fs::remove_file(key).unwrap();
            }
        }),
    ];
    for (what, spoil) in spoil {
        let base = TestBase::new();
        let key = base.state_folder().join("key");
        begin(&base, "run-1");
        spoil(&key);
        assert!(!base.run([""; 0]).stdout.contains("run-1/1"), "{what}");
        begin(&base, "run-2");
        assert_eq!((fs::symlink_metadata(&key).unwrap().len(), mode(&key)), (32, 0o600), "{what}");
        assert!(fs::symlink_metadata(&key).unwrap().is_file(), "{what}");
        let status = base.run([""; 0]).stdout;
        assert!(status.contains("run-2/1") && !status.contains("run-1/1"), "{what}: {status}");
    }
}

/// No home, and nothing else that can be written.
#[test]
fn without_a_place_for_the_key_nothing_is_believed_and_a_person_is_told() {
    let base = TestBase::new();
    fs::write(base.home().join("file"), "in the way").unwrap();
    let with = |arguments: &[&str]| {
        let file = base.home().join("file");
        base.with(arguments)
            .env("XDG_STATE_HOME", &file)
            .env("TMPDIR", &file)
            .env("PATH", std::env::var_os("PATH").unwrap())
    };
    let ran = with(&["run", "--task", "x", "--agent", "true", "--max-iterations", "1"]).run();
    ran.says(1, "--max-iterations N");
    assert_eq!(base.files(".ralph/journal").len(), 1, "the process knows what it began itself");
    with(&["run", "--resume"]).run().refuses(2, "no agent is named");
    with(&["context", "--task", "Mine", "--run", "run-2"]).run().says(0, "attempt 1 at ");
    with(&["record", "--run", "run-2"]).input("Done.").run().says(2, "cannot tell which task it is about");
    with(&["record", "--run", "run-2", "--task", "Mine"]).input("Done.").run().says(0, "recorded journal/run-2/0001");
    with(&["add", "Retries", "--tags", "api", "--body", "Only after a 503."]).run().says(0, "created");
    assert!(with(&["search", "retries"]).run().stdout.contains("Retries"));
    assert!(base.files(".ralph/cache").iter().all(|file| file.ends_with("lock")), "{:?}", base.files(".ralph/cache"));
    let checked = with(&["check"]).run();
    assert!(checked.stdout.contains("cannot be kept"), "{checked}");
}

#[test]
fn all_that_a_memory_keeps_for_itself_is_private() {
    let base = TestBase::new();
    git(&base, &["init", "-q"]);
    base.write("a.rs", "one\n");
    git(&base, &["add", "--all"]);
    git(&base, &["commit", "-qm", "m"]);
    base.run(["add", "Retries", "--tags", "api", "--body", "Only after a 503."]).says(0, "created");
    base.run(["add", "Codes", "--tags", "api", "--body", "All codes."]).says(0, "created");
    base.run(["search", "retries"]).says(0, "Retries");
    base.write(
        "agent.sh",
        format!("cat > /dev/null; echo two > a.rs; find .ralph/state -type f > seen; {PROGRAM} log\n"),
    );
    run(&base, &["--task", "x", "--agent", "sh agent.sh", "--max-iterations", "1"]).says(1, "--max-iterations N");
    assert!(base.read("seen").contains("state/live/") && base.read("seen").contains("state/git/"));
    begin(&base, "run-2");
    let event = serde_json::json!({"session_id": "s", "cwd": base.root(), "source": "startup"}).to_string();
    let _ = base.with(["hook", "session-start"]).input(event).run();
    let edit = base.with(["edit", "knowledge/codes"]).env("PATH", std::env::var_os("PATH").unwrap());
    let _ = edit.env("EDITOR", "sh -c 'find .ralph/state -type f >> seen; echo more >> $0'").run();
    for arguments in [&["archive", "knowledge/codes"][..], &["check"], &["index", "--rebuild"], &["undo"], &["stats"]] {
        let _ = base.run(arguments);
    }
    for part in ["lock", "run.json", "attempts/", "sessions/", "undo/"] {
        assert!(base.files(".ralph/state").iter().any(|file| file.contains(part)), "{part}");
    }
    assert_eq!(open_to_others(&base, ".ralph/state"), [""; 0]);
    assert_eq!(open_to_others(&base, ".ralph/cache"), [""; 0]);
    assert_eq!((mode(&base.at(".ralph/state")), mode(&base.at(".ralph/cache"))), (0o700, 0o700));
    let knowledge = mode(&base.at(".ralph/knowledge"));
    assert_ne!(knowledge, 0o700, "what is shared is as before: {knowledge:o}");
}

/// `flock` needs no more than a file that can be opened.
#[test]
fn a_lock_that_others_could_hold_is_made_private() {
    let base = TestBase::new();
    base.run(["add", "Retries", "--tags", "api", "--body", "Only after a 503."]).says(0, "created");
    base.run(["search", "retries"]).says(0, "Retries");
    let locks = [".ralph/state/lock", ".ralph/cache/lock"];
    for path in locks {
        fs::set_permissions(base.at(path), fs::Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(base.at(path).parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    base.run(["add", "Codes", "--tags", "api", "--body", "All codes."]).says(0, "created");
    base.run(["index"]).says(0, "");
    for path in locks {
        assert_eq!((mode(&base.at(path)), mode(base.at(path).parent().unwrap())), (0o600, 0o700), "{path}");
    }
    File::open(base.at(locks[0])).unwrap();
}

/// Returns the files below a folder that contain the token.
fn files_with_the_token(base: &TestBase, folder: &str) -> Vec<String> {
    let has = |file: &String| String::from_utf8_lossy(&fs::read(base.at(file)).unwrap()).contains(TOKEN);
    base.files(folder).into_iter().filter(has).collect()
}

#[test]
fn a_secret_in_a_task_reaches_its_agent_and_nothing_else() {
    let base = TestBase::new();
    let title = format!("Deploy with {TOKEN}");
    base.write("tasks.md", format!("- [ ] {title}\n  Or with {TOKEN}, perhaps.\n- [ ] {title} again\n"));
    let commands = ";context Other;context;log;stats;list;show run-1;show t-1;check";
    let shown: Vec<_> = commands.split(';').map(|one| format!("$P {one}\n$P {one} --json\n")).collect();
    let shown = shown.concat();
    base.write("agent.sh", format!("P={PROGRAM}\ncat > prompt\n($P; {shown}) > shown 2>&1\ncat .ralph/state/live/* .ralph/state/attempts/* > kept\n"));
    let agent = format!("env KEY={TOKEN} sh agent.sh");
    let check = |arguments: &[&str]| {
        let ran = run(&base, arguments);
        assert!(ran.code == Some(1) && !ran.to_string().contains(TOKEN), "{ran}");
        assert!(base.read("prompt").contains(&title), "{}", base.read("prompt"));
        assert!(base.read("shown").contains("Deploy with [redacted: github-token"), "{}", base.read("shown"));
        assert!(!base.read("shown").contains(TOKEN), "{}", base.read("shown"));
        assert!(
            base.read("kept").contains("Deploy with ") && !base.read("kept").contains(TOKEN),
            "{}",
            base.read("kept")
        );
        assert_eq!(files_with_the_token(&base, ".ralph"), [".ralph/state/run.json"]);
        fs::remove_file(base.at("prompt")).unwrap();
    };
    check(&["--task-file", "tasks.md", "--agent", &agent, "--max-iterations", "1", "--max-attempts", "2"]);
    check(&["--task", &title, "--agent", &agent, "--max-iterations", "1"]);
    check(&["--task", &title, "--agent", &agent, "--max-iterations", "1", "--json"]);
    // It goes on with the same command, and its key.
    check(&["--resume", "--max-iterations", "1"]);

    // A loop of one's own.
    let prompt = base.run(["context", "--task", &title, "--run", "run-9"]);
    assert!(prompt.stdout.contains(&title) && !prompt.stderr.contains(TOKEN), "{prompt}");
    base.with(["record", "--run", "run-9"]).input("Done.").run().says(0, "recorded journal/run-9/0001");
    assert_eq!(files_with_the_token(&base, ".ralph"), [".ralph/state/run.json"]);
}
