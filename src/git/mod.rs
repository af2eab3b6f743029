//! Asks `git` about a folder.
//!
//! This is the only module that runs it, and it changes no repository but to [commit](WorkTree::commit) and
//! to [register a merge driver](WorkTree::register_merge_driver), when that is asked for: no lock is taken, nothing is added to its objects (see [`WorkTree::tree`]), no hook and
//! no file system monitor of the repository is run. That there is no `git`, or no
//! repository, is an answer like any other. Paths that are given and returned are relative to the
//! folder asked about, with `/` between their parts.

mod commit;
mod driver;
mod log;
mod tree;

use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

pub use driver::DRIVER;
pub use log::Touch;
pub use tree::Changes;

/// The most that is read of an answer, in bytes. A work tree with more changes than fit is reported
/// by its first ones.
const MAX_OUTPUT: u64 = 1024 * 1024;
/// The most that is read of what `git` says to people, in bytes.
const MAX_COMPLAINT: u64 = 4096;
/// What tells `git` to look elsewhere than at the folder that is asked about, or to read paths in
/// another way. Hooks run with the first of these set, and they may mean another repository.
const ELSEWHERE: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// What `git` says of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// There is no `git` to ask.
    NoGit,
    /// The folder is in no repository, or in one without work tree.
    NoWorkTree,
    /// `git` does not want to look at it; with what it says.
    Refused(String),
    /// It is in a work tree.
    Found(WorkTree),
}

/// A folder in a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkTree {
    folder: PathBuf,
    /// The path of the folder in the work tree: empty, or ending in `/`.
    prefix: String,
}

/// What is not as it was last committed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uncommitted {
    /// What is committed and was changed since, or is added and not committed.
    pub changed: Vec<String>,
    /// What `git` has never been told of.
    pub untracked: Vec<String>,
    /// Whether there is more than these.
    pub more: bool,
}

impl WorkTree {
    /// Looks for the work tree that `folder` is in.
    pub fn find(folder: &Path) -> Lookup {
        let answer = match run(folder, &["rev-parse", "--is-inside-work-tree", "--show-prefix"], b"", &[]) {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.is_dir() => return Lookup::NoGit,
            Err(error) => return Lookup::Refused(error.to_string()),
        };
        if answer.code != Some(0) {
            let is_outside = answer.complaint.contains("not a git repository");
            return if is_outside { Lookup::NoWorkTree } else { Lookup::Refused(answer.reason()) };
        }
        let mut lines = answer.output.split(|byte| *byte == b'\n');
        if lines.next() != Some(b"true") {
            return Lookup::NoWorkTree;
        }
        let prefix = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
        Lookup::Found(WorkTree { folder: folder.to_owned(), prefix })
    }

    /// Returns those of the paths that `git` ignores, in the given order. They need not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub fn ignored(&self, paths: &[&str]) -> Result<Vec<String>> {
        // This command cannot be told to take paths literally; none that begins like this has magic.
        let input: String = paths.iter().flat_map(|path| ["./", path, "\0"]).collect();
        // 1 means that it ignores none of them.
        let answer = self.ask(&["check-ignore", "-z", "--stdin"], &input, &[0, 1])?;
        let found: Vec<String> = names(&answer.output).collect();
        let is_ignored = |path: &&&str| found.iter().any(|found| found.strip_prefix("./") == Some(**path));
        Ok(paths.iter().filter(is_ignored).map(|path| (*path).to_owned()).collect())
    }

    /// Returns the files at or below the paths that `git` keeps track of, as many as fit.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub fn tracked(&self, paths: &[&str]) -> Result<Vec<String>> {
        let arguments = [&["--literal-pathspecs", "ls-files", "-z", "--"], paths].concat();
        let answer = self.ask(&arguments, "", &[0])?;
        Ok(names(&answer.output).collect())
    }

    /// Returns what in the folder is not committed, in git's order.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub fn uncommitted(&self) -> Result<Uncommitted> {
        // Without renames every record is one state and one path.
        let arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", "."];
        let answer = self.ask(&arguments, "", &[0])?;
        let mut found = Uncommitted { more: answer.is_cut, ..Uncommitted::default() };
        for record in names(&answer.output) {
            let Some((state, path)) = record.split_at_checked(2) else { continue };
            let path = path.trim_start_matches(' ');
            // These paths are those in the work tree, wherever it is asked from.
            let path = path.strip_prefix(self.prefix.as_str()).unwrap_or(path).to_owned();
            if state == "??" { found.untracked.push(path) } else { found.changed.push(path) }
        }
        Ok(found)
    }

    fn ask(&self, arguments: &[&str], input: &str, good: &[i32]) -> Result<Answer> {
        ask(&self.folder, arguments, input.as_bytes(), &[], good)
    }
}

/// Runs `git` in a folder with these variables, and refuses exit statuses but the good ones.
fn ask(folder: &Path, arguments: &[&str], input: &[u8], variables: &[(&str, &Path)], good: &[i32]) -> Result<Answer> {
    let command = arguments.join(" ");
    match run(folder, arguments, input, variables) {
        Ok(answer) if answer.is_cut || answer.code.is_some_and(|code| good.contains(&code)) => Ok(answer),
        Ok(answer) => Err(Error::Git { command, reason: answer.reason() }),
        Err(error) => Err(Error::Git { command, reason: error.to_string() }),
    }
}

/// What a call of `git` gave.
struct Answer {
    code: Option<i32>,
    /// Whole records, up to [`MAX_OUTPUT`].
    output: Vec<u8>,
    is_cut: bool,
    complaint: String,
}

impl Answer {
    /// Returns the line that says why it failed.
    fn reason(&self) -> String {
        let line = self.complaint.lines().find(|line| !line.trim().is_empty()).map(str::trim);
        line.map_or_else(|| format!("exit status {}", self.code.unwrap_or(-1)), str::to_owned)
    }
}

/// Returns the records of an answer that ends each with a zero byte.
fn names(output: &[u8]) -> impl Iterator<Item = String> {
    output
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
}

fn run(folder: &Path, arguments: &[&str], input: &[u8], variables: &[(&str, &Path)]) -> io::Result<Answer> {
    let mut command = Command::new("git");
    // The monitor is a program that a repository names.
    command.args(["-c", "core.fsmonitor=false"]).args(arguments).current_dir(folder);
    for variable in ELSEWHERE {
        command.env_remove(variable);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // All at once: a full pipe that nobody reads would stop it.
    let (output, complaint) = std::thread::scope(|scope| {
        // What it does not want to read it says in its complaint.
        scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(input)));
        let complaint = scope.spawn(|| drain(stderr, MAX_COMPLAINT));
        let output = stdout.map_or_else(|| Ok(Vec::new()), |stdout| read_up_to(stdout, MAX_OUTPUT + 1));
        if output.as_ref().map_or(true, |output| output.len() as u64 > MAX_OUTPUT) {
            // It may have ended by itself; either way nothing more is wanted of it.
            let _ = child.kill();
        }
        let complaint = complaint.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (output, complaint)
    });
    let status = child.wait()?;
    let mut output = output?;
    let is_cut = output.len() as u64 > MAX_OUTPUT;
    if is_cut {
        let end = output.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        output.truncate(end);
    }
    Ok(Answer { code: status.code(), output, is_cut, complaint: String::from_utf8_lossy(&complaint).into_owned() })
}

fn read_up_to(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads to the end and keeps the first `limit` bytes.
fn drain(from: Option<impl Read>, limit: u64) -> Vec<u8> {
    let Some(mut from) = from else { return Vec::new() };
    let kept = read_up_to(&mut from, limit).unwrap_or_default();
    // What cannot be read is not needed.
    let _ = io::copy(&mut from, &mut io::sink());
    kept
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// Runs `git` as a person would, with nobody's settings.
    #[track_caller]
    pub(super) fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        for variable in ELSEWHERE {
            command.env_remove(variable);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").current_dir(folder);
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let done = command.args(settings).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Makes a repository with a folder `sub/.ralph` that holds these files.
    fn repository(files: &[&str]) -> (TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        git(root.path(), &["init", "-q"]);
        // What the person who runs the tests ignores everywhere.
        git(root.path(), &["config", "core.excludesFile", "/dev/null"]);
        let memory = root.path().join("sub/.ralph");
        for file in files {
            put(&memory.join(file), "x");
        }
        fs::create_dir_all(&memory).unwrap();
        (root, memory)
    }

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[track_caller]
    fn found(folder: &Path) -> WorkTree {
        match WorkTree::find(folder) {
            Lookup::Found(tree) => tree,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_folder_outside_of_every_repository_is_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(WorkTree::find(folder.path()), Lookup::NoWorkTree);
        let (root, _) = repository(&[]);
        assert_eq!(WorkTree::find(&root.path().join(".git")), Lookup::NoWorkTree);
    }

    #[test]
    fn a_broken_repository_is_refused_with_its_reason() {
        let (root, memory) = repository(&[]);
        fs::write(root.path().join(".git/config"), "[core\n").unwrap();
        match WorkTree::find(&memory) {
            Lookup::Refused(reason) => assert!(reason.contains("config"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ignored_paths_need_not_exist() {
        let (_root, memory) = repository(&["knowledge/a.md"]);
        put(&memory.join(".gitignore"), "/cache/\n/state/\n");
        let paths = ["knowledge/probe.md", "state/probe", "cache/probe", "knowledge/[ab]*?.md"];
        assert_eq!(found(&memory).ignored(&paths).unwrap(), ["state/probe", "cache/probe"]);
        put(&memory.join(".gitignore"), "");
        assert_eq!(found(&memory).ignored(&paths).unwrap(), Vec::<String>::new());
        let magic = [":(glob)cache/*", ":!cache/probe"];
        put(&memory.join(".gitignore"), "/cache/\n");
        assert_eq!(found(&memory).ignored(&magic).unwrap(), Vec::<String>::new());
        let error = found(&memory).ignored(&["../../../x"]).unwrap_err().to_string();
        assert!(error.starts_with("`git check-ignore -z --stdin` failed: fatal: "), "{error}");
    }

    #[test]
    fn what_is_not_committed_is_told_from_what_is() {
        let odd = "knowledge/a b\n→\"*.md";
        let (root, memory) = repository(&["knowledge/kept.md", "knowledge/edited.md", "knowledge/gone.md"]);
        put(&root.path().join("beside.md"), "x");
        git(root.path(), &["add", "."]);
        git(root.path(), &["commit", "-qm", "all"]);
        assert_eq!(found(&memory).uncommitted().unwrap(), Uncommitted::default());
        assert_eq!(found(&memory).tracked(&["knowledge/kept.md", "cache"]).unwrap(), ["knowledge/kept.md"]);
        put(&memory.join("knowledge/edited.md"), "y");
        put(&memory.join(odd), "y");
        put(&memory.join("knowledge/added.md"), "y");
        put(&memory.join("knowledge/deep/er.md"), "y");
        fs::remove_file(memory.join("knowledge/gone.md")).unwrap();
        put(&root.path().join("beside.md"), "y");
        git(&memory, &["add", "knowledge/added.md"]);
        let uncommitted = found(&memory).uncommitted().unwrap();
        assert_eq!(uncommitted.changed, ["knowledge/added.md", "knowledge/edited.md", "knowledge/gone.md"]);
        assert_eq!(uncommitted.untracked, [odd, "knowledge/deep/er.md"]);
        assert!(!uncommitted.more);
    }

    #[test]
    fn an_answer_of_any_length_is_cut_between_paths() {
        let (_root, memory) = repository(&[]);
        // A few hundred bytes of path each, so that some thousand files are more than fit.
        let folder = format!("knowledge/{}/{}", "a".repeat(200), "b".repeat(200));
        fs::create_dir_all(memory.join(&folder)).unwrap();
        let path = |at: usize| format!("{folder}/{at:04}.md");
        (0..3_000).for_each(|at| drop(fs::File::create(memory.join(path(at))).unwrap()));
        let uncommitted = found(&memory).uncommitted().unwrap();
        assert!(uncommitted.more);
        assert!((2_000..3_000).contains(&uncommitted.untracked.len()));
        assert!(uncommitted.untracked.iter().enumerate().all(|(at, found)| *found == path(at)));
    }

    #[test]
    fn no_program_that_the_repository_names_is_run() {
        let (root, memory) = repository(&["knowledge/a.md"]);
        let trap = root.path().join("trap");
        put(&root.path().join("monitor"), &format!("#!/bin/sh\ntouch '{}'\n", trap.display()));
        fs::set_permissions(root.path().join("monitor"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        git(root.path(), &["config", "core.fsmonitor", root.path().join("monitor").to_str().unwrap()]);
        found(&memory).uncommitted().unwrap();
        found(&memory).ignored(&["cache/x"]).unwrap();
        assert!(!trap.exists());
    }
}
