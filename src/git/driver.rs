//! The merge driver: what git runs to merge entries, registered in the repository's own configuration.

use super::{WorkTree, ask};
use crate::error::Result;

/// The name of the driver, which `.gitattributes` gives to entries.
pub const DRIVER: &str = "ralph-memory";
/// The key of the driver's command line.
const COMMAND_KEY: &str = "merge.ralph-memory.driver";
/// What has the other side of a merge, of a cherry-pick and of a rebase.
const OTHER_SIDES: [&str; 3] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"];

impl WorkTree {
    /// Returns the command line of the merge driver, where one is registered.
    ///
    /// # Errors
    ///
    /// [`Error::Git`](crate::error::Error::Git) when `git` does not answer.
    pub fn merge_driver(&self) -> Result<Option<String>> {
        self.line(&["config", "--get", COMMAND_KEY])
    }

    /// Registers a merge driver in the configuration of the repository, which is not part of what it shares.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::merge_driver`].
    pub fn register_merge_driver(&self, command: &str) -> Result<()> {
        let name = "merges knowledge entries by key and by block";
        for (key, value) in [("merge.ralph-memory.name", name), (COMMAND_KEY, command)] {
            ask(&self.folder, &["config", "--local", key, value], b"", &[], &[0])?;
        }
        Ok(())
    }

    /// Returns whether the other side of a merge that is under way has a file at `path`, which is relative
    /// to the folder asked about. `heads` are commits that it may be, beside those that git notes itself.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::merge_driver`].
    pub fn other_side_has(&self, path: &str, heads: &[String]) -> Result<bool> {
        for head in heads.iter().map(String::as_str).chain(OTHER_SIDES) {
            let object = format!("{head}:{}{path}", self.prefix);
            // 128 means that there is no such commit, or no such file in it.
            let answer = ask(&self.folder, &["rev-parse", "--verify", "--quiet", &object], b"", &[], &[0, 1, 128])?;
            if !answer.output.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
