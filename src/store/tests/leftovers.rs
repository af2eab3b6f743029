//! Leftovers of a crash, and their fate.

use std::fs;

use super::{Fixture, now};
use crate::store::replace_file::WriteStep;
use crate::store::temp::{Leftover, exchange_name, temporary_name};

/// The id of a process that cannot exist.
const DEAD: u32 = u32::MAX;

#[test]
fn temporary_names_are_recognised() {
    let name = temporary_name();
    let parsed = Leftover::parse(&name).unwrap();
    assert_eq!((parsed.process, parsed.exchange), (std::process::id(), None));
    assert_ne!(name, temporary_name());

    let name = exchange_name(&name, "a-b-c.md", b"old", b"new");
    let parsed = Leftover::parse(&name).unwrap();
    assert_eq!(parsed.exchange.unwrap().0, "a-b-c.md");
    assert!(parsed.is_known(b"old") && parsed.is_known(b"new") && !parsed.is_known(b"theirs"));

    let name = exchange_name(&temporary_name(), &"é".repeat(127), b"old", b"new");
    assert!(name.len() <= 255 && name.len() >= 254 && Leftover::parse(&name).is_some());

    for name in [
        "a.md",
        ".tmp-",
        ".tmp-1",
        ".tmp-1-",
        ".tmp-x-0123456789abcdef",
        ".tmp-1-0123456789abcde",
        ".tmp-1-0123456789abcdeg",
        ".tmp-1-0123456789abcdef-",
        ".tmp-1-0123456789abcdef-a.md",
        ".tmp-1-0123456789abcdef-0123456789abcdef-0123456789abcdef",
        ".tmpAbCdEf",
    ] {
        assert_eq!(Leftover::parse(name), None, "{name}");
    }
}

#[test]
fn leftovers_are_removed_everywhere_and_nothing_else_is() {
    let fixture = Fixture::new();
    let dead = format!(".tmp-{DEAD}-0123456789abcdef");
    let alive = format!(".tmp-{}-0123456789abcdef", std::process::id());
    let mut expected = Vec::new();
    // While this process holds the lock, no other process writes to its folders, whatever its id.
    for folder in ["knowledge/", "knowledge/a/b/", "journal/run-1a2b3c4d/", "archive/knowledge/", "state/"] {
        expected.extend([&dead, &alive].map(|name| format!("{folder}{name}")));
    }
    for folder in ["cache/index/", "cache/", ""] {
        expected.push(format!("{folder}{dead}"));
        fixture.put(&format!("{folder}{alive}"), "being written");
    }
    fixture.put_all(&expected, "partial");
    // Not ours, not in our folders, or not a file.
    let elsewhere = format!("other/{dead}");
    let others = ["knowledge/.tmp-mine.md", "knowledge/a.md", &elsewhere, "knowledge/a/c.md"];
    fixture.put_all(others, "kept");
    fixture.link("a.md", "knowledge/.tmp-1-0123456789abcdef");
    fs::create_dir(fixture.store.memory().join("knowledge/.tmp-2-0123456789abcdef")).unwrap();

    let before = fixture.tree();
    let swept = fixture.store.sweep(&fixture.lock()).unwrap();
    expected.sort();
    assert_eq!(swept.removed, expected);
    assert_eq!(swept.kept, Vec::<String>::new());
    let rest: Vec<String> = before.into_iter().filter(|path| !expected.contains(path)).collect();
    assert_eq!(fixture.tree(), rest);
    assert!(others.iter().all(|path| fixture.text(path) == "kept"));
    // A second call changes nothing.
    assert_eq!(fixture.store.sweep(&fixture.lock()).unwrap(), crate::store::sweep::Swept::default());
}

#[test]
fn nothing_is_swept_through_a_link() {
    let fixture = Fixture::new();
    fixture.put("other/.tmp-1-0123456789abcdef", "");
    fixture.link("other", "knowledge");
    fixture.put("journal/a.md", "");
    fixture.link("../other", "journal/linked");
    assert_eq!(fixture.store.sweep(&fixture.lock()).unwrap(), crate::store::sweep::Swept::default());
    assert!(fixture.exists("other/.tmp-1-0123456789abcdef"));
}

/// A crash just after the exchange, before the displaced version was examined.
#[test]
fn the_only_copy_of_a_version_is_kept() {
    let fixture = Fixture::new();
    let name = |random: &str| exchange_name(&format!(".tmp-{DEAD}-{random}"), "a-b.md", b"old", b"new");
    let path = |random| format!("knowledge/sub/{}", name(random));
    fixture.put("knowledge/sub/a-b.md", "new");
    fixture.put(&path("0000000000000001"), "old");
    fixture.put(&path("0000000000000002"), "new");
    fixture.put(&path("0000000000000003"), "theirs");
    let modified = fs::FileTimes::new().set_modified(now().into());
    let file = fixture.store.memory().join(path("0000000000000003"));
    fs::File::options().write(true).open(file).unwrap().set_times(modified).unwrap();

    let swept = fixture.store.sweep(&fixture.lock()).unwrap();
    assert_eq!(swept.removed, [path("0000000000000001"), path("0000000000000002")]);
    let kept = "archive/knowledge/sub/a-b.conflict-20260217T120000Z.md";
    assert_eq!(swept.kept, [kept]);
    assert_eq!(fixture.text(kept), "theirs");
    assert_eq!(fixture.text("knowledge/sub/a-b.md"), "new");
    assert_eq!(fixture.store.folder("knowledge/sub").unwrap().names().unwrap(), ["a-b.md"]);
}

/// A sweep understands the name that the file has during a replacement.
#[test]
fn a_replacement_that_stops_half_way_is_swept() {
    let fixture = Fixture::new();
    fixture.put("knowledge/a.md", "old");
    let mut copied = String::new();
    let mut copy = |step| {
        if step != WriteStep::Checked {
            return;
        }
        let folder = fixture.store.folder("knowledge").unwrap();
        let names = folder.names().unwrap();
        let name = names.iter().filter_map(|name| name.to_str()).find(|name| name.starts_with('.')).unwrap();
        // The copy simulates an end of the process here.
        copied = name.replace(&format!(".tmp-{}-", std::process::id()), &format!(".tmp-{DEAD}-"));
        let memory = fixture.store.memory().join("knowledge");
        fs::copy(memory.join(name), memory.join(&copied)).unwrap();
    };
    let lock = fixture.lock();
    fixture.store.replace_with(&lock, "knowledge/a.md", b"old", b"new", now(), &mut copy).unwrap();
    let swept = fixture.store.sweep(&lock).unwrap();
    assert_eq!(swept.removed, [format!("knowledge/{copied}")]);
    assert_eq!(fixture.tree(), ["knowledge/", "knowledge/a.md"]);
}
