//! Fixes problems that need no decision: leftovers of a crash, caches, conflicts in frontmatter, and what git is told of the files.
//!
//! It deletes nothing that may be the only copy of a text. A fix that fails is reported, and the others continue.

use serde::Serialize;

use super::doctor::GitFacts;
use super::gather::{git_facts, index_facts, old_caches};
use super::old_driver::{ATTRIBUTES, without_old_driver};
use crate::entry::conflict::merged;
use crate::entry::guard::conflicts;
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::entry::written;
use crate::error::{Problem, Result};
use crate::git::{Lookup, WorkTree};
use crate::index::catalog::Area;
use crate::open::Memory;
use crate::store::{Created, Lock, Unreadable};
use crate::text::printed_command;
use crate::workspace::{IGNORE, Workspace};

/// The result of [`Memory::fix`](crate::Memory::fix).
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::create_dir_all(root.join(".ralph/cache/catalog-0"))?; // an older version made it
/// let fixed = memory.fix()?.fixed;
/// assert_eq!((fixed[0].code.as_str(), fixed[0].message.as_str()), ("old-caches", "removed `.ralph/cache/catalog-0`"));
/// assert_eq!(memory.fix()?.fixed, [], "nothing is left to fix");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FixReport {
    /// What was done, in order: notices with the code of the finding.
    pub fixed: Vec<Problem>,
    /// What could not be fixed, and why.
    pub problems: Vec<Problem>,
}

impl FixReport {
    fn add(&mut self, code: &str, done: Result<Vec<String>>) {
        match done {
            Ok(done) => {
                self.fixed.extend(done.into_iter().map(|message| Problem::notice(MEMORY_FOLDER, code, message, "")));
            }
            Err(error) => {
                let reason = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
                self.problems.push(Problem::warning(
                    MEMORY_FOLDER,
                    "not-fixed",
                    format!("{code}: {error}{reason}"),
                    "remove the cause, and run `ralph-memory check --fix` again",
                ));
            }
        }
    }
}

impl Memory {
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
        let workspace = &self.workspace;
        let mut report = FixReport::default();
        // Taking the lock sweeps only after a process that was killed while it had it.
        let lock = workspace.wait_for_entries()?;
        report.add("leftovers", sweep(workspace, &lock));
        report.add("git-ignore", ignore_machine_folders(workspace, &lock));
        report.add("merge-driver", remove_old_driver(workspace, &lock));
        for area in [Area::Live, Area::Archive] {
            let catalog = workspace.catalog(area);
            for row in catalog.knowledge_rows().filter(|row| catalog.has_problem(*row)) {
                report.add("merge-conflict", merge_frontmatter(workspace, &lock, &catalog.path(row)));
            }
        }
        drop(lock);
        for path in old_caches(workspace) {
            let removed = workspace
                .wait_for_cache()
                .and_then(|cache| workspace.store.remove_cache_folder(&cache, path.trim_start_matches("cache/")));
            report.add("old-caches", removed.map(|()| vec![format!("removed `{}`", display_path(&path))]));
        }
        if [Area::Live, Area::Archive].into_iter().any(|area| index_facts(workspace, area).is_broken()) {
            let rebuilt = workspace.write_index(true);
            let detail = rebuilt.map(|rebuilt| vec![format!("rebuilt the index of {} live entries", rebuilt.entries)]);
            report.add("index", detail);
        }
        Ok(report)
    }
}

/// Removes leftovers of a crash, and returns what was done.
fn sweep(workspace: &Workspace, lock: &Lock) -> Result<Vec<String>> {
    let swept = workspace.store.sweep(lock)?;
    let removed = swept.removed.iter().map(|path| format!("removed `{}`", display_path(path)));
    let kept = swept.kept.iter();
    let kept = kept.map(|path| format!("kept what may be the only copy of a text as `{}`", display_path(path)));
    Ok(removed.chain(kept).collect())
}

/// Makes git ignore the folders that belong to one machine, and returns what was done.
fn ignore_machine_folders(workspace: &Workspace, lock: &Lock) -> Result<Vec<String>> {
    let GitFacts::WorkTree { not_ignored, .. } = git_facts(workspace) else { return Ok(Vec::new()) };
    if not_ignored.is_empty() {
        return Ok(Vec::new());
    }
    let store = &workspace.store;
    let old = match store.read(IGNORE) {
        Ok(file) => file.bytes,
        Err(Unreadable::Missing) => Vec::new(),
        Err(unreadable) => return Err(unreadable.into_error(store.memory().join(IGNORE))),
    };
    // As bytes: the file may have any encoding.
    let glue = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
    let lines: Vec<String> = not_ignored.iter().map(|name| format!("/{name}/")).collect();
    let new = [&old, format!("{glue}{}\n", lines.join("\n")).as_bytes()].concat();
    if store.create(lock, IGNORE, &new)? == Created::Exists {
        store.replace(lock, IGNORE, &old, &new, workspace.now())?;
    }
    Ok(vec![format!("put `{}` into `{}`", lines.join("` and `"), display_path(IGNORE))])
}

/// Removes the merge driver of an earlier version from what git reads, and returns what was done.
fn remove_old_driver(workspace: &Workspace, lock: &Lock) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let store = &workspace.store;
    if let Ok(old) = store.read(ATTRIBUTES) {
        let new = without_old_driver(&old.bytes);
        if new != old.bytes {
            store.replace(lock, ATTRIBUTES, &old.bytes, &new, workspace.now())?;
            done.push(format!("removed the merge driver from `{}`: commit it", display_path(ATTRIBUTES)));
        }
    }
    if store.has_own_git()
        && let Lookup::Found(tree) = WorkTree::find(store.memory())
        && tree.remove_old_driver()?
    {
        done.push("removed the merge driver from `.git/config`".to_owned());
    }
    Ok(done)
}

/// Merges the frontmatter of an entry in which git left conflicts, where that needs no decision, and returns what was done.
fn merge_frontmatter(workspace: &Workspace, lock: &Lock, path: &str) -> Result<Vec<String>> {
    let text = String::from_utf8(workspace.read_bytes(path).unwrap_or_default()).unwrap_or_default();
    let Some(new) = merged(&text) else { return Ok(Vec::new()) };
    // What agents wrote on both sides stays theirs.
    let versions = match WorkTree::find(workspace.store.memory()) {
        Lookup::Found(tree) => tree.versions_in_conflict(path),
        _ => None,
    };
    let new = match versions {
        Some([ours, theirs]) => written::merged([&ours, &theirs], new),
        None => new,
    };
    workspace.replace(lock, path, &text, &new)?;
    let path = display_path(path);
    Ok(vec![if conflicts(&new).is_empty() {
        let add = printed_command("git add FILE", &[("FILE", &path)]);
        format!("merged the frontmatter of `{path}`; git counts it as unmerged until {add}")
    } else {
        format!("merged the frontmatter of `{path}`; its body still has a conflict")
    }])
}
