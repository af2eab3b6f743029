//! Lists a folder: entry files, subfolders, and problems.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;

use xxhash_rust::xxh3::xxh3_64;
use zerocopy::IntoBytes as _;

use super::Area;
use super::table::{AGAIN, Code, FolderRow, NotAnEntry, Row, fingerprint, is_racy};
use crate::entry::path::{COPIES, is_copy, without_extension};
use crate::error::Problem;
use crate::store::{FileKind, FileStat, Folder, Store};
use crate::system::posix::io::Errno;

/// How deep folders may be nested below the area's first ones.
const MAX_DEPTH: usize = 32;

/// The state of a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seen {
    Stat(FileStat),
    Gone,
    Refused,
}

impl Seen {
    /// Returns what the answer to the question for a file's stat says.
    pub(super) fn of(stat: io::Result<FileStat>) -> Seen {
        match stat {
            Ok(stat) => Seen::Stat(stat),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::Gone,
            Err(_) => Seen::Refused,
        }
    }

    /// Returns whether the file is as its row says.
    pub(super) fn is_known(self, row: &Row) -> bool {
        matches!(self, Seen::Stat(stat) if row.stat == fingerprint(&stat)) && !row.has(AGAIN)
    }
}

/// The content of a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The table's data about the folder, except its path and first row.
    pub(super) row: FolderRow,
    /// The files that have an entry's name, by name.
    pub(super) files: Vec<(String, Seen)>,
    /// The subfolders, by name.
    pub(super) folders: Vec<String>,
    /// What is not an entry, and a problem.
    pub(super) not_entries: Vec<NotAnEntry>,
}

/// Returns the paths at which something else is instead of the area's folders. A missing folder is not a problem.
pub(super) fn root_problems(store: &Store, area: Area) -> Vec<Problem> {
    let mut problems = Vec::new();
    for root in area.roots() {
        if store.folder(root).is_ok() {
            continue;
        }
        let mut above = String::new();
        for part in root.split('/') {
            let stat = store.folder(&above).and_then(|folder| folder.stat_of(part));
            above = if above.is_empty() { part.to_owned() } else { format!("{above}/{part}") };
            let code = match stat {
                Ok(stat) if stat.kind == FileKind::Folder => continue,
                Ok(stat) if stat.kind == FileKind::Link => Code::Link,
                Ok(_) => Code::NotAFolder,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(_) => Code::Unreadable,
            };
            problems.push(code.problem(&above));
            break;
        }
    }
    problems
}

/// An open folder. Its stamp was taken before it is listed, so that a name which appears meanwhile shows as a difference the
/// next time.
pub(super) struct OpenFolder {
    pub(super) folder: Folder,
    pub(super) stamp: u64,
    is_racy: bool,
    /// The folders of this work tree whose files come before copies of the same name.
    own: Vec<Folder>,
}

impl OpenFolder {
    /// Opens the folder at `path`.
    pub(super) fn open(store: &Store, path: &str, start: i64) -> io::Result<OpenFolder> {
        let folder = store.folder(path)?;
        let stat = folder.stat()?;
        let mut opened =
            OpenFolder { stamp: fingerprint(&stat), is_racy: is_racy(&stat, start), folder, own: Vec::new() };
        if is_copy(path) {
            let live = path.strip_prefix("archive/").unwrap_or(path).replacen(COPIES, "journal", 1);
            let mut stamps = vec![opened.stamp];
            for own in [format!("archive/{live}"), live] {
                let found = store.folder(&own).and_then(|folder| Ok((folder.stat()?, folder))).ok();
                stamps.push(found.as_ref().map_or(0, |(stat, _)| fingerprint(stat)));
                opened.is_racy |= found.as_ref().is_some_and(|(stat, _)| is_racy(stat, start));
                opened.own.extend(found.map(|(_, folder)| folder));
            }
            opened.stamp = xxh3_64(stamps.as_bytes());
        }
        Ok(opened)
    }
}

/// Opens and lists a folder; `None` when there is no folder at `path`.
pub(super) fn open_and_list(store: &Store, path: &str, area: Area, start: i64) -> Option<Listing> {
    match OpenFolder::open(store, path, start) {
        Ok(folder) => Some(list(&folder, path, area)),
        Err(error) if is_no_folder(&error) => None,
        Err(error) => Some(Listing {
            row: FolderRow { again: 1, unreadable: os_number(&error), ..FolderRow::default() },
            ..Listing::default()
        }),
    }
}

/// The number of an I/O error, the same on every Unix.
const EIO: u8 = 5;

/// Returns the number of an error of the system; that of an I/O error where it has none.
pub(super) fn os_number(error: &io::Error) -> u8 {
    let number = error.raw_os_error().and_then(|number| u8::try_from(number).ok()).filter(|number| *number > 0);
    number.unwrap_or(EIO)
}

/// Returns whether this is the number of an error that has nothing to do with the file at which it occurred.
pub(super) fn is_shortage(number: u8) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM].iter().any(|errno| errno.raw_os_error() == i32::from(number))
}

pub(super) fn is_no_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Lists a folder.
pub(super) fn list(opened: &OpenFolder, path: &str, area: Area) -> Listing {
    let row = FolderRow { stat: opened.stamp, again: opened.is_racy.into(), ..FolderRow::default() };
    let mut listing = Listing { row, ..Listing::default() };
    let is_deepest = path.matches('/').count() - area.depth() >= MAX_DEPTH;
    // In the open folder: by now another one may be at its path.
    let folder = &opened.folder;
    let own: io::Result<Vec<_>> = opened.own.iter().map(Folder::names).collect();
    let found = own.and_then(|own| {
        let own: HashSet<OsString> = own.into_iter().flatten().collect();
        let is_left = |(name, kind): &(OsString, FileKind)| *kind == FileKind::Folder || !own.contains(name);
        Ok(folder.listing()?.into_iter().filter(is_left).collect::<Vec<_>>())
    });
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            (listing.row.again, listing.row.unreadable) = (1, os_number(&error));
            return listing;
        }
    };
    let mut refuse = |name: &str, code: Code| {
        listing.not_entries.push(NotAnEntry { path: format!("{path}/{name}"), code });
    };
    for (name, kind) in found {
        let (is_folder, is_link) = (kind == FileKind::Folder, kind == FileKind::Link);
        let is_entry = is_entry_name(&name);
        if is_hidden(&name) || !is_entry && !is_folder && !is_link {
            continue;
        }
        let Some(name) = name.to_str() else {
            if is_entry || is_folder {
                refuse(&name.to_string_lossy(), Code::NameNotUtf8);
            }
            continue;
        };
        if !is_entry && is_link {
            // Links are never followed. One whose name could be a folder's is reported, since a folder full of entries
            // may be missing; other files are not reported.
            if !name.contains(['.', '#', '~']) {
                refuse(name, Code::Link);
            }
            continue;
        }
        let seen = if is_entry { folder.stat_of(name).map(Some) } else { Ok(None) };
        match seen {
            Ok(Some(stat)) if stat.kind != FileKind::Folder => listing.files.push((name.to_owned(), Seen::Stat(stat))),
            Ok(_) if is_deepest => refuse(name, Code::TooDeep),
            Ok(_) => listing.folders.push(name.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => listing.row.again = 1,
            Err(_) => listing.files.push((name.to_owned(), Seen::Refused)),
        }
    }
    listing.files.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    listing.folders.sort_unstable();
    listing
}

/// Returns whether a file of this name is an entry: copies and locks of editors are not.
fn is_entry_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    without_extension(&name).is_some() && !name.starts_with(['.', '#'])
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}
