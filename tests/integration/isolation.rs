//! A server for the agent of one feature answers with nothing of another feature, whatever it is asked.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::program::content;
use crate::support::TestBase;
use crate::test_cases::cases;

/// Each feature, with the word that only its files have; the last files are of none.
const MARKS: [(&str, &str); 4] =
    [("auth", "alphamark"), ("billing", "bravomark"), ("search", "charliemark"), ("", "nonemark")];
/// What no answer for `auth` may contain.
const FOREIGN: [&str; 2] = ["bravomark", "charliemark"];
const TASKS: [&str; 5] = ["t-0", "t-1", "t-2", "t-3", "t-4"];

/// A memory with knowledge, decisions, old versions and attempts of three features and of none. All of them say the same
/// words, so that every search matches all.
fn base() -> TestBase {
    let base = TestBase::new();
    for (number, (feature, mark)) in MARKS.into_iter().enumerate() {
        let of = if feature.is_empty() { String::new() } else { format!("feature: {feature}\n") };
        let scope = if feature.is_empty() { "project".to_owned() } else { format!("feature:{feature}") };
        let text = format!("The login times out. {mark} See [[{mark}-fact]] and [[nonemark-fact]].");
        let entry = |head: &str| format!("---\n{head}\n---\n\n{text}\n");
        let common = format!("tags: [login, retry]\nfiles: [src/shared.rs, src/{mark}.rs]");
        base.write(
            &format!(".ralph/knowledge/{mark}-fact.md"),
            entry(&format!("title: Login retries {mark}\n{common}\nquestions: [\"why {mark}?\"]\n{of}source: agent")),
        );
        // One title in all features: an agent who writes it again updates none of the others.
        base.write(
            &format!(".ralph/knowledge/{mark}/same-{mark}.md"),
            entry(&format!("title: Login retries\n{common}\n{of}source: agent\nsupersedes: [{mark}-old]")),
        );
        base.write(
            &format!(".ralph/knowledge/{mark}-scoped.md"),
            entry(&format!("title: Login limit {mark}\n{common}\nscope: {scope}\ncategory: pitfall")),
        );
        base.write(
            &format!(".ralph/knowledge/{mark}-old.md"),
            entry(&format!("title: Login once {mark}\n{common}\n{of}aliases: [Login {mark}]")),
        );
        base.write(
            &format!(".ralph/knowledge/events/2026-11-01-{mark}.md"),
            entry(&format!(
                "title: Login decided {mark}\n{common}\n{of}scope: {scope}\ncategory: decision\nimportance: 90"
            )),
        );
        base.write(
            &format!(".ralph/archive/knowledge/{mark}-fact.20260217T120000Z.md"),
            entry(&format!("title: Login retries {mark}\n{common}\n{of}source: agent")),
        );
        // A file with a mistake is reported beside answers.
        base.write(
            &format!(".ralph/knowledge/{mark}-odd.md"),
            entry(&format!("title: Login odd {mark}\ntags: login\nimportance: 900\n{of}")),
        );
        for (attempt, task) in [format!("t-{}", number + 1), "t-0".to_owned(), "t-0".to_owned()].iter().enumerate() {
            base.write(
                &format!(".ralph/journal/run-{mark}/000{}.md", attempt + 1),
                format!(
                    "---\nrun_id: run-{mark}\niteration: {}\ntask_id: {task}\ntask_title: Login {mark}\n{of}outcome: failed\n\
                     error_category: {mark}\nstarted_at: \"2026-11-19T10:0{number}:0{attempt}Z\"\nmodel: {mark}\n\
                     files: {{modified: [src/shared.rs, src/{mark}.rs]}}\ncontext: [knowledge/{mark}-fact, \
                     knowledge/nonemark-fact, knowledge/bravomark-fact]\n---\n\n## What was tried\n\n> Login retries {mark}.\n\n## Why it failed\n\n> \
                     {mark}\n\n## Error output\n\n> TimeoutError: the login {mark} did not answer\n\n## Decisions\n\n> {mark}\n",
                    attempt + 1
                ),
            );
        }
    }
    base
}

/// Returns what an agent may give for an argument of a tool; `writes` if its answer stays in the memory.
fn values(argument: &str, writes: bool) -> Vec<Value> {
    let marked = |text: &dyn Fn(&str) -> Value| MARKS.map(|(_, mark)| text(mark)).to_vec();
    match argument {
        "feature" => vec![json!("auth"), json!("billing"), json!("search"), json!("")],
        "scope" => vec![json!("project"), json!("feature:auth"), json!("feature:billing"), json!("task:t-2")],
        "task_id" => TASKS.map(Value::from).to_vec(),
        "id" => [
            marked(&|mark| json!(format!("{mark}-fact"))),
            marked(&|mark| json!(format!("knowledge/same-{mark}"))),
            marked(&|mark| json!(format!("journal/run-{mark}/0001"))),
            marked(&|mark| json!(format!("archive/knowledge/{mark}-fact.20260217T120000Z"))),
            marked(&|mark| json!(format!(".ralph/knowledge/{mark}/same-{mark}.md"))),
            marked(&|mark| json!(format!("login-{mark}"))),
        ]
        .concat(),
        "supersedes" => marked(&|mark| json!([format!("{mark}-fact")])),
        "query" => [vec![json!("login retries time out")], marked(&|mark| json!(mark))].concat(),
        "task" | "title" => vec![json!("Login retries"), json!("The login times out")],
        "files" if !writes => marked(&|mark| json!([format!("src/{mark}.rs")])),
        "files" => vec![json!(["src/shared.rs"])],
        "tags" => vec![json!(["login"]), json!(["retry", "login"])],
        "body" | "description" | "what_tried" | "why_failed" | "retry_suggestion" | "notes" => {
            vec![json!("The login times out.")]
        }
        "error" => vec![json!("TimeoutError: the login did not answer")],
        "outcome" => vec![json!("failed"), json!("done"), json!("partial")],
        "category" => vec![json!("pitfall"), json!("other")],
        "questions" => vec![json!(["why does the login time out"])],
        "kind" => vec![json!("knowledge"), json!("journal")],
        "archived" | "everywhere" => vec![json!(true)],
        "importance" | "min_score" | "from" => vec![json!(0)],
        "limit" | "count" => vec![json!(1), json!(50)],
        "max_characters" => vec![json!(2_000), json!(50_000)],
        "section" => vec![json!("s")],
        other => panic!("say what an agent may give for `{other}`"),
    }
}

/// Asserts that an answer has no word of another feature, but what the question had.
#[track_caller]
fn assert_own(asked: &str, answer: &Value) {
    let mut text = answer.to_string();
    let is_of_name = |character: char| character.is_alphanumeric() || "/._-".contains(character);
    let mut words: Vec<&str> =
        asked.split(|character| !is_of_name(character)).map(|word| word.trim_start_matches('/')).collect();
    words.extend(words.clone().iter().filter_map(|word| word.rsplit('/').next()));
    words.extend(words.clone().iter().filter_map(|word| word.strip_prefix(".ralph/")));
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in words.into_iter().filter(|word| FOREIGN.iter().any(|mark| word.contains(mark))) {
        text = text.replace(word.trim_end_matches(".md"), "");
    }
    for mark in FOREIGN {
        assert!(!text.contains(mark), "{mark} in the answer to {asked}: {text}");
    }
}

/// Returns a server for the agent of `auth`, and its tools with their arguments.
fn served(base: &TestBase) -> (Agent, Vec<Value>) {
    let mut agent = Agent::greeted(base.with(["mcp", "--feature", "auth"]).command());
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone();
    (agent, tools)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(3)) })]

    #[test]
    fn no_tool_answers_with_anything_of_another_feature(
        calls in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 16]>()), 60),
    ) {
        let base = base();
        let before = content(&base.root());
        let (mut agent, tools) = served(&base);
        for (tool, choices) in calls {
            let tool = tool.get(&tools);
            let writes = tool["annotations"]["readOnlyHint"] == false;
            let required: Vec<&str> =
                tool["inputSchema"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            let mut arguments = Map::new();
            for (name, choice) in properties.keys().zip(choices) {
                let values = values(name, writes);
                // Each argument is left out as often as it is given.
                if required.contains(&name.as_str()) || choice >= 128 {
                    arguments.insert(name.clone(), values[usize::from(choice) % values.len()].clone());
                }
            }
            let asked = json!({ "name": tool["name"], "arguments": arguments });
            assert_own(&asked.to_string(), &agent.ask("tools/call", asked.clone()));
        }
        let after = content(&base.root());
        for (path, bytes) in before.iter().filter(|(path, _)| FOREIGN.iter().any(|mark| path.contains(mark))) {
            prop_assert!(after.get(path) == Some(bytes), "{} is another feature's", path);
        }
    }
}

#[test]
fn the_tools_of_a_feature_answer_for_it() {
    let base = base();
    let (mut agent, tools) = served(&base);
    // Each tool with no more than it needs, and with every value of each of its arguments.
    for tool in &tools {
        let required = tool["inputSchema"]["required"].as_array().cloned().unwrap_or_default();
        let writes = tool["annotations"]["readOnlyHint"] == false;
        let least =
            required.iter().filter_map(Value::as_str).map(|name| (name.to_owned(), values(name, writes)[0].clone()));
        let least: Map<String, Value> = least.collect();
        for name in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            for value in values(name, writes) {
                let mut arguments = least.clone();
                arguments.insert(name.clone(), value);
                let asked = json!({ "name": tool["name"], "arguments": arguments });
                assert_own(&asked.to_string(), &agent.ask("tools/call", asked.clone()));
            }
        }
    }
    // What is of no feature stays in a search, a read and a context, and is nothing of the feature's own.
    let says = |agent: &mut Agent, tool: &str, arguments: Value, marks: &[&str]| {
        let mut answer = agent.call(tool, &arguments)["structuredContent"].take();
        // Files with mistakes are named beside every answer.
        answer["problems"].take();
        let answer = answer.to_string();
        let found: Vec<&str> = MARKS.iter().map(|(_, mark)| *mark).filter(|mark| answer.contains(mark)).collect();
        assert_eq!(found, marks, "{tool} {arguments}: {answer}");
    };
    says(&mut agent, "search_memory", json!({"query": "login retries", "limit": 50}), &["alphamark", "nonemark"]);
    says(&mut agent, "build_context", json!({"task": "Login retries"}), &["alphamark", "nonemark"]);
    says(&mut agent, "build_context", json!({}), &["alphamark", "nonemark"]);
    says(&mut agent, "read_entry", json!({"id": "nonemark-fact"}), &["alphamark", "nonemark"]);
    says(&mut agent, "search_feature_memory", json!({"query": "login timeout"}), &["alphamark", "nonemark"]);
    says(&mut agent, "get_failed_attempts", json!({"task_id": "t-4"}), &["nonemark"]);
    for tool in ["get_recent_iterations", "get_feature_files", "get_failed_attempts"] {
        // Its attempts name an entry of no feature only in their context, which these do not show.
        says(&mut agent, tool, json!({}), &["alphamark"]);
        let refused = agent.call(tool, &json!({"feature": "billing"}));
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains("this server answers for the feature `auth`") && text.contains("leave `feature` out"),
            "{text}"
        );
    }
}

/// What an agent of a feature writes gets no name and no number that another feature has.
#[test]
fn a_title_of_another_feature_is_free() {
    let base = base();
    let (mut agent, _) = served(&base);
    let fact = json!({"title": "Login retries", "tags": ["login", "retry"], "body": "Three of them."});
    let first = agent.call("add_knowledge", &fact);
    assert_eq!(first["structuredContent"]["action"], "updated", "its own: {first}");
    assert_own("add_knowledge", &first);
    let second = agent.call("add_knowledge", &json!({"title": "Same bravomark", "tags": ["login"], "body": "Ours."}));
    assert_eq!(second["structuredContent"]["action"], "created", "{second}");
    assert_ne!(second["structuredContent"]["id"], "knowledge/same-bravomark", "another feature has that id");
    assert_eq!(base.memory().check().problems.iter().filter(|problem| problem.code == "duplicate-id").count(), 0);
}
