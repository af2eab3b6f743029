//! What Ctrl-C and similar signals do to a run.
//!
//! The first signal is noted, and long-running code checks for it. The second one kills the running command, which has
//! its own process group so that the terminal does not end it. The command's output is still recorded if that takes no
//! longer than [`GRACE`]; then the caller ends the program. This file does not know how.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::family::ProcessFamily;
use crate::error::Result;
use crate::system;
use crate::system::posix::process::Signal;
use crate::system::posix::signals::{SIGHUP, SIGINT, SIGTERM, Signals};

/// How long the program continues after the second signal.
const GRACE: Duration = Duration::from_secs(2);
/// How long an interrupt of a pause goes unnoticed at most.
const POLL: Duration = Duration::from_millis(50);

/// Stops a run, from a signal or another thread. Clones stop the same run.
///
/// ```
/// use ralph_memory::runner::Interrupt;
/// let interrupt = Interrupt::default();
/// let other = interrupt.clone();
/// std::thread::spawn(move || other.raise()).join().unwrap();
/// assert!(interrupt.is_raised());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<InterruptState>);

#[derive(Debug, Default)]
struct InterruptState {
    /// The first signal that arrived; 0 if none did.
    first: AtomicI32,
    /// Whether another one came.
    is_impatient: AtomicBool,
    /// Whether nothing is left to record because a person is being asked something.
    is_asking: AtomicBool,
    /// The command that is running.
    running: Mutex<Option<ProcessFamily>>,
}

/// A command is running as long as this lives.
#[derive(Debug)]
pub(super) struct RunningNote<'a>(&'a Interrupt);

impl Interrupt {
    /// Returns one that SIGINT, SIGTERM and SIGHUP raise. A signal that this process was started to
    /// ignore, by `nohup` for instance, stays ignored.
    ///
    /// `leave` must end the program. It is called after the second signal: two seconds later, within which the run writes
    /// down what its agent said, and at once while the run waits for [feedback](crate::runner::RunIo::feedback).
    ///
    /// # Errors
    ///
    /// That of the system where it takes no handler or starts no thread.
    pub fn listen(leave: impl Fn() + Clone + Send + 'static) -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !Interrupt::is_ignored(*signal));
        let mut signals = Signals::new(wanted)?;
        let noted = interrupt.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if !noted.note(signal) {
                    noted.leave(leave.clone());
                }
            }
        })?;
        Ok(interrupt)
    }

    /// Returns whether this process ignores a signal, as far as the system tells.
    pub fn is_ignored(signal: i32) -> bool {
        system::is_ignored(signal)
    }

    /// Does what Ctrl-C does: the first call stops the run, the second one kills the command that is running.
    pub fn raise(&self) {
        self.note(SIGINT);
    }

    /// Notes a signal. At the second one, it kills the running command, and returns `false`.
    fn note(&self, signal: i32) -> bool {
        let is_first = self.0.first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        // A terminal that is closed sends several of these.
        if is_first || signal == SIGHUP {
            return true;
        }
        self.0.is_impatient.store(true, Ordering::SeqCst);
        if let Some(family) = *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) {
            // It is there as long as it is noted; else there is nothing to end.
            family.signal(Signal::KILL);
        }
        false
    }

    /// Ends the program: at once where somebody is asked, who does not want to answer, else when there was time to write
    /// down what the command said.
    fn leave(&self, leave: impl Fn() + Send + 'static) {
        if self.0.is_asking.load(Ordering::SeqCst) {
            leave();
        }
        let _ = thread::Builder::new().name("last".to_owned()).spawn(move || {
            thread::sleep(GRACE);
            leave();
        });
    }

    /// Returns whether somebody interrupted twice, who waits for nothing.
    pub(super) fn is_impatient(&self) -> bool {
        self.0.is_impatient.load(Ordering::SeqCst)
    }

    /// Asks something whose answer nobody need wait for: an interrupt meanwhile ends the program at once.
    pub(super) fn asking<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.0.is_asking.store(true, Ordering::SeqCst);
        let answer = ask();
        self.0.is_asking.store(false, Ordering::SeqCst);
        answer
    }

    /// Returns whether the run is to stop.
    pub fn is_raised(&self) -> bool {
        self.0.first.load(Ordering::SeqCst) != 0
    }

    /// Waits this long by the clock, or until the run should stop. Returns whether it should.
    pub fn wait(&self, duration: Duration) -> bool {
        let begun = SystemTime::now();
        while !self.is_raised() {
            let left = duration.saturating_sub(begun.elapsed().unwrap_or_default());
            if left.is_zero() {
                return false;
            }
            thread::sleep(left.min(POLL));
        }
        true
    }

    /// Returns whether somebody at a keyboard did it, who may have something to say.
    pub fn is_by_person(&self) -> bool {
        self.0.first.load(Ordering::SeqCst) == SIGINT
    }

    /// Starts a command, and notes it until the answer is dropped. That must be before
    /// the system may give its number to another one.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> Result<(T, ProcessFamily)>) -> Result<(T, RunningNote<'_>)> {
        // A signal waits for this, so that nothing is started that nobody would end.
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (started, family) = start()?;
        *running = Some(family);
        Ok((started, RunningNote(self)))
    }
}

impl Drop for RunningNote<'_> {
    fn drop(&mut self) {
        *self.0.0.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_noted_and_the_second_ends_it() {
        let interrupt = Interrupt::default();
        assert!(!interrupt.is_raised() && !interrupt.is_by_person());
        assert!(interrupt.note(SIGINT));
        assert!(interrupt.is_raised() && interrupt.is_by_person());
        assert!(interrupt.note(SIGHUP));
        assert!(!interrupt.note(SIGTERM) && !interrupt.note(SIGINT));
        assert!(interrupt.is_by_person());
        let other = Interrupt::default();
        assert!(other.clone().note(SIGHUP));
        assert!(other.is_raised() && !other.is_by_person());
        assert!(!other.note(SIGINT));
    }

    #[test]
    fn an_interrupt_ends_a_pause() {
        let interrupt = Interrupt::default();
        interrupt.wait(Duration::ZERO);
        interrupt.raise();
        interrupt.wait(Duration::MAX);
    }

    #[test]
    fn signals_are_heard() {
        // The only test that sends one: all of them share a process.
        let interrupt = Interrupt::listen(|| {}).unwrap();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        while !interrupt.is_raised() {
            thread::yield_now();
        }
        assert!(!interrupt.is_by_person());
    }
}
