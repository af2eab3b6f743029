//! The questions that entries answer: given through every door, found by, kept, and shown with the entry alone.

use serde_json::json;

use crate::agent::Agent;
use crate::support::{Ran, TestBase};

const QUESTION: &str = "Why does my suite hang at the end, for ever?";

fn ids(answer: &serde_json::Value) -> Vec<String> {
    crate::support::ids(&answer["entries"])
}

fn search(base: &TestBase, text: &str) -> serde_json::Value {
    base.run(["search", text, "--json"]).json(0)
}

fn questions(base: &TestBase, id: &str) -> serde_json::Value {
    base.run(["show", id, "--json"]).json(0)["entry"]["questions"].clone()
}

fn add(base: &TestBase, title: &str, body: &str, questions: &[&str]) -> Ran {
    let mut arguments = vec!["add", title, "--tags", "sockets,ci", "--category", "pitfall", "--body", body];
    for question in questions {
        arguments.extend(["--question", question]);
    }
    arguments.push("--json");
    base.with(arguments).env("CLAUDECODE", "1").run()
}

#[test]
fn an_entry_is_found_by_the_questions_it_answers() {
    let base = TestBase::new();
    add(&base, "Close the pool", "Each worker holds a connection.", &[QUESTION]).json(0);
    // Another one says the words of the question in passing.
    let body =
        "The suite of the front end has a step at the end which does not hang. It is the linter, and it is slow.";
    base.entry("other", "Steps of the build", "ci", body);
    let found = search(&base, "suite hang at the end");
    assert_eq!(ids(&found), ["knowledge/close-the-pool", "knowledge/other"]);
    assert!(!found.to_string().contains("my suite"), "a question is no excerpt: {found}");
    let explained = base.run(["search", "hang", "--explain", "--json"]).json(0);
    assert_eq!(explained["entries"][0]["explanation"][0]["part"], "questions", "{explained}");
    let shown = base.run(["show", "close-the-pool"]).answer(0);
    assert!(shown.contains(&format!("  answers      {QUESTION}\n")), "{shown}");
    let context = base.run(["context", "-q", "--task", "The suite must not hang at the end"]).answer(0);
    assert!(context.contains("Each worker holds a connection.") && !context.contains("my suite"), "{context}");
}

#[test]
fn questions_are_accepted_by_every_interface() {
    let base = TestBase::new();
    add(&base, "By a person", "One.", &[QUESTION, "why does my suite hang at the end, for EVER?", "What else?"])
        .json(0);
    assert_eq!(questions(&base, "by-a-person"), json!([QUESTION, "What else?"]));

    let said = format!(
        "<knowledge tags=\"a\" title=\"By an element\" questions=\"{QUESTION} How do I stop it?; and then\">Two.</knowledge>\n\
         <learning category=\"pitfall\" tags=\"b\" questions=\"What now?\">By a learning.</learning>\n<task-done>t</task-done>"
    );
    base.run(["context", "--task", "T", "--task-id", "t", "--json"]).json(0);
    base.with(["record", "--json"]).input(said).run().json(0);
    assert_eq!(questions(&base, "by-an-element"), json!([QUESTION, "How do I stop it?", "and then"]));
    assert_eq!(questions(&base, "by-a-learning"), json!(["What now?"]));

    let mut agent = Agent::greeted(base.with(["mcp"]).command());
    let fact = json!({"title": "By a tool", "tags": ["c"], "body": "Three.", "questions": [QUESTION]});
    assert_eq!(agent.call("add_knowledge", &fact)["structuredContent"]["action"], "created");
    let entry = agent.call("read_entry", &json!({"id": "by-a-tool"}));
    assert_eq!(entry["structuredContent"]["questions"], json!([QUESTION]));
    drop(agent);

    // A person's own file, in any of the forms of a list.
    base.write(".ralph/knowledge/own.md", "---\ntitle: Own\ntags: [d]\nquestions:\n  - \"Why: this?\"\n---\n\nFour.\n");
    assert_eq!(questions(&base, "own"), json!(["Why: this?"]));
    assert_eq!(base.run(["check", "--json"]).json(0)["problems"], json!([]));
}

#[test]
fn secrets_and_too_many_questions_are_refused() {
    let base = TestBase::new();
    let secret = format!("Why is ghp_{} refused?", "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2Rl");
    let refused = add(&base, "Token", "Body.", &[&secret]);
    refused.says(4, "questions, line 1: this looks like a secret: github-token");
    let many: Vec<String> = (0..11).map(|number| format!("Question {number}?")).collect();
    let refused = add(&base, "Many", "Body.", &many.iter().map(String::as_str).collect::<Vec<_>>());
    refused.says(2, "there are more than ten");
    assert_eq!(base.files(".ralph/knowledge"), [""; 0]);
}

#[test]
fn questions_are_kept_by_updates_and_consolidation() {
    let base = TestBase::new();
    add(&base, "Close the pool", "Each worker holds a connection.", &[QUESTION]).json(0);
    add(&base, "Close the pool", "Each worker holds two.", &["How many connections?"]).json(0);
    assert_eq!(questions(&base, "close-the-pool"), json!([QUESTION, "How many connections?"]));
    add(&base, "Close the pool", "Each worker holds three.", &[]).json(0);
    assert_eq!(questions(&base, "close-the-pool"), json!([QUESTION, "How many connections?"]));

    base.write(".ralph/config.toml", "[maintenance]\nlearnings = 2\n");
    for (title, body, question) in
        [("Sockets stay", "They stay open.", "Which port?"), ("Drop the client", "Drop it first.", "Who holds it?")]
    {
        add(&base, title, body, &[question]).json(0);
    }
    let done = base.run(["tidy", "--json"]).json(0);
    let into = done["merged"][0]["into"].as_str().unwrap().to_owned();
    let kept = questions(&base, &into).to_string();
    for question in [QUESTION, "How many connections?", "Which port?", "Who holds it?"] {
        assert!(kept.contains(question), "{question} is lost: {kept}");
    }
}
