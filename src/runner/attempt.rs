//! One attempt: the agent gets its prompt, and what it did is verified.
//!
//! It decides nothing about further iterations. An error of a command line or a template ends it without a trace; every
//! other one is in its report.

use super::agent_log::AgentLogFile;
use super::client::{MODEL_VARIABLE, no_command, not_found};
use super::command::{CommandLine, CommandValues};
use super::io::{RunEvent, RunIo};
use super::offer::{self, McpOffer, TOOLS};
use super::options::RunOptions;
use super::process::{self, Invocation, OutputEvent, ProcessOutput};
use super::prompt::PromptParts;
use super::prompt_file::PromptFile;
use super::recorder::Recorder;
use super::report::{AgentReport, validated};
use crate::context::Task;
use crate::entry::attempt::Outcome;
use crate::error::{Error, Result};
use crate::iterations::LiveWriter;
use crate::memory::{Iteration, LiveActionKind, LivePhase, Memory};
use crate::secret::{LineRedactor, redact};
use crate::transcript::{AgentEvent, AgentSpending, Format, Reader, UNKNOWN_FORMAT};

/// An attempt that goes on.
pub(super) struct RunningAttempt<'a, 'memory> {
    pub(super) memory: &'memory Memory,
    pub(super) options: &'a RunOptions,
    pub(super) recorder: &'a Recorder<'memory>,
    pub(super) live: &'a mut LiveWriter<'memory>,
    pub(super) io: &'a mut dyn RunIo,
    /// The task as it was given: only its agent gets the secrets in it.
    pub(super) task: &'a Task,
    pub(super) iteration: &'a mut Iteration,
    /// What the agent spent, as last reported.
    pub(super) spending: AgentSpending,
}

/// What a command of the attempt is given.
#[derive(Default)]
struct CommandInput<'a> {
    prompt_file: Option<&'a str>,
    stdin: &'a [u8],
    offer: Option<&'a McpOffer>,
}

/// What takes the output of an agent.
struct AgentSink<'a> {
    reader: &'a mut Reader,
    log: Option<&'a mut AgentLogFile>,
}

/// The lines of a command that are not events, on their way to who watches it.
struct ShownLines<'a> {
    stdout: LineRedactor<'a>,
    stderr: LineRedactor<'a>,
}

impl RunningAttempt<'_, '_> {
    /// Runs the agent and what verifies it. An error beside a report is one that stops the run once the attempt is
    /// written down.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] where no agent ever worked: nothing is to be written down.
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
        // Verification says how things are, whatever the agent says of them; but not after an agent that was ended.
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
        self.recorder.keep_unverified(self.iteration, report);
        self.live.phase(LivePhase::Verifying);
        self.io.event(RunEvent::Verifying);
        let output = self.command(verify, &CommandInput::default(), None)?;
        if let Some(line) = not_found(Some(output.exit_code), &output.stderr.text) {
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
            self.recorder.keep(self.iteration, report);
            report.feedback = interrupt.asking(|| self.io.feedback());
        }
    }

    fn agent(&mut self, reader: &mut Reader) -> Result<ProcessOutput> {
        let agent = &self.options.agent;
        let offer = self.offer();
        let offer = offer.as_ref();
        let prompt = self.prompt(offer.is_some())?;
        let log = self.options.log.as_ref();
        let mut log = log.map(|log| log.begin(&self.iteration.run_id, self.iteration.number)).transpose()?;
        let sink = Some(AgentSink { reader, log: log.as_mut() });
        let output = if agent.wants_prompt_file() {
            let file = PromptFile::write(&prompt)?;
            self.command(agent, &CommandInput { prompt_file: Some(file.path()?), stdin: b"", offer }, sink)
        } else {
            self.command(agent, &CommandInput { prompt_file: None, stdin: prompt.as_bytes(), offer }, sink)
        };
        if let Some(warning) = log.and_then(|log| log.warning()) {
            self.io.event(RunEvent::Warning(&warning));
        }
        output
    }

    /// Returns what makes the agent's client start the memory's server.
    fn offer(&self) -> Option<McpOffer> {
        let mut server = self.options.server.clone();
        if let Some(feature) = self.iteration.task.feature.as_ref().filter(|_| !server.is_empty()) {
            server.push(format!("--feature={feature}"));
        }
        offer::offer(&self.options.agent, &server, |name| std::env::var_os(name).is_some())
    }

    fn prompt(&self, has_tools: bool) -> Result<String> {
        let iteration = &*self.iteration;
        let tools = if has_tools { TOOLS } else { "" };
        let (assignment, context) = iteration.context.split_at(iteration.notes_start);
        let parts = PromptParts {
            task: self.task,
            task_id: &iteration.task_id(),
            assignment,
            context: &format!("{context}{tools}"),
            progress: &self.recorder.progress(),
            model: &iteration.model,
            iteration: iteration.number,
            run_id: &iteration.run_id,
        };
        self.options.template.as_ref().map_or_else(|| Ok(parts.prompt()), |template| template.prompt(&parts))
    }

    /// Runs a command. What an agent writes goes to its sink as well, so that no length of it is too long.
    fn command(
        &mut self,
        command: &CommandLine,
        input: &CommandInput<'_>,
        mut sink: Option<AgentSink<'_>>,
    ) -> Result<ProcessOutput> {
        let (run_id, model) = (self.iteration.run_id.clone(), self.iteration.model.clone());
        let (task_id, number) = (self.iteration.task_id(), self.iteration.number);
        let values = CommandValues {
            model: &model,
            prompt_file: input.prompt_file,
            task_id: &task_id,
            run_id: &run_id,
            iteration: number,
        };
        let mut arguments = command.arguments(&values);
        if let Some(offer) = input.offer {
            arguments = offer.added_to(arguments);
        }
        let number = number.to_string();
        let own = [
            (MODEL_VARIABLE, model.as_str()),
            ("RALPH_RUN_ID", &run_id),
            ("RALPH_ITERATION", &number),
            ("RALPH_TASK_ID", &task_id),
        ];
        let variable = input.offer.and_then(|offer| offer.variable.as_ref());
        // An agent with a model of its own has no chosen one.
        let own = own.into_iter().filter(|(_, value)| !value.is_empty());
        let environment: Vec<(&str, &str)> = own.chain(variable.map(|(name, value)| (*name, value.as_str()))).collect();
        let invocation = Invocation {
            program: command.program(),
            arguments: &arguments,
            stdin: input.stdin,
            environment: &environment,
            folder: self.memory.root(),
            limit: if sink.is_some() { self.options.timeout } else { self.options.verify_timeout },
        };
        let (interrupt, timeouts) = (&self.options.interrupt, self.options.process_timeouts);
        let allowed = &self.memory.settings().allowed_secrets;
        let mut shown = ShownLines { stdout: LineRedactor::new(allowed), stderr: LineRedactor::new(allowed) };
        let mut see = |event: OutputEvent<'_>| self.output(event, sink.as_mut(), &mut shown);
        let output = process::run(&invocation, interrupt, timeouts, &mut see);
        self.lines(&shown.stdout.finish());
        self.lines(&shown.stderr.finish());
        output
    }

    /// Passes on what a command does, and what it writes.
    fn output(&mut self, event: OutputEvent<'_>, sink: Option<&mut AgentSink<'_>>, shown: &mut ShownLines<'_>) {
        match (event, sink) {
            (OutputEvent::Started(pid), Some(_)) => self.recorder.started(self.iteration, pid),
            (OutputEvent::Bytes(bytes), Some(sink)) => {
                sink.reader.push(bytes);
                if let Some(log) = &mut sink.log {
                    log.push(bytes);
                }
                while let Some(event) = sink.reader.take_event() {
                    self.agent_event(&event);
                }
                self.spent(sink.reader.spending());
            }
            (OutputEvent::ErrorBytes(bytes), Some(AgentSink { log: Some(log), .. })) => log.push(bytes),
            (OutputEvent::Started(_) | OutputEvent::Bytes(_) | OutputEvent::ErrorBytes(_), _) => {}
            (OutputEvent::Line(line), sink) => {
                if sink.is_none_or(|sink| is_plain_line(sink.reader.format(), line)) {
                    self.lines(&shown.stdout.push(line));
                }
            }
            (OutputEvent::ErrorLine(line), _) => self.lines(&shown.stderr.push(line)),
            (OutputEvent::Quiet, _) => self.live.write_if_due(),
            (OutputEvent::Stopping, _) => {
                self.live.phase(LivePhase::Stopping);
                self.io.event(RunEvent::Stopping);
            }
            (OutputEvent::TimedOut, _) => {
                self.live.phase(LivePhase::Stopping);
                self.io.event(RunEvent::TimedOut);
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
            self.live.spending(spending);
            self.io.event(RunEvent::Spending(spending));
        }
    }

    /// Passes on lines that are not events and have no secrets.
    fn lines(&mut self, lines: &[String]) {
        for line in lines {
            self.live.action(LiveActionKind::Line, line);
            self.io.event(RunEvent::Line(line));
        }
    }

    /// Passes on what the agent did.
    fn agent_event(&mut self, event: &AgentEvent) {
        match event {
            // The attempt names the model that it asked for.
            AgentEvent::Model(_) => {}
            AgentEvent::Message(text) => self.live.action(LiveActionKind::Message, text),
            AgentEvent::ToolCall { tool, argument } => {
                self.live.action(LiveActionKind::Tool, &format!("{tool} {argument}"));
            }
            AgentEvent::Failure(text) => self.live.action(LiveActionKind::Failure, text),
        }
        if self.options.reports_agent {
            self.io.event(RunEvent::Agent(event));
        }
    }
}

/// Returns the error where the agent's output cannot be read: that of the next attempt could not be, either.
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
