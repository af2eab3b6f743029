//! Tests of whole contexts and of their sections.

mod golden;
mod properties;
mod recurring;
mod sections;

use super::*;
use chrono::DateTime;

use crate::context::{
    Context, ErrorLine, Material, NumberedAttempt, Recurring, Reference, ShownEvent, Status, Stuck, Task,
};
use crate::entry::attempt::{Attempt, AttemptHead, Outcome, Sections};
use crate::entry::{Id, Scope, Source};

/// Returns an attempt that says nothing more than this.
fn past(run: &str, iteration: u32, number: usize, outcome: Outcome) -> NumberedAttempt {
    NumberedAttempt {
        id: Id::parse(&format!("journal/{run}/{iteration:04}")).unwrap(),
        number,
        n_alike: 0,
        attempt: Attempt {
            run_id: run.to_owned(),
            task_id: Some("t-abc123".to_owned()),
            task_title: "Add the memory tables".to_owned(),
            feature: None,
            source: Source::Agent,
            started_at: DateTime::UNIX_EPOCH,
            head: AttemptHead { model: Some("sonnet".to_owned()), ..AttemptHead::new(iteration, outcome) },
            sections: Sections::default(),
        },
    }
}

/// Returns knowledge that says nothing more than this.
fn reference(stem: &str, category: Option<&str>, body: &str) -> Reference {
    Reference {
        unverified: None,
        id: Id::parse(stem).unwrap(),
        title: format!("About {stem}"),
        tags: vec!["a".into(), "b".into()],
        category: category.map(str::to_owned),
        contradicts: Vec::new(),
        body: body.to_owned(),
    }
}

/// Returns a status that says nothing out of the ordinary.
fn status() -> Status {
    Status {
        iteration: 7,
        limit: Some(20),
        attempt: 3,
        streak: 2,
        succeeded: 4,
        counted: 6,
        model: "opus".to_owned(),
        rationale: "escalated after 2 attempts without success".to_owned(),
        stuck: None,
        refused: Vec::new(),
    }
}

fn stuck() -> Stuck {
    Stuck { threshold: 3, same_error: false, tree_seen: false, failed_with: Vec::new(), tell_person: false }
}

fn lines(texts: &[Id]) -> Vec<&str> {
    texts.iter().map(Id::as_str).collect()
}

#[test]
fn a_task_sees_its_own_scopes() {
    let task = Task { id: Some("t-1".into()), feature: Some("f".into()), ..Task::new("x") };
    let sees = |scope: &str| task.sees(&Scope::from(scope.to_owned()));
    assert!(sees("project") && sees("task:t-1") && sees("feature:f"));
    assert!(!sees("task:t-2") && !sees("feature:g") && !sees("section:s") && !sees("everyone"));
}
