//! Makes git merge entries with this program, and separates two entries that got the same name.
//!
//! [`entry::merge`](mod@crate::entry::merge) merges two versions, and [`git`](crate::git) runs git; this file writes files
//! of the memory for them, under its lock.

use serde::Serialize;

use super::Workspace;
use crate::entry::path::display_path;
use crate::error::{Error, Result};
use crate::git::{DRIVER, Lookup, WorkTree};
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
/// match memory.register_merge_driver("ralph-memory") {
///     Ok(MergeDriverRegistration { command, .. }) => assert!(command.starts_with("ralph-memory merge-driver ")),
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
    pub(crate) fn register_merge_driver(&self, program: &str) -> Result<MergeDriverRegistration> {
        let refused = |reason: &str| Error::Git { command: "config".to_owned(), reason: reason.to_owned() };
        let tree = match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => tree,
            Lookup::NoGit => return Err(refused("there is no `git`")),
            Lookup::NoWorkTree => return Err(refused("the memory is not in a work tree")),
            Lookup::Refused(reason) => return Err(refused(&reason)),
        };
        // Git quotes the path for the shell itself.
        let command = format!("{program} merge-driver --marker-size %L --path %P %O %A %B");
        let was_registered = tree.merge_driver()?.as_ref() == Some(&command);
        let attributes = self.write_merge_attributes()?;
        if !was_registered {
            tree.register_merge_driver(&command)?;
        }
        Ok(MergeDriverRegistration { command, was_registered, attributes })
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

    /// Implements [`Memory::keep_apart`](crate::Memory::keep_apart).
    pub(crate) fn keep_apart(&self, path: &str, text: &str, heads: &[String]) -> Result<String> {
        let invalid = || Error::invalid(format!("`{path}`"), "it is not the path of an entry");
        let stem =
            path.strip_suffix(".md").filter(|_| crate::entry::Id::of_path(path).is_some()).ok_or_else(invalid)?;
        let tree = self.work_tree();
        // Git runs the driver while it has its own lock.
        let lock = self.lock_within_git()?;
        let mut number = 2_u32;
        loop {
            let candidate = format!("{stem}-{number}.md");
            number = number.saturating_add(1);
            let is_theirs = tree.as_ref().is_some_and(|tree| tree.other_side_has(&candidate, heads).unwrap_or(false));
            if !is_theirs && self.store.create(&lock, &candidate, text.as_bytes())? == Created::Made {
                return Ok(display_path(&candidate));
            }
        }
    }
}
