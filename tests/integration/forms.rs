//! Names and words in both of Unicode's forms: `é` as one character, as most programs write it (NFC), and as a letter
//! and an accent, as some file systems and editors do (NFD). They look alike, so they are the same.

use ralph_memory::memory::{EntryFilter, WriteAction};
use ralph_memory::{Id, Knowledge, Memory, Query, Scope, Task};
use serde_json::json;

use crate::support::TestBase;

const COMPOSED: &str = "gr\u{f6}\u{df}e-caf\u{e9}";
const DECOMPOSED: &str = "gro\u{308}\u{df}e-cafe\u{301}";

fn both(text: &str) -> [String; 2] {
    [text.replace('_', "\u{e9}"), text.replace('_', "e\u{301}")]
}

/// Returns a memory with one entry, whose name, title, tags and text are in the given form.
fn with_entry(form: &str) -> (TestBase, Memory) {
    let base = TestBase::new();
    let text = format!(
        "---\ntitle: \"The {form} of pools\"\ntags: [{form}]\ncategory: pitfall\nfeature: {form}\nscope: \"feature:{form}\"\n---\n\nWords of the {form}.\n"
    );
    base.write(&format!(".ralph/knowledge/{form}.md"), text);
    let memory = base.memory();
    (base, memory)
}

fn pairs() -> [(&'static str, &'static str); 2] {
    [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)]
}

#[test]
fn links_and_what_is_superseded_lead_to_the_other_form() {
    for (form, other) in pairs() {
        let (base, memory) = with_entry(form);
        let body = format!("See [[knowledge/{other}]] and [[The {other} of pools]].");
        base.entry("newer", "Newer", "x", &body);
        let problems = memory.check().problems;
        assert!(problems.iter().all(|problem| problem.code != "broken-link"), "{problems:?}");
        let old = memory.show(&Id::parse(form).unwrap()).unwrap().entry;
        assert_eq!(old.backlinks.len(), 1);
        let text = base.read(".ralph/knowledge/newer.md");
        base.write(
            ".ralph/knowledge/newer.md",
            text.replace("tags:", &format!("supersedes: [knowledge/{other}]\ntags:")),
        );
        let listed = memory.list(&EntryFilter::default()).entries;
        assert!(
            listed.iter().any(|item| item.superseded && item.path.as_str().ends_with(&format!("{form}.md"))),
            "{listed:?}"
        );
        assert_eq!(memory.check().problems, []);
    }
}

#[test]
fn adding_a_title_in_the_other_form_updates_its_entry() {
    for (form, other) in pairs() {
        let (base, memory) = with_entry(form);
        let before = base.read(&format!(".ralph/knowledge/{form}.md"));
        let knowledge = |body: &str| Knowledge {
            category: Some("pitfall".into()),
            feature: Some(other.to_owned()),
            scope: Scope::from(format!("feature:{other}")),
            ..Knowledge::new(format!("The {other} of pools"), [other], body)
        };
        let same = memory.add(&knowledge(&format!("Words of the {other}."))).unwrap();
        assert_eq!(same.action, WriteAction::Unchanged, "{same:?}");
        assert_eq!(base.read(&format!(".ralph/knowledge/{form}.md")), before);
        let added = memory.add(&knowledge("Other words.")).unwrap();
        assert_eq!(added.action, WriteAction::Updated);
        assert_eq!(added.path.as_str(), format!(".ralph/knowledge/{form}.md"));
        assert_eq!(base.files(".ralph/knowledge").len(), 1);
        // Nothing but the body and the time of the update is another one.
        let after = base.read(&format!(".ralph/knowledge/{form}.md"));
        let (head, _) = before.split_once("---\n\n").unwrap();
        assert!(after.starts_with(head) && after.ends_with("---\n\nOther words.\n"), "{after}");
    }
}

#[test]
fn names_and_words_are_found_in_the_other_form() {
    for (form, other) in pairs() {
        let (base, memory) = with_entry(form);
        let path = format!(".ralph/knowledge/{form}.md");
        assert_eq!(memory.show(&Id::parse(other).unwrap()).unwrap().entry.summary.path.as_str(), path);
        let ran = base.run(["show", &format!("knowledge/{other}.md"), "--json"]);
        assert_eq!(ran.json(0)["entry"]["path"], json!(path), "{ran}");
        let found = |query: Query| memory.search(&query, 10).unwrap().hits.len();
        for is_committed in [false, true] {
            if is_committed {
                memory.update_index().unwrap();
            }
            assert_eq!(found(Query { text: format!("what of {other}"), ..Query::default() }), 1);
            assert_eq!(found(Query { text: "words".into(), tags: vec![other.to_owned()], ..Query::default() }), 1);
            let in_feature = Some(other.to_owned());
            assert_eq!(found(Query { text: "words".into(), in_feature, ..Query::default() }), 1);
        }
        let listed = |filter: EntryFilter| memory.list(&filter).entries.len();
        assert_eq!(listed(EntryFilter { tags: vec![other.to_owned()], ..EntryFilter::default() }), 1);
        assert_eq!(listed(EntryFilter { feature: Some(other.to_owned()), ..EntryFilter::default() }), 1);
        assert_eq!(
            listed(EntryFilter { scope: Some(Scope::from(format!("feature:{other}"))), ..EntryFilter::default() }),
            1
        );
        let task = Task { feature: Some(other.to_owned()), ..Task::new("Some task") };
        assert!(task.sees(&memory.show(&Id::parse(form).unwrap()).unwrap().entry.summary.scope));
    }
}

#[test]
fn file_names_that_differ_only_in_form_have_one_id() {
    let base = TestBase::new();
    for (form, title) in [(COMPOSED, "One thing"), (DECOMPOSED, "Another matter")] {
        base.entry(form, title, "x", &format!("What {title} says."));
    }
    let checked = base.run(["check", "--json"]);
    let json = checked.json(1);
    let problems: Vec<&serde_json::Value> =
        json["problems"].as_array().unwrap().iter().filter(|problem| problem["code"] == "duplicate-id").collect();
    assert_eq!(problems.len(), 1, "{json}");
    assert!(problems[0]["hint"].as_str().unwrap().contains("NFC"), "{json}");
    // The first by the bytes of its path is the one that counts.
    assert_eq!(problems[0]["path"], json!(format!(".ralph/knowledge/{COMPOSED}.md")), "{json}");
}

#[test]
fn a_restored_entry_keeps_its_file_name() {
    for (form, other) in pairs() {
        let (base, memory) = with_entry(form);
        let path = format!(".ralph/knowledge/{form}.md");
        let text = base.read(&path);
        let archived = base.at(&format!(".ralph/archive/knowledge/{form}.md"));
        std::fs::create_dir_all(archived.parent().unwrap()).unwrap();
        std::fs::rename(base.at(&path), &archived).unwrap();
        let back = memory.restore(&Id::parse(other).unwrap(), None).unwrap();
        assert_eq!((back.path.as_str(), base.read(&path)), (path.as_str(), text));
    }
}

#[test]
fn the_attempts_at_a_feature_are_those_in_both_forms() {
    let base = TestBase::new();
    let memory = base.memory();
    for feature in both("caf_") {
        let task = Task { feature: Some(feature.clone()), ..Task::new("Some task") };
        let iteration = memory.begin(&task, &ralph_memory::memory::Run::named("run-1")).unwrap();
        let files = ralph_memory::entry::Files { modified: vec!["src/a.rs".into()], ..Default::default() };
        let report = ralph_memory::memory::Report { files, ..Default::default() };
        memory.finish(&iteration, &report).unwrap();
    }
    for feature in both("caf_") {
        let touched = memory.feature_files(Some(&feature)).items;
        assert_eq!(touched.len(), 1, "{touched:?}");
        let shown = serde_json::to_value(&touched[0]).unwrap();
        assert!(shown.as_object().unwrap().values().any(|value| *value == json!(2)), "{shown}");
    }
}
