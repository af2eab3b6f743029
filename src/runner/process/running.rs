//! When to ask a running command to end, when to kill it, and when to stop waiting.
//!
//! It reads no output and starts nothing. A command that was asked to end gets its time before it is killed.

use std::time::{Duration, Instant};

use super::OutputEvent;
use super::output::OutputTail;
use crate::runner::family::ProcessFamily;
use crate::runner::interrupt::Interrupt;
use crate::system::posix::process::Signal;

/// How long the outputs have to close after the command has exited, at most: a child of it may hold them open.
const OUTPUTS: Duration = Duration::from_secs(2);
/// How much of the standard output is kept: its end, in bytes.
const MAX_STDOUT: usize = 16 * 1024 * 1024;
/// How much of the error output is kept: its end, in bytes.
pub(super) const MAX_STDERR: usize = 1024 * 1024;

/// A command while it runs.
pub(super) struct RunningCommand<'a> {
    family: ProcessFamily,
    interrupt: &'a Interrupt,
    grace: Duration,
    start: Instant,
    /// How long it may take.
    limit: Option<Duration>,
    /// Its standard output and its error output.
    pub(super) outputs: [OutputTail; 2],
    pub(super) exited: Option<Instant>,
    /// When it was asked to end.
    pub(super) ended: Option<Instant>,
    /// Whether that was since it took too long.
    pub(super) is_too_long: bool,
    is_killed: bool,
}

impl<'a> RunningCommand<'a> {
    /// Returns a command that was started at a time, and may take so long.
    pub(super) fn new(
        family: ProcessFamily,
        (interrupt, grace): (&'a Interrupt, Duration),
        (start, limit): (Instant, Option<Duration>),
    ) -> RunningCommand<'a> {
        let outputs = [OutputTail::new(MAX_STDOUT), OutputTail::new(MAX_STDERR)];
        let (exited, ended, is_too_long, is_killed) = Default::default();
        RunningCommand { family, interrupt, grace, start, limit, outputs, exited, ended, is_too_long, is_killed }
    }

    /// Ends the command where the run is to stop, or it took too long: first asks, later does not. Returns the event where
    /// it asked now.
    pub(super) fn end_if_due(&mut self) -> Option<OutputEvent<'static>> {
        // One that has exited took no longer than that, whatever its children do.
        let is_late = self.exited.is_none() && self.limit.is_some_and(|limit| self.start.elapsed() >= limit);
        match self.ended {
            None if self.interrupt.is_raised() || is_late => {
                self.ended = Some(Instant::now());
                self.is_too_long = !self.interrupt.is_raised();
                // Where nobody is at a keyboard, commands are often started to ignore the first of these.
                let signal = if self.interrupt.is_by_person() { Signal::INT } else { Signal::TERM };
                self.family.signal(signal);
                Some(OutputEvent::Stopping { is_late: self.is_too_long })
            }
            Some(since) if !self.is_killed && (since.elapsed() >= self.grace || self.interrupt.is_impatient()) => {
                self.is_killed = true;
                self.family.signal(Signal::KILL);
                None
            }
            _ => None,
        }
    }

    /// Returns whether nothing more is to come, or to be waited for.
    pub(super) fn is_over(&self) -> bool {
        let Some(exited) = self.exited else { return false };
        // Children that hold an output open may be cleaning up, for which they have as long.
        let left = match self.ended {
            Some(since) if !self.is_killed => self.grace.saturating_sub(since.elapsed()),
            _ => self.grace.min(OUTPUTS).saturating_sub(exited.elapsed()),
        };
        self.outputs.iter().all(|output| output.is_closed) || left.is_zero()
    }
}
