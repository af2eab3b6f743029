//! The program, for campaigns: run in a folder, with nothing from outside.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

/// Returns a word that no other number has, in which no stemmer finds an ending.
pub(crate) fn word(number: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjkmnpqrtvw";
    let mut word = "zz".to_owned();
    for at in (0..6).rev() {
        word.push(char::from(LETTERS[number >> (4 * at) & 15]));
    }
    word
}

/// Makes a temporary folder, on a disk in memory where the system has one with room: many small files are quickly made, made
/// durable and removed there.
pub(crate) fn quick_folder() -> TempDir {
    const IN_MEMORY: &str = "/dev/shm";
    let room = rustix::fs::statvfs(IN_MEMORY).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
    let made = if room < 1 << 30 {
        tempfile::tempdir()
    } else {
        tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir())
    };
    made.unwrap()
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
