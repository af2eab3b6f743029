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

/// Checks all files, and the memory as a whole. `others` are findings from outside of this module.
pub(crate) fn check(workspace: &Workspace, semantic: SemanticStatus, others: Vec<Problem>) -> CheckReport {
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

/// Reports the entries that the changes of a range touch. A range is one of `git diff`.
pub(crate) fn check_diff(workspace: &Workspace, range: &str) -> Result<CheckReport> {
    let live = workspace.catalog(Area::Live);
    workspace.check_whole(&live)?;
    let mut findings = Findings::default();
    let mut lines = SourceLines::new(workspace);
    let (n_naming, touched) = touched(workspace, range, &live)?;
    for (path, change) in touched {
        let (code, message) = match change {
            Ok(Staleness::Gone { path }) => ("touched", format!("the change removes `{path}`, which this entry names")),
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

#[cfg(test)]
mod tests {
    use super::super::tests::memory;

    use super::*;
    use crate::memory::Memory;

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
