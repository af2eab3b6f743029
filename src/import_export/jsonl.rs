//! JSON: one object a line, as many memories export them, or a whole document with objects in it.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::concept::paths_in;
use super::files::ImportFile;
use super::find;
use super::gathered::{Fact, SourceContent};
use super::kinds::category_or_tag;
use super::report::{ImportOrigin, ImportedItem};
use super::request::{ImportInput, ImportRequest};
use crate::entry::edit::list_items;
use crate::entry::imported::hash_of;
use crate::entry::knowledge::Knowledge;
use crate::entry::lead::described;
use crate::entry::path::is_project_path;
use crate::entry::read::DESCRIPTIONS;
use crate::entry::{Source, parse_time};
use crate::error::{Error, Result};
use crate::text::title_of;
use crate::workspace::Workspace;

const TITLES: [&str; 5] = ["title", "name", "subject", "summary", "subtitle"];
/// How many of these only name an object.
const N_NAMES: usize = 3;
const BODIES: [&str; 13] = [
    "body",
    "content",
    "text",
    "memory",
    "narrative",
    "observation",
    "fact",
    "value",
    "observations",
    "facts",
    "description",
    "message",
    "summary",
];
/// How many of these are texts of an entry for certain. The others may as well describe the whole document.
const N_CERTAIN: usize = 10;
const TAGS: [&str; 5] = ["tags", "keywords", "labels", "concepts", "metadata.tags"];
const CATEGORIES: [&str; 5] = ["category", "type", "kind", "memory_type", "entityType"];
const IDS: [&str; 6] = ["id", "uuid", "_id", "memory_id", "content_hash", "key"];
const DATES: [&str; 5] = ["created_at", "createdAt", "timestamp", "date", "updated_at"];
const ENDS: [&str; 2] = ["stale_after", "expires_at"];
const FILES: [&str; 3] = ["files", "paths", "citations"];
/// How deep in a document the objects are searched for.
const MAX_DEPTH: usize = 4;

/// The relations of each entity: their kinds, and the entities that they lead to.
type Relations = HashMap<String, Vec<(String, String)>>;

/// An object of a file, before its fields are read, or why a line has none.
struct JsonRecord {
    object: std::result::Result<Value, String>,
    /// Its name in the object around it.
    name: Option<String>,
    line: Option<u32>,
}

/// Finds the objects of JSON Lines, and of JSON documents. If nothing of what a person named can be read, that is an error.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    let mut partly_read = Vec::new();
    for file in find::texts(workspace, request, content)? {
        if !add_facts(workspace.root(), &file, request, content) {
            partly_read.push(file.origin().path);
        }
    }
    let is_named = !matches!(request.input, ImportInput::UsualPlace(_));
    let is_unread = |item: &&ImportedItem| item.from.line.is_some() && content.unread.contains(&item.from.path);
    let unread = content.report.items.iter().find(is_unread).filter(|_| is_named && content.facts.is_empty());
    if let Some(ImportedItem { from, reason, .. }) = unread {
        let reason = reason.clone().unwrap_or_default();
        return Err(Error::invalid(from.to_string(), format!("{reason}; fix it, and import again")));
    }
    content.unread.extend(partly_read);
    Ok(())
}

/// Adds the facts of a file, and returns whether each of its objects is one. `root` is the project.
fn add_facts(root: &Path, file: &ImportFile, request: &ImportRequest, content: &mut SourceContent) -> bool {
    let mut is_whole = true;
    let mut records = Vec::new();
    read_records(file, request, &mut records, content);
    let mut relations = Relations::new();
    let relation_of = |record: &JsonRecord| record.object.as_ref().ok().and_then(relation);
    for (from, kind, to) in records.iter().filter_map(relation_of) {
        relations.entry(from).or_default().push((kind, to));
    }
    let mut texts: HashMap<String, String> = HashMap::new();
    for record in records.iter().filter(|record| relation_of(record).is_none()) {
        let from = ImportOrigin { line: record.line, ..file.origin() };
        match fact(root, record, file, &relations, request) {
            Ok(mut fact) => {
                // Another text under the same id is another fact.
                let text = hash_of(&format!("{}\n{}", fact.knowledge.title, fact.knowledge.body));
                if *texts.entry(fact.key.clone()).or_insert_with(|| text.clone()) != text {
                    fact.key = format!("{}#{text}", fact.key);
                }
                content.add(Fact { from, ..fact });
            }
            Err(reason) if record.object.is_err() => content.skip_unread(from, reason),
            Err(reason) => {
                is_whole = false;
                content.report.skip(from, reason);
            }
        }
    }
    is_whole
}

/// Reads a file as one document, or else line by line.
fn read_records(
    file: &ImportFile,
    request: &ImportRequest,
    records: &mut Vec<JsonRecord>,
    content: &mut SourceContent,
) {
    // The parser refuses what is nested too deeply.
    let document = serde_json::from_str::<Value>(&file.text);
    let first = file.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match document {
        Ok(document) if document.is_object() || document.is_array() => {
            add_records(&document, None, 0, request, records);
        }
        // A line of JSON Lines is whole.
        Err(error) if first.ends_with(['{', '[', ',']) => {
            let line = u32::try_from(error.line()).ok();
            let reason = format!("it is not JSON: column {}", error.column());
            content.skip_unread(ImportOrigin { line, ..file.origin() }, reason);
        }
        _ => {
            for (index, line) in file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let line_number = u32::try_from(index + 1).ok();
                records.push(JsonRecord { object: object_of(line), name: None, line: line_number });
            }
        }
    }
}

/// Returns the object of a line, or why the line has no object.
fn object_of(line: &str) -> std::result::Result<Value, String> {
    let object: Value = serde_json::from_str(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "the line is incomplete".to_owned(),
        _ => format!("it is not JSON: column {}", error.column()),
    })?;
    if object.is_object() { Ok(object) } else { Err("it is not an object".to_owned()) }
}

/// Adds the objects of a document: the outermost that have a text, and each item of a list, and the document, if nothing in
/// it has. `name` is that of the value in the object around it.
fn add_records(
    value: &Value,
    name: Option<&str>,
    depth: usize,
    request: &ImportRequest,
    records: &mut Vec<JsonRecord>,
) {
    match value {
        Value::Object(fields) => {
            let before = records.len();
            if depth < MAX_DEPTH && !is_record(fields, request) {
                for (name, value) in fields {
                    add_records(value, Some(name), depth + 1, request, records);
                }
            }
            let is_item = name.is_none();
            if is_record(fields, request) || is_item && records.len() == before {
                let line = (depth == 0).then_some(1);
                records.push(JsonRecord { object: Ok(value.clone()), name: name.map(str::to_owned), line });
            }
        }
        Value::Array(items) => {
            for item in items.iter().filter(|item| item.is_object()) {
                add_records(item, None, depth + 1, request, records);
            }
        }
        _ => {}
    }
}

/// Returns whether an object is an entry, and not one around others.
fn is_record(fields: &Map<String, Value>, request: &ImportRequest) -> bool {
    let named = request.fields.body.as_ref();
    let is_certain = named.is_some() || BODIES[..N_CERTAIN].iter().any(|name| body_of(fields, name).is_some());
    let has_text = |fields: &Map<String, Value>| match named {
        Some(name) => body_of(fields, name).is_some(),
        None => BODIES.iter().any(|name| body_of(fields, name).is_some()),
    };
    let has_records = || {
        let lists = fields.values().filter_map(Value::as_array).flatten();
        lists.filter_map(Value::as_object).any(has_text)
    };
    has_text(fields) && (is_certain || !has_records())
}

/// Returns the text of a field. Objects alone are part of it only in an object that has both an id and a title: elsewhere
/// they are entries.
fn body_of(fields: &Map<String, Value>, name: &str) -> Option<String> {
    let value = find_in(fields, name)?;
    let has = |names: &[&str]| names.iter().any(|name| fields.contains_key(*name));
    let is_entry = has(&TITLES[..N_NAMES]) && (has(&IDS) || has(&["entityType"]));
    let are_objects = match value {
        Value::Array(items) => items.iter().all(Value::is_object),
        value => value.is_object(),
    };
    text_of(value).filter(|_| is_entry || !are_objects)
}

/// Returns the text of a value: of a list, a list of those in it; of an object, its text and what else it says in words.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) => {
            let texts = items.iter().filter_map(text_of);
            texts.map(|text| ["- ", &text.replace('\n', "\n  ")].concat()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let main = BODIES.iter().find(|name| fields.get(**name).and_then(text_of).is_some());
            let others = fields.iter().filter(|(name, _)| Some(&name.as_str()) != main);
            let others =
                others.filter_map(|(name, value)| Some((name, text_of(value).filter(|text| text.contains(' '))?)));
            let others = others.map(|(name, text)| format!("{name}: {text}"));
            main.and_then(|name| text_of(&fields[*name])).into_iter().chain(others).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the text of an object: its first one, with a description before it and others below it.
fn whole_body(fields: &Map<String, Value>) -> Option<String> {
    let mut texts = BODIES.iter().filter_map(|name| Some((*name, body_of(fields, name)?)));
    let (_, first) = texts.next()?;
    let title = TITLES.iter().find_map(|name| fields.get(*name)?.as_str());
    let is_said = |text: &String| !first.contains(text.as_str()) && Some(text.as_str()) != title;
    let (before, below): (Vec<_>, Vec<_>) =
        texts.filter(|(_, text)| is_said(text)).partition(|(name, _)| DESCRIPTIONS.contains(name));
    let whole =
        [first.clone()].into_iter().chain(below.into_iter().map(|(_, text)| text)).collect::<Vec<_>>().join("\n\n");
    Some(before.into_iter().rev().fold(whole, |body, (_, text)| described(&text, &body)))
}

/// Returns the entity that a relation of the MCP reference server begins at, its kind, and the entity that it leads to.
fn relation(object: &Value) -> Option<(String, String, String)> {
    let [from, to, kind] = ["from", "to", "relationType"].map(|name| object.get(name).and_then(Value::as_str));
    Some((from?.to_owned(), kind?.replace('_', " "), to?.to_owned()))
}

/// Returns the fact of an object, or why the object holds no fact.
fn fact(
    root: &Path,
    record: &JsonRecord,
    file: &ImportFile,
    relations: &Relations,
    request: &ImportRequest,
) -> std::result::Result<Fact, String> {
    let (object, fields) = (record.object.as_ref().map_err(Clone::clone)?, &request.fields);
    let values = object.as_object();
    let body =
        values.and_then(|values| fields.body.as_ref().map_or_else(|| whole_body(values), |name| body_of(values, name)));
    let entity = object.get("name").and_then(Value::as_str).filter(|_| object.get("entityType").is_some());
    let relations = entity.and_then(|name| relations.get(name)).map_or(&[][..], Vec::as_slice);
    let relates_to: Vec<_> = relations.iter().map(|(kind, to)| (format!("- {kind} [[{to}]]"), to.clone())).collect();
    let lines: Vec<&str> = relates_to.iter().map(|(line, _)| line.as_str()).collect();
    let lines = Some(lines.join("\n")).filter(|lines| !lines.is_empty());
    let body = match (body, lines) {
        (Some(body), Some(lines)) => Some(format!("{body}\n\n{lines}")),
        (body, lines) => body.or(lines),
    };
    let body = body.ok_or_else(|| match &fields.body {
        Some(field) => format!("it has no text in `{field}`"),
        None => format!("it has no text in any of {}; name the field with --body-field", BODIES.join(", ")),
    })?;
    let title = text(object, fields.title.as_ref(), &TITLES).filter(|title| *title != body);
    let title = title.unwrap_or_else(|| title_of(&body));
    let mut tags = list(object, fields.tags.as_ref());
    let category = text(object, fields.category.as_ref(), &CATEGORIES).filter(|_| entity.is_none());
    let category = category.or_else(|| text(object, fields.category.as_ref(), &["entityType"]));
    let (category, tag) = category.map_or((None, None), |category| category_or_tag(&category));
    tags.extend(tag);
    if tags.is_empty() {
        tags.push("imported".to_owned());
    }
    // Two files may use the same numbers as ids, and a pipe has no file name.
    let usual: &[&str] = if file.key.is_empty() { &[] } else { &IDS };
    let id = text(object, fields.id.as_ref(), usual).or_else(|| record.name.clone()).or(entity.map(str::to_owned));
    let id = id.filter(|_| fields.id.is_some() || !file.key.is_empty());
    let key = format!("{}#{}", file.key, id.unwrap_or_else(|| hash_of(&format!("{title}\n{body}"))));
    let date = |names: &[&str]| text(object, None, names).and_then(|date| parse_time(&date));
    let is_of_agent = request.source.row().split_at_place(&file.path).is_some();
    let mut files: Vec<String> = FILES[..2].iter().flat_map(|name| list_items(object.get(*name))).collect();
    files.retain(|path| is_project_path(path));
    files.extend(paths_in(root, object.get(FILES[2])));
    let knowledge = Knowledge {
        category,
        status: text(object, None, &["status"]),
        expires_at: date(&ENDS),
        files,
        source: if is_of_agent { Source::Agent } else { request.writer },
        ..Knowledge::new(title, tags, body)
    };
    let verified = ["verified", "freshness.last_verified_at"].iter().find_map(|name| at(object, name));
    let said = verified.filter(|value| value.is_string() || **value == json!(true));
    let said = said.map(|value| ("verified".to_owned(), value.clone())).into_iter().collect();
    Ok(Fact { date: date(&DATES), relates_to, said, ..Fact::new(key, file.origin(), knowledge) })
}

/// Returns the value at a name with `.` between those of nested objects.
fn at<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    find_in(object.as_object()?, name)
}

/// Does the same for the fields of an object.
fn find_in<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    fields.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        rest.split('.').try_fold(fields.get(first)?, |value, part| value.get(part))
    })
}

/// Returns the text of a field: the named one, else the first of the usual ones that has some.
fn text(object: &Value, named: Option<&String>, usual: &[&str]) -> Option<String> {
    let text = |name: &str| match at(object, name)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    named.map_or_else(|| usual.iter().find_map(|name| text(name)), |name| text(name))
}

/// Returns the tags of an object: a list, or a text between commas; some exports have a list in a text.
fn list(object: &Value, named: Option<&String>) -> Vec<String> {
    let value = match named {
        Some(name) => at(object, name),
        None => TAGS.iter().find_map(|name| at(object, name).filter(|value| !value.is_null())),
    };
    let inner = value.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let items = list_items(inner.as_ref().filter(|inner| inner.is_array()).or(value));
    // A tag cannot have a comma.
    list_items(Some(&Value::from(items.join(","))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import_export::request::{ImportInput, JsonlFields};
    use crate::import_export::sources::ImportSource;

    /// Returns the facts of a text as `title: body [tags] key`, and the reasons of what is skipped.
    fn read(text: &str, fields: JsonlFields) -> Vec<String> {
        let request =
            ImportRequest { fields, ..ImportRequest::new(ImportSource::Jsonl, ImportInput::Text(Vec::new())) };
        let mut content = SourceContent::default();
        let file = ImportFile::new("x.json".to_owned(), "x.json".to_owned(), text.to_owned());
        add_facts(Path::new("/nowhere"), &file, &request, &mut content);
        let facts = content.facts.iter().map(|fact| {
            let Knowledge { title, body, tags, .. } = &fact.knowledge;
            let id = fact.key.strip_prefix("x.json#").unwrap();
            let id = if id == hash_of(&format!("{title}\n{body}")) { "-" } else { id };
            format!("{title}: {body} [{}] {id}", tags.join(", "))
        });
        let skipped = content.report.items.iter().map(|item| {
            let line = item.from.line.map_or("-".to_owned(), |line| line.to_string());
            format!("{line}: {}", item.reason.as_ref().unwrap().as_str())
        });
        facts.chain(skipped).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(read(text, JsonlFields::default()), expected, "{text}");
    }

    #[test]
    fn the_fields_of_common_exports_are_found() {
        check(r#"{"id":7,"title":"T","content":"C","tags":"a, b"}"#, &["T: C [a, b] 7"]);
        check(r#"{"memory":"Use WAL. Always.","metadata":{"tags":["db"]}}"#, &["Use WAL.: Use WAL. Always. [db] -"]);
        check(r#"{"name":"N","description":"D","tags":"[\"x\",\"y\"]"}"#, &["N: D [x, y] -"]);
        check(r#"{"title":"T","body":"B","type":"idea"}"#, &["T: B [idea] -"]);
        check(r#"{"summary":"It holds."}"#, &["It holds.: It holds. [imported] -"]);
    }

    #[test]
    fn a_document_has_its_entries_wherever_a_memory_puts_them() {
        check(
            r#"[{"title":"A","text":"one"},{"title":"B","text":"two"}]"#,
            &["A: one [imported] -", "B: two [imported] -"],
        );
        check(
            "{\n  \"version\": 1,\n  \"description\": \"All of it\",\n  \"memories\": [{\"id\": \"m1\", \"memory\": \"One.\"}]\n}\n",
            &["One.: One. [imported] m1"],
        );
        check(
            r#"{"facts":{"wal":{"title":"WAL","value":"on"},"port":{"value":"5433"}},"meta":{"n":2}}"#,
            &["5433: 5433 [imported] port", "WAL: on [imported] wal"],
        );
        // A packet of Kage has lists of objects, and is one entry.
        check(
            r#"{"id":"k","title":"T","summary":"S","body":"B","type":"gotcha","edges":[{"evidence":"x"}],"tags":["t"]}"#,
            &["T: S\n\nB [t] k"],
        );
    }

    #[test]
    fn entities_keep_their_observations_and_relations() {
        let expected = [
            "Ana: - Likes `just`.\n- Reviews\n  on Mondays.\n\n- works on [[Shop]] [person] Ana",
            "Shop: - A shop. [project] Shop",
        ];
        let ana = r#""name":"Ana","entityType":"person","observations":["Likes `just`.","Reviews\non Mondays."]"#;
        let shop = r#""name":"Shop","entityType":"project","observations":["A shop."]"#;
        let relation = r#""from":"Ana","to":"Shop","relationType":"works_on""#;
        check(
            &format!(
                "{{\"type\":\"entity\",{ana}}}\n{{\"type\":\"entity\",{shop}}}\n{{\"type\":\"relation\",{relation}}}\n"
            ),
            &expected,
        );
        check(&format!("{{\"entities\":[{{{ana}}},{{{shop}}}],\"relations\":[{{{relation}}}]}}"), &expected);
    }

    #[test]
    fn objects_of_one_id_with_different_texts_are_two_facts() {
        let line = |text: &str| format!("{{\"id\":7,\"title\":\"T\",\"text\":\"{text}\"}}\n");
        let second = format!("T: two [imported] 7#{}", hash_of("T\ntwo"));
        // `apply` skips a fact whose key it has seen.
        check(
            &["one", "two", "one", "two"].map(line).concat(),
            &["T: one [imported] 7", &second, "T: one [imported] 7", &second],
        );
    }

    #[test]
    fn named_fields_may_be_nested_and_lists() {
        let fields = JsonlFields {
            title: Some("head.title".into()),
            body: Some("text.md".into()),
            id: Some("ref".into()),
            ..JsonlFields::default()
        };
        let found = read(r#"{"head":{"title":"T"},"text.md":"B","ref":"r-1"}"#, fields);
        assert_eq!(found, ["T: B [imported] r-1"]);
        let fields = JsonlFields { title: Some("date".into()), body: Some("learned".into()), ..JsonlFields::default() };
        let log = r#"{"sessions":[{"date":"2026-01-02","messages":[{"text":"hi"}],"learned":["One.","Two."]}]}"#;
        assert_eq!(read(log, fields), ["2026-01-02: - One.\n- Two. [imported] -"]);
    }

    #[test]
    fn what_is_no_object_with_a_text_says_why() {
        check("{\"title\":\"T\"", &["1: the line is incomplete"]);
        check("{\"text\":\"a\"}\n[]\n", &["a: a [imported] -", "2: it is not an object"]);
        check("x", &["1: it is not JSON: column 1"]);
        check("[\n  {\"text\": \"a\"}\n  {}\n]\n", &["3: it is not JSON: column 3"]);
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(read(&deep, JsonlFields::default())[0].contains("it is not JSON"));
        for text in ["{\"title\":\"T\"}", "[{\"title\":\"T\"}]"] {
            assert!(read(text, JsonlFields::default())[0].contains("--body-field"), "{text}");
        }
    }
}
