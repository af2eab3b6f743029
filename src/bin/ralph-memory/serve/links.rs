//! The addresses of pages: relative, and the same for the server and for exported files but for their form.
//!
//! Of the server, all pages are in one folder, and names are in the query: browsers resolve `..` in a path even where it is encoded.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Write as _;

use ralph_memory::Id;
use sha2::{Digest as _, Sha256};

/// The longest part of a name that the name of a file shows, in bytes.
const MAX_NAME: usize = 80;
/// The shortest name that is taken as it is: reserved names of Windows have four characters at most.
const MIN_NAME: usize = 5;

/// Makes the addresses of pages, from the page that contains them.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLinks<'a> {
    /// The pages of files that were linked, if files are written.
    exported: Option<&'a LinkedPages>,
    /// The way to the folder of the first page.
    up: &'static str,
}

/// The pages to which links lead, so that each of them is written.
#[derive(Debug, Default)]
pub(super) struct LinkedPages {
    known: RefCell<HashSet<(NamedPage, String)>>,
    waiting: RefCell<Vec<(NamedPage, String)>>,
}

impl LinkedPages {
    fn add(&self, page: NamedPage, name: &str) {
        if self.known.borrow_mut().insert((page, name.to_owned())) {
            self.waiting.borrow_mut().push((page, name.to_owned()));
        }
    }

    /// Returns whether a page was linked.
    fn knows(&self, page: NamedPage, name: &str) -> bool {
        self.known.borrow().contains(&(page, name.to_owned()))
    }

    /// Returns how many pages were linked and not returned.
    pub(super) fn n_waiting(&self) -> usize {
        self.waiting.borrow().len()
    }

    /// Returns a page that was linked and not returned before.
    pub(super) fn next(&self) -> Option<(NamedPage, String)> {
        self.waiting.borrow_mut().pop()
    }
}

/// A group of pages, one for each name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NamedPage {
    Entry,
    Feature,
    Task,
    Run,
    /// The context that the next attempt at a task would get.
    Context,
}

impl NamedPage {
    fn as_str(self) -> &'static str {
        match self {
            NamedPage::Entry => "entry",
            NamedPage::Feature => "feature",
            NamedPage::Task => "task",
            NamedPage::Run => "run",
            NamedPage::Context => "context",
        }
    }

    /// Returns the file of a page below the folder of an export: safe on every file system, whatever the name.
    pub(super) fn file(self, name: &str) -> String {
        // An entry's id begins with its kind. A task or a feature may have the same words as its name.
        let short = if self == NamedPage::Entry { name.strip_prefix("knowledge/").unwrap_or(name) } else { name };
        format!("{}/{}.html", self.as_str(), file_name(name, short))
    }
}

impl<'a> PageLinks<'a> {
    /// The links of the pages of the server.
    pub(super) const SERVED: PageLinks<'static> = PageLinks { exported: None, up: "" };

    /// Returns the links of an exported file, in a folder or beside the first page.
    pub(super) fn exported(pages: &'a LinkedPages, is_in_folder: bool) -> PageLinks<'a> {
        PageLinks { exported: Some(pages), up: if is_in_folder { "../" } else { "" } }
    }

    /// Returns whether these are the links of files, without a server that answers queries.
    pub(super) fn is_exported(self) -> bool {
        self.exported.is_some()
    }

    /// Returns the address of a page that there is once: `""` is the first one.
    pub(super) fn page(self, name: &str) -> String {
        match (self.is_exported(), name) {
            (false, "") => "./".to_owned(),
            (false, name) => name.to_owned(),
            (true, "") => format!("{}index.html", self.up),
            (true, name) => format!("{}{name}.html", self.up),
        }
    }

    /// Returns the address of a file such as the stylesheet.
    pub(super) fn asset(self, name: &str) -> String {
        format!("{}{name}", self.up)
    }

    /// Returns the address of the page with this name.
    pub(super) fn named(self, page: NamedPage, name: &str) -> String {
        if let Some(pages) = self.exported {
            pages.add(page, name);
            format!("{}{}", self.up, page.file(name))
        } else {
            let field = match page {
                NamedPage::Feature => "name",
                NamedPage::Context => "task_id",
                NamedPage::Entry | NamedPage::Task | NamedPage::Run => "id",
            };
            format!("{}?{field}={}", page.as_str(), encoded(name))
        }
    }

    /// Returns the address of the context for a task that is not done, with what the query needs; `None` where files are written and none
    /// of them has it.
    pub(super) fn context(self, id: &str, title: &str, feature: Option<&str>, section: Option<&str>) -> Option<String> {
        if let Some(pages) = self.exported {
            return pages.knows(NamedPage::Context, id).then(|| self.named(NamedPage::Context, id));
        }
        let title = if title.trim().is_empty() { id } else { title };
        let fields = [
            ("task", title),
            ("task_id", id),
            ("feature", feature.unwrap_or_default()),
            ("section", section.unwrap_or_default()),
        ];
        Some(PageLinks::with_query("context", &fields))
    }

    /// Returns the address of an entry.
    pub(super) fn entry(self, id: &Id) -> String {
        self.named(NamedPage::Entry, id.as_str())
    }

    /// Returns the address of a page with a query; fields without a value are left out.
    pub(super) fn with_query(page: &str, fields: &[(&str, &str)]) -> String {
        let mut address = if page.is_empty() { "./".to_owned() } else { page.to_owned() };
        let given = fields.iter().filter(|(_, value)| !value.is_empty());
        for (index, (name, value)) in given.enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            let _ = write!(address, "{mark}{name}={}", encoded(value));
        }
        address
    }
}

/// Returns the text for a query of an address.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Returns a name of a file: lower-case letters, digits, `-` and `_`. Different names stay different, also where the file system ignores
/// case; `short` is the part of a name by which it differs from all others.
fn file_name(name: &str, short: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || "-_".contains(character);
    if (MIN_NAME..=MAX_NAME).contains(&short.len()) && short.chars().all(is_plain) && !short.starts_with('-') {
        return short.to_owned();
    }
    let plain = short.chars().map(|character| character.to_ascii_lowercase());
    let plain: String =
        plain.map(|character| if is_plain(character) { character } else { '-' }).take(MAX_NAME).collect();
    let hash = Sha256::digest(name.as_bytes());
    // So long that nobody finds two names with the same one.
    let hash = hash.iter().take(12).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    // The dot keeps these apart from names that are taken as they are.
    format!("{}.{hash:024x}", plain.trim_matches('-'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_of_files_are_safe_and_different() {
        let names = [
            "knowledge/wal-mode",
            "knowledge/WAL-mode",
            "con",
            "..",
            "../x",
            "a/b",
            "a-b",
            "",
            "é",
            "è",
            "journal/run-1/0001",
        ];
        let files: BTreeSet<String> = names.iter().map(|name| NamedPage::Entry.file(name)).collect();
        assert_eq!(files.len(), names.len(), "{files:?}");
        assert!(files.contains("entry/wal-mode.html"), "{files:?}");
        for file in &files {
            let name = file.strip_prefix("entry/").unwrap();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c)), "{file}");
            assert!(name != "con.html" && !name.starts_with(".."), "{file}");
        }
        assert!(NamedPage::Task.file(&"x".repeat(1_000)).len() < 120);
        let pages = [NamedPage::Feature, NamedPage::Task, NamedPage::Run, NamedPage::Context];
        for page in pages {
            let names = ["search", "knowledge/search", "Search", "knowledge/knowledge/search", "knowledge-search"];
            let files: BTreeSet<String> = names.iter().map(|name| page.file(name)).collect();
            assert_eq!(files.len(), names.len(), "{files:?}");
        }
    }

    #[test]
    fn addresses_are_relative_and_encoded() {
        let id = Id::parse("knowledge/a b&c").unwrap();
        assert_eq!(PageLinks::SERVED.entry(&id), "entry?id=knowledge%2Fa%20b%26c");
        assert_eq!(PageLinks::SERVED.named(NamedPage::Feature, ".."), "feature?name=..");
        assert_eq!(PageLinks::exported(&LinkedPages::default(), true).page("health"), "../health.html");
        assert_eq!(PageLinks::with_query("entries", &[("tag", "a\"b"), ("kind", "")]), "entries?tag=a%22b");
    }
}
