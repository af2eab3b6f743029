//! Looking after the memory: what is wrong with its files.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Memory;
use crate::catalog::{Area, Catalog};
use crate::check::{self, Item};
use crate::entry;
use crate::error::{Problem, Result, Severity};

/// What [`Memory::check`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What is wrong, in the order of the paths.
    pub problems: Vec<Problem>,
    /// How many files were looked at, those of the archive included.
    pub files: usize,
}

impl Checked {
    /// Returns how many of the problems are this bad.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }
}

impl Memory {
    /// Returns everything that is wrong with the files: what stands in the way of reading them, and
    /// what does not fit together.
    ///
    /// # Errors
    ///
    /// None at present; reading goes on past every file that is broken.
    pub fn check(&self) -> Result<Checked> {
        let live = self.catalog(Area::Live);
        let archive = self.catalog(Area::Archive);
        let archived: BTreeSet<_> = archive.rows().filter_map(|row| archive.id(row)).collect();
        let mut problems = check::problems(&items(&live), &archived, self.now());
        for problem in problems.iter_mut().filter(|problem| problem.line.is_none()) {
            self.locate(problem);
        }
        problems.extend(live.problems());
        problems.extend(archive.problems());
        problems.extend(self.settings_problems.clone());
        problems.sort();
        problems.dedup();
        Ok(Checked { problems, files: live.len() + archive.len() })
    }

    /// Returns a line of a file that a problem names, counted from 1, without its line end. What is
    /// not UTF-8 is replaced; `None` where there is no such file or line.
    pub fn source_line(&self, path: &str, line: u32) -> Option<String> {
        let file = self.store.read(path.strip_prefix(".ralph/")?).ok()?;
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        let line = file.bytes.split(|byte| *byte == b'\n').nth(at)?;
        Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
    }

    /// Gives a problem the place of the key that it is about. Heads do not keep places, and few
    /// files are looked into once more.
    fn locate(&self, problem: &mut Problem) {
        let key = match problem.code.as_str() {
            "unknown-id" | "supersedes-cycle" => "supersedes",
            "near-duplicate" => "title",
            _ => return,
        };
        let file = problem.path.strip_prefix(".ralph/").and_then(|path| self.store.read(path).ok());
        let text = file.and_then(|file| String::from_utf8(file.bytes).ok());
        if let Some((line, column)) = text.and_then(|text| entry::place_of_key(&text, key)) {
            (problem.line, problem.column) = (Some(line), Some(column));
        }
    }
}

fn items(catalog: &Catalog) -> Vec<Item> {
    let item = |row| {
        let (path, head) = (catalog.path(row), catalog.head(row));
        Some(Item { id: catalog.id(row)?, path, head, counts: catalog.is_indexable(row) })
    };
    catalog.rows().filter_map(item).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Makes a memory with these files below `.ralph/`.
    fn memory(files: &[(&str, &str)]) -> (tempfile::TempDir, Memory) {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        for (path, text) in files {
            let path = folder.path().join(".ralph").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let memory = Memory::open(folder.path()).unwrap();
        (folder, memory)
    }

    #[track_caller]
    fn found(memory: &Memory) -> Vec<String> {
        let checked = memory.check().unwrap();
        checked.problems.iter().map(|problem| format!("{} {}", problem.code, problem)).collect()
    }

    #[test]
    fn a_new_memory_is_in_order() {
        let (_folder, memory) = memory(&[]);
        assert_eq!(memory.check().unwrap(), Checked { problems: Vec::new(), files: 0 });
    }

    #[test]
    fn problems_have_places() {
        let (_folder, memory) = memory(&[
            ("knowledge/a.md", "---\ntitle: Same\ntags: [x]\n---\none\n"),
            ("knowledge/b.md", "---\ntags: [x]\ntitle: same\nsupersedes: [nowhere]\n---\n\nsee [[nothing]]\n"),
            ("archive/knowledge/c.md", "text\n"),
            ("config.toml", "format = 1\nlimit = 3\n"),
        ]);
        assert_eq!(
            found(&memory),
            [
                "no-frontmatter .ralph/archive/knowledge/c.md:1:1: the first line is not `---`, so the file has no frontmatter",
                "unknown-setting .ralph/config.toml:2: there is no setting `limit`",
                "near-duplicate .ralph/knowledge/b.md:3:8: the entry has the same title as `.ralph/knowledge/a.md`",
                "unknown-id .ralph/knowledge/b.md:4:13: `supersedes` names `knowledge/nowhere`, and there is no such entry",
                "broken-link .ralph/knowledge/b.md:7: the link `[[nothing]]` leads to no entry",
            ]
        );
        let checked = memory.check().unwrap();
        assert_eq!((checked.files, checked.count(Severity::Error), checked.count(Severity::Warning)), (3, 1, 4));
    }

    #[test]
    fn what_a_link_may_name_is_what_show_follows() {
        let link = |target: &str| format!("---\ntitle: T\ntags: [x]\n---\n[[{target}]]\n");
        for target in
            ["other", "knowledge/other", "An  OTHER entry", "journal/run-1/0001", "gone", "nothing", "", "a/b"]
        {
            let (_folder, memory) = memory(&[
                ("knowledge/a.md", &link(target)),
                ("knowledge/sub/other.md", "---\ntitle: An other entry\ntags: [y]\n---\nother\n"),
                ("archive/knowledge/gone.md", "---\ntitle: Gone\ntags: [z]\n---\ngone\n"),
                ("journal/run-1/0001.md", "---\nrun_id: run-1\n---\n"),
            ]);
            let shown = memory.show(&crate::entry::Id::parse("a").unwrap()).unwrap().entry.links;
            let is_broken = found(&memory).iter().any(|problem| problem.starts_with("broken-link"));
            assert_eq!(is_broken, shown.iter().any(|link| link.id.is_none()), "{target:?}");
        }
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let (folder, memory) = memory(&[("knowledge/a.md", "---\r\ntitle: é\r\n---\r\n")]);
        let line = |number| memory.source_line(".ralph/knowledge/a.md", number);
        assert_eq!(
            (line(2).as_deref(), line(4).as_deref(), line(5), line(0)),
            (Some("title: é"), Some(""), None, None)
        );
        fs::write(folder.path().join("secret"), "x").unwrap();
        assert_eq!(memory.source_line(".ralph/../secret", 1), None);
        assert_eq!(memory.source_line("secret", 1), None);
    }
}
