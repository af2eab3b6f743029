//! What goes wrong, in two strengths.
//!
//! An [`Error`] stops a call. A [`Problem`] is found in one file while a call goes on with the
//! others, and is reported beside its result. This module knows nothing of terminals or exit codes:
//! the program maps errors to them in one place.

mod kind;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::secret;
use crate::text::floor;

pub use self::kind::ErrorKind;

/// The most of a message that is kept, in bytes: several lines of a terminal. Messages quote values of files, and a
/// value may be as long as its file.
const MAX_MESSAGE: usize = 1_000;
/// How much of a message's text is searched for secrets, in bytes: more than a message and the longest secret that
/// may begin in it.
const MAX_SEARCHED: usize = 24 * 1024;

/// The result of a call that can be stopped by an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no `.ralph/` folder here, or none here and above.
    #[error("no `.ralph` folder in `{start}`{}", elsewhere(above.as_deref()))]
    NoMemory {
        /// Where it was looked for.
        start: PathBuf,
        /// The nearest folder above that has one, where only `start` was looked at.
        above: Option<PathBuf>,
    },
    /// The folder was made by a newer program.
    #[error("`{path}` has format {found}, and this program knows formats up to {known}")]
    NewerFormat {
        /// The settings file that says so.
        path: PathBuf,
        /// The format it names.
        found: u64,
        /// The newest format known.
        known: u64,
    },
    /// A settings file or variable does not say what it must.
    #[error("cannot read the settings in `{place}`: {reason}")]
    Settings {
        /// The file, with the line where known, or the environment variable.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No entry has this id.
    #[error("there is no entry `{id}`")]
    NoSuchEntry {
        /// The id that was asked for.
        id: String,
        /// Ids that look alike, nearest first.
        similar: Vec<String>,
    },
    /// The archive has nothing to bring back.
    #[error("the archive has no version of `{id}`")]
    NotArchived {
        /// The live entry that was asked for.
        id: String,
    },
    /// The caller gave something that no entry can hold.
    #[error("{what}: {reason}")]
    Invalid {
        /// The argument, as the caller knows it.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The caller gave what looks like a secret, which would be committed.
    #[error("{what}, line {line}: this looks like a secret: {pattern}, fingerprint {fingerprint}")]
    Secret {
        /// The argument, as the caller knows it.
        what: &'static str,
        /// The line in it, counted from 1.
        line: u32,
        /// What sort of secret.
        pattern: &'static str,
        /// What it can be allowed by.
        fingerprint: String,
    },
    /// A file cannot be changed without harming what it says.
    #[error("cannot edit `{path}`: {reason}")]
    Uneditable {
        /// The file, relative to the folder that holds `.ralph/`.
        path: String,
        /// What stands in the way.
        reason: String,
    },
    /// A file changed between reading and replacing it.
    #[error("`{path}` was changed by another program at the same time")]
    Conflict {
        /// The file.
        path: PathBuf,
        /// Where the other program's version was kept, when it had to be moved.
        kept: Option<PathBuf>,
    },
    /// Another process held a lock for longer than the time-out.
    #[error("`{path}` was still locked after {waited_ms} ms{}", holder_suffix(.holder.as_ref()))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited, in milliseconds.
        waited_ms: u64,
        /// What the holder wrote about itself.
        holder: Option<String>,
    },
    /// A path leaves the folder, or goes through a link.
    #[error("`{path}` is outside the memory folder or reached through a link")]
    OutsideRoot {
        /// The path.
        path: PathBuf,
    },
    /// A memory that was found by looking upward belongs to another user, who may have put it there for this one.
    #[error("`{path}` belongs to the user with id {owner}, and you are the one with id {user}")]
    ForeignOwner {
        /// The folder: `.ralph`, or the one that holds it.
        path: PathBuf,
        /// The user id of its owner.
        owner: u32,
        /// The user id of this process.
        user: u32,
    },
    /// The file system refused.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was attempted, as a verb: "read", "write", "create".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The search index failed in a way that a rebuild did not mend.
    #[error("cannot use the search index in `{path}`")]
    Index {
        /// The index folder.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An attempt could not be written to the journal. All of it is in a file outside of the project, from which
    /// [`Memory::record_kept`](crate::Memory::record_kept) writes it.
    #[error("cannot record the attempt in `{root}`; what its agent said is kept in `{kept}`")]
    NotRecorded {
        /// The folder that holds `.ralph/`, or should.
        root: PathBuf,
        /// The file.
        kept: PathBuf,
        /// Why it could not be recorded.
        source: Box<Error>,
    },
    /// An attempt could neither be written to the journal nor kept outside of the project.
    #[error("cannot record the attempt in `{root}`, nor keep what its agent said: {reason}")]
    NotKept {
        /// The folder that holds `.ralph/`, or should.
        root: PathBuf,
        /// What would have been kept, for whoever can put it into a file.
        text: String,
        /// Why it could not be kept.
        reason: String,
        /// Why it could not be recorded.
        source: Box<Error>,
    },
    /// An agent is at work that nobody waits for.
    #[error(
        "cannot begin an iteration: the agent of iteration {number} of {run_id} is still at work, as process {pid}"
    )]
    StillWorking {
        /// The run, which was killed.
        run_id: String,
        /// The number of the agent's iteration in it.
        number: u32,
        /// The agent's process.
        pid: u32,
    },
    /// A run cannot use what it was given: a command, a prompt template, a checklist, or a folder for logs.
    #[error("{message}")]
    Unusable {
        /// What cannot be used, and why.
        message: String,
        /// What to give instead.
        hint: String,
    },
    /// A bug ended the call.
    #[error("a bug stopped the call: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// `git` could not be run or refused.
    #[error("`git {command}` failed: {reason}")]
    Git {
        /// The arguments.
        command: String,
        /// The last line that it wrote to its error output.
        reason: String,
    },
}

fn elsewhere(above: Option<&Path>) -> String {
    above.map_or_else(|| " or above it".to_owned(), |above| format!("; the one above it is in `{}`", above.display()))
}

fn holder_suffix(holder: Option<&String>) -> String {
    holder.map(|holder| format!(" by {holder}")).unwrap_or_default()
}

/// Adds the path and the action to an I/O error.
pub(crate) trait IoContext<T> {
    /// Wraps the error, if there is one, as [`Error::Io`].
    fn io(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T, E: Into<std::io::Error>> IoContext<T> for std::result::Result<T, E> {
    fn io(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::Io { action, path: path.into(), source: source.into() })
    }
}

/// How bad a [`Problem`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is wrong with the file; somebody may want to know all the same.
    Notice,
    /// The file works, and would work better mended.
    Warning,
    /// Something the file says is lost to readers until it is mended.
    Error,
}

/// Something wrong with one file, found while a call went on with the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Problem {
    /// The file, relative to the folder that holds `.ralph/`, with `/` between its parts.
    pub path: String,
    /// The line, counted from 1, where one is to blame.
    pub line: Option<u32>,
    /// The column in that line, counted in characters from 1.
    pub column: Option<u32>,
    /// How bad it is.
    pub severity: Severity,
    /// A short name that stays the same between versions, such as `frontmatter-unclosed`.
    pub code: String,
    /// What is wrong, in one line without a final period.
    pub message: Message,
    /// How to mend it.
    pub hint: Message,
}

/// A sentence for people that may quote what a file says.
///
/// It can only be made from text, and making it replaces the secrets in that text by `[redacted: PATTERN]` and cuts
/// the text at 1,000 bytes. Values with an allowed fingerprint are redacted as well.
///
/// ```
/// use ralph_memory::error::Message;
/// let value = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
/// assert_eq!(Message::from(format!("`scope` is `{value}`")), "`scope` is `[redacted: github-token]`");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Message(String);

impl From<&str> for Message {
    fn from(text: &str) -> Message {
        let searched = &text[..floor(text, MAX_SEARCHED)];
        let end = floor(text, MAX_MESSAGE);
        let mut message = secret::redact_part(searched, 0..end, &secret::find(searched));
        if end < text.len() {
            message.push('…');
        }
        Message(message)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::from(text.as_str())
    }
}

impl Message {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Message {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

/// How many problems of each severity are listed of one file: with these mended, the rest is seen. On a terminal each
/// takes some eight lines, and a file of 1 MiB can hold 100,000.
pub const MAX_OF_FILE: usize = 20;
/// How many problems are listed in all. Nobody reads more, and code hosts show at most 5,000 of a SARIF log.
pub const MAX_IN_ALL: usize = 1_000;

/// How many problems there are of each severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tally {
    pub errors: usize,
    pub warnings: usize,
    pub notices: usize,
}

impl Tally {
    /// Returns how many there are of this severity.
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

    /// Returns the problem that stands for these, which are not listed; `None` where there are none.
    fn unlisted(self, path: &str, of: &str) -> Option<Problem> {
        let parts = [
            (self.errors, Severity::Error, "error"),
            (self.warnings, Severity::Warning, "warning"),
            (self.notices, Severity::Notice, "notice"),
        ];
        let parts: Vec<_> = parts.into_iter().filter(|(count, ..)| *count > 0).collect();
        let severity = parts.first()?.1;
        let counted = |(count, _, noun): &(usize, Severity, &str)| {
            format!("{count} more {noun}{}", if *count == 1 { "" } else { "s" })
        };
        let total: usize = parts.iter().map(|(count, ..)| count).sum();
        let are = if total == 1 { "is" } else { "are" };
        let counts = parts.iter().map(counted).collect::<Vec<_>>().join(" and ");
        Some(Problem {
            path: path.to_owned(),
            line: None,
            column: None,
            severity,
            code: "more-problems".to_owned(),
            message: format!("{counts} {of} {are} not listed").into(),
            hint: "mend those that are, then check again".into(),
        })
    }
}

/// Collects problems: of each file, and of all files, the first are listed and the rest is counted.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    files: BTreeMap<String, (Vec<Problem>, Tally)>,
}

impl Findings {
    /// Adds a problem.
    pub fn add(&mut self, problem: Problem) {
        self.files.entry(problem.path.clone()).or_default().0.push(problem);
    }

    /// Counts problems of a file that nobody described.
    pub fn add_unlisted(&mut self, path: &str, severity: Severity, count: usize) {
        if count > 0 {
            *self.files.entry(path.to_owned()).or_default().1.of(severity) += count;
        }
    }

    /// Adds the problems that another collection has.
    pub fn append(&mut self, other: Findings) {
        for (path, (problems, unlisted)) in other.files {
            let own = self.files.entry(path).or_default();
            own.0.extend(problems);
            own.1.add(unlisted);
        }
    }

    /// Gives each problem that can be listed to `look`, which may change it.
    pub fn for_each(&mut self, look: impl FnMut(&mut Problem)) {
        self.files.values_mut().flat_map(|(problems, _)| problems).for_each(look);
    }

    /// Returns the problems in the order of their paths, each once: at most [`MAX_OF_FILE`] of each severity of a file
    /// and [`MAX_IN_ALL`] in all, errors before warnings before notices. One more stands for those that are left out.
    /// Beside them it returns how many there are, listed or not.
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
            listed.extend(unlisted.unlisted(&path, "of this file"));
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
            listed.extend(unlisted.unlisted(".ralph/", "of other files"));
        }
        (listed, total)
    }
}

impl Extend<Problem> for Findings {
    fn extend<Problems: IntoIterator<Item = Problem>>(&mut self, problems: Problems) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
            if let Some(column) = self.column {
                write!(formatter, ":{column}")?;
            }
        }
        write!(formatter, ": {}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_short_and_holds_no_half_of_a_secret() {
        let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
        for before in (0..2 * MAX_MESSAGE).filter(|before| before % 97 == 0 || (940..1_010).contains(before)) {
            let message = Message::from(format!("{} {token} {}", "x".repeat(before), "y".repeat(3 * MAX_MESSAGE)));
            assert!(!message.contains("gh"), "{message}");
            assert!(message.len() < MAX_MESSAGE + 40 && message.ends_with('…'), "{message}");
        }
        assert_eq!(Message::from("short").to_string(), "short");
    }

    fn problem(path: &str, line: u32, severity: Severity) -> Problem {
        let (message, hint) = ("m".into(), "h".into());
        Problem { path: path.to_owned(), line: Some(line), column: None, severity, code: "c".to_owned(), message, hint }
    }

    #[test]
    fn of_many_problems_the_first_of_each_severity_are_listed() {
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
            ("b: 7 more warnings of this file are not listed", Severity::Warning)
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
        assert_eq!(listed[MAX_IN_ALL].to_string(), ".ralph/: 51 more warnings of other files are not listed");
    }
}
