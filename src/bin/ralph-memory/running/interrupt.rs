//! What Ctrl-C and its like do to a run.
//!
//! The first one is noted, and whoever does something long looks at it. The second one ends the
//! program at once, and takes the command with it that is running: that one has a process group of
//! its own, so that the terminal does not end it.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::Exit;

/// Whether a run was told to stop, and by whom. Copies of it mean the same run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// The first signal that came; 0 where none did.
    first: AtomicI32,
    /// The process group of the command that is running.
    running: Mutex<Option<Pid>>,
}

/// A command is running as long as this lives.
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Interrupt);

impl Interrupt {
    /// Returns one that SIGINT, SIGTERM and SIGHUP raise. A signal that this process was started to
    /// ignore, by `nohup` for instance, stays ignored.
    pub(crate) fn listen() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(&status, *signal));
        let mut signals = Signals::new(wanted)?;
        let noted = interrupt.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if !noted.note(signal) {
                    // Whoever interrupts twice waits for nothing.
                    std::process::exit(Exit::Interrupted as i32);
                }
            }
        })?;
        Ok(interrupt)
    }

    /// Takes note of a signal. At the second one it ends what is running, and returns `false`.
    fn note(&self, signal: i32) -> bool {
        let is_first = self.0.first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if is_first {
            return true;
        }
        if signal == SIGHUP {
            // A terminal that is closed sends several of them.
            return true;
        }
        if let Some(group) = *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) {
            // It is there as long as it is noted; else there is nothing to end.
            let _ = kill_process_group(group, Signal::KILL);
        }
        false
    }

    /// Returns whether the run is to stop.
    pub(crate) fn is_raised(&self) -> bool {
        self.0.first.load(Ordering::SeqCst) != 0
    }

    /// Returns whether somebody at a keyboard did it, who may have something to say.
    pub(crate) fn is_by_person(&self) -> bool {
        self.0.first.load(Ordering::SeqCst) == SIGINT
    }

    /// Starts a command, and notes its process group until the answer is dropped. That must be before
    /// the system may give its number to another one.
    pub(crate) fn start<T>(
        &self,
        start: impl FnOnce() -> anyhow::Result<(T, Pid)>,
    ) -> anyhow::Result<(T, Running<'_>)> {
        // A signal waits for this, so that nothing is started that nobody would end.
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (started, group) = start()?;
        *running = Some(group);
        Ok((started, Running(self)))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.0.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns whether a process ignores a signal, by what the system says of it; not where it says nothing.
fn is_ignored(status: &str, signal: i32) -> bool {
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
