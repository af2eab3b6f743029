//! Names for new files.
//!
//! A title is text from an agent or a person; only this module turns it into a path. Everything here is pure.

use chrono::{DateTime, Utc};

use crate::text::{floor, nfc};

/// The longest name that file systems allow, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 255;
/// The longest stem, in bytes, with the number that distinguishes it from others.
const MAX_STEM_BYTES: usize = 80;
/// The stem of a title without letters and digits.
const NAMELESS: &str = "entry";

/// Returns the stem, a file's name without `.md`, for an entry of this title.
///
/// It consists of `a` to `z`, `0` to `9` and single `-` between them, has 1 to 80 bytes, and is not a name that Windows
/// reserves. Other scripts are transliterated. When `taken` says that the name is in use, `-2`, `-3` and so on is
/// appended.
pub fn stem_for_title(title: &str, taken: &dyn Fn(&str) -> bool) -> String {
    let mut base = slug::slugify(nfc(title));
    if base.is_empty() {
        NAMELESS.clone_into(&mut base);
    } else if is_reserved_name(&base) {
        base = format!("{base}-{NAMELESS}");
    }
    let first = cut_at_word(&base, MAX_STEM_BYTES);
    let numbered = (2_u64..).map(|number| {
        let suffix = format!("-{number}");
        format!("{}{suffix}", cut_at_word(&base, MAX_STEM_BYTES - suffix.len()))
    });
    first_free([first.to_owned()].into_iter().chain(numbered), taken)
}

/// Returns the first name that is not taken, from an endless series.
fn first_free(mut names: impl Iterator<Item = String>, taken: &dyn Fn(&str) -> bool) -> String {
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// Cuts a slug between two words, or inside a word if the last boundary is in the first half. A slug is ASCII, so no
/// cut can be inside a character.
fn cut_at_word(slug: &str, limit: usize) -> &str {
    if slug.len() <= limit {
        return slug;
    }
    let cut = match slug[..=limit].rfind('-') {
        Some(at) if at > limit / 2 => at,
        _ => limit,
    };
    slug[..cut].trim_end_matches('-')
}

/// Returns whether Windows reserves the name: it stands for a device there, whatever its extension, or ends in a dot,
/// which Windows drops.
pub(crate) fn is_reserved_name(name: &str) -> bool {
    let device = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_port = |prefix: &str| {
        device.strip_prefix(prefix).is_some_and(|number| number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
    };
    matches!(device.as_str(), "con" | "prn" | "aux" | "nul") || is_port("com") || is_port("lpt") || name.ends_with('.')
}

/// Returns the folder in which the archive keeps versions of the file at `path`, and that file's
/// own name.
pub(super) fn archive_folder(path: &str) -> (String, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match folder {
        "" => "archive".to_owned(),
        folder if folder == "archive" || folder.starts_with("archive/") => folder.to_owned(),
        folder => format!("archive/{folder}"),
    };
    (folder, name)
}

/// Returns the name in the archive of a version that another program saved meanwhile, with the time.
pub(super) fn conflict_name(name: &str, at: DateTime<Utc>, number: u32) -> String {
    stamped_name(name, "conflict-", at, number)
}

/// Returns a file's name with a time: `stem.20260217T120000Z.md`, with the label before the time, and with `-2` and so on
/// before the extension when `number` is above 1. A stem that leaves no room for this is cut.
fn stamped_name(name: &str, label: &str, at: DateTime<Utc>, number: u32) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => name.split_at(stem.len()),
        _ => (name, ""),
    };
    let time = at.format("%Y%m%dT%H%M%SZ");
    let number = if number > 1 { format!("-{number}") } else { String::new() };
    let end = format!(".{label}{time}{number}{extension}");
    let room = MAX_NAME_BYTES.saturating_sub(end.len());
    format!("{}{end}", &stem[..floor(stem, room)])
}

/// Returns whether a file's name is that of a conflict version.
pub(super) fn is_conflict(name: &str) -> bool {
    name.rsplit_once(".conflict-").is_some_and(|(stem, time)| {
        let time = time.as_bytes();
        !stem.is_empty() && time.len() >= 16 && time[..8].iter().all(u8::is_ascii_digit) && time[8] == b'T'
    })
}

/// Returns the path in the archive of the file at `path`: the same path there; if that is taken, with the time in its
/// name. Both are relative to `.ralph/`.
pub(crate) fn archived_path(path: &str, at: DateTime<Utc>, taken: &dyn Fn(&str) -> bool) -> String {
    let (folder, name) = archive_folder(path);
    let stamped = (1..).map(|number| format!("{folder}/{}", stamped_name(name, "", at, number)));
    first_free([format!("{folder}/{name}")].into_iter().chain(stamped), taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::path::version_of;

    #[track_caller]
    fn check(title: &str, expected: &str) {
        assert_eq!(stem_for_title(title, &|_| false), expected, "{title:?}");
    }

    #[test]
    fn stem_of_a_title() {
        check("Cargo bench requires nightly", "cargo-bench-requires-nightly");
        check("", "entry");
        check("...", "entry");
        check("-", "entry");
        check("\u{202e}", "entry");
        check("../../etc/passwd", "etc-passwd");
        check("/etc/passwd\0.md", "etc-passwd-md");
        check("😀", "grinning");
        check("日本語", "ri-ben-yu");
        check("Æúű\tcool?", "aeuu-cool");
        check("CON", "con-entry");
        check("nul", "nul-entry");
        check("com7", "com7-entry");
        check("LPT¹", "lpt1-entry");
        check("com77", "com77");
        check("console", "console");
        check("com", "com");
    }

    #[test]
    fn stem_is_cut_between_words_or_in_a_long_one() {
        check(&"a".repeat(300), &"a".repeat(80));
        // 80 bytes exactly, and one more.
        check(&format!("{} bbbb", "a".repeat(75)), &format!("{}-bbbb", "a".repeat(75)));
        check(&format!("{} bbbbb", "a".repeat(75)), &"a".repeat(75));
        // Cutting at a word boundary in the first half would discard most of the title.
        check(&format!("aa {}", "b".repeat(300)), &format!("aa-{}", "b".repeat(77)));
        // The limit falls on the hyphen itself.
        let exact = format!("{}-{}", "a".repeat(60), "b".repeat(19));
        check(&format!("{exact} c"), &exact);
        // Two bytes each in the title; what counts is what they become.
        check(&"é".repeat(80), &"e".repeat(80));
        check(&"é".repeat(81), &"e".repeat(80));
        let stem = stem_for_title(&"語".repeat(100), &|_| false);
        assert!(stem.len() <= 80 && stem.ends_with("yu"), "{stem}");
    }

    #[test]
    fn taken_stems_are_numbered() {
        let taken: Vec<String> = (2..=12).map(|number| format!("foo-{number}")).collect();
        let stem = stem_for_title("Foo", &|stem| stem == "foo" || taken.iter().any(|other| other == stem));
        assert_eq!(stem, "foo-13");
        let long = "a".repeat(80);
        let stem = stem_for_title(&long, &|stem| stem == long || stem.ends_with("a-2"));
        assert_eq!(stem, format!("{}-3", "a".repeat(78)));
        assert_eq!(stem_for_title("CON", &|stem| stem == "con-entry"), "con-entry-2");
        assert_eq!(stem_for_title("", &|stem| stem == "entry"), "entry-2");
    }

    #[test]
    fn archive_folder_of_a_path() {
        assert_eq!(archive_folder("knowledge/a.md"), ("archive/knowledge".to_owned(), "a.md"));
        assert_eq!(archive_folder("archive/knowledge/x/a.md"), ("archive/knowledge/x".to_owned(), "a.md"));
        assert_eq!(archive_folder("archived/a.md"), ("archive/archived".to_owned(), "a.md"));
        assert_eq!(archive_folder("config.toml"), ("archive".to_owned(), "config.toml"));
    }

    #[test]
    fn stamped_names() {
        let at = DateTime::from_timestamp(1_771_329_600, 0).unwrap();
        assert_eq!(stamped_name("a.md", "", at, 1), "a.20260217T120000Z.md");
        assert_eq!(stamped_name("a.md", "", at, 2), "a.20260217T120000Z-2.md");
        assert_eq!(conflict_name("a.b.md", at, 1), "a.b.conflict-20260217T120000Z.md");
        assert_eq!(conflict_name("Makefile", at, 3), "Makefile.conflict-20260217T120000Z-3");
        assert_eq!(stamped_name(".hidden", "", at, 1), ".hidden.20260217T120000Z");
        let long = conflict_name(&format!("{}.md", "é".repeat(126)), at, 12);
        assert!(long.len() <= 255 && long.len() >= 254, "{}", long.len());
        assert!(long.ends_with("é.conflict-20260217T120000Z-12.md"), "{long}");
    }

    #[test]
    fn titles_become_stems() {
        assert_eq!(stem_for_title("Cargo bench requires nightly!", &|_| false), "cargo-bench-requires-nightly");
        assert_eq!(stem_for_title("../../etc/passwd", &|stem| stem == "etc-passwd"), "etc-passwd-2");
    }

    #[test]
    fn device_names_are_reserved() {
        assert!(is_reserved_name("NUL") && is_reserved_name("com1.md") && is_reserved_name("run."));
        assert!(!is_reserved_name("null") && !is_reserved_name("run.nul"));
    }

    #[test]
    fn an_archived_path_is_free() {
        let at = "2026-02-17T12:00:00Z".parse().unwrap();
        assert_eq!(archived_path("knowledge/a.md", at, &|_| false), "archive/knowledge/a.md");
        let taken = |path: &str| path == "archive/knowledge/a.md";
        assert_eq!(archived_path("knowledge/a.md", at, &taken), "archive/knowledge/a.20260217T120000Z.md");
    }

    #[test]
    fn versions_are_recognised() {
        assert_eq!(version_of("wal-mode.20260217T120000Z-12"), Some(("wal-mode", "20260217T120000Z", 12)));
        assert_eq!(version_of("wal-mode.conflict-20260217T120000Z"), Some(("wal-mode", "20260217T120000Z", 1)));
        assert_eq!(version_of("notes-on-1.2"), None);
    }
}
