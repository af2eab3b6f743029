//! Merges two versions of an entry with a common base: git asks for it if two people, or two loops, changed the same
//! file.
//!
//! Pure: texts in, a text out. Frontmatter is merged key by key, the body block by block. Only a body can have conflict
//! markers: frontmatter with markers would be unreadable, and the entry could not be found.

mod body;
mod head;

use super::path::version_of;
use super::{Id, Kind, MAX_FILE_BYTES, frontmatter};
use crate::text::fold;

/// The beginning of a comment that keeps the losing value; key and value follow.
pub(crate) const CONFLICT: &str = "# merge-conflict ";

/// The result of a merge.
///
/// ```
/// use ralph_memory::entry::{Merged, merge};
/// let ours = "---\ntitle: Retries\ntags: [http]\n---\n\nThree at most.\n";
/// let theirs = "---\ntitle: Retention\ntags: [s3]\n---\n\nThirty days.\n";
/// match merge("knowledge/re.md", "", ours, theirs, 7) {
///     Merged::Text { conflicts, .. } => panic!("two entries were blended, with {conflicts} conflicts"),
///     Merged::Apart => {} // `Memory::keep_apart` gives theirs a name of its own
///     Merged::Refused(reason) => panic!("{reason}"),
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// One text.
    Text {
        /// The merged file.
        text: String,
        /// The number of conflicts in its body, between markers.
        conflicts: usize,
    },
    /// They are two entries under one name: ours stays, and theirs needs a name of its own.
    Apart,
    /// They cannot be merged, for this reason. Ours stays, and a person has to look at theirs.
    Refused(String),
}

/// Merges `ours` and `theirs`, which both come from `base`, or from nothing if `base` is empty. `path` is the file's,
/// relative to `.ralph/`; `marker_size` is the length of conflict markers, git's default is 7.
///
/// If both changed a key, the value of the later version counts, and the other one is kept as a comment after
/// `# merge-conflict`. Tags, files and superseded ids are sets: an addition or removal of one side is an addition or removal
/// of the result. `updated_at` is the later one, and `created_at` the earlier.
///
/// Two entries with different titles and no base, or that both got another title, are not blended, unless an alias says
/// that they are one entry, which was renamed. Attempts and archived entries are not merged either, since they are written
/// once. If such a file has a base, git took it for an entry that was moved, and a change of the entry is about to get
/// lost: that is refused.
///
/// ```
/// use ralph_memory::entry::{Merged, merge};
/// let file = |tags: &str, body: &str| format!("---\ntitle: T\ntags: [{tags}]\n---\n\nA.\n{body}");
/// let merged = merge("knowledge/t.md", &file("a", ""), &file("a, b", "\nOurs.\n"), &file("a, c", "\nTheirs.\n"), 7);
/// let text = file("a, b, c", "\nOurs.\n\nTheirs.\n");
/// assert_eq!(merged, Merged::Text { text, conflicts: 0 });
/// ```
pub fn merge(path: &str, base: &str, ours: &str, theirs: &str, marker_size: usize) -> Merged {
    let whole = |text: &str| Merged::Text { text: text.to_owned(), conflicts: 0 };
    if ours == theirs || theirs == base {
        return whole(ours);
    }
    if ours == base {
        return whole(theirs);
    }
    if let Some(id) = written_once(path) {
        return if base.trim().is_empty() { Merged::Apart } else { Merged::Refused(misplaced(path, &id)) };
    }
    // Without a readable base, nothing counts as removed.
    let base_version = if base.trim().is_empty() { None } else { head::Version::read(base) };
    let refused = |whose: &str| Merged::Refused(format!("the frontmatter of {whose} version cannot be read"));
    let Some(ours_version) = head::Version::read(ours) else { return refused("our") };
    let Some(theirs_version) = head::Version::read(theirs) else { return refused("their") };
    let titles = [Some(&ours_version), Some(&theirs_version), base_version.as_ref()]
        .map(|version| version.map(|version| fold(&version.title())));
    let have_own_titles = titles[0] != titles[1] && titles[0] != titles[2] && titles[1] != titles[2];
    // An entry that was renamed keeps its old title as an alias.
    let was_called = |title: &String| ours_version.was_called(title) || theirs_version.was_called(title);
    if have_own_titles && !titles[2].as_ref().is_some_and(was_called) {
        return Merged::Apart;
    }
    let Some(merged_head) = head::merge(base_version.as_ref(), &ours_version, &theirs_version) else {
        return Merged::Refused("its frontmatter has a layout that cannot be merged safely".to_owned());
    };
    let newline = ours_version.newline;
    let base_body = base_version.as_ref().map_or("", |version| version.body);
    let (body, conflicts) = body::merge(base_body, ours_version.body, theirs_version.body, marker_size, newline);
    let text = [ours_version.before, &merged_head, ours_version.fence, &body].concat();
    let is_whole = frontmatter::split(&text).is_ok_and(|split| text[split.head.clone()] == merged_head);
    if text.len() > MAX_FILE_BYTES || !is_whole {
        return Merged::Refused("the merged entry would be over the size limit".to_owned());
    }
    Merged::Text { text, conflicts }
}

/// Returns the id of a file that is written once: an attempt, or anything in the archive.
fn written_once(path: &str) -> Option<Id> {
    let is_live = path.starts_with("knowledge/");
    Id::of_path(path).filter(|id| !is_live && (path.starts_with("archive/") || id.kind() == Kind::Journal))
}

/// Returns why two changes of a file that is written once cannot be merged.
fn misplaced(path: &str, id: &Id) -> String {
    if !path.starts_with("archive/") {
        return "both changed an attempt".to_owned();
    }
    match version_of(id.stem()) {
        Some((stem, ..)) => {
            let live = format!("{}{stem}", id.as_str().strip_suffix(id.stem()).unwrap_or_default());
            format!("git took this old version for an entry that was moved; one of the two changes belongs in `{live}`")
        }
        None => format!("both changed `{id}`, and it was archived; decide whether it is still needed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(head: &str, body: &str) -> String {
        format!("---\n{head}---\n\n{body}\n")
    }

    #[track_caller]
    fn heads(base: Option<&str>, ours: &str, theirs: &str, expected: &str) {
        let base = base.map(|base| file(base, "B.")).unwrap_or_default();
        let merged = merge("knowledge/x.md", &base, &file(ours, "B."), &file(theirs, "B."), 7);
        assert_eq!(merged, Merged::Text { text: file(expected, "B."), conflicts: 0 });
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
            "title: T\ntags: [a]\nc: 2\nz: {k: [1, \"x\"]}\n",
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
            7,
        );
        let expected =
            file("title: T\n# merge-conflict title: t\ntags: [a, b]\nk: 1\n# merge-conflict k: 2\n", "B.\n\nC.");
        assert_eq!(merged, Merged::Text { text: expected, conflicts: 0 });
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
        assert_eq!(merge("knowledge/x.md", "", &one, &two, 7), Merged::Apart);
        assert_eq!(merge("knowledge/x.md", &base, &one, &two, 7), Merged::Apart);
        // A new title of one side is a change like any other.
        let changed = file("title: Zero\ntags: [b]\n", "A.");
        let text = file("title: One\ntags: [b]\n", "A.");
        assert_eq!(merge("knowledge/x.md", &base, &one, &changed, 7), Merged::Text { text, conflicts: 0 });
        for path in ["journal/run-1/0001.md", "archive/knowledge/x.md", "archive/journal/run-1/0001.md"] {
            assert_eq!(merge(path, "", &one, &changed, 7), Merged::Apart, "{path}");
            assert_eq!(merge(path, &one, &one, &two, 7), Merged::Text { text: two.clone(), conflicts: 0 });
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
        let merged = merge("knowledge/zero.md", &base, &renamed("One", "A."), &renamed("Two", "A.\n\nB."), 7);
        assert_eq!(merged, Merged::Text { text: expected.clone(), conflicts: 0 });
        // The other side may have changed its title by hand.
        let by_hand = file("title: Two\ntags: [a]\n", "A.\n\nB.");
        let merged = merge("knowledge/zero.md", &base, &renamed("One", "A."), &by_hand, 7);
        assert_eq!(merged, Merged::Text { text: expected, conflicts: 0 });
        // Without a base, it says nothing.
        assert_eq!(merge("knowledge/zero.md", "", &renamed("One", "A."), &renamed("Two", "A."), 7), Merged::Apart);
    }

    #[test]
    fn an_entry_that_moved_into_the_archive_is_left_to_a_person() {
        let versions = ["Zero", "One", "Two"].map(|title| file(&format!("title: {title}\ntags: [a]\n"), "A."));
        let reason = |path: &str| match merge(path, &versions[0], &versions[1], &versions[2], 7) {
            Merged::Refused(reason) => reason,
            merged => panic!("{merged:?}"),
        };
        let version = reason("archive/knowledge/zero.20260101T000000Z.md");
        assert!(version.ends_with("one of the two changes belongs in `knowledge/zero`"), "{version}");
        assert!(reason("archive/knowledge/zero.md").contains("both changed `knowledge/zero`, and it was archived"));
        assert_eq!(reason("journal/run-1/0001.md"), "both changed an attempt");
    }

    #[test]
    fn unreadable_versions_are_left_to_a_person() {
        let (good, base) = (file("title: T\ntags: [a]\n", "A."), file("title: T\ntags: [z]\n", "A."));
        for bad in ["no frontmatter\n", "---\ntitle: *x\n---\n", "---\ntitle: T\ntitle: U\n---\n"] {
            assert!(matches!(merge("knowledge/x.md", &base, &good, bad, 7), Merged::Refused(_)), "{bad}");
            assert!(matches!(merge("knowledge/x.md", &base, bad, &good, 7), Merged::Refused(_)), "{bad}");
        }
        // An unreadable base is like no base.
        let merged = merge("knowledge/x.md", "broken", &good, &file("title: T\ntags: [b]\n", "A."), 7);
        assert_eq!(merged, Merged::Text { text: file("title: T\ntags: [a, b]\n", "A."), conflicts: 0 });
        let large = file("title: T\ntags: [a]\n", &"x".repeat(MAX_FILE_BYTES - 100));
        assert!(matches!(
            merge("knowledge/x.md", "", &large, &file("title: T\ntags: [a]\n", &"y ".repeat(100)), 7),
            Merged::Refused(_)
        ));
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_are_ours() {
        let ours = "\u{feff}---\r\ntitle: T\r\ntags: [a]\r\n---\r\n\r\nA.\r\n";
        let theirs = "---\ntitle: T\ntags: [a, b]\nfeature: x\n---\n\nA.\n\nB.\n";
        let expected = "\u{feff}---\r\ntitle: T\r\ntags: [a, b]\r\nfeature: x\r\n---\r\n\r\nA.\r\n\r\nB.\r\n";
        let merged = merge("knowledge/x.md", "---\ntitle: T\ntags: [a]\n---\n\nA.\n", ours, theirs, 7);
        assert_eq!(merged, Merged::Text { text: expected.to_owned(), conflicts: 0 });
    }
}
