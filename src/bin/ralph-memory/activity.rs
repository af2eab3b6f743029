//! The line on a terminal that shows what a command is doing, once it takes longer than half a second.
//!
//! indicatif draws the line and erases it. A thread of its own draws, because a terminal may be paused, and the work, which
//! may have locked entries, must not wait for it.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget};
use ralph_memory::memory::{Activity, Step, Work};
use ralph_memory::runner::Interrupt;
use ralph_memory::text::duration;

use crate::exit::Exit;

/// How long a command may run before the line appears.
const DELAY: Duration = Duration::from_millis(500);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(100);

static WAIT: Mutex<Wait> = Mutex::new(Wait { open: Vec::new(), since: None, is_closed: false });
/// The line, while it is shown. A thread that holds this may lock [`WAIT`], never the other way round.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// What the user waits for.
struct Wait {
    /// The work that is not over. Each item lies within the one before it.
    open: Vec<OpenWork>,
    /// When the first work began.
    since: Option<Instant>,
    /// Whether nothing may be shown any more.
    is_closed: bool,
}

#[derive(Debug)]
struct OpenWork {
    work: Work,
    done: usize,
    total: Option<usize>,
    begun: Instant,
}

/// Returns whether a terminal can redraw a line: it cannot if `TERM` is not set or is `dumb`.
pub(crate) fn is_terminal() -> bool {
    !ProgressDrawTarget::stderr().is_hidden()
}

/// Receives what the memory is doing.
pub(crate) fn observe(activity: Activity) {
    let Activity { work, step, done, total } = activity;
    let mut wait = lock(&WAIT);
    let last = wait.open.iter().rposition(|open| open.work == work);
    match (step, last) {
        (Step::Began, _) => {
            let begun = Instant::now();
            wait.open.push(OpenWork { work, done, total, begun });
            if wait.since.is_none() {
                wait.since = Some(begun);
                let _ = thread::Builder::new().name("activity".to_owned()).spawn(draw);
            }
        }
        (Step::Advanced, Some(at)) => (wait.open[at].done, wait.open[at].total) = (done, total),
        (Step::Ended, Some(at)) => drop(wait.open.remove(at)),
        (_, None) => {}
    }
}

/// Erases the line for good: the command writes from now on as it goes, or has a line of its own.
pub(crate) fn close() {
    lock(&WAIT).is_closed = true;
    erase();
}

/// Returns the flag that SIGINT, SIGTERM and SIGHUP raise from here on, instead of ending the program at once.
pub(crate) fn interrupt() -> io::Result<Interrupt> {
    Interrupt::listen(|| {
        #[expect(clippy::exit, reason = "the other threads may wait forever")]
        std::process::exit(Exit::Interrupted as i32)
    })
}

/// An output that erases the line before anything else is written.
pub(crate) struct Erasing<W>(pub(crate) W);

impl<W: Write> Write for Erasing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        erase();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Erases the line, which may appear again.
fn erase() {
    if let Some(line) = lock(&LINE).take() {
        line.finish_and_clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws and erases the line.
fn draw() {
    loop {
        thread::sleep(TICK);
        let mut line = lock(&LINE);
        let (text, is_closed) = {
            let wait = lock(&WAIT);
            (wait.text(Instant::now()), wait.is_closed)
        };
        if is_closed {
            return;
        }
        if let Some(text) = text {
            let line = line.get_or_insert_with(ProgressBar::new_spinner);
            line.set_message(text);
            line.tick();
        } else {
            drop(line);
            erase();
        }
    }
}

impl Wait {
    /// Returns the text of the line.
    fn text(&self, now: Instant) -> Option<String> {
        self.since.filter(|since| now.saturating_duration_since(*since) >= DELAY)?;
        let OpenWork { work, done, total, begun } = self.open.last()?;
        let (what, noun) = words(*work);
        Some(match total.filter(|total| *total > 0 && !noun.is_empty()) {
            Some(total) => format!("{what} {} of {} {noun}", grouped(*done.min(&total)), grouped(total)),
            None => {
                format!("{} · {}", format!("{what} {noun}").trim_end(), duration(now.saturating_duration_since(*begun)))
            }
        })
    }
}

/// Returns the name of some work, and the name of what it counts.
fn words(work: Work) -> (&'static str, &'static str) {
    match work {
        Work::Scanning => ("Looking at the files", ""),
        Work::Reading => ("Reading", "entries"),
        Work::Indexing => ("Indexing", "entries"),
        Work::WritingIndex => ("Writing the index", ""),
        Work::Embedding => ("Embedding", "entries"),
        Work::Storing => ("Storing vectors of", "entries"),
        Work::AskingOllama => ("Waiting for Ollama", ""),
        Work::AskingQdrant => ("Waiting for Qdrant", ""),
        Work::AskingGit => ("Waiting for git", ""),
        Work::Comparing => ("Comparing entries", ""),
        Work::Checking => ("Checking", "files"),
        Work::Examining => ("Examining the memory", ""),
        Work::Archiving => ("Archiving", "entries"),
        Work::WaitingForLock => ("Waiting for another process to finish writing", ""),
        Work::WaitingForGit => ("Waiting for git to leave the files alone", ""),
        _ => ("Working", ""),
    }
}

/// Returns a number with a comma every three digits.
pub(crate) fn grouped(number: usize) -> String {
    HumanCount(number as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_innermost_work_after_half_a_second() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let open = |work, done, total| OpenWork { work, done, total, begun: start };
        let check = |milliseconds, open: Vec<OpenWork>, expected: Option<&str>| {
            let wait = Wait { open, since: Some(start), is_closed: false };
            assert_eq!(wait.text(at(milliseconds)).as_deref(), expected, "at {milliseconds} ms");
        };
        let indexing = || open(Work::Indexing, 12_340, Some(20_000));
        check(499, vec![indexing()], None);
        check(500, vec![indexing()], Some("Indexing 12,340 of 20,000 entries"));
        check(1_000, vec![], None);
        check(
            3_300,
            vec![indexing(), open(Work::WaitingForGit, 0, None)],
            Some("Waiting for git to leave the files alone · 3 s"),
        );
        // More than was announced, and a number that nobody knows.
        check(700, vec![open(Work::Reading, 1_001, Some(1_000))], Some("Reading 1,000 of 1,000 entries"));
        check(62_000, vec![open(Work::Reading, 0, None)], Some("Reading entries · 1 min 2 s"));
    }
}
