//! The checksum in the files that are setup's as a whole. It distinguishes a file of another version from one
//! that somebody has edited, even in a clone, which has no record.

use xxhash_rust::xxh3::xxh3_64;

/// What stands before the checksum.
const MARK: &str = "ralph-memory setup writes this file. Checksum: ";
/// The length of a checksum.
const LENGTH: usize = 16;

/// Returns a text with the checksum of its rest in it; a text without a place for one stays as it is.
pub(super) fn sealed(text: &str) -> String {
    match split(text) {
        Some([before, _, after]) => format!("{before}{}{after}", checksum(before, after)),
        None => text.to_owned(),
    }
}

/// Returns whether setup has written a text, in this or another version, and nobody has edited it since. `own` is what
/// this version writes.
pub(super) fn is_of_setup(text: &str, own: &str) -> bool {
    let is_sealed = split(text).is_some_and(|[before, written, after]| written == checksum(before, after));
    // The manifest of a plugin has no place for a checksum.
    let unversioned = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.trim_start().starts_with("\"version\":")).map(str::to_owned).collect()
    };
    is_sealed || unversioned(text) == unversioned(own)
}

/// Returns what stands before the checksum, the checksum, and the rest.
fn split(text: &str) -> Option<[&str; 3]> {
    let start = text.find(MARK)? + MARK.len();
    let end = start + LENGTH;
    Some([&text[..start], text.get(start..end)?, text.get(end..)?])
}

/// Returns the checksum, which does not depend on line ends: git may have changed them.
fn checksum(before: &str, after: &str) -> String {
    format!("{:016x}", xxh3_64(format!("{before}{after}").replace("\r\n", "\n").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_an_edit() {
        let text = format!("# {MARK}0000000000000000\nA line.\n");
        let own = sealed(&text);
        assert_ne!(own, text);
        let other = sealed(&text.replace("A line", "Another line"));
        for (text, expected) in [
            (own.clone(), true),
            (own.replace('\n', "\r\n"), true),
            (other.clone(), true),
            (other.replace("Another", "My"), false),
            (own.replace(MARK, ""), false),
            (format!("{own}More.\n"), false),
            (format!("# {MARK}00"), false),
            (format!("# {MARK}0000000000000\u{e9}0000"), false),
        ] {
            assert_eq!(is_of_setup(&text, &own), expected, "{text}");
        }
        let manifest = "{\n  \"name\": \"ralph-memory\",\n  \"version\": \"0.1.0\"\n}\n";
        assert_eq!(sealed(manifest), manifest);
        assert!(is_of_setup(&manifest.replace("0.1.0", "0.2.0"), manifest));
        assert!(!is_of_setup(&manifest.replace("-memory", "-notes"), manifest));
    }
}
