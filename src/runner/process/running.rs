//! When a running command is asked to end, when it is killed, and when nothing more is waited for.
//!
//! It reads no output and starts nothing. A command that was asked to end gets its time before it is killed.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::invocation::{OutputEvent, OutputStream, ProcessTimeouts};
use super::output::OutputTail;
use crate::runner::family::ProcessFamily;
use crate::runner::interrupt::Interrupt;

/// How much of the standard output is kept: its end, in bytes.
const MAX_STDOUT: usize = 16 * 1024 * 1024;
/// How much of the error output is kept: its end, in bytes.
pub(super) const MAX_STDERR: usize = 1024 * 1024;

/// A command while it runs.
pub(super) struct RunningCommand<'a> {
    family: ProcessFamily,
    interrupt: &'a Interrupt,
    timeouts: ProcessTimeouts,
    start: Instant,
    /// How long it may take.
    limit: Option<Duration>,
    pub(super) stdout: OutputTail,
    pub(super) stderr: OutputTail,
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
        interrupt: &'a Interrupt,
        timeouts: ProcessTimeouts,
        (start, limit): (Instant, Option<Duration>),
    ) -> RunningCommand<'a> {
        let (stdout, stderr) = (OutputTail::new(MAX_STDOUT), OutputTail::new(MAX_STDERR));
        let (exited, ended) = (None, None);
        let (is_too_long, is_killed) = (false, false);
        RunningCommand {
            family,
            interrupt,
            timeouts,
            start,
            limit,
            stdout,
            stderr,
            exited,
            ended,
            is_too_long,
            is_killed,
        }
    }

    pub(super) fn stream(&mut self, stream: OutputStream) -> &mut OutputTail {
        match stream {
            OutputStream::Standard => &mut self.stdout,
            OutputStream::Error => &mut self.stderr,
        }
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
                Some(if self.is_too_long { OutputEvent::TimedOut } else { OutputEvent::Stopping })
            }
            Some(since)
                if !self.is_killed
                    && (since.elapsed() >= self.timeouts.interrupted || self.interrupt.is_impatient()) =>
            {
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
            Some(since) if !self.is_killed => self.timeouts.interrupted.saturating_sub(since.elapsed()),
            _ => self.timeouts.outputs.saturating_sub(exited.elapsed()),
        };
        (self.stdout.is_closed && self.stderr.is_closed) || left.is_zero()
    }
}
