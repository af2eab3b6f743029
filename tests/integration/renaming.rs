//! Renamed entries, and entries with the names that others had: links, earlier texts, `restore` and merges never put
//! one fact in the place of another.

use std::fs;
use std::time::{Duration, SystemTime};

use ralph_memory::memory::{EntryChanges, WriteAction};
use ralph_memory::{Id, Knowledge, Memory, Scope};

use crate::support::{TestBase, git, try_git};

/// A memory some days after the first of 2026.
fn at(base: &TestBase, day: u64) -> Memory {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800 + day * 24 * 3600);
    base.memory().with_clock(move || now)
}

fn id(name: &str) -> Id {
    Id::parse(name).unwrap()
}

fn add(memory: &Memory, title: &str, body: &str) -> Id {
    memory.add(&Knowledge::new(title, ["a"], body)).unwrap().id
}

/// A memory with an entry of this text that was renamed from `Cache` to `Compiler cache`.
fn renamed_cache(body: &str) -> (TestBase, Memory) {
    let base = TestBase::new();
    let memory = at(&base, 0);
    add(&memory, "Cache", body);
    memory.change(&id("cache"), &EntryChanges::titled("Compiler cache")).unwrap();
    (base, memory)
}

fn edit(memory: &Memory, name: &str, from: &str, to: &str) {
    let text = memory.text(&id(name)).unwrap();
    assert!(text.text.contains(from), "{}", text.text);
    crate::support::edit(memory, &text, &text.text.replace(from, to)).unwrap();
}

/// Returns the names of the entries that the links of an entry lead to.
fn links(memory: &Memory, name: &str) -> Vec<Option<String>> {
    let links = memory.show(&id(name)).unwrap().entry.links;
    links.into_iter().map(|link| link.id.map(|id| id.stem().to_owned())).collect()
}

fn body(memory: &Memory, name: &str) -> String {
    memory.show(&id(name)).unwrap().entry.body.trim().to_owned()
}

fn codes(memory: &Memory) -> Vec<String> {
    memory.check().problems.into_iter().map(|problem| problem.code).collect()
}

fn repository() -> TestBase {
    let base = TestBase::new();
    git(&base, &["init", "--quiet", "--initial-branch", "main"]);
    base
}

fn commit(base: &TestBase) {
    git(base, &["add", "--all"]);
    git(base, &["commit", "--quiet", "--message", "m"]);
}

/// Merges a branch, and returns whether git did so without a conflict, and what it says.
fn merge(base: &TestBase, branch: &str) -> (bool, String) {
    try_git(base, &["merge", "--quiet", "--no-edit", branch])
}

#[test]
fn a_version_that_another_branch_made_under_the_old_name_belongs_to_the_renamed_entry() {
    let base = repository();
    add(&at(&base, 0), "Port", "Port is 80.");
    commit(&base);
    git(&base, &["checkout", "--quiet", "-b", "other"]);
    edit(&at(&base, 1), "port", "80", "81");
    commit(&base);
    git(&base, &["checkout", "--quiet", "main"]);
    let memory = at(&base, 2);
    memory.change(&id("port"), &EntryChanges::titled("Main port")).unwrap();
    commit(&base);
    let _ = merge(&base, "other");
    memory.fix().unwrap();
    commit(&base);
    assert_eq!(body(&memory, "main-port"), "Port is 81.");
    // Its text of before is in the log, under the old name.
    let versions = memory.versions(&id("main-port")).unwrap();
    assert!(versions.iter().any(|version| version.text.contains("is 80.")), "{versions:?}");
    // By its own id, by the old one, and by that of a version in the archive of before the log.
    let version = versions.iter().find(|version| version.text.contains("is 80.")).unwrap();
    base.write(".ralph/archive/knowledge/port.20260102T120000Z.md", &version.text);
    for (name, expected) in [("port.20260102T120000Z", "80"), ("port", "81"), ("main-port", "80")] {
        let restored = memory.restore(&id(name), None).unwrap();
        assert_eq!((restored.id.stem(), restored.action), ("main-port", WriteAction::Restored), "{name}");
        assert_eq!(base.files(".ralph/knowledge"), [".ralph/knowledge/main-port.md"]);
        assert!(body(&memory, "main-port").contains(expected), "{name}");
        assert_eq!(memory.show(&id("port")).unwrap().entry.summary.id, id("main-port"));
    }
    assert_eq!(codes(&memory), [""; 0]);
}

/// An entry that was renamed, and another one that then got its old id, by hand or on another branch, and a version.
fn entry_with_anothers_old_id(base: &TestBase) -> Memory {
    let memory = at(base, 0);
    add(&memory, "Cache", "first");
    memory.change(&id("cache"), &EntryChanges::titled("Compiler cache")).unwrap();
    base.entry("cache", "Browser cache", "a", "browser v1");
    assert_eq!(add(&at(base, 1), "Browser cache", "browser v2"), id("cache"));
    add(&memory, "Doc", "see [[cache]] of browsers");
    at(base, 1)
}

#[test]
fn texts_and_links_of_an_archived_entry_stay_its_own() {
    let base = TestBase::new();
    let memory = entry_with_anothers_old_id(&base);
    memory.archive(&[id("cache")]).unwrap();
    assert_eq!(links(&memory, "doc"), [None]);
    assert_eq!(codes(&memory), ["alias-taken", "broken-link"]);
    memory.change(&id("compiler-cache"), &EntryChanges::titled("Build cache")).unwrap();
    assert_eq!(base.files(".ralph/archive"), [".ralph/archive/knowledge/cache.md"]);
    assert_eq!(body(&memory, "doc"), "see [[cache]] of browsers");
    let nothing = memory.restore(&id("build-cache"), None);
    assert_eq!(nothing.unwrap().title, "Compiler cache", "its own text under the title before");
    assert_eq!(body(&memory, "build-cache"), "first");
    // Nor are they the other entry's once it is gone.
    fs::remove_file(base.at(".ralph/archive/knowledge/cache.md")).unwrap();
    let versions = memory.versions(&id("build-cache")).unwrap();
    assert!(!versions.is_empty() && versions.iter().all(|version| !version.text.contains("browser")), "{versions:?}");
}

#[test]
fn of_two_entries_of_a_title_a_link_means_the_one_of_its_scope() {
    let base = TestBase::new();
    let memory = at(&base, 0);
    let of_feature =
        |title: &str, body: &str| Knowledge { scope: Scope::Feature("x".into()), ..Knowledge::new(title, ["a"], body) };
    add(&memory, "Ports", "of the project");
    assert_eq!(memory.add(&of_feature("Ports", "of the feature")).unwrap().id, id("ports-2"));
    add(&memory, "Doc", "See [[Ports]].");
    memory.add(&of_feature("Plan", "See [[Ports]].")).unwrap();
    assert_eq!(
        (links(&memory, "doc"), links(&memory, "plan")),
        (vec![Some("ports".into())], vec![Some("ports-2".into())])
    );
    memory.change(&id("ports-2"), &EntryChanges::titled("Feature ports")).unwrap();
    // Whoever has the title comes before whoever had it.
    assert_eq!(
        (links(&memory, "doc"), links(&memory, "plan")),
        (vec![Some("ports".into())], vec![Some("ports".into())])
    );
}

#[test]
fn a_restored_version_keeps_the_names_that_the_entry_got_since() {
    let base = TestBase::new();
    let memory = at(&base, 0);
    add(&memory, "Cache", "v1");
    add(&at(&base, 1), "Cache", "v2");
    add(&memory, "Doc", "See [[Cache]] and [[cache]].");
    memory.change(&id("cache"), &EntryChanges::titled("Compiler cache")).unwrap();
    let n_operations = memory.operations().unwrap().len();
    let before = base.read(".ralph/knowledge/compiler-cache.md");
    // The newest text is the one with the old title, the next one that before the update.
    let first = &memory.versions(&id("cache")).unwrap()[1];
    assert!(first.text.ends_with("v1\n"), "{first:?}");
    let restored = memory.restore(&id("cache"), Some(&first.version)).unwrap();
    assert_eq!((restored.id.stem(), restored.problems.as_slice()), ("compiler-cache", &[] as &[_]));
    let text = base.read(".ralph/knowledge/compiler-cache.md");
    assert!(text.contains("title: \"Cache\"\n"), "{text}");
    assert!(text.contains("\naliases: [knowledge/cache, Compiler cache]\n") && text.ends_with("v1\n"), "{text}");
    assert_eq!(links(&memory, "doc"), [Some("compiler-cache".into()), Some("compiler-cache".into())]);
    assert_eq!(codes(&memory), [""; 0]);
    assert!(memory.versions(&id("cache")).unwrap().iter().any(|version| version.text == before));
    // It is one operation.
    assert_eq!(memory.operations().unwrap().len(), n_operations + 1);
    memory.undo(None, false).unwrap();
    assert_eq!(base.read(".ralph/knowledge/compiler-cache.md"), before);
    assert_eq!(base.files(".ralph/archive"), [""; 0]);
}

#[test]
fn a_version_that_cannot_be_edited_is_restored_with_a_warning() {
    let (base, memory) = renamed_cache("v1");
    base.write(".ralph/archive/knowledge/compiler-cache.20260101T000000Z.md", "---\nnever: closed\n");
    let restored = memory.restore(&id("compiler-cache.20260101T000000Z"), None).unwrap();
    assert_eq!(restored.problems[0].code, "names-not-kept");
    assert_eq!(restored.problems[0].path, ".ralph/knowledge/compiler-cache.md");
    assert_eq!(base.read(".ralph/knowledge/compiler-cache.md"), "---\nnever: closed\n");
}

#[test]
fn the_old_title_states_the_same_fact_only_with_the_same_body() {
    let (_base, memory) = renamed_cache("It is on the build host. It has 20 GB. Nobody clears it.");
    let again = Knowledge::new("Cache", ["a"], "It is on the build host. It has 20 GB. Nobody clears it.");
    let added = memory.add(&again).unwrap();
    assert_eq!(
        (added.id.stem(), added.action, added.title.as_str()),
        ("compiler-cache", WriteAction::Unchanged, "Compiler cache")
    );
    let later = Knowledge { body: format!("{} It is fast.", again.body), ..again.clone() };
    let added = memory.add(&later).unwrap();
    assert_eq!(
        (added.id.stem(), added.action, added.title.as_str()),
        ("compiler-cache", WriteAction::Updated, "Compiler cache")
    );
    assert!(body(&memory, "compiler-cache").ends_with("It is fast."));
    // Whoever freed the title may use it for another fact.
    let other = Knowledge { body: "Of browsers, quite another thing.".into(), ..again };
    let added = memory.add(&other).unwrap();
    assert_eq!((added.id.stem(), added.action), ("cache-2", WriteAction::Created));
    assert_eq!(added.similar, [id("compiler-cache")]);
    // Then the title is its own.
    assert_eq!(memory.add(&other).unwrap().id, id("cache-2"));
}

#[test]
fn an_archived_entry_is_found_by_the_names_that_it_had() {
    let base = TestBase::new();
    let memory = at(&base, 0);
    add(&memory, "Port of proxy", "8443");
    memory.change(&id("port-of-proxy"), &EntryChanges::titled("Proxy port")).unwrap();
    let moved = Knowledge { supersedes: vec![id("port-of-proxy")], ..Knowledge::new("Proxy moved", ["a"], "9443") };
    let moved = memory.add(&moved).unwrap().id;
    let shown = memory.show(&id("proxy-port")).unwrap().entry;
    assert_eq!((shown.superseded_by.as_slice(), shown.summary.superseded), (std::slice::from_ref(&moved), true));
    add(&memory, "Doc", "[[Port of proxy]], [[port-of-proxy]]");
    memory.archive(&[id("proxy-port")]).unwrap();
    let shown = memory.show(&id("port-of-proxy")).unwrap().entry;
    assert_eq!((shown.summary.id, shown.superseded_by, shown.backlinks.len()), (id("proxy-port"), vec![moved], 1));
    let problems = memory.check().problems;
    let found: Vec<_> = problems.iter().map(|problem| (problem.code.as_str(), problem.hint.as_str())).collect();
    let hint = "bring it back with `ralph-memory restore knowledge/proxy-port`, or remove the link";
    assert_eq!(found, [("broken-link", hint); 2]);
    assert_eq!(memory.restore(&id("port-of-proxy"), None).unwrap().id, id("proxy-port"));
    assert_eq!(codes(&memory), [""; 0]);
}

#[test]
fn whatever_an_entry_is_called_each_link_leads_to_it_and_no_other_file_changes() {
    // The titles that it gets in turn, and the names of its file.
    for (titles, stems) in [
        (&["Compiler cache"][..], &["compiler-cache"][..]),
        (&["Compiler cache", "Build cache", "Cache"], &["compiler-cache", "build-cache", "cache"]),
        // Another entry has the name of the file, but not the title.
        (&["redis"], &["redis-2"]),
        // Only the case differs, or nothing.
        (&["CACHE"], &["cache"]),
        (&["Cache"], &["cache"]),
    ] {
        let base = TestBase::new();
        let memory = at(&base, 400);
        base.entry("redis", "Old cluster", "a", "The old one.");
        base.write(
            ".ralph/knowledge/cache.md",
            "---\ntitle: Cache\ntags: [a]\naliases: [backup]\npermalink: ops/p\n---\n\nx\n",
        );
        add(&memory, "Doc", "[[cache]], [[knowledge/cache|it]], [[Cache]], [[Cache#Size]], [[backup]], [[ops/p]]");
        let doc = base.read(".ralph/knowledge/doc.md");
        let before = base.read(".ralph/knowledge/cache.md");
        for (title, stem) in titles.iter().zip(stems) {
            let renamed = memory.change(&id("cache"), &EntryChanges::titled(*title)).unwrap();
            assert_eq!((renamed.id.stem(), renamed.title.as_str()), (*stem, *title));
            assert_eq!(links(&memory, "doc"), vec![Some((*stem).to_owned()); 6], "{title}");
            assert_eq!(base.read(".ralph/knowledge/doc.md"), doc);
            assert_eq!(codes(&memory), [""; 0], "{title}");
        }
        for _ in titles.iter().filter(|title| **title != "Cache" || titles.len() > 1) {
            memory.undo(None, false).unwrap();
        }
        assert_eq!(base.read(".ralph/knowledge/cache.md"), before);
        assert_eq!(links(&memory, "doc"), vec![Some("cache".to_owned()); 6]);
    }
}

#[test]
fn a_title_means_the_entry_that_has_it_before_one_that_had_it() {
    let (base, memory) = renamed_cache("first");
    add(&memory, "Web", "of browsers");
    add(&memory, "Doc", "[[Cache]]");
    assert_eq!(links(&memory, "doc"), [Some("compiler-cache".to_owned())]);
    memory.change(&id("web"), &EntryChanges::titled("Cache")).unwrap();
    assert_eq!(links(&memory, "doc"), [Some("cache-2".to_owned())]);
    // Nobody gets the title of another live entry.
    let taken = memory.change(&id("cache-2"), &EntryChanges::titled("compiler cache")).unwrap_err();
    assert_eq!(taken.to_string(), "`knowledge/compiler-cache` already has the title \"compiler cache\"");
    assert!(base.at(".ralph/knowledge/cache-2.md").exists());
}

/// The files of git's conflict are both the entry: a person removes one.
#[test]
fn of_two_titles_that_two_branches_gave_a_person_chooses() {
    let base = repository();
    add(&at(&base, 0), "Port of proxy", &format!("{}\n\nIt is restarted by hand.", "It listens on 8443. ".repeat(20)));
    commit(&base);
    git(&base, &["checkout", "--quiet", "-b", "other"]);
    at(&base, 1).change(&id("port-of-proxy"), &EntryChanges::titled("Their port")).unwrap();
    edit(&at(&base, 2), "their-port", "by hand", "by a timer");
    commit(&base);
    git(&base, &["checkout", "--quiet", "main"]);
    at(&base, 3).change(&id("port-of-proxy"), &EntryChanges::titled("My port")).unwrap();
    commit(&base);
    let (is_clean, said) = merge(&base, "other");
    assert!(!is_clean && said.contains("rename/rename"), "{said}");
    let memory = at(&base, 4);
    memory.fix().unwrap();
    let text = base.read(".ralph/knowledge/my-port.md");
    assert!(text.contains("title: \"My port\"") && text.contains("title: \"Their port\""), "{text}");
    assert!(text.contains("by a timer"), "{text}");
    // The marker lines and one title go, and one of the files.
    let is_kept = |line: &&str| !line.starts_with(['<', '=', '>']) && !line.contains("Their port\"");
    let mut seen = false;
    let lines = text.split_inclusive('\n').filter(is_kept);
    let lines = lines.filter(|line| !line.starts_with("tags:") || !std::mem::replace(&mut seen, true));
    base.write(".ralph/knowledge/my-port.md", lines.collect::<String>());
    fs::remove_file(base.at(".ralph/knowledge/their-port.md")).unwrap();
    commit(&base);
    assert_eq!(codes(&memory), [""; 0], "{}", base.read(".ralph/knowledge/my-port.md"));
    assert_eq!(memory.show(&id("port-of-proxy")).unwrap().entry.summary.id, id("my-port"));
}
