//! Looking after the memory: what is wrong with its files, and how it is doing as a whole.

use std::collections::BTreeSet;
use std::fs;

use chrono::TimeDelta;
use serde::Serialize;

use super::source::Sources;
use super::{CONFIG, Memory};
use crate::catalog::{self, Area, Catalog, RowId};
use crate::check::{self, Item};
use crate::doctor::{self, Diagnosis, Facts, Git, Index, Watches};
use crate::entry::Head;
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::error::{Problem, Result, Severity, Tally};
use crate::git::{Lookup, WorkTree};
use crate::index;
use crate::iterations;
use crate::journal::summaries;
use crate::knowledge::{Staleness, staleness};
use crate::retrieve::superseded;
use crate::semantic::{self, SemanticStatus};
use crate::settings::FORMAT;
use crate::workspace::Work;

/// Where Linux says how much may be watched.
const INOTIFY: &str = "/proc/sys/fs/inotify";
/// How far ahead of the clock a file may be: another machine's clock, or another time zone.
const AHEAD: TimeDelta = TimeDelta::days(1);
/// The folders that hold entries.
const ENTRIES: [&str; 3] = ["knowledge", "journal", "archive"];
/// How to take what git tracks and should not out of it.
const UNTRACK: &str =
    "run `git rm -r --cached --ignore-unmatch .ralph/cache .ralph/state`, and commit that; the files stay";
/// The folders that git should ignore.
const IGNORED: [&str; 2] = ["cache", "state"];

/// What [`Memory::check`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What is wrong, in the order of the paths, as [`Findings::finish`](crate::error::Findings::finish) lists it.
    pub problems: Vec<Problem>,
    /// How many problems there are, listed or not.
    pub total: Tally,
    /// How many files were looked at, those of the archive included.
    pub files: usize,
}

impl Memory {
    /// Returns everything that is wrong with the files: what stands in the way of reading them, and
    /// what does not fit together.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn check(&self) -> Result<Checked> {
        let live = self.catalog(Area::Live);
        let archive = self.catalog(Area::Archive);
        let archived: BTreeSet<_> = archive.rows().filter_map(|row| archive.id(row)).collect();
        let comparing = self.doing(Work::Comparing, None);
        let items = items(&live);
        let mut findings = check::problems(&items, &archived, self.now());
        findings.extend(check::usefulness(
            &items,
            &summaries(self.now(), &[&live, &archive], |catalog| catalog.journal_rows().collect()),
        ));
        findings.extend(self.doubtful(&live));
        let mut sources = self.sources();
        findings.for_each(|problem| sources.locate(problem));
        drop(comparing);
        let mut checking = self.doing(Work::Checking, Some(live.len() + archive.len()));
        for catalog in [&live, &archive] {
            self.committed_secrets(catalog, &mut findings, &mut checking);
            findings.append(catalog.findings());
        }
        drop(checking);
        let _asking = self.doing(Work::AskingGit, None);
        findings.extend(self.settings_problems.clone());
        findings.extend(iterations::bad_iterations(&self.workspace));
        findings.extend(self.tracked_derived());
        findings.extend(self.hostile_repository());
        let (problems, total) = findings.finish();
        Ok(Checked { problems, total, files: live.len() + archive.len() })
    }

    /// Returns what a clone has that git takes for a repository, where git said so. It refuses to look at the project then.
    fn hostile_repository(&self) -> Option<Problem> {
        let Lookup::Refused(reason) = WorkTree::find(self.store.memory()) else { return None };
        reason.contains("bare repository").then(|| Problem {
            path: MEMORY_FOLDER.to_owned(),
            line: None,
            column: None,
            severity: Severity::Warning,
            code: "repository-in-project".to_owned(),
            message: format!("git refuses to look at the project: {reason}").into(),
            hint: "a folder of the project, or one around it, holds `HEAD`, `config`, `objects` and `refs`, and can let git run \
                   programs; remove them before you run git there"
                .into(),
        })
    }

    /// Returns what git tracks of the folders that are of this machine alone. None of it is believed.
    fn tracked_derived(&self) -> Vec<Problem> {
        let Some(work_tree) = self.work_tree() else { return Vec::new() };
        let tracked = work_tree.tracked(&IGNORED).unwrap_or_default();
        let of = |name: &'static str| {
            let mut of_folder = tracked.iter().filter(|path| path.split('/').next() == Some(name));
            let first = of_folder.next()?;
            let n_more = of_folder.count();
            let more = if n_more > 0 { format!(", and {n_more} more of `.ralph/{name}/`") } else { String::new() };
            Some(Problem {
                path: display_path(first),
                line: None,
                column: None,
                severity: Severity::Error,
                code: format!("tracked-{name}"),
                message: format!("git tracks this file{more}: it is of one machine alone, and is not believed").into(),
                hint: UNTRACK.into(),
            })
        };
        IGNORED.into_iter().filter_map(of).collect()
    }

    /// Returns which live entries name files that are gone or have changed much since they were written.
    fn doubtful(&self, live: &Catalog) -> Vec<Problem> {
        // What is replaced or has expired is told to nobody, so nobody need look at it.
        let (now, superseded) = (self.now(), superseded(&[live], self.now()));
        let is_told =
            |row: &RowId| live.is_indexable(*row) && live.id(*row).is_some_and(|id| !superseded.contains(&id));
        let rows = live.knowledge_rows().filter(is_told);
        let named: Vec<(String, Head)> = rows
            .map(|row| (live.path(row), live.head(row)))
            .filter(|(_, head)| head.valid && !head.is_expired(now) && !head.files.is_empty())
            .collect();
        let verdicts = staleness(&self.workspace, &named.iter().map(|(_, head)| head).collect::<Vec<_>>());
        let doubt = |((path, _), staleness): (&(String, Head), Option<Staleness>)| {
            let staleness = staleness?;
            let what = if staleness.is_gone { "is gone" } else { "has changed much" };
            Some(Problem {
                path: display_path(path),
                line: None,
                column: None,
                severity: Severity::Notice,
                code: "unverified".to_owned(),
                message: format!(
                    "unverified since {}: `{}`, which it names, {what} since it was written",
                    staleness.short_commit(),
                    staleness.path
                )
                .into(),
                hint: "see whether it still holds; `add` with the same title, or an edit of `updated_at`, confirms it"
                    .into(),
            })
        };
        named.iter().zip(verdicts).filter_map(doubt).collect()
    }

    /// Returns the lines of the files that problems name.
    pub fn sources(&self) -> Sources<'_> {
        Sources::new(self)
    }

    /// Returns how the memory is doing: folders, index, locks, git, and how to mend what is wrong.
    /// Nothing is changed.
    ///
    /// # Errors
    ///
    /// None at present; what cannot be looked at is a finding.
    pub fn doctor(&self) -> Result<Diagnosis> {
        let _examining = self.doing(Work::Examining, None);
        let latest = self.now().checked_add_signed(AHEAD).and_then(|latest| latest.timestamp_nanos_opt());
        let facts = Facts {
            format: FORMAT,
            has_settings: self.store.read(CONFIG).is_ok(),
            settings_problems: self.settings_problems.len(),
            memory: self.store.folder_state(""),
            entries: ENTRIES.map(|name| (name, self.store.folder_state(name))).into(),
            state: self.store.folder_state("state"),
            cache: self.store.folder_state("cache"),
            indexes: vec![("live", self.index_facts(Area::Live)), ("archive", self.index_facts(Area::Archive))],
            old_caches: self.old_caches(),
            survey: self.store.survey(latest.unwrap_or(i64::MAX)),
            lock: self.store.lock_state(),
            cache_lock: self.store.cache_lock_state(),
            watches: watches(),
            git: self.git_facts(),
            meaning: {
                let SemanticStatus { wanted, active, detail, mend } = self.semantic_status();
                doctor::Meaning { is_well: active && mend.is_none() || !wanted, detail, mend }
            },
            kept: iterations::kept_problems(&self.workspace, &self.state_folders).1,
        };
        Ok(doctor::judge(&facts))
    }

    pub(super) fn index_facts(&self, area: Area) -> Index {
        let committed = self.committed(area);
        let catalog = self.catalog(area);
        Index {
            id: committed.as_ref().map(|committed| committed.id().to_owned()),
            documents: committed.map_or(0, |committed| usize::try_from(committed.n_documents()).unwrap_or(usize::MAX)),
            stale: catalog.stale_paths().len(),
            is_known: catalog.index_is_known(),
            entries: catalog.rows().filter(|row| catalog.is_indexable(*row)).count(),
            pending: catalog.n_pending(),
        }
    }

    /// Returns the folders of the cache that another version of this program made.
    pub(super) fn old_caches(&self) -> Vec<String> {
        let names = self.store.folder("cache").and_then(|cache| cache.names()).unwrap_or_default();
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

    pub(super) fn git_facts(&self) -> Git {
        let tree = match WorkTree::find(self.store.memory()) {
            Lookup::NoGit => return Git::Missing,
            Lookup::NoWorkTree => return Git::NoWorkTree,
            Lookup::Refused(reason) => return Git::Failed(reason),
            Lookup::Found(tree) => tree,
        };
        // A file in a folder is asked about, since the folder itself need not exist.
        let probes = [IGNORED[0], IGNORED[1], ENTRIES[0]].map(|name| format!("{name}/probe.md"));
        let answers = tree.ignored(&probes.each_ref().map(String::as_str)).and_then(|ignored| {
            let is_ignored = |name: &str| ignored.iter().any(|probe| probe.split('/').next() == Some(name));
            let not_ignored = IGNORED.iter().filter(|name| !is_ignored(name)).map(|name| (*name).to_owned()).collect();
            Ok(Git::WorkTree {
                not_ignored,
                tracked: tree.tracked(&IGNORED)?,
                ignores_entries: is_ignored(ENTRIES[0]),
                uncommitted: tree.uncommitted()?,
                has_merge_driver: tree.merge_driver()?.is_some(),
            })
        });
        answers.unwrap_or_else(|error| Git::Failed(error.to_string()))
    }
}

fn watches() -> Option<Watches> {
    let number = |name: &str| fs::read_to_string(format!("{INOTIFY}/{name}")).ok()?.trim().parse().ok();
    Some(Watches { folders: number("max_user_watches")?, instances: number("max_user_instances")? })
}

fn items(catalog: &Catalog) -> Vec<Item> {
    let item = |row| {
        let (path, head) = (catalog.path(row), catalog.head(row));
        Some(Item { id: catalog.id(row)?, path, head, counts: catalog.is_indexable(row) })
    };
    catalog.rows().filter_map(item).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::doctor::State;

    /// Makes a memory with these files below `.ralph/`.
    fn memory(files: &[(&str, &str)]) -> (tempfile::TempDir, Memory) {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        for (path, text) in files {
            let path = folder.path().join(".ralph").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let memory = Memory::open(folder.path()).unwrap();
        (folder, memory)
    }

    #[track_caller]
    fn found(memory: &Memory) -> Vec<String> {
        let checked = memory.check().unwrap();
        checked.problems.iter().map(|problem| format!("{} {}", problem.code, problem)).collect()
    }

    #[test]
    fn a_new_memory_is_in_order() {
        let (_folder, memory) = memory(&[]);
        assert_eq!(memory.check().unwrap(), Checked { problems: Vec::new(), total: Tally::default(), files: 0 });
    }

    #[test]
    fn problems_have_places() {
        let (_folder, memory) = memory(&[
            ("knowledge/a.md", "---\ntitle: Same\ntags: [x]\n---\none\n"),
            ("knowledge/b.md", "---\ntags: [x]\ntitle: same\nsupersedes: [nowhere]\n---\n\nsee [[nothing]]\n"),
            ("archive/knowledge/c.md", "text\n"),
            ("config.toml", "format = 1\nlimit = 3\n"),
        ]);
        assert_eq!(
            found(&memory),
            [
                "no-frontmatter .ralph/archive/knowledge/c.md:1:1: the first line is not `---`, so the file has no frontmatter",
                "unknown-setting .ralph/config.toml:2: there is no setting `limit`",
                "near-duplicate .ralph/knowledge/b.md:3:8: the entry has the same title as `.ralph/knowledge/a.md`",
                "unknown-id .ralph/knowledge/b.md:4:13: `supersedes` names `knowledge/nowhere`, and there is no such entry",
                "broken-link .ralph/knowledge/b.md:7: the link `[[nothing]]` leads to no entry",
            ]
        );
        let checked = memory.check().unwrap();
        assert_eq!((checked.files, checked.total), (3, Tally { errors: 1, warnings: 4, notices: 0 }));
    }

    #[test]
    fn what_a_link_may_name_is_what_show_follows() {
        let link = |target: &str| format!("---\ntitle: T\ntags: [x]\n---\n[[{target}]]\n");
        for target in
            ["other", "knowledge/other", "An  OTHER entry", "journal/run-1/0001", "gone", "nothing", "", "a/b"]
        {
            let (_folder, memory) = memory(&[
                ("knowledge/a.md", &link(target)),
                ("knowledge/sub/other.md", "---\ntitle: An other entry\ntags: [y]\n---\nother\n"),
                ("archive/knowledge/gone.md", "---\ntitle: Gone\ntags: [z]\n---\ngone\n"),
                ("journal/run-1/0001.md", "---\nrun_id: run-1\n---\n"),
            ]);
            let shown = memory.show(&crate::entry::Id::parse("a").unwrap()).unwrap().entry.links;
            let is_broken = found(&memory).iter().any(|problem| problem.starts_with("broken-link"));
            assert_eq!(is_broken, shown.iter().any(|link| link.id.is_none()), "{target:?}");
        }
    }

    /// Returns what the doctor says of one thing: its state, then its detail.
    #[track_caller]
    fn said(memory: &Memory, what: &str) -> Vec<String> {
        let findings = memory.doctor().unwrap().findings;
        let findings = findings.into_iter().filter(|finding| finding.what == what);
        findings.map(|finding| format!("{:?} {}", finding.state, finding.detail)).collect()
    }

    #[test]
    fn the_doctor_finds_a_new_memory_in_order() {
        let (_folder, memory) = memory(&[]);
        let diagnosis = memory.doctor().unwrap();
        let bad: Vec<_> = diagnosis.findings.iter().filter(|finding| finding.state != State::Ok).collect();
        assert!(bad.is_empty() && diagnosis.worst() == State::Ok, "{bad:?}");
        let whats: Vec<_> = diagnosis.findings.iter().map(|finding| finding.what).collect();
        for what in
            ["settings", "entries", "state", "cache", "index", "old-caches", "leftovers", "lock", "git", "clock"]
        {
            assert!(whats.contains(&what), "{what}");
        }
    }

    #[test]
    fn the_doctor_looks_at_the_index() {
        let (folder, memory) = memory(&[("knowledge/a.md", "---\ntitle: A\ntags: [x]\n---\none\n")]);
        let none = "Ok live: none yet; 1 entry is read directly until a command makes it";
        assert_eq!(said(&memory, "index")[0], none);
        assert!(!folder.path().join(".ralph/cache").exists());
        memory.rebuild_index().unwrap();
        let committed = |line: &str, end: &str| {
            assert!(line.starts_with("Ok live: commit ") && line.ends_with(end), "{line}");
        };
        committed(&said(&memory, "index")[0], " with 1 document for 1 entry, 0 not indexed yet");
        // One changed, which leaves its old document stale, and one new.
        fs::write(folder.path().join(".ralph/knowledge/a.md"), "---\ntitle: A b\ntags: [x]\n---\ntwo\n").unwrap();
        fs::write(folder.path().join(".ralph/knowledge/b.md"), "---\ntitle: B\ntags: [x]\n---\nthree\n").unwrap();
        committed(&said(&memory, "index")[0], " with 1 document for 2 entries, 2 not indexed yet");
        fs::remove_dir_all(folder.path().join(".ralph/cache/catalog-v2")).unwrap();
        let unknown = "Warning live: nobody knows what it holds, so every search reads all files";
        assert_eq!(said(&memory, "index")[0], unknown);
    }

    #[test]
    fn the_doctor_names_what_lies_about() {
        let (folder, memory) = memory(&[
            ("cache/index-0/meta.json", ""),
            ("cache/catalog-v0/x", ""),
            ("knowledge/.tmp-4294967295-0123456789abcdef", "x"),
            ("knowledge/a.md", "---\ntitle: A\ntags: [x]\n---\none\n"),
        ]);
        let old =
            "Warning 2 caches of other versions of this program: `.ralph/cache/catalog-v0`, `.ralph/cache/index-0`";
        assert_eq!(said(&memory, "old-caches"), [old]);
        let left = "Warning 1 temporary file that a crash left: `.ralph/knowledge/.tmp-4294967295-0123456789abcdef`";
        assert_eq!(said(&memory, "leftovers"), [left]);
        memory.rebuild_index().unwrap();
        assert_eq!(said(&memory, "old-caches"), [old]);
        assert_eq!(said(&memory, "clock"), ["Ok no file is from the future"]);
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 24 * 3600);
        let memory = Memory::open(folder.path()).unwrap().with_clock(move || past);
        assert_eq!(said(&memory, "clock"), ["Warning 1 file is from the future: `.ralph/knowledge/a.md`"]);
    }

    #[test]
    fn the_doctor_names_who_holds_a_lock() {
        let (_folder, memory) = memory(&[]);
        let held = memory.store.lock(std::time::Duration::ZERO).unwrap();
        let lines = said(&memory, "lock");
        assert!(
            lines[0].starts_with(&format!("Warning entries are being written by pid {} on", std::process::id())),
            "{lines:?}"
        );
        drop(held);
        assert_eq!(said(&memory, "lock"), ["Ok free"]);
    }

    #[test]
    fn the_doctor_asks_git() {
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
        assert_eq!(said(&memory, "git-ignore"), ["Ok ignores `cache/` and `state/`, and not the entries"]);
        let uncommitted = said(&memory, "git-commit");
        assert!(
            uncommitted[0].contains("files are not committed, ") && uncommitted[0].starts_with("Warning "),
            "{uncommitted:?}"
        );
        git(&["add", "."]);
        git(&["commit", "-qm", "all"]);
        assert_eq!(said(&memory, "git-commit"), ["Ok everything is committed"]);
        git(&["add", "-f", ".ralph/cache/x"]);
        fs::write(folder.path().join(".gitignore"), ".ralph/knowledge/\n").unwrap();
        fs::write(folder.path().join(".ralph/.gitignore"), "/cache/\n").unwrap();
        assert_eq!(
            said(&memory, "git-ignore"),
            [
                "Warning does not ignore `state/`, which is of this machine alone",
                "Error keeps 1 file of `cache/` or `state/`, such as `cache/x`; none of it is believed",
                "Warning ignores the entries, so they are neither shared nor safe from `git clean -x`",
            ]
        );
    }
}
