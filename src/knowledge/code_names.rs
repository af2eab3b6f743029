//! The names of code in an entry's text, and whether the lines that have them are still in a file.
//!
//! Pure. No language is parsed: lines are compared as they are, but for white space.

use std::collections::{HashMap, HashSet};

/// How many names of an entry count, in the order of its text.
const MAX_NAMES: usize = 50;
/// A name on more lines than this is too common for each of them to be about the fact. Only those that define the name count
/// then: those that begin with it, or with words before it.
const COMMON: usize = 6;
/// The least length of a word of capitals that is a name and not an abbreviation, such as `PGPORT`.
const CONSTANT: usize = 6;
/// The least length of the last part of a dotted name that is a name as well, unless it begins with a capital.
const LAST_PART: usize = 4;
/// Last parts of names of files.
const EXTENSIONS: [&str; 12] =
    ["conf", "html", "java", "json", "jsonl", "lock", "properties", "scss", "swift", "text", "toml", "yaml"];
/// Words in backticks that name nothing.
const LITERALS: [&str; 9] = ["true", "false", "null", "none", "nil", "self", "this", "undefined", "void"];
/// Words that begin a line which uses a name and does not define it.
const USES: [&str; 24] = [
    "and", "assert", "await", "case", "defer", "delete", "do", "echo", "elif", "else", "for", "go", "goto", "if",
    "new", "not", "or", "print", "raise", "return", "throw", "when", "while", "yield",
];
/// A file is rewritten if at least this share of its lines is gone, one of so many...
const REWRITTEN: usize = 2;
/// ... and at least so many: in a small file every change is a large share.
const LEAST_LINES: usize = 10;

/// Why an entry may be outdated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Staleness {
    /// A file is gone.
    Gone { path: String },
    /// Many lines of a file are gone.
    Rewritten { path: String },
    /// A line changed that has this name.
    Changed { name: String, path: String },
}

impl Staleness {
    /// Returns a sentence, with names and paths as `quoted` returns them.
    pub(crate) fn reason(&self, quoted: impl Fn(&str) -> String) -> String {
        match self {
            Staleness::Gone { path } => format!("unverified: {} is gone", quoted(path)),
            Staleness::Rewritten { path } => {
                format!("unverified: {} changed much after this was written", quoted(path))
            }
            Staleness::Changed { name, path } => {
                format!("unverified: {} in {} changed after this was written", quoted(name), quoted(path))
            }
        }
    }
}

/// The lines of a file that are not empty, and which of them a change takes away.
pub(crate) struct ChangedLines<'a> {
    /// Each with whether no line of the new state is the same but for white space.
    lines: Vec<(&'a str, bool)>,
    /// The positions of the lines that have a word.
    words: HashMap<&'a str, Vec<usize>>,
}

/// Returns the names in a text: what stands alone in backticks, perhaps with arguments, and words that only code has,
/// such as `MAX_IDLE`, `dropOld`, `src/keep.rs` and `settings.DATABASE_URL`. A dotted name also counts by its last part.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (span, is_code) in spans(text) {
        let head = span.split(['(', '<', '[']).next().filter(|head| !head.trim().is_empty()).unwrap_or(span);
        let is_alone = is_code && words(head).count() == 1;
        for (number, word) in words(span).enumerate() {
            let is_name = is_alone && number == 0;
            if !is_name && !has_form_of_code(word) || word.contains("//") {
                continue;
            }
            let last = word.rsplit(['.', ':']).next().filter(|last| {
                let is_long = last.len() >= LAST_PART || last.starts_with(char::is_uppercase);
                let is_part = is_name && is_long && !EXTENSIONS.contains(last);
                !word.contains('/') && (word.contains("::") || has_form_of_code(last) || is_part)
            });
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

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter.is_alphanumeric() || "_.:/-$".contains(letter);
    let words = text.split(move |letter| !is_part(letter)).map(|word| word.trim_matches(&['.', ':', '/', '-'][..]));
    words.filter(|word| word.contains(char::is_alphabetic))
}

/// Returns the parts of a text, and whether each is code in a line. As many backticks end it as began it, and no
/// paragraph or fenced block ends within.
fn spans(text: &str) -> Vec<(&str, bool)> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(start) = rest.find('`') {
        let run = |from: &str| from.len() - from.trim_start_matches('`').len();
        let count = run(&rest[start..]);
        let (before, inside) = (&rest[..start], &rest[start + count..]);
        let is_fence = count > 2 && before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
        let mut runs = inside.match_indices('`').map(|(at, _)| at).filter(|at| !inside[..*at].ends_with('`'));
        let end = runs.find(|at| run(&inside[*at..]) == count);
        let end = end.filter(|end| is_fence || !["\n\n", "\n```"].iter().any(|mark| inside[..*end].contains(mark)));
        found.push((before, false));
        rest = match end {
            Some(end) => {
                found.push((&inside[..end], !is_fence));
                &inside[end + count..]
            }
            None => inside,
        };
    }
    found.push((rest, false));
    found
}

/// Returns whether a word has a form that prose does not have.
fn has_form_of_code(word: &str) -> bool {
    if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
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

impl<'a> ChangedLines<'a> {
    /// Compares two states of a file.
    pub(crate) fn new(old: &'a str, new: &str) -> ChangedLines<'a> {
        let squeezed = |line: &str| line.split_whitespace().collect::<String>();
        let kept: HashSet<String> = new.lines().map(squeezed).collect();
        let old = old.lines().map(|line| (line, squeezed(line))).filter(|(_, squeezed)| !squeezed.is_empty());
        let lines: Vec<(&str, bool)> = old.map(|(line, squeezed)| (line, !kept.contains(&squeezed))).collect();
        let mut words = HashMap::<&str, Vec<usize>>::new();
        for (at, (line, _)) in lines.iter().enumerate() {
            for word in line.split(|letter| !is_of_word(letter)).filter(|word| !word.is_empty()) {
                words.entry(word).or_default().push(at);
            }
        }
        ChangedLines { lines, words }
    }

    /// Returns whether the change makes an entry with these names doubtful. The place of a line does not count, nor do new
    /// lines.
    pub(crate) fn doubt(&self, names: &[String], path: &str) -> Option<Staleness> {
        let (mut is_named, path) = (false, path.to_owned());
        let changed = names.iter().find(|name| {
            let with = self.with(name);
            is_named |= !with.is_empty();
            let counts = |line: &str| with.len() <= COMMON || is_definition(line, name);
            with.iter().any(|(line, is_gone)| *is_gone && counts(line))
        });
        if let Some(name) = changed {
            return Some(Staleness::Changed { name: name.clone(), path });
        }
        let n_gone = self.lines.iter().filter(|(_, is_gone)| *is_gone).count();
        let is_rewritten = !is_named && n_gone >= LEAST_LINES && n_gone * REWRITTEN >= self.lines.len();
        is_rewritten.then_some(Staleness::Rewritten { path })
    }

    /// Returns the lines with a name.
    fn with(&self, name: &str) -> Vec<(&'a str, bool)> {
        let longest = name.split(|letter| !is_of_word(letter)).max_by_key(|word| word.len()).unwrap_or_default();
        let mut places = self.words.get(longest).cloned().unwrap_or_default();
        places.dedup();
        places.into_iter().map(|at| self.lines[at]).filter(|(line, _)| place(line, name).is_some()).collect()
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns where a text has a name, not as a part of a longer one.
fn place(text: &str, name: &str) -> Option<usize> {
    let is_whole = |at: &usize| !text[..*at].ends_with(is_of_word) && !text[at + name.len()..].starts_with(is_of_word);
    text.match_indices(name).map(|(at, _)| at).find(is_whole)
}

/// Returns whether only words stand before the name, beside what is in brackets.
fn is_definition(text: &str, name: &str) -> bool {
    let (mut depth, mut before) = (0, String::new());
    for letter in place(text, name).map_or("", |at| text[..at].trim_start()).chars() {
        match letter {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            _ if depth == 0 => before.push(letter),
            _ => {}
        }
    }
    let before = before.trim_start_matches(['#', '@', '-', ' ']).trim_end_matches(['*', '&', '"', '\'', '$', ' ']);
    depth == 0
        && before.chars().all(|letter| is_of_word(letter) || letter.is_whitespace())
        && before.split_whitespace().next().is_none_or(|first| !USES.contains(&first))
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
        // The end of a file's name is no name, nor is a short one.
        check(
            "Of settings.json, `config.yaml`, Node.js, `app.log`, `user.id`.",
            &["settings.json", "config.yaml", "Node.js", "app.log", "user.id"],
        );
        check(
            "It has settings.DATABASE_URL, app.settings and `app.retries`.",
            &["settings.DATABASE_URL", "DATABASE_URL", "app.settings", "app.retries", "retries"],
        );
        check(
            "`take(x, y)`, `Keeper<T>`, ``give back``, ``leave`` and `items[0]`",
            &["take", "Keeper", "leave", "items"],
        );
        check("A stray ` here.\n\n```sh\nrun MAX_IDLE one\n```\n\nThen `two`, and ` is left.", &["MAX_IDLE", "two"]);
        check("```rust\nlet max_idle = 3;\n```\nThen `one`.", &["max_idle", "one"]);
    }

    #[track_caller]
    fn check(old: &str, new: &str, expected: &str) {
        let found = match ChangedLines::new(old, new).doubt(&names("`LIMIT` and `take` are here."), "") {
            Some(Staleness::Changed { name, .. }) => name,
            found => found.map_or("", |_| "rewritten").to_owned(),
        };
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn a_line_with_a_name_counts_wherever_it_is() {
        check("x\nconst LIMIT: u8 = 3;\ny", "  y\n\tconst  LIMIT:u8 = 3;\nLIMIT", "");
        check("const LIMIT: u8 = 3;", "const LIMIT: u8 = 4;", "LIMIT");
        check("fn take(\n    a: A,\n) {", "fn take(\n    a: B,\n) {", "");
        check("LIMIT\nself.take(1)", "LIMIT\nself.take(2)", "take");
        // Neither is a part of a longer name.
        check("LIMITS = 3\nmistake", "", "");
    }

    #[test]
    fn without_a_name_half_of_the_file_counts() {
        let lines = |lines: std::ops::Range<u8>| lines.map(|line| line.to_string() + "\n\n").collect::<String>();
        check(&lines(0..20), &lines(10..99), "rewritten");
        check(&lines(0..21), &lines(10..99), "");
        check(&lines(0..9), "", "");
        check(&(lines(0..20) + "LIMIT"), "LIMIT", "");
    }

    #[test]
    fn only_definitions_count_of_a_common_name() {
        let uses = |n: u8| format!("f({n}, LIMIT);\n").repeat(7);
        check(&uses(1), &uses(2), "");
        check(&uses(1)[14..], "", "LIMIT");
        for line in [
            "pub(crate) const LIMIT: u8 = 3;",
            "#define LIMIT 3",
            "func (q *Queue) LIMIT(a int)",
            "struct user *LIMIT(int a)",
            "  List<User> LIMIT(int a)",
            "\"LIMIT\": 30",
        ] {
            check(&format!("{line}\n{}", uses(1)), &uses(1), "LIMIT");
        }
        for line in ["return LIMIT(1)", "if (a) LIMIT(1)", "case LIMIT:", "await LIMIT(1)"] {
            check(&format!("{line}\n{}", uses(1)), &uses(1), "");
        }
    }
}
