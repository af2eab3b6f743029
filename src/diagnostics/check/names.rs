//! Finds paths that a shell acts on, since such a path runs or redirects something when it is pasted without quotes, and
//! those that a clone on another system loses.

use std::collections::HashMap;

use crate::entry::path::display_path;
use crate::error::Problem;
use crate::store::is_reserved_name;
use crate::text::{acting_in_path, nfc};

/// The hint for names.
const RENAME: &str = "rename the file or the folder, and correct the links to it";
/// What no name on Windows has, beside `/`.
const NOT_ON_WINDOWS: [char; 8] = ['<', '>', ':', '"', '\\', '|', '?', '*'];

/// Returns a warning if a shell acts on the path of a file, which is relative to `.ralph/`.
pub(crate) fn unsafe_name(path: &str) -> Option<Problem> {
    let what = match acting_in_path(path)? {
        '-' => "a name in its path begins with `-`, which commands take for an option".to_owned(),
        '`' => "its path has a backquote, on which a shell acts".to_owned(),
        character if character.is_ascii_graphic() => format!("its path has `{character}`, on which a shell acts"),
        _ => "its path has a line break or another control character, on which a shell acts".to_owned(),
    };
    Some(Problem::warning(display_path(path), "unsafe-name", what, RENAME))
}

/// Returns a warning for each of these paths that a clone on macOS or Windows cannot have.
pub(crate) fn lost_names(paths: &[String]) -> Vec<Problem> {
    let mut first: HashMap<String, &str> = HashMap::new();
    let is_lost = |part: &&str| {
        let is_refused = |character: char| NOT_ON_WINDOWS.contains(&character) || character.is_ascii_control();
        is_reserved_name(part) || part.ends_with(' ') || part.contains(is_refused)
    };
    let mut lost = Vec::new();
    for path in paths {
        let other = *first.entry(nfc(path).to_lowercase()).or_insert(path);
        let message = if other != path {
            let other = display_path(other);
            format!(
                "a clone on macOS or Windows has only one of this file and `{other}`: their names differ in case alone"
            )
        } else if let Some(part) = path.split('/').find(is_lost) {
            format!("a clone on Windows cannot have this file: `{part}` is no name there")
        } else {
            continue;
        };
        lost.push(Problem::warning(display_path(path), "lost-name", message, RENAME));
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_another_system_loses_are_reported() {
        let check = |paths: &[&str], expected: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
            let found: Vec<String> = lost_names(&paths).iter().map(ToString::to_string).collect();
            assert_eq!(found.len(), expected.len(), "{found:?}");
            assert!(found.iter().zip(expected).all(|(found, part)| found.contains(part)), "{found:?}");
        };
        check(
            &["knowledge/a.md", "knowledge/b.MD", "archive/knowledge/A.md", "knowledge/null.md", "knowledge/é.md"],
            &[],
        );
        for name in
            ["con.md", "NUL.markdown", "com1/x.md", "a:b?.md", "a\\b.md", "a|b.md", "x /y.md", "x./y.md", "a\tb.md"]
        {
            check(&[&format!("knowledge/{name}")], &["cannot have this file"]);
        }
        for (one, other) in
            [("a.md", "A.md"), ("é.md", "e\u{301}.md"), ("x/A.md", "X/a.md"), ("note.MD", "note.md"), ("Ä.md", "ä.md")]
        {
            check(&[&format!("knowledge/{one}"), &format!("knowledge/{other}")], &["has only one of"]);
        }
    }

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
