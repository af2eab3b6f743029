//! What lies around a memory: what each command may change there, and what must stay as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::clients::Own;
use super::repository::Clone;

/// Where the program keeps what could not be written, and what setup did, in the home of the user.
pub(super) const KEPT: &str = ".local/state/ralph-memory/";
/// What the names of files begin with that are written beside the one that they will replace.
const TEMPORARY: &str = ".tmp-";

/// What lies around a memory.
pub(super) struct Around<'a> {
    memory: PathBuf,
    project: PathBuf,
    home: PathBuf,
    /// The folder for files of git.
    git: PathBuf,
    /// Where `man` writes its pages: in the repository if the memory is in a folder of it.
    man: PathBuf,
    own: &'a Own,
    /// Folders of which nothing may change but what a command is there to change.
    folders: Vec<PathBuf>,
}

/// What a file system says of a file or a folder, and where a link leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    mode: u32,
    size: u64,
    changed: (i64, i64),
    leads_to: Option<PathBuf>,
}

pub(super) type Listing = BTreeMap<PathBuf, Seen>;

impl<'a> Around<'a> {
    /// `home` and `outside` are looked at too if they
    /// are listed in `folders`.
    pub(super) fn new(clone: &Clone, home: &Path, own: &'a Own, folders: Vec<PathBuf>) -> Around<'a> {
        Around {
            memory: fs::canonicalize(clone.root.join(".ralph")).unwrap(),
            project: fs::canonicalize(&clone.root).unwrap(),
            home: home.to_owned(),
            git: clone.top.join(".git"),
            man: clone.root.parent().unwrap().join("man"),
            own,
            folders,
        }
    }

    /// Returns whether a command may make, change or remove what is at a path.
    pub(super) fn may_change(&self, call: &str, path: &Path, command: &str) -> bool {
        let kept = self.home.join(KEPT);
        let is_of = |folder: &Path, files: &BTreeSet<PathBuf>| {
            path.strip_prefix(folder).is_ok_and(|path| files.iter().any(|file| is_or_leads_to(path, file)))
        };
        let checklist = BTreeSet::from([PathBuf::from("TODO.md")]);
        // Git gives an object that it is to store and has already a new time, which keeps it from being pruned.
        (call == "utimensat" && path.starts_with(self.git.join("objects")))
            || call == "socket" && command == "serve"
            || path.starts_with(&self.memory) && path != self.memory
            // The copies of attempts for other work trees.
            || path.starts_with(self.git.join("ralph-memory"))
            || path.starts_with("/dev/null")
            || path.starts_with("/dev/tty")
            // Pipes and memory have names of this form.
            || path.to_str().is_some_and(|path| path.starts_with("pipe:") || path.starts_with("/memfd:"))
            || kept.ancestors().take(3).any(|folder| path == folder)
            || path.starts_with(&kept)
            // What `run` gives to an agent lies in the folder for temporary files, and so does the database that is imported.
            || (["run", "import", "edit"].contains(&command) && path.starts_with(std::env::temp_dir()) && !self.folders.iter().any(|folder| path.starts_with(folder)) && !path.starts_with(&self.home))
            || (command == "run" && (is_of(&self.project, &checklist) || path.starts_with(self.project.join("logs"))))
            || (command == "check" && path.parent() == Some(&self.git) && path.file_stem().is_some_and(|name| name == "config"))
            || (command == "init" && path.starts_with(self.project.join(".claude")))
            || (command == "setup" && (is_of(&self.project, &self.own.project_paths) || is_of(&self.home, &self.own.home_paths)))
            || (command == "man" && (path.starts_with(&self.man) || path.starts_with(self.project.join("manual"))))
    }

    /// Returns what a command changed that it must not.
    pub(super) fn changed(&self, before: &Listing, now: &Listing, command: &str) -> Option<String> {
        let names: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
        let differs = |name: &&PathBuf| before.get(*name) != now.get(*name);
        let changed: Vec<_> =
            names.into_iter().filter(differs).filter(|name| !self.may_change("", name, command)).collect();
        (!changed.is_empty()).then(|| format!("changed: {changed:?}"))
    }

    /// Returns what is in the folders, but for the memory itself.
    pub(super) fn look(&self) -> Listing {
        let mut seen = BTreeMap::new();
        let mut folders = self.folders.clone();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap) {
                let path = entry.path();
                if path == self.memory {
                    continue;
                }
                // A temporary file may be gone by now.
                let Ok(stat) = fs::symlink_metadata(&path) else { continue };
                let is_folder = stat.is_dir();
                // A folder has a new time where a name in it is replaced, and so has an object that git has already.
                let is_untimed = is_folder || path.starts_with(self.git.join("objects"));
                let changed = if is_untimed { (0, 0) } else { (stat.mtime(), stat.mtime_nsec()) };
                let size = if is_folder { 0 } else { stat.size() };
                let leads_to = if stat.is_symlink() { fs::read_link(&path).ok() } else { None };
                if is_folder {
                    folders.push(path.clone());
                }
                seen.insert(path, Seen { mode: stat.mode(), size, changed, leads_to });
            }
        }
        seen
    }
}

/// Returns whether a path is a file, a folder above it, or a file that is written beside it.
fn is_or_leads_to(path: &Path, file: &Path) -> bool {
    let is_temporary = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY));
    file.starts_with(path) || is_temporary && path.parent() == file.parent()
}
