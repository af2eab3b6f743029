//! Mends what can be mended without a decision: what a crash left, caches, and what git must ignore.

use serde::Serialize;

use super::Memory;
use crate::catalog::Area;
use crate::doctor::Git;
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::error::{Problem, Result, Severity};
use crate::store::{Created, Lock, Unreadable};

/// The file that says what git ignores, in `.ralph/`.
const IGNORE: &str = ".gitignore";

/// One thing that [`Memory::mend`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mended {
    /// What it has to do with: the word of the [finding](crate::doctor::Finding).
    pub what: &'static str,
    /// What was done, in one line without a final period.
    pub detail: String,
}

/// What [`Memory::mend`] did, and what it could not do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mending {
    /// What was done, in order.
    pub mended: Vec<Mended>,
    /// What could not be mended, and why.
    pub problems: Vec<Problem>,
}

impl Mending {
    fn add(&mut self, what: &'static str, done: Result<Vec<String>>) {
        match done {
            Ok(details) => self.mended.extend(details.into_iter().map(|detail| Mended { what, detail })),
            Err(error) => {
                let reason = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
                self.problems.push(Problem {
                    path: MEMORY_FOLDER.to_owned(),
                    line: None,
                    column: None,
                    severity: Severity::Warning,
                    code: "not-mended".to_owned(),
                    message: format!("{what}: {error}{reason}").into(),
                    hint: "mend that, and run `ralph-memory doctor --fix` again".into(),
                });
            }
        }
    }
}

impl Memory {
    /// Mends what [`Memory::doctor`] finds, as far as nobody has to decide anything and nothing can be lost by it:
    /// removes temporary files that a crash left, and moves those to the archive that may be the only copy of a text;
    /// makes a broken index anew; removes caches of other versions; lets git ignore what is of this machine alone.
    ///
    /// What cannot be mended is reported, and the rest is mended all the same.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`](crate::Error::Locked), and [`Error::Io`](crate::Error::Io) where the lock cannot be taken.
    pub fn mend(&self) -> Result<Mending> {
        let mut mending = Mending::default();
        // Its own taking does the same behind a process that was killed while it had it.
        let lock = self.wait_for_entries()?;
        mending.add(
            "leftovers",
            self.store.sweep(&lock).map(|swept| {
                let removed = swept.removed.iter().map(|path| format!("removed `{}`", display_path(path)));
                let kept = swept
                    .kept
                    .iter()
                    .map(|path| format!("kept what may be the only copy of a text as `{}`", display_path(path)));
                removed.chain(kept).collect()
            }),
        );
        mending.add("git-ignore", self.mend_ignored(&lock));
        drop(lock);
        for path in self.old_caches() {
            let removed = self
                .wait_for_cache()
                .and_then(|cache| self.store.remove_cache_folder(&cache, path.trim_start_matches("cache/")));
            mending.add("old-caches", removed.map(|()| vec![format!("removed `{}`", display_path(&path))]));
        }
        if [Area::Live, Area::Archive].into_iter().any(|area| self.index_facts(area).is_broken()) {
            let rebuilt = self.rebuild_index();
            mending.add(
                "index",
                rebuilt.map(|rebuilt| vec![format!("made the index anew, of {} live entries", rebuilt.entries)]),
            );
        }
        Ok(mending)
    }

    /// Lets git ignore what is of this machine alone, and returns what was done for it.
    fn mend_ignored(&self, lock: &Lock) -> Result<Vec<String>> {
        let Git::WorkTree { not_ignored, .. } = self.git_facts() else { return Ok(Vec::new()) };
        if not_ignored.is_empty() {
            return Ok(Vec::new());
        }
        let old = match self.store.read(IGNORE) {
            Ok(file) => file.bytes,
            Err(Unreadable::Missing) => Vec::new(),
            Err(unreadable) => return Err(unreadable.into_error(self.store.memory().join(IGNORE))),
        };
        // In bytes: it may be in whatever encoding.
        let glue = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
        let lines: Vec<String> = not_ignored.iter().map(|name| format!("/{name}/")).collect();
        let new = [&old, format!("{glue}{}\n", lines.join("\n")).as_bytes()].concat();
        if self.store.create(lock, IGNORE, &new)? == Created::Exists {
            self.store.replace(lock, IGNORE, &old, &new, self.now())?;
        }
        Ok(vec![format!("put `{}` into `{}`", lines.join("` and `"), display_path(IGNORE))])
    }
}
