//! Inserts a server into Codex's settings in TOML, and takes it out again.
//!
//! The text is parsed for the places of its values, and is never written from them.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::config_tree::ConfigTree;
use super::config_value::{ConfigValue, quoted};
use super::hook_line::OwnCommand;
use super::insertion::{Insertion, line_end};
use super::recognised::{Recognition, is_switched_off, presence_of};
use super::want::{Mark, Presence, Want};

/// The table of servers.
const SERVERS: &str = "mcp_servers";
/// The name of this program's server.
const NAME: &str = "ralph-memory";

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, String> {
    DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|line| format!(" on line {line}")).unwrap_or_default();
        format!("{}{line}", error.message())
    })
}

/// An entry: the place of its key, and its value.
type ServerEntry<'t, 'i> = (Range<usize>, &'t Spanned<DeValue<'i>>);

/// Returns the entry of the server.
fn server<'t, 'i>(root: &'t DeTable<'i>) -> Result<Option<ServerEntry<'t, 'i>>, String> {
    let Some(servers) = root.get(SERVERS) else { return Ok(None) };
    let DeValue::Table(servers) = servers.get_ref() else { return Err(format!("`{SERVERS}` is not a table")) };
    Ok(servers.iter().find(|(key, _)| key.get_ref() == NAME).map(|(key, value)| (key.span(), value)))
}

/// Returns what a file contains.
///
/// # Errors
///
/// Why the text cannot be read as TOML.
pub(super) fn tree(text: &str) -> Result<ConfigTree, String> {
    Ok(tree_of_table(parse(text)?.get_ref()))
}

fn tree_of_table(table: &DeTable<'_>) -> ConfigTree {
    ConfigTree::Map(table.iter().map(|(key, value)| (key.get_ref().to_string(), tree_of(value.get_ref()))).collect())
}

fn tree_of(value: &DeValue<'_>) -> ConfigTree {
    match value {
        DeValue::String(text) => ConfigTree::Text(text.to_string()),
        DeValue::Integer(number) => ConfigTree::Number(number.to_string()),
        DeValue::Float(number) => ConfigTree::Number(number.to_string()),
        DeValue::Boolean(flag) => ConfigTree::Flag(*flag),
        DeValue::Datetime(date) => ConfigTree::Number(date.to_string()),
        DeValue::Array(items) => ConfigTree::List(items.iter().map(|item| tree_of(item.get_ref())).collect()),
        DeValue::Table(table) => tree_of_table(table),
    }
}

/// Returns the server's entry.
pub(super) fn want(program: &OwnCommand) -> Want {
    let arguments = ConfigValue::List(vec![ConfigValue::text("mcp")]);
    let value = ConfigValue::Map(vec![("command", ConfigValue::Command(program.clone())), ("args", arguments)]);
    Want { path: vec![SERVERS], key: Some(NAME), value, mark: Mark::Server }
}

/// Returns what the file has in the place of the server.
///
/// # Errors
///
/// Why the text cannot be read as TOML, or what stands where a table should be.
pub(super) fn presence(text: &str, program: &OwnCommand, how: Recognition) -> Result<Presence, String> {
    let root = parse(text)?;
    let Some((_, entry)) = server(root.get_ref())? else { return Ok(Presence::Missing) };
    Ok(presence_of(&tree_of(entry.get_ref()), &want(program).value, how))
}

/// Returns whether the server is there, and switched off.
pub(super) fn is_off(text: &str) -> bool {
    let Ok(root) = parse(text) else { return false };
    matches!(server(root.get_ref()), Ok(Some((_, entry))) if is_switched_off(&tree_of(entry.get_ref())))
}

/// Returns the insertion of a server that is missing.
///
/// # Errors
///
/// Those of [`presence`], and how the file must be changed where its form takes no further table.
pub(super) fn insertion(text: &str, program: &OwnCommand) -> Result<Insertion, String> {
    let end = line_end(text);
    let before = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => format!("{end}{end}"),
    };
    let table =
        format!("{before}[{SERVERS}.{NAME}]{end}command = {}{end}args = [\"mcp\"]{end}", quoted(&program.text()));
    let inserted = Insertion::new(text.len(), table);
    let whole = format!("{text}{}", inserted.text);
    match presence(&whole, program, Recognition::Exact) {
        Ok(Presence::Present(_)) => Ok(inserted),
        _ => Err(format!("`{SERVERS}` is written on one line; write it as a table, `[{SERVERS}.NAME]`")),
    }
}

/// Returns the file without the server, if it is this program's.
///
/// # Errors
///
/// Those of [`presence`], and that the entry has a form in which it cannot be told from others.
pub(super) fn without(text: &str, program: &OwnCommand, how: Recognition) -> Result<Option<String>, String> {
    if !matches!(presence(text, program, how)?, Presence::Present(_)) {
        return Ok(None);
    }
    let root = parse(text)?;
    let Some((key, entry)) = server(root.get_ref())? else { return Ok(None) };
    let line_start = |offset: usize| text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line_stop = |offset: usize| text[offset..].find('\n').map_or(text.len(), |at| offset + at + 1);
    let mut start = line_start(key.start);
    let stop = line_stop(last_end(entry, key.end));
    // The empty line in front of the table is set-up's, too.
    for blank in ["\r\n", "\n"] {
        if text[..start].ends_with(&format!("{blank}{blank}")) {
            start -= blank.len();
            break;
        }
    }
    let shorter = format!("{}{}", &text[..start], &text[stop..]);
    // Nothing but the server is gone.
    match (tables_without_server(text), tables_without_server(&shorter)) {
        (Ok(old), Ok(new)) if old == new && presence(&shorter, program, how) == Ok(Presence::Missing) => {
            Ok(Some(shorter))
        }
        _ => Err(format!("the entry `{SERVERS}.{NAME}` is mixed with others; remove it by hand")),
    }
}

/// Returns where the last value of an entry ends, those of tables in it included.
fn last_end(value: &Spanned<DeValue<'_>>, least: usize) -> usize {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.iter().map(|(key, inner)| last_end(inner, key.span().end)).max(),
        _ => None,
    };
    inner.unwrap_or(0).max(value.span().end).max(least)
}

/// Returns everything but the server, for a comparison.
fn tables_without_server(text: &str) -> Result<toml::Table, String> {
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let servers = table.get_mut(SERVERS).and_then(toml::Value::as_table_mut);
    let is_empty = servers.is_some_and(|servers| {
        servers.remove(NAME);
        servers.is_empty()
    });
    if is_empty {
        table.remove(SERVERS);
    }
    Ok(table)
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
        let inserted = insertion(text, &own()).unwrap();
        format!("{text}{}", inserted.text)
    }

    #[test]
    fn a_server_is_added_at_the_end() {
        assert_eq!(set_up(""), "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\nargs = [\"mcp\"]\n");
        assert_eq!(
            set_up("# own\r\nmodel = \"x\"\r\n"),
            "# own\r\nmodel = \"x\"\r\n\r\n[mcp_servers.ralph-memory]\r\ncommand = \"ralph-memory\"\r\nargs = [\"mcp\"]\r\n"
        );
        for text in ["[mcp_servers.a]\ncommand = \"b\"", "mcp_servers.a.command = \"b\"\n", "[mcp_servers]\n"] {
            let after = set_up(text);
            assert_eq!(found(&after), Ok(Presence::Present(Some("ralph-memory".into()))), "{after}");
            assert_eq!(tables_without_server(&after).map(|table| table.contains_key(SERVERS)), Ok(text.contains('b')));
        }
    }

    #[test]
    fn a_file_that_takes_no_table_is_refused() {
        for (text, reason) in [
            ("mcp_servers = {}", "`mcp_servers` is written on one line; write it as a table, `[mcp_servers.NAME]`"),
            ("mcp_servers = 1", "`mcp_servers` is written on one line; write it as a table, `[mcp_servers.NAME]`"),
        ] {
            assert_eq!(insertion(text, &own()), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(found("mcp_servers = 1"), Err("`mcp_servers` is not a table".to_owned()));
        assert!(found("a = 1\na = 2\n").unwrap_err().ends_with(" on line 2"));
        assert_eq!(found("[mcp_servers.ralph-memory]\ncommand = \"other\"\n"), Ok(Presence::Taken));
    }

    #[test]
    fn a_server_is_taken_out_without_a_record() {
        let others = "# own\n[mcp_servers.a]\ncommand = \"b\"\n";
        let more = "\n[mcp_servers.z] # last\ncommand = \"\"\"\n[mcp_servers.ralph-memory]\n\"\"\"\n";
        for text in [set_up(others), format!("{}{more}", set_up(others)), set_up(&format!("{others}{more}"))] {
            let shorter = left(&text).unwrap().unwrap();
            assert_eq!(tables_without_server(&shorter), tables_without_server(&text), "{text}");
            assert!(shorter.starts_with(others), "{shorter}");
        }
        assert_eq!(left(&set_up(others)).unwrap().as_deref(), Some(others));
        let inline = "[mcp_servers]\nralph-memory = { command = \"/opt/ralph-memory\", args = [\"mcp\"] }\na = { command = \"b\" }\n";
        assert_eq!(left(inline).unwrap().unwrap(), "[mcp_servers]\na = { command = \"b\" }\n");
        let split = "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\nargs = [\"mcp\"]\n[x]\n[mcp_servers.ralph-memory.env]\n";
        assert!(left(split).unwrap_err().contains("mixed with others"));
        assert_eq!(left(others), Ok(None));
        let other = set_up(others).replace("args", "env = { A = \"1\" }\nargs");
        assert_eq!((found(&other), left(&other)), (Ok(Presence::Taken), Ok(None)));
        let switched = set_up(others).replace("args", "enabled = false\nargs");
        assert!(is_off(&switched) && left(&switched).unwrap().as_deref() == Some(others));
        assert_eq!(without(&switched, &own(), Recognition::Exact), Ok(None));
    }
}
