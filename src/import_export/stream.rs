//! Reads an export back: all lines are checked before the first file is written.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io;

use serde::Deserialize;

use super::export::{SCHEMA_VERSION, bad_line, check_path};
use super::files::{NamedPath, STANDARD_INPUT};
use super::report::{ImportAction, ImportOrigin, ImportReport, ImportedItem};
use super::request::{ImportInput, ImportRequest};
use super::write::{ImportWrite, in_one_write};
use crate::entry::{self, Id, MAX_FILE_BYTES};
use crate::error::{Error, Result};
use crate::store::{Created, Unreadable};
use crate::text::invisible;
use crate::workspace::Workspace;

/// The largest stream, in bytes.
const MAX_STREAM: usize = 512 * 1024 * 1024;

/// A line of a stream. What else a line has follows from this.
#[derive(Deserialize)]
struct StreamLine {
    schema_version: u64,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    path: String,
    #[serde(default)]
    head: String,
    #[serde(default)]
    body: String,
    lines: Option<usize>,
}

/// A file of a stream.
struct StreamedFile {
    line: usize,
    path: String,
    text: String,
}

/// Writes the files of an export that the memory lacks. Also returns the paths of those that are written.
pub(super) fn take_back(workspace: &Workspace, request: &ImportRequest) -> Result<(ImportReport, Vec<String>)> {
    let (name, bytes) = match &request.input {
        ImportInput::Text(bytes) => (STANDARD_INPUT.to_owned(), Cow::Borrowed(bytes.as_slice())),
        ImportInput::Path(path) => {
            let named = NamedPath::find(workspace, path)?;
            let bytes = named.read(path, MAX_STREAM)?;
            (named.shown, Cow::Owned(bytes))
        }
        // Refused before.
        ImportInput::UsualPlace(_) => return Ok(Default::default()),
    };
    let mut report = ImportReport { read: vec![name.clone()], ..ImportReport::default() };
    let streamed = read(&name, &bytes, &mut report)?;
    drop(bytes);
    let written = in_one_write(workspace, request, &mut report, |write, report| {
        for file in streamed {
            report.items.push(one(write, request, &name, file)?);
        }
        Ok(())
    })?;
    Ok((report, written))
}

/// Checks every line, and returns the files.
fn read(name: &str, bytes: &[u8], report: &mut ImportReport) -> Result<Vec<StreamedFile>> {
    let mut files = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut end = None;
    let mut n_lines = 0;
    for line in bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n') {
        n_lines += 1;
        let bad = |reason: &str| bad_line(name, n_lines, reason);
        let parsed = parse(line).map_err(|reason| bad(&reason))?;
        if parsed.schema_version != SCHEMA_VERSION {
            let found = parsed.schema_version;
            let reason =
                format!("its schema_version is {found}, and this program knows {SCHEMA_VERSION}: install a newer one");
            return Err(bad(&reason));
        }
        if end.is_some() {
            return Err(bad("it comes after the `end` of the stream"));
        }
        if (n_lines == 1) != (parsed.kind == "begin") {
            return Err(bad(
                "an export begins with one line of the type `begin`, and this is another stream or a part of one",
            ));
        }
        match parsed.kind.as_str() {
            "begin" => {}
            "end" => end = Some(parsed.lines),
            "settings" => {
                let from = ImportOrigin { line: u32::try_from(n_lines).ok(), ..ImportOrigin::file(name) };
                let reason = "settings are not imported; compare them with `.ralph/config.toml` by hand";
                report.skip_titled(from, "config.toml", reason);
            }
            "knowledge" | "journal" => {
                let file = file(parsed, n_lines).map_err(|reason| bad(&reason))?;
                if !known.insert(file.path.clone()) {
                    return Err(bad("its path is here for the second time"));
                }
                files.push(file);
            }
            _ => return Err(bad("its type is unknown")),
        }
    }
    for StreamedFile { line, path, .. } in &files {
        if let Some((at, _)) = path.match_indices('/').find(|(at, _)| known.contains(&path[..*at])) {
            let reason = format!("its path lies in `{}`, which is a file of this stream", &path[..at]);
            return Err(bad_line(name, *line, reason));
        }
    }
    match end {
        Some(Some(count)) if count == n_lines => Ok(files),
        Some(_) => Err(bad_line(name, n_lines, "it counts other lines than there are: the stream lost some of them")),
        None => Err(bad_line(name, n_lines, "the stream ends here, before its `end`: it is incomplete")),
    }
}

fn parse(line: &[u8]) -> std::result::Result<StreamLine, String> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let line = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    serde_json::from_str(line.trim_end_matches('\r')).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "it is incomplete".to_owned(),
        serde_json::error::Category::Data => "it is not a line of an export".to_owned(),
        _ => format!("it is not JSON: column {}", error.column()),
    })
}

fn file(parsed: StreamLine, line: usize) -> std::result::Result<StreamedFile, String> {
    check_path(&parsed.path)?;
    let of = Id::of_path(&parsed.path).map(|id| id.kind().as_str());
    if of != Some(parsed.kind.as_str()) {
        return Err("its type and its path differ".to_owned());
    }
    let text = parsed.head + &parsed.body;
    if text.len() > MAX_FILE_BYTES {
        return Err("its text is over 1 MiB, the limit of an entry".to_owned());
    }
    Ok(StreamedFile { line, path: parsed.path, text })
}

/// Writes a file of the stream, unless the memory has it, it is refused, or this is a dry run.
fn one(write: &mut ImportWrite<'_>, request: &ImportRequest, name: &str, file: StreamedFile) -> Result<ImportedItem> {
    let StreamedFile { line, path, text } = file;
    let store = &write.workspace.store;
    let entry = entry::read(&path, text.as_bytes());
    let title = if entry.head.title.is_empty() { path.as_str() } else { &entry.head.title };
    let from = ImportOrigin { line: u32::try_from(line).ok(), ..ImportOrigin::file(name) };
    let id = Id::of_path(&path);
    let item = |action| ImportedItem::new(action, from.clone(), title).with_id(id.clone());
    let refused = |reason: String| Ok(item(ImportAction::Refused).because(reason));
    if let Err(error) = write.workspace.refuse_secrets_in("file", &text) {
        return refused(format!("`{path}`: {error}"));
    }
    // Whatever the text claims about itself: anyone can write a stream. A byte order mark is not part of the text.
    let shown = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if let Some((_, character)) = invisible(shown).next().filter(|_| !request.allow_invisible) {
        return refused(format!(
            "`{path}`: U+{:04X} is an invisible character; if it is an export of yours, --allow-invisible lets it pass",
            u32::from(character)
        ));
    }
    let conflict = |path: &str, is: &str| {
        Ok(item(ImportAction::Conflict).because(format!("`{path}` is {is} here, and was not touched")))
    };
    if let Some(other) = id.as_ref().and_then(|id| path_of(write, id, &path)) {
        return match store.read(&other).is_ok_and(|found| found.bytes == text.as_bytes()) {
            true if other == path => Ok(item(ImportAction::Unchanged)),
            true => Ok(item(ImportAction::Unchanged).because(format!("it is at `{other}` here"))),
            false => conflict(&other, "another text"),
        };
    }
    let Some(lock) = write.lock else {
        let is_folder = |at| matches!(store.read(at), Err(Unreadable::Missing | Unreadable::NotAFile));
        let is_free = matches!(store.read(&path), Err(Unreadable::Missing))
            && path.match_indices('/').all(|(at, _)| is_folder(&path[..at]));
        return if is_free { Ok(item(ImportAction::Added)) } else { conflict(&path, "something else") };
    };
    match store.create(lock, &path, text.as_bytes()) {
        Ok(Created::Made) => {
            let added = item(ImportAction::Added);
            write.written.push(path);
            Ok(added)
        }
        Ok(Created::Exists) => conflict(&path, "something else"),
        // A file is where its folder must be. The rest of the stream does not depend on it.
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            conflict(&path, "something else")
        }
        Err(error @ Error::OutsideRoot { .. }) => refused(error.to_string()),
        Err(error) => Err(error),
    }
}

/// Returns the path of the entry that the memory has in the place of a file: at the same path, else with the same id.
fn path_of(write: &ImportWrite<'_>, id: &Id, path: &str) -> Option<String> {
    let catalogs = [&write.live, &write.archive];
    let same = catalogs.iter().find_map(|catalog| catalog.row_of_path(path).map(|row| catalog.path(row)));
    same.or_else(|| catalogs.iter().find_map(|catalog| catalog.row_of_id(id).map(|row| catalog.path(row))))
}
