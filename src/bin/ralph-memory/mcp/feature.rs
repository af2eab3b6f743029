//! `get_recent_iterations`, `get_feature_files` and `get_failed_attempts`: views of the journal.

use ralph_memory::Memory;
use ralph_memory::entry::Outcome;
use ralph_memory::memory::{AttemptView, Found};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::agent_tool::AgentTool;
use super::refusal::parsed;
use super::shown::{inline, items, joined, line, piece, quoted, string};
use crate::answers::{each_text, sections};
use crate::parse;

/// How many attempts an answer has by default.
const ITERATIONS: usize = 5;
/// The most attempts of an answer.
const MAX_ITERATIONS: usize = 50;
/// How many failures an answer has; contexts have covered the older ones.
const FAILURES: usize = 20;
/// How many files of one attempt are listed in each of its lists.
const OWN_FILES: usize = 20;
/// How much of an attempt's section is shown, in characters; the entry has all of it.
const SECTION: usize = 600;
/// The end of a section that was cut.
const CUT: &str = "… (cut; read_entry shows all)";
/// What an answer with attempts ends with.
const READ_ON: &str = "read_entry shows one in full.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recent {
    /// All by default.
    feature: Option<String>,
    /// 5 by default.
    #[schemars(range(min = 1, max = 50))]
    count: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FeatureFilesTool {
    /// All by default.
    feature: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FailuresTool {
    /// All by default.
    feature: Option<String>,
    /// All by default.
    task_id: Option<String>,
}

impl AgentTool for Recent {
    const NAME: &'static str = "get_recent_iterations";
    const TITLE: &'static str = "Recent attempts";
    const DESCRIPTION: &'static str = "Lists the last attempts and how they ended. Call it when you take over what \
        others began.";
    const OF_FEATURE: bool = true;

    fn call(self, memory: &Memory) -> anyhow::Result<Value> {
        let feature = named(self.feature.as_deref());
        let found = memory.recent_iterations(feature, self.count.unwrap_or(ITERATIONS).clamp(1, MAX_ITERATIONS));
        let note = if found.items.is_empty() { nothing(feature) } else { READ_ON.to_owned() };
        answer(&found, &note)
    }

    fn markdown(answer: &Value) -> String {
        attempts(answer)
    }
}

impl AgentTool for FailuresTool {
    const NAME: &'static str = "get_failed_attempts";
    const TITLE: &'static str = "Failed attempts";
    const DESCRIPTION: &'static str = "Lists failed attempts: what was tried, why it failed, what to do instead. \
        Call it when you are stuck. Do not repeat what failed without a reason why it works now.";
    const OF_FEATURE: bool = true;

    fn call(self, memory: &Memory) -> anyhow::Result<Value> {
        let task_id = self.task_id.as_deref().filter(|id| !id.trim().is_empty());
        let hint = "take it from an answer of get_recent_iterations, or leave it out";
        parsed(task_id.map(parse::task_id).transpose(), "task_id:", hint)?;
        let feature = named(self.feature.as_deref());
        let found = memory.failed_attempts(feature, task_id, FAILURES)?;
        let note = match (found.in_all, task_id) {
            (0, Some(_)) => "No attempt at this task failed, according to the journal.".to_owned(),
            (0, None) => nothing(feature),
            (in_all, _) if in_all > FAILURES => {
                format!("These are the last {FAILURES} of {in_all}. search_memory with kind `journal` finds others.")
            }
            _ => READ_ON.to_owned(),
        };
        answer(&found, &note)
    }

    fn markdown(answer: &Value) -> String {
        attempts(answer)
    }
}

impl AgentTool for FeatureFilesTool {
    const NAME: &'static str = "get_feature_files";
    const TITLE: &'static str = "Feature files";
    const DESCRIPTION: &'static str = "Lists the files that attempts created, changed or read, most frequent first: \
        where a feature lives.";
    const OF_FEATURE: bool = true;

    fn call(self, memory: &Memory) -> anyhow::Result<Value> {
        let Found { items: files, problems, .. } = memory.feature_files(named(self.feature.as_deref()));
        Ok(json!({"total": files.len(), "files": files, "problems": problems}))
    }

    fn markdown(answer: &Value) -> String {
        let files = items(answer, "files");
        let file = |file: &Value| {
            let first = if file["suggested"] == true { "; look at it first" } else { "" };
            let s = if file["attempts"] == 1 { "" } else { "s" };
            let [path, attempts, created, modified, read] =
                ["path", "attempts", "created", "modified", "read"].map(|key| inline(&file[key]));
            format!(
                "- {path}: {attempts} attempt{s}; {created} created it, {modified} changed it, {read} read it{first}\n"
            )
        };
        let mut text: String = files.iter().map(file).collect();
        let more = answer["total"].as_u64().unwrap_or_default().saturating_sub(files.len() as u64);
        if files.is_empty() && answer["note"].is_null() {
            text.push_str("The journal names no files.\n");
        } else if more > 0 {
            text.push_str(&format!("and {more} more\n"));
        }
        text
    }
}

/// Returns the selected feature, if there is one.
fn named(feature: Option<&str>) -> Option<&str> {
    feature.map(str::trim).filter(|feature| !feature.is_empty())
}

fn nothing(feature: Option<&str>) -> String {
    match feature {
        Some(feature) => format!("The journal has none of the feature `{}`.", line(feature)),
        None => "The journal has none yet.".to_owned(),
    }
}

fn answer(found: &Found<AttemptView>, note: &str) -> anyhow::Result<Value> {
    let iterations = found.items.iter().map(attempt).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"iterations": iterations, "note": note, "problems": found.problems}))
}

/// Returns an attempt with the beginning of each of its texts, and without what a verification has refuted.
fn attempt(view: &AttemptView) -> serde_json::Result<Value> {
    let mut attempt = serde_json::to_value(view)?;
    if let Some(fields) = attempt.as_object_mut() {
        // The entries that its context showed may be of no feature, or of another one.
        fields.remove("context");
    }
    let is_refuted = attempt["outcome"] == Outcome::Retried.as_str();
    if is_refuted {
        // They claim that all is well.
        attempt["summary"] = "".into();
        attempt["error_output"] = "".into();
    }
    if !view.attempt.sections.has_report()
        && attempt["validation"]["exit_code"] != 0
        && !attempt["validation"].is_null()
    {
        // The placeholder for a missing report says less than the verification.
        attempt["why_failed"] = "".into();
    }
    // The last lines of a command say most.
    let output = string(&attempt, "validation_output").trim_end();
    let from = output.char_indices().rev().nth(SECTION / 2).map_or(0, |(at, _)| at);
    attempt["validation_output"] = output[from..].into();
    each_text(&mut attempt, OWN_FILES, &beginning);
    Ok(attempt)
}

/// Returns the beginning of a text, marked if it was cut.
fn beginning(text: &str) -> String {
    let text = text.trim();
    let (piece, next) = piece(text, 0, SECTION);
    let end = if next.is_some() { CUT } else { "" };
    format!("{}{end}", piece.trim_end())
}

fn attempts(answer: &Value) -> String {
    let attempt = |attempt: &Value| {
        let about = joined(attempt, &["id", "task_id", "feature", "error_category", "model", "started_at"]);
        let mut text = format!("### {}: {}\n{about}\n", inline(&attempt["task_title"]), string(attempt, "outcome"));
        for (heading, part) in sections(attempt) {
            text.push_str(&format!("\n**{heading}**\n\n{}", quoted(&part)));
        }
        text + "\n"
    };
    let attempts: String = items(answer, "iterations").iter().map(attempt).collect();
    format!("{attempts}{}\n", string(answer, "note"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_say_so() {
        assert_eq!(beginning(" a\n"), "a");
        let long = beginning(&"é".repeat(SECTION + 1));
        assert_eq!(long, format!("{}{CUT}", "é".repeat(SECTION)));
    }
}
