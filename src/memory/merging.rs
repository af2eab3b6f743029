//! What git's merges need of a memory.

use serde::Serialize;

use super::Memory;
use crate::entry::path::display_path;
use crate::error::{Error, Result};
use crate::git::{DRIVER, Lookup, WorkTree};
use crate::store::Created;

/// The files that the merge driver is for, and the folder of the attributes.
const ATTRIBUTES: &str = ".gitattributes";
const MERGED: [&str; 3] = ["/knowledge/**/*.md", "/journal/**/*.md", "/archive/**/*.md"];

/// What [`Memory::register_merge_driver`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// The command line that git runs.
    pub command: String,
    /// Whether it was registered already.
    pub was_registered: bool,
    /// The lines that were added to `.ralph/.gitattributes`.
    pub attributes: Vec<String>,
}

impl Memory {
    /// Lets git merge entries with `program`: says so in the configuration of the repository, and in
    /// `.ralph/.gitattributes`, which is committed. Twice changes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] where there is no git, or no repository, and those of [`Memory::add`].
    pub fn register_merge_driver(&self, program: &str) -> Result<Registered> {
        let refused = |reason: &str| Error::Git { command: "config".to_owned(), reason: reason.to_owned() };
        let tree = match WorkTree::find(self.store.memory()) {
            Lookup::Found(tree) => tree,
            Lookup::NoGit => return Err(refused("there is no `git`")),
            Lookup::NoWorkTree => return Err(refused("the memory is in no work tree")),
            Lookup::Refused(reason) => return Err(refused(&reason)),
        };
        // Git puts the path in quotes of a shell itself.
        let command = format!("{program} merge-driver --marker-size %L --path %P %O %A %B");
        let was_registered = tree.merge_driver()?.as_ref() == Some(&command);
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
            // In bytes: what stands there may be in whatever encoding.
            let new = [&old, format!("{glue}{}\n", attributes.join("\n")).as_bytes()].concat();
            if self.store.create(&lock, ATTRIBUTES, &new)? == Created::Exists {
                self.store.replace(&lock, ATTRIBUTES, &old, &new, self.now())?;
            }
        }
        if !was_registered {
            tree.register_merge_driver(&command)?;
        }
        Ok(Registered { command, was_registered, attributes })
    }

    /// Writes the other side's version of the file at `path`, relative to `.ralph/`, under a name of its own
    /// beside it: `<stem>-2.md`, or the next number that neither side has. Returns where it is, relative to the
    /// folder that holds `.ralph/`. `heads` are the commits that are merged, as far as they are known.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the path is none of an entry, and those of [`Memory::add`].
    pub fn keep_apart(&self, path: &str, text: &str, heads: &[String]) -> Result<String> {
        let invalid = || Error::invalid(format!("`{path}`"), "it is no entry of a memory");
        let stem =
            path.strip_suffix(".md").filter(|_| crate::entry::Id::of_path(path).is_some()).ok_or_else(invalid)?;
        let tree = self.work_tree();
        // Git waits for the driver, with its lock in its hand.
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
