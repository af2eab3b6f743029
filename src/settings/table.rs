//! The table of settings.

use super::setting::{Setting, SettingKind};
use super::{CollectionLayout, CommitPolicy, ProgressKind, SessionRecording, Settings, Strategy};

/// A setting that is a whole number within a range.
const fn whole(
    key: &'static str,
    help: &'static str,
    range: (f64, f64),
    get: fn(&Settings) -> f64,
    set: fn(&mut Settings, f64),
) -> Setting {
    Setting { key, help, kind: SettingKind::Number { range, whole: true, get, set } }
}

/// Every setting, in the order in which `config.toml` lists them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "values are checked against their range first"
)]
pub(crate) const ALL: [Setting; 52] = [
    whole(
        "search.limit",
        "the most entries that a search returns",
        (1.0, 1_000.0),
        |settings| settings.search_limit as f64,
        |settings, value| settings.search_limit = value as usize,
    ),
    Setting {
        key: "search.text_weight",
        help: "the weight of words compared with the points for tags; with 0, only the points count",
        kind: SettingKind::Number {
            range: (0.0, 100.0),
            whole: false,
            get: |settings| settings.text_weight,
            set: |settings, value| settings.text_weight = value,
        },
    },
    whole(
        "context.budget",
        "the most characters of a context, its fixed instructions not counted",
        (0.0, 10_000_000.0),
        |settings| settings.context_budget as f64,
        |settings, value| settings.context_budget = value as usize,
    ),
    whole(
        "context.body_words",
        "the most words of one entry's body in a context",
        (1.0, 1_000_000.0),
        |settings| settings.body_words as f64,
        |settings, value| settings.body_words = value as usize,
    ),
    Setting {
        key: "strategy.name",
        help: "how a model is chosen: fixed, cost-optimized, escalate or plan-then-execute",
        kind: SettingKind::Choice {
            of: Strategy::WORDS,
            get: |settings| settings.strategy.as_str(),
            set: |settings, word| Strategy::parse(word).map(|choice| settings.strategy = choice),
        },
    },
    Setting {
        key: "strategy.models",
        help: "the models to choose from, the cheapest first",
        kind: SettingKind::Models,
    },
    Setting {
        key: "strategy.fixed_model",
        help: "the model of the strategy `fixed`; without one, the middle one",
        kind: SettingKind::Model(|settings| &mut settings.fixed_model),
    },
    whole(
        "strategy.stuck_after",
        "the failures in a row after which the agent is warned that it is stuck",
        (1.0, 1_000.0),
        |settings| settings.stuck_after.into(),
        |settings, value| settings.stuck_after = value as u32,
    ),
    whole(
        "run.max_iterations",
        "the most iterations of a run; 0 for no limit",
        (0.0, 1_000_000.0),
        |settings| settings.max_iterations.into(),
        |settings, value| settings.max_iterations = value as u32,
    ),
    whole(
        "run.max_attempts",
        "the most attempts of a run at one task; 0 for no limit",
        (0.0, 1_000_000.0),
        |settings| settings.max_attempts.into(),
        |settings, value| settings.max_attempts = value as u32,
    ),
    Setting {
        key: "run.agent",
        help: "the command line of the agent",
        kind: SettingKind::Command(|settings| &mut settings.agent),
    },
    Setting {
        key: "run.verify",
        help: "the command line that says whether a task is done",
        kind: SettingKind::Command(|settings| &mut settings.verify),
    },
    Setting {
        key: "run.summarize",
        help: "the command line that summarises an iteration",
        kind: SettingKind::Command(|settings| &mut settings.summarize),
    },
    Setting {
        key: "progress.strategy",
        help: "how a prompt describes the progress of a run: system-captured, structured-log, llm-summarized or hybrid",
        kind: SettingKind::Choice {
            of: ProgressKind::WORDS,
            get: |settings| settings.progress.as_str(),
            set: |settings, word| ProgressKind::parse(word).map(|choice| settings.progress = choice),
        },
    },
    whole(
        "progress.entries",
        "the newest iterations that the progress covers",
        (1.0, 1_000.0),
        |settings| settings.progress_entries as f64,
        |settings, value| settings.progress_entries = value as usize,
    ),
    whole(
        "progress.characters",
        "the characters of each iteration's output that the progress shows",
        (0.0, 16_384.0),
        |settings| settings.progress_characters as f64,
        |settings, value| settings.progress_characters = value as usize,
    ),
    Setting {
        key: "events.from_output",
        help: "whether agents may suggest events under `## MEMORY_SUGGESTIONS`",
        kind: SettingKind::Switch(|settings| &mut settings.events_from_output),
    },
    whole(
        "events.per_task",
        "the most events of a task that are shown and found: the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_task as f64,
        |settings, value| settings.events.per_task = value as usize,
    ),
    whole(
        "events.per_section",
        "the most events of a section that are shown and found: the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_section as f64,
        |settings, value| settings.events.per_section = value as usize,
    ),
    whole(
        "events.per_feature",
        "the most events of a feature that are shown and found: the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_feature as f64,
        |settings, value| settings.events.per_feature = value as usize,
    ),
    whole(
        "events.per_project",
        "the most events of the project that are shown and found: the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.per_project as f64,
        |settings, value| settings.events.per_project = value as usize,
    ),
    whole(
        "events.in_all",
        "the most events overall that are shown and found: the most important, then the newest",
        (0.0, 1_000_000.0),
        |settings| settings.events.in_all as f64,
        |settings, value| settings.events.in_all = value as usize,
    ),
    whole(
        "maintenance.done_days",
        "days after which the attempts at a finished task go to the archive",
        (0.0, 100_000.0),
        |settings| settings.maintenance.done_days.into(),
        |settings, value| settings.maintenance.done_days = value as u32,
    ),
    whole(
        "maintenance.knowledge_days",
        "days after which knowledge is old",
        (0.0, 100_000.0),
        |settings| settings.maintenance.knowledge_days.into(),
        |settings, value| settings.maintenance.knowledge_days = value as u32,
    ),
    whole(
        "maintenance.unused_days",
        "old knowledge that was in no context for this many days goes to the archive",
        (0.0, 100_000.0),
        |settings| settings.maintenance.unused_days.into(),
        |settings, value| settings.maintenance.unused_days = value as u32,
    ),
    whole(
        "maintenance.useful_days",
        "the same, for old knowledge that a successful attempt had in its context",
        (0.0, 100_000.0),
        |settings| settings.maintenance.useful_days.into(),
        |settings, value| settings.maintenance.useful_days = value as u32,
    ),
    whole(
        "maintenance.superseded_days",
        "days after which a superseded entry goes to the archive",
        (0.0, 100_000.0),
        |settings| settings.maintenance.superseded_days.into(),
        |settings, value| settings.maintenance.superseded_days = value as u32,
    ),
    whole(
        "maintenance.learnings",
        "the number of learnings above which `tidy` merges similar ones",
        (0.0, 1_000_000.0),
        |settings| settings.maintenance.learnings as f64,
        |settings, value| settings.maintenance.learnings = value as usize,
    ),
    Setting {
        key: "maintenance.automatic",
        help: "whether `tidy` runs at the end of every `run`",
        kind: SettingKind::Switch(|settings| &mut settings.maintenance.automatic),
    },
    Setting {
        key: "git.commit",
        help: "when the program commits the memory's own files: never or each-iteration",
        kind: SettingKind::Choice {
            of: CommitPolicy::WORDS,
            get: |settings| settings.git_commit.as_str(),
            set: |settings, word| CommitPolicy::parse(word).map(|choice| settings.git_commit = choice),
        },
    },
    Setting {
        key: "sessions.record",
        help: "what hooks record of a session: nothing, reported (what the agent reports) or changes (also one attempt, if files changed)",
        kind: SettingKind::Choice {
            of: SessionRecording::WORDS,
            get: |settings| settings.sessions_record.as_str(),
            set: |settings, word| SessionRecording::parse(word).map(|choice| settings.sessions_record = choice),
        },
    },
    Setting {
        key: "secrets.allowed",
        help: "fingerprints of texts that look like secrets but are not",
        kind: SettingKind::Fingerprints,
    },
    Setting {
        key: "safe.directories",
        help: "folders whose `.ralph/` may belong to another user; `/path/*` for all folders below one, `*` for all",
        kind: SettingKind::Folders,
    },
    Setting {
        key: "semantic.weight",
        help: "the share of meaning in a score; with 0, only words count",
        kind: SettingKind::Number {
            range: (0.0, 0.99),
            whole: false,
            get: |settings| settings.semantic.weight,
            set: |settings, value| settings.semantic.weight = value,
        },
    },
    Setting {
        key: "semantic.min_score",
        help: "the lowest similarity (cosine) at which meaning alone finds an entry; below 0 for the model's own value",
        kind: SettingKind::Number {
            range: (-1.0, 1.0),
            whole: false,
            get: |settings| settings.semantic.min_score,
            set: |settings, value| settings.semantic.min_score = value,
        },
    },
    whole(
        "semantic.limit",
        "the most entries that meaning alone finds",
        (1.0, 10_000.0),
        |settings| settings.semantic.limit as f64,
        |settings, value| settings.semantic.limit = value as usize,
    ),
    Setting {
        key: "ollama.url",
        help: "the address of the Ollama server that computes vectors, usually `http://localhost:11434`",
        kind: SettingKind::Address(|settings| &mut settings.ollama.url),
    },
    Setting {
        key: "ollama.model",
        help: "the model that computes vectors",
        kind: SettingKind::Model(|settings| &mut settings.ollama.model),
    },
    whole(
        "ollama.check_timeout_ms",
        "the time-out for connecting and listing the models, in milliseconds",
        (1.0, 600_000.0),
        |settings| settings.ollama.check_timeout_ms as f64,
        |settings, value| settings.ollama.check_timeout_ms = value as u64,
    ),
    whole(
        "ollama.query_timeout_ms",
        "the time-out for embedding a query, in milliseconds",
        (1.0, 600_000.0),
        |settings| settings.ollama.query_timeout_ms as f64,
        |settings, value| settings.ollama.query_timeout_ms = value as u64,
    ),
    whole(
        "ollama.embed_timeout_ms",
        "the time-out for embedding a batch of texts, in milliseconds",
        (1.0, 600_000.0),
        |settings| settings.ollama.embed_timeout_ms as f64,
        |settings, value| settings.ollama.embed_timeout_ms = value as u64,
    ),
    Setting {
        key: "qdrant.url",
        help: "the address of the Qdrant server that a team shares",
        kind: SettingKind::Address(|settings| &mut settings.qdrant.url),
    },
    Setting {
        key: "qdrant.api_key",
        help: "the API key of that server",
        kind: SettingKind::Key(|settings| &mut settings.qdrant.api_key),
    },
    Setting {
        key: "qdrant.collections",
        help: "one collection for all features or one for each: shared or per-feature",
        kind: SettingKind::Choice {
            of: CollectionLayout::WORDS,
            get: |settings| settings.qdrant.collections.as_str(),
            set: |settings, word| CollectionLayout::parse(word).map(|choice| settings.qdrant.collections = choice),
        },
    },
    Setting {
        key: "qdrant.collection",
        help: "the name of the collection for all features",
        kind: SettingKind::Place(|settings| &mut settings.qdrant.collection),
    },
    Setting {
        key: "qdrant.project",
        help: "the name of this project on that server; without one, the name of the folder that holds `.ralph/`",
        kind: SettingKind::Place(|settings| &mut settings.qdrant.project),
    },
    whole(
        "qdrant.timeout_ms",
        "the time-out for a call to that server, in milliseconds",
        (1.0, 600_000.0),
        |settings| settings.qdrant.timeout_ms as f64,
        |settings, value| settings.qdrant.timeout_ms = value as u64,
    ),
    whole(
        "qdrant.m",
        "the neighbours of each vector in the search graph (HNSW `m`)",
        (4.0, 256.0),
        |settings| settings.qdrant.m.into(),
        |settings, value| settings.qdrant.m = value as u32,
    ),
    whole(
        "qdrant.ef_construct",
        "the candidates for these neighbours when the graph is built (HNSW `ef_construct`)",
        (4.0, 10_000.0),
        |settings| settings.qdrant.ef_construct.into(),
        |settings, value| settings.qdrant.ef_construct = value as u32,
    ),
    Setting {
        key: "qdrant.on_disk",
        help: "whether vectors and graph are stored on disk instead of in memory",
        kind: SettingKind::Switch(|settings| &mut settings.qdrant.on_disk),
    },
    whole(
        "qdrant.hnsw_ef",
        "the candidates that a search compares (HNSW `ef`)",
        (1.0, 10_000.0),
        |settings| settings.qdrant.hnsw_ef.into(),
        |settings, value| settings.qdrant.hnsw_ef = value as u32,
    ),
    whole(
        "lock.timeout_ms",
        "how long a writing command waits for another one, in milliseconds",
        (0.0, 600_000.0),
        |settings| settings.lock_timeout_ms as f64,
        |settings, value| settings.lock_timeout_ms = value as u64,
    ),
];
