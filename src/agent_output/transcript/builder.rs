//! Builds a transcript from events, in the same way for all formats, each part within its limit.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use xxhash_rust::xxh3::xxh3_64;

use super::Transcript;
use super::ending::{self, Ending};
use super::event::{Events, start};
use super::paths::Touched;
use super::tail::Tail;
use crate::agent_output::elements::{in_list, without_sigils};
use crate::entry::attempt::{MAX_LIST, MAX_SECTION_BYTES};
use crate::text::lines::CodeFence;
use crate::text::secret::redact;
use crate::text::{cut, floor, one_line};

/// The longest error or decision, in characters.
const MAX_ITEM: usize = 300;
/// The longest command in an error, in characters.
const MAX_COMMAND: usize = 120;
/// The minimum length of a text that becomes the summary if the stream does not name one, in characters.
const MIN_SUMMARY: usize = 50;
/// How much of a summary is kept, in bytes; it is redacted before it is cut to a section.
const MAX_SUMMARY: usize = 8 * MAX_SECTION_BYTES;
/// How far back a text is searched for in earlier texts, in bytes, in addition to its own length.
const NEAR: usize = 64 * 1024;
/// How many of the last texts are remembered by their hash.
const MAX_TEXTS: usize = 64;
/// How many errors are remembered by their hash.
const MAX_KNOWN: usize = 10_000;

/// The transcript so far.
#[derive(Debug, Default)]
pub(super) struct TranscriptBuilder {
    pub(super) files: Touched,
    pub(super) model: Option<String>,
    pub(super) duration_secs: Option<f64>,
    pub(super) ending: Ending,
    pub(super) is_complete: bool,
    /// Events for people who watch; `None` if nobody does.
    pub(super) events: Option<Events>,
    allowed: Vec<String>,
    text: Tail,
    /// The hashes of the last texts, the latest first.
    texts: VecDeque<u64>,
    /// How much text came after the last end of the stream, in bytes.
    n_since_end: usize,
    errors: List,
    commands: List,
    decisions: List,
    /// The final text of the stream.
    result: String,
    /// The last text that is long enough for a summary.
    last_long: String,
    /// The last text.
    last: String,
}

/// Distinct lines, at most [`MAX_LIST`].
#[derive(Debug, Default)]
struct List {
    lines: Vec<String>,
    known: BTreeSet<u64>,
}

impl TranscriptBuilder {
    pub(super) fn new(root: &str, allowed: Vec<String>) -> TranscriptBuilder {
        TranscriptBuilder { files: Touched::new(root), allowed, ..TranscriptBuilder::default() }
    }

    /// Adds a text that the agent itself wrote.
    pub(super) fn say(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(b"\n\n");
        }
        self.text.push(text.as_bytes());
        self.texts.truncate(MAX_TEXTS - 1);
        self.texts.push_front(xxh3_64(text.as_bytes()));
        self.n_since_end = self.n_since_end.saturating_add(text.len() + 2);
        self.decide(text);
        // Sigils are reported elsewhere, and text in a fence is not the agent's own statement.
        for error in unfenced(&without_sigils(text)).filter_map(ending::own_error) {
            self.note_error("", error);
        }
        if let Some(events) = &mut self.events {
            events.message(text, &self.allowed);
        }
        if text.chars().nth(MIN_SUMMARY).is_some() {
            text[..floor(text, MAX_SUMMARY)].clone_into(&mut self.last_long);
        }
        text[..floor(text, MAX_SUMMARY)].clone_into(&mut self.last);
    }

    /// Adds the final text of a stream, which usually repeats the last text.
    pub(super) fn end(&mut self, text: &str, is_summary: bool) {
        let text = text.trim();
        let hash = xxh3_64(text.as_bytes());
        // Usually it is one of the last texts. A part of a text, or several texts together, are searched for only in
        // the text since the previous end. Otherwise, each of many short ends would cost a long search.
        if !self.texts.contains(&hash) && !self.text.ends_near(text, NEAR.min(self.n_since_end)) {
            self.say(text);
        }
        self.n_since_end = 0;
        if is_summary {
            text[..floor(text, MAX_SUMMARY)].clone_into(&mut self.result);
        } else {
            // It reports an error, so it is not a summary.
            self.last.clear();
        }
    }

    /// Records how the work ended, and that the stream is complete.
    pub(super) fn close(&mut self, ending: Ending) {
        (self.ending, self.is_complete) = (ending, true);
    }

    /// Records that the model stopped before the end of its work: a limit, or a refusal.
    pub(super) fn stop(&mut self, reason: &str) {
        self.close(Ending::Blocked);
        self.fail("", &format!("the model stopped with `{reason}`"));
    }

    /// Records the call of a tool with its main argument, which is computed only if somebody watches. A path in the
    /// project is made relative.
    pub(super) fn call(&mut self, tool: &str, argument: impl FnOnce() -> String) {
        if let Some(events) = &mut self.events {
            events.call(tool, self.files.relative(&argument()), &self.allowed);
        }
    }

    /// Records the model, if it is named.
    pub(super) fn set_model(&mut self, model: Option<String>) {
        let Some(model) = model else { return };
        if let Some(events) = &mut self.events {
            events.model(&model);
        }
        self.model = Some(model);
    }

    /// Records an error of something that the first lines name.
    pub(super) fn fail(&mut self, what: &str, text: &str) {
        if let Some(events) = &mut self.events {
            events.failure(error(what, text, &self.allowed));
        }
        self.note_error(what, text);
    }

    fn note_error(&mut self, what: &str, text: &str) {
        self.errors.add(&[what, text], || error(what, text, &self.allowed));
    }

    /// Records a command that a tool ran.
    pub(super) fn ran(&mut self, line: &str) {
        self.commands.add(&[line], || error(&command(line), "", &self.allowed));
    }

    /// Records the decisions in a text.
    pub(super) fn decide(&mut self, text: &str) {
        for decision in unfenced(text).filter_map(decision) {
            self.decisions.add(&[decision], || cut(&command_line(&redact(start(decision), &self.allowed)), MAX_ITEM));
        }
    }

    /// Returns the transcript. Plain text has no summary apart from the text itself.
    pub(super) fn finish(self, is_stream: bool) -> Transcript {
        let (text, n_dropped) = self.text.into_text();
        let summary = [self.result, self.last_long, self.last]
            .iter()
            .map(|text| without_sigils(text))
            .find(|text| !text.is_empty());
        Transcript {
            text,
            n_dropped,
            files: self.files.files(),
            errors: self.errors.lines,
            commands: self.commands.lines,
            decisions: self.decisions.lines,
            summary: summary.filter(|_| is_stream).unwrap_or_default(),
            model: self.model,
            duration_secs: self.duration_secs,
            is_failed: self.ending == Ending::Failed,
            is_blocked: self.ending == Ending::Blocked,
            is_interrupted: self.ending == Ending::Interrupted,
            is_complete: self.is_complete,
            ..Transcript::default()
        }
    }
}

impl List {
    /// Adds a line, which is computed only if it may be new.
    fn add(&mut self, of: &[&str], make: impl FnOnce() -> String) {
        if self.lines.len() >= MAX_LIST {
            return;
        }
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let key = of.iter().fold(0u64, |hash, part| hash.rotate_left(5) ^ xxh3_64(start(part).as_bytes()));
        if self.known.insert(key) {
            let line = make();
            if !line.is_empty() && !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }
}

/// Returns the lines of a text outside of fences.
fn unfenced(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<CodeFence> = None;
    text.lines().filter(move |line| {
        let before = fence;
        fence = before.map_or_else(|| CodeFence::opened_by(line), |open| (!open.is_closed_by(line)).then_some(open));
        before.is_none() && fence.is_none()
    })
}

fn error(what: &str, text: &str, allowed: &[String]) -> String {
    // Redaction comes before any cut, which could leave half a secret.
    let what = command_line(&redact(start(what), allowed));
    let text = headline(&redact(&telling(text), allowed));
    let separator = if what.is_empty() || text.is_empty() { "" } else { ": " };
    cut(&format!("{what}{separator}{text}"), MAX_ITEM)
}

/// Returns the form of a command in an error: its first line, between backticks.
pub(super) fn command(text: &str) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    format!("`{}`", start(first).replace('`', "'"))
}

/// Returns the part of an error that is examined: its beginning or, for a Python traceback after an exit code, the last
/// line, which names the exception.
fn telling(text: &str) -> Cow<'_, str> {
    let head = start(text);
    let Some((before, _)) = head.split_once("Traceback (most recent call last):") else { return Cow::Borrowed(head) };
    let code = before.lines().next().filter(|line| is_exit_code(line)).unwrap_or_default();
    Cow::Owned(format!("{code}\n{}", start(text.trim_end().lines().next_back().unwrap_or_default())))
}

fn is_exit_code(line: &str) -> bool {
    let code = line.trim().to_ascii_lowercase();
    code.strip_prefix("exit code").is_some_and(|code| code.trim().parse::<i32>().is_ok())
}

fn command_line(text: &str) -> String {
    let line = one_line(text);
    // The closing backtick separates a command from its error, so a cut must not remove it.
    match line.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        Some((command, after)) => format!("`{}`{after}", cut(command, MAX_COMMAND)),
        None => line,
    }
}

/// Returns the first telling line of an error. After a line that is only an exit code, that is the next one.
fn headline(text: &str) -> String {
    let text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let second = lines.next().filter(|_| is_exit_code(first)).map(|line| format!(": {line}")).unwrap_or_default();
    one_line(&format!("{first}{second}"))
}

/// Returns the decision in a line of an agent's text, without the words that mark it: the line begins, after the mark of a
/// list, a heading or emphasis, with `Decision:`, `Decisions:`, `Decided:`, or with `Decided`, `I decided`, `We decided`,
/// `I have decided` or `We have decided` and `to`, `on`, `against` or `that`. Code fences and quotations do not count. The rule
/// prefers to miss a decision over finding a wrong one, since decisions go to the journal.
pub(super) fn decision(line: &str) -> Option<&str> {
    let line = in_list(line.trim()).trim_start_matches('#').trim_start();
    let core = line.trim_start_matches(['*', '_']);
    let opened = &line[..line.len() - core.len()];
    let after = |word: &str| {
        core.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(|_| &core[word.len()..])
    };
    for word in ["decisions", "decision", "decided"] {
        let Some(rest) = after(word) else { continue };
        // `**Decision**: x`, and `**Decision:** x`.
        let (rest, is_open) = match rest.strip_prefix(opened) {
            Some(rest) if !opened.is_empty() => (rest, false),
            _ => (rest, !opened.is_empty()),
        };
        let Some(rest) = rest.strip_prefix(':') else { continue };
        let rest = if is_open { rest.strip_prefix(opened).unwrap_or(rest) } else { rest };
        return Some(rest.trim()).filter(|rest| rest.contains(char::is_alphanumeric));
    }
    let who =
        ["decided", "i decided", "we decided", "i have decided", "we have decided", "i've decided", "we've decided"];
    let rest = who.iter().find_map(|who| after(who))?;
    let is_told = [" to ", " on ", " against ", " that "].iter().any(|word| rest.starts_with(word));
    is_told.then(|| core.trim_end_matches(['*', '_']).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_lines_that_begin_with_the_word() {
        let check = |line: &str, expected: Option<&str>| assert_eq!(decision(line), expected, "{line}");
        check("Decision: use one table", Some("use one table"));
        check("decision:use one table", Some("use one table"));
        check("  - **Decision:** use **one** table", Some("use **one** table"));
        check("**Decision**: **one** table", Some("**one** table"));
        check("### Decision: one table", Some("one table"));
        check("2. Decided: one table", Some("one table"));
        check("Decided to keep it.", Some("Decided to keep it."));
        check("* *We have decided against a daemon.*", Some("We have decided against a daemon."));
        check("I decided that it stays", Some("I decided that it stays"));
        check("Decision:", None);
        check("Decisions: -", None);
        check("Decision", None);
        check("> Decision: quoted", None);
        check("The decision: none", None);
        check("Undecided to the end", None);
        check("Decided tomorrow", None);
        check("decision_table: x", None);
        check("`Decision: x`", None);
    }

    #[test]
    fn fences_decide_nothing() {
        let mut builder = TranscriptBuilder::new("", Vec::new());
        builder.decide("Decision: a\n```yaml\nDecision: b\n~~~\nDecision: c\n```\nDecision: d\nDecision: a\n");
        assert_eq!(builder.finish(false).decisions, ["a", "d"]);
    }

    #[test]
    fn sigils_and_fences_are_no_errors() {
        let mut builder = TranscriptBuilder::new("", Vec::new());
        builder.say(
            "<learning tags=\"config\">\nKeyError: port means that the config is old.</learning>\n```\nTypeError: x\n```\n\
             I fixed the TypeError: there is no RuntimeError: any more.\n- ValueError: no port",
        );
        assert_eq!(builder.finish(true).errors, ["ValueError: no port"]);
    }

    #[test]
    fn an_error_is_one_line() {
        let check = |what: &str, text: &str, expected: &str| {
            let mut builder = TranscriptBuilder::new("", Vec::new());
            builder.fail(what, text);
            builder.fail(what, text);
            assert_eq!(builder.finish(true).errors, [expected].map(str::to_owned), "{text}");
        };
        check("", "\n\n  boom \n at x", "boom");
        check(
            "Edit src/a.rs",
            "<tool_use_error>File does not exist.</tool_use_error>",
            "Edit src/a.rs: File does not exist.",
        );
        check("`make`", "Exit code 2\n\nmake: *** no rule", "`make`: Exit code 2: make: *** no rule");
        check("`make`", "", "`make`");
        check(&command(&"x".repeat(500)), "no", &format!("`{}…`: no", "x".repeat(MAX_COMMAND - 1)));
        let trace = "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: no port";
        check("`make`", &format!("Exit code 1\n{trace}"), "`make`: Exit code 1: ValueError: no port");
        check("", &format!("{trace}\n\n{}\n{trace}\n", "x".repeat(9000)), "ValueError: no port");
        check("", &"é".repeat(9000), &format!("{}…", "é".repeat(MAX_ITEM - 1)));
    }

    #[test]
    fn secrets_do_not_pass() {
        let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
        let mut builder = TranscriptBuilder::new("", Vec::new());
        // The secret is at a place where a cut would leave half of it.
        builder.fail(
            &command(&format!("curl {} {token}", "y".repeat(MAX_COMMAND - 20))),
            &format!("{} {token}", "x".repeat(130)),
        );
        builder.decide(&format!("Decision: {} {token}", "x ".repeat(130)));
        let said = builder.finish(true);
        let all = [said.errors, said.decisions].concat().join("\n");
        assert!(!all.contains(&token[..12]) && all.contains("[redacted"), "{all}");
    }
}
