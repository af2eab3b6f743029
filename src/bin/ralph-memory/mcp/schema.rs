//! JSON schemas of the arguments of tools.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the schema of a tool's arguments.
pub(super) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    // Some clients do not resolve references.
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    match schema {
        Value::Object(mut schema) => {
            // Names of this program's types mean nothing to clients, and the dialect is the protocol's default.
            for key in ["title", "description", "$schema"] {
                schema.remove(key);
            }
            Arc::new(schema)
        }
        _ => Arc::default(),
    }
}

/// Removes parts that some clients cannot handle: `null` for values that may be left out, and number formats that JSON
/// Schema does not define.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("format");
            if fields.get("default") == Some(&Value::Null) {
                fields.remove("default");
            }
            if let Some(Value::Array(values)) = fields.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            if let Some(Value::String(description)) = fields.get_mut("description") {
                // Comments have line breaks at arbitrary places.
                *description = description.replace('\n', " ");
            }
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Gives arguments the types of a tool's schema where they can mean only one thing: models write numbers and lists as text.
pub(super) fn fit(arguments: &mut JsonObject, schema: &JsonObject) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, value) in arguments {
        if let Some(property) = properties.get(name) {
            fit_value(value, property);
        }
    }
}

fn fit_value(value: &mut Value, schema: &Value) {
    let fitted = match (schema["type"].as_str(), &*value) {
        (Some("array"), Value::String(text)) => {
            let is_list = text.trim_start().starts_with('[');
            let listed = || serde_json::from_str(text).ok().filter(Value::is_array);
            // With a comma it may be one item or several.
            let alone = || (!text.trim().is_empty() && !text.contains([',', '\n'])).then(|| json!([text.trim()]));
            if is_list { listed() } else { alone() }
        }
        (Some("string"), Value::Number(number)) => Some(number.to_string().into()),
        (Some("boolean"), Value::String(text)) => text.trim().to_lowercase().parse::<bool>().ok().map(Value::from),
        (Some("integer" | "number"), Value::String(text)) => {
            serde_json::from_str(text.trim()).ok().filter(Value::is_number)
        }
        _ => None,
    };
    if let Some(fitted) = fitted {
        *value = fitted;
    }
    for item in value.as_array_mut().into_iter().flatten() {
        fit_value(item, &schema["items"]);
    }
    // `3.0`, of a size at which floats are exact.
    let whole = value.as_f64().filter(|whole| value.is_f64() && whole.fract() == 0.0 && whole.abs() < 9e15);
    if let Some(whole) = whole.filter(|_| schema["type"] == "integer") {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole")]
        let whole = whole as i64;
        *value = whole.into();
    }
}

/// Says what an argument has to be, and what it is.
pub(super) fn misfit<T: JsonSchema>(name: &str, given: &Value) -> Option<String> {
    let mut wanted = input::<T>().get("properties")?.get(name)?.clone();
    wanted.as_object_mut()?.remove("description");
    Some(format!("{name} has to be {wanted}, and is {given}"))
}

/// Returns the hint that lists the arguments.
pub(super) fn call_with<T: JsonSchema>() -> String {
    let schema = input::<T>();
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(JsonObject::keys);
    let shown =
        names.map(|name| if required.contains(&name.as_str()) { format!("{name} (required)") } else { name.clone() });
    format!("call it with {}", shown.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_mean_only_one_thing_are_taken() {
        let schema = json!({"properties": {
            "list": {"type": "array", "items": {"type": "string"}}, "count": {"type": "integer"},
            "share": {"type": "number"}, "is": {"type": "boolean"}, "text": {"type": "string"},
        }});
        let rows = [
            ("list", json!("[\"a\",\"b\"]"), json!(["a", "b"])),
            ("list", json!(" [\"a\", \"b\"] "), json!(["a", "b"])),
            ("list", json!("a"), json!(["a"])),
            ("list", json!("[]"), json!([])),
            ("count", json!("3"), json!(3)),
            ("count", json!(3.0), json!(3)),
            ("count", json!(" 3.0 "), json!(3)),
            ("share", json!("0.5"), json!(0.5)),
            ("is", json!("True"), json!(true)),
            ("list", json!(["a", 7]), json!(["a", "7"])),
            ("list", json!("[\"a\", 7]"), json!(["a", "7"])),
            ("text", json!(12), json!("12")),
            // These may mean several things, or nothing.
            ("list", json!("a, b"), json!("a, b")),
            ("list", json!("[a"), json!("[a")),
            ("list", json!(""), json!("")),
            ("list", json!({"a": 1}), json!({"a": 1})),
            ("count", json!("three"), json!("three")),
            ("count", json!(3.5), json!(3.5)),
            ("count", json!(1e300), json!(1e300)),
            ("is", json!("1"), json!("1")),
            ("list", json!(["a", {}]), json!(["a", {}])),
            ("text", json!(["a"]), json!(["a"])),
            ("text", json!("[1]"), json!("[1]")),
            ("other", json!("3"), json!("3")),
        ];
        for (name, given, expected) in rows {
            let mut arguments = JsonObject::from_iter([(name.to_owned(), given.clone())]);
            fit(&mut arguments, schema.as_object().unwrap());
            assert_eq!(arguments[name], expected, "{name} {given}");
        }
    }

    #[test]
    fn optional_values_are_not_nullable() {
        #[derive(serde::Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema is made")]
        struct Sample {
            /// Needed
            a: String,
            /// Not needed
            #[schemars(range(min = 1, max = 5))]
            b: Option<u32>,
        }
        assert_eq!(
            Value::Object(input::<Sample>().as_ref().clone()),
            serde_json::json!({
                "type": "object",
                "properties": {
                    "a": {"description": "Needed", "type": "string"},
                    "b": {"description": "Not needed", "type": "integer", "minimum": 1, "maximum": 5},
                },
                "required": ["a"],
            })
        );
    }
}
