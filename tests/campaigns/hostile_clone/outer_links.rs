//! Links in the place of every file and folder beside `.ralph/` that a command writes or reads: they lead to the folder
//! outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::clients::Own;
use super::repository::put;
use crate::random::Random;

/// Files that commands are asked to write or to read, beside those of clients.
const FILES: [&str; 12] = [
    "TODO.md",
    "manual/ralph-memory.1",
    "manual/ralph-memory-add.1",
    "manual/ralph-memory-show.1",
    ".gitattributes",
    ".gitignore",
    ".mailmap",
    "CLAUDE.md",
    "memories.jsonl",
    "docs/decisions/0001-a.md",
    "memory-bank/a.md",
    ".cursor/rules/a.mdc",
];
/// Folders of the kind.
const FOLDERS: [&str; 9] = [
    ".claude",
    ".claude/skills",
    ".agents",
    ".cursor/rules",
    ".github/instructions",
    "docs/decisions",
    "memory-bank",
    "logs",
    "src",
];

/// Puts such links into a project: a third of all. What is asked for and is no link is an ordinary file.
pub(super) fn plant(project: &Path, own: &Own, outside: &Path, random: &mut Random) {
    put(&outside.join("TODO.md"), "- [ ] Do it\n");
    put(&outside.join("page.1"), "a page\n");
    put(&outside.join("a.md"), fs::read(outside.join("canary.md")).unwrap());
    ordinary(project);
    let folders = FOLDERS.iter().map(Path::new).map(|path| (path, true));
    let above = own.project_paths.iter().filter_map(|path| path.parent()).filter(|folder| *folder != Path::new(""));
    let files =
        FILES.iter().map(Path::new).chain(own.project_paths.iter().map(AsRef::as_ref)).map(|path| (path, false));
    for (name, is_folder) in folders.chain(above.map(|path| (path, true))).chain(files) {
        if random.below(3) > 0 {
            continue;
        }
        let path = project.join(name);
        // Behind a link, another one would be created outside.
        if name.ancestors().skip(1).any(|above| project.join(above).is_symlink()) {
            continue;
        }
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        let target = match (is_folder, random.below(3)) {
            (_, 0) => outside.join("missing"),
            (true, _) => outside.to_owned(),
            (false, _) if name == Path::new("TODO.md") => outside.join("TODO.md"),
            (false, 1) => outside.join("canary.md"),
            (false, _) => outside.join("page.1"),
        };
        if fs::create_dir_all(path.parent().unwrap()).is_ok() {
            let _ = symlink(target, path);
        }
    }
}

/// Writes what steps ask for beside the memory: a checklist, and something to import from each source.
pub(super) fn ordinary(project: &Path) {
    put(&project.join("TODO.md"), "# To do\n\n- [ ] Use it\n- [ ] Use more of it\n");
    put(&project.join("AGENTS.md"), "# Rules\n\n## Build\n\nUse make to build the project.\n");
    put(
        &project.join("memories.jsonl"),
        "{\"title\": \"Build with make\", \"text\": \"It is so.\", \"tags\": [\"build\"]}\n",
    );
    put(
        &project.join("docs/decisions/0002-b.md"),
        "# 2. Use make\n\n## Status\n\nAccepted\n\n## Context\n\nx\n\n## Decision\n\nMake it is.\n",
    );
    put(&project.join("memory-bank/b.md"), "# Bank\n\n## Part\n\nIt is a part of the bank.\n");
    put(&project.join(".cursor/rules/b.mdc"), "---\ndescription: Rules\nglobs: \"*.rs\"\n---\n\nUse make.\n");
    put(&project.join("manual/README"), "pages\n");
}
