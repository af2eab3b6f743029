//! The addresses of pages, which are relative.
//!
//! All pages are in one folder, and names are in the query: browsers resolve `..` in a path even where it is encoded.

use std::fmt::Write as _;

use ralph_memory::Id;
use ralph_memory::text::address_part;

/// Returns the address of the page of an entry, a feature, a task or a run.
pub(super) fn page_of(kind: &str, id: &str) -> String {
    with_query(kind, [("id", id)])
}

/// Returns the address of an entry.
pub(super) fn entry_address(id: &Id) -> String {
    page_of("entry", id.as_str())
}

/// Returns the address of the context for a task, with what the query needs.
pub(super) fn context_address(id: &str, title: &str, feature: Option<&str>, section: Option<&str>) -> String {
    let title = if title.trim().is_empty() { id } else { title };
    let (feature, section) = (feature.unwrap_or_default(), section.unwrap_or_default());
    with_query("context", [("task", title), ("task_id", id), ("feature", feature), ("section", section)])
}

/// Returns the address of a page with a query; fields without a value are left out. `""` is the first page.
pub(super) fn with_query<'a>(page: &str, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut address = if page.is_empty() { "./".to_owned() } else { page.to_owned() };
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    for (index, (name, value)) in given.enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        let _ = write!(address, "{mark}{}={}", address_part(name), address_part(value));
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
        assert_eq!(page_of("feature", ".."), "feature?id=..");
        assert_eq!(with_query("entries", [("tag", "a\"b"), ("kind", ""), ("a&b", "c")]), "entries?tag=a%22b&a%26b=c");
        assert_eq!(with_query("", []), "./");
    }
}
