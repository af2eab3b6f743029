//! Gathers the facts about the memory as a whole: the current state of the folders, the index, the locks and git.
//!
//! It changes nothing and leaves the judging to [`doctor`](mod@super::doctor).

use super::doctor::{GitFacts, IndexFacts, MemoryFacts};
use super::old_driver::{ATTRIBUTES, without_old_driver};
use crate::entry::Id;
use crate::error::Result;
use crate::git::{Lookup, WorkTree};
use crate::index;
use crate::index::catalog::{self, Area};
use crate::search::semantic::{self, SemanticStatus};
use crate::sessions::{hook_log, tool_time};
use crate::store::CONFIG;
use crate::workspace::{IGNORE, Workspace};

/// The folders that hold entries.
const ENTRIES: [&str; 3] = ["knowledge", "journal", "archive"];
/// The folders that git should ignore, since they belong to one machine.
pub(super) const MACHINE_FOLDERS: [&str; 2] = ["cache", "state"];

/// Returns the facts. The servers of semantic search were asked before.
pub(super) fn facts(workspace: &Workspace, semantic: SemanticStatus) -> MemoryFacts {
    let store = &workspace.store;
    let indexes = [("live", Area::Live), ("archive", Area::Archive)];
    MemoryFacts {
        has_settings: store.read(CONFIG).is_ok(),
        settings_are_clear: workspace.settings_problems.is_empty(),
        memory: store.folder_state(""),
        entries: ENTRIES.map(|name| (name, store.folder_state(name))).into(),
        state: store.folder_state("state"),
        key_problem: store.key_problem().map(|error| error.to_string()),
        cache: store.folder_state("cache"),
        indexes: indexes.map(|(name, area)| (name, index_facts(workspace, area))).into(),
        old_caches: old_caches(workspace),
        survey: store.survey(),
        lock: store.lock_state(),
        cache_lock: store.cache_lock_state(),
        git: git_facts(workspace),
        semantic,
        hooks: hook_log(workspace),
        tool_time: tool_time(workspace),
    }
}

/// Returns the facts about an index.
pub(super) fn index_facts(workspace: &Workspace, area: Area) -> IndexFacts {
    let committed = workspace.committed(area);
    let catalog = workspace.catalog(area);
    IndexFacts {
        id: committed.as_ref().map(|committed| committed.id().to_owned()),
        documents: committed.map_or(0, |committed| usize::try_from(committed.n_documents()).unwrap_or(usize::MAX)),
        stale: catalog.stale_paths().len(),
        is_known: catalog.index_is_known(),
        entries: catalog.rows().filter(|row| catalog.is_indexable(*row)).count(),
        pending: catalog.n_pending(),
    }
}

/// Returns the folders of the cache that another version of this program made, relative to `.ralph/`.
pub(super) fn old_caches(workspace: &Workspace) -> Vec<String> {
    let names = workspace.store.folder("cache").and_then(|cache| cache.names()).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let is_old = |name: &String| {
        name.starts_with("index-") && *name != index::folder_name()
            || name.starts_with("catalog-") && name != catalog::FOLDER
            || name.starts_with("vectors-") && name != semantic::FOLDER
    };
    let mut old: Vec<String> = names.filter(is_old).map(|name| format!("cache/{name}")).collect();
    old.sort();
    old
}

/// Returns git's answers about the folder.
pub(super) fn git_facts(workspace: &Workspace) -> GitFacts {
    let tree = match WorkTree::find(workspace.store.memory()) {
        Lookup::NoGit => return GitFacts::Missing,
        Lookup::NoWorkTree => return GitFacts::NoWorkTree,
        Lookup::Refused(reason) => return GitFacts::Failed(reason),
        Lookup::Found(tree) => tree,
    };
    let answers = tree.uncommitted().and_then(|uncommitted| {
        let is_in = |name: &&&str| uncommitted.untracked.iter().any(|path| path.split('/').next() == Some(name));
        let not_ignored = MACHINE_FOLDERS.iter().filter(is_in).map(|name| (*name).to_owned()).collect();
        let ignored = tree.ignored(&[&ENTRIES[..], &[IGNORE]].concat())?;
        Ok(GitFacts::WorkTree {
            not_ignored,
            tracked: tree.tracked(&MACHINE_FOLDERS)?,
            is_private: ignored.iter().any(|path| path == IGNORE),
            ignored: ignored.into_iter().filter(|path| Id::of_path(path).is_some()).collect(),
            uncommitted,
            old_driver: old_driver(workspace, &tree)?,
        })
    });
    answers.unwrap_or_else(|error| GitFacts::Failed(error.to_string()))
}

/// Returns the files that still name the merge driver of an earlier version.
fn old_driver(workspace: &Workspace, tree: &WorkTree) -> Result<Vec<&'static str>> {
    let is_in_attributes =
        workspace.store.read(ATTRIBUTES).is_ok_and(|file| without_old_driver(&file.bytes) != file.bytes);
    let is_in_config = workspace.store.has_own_git() && !tree.old_driver()?.is_empty();
    let found = [("`.ralph/.gitattributes`", is_in_attributes), ("`.git/config`", is_in_config)];
    Ok(found.into_iter().filter_map(|(file, is_in)| is_in.then_some(file)).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::memory;
    use crate::error::{Severity, Tally};
    use crate::memory::{CheckReport, Memory};

    /// Returns the findings with a code: `Ok` or the severity, then the message.
    #[track_caller]
    fn found(memory: &Memory, code: &str) -> Vec<String> {
        let checked = memory.check();
        let ok = checked.ok.into_iter().map(|finding| ("Ok".to_owned(), finding));
        let all = ok.chain(checked.problems.into_iter().map(|finding| (format!("{:?}", finding.severity), finding)));
        let all = all.filter(|(_, finding)| finding.code == code);
        all.map(|(state, finding)| format!("{state} {}", finding.message)).collect()
    }

    #[test]
    fn nothing_is_wrong_with_a_new_memory() {
        let (_folder, memory) = memory(&[]);
        let CheckReport { problems, total, files, ok } = memory.check();
        assert_eq!((problems, total, files), (Vec::new(), Tally::default(), 0));
        assert!(ok.iter().all(|part| part.hint.is_empty() && part.severity == Severity::Notice), "{ok:?}");
        for code in "settings entries state cache index old-caches leftovers lock git hooks".split(' ') {
            assert!(ok.iter().any(|part| part.code == code), "{code}");
        }
    }

    #[test]
    fn the_index_is_examined() {
        let (folder, memory) = memory(&[("knowledge/a.md", "---\ntitle: A\ntags: [x]\n---\none\n")]);
        let none = "Ok live: not built yet; 1 entry is read directly until a command builds it";
        assert_eq!(found(&memory, "index")[0], none);
        assert!(!folder.path().join(".ralph/cache").exists());
        memory.rebuild_index().unwrap();
        let committed = |line: &str, end: &str| {
            assert!(line.starts_with("Ok live: commit ") && line.ends_with(end), "{line}");
        };
        committed(&found(&memory, "index")[0], " with 1 document for 1 entry, 0 not indexed yet");
        // One changed, which leaves its old document stale, and one new.
        fs::write(folder.path().join(".ralph/knowledge/a.md"), "---\ntitle: A b\ntags: [x]\n---\ntwo\n").unwrap();
        fs::write(folder.path().join(".ralph/knowledge/b.md"), "---\ntitle: B\ntags: [x]\n---\nthree\n").unwrap();
        committed(&found(&memory, "index")[0], " with 1 document for 2 entries, 2 not indexed yet");
        fs::remove_dir_all(folder.path().join(".ralph/cache/catalog-v2")).unwrap();
        let unknown = "Warning the contents of the live index are unknown, so every search reads all files";
        assert!(found(&memory, "index").contains(&unknown.to_owned()));
    }

    #[test]
    fn leftovers_are_listed() {
        let (_folder, memory) = memory(&[
            ("cache/index-0/meta.json", ""),
            ("cache/catalog-v0/x", ""),
            ("knowledge/.tmp-4294967295-0123456789abcdef", "x"),
            ("knowledge/a.md", "---\ntitle: A\ntags: [x]\n---\none\n"),
        ]);
        let old =
            "Warning 2 caches of other versions of this program: `.ralph/cache/catalog-v0`, `.ralph/cache/index-0`";
        assert_eq!(found(&memory, "old-caches"), [old]);
        let left = "Warning 1 temporary file that a crash left: `.ralph/knowledge/.tmp-4294967295-0123456789abcdef`";
        assert_eq!(found(&memory, "leftovers"), [left]);
        memory.rebuild_index().unwrap();
        assert_eq!(found(&memory, "old-caches"), [old]);
    }

    #[test]
    fn the_holder_of_a_lock_is_named() {
        let (_folder, memory) = memory(&[]);
        let held = memory.workspace.store.lock(std::time::Duration::ZERO).unwrap();
        let lines = found(&memory, "lock");
        assert!(
            lines[0].starts_with(&format!("Warning entries are being written by pid {} on", std::process::id())),
            "{lines:?}"
        );
        drop(held);
        assert_eq!(found(&memory, "lock"), ["Ok free"]);
    }

    #[test]
    fn git_is_asked() {
        let (folder, memory) = memory(&[("cache/x", "x")]);
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
                command.env_remove(variable);
            }
            let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
            let done = command.current_dir(folder.path()).args(settings).args(arguments).output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "-q"]);
        git(&["config", "core.excludesFile", "/dev/null"]);
        assert_eq!(found(&memory, "git-ignore"), ["Ok ignores `cache/` and `state/`, and not the entries"]);
        let uncommitted = found(&memory, "git-commit");
        assert!(
            uncommitted[0].contains("files are not committed, ") && uncommitted[0].starts_with("Ok "),
            "{uncommitted:?}"
        );
        git(&["add", "."]);
        git(&["commit", "-qm", "all"]);
        assert_eq!(found(&memory, "git-commit"), ["Ok everything is committed"]);
        git(&["add", "-f", ".ralph/cache/x"]);
        fs::write(folder.path().join(".gitignore"), ".ralph/knowledge/\n").unwrap();
        fs::write(folder.path().join(".ralph/.gitignore"), "/cache/\n").unwrap();
        fs::create_dir_all(folder.path().join(".ralph/state")).unwrap();
        fs::write(folder.path().join(".ralph/state/x"), "").unwrap();
        fs::write(folder.path().join(".ralph/knowledge/x.md"), "---\ntitle: X\ntags: [x]\n---\nx\n").unwrap();
        let not_ignored = "Warning git does not ignore `state/`, which belongs to this machine only";
        let ignored =
            "Warning git ignores 1 entry, neither shared nor safe from `git clean -x`: `.ralph/knowledge/x.md`";
        assert_eq!(found(&memory, "git-ignore"), [not_ignored, ignored]);
        let tracked = "Error git tracks this file: it belongs to one machine, and is not trusted";
        assert_eq!(found(&memory, "tracked-cache"), [tracked]);
    }
}
