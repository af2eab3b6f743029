//! A message of an agent in a session, which a hook records.

use chrono::{DateTime, Utc};

/// A message of an agent in a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionMessage {
    /// The run that new attempts belong to; the default is the active one.
    pub run: Option<String>,
    pub text: String,
    /// The model that wrote it, if known.
    pub model: Option<String>,
    /// When it was written.
    pub at: DateTime<Utc>,
    /// The session that it belongs to, and when that began, if known.
    pub session: Option<(String, DateTime<Utc>)>,
    /// Whether secrets were removed from the text.
    pub is_redacted: bool,
    /// Whether it comes from a file, which a call may have left behind after it recorded the message.
    pub was_kept: bool,
}
