//! Settings: their types, defaults, and how text becomes them.
//!
//! Pure: the caller knows where the text comes from. Later layers win over earlier ones: defaults, the user's own file,
//! the project's `config.toml`, environment variables.

mod choices;
mod read;
mod semantic;
mod setting;
mod table;

pub use self::choices::{CollectionLayout, CommitPolicy, ProgressKind, SessionRecording, Strategy};
pub use self::semantic::{OllamaSettings, QdrantSettings, SemanticSettings};
pub(crate) use self::setting::is_model;
pub(crate) use self::table::ALL;

/// The newest format of a memory folder that this program reads and writes.
pub(crate) const FORMAT: u64 = 1;
/// The prefix of every setting's environment variable.
pub const ENV_PREFIX: &str = "RALPH_MEMORY_";

/// The longest name of a model, in characters.
pub(crate) const MAX_MODEL: usize = 64;
/// The most models that a list may have.
const MAX_MODELS: usize = 16;

/// The author of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user: every setting is allowed.
    User,
    /// The author of the repository: the file names no command, since opening a project must not run a stranger's code,
    /// and no address, since it must not send data to one.
    Project,
}

/// The limits of events; a feature has the limit of a section.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// std::fs::write(root.join(".ralph/config.toml"), "format = 1\n[events]\nper_task = 5\n")?;
/// let caps = Memory::open(root)?.settings().events;
/// assert_eq!((caps.per_task, caps.per_project), (5, 30));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct EventCaps {
    pub per_task: usize,
    pub per_section: usize,
    pub per_feature: usize,
    pub per_project: usize,
    pub in_all: usize,
}

impl Default for EventCaps {
    fn default() -> EventCaps {
        EventCaps { per_task: 12, per_section: 20, per_feature: 20, per_project: 30, in_all: 1_200 }
    }
}

/// When entries are archived.
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// std::fs::write(root.join(".ralph/config.toml"), "format = 1\nmaintenance.automatic = true\n")?;
/// let rules = Memory::open(root)?.settings().maintenance;
/// assert!(rules.automatic, "a run ends with maintenance");
/// assert!(rules.unused_days < rules.useful_days, "knowledge that helped stays longer");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaintenanceRules {
    /// Days after which the attempts at a finished task are archived.
    pub done_days: u32,
    /// Days after which knowledge is old.
    pub knowledge_days: u32,
    /// Old knowledge that was in no context for this many days is archived.
    pub unused_days: u32,
    /// The same, for old knowledge that a successful attempt had in its context.
    pub useful_days: u32,
    /// Days after which a superseded entry is archived.
    pub superseded_days: u32,
    /// How many learnings there may be before similar ones are merged.
    pub learnings: usize,
    /// Whether a run ends with this.
    pub automatic: bool,
}

impl Default for MaintenanceRules {
    fn default() -> MaintenanceRules {
        MaintenanceRules {
            done_days: 7,
            knowledge_days: 90,
            unused_days: 30,
            useful_days: 365,
            superseded_days: 30,
            learnings: 200,
            automatic: false,
        }
    }
}

/// The settings, with their defaults.
///
/// ```
/// use ralph_memory::Memory;
/// use ralph_memory::settings::Strategy;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// let project = "format = 1\nstrategy.name = \"escalate\"\nrun.max_iterations = 25\n";
/// std::fs::write(root.join(".ralph/config.toml"), project)?;
/// let variables = [("RALPH_MEMORY_RUN__MAX_ITERATIONS", "3")];
/// let memory = Memory::open_for_user(Some(root), root, None, variables.into_iter())?;
/// let settings = memory.settings();
/// assert_eq!((settings.strategy, settings.max_iterations), (Strategy::Escalate, 3));
/// assert_eq!(settings.models, ["haiku", "sonnet", "opus"], "the default, the cheapest first");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// `search.limit`: how many hits a search returns at most.
    pub search_limit: usize,
    /// `search.text_weight`: the weight of the text score compared with the points for tags; with 0, only the points
    /// count.
    pub text_weight: f64,
    /// `context.budget`: how many characters a context has at most, beside its fixed instructions.
    pub context_budget: usize,
    /// `context.body_words`: how many words of one entry's body a context shows at most.
    pub body_words: usize,
    /// `strategy.name`: how a model is chosen.
    pub strategy: Strategy,
    /// `strategy.models`: the available models, the cheapest first.
    pub models: Vec<String>,
    /// `strategy.fixed_model`: the model of the strategy `fixed`; empty for the middle one.
    pub fixed_model: String,
    /// `strategy.stuck_after`: the rung of the ladder on which the agent is warned.
    pub stuck_after: u32,
    /// `run.max_iterations`: how many iterations a run has at most; 0 for no limit.
    pub max_iterations: u32,
    /// `run.max_attempts`: how many attempts a run makes at one task; 0 for no limit.
    pub max_attempts: u32,
    /// `run.agent`: the command line of the agent.
    pub agent: String,
    /// `run.verify`: the command line that decides whether a task is done.
    pub verify: String,
    /// `run.summarize`: the command line that summarises an iteration.
    pub summarize: String,
    /// `progress.strategy`: how a run's progress is reported.
    pub progress: ProgressKind,
    /// `progress.entries`: how many iterations it covers.
    pub progress_entries: usize,
    /// `progress.characters`: how much of an iteration's output it shows, in characters.
    pub progress_characters: usize,
    /// `events.from_output`: whether events are read from an agent's output.
    pub events_from_output: bool,
    /// `events.per_task` and so on: the limits of events.
    pub events: EventCaps,
    /// `maintenance.done_days` and so on: when entries are archived.
    pub maintenance: MaintenanceRules,
    /// `git.commit`: when the files of the memory are committed.
    pub git_commit: CommitPolicy,
    /// `sessions.record`: what hooks write down of a session.
    pub sessions_record: SessionRecording,
    /// `secrets.allowed`: fingerprints of texts that look like a secret and are not.
    pub allowed_secrets: Vec<String>,
    /// `safe.directories`: the folders whose memories are used whoever owns them: absolute paths, `/path/*` for all
    /// folders below one, `*` for all.
    pub safe_directories: Vec<String>,
    /// `semantic.weight` and so on: the weight of meaning compared with words.
    pub semantic: SemanticSettings,
    /// `ollama.url` and so on: the server that embeds texts.
    pub ollama: OllamaSettings,
    /// `qdrant.url` and so on: the server that shares vectors.
    pub qdrant: QdrantSettings,
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
            strategy: Strategy::default(),
            models: ["haiku", "sonnet", "opus"].map(str::to_owned).into(),
            fixed_model: String::new(),
            stuck_after: 3,
            max_iterations: 10,
            max_attempts: 0,
            agent: String::new(),
            verify: String::new(),
            summarize: String::new(),
            progress: ProgressKind::default(),
            progress_entries: 5,
            progress_characters: 500,
            events_from_output: false,
            events: EventCaps::default(),
            maintenance: MaintenanceRules::default(),
            git_commit: CommitPolicy::default(),
            sessions_record: SessionRecording::default(),
            allowed_secrets: Vec::new(),
            safe_directories: Vec::new(),
            semantic: SemanticSettings::default(),
            ollama: OllamaSettings::default(),
            qdrant: QdrantSettings::default(),
            lock_timeout_ms: 30_000,
        }
    }
}

/// Returns the `config.toml` that `init` writes: the format, and every setting commented out with
/// its default.
pub(crate) fn template() -> String {
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
        if setting.is_users_own() {
            // A default to uncomment would have no effect here.
            text.push_str(&format!(
                "#   {name}: {}; in your own settings file, the environment or a flag only\n",
                setting.help
            ));
        } else {
            text.push_str(&format!("# {name} = {}  # {}\n", setting.default_text(), setting.help));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    mod reference;

    use toml::de::DeTable;

    use super::read::{LONG_KEY, flatten};
    use super::setting::{MODEL, SettingKind};
    use super::*;
    use crate::error::Error;

    #[test]
    fn the_template_shows_the_defaults() {
        let uncommented: String = template()
            .lines()
            .map(|line| {
                line.strip_prefix("# ").filter(|rest| rest.starts_with('[') || rest.contains(" = ")).unwrap_or(line)
            })
            .fold(String::new(), |text, line| text + line + "\n");
        let mut settings = Settings {
            search_limit: 1,
            text_weight: 0.0,
            context_budget: 1,
            body_words: 1,
            strategy: Strategy::Fixed,
            allowed_secrets: vec!["0123abcd".to_owned()],
            safe_directories: Vec::new(),
            models: Vec::new(),
            fixed_model: "x".to_owned(),
            stuck_after: 1,
            max_iterations: 1,
            max_attempts: 1,
            agent: String::new(),
            verify: String::new(),
            summarize: String::new(),
            progress: ProgressKind::Hybrid,
            progress_entries: 1,
            progress_characters: 1,
            events_from_output: true,
            events: EventCaps { per_task: 1, per_section: 1, per_feature: 1, per_project: 1, in_all: 1 },
            maintenance: MaintenanceRules {
                done_days: 1,
                knowledge_days: 1,
                unused_days: 1,
                useful_days: 1,
                superseded_days: 1,
                learnings: 1,
                automatic: true,
            },
            // Settings of the user do not appear in a project's file.
            git_commit: CommitPolicy::Never,
            sessions_record: SessionRecording::Reported,
            semantic: SemanticSettings { weight: 0.0, min_score: 0.0, limit: 1 },
            // What is the user's own is in no project's file.
            ollama: OllamaSettings::default(),
            qdrant: QdrantSettings::default(),
            lock_timeout_ms: 1,
        };
        assert_eq!(settings.read_file(&uncommented, "config.toml", Origin::Project).unwrap(), []);
        assert_eq!(settings, Settings::default());
        assert_eq!(Settings::default().read_file(&template(), "config.toml", Origin::Project).unwrap(), []);
        for setting in &ALL {
            let name = setting.key.split_once('.').unwrap().1;
            assert!(template().lines().any(|line| line.contains(name)), "{}", setting.key);
        }
    }

    #[test]
    fn layers_win_in_their_order() {
        let mut settings = Settings::default();
        settings.read_file("search.limit = 3\n[context]\nbudget = 100\n", "config.toml", Origin::Project).unwrap();
        settings
            .read_env([("RALPH_MEMORY_SEARCH__LIMIT", "4"), ("RALPH_MEMORY_OTHER", "x"), ("HOME", "y")].into_iter())
            .unwrap();
        assert_eq!((settings.search_limit, settings.context_budget), (4, 100));
    }

    #[test]
    fn unknown_keys_are_reported_with_the_nearest() {
        let problems = Settings::default()
            .read_file("format = 1\nlearn = true\n[search]\nlimits = 3\nzzz = 1\n", "c", Origin::User)
            .unwrap();
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
    fn invalid_values_of_settings_are_refused() {
        let error = |text: &str| Settings::default().read_file(text, "c", Origin::User).unwrap_err().to_string();
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

    #[test]
    fn texts_and_lists_are_checked() {
        let read = |text: &str| {
            let mut settings = Settings::default();
            settings.read_file(text, "c", Origin::User).map(|problems| {
                assert_eq!(problems, []);
                settings
            })
        };
        let settings = read("[strategy]\nname = \"escalate\"\nmodels = [\"small\", \"big:7b\"]\n").unwrap();
        assert_eq!((settings.strategy, settings.models), (Strategy::Escalate, vec!["small".into(), "big:7b".into()]));
        let error = |text: &str| read(text).unwrap_err().to_string();
        let prefix = "cannot read the settings in `c:1`: ";
        assert_eq!(
            error("strategy.name = \"cheap\"\n"),
            format!("{prefix}`strategy.name` must be one of fixed, cost-optimized, escalate, plan-then-execute")
        );
        assert_eq!(
            error("strategy.models = []\n"),
            format!("{prefix}`strategy.models` must be a list of 1 to 16 models, each {MODEL}")
        );
        for bad in ["[\"a b\"]", "[\"--yes\"]", "[1]", "\"a\"", "[\"\"]"] {
            assert!(read(&format!("strategy.models = {bad}\n")).is_err(), "{bad}");
        }
        assert!(read("events.from_output = true\n").unwrap().events_from_output);
        assert_eq!(error("events.from_output = 1\n"), format!("{prefix}`events.from_output` must be true or false"));
        assert!(read("strategy.fixed_model = \"a b\"\n").is_err());
        assert!(read("run.agent = 3\n").is_err());
    }

    #[test]
    fn variables_set_texts_and_lists() {
        let mut settings = Settings::default();
        let variables = [
            ("RALPH_MEMORY_STRATEGY__MODELS", "a, b"),
            ("RALPH_MEMORY_STRATEGY__NAME", " fixed "),
            ("RALPH_MEMORY_RUN__AGENT", "claude -p"),
            ("RALPH_MEMORY_EVENTS__FROM_OUTPUT", "true"),
        ];
        settings.read_env(variables.into_iter()).unwrap();
        assert_eq!(settings.models, ["a", "b"]);
        settings.read_env([("RALPH_MEMORY_SECRETS__ALLOWED", "0123abcd, 89ABCDEF")].into_iter()).unwrap();
        assert_eq!(settings.allowed_secrets, ["0123abcd", "89ABCDEF"]);
        settings.read_env([("RALPH_MEMORY_SECRETS__ALLOWED", "")].into_iter()).unwrap();
        assert!(settings.allowed_secrets.is_empty());
        assert!(settings.read_env([("RALPH_MEMORY_SECRETS__ALLOWED", "0123abc")].into_iter()).is_err());
        assert!(settings.events_from_output);
        assert_eq!((settings.strategy, settings.agent.as_str()), (Strategy::Fixed, "claude -p"));
        assert!(settings.read_env([("RALPH_MEMORY_STRATEGY__NAME", "x")].into_iter()).is_err());
    }

    #[test]
    fn the_former_name_of_a_group_is_read() {
        let mut settings = Settings::default();
        assert_eq!(settings.read_file("[tend]\nlearnings = 7\n", "config.toml", Origin::Project).unwrap(), []);
        assert_eq!(settings.maintenance.learnings, 7);
        // Beside the present name it has no effect, wherever it stands.
        let both = "[tend]\nlearnings = 8\n[maintenance]\nlearnings = 9\n";
        let problems = settings.read_file(both, "config.toml", Origin::Project).unwrap();
        assert_eq!((settings.maintenance.learnings, problems.len(), problems[0].line), (9, 1, Some(2)));
        assert!(problems[0].message.starts_with("`tend.learnings` has no effect"), "{problems:?}");
        let former = ("RALPH_MEMORY_TEND__LEARNINGS", "3");
        settings.read_env([former].into_iter()).unwrap();
        assert_eq!(settings.maintenance.learnings, 3);
        settings.read_env([("RALPH_MEMORY_MAINTENANCE__LEARNINGS", "4"), former].into_iter()).unwrap();
        assert_eq!(settings.maintenance.learnings, 4);
        let error = settings.read_env([("RALPH_MEMORY_TEND__LEARNINGS", "abc")].into_iter()).unwrap_err();
        assert!(error.to_string().contains("RALPH_MEMORY_TEND__LEARNINGS"), "{error}");
    }

    /// Invariant 12: a file that comes with a repository names no command and no address.
    #[test]
    fn a_project_names_no_command_and_no_address() {
        let own: Vec<_> = ALL.iter().filter(|setting| setting.is_users_own()).collect();
        let keys: Vec<&str> = own.iter().map(|setting| setting.key).collect();
        let of_servers: Vec<&str> = ALL
            .iter()
            .map(|setting| setting.key)
            .filter(|key| ["ollama", "qdrant"].contains(&key.split('.').next().unwrap()))
            .collect();
        assert_eq!(of_servers.len(), 15);
        assert_eq!(
            keys,
            [
                &["run.agent", "run.verify", "run.summarize", "git.commit", "sessions.record", "safe.directories"][..],
                &of_servers
            ]
            .concat()
        );
        for setting in own {
            let value = match setting.kind {
                SettingKind::Number { .. } => "99",
                SettingKind::Switch(_) => "false",
                SettingKind::Choice { of, .. } => &format!("\"{}\"", of.last().unwrap()),
                SettingKind::Place(_) | SettingKind::Model(_) => "\"elsewhere\"",
                SettingKind::Folders => "[\"/srv/project\", \"/srv/*\", \"*\"]",
                _ => "\"https://example.org/x\"",
            };
            let text = format!("{} = {value}\n", setting.key);
            let mut settings = Settings::default();
            let problems = settings.read_file(&text, "c", Origin::Project).unwrap();
            assert_eq!(settings, Settings::default());
            let code = match setting.key {
                "ollama.url" | "qdrant.url" | "qdrant.collection" | "qdrant.project" => "address-in-project",
                "qdrant.api_key" => "key-in-project",
                "safe.directories" => "trust-in-project",
                "git.commit" => "commit-in-project",
                "sessions.record" => "recording-in-project",
                key if key.starts_with("run.") => "command-in-project",
                _ => "server-in-project",
            };
            assert_eq!((problems[0].code.as_str(), problems[0].line), (code, Some(1)));
            assert!(settings.read_file(&text, "c", Origin::User).unwrap().is_empty());
            assert_ne!(settings, Settings::default());
        }
    }

    #[test]
    fn of_many_unknown_keys_the_first_are_reported() {
        let read = |n: usize| {
            let text = (0..n).map(|at| format!("k{at} = 1")).collect::<Vec<_>>().join("\n");
            Settings::default().read_file(&text, "c", Origin::Project)
        };
        assert_eq!(read(10).unwrap().len(), 10);
        let problems = read(5_000).unwrap();
        assert_eq!(problems.len(), 11);
        assert_eq!(
            (problems[10].to_string().as_str(), problems[10].line),
            ("c: 4990 more keys are not settings", None)
        );
        let error = read(90_000).unwrap_err().to_string();
        assert!(error.ends_with("it has 978889 bytes; the limit is 65536"), "{error}");
    }

    #[test]
    fn a_long_name_of_a_table_is_not_kept_for_each_of_its_keys() {
        let keys = (0..4_000).map(|at| format!("a{at}=1")).collect::<Vec<_>>();
        let text = format!("[{}]\n{}", "x".repeat(32_000), keys.join("\n"));
        let table = DeTable::parse(&text).unwrap();
        let mut found = Vec::new();
        flatten("", table.get_ref(), &mut found);
        assert_eq!(found.len(), 4_000);
        assert!(found.iter().all(|(key, ..)| key.len() < LONG_KEY + 10));
    }

    #[test]
    fn addresses_are_checked() {
        let read = |text: &str| Settings::default().read_env([("RALPH_MEMORY_OLLAMA__URL", text)].into_iter());
        for good in ["http://localhost:11434", "https://vectors.example.org/sub/", "http://[::1]:1", ""] {
            assert!(read(good).is_ok(), "{good}");
        }
        for bad in ["localhost:11434", "ftp://x", "http://", "http:// x", "http://user:word@host", "http://x/?a=b"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let key = Settings::default().read_env([("RALPH_MEMORY_QDRANT__API_KEY", "a\nb")].into_iter()).unwrap_err();
        assert!(!key.to_string().contains("a\nb"), "an error shows no key");
    }

    #[test]
    fn every_setting_has_a_variable() {
        assert!(ALL.iter().any(|setting| setting.env() == "RALPH_MEMORY_CONTEXT__BUDGET"));
    }
}
