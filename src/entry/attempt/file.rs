//! Journal files: how an attempt is prepared, written, and read back to the byte.

use serde_json::json;

use super::fingerprint::{error_fingerprint, error_line, line_fingerprint};
use super::sections::{Keep, PARTS};
use super::{Account, Attempt, AttemptHead, NO_REPORT, Outcome, Sections};
use crate::entry::fields::{self, ATTEMPT};
use crate::entry::{Entry, Id, MAX_FRONTMATTER_BYTES};
use crate::text::lines::each_once;
use crate::text::secret::redact;
use crate::text::{floor, for_terminal, one_line, shorten};

/// The largest section, in bytes.
pub(crate) const MAX_SECTION_BYTES: usize = 16 * 1024;
/// The largest notes, in bytes: they hold the agent's notes, with the facts that no entry could take.
const MAX_NOTES_BYTES: usize = 16 * MAX_SECTION_BYTES;
/// The longest list.
pub(crate) const MAX_LIST: usize = 200;
/// The longest title, in characters. With the figures below all texts of the frontmatter together stay
/// under its limit, whatever quoting makes of them.
const MAX_TITLE: usize = 300;
/// The longest command line, in characters.
const MAX_COMMAND: usize = 500;
/// The longest path, and the longest refusal, in characters.
const MAX_ITEM: usize = 300;
/// The longest other text of the frontmatter, in characters.
const MAX_TEXT: usize = 100;
/// How much of a text is read to make one line of it, in bytes.
const MAX_LINE_BYTES: usize = 4_096;
/// Marks a part that was cut off.
const TRUNCATED: &str = "[truncated]";
/// How far before a cut a line end is looked for, in bytes.
const NEAR: usize = 200;

/// Returns a text in the form of a section: secrets redacted except those with an allowed fingerprint, line ends as
/// `\n`, control and invisible characters as `\u{1b}`, no blank lines around it, and at most [`MAX_SECTION_BYTES`].
pub(crate) fn prepare_text(text: &str, keep: Keep, allowed: &[String]) -> String {
    prepare(text, keep, MAX_SECTION_BYTES, allowed)
}

fn prepare(text: &str, keep: Keep, limit: usize, allowed: &[String]) -> String {
    // Escaping only makes text longer, so anything cut here would be cut below.
    let most = 8 * limit;
    let text = without_blank_ends(text);
    let text = match keep {
        Keep::Start => &text[..floor(text, most)],
        Keep::End => &text[ceil(text, text.len().saturating_sub(most))..],
    };
    // Before the cut below, which could leave half a secret.
    let safe = for_terminal(&redact(text, allowed).replace("\r\n", "\n").replace('\r', "\n"));
    let safe = without_blank_ends(&safe);
    if safe.len() <= limit {
        return safe.to_owned();
    }
    match keep {
        Keep::Start => {
            let room = floor(safe, limit - TRUNCATED.len() - 2);
            let cut = safe[floor(safe, room.saturating_sub(NEAR))..room].rfind('\n');
            let end = cut.map_or(room, |at| floor(safe, room.saturating_sub(NEAR)) + at);
            format!("{}\n\n{TRUNCATED}", safe[..end].trim_end())
        }
        Keep::End => {
            let start = ceil(safe, safe.len() - (limit - TRUNCATED.len() - 1));
            let near = floor(safe, (start + NEAR).min(safe.len()));
            let start = safe[start..near].find('\n').map_or(start, |at| start + at + 1);
            format!("{TRUNCATED}\n{}", &safe[start..])
        }
    }
}

/// Removes blank lines before a text, and white space after it.
fn without_blank_ends(text: &str) -> &str {
    let text = text.trim_end();
    let first = text.len() - text.trim_start().len();
    let start = text[..first].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    &text[start..]
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// Returns a text in the form of a frontmatter value: one line, control characters as `\u{1b}`, at most so many
/// characters.
fn line(text: &str, limit: usize) -> String {
    shorten(&for_terminal(&one_line(text)), limit)
}

/// Does the same for a path, whose spaces are significant.
fn path(text: &str) -> String {
    shorten(for_terminal(text).replace('\n', "\\u{a}").replace('\t', "\\u{9}").trim(), MAX_ITEM)
}

/// Returns the items in the form of a list: each once, none empty, the first [`MAX_LIST`].
fn items(all: &[String], fit: impl Fn(&str) -> String) -> Vec<String> {
    let mut items = each_once(all, fit);
    items.truncate(MAX_LIST);
    items
}

/// Returns the number if it makes sense as a duration or a cost.
fn amount(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

impl Attempt {
    /// Returns the attempt in the form in which it is written: secrets redacted except those with an allowed
    /// fingerprint, texts on one line where they must be, lists and sections within their limits, control characters
    /// escaped. A prepared attempt stays unchanged.
    #[must_use]
    pub(crate) fn prepared(&self, allowed: &[String]) -> Attempt {
        let line = |text: &str, limit: usize| line(&redact(&text[..floor(text, MAX_LINE_BYTES)], allowed), limit);
        let path = |text: &str| path(&redact(&text[..floor(text, MAX_LINE_BYTES)], allowed));
        let mut prepared = self.clone();
        // Each field is named, so that the compiler asks about a new one.
        let Attempt { run_id, task_id, task_title, feature, source: _, started_at, head, sections } = &mut prepared;
        let AttemptHead {
            iteration: _,
            outcome: _,
            difficulty: _,
            tokens_in: _,
            tokens_out: _,
            error_fingerprint: _,
            line_fingerprint: _,
            account: _,
            section,
            error_category,
            model,
            model_rationale,
            tree,
            commit,
            next_model,
            duration_secs,
            cost_usd,
            files,
            validation,
            context,
            refused,
        } = head;
        for text in [task_id, feature, section, error_category, model, model_rationale, tree, commit, next_model] {
            *text = text.as_ref().map(|text| line(text, MAX_TEXT)).filter(|text| !text.is_empty());
        }
        (*run_id, *task_title) = (line(run_id, MAX_TEXT), line(task_title, MAX_TITLE));
        *started_at = chrono::SubsecRound::trunc_subsecs(*started_at, 6);
        (*duration_secs, *cost_usd) = (amount(*duration_secs), amount(*cost_usd));
        for list in files.lists_mut() {
            *list = items(list, path);
        }
        if let Some(validation) = validation {
            validation.command = line(&validation.command, MAX_COMMAND);
            // Whole numbers inside a mapping are read as those of 63 bits.
            validation.duration_ms = validation.duration_ms.min(i64::MAX.unsigned_abs());
        }
        *context = unique(context);
        *refused = items(refused, |refused| line(refused, MAX_ITEM));
        *sections = sections.prepared(allowed);
        head.measure(sections);
        prepared.shrink();
        prepared
    }

    /// Shortens the longest list until the frontmatter can be read.
    fn shrink(&mut self) {
        while self.frontmatter().len() > MAX_FRONTMATTER_BYTES {
            let size = |list: &Vec<String>| list.iter().map(|item| item.len() + 4).sum::<usize>();
            let context = self.head.context.iter().map(|id| id.as_str().len() + 4).sum::<usize>();
            let lists = self.head.files.lists_mut().into_iter().chain([&mut self.head.refused]);
            let longest = lists.max_by_key(|list| size(list));
            match longest {
                Some(list) if size(list) >= context && !list.is_empty() => list.truncate(list.len() / 2),
                _ if self.head.context.is_empty() => return,
                _ => self.head.context.truncate(self.head.context.len() / 2),
            }
        }
    }

    /// Returns the text of the file of an attempt that is [`prepared`](Attempt::prepared).
    pub(crate) fn to_file(&self) -> String {
        format!("---\n{}---\n{}", self.frontmatter(), self.sections.to_body())
    }

    fn frontmatter(&self) -> String {
        let Attempt { run_id, task_id, task_title, feature, source, started_at, head, sections: _ } = self;
        let mut values = fields::object(head);
        values.extend(fields::object(&json!({
            "run_id": run_id,
            "task_id": task_id,
            "task_title": task_title,
            "feature": feature,
            "source": source,
            "started_at": started_at,
        })));
        fields::frontmatter(&ATTEMPT, values)
    }

    /// Reads a journal file; `None` if it is not an attempt, or lacks a required value.
    #[doc(hidden)]
    pub fn of(entry: &Entry) -> Option<Attempt> {
        let head = &entry.head;
        Some(Attempt {
            run_id: head.run_id.clone()?,
            task_id: head.task_id.clone(),
            task_title: head.title.clone(),
            feature: head.feature.clone(),
            source: head.source,
            started_at: head.created_at?,
            head: head.attempt.as_deref()?.clone(),
            sections: Sections::read(&entry.body),
        })
    }
}

impl AttemptHead {
    /// Measures the body.
    pub(in crate::entry) fn measure(&mut self, sections: &Sections) {
        self.error_fingerprint = self.error(sections).and_then(error_fingerprint);
        self.line_fingerprint = self.error(sections).and_then(error_line).and_then(line_fingerprint);
        self.account = self.account_of(sections);
    }

    /// Returns how much the body says.
    pub(crate) fn account_of(&self, sections: &Sections) -> Account {
        let Sections {
            what_tried: tried,
            why_failed: why,
            notes,
            summary,
            feedback,
            error_output,
            errors,
            retry_suggestion,
            ..
        } = sections;
        let has = |texts: &[&str]| texts.iter().any(|text| !text.trim().is_empty());
        let why = if why.trim() == NO_REPORT { "" } else { why };
        let refuted_by = if self.outcome == Outcome::Retried { &sections.validation_output } else { "" };
        if self.outcome == Outcome::Done {
            Account::Printed
        } else if has(&[tried, why, notes, feedback, refuted_by]) {
            Account::Told
        } else if has(&[summary, error_output, errors, retry_suggestion]) {
            Account::Printed
        } else {
            Account::Silent
        }
    }

    /// Returns its error: the output of verification, else the error output.
    pub(super) fn error<'a>(&self, sections: &'a Sections) -> Option<&'a str> {
        if self.outcome.is_success() != Some(false) {
            return None;
        }
        let is_refuted = self.validation.as_ref().is_some_and(|validation| validation.exit_code != 0);
        let output = Some(&sections.validation_output).filter(|output| is_refuted && !output.is_empty());
        Some(output.unwrap_or(&sections.error_output))
    }
}

impl Sections {
    /// Returns whether the notes are only a part of what was reported.
    pub(crate) fn has_cut_notes(&self) -> bool {
        self.notes.len() + NEAR + TRUNCATED.len() + 2 >= MAX_NOTES_BYTES && self.notes.ends_with(TRUNCATED)
    }

    fn prepared(&self, allowed: &[String]) -> Sections {
        let mut prepared = self.clone();
        prepared.notes = prepare(&self.notes, Keep::Start, MAX_NOTES_BYTES, allowed);
        for (_, keep, part) in PARTS {
            let text = part(&mut prepared);
            *text = prepare_text(text, keep, allowed);
        }
        prepared
    }
}

fn unique(ids: &[Id]) -> Vec<Id> {
    let mut unique: Vec<Id> = Vec::new();
    // An id that reads back as another one cannot occur.
    for id in ids.iter().filter_map(|id| Id::parse(id.as_str())) {
        if unique.len() < MAX_LIST && !unique.contains(&id) {
            unique.push(id);
        }
    }
    unique
}
