//! Settings whose value is one of a few words.

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
        /// The middle one, whatever the task did.
        Fixed = "fixed",
        /// The middle one; the cheapest while the run goes well; the strongest after two failures.
        #[default]
        CostOptimized = "cost-optimized",
        /// The cheapest one, then a stronger one after each failure.
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
    /// ```
    #[derive(Default)]
    pub enum ProgressKind {
        /// What the command printed, as it is.
        #[default]
        SystemCaptured = "system-captured",
        /// One JSON object for each attempt, for templates that read it.
        StructuredLog = "structured-log",
        /// A model's summary of each attempt.
        LlmSummarized = "llm-summarized",
        /// The summaries, then what the command printed.
        Hybrid = "hybrid",
    }
}

choice! {
    /// What is recorded of a person's session with an agent whose client calls the program's hooks.
    #[derive(Default)]
    pub(crate) enum SessionRecording {
        /// Nothing.
        Nothing = "nothing",
        /// What the agent reports in its messages: knowledge, and the ends of tasks.
        #[default]
        Reported = "reported",
        /// Also one attempt, read from the transcript, for a session that changed files and reported no attempt.
        Changes = "changes",
    }
}
