//! Whatever happened to the files, and however the cache came about, the answers are those that a
//! cache made from nothing gives: ids, scores and the parts of scores. (Invariants 1, 2 and 8.)

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use ralph_memory::memory::EntryFilter;
use ralph_memory::{Hit, Id, Kind, Knowledge, Memory, Query};

use crate::test_cases::cases;

/// One thing that a person, an editor, git or the program does.
#[derive(Debug, Clone)]
enum Step {
    /// The program writes an entry; the same number again changes it.
    Add(u8, Text),
    /// A file is written by hand.
    Write(u8, Text),
    /// One letter of a file is changed in place: the size stays.
    SameSize(u8),
    /// A file is written beside another and renamed over it.
    RenameOver(u8, Text),
    /// A file gets another name.
    Rename(u8, u8),
    /// A file moves to a subfolder, or a whole folder is renamed.
    MoveFolder(u8),
    /// A file is deleted.
    Delete(u8),
    /// A file's time is set back by hours.
    SetBack(u8, u16),
    /// The program brings an archived version back.
    Restore(u8),
    /// The index is updated, or rebuilt.
    Rebuild,
    /// A reading call, which may save what it read.
    Search,
}

/// A few words, so that entries share some.
type Text = Vec<u8>;

const WORDS: [&str; 12] = [
    "cargo",
    "nightly",
    "benchmark",
    "sqlite",
    "foreign keys",
    "parseHttpRequest",
    "timeouts",
    "retry",
    "the",
    "cache_dir",
    "migrations",
    "src/store/write.rs",
];
const QUERIES: [&str; 4] =
    ["cargo nightly benchmarks", "http request parse timeout", "sqlite\nforeign keys in migrations", "store write"];

fn words(text: &[u8]) -> String {
    text.iter().map(|word| WORDS[usize::from(*word) % WORDS.len()]).collect::<Vec<_>>().join(" ")
}

fn path(root: &Path, number: u8) -> PathBuf {
    root.join(format!(".ralph/knowledge/note-{}.md", number % 6))
}

fn file(number: u8, text: &[u8]) -> String {
    let tag = WORDS[usize::from(number) % WORDS.len()];
    format!(
        "---\ntags: [\"{tag}\"]\ntitle: \"Note {number} {}\"\ncreated_at: \"2026-01-{:02}\"\n---\n\n{}\n",
        words(&text[..text.len() / 3]),
        number % 28 + 1,
        words(text)
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    let text = || proptest::collection::vec(any::<u8>(), 0..12);
    prop_oneof![
        3 => (0u8..9, text()).prop_map(|(number, text)| Step::Add(number, text)),
        3 => (any::<u8>(), text()).prop_map(|(number, text)| Step::Write(number, text)),
        2 => any::<u8>().prop_map(Step::SameSize),
        2 => (any::<u8>(), text()).prop_map(|(number, text)| Step::RenameOver(number, text)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => any::<u8>().prop_map(Step::MoveFolder),
        1 => any::<u8>().prop_map(Step::Delete),
        1 => (any::<u8>(), any::<u16>()).prop_map(|(number, minutes)| Step::SetBack(number, minutes)),
        1 => (0u8..9).prop_map(Step::Restore),
        1 => Just(Step::Rebuild),
        2 => Just(Step::Search),
    ]
}

/// Does a step. A missing file cannot be renamed or deleted, which is not a failure.
fn carry_out(memory: &Memory, root: &Path, step: &Step) {
    match step {
        Step::Add(number, text) => {
            let body = format!("Body {}", words(text));
            memory.add(&Knowledge::new(format!("Added {number}"), [words(&[*number])], body)).unwrap();
        }
        Step::Write(number, text) => fs::write(path(root, *number), file(*number, text)).unwrap(),
        Step::SameSize(number) => {
            if let Ok(mut bytes) = fs::read(path(root, *number)) {
                let last = bytes.len() - 2;
                bytes[last] = if bytes[last] == b'x' { b'y' } else { b'x' };
                fs::write(path(root, *number), bytes).unwrap();
            }
        }
        Step::RenameOver(number, text) => {
            let temporary = root.join(".ralph/knowledge/.note.md.swp");
            fs::write(&temporary, file(*number, text)).unwrap();
            fs::rename(temporary, path(root, *number)).unwrap();
        }
        Step::Rename(from, to) => drop(fs::rename(path(root, *from), path(root, *to))),
        Step::MoveFolder(number) => {
            let (one, other) = (root.join(".ralph/knowledge/team"), root.join(".ralph/knowledge/others"));
            if number % 2 == 0 && one.exists() && !other.exists() {
                fs::rename(one, other).unwrap();
            } else {
                fs::create_dir_all(&one).unwrap();
                drop(fs::rename(path(root, *number), one.join(format!("moved-{}.md", number % 3))));
            }
        }
        Step::Delete(number) => drop(fs::remove_file(path(root, *number))),
        Step::SetBack(number, minutes) => {
            if let Ok(file) = File::options().write(true).open(path(root, *number)) {
                let time = SystemTime::now() - Duration::from_secs(u64::from(*minutes) * 60);
                file.set_times(FileTimes::new().set_modified(time)).unwrap();
            }
        }
        Step::Restore(number) => drop(memory.restore(&Id::parse(&format!("knowledge/added-{number}")).unwrap(), None)),
        Step::Rebuild => drop(memory.rebuild_index().unwrap()),
        Step::Search => drop(answers(memory)),
    }
}

/// Everything that is asked: hits with scores and explanations, lists, and problems.
fn answers(memory: &Memory) -> (Vec<Vec<Hit>>, Vec<String>, usize) {
    let search = |text: &&str| {
        let query = Query {
            text: (*text).to_owned(),
            feature: Some("cache dir".into()),
            files: vec!["src/sqlite.rs".into()],
            ..Query::default()
        };
        memory.search(&query, 20).unwrap().hits
    };
    let archived = Query { text: QUERIES[0].to_owned(), archived: true, ..Query::default() };
    let mut hits: Vec<Vec<Hit>> = QUERIES.iter().map(search).collect();
    let knowledge = Query { text: QUERIES[0].to_owned(), kind: Some(Kind::Knowledge), ..Query::default() };
    hits.extend([archived, knowledge].map(|query| memory.search(&query, 50).unwrap().hits));
    let listed = memory.list(&EntryFilter { archived: true, ..EntryFilter::default() });
    (hits, listed.entries.into_iter().map(|entry| format!("{entry:?}")).collect(), listed.problems.len())
}

/// Answers with the cache out of the way.
fn answers_anew(memory: &Memory, root: &Path) -> (Vec<Vec<Hit>>, Vec<String>, usize) {
    let (cache, aside) = (root.join(".ralph/cache"), root.join("cache-aside"));
    let had_cache = fs::rename(&cache, &aside).is_ok();
    let answers = answers(memory);
    drop(fs::remove_dir_all(&cache));
    if had_cache {
        fs::rename(aside, cache).unwrap();
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(8), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_updated_cache_answers_like_a_new_one(steps in proptest::collection::vec(any_step(), 1..24)) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        Memory::init(root).unwrap();
        let memory = Memory::open(root).unwrap();
        memory.rebuild_index().unwrap();
        for step in &steps {
            carry_out(&memory, root, step);
            prop_assert_eq!(answers(&memory), answers_anew(&memory, root), "after {:?}", step);
        }
    }
}

#[test]
fn parts_of_scores_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    Memory::init(root).unwrap();
    let memory = Memory::open(root).unwrap();
    for number in 0..12 {
        fs::write(root.join(format!(".ralph/knowledge/n{number}.md")), file(number, &[number, number / 2, 5, 7, 1, 0]))
            .unwrap();
    }
    for text in QUERIES {
        let query = Query {
            text: text.to_owned(),
            feature: Some("cargo".into()),
            files: vec!["a/sqlite.rs".into()],
            ..Query::default()
        };
        let hits = memory.search(&query, 20).unwrap().hits;
        assert!(hits.len() > 3);
        for hit in hits {
            let sum: f64 = hit.explanation.iter().map(|part| part.value).sum();
            assert!((sum - hit.score).abs() < 1e-9, "{hit:?}");
        }
    }
}
