//! The clone that a memory is in: git's common folder, which all work trees of a repository share.
//!
//! It is found by reading `.git`, without a process or a variable. A `.git` file may come with an unpacked archive, and must
//! not lead to another project, so a repository counts only if it points back at the work tree.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::folder::Folder;
use crate::system::posix::fs::{Mode, OFlags, open, stat};
use crate::system::posix::os_string;
use crate::system::posix::process::geteuid;

/// How much of a file of git is read, in bytes: it contains one path, or begins with the section that has it.
const MAX_GIT_FILE: u64 = 8 * 1024;

/// The clone that a memory is in.
#[derive(Debug)]
pub(super) struct GitClone {
    /// Git's common folder.
    common: PathBuf,
    /// A hash of the memory's place in the repository, and of the user.
    pub(super) key: String,
    /// What tells this work tree from all others, if it is a linked one.
    pub(super) tree: Option<String>,
}

impl GitClone {
    /// Finds the clone of the memory in `root`.
    pub(super) fn of(root: &Path) -> Option<GitClone> {
        let root = root.canonicalize().ok()?;
        let top = root.ancestors().find(|folder| git_dir(folder).is_some())?;
        let place = root.strip_prefix(top).ok()?.as_os_str().as_encoded_bytes();
        let key = xxh3_128(&[place, b"\0", geteuid().as_raw().to_string().as_bytes()].concat());
        let (own, common) = folders(top)?;
        let tree = if own == common { None } else { tree_name(&own) };
        Some(GitClone { common, key: format!("{key:032x}"), tree })
    }

    /// Opens git's common folder, the only way to what is in it. It may have been replaced by a link since it was found.
    pub(super) fn open(&self) -> io::Result<Folder> {
        Folder::open_no_link(&self.common)
    }

    /// Returns the path of something in git's common folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.common.join(name)
    }

    /// Returns whether a linked work tree is there no more.
    pub(super) fn is_gone(&self, tree: &str) -> bool {
        let name = tree.rsplit_once('-').map_or(tree, |(name, _)| name);
        let own = self.common.join("worktrees").join(name);
        let is_there = pointed_at(&own.join("gitdir"), "").is_some_and(|file| file.symlink_metadata().is_ok());
        !is_there || tree_name(&own).as_deref() != Some(tree)
    }
}

/// Returns the name of a linked work tree, and the inode number of git's folder for it: another tree may get the name later.
fn tree_name(own: &Path) -> Option<String> {
    Some(format!("{}-{}", own.file_name()?.to_str()?, stat(own).ok()?.st_ino))
}

/// Returns git's folder of the work tree with this top, and the common one, if they point back at the work tree.
fn folders(top: &Path) -> Option<(PathBuf, PathBuf)> {
    let file = top.join(".git");
    let stat = file.symlink_metadata().ok()?;
    let own = git_dir(top)?.canonicalize().ok()?;
    let common = pointed_at(&own.join("commondir"), "").and_then(|common| common.canonicalize().ok());
    let is_own = match &common {
        // Git makes no such file in a folder that is a repository of its own.
        _ if stat.is_dir() => common.is_none(),
        _ if !stat.is_file() => false,
        // A linked work tree. Git's folder of it lies in the repository: a file beside this one proves nothing.
        Some(common) => {
            let back = pointed_at(&own.join("gitdir"), "").and_then(|back| back.canonicalize().ok());
            own.parent() == Some(&common.join("worktrees")) && back == Some(file)
        }
        // A submodule: its folder is in that of the repository around it, and names it.
        None => {
            let around = top.parent()?.ancestors().find(|folder| git_dir(folder).is_some())?;
            let (above, shared) = folders(around)?;
            let is_in = own.starts_with(above.join("modules")) || own.starts_with(shared.join("modules"));
            let names = |config| pointed_at(&own.join(config), "worktree = ")?.canonicalize().ok();
            is_in && names("config.worktree").or_else(|| names("config")).as_deref() == Some(top)
        }
    };
    is_own.then(|| (own.clone(), common.unwrap_or(own)))
}

/// Returns git's folder of the work tree with this top; `None` if `folder` is not one.
pub(crate) fn git_dir(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let found = fs::metadata(&path).ok()?;
    if found.is_dir() {
        return path.join("HEAD").symlink_metadata().is_ok().then_some(path);
    }
    pointed_at(&path, "gitdir: ")
}

/// Returns the path in a file of git, in the first line that has this word before it.
fn pointed_at(path: &Path, word: &str) -> Option<PathBuf> {
    // Opening a pipe would block, and one may have replaced the file in the meantime.
    let file = open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let file = Some(File::from(file)).filter(|file| file.metadata().is_ok_and(|stat| stat.is_file()))?;
    let mut bytes = Vec::new();
    file.take(MAX_GIT_FILE).read_to_end(&mut bytes).ok()?;
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let target = lines.find_map(|line| line.strip_prefix(word.as_bytes())).filter(|target| !target.is_empty())?;
    Some(path.parent()?.join(os_string(target.to_vec())))
}
