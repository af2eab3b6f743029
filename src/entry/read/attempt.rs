//! Reads the frontmatter of an attempt.

use serde_json::Value;

use super::reader::EntryReader;
use crate::entry::frontmatter::Fields;
use crate::entry::{AttemptHead, Difficulty, Id, Outcome, Validation};

impl EntryReader<'_> {
    /// Reads the required and the optional values of an attempt.
    pub(super) fn attempt(&mut self, fields: &Fields) {
        self.head.valid = true;
        self.shared_fields(fields);
        self.head.title = self.text(fields, "task_title").unwrap_or_default();
        self.head.created_at = self.time(fields, &["started_at"]);
        let iteration = self.number::<u32>(fields, "iteration", "a whole number");
        let outcome = self.text(fields, "outcome").and_then(|text| {
            let outcome = Outcome::parse(&text);
            if outcome.is_none() {
                self.bad_value(
                    "outcome",
                    &format!("is unknown: `{text}`"),
                    "use one of done, failed, blocked, retried, error, partial, interrupted",
                );
            }
            outcome
        });
        let hint = "journal files are written by the program; restore it from version control";
        if self.head.run_id.is_none() {
            self.missing("run_id", hint);
        }
        if self.head.created_at.is_none() {
            self.missing("started_at", hint);
        }
        if iteration.is_none() {
            self.missing("iteration", hint);
        }
        if outcome.is_none() {
            self.missing("outcome", hint);
        }
        if let (Some(iteration), Some(outcome)) = (iteration, outcome) {
            let mut head = AttemptHead::new(iteration, outcome);
            self.attempt_fields(fields, &mut head);
            self.head.attempt = Some(Box::new(head));
        }
    }

    /// Reads the optional values of an attempt.
    fn attempt_fields(&mut self, fields: &Fields, head: &mut AttemptHead) {
        head.section = self.text(fields, "section");
        head.error_category = self.text(fields, "error_category");
        head.model = self.text(fields, "model");
        head.model_rationale = self.text(fields, "model_rationale");
        head.tree = self.text(fields, "tree");
        head.next_model = self.text(fields, "next_model");
        if let Some(difficulty) = self.text(fields, "difficulty") {
            head.difficulty = Difficulty::parse(&difficulty);
            if head.difficulty.is_none() {
                let names = Difficulty::ALL.map(Difficulty::as_str).join(", ");
                self.bad_value("difficulty", &format!("is unknown: `{difficulty}`"), &format!("use one of {names}"));
            }
        }
        head.duration_secs = self.amount(fields, "duration_secs");
        head.cost_usd = self.amount(fields, "cost_usd");
        head.tokens_in = self.number(fields, "tokens_in", "a whole number");
        head.tokens_out = self.number(fields, "tokens_out", "a whole number");
        head.refused = self.list(fields, "refused");
        for id in self.list(fields, "context") {
            match Id::parse(&id) {
                Some(id) => head.context.push(id),
                None => self.bad_value("context", &format!("is not the id of an entry: `{id}`"), "write ids"),
            }
        }
        if let Some(files) = self.mapping(fields, "files", "lists of paths: `{modified: [src/lib.rs]}`") {
            let files: Fields = files.into_iter().collect();
            head.files.created = self.list(&files, "created");
            head.files.modified = self.list(&files, "modified");
            head.files.read = self.list(&files, "read");
            head.files.relevant = self.list(&files, "relevant");
        }
        let shape = "`{command: \"cargo test\", exit_code: 0, duration_ms: 12}`";
        if let Some(validation) = self.mapping(fields, "validation", shape) {
            let whole = |key: &str| validation.get(key).and_then(Value::as_i64);
            head.validation = whole("exit_code").and_then(|exit_code| {
                Some(Validation {
                    command: validation.get("command").and_then(Value::as_str).unwrap_or_default().trim().to_owned(),
                    exit_code: exit_code.try_into().ok()?,
                    duration_ms: validation.get("duration_ms").and_then(Value::as_u64).unwrap_or_default(),
                })
            });
            if head.validation.is_none() {
                self.bad_value("validation", "has no exit code", &format!("write it as in {shape}"));
            }
        }
    }

    fn mapping(&mut self, fields: &Fields, key: &str, shape: &str) -> Option<serde_json::Map<String, Value>> {
        let value = fields.get(key)?;
        let mapping = value.as_object().cloned();
        if mapping.is_none() {
            self.bad_value(key, "is not a mapping, so it is ignored", &format!("write it as in {shape}"));
        }
        mapping
    }

    /// Returns a number from 0 on.
    fn amount(&mut self, fields: &Fields, key: &str) -> Option<f64> {
        let number: f64 = self.number(fields, key, "a number")?;
        let is_good = number.is_finite() && number >= 0.0;
        if !is_good {
            self.bad_value(key, "is negative or infinite, so it is ignored", "write a number from 0 on");
        }
        Some(number).filter(|_| is_good)
    }
}
