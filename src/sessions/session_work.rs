//! Records a session that changed files and reported no attempt, from its transcript.

use std::io;

use super::message::{RecordedMessage, SessionWork, record_work};
use super::session::SessionName;
use super::transcript::{TranscribedWork, work, work_of_messages};
use crate::error::{Error, Problem};
use crate::journal::has_attempts;
use crate::workspace::Workspace;

/// The largest transcript that is read, in bytes. Reading it takes a tenth of a second.
const MAX_TRANSCRIPT: u64 = 8 * 1024 * 1024;

/// Records a session that changed files and reported no attempt, from the `messages` that its client passes or, without
/// these, from its transcript. Returns whether the memory can be written. Adds what went wrong to the `notes`.
pub(super) fn record_session(
    workspace: &Workspace,
    name: &SessionName,
    messages: Option<&str>,
    notes: &mut Vec<String>,
) -> bool {
    let session = name.read(workspace);
    let path = session.transcript.unwrap_or_default();
    let Some(run) = session.run.filter(|_| !session.is_settled) else { return true };
    let size = messages.map_or_else(|| path.metadata().map_or(0, |data| data.len()), |text| text.len() as u64);
    if session.seen_size == Some(size) || path.as_os_str().is_empty() && messages.is_none() {
        return true;
    }
    let shown = path.display();
    // An import may have been faster.
    let is_known = has_attempts(workspace, &run).unwrap_or(false);
    let done = match messages {
        _ if is_known => Ok(TranscribedWork::Nothing),
        Some(messages) => Ok(work_of_messages(workspace, messages)),
        None => work(workspace, &path, MAX_TRANSCRIPT),
    };
    match done {
        Ok(TranscribedWork::Changes(title, report)) => {
            let work = SessionWork { run: Some(run), title, report: *report, at: session.acted_at };
            match record_work(workspace, &work) {
                Ok(recorded) => tell(recorded, notes),
                // The next session's beginning tries again.
                Err(error) => {
                    notes.push(format!("the session is not recorded: {}", reason(&error)));
                    return false;
                }
            }
        }
        // A resumed session may still do something.
        Ok(TranscribedWork::Nothing) if !is_known => {
            let _ = name.update(workspace, |session| session.seen_size = Some(size));
            return true;
        }
        Ok(TranscribedWork::Nothing) => {}
        Ok(TranscribedWork::TooLarge(size)) => notes
            .push(format!("the session is not recorded: `{shown}` has {size} bytes; the limit is {MAX_TRANSCRIPT}")),
        // The client writes no transcript, or no longer keeps it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => notes.push(format!("the session is not recorded: cannot read `{shown}`: {error}")),
    }
    // If this is not noted, the journal shows that it was recorded.
    let _ = name.update(workspace, |session| session.is_settled = true);
    true
}

/// Adds to the `notes` what was wrong with a report, and problems that a person should see.
pub(super) fn tell(recorded: RecordedMessage, notes: &mut Vec<String>) {
    notes.extend(recorded.refused.into_iter().map(|refused| format!("report: {refused}")));
    notes.extend(recorded.problems.iter().map(Problem::to_string));
}

/// Returns the message of an error, with its cause.
pub(super) fn reason(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
