//! Places in the text of an entry file, counted as editors do.

use super::{frontmatter, guard};
pub(crate) use crate::text::lines::place;

/// Returns the line and the column at which the value of a top-level key begins in the text of an entry file; `None` if
/// there is no such key, or the frontmatter cannot be scanned.
pub(crate) fn place_of_key(text: &str, key: &str) -> Option<(u32, u32)> {
    let head = frontmatter::split(text).ok()?.head;
    let start = head.start;
    let key = guard::scan(&text[head]).ok()?.into_iter().find(|known| known.name == key)?;
    Some(place(text, start + key.place()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "é\r\nab\n";
        let places = [0, 1, 2, 4, 5, 6, 7, 99].map(|offset| place(text, offset));
        assert_eq!(places, [(1, 1), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 1)]);
    }

    #[test]
    fn a_key_has_a_place() {
        let text = "\u{feff}---\r\ntitle: t\r\nsupersedes:\r\n  - a\r\nempty:\r\n---\r\nbody: x\r\n";
        assert_eq!(place_of_key(text, "title"), Some((2, 8)));
        assert_eq!(place_of_key(text, "supersedes"), Some((4, 3)));
        assert_eq!(place_of_key(text, "empty"), Some((5, 1)));
        assert_eq!(place_of_key(text, "body"), None);
        assert_eq!(place_of_key("---\ntitle: *x\n---\n", "title"), None);
        assert_eq!(place_of_key("title: t\n", "title"), None);
    }
}
