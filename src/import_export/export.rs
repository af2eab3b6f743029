//! A whole memory as JSON Lines, which an import restores byte for byte.
//!
//! The lines are in the order of their paths, so that equal memories give equal streams. Everything that is derived or
//! belongs to this machine is left out: `cache/` and `state/`.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::entry::path::{display_path, is_copy};
use crate::entry::{Id, frontmatter};
use crate::error::{Error, Problem, Result};
use crate::index::catalog::{Area, Catalog};
use crate::text::invisible;
use crate::workspace::{CONFIG, Workspace, unlisted};

/// The version of the lines.
pub(super) const SCHEMA_VERSION: u64 = 1;
/// How deep an entry may be below `.ralph/`.
const MAX_DEPTH: usize = 16;

/// The lines of [`Memory::export`](crate::Memory::export): the first says what they are, the last how many there are.
/// A file that cannot be exported is a problem in its place.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Seed data", ["demo"], "`just seed` fills the demo shop."))?;
/// let lines: Vec<String> = memory.export()?.filter_map(Result::ok).collect();
/// assert!(lines[2].contains("knowledge/seed-data.md"), "after the first line and the settings");
/// assert!(lines.last().is_some_and(|line| line.contains(r#""type":"end""#)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ExportStream<'a> {
    workspace: &'a Workspace,
    /// The files that are left, in reverse order.
    paths: Vec<String>,
    /// How many lines were given.
    n_lines: usize,
    is_over: bool,
}

/// Returns the lines of a memory.
pub(crate) fn export(workspace: &Workspace) -> Result<ExportStream<'_>> {
    let areas = [workspace.catalog(Area::Live), workspace.catalog(Area::Archive)];
    if let Some(error) = areas.iter().find_map(|catalog| unlisted(&workspace.store, catalog)) {
        return Err(error);
    }
    let of = |catalog: &Catalog| {
        catalog.rows().map(|row| catalog.path(row)).filter(|path| !is_copy(path)).collect::<Vec<_>>()
    };
    let mut paths: Vec<String> = areas.iter().flat_map(of).collect();
    paths.push(CONFIG.to_owned());
    paths.sort_unstable_by(|one, other| other.cmp(one));
    Ok(ExportStream { workspace, paths, n_lines: 0, is_over: false })
}

impl Iterator for ExportStream<'_> {
    type Item = std::result::Result<String, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        if self.n_lines == 0 {
            return Some(Ok(self.line(&json!({"type": "begin", "program": env!("CARGO_PKG_NAME")}))));
        }
        while let Some(path) = self.paths.pop() {
            match self.of_file(&path) {
                Some(Ok(value)) => return Some(Ok(self.line(&value))),
                Some(Err(problem)) => return Some(Err(problem)),
                None => {}
            }
        }
        self.is_over = true;
        let end = json!({"type": "end", "lines": self.n_lines + 1});
        Some(Ok(self.line(&end)))
    }
}

impl ExportStream<'_> {
    fn line(&mut self, value: &Value) -> String {
        self.n_lines += 1;
        let mut line = value.clone();
        line["schema_version"] = json!(SCHEMA_VERSION);
        escaped(&line.to_string())
    }

    /// Returns the line of a file; `None` if it is gone.
    fn of_file(&self, path: &str) -> Option<std::result::Result<Value, Problem>> {
        let problem = |message: String| {
            let hint = "fix the file, and export again: the stream lacks it";
            Some(Err(Problem::error(display_path(path), "not-exported", message, hint)))
        };
        let file = match self.workspace.store.read(path) {
            Ok(file) => file,
            Err(crate::store::Unreadable::Missing) => return None,
            Err(unreadable) => {
                let error = unreadable.into_error(self.workspace.store.full_path(path));
                let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
                return problem(format!("it cannot be exported: {reason}"));
            }
        };
        let Ok(text) = String::from_utf8(file.bytes) else {
            return problem("it cannot be exported: it is not UTF-8".to_owned());
        };
        if path == CONFIG {
            return Some(Ok(json!({"type": "settings", "path": path, "body": text})));
        }
        if let Err(reason) = check_path(path) {
            return problem(format!("it cannot be exported: {reason}"));
        }
        let split = frontmatter::split(&text).ok();
        let body = split.as_ref().map_or(0, |split| split.body);
        let fields = split.and_then(|split| frontmatter::parse(&text[split.head]).ok());
        let id = Id::of_path(path);
        let kind = id.as_ref().map(|id| id.kind().as_str());
        Some(Ok(json!({
            "type": kind,
            "id": id,
            "path": path,
            "frontmatter": fields.map(|fields| Value::Object(fields.into_iter().collect())),
            "head": &text[..body],
            "body": &text[body..],
        })))
    }
}

/// Returns a line with JSON's escapes for the characters that a terminal acts on, or that nobody sees. To a program it is
/// the same line.
fn escaped(line: &str) -> String {
    let unseen: HashSet<usize> = invisible(line).map(|(at, _)| at).collect();
    let mut escaped = String::with_capacity(line.len());
    for (at, character) in line.char_indices() {
        if !character.is_control() && !unseen.contains(&at) {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

/// Refuses the path of a line that is not one of an entry, with the reason.
pub(super) fn check_path(path: &str) -> std::result::Result<(), &'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    let is_name = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.len() <= 255
            && !part.chars().any(|character| character.is_control() || character == '\\')
    };
    if !parts.iter().all(is_name) || parts.len() > MAX_DEPTH {
        return Err("its path is not one of plain names");
    }
    if invisible(path).next().is_some() {
        return Err("its path has an invisible character; rename the file");
    }
    let of_entry = path.strip_prefix("archive/").unwrap_or(path);
    let is_entry = ["knowledge/", "journal/"].iter().any(|folder| of_entry.starts_with(folder));
    if !is_entry || Id::of_path(path).is_none() {
        return Err("its path is not one of an entry: `knowledge/….md` or `journal/….md`, also below `archive/`");
    }
    Ok(())
}

/// Returns the error for a line of a stream.
pub(super) fn bad_line(name: &str, line: usize, reason: impl std::fmt::Display) -> Error {
    Error::invalid(format!("{name}, line {line}"), format!("{reason}; nothing was imported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escaped_line_says_the_same() {
        let value = json!({"a": "x\u{9b}31m \u{202e}\u{e0041}é\u{7f}\n\"\\"});
        let line = escaped(&value.to_string());
        assert!(!line.contains(['\u{9b}', '\u{202e}', '\u{e0041}', '\u{7f}']) && line.contains('é'), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn only_paths_of_entries_are_accepted() {
        for good in ["knowledge/a.md", "knowledge/team/a b.md", "journal/run-1/0001.md", "archive/knowledge/a.md"] {
            assert_eq!(check_path(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "a.md",
            "/knowledge/a.md",
            "knowledge/../a.md",
            "../knowledge/a.md",
            "knowledge//a.md",
            "knowledge/.md",
            "knowledge/a",
            "knowledge/.git/a.md",
            "config.toml",
            "state/a.md",
            "archive/a.md",
            "archive/archive/knowledge/a.md",
            "knowledge\\a.md",
            "knowledge/a\n.md",
            "archive/knowledge/../../config.md",
            "cache/knowledge/a.md",
            "knowledge/ren\u{202e}gpj.md",
            "knowledge/a\u{200b}b/c.md",
        ] {
            assert!(check_path(bad).is_err(), "{bad:?}");
        }
    }
}
