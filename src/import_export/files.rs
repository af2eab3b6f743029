//! Reads the files of a source.

use std::path::{Path, PathBuf};

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::gathered::{CoveredPath, CoveredPlace, SourceContent};
use super::generated::generated_block;
use super::report::{ImportOrigin, ImportReport};
use super::sources::{ImportSource, SourceRow, file_name};
use crate::entry::edit::list_items;
use crate::entry::frontmatter::{self, Fields, double_quote};
use crate::entry::lead::described;
use crate::entry::outline::title_heading;
use crate::entry::path::is_project_path;
use crate::entry::read::DESCRIPTIONS;
use crate::error::{Error, IoContext as _, Result};
use crate::store::{Folder, SourceFiles, Unreadable};
use crate::system::posix::slashed;
use crate::text::{fold, own_block};
use crate::workspace::Workspace;

/// The largest file that is read whole, in bytes.
pub(super) const MAX_FILE: usize = 4 * 1024 * 1024;
/// The most frontmatters at the beginning of a file.
const MAX_FRONTMATTERS: usize = 3;
/// The key of the id that an entry of ours had where it was exported.
pub(super) const OWN_ID: &str = "x-ralph-id";
/// What standard input is called in messages.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// A text file of a source.
#[derive(Debug, Clone)]
pub(super) struct ImportFile {
    /// Its path: in the project if it is there, else in the folder that was read.
    pub(super) path: String,
    /// What distinguishes it from the files of every other folder and machine; in the project its path.
    pub(super) key: String,
    /// Its text, without a byte order mark, with `\n` at the ends of lines; after [`ImportFile::split`] that after its
    /// frontmatter.
    pub(super) text: String,
    pub(super) fields: Fields,
    /// The folder that it is in, below the one that was read: without the usual place, where it is in one.
    pub(super) folder: String,
    /// The number of lines before the text.
    pub(super) n_before: u32,
}

impl ImportFile {
    pub(super) fn new(path: String, key: String, text: String) -> ImportFile {
        ImportFile { path, key, text, fields: Fields::new(), folder: String::new(), n_before: 0 }
    }

    /// Returns its name without folders and extensions.
    pub(super) fn stem(&self) -> &str {
        let name = file_name(&self.path);
        name.trim_start_matches('.').split('.').next().unwrap_or(name)
    }

    /// Returns its title, and where the text begins that the title is not part of: what its frontmatter says, else the
    /// heading with which it begins, else its name.
    pub(super) fn title(&self) -> (String, usize) {
        self.title_to(u8::MAX)
    }

    /// Does the same with headings down to this level.
    pub(super) fn title_to(&self, level: u8) -> (String, usize) {
        // Our own export repeats no title.
        let is_own = self.fields.contains_key(OWN_ID);
        match (self.word(&["title", "name"]), self.heading(level)) {
            (Some(title), Some((heading, end))) if !is_own && fold(title) == fold(&heading) => (heading, end),
            (Some(title), _) => (title.to_owned(), 0),
            (None, Some((heading, end))) => (without_ordinal(&heading).to_owned(), end),
            (None, None) => (self.stem().replace(['-', '_'], " "), 0),
        }
    }

    /// Returns the heading with which its text begins, of at most this level, and where the text below it begins.
    pub(super) fn heading(&self, level: u8) -> Option<(String, usize)> {
        let first = title_heading(&self.text).filter(|first| first.level <= level)?;
        let begins = without_comments(&self.text[..first.range.start]).is_empty();
        begins.then_some((first.title, first.range.end))
    }

    /// Returns a text with the sentence before it in which the frontmatter says what it is about.
    pub(super) fn described(&self, text: &str) -> String {
        self.word(&DESCRIPTIONS).map_or_else(|| text.to_owned(), |description| described(description, text))
    }

    /// Returns the tags that it names, after that of its folder, in which dates are left out.
    pub(super) fn tags(&self) -> Vec<String> {
        // A tag has no comma.
        let parts: Vec<&str> = self.folder.split('/').filter(|part| !is_date(part)).collect();
        let folder = Some(parts.join("/").replace(',', " ")).filter(|folder| !folder.is_empty());
        folder.into_iter().chain(self.list("tags")).collect()
    }

    /// Returns the folder of the project around the usual place that it is in; `None` if that is the whole project, or it
    /// is in none. It is about the files of that folder.
    pub(super) fn around(&self, source: ImportSource) -> Option<&str> {
        let (around, _) = source.row().split_at_place(&self.path)?;
        Some(around).filter(|around| is_project_path(around))
    }

    /// Returns the origin of all of it.
    pub(super) fn origin(&self) -> ImportOrigin {
        ImportOrigin::file(&self.path)
    }

    /// Returns the text of a field of the frontmatter, the first of these that has some. A list or a mapping has none.
    pub(super) fn word(&self, keys: &[&str]) -> Option<&str> {
        let text = |key: &&str| self.fields.get(*key)?.as_str().map(str::trim).filter(|text| !text.is_empty());
        keys.iter().find_map(text)
    }

    /// Returns the items of a field of the frontmatter: of a list, or of a text between commas. YAML takes an unquoted
    /// `[[link]]` for a list in a list.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        let items = match self.fields.get(key) {
            Some(Value::String(text)) => between_commas(text),
            Some(Value::Array(items)) => list_items(Some(&items.iter().flat_map(unnested).collect())),
            value => list_items(value),
        };
        items
            .iter()
            .map(|item| item.trim_matches(['"', '\'', ' ']).to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    }

    /// Splits the frontmatter off, and blanks the block that setup writes: it is about the memory and not part of it.
    /// Without both markers, nothing says where the block ends, so all of it stays, and `report` says so.
    ///
    /// # Errors
    ///
    /// Why the frontmatter cannot be read.
    pub(super) fn split(&mut self, report: &mut ImportReport) -> std::result::Result<(), &'static str> {
        match own_block(&self.text) {
            Ok(Some(block)) => {
                let lines = "\n".repeat(self.text[block.clone()].matches('\n').count());
                self.text.replace_range(block, &lines);
            }
            Ok(None) => {}
            Err(reason) => {
                let advice = "so the text between them is imported like the rest; remove the markers";
                report.skip(self.origin(), format!("{reason}, {advice}"));
            }
        }
        self.unwrap();
        self.blank_generated(report);
        // Some programs put an empty frontmatter before the real one, and some editors one of theirs.
        for n_read in 0..MAX_FRONTMATTERS {
            let Ok(split) = frontmatter::split(&self.text) else { break };
            let head = &self.text[split.head.clone()];
            let fields = frontmatter::parse(head).or_else(|_| frontmatter::parse(&with_quoted_values(head))).ok();
            let fields = fields.or_else(|| head.trim().is_empty().then(Fields::new));
            match fields {
                // Two lines may also be around a paragraph.
                _ if n_read > 0 && head.contains("\n\n") => break,
                None if n_read > 0 => break,
                None => return Err("its frontmatter is not valid YAML; fix it, and import again"),
                Some(fields) => fields.into_iter().for_each(|(key, value)| {
                    self.fields.entry(key).or_insert(value);
                }),
            }
            self.n_before += split.body_line.saturating_sub(1);
            self.text.drain(..split.body);
            let n_blank = self.text.len() - self.text.trim_start().len();
            if !self.text[n_blank..].starts_with("---\n") {
                break;
            }
            self.n_before += u32::try_from(self.text[..n_blank].matches('\n').count()).unwrap_or_default();
            self.text.drain(..n_blank);
        }
        Ok(())
    }

    /// Takes away the fence around a whole document with its frontmatter.
    fn unwrap(&mut self) {
        let Some((opening, rest)) = self.text.split_once('\n') else { return };
        let fence: String = opening.chars().take_while(|letter| *letter == '`').collect();
        let inner = rest.trim_end().strip_suffix(fence.as_str()).filter(|inner| inner.ends_with('\n'));
        if let Some(inner) = inner.filter(|inner| fence.len() >= 3 && inner.starts_with("---\n")) {
            self.text = inner.to_owned();
            self.n_before += 1;
        }
    }

    /// Blanks the blocks that other programs generate between two comments, and `report`s them.
    fn blank_generated(&mut self, report: &mut ImportReport) {
        let mut at = 0;
        while let Some((block, name)) = generated_block(&self.text, at) {
            let before = self.text[..block.start].matches('\n').count();
            let lines = "\n".repeat(self.text[block.clone()].matches('\n').count());
            at = block.start + lines.len();
            self.text.replace_range(block, &lines);
            let from = ImportOrigin { line: u32::try_from(before + 1).ok(), ..self.origin() };
            report.skip(from, format!("it is the block that another program generates as `{name}`"));
        }
    }
}

/// Returns the items of lists in a list.
fn unnested(item: &Value) -> Vec<Value> {
    match item {
        Value::Array(items) => items.iter().flat_map(unnested).collect(),
        item => vec![item.clone()],
    }
}

/// Returns the items of a text between commas; a comma in braces is part of a pattern.
fn between_commas(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let is_between = |character: char| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    };
    text.split(is_between).map(|item| item.trim().to_owned()).collect()
}

/// Quotes the values that are no YAML on their own lines, as other programs write them: `globs: *.ts`, `globs: "a",
/// "b"`, `title: One: two`.
fn with_quoted_values(head: &str) -> String {
    let is_yaml = |line: &str| frontmatter::parse(&format!("{line}\n")).is_ok();
    let quoted = |line: &str| match line.split_once(": ").or_else(|| line.split_once("- ")) {
        Some((before, value)) if !value.trim().is_empty() && !is_yaml(line.trim_start()) => {
            let separator = &line[before.len()..before.len() + 2];
            let value = value.trim();
            let list = format!("{before}{separator}[{value}]");
            if value.starts_with('"') && is_yaml(list.trim_start()) {
                return list;
            }
            // An opening quote without a closing one is dropped.
            let value = value.strip_prefix('"').filter(|rest| !rest.contains('"')).unwrap_or(value);
            format!("{before}{separator}{}", double_quote(value))
        }
        _ => line.to_owned(),
    };
    head.lines().map(|line| quoted(line) + "\n").collect()
}

/// Returns a heading without the number before it: `1. Protocol`, `10) Order`.
pub(super) fn without_ordinal(heading: &str) -> &str {
    let rest = heading.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number = &heading[..heading.len() - rest.len()];
    let behind = if number.ends_with('.') { Some(rest) } else { rest.strip_prefix(')') };
    let bare =
        behind.filter(|behind| behind.starts_with(' ') && number.starts_with(|first: char| first.is_ascii_digit()));
    bare.map(str::trim).filter(|bare| !bare.is_empty()).unwrap_or(heading)
}

/// Returns whether the name of a folder is a date: `2026`, `2026-06`, `2026-06-25`.
pub(super) fn is_date(name: &str) -> bool {
    let parts: Vec<&str> = name.split(['-', '_', '.']).collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    parts.iter().all(is_number) && matches!(lengths.as_slice(), [4 | 8] | [4, 2] | [4, 2, 2])
}

/// Returns a text without the comments of HTML in it, trimmed.
pub(super) fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some(start) = rest.find("<!--") {
        kept.push_str(&rest[..start]);
        rest = rest[start..].find("-->").map_or("", |end| &rest[start + end + 3..]);
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}

/// A file or a folder that a person named. They may name a link; links below it are not followed.
pub(super) struct NamedPath {
    pub(super) full: PathBuf,
    /// Its path in the project if it is there, else its name.
    pub(super) shown: String,
    pub(super) is_in_project: bool,
}

impl NamedPath {
    pub(super) fn find(workspace: &Workspace, path: &Path) -> Result<NamedPath> {
        let full = path.canonicalize().io("read", path)?;
        let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
        let in_project = full.strip_prefix(&root).ok();
        let shown = slashed(in_project.or_else(|| full.file_name().map(Path::new)).unwrap_or(&full));
        let shown =
            shown.ok_or_else(|| Error::invalid("PATH", format!("the name of `{}` is not UTF-8", path.display())))?;
        Ok(NamedPath { shown, is_in_project: in_project.is_some(), full })
    }

    /// Reads the file, of at most `limit` bytes. `path` is its name in messages.
    pub(super) fn read(&self, path: &Path, limit: usize) -> Result<Vec<u8>> {
        let folder = Folder::open(self.full.parent().unwrap_or(&self.full)).io("open", path)?;
        folder.read(file_name(&self.shown), limit).map_err(|unreadable| match unreadable {
            Unreadable::TooLarge { size } => {
                let reason = format!("it has {size} bytes, and the limit is {limit}; split it");
                Error::invalid(format!("`{}`", path.display()), reason)
            }
            unreadable => unreadable.into_error(path),
        })
    }
}

/// Returns the mark of a folder outside of the project. Files of the same name in the folders of two people, or of two
/// projects, have different keys, and the name of the folder, which reveals who someone is, is in no entry.
pub(super) fn mark_of(folder: &Path) -> String {
    format!("@{:08x}", xxh3_64(folder.as_os_str().as_encoded_bytes()) >> 32)
}

/// Reads the found files of a folder, and notes that all of it was read.
pub(super) fn read_all(
    folder: &Folder,
    (prefix, mark): (&str, &str),
    row: &SourceRow,
    found: SourceFiles,
    content: &mut SourceContent,
) -> Vec<ImportFile> {
    content.covered.push(CoveredPlace { path: CoveredPath::Below(prefix.to_owned()), mark: mark.to_owned() });
    read_files(folder, (prefix, mark), row, found, content)
}

/// Reads the found files of a folder; what cannot be read is left out. In messages their paths come after `prefix`, in
/// keys `mark` comes after their paths.
pub(super) fn read_files(
    folder: &Folder,
    (prefix, mark): (&str, &str),
    row: &SourceRow,
    found: SourceFiles,
    content: &mut SourceContent,
) -> Vec<ImportFile> {
    let shown = |path: &str| ImportOrigin::file(format!("{prefix}{path}"));
    for (path, reason) in found.left_out {
        content.skip_unread(shown(&path), reason);
    }
    let mut files = Vec::new();
    for path in &found.paths {
        let read = folder.read(path, MAX_FILE).map_err(|unreadable| reason_of(&unreadable));
        let text = read.and_then(|bytes| text_of(bytes).ok_or_else(|| "it is not UTF-8".to_owned()));
        match text {
            Ok(text) => {
                let below = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
                let full = format!("{prefix}{path}");
                content.report.read.push(full.clone());
                content.covered.push(CoveredPlace { path: CoveredPath::File(full.clone()), mark: mark.to_owned() });
                let topic = match row.split_at_place(&full) {
                    Some((around, rest)) => format!("{around}/{}", below(rest)).trim_matches('/').to_owned(),
                    None => below(path),
                };
                files.push(ImportFile { folder: topic, ..ImportFile::new(full.clone(), full + mark, text) });
            }
            Err(reason) => content.skip_unread(shown(path), reason),
        }
    }
    files
}

/// Returns why a file cannot be read.
pub(super) fn reason_of(unreadable: &Unreadable) -> String {
    match unreadable {
        Unreadable::Missing => "it is gone".to_owned(),
        Unreadable::Link => "it is a link, and links are not followed".to_owned(),
        Unreadable::NotAFile => "it is not a regular file".to_owned(),
        Unreadable::TooLarge { size } => format!("it has {size} bytes, and the limit is {MAX_FILE}"),
        Unreadable::Io(error) => format!("it cannot be read: {error}"),
    }
}

/// Returns the text of a file, without a byte order mark and with `\n` at the ends of lines; `None` if it is not UTF-8.
pub(super) fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Some(text.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ImportFile {
        let mut file = ImportFile::new("x.md".to_owned(), "x.md".to_owned(), text.to_owned());
        file.split(&mut ImportReport::default()).unwrap();
        file
    }

    #[test]
    fn what_programs_put_around_a_document_is_read() {
        for (text, title, expected, n_before) in [
            ("---\nglobs:\n---\n---\ntitle: Guide\n---\n\n# E2E\n\nText.\n", Some("Guide"), "\n# E2E\n\nText.\n", 6),
            ("---\n---\n\n---\ntitle: Guide\n---\nText.\n", Some("Guide"), "Text.\n", 6),
            (
                "```instructions\n---\ntitle: Guide\n---\nText.\n\n```sh\nls\n```\n```\n",
                Some("Guide"),
                "Text.\n\n```sh\nls\n```\n",
                4,
            ),
            ("````markdown\n---\ntitle: Guide\n---\nText.\n````", Some("Guide"), "Text.\n", 4),
            // What only looks like it.
            (
                "---\ntitle: Guide\n---\n---\n\nNote: it holds.\n\n---\n",
                Some("Guide"),
                "---\n\nNote: it holds.\n\n---\n",
                3,
            ),
            ("---\ntitle: Guide\n---\n---\nIt holds.\n---\n", Some("Guide"), "---\nIt holds.\n---\n", 3),
            ("```yaml\na: 1\n```\n", None, "```yaml\na: 1\n```\n", 0),
        ] {
            let file = read(text);
            assert_eq!(
                (file.word(&["title"]), file.text.as_str(), file.n_before),
                (title, expected, n_before),
                "{text}"
            );
        }
    }

    #[test]
    fn numbers_and_dates_are_no_names() {
        let check = |heading: &str, expected: &str| assert_eq!(without_ordinal(heading), expected);
        check("1. Protokoll & Badges", "Protokoll & Badges");
        check("10. Recommended Fix Order", "Recommended Fix Order");
        check("2.3. Ports", "Ports");
        check("4) Ports", "Ports");
        check("3 replicas", "3 replicas");
        check("1.2 is out", "1.2 is out");
        check("2026", "2026");
        check("7.", "7.");
        check(".NET", ".NET");
        let tags = |folder: &str| ImportFile { folder: folder.to_owned(), ..read("") }.tags();
        assert_eq!(tags("edits/2026-06-25"), ["edits"]);
        assert_eq!(tags("looking-back/2019"), ["looking-back"]);
        assert_eq!(tags("2026"), [""; 0]);
        assert_eq!(tags("v2/2026-ports"), ["v2/2026-ports"]);
    }
}
