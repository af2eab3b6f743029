//! Records a session that changed files and reported no attempt, from its transcript.

use std::io;

use super::session::SessionName;
use super::transcript::{TranscribedWork, work};
use crate::error::{Error, Problem};
use crate::iterations::{RecordedMessage, SessionWork, record_work};
use crate::journal::has_attempts;
use crate::workspace::Workspace;

/// The largest transcript that is read, in bytes: that takes a tenth of a second.
const MAX_TRANSCRIPT: u64 = 8 * 1024 * 1024;

/// Records a session that changed files and reported no attempt. Returns whether the memory can be written. What went
/// wrong is added to the `notes`.
pub(super) fn record_session(workspace: &Workspace, name: &SessionName, notes: &mut Vec<String>) -> bool {
    let session = name.read(workspace);
    let Some(path) = session.transcript.as_ref().filter(|_| !session.is_settled) else { return true };
    let size = path.metadata().map_or(0, |data| data.len());
    if session.seen_size == Some(size) {
        return true;
    }
    let Some(run) = session.run else { return true };
    let shown = path.display();
    // An import may have been faster.
    let is_known = has_attempts(workspace, &run).unwrap_or(false);
    match if is_known { Ok(TranscribedWork::Nothing) } else { work(workspace, path, MAX_TRANSCRIPT) } {
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
        // A session that is resumed may still do something.
        Ok(TranscribedWork::Nothing) if !is_known => {
            let _ = name.update(workspace, |session| session.seen_size = Some(size));
            return true;
        }
        Ok(TranscribedWork::Nothing) => {}
        Ok(TranscribedWork::TooLarge(size)) => notes
            .push(format!("the session is not recorded: `{shown}` has {size} bytes; the limit is {MAX_TRANSCRIPT}")),
        // The client writes no transcript, or keeps it no longer.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => notes.push(format!("the session is not recorded: cannot read `{shown}`: {error}")),
    }
    // If this is not noted, the journal shows that it was recorded.
    let _ = name.update(workspace, |session| session.is_settled = true);
    true
}

/// Adds what was wrong with a report, and problems that a person should see, to the `notes`.
pub(super) fn tell(recorded: RecordedMessage, notes: &mut Vec<String>) {
    notes.extend(recorded.refused.into_iter().map(|refused| format!("report: {refused}")));
    notes.extend(recorded.problems.iter().map(Problem::to_string));
}

/// Returns the message of an error, with its cause.
pub(super) fn reason(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
