//! The points in the responses of a Qdrant server, and the filters in its requests.
//!
//! A point is checked field by field: one that is broken or of another project does not hide the others.

use serde_json::{Map, Value, json};

use super::{ElsewhereMatch, Point, PointMatch, QdrantClient, StoredPoint, without_latest};
use crate::entry::Id;
use crate::index::TOKENS_VERSION;
use crate::search::semantic::ProjectHit;
use crate::text::{cut, for_terminal, one_line};

/// The fields of a point that a search reads.
pub(super) const FIELDS_OF_MATCH: [&str; 4] = ["entry", "number", "content", "project"];
/// The fields of a point that listing reads.
pub(super) const FIELDS_OF_STORED: [&str; 10] =
    ["entry", "number", "of", "content", "feature", "model", "project", "words", "title", "outdated"];
/// The fields that a search among other projects reads.
pub(super) const FIELDS_OF_OTHERS: [&str; 6] = ["project", "entry", "number", "content", "title", "excerpt"];
/// The longest name of another project, and of an entry of it, in bytes.
const MAX_NAME: usize = 200;

impl QdrantClient {
    /// Reads a point that was found, unless it is broken or of another project.
    #[expect(clippy::cast_possible_truncation, reason = "a cosine needs no more digits")]
    pub(super) fn read_match(&self, point: &Map<String, Value>) -> Option<PointMatch> {
        let payload = point.get("payload")?;
        // The server's cosines may exceed 1 by rounding, and no more.
        let score = point.get("score")?.as_f64().filter(|score| score.abs() <= 1.001)?;
        Some(PointMatch {
            entry: self.read_entry(payload)?,
            number: read_number(&payload["number"])?,
            content: read_content(payload)?,
            score: score.clamp(-1.0, 1.0) as f32,
        })
    }

    /// Reads a point of `collection`, unless it is broken or of another project.
    pub(super) fn read_stored(&self, point: &Map<String, Value>, collection: &str) -> Option<StoredPoint> {
        let payload = point.get("payload")?;
        let feature = payload["feature"].as_str().map(str::to_owned);
        Some(StoredPoint {
            entry: self.read_entry(payload)?,
            number: read_number(&payload["number"])?,
            of: read_number(&payload["of"])?,
            content: read_content(payload)?,
            is_in_place: self.home(feature.as_deref()) == collection,
            feature,
            model: without_latest(payload["model"].as_str()?).to_owned(),
            words: read_number(&payload["words"]).unwrap_or_default(),
            title: payload["title"].as_str().map(str::to_owned),
            is_outdated: payload["outdated"] == true,
        })
    }

    /// Reads a point of another project, unless it is broken or says that it is of this one. Anyone who may write to the
    /// server can have made it, so texts become short lines.
    pub(super) fn read_of_others(&self, point: &Map<String, Value>) -> Option<ElsewhereMatch> {
        let payload = point.get("payload")?;
        let project = payload["project"].as_str()?;
        let id = read_id(payload)?;
        // A name that looks like another one is none.
        let is_name = |name: &str| {
            !name.is_empty() && name.len() <= MAX_NAME && one_line(name) == name && for_terminal(name) == name
        };
        let line = |field: &str| payload[field].as_str().map(shown_line);
        (is_name(project) && is_name(id.as_str()) && project != self.settings.project).then_some(())?;
        let hit = ProjectHit {
            project: project.to_owned(),
            id,
            title: line("title"),
            excerpt: line("excerpt"),
            score: point.get("score")?.as_f64().filter(|score| score.is_finite())?,
        };
        Some(ElsewhereMatch { hit, number: read_number(&payload["number"])?, content: read_content(payload)? })
    }

    /// Reads the name of an entry of this project.
    fn read_entry(&self, payload: &Value) -> Option<Id> {
        (payload["project"].as_str()? == self.settings.project).then(|| read_id(payload))?
    }

    /// Returns the condition that a point is of this project.
    pub(super) fn own(&self) -> Value {
        is("project", &self.settings.project)
    }

    /// Returns what the server stores beside a point's vector.
    pub(super) fn payload(&self, point: &Point) -> Value {
        let mut payload = json!({
            "project": self.settings.project,
            "entry": point.entry.as_str(),
            "number": point.number,
            "of": point.of,
            "content": format!("{:016x}", point.content),
            "feature": point.feature,
            "kind": point.entry.kind().as_str(),
            "model": self.model,
            "words": TOKENS_VERSION,
            "outdated": point.is_outdated,
        });
        if let Some([title, excerpt]) = &point.shown {
            payload["title"] = json!(title);
            payload["excerpt"] = json!(excerpt);
        }
        payload
    }
}

/// Returns a text of a project as others see it.
pub(in crate::search::semantic) fn shown_line(text: &str) -> String {
    const MOST: usize = 300;
    cut(&one_line(text), MOST)
}

fn read_id(payload: &Value) -> Option<Id> {
    let text = payload["entry"].as_str()?;
    let entry = Id::of_path(&format!("{text}.md"))?;
    let is_plain = entry.as_str() == text && !text.contains(char::is_control);
    is_plain.then_some(entry)
}

fn read_number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn read_content(payload: &Value) -> Option<u64> {
    let text = payload["content"].as_str()?;
    // A sign would be accepted, too.
    let is_hash = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// Returns the condition that a field has a value.
pub(super) fn is(key: &str, value: &str) -> Value {
    json!({ "key": key, "match": { "value": value } })
}

/// Returns the condition that a field has one of some values.
pub(super) fn is_any(key: &str, values: &[&str]) -> Value {
    json!({ "key": key, "match": { "any": values } })
}
