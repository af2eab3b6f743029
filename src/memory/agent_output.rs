//! What an agent's output says, read by the memory.

use std::borrow::Cow;

use super::Memory;
use super::runs::Iteration;
use crate::entry::knowledge::Knowledge;
use crate::entry::{Event, Scope, Source};
use crate::error::{Error, Result};
use crate::history::Report;
use crate::sigil::{Noted, SuggestedScope, Suggestion};
use crate::transcript::{Format, Options, Reader, Transcript};

impl Memory {
    /// Returns a reader for an agent's output, which may be of any length. What it gives is for
    /// [`Report::transcript`].
    ///
    /// ```
    /// use ralph_memory::memory::Report;
    /// use ralph_memory::transcript::Format;
    /// use ralph_memory::{Memory, Task};
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// let iteration = memory.begin(&Task::new("Add the lock"), &memory.new_run())?;
    /// let output = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s","total_cost_usd":0.5}"#;
    /// let transcript = memory.reader(Format::Auto).read(output.as_bytes())?;
    /// let recorded = memory.finish(&iteration, &Report { transcript: Some(transcript), ..Report::default() })?;
    /// assert_eq!((recorded.outcome.as_str(), recorded.attempt.head.cost_usd), ("blocked", Some(0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reader(&self, format: Format) -> Reader {
        // As the agent sees it, which may have been started with a path through links.
        let root = std::fs::canonicalize(self.root()).unwrap_or_else(|_| self.root().to_owned());
        Reader::new(Options {
            format,
            root: root.to_string_lossy().into_owned(),
            allowed_secrets: self.settings.allowed_secrets.clone(),
        })
    }

    /// Returns what the agent's output says.
    pub(super) fn transcript<'a>(&self, report: &'a Report) -> Cow<'a, Transcript> {
        if let Some(transcript) = &report.transcript {
            return Cow::Borrowed(transcript);
        }
        let mut reader = self.reader(Format::Auto);
        reader.push(report.text.as_bytes());
        Cow::Owned(reader.finish())
    }
}

pub(super) fn knowledge_of(noted: &Noted, iteration: &Iteration) -> Knowledge {
    Knowledge {
        category: noted.category.clone(),
        feature: iteration.task.feature.clone(),
        source: Source::Agent,
        task_id: Some(iteration.task_id()),
        run_id: Some(iteration.run_id.clone()),
        questions: noted.questions.clone(),
        ..Knowledge::new(noted.title.clone(), noted.tags.clone(), noted.body.clone())
    }
}

/// Returns the event that an agent suggests, its scope completed with the ids of the task.
pub(super) fn event_of(suggestion: &Suggestion, iteration: &Iteration) -> Result<Event> {
    let task = &iteration.task;
    let of = |name: &str, id: &Option<String>, scope: fn(String) -> Scope| {
        let reason = format!("the task has no {name}");
        id.clone().map(scope).ok_or(Error::Invalid { what: "scope".to_owned(), reason })
    };
    let scope = match suggestion.scope {
        SuggestedScope::Task => Scope::Task(iteration.task_id()),
        SuggestedScope::Section => of("section", &task.section, Scope::Section)?,
        SuggestedScope::Feature => of("feature", &task.feature, Scope::Feature)?,
        SuggestedScope::Project => Scope::Project,
    };
    Ok(Event {
        tags: suggestion.tags.clone(),
        scope,
        source: Source::Agent,
        importance: suggestion.importance,
        feature: task.feature.clone(),
        task_id: Some(iteration.task_id()),
        run_id: Some(iteration.run_id.clone()),
        details: suggestion.details.clone(),
        ..Event::new(&suggestion.event, &suggestion.summary)
    })
}
