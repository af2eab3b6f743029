//! The sessions that opencode keeps: in a database of `SQLite`, or, in its older versions, in a JSON file for each session,
//! message and part.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::files::{MAX_FILE, reason_of};
use super::report::{ImportOrigin, ImportReport};
use super::session_events::time;
use super::sources::{file_name, has_extension};
use super::sqlite::{SqlRow, SqlTables};
use crate::agent_output::transcript::{Reader, Transcript, opencode_events};
use crate::error::{Error, Result};
use crate::store::{Folder, Unreadable};

/// The most text of a session, in bytes.
const MAX_SESSION: usize = 64 * 1024 * 1024;
/// The longest id, in bytes.
const MAX_ID: usize = 100;

/// What opencode keeps.
pub(super) enum OpencodeStore {
    /// A database, and its name in messages.
    Database(SqlTables, String),
    /// Its folder, in which `storage` has the files.
    Files(Folder),
}

/// What opencode keeps about a session.
pub(super) struct StoredSession {
    pub(super) id: String,
    /// What opencode calls it.
    pub(super) title: String,
    pub(super) from: ImportOrigin,
    pub(super) started: DateTime<Utc>,
    pub(super) ended: DateTime<Utc>,
    /// The folder that it is about.
    folder: String,
}

/// A message of a session. It is JSON, and so are its parts.
struct StoredMessage {
    info: String,
    parts: Vec<String>,
}

impl OpencodeStore {
    /// Opens a database.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it cannot be read.
    pub(super) fn database(path: PathBuf) -> Result<OpencodeStore> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(OpencodeStore::Database(SqlTables::open(path, "opencode")?, name))
    }

    /// Returns the sessions of these folders, without those of sub-agents, whose work the session that started them reports.
    /// What cannot be read is noted.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the database cannot be read, or is not one of opencode.
    pub(super) fn sessions(&self, roots: &[&Path], report: &mut ImportReport) -> Result<Vec<StoredSession>> {
        let found: Vec<Option<StoredSession>> = match self {
            OpencodeStore::Database(tables, name) => {
                let columns = "id, directory, title, time_created, time_updated";
                let rows = tables.rows("session", columns, "parent_id IS NULL")?.ok_or_else(|| Error::Unusable {
                    message: format!("`{name}` has no table `session`"),
                    hint: "it is not a database of opencode 1; `opencode export` may help".to_owned(),
                })?;
                let times = ["/time_created", "/time_updated"];
                rows.into_iter().map(|row| StoredSession::new(&Value::Object(row), name, times)).collect()
            }
            OpencodeStore::Files(folder) => {
                let files = json_files(folder, "storage/session", report).into_iter();
                let own = files.map(|path| (json(folder, &path), path)).filter(|(file, _)| file["parentID"].is_null());
                own.map(|(file, path)| StoredSession::new(&file, &path, ["/time/created", "/time/updated"])).collect()
            }
        };
        let is_of_project =
            |session: &StoredSession| roots.iter().any(|root| Path::new(&session.folder).starts_with(root));
        Ok(found.into_iter().flatten().filter(is_of_project).collect())
    }

    /// Returns the transcript of a session, and the first thing that a person asked for.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn transcript(
        &self,
        id: &str,
        mut reader: Reader,
    ) -> std::result::Result<(Transcript, Option<String>), String> {
        let messages = match self {
            OpencodeStore::Database(tables, _) => {
                messages_of_database(tables, id).map_err(|error| error.to_string())?
            }
            OpencodeStore::Files(folder) => messages_of_files(folder, id)?,
        };
        for message in &messages {
            reader.push(opencode_events(&message.info, &message.parts).as_bytes());
        }
        Ok((reader.finish(), messages.iter().find_map(StoredMessage::prompt)))
    }
}

impl StoredSession {
    /// Returns the session that a row or a file describes, if that has all that is needed.
    fn new(session: &Value, from: &str, times: [&str; 2]) -> Option<StoredSession> {
        let text = |name: &str| session[name].as_str().map(str::to_owned);
        let [started, ended] = times.map(|place| session.pointer(place).and_then(time));
        let id = text("id").filter(|id| is_id(id))?;
        let heading = (!from.contains(&id)).then(|| id.as_str().into());
        Some(StoredSession {
            title: text("title").unwrap_or_default(),
            from: ImportOrigin { heading, ..ImportOrigin::file(from) },
            started: started?,
            ended: ended?,
            folder: text("directory")?,
            id,
        })
    }
}

impl StoredMessage {
    /// Returns what a person asked for, if it is that.
    fn prompt(&self) -> Option<String> {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let parts = self.parts.iter().filter(|_| value(&self.info)["role"] == "user").map(|part| value(part));
        let own = parts.filter(|part| part["type"] == "text" && part["synthetic"] != true);
        let said = own.filter_map(|part| part["text"].as_str().map(|text| text.trim().to_owned()));
        // `opencode run` puts an argument with spaces in quotation marks.
        let bare = |said: String| match said.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(bare) => bare.trim().to_owned(),
            None => said,
        };
        said.map(bare).find(|said| !said.is_empty())
    }
}

/// Returns whether a text is an id as opencode makes them, which can be in a path and in a query.
fn is_id(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(is_part)
}

/// Returns the messages of a session in their order, which is that of their ids.
fn messages_of_database(tables: &SqlTables, id: &str) -> Result<Vec<StoredMessage>> {
    let rows = |table: &str, columns: &str| tables.rows(table, columns, &format!("session_id = '{id}'"));
    let text = |row: &SqlRow, name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut parts: HashMap<String, Vec<String>> = HashMap::new();
    for part in rows("part", "message_id, data")?.unwrap_or_default() {
        parts.entry(text(&part, "message_id")).or_default().push(text(&part, "data"));
    }
    let messages = rows("message", "id, data")?.unwrap_or_default().into_iter();
    let with_parts = |message: SqlRow| StoredMessage {
        parts: parts.remove(&text(&message, "id")).unwrap_or_default(),
        info: text(&message, "data"),
    };
    Ok(messages.map(with_parts).collect())
}

/// Does the same for a session in files. A file that cannot be read is left out, like a damaged line of a transcript.
fn messages_of_files(folder: &Folder, id: &str) -> std::result::Result<Vec<StoredMessage>, String> {
    let listed = |place: String| json_files(folder, &place, &mut ImportReport::default());
    let (mut messages, mut n_bytes) = (Vec::new(), 0);
    let mut read = |path: &str| {
        let bytes = folder.read(path, MAX_FILE).unwrap_or_default();
        n_bytes += bytes.len();
        let text = String::from_utf8(bytes).unwrap_or_default();
        if n_bytes > MAX_SESSION { Err(format!("it is over the limit of {MAX_SESSION} bytes")) } else { Ok(text) }
    };
    for path in listed(format!("storage/message/{id}")) {
        let stem = file_name(&path).trim_end_matches(".json");
        let parts = if is_id(stem) { listed(format!("storage/part/{stem}")) } else { Vec::new() };
        let info = read(&path)?;
        messages.push(StoredMessage {
            info,
            parts: parts.iter().map(|part| read(part)).collect::<std::result::Result<_, _>>()?,
        });
    }
    Ok(messages)
}

/// Returns the JSON files in a place below a folder, sorted, with the place. What is left out is noted.
fn json_files(folder: &Folder, place: &str, report: &mut ImportReport) -> Vec<String> {
    let below = match folder.descend(place).map_err(Unreadable::from) {
        Ok(below) => below,
        Err(Unreadable::Missing) => return Vec::new(),
        Err(unreadable) => {
            report.skip(ImportOrigin::file(place), reason_of(&unreadable));
            return Vec::new();
        }
    };
    let found = below.files(&|path| has_extension(path, "json"));
    for (path, reason) in found.left_out {
        report.skip(ImportOrigin::file(format!("{place}/{path}")), reason);
    }
    found.paths.into_iter().map(|path| format!("{place}/{path}")).collect()
}

/// Returns what a file has; null if it cannot be read.
fn json(folder: &Folder, path: &str) -> Value {
    folder.read(path, MAX_FILE).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}
