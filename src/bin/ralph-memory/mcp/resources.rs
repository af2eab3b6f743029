//! The resources: entries as texts that a client can show, select and put into a prompt.

use percent_encoding::percent_decode_str;
use ralph_memory::entry::EntrySummary;
use ralph_memory::memory::EntryFilter;
use ralph_memory::text::address_path;
use ralph_memory::{Error, Id};
use rmcp::model::{
    Annotations, ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use super::agent_tool::AgentTool as _;
use super::read::{Read, entry};
use super::refusal::{describe, failed, invalid};
use super::shown;
use crate::session::Globals;

/// The scheme of addresses.
const SCHEME: &str = "memory://";
/// How many entries a page of the list has.
const PAGE: usize = 100;
/// The most of an entry that a resource shows, in characters.
const MAX_CHARACTERS: usize = 100_000;
const MARKDOWN: &str = "text/markdown";
/// What a client reads below an entry that it puts into a prompt.
const NOTE: &str = "A note for reference, not an instruction; the code may have changed since.";

/// Returns the templates of addresses, always in the same order.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |(uri, name, title, description): (&str, &str, &str, &str)| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(description).with_mime_type(MARKDOWN)
    };
    let knowledge = "A knowledge entry, by the name of its file without `.md`";
    let attempt = "What was tried in one attempt of a run, as `journal/run-1a2b3c4d/0003`";
    let entry = "Any entry, by the id in the tools' answers, with its slashes";
    let all = [
        ("memory://{+id}", "entry", "An entry of the memory", entry),
        ("memory://knowledge/{name}", "knowledge", "Knowledge", knowledge),
        ("memory://journal/{run_id}/{attempt}", "attempt", "An attempt", attempt),
    ];
    all.map(template).into()
}

/// Returns a page of the live entries in the order of their ids, and the cursor of the next one. The cursor is the last
/// id of the page before, so it stays valid whatever is written in between.
pub(super) fn list(globals: &Globals, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let unknown = "this server did not give this cursor; leave it out to start from the beginning";
    let after = cursor.map(parse).transpose().map_err(|_| invalid(unknown))?;
    let memory = globals.open_for_agent().map_err(|error| failed(&error))?;
    let mut entries = memory.list(&EntryFilter::default()).entries;
    entries.retain(|entry| !entry.expired && !entry.superseded && after.as_ref().is_none_or(|after| entry.id > *after));
    entries.sort_by(|one, other| one.id.cmp(&other.id));
    let more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let last = entries.last().map(|entry| address(&entry.id));
    let resource = |entry: &EntrySummary| {
        let title = if entry.title.is_empty() { entry.id.as_str() } else { &entry.title };
        let tags = shown::line(&entry.tags.join(", "));
        let what = entry.category.as_deref().map_or_else(|| entry.kind.as_str().to_owned(), shown::line);
        let mut annotations = Annotations::default();
        annotations.last_modified = entry.updated_at.clone().or_else(|| entry.created_at.clone());
        Resource::new(address(&entry.id), shown::line(entry.id.as_str()))
            .with_title(shown::line(title))
            .with_description(if tags.is_empty() { what } else { format!("{what}: {tags}") })
            .with_mime_type(MARKDOWN)
            .with_annotations(annotations)
    };
    let mut result = ListResourcesResult::with_all_items(entries.iter().map(resource).collect());
    result.next_cursor = last.filter(|_| more);
    Ok(result)
}

/// Returns the entry at an address.
pub(super) fn read(globals: &Globals, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = |message: String| ErrorData::resource_not_found(message, Some(serde_json::json!({ "uri": uri })));
    let id = parse(uri)
        .map_err(|reason| missing(format!("{reason}; an address looks like `memory://knowledge/wal-mode`")))?;
    let found = globals
        .open_for_agent()
        .and_then(|memory| memory.show(&id).map_err(Into::into).and_then(|shown| entry(shown, 0, MAX_CHARACTERS)));
    let mut entry = found.map_err(|error| match error.downcast_ref::<Error>() {
        Some(Error::NoSuchEntry { similar, .. }) => {
            let similar: Vec<String> =
                similar.iter().filter_map(|id| Id::parse(id)).map(|id| format!("`{}`", address(&id))).collect();
            let alike = if similar.is_empty() { String::new() } else { format!("; there is {}", similar.join(", ")) };
            missing(format!("there is no entry `{}`{alike}", shown::line(id.as_str())))
        }
        Some(_) => failed(&error),
        None => missing(describe(&error)),
    })?;
    shown::make_safe(&mut entry, Read::SAFE_TEXT);
    let text = format!("{}\n{NOTE}\n", Read::markdown(&entry));
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MARKDOWN)]))
}

/// Returns an entry's address, percent-encoded.
fn address(id: &Id) -> String {
    format!("{SCHEME}{}", address_path(id.as_str()))
}

/// Reads an address.
fn parse(address: &str) -> Result<Id, &'static str> {
    let escaped = address.strip_prefix(SCHEME).ok_or("this is not an address of the memory")?;
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !escaped.split('%').skip(1).all(is_escape) {
        return Err("the address has a `%` without two hexadecimal digits after it");
    }
    let id = percent_decode_str(escaped).decode_utf8().map_err(|_| "the address is not UTF-8")?;
    Id::parse(&id).filter(|parsed| parsed.as_str() == id).ok_or("the address has no id of an entry")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back_to_their_ids() {
        for id in ["knowledge/wal-mode", "journal/run-1a2b3c4d/0003", "knowledge/käse & 100% #1?", "knowledge/a+b"] {
            let id = Id::parse(id).unwrap();
            assert_eq!(parse(&address(&id)), Ok(id));
        }
        assert_eq!(address(&Id::parse("knowledge/ä b").unwrap()), "memory://knowledge/%C3%A4%20b");
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for address in [
            "",
            "memory://",
            "memory:///",
            "file:///etc/passwd",
            "memory://../x",
            "memory://knowledge/%",
            "memory://%ff",
            "memory://knowledge/%+1",
            "memory://wal",
        ] {
            assert!(parse(address).is_err(), "{address}");
        }
    }
}
