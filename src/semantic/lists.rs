//! Two lists in the cache: the files that a model refused, and the entries that a Qdrant server has.
//!
//! Both only save requests. An unreadable list counts as empty, and a list that cannot be written is computed again.
//! Each line has the seal of the cache's anchor: lines that came with a repository have no effect.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read as _, Write as _};

use chrono::{DateTime, TimeDelta};

use crate::entry::Id;
use crate::workspace::Workspace;

/// The longest list of refused files that is read, in bytes: about 37,000 files.
const MAX_REFUSED: u64 = 1024 * 1024;
/// How long searches do not send a refused text again. `index` sends it at any time: the cause may have been the state
/// of the server and not the text.
const REFUSED_FOR: TimeDelta = TimeDelta::hours(1);
/// The longest manifest that is read, in bytes: about a million entries.
const MAX_MANIFEST: u64 = 64 * 1024 * 1024;

/// The fingerprints of the files that a model refused, each with the second in which it did.
#[derive(Debug, Clone)]
pub(super) struct RefusedFiles {
    name: String,
}

impl RefusedFiles {
    /// Returns the list in a file of the cache.
    pub(super) fn new(name: String) -> RefusedFiles {
        RefusedFiles { name }
    }

    /// Returns the files that were refused within the last hour.
    pub(super) fn read(&self, workspace: &Workspace) -> HashSet<u64> {
        let now = workspace.now();
        let parse = |line: &str| {
            let (file, at) = line.split_once('\t')?;
            let age = now - DateTime::from_timestamp(at.parse().ok()?, 0)?;
            // A clock that was set back would prolong it.
            let counts = (TimeDelta::zero()..REFUSED_FOR).contains(&age);
            u64::from_str_radix(file, 16).ok().filter(|_| counts)
        };
        read(workspace, &self.name, MAX_REFUSED, parse)
    }

    /// Adds files.
    pub(super) fn append(&self, workspace: &Workspace, files: &[u64]) {
        let _ = append(workspace, &self.name, lines(workspace, files));
    }

    /// Makes these files the whole list.
    pub(super) fn replace(&self, workspace: &Workspace, files: &[u64]) {
        let _ = replace(workspace, &self.name, lines(workspace, files));
    }
}

fn lines(workspace: &Workspace, files: &[u64]) -> Vec<String> {
    let now = workspace.now().timestamp();
    files.iter().map(|file| format!("{file:016x}\t{now}")).collect()
}

/// The entries that a Qdrant server had when this project last stored there, with the fingerprints of their files. Of
/// two lines of an entry the last counts.
#[derive(Debug, Clone)]
pub(super) struct RemoteManifest {
    name: String,
}

impl RemoteManifest {
    /// Returns the manifest in a file of the cache.
    pub(super) fn new(name: String) -> RemoteManifest {
        RemoteManifest { name }
    }

    /// Returns the fingerprints by the entries' ids.
    ///
    /// Points of entries in it are removed from the server when no file has them any more, so only lines that were
    /// written here count.
    pub(super) fn read(&self, workspace: &Workspace) -> HashMap<String, u64> {
        read(workspace, &self.name, MAX_MANIFEST, |line| {
            let (id, file) = line.split_once('\t')?;
            Some((id.to_owned(), u64::from_str_radix(file, 16).ok()?))
        })
    }

    /// Adds entries.
    pub(super) fn append(&self, workspace: &Workspace, entries: &[(Id, u64)]) {
        let _ = append(workspace, &self.name, manifest_lines(entries));
    }

    /// Makes these entries the whole manifest.
    pub(super) fn replace(&self, workspace: &Workspace, entries: &[(Id, u64)]) {
        let _ = replace(workspace, &self.name, manifest_lines(entries));
    }
}

fn manifest_lines(entries: &[(Id, u64)]) -> Vec<String> {
    entries.iter().map(|(id, file)| format!("{id}\t{file:016x}")).collect()
}

/// Reads the lines of a file of the cache that were written here.
fn read<T, C>(workspace: &Workspace, name: &str, max_bytes: u64, parse: impl Fn(&str) -> Option<T>) -> C
where
    C: Default + FromIterator<T>,
{
    let mut text = String::new();
    if let Ok(file) = workspace.store.open_cache(name) {
        // A file that is not text counts as empty.
        let _ = file.take(max_bytes).read_to_string(&mut text);
    }
    let Some(anchor) = workspace.store.anchor() else { return C::default() };
    text.lines().filter_map(|line| parse(anchor.unsealed_line(line)?)).collect()
}

fn append(workspace: &Workspace, name: &str, lines: Vec<String>) -> io::Result<()> {
    let bytes = seal(workspace, lines)?;
    workspace.store.append_cache(name)?.write_all(&bytes)
}

fn replace(workspace: &Workspace, name: &str, lines: Vec<String>) -> io::Result<()> {
    workspace.store.write_cache(name, &seal(workspace, lines)?)
}

fn seal(workspace: &Workspace, lines: Vec<String>) -> io::Result<Vec<u8>> {
    let anchor = workspace.store.make_anchor()?;
    Ok(lines.into_iter().flat_map(|line| anchor.sealed_line(&line).into_bytes()).collect())
}
