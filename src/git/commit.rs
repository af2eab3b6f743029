//! Commits a folder, and nothing else.

use std::path::Path;

use super::WorkTree;
use super::busy::is_committing;
use super::call::{GitCall, index_settings};
use super::object::ObjectName;
use super::tree::own_index;
use crate::error::{Error, Result};

/// Files that exist while git waits for a person to continue.
const UNFINISHED: [(&str, &str); 7] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("BISECT_START", "a bisection"),
    ("index.lock", "another git command"),
];
/// The command that puts the folder's files into an index.
const UPDATE: [&str; 6] = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];

impl WorkTree {
    /// Commits the files of the folder, including untracked ones, except for `without`, which are paths in the folder.
    /// Returns the commit's id; `None` if nothing changed since the last commit.
    ///
    /// Other changes, staged or not, stay as they are. `scratch` is a working folder, created if it is missing. The
    /// commit is not signed, and no hook runs: a hook could take minutes, or refuse, with nobody to read its output.
    /// The user's filters do run, because files that they encrypt must not be committed in plain text.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] if git refuses, for example because the author has no name, or if a merge, another commit or the
    /// like is unfinished, and [`Error::Io`] if `scratch` cannot be written. Then nothing is committed.
    pub(crate) fn commit(&self, scratch: &Path, message: &str, without: &[&str]) -> Result<Option<String>> {
        let refused = |reason: String| Error::Git { command: "commit".to_owned(), reason };
        let verify = ["rev-parse", "--verify", "--quiet"];
        let object = |name: &'static str| -> Result<Option<ObjectName>> {
            self.call(&verify).word(name).good(&[0, 1]).line()?.map(|line| ObjectName::parse(&line)).transpose()
        };
        let head = object("HEAD^{commit}")?;
        let index = own_index(&self.index, scratch)?;
        let settings = index_settings();
        let own = |words: &[&'static str]| GitCall::within(self, &settings, words).index(&index.path);
        // The index of the last commit, without staged changes; git's cached file times stay.
        match &head {
            Some(head) => own(&["read-tree", "--reset"]).object(head).ask()?,
            None => own(&["read-tree", "--empty"]).ask()?,
        };
        let words = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
        let listed = own(&words).paths(self.own_path()).ask()?.output;
        let is_left_out = |path: &[u8]| {
            let path = path.strip_prefix(self.prefix.as_bytes()).unwrap_or(path);
            without.iter().any(|name| path.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"/")))
        };
        let changed: Vec<&[u8]> =
            listed.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !is_left_out(path)).collect();
        if changed.is_empty() {
            return Ok(None);
        }
        let changed = changed.join(&0);
        own(&UPDATE).input(&changed).ask()?;
        let tree = own(&["write-tree"]).made()?;
        // A change that is only staged is not a change here.
        if object("HEAD^{tree}")?.as_ref() == Some(&tree) {
            return Ok(None);
        }
        // Check this as late as possible: anything that begins after it is not seen.
        for (name, what) in UNFINISHED {
            // If references are not stored as files, most of these are not either.
            if self.git_dir.join(name).exists() || name.ends_with("_HEAD") && object(name)?.is_some() {
                return Err(refused(format!("{what} is not finished")));
            }
        }
        if is_committing(&self.root) {
            return Err(refused("another `git commit` is not finished".to_owned()));
        }
        let mut call = self.call(&["commit-tree"]).object(&tree).input(message.as_bytes());
        if let Some(head) = &head {
            call = call.word("-p").object(head);
        }
        let commit = call.made()?;
        // Update the repository's index before the branch. If this fails, nothing is committed; if the next step fails,
        // the files are merely staged.
        self.call(&UPDATE).input(&changed).ask()?;
        let update = self.call(&["update-ref", "-m", "ralph-memory", "HEAD"]).object(&commit);
        match &head {
            Some(head) => update.object(head).ask()?,
            // The file must not exist.
            None => update.word("").ask()?,
        };
        Ok(Some(commit.as_str().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::TestProject;
    use super::*;

    /// Commits the memory.
    fn commit(project: &TestProject) -> Result<Option<String>> {
        project.work_tree().commit(&project.0.path().join("scratch"), "it: é\n\nmore\n", &["cache", "state"])
    }

    #[test]
    fn only_the_memory_folder_is_committed() {
        let project = TestProject::new();
        project.write(".ralph/state/x", "x");
        // The first commit of a repository.
        let first = commit(&project).unwrap().unwrap();
        assert_eq!(project.git(&["rev-parse", "HEAD"]), first);
        assert_eq!(project.git(&["ls-tree", "-r", "--name-only", "HEAD"]), ".ralph/knowledge/x.md");
        assert_eq!(project.git(&["log", "--format=%B"]), "it: é\n\nmore");
        assert_eq!(commit(&project).unwrap(), None);

        // A person's staged and later changes stay.
        project.git(&["add", "src"]);
        project.git(&["commit", "--quiet", "--message", "theirs"]);
        project.write("src/a.rs", "staged").write("src/new.rs", "staged").write("src/gone.rs", "g");
        project.git(&["add", "src"]);
        project.write("src/a.rs", "unstaged").write("untracked", "u");
        let status = |project: &TestProject| project.git(&["status", "--porcelain", "--", "src", "untracked"]);
        let staged = |project: &TestProject| project.git(&["diff", "--cached", "--", "src"]);
        let before = (status(&project), staged(&project));
        project.write(".ralph/knowledge/x.md", "b").write(".ralph/journal/run-1/0001.md", "j");
        fs::remove_file(project.root().join(".ralph/knowledge/x.md")).unwrap();
        project.write(".ralph/knowledge/c.md", "c");
        commit(&project).unwrap().unwrap();
        assert_eq!((status(&project), staged(&project)), before);
        assert_eq!(project.git(&["status", "--porcelain", "--", ".ralph"]), "?? .ralph/state/");
        let changed = project.git(&["diff", "--name-status", "--no-renames", "HEAD~1", "HEAD"]);
        assert_eq!(changed, "A\t.ralph/journal/run-1/0001.md\nA\t.ralph/knowledge/c.md\nD\t.ralph/knowledge/x.md");
        assert_eq!(project.git(&["show", "HEAD:src/a.rs"]), "a");
        assert!(fs::read_dir(project.0.path().join("scratch")).unwrap().next().is_none());
    }

    #[test]
    fn unfinished_merges_are_left_alone() {
        let project = TestProject::new();
        commit(&project).unwrap();
        let head = project.git(&["rev-parse", "HEAD"]);
        project.write(".ralph/knowledge/b.md", "b");
        for (name, what) in UNFINISHED {
            project.write(&format!(".git/{name}"), &format!("{head}\n"));
            let error = commit(&project).unwrap_err().to_string();
            assert!(error.ends_with(&format!("{what} is not finished")), "{error}");
            fs::remove_file(project.root().join(".git").join(name)).unwrap();
        }
        assert_eq!(project.git(&["rev-parse", "HEAD"]), head);
        // Ignored files are not committed.
        project.write(".gitignore", ".ralph\n");
        fs::remove_dir_all(project.root().join(".git")).unwrap();
        project.git(&["init", "--quiet"]);
        assert_eq!(commit(&project).unwrap(), None);
    }
}
