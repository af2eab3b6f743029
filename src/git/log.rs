//! What was done to paths since a time.

use chrono::{DateTime, Utc};

use super::{WorkTree, ask, names};
use crate::error::Result;

/// A commit that changed a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The path, as [`WorkTree::touches`] was asked about it: relative to the folder above the one asked about.
    pub path: String,
    /// The commit's id.
    pub commit: String,
    /// When it was made, in seconds since 1970.
    pub at: i64,
    /// How many lines were added and taken out; those of a binary file are not known.
    pub lines: u64,
}

impl WorkTree {
    /// Returns what the commits since `since` did to these paths and those below them, the newest first;
    /// of very much the newest. Paths are relative to the folder above the one asked about, which is the
    /// project of a memory. Merges are left out: what they bring is in the commits that they merge.
    ///
    /// # Errors
    ///
    /// [`Error::Git`](crate::error::Error::Git) when `git` does not answer, as in a repository without
    /// commits.
    pub fn touches(&self, paths: &[&str], since: DateTime<Utc>) -> Result<Vec<Touch>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let since = format!("--since={}", since.timestamp());
        let asked = ["-z", "--no-merges", "--no-renames", "--numstat", "--format=format:%x02%H%x09%ct", &since, "--"];
        let mut arguments = vec!["--literal-pathspecs", "-c", "log.showSignature=false", "log"];
        arguments.extend(asked);
        let above = above(paths);
        arguments.extend(above.iter().map(String::as_str));
        let answer = ask(&self.folder, &arguments, b"", &[], &[0])?;
        let mut touches = Vec::new();
        let mut commit = (String::new(), 0);
        for record in names(&answer.output) {
            // The first file of a commit stands in the line below the commit's own.
            let (head, file) = match record.strip_prefix('\u{2}') {
                Some(rest) => {
                    let (head, file) = rest.split_once('\n').unwrap_or((rest, ""));
                    (Some(head), file)
                }
                None => (None, record.as_str()),
            };
            if let Some((id, at)) = head.and_then(|head| head.split_once('\t')) {
                commit = (id.to_owned(), at.parse().unwrap_or_default());
            }
            let mut fields = file.splitn(3, '\t');
            let (Some(added), Some(removed), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let Some(path) = self.in_project(path) else { continue };
            let lines = added.parse::<u64>().unwrap_or(0).saturating_add(removed.parse().unwrap_or(0));
            touches.push(Touch { path: path.to_owned(), commit: commit.0.clone(), at: commit.1, lines });
        }
        Ok(touches)
    }

    /// Returns how many lines each of those of the paths has that is a text git keeps track of. Paths are
    /// those of [`WorkTree::touches`].
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::touches`].
    pub fn line_counts(&self, paths: &[&str]) -> Result<Vec<(String, u64)>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = vec!["--literal-pathspecs", "grep", "--count", "-z", "-I", "--full-name", "-e", "", "--"];
        let above = above(paths);
        arguments.extend(above.iter().map(String::as_str));
        // 1 means that there is no line in any of them.
        let answer = ask(&self.folder, &arguments, b"", &[], &[0, 1])?;
        let text = String::from_utf8_lossy(&answer.output).into_owned();
        let count = |line: &str| {
            let (path, count) = line.split_once('\0')?;
            Some((self.in_project(path)?.to_owned(), count.parse().ok()?))
        };
        Ok(text.split_terminator('\n').filter_map(count).collect())
    }

    /// Returns a path of the work tree as seen from the folder above; `None` where it is beside that.
    fn in_project<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.prefix.trim_end_matches('/').rsplit_once('/') {
            Some((project, _)) => path.strip_prefix(project)?.strip_prefix('/'),
            None => Some(path),
        }
    }
}

/// Returns paths of the folder above as seen from the folder asked about.
fn above(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| format!("../{path}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::super::Lookup;
    use super::*;
    use crate::entry::parse_time;

    /// Commits everything at a time.
    fn commit(root: &Path, at: &str) {
        for arguments in [&["add", "--all"][..], &["commit", "--quiet", "--allow-empty", "--message", "m"]] {
            let done = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"])
                .args(arguments)
                .current_dir(root)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_SYSTEM", "/dev/null")
                .env("GIT_COMMITTER_DATE", at)
                .output()
                .unwrap();
            assert!(done.status.success(), "{done:?}");
        }
    }

    #[test]
    fn what_was_done_to_paths_is_told_commit_by_commit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        super::super::tests::git(root, &["init", "--quiet"]);
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
        let touches = |paths: &[&str], since: &str| -> Vec<(String, i64, u64)> {
            let touches = tree.touches(paths, parse_time(since).unwrap()).unwrap();
            touches.into_iter().map(|touch| (touch.path, touch.at, touch.lines)).collect()
        };
        let at = |day: &str| parse_time(day).unwrap().timestamp();
        assert_eq!(
            touches(&["src", "binary"], "2026-01-02"),
            [
                ("src/a b.rs".into(), at("2026-01-05"), 3),
                ("binary".into(), at("2026-01-03"), 0),
                ("src/a b.rs".into(), at("2026-01-03"), 2),
                ("src/sub/c.rs".into(), at("2026-01-03"), 3),
            ]
        );
        assert_eq!(touches(&["src/a b.rs"], "2026-01-04"), [("src/a b.rs".into(), at("2026-01-05"), 3)]);
        assert_eq!(touches(&["no/such", "src/*"], "2025-01-01"), []);
        assert_eq!(touches(&[], "2025-01-01"), []);
        let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output().unwrap();
        let head = String::from_utf8(head.stdout).unwrap();
        assert_eq!(tree.touches(&["src"], parse_time("2026-01-04").unwrap()).unwrap()[0].commit, head.trim());
        assert_eq!(tree.line_counts(&["src", "binary", "no"]).unwrap(), [("src/sub/c.rs".to_owned(), 2)]);
        assert_eq!(tree.line_counts(&["no"]).unwrap(), []);
    }
}
