//! `check`: gathers all problems of the files, and of the memory as a whole.
//!
//! It reads files and asks git, and leaves the rules to [`check`](mod@super::check) and [`doctor`](mod@super::doctor). A
//! broken file never ends it.

use serde::Serialize;

use super::check as rules;
use super::copies::copies;
use super::doctor::judge;
use super::foreign::tell_foreign_once;
use super::gather::facts;
use super::source_lines::SourceLines;
use crate::entry::path::display_path;
use crate::entry::{EntryNames, Head, Id};
use crate::error::{Findings, Problem, Result, Tally};
use crate::index::catalog::{Area, Catalog, add_archived};
use crate::journal::summaries;
use crate::knowledge::tidy::live_entries;
use crate::knowledge::{Staleness, staleness, touched, visit_naming};
use crate::open::Memory;
use crate::recording::{bad_attempts, kept_problems};
use crate::search::semantic::SemanticStatus;
use crate::text::printed_command;
use crate::workspace::{Work, Workspace};

/// The result of [`Memory::check`](crate::Memory::check).
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Icons", ["ui"], "They are SVG; see [[fonts]]."))?;
/// let report = memory.check();
/// assert_eq!((report.files, report.total.errors, report.total.warnings), (1, 0, 1));
/// assert_eq!(report.problems[0].path, ".ralph/knowledge/icons.md");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// The problems, sorted by path; of one file at most [`MAX_OF_FILE`](crate::error::MAX_OF_FILE), in all at most
    /// [`MAX_IN_ALL`](crate::error::MAX_IN_ALL).
    pub problems: Vec<Problem>,
    /// The number of problems, listed or not.
    pub total: Tally,
    /// The number of files that were checked, those of the archive included.
    pub files: usize,
    /// What is as it should be: notices without a hint about each part of the memory, always in the same order.
    pub ok: Vec<Problem>,
}

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
    pub fn check_with(&self, semantic: SemanticStatus, mut others: Vec<Problem>) -> CheckReport {
        let workspace = &self.workspace;
        others.extend(workspace.layers().1);
        others.extend(bad_attempts(workspace));
        others.extend(kept_problems(self).1);
        let live = workspace.catalog(Area::Live);
        let archive = workspace.catalog(Area::Archive);
        let comparing = workspace.doing(Work::Comparing, None);
        let entries = live_entries(&live);
        let mut names = EntryNames::default();
        for item in &entries {
            names.add_live(item.id.clone(), &item.head, item.counts);
        }
        add_archived(&mut names, &archive);
        let mut findings = rules::problems(&entries, &names, workspace.now());
        let attempts = summaries(workspace.now(), &[&live, &archive], |catalog| catalog.journal_rows().collect());
        findings.extend(rules::usefulness(&entries, &attempts));
        findings.extend(stale_entries(workspace, &live));
        findings.extend(copies(workspace, &live, &archive));
        let mut lines = SourceLines::new(workspace);
        findings.for_each(|problem| lines.locate(problem));
        drop(comparing);
        let mut checking = workspace.doing(Work::Checking, Some(live.len() + archive.len()));
        for catalog in [&live, &archive] {
            workspace.committed_secrets(catalog, &mut findings, &mut checking);
            findings.append(catalog.findings());
            let paths: Vec<String> = catalog.rows().map(|row| catalog.path(row)).collect();
            findings.extend(paths.iter().filter_map(|path| rules::unsafe_name(path)));
            findings.extend(rules::lost_names(&paths));
        }
        drop(checking);
        let _examining = workspace.doing(Work::Examining, None);
        findings.extend(workspace.settings_problems.clone());
        let (ok, others): (Vec<Problem>, Vec<Problem>) =
            judge(&facts(workspace, semantic)).into_iter().chain(others).partition(|finding| finding.hint.is_empty());
        findings.extend(others);
        tell_foreign_once(&mut findings);
        let (problems, total) = findings.finish();
        CheckReport { problems, total, files: live.len() + archive.len(), ok }
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
        let workspace = &self.workspace;
        let live = workspace.catalog(Area::Live);
        workspace.check_whole(&live)?;
        let mut findings = Findings::default();
        let mut lines = SourceLines::new(workspace);
        let (n_naming, touched) = touched(workspace, range, &live)?;
        for (path, change) in touched {
            let (code, message) = match change {
                Ok(Staleness::Gone { path }) => {
                    ("touched", format!("the change removes `{path}`, which this entry names"))
                }
                Ok(Staleness::Rewritten { path }) => {
                    ("touched", format!("the change rewrites `{path}`, which this entry names"))
                }
                Ok(Staleness::Changed { name, path }) => {
                    ("touched", format!("the change touches `{name}` in `{path}`, which this entry names"))
                }
                Err(path) => {
                    ("not-compared", format!("the change of `{path}`, which this entry names, could not be compared"))
                }
            };
            findings.add(Problem::warning(display_path(&path), code, message, confirmation(&path)));
        }
        findings.for_each(|problem| lines.locate(problem));
        let (problems, total) = findings.finish();
        Ok(CheckReport { problems, total, files: n_naming, ok: Vec::new() })
    }

    /// Returns the lines of the files that problems name, for showing them.
    pub fn source_lines(&self) -> SourceLines<'_> {
        SourceLines::new(&self.workspace)
    }
}

/// Returns notices about the live entries whose files changed so that they may be outdated.
fn stale_entries(workspace: &Workspace, live: &Catalog) -> Vec<Problem> {
    let mut named: Vec<(String, Head)> = Vec::new();
    visit_naming(live, workspace.now(), |row, head| named.push((live.path(row), head.to_head())));
    let verdicts = staleness(workspace, &named.iter().map(|(path, head)| (path.as_str(), head)).collect::<Vec<_>>());
    let problem = |((path, _), stale): (&(String, Head), Option<Staleness>)| {
        let message = stale?.reason(|text| format!("`{text}`"));
        Some(Problem::notice(display_path(path), "unverified", message, confirmation(path)))
    };
    named.iter().zip(verdicts).filter_map(problem).collect()
}

fn confirmation(path: &str) -> String {
    let id = Id::of_path(path).map_or_else(|| path.to_owned(), |id| id.to_string());
    let confirm = printed_command("ralph-memory edit ID --confirm", &[("ID", &id)]);
    format!("check whether it still holds, and edit it; if nothing is to be changed, {confirm}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::memory;

    use super::*;

    #[track_caller]
    fn found(memory: &Memory) -> Vec<String> {
        let checked = memory.check();
        checked.problems.iter().map(|problem| format!("{} {}", problem.code, problem)).collect()
    }

    #[test]
    fn problems_have_places() {
        let (_folder, memory) = memory(&[
            ("knowledge/a.md", "---\ntitle: Same\ntags: [x]\n---\none\n"),
            ("knowledge/b.md", "---\ntags: [x]\ntitle: same\nsupersedes: [nowhere]\n---\n\nsee [[nothing]]\n"),
            ("archive/knowledge/c.md", "---\ntext\n"),
            ("config.toml", "format = 1\nlimit = 3\n"),
        ]);
        assert_eq!(
            found(&memory),
            [
                "frontmatter-unclosed .ralph/archive/knowledge/c.md:1:1: the frontmatter that opens here is never closed",
                "unknown-setting .ralph/config.toml:2: there is no setting `limit`",
                "near-duplicate .ralph/knowledge/b.md:3:8: the entry has the same title as `.ralph/knowledge/a.md`",
                "unknown-id .ralph/knowledge/b.md:4:13: `supersedes` names `knowledge/nowhere`, and there is no such entry",
                "broken-link .ralph/knowledge/b.md:7: the link `[[nothing]]` leads to no entry",
            ]
        );
        let checked = memory.check();
        assert_eq!((checked.files, checked.total), (3, Tally { errors: 1, warnings: 4, notices: 0 }));
    }

    #[test]
    fn check_and_show_resolve_links_alike() {
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
}
