//! Archiving unused entries, and merging learnings that say the same.

use std::path::PathBuf;

use super::Memory;
use crate::entry::{EntryPath, Id};
use crate::error::Result;
use crate::journal::settle_copies;
use crate::knowledge::tidy::{self, TidyReport};

impl Memory {
    /// Moves to the archive what the settings `maintenance.*` and `events.*` say is finished, expired, superseded, over the
    /// limit or out of use, and merges learnings that have half of their tags in common, where there are more than the setting
    /// `maintenance.learnings` allows. The newest of these takes over what the others say; the others, and its own version
    /// before, go to the archive. With `dry_run` it only reports what it would do. Nothing is deleted: [`Memory::restore`]
    /// brings everything back.
    ///
    /// Other processes can write meanwhile: the lock is held for a fifth of a second at a time, and not while the plan
    /// is made. A file that another program saves in between stays, and so do the learnings that it was to be merged with;
    /// that is reported.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.learnings = 1\n")?;
    /// let text = "---\ntitle: Freeze\ntags: [ci]\nexpires_at: 2020-01-01\n---\n\nNo merges until the release.\n";
    /// std::fs::write(root.join(".ralph/knowledge/freeze.md"), text)?;
    /// let memory = Memory::open(root)?;
    /// for (title, text) in [("Benches need nightly", "Use `cargo +nightly`."), ("Clippy runs in CI", "Fix its warnings.")] {
    ///     let learning = Knowledge::new(title, ["cargo"], text);
    ///     memory.add(&Knowledge { category: Some("pitfall".into()), source: Source::Agent, ..learning })?;
    /// }
    /// let planned = memory.tidy(true)?;
    /// assert_eq!(planned.moved[0].to.as_str(), ".ralph/archive/knowledge/freeze.md");
    /// assert_eq!(planned.merged.len(), 1);
    /// assert_eq!(memory.tidy(false)?, planned);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked) where another process kept writing, and
    /// [`Error::Io`](crate::Error::Io). What was done until then stays done, and another call does the rest. A learning that
    /// became part of another and could not be moved is superseded, so no context has it twice, and a later call archives it.
    pub fn tidy(&self, dry_run: bool) -> Result<TidyReport> {
        let _operation = self.operation("tidy");
        let report = tidy::tidy(&self.workspace, dry_run)?;
        if !dry_run {
            settle_copies(&self.workspace, &self.workspace.lock_within_git()?);
        }
        Ok(report)
    }

    /// Moves these live entries to the archive: knowledge, events or attempts. Either all of them are moved, or none.
    /// [`Memory::restore`] brings them back.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let id = memory.add(&Knowledge::new("Old staging host", ["staging"], "It is `stage-1`."))?.id;
    /// let archived = memory.archive(std::slice::from_ref(&id))?;
    /// assert_eq!(archived.moved[0].to.as_str(), ".ralph/archive/knowledge/old-staging-host.md");
    /// assert_eq!(memory.restore(&id, None)?.id, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchEntry`](crate::Error::NoSuchEntry), [`Error::AlreadyArchived`](crate::Error::AlreadyArchived),
    /// [`Error::Invalid`](crate::Error::Invalid) without an id or with the old id of several entries, [`Error::Locked`](crate::Error::Locked),
    /// [`Error::Conflict`](crate::Error::Conflict) where another program took a name in the archive, and
    /// [`Error::Io`](crate::Error::Io).
    pub fn archive(&self, ids: &[Id]) -> Result<TidyReport> {
        let _operation = self.operation("archive");
        tidy::archive(&self.workspace, ids)
    }

    /// Removes entries for good, live or archived: knowledge, events or attempts, these in all work trees of the clone. Nothing
    /// brings them back but [`Memory::undo`]. Returns the files that were removed.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let id = memory.add(&Knowledge::new("Wifi of the office", ["wifi"], "It is on the wall."))?.id;
    /// assert_eq!(memory.forget(std::slice::from_ref(&id))?[0].as_str(), ".ralph/knowledge/wifi-of-the-office.md");
    /// assert!(memory.show(&id).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Memory::archive`]. Files before the one that cannot be removed stay removed.
    pub fn forget(&self, ids: &[Id]) -> Result<Vec<EntryPath>> {
        let _operation = self.operation("archive --forget");
        tidy::forget(&self.workspace, ids)
    }

    /// Returns the folders of git that have copies of attempts of this memory, also those that it does not read.
    #[doc(hidden)]
    pub fn copies_in_git(&self) -> Vec<PathBuf> {
        self.workspace.store.all_copies()
    }
}
