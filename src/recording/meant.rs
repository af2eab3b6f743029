//! Decides which task an element in an agent's text ends.
//!
//! Pure. Agents write ids wrongly, copy the placeholder, or write the title. Where only one task can be meant, that one
//! ends, with a warning; an element that names another task ends nothing.

use crate::agent_output::elements::{Refused, TaskEnd};
use crate::context::Task;
use crate::entry::Outcome;
use crate::journal::check_name;
use crate::text::task_form;

/// The placeholder for an id in examples.
const PLACEHOLDER: &str = "TASK-ID";

/// What agents call a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskName {
    pub(crate) id: String,
    pub(crate) title: String,
}

impl TaskName {
    /// Returns the names of a task; `None` for an attempt without a task.
    pub(crate) fn of(task: &Task) -> Option<TaskName> {
        task.is_named().then(|| TaskName { id: task.own_id(), title: task.title.clone() })
    }

    /// Returns the task of this name, without a title if that is unknown.
    pub(crate) fn task(&self) -> Task {
        let title = Some(&self.title).filter(|title| **title != self.id).cloned().unwrap_or_default();
        Task { id: Some(self.id.clone()), ..Task::new(title) }
    }

    fn has_title(&self, title: &str) -> bool {
        task_form(&self.title) == task_form(title)
    }
}

/// Finds a task of the journal by its id or its title.
pub(crate) type KnownTasks<'a> = &'a dyn Fn(&str) -> Option<TaskName>;

/// Returns how the text of an attempt at one task, `own`, ends it. Of several elements the last one counts. The elements
/// that end nothing are returned with the reason, and so are those that are not written as they should be.
pub(crate) fn ending(
    ends: &[TaskEnd],
    own: Option<&TaskName>,
    known: KnownTasks<'_>,
) -> (Option<Outcome>, Vec<Refused>) {
    let (mut outcome, mut remarks) = (None, Vec::new());
    for (at, end) in ends.iter().enumerate() {
        let meant = own.map_or_else(
            || Err(format!("names `{}`, and the report is about no known task", end.named)),
            |own| meant(&end.named, own, ends.iter().all(|other| other.named == end.named), known),
        );
        outcome = if meant.is_ok() { Some(end.outcome) } else { outcome };
        let is_repeated = ends[..at].iter().any(|before| (before.outcome, &before.named) == (end.outcome, &end.named));
        let remark = meant.unwrap_or_else(Some).filter(|_| !is_repeated);
        remarks.extend(remark.map(|remark| end.refused(remark)));
    }
    (outcome, remarks)
}

/// Returns whether an element of an attempt at `own` means that task: with a warning, or the reason why not.
fn meant(named: &str, own: &TaskName, is_only_name: bool, known: KnownTasks<'_>) -> Result<Option<String>, String> {
    let id = &own.id;
    if named == id || own.has_title(named) {
        return Ok(None);
    }
    if named == PLACEHOLDER {
        return Ok(Some(format!("has the placeholder `{named}`; taken for this task, `{id}`")));
    }
    if let Some(other) = known(named) {
        if other.id == *id {
            return Ok(Some(format!("names the task by an earlier title; its id is `{id}`")));
        }
        return Err(format!("names the task `{}`, and this one is `{id}`", other.id));
    }
    // Words that are no title are prose.
    if is_only_name && !named.contains(' ') {
        return Ok(Some(format!("names `{named}`, which is no known task; taken for this task, `{id}`")));
    }
    Err(format!("names `{named}`, which is no known task; this one is `{id}`"))
}

/// Returns the task that an element ends in a session, whose only open task is `own`: one that is known, else a new one
/// of this id or title.
pub(crate) fn of_session(named: &str, own: Option<&TaskName>, known: KnownTasks<'_>) -> Result<TaskName, String> {
    if let Some(own) = own.filter(|own| named == own.id || own.has_title(named) || named == PLACEHOLDER) {
        return Ok(own.clone());
    }
    if named == PLACEHOLDER {
        return Err(format!("has the placeholder `{named}`, and the session has not one open task"));
    }
    if let Some(known) = known(named) {
        return Ok(known);
    }
    if named.contains(' ') {
        return Ok(TaskName { id: Task::id_of_title(named), title: named.to_owned() });
    }
    check_name("task id", named).map_err(|error| error.to_string())?;
    Ok(TaskName { id: named.to_owned(), title: named.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_output::elements;

    fn task(id: &str, title: &str) -> TaskName {
        TaskName { id: id.to_owned(), title: title.to_owned() }
    }

    fn known(name: &str) -> Option<TaskName> {
        let other = task("t-2", "Write the docs");
        (name == other.id || other.has_title(name)).then_some(other)
    }

    #[test]
    fn an_element_ends_the_task_that_only_it_can_mean() {
        let own = task("t-1", "Fix the login");
        let check = |text: &str, outcome: Option<Outcome>, remarks: &[&str]| {
            let (found, told) = ending(&elements::read(text, false).ends, Some(&own), &known);
            assert_eq!(found, outcome, "{text}");
            assert_eq!(told.iter().map(Refused::to_string).collect::<Vec<_>>(), remarks, "{text}");
        };
        let (done, failed) = (Some(Outcome::Done), Some(Outcome::Failed));
        check("<task-done>`t-1`</task-done>", done, &[]);
        check("<task-done>Fix the login</task-done>", done, &[]);
        check("<task-done>\"fix the\n  LOGIN\"</task-done>", done, &[]);
        check(
            "<task-failed>TASK-ID</task-failed>",
            failed,
            &["line 1: <task-failed> has the placeholder `TASK-ID`; taken for this task, `t-1`"],
        );
        let guessed = "line 1: <task-done> names `wrong-id`, which is no known task; taken for this task, `t-1`";
        check("<task-done>wrong-id</task-done>", done, &[guessed]);
        check(&"<task-done>wrong-id</task-done>".repeat(250), done, &[guessed]);
        check("", None, &[]);
        // Another task, prose, and one name among several end nothing.
        for (other, line) in [("t-2", 1), ("Write the docs", 2)] {
            check(
                &format!("{}<task-done>{other}</task-done>", "\n".repeat(line - 1)),
                None,
                &[&format!("line {line}: <task-done> names the task `t-2`, and this one is `t-1`")],
            );
        }
        check(
            "<task-done>not yet, I fear</task-done>",
            None,
            &["line 1: <task-done> names `not yet, I fear`, which is no known task; this one is `t-1`"],
        );
        check(
            "<task-done>a</task-done><task-failed>b</task-failed>",
            None,
            &[
                "line 1: <task-done> names `a`, which is no known task; this one is `t-1`",
                "line 1: <task-failed> names `b`, which is no known task; this one is `t-1`",
            ],
        );
        // The last element of the task counts.
        check("<task-failed>t-1</task-failed><task-done>t-1</task-done>", done, &[]);
        check(
            "<task-done>t-1</task-done> No: <task-failed>t-1</task-failed> <task-done>t-2</task-done>",
            failed,
            &["line 1: <task-done> names the task `t-2`, and this one is `t-1`"],
        );
        let (found, told) = ending(&elements::read("<task-done>t-1</task-done>", false).ends, None, &known);
        assert_eq!((found, told.len()), (None, 1), "an attempt without a task ends none");
    }

    #[test]
    fn in_a_session_an_element_ends_the_task_that_it_names() {
        let check = |named: &str, own: Option<&TaskName>, expected: Result<(&str, &str), &str>| {
            let found = of_session(named, own, &known);
            let expected = expected.map(|(id, title)| task(id, title)).map_err(str::to_owned);
            assert_eq!(found, expected, "{named} {own:?}");
        };
        let own = task("t-1", "Fix the login");
        let (docs, ours) = (("t-2", "Write the docs"), ("t-1", "Fix the login"));
        check("t-1", Some(&own), Ok(ours));
        check("Fix the login", Some(&own), Ok(ours));
        check("TASK-ID", Some(&own), Ok(ours));
        check("TASK-ID", None, Err("has the placeholder `TASK-ID`, and the session has not one open task"));
        check("t-2", Some(&own), Ok(docs));
        check("write the  docs", None, Ok(docs));
        check("SHOP-12", Some(&own), Ok(("SHOP-12", "SHOP-12")));
        check("Fix the login", None, Ok((&Task::id_of_title("fix the login"), "Fix the login")));
        let bad = check_name("task id", "../up").unwrap_err().to_string();
        check("../up", Some(&own), Err(&bad));
    }
}
