//! Problems of files, reported beside a result.

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::text::secret;
use crate::text::{choice, floor, for_line};

/// The limit of a message, in bytes: several lines of a terminal. Messages quote values of files, and a value may be as
/// long as its file.
const MAX_MESSAGE: usize = 1_000;
/// How much of a message's text is searched for secrets, in bytes: more than a message and the longest secret that
/// may begin in it.
const MAX_SEARCHED: usize = 24 * 1024;

/// The code of the problem that an answer lacks entries because the system ran out of a resource, such as file
/// descriptors or memory. Such an answer is wrong.
pub const INCOMPLETE: &str = "incomplete";

choice! {
/// The severity of a [`Problem`].
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::error::Severity;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// std::fs::write(root.join(".ralph/knowledge/cors.md"), "---\ntitle: CORS\n\nAllow the shop.\n")?;
/// let worst = memory.check().problems.into_iter().map(|problem| problem.severity).max();
/// assert_eq!(worst, Some(Severity::Error), "its frontmatter is never closed");
/// assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Notice);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(PartialOrd, Ord)]
pub enum Severity {
    /// The file is fine; the notice may be of interest.
    Notice = "notice",
    /// The file works, but would work better if it were fixed.
    Warning = "warning",
    /// A part of the file is hidden from readers until it is fixed.
    Error = "error",
}
}

/// A problem of one file, found while a call continued with the others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Problem {
    /// The file, relative to the folder that holds `.ralph/`, with `/` between its parts.
    pub path: String,
    /// The line, counted from 1, if the problem is in one.
    pub line: Option<u32>,
    /// The column in that line, counted in characters from 1.
    pub column: Option<u32>,
    /// The severity.
    pub severity: Severity,
    /// A short name that stays the same between versions, such as `frontmatter-unclosed`.
    pub code: String,
    /// The problem, in one line without a final period.
    pub message: Message,
    /// How to fix it.
    pub hint: Message,
}

/// A sentence for people that may quote a file.
///
/// It can only be made from text. The conversion replaces the secrets in that text with `[redacted: PATTERN]` and cuts
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

impl Problem {
    /// Returns a problem of the file at `path`, without a line. The path is relative to the folder that holds
    /// `.ralph/`.
    pub fn new(
        severity: Severity,
        path: impl Into<String>,
        code: impl Into<String>,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Problem {
        let (path, code) = (path.into(), code.into());
        Problem { path, line: None, column: None, severity, code, message: message.into(), hint: hint.into() }
    }

    /// Returns the problem with this line, if it is known.
    #[must_use]
    pub fn at_line(self, line: Option<u32>) -> Problem {
        Problem { line, ..self }
    }

    /// Returns the problem with this line and column.
    #[must_use]
    pub fn at(self, line: u32, column: u32) -> Problem {
        Problem { line: Some(line), column: Some(column), ..self }
    }
}

/// Defines the constructor of the problems of a severity.
macro_rules! problems_of {
    ($($(#[$doc:meta])* $name:ident = $severity:ident,)+) => {
        impl Problem {
            $($(#[$doc])*
            pub fn $name(
                path: impl Into<String>,
                code: impl Into<String>,
                message: impl Into<Message>,
                hint: impl Into<Message>,
            ) -> Problem {
                Problem::new(Severity::$severity, path, code, message, hint)
            })+
        }
    };
}

problems_of! {
    /// Returns an error of the file at `path`: see [`Severity::Error`].
    error = Error,
    /// Returns a warning of the file at `path`: see [`Severity::Warning`].
    ///
    /// ```
    /// use ralph_memory::error::Problem;
    /// let problem = Problem::warning(".ralph/knowledge/a.md", "no-tags", "it has no tags", "add `tags`").at_line(Some(2));
    /// assert_eq!(problem.to_string(), ".ralph/knowledge/a.md:2: it has no tags");
    /// ```
    warning = Warning,
    /// Returns a notice of the file at `path`: see [`Severity::Notice`].
    notice = Notice,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&for_line(&self.path))?;
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
    fn a_message_is_short_and_contains_no_half_of_a_secret() {
        let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
        for before in (0..2 * MAX_MESSAGE).filter(|before| before % 97 == 0 || (940..1_010).contains(before)) {
            let message = Message::from(format!("{} {token} {}", "x".repeat(before), "y".repeat(3 * MAX_MESSAGE)));
            assert!(!message.contains("gh"), "{message}");
            assert!(message.len() < MAX_MESSAGE + 40 && message.ends_with('…'), "{message}");
        }
        assert_eq!(Message::from("short").to_string(), "short");
    }
}
