//! Secrets: refused in what is to be known, and found in files that others wrote.

use super::Memory;
use super::write::shown;
use crate::catalog::Catalog;
use crate::entry::MAX_FILE_BYTES;
use crate::entry::knowledge::Knowledge;
use crate::error::{Error, Problem, Result, Severity};
use crate::secret::{self, Secret};
use crate::text::floor;

/// How many secrets of one file are told one by one: with the first few mended, the rest is seen.
const MAX_TOLD: usize = 20;

impl Memory {
    /// Lets values with these [fingerprints](Secret::fingerprint) pass, beside those that the settings allow:
    /// they look like secrets and are none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for what is no fingerprint.
    pub fn allow_secrets(mut self, fingerprints: &[String]) -> Result<Memory> {
        for fingerprint in fingerprints {
            if !secret::is_fingerprint(fingerprint) {
                let reason = format!("`{fingerprint}` is none: a refusal names one, of eight hexadecimal digits");
                return Err(Error::Invalid { what: "fingerprint".to_owned(), reason });
            }
            self.settings.allowed_secrets.push(fingerprint.clone());
        }
        Ok(self)
    }

    /// Refuses knowledge that holds a secret.
    pub(super) fn refuse_secrets(&self, knowledge: &Knowledge) -> Result<()> {
        let details = knowledge.details.as_ref().map(|details| serde_json::Value::from(details.clone()).to_string());
        let fields = [
            ("title", knowledge.title.clone()),
            ("body", knowledge.body.clone()),
            ("tags", knowledge.tags.join("\n")),
            ("scope", knowledge.scope.to_string()),
            ("task_id", knowledge.task_id.clone().unwrap_or_default()),
            ("run_id", knowledge.run_id.clone().unwrap_or_default()),
            ("files", knowledge.files.join("\n")),
            ("details", details.unwrap_or_default()),
            ("category", knowledge.category.clone().unwrap_or_default()),
            ("feature", knowledge.feature.clone().unwrap_or_default()),
        ];
        fields.iter().try_for_each(|(what, text)| self.refuse_secrets_in(what, text))
    }

    /// Refuses a text that holds a secret.
    pub(super) fn refuse_secrets_in(&self, what: &'static str, text: &str) -> Result<()> {
        // What is longer is refused anyway.
        let text = &text[..floor(text, MAX_FILE_BYTES)];
        let Some(secret) = self.secrets_in(text).next() else { return Ok(()) };
        let (line, _) = secret.place(text);
        let Secret { pattern, fingerprint, .. } = secret;
        Err(Error::Secret { what, line, pattern, fingerprint })
    }

    fn secrets_in(&self, text: &str) -> impl Iterator<Item = Secret> + use<'_> {
        let found = secret::find(text).into_iter();
        found.filter(|secret| !secret::is_allowed(secret, &self.settings.allowed_secrets))
    }

    /// Returns where the files of the catalog hold secrets.
    pub(super) fn committed_secrets(&self, catalog: &Catalog) -> Vec<Problem> {
        let mut problems = Vec::new();
        for path in catalog.rows().map(|row| catalog.path(row)) {
            // What cannot be read is told of already.
            let Ok(file) = self.store.read(&path) else { continue };
            let text = String::from_utf8_lossy(&file.bytes);
            problems.extend(self.secrets_in(&text).take(MAX_TOLD).map(|secret| {
                let (line, column) = secret.place(&text);
                let Secret { pattern, fingerprint, .. } = secret;
                Problem {
                    path: shown(&path),
                    line: Some(line),
                    column: Some(column),
                    severity: Severity::Error,
                    code: "secret".to_owned(),
                    message: format!("this looks like a secret: {pattern}, fingerprint {fingerprint}"),
                    hint: format!(
                        "revoke it, and take it out; if it is none, put \"{fingerprint}\" into `secrets.allowed` of `.ralph/config.toml`"
                    ),
                }
            }));
        }
        problems
    }
}
