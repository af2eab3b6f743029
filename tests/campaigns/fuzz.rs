//! What must hold for any bytes at all, one function for each part that reads what others wrote. The fuzzer
//! (`tests/fuzz`) calls them with what it makes up, and the tests with what is kept in `fixtures/fuzz`.
//!
//! By hand: `cargo +nightly fuzz run --fuzz-dir tests/fuzz -s none TARGET fixtures/fuzz/TARGET -- -timeout=1 -rss_limit_mb=256
//! -max_total_time=1800` finds what panics, takes over a second or more than 256 MB.

use std::sync::LazyLock;

use ralph_memory::agent_output::transcript::{Format, MAX_BROKEN, Options, Reader};
use ralph_memory::context::defuse;
use ralph_memory::internals::entry::{
    Attempt, Change, apply, blocks, digest, double_quote, merge_conflicts, parse, quote, read, scan, split,
};
use ralph_memory::internals::sigil::{Tokens, read as read_sigils, tokens};
use ralph_memory::{Id, Kind, Knowledge, Memory, Query};
use tempfile::TempDir;

/// A part by name, and what must hold of it.
type Target = (&'static str, fn(&[u8]));

/// The parts.
pub(crate) const TARGETS: [Target; 8] = [
    ("splitter", splitter),
    ("frontmatter", frontmatter),
    ("edit", edit),
    ("sigils", sigils),
    ("query", query),
    ("merge", merge),
    ("secrets", secrets),
    ("transcripts", transcripts),
];

/// Separates the parts of an input that has several.
const BETWEEN: &str = "\n%%%%\n";

/// A file is taken apart into pieces that are all of it, and an entry is made of whatever it holds.
pub(crate) fn splitter(data: &[u8]) {
    for path in ["knowledge/a.md", "journal/run-1a2b3c4d/0001.md", "archive/knowledge/a.md"] {
        let entry = read(path, data);
        let lines = data.split(|byte| *byte == b'\n').count();
        for problem in &entry.head.problems {
            assert!(problem.line.is_none_or(|line| line >= 1 && line as usize <= lines), "{problem:?}");
            assert!(!problem.hint.is_empty(), "{problem:?}");
        }
        let _ = Attempt::of(&entry);
        assert!(entry.head.valid || !entry.head.problems.is_empty(), "what cannot be used is told of");
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(parts) = split(text) {
        assert!(parts.head.start <= parts.head.end && parts.head.end <= parts.body && parts.body <= text.len());
        assert!(text[..parts.head.start].trim_start_matches('\u{feff}').trim_end() == "---");
        assert!(text[parts.head.end..parts.body].trim_end() == "---");
        let before = text[..parts.body].matches('\n').count();
        let whole_lines = if text[..parts.body].ends_with('\n') { before + 1 } else { before + 2 };
        assert_eq!(parts.body_line as usize, whole_lines, "the body's first line");
    }
    let parts = blocks(text);
    assert!(parts.iter().all(|part| text.contains(part)));
    let _ = digest(text, 1);
}

/// What the scan lets through is read within bounds, and what is quoted is read back.
pub(crate) fn frontmatter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // What is larger never gets so far.
    let end = (0..=text.len().min(16 * 1024)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let head = &text[..end];
    match scan(head) {
        Ok(keys) => {
            for key in &keys {
                assert!(key.start <= key.colon_end && key.colon_end <= head.len());
                assert!(key.value.start <= key.value.end && key.value.end <= head.len());
            }
            if let Err(fault) = parse(head) {
                assert!(fault.offset <= head.len(), "{fault:?}");
            }
        }
        Err(fault) => assert!(fault.offset <= head.len(), "{fault:?}"),
    }
    for quoted in [quote(text), double_quote(text)] {
        if quoted.len() < 8 * 1024 {
            let fields = parse(&format!("title: {quoted}\n")).expect("what was quoted is YAML");
            assert_eq!(fields.get("title").and_then(|title| title.as_str()), Some(text), "{quoted}");
        }
    }
}

/// An edit is made whole, says what it was to say, and leaves the other bytes alone, or is refused.
pub(crate) fn edit(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (value, file) = text.split_once('\n').unwrap_or(("", text));
    let changes = match first % 6 {
        0 => vec![Change::Set("title", value.into())],
        1 => vec![Change::AddItems(
            "tags",
            value.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect(),
        )],
        2 => vec![Change::Remove("category")],
        3 => vec![Change::Set("importance", value.len().into())],
        4 => vec![Change::Body(value.to_owned())],
        _ => vec![Change::Set("updated_at", value.into()), Change::Body(file.to_owned())],
    };
    let Ok(edited) = apply(file, &changes) else { return };
    let (old, new) = (split(file).expect("it was edited"), split(&edited).expect("it was edited"));
    assert_eq!(file[..old.head.start], edited[..new.head.start]);
    if !changes.iter().any(|change| matches!(change, Change::Body(_))) {
        assert_eq!(file[old.head.end..], edited[new.head.end..], "what is behind the frontmatter");
    }
    // The same again changes nothing more, or is refused: some layouts can be edited once.
    let Ok(again) = apply(&edited, &changes) else { return };
    if matches!(changes[0], Change::Set(..) | Change::Remove(_)) && changes.len() == 1 {
        assert_eq!(again, edited);
    }
}

/// Any text is read, its refusals have valid lines, and defused it has no sigils.
pub(crate) fn sigils(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let said = read_sigils(&text, false);
    let lines = text.split('\n').count();
    assert!(said.refused.iter().all(|refused| refused.line as usize <= lines));
    assert!(said.refused.is_sorted_by_key(|refused| refused.line));
    let safe = defuse(&text);
    assert_eq!(tokens(&safe, true), Tokens::default(), "{safe}");
    assert_eq!(defuse(&safe), safe);
}

/// Whatever is looked for, hits are in order and their parts add up.
pub(crate) fn query(data: &[u8]) {
    static MEMORY: LazyLock<(TempDir, Memory)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Memory::init(folder.path()).expect("a new memory");
        let memory = Memory::open(folder.path()).expect("the memory");
        for (title, body) in [
            ("Cargo bench requires nightly", "Run `cargo +nightly bench` in src/index/score.rs, or parseHttpRequest."),
            ("日本語のタイトル", "Ünïcödé words, naïve café; 日本語 text."),
            ("SQLite foreign keys", "PRAGMA foreign_keys = ON for each connection."),
        ] {
            memory.add(&Knowledge::new(title, ["cargo", "sqlite", "日本"], body)).expect("an entry");
        }
        (folder, memory)
    });
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split(BETWEEN);
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let query = Query { text: next(), more: next(), feature: Some(next()), files: vec![next()], ..Query::default() };
    let hits = MEMORY.1.search(&query, 10).expect("an answer").hits;
    for hit in &hits {
        let sum: f64 = hit.explanation.iter().map(|part| part.value).sum();
        assert!(hit.score.is_finite() && (sum - hit.score).abs() < 1e-6, "{hit:?}");
    }
    assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
    if let Some(id) = Id::parse(&text) {
        assert!(id.as_str().starts_with("knowledge/") || id.kind() == Kind::Journal);
    }
}

/// A merged frontmatter can be read, and the body stays.
pub(crate) fn merge(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(merged) = merge_conflicts(text) {
        let parts = split(&merged).unwrap();
        assert!(parse(&merged[parts.head.clone()]).is_ok(), "{merged}");
        assert!(text.ends_with(&merged[parts.head.end..]) && merge_conflicts(&merged).is_none(), "{merged}");
    }
}

/// Secrets are in order and end between characters, and redacted text has none that is found again.
pub(crate) fn secrets(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = ralph_memory::text::secret::find(&text);
    let mut end = 0;
    for secret in &found {
        assert!(end <= secret.range.start && secret.range.start < secret.range.end, "{found:?}");
        assert!(text.get(secret.range.clone()).is_some(), "{found:?}");
        end = secret.range.end;
        assert!(secret.fingerprint.len() == 8 && secret.fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (line, column) = secret.place(&text);
        assert!(line >= 1 && column >= 1);
    }
    let safe = ralph_memory::text::secret::redact(&text, &[]);
    assert_eq!(safe.matches("[redacted: ").count(), found.len() + unredacted(&text, &found));
    let allowed: Vec<String> = found.into_iter().map(|secret| secret.fingerprint).collect();
    assert_eq!(ralph_memory::text::secret::redact(&text, &allowed), text);
}

/// Returns how often the text says of itself that something is redacted.
fn unredacted(text: &str, found: &[ralph_memory::text::secret::Secret]) -> usize {
    let is_kept =
        |at: usize| !found.iter().any(|secret| secret.range.start < at + "[redacted: ".len() && at < secret.range.end);
    text.match_indices("[redacted: ").filter(|(at, _)| is_kept(*at)).count()
}

/// Any output is read in any pieces, the same in all of them, within its limits, and names no file outside.
pub(crate) fn transcripts(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    for format in [Format::Auto, Format::Claude, Format::Codex] {
        let reader = || Reader::new(Options { format, root: "/repo/project".to_owned(), ..Options::default() });
        let whole = reader().read(bytes).expect("bytes in memory can be read");
        let mut pieces = reader();
        bytes.chunks(usize::from(*first) + 1).for_each(|piece| pieces.push(piece));
        assert_eq!(pieces.finish(), whole);
        assert!(whole.broken.len() <= MAX_BROKEN && whole.errors.len() <= 200 && whole.decisions.len() <= 200);
        assert!(whole.errors.iter().chain(&whole.decisions).all(|line| !line.is_empty() && !line.contains('\n')));
        for path in [&whole.files.created, &whole.files.modified, &whole.files.read].into_iter().flatten() {
            assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{path}");
        }
    }
}
