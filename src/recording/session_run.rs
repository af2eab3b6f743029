//! The names of the runs of sessions, which no loop continues.
//!
//! A hook and an import use the same name for the run of a client's session, so that the second one finds it. Session
//! ids may come from anywhere: an id that is not a UUID never becomes part of a name.

use xxhash_rust::xxh3::xxh3_64;

/// The beginning of the name of a session whose client is not one of [`CLIENTS`].
pub(super) const SESSION: &str = "session-";
/// The clients whose sessions can be imported.
const CLIENTS: [&str; 3] = ["claude", "codex", "opencode"];

/// Returns the run of a session that a client reports.
pub(crate) fn session_run(client: &str, id: &str) -> String {
    client_run(client, id).unwrap_or_else(|| format!("{SESSION}{:08x}", xxh3_64(id.as_bytes()) >> 32))
}

/// Returns the run of a session of one of [`CLIENTS`]; `None` for other clients.
fn client_run(client: &str, id: &str) -> Option<String> {
    let client = CLIENTS.into_iter().find(|known| *known == client)?;
    let id = if is_uuid(id) { id.to_ascii_lowercase() } else { format!("{:016x}", xxh3_64(id.as_bytes())) };
    Some(format!("{client}-{id}"))
}

/// Returns whether a run is a session of one of [`CLIENTS`].
pub(crate) fn is_client_run(run: &str) -> bool {
    let is_hash = |id: &str| id.len() == 16 && is_hex(id);
    let id = CLIENTS.into_iter().find_map(|client| run.strip_prefix(client)?.strip_prefix('-'));
    id.is_some_and(|id| is_uuid(id) || is_hash(id))
}

/// Returns whether a run is a session.
pub(crate) fn is_session(run: &str) -> bool {
    is_client_run(run) || run.strip_prefix(SESSION).is_some_and(|id| id.len() == 8 && is_hex(id))
}

fn is_uuid(id: &str) -> bool {
    let groups = id.split('-').map(|group| if is_hex(group) { group.len() } else { 0 });
    groups.eq([8, 4, 4, 4, 12])
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::check_run_name;

    #[test]
    fn a_run_is_called_by_the_id_of_its_session() {
        let id = "0199C0DE-0000-7000-8000-00000000000a";
        assert_eq!(session_run("claude", id), "claude-0199c0de-0000-7000-8000-00000000000a");
        assert_eq!(client_run("codex", id).as_deref(), Some("codex-0199c0de-0000-7000-8000-00000000000a"));
        assert_eq!(client_run("cursor", id), None);
        assert!(session_run("cursor", id).starts_with("session-"));
    }

    #[test]
    fn whatever_the_id_the_name_is_safe_and_known_as_that_of_a_session() {
        let long = "a".repeat(5_000);
        let ids = [
            "",
            "s-1",
            "../../etc",
            "a\u{1b}[2Jb",
            "nul",
            "Ä",
            &long,
            "0199c0de-0000-7000-8000-00000000000g",
            "--------",
        ];
        for (client, id) in
            ["claude", "codex", "opencode", "goose"].into_iter().flat_map(|client| ids.map(|id| (client, id)))
        {
            let run = session_run(client, id);
            assert!(check_run_name(&run).is_ok() && is_session(&run), "{client} {id:?}: {run}");
            assert_eq!(is_client_run(&run), client != "goose", "{run}");
            assert!(id.is_empty() || !run.contains(id), "{run}");
        }
        assert_ne!(session_run("claude", "s-1"), session_run("claude", "s-2"));
    }

    #[test]
    fn a_run_that_a_person_named_is_no_session() {
        for run in ["claude-nightly", "codex-2", "run-1a2b3c4d", "session-7", "claude", "claudes-1a2b3c4d1a2b3c4d"] {
            assert!(!is_session(run), "{run}");
        }
    }
}
