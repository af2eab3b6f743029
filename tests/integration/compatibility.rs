//! A memory that 0.1.0 wrote is read as 0.1.0 read it, for ever; `fixtures/memory-0.1.0/` never changes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::TestBase;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/memory-0.1.0");
/// When 0.1.0 gave the answers.
const THEN: &str = "2026-12-01T00:00:00Z";

/// Returns a copy of the memory of 0.1.0.
fn first_memory() -> TestBase {
    let base = TestBase::without_memory();
    crate::broken::copy(&Path::new(FIXTURE).join(".ralph"), &base.at(".ralph"));
    base
}

/// Returns where `now` lacks something of `then`: new keys may appear at any time.
fn lacking(then: &Value, now: &Value, at: &str) -> Vec<String> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => then
            .iter()
            .flat_map(|(key, value)| match now.get(key) {
                Some(now) => lacking(value, now, &format!("{at}/{key}")),
                None => vec![format!("{at}/{key} is gone")],
            })
            .collect(),
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            let pairs = then.iter().zip(now).enumerate();
            pairs.flat_map(|(place, (then, now))| lacking(then, now, &format!("{at}/{place}"))).collect()
        }
        _ if then == now => Vec::new(),
        _ => vec![format!("{at} was {then} and is {now}")],
    }
}

#[test]
fn a_memory_of_the_first_version_is_read_as_that_version_read_it() {
    let base = first_memory();
    let before = files(&base);
    let answers: Value = serde_json::from_slice(&fs::read(Path::new(FIXTURE).join("answers.json")).unwrap()).unwrap();
    let answers = answers.as_object().unwrap();
    assert!(answers.len() > 20);
    for (line, then) in answers {
        let words = line.split(' ').chain(["--json"]);
        let said = base.with(words).now(THEN).run().answer(0);
        let now: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lacking(then, &now.into(), line), [""; 0]);
    }
    // Every setting is known, every file is in order, and reading changed none.
    base.with(["check", "--strict"]).now(THEN).run().says(0, "no problems in 15 files");
    assert_eq!(files(&base), before);
}

/// Returns the files that git would see, with their contents.
fn files(base: &TestBase) -> Vec<(String, String)> {
    let paths = base.files(".ralph").into_iter();
    let own = paths.filter(|path| !path.starts_with(".ralph/cache") && !path.starts_with(".ralph/state"));
    own.map(|path| (path.clone(), base.read(&path))).collect()
}

#[test]
fn what_is_missing_or_changed_is_told() {
    let then = serde_json::json!({ "a": [1, { "b": null }], "c": "x" });
    assert_eq!(lacking(&then, &serde_json::json!({ "a": [1, { "b": null, "new": 1 }], "c": "x" }), ""), [""; 0]);
    for (now, expected) in [
        (serde_json::json!({ "a": [1, {}], "c": "x" }), "/a/1/b is gone"),
        (serde_json::json!({ "a": [1, { "b": null }], "c": "y" }), "/c was \"x\" and is \"y\""),
        (serde_json::json!({ "a": [1], "c": "x" }), "/a was [1,{\"b\":null}] and is [1]"),
    ] {
        assert_eq!(lacking(&then, &now, ""), [expected]);
    }
}

#[test]
fn a_field_that_went_is_no_fault_and_stays_in_its_file() {
    let base = TestBase::new();
    let file = ".ralph/journal/run-0000000a/0001.md";
    let text = "---\nrun_id: run-0000000a\niteration: 1\ntask_title: \"Fix the login\"\noutcome: failed\n\
         started_at: \"2026-10-01T10:00:00Z\"\nexperiment: withheld\n---\n\nNotes.\n";
    base.write(file, text);
    assert_eq!(base.run(["log", "--json"]).json(0)["attempts"][0]["task_title"], "Fix the login");
    base.run(["check", "--strict", "--fix"]).says(0, "no problems in 1 file");
    assert_eq!(base.read(file), text);
}
