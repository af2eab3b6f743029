//! The user's folders for what must not be in a project: attempts that must outlive the project's own files, and the
//! key that seals what the program keeps in `.ralph/state/`.
//!
//! The folders depend only on the given variables and on the user's id.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::system::posix::process::geteuid;

/// The name of the folder in the user's state folder, and the prefix of the one for temporary files.
pub(crate) const NAME: &str = "ralph-memory";

/// The folders in which attempts are saved until they are in the journal. The first writable one is used.
///
/// Each gets the mode 0700, and files in it 0600. A folder that belongs to another user is not used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateFolders(pub(crate) Vec<PathBuf>);

impl StateFolders {
    /// Returns these folders, in the order in which they are tried.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> StateFolders {
        StateFolders(folders.into_iter().collect())
    }

    /// Returns the folders of a user by the environment `variable`s: `$XDG_STATE_HOME/ralph-memory`, or
    /// `~/.local/state/ralph-memory`; then `ralph-memory-UID` in the folder for temporary files.
    ///
    /// ```
    /// use ralph_memory::memory::StateFolders;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let state = folder.path();
    /// // A program passes `&|name| std::env::var_os(name)`.
    /// let folders = StateFolders::of_user(&|name| (name == "XDG_STATE_HOME").then(|| state.into()));
    /// let own = state.join("ralph-memory");
    /// std::fs::create_dir(&own)?;
    /// assert!(folders.hold(&own.join("answer.json")) && !folders.hold(&state.join("answer.json")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_user(variable: &dyn Fn(&str) -> Option<OsString>) -> StateFolders {
        let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local").join("state")));
        let temporary = set("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
        let own = format!("{NAME}-{}", geteuid().as_raw());
        StateFolders(state.map(|state| state.join(NAME)).into_iter().chain([temporary.join(own)]).collect())
    }

    /// Returns the folders, in the order in which they are tried.
    pub fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Returns whether a file is in one of them: only such files were saved by this program, for its user.
    pub fn hold(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(|folder| if folder == Path::new("") { None } else { Some(folder) });
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        folder.is_ok_and(|folder| self.0.iter().any(|own| own.canonicalize().is_ok_and(|own| own == folder)))
    }
}
