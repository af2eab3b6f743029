//! Files and folders that are named on the command line, or by an agent.

use std::io;
use std::path::{Component, Path, PathBuf};

use ralph_memory::Memory;
use ralph_memory::entry::{is_pattern, without_line};
use ralph_memory::error::Problem;

use crate::error::UsageError;

/// Returns the paths relative to the project's folder, with `/` between their parts. Arguments are relative to the
/// working folder, as a shell completes them, if that folder is inside the project.
///
/// # Errors
///
/// [`UsageError`] if a path lies outside of the project.
pub(crate) fn of_project(memory: &Memory, given: &[String]) -> Result<Vec<String>, UsageError> {
    let canonical = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let root = canonical(memory.root());
    let folder = std::env::current_dir().map(|folder| canonical(&folder)).ok();
    let folder = folder.filter(|folder| folder.starts_with(&root)).unwrap_or_else(|| root.clone());
    relative_all(&root, memory.root(), &folder, given)
}

/// Returns the paths that an agent names, as [`of_project`] does. They are relative to the project's folder, wherever
/// the server works.
///
/// # Errors
///
/// [`UsageError`] if a path lies outside of the project.
pub(crate) fn of_agent(memory: &Memory, given: Option<Vec<String>>) -> Result<Vec<String>, UsageError> {
    let root = std::fs::canonicalize(memory.root()).unwrap_or_else(|_| memory.root().to_owned());
    let hint = "name files of the project, relative to its folder, and leave out all others";
    relative_all(&root, memory.root(), &root, &given.unwrap_or_default())
        .map_err(|error| UsageError { hint: hint.to_owned(), ..error })
}

fn relative_all<'a>(root: &Path, named: &Path, folder: &Path, given: &'a [String]) -> Result<Vec<String>, UsageError> {
    let given = given.iter().filter(|path| !path.trim().is_empty());
    let bare = |path: &'a String| if folder.join(path).exists() { path } else { without_line(path) };
    given.map(|path| relative(root, named, folder, bare(path))).collect()
}

/// Returns a problem for each of these paths that does not exist in the project. A pattern may match nothing yet.
pub(crate) fn missing(memory: &Memory, paths: &[String]) -> Vec<Problem> {
    let is_missing = |path: &&String| !is_pattern(path) && memory.root().join(path).symlink_metadata().is_err();
    let missing = paths.iter().filter(is_missing);
    let problem = |path: &String| {
        Problem::warning(
            path.clone(),
            "no-such-file",
            "the project has no such file",
            "paths are relative to the folder where the command is run; an entry whose file is gone is marked as \
               unverified",
        )
    };
    missing.map(problem).collect()
}

/// Refuses an argument that must name an existing file, or a pipe, and does not. `named` follows the path in the message.
///
/// # Errors
///
/// [`UsageError`]. Whatever else is wrong with the file is reported when it is read.
pub(crate) fn check_file(path: &Path, named: &str) -> Result<(), UsageError> {
    if std::fs::metadata(path).is_ok_and(|found| found.is_dir()) {
        return Err(UsageError::new(format!("`{}`{named} is a folder", path.display()), "name a file, not a folder"));
    }
    check_exists(path, named, "name a file that exists")
}

/// Refuses an argument that must name something that exists, and does not, as [`check_file`] does. `hint` says what to
/// name.
///
/// # Errors
///
/// [`UsageError`]. Whatever else is wrong with it is reported when it is read.
pub(crate) fn check_exists(path: &Path, named: &str, hint: &str) -> Result<(), UsageError> {
    match std::fs::metadata(path) {
        Err(error) if is_missing(&error) => {
            let message = format!("`{}`{named} does not exist", path.display());
            Err(UsageError::new(message, format!("check the spelling; {hint}")))
        }
        _ => Ok(()),
    }
}

/// Refuses a root that is not a folder.
///
/// # Errors
///
/// [`UsageError`]. Whatever else is wrong with the folder is reported when it is opened.
pub(crate) fn check_folder(path: &Path) -> Result<(), UsageError> {
    let (problem, hint) = match std::fs::metadata(path) {
        Ok(found) if !found.is_dir() => ("is not a folder", "name the folder that holds `.ralph/`, or is to hold it"),
        Err(error) if is_missing(&error) => ("does not exist", "check the spelling, or create the folder first"),
        _ => return Ok(()),
    };
    Err(UsageError::new(format!("`{}` {problem}", path.display()), hint))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn relative(root: &Path, named: &Path, folder: &Path, path: &str) -> Result<String, UsageError> {
    let mut full = PathBuf::new();
    for part in folder.join(path).components() {
        if part == Component::ParentDir {
            full.pop();
        } else {
            full.push(part);
        }
    }
    let inside = full.strip_prefix(root).or_else(|_| full.strip_prefix(named));
    match inside {
        Ok(inside) if inside.as_os_str().is_empty() => Ok(".".to_owned()),
        Ok(inside) => {
            Ok(inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"))
        }
        Err(_) => Err(UsageError::new(
            format!("`{path}` lies outside of the project `{}`", named.display()),
            "name a file of the project, relative to the folder where the command is run",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_working_folder() {
        let of = |path: &str| relative(Path::new("/p"), Path::new("/link"), Path::new("/p/src"), path);
        assert_eq!(of("db.rs").unwrap(), "src/db.rs");
        assert_eq!(of("./a/../db.rs").unwrap(), "src/db.rs");
        assert_eq!(of("../README.md").unwrap(), "README.md");
        assert_eq!(of("sub/").unwrap(), "src/sub");
        assert_eq!(of("/p/x").unwrap(), "x");
        assert_eq!(of("/link/x").unwrap(), "x");
        assert_eq!(of("..").unwrap(), ".");
        for outside in ["../../x", "/etc/passwd", "/px"] {
            let error = of(outside).unwrap_err();
            assert_eq!(error.message, format!("`{outside}` lies outside of the project `/link`"));
        }
    }
}
