//! The files as they will be: read once, and edited in memory until all clients are planned.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use super::client::SetupClient;
use super::hook_line::OwnCommand;
use super::insertion::{Insertion, insert, line_end};
use super::json;
use super::locate::ClientPlace;
use super::recognised::Recognition;
use super::record::{FileRecord, SetupRecord, fingerprint};
use super::seal::is_of_setup;
use super::table::Content;
use super::want::{Mark, Presence, Want};
use super::{block, toml_config, yaml};
use crate::store::{Folder, Unreadable};

/// The largest file that is edited, in bytes.
const MAX_BYTES: usize = 4 * 1024 * 1024;
pub(super) const BOM: &str = "\u{feff}";
/// They distinguish a file that set-up has written from another one of the same name.
const OWN_MARKS: [&str; 2] = ["ralph-memory setup writes this file", "\"name\": \"ralph-memory\""];

/// A file that is being planned.
#[derive(Debug, Clone)]
pub(super) struct DraftFile {
    /// Its path as it is shown.
    pub(super) shown: PathBuf,
    /// What it contains now.
    pub(super) original: Option<String>,
    /// What it will contain.
    pub(super) current: Option<String>,
    pub(super) clients: BTreeSet<SetupClient>,
    /// What the file lacks, in words.
    pub(super) lacks: Vec<String>,
    /// Programs that entries of set-up's run.
    pub(super) programs: BTreeSet<String>,
    /// Whether it has its old bytes back, so that whatever is in it is somebody's own.
    pub(super) is_restored: bool,
}

/// All files that are being planned, and the record as it will be.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) files: BTreeMap<ClientPlace, DraftFile>,
    pub(super) record: SetupRecord,
    /// The record as it is.
    pub(super) known: SetupRecord,
}

/// Set-up's part of a file.
#[derive(Debug, Clone)]
pub(super) struct ClientPart<'a> {
    pub(super) location: &'a ClientPlace,
    /// The file's path as it is shown.
    pub(super) shown: PathBuf,
    pub(super) client: SetupClient,
    pub(super) content: &'a Content,
}

/// What came of removing set-up's part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    Done,
    /// A person has edited a file of set-up's, which is left.
    Edited,
}

impl Draft {
    /// Reads a file, unless it is here already.
    ///
    /// # Errors
    ///
    /// Why it cannot be used.
    pub(super) fn file(&mut self, location: &ClientPlace, shown: PathBuf) -> Result<&mut DraftFile, String> {
        if !self.files.contains_key(location) {
            let original = read(location)?;
            let current = original.clone();
            let (clients, lacks, programs) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
            self.files.insert(
                location.clone(),
                DraftFile { shown, original, current, clients, lacks, programs, is_restored: false },
            );
        }
        self.files.get_mut(location).ok_or_else(|| "it was not read".to_owned())
    }

    /// Adds what a file lacks. Returns whether a person has edited a file of set-up's, which is left.
    ///
    /// # Errors
    ///
    /// Why it cannot be added.
    pub(super) fn add(&mut self, part: ClientPart<'_>) -> Result<Removal, String> {
        let ClientPart { location, shown, client, content } = part;
        let recorded = self.record.of(location).cloned();
        let file = self.file(location, shown)?;
        let is_as_left = file.is_as_recorded(recorded.as_ref());
        file.clients.insert(client);
        let mut whole = None;
        let made = match content {
            Content::Json { comments, wants } => file.add_json(*comments, wants)?,
            Content::Toml { program } => file.add_server(program, toml_config::presence, toml_config::insertion)?,
            Content::Yaml { program } => file.add_server(program, yaml::presence, yaml::insertion)?,
            Content::Block => {
                let (made, updated) = file.add_block()?;
                whole = updated;
                made
            }
            Content::Owned(text) | Content::Script(text) => match file.add_owned(text, is_as_left)? {
                Some(made) => {
                    // One that is there already, and is current, is not set-up's to record.
                    whole = (file.original.is_some() && !made.is_empty()).then(|| made.clone());
                    made
                }
                None => return Ok(Removal::Edited),
            },
        };
        if file.original.is_some() && file.current != file.original {
            check_writable(location)?;
        }
        let (is_new, is_changed) = (file.original.is_none(), whole.is_some() || !made.is_empty());
        let after = fingerprint(file.current.as_deref().unwrap_or_default());
        let mut record = match recorded {
            Some(recorded) => recorded,
            None if is_changed => FileRecord {
                root: location.root.clone(),
                path: location.path.clone(),
                clients: BTreeSet::new(),
                created: is_new,
                insertions: Vec::new(),
                after: String::new(),
            },
            None => return Ok(Removal::Done),
        };
        if is_changed {
            match whole {
                Some(insertions) if is_as_left && !insertions.is_empty() => record.insertions = insertions,
                Some(_) if is_as_left => update_recorded_block(&mut record.insertions),
                // What was there before it was replaced is not known.
                Some(_) => record.insertions = Vec::new(),
                None if is_as_left => record.insertions.extend(made),
                None => {
                    record.created |= is_new;
                    record.insertions = made;
                }
            }
            record.after = after;
        }
        record.clients.insert(client.as_str().to_owned());
        self.record.put(record);
        Ok(Removal::Done)
    }
}

impl DraftFile {
    /// Returns whether the file is as set-up has left it, or is being changed by this plan.
    pub(super) fn is_as_recorded(&self, recorded: Option<&FileRecord>) -> bool {
        let now = self.current.as_deref().map(fingerprint);
        recorded.is_some_and(|record| now.as_ref() == Some(&record.after))
    }

    /// Makes insertions into the text behind a byte order mark.
    fn make(&mut self, insertions: Vec<Insertion>) -> Vec<Insertion> {
        let text = self.current.take().unwrap_or_default();
        let skipped = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let made: Vec<Insertion> =
            insertions.into_iter().map(|one| Insertion { at: one.at + skipped, ..one }).collect();
        self.current = Some(insert(&text, &made));
        made
    }

    fn text(&self) -> &str {
        let text = self.current.as_deref().unwrap_or_default();
        text.strip_prefix(BOM).unwrap_or(text)
    }

    fn add_json(&mut self, comments: bool, wants: &[Want]) -> Result<Vec<Insertion>, String> {
        let mut made = Vec::new();
        for want in wants {
            match json::presence(self.text(), comments, want)? {
                Presence::Present(program) => self.programs.extend(program),
                Presence::Taken => return Err(taken(&want.path)),
                Presence::Missing => {
                    let insertions = json::insertions(self.text(), comments, want)?;
                    made.extend(self.make(insertions));
                    self.lacks.extend(described(want));
                    if json::presence(self.text(), comments, want)? == Presence::Missing {
                        return Err("its form does not take another entry".to_owned());
                    }
                }
            }
        }
        Ok(made)
    }

    fn add_server(
        &mut self,
        program: &OwnCommand,
        presence: impl Fn(&str, &OwnCommand, Recognition) -> Result<Presence, String>,
        insertion: impl Fn(&str, &OwnCommand) -> Result<Insertion, String>,
    ) -> Result<Vec<Insertion>, String> {
        match presence(self.text(), program, Recognition::Runs)? {
            Presence::Present(program) => self.programs.extend(program),
            Presence::Taken => return Err(taken(&[])),
            Presence::Missing => {
                let insertion = insertion(self.text(), program)?;
                self.lacks.push("the server".to_owned());
                return Ok(self.make(vec![insertion]));
            }
        }
        Ok(Vec::new())
    }

    /// Adds the block or updates it; returns the insertions, and all of them if an older one was replaced.
    fn add_block(&mut self) -> Result<(Vec<Insertion>, Option<Vec<Insertion>>), String> {
        match block::block_state(self.text())? {
            block::BlockState::Current => Ok((Vec::new(), None)),
            block::BlockState::Missing => {
                self.lacks.push("the instructions".to_owned());
                let insertion = block::insertion(self.text());
                Ok((self.make(vec![insertion]), None))
            }
            block::BlockState::Outdated(range) => {
                self.lacks.push("the current instructions".to_owned());
                let whole = self.current.clone().unwrap_or_default();
                let mark = &whole[..whole.len() - self.text().len()];
                let updated = format!("{mark}{}", block::updated(self.text(), range));
                self.current = Some(updated);
                // The empty line before it and the block are taken out by their markers.
                Ok((Vec::new(), Some(Vec::new())))
            }
        }
    }

    /// Writes all of a file; `None` if a person has edited it.
    fn add_owned(&mut self, text: &str, is_as_left: bool) -> Result<Option<Vec<Insertion>>, String> {
        match self.current.as_deref() {
            // Git may have changed the line ends of a clone.
            Some(there) if there.replace("\r\n", "\n") == text => return Ok(Some(Vec::new())),
            None => {}
            Some(there) if is_as_left || is_of_setup(there, text) => {}
            Some(there) if is_own_file(there) => return Ok(None),
            Some(_) => return Err("there is another file of this name".to_owned()),
        }
        self.lacks.push(if self.current.is_some() { "the current version" } else { "the file" }.to_owned());
        let text = text.replace('\n', line_end(self.current.as_deref().unwrap_or_default()));
        self.current = Some(text.clone());
        Ok(Some(vec![Insertion::new(0, text)]))
    }
}

/// Updates the block in the insertion that has it.
fn update_recorded_block(insertions: &mut [Insertion]) {
    for insertion in insertions {
        if let Ok(block::BlockState::Outdated(range)) = block::block_state(&insertion.text) {
            insertion.text = block::updated(&insertion.text, range);
        }
    }
}

pub(super) fn is_own_file(text: &str) -> bool {
    OWN_MARKS.iter().any(|mark| text.contains(mark))
}

fn taken(path: &[&str]) -> String {
    let key = path.iter().chain(&["ralph-memory"]).copied().collect::<Vec<_>>().join(".");
    format!("`{key}` is there already, and is not what set-up writes")
}

/// Describes what a file lacks.
fn described(want: &Want) -> Option<String> {
    match want.mark {
        Mark::Server => Some("the server".to_owned()),
        Mark::Hook(event) => Some(format!("the hook `{}`", event.as_str())),
        Mark::Text => Some("the permission".to_owned()),
        Mark::Any => None,
    }
}

fn read(location: &ClientPlace) -> Result<Option<String>, String> {
    let folder = match Folder::open(&location.root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        folder => folder.map_err(|error| error.to_string())?,
    };
    match folder.read(&location.path, MAX_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned()),
        Err(Unreadable::Missing) => Ok(None),
        Err(Unreadable::Link) => Err("a part of its path is a link".to_owned()),
        Err(Unreadable::NotAFile) => Err("it is not a regular file".to_owned()),
        Err(Unreadable::TooLarge { size }) => Err(format!("it has {size} bytes; the limit is {MAX_BYTES}")),
        Err(Unreadable::Io(error)) => Err(error.to_string()),
    }
}

pub(super) fn check_writable(location: &ClientPlace) -> Result<(), String> {
    let protection = Folder::open(&location.root).and_then(|folder| folder.protection(&location.path));
    match protection {
        Ok(Some(reason)) => Err(reason.to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(()),
    }
}
