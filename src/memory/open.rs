//! The iterations that are begun and not finished, one file each in `state/`.
//!
//! Only this program writes there, and nothing there belongs into version control. But a repository, an archive or a copy
//! may come with such files. So each ends with a sum whose key is of this machine and folder (see
//! [`Store::state_key`](crate::store::Store::state_key)): a file without it is reported and left out, whatever git says of
//! it. What a file says is data like an entry all the same, and checked field by field.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Memory;
use super::runs::Iteration;
use crate::context::Task;
use crate::entry::Id;
use crate::entry::path::display_path;
use crate::error::{Error, Problem, Result, Severity};
use crate::git::WorkTree;
use crate::journal::{BEGUN, check_name, check_number, check_run_name};
use crate::store::{Lock, Unreadable};
use crate::text::{for_terminal, shorten};

/// The file of what the newest run was started with, below `state/`.
const OPTIONS: &str = "run.json";
/// The longest text of a line that is kept, in characters.
const MAX_LINE: usize = 2_000;
/// The longest description of a task that is kept, in characters.
const MAX_DESCRIPTION: usize = 20_000;
/// How many paths of a task are kept.
const MAX_FILES: usize = 100;
/// How many entries an iteration names at most, shown or left out.
const MAX_IDS: usize = 1_000;
/// How many files are read: more than a machine works on at a time, and than crashes leave.
const MAX_OPEN: usize = 1_000;
/// The length of the last line of a file, with the line end before it, in bytes.
const SUM: usize = 18;

/// What lies among the iterations.
#[derive(Debug, Default)]
struct Found {
    /// By run and number.
    open: Vec<Iteration>,
    /// What is no iteration: paths relative to `.ralph/`, and why.
    refused: Vec<(String, String)>,
}

impl Memory {
    /// Returns the iterations that are begun and not finished, by run and number. Files that cannot be read, or that
    /// were not written here, are left out; [`Memory::check`] names them.
    pub fn open_iterations(&self) -> Vec<Iteration> {
        self.begun().unwrap_or_default()
    }

    /// Does the same, and fails where the file system does not let one be read: it is not taken for
    /// finished, nor its number for free.
    pub(super) fn begun(&self) -> Result<Vec<Iteration>> {
        Ok(self.look_at_open()?.open)
    }

    /// Returns what is wrong with the files of iterations.
    pub(super) fn bad_iterations(&self) -> Vec<Problem> {
        let refused = match self.look_at_open() {
            Ok(found) => found.refused,
            Err(error) => vec![(format!("state/{BEGUN}"), error.to_string())],
        };
        let problem = |(path, reason): (String, String)| Problem {
            path: display_path(&path),
            line: None,
            column: None,
            severity: Severity::Error,
            code: "bad-iteration".to_owned(),
            message: format!("this is not an iteration that was begun here, and is ignored: {reason}").into(),
            hint: "delete the file; if git tracks it, run `git rm -r .ralph/state`".into(),
        };
        refused.into_iter().map(problem).collect()
    }

    fn look_at_open(&self) -> Result<Found> {
        let mut found = Found::default();
        // Where nothing was locked yet, nothing was begun.
        let key = self.state_key()?;
        let names = self.store.names(&format!("state/{BEGUN}"))?;
        // What a crash left has another name.
        let stem = |name: &OsString| {
            let stem = name.to_str()?.strip_suffix(".json")?;
            (!stem.starts_with('.')).then(|| stem.to_owned())
        };
        let mut stems: Vec<String> = names.iter().filter_map(stem).collect();
        let is_flood = stems.len() > MAX_OPEN;
        if is_flood {
            // The newest are those of this machine: whatever a clone brings was there before.
            let folder = self.store.folder(&format!("state/{BEGUN}")).ok();
            let stat = |stem: &String| folder.as_ref().and_then(|folder| folder.stat_of(&format!("{stem}.json")).ok());
            stems.sort_by_cached_key(|stem| Reverse(stat(stem).map(|stat| stat.mtime)));
            let reason = format!("it holds {} files, and only the {MAX_OPEN} newest are looked at", stems.len());
            found.refused.push((format!("state/{BEGUN}"), reason));
            stems.truncate(MAX_OPEN);
        }
        for stem in stems {
            let path = format!("state/{BEGUN}/{stem}.json");
            let read = match self.store.read(&path) {
                Ok(file) => unsealed(&file.bytes, key).and_then(|bytes| read(&path, bytes)),
                // It was finished meanwhile.
                Err(Unreadable::Missing) => continue,
                Err(unreadable @ Unreadable::Io(_)) => {
                    return Err(unreadable.into_error(self.store.memory().join(path)));
                }
                Err(Unreadable::Link) => Err("it is a link".to_owned()),
                Err(Unreadable::NotAFile) => Err("it is not a regular file".to_owned()),
                Err(Unreadable::TooLarge { size }) => Err(format!("it has {size} bytes")),
            };
            match read {
                Ok(iteration) => found.open.push(iteration),
                // Of so many, one line says enough.
                Err(_) if is_flood => {}
                Err(reason) => found.refused.push((path, reason)),
            }
        }
        found.open.sort_by(|one, other| (&one.run_id, one.number).cmp(&(&other.run_id, other.number)));
        Ok(found)
    }

    /// Makes the folder in which git works. What lies there is of use to iterations that are begun; where there is none,
    /// it is not of this machine, or of a process that was killed.
    pub(super) fn scratch(&self) -> std::io::Result<PathBuf> {
        if self.begun().is_ok_and(|open| open.is_empty()) {
            // There may be nothing to clear.
            let _ = self.store.clear_scratch();
        }
        self.store.make_scratch()
    }

    /// Keeps an iteration in `state/` until it is finished, in a form that [`Memory::begun`] takes: texts of any
    /// length and with any characters may have been asked for.
    pub(super) fn keep_open(&self, lock: &Lock, iteration: &Iteration) -> Result<()> {
        let Iteration { task, .. } = iteration;
        let some_line = |text: &Option<String>| text.as_deref().map(line);
        let ids = |ids: &[Id]| ids.iter().filter(|id| is_id(id)).take(MAX_IDS).cloned().collect();
        let kept = Iteration {
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
            context: String::new(),
            problems: Vec::new(),
            ..iteration.clone()
        };
        let text = serde_json::to_vec_pretty(&kept)
            .map_err(|error| Error::Invalid { what: "iteration".to_owned(), reason: error.to_string() })?;
        self.write_sealed(lock, &iteration.state_name(), text)
    }

    fn write_sealed(&self, lock: &Lock, name: &str, mut text: Vec<u8>) -> Result<()> {
        let missing = || self.no_key(std::io::ErrorKind::NotFound.into());
        // There is one: the lock is held.
        let key = self.state_key()?.ok_or_else(missing)?;
        let sum = sum(&text, key);
        text.extend(sum.bytes());
        self.store.write_state(lock, name, &text)
    }

    /// Keeps what a run was started with, for a caller that goes on with it: any text. It takes the place of what was
    /// kept of another run.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] and [`Error::Io`].
    pub fn keep_options(&self, options: &str) -> Result<()> {
        self.write_sealed(&self.lock_within_git()?, OPTIONS, options.as_bytes().to_owned())
    }

    /// Returns what [`Memory::keep_options`] kept on this machine, in this folder. It may name commands, so nothing is
    /// believed that was written elsewhere, or that git tracks.
    pub fn kept_options(&self) -> Option<String> {
        let path = format!("state/{OPTIONS}");
        let is_tracked = |tree: WorkTree| tree.tracked(&[&path]).map_or(true, |tracked| !tracked.is_empty());
        if self.work_tree().is_some_and(is_tracked) {
            return None;
        }
        let file = self.store.read(&path).ok()?;
        let bytes = unsealed(&file.bytes, self.state_key().ok()?).ok()?;
        String::from_utf8(bytes.to_owned()).ok()
    }

    fn state_key(&self) -> Result<Option<u64>> {
        self.store.state_key().map_err(|source| self.no_key(source))
    }

    fn no_key(&self, source: std::io::Error) -> Error {
        Error::Io { action: "look at", path: self.store.state().join("lock"), source }
    }

    /// Forgets an iteration that is in the journal now.
    pub(super) fn close(&self, lock: &Lock, iteration: &Iteration) -> Result<()> {
        self.store.remove_state(lock, &iteration.state_name())?;
        if self.begun().is_ok_and(|open| open.is_empty()) {
            // The trees of iterations begun are of no use to anybody else. What stays costs room alone.
            let _ = self.store.clear_scratch();
        }
        Ok(())
    }
}

/// Returns the last line of a file with these bytes before it.
fn sum(bytes: &[u8], key: u64) -> String {
    format!("\n{:016x}\n", xxh3_64_with_seed(bytes, key))
}

/// Returns what a file says without its last line, if that shows that it was written here.
fn unsealed(bytes: &[u8], key: Option<u64>) -> std::result::Result<&[u8], String> {
    let text = bytes.len().checked_sub(SUM).map(|length| &bytes[..length]);
    let text = text.filter(|text| key.is_some_and(|key| bytes.ends_with(sum(text, key).as_bytes())));
    text.ok_or_else(|| "it was not written on this machine, in this folder".to_owned())
}

/// Returns whether a text can be the name of a git tree: nothing that git could take for an option or a revision.
pub(super) fn is_tree(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads an iteration as [`Memory::keep_open`] writes it, or says what is wrong with it.
fn read(path: &str, bytes: &[u8]) -> std::result::Result<Iteration, String> {
    // Without what stands there: it may be anything, and long.
    let iteration: Iteration = serde_json::from_slice(bytes)
        .map_err(|error| format!("line {}, column {} is not what this program writes", error.line(), error.column()))?;
    let Iteration { task, .. } = &iteration;
    let some_line = |text: &Option<String>| text.as_deref().is_none_or(is_line);
    let are_ids = |ids: &[Id]| ids.len() <= MAX_IDS && ids.iter().all(is_id);
    let is_text = |text: &str| {
        text.chars().count() <= MAX_DESCRIPTION
            && !text.chars().any(|character| character.is_control() && !matches!(character, '\n' | '\t'))
    };
    let rules = [
        ("`run_id` is not the name of a run", check_run_name(&iteration.run_id).is_ok()),
        ("`number` is not the number of an iteration", check_number(iteration.number).is_ok()),
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
        ("`holder` is not a process", iteration.holder.as_ref().is_none_or(super::Holder::is_possible)),
        ("`agent` is not a process", iteration.agent.as_ref().is_none_or(super::Holder::is_possible)),
    ];
    match rules.into_iter().find(|(_, holds)| !holds) {
        Some((reason, _)) => Err(reason.to_owned()),
        None => Ok(iteration),
    }
}

/// Returns a text as one line without control characters, of at most [`MAX_LINE`] characters.
fn line(text: &str) -> String {
    shorten(&for_terminal(&text.replace(['\n', '\r', '\t'], " ")), MAX_LINE)
}

fn is_line(text: &str) -> bool {
    text.chars().count() <= MAX_LINE && !text.chars().any(char::is_control)
}

/// Returns whether an id is one that a file of this name could have.
fn is_id(id: &Id) -> bool {
    Id::parse(id.as_str()).as_ref() == Some(id) && is_line(id.as_str())
}
