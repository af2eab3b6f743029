//! What happens to files: clocks that lie, damage, full disks, and names that lead elsewhere. Each campaign
//! in small; the program of `tests/campaigns` makes them as large as one likes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::memory::{Report, Run};
use ralph_memory::{Memory, Task};

use crate::cli::commands;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::hostile_clone;
use crate::own_disk::{COARSE, MEMORY, SMALL, got_there, own_disk};
use crate::program::quick_folder;
use crate::support::{PROGRAM, TestBase, git};
use crate::{clocks, corruption, full_disk, paths};

#[test]
fn no_clock_makes_an_answer_stale() {
    let folder = quick_folder();
    let outcome = clocks::run(folder.path(), Path::new(PROGRAM), 40, 5);
    assert_eq!(outcome.edits, 40);
    assert!(outcome.by_library > 20 && outcome.by_process > 8 && outcome.same_size > 8, "{outcome:?}");
}

#[test]
fn no_coarse_clock_makes_an_answer_stale() {
    let own = ["campaigns::no_coarse_clock_makes_an_answer_stale", "--exact"];
    let Some(place) = own_disk(COARSE, &own) else { return };
    let outcome = clocks::run(&place.join("disk"), Path::new(PROGRAM), 40, 5);
    assert!(outcome.same_stat > 0, "{outcome:?}");
    got_there(&place);
}

#[test]
fn damage_to_the_cache_or_the_state_changes_no_answer() {
    let folder = quick_folder();
    let outcome = corruption::run(folder.path(), Path::new(PROGRAM), 9, 6);
    assert_eq!(outcome.damaged, 9);
    assert!(outcome.kinds.iter().all(|count| *count > 0), "{outcome:?}");
    assert!(outcome.in_state > 0 && outcome.noticed > 0, "{outcome:?}");
}

#[test]
fn a_full_disk_loses_nothing_and_work_continues() {
    let own = ["campaigns::a_full_disk_loses_nothing_and_work_continues", "--exact"];
    let Some(place) = own_disk(SMALL, &own) else { return };
    let outcome = full_disk::run(&place, Path::new(PROGRAM), 1, 7);
    let by_page = outcome.written.contains_key("serve, archive") || outcome.refused.contains_key("serve, archive");
    let n_commands = outcome.written.keys().filter(|what| !what.starts_with("serve")).count();
    assert!(outcome.fills == 1 && n_commands == 4 && by_page, "{outcome:?}");
    got_there(&place);
}

#[test]
fn a_context_without_room_begins_no_iteration() {
    let own = ["campaigns::a_context_without_room_begins_no_iteration", "--exact"];
    let Some(place) = own_disk(SMALL, &own) else { return };
    let root = place.join("disk");
    Memory::init(&root).unwrap();
    let memory = Memory::open(&root).unwrap();
    let begin = || memory.begin(&Task::new("t"), &Run::named("run-0000000a"));
    memory.finish(&begin().unwrap(), &Report::default()).unwrap();
    let page = |number: usize| root.join(format!("page-{number}"));
    let mut n_pages = 0;
    while fs::write(page(n_pages), [b'x'; 4_096]).is_ok() {
        n_pages += 1;
    }
    fs::remove_file(page(n_pages)).unwrap();
    // With no page at all, with one for the first note of it, with more.
    let mut refused = 0;
    while begin().is_err() {
        assert_eq!(memory.open_attempts(), [], "{refused}");
        refused += 1;
        n_pages -= 1;
        fs::remove_file(page(n_pages)).unwrap();
    }
    assert!(refused > 1, "{refused}");
    got_there(&place);
}

#[test]
fn a_read_only_disk_is_readable() {
    let own = ["campaigns::a_read_only_disk_is_readable", "--exact"];
    let Some(place) = own_disk(SMALL, &own) else { return };
    full_disk::read_only(&place, Path::new(PROGRAM));
    got_there(&place);
}

#[test]
fn no_name_or_link_leads_outside_of_the_memory() {
    let folder = quick_folder();
    let outcome = paths::run(folder.path(), Path::new(PROGRAM), 160, 9);
    assert_eq!((outcome.titles, outcome.ids, outcome.under_swaps), (144, 8, 8));
    assert!(outcome.links > 20, "{outcome:?}");
    assert!(outcome.refused < 72 && outcome.done > 0 && outcome.done_under_swaps > 0, "{outcome:?}");
}

#[test]
fn git_follows_no_links_in_the_memory() {
    let base = TestBase::new();
    let path = std::env::var_os("PATH").unwrap();
    git(&base, &["init", "--quiet"]);
    for link in ["state/git", "state/git/objects", "state/git/objects/pack"] {
        let (link, outside) = (base.at(".ralph").join(link), base.home().join(link.replace('/', "-")));
        let _ = fs::remove_dir_all(base.at(".ralph/state"));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let run = |arguments: &[&str]| base.with(arguments).env("PATH", &path).input("<journal>x</journal>").run();
        assert_eq!(run(&["context", "--task", "t", "--run", "run-0000000a"]).code, Some(0));
        let recorded = run(&["record", "--json"]).json(0);
        assert!(recorded["attempt"]["tree"].is_string(), "{recorded}");
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0, "{}", link.display());
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_hostile_clone_does_no_harm() {
    let own = ["campaigns::a_hostile_clone_does_no_harm", "--exact"];
    let Some(place) = own_disk(MEMORY, &own) else { return };
    let tally = hostile_clone::run(&place.join("disk"), Path::new(PROGRAM), 256, false, 9);
    tally.assert_no_fault();
    assert_eq!((tally["small"], tally["traced"]), (240, 16), "{tally:?}");
    assert!(tally["pages"] > 0, "{tally:?}");
    // All but the kind that small ones alone have.
    assert_eq!(tally.group("kind").len(), hostile_clone::KINDS.len() + 1, "{tally:?}");
    assert_eq!(tally.group("step").len(), hostile_clone::STEPS.len() + 2, "{tally:?}");
    assert!(tally["compared"] > 24 && tally["gits"] > 40, "{tally:?}");
    assert!(tally["printed"] > tally["printed and run"] && tally["printed and run"] > 100, "{tally:?}");
    // Each change of two branches with each driver, and nearly each change of a stranger's file.
    assert!(tally.group("merge").len() == 24 && tally.group("stranger").len() > 12, "{tally:?}");
    got_there(&place);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn no_forged_state_is_believed_where_files_have_no_birth_times() {
    let own = ["campaigns::no_forged_state_is_believed_where_files_have_no_birth_times", "--exact"];
    let Some(place) = own_disk(COARSE, &own) else { return };
    let place = place.join("disk");
    assert!(fs::metadata(&place).unwrap().created().is_err(), "this file system has times of birth");
    let tally = hostile_clone::sealed(&place, Path::new(PROGRAM), 24, 11);
    tally.assert_no_fault();
    assert_eq!(tally["small"], 24, "{tally:?}");
    got_there(place.parent().unwrap());
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn every_command_runs_in_hostile_clones() {
    /// Commands that are no steps, each with the reason.
    const NO_STEPS: [(&str, &str); 1] = [("mcp", "runs as the server, beside the steps")];
    let run: BTreeSet<&str> = hostile_clone::STEPS.iter().map(|step| step.arguments[0].as_str()).collect();
    // These are hidden: `man` is for packages, and shells run `complete`. Without a command there is the status.
    let hidden = ["complete", "man", "--help", "--json", "--quiet"];
    let expected: BTreeSet<&str> = commands().into_iter().chain(hidden).collect();
    let others: BTreeSet<&str> = NO_STEPS.into_iter().map(|(command, _)| command).collect();
    assert_eq!(run.intersection(&others).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert_eq!(run.union(&others).copied().collect::<BTreeSet<_>>(), expected);
}

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
