//! Makes git merge entries with a program: registers it, and names the entries in `.gitattributes`.
//!
//! [`git`](crate::git) knows the command line. The program merges with [`entry::merge`](mod@crate::entry::merge).

use std::path::Path;

use serde::Serialize;

use super::Workspace;
use crate::error::Result;
use crate::git::{DRIVER, Lookup, MergeDriver, WorkTree, driver_line};
use crate::store::Created;

/// The files that the merge driver is for, and the folder of the attributes.
const ATTRIBUTES: &str = ".gitattributes";
const MERGED: [&str; 3] = ["/knowledge/**/*.md", "/journal/**/*.md", "/archive/**/*.md"];

/// The result of [`Memory::register_merge_driver`](crate::Memory::register_merge_driver).
///
/// ```
/// use ralph_memory::memory::MergeDriverRegistration;
/// use ralph_memory::{Error, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// match memory.register_merge_driver("/usr/bin/ralph-memory".as_ref()) {
///     Ok(MergeDriverRegistration { command, .. }) => assert!(command.starts_with("'/usr/bin/ralph-memory' merge-driver ")),
///     // This folder is not in a work tree.
///     Err(error) => assert!(matches!(error, Error::Git { .. })),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeDriverRegistration {
    /// The command line that git runs.
    pub command: String,
    /// Whether it was registered already.
    pub was_registered: bool,
    /// The lines that were added to `.ralph/.gitattributes`.
    pub attributes: Vec<String>,
}

impl Workspace {
    /// Implements [`Memory::register_merge_driver`](crate::Memory::register_merge_driver).
    pub(crate) fn register_merge_driver(&self, program: &Path) -> Result<MergeDriverRegistration> {
        let command = driver_line(program)?;
        let tree = WorkTree::containing(self.store.memory())?;
        let attributes = self.write_merge_attributes()?;
        let was_registered = tree.register_merge_driver(&command)?;
        Ok(MergeDriverRegistration { command, was_registered, attributes })
    }

    /// Returns whether git shares the entries and merges them as text, since nobody registered the driver.
    pub(crate) fn lacks_merge_driver(&self) -> bool {
        const PROBE: &str = "knowledge/probe.md";
        let is_shared = |tree: &WorkTree| tree.ignored(&[PROBE]).is_ok_and(|ignored| ignored.is_empty());
        let Lookup::Found(tree) = WorkTree::find(self.store.memory()) else { return false };
        matches!(tree.merge_driver(), Ok(MergeDriver::Absent)) && is_shared(&tree)
    }

    /// Adds the lines that `.ralph/.gitattributes` lacks for the driver, and returns them.
    fn write_merge_attributes(&self) -> Result<Vec<String>> {
        let lock = self.lock_entries()?;
        let old = self.store.read(ATTRIBUTES).map(|file| file.bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&old).into_owned();
        let has = |pattern: &str| {
            let is_it = |line: &str| {
                let mut words = line.split_whitespace();
                words.next() == Some(pattern) && words.any(|word| word.starts_with("merge="))
            };
            text.lines().any(is_it)
        };
        let attributes: Vec<String> =
            MERGED.iter().filter(|pattern| !has(pattern)).map(|pattern| format!("{pattern} merge={DRIVER}")).collect();
        if !attributes.is_empty() {
            let glue = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            // As bytes: the file may have any encoding.
            let new = [&old, format!("{glue}{}\n", attributes.join("\n")).as_bytes()].concat();
            if self.store.create(&lock, ATTRIBUTES, &new)? == Created::Exists {
                self.store.replace(&lock, ATTRIBUTES, &old, &new, self.now())?;
            }
        }
        Ok(attributes)
    }
}
