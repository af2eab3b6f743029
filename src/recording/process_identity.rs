//! Which process works on an attempt, and whether it is still running.
//!
//! The start time distinguishes a process from later ones with the same number.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::system;

/// A process, distinguished from others that get its number later.
///
/// ```
/// use ralph_memory::memory::ProcessIdentity;
/// if let Some(this) = ProcessIdentity::this_process() {
///     assert_eq!(this.pid(), std::process::id());
///     assert_eq!(ProcessIdentity::of(std::process::id()), Some(this));
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pid: u32,
    /// When it was started, in the system's ticks since the machine was.
    started: u64,
    /// A hash of the place in which process numbers have the same meaning: a container has its own.
    #[serde(default)]
    place: Option<u64>,
}

impl ProcessIdentity {
    /// Returns this process; `None` if the system has no such data.
    pub fn this_process() -> Option<ProcessIdentity> {
        ProcessIdentity::of(std::process::id())
    }

    /// Returns the process with this number; `None` if there is none, or the system has no such data.
    pub fn of(pid: u32) -> Option<ProcessIdentity> {
        Some(ProcessIdentity { pid, started: system::started(pid)?, place: place() })
    }

    /// Returns whether a process can have this number.
    pub(crate) fn is_possible(&self) -> bool {
        (1..=i32::MAX.unsigned_abs()).contains(&self.pid)
    }

    /// Returns its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns whether the process would be visible from here if it were running, that is, neither in another container
    /// nor on another machine.
    pub(crate) fn is_visible(&self) -> bool {
        self.place.is_none() || self.place == place()
    }

    /// Returns whether it still runs, where it can be seen.
    pub(crate) fn is_alive(&self) -> bool {
        self.is_visible() && system::started(self.pid) == Some(self.started)
    }
}

/// Returns a hash of the place in which process numbers have the same meaning.
fn place() -> Option<u64> {
    Some(xxh3_64(system::process_place()?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "portable"))]
    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        let own = ProcessIdentity::this_process().unwrap();
        assert!(own.is_alive());
        // Another process with its number.
        assert!(!ProcessIdentity { started: own.started + 1, ..own.clone() }.is_alive());
        // One of a container may have its number and its time.
        let elsewhere = ProcessIdentity { place: own.place.map(|place| place ^ 1), ..own.clone() };
        assert!(own.is_visible() && !elsewhere.is_visible() && !elsewhere.is_alive());
        assert!(ProcessIdentity { place: None, ..own }.is_alive(), "written by an earlier version");
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let process = ProcessIdentity::of(child.id()).unwrap();
        assert!(process.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_alive());
    }
}
