//! The lines of the files that problems name: the place of a key, and the text to show.
//!
//! It redacts secrets, and reads nothing outside of `.ralph/`.

use crate::entry;
use crate::entry::path::MEMORY_FOLDER;
use crate::error::Problem;
use crate::text::secret::{self, Secret};
use crate::workspace::Workspace;

/// The lines of files, with secrets redacted.
///
/// The last file is kept: problems are sorted by path, and a file may have many.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// Memory::init(root)?;
/// std::fs::write(root.join(".ralph/knowledge/broken.md"), "no frontmatter\n")?;
/// let memory = Memory::open(root)?;
/// let mut lines = memory.source_lines();
/// for problem in memory.check().problems {
///     let line = problem.line.and_then(|line| lines.line(&problem.path, line));
///     assert_eq!(line.as_deref(), Some("no frontmatter"));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SourceLines<'a> {
    workspace: &'a Workspace,
    last: Option<SourceFile>,
}

struct SourceFile {
    /// The path in the form of problems.
    path: String,
    /// Its text, with replacement characters for invalid UTF-8; `None` if the file cannot be read.
    text: Option<String>,
    /// The secrets in it, searched for the first line that is needed: a value may be on another line than its name.
    secrets: Option<Vec<Secret>>,
}

impl<'a> SourceLines<'a> {
    pub(crate) fn new(workspace: &'a Workspace) -> SourceLines<'a> {
        SourceLines { workspace, last: None }
    }

    /// Returns a line of a file, counted from 1, without its line end and with secrets redacted, so that it may be
    /// shown anywhere. What is not UTF-8 is replaced. `None` where there is no such file or line.
    pub fn line(&mut self, path: &str, line: u32) -> Option<String> {
        let workspace = self.workspace;
        let SourceFile { text, secrets, .. } = self.source(path);
        let text = text.as_ref()?;
        let secrets = secrets.get_or_insert_with(|| workspace.secrets_in(text).collect());
        let before = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = match before {
            0 => 0,
            _ => text.match_indices('\n').nth(before - 1)?.0 + 1,
        };
        let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        Some(secret::redact_part(text, start..end, secrets).trim_end_matches('\r').to_owned())
    }

    /// Sets the place of a problem to that of the key that it is about, since heads keep no places.
    pub(super) fn locate(&mut self, problem: &mut Problem) {
        let key = match problem.code.as_str() {
            "unknown-id" | "supersedes-cycle" | "suggested-replacement" => "supersedes",
            "alias-taken" => "aliases",
            "near-duplicate" => "title",
            "unverified" | "touched" | "not-compared" => "files",
            "from-the-future" => problem.message.split('`').nth(1).unwrap_or_default(),
            _ => return,
        }
        .to_owned();
        let text = self.source(&problem.path).text.as_ref();
        if let Some((line, column)) = text.and_then(|text| entry::place_of_key(text, &key)) {
            (problem.line, problem.column) = (Some(line), Some(column));
        }
    }

    fn source(&mut self, path: &str) -> &mut SourceFile {
        let last = self.last.take().filter(|source| source.path == path);
        self.last.insert(last.unwrap_or_else(|| {
            let file = path.strip_prefix(MEMORY_FOLDER).and_then(|path| self.workspace.store.read(path).ok());
            let text = file.map(|file| String::from_utf8_lossy(&file.bytes).into_owned());
            SourceFile { path: path.to_owned(), text, secrets: None }
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::memory::Memory;

    #[test]
    fn lines_match_the_file() {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        fs::write(folder.path().join(".ralph/knowledge/a.md"), "---\r\ntitle: é\r\n---\r\n").unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        let memory = Memory::open(folder.path()).unwrap();
        let mut sources = memory.source_lines();
        let mut line = |number| sources.line(".ralph/knowledge/a.md", number);
        assert_eq!(
            (line(2).as_deref(), line(4).as_deref(), line(5), line(0)),
            (Some("title: é"), Some(""), None, None)
        );
        assert_eq!(sources.line(".ralph/../secret", 1), None);
        assert_eq!(sources.line("secret", 1), None);
    }
}
