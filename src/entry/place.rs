//! Places in the text of an entry file, counted as editors do.

use super::{frontmatter, guard};

/// Returns the line and the column of an offset, both counted from 1, the column in characters.
pub(crate) fn place(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1);
    (count(before.matches('\n').count()), count(before[line_start..].chars().count()))
}

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
