//! Words as they stand on a shell's command line while they are typed: with quotes, perhaps with one that is still open.
//!
//! Nothing here is ever run. What cannot be written safely where the cursor is, is left out.

use std::str::Chars;

use clap::ValueEnum;

/// Characters at which bash begins another word for its completion, beside quotes and blanks (`COMP_WORDBREAKS`).
const BREAKS: &str = "=:@><;|&(";

/// A shell that completes from the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletingShell {
    /// Gives the command line up to the cursor, and replaces the end of it with a candidate as it is.
    Bash,
    /// Gives the words with their quotes, and quotes candidates itself.
    Zsh,
    /// Gives the last word with its quotes, the others without, and quotes candidates itself.
    Fish,
}

/// A word that is being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TypedWord {
    /// The word without quotes.
    pub(crate) text: String,
    /// The quote that is open at its end.
    quote: Option<char>,
    /// From where on bash replaces it, in bytes of the text.
    replaced: usize,
}

impl TypedWord {
    /// Returns a word that has no quotes.
    pub(crate) fn bare(text: &str) -> TypedWord {
        TypedWord { text: text.to_owned(), ..TypedWord::default() }
    }

    /// Returns a word that may have quotes.
    pub(crate) fn quoted(word: &str) -> TypedWord {
        next_word(&mut word.chars(), |_| false).0
    }

    /// Returns what takes the place of the part that bash replaces, so that the word becomes this one; `None` if that
    /// cannot be written there.
    pub(crate) fn completed(&self, word: &str) -> Option<String> {
        let rest = word.strip_prefix(&self.text[..self.replaced])?;
        match self.quote {
            Some('\'') if rest.contains('\'') => None,
            Some('\'') => Some(rest.to_owned()),
            // A backslash does not take an exclamation mark out of the history there without staying itself.
            Some(_) if rest.contains('!') => None,
            Some(_) => Some(escaped(rest, |character| "\\\"$`".contains(character))),
            None => Some(escaped(rest, |character| character.is_ascii() && !is_plain(character))),
        }
    }
}

/// Returns whether a character needs no quotes in any shell.
pub(crate) fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./:+@%=,".contains(character)
}

fn escaped(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        if is_special(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns the words of a command line that ends at the cursor. The last one is empty after a blank.
fn words(line: &str) -> Vec<TypedWord> {
    let mut words = Vec::new();
    let mut rest = line.chars();
    loop {
        let ends = |character: char| character.is_ascii_whitespace();
        let (word, is_last) = next_word(&mut rest, ends);
        // Several blanks are one.
        if is_last || word != TypedWord::default() {
            words.push(word);
        }
        if is_last {
            return words;
        }
    }
}

/// Reads a word up to a character that ends it outside of quotes, and returns whether it is the last one.
fn next_word(characters: &mut Chars<'_>, ends: impl Fn(char) -> bool) -> (TypedWord, bool) {
    let mut word = TypedWord::default();
    while let Some(character) = characters.next() {
        match (word.quote, character) {
            (None, '\'' | '"') => {
                word.quote = Some(character);
                word.replaced = word.text.len();
            }
            (Some(quote), _) if quote == character => {
                word.quote = None;
                word.replaced = word.text.len();
            }
            // In double quotes it stays before anything but these.
            (Some('"'), '\\') => {
                let next = characters.next();
                if !next.is_none_or(|next| "\\\"$`\n".contains(next)) {
                    word.text.push('\\');
                }
                word.text.extend(next);
            }
            (None, '\\') => word.text.extend(characters.next()),
            (None, _) if ends(character) => return (word, false),
            (quote, _) => {
                word.text.push(character);
                if quote.is_none() && BREAKS.contains(character) {
                    word.replaced = word.text.len();
                }
            }
        }
    }
    (word, true)
}

/// Returns the words of bash's command line behind the program's name.
pub(crate) fn arguments(line: &str) -> Vec<TypedWord> {
    let words = words(line).into_iter();
    // Variables may be set before it.
    let is_variable = |word: &TypedWord| {
        let name = word.text.split_once('=').map(|(name, _)| name).filter(|name| !name.is_empty());
        name.is_some_and(|name| name.chars().all(|character| character == '_' || character.is_ascii_alphanumeric()))
    };
    words.skip_while(is_variable).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_their_quotes_and_keep_what_is_open() {
        let check = |line: &str, expected: &[&str], quote: Option<char>, replaced: usize| {
            let found = words(line);
            let texts: Vec<&str> = found.iter().map(|word| word.text.as_str()).collect();
            let last = found.last().unwrap();
            assert_eq!((texts.as_slice(), last.quote, last.replaced), (expected, quote, replaced), "{line}");
        };
        check("", &[""], None, 0);
        check("a  b", &["a", "b"], None, 0);
        check("a ", &["a", ""], None, 0);
        check(r"a\ b", &["a b"], None, 0);
        check("'a b' \"c d", &["a b", "c d"], Some('"'), 0);
        check("'a", &["a"], Some('\''), 0);
        check(r#""a\"b\c\$"#, &[r#"a"b\c$"#], Some('"'), 0);
        check(r"'a\", &[r"a\"], Some('\''), 0);
        check(r"a\", &["a"], None, 0);
        check("--tag=a", &["--tag=a"], None, 6);
        check("--tag=\"a b", &["--tag=a b"], Some('"'), 6);
        check("task:t", &["task:t"], None, 5);
        check("'a:b'c", &["a:bc"], None, 3);
        check("\"größe ", &["größe "], Some('"'), 0);
    }

    #[test]
    fn the_program_is_found_behind_variables() {
        let of = |line: &str| arguments(line).into_iter().map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(of("ralph-memory list --t"), ["list", "--t"]);
        assert_eq!(of("A=1 B='x y' ./bin/ralph-memory show "), ["show", ""]);
        assert_eq!(of("ralph-memory"), [""; 0]);
    }

    #[test]
    fn a_candidate_is_written_as_the_quote_at_the_cursor_needs_it() {
        let check = |typed: &str, word: &str, expected: Option<&str>| {
            let typed = words(typed).pop().unwrap();
            assert_eq!(typed.completed(word).as_deref(), expected, "{word}");
        };
        check("", "Fix the login", Some(r"Fix\ the\ login"));
        check("Fix", "Fix the login", Some(r"Fix\ the\ login"));
        check(r"Fix\ t", "Fix the login", Some(r"Fix\ the\ login"));
        check("\"Fix t", "Fix the login", Some("Fix the login"));
        check("--tag=Fi", "--tag=Fix it", Some(r"Fix\ it"));
        check("--tag='Fi", "--tag=Fix it", Some("Fix it"));
        check("task:t", "task:t-1", Some("t-1"));
        check("a@", "a@b", Some("b"));
        check("", "größe", Some("größe"));
        check(
            "",
            "a'b\"c$(id)`d`;e&f|g<h>i*j?k[l]{m}~n#o!p\\q",
            Some(r#"a\'b\"c\$\(id\)\`d\`\;e\&f\|g\<h\>i\*j\?k\[l\]\{m\}\~n\#o\!p\\q"#),
        );
        check("\"", "a\"$(id)`\\ b", Some("a\\\"\\$(id)\\`\\\\ b"));
        check("\"", "wow!", None);
        check("'", "it's", None);
        check("'", "wow! $(id)", Some("wow! $(id)"));
        check("x", "y", Some("y"));
        check("--tag=x", "y", None);
    }
}
