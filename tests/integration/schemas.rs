//! JSON schemas, as far as this program's have anything in them.

use serde_json::Value;

/// Fails where a schema has a keyword that [`assert_valid`] does not know, so that none goes unchecked.
#[track_caller]
pub(crate) fn assert_well_formed(schema: &Value) {
    const KNOWN: [&str; 16] = [
        "$schema",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "default",
        "title",
    ];
    for (key, value) in schema.as_object().unwrap_or_else(|| panic!("{schema}")) {
        assert!(KNOWN.contains(&key.as_str()), "`{key}` in {schema}");
        match key.as_str() {
            "properties" => value.as_object().unwrap().values().for_each(assert_well_formed),
            "items" => assert_well_formed(value),
            "type" => assert!(
                ["object", "array", "string", "integer", "number", "boolean"].contains(&value.as_str().unwrap())
            ),
            "required" => {
                let named = value
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| schema["properties"].get(name.as_str().unwrap()).is_some());
                assert!(named, "{schema}");
            }
            _ => {}
        }
    }
}

/// Fails where a value is not as its schema says.
#[track_caller]
pub(crate) fn assert_valid(schema: &Value, value: &Value) {
    let is_of_type = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some(other) => panic!("{other}"),
    };
    assert!(is_of_type, "{value} beside {schema}");
    let size = match value {
        Value::String(text) => small(text.chars().count()),
        Value::Array(values) => small(values.len()),
        _ => value.as_f64().unwrap_or_default(),
    };
    for (key, is_least) in [
        ("minLength", true),
        ("minItems", true),
        ("minimum", true),
        ("maxLength", false),
        ("maxItems", false),
        ("maximum", false),
    ] {
        if let Some(bound) = schema[key].as_f64() {
            assert!(if is_least { size >= bound } else { size <= bound }, "{value}: {key}");
        }
    }
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{value} is none of {allowed:?}");
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{value} has no {name}");
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => assert_valid(schema, field),
            // What an answer has is described, whether the schema asks for that or not.
            None => panic!("`{name}` of {value} is in no schema"),
        }
    }
    for item in value.as_array().into_iter().flatten() {
        assert_valid(&schema["items"], item);
    }
}

/// Returns a length as a number that JSON has.
fn small(length: usize) -> f64 {
    u32::try_from(length).unwrap().into()
}
