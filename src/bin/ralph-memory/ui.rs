//! Where output goes: data to standard output, everything else to standard error.

use std::fmt::Display;
use std::io::{self, BufRead as _, Write};

use clap::builder::styling::{AnsiColor, Style};
use ralph_memory::Problem;
use ralph_memory::agent_output::transcript::AgentSpending;
use ralph_memory::entry::Outcome;
use ralph_memory::error::Severity;
use ralph_memory::memory::Usage;
pub(crate) use ralph_memory::system::posix::is_read;
pub(crate) use ralph_memory::text::count;
use ralph_memory::text::dollars;
use ralph_memory::text::{escaped_json, for_line, for_terminal};
use serde::Serialize;

use crate::activity::grouped;
use crate::error::ErrorReport;

/// The version of the printed JSON.
const SCHEMA_VERSION: u32 = 1;
/// How many problems a command shows if it was not asked for problems.
const MAX_PROBLEMS: usize = 5;

/// Important parts of a title.
pub(crate) const TITLE: Style = Style::new().bold();
/// Text to copy: ids.
pub(crate) const ID: Style = AnsiColor::Cyan.on_default();
/// Text of no importance for the state: neither good nor bad.
pub(crate) const PLAIN: Style = Style::new();
/// Less important text.
pub(crate) const QUIET: Style = Style::new().dimmed();
/// Failures.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Success.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What needs attention, but is not a failure.
const ATTENTION: Style = AnsiColor::Yellow.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// The styles of lines of data. One whose sequence begins with that of another comes before it.
const STYLES: [Style; 6] = [ERROR, TITLE, ID, QUIET, GOOD, ATTENTION];

/// The two outputs, and their form.
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub(crate) struct Ui<'a> {
    /// Data: the answer of the command.
    pub(crate) out: &'a mut dyn Write,
    /// Everything else.
    pub(crate) err: &'a mut dyn Write,
    /// Whether data is one JSON object.
    pub(crate) json: bool,
    /// Whether notes are left out.
    pub(crate) quiet: bool,
    /// Whether the command works in the person's own memory.
    pub(crate) own: bool,
    /// Whether data may be coloured.
    pub(crate) out_colour: bool,
    /// Whether messages may be coloured.
    pub(crate) err_colour: bool,
}

#[derive(Serialize)]
struct JsonAnswer<'a, Data> {
    schema_version: u32,
    #[serde(flatten)]
    data: Data,
    problems: &'a [Problem],
}

#[derive(Serialize)]
struct JsonFailure<'a> {
    error: &'a ErrorReport,
}

impl Ui<'_> {
    /// Writes the answer as one JSON object.
    pub(crate) fn json(&mut self, data: impl Serialize, problems: &[Problem]) -> io::Result<()> {
        let document = serde_json::to_string(&JsonAnswer { schema_version: SCHEMA_VERSION, data, problems })?;
        writeln!(self.out, "{}", escaped_json(&document))
    }

    /// Returns the text in a form that is safe in a line on a terminal, in this style if the output has colours.
    pub(crate) fn styled(&self, style: Style, text: &str) -> String {
        paint(self.out_colour, style, &if style == ID { for_line(text) } else { one_line(text) })
    }

    /// Writes a line of data for a person. Of escape sequences, only those of the styles act on the terminal.
    pub(crate) fn line(&mut self, text: impl Display) -> io::Result<()> {
        let mut line = for_line(&text.to_string());
        for style in STYLES.iter().filter(|_| self.out_colour) {
            for sequence in [style.render().to_string(), style.render_reset().to_string()] {
                line = line.replace(&for_line(&sequence), &sequence);
            }
        }
        writeln!(self.out, "{line}")
    }

    /// Writes a line with a name and its value.
    pub(crate) fn field(&mut self, name: &str, style: Style, value: &str) -> io::Result<()> {
        let name = self.styled(QUIET, &format!("{name:<11}"));
        let value = self.styled(style, value);
        self.line(format_args!("  {name}  {value}"))
    }

    /// Writes a line for each of these names and values that is not empty.
    pub(crate) fn fields(&mut self, fields: &[(&str, String)]) -> io::Result<()> {
        fields
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .try_for_each(|(name, value)| self.field(name, PLAIN, value))
    }

    /// Asks a person on the terminal; everything but `y` and `yes` means no.
    pub(crate) fn confirm(&mut self, question: &str) -> io::Result<bool> {
        self.out.flush()?;
        write!(self.err, "{question} [y/N] ")?;
        self.err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
    }

    /// Writes a text of lines, safe for a terminal.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        write!(self.out, "{}", for_terminal(&text.replace("\r\n", "\n")))
    }

    /// Writes a remark beside the data, except with `--quiet`.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.warn(text);
        }
    }

    /// Writes a message beside the data that nobody should miss. The command continues if nobody can read it.
    pub(crate) fn warn(&mut self, text: &str) {
        // What the message is about stands above it. The end of the command reports an output that fails.
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{}", one_line(&self.hinted(text)));
    }

    /// Shows the first few problems that were found on the way; in JSON they are in the answer. Notices are left to
    /// `check`.
    pub(crate) fn problems(&mut self, problems: &[Problem]) {
        if self.json {
            return;
        }
        let _ = self.out.flush();
        let label = paint(self.err_colour, WARNING, "warning:");
        let problems: Vec<&Problem> = problems.iter().filter(|problem| problem.severity != Severity::Notice).collect();
        for problem in problems.iter().take(MAX_PROBLEMS) {
            let _ = writeln!(self.err, "{label} {}", one_line(&problem.to_string()));
            self.hint(&problem.hint);
        }
        let more = problems.len().saturating_sub(MAX_PROBLEMS);
        if more > 0 {
            let _ = writeln!(self.err, "{label} {more} more; run {}", self.hinted("`ralph-memory check`"));
        }
    }

    /// Shows an error.
    pub(crate) fn error(&mut self, report: &ErrorReport) -> io::Result<()> {
        let _ = writeln!(self.err, "{} {}", paint(self.err_colour, ERROR, "error:"), one_line(&report.message));
        for cause in &report.causes {
            let _ = writeln!(self.err, "{} {}", paint(self.err_colour, ERROR, "caused by:"), one_line(cause));
        }
        self.hint(report.hint.as_deref().unwrap_or_default());
        if self.json { self.json_error(report) } else { Ok(()) }
    }

    /// Writes the error as the answer.
    pub(crate) fn json_error(&mut self, report: &ErrorReport) -> io::Result<()> {
        self.json(JsonFailure { error: report }, &[])
    }

    fn hint(&mut self, hint: &str) {
        if !hint.is_empty() {
            let _ = writeln!(self.err, "{} {}", paint(self.err_colour, HINT, "hint:"), one_line(&self.hinted(hint)));
        }
    }

    /// Returns a hint whose commands work in the same memory as this one.
    pub(crate) fn hinted(&self, hint: &str) -> String {
        let names_memory = !self.own || hint.contains("ralph-memory --root");
        if names_memory { hint.to_owned() } else { hint.replace("`ralph-memory ", "`ralph-memory --own ") }
    }
}

/// Says in how many contexts an entry was included, and how those attempts ended.
pub(crate) fn used(usage: &Usage) -> String {
    let last = usage.last_used.map(|at| format!(", last on {}", at.format("%Y-%m-%d"))).unwrap_or_default();
    let contexts = count(usage.recalls, "context");
    format!("in {contexts}{last}; {} succeeded, {} failed", usage.succeeded, usage.failed)
}

/// Returns what an agent spent; empty if nothing is known.
pub(crate) fn spent(spending: AgentSpending) -> String {
    let tokens = |tokens| format!("{} tokens", grouped(usize::try_from(tokens).unwrap_or(usize::MAX)));
    let parts = [spending.tokens().map(tokens), spending.cost_usd.map(dollars)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns the style of an outcome.
pub(crate) fn outcome_style(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Done => GOOD,
        Outcome::Failed | Outcome::Retried | Outcome::Error => ERROR,
        Outcome::Blocked => ATTENTION,
        Outcome::Partial | Outcome::Interrupted => QUIET,
    }
}

/// Returns the text without characters that a terminal acts on. A line break would let an entry forge lines of this
/// program.
pub(crate) fn one_line(text: &str) -> String {
    for_terminal(&text.replace(['\n', '\t'], " "))
}

/// Returns the text in this style, if colours are allowed.
pub(crate) fn paint(coloured: bool, style: Style, text: &str) -> String {
    if coloured { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

#[cfg(test)]
impl<'a> Ui<'a> {
    /// Returns outputs without colours and without a terminal.
    pub(crate) fn plain(out: &'a mut dyn Write, err: &'a mut dyn Write, json: bool) -> Ui<'a> {
        Ui { out, err, json, quiet: false, own: false, out_colour: false, err_colour: false }
    }
}
