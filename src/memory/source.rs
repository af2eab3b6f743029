//! The lines of files that problems name: where a key stands, and what a person is shown.

use super::Memory;
use crate::entry;
use crate::entry::path::MEMORY_FOLDER;
use crate::error::Problem;
use crate::secret::{self, Secret};

/// The lines of files, secrets redacted.
///
/// The file that was asked for last is kept: problems come in the order of their paths, and a file may have many.
pub struct Sources<'a> {
    memory: &'a Memory,
    last: Option<Source>,
}

struct Source {
    /// As problems name it.
    path: String,
    /// What is not UTF-8 is replaced; `None` where the file cannot be read.
    text: Option<String>,
    /// What a line of it needs, made when the first one is asked for.
    lines: Option<Lines>,
}

struct Lines {
    /// Where each begins.
    starts: Vec<usize>,
    secrets: Vec<Secret>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(memory: &'a Memory) -> Sources<'a> {
        Sources { memory, last: None }
    }

    /// Returns a line of a file that a problem names, counted from 1, without its line end, and with secrets
    /// redacted: it may be shown anywhere. What is not UTF-8 is replaced; `None` where there is no such file or line.
    pub fn line(&mut self, path: &str, line: u32) -> Option<String> {
        let memory = self.memory;
        let Source { text, lines, .. } = self.source(path);
        let text = text.as_ref()?;
        let lines = lines.get_or_insert_with(|| {
            // Looked for in all of it: a value may stand on another line than its name.
            let secrets = memory.secrets_in(text).collect();
            let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
            Lines { starts, secrets }
        });
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *lines.starts.get(at)?;
        let end = lines.starts.get(at + 1).map_or(text.len(), |next| next - 1);
        Some(secret::redact_part(text, start..end, &lines.secrets).trim_end_matches('\r').to_owned())
    }

    /// Gives a problem without a line the place of the key that it is about: heads keep no places.
    pub(super) fn locate(&mut self, problem: &mut Problem) {
        let key = match problem.code.as_str() {
            "unknown-id" | "supersedes-cycle" => "supersedes",
            "near-duplicate" => "title",
            "unverified" => "files",
            "from-the-future" => problem.message.split('`').nth(1).unwrap_or_default(),
            _ => return,
        }
        .to_owned();
        let text = self.source(&problem.path).text.as_ref();
        if let Some((line, column)) = text.and_then(|text| entry::place_of_key(text, &key)) {
            (problem.line, problem.column) = (Some(line), Some(column));
        }
    }

    fn source(&mut self, path: &str) -> &mut Source {
        let last = self.last.take().filter(|source| source.path == path);
        self.last.insert(last.unwrap_or_else(|| {
            let file = path.strip_prefix(MEMORY_FOLDER).and_then(|path| self.memory.store.read(path).ok());
            let text = file.map(|file| match String::from_utf8(file.bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            });
            Source { path: path.to_owned(), text, lines: None }
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        fs::write(folder.path().join(".ralph/knowledge/a.md"), "---\r\ntitle: é\r\n---\r\n").unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        let memory = Memory::open(folder.path()).unwrap();
        let mut sources = memory.sources();
        let mut line = |number| sources.line(".ralph/knowledge/a.md", number);
        assert_eq!(
            (line(2).as_deref(), line(4).as_deref(), line(5), line(0)),
            (Some("title: é"), Some(""), None, None)
        );
        assert_eq!(sources.line(".ralph/../secret", 1), None);
        assert_eq!(sources.line("secret", 1), None);
    }
}
