//! Problems of the files.

use std::io;

use super::table::{Code, ERROR};
use super::{Catalog, RowId};
use crate::entry::path::without_extension;
use crate::error::{Findings, INCOMPLETE, Problem, Severity};

/// How many problems a query reports.
const MAX_TOLD: usize = 10;

impl Catalog {
    /// Returns the problems of the first files that have any, those with errors first, at least ten problems if there
    /// are so many. One more problem counts the other files: a query must not take longer because files are faulty.
    pub fn problems(&self) -> Vec<Problem> {
        if let Some(problem) = self.incomplete() {
            return vec![problem];
        }
        let mut findings = Findings::default();
        findings.extend(self.root_problems.iter().cloned());
        self.add_not_entries(&mut findings);
        let (mut listed, _) = findings.finish();
        let is_worse = |row: &RowId| self.row(*row).has(ERROR) || self.row(*row).code().is_some();
        let (worse, others): (Vec<RowId>, Vec<RowId>) =
            self.rows().filter(|&row| self.has_problem(row)).partition(is_worse);
        let mut n_more = worse.len() + others.len() + listed.len().saturating_sub(MAX_TOLD);
        listed.truncate(MAX_TOLD);
        for row in worse.into_iter().chain(others) {
            if listed.len() >= MAX_TOLD {
                break;
            }
            listed.extend(self.head(row).problems);
            n_more -= 1;
        }
        listed.sort();
        listed.dedup();
        if n_more > 0 {
            let files = if n_more == 1 { "file has" } else { "files have" };
            listed.push(Problem::warning(
                ".ralph/",
                "more-problems",
                format!("{n_more} more {files} problems"),
                "run `ralph-memory check` to see them all",
            ));
        }
        listed
    }

    /// Returns the problems of all files.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        if let Some(problem) = self.incomplete() {
            findings.add(problem);
            return findings;
        }
        findings.extend(self.root_problems.iter().cloned());
        for row in self.rows().filter(|&row| self.has_problem(row)) {
            let head = self.head(row);
            if head.more_warnings > 0 {
                findings.add_unlisted(&format!(".ralph/{}", self.path(row)), Severity::Warning, head.more_warnings);
            }
            findings.extend(head.problems);
        }
        self.add_not_entries(&mut findings);
        findings
    }

    /// Returns the problem of a catalog that lacks entries, beside which no other problem matters.
    fn incomplete(&self) -> Option<Problem> {
        let error = self.shortage()?;
        let hint = match error.kind() {
            io::ErrorKind::OutOfMemory => "free some memory, and run the command again",
            _ => "close programs that have many files open, or raise the limit (`ulimit -n`)",
        };
        Some(Problem::error(".ralph/", INCOMPLETE, format!("not all entries can be read: {error}"), hint))
    }

    /// Adds anything that is not an entry, or a folder that cannot be listed.
    fn add_not_entries(&self, findings: &mut Findings) {
        findings.extend(self.table.not_entries.iter().map(|other| other.code.problem(&other.path)));
        for (at, folder) in self.table.folders.iter().enumerate() {
            let path = self.table.folder_path(at);
            if folder.unreadable > 0 {
                findings.add(Code::Unreadable.problem(path));
            }
            if without_extension(path).is_some() {
                findings.add(Code::NotAFile.problem(path));
            }
        }
    }
}
