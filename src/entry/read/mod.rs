//! Reads one file. It never fails, and returns the problems that it found.

mod lookout;
mod misspelt;
mod reader;

use std::cell::OnceCell;

use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::reader::EntryReader;
use super::body::{self, MAX_LINKS};
use super::edit::list_items;
use super::fields::{ATTEMPT, KNOWLEDGE};
use super::frontmatter::{self, Fields, Missing};
use super::guard::{CONFLICT, Fault};
use super::knowledge::unsettled;
use super::outline::{OutlineHeading, headings, title_heading};
use super::path::without_extension;
use super::written::{author, fingerprint};
use super::{Entry, Head, Id, Kind, Outcome, Scope, Sections, is_task_id};
use crate::error::{Message, Severity};

pub(crate) use self::misspelt::{UNKNOWN_CATEGORY, misspelt_category};
use crate::text::lines::each_once;
use crate::text::{add_folded, fold_tag, nfc, one_line, split_tags};

/// How a file begins in whose place git has a pointer.
const LFS: &str = "version https://git-lfs.github.com/spec/";

/// Reads the entry at `path` (relative to `.ralph/`) whose file holds `bytes`.
///
/// Problems of the file are in `Head::problems`. An entry with unusable frontmatter has `valid: false`, and its body
/// is read anyway: the whole file, if the frontmatter cannot be separated from it.
pub fn read(path: &str, bytes: &[u8]) -> Entry {
    let kind = Id::of_path(path).map_or(Kind::Knowledge, |id| id.kind());
    let (head, frontmatter, keys) = (Head::empty(kind), 0..0, OnceCell::new());
    let mut reader = EntryReader { path, head, description: None, frontmatter, text: "", keys };
    let lossy;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            lossy = String::from_utf8_lossy(bytes);
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            reader.text = &valid;
            let (message, hint) = ("this byte is not UTF-8", "save the file as UTF-8");
            reader.report(Severity::Error, "not-utf8", Some(valid.len()), message, hint);
            return reader.measured(&lossy, 1);
        }
    };
    reader.text = text;
    reader.look_for_invisible();
    if text.starts_with(LFS) {
        let hint = "`git lfs pull` fetches it; leave `*.md` out of the lines with `filter=lfs` in `.gitattributes`";
        reader.report(Severity::Error, "lfs-pointer", Some(0), "this is a pointer of Git LFS, and no text", hint);
        return reader.measured("", 1);
    }
    let split = match frontmatter::split(text) {
        Ok(split) => split,
        // A note of another program, or of somebody who wrote only the text.
        Err(Missing::Absent) if kind == Kind::Knowledge && !text.trim().is_empty() => {
            reader.head.valid = true;
            reader.look_for_controls(text, 0);
            reader.look_for_conflicts();
            return reader.measured(frontmatter::body(text), 1);
        }
        Err(missing) => {
            reader.report_missing(missing);
            return reader.measured(text, 1);
        }
    };
    let body_start = split.body;
    reader.frontmatter = split.head;
    if let Some(fields) = reader.fields() {
        match kind {
            Kind::Knowledge => reader.knowledge(&fields),
            Kind::Journal => reader.attempt(&fields),
        }
    }
    let body = &text[body_start..];
    match &mut reader.head.attempt {
        // Nothing is measured in the body of what was done.
        Some(attempt) if attempt.outcome == Outcome::Done => attempt.measure(&Sections::default()),
        Some(attempt) => attempt.measure(&Sections::read(body)),
        None if kind == Kind::Knowledge => {
            let head = &mut reader.head;
            head.source = author(head.source, &head.fingerprints, &fingerprint(&head.title, body));
            reader.look_for_controls(body, body_start);
        }
        _ => {}
    }
    reader.look_for_conflicts();
    reader.look_for_lost_values(body_start);
    reader.measured(body, split.body_line)
}

/// Returns the title of a note whose frontmatter has none or cannot be read: its first heading of the first level, else the
/// heading above all of it, else the name of its file.
fn title_of_note(path: &str, body: &str) -> String {
    let heading = headings(body).into_iter().find(|heading| heading.level == 1 && !heading.title.is_empty());
    let begins = |heading: &OutlineHeading| body[..heading.range.start].trim().is_empty();
    let heading = heading.or_else(|| title_heading(body).filter(begins));
    let name = path.rsplit('/').next().unwrap_or(path);
    heading.map_or_else(|| without_extension(name).unwrap_or(name).replace(['-', '_'], " "), |heading| heading.title)
}

/// Returns a hash of a body's words (XXH3, 64 bits), whose case counts as in [tokens](crate::text::tokens), and their number.
pub(crate) fn body_fingerprint(body: &str) -> (u64, u32) {
    let (mut fingerprint, mut n_words) = (0, 0u32);
    let mut lower = String::new();
    for word in nfc(body).split_whitespace() {
        lower.clear();
        add_folded(word, &mut lower);
        fingerprint = xxh3_64_with_seed(lower.as_bytes(), fingerprint);
        n_words = n_words.saturating_add(1);
    }
    (fingerprint, n_words)
}

impl EntryReader<'_> {
    /// Returns the entry, with measurements of its body.
    fn measured(mut self, body: &str, body_line: u32) -> Entry {
        let digest = body::digest(body, body_line);
        if digest.n_links > MAX_LINKS {
            let message = format!("the body has {} links, and the first {MAX_LINKS} are followed", digest.n_links);
            let hint = "remove links that nobody follows, or split the entry";
            self.report(Severity::Warning, "too-many-links", None, &message, hint);
        }
        let mut head = self.head;
        if head.kind == Kind::Knowledge && head.title.is_empty() {
            head.title = title_of_note(self.path, body);
        }
        (head.body_fingerprint, head.body_words) = body_fingerprint(body);
        head.links = digest.links;
        let text = match &self.description {
            Some(said) => format!("{said}\n{}", digest.text),
            // Words of a frontmatter that cannot be read are found, too.
            None if !head.valid => format!("{}\n{}", &self.text[self.frontmatter], digest.text),
            None => digest.text,
        };
        Entry { head, body: body.to_owned(), description: self.description, text }
    }

    fn report_missing(&mut self, missing: Missing) {
        let is_empty = self.text.trim().is_empty();
        let (code, message, hint) = match missing {
            _ if is_empty => ("no-frontmatter", "the file is empty", "write an entry into it, or delete it"),
            Missing::Absent => (
                "no-frontmatter",
                "the first line is not `---`, so the file has no frontmatter",
                "journal files are written by the program; restore it from version control",
            ),
            Missing::Unclosed => (
                "frontmatter-unclosed",
                "the frontmatter that opens here is never closed",
                "put a line `---` after its last key",
            ),
        };
        self.report(Severity::Error, code, Some(0), message, hint);
    }

    /// Returns the content of the frontmatter, or reports why it is unreadable.
    fn fields(&mut self) -> Option<Fields> {
        let head = &self.text[self.frontmatter.clone()];
        match frontmatter::parse(head) {
            Ok(fields) => {
                self.look_for_escaped(head, &fields);
                Some(fields)
            }
            // It is reported with all of its lines.
            Err(Fault { code: CONFLICT, .. }) => None,
            Err(Fault { code, offset, message, hint }) => {
                self.report(Severity::Error, code, Some(self.frontmatter.start + offset), &message, hint);
                None
            }
        }
    }

    /// Reads the frontmatter of knowledge.
    fn knowledge(&mut self, fields: &Fields) {
        self.head.valid = true;
        let values = self.values(fields, &KNOWLEDGE);
        self.take(values.clone());
        let imported = values.get("details").and_then(|details| details.get(super::imported::IMPORTED));
        self.head.imported = imported.and_then(|imported| imported.get("id")?.as_str()).map(str::to_owned);
        self.head.tags = each_once(self.head.tags.iter().flat_map(|tag| split_tags(tag)), fold_tag);
        let mut texts = DESCRIPTIONS.iter().filter_map(|key| fields.get(*key)?.as_str().map(one_line));
        self.description = texts.find(|text| !text.is_empty());
        // Another program's name for links to the note.
        self.head.aliases.extend(fields.get("permalink").and_then(Value::as_str).map(str::to_owned));
        let is_replaced =
            REPLACED_BY.iter().any(|key| fields.get(*key).is_some_and(|by| !list_items(Some(by)).is_empty()));
        if is_replaced && unsettled(self.head.status.as_deref()).is_none() {
            self.head.status = Some("superseded".to_owned());
        }
        self.check_scope();
        if let Some(id) = self.head.task_id.clone().filter(|id| !is_task_id(id)) {
            self.bad_value("task_id", &format!("cannot be the id of a task: `{id}`"), TASK_ID);
        }
        self.look_for_misspelt(fields);
        self.look_for_lost_words();
    }

    /// Reads the frontmatter of an attempt.
    fn attempt(&mut self, fields: &Fields) {
        self.head.valid = true;
        let mut values = self.values(fields, &ATTEMPT);
        self.require(&values, &ATTEMPT);
        // Its own values, among them a mapping of files, are not those of the entry.
        let (names, of_entry) = (["task_title", "started_at"], ["title", "created_at"]);
        let shared = ["run_id", "task_id", "feature", "source"].into_iter().map(|name| (name, name));
        let shared = names.into_iter().zip(of_entry).chain(shared);
        self.take(shared.filter_map(|(name, of_entry)| Some((of_entry.to_owned(), values.remove(name)?))).collect());
        self.head.attempt = serde_json::from_value(Value::Object(values)).ok();
    }

    /// Takes these values over.
    fn take(&mut self, values: Map<String, Value>) {
        let read: Head = serde_json::from_value(Value::Object(values)).unwrap_or_default();
        let Head { kind, valid, problems, more_warnings, .. } = std::mem::take(&mut self.head);
        self.head = Head { kind, valid, problems, more_warnings, ..read };
    }
}

/// Returns [what the entry says](Entry::said) whose file at `path` holds `bytes`. Most files need not be parsed for it.
pub(crate) fn said(path: &str, bytes: &[u8]) -> String {
    let is_described = |head: &str| {
        // Whoever escapes a letter of a key writes a backslash.
        head.contains('\\') || DESCRIPTIONS.iter().any(|key| head.contains(key))
    };
    let text = std::str::from_utf8(bytes).ok();
    let split = text.and_then(|text| Some((text, frontmatter::split(text).ok()?)));
    match split {
        Some((text, split)) if !is_described(&text[split.head.clone()]) => text[split.body..].to_owned(),
        _ => read(path, bytes).said(),
    }
}

/// The keys under which other programs say in a sentence what a note is about.
pub(crate) const DESCRIPTIONS: [&str; 2] = ["description", "summary"];
/// The keys under which other programs say of a note what replaces it.
const REPLACED_BY: [&str; 3] = ["superseded_by", "superseded-by", "supersededBy"];
/// How the id of a task is written.
const TASK_ID: &str = "an id has 1 to 64 letters, digits, `.`, `_` and `-`; correct it, or delete the line";

impl EntryReader<'_> {
    fn check_scope(&mut self) {
        match &self.head.scope {
            Scope::Unknown(scope) => {
                let message = format!("is unknown: `{scope}`, so no task is shown the entry");
                // It is listed anyway, and may come from a newer version.
                self.head.scope = Scope::Unknown(Message::from(scope.as_str()).to_string());
                self.bad_value("scope", &message, "use `project`, `feature:NAME`, `section:ID` or `task:ID`");
            }
            Scope::Task(id) if !is_task_id(id) => {
                let message = format!("names `{id}`, which no task can have as its id, so no task is shown the entry");
                self.bad_value("scope", &message, TASK_ID);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::attempt::Account;
    use super::super::{AttemptHead, Outcome};
    use super::*;
    use crate::entry::Source;

    /// Checks that a knowledge file has exactly these problems: code, line, column.
    #[track_caller]
    fn check(text: &str, valid: bool, problems: &[(&str, u32, u32)]) -> Entry {
        let entry = read("knowledge/x.md", text.as_bytes());
        let found: Vec<_> = entry
            .head
            .problems
            .iter()
            .map(|problem| (problem.code.as_str(), problem.line.unwrap_or(0), problem.column.unwrap_or(0)))
            .collect();
        assert_eq!(found, problems, "{text:?}");
        assert_eq!(entry.head.valid, valid, "{text:?}");
        entry
    }

    fn with(head: &str) -> String {
        format!("---\ntitle: t\ntags: [a]\n{head}---\nb\n")
    }

    #[test]
    fn a_whole_entry_is_read() {
        let text = "---\ntitle: \"Cargo bench\"\ntags: [Cargo, nightly , cargo]\ncategory: pitfall\nfeature: perf\nscope: task:t-1\nimportance: 70\nsource: agent\ncreated: 2026-02-17\nmodified: \"2026-02-18T00:00:00Z\"\nsupersedes: [knowledge/a, b]\nfiles: src/a.rs, \"src/b,c.rs\", src/{d,e}.rs\nmine: 1\n---\nA [[c]] body\n";
        let head = check(text, true, &[]).head;
        assert_eq!(
            (head.title.as_str(), head.tags.as_slice()),
            ("Cargo bench", &["cargo".to_owned(), "nightly".to_owned()][..])
        );
        assert_eq!((head.scope, head.importance, head.source), (Scope::Task("t-1".into()), 70, Source::Agent));
        assert_eq!(head.created_at.unwrap().to_rfc3339(), "2026-02-17T00:00:00+00:00");
        assert_eq!(head.supersedes.iter().map(Id::as_str).collect::<Vec<_>>(), ["knowledge/a", "knowledge/b"]);
        assert_eq!(head.files, ["src/a.rs", "src/b,c.rs", "src/{d,e}.rs"]);
        assert_eq!((head.links[0].target.as_str(), head.links[0].line), ("c", 15));
        assert_eq!(head.body_words, 3);
    }

    #[test]
    fn odd_but_clear_files_have_no_problem() {
        for text in [
            "---\ntitle: 42\ntags: a, b\n---\n",
            "---\ntitle: t\ntags:\n  - a\n  - b\n---\n",
            "\u{feff}---\r\ntitle: t\r\ntags: [a]\r\n---\r\nb\r\n",
            "---\ntitle: \"a --- b\"\ntags: [a]\n---\nb\n---\nc\n",
            "---\ntitle: t\ntags: [a]\ndetails:\n  a: 1\n---\n",
        ] {
            check(text, true, &[]);
        }
    }

    #[test]
    fn problems_are_reported_at_their_place() {
        check("", false, &[("no-frontmatter", 1, 1)]);
        assert_eq!(check("text\n", true, &[]).head.title, "x");
        assert_eq!(check("Intro\n\n# A *heading*\n\n# B\n", true, &[]).head.title, "A heading");
        assert_eq!(check("---\ntags: [a]\n---\n## Two\n\n# One\n", true, &[]).head.title, "One");
        check("---\ntitle: t\n", false, &[("frontmatter-unclosed", 1, 1)]);
        check("---\ntitle: t: u\ntags: [a]\n---\n", false, &[("yaml", 2, 9)]);
        check("---\ntitle: t\ntitle: u\ntags: [a]\n---\n", false, &[("duplicate-key", 3, 1)]);
        check("---\ntitle: t\n\ttags: [a]\n---\n", false, &[("yaml", 3, 1)]);
        // An open quote reaches to the end of the frontmatter, where the parser stops.
        check("---\ntitle: \"t\ntags: [a]\n---\n", false, &[("yaml", 2, 8)]);
        check("---\ntitle: t\ntags: []\n---\n", true, &[]);
        check("---\n---\n", true, &[]);
        check("---\ntitle: &t u\n---\n", false, &[("yaml-anchor", 2, 8)]);
        check("---\ntitle: t\n=======\n>>>>>>> theirs\n---\n", false, &[("merge-conflict", 4, 1)]);
        check("---\ntitle: t\u{7}\n---\n", false, &[("control-character", 2, 9)]);
        check(&with("importance: 200\n"), true, &[("bad-value", 4, 13)]);
        check(&with("importance: high\n"), true, &[("bad-value", 4, 13)]);
        check(&with("scope: galaxy\n"), true, &[("bad-value", 4, 8)]);
        check(&with("source: robot\n"), true, &[("bad-value", 4, 9)]);
        check(&with("created_at: soon\n"), true, &[("bad-value", 4, 13)]);
        check(&with("feature: [a]\n"), true, &[("bad-value", 4, 10)]);
        check("---\ntitle: t\ntags: [a]\n---\nb\n\u{1b}[31m\n", true, &[("control-character", 6, 1)]);
        check("---\ntitle: t\ntags: [a]\n---\n<<<<<<< ours\nb\n", true, &[("merge-conflict", 5, 1)]);
        let hidden = ("invisible-character", 2, 9);
        check("---\ntitle: t\u{e0041}\u{e0042}\ntags: [a]\n---\n", true, &[hidden]);
        check("---\ntitle: \"t\\U000E0041\"\ntags: [a]\n---\n", true, &[("invisible-character", 2, 8)]);
        check("---\ntitle: t\ntags: [a]\ndetails: {x: [\"\\u200b\"]}\n---\n", true, &[("invisible-character", 4, 10)]);
        let twice = [("invisible-character", 5, 2), ("invisible-character", 6, 3)];
        check("---\ntitle: t\ntags: [a]\n---\na\u{200b}\u{200d}b\nhi\u{2060}\n", true, &twice);
        let large = format!("---\ntitle: \"{}\"\ntags: [a]\n---\nb\n", "x".repeat(17 * 1024));
        check(&large, false, &[("frontmatter-too-large", 2, 1)]);
    }

    #[test]
    fn the_first_warnings_are_kept_and_the_rest_counted() {
        let ids: Vec<String> = (0..2_000).map(|at| format!("{at}//")).collect();
        let text = with(&format!("supersedes: [{}]\n", ids.join(", ")));
        let head = read("knowledge/x.md", text.as_bytes()).head;
        assert_eq!((head.problems.len(), head.more_warnings), (20, 1_980));
        // Worse problems are reported all the same.
        let text = text.replace("title: t\n", "title: t\ntitle: u\n");
        let head = read("knowledge/x.md", text.as_bytes()).head;
        assert_eq!(head.problems[0].code, "duplicate-key");
        let links = read("knowledge/x.md", with("").replace("\nb\n", &"\n[[q]]".repeat(5_000)).as_bytes()).head;
        assert_eq!(links.links.len(), MAX_LINKS);
        let problem = &links.problems[0];
        assert_eq!((problem.code.as_str(), problem.line), ("too-many-links", None));
        assert!(problem.message.starts_with("the body has 5000 links"), "{problem}");
    }

    #[test]
    fn a_body_is_searchable_whatever_the_frontmatter_is() {
        assert_eq!(check("plain words\n", true, &[]).text, "plain words\n");
        assert_eq!(check("---\ntitle: *x\n---\nwords\n", false, &[("yaml-alias", 2, 8)]).text, "title: *x\n\nwords\n");
        let entry = read("knowledge/x.md", b"---\ntitle: t\ntags: [a]\n---\nwords \xff more\n");
        assert_eq!((entry.head.problems[0].code.as_str(), entry.head.problems[0].line), ("not-utf8", Some(5)));
        assert!(entry.text.contains("words") && entry.text.contains("more"));
    }

    #[test]
    fn an_attempt_is_read() {
        let text = "---\nrun_id: run-1a2b3c4d\niteration: 3\ntask_id: t-1\ntask_title: \"Add tables\"\noutcome: no_sigil\nstarted_at: \"2026-02-17T12:00:00Z\"\n---\n\n## Summary\n\n> x\n";
        let head = read("journal/run-1a2b3c4d/0003.md", text.as_bytes()).head;
        assert_eq!(head.problems, []);
        let expected = AttemptHead { account: Account::Printed, ..AttemptHead::new(3, Outcome::Blocked) };
        assert_eq!(*head.attempt.unwrap(), expected);
        assert_eq!((head.kind, head.title.as_str()), (Kind::Journal, "Add tables"));
        let head = read("journal/run-1/1.md", b"---\nrun_id: x\niteration: many\n---\n").head;
        let codes: Vec<_> = head.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, ["bad-value", "missing-iteration", "missing-outcome", "missing-started_at"]);
    }

    #[test]
    fn what_an_entry_says_is_the_same_whether_it_is_parsed_or_not() {
        for text in [
            "---\ntitle: T\n---\n\nBody.\n",
            "---\r\ntitle: T\r\n---\r\nBody.\r\n",
            "\u{feff}---\ntitle: T\n---\nBody.",
            "---\ntitle: T\ndescription: Said.\n---\nBody.",
            "---\ntitle: T\n\"descri\\x70tion\": Said.\n---\nBody.",
            "---\ntitle: T\nsummary: |\n  Said.\n---\nBody.",
            "---\n? description\n: Said.\n---\nBody.",
            "---\ntitle: A summary of it\n---\nBody.",
            "---\n\nText between lines.\n\n---\nBody.",
            "---\ntitle: [\n---\nBody.",
            "---\ntitle: never closed\n",
            "No frontmatter.\n",
            "",
        ] {
            assert_eq!(
                said("knowledge/x.md", text.as_bytes()),
                read("knowledge/x.md", text.as_bytes()).said(),
                "{text:?}"
            );
        }
        assert_eq!(said("knowledge/x.md", b"---\ndescription: Said.\n---\nBody."), "Said.\n\nBody.");
    }
}
