//! What goes to and fro between the loop and whoever keeps its journal.

use std::time::Duration;

use ralph_memory::entry::attempt::{AttemptHead, Outcome};
use ralph_memory::memory::Added;
use ralph_memory::transcript::Transcript;
use ralph_memory::{Problem, Task};

/// Who gives an iteration its context, and writes down what came of it.
pub(crate) trait Keeper {
    /// Begins an iteration of the task.
    fn begin(&mut self, task: &Task) -> anyhow::Result<Begun>;
    /// Notes the process of the agent that works on the iteration that began last.
    fn started(&mut self, pid: u32);
    /// Returns whether the command is to be run now that says whether the task is done.
    fn wants_verification(&mut self, report: &Report) -> bool;
    /// Gives up the iteration that began last, in which nothing happened.
    fn abandon(&mut self);
    /// Keeps what came of the iteration that began last, for the case that this process ends before it is written down.
    fn keep(&mut self, report: &Report);
    /// Writes down what came of the iteration that began last.
    fn finish(&mut self, report: &Report) -> anyhow::Result<Recorded>;
}

/// An iteration that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begun {
    /// The run.
    pub(crate) run_id: String,
    /// Its number in the run, from 1.
    pub(crate) number: u32,
    /// The task's id.
    pub(crate) task_id: String,
    /// The model that is to work on it.
    pub(crate) model: String,
    /// What the agent should know.
    pub(crate) context: String,
    /// What the iterations before have come to; may be empty.
    pub(crate) progress: String,
    /// What a person should be told who watches it.
    pub(crate) warning: Option<String>,
}

/// What happened in an iteration.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Report {
    /// What the agent said on its standard output.
    pub(crate) said: Transcript,
    /// What it wrote to its error output, or why it could not be run.
    pub(crate) errors: String,
    /// Its exit status; `None` where it could not be run.
    pub(crate) agent_exit: Option<i32>,
    /// How long it took.
    pub(crate) duration: Duration,
    /// The outcome, where it is not for the agent to say: `Error`, `Interrupted`, and `Blocked` where it took too long.
    pub(crate) outcome: Option<Outcome>,
    /// How verification went.
    pub(crate) validation: Option<Validated>,
    /// What the person said who stopped it.
    pub(crate) feedback: String,
}

/// How verification went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Validated {
    /// The command line.
    pub(crate) command: String,
    /// Its exit status.
    pub(crate) exit_code: i32,
    /// What it wrote: the standard output, else the error output.
    pub(crate) output: String,
    /// How long it took.
    pub(crate) duration: Duration,
}

/// What was written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    /// The outcome that counts.
    pub(crate) outcome: Outcome,
    /// What it cost, in US dollars, where that is known.
    pub(crate) cost_usd: Option<f64>,
    /// How many tokens it took, in and out, where that is known.
    pub(crate) tokens: Option<u64>,
    /// The knowledge that came of it.
    pub(crate) learned: Vec<Added>,
    /// What the agent said in a way that could not be taken over.
    pub(crate) refused: Vec<String>,
    /// What happened on the way that a person should look at.
    pub(crate) problems: Vec<Problem>,
}

/// What the journal says that a run has spent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spent {
    /// In US dollars.
    pub(crate) cost_usd: f64,
    /// In tokens, in and out.
    pub(crate) tokens: u64,
}

impl Spent {
    /// Counts an attempt. What it does not say counts for nothing.
    pub(crate) fn add(&mut self, cost_usd: Option<f64>, tokens: Option<u64>) {
        // Sums of cents are no cents: they come out a little too low.
        self.cost_usd = ((self.cost_usd + cost_usd.unwrap_or_default()) * 1e6).round() / 1e6;
        self.tokens = self.tokens.saturating_add(tokens.unwrap_or_default());
    }
}

/// Returns how many tokens an attempt took, where it says so.
pub(crate) fn tokens(head: &AttemptHead) -> Option<u64> {
    let (told, said) = (head.tokens_in, head.tokens_out);
    (told.is_some() || said.is_some()).then(|| told.unwrap_or_default().saturating_add(said.unwrap_or_default()))
}
