//! Values that set-up writes into files of JSON, and their layout.

use std::fmt::Write as _;

use super::hook_line::OwnCommand;

/// A value, with its keys in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigValue {
    Text(String),
    /// A text that runs this program.
    Command(OwnCommand),
    Number(u32),
    Flag(bool),
    List(Vec<ConfigValue>),
    Map(Vec<(&'static str, ConfigValue)>),
}

/// How a value is laid out in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'a> {
    /// The line end; `None` writes all in one line.
    pub(super) line_end: Option<&'a str>,
    /// One step of indentation.
    pub(super) unit: &'a str,
}

impl ConfigValue {
    pub(super) fn text(text: impl Into<String>) -> ConfigValue {
        ConfigValue::Text(text.into())
    }

    /// Returns whether it runs this program by an entry in a file of the user's own.
    pub(super) fn is_of_user(&self) -> bool {
        match self {
            ConfigValue::Command(command) => command.is_users,
            ConfigValue::List(items) => items.iter().any(ConfigValue::is_of_user),
            _ => false,
        }
    }

    /// Returns the value as JSON. Its first line is not indented, and the others at least by `indent`.
    pub(super) fn to_json(&self, layout: Layout<'_>, indent: &str) -> String {
        let mut out = String::new();
        self.write(&mut out, layout, indent);
        out
    }

    fn write(&self, out: &mut String, layout: Layout<'_>, indent: &str) {
        match self {
            ConfigValue::Text(text) => out.push_str(&quoted(text)),
            ConfigValue::Command(command) => out.push_str(&quoted(&command.text())),
            ConfigValue::Number(number) => {
                let _ = write!(out, "{number}");
            }
            ConfigValue::Flag(flag) => {
                let _ = write!(out, "{flag}");
            }
            ConfigValue::List(items) => {
                let is_flat = !items.iter().any(|item| matches!(item, ConfigValue::List(_) | ConfigValue::Map(_)));
                let layout = if is_flat { Layout { line_end: None, ..layout } } else { layout };
                let write = |out: &mut String, item: &ConfigValue, indent: &str| item.write(out, layout, indent);
                write_items(out, ['[', ']'], items, layout, indent, write);
            }
            ConfigValue::Map(members) => {
                let write = |out: &mut String, (key, value): &(&str, ConfigValue), indent: &str| {
                    let _ = write!(out, "{}: ", quoted(key));
                    value.write(out, layout, indent);
                };
                write_items(out, ['{', '}'], members, layout, indent, write);
            }
        }
    }
}

fn write_items<Item>(
    out: &mut String,
    brackets: [char; 2],
    items: &[Item],
    layout: Layout<'_>,
    indent: &str,
    write: impl Fn(&mut String, &Item, &str),
) {
    let inner = format!("{indent}{}", layout.unit);
    out.push(brackets[0]);
    for (position, item) in items.iter().enumerate() {
        match layout.line_end {
            Some(line_end) => {
                let comma = if position > 0 { "," } else { "" };
                let _ = write!(out, "{comma}{line_end}{inner}");
            }
            None if position > 0 => out.push_str(", "),
            None => {}
        }
        write(out, item, &inner);
    }
    if let (Some(line_end), false) = (layout.line_end, items.is_empty()) {
        let _ = write!(out, "{line_end}{indent}");
    }
    out.push(brackets[1]);
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
        let value = ConfigValue::Map(vec![
            ("command", ConfigValue::text("a \"b\"")),
            ("args", ConfigValue::List(vec![ConfigValue::text("mcp"), ConfigValue::Number(1)])),
            ("list", ConfigValue::List(vec![ConfigValue::Map(vec![("on", ConfigValue::Flag(true))])])),
            ("empty", ConfigValue::Map(Vec::new())),
        ]);
        let one_line = Layout { line_end: None, unit: "  " };
        assert_eq!(
            value.to_json(one_line, "  "),
            r#"{"command": "a \"b\"", "args": ["mcp", 1], "list": [{"on": true}], "empty": {}}"#
        );
        let lines = Layout { line_end: Some("\r\n"), unit: "\t" };
        assert_eq!(
            value.to_json(lines, " "),
            "{\r\n \t\"command\": \"a \\\"b\\\"\",\r\n \t\"args\": [\"mcp\", 1],\r\n \t\"list\": [\r\n \t\t{\r\n \
             \t\t\t\"on\": true\r\n \t\t}\r\n \t],\r\n \t\"empty\": {}\r\n }"
        );
    }
}
