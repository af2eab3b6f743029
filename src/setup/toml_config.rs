//! Inserts a server into settings in TOML, and removes it again.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::config_value::ConfigValue;
use super::lines::{line_end, with_empty_line};
use super::want::Want;

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, String> {
    DeTable::parse(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|line| format!(" on line {line}")).unwrap_or_default();
        format!("{}{line}", error.message())
    })
}

/// Returns what a file contains.
///
/// # Errors
///
/// Why the text cannot be read as TOML.
pub(super) fn tree(text: &str) -> Result<ConfigValue, String> {
    Ok(tree_of_table(parse(text)?.get_ref()))
}

fn tree_of_table(table: &DeTable<'_>) -> ConfigValue {
    ConfigValue::Map(table.iter().map(|(key, value)| (key.get_ref().to_string(), tree_of(value.get_ref()))).collect())
}

fn tree_of(value: &DeValue<'_>) -> ConfigValue {
    match value {
        DeValue::String(text) => ConfigValue::text(text.as_ref()),
        DeValue::Integer(number) => ConfigValue::Number(number.to_string()),
        DeValue::Float(number) => ConfigValue::Number(number.to_string()),
        DeValue::Boolean(flag) => ConfigValue::Flag(*flag),
        DeValue::Datetime(date) => ConfigValue::Number(date.to_string()),
        DeValue::Array(items) => ConfigValue::List(items.iter().map(|item| tree_of(item.get_ref())).collect()),
        DeValue::Table(table) => tree_of_table(table),
    }
}

/// Returns the file with a table of a server at its end.
pub(super) fn with(text: &str, want: &Want) -> String {
    let end = line_end(text);
    let before = match text {
        "" => String::new(),
        text if text.ends_with('\n') => end.to_owned(),
        _ => end.repeat(2),
    };
    let mut made = format!("{text}{before}[{}]{end}", want.keys().join("."));
    if let ConfigValue::Map(members) = &want.value {
        // These strings and lists are written as in JSON.
        made.extend(members.iter().map(|(key, value)| format!("{key} = {}{end}", value.to_json(None, ""))));
    }
    made
}

/// Returns the file without the lines of a server.
pub(super) fn without(text: &str, want: &Want) -> Option<String> {
    let root = parse(text).ok()?;
    let mut place = None;
    let mut table = root.get_ref();
    for name in &want.keys() {
        let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
        place = Some((key.span(), value));
        if let DeValue::Table(inner) = value.get_ref() {
            table = inner;
        }
    }
    let (key, entry) = place?;
    let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
    let last = last_end(entry, key.end);
    let stop = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
    Some(format!("{}{}", &text[..with_empty_line(text, start)], &text[stop..]))
}

/// Returns where the last value of an entry ends, those of tables in it included.
fn last_end(value: &Spanned<DeValue<'_>>, least: usize) -> usize {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.iter().map(|(key, inner)| last_end(inner, key.span().end)).max(),
        _ => None,
    };
    inner.unwrap_or(0).max(value.span().end).max(least)
}

#[cfg(test)]
mod tests {
    use super::super::format::ConfigFormat::Toml;
    use super::super::recognised::Recognition::{Exact, Runs};
    use super::super::recognised::{is_off, presence};
    use super::super::table::files;
    use super::super::want::Presence;
    use super::super::{SetupClient, SetupOptions, SetupScope};
    use super::*;

    fn own() -> Want {
        let files = files(SetupClient::Codex, SetupScope::User, "ralph-memory", SetupOptions::default());
        files[0].content.wants()[0].clone()
    }

    fn found(text: &str) -> Result<Presence, String> {
        presence(&Toml.tree(text)?, &own(), Runs)
    }

    fn left(text: &str) -> Result<Option<String>, String> {
        Toml.without(text, &own(), Runs)
    }

    fn set_up(text: &str) -> String {
        Toml.with(text, &own()).unwrap()
    }

    #[test]
    fn a_server_is_added_at_the_end() {
        assert_eq!(set_up(""), "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\nargs = [\"mcp\"]\n");
        assert_eq!(
            set_up("# own\r\nmodel = \"x\"\r\n"),
            "# own\r\nmodel = \"x\"\r\n\r\n[mcp_servers.ralph-memory]\r\ncommand = \"ralph-memory\"\r\nargs = [\"mcp\"]\r\n"
        );
        for text in ["[mcp_servers.a]\ncommand = \"b\"", "mcp_servers.a.command = \"b\"\n", "[mcp_servers]\n"] {
            assert_eq!(found(&set_up(text)), Ok(Presence::Present(Some("ralph-memory".into()))), "{text}");
        }
    }

    #[test]
    fn a_file_that_takes_no_table_is_refused() {
        let reason = "`mcp_servers` is written on one line; write it as a table, `[mcp_servers.NAME]`";
        for text in ["mcp_servers = {}", "mcp_servers = 1"] {
            assert_eq!(Toml.with(text, &own()), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(found("mcp_servers = 1"), Err("`mcp_servers` is not an object".to_owned()));
        assert!(found("a = 1\na = 2\n").unwrap_err().ends_with(" on line 2"));
        assert_eq!(found("[mcp_servers.ralph-memory]\ncommand = \"other\"\n"), Ok(Presence::Taken));
    }

    #[test]
    fn a_server_is_taken_out_without_a_record() {
        let others = "# own\n[mcp_servers.a]\ncommand = \"b\"\n";
        let more = "\n[mcp_servers.z] # last\ncommand = \"\"\"\n[mcp_servers.ralph-memory]\n\"\"\"\n";
        let both = format!("{others}{more}");
        for (text, expected) in
            [(set_up(others), others), (format!("{}{more}", set_up(others)), &both), (set_up(&both), &both)]
        {
            assert_eq!(left(&text).unwrap().as_deref(), Some(expected));
        }
        let inline = "[mcp_servers]\nralph-memory = { command = \"/opt/ralph-memory\", args = [\"mcp\"] }\na = { command = \"b\" }\n";
        assert_eq!(left(inline).unwrap().unwrap(), "[mcp_servers]\na = { command = \"b\" }\n");
        let split = "[mcp_servers.ralph-memory]\ncommand = \"ralph-memory\"\nargs = [\"mcp\"]\n[x]\n[mcp_servers.ralph-memory.env]\n";
        assert!(left(split).unwrap_err().contains("mixed with others"));
        assert_eq!(left(others), Ok(None));
        let other = set_up(others).replace("args", "env = { A = \"1\" }\nargs");
        assert_eq!((found(&other), left(&other)), (Ok(Presence::Taken), Ok(None)));
        let switched = set_up(others).replace("args", "enabled = false\nargs");
        assert!(is_off(&Toml.tree(&switched).unwrap(), &own()));
        assert_eq!(left(&switched).unwrap().as_deref(), Some(others));
        assert_eq!(Toml.without(&switched, &own(), Exact), Ok(None));
    }
}
