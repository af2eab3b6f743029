//! The table of settings: each with its key, its help, what it may be and where it is kept.

use crate::secret::is_fingerprint;

use super::{COMMITS, ENV_PREFIX, MAX_MODEL, MAX_MODELS, PROGRESS, STRATEGIES, Settings};

/// One setting, as it is documented and read.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its key, with a dot between table and name.
    pub key: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    pub(super) value: Value,
}

/// What a setting may be, and where it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Number {
        range: (f64, f64),
        whole: bool,
        get: fn(&Settings) -> f64,
        set: fn(&mut Settings, f64),
    },
    Choice {
        of: &'static [&'static str],
        of_text: OfText,
    },
    Switch(fn(&mut Settings) -> &mut bool),
    /// The name of a model, or nothing.
    Model(OfText),
    Models,
    /// Fingerprints of what looks like a secret and is none.
    Fingerprints,
    /// A command line, which a project's file may not name.
    Command(OfText),
}

/// Where a text is kept.
pub(super) type OfText = fn(&mut Settings) -> &mut String;

/// What a file or a variable says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Number(f64),
    Bool(bool),
    Text(String),
    List(Vec<String>),
    Other,
}

impl Setting {
    /// Returns its default, as the file would say it.
    pub fn default_text(&self) -> String {
        let mut settings = Settings::default();
        match self.value {
            Value::Number { get, whole: true, .. } => format!("{:.0}", get(&settings)),
            Value::Number { get, .. } => format!("{:?}", get(&settings)),
            Value::Choice { of_text, .. } | Value::Model(of_text) | Value::Command(of_text) => {
                format!("\"{}\"", of_text(&mut settings))
            }
            Value::Switch(of_switch) => of_switch(&mut settings).to_string(),
            Value::Models => format!("{:?}", settings.models),
            Value::Fingerprints => format!("{:?}", settings.allowed_secrets),
        }
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

    /// Returns whether it names a command: a project's file may not set it.
    pub fn is_command(&self) -> bool {
        matches!(self.value, Value::Command(_))
    }

    /// Takes over a value, or says what it must be.
    pub(super) fn set(&self, settings: &mut Settings, said: Said) -> std::result::Result<(), String> {
        let must = |what: &str| format!("`{}` must be {what}", self.key);
        match (self.value, said) {
            (Value::Number { range: (least, most), whole, set, .. }, said) => {
                let kind = if whole { "a whole number" } else { "a number" };
                let number = match said {
                    Said::Number(number) => Some(number),
                    _ => None,
                };
                let fits = |number: &f64| (least..=most).contains(number) && (!whole || number.fract() == 0.0);
                let number = number.filter(fits).ok_or_else(|| must(&format!("{kind} from {least} to {most}")))?;
                set(settings, number);
            }
            (Value::Choice { of, of_text }, Said::Text(text)) if of.contains(&text.as_str()) => {
                *of_text(settings) = text;
            }
            (Value::Choice { of, .. }, _) => return Err(must(&format!("one of {}", of.join(", ")))),
            (Value::Switch(of_switch), Said::Bool(on)) => *of_switch(settings) = on,
            (Value::Switch(_), _) => return Err(must("true or false")),
            (Value::Model(of_text), Said::Text(text)) if text.is_empty() || is_model(&text) => {
                *of_text(settings) = text;
            }
            (Value::Model(_), _) => return Err(must(MODEL)),
            (Value::Models, Said::List(models))
                if (1..=MAX_MODELS).contains(&models.len()) && models.iter().all(|model| is_model(model)) =>
            {
                settings.models = models;
            }
            (Value::Models, _) => return Err(must(&format!("a list of 1 to {MAX_MODELS} models, each {MODEL}"))),
            (Value::Fingerprints, Said::List(fingerprints)) if fingerprints.iter().all(|text| is_fingerprint(text)) => {
                settings.allowed_secrets = fingerprints;
            }
            (Value::Fingerprints, _) => return Err(must("a list of fingerprints, each eight hexadecimal digits")),
            (Value::Command(of_text), Said::Text(text)) => *of_text(settings) = text,
            (Value::Command(_), _) => return Err(must("a command line")),
        }
        Ok(())
    }
}

/// What the name of a model is.
pub(super) const MODEL: &str = "a word of letters, digits and `.`, `_`, `-`, `:`, `/`, `@`, `[`, `]`";

/// Returns whether `name` can be the name of a model: a word that is safe as an argument of a command.
pub fn is_model(name: &str) -> bool {
    // An argument that begins with `-` would be an option.
    !name.is_empty()
        && !name.starts_with('-')
        && name.len() <= MAX_MODEL
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "._-:/@[]".contains(character))
}

/// A setting that is a whole number within a range.
const fn whole(
    key: &'static str,
    help: &'static str,
    range: (f64, f64),
    get: fn(&Settings) -> f64,
    set: fn(&mut Settings, f64),
) -> Setting {
    Setting { key, help, value: Value::Number { range, whole: true, get, set } }
}

/// Every setting, in the order in which `config.toml` lists them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "values are checked against their range first"
)]
pub const ALL: [Setting; 32] = [
    whole(
        "search.limit",
        "hits that a search returns at most",
        (1.0, 1_000.0),
        |settings| settings.search_limit as f64,
        |settings, value| settings.search_limit = value as usize,
    ),
    Setting {
        key: "search.text_weight",
        help: "how much the text score counts beside the points for tags; 0 leaves the points alone",
        value: Value::Number {
            range: (0.0, 100.0),
            whole: false,
            get: |settings| settings.text_weight,
            set: |settings, value| settings.text_weight = value,
        },
    },
    whole(
        "context.budget",
        "characters of a context at most, beside its fixed instructions",
        (0.0, 10_000_000.0),
        |settings| settings.context_budget as f64,
        |settings, value| settings.context_budget = value as usize,
    ),
    whole(
        "context.body_words",
        "words of one entry's body that a context shows at most",
        (1.0, 1_000_000.0),
        |settings| settings.body_words as f64,
        |settings, value| settings.body_words = value as usize,
    ),
    Setting {
        key: "strategy.name",
        help: "how a model is chosen: fixed, cost-optimized, escalate or plan-then-execute",
        value: Value::Choice { of: &STRATEGIES, of_text: |settings| &mut settings.strategy },
    },
    Setting { key: "strategy.models", help: "the models there are, the cheapest first", value: Value::Models },
    Setting {
        key: "strategy.fixed_model",
        help: "the model of the strategy `fixed`; without one, the middle one",
        value: Value::Model(|settings| &mut settings.fixed_model),
    },
    whole(
        "strategy.stuck_after",
        "failures in a row after which the agent is warned that it is stuck",
        (1.0, 1_000.0),
        |settings| settings.stuck_after.into(),
        |settings, value| settings.stuck_after = value as u32,
    ),
    whole(
        "run.max_iterations",
        "iterations of a run at most",
        (1.0, 1_000_000.0),
        |settings| settings.max_iterations.into(),
        |settings, value| settings.max_iterations = value as u32,
    ),
    whole(
        "run.max_attempts",
        "attempts of a run at one task at most; 0 for as many as it takes",
        (0.0, 1_000_000.0),
        |settings| settings.max_attempts.into(),
        |settings, value| settings.max_attempts = value as u32,
    ),
    Setting {
        key: "run.agent",
        help: "the command line of the agent",
        value: Value::Command(|settings| &mut settings.agent),
    },
    Setting {
        key: "run.verify",
        help: "the command line that says whether a task is done",
        value: Value::Command(|settings| &mut settings.verify),
    },
    Setting {
        key: "run.summarize",
        help: "the command line that summarises an iteration",
        value: Value::Command(|settings| &mut settings.summarize),
    },
    Setting {
        key: "progress.strategy",
        help: "how progress is told: system-captured, structured-log, llm-summarized or hybrid",
        value: Value::Choice { of: &PROGRESS, of_text: |settings| &mut settings.progress },
    },
    whole(
        "progress.entries",
        "iterations that progress tells of",
        (1.0, 1_000.0),
        |settings| settings.progress_entries as f64,
        |settings, value| settings.progress_entries = value as usize,
    ),
    whole(
        "progress.characters",
        "characters of an iteration's output that progress shows",
        (0.0, 16_384.0),
        |settings| settings.progress_characters as f64,
        |settings, value| settings.progress_characters = value as usize,
    ),
    Setting {
        key: "events.from_output",
        help: "whether events are taken from an agent's text, under `## MEMORY_SUGGESTIONS`",
        value: Value::Switch(|settings| &mut settings.events_from_output),
    },
    whole(
        "events.per_task",
        "events of a task that are told and found; the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_task as f64,
        |settings, value| settings.events.per_task = value as usize,
    ),
    whole(
        "events.per_section",
        "events of a section that are told and found; the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_section as f64,
        |settings, value| settings.events.per_section = value as usize,
    ),
    whole(
        "events.per_feature",
        "events of a feature that are told and found; the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_feature as f64,
        |settings, value| settings.events.per_feature = value as usize,
    ),
    whole(
        "events.per_project",
        "events of the project that are told and found; the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_project as f64,
        |settings, value| settings.events.per_project = value as usize,
    ),
    whole(
        "events.in_all",
        "events in all that are told and found; the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.in_all as f64,
        |settings, value| settings.events.in_all = value as usize,
    ),
    whole(
        "tend.done_days",
        "days after which the attempts at a task that is done go to the archive",
        (0.0, 100_000.0),
        |settings| settings.tending.done_days.into(),
        |settings, value| settings.tending.done_days = value as u32,
    ),
    whole(
        "tend.knowledge_days",
        "days after which knowledge is old",
        (0.0, 100_000.0),
        |settings| settings.tending.knowledge_days.into(),
        |settings, value| settings.tending.knowledge_days = value as u32,
    ),
    whole(
        "tend.unused_days",
        "days without a context after which old knowledge goes to the archive, as far as contexts are recorded",
        (0.0, 100_000.0),
        |settings| settings.tending.unused_days.into(),
        |settings, value| settings.tending.unused_days = value as u32,
    ),
    whole(
        "tend.useful_days",
        "the same for knowledge that stood in the context of an attempt that succeeded",
        (0.0, 100_000.0),
        |settings| settings.tending.useful_days.into(),
        |settings, value| settings.tending.useful_days = value as u32,
    ),
    whole(
        "tend.superseded_days",
        "days after which what another entry replaces goes to the archive",
        (0.0, 100_000.0),
        |settings| settings.tending.superseded_days.into(),
        |settings, value| settings.tending.superseded_days = value as u32,
    ),
    whole(
        "tend.learnings",
        "learnings that there may be before `consolidate` merges those that are alike",
        (0.0, 1_000_000.0),
        |settings| settings.tending.learnings as f64,
        |settings, value| settings.tending.learnings = value as usize,
    ),
    Setting {
        key: "tend.automatic",
        help: "whether `prune` and `consolidate` are done at the end of every run",
        value: Value::Switch(|settings| &mut settings.tending.automatic),
    },
    Setting {
        key: "git.commit",
        help: "when the files of the memory are committed, and nothing else: never or each-iteration",
        value: Value::Choice { of: &COMMITS, of_text: |settings| &mut settings.git_commit },
    },
    Setting {
        key: "secrets.allowed",
        help: "fingerprints of what looks like a secret and is none",
        value: Value::Fingerprints,
    },
    whole(
        "lock.timeout_ms",
        "milliseconds that a writing command waits for another one",
        (0.0, 600_000.0),
        |settings| settings.lock_timeout_ms as f64,
        |settings, value| settings.lock_timeout_ms = value as u64,
    ),
];
