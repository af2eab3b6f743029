//! A command and all processes that it started, for ending them.
//!
//! It knows process numbers, but not what the processes do. This is our own code because process-wrap signals a group
//! and cannot find a process that left it.

use std::collections::BTreeMap;

use crate::system::posix::process::{Pid, Signal, kill_process, kill_process_group};
use crate::system::{self, ProcessStat};

/// A command that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessFamily {
    /// The process group that it was started in.
    pub(super) group: Pid,
    /// The command itself, which may have made a group of its own: `timeout` does.
    pub(super) command: Pid,
}

impl ProcessFamily {
    /// Sends a signal to the group, and to what left it. The command must not have been waited for: its number would be
    /// free for another one.
    pub(super) fn signal(self, signal: Signal) {
        // Found first: children of one that is gone have another parent.
        let left = left(self.command, self.group, &system::processes());
        let _ = kill_process_group(self.group, signal);
        if left.is_empty() {
            // Where the system tells nothing of its processes, the command may still lead a group.
            let _ = (self.command != self.group).then(|| kill_process_group(self.command, signal));
        }
        for (pid, is_leader) in left {
            let _ = if is_leader { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        }
    }
}

/// Returns the command and those that it started, directly and through others, that are not in the group, and whether
/// each leads one. Of a group whose leader is among them, the leader alone is named.
fn left(command: Pid, group: Pid, processes: &BTreeMap<i32, ProcessStat>) -> Vec<(Pid, bool)> {
    let mut found = vec![command.as_raw_nonzero().get()];
    let mut at = 0;
    while at < found.len() {
        let children = processes.iter().filter(|(_, process)| process.parent == found[at]).map(|(pid, _)| *pid);
        let new: Vec<i32> = children.filter(|child| !found.contains(child)).collect();
        found.extend(new);
        at += 1;
    }
    let group_of = |pid: &i32| processes.get(pid).map(|process| process.group);
    let is_told = |pid: &&i32| {
        let own = group_of(pid);
        let of_leader = own.is_some_and(|own| own != **pid && found.contains(&own));
        own.is_some_and(|own| own != group.as_raw_nonzero().get()) && !of_leader
    };
    let all = found.iter().filter(is_told);
    all.filter_map(|pid| Some((Pid::from_raw(*pid)?, group_of(pid) == Some(*pid)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_left_the_group_is_found_by_its_parents() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let of = |all: &[(i32, i32, i32)]| -> Vec<(i32, bool)> {
            let all = all
                .iter()
                .map(|(pid, parent, group)| {
                    (*pid, ProcessStat { parent: *parent, group: *group, ..ProcessStat::default() })
                })
                .collect();
            left(pid(10), pid(9), &all).iter().map(|(pid, leads)| (pid.as_raw_nonzero().get(), *leads)).collect()
        };
        assert_eq!(of(&[(10, 1, 9), (11, 10, 9), (12, 1, 12)]), []);
        // `timeout` leads a group with what it runs.
        assert_eq!(of(&[(10, 1, 10), (11, 10, 10)]), [(10, true)]);
        // One further down, in a session of its own, with a child in a third group.
        assert_eq!(of(&[(10, 1, 9), (11, 10, 9), (12, 11, 12), (13, 12, 12), (14, 13, 14)]), [(12, true), (14, true)]);
        // One that joined a group of somebody else's is ended alone.
        assert_eq!(of(&[(10, 1, 9), (11, 10, 5)]), [(11, false)]);
    }
}
