//! The lines of `.ralph/.gitattributes` with which earlier versions named a merge driver.

/// The file in `.ralph/` with the attributes of files.
pub(super) const ATTRIBUTES: &str = ".gitattributes";
/// The attribute, and the other lines of earlier templates, each with its line of today.
const DRIVER: &str = "merge=ralph-memory";
const OLD_LINES: [(&str, &str); 3] = [
    ("*.md -text diff=markdown", include_str!("../../knowledge-template/gitattributes")),
    ("# Entries are text, and their line ends are their own.", ""),
    ("# `ralph-memory check --register-merge-driver` lets git merge them by key and by block; until then as text.", ""),
];

/// Returns the file without the merge driver. One that does not name it stays as it is, and so does every other line.
pub(super) fn without_old_driver(file: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let names_driver = |line: &str| !line.starts_with('#') && line.split_whitespace().any(|word| word == DRIVER);
    if !lines.iter().any(|line| std::str::from_utf8(line).is_ok_and(names_driver)) {
        return file.to_owned();
    }
    let without = |line: &&[u8]| match std::str::from_utf8(line) {
        Ok(text) if names_driver(text) && text.split_whitespace().count() == 2 => Vec::new(),
        Ok(text) if names_driver(text) => text.replace(&format!(" {DRIVER}"), "").into_bytes(),
        Ok(text) => match OLD_LINES.iter().find(|(old, _)| *old == text.trim_end()) {
            Some((_, new)) => new.as_bytes().to_vec(),
            None => line.to_vec(),
        },
        // The file may have any encoding.
        Err(_) => line.to_vec(),
    };
    lines.iter().flat_map(without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_of_the_driver_go() {
        let check = |file: &[u8], expected: &[u8]| {
            assert_eq!(without_old_driver(file), expected, "{}", String::from_utf8_lossy(file));
        };
        let old = include_bytes!("../../fixtures/memory-0.1.0/.ralph/.gitattributes");
        let new = include_bytes!("../../knowledge-template/gitattributes");
        check(old, new);
        check(new, new);
        check(
            b"\xff own\n# mine\r\n*.png binary\n/x.md text merge=ralph-memory -filter\n/knowledge/**/*.md merge=ralph-memory",
            b"\xff own\n# mine\r\n*.png binary\n/x.md text -filter\n",
        );
        // Another driver, and a word in a comment.
        let other = b"*.md -text diff=markdown\n*.md merge=union\n# merge=ralph-memory\n";
        check(other, other);
    }
}
