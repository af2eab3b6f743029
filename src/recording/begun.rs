//! Attempts in progress, one file each in `state/`.
//!
//! A file that was not written here is reported and left out (see [`sealed`](super::sealed)).

use std::cmp::Reverse;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::notes::has_contexts;
use super::open_attempt::{MAX_LINE, OpenAttempt, is_tree, line};
use super::process_identity::ProcessIdentity;
use super::sealed::{content, sealed, state_key, write};
use crate::context::Task;
use crate::entry::Id;
use crate::entry::path::display_path;
use crate::error::{Error, Problem, Result};
use crate::journal::{BEGUN, check_name, check_number, check_run_name};
use crate::store::{Lock, SealKey, Unreadable};
use crate::text::{for_terminal, shorten};
use crate::workspace::Workspace;

/// The longest description of a task that is kept, in characters.
const MAX_DESCRIPTION: usize = 20_000;
/// How many paths of a task are kept.
const MAX_FILES: usize = 100;
/// How many entries an iteration lists at most, shown or left out.
const MAX_IDS: usize = 1_000;
/// How many files are read: more than a machine works on at a time, and than crashes leave.
const MAX_BEGUN: usize = 1_000;

/// The files of iterations in progress.
#[derive(Debug, Default)]
struct BegunFiles {
    /// By run and number.
    iterations: Vec<OpenAttempt>,
    /// Files that are not iterations: paths relative to `.ralph/`, and the reasons.
    refused: Vec<(String, String)>,
}

/// Returns the iterations in progress, by run and number. Files that were not written here are left out.
///
/// # Errors
///
/// [`Error::Io`] if one cannot be read: it counts neither as finished, nor is its number free.
pub(crate) fn begun(workspace: &Workspace) -> Result<Vec<OpenAttempt>> {
    Ok(read_all(workspace)?.iterations)
}

/// Returns the problems of the files of iterations.
pub(crate) fn bad_attempts(workspace: &Workspace) -> Vec<Problem> {
    let refused = match read_all(workspace) {
        Ok(files) => files.refused,
        Err(error) => vec![(format!("state/{BEGUN}"), error.to_string())],
    };
    let problem = |(path, reason): (String, String)| {
        Problem::error(
            display_path(&path),
            "bad-attempt",
            format!("this is not an attempt that was begun here, and is ignored: {reason}"),
            "delete the file; if git tracks it, run `git rm -r .ralph/state`",
        )
    };
    refused.into_iter().map(problem).collect()
}

fn read_all(workspace: &Workspace) -> Result<BegunFiles> {
    let mut files = BegunFiles::default();
    // If this user never locked anything, nothing was begun.
    let key = state_key(workspace)?;
    let (stems, n_files) = match stems(workspace) {
        // Another user's folder has nothing of this one.
        Err(error) if key.is_none() && is_denied(&error) => return Ok(files),
        found => found?,
    };
    let is_flood = n_files > MAX_BEGUN;
    if is_flood {
        let reason = format!("it has {n_files} files, and only the {MAX_BEGUN} newest are read");
        files.refused.push((format!("state/{BEGUN}"), reason));
    }
    for stem in stems {
        let path = format!("state/{BEGUN}/{stem}.json");
        let iteration = match workspace.store.read(&path) {
            Ok(file) => read_begun(&file.bytes, key).and_then(|iteration| checked(&path, iteration)),
            // It has been finished in the meantime.
            Err(Unreadable::Missing) => continue,
            Err(Unreadable::Io(_)) if is_of_other_user(workspace, &stem) => Err("another user began it".to_owned()),
            Err(unreadable @ Unreadable::Io(_)) => {
                return Err(unreadable.into_error(workspace.store.memory().join(path)));
            }
            Err(Unreadable::Link) => Err("it is a link".to_owned()),
            Err(Unreadable::NotAFile) => Err("it is not a regular file".to_owned()),
            Err(Unreadable::TooLarge { size }) => Err(format!("it has {size} bytes")),
        };
        match iteration {
            Ok(iteration) => files.iterations.push(iteration),
            // For this many files, one line is enough.
            Err(_) if is_flood => {}
            Err(reason) => files.refused.push((path, reason)),
        }
    }
    files.iterations.sort_by(|one, other| (&one.run_id, one.number).cmp(&(&other.run_id, other.number)));
    Ok(files)
}

fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

fn is_of_other_user(workspace: &Workspace, stem: &str) -> bool {
    let folder = workspace.store.folder(&format!("state/{BEGUN}"));
    folder.is_ok_and(|folder| folder.is_of_other_user(&format!("{stem}.json")))
}

/// Returns the stems of the files to read, at most [`MAX_BEGUN`], and how many files there are.
fn stems(workspace: &Workspace) -> Result<(Vec<String>, usize)> {
    let names = workspace.store.names(&format!("state/{BEGUN}"))?;
    // Leftovers of a crash have other names.
    let stem = |name: &OsString| {
        let stem = name.to_str()?.strip_suffix(".json")?;
        (!stem.starts_with('.')).then(|| stem.to_owned())
    };
    let mut stems: Vec<String> = names.iter().filter_map(stem).collect();
    let n_files = stems.len();
    if n_files > MAX_BEGUN {
        // The newest belong to this machine: files from a clone are older.
        let folder = workspace.store.folder(&format!("state/{BEGUN}")).ok();
        let stat = |stem: &String| folder.as_ref().and_then(|folder| folder.stat_of(&format!("{stem}.json")).ok());
        stems.sort_by_cached_key(|stem| Reverse(stat(stem).map(|stat| stat.mtime)));
        stems.truncate(MAX_BEGUN);
    }
    Ok((stems, n_files))
}

/// Creates the folder for git's working files. If no iteration is in progress, its content comes from elsewhere, or from a
/// killed process.
pub(crate) fn scratch(workspace: &Workspace) -> io::Result<PathBuf> {
    clear_unused_scratch(workspace);
    workspace.store.make_scratch()
}

/// Clears the folder for git's working files if neither an iteration in progress nor the note of a context could need it. A
/// leftover only takes space.
pub(super) fn clear_unused_scratch(workspace: &Workspace) {
    if begun(workspace).is_ok_and(|iterations| iterations.is_empty()) && !has_contexts(workspace) {
        // There may be nothing to clear.
        let _ = workspace.store.clear_scratch();
    }
}

/// Keeps an iteration in `state/` until it is finished, in a form that [`begun`] reads: the request may have texts of
/// any length and with any characters.
pub(crate) fn keep_begun(workspace: &Workspace, lock: &Lock, iteration: &OpenAttempt) -> Result<()> {
    let OpenAttempt { task, .. } = iteration;
    let some_line = |text: &Option<String>| text.as_deref().map(line);
    let ids = |ids: &[Id]| ids.iter().filter(|id| is_id(id)).take(MAX_IDS).cloned().collect();
    let kept = OpenAttempt {
        task: Task {
            title: line(&task.title),
            description: shorten(&for_terminal(&task.description.replace('\r', "")), MAX_DESCRIPTION),
            id: task.id.clone(),
            feature: some_line(&task.feature),
            section: some_line(&task.section),
            files: task.files.iter().take(MAX_FILES).map(|file| line(file)).collect(),
        },
        model: line(&iteration.model),
        rationale: line(&iteration.rationale),
        entries: ids(&iteration.entries),
        left_out: ids(&iteration.left_out),
        ..iteration.clone()
    };
    write(workspace, lock, &iteration.state_name(), kept)
}

/// Adds the process of its agent to the file of an iteration. Nothing is created below `.ralph/` and nothing is locked: the
/// agent is at work, and whoever removes a folder fails where a file appears in it meanwhile.
pub(super) fn add_agent(workspace: &Workspace, iteration: &OpenAttempt) -> io::Result<()> {
    let Some(key) = workspace.store.state_key()? else { return Ok(()) };
    let folder = workspace.store.folder(&format!("state/{BEGUN}"))?;
    folder.append_file(&iteration.state_file(), &sealed(&iteration.agent, &key)?)
}

/// Returns the content of the file of an iteration, with what [`add_agent`] added.
fn read_begun(bytes: &[u8], key: Option<SealKey>) -> std::result::Result<OpenAttempt, String> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    // Each part is a line, and one with its checksum.
    let mut parts = lines.chunks(2).map(<[&[u8]]>::concat);
    let mut iteration: OpenAttempt = content(&parts.next().unwrap_or_default(), key)?;
    for agent in parts.filter_map(|part| content(&part, key).ok()) {
        iteration.agent = agent;
    }
    Ok(iteration)
}

/// Removes the file of an iteration that is in the journal, or was given up.
pub(crate) fn close(workspace: &Workspace, lock: &Lock, iteration: &OpenAttempt) -> Result<()> {
    workspace.store.remove_state(lock, &iteration.state_name())?;
    clear_unused_scratch(workspace);
    Ok(())
}

/// Returns an iteration as [`keep_begun`] writes it, or the reason why it is invalid.
fn checked(path: &str, iteration: OpenAttempt) -> std::result::Result<OpenAttempt, String> {
    let OpenAttempt { task, .. } = &iteration;
    let some_line = |text: &Option<String>| text.as_deref().is_none_or(is_line);
    let are_ids = |ids: &[Id]| ids.len() <= MAX_IDS && ids.iter().all(is_id);
    let is_text = |text: &str| {
        text.chars().count() <= MAX_DESCRIPTION
            && !text.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\t'))
    };
    let rules = [
        ("`run_id` is not the name of a run", check_run_name(&iteration.run_id).is_ok()),
        ("`number` is not the number of an attempt", check_number(iteration.number).is_ok()),
        ("`task.id` is not the id of a task", check_name("task id", &task.own_id()).is_ok()),
        ("its name is not that of its run and number", iteration.state_path() == path),
        ("`task.title` is not a line of text", is_line(&task.title) && !task.title.trim().is_empty()),
        ("`task.description` is not a text", is_text(&task.description)),
        ("`task.feature` is not a line of text", some_line(&task.feature)),
        ("`task.section` is not a line of text", some_line(&task.section)),
        ("`task.files` are not paths", task.files.len() <= MAX_FILES && task.files.iter().all(|file| is_line(file))),
        ("`model` is not a line of text", is_line(&iteration.model)),
        ("`rationale` is not a line of text", is_line(&iteration.rationale)),
        ("`entries` are not ids", are_ids(&iteration.entries)),
        ("`left_out` are not ids", are_ids(&iteration.left_out)),
        ("`tree` is not the name of a git tree", iteration.tree.as_deref().is_none_or(is_tree)),
        ("`holder` is not a process", iteration.holder.as_ref().is_none_or(ProcessIdentity::is_possible)),
        ("`agent` is not a process", iteration.agent.as_ref().is_none_or(ProcessIdentity::is_possible)),
    ];
    match rules.into_iter().find(|(_, holds)| !holds) {
        Some((reason, _)) => Err(reason.to_owned()),
        None => Ok(iteration),
    }
}

fn is_line(text: &str) -> bool {
    text.chars().count() <= MAX_LINE && !text.chars().any(char::is_control)
}

fn is_id(id: &Id) -> bool {
    Id::parse(id.as_str()).as_ref() == Some(id) && is_line(id.as_str())
}
