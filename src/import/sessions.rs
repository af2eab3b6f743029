//! Reads past sessions of Claude Code and Codex, and event streams, and what a transcript does not have: when, where, and for
//! what.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Cursor, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::places;
use super::report::{ImportOrigin, ImportReport, reason_of};
use super::request::AgentFolders;
use super::session_events::{EventSession, folder_of, session_of, time, time_of};
use crate::agent_output::transcript::{Format, MAX_LINE, Reader, Transcript};
use crate::recording::session_run;
use crate::sessions::prompt_in;
use crate::store::Folder;
use crate::text::{decoded, floor, read_json};
use crate::workspace::Workspace;

/// How many sessions are looked at: the newest by the names of their files.
const MAX_SESSIONS: usize = 5_000;
/// How many streams a file may have.
const MAX_STREAMS: usize = 500;
/// How much of a prompt is kept, in bytes.
const MAX_PROMPT: usize = 4_096;

/// How much of a file in UTF-16 is read, in bytes: one that a shell wrote.
const MAX_UTF16: u64 = 64 << 20;

/// A past session.
pub(super) struct ClientSession {
    pub(super) format: Format,
    pub(super) id: String,
    /// Its file, in messages.
    pub(super) from: ImportOrigin,
    pub(super) started: DateTime<Utc>,
    pub(super) ended: DateTime<Utc>,
    /// The first thing that a person asked for.
    pub(super) prompt: Option<String>,
    events: SessionEvents,
}

/// Where the events of a session are.
enum SessionEvents {
    /// In the client's own file.
    File(Rc<SessionFile>),
    /// In these bytes of a file, beside events of other sessions.
    Stream(Rc<SessionFile>, Range<u64>),
}

/// A file that may have sessions.
pub(super) struct SessionFile {
    pub(super) folder: Rc<Folder>,
    pub(super) name: String,
    pub(super) from: ImportOrigin,
    /// Whether its place says that it is of this project.
    pub(super) is_of_project: bool,
    /// Whether a person named it: what is wrong with it is told.
    pub(super) is_named: bool,
}

impl SessionFile {
    /// Opens it, to read it as UTF-8 from this byte on.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    fn open(&self, start: u64) -> std::result::Result<Box<dyn BufRead>, String> {
        let opened = || -> io::Result<Box<dyn BufRead>> {
            let mut file = BufReader::new(self.folder.open_file(&self.name)?);
            if !matches!(file.fill_buf()?, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
                file.seek(SeekFrom::Start(start))?;
                return Ok(Box::new(file));
            }
            let mut bytes = Vec::new();
            file.take(MAX_UTF16).read_to_end(&mut bytes)?;
            let mut text = Cursor::new(decoded(&bytes).into_owned());
            text.set_position(start);
            Ok(Box::new(text))
        };
        opened().map_err(|error| reason_of(&error.into()))
    }
}

/// Returns the sessions of the project in these files, each once: a client may keep one in two places, and its stream may have
/// been saved.
pub(super) fn of_project(
    workspace: &Workspace,
    files: Vec<SessionFile>,
    report: &mut ImportReport,
) -> Vec<ClientSession> {
    let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
    let (mut known, mut found) = (HashSet::new(), Vec::new());
    for file in files {
        let file = Rc::new(file);
        match read(&file, &[&root, workspace.root()]) {
            Ok(sessions) if sessions.is_empty() && file.is_named => {
                report.skip(file.from.clone(), "", "it is a session in another folder");
            }
            Ok(sessions) => found.extend(sessions.into_iter().filter(|session| known.insert(session.run_id()))),
            Err(reason) => report.skip(file.from.clone(), "", reason),
        }
    }
    found
}

/// Returns the files in which Claude Code and Codex keep sessions.
pub(super) fn usual(workspace: &Workspace, folders: &AgentFolders, report: &mut ImportReport) -> Vec<SessionFile> {
    let claude = folders.claude_project(workspace.root());
    let codex = folders.codex.as_ref().map(|codex| codex.join("sessions"));
    let of_subfolders = claude.iter().flat_map(|folder| of_subfolders(folder)).map(|folder| (folder, false));
    let places = claude.iter().map(|claude| (claude.clone(), true)).chain(codex.map(|codex| (codex, false)));
    let mut found = Vec::new();
    for (place, is_of_project) in places.chain(of_subfolders) {
        let Ok(folder) = Folder::open(&place) else { continue };
        let files = folder.files(&|path| places::is_lines(path) && !is_of_sub_agent(path));
        for (path, reason) in files.left_out {
            report.skip(ImportOrigin::file(path), "", reason);
        }
        let over = files.paths.len().saturating_sub(MAX_SESSIONS);
        let folder = Rc::new(folder);
        for (index, name) in files.paths.into_iter().enumerate() {
            let (folder, from) = (Rc::clone(&folder), ImportOrigin::file(&name));
            if index < over {
                report.skip(from, "", format!("it is not one of the newest {MAX_SESSIONS}"));
            } else {
                found.push(SessionFile { folder, name, from, is_of_project, is_named: false });
            }
        }
    }
    found
}

/// Returns whether a file is of a sub-agent, whose work is in the session that started it.
pub(super) fn is_of_sub_agent(path: &str) -> bool {
    places::file_name(path).starts_with("agent-") || path.contains("subagents/")
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

/// What a file says about a session so far.
#[derive(Default)]
struct ReadSession {
    session: Option<EventSession>,
    times: Option<(DateTime<Utc>, DateTime<Utc>)>,
    folder: Option<String>,
    prompt: Option<String>,
    /// From its first event to its last.
    bytes: Range<u64>,
}

impl ReadSession {
    fn is_stream(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_stream)
    }

    fn add(&mut self, event: &Value, end: u64) {
        if let Some(at) = time_of(event) {
            self.times = Some((self.times.map_or(at, |(started, _)| started), at));
        }
        self.folder = self.folder.take().or_else(|| folder_of(event).map(str::to_owned));
        self.prompt = self.prompt.take().or_else(|| prompt_in(event).map(cut_prompt));
        self.bytes.end = end;
    }

    /// Returns whether it is of one of these folders; `by_default` where nothing says of which it is.
    fn is_of(&self, roots: &[&Path], by_default: bool) -> bool {
        let is_below = |folder: &String| roots.iter().any(|root| Path::new(folder).starts_with(root));
        self.folder.as_ref().map_or(by_default, is_below)
    }
}

/// Returns what a file says about sessions of these folders. Of the client's own file of another folder, only the beginning
/// is read.
///
/// # Errors
///
/// Why there is no session to read.
fn read(file: &Rc<SessionFile>, roots: &[&Path]) -> std::result::Result<Vec<ClientSession>, String> {
    let mut from = file.open(0)?;
    let modified = file.folder.open_file(&file.name).and_then(|file| file.metadata()?.modified()).ok();
    let modified = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified = modified.and_then(|since| time(&u64::try_from(since.as_millis()).ok()?.into()));
    let mut sessions = vec![ReadSession::default()];
    let (mut current, mut end) = (0, 0);
    let mut line = Vec::new();
    loop {
        let start = end;
        match next_line(&mut from, &mut line).map_err(|error| format!("it cannot be read: {error}"))? {
            0 => break,
            length => end += length,
        }
        let Ok(event) = read_json::<Value>(&line) else { continue };
        if let Some(session) = session_of(&event) {
            current = place_of(session, current, start, &mut sessions)?;
        }
        let Some(session) = sessions.get_mut(current) else { continue };
        session.add(&event, end);
        if !session.is_stream() && !session.is_of(roots, true) {
            return Ok(Vec::new());
        }
    }
    let of_file = |session: ReadSession| {
        let is_of_project = session.is_of(roots, file.is_of_project);
        let is_stream = session.is_stream();
        let EventSession { format, id, .. } = session.session?;
        // A stream need not have times.
        let (started, ended) = session.times.or(modified.zip(modified).filter(|_| is_stream))?;
        let events = match Rc::clone(file) {
            file if is_stream => SessionEvents::Stream(file, session.bytes),
            file => SessionEvents::File(file),
        };
        let from = file.from.clone();
        Some((is_of_project, ClientSession { format, id, from, started, ended, prompt: session.prompt, events }))
    };
    let sessions: Vec<(bool, ClientSession)> = sessions.into_iter().filter_map(of_file).collect();
    if sessions.is_empty() {
        return Err("it is not a session of Claude Code or Codex, nor a stream of an agent".to_owned());
    }
    Ok(sessions.into_iter().filter_map(|(is_of_project, session)| is_of_project.then_some(session)).collect())
}

/// Returns the place of a session among those of a file, the last of which was at `current`. The client's own file has one
/// session, whose events may also name the one that it continues; somebody may have saved several streams to one file.
///
/// # Errors
///
/// If there are too many.
fn place_of(
    session: EventSession,
    current: usize,
    start: u64,
    sessions: &mut Vec<ReadSession>,
) -> std::result::Result<usize, String> {
    let Some(known) = sessions.get_mut(current) else { return Ok(current) };
    let Some(of_known) = &known.session else {
        (known.session, known.bytes.start) = (Some(session), start);
        return Ok(current);
    };
    if *of_known == session || !of_known.is_stream || !session.is_stream {
        return Ok(current);
    }
    if let Some(place) = sessions.iter().position(|known| known.session.as_ref() == Some(&session)) {
        return Ok(place);
    }
    if sessions.len() == MAX_STREAMS {
        return Err(format!("it has over {MAX_STREAMS} sessions; split it"));
    }
    sessions.push(ReadSession { session: Some(session), bytes: start..start, ..ReadSession::default() });
    Ok(sessions.len() - 1)
}

/// Reads the next line; one that is too long becomes empty. Returns how many bytes it has, 0 at the end.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut length = from.by_ref().take(MAX_LINE as u64).read_until(b'\n', line)?;
    if length == MAX_LINE && line.last() != Some(&b'\n') {
        length += from.skip_until(b'\n')?;
        line.clear();
    }
    Ok(length as u64)
}

fn cut_prompt(said: &str) -> String {
    said[..floor(said, MAX_PROMPT)].to_owned()
}

impl ClientSession {
    /// Returns the name of its run, which hooks use as well, so that it is never recorded twice.
    pub(super) fn run_id(&self) -> String {
        let client = match self.format {
            Format::Codex => "codex",
            Format::Opencode => "opencode",
            _ => "claude",
        };
        session_run(client, &self.id)
    }

    /// Reads its events, and what they say about the session itself.
    ///
    /// # Errors
    ///
    /// Why they cannot be read.
    pub(super) fn read(&mut self, mut reader: Reader) -> std::result::Result<Transcript, String> {
        match &self.events {
            SessionEvents::File(file) => reader.read(file.open(0)?).map_err(|error| error.to_string()),
            SessionEvents::Stream(file, bytes) => {
                push_stream(&mut reader, file.open(bytes.start)?, bytes.end - bytes.start, &self.id)
                    .map_err(|error| error.to_string())?;
                let transcript = reader.finish();
                // No event has the time of the beginning.
                let lasted = transcript.duration_secs.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                let lasted = lasted.and_then(|lasted| TimeDelta::from_std(lasted).ok());
                let started = lasted.and_then(|lasted| self.ended.checked_sub_signed(lasted));
                self.started = started.map_or(self.started, |started| started.min(self.started));
                Ok(transcript)
            }
        }
    }
}

/// Reads the events of one session in the next bytes of a file. An event that names no session is of the one before it.
fn push_stream(reader: &mut Reader, from: impl BufRead, length: u64, id: &str) -> io::Result<()> {
    let mut from = from.take(length);
    let (mut line, mut is_own) = (Vec::new(), true);
    while next_line(&mut from, &mut line)? > 0 {
        let session = read_json::<Value>(&line).ok().and_then(|event| session_of(&event));
        is_own = session.map_or(is_own, |session| session.id == id);
        if is_own {
            reader.push(&line);
        }
    }
    Ok(())
}
