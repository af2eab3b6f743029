//! Plans a setup or a removal: reads every file, and decides what each will contain.
//!
//! Nothing is written here. A client of which one file cannot be edited is refused as a whole.

use std::collections::btree_map::{BTreeMap, Entry};
use std::path::Path;

use serde_json::{Map, Value};

use super::client::SetupClient;
use super::client_files::{check_writable, read_at};
use super::entry::WantState;
use super::hook_line::{PROGRAM, is_own_program};
use super::json::written;
use super::lines::split_mark;
use super::locate::{Base, ClientPlace};
use super::planned::{CONNECTED, PlannedFile, SetupPlan, SetupStep};
use super::program::{program_name, runs};
use super::status::ClaudeSettings;
use super::table::{ClientFile, PLUGIN_MANIFEST, files};
use super::want::Want;
use super::{Setup, SetupOptions, SetupScope};
use crate::error::{Error, Message, Problem, Result};
use crate::text::printed_command;

/// The schema that opencode writes into its file by itself.
const OPENCODE_SCHEMA: &str = "https://opencode.ai/config.json";
/// How setup writes a file of its own.
const LAYOUT: Option<(&str, &str)> = Some(("\n", "  "));

/// The files as they will be, and what a person should know.
#[derive(Debug, Clone, Default)]
struct Draft {
    files: BTreeMap<ClientPlace, PlannedFile>,
    problems: Vec<Problem>,
}

impl Draft {
    /// Reads a file, unless it is here already.
    fn file(&mut self, place: &ClientPlace, path: &Path) -> std::result::Result<&mut PlannedFile, String> {
        match self.files.entry(place.clone()) {
            Entry::Occupied(file) => Ok(file.into_mut()),
            Entry::Vacant(vacant) => {
                let before = read_at(place)?;
                let (path, place, after) = (path.to_owned(), place.clone(), before.clone());
                Ok(vacant.insert(PlannedFile { path, place, before, after, ..PlannedFile::default() }))
            }
        }
    }

    fn warn(&mut self, path: &Path, code: &str, reason: impl Into<Message>, hint: &str) {
        let warning = Problem::warning(path.display().to_string(), code, reason, hint);
        if !self.problems.contains(&warning) {
            self.problems.push(warning);
        }
    }
}

impl Setup {
    /// Plans to set up clients. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where a client that is named has no files in this scope, and where the path of this program
    /// cannot be written into a file.
    pub fn plan(&self, clients: &[SetupClient], scope: SetupScope, options: SetupOptions) -> Result<SetupPlan> {
        let (program, doubt) = self.program_name()?;
        if scope == SetupScope::User && !is_own_program(&program) {
            let name = program.rsplit('/').next().unwrap_or_default();
            let reason = format!("it is called `{name}`, and entries are recognised by the name `{PROGRAM}`");
            return Err(Error::invalid("program", format!("{reason}; install it as `{PROGRAM}`")));
        }
        let is_project = scope == SetupScope::Project;
        let mut draft = Draft::default();
        if program != PROGRAM && is_project {
            let reason = "a shell does not find `ralph-memory`, by which files of a project call it";
            draft.warn("PATH".as_ref(), "program-not-in-path", reason, "install it in a folder of `PATH`");
        } else if let Some(doubt) = doubt {
            draft.warn(program.as_ref(), "program-may-move", "clients will run this path", doubt);
        }
        let mut planned = Vec::new();
        for client in in_order(clients) {
            let table = files(client, scope, &program, options);
            if table.is_empty() {
                let reason = format!("{} has no files of the {}", client.title(), scope.as_str());
                return Err(Error::invalid(client.as_str(), format!("{reason}; use `--scope project`")));
            }
            let before = draft.clone();
            match self.add_client(&mut draft, client, scope, &table) {
                Ok(()) => planned.push(client),
                Err(refused) => {
                    draft = before;
                    draft.problems.push(refused);
                }
            }
        }
        let allows_tools = options.allow_tools || ClaudeSettings::read(self).allows_tools;
        let step = |client: &SetupClient| {
            client.step(is_project, allows_tools).map(|step| SetupStep { client: *client, step })
        };
        let steps = planned.iter().filter_map(step).collect();
        Ok(finished(draft, planned, steps))
    }

    /// Plans to remove what setup writes for these clients, where it is as setup writes it. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the path of this program cannot be written into a file.
    pub fn plan_removal(&self, clients: &[SetupClient], scope: SetupScope) -> Result<SetupPlan> {
        let (program, _) = self.program_name()?;
        let mut draft = Draft::default();
        let mut planned = Vec::new();
        for client in in_order(clients) {
            let table = files(client, scope, &program, SetupOptions::ALL);
            let before = draft.clone();
            match self.remove_client(&mut draft, client, &table, &self.shared(scope, clients)) {
                Ok(()) => planned.push(client),
                Err(refused) => {
                    draft = before;
                    draft.problems.push(refused);
                }
            }
        }
        Ok(finished(draft, planned, Vec::new()))
    }

    fn program_name(&self) -> Result<(String, Option<&'static str>)> {
        program_name(&self.program, self.path.as_deref()).map_err(|reason| Error::invalid("program", reason))
    }

    fn add_client(
        &self,
        draft: &mut Draft,
        client: SetupClient,
        scope: SetupScope,
        table: &[ClientFile],
    ) -> std::result::Result<(), Problem> {
        let settings = self.claude_settings(client);
        if client == SetupClient::Claude {
            self.check_connected_once(scope, &settings)?;
        }
        for file in table {
            let path = self.chosen(file);
            let shown = self.bases.shown(file.base, path);
            let added = self
                .bases
                .locate(file.base, path)
                .and_then(|place| self.add(draft, &place, self.bases.relative(&shown), client, &file.wants));
            added.map_err(|reason| self.unusable(client, &shown, &reason))?;
        }
        for (path, reason) in settings.switched_off(scope) {
            let reason = format!("{}: {reason}", client.title());
            draft.warn(self.bases.relative(&path), "switched-off", reason, "remove that from these settings");
        }
        Ok(())
    }

    /// Adds what a file lacks.
    fn add(
        &self,
        draft: &mut Draft,
        place: &ClientPlace,
        path: &Path,
        client: SetupClient,
        wants: &[Want],
    ) -> std::result::Result<(), String> {
        let file = draft.file(place, path)?;
        let was = file.after.clone();
        file.is_of(client);
        let mut warnings = Vec::new();
        for want in wants {
            let found = want.compare(file.after.as_deref());
            match want.added(file.after.as_deref(), &found.state)? {
                Some(text) => {
                    file.lacks.extend(Some(want.described(&found.state)).filter(|lack| !lack.is_empty()));
                    file.after = Some(text);
                }
                None if found.is_off => warnings.push((
                    "switched-off",
                    format!("{}: the entry of ralph-memory is there, but it is switched off", client.title()),
                    "switch it on in the client or in this file",
                )),
                None if !matches!(want, Want::Entry(..)) && found.state == WantState::Changed => {
                    let what = want.described(&WantState::Added);
                    let reason = format!("{what} was edited, or written by another version, so it stays");
                    warnings.push(("edited-by-hand", reason, "delete it, and run the command again"));
                }
                None => {}
            }
            let program = found.program.filter(|program| program.contains('/'));
            if let Some(program) = program.filter(|program| !runs(program, self.path.as_deref())) {
                let hint = "`ralph-memory setup --remove` for this client, and then set it up again";
                warnings.push(("program-is-gone", format!("it runs `{program}`, which does not exist"), hint));
            }
        }
        if file.after != was && file.before.is_some() {
            check_writable(place)?;
        }
        for (code, reason, hint) in warnings {
            draft.warn(path, code, reason, hint);
        }
        Ok(())
    }

    fn remove_client(
        &self,
        draft: &mut Draft,
        client: SetupClient,
        table: &[ClientFile],
        shared: &[ClientPlace],
    ) -> std::result::Result<(), Problem> {
        for (file, path) in table.iter().flat_map(|file| file.paths.iter().map(move |path| (file, path))) {
            // What cannot be located was not written by setup.
            let Ok(place) = self.bases.locate(file.base, path) else { continue };
            if shared.contains(&place) {
                continue;
            }
            let shown = self.bases.shown(file.base, path);
            let removed = remove(draft, &place, self.bases.relative(&shown), client, &file.wants);
            removed.map_err(|reason| self.unusable(client, &shown, &reason))?;
        }
        Ok(())
    }

    fn shared(&self, scope: SetupScope, removed: &[SetupClient]) -> Vec<ClientPlace> {
        let stays = SetupClient::ALL.iter().copied().filter(|client| !removed.contains(client));
        let tables = stays.map(|client| files(client, scope, PROGRAM, SetupOptions::default()));
        let connected = tables.filter(|table| table.iter().any(|file| self.has_server(file)));
        let places = connected.flatten().filter_map(|file| self.bases.locate(file.base, self.chosen(&file)).ok());
        places.collect()
    }

    /// Refuses to connect Claude Code twice: the plugin's hooks and those of the settings would both run.
    fn check_connected_once(&self, scope: SetupScope, settings: &ClaudeSettings) -> std::result::Result<(), Problem> {
        let refused = |shown: &Path, reason: &str, hint: String| {
            Err(self.refusal(SetupClient::Claude, CONNECTED, shown, &format!("connected already, {reason}"), hint))
        };
        match (scope, settings.with_hooks.first(), &settings.enabled_plugin) {
            (SetupScope::Project, ..) if self.bases.exists(Base::ClaudeHome, PLUGIN_MANIFEST) => refused(
                &self.bases.shown(Base::ClaudeHome, "skills/ralph-memory"),
                "as a plugin for every project",
                "keep it; or remove it with `ralph-memory setup claude --scope user --remove` first".to_owned(),
            ),
            (SetupScope::User, Some(shown), _) => refused(
                shown,
                "by these settings; the hooks of the plugin would run, too",
                "keep them; or remove them first: with `ralph-memory setup claude --remove` in the folder above \
                 `.claude`, or by hand if you wrote them"
                    .to_owned(),
            ),
            (.., Some(plugin)) => {
                let uninstall = printed_command("claude plugin uninstall PLUGIN", &[("PLUGIN", plugin)]);
                refused(
                    &self.bases.shown(Base::ClaudeHome, "settings.json"),
                    &format!("by the plugin `{plugin}`"),
                    format!("keep it; or remove it with {uninstall} first"),
                )
            }
            _ => Ok(()),
        }
    }

    fn refusal(&self, client: SetupClient, code: &str, shown: &Path, reason: &str, hint: String) -> Problem {
        let path = self.bases.relative(shown).display().to_string();
        Problem::error(path, code, format!("{}: {reason}", client.title()), hint)
    }

    fn unusable(&self, client: SetupClient, shown: &Path, reason: &str) -> Problem {
        let hint = "fix or move the file, and run the command again; no file of this client was changed".to_owned();
        let reason = format!("this file cannot be edited: {reason}");
        self.refusal(client, "setup-refused", shown, &reason, hint)
    }
}

/// Removes what is as setup writes it, and the file if nothing else is in it; names the rest.
fn remove(
    draft: &mut Draft,
    place: &ClientPlace,
    path: &Path,
    client: SetupClient,
    wants: &[Want],
) -> std::result::Result<(), String> {
    let file = draft.file(place, path)?;
    let was = file.after.clone();
    let mut left = Vec::new();
    for want in wants {
        let is_accompanying = matches!(want, Want::Entry(..)) && want.entry().is_none();
        // A list may have it more than once.
        while let Some(text) = file.after.clone() {
            let state = want.compare(Some(&text)).state;
            match state {
                WantState::Unchanged if !is_accompanying => file.after = want.removed(&text)?,
                WantState::Changed if want.is_own_variant(&text) => file.after = None,
                WantState::Changed => left.push(want.described(&WantState::Added)),
                WantState::Taken if want.is_server() => left.push(want.described(&state)),
                WantState::Broken(reason) if text.contains(PROGRAM) => return Err(reason),
                _ => {}
            }
            if file.after.as_ref() == Some(&text) {
                break;
            }
        }
    }
    let n_hooks = file.after.as_ref().map_or(0, |text| text.matches("ralph-memory hook").count());
    if wants.iter().any(Want::is_hook) && n_hooks > left.len() {
        left.push("a hook".to_owned());
    }
    if file.after != was {
        file.is_of(client);
        if file.after.as_ref().is_some_and(|text| holds_nothing(text, wants)) {
            file.after = None;
        }
        check_writable(place)?;
    }
    for what in left {
        let reason = format!("{what} of ralph-memory is not as setup writes it, so it stays");
        draft.warn(path, "not-of-setup", reason, "remove it by hand if you do not need it");
    }
    Ok(())
}

/// Returns whether a file has nothing, or, as setup writes JSON, nothing but what accompanies its entries, and the schema
/// that opencode writes into its file. An empty object in another form, or another schema, is somebody else's.
fn holds_nothing(text: &str, wants: &[Want]) -> bool {
    let (_, text) = split_mark(text);
    let accompanies = |(key, value): (&String, &Value)| {
        *value == OPENCODE_SCHEMA || wants.iter().any(|want| want.accompanies(key, value))
    };
    let is_written = |members: Map<String, Value>| {
        let own = if members.is_empty() { "{\n}".to_owned() } else { written(&Value::Object(members), LAYOUT, "") };
        text.replace("\r\n", "\n").strip_suffix('\n') == Some(&own)
    };
    let members = serde_json::from_str::<Map<String, Value>>(text).ok();
    text.trim().is_empty() || members.is_some_and(|members| members.iter().all(accompanies) && is_written(members))
}

fn finished(draft: Draft, clients: Vec<SetupClient>, steps: Vec<SetupStep>) -> SetupPlan {
    let used = draft.files.into_values().filter(|file| !file.clients.is_empty());
    let mut files: Vec<PlannedFile> = used.map(PlannedFile::decided).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    SetupPlan { files, clients, problems: draft.problems, steps }
}

fn in_order(clients: &[SetupClient]) -> impl Iterator<Item = SetupClient> {
    SetupClient::ALL.iter().copied().filter(|client| clients.contains(client))
}
