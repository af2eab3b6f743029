//! What git knows of a merge: the two versions of a file in conflict, and the merge driver that an earlier version registered.

use super::WorkTree;
use crate::error::Result;

/// The keys of the merge driver, what it was called, and what its command line contained.
const KEYS: &str = r"^merge\.ralph-memory\.(driver|name)$";
const NAME: &str = "merges knowledge entries by key and by block";
const COMMAND: &str = " merge-driver --marker-size";

impl WorkTree {
    /// Returns our and their version of a file, if it is in conflict.
    pub(crate) fn versions_in_conflict(&self, path: &str) -> Option<[Vec<u8>; 2]> {
        let version =
            |stage| self.call(&["cat-file", "blob"]).value(&format!(":{stage}:{}{path}", self.prefix)).ask_all();
        Some([version(2).ok()?, version(3).ok()?])
    }

    /// Returns the settings of this repository that registered the merge driver of an earlier version: keys and values.
    ///
    /// # Errors
    ///
    /// [`Error::Git`](crate::Error::Git) when `git` does not answer.
    pub(crate) fn old_driver(&self) -> Result<Vec<(String, String)>> {
        let set = self.call(&["config", "--local", "--null", "--get-regexp", KEYS]).good(&[0, 1]).ask_all()?;
        let set = String::from_utf8_lossy(&set);
        let settings = set.split_terminator('\0').filter_map(|set| set.split_once('\n'));
        let is_command = |value: &str| value.starts_with(['\'', 'r']) && value.contains(COMMAND);
        let is_own = |(key, value): &(&str, &str)| *value == NAME || key.ends_with(".driver") && is_command(value);
        Ok(settings.filter(is_own).map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// Removes the settings that registered the merge driver of an earlier version. Returns whether there were any.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::old_driver`].
    pub(crate) fn remove_old_driver(&self) -> Result<bool> {
        let settings = self.old_driver()?;
        for (key, value) in &settings {
            let unset = ["config", "--local", "--fixed-value", "--unset-all"];
            // Of several equal ones, the first call removes all.
            self.call(&unset).value(key).value(value).good(&[0, 5]).ask()?;
        }
        Ok(!settings.is_empty())
    }
}
