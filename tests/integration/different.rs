//! Facts that differ in a symbol, a number, a negation or the case of a letter are two facts, through whichever door they come;
//! and those of which one at most can hold are told in the right order.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::support::TestBase;

/// Pairs of different facts.
const DIFFERENT: [[&str; 2]; 22] = [
    ["Compare the ids with == in the client", "Compare the ids with != in the client"],
    ["Retry when the status is > 500", "Retry when the status is < 500"],
    ["Page by id < cursor", "Page by id <= cursor"],
    ["The style guide of C is strict", "The style guide of C++ is strict"],
    ["The bindings for C++ are generated", "The bindings for C# are generated"],
    ["The parser returns -1 at the end", "The parser returns 1 at the end"],
    ["The backoff grows by 1.5 each time", "The backoff grows by 15 each time"],
    ["A ratio of .5 is wanted", "A ratio of 5 is wanted"],
    ["Pin serde to ~1.2 in the workspace", "Pin serde to ^1.2 in the workspace"],
    ["The tool has the flag -v here", "The tool has the flag -V here"],
    ["Build images with --no-cache on release", "Build images with --cache on release"],
    ["Sessions end after 15m of silence", "Sessions end after 15M of silence"],
    ["Tokens match \\s in the lexer", "Tokens match \\S in the lexer"],
    ["Backups are named by `%H:%M` alone", "Backups are named by `%H:%m` alone"],
    ["Read .env on each start", "Read env on each start"],
    ["The $HOME of builds is empty", "The HOME of builds is empty"],
    ["Records are written by `save!` there", "Records are written by `save` there"],
    ["Use && between the two commands", "Use || between the two commands"],
    ["Keys are written as section.name", "Keys are written as section/name"],
    ["Run the migrations before each deploy", "Never run the migrations before each deploy"],
    ["Preview pods can reach the network", "Preview pods can't reach the network"],
    ["接続タイムアウトは30秒。再試行はしない", "接続タイムアウトは300秒。再試行はしない"],
];

/// Ways to write one fact.
const SAME: [[&str; 2]; 8] = [
    ["Use `fs::write` for reports", "use fs::write for reports."],
    ["Flaky test: websocket reconnect", "Flaky  test websocket reconnect"],
    ["A timeout kills the upload", "a timeout kills the upload"],
    ["Release (at night)", "Release, at night!"],
    ["E-mail goes out hourly", "e-mail goes out hourly"],
    ["The API speaks v2", "The api speaks V2"],
    ["Don’t lock twice", "don't lock twice"],
    ["設定は「config」に書く", "設定は config に書く"],
];

/// What opens a door: it adds a fact with this title and text, and returns what became of it.
type Door<'a> = Box<dyn FnMut(&str, &str) -> String + 'a>;

fn action(answer: &Value) -> String {
    answer["action"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Returns the doors of three memories.
fn doors(bases: &[TestBase; 3]) -> [Door<'_>; 3] {
    let [of_add, of_event, of_tool] = bases;
    let mut agent = Agent::greeted(of_tool.with(["mcp"]).command());
    let tool = move |title: &str, body: &str| {
        let answer = agent.call("add_knowledge", &json!({"title": title, "tags": ["tool", "door"], "body": body}));
        action(&answer["structuredContent"])
    };
    let add = |title: &str, body: &str| {
        action(&of_add.run(["add", title, "--tags", "add,door", "--body", body, "--json"]).json(0))
    };
    let event = |_: &str, body: &str| action(&of_event.run(["add", body, "--event", "decision", "--json"]).json(0));
    [Box::new(add), Box::new(event), Box::new(tool)]
}

/// Returns what became of facts that one answer of an agent tells.
fn recorded(base: &TestBase, pair: &[&str; 2]) -> Vec<String> {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let element = |fact: &&str| {
        let fact = escaped(fact);
        format!("<knowledge tags=\"record,door\" title=\"{fact}\">In this project: {fact}.</knowledge>\n")
    };
    let output: String = pair.iter().map(element).collect();
    let answer = base.with(["record", "--task", pair[0], "--outcome", "done", "--json"]).input(output).run().json(0);
    let knowledge = answer["knowledge"].as_array().unwrap();
    knowledge.iter().map(|added| added["action"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn facts_that_differ_are_two_through_every_door() {
    let bases = [0; 3].map(|_| TestBase::new());
    for (number, mut open) in doors(&bases).into_iter().enumerate() {
        for fact in DIFFERENT.as_flattened() {
            assert_eq!(open(fact, &format!("In this project: {fact}.")), "created", "door {number}: {fact}");
        }
    }
    let base = TestBase::new();
    for pair in &DIFFERENT {
        assert_eq!(recorded(&base, pair), ["created", "created"], "record: {pair:?}");
    }
    // A title that one only extends is no reason to replace what differs.
    for [one, other] in DIFFERENT {
        let base = TestBase::new();
        let add = |title: &str, fact: &str| {
            let body = format!("{fact}. The gateway does it. Ask the platform team first. It holds since the spring.");
            base.run(["add", title, "--tags", "a,b", "--body", &body]).stdout
        };
        add("What we agreed", one);
        assert!(add("What we agreed on", other).starts_with("created"), "{one} became {other}");
    }
}

#[test]
fn a_fact_that_is_written_otherwise_is_one() {
    let bases = [0; 3].map(|_| TestBase::new());
    for (number, mut open) in doors(&bases).into_iter().enumerate() {
        for [one, other] in SAME {
            let said = |fact: &str| format!("In this project. {fact}.");
            assert_eq!(open(one, &said(one)), "created", "door {number}: {one}");
            assert_ne!(open(other, &said(other)), "created", "door {number}: {other}");
        }
    }
    let base = TestBase::new();
    for pair in &SAME {
        let created = recorded(&base, pair).iter().filter(|action| *action == "created").count();
        assert_eq!(created, 1, "record: {pair:?}");
    }
}

#[test]
fn what_an_update_removed_is_named_to_whoever_wrote_it() {
    let base = TestBase::new();
    let mut agent = Agent::greeted(base.with(["mcp"]).command());
    let mut tell = |body: &str| {
        let answer = agent.call("add_knowledge", &json!({"title": "Release", "tags": ["a"], "body": body}));
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    };
    tell("Ask first.\n\nThen wait.");
    let told = tell("Ask first.\n\nThen ship.");
    let gone = "The entry no longer says this; if it still holds, add it again:\n\n> Then wait.\n";
    assert!(told.starts_with("updated `knowledge/release`") && told.ends_with(gone), "{told}");
    let output = "<knowledge tags=\"a\" title=\"Release\">Ask nobody.</knowledge>";
    let ran = base.with(["record", "--task", "x", "--outcome", "done"]).input(output).run();
    assert!(ran.stderr.contains("2 lines are gone") && ran.stderr.contains("- Then ship.\n"), "{ran}");
}

#[test]
fn a_link_means_the_title_with_its_case() {
    let base = TestBase::new();
    base.entry("small", "The flag -v", "a", "Prints more.").entry("large", "The flag -V", "a", "Prints the version.");
    base.entry("links", "Flags", "a", "[[The flag -V]] and [[the FLAG -v]].");
    let links = base.run(["show", "links", "--json"]).json(0)["entry"]["links"].clone();
    let ids: Vec<&str> = links.as_array().unwrap().iter().map(|link| link["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["knowledge/large", "knowledge/small"]);
    base.run(["edit", "small", "--title", "The flag -V"]).refuses(4, "knowledge/large");
}

/// Writes an entry of a day in 2026.
fn write(base: &TestBase, stem: &str, day: &str, head: &str, body: &str) {
    let text = format!("---\ntags: [release, ship]\ncreated_at: \"2026-{day}\"\n{head}\n---\n\n{body}\n");
    base.write(&format!(".ralph/knowledge/{stem}.md"), text);
}

#[test]
fn of_contradicting_facts_the_newer_is_told_first_and_the_other_named() {
    let base = TestBase::new();
    // The older ones match better, or have more importance.
    write(&base, "a-old", "02-01", "title: Ship releases\nimportance: 90", "Ship releases with `just ship releases`.");
    write(&base, "b-new", "03-01", "title: ship releases.", "Never by hand.");
    write(&base, "c-gone", "01-01", "title: Sign", "By hand.");
    write(
        &base,
        "d-old",
        "02-01",
        "title: Sign packages\nsupersedes: [c-gone]\nimportance: 80",
        "Sign packages, sign packages.",
    );
    write(&base, "e-new", "03-01", "title: Sign the packages\nsupersedes: [c-gone]", "With the key of the team.");
    write(&base, "f-agent", "04-01", "title: Ship releases\nsource: agent", "At once.");
    let titled = ["knowledge/b-new", "knowledge/a-old", "knowledge/f-agent"];
    let replacing = ["knowledge/e-new", "knowledge/d-old"];
    for (query, expected) in [("ship releases", &titled[..]), ("sign packages", &replacing[..])] {
        let found = base.run(["search", query, "--json"]).json(0);
        let entries = found["entries"].as_array().unwrap();
        let told: Vec<&Value> = entries.iter().filter(|entry| !entry["contradicts"].is_null()).collect();
        let ids: Vec<&str> =
            told.iter().map(|entry| entry["id"].as_str().unwrap()).filter(|id| expected.contains(id)).collect();
        assert_eq!(ids, expected, "{query}: {found}");
        assert_eq!(told[0]["contradicts"], json!(expected[1..]), "{query}");
        let scores: Vec<f64> = entries.iter().map(|entry| entry["score"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    }
    base.run(["search", "sign packages"]).says(0, "contradicts knowledge/d-old");
    let in_order = |text: &str, ids: &[&str]| {
        let places: Vec<_> = ids.iter().map(|id| text.find(&format!("`{id}`"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{ids:?}: {text}");
    };
    let context = base.run(["context", "Ship releases and sign the packages"]).stdout;
    let briefing = base.run(["context"]).stdout;
    for text in [context, briefing] {
        in_order(&text, &titled);
        in_order(&text, &replacing);
        assert!(text.contains("`knowledge/e-new`, contradicting `knowledge/d-old`"), "{text}");
    }
    let problems = base.run(["check", "--json"]).json(0)["problems"].clone();
    let of_code = |code: &str| -> Vec<&str> {
        let found = problems.as_array().unwrap().iter().filter(|problem| problem["code"] == code);
        found.map(|problem| problem["path"].as_str().unwrap()).collect()
    };
    let names = ["b-new", "e-new", "f-agent"].map(|name| format!(".ralph/knowledge/{name}.md"));
    assert_eq!(of_code("near-duplicate"), names);
}

#[test]
fn what_a_success_taught_is_told_before_what_the_failures_taught() {
    let base = TestBase::new();
    let record = |outcome: &str, learned: &str, day: u32| {
        let output = format!("<learning category=\"pitfall\" tags=\"broker\">{learned}</learning>");
        let ran = base.with(["record", "--task", "Connect to the broker", "--outcome", outcome]);
        ran.now(&format!("2026-11-{day}T10:00:00Z")).input(output).run().says(0, "recorded");
    };
    record("failed", "Connect to the broker by port 5672: the broker is connected by port 5672.", 10);
    record("done", "The broker wants TLS.", 11);
    let context = base.run(["context", "Connect the worker to the broker by its port"]).stdout;
    let place = |text: &str| context.find(text).unwrap_or_else(|| panic!("{text}: {context}"));
    assert!(place("The broker wants TLS.") < place("Connect to the broker by port 5672"), "{context}");
}
