//! How the path of an entry is displayed, and how it is stored.
//!
//! The store knows paths relative to `.ralph/`; people and answers see them relative to the folder that holds
//! `.ralph/`. An [`EntryPath`] has both forms, so that no caller adds or removes the folder by hand.

use std::fmt;
use std::path::Path;

use serde::Serialize;

/// The longest pattern and the longest path that are compared, in bytes, and the most braces of a pattern: the work grows
/// with each of them, and with the braces by a power.
const MAX_PATTERN: usize = 200;
const MAX_PATH: usize = 300;
const MAX_BRACES: usize = 4;
/// How many of the paths that a list of files leaves out are compared.
const MAX_LEFT_OUT: usize = 20;
/// Comes before each path that a pattern leaves out.
const LEAVES_OUT: &str = "\u{1f}";
/// The folder of the attempts that other work trees of the clone recorded, in the place of `journal`. Its files are in git's
/// common folder.
pub(crate) const COPIES: &str = "journal@clone";
/// The same in the archive.
pub(crate) const ARCHIVED_COPIES: &str = "archive/journal@clone";
/// The prefix of a displayed path.
pub(crate) const MEMORY_FOLDER: &str = ".ralph/";

/// The path of an entry's file.
///
/// Displayed, serialized and as a [`Path`] it is relative to the folder that holds `.ralph/`, with `/` between its
/// parts, such as `.ralph/knowledge/wal-mode.md`.
///
/// ```
/// use ralph_memory::{Knowledge, Memory};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let path = memory.add(&Knowledge::new("Retry budget", ["http"], "Three retries a request."))?.path;
/// assert_eq!(path.as_str(), ".ralph/knowledge/retry-budget.md");
/// assert_eq!(path.as_relative(), "knowledge/retry-budget.md");
/// assert!(memory.root().join(&path).is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct EntryPath(String);

impl EntryPath {
    /// Returns the path of the file that is `relative` below `.ralph/`.
    pub fn new(relative: &str) -> EntryPath {
        EntryPath(display_path(relative))
    }

    /// Returns the displayed path: relative to the folder that holds `.ralph/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path relative to `.ralph/`.
    pub fn as_relative(&self) -> &str {
        self.0.strip_prefix(MEMORY_FOLDER).unwrap_or_default()
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AsRef<Path> for EntryPath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// Returns the displayed form of a path that is relative to `.ralph/`: relative to the folder that holds `.ralph/`.
pub(crate) fn display_path(path: &str) -> String {
    format!("{MEMORY_FOLDER}{path}")
}

/// Returns whether a path, relative to `.ralph/`, is below [`COPIES`] or [`ARCHIVED_COPIES`].
pub(crate) fn is_copy(path: &str) -> bool {
    let rest = path.strip_prefix("archive/").unwrap_or(path).strip_prefix(COPIES);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the name of an entry's file without its extension; `None` if it has another one. Editors write it in several ways.
pub(crate) fn without_extension(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    ["md", "markdown"].iter().any(|known| extension.eq_ignore_ascii_case(known)).then_some(stem)
}

/// Returns whether a path names a file of the project, which git can be asked about.
pub(crate) fn is_project_path(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains('\0')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Returns whether a path is a pattern of paths, such as `src/**/*.ts` or `src/{a,b}.rs`, or what a list of files leaves out,
/// such as `!src/gen`. Brackets alone make none: some frameworks have files such as `[id].tsx`.
///
/// ```
/// use ralph_memory::entry::is_pattern;
/// assert!(is_pattern("src/**") && is_pattern("!src/gen") && !is_pattern("src/[id].tsx"));
/// ```
pub fn is_pattern(path: &str) -> bool {
    path.starts_with('!') || path.contains(['*', '?']) || path.contains('{') && path.contains('}')
}

/// Returns a path without the lines behind it, as compilers and web pages write them.
///
/// ```
/// use ralph_memory::entry::without_line;
/// for path in ["src/a.rs:12", "src/a.rs:12:5", "src/a.rs:12-20", "src/a.rs#L12"] {
///     assert_eq!(without_line(path), "src/a.rs");
/// }
/// ```
pub fn without_line(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let is_place = |at: &usize| {
        let place = &path[at + 1..];
        place.contains(|letter: char| letter.is_ascii_digit())
            && place.chars().all(|letter| letter.is_ascii_digit() || ":-LC".contains(letter))
    };
    let at = path[name..].find([':', '#']).map(|at| name + at).filter(is_place);
    at.map_or(path, |at| &path[..at])
}

/// Returns the path of a file or folder of the project as git has it, which an entry may write with `./` before it and `/`
/// behind it.
pub(crate) fn named_file(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

/// Returns the name that a path or a pattern in a folder has above the folder, unless it has it already. The folder's own name
/// is no pattern.
pub(crate) fn in_folder(folder: &str, file: &str) -> String {
    let (mark, file) = file.strip_prefix('!').map_or(("", file), |file| ("!", file));
    let escape = |letter: char| "*?[]{}\\".contains(letter).then_some('\\').into_iter().chain([letter]);
    let escaped: String = folder.chars().flat_map(escape).collect();
    let below = [folder, &escaped].into_iter().find_map(|folder| file.strip_prefix(folder)?.strip_prefix('/'));
    let folder = if is_pattern(file) { &escaped } else { folder };
    format!("{mark}{folder}/{}", below.unwrap_or(file))
}

/// Returns the files and folders of a list, and its patterns, each with what the list leaves out.
pub(crate) fn files_and_patterns<'a>(files: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, Vec<String>) {
    let anywhere = |path: &str| format!("{}{path}", if is_pattern(path) && !path.contains('/') { "**/" } else { "" });
    let (patterns, files): (Vec<&str>, _) = files.map(named_file).partition(|file| is_pattern(file));
    let (left_out, patterns): (Vec<&str>, Vec<&str>) = patterns.iter().partition(|pattern| pattern.starts_with('!'));
    let left_out = left_out.iter().take(MAX_LEFT_OUT).map(|path| anywhere(named_file(path.trim_start_matches('!'))));
    let left_out: String = left_out.flat_map(|path| [LEAVES_OUT.to_owned(), path]).collect();
    (files, patterns.iter().map(|pattern| anywhere(pattern) + &left_out).collect())
}

/// Returns whether a path matches one of [`files_and_patterns`], and nothing that this leaves out.
pub(crate) fn matches_pattern(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split(LEAVES_OUT);
    let is_in = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    parts.next().is_some_and(|pattern| is_match(pattern, path))
        && !parts.any(|left_out| is_in(left_out) || is_match(left_out, path))
}

/// Returns whether a path matches a pattern. Of long ones, and of patterns with many braces, nothing is said: they would cost
/// too much.
fn is_match(pattern: &str, path: &str) -> bool {
    let n_braces = pattern.bytes().filter(|byte| *byte == b'{').count();
    pattern.len() <= MAX_PATTERN
        && n_braces <= MAX_BRACES
        && path.len() <= MAX_PATH
        && fast_glob::glob_match(pattern, path)
}

/// Returns the stem of the entry that an archived version belongs to, the time of archiving in its name, and the number
/// of the version within that second; `None` for the stem of an entry.
pub fn version_of(stem: &str) -> Option<(&str, &str, u32)> {
    let (entry, version) = stem.rsplit_once('.')?;
    let version = version.strip_prefix("conflict-").unwrap_or(version);
    let (time, number) = match version.split_once('-') {
        Some((time, number)) => (time, number.parse().ok()?),
        None => (version, 1),
    };
    let is_time = time.len() == 16
        && time.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    (is_time && !entry.is_empty()).then_some((entry, time, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_path_has_both_forms() {
        let path = EntryPath::new("knowledge/a b.md");
        assert_eq!((path.as_str(), path.as_relative()), (".ralph/knowledge/a b.md", "knowledge/a b.md"));
        assert_eq!(serde_json::to_string(&path).unwrap(), "\".ralph/knowledge/a b.md\"");
        assert_eq!(path.to_string(), path.as_str());
    }
}
