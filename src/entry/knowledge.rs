//! Reads one file. (placeholder while the real one is written)

use super::{Entry, Head, Id, Kind};

/// Reads the file at `path`.
pub fn read(path: &str, bytes: &[u8]) -> Entry {
    let kind = Id::of_path(path).map_or(Kind::Knowledge, |id| id.kind());
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut head = Head::empty(kind);
    let body = text.splitn(3, "---\n").nth(2).unwrap_or(&text).to_owned();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("title: ") { head.title = title.trim_matches('"').to_owned(); head.valid = true; }
        if let Some(tags) = line.strip_prefix("tags: [") { head.tags = tags.trim_end_matches(']').split(", ").map(str::to_owned).collect(); }
    }
    let text = body.clone();
    Entry { head, body, text }
}
