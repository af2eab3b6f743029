//! What Ctrl-C and its like do to a run.
//!
//! The first one is noted, and whoever does something long looks at it. The second one kills the
//! command that is running, which has a process group of its own, so that the terminal does not end it. What
//! the command said is still written down, if that takes no longer than [`GRACE`]; then the program ends.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::family::Family;
use crate::activity;
use crate::error::Exit;

/// How long the program goes on after the second signal.
const GRACE: Duration = Duration::from_secs(2);

/// Whether a run was told to stop, and by whom. Copies of it mean the same run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The first signal that came; 0 where none did.
    first: AtomicI32,
    /// Whether another one came.
    is_impatient: AtomicBool,
    /// Whether nothing is left to be written down: somebody is asked something.
    is_asking: AtomicBool,
    /// The command that is running.
    running: Mutex<Option<Family>>,
}

/// A command is running as long as this lives.
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Interrupt);

impl Interrupt {
    /// Returns one that SIGINT, SIGTERM and SIGHUP raise. A signal that this process was started to
    /// ignore, by `nohup` for instance, stays ignored.
    pub(crate) fn listen() -> io::Result<Interrupt> {
        activity::leave_signals();
        let interrupt = Interrupt::default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(&status, *signal));
        let mut signals = Signals::new(wanted)?;
        let noted = interrupt.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if !noted.note(signal) {
                    noted.leave();
                }
            }
        })?;
        Ok(interrupt)
    }

    /// Takes note of a signal. At the second one it kills what is running, and returns `false`.
    fn note(&self, signal: i32) -> bool {
        let is_first = self.0.first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if is_first {
            return true;
        }
        if signal == SIGHUP {
            // A terminal that is closed sends several of them.
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
    fn leave(&self) {
        let end = || {
            activity::close();
            std::process::exit(Exit::Interrupted as i32)
        };
        if self.0.is_asking.load(Ordering::SeqCst) {
            end();
        }
        let _ = thread::Builder::new().name("last".to_owned()).spawn(move || {
            thread::sleep(GRACE);
            end();
        });
    }

    /// Returns whether somebody interrupted twice, who waits for nothing.
    pub(crate) fn is_impatient(&self) -> bool {
        self.0.is_impatient.load(Ordering::SeqCst)
    }

    /// Asks something whose answer nobody need wait for: an interrupt meanwhile ends the program at once.
    pub(crate) fn asking<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.0.is_asking.store(true, Ordering::SeqCst);
        let answer = ask();
        self.0.is_asking.store(false, Ordering::SeqCst);
        answer
    }

    /// Returns whether the run is to stop.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.first.load(Ordering::SeqCst) != 0
    }

    /// Returns whether somebody at a keyboard did it, who may have something to say.
    pub(crate) fn is_by_person(&self) -> bool {
        self.0.first.load(Ordering::SeqCst) == SIGINT
    }

    /// Starts a command, and notes it until the answer is dropped. That must be before
    /// the system may give its number to another one.
    pub(crate) fn start<T>(
        &self,
        start: impl FnOnce() -> anyhow::Result<(T, Family)>,
    ) -> anyhow::Result<(T, Running<'_>)> {
        // A signal waits for this, so that nothing is started that nobody would end.
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (started, family) = start()?;
        *running = Some(family);
        Ok((started, Running(self)))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.0.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns whether a process ignores a signal, by what the system says of it; not where it says nothing.
pub(crate) fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
impl Interrupt {
    /// Does what a signal does.
    pub(crate) fn raise(&self) {
        self.note(SIGINT);
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
    fn signals_are_heard() {
        // The only test that sends one: all of them share a process.
        let interrupt = Interrupt::listen().unwrap();
        signal_hook::low_level::raise(SIGTERM).unwrap();
        while !interrupt.is_raised() {
            thread::yield_now();
        }
        assert!(!interrupt.is_by_person());
    }

    #[test]
    fn ignored_signals_stay_ignored() {
        let check = |status: &str, signal, expected: bool| assert_eq!(is_ignored(status, signal), expected, "{status}");
        check("Name:\tx\nSigIgn:\t0000000000000001\n", SIGHUP, true);
        check("SigIgn:\t0000000000000001\n", SIGINT, false);
        check("SigIgn:\t0000000000004002\n", SIGINT, true);
        check("SigIgn:\t0000000000004002\n", SIGTERM, true);
        check("SigBlk:\t0000000000000001\nSigIgn:\t0\n", SIGHUP, false);
        check("", SIGHUP, false);
        check("SigIgn:\tzz\n", SIGHUP, false);
    }
}
