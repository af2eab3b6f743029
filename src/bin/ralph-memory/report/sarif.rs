//! Problems as SARIF 2.1.0: the smallest valid form that code hosts show.

use std::io::{self, Write};

use ralph_memory::Problem;
use ralph_memory::error::Severity;
use serde_json::{Value, json};

/// Writes the problems as one SARIF log.
pub(crate) fn sarif(out: &mut dyn Write, problems: &[Problem]) -> io::Result<()> {
    let mut rules: Vec<&Problem> = problems.iter().collect();
    rules.sort_by(|one, other| one.code.cmp(&other.code));
    rules.dedup_by(|one, other| one.code == other.code);
    let results: Vec<Value> = problems.iter().map(|problem| result(problem, &rules)).collect();
    let rules = rules.iter().map(|problem| {
        json!({
            "id": problem.code,
            "shortDescription": {"text": problem.code.replace('-', " ")},
            // Code hosts want one, and hints are about one entry each.
            "help": {"text": "Each result says what to do."},
        })
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ralph-memory",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.collect::<Vec<_>>(),
            }},
            // Not UTF-16 units.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer(&mut *out, &log)?;
    writeln!(out)
}

fn result(problem: &Problem, rules: &[&Problem]) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(&problem.path), "uriBaseId": "%SRCROOT%"}});
    if let Some(line) = problem.line {
        place["region"] = json!({"startLine": line});
        if let Some(column) = problem.column {
            place["region"]["startColumn"] = column.into();
        }
    }
    json!({
        "ruleId": problem.code,
        "ruleIndex": rules.partition_point(|rule| rule.code < problem.code),
        "level": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Notice => "note",
        },
        "message": {"text": format!("{}; {}", problem.message, problem.hint)},
        "locations": [{"physicalLocation": place}],
    })
}

/// Writes a relative path as a URI reference.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{problem, text};
    use super::*;

    fn log(problems: &[Problem]) -> Value {
        serde_json::from_str(&text(|out| sarif(out, problems))).unwrap()
    }

    #[test]
    fn a_log_lists_each_rule_once_and_results_in_order() {
        let other = Problem { code: "another".to_owned(), ..problem(Severity::Warning, 0, 0) };
        let problems = [problem(Severity::Error, 2, 9), other, problem(Severity::Notice, 3, 0)];
        let rule = |id: &str, short: &str| json!({"id": id, "shortDescription": {"text": short}, "help": {"text": "Each result says what to do."}});
        let file = json!({"uri": ".ralph/knowledge/a.md", "uriBaseId": "%SRCROOT%"});
        let result = |id: &str, index: usize, level: &str, place: Value| {
            json!({
                "ruleId": id, "ruleIndex": index, "level": level,
                "message": {"text": "what is wrong; how to fix it"},
                "locations": [{"physicalLocation": place}],
            })
        };
        assert_eq!(
            log(&problems),
            json!({
                "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
                "version": "2.1.0",
                "runs": [{
                    "tool": {"driver": {
                        "name": "ralph-memory",
                        "version": env!("CARGO_PKG_VERSION"),
                        "rules": [rule("another", "another"), rule("some-code", "some code")],
                    }},
                    "columnKind": "unicodeCodePoints",
                    "results": [
                        result("some-code", 1, "error", json!({"artifactLocation": file, "region": {"startLine": 2, "startColumn": 9}})),
                        result("another", 0, "warning", json!({"artifactLocation": file})),
                        result("some-code", 1, "note", json!({"artifactLocation": file, "region": {"startLine": 3}})),
                    ],
                }],
            })
        );
    }

    #[test]
    fn an_empty_log_is_still_a_log() {
        let log = log(&[]);
        assert_eq!((&log["runs"][0]["results"], &log["runs"][0]["tool"]["driver"]["rules"]), (&json!([]), &json!([])));
    }

    #[test]
    fn paths_are_references() {
        assert_eq!(uri(".ralph/knowledge/größe 100%.md"), ".ralph/knowledge/gr%C3%B6%C3%9Fe%20100%25.md");
        assert_eq!(uri("a:b?c#d"), "a%3Ab%3Fc%23d");
    }
}
