//! A person who watches a run. On a terminal they see a line for each action of the agent, above a moving line;
//! elsewhere plain lines for each attempt. They are asked for feedback when they stop the run. A failure to write stops
//! nothing.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use console::{Term, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};
use ralph_memory::agent_output::transcript::AgentEvent;
use ralph_memory::runner::{Interrupt, RunAttempt, RunEvent, RunIo};
use ralph_memory::text::secret::redact;
use ralph_memory::text::{dollars, duration};

use super::feedback;
use crate::activity;
use crate::session::Globals;
use crate::ui::{ERROR, PLAIN, QUIET, one_line, paint, spent};

/// The line on a terminal. Its last part is cut to the width that is left.
const LINE: &str = "{spinner} {prefix} · {seconds} {wide_msg}";
/// How often the line moves.
const TICK: Duration = Duration::from_millis(120);
/// How much of a line of output is shown, in characters; no terminal is wider.
const MAX_SHOWN: usize = 500;
/// How much of it is searched for secrets, so that a secret which begins in the shown part is found whole.
const MAX_LOOKED_AT: usize = 2_000;

/// How much a run shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Everything, as it happens; only a terminal can show this.
    All {
        /// Whether to use colours.
        coloured: bool,
    },
    /// When attempts begin and how they end.
    Attempts,
    /// Nothing.
    Nothing,
}

impl Visibility {
    /// Returns what the global options ask for.
    pub(super) fn of(globals: &Globals, coloured: bool) -> Visibility {
        match (globals.shows_progress(), globals.is_quiet()) {
            (true, _) => Visibility::All { coloured },
            (false, true) => Visibility::Nothing,
            (false, false) => Visibility::Attempts,
        }
    }
}

/// A person who watches a run.
pub(crate) struct Terminal<'a> {
    pub(super) visibility: Visibility,
    /// The attempt's number and its model.
    pub(super) label: String,
    /// The moving line.
    pub(super) bar: Option<ProgressBar>,
    /// The fingerprints of secrets that may be shown.
    pub(super) allowed: &'a [String],
    pub(super) err: &'a mut dyn Write,
    /// Whether this person stopped the run.
    pub(super) interrupt: Interrupt,
    /// What to do when the first attempt begins.
    pub(super) at_first: Option<Box<dyn FnOnce() + 'a>>,
}

impl RunIo for Terminal<'_> {
    fn event(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::TaskStarted { title } => self.print(&one_line(title)),
            RunEvent::AttemptStarted { attempt, last } => {
                if let Some(at_first) = self.at_first.take() {
                    at_first();
                }
                self.begin(attempt.number, last, &attempt.model);
            }
            RunEvent::Agent(event) => {
                if let (Some(bar), Visibility::All { coloured }) = (&self.bar, self.visibility) {
                    let line = line(event, usize::from(Term::stderr().size().1), coloured);
                    // `println` of the bar fills lines up with spaces, and copied text would be one long line.
                    bar.suspend(|| drop(writeln!(io::stderr(), "{line}")));
                }
            }
            RunEvent::Spending(spending) => {
                if let Some(bar) = &self.bar {
                    bar.set_prefix(format!("{} · {}", self.label, spent(spending)));
                }
            }
            RunEvent::Line(line) => self.work(line),
            RunEvent::Verifying => self.work("verifying"),
            RunEvent::Stopping => self.work("stopping; Ctrl-C again ends everything at once"),
            RunEvent::TimedOut => self.work("stopping: the time limit is reached"),
            RunEvent::AttemptEnded { attempt, recorded } => self.end(attempt, recorded.refused.len()),
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
        self.clear();
        if feedback::is_wanted(&self.interrupt) {
            feedback::ask(&mut io::stdin().lock(), self.err)
        } else {
            String::new()
        }
    }
}

impl Terminal<'_> {
    /// Shows that an attempt begins: its number, the highest possible number, the chosen model and the like.
    fn begin(&mut self, number: u32, last: Option<u32>, facts: &str) {
        let of = last.map(|last| format!(" of {last}")).unwrap_or_default();
        let facts = if facts.is_empty() { String::new() } else { format!(" · {}", one_line(facts)) };
        self.label = format!("attempt {number}{of}{facts}");
        if let Visibility::All { .. } = self.visibility {
            let bar = moving(ProgressDrawTarget::stderr(), &self.label);
            activity::close();
            self.bar = Some(bar);
        } else {
            let label = self.label.clone();
            self.print(&label);
        }
    }

    /// Shows a line of output, or the current work, in the moving line.
    fn work(&self, text: &str) {
        if let Some(bar) = &self.bar {
            let start: String = text.trim().chars().take(MAX_LOOKED_AT).collect();
            // Redaction comes before the cut, which could leave half a secret.
            let shown: String = redact(&start, self.allowed).chars().take(MAX_SHOWN).collect();
            if !shown.is_empty() {
                bar.set_message(format!("· {}", one_line(&shown)));
            }
        }
    }

    /// Shows how the attempt ended, of whose report so many elements were refused.
    fn end(&mut self, ended: &RunAttempt, n_refused: usize) {
        let mut line = format!(
            "{} · {} · {}",
            self.label,
            ended.outcome.as_str(),
            duration(Duration::try_from_secs_f64(ended.duration_secs).unwrap_or_default())
        );
        if let Some(cost) = ended.cost_usd {
            let _ = write!(line, " · {}", dollars(cost));
        }
        if let Some(tokens) = ended.tokens.filter(|_| matches!(self.visibility, Visibility::All { .. })) {
            let _ = write!(line, " · {} tokens", activity::grouped(usize::try_from(tokens).unwrap_or(usize::MAX)));
        }
        if n_refused > 0 {
            let _ = write!(line, " · problems in its report: {n_refused}");
        }
        if let Some(reason) = &ended.reason {
            let _ = write!(line, " · {}", one_line(reason));
        }
        self.print(&line);
    }

    /// Prints a line in place of the moving one.
    fn print(&mut self, line: &str) {
        self.clear();
        if self.visibility != Visibility::Nothing {
            let _ = writeln!(self.err, "{line}");
        }
    }

    fn warn(&mut self, text: &str) {
        self.clear();
        let _ = writeln!(self.err, "warning: {}", one_line(text));
    }

    /// Removes the moving line.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Returns the line for an event, at most so many columns wide.
fn line(event: &AgentEvent, columns: usize, coloured: bool) -> String {
    let (style, text) = match event {
        AgentEvent::Model(model) => (QUIET, format!("model {model}")),
        AgentEvent::Message(text) => (PLAIN, text.clone()),
        AgentEvent::ToolCall { tool, argument } => (QUIET, format!("→ {tool} {argument}")),
        AgentEvent::Failure(text) => (ERROR, format!("failed: {text}")),
        _ => (PLAIN, String::new()),
    };
    let text = format!("  {}", one_line(&text));
    paint(coloured, style, truncate_str(text.trim_end(), columns, "…").as_ref())
}

fn moving(target: ProgressDrawTarget, label: &str) -> ProgressBar {
    let seconds = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
        let _ = to.write_str(&duration(state.elapsed()));
    };
    let style = ProgressStyle::with_template(LINE).unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::with_draw_target(None, target)
        .with_style(style.with_key("seconds", seconds))
        .with_prefix(label.to_owned())
        // If an error ends the run, its message replaces the line.
        .with_finish(ProgressFinish::AndClear);
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use ralph_memory::agent_output::transcript::AgentSpending;
    use ralph_memory::entry::Outcome;

    use super::*;

    fn ended(outcome: Outcome, duration_secs: f64) -> RunAttempt {
        RunAttempt {
            number: 3,
            outcome,
            reason: None,
            model: None,
            cost_usd: None,
            tokens: Some(12_340),
            duration_secs,
            learned: Vec::new(),
        }
    }

    /// A terminal that keeps its input.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            50
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().unwrap().clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Runs a test with a person who watches, whose terminal shows `bar`, and returns what is printed.
    fn watch(visibility: Visibility, bar: Option<(&Screen, &str)>, test: impl FnOnce(&mut Terminal<'_>)) -> String {
        let mut err = Vec::new();
        let label = bar.map_or_else(String::new, |(_, label)| label.to_owned());
        let target = |screen: &Screen| ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let bar = bar.map(|(screen, label)| moving(target(screen), label));
        let interrupt = Interrupt::default();
        let mut terminal = Terminal { visibility, label, bar, allowed: &[], err: &mut err, interrupt, at_first: None };
        test(&mut terminal);
        drop(terminal);
        String::from_utf8(err).unwrap()
    }

    /// Returns the content of a terminal of an attempt after an event.
    fn shown(label: &str, events: &[RunEvent<'_>]) -> String {
        let screen = Screen::default();
        let mut text = String::new();
        watch(Visibility::All { coloured: false }, Some((&screen, label)), |terminal| {
            for event in events {
                terminal.event(*event);
            }
            terminal.bar.as_ref().unwrap().force_draw();
            text.clone_from(&screen.0.lock().unwrap());
        });
        text.trim_end().chars().skip(2).collect()
    }

    #[test]
    fn a_terminal_shows_one_line_of_its_width() {
        let check = |line: &str, expected: &str| {
            let shown = shown("attempt 3 of 10 · sonnet", &[RunEvent::Line(line)]);
            // A slow machine may show another second.
            let after = shown.strip_prefix("attempt 3 of 10 · sonnet · ").unwrap_or_else(|| panic!("{shown}"));
            assert_eq!(after.trim_start_matches(|character: char| character.is_ascii_digit()), format!(" s{expected}"));
        };
        check("", "");
        check("  reading\n", " · reading");
        check("a\u{1b}[2Jb\tc", " · a\\u{1b}[2Jb c");
        check(&"x".repeat(10_000), " · xxxxxxxxxxxxxxx");
        check(&"語".repeat(100), " · 語語語語語語語");
        check("{spinner}", " · {spinner}");
        let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        check(&token, " · [redacted: gith");
    }

    #[test]
    fn the_line_shows_what_was_spent() {
        let check = |tokens_in, cost_usd, expected: &str| {
            let spending = AgentSpending { tokens_in: Some(tokens_in), tokens_out: None, cost_usd };
            let text = shown("attempt 1 · m", &[RunEvent::Spending(spending)]);
            assert!(text.starts_with(expected), "{text}");
        };
        check(12_340, None, "attempt 1 · m · 12,340 tokens · ");
        check(20_000, Some(0.5), "attempt 1 · m · 20,000 tokens · $0.50 · ");
    }

    #[test]
    fn the_line_is_removed_at_the_end_of_the_run() {
        let screen = Screen::default();
        let printed = watch(Visibility::All { coloured: false }, Some((&screen, "attempt 1 · m")), |terminal| {
            terminal.event(RunEvent::Line("reading"));
            terminal.end(&ended(Outcome::Done, 61.0), 2);
            assert_eq!(screen.0.lock().unwrap().as_str(), "");
        });
        assert_eq!(printed, "attempt 1 · m · done · 1 min 1 s · 12,340 tokens · problems in its report: 2\n");
    }

    #[test]
    fn without_a_terminal_there_are_plain_lines() {
        let printed = watch(Visibility::Attempts, None, |terminal| {
            terminal.begin(3, Some(10), "son\u{1b}net");
            terminal.event(RunEvent::Line("reading"));
            let reason = Some("`cargo test` failed\u{1b} with exit code 101".to_owned());
            terminal.end(&RunAttempt { cost_usd: Some(0.314), reason, ..ended(Outcome::Retried, 42.9) }, 0);
            terminal.begin(4, None, "opus");
        });
        assert_eq!(
            printed,
            "attempt 3 of 10 · son\\u{1b}net\nattempt 3 of 10 · son\\u{1b}net · retried · 42 s · $0.31 · `cargo test` failed\\u{1b} with exit code 101\nattempt 4 · opus\n"
        );
    }

    #[test]
    fn quiet_runs_show_nothing() {
        let printed = watch(Visibility::Nothing, None, |terminal| {
            terminal.event(RunEvent::TaskStarted { title: "Add the tables" });
            terminal.begin(3, Some(10), "sonnet");
            terminal.event(RunEvent::Agent(&AgentEvent::Message("Reading.".into())));
            terminal.end(&ended(Outcome::Done, 1.0), 0);
        });
        assert_eq!(printed, "");
    }

    #[test]
    fn events_are_lines_of_a_terminals_width() {
        let check = |event: AgentEvent, expected: &str| assert_eq!(line(&event, 24, false), expected);
        let call = |tool: &str, argument: &str| AgentEvent::ToolCall { tool: tool.into(), argument: argument.into() };
        check(AgentEvent::Model("sonnet".into()), "  model sonnet");
        check(AgentEvent::Message("I look at it.".into()), "  I look at it.");
        check(call("Bash", "cargo test --lib"), "  → Bash cargo test --l…");
        check(call("Stop", ""), "  → Stop");
        check(AgentEvent::Failure("Exit code 2".into()), "  failed: Exit code 2");
        // Each of these takes two columns.
        check(AgentEvent::Message("語".repeat(30)), &format!("  {}…", "語".repeat(10)));
        check(AgentEvent::Message("a\u{1b}[2J\u{202e}b\tc".into()), "  a\\u{1b}[2J\\u{202e}b c");
        assert_eq!(line(&AgentEvent::Failure("no".into()), 24, true), "\u{1b}[1m\u{1b}[31m  failed: no\u{1b}[0m");
    }
}
