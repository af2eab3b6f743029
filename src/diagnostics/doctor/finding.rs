//! What the doctor reports: findings with a state, a detail and a hint.
//!
//! It also has the few ways in which rules word a finding. It knows no rule.

use serde::Serialize;

use crate::error::Message;
use crate::store::Paths;

/// How bad a finding is.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::FindingState;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nserch.limit = 3\n")?;
/// let findings = Memory::open(root)?.doctor().findings;
/// let settings = findings.iter().find(|finding| finding.what == "settings").ok_or("not examined")?;
/// assert_eq!(settings.state, FindingState::Warning, "{}", settings.detail);
/// assert!(FindingState::Ok < settings.state && settings.state < FindingState::Error);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// As it should be.
    Ok,
    /// It works, and would work better fixed.
    Warning,
    /// Something does not work.
    Error,
}

/// The state of one part of the memory.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// for finding in memory.doctor().findings {
///     if let Some(hint) = &finding.hint {
///         eprintln!("{}: {} ({hint})", finding.what, finding.detail);
///     }
///     assert!(!finding.detail.contains('\n'), "it is one line");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The part that was examined: a word that stays the same between versions, such as `index`.
    pub what: &'static str,
    /// Whether it is as it should be.
    pub state: FindingState,
    /// What was found, in one line without a final period.
    pub detail: Message,
    /// How to fix it; `None` where nothing needs to be fixed.
    pub hint: Option<Message>,
}

/// The result of [`Memory::doctor`](crate::Memory::doctor).
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::memory::FindingState;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let diagnosis = memory.doctor();
/// assert!(diagnosis.worst() < FindingState::Error);
/// assert!(diagnosis.findings.iter().any(|finding| finding.what == "index"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The findings, always in the same order.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Returns the worst state of all.
    pub fn worst(&self) -> FindingState {
        self.findings.iter().map(|finding| finding.state).max().unwrap_or(FindingState::Ok)
    }
}

pub(super) fn ok(what: &'static str, detail: impl Into<Message>) -> Finding {
    Finding { what, state: FindingState::Ok, detail: detail.into(), hint: None }
}

pub(super) fn warning(what: &'static str, detail: impl Into<Message>, hint: impl Into<Message>) -> Finding {
    Finding { what, state: FindingState::Warning, detail: detail.into(), hint: Some(hint.into()) }
}

pub(super) fn error(what: &'static str, detail: impl Into<Message>, hint: impl Into<Message>) -> Finding {
    Finding { state: FindingState::Error, ..warning(what, detail, hint) }
}

/// Returns the first few of the paths, for a sentence.
pub(super) fn named(paths: &Paths) -> String {
    const MAX_SHOWN: usize = 3;
    let list: Vec<String> = paths.named.iter().take(MAX_SHOWN).map(|path| format!("`.ralph/{path}`")).collect();
    let more = if paths.count > list.len() { ", …" } else { "" };
    format!("{}{more}", list.join(", "))
}

/// Returns a number with its noun, such as `2 entries`.
pub(super) fn counted(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (count, Some(stem)) => format!("{count} {stem}ies"),
        (count, None) => format!("{count} {word}s"),
    }
}

/// Returns a number with its noun and the verb, such as `1 entry is`.
pub(super) fn are(count: usize, word: &str) -> String {
    format!("{} {}", counted(count, word), if count == 1 { "is" } else { "are" })
}
