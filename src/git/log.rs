//! Changes to paths since a given time.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;

use chrono::{DateTime, Utc};

use super::{PATIENCE, WorkTree, names};
use crate::error::Result;

/// A commit that changed a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The path, in the form of [`WorkTree::touches`]: relative to the folder above the given one.
    pub path: String,
    /// The commit's id.
    pub commit: String,
    /// When it was made, in seconds since 1970.
    pub at: i64,
    /// The object id of the file in that commit; only zeros if it is gone.
    pub blob: String,
    /// The path that it had before; unknown where it is not among those asked for, or where the repository lacks the content
    /// of a commit, as a partial clone does.
    pub from: Option<String>,
}

/// How many of the newest commits are examined.
const MAX_COMMITS: i64 = 10_000;
/// The limit of the list of commits at which a shallow history ends, in bytes; the list usually has one.
const MAX_SHALLOW: u64 = 64 * 1024;
/// The limit of the list of changes, in bytes: tens of thousands.
const MAX_TOUCHES: u64 = 8 * 1024 * 1024;
/// How a commit is compared with its parent: independently of settings, and without running a program.
const COMPARED: [&str; 9] =
    ["diff-tree", "--stdin", "-r", "-c", "--root", "-z", "--raw", "--no-ext-diff", "--no-textconv"];

/// The names of the default branch, in the order in which they are tried.
const DEFAULT_BRANCHES: [&str; 4] =
    ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/trunk"];

impl WorkTree {
    /// Returns the files in these folders that the default branch has, or had at a time, with their object ids; none if git
    /// does not answer, or there is no branch of a usual name.
    pub(crate) fn held(&self, at: Option<DateTime<Utc>>, folders: &[&str]) -> Vec<(String, String)> {
        let is_there = |branch: &&'static str| {
            let call = self.call(&["rev-parse", "--verify", "--quiet"]).word(branch);
            call.patience(PATIENCE).line().is_ok_and(|line| line.is_some_and(|line| !line.is_empty()))
        };
        let held = DEFAULT_BRANCHES.into_iter().find(is_there).and_then(|branch| {
            let commit_at = |at: DateTime<Utc>| {
                let call =
                    self.call(&["rev-list", "--first-parent", "--max-count=1"]).number("--before=", at.timestamp());
                call.word(branch).patience(PATIENCE).line().ok()?
            };
            let commit = at.map_or_else(|| Some(branch.to_owned()), commit_at)?;
            let paths: Vec<String> = folders.iter().map(|folder| format!("{}{folder}", self.prefix)).collect();
            let call = self.call(&["ls-tree", "-r", "-z", "--full-tree"]).value(&commit).paths(paths);
            call.patience(PATIENCE).ask_all().ok()
        });
        let of_line = |line: String| {
            let (head, path) = line.split_once('\t')?;
            Some((self.below(path.to_owned()), head.rsplit(' ').next()?.to_owned()))
        };
        names(&held.unwrap_or_default()).filter_map(of_line).collect()
    }

    /// Returns the changes to these paths, and to those below them, in commits since `since`, the newest first; if
    /// there are too many, only the newest. Paths are relative to the folder above the given one, which is the project
    /// of a memory. Of a merge, only files that differ from all of its parents count: the other changes are in the
    /// merged commits.
    ///
    /// # Errors
    ///
    /// [`Error::Git`](crate::error::Error::Git) when `git` does not answer, as in a repository without
    /// commits.
    pub(crate) fn touches(&self, paths: &[&str], since: DateTime<Utc>) -> Result<Vec<Touch>> {
        let paths = self.of_project(paths);
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.call(&["rev-list", "--timestamp"]).number("--max-age=", since.timestamp());
        let listed = call.number("--max-count=", MAX_COMMITS).word("HEAD").paths(&paths);
        let listed = listed.patience(PATIENCE).ask_all()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        // The oldest commits of a shallow clone seem to create every file; their real changes are unknown.
        let shallow = self.shallow();
        let is_whole = |commit: &str| !shallow.lines().any(|cut| cut == commit);
        let whole = listed.lines().filter_map(|line| line.split_once(' ')).filter(|(_, commit)| is_whole(commit));
        let times: HashMap<&str, i64> =
            whole.clone().map(|(at, commit)| (commit, at.parse().unwrap_or_default())).collect();
        let commits: String = whole.flat_map(|(_, commit)| [commit, "\n"]).collect();
        let compared = |how: &[&'static str]| {
            let call = self.call(&COMPARED).words(how).paths(&paths).limit(MAX_TOUCHES);
            call.input(commits.as_bytes()).patience(PATIENCE).takes_part().ask()
        };
        // A partial clone lacks the content of some files, so git cannot say which are alike; their names are in its trees.
        let answer = compared(&["-M", "-l100"]).or_else(|_| compared(&["--no-renames"]))?;
        let mut touches: Vec<Touch> = Vec::new();
        let mut commit = "";
        let records: Vec<String> = names(&answer.output).collect();
        let mut records = records.iter().map(String::as_str);
        while let Some(record) = records.next() {
            if !record.starts_with(':') {
                commit = record;
                continue;
            }
            // The modes and the ids of all parents come before those of the commit.
            let raw = record.trim_start_matches(':');
            let parents = record.len() - raw.len();
            let mut fields = raw.split(' ').skip(2 * parents + 1);
            let (blob, is_renamed) = (
                fields.next().unwrap_or_default(),
                fields.next().is_some_and(|of| parents == 1 && of.starts_with('R')),
            );
            let from = if is_renamed { records.next().and_then(|path| self.in_project(path)) } else { None };
            let path = records.next().and_then(|path| self.in_project(path));
            let (Some(path), Some(at)) = (path, times.get(commit)) else { continue };
            let touch = |path: &str, blob: &str, from: Option<&str>| Touch {
                path: path.to_owned(),
                commit: commit.to_owned(),
                at: *at,
                blob: blob.to_owned(),
                from: from.map(str::to_owned),
            };
            touches.extend(from.map(|from| touch(from, &"0".repeat(blob.len()), None)));
            touches.push(touch(path, blob, from));
        }
        Ok(touches)
    }

    /// Returns the ids of the commits, one per line, at which the history of a shallow clone ends.
    fn shallow(&self) -> String {
        let file = self.objects.parent().and_then(|common| File::open(common.join("shallow")).ok());
        let mut text = String::new();
        // If it cannot be read, git does not know where the history ends either.
        let _ = file.map(|file| file.take(MAX_SHALLOW).read_to_string(&mut text));
        text
    }

    /// Returns paths of the folder above the given one as paths in the work tree; none if that folder is outside of it.
    pub(super) fn of_project(&self, paths: &[&str]) -> Vec<String> {
        let Some(project) = self.project() else { return Vec::new() };
        paths.iter().map(|path| format!("{project}{path}")).collect()
    }

    /// Returns a path of the work tree relative to the folder above; `None` if it is outside of that.
    pub(super) fn in_project<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(self.project()?)
    }

    /// Returns the path of the folder above the given one: empty, or ending in `/`.
    pub(super) fn project(&self) -> Option<&str> {
        let own = self.own_path()?;
        Some(own.rfind('/').map_or("", |at| &own[..=at]))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::Lookup;
    use super::super::tests::{command, git};
    use super::*;
    use crate::entry::parse_time;

    /// Commits everything, dated `at`.
    fn commit(root: &Path, at: &str) {
        for arguments in [&["add", "--all"][..], &["commit", "--quiet", "--allow-empty", "--message", "m"]] {
            let done = command(root, arguments).env("GIT_COMMITTER_DATE", at).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    }

    #[test]
    fn changes_to_paths_are_listed_by_commit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "--quiet"]);
        // The project is a folder of the repository.
        let write = |path: &str, text: &str| {
            let path = root.join("project").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".ralph/knowledge/x.md", "x");
        write("src/a b.rs", "1\n2\n3\n");
        write("src/sub/c.rs", "1\n");
        write("binary", "\0\0");
        fs::write(root.join("beside"), "1\n").unwrap();
        commit(root, "2026-01-01T00:00:00Z");
        write("src/a b.rs", "1\n3\n4\n");
        write("src/sub/c.rs", "2\n3\n");
        write("binary", "\0\x01");
        commit(root, "2026-01-03T00:00:00Z");
        fs::remove_file(root.join("project/src/a b.rs")).unwrap();
        commit(root, "2026-01-05T00:00:00Z");
        let Lookup::Found(tree) = WorkTree::find(&root.join("project/.ralph")) else { panic!("no work tree") };
        let touches = |paths: &[&str], since: &str| -> Vec<(String, i64)> {
            let touches = tree.touches(paths, parse_time(since).unwrap()).unwrap();
            touches.into_iter().map(|touch| (touch.path, touch.at)).collect()
        };
        let at = |day: &str| parse_time(day).unwrap().timestamp();
        assert_eq!(
            touches(&["src", "binary"], "2026-01-02"),
            [
                ("src/a b.rs".into(), at("2026-01-05")),
                ("binary".into(), at("2026-01-03")),
                ("src/a b.rs".into(), at("2026-01-03")),
                ("src/sub/c.rs".into(), at("2026-01-03")),
            ]
        );
        assert_eq!(touches(&["src/a b.rs"], "2026-01-04"), [("src/a b.rs".into(), at("2026-01-05"))]);
        assert_eq!(touches(&["no/such", "src/*"], "2025-01-01"), []);
        assert_eq!(touches(&[], "2025-01-01"), []);
        let head = git(root, &["rev-parse", "HEAD"]);
        assert_eq!(tree.touches(&["src"], parse_time("2026-01-04").unwrap()).unwrap()[0].commit, head);
    }
}
