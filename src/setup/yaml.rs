//! Inserts a server into Goose's settings in YAML, and takes it out again, line by line.
//!
//! The lines are found by their indentation; a parser then checks that nothing but the server has changed.

use super::config_tree::ConfigTree;
use super::config_value::{ConfigValue, quoted};
use super::hook_line::OwnCommand;
use super::insertion::{Insertion, insert, line_end};
use super::recognised::{Recognition, is_switched_off, presence_of};
use super::want::{Mark, Presence, Want};

type Mapping = std::collections::BTreeMap<String, serde_yaml::Value>;

const SERVERS: &str = "extensions";
const NAME: &str = "ralph-memory";

fn parse(text: &str) -> Result<Mapping, String> {
    let parsed: Option<Mapping> = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    Ok(parsed.unwrap_or_default())
}

/// Returns what a file contains.
///
/// # Errors
///
/// Why the text cannot be read as YAML.
pub(super) fn tree(text: &str) -> Result<ConfigTree, String> {
    Ok(ConfigTree::Map(parse(text)?.iter().map(|(key, value)| (key.clone(), tree_of(value))).collect()))
}

fn tree_of(value: &serde_yaml::Value) -> ConfigTree {
    use serde_yaml::Value;
    match value {
        Value::Null => ConfigTree::Other,
        Value::Bool(flag) => ConfigTree::Flag(*flag),
        Value::Number(number) => ConfigTree::Number(number.to_string()),
        Value::String(text) => ConfigTree::Text(text.clone()),
        Value::Sequence(items) => ConfigTree::List(items.iter().map(tree_of).collect()),
        Value::Mapping(members) => {
            let key = |key: &Value| key.as_str().unwrap_or_default().to_owned();
            ConfigTree::Map(members.iter().map(|(name, value)| (key(name), tree_of(value))).collect())
        }
        Value::Tagged(tagged) => tree_of(&tagged.value),
    }
}

/// Returns the server's entry.
pub(super) fn want(program: &OwnCommand) -> Want {
    let value = ConfigValue::Map(vec![
        ("type", ConfigValue::text("stdio")),
        ("name", ConfigValue::text(NAME)),
        ("cmd", ConfigValue::Command(program.clone())),
        ("args", ConfigValue::List(vec![ConfigValue::text("mcp")])),
        ("enabled", ConfigValue::Flag(true)),
        ("timeout", ConfigValue::Number(300)),
    ]);
    Want { path: vec![SERVERS], key: Some(NAME), value, mark: Mark::Server }
}

/// Returns what the file has in the place of the server.
///
/// # Errors
///
/// Why the text cannot be read as YAML, or what stands where a mapping should be.
pub(super) fn presence(text: &str, program: &OwnCommand, how: Recognition) -> Result<Presence, String> {
    let Some(servers) = parse(text)?.remove(SERVERS) else { return Ok(Presence::Missing) };
    if servers.is_null() {
        return Ok(Presence::Missing);
    }
    let Some(servers) = servers.as_mapping() else { return Err(format!("`{SERVERS}` is not a mapping")) };
    let Some(entry) = servers.get(NAME) else { return Ok(Presence::Missing) };
    Ok(presence_of(&tree_of(entry), &want(program).value, how))
}

/// Returns whether the server is there, and switched off.
pub(super) fn is_off(text: &str) -> bool {
    let servers = parse(text).ok().and_then(|mut all| all.remove(SERVERS));
    servers.and_then(|servers| servers.get(NAME).map(tree_of)).is_some_and(|entry| is_switched_off(&entry))
}

/// Returns the insertion of a server that is missing.
///
/// # Errors
///
/// Those of [`presence`], and that the file has a form in which there is no line for another server.
pub(super) fn insertion(text: &str, program: &OwnCommand) -> Result<Insertion, String> {
    let end = line_end(text);
    let header = lines(text).find(|(_, line)| is_header(line));
    let (at, head, indent) = match header {
        None => {
            let before = if text.is_empty() || text.ends_with('\n') { "" } else { end };
            (text.len(), format!("{before}{SERVERS}:{end}"), "  ".to_owned())
        }
        Some((at, line)) => {
            let first = lines(&text[at + line.len()..]).find(|(_, line)| !is_blank(line));
            let indent = first.map(|(_, line)| &line[..line.len() - line.trim_start_matches(' ').len()]);
            let before = if line.ends_with('\n') { "" } else { end };
            let indent = indent.filter(|indent| !indent.is_empty()).unwrap_or("  ");
            (at + line.len(), before.to_owned(), indent.to_owned())
        }
    };
    let cmd = format!("cmd: {}", quoted(&program.text()));
    let fields = ["type: stdio", "name: ralph-memory", &cmd, "args: [mcp]", "enabled: true", "timeout: 300"];
    let fields: Vec<String> = fields.iter().map(|field| format!("{indent}{indent}{field}{end}")).collect();
    let fields = fields.concat();
    let inserted = Insertion::new(at, format!("{head}{indent}{NAME}:{end}{fields}"));
    let whole = insert(text, std::slice::from_ref(&inserted));
    let is_right = matches!(presence(&whole, program, Recognition::Exact), Ok(Presence::Present(_)))
        && others(&whole)? == others(text)?;
    if is_right { Ok(inserted) } else { Err(format!("`{SERVERS}` is not written with one server on its own lines")) }
}

/// Returns the file without the server, if it is this program's.
///
/// # Errors
///
/// Those of [`presence`], and that its lines cannot be told from others.
pub(super) fn without(text: &str, program: &OwnCommand, how: Recognition) -> Result<Option<String>, String> {
    if !matches!(presence(text, program, how)?, Presence::Present(_)) {
        return Ok(None);
    }
    let unclear = || format!("the lines of `{SERVERS}.{NAME}` cannot be told from others; remove them by hand");
    let (header, header_line) = lines(text).find(|(_, line)| is_header(line)).ok_or_else(unclear)?;
    let below = header + header_line.len();
    let (offset, line) = lines(&text[below..])
        .find(|(_, line)| line.trim().strip_suffix(':').is_some_and(|key| key.trim_matches(['"', '\'']) == NAME))
        .ok_or_else(unclear)?;
    let start = below + offset;
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let own = depth(line);
    let after = start + line.len();
    // Empty lines and comments behind it belong to what follows.
    let below_it = lines(&text[after..]).take_while(|(_, line)| is_blank(line) || depth(line) > own);
    let last = below_it.filter(|(_, line)| !is_blank(line)).last();
    let stop = last.map_or(after, |(at, line)| after + at + line.len());
    let mut shorter = format!("{}{}", &text[..start], &text[stop..]);
    if parse(&shorter)?.get(SERVERS).is_some_and(serde_yaml::Value::is_null) {
        shorter = format!("{}{}", &shorter[..header], &shorter[below..]);
    }
    if others(&shorter)? == others(text)? { Ok(Some(shorter)) } else { Err(unclear()) }
}

/// Returns everything but the server, for a comparison.
fn others(text: &str) -> Result<Mapping, String> {
    let mut all = parse(text)?;
    let is_empty = all.get_mut(SERVERS).is_some_and(|servers| {
        if let Some(servers) = servers.as_mapping_mut() {
            servers.remove(NAME);
        }
        servers.is_null() || servers.as_mapping().is_some_and(serde_yaml::Mapping::is_empty)
    });
    if is_empty {
        all.remove(SERVERS);
    }
    Ok(all)
}

/// Returns the lines, with their ends, and where each begins.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        offset += line.len();
        (offset - line.len(), line)
    })
}

fn is_header(line: &str) -> bool {
    let rest = line.strip_prefix(SERVERS).and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> OwnCommand {
        OwnCommand { program: NAME.to_owned(), is_users: true, hook: None }
    }

    fn found(text: &str) -> Result<Presence, String> {
        presence(text, &own(), Recognition::Runs)
    }

    fn left(text: &str) -> Result<Option<String>, String> {
        without(text, &own(), Recognition::Runs)
    }

    fn set_up(text: &str) -> String {
        insert(text, &[insertion(text, &own()).unwrap()])
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
            let with = set_up(text);
            assert_eq!(found(&with), Ok(Presence::Present(Some("ralph-memory".into()))), "{with}");
            let without = left(&with).unwrap().unwrap();
            assert_eq!(without.trim_end(), text.trim_end(), "{with}");
        }
        assert_eq!(
            set_up("extensions:\n  a:\n    enabled: true\n"),
            "extensions:\n  ralph-memory:\n    type: stdio\n    name: ralph-memory\n    cmd: \"ralph-memory\"\n    args: [mcp]\n    \
             enabled: true\n    timeout: 300\n  a:\n    enabled: true\n"
        );
    }

    #[test]
    fn a_file_of_another_form_is_refused() {
        assert!(insertion("extensions: {a: {enabled: true}}\n", &own()).is_err());
        assert_eq!(found("extensions: 1\n"), Err("`extensions` is not a mapping".to_owned()));
        assert!(found("a: [\n").is_err());
        assert_eq!(found("extensions:\n  ralph-memory:\n    cmd: other\n"), Ok(Presence::Taken));
        assert_eq!(left("extensions:\n  ralph-memory:\n    cmd: other\n"), Ok(None));
        let inline = "extensions: {ralph-memory: {name: ralph-memory, cmd: ralph-memory, args: [mcp]}}\n";
        assert!(left(inline).is_err());
        assert_eq!(left(&inline.replace("[mcp]", "[run]")), Ok(None));
    }
}
