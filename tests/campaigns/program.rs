//! The program, for campaigns: run in a folder, with nothing from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::StatVfsMountFlags;
use serde_json::Value;
use tempfile::TempDir;

/// The time of every run that needs no other.
pub(crate) const NOW: &str = "2026-11-20T10:00:00Z";

/// The program and the home folder that it is given.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    home: PathBuf,
}

impl Program {
    /// Takes the program at this path, and makes it an empty home below `place`.
    pub(crate) fn new(path: &Path, place: &Path) -> Program {
        let home = place.join("home");
        fs::create_dir_all(&home).unwrap();
        Program { path: path.to_owned(), home }
    }

    /// Returns the folder in which it keeps the user's key.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.home.join(".local/state/ralph-memory")
    }

    /// Returns it as it is run in `root` at the time `now`.
    pub(crate) fn command(&self, root: &Path, now: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["--now", now]).args(arguments).current_dir(root).env_clear().env("HOME", &self.home);
        command
    }

    /// Starts it, with all three files piped.
    pub(crate) fn start(&self, root: &Path, now: &str, arguments: &[&str]) -> Child {
        let mut command = self.command(root, now, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs it in `root` at the time `now` with these arguments, and with this on its standard input.
    pub(crate) fn run(&self, root: &Path, now: &str, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.start(root, now, arguments);
        // A command that does not read its input closes it, which is no failure.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            what: format!("{arguments:?}"),
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// What a run did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) what: String,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Returns the one JSON object that it answered, whatever its exit code.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// Fails unless it ended with this exit code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32, place: &str) -> Ran {
        assert_eq!(self.code, Some(code), "{place}: {self}");
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ran { what, code, signal, stdout, stderr } = self;
        write!(formatter, "{what}: exit {code:?}, signal {signal:?}\n{stdout}\n{stderr}")
    }
}

/// Returns git in a folder as its author runs it, with this home and without settings.
pub(crate) fn git_command(folder: &Path, home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    let settings =
        ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"];
    command.args(settings).args(arguments).current_dir(folder).stdin(Stdio::null()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home).env("GIT_EDITOR", "true");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command
}

/// Runs git in a folder, which must succeed.
#[track_caller]
pub(crate) fn git(folder: &Path, arguments: &[&str]) {
    let output = git_command(folder, folder, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A running `watch --json`, and the files that it told of.
pub(crate) struct Watcher {
    pub(crate) child: Child,
    view: Arc<Mutex<(BTreeSet<String>, usize)>>,
}

impl Watcher {
    /// Starts it, and waits until it is ready. The files in `view` are known.
    pub(crate) fn start(program: &Program, root: &Path, view: BTreeSet<String>) -> Watcher {
        let mut command = Command::new(&program.path);
        command.args(["watch", "--json"]).current_dir(root).env_clear().env("HOME", &program.home);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let ready: Value = serde_json::from_str(&lines.next().unwrap_or_default()).unwrap();
        assert_eq!(ready["event"], "ready");
        let view = Arc::new(Mutex::new((view, 0)));
        let own = Arc::clone(&view);
        thread::spawn(move || {
            for line in lines {
                let told: Value = serde_json::from_str(&line).unwrap();
                let paths = |name: &str| told[name].as_array().into_iter().flatten().filter_map(Value::as_str);
                let (paths_seen, n_events) = &mut *own.lock().unwrap();
                paths_seen.extend(paths("indexed").map(str::to_owned));
                paths_seen.retain(|seen| paths("removed").all(|path| path != seen));
                *n_events += 1;
            }
        });
        Watcher { child, view }
    }

    /// Waits until the files that it told of are those that there are, and returns how long that took, and how many
    /// changes it told of.
    pub(crate) fn catch_up(&self, expected: &dyn Fn() -> BTreeSet<String>, longest: Duration) -> (Duration, usize) {
        let begun = Instant::now();
        loop {
            let ((seen, n_events), expected) = (self.view.lock().unwrap().clone(), expected());
            if seen == expected {
                return (begun.elapsed(), n_events);
            }
            let differs: Vec<_> = seen.symmetric_difference(&expected).take(10).collect();
            assert!(begun.elapsed() < longest, "the watcher's view differs: {differs:?}");
            thread::park_timeout(Duration::from_millis(20));
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a word that no other number has, in which no stemmer finds an ending.
pub(crate) fn word(number: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjkmnpqrtvw";
    let mut word = "zz".to_owned();
    for at in (0..6).rev() {
        word.push(char::from(LETTERS[number >> (4 * at) & 15]));
    }
    word
}

/// Makes a temporary folder, on a disk in memory where the system has one with room that runs programs: many small files are quickly
/// made, made durable and removed there.
pub(crate) fn quick_folder() -> TempDir {
    const IN_MEMORY: &str = "/dev/shm";
    let is_usable = rustix::fs::statvfs(IN_MEMORY)
        .is_ok_and(|stat| stat.f_bavail * stat.f_frsize >= 1 << 30 && !stat.f_flag.contains(StatVfsMountFlags::NOEXEC));
    let folder = Some(IN_MEMORY).filter(|_| is_usable).and_then(|folder| tempfile::tempdir_in(folder).ok());
    folder.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// Copies a folder and all below it, but for what `without` says of paths below it.
pub(crate) fn copy(from: &Path, to: &Path, without: &dyn Fn(&Path) -> bool) {
    fs::create_dir_all(to).unwrap();
    for found in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if without(&found.path()) {
            continue;
        }
        if found.file_type().unwrap().is_dir() {
            copy(&found.path(), &to.join(found.file_name()), without);
        } else {
            fs::copy(found.path(), to.join(found.file_name())).unwrap();
        }
    }
}

/// Copies a project likewise. What is begun in it counts beside the lock that it was begun with, so the copy gets the same.
pub(crate) fn copy_project(from: &Path, to: &Path, without: &dyn Fn(&Path) -> bool) {
    copy(from, to, &|path| path.ends_with("state/lock") || without(path));
    let [lock, same] = [from, to].map(|root| root.join(".ralph/state/lock"));
    if lock.exists() {
        fs::hard_link(lock, same).unwrap();
    }
}

/// Returns whether a file was being written, and is left over.
pub(crate) fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tmp-"))
}

/// Returns all that is below a folder, sorted: files and links, and the folders that `enters` lets it look into. Nothing where
/// there is no folder.
pub(crate) fn walk(folder: &Path, enters: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder && !enters(&entry.path()) {
                continue;
            }
            folders.extend(is_folder.then(|| entry.path()));
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Returns the files below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = walk(folder, &|_| true);
    found.retain(|path| path.is_symlink() || !path.is_dir());
    found
}

/// What is below a folder, by its path there: the bytes of files, and folders.
pub(crate) type Content = BTreeMap<String, Option<Vec<u8>>>;

/// Returns what is below a folder, but for the folders that `enters` does not let it look into.
pub(crate) fn content_below(folder: &Path, enters: &dyn Fn(&Path) -> bool) -> Content {
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
    let read = |path: PathBuf| (name(&path), (!path.is_dir()).then(|| fs::read(&path).unwrap()));
    walk(folder, enters).into_iter().map(read).collect()
}

/// Returns the files and folders of a memory but for `cache/` and `state/`.
pub(crate) fn content(root: &Path) -> Content {
    let memory = root.join(".ralph");
    content_below(&memory, &|path| ![memory.join("cache"), memory.join("state")].iter().any(|own| own == path))
}

/// Returns the names that differ.
pub(crate) fn differences(one: &Content, other: &Content) -> Vec<String> {
    let names = one.keys().chain(other.keys()).filter(|name| one.get(*name) != other.get(*name));
    names.cloned().collect()
}
