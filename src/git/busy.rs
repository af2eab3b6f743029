//! Whether git is at work in a work tree, told without starting it.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The longest `.git` file that is read, in bytes: it holds one path.
const MAX_GIT_FILE: u64 = 8 * 1024;

/// Returns the path of the lock that git holds while it changes the index, and mostly the files, of the work tree that
/// `folder` is in; `None` where that is in none. Nobody need hold it. Files are read alone, and only `.git`.
pub fn index_lock(folder: &Path) -> Option<PathBuf> {
    super::start(folder).ancestors().find_map(git_dir).map(|git_dir| git_dir.join("index.lock"))
}

/// Returns the repository of which a folder is the top of a work tree.
fn git_dir(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(".git");
    let found = fs::metadata(&path).ok()?;
    if found.is_dir() {
        return path.join("HEAD").symlink_metadata().is_ok().then_some(path);
    }
    let mut bytes = Vec::new();
    File::open(&path).ok().filter(|_| found.is_file())?.take(MAX_GIT_FILE).read_to_end(&mut bytes).ok()?;
    let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    let target = bytes[..=end].strip_prefix(b"gitdir: ")?;
    Some(folder.join(std::ffi::OsStr::from_bytes(target)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::git;
    use super::*;

    #[test]
    fn the_lock_is_where_git_puts_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (main, linked, apart) = (root.join("main"), root.join("linked"), root.join("apart"));
        assert_eq!(index_lock(&main.join(".ralph")), None);
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "--quiet"]);
        git(&main, &["commit", "--quiet", "--allow-empty", "--message", "m"]);
        git(&main, &["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap()]);
        git(&root, &["init", "--quiet", "--separate-git-dir", "elsewhere", "apart"]);
        let at = |folder: &Path| index_lock(folder).unwrap();
        assert_eq!(at(&main.join("deep/er/.ralph")), main.join(".git/index.lock"));
        assert_eq!(at(&linked.join(".ralph")), main.join(".git/worktrees/linked/index.lock"));
        assert_eq!(at(&apart.join(".ralph")), root.join("elsewhere/index.lock"));
        // What only looks like one, and a memory that is a work tree of its own.
        fs::create_dir_all(main.join("sub/.git")).unwrap();
        assert_eq!(at(&main.join("sub/.ralph")), main.join(".git/index.lock"));
        fs::create_dir(main.join(".ralph")).unwrap();
        git(&main.join(".ralph"), &["init", "--quiet"]);
        assert_eq!(at(&main.join(".ralph")), main.join(".ralph/.git/index.lock"));
    }
}
