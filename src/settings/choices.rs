//! Settings that are one of a few words.

use crate::text::choice;

choice! {
    /// How a model is chosen.
    ///
    /// ```
    /// use ralph_memory::settings::Strategy;
    /// assert_eq!(Strategy::parse("escalate"), Some(Strategy::Escalate));
    /// assert_eq!(Strategy::default().as_str(), "cost-optimized");
    /// ```
    #[derive(Default)]
    pub enum Strategy {
        /// Always the same one.
        Fixed = "fixed",
        /// The middle one, the cheapest while the run goes well, the strongest after two failures.
        #[default]
        CostOptimized = "cost-optimized",
        /// The cheapest one, and a stronger one after each failure.
        Escalate = "escalate",
        /// The strongest one for the first attempt at a task, the middle one after it.
        PlanThenExecute = "plan-then-execute",
    }
}

choice! {
    /// How a run's progress is reported in the next prompt.
    ///
    /// ```
    /// use ralph_memory::settings::ProgressKind;
    /// let words: Vec<&str> = ProgressKind::ALL.iter().map(|kind| kind.as_str()).collect();
    /// assert_eq!(words, ["system-captured", "structured-log", "llm-summarized", "hybrid"]);
    /// assert!(ProgressKind::Hybrid.needs_summary() && !ProgressKind::default().needs_summary());
    /// ```
    #[derive(Default)]
    pub enum ProgressKind {
        /// What the command printed, as it is.
        #[default]
        SystemCaptured = "system-captured",
        /// One JSON object for each iteration, for templates that read it.
        StructuredLog = "structured-log",
        /// A model's summary of each iteration.
        LlmSummarized = "llm-summarized",
        /// The summaries, then what the command printed.
        Hybrid = "hybrid",
    }
}

choice! {
    /// When the files of the memory are committed to git.
    #[derive(Default)]
    pub(crate) enum CommitPolicy {
        /// The user commits them.
        #[default]
        Never = "never",
        /// Each iteration's files are committed when it ends.
        EachIteration = "each-iteration",
    }
}

choice! {
    /// What is written down of a person's session with an agent, when its client calls the program's hooks.
    #[derive(Default)]
    pub(crate) enum SessionRecording {
        /// Nothing.
        Nothing = "nothing",
        /// What the agent reports in its messages: knowledge, and the ends of tasks.
        #[default]
        Reported = "reported",
        /// Also one attempt for a session that changed files and reported none, from its transcript.
        Changes = "changes",
    }
}

impl ProgressKind {
    /// Returns whether it needs summaries, which a command has to make.
    pub fn needs_summary(self) -> bool {
        matches!(self, ProgressKind::LlmSummarized | ProgressKind::Hybrid)
    }
}
