//! Finds the files of a source: those that a person named, or those in its usual places, in those of each subfolder, and
//! in vaults of notes.

use std::collections::BTreeSet;
use std::path::Path;

use super::files::{
    ImportFile, MAX_FILE, NamedPath, STANDARD_INPUT, mark_of, read_all, read_files, reason_of, text_of,
};
use super::gathered::{CoveredPath, CoveredPlace, SourceContent};
use super::report::ImportOrigin;
use super::request::{ImportInput, ImportRequest};
use super::sources::{ImportSource, SourceRow};
use crate::error::{Error, IoContext as _, Problem, Result};
use crate::store::{Folder, SourceFiles, Unreadable};
use crate::text::{count, without_marks};
use crate::workspace::Workspace;

/// Reads what a file of a source says.
pub(super) type FileReader = fn(&Workspace, &ImportRequest, &ImportFile, &mut SourceContent);

/// Reads the files of a source one after another with their frontmatter split off. What was read and what was left out is
/// noted.
pub(super) fn each_file(
    workspace: &Workspace,
    request: &ImportRequest,
    content: &mut SourceContent,
    read: &mut dyn FnMut(&ImportFile, &mut SourceContent),
) -> Result<()> {
    for mut file in texts(workspace, request, content)? {
        match file.split(&mut content.report) {
            Ok(()) => read(&file, content),
            Err(reason) => content.skip_unread(file.origin(), reason),
        }
    }
    Ok(())
}

/// Reads the files of a source, without the invisible marks in them that say nothing.
pub(super) fn texts(
    workspace: &Workspace,
    request: &ImportRequest,
    content: &mut SourceContent,
) -> Result<Vec<ImportFile>> {
    let mut files = found(workspace, request, content)?;
    for file in &mut files {
        if let Some((text, n_marks)) = without_marks(&file.text) {
            file.text = text;
            let what = count(n_marks, "invisible character");
            content.report.skip(file.origin(), format!("{what} without a meaning left out of its text"));
        }
    }
    Ok(files)
}

/// Reads the files of a source: those that a person named, else those in its usual places.
fn found(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<Vec<ImportFile>> {
    let row = request.source.row();
    match &request.input {
        ImportInput::UsualPlace(folders) if request.source == ImportSource::ClaudeMemory => {
            let Some(project) = folders.claude_project(workspace.root()) else { return Ok(Vec::new()) };
            let folder = project.join("memory");
            let folder = folder.canonicalize().unwrap_or(folder);
            content.report.searched.push(folder.display().to_string());
            let Ok(open) = Folder::open(&folder) else { return Ok(Vec::new()) };
            Ok(read_all(&open, ("", &mark_of(&folder)), row, open.files(&row.wanted), content))
        }
        ImportInput::UsualPlace(_) => usual_texts(workspace, request.source, content),
        ImportInput::Path(path) => {
            let named = NamedPath::find(workspace, path)?;
            if named.full.is_dir() {
                let folder = Folder::open(&named.full).io("open", path)?;
                let prefix = if named.shown.is_empty() { String::new() } else { named.shown + "/" };
                let (prefix, mark) =
                    if named.is_in_project { (prefix, String::new()) } else { (String::new(), mark_of(&named.full)) };
                return Ok(read_all(&folder, (&prefix, &mark), row, folder.files(&row.wanted), content));
            }
            let bytes = named.read(path, MAX_FILE)?;
            content.report.read.push(named.shown.clone());
            let text = text_of(bytes).ok_or_else(|| {
                let reason = "it is not UTF-8; save it as UTF-8, and import again";
                Error::invalid(format!("`{}`", path.display()), reason)
            })?;
            let mark = named.full.parent().filter(|_| !named.is_in_project).map(mark_of).unwrap_or_default();
            content.covered.push(CoveredPlace { path: CoveredPath::File(named.shown.clone()), mark: mark.clone() });
            Ok(vec![ImportFile::new(named.shown.clone(), named.shown + &mark, text)])
        }
        ImportInput::Text(bytes) => {
            if bytes.len() > MAX_FILE {
                return Err(Error::invalid(STANDARD_INPUT, "it is over the limit of 4 MiB; split it"));
            }
            let text = text_of(bytes.clone()).ok_or_else(|| Error::invalid(STANDARD_INPUT, "it is not UTF-8"))?;
            content.report.read.push(STANDARD_INPUT.to_owned());
            Ok(vec![ImportFile::new(STANDARD_INPUT.to_owned(), String::new(), text)])
        }
    }
}

/// Reads the files of a source in its usual places.
fn usual_texts(workspace: &Workspace, source: ImportSource, content: &mut SourceContent) -> Result<Vec<ImportFile>> {
    let row = source.row();
    let root = Folder::open(workspace.root()).io("open", workspace.root())?;
    let mut files: Vec<ImportFile> =
        row.places.iter().flat_map(|place| texts_at_root(&root, place, row, content)).collect();
    let project = content.project.clone();
    let all = project.get(workspace, &root);
    if all.is_cut {
        let message = "the project has too many files to list: subfolders may have more to import";
        let hint = "name a folder: `ralph-memory import SOURCE FOLDER`";
        content.report.problems.push(Problem::warning(source.as_str(), "not-listed", message, hint));
    }
    let is_nested =
        |path: &str| (row.wanted)(path) && row.split_at_place(path).is_some_and(|(around, _)| !around.is_empty());
    let nested = SourceFiles {
        // Git also lists files that are gone.
        paths: all.paths.iter().filter(|path| is_nested(path) && root.has(path)).cloned().collect(),
        left_out: all.left_out.iter().filter(|(path, _)| is_nested(path)).cloned().collect(),
        is_cut: all.is_cut,
    };
    files.extend(read_files(&root, ("", ""), row, nested, content));
    if source == ImportSource::MemoryBank {
        for vault in vaults(&root, &all.paths) {
            files.extend(notes_of_vault(&root, &vault, all, content)?);
        }
    }
    Ok(files)
}

/// Reads the file, or the wanted files of the folder, in a usual place of the project itself.
fn texts_at_root(root: &Folder, place: &'static str, row: &SourceRow, content: &mut SourceContent) -> Vec<ImportFile> {
    content.report.searched.push(place.to_owned());
    content.covered.push(CoveredPlace { path: CoveredPath::Usual(place), mark: String::new() });
    let prefix = format!("{place}/");
    match root.descend(place).map_err(Unreadable::from) {
        Ok(folder) => {
            let found = folder.files(&|path| (row.wanted)(&format!("{prefix}{path}")));
            read_files(&folder, (&prefix, ""), row, found, content)
        }
        Err(Unreadable::Missing) if root.has(place) => {
            let found = SourceFiles { paths: vec![place.to_owned()], ..SourceFiles::default() };
            read_files(root, ("", ""), row, found, content)
        }
        Err(Unreadable::Missing) => Vec::new(),
        Err(unreadable) => {
            content.skip_unread(ImportOrigin::file(place), reason_of(&unreadable));
            Vec::new()
        }
    }
}

/// Returns the paths of Obsidian's vaults, each with a `/` at its end; that of the project itself is empty.
fn vaults(root: &Folder, paths: &[String]) -> BTreeSet<String> {
    let around = |path: &String| {
        let at = path.find(".obsidian/")?;
        Some(path[..at].to_owned()).filter(|around| around.is_empty() || around.ends_with('/'))
    };
    let of_project = root.has(".obsidian").then(String::new);
    paths.iter().filter_map(around).chain(of_project).collect()
}

/// Reads the notes of a vault: its markdown that is in no hidden folder and in no usual place of a source.
fn notes_of_vault(
    root: &Folder,
    vault: &str,
    all: &SourceFiles,
    content: &mut SourceContent,
) -> Result<Vec<ImportFile>> {
    let row = ImportSource::MemoryBank.row();
    let is_note = |path: &str| {
        let is_hidden = path.split('/').any(|part| part.starts_with('.'));
        let full = format!("{vault}{path}");
        !is_hidden
            && (row.wanted)(path)
            && ImportSource::ALL.iter().all(|source| source.row().split_at_place(&full).is_none())
    };
    let below = |path: &String| path.strip_prefix(vault).map(str::to_owned).filter(|path| is_note(path));
    let mut found = SourceFiles { paths: all.paths.iter().filter_map(below).collect(), ..SourceFiles::default() };
    let folder = root.descend(vault.trim_end_matches('/')).io("open", Path::new(vault))?;
    found.paths.retain(|path| folder.has(path));
    Ok(read_all(&folder, (vault, ""), row, found, content))
}
