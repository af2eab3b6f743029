//! The loop: an agent works on tasks, attempt after attempt, until they are done.
//!
//! [`Runner`] gives the agent its context, runs what verifies its work, and writes each attempt to the journal. It runs
//! commands and writes to no terminal: what happens goes to a [`RunIo`]. An attempt whose agent has ended is recorded,
//! whatever ends the run.
//!
//! ```
//! use ralph_memory::runner::{Assignment, CommandLine, RunEnd, RunEvent, RunOptions, RunProgress, Runner};
//! use ralph_memory::{Memory, Task};
//!
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! Memory::init(root)?;
//! let memory = Memory::open(root)?;
//! let agent = "sh -c 'cat > prompt.md; touch tables.sql; echo \"<task-done>$RALPH_TASK_ID</task-done>\"'";
//! let options = RunOptions {
//!     verify: Some(CommandLine::parse("verify", "test -e tables.sql")?),
//!     max_iterations: Some(5),
//!     ..RunOptions::new(CommandLine::parse("agent", agent)?)
//! };
//! let task = Assignment::Task(Task::new("Add the tables"));
//! let mut progress = RunProgress::default();
//! let mut outcomes = Vec::new();
//! let end = Runner::new(&memory, options).run(&task, &mut progress, &mut |event: RunEvent<'_>| {
//!     if let RunEvent::AttemptEnded { recorded, .. } = event {
//!         outcomes.push(recorded.outcome.as_str());
//!     }
//! })?;
//! assert_eq!((end, outcomes), (RunEnd::Done, vec!["done"]));
//! assert_eq!(progress.tasks[0].attempts, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent_log;
mod attempt;
mod checklist;
mod client;
mod command;
mod family;
mod interrupt;
mod io;
mod offer;
mod options;
mod private_file;
mod process;
mod progress;
mod prompt;
mod reason;
mod report;
mod resume;
mod run_loop;
mod summary;
mod template;
mod trouble;
mod usage_limit;

use self::run_loop::RunLoop;
use crate::error::Result;
use crate::memory::Memory;

pub use crate::journal::progress::{
    HybridProgress, IterationContext, LlmSummarizedProgress, ProgressStrategy, StructuredLogProgress,
    SystemCapturedProgress,
};

pub use self::command::CommandLine;
pub use self::interrupt::Interrupt;
pub use self::io::{RunEvent, RunIo};
pub use self::options::{Assignment, RunEnd, RunOptions};
pub use self::progress::{RunAttempt, RunProgress, RunTask};
pub use self::template::PromptTemplate;
// What the program needs besides. It is no part of the interface.
#[doc(hidden)]
pub use self::{agent_log::AgentLog, options::RunLimit, resume::ResumedRun};

/// Lets an agent work on tasks, and keeps the journal.
///
/// The [module](self) has an example of a run to its end.
///
/// ```
/// use ralph_memory::runner::{Assignment, CommandLine, Interrupt, RunEnd, RunEvent, RunOptions, RunProgress, Runner};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let interrupt = Interrupt::default();
/// let agent = CommandLine::parse("agent", "claude -p --model {model}")?;
/// let runner = Runner::new(&memory, RunOptions { interrupt: interrupt.clone(), ..RunOptions::new(agent) });
/// interrupt.raise(); // from another thread, perhaps
/// let task = Assignment::Task(Task::new("Port the build to Meson"));
/// assert_eq!(runner.run(&task, &mut RunProgress::default(), &mut |_: RunEvent<'_>| ())?, RunEnd::Interrupted);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Runner<'a> {
    memory: &'a Memory,
    options: RunOptions,
}

impl<'a> Runner<'a> {
    /// Returns a runner for this memory. Commands run in the folder that holds `.ralph/`.
    pub fn new(memory: &'a Memory, options: RunOptions) -> Runner<'a> {
        Runner { memory, options }
    }

    /// Runs one attempt after the other, and returns why no further one began. `progress` says how far the run came, also
    /// where an error ends it; that of a [resumed run](ResumedRun) counts for the limits.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`](crate::Error::Unusable) where a command, the template or the checklist cannot be used,
    /// [`Error::Io`](crate::Error::Io) where a command cannot be run or a file not be read, and those of
    /// [`Memory::begin`] and [`Memory::finish`]. An attempt in which no agent ran is not in the journal.
    pub fn run(&self, assignment: &Assignment, progress: &mut RunProgress, io: &mut dyn RunIo) -> Result<RunEnd> {
        RunLoop::new(self.memory, &self.options, assignment)?.run(progress, io)
    }
}
