//! Reads the text of a file, and its frontmatter.

use super::find::FoundFile;
use super::places;
use super::report::{ImportOrigin, ImportReport, reason_of};
use super::request::ImportKind;
use crate::entry::edit::list_items;
use crate::entry::frontmatter::{self, Fields, double_quote};
use crate::entry::{Source, is_pattern, parse_time};
use crate::store::Unreadable;
use crate::text::{count, decoded_whole, own_block, without_marks};

/// The largest file that is read, in bytes.
pub(super) const MAX_FILE: usize = 4 * 1024 * 1024;

/// A text file.
pub(super) struct ImportFile {
    /// Its path in messages.
    pub(super) path: String,
    /// What its items are known by.
    pub(super) key: String,
    /// Its text, without a byte order mark, with `\n` at the ends of lines, and without its frontmatter.
    pub(super) text: String,
    pub(super) fields: Fields,
    /// The number of lines before the text.
    pub(super) n_before: usize,
    /// Who wrote it.
    pub(super) writer: Source,
}

impl ImportFile {
    /// Returns the folder that it is in, in the project or below the one that was read.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns its name without folders and extensions.
    pub(super) fn stem(&self) -> &str {
        let name = places::file_name(&self.path);
        name.trim_start_matches('.').split('.').next().unwrap_or(name)
    }

    /// Returns whether it is in the project: one elsewhere has a mark behind its path.
    pub(super) fn is_in_project(&self) -> bool {
        self.key == self.path
    }

    /// Returns the text of a field of the frontmatter, the first of these that has some.
    pub(super) fn word(&self, keys: &[&str]) -> Option<&str> {
        let text = |key: &&str| self.fields.get(*key)?.as_str().map(str::trim).filter(|text| !text.is_empty());
        keys.iter().find_map(text)
    }

    /// Returns the items of a field of the frontmatter.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        let items = list_items(self.fields.get(key));
        let bare = items.iter().map(|item| item.trim_matches(['"', '\'', ' ', '#']).to_owned());
        bare.filter(|item| !item.is_empty()).collect()
    }

    /// Returns the time in the frontmatter.
    pub(super) fn date(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        self.word(&["date", "created_at", "created", "updated", "modified"]).and_then(parse_time)
    }
}

/// Reads a file, without the block that setup writes, which is about the memory, and without the invisible marks in it that
/// say nothing.
pub(super) fn read(
    writer: Source,
    file: &FoundFile,
    report: &mut ImportReport,
) -> std::result::Result<ImportFile, String> {
    let origin = || ImportOrigin::file(&file.shown);
    let bytes = file.folder.read(&file.name, MAX_FILE).map_err(|unreadable: Unreadable| reason_of(&unreadable))?;
    let mut text = text_of(&bytes)?;
    if let Some((bare, n_marks)) = without_marks(&text) {
        text = bare;
        let what = count(n_marks, "invisible character");
        report.skip(origin(), "", format!("{what} without a meaning left out of its text"));
    }
    match own_block(&text) {
        Ok(Some(block)) => {
            let lines = "\n".repeat(text[block.clone()].matches('\n').count());
            text.replace_range(block, &lines);
        }
        Ok(None) => {}
        Err(reason) => {
            let advice = "so the text between them is imported like the rest; remove the markers";
            report.skip(origin(), "", format!("{reason}, {advice}"));
        }
    }
    let writer = if file.is_of_agent { Source::Agent } else { writer };
    let (path, key) = (file.shown.clone(), file.key.clone());
    let mut read = ImportFile { path, key, text, fields: Fields::new(), n_before: 0, writer };
    if file.kind == ImportKind::Jsonl {
        return Ok(read);
    }
    if let Ok(split) = frontmatter::split(&read.text) {
        let head = &read.text[split.head.clone()];
        let fields = frontmatter::parse(head).or_else(|_| frontmatter::parse(&with_quoted_values(head))).ok();
        let fields = fields.or_else(|| head.trim().is_empty().then(Fields::new));
        read.fields = fields.ok_or("its frontmatter is not valid YAML; fix it, and import again")?;
        read.n_before = read.text[..split.body].matches('\n').count();
        read.text.drain(..split.body);
    }
    Ok(read)
}

/// Quotes the values that are no YAML on their own lines, as other programs write them: `globs: *.ts`, `title: One: two`.
fn with_quoted_values(head: &str) -> String {
    let is_yaml = |line: &str| frontmatter::parse(&format!("{line}\n")).is_ok();
    let quoted = |line: &str| match line.split_once(": ") {
        Some((key, value)) if !value.trim().is_empty() && !is_yaml(line.trim_start()) => {
            // A title may have a `#`; behind a pattern, it begins a comment.
            let value =
                value.split_once(" #").map(|(value, _)| value).filter(|value| is_pattern(value)).unwrap_or(value);
            let list = format!("{key}: [{}]", value.trim());
            let is_list = value.trim_start().starts_with('"') && is_yaml(list.trim_start());
            if is_list { list } else { format!("{key}: {}", double_quote(value.trim())) }
        }
        _ => line.to_owned(),
    };
    head.lines().map(|line| quoted(line) + "\n").collect()
}

/// Returns the text of a file, without a byte order mark and with `\n` at the ends of lines.
pub(super) fn text_of(bytes: &[u8]) -> std::result::Result<String, &'static str> {
    let text = decoded_whole(bytes).ok_or("it is not UTF-8; save it as UTF-8, and import again")?;
    if text.contains('\0') {
        return Err("it is not a text");
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}
