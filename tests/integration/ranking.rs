//! Retrieval quality on the golden set: how well entries are found for the tasks that need them.

#![expect(clippy::cast_precision_loss, reason = "ranks and counts are small")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ralph_memory::{Memory, Query};

/// A task and the entries that matter for it, with their grades.
struct Task {
    query: Query,
    relevant: BTreeMap<String, f64>,
}

fn tasks(golden: &Path) -> Vec<Task> {
    let text = fs::read_to_string(golden.join("tasks.jsonl")).unwrap();
    let task = |line: &str| {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| task[key].as_str().unwrap_or_default().to_owned();
        let relevant = task["relevant"].as_object().unwrap();
        Task {
            query: Query {
                text: format!("{}\n{}", text("title"), text("description")),
                feature: task["feature"].as_str().map(str::to_owned),
                files: task["files"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|file| file.as_str().unwrap().to_owned())
                    .collect(),
                ..Query::default()
            },
            relevant: relevant.iter().map(|(id, grade)| (id.clone(), grade.as_f64().unwrap())).collect(),
        }
    };
    text.lines().map(task).collect()
}

/// Returns the mean nDCG@10 and recall@5 over the tasks.
fn quality(memory: &Memory, tasks: &[Task], text_weight: Option<f64>) -> (f64, f64) {
    let (mut gain, mut recall) = (0.0, 0.0);
    for task in tasks {
        let query = Query { text_weight, ..task.query.clone() };
        let hits = memory.search(&query, 10).unwrap().hits;
        let worth = |grade: f64, rank: usize| (grade.exp2() - 1.0) / (rank as f64 + 2.0).log2();
        let grade = |id: &str| task.relevant.get(id).copied().unwrap_or(0.0);
        let found: f64 = hits.iter().enumerate().map(|(rank, hit)| worth(grade(hit.id.as_str()), rank)).sum();
        let mut best: Vec<f64> = task.relevant.values().copied().collect();
        best.sort_by(|one, other| other.total_cmp(one));
        let ideal: f64 = best.iter().take(10).enumerate().map(|(rank, grade)| worth(*grade, rank)).sum();
        gain += found / ideal;
        let n_found = hits.iter().take(5).filter(|hit| grade(hit.id.as_str()) > 0.0).count();
        recall += n_found as f64 / task.relevant.len() as f64;
    }
    (gain / tasks.len() as f64, recall / tasks.len() as f64)
}

/// A memory in a temporary folder with the entries of the golden set.
fn golden_copy() -> (tempfile::TempDir, Memory, Vec<Task>) {
    golden_copy_with(0)
}

/// The same, each entry with so many of the questions that were written for it, blind to the tasks.
fn golden_copy_with(n_questions: usize) -> (tempfile::TempDir, Memory, Vec<Task>) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/search");
    let folder = tempfile::tempdir().unwrap();
    let knowledge = folder.path().join(".ralph/knowledge");
    fs::create_dir_all(&knowledge).unwrap();
    for entry in fs::read_dir(golden.join(".ralph/knowledge")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, knowledge.join(path.file_name().unwrap())).unwrap();
    }
    for line in fs::read_to_string(golden.join("questions.jsonl")).unwrap().lines().filter(|_| n_questions > 0) {
        let all: serde_json::Value = serde_json::from_str(line).unwrap();
        let questions = serde_json::to_string(&all["questions"].as_array().unwrap()[..n_questions]).unwrap();
        let path = knowledge.join(format!("{}.md", all["id"].as_str().unwrap()));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replacen("---\n", &format!("---\nquestions: {questions}\n"), 1)).unwrap();
    }
    let memory = Memory::open(folder.path()).unwrap();
    (folder, memory, tasks(&golden))
}

#[test]
fn entries_are_found_by_questions_written_blind_to_the_tasks() {
    let measured = |n_questions| {
        let (_folder, memory, tasks) = golden_copy_with(n_questions);
        quality(&memory, &tasks, None)
    };
    let (one, three) = (measured(1), measured(3));
    assert!(one.0 >= 0.815 && three.0 >= 0.84, "nDCG@10 and recall@5 with one {one:?}, with three {three:?}");
}

#[test]
fn entries_are_found_for_the_tasks_that_need_them() {
    let (_folder, memory, tasks) = golden_copy();
    assert!(tasks.len() >= 80);
    let listed = memory.list(&ralph_memory::memory::Filter::default()).unwrap();
    assert!(listed.entries.len() >= 80 && listed.problems.is_empty(), "{:?}", listed.problems);
    let (gain, recall) = quality(&memory, &tasks, None);
    // Measured when the weights were chosen: .773 and .693. The floors lie a little below, so that a
    // change which loses is seen.
    assert!(gain >= 0.75 && recall >= 0.67, "nDCG@10 {gain:.4}, recall@5 {recall:.4}");
}

#[test]
fn without_text_the_points_of_the_seeds_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let knowledge = folder.path().join(".ralph/knowledge");
    fs::create_dir_all(&knowledge).unwrap();
    let write = |name: &str, tags: &str| {
        fs::write(knowledge.join(name), format!("---\ntitle: \"{name}\"\ntags: [{tags}]\n---\n\nconnection pool\n"))
            .unwrap();
    };
    write("one.md", "tests, checkout");
    write("two.md", "connection pool");
    write("three.md", "writer");
    write("four.md", "rs, checkout flow, tests, pools");
    write("five.md", "other");
    let memory = Memory::open(folder.path()).unwrap();
    let query = Query {
        text: "Make the tests, all of them, use a connection-pool".into(),
        feature: Some("checkout-flow".into()),
        files: vec!["src/db/writer.rs".into()],
        text_weight: Some(0.0),
        ..Query::default()
    };
    let hits = memory.search(&query, 10).unwrap().hits;
    let scores: Vec<(&str, f64)> = hits.iter().map(|hit| (hit.id.stem(), hit.score)).collect();
    // four: `checkout flow` by the feature, `tests` and `pools` by the text; `rs` is too short a part
    // of a path. one: `tests` by the text, `checkout` by the feature. two: by the text. three: by the
    // path. five has nothing, though its body has the words.
    assert_eq!(scores, [("four", 6.0), ("one", 4.0), ("two", 2.0), ("three", 1.0)]);
}
