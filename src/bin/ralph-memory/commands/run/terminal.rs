//! A run on a terminal: it turns events into lines, and asks the person who stops the run for feedback.

use std::io::Write;

use ralph_memory::runner::{Interrupt, RunEvent, RunIo};

use super::feedback;
use super::live::Live;
use crate::ui::one_line;

/// A person who watches a run.
pub(super) struct Terminal<'a> {
    /// The display.
    pub(super) live: Live,
    /// The output of the display.
    pub(super) err: &'a mut dyn Write,
    /// Whether this person stopped the run.
    pub(super) interrupt: Interrupt,
    /// What to do when the first attempt begins.
    pub(super) at_first: Option<Box<dyn FnOnce() + 'a>>,
}

impl Terminal<'_> {
    fn warn(&mut self, text: &str) {
        self.live.clear();
        let _ = writeln!(self.err, "warning: {}", one_line(text));
    }
}

impl RunIo for Terminal<'_> {
    fn event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::TaskStarted { title } => self.live.task(self.err, title),
            RunEvent::AttemptStarted { iteration, last } => {
                if let Some(at_first) = self.at_first.take() {
                    at_first();
                }
                self.live.begin(self.err, iteration.number, last, &iteration.model);
            }
            RunEvent::Agent(event) => self.live.event(event),
            RunEvent::Spending(spending) => self.live.spending(spending),
            RunEvent::Line(line) => self.live.line(line),
            RunEvent::Verifying => self.live.line("verifying"),
            RunEvent::Stopping => self.live.line("stopping; Ctrl-C again ends everything at once"),
            RunEvent::TimedOut => self.live.line("stopping: the time limit is reached"),
            RunEvent::AttemptEnded { attempt, recorded } => self.live.end(self.err, attempt, recorded.refused.len()),
            RunEvent::Unknown { what: "model", .. } => self.warn(
                "the agent's model is unknown, so the run chooses none; `{model}` or `$RALPH_MODEL` in its command, or an \
                 event stream that names the model, makes it known",
            ),
            RunEvent::Unknown { number, what } => self.warn(&format!(
                "attempt {number} does not report its {what}, so `--max-{what}` cannot count it; event streams do"
            )),
            RunEvent::Warning(text) => self.warn(text),
            _ => {}
        }
    }

    fn feedback(&mut self) -> String {
        self.live.clear();
        if feedback::is_wanted(&self.interrupt) {
            feedback::ask(&mut std::io::stdin().lock(), self.err)
        } else {
            String::new()
        }
    }
}
