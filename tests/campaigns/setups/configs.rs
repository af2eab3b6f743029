//! Configuration files of other people, and what must hold for each when setup has been there.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::random::Random;

/// A file as others left it.
pub(crate) struct Config {
    pub(crate) text: String,
    /// Its values, if it has any.
    value: Value,
    /// Whether somebody has written by hand exactly what setup would write. Only the record knows that.
    pub(crate) is_exact_by_hand: bool,
    /// Whether it has an entry that looks like one of setup's and runs something else.
    pub(crate) is_imitation: bool,
}

/// How a file of JSON is written.
struct Style {
    /// Empty for a file of one line.
    indent: &'static str,
    line_end: &'static str,
    comments: bool,
    colon: &'static str,
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Returns whether a client's own reader refuses comments.
fn is_strict(path: &Path) -> bool {
    let shown = path.to_str().unwrap();
    shown.contains(".claude/")
        || shown.ends_with("project/.mcp.json")
        || shown.ends_with(".codex/hooks.json")
        || shown.ends_with(".cursor/hooks.json")
}

impl Config {
    /// Makes a file for a place where setup would write `own` if there were none.
    pub(crate) fn generate(path: &Path, own: &str, random: &mut Random) -> Config {
        let bom = if random.below(8) == 0 { "\u{feff}" } else { "" };
        let line_end = *random.pick(&["\n", "\n", "\r\n"]);
        let lines = |lines: &[&str], random: &mut Random| {
            let mut text: String = lines.iter().flat_map(|line| [*line, line_end]).collect();
            if random.below(4) == 0 {
                text.truncate(text.trim_end().len());
            }
            text
        };
        let imitates = random.below(2) == 0;
        let (text, value) = match extension(path) {
            "toml" => {
                let text = lines(random.pick::<&[&str]>(&TOML[usize::from(!imitates)..]), random);
                let value = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
                (text, value)
            }
            "yaml" => {
                let text = lines(random.pick::<&[&str]>(&YAML[usize::from(!imitates)..]), random);
                let value = serde_yaml::from_str(&text).unwrap();
                (text, value)
            }
            "md" => (lines(random.pick::<&[&str]>(MARKDOWN), random), Value::Null),
            _ => {
                let style = Style {
                    indent: random.pick::<&str>(&["  ", "    ", "\t", " ", ""]),
                    line_end,
                    comments: !is_strict(path) && random.below(2) == 0,
                    colon: random.pick::<&str>(&[": ", ":", " : "]),
                };
                let own: Value = serde_json::from_str(own).unwrap();
                let mut value = foreign(&own, imitates, random, 0);
                // In a home, a client may have no other file, and then there is nothing to record.
                write_by_hand(&mut value, &own, path.starts_with("project"), imitates, random);
                let last = if random.below(3) > 0 { line_end } else { "" };
                (format!("{}{last}", style.render(&value, 0, random)), value)
            }
        };
        let is_exact_by_hand =
            matches!(extension(path), "json" | "jsonc") && has_exactly(&value, &serde_json::from_str(own).unwrap());
        let is_imitation = imitates && has_imitation(&value);
        Config { text: format!("{bom}{text}"), value, is_exact_by_hand, is_imitation }
    }

    /// Fails unless the text has what others left, and exactly setup's entries beside it.
    pub(crate) fn assert_has_own(&self, path: &Path, text: &str, own: &str) {
        if extension(path) == "md" {
            let own = own.replace('\n', if text.contains("\r\n") { "\r\n" } else { "\n" });
            return assert!(text.starts_with(&self.text) && text.ends_with(&own), "{text:?}");
        }
        let mut expected = self.value.clone();
        merge(&mut expected, &parse(path, own));
        assert_eq!(parse(path, text), expected, "{}\n{}\n---\n{text}", path.display(), self.text);
        if !self.text.contains('\n') || extension(path) != "json" {
            return;
        }
        assert_eq!(text.contains("\r\n"), self.text.contains("\r\n"), "{text:?}");
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count() * usize::from(text.contains('\r')));
    }

    /// Fails unless the text has what others left, and nothing else.
    pub(crate) fn assert_foreign(&self, path: &Path, text: Option<&str>) {
        if extension(path) == "md" {
            let words = |text: &str| {
                text.trim_start_matches('\u{feff}').split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            };
            return assert_eq!(words(text.unwrap_or_default()), words(&self.text));
        }
        let without = |text: &Value, keys: &[&str]| {
            let mut kept = text.clone();
            if let Value::Object(members) = &mut kept {
                members.retain(|key, _| !keys.contains(&key.as_str()));
            }
            pruned(&kept)
        };
        let found = text.map_or(Value::Null, |text| parse(path, text));
        let shown = || format!("{}\n{}\n---\n{text:?}", path.display(), self.text);
        if text.is_none() {
            // A file with nothing but its version has nothing of anybody.
            assert_eq!(without(&self.value, &["version"]), None, "{}", shown());
        } else {
            let keys = ["version", "$schema"];
            assert_eq!(without(&found, &keys), without(&self.value, &keys), "{}", shown());
        }
    }

    /// Returns the text with a change that somebody has made since.
    pub(crate) fn change(&mut self, path: &Path, text: &str) -> String {
        match extension(path) {
            "md" => {
                self.text.push_str("\nlater\n");
                format!("{text}\nlater\n")
            }
            "toml" | "yaml" => format!("{text}{}# later\n", if text.ends_with('\n') { "" } else { "\n" }),
            _ => {
                self.value["later"] = json!({"ralph-memory": 1});
                text.replacen('{', "{\"later\": {\"ralph-memory\": 1},", 1)
            }
        }
    }

    /// Returns bytes that no client could use, or that leave no place for setup's entries.
    pub(crate) fn broken(&self, path: &Path, random: &mut Random) -> Vec<u8> {
        let bare = self.text.trim_end();
        let texts: Vec<String> = match extension(path) {
            "md" => vec![
                format!("{bare}\n<!-- ralph-memory:begin -->\n"),
                format!("<!-- ralph-memory:end -->\n{bare}\n<!-- ralph-memory:begin -->\n"),
            ],
            "toml" => {
                vec![format!("{bare}\n\"a\" = 1\na = 2\n"), format!("mcp_servers = 1\nx = {{"), "a = [".to_owned()]
            }
            "yaml" => vec!["extensions: [\n".to_owned(), "extensions: 1\n".to_owned(), "a: b: c\n".to_owned()],
            _ => vec![
                bare[..bare.len() - 1].to_owned(),
                format!("{bare}{bare}"),
                format!("{bare}x"),
                "[]".to_owned(),
                "null".to_owned(),
                "{'a': 1}".to_owned(),
                "{\"a\": 1 \"b\": 2}".to_owned(),
                "[".repeat(100_000),
            ],
        };
        let mut bytes = random.pick(&texts).clone().into_bytes();
        if random.below(4) == 0 {
            bytes.push(0xff);
        }
        bytes
    }
}

impl Style {
    fn render(&self, value: &Value, depth: usize, random: &mut Random) -> String {
        let items: Vec<String> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| {
                    format!("{}{}{}", Value::from(key.as_str()), self.colon, self.render(value, depth + 1, random))
                })
                .collect(),
            Value::Array(list) => list.iter().map(|value| self.render(value, depth + 1, random)).collect(),
            scalar => return scalar.to_string(),
        };
        let brackets = if value.is_object() { ["{", "}"] } else { ["[", "]"] };
        let is_spread = !self.indent.is_empty() && (depth == 0 || random.below(4) > 0);
        let line = |depth: usize| {
            if is_spread { format!("{}{}", self.line_end, self.indent.repeat(depth)) } else { String::new() }
        };
        if items.is_empty() {
            let inside = match random.below(4) {
                0 if is_spread => line(depth),
                1 => " ".to_owned(),
                2 if self.comments && is_spread => format!(" // nothing yet{}", line(depth)),
                3 if self.comments => "/* nothing yet */".to_owned(),
                _ => String::new(),
            };
            return format!("{}{inside}{}", brackets[0], brackets[1]);
        }
        let mut text = brackets[0].to_owned();
        let n_items = items.len();
        for (position, item) in items.into_iter().enumerate() {
            if self.comments && is_spread && random.below(6) == 0 {
                text.push_str(&format!("{}// \"mcpServers\": {{", line(depth + 1)));
            }
            let is_last = position + 1 == n_items;
            text.push_str(&line(depth + 1));
            if !is_spread && position > 0 {
                text.push(' ');
            }
            text.push_str(&item);
            if self.comments && random.below(8) == 0 {
                text.push_str(" /* \"}\" */");
            }
            if !is_last || self.comments && random.below(3) == 0 {
                text.push(',');
            }
            if self.comments && is_spread && random.below(6) == 0 {
                text.push_str(" // a \"note\", {");
            }
        }
        if self.comments && is_spread && random.below(6) == 0 {
            text.push_str(&format!("{}/* the end */", line(depth + 1)));
        }
        format!("{text}{}{}", line(depth), brackets[1])
    }
}

/// Returns values of others for a place where setup writes `own`.
fn foreign(own: &Value, imitates: bool, random: &mut Random, depth: usize) -> Value {
    match own {
        Value::Object(members) => {
            let mut made = Map::new();
            for (key, own) in members.iter().filter(|(key, _)| *key != "ralph-memory") {
                if key == "version" {
                    made.insert(key.clone(), own.clone());
                } else if random.below(2) == 0 {
                    made.insert(key.clone(), foreign(own, imitates, random, depth + 1));
                }
            }
            for _ in 0..random.below(4) {
                let (key, value) = random.pick(&others()).clone();
                let is_ours = members.contains_key(key) || depth > 0 && key == "ralph-memory";
                if !is_ours {
                    made.insert(key.to_owned(), value);
                }
            }
            Value::Object(made)
        }
        Value::Array(_) => {
            (0..random.below(3)).map(|_| random.pick(&handlers()[if imitates { 0 } else { 2 }..]).clone()).collect()
        }
        scalar => scalar.clone(),
    }
}

/// Adds servers, hooks and permissions of this program that a person has written: some exactly as setup does.
fn write_by_hand(value: &mut Value, own: &Value, may_be_exact: bool, imitates: bool, random: &mut Random) {
    match (value, own) {
        (Value::Object(members), Value::Object(own)) => {
            for (key, own) in own {
                if key != "ralph-memory" {
                    if let Some(value) = members.get_mut(key) {
                        write_by_hand(value, own, may_be_exact, imitates, random);
                    }
                } else if imitates && random.below(2) == 0 {
                    members.insert(key.clone(), another_server(own));
                } else if may_be_exact && random.below(4) == 0 {
                    members.insert(key.clone(), own.clone());
                }
            }
        }
        (Value::Array(list), Value::Array(own)) => {
            let written = own.iter().filter_map(|own| match random.below(6) {
                0 if may_be_exact => Some(own.clone()),
                1 if own.is_object() && imitates => {
                    let line = own.to_string().replace(" || exit 0", " && ./notify.sh");
                    Some(serde_json::from_str(&line).unwrap())
                }
                2 if own.get("hooks").is_some() => {
                    let mut group = own.clone();
                    group["matcher"] = json!("startup");
                    Some(group)
                }
                _ => None,
            });
            list.extend(written);
        }
        _ => {}
    }
}

/// Returns a server's entry with arguments of a person.
fn another_server(own: &Value) -> Value {
    let mut server = own.clone();
    let key = if own["command"].is_array() { "command" } else { "args" };
    server[key].as_array_mut().unwrap().extend([json!("--root"), json!("../shared")]);
    server
}

/// Returns whether a value has a server with other arguments, or a hook that names this program and does something else.
fn has_imitation(value: &Value) -> bool {
    let mut value = value.clone();
    // Whatever is in a list of permissions, nothing runs it.
    value.as_object_mut().map(|members| members.remove("permissions"));
    let text = value.to_string();
    let marks = ["\"--root\"", "&& ./notify.sh", "echo ralph-memory hook", "other-ralph-memory hook"];
    marks.iter().any(|mark| text.contains(mark))
}

/// Returns whether a value has an entry exactly as setup writes it.
fn has_exactly(value: &Value, own: &Value) -> bool {
    match (value, own) {
        (Value::Object(members), Value::Object(own)) => own.iter().any(|(key, own)| {
            members
                .get(key)
                .is_some_and(|value| if key == "ralph-memory" { value == own } else { has_exactly(value, own) })
        }),
        (Value::Array(list), Value::Array(own)) => own.iter().any(|own| list.contains(own)),
        _ => false,
    }
}

/// Returns whether a list has an entry for what this element of setup's does, in whatever form.
fn does_the_same(list: &[Value], own: &Value) -> bool {
    let text = own.to_string();
    let Some(at) = text.find(" hook ") else { return list.contains(own) };
    let start = text[..at].rfind('"').unwrap();
    let end = at + 6 + text[at + 6..].find(' ').unwrap();
    list.iter().any(|element| element.to_string().contains(&text[start..=end]))
}

/// Returns members of others.
fn others() -> Vec<(&'static str, Value)> {
    vec![
        ("theme", json!("dark")),
        ("a \"b\"", json!("c:\\d\u{1F600}{")),
        ("empty", json!({})),
        ("list", json!([1, 2.5, null, true, "ralph-memory"])),
        ("other", json!({"command": "other", "args": ["mcp"]})),
        ("nested", json!({"mcpServers": {"ralph-memory": {"command": "ralph-memory"}}, "hooks": {"Stop": []}})),
        ("ralph-memory", json!("ralph-memory hook stop || exit 0")),
        ("PreToolUse", json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}])),
    ]
}

/// Returns elements of others, for lists of hooks and of permissions. The first two name this program.
fn handlers() -> Vec<Value> {
    vec![
        json!({"hooks": [{"type": "command", "command": "echo ralph-memory hook stop || exit 0", "timeout": 5}]}),
        json!({"command": "other-ralph-memory hook session-start"}),
        json!({"matcher": "*", "hooks": [{"type": "command", "command": "notes sync"}]}),
        json!({"name": "tidy", "trigger": "Stop", "action": {"type": "command", "command": "tidy"}}),
        json!("Bash(ls)"),
        json!("mcp__ralph-memory__search"),
    ]
}

/// Adds setup's entries to those of others.
fn merge(value: &mut Value, own: &Value) {
    match (value, own) {
        (Value::Object(members), Value::Object(own)) => {
            for (key, own) in own {
                match members.get_mut(key) {
                    Some(_) if key == "ralph-memory" => {}
                    Some(value) => merge(value, own),
                    None => drop(members.insert(key.clone(), own.clone())),
                }
            }
        }
        (Value::Array(list), Value::Array(own)) => {
            let missing: Vec<Value> = own.iter().filter(|own| !does_the_same(list, own)).cloned().collect();
            list.extend(missing);
        }
        (value, own) if value.is_null() => *value = own.clone(),
        _ => {}
    }
}

/// Returns the value without objects and lists that are empty; `None` if nothing is left.
fn pruned(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(members) => {
            let kept = members.iter().filter_map(|(key, value)| Some((key.clone(), pruned(value)?)));
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(list) => {
            let kept: Vec<Value> = list.iter().filter_map(pruned).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        scalar => Some(scalar.clone()),
    }
}

fn parse(path: &Path, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match extension(path) {
        "toml" => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
        "yaml" => serde_yaml::from_str(text).unwrap(),
        _ if is_strict(path) => serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")),
        _ => serde_json::from_str(&plain(text)).unwrap_or_else(|error| panic!("{error}: {text}")),
    }
}

/// Returns JSON without comments and without commas before a bracket.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").unwrap() + 2
        } else {
            let mut length = first.len_utf8();
            if first == '"' {
                let mut is_escaped = false;
                let end = rest[1..].find(|character| {
                    let ends = character == '"' && !is_escaped;
                    is_escaped = character == '\\' && !is_escaped;
                    ends
                });
                length = end.unwrap() + 2;
            }
            if matches!(first, '}' | ']') {
                let kept = out.trim_end();
                out.truncate(kept.strip_suffix(',').unwrap_or(kept).len());
            }
            out.push_str(&rest[..length]);
            length
        };
        rest = &rest[skipped..];
    }
    out
}

/// The first one is an imitation.
const TOML: &[&[&str]] = &[
    &[
        "[mcp_servers.ralph-memory]",
        "command = \"/opt/ralph-memory\"",
        "args = [\"mcp\", \"--root\", \"../shared\"] # ours",
        "env = { A = \"1\" }",
    ],
    &[],
    &["# mine", "model = \"x\"  # odd   spaces"],
    &["[mcp_servers.other]", "command = \"other\"", "args = [ \"mcp\", ]"],
    &["[mcp_servers]", "other = { command = \"other\" }", "", "", "[features]", "hooks = true"],
    &["text = \"\"\"", "[mcp_servers.ralph-memory]", "command = \"ralph-memory\"", "\"\"\"", "[[list]]", "a = 1"],
    &[
        "mcp_servers.other.command = \"ralph-memory\"",
        "",
        "[projects.\"/home/dev/project\"]",
        "trust_level = \"trusted\"",
    ],
];
/// The first one is an imitation.
const YAML: &[&[&str]] = &[
    &[
        "extensions:",
        "  ralph-memory:",
        "    type: stdio",
        "    cmd: /opt/ralph-memory",
        "    args: [mcp, --root, ../shared]",
        "    enabled: true",
    ],
    &[],
    &["# mine", "GOOSE_MODEL: x   # odd"],
    &["extensions:", "  developer:", "    enabled: true", "    type: builtin", "GOOSE_MODEL: x"],
    &[
        "a: 1",
        "extensions: # all",
        "",
        "    # first",
        "    developer:",
        "        enabled: true",
        "        cmd: ralph-memory",
    ],
    &["text: |", "  extensions:", "    ralph-memory:", "b: [1, 2]"],
];
const MARKDOWN: &[&[&str]] = &[
    &[],
    &["# Rules", "", "Be kind."],
    &["# Rules", "", "The markers are `<!-- ralph-memory:begin -->` and `<!-- ralph-memory:end -->`.", "", ""],
    &["```", "## Memory of this project", "```", "- ralph-memory"],
];
