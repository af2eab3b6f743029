//! Merges two versions of an entry with a common base: git asks for it if two people, or two loops, changed the same
//! file.
//!
//! Pure: bytes in, bytes out. Frontmatter is merged key by key, the body block by block. Only a body can have conflict
//! markers: frontmatter with markers would be unreadable, and the entry could not be found. Invariant: the result has
//! everything that one side wrote and the other did not remove. Git adds only the result, so anything else that was
//! written, such as a file beside it, would not be committed.

mod body;
mod head;

use std::borrow::Cow;

use super::frontmatter::Missing;
use super::{Id, MAX_FILE_BYTES, frontmatter, written};
use crate::text::fold;

/// The beginning of a comment that keeps the losing value; key and value follow.
pub(crate) const CONFLICT: &str = "# merge-conflict ";

/// The result of a merge.
///
/// ```
/// use ralph_memory::entry::{Merged, merge};
/// let ours = "---\ntitle: Retries\ntags: [http]\n---\n\nThree at most.\n";
/// let theirs = "---\ntitle: Retention\ntags: [s3]\n---\n\nThirty days.\n";
/// match merge("knowledge/re.md", b"", ours.as_bytes(), theirs.as_bytes(), 7) {
///     Merged::One { conflicts, .. } => panic!("two entries were blended, with {conflicts} conflicts"),
///     Merged::Both { bytes, reason } => {
///         assert_eq!(reason, "these are two entries, with titles of their own");
///         assert_eq!(String::from_utf8(bytes)?, format!("{ours}\n<<<<<<< ours\n=======\n{theirs}>>>>>>> theirs\n"));
///     }
/// }
/// # Ok::<(), std::string::FromUtf8Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// One file.
    One {
        /// The merged file.
        bytes: Vec<u8>,
        /// The number of conflicts in its body, between markers.
        conflicts: usize,
    },
    /// They cannot be one file, and a person has to decide.
    Both {
        /// Ours, and the whole of theirs between conflict markers at its end.
        bytes: Vec<u8>,
        /// Why they cannot be one file.
        reason: String,
    },
}

/// Merges `ours` and `theirs`, which both come from `base`, or from nothing if `base` is empty. `path` is the file's,
/// relative to `.ralph/`; `marker_size` is the length of conflict markers, git's default is 7.
///
/// If both changed a key, the value of the later version counts, and the other one is kept as a comment after
/// `# merge-conflict`. Tags, files and superseded ids are sets: an addition or removal of one side is an addition or removal
/// of the result. `updated_at` is the later one, and `created_at` the earlier; `task_id` and `run_id` are those of the earlier
/// version. What one side's person wrote and the other side's agent is the person's.
///
/// Two entries with different titles and no base, or that both got another title, are not blended, unless an alias says
/// that they are one entry, which was renamed. Attempts and archived entries are not merged either, since they are written
/// once; if such a file has a base, git took it for an entry that was moved. Nor are files of which one cannot be read.
/// Then ours stays, with the whole of theirs between conflict markers at its end.
///
/// ```
/// use ralph_memory::entry::{Merged, merge};
/// let file = |tags: &str, body: &str| format!("---\ntitle: T\ntags: [{tags}]\n---\n\nA.\n{body}").into_bytes();
/// let merged = merge("knowledge/t.md", &file("a", ""), &file("a, b", "\nOurs.\n"), &file("a, c", "\nTheirs.\n"), 7);
/// assert_eq!(merged, Merged::One { bytes: file("a, b, c", "\nOurs.\n\nTheirs.\n"), conflicts: 0 });
/// ```
pub fn merge(path: &str, base: &[u8], ours: &[u8], theirs: &[u8], marker_size: usize) -> Merged {
    let whole = |bytes: &[u8]| Merged::One { bytes: bytes.to_vec(), conflicts: 0 };
    if ours == theirs || theirs == base {
        return whole(ours);
    }
    if ours == base {
        return whole(theirs);
    }
    blended(path, base, ours, theirs, marker_size)
        .unwrap_or_else(|reason| Merged::Both { bytes: beside(ours, theirs, marker_size), reason })
}

/// Returns ours, and the whole of theirs between conflict markers at its end.
fn beside(ours: &[u8], theirs: &[u8], marker_size: usize) -> Vec<u8> {
    let is_crlf = ours.split_inclusive(|byte| *byte == b'\n').next().is_some_and(|line| line.ends_with(b"\r\n"));
    let newline = if is_crlf { "\r\n" } else { "\n" };
    let end = |bytes: &[u8]| if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { newline };
    let [open, middle, close] = ["<", "=", ">"].map(|mark| mark.repeat(marker_size));
    let open = format!("{}{newline}{open} ours{newline}{middle}{newline}", end(ours));
    let close = format!("{}{close} theirs{newline}", end(theirs));
    [ours, open.as_bytes(), theirs, close.as_bytes()].concat()
}

/// Merges two versions that both differ from the base, or returns why they cannot be one file.
fn blended(path: &str, base: &[u8], ours: &[u8], theirs: &[u8], marker_size: usize) -> Result<Merged, String> {
    if [base, ours, theirs].iter().any(|bytes| bytes.len() > MAX_FILE_BYTES) {
        return Err("a version of it is over the size limit".to_owned());
    }
    let has_base = !base.trim_ascii().is_empty();
    if is_written_once(path) {
        return Err(if has_base { misplaced(path) } else { "these are two files of one name".to_owned() });
    }
    // Without a readable base, nothing counts as removed.
    let texts = [base, ours, theirs].map(|bytes| std::str::from_utf8(bytes).ok());
    // A note that never had frontmatter has an empty one here.
    let is_note = has_base && texts[0].is_some_and(|text| frontmatter::split(text) == Err(Missing::Absent));
    let texts =
        texts.map(|text| text.map(|text| if is_note { frontmatter::framed(text) } else { Cow::Borrowed(text) }));
    let [base_text, ours_text, theirs_text] = texts.each_ref().map(Option::as_deref);
    let base_version = base_text.filter(|_| has_base).and_then(head::Version::read);
    let version = |text: Option<_>, whose: &str| {
        let read = text.and_then(head::Version::read);
        read.ok_or_else(|| format!("the frontmatter of {whose} version cannot be read"))
    };
    let (ours_version, theirs_version) = (version(ours_text, "our")?, version(theirs_text, "their")?);
    let titles = [Some(&ours_version), Some(&theirs_version), base_version.as_ref()]
        .map(|version| version.map(|version| fold(&version.title())));
    let have_own_titles = titles[0] != titles[1] && titles[0] != titles[2] && titles[1] != titles[2];
    // An entry that was renamed keeps its old title as an alias.
    let was_called = |title: &String| ours_version.was_called(title) || theirs_version.was_called(title);
    if have_own_titles && !titles[2].as_ref().is_some_and(was_called) {
        return Err("these are two entries, with titles of their own".to_owned());
    }
    let merged_head = head::merge(base_version.as_ref(), &ours_version, &theirs_version)
        .ok_or("its frontmatter has a layout that cannot be merged safely")?;
    let newline = ours_version.newline;
    let base_body = base_version.as_ref().map_or("", |version| version.body);
    let (body, conflicts) = body::merge(base_body, ours_version.body, theirs_version.body, marker_size, newline);
    let text = assembled(&ours_version, &merged_head, &body, is_note)
        .filter(|text| text.len() <= MAX_FILE_BYTES)
        .ok_or("the merged entry would be over the size limit")?;
    let text = written::merged([ours, theirs], text);
    Ok(Merged::One { bytes: text.into_bytes(), conflicts })
}

/// Returns the merged file, a note without frontmatter if it got none; `None` if it would be read in another way.
fn assembled(ours: &head::Version<'_>, head: &str, body: &str, is_note: bool) -> Option<String> {
    if is_note && head.is_empty() {
        let mark = if ours.before.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        return Some([mark, body].concat()).filter(|text| frontmatter::split(text) == Err(Missing::Absent));
    }
    let text = [ours.before, head, ours.fence, body].concat();
    let is_whole = frontmatter::split(&text).is_ok_and(|split| text[split.head] == *head);
    is_whole.then_some(text)
}

/// Returns whether a file is written once: an attempt, or anything in the archive.
fn is_written_once(path: &str) -> bool {
    Id::of_path(path).is_some() && !path.starts_with("knowledge/")
}

/// Returns why two changes of a file that is written once cannot be merged.
fn misplaced(path: &str) -> String {
    match Id::of_path(path).filter(|_| path.starts_with("archive/")) {
        Some(id) => format!("both changed `{id}`, and it was archived; decide whether it is still needed"),
        None => "both changed an attempt".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(head: &str, body: &str) -> String {
        format!("---\n{head}---\n\n{body}\n")
    }

    /// Merges two versions into one, and returns it.
    #[track_caller]
    fn merge(path: &str, base: &str, ours: &str, theirs: &str) -> String {
        match super::merge(path, base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), 7) {
            Merged::One { bytes, conflicts: 0 } => String::from_utf8(bytes).unwrap(),
            merged @ (Merged::One { .. } | Merged::Both { .. }) => panic!("{merged:?}"),
        }
    }

    /// Merges two versions that cannot be one, and returns why.
    #[track_caller]
    fn both(path: &str, base: &str, ours: &str, theirs: &str) -> String {
        match super::merge(path, base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), 7) {
            Merged::Both { bytes, reason } => {
                let expected = format!("{ours}\n<<<<<<< ours\n=======\n{theirs}>>>>>>> theirs\n");
                assert_eq!(String::from_utf8(bytes).unwrap(), expected);
                reason
            }
            merged @ Merged::One { .. } => panic!("{merged:?}"),
        }
    }

    #[track_caller]
    fn heads(base: Option<&str>, ours: &str, theirs: &str, expected: &str) {
        let base = base.map(|base| file(base, "B.")).unwrap_or_default();
        let merged = merge("knowledge/x.md", &base, &file(ours, "B."), &file(theirs, "B."));
        assert_eq!(merged, file(expected, "B."));
    }

    const BASE: &str = "title: T\ntags: [a, b] # ours\ncategory: pitfall\nupdated_at: \"2026-01-01\"\n";

    #[test]
    fn keys_are_merged_one_by_one() {
        heads(
            Some(BASE),
            "title: T\ntags: [a, b, c] # ours\ncategory: pitfall\nupdated_at: \"2026-01-02\"\n",
            "title: T\ntags: [b, d]\ncategory: other\nfeature: x\nupdated_at: \"2026-01-03\"\n",
            "title: T\ntags: [b, c, d] # ours\ncategory: other\nupdated_at: \"2026-01-03\"\nfeature: x\n",
        );
        // A key that one side removed, one that both removed, and one that was changed meanwhile.
        heads(
            Some("title: T\ntags: [a]\na: 1\nb: 1\nc: 1\n"),
            "title: T\ntags: [a]\na: 1\nc: 2\n",
            "title: T\ntags: [a]\n# why\nz: {k: [1, \"x\"]}\n",
            "title: T\ntags: [a]\nc: 2\n# why\nz: {k: [1, \"x\"]}\n",
        );
        // New comments of both sides stay.
        heads(
            Some("# old\ntitle: T # t\ntags: [a]\nk: 1 # k\n# last\n"),
            "# old\ntitle: T # t\ntags: [a] # ours\nk: 2 # new\n# last\n",
            "# theirs\ntitle: T # more\n# merge-conflict title: U\ntags: [b] # theirs\nk: 1 # other\n# end\n",
            "# old\n# theirs\ntitle: T # t\n# more\n# merge-conflict title: U\ntags: [b] # ours\n# theirs\nk: 2 # new\n# other\n# last\n# end\n",
        );
        // Comments and quoting stay unchanged if possible.
        heads(
            Some("# one\ntitle: 'T'\ntags:\n  - a\n"),
            "# one\ntitle: 'T'\ntags:\n  - a\n  - b # mine\n# last\n",
            "# one\ntitle: T\ntags: [a, c]\n",
            "# one\ntitle: 'T'\ntags:\n  - a\n  - b # mine\n  - c\n# last\n",
        );
    }

    #[test]
    fn comments_within_values_stay() {
        let base = Some("title: T\ntags:\n  - a # one\n  # old\n  - b\nz:\n  k: 1\n");
        // In a list that their side makes longer, and in an equal value.
        heads(
            base,
            "title: T\ntags:\n  - a # one\n  # old\n  - b\nz:\n  k: 1\ny: 1\n",
            "title: T\ntags:\n  - a # one\n  # new\n  - \"c\" # three\n  - b\nz:\n  # why\n  k: 1\n",
            "title: T\ntags:\n  - a # one\n  # old\n  - b\n  - c\nz:\n  k: 1\ny: 1\n# new\n# three\n# why\n",
        );
        // In a list that is written again, and in a value that loses. What a side took out stays out.
        heads(
            base,
            "title: T\ntags:\n  - a # mine\n  # old\n  - b\nz:\n  k: 2 # ours\n",
            "title: T\ntags:\n  # theirs\n  - b\nz:\n  # why\n  k: 3\n",
            "title: T\ntags: [b]\nz:\n  k: 2 # ours\n# merge-conflict z: {\"k\":3}\n# mine\n# theirs\n# why\n",
        );
    }

    #[test]
    fn the_losing_value_is_kept_as_a_comment() {
        heads(
            Some(BASE),
            "title: T\ntags: [a, b] # ours\ncategory: pitfall\nimportance: 10\nupdated_at: \"2026-01-02\"\n",
            "title: T\ntags: [a, b]\ncategory: pitfall\nimportance: 90\nupdated_at: \"2026-01-03\"\n",
            "title: T\ntags: [a, b] # ours\ncategory: pitfall\nimportance: 90\n# merge-conflict importance: 10\nupdated_at: \"2026-01-03\"\n",
        );
        heads(
            Some(BASE),
            "title: T\ntags: [a, b]\ncategory: other\ndetails: {a: 1}\nupdated_at: \"2026-01-05\"\n",
            "title: T\ntags: [a, b]\ncategory: testing_strategy\ndetails:\n  b:\n    - 2\nupdated_at: \"2026-01-03\"\n",
            "title: T\ntags: [a, b]\ncategory: other\n# merge-conflict category: testing_strategy\ndetails: {a: 1}\n\
             # merge-conflict details: {\"b\":[2]}\nupdated_at: \"2026-01-05\"\n",
        );
        let merged = merge(
            "knowledge/x.md",
            "",
            &file("title: T\ntags: [a]\nk: 1\n", "B."),
            &file("title: t\ntags: [b]\nk: 2\n", "C."),
        );
        let expected =
            file("title: T\n# merge-conflict title: t\ntags: [a, b]\nk: 1\n# merge-conflict k: 2\n", "B.\n\nC.");
        assert_eq!(merged, expected);
    }

    #[test]
    fn times_are_the_latest_change_and_the_first_creation() {
        heads(
            None,
            "title: T\ntags: [a]\ncreated_at: \"2026-01-02\"\nupdated_at: \"2026-02-01\"\n",
            "title: T\ntags: [a]\ncreated_at: \"2026-01-01\"\nupdated_at: \"2026-02-01T01:00:00Z\"\n",
            "title: T\ntags: [a]\ncreated_at: \"2026-01-01\"\nupdated_at: \"2026-02-01T01:00:00Z\"\n",
        );
        heads(
            None,
            "title: T\ntags: [a]\nmodified: 2026-02-03\n",
            "title: T\ntags: [a]\nmodified: 2026-02-01\nupdated_at: 2026-01-01\n",
            "title: T\ntags: [a]\nmodified: 2026-02-03\nupdated_at: 2026-01-01\n",
        );
    }

    #[test]
    fn two_entries_under_one_name_are_not_blended() {
        let one = file("title: One\ntags: [a]\n", "A.");
        let two = file("title: Two\ntags: [a]\n", "A.");
        let base = file("title: Zero\ntags: [a]\n", "A.");
        for base in ["", &base] {
            assert_eq!(both("knowledge/x.md", base, &one, &two), "these are two entries, with titles of their own");
        }
        // A new title of one side is a change like any other.
        let changed = file("title: Zero\ntags: [b]\n", "A.");
        let text = file("title: One\ntags: [b]\n", "A.");
        assert_eq!(merge("knowledge/x.md", &base, &one, &changed), text);
        for path in ["journal/run-1/0001.md", "archive/knowledge/x.md", "archive/journal/run-1/0001.md"] {
            assert_eq!(both(path, "", &one, &changed), "these are two files of one name");
            assert_eq!(merge(path, &one, &one, &two), two);
        }
    }

    #[test]
    fn a_renamed_entry_is_one_and_loses_no_name() {
        let base = file("title: Zero\ntags: [a]\n", "A.");
        let renamed = |title: &str, body: &str| {
            file(&format!("title: {title}\ntags: [a]\naliases: [knowledge/zero, Zero]\n"), body)
        };
        let expected = file(
            "title: One\n# merge-conflict title: Two\ntags: [a]\naliases: [knowledge/zero, Zero, Two]\n",
            "A.\n\nB.",
        );
        let merged = merge("knowledge/zero.md", &base, &renamed("One", "A."), &renamed("Two", "A.\n\nB."));
        assert_eq!(merged, expected.clone());
        // The other side may have changed its title by hand.
        let by_hand = file("title: Two\ntags: [a]\n", "A.\n\nB.");
        let merged = merge("knowledge/zero.md", &base, &renamed("One", "A."), &by_hand);
        assert_eq!(merged, expected);
        // Without a base, it says nothing.
        both("knowledge/zero.md", "", &renamed("One", "A."), &renamed("Two", "A."));
    }

    #[test]
    fn an_entry_that_moved_into_the_archive_is_left_to_a_person() {
        let versions = ["Zero", "One", "Two"].map(|title| file(&format!("title: {title}\ntags: [a]\n"), "A."));
        let reason = |path: &str| both(path, &versions[0], &versions[1], &versions[2]);
        assert!(reason("archive/knowledge/zero.md").contains("both changed `knowledge/zero`, and it was archived"));
        assert_eq!(reason("journal/run-1/0001.md"), "both changed an attempt");
    }

    #[test]
    fn unreadable_versions_are_left_to_a_person() {
        let (good, base) = (file("title: T\ntags: [a]\n", "A."), file("title: T\ntags: [z]\n", "A."));
        for bad in ["no frontmatter\n", "---\ntitle: *x\n---\n", "---\ntitle: T\ntitle: U\n---\n"] {
            let reason = both("knowledge/x.md", &base, &good, bad);
            assert_eq!(reason, "the frontmatter of their version cannot be read", "{bad}");
            let reason = both("knowledge/x.md", &base, bad, &good);
            assert_eq!(reason, "the frontmatter of our version cannot be read", "{bad}");
        }
        // An unreadable base is like no base.
        let merged = merge("knowledge/x.md", "broken", &good, &file("title: T\ntags: [b]\n", "A."));
        assert_eq!(merged, file("title: T\ntags: [a, b]\n", "A."));
        let large = file("title: T\ntags: [a]\n", &"x".repeat(MAX_FILE_BYTES - 100));
        let reason = both("knowledge/x.md", "", &large, &file("title: T\ntags: [a]\n", &"y ".repeat(100)));
        assert_eq!(reason, "the merged entry would be over the size limit");
    }

    #[test]
    fn the_other_version_is_kept_byte_by_byte() {
        let expected: &[u8] = b"\xff\n\n<<<<<<<<< ours\n=========\n\0\n>>>>>>>>> theirs\n";
        assert_eq!(beside(b"\xff", b"\0", 9), expected);
        let expected: &[u8] = b"a\r\n\r\n<<<<<<<<< ours\r\n=========\r\nb\n>>>>>>>>> theirs\r\n";
        assert_eq!(beside(b"a\r\n", b"b\n", 9), expected);
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_are_ours() {
        let ours = "\u{feff}---\r\ntitle: T\r\ntags: [a]\r\n---\r\n\r\nA.\r\n";
        let theirs = "---\ntitle: T\ntags: [a, b]\nfeature: x\n---\n\nA.\n\nB.\n";
        let expected = "\u{feff}---\r\ntitle: T\r\ntags: [a, b]\r\nfeature: x\r\n---\r\n\r\nA.\r\n\r\nB.\r\n";
        let merged = merge("knowledge/x.md", "---\ntitle: T\ntags: [a]\n---\n\nA.\n", ours, theirs);
        assert_eq!(merged, expected.to_owned());
    }
}
