//! The outside of a run: who learns what happens, and who answers.

use super::progress::RunAttempt;
use crate::agent_output::transcript::{AgentEvent, AgentSpending};
use crate::memory::{OpenAttempt, Recorded};

/// Learns what happens in a run, and answers for the person who stopped it.
///
/// A closure that takes events is one that answers nothing:
///
/// ```
/// use ralph_memory::runner::{RunEvent, RunIo};
/// let mut n_warnings = 0;
/// let mut io = |event: RunEvent<'_>| n_warnings += u32::from(matches!(event, RunEvent::Warning(_)));
/// io.event(RunEvent::Warning("`Add the tables` keeps failing"));
/// assert_eq!(RunIo::feedback(&mut io), "");
/// assert_eq!(n_warnings, 1);
/// ```
pub trait RunIo {
    /// Takes what happened.
    fn event(&mut self, event: RunEvent<'_>);

    /// Returns what the next attempt should know. It is called once, when the run was interrupted; an interrupt meanwhile
    /// ends the program.
    fn feedback(&mut self) -> String;
}

impl<Observe: FnMut(RunEvent<'_>)> RunIo for Observe {
    fn event(&mut self, event: RunEvent<'_>) {
        self(event);
    }

    fn feedback(&mut self) -> String {
        String::new()
    }
}

/// What happens in a run, in the order in which it happens.
///
/// ```
/// use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let agent = CommandLine::parse("agent", "sh -c 'cat > prompt.md; echo I give up.'")?;
/// let options = RunOptions { max_iterations: Some(1), ..RunOptions::new(agent) };
/// let mut log = Vec::new();
/// let mut io = |event: RunEvent<'_>| match event {
///     RunEvent::Line(line) => log.push(line.to_owned()),
///     RunEvent::AttemptEnded { recorded, .. } => log.push(recorded.outcome.as_str().to_owned()),
///     _ => {}
/// };
/// let task = Assignment::Task(Task::new("Halve the image"));
/// Runner::new(&memory, options).run(&task, &mut RunProgress::default(), &mut io)?;
/// assert_eq!(log, ["I give up.", "blocked"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// The attempts from here on are at the task of this box of the checklist.
    TaskStarted {
        /// Its title, without secrets.
        title: &'a str,
    },
    /// An attempt began.
    AttemptStarted {
        /// The attempt, with its context.
        attempt: &'a OpenAttempt,
        /// The number of the last one that the run may have.
        last: Option<u32>,
    },
    /// The agent did something, by its event stream.
    Agent(&'a AgentEvent),
    /// The agent spent more: what it has spent so far in this attempt.
    Spending(AgentSpending),
    /// The agent or verification wrote this line, which is not an event. Secrets are redacted. A line that may be of a
    /// private key comes when the next ones say whether it is.
    Line(&'a str),
    /// Verification began.
    Verifying,
    /// The command that runs was interrupted, and has time to end.
    Stopping,
    /// The running command exceeded its time limit, and gets time to end.
    TimedOut,
    /// The attempt is in the journal.
    AttemptEnded {
        /// How it went.
        attempt: &'a RunAttempt,
        /// What was recorded.
        recorded: &'a Recorded,
    },
    /// The attempt does not report its `cost` or `tokens`, so that [`max_cost`](super::RunOptions::max_cost) or
    /// [`max_tokens`](super::RunOptions::max_tokens) cannot count it, or nothing says which `model` made it. Each is
    /// told once a run.
    Unknown {
        /// The attempt's number.
        number: u32,
        /// `cost`, `tokens` or `model`.
        what: &'static str,
    },
    /// Something that a person should know, and that stops nothing.
    Warning(&'a str),
}
