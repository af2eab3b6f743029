//! The embedded text of an entry: chunks of about 200 words, each with the title.
//!
//! Hashes of chunks are stored, so a change of the rules embeds every entry again.

use xxhash_rust::xxh3::xxh3_64;

use super::qdrant::shown_line;
use crate::entry::{Entry, Head, Id, read};
use crate::text::one_line;
use crate::text::secret::redact;
use crate::workspace::Workspace;

/// How many words a chunk has at most, besides the title. Models represent only a few hundred tokens well, and the
/// vector of a long text means a little of everything.
const WORDS: usize = 200;
/// How many chunks an entry has at most. The text after them is found only by its words.
const MAX_CHUNKS: usize = 64;
/// The longest word that is embedded, in bytes: longer text is not a word.
const MAX_WORD: usize = 200;

/// A part of an entry that has a vector of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its text: the entry's title, and up to 200 words.
    pub(super) text: String,
    /// A hash of the text (XXH3, 64 bits): two chunks of one text have one vector.
    pub(super) content: u64,
}

/// The part of an entry's file that is embedded.
#[derive(Debug, Clone)]
pub(super) struct EntryChunks {
    /// Its path below `.ralph/`.
    pub(super) path: String,
    pub(super) id: Id,
    pub(super) title: String,
    pub(super) feature: Option<String>,
    /// The fingerprint of its bytes.
    pub(super) fingerprint: u64,
    pub(super) chunks: Vec<Chunk>,
}

impl EntryChunks {
    /// Reads a file, if there is one. Secrets are redacted in the whole text before it is cut, since a chunk may have a
    /// value without its name: people may have committed one before any check.
    pub(super) fn read(workspace: &Workspace, path: &str) -> Option<EntryChunks> {
        let id = Id::of_path(path)?;
        let file = workspace.store.read(path).ok()?;
        let mut entry = read(path, &file.bytes);
        let allowed = &workspace.settings.allowed_secrets;
        entry.head.title = redact(&entry.head.title, allowed);
        entry.text = redact(&entry.text, allowed);
        let (fingerprint, chunks) = (xxh3_64(&file.bytes), chunks(&entry, id.stem()));
        let Head { title, feature, .. } = entry.head;
        Some(EntryChunks { path: path.to_owned(), id, title, feature, fingerprint, chunks })
    }

    /// Returns the title and the beginning of a chunk's text, for readers in other projects. Lines that are joined may become
    /// a secret that neither of them was.
    pub(super) fn shown(&self, text: &str, allowed: &[String]) -> [String; 2] {
        let title = self.title.trim();
        let text = text.strip_prefix(title).unwrap_or(text);
        [title, text].map(|text| shown_line(&redact(&one_line(text), allowed)))
    }

    /// Reads files. Deleted ones are left out.
    pub(super) fn read_all(workspace: &Workspace, paths: &[String]) -> Vec<EntryChunks> {
        paths.iter().filter_map(|path| EntryChunks::read(workspace, path)).collect()
    }
}

/// Returns the chunks of an entry, at least one; that of an entry without words is `name`.
///
/// Each ends at the end of a line, unless that is too early, and begins with the title: a passage from the middle
/// seldom mentions its topic.
fn chunks(entry: &Entry, name: &str) -> Vec<Chunk> {
    let title = entry.head.title.trim();
    let mut pieces: Vec<String> = Vec::new();
    let (mut piece, mut n_words) = (String::new(), 0);
    for line in entry.text.lines() {
        let n_line = line.split_whitespace().count();
        // A line that does not fit begins the next chunk, unless this one has hardly begun.
        if n_words + n_line > WORDS && n_words > WORDS / 2 {
            pieces.push(std::mem::take(&mut piece));
            n_words = 0;
        }
        for (at, word) in line.split_whitespace().filter(|word| word.len() <= MAX_WORD).enumerate() {
            if n_words == WORDS {
                pieces.push(std::mem::take(&mut piece));
                n_words = 0;
            }
            if !piece.is_empty() {
                piece.push(if at == 0 { '\n' } else { ' ' });
            }
            piece.push_str(word);
            n_words += 1;
        }
        if pieces.len() >= MAX_CHUNKS {
            break;
        }
    }
    if !piece.is_empty() || pieces.is_empty() {
        pieces.push(piece);
    }
    pieces.truncate(MAX_CHUNKS);
    let with_title = |piece: String| match (title, piece.as_str()) {
        ("", "") => name.to_owned(),
        ("", _) => piece,
        (title, "") => title.to_owned(),
        (title, piece) if piece.starts_with(title) => piece.to_owned(),
        (title, piece) => format!("{title}\n{piece}"),
    };
    let texts = pieces.into_iter().map(with_title);
    texts.map(|text| Chunk { content: xxh3_64(text.as_bytes()), text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(title: &str, body: &str) -> Vec<String> {
        let file = format!("---\ntitle: \"{title}\"\ntags: [a]\n---\n\n{body}\n");
        let entry = crate::entry::read("knowledge/a.md", file.as_bytes());
        chunks(&entry, "a").into_iter().map(|chunk| chunk.text).collect()
    }

    fn words(n: usize) -> String {
        (0..n).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_short_entry_is_one_chunk() {
        assert_eq!(texts("Title", "One *two*.\n\nThree."), ["Title\nOne two.\nThree."]);
        assert_eq!(texts("Title", ""), ["Title"]);
        assert_eq!(texts("Title", "Title of a heading"), ["Title of a heading"]);
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        let found = texts("T", &words(450));
        let counts: Vec<usize> = found.iter().map(|text| text.split_whitespace().count()).collect();
        assert_eq!(counts, [201, 201, 51]);
        assert!(found[1].starts_with("T\nw200 ") && found[2].ends_with(" w449"));
    }

    #[test]
    fn chunks_end_where_paragraphs_do() {
        let body = format!("{}\n\n{}\n\n{}", words(120), words(100), words(60));
        let counts: Vec<usize> = texts("T", &body).iter().map(|text| text.split_whitespace().count()).collect();
        // The second paragraph does not fit after the first.
        assert_eq!(counts, [121, 161]);
    }

    #[test]
    fn an_endless_entry_has_an_end() {
        assert_eq!(texts("T", &words(20_000)).len(), MAX_CHUNKS);
        assert_eq!(texts("T", &format!("{} end", "x".repeat(100_000))), ["T\nend"]);
    }

    #[test]
    fn equal_texts_have_equal_hashes() {
        let entry = |body: &str| crate::entry::read("knowledge/a.md", format!("---\ntitle: T\n---\n{body}").as_bytes());
        assert_eq!(chunks(&entry("a  b\n"), "a")[0].content, chunks(&entry("a b"), "a")[0].content);
        assert_ne!(chunks(&entry("a b"), "a")[0].content, chunks(&entry("a c"), "a")[0].content);
    }
}
