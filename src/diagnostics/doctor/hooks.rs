//! Whether agents' clients call the hooks, and the last error.

use std::time::Duration;

use super::finding::{ok, warning};
use crate::error::Problem;
use crate::sessions::HookLog;

/// Returns the finding about hooks, with the median of so many times of the one at calls of tools. An error counts as
/// current if the client's hooks did nothing after it.
pub(super) fn hooks(log: &HookLog, tool_time: Option<(Duration, usize)>) -> Problem {
    let waited = tool_time.map(|(median, n_calls)| {
        let milliseconds = median.as_secs_f64() * 1000.0;
        format!("; a call of a tool waits {milliseconds:.1} ms for its hook (median of the last {n_calls})")
    });
    let waited = waited.unwrap_or_default();
    if log.acted.is_empty() {
        return ok("hooks", format!("none has fired in this folder yet{waited}"));
    }
    let fired =
        log.acted.iter().map(|(client, (event, at))| format!("{client}: {event} at {}", at.format("%Y-%m-%d %H:%M")));
    let fired = format!("last fired by {}{waited}", fired.collect::<Vec<_>>().join(", "));
    let Some(error) = log.errors.last() else { return ok("hooks", fired) };
    let date = error.at.format("%Y-%m-%d %H:%M");
    let detail = format!("{fired}; last error at {date} ({} of {}): {}", error.event, error.client, error.message);
    let is_current = log.acted.get(&error.client).is_none_or(|(_, at)| *at <= error.at);
    if is_current {
        let hint = "correct what it names; a later hook of this client without an error clears this";
        return warning("hooks", detail, hint);
    }
    ok("hooks", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_time;
    use crate::error::Severity;
    use crate::sessions::HookError;

    #[test]
    fn an_error_counts_until_a_later_hook_of_the_client_succeeds() {
        let at = |hour: u32| parse_time(&format!("2026-11-20T{hour:02}:00:00Z")).unwrap();
        let mut log = HookLog::default();
        let hooks = |log: &HookLog| hooks(log, None);
        assert_eq!(hooks(&log).message, "none has fired in this folder yet");
        log.acted.insert("codex".to_owned(), ("stop".to_owned(), at(9)));
        log.acted.insert("claude".to_owned(), ("stop".to_owned(), at(8)));
        assert_eq!(
            hooks(&log).message,
            "last fired by claude: stop at 2026-11-20 08:00, codex: stop at 2026-11-20 09:00"
        );
        log.errors.push(HookError {
            at: at(8),
            client: "claude".to_owned(),
            event: "stop".to_owned(),
            message: "the disk is full".to_owned(),
        });
        let finding = hooks(&log);
        assert!(finding.message.ends_with("; last error at 2026-11-20 08:00 (stop of claude): the disk is full"));
        assert_eq!(finding.severity, Severity::Warning);
        log.acted.insert("claude".to_owned(), ("stop".to_owned(), at(10)));
        assert_eq!((hooks(&log).severity, hooks(&log).hint.as_str()), (Severity::Notice, ""));
    }
}
