//! A damaged index changes no answer, whatever the damage is.

use std::fs;
use std::path::PathBuf;

use crate::support::TestBase;

/// Makes a memory with an index in which entries were replaced, and returns the folder of the index.
fn with_index() -> (TestBase, PathBuf) {
    let base = TestBase::new();
    for number in 0..40 {
        let title = format!("Note {number}");
        base.entry(&format!("note-{number}"), &title, "note", &format!("It is about nightly {}.", number % 7));
    }
    let _ = base.run(["index"]).answer(0);
    for number in 0..2 {
        let title = format!("Note {number}");
        base.run(["add", &title, "--tags", "note", "--body", "Not that."]).says(0, "updated knowledge/");
    }
    let list = base.files(".ralph/cache").into_iter().find(|path| path.ends_with("live/meta.json")).unwrap();
    let folder = base.at(&list).parent().unwrap().to_owned();
    (base, folder)
}

#[test]
fn an_index_file_cut_to_a_few_bytes_changes_no_answer() {
    // The end of a file says how long its end is: eight bytes, and a few that are said there.
    const LENGTHS: [usize; 6] = [0, 1, 4, 7, 8, 9];
    let (base, folder) = with_index();
    let search = || base.run(["search", "nightly", "--limit", "50", "--json"]).json(0);
    // Every second length for a file, and the others for the next.
    for (number, extension) in ["store", "term", "idx", "fast", "fieldnorm", "pos", "del"].into_iter().enumerate() {
        for length in LENGTHS.into_iter().skip(number % 2).step_by(2) {
            let _ = base.run(["index", "--rebuild"]).answer(0);
            let body = format!("No {length} of {extension}.");
            base.run(["add", "Note 0", "--tags", "note", "--body", &body]).says(0, "updated knowledge/note-0");
            let expected = search();
            let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
            let path = files.into_iter().find(|path| path.extension().is_some_and(|found| found == extension)).unwrap();
            let bytes = fs::read(&path).unwrap();
            fs::write(path, &bytes[bytes.len() - length..]).unwrap();
            assert_eq!(search(), expected, "{extension}, {length}");
        }
    }
}

#[test]
fn a_changed_number_in_the_list_of_segments_is_not_trusted() {
    let (base, folder) = with_index();
    let search = || base.run(["search", "nightly", "--limit", "50", "--json"]).json(0);
    for key in ["\"max_doc\": ", "\"num_deleted_docs\": "] {
        for digit in *b"0189" {
            let _ = base.run(["index", "--rebuild"]).answer(0);
            let _ = base.run(["add", "Note 0", "--tags", "note", "--body", &format!("No {digit}.")]);
            let expected = search();
            let mut bytes = fs::read(folder.join("meta.json")).unwrap();
            let at = bytes.windows(key.len()).position(|window| window == key.as_bytes()).unwrap() + key.len();
            bytes[at] = if bytes[at] == digit { b'5' } else { digit };
            fs::write(folder.join("meta.json"), bytes).unwrap();
            assert_eq!(search(), expected, "{key}{}", char::from(digit));
        }
    }
}

/// Every file of the index is damaged in turn, in each of the ways that a disk or a program has, and the answers stay what
/// they are without any cache.
#[test]
fn a_damaged_index_is_rebuilt() {
    let (base, _) = with_index();
    let search = || base.run(["search", "nightly note 3", "--limit", "50"]).answer(0);
    let damage: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[0] ^= 0x81,
        |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x20;
        },
        |bytes| bytes.truncate(bytes.len() / 3),
        Vec::clear,
    ];
    let index_files =
        || -> Vec<String> { base.files(".ralph/cache").into_iter().filter(|path| path.contains("/live/")).collect() };
    let without_cache = || {
        fs::remove_dir_all(base.root().join(".ralph/cache")).unwrap();
        search()
    };
    let mut expected = without_cache();
    for (kind, damage) in damage.iter().enumerate() {
        for number in 0.. {
            let Some(path) = index_files().get(number).cloned() else {
                assert!(number > 8);
                break;
            };
            let full = base.root().join(&path);
            let mut bytes = fs::read(&full).unwrap();
            if bytes.is_empty() {
                continue;
            }
            damage(&mut bytes);
            fs::write(&full, bytes).unwrap();
            assert_eq!(search(), expected, "{path}, damage {kind}");
            // Writing works too, and leaves a working index.
            let title = format!("Written behind damage {kind} to {number}");
            let added = base.run(["add", &title, "--tags", "zebra", "--body", &title]);
            assert_eq!(added.code, Some(0), "{path}, damage {kind}: {added}");
            let behind = search();
            expected = without_cache();
            assert_eq!(behind, expected, "{path}, damage {kind}, behind a write");
        }
    }
}
