//! What is kept of a session between two hooks: whether it got its briefing, and what was recorded of it.

use std::io;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::dialect::of_server;
use crate::open::Memory;
use crate::recording::sealed::{self, SESSIONS};
use crate::recording::session_run;
use crate::store::Folder;
use crate::text::shorten;
use crate::workspace::Workspace;

/// How long a session is kept.
const KEPT: TimeDelta = TimeDelta::days(7);
/// How many old sessions one call removes at most.
const MAX_SWEPT: usize = 50;
/// Equal events within this time count as one event that several clients, or several files of one client, report.
const SAME_EVENT: TimeDelta = TimeDelta::seconds(10);
/// How many sessions are examined to answer a question.
pub(super) const MAX_ASKED: usize = 1_000;
/// How long a session without a reported end counts as open for its client's server, in hours.
const OPEN_HOURS: i64 = 24;
/// How many messages of a session are remembered.
const MAX_MESSAGES: usize = 100;
/// How many of the entries that a session was shown are remembered.
const MAX_SHOWN: usize = 1_000;
/// The longest name of a turn that is kept, in characters.
const MAX_TURN: usize = 100;
/// How many items an agent is shown in a session at calls of tools.
const MAX_CLAIMS: usize = 8;
/// The end of the names of the folders with the claimed items.
const CLAIMS: &str = ".hints";
/// The end of the files' names.
const EXTENSION: &str = ".json";

/// A session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Session {
    /// The client that reported it last.
    pub client: String,
    /// When a hook first acted on it.
    began_at: Option<DateTime<Utc>>,
    /// When a hook last acted on it.
    pub acted_at: DateTime<Utc>,
    /// The run that its attempts belong to, named by the first client that reported the session.
    pub run: Option<String>,
    /// Its transcript.
    pub transcript: Option<PathBuf>,
    /// When it last got its briefing, and for which source.
    briefed: Option<(DateTime<Utc>, String)>,
    /// The ids of entries that it was shown.
    pub shown: Vec<String>,
    /// The messages that were recorded: their hashes, times and turns.
    taken: Vec<(u64, DateTime<Utc>, Option<String>)>,
    /// Whether it has ended.
    pub is_closed: bool,
    /// The size of its transcript in bytes when the transcript had nothing to record.
    pub seen_size: Option<u64>,
    /// Whether nothing is left to record because an attempt is in the journal.
    pub is_settled: bool,
}

/// The name of a session's file, made from the session's id alone, because several clients report the same session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionName(String);

impl SessionName {
    pub(super) fn of(id: &str) -> SessionName {
        SessionName(format!("{:016x}{EXTENSION}", xxh3_64(id.as_bytes())))
    }

    /// Returns the session with the name that [`SessionName::stem`] returned.
    pub(super) fn of_stem(stem: &str) -> Option<SessionName> {
        let is_hash = stem.len() == 16 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| SessionName(format!("{stem}{EXTENSION}")))
    }

    pub(super) fn stem(&self) -> &str {
        self.0.strip_suffix(EXTENSION).unwrap_or(&self.0)
    }

    /// Changes the session. Old sessions are removed when a new one begins.
    ///
    /// # Errors
    ///
    /// Those of [`sealed::update`].
    pub(super) fn update<T>(&self, workspace: &Workspace, change: impl FnOnce(&mut Session) -> T) -> io::Result<T> {
        let (result, is_new) = sealed::update(workspace, &self.0, |session, is_new| (change(session), is_new))?;
        if is_new {
            sweep(workspace);
        }
        Ok(result)
    }

    /// Returns what an agent of the session was shown at calls of tools: the empty name is the session's own agent.
    pub(super) fn claims(&self, workspace: &Workspace, agent: &str) -> io::Result<Claims> {
        let folder = workspace.store.make_state_folder(&self.claims_folder())?;
        let agent = name_hash(agent);
        let claimed = claimed(&folder, &agent)?;
        Ok(Claims { folder, agent, claimed })
    }

    /// Forgets what the session's agents were shown at calls of tools: after a compaction, they no longer have it.
    pub(super) fn forget_claims(&self, workspace: &Workspace) {
        if let Ok(folder) = workspace.store.folder(&format!("state/{}", self.claims_folder())) {
            let _ = folder.clear();
        }
    }

    fn claims_folder(&self) -> String {
        format!("{SESSIONS}/{}{CLAIMS}", self.stem())
    }

    /// Returns the session without changing it.
    pub(super) fn read(&self, workspace: &Workspace) -> Session {
        sealed::read_locked(workspace, &self.0)
    }
}

/// What an agent was shown at calls of tools in a session.
pub(super) struct Claims {
    folder: Folder,
    agent: String,
    claimed: Vec<String>,
}

impl Claims {
    /// Returns whether the agent must not be shown this item: it was before, or it was shown too many others.
    pub(super) fn refuse(&self, item: &str) -> bool {
        self.claimed.len() >= MAX_CLAIMS || self.claimed.contains(&self.name(item))
    }

    /// Claims an item, and returns whether the agent may be shown it. Of calls at once, one gets it.
    pub(super) fn claim(&self, item: &str) -> bool {
        let name = self.name(item);
        if self.folder.create_private(&name).is_err() {
            return false;
        }
        // This call may have claimed others, and calls at once may both have seen room for one.
        let is_over = claimed(&self.folder, &self.agent).is_ok_and(|claimed| claimed.len() > MAX_CLAIMS);
        if is_over {
            let _ = self.folder.remove_file(&name);
        }
        !is_over
    }

    fn name(&self, item: &str) -> String {
        format!("{}-{}", self.agent, name_hash(item))
    }
}

fn claimed(folder: &Folder, agent: &str) -> io::Result<Vec<String>> {
    let names = folder.names()?.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| name.starts_with(agent)).collect())
}

fn name_hash(name: &str) -> String {
    format!("{:016x}", xxh3_64(name.as_bytes()))
}

/// Returns the names of the sessions that are kept.
pub(super) fn kept_sessions(workspace: &Workspace) -> Vec<SessionName> {
    let names = workspace.store.names(&format!("state/{SESSIONS}")).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    names.filter_map(|name| SessionName::of_stem(name.strip_suffix(EXTENSION)?)).collect()
}

/// Returns the ids of the attempts that sessions were shown.
pub(super) fn told_attempts(workspace: &Workspace) -> Vec<String> {
    let shown = kept_sessions(workspace).into_iter().take(MAX_ASKED).flat_map(|name| name.read(workspace).shown);
    shown.filter(|id| id.starts_with("journal/")).collect()
}

impl Memory {
    /// Returns the run of the session of which a client's program calls: that of this id, unless
    /// hooks know that it has ended; else that of the only open session of the client.
    pub fn active_session(&self, client: Option<(&str, String)>) -> Option<String> {
        let (client, id) = client?;
        active_session(&self.workspace, client, Some(&id))
    }

    /// Returns the run of the only open session of a client, by the name that it gives to a server.
    pub fn session_of_client(&self, name: &str) -> Option<String> {
        active_session(&self.workspace, of_server(name)?, None)
    }
}

/// Returns the run of a session in progress: the session with this id, unless hooks know that it has ended; otherwise
/// the client's only open session. A server may outlive the session in which its client started it.
fn active_session(workspace: &Workspace, client: &str, id: Option<&str>) -> Option<String> {
    let own = id.map(|id| (id, SessionName::of(id).read(workspace)));
    if let Some((id, session)) = own.as_ref().filter(|(_, session)| !session.is_closed) {
        return Some(session.run.clone().unwrap_or_else(|| session_run(client, id)));
    }
    let now = workspace.now();
    let names = kept_sessions(workspace).into_iter().take(MAX_ASKED);
    let is_open = |session: &Session| {
        !session.is_closed && session.client == client && (now - session.acted_at).num_hours() < OPEN_HOURS
    };
    let mut open = names.map(|name| name.read(workspace)).filter(is_open).filter_map(|session| session.run);
    let only = open.next().filter(|_| open.next().is_none());
    only.or_else(|| own.and_then(|(_, session)| session.run))
}

/// Removes old sessions.
fn sweep(workspace: &Workspace) {
    let Some(oldest) = workspace.now().checked_sub_signed(KEPT).and_then(|oldest| oldest.timestamp_nanos_opt()) else {
        return;
    };
    let Ok(folder) = workspace.store.folder(&format!("state/{SESSIONS}")) else { return };
    let is_old = |name: &SessionName| folder.stat_of(&name.0).is_ok_and(|stat| stat.mtime < oldest);
    for name in kept_sessions(workspace).into_iter().filter(is_old).take(MAX_SWEPT) {
        // Another process may have removed it.
        let _ = folder.remove_file(&name.0);
        let claims = format!("{}{CLAIMS}", name.stem());
        let _ = folder.descend(&claims).and_then(|claims| claims.clear());
        let _ = folder.remove_folder(&claims);
    }
}

/// Returns whether a session that begins for this reason continues a conversation that already has the briefing.
pub(super) fn is_resumed(source: &str) -> bool {
    matches!(source, "resume" | "fork")
}

impl Session {
    /// Notes that a session begins, and returns whether it gets the briefing now. It gets the briefing once, and again
    /// after a compaction.
    pub(super) fn begins(&mut self, source: &str, now: DateTime<Utc>) -> bool {
        if is_resumed(source) {
            return false;
        }
        let is_lost = matches!(source, "compact" | "clear");
        let gets_it = match &self.briefed {
            None => true,
            Some((at, before)) => is_lost && (before != source || (now - *at).abs() >= SAME_EVENT),
        };
        if gets_it {
            self.briefed = Some((now, source.to_owned()));
            self.shown.clear();
        }
        gets_it
    }

    /// Notes that a hook acts on it.
    pub(super) fn acts(&mut self, now: DateTime<Utc>) {
        self.began_at.get_or_insert(now);
        self.acted_at = now;
        self.is_closed = false;
    }

    /// Returns when the session began, as far as hooks know.
    pub(super) fn began(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        self.began_at.unwrap_or(now)
    }

    /// Notes that a message is recorded, and returns whether it is new. The same words in another turn are a new
    /// message.
    pub(super) fn takes_message(&mut self, text: &str, turn: Option<&str>, now: DateTime<Utc>) -> bool {
        let hash = xxh3_64(text.as_bytes());
        let is_same = |(known, at, of): &(u64, DateTime<Utc>, Option<String>)| {
            *known == hash && ((now - *at).abs() < SAME_EVENT || (turn.is_some() && of.as_deref() == turn))
        };
        let is_new = !self.taken.iter().any(is_same);
        if is_new {
            let turn = turn.map(|turn| shorten(turn, MAX_TURN));
            self.taken.push((hash, now, turn));
            let n_over = self.taken.len().saturating_sub(MAX_MESSAGES);
            self.taken.drain(..n_over);
        }
        is_new
    }

    /// Notes that entries are shown, and returns whether all of them are new to the session.
    pub(super) fn shows(&mut self, ids: &[String]) -> bool {
        let are_new = !ids.iter().any(|id| self.shown.contains(id));
        if are_new {
            self.shown.extend_from_slice(ids);
            let n_over = self.shown.len().saturating_sub(MAX_SHOWN);
            self.shown.drain(..n_over);
        }
        are_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_time;

    #[test]
    fn a_session_gets_its_briefing_once_and_again_after_it_lost_it() {
        let mut session = Session::default();
        let at = |second: u32| parse_time(&format!("2026-11-20T10:00:{second:02}Z")).unwrap();
        let steps = [
            ("resume", 0, false),
            ("fork", 0, false),
            ("startup", 1, true),
            ("startup", 2, false),
            ("", 50, false),
            // Two clients report the same compaction.
            ("compact", 3, true),
            ("compact", 4, false),
            ("compact", 30, true),
            ("clear", 31, true),
            ("clear", 31, false),
            ("resume", 59, false),
        ];
        for (source, second, expected) in steps {
            assert_eq!(session.begins(source, at(second)), expected, "{source} at {second}");
        }
    }

    #[test]
    fn a_message_and_an_entry_count_once() {
        let mut session = Session::default();
        let at = |seconds: i64| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let mut takes = |text: &str, turn: Option<&str>, seconds: i64| session.takes_message(text, turn, at(seconds));
        assert!(takes("a", None, 0) && takes("b", Some("t1"), 0) && !takes("a", None, 9) && !takes("a", Some("t1"), 9));
        assert!(takes("a", None, 10) && !takes("b", Some("t1"), 60) && takes("b", Some("t2"), 60));
        for number in 0..MAX_MESSAGES {
            assert!(takes(&format!("m{number}"), None, 0));
        }
        assert_eq!(session.taken.len(), MAX_MESSAGES);
        let [one, two] = [["a".to_owned()], ["b".to_owned()]];
        assert!(session.shows(&one) && !session.shows(&[one[0].clone(), two[0].clone()]) && session.shows(&two));
        // After a compaction, the agent no longer has them.
        assert!(session.begins("compact", DateTime::UNIX_EPOCH) && session.shows(&one));
    }
}
