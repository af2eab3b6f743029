//! What a Qdrant server's filters let through, and which parts of a payload it gives.

use serde_json::{Map, Value, json};

/// Returns whether a filter accepts a point; an error describes what is wrong with the filter.
pub(super) fn lets_through(filter: &Value, id: &str, payload: &Value) -> Result<bool, String> {
    let Some(parts) = filter.as_object() else {
        return if filter.is_null() { Ok(true) } else { Err("a filter is no object".to_owned()) };
    };
    // `must` comes before `must_not`, and one condition that fails is enough: the bench stores 100,000 points.
    for (name, conditions) in parts {
        let conditions = match conditions {
            Value::Array(conditions) => conditions,
            Value::Null => continue,
            one => std::slice::from_ref(one),
        };
        let wanted = match name.as_str() {
            "must" => true,
            "must_not" => false,
            other => return Err(format!("unknown field `{other}`")),
        };
        for condition in conditions {
            if fulfils(condition, id, payload)? != wanted {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn fulfils(condition: &Value, id: &str, payload: &Value) -> Result<bool, String> {
    let bad = || format!("no condition: {condition}");
    if let Some(ids) = condition.get("has_id") {
        return Ok(ids.as_array().ok_or_else(bad)?.iter().any(|known| known.as_str() == Some(id)));
    }
    let Some(key) = condition.get("key") else { return lets_through(condition, id, payload) };
    let value = &payload[key.as_str().ok_or_else(bad)?];
    let matching = condition.get("match").ok_or_else(bad)?;
    if let Some(wanted) = matching.get("value") {
        return Ok(value == wanted);
    }
    Ok(matching.get("any").and_then(Value::as_array).ok_or_else(bad)?.contains(value))
}

/// Returns the fields of a payload that are asked for.
pub(super) fn selected(fields: &Value, payload: &Value) -> Result<Value, String> {
    let fields = fields.as_array().ok_or("no list of fields")?.iter().filter_map(Value::as_str);
    let given = fields.filter_map(|name| Some((name.to_owned(), payload.get(name)?.clone())));
    Ok(json!(given.collect::<Map<String, Value>>()))
}
