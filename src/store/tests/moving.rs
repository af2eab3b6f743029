//! Moves.

use std::io::ErrorKind;

use super::{Fixture, RENAMES, assert_conflict, assert_io, assert_outside};

#[test]
fn a_move_never_replaces() {
    for has_flags in RENAMES {
        let fixture = Fixture::with(has_flags);
        let lock = fixture.lock();
        let (a, archived) = ("knowledge/a.md", "archive/knowledge/a.md");
        fixture.put(a, "a");
        fixture.store.move_to(&lock, a, archived).unwrap();
        assert_eq!(fixture.text(archived), "a");
        assert!(!fixture.exists(a));
        fixture.put(a, "b");
        assert_conflict(fixture.store.move_to(&lock, a, archived));
        assert_eq!((fixture.text(a), fixture.text(archived)), ("b".to_owned(), "a".to_owned()));
        fixture.store.move_to(&lock, a, "knowledge/b.md").unwrap();
        let expected = ["archive/", "archive/knowledge/", archived, "knowledge/", "knowledge/b.md"];
        assert_eq!(fixture.tree(), expected);
    }
}

#[test]
fn each_of_many_moves_succeeds_or_has_a_reason() {
    for has_flags in RENAMES {
        let fixture = Fixture::with(has_flags);
        let lock = fixture.lock();
        for path in ["knowledge/a.md", "knowledge/sub/b.md", "knowledge/c.md", "archive/knowledge/c.md"] {
            fixture.put(path, path);
        }
        let moves = ["a.md", "sub/b.md", "c.md", "none.md"]
            .map(|name| (format!("knowledge/{name}"), format!("archive/knowledge/{name}")));
        let moves: Vec<(&str, &str)> = moves.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let mut moved = fixture.store.move_all(&lock, &moves).unwrap();
        assert_io(moved.remove(3), ErrorKind::NotFound);
        assert_conflict(moved.remove(2));
        assert!(moved.into_iter().all(|moved| moved.is_ok()));
        assert_eq!(fixture.text("archive/knowledge/a.md"), "knowledge/a.md");
        assert_eq!(fixture.text("archive/knowledge/sub/b.md"), "knowledge/sub/b.md");
        assert_eq!(fixture.text("knowledge/c.md"), "knowledge/c.md");
        assert!(!fixture.exists("knowledge/a.md") && !fixture.exists("knowledge/sub/b.md"));
    }
}

#[test]
fn a_move_refuses_everything_but_files() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    fixture.put("knowledge/a.md", "a");
    fixture.put("file", "");
    fixture.link("a.md", "knowledge/link.md");
    fixture.fifo("knowledge/fifo.md");
    let to = "archive/x.md";
    assert_io(fixture.store.move_to(&lock, "knowledge/none.md", to), ErrorKind::NotFound);
    assert_io(fixture.store.move_to(&lock, "none/a.md", to), ErrorKind::NotFound);
    assert_io(fixture.store.move_to(&lock, "knowledge", to), ErrorKind::InvalidInput);
    assert_io(fixture.store.move_to(&lock, "knowledge/fifo.md", to), ErrorKind::InvalidInput);
    assert_outside(fixture.store.move_to(&lock, "knowledge/link.md", to));
    assert_outside(fixture.store.move_to(&lock, "knowledge/a.md", "../a.md"));
    assert_outside(fixture.store.move_to(&lock, "../a.md", to));
    assert_io(fixture.store.move_to(&lock, "knowledge/a.md", "file/a.md"), ErrorKind::NotADirectory);
    let expected = ["file", "knowledge/", "knowledge/a.md", "knowledge/fifo.md", "knowledge/link.md"];
    assert_eq!(fixture.tree(), expected);
}
