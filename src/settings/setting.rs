//! A setting: its key, its help, its values and its field.

use crate::secret::is_fingerprint;

use super::semantic::is_address;
use super::{ENV_PREFIX, MAX_MODEL, MAX_MODELS, Settings};

/// The groups of settings that a project's file may have.
const OF_PROJECTS: [&str; 10] =
    ["context", "events", "lock", "maintenance", "progress", "run", "search", "secrets", "semantic", "strategy"];

/// The former and the present name of a group. Both are read, and the present one wins.
pub(super) const FORMER_GROUP: (&str, &str) = ("tend.", "maintenance.");

/// One setting, for the documentation and the parser.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// Its key, with a dot between table and name.
    pub key: &'static str,
    /// Its help, in one line.
    pub help: &'static str,
    pub(super) kind: SettingKind,
}

/// The kind of a setting's value, and its field.
#[derive(Debug, Clone, Copy)]
pub(super) enum SettingKind {
    Number {
        range: (f64, f64),
        whole: bool,
        get: fn(&Settings) -> f64,
        set: fn(&mut Settings, f64),
    },
    Choice {
        of: &'static [&'static str],
        get: fn(&Settings) -> &'static str,
        /// `None` if the word is unknown.
        set: fn(&mut Settings, &str) -> Option<()>,
    },
    Switch(fn(&mut Settings) -> &mut bool),
    /// A word that can be the name of a model, or nothing.
    Model(OfText),
    Models,
    /// Fingerprints of texts that look like a secret and are not.
    Fingerprints,
    /// A command line, which a project's file may not name.
    Command(OfText),
    /// The address of a server, which a project's file may not name.
    Address(OfText),
    /// A place on a server: a word, or nothing. A project's file could name another project's place.
    Place(OfText),
    /// A secret for a server, which must not be in a project's file.
    Key(OfText),
    /// Folders whose memories are used whoever owns them. A project's file could name its own folder.
    Folders,
}

/// The field of a text.
pub(super) type OfText = fn(&mut Settings) -> &mut String;

/// A value from a file or a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawValue {
    Number(f64),
    Bool(bool),
    Text(String),
    List(Vec<String>),
    Other,
}

impl Setting {
    /// Returns its default, as written in a file.
    pub(crate) fn default_text(&self) -> String {
        let mut settings = Settings::default();
        match self.kind {
            SettingKind::Number { get, whole: true, .. } => format!("{:.0}", get(&settings)),
            SettingKind::Number { get, .. } => format!("{:?}", get(&settings)),
            SettingKind::Choice { get, .. } => format!("\"{}\"", get(&settings)),
            SettingKind::Model(of_text)
            | SettingKind::Command(of_text)
            | SettingKind::Address(of_text)
            | SettingKind::Place(of_text)
            | SettingKind::Key(of_text) => format!("\"{}\"", of_text(&mut settings)),
            SettingKind::Switch(of_switch) => of_switch(&mut settings).to_string(),
            SettingKind::Models => format!("{:?}", settings.models),
            SettingKind::Fingerprints => format!("{:?}", settings.allowed_secrets),
            SettingKind::Folders => format!("{:?}", settings.safe_directories),
        }
    }

    /// Returns the environment variable that overrides it.
    pub(crate) fn env(&self) -> String {
        format!("{ENV_PREFIX}{}", self.key.replace('.', "__").to_uppercase())
    }

    /// Returns the variable of its former name, if it had one.
    fn former_env(&self) -> Option<String> {
        let (former, group) = FORMER_GROUP;
        let rest = self.key.strip_prefix(group)?;
        Some(format!("{ENV_PREFIX}{}", format!("{former}{rest}").replace('.', "__").to_uppercase()))
    }

    /// Returns whether a variable overrides it.
    pub(super) fn is_variable(&self, name: &str) -> bool {
        self.env() == name || self.former_env().as_deref() == Some(name)
    }

    /// Returns its value among these environment variables, with the name of the variable. The present name wins.
    pub(super) fn among<'a>(&self, variables: &[(&'a str, &'a str)]) -> Option<(&'a str, &'a str)> {
        let value = |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).copied();
        value(&self.env()).or_else(|| value(&self.former_env()?))
    }

    /// Returns whether a project's file may not set it, because it names a command, configures a server, is a secret,
    /// decides about trust, lets the program write to the repository, or decides what is written down of a person. A group that is not in [`OF_PROJECTS`] belongs to the
    /// user whatever its kind: a model of a server may send texts on, and a time-out makes a person wait.
    pub(crate) fn is_users_own(&self) -> bool {
        let (group, _) = self.key.split_once('.').unwrap_or((self.key, ""));
        let is_own = matches!(
            self.kind,
            SettingKind::Command(_)
                | SettingKind::Address(_)
                | SettingKind::Place(_)
                | SettingKind::Key(_)
                | SettingKind::Folders
        );
        is_own || !OF_PROJECTS.contains(&group)
    }

    /// Applies a value, or returns what it must be.
    pub(super) fn set(&self, settings: &mut Settings, value: RawValue) -> std::result::Result<(), String> {
        let must = |what: &str| format!("`{}` must be {what}", self.key);
        match (self.kind, value) {
            (SettingKind::Number { range: (least, most), whole, set, .. }, value) => {
                let kind = if whole { "a whole number" } else { "a number" };
                let number = match value {
                    RawValue::Number(number) => Some(number),
                    _ => None,
                };
                let fits = |number: &f64| (least..=most).contains(number) && (!whole || number.fract() == 0.0);
                let number = number.filter(fits).ok_or_else(|| must(&format!("{kind} from {least} to {most}")))?;
                set(settings, number);
            }
            (SettingKind::Choice { of, set, .. }, value) => {
                let word = if let RawValue::Text(word) = &value { set(settings, word) } else { None };
                word.ok_or_else(|| must(&format!("one of {}", of.join(", "))))?;
            }
            (SettingKind::Switch(of_switch), RawValue::Bool(on)) => *of_switch(settings) = on,
            (SettingKind::Switch(_), _) => return Err(must("true or false")),
            (SettingKind::Model(of_text) | SettingKind::Place(of_text), RawValue::Text(text))
                if text.is_empty() || is_model(&text) =>
            {
                *of_text(settings) = text;
            }
            (SettingKind::Model(_) | SettingKind::Place(_), _) => return Err(must(MODEL)),
            (SettingKind::Models, RawValue::List(models))
                if (1..=MAX_MODELS).contains(&models.len()) && models.iter().all(|model| is_model(model)) =>
            {
                settings.models = models;
            }
            (SettingKind::Models, _) => return Err(must(&format!("a list of 1 to {MAX_MODELS} models, each {MODEL}"))),
            (SettingKind::Fingerprints, RawValue::List(fingerprints))
                if fingerprints.iter().all(|text| is_fingerprint(text)) =>
            {
                settings.allowed_secrets = fingerprints;
            }
            (SettingKind::Fingerprints, _) => {
                return Err(must("a list of fingerprints, each eight hexadecimal digits"));
            }
            (SettingKind::Folders, RawValue::List(folders))
                if folders.iter().all(|folder| folder == "*" || folder.starts_with('/')) =>
            {
                settings.safe_directories = folders;
            }
            (SettingKind::Folders, _) => {
                return Err(must("a list of absolute paths, of which the last part may be `*`, or `*`"));
            }
            (SettingKind::Command(of_text), RawValue::Text(text)) => *of_text(settings) = text,
            (SettingKind::Command(_), _) => return Err(must("a command line")),
            (SettingKind::Address(of_text), RawValue::Text(text)) if text.is_empty() || is_address(&text) => {
                text.trim_end_matches('/').clone_into(of_text(settings));
            }
            (SettingKind::Address(_), _) => return Err(must("an address such as `http://localhost:11434`")),
            (SettingKind::Key(of_text), RawValue::Text(text))
                if text.chars().all(|character| character.is_ascii_graphic()) =>
            {
                *of_text(settings) = text;
            }
            (SettingKind::Key(_), _) => return Err(must("a word of ASCII characters")),
        }
        Ok(())
    }
}

/// The form of a model's name.
pub(super) const MODEL: &str = "a word of letters, digits and `.`, `_`, `-`, `:`, `/`, `@`, `[`, `]`";

/// Returns whether `name` can be the name of a model: a word that is safe as an argument of a command.
pub(crate) fn is_model(name: &str) -> bool {
    // An argument that begins with `-` would be an option.
    !name.is_empty()
        && !name.starts_with('-')
        && name.len() <= MAX_MODEL
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "._-:/@[]".contains(character))
}
