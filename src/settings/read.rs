//! Reads settings from the text of a file and from environment variables.
//!
//! This code is our own, instead of serde with figment, for three reasons: each key keeps its line for messages; an
//! unknown key gets a suggestion; and settings that a project's file may not have are reported and left out, while the
//! others apply.

use toml::de::{DeTable, DeValue};

use super::setting::{OwnReason, Setting};
use super::value::{RawValue, SettingValue as _, ValueRule, raw_value};
use super::{ENV_PREFIX, FORMAT, Origin, Settings, all};
use crate::error::{Error, Message, Problem, Result};
use crate::text::{floor, nearest};

/// The largest settings file, in bytes: ten times the size of a file with all settings, so there is room for thousands
/// of fingerprints. Every command reads it.
const MAX_BYTES: usize = 64 * 1024;
/// How many unknown keys of a file are reported one by one.
const MAX_UNKNOWN: usize = 10;
/// Keys of this length in bytes or more are not compared with the known ones, which have at most 30.
pub(super) const LONG_KEY: usize = 100;

/// A settings file that is being read.
struct SettingsFile<'a> {
    text: &'a str,
    /// The name of the file in problems and errors.
    path: &'a str,
}

impl SettingsFile<'_> {
    /// Returns the line at an offset, counted from 1.
    fn line(&self, offset: usize) -> u32 {
        let before = &self.text[..offset.min(self.text.len())];
        u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX)
    }

    fn refuse(&self, offset: Option<usize>, reason: &str) -> Error {
        let path = self.path;
        Error::Settings {
            place: offset.map_or_else(|| path.to_owned(), |offset| format!("{path}:{}", self.line(offset))),
            reason: reason.to_owned(),
        }
    }

    fn warning(
        &self,
        offset: Option<usize>,
        code: &str,
        message: impl Into<Message>,
        hint: impl Into<Message>,
    ) -> Problem {
        Problem::warning(self.path, code, message, hint).at_line(offset.map(|offset| self.line(offset)))
    }

    /// Refuses the format of a newer version of the program.
    fn check_format(&self, offset: usize, value: &DeValue<'_>) -> Result<()> {
        let mut found = 0_u64;
        let range = ValueRule::Within(1.0, f64::MAX);
        found.set(range, raw_value(value)).map_err(|_| self.refuse(Some(offset), "`format` is not a whole number"))?;
        if found > FORMAT {
            return Err(Error::NewerFormat { path: self.path.into(), found, known: FORMAT });
        }
        Ok(())
    }

    /// Reports a setting that a project's file cannot have.
    fn not_for_projects(&self, setting: &Setting, (code, what): OwnReason, offset: usize) -> Problem {
        let message = format!("`{}` {what}, and a file that comes with a repository cannot", setting.key);
        let hint = format!("put it into your own settings file, or set `{}`", setting.env());
        self.warning(Some(offset), code, message, hint)
    }

    fn unknown(&self, key: &str, offset: usize) -> Problem {
        let hint =
            meant(key).map_or_else(|| "delete the line".to_owned(), |meant| format!("did you mean `{}`?", meant.key));
        self.warning(Some(offset), "unknown-setting", format!("there is no setting `{key}`"), hint)
    }
}

impl Settings {
    /// Applies the text of a settings file. `path` is named in problems and errors.
    ///
    /// Unknown keys are reported with the nearest known one. Commands, addresses and keys of servers in a project's
    /// file are reported and have no effect.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if the text is not TOML or over 64 KiB, or a value is out of its range, and
    /// [`Error::NewerFormat`] if `format` is over [`FORMAT`].
    pub(crate) fn read_file(&mut self, text: &str, path: &str, origin: Origin) -> Result<Vec<Problem>> {
        let file = SettingsFile { text, path };
        if text.len() > MAX_BYTES {
            return Err(file.refuse(None, &format!("it has {} bytes; the limit is {MAX_BYTES}", text.len())));
        }
        let table =
            DeTable::parse(text).map_err(|error| file.refuse(error.span().map(|span| span.start), error.message()))?;
        let mut keys = Vec::new();
        flatten("", table.get_ref(), &mut keys);
        let (mut problems, mut n_unknown) = (Vec::new(), 0);
        for (key, offset, value) in keys {
            match all().find(|setting| setting.key == key) {
                Some(setting @ Setting { own: Some(reason), .. }) if origin == Origin::Project => {
                    problems.push(file.not_for_projects(setting, *reason, offset));
                }
                Some(setting) => {
                    setting.set(self, raw_value(value)).map_err(|reason| file.refuse(Some(offset), &reason))?;
                }
                None if key == "format" => file.check_format(offset, value)?,
                None => {
                    n_unknown += 1;
                    if n_unknown <= MAX_UNKNOWN {
                        problems.push(file.unknown(&key, offset));
                    }
                }
            }
        }
        if n_unknown > MAX_UNKNOWN {
            let message = format!("{} more keys are not settings", n_unknown - MAX_UNKNOWN);
            problems.push(file.warning(None, "unknown-setting", message, "delete these lines as well"));
        }
        Ok(problems)
    }

    /// Applies those of the environment `variables` that are settings. A list has commas between its items. Returns a
    /// warning for each variable that is probably meant to be a setting.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if a value is invalid for its setting.
    pub(crate) fn read_env<'a>(&mut self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Vec<Problem>> {
        let variables: Vec<(&str, &str)> = variables.collect();
        for setting in all() {
            let name = setting.env();
            if let Some((_, value)) = variables.iter().find(|(given, _)| *given == name) {
                let value = RawValue::Variable((*value).to_owned());
                setting.set(self, value).map_err(|reason| Error::Settings { place: name, reason })?;
            }
        }
        Ok(variables.iter().filter_map(|(name, _)| unknown_variable(name)).collect())
    }
}

/// Returns the setting with the nearest name. `git.commit` is no misspelling: earlier versions had it.
fn meant(key: &str) -> Option<&'static Setting> {
    let nearest = nearest(key, all().map(|setting| setting.key)).filter(|_| key != "git.commit");
    all().find(|setting| Some(setting.key) == nearest)
}

/// Returns a warning if a variable has the form of a setting, but no setting has its name. Other variables with the prefix
/// may belong to scripts.
fn unknown_variable(name: &str) -> Option<Problem> {
    let key = name.strip_prefix(ENV_PREFIX).filter(|key| key.contains("__"))?.to_lowercase().replace("__", ".");
    let hint = meant(&key).map_or_else(
        || "`ralph-memory help settings` lists them all; unset the variable".to_owned(),
        |meant| format!("did you mean `{}`?", meant.env()),
    );
    let message = "the environment has this variable, and there is no such setting";
    let is_known = all().any(|setting| setting.env() == name);
    (!is_known).then(|| Problem::warning(&name[..floor(name, LONG_KEY)], "unknown-setting", message, hint))
}

/// Lists the keys of a file with their values. A setting that is a table is one value; other tables are opened.
pub(super) fn flatten<'t, 'i>(prefix: &str, table: &'t DeTable<'i>, found: &mut Vec<(String, usize, &'t DeValue<'i>)>) {
    for (key, value) in table {
        // A long name of a table is not repeated for each key in it.
        let prefix = &prefix[..floor(prefix, LONG_KEY)];
        let path = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        match value.get_ref() {
            DeValue::Table(inner) if all().all(|setting| setting.key != path) => flatten(&path, inner, found),
            other => found.push((path, key.span().start, other)),
        }
    }
}
