//! JSON Lines: one object a line, as many memories export them.

use serde_json::Value;

use super::files;
use super::gathered::{Fact, SourceContent};
use super::kinds::category_or_tag;
use super::provenance::hash_of;
use super::report::ImportOrigin;
use super::request::ImportRequest;
use crate::entry::edit::list_items;
use crate::entry::knowledge::Knowledge;
use crate::entry::parse_time;
use crate::error::Result;
use crate::text::title_of;
use crate::workspace::Workspace;

const TITLES: [&str; 5] = ["title", "name", "subject", "summary", "subtitle"];
const BODIES: [&str; 10] =
    ["body", "content", "text", "memory", "narrative", "observation", "fact", "value", "description", "message"];
const TAGS: [&str; 5] = ["tags", "keywords", "labels", "concepts", "metadata.tags"];
const CATEGORIES: [&str; 4] = ["category", "type", "kind", "memory_type"];
const IDS: [&str; 6] = ["id", "uuid", "_id", "memory_id", "content_hash", "key"];
const DATES: [&str; 5] = ["created_at", "createdAt", "timestamp", "date", "updated_at"];

/// Finds the objects of JSON Lines.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    for file in files::texts(workspace, request, content)? {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let from = ImportOrigin { line: u32::try_from(index + 1).ok(), ..file.origin() };
            match fact(line, &file.key, &from, request) {
                Ok(fact) => content.add(fact),
                Err(reason) => content.report.skip(from, reason),
            }
        }
    }
    Ok(())
}

/// Returns the fact of a line, or why it is none.
fn fact(line: &str, file: &str, from: &ImportOrigin, request: &ImportRequest) -> std::result::Result<Fact, String> {
    // The parser refuses what is nested too deeply.
    let object: Value = serde_json::from_str(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => "the line is incomplete".to_owned(),
        _ => format!("it is not JSON: column {}", error.column()),
    })?;
    if !object.is_object() {
        return Err("it is not an object".to_owned());
    }
    let fields = &request.fields;
    let body = text(&object, fields.body.as_ref(), &BODIES);
    let body = body.ok_or_else(|| match &fields.body {
        Some(field) => format!("it has no text in `{field}`"),
        None => format!("it has no text in any of {}; name the field with --body-field", BODIES.join(", ")),
    })?;
    let title = text(&object, fields.title.as_ref(), &TITLES).unwrap_or_else(|| title_of(&body));
    let mut tags = list(&object, fields.tags.as_ref());
    let category = text(&object, fields.category.as_ref(), &CATEGORIES);
    let (category, tag) = category.map_or((None, None), |category| category_or_tag(&category));
    tags.extend(tag);
    if tags.is_empty() {
        tags.push("imported".to_owned());
    }
    // Two files may use the same numbers as ids, and a pipe has no file name.
    let usual: &[&str] = if file.is_empty() { &[] } else { &IDS };
    let key = text(&object, fields.id.as_ref(), usual).map(|id| format!("{file}#{id}"));
    let key = key.unwrap_or_else(|| hash_of(&format!("{title}\n{body}")));
    let date = text(&object, None, &DATES).and_then(|date| parse_time(&date));
    let knowledge = Knowledge { category, source: request.writer, ..Knowledge::new(title, tags, body) };
    Ok(Fact { date, ..Fact::new(key, from.clone(), knowledge) })
}

/// Returns the value at a name with `.` between those of nested objects.
fn at<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| name.split('.').try_fold(object, |value, part| value.get(part)))
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

    fn read(line: &str, fields: JsonlFields) -> std::result::Result<Fact, String> {
        let request = ImportRequest::new(ImportSource::Jsonl, ImportInput::Text(Vec::new()));
        fact(line, "x.jsonl", &ImportOrigin::file("x.jsonl"), &ImportRequest { fields, ..request })
    }

    #[test]
    fn the_fields_of_common_exports_are_found() {
        let check = |line: &str, title: &str, body: &str, tags: &[&str], key: Option<&str>| {
            let fact = read(line, JsonlFields::default()).unwrap();
            let Knowledge { title: found, body: text, tags: labels, .. } = &fact.knowledge;
            assert_eq!((found.as_str(), text.as_str(), labels.as_slice()), (title, body, &tags.map_strings()[..]));
            assert!(key.is_none_or(|key| fact.key == key), "{}", fact.key);
        };
        check(r#"{"id":7,"title":"T","content":"C","tags":"a, b"}"#, "T", "C", &["a", "b"], Some("x.jsonl#7"));
        check(
            r#"{"memory":"Use WAL. Always.","metadata":{"tags":["db"]}}"#,
            "Use WAL.",
            "Use WAL. Always.",
            &["db"],
            None,
        );
        check(r#"{"name":"N","description":"D","tags":"[\"x\",\"y\"]"}"#, "N", "D", &["x", "y"], None);
        check(r#"{"title":"T","body":"B","type":"idea"}"#, "T", "B", &["idea"], None);
    }

    trait Strings {
        fn map_strings(&self) -> Vec<String>;
    }

    impl Strings for &[&str] {
        fn map_strings(&self) -> Vec<String> {
            self.iter().map(|text| (*text).to_owned()).collect()
        }
    }

    #[test]
    fn named_fields_may_be_nested() {
        let fields = JsonlFields {
            title: Some("head.title".into()),
            body: Some("text.md".into()),
            id: Some("ref".into()),
            ..JsonlFields::default()
        };
        let fact = read(r#"{"head":{"title":"T"},"text.md":"B","ref":"r-1"}"#, fields).unwrap();
        assert_eq!(
            (fact.knowledge.title.as_str(), fact.knowledge.body.as_str(), fact.key.as_str()),
            ("T", "B", "x.jsonl#r-1")
        );
    }

    #[test]
    fn a_line_that_is_no_object_says_why() {
        let reason = |line: &str| read(line, JsonlFields::default()).unwrap_err();
        assert_eq!(reason("{\"title\":\"T\""), "the line is incomplete");
        assert_eq!(reason("[]"), "it is not an object");
        assert_eq!(reason("x"), "it is not JSON: column 1");
        assert!(reason(&format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000))).starts_with("it is not JSON"));
        assert!(reason("{\"title\":\"T\"}").contains("--body-field"));
    }
}
