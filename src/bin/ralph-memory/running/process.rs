//! Runs a command to its end, or to that of the run.
//!
//! Everything that happens arrives in one channel: what the command writes, that it closed an
//! output, that it exited. So nothing waits for anything in turn, and no amount of output blocks.
//! The command has a process group of its own, with which its children are ended; a process that
//! left the group is found by its parents (see [`Family`]). The group's leader is a [`Guard`], which ends
//! it when this process is killed.

use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ralph_memory::Error;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use super::family::Family;
use super::interrupt::Interrupt;
use crate::error::Usage;

/// How much of the standard output is kept: its end, in bytes.
const MAX_STDOUT: usize = 16 * 1024 * 1024;
/// How much of the error output is kept: its end, in bytes.
const MAX_STDERR: usize = 1024 * 1024;
/// How much of a line is shown while the command runs, in bytes.
const MAX_LINE: usize = 4096;
/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;
/// How many chunks wait to be looked at; then the command waits.
const MAX_WAITING: usize = 64;
/// How long an interrupt goes unnoticed at most.
const LOOK: Duration = Duration::from_millis(50);

/// How long is waited for what should end by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For the outputs of a command that has exited: a child of it may hold them open.
    pub(crate) outputs: Duration,
    /// For the command and its children after they were interrupted.
    pub(crate) interrupted: Duration,
    /// For the command itself; `None` where it may take as long as it likes.
    pub(crate) limit: Option<Duration>,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { outputs: Duration::from_secs(2), interrupted: Duration::from_secs(5), limit: None }
    }
}

/// A command that is to be run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    /// The program: a path, relative to `folder`, or a name that is looked up.
    pub(crate) program: &'a str,
    /// Its arguments.
    pub(crate) arguments: &'a [String],
    /// What it can read from its standard input; it need not.
    pub(crate) stdin: &'a [u8],
    /// Variables that it has beside those of this process.
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Where it works.
    pub(crate) folder: &'a Path,
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    /// What it wrote to its standard output.
    pub(crate) stdout: Captured,
    /// What it wrote to its error output.
    pub(crate) stderr: Captured,
    /// Its exit status, as a shell reports it: 128 and the signal that ended it.
    pub(crate) exit_code: i32,
    /// How long it took.
    pub(crate) duration: Duration,
    /// Whether it was ended by an interrupt.
    pub(crate) interrupted: bool,
    /// The time-out that ended it.
    pub(crate) timed_out: Option<Duration>,
}

/// The end of what a command wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Captured {
    /// What it says; bytes that are no UTF-8 are replaced.
    pub(crate) text: String,
    /// How many bytes before it were not kept.
    pub(crate) n_dropped: u64,
}

/// What is to be seen of a command while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen<'a> {
    /// It is this process.
    Started(u32),
    /// It wrote this to its standard output; its lines follow.
    Bytes(&'a [u8]),
    /// It wrote this line to its standard output.
    Line(&'a str),
    /// It wrote this to its error output; its lines follow.
    AsideBytes(&'a [u8]),
    /// It wrote this line to its error output.
    Aside(&'a str),
    /// It was interrupted, and gets time to end.
    Stopping,
    /// It took longer than it may, and gets time to end.
    TooLong,
}

/// One of the two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Standard,
    Error,
}

enum Event {
    Bytes(Output, Vec<u8>),
    Closed(Output),
    Exited,
}

/// Runs a command, and tells `see` of it meanwhile.
///
/// # Errors
///
/// [`Usage`] where there is no such program, or it is none; [`Error::Io`] where it cannot be run.
pub(crate) fn run(
    job: &Job<'_>,
    interrupt: &Interrupt,
    patience: Patience,
    see: &mut dyn FnMut(Seen<'_>),
) -> anyhow::Result<Ran> {
    let ((mut child, family, _guard, start), running) = interrupt.start(|| {
        // Without a shell there is none, and everything else goes on as it does with one.
        let mut guard = Guard::start().ok();
        let start = Instant::now();
        let child = spawn(job, guard.as_ref())?;
        let command = Pid::from_child(&child);
        if let Some(guard) = &mut guard {
            guard.watch(command);
        }
        let family = Family { group: guard.as_ref().map_or(command, Guard::group), command };
        Ok(((child, family, guard, start), family))
    })?;
    see(Seen::Started(child.id()));
    let events = listen(&mut child, job.stdin);
    let mut watched = Watched::new(family, interrupt, patience, start);
    while !watched.is_over() {
        match events.recv_timeout(LOOK) {
            Ok(Event::Bytes(Output::Standard, bytes)) => {
                see(Seen::Bytes(&bytes));
                watched.stdout.take(&bytes, &mut |line| see(Seen::Line(line)));
            }
            Ok(Event::Bytes(Output::Error, bytes)) => {
                see(Seen::AsideBytes(&bytes));
                watched.stderr.take(&bytes, &mut |line| see(Seen::Aside(line)));
            }
            Ok(Event::Closed(output)) => watched.output(output).is_closed = true,
            Ok(Event::Exited) => watched.exited = Some(Instant::now()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        if let Some(seen) = watched.look() {
            see(seen);
        }
    }
    if watched.ended.is_some() {
        // What is left of its children.
        family.signal(Signal::KILL);
    }
    // From here on another process may get its number.
    drop(running);
    let status = child.wait().map_err(|source| io_error(job, source))?;
    Ok(Ran {
        stdout: watched.stdout.captured(),
        stderr: watched.stderr.captured(),
        exit_code: exit_code(status),
        duration: start.elapsed(),
        interrupted: watched.ended.is_some() && !watched.is_too_long,
        timed_out: patience.limit.filter(|_| watched.is_too_long),
    })
}

/// The leader of a command's process group. It holds one end of a pipe, whose other end closes when this process is
/// gone, however it went, and then kills the group: the command and those of its children that stayed in it, and the
/// group that the command leads itself.
///
/// The kernel's own signal for this (`PR_SET_PDEATHSIG`) is known to Linux alone, does not reach children of the
/// command, and comes when the thread ends that started it.
struct Guard(Child);

impl Guard {
    /// Interrupts are for the command; this ends with everything else.
    const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r command; read -r _ || \
                          { kill -KILL \"-$command\" \"$command\"; kill -KILL 0; }";

    fn start() -> io::Result<Guard> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", Guard::SCRIPT]).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(Guard)
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Says which command it ends.
    fn watch(&mut self, command: Pid) {
        // One that is gone watches nothing.
        let _ = self.0.stdin.as_mut().map(|pipe| writeln!(pipe, "{}", command.as_raw_nonzero()));
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !thread::panicking() {
            // The guard alone, also where somebody stopped it and it reads nothing any more.
            let _ = self.0.kill();
        }
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn spawn(job: &Job<'_>, guard: Option<&Guard>) -> anyhow::Result<Child> {
    let mut command = Command::new(job.program);
    command.args(job.arguments).envs(job.environment.iter().copied()).current_dir(job.folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(guard.map_or(0, |guard| guard.group().as_raw_nonzero().get()));
    command.spawn().map_err(|source| {
        let program = job.program;
        let refuse = |message: String, hint: &str| Usage { message, hint: hint.to_owned() }.into();
        match source.kind() {
            io::ErrorKind::NotFound if program.contains('/') && job.folder.join(program).exists() => refuse(
                format!("`{program}` cannot be run: there is no program where its first line says"),
                "correct the line that begins with `#!`",
            ),
            io::ErrorKind::NotFound if job.folder.is_dir() => refuse(
                format!("there is no command `{program}`"),
                "install it, or write where it is: a path with a `/` in it begins in the project's folder",
            ),
            io::ErrorKind::PermissionDenied => refuse(
                format!("`{program}` cannot be run: it is not executable"),
                "`chmod +x` makes a script executable",
            ),
            _ if Errno::from_io_error(&source) == Some(Errno::NOEXEC) => refuse(
                format!("`{program}` cannot be run: it is neither a program nor a script"),
                "let a script begin with a line like `#!/bin/sh`, or name what runs it: `sh script`",
            ),
            _ => io_error(job, source).into(),
        }
    })
}

fn io_error(job: &Job<'_>, source: io::Error) -> Error {
    Error::Io { action: "run", path: job.program.into(), source }
}

/// Lets threads follow the command. They end with it; one that a child of it holds up drops what
/// still comes, so that this child is not held up in turn.
fn listen(child: &mut Child, stdin: &[u8]) -> Receiver<Event> {
    let pid = Pid::from_child(child);
    let (sender, events) = sync_channel(MAX_WAITING);
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = stdin.to_owned();
        // Whether it reads is its own business.
        thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
    if let Some(pipe) = child.stdout.take() {
        let sender = sender.clone();
        thread::spawn(move || read(pipe, Output::Standard, &sender));
    }
    if let Some(pipe) = child.stderr.take() {
        let sender = sender.clone();
        thread::spawn(move || read(pipe, Output::Error, &sender));
    }
    thread::spawn(move || {
        // It stays a zombie, and its number its own, until it is waited for in the end.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), options).err() == Some(Errno::INTR) {}
        // This also keeps the channel open: a closed one would make its receiver spin.
        let _ = sender.send(Event::Exited);
    });
    events
}

fn read(mut pipe: impl Read, output: Output, sender: &SyncSender<Event>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(n_read) => {
                if sender.send(Event::Bytes(output, buffer[..n_read].to_owned())).is_err() {
                    let _ = io::copy(&mut pipe, &mut io::sink());
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = sender.send(Event::Closed(output));
}

/// A command while it runs.
struct Watched<'a> {
    family: Family,
    interrupt: &'a Interrupt,
    patience: Patience,
    start: Instant,
    stdout: Collected,
    stderr: Collected,
    exited: Option<Instant>,
    /// When it was asked to end.
    ended: Option<Instant>,
    /// Whether that was since it took too long.
    is_too_long: bool,
    is_killed: bool,
}

impl<'a> Watched<'a> {
    fn new(family: Family, interrupt: &'a Interrupt, patience: Patience, start: Instant) -> Watched<'a> {
        let (stdout, stderr) = (Collected::new(MAX_STDOUT), Collected::new(MAX_STDERR));
        let (exited, ended) = (None, None);
        let (is_too_long, is_killed) = (false, false);
        Watched { family, interrupt, patience, start, stdout, stderr, exited, ended, is_too_long, is_killed }
    }

    fn output(&mut self, output: Output) -> &mut Collected {
        match output {
            Output::Standard => &mut self.stdout,
            Output::Error => &mut self.stderr,
        }
    }

    /// Ends the command where the run is to stop, or it took too long: first asks, later does not. Returns what is to be
    /// seen of it where it asked now.
    fn look(&mut self) -> Option<Seen<'static>> {
        // One that has exited took no longer than that, whatever its children do.
        let is_late = self.exited.is_none() && self.patience.limit.is_some_and(|limit| self.start.elapsed() >= limit);
        match self.ended {
            None if self.interrupt.is_raised() || is_late => {
                self.ended = Some(Instant::now());
                self.is_too_long = !self.interrupt.is_raised();
                // Where nobody is at a keyboard, commands are often started to ignore the first of these.
                let signal = if self.interrupt.is_by_person() { Signal::INT } else { Signal::TERM };
                self.family.signal(signal);
                Some(if self.is_too_long { Seen::TooLong } else { Seen::Stopping })
            }
            Some(since)
                if !self.is_killed
                    && (since.elapsed() >= self.patience.interrupted || self.interrupt.is_impatient()) =>
            {
                self.is_killed = true;
                self.family.signal(Signal::KILL);
                None
            }
            _ => None,
        }
    }

    /// Returns whether nothing more is to come, or to be waited for.
    fn is_over(&self) -> bool {
        let Some(exited) = self.exited else { return false };
        // Children that hold an output open may be cleaning up, for which they have as long.
        let patience = match self.ended {
            Some(since) if !self.is_killed => self.patience.interrupted.saturating_sub(since.elapsed()),
            _ => self.patience.outputs.saturating_sub(exited.elapsed()),
        };
        (self.stdout.is_closed && self.stderr.is_closed) || patience.is_zero()
    }
}

/// What is kept of an output.
struct Collected {
    bytes: Vec<u8>,
    limit: usize,
    n_dropped: u64,
    begins_with_line: bool,
    /// The line that is not complete yet, or as much of it as is shown.
    line: Vec<u8>,
    is_closed: bool,
}

impl Collected {
    fn new(limit: usize) -> Collected {
        Collected { bytes: Vec::new(), limit, n_dropped: 0, begins_with_line: true, line: Vec::new(), is_closed: false }
    }

    fn take(&mut self, bytes: &[u8], see: &mut dyn FnMut(&str)) {
        self.bytes.extend_from_slice(bytes);
        // Seldom, since it moves all that is kept.
        if self.bytes.len() >= self.limit * 2 {
            self.cut(self.bytes.len() - self.limit);
        }
        for part in bytes.split_inclusive(|byte| is_line_end(*byte)) {
            let is_complete = part.last().is_some_and(|byte| is_line_end(*byte));
            let part = if is_complete { &part[..part.len() - 1] } else { part };
            let room = MAX_LINE - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if is_complete {
                if !self.line.is_empty() {
                    see(&String::from_utf8_lossy(&self.line));
                }
                self.line.clear();
            }
        }
    }

    fn cut(&mut self, n_bytes: usize) {
        if let Some(last) = self.bytes[..n_bytes].last() {
            self.begins_with_line = *last == b'\n';
        }
        self.bytes.drain(..n_bytes);
        self.n_dropped += n_bytes as u64;
    }

    /// Returns what is kept. It begins with a line, where one begins in the first half of it.
    fn captured(mut self) -> Captured {
        self.cut(self.bytes.len().saturating_sub(self.limit));
        if !self.begins_with_line {
            let half = &self.bytes[..self.bytes.len() / 2];
            let line = half.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            self.cut(line);
        }
        Captured { text: String::from_utf8_lossy(&self.bytes).into_owned(), n_dropped: self.n_dropped }
    }
}

/// A bare `\r` is how a line is written over, which for a viewer is another line.
fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::error;

    /// Short where something is held open, long where an interrupt must be enough.
    const SHORT: Patience =
        Patience { outputs: Duration::from_millis(20), interrupted: Duration::from_millis(20), limit: None };
    const LONG: Patience =
        Patience { outputs: Duration::from_secs(60), interrupted: Duration::from_secs(60), limit: None };

    fn job<'a>(arguments: &'a [String], stdin: &'a [u8]) -> Job<'a> {
        Job { program: "sh", arguments, stdin, environment: &[("RALPH_MODEL", "a model")], folder: Path::new("/") }
    }

    fn shell(script: &str) -> [String; 2] {
        ["-c".to_owned(), script.to_owned()]
    }

    fn finish(script: &str, stdin: &[u8]) -> Ran {
        run(&job(&shell(script), stdin), &Interrupt::default(), LONG, &mut |_| {}).unwrap()
    }

    fn told(seen: Seen<'_>) -> Option<String> {
        match seen {
            Seen::Bytes(_) | Seen::AsideBytes(_) | Seen::Started(_) => None,
            Seen::Line(line) | Seen::Aside(line) => Some(line.to_owned()),
            Seen::Stopping => Some("(stopping)".to_owned()),
            Seen::TooLong => Some("(too long)".to_owned()),
        }
    }

    /// Runs a script and interrupts it at its first line.
    fn interrupt(script: &str, patience: Patience) -> (Ran, Vec<String>) {
        // Tests that run in the background of a script ignore the signal, and a shell cannot trap what it
        // was started to ignore. What has a handler here is no longer ignored there.
        let ends = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, ends).unwrap();
        let interrupt = Interrupt::default();
        let mut lines = Vec::new();
        let ran = run(&job(&shell(script), b""), &interrupt, patience, &mut |seen| {
            let Some(line) = told(seen) else { return };
            lines.push(line);
            if !interrupt.is_raised() {
                interrupt.raise();
            }
        });
        (ran.unwrap(), lines)
    }

    /// Returns whether a process is still running; one that nobody waited for is not.
    fn is_running(pid: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    }

    #[track_caller]
    fn check_gone(pid: &str) {
        assert!(pid.parse::<u32>().is_ok(), "{pid}");
        let start = Instant::now();
        // It was sent the signal, and the system may take its time.
        while is_running(pid) {
            assert!(start.elapsed() < Duration::from_secs(60), "{pid} is still running");
            thread::yield_now();
        }
    }

    #[test]
    fn a_command_gets_its_input_environment_and_folder() {
        let ran = finish("cat; echo \"$RALPH_MODEL\" >&2; pwd >&2; exit 3", "é\n".as_bytes());
        assert_eq!((ran.stdout.text.as_str(), ran.stderr.text.as_str()), ("é\n", "a model\n/\n"));
        assert_eq!((ran.exit_code, ran.interrupted, ran.stdout.n_dropped), (3, false, 0));
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        let check = |script: &str, expected| assert_eq!(finish(script, b"").exit_code, expected, "{script}");
        check("true", 0);
        check("exit 255", 255);
        check("kill -TERM $$", 143);
        check("kill -KILL $$", 137);
    }

    #[test]
    fn input_that_nobody_reads_is_no_failure() {
        let much = vec![b'x'; 1 << 20];
        assert_eq!(finish("exec true", &much).exit_code, 0);
        assert_eq!(finish("exec <&-; exit 0", &much).exit_code, 0);
        assert_eq!(finish("head -c 3", &much).stdout.text, "xxx");
    }

    #[test]
    fn much_in_and_out_blocks_nothing() {
        let much: Vec<u8> = b"0123456789abcde\n".iter().copied().cycle().take(1 << 20).collect();
        let ran = finish("tee /dev/stderr", &much);
        assert_eq!(ran.stdout.text.len(), much.len());
        assert_eq!((ran.stderr.text.len(), ran.stderr.n_dropped), (much.len(), 0));
    }

    #[test]
    fn of_too_much_the_end_is_kept() {
        #[track_caller]
        fn check(parts: &[&str], limit: usize, text: &str, n_dropped: u64) {
            let mut collected = Collected::new(limit);
            for part in parts {
                collected.take(part.as_bytes(), &mut |_| {});
            }
            assert_eq!(collected.captured(), Captured { text: text.to_owned(), n_dropped });
        }
        check(&["abc\n"], 4, "abc\n", 0);
        check(&["abc\nd"], 4, "bc\nd", 1);
        check(&["abc\n", "de\n"], 3, "de\n", 4);
        check(&["abc\n", "d\ne\nf\n"], 8, "d\ne\nf\n", 4);
        check(&["0123456789", "0123456789", "x\nabcdef"], 8, "abcdef", 22);
        check(&["é", "éé"], 3, "\u{fffd}é", 3);
        check(&[], 4, "", 0);
        let ran = finish("yes 0123456 | head -c 1048592 >&2", b"");
        assert_eq!((ran.stderr.text.len(), ran.stderr.n_dropped), (MAX_STDERR, 16));
        assert!(ran.stderr.text.starts_with("0123456\n") && ran.stderr.text.ends_with("0123456\n"));
    }

    #[test]
    fn lines_are_offered_when_they_are_complete() {
        #[track_caller]
        fn check(parts: &[&str], expected: &[&str]) {
            let (mut collected, mut lines) = (Collected::new(100), Vec::new());
            for part in parts {
                collected.take(part.as_bytes(), &mut |line| lines.push(line.to_owned()));
            }
            assert_eq!(lines, expected);
        }
        check(&["a\nb", "c\n", "d"], &["a", "bc"]);
        check(&["a\r\nb\r", "c\n\n"], &["a", "b", "c"]);
        check(&[&"x".repeat(MAX_LINE + 9), "y\nz\n"], &[&"x".repeat(MAX_LINE), "z"]);
        let mut seen = Vec::new();
        let script = shell("echo out; echo err >&2");
        run(&job(&script, b""), &Interrupt::default(), LONG, &mut |line| seen.extend(told(line))).unwrap();
        seen.sort();
        assert_eq!(seen, ["err", "out"]);
    }

    #[test]
    fn an_interrupt_ends_a_command_and_its_children() {
        let (ran, lines) = interrupt("trap 'echo bye; exit 7' INT; sleep 1000 & echo $!; wait", SHORT);
        assert!(ran.interrupted);
        check_gone(&lines[0]);
        let (ran, lines) = interrupt("sh -c 'trap \"\" INT; echo $$; while :; do sleep 1000; done'; :", SHORT);
        assert!(ran.interrupted);
        check_gone(&lines[0]);
        // It ends, its child does not, and holds nothing open by which that could be seen.
        let script = "sleep 1000 > /dev/null 2>&1 & echo $!; trap 'exit 0' INT; while :; do sleep 0.01; done";
        let (ran, lines) = interrupt(script, LONG);
        assert!(ran.duration < LONG.interrupted);
        check_gone(&lines[0]);
    }

    #[test]
    fn a_command_may_end_itself_when_it_is_interrupted() {
        let (ran, lines) = interrupt("trap 'echo bye; exit 7' INT; echo ready; while :; do sleep 0.01; done", LONG);
        assert_eq!(lines, ["ready", "(stopping)", "bye"]);
        assert_eq!((ran.exit_code, ran.stdout.text.as_str()), (7, "ready\nbye\n"));
        assert!(ran.interrupted && ran.duration < LONG.interrupted);
        let (ran, _) = interrupt("echo ready; exec sleep 1000", LONG);
        assert_eq!(ran.exit_code, 130);
    }

    #[test]
    fn what_ignores_an_interrupt_is_killed() {
        let (ran, _) = interrupt("trap '' INT; echo ready; while :; do sleep 1000; done", SHORT);
        assert_eq!((ran.exit_code, ran.interrupted), (137, true));
    }

    #[test]
    fn what_takes_too_long_ends_with_its_children() {
        let limit = Some(Duration::from_millis(300));
        let timed = |script: &str, patience: Patience| {
            let mut lines = Vec::new();
            let patience = Patience { limit, ..patience };
            let ran = run(&job(&shell(script), b""), &Interrupt::default(), patience, &mut |seen| {
                lines.extend(told(seen));
            });
            (ran.unwrap(), lines)
        };
        let (ran, lines) = timed("sleep 1000 & echo $!; exec sleep 1000", LONG);
        assert_eq!((ran.exit_code, ran.interrupted, ran.timed_out), (143, false, limit));
        assert_eq!(lines[1..], ["(too long)"]);
        check_gone(&lines[0]);
        // It may say something yet, and what ignores it is killed.
        let (ran, _) = timed("trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done", LONG);
        assert_eq!((ran.exit_code, ran.stdout.text.as_str(), ran.timed_out), (0, "bye\n", limit));
        let (ran, _) = timed("trap '' TERM; while :; do sleep 1000; done", SHORT);
        assert_eq!((ran.exit_code, ran.timed_out), (137, limit));
        // One that exits in time is not late for what its children do.
        let outputs = Duration::from_millis(600);
        let (ran, lines) = timed("sleep 1000 & echo $!", Patience { outputs, ..LONG });
        assert_eq!((ran.exit_code, ran.timed_out), (0, None));
        assert!(is_running(&lines[0]));
        let pid = Pid::from_raw(lines[0].parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[test]
    fn a_second_interrupt_kills_at_once() {
        let interrupt = Interrupt::default();
        let script = shell("trap '' INT; echo ready; while :; do sleep 1000; done");
        let ran = run(&job(&script, b""), &interrupt, LONG, &mut |_| {
            interrupt.raise();
            interrupt.raise();
        });
        assert_eq!(ran.unwrap().exit_code, 137);
    }

    #[test]
    fn children_that_hold_an_output_open_are_not_waited_for() {
        let mut lines = Vec::new();
        let script = shell("sleep 1000 & echo $!");
        let ran = run(&job(&script, b""), &Interrupt::default(), SHORT, &mut |seen| lines.extend(told(seen)));
        let ran = ran.unwrap();
        assert_eq!((ran.exit_code, ran.interrupted), (0, false));
        assert_eq!(ran.stdout.text.trim_end(), lines[0]);
        // Nobody stopped the run, so it is left alone.
        assert!(is_running(&lines[0]));
        let pid = Pid::from_raw(lines[0].parse().unwrap()).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8], mode: u32| {
            fs::write(folder.path().join(name), text).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        write("plain", b"#!/bin/sh\n", 0o644);
        write("nothing", b"\x01\x02\x03", 0o755);
        write("lost", b"#!/no/such/program\n", 0o755);
        write("good", b"#!/bin/sh\nexit 4\n", 0o755);
        let start = |program: &str, folder: &Path| {
            let job = Job { program, arguments: &[], stdin: b"", environment: &[], folder };
            run(&job, &Interrupt::default(), LONG, &mut |_| {}).map(|ran| ran.exit_code)
        };
        let check = |program: &str, message: &str, hint: &str| {
            let report = error::report(&start(program, folder.path()).unwrap_err());
            assert!(report.message.contains(message) && report.message.contains(program), "{}", report.message);
            assert!(report.hint.unwrap().contains(hint));
            assert_eq!(report.exit_code, 2);
        };
        check("no-such-command-anywhere", "there is no command", "install it");
        check("./absent", "there is no command", "write where it is");
        check("./plain", "not executable", "chmod +x");
        check("./nothing", "neither a program nor a script", "#!/bin/sh");
        check("./lost", "no program where its first line says", "#!");
        assert_eq!(start("./good", folder.path()).unwrap(), 4);
        let report = error::report(&start("sh", &folder.path().join("absent")).unwrap_err());
        assert_eq!((report.message.as_str(), report.exit_code), ("cannot run `sh`", 6));
    }
}
