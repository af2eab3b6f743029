//! The rules for git: what it ignores and tracks, and what is not committed.

use super::facts::GitFacts;
use super::finding::{are, ok, warning};
use crate::diagnostics::gather::MACHINE_FOLDERS;
use crate::entry::path::{MEMORY_FOLDER, display_path};
use crate::error::Problem;
use crate::git::{Uncommitted, ignored_entries};

/// How to remove from git what it tracks and should not.
const UNTRACK: &str =
    "run `git rm -r --cached --ignore-unmatch .ralph/cache .ralph/state`, and commit that; the files stay";

/// Returns the findings about git.
pub(super) fn git(git: &GitFacts) -> Vec<Problem> {
    let (not_ignored, tracked, (is_private, ignored), uncommitted, old_driver) = match git {
        GitFacts::Missing => return vec![ok("git", "`git` is not installed")],
        GitFacts::NoWorkTree => return vec![ok("git", "the memory is not in a work tree")],
        GitFacts::Failed(reason) => return vec![refusal(reason)],
        GitFacts::WorkTree { not_ignored, tracked, is_private, ignored, uncommitted, old_driver } => {
            (not_ignored, tracked, (*is_private, ignored), uncommitted, old_driver)
        }
    };
    let mut findings = tracked_files(tracked);
    if !not_ignored.is_empty() {
        let names: Vec<String> = not_ignored.iter().map(|name| format!("`{name}/`")).collect();
        let lines: Vec<String> = not_ignored.iter().map(|name| format!("`/{name}/`")).collect();
        let message = format!("git does not ignore {}, which belongs to this machine only", names.join(" and "));
        let hint = format!("`ralph-memory check --fix` puts {} into `.ralph/.gitignore`", lines.join(" and "));
        findings.push(warning("git-ignore", message, hint));
    }
    if is_private {
        let message = "git ignores the entries, so they are neither shared nor safe from `git clean -x`; `git check-ignore -v \
                       .ralph/knowledge/x.md` names the line that says so";
        findings.push(ok("git-ignore", message));
    } else if !ignored.is_empty() {
        findings.push(ignored_entries(ignored));
    }
    if findings.is_empty() {
        findings.push(ok("git-ignore", "ignores `cache/` and `state/`, and not the entries"));
    }
    // What is ignored is not committed either.
    if !is_private {
        findings.push(ok("git-commit", uncommitted_message(uncommitted)));
    }
    if !old_driver.is_empty() {
        let name = if old_driver.len() == 1 { "names" } else { "name" };
        let message = format!("{} still {name} the merge driver of an earlier version", old_driver.join(" and "));
        let hint = "`ralph-memory check --fix` removes those lines";
        findings.push(Problem::notice(MEMORY_FOLDER, "merge-driver", message, hint));
    }
    findings
}

/// Reports that git refuses to work. A hostile clone may contain a folder that git takes for a bare repository.
fn refusal(reason: &str) -> Problem {
    if reason.contains("bare repository") {
        let hint = "a folder of the project, or one around it, contains `HEAD`, `config`, `objects` and `refs`, and can let \
                    git run programs; remove them before you run git there";
        return warning("repository-in-project", format!("git refuses to work in the project: {reason}"), hint);
    }
    let hint = "check the folder in the message; files of a clone, such as `HEAD` and `config` in a folder that is not a \
                repository of yours, can let git run programs there, so remove them before you run git";
    warning("git", format!("git does not answer: {reason}"), hint)
}

/// Reports files that git tracks although they belong to one machine. They are not trusted.
fn tracked_files(tracked: &[String]) -> Vec<Problem> {
    let of = |name: &'static str| {
        let mut of_folder = tracked.iter().filter(|path| path.split('/').next() == Some(name));
        let first = of_folder.next()?;
        let n_more = of_folder.count();
        let more = if n_more > 0 { format!(", and {n_more} more of `.ralph/{name}/`") } else { String::new() };
        let message = format!("git tracks this file{more}: it belongs to one machine, and is not trusted");
        Some(Problem::error(display_path(first), format!("tracked-{name}"), message, UNTRACK))
    };
    MACHINE_FOLDERS.into_iter().filter_map(of).collect()
}

/// Says what is not committed: the usual state between two commits, so it is no problem.
fn uncommitted_message(uncommitted: &Uncommitted) -> String {
    let Uncommitted { changed, untracked, more } = uncommitted;
    let Some(first) = changed.first().or(untracked.first()) else { return "everything is committed".to_owned() };
    let at_least = if *more { "at least " } else { "" };
    let n_all = changed.len() + untracked.len();
    let (are, dots) = (are(n_all, "file"), if n_all > 1 { ", …" } else { "" });
    let n_untracked = untracked.len();
    format!(
        "{at_least}{are} not committed, {n_untracked} of them untracked: `{first}`{dots}; `git clean` and `git checkout` \
         remove what is not committed"
    )
}
