//! What the details of an entry say about where it was imported from: a key and a hash.

use xxhash_rust::xxh3::xxh3_64;

use super::edit::Change;
use super::path::is_project_path;
use super::{Entry, frontmatter};
use crate::text::nfc;

/// The key in `details` that says where an entry was imported from.
pub(crate) const IMPORTED: &str = "imported";

/// Returns the file of the project that a key names: one elsewhere has a mark behind its path, `@` and eight digits.
pub(crate) fn file_of(key: &str) -> Option<&str> {
    let path = key.split('#').next().unwrap_or_default();
    let mark = path.rsplit_once('@').map(|(_, mark)| mark);
    let is_elsewhere = mark.is_some_and(|mark| mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit()));
    Some(path).filter(|path| !is_elsewhere && is_project_path(path))
}

/// Returns the hash of what an import writes.
pub(crate) fn hash_of(title: &str, status: Option<&str>, body: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    hash(&format!("{title}\n{}\n{}", status.unwrap_or_default(), trimmed(body)))
}

/// Returns the hash that an entry was imported with, and the one that it has now; `None` of one that was not imported. Those
/// of the first version, which say their source, have that of the body alone.
pub(crate) fn imported_hash(text: &str, entry: &Entry) -> Option<(String, String)> {
    let mut fields = frontmatter::fields_of(text)?;
    let imported = fields.get_mut("details")?.get_mut(IMPORTED)?.take();
    let before = imported.get("hash")?.as_str()?.to_owned();
    let now = match imported.get("source") {
        Some(_) => hash(trimmed(&entry.body)),
        None => hash_of(&entry.head.title, entry.head.status.as_deref(), &entry.body),
    };
    Some((before, now))
}

/// Returns the change by which a person confirms an entry that was imported: what its source says later is no update of it.
pub(crate) fn confirmed(text: &str) -> Option<Change> {
    let mut details = frontmatter::fields_of(text)?.remove("details")?;
    *details.get_mut(IMPORTED)?.get_mut("hash")? = "confirmed".into();
    Some(Change::Set("details", details))
}

fn trimmed(body: &str) -> &str {
    body.trim_matches(['\n', '\r']).trim_end()
}

fn hash(text: &str) -> String {
    format!("{:016x}", xxh3_64(nfc(&text.replace("\r\n", "\n")).as_bytes()))
}
