//! One attempt: the agent gets its prompt, and what it did is verified.
//!
//! It decides nothing about further attempts. An error in a command line or a template ends it without a trace; its
//! report has every other error.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::agent_log::AgentLogFile;
use super::client::{MODEL_VARIABLE, no_command, not_found};
use super::command::{CommandLine, McpOffer, PROMPT_FILE};
use super::io::{RunEvent, RunIo};
use super::offer::{self, TOOLS};
use super::options::RunOptions;
use super::private_file::PromptFile;
use super::process::{self, Command, OutputEvent, OutputStream, ProcessOutput};
use super::prompt::prompt;
use super::report::{AgentReport, validated};
use crate::agent_output::transcript::{AgentEvent, AgentSpending, Format, Reader, UNKNOWN_FORMAT};
use crate::context::Task;
use crate::entry::attempt::Outcome;
use crate::error::{Error, Result};
use crate::memory::{LivePhase, Memory, OpenAttempt};
use crate::recording::LiveWriter;
use crate::text::secret::{LineRedactor, redact};

/// The variables of a command, and the values that they have.
const VARIABLES: [(&str, &str); 4] =
    [(MODEL_VARIABLE, "model"), ("RALPH_RUN_ID", "run_id"), ("RALPH_ATTEMPT", "attempt"), ("RALPH_TASK_ID", "task_id")];

/// An attempt in progress.
pub(super) struct RunningAttempt<'a, 'memory> {
    pub(super) memory: &'memory Memory,
    pub(super) options: &'a RunOptions,
    pub(super) live: &'a mut LiveWriter<'memory>,
    pub(super) io: &'a mut dyn RunIo,
    /// The task as it was given. Only its agent gets the secrets in it.
    pub(super) task: &'a Task,
    pub(super) attempt: &'a mut OpenAttempt,
    /// What the agent spent, as last reported.
    pub(super) spending: AgentSpending,
}

/// Receives the output of an agent.
struct AgentSink<'a> {
    reader: &'a mut Reader,
    log: Option<&'a mut AgentLogFile>,
}

impl RunningAttempt<'_, '_> {
    /// Runs the agent and the verification. An error beside a report stops the run after the attempt is recorded.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if no agent ever worked, so that there is nothing to record.
    pub(super) fn run(&mut self) -> Result<(AgentReport, Option<Error>)> {
        let mut reader = self.memory.reader(self.options.format).watched();
        let mut report = match self.agent(&mut reader) {
            Ok(output) => AgentReport::of_agent(output, reader.finish()),
            Err(error @ Error::Unusable { .. }) => return Err(error),
            Err(error) => return Ok((AgentReport::of_error(&error), Some(error))),
        };
        // Output that is one document, or ends without a line break, is known only now.
        self.spent(report.transcript.spending());
        let is_silent = report.transcript.text.trim().is_empty() && report.transcript.n_events == 0;
        if is_silent && let Some(line) = not_found(report.agent_exit, &report.errors) {
            return Err(no_command(&self.options.agent, &self.redacted(line)));
        }
        let mut failed = unreadable(&self.options.agent, &report);
        // Verification shows the real state, whatever the agent says, but it does not run after an agent that was
        // ended.
        if let Some(verify) = &self.options.verify
            && failed.is_none()
            && !self.options.interrupt.is_raised()
            && report.outcome.is_none()
        {
            failed = self.verify(verify, &mut report).err();
            if let Some(error) = &failed {
                report.fail(error);
            }
        }
        if self.options.interrupt.is_raised() {
            self.interrupted(&mut report);
        }
        Ok((report, failed))
    }

    fn verify(&mut self, verify: &CommandLine, report: &mut AgentReport) -> Result<()> {
        // If this process is killed in the meantime, nothing was verified.
        self.keep(&AgentReport { outcome: Some(Outcome::Interrupted), ..report.clone() });
        self.live.phase(LivePhase::Verifying);
        self.io.event(RunEvent::Verifying);
        let command = self.process(verify, &self.values(), None);
        let output = self.command(command, b"", None)?;
        if let Some(line) = not_found(Some(output.exit_code), &output.stderr) {
            return Err(no_command(verify, &self.redacted(line)));
        }
        report.timed_out = output.timed_out;
        (report.validation, report.validation_output) = validated(verify, output);
        Ok(())
    }

    fn interrupted(&mut self, report: &mut AgentReport) {
        // The result of a verification that was cut short means nothing.
        report.outcome = Some(Outcome::Interrupted);
        report.validation = None;
        let interrupt = &self.options.interrupt;
        if !interrupt.is_impatient() {
            self.keep(report);
            report.feedback = interrupt.asking(|| self.io.feedback());
        }
    }

    /// Keeps the result of the attempt, in case this process ends before it is recorded.
    pub(super) fn keep(&self, report: &AgentReport) {
        let _ = self.memory.keep(self.attempt, &report.with_summary(String::new()));
    }

    fn agent(&mut self, reader: &mut Reader) -> Result<ProcessOutput> {
        let agent = &self.options.agent;
        let offer = self.offer();
        let mut values = self.values();
        let prompt = self.prompt(offer.is_some(), &mut values)?;
        let log = self.options.log.as_ref();
        let mut log = log.map(|log| log.begin(&self.attempt.run_id, self.attempt.number)).transpose()?;
        let file = agent.wants_prompt_file().then(|| PromptFile::write(&prompt)).transpose()?;
        if let Some(file) = &file {
            values.insert(PROMPT_FILE, file.path()?.to_owned());
        }
        let command = self.process(agent, &values, offer.as_ref());
        let stdin = if file.is_some() { b"" } else { prompt.as_bytes() };
        let output = self.command(command, stdin, Some(AgentSink { reader, log: log.as_mut() }));
        if let Some(warning) = log.and_then(|log| log.warning()) {
            self.io.event(RunEvent::Warning(&warning));
        }
        output
    }

    /// Returns the options that make the agent's client start the memory's server.
    fn offer(&self) -> Option<McpOffer> {
        let mut server = self.options.server.clone();
        if let Some(feature) = self.attempt.task.feature.as_ref().filter(|_| !server.is_empty()) {
            server.push(format!("--feature={feature}"));
        }
        offer::offer(&self.options.agent, &server, |name| std::env::var_os(name).is_some())
    }

    /// Returns the values that every command can name.
    pub(super) fn values(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("model", self.attempt.model.clone()),
            ("run_id", self.attempt.run_id.clone()),
            ("attempt", self.attempt.number.to_string()),
            ("task_id", self.attempt.task_id()),
        ])
    }

    /// Returns the prompt, and adds the values that a template can name.
    fn prompt(&self, has_tools: bool, values: &mut BTreeMap<&'static str, String>) -> Result<String> {
        let tools = if has_tools { TOOLS } else { "" };
        let mut progress = self.options.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let (assignment, context) = self.attempt.context.split_at(self.attempt.notes_start);
        values.extend([
            ("task", format!("{}\n", assignment.trim_end())),
            ("task_title", self.task.title.clone()),
            ("context", format!("{context}{tools}")),
            ("progress", self.memory.progress(&self.attempt.run_id, &mut *progress)),
        ]);
        self.options.template.as_ref().map_or_else(|| Ok(prompt(values)), |template| template.prompt(values))
    }

    /// Returns a command of the attempt, with its variables.
    fn process(
        &self,
        command: &CommandLine,
        values: &BTreeMap<&'static str, String>,
        offer: Option<&McpOffer>,
    ) -> Command {
        let mut process = command.process(values, self.memory.root(), offer);
        // For an agent with its own model, none is chosen.
        let variables = VARIABLES.iter().map(|(variable, name)| (variable, &values[name]));
        process.envs(variables.filter(|(_, value)| !value.is_empty()));
        process
    }

    /// Runs a command. An agent's output also goes to its sink, so that it may have any length.
    fn command(&mut self, command: Command, stdin: &[u8], mut sink: Option<AgentSink<'_>>) -> Result<ProcessOutput> {
        let limit = if sink.is_some() { self.options.timeout } else { self.options.verify_timeout };
        let stop = (&self.options.interrupt, self.options.grace);
        let allowed = &self.memory.settings().allowed_secrets;
        let mut shown = [LineRedactor::new(allowed), LineRedactor::new(allowed)];
        let mut see = |event: OutputEvent<'_>| self.output(event, sink.as_mut(), &mut shown);
        let output = process::run(command, stdin, limit, stop, &mut see);
        for mut redactor in shown {
            self.lines(&redactor.finish());
        }
        output
    }

    /// Passes on what a command does, and what it writes.
    fn output(&mut self, event: OutputEvent<'_>, sink: Option<&mut AgentSink<'_>>, shown: &mut [LineRedactor<'_>; 2]) {
        match (event, sink) {
            (OutputEvent::Started(pid), Some(_)) => self.memory.note_agent(self.attempt, pid),
            (OutputEvent::Bytes(stream, bytes), Some(sink)) => {
                if let Some(log) = &mut sink.log {
                    log.push(bytes);
                }
                if stream == OutputStream::Standard {
                    sink.reader.push(bytes);
                    while let Some(event) = sink.reader.take_event() {
                        self.agent_event(&event);
                    }
                    self.spent(sink.reader.spending());
                }
            }
            (OutputEvent::Started(_) | OutputEvent::Bytes(..), None) => {}
            (OutputEvent::Line(stream, line), sink) => {
                let is_event = |sink: &mut AgentSink<'_>| !is_plain_line(sink.reader.format(), line);
                if stream == OutputStream::Error || !sink.is_some_and(is_event) {
                    self.lines(&shown[stream as usize].push(line));
                }
            }
            (OutputEvent::Quiet, _) => self.live.write_if_due(),
            (OutputEvent::Stopping { is_late }, _) => {
                self.live.phase(LivePhase::Stopping);
                self.io.event(if is_late { RunEvent::TimedOut } else { RunEvent::Stopping });
            }
        }
    }

    fn redacted(&self, text: &str) -> String {
        redact(text, &self.memory.settings().allowed_secrets)
    }

    /// Passes on what the agent spent so far, if that changed.
    fn spent(&mut self, spending: AgentSpending) {
        if spending != self.spending {
            self.spending = spending;
            self.io.event(RunEvent::Spending(spending));
        }
    }

    /// Passes on lines that are not events and have no secrets.
    fn lines(&mut self, lines: &[String]) {
        for line in lines {
            self.live.line(line);
            self.io.event(RunEvent::Line(line));
        }
    }

    /// Passes on what the agent did.
    fn agent_event(&mut self, event: &AgentEvent) {
        match event {
            // The attempt names the model that it asked for.
            AgentEvent::Model(_) => {}
            AgentEvent::Message(text) | AgentEvent::Failure(text) => self.live.line(text),
            AgentEvent::ToolCall { tool, argument } => {
                self.live.line(&format!("{tool} {argument}"));
            }
        }
        if self.options.reports_agent {
            self.io.event(RunEvent::Agent(event));
        }
    }
}

/// Returns the error if the agent's output cannot be read, because the next attempt's could not be read either.
fn unreadable(agent: &CommandLine, report: &AgentReport) -> Option<Error> {
    (report.transcript.format == Format::Unknown).then(|| {
        Error::unusable(
            format!("cannot read what `{agent}` prints: {UNKNOWN_FORMAT}"),
            "let it print one of these, or, where it prints its own words alone, say `--format text`",
        )
    })
}

/// Returns whether a line that an agent wrote is not an event, of which the text is reported.
fn is_plain_line(format: Option<Format>, line: &str) -> bool {
    match format {
        Some(format) => format == Format::Text,
        None => !line.trim_start().starts_with('{'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_a_stream_are_not_lines() {
        let check =
            |format, line: &str, expected| assert_eq!(is_plain_line(format, line), expected, "{format:?} {line}");
        check(Some(Format::Text), "{\"a\": 1}", true);
        check(Some(Format::Claude), "{\"type\": \"user\"}", false);
        check(Some(Format::Codex), "{\"type\": \"turn.started\"}", false);
        check(None, "starting", true);
        check(None, "  {\"type\": \"system\"", false);
    }
}
