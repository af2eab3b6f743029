//! Settings: their types, defaults, and how text becomes them.
//!
//! Pure: where the text comes from is the caller's to know. Later layers win over earlier ones:
//! defaults, the user's own file, the project's `config.toml`, environment variables.

use toml::de::{DeTable, DeValue};

use crate::error::{Error, Problem, Result, Severity};
use crate::text::edit_distance;

/// The newest format of a memory folder that this program reads and writes.
pub const FORMAT: u64 = 1;
/// What every setting's environment variable begins with.
pub const ENV_PREFIX: &str = "RALPH_MEMORY_";

/// What can be set, with its defaults.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// `search.limit`: how many hits a search returns at most.
    pub search_limit: usize,
    /// `search.text_weight`: how much the text score counts beside the points for tags; 0 leaves the
    /// points alone.
    pub text_weight: f64,
    /// `context.budget`: how many characters a context has at most, beside its fixed instructions.
    pub context_budget: usize,
    /// `context.body_words`: how many words of one entry's body a context shows at most.
    pub body_words: usize,
    /// `lock.timeout_ms`: how long a writing command waits for another one, in milliseconds.
    pub lock_timeout_ms: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            search_limit: 10,
            text_weight: 1.0,
            context_budget: 27_000,
            body_words: 500,
            lock_timeout_ms: 30_000,
        }
    }
}

/// One setting, as it is documented and read.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its key, with a dot between table and name.
    pub key: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    write: fn(&Settings) -> String,
    read: fn(&mut Settings, f64),
    whole: bool,
    range: (f64, f64),
}

impl Setting {
    /// Returns its default, as the file would say it.
    pub fn default_text(&self) -> String {
        (self.write)(&Settings::default())
    }

    /// Returns the environment variable that overrides it.
    ///
    /// ```
    /// let names: Vec<_> = ralph_memory::settings::ALL.iter().map(|setting| setting.env()).collect();
    /// assert!(names.contains(&"RALPH_MEMORY_CONTEXT__BUDGET".to_owned()));
    /// ```
    pub fn env(&self) -> String {
        format!("{ENV_PREFIX}{}", self.key.replace('.', "__").to_uppercase())
    }
}

/// Every setting, in the order in which `config.toml` lists them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values are checked against their range first"
)]
pub const ALL: [Setting; 5] = [
    Setting {
        key: "search.limit",
        help: "hits that a search returns at most",
        write: |settings| settings.search_limit.to_string(),
        read: |settings, value| settings.search_limit = value as usize,
        whole: true,
        range: (1.0, 1_000.0),
    },
    Setting {
        key: "search.text_weight",
        help: "how much the text score counts beside the points for tags; 0 leaves the points alone",
        write: |settings| format!("{:?}", settings.text_weight),
        read: |settings, value| settings.text_weight = value,
        whole: false,
        range: (0.0, 100.0),
    },
    Setting {
        key: "context.budget",
        help: "characters of a context at most, beside its fixed instructions",
        write: |settings| settings.context_budget.to_string(),
        read: |settings, value| settings.context_budget = value as usize,
        whole: true,
        range: (0.0, 10_000_000.0),
    },
    Setting {
        key: "context.body_words",
        help: "words of one entry's body that a context shows at most",
        write: |settings| settings.body_words.to_string(),
        read: |settings, value| settings.body_words = value as usize,
        whole: true,
        range: (1.0, 1_000_000.0),
    },
    Setting {
        key: "lock.timeout_ms",
        help: "milliseconds that a writing command waits for another one",
        write: |settings| settings.lock_timeout_ms.to_string(),
        read: |settings, value| settings.lock_timeout_ms = value as u64,
        whole: true,
        range: (0.0, 600_000.0),
    },
];

impl Settings {
    /// Takes over what the text of a settings file says. `path` is named in problems and errors.
    ///
    /// Keys that are not known are reported with the nearest one that is.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] where the text is not TOML or a value is out of its range, and
    /// [`Error::NewerFormat`] where `format` is over [`FORMAT`].
    pub fn read_file(&mut self, text: &str, path: &str) -> Result<Vec<Problem>> {
        let line_of =
            |offset: usize| u32::try_from(text[..offset.min(text.len())].matches('\n').count() + 1).unwrap_or(u32::MAX);
        let refuse = |offset: Option<usize>, reason: &str| Error::Settings {
            place: offset.map_or_else(|| path.to_owned(), |offset| format!("{path}:{}", line_of(offset))),
            reason: reason.to_owned(),
        };
        let table =
            DeTable::parse(text).map_err(|error| refuse(error.span().map(|span| span.start), error.message()))?;
        let mut found = Vec::new();
        flatten("", table.get_ref(), &mut found);
        let mut problems = Vec::new();
        for (key, offset, value) in found {
            let number = number(value);
            if key == "format" {
                let format = number.filter(|format| *format >= 1.0 && format.fract() == 0.0);
                let format = format.ok_or_else(|| refuse(Some(offset), "`format` is not a whole number"))?;
                #[expect(clippy::cast_precision_loss, reason = "formats are counted on fingers")]
                if format > FORMAT as f64 {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "checked to be whole and positive"
                    )]
                    return Err(Error::NewerFormat { path: path.into(), found: format as u64, known: FORMAT });
                }
                continue;
            }
            // An older program had it; it said whether to learn, and this one always does.
            if key == "learn" || key == "execution.learn" {
                continue;
            }
            match ALL.iter().find(|setting| setting.key == key) {
                Some(setting) => self.set(setting, number).map_err(|reason| refuse(Some(offset), &reason))?,
                None => problems.push(Problem {
                    path: path.to_owned(),
                    line: Some(line_of(offset)),
                    column: None,
                    severity: Severity::Warning,
                    code: "unknown-setting".to_owned(),
                    message: format!("there is no setting `{key}`"),
                    hint: nearest(&key)
                        .map_or_else(|| "delete the line".to_owned(), |nearest| format!("did you mean `{nearest}`?")),
                }),
            }
        }
        Ok(problems)
    }

    /// Takes over the environment variables among `variables` that set something.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] where a value is not a number or out of its range.
    pub fn read_env<'a>(&mut self, variables: impl Iterator<Item = (&'a str, &'a str)>) -> Result<()> {
        for (name, value) in variables {
            if let Some(setting) = ALL.iter().find(|setting| setting.env() == name) {
                self.set(setting, value.trim().parse().ok())
                    .map_err(|reason| Error::Settings { place: name.to_owned(), reason })?;
            }
        }
        Ok(())
    }

    fn set(&mut self, setting: &Setting, value: Option<f64>) -> std::result::Result<(), String> {
        let (least, most) = setting.range;
        let fits = |value: &f64| (least..=most).contains(value) && (!setting.whole || value.fract() == 0.0);
        let value = value.filter(fits).ok_or_else(|| {
            let kind = if setting.whole { "a whole number" } else { "a number" };
            format!("`{}` must be {kind} from {least} to {most}", setting.key)
        })?;
        (setting.read)(self, value);
        Ok(())
    }
}

fn flatten<'t, 'i>(prefix: &str, table: &'t DeTable<'i>, found: &mut Vec<(String, usize, &'t DeValue<'i>)>) {
    for (key, value) in table {
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

fn nearest(key: &str) -> Option<&'static str> {
    ALL.iter()
        .map(|setting| (edit_distance(key, setting.key), setting.key))
        .min()
        .filter(|(distance, nearest)| *distance <= nearest.len() / 3)
        .map(|(_, nearest)| nearest)
}

/// Returns the `config.toml` that `init` writes: the format, and every setting commented out with
/// its default.
pub fn template() -> String {
    let mut text = format!(
        "# Settings of this project's memory. Each line below shows a default: take the `#` away to change it.\n\
         # An environment variable wins over this file: {}, for instance.\n\nformat = {FORMAT}\n",
        ALL[0].env()
    );
    let mut table = "";
    for setting in &ALL {
        let (own_table, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if own_table != table {
            text.push_str(&format!("\n# [{own_table}]\n"));
            table = own_table;
        }
        text.push_str(&format!("# {name} = {}  # {}\n", setting.default_text(), setting.help));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_says_the_defaults() {
        let uncommented: String = template()
            .lines()
            .map(|line| {
                line.strip_prefix("# ").filter(|rest| rest.starts_with('[') || rest.contains(" = ")).unwrap_or(line)
            })
            .fold(String::new(), |text, line| text + line + "\n");
        let mut settings =
            Settings { search_limit: 1, text_weight: 0.0, context_budget: 1, body_words: 1, lock_timeout_ms: 1 };
        assert_eq!(settings.read_file(&uncommented, "config.toml").unwrap(), []);
        assert_eq!(settings, Settings::default());
        assert_eq!(Settings::default().read_file(&template(), "config.toml").unwrap(), []);
    }

    #[test]
    fn layers_win_in_their_order() {
        let mut settings = Settings::default();
        settings.read_file("search.limit = 3\n[context]\nbudget = 100\n", "config.toml").unwrap();
        settings
            .read_env([("RALPH_MEMORY_SEARCH__LIMIT", "4"), ("RALPH_MEMORY_OTHER", "x"), ("HOME", "y")].into_iter())
            .unwrap();
        assert_eq!((settings.search_limit, settings.context_budget), (4, 100));
    }

    #[test]
    fn unknown_keys_are_reported_with_the_nearest() {
        let problems =
            Settings::default().read_file("format = 1\nlearn = true\n[search]\nlimits = 3\nzzz = 1\n", "c").unwrap();
        let found: Vec<_> =
            problems.iter().map(|problem| (problem.line, problem.message.as_str(), problem.hint.as_str())).collect();
        assert_eq!(
            found,
            [
                (Some(4), "there is no setting `search.limits`", "did you mean `search.limit`?"),
                (Some(5), "there is no setting `search.zzz`", "delete the line"),
            ]
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let error = |text: &str| Settings::default().read_file(text, "c").unwrap_err().to_string();
        assert_eq!(
            error("a = \n"),
            "cannot read the settings in `c:1`: string values must be quoted, expected literal string"
        );
        assert_eq!(
            error("\nsearch.limit = 0\n"),
            "cannot read the settings in `c:2`: `search.limit` must be a whole number from 1 to 1000"
        );
        assert_eq!(
            error("search.limit = \"x\"\n"),
            "cannot read the settings in `c:1`: `search.limit` must be a whole number from 1 to 1000"
        );
        assert_eq!(error("format = 2\n"), "`c` has format 2, and this program knows formats up to 1");
        let env = Settings::default().read_env([("RALPH_MEMORY_SEARCH__LIMIT", "many")].into_iter()).unwrap_err();
        assert!(matches!(env, Error::Settings { .. }));
    }
}
