//! Finds and reads the files of a source.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::gathered::SourceContent;
use super::report::{ImportOrigin, ImportedItem};
use super::request::{ImportInput, ImportRequest};
use crate::entry::frontmatter::{self, Fields, double_quote};
use crate::error::{Error, IoContext as _, Result};
use crate::store::{Folder, SourceFiles, Unreadable};
use crate::workspace::Workspace;

/// The largest file that is read whole, in bytes.
pub(super) const MAX_FILE: usize = 4 * 1024 * 1024;
/// The most files of one import.
const MAX_FILES: usize = 5_000;

/// A text file of a source.
#[derive(Debug)]
pub(super) struct ImportFile {
    /// Its path: in the project if it is there, else in the folder that was read.
    pub(super) path: String,
    /// What distinguishes it from the files of every other folder and machine; in the project its path.
    pub(super) key: String,
    /// Its text, without a byte order mark, with `\n` at the ends of lines.
    pub(super) text: String,
}

impl ImportFile {
    /// Returns its name without folders and extensions.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.trim_start_matches('.').split('.').next().unwrap_or(name)
    }

    /// Splits the frontmatter off. Returns its fields, none if there is none, and the text after it with the number of
    /// lines before that.
    ///
    /// # Errors
    ///
    /// Why the frontmatter cannot be read.
    pub(super) fn parts(&self) -> std::result::Result<(Fields, &str, u32), &'static str> {
        let Ok(split) = frontmatter::split(&self.text) else { return Ok((Fields::new(), &self.text, 0)) };
        let head = &self.text[split.head.clone()];
        let fields = frontmatter::parse(head).or_else(|_| frontmatter::parse(&with_quoted_globs(head))).ok();
        let fields = fields.or_else(|| head.trim().is_empty().then(Fields::new));
        let reason = "its frontmatter is not valid YAML; fix it, and import again";
        Ok((fields.ok_or(reason)?, &self.text[split.body..], split.body_line.saturating_sub(1)))
    }
}

/// Quotes the values that begin with `*`, which is an alias in YAML. Cursor writes patterns such as `globs: *.ts` so.
fn with_quoted_globs(head: &str) -> String {
    let quoted = |line: &str| match line.split_once(": ") {
        Some((key, value)) if !key.contains(char::is_whitespace) && value.trim_start().starts_with('*') => {
            format!("{key}: {}", double_quote(value.trim()))
        }
        _ => match line.split_once("- ") {
            Some((indent, item)) if indent.trim().is_empty() && item.trim_start().starts_with('*') => {
                format!("{indent}- {}", double_quote(item.trim()))
            }
            _ => line.to_owned(),
        },
    };
    head.lines().map(|line| quoted(line) + "\n").collect()
}

/// Returns whether the name of a file ends in this extension, in whatever case.
pub(super) fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Reads the `wanted` files of a source: those that a person named, else those in the `usual` places of the project, which
/// are files and folders. What was read and what was left out is noted.
pub(super) fn texts(
    workspace: &Workspace,
    request: &ImportRequest,
    gathered: &mut SourceContent,
    usual: &[&str],
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<ImportFile>> {
    match &request.input {
        ImportInput::UsualPlace(_) => {
            let root = workspace.root();
            let folder = Folder::open(root).io("open", root)?;
            let files = usual.iter().flat_map(|place| usual_texts(&folder, place, gathered, wanted));
            Ok(files.collect())
        }
        ImportInput::Path(path) => named_texts(workspace, path, gathered, wanted),
        ImportInput::Text(_) => Err(no_text(request)),
    }
}

/// Reads the file, or the wanted files of the folder, in a usual place.
fn usual_texts(
    root: &Folder,
    place: &str,
    gathered: &mut SourceContent,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<ImportFile> {
    gathered.searched.push(place.to_owned());
    let prefix = format!("{place}/");
    match root.descend(place).map_err(Unreadable::from) {
        Ok(folder) => {
            let found = folder.files(&|path| wanted(&format!("{prefix}{path}")));
            read_all(&folder, &prefix, "", found, gathered)
        }
        Err(Unreadable::Missing) if root.has(place) => {
            let found = SourceFiles { paths: vec![place.to_owned()], left_out: Vec::new() };
            read_all(root, "", "", found, gathered)
        }
        Err(Unreadable::Missing) => Vec::new(),
        Err(unreadable) => {
            let reason = reason_of(&unreadable);
            gathered.left_out.push(ImportedItem::skipped(ImportOrigin::file(place), reason));
            Vec::new()
        }
    }
}

/// Returns the error for a text where only files can be imported.
pub(super) fn no_text(request: &ImportRequest) -> Error {
    let source = request.source.as_str();
    Error::invalid(
        "PATH",
        format!("`-` is for `jsonl` and `export`, and {source} reads files: name a file or a folder"),
    )
}

/// Reads the file, or the wanted files of the folder, that a person named.
pub(super) fn named_texts(
    workspace: &Workspace,
    path: &Path,
    gathered: &mut SourceContent,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<ImportFile>> {
    // A person may name a link; links below it are not followed.
    let full = path.canonicalize().io("read", path)?;
    let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
    let in_project = full.strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned);
    if full.is_dir() {
        let folder = Folder::open(&full).io("open", path)?;
        let mark = if in_project.is_some() { String::new() } else { mark_of(&full) };
        let prefix = in_project.filter(|inside| !inside.is_empty()).map_or_else(String::new, |path| path + "/");
        return Ok(read_all(&folder, &prefix, &mark, folder.files(wanted), gathered));
    }
    let (shown, bytes) = named_file(workspace, path, MAX_FILE)?;
    gathered.read.push(shown.clone());
    let text = text_of(bytes).ok_or_else(|| {
        let reason = "it is not UTF-8; save it as UTF-8, and import again";
        Error::invalid(format!("`{}`", path.display()), reason)
    })?;
    let mark = full.parent().filter(|_| in_project.is_none()).map(mark_of).unwrap_or_default();
    Ok(vec![ImportFile { key: format!("{shown}{mark}"), path: shown, text }])
}

/// Returns the mark of a folder outside of the project. Files of the same name in the folders of two people, or of two
/// projects, have different keys, and the name of the folder, which tells who someone is, is in no entry.
pub(super) fn mark_of(folder: &Path) -> String {
    format!("@{:08x}", xxh3_64(folder.as_os_str().as_bytes()) >> 32)
}

/// Reads the file that a person named, of at most `limit` bytes. Also returns its path: in the project if it is there,
/// else its name.
pub(super) fn named_file(workspace: &Workspace, path: &Path, limit: usize) -> Result<(String, Vec<u8>)> {
    let full = path.canonicalize().io("read", path)?;
    let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
    let name = full.file_name().and_then(|name| name.to_str());
    let (Some(parent), Some(name)) = (full.parent(), name) else {
        return Err(Error::invalid("PATH", format!("the name of `{}` is not UTF-8", path.display())));
    };
    let in_project = full.strip_prefix(&root).ok().and_then(Path::to_str);
    let shown = in_project.unwrap_or(name).to_owned();
    let folder = Folder::open(parent).io("open", path)?;
    let bytes = folder.read(name, limit).map_err(|unreadable| match unreadable {
        Unreadable::TooLarge { size } => {
            let reason = format!("it has {size} bytes, and the limit is {limit}; split it");
            Error::invalid(format!("`{}`", path.display()), reason)
        }
        unreadable => unreadable.into_error(path),
    })?;
    Ok((shown, bytes))
}

/// Reads the found files of a folder; what cannot be read is left out. In messages their paths come after `prefix`, in
/// keys `mark` comes after their paths.
pub(super) fn read_all(
    folder: &Folder,
    prefix: &str,
    mark: &str,
    found: SourceFiles,
    gathered: &mut SourceContent,
) -> Vec<ImportFile> {
    let shown = |path: &str| ImportOrigin::file(format!("{prefix}{path}"));
    let left_out = found.left_out.into_iter().map(|(path, reason)| ImportedItem::skipped(shown(&path), reason));
    gathered.left_out.extend(left_out);
    let mut files = Vec::new();
    for (index, path) in found.paths.iter().enumerate() {
        let read = if index >= MAX_FILES {
            Err(format!("it is over the limit of {MAX_FILES} files; name a smaller folder"))
        } else {
            folder.read(path, MAX_FILE).map_err(|unreadable| reason_of(&unreadable))
        };
        let text = read.and_then(|bytes| text_of(bytes).ok_or_else(|| "it is not UTF-8".to_owned()));
        match text {
            Ok(text) => {
                let path = format!("{prefix}{path}");
                gathered.read.push(path.clone());
                files.push(ImportFile { key: format!("{path}{mark}"), path, text });
            }
            Err(reason) => gathered.left_out.push(ImportedItem::skipped(shown(path), reason)),
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

/// Returns the text of a frontmatter's field; `None` if there is none, or it is a list or a mapping.
pub(super) fn word<'a>(fields: &'a Fields, key: &str) -> Option<&'a str> {
    fields.get(key)?.as_str().map(str::trim).filter(|text| !text.is_empty())
}

/// Returns the items of a frontmatter's field: of a list, or of a text between commas.
pub(super) fn list(fields: &Fields, key: &str) -> Vec<String> {
    let items = match fields.get(key) {
        Some(serde_json::Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        Some(serde_json::Value::Array(items)) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    };
    let trimmed = items.iter().map(|item| item.trim().trim_matches(['"', '\'']).to_owned());
    trimmed.filter(|item| !item.is_empty()).collect()
}
