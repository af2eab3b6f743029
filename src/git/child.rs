//! Runs another program to its end, with limits on its time and output.
//!
//! What the program reads may come from others, who could keep it busy forever or make it print endlessly.

use std::env;
use std::io::{self, Read, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::system::posix::process::{Pid, Signal, kill_process};

/// The limit of a program's standard error, in bytes.
const MAX_COMPLAINT: u64 = 4096;

/// What a program printed, and how it ended.
pub(crate) struct ChildOutput {
    /// Its exit status; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it printed, up to one byte over the limit.
    pub(crate) output: Vec<u8>,
    /// Whether it printed more than the limit.
    pub(crate) is_over: bool,
    /// Whether it was killed at the time limit.
    pub(crate) is_late: bool,
    /// Its standard error.
    pub(crate) complaint: String,
}

impl ChildOutput {
    /// Returns the line that explains a failure: the first line of standard error, or else the exit status.
    pub(crate) fn reason(&self) -> String {
        let line = self.complaint.lines().map(str::trim).find(|line| !line.is_empty());
        line.map_or_else(|| format!("exit status {}", self.code.unwrap_or(-1)), str::to_owned)
    }
}

/// Runs a program, with `input` as its standard input. It is killed once it has printed more than `limit` bytes, or at
/// the time limit. Relative folders in `PATH` are not searched for it.
///
/// # Errors
///
/// If it cannot be started, or its output cannot be read.
pub(crate) fn run(command: &mut Command, input: &[u8], limit: u64, time: Duration) -> io::Result<ChildOutput> {
    search_absolute(command);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pid = Pid::from_child(&child);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // Serve all pipes at once: a full pipe without a reader would block the program.
    let (output, complaint, is_late) = std::thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        let watch = scope.spawn(move || {
            let is_late = is_done.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if is_late {
                // Nothing has waited for the process yet, so the process id is still its own.
                let _ = kill_process(pid, Signal::KILL);
            }
            is_late
        });
        // Its standard error explains why it does not read its input.
        scope.spawn(|| stdin.map(|mut stdin| stdin.write_all(input)));
        let complaint = scope.spawn(|| drain(stderr, MAX_COMPLAINT));
        let output = stdout.map_or_else(|| Ok(Vec::new()), |stdout| read_up_to(stdout, limit + 1));
        if output.as_ref().map_or(true, |output| output.len() as u64 > limit) {
            // It may have ended by itself; either way it is no longer needed.
            let _ = child.kill();
        }
        let complaint = complaint.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        drop(done);
        (output, complaint, watch.join().unwrap_or_default())
    });
    let status = child.wait()?;
    let output = output?;
    let is_over = output.len() as u64 > limit;
    let complaint = String::from_utf8_lossy(&complaint).into_owned();
    Ok(ChildOutput { code: status.code(), output, is_over, is_late, complaint })
}

/// Removes relative folders from the search path of programs: they would be resolved in the work tree.
fn search_absolute(command: &mut Command) {
    let Some(path) = env::var_os("PATH") else { return };
    let absolute: Vec<_> = env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    match env::join_paths(&absolute) {
        Ok(_) if absolute.is_empty() => drop(command.env_remove("PATH")),
        Ok(kept) if kept != path => drop(command.env("PATH", kept)),
        // The parts contain no separators, because the text was split at them.
        Ok(_) | Err(_) => {}
    }
}

fn read_up_to(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads to the end and keeps the first `limit` bytes.
fn drain(from: Option<impl Read>, limit: u64) -> Vec<u8> {
    let Some(mut from) = from else { return Vec::new() };
    let kept = read_up_to(&mut from, limit).unwrap_or_default();
    // If the rest cannot be read, it is not needed.
    let _ = io::copy(&mut from, &mut io::sink());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any of these programs needs.
    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, limit: u64, time: Duration) -> ChildOutput {
        run(Command::new("sh").args(["-c", script]), b"input", limit, time).unwrap()
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_at_the_time_limit() {
        let ran = shell("echo first; exec sleep 1000", 100, Duration::from_millis(300));
        assert!(ran.is_late && !ran.is_over && ran.code.is_none());
    }

    #[test]
    fn a_program_that_prints_without_end_is_killed_at_the_limit() {
        let ran = shell("while :; do echo more; done", 1_000, LONG);
        assert!(ran.is_over && !ran.is_late && ran.output.len() == 1_001);
    }

    #[test]
    fn output_status_and_complaint_are_returned() {
        let ran = shell("cat; echo >&2; echo 'it is broken' >&2; exit 3", 5, LONG);
        assert_eq!((ran.output.as_slice(), ran.code, ran.is_over), (&b"input"[..], Some(3), false));
        assert_eq!(ran.reason(), "it is broken");
        assert_eq!(shell("exit 7", 5, LONG).reason(), "exit status 7");
    }
}
