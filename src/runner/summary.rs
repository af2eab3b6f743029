//! The summary of an attempt, by a command that the options name.
//!
//! It reads what the attempt did and what verified it, and writes a sentence or two for the progress of the run.

use std::sync::PoisonError;

use super::attempt::RunningAttempt;
use super::process;
use super::report::AgentReport;
use crate::entry::attempt::{Keep, prepare_text};
use crate::journal::progress::summary_prompt;

impl RunningAttempt<'_, '_> {
    /// Returns a summary of the attempt, where one is wanted and could be made.
    pub(super) fn summary(&self, report: &AgentReport) -> String {
        let needs_summary = self.options.progress.lock().unwrap_or_else(PoisonError::into_inner).needs_summary();
        let Some(summarize) = self.options.summarize.as_ref().filter(|_| needs_summary) else { return String::new() };
        // A summary may take minutes, too.
        self.keep(report);
        let Some(validation) = &report.validation else { return String::new() };
        let output = prepare_text(&report.validation_output, Keep::End, &self.memory.settings().allowed_secrets);
        let files = self.memory.changed_files(self.attempt, &report.with_summary(String::new()));
        let prompt = summary_prompt(self.attempt.number, (validation, &output), &files);
        let command = summarize.process(&self.values(), self.memory.root(), None);
        let stop = (&self.options.interrupt, process::GRACE);
        let output = process::run(command, prompt.as_bytes(), None, stop, &mut |_| {});
        // What cannot be summed up is reported in the words of the command that verified it.
        let output = output.ok().filter(|output| output.exit_code == 0 && !output.interrupted);
        output.map(|output| output.stdout).unwrap_or_default()
    }
}
