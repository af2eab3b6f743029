//! Finds past sessions of Claude Code and Codex, and reads what a transcript does not have: when, where, and for what.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::files;
use super::report::{ImportOrigin, ImportReport};
use super::request::{ImportInput, ImportRequest};
use super::sources::{file_name, has_extension};
use crate::agent_output::transcript::{Format, MAX_LINE};
use crate::entry::parse_time;
use crate::error::{IoContext as _, Result};
use crate::recording::session_run;
use crate::sessions::prompt_in;
use crate::store::Folder;
use crate::text::floor;
use crate::workspace::Workspace;

/// How many sessions are looked at: the newest by the names of their files.
const MAX_SESSIONS: usize = 5_000;
/// How much of a prompt is kept, in bytes.
const MAX_PROMPT: usize = 4_096;

/// A past session.
#[derive(Debug)]
pub(super) struct ClientSession {
    pub(super) format: Format,
    pub(super) id: String,
    /// Its file, in messages.
    pub(super) from: ImportOrigin,
    pub(super) started: DateTime<Utc>,
    pub(super) ended: DateTime<Utc>,
    /// The first thing that a person asked for.
    pub(super) prompt: Option<String>,
}

/// A file that may have a session.
pub(super) struct SessionFile {
    folder: Folder,
    name: String,
    pub(super) from: ImportOrigin,
    /// Whether its place says that it is of this project.
    is_of_project: bool,
}

impl SessionFile {
    /// Opens it, to read it from its beginning.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(super) fn open(&self) -> std::result::Result<BufReader<File>, String> {
        self.folder.open_file(&self.name).map(BufReader::new).map_err(|error| files::reason_of(&error.into()))
    }
}

/// Finds the files of sessions.
pub(super) fn find(
    workspace: &Workspace,
    request: &ImportRequest,
    report: &mut ImportReport,
) -> Result<Vec<SessionFile>> {
    let mut found = Vec::new();
    match &request.input {
        // Refused before.
        ImportInput::Text(_) => {}
        ImportInput::Path(path) => {
            let full = path.canonicalize().io("read", path)?;
            if full.is_dir() {
                below(&full, true, report, &mut found);
            } else if let (Some(parent), Some(name)) = (full.parent(), full.file_name().and_then(|name| name.to_str()))
            {
                let folder = Folder::open(parent).io("open", path)?;
                let from = ImportOrigin::file(name);
                found.push(SessionFile { folder, name: name.to_owned(), from, is_of_project: true });
            }
        }
        ImportInput::UsualPlace(folders) => {
            let claude = folders.claude_project(workspace.root());
            let codex = folders.codex.as_ref().map(|codex| codex.join("sessions"));
            for folder in claude.iter().chain(&codex) {
                report.searched.push(folder.display().to_string());
                below(folder, true, report, &mut found);
            }
            for folder in claude.iter().flat_map(|folder| of_subfolders(folder)) {
                below(&folder, false, report, &mut found);
            }
        }
    }
    Ok(found)
}

/// Returns the folders that Claude Code may have for the project's subfolders: their names begin with that of the project's
/// own, and so do those of some other projects.
fn of_subfolders(project: &Path) -> Vec<PathBuf> {
    let Some((projects, name)) = project.parent().zip(project.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let start = format!("{name}-");
    let is_below = |folder: &PathBuf| {
        folder.is_dir()
            && folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&start))
    };
    let entries = std::fs::read_dir(projects).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_below).collect();
    folders.sort();
    folders
}

fn below(folder: &Path, is_of_project: bool, report: &mut ImportReport, found: &mut Vec<SessionFile>) {
    let Ok(open) = Folder::open(folder) else { return };
    // Those of sub-agents are in the session that started them.
    let wanted = |path: &str| {
        let name = file_name(path);
        has_extension(name, "jsonl") && !name.starts_with("agent-") && !path.contains("/subagents/")
    };
    let files = open.files(&wanted);
    for (path, reason) in files.left_out {
        report.skip(ImportOrigin::file(path), reason);
    }
    let over = files.paths.len().saturating_sub(MAX_SESSIONS);
    for (index, name) in files.paths.into_iter().enumerate() {
        let from = ImportOrigin::file(&name);
        if index < over {
            report.skip(from, format!("it is not one of the newest {MAX_SESSIONS}"));
        } else if let Ok(folder) = open.descend("") {
            found.push(SessionFile { folder, name, from, is_of_project });
        }
    }
}

/// Reads what a session's file says about the session; `None` if that is of another folder, in which case only the
/// beginning is read.
///
/// # Errors
///
/// Why there is no session to read.
pub(super) fn read(file: &SessionFile, roots: &[&Path]) -> std::result::Result<Option<ClientSession>, String> {
    let mut from = file.open()?;
    let (mut session, mut started, mut ended): (Option<(Format, String)>, _, _) = (None, None, None);
    let (mut prompt, mut cwd) = (None, None);
    let mut line = Vec::new();
    while next_line(&mut from, &mut line).map_err(|error| format!("it cannot be read: {error}"))? {
        let Ok(event) = serde_json::from_slice::<Value>(&line) else { continue };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let at = event["timestamp"].as_str().and_then(parse_time);
        started = started.or(at);
        ended = at.or(ended);
        cwd = cwd.or_else(|| text(&event["cwd"]).or_else(|| text(&event["payload"]["cwd"])));
        if cwd.as_ref().is_some_and(|cwd| !roots.iter().any(|root| Path::new(cwd).starts_with(root))) {
            return Ok(None);
        }
        let id = if event["type"] == "session_meta" {
            text(&event["payload"]["id"]).map(|id| (Format::Codex, id))
        } else {
            text(&event["sessionId"]).map(|id| (Format::Claude, id))
        };
        session = session.or(id);
        prompt = prompt.or_else(|| prompt_in(&event).map(|said| said[..floor(said, MAX_PROMPT)].to_owned()));
    }
    let Some(((format, id), (started, ended))) = session.zip(started.zip(ended)) else {
        return Err("it is not a session of Claude Code or Codex".to_owned());
    };
    // Claude Code has a folder for each project; a file in it need not say where it is from.
    if cwd.is_none() && (format != Format::Claude || !file.is_of_project) {
        return Ok(None);
    }
    Ok(Some(ClientSession { format, id, from: file.from.clone(), started, ended, prompt }))
}

/// Reads the next line; one that is too long becomes empty. Returns whether there was one.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let n_read = std::io::Read::take(&mut *from, MAX_LINE as u64).read_until(b'\n', line)?;
    if n_read == MAX_LINE && line.last() != Some(&b'\n') {
        from.skip_until(b'\n')?;
        line.clear();
    }
    Ok(n_read > 0)
}

impl ClientSession {
    /// Returns the name of its run, which hooks use as well, so that it is never recorded twice.
    pub(super) fn run_id(&self) -> String {
        session_run(if self.format == Format::Codex { "codex" } else { "claude" }, &self.id)
    }
}
