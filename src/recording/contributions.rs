//! Turns an agent's sigils into knowledge and events of its task.

use super::open_attempt::OpenAttempt;
use crate::agent_output::elements::{Noted, SuggestedScope, Suggestion};
use crate::entry::knowledge::Knowledge;
use crate::entry::{Scope, Source};
use crate::error::{Error, Result};

pub(super) fn knowledge_of(noted: &Noted, iteration: &OpenAttempt) -> Knowledge {
    Knowledge {
        category: noted.category.clone(),
        feature: iteration.task.feature.clone(),
        source: Source::Agent,
        task_id: task_id(iteration),
        run_id: Some(iteration.run_id.clone()),
        questions: noted.questions.clone(),
        ..Knowledge::new(noted.title.clone(), noted.tags.clone(), noted.body.clone())
    }
}

/// Returns the id of the task, if the report is about one.
fn task_id(iteration: &OpenAttempt) -> Option<String> {
    iteration.task.is_named().then(|| iteration.task_id())
}

/// Returns the event that an agent suggests, with the ids of the task in its scope.
pub(super) fn event_of(suggestion: &Suggestion, iteration: &OpenAttempt) -> Result<Knowledge> {
    let task = &iteration.task;
    let of = |name: &str, id: &Option<String>, scope: fn(String) -> Scope| {
        let reason = format!("the task has no {name}");
        id.clone().map(scope).ok_or(Error::invalid("scope", reason))
    };
    let scope = match suggestion.scope {
        SuggestedScope::Task => {
            let id = task_id(iteration).ok_or_else(|| Error::invalid("scope", "the message names no task"))?;
            Scope::Task(id)
        }
        SuggestedScope::Section => of("section", &task.section, Scope::Section)?,
        SuggestedScope::Feature => of("feature", &task.feature, Scope::Feature)?,
        SuggestedScope::Project => Scope::Project,
    };
    Ok(Knowledge {
        tags: suggestion.tags.clone(),
        scope,
        source: Source::Agent,
        importance: suggestion.importance,
        feature: task.feature.clone(),
        task_id: task_id(iteration),
        run_id: Some(iteration.run_id.clone()),
        details: suggestion.details.clone(),
        ..Knowledge::event(&suggestion.event, &suggestion.summary)?
    })
}
