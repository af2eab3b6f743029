//! Mends what can be mended without a decision: what a crash left, caches, and what git must ignore.

use serde::Serialize;

use super::Memory;
use super::write::shown;
use crate::catalog::Area;
use crate::doctor::Git;
use crate::error::Result;
use crate::store::Created;

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

impl Memory {
    /// Mends what [`Memory::doctor`] finds, as far as nobody has to decide anything and nothing can be lost by it:
    /// removes temporary files that a crash left, and moves those to the archive that may be the only copy of a text;
    /// makes a broken index anew; removes caches of other versions; lets git ignore what is of this machine alone.
    ///
    /// # Errors
    ///
    /// Those of writing. What was done until then stays done.
    pub fn mend(&self) -> Result<Vec<Mended>> {
        let mut mended = Vec::new();
        let mut did = |what, detail| mended.push(Mended { what, detail });
        // Its own taking does the same behind a process that was killed while it had it.
        let lock = self.store.lock(self.lock_timeout())?;
        let swept = self.store.sweep(&lock)?;
        for path in swept.removed {
            did("leftovers", format!("removed `{}`", shown(&path)));
        }
        for path in swept.kept {
            did("leftovers", format!("kept what may be the only copy of a text as `{}`", shown(&path)));
        }
        let git = self.git_facts();
        if let Git::WorkTree { not_ignored, .. } = &git
            && !not_ignored.is_empty()
        {
            let old = self.store.read(IGNORE).map(|file| file.bytes).unwrap_or_default();
            let text = String::from_utf8_lossy(&old).into_owned();
            let glue = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let lines: Vec<String> = not_ignored.iter().map(|name| format!("/{name}/")).collect();
            let new = format!("{text}{glue}{}\n", lines.join("\n"));
            if self.store.create(&lock, IGNORE, new.as_bytes())? == Created::Exists {
                self.store.replace(&lock, IGNORE, &old, new.as_bytes(), self.now())?;
            }
            did("git-ignore", format!("put `{}` into `{}`", lines.join("` and `"), shown(IGNORE)));
        }
        drop(lock);
        for path in self.old_caches() {
            let cache = self.store.wait_for_cache_lock(self.lock_timeout())?;
            self.store.remove_cache_folder(&cache, path.trim_start_matches("cache/"))?;
            did("old-caches", format!("removed `{}`", shown(&path)));
        }
        if [Area::Live, Area::Archive].into_iter().any(|area| self.index_facts(area).is_broken()) {
            let rebuilt = self.rebuild_index()?;
            did("index", format!("made the index anew, of {} live entries", rebuilt.entries));
        }
        Ok(mended)
    }
}
