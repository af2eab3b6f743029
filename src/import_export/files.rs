//! Finds and reads the files of a source.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::gathered::SourceContent;
use super::report::{ImportOrigin, ImportReport};
use super::request::{ImportInput, ImportRequest};
use super::sources::{ImportSource, file_name};
use crate::entry::edit::list_items;
use crate::entry::frontmatter::{self, Fields, double_quote};
use crate::error::{Error, IoContext as _, Result};
use crate::store::{Folder, SourceFiles, Unreadable};
use crate::text::own_block;
use crate::workspace::Workspace;

/// The largest file that is read whole, in bytes.
const MAX_FILE: usize = 4 * 1024 * 1024;
/// The most files of one import.
const MAX_FILES: usize = 5_000;
/// What standard input is called in messages.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// Reads what a file of a source says.
pub(super) type FileReader = fn(&Workspace, &ImportRequest, &ImportFile, &mut SourceContent);

/// A text file of a source.
#[derive(Debug)]
pub(super) struct ImportFile {
    /// Its path: in the project if it is there, else in the folder that was read.
    pub(super) path: String,
    /// What distinguishes it from the files of every other folder and machine; in the project its path.
    pub(super) key: String,
    /// Its text, without a byte order mark, with `\n` at the ends of lines; after [`ImportFile::split`] that after its
    /// frontmatter.
    pub(super) text: String,
    pub(super) fields: Fields,
    /// The number of lines before the text.
    pub(super) n_before: u32,
}

impl ImportFile {
    pub(super) fn new(path: String, key: String, text: String) -> ImportFile {
        ImportFile { path, key, text, fields: Fields::new(), n_before: 0 }
    }

    /// Returns its name without folders and extensions.
    pub(super) fn stem(&self) -> &str {
        let name = file_name(&self.path);
        name.trim_start_matches('.').split('.').next().unwrap_or(name)
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

    /// Returns the items of a field of the frontmatter: of a list, or of a text between commas.
    pub(super) fn list(&self, key: &str) -> Vec<String> {
        let items = list_items(self.fields.get(key));
        items.iter().map(|item| item.trim_matches(['"', '\'']).to_owned()).filter(|item| !item.is_empty()).collect()
    }

    /// Splits the frontmatter off, and blanks the block that setup writes: it is about the memory and not part of it.
    /// Without both markers, nothing says where the block ends, so all of it stays, and `report` says so.
    ///
    /// # Errors
    ///
    /// Why the frontmatter cannot be read.
    fn split(&mut self, report: &mut ImportReport) -> std::result::Result<(), &'static str> {
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
        let Ok(split) = frontmatter::split(&self.text) else { return Ok(()) };
        let head = &self.text[split.head.clone()];
        let fields = frontmatter::parse(head).or_else(|_| frontmatter::parse(&with_quoted_globs(head))).ok();
        let fields = fields.or_else(|| head.trim().is_empty().then(Fields::new));
        self.fields = fields.ok_or("its frontmatter is not valid YAML; fix it, and import again")?;
        self.n_before = split.body_line.saturating_sub(1);
        self.text.drain(..split.body);
        Ok(())
    }
}

/// Quotes the values that begin with `*`, which is an alias in YAML. Cursor writes patterns this way, such as `globs:
/// *.ts`.
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

/// Reads the files of a source one after another with their frontmatter split off. What was read and what was left out is
/// noted.
pub(super) fn each_file(
    workspace: &Workspace,
    request: &ImportRequest,
    content: &mut SourceContent,
    read: &mut dyn FnMut(&ImportFile, &mut SourceContent),
) -> Result<()> {
    for mut file in texts(workspace, request, &mut content.report)? {
        match file.split(&mut content.report) {
            Ok(()) => read(&file, content),
            Err(reason) => content.report.skip(file.origin(), reason),
        }
    }
    Ok(())
}

/// Reads the files of a source: those that a person named, else those in its usual places.
pub(super) fn texts(
    workspace: &Workspace,
    request: &ImportRequest,
    report: &mut ImportReport,
) -> Result<Vec<ImportFile>> {
    let row = request.source.row();
    match &request.input {
        ImportInput::UsualPlace(folders) if request.source == ImportSource::ClaudeMemory => {
            let Some(project) = folders.claude_project(workspace.root()) else { return Ok(Vec::new()) };
            let folder = project.join("memory");
            let folder = folder.canonicalize().unwrap_or(folder);
            report.searched.push(folder.display().to_string());
            let Ok(open) = Folder::open(&folder) else { return Ok(Vec::new()) };
            Ok(read_all(&open, "", &mark_of(&folder), open.files(&row.wanted), report))
        }
        ImportInput::UsualPlace(_) => {
            let root = workspace.root();
            let folder = Folder::open(root).io("open", root)?;
            Ok(row.places.iter().flat_map(|place| usual_texts(&folder, place, row.wanted, report)).collect())
        }
        ImportInput::Path(path) => {
            let named = NamedPath::find(workspace, path)?;
            if named.full.is_dir() {
                let folder = Folder::open(&named.full).io("open", path)?;
                let prefix = if named.shown.is_empty() { String::new() } else { named.shown + "/" };
                let (prefix, mark) =
                    if named.is_in_project { (prefix, String::new()) } else { (String::new(), mark_of(&named.full)) };
                return Ok(read_all(&folder, &prefix, &mark, folder.files(&row.wanted), report));
            }
            let bytes = named.read(path, MAX_FILE)?;
            report.read.push(named.shown.clone());
            let text = text_of(bytes).ok_or_else(|| {
                let reason = "it is not UTF-8; save it as UTF-8, and import again";
                Error::invalid(format!("`{}`", path.display()), reason)
            })?;
            let mark = named.full.parent().filter(|_| !named.is_in_project).map(mark_of).unwrap_or_default();
            Ok(vec![ImportFile::new(named.shown.clone(), named.shown + &mark, text)])
        }
        ImportInput::Text(bytes) => {
            if bytes.len() > MAX_FILE {
                return Err(Error::invalid(STANDARD_INPUT, "it is over the limit of 4 MiB; split it"));
            }
            let text = text_of(bytes.clone()).ok_or_else(|| Error::invalid(STANDARD_INPUT, "it is not UTF-8"))?;
            report.read.push(STANDARD_INPUT.to_owned());
            Ok(vec![ImportFile::new(STANDARD_INPUT.to_owned(), String::new(), text)])
        }
    }
}

/// Reads the file, or the wanted files of the folder, in a usual place.
fn usual_texts(root: &Folder, place: &str, wanted: fn(&str) -> bool, report: &mut ImportReport) -> Vec<ImportFile> {
    report.searched.push(place.to_owned());
    let prefix = format!("{place}/");
    match root.descend(place).map_err(Unreadable::from) {
        Ok(folder) => {
            let found = folder.files(&|path| wanted(&format!("{prefix}{path}")));
            read_all(&folder, &prefix, "", found, report)
        }
        Err(Unreadable::Missing) if root.has(place) => {
            let found = SourceFiles { paths: vec![place.to_owned()], left_out: Vec::new() };
            read_all(root, "", "", found, report)
        }
        Err(Unreadable::Missing) => Vec::new(),
        Err(unreadable) => {
            report.skip(ImportOrigin::file(place), reason_of(&unreadable));
            Vec::new()
        }
    }
}

/// A file or a folder that a person named. They may name a link; links below it are not followed.
pub(super) struct NamedPath {
    pub(super) full: PathBuf,
    /// Its path in the project if it is there, else its name.
    pub(super) shown: String,
    is_in_project: bool,
}

impl NamedPath {
    pub(super) fn find(workspace: &Workspace, path: &Path) -> Result<NamedPath> {
        let full = path.canonicalize().io("read", path)?;
        let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
        let in_project = full.strip_prefix(&root).ok();
        let shown = in_project.or_else(|| full.file_name().map(Path::new)).unwrap_or(&full).to_str();
        let shown =
            shown.ok_or_else(|| Error::invalid("PATH", format!("the name of `{}` is not UTF-8", path.display())))?;
        Ok(NamedPath { shown: shown.to_owned(), is_in_project: in_project.is_some(), full })
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
fn mark_of(folder: &Path) -> String {
    format!("@{:08x}", xxh3_64(folder.as_os_str().as_bytes()) >> 32)
}

/// Reads the found files of a folder; what cannot be read is left out. In messages their paths come after `prefix`, in
/// keys `mark` comes after their paths.
fn read_all(
    folder: &Folder,
    prefix: &str,
    mark: &str,
    found: SourceFiles,
    report: &mut ImportReport,
) -> Vec<ImportFile> {
    let shown = |path: &str| ImportOrigin::file(format!("{prefix}{path}"));
    for (path, reason) in found.left_out {
        report.skip(shown(&path), reason);
    }
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
                report.read.push(path.clone());
                files.push(ImportFile::new(path.clone(), path + mark, text));
            }
            Err(reason) => report.skip(shown(path), reason),
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
fn text_of(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Some(text.replace("\r\n", "\n"))
}
