//! The line on a terminal that shows what a command is doing, once it takes longer than half a second.
//!
//! indicatif draws the line, cuts it to the terminal's width and erases it. This module adds the rest: it shows nothing
//! at first, names the work around a step that does not report itself, and erases the line at Ctrl-C.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError, TryLockError, mpsc};
use std::time::{Duration, Instant};
use std::{mem, thread};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ralph_memory::memory::{Activity, Step, Work};
use ralph_memory::runner::Interrupt;
use ralph_memory::system::posix::signals::{SIGHUP, SIGINT, SIGTERM, Signals, emulate_default_handler};
use ralph_memory::text::duration;

use crate::exit::Exit;

/// How long a command may run before the line appears.
const DELAY: Duration = Duration::from_millis(500);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(100);
/// The same, times a second.
const HERTZ: u8 = 10;

/// What the memory is doing. No lock on this is held while the line is drawn: a terminal may be paused, and the work
/// must not wait for it.
static ACTIVITIES: Mutex<Activities> = Mutex::new(Activities::new());
static CHANGED: Condvar = Condvar::new();
/// There is one terminal, and so one line. A thread that holds this may lock [`ACTIVITIES`], never the other way round.
static LINE: Mutex<ActivityLine> =
    Mutex::new(ActivityLine { own: None, lent: None, is_on_lent: false, is_closed: false });
/// Whether a line may have to be erased.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);
static THREADS: Once = Once::new();
/// Whether another handler acts on Ctrl-C.
static LEAVES_SIGNALS: AtomicBool = AtomicBool::new(false);
/// How long a program that a signal ends waits until its line is erased.
const PATIENCE: Duration = Duration::from_millis(200);

struct ActivityLine {
    /// The line, while it is shown.
    own: Option<ProgressBar>,
    /// The line of a run, which can show this one.
    lent: Option<ProgressBar>,
    /// Whether the run's line shows it.
    is_on_lent: bool,
    /// Whether nothing may be shown any more.
    is_closed: bool,
}

/// Returns whether a terminal can redraw a line: it cannot if `TERM` is not set or is `dumb`.
pub(crate) fn is_terminal() -> bool {
    !ProgressDrawTarget::stderr().is_hidden()
}

/// Receives what the memory is doing.
pub(crate) fn observe(activity: Activity) {
    let Activity { work, step, done, total } = activity;
    show(work, step, done, total);
}

fn show(work: Work, step: Step, done: usize, total: Option<usize>) {
    let mut activities = lock(&ACTIVITIES);
    let was_idle = activities.open.is_empty();
    let now = Instant::now();
    activities.take(OpenWork { work, done, total, begun: now }, step, now);
    if was_idle != activities.open.is_empty() {
        activities.turns += 1;
        THREADS.call_once(|| {
            let _ = thread::Builder::new().name("activity".to_owned()).spawn(draw);
        });
        CHANGED.notify_one();
    }
}

/// Makes a run's own line show what the memory is doing, while that line exists.
pub(crate) fn lend(bar: Option<ProgressBar>) {
    let mut line = lock(&LINE);
    line.show(None);
    line.lent = bar;
}

/// Erases the line for good: another writer is about to write, and may not be able to wait.
pub(crate) fn close() {
    // The thread that holds it may be the one that panics.
    let mut line = match LINE.try_lock() {
        Ok(line) => line,
        Err(TryLockError::Poisoned(line)) => line.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    line.close();
}

/// Returns the flag that SIGINT, SIGTERM and SIGHUP raise from here on, instead of ending the program at once. The
/// thread that then ends the program erases the line first.
pub(crate) fn interrupt() -> io::Result<Interrupt> {
    LEAVES_SIGNALS.store(true, Ordering::SeqCst);
    Interrupt::listen(|| {
        close();
        #[expect(clippy::exit, reason = "the other threads may wait forever")]
        std::process::exit(Exit::Interrupted as i32)
    })
}

/// Erases the line, which may appear again.
fn erase() {
    if IS_SHOWN.load(Ordering::SeqCst) {
        lock(&LINE).show(None);
    }
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws and erases the line for ever.
fn draw() {
    loop {
        let mut line = lock(&LINE);
        let now = Instant::now();
        let activities = lock(&ACTIVITIES);
        let (text, due, turns) = (activities.text(now), activities.due(), activities.turns);
        if text.is_some() {
            IS_SHOWN.store(true, Ordering::SeqCst);
        }
        drop(activities);
        line.show(text);
        drop(line);
        let activities = lock(&ACTIVITIES);
        let is_same = |activities: &mut Activities| activities.turns == turns;
        match due {
            None => drop(CHANGED.wait_while(activities, is_same)),
            Some(due) => {
                let wait = due.saturating_duration_since(now).max(TICK);
                drop(CHANGED.wait_timeout_while(activities, wait, is_same));
            }
        }
    }
}

impl ActivityLine {
    /// Draws the line with this text, or erases it if there is none.
    fn show(&mut self, text: Option<String>) {
        let Some(text) = text.filter(|_| !self.is_closed) else {
            if let Some(bar) = self.own.take() {
                bar.finish_and_clear();
            }
            if let Some(bar) = self.lent.as_ref().filter(|_| mem::take(&mut self.is_on_lent)) {
                bar.set_message("");
            }
            // Only now: a writer that sees it does not wait for the line, which would be erased over its text.
            IS_SHOWN.store(false, Ordering::SeqCst);
            return;
        };
        if let Some(bar) = &self.lent {
            bar.set_message(format!("· {text}"));
            self.is_on_lent = true;
            return;
        }
        let bar = self.own.get_or_insert_with(|| {
            erase_at_signals();
            let style = ProgressStyle::with_template("{wide_msg}");
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(HERTZ))
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
        });
        bar.set_message(text);
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.show(None);
        if let Some(bar) = self.lent.take() {
            bar.finish_and_clear();
        }
    }
}

/// Erases the line when a signal ends the program, and then lets the signal end it. A signal that this process was
/// started to ignore stays ignored.
fn erase_at_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !Interrupt::is_ignored(*signal));
        let Ok(mut signals) = Signals::new(wanted) else { return };
        let _ = thread::Builder::new().name("erase".to_owned()).spawn(move || {
            for signal in signals.forever() {
                if !LEAVES_SIGNALS.load(Ordering::SeqCst) {
                    // On a paused terminal this takes forever.
                    let (done, is_done) = mpsc::channel();
                    let erasing = thread::Builder::new().name("close".to_owned()).spawn(move || {
                        lock(&LINE).close();
                        done.send(())
                    });
                    if erasing.is_ok() {
                        let _ = is_done.recv_timeout(PATIENCE);
                    }
                    let _ = emulate_default_handler(signal);
                }
            }
        });
    });
}

/// Work that is not over.
#[derive(Debug)]
struct OpenWork {
    work: Work,
    done: usize,
    total: Option<usize>,
    begun: Instant,
}

/// The current work.
#[derive(Debug)]
struct Activities {
    /// Each item lies within the one before it.
    open: Vec<OpenWork>,
    /// When the user began to wait.
    since: Option<Instant>,
    /// When the last work ended, and perhaps the wait with it.
    idle: Option<Instant>,
    /// How often work began while there was none, or the last work ended.
    turns: u64,
}

impl Activities {
    const fn new() -> Activities {
        Activities { open: Vec::new(), since: None, idle: None, turns: 0 }
    }

    fn take(&mut self, work: OpenWork, step: Step, now: Instant) {
        let of = |open: &OpenWork| open.work == work.work;
        match step {
            Step::Began => {
                // Work that follows at once belongs to the same wait.
                let goes_on = self.idle.is_some_and(|idle| now.saturating_duration_since(idle) < DELAY);
                if self.open.is_empty() && !goes_on {
                    self.since = Some(now);
                }
                self.open.push(work);
            }
            Step::Advanced => {
                if let Some(open) = self.open.iter_mut().rev().find(|open| of(open)) {
                    (open.done, open.total) = (work.done, work.total);
                }
            }
            Step::Ended => {
                if let Some(at) = self.open.iter().rposition(of) {
                    self.open.remove(at);
                }
                if self.open.is_empty() {
                    self.idle = Some(now);
                }
            }
        }
    }

    /// Returns when the line should appear, or nothing while there is no work. Short pieces of work that follow each
    /// other do not make the line flicker.
    fn due(&self) -> Option<Instant> {
        let first = self.open.first()?;
        Some((self.since? + DELAY).max(first.begun + TICK))
    }

    /// Returns the text of the line.
    fn text(&self, now: Instant) -> Option<String> {
        self.due().filter(|due| *due <= now)?;
        let OpenWork { work, done, total, begun } = self.open.last()?;
        let (what, noun) = words(*work);
        Some(match total.filter(|total| *total > 0 && !noun.is_empty()) {
            Some(total) => format!("{what} {} of {} {noun}", grouped(*done.min(&total)), grouped(total)),
            None if noun.is_empty() => format!("{what} · {}", duration(now.saturating_duration_since(*begun))),
            None => format!("{what} {noun} · {}", duration(now.saturating_duration_since(*begun))),
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

    /// Work that is reported at these milliseconds.
    struct TimedWork {
        start: Instant,
        activities: Activities,
    }

    impl TimedWork {
        fn new() -> TimedWork {
            TimedWork { start: Instant::now(), activities: Activities::new() }
        }

        fn at(&mut self, milliseconds: u64, work: Work, step: Step, done: usize, total: Option<usize>) {
            self.take(milliseconds, work, step, done, total);
        }

        fn take(&mut self, milliseconds: u64, work: Work, step: Step, done: usize, total: Option<usize>) {
            let begun = self.start + Duration::from_millis(milliseconds);
            self.activities.take(OpenWork { work, done, total, begun }, step, begun);
        }

        #[track_caller]
        fn check(&self, milliseconds: u64, expected: Option<&str>) {
            let now = self.start + Duration::from_millis(milliseconds);
            assert_eq!(self.activities.text(now).as_deref(), expected, "at {milliseconds} ms");
        }
    }

    #[test]
    fn the_line_appears_after_half_a_second() {
        let mut work = TimedWork::new();
        work.check(0, None);
        work.at(0, Work::Indexing, Step::Began, 0, Some(20_000));
        work.at(300, Work::Indexing, Step::Advanced, 12_340, Some(20_000));
        work.check(499, None);
        work.check(500, Some("Indexing 12,340 of 20,000 entries"));
        work.at(700, Work::Indexing, Step::Ended, 20_000, Some(20_000));
        work.check(700, None);
    }

    #[test]
    fn the_innermost_work_is_shown() {
        let mut work = TimedWork::new();
        work.at(0, Work::Examining, Step::Began, 0, None);
        work.at(100, Work::Reading, Step::Began, 0, Some(1_000));
        work.at(200, Work::WaitingForLock, Step::Began, 0, None);
        work.check(3_300, Some("Waiting for another process to finish writing · 3 s"));
        work.at(3_400, Work::WaitingForLock, Step::Ended, 0, None);
        // More than was announced.
        work.at(3_500, Work::Reading, Step::Advanced, 1_001, Some(1_000));
        work.check(3_500, Some("Reading 1,000 of 1,000 entries"));
        work.at(3_600, Work::Reading, Step::Ended, 1_001, Some(1_000));
        work.check(62_000, Some("Examining the memory · 1 min 2 s"));
    }

    #[test]
    fn work_without_a_count_shows_its_time() {
        let mut work = TimedWork::new();
        work.at(0, Work::Reading, Step::Began, 0, None);
        work.check(1_000, Some("Reading entries · 1 s"));
        work.at(1_000, Work::Reading, Step::Ended, 0, None);
        work.at(1_000, Work::Checking, Step::Began, 0, Some(0));
        work.check(2_500, Some("Checking files · 1 s"));
    }

    #[test]
    fn short_work_does_not_flicker() {
        let mut work = TimedWork::new();
        work.at(0, Work::Reading, Step::Began, 0, None);
        work.at(450, Work::Reading, Step::Ended, 0, None);
        // The wait continues, and the line stays for a moment.
        work.at(460, Work::AskingGit, Step::Began, 0, None);
        work.check(559, None);
        work.check(560, Some("Waiting for git · 0 s"));
        work.at(570, Work::AskingGit, Step::Ended, 0, None);
        // Much later another wait begins.
        work.at(9_000, Work::AskingGit, Step::Began, 0, None);
        work.check(9_499, None);
        work.check(9_500, Some("Waiting for git · 0 s"));
    }

    #[test]
    fn numbers_are_grouped() {
        let numbers = [0, 12, 999, 1_000, 12_345, 999_999, 1_234_567];
        assert_eq!(numbers.map(grouped).join(" "), "0 12 999 1,000 12,345 999,999 1,234,567");
    }
}
