//! The state of a work tree as one id: the git tree of its files.
//!
//! Two attempts that leave the same files have the same tree, whatever was committed in between. The
//! repository is not touched: index and objects are written to a folder of the caller's, which git reads
//! beside its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{WorkTree, ask, names};
use crate::error::{Error, IoContext as _, Result};

/// What differs between two trees; paths are relative to the work tree's root, with `/` between their
/// parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Changes {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
}

/// What is left of a tree when something is taken out of it.
enum Left {
    /// All of it: there was nothing to take out.
    All,
    Nothing,
    /// A tree with this id.
    Tree(String),
}

/// A copy of a repository's index that is ours alone; removed in the end.
pub(super) struct OwnIndex(PathBuf);

impl OwnIndex {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for OwnIndex {
    fn drop(&mut self) {
        // What stays is small, and the next one has another name.
        let _ = fs::remove_file(&self.0);
    }
}

/// Copies the index of a repository, `index`, to the folder `scratch`. With it git knows which files it need not
/// read again. A new repository has none.
pub(super) fn own_index(index: &Path, scratch: &Path) -> Result<OwnIndex> {
    fs::create_dir_all(scratch).io("create", scratch)?;
    let scratch = fs::canonicalize(scratch).io("find", scratch)?;
    let name = format!("index-{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "");
    let own = OwnIndex(scratch.join(name));
    match fs::copy(index, &own.0) {
        Ok(_) => {
            // Git reads again what changed about as late as the index did. A copy that is younger than
            // the index would hide such a change.
            let time = fs::metadata(index).and_then(|stat| stat.modified()).io("read", index)?;
            let copy = fs::File::options().write(true).open(&own.0).io("open", &own.0)?;
            copy.set_modified(time).io("set the time of", &own.0)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).io("read", index),
    }
    Ok(own)
}

/// Where git works when it makes a tree.
struct Scratch {
    /// The root of the work tree.
    root: PathBuf,
    /// The repository's objects.
    objects: PathBuf,
    /// Where new objects are written.
    own_objects: PathBuf,
    index: OwnIndex,
}

impl WorkTree {
    /// Returns the id of the git tree of the files as they are now, tracked or not, but for ignored ones
    /// and those of the folder asked about, which is the memory itself.
    ///
    /// `scratch` is a folder, made where there is none, that has the new objects afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` refuses, [`Error::Io`] when `scratch` cannot be written.
    pub fn tree(&self, scratch: &Path) -> Result<String> {
        let place = self.scratch(scratch)?;
        // Objects are small and short-lived, so they are not compressed.
        // Nobody reads the index again, so it needs no checksum.
        let mut add = vec!["-c", "core.looseCompression=0", "-c", "core.safecrlf=false", "-c", "index.skipHash=true"];
        add.extend(["add", "--all", "--", "."]);
        let memory = self.prefix.trim_end_matches('/');
        let but_memory = format!(":(exclude,top,literal){memory}");
        if !memory.is_empty() {
            add.push(&but_memory);
        }
        place.ask(&add, b"")?;
        let tree = String::from_utf8_lossy(&place.ask(&["write-tree"], b"")?).trim().to_owned();
        // What is committed of the memory is still in it. Taking it out of the index instead would cost
        // three times the rest where there are thousands of entries.
        let parts: Vec<&str> = memory.split('/').filter(|part| !part.is_empty()).collect();
        match place.without(&tree, &parts)? {
            Left::All => Ok(tree),
            Left::Nothing => place.make_tree(&[]),
            Left::Tree(tree) => Ok(tree),
        }
    }

    /// Returns what differs between two trees that were made with the same `scratch`.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::tree`].
    pub fn changes(&self, scratch: &Path, before: &str, after: &str) -> Result<Changes> {
        let mut changes = Changes::default();
        if before == after {
            return Ok(changes);
        }
        let place = self.scratch(scratch)?;
        let output = place.ask(&["diff-tree", "-r", "--no-renames", "--name-status", "-z", before, after], b"")?;
        let mut records = names(&output);
        while let (Some(state), Some(path)) = (records.next(), records.next()) {
            match state.as_str() {
                "A" => changes.created.push(path),
                "D" => changes.deleted.push(path),
                _ => changes.modified.push(path),
            }
        }
        Ok(changes)
    }

    /// Prepares a place for git to work in.
    fn scratch(&self, scratch: &Path) -> Result<Scratch> {
        let asked = ["rev-parse", "--show-toplevel", "--git-path", "objects", "--git-path", "index"];
        let answer = ask(&self.folder, &asked, b"", &[], &[0])?;
        let text = String::from_utf8_lossy(&answer.output).into_owned();
        let mut lines = text.lines();
        let refused = || Error::Git { command: asked.join(" "), reason: "it does not say where things are".to_owned() };
        // Paths of git are relative to where it was asked.
        let mut path = || Some(self.folder.join(lines.next()?));
        let (root, objects, index) =
            (path().ok_or_else(refused)?, path().ok_or_else(refused)?, path().ok_or_else(refused)?);
        let own_objects = scratch.join("objects");
        fs::create_dir_all(&own_objects).io("create", &own_objects)?;
        Ok(Scratch {
            root,
            objects: fs::canonicalize(&objects).io("find", &objects)?,
            own_objects: fs::canonicalize(&own_objects).io("find", &own_objects)?,
            index: own_index(&index, scratch)?,
        })
    }
}

impl Scratch {
    /// Returns what is left of a tree without what stands under the path of these parts.
    fn without(&self, tree: &str, path: &[&str]) -> Result<Left> {
        let Some((part, rest)) = path.split_first() else { return Ok(Left::All) };
        let listing = self.ask(&["ls-tree", "-z", tree], b"")?;
        // A record is mode, kind, id and, after a tab, the name.
        let mut records: Vec<&[u8]> = listing.split(|byte| *byte == 0).filter(|record| !record.is_empty()).collect();
        let name = |record: &[u8]| record.iter().position(|byte| *byte == b'\t').map(|tab| record[tab + 1..].to_vec());
        let Some(at) = records.iter().position(|record| name(record).as_deref() == Some(part.as_bytes())) else {
            return Ok(Left::All);
        };
        let record = String::from_utf8_lossy(records[at]).into_owned();
        let changed;
        if rest.is_empty() {
            records.remove(at);
        } else {
            let below = record.split([' ', '\t']).nth(2).unwrap_or_default();
            match self.without(below, rest)? {
                Left::All => return Ok(Left::All),
                // Git has no empty folders.
                Left::Nothing => drop(records.remove(at)),
                Left::Tree(tree) => {
                    changed = record.replacen(below, &tree, 1);
                    records[at] = changed.as_bytes();
                }
            }
        }
        if records.is_empty() {
            return Ok(Left::Nothing);
        }
        self.make_tree(&records).map(Left::Tree)
    }

    fn make_tree(&self, records: &[&[u8]]) -> Result<String> {
        let input: Vec<u8> = records.iter().flat_map(|record| record.iter().copied().chain([0])).collect();
        // Objects may be missing in a partial clone.
        let made = self.ask(&["mktree", "-z", "--missing"], &input)?;
        Ok(String::from_utf8_lossy(&made).trim().to_owned())
    }

    fn ask(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let variables = [
            ("GIT_INDEX_FILE", self.index.path()),
            ("GIT_OBJECT_DIRECTORY", &self.own_objects),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.objects),
        ];
        let answer = ask(&self.root, arguments, input, &variables, &[0])?;
        if answer.is_cut {
            let reason = "its answer is too long".to_owned();
            return Err(Error::Git { command: arguments.join(" "), reason });
        }
        Ok(answer.output)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::git;
    use super::super::{Lookup, WorkTree};
    use super::*;

    struct Project {
        folder: tempfile::TempDir,
    }

    impl Project {
        /// Makes a repository with a memory in a folder of it.
        fn new() -> Project {
            let folder = tempfile::tempdir().unwrap();
            let project = Project { folder };
            project.git(&["init", "--quiet"]);
            project.write("src/a.rs", "a").write(".ralph/knowledge/x.md", "x").write(".gitignore", "target/\n");
            project
        }

        fn root(&self) -> PathBuf {
            self.folder.path().join("p")
        }

        fn git(&self, arguments: &[&str]) {
            fs::create_dir_all(self.root()).unwrap();
            git(&self.root(), arguments);
        }

        fn write(&self, path: &str, text: &str) -> &Project {
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        fn commit(&self) {
            self.git(&["add", "--all"]);
            self.git(&["commit", "--quiet", "--message", "m"]);
        }

        fn scratch(&self) -> PathBuf {
            self.folder.path().join("scratch/git")
        }

        fn tree(&self) -> String {
            tree(&self.root().join(".ralph"), &self.scratch())
        }

        fn changes(&self, before: &str, after: &str) -> Changes {
            found(&self.root().join(".ralph")).changes(&self.scratch(), before, after).unwrap()
        }
    }

    #[track_caller]
    fn found(folder: &Path) -> WorkTree {
        match WorkTree::find(folder) {
            Lookup::Found(tree) => tree,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn tree(folder: &Path, scratch: &Path) -> String {
        let tree = found(folder).tree(scratch).unwrap();
        assert!(tree.len() >= 40 && tree.bytes().all(|byte| byte.is_ascii_hexdigit()), "{tree}");
        tree
    }

    #[test]
    fn a_state_that_comes_back_has_its_tree() {
        let project = Project::new();
        let first = project.tree();
        assert_eq!(project.tree(), first);
        // Neither the memory nor what is ignored counts, and committing changes nothing.
        project.write(".ralph/journal/run-1/0001.md", "j").write("target/x", "x");
        project.commit();
        assert_eq!(project.tree(), first);
        project.write("src/b.rs", "b");
        let second = project.tree();
        assert_ne!(second, first);
        fs::remove_file(project.root().join("src/b.rs")).unwrap();
        assert_eq!(project.tree(), first);
        // Another folder of the name counts.
        project.write("sub/.ralph/x", "x");
        assert_ne!(project.tree(), first);
    }

    #[test]
    fn the_committed_memory_is_no_part_of_it() {
        let project = Project::new();
        project.write("deep/er/.ralph/knowledge/x.md", "x").write("deep/beside", "b");
        let sub = project.root().join("deep/er/.ralph");
        let before = tree(&sub, &project.scratch());
        project.commit();
        assert_eq!(tree(&sub, &project.scratch()), before);
        project.write("deep/er/.ralph/knowledge/x.md", "xx");
        project.commit();
        assert_eq!(tree(&sub, &project.scratch()), before);
        assert_eq!(project.changes(&before, &before), Changes::default());
        // It is the tree that git makes of the rest, also where nothing is left.
        project.git(&["rm", "-r", "--cached", "--quiet", "deep/er"]);
        let output =
            std::process::Command::new("git").arg("write-tree").current_dir(project.root()).output().unwrap().stdout;
        assert_eq!(String::from_utf8(output).unwrap().trim(), before);
        project.git(&["rm", "-r", "--quiet", "src", "deep/beside", ".gitignore"]);
        fs::remove_dir_all(project.root().join("deep")).unwrap();
        project.commit();
        // The empty tree has the same id everywhere.
        assert_eq!(project.tree(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    }

    #[test]
    fn a_change_in_the_moment_of_the_index_is_seen() {
        let project = Project::new();
        project.git(&["config", "core.trustctime", "false"]);
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let stamp = |path: &str| {
            fs::File::options().write(true).open(project.root().join(path)).unwrap().set_modified(at).unwrap();
        };
        stamp("src/a.rs");
        project.git(&["add", "--all"]);
        stamp(".git/index");
        let before = project.tree();
        // As long as it was, and with its times.
        project.write("src/a.rs", "b");
        stamp("src/a.rs");
        assert_ne!(project.tree(), before);
    }

    #[test]
    fn changes_are_told_with_their_paths() {
        let project = Project::new();
        project.write("gone", "g");
        project.commit();
        let before = project.tree();
        project.write("src/a.rs", "changed").write("new \u{e9}.rs", "n").write(".ralph/knowledge/y.md", "y");
        fs::remove_file(project.root().join("gone")).unwrap();
        project.commit();
        let after = project.tree();
        let expected = Changes {
            created: vec!["new \u{e9}.rs".into()],
            modified: vec!["src/a.rs".into()],
            deleted: vec!["gone".into()],
        };
        assert_eq!(project.changes(&before, &after), expected);
        assert_eq!(project.changes(&after, &after), Changes::default());
    }

    #[test]
    fn the_repository_stays_as_it_is() {
        let project = Project::new();
        project.commit();
        project.write("src/a.rs", "staged");
        project.git(&["add", "src/a.rs"]);
        project.write("src/a.rs", "not staged").write("untracked", "u");
        let files = || {
            let mut files = BTreeMap::new();
            for entry in walkdir::WalkDir::new(project.root()) {
                let entry = entry.unwrap();
                if entry.file_type().is_file() {
                    files.insert(entry.path().to_owned(), fs::read(entry.path()).unwrap());
                }
            }
            files
        };
        let before = files();
        let first = project.tree();
        project.changes(&first, &first);
        assert_eq!(files(), before);
        let left: Vec<_> = fs::read_dir(project.scratch()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["objects"]);
    }

    #[test]
    fn linked_work_trees_and_subfolders_have_their_own() {
        let project = Project::new();
        project.commit();
        let linked = project.folder.path().join("linked");
        project.git(&["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
        assert_eq!(tree(&linked.join(".ralph"), &project.scratch()), project.tree());
        fs::write(linked.join("src/a.rs"), "other").unwrap();
        assert_ne!(tree(&linked.join(".ralph"), &project.scratch()), project.tree());
        // A memory in a subfolder leaves itself out, and the other one in.
        project.write("sub/.ralph/knowledge/z.md", "z");
        let sub = project.root().join("sub/.ralph");
        let before = tree(&sub, &project.scratch());
        project.write("sub/.ralph/knowledge/z.md", "zz");
        assert_eq!(tree(&sub, &project.scratch()), before);
        project.write(".ralph/knowledge/x.md", "xx");
        assert_ne!(tree(&sub, &project.scratch()), before);
    }

    #[test]
    fn odd_states_give_a_tree_or_an_error() {
        let project = Project::new();
        // Nothing was ever committed, and somebody holds the lock of the index.
        project.write(".git/index.lock", "");
        project.tree();
        fs::remove_file(project.root().join(".git/index.lock")).unwrap();
        project.commit();
        project.git(&["checkout", "--quiet", "-b", "other"]);
        project.write("src/a.rs", "theirs");
        project.commit();
        project.git(&["checkout", "--quiet", "-"]);
        project.write("src/a.rs", "ours");
        project.commit();
        let merged = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@e", "merge", "other"])
            .current_dir(project.root())
            .output()
            .unwrap();
        assert!(!merged.status.success());
        project.tree();
        // An index that is none.
        project.write(".git/index", "broken");
        assert!(matches!(found(&project.root().join(".ralph")).tree(&project.scratch()), Err(Error::Git { .. })));
    }
}
