//! The problems of many files: the first ones are listed, and the rest are counted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Problem, Severity};
use crate::text::count;

/// How many problems of each severity are listed for one file; the others appear once these are fixed. Each takes about
/// eight lines on a terminal, and a file of 1 MiB can have 100,000.
pub const MAX_OF_FILE: usize = 20;
/// How many problems are listed in all. Nobody reads more.
pub const MAX_IN_ALL: usize = 1_000;

/// How many problems there are of each severity.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::error::Severity;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::write(root.join(".ralph/knowledge/tls.md"), "---\ntitle: TLS\n")?; // the frontmatter has no end
/// let mut total = memory.check().total;
/// assert_eq!((total.errors, *total.of(Severity::Warning)), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tally {
    pub errors: usize,
    pub warnings: usize,
    pub notices: usize,
}

impl Tally {
    /// Returns the count for this severity.
    pub fn of(&mut self, severity: Severity) -> &mut usize {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Notice => &mut self.notices,
        }
    }

    fn add(&mut self, other: Tally) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notices += other.notices;
    }

    /// Returns the problem that summarises these, which are not listed; `None` if there are none.
    fn unlisted(self, path: &str, of: &str) -> Option<Problem> {
        let parts =
            [(self.errors, Severity::Error), (self.warnings, Severity::Warning), (self.notices, Severity::Notice)];
        let parts: Vec<_> = parts.into_iter().filter(|(number, _)| *number > 0).collect();
        let severity = parts.first()?.1;
        let counted = |(number, severity): &(usize, Severity)| count(*number, &format!("more {severity}"));
        let total: usize = parts.iter().map(|(number, _)| number).sum();
        let are = if total == 1 { "is" } else { "are" };
        let counts = parts.iter().map(counted).collect::<Vec<_>>().join(" and ");
        Some(Problem::new(
            severity,
            path.to_owned(),
            "more-problems",
            format!("{counts} {of} {are} not listed"),
            "fix the listed ones, then check again",
        ))
    }
}

/// Collects problems. For each file, and for all files together, the first ones are listed and the rest are counted.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    files: BTreeMap<String, (Vec<Problem>, Tally)>,
}

impl Findings {
    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        self.files.entry(problem.path.clone()).or_default().0.push(problem);
    }

    /// Counts problems of a file without descriptions of them.
    pub fn add_unlisted(&mut self, path: &str, severity: Severity, count: usize) {
        if count > 0 {
            *self.files.entry(path.to_owned()).or_default().1.of(severity) += count;
        }
    }

    /// Adds the problems of another collection.
    pub fn append(&mut self, other: Findings) {
        for (path, (problems, unlisted)) in other.files {
            let own = self.files.entry(path).or_default();
            own.0.extend(problems);
            own.1.add(unlisted);
        }
    }

    /// Passes each problem that can be listed to `look`, which may change it.
    pub fn for_each(&mut self, look: impl FnMut(&mut Problem)) {
        self.files.values_mut().flat_map(|(problems, _)| problems).for_each(look);
    }

    /// Removes the problems that can be listed and that `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(&Problem) -> bool) {
        self.files.values_mut().for_each(|(problems, _)| problems.retain(&mut keep));
    }

    /// Returns the problems in the order of their paths, each once: at most [`MAX_OF_FILE`] of each severity of a file
    /// and [`MAX_IN_ALL`] in all, errors before warnings before notices. One more summarises the unlisted ones. Also
    /// returns the number of all problems, listed or not.
    pub fn finish(self) -> (Vec<Problem>, Tally) {
        let (mut listed, mut total) = (Vec::new(), Tally::default());
        for (path, (mut problems, mut unlisted)) in self.files {
            problems.sort();
            problems.dedup();
            let mut kept = Tally::default();
            problems.retain(|problem| {
                let kept = kept.of(problem.severity);
                let is_kept = *kept < MAX_OF_FILE;
                *(if is_kept { kept } else { unlisted.of(problem.severity) }) += 1;
                is_kept
            });
            total.add(kept);
            total.add(unlisted);
            listed.extend(problems);
            listed.extend(unlisted.unlisted(&path, "in this file"));
        }
        if listed.len() > MAX_IN_ALL {
            let mut severities: Vec<Severity> = listed.iter().map(|problem| problem.severity).collect();
            severities.sort_by(|one, other| other.cmp(one));
            let least = severities[MAX_IN_ALL - 1];
            let mut room = severities[..MAX_IN_ALL].iter().filter(|severity| **severity == least).count();
            let mut unlisted = Tally::default();
            listed.retain(|problem| {
                let is_kept = problem.severity > least || problem.severity == least && room > 0;
                room -= usize::from(is_kept && problem.severity == least);
                *unlisted.of(problem.severity) += usize::from(!is_kept);
                is_kept
            });
            listed.extend(unlisted.unlisted(".ralph/", "in other files"));
        }
        (listed, total)
    }
}

impl Extend<Problem> for Findings {
    fn extend<Problems: IntoIterator<Item = Problem>>(&mut self, problems: Problems) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, line: u32, severity: Severity) -> Problem {
        Problem::new(severity, path, "c", "m", "h").at_line(Some(line))
    }

    #[test]
    fn the_first_problems_of_each_severity_are_listed() {
        let mut findings = Findings::default();
        findings.extend((0..25).map(|line| problem("b", line, Severity::Warning)));
        findings.extend((0..25).map(|line| problem("b", line, Severity::Warning)));
        findings.extend((25..29).map(|line| problem("b", line, Severity::Error)));
        findings.add_unlisted("b", Severity::Warning, 2);
        findings.extend((0..20).map(|line| problem("a", line, Severity::Notice)));
        let (listed, total) = findings.finish();
        assert_eq!(total, Tally { errors: 4, warnings: 27, notices: 20 });
        assert_eq!(listed.len(), 20 + 20 + 4 + 1);
        assert_eq!((listed[0].path.as_str(), listed[20].path.as_str()), ("a", "b"));
        let last = &listed[44];
        assert_eq!(
            (last.to_string().as_str(), last.severity),
            ("b: 7 more warnings in this file are not listed", Severity::Warning)
        );
    }

    #[test]
    fn of_too_many_files_the_worst_problems_are_listed() {
        let mut findings = Findings::default();
        for file in 0..MAX_IN_ALL + 50 {
            findings.add(problem(&format!("{file:05}"), 1, Severity::Warning));
        }
        findings.add(problem("z", 1, Severity::Error));
        let (listed, total) = findings.finish();
        assert_eq!((total.errors, total.warnings), (1, MAX_IN_ALL + 50));
        assert_eq!(listed.len(), MAX_IN_ALL + 1);
        assert_eq!((listed[MAX_IN_ALL - 1].path.as_str(), listed[MAX_IN_ALL - 2].path.as_str()), ("z", "00998"));
        assert_eq!(listed[MAX_IN_ALL].to_string(), ".ralph/: 51 more warnings in other files are not listed");
    }
}
