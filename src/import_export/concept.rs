//! What the frontmatter of a note says of it, in the words of other memories: the Open Knowledge Format (OKF), Kage's
//! packets, basic-memory and our own export.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

pub(super) use super::files::OWN_ID;
use super::files::{ImportFile, is_date};
use super::kinds::category_or_tag;
use super::request::ImportRequest;
use super::written_dates::{date_in, date_in_lines, date_of_name};
use crate::entry::knowledge::Knowledge;
use crate::entry::outline::headings;
use crate::entry::path::{in_folder, is_project_path};
use crate::entry::{Source, parse_time};
use crate::text::lines::each_once;
use crate::text::shorten;
use crate::workspace::Workspace;

/// The keys that only programs write, into files of which each is one fact.
const UNITS: [&str; 3] = [OWN_ID, "x-kage-id", "generated"];
/// What begins the sections that Kage adds to a packet for itself.
const KAGE_SECTIONS: [&str; 2] = ["\n# Citations\n", "\n## Kage state\n"];
/// The keys of paths that a note is about.
const FILES: [&str; 4] = ["files", "paths", "globs", "x-kage-paths"];
/// The keys of what a note is based on: paths, addresses or words.
const EVIDENCE: [&str; 3] = ["citations", "sources", "resource"];
/// The most confirmations that are kept, and the longest, in characters.
const MAX_SAID: (usize, usize) = (5, 200);

/// Returns the knowledge of a note without its title and text.
pub(super) fn about(workspace: &Workspace, request: &ImportRequest, file: &ImportFile) -> Knowledge {
    let is_own = file.fields.contains_key(OWN_ID);
    let (category, tag) = match file.word(if is_own { &["category"] } else { &["category", "type", "kind"] }) {
        Some(word) if is_own => (Some(word.to_owned()), None),
        word => word.map_or((None, None), category_or_tag),
    };
    let tags = if is_own { file.list("tags") } else { file.tags() };
    let mut tags: Vec<String> = tags.into_iter().chain(tag).collect();
    if tags.is_empty() && !is_own {
        let mut folders = file.path.rsplit('/').skip(1);
        let place = folders.find(|folder| !is_date(folder));
        let place = place.map(|place| place.trim_start_matches('.').replace(',', " "));
        tags.push(place.filter(|place| !place.is_empty()).unwrap_or_else(|| "notes".to_owned()));
    }
    let mut files: Vec<String> = FILES.into_iter().flat_map(|key| file.list(key)).collect();
    files.retain(|path| is_project_path(path));
    files.extend(EVIDENCE.into_iter().flat_map(|key| paths_in(workspace.root(), file.fields.get(key))));
    let mut files = each_once(files, str::to_owned);
    if files.is_empty() {
        files.extend(file.around(request.source).map(|folder| in_folder(folder, "**")));
    }
    Knowledge {
        category,
        status: file.word(&["status", "x-kage-status"]).map(str::to_owned),
        source: author(request, file),
        expires_at: file.word(&["stale_after", "expires_at", "expires"]).and_then(parse_time),
        aliases: file.list("aliases").into_iter().chain(file.word(&["permalink"]).map(str::to_owned)).collect(),
        files,
        ..Knowledge::new("", tags, "")
    }
}

/// Returns who wrote a note: an agent, if it is where agents keep their notes or says so, and no person confirmed it.
fn author(request: &ImportRequest, file: &ImportFile) -> Source {
    let is_human = |actor: &str| actor.starts_with("human:");
    let writer = file.fields.get("generated").and_then(|generated| generated.get("by")?.as_str());
    let is_of_agent = match writer {
        Some(writer) => !is_human(writer),
        None => request.source.row().split_at_place(&file.path).is_some(),
    };
    let is_confirmed = confirmations(file).iter().any(|by| is_human(by));
    if is_of_agent && !is_confirmed { Source::Agent } else { request.writer }
}

/// Returns who confirmed a note and when, or the word or the date that says that somebody did.
fn confirmations(file: &ImportFile) -> Vec<String> {
    let of_event = |event: &Value| match event {
        Value::Object(event) => {
            let words = ["by", "at"].into_iter().filter_map(|key| event.get(key)?.as_str());
            words.collect::<Vec<_>>().join(" ")
        }
        Value::String(word) => word.clone(),
        Value::Bool(true) => "true".to_owned(),
        _ => String::new(),
    };
    let found = file.fields.get("verified").or_else(|| file.fields.get("x-kage-verified"));
    let events = match found {
        Some(Value::Array(events)) => events.iter().map(of_event).collect(),
        Some(event) => vec![of_event(event)],
        None => Vec::new(),
    };
    let (most, longest) = MAX_SAID;
    let said = events.into_iter().filter(|event| !event.is_empty() && event != "unverified");
    said.take(most).map(|event| shorten(&event, longest)).collect()
}

/// Returns what a note says of itself for which an entry has no field.
pub(super) fn said(file: &ImportFile) -> Map<String, Value> {
    let mut said = Map::new();
    let confirmations = confirmations(file);
    if !confirmations.is_empty() {
        said.insert("verified".to_owned(), confirmations.into());
    }
    let address =
        ["resource", "source", "url"].iter().find_map(|key| file.word(&[key]).filter(|word| word.contains("://")));
    if let Some(address) = address {
        said.insert("resource".to_owned(), shorten(address, MAX_SAID.1).into());
    }
    said
}

/// Returns the date of a note: what its frontmatter says, else its first lines, else its name.
pub(super) fn date(workspace: &Workspace, file: &ImportFile) -> Option<DateTime<Utc>> {
    let generated = || file.fields.get("generated")?.get("at")?.as_str();
    let word = file.word(&["created_at", "modified", "updated", "date", "created", "timestamp"]).or_else(generated);
    let now = workspace.now();
    word.and_then(date_in).or_else(|| date_in_lines(&file.text, now)).or_else(|| date_of_name(file.stem(), now))
}

/// Returns the files of the project that a value names: a path, an object with one, or a list of these. A line behind a
/// path is left out.
pub(super) fn paths_in(root: &Path, value: Option<&Value>) -> Vec<String> {
    let of_item = |item: &Value| -> Option<String> {
        let path = match item {
            Value::Object(item) => ["path", "file", "resource"].iter().find_map(|key| item.get(*key)?.as_str())?,
            item => item.as_str()?,
        };
        let is_line = |line: &str| line.starts_with(|first: char| first.is_ascii_digit());
        let path = path.split_once(':').filter(|(_, line)| is_line(line)).map_or(path, |(path, _)| path);
        let is_there = || root.join(path).symlink_metadata().is_ok();
        (is_project_path(path) && is_there()).then(|| path.to_owned())
    };
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(of_item).collect(),
        Some(item) => of_item(item).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Returns the text of a note that is one fact, whatever its length: one of a program, or a description without a text.
pub(super) fn unit(file: &ImportFile, start: usize) -> Option<String> {
    let text = file.text.get(start..).unwrap_or_default();
    let description = file.word(&["description", "summary"]);
    if text.trim().is_empty() {
        return description.map(str::to_owned);
    }
    if !UNITS.iter().any(|key| file.fields.contains_key(*key)) {
        return None;
    }
    if !file.fields.contains_key("x-kage-id") {
        return Some(text.to_owned());
    }
    let end = KAGE_SECTIONS.iter().filter_map(|heading| text.find(heading)).min().unwrap_or(text.len());
    let body = text[..end].trim_start();
    // A packet repeats its description, cut off, above its text.
    let rest = body.strip_prefix("> ").and_then(|quoted| quoted.split_once("\n\n"));
    let is_repeated = |quoted: &str| {
        let quoted = quoted.trim_end_matches(['…', ' ']);
        description.is_some_and(|description| description.starts_with(quoted))
    };
    Some(rest.filter(|(quoted, _)| is_repeated(quoted)).map_or(body, |(_, rest)| rest).to_owned())
}

/// Returns why a file is no note: OKF gives two names a meaning of their own.
pub(super) fn reserved(file: &ImportFile) -> Option<&'static str> {
    let mut lines = file.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    match file.stem() {
        "index" if file.fields.contains_key("okf_version") => Some("it only lists the other files"),
        "index" if file.fields.is_empty() && lines.all(|line| line.starts_with("* [") || line.starts_with("- [")) => {
            Some("it only lists the other files")
        }
        "log" if file.fields.is_empty() => {
            let is_date = |title: &str| parse_time(title.get(..10).unwrap_or_default()).is_some();
            let mut of_days = headings(&file.text).into_iter().filter(|heading| heading.level == 2);
            let is_log = lines.all(|line| line.starts_with("* **")) && of_days.all(|day| is_date(&day.title));
            is_log.then_some("it only says what changed when")
        }
        _ => None,
    }
}
