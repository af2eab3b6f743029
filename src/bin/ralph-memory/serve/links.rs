//! The addresses of pages, which are relative.
//!
//! All pages are in one folder, and names are in the query: browsers resolve `..` in a path even where it is encoded.

use std::fmt::Write as _;

use ralph_memory::Id;
use ralph_memory::text::address_part;

/// A group of pages, one for each name.
#[derive(Debug, Clone, Copy)]
pub(super) enum NamedPage {
    Entry,
    Feature,
    Task,
    Run,
}

impl NamedPage {
    /// Returns the address of the page with this name.
    pub(super) fn address(self, name: &str) -> String {
        let (page, field) = match self {
            NamedPage::Entry => ("entry", "id"),
            NamedPage::Feature => ("feature", "name"),
            NamedPage::Task => ("task", "id"),
            NamedPage::Run => ("run", "id"),
        };
        with_query(page, &[(field, name)])
    }
}

/// Returns the address of an entry.
pub(super) fn entry_address(id: &Id) -> String {
    NamedPage::Entry.address(id.as_str())
}

/// Returns the address of the context for a task, with what the query needs.
pub(super) fn context_address(id: &str, title: &str, feature: Option<&str>, section: Option<&str>) -> String {
    let title = if title.trim().is_empty() { id } else { title };
    let fields = [
        ("task", title),
        ("task_id", id),
        ("feature", feature.unwrap_or_default()),
        ("section", section.unwrap_or_default()),
    ];
    with_query("context", &fields)
}

/// Returns the address of a page with a query; fields without a value are left out. `""` is the first page.
pub(super) fn with_query(page: &str, fields: &[(&str, &str)]) -> String {
    let mut address = if page.is_empty() { "./".to_owned() } else { page.to_owned() };
    let given = fields.iter().filter(|(_, value)| !value.is_empty());
    for (index, (name, value)) in given.enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        let _ = write!(address, "{mark}{name}={}", address_part(value));
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_and_encoded() {
        let id = Id::parse("knowledge/a b&c").unwrap();
        assert_eq!(entry_address(&id), "entry?id=knowledge%2Fa%20b%26c");
        assert_eq!(NamedPage::Feature.address(".."), "feature?name=..");
        assert_eq!(with_query("entries", &[("tag", "a\"b"), ("kind", "")]), "entries?tag=a%22b");
        assert_eq!(with_query("", &[]), "./");
    }
}
