//! Ends a command when this process is killed.
//!
//! It knows only the number of the command's process. A group with a guard never outlives this process, however this
//! process ends.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::system::posix::CommandExt as _;
use crate::system::posix::process::Pid;

/// The leader of a command's process group. It holds one end of a pipe. When this process is gone, for whatever reason,
/// the other end closes, and the guard kills the group: the command and those of its children that stayed in it, and
/// the group that the command leads itself.
///
/// The kernel's own signal for this (`PR_SET_PDEATHSIG`) is known to Linux alone, does not reach children of the
/// command, and comes when the thread ends that started it.
pub(super) struct GroupGuard(Child);

impl GroupGuard {
    /// Interrupts are for the command; this ends with everything else.
    const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r command; read -r _ || \
                          { kill -KILL \"-$command\" \"$command\"; kill -KILL 0; }";

    pub(super) fn start() -> io::Result<GroupGuard> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GroupGuard::SCRIPT]).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(GroupGuard)
    }

    pub(super) fn group(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Says which command it ends.
    pub(super) fn watch(&mut self, command: Pid) {
        // A guard that has ended watches nothing.
        let _ = self.0.stdin.as_mut().map(|pipe| writeln!(pipe, "{}", command.as_raw_nonzero()));
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        if !thread::panicking() {
            // Only the guard, even if somebody stopped it and it no longer reads anything.
            let _ = self.0.kill();
        }
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
