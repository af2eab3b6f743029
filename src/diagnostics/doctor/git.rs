//! The doctor's rules for git: what it ignores, tracks and merges, and what is not committed.

use super::facts::GitFacts;
use super::finding::{Finding, are, counted, error, ok, warning};
use crate::git::{MergeDriver, Uncommitted};

/// How to register the merge driver.
pub(in crate::diagnostics) const REGISTER: &str = "`ralph-memory doctor --register-merge-driver`";
/// What a command line can do that this program did not register.
const UNKNOWN_DRIVER: &str = "another merge driver than this version's is registered: when it cannot run, git may drop one \
                              side of a merge without conflict markers";

/// Returns the findings about git.
pub(super) fn git(git: &GitFacts) -> Vec<Finding> {
    let (not_ignored, tracked, ignores_entries, uncommitted, merge_driver) = match git {
        GitFacts::Missing => return vec![ok("git", "`git` is not installed")],
        GitFacts::NoWorkTree => return vec![ok("git", "the memory is not in a work tree")],
        GitFacts::Failed(reason) => {
            let fix = "check the folder in the message; files of a clone, such as `HEAD` and `config` in a folder that \
                       is not a repository of yours, can let git run programs there, so remove them before you run git";
            return vec![warning("git", format!("does not answer: {reason}"), fix)];
        }
        GitFacts::WorkTree { not_ignored, tracked, ignores_entries, uncommitted, merge_driver } => {
            (not_ignored, tracked, *ignores_entries, uncommitted, merge_driver)
        }
    };
    let mut findings = Vec::new();
    if !not_ignored.is_empty() {
        let names: Vec<String> = not_ignored.iter().map(|name| format!("`{name}/`")).collect();
        let lines: Vec<String> = not_ignored.iter().map(|name| format!("`/{name}/`")).collect();
        let detail = format!("does not ignore {}, which belongs to this machine only", names.join(" and "));
        let hint = format!("`ralph-memory doctor --fix` puts {} into `.ralph/.gitignore`", lines.join(" and "));
        findings.push(warning("git-ignore", detail, hint));
    }
    if let Some(first) = tracked.first() {
        let detail = format!("tracks {} of `cache/` or `state/`, such as `{first}`", counted(tracked.len(), "file"));
        let hint = "`git rm -r --cached --ignore-unmatch .ralph/cache .ralph/state`, and commit that";
        findings.push(error("git-ignore", format!("{detail}; nothing in it is trusted"), hint));
    }
    if ignores_entries {
        let detail = "ignores the entries, so they are neither shared nor safe from `git clean -x`";
        let hint = "`git check-ignore -v .ralph/knowledge/x.md` names the line to remove";
        findings.push(warning("git-ignore", detail, hint));
    }
    if findings.is_empty() {
        findings.push(ok("git-ignore", "ignores `cache/` and `state/`, and not the entries"));
    }
    findings.push(uncommitted_finding(uncommitted));
    findings.push(merge_finding(merge_driver));
    findings
}

/// Returns the finding about the merge driver.
pub(in crate::diagnostics) fn merge_finding(merge_driver: &MergeDriver) -> Finding {
    let by_key = "makes it merge by key and by block";
    match merge_driver {
        MergeDriver::Works => ok("git-merge", "merges entries by key and by block"),
        MergeDriver::Absent => ok("git-merge", format!("merges entries as text; {REGISTER} {by_key}")),
        MergeDriver::Fails(program) => {
            let detail = format!("merges entries as text: the merge driver `{}` cannot be run", program.display());
            warning("git-merge", detail, format!("{REGISTER} {by_key} again"))
        }
        MergeDriver::Unknown => error("git-merge", UNKNOWN_DRIVER, format!("{REGISTER} replaces it")),
    }
}

fn uncommitted_finding(uncommitted: &Uncommitted) -> Finding {
    let Uncommitted { changed, untracked, more } = uncommitted;
    let Some(first) = changed.first().or(untracked.first()) else {
        return ok("git-commit", "everything is committed");
    };
    let at_least = if *more { "at least " } else { "" };
    let n_all = changed.len() + untracked.len();
    let detail = format!(
        "{at_least}{} not committed, {} of them untracked: `{first}`{}",
        are(n_all, "file"),
        untracked.len(),
        if n_all > 1 { ", …" } else { "" }
    );
    warning("git-commit", detail, "commit `.ralph/`: `git clean` or `git checkout` in a loop would remove it")
}
