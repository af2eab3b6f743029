//! JSON schemas of the arguments of tools.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

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
