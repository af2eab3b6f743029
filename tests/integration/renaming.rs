//! Renamed entries, and entries with the names that others had: links, earlier texts, `restore` and merges never put
//! one fact in the place of another.

use std::fs;
use std::time::{Duration, SystemTime};

use ralph_memory::memory::{EntryChanges, WriteAction};
use ralph_memory::{Id, Knowledge, Memory, Scope};

use crate::random::Random;
use crate::support::{TestBase, git, try_git};
use crate::test_cases::cases;

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
    memory.edit(&text, &text.text.replace(from, to)).unwrap();
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
    assert!(merge(&base, "other").0);
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
    let renamed = memory.change(&id("compiler-cache"), &EntryChanges::titled("Build cache")).unwrap();
    assert_eq!(renamed.links, 0);
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
fn a_title_that_is_the_id_of_another_entry_is_no_link_to_the_renamed_one() {
    let base = TestBase::new();
    let memory = at(&base, 0);
    base.entry("redis", "Old cluster", "a", "the old cluster");
    add(&memory, "Cache store", "the new one");
    add(&memory, "Doc", "See [[Cache store]].");
    memory.change(&id("cache-store"), &EntryChanges::titled("redis")).unwrap();
    assert_eq!(body(&memory, "doc"), "See [[knowledge/redis-2]].");
    assert_eq!(links(&memory, "doc"), [Some("redis-2".to_owned())]);
}

#[test]
fn only_links_that_lead_to_the_renamed_entry_change() {
    let (_base, memory) = renamed_cache("first");
    assert_eq!(add(&memory, "Cache!", "of browsers, quite another thing"), id("cache-2"));
    edit(&memory, "cache-2", "Cache!", "Cache");
    add(&memory, "Doc", "[[cache]], [[Cache]], [[Compiler cache]]");
    let before = ["compiler-cache", "cache-2", "compiler-cache"].map(|name| Some(name.to_owned()));
    // In lower case it is an id, and means what `show` means.
    assert_eq!(links(&memory, "doc"), before);
    assert_eq!(memory.show(&id("cache")).unwrap().entry.summary.id, id("compiler-cache"));
    memory.change(&id("compiler-cache"), &EntryChanges::titled("Build cache")).unwrap();
    assert_eq!(body(&memory, "doc"), "[[cache]], [[Cache]], [[Build cache]]");
    assert_eq!(links(&memory, "doc"), before.map(|name| name.map(|name| name.replace("compiler", "build"))));
}

#[test]
fn a_rename_takes_no_link_from_an_entry_that_is_linked_by_an_alias() {
    let (_base, memory) = renamed_cache("first");
    add(&memory, "Web", "of browsers");
    // After the rename, so that nothing rewrote it.
    add(&memory, "Doc", "[[CACHE]]");
    assert_eq!(links(&memory, "doc"), [Some("compiler-cache".to_owned())]);
    memory.change(&id("web"), &EntryChanges::titled("Cache")).unwrap();
    assert_eq!(links(&memory, "doc"), [Some("compiler-cache".to_owned())]);
    assert_eq!(body(&memory, "doc"), "[[compiler-cache]]");
}

#[test]
fn of_two_entries_of_a_title_a_link_means_the_one_of_its_scope_and_follows_it() {
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
    assert_eq!(
        (body(&memory, "doc"), body(&memory, "plan")),
        ("See [[Ports]].".into(), "See [[Feature ports]].".into())
    );
    assert_eq!(links(&memory, "doc"), [Some("ports".into())]);
    assert_eq!(links(&memory, "plan"), [Some("feature-ports".into())]);
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
fn whatever_is_renamed_each_link_leads_where_it_led_before() {
    const NAMES: [&str; 6] = ["cache", "Cache", "ports", "Ports", "knowledge/ports", "Old cache"];
    let mut renames = 0;
    for seed in 0..cases(25).into() {
        let mut random = Random(seed);
        let base = TestBase::new();
        for stem in ["cache", "ports", "cache-2", "web", "db"] {
            let folder = if random.below(4) == 0 { "archive/knowledge" } else { "knowledge" };
            let scope = *random.pick(&["project", "feature:x"]);
            let (title, alias) = (*random.pick(&NAMES), *random.pick(&["knowledge/cache", "knowledge/old", "Ports"]));
            let links: Vec<String> = NAMES.iter().map(|name| format!("[[{name}]]")).collect();
            let head = format!("title: \"{title}\"\ntags: [a]\nscope: \"{scope}\"\naliases: [{alias}]");
            base.write(&format!(".ralph/{folder}/{stem}.md"), format!("---\n{head}\n---\n\n{}\n", links.concat()));
        }
        let memory = at(&base, 0);
        let stems: Vec<String> =
            base.files(".ralph/knowledge").iter().map(|path| path[17..path.len() - 3].into()).collect();
        if stems.is_empty() {
            continue;
        }
        let before: Vec<_> = stems.iter().map(|stem| links(&memory, stem)).collect();
        let stem = random.pick(&stems).clone();
        let title = *random.pick(&["Cache", "ports", "Old cache", "New"]);
        let Ok(renamed) = memory.change(&id(&stem), &EntryChanges::titled(title)) else { continue };
        renames += 1;
        let new = renamed.id.stem();
        let now = |name: &str| if name == stem { new.to_owned() } else { name.to_owned() };
        for (stem, before) in stems.iter().zip(before) {
            for (at, (before, after)) in before.iter().zip(links(&memory, &now(stem))).enumerate() {
                // A link to no live entry may have one now.
                let expected = before.as_deref().map(now);
                let place = format!("seed {seed}: {} of {stem}: {renamed:?}", NAMES[at]);
                assert!(expected.is_none() || after == expected, "{expected:?}, {after:?}: {place}");
            }
        }
    }
    assert!(renames > 5, "{renames}");
}

#[test]
fn a_link_that_still_means_the_renamed_entry_stays() {
    let check = |title: &str, before: &str, after: &str| {
        let base = TestBase::new();
        base.write(".ralph/knowledge/t.md", "---\naliases: [backup]\npermalink: ops/p\n---\n# T\n\nx\n");
        base.write(".ralph/knowledge/z.md", format!("# Z\n\n{before}\n"));
        let memory = at(&base, 0);
        let renamed = memory.change(&id("t"), &EntryChanges::titled(title)).unwrap().id;
        assert_eq!(body(&memory, "z"), format!("# Z\n\n{after}"));
        assert!(links(&memory, "z").iter().all(|link| link.as_deref() == Some(renamed.stem())), "{after}");
    };
    check("D #1", "[[T]] [[T#x]]", "[[knowledge/d-1]] [[knowledge/d-1#x]]");
    check("Sockets", "[[backup]], [[ops/p]], [[backup#x]]", "[[backup]], [[ops/p]], [[backup#x]]");
    check("Sockets", "[[T]], [[knowledge/t]]", "[[Sockets]], [[knowledge/sockets]]");
}
