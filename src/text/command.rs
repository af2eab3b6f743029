//! Commands that a message tells people and agents to run.
//!
//! Names in them come from files of a clone, and a command is pasted into a shell that the program does not know. This
//! is the only place that puts a value into a command; `tests/integration/told_commands.rs` fails if a message does so
//! itself.

use super::invisible;

/// The longest value that is put into a command, in bytes. A message holds three of them; a command that is cut off
/// would leave a quote open.
const MAX_VALUE: usize = 300;
/// Characters with which a shell runs, expands, redirects or escapes something outside of quotes. In single quotes most
/// of them are text, but not where those stand inside of double ones, as in `bash -c "…"`.
const ACTING: &str = "$`;|&<>\\";
/// Characters that some shell takes for the end of single quotes, or acts on inside of them: PowerShell takes the
/// typographic quotes for straight ones and loses `"` on the way to a program, and C shells look `!` up in the history.
/// U+FFFD stands for bytes that are not text.
const UNQUOTABLE: &str = "'\"!\u{2018}\u{2019}\u{201a}\u{201b}\u{fffd}";

/// Returns a command between backquotes, with each value in the place of its name.
///
/// A value that needs quotes gets single quotes, which sh, bash, zsh, fish and PowerShell read alike. Where a value
/// cannot be quoted for all of them, its name stays in the command, and a remark asks the reader to quote the value.
///
/// ```
/// use ralph_memory::text::printed_command;
/// let restore = |id: &str| printed_command("ralph-memory restore ID", &[("ID", id)]);
/// assert_eq!(restore("knowledge/wal-mode"), "`ralph-memory restore knowledge/wal-mode`");
/// assert_eq!(restore("knowledge/wal mode"), "`ralph-memory restore 'knowledge/wal mode'`");
/// assert_eq!(restore("knowledge/$(id)"), "`ralph-memory restore ID` (quote ID: a shell may act on it)");
/// ```
pub fn printed_command(template: &'static str, values: &[(&str, &str)]) -> String {
    let mut left = Vec::new();
    let words = template.split(' ').map(|word| {
        let place = values.iter().find_map(|(name, value)| Some((word.strip_suffix(name)?, name, value)));
        let Some((start, name, value)) = place else { return word.to_owned() };
        quoted(start, value).unwrap_or_else(|| {
            left.push(*name);
            word.to_owned()
        })
    });
    let command = words.collect::<Vec<_>>().join(" ");
    match left.as_slice() {
        [] => format!("`{command}`"),
        [name] => format!("`{command}` (quote {name}: a shell may act on it)"),
        names => format!("`{command}` (quote {}: a shell may act on them)", names.join(" and ")),
    }
}

/// Returns a value, behind the `start` of its word, as it stands on a command line; `None` if no form is right for every
/// shell.
fn quoted(start: &str, value: &str) -> Option<String> {
    let word = format!("{start}{value}");
    let needs_none = |(at, character): (usize, char)| {
        // At the beginning of a word, zsh acts on `=`.
        character.is_ascii_alphanumeric() || "/._:-".contains(character) || character == '=' && at > 0
    };
    let cannot = |character: char| acts_on_shells(character) || UNQUOTABLE.contains(character);
    if value.is_empty() || value.len() > MAX_VALUE || word.starts_with('-') || word.contains(cannot) {
        None
    } else if word.char_indices().all(needs_none) {
        Some(word)
    } else {
        invisible(&word).next().is_none().then(|| format!("'{word}'"))
    }
}

fn acts_on_shells(character: char) -> bool {
    ACTING.contains(character) || character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Returns what a shell acts on in a path that stands on its command line without quotes: a character that runs,
/// redirects or ends something, or the `-` at the beginning of a name. Blanks, quotes and brackets do not count:
/// people use them in the names of their notes.
pub(crate) fn acting_in_path(path: &str) -> Option<char> {
    let dash = || path.split('/').any(|name| name.starts_with('-')).then_some('-');
    path.chars().find(|character| acts_on_shells(*character)).or_else(dash)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RESTORE: &str = "ralph-memory restore ID";
    const LEFT: &str = "`ralph-memory restore ID` (quote ID: a shell may act on it)";

    #[test]
    fn a_value_is_one_word_of_every_shell_or_stays_out() {
        let check = |value: &str, expected: &str| {
            let expected =
                if expected.is_empty() { LEFT.to_owned() } else { format!("`ralph-memory restore {expected}`") };
            assert_eq!(printed_command(RESTORE, &[("ID", value)]), expected, "{value:?}");
        };
        check("knowledge/wal-mode_2.x", "knowledge/wal-mode_2.x");
        check("knowledge/-rf", "knowledge/-rf");
        for text in [
            "a b",
            "~root",
            "=ls",
            "a(b)",
            "a[b]{c}*?",
            "a#b",
            "a,b",
            "a@b",
            "@a",
            "100%",
            "größe",
            "日本",
            "a^b",
            "a+b",
        ] {
            check(text, &format!("'{text}'"));
        }
        for text in
            ["a$(sh<x)", "a`x`", "a;x", "a|x", "a&x", "a<x", "a>x", "a\\b", "a\nb", "a\u{1b}b", "a\u{2028}b", "a\tb"]
        {
            check(text, "");
        }
        for text in
            ["", "-rf", "it's", "it’s", "a\"b", "x!y", "a\u{200b}b", "a\u{202e}b", "a\u{fffd}b", &"x".repeat(301)]
        {
            check(text, "");
        }
    }

    #[test]
    fn only_the_values_that_cannot_be_quoted_stay_names() {
        let both =
            |one, other| printed_command("ralph-memory edit NEW --supersedes OLD", &[("OLD", one), ("NEW", other)]);
        assert_eq!(both("a b", "c"), "`ralph-memory edit c --supersedes 'a b'`");
        assert_eq!(both("a;b", "c"), "`ralph-memory edit c --supersedes OLD` (quote OLD: a shell may act on it)");
        assert_eq!(
            both("a;b", "c;d"),
            "`ralph-memory edit NEW --supersedes OLD` (quote NEW and OLD: a shell may act on them)"
        );
        // A value is no name of another, and the beginning of its word is quoted with it.
        assert_eq!(both("NEW", "OLD"), "`ralph-memory edit OLD --supersedes NEW`");
        assert_eq!(printed_command("git show :3:PATH", &[("PATH", "a b.md")]), "`git show ':3:a b.md'`");
        assert_eq!(printed_command("sysctl a.b=NUMBER", &[("NUMBER", "5")]), "`sysctl a.b=5`");
        assert_eq!(printed_command("ralph-memory check", &[]), "`ralph-memory check`");
    }

    #[test]
    fn names_that_a_shell_acts_on_are_told_from_ordinary_ones() {
        let check = |path: &str, expected: Option<char>| assert_eq!(acting_in_path(path), expected, "{path:?}");
        for ordinary in ["knowledge/a b (c) [d], e's \"f\"! ~g =h.md", "knowledge/größe – 日本.md", "knowledge/a-b.md"]
        {
            check(ordinary, None);
        }
        for acting in ['$', '`', ';', '|', '&', '<', '>', '\\', '\n', '\r', '\u{1b}', '\u{2028}'] {
            check(&format!("knowledge/a{acting}b.md"), Some(acting));
        }
        check("knowledge/-rf.md", Some('-'));
        check("knowledge/-a/b.md", Some('-'));
    }

    proptest! {
        #[test]
        fn a_printed_command_has_as_many_words_as_its_template(one in "\\PC{0,12}", other in "[ -~]{0,12}") {
            let printed = printed_command("ralph-memory edit NEW --supersedes OLD", &[("OLD", &one), ("NEW", &other)]);
            let command = printed[1..].split('`').next().unwrap();
            let words = shlex::split(command).unwrap();
            prop_assert_eq!(words.len(), 5);
            prop_assert!(words[2] == other || words[2] == "NEW");
            prop_assert!(words[4] == one || words[4] == "OLD");
        }
    }
}
