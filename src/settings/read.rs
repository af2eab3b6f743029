//! Reads settings from the text of a file and from environment variables.
//!
//! This code is our own instead of serde with figment: each key keeps its line for messages, an unknown one gets the
//! nearest known one, and settings that a project's file may not have are reported and left out, while the rest
//! applies.

use std::collections::HashSet;

use toml::de::{DeTable, DeValue};

use super::setting::{FORMER_GROUP, RawValue, Setting, SettingKind};
use super::{ALL, ENV_PREFIX, FORMAT, Origin, Settings};
use crate::error::{Error, Message, Problem, Result};
use crate::text::{floor, nearest};

/// The largest settings file, in bytes: ten times the one that has all settings, with room for thousands of
/// fingerprints. Every command reads it.
const MAX_BYTES: usize = 64 * 1024;
/// How many unknown keys of a file are reported individually.
const MAX_UNKNOWN: usize = 10;
/// The length in bytes from which a key is not compared with the known ones, which have at most 30.
pub(super) const LONG_KEY: usize = 100;

/// A settings file that is being read.
struct SettingsFile<'a> {
    text: &'a str,
    /// Its name in problems and errors.
    path: &'a str,
}

impl SettingsFile<'_> {
    /// Returns the line of an offset, counted from 1.
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

    /// Refuses the format of a newer program.
    fn check_format(&self, offset: usize, value: &DeValue<'_>) -> Result<()> {
        let format = number(value).filter(|format| *format >= 1.0 && format.fract() == 0.0);
        let format = format.ok_or_else(|| self.refuse(Some(offset), "`format` is not a whole number"))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and positive, and there are few formats"
        )]
        let found = format as u64;
        if found > FORMAT {
            return Err(Error::NewerFormat { path: self.path.into(), found, known: FORMAT });
        }
        Ok(())
    }

    /// Reports a setting that a project's file cannot have.
    fn not_for_projects(&self, setting: &Setting, offset: usize) -> Problem {
        let (code, what) = match setting.kind {
            SettingKind::Place(_) => ("address-in-project", "names a place on a server"),
            SettingKind::Address(_) => ("address-in-project", "names an address to send text to"),
            SettingKind::Key(_) => ("key-in-project", "is a secret"),
            SettingKind::Command(_) => ("command-in-project", "names a command"),
            SettingKind::Folders => ("trust-in-project", "decides whose memories are used"),
            SettingKind::Choice { .. } if setting.key == "git.commit" => {
                ("commit-in-project", "lets the program write to the repository")
            }
            SettingKind::Choice { .. } if setting.key == "sessions.record" => {
                ("recording-in-project", "decides what is written down of a person's sessions")
            }
            _ => ("server-in-project", "configures a server"),
        };
        let message = format!("`{}` {what}, and a file that comes with a repository cannot", setting.key);
        let hint = format!("put it into your own settings file, or set `{}`", setting.env());
        self.warning(Some(offset), code, message, hint)
    }

    /// Reports a former name beside the present one, which counts.
    fn renamed(&self, key: &str, offset: usize) -> Problem {
        let message = format!("`{key}` has no effect: it is the former name of a setting that the file has as well");
        self.warning(Some(offset), "unknown-setting", message, "delete the line")
    }

    fn unknown(&self, key: &str, offset: usize) -> Problem {
        let hint = nearest(key, ALL.iter().map(|setting| setting.key));
        let hint = hint.map_or_else(|| "delete the line".to_owned(), |nearest| format!("did you mean `{nearest}`?"));
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
        let given: HashSet<String> = keys.iter().map(|(key, ..)| key.clone()).collect();
        for (key, offset, value) in keys {
            let renamed = new_name(&key);
            if renamed.as_ref().is_some_and(|renamed| given.contains(renamed)) {
                problems.push(file.renamed(&key, offset));
                continue;
            }
            let name = renamed.as_deref().unwrap_or(&key);
            match ALL.iter().find(|setting| setting.key == name) {
                Some(setting) if setting.is_users_own() && origin == Origin::Project => {
                    problems.push(file.not_for_projects(setting, offset));
                }
                Some(setting) => {
                    setting.set(self, raw_value(value)).map_err(|reason| file.refuse(Some(offset), &reason))?;
                }
                None if key == "format" => file.check_format(offset, value)?,
                // An older program had it; it switched learning off, and this one always learns.
                None if key == "learn" || key == "execution.learn" => {}
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
        for setting in ALL {
            if let Some((name, value)) = setting.among(&variables) {
                let value = match setting.kind {
                    SettingKind::Number { .. } => value.trim().parse().map_or(RawValue::Other, RawValue::Number),
                    SettingKind::Switch(_) => value.trim().parse().map_or(RawValue::Other, RawValue::Bool),
                    SettingKind::Models | SettingKind::Fingerprints | SettingKind::Folders => {
                        let items = value.split(',').map(|item| item.trim().to_owned());
                        RawValue::List(items.filter(|item| !item.is_empty()).collect())
                    }
                    SettingKind::Choice { .. }
                    | SettingKind::Model(_)
                    | SettingKind::Command(_)
                    | SettingKind::Address(_)
                    | SettingKind::Key(_)
                    | SettingKind::Place(_) => RawValue::Text(value.trim().to_owned()),
                };
                setting.set(self, value).map_err(|reason| Error::Settings { place: name.to_owned(), reason })?;
            }
        }
        Ok(variables.iter().filter_map(|(name, _)| unknown_variable(name)).collect())
    }
}

/// Returns the present name of a key that had another one before.
fn new_name(key: &str) -> Option<String> {
    key.strip_prefix(FORMER_GROUP.0).map(|rest| format!("{}{rest}", FORMER_GROUP.1))
}

/// Returns a warning if a variable has the form of a setting, but no setting has its name. Other variables with the prefix may belong to
/// scripts.
fn unknown_variable(name: &str) -> Option<Problem> {
    let key = name.strip_prefix(ENV_PREFIX).filter(|key| key.contains("__"))?;
    if ALL.iter().any(|setting| setting.is_variable(name)) {
        return None;
    }
    let key = key.to_lowercase().replace("__", ".");
    let meant = nearest(&key, ALL.iter().map(|setting| setting.key));
    let meant = ALL.iter().find(|setting| Some(setting.key) == meant).map(Setting::env);
    let hint = meant.map_or_else(
        || "`.ralph/config.toml` lists all settings; unset the variable".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    let message = "the environment has this variable, and there is no such setting";
    Some(Problem::warning(&name[..floor(name, LONG_KEY)], "unknown-setting", message, hint))
}

pub(super) fn flatten<'t, 'i>(prefix: &str, table: &'t DeTable<'i>, found: &mut Vec<(String, usize, &'t DeValue<'i>)>) {
    for (key, value) in table {
        // A long name of a table is not repeated for each key in it.
        let prefix = &prefix[..floor(prefix, LONG_KEY)];
        let path = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        match value.get_ref() {
            DeValue::Table(inner) => flatten(&path, inner, found),
            other => found.push((path, key.span().start, other)),
        }
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok().filter(|value: &f64| value.is_finite()),
        _ => None,
    }
}

fn raw_value(value: &DeValue<'_>) -> RawValue {
    match value {
        DeValue::String(text) => RawValue::Text(text.trim().to_owned()),
        DeValue::Boolean(on) => RawValue::Bool(*on),
        DeValue::Array(items) => {
            let text = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
                DeValue::String(text) => Some(text.trim().to_owned()),
                _ => None,
            };
            items.iter().map(text).collect::<Option<Vec<String>>>().map_or(RawValue::Other, RawValue::List)
        }
        value => number(value).map_or(RawValue::Other, RawValue::Number),
    }
}
