//! A prompt template of the user's, in Handlebars.
//!
//! What values say is never taken for a part of the template, and whatever would fail or mean nothing is refused when the
//! template is read.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use handlebars::{Handlebars, PathSeg, TemplateErrorReason, no_escape};
use serde::Serialize;

use super::prompt::PromptParts;
use crate::error::{Error, Result};

/// The values that a template can name.
const NAMES: [&str; 8] = ["task", "context", "progress", "task_id", "task_title", "model", "iteration", "run_id"];
/// The helpers that a template can use. Values are texts and a number, so there is nothing to walk
/// through, and a template is one file.
const HELPERS: [&str; 12] = ["if", "unless", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or", "not", "raw"];
/// The largest template, in bytes.
const MAX_TEMPLATE: usize = 1024 * 1024;
/// The most blocks of a template: its parser goes one deeper for each.
const MAX_BLOCKS: usize = 200;

/// What stands behind the names in a template.
#[derive(Serialize)]
struct TemplateValues<'a> {
    task: String,
    context: &'a str,
    progress: &'a str,
    task_id: &'a str,
    task_title: &'a str,
    model: &'a str,
    iteration: u32,
    run_id: &'a str,
}

/// A Handlebars template for prompts.
///
/// It can name `{{task}}`, `{{context}}`, `{{progress}}`, `{{task_id}}`, `{{task_title}}`, `{{model}}`, `{{iteration}}` and
/// `{{run_id}}`.
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
    registry: Handlebars<'static>,
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
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8"))?;
        PromptTemplate::parse(&text, &name)
    }

    /// Takes a template's text. `path` is named where it makes no sense.
    fn parse(text: &str, path: &str) -> Result<PromptTemplate> {
        if text.matches("{{#").count() + text.matches("{{^").count() > MAX_BLOCKS {
            return Err(refuse(path, None, &format!("it has over {MAX_BLOCKS} blocks")));
        }
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(no_escape);
        registry.register_template_string(path, text).map_err(|error| {
            let reason = match error.reason() {
                // What it says then are names of its grammar.
                TemplateErrorReason::InvalidSyntax(_) => "the syntax is wrong; is a block not closed?".to_owned(),
                reason => reason.to_string(),
            };
            refuse(path, error.pos().map(|(line, _)| line), &reason)
        })?;
        if let Some(template) = registry.get_template(path) {
            check(template, None).map_err(|(line, reason)| refuse(path, line, &reason))?;
        }
        Ok(PromptTemplate { path: path.to_owned(), registry })
    }

    /// Returns the prompt.
    pub(super) fn prompt(&self, parts: &PromptParts<'_>) -> Result<String> {
        let PromptParts { context, progress, task_id, model, iteration, run_id, task, assignment } = *parts;
        let values = TemplateValues {
            task: format!("{}\n", assignment.trim_end()),
            context,
            progress,
            task_id,
            task_title: &task.title,
            model,
            iteration,
            run_id,
        };
        let render = self.registry.render(&self.path, &values);
        render.map_err(|error| refuse(&self.path, error.line_no, &error.reason().to_string()))
    }
}

fn refuse(path: &str, line: Option<usize>, reason: &str) -> Error {
    let place = line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"));
    let names: Vec<String> = NAMES.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    Error::unusable(
        format!("cannot use the template `{place}`: {reason}"),
        format!("it can name {}; `\\{{{{` writes two braces", names.join(", ")),
    )
}

/// What is wrong, and in which line.
type TemplateFault = (Option<usize>, String);

/// Returns the first thing in a template that would fail, or that would silently be taken for
/// nothing: a condition on a name that there is not.
fn check(template: &handlebars::Template, outer: Option<usize>) -> std::result::Result<(), TemplateFault> {
    for (index, element) in template.elements.iter().enumerate() {
        let line = template.mapping.get(index).map(|mapping| mapping.0).or(outer);
        match element {
            TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
            TemplateElement::Expression(expression) | TemplateElement::HtmlExpression(expression) => {
                check_expression(expression, line)?;
            }
            TemplateElement::HelperBlock(block) => {
                check_call(block, line)?;
                for inner in [&block.template, &block.inverse].into_iter().flatten() {
                    check(inner, line)?;
                }
            }
            _ => return Err((line, "it includes another template, which is not supported".to_owned())),
        }
    }
    Ok(())
}

fn check_expression(expression: &HelperTemplate, line: Option<usize>) -> std::result::Result<(), TemplateFault> {
    if expression.params.is_empty() && expression.hash.is_empty() {
        check_value(&expression.name, line)
    } else {
        check_call(expression, line)
    }
}

fn check_call(call: &HelperTemplate, line: Option<usize>) -> std::result::Result<(), TemplateFault> {
    let name = name_of(&call.name);
    if !HELPERS.contains(&name) {
        return Err((line, format!("there is no helper `{name}`")));
    }
    call.params.iter().chain(call.hash.values()).try_for_each(|value| check_value(value, line))
}

fn check_value(value: &Parameter, line: Option<usize>) -> std::result::Result<(), TemplateFault> {
    match value {
        Parameter::Literal(_) => Ok(()),
        Parameter::Subexpression(inner) => match inner.as_element() {
            TemplateElement::Expression(expression) => check_expression(expression, line),
            _ => Err((line, "it cannot be understood".to_owned())),
        },
        _ if NAMES.contains(&name_of(value)) => Ok(()),
        _ => Err((line, format!("there is no value `{}`", name_of(value)))),
    }
}

/// Returns a name as the template has it.
fn name_of(parameter: &Parameter) -> &str {
    match parameter {
        Parameter::Name(name) => name,
        Parameter::Path(handlebars::Path::Relative((parts, raw))) => match parts.as_slice() {
            [PathSeg::Named(name)] => name,
            _ => raw,
        },
        Parameter::Path(handlebars::Path::Local((_, _, raw))) => raw,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::prompt::tests::{parts, task};
    use super::*;

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let template = PromptTemplate::parse(template, "p.md").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(template.prompt(&parts(&task())).unwrap(), expected);
    }

    #[test]
    fn values_stand_where_they_are_named() {
        check("", "");
        check("{{task_id}} {{ model }} {{{run_id}}} {{iteration}}", "t-1 sonnet run-1a2b3c4d 3");
        check("  {{context}}|", "  ## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}|");
        check("{{#if progress}}P{{else}}none{{/if}}{{#unless progress}}!{{/unless}}", "none!");
        check("{{#if progress}}P{{else if model}}M{{/if}}", "M");
        check("{{#if (gt iteration 2)}}again{{/if}}", "again");
        check("{{#if (eq model \"sonnet\")}}s{{/if}}", "s");
        check("\\{{task}} {{! a remark }}{{this.model}}", "{{task}} sonnet");
        check("{{{{raw}}}}{{x}}{{{{/raw}}}}", "{{x}}");
    }

    #[test]
    fn the_task_is_a_section() {
        check(
            "{{task}}",
            "## Assigned Task\n\n**ID:** t-1\n**Title:** Add the tables\n\n### Description\n\nWith {{context}}.\n",
        );
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
        refused("{{#if (eq x 1)}}a{{/if}}", 1, "no value `x`");
        refused("{{task.title}}", 1, "no value `task.title`");
        refused("{{this}}", 1, "no value `this`");
        refused("{{@root.model}}", 1, "no value");
        refused("{{shout model}}", 1, "no helper `shout`");
        refused("{{#each task}}a{{/each}}", 1, "no helper `each`");
        refused("a\n{{> p.md}}", 2, "another template");
        refused("{{#*inline \"a\"}}{{> a}}{{/inline}}{{> a}}", 1, "another template");
        refused("a\n\n{{#if model}}b", 3, "syntax is wrong");
        refused("a\n{{#if model}}b{{/unless}}", 2, "\"unless\" is closing");
        refused("a\n{{model", 2, "syntax is wrong");
        let deep = "{{#if model}}".repeat(100_000) + &"{{/if}}".repeat(100_000);
        assert!(PromptTemplate::parse(&deep, "p.md").err().unwrap().to_string().contains("over 200 blocks"));
        let most = "{{#if model}}".repeat(MAX_BLOCKS) + "x" + &"{{/if}}".repeat(MAX_BLOCKS);
        check(&most, "x");
    }

    #[test]
    fn templates_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.md");
        let message = |path: &Path| PromptTemplate::read(path).err().map(|error| error.to_string());
        assert_eq!(message(&path), Some(format!("cannot read `{}`", path.display())));
        fs::write(&path, "{{model}}\r\n").unwrap();
        assert_eq!(PromptTemplate::read(&path).unwrap().prompt(&parts(&task())).unwrap(), "sonnet\r\n");
        fs::write(&path, b"\xff").unwrap();
        assert!(message(&path).unwrap().ends_with("is not UTF-8"));
        fs::write(&path, vec![b'x'; MAX_TEMPLATE + 1]).unwrap();
        assert!(message(&path).unwrap().ends_with("is over 1 MiB"));
    }
}
