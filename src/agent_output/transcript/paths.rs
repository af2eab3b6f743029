//! File names relative to the project, and what was done to each file.

use std::collections::BTreeMap;
use std::path::Path;

use crate::entry::Files;

/// The longest path that is examined, in bytes.
const MAX_PATH: usize = 1024;
/// How many files of each list are kept. The journal keeps fewer, so a file that is created after it was read still
/// gets a place.
const MAX_FILES: usize = 1000;
/// How many of the files that one search found are noted.
const MAX_FOUND: usize = 20;
/// Folders that are not part of the project: the memory itself, and git's own files.
const OWN: [&str; 2] = [".ralph", ".git"];

/// What was done to a file; the last variant counts over those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Done {
    Read,
    Modified,
    Created,
}

/// Returns a path relative to the project at `root`, for an agent that works in the folder `work`; `None` for a path that
/// is outside.
pub(crate) fn within_project(root: &str, work: &str, path: &str) -> Option<String> {
    let mut touched = Touched::new(root);
    touched.work_in(work);
    touched.within(path)
}

/// The files that tools touched.
#[derive(Debug, Default)]
pub(super) struct Touched {
    root: Vec<String>,
    /// The agent's working folder, if it is known.
    work: Option<Vec<String>>,
    done: BTreeMap<String, (Done, usize)>,
    counts: [usize; 3],
}

impl Touched {
    pub(super) fn new(root: &str) -> Touched {
        Touched { root: parts(&[], root).unwrap_or_default(), ..Touched::default() }
    }

    /// Sets the agent's working folder.
    pub(super) fn work_in(&mut self, folder: &str) {
        if folder.starts_with('/') && folder.len() <= MAX_PATH {
            self.work = parts(&[], folder);
        }
    }

    /// Returns a path relative to the project; `None` for a path that is outside, or empty.
    pub(super) fn within(&self, path: &str) -> Option<String> {
        if path.is_empty() || path.len() > MAX_PATH || path.contains('\0') {
            return None;
        }
        let work = self.work.as_ref().unwrap_or(&self.root);
        let full = if path.starts_with('/') { parts(&[], path)? } else { parts(work, path)? };
        let is_elsewhere = !work.starts_with(&self.root);
        let inside = full.strip_prefix(&self.root[..]).filter(|_| !self.root.is_empty());
        // A container or a second work tree has the project at another place.
        let inside =
            inside.or_else(|| full.strip_prefix(&work[..]).filter(|_| is_elsewhere || self.root.is_empty()))?;
        let first = inside.first()?;
        (!OWN.contains(&first.as_str())).then(|| inside.join("/"))
    }

    /// Returns the argument of a tool without the project's folder if it begins with a path in that folder. Other paths
    /// stay absolute.
    pub(super) fn relative<'a>(&self, argument: &'a str) -> &'a str {
        let work = self.work.as_ref().filter(|work| !work.starts_with(&self.root));
        let inside =
            [Some(&self.root), work].into_iter().flatten().filter(|folder| !folder.is_empty()).find_map(|folder| {
                let rest = folder
                    .iter()
                    .try_fold(argument, |rest, part| rest.strip_prefix('/')?.strip_prefix(part.as_str()))?;
                rest.strip_prefix('/')
                    .filter(|rest| !rest.trim().is_empty() && rest.split('/').all(|part| part != ".."))
            });
        inside.unwrap_or(argument)
    }

    /// Returns whether the file was seen already.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.done.contains_key(path)
    }

    /// Records what was done to a file.
    pub(super) fn note(&mut self, path: String, done: Done) {
        if let Some((known, _)) = self.done.get_mut(&path) {
            // A file that was read moves to the changed ones, however long that list is.
            *known = done.max(*known);
            return;
        }
        if self.counts[done as usize] < MAX_FILES {
            let next = self.counts.iter().sum();
            self.counts[done as usize] += 1;
            self.done.insert(path, (done, next));
        }
    }

    /// Records the files that a search examined, and the first ones that it found.
    pub(super) fn note_found(&mut self, place: &str, names: &[String]) {
        // A search more often names a folder than a file.
        let place = Some(place).filter(|place| Path::new(place).extension().is_some());
        for name in place.into_iter().chain(names.iter().map(String::as_str)).take(MAX_FOUND) {
            if let Some(path) = self.within(name) {
                self.note(path, Done::Read);
            }
        }
    }

    /// Records that a file was deleted: a file that was created here disappears from the lists.
    pub(super) fn remove(&mut self, path: String) {
        if self.done.get(&path).is_some_and(|(done, _)| *done == Done::Created) {
            self.done.remove(&path);
        } else {
            self.note(path, Done::Modified);
        }
    }

    /// Returns the lists, in the order in which the files first occurred.
    pub(super) fn files(self) -> Files {
        let mut all: Vec<(usize, Done, String)> =
            self.done.into_iter().map(|(path, (done, at))| (at, done, path)).collect();
        all.sort();
        let mut files = Files::default();
        for (_, done, path) in all {
            match done {
                Done::Created => files.created.push(path),
                Done::Modified => files.modified.push(path),
                Done::Read => files.read.push(path),
            }
        }
        files
    }
}

/// Returns the parts of a path below a folder, with `.` and `..` resolved by name; `None` if it leads above the root.
fn parts(folder: &[String], path: &str) -> Option<Vec<String>> {
    let mut all = folder.to_owned();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                all.pop()?;
            }
            _ => all.push(part.to_owned()),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(root: &str, work: Option<&str>, path: &str, expected: Option<&str>) {
        let mut touched = Touched::new(root);
        if let Some(work) = work {
            touched.work_in(work);
        }
        assert_eq!(touched.within(path).as_deref(), expected, "{root} {work:?} {path}");
    }

    #[test]
    fn paths_are_those_of_the_project() {
        check("/p", None, "/p/src/a.rs", Some("src/a.rs"));
        check("/p/", Some("/p"), "src/./a.rs", Some("src/a.rs"));
        check("/p", Some("/p/sub"), "a.rs", Some("sub/a.rs"));
        check("/p", Some("/p/sub"), "../a.rs", Some("a.rs"));
        check("/p", Some("/p/sub"), "/p/b/../a.rs", Some("a.rs"));
        check("/p", Some("/repo"), "/repo/src/a.rs", Some("src/a.rs"));
        check("/p", Some("/repo"), "src/a.rs", Some("src/a.rs"));
        check("", Some("/repo"), "/repo/a.rs", Some("a.rs"));
        check("", None, "a b/ü.rs", Some("a b/ü.rs"));
    }

    #[test]
    fn arguments_are_relative_where_they_begin_in_the_project() {
        let check = |work: &str, argument: &str, expected: &str| {
            let mut touched = Touched::new("/home/dev/shop");
            touched.work_in(work);
            assert_eq!(touched.relative(argument), expected, "{work} {argument}");
        };
        check("/home/dev/shop", "/home/dev/shop/src/a b.rs", "src/a b.rs");
        check("/home/dev/shop/sub", "/home/dev/shop/run.sh --all", "run.sh --all");
        check("/repo", "/repo/src/a.rs", "src/a.rs");
        for other in
            ["/home/dev/shop2/a.rs", "/etc/passwd", "/home/dev/shop", "/home/dev/shop/", "/home/dev/shop/../x", ""]
        {
            check("/home/dev/shop", other, other);
        }
        check("/home/dev/shop", "cat /home/dev/shop/a", "cat /home/dev/shop/a");
        assert_eq!(Touched::new("").relative("/etc/passwd"), "/etc/passwd");
    }

    #[test]
    fn paths_outside_of_the_project_are_left_out() {
        check("/p", None, "/p", None);
        check("/p", None, "/pq/a.rs", None);
        check("/p", Some("/p"), "../q/a.rs", None);
        check("/p", Some("/p"), "/etc/passwd", None);
        check("/p", Some("/repo"), "/etc/passwd", None);
        check("/p", None, "../../../../a", None);
        check("/p", None, "", None);
        check("/p", None, "a\0b", None);
        check("/p", None, ".ralph/knowledge/a.md", None);
        check("/p", None, "/p/.git/config", None);
        check("/p", None, &"x".repeat(MAX_PATH + 1), None);
    }

    #[test]
    fn the_last_variant_counts_and_lists_are_bounded() {
        let mut touched = Touched::new("/p");
        for (path, done) in [("a", Done::Read), ("b", Done::Created), ("a", Done::Modified), ("b", Done::Read)] {
            touched.note(path.to_owned(), done);
        }
        touched.remove("b".to_owned());
        touched.remove("c".to_owned());
        for number in 0..2 * MAX_FILES {
            touched.note(format!("r{number}"), Done::Read);
        }
        // A read file is changed, and its list had no room for another one.
        touched.note("r1".to_owned(), Done::Modified);
        let files = touched.files();
        let modified = ["a", "c", "r1"].map(str::to_owned);
        assert_eq!((files.created.len(), files.modified.as_slice()), (0, &modified[..]));
        assert_eq!((files.read.len(), files.read[0].as_str()), (MAX_FILES - 2, "r0"));
    }

    #[test]
    fn a_full_list_of_changes_drops_no_change_of_a_read_file() {
        let mut touched = Touched::new("/p");
        touched.note("read".to_owned(), Done::Read);
        for number in 0..MAX_FILES {
            touched.note(format!("m{number}"), Done::Modified);
        }
        touched.note("read".to_owned(), Done::Modified);
        touched.note("one-more".to_owned(), Done::Modified);
        let files = touched.files();
        assert_eq!((files.read.len(), files.modified.len()), (0, MAX_FILES + 1));
        assert_eq!(files.modified[0], "read");
    }
}
