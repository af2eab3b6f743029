//! What only looks like ralph-memory's: a server with its name that runs something else, a hook that names it and does
//! more, a plugin with its name.
//!
//! Anybody who commits to a project can write such an entry. Setup never calls it connected, and asks nobody to trust
//! it: everything that bears the name and is not exactly what setup writes is reported here. A false alarm only costs a
//! person a look at the file.

use std::cell::LazyCell;
use std::path::PathBuf;

use super::client::SetupClient::{self, Claude, Copilot, Cursor, Devin, OpenCode, VsCode};
use super::config_value::ConfigValue;
use super::draft::read_at;
use super::format::ConfigFormat;
use super::hook_line::PROGRAM;
use super::lines::split_mark;
use super::locate::Base;
use super::planned::LOOK_ALIKE;
use super::recognised::{Recognition, is_own};
use super::record::SetupRecord;
use super::table::{ClientFile, Content, files, without_tool_hook};
use super::want::Want;
use super::{Setup, SetupOptions, SetupScope};
use crate::error::Problem;
use crate::text::{invisible, with_invisible_shown};

/// Files of a project that a client reads beside those that setup writes for it.
const BESIDE: &[(&[SetupClient], &str)] = &[
    (&[Claude, Cursor, Copilot, Devin], ".claude/settings.local.json"),
    (&[Cursor, Copilot, Devin], ".claude/settings.json"),
    (&[OpenCode], ".opencode/opencode.json"),
    (&[OpenCode], ".opencode/opencode.jsonc"),
    (&[Copilot, VsCode], ".mcp.json"),
    (&[Copilot], ".github/hooks/ralph-memory-vscode.json"),
    (&[VsCode], ".github/hooks/ralph-memory.json"),
];
/// Files of a project that a client loads as a plugin of this name. Setup writes none of them.
const PLUGINS: &[(&[SetupClient], &str)] = &[
    (&[Claude], ".claude/skills/ralph-memory/.claude-plugin/plugin.json"),
    (&[Claude], ".claude/skills/ralph-memory/.mcp.json"),
    (&[Claude], ".claude/skills/ralph-memory/hooks/hooks.json"),
    (&[OpenCode], ".opencode/plugin/ralph-memory.js"),
    (&[OpenCode], ".opencode/plugin/ralph-memory.ts"),
    (&[OpenCode], ".opencode/plugins/ralph-memory.ts"),
];
/// Lists of what a client runs or loads, other than hooks.
const RUN_LISTS: [&str; 2] = ["notify", "plugin"];
/// The most that are named of one file.
const MAX_NAMED: usize = 10;

/// What is found in one file.
#[derive(Debug, Default)]
struct Judgement {
    /// What looks like setup's, and is not.
    look_alikes: Vec<String>,
    /// Whether it has hooks or servers of others, which do not look like setup's.
    has_others: bool,
}

impl Judgement {
    fn of_one(what: impl Into<String>) -> Judgement {
        Judgement { look_alikes: vec![what.into()], has_others: true }
    }
}

/// A file of one scope, and everything that setup may have written in that scope: a person may have moved an entry to
/// another file.
struct Judge<'a> {
    scope: SetupScope,
    wants: &'a [Want],
    found: Judgement,
}

impl Judge<'_> {
    /// Looks at the member of a path and all below it.
    fn look(&mut self, path: &mut Vec<String>, value: &ConfigValue) {
        match value {
            ConfigValue::Map(members) => {
                for (key, value) in members {
                    path.push(key.clone());
                    self.look_at_member(path, value);
                    path.pop();
                }
            }
            ConfigValue::List(items) => {
                for item in items {
                    match item {
                        _ if self.is_own(path, item) => {}
                        ConfigValue::Map(_) if self.is_of_hooks(path) => self.look_at_run(path, item),
                        ConfigValue::Text(_) if RUN_LISTS.iter().any(|key| path == &[*key]) => {
                            self.look_at_run(path, item);
                        }
                        _ => self.look(path, item),
                    }
                }
            }
            _ => {}
        }
    }

    fn look_at_member(&mut self, path: &mut Vec<String>, value: &ConfigValue) {
        let [above @ .., key] = &path[..] else { return };
        let is_project = self.scope == SetupScope::Project;
        let servers: Vec<&Want> = self.wants.iter().filter(|want| want.is_server() && want.path == above).collect();
        let is_named = |want: &&&Want| want.key.is_some_and(|own| own == key);
        let is_own = servers.iter().filter(is_named).any(|want| is_own(value, want, Recognition::Runs));
        match above {
            _ if is_own => {}
            _ if !servers.is_empty() && is_name_like(key) => self.add(path, value),
            _ if !servers.is_empty() => self.found.has_others = true,
            // These apply to every program that the client starts, and decide which one the name refers to.
            _ if is_project && rules_programs(key) => self.add(path, value),
            [top] if is_project && top == "enabledPlugins" && *value == ConfigValue::Flag(true) => {
                self.found.has_others = true;
                if key.split('@').next().is_some_and(is_name_like) {
                    self.add(path, value);
                }
            }
            _ => self.look(path, value),
        }
    }

    fn look_at_run(&mut self, path: &[String], value: &ConfigValue) {
        self.found.has_others = true;
        if value.texts().into_iter().any(names_program) {
            self.add(path, value);
        }
    }

    fn is_own(&self, path: &[String], item: &ConfigValue) -> bool {
        let mut wants = self.wants.iter().filter(|want| want.key.is_none() && want.path == path);
        wants.any(|want| is_own(item, want, Recognition::Runs))
    }

    /// Returns whether hooks stand at a path: below `hooks`, or, in a file of hooks alone, below an event.
    fn is_of_hooks(&self, path: &[String]) -> bool {
        let is_event = |want: &Want| want.event().is_some() && want.path == path;
        path.first().is_some_and(|first| first == "hooks") || self.wants.iter().any(is_event)
    }

    fn add(&mut self, path: &[String], value: &ConfigValue) {
        if self.found.look_alikes.len() < MAX_NAMED {
            self.found.look_alikes.push(format!("`{}` is {}", path.join("."), value.to_json(None, "")));
        }
    }
}

/// Returns the visible characters of a text, in lower case.
fn visible(text: &str) -> impl Iterator<Item = char> {
    let hidden: Vec<usize> = invisible(text).map(|(at, _)| at).collect();
    let seen = text.char_indices().filter(move |(at, _)| !hidden.contains(at));
    seen.map(|(_, character)| character.to_ascii_lowercase())
}

/// Returns whether a person may take a name of a server or a plugin for this program's: it differs in nothing but case,
/// punctuation, invisible characters and letters of other scripts, or, with two underscores, in what follows, which
/// permissions for tools do not see.
fn is_name_like(name: &str) -> bool {
    let name = name.trim().trim_matches('_');
    let first = name.split("__").next().unwrap_or_default();
    let letters: Vec<char> = visible(first).filter(|letter| letter.is_alphanumeric()).collect();
    let own: Vec<char> = PROGRAM.chars().filter(char::is_ascii_alphabetic).collect();
    let is_same = letters.iter().zip(&own).all(|(letter, own)| letter == own || !letter.is_ascii());
    letters.len() == own.len() && is_same && letters.iter().any(char::is_ascii)
}

/// Returns whether a text names this program, other than as a folder or as a part of another name.
fn names_program(text: &str) -> bool {
    let shown: String = visible(text).collect();
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphanumeric() || "/_-".contains(next));
    shown.match_indices(PROGRAM).any(|(at, _)| !goes_on(&shown[at + PROGRAM.len()..]))
}

/// Returns whether a variable decides which program a name refers to, what is loaded into it, or what it does.
fn rules_programs(variable: &str) -> bool {
    variable == "PATH" || ["LD_", "DYLD_", "RALPH_"].iter().any(|start| variable.starts_with(start))
}

/// Returns whether a client may run something that is in a skill: a command in its text, or what another key than those
/// of setup's skill says at its head.
fn may_run(skill: &str) -> bool {
    // YAML ends a line at these, too.
    let ends = ['\r', '\u{85}', '\u{2028}', '\u{2029}'];
    let is_known =
        |line: &str| (line.starts_with("name: ") || line.starts_with("description: ")) && !line.contains(ends);
    let mut lines = skill.lines();
    let has_head = skill.trim_start().starts_with("---");
    let is_text = || lines.next() == Some("---") && lines.take_while(|line| *line != "---").all(is_known);
    (has_head && !is_text()) || skill.contains("!`") || skill.contains("```!")
}

/// Looks through the text of a file of this form, which may be as setup has left it here by its record.
///
/// # Errors
///
/// Why it cannot be read. A client may read it.
fn judged(
    scope: SetupScope,
    content: &Content,
    wants: &[Want],
    text: &str,
    is_as_left: bool,
) -> Result<Judgement, String> {
    let is_own = |own: &String| is_as_left || text.replace("\r\n", "\n") == *own;
    let tree = match content {
        Content::Entries(ConfigFormat::Json, _) => ConfigFormat::Jsonc.tree(text),
        Content::Entries(format, _) => format.tree(text),
        // Anybody can compute the checksum of such a file.
        Content::Script(own) if scope == SetupScope::Project && !is_own(own) && !is_own(&without_tool_hook(own)) => {
            return Ok(Judgement::of_one("it is a program under the name of the plugin, with another text"));
        }
        Content::Owned(own) if scope == SetupScope::Project && !is_own(own) && may_run(split_mark(text).1) => {
            return Ok(Judgement::of_one("it is a skill that may run something"));
        }
        _ => return Ok(Judgement::default()),
    };
    match tree {
        Ok(tree) => {
            let mut judge = Judge { scope, wants, found: Judgement::default() };
            judge.look(&mut Vec::new(), &tree);
            Ok(judge.found)
        }
        Err(reason) if names_program(text) => {
            Ok(Judgement::of_one(format!("it names ralph-memory, and cannot be read: {reason}")))
        }
        Err(reason) => Err(reason),
    }
}

/// Returns whether something in a file with this text looks like setup's, and is not.
pub(super) fn has_look_alike(scope: SetupScope, file: &ClientFile, text: &str) -> bool {
    judged(scope, &file.content, &own_wants(scope), text, false).is_ok_and(|found| !found.look_alikes.is_empty())
}

impl Setup {
    /// Returns an error for each thing that looks like setup's in the files of a client, and is not.
    pub(super) fn dangers(&self, client: SetupClient, scope: SetupScope) -> Vec<Problem> {
        let hint = match scope {
            SetupScope::Project => {
                "unless you know who wrote it, do not trust this folder in the client, and approve nothing that it asks \
                 for. Remove the entry, or give it another name, and run the command again"
            }
            SetupScope::User => "remove the entry, or give it another name, and run the command again",
        };
        let danger = |shown: &PathBuf, what: &String| {
            let reason = "danger: this looks like ralph-memory and is not what setup writes";
            let message = format!("{}: {reason}: {}", client.title(), with_invisible_shown(what));
            Problem::error(self.bases.relative(shown).display().to_string(), LOOK_ALIKE, message, hint)
        };
        let found = self.judgements(client, scope);
        let dangers =
            found.iter().flat_map(|(shown, found)| found.look_alikes.iter().map(move |what| danger(shown, what)));
        dangers.collect()
    }

    /// Returns whether the files of a client have hooks or servers of others.
    pub(super) fn has_others(&self, client: SetupClient, scope: SetupScope) -> bool {
        self.judgements(client, scope).iter().any(|(_, judgement)| judgement.has_others)
    }

    fn judgements(&self, client: SetupClient, scope: SetupScope) -> Vec<(PathBuf, Judgement)> {
        let (table, wants) = (table_of(client, scope), LazyCell::new(|| own_wants(scope)));
        let record = SetupRecord::read(&self.state, scope, &self.bases.folder(scope));
        let form = Content::Entries(ConfigFormat::Jsonc, Vec::new());
        let is_apart = scope == SetupScope::Project && self.bases.home.as_ref() != Some(&self.bases.project);
        let beside = |list: &'static [(&[SetupClient], &str)]| {
            list.iter().filter(move |(readers, _)| is_apart && readers.contains(&client)).map(|(_, path)| *path)
        };
        let own = table.iter().flat_map(|file| {
            let chosen = self.chosen(file);
            file.paths.iter().map(move |path| (file.base, *path, &file.content, *path == chosen))
        });
        let others = beside(BESIDE).map(|path| (Base::Project, path, &form, false));
        let mut found: Vec<(PathBuf, Judgement)> = Vec::new();
        for (base, path, content, is_edited) in own.chain(others) {
            let judgement = self.bases.locate(base, path).and_then(|place| {
                let Some(text) = read_at(&place)? else { return Ok(Judgement::default()) };
                let is_as_left = record.of(&place).is_some_and(|record| record.has_left(&text));
                judged(scope, content, &wants, &text, is_as_left)
            });
            let judgement = judgement.unwrap_or_else(|reason| match scope {
                // Setup refuses a client of which it cannot edit a file.
                SetupScope::Project if !is_edited => {
                    Judgement::of_one(format!("it cannot be read here, though the client may read it: {reason}"))
                }
                _ => Judgement::default(),
            });
            found.push((self.bases.shown(base, path), judgement));
        }
        for path in beside(PLUGINS) {
            let shown = self.bases.shown(Base::Project, path);
            let what = "a plugin of this name, which setup does not write into a project";
            found.extend(shown.symlink_metadata().is_ok().then(|| (shown, Judgement::of_one(what))));
        }
        found.dedup_by(|one, other| one.0 == other.0);
        found
    }
}

fn table_of(client: SetupClient, scope: SetupScope) -> Vec<ClientFile> {
    files(client, scope, PROGRAM, SetupOptions::ALL)
}

/// Returns everything that setup may have written in a scope.
fn own_wants(scope: SetupScope) -> Vec<Want> {
    let files = SetupClient::ALL.iter().copied().flat_map(|client| table_of(client, scope));
    files.flat_map(|file| file.content.wants().to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_person_takes_for_this_one_are_found() {
        for name in ["ralph-memory", "Ralph_Memory", "ralph memory", "ralph\u{200b}-memory", "r\u{430}lph-memory"] {
            assert!(is_name_like(name) && is_name_like(&format!("{name}__x")), "{name}");
        }
        for name in ["", "ralph", "ralph-memory-shared", "memory", "\u{430}\u{43b}", "other"] {
            assert!(!is_name_like(name), "{name}");
        }
        for line in ["ralph-memory hook stop", "x; ./RALPH-MEMORY", "'ralph-memory'", "other-ralph-memory run"] {
            assert!(names_program(line), "{line}");
        }
        let skill = |head: &str, text: &str| format!("---\nname: x\n{head}---\n{text}\n");
        for (head, text, expected) in [
            ("description: Look: `it`!\n", "Call `x`!", false),
            ("description: x\r\n", "Text.\r\n---\r\nhooks:", false),
            ("hooks:\n", "", true),
            ("allowed-tools: Bash\n", "", true),
            ("description: x\rhooks: y\n", "", true),
            ("description: x\u{2028}hooks: y\n", "", true),
            ("--- \nhooks: y\n", "", true),
            ("", "!`x`", true),
            ("", "```!\nx\n```", true),
        ] {
            assert_eq!(may_run(&skill(head, text)), expected, "{head:?} {text:?}");
        }
        assert!(may_run("\n---\nhooks: y\n---\n"));
        for line in ["/src/ralph-memory/check", "mcp__ralph-memory__search", "ralph-memory-shared mcp", ""] {
            assert!(!names_program(line), "{line}");
        }
    }
}
