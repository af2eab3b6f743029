//! A user's prompt file: text with `{{name}}` and `{{#if name}}…{{/if}}`.
//!
//! The text of a value is never read as a part of the template. A name that does not exist is refused when the template
//! is read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::text::decoded_whole;

/// The values that a template can name.
const NAMES: [&str; 8] = ["task", "context", "progress", "task_id", "task_title", "model", "attempt", "run_id"];
/// The largest template, in bytes.
const MAX_TEMPLATE: usize = 1024 * 1024;

/// A template for prompts.
///
/// It can name `{{task}}`, `{{context}}`, `{{progress}}`, `{{task_id}}`, `{{task_title}}`, `{{model}}`, `{{attempt}}` and
/// `{{run_id}}`. Text between `{{#if NAME}}` and `{{/if}}` is left out where the value is empty, text after `{{else}}`
/// where it is not.
///
/// ```
/// use ralph_memory::runner::PromptTemplate;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("prompt.md");
/// std::fs::write(&path, "{{task}}\n{{contxt}}\n")?;
/// let refused = PromptTemplate::read(&path).unwrap_err();
/// assert!(refused.to_string().ends_with(":2`: there is no value `contxt`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PromptTemplate {
    path: String,
    text: String,
}

impl PromptTemplate {
    /// Reads a template of at most 1 MiB.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] where the file cannot be read, [`Error::Unusable`] where it is not a template.
    pub fn read(path: &Path) -> Result<PromptTemplate> {
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        let limit = MAX_TEMPLATE as u64 + 1;
        let read = fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        read.map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })?;
        let refuse = |reason: &str| {
            Error::unusable(format!("the template `{name}` {reason}"), "a template is a text of at most 1 MiB")
        };
        if bytes.len() > MAX_TEMPLATE {
            return Err(refuse("is over 1 MiB"));
        }
        let text = decoded_whole(&bytes).ok_or_else(|| refuse("is not UTF-8"))?;
        PromptTemplate::parse(&text, &name)
    }

    /// Takes a template's text. `path` is the file that an error names.
    fn parse(text: &str, path: &str) -> Result<PromptTemplate> {
        let template = PromptTemplate { path: path.to_owned(), text: text.to_owned() };
        template.fill(|_| "")?;
        Ok(template)
    }

    /// Returns the prompt.
    pub(super) fn prompt(&self, values: &BTreeMap<&str, String>) -> Result<String> {
        self.fill(|name| &values[name])
    }

    /// Returns the text with values in place of their names. Names are checked in the parts that are left out, too.
    fn fill<'a>(&self, value: impl Fn(&str) -> &'a str) -> Result<String> {
        let mut filled = String::with_capacity(self.text.len());
        // The line of each open `{{#if …}}`, and whether the part that follows is shown.
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut at = 0;
        while let Some(length) = self.text[at..].find("{{") {
            let tag = at + length;
            let line = 1 + self.text[..tag].matches('\n').count();
            let is_shown = open.iter().all(|(_, shown)| *shown);
            let text = &self.text[at..tag];
            let escaped = text.strip_suffix('\\');
            if is_shown {
                filled.push_str(escaped.unwrap_or(text));
                filled.push_str(escaped.map_or("", |_| "{{"));
            }
            at = tag + 2;
            if escaped.is_some() {
                continue;
            }
            let Some(length) = self.text[at..].find("}}") else { return Err(self.refuse(line, "`{{` is not closed")) };
            let name = self.text[at..at + length].trim();
            at += length + 2;
            let known = |name: &str| {
                if NAMES.contains(&name) {
                    Ok(value(name))
                } else {
                    Err(self.refuse(line, &format!("there is no value `{name}`")))
                }
            };
            match (name.strip_prefix("#if "), open.last_mut()) {
                (Some(name), _) => open.push((line, !known(name.trim())?.is_empty())),
                (None, Some((_, shown))) if name == "else" => *shown = !*shown,
                (None, Some(_)) if name == "/if" => _ = open.pop(),
                _ if matches!(name, "else" | "/if") => {
                    return Err(self.refuse(line, &format!("`{{{{{name}}}}}` stands outside of `{{{{#if …}}}}`")));
                }
                _ if is_shown => filled.push_str(known(name)?),
                _ => _ = known(name)?,
            }
            // A line with nothing but one of these leaves no empty line behind.
            let is_block = name.starts_with("#if ") || matches!(name, "else" | "/if");
            if is_block && (tag == 0 || self.text[..tag].ends_with('\n')) {
                at += ["\n", "\r\n"].iter().find(|end| self.text[at..].starts_with(**end)).map_or(0, |end| end.len());
            }
        }
        if let Some((line, _)) = open.last() {
            return Err(self.refuse(*line, "`{{#if …}}` has no `{{/if}}`"));
        }
        filled.push_str(&self.text[at..]);
        Ok(filled)
    }

    fn refuse(&self, line: usize, reason: &str) -> Error {
        let names: Vec<String> = NAMES.iter().map(|name| format!("{{{{{name}}}}}")).collect();
        Error::unusable(
            format!("cannot use the template `{}:{line}`: {reason}", self.path),
            format!("it can name {}, and `{{{{#if NAME}}}}`; `\\{{{{` writes two braces", names.join(", ")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::prompt::tests::{TASK, values};
    use super::*;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let template = PromptTemplate::parse(template, "p.md").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(template.prompt(&values()).unwrap(), expected);
    }

    #[test]
    fn values_stand_where_they_are_named() {
        check("", "");
        check("{{task_id}} {{ model }} {{attempt}} {{run_id}}", "t-1 sonnet 3 run-1a2b3c4d");
        check("  {{context}}|", "  ## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}|");
        check("{{#if progress}}P{{else}}none{{/if}}", "none");
        check("{{#if progress}}P{{else}}{{#if model}}M{{/if}}{{/if}}", "M");
        check("{{#if model}}{{#if progress}}P{{/if}}{{#if task}}T{{/if}}{{/if}}!", "T!");
        check("{{#if progress}}{{#if model}}M{{else}}no{{/if}}{{/if}}", "");
        check("a\n{{#if model}}\n\nb\r\n{{else}}\r\nc\n{{/if}}\nd {{#if model}}\ne{{/if}}", "a\n\nb\r\nd \ne");
        check("\\{{task}} } {", "{{task}} } {");
        check(&("{{#if model}}".repeat(50_000) + "x" + &"{{/if}}".repeat(50_000)), "x");
    }

    #[test]
    fn the_task_is_a_section() {
        check("{{task}}", TASK);
    }

    #[test]
    fn what_a_template_cannot_do_is_said_with_its_line() {
        #[track_caller]
        fn refused(template: &str, line: usize, reason: &str) {
            let error = PromptTemplate::parse(template, "p.md").err();
            let Some(Error::Unusable { message, hint }) = error else { panic!("`{template}`: {error:?}") };
            assert!(message.starts_with(&format!("cannot use the template `p.md:{line}`: ")), "{message}");
            assert!(message.contains(reason), "{message}");
            assert!(hint.contains("{{context}}, {{progress}}"), "{hint}");
        }
        refused("a\n{{contxt}}", 2, "no value `contxt`");
        refused("{{#if progress}}\n\n{{x}}{{/if}}", 3, "no value `x`");
        refused("{{#if progress}}a{{else}}\n{{x}}{{/if}}", 2, "no value `x`");
        refused("\n{{#if x}}a{{/if}}", 2, "no value `x`");
        refused("{{#each task}}a{{/each}}", 1, "no value `#each task`");
        refused("{{{model}}}", 1, "no value `{model`");
        refused("a\n{{> p.md}}", 2, "no value `> p.md`");
        refused("a\n\n{{#if model}}b", 3, "has no `{{/if}}`");
        refused("a\n{{/if}}", 2, "`{{/if}}` stands outside");
        refused("{{else}}", 1, "`{{else}}` stands outside");
        refused("a\n{{model", 2, "is not closed");
    }

    #[test]
    fn templates_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.md");
        let message = |path: &Path| PromptTemplate::read(path).err().map(|error| error.to_string());
        assert_eq!(message(&path), Some(format!("cannot read `{}`", path.display())));
        fs::write(&path, "{{model}}\r\n").unwrap();
        assert_eq!(PromptTemplate::read(&path).unwrap().prompt(&values()).unwrap(), "sonnet\r\n");
        fs::write(&path, b"\xff").unwrap();
        assert!(message(&path).unwrap().ends_with("is not UTF-8"));
        fs::write(&path, vec![b'x'; MAX_TEMPLATE + 1]).unwrap();
        assert!(message(&path).unwrap().ends_with("is over 1 MiB"));
    }
}
