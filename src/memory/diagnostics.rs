//! What is wrong with a memory, how to fix it, and what git needs to merge it.

use super::Memory;
use crate::diagnostics::{self, CheckReport, FixReport, SourceLines};
use crate::error::{Problem, Result};
use crate::recording::{bad_attempts, kept_problems};
use crate::search::semantic::SemanticStatus;

impl Memory {
    /// Returns everything that is wrong: what prevents files from being read, what is inconsistent, and the state of
    /// the folders, the index, the locks, the servers and git, and how to fix it. Nothing is changed. A broken file
    /// never hides the problems of another, and what cannot be examined is a problem, too.
    ///
    /// ```
    /// use ralph_memory::Memory;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// let text = "---\ntitle: WAL\ntags: [sqlite]\n---\n\nSee [[nothing]].\n";
    /// std::fs::write(root.join(".ralph/knowledge/wal.md"), text)?;
    /// let report = Memory::open(root)?.check();
    /// assert_eq!(report.problems[0].to_string(), ".ralph/knowledge/wal.md:6: the link `[[nothing]]` leads to no entry");
    /// assert_eq!((report.total.warnings, report.files), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> CheckReport {
        self.check_with(self.semantic_status(), Vec::new())
    }

    /// Returns the same where the state of semantic search is known, so that no server is asked, and with findings of the
    /// caller, such as those of [`Setup::findings`](crate::setup::Setup::findings).
    ///
    /// ```
    /// use ralph_memory::Memory;
    /// use ralph_memory::error::Severity;
    /// use ralph_memory::memory::SemanticStatus;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let detail = "Ollama does not answer".to_owned();
    /// let status = SemanticStatus { wanted: true, active: false, detail, fix: None };
    /// let problem = memory.check_with(status, Vec::new()).problems.remove(0);
    /// assert_eq!((problem.code.as_str(), problem.severity), ("semantic", Severity::Warning));
    /// assert_eq!(problem.message, "Ollama does not answer");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_with(&self, semantic: SemanticStatus, others: Vec<Problem>) -> CheckReport {
        let mut others = others;
        others.extend(self.workspace.layers().1);
        others.extend(bad_attempts(&self.workspace));
        others.extend(kept_problems(&self.workspace, &self.state_folders).1);
        diagnostics::check(&self.workspace, semantic, others)
    }

    /// Returns a warning for each entry that a change touches: it changes a line with a name of the entry in a file that
    /// the entry names, or removes or rewrites such a file. Entries that the change adds or edits are left out. The range
    /// is one of `git diff`, such as `main...HEAD`; `HEAD` alone is what is not committed.
    ///
    /// ```
    /// use ralph_memory::{Error, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// // This folder is not in a work tree.
    /// let refused = Memory::open(root)?.check_diff("main...HEAD");
    /// assert!(matches!(refused, Err(Error::Git { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for a range with a commit that git does not know, and
    /// [`Error::Git`](crate::Error::Git) where git or a repository is missing or git refuses.
    pub fn check_diff(&self, range: &str) -> Result<CheckReport> {
        diagnostics::check_diff(&self.workspace, range)
    }

    /// Returns the lines of the files that problems name, for showing them.
    pub fn source_lines(&self) -> SourceLines<'_> {
        SourceLines::new(&self.workspace)
    }

    /// Fixes what [`Memory::check`] finds, where that needs no decision and can lose nothing: removes temporary files
    /// that a crash left, or archives those that may be the only copy of a text; rebuilds a broken index; removes
    /// caches of other versions; makes git ignore the folders that belong to one machine.
    ///
    /// What cannot be fixed is reported, and the rest is fixed all the same.
    ///
    /// ```
    /// use ralph_memory::Memory;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// std::fs::create_dir_all(root.join(".ralph/cache/index-0"))?;
    /// let report = Memory::open(root)?.fix()?;
    /// assert_eq!((report.fixed[0].code.as_str(), report.fixed[0].message.as_str()), ("old-caches", "removed `.ralph/cache/index-0`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked), and [`Error::Io`](crate::Error::Io) where the lock cannot be taken.
    pub fn fix(&self) -> Result<FixReport> {
        let _operation = self.operation("check --fix");
        diagnostics::fix(&self.workspace)
    }
}
