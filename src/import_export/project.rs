//! Finds the files of a source in the whole project: in its usual places, in those of each subfolder, and in vaults of
//! notes.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::Path;

use super::files::{ImportFile, read_all, read_files, reason_of};
use super::gathered::{CoveredPath, CoveredPlace, SourceContent};
use super::report::ImportOrigin;
use super::sources::{ImportSource, SourceRow};
use crate::error::{IoContext as _, Problem, Result};
use crate::store::{Folder, SourceFiles, Unreadable};
use crate::workspace::Workspace;

/// Folders whose files are of others, made by a program, or read by tests.
const FOREIGN: [&str; 9] =
    [".git", ".ralph", ".venv", "__fixtures__", "fixtures", "node_modules", "testdata", "third_party", "vendor"];

/// The files of a project, listed when they are first needed.
#[derive(Debug, Default)]
pub(super) struct ProjectFiles(OnceCell<SourceFiles>);

impl ProjectFiles {
    /// Returns the files that git knows or does not ignore; without git, those of a bounded walk.
    fn get(&self, workspace: &Workspace, root: &Folder) -> &SourceFiles {
        self.0.get_or_init(|| {
            let of_git = workspace.work_tree().and_then(|tree| tree.files().ok());
            let mut files = of_git.unwrap_or_else(|| root.files(&|_| true));
            let is_own = |path: &str| !path.split('/').any(|part| FOREIGN.contains(&part));
            files.paths.retain(|path| is_own(path));
            files.left_out.retain(|(path, _)| is_own(path));
            files
        })
    }
}

/// Reads the files of a source in its usual places.
pub(super) fn usual_texts(
    workspace: &Workspace,
    source: ImportSource,
    content: &mut SourceContent,
) -> Result<Vec<ImportFile>> {
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
            content.report.skip(ImportOrigin::file(place), reason_of(&unreadable));
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
