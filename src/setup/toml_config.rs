//! Inserts a server into Codex's settings in TOML, and takes it out again.
//!
//! The text is parsed for the places of its values, and is never written from them.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::config_value::quoted;
use super::hook_line::is_own_program;
use super::insertion::{Insertion, line_end};
use super::want::Presence;

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

/// Returns what the file has in the place of the server.
///
/// # Errors
///
/// Why the text cannot be read as TOML, or what stands where a table should be.
pub(super) fn presence(text: &str) -> Result<Presence, String> {
    let root = parse(text)?;
    let Some((_, entry)) = server(root.get_ref())? else { return Ok(Presence::Missing) };
    let command = match entry.get_ref() {
        DeValue::Table(table) => table.get("command").and_then(|command| command.get_ref().as_str()),
        _ => None,
    };
    Ok(match command.filter(|command| is_own_program(command)) {
        Some(command) => Presence::Present(Some(command.to_owned())),
        None => Presence::Taken,
    })
}

/// Returns whether the server is there, and switched off.
pub(super) fn is_off(text: &str) -> bool {
    let Ok(root) = parse(text) else { return false };
    let Ok(Some((_, entry))) = server(root.get_ref()) else { return false };
    let DeValue::Table(entry) = entry.get_ref() else { return false };
    entry.get("enabled").is_some_and(|flag| matches!(flag.get_ref(), DeValue::Boolean(false)))
}

/// Returns the insertion of a server that is missing.
///
/// # Errors
///
/// Those of [`presence`], and how the file must be changed where its form takes no further table.
pub(super) fn insertion(text: &str, program: &str) -> Result<Insertion, String> {
    let end = line_end(text);
    let before = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => format!("{end}{end}"),
    };
    let table = format!("{before}[{SERVERS}.{NAME}]{end}command = {}{end}args = [\"mcp\"]{end}", quoted(program));
    let inserted = Insertion::new(text.len(), table);
    let whole = format!("{text}{}", inserted.text);
    match presence(&whole) {
        Ok(Presence::Present(_)) => Ok(inserted),
        _ => Err(format!("`{SERVERS}` is written on one line; write it as a table, `[{SERVERS}.NAME]`")),
    }
}

/// Returns whether the server is exactly the one that set-up writes for a program.
///
/// # Errors
///
/// Those of [`presence`].
pub(super) fn is_exact(text: &str, program: &str) -> Result<bool, String> {
    let server = |text: &str| -> Result<Option<toml::Value>, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(table.get(SERVERS).and_then(|servers| servers.get(NAME)).cloned())
    };
    Ok(server(text)? == server(&insertion("", program)?.text)?)
}

/// Returns the file without the server, if it is this program's.
///
/// # Errors
///
/// Those of [`presence`], and that the entry has a form in which it cannot be told from others.
pub(super) fn without(text: &str) -> Result<Option<String>, String> {
    if !matches!(presence(text)?, Presence::Present(_)) {
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
        (Ok(old), Ok(new)) if old == new && presence(&shorter) == Ok(Presence::Missing) => Ok(Some(shorter)),
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

    fn set_up(text: &str) -> String {
        let inserted = insertion(text, "ralph-memory").unwrap();
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
            assert_eq!(presence(&after), Ok(Presence::Present(Some("ralph-memory".into()))), "{after}");
            assert_eq!(tables_without_server(&after).map(|table| table.contains_key(SERVERS)), Ok(text.contains('b')));
        }
    }

    #[test]
    fn a_file_that_takes_no_table_is_refused() {
        for (text, reason) in [
            ("mcp_servers = {}", "`mcp_servers` is written on one line; write it as a table, `[mcp_servers.NAME]`"),
            ("mcp_servers = 1", "`mcp_servers` is written on one line; write it as a table, `[mcp_servers.NAME]`"),
        ] {
            assert_eq!(insertion(text, "ralph-memory"), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(presence("mcp_servers = 1"), Err("`mcp_servers` is not a table".to_owned()));
        assert!(presence("a = 1\na = 2\n").unwrap_err().ends_with(" on line 2"));
        assert_eq!(presence("[mcp_servers.ralph-memory]\ncommand = \"other\"\n"), Ok(Presence::Taken));
    }

    #[test]
    fn a_server_is_taken_out_without_a_record() {
        let others = "# own\n[mcp_servers.a]\ncommand = \"b\"\n";
        let more = "\n[mcp_servers.z] # last\ncommand = \"\"\"\n[mcp_servers.ralph-memory]\n\"\"\"\n";
        for text in [set_up(others), format!("{}{more}", set_up(others)), set_up(&format!("{others}{more}"))] {
            let shorter = without(&text).unwrap().unwrap();
            assert_eq!(tables_without_server(&shorter), tables_without_server(&text), "{text}");
            assert!(shorter.starts_with(others), "{shorter}");
        }
        assert_eq!(without(&set_up(others)).unwrap().as_deref(), Some(others));
        let inline = "[mcp_servers]\nralph-memory = { command = \"/opt/ralph-memory\" }\na = { command = \"b\" }\n";
        assert_eq!(without(inline).unwrap().unwrap(), "[mcp_servers]\na = { command = \"b\" }\n");
        let split =
            "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\n[x]\n[mcp_servers.ralph-memory.env]\nA = \"1\"\n";
        assert!(without(split).unwrap_err().contains("mixed with others"));
        assert_eq!(without(others), Ok(None));
    }
}
