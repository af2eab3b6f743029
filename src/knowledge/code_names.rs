//! The names of code in an entry's text, and whether the lines that have them are still in a file.
//!
//! Pure. No language is parsed: a comment is known by its mark, a statement over several lines by its brackets, and a
//! mistake about either one only makes a line differ or stay the same that should not.

use std::collections::HashSet;

/// How many names of an entry count, in the order of its text.
const MAX_NAMES: usize = 50;
/// The most lines of a statement.
const MAX_LINES: usize = 30;
/// A name with more statements than this is too common for each of them to be about the fact. Only those that begin with
/// the name, or with words before it, as a definition does, count then.
const COMMON: usize = 6;
/// The least length of a word of capitals that is a name and not an abbreviation, such as `PGPORT`.
const CONSTANT: usize = 6;
/// Words in backticks that name nothing.
const LITERALS: [&str; 9] = ["true", "false", "null", "none", "nil", "self", "this", "undefined", "void"];
/// The mark of a comment by the end of a file's name; `//` in all others.
const MARKS: [(&str, &str); 2] = [
    ("#", ".py.rb.sh.bash.zsh.yml.yaml.toml.pl.ex.exs.ini.cfg.conf.env.tf.nix.jl.mk.cmake."),
    ("--", ".sql.lua.hs.elm."),
];

/// The code of a file: its statements, which are lines that belong together, without comments.
pub(crate) struct SourceCode {
    statements: Vec<String>,
    /// The statements as no formatter changes them.
    keys: HashSet<String>,
}

/// What became of the statements that have one of an entry's names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NamedLines {
    /// There was none.
    Nowhere,
    /// All are still there.
    Same,
    /// One with this name is not there any more.
    Changed(String),
}

/// Returns the names in a text: what stands alone in backticks, and words that only code has, such as `MAX_IDLE`,
/// `dropOld`, `src/keep.rs` and `settings.DATABASE_URL`. A dotted name also counts by its last part.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || "_.:/-$".contains(letter);
    for (number, span) in text.split('`').enumerate() {
        let words = span.split(|letter| !is_part(letter)).map(|word| word.trim_matches(&['.', ':', '/', '-'][..]));
        let words: Vec<&str> = words.filter(|word| word.contains(char::is_alphabetic)).collect();
        let is_name = number % 2 == 1 && words.len() == 1;
        for word in words.into_iter().filter(|word| (is_name || has_form_of_code(word)) && !word.contains("//")) {
            let last = word.rsplit(['.', ':']).next().filter(|_| !word.contains('/'));
            for name in [Some(word), last].into_iter().flatten() {
                let is_literal = LITERALS.contains(&name.to_ascii_lowercase().as_str());
                if name.len() > 1 && !is_literal && names.len() < MAX_NAMES && !names.iter().any(|known| known == name)
                {
                    names.push(name.to_owned());
                }
            }
        }
    }
    names
}

/// Returns whether a word has a form that prose does not have.
fn has_form_of_code(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let between =
        |is_it: fn(char, char, char) -> bool| letters.windows(3).any(|three| is_it(three[0], three[1], three[2]));
    let is_snake = between(|one, two, three| one.is_alphanumeric() && two == '_' && three.is_alphanumeric());
    let is_camel = letters.windows(2).any(|two| two[0].is_lowercase() && two[1].is_uppercase());
    let is_constant = letters.len() >= CONSTANT && letters.iter().all(|letter| letter.is_uppercase());
    let is_dotted = word.split('.').count() > 1
        && word.split('.').all(|part| part.len() > 1 && part.starts_with(char::is_alphabetic));
    is_snake || is_camel || is_constant || is_dotted || word.contains('/') || word.contains("::")
}

impl SourceCode {
    /// Reads a file.
    pub(crate) fn new(path: &str, text: &str) -> SourceCode {
        let lines = code_lines(path, text);
        let mut rest = &lines[..];
        let mut statements = Vec::new();
        while !rest.is_empty() {
            let (own, behind) = rest.split_at(length(rest));
            statements.push(own.join(" "));
            rest = behind;
        }
        SourceCode { keys: statements.iter().map(|statement| key(statement)).collect(), statements }
    }

    /// Returns what became of the statements with these names in the `new` state of the file. White space, comments and the place of a statement do not count.
    pub(crate) fn changed(&self, names: &[String], new: &SourceCode) -> NamedLines {
        let mut is_there = false;
        let first = names.iter().find(|name| {
            let mut with: Vec<&String> =
                self.statements.iter().filter(|statement| place(statement, name).is_some()).collect();
            if with.len() > COMMON {
                with.retain(|statement| is_definition(statement, name));
            }
            is_there |= !with.is_empty();
            with.iter().any(|statement| !new.keys.contains(&key(statement)))
        });
        match first {
            Some(name) => NamedLines::Changed(name.clone()),
            None if is_there => NamedLines::Same,
            None => NamedLines::Nowhere,
        }
    }
}

/// Returns where a text has a name, not as a part of a longer one.
fn place(text: &str, name: &str) -> Option<usize> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_whole = |at: &usize| !text[..*at].ends_with(is_name) && !text[at + name.len()..].starts_with(is_name);
    text.match_indices(name).map(|(at, _)| at).find(is_whole)
}

/// Returns whether only words stand before the name.
fn is_definition(text: &str, name: &str) -> bool {
    let before = place(text, name).map_or("", |at| &text[..at]);
    before.chars().all(|letter| letter.is_alphanumeric() || letter.is_whitespace() || letter == '_')
}

/// Returns the lines without comments and outer white space, if something is left of them.
fn code_lines<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map(|(_, extension)| format!(".{extension}."));
    let known =
        extension.as_ref().map(|of| MARKS.iter().find(|(_, ends)| ends.contains(of)).map_or("//", |(mark, _)| mark));
    // Files without an extension are scripts, and configurations such as a `Makefile`.
    let mark = known.unwrap_or("#");
    let is_python = extension.as_deref() == Some(".py.");
    let blocks: &[(&str, &str)] = match mark {
        _ if is_python => &[("\"\"\"", "\"\"\""), ("'''", "'''")],
        "//" => &[("/*", "*/"), ("<!--", "-->")],
        _ => &[],
    };
    let mut lines = Vec::new();
    // What ends a comment over several lines, or a string, whose lines are kept.
    let (mut comment, mut string) = (None, None);
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(end) = string {
            string = string.filter(|_| !line.contains(end));
        } else {
            let opened = blocks.iter().find(|(start, _)| line.starts_with(start));
            let end = comment.take().or_else(|| {
                let (start, end) = opened?;
                line = &line[start.len()..];
                Some(*end)
            });
            if let Some(end) = end {
                let Some((_, behind)) = line.split_once(end) else {
                    comment = Some(end);
                    continue;
                };
                line = behind.trim();
            }
            line = without_comment(line, mark);
            string = blocks.iter().map(|(_, end)| *end).find(|end| is_python && line.matches(end).count() % 2 == 1);
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// Returns a line without the comment at its end. The mark stands at the beginning or behind white space, and not in a
/// string.
fn without_comment<'a>(line: &'a str, mark: &str) -> &'a str {
    let is_comment = |at: &usize| {
        let before = &line[..*at];
        (before.is_empty() || before.ends_with(char::is_whitespace)) && before.matches('"').count().is_multiple_of(2)
    };
    let end = line.match_indices(mark).map(|(at, _)| at).find(is_comment).unwrap_or(line.len());
    line[..end].trim_end()
}

/// Returns how many of the lines are the first statement: those up to the one that closes its brackets. A block is no
/// statement, nor is a list of declarations, as `const (` begins one.
fn length(lines: &[&str]) -> usize {
    let mut depth = 0;
    if lines[0].ends_with(" (") {
        return 1;
    }
    for (number, line) in lines.iter().take(MAX_LINES).enumerate() {
        let code = line.split('"').step_by(2).flat_map(str::chars);
        depth += code.map(|letter| i32::from("([".contains(letter)) - i32::from(")]".contains(letter))).sum::<i32>();
        if depth <= 0 {
            return number + 1;
        }
        if line.ends_with('{') {
            break;
        }
    }
    1
}

/// Returns the text as no formatter changes it: without white space outside of strings, with one kind of quotes, and
/// without a comma before the end.
fn key(text: &str) -> String {
    let text = text.replace('\'', "\"");
    let squeeze = |(number, part): (usize, &str)| {
        if number % 2 == 1 { format!("\"{part}\"") } else { part.split_whitespace().collect() }
    };
    let key: String = text.split('"').enumerate().map(squeeze).collect();
    key.replace(",)", ")").replace(",]", "]").trim_end_matches(',').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_stands_alone_in_backticks_and_words_of_code() {
        let check = |text: &str, expected: &[&str]| assert_eq!(names(text), expected, "{text}");
        check("`take` and `retry_delay()` and `--max-wait`", &["take", "retry_delay", "max-wait"]);
        check("Set PGPORT and MAX_IDLE, not the API.", &["PGPORT", "MAX_IDLE"]);
        check("`Queue.Push` calls `Keeper::take`.", &["Queue.Push", "Push", "Keeper::take", "take"]);
        check(
            "The file src/keep.rs has dropOld and `settings.URL`.",
            &["src/keep.rs", "dropOld", "settings.URL", "URL"],
        );
        check("Run `cargo test --lib idle_time`, e.g. often; 3.5 s. It is `None`.", &["idle_time"]);
        check("See https://example.org/a_b and `x`.", &[]);
        check("```rust\nlet max_idle = 3;\n```\nThen `one`.", &["max_idle", "one"]);
    }

    #[track_caller]
    fn check(path: &str, old: &str, new: &str, expected: &str) {
        let names = names("`LIMIT` and `take` are here.");
        let found = match SourceCode::new(path, old).changed(&names, &SourceCode::new(path, new)) {
            NamedLines::Nowhere => "nowhere".to_owned(),
            NamedLines::Same => "same".to_owned(),
            NamedLines::Changed(name) => name,
        };
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn comments_white_space_and_the_place_of_a_line_do_not_count() {
        check("a.rs", "x\nconst LIMIT: u8 = 3;", "const  LIMIT : u8 = 3; // new\n/* LIMIT\n */\nx", "same");
        check("a.rs", "const LIMIT: u8 = 3;", "const LIMIT: u8 = 4;", "LIMIT");
        check("a.rs", "const LIMITS: u8 = 3;\n// LIMIT", "", "nowhere");
        check("a.py", "LIMIT = 3 # a", "'''LIMIT\n'''\nLIMIT=3", "same");
        check("a.py", "\"\"\"Has LIMIT.\"\"\"\nLIMIT = \"#1\"", "LIMIT = \"#2\"", "LIMIT");
        // A string over several lines is no comment, and what follows is none either.
        check("a.py", "X = \"\"\"\na LIMIT # b\n\"\"\"\ntake()", "X = \"\"\"\na LIMIT # c\n\"\"\"\ntake()", "LIMIT");
        check("a.py", "X = \"\"\"\na\n\"\"\"\ntake(1)", "X = \"\"\"\na\n\"\"\"\ntake(2)", "take");
        check("a.ts", "const url = 'http://a' + LIMIT;", "const url = 'http://b' + LIMIT;", "LIMIT");
        check("a.sql", "SELECT take -- all", "SELECT take -- some", "same");
        check("Makefile", "LIMIT = 3 # a", "LIMIT = 3 # b", "same");
    }

    #[test]
    fn a_statement_may_have_several_lines() {
        check("a.rs", "fn take(a: A, b: B) {", "fn take(\n    a: A,\n    b: B,\n) {", "same");
        check("a.rs", "fn take(\n    a: A,\n) {", "fn take(\n    a: B,\n) {", "take");
        check("a.ts", "const LIMIT = [\n  1,\n  2,\n];", "const LIMIT = [\n  1,\n];", "LIMIT");
        // Neither a block nor a list of declarations.
        check("a.ts", "it('is', () => {\n  take();\n  a();\n});", "it('is', () => {\n  take();\n  b();\n});", "same");
        check("a.go", "const (\n\tLIMIT = 1\n\ta = 1\n)", "const (\n\tLIMIT = 1\n\ta = 2\n)", "same");
    }

    #[test]
    fn only_definitions_count_of_a_common_name() {
        let uses = |n: u8| format!("f({n}, LIMIT);\n").repeat(9);
        let text = |value: u8, uses: &str| format!("pub const LIMIT: u8 = {value};\n{uses}");
        check("a.rs", &text(1, &uses(1)), &text(1, &uses(2)), "same");
        check("a.rs", &text(1, &uses(1)), &text(2, &uses(1)), "LIMIT");
    }
}
