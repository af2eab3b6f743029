//! JSON schemas of the arguments and answers of tools.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::refusal::unfit;

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

/// The longest unknown value that a message repeats, in bytes.
const MAX_REPEATED: usize = 60;

/// Checks the arguments of a call against the schema: their names, types and values, and the bounds of texts, numbers
/// and lists. A `null` is like an argument that is left out.
pub(super) fn check(schema: &JsonObject, arguments: &JsonObject) -> anyhow::Result<()> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for name in required {
        if arguments.get(name).is_none_or(Value::is_null) {
            return Err(unfit(format!("`{name}` is missing"), call_with(schema)));
        }
    }
    for (name, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
        let Some(rules) = properties.and_then(|properties| properties.get(name)) else {
            let name = if name.len() > MAX_REPEATED { "that name" } else { &format!("the name `{name}`") };
            return Err(unfit(format!("there is no argument of {name}"), call_with(schema)));
        };
        check_type(name, rules, value)?;
        let bound = |key: &str| rules.get(key).and_then(Value::as_f64);
        #[expect(clippy::cast_precision_loss, reason = "lengths that matter are far below it")]
        let (keys, size, what) = match value {
            Value::String(text) if bound("minLength").is_some() && text.trim().is_empty() => {
                return Err(unfit(format!("`{name}` is empty"), format!("give `{name}` some words")));
            }
            Value::String(text) => (["minLength", "maxLength"], text.chars().count() as f64, " characters"),
            Value::Array(values) => (["minItems", "maxItems"], values.len() as f64, " elements"),
            Value::Number(number) => (["minimum", "maximum"], number.as_f64().unwrap_or_default(), ""),
            _ => continue,
        };
        let (least, most) = (bound(keys[0]), bound(keys[1]));
        if least.is_some_and(|least| size < least) || most.is_some_and(|most| size > most) {
            let has = if what.is_empty() { "is" } else { "has" };
            let range = match (least, most) {
                (Some(least), Some(most)) => format!("from {least} to {most}{what}"),
                (_, Some(most)) => format!("at most {most}{what}"),
                (least, None) => format!("at least {}{what}", least.unwrap_or_default()),
            };
            return Err(unfit(format!("`{name}` {has} {size}{what}"), format!("give `{name}` {range}")));
        }
    }
    Ok(())
}

/// Checks the type of a value, its elements if it is a list, and whether it is one of the possible values.
fn check_type(name: &str, rules: &Value, value: &Value) -> anyhow::Result<()> {
    let (wanted, fits) = match rules.get("type").and_then(Value::as_str) {
        Some("string") => ("a text", value.is_string()),
        // Clients may write a whole number as `3.0`, which the argument's own type then refuses.
        Some("integer") => ("a whole number", value.is_u64() || value.is_i64()),
        Some("number") => ("a number", value.is_number()),
        Some("boolean") => ("true or false", value.is_boolean()),
        Some("array") => ("a list", value.is_array()),
        _ => return Ok(()),
    };
    if !fits {
        let brackets = if wanted == "a list" { " in brackets" } else { "" };
        let message = format!("`{name}` is {}, not {wanted}", kind(value));
        return Err(unfit(message, format!("give `{name}` {wanted}{brackets}")));
    }
    if let (Some(rules), Some(values)) = (rules.get("items"), value.as_array()) {
        for (index, value) in values.iter().enumerate() {
            check_type(&format!("{name}[{index}]"), rules, value)?;
        }
    }
    let possible = rules.get("enum").and_then(Value::as_array);
    if let Some(possible) = possible.filter(|possible| !possible.contains(value)) {
        let names: Vec<String> =
            possible.iter().filter_map(Value::as_str).map(|possible| format!("`{possible}`")).collect();
        let given = value.as_str().filter(|given| given.len() <= MAX_REPEATED);
        let given = given.map_or_else(|| "has an unknown value".to_owned(), |given| format!("cannot be `{given}`"));
        return Err(unfit(format!("`{name}` {given}"), format!("give `{name}` one of {}", names.join(", "))));
    }
    Ok(())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the hint that lists the parameters.
pub(super) fn call_with(schema: &JsonObject) -> String {
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

    #[test]
    fn arguments_keep_the_bounds_of_their_schema() {
        let schema = serde_json::json!({"properties": {
            "text": {"minLength": 1, "maxLength": 3}, "number": {"minimum": 1, "maximum": 5}, "list": {"maxItems": 1},
            "whole": {"type": "integer"}, "texts": {"type": "array", "items": {"type": "string"}},
            "how": {"type": "string", "enum": ["well", "badly"]},
        }, "required": ["text"]});
        let check = |arguments: Value, expected: Option<&str>| {
            let mut arguments = arguments;
            arguments.as_object_mut().unwrap().entry("text").or_insert_with(|| "x".into());
            let said = check(schema.as_object().unwrap(), arguments.as_object().unwrap());
            assert_eq!(said.err().map(|refusal| refusal.to_string()).as_deref(), expected, "{arguments}");
        };
        check(serde_json::json!({"text": "äöü", "number": 5, "list": [1], "whole": null}), None);
        check(serde_json::json!({"text": null}), Some("`text` is missing"));
        check(serde_json::json!({"other": 9}), Some("there is no argument of the name `other`"));
        check(serde_json::json!({"whole": "3"}), Some("`whole` is a text, not a whole number"));
        check(serde_json::json!({"whole": 1.5}), Some("`whole` is a number, not a whole number"));
        check(serde_json::json!({"texts": "a.rs"}), Some("`texts` is a text, not a list"));
        check(serde_json::json!({"texts": ["a", 1]}), Some("`texts[1]` is a number, not a text"));
        check(serde_json::json!({"how": "slowly"}), Some("`how` cannot be `slowly`"));
        check(serde_json::json!({"how": "x".repeat(61)}), Some("`how` has an unknown value"));
        check(serde_json::json!({"text": " "}), Some("`text` is empty"));
        check(serde_json::json!({"text": "abcd"}), Some("`text` has 4 characters"));
        check(serde_json::json!({"number": 0}), Some("`number` is 0"));
        check(serde_json::json!({"number": 5.5}), Some("`number` is 5.5"));
        check(serde_json::json!({"list": [1, 2]}), Some("`list` has 2 elements"));
    }
}
