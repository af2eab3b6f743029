//! The part of `## Loop Status` about recurring errors and about files that a feature's attempts touch repeatedly. It
//! gets the room that the rest of that section leaves.

use std::collections::HashSet;

use super::escape;
use crate::context::{ErrorLine, Material};
use crate::entry::Id;

/// How many errors are shown.
const MAX_ERRORS: usize = 2;
/// How much of an error's line is shown, in characters.
const ERROR_CHARACTERS: usize = 160;
/// How many files are suggested: more would not help in choosing.
const MAX_FILES: usize = 8;
/// The longest path that is suggested, in characters: a part of a path would lead nowhere.
const PATH_CHARACTERS: usize = 120;

/// The bullets, each of them one line.
#[derive(Debug, Default)]
pub(super) struct Bullets {
    /// One for each error, the most important first.
    pub(super) errors: Vec<String>,
    /// The bullet that suggests files: with all files, with one file less, and so on.
    pub(super) files: Vec<String>,
}

/// Returns the bullets for a context whose first section has this text and shows these attempts; they do not repeat its
/// content.
pub(super) fn bullets(material: &Material, shown: &[Id], above: &str) -> Bullets {
    let errors = material.recurring.errors.iter().filter(|error| !is_in_warning(error, material));
    let errors = errors.take(MAX_ERRORS).filter_map(|error| error_bullet(error, material, shown, above));
    let named = named(above);
    let mut files: Vec<String> = Vec::new();
    for path in &material.recurring.files {
        let code = escape::code(path, PATH_CHARACTERS);
        let is_whole = path.chars().count() <= PATH_CHARACTERS && !path.trim().is_empty();
        if is_whole && !named.contains(escape::line(path).as_str()) && !files.contains(&code) {
            files.push(code);
        }
    }
    files.truncate(MAX_FILES);
    let bullet = |n_files: usize| {
        format!(
            "- **Suggested context files:** {} (touched in 3 or more iterations of this feature)\n",
            files[..n_files].join(", ")
        )
    };
    Bullets { errors: errors.collect(), files: (1..=files.len()).rev().map(bullet).collect() }
}

/// Describes an error and how often it has occurred.
fn error_bullet(error: &ErrorLine, material: &Material, shown: &[Id], above: &str) -> Option<String> {
    let line = escape::line(&error.line);
    let is_shown = |id: &Id| shown.contains(id) && error.attempts.contains(id);
    let says_so = |number: usize| of_attempt(above, number).any(|other| escape::line(other).contains(&line));
    let attempt = material.attempts.iter().rev().find(|past| is_shown(&past.id) && says_so(past.number));
    let which = match attempt {
        Some(attempt) => format!(" (that of attempt {} above)", attempt.number),
        None if line.is_empty() => return None,
        None => format!(": {}", escape::code(&error.line, ERROR_CHARACTERS)),
    };
    let n_iterations = error.attempts.len();
    let noun = if n_iterations == 1 { "iteration" } else { "iterations" };
    Some(format!("- **Recurring error:** this error has occurred in {n_iterations} previous {noun}{which}\n"))
}

fn of_attempt(above: &str, number: usize) -> impl Iterator<Item = &str> {
    let heading = format!("### Attempt {number} (");
    above.lines().skip_while(move |line| !line.starts_with(&heading)).skip(1).take_while(|line| !line.starts_with('#'))
}

/// Returns whether the warning covers it: the last two failures of the task had the same error.
fn is_in_warning(error: &ErrorLine, material: &Material) -> bool {
    let says_same = material.status.as_ref().is_some_and(|status| {
        status.stuck.as_ref().is_some_and(|stuck| stuck.same_error && status.streak < stuck.threshold)
    });
    let is_failure = |id: &Id| error.attempts.contains(id);
    let newest = material.attempts.iter().rev().find(|past| past.attempt.head.outcome.is_failure_of_task());
    says_same && error.attempts.len() == 2 && newest.is_some_and(|past| is_failure(&past.id))
}

fn named(above: &str) -> HashSet<&str> {
    let lists = above.lines().filter_map(|line| line.strip_prefix("- **Files involved:** "));
    lists.flat_map(|list| without_count(list).split(", ")).collect()
}

/// Removes the count of unlisted files from a list.
fn without_count(list: &str) -> &str {
    let count = list.strip_suffix(" more").and_then(|list| list.rsplit_once(" and "));
    match count {
        Some((list, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => list,
        _ => list,
    }
}
