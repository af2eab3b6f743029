//! Queries `git` about a folder.
//!
//! This is the only module that runs it. It changes a repository only to [remove the merge
//! driver](WorkTree::remove_old_driver) of an earlier version. No other call takes a lock, adds objects (see
//! [`WorkTree::tree`]), fetches, or runs another program, and neither does git itself. A missing `git` or repository is an answer, not an error. Paths in arguments and results
//! are relative to the given folder, with `/` between their parts.

mod busy;
mod call;
pub(crate) mod child;
mod compare;
mod conflict;
mod log;
mod object;
mod tree;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::error::{Error, Problem, Result};
use crate::store::{SourceFiles, git_dir};
use crate::system::posix::os_string;
use crate::text::{count, printed_command};
use call::{GitCall, index_settings};
use object::{ObjectName, SHA1, SHA256};

pub(crate) use busy::Repository;
pub(crate) use compare::{DiffRange, FileContent, FileContents, FileDiff, MAX_TEXT, PATIENCE, Place};
pub(crate) use log::Touch;

/// The limit of a list of all files of a project, in bytes.
const MAX_LISTED: u64 = 64 * 1024 * 1024;

/// How many ignored entries are named.
const MAX_IGNORED: usize = 10;

/// Git's answer about a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// `git` is not installed.
    NoGit,
    /// The folder is not in a repository, or in one without a work tree.
    NoWorkTree,
    /// `git` refuses to work with it, for this reason.
    Refused(String),
    /// It is in a work tree.
    Found(WorkTree),
}

/// A folder in a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkTree {
    /// The folder at the top of the work tree.
    root: PathBuf,
    /// The repository, or the part of it that belongs to this work tree.
    git_dir: PathBuf,
    /// The repository's objects.
    objects: PathBuf,
    /// The work tree's index, which may not exist.
    index: PathBuf,
    /// How many digits an object id has.
    digits: usize,
    /// The path of the given folder in the work tree: empty, or ending in `/`.
    prefix: String,
}

/// The changes since the last commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uncommitted {
    /// Files changed since the last commit, and staged new files.
    pub changed: Vec<String>,
    /// Untracked files.
    pub untracked: Vec<String>,
    /// Whether there are more than these.
    pub more: bool,
}

impl WorkTree {
    /// Finds the work tree that contains `folder`, starting from the folder above it. The content of `folder` may come
    /// from a clone, and with the right names in it git would treat it as a repository and trust its configuration.
    /// Only if `folder` has a `.git`, which no clone can contain, is it a work tree of its own.
    pub(crate) fn find(folder: &Path) -> Lookup {
        let start = start(folder);
        let words = [
            "rev-parse",
            "--is-inside-work-tree",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-path",
            "objects",
            "--git-path",
            "index",
            "--show-object-format",
            "--show-prefix",
        ];
        let answer = match GitCall::anywhere(start, &words).run() {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::NotFound && start.is_dir() => return Lookup::NoGit,
            Err(error) => return Lookup::Refused(error.to_string()),
        };
        if answer.output.starts_with(b"false\n") {
            return Lookup::NoWorkTree;
        }
        if answer.code != Some(0) {
            let is_outside = answer.complaint.contains("not a git repository");
            return if is_outside { Lookup::NoWorkTree } else { Lookup::Refused(answer.reason()) };
        }
        let lines: Vec<&[u8]> = answer.output.split(|byte| *byte == b'\n').collect();
        let [b"true", root, git_dir, objects, index, format, prefix, b""] = lines[..] else {
            return Lookup::Refused("its answer to `git rev-parse` is not understood".to_owned());
        };
        // Git's paths may be relative to the folder of the call.
        let path = |bytes: &[u8]| start.join(os_string(bytes.to_vec()));
        let git_dir = path(git_dir);
        // A parent folder that looks like a bare repository may come from a clone, too. Git itself refuses it since
        // 2.38.
        if start.canonicalize().is_ok_and(|start| start.starts_with(&git_dir)) {
            return Lookup::Refused(format!("`{}` is a bare repository around the memory", git_dir.display()));
        }
        let prefix = String::from_utf8_lossy(prefix).into_owned();
        let own = folder.strip_prefix(start).unwrap_or(folder).to_string_lossy();
        let own = if own.is_empty() { String::new() } else { format!("{own}/") };
        Lookup::Found(WorkTree {
            root: path(root),
            git_dir,
            objects: path(objects),
            index: path(index),
            digits: if format == b"sha256" { SHA256 } else { SHA1 },
            prefix: prefix + &own,
        })
    }

    /// Returns the commit that is checked out; `None` if there is none, or git does not answer.
    pub(crate) fn commit(&self) -> Option<String> {
        let commit = self.call(&["rev-parse", "--verify", "--quiet", "HEAD"]).line().ok()??;
        Some(commit).filter(|commit| commit.len() == self.digits)
    }

    /// Returns the files at or below the paths that `git` ignores and does not track, up to the output limit.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn ignored(&self, paths: &[&str]) -> Result<Vec<String>> {
        self.listed_at(&["ls-files", "-z", "--others", "--ignored", "--exclude-standard"], paths)
    }

    /// Returns the tracked files at or below the paths, up to the output limit.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn tracked(&self, paths: &[&str]) -> Result<Vec<String>> {
        self.listed_at(&["ls-files", "-z"], paths)
    }

    fn listed_at(&self, words: &[&'static str], paths: &[&str]) -> Result<Vec<String>> {
        let paths = paths.iter().map(|path| format!("{}{path}", self.prefix));
        let answer = self.read(words).paths(paths).ask()?;
        Ok(names(&answer.output).map(|path| self.below(path)).collect())
    }

    /// Returns the files in the folder that are tracked or that git does not ignore, sorted, up to a limit. Some of them
    /// may be gone.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn files(&self) -> Result<SourceFiles> {
        let words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let answer = self.read(&words).paths(self.own_path()).limit(MAX_LISTED).ask()?;
        let mut paths: Vec<String> = names(&answer.output).map(|path| self.below(path)).collect();
        paths.sort_unstable();
        paths.dedup();
        Ok(SourceFiles { paths, left_out: Vec::new(), is_cut: answer.is_over })
    }

    /// Returns the uncommitted files in the folder, in git's order.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn uncommitted(&self) -> Result<Uncommitted> {
        // Without renames, every record is a status and one path. Submodules are not examined.
        let words = [
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
            "--no-ahead-behind",
        ];
        let answer = GitCall::within(self, &self.index_settings()?.0, &words).paths(self.own_path()).ask()?;
        let mut found = Uncommitted { more: answer.is_over, ..Uncommitted::default() };
        for record in names(&answer.output) {
            let Some((state, path)) = record.split_at_checked(2) else { continue };
            // These paths are relative to the work tree, whatever the folder of the call.
            let path = self.below(path.trim_start_matches(' ').to_owned());
            if state == "??" { found.untracked.push(path) } else { found.changed.push(path) }
        }
        Ok(found)
    }

    fn call<'a>(&self, words: &[&'static str]) -> GitCall<'a> {
        GitCall::within(self, &[], words)
    }

    /// Runs a call for which git reads the index.
    fn read<'a>(&self, words: &[&'static str]) -> GitCall<'a> {
        GitCall::within(self, &index_settings(), words)
    }

    fn name_of(&self, bytes: &[u8]) -> ObjectName {
        ObjectName::of_file(bytes, self.digits)
    }

    fn below(&self, path: String) -> String {
        path.strip_prefix(&self.prefix).map(str::to_owned).unwrap_or(path)
    }

    /// Returns the path of the given folder; none if that is the whole work tree.
    fn own_path(&self) -> Option<&str> {
        Some(self.prefix.trim_end_matches('/')).filter(|path| !path.is_empty())
    }

    /// Returns the settings of a call that compares files with the index. They disable the user's filter programs
    /// (`filter.NAME.clean` and the like). Also returns whether the repository records the executable bit of files.
    fn index_settings(&self) -> Result<(Vec<String>, bool)> {
        let words = ["config", "--null", "--get-regexp", r"^(filter\..*|core\.filemode)$"];
        // 1 means that there are none.
        let found = self.call(&words).good(&[0, 1]).ask_all()?;
        let (mut filters, mut has_modes) = (BTreeSet::new(), true);
        for setting in names(&found) {
            let (key, value) = setting.split_once('\n').unwrap_or((&setting, "true"));
            match key.rsplit_once('.') {
                Some(("core", _)) => {
                    has_modes = !["false", "no", "off", "0", ""].contains(&value.to_ascii_lowercase().as_str());
                }
                Some((filter, _)) if filter.contains('=') => {
                    let reason = format!("`{filter}` cannot be switched off: its name has a `=` in it");
                    return Err(Error::Git { command: "config".to_owned(), reason });
                }
                Some((filter, _)) => drop(filters.insert(filter.to_owned())),
                None => {}
            }
        }
        let off = |filter: &String| ["clean=", "process=", "required=false"].map(|end| format!("{filter}.{end}"));
        Ok(([index_settings(), filters.iter().flat_map(off).collect()].concat(), has_modes))
    }
}

/// Returns the warning that git ignores these entries, of which there is at least one. Paths are relative to `.ralph/`.
pub(crate) fn ignored_entries(paths: &[String]) -> Problem {
    let shown: Vec<String> = paths.iter().take(MAX_IGNORED).map(|path| display_path(path)).collect();
    let more = if paths.len() > MAX_IGNORED { "`, …" } else { "`" };
    let (entries, list) = (count(paths.len(), "entry"), shown.join("`, `"));
    let message = format!("git ignores {entries}, neither shared nor safe from `git clean -x`: `{list}{more}");
    let area = paths.iter().find_map(|path| path.split('/').next()).unwrap_or_default();
    let rule = printed_command("git check-ignore -v FILE", &[("FILE", shown.first().map_or("", String::as_str))]);
    let lines = format!("put `!/{area}/` and `!/{area}/**` into `.ralph/.gitignore`");
    let hint = format!("{lines}, or rename the file or its folder; {rule} names the line that says so");
    Problem::warning(MEMORY_FOLDER, "git-ignore", message, hint)
}

/// Returns the top of the work tree that contains `folder`, as its files show it, else the folder itself. Starts no git.
pub(crate) fn top_of(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| git_dir(folder).is_some()).unwrap_or(folder)
}

/// Returns the folder from which the search for the work tree of `folder` starts.
fn start(folder: &Path) -> &Path {
    let is_own = folder.join(".git").symlink_metadata().is_ok();
    folder.parent().filter(|_| !is_own).unwrap_or(folder)
}

fn names(output: &[u8]) -> impl Iterator<Item = String> {
    output
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;

    /// Returns `git` with arguments, as a person without settings would run it.
    pub(super) fn command(folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").current_dir(folder);
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        command.args(settings).args(arguments);
        command
    }

    /// Runs `git`, which must succeed, and returns its output.
    #[track_caller]
    pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
        let done = command(folder, arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// A repository in a folder `p`, with a memory in it.
    pub(super) struct TestProject(pub(super) TempDir);

    impl TestProject {
        pub(super) fn new() -> TestProject {
            let project = TestProject(tempfile::tempdir().unwrap());
            fs::create_dir(project.root()).unwrap();
            project.git(&["init", "--quiet"]);
            // The settings of the person who runs the tests need not name an author.
            project.git(&["config", "user.name", "a"]);
            project.git(&["config", "user.email", "a@b"]);
            project.write("src/a.rs", "a").write(".ralph/knowledge/x.md", "x");
            project
        }

        pub(super) fn root(&self) -> PathBuf {
            self.0.path().join("p")
        }

        pub(super) fn work_tree(&self) -> WorkTree {
            found(&self.root().join(".ralph"))
        }

        #[track_caller]
        pub(super) fn git(&self, arguments: &[&str]) -> String {
            git(&self.root(), arguments)
        }

        pub(super) fn write(&self, path: &str, text: &str) -> &TestProject {
            put(&self.root().join(path), text);
            self
        }

        pub(super) fn commit(&self) {
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--message", "m"]);
        }
    }

    /// Makes a repository with a folder `sub/.ralph` that contains these files.
    fn repository(files: &[&str]) -> (TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        git(root.path(), &["init", "-q"]);
        // Disables the ignore file of the person who runs the tests.
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
    pub(super) fn found(folder: &Path) -> WorkTree {
        match WorkTree::find(folder) {
            Lookup::Found(tree) => tree,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_folder_outside_of_every_repository_is_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(WorkTree::find(&folder.path().join(".ralph")), Lookup::NoWorkTree);
        let (root, _) = repository(&[]);
        // Some versions of git refuse it, the others report that it is not a work tree.
        let inside = WorkTree::find(&root.path().join(".git/.ralph"));
        assert!(matches!(inside, Lookup::NoWorkTree | Lookup::Refused(_)), "{inside:?}");
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
    fn ignored_files_are_found_at_literal_paths() {
        let (root, memory) = repository(&["knowledge/a.md", "knowledge/build/b.md", "knowledge/core", "cache/x"]);
        put(&root.path().join(".gitignore"), "build/\ncore\n[Dd]ebug*\n");
        put(&memory.join(".gitignore"), "/cache/\n");
        let ignored = |paths: &[&str]| found(&memory).ignored(paths).unwrap();
        assert_eq!(ignored(&["knowledge"]), ["knowledge/build/b.md", "knowledge/core"]);
        assert_eq!(ignored(&["knowledge/a.md", "cache/x", "gone.md"]), ["cache/x"]);
        assert_eq!(ignored(&[":(glob)cache/*", "cache/[x]"]), Vec::<String>::new());
        // What git tracks is shared, whatever the rules say.
        git(root.path(), &["add", "-f", "sub/.ralph/knowledge/core"]);
        assert_eq!(ignored(&["knowledge"]), ["knowledge/build/b.md"]);
        let error = found(&memory).ignored(&["../../../x"]).unwrap_err().to_string();
        assert!(error.starts_with("`git ls-files` failed: fatal: "), "{error}");
    }

    #[test]
    fn uncommitted_files_are_distinguished() {
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
        // Paths of a few hundred bytes, so that a few thousand files exceed the limit.
        let folder = format!("knowledge/{}/{}", "a".repeat(200), "b".repeat(200));
        fs::create_dir_all(memory.join(&folder)).unwrap();
        let path = |at: usize| format!("{folder}/{at:04}.md");
        (0..3_000).for_each(|at| drop(fs::File::create(memory.join(path(at))).unwrap()));
        let uncommitted = found(&memory).uncommitted().unwrap();
        assert!(uncommitted.more);
        assert!((2_000..3_000).contains(&uncommitted.untracked.len()));
        assert!(uncommitted.untracked.iter().enumerate().all(|(at, found)| *found == path(at)));
    }
}
