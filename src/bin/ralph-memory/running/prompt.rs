//! What an agent is told at the start of an iteration: by a template of the user's, or without one.
//!
//! What values say is never taken for a part of the template.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use handlebars::template::{HelperTemplate, Parameter, TemplateElement};
use handlebars::{Handlebars, PathSeg, TemplateErrorReason, no_escape};
use ralph_memory::{Error, Task};
use serde::Serialize;

use super::random;
use crate::error::Usage;

/// The values that a template can name.
const NAMES: [&str; 8] = ["task", "context", "progress", "task_id", "task_title", "model", "iteration", "run_id"];
/// The helpers that a template can use. Values are texts and a number, so there is nothing to walk
/// through, and a template is one file.
const HELPERS: [&str; 12] = ["if", "unless", "eq", "ne", "gt", "gte", "lt", "lte", "and", "or", "not", "raw"];
/// The largest template, in bytes.
const MAX_TEMPLATE: usize = 1024 * 1024;
/// The most blocks of a template: its parser goes one deeper for each.
const MAX_BLOCKS: usize = 200;

/// What a prompt is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    /// The task.
    pub(crate) task: &'a Task,
    /// The id of the task.
    pub(crate) task_id: &'a str,
    /// What the memory has to say.
    pub(crate) context: &'a str,
    /// What the iterations before have come to; empty where there is nothing to say.
    pub(crate) progress: &'a str,
    /// The model that is asked for.
    pub(crate) model: &'a str,
    /// The number of the iteration, from 1.
    pub(crate) iteration: u32,
    /// The run.
    pub(crate) run_id: &'a str,
}

/// What stands behind the names in a template.
#[derive(Serialize)]
struct Values<'a> {
    task: String,
    context: &'a str,
    progress: &'a str,
    task_id: &'a str,
    task_title: &'a str,
    model: &'a str,
    iteration: u32,
    run_id: &'a str,
}

/// Returns a task as markdown.
pub(crate) fn assigned(task: &Task, id: &str) -> String {
    let title = task.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = format!("## Assigned Task\n\n**ID:** {id}\n**Title:** {title}\n");
    let description = task.description.trim();
    if !description.is_empty() {
        text.push_str(&format!("\n### Description\n\n{description}\n"));
    }
    text
}

impl Parts<'_> {
    /// Returns the prompt where there is no template.
    pub(crate) fn prompt(&self) -> String {
        let mut text = assigned(self.task, self.task_id);
        if !self.context.trim().is_empty() {
            text.push_str(&format!("\n{}\n", self.context.trim()));
        }
        if !self.progress.trim().is_empty() {
            text.push_str(&format!("\n## Progress\n\n{}\n", nested(self.progress.trim())));
        }
        text
    }
}

/// Returns markdown with its headings one level deeper. What stands in a code fence is left alone.
fn nested(text: &str) -> String {
    let mut fence = 0;
    let line = |line: &str| {
        let n_marks = line.len() - line.trim_start_matches('`').len();
        match fence {
            0 if n_marks >= 3 => fence = n_marks,
            0 if line.starts_with('#') => return format!("#{line}"),
            open if open > 0 && n_marks >= open && n_marks == line.trim_end().len() => fence = 0,
            _ => {}
        }
        line.to_owned()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// A template that was understood.
pub(crate) struct Template {
    path: String,
    registry: Handlebars<'static>,
}

impl Template {
    /// Reads a template.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Template> {
        let shown = path.display().to_string();
        let mut bytes = Vec::new();
        let limit = MAX_TEMPLATE as u64 + 1;
        let read = fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
        read.map_err(|source| Error::Io { action: "read", path: path.to_owned(), source })?;
        let refuse = |reason: &str| Usage {
            message: format!("the template `{shown}` {reason}"),
            hint: "a template is a text of at most 1 MiB".to_owned(),
        };
        if bytes.len() > MAX_TEMPLATE {
            return Err(refuse("is over 1 MiB").into());
        }
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8"))?;
        Ok(Template::parse(&text, &shown)?)
    }

    /// Takes a template's text. `path` is named where it makes no sense.
    fn parse(text: &str, path: &str) -> Result<Template, Usage> {
        if text.matches("{{#").count() + text.matches("{{^").count() > MAX_BLOCKS {
            return Err(refuse(path, None, &format!("it has over {MAX_BLOCKS} blocks")));
        }
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(no_escape);
        registry.register_template_string(path, text).map_err(|error| {
            let reason = match error.reason() {
                // What it says then are names of its grammar.
                TemplateErrorReason::InvalidSyntax(_) => {
                    "what stands there makes no sense; is a block not closed?".to_owned()
                }
                reason => reason.to_string(),
            };
            refuse(path, error.pos().map(|(line, _)| line), &reason)
        })?;
        if let Some(template) = registry.get_template(path) {
            check(template, None).map_err(|(line, reason)| refuse(path, line, &reason))?;
        }
        Ok(Template { path: path.to_owned(), registry })
    }

    /// Returns the prompt.
    pub(crate) fn prompt(&self, parts: &Parts<'_>) -> Result<String, Usage> {
        let Parts { context, progress, task_id, model, iteration, run_id, task } = *parts;
        let values = Values {
            task: assigned(parts.task, parts.task_id),
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

fn refuse(path: &str, line: Option<usize>, reason: &str) -> Usage {
    let place = line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"));
    let names: Vec<String> = NAMES.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    Usage {
        message: format!("cannot use the template `{place}`: {reason}"),
        hint: format!("it can name {}; `\\{{{{` stands for two braces", names.join(", ")),
    }
}

/// What is wrong, and in which line.
type Fault = (Option<usize>, String);

/// Returns the first thing in a template that would fail, or that would silently be taken for
/// nothing: a condition on a name that there is not.
fn check(template: &handlebars::Template, outer: Option<usize>) -> Result<(), Fault> {
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
            _ => return Err((line, "it takes in another template, and there is none".to_owned())),
        }
    }
    Ok(())
}

fn check_expression(expression: &HelperTemplate, line: Option<usize>) -> Result<(), Fault> {
    if expression.params.is_empty() && expression.hash.is_empty() {
        check_value(&expression.name, line)
    } else {
        check_call(expression, line)
    }
}

fn check_call(call: &HelperTemplate, line: Option<usize>) -> Result<(), Fault> {
    let name = shown(&call.name);
    if !HELPERS.contains(&name) {
        return Err((line, format!("there is no helper `{name}`")));
    }
    call.params.iter().chain(call.hash.values()).try_for_each(|value| check_value(value, line))
}

fn check_value(value: &Parameter, line: Option<usize>) -> Result<(), Fault> {
    match value {
        Parameter::Literal(_) => Ok(()),
        Parameter::Subexpression(inner) => match inner.as_element() {
            TemplateElement::Expression(expression) => check_expression(expression, line),
            _ => Err((line, "it cannot be understood".to_owned())),
        },
        _ if NAMES.contains(&shown(value)) => Ok(()),
        _ => Err((line, format!("there is no value `{}`", shown(value)))),
    }
}

/// Returns a name as the template has it.
fn shown(parameter: &Parameter) -> &str {
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

/// A prompt in a file that only this user can read, and that goes when this is dropped.
#[derive(Debug)]
pub(crate) struct PromptFile {
    path: PathBuf,
}

impl PromptFile {
    /// Writes a prompt to a new file.
    pub(crate) fn write(prompt: &str) -> Result<PromptFile, Error> {
        PromptFile::write_in(&std::env::temp_dir(), prompt)
    }

    fn write_in(folder: &Path, prompt: &str) -> Result<PromptFile, Error> {
        loop {
            // A file or a link that is there already is left alone, whoever guessed the name.
            let path = folder.join(format!("ralph-memory-{}.md", random()));
            let io_error = |source| Error::Io { action: "create", path: path.clone(), source };
            let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(io_error(error)),
            };
            let written = PromptFile { path: path.clone() };
            file.write_all(prompt.as_bytes()).map_err(io_error)?;
            return Ok(written);
        }
    }

    /// Returns where it is, for an argument.
    pub(crate) fn path(&self) -> Result<&str, Error> {
        let source = || io::Error::new(io::ErrorKind::InvalidFilename, "the folder of temporary files is not UTF-8");
        self.path.to_str().ok_or_else(|| Error::Io { action: "name", path: self.path.clone(), source: source() })
    }
}

impl Drop for PromptFile {
    fn drop(&mut self) {
        // The agent may have removed it.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn parts(task: &Task) -> Parts<'_> {
        Parts {
            task,
            task_id: "t-1",
            context: "## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}",
            progress: "",
            model: "sonnet",
            iteration: 3,
            run_id: "run-1a2b3c4d",
        }
    }

    fn task() -> Task {
        Task { description: "With {{context}}.\n".into(), ..Task::new("Add\n the  tables") }
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let template = Template::parse(template, "p.md").unwrap_or_else(|usage| panic!("{}", usage.message));
        assert_eq!(template.prompt(&parts(&task())).unwrap(), expected);
    }

    #[test]
    fn headings_are_nested_outside_of_fences() {
        let text = "## Iteration 1\n````\n## not one\n```\n# nor this\n````\n## Iteration 2\nend";
        let expected = "### Iteration 1\n````\n## not one\n```\n# nor this\n````\n### Iteration 2\nend";
        assert_eq!(nested(text), expected);
    }

    #[test]
    fn without_a_template_it_is_task_context_and_progress() {
        let task = task();
        let assigned =
            "## Assigned Task\n\n**ID:** t-1\n**Title:** Add the tables\n\n### Description\n\nWith {{context}}.\n";
        let context = "\n## Previous Attempts\n\n{{model}} <b> \"é\" & {{/if}}\n";
        let mut parts = parts(&task);
        assert_eq!(parts.prompt(), format!("{assigned}{context}"));
        parts.progress = "Step 1.\n";
        assert_eq!(parts.prompt(), format!("{assigned}{context}\n## Progress\n\nStep 1.\n"));
        let (bare, progress, context) = (Task::new("x"), " \n", "");
        let parts = Parts { task: &bare, progress, context, ..parts };
        assert_eq!(parts.prompt(), "## Assigned Task\n\n**ID:** t-1\n**Title:** x\n");
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
            let usage =
                Template::parse(template, "p.md").err().unwrap_or_else(|| panic!("`{template}` was understood"));
            assert!(
                usage.message.starts_with(&format!("cannot use the template `p.md:{line}`: ")),
                "{}",
                usage.message
            );
            assert!(usage.message.contains(reason), "{}", usage.message);
            assert!(usage.hint.contains("{{context}}, {{progress}}"), "{}", usage.hint);
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
        refused("a\n\n{{#if model}}b", 3, "makes no sense");
        refused("a\n{{#if model}}b{{/unless}}", 2, "\"unless\" is closing");
        refused("a\n{{model", 2, "makes no sense");
        let deep = "{{#if model}}".repeat(100_000) + &"{{/if}}".repeat(100_000);
        assert!(Template::parse(&deep, "p.md").err().unwrap().message.contains("over 200 blocks"));
        let most = "{{#if model}}".repeat(MAX_BLOCKS) + "x" + &"{{/if}}".repeat(MAX_BLOCKS);
        check(&most, "x");
    }

    #[test]
    fn templates_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.md");
        let message = |path: &Path| Template::read(path).err().map(|error| error.to_string());
        assert_eq!(message(&path), Some(format!("cannot read `{}`", path.display())));
        fs::write(&path, "{{model}}\r\n").unwrap();
        assert_eq!(Template::read(&path).unwrap().prompt(&parts(&task())).unwrap(), "sonnet\r\n");
        fs::write(&path, b"\xff").unwrap();
        assert!(message(&path).unwrap().ends_with("is not UTF-8"));
        fs::write(&path, vec![b'x'; MAX_TEMPLATE + 1]).unwrap();
        assert!(message(&path).unwrap().ends_with("is over 1 MiB"));
    }

    #[test]
    fn a_prompts_file_is_private_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let file = PromptFile::write_in(folder.path(), "é").unwrap();
        let path = PathBuf::from(file.path().unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "é");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other = PromptFile::write_in(folder.path(), "").unwrap();
        assert_ne!(other.path().unwrap(), file.path().unwrap());
        drop((file, other));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(PromptFile::write_in(&path, "").is_err());
    }
}
