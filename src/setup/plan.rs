//! Plans a set-up or a removal: reads every file, and decides what each will contain.
//!
//! Nothing is written here. A client of which one file cannot be edited is refused as a whole.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::client::SetupClient;
use super::draft::{ClientPart, Draft, Removal};
use super::hook_line::{PROGRAM, is_own_program};
use super::locate::{Base, ClientPlace};
use super::look_alike::has_look_alike;
use super::planned::{CONNECTED, PlannedAction, PlannedFile, SetupPlan, SetupStep};
use super::program::{program_name, runs};
use super::record::SetupRecord;
use super::registered::{has_part, is_off};
use super::status::ClaudeSettings;
use super::table::{ClientFile, PLUGIN_MANIFEST, files};
use super::{Setup, SetupOptions, SetupScope, planned};
use crate::error::{Error, Problem, Result};
use crate::text::printed_command;

/// What to do where other entries than set-up's are in the files of a client.
const OTHERS_FIRST: &str = "read the other servers and hooks in its files of this folder first, since it may run them once you trust the folder";

/// Why a client is refused.
struct RefusedClient {
    code: &'static str,
    shown: PathBuf,
    reason: String,
    hint: String,
}

impl Setup {
    /// Plans to set up clients. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where a client that is named has no files in this scope, and where the path of this program
    /// cannot be written into a file.
    pub fn plan(&self, clients: &[SetupClient], scope: SetupScope, options: SetupOptions) -> Result<SetupPlan> {
        let program =
            program_name(&self.program, self.path.as_deref()).map_err(|reason| Error::invalid("program", reason))?;
        if scope == SetupScope::User && !is_own_program(&program.name) {
            let name = program.name.rsplit('/').next().unwrap_or_default();
            let reason = format!("it is called `{name}`, and entries are recognised by the name `{PROGRAM}`");
            return Err(Error::invalid("program", format!("{reason}; install it as `{PROGRAM}`")));
        }
        let mut problems = Vec::new();
        if !program.is_found && scope == SetupScope::Project {
            problems.push(Problem::warning(
                "PATH",
                "program-not-in-path",
                "a shell does not find `ralph-memory`, by which files of a project call it",
                "install it in a folder of `PATH`",
            ));
        } else if let Some(doubt) = program.doubt {
            problems.push(Problem::warning(
                program.name.clone(),
                "program-may-move",
                "clients will run this path",
                doubt,
            ));
        }
        let mut draft = self.draft(scope);
        let mut planned = Vec::new();
        for client in in_order(clients) {
            let table = files(client, scope, &program.name, options);
            if table.is_empty() {
                let reason = format!("{} has no files of the {}", client.title(), scope.as_str());
                return Err(Error::invalid(client.as_str(), format!("{reason}; use `--scope project`")));
            }
            let dangers = self.dangers(client, scope);
            if !dangers.is_empty() {
                problems.extend(dangers);
                continue;
            }
            let saved = draft.clone();
            match self.add_client(&mut draft, client, scope, &table) {
                Ok(edited) => {
                    problems.extend(edited.iter().map(|path| self.edited(path)));
                    problems.extend(self.unused(client, scope, &table));
                    problems.extend((client == SetupClient::Claude).then(|| self.hooks_of_user(scope)).flatten());
                    planned.push(client);
                }
                Err(refused) => {
                    draft = saved;
                    problems.push(self.refusal(client, &refused));
                }
            }
        }
        problems.extend(self.stale(&draft));
        let is_project = scope == SetupScope::Project;
        let allows_tools = options.allow_tools || ClaudeSettings::read(&self.bases).allows_tools;
        let steps = planned.iter().flat_map(|client| {
            let step = client.step(is_project, allows_tools);
            let first = step.filter(|_| is_project && self.has_others(*client, scope)).map(|_| OTHERS_FIRST);
            first.into_iter().chain(step).map(|step| SetupStep { client: *client, step })
        });
        let steps = steps.collect();
        Ok(self.finished(draft, planned, problems, steps, scope, false))
    }

    /// Plans to remove what set-up has done for these clients. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the path of this program cannot be written into a file.
    pub fn plan_removal(&self, clients: &[SetupClient], scope: SetupScope) -> Result<SetupPlan> {
        let program =
            program_name(&self.program, self.path.as_deref()).map_err(|reason| Error::invalid("program", reason))?;
        let all = SetupOptions { each_prompt: true, allow_tools: true };
        let mut draft = self.draft(scope);
        let mut problems = Vec::new();
        let mut planned = Vec::new();
        let clients: BTreeSet<SetupClient> = clients.iter().copied().collect();
        for client in in_order(&clients.iter().copied().collect::<Vec<_>>()) {
            let table = files(client, scope, &program.name, all);
            let saved = draft.clone();
            match self.remove_client(&mut draft, client, scope, &table, &clients) {
                Ok(edited) => {
                    problems.extend(edited.iter().map(|path| self.edited(path)));
                    problems.extend(self.left(&draft, client, scope, &table));
                    planned.push(client);
                }
                Err(refused) => {
                    draft = saved;
                    problems.push(self.refusal(client, &refused));
                }
            }
        }
        let steps = Self::steps_after_removal(&draft, &planned);
        Ok(self.finished(draft, planned, problems, steps, scope, true))
    }

    fn draft(&self, scope: SetupScope) -> Draft {
        let known = SetupRecord::read(&self.state, scope, &self.bases.folder(scope));
        Draft { record: known.clone(), known, ..Draft::default() }
    }

    fn add_client(
        &self,
        draft: &mut Draft,
        client: SetupClient,
        scope: SetupScope,
        table: &[ClientFile],
    ) -> std::result::Result<Vec<PathBuf>, RefusedClient> {
        if client == SetupClient::Claude {
            self.check_wired_once(scope)?;
        }
        let mut edited = Vec::new();
        for file in table {
            let path = self.chosen(file);
            let shown = self.bases.shown(file.base, path);
            let added = self.bases.locate(file.base, path).and_then(|location| {
                let part = ClientPart { location: &location, shown: shown.clone(), client, content: &file.content };
                let removal = draft.add(part)?;
                Self::remember_folders(draft, &location);
                Ok(removal)
            });
            match added {
                Ok(Removal::Edited) => edited.push(shown),
                Ok(Removal::Done) => {}
                Err(reason) => return Err(unusable(shown, &reason)),
            }
        }
        Ok(edited)
    }

    fn remove_client(
        &self,
        draft: &mut Draft,
        client: SetupClient,
        scope: SetupScope,
        table: &[ClientFile],
        removed: &BTreeSet<SetupClient>,
    ) -> std::result::Result<Vec<PathBuf>, RefusedClient> {
        let mut edited = Vec::new();
        let mut done = BTreeSet::new();
        for file in table {
            for path in file.paths {
                let shown = self.bases.shown(file.base, path);
                // What cannot be located was not written by set-up.
                let Ok(location) = self.bases.locate(file.base, path) else { continue };
                if self.is_shared(draft, &location, scope, removed) {
                    draft.record.leave(&location, client);
                    continue;
                }
                done.insert(location.clone());
                let part = ClientPart { location: &location, shown: shown.clone(), client, content: &file.content };
                match draft.remove(part) {
                    Ok(Removal::Edited) => edited.push(shown),
                    Ok(Removal::Done) => Self::remember_own_folders(draft, &location, file.base),
                    Err(reason) => return Err(unusable(shown, &reason)),
                }
            }
        }
        // Files that this version would not write any more are of no use to the record.
        for location in draft.record.places_of(client).into_iter().filter(|location| !done.contains(location)) {
            draft.record.leave(&location, client);
        }
        Ok(edited)
    }

    /// Returns whether clients that stay use a file: by the record, else if their server is registered here.
    fn is_shared(
        &self,
        draft: &Draft,
        location: &ClientPlace,
        scope: SetupScope,
        removed: &BTreeSet<SetupClient>,
    ) -> bool {
        let stays = |client: &SetupClient| !removed.contains(client);
        if let Some(record) = draft.known.of(location) {
            return SetupClient::ALL.iter().filter(|client| stays(client)).any(|client| record.has(*client));
        }
        SetupClient::ALL.into_iter().filter(stays).any(|client| {
            let table = files(client, scope, "ralph-memory", SetupOptions::default());
            let uses =
                |file: &ClientFile| self.bases.locate(file.base, self.chosen(file)).is_ok_and(|used| used == *location);
            table.iter().any(uses) && table.iter().any(|file| self.has_server(file))
        })
    }

    /// Refuses to wire Claude Code twice: the plugin's hooks and those of the settings would both run.
    fn check_wired_once(&self, scope: SetupScope) -> std::result::Result<(), RefusedClient> {
        let settings = ClaudeSettings::read(&self.bases);
        let uninstall = |plugin: &str| printed_command("claude plugin uninstall PLUGIN", &[("PLUGIN", plugin)]);
        match scope {
            SetupScope::Project if self.bases.exists(Base::ClaudeHome, PLUGIN_MANIFEST) => Err(RefusedClient {
                code: CONNECTED,
                shown: self.bases.shown(Base::ClaudeHome, "skills/ralph-memory"),
                reason: "connected already, as a plugin for every project".to_owned(),
                hint: "keep it; or remove it with `ralph-memory setup claude --scope user --remove` first".to_owned(),
            }),
            SetupScope::User if !settings.with_hooks.is_empty() => {
                let (base, shown) = settings.with_hooks[0].clone();
                let folder = if base == Base::Project { "this folder" } else { "the folder above `.claude`" };
                Err(RefusedClient {
                    code: CONNECTED,
                    shown,
                    reason: "connected already, by these settings; the hooks of the plugin would run, too".to_owned(),
                    hint: format!(
                        "keep them; or remove them first: with `ralph-memory setup claude --remove` in {folder}, or by \
                         hand if you wrote them"
                    ),
                })
            }
            _ => match settings.enabled_plugin {
                Some(plugin) => Err(RefusedClient {
                    code: CONNECTED,
                    shown: self.bases.shown(Base::ClaudeHome, "settings.json"),
                    reason: format!("connected already, by the plugin `{plugin}`"),
                    hint: format!("keep it; or remove it with {} first", uninstall(&plugin)),
                }),
                None => Ok(()),
            },
        }
    }

    fn remember_folders(draft: &mut Draft, location: &ClientPlace) {
        let missing = |folder: &Path| !folder.exists();
        let mut above = location.path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/')
            && missing(&location.root.join(folder))
        {
            draft.record.folders.insert((location.root.clone(), folder.to_owned()));
            above = folder;
        }
        for folder in location.root.ancestors().take_while(|folder| missing(folder)) {
            if let (Some(above), Some(name)) = (folder.parent(), folder.file_name().and_then(OsStr::to_str)) {
                draft.record.folders.insert((above.to_owned(), name.to_owned()));
            }
        }
    }

    /// Lets folders go with a file of which there is no record: those of set-up's own name, and in a project also those
    /// that are empty without the file, since git keeps no empty folder of a clone.
    fn remember_own_folders(draft: &mut Draft, location: &ClientPlace, base: Base) {
        let is_deleted =
            draft.files.get(location).is_some_and(|file| file.original.is_some() && file.current.is_none());
        let is_of_clone = base == Base::Project && is_deleted && draft.known.of(location).is_none();
        let mut above = location.path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if is_of_clone || folder.split('/').any(|part| part == "ralph-memory") {
                draft.record.folders.insert((location.root.clone(), folder.to_owned()));
            }
            above = folder;
        }
    }

    /// Warns of entries whose program is not there.
    fn stale(&self, draft: &Draft) -> Vec<Problem> {
        let stale = |(shown, program): (&PathBuf, &String)| {
            let is_gone = program.contains('/') && !runs(program, self.path.as_deref());
            is_gone.then(|| {
                Problem::warning(
                    self.bases.relative(shown).display().to_string(),
                    "program-is-gone",
                    format!("it runs `{program}`, which does not exist"),
                    "`ralph-memory setup --remove` for this client, and then set it up again",
                )
            })
        };
        let entries = draft.files.values().flat_map(|file| file.programs.iter().map(|program| (&file.shown, program)));
        entries.filter_map(stale).collect()
    }

    fn edited(&self, shown: &Path) -> Problem {
        Problem::warning(
            self.bases.relative(shown).display().to_string(),
            "edited-by-hand",
            "somebody has edited this file of ralph-memory, so it is left as it is",
            "delete it if it is not needed",
        )
    }

    /// Warns of what is there, and not used.
    fn unused(&self, client: SetupClient, scope: SetupScope, table: &[ClientFile]) -> Vec<Problem> {
        let warning = |path: &Path, reason: &str, hint: &str| {
            let reason = format!("{}: {reason}", client.title());
            Problem::warning(self.bases.relative(path).display().to_string(), "switched-off", reason, hint.to_owned())
        };
        let off = table.iter().filter(|file| self.text(file).is_some_and(|text| is_off(&file.content, &text)));
        let off: BTreeSet<PathBuf> = off.map(|file| self.bases.shown(file.base, self.chosen(file))).collect();
        let reason = "the entry of ralph-memory is there, but it is switched off";
        let mut problems: Vec<Problem> =
            off.iter().map(|path| warning(path, reason, "switch it on in the client or in this file")).collect();
        if client == SetupClient::Claude {
            let settings = ClaudeSettings::read(&self.bases);
            let disabled =
                settings.hooks_disabled.iter().map(|path| (path, "`disableAllHooks` is set, so no hook runs"));
            let rejected = settings.server_disabled.iter().filter(|_| scope == SetupScope::Project);
            let rejected = rejected.map(|path| (path, "`disabledMcpjsonServers` names the server, so it is not used"));
            let doubts = disabled.chain(rejected);
            problems.extend(doubts.map(|(path, reason)| warning(path, reason, "remove that from these settings")));
        }
        problems
    }

    /// Tells of hooks for every project beside those of this one. Claude Code runs equal ones once.
    fn hooks_of_user(&self, scope: SetupScope) -> Option<Problem> {
        let settings = ClaudeSettings::read(&self.bases);
        let own = self.bases.locate(Base::Project, ".claude/settings.json").ok();
        let users = self.bases.locate(Base::ClaudeHome, "settings.json").ok();
        let (_, shown) = settings.with_hooks.iter().find(|(base, _)| *base == Base::ClaudeHome)?;
        let reason = "Claude Code: these settings have the hooks for every project; it runs hooks that are equal once";
        let hint = "keep one of them: remove the hooks from the settings of the user, or those of the project";
        let problem = Problem::warning(shown.display().to_string(), CONNECTED, reason, hint);
        (scope == SetupScope::Project && own != users).then_some(problem)
    }

    /// Names the files in which an entry stays that somebody else has written.
    fn left(&self, draft: &Draft, client: SetupClient, scope: SetupScope, table: &[ClientFile]) -> Vec<Problem> {
        let left = |file: &ClientFile| {
            let places = file.paths.iter().filter_map(|path| self.bases.locate(file.base, path).ok());
            let drafts = places.filter_map(|place| draft.files.get(&place));
            let connects =
                |text: &String| has_part(&file.content, text, &|_| true) || has_look_alike(scope, file, text);
            let left: Vec<&Path> = drafts
                .filter(|draft| draft.current.as_ref().is_some_and(connects))
                .map(|draft| self.bases.relative(&draft.shown))
                .collect();
            left
        };
        let left: BTreeSet<&Path> = table.iter().flat_map(left).collect();
        let problem = |path: &Path| {
            Problem::warning(
                path.display().to_string(),
                "not-of-setup",
                format!(
                    "{}: it has an entry of ralph-memory that set-up did not write here, so the entry stays",
                    client.title()
                ),
                "remove the entry by hand if you do not need it",
            )
        };
        left.into_iter().map(problem).collect()
    }

    fn refusal(&self, client: SetupClient, refused: &RefusedClient) -> Problem {
        Problem::error(
            self.bases.relative(&refused.shown).display().to_string(),
            refused.code,
            format!("{}: {}", client.title(), refused.reason),
            refused.hint.clone(),
        )
    }

    fn steps_after_removal(draft: &Draft, planned: &[SetupClient]) -> Vec<SetupStep> {
        // The block and the skill are also those of other clients.
        let was_wired = draft.files.values().any(|file| {
            let is_of_hooks = file.clients.contains(&SetupClient::Codex) && file.shown.ends_with("hooks.json");
            is_of_hooks && file.current != file.original
        });
        let codex = SetupStep {
            client: SetupClient::Codex,
            step: "`[hooks.state]` in its `config.toml` keeps the trust that you gave to the hooks; delete it if you like",
        };
        if was_wired && planned.contains(&SetupClient::Codex) { vec![codex] } else { Vec::new() }
    }

    fn finished(
        &self,
        draft: Draft,
        clients: Vec<SetupClient>,
        problems: Vec<Problem>,
        steps: Vec<SetupStep>,
        scope: SetupScope,
        is_removal: bool,
    ) -> SetupPlan {
        let planned = draft.files.into_iter().map(|(location, file)| {
            let action = match (&file.original, &file.current) {
                (None, Some(_)) => PlannedAction::Create,
                (Some(_), None) => PlannedAction::Delete,
                (before, after) if before == after => PlannedAction::Keep,
                _ => PlannedAction::Edit,
            };
            let path = self.bases.relative(&file.shown).to_owned();
            let (before, after) = (file.original, file.current);
            let diff = planned::diff(&path, before.as_deref(), after.as_deref());
            let clients = file.clients.into_iter().collect();
            PlannedFile { path, clients, action, lacks: file.lacks, diff, location, before, after }
        });
        let mut files: Vec<PlannedFile> = planned.filter(|file| !file.clients.is_empty()).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let (record, known) = (draft.record, draft.known);
        SetupPlan { files, clients, problems, steps, scope, record, known, is_removal }
    }
}

/// Returns the clients once each, in the order of the table.
fn in_order(clients: &[SetupClient]) -> impl Iterator<Item = SetupClient> {
    let named: BTreeSet<SetupClient> = clients.iter().copied().collect();
    SetupClient::ALL.into_iter().filter(move |client| named.contains(client))
}

fn unusable(shown: PathBuf, reason: &str) -> RefusedClient {
    let hint = "fix or move the file, and run the command again; no file of this client was changed".to_owned();
    RefusedClient {
        code: "setup-refused",
        shown,
        reason: format!("not set up, since this file cannot be edited: {reason}"),
        hint,
    }
}
