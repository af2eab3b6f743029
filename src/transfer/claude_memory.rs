//! Claude Code's own memory of a project: a folder of markdown files with a type each.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files;
use super::gathered::{Fact, SourceContent};
use super::report::{ImportOrigin, ImportedItem};
use super::request::{ImportInput, ImportRequest};
use crate::entry::frontmatter::Fields;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Source, parse_time};
use crate::error::Result;
use crate::store::Folder;
use crate::workspace::Workspace;

/// The list of the others.
const INDEX: &str = "MEMORY.md";

/// Returns the name that Claude Code gives a project's folder below `projects/`: its path, with `-` for all but ASCII
/// letters and digits.
pub(super) fn slug(root: &Path) -> String {
    let root = root.to_string_lossy();
    root.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect()
}

/// Returns Claude Code's folder for the project, which may not exist.
pub(super) fn project_folder(workspace: &Workspace, claude: &Path) -> PathBuf {
    let root = workspace.root().canonicalize().unwrap_or_else(|_| workspace.root().to_owned());
    claude.join("projects").join(slug(&root))
}

/// Finds what Claude Code remembers of the project. What it remembers of its user is personal, and stays where it is.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest) -> Result<SourceContent> {
    let mut gathered = SourceContent::default();
    let wanted = |path: &str| files::has_extension(path, "md");
    let files = match &request.input {
        ImportInput::Path(path) => files::named_texts(workspace, path, &mut gathered, &wanted)?,
        ImportInput::Text(_) => return Err(files::no_text(request)),
        ImportInput::UsualPlace(folders) => {
            let Some(claude) = &folders.claude else { return Ok(gathered) };
            let folder = project_folder(workspace, claude).join("memory");
            let folder = folder.canonicalize().unwrap_or(folder);
            gathered.searched.push(folder.display().to_string());
            let Ok(open) = Folder::open(&folder) else { return Ok(gathered) };
            files::read_all(&open, "", &files::mark_of(&folder), open.files(&wanted), &mut gathered)
        }
    };
    for file in files {
        let from = ImportOrigin::file(&file.path);
        let skipped = |reason: &str| ImportedItem::skipped(ImportOrigin::file(&file.path), reason);
        if file.path.rsplit('/').next() == Some(INDEX) {
            gathered.left_out.push(skipped("it only lists the other files"));
            continue;
        }
        let (fields, text, _) = match file.parts() {
            Ok(parts) => parts,
            Err(reason) => {
                gathered.left_out.push(skipped(reason));
                continue;
            }
        };
        // Some versions keep it one level deeper.
        let kind = word(&fields, "type").unwrap_or_else(|| "project".to_owned());
        if kind == "user" {
            gathered.left_out.push(skipped("it is about you, not about the project"));
            continue;
        }
        let title = word(&fields, "description").or_else(|| word(&fields, "name"));
        let title = title.unwrap_or_else(|| file.stem().replace(['-', '_'], " "));
        let date = ["modified", "updated", "created"].into_iter().find_map(|key| word(&fields, key));
        let knowledge = Knowledge { source: Source::Agent, ..Knowledge::new(title, [kind], text) };
        let fact = Fact::new(file.key.clone(), from, knowledge);
        gathered.add(Fact { date: date.and_then(|date| parse_time(&date)), ..fact });
    }
    Ok(gathered)
}

fn word(fields: &Fields, key: &str) -> Option<String> {
    let inner = || fields.get("metadata")?.get(key).and_then(Value::as_str).map(str::trim);
    files::word(fields, key).or_else(inner).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_project_is_named_by_its_path() {
        assert_eq!(slug(Path::new("/home/dev/my_project.rs")), "-home-dev-my-project-rs");
    }
}
