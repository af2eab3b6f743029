//! The state of a work tree as one id: the git tree of its files.
//!
//! Two attempts that leave the same files have the same tree, whatever was committed in between. The repository is not
//! touched: an index and trees are written to a folder of the caller, which git reads in addition to its own. File
//! contents are not written anywhere, because only their object ids are needed, and no filter sees them. Untracked and
//! modified files are identified by their content if they are small, otherwise by their size and modification time.
//! Each file is considered alone, so that adding one does not affect the others. If there is too much to read, there is
//! no tree.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::call::GitCall;
use super::object::ObjectName;
use super::{WorkTree, names};
use crate::error::{Error, IoContext as _, Result, read_limited};
use crate::store::Folder;
use crate::system::posix::MetadataExt as _;
use crate::system::posix::fs::{Mode, OFlags, open};
use crate::system::posix::{os_string, plain};

/// The largest file whose content is read, in bytes. Source files are smaller, and data files are larger.
const MAX_FILE: u64 = 256 * 1024;
/// The limit of all file contents together, in bytes. Above it, there is no tree.
const MAX_READ: u64 = 128 * 1024 * 1024;
/// The limit on the number of files that are read. Above it, there is no tree.
const MAX_FILES: usize = 50_000;
/// The limit of a list of paths, in bytes: a few hundred thousand paths.
const MAX_LIST: u64 = 32 * 1024 * 1024;

/// The differences between two trees; paths are relative to the work tree's root, with `/` between their parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub created: Vec<String>,
    pub modified: Vec<String>,
    pub deleted: Vec<String>,
}

/// An untracked or modified file.
enum Located {
    /// A regular file, with its size, its modification time in nanoseconds, and whether it is executable.
    File { size: u64, changed: i128, executable: bool },
    /// A link, with its target.
    Link(OsString),
    /// A repository of its own.
    Repository,
    /// Something that git does not track.
    Nothing,
}

/// A private copy of a repository's index; removed at the end.
struct OwnIndex {
    path: PathBuf,
    folder: Folder,
    name: String,
}

impl Drop for OwnIndex {
    fn drop(&mut self) {
        // If the file stays, it is small, and the next one has another name.
        let _ = self.folder.remove_file(&self.name);
    }
}

/// Copies the index of a repository, `index`, to the folder `scratch`, so that git knows which files are unchanged. A
/// new repository has no index.
fn own_index(index: &Path, scratch: &Path) -> Result<OwnIndex> {
    let folder = Folder::make(scratch).io("create", scratch)?;
    let scratch = plain(fs::canonicalize(scratch).io("find", scratch)?);
    let name = format!("index-{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "");
    let own = OwnIndex { path: scratch.join(&name), folder, name };
    let mut from = match fs::File::open(index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(own),
        opened => opened.io("read", index)?,
    };
    // A leftover of a process with the same id.
    let _ = own.folder.remove_file(&own.name);
    let mut copy = own.folder.create_private(&own.name).io("create", &own.path)?;
    io::copy(&mut from, &mut copy).io("copy", index)?;
    // Git rereads files whose modification time is not older than the index. A copy newer than the index would hide
    // such a change.
    let time = from.metadata().and_then(|stat| stat.modified()).io("read", index)?;
    copy.set_modified(time).io("set the time of", &own.path)?;
    Ok(own)
}

/// Git's working files for making a tree.
struct Scratch<'a> {
    tree: &'a WorkTree,
    settings: Vec<String>,
    /// Whether the executable bit of files is recorded.
    has_modes: bool,
    /// Where new objects are written.
    objects: PathBuf,
    index: OwnIndex,
}

impl WorkTree {
    /// Returns the id of the git tree of the current files, tracked or not, except for ignored ones and those of the
    /// given folder, which is the memory itself.
    ///
    /// An untracked or modified file is identified by its content up to 256 KiB, and by its size and modification time
    /// above that, whatever other files there are. The content is that on disk: a file that git would store in another
    /// form, or that is too large, gets another object id in the tree once it is committed.
    ///
    /// `scratch` is a folder, created if it is missing, that contains the new trees afterwards; after a failure it
    /// contains none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the files to read are more than 50,000 or 128 MiB together, [`Error::Git`] when
    /// `git` refuses, [`Error::Io`] when `scratch` cannot be written.
    pub(crate) fn tree(&self, scratch: &Path) -> Result<String> {
        let place = self.scratch(scratch)?;
        let made = place.make();
        if made.is_err() {
            // The disk may be full. Missing trees only cost a list of changed files.
            let _ = Folder::open(&place.objects).and_then(|objects| objects.clear());
        }
        Ok(made?.as_str().to_owned())
    }

    /// Returns the differences between two trees that were made with the same `scratch`.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::tree`], and [`Error::Git`] if one is not an object id.
    pub(crate) fn changes(&self, scratch: &Path, before: &str, after: &str) -> Result<Changes> {
        let (before, after) = (ObjectName::parse(before)?, ObjectName::parse(after)?);
        let mut changes = Changes::default();
        if before == after {
            return Ok(changes);
        }
        let place = self.scratch(scratch)?;
        let words = ["diff-tree", "-r", "--no-renames", "--ignore-submodules=none", "--name-status", "-z"];
        let output = place.call(&words).object(&before).object(&after).ask_all()?;
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

    /// Prepares the folder for git's working files.
    fn scratch(&self, scratch: &Path) -> Result<Scratch<'_>> {
        let objects = scratch.join("objects");
        Folder::make(&objects).io("create", &objects)?;
        // Objects are small and short-lived, so they are not compressed.
        let (mut settings, has_modes) = self.index_settings()?;
        settings.push("core.looseCompression=0".to_owned());
        Ok(Scratch {
            tree: self,
            settings,
            has_modes,
            objects: plain(fs::canonicalize(&objects).io("find", &objects)?),
            index: own_index(&self.index, scratch)?,
        })
    }
}

impl Scratch<'_> {
    /// Makes the tree of the current files.
    fn make(&self) -> Result<ObjectName> {
        // Refreshes the index, so that touched but unchanged files count as unchanged. 1 means that something differs.
        self.call(&["update-index", "-q", "--unmerged", "--ignore-submodules", "--refresh"]).good(&[0, 1]).ask()?;
        let words = ["diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty"];
        let changed = self.but_memory(self.call(&words)).limit(MAX_LIST).ask_all()?;
        let words = ["ls-files", "-z", "--others", "--exclude-standard"];
        let untracked = self.but_memory(self.call(&words)).limit(MAX_LIST).ask_all()?;
        // The path of a nested repository ends in `/`.
        let paths: BTreeSet<&[u8]> = [&changed, &untracked]
            .into_iter()
            .flat_map(|list| list.split(|byte| *byte == 0))
            .map(|path| path.strip_suffix(b"/").unwrap_or(path))
            .filter(|path| !path.is_empty())
            .collect();
        self.update(&paths)?;
        self.call(&["write-tree", "--missing-ok"]).made()
    }

    /// Adds lines that remove the memory, including all stages of its conflicts. A file is put in place of the folder,
    /// stage by stage, which drops what is in the folder; the file itself is removed at the end.
    fn remove_memory(&self, list: &mut Vec<u8>) {
        let Some(memory) = self.tree.own_path() else { return };
        let name = self.tree.name_of(b"");
        for side in ["", " 1", " 2", " 3"] {
            record(list, "100644", &format!("{}{side}", name.as_str()), memory.as_bytes());
        }
        self.remove(list, memory.as_bytes());
    }

    /// Adds a line for `git update-index --index-info` that removes a path.
    fn remove(&self, list: &mut Vec<u8>, path: &[u8]) {
        record(list, "0", &"0".repeat(self.tree.digits), path);
    }

    /// Adds the files at these paths to the index, and removes the memory from it.
    fn update(&self, paths: &BTreeSet<&[u8]>) -> Result<()> {
        let mut folders = HashMap::new();
        let mut look =
            |path| if self.is_linked(path, &mut folders) { Located::Nothing } else { look(&self.full(path)) };
        let found: Vec<(&[u8], Located)> = paths.iter().map(|path| (*path, look(path))).collect();
        check_sizes(found.iter().filter_map(|(_, found)| match found {
            Located::File { size, .. } => Some(*size),
            _ => None,
        }))?;
        let (mut removed, mut added, mut repositories) = (Vec::new(), Vec::new(), Vec::new());
        for (path, found) in found {
            match found {
                Located::File { size, changed, executable } => {
                    let mode = if executable && self.has_modes { "100755" } else { "100644" };
                    let content = if size <= MAX_FILE { read(&self.full(path)) } else { None };
                    // The object with this id is never read, so it need not exist.
                    let content = content.unwrap_or_else(|| format!("{size} bytes of {changed}").into_bytes());
                    record(&mut added, mode, self.tree.name_of(&content).as_str(), path);
                }
                Located::Link(target) => {
                    let name = self.tree.name_of(target.as_encoded_bytes());
                    record(&mut added, "120000", name.as_str(), path);
                }
                Located::Repository => repositories.push(path),
                Located::Nothing => self.remove(&mut removed, path),
            }
        }
        if !repositories.is_empty() {
            // Git finds the commits. It refuses if one of them has none yet; then all of them are recorded only as
            // existing.
            let list: Vec<u8> = repositories.join(&0);
            let words = ["update-index", "--add", "--replace", "-z", "--stdin"];
            if self.call(&words).input(&list).ask().is_err() {
                let name = self.tree.name_of(b"a repository");
                for path in repositories {
                    record(&mut added, "160000", name.as_str(), path);
                }
            }
        }
        let mut records = [removed, added].concat();
        self.remove_memory(&mut records);
        if !records.is_empty() {
            self.call(&["update-index", "-z", "--index-info"]).input(&records).ask()?;
        }
        Ok(())
    }

    /// Returns whether a path leads through a link to a folder; nothing behind it is in the work tree. `known` caches
    /// the results for checked folders.
    fn is_linked<'a>(&self, path: &'a [u8], known: &mut HashMap<&'a [u8], bool>) -> bool {
        let Some(end) = path.iter().rposition(|byte| *byte == b'/') else { return false };
        let folder = &path[..end];
        if let Some(is_linked) = known.get(folder) {
            return *is_linked;
        }
        let is_linked = self.is_linked(folder, known) || self.full(folder).is_symlink();
        known.insert(folder, is_linked);
        is_linked
    }

    fn full(&self, path: &[u8]) -> PathBuf {
        self.tree.root.join(os_string(path.to_vec()))
    }

    /// Excludes the memory from a call.
    fn but_memory<'a>(&self, call: GitCall<'a>) -> GitCall<'a> {
        match self.tree.own_path() {
            Some(memory) => call.magic().paths([format!(":(exclude,top,literal){memory}")]),
            None => call,
        }
    }

    fn call<'a>(&self, words: &[&'static str]) -> GitCall<'a> {
        let call = GitCall::within(self.tree, &self.settings, words).index(&self.index.path);
        call.objects(&self.objects, &self.tree.objects)
    }
}

/// Adds a line for `git update-index --index-info`.
fn record(list: &mut Vec<u8>, mode: &str, name: &str, path: &[u8]) {
    list.extend_from_slice(format!("{mode} {name}\t").as_bytes());
    list.extend_from_slice(path);
    list.push(0);
}

/// Refuses too many or too large files. Reading only some of them would make the result for one file depend on the
/// others.
fn check_sizes(sizes: impl Iterator<Item = u64>) -> Result<()> {
    let (count, bytes) =
        sizes.filter(|size| *size <= MAX_FILE).fold((0, 0), |(count, sum), size| (count + 1, sum + size));
    if count <= MAX_FILES && bytes <= MAX_READ {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1024 * 1024);
    let reason = format!(
        "{count} files, {} MiB together, are untracked or modified, and the limits are {MAX_FILES} files and {} MiB: \
         commit them, or name what is generated in `.gitignore`",
        mebibytes(bytes),
        mebibytes(MAX_READ),
    );
    Err(Error::invalid("cannot read the work tree", reason))
}

/// Returns the kind of file at a path.
fn look(path: &Path) -> Located {
    let Ok(stat) = fs::symlink_metadata(path) else { return Located::Nothing };
    if stat.is_file() {
        let changed = i128::from(stat.mtime()) * 1_000_000_000 + i128::from(stat.mtime_nsec());
        Located::File { size: stat.len(), changed, executable: stat.mode() & 0o100 != 0 }
    } else if stat.is_symlink() {
        fs::read_link(path).map_or(Located::Nothing, |target| Located::Link(target.into_os_string()))
    } else if stat.is_dir() && path.join(".git").symlink_metadata().is_ok() {
        Located::Repository
    } else {
        Located::Nothing
    }
}

/// Reads a file of up to [`MAX_FILE`] bytes; `None` if it cannot be read, or has grown too large.
fn read(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(open(path, flags, Mode::empty()).ok()?);
    read_limited(file, MAX_FILE).ok()?
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::{TestProject, command, found, git};
    use super::*;

    impl TestProject {
        fn scratch(&self) -> PathBuf {
            self.0.path().join("scratch/git")
        }

        fn tree(&self) -> String {
            tree(&self.root().join(".ralph"), &self.scratch())
        }

        fn changes(&self, before: &str, after: &str) -> Changes {
            self.work_tree().changes(&self.scratch(), before, after).unwrap()
        }
    }

    #[track_caller]
    fn tree(folder: &Path, scratch: &Path) -> String {
        let tree = found(folder).tree(scratch).unwrap();
        assert!(tree.len() >= 40 && tree.bytes().all(|byte| byte.is_ascii_hexdigit()), "{tree}");
        tree
    }

    #[test]
    fn an_equal_state_has_the_same_tree() {
        let project = TestProject::new();
        project.write(".gitignore", "target/\n");
        let first = project.tree();
        assert_eq!(project.tree(), first);
        // Neither the memory nor ignored files count, and committing changes nothing.
        project.write(".ralph/journal/run-1/0001.md", "j").write("target/x", "x");
        project.commit();
        assert_eq!(project.tree(), first);
        project.write("src/b.rs", "b");
        let second = project.tree();
        assert_ne!(second, first);
        fs::remove_file(project.root().join("src/b.rs")).unwrap();
        assert_eq!(project.tree(), first);
        // Another folder with this name counts.
        project.write("sub/.ralph/x", "x");
        assert_ne!(project.tree(), first);
    }

    #[test]
    fn the_tree_excludes_the_committed_memory() {
        let project = TestProject::new();
        project.write("deep/er/.ralph/knowledge/x.md", "x").write("deep/beside", "b");
        let sub = project.root().join("deep/er/.ralph");
        let before = tree(&sub, &project.scratch());
        project.commit();
        assert_eq!(tree(&sub, &project.scratch()), before);
        project.write("deep/er/.ralph/knowledge/x.md", "xx");
        project.commit();
        assert_eq!(tree(&sub, &project.scratch()), before);
        assert_eq!(project.changes(&before, &before), Changes::default());
        // It is the tree that git makes of the rest, even if nothing is left.
        project.git(&["rm", "-r", "--cached", "--quiet", "deep/er"]);
        assert_eq!(git(&project.root(), &["write-tree"]), before);
        project.git(&["rm", "-r", "--quiet", "src", "deep/beside"]);
        fs::remove_dir_all(project.root().join("deep")).unwrap();
        project.commit();
        // The empty tree has the same id everywhere.
        assert_eq!(project.tree(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    }

    #[test]
    fn a_change_at_the_time_of_the_index_is_seen() {
        let project = TestProject::new();
        project.git(&["config", "core.trustctime", "false"]);
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let stamp = |path: &str| {
            fs::File::options().write(true).open(project.root().join(path)).unwrap().set_modified(at).unwrap();
        };
        stamp("src/a.rs");
        project.git(&["add", "--all"]);
        stamp(".git/index");
        let before = project.tree();
        // The file has the same length and times as before.
        project.write("src/a.rs", "b");
        stamp("src/a.rs");
        assert_ne!(project.tree(), before);
    }

    #[test]
    fn changes_are_listed_by_path() {
        let project = TestProject::new();
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
    fn making_a_tree_leaves_the_repository_unchanged() {
        let project = TestProject::new();
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
        let project = TestProject::new();
        project.commit();
        let linked = project.0.path().join("linked");
        project.git(&["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
        assert_eq!(tree(&linked.join(".ralph"), &project.scratch()), project.tree());
        fs::write(linked.join("src/a.rs"), "other").unwrap();
        assert_ne!(tree(&linked.join(".ralph"), &project.scratch()), project.tree());
        // A memory in a subfolder leaves itself out, and includes the other one.
        project.write("sub/.ralph/knowledge/z.md", "z");
        let sub = project.root().join("sub/.ralph");
        let before = tree(&sub, &project.scratch());
        project.write("sub/.ralph/knowledge/z.md", "zz");
        assert_eq!(tree(&sub, &project.scratch()), before);
        project.write(".ralph/knowledge/x.md", "xx");
        assert_ne!(tree(&sub, &project.scratch()), before);
    }

    #[test]
    fn no_name_of_a_tree_is_an_option() {
        let project = TestProject::new();
        let tree = project.tree();
        let victim = project.0.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let option = format!("--output={}", victim.display());
        for (before, after) in
            [(option.as_str(), tree.as_str()), (&tree, &option), ("HEAD", &tree), (&tree[1..], &tree)]
        {
            let changes = project.work_tree().changes(&project.scratch(), before, after);
            assert!(matches!(changes, Err(Error::Git { .. })), "{before} {after}: {changes:?}");
        }
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    }

    #[test]
    fn large_files_count_by_size_and_time() {
        let project = TestProject::new();
        project.commit();
        let without = project.tree();
        let at = |seconds| std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let data = project.root().join("data.bin");
        let make = |size: u64, seconds: u64| {
            let file = fs::File::options().create(true).truncate(true).write(true).open(&data).unwrap();
            file.set_len(size).unwrap();
            file.set_modified(at(seconds)).unwrap();
        };
        // 2 GiB that are neither read nor written.
        let large = 2 * 1024 * 1024 * 1024;
        make(large, 1);
        let first = project.tree();
        assert!(size_of(&project.scratch()) < 64 * 1024, "{}", size_of(&project.scratch()));
        assert_ne!(first, without);
        make(large, 2);
        let later = project.tree();
        assert_ne!(later, first);
        let expected = Changes { modified: vec!["data.bin".into()], ..Changes::default() };
        assert_eq!(project.changes(&first, &later), expected);
        make(large + 1, 1);
        assert_ne!(project.tree(), first);
        make(large, 1);
        assert_eq!(project.tree(), first);
        // A small file is identified by its content, whenever it was written.
        make(MAX_FILE, 1);
        let small = project.tree();
        make(MAX_FILE, 2);
        assert_eq!(project.tree(), small);
        fs::remove_file(&data).unwrap();
        assert_eq!(project.tree(), without);
    }

    #[test]
    fn an_added_file_does_not_affect_others() {
        for (before, after, size) in [(8_180, 20, 1), (40, 20, 600_000)] {
            let project = TestProject::new();
            let add = |folder: &str, count| {
                for number in 0..count {
                    project.write(&format!("{folder}/{number:04}"), &"x".repeat(size));
                }
            };
            add("before", before);
            let first = project.tree();
            add("after", after);
            let expected = (0..after).map(|number| format!("after/{number:04}")).collect();
            let expected = Changes { created: expected, ..Changes::default() };
            assert_eq!(project.changes(&first, &project.tree()), expected);
        }
    }

    #[test]
    fn too_much_to_read_is_an_error_before_anything_is_read() {
        let (most, size) = (MAX_READ / MAX_FILE, |count, size| check_sizes(std::iter::repeat_n(size, count)));
        assert!(size(usize::try_from(most).unwrap(), MAX_FILE).is_ok() && size(MAX_FILES, 1).is_ok());
        assert!(size(MAX_FILES + 1, 0).is_err());
        // A file over the limit is not read.
        assert!(size(MAX_FILES + 1, MAX_FILE + 1).is_ok());
        let project = TestProject::new();
        let make = |number| {
            let path = project.root().join(format!("data-{number}"));
            fs::File::create(path).unwrap().set_len(MAX_FILE).unwrap();
        };
        (0..most).for_each(make);
        let error = project.work_tree().tree(&project.scratch()).unwrap_err().to_string();
        // The other file belongs to every project here.
        assert!(error.starts_with("cannot read the work tree: 513 files, 129 MiB together, are untracked"), "{error}");
        assert_eq!(size_of(&project.scratch()), 0);
        project.write(".gitignore", "data-*\n");
        project.tree();
    }

    fn size_of(folder: &Path) -> u64 {
        let files = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.unwrap().metadata().unwrap());
        files.filter(fs::Metadata::is_file).map(|stat| stat.len()).sum()
    }

    #[test]
    fn every_kind_of_file_has_its_place_in_the_tree() {
        let project = TestProject::new();
        let root = project.root();
        project.write("file", "f").write("folder/x", "x").write("program", "p").write("was/file", "f");
        project.write("odd \"name\"\n\r", "o").write("linked/x", "x");
        project.commit();
        // A file becomes a folder, a folder a file, and another folder a link; one file becomes executable, one
        // unreadable.
        fs::remove_file(root.join("file")).unwrap();
        fs::remove_dir_all(root.join("folder")).unwrap();
        fs::remove_dir_all(root.join("linked")).unwrap();
        project.write("file/x", "x").write("folder", "f").write("odd \"name\"\n\r", "changed");
        std::os::unix::fs::symlink("was", root.join("linked")).unwrap();
        std::os::unix::fs::symlink("/nowhere", root.join("broken")).unwrap();
        let program = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(root.join("program"), program).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        fs::remove_file(root.join("was/file")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join("was/file"), Mode::from_raw_mode(0o600)).unwrap();
        // Repositories in it: one has a commit, and one none.
        project.write("other/x", "x").write("empty/x", "x");
        git(&root.join("other"), &["init", "--quiet"]);
        git(&root.join("other"), &["commit", "--quiet", "--allow-empty", "--message", "m"]);
        let found = project.tree();
        let with_empty = {
            git(&root.join("empty"), &["init", "--quiet"]);
            project.tree()
        };
        assert_ne!(with_empty, found);
        fs::remove_dir_all(root.join("empty/.git")).unwrap();
        assert_eq!(project.tree(), found);
        // It is the tree that git itself makes of them.
        fs::remove_file(root.join("was/file")).unwrap();
        project.git(&["-c", "advice.addEmbeddedRepo=false", "add", "--all"]);
        project.git(&["rm", "-r", "--cached", "--quiet", ".ralph"]);
        assert_eq!(git(&root, &["write-tree"]), found);
    }

    #[test]
    fn nothing_is_read_through_a_link_in_place_of_a_folder() {
        for link in ["d", "d/e"] {
            let project = TestProject::new();
            let (root, outside) = (project.root(), project.0.path().join("outside"));
            project.write("d/e/f", "f").write("d/e/g", "g").write("d-beside/f", "f");
            project.commit();
            let before = project.tree();
            fs::rename(root.join(link), &outside).unwrap();
            std::os::unix::fs::symlink(&outside, root.join(link)).unwrap();
            let linked = project.tree();
            let expected =
                Changes { created: vec![link.into()], modified: vec![], deleted: vec!["d/e/f".into(), "d/e/g".into()] };
            assert_eq!(project.changes(&before, &linked), expected);
            // A change there is not a change of the project.
            let there = root.join("d/e/f");
            fs::write(&there, "another text").unwrap();
            assert_eq!(project.tree(), linked);
        }
    }

    #[test]
    fn no_filter_sees_a_file() {
        let project = TestProject::new();
        let trace = project.0.path().join("trace");
        project.write(".gitattributes", "* filter=trap\n").write("src/b.rs", "b");
        project.commit();
        let before = project.tree();
        for kind in ["clean", "smudge", "process"] {
            project.git(&["config", &format!("filter.trap.{kind}"), &format!("touch '{}'; cat", trace.display())]);
        }
        project.git(&["config", "filter.trap.required", "true"]);
        // Touched, changed, and new.
        project.write("src/a.rs", "a").write("src/b.rs", "c").write("new", "n");
        let after = project.tree();
        assert!(!trace.exists());
        let expected = Changes { created: vec!["new".into()], modified: vec!["src/b.rs".into()], deleted: vec![] };
        assert_eq!(project.changes(&before, &after), expected);
        project.work_tree().uncommitted().unwrap();
        assert!(!trace.exists());
    }

    #[test]
    fn odd_states_give_a_tree_or_an_error() {
        let project = TestProject::new();
        // Nothing was ever committed, and another process holds the index lock.
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
        let merged = command(&project.root(), &["merge", "other"]).output().unwrap();
        assert!(!merged.status.success());
        project.tree();
        // An invalid index leaves nothing behind, and the next call works again.
        project.write(".git/index", "broken");
        assert!(matches!(project.work_tree().tree(&project.scratch()), Err(Error::Git { .. })));
        assert_eq!(size_of(&project.scratch()), 0);
        fs::remove_file(project.root().join(".git/index")).unwrap();
        project.tree();
    }

    #[test]
    fn a_conflict_in_the_memory_leaves_the_tree_as_it_is() {
        let project = TestProject::new();
        project.commit();
        let ours = project.tree();
        project.git(&["checkout", "--quiet", "-b", "other"]);
        project.write(".ralph/knowledge/x.md", "theirs").write(".ralph/odd \"\n name.md", "theirs");
        project.commit();
        project.git(&["checkout", "--quiet", "-"]);
        project.write(".ralph/knowledge/x.md", "ours").write(".ralph/odd \"\n name.md", "ours");
        project.commit();
        let merged = command(&project.root(), &["merge", "other"]).output().unwrap();
        assert!(!merged.status.success());
        let index = fs::read(project.root().join(".git/index")).unwrap();
        assert_eq!(project.tree(), ours);
        // The conflict remains for those who have to resolve it.
        assert_eq!(fs::read(project.root().join(".git/index")).unwrap(), index);
        project.write("src/b.rs", "b");
        let expected = Changes { created: vec!["src/b.rs".into()], ..Changes::default() };
        assert_eq!(project.changes(&ours, &project.tree()), expected);
    }
}
