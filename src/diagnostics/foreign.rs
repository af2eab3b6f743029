//! Tells once what many files have in common: keys and values of other programs.
//!
//! A key in one or two entries may be misspelt, so each place is told. One that many entries share is another program's.

use std::collections::{BTreeMap, BTreeSet};

use crate::entry::read::UNKNOWN_CATEGORY;
use crate::error::{Findings, Problem};
use crate::text::count;

/// In how many files a key or a value is no slip any more.
const MANY: usize = 3;
/// How many keys and values are named.
const MAX_NAMED: usize = 5;
/// The codes of such problems.
const CODES: [&str; 2] = ["unknown-key", UNKNOWN_CATEGORY];

/// Puts one problem in the place of all unknown keys that [`MANY`] files have, and one in the place of such categories.
pub(super) fn tell_foreign_once(findings: &mut Findings) {
    for code in CODES {
        let mut paths_of: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        findings.for_each(|problem| {
            if problem.code == code {
                paths_of.entry(problem.message.to_string()).or_default().insert(problem.path.clone());
            }
        });
        paths_of.retain(|_, paths| paths.len() >= MANY);
        if paths_of.is_empty() {
            continue;
        }
        findings.retain(|problem| problem.code != code || !paths_of.contains_key(&problem.message.to_string()));
        // Each message begins with the word in backticks.
        let words = paths_of.keys().filter_map(|message| message.split('`').nth(1));
        let mut named: Vec<String> = words.take(MAX_NAMED).map(|word| format!("`{word}`")).collect();
        if paths_of.len() > MAX_NAMED {
            named.push(format!("{} more", paths_of.len() - MAX_NAMED));
        }
        let files: BTreeSet<&String> = paths_of.values().flatten().collect();
        let means = if paths_of.len() == 1 { "is kept and means" } else { "are kept and mean" };
        findings.add(Problem::notice(
            ".ralph/",
            code,
            format!("{} in {} {means} nothing here", named.join(", "), count(files.len(), "entry")),
            "leave what belongs to another program; correct what is misspelt",
        ));
    }
}
