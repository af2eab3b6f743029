//! Notes that somebody copied into `knowledge/` as they were: every operation keeps their frontmatter, links and bytes.

use std::time::{Duration, SystemTime};

use ralph_memory::error::Severity;
use ralph_memory::memory::EntryChanges;
use ralph_memory::{Id, Memory};

use crate::support::{TestBase, edit};

/// Where the note is. Its H1 or its frontmatter calls it `Redis pool`.
const PATH: &str = ".ralph/knowledge/redis.md";

/// The kinds of notes: a name, and the text of the file.
const NOTES: [(&str, &str); 9] = [
    ("plain", "# Redis pool\n\nTen connections.\n\nSee [[Other]] and [them](./other.md).\n"),
    ("empty line", "\n# Redis pool\n\nTen connections.  \n\nSee [[Other]] and [them](./other.md)."),
    (
        "other tool",
        "---\ntitle: Redis pool\npermalink: ops/redis-pool\ntype: note\nresource: https://example.org/a#b\nparent: \"[[Other]]\" # by hand\n---\n# Redis pool\n\nTen connections.\n\nSee [[Other]].\n",
    ),
    (
        "windows",
        "---\r\nresource: x\r\n# kept\r\n---\r\n\r\n# Redis pool\r\n\r\nTen connections.\r\n\r\nSee [[Other]].\r\n",
    ),
    ("byte order mark", "\u{feff}# Redis pool\n\nTen connections.\n\nSee [[Other]].\n"),
    (
        "byte order mark and frontmatter",
        "\u{feff}---\ntags: [ops]\n---\n# Redis pool\n\nTen connections.\n\nSee [[Other]].\n",
    ),
    ("empty frontmatter", "---\n---\n---\ntitle: Redis pool\ntags: [ops]\n---\nTen connections.\n\nSee [[Other]].\n"),
    (
        "empty frontmatter, windows",
        "\u{feff}---\r\n\r\n---\r\n\r\n---\r\ntags: [ops]\r\n---\r\n# Redis pool\r\n\r\nTen connections.\r\n\r\nSee [[Other]].\r\n",
    ),
    ("windows, plain", "# Redis pool\r\n\r\nTen connections.\r\n\r\nSee [[Other]].\r\n"),
];

fn note() -> Id {
    Id::parse("redis").unwrap()
}

/// Returns the text with these lines at the end of its frontmatter, which it may not have yet.
fn with_lines(text: &str, lines: &str) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let (fence, lines) = (format!("---{end}"), lines.replace('\n', end));
    let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |text| ("\u{feff}", text));
    match text.rmatch_indices(&fence).next() {
        Some((at, _)) => format!("{mark}{}{lines}{}", &text[..at], &text[at..]),
        None => format!("{mark}{fence}{lines}{fence}{text}"),
    }
}

/// Returns a memory with the note, and another one that links to it.
fn with_note(text: &str) -> (TestBase, Memory) {
    let base = TestBase::new();
    base.write(PATH, text).write(".ralph/knowledge/other.md", "# Other\n\nOf the [[Redis pool]].\n");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_268_800);
    let memory = base.memory().with_clock(move || now);
    (base, memory)
}

/// What an operation leaves of a note, and what is expected.
type Left = (String, String);
/// An operation on a memory with this note.
type NoteOperation = fn(&str) -> Left;

fn edited(text: &str) -> Left {
    let (base, memory) = with_note(text);
    let new = text.replace("Ten", "Twenty");
    edit(&memory, &memory.text(&note()).unwrap(), &new).unwrap();
    // Who wrote it is known of a text with frontmatter.
    let without_prints = |text: String| {
        text.split_inclusive('\n').filter(|line| !line.starts_with("fingerprints: ")).collect::<String>()
    };
    (without_prints(base.read(PATH)), with_lines(&new, "updated_at: \"2026-01-01T12:00:00Z\"\n"))
}

fn renamed(text: &str) -> Left {
    let (base, memory) = with_note(text);
    memory.change(&note(), &EntryChanges::titled("Pool of Redis")).unwrap();
    assert_eq!(base.read(".ralph/knowledge/other.md"), "# Other\n\nOf the [[Redis pool]].\n");
    let (title, aliases) = ("title: \"Pool of Redis\"\n", "aliases: [knowledge/redis, Redis pool]\n");
    let expected = if text.contains("title: ") {
        with_lines(&text.replace("title: Redis pool\n", title), aliases)
    } else {
        with_lines(text, &format!("{title}{aliases}"))
    };
    (base.read(".ralph/knowledge/pool-of-redis.md"), expected)
}

fn tidied(text: &str) -> Left {
    let (base, memory) = with_note(text);
    memory.tidy(false).unwrap();
    (base.read(PATH), text.to_owned())
}

fn archived(text: &str) -> Left {
    let (base, memory) = with_note(text);
    memory.archive(&[note()]).unwrap();
    let marked = base.read(".ralph/archive/knowledge/redis.md");
    assert!(marked.contains("archived_by: \"human\""), "{marked}");
    let keys = ["archived_by: ", "archived_at: ", "fingerprints: "];
    let is_of_note = |line: &&str| !keys.iter().any(|key| line.starts_with(key));
    let left: String = marked.split_inclusive('\n').filter(is_of_note).collect();
    let has_frontmatter = text.trim_start_matches('\u{feff}').starts_with("---");
    let empty = ["---\n---\n", "---\r\n---\r\n"].into_iter().filter(|_| !has_frontmatter);
    let left = empty.fold(left, |left, empty| left.replacen(empty, "", 1));
    (left, text.to_owned())
}

fn restored(text: &str) -> Left {
    let (base, memory) = with_note(text);
    memory.archive(&[note()]).unwrap();
    memory.restore(&note(), None).unwrap();
    (base.read(PATH), text.to_owned())
}

#[test]
fn raw_notes_keep_their_bytes_through_every_operation() {
    let operations: [(&str, NoteOperation); 5] =
        [("edit", edited), ("rename", renamed), ("tidy", tidied), ("archive", archived), ("restore", restored)];
    for (kind, text) in NOTES {
        let shown = with_note(text).1.show(&note()).unwrap();
        assert_eq!((shown.entry.summary.title.as_str(), shown.problems.as_slice()), ("Redis pool", &[][..]), "{kind}");
        for (operation, of) in operations {
            let (left, expected) = of(text);
            assert_eq!(left, expected, "{operation} of {kind}");
        }
    }
}

#[test]
fn a_note_whose_frontmatter_cannot_be_read_has_a_title() {
    for (text, title) in [
        ("---\ntitle: [a\n---\n# Redis *pool*\n\nTen.\n", "Redis pool"),
        ("\u{feff}---\r\ntitle: [a\r\n---\r\n# Redis pool\r\n\r\nTen.\r\n", "Redis pool"),
        ("---\ntitle: a: b\n---\nTen.\n", "redis"),
        ("---\ntags: [a]\n\n# Redis pool\n\nTen.\n", "Redis pool"),
    ] {
        let (base, memory) = with_note(text);
        let listed = base.run(["list", "--json"]).json(0);
        let of_note = |entry: &&serde_json::Value| entry["id"] == "knowledge/redis";
        let found = listed["entries"].as_array().unwrap().iter().find(of_note).unwrap();
        assert_eq!(found["title"], title, "{text}");
        let problems = memory.check().problems;
        assert!(problems.iter().any(|problem| problem.path == PATH && problem.severity == Severity::Error), "{text}");
        // It is refused, since nobody can tell what its keys are.
        let refused = memory.change(&note(), &EntryChanges { tags: Some(vec!["x".into()]), ..EntryChanges::default() });
        assert!(refused.unwrap_err().to_string().contains("its frontmatter"), "{text}");
        assert_eq!(base.read(PATH), text);
        // In an editor it can be mended.
        edit(&memory, &memory.text(&note()).unwrap(), "---\ntags: [a]\n---\n# Redis pool\n\nTen.\n").unwrap();
        assert_eq!(memory.show(&note()).unwrap().entry.summary.title, "Redis pool");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let (base, memory) = with_note("\u{feff}Ten connections.\n");
    assert_eq!(memory.show(&note()).unwrap().entry.body, "Ten connections.\n");
    let found = base.run(["search", "connections", "--json"]).json(0);
    assert_eq!(found["entries"][0]["excerpt"], "Ten connections.", "{found}");
}

#[test]
fn a_key_or_category_of_many_entries_is_told_once_and_a_slip_at_its_place() {
    let base = TestBase::new();
    for (path, head) in [
        ("knowledge/a", "tittle: x\ncategory: decisons"),
        ("knowledge/b", "tittle: x\ncategory: decisons"),
        ("archive/knowledge/c", "tittle: y\nimportence: 3"),
        ("knowledge/d", "categroy: pitfall"),
    ] {
        base.write(&format!(".ralph/{path}.md"), format!("---\n{head}\n---\n\n# About {path}\n\nText of {path}.\n"));
    }
    let problems = base.memory().check().problems.into_iter();
    let told: Vec<String> =
        problems.filter(|problem| problem.code.starts_with("unknown-")).map(|problem| problem.to_string()).collect();
    assert_eq!(
        told,
        [
            ".ralph/: `tittle` in 3 entries is kept and means nothing here",
            ".ralph/archive/knowledge/c.md:3:1: `importence` is not a known key",
            ".ralph/knowledge/a.md:3:11: `decisons` is not a known category",
            ".ralph/knowledge/b.md:3:11: `decisons` is not a known category",
            ".ralph/knowledge/d.md:2:1: `categroy` is not a known key",
        ]
    );
}

#[test]
fn raw_notes_that_tidy_merges_are_found_by_their_names() {
    let base = TestBase::new();
    let note = |title: &str, text: &str| {
        format!("---\ncategory: pitfall\ntags: [db, sql]\nsource: agent\n---\n# {title}\n\n{text}\n")
    };
    base.write(".ralph/knowledge/one.md", note("Raw one", "Text one."));
    base.write(".ralph/knowledge/two.md", note("Raw two", "Text two."));
    base.write(".ralph/knowledge/l.md", "# L\n\n[[Raw two]] [[two]] [[Raw one]] [t](two.md) [o](./one.md)\n");
    base.with(["tidy"]).env("RALPH_MEMORY_MAINTENANCE__LEARNINGS", "1").run().says(0, "merged");
    let memory = base.memory();
    let linking = memory.show(&Id::parse("l").unwrap()).unwrap().entry;
    let led: Vec<_> = linking.links.iter().map(|link| link.id.as_ref().map(Id::stem)).collect();
    // An id is that of the archived note, which names the one that replaced it.
    assert_eq!(led, [Some("one"), None, Some("one")], "{}", linking.body);
    assert!(linking.body.contains("[[two]] [[Raw one]] [t](two.md) [o](./one.md)"), "{}", linking.body);
    let merged = memory.show(&Id::parse("one").unwrap()).unwrap().entry.body;
    assert_eq!(merged.trim_start(), "# Raw one\n\nText one.\n\n## Raw two\n\nText two.\n");
    assert_eq!(memory.check().problems, []);
}

#[test]
fn the_title_of_a_raw_note_states_the_same() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/two.md", "# Two\n\nText.\n");
    base.run(["add", "Two", "--tags", "x", "--body", "Another text."]).says(0, "knowledge/two");
    let shown = base.memory().show(&Id::parse("two").unwrap()).unwrap().entry;
    assert_eq!((shown.summary.title.as_str(), shown.body.trim()), ("Two", "Another text."));
    assert!(!base.at(".ralph/knowledge/two-2.md").exists());
}

#[test]
fn a_raw_note_says_that_it_counts_no_more() {
    for head in ["superseded_by: new", "superseded-by: \"[[New]]\"", "status: Deprecated since 2020"] {
        let base = TestBase::new();
        base.write(".ralph/knowledge/old.md", format!("---\n{head}\n---\n# Old\n\nDeploy on Mondays.\n"));
        base.write(".ralph/knowledge/new.md", "# New\n\nDeploy on Tuesdays.\n");
        let briefing = base.run(["context"]).answer(0);
        assert!(!briefing.contains("Mondays") && briefing.contains("Tuesdays"), "{head}\n{briefing}");
    }
}

#[test]
fn a_raw_note_shows_what_it_has() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/note.md", "# Note\r\n\r\nOf the [[Other]] and the [[other]].\r\n");
    base.write(".ralph/knowledge/other.md", "# Other\n\nQuokkas.\n");
    let shown = base.run(["show", "note"]).answer(0);
    assert!(!shown.contains("u{d}") && !shown.contains('\r'), "{shown}");
    assert_eq!(shown.matches("knowledge/other").count(), 1, "{shown}");
    let context = base.run(["context", "Feed the quokkas"]).stdout;
    assert!(context.contains("### Other\n`knowledge/other`\n"), "{context}");
}
