//! What a command is given, what it yields, and what happens in between: plain data.

use std::path::Path;
use std::time::Duration;

use super::output::CapturedOutput;

/// How long a command and its children have to end.
///
/// ```
/// use std::time::Duration;
/// use ralph_memory::runner::{CommandLine, ProcessTimeouts, RunOptions};
/// let agent = CommandLine::parse("agent", "codex exec -")?;
/// let process_timeouts = ProcessTimeouts { interrupted: Duration::from_secs(20), ..ProcessTimeouts::default() };
/// let options = RunOptions { process_timeouts, ..RunOptions::new(agent) };
/// assert_eq!(options.process_timeouts.outputs, Duration::from_secs(2));
/// # Ok::<(), ralph_memory::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTimeouts {
    /// The time for the outputs to close after the command has exited: a child of it may hold them open.
    pub outputs: Duration,
    /// The time for the command and its children to end after an interrupt or a time-out, before they are killed.
    pub interrupted: Duration,
}

impl Default for ProcessTimeouts {
    fn default() -> ProcessTimeouts {
        ProcessTimeouts { outputs: Duration::from_secs(2), interrupted: Duration::from_secs(5) }
    }
}

/// A command that is to be run.
#[derive(Debug, Clone, Copy)]
pub(in crate::runner) struct Invocation<'a> {
    /// The program: a path, relative to `folder`, or a name that is looked up.
    pub(in crate::runner) program: &'a str,
    /// Its arguments.
    pub(in crate::runner) arguments: &'a [String],
    /// What it can read from its standard input; it need not.
    pub(in crate::runner) stdin: &'a [u8],
    /// Variables that it has beside those of this process.
    pub(in crate::runner) environment: &'a [(&'a str, &'a str)],
    /// Where it works.
    pub(in crate::runner) folder: &'a Path,
    /// How long it may take; `None` where there is no limit.
    pub(in crate::runner) limit: Option<Duration>,
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::runner) struct ProcessOutput {
    /// What it wrote to its standard output.
    pub(in crate::runner) stdout: CapturedOutput,
    /// What it wrote to its error output.
    pub(in crate::runner) stderr: CapturedOutput,
    /// Its exit status, as a shell reports it: 128 and the signal that ended it.
    pub(in crate::runner) exit_code: i32,
    /// How long it took.
    pub(in crate::runner) duration: Duration,
    /// Whether it was ended by an interrupt.
    pub(in crate::runner) interrupted: bool,
    /// The time-out that ended it.
    pub(in crate::runner) timed_out: Option<Duration>,
}

/// What happens while a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runner) enum OutputEvent<'a> {
    /// It is this process.
    Started(u32),
    /// It wrote this to its standard output; its lines follow.
    Bytes(&'a [u8]),
    /// It wrote this line to its standard output.
    Line(&'a str),
    /// It wrote this to its error output; its lines follow.
    ErrorBytes(&'a [u8]),
    /// It wrote this line to its error output.
    ErrorLine(&'a str),
    /// Nothing happened for a moment.
    Quiet,
    /// It was interrupted, and gets time to end.
    Stopping,
    /// It took longer than it may, and gets time to end.
    TimedOut,
}

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputStream {
    Standard,
    Error,
}
