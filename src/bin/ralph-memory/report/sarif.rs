//! Problems as SARIF 2.1.0: the smallest valid form that code hosts show.

use std::io::{self, Write};

use ralph_memory::Problem;
use ralph_memory::error::Severity;
use ralph_memory::text::address_path;
use serde::Serialize;

#[derive(Serialize)]
struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<'a> {
    tool: Tool<'a>,
    /// Columns count characters, not UTF-16 units.
    column_kind: &'static str,
    results: Vec<SarifFinding<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    driver: Driver<'a>,
}

#[derive(Serialize)]
struct Driver<'a> {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule<'a> {
    id: &'a str,
    short_description: SarifText,
    help: SarifText,
}

#[derive(Serialize)]
struct SarifText {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifFinding<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: &'static str,
    message: SarifText,
    locations: [Location; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactLocation {
    uri: String,
    uri_base_id: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
}

/// Writes the problems as one SARIF log.
pub(crate) fn sarif(out: &mut dyn Write, problems: &[Problem]) -> io::Result<()> {
    let mut rules: Vec<&Problem> = problems.iter().collect();
    rules.sort_by(|one, other| one.code.cmp(&other.code));
    rules.dedup_by(|one, other| one.code == other.code);
    let results = problems.iter().map(|problem| finding(problem, &rules)).collect();
    let rules = rules.iter().map(|problem| Rule {
        id: &problem.code,
        short_description: SarifText { text: problem.code.replace('-', " ") },
        help: SarifText { text: problem.hint.to_string() },
    });
    let driver = Driver { name: "ralph-memory", version: env!("CARGO_PKG_VERSION"), rules: rules.collect() };
    let run = SarifRun { tool: Tool { driver }, column_kind: "unicodeCodePoints", results };
    let schema = "https://json.schemastore.org/sarif-2.1.0.json";
    serde_json::to_writer(&mut *out, &SarifLog { schema, version: "2.1.0", runs: [run] })?;
    writeln!(out)
}

fn finding<'a>(problem: &'a Problem, rules: &[&Problem]) -> SarifFinding<'a> {
    SarifFinding {
        rule_id: &problem.code,
        rule_index: rules.partition_point(|rule| rule.code < problem.code),
        level: match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Notice => "note",
        },
        message: SarifText { text: format!("{}; {}", problem.message, problem.hint) },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: address_path(&problem.path), uri_base_id: "%SRCROOT%" },
                region: problem.line.map(|start_line| Region { start_line, start_column: problem.column }),
            },
        }],
    }
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
        let log = log(&[problem(Severity::Error, 2, 9), other, problem(Severity::Error, 3, 0)]);
        assert_eq!(log["$schema"], "https://json.schemastore.org/sarif-2.1.0.json");
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        assert_eq!(run["columnKind"], "unicodeCodePoints");
        assert_eq!(run["tool"]["driver"]["name"], "ralph-memory");
        let rule = |id: &str, short: &str| json!({"id": id, "shortDescription": {"text": short}, "help": {"text": "how to fix it"}});
        assert_eq!(run["tool"]["driver"]["rules"], json!([rule("another", "another"), rule("some-code", "some code")]));
        assert_eq!(
            run["results"][0],
            json!({
                "ruleId": "some-code", "ruleIndex": 1, "level": "error",
                "message": {"text": "what is wrong; how to fix it"},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": ".ralph/knowledge/a.md", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 2, "startColumn": 9},
                }}],
            })
        );
        assert_eq!((&run["results"][1]["ruleIndex"], &run["results"][1]["level"]), (&json!(0), &json!("warning")));
        assert_eq!(run["results"][1]["locations"][0]["physicalLocation"].get("region"), None);
        assert_eq!(run["results"][2]["locations"][0]["physicalLocation"]["region"], json!({"startLine": 3}));
    }

    #[test]
    fn an_empty_log_is_still_a_log() {
        let log = log(&[]);
        assert_eq!((&log["runs"][0]["results"], &log["runs"][0]["tool"]["driver"]["rules"]), (&json!([]), &json!([])));
    }

    #[test]
    fn paths_are_references() {
        assert_eq!(address_path(".ralph/knowledge/größe 100%.md"), ".ralph/knowledge/gr%C3%B6%C3%9Fe%20100%25.md");
        assert_eq!(address_path("a:b?c#d"), "a%3Ab%3Fc%23d");
    }
}
