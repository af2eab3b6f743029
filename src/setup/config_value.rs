//! A value in a client's file, in any format: what is there, and what setup writes.

/// A value with its members in order, including one that occurs twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigValue {
    /// Nothing, or a value of a kind that setup does not write.
    Null,
    Flag(bool),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<ConfigValue>),
    Map(Vec<(String, ConfigValue)>),
}

impl ConfigValue {
    pub(super) fn text(text: impl Into<String>) -> ConfigValue {
        ConfigValue::Text(text.into())
    }

    pub(super) fn map<'t>(members: impl IntoIterator<Item = (&'t str, ConfigValue)>) -> ConfigValue {
        ConfigValue::Map(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Returns the values of all members of this name.
    pub(super) fn members<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'t ConfigValue> {
        let members = if let ConfigValue::Map(members) = self { &members[..] } else { &[] };
        members.iter().filter(move |(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns all texts in it, apart from those under the key `matcher`, which only say when a hook runs.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            ConfigValue::Text(text) => vec![text],
            ConfigValue::List(items) => items.iter().flat_map(ConfigValue::texts).collect(),
            ConfigValue::Map(members) => {
                members.iter().filter(|(key, _)| key != "matcher").flat_map(|(_, value)| value.texts()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            ConfigValue::Null => true,
            ConfigValue::Text(text) => text.is_empty(),
            ConfigValue::List(items) => items.is_empty(),
            ConfigValue::Map(members) => members.is_empty(),
            ConfigValue::Number(_) | ConfigValue::Flag(_) => false,
        }
    }

    /// Returns the value as JSON: over several lines with this line end and this step of indentation, or else on one
    /// line. The first line is not indented; the others are indented at least by `indent`.
    pub(super) fn to_json(&self, lines: Option<(&str, &str)>, indent: &str) -> String {
        let is_nested = |item: &ConfigValue| matches!(item, ConfigValue::List(_) | ConfigValue::Map(_));
        let is_flat = matches!(self, ConfigValue::List(items) if !items.iter().any(is_nested));
        let lines = lines.filter(|_| !is_flat);
        let inner = lines.map(|(_, unit)| format!("{indent}{unit}")).unwrap_or_default();
        let (brackets, items): (_, Vec<String>) = match self {
            ConfigValue::Null => return "null".to_owned(),
            ConfigValue::Flag(flag) => return flag.to_string(),
            ConfigValue::Number(number) => return number.clone(),
            ConfigValue::Text(text) => return quoted(text),
            ConfigValue::List(items) => (["[", "]"], items.iter().map(|item| item.to_json(lines, &inner)).collect()),
            ConfigValue::Map(members) => {
                let member = |(key, value): &(String, ConfigValue)| {
                    let value = value.to_json(lines, &inner);
                    format!("{}: {value}", quoted(key))
                };
                (["{", "}"], members.iter().map(member).collect())
            }
        };
        let [open, close] = brackets;
        match lines.filter(|_| !items.is_empty()) {
            None => format!("{open}{}{close}", items.join(", ")),
            Some((line_end, _)) => {
                let between = format!("{line_end}{inner}");
                let items = items.join(&format!(",{between}"));
                format!("{open}{between}{items}{line_end}{indent}{close}")
            }
        }
    }
}

/// Returns a text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_laid_out() {
        let value = ConfigValue::map([
            ("command", ConfigValue::text("a \"b\"")),
            ("args", ConfigValue::List(vec![ConfigValue::text("mcp"), ConfigValue::Number("1".into())])),
            ("list", ConfigValue::List(vec![ConfigValue::map([("on", ConfigValue::Flag(true))])])),
            ("empty", ConfigValue::map([])),
        ]);
        assert_eq!(
            value.to_json(None, "  "),
            r#"{"command": "a \"b\"", "args": ["mcp", 1], "list": [{"on": true}], "empty": {}}"#
        );
        assert_eq!(
            value.to_json(Some(("\r\n", "\t")), " "),
            "{\r\n \t\"command\": \"a \\\"b\\\"\",\r\n \t\"args\": [\"mcp\", 1],\r\n \t\"list\": [\r\n \t\t{\r\n \
             \t\t\t\"on\": true\r\n \t\t}\r\n \t],\r\n \t\"empty\": {}\r\n }"
        );
    }
}
