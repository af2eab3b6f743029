//! Whether the process that began an iteration is still at work on it.

use std::fs;

use serde::{Deserialize, Serialize};

/// A process, told from others that get its number later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pid: u32,
    /// When it was started, in the system's ticks since the machine was.
    started: u64,
}

impl Holder {
    /// Returns this process; `None` where the system says nothing of processes.
    pub fn this_process() -> Option<Holder> {
        Holder::of(std::process::id())
    }

    /// Returns the process with this number; `None` where there is none, or the system says nothing of processes.
    pub fn of(pid: u32) -> Option<Holder> {
        Some(Holder { pid, started: started(pid)? })
    }

    /// Returns whether a process can have this number.
    pub(super) fn is_possible(&self) -> bool {
        (1..=i32::MAX.unsigned_abs()).contains(&self.pid)
    }

    /// Returns its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns whether it is still there.
    pub(super) fn is_alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }
}

/// Returns when a process was started, as Linux tells it (`proc(5)`, the 22nd field of `stat`).
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses, which may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_whitespace();
    // One that has ended and was not waited for is no longer at work.
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_until_it_has_ended() {
        let own = Holder::this_process().unwrap();
        assert!(own.is_alive());
        // Another one that has its number by now.
        assert!(!Holder { started: own.started + 1, ..own }.is_alive());
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let holder = Holder::of(child.id()).unwrap();
        assert!(holder.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!holder.is_alive());
    }
}
