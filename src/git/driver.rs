//! The merge driver: the command that git runs to merge entries, registered in the repository's own configuration.

use super::WorkTree;
use crate::error::Result;

/// The name of the driver, which `.gitattributes` gives to entries.
pub(crate) const DRIVER: &str = "ralph-memory";
/// The keys of the driver's command line and of its description.
const COMMAND_KEY: &str = "merge.ralph-memory.driver";
const NAME_KEY: &str = "merge.ralph-memory.name";
/// References to the other side of a merge, of a cherry-pick and of a rebase.
pub(super) const OTHER_SIDES: [&str; 3] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"];

impl WorkTree {
    /// Returns the command line of the merge driver, if one is registered.
    ///
    /// # Errors
    ///
    /// [`Error::Git`](crate::error::Error::Git) when `git` does not answer.
    pub(crate) fn merge_driver(&self) -> Result<Option<String>> {
        self.call(&["config", "--get", COMMAND_KEY]).good(&[0, 1]).line()
    }

    /// Registers a merge driver in the configuration of the repository, which clones do not share.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::merge_driver`].
    pub(crate) fn register_merge_driver(&self, command: &str) -> Result<()> {
        let name = "merges knowledge entries by key and by block";
        for (key, value) in [(NAME_KEY, name), (COMMAND_KEY, command)] {
            self.call(&["config", "--local", key]).value(value).ask()?;
        }
        Ok(())
    }

    /// Returns whether the other side of a merge in progress has a file at `path`, which is relative to the folder.
    /// `heads` are further candidates for its commit, besides those that git records; only whole names of commits
    /// count.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::merge_driver`].
    pub(crate) fn other_side_has(&self, path: &str, heads: &[String]) -> Result<bool> {
        let path = format!("{}{path}", self.prefix);
        for head in heads.iter().map(String::as_str).chain(OTHER_SIDES) {
            let Ok(call) = self.call(&["rev-parse", "--verify", "--quiet"]).object_at(head, &path) else { continue };
            // 128 means that there is no such commit, or no such file in it.
            if !call.good(&[0, 1, 128]).ask()?.output.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
