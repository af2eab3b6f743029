//! JSON schemas, as far as this program's have anything in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

/// `docs/json-schema.json`, which says how the answers of commands look.
pub(crate) static ANSWERS: LazyLock<Value> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json-schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
});

/// Fails if a schema has a keyword that [`assert_valid`] does not know, so that none goes unchecked.
#[track_caller]
pub(crate) fn assert_well_formed(schema: &Value) {
    const KNOWN: [&str; 22] = [
        "$defs",
        "$ref",
        "$schema",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "default",
        "description",
        "enum",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "properties",
        "required",
        "title",
        "type",
        "$comment",
    ];
    let Value::Object(keywords) = schema else { return assert!(schema.is_boolean(), "{schema}") };
    for (key, value) in keywords {
        assert!(KNOWN.contains(&key.as_str()), "`{key}` in {schema}");
        match key.as_str() {
            "properties" | "$defs" => value.as_object().unwrap().values().for_each(assert_well_formed),
            "allOf" | "anyOf" => value.as_array().unwrap().iter().for_each(assert_well_formed),
            "items" | "additionalProperties" => assert_well_formed(value),
            "type" => assert!(types(schema).iter().all(|name| {
                ["object", "array", "string", "integer", "number", "boolean", "null"].contains(&name.as_str().unwrap())
            })),
            "required" => {
                let named = |name: &Value| schema["properties"].get(name.as_str().unwrap()).is_some();
                assert!(value.as_array().unwrap().iter().all(named), "{schema}");
            }
            _ => {}
        }
    }
}

/// Fails if a value does not match its schema, or has a field that the schema lacks.
#[track_caller]
pub(crate) fn assert_valid(schema: &Value, value: &Value) {
    if let Err(fault) = check(schema, schema, value) {
        panic!("{fault}");
    }
}

/// Fails if an answer does not match the definition of this name in [`ANSWERS`].
#[track_caller]
pub(crate) fn assert_answer(name: &str, value: &Value) {
    let schema = ANSWERS["$defs"].get(name).unwrap_or_else(|| panic!("no schema for `{name}`: {value}"));
    if let Err(fault) = check(&ANSWERS, schema, value) {
        panic!("`{name}`: {fault}");
    }
}

/// Returns the violations of a value. References are to definitions of `root`.
fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    if let Value::Bool(anything) = schema {
        return if *anything { Ok(()) } else { Err(format!("nothing may stand there: {value}")) };
    }
    let parts = parts(root, schema);
    let mut described = BTreeMap::new();
    for part in &parts {
        check_part(root, part, value)?;
        described.extend(part["properties"].as_object().into_iter().flatten());
    }
    let others = parts.iter().find_map(|part| part.get("additionalProperties"));
    // What an alternative describes, it checks.
    let is_elsewhere = parts.iter().any(|part| part.get("anyOf").is_some());
    for (name, field) in value.as_object().into_iter().flatten() {
        match described.get(name).copied().or(others) {
            Some(schema) => check(root, schema, field).map_err(|fault| format!("`{name}`: {fault}"))?,
            None if is_elsewhere => {}
            // What an answer has is described, whether the schema asks for that or not.
            None => return Err(format!("`{name}` of {value} is in no schema")),
        }
    }
    Ok(())
}

/// Returns a schema and all that it is put together of.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut found = vec![schema];
    if let Some(name) = schema.get("$ref") {
        let name = name.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
        found.extend(parts(root, root["$defs"].get(name).unwrap_or_else(|| panic!("no definition `{name}`"))));
    }
    found.extend(schema["allOf"].as_array().into_iter().flatten().flat_map(|part| parts(root, part)));
    found
}

fn check_part(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let fault = |what: &str| Err(format!("{what}: {value} beside {schema}"));
    let is_of = |name: &&Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    };
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(is_of) {
        return fault("another type");
    }
    let size = match value {
        Value::String(text) => Some(small(text.chars().count())),
        Value::Array(values) => Some(small(values.len())),
        _ => value.as_f64(),
    };
    for (keys, is_least) in
        [(["minLength", "minItems", "minimum"], true), (["maxLength", "maxItems", "maximum"], false)]
    {
        for bound in keys.iter().filter_map(|key| schema[key].as_f64()) {
            if size.is_some_and(|size| if is_least { size < bound } else { size > bound }) {
                return fault("another size");
            }
        }
    }
    if schema["enum"].as_array().is_some_and(|allowed| !allowed.contains(value))
        || schema.get("const").is_some_and(|only| only != value)
    {
        return fault("another value");
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            return fault(&format!("no {name}"));
        }
    }
    for item in value.as_array().into_iter().flatten().filter(|_| schema.get("items").is_some()) {
        check(root, &schema["items"], item)?;
    }
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let faults: Vec<String> =
            alternatives.iter().filter_map(|alternative| check(root, alternative, value).err()).collect();
        if faults.len() == alternatives.len() {
            return Err(faults.join("; or "));
        }
    }
    Ok(())
}

/// Returns the types that a schema allows; none if it does not restrict them.
fn types(schema: &Value) -> Vec<&Value> {
    match &schema["type"] {
        Value::Array(types) => types.iter().collect(),
        Value::Null => Vec::new(),
        only => vec![only],
    }
}

/// Returns a length as a number that JSON has.
fn small(length: usize) -> f64 {
    u32::try_from(length).unwrap().into()
}
