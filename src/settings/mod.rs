//! Settings: their types, their defaults, and how they are read from text.
//!
//! Pure: the caller knows where the text comes from. Later layers override earlier ones: defaults, the user's own file,
//! the project's `config.toml`, environment variables.

mod choices;
mod read;
mod setting;
pub(crate) mod table;
mod value;

pub(crate) use self::choices::SessionRecording;
pub use self::choices::{ProgressKind, Strategy};
use self::setting::Setting;
pub use self::table::Settings;
#[cfg(feature = "semantic")]
pub(crate) use self::table::{CollectionSettings, OllamaSettings, QdrantSettings};
pub(crate) use self::table::{EventCaps, all};
pub(crate) use self::value::is_model;

/// The newest format of a memory folder that this program reads and writes.
pub(crate) const FORMAT: u64 = 1;
/// The prefix of every setting's environment variable.
pub const ENV_PREFIX: &str = "RALPH_MEMORY_";
/// The settings that projects change most, which a new `config.toml` shows.
const SHOWN: [&str; 5] =
    ["context.budget", "strategy.models", "run.max_iterations", "maintenance.automatic", "secrets.allowed"];

/// The author of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user: every setting is allowed.
    User,
    /// The author of the repository. The file may name no command, because opening a project must not run a stranger's
    /// code, and no address, because it must not send data to a stranger.
    Project,
}

/// Returns the `config.toml` that `init` writes: the format, and a few settings, commented out, with their defaults.
pub(crate) fn template() -> String {
    let mut text = format!(
        "# Settings of this project's memory: take a `#` away to change a default. These are a few of them;\n\
         # `ralph-memory help settings` lists all, and docs/src/reference/settings.md explains them.\n\nformat = {FORMAT}\n"
    );
    for setting in SHOWN.iter().filter_map(|key| all().find(|setting| setting.key == *key)) {
        text.push_str(&format!("\n# {}.\n# {} = {}\n", setting.help, setting.key, setting.default_text()));
    }
    text
}

/// Returns a list of all settings as text: the meaning of each, then a line of a settings file with its default.
pub fn reference() -> String {
    let row = |setting: &Setting| {
        let own = if setting.is_users_own() { " (own settings file, environment or flag only)" } else { "" };
        format!("# {}{own}\n{} = {}\n", setting.help, setting.key, setting.default_text())
    };
    all().map(row).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    mod reference;

    use toml::de::DeTable;

    use super::read::{LONG_KEY, flatten};
    use super::table::HnswSettings;
    use super::value::MODEL;
    use super::*;
    use crate::error::{Error, Problem};

    /// Reads a file of the user.
    fn read(text: &str) -> crate::error::Result<(Settings, Vec<Problem>)> {
        let mut settings = Settings::default();
        let problems = settings.read_file(text, "c", Origin::User)?;
        Ok((settings, problems))
    }

    /// Every setting with a value that is not its default.
    const OTHER_VALUES: [(&str, &str); 34] = [
        ("search.limit", "1"),
        ("context.budget", "1"),
        ("strategy.name", "\"fixed\""),
        ("strategy.models", "[\"x\"]"),
        ("run.max_iterations", "1"),
        ("run.max_attempts", "1"),
        ("run.agent", "\"x\""),
        ("run.verify", "\"x\""),
        ("run.summarize", "\"x\""),
        ("progress.strategy", "\"hybrid\""),
        ("progress.entries", "1"),
        ("progress.characters", "1"),
        ("events.from_output", "true"),
        ("events.limits", "{ per_task = 1, per_section = 1, per_feature = 1, per_project = 1, in_all = 1 }"),
        ("git.common", "false"),
        ("sessions.record", "\"nothing\""),
        ("secrets.allowed", "[\"0123abcd\"]"),
        ("safe.directories", "[\"/srv/project\", \"/srv/*\", \"*\"]"),
        ("layers", "[\"~/notes\", \"../platform\"]"),
        ("maintenance.learnings", "1"),
        ("maintenance.automatic", "true"),
        ("semantic.weight", "0"),
        ("semantic.min_score", "0"),
        ("semantic.limit", "1"),
        ("ollama.url", "\"http://x\""),
        ("ollama.model", "\"x\""),
        ("ollama.timeout_ms", "1"),
        ("qdrant.url", "\"http://x\""),
        ("qdrant.api_key", "\"x\""),
        ("qdrant.collection", "{ name = \"x\", per_feature = true }"),
        ("qdrant.project", "\"x\""),
        ("qdrant.share_text", "true"),
        ("qdrant.timeout_ms", "1"),
        ("qdrant.hnsw", "{ m = 4, ef_construct = 4, on_disk = false, ef = 1 }"),
    ];

    #[test]
    fn every_setting_is_in_the_list_with_its_default_and_has_a_variable() {
        let keys: Vec<&str> = all().map(|setting| setting.key).collect();
        assert_eq!(keys, OTHER_VALUES.map(|(key, _)| key));
        let variable = |text: &str| text.trim_matches(['[', ']', '"']).replace("\", \"", ",");
        for (setting, (key, other)) in all().zip(OTHER_VALUES) {
            let (mut file, problems) = read(&format!("{key} = {other}\n")).unwrap();
            assert_eq!(problems, []);
            assert_ne!(file, Settings::default(), "{key}");
            let mut environment = Settings::default();
            let (name, default) = (setting.env(), setting.default_text());
            environment.read_env([(name.as_str(), variable(other).as_str())].into_iter()).unwrap();
            assert_eq!(environment, file, "{name}");
            // The values in the list, read from a file or a variable, give the defaults again.
            file.read_file(&format!("{key} = {default}\n"), "c", Origin::User).unwrap();
            environment.read_env([(name.as_str(), variable(&default).as_str())].into_iter()).unwrap();
            assert_eq!((&environment, &file), (&Settings::default(), &Settings::default()), "{key}");
        }
        assert_eq!(read(&reference()).unwrap(), (Settings::default(), Vec::new()));
        assert!(all().any(|setting| setting.env() == "RALPH_MEMORY_CONTEXT__BUDGET"));
    }

    #[test]
    fn the_template_shows_defaults_of_a_few() {
        let rows = template().lines().filter(|line| line.starts_with("# ") && line.contains(" = ")).count();
        assert_eq!(rows, SHOWN.len());
        for uncommented in [false, true] {
            let line = |line: &str| {
                if uncommented && line.contains(" = ") {
                    line.trim_start_matches("# ").to_owned()
                } else {
                    line.to_owned()
                }
            };
            let text: String = template().lines().map(|text| line(text) + "\n").collect();
            let mut settings = Settings::default();
            assert_eq!(settings.read_file(&text, "config.toml", Origin::Project).unwrap(), []);
            assert_eq!(settings, Settings::default());
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
        let problems =
            Settings::default().read_file("format = 1\n[search]\nlimits = 3\nzzz = 1\n", "c", Origin::User).unwrap();
        let found: Vec<_> =
            problems.iter().map(|problem| (problem.line, problem.message.as_str(), problem.hint.as_str())).collect();
        assert_eq!(
            found,
            [
                (Some(3), "there is no setting `search.limits`", "did you mean `search.limit`?"),
                (Some(4), "there is no setting `search.zzz`", "delete the line"),
            ]
        );
    }

    #[test]
    fn invalid_values_of_settings_are_refused() {
        let error = |text: &str| Settings::default().read_file(text, "c", Origin::User).unwrap_err().to_string();
        for (text, line, reason) in [
            ("a = \n", 1, "string values must be quoted, expected literal string"),
            ("\nsearch.limit = 0\n", 2, "`search.limit` must be a whole number from 1 to 1000"),
            ("search.limit = \"x\"\n", 1, "`search.limit` must be a whole number from 1 to 1000"),
            ("events.from_output = 1\n", 1, "`events.from_output` must be true or false"),
            (
                "strategy.name = \"cheap\"\n",
                1,
                "`strategy.name` must be one of fixed, cost-optimized, escalate, plan-then-execute",
            ),
        ] {
            assert_eq!(error(text), format!("cannot read the settings in `c:{line}`: {reason}"));
        }
        let models = format!("`strategy.models` must be a list of 1 to 16 models, each {MODEL}");
        assert!(error("strategy.models = []\n").ends_with(&models));
        assert_eq!(error("format = 2\n"), "`c` has format 2, and this program knows formats up to 1");
        let env = Settings::default().read_env([("RALPH_MEMORY_SEARCH__LIMIT", "many")].into_iter()).unwrap_err();
        assert!(matches!(env, Error::Settings { .. }));
    }

    #[test]
    fn texts_and_lists_are_checked() {
        let read = |text: &str| {
            read(text).map(|(settings, problems)| {
                assert_eq!(problems, []);
                settings
            })
        };
        let settings = read("[strategy]\nname = \"escalate\"\nmodels = [\"small\", \"big:7b\"]\n").unwrap();
        assert_eq!((settings.strategy, settings.models), (Strategy::Escalate, vec!["small".into(), "big:7b".into()]));
        for bad in ["[\"a b\"]", "[\"--yes\"]", "[1]", "\"a\"", "[\"\"]"] {
            assert!(read(&format!("strategy.models = {bad}\n")).is_err(), "{bad}");
        }
        assert!(read("events.from_output = true\n").unwrap().events_from_output);
        assert!(read("ollama.model = \"a b\"\n").is_err());
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
    fn a_table_changes_the_values_that_it_names() {
        let hnsw = |text: &str| read(text).map(|(settings, problems)| (settings.qdrant.hnsw, problems.len()));
        let expected = (HnswSettings { m: 16, on_disk: false, ..HnswSettings::default() }, 0);
        assert_eq!(hnsw("qdrant.hnsw = { m = 16, on_disk = false }\n").unwrap(), expected);
        assert_eq!(hnsw("[qdrant.hnsw]\nm = 16\non_disk = false\n").unwrap(), expected);
        let mut settings = Settings::default();
        settings.read_env([("RALPH_MEMORY_QDRANT__HNSW", "{ m = 16, on_disk = false }")].into_iter()).unwrap();
        assert_eq!(settings.qdrant.hnsw, expected.0);
        let names = "`m`, `ef_construct`, `on_disk`, `ef`";
        for (value, what) in [
            ("{ m = 1 }", "a table whose `m` is a whole number from 4 to 256".to_owned()),
            ("{ on_disk = 1 }", "a table whose `on_disk` is true or false".to_owned()),
            ("{ x = 1 }", format!("a table of {names}, without `x`")),
            ("3", format!("a table of {names}")),
        ] {
            let expected = format!(": `qdrant.hnsw` must be {what}");
            let error = hnsw(&format!("qdrant.hnsw = {value}\n")).unwrap_err().to_string();
            assert!(error.ends_with(&expected), "{error}");
            let mut settings = Settings::default();
            let error = settings.read_env([("RALPH_MEMORY_QDRANT__HNSW", value)].into_iter()).unwrap_err().to_string();
            assert!(error.ends_with(&expected), "{error}");
            assert_eq!(settings, Settings::default());
        }
    }

    /// Invariant 12: a file that comes with a repository names no command and no address.
    #[test]
    fn a_project_names_no_command_and_no_address() {
        let own: Vec<_> = all().filter(|setting| setting.is_users_own()).collect();
        let keys: Vec<&str> = own.iter().map(|setting| setting.key).collect();
        let of_servers = all().map(|setting| setting.key);
        let of_servers: Vec<&str> =
            of_servers.filter(|key| ["ollama", "qdrant"].contains(&key.split('.').next().unwrap())).collect();
        assert_eq!(of_servers.len(), 10);
        assert_eq!(
            keys,
            [
                &["run.agent", "run.verify", "run.summarize", "sessions.record"][..],
                &["safe.directories", "layers"],
                &of_servers
            ]
            .concat()
        );
        for setting in own {
            let value = OTHER_VALUES.iter().find(|(key, _)| *key == setting.key).unwrap().1;
            let text = format!("{} = {value}\n", setting.key);
            let mut settings = Settings::default();
            let problems = settings.read_file(&text, "c", Origin::Project).unwrap();
            assert_eq!(settings, Settings::default());
            let code = match setting.key {
                "ollama.url" | "qdrant.url" | "qdrant.collection" | "qdrant.project" => "address-in-project",
                "qdrant.api_key" => "key-in-project",
                "safe.directories" => "trust-in-project",
                "layers" => "layers-in-project",
                "sessions.record" => "recording-in-project",
                "qdrant.share_text" => "sharing-in-project",
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
}
