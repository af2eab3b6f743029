//! All settings: one row each, in the order in which they are listed.

use super::setting::{
    ANYONE, COMMAND, LAYERS, PLACE, RECORDS, SECRET, SENDS, SERVER, SHARES, Setting, TRUST, inline_table, settings,
};
use super::value::ValueRule::{self, OfType, Within};
use super::value::{
    ADDRESS, COMMAND_LINE, FINGERPRINTS, FOLDERS, KEY, MEMORIES, MODELS, NAME, RawValue, SettingValue, TableField,
    set_table, shown_table, words,
};
use super::{ProgressKind, SessionRecording, Strategy};

words!(Strategy, ProgressKind, SessionRecording);

/// Returns every setting, in the order of the documentation.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting> + Clone {
    [Settings::ROWS, MaintenanceSettings::ROWS, SemanticSettings::ROWS, OllamaSettings::ROWS, QdrantSettings::ROWS]
        .into_iter()
        .flatten()
}

settings! {
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
    #[non_exhaustive]
    pub struct Settings, at |settings| settings;

    pub search_limit: usize = 10, "search.limit", Within(1.0, 1_000.0), ANYONE,
        "the most entries that a search returns";
    pub context_budget: usize = 27_000, "context.budget", Within(0.0, 10_000_000.0), ANYONE,
        "the most characters of a context, its fixed instructions not counted";
    pub strategy: Strategy = Strategy::default(), "strategy.name", OfType, ANYONE,
        "how a model is chosen: fixed (the middle one), cost-optimized, escalate or plan-then-execute";
    pub models: Vec<String> = ["haiku", "sonnet", "opus"].map(str::to_owned).into(), "strategy.models", MODELS, ANYONE,
        "the models to choose from, the cheapest first";
    pub max_iterations: u32 = 10, "run.max_iterations", Within(0.0, 1_000_000.0), ANYONE,
        "the most iterations of a run; 0 for no limit";
    pub max_attempts: u32 = 0, "run.max_attempts", Within(0.0, 1_000_000.0), ANYONE,
        "the most attempts of a run at one task; 0 for no limit";
    pub agent: String = String::new(), "run.agent", COMMAND_LINE, COMMAND,
        "the command line of the agent";
    pub verify: String = String::new(), "run.verify", COMMAND_LINE, COMMAND,
        "the command line that says whether a task is done";
    pub summarize: String = String::new(), "run.summarize", COMMAND_LINE, COMMAND,
        "the command line that summarises an attempt";
    pub progress: ProgressKind = ProgressKind::default(), "progress.strategy", OfType, ANYONE,
        "how a prompt describes the progress of a run: system-captured, structured-log, llm-summarized or hybrid";
    pub progress_entries: usize = 5, "progress.entries", Within(1.0, 1_000.0), ANYONE,
        "the newest attempts that the progress covers";
    pub progress_characters: usize = 500, "progress.characters", Within(0.0, 16_384.0), ANYONE,
        "the characters of each attempt's output that the progress shows";
    pub events_from_output: bool = false, "events.from_output", OfType, ANYONE,
        "whether agents may suggest events under `## MEMORY_SUGGESTIONS`";
    pub(crate) events: EventCaps = EventCaps::default(), "events.limits", OfType, ANYONE,
        "the most events that a context shows: those that the task is about, then the most important, then the newest";
    pub(crate) git_common: bool = true, "git.common", OfType, ANYONE,
        "whether each attempt is also copied to git's common folder, for all work trees of the clone";
    pub(crate) sessions_record: SessionRecording = SessionRecording::default(), "sessions.record", OfType, RECORDS,
        "what hooks record of a session: nothing, reported (what the agent reports) or changes (also one attempt, if files changed)";
    pub allowed_secrets: Vec<String> = Vec::new(), "secrets.allowed", FINGERPRINTS, ANYONE,
        "fingerprints of texts that look like secrets but are not";
    pub safe_directories: Vec<String> = Vec::new(), "safe.directories", FOLDERS, TRUST,
        "folders whose `.ralph/` may belong to another user; `/path/*` for all folders below one, `*` for all";
    pub(crate) layers: Vec<String> = Vec::new(), "layers", MEMORIES, LAYERS,
        "folders of other memories that are searched with this one; a relative path starts at the folder that holds `.ralph/`";

    @group maintenance: MaintenanceSettings, "`maintenance.learnings` and so on: when the memory is tidied.";
    @group semantic: SemanticSettings, "`semantic.weight` and so on: the weight of meaning compared with words.";
    @group ollama: OllamaSettings, "`ollama.url` and so on: the server that embeds texts.";
    @group qdrant: QdrantSettings, "`qdrant.url` and so on: the server that shares vectors.";
}

inline_table! {
    /// The limits of events. A feature has the same limit as a section.
    #[derive(Copy)]
    pub(crate) struct EventCaps {
        per_task: usize = 12, Within(0.0, 1_000_000.0);
        per_section: usize = 20, Within(0.0, 1_000_000.0);
        per_feature: usize = 20, Within(0.0, 1_000_000.0);
        per_project: usize = 30, Within(0.0, 1_000_000.0);
        in_all: usize = 1_200, Within(0.0, 1_000_000.0);
    }
}

settings! {
    /// When the memory is tidied up.
    pub(crate) struct MaintenanceSettings, at |settings| &mut settings.maintenance;

    pub(crate) learnings: usize = 200, "maintenance.learnings", Within(0.0, 1_000_000.0), ANYONE,
        "the number of learnings above which similar ones are merged";
    pub(crate) automatic: bool = false, "maintenance.automatic", OfType, ANYONE,
        "whether maintenance follows every `run`";
}

settings! {
    /// How much semantic search counts beside words.
    pub(crate) struct SemanticSettings, at |settings| &mut settings.semantic;

    pub(crate) weight: f64 = 0.5, "semantic.weight", Within(0.0, 0.99), ANYONE,
        "the share of meaning in a score; with 0, only words count and no server is asked";
    pub(crate) min_score: f64 = -1.0, "semantic.min_score", Within(-1.0, 1.0), ANYONE,
        "the lowest similarity (cosine) at which meaning alone finds an entry; below 0 for the model's own value";
    pub(crate) limit: usize = 20, "semantic.limit", Within(1.0, 10_000.0), ANYONE,
        "the most entries that meaning alone finds";
}

settings! {
    /// The Ollama server that embeds texts.
    ///
    /// Its address has no default: any program that listens at that port would get the texts of the memory.
    pub(crate) struct OllamaSettings, at |settings| &mut settings.ollama;

    pub(crate) url: String = String::new(), "ollama.url", ADDRESS, SENDS,
        "the address of the Ollama server that computes vectors, usually `http://localhost:11434`";
    pub(crate) model: String = "nomic-embed-text".to_owned(), "ollama.model", NAME, SERVER,
        "the model that computes vectors";
    pub(crate) timeout_ms: u64 = 5_000, "ollama.timeout_ms", Within(1.0, 600_000.0), SERVER,
        "the time-out for embedding a query, in milliseconds; a check has at least 2 s, and a batch of texts 60 s";
}

settings! {
    /// The Qdrant server on which a team shares vectors.
    pub struct QdrantSettings, at |settings| &mut settings.qdrant;

    pub url: String = String::new(), "qdrant.url", ADDRESS, SENDS,
        "the address of the Qdrant server that a team shares";
    pub api_key: String = String::new(), "qdrant.api_key", KEY, SECRET,
        "the API key of that server";
    pub collection: CollectionSettings = CollectionSettings::default(), "qdrant.collection", OfType, PLACE,
        "the name of the collection; with `per_feature`, each feature has one of its own beside it";
    pub project: String = String::new(), "qdrant.project", NAME, PLACE,
        "the name of this project on that server; without one, the name of the folder that holds `.ralph/`";
    pub share_text: bool = false, "qdrant.share_text", OfType, SHARES,
        "whether titles and the beginnings of texts are stored there, redacted, for `search --everywhere` in other projects";
    pub timeout_ms: u64 = 5_000, "qdrant.timeout_ms", Within(1.0, 600_000.0), SERVER,
        "the time-out for a call to that server, in milliseconds";
    pub hnsw: HnswSettings = HnswSettings::default(), "qdrant.hnsw", OfType, SERVER,
        "the search graph: neighbours of a vector, candidates for them, whether it is on disk, and candidates of a search";
}

inline_table! {
    /// The collections of a Qdrant server.
    pub struct CollectionSettings {
        /// The name of the collection for all features, or for entries without a feature.
        name: String = "ralph-memory".to_owned(), NAME;
        /// Whether each feature has a collection of its own.
        per_feature: bool = false, OfType;
    }
}

inline_table! {
    /// The search graph (HNSW) of a Qdrant collection.
    #[derive(Copy)]
    pub struct HnswSettings {
        /// How many neighbours a vector has in the graph.
        m: u32 = 64, Within(4.0, 256.0);
        /// How many vectors are considered for these neighbours when the graph is built.
        ef_construct: u32 = 512, Within(4.0, 10_000.0);
        /// Whether vectors and graph are stored on disk instead of in memory.
        on_disk: bool = true, OfType;
        /// How many vectors a search considers.
        ef: u32 = 128, Within(1.0, 10_000.0);
    }
}

impl Settings {
    /// Returns whether maintenance follows every run.
    pub fn tidies_after_runs(&self) -> bool {
        self.maintenance.automatic
    }

    /// Returns whether texts are embedded for this machine alone: no server shares their vectors.
    pub fn embeds_alone(&self) -> bool {
        !self.ollama.url.is_empty() && self.qdrant.url.is_empty() && self.semantic.weight > 0.0
    }

    /// Returns whether a server may have vectors of this project.
    pub fn has_remote(&self) -> bool {
        !self.qdrant.url.is_empty()
    }

    /// Returns the minimum cosine, from -1 to 1, at which an entry is found by its meaning alone: that of
    /// `semantic.min_score`, else the default of the model.
    pub(crate) fn min_similarity(&self) -> f64 {
        let set = self.semantic.min_score;
        if set < 0.0 { self.ollama.min_score() } else { set }
    }
}

impl OllamaSettings {
    /// Returns the name of the model without its tag.
    pub(crate) fn family(&self) -> &str {
        let name = self.model.rsplit('/').next().unwrap_or_default();
        name.split(':').next().unwrap_or_default()
    }

    /// Returns the minimum cosine of related texts, by the model: some models give similar vectors for all texts.
    pub(crate) fn min_score(&self) -> f64 {
        match self.family() {
            // In a measurement, the right answer to a question scored .26 and the next one .07.
            "all-minilm" => 0.15,
            // The value from the seeds, for `nomic-embed-text`.
            _ => 0.4,
        }
    }

    /// Returns whether the model can compare a text with others. Its alphabet says so: `all-minilm` learned English alone.
    /// With it, Thai questions lost .137 of their nDCG@10, and Russian and Ukrainian ones gained nothing.
    pub(crate) fn reads(&self, text: &str) -> bool {
        let is_latin = |letter: &char| matches!(letter, 'A'..='\u{24f}' | '\u{1e00}'..='\u{1eff}');
        let letters = || text.chars().filter(|letter| letter.is_alphabetic());
        self.family() != "all-minilm" || 2 * letters().filter(is_latin).count() >= letters().count()
    }
}
