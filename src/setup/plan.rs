//! Plans a setup or a removal: reads every file, and decides what each will contain.
//!
//! Nothing is written here. A client of which one file cannot be edited is refused as a whole.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::client::SetupClient;
use super::draft::Draft;
use super::hook_line::{PROGRAM, is_own_program};
use super::locate::{Base, ClientPlace};
use super::look_alike::has_look_alike;
use super::planned::{CONNECTED, PlannedFile, SetupPlan, SetupStep};
use super::program::{program_name, runs};
use super::record::SetupRecord;
use super::registered::programs;
use super::status::ClaudeSettings;
use super::table::{ClientFile, PLUGIN_MANIFEST, files};
use super::{Setup, SetupOptions, SetupScope};
use crate::error::{Error, Message, Problem, Result};
use crate::text::printed_command;

/// What to do about entries in the files of a client that are not setup's.
const OTHERS_FIRST: &str = "read the other servers and hooks in its files of this folder first, since it may run them once you trust the folder";

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
        let mut problems = Vec::new();
        if program != PROGRAM && is_project {
            problems.push(Problem::warning(
                "PATH",
                "program-not-in-path",
                "a shell does not find `ralph-memory`, by which files of a project call it",
                "install it in a folder of `PATH`",
            ));
        } else if let Some(doubt) = doubt {
            let reason = "clients will run this path";
            problems.push(Problem::warning(program.clone(), "program-may-move", reason, doubt));
        }
        let mut draft = self.draft(scope);
        let mut planned = Vec::new();
        for client in in_order(clients) {
            let table = files(client, scope, &program, options);
            if table.is_empty() {
                let reason = format!("{} has no files of the {}", client.title(), scope.as_str());
                return Err(Error::invalid(client.as_str(), format!("{reason}; use `--scope project`")));
            }
            let dangers = self.dangers(client, scope);
            if !dangers.is_empty() {
                problems.extend(dangers);
                continue;
            }
            match draft.attempt(|draft| self.add_client(draft, client, scope, &table)) {
                Ok(()) => {
                    let settings = self.claude_settings(client);
                    let unused = self.unused(scope, &table, &settings);
                    problems.extend(unused.into_iter().map(|(path, reason, hint)| {
                        self.warning(&path, "switched-off", format!("{}: {reason}", client.title()), hint)
                    }));
                    problems.extend(self.hooks_of_user(scope, &settings));
                    planned.push(client);
                }
                Err(refused) => problems.push(refused),
            }
        }
        problems.extend(self.stale(&draft));
        let allows_tools = options.allow_tools || ClaudeSettings::read(&self.bases).allows_tools;
        let steps = planned.iter().flat_map(|client| {
            let step = client.step(is_project, allows_tools);
            let first = step.as_ref().filter(|_| is_project && self.has_others(*client, scope));
            let first = first.map(|_| OTHERS_FIRST.to_owned());
            first.into_iter().chain(step).map(|step| SetupStep { client: *client, step })
        });
        let steps = steps.collect();
        Ok(self.finished(draft, (clients, scope, Some(options)), planned, problems, steps))
    }

    /// Plans to remove what setup has done for these clients. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] where the path of this program cannot be written into a file.
    pub fn plan_removal(&self, clients: &[SetupClient], scope: SetupScope) -> Result<SetupPlan> {
        let (program, _) = self.program_name()?;
        let all = SetupOptions::ALL;
        let mut draft = self.draft(scope);
        let mut problems = Vec::new();
        let mut planned = Vec::new();
        for client in in_order(clients) {
            let table = files(client, scope, &program, all);
            match draft.attempt(|draft| self.remove_client(draft, client, scope, &table, clients)) {
                Ok(()) => {
                    problems.extend(self.left(&draft, client, scope, &table));
                    planned.push(client);
                }
                Err(refused) => problems.push(refused),
            }
        }
        // The block and the skill are also those of other clients.
        let was_connected = draft.files.values().any(|file| {
            let is_of_hooks = file.clients.contains(&SetupClient::Codex) && file.path.ends_with("hooks.json");
            is_of_hooks && file.after != file.before
        });
        let codex = SetupStep {
            client: SetupClient::Codex,
            step:
                "`[hooks.state]` in its `config.toml` keeps the trust that you gave to the hooks; delete it if you like"
                    .to_owned(),
        };
        let steps = if was_connected && planned.contains(&SetupClient::Codex) { vec![codex] } else { Vec::new() };
        Ok(self.finished(draft, (clients, scope, None), planned, problems, steps))
    }

    fn program_name(&self) -> Result<(String, Option<&'static str>)> {
        program_name(&self.program, self.path.as_deref()).map_err(|reason| Error::invalid("program", reason))
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
    ) -> std::result::Result<(), Problem> {
        if client == SetupClient::Claude {
            self.check_connected_once(scope)?;
        }
        for file in table {
            let path = self.chosen(file);
            let shown = self.bases.shown(file.base, path);
            let added = self.bases.locate(file.base, path).and_then(|place| {
                draft.add(&place, self.bases.relative(&shown), client, &file.content)?;
                Self::remember_folders(draft, &place);
                Ok(())
            });
            added.map_err(|reason| self.unusable(client, &shown, &reason))?;
        }
        Ok(())
    }

    fn remove_client(
        &self,
        draft: &mut Draft,
        client: SetupClient,
        scope: SetupScope,
        table: &[ClientFile],
        removed: &[SetupClient],
    ) -> std::result::Result<(), Problem> {
        let mut done = BTreeSet::new();
        for (file, path) in table.iter().flat_map(|file| file.paths.iter().map(move |path| (file, path))) {
            // What cannot be located was not written by setup.
            let Ok(place) = self.bases.locate(file.base, path) else { continue };
            if self.is_shared(draft, &place, scope, removed) {
                continue;
            }
            let shown = self.bases.shown(file.base, path);
            let removed = draft.remove(&place, self.bases.relative(&shown), client, &file.content);
            removed.map_err(|reason| self.unusable(client, &shown, &reason))?;
            Self::remember_own_folders(draft, &place, file.base);
            done.insert(place);
        }
        // Others use the rest, or this version no longer writes it.
        draft.record.leave(client, |place| !done.contains(place));
        Ok(())
    }

    /// Returns whether clients that stay use a file: by the record, else if their server is registered here.
    fn is_shared(&self, draft: &Draft, place: &ClientPlace, scope: SetupScope, removed: &[SetupClient]) -> bool {
        let stays = |client: &SetupClient| !removed.contains(client);
        if let Some(record) = draft.known.of(place) {
            return record.clients.iter().any(stays);
        }
        SetupClient::ALL.iter().copied().filter(stays).any(|client| {
            let table = files(client, scope, PROGRAM, SetupOptions::default());
            let uses =
                |file: &ClientFile| self.bases.locate(file.base, self.chosen(file)).is_ok_and(|used| used == *place);
            table.iter().any(uses) && table.iter().any(|file| self.has_server(file))
        })
    }

    /// Refuses to connect Claude Code twice: the plugin's hooks and those of the settings would both run.
    fn check_connected_once(&self, scope: SetupScope) -> std::result::Result<(), Problem> {
        let settings = ClaudeSettings::read(&self.bases);
        let refused = |shown: &Path, reason: &str, hint: String| {
            Err(self.refusal(SetupClient::Claude, CONNECTED, shown, &format!("connected already, {reason}"), hint))
        };
        match (scope, settings.with_hooks.first(), settings.enabled_plugin) {
            (SetupScope::Project, ..) if self.bases.exists(Base::ClaudeHome, PLUGIN_MANIFEST) => refused(
                &self.bases.shown(Base::ClaudeHome, "skills/ralph-memory"),
                "as a plugin for every project",
                "keep it; or remove it with `ralph-memory setup claude --scope user --remove` first".to_owned(),
            ),
            (SetupScope::User, Some((base, shown)), _) => {
                let folder = if *base == Base::Project { "this folder" } else { "the folder above `.claude`" };
                let remove =
                    format!("with `ralph-memory setup claude --remove` in {folder}, or by hand if you wrote them");
                let reason = "by these settings; the hooks of the plugin would run, too";
                refused(shown, reason, format!("keep them; or remove them first: {remove}"))
            }
            (.., Some(plugin)) => {
                let uninstall = printed_command("claude plugin uninstall PLUGIN", &[("PLUGIN", &plugin)]);
                let hint = format!("keep it; or remove it with {uninstall} first");
                refused(
                    &self.bases.shown(Base::ClaudeHome, "settings.json"),
                    &format!("by the plugin `{plugin}`"),
                    hint,
                )
            }
            _ => Ok(()),
        }
    }

    fn remember_folders(draft: &mut Draft, place: &ClientPlace) {
        let missing = |folder: &Path| !folder.exists();
        let inside = place.folders().take_while(|folder| missing(&place.root.join(folder)));
        draft.record.folders.extend(inside.map(|folder| (place.root.clone(), folder.to_owned())));
        for folder in place.root.ancestors().take_while(|folder| missing(folder)) {
            if let (Some(above), Some(name)) = (folder.parent(), folder.file_name().and_then(OsStr::to_str)) {
                draft.record.folders.insert((above.to_owned(), name.to_owned()));
            }
        }
    }

    /// Lets folders go with a file of which there is no record: those of setup's own name, and in a project also those
    /// that are empty without the file, since git keeps no empty folder of a clone.
    fn remember_own_folders(draft: &mut Draft, place: &ClientPlace, base: Base) {
        let is_deleted = draft.files.get(place).is_some_and(|file| file.before.is_some() && file.after.is_none());
        let is_of_clone = base == Base::Project && is_deleted && draft.known.of(place).is_none();
        let is_own = |folder: &&str| is_of_clone || folder.split('/').any(|part| part == "ralph-memory");
        let own = place.folders().filter(is_own);
        draft.record.folders.extend(own.map(|folder| (place.root.clone(), folder.to_owned())));
    }

    /// Returns a warning of a file.
    fn warning(&self, shown: &Path, code: &str, reason: impl Into<Message>, hint: &str) -> Problem {
        Problem::warning(self.bases.relative(shown).display().to_string(), code, reason, hint)
    }

    /// Warns of entries whose program is not there.
    fn stale(&self, draft: &Draft) -> Vec<Problem> {
        let entries = draft.files.values().flat_map(|file| file.programs.iter().map(|program| (&file.path, program)));
        let gone = entries.filter(|(_, program)| program.contains('/') && !runs(program, self.path.as_deref()));
        let hint = "`ralph-memory setup --remove` for this client, and then set it up again";
        let warning = |(shown, program): (&PathBuf, &String)| {
            self.warning(shown, "program-is-gone", format!("it runs `{program}`, which does not exist"), hint)
        };
        gone.map(warning).collect()
    }

    /// Reports hooks for every project in addition to those of this one. Claude Code runs identical ones once.
    fn hooks_of_user(&self, scope: SetupScope, settings: &ClaudeSettings) -> Option<Problem> {
        let own = self.bases.locate(Base::Project, ".claude/settings.json").ok();
        let users = self.bases.locate(Base::ClaudeHome, "settings.json").ok();
        let (_, shown) = settings.with_hooks.iter().find(|(base, _)| *base == Base::ClaudeHome)?;
        let reason = "Claude Code: these settings have the hooks for every project; it runs hooks that are equal once";
        let hint = "keep one of them: remove the hooks from the settings of the user, or those of the project";
        (scope == SetupScope::Project && own != users).then(|| self.warning(shown, CONNECTED, reason, hint))
    }

    /// Names the files that keep an entry that somebody else wrote.
    fn left(&self, draft: &Draft, client: SetupClient, scope: SetupScope, table: &[ClientFile]) -> Vec<Problem> {
        let is_left = |text: &String, file: &ClientFile| {
            !programs(&file.content, text, |_| true).is_empty() || has_look_alike(scope, file, text)
        };
        let paths = table.iter().flat_map(|file| file.paths.iter().map(move |path| (file, path)));
        let left = paths.filter_map(|(file, path)| {
            let draft = draft.files.get(&self.bases.locate(file.base, path).ok()?)?;
            draft.after.as_ref().is_some_and(|text| is_left(text, file)).then_some(&draft.path)
        });
        let left: BTreeSet<&PathBuf> = left.collect();
        let reason = "it has an entry of ralph-memory that setup did not write here, so the entry stays";
        let hint = "remove the entry by hand if you do not need it";
        let warning =
            |path: &PathBuf| self.warning(path, "not-of-setup", format!("{}: {reason}", client.title()), hint);
        left.into_iter().map(warning).collect()
    }

    /// Returns why a client is refused.
    fn refusal(&self, client: SetupClient, code: &str, shown: &Path, reason: &str, hint: String) -> Problem {
        let path = self.bases.relative(shown).display().to_string();
        Problem::error(path, code, format!("{}: {reason}", client.title()), hint)
    }

    fn unusable(&self, client: SetupClient, shown: &Path, reason: &str) -> Problem {
        let hint = "fix or move the file, and run the command again; no file of this client was changed".to_owned();
        let reason = format!("not set up, since this file cannot be edited: {reason}");
        self.refusal(client, "setup-refused", shown, &reason, hint)
    }

    fn finished(
        &self,
        draft: Draft,
        (asked, scope, options): (&[SetupClient], SetupScope, Option<SetupOptions>),
        clients: Vec<SetupClient>,
        mut problems: Vec<Problem>,
        steps: Vec<SetupStep>,
    ) -> SetupPlan {
        let reason = "somebody has edited this file of ralph-memory, so it is left as it is";
        let edited = draft.edited.iter();
        problems
            .extend(edited.map(|path| self.warning(path, "edited-by-hand", reason, "delete it if it is not needed")));
        let used = draft.files.into_values().filter(|file| !file.clients.is_empty());
        let mut files: Vec<PlannedFile> = used.map(PlannedFile::decided).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let (record, known, asked) = (draft.record, draft.known, asked.to_vec());
        SetupPlan { files, clients, problems, steps, scope, asked, options, record, known }
    }
}

/// Returns the clients once each, in the order of the table.
fn in_order(clients: &[SetupClient]) -> impl Iterator<Item = SetupClient> {
    SetupClient::ALL.iter().copied().filter(|client| clients.contains(client))
}
