//! JSON schemas of the arguments and answers of tools.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::refusal::Unfit;

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

/// Checks the arguments of a call against the schema's bounds for texts, numbers and lists. The caller checks types.
pub(super) fn check(schema: &JsonObject, arguments: &JsonObject) -> Result<(), Unfit> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in arguments {
        let Some(rules) = properties.and_then(|properties| properties.get(name)) else { continue };
        let bound = |key: &str| rules.get(key).and_then(Value::as_f64);
        #[expect(clippy::cast_precision_loss, reason = "lengths that matter are far below it")]
        let (keys, size, what) = match value {
            Value::String(text) if bound("minLength").is_some() && text.trim().is_empty() => {
                return Err(Unfit { message: format!("`{name}` is empty"), hint: format!("give `{name}` some words") });
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
            let message = format!("`{name}` {has} {size}{what}");
            return Err(Unfit { message, hint: format!("give `{name}` {range}") });
        }
    }
    Ok(())
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
        }});
        let check = |arguments: Value, expected: Option<&str>| {
            let said = check(schema.as_object().unwrap(), arguments.as_object().unwrap());
            assert_eq!(said.err().map(|unfit| unfit.message).as_deref(), expected, "{arguments}");
        };
        check(serde_json::json!({"text": "äöü", "number": 5, "list": [1], "other": 9}), None);
        check(serde_json::json!({"text": null, "number": "x"}), None);
        check(serde_json::json!({"text": " "}), Some("`text` is empty"));
        check(serde_json::json!({"text": "abcd"}), Some("`text` has 4 characters"));
        check(serde_json::json!({"number": 0}), Some("`number` is 0"));
        check(serde_json::json!({"number": 5.5}), Some("`number` is 5.5"));
        check(serde_json::json!({"list": [1, 2]}), Some("`list` has 2 elements"));
    }
}
