//! Finds paths that a shell acts on: pasted without quotes, such a path runs or redirects something.

use crate::entry::path::display_path;
use crate::error::Problem;
use crate::text::acting_in_path;

/// Returns a warning if a shell acts on the path of a file, which is relative to `.ralph/`.
pub(crate) fn unsafe_name(path: &str) -> Option<Problem> {
    let what = match acting_in_path(path)? {
        '-' => "a name in its path begins with `-`, which commands take for an option".to_owned(),
        '`' => "its path has a backquote, on which a shell acts".to_owned(),
        character if character.is_ascii_graphic() => format!("its path has `{character}`, on which a shell acts"),
        _ => "its path has a line break or another control character, on which a shell acts".to_owned(),
    };
    let hint = "rename the file or the folder, and correct the links to it";
    Some(Problem::warning(display_path(path), "unsafe-name", what, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_shell_acts_on_are_reported() {
        let check = |path: &str, expected: Option<&str>| {
            let found = unsafe_name(path).map(|problem| problem.message.to_string());
            assert_eq!(found.as_deref(), expected, "{path}");
        };
        check("knowledge/it's (a) note, größe!.md", None);
        check("knowledge/a-b.md", None);
        check("knowledge/$(sh<x).md", Some("its path has `$`, on which a shell acts"));
        check("journal/run-1;x/0001.md", Some("its path has `;`, on which a shell acts"));
        check("knowledge/a`x`.md", Some("its path has a backquote, on which a shell acts"));
        check("knowledge/-rf.md", Some("a name in its path begins with `-`, which commands take for an option"));
        let control = Some("its path has a line break or another control character, on which a shell acts");
        check("archive/knowledge/a\nb.md", control);
        check("knowledge/a\u{2028}b.md", control);
    }
}
