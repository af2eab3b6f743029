//! What a Qdrant server's filters let through, and which parts of a payload it gives.

use serde_json::{Map, Value, json};

/// Returns whether a filter accepts a point; an error describes what is wrong with the filter.
pub(super) fn lets_through(filter: &Value, id: &str, payload: &Value) -> Result<bool, String> {
    let Some(parts) = filter.as_object() else {
        return if filter.is_null() { Ok(true) } else { Err("a filter is no object".to_owned()) };
    };
    let mut is_through = true;
    for (name, conditions) in parts {
        let conditions = match conditions {
            Value::Array(conditions) => conditions.clone(),
            Value::Null => continue,
            one => vec![one.clone()],
        };
        let fulfilled: Vec<bool> =
            conditions.iter().map(|condition| fulfils(condition, id, payload)).collect::<Result<_, _>>()?;
        is_through &= match name.as_str() {
            "must" => fulfilled.iter().all(|is| *is),
            "must_not" => !fulfilled.iter().any(|is| *is),
            "should" => fulfilled.is_empty() || fulfilled.iter().any(|is| *is),
            other => return Err(format!("unknown field `{other}`")),
        };
    }
    Ok(is_through)
}

fn fulfils(condition: &Value, id: &str, payload: &Value) -> Result<bool, String> {
    let bad = || format!("no condition: {condition}");
    if let Some(ids) = condition.get("has_id") {
        return Ok(ids.as_array().ok_or_else(bad)?.iter().any(|known| known.as_str() == Some(id)));
    }
    if let Some(field) = condition.get("is_empty") {
        let value = &payload[field["key"].as_str().ok_or_else(bad)?];
        return Ok(value.is_null() || value.as_array().is_some_and(Vec::is_empty));
    }
    let Some(key) = condition.get("key") else { return lets_through(condition, id, payload) };
    let value = &payload[key.as_str().ok_or_else(bad)?];
    if let Some(range) = condition.get("range") {
        let Some(value) = value.as_f64() else { return Ok(false) };
        let holds = |name: &str, compare: fn(f64, f64) -> bool| {
            range.get(name).and_then(Value::as_f64).is_none_or(|bound| compare(value, bound))
        };
        return Ok(holds("gt", |one, other| one > other)
            && holds("gte", |one, other| one >= other)
            && holds("lt", |one, other| one < other)
            && holds("lte", |one, other| one <= other));
    }
    let matching = condition.get("match").ok_or_else(bad)?;
    if let Some(wanted) = matching.get("value") {
        return Ok(value == wanted);
    }
    Ok(matching.get("any").and_then(Value::as_array).ok_or_else(bad)?.contains(value))
}

/// Returns what of a payload is given: all, nothing, or some fields. `unless_said` holds where nothing is said.
pub(super) fn selected(selector: &Value, payload: &Value, unless_said: bool) -> Option<Value> {
    let only = |fields: &Vec<Value>| {
        let given = fields.iter().filter_map(Value::as_str);
        let given: Map<String, Value> =
            given.filter_map(|name| Some((name.to_owned(), payload.get(name)?.clone()))).collect();
        json!(given)
    };
    match selector {
        Value::Null => unless_said.then(|| payload.clone()),
        Value::Bool(is_wanted) => is_wanted.then(|| payload.clone()),
        Value::Array(fields) => Some(only(fields)),
        other => other.get("include").and_then(Value::as_array).map(only),
    }
}
