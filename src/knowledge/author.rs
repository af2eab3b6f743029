//! What an author may do to whose text: this is the only place that decides. An agent changes, moves, removes and takes back
//! what agents wrote, and of a person's text it can only suggest what holds now.

use std::path::Path;

use crate::entry::written::archived_by;
use crate::entry::{Author, Head, Id, Kind};
use crate::error::{Error, Result};
use crate::store::LoggedOperation;
use crate::text::printed_command;

/// Returns whether the author may change an entry, or move or remove it.
pub(crate) fn may_change(author: &Author, head: &Head) -> bool {
    author.is_person() || head.kind != Kind::Knowledge || !head.source.is_person()
}

/// Refuses what the author may not do to an entry; `act` is a verb.
pub(crate) fn permit(author: &Author, act: &str, (id, head): (&Id, &Head)) -> Result<()> {
    if may_change(author, head) {
        return Ok(());
    }
    let suggest = printed_command("ralph-memory add TITLE --supersedes ID", &[("ID", id.as_str())]);
    let suggest = format!("suggest what holds now with {suggest}");
    Err(left_to_people(author, &format!("a person wrote `{id}`"), act, &suggest))
}

/// Refuses to bring back, or to forget, what a person archived, as its file says.
pub(crate) fn permit_archived(author: &Author, act: &str, id: &Id, file: &[u8]) -> Result<()> {
    if author.is_person() || !archived_by(file).is_some_and(|(by, _)| by.is_person()) {
        return Ok(());
    }
    Err(left_to_people(author, &format!("a person archived `{id}`"), act, "go on without it"))
}

/// Refuses to remove an entry for good, which may be the only one to say what a person wrote: it had another text, or a person
/// archived it.
pub(crate) fn permit_removal(author: &Author, (id, head): (&Id, &Head), file: &[u8]) -> Result<()> {
    permit(author, "remove", (id, head))?;
    permit_archived(author, "remove", id, file)?;
    if author.is_person() || head.fingerprints.len() < 2 {
        return Ok(());
    }
    Err(left_to_people(author, &format!("`{id}` had another text"), "remove", "archive it"))
}

/// Refuses to take back what a person did, or what a person's `later` operation built on.
pub(super) fn permit_undo<'a>(
    author: &Author,
    operation: &LoggedOperation,
    later: impl Iterator<Item = &'a LoggedOperation>,
) -> Result<()> {
    let files = |operation: &'a LoggedOperation| operation.changes().flat_map(|(change, _)| change.files());
    let is_touched =
        |path: &str| operation.changes().any(|(change, _)| change.files().iter().any(|file| file.0 == path));
    let mut later = later.filter(|later| later.head.author.is_person());
    let by = if operation.head.author.is_person() {
        Some(operation.head.number)
    } else {
        later.find(|later| files(later).any(|(path, ..)| is_touched(path))).map(|later| later.head.number)
    };
    match by.filter(|_| !author.is_person()) {
        Some(number) => {
            let what = format!("operation {number} is a person's");
            Err(left_to_people(author, &what, "undo", "change the entry to what it should say"))
        }
        None => Ok(()),
    }
}

/// Refuses to clear the log, which has the texts that people replaced.
pub(super) fn permit_clear(author: &Author) -> Result<()> {
    let what = "the log has what people wrote";
    if author.is_person() { Ok(()) } else { Err(left_to_people(author, what, "clear", "leave it")) }
}

/// Refuses to record a saved attempt that states what a person or a verification said.
pub(crate) fn permit_kept(author: &Author, path: &Path) -> Result<()> {
    let what = format!("`{}` states the result of a verification or what a person said", path.display());
    if author.is_person() { Ok(()) } else { Err(left_to_people(author, &what, "record", "leave the file where it is")) }
}

fn left_to_people(author: &Author, what: &str, act: &str, instead: &str) -> Error {
    let client = String::from(author.clone());
    Error::unusable(
        format!("{what}, and a coding agent ({client}) may not {act} that"),
        format!("{instead}; or tell the person, who does it in a terminal of their own"),
    )
}
