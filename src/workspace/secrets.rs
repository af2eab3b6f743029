//! Secrets: refused in new knowledge, and found in existing files.

use super::Workspace;
use super::activity::Ongoing;
use crate::entry::knowledge::Knowledge;
use crate::entry::path::display_path;
use crate::entry::{MAX_FILE_BYTES, place};
use crate::error::{Error, Findings, MAX_OF_FILE, Problem, Result, Severity};
use crate::index::catalog::Catalog;
use crate::text::secret::{self, Secret};
use crate::text::{floor, invisible};

impl Workspace {
    /// Refuses knowledge that contains a secret.
    pub(crate) fn refuse_secrets(&self, knowledge: &Knowledge) -> Result<()> {
        knowledge.texts().iter().try_for_each(|(what, text)| self.refuse_secrets_in(what, text))
    }

    /// Refuses a text that contains a secret.
    pub(crate) fn refuse_secrets_in(&self, what: &'static str, text: &str) -> Result<()> {
        // Longer text is refused anyway.
        let text = &text[..floor(text, MAX_FILE_BYTES)];
        let Some(secret) = self.secrets_in(text).next() else { return Ok(()) };
        let (line, _) = secret.place(text);
        let Secret { pattern, fingerprint, .. } = secret;
        Err(Error::Secret { what, line, pattern, fingerprint })
    }

    /// Refuses knowledge of an agent that contains invisible characters.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with the character and its place.
    pub(crate) fn refuse_invisible(knowledge: &Knowledge) -> Result<()> {
        let Some((what, reason)) = first_invisible(knowledge).filter(|_| !knowledge.source.is_person()) else {
            return Ok(());
        };
        Err(Error::invalid(what, format!("{reason}; leave it out")))
    }

    /// Returns a warning if knowledge contains such a character, which is in the file at `path` now.
    pub(crate) fn warn_of_invisible(knowledge: &Knowledge, path: &str) -> Option<Problem> {
        let (what, reason) = first_invisible(knowledge)?;
        Some(Problem::warning(
            path.to_owned(),
            "invisible-character",
            format!("{what}: {reason}"),
            "it was written unchanged; delete it if it has no meaning, since nobody can review it",
        ))
    }

    pub(crate) fn secrets_in(&self, text: &str) -> impl Iterator<Item = Secret> + use<'_> {
        let found = secret::find(text).into_iter();
        found.filter(|secret| !secret::is_allowed(secret, &self.settings.allowed_secrets))
    }

    /// Finds the places of secrets in the files of the catalog.
    pub(crate) fn committed_secrets(&self, catalog: &Catalog, findings: &mut Findings, checking: &mut Ongoing<'_>) {
        for path in catalog.rows().map(|row| catalog.path(row)) {
            checking.advance(1);
            // Unreadable files are reported already.
            let Ok(file) = self.store.read(&path) else { continue };
            let text = String::from_utf8_lossy(&file.bytes);
            let mut secrets = self.secrets_in(&text);
            findings.extend(secrets.by_ref().take(MAX_OF_FILE).map(|secret| {
                let (line, column) = secret.place(&text);
                let Secret { pattern, fingerprint, .. } = secret;
                Problem::error(display_path(&path), "secret", format!("this looks like a secret: {pattern}, fingerprint {fingerprint}"), format!(
                        "revoke it, and remove it; if it is not a secret, put \"{fingerprint}\" into `secrets.allowed` of `.ralph/config.toml`"
                    )).at(line, column)
            }));
            findings.add_unlisted(&display_path(&path), Severity::Error, secrets.count());
        }
    }
}

/// Returns the place of the first invisible character of knowledge, and the character.
fn first_invisible(knowledge: &Knowledge) -> Option<(String, String)> {
    knowledge.texts().iter().find_map(|(what, text)| {
        let (at, character) = invisible(text).next()?;
        let (line, column) = place(text, at);
        let reason = format!("U+{:04X} is an invisible character", u32::from(character));
        Some((format!("{what}, line {line}, column {column}"), reason))
    })
}
