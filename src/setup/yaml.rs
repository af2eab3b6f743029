//! Inserts a server into settings in YAML, and removes it again, line by line: the lines are found by their
//! indentation.

use serde_yaml::Value;

use super::config_value::ConfigValue;
use super::lines::line_end;
use super::want::Want;

/// Returns what a file contains.
///
/// # Errors
///
/// Why the text cannot be read as YAML.
pub(super) fn tree(text: &str) -> Result<ConfigValue, String> {
    let parsed: Option<std::collections::BTreeMap<String, Value>> =
        serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let members = parsed.unwrap_or_default();
    Ok(ConfigValue::Map(members.iter().map(|(key, value)| (key.clone(), tree_of(value))).collect()))
}

fn tree_of(value: &Value) -> ConfigValue {
    match value {
        Value::Null => ConfigValue::Null,
        Value::Bool(flag) => ConfigValue::Flag(*flag),
        Value::Number(number) => ConfigValue::Number(number.to_string()),
        Value::String(text) => ConfigValue::text(text),
        Value::Sequence(items) => ConfigValue::List(items.iter().map(tree_of).collect()),
        Value::Mapping(members) => {
            let key = |key: &Value| key.as_str().unwrap_or_default().to_owned();
            ConfigValue::Map(members.iter().map(|(name, value)| (key(name), tree_of(value))).collect())
        }
        Value::Tagged(tagged) => tree_of(&tagged.value),
    }
}

/// Returns the file with the lines of a server, in front of the others.
pub(super) fn with(text: &str, want: &Want) -> String {
    let end = line_end(text);
    let (servers, name) = names(want);
    let header = lines(text).find(|(_, line)| is_header(line, servers));
    let (at, head, indent) = match header {
        None => {
            let before = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            (text.len(), format!("{before}{servers}:{end}"), "  ")
        }
        Some((at, line)) => {
            let first = lines(&text[at + line.len()..]).find(|(_, line)| !is_blank(line));
            let indent = first.map(|(_, line)| &line[..depth(line)]).filter(|indent| !indent.is_empty());
            let before = if line.ends_with('\n') { "" } else { end };
            (at + line.len(), before.to_owned(), indent.unwrap_or("  "))
        }
    };
    let mut entry = format!("{head}{indent}{name}:{end}");
    if let ConfigValue::Map(members) = &want.value {
        // YAML reads values that are written as in JSON.
        let line =
            |(key, value): &(String, ConfigValue)| format!("{indent}{indent}{key}: {}{end}", value.to_json(None, ""));
        entry.extend(members.iter().map(line));
    }
    format!("{}{entry}{}", &text[..at], &text[at..])
}

/// Returns the file without the lines of a server.
pub(super) fn without(text: &str, want: &Want) -> Option<String> {
    let (servers, name) = names(want);
    let (header, header_line) = lines(text).find(|(_, line)| is_header(line, servers))?;
    let below = header + header_line.len();
    let is_entry = |line: &str| line.trim().strip_suffix(':').is_some_and(|key| key.trim_matches(['"', '\'']) == name);
    let (offset, line) = lines(&text[below..]).find(|(_, line)| is_entry(line))?;
    let start = below + offset;
    let after = start + line.len();
    // Empty lines and comments after it belong to what follows.
    let below_it = lines(&text[after..]).take_while(|(_, below)| is_blank(below) || depth(below) > depth(line));
    let last = below_it.filter(|(_, line)| !is_blank(line)).last();
    let stop = last.map_or(after, |(at, line)| after + at + line.len());
    let shorter = format!("{}{}", &text[..start], &text[stop..]);
    let is_left_empty = tree(&shorter).ok()?.members(servers).any(|servers| *servers == ConfigValue::Null);
    Some(if is_left_empty { format!("{}{}", &shorter[..header], &shorter[below..]) } else { shorter })
}

/// Returns the key of the servers, and the server's.
fn names(want: &Want) -> (&'static str, &'static str) {
    (want.path.first().copied().unwrap_or_default(), want.key.unwrap_or_default())
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the lines, with their ends, and where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        offset += line.len();
        (offset - line.len(), line)
    })
}

fn is_header(line: &str, servers: &str) -> bool {
    let rest = line.strip_prefix(servers).and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::super::format::ConfigFormat::Yaml;
    use super::super::recognised::{Recognition::Runs, presence};
    use super::super::table::files;
    use super::super::want::Presence;
    use super::super::{SetupClient, SetupOptions, SetupScope};
    use super::*;

    fn own() -> Want {
        let files = files(SetupClient::Goose, SetupScope::User, "ralph-memory", SetupOptions::default());
        files[0].content.wants()[0].clone()
    }

    fn found(text: &str) -> Result<Presence, String> {
        presence(&Yaml.tree(text)?, &own(), Runs)
    }

    fn left(text: &str) -> Result<Option<String>, String> {
        Yaml.without(text, &own(), Runs)
    }

    #[test]
    fn a_server_is_added_and_taken_out() {
        for text in [
            "",
            "# own\nGOOSE_MODEL: x\n",
            "GOOSE_MODEL: x",
            "extensions:\n  developer:\n    enabled: true\n    type: builtin\nGOOSE_MODEL: x\n",
            "extensions: # mine\r\n    developer:\r\n        enabled: true\r\n",
            "a: 1\nextensions:\n\n  # first\n  developer:\n    enabled: true\n",
        ] {
            let with = Yaml.with(text, &own()).unwrap();
            assert_eq!(found(&with), Ok(Presence::Present(Some("ralph-memory".into()))), "{with}");
            let without = left(&with).unwrap().unwrap();
            assert_eq!(without.trim_end(), text.trim_end(), "{with}");
        }
        assert_eq!(
            Yaml.with("extensions:\n  a:\n    enabled: true\n", &own()).unwrap(),
            "extensions:\n  ralph-memory:\n    type: \"stdio\"\n    name: \"ralph-memory\"\n    \
             cmd: \"ralph-memory\"\n    args: [\"mcp\"]\n    enabled: true\n    timeout: 300\n  a:\n    enabled: true\n"
        );
    }

    #[test]
    fn a_file_of_another_form_is_refused() {
        assert!(Yaml.with("extensions: {a: {enabled: true}}\n", &own()).is_err());
        assert_eq!(found("extensions: 1\n"), Err("`extensions` is not an object".to_owned()));
        assert!(found("a: [\n").is_err());
        assert_eq!(found("extensions:\n  ralph-memory:\n    cmd: other\n"), Ok(Presence::Taken));
        assert_eq!(left("extensions:\n  ralph-memory:\n    cmd: other\n"), Ok(None));
        let inline = "extensions: {ralph-memory: {name: ralph-memory, cmd: ralph-memory, args: [mcp]}}\n";
        assert!(left(inline).is_err());
        assert_eq!(left(&inline.replace("[mcp]", "[run]")), Ok(None));
        // The name says nothing of what runs.
        assert_eq!(found(&inline.replace("name: ralph-memory", "name: /opt/ralph-memory")), Ok(Presence::Taken));
    }
}
