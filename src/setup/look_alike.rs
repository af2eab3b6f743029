//! What only looks like ralph-memory's: a server of its name that runs something else, a hook that names it and does
//! more, a plugin of its name.
//!
//! Anybody who commits to a project can write such an entry. Set-up never calls it connected, and asks nobody to trust
//! it: whatever bears the name and is not exactly what set-up writes is named here. This looks generously: what it
//! takes for a look-alike by mistake costs a person a look at the file.

use std::path::PathBuf;

use super::client::SetupClient;
use super::config_tree::ConfigTree;
use super::draft::{BOM, Draft};
use super::hook_line::PROGRAM;
use super::locate::Base;
use super::planned::LOOK_ALIKE;
use super::recognised::{Recognition, is_own_element, presence_of};
use super::seal::is_of_setup;
use super::table::{ClientFile, Content, claude_hooks, files};
use super::want::{Mark, Presence, Want};
use super::{Setup, SetupOptions, SetupScope, json, toml_config, yaml};
use crate::error::Problem;
use crate::text::{invisible, with_invisible_shown};

/// Files of a project that a client reads beside those that set-up writes for it, and the file of set-up's whose
/// entries they may have.
const BESIDE: &[(SetupClient, &str, &str)] = &[
    (SetupClient::Claude, ".claude/settings.local.json", ".claude/settings.json"),
    (SetupClient::Cursor, ".claude/settings.json", ".claude/settings.json"),
    (SetupClient::Cursor, ".claude/settings.local.json", ".claude/settings.json"),
    (SetupClient::OpenCode, ".opencode/opencode.json", "opencode.json"),
    (SetupClient::OpenCode, ".opencode/opencode.jsonc", "opencode.json"),
    (SetupClient::Copilot, ".mcp.json", ".mcp.json"),
    (SetupClient::Copilot, ".github/hooks/ralph-memory-vscode.json", ".github/hooks/ralph-memory-vscode.json"),
    (SetupClient::Copilot, ".claude/settings.json", ".claude/settings.json"),
    (SetupClient::Copilot, ".claude/settings.local.json", ".claude/settings.json"),
    (SetupClient::VsCode, ".mcp.json", ".mcp.json"),
    (SetupClient::VsCode, ".github/hooks/ralph-memory.json", ".github/hooks/ralph-memory.json"),
    (SetupClient::Devin, ".claude/settings.json", ".claude/settings.json"),
    (SetupClient::Devin, ".claude/settings.local.json", ".claude/settings.json"),
];
/// Files of a project that a client loads as a plugin of this name. Set-up writes none of them.
const PLUGINS: &[(SetupClient, &str)] = &[
    (SetupClient::Claude, ".claude/skills/ralph-memory/.claude-plugin/plugin.json"),
    (SetupClient::Claude, ".claude/skills/ralph-memory/.mcp.json"),
    (SetupClient::Claude, ".claude/skills/ralph-memory/hooks/hooks.json"),
    (SetupClient::OpenCode, ".opencode/plugin/ralph-memory.js"),
    (SetupClient::OpenCode, ".opencode/plugin/ralph-memory.ts"),
    (SetupClient::OpenCode, ".opencode/plugins/ralph-memory.ts"),
];
/// The most that are named of one file.
const MAX_NAMED: usize = 10;

/// Something that looks like set-up's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LookAlike {
    /// The file, as it is shown.
    shown: PathBuf,
    /// What is in it.
    what: String,
}

/// What is found in one file.
#[derive(Debug, Default)]
struct Judgement {
    look_alikes: Vec<String>,
    /// Whether it has hooks or servers of others, which do not look like set-up's.
    has_others: bool,
}

/// A file of one scope, and what set-up may have written into it.
struct Judge<'a> {
    scope: SetupScope,
    wants: &'a [Want],
    found: Judgement,
}

impl Judge<'_> {
    /// Looks at the member of a path and all below it.
    fn look(&mut self, path: &mut Vec<String>, value: &ConfigTree) {
        match value {
            ConfigTree::Map(members) => {
                for (key, value) in members {
                    path.push(key.clone());
                    self.look_at_member(path, value);
                    path.pop();
                }
            }
            ConfigTree::List(items) => {
                for item in items {
                    if !self.is_own(path, item) {
                        self.look_at_element(path, item);
                    }
                }
            }
            _ => {}
        }
    }

    fn look_at_member(&mut self, path: &mut Vec<String>, value: &ConfigTree) {
        let [above @ .., key] = &path[..] else { return };
        let is_project = self.scope == SetupScope::Project;
        let servers: Vec<&Want> =
            self.wants.iter().filter(|want| want.mark == Mark::Server && want.path == above).collect();
        let is_own = servers.iter().any(|want| {
            want.key.is_some_and(|own| own == key)
                && presence_of(value, &want.value, Recognition::Runs) != Presence::Taken
        });
        match above {
            _ if is_own => {}
            _ if !servers.is_empty() && is_name_like(key) => self.add(path, value),
            _ if !servers.is_empty() => self.found.has_others = true,
            // These count for every program that the client starts, and decide which one the name is.
            [top] if is_project && top == "env" && rules_programs(key) => self.add(path, value),
            [top] if is_project && top == "enabledPlugins" && *value == ConfigTree::Flag(true) => {
                self.found.has_others = true;
                if key.split('@').next().is_some_and(is_name_like) {
                    self.add(path, value);
                }
            }
            _ => self.look(path, value),
        }
    }

    fn look_at_element(&mut self, path: &mut Vec<String>, item: &ConfigTree) {
        if !self.is_of_hooks(path) || !matches!(item, ConfigTree::Map(_)) {
            return self.look(path, item);
        }
        self.found.has_others = true;
        if item.texts().into_iter().any(names_program) {
            self.add(path, item);
        }
    }

    fn is_own(&self, path: &[String], item: &ConfigTree) -> bool {
        self.wants.iter().any(|want| want.path == path && is_own_element(item, want, Recognition::Runs))
    }

    /// Returns whether hooks stand at a path: below `hooks`, or, in a file of hooks alone, below an event.
    fn is_of_hooks(&self, path: &[String]) -> bool {
        let is_event = |want: &Want| matches!(want.mark, Mark::Hook(_)) && want.path == path;
        path.first().is_some_and(|first| first == "hooks") || self.wants.iter().any(is_event)
    }

    fn add(&mut self, path: &[String], value: &ConfigTree) {
        if self.found.look_alikes.len() < MAX_NAMED {
            self.found.look_alikes.push(format!("`{}` is {}", path.join("."), quoted(value)));
        }
    }
}

/// Returns whether a person may take a name of a server or a plugin for this program's: it differs in nothing but case,
/// punctuation, invisible characters and letters of other scripts, or, with two underscores, in what follows, which
/// permissions for tools do not see.
fn is_name_like(name: &str) -> bool {
    let name = name.trim().trim_matches('_');
    let first = name.split("__").next().unwrap_or_default();
    let hidden: Vec<usize> = invisible(first).map(|(at, _)| at).collect();
    let letters = first.char_indices().filter(|(at, letter)| letter.is_alphanumeric() && !hidden.contains(at));
    let letters: Vec<char> = letters.map(|(_, letter)| letter.to_ascii_lowercase()).collect();
    let own: Vec<char> = PROGRAM.chars().filter(char::is_ascii_alphabetic).collect();
    let is_same = letters.iter().zip(&own).all(|(letter, own)| letter == own || !letter.is_ascii());
    letters.len() == own.len() && is_same && letters.iter().any(char::is_ascii)
}

/// Returns whether a text names this program, other than as a folder or as a part of another name.
fn names_program(text: &str) -> bool {
    let hidden: Vec<usize> = invisible(text).map(|(at, _)| at).collect();
    let shown: String = text.char_indices().filter(|(at, _)| !hidden.contains(at)).map(|(_, one)| one).collect();
    let shown = shown.to_ascii_lowercase();
    let goes_on = |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphanumeric() || "/_-".contains(next));
    shown.match_indices(PROGRAM).any(|(at, _)| !goes_on(&shown[at + PROGRAM.len()..]))
}

/// Returns whether a variable decides which program a name is, what is loaded into it, or what it does.
fn rules_programs(variable: &str) -> bool {
    variable == "PATH" || ["LD_", "DYLD_", "RALPH_"].iter().any(|start| variable.starts_with(start))
}

/// Returns a value in one line, as JSON.
fn quoted(value: &ConfigTree) -> String {
    let text = |text: &str| super::config_value::quoted(text);
    match value {
        ConfigTree::Text(found) => text(found),
        ConfigTree::Number(number) => number.clone(),
        ConfigTree::Flag(flag) => flag.to_string(),
        ConfigTree::Other => "null".to_owned(),
        ConfigTree::List(items) => format!("[{}]", items.iter().map(quoted).collect::<Vec<_>>().join(", ")),
        ConfigTree::Map(members) => {
            let members = members.iter().map(|(key, value)| format!("{}: {}", text(key), quoted(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Looks through the text of a file of this form, into which set-up may have written these things.
fn judged(scope: SetupScope, content: &Content, wants: &[Want], text: &str) -> Judgement {
    let text = text.strip_prefix(BOM).unwrap_or(text);
    let tree = match content {
        Content::Json { .. } => json::tree(text),
        Content::Toml { .. } => toml_config::tree(text),
        Content::Yaml { .. } => yaml::tree(text),
        Content::Script(own) => {
            let is_other = scope == SetupScope::Project && !is_of_setup(text, own);
            let what = "it is a program under the name of the plugin, with another text".to_owned();
            return Judgement { look_alikes: is_other.then_some(what).into_iter().collect(), has_others: false };
        }
        Content::Block | Content::ClaudeBlock | Content::Owned(_) => return Judgement::default(),
    };
    // A client may read more than this program does.
    let tree = match tree {
        Ok(tree) => tree,
        Err(error) => {
            let what = names_program(text).then(|| format!("it names ralph-memory, and cannot be read: {error}"));
            return Judgement { look_alikes: what.into_iter().collect(), has_others: true };
        }
    };
    let mut judge = Judge { scope, wants, found: Judgement::default() };
    judge.look(&mut Vec::new(), &tree);
    judge.found
}

/// Returns whether something in a file with this text looks like set-up's, and is not.
pub(super) fn has_look_alike(scope: SetupScope, file: &ClientFile, text: &str) -> bool {
    let wants = own_wants(scope, file.base, file.paths[0]);
    !judged(scope, &file.content, &wants, text).look_alikes.is_empty()
}

impl Setup {
    /// Returns what looks like set-up's in the files of a client, and is not.
    fn look_alikes(&self, client: SetupClient, scope: SetupScope) -> Vec<LookAlike> {
        let look_alike = |(shown, judgement): (PathBuf, Judgement)| {
            judgement.look_alikes.into_iter().map(move |what| LookAlike { shown: shown.clone(), what })
        };
        self.judgements(client, scope).into_iter().flat_map(look_alike).collect()
    }

    /// Returns an error for each thing that looks like set-up's in the files of a client, and is not.
    pub(super) fn dangers(&self, client: SetupClient, scope: SetupScope) -> Vec<Problem> {
        let hint = match scope {
            SetupScope::Project => {
                "unless you know who wrote it, do not trust this folder in the client, and approve nothing that it asks \
                 for. Remove the entry, or give it another name, and run the command again"
            }
            SetupScope::User => "remove the entry, or give it another name, and run the command again",
        };
        let danger = |LookAlike { shown, what }: LookAlike| {
            let reason = "danger: this looks like ralph-memory and is not what set-up writes";
            let message = format!("{}: {reason}: {}", client.title(), with_invisible_shown(&what));
            Problem::error(self.bases.relative(&shown).display().to_string(), LOOK_ALIKE, message, hint)
        };
        self.look_alikes(client, scope).into_iter().map(danger).collect()
    }

    /// Returns whether the files of a client have hooks or servers of others.
    pub(super) fn has_others(&self, client: SetupClient, scope: SetupScope) -> bool {
        self.judgements(client, scope).iter().any(|(_, judgement)| judgement.has_others)
    }

    fn judgements(&self, client: SetupClient, scope: SetupScope) -> Vec<(PathBuf, Judgement)> {
        let all = table_of(client, scope);
        let own = all.iter().flat_map(|file| file.paths.iter().map(move |path| (file, *path, file.paths[0])));
        let mut found: Vec<(PathBuf, Judgement)> = Vec::new();
        for (file, path, like) in own {
            found.extend(self.judgement(scope, (file.base, path), &file.content, like));
        }
        if scope == SetupScope::User || self.bases.home.as_ref() == Some(&self.bases.project) {
            return found;
        }
        let form = Content::Json { comments: true, wants: Vec::new() };
        for (_, path, like) in BESIDE.iter().filter(|(reader, ..)| *reader == client) {
            found.extend(self.judgement(scope, (Base::Project, path), &form, like));
        }
        for (_, path) in PLUGINS.iter().filter(|(reader, _)| *reader == client) {
            let what = "a plugin of this name, which set-up does not write into a project".to_owned();
            let judgement = Judgement { look_alikes: vec![what], has_others: true };
            let shown = self.bases.shown(Base::Project, path);
            found.extend(shown.symlink_metadata().is_ok().then_some((shown, judgement)));
        }
        found.dedup_by(|one, other| one.0 == other.0);
        found
    }

    fn judgement(
        &self,
        scope: SetupScope,
        (base, path): (Base, &str),
        content: &Content,
        like: &str,
    ) -> Option<(PathBuf, Judgement)> {
        let location = self.bases.locate(base, path).ok()?;
        let mut draft = Draft::default();
        let text = draft.file(&location, PathBuf::new()).ok()?.original.take()?;
        Some((self.bases.shown(base, path), judged(scope, content, &own_wants(scope, base, like), &text)))
    }
}

fn table_of(client: SetupClient, scope: SetupScope) -> Vec<ClientFile> {
    files(client, scope, PROGRAM, SetupOptions { each_prompt: true, allow_tools: true })
}

/// Returns everything that set-up may have written for the clients that use a file: a person may have moved a hook to
/// another file of the client.
fn own_wants(scope: SetupScope, base: Base, path: &str) -> Vec<Want> {
    let tables = SetupClient::ALL.into_iter().map(|client| (client, table_of(client, scope)));
    let uses = |file: &ClientFile| file.base == base && file.paths.contains(&path);
    let users = tables.filter(|(_, table)| table.iter().any(uses));
    let wants = users.flat_map(|(client, table)| {
        let hooks = (client == SetupClient::Claude).then(|| claude_hooks(scope));
        table.into_iter().flat_map(|file| file.content.wants()).chain(hooks.into_iter().flatten())
    });
    wants.collect()
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
        for line in ["/src/ralph-memory/check", "mcp__ralph-memory__search", "ralph-memory-shared mcp", ""] {
            assert!(!names_program(line), "{line}");
        }
    }
}
