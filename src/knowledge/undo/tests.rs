//! What happens when another program, or the size of the log, comes between.

use std::fs;

use super::*;
use crate::entry::knowledge::Knowledge;
use crate::memory::{EntryChanges, Memory};

/// Returns a memory in which `Cache` was just renamed, and the links to it of three entries changed, in one operation.
fn renamed() -> (tempfile::TempDir, Memory) {
    let folder = tempfile::tempdir().unwrap();
    Memory::init(folder.path()).unwrap();
    let memory = Memory::open(folder.path()).unwrap();
    let id = memory.add(&Knowledge::new("Cache", ["a"], "It is cold.")).unwrap().id;
    for number in 1..4 {
        memory.add(&Knowledge::new(format!("Doc {number}"), ["a"], format!("See [[Cache]] {number}."))).unwrap();
    }
    let operation = memory.operation("edit");
    memory.change(&id, &EntryChanges::titled("Compiler cache")).unwrap();
    let lock = memory.workspace.lock_entries().unwrap();
    for number in 1..4 {
        let path = format!("knowledge/doc-{number}.md");
        let (text, _) = memory.workspace.read_entry(&path).unwrap();
        let linked = text.replace("[[Cache]]", "[[Compiler cache]]");
        memory.workspace.replace(&lock, &path, &text, &linked).unwrap();
    }
    drop((lock, operation));
    (folder, memory)
}

fn texts(memory: &Memory) -> Vec<(String, String)> {
    let files = fs::read_dir(memory.root().join(".ralph/knowledge")).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.is_file());
    let mut texts: Vec<_> = files.map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap())).collect();
    texts.sort();
    texts
}

/// Adds a line to an entry, as an editor does.
fn save(memory: &Memory, stem: &str) {
    let path = memory.root().join(format!(".ralph/knowledge/{stem}.md"));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "By hand.\n").unwrap();
}

/// Takes back the newest operation; `interrupt` gets the number of each step before it.
fn undo_interrupted(memory: &Memory, interrupt: &mut dyn FnMut(usize)) -> Result<Vec<Problem>> {
    let _operation = memory.operation("undo");
    let workspace = &memory.workspace;
    let lock = workspace.lock_entries().unwrap();
    let logged = workspace.store.operations().unwrap();
    let plan = checked_plan(workspace, &OperationHistory::new(&logged), 0).unwrap();
    workspace.store.takes_back(logged[0].head.number);
    carry_out(workspace, &lock, &logged[0], &plan, interrupt)
}

#[test]
fn a_text_that_is_saved_while_undo_works_is_kept_and_everything_is_put_back() {
    for stem in ["doc-1", "compiler-cache"] {
        let (_folder, memory) = renamed();
        let before = texts(&memory);
        let failed = undo_interrupted(&memory, &mut |number| {
            if number == 1 {
                save(&memory, stem);
            }
        });
        let Err(Error::Conflict { path, kept: None }) = failed else { panic!("{stem}: {failed:?}") };
        assert!(path.ends_with(format!("knowledge/{stem}.md")), "{path:?}");
        let mut expected = before;
        expected.iter_mut().filter(|(path, _)| path.ends_with(&format!("/{stem}.md"))).for_each(|(_, text)| {
            text.push_str("By hand.\n");
        });
        assert_eq!(texts(&memory), expected, "{stem}");
        assert_eq!(memory.operations().unwrap()[0].command, "edit", "nothing was done, so nothing is in the log");
    }
}

#[test]
fn what_cannot_be_put_back_is_said_and_can_be_taken_back() {
    let (_folder, memory) = renamed();
    let before = texts(&memory);
    let doc = memory.root().join(".ralph/knowledge/doc-3.md");
    let as_renamed = fs::read_to_string(&doc).unwrap();
    let mut undone = String::new();
    // The links of the last document are taken back first.
    let failed = undo_interrupted(&memory, &mut |number| {
        if number == 1 {
            undone = fs::read_to_string(&doc).unwrap();
            save(&memory, "doc-3");
            save(&memory, "doc-1");
        }
    });
    assert!(as_renamed != undone && undone.contains("[[Cache]]"));
    let number = memory.operations().unwrap()[1].number;
    let Err(Error::HalfUndone { number: of, source }) = failed else { panic!("{failed:?}") };
    assert!(of == number && matches!(*source, Error::Conflict { .. }), "{source:?}");
    // All but the two is as it was, and neither of these is lost.
    let untouched = |texts: &[(String, String)]| -> Vec<(String, String)> {
        texts.iter().filter(|(path, _)| !path.ends_with("/doc-1.md") && !path.ends_with("/doc-3.md")).cloned().collect()
    };
    assert_eq!(untouched(&texts(&memory)), untouched(&before));
    assert_eq!(fs::read_to_string(&doc).unwrap(), format!("{undone}By hand.\n"));
    fs::write(&doc, undone).unwrap();
    let refused = memory.undo(None, false);
    assert!(matches!(refused, Err(Error::NotUndoable { number: of, .. }) if of == number), "{refused:?}");
    memory.redo(false).unwrap();
    assert_eq!(fs::read_to_string(&doc).unwrap(), as_renamed);
}

#[test]
fn nothing_is_taken_back_that_could_not_be_brought_back() {
    let (_folder, memory) = renamed();
    let store = &memory.workspace.store;
    let text = vec![b'x'; crate::entry::MAX_FILE_BYTES];
    let operation = memory.operation("import");
    let lock = store.lock(std::time::Duration::ZERO).unwrap();
    for number in 0..32 {
        store.create(&lock, &format!("knowledge/big-{number}.md"), &text).unwrap();
    }
    drop((lock, operation));
    let before = texts(&memory).len();
    for dry_run in [true, false] {
        let refused = memory.undo(None, dry_run);
        let Err(Error::NotUndoable { reason, .. }) = &refused else { panic!("{refused:?}") };
        assert!(reason.contains("more than the log keeps, which is 32 MiB"), "{reason}");
        assert_eq!(texts(&memory).len(), before);
    }
    // One less is not too much, also a second time.
    fs::remove_file(memory.root().join(".ralph/knowledge/big-7.md")).unwrap();
    memory.undo(None, false).unwrap();
    assert_eq!(texts(&memory).len(), before - 32);
    memory.redo(false).unwrap();
    assert_eq!(texts(&memory).len(), before - 1);
}
