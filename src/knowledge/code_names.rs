//! The names of code in an entry's text, and whether the lines that have them are still in a file.
//!
//! Pure. No language is parsed: a comment is known by its mark, a statement over several lines by its brackets, and a
//! mistake about either one only makes a line differ or stay the same that should not.

use xxhash_rust::xxh3::xxh3_64;

/// How many names of an entry count, in the order of its text.
const MAX_NAMES: usize = 50;
/// The most lines of a statement.
const MAX_LINES: usize = 30;
/// A name with more statements than this is too common for each of them to be about the fact. Only those that define the
/// name count then: those that begin with it, or with words before it.
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
/// Words that begin a statement which uses a name and does not define it.
const USES: [&str; 24] = [
    "and", "assert", "await", "case", "defer", "delete", "do", "echo", "elif", "else", "for", "go", "goto", "if",
    "new", "not", "or", "print", "raise", "return", "throw", "when", "while", "yield",
];

/// What is no code, by the end of a file's name.
struct Language {
    ends: &'static str,
    /// The marks of comments up to the end of the line.
    marks: &'static [&'static str],
    /// The marks around other comments.
    blocks: &'static [(&'static str, &'static str)],
    /// The marks around texts over several lines. At the beginning of a statement they are documentation.
    texts: &'static [&'static str],
    /// The marks around texts in a line.
    quotes: &'static str,
}

const fn language(ends: &'static str, marks: &'static [&'static str]) -> Language {
    Language { ends, marks, blocks: &[], texts: &[], quotes: "\"'" }
}

/// All languages with other comments than the last one.
const LANGUAGES: [Language; 13] = [
    Language { texts: &["\"\"\"", "'''"], ..language(".py.pyi.", &["#"]) },
    Language { blocks: &[("=begin", "=end")], ..language(".rb.", &["#"]) },
    Language { texts: &["\"\"\""], ..language(".ex.exs.", &["#"]) },
    Language { blocks: &[("<#", "#>")], ..language(".ps1.psm1.", &["#"]) },
    Language { blocks: &[("/*", "*/")], ..language(".php.", &["//", "#"]) },
    // Files without an extension are scripts, and configurations such as a `Makefile`.
    language(
        "..sh.bash.zsh.yml.yaml.toml.pl.conf.env.example.gitignore.tf.nix.jl.mk.cmake.graphql.gql.r.properties.",
        &["#"],
    ),
    language(".ini.cfg.", &["#", ";"]),
    Language { blocks: &[("/*", "*/")], ..language(".sql.", &["--"]) },
    Language { blocks: &[("--[[", "]]")], ..language(".lua.", &["--"]) },
    Language { blocks: &[("{-", "-}")], quotes: "\"", ..language(".hs.elm.", &["--"]) },
    Language { quotes: "\"", ..language(".clj.cljs.edn.lisp.el.scm.", &[";"]) },
    language(".erl.hrl.", &["%"]),
    // An apostrophe begins a lifetime.
    Language { blocks: C_BLOCKS, quotes: "\"", ..language(".rs.", &["//"]) },
];
const C_BLOCKS: &[(&str, &str)] = &[("/*", "*/"), ("<!--", "-->")];
/// The language of all other files.
const OTHERS: Language = Language { blocks: C_BLOCKS, ..language("", &["//"]) };

/// The code of a file: its statements, which are lines that belong together, without comments.
pub(crate) struct SourceCode {
    statements: Vec<String>,
    /// The hashes of all words, each with the position of a statement that has it, sorted.
    words: Vec<(u64, usize)>,
    quotes: &'static str,
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

impl SourceCode {
    /// Reads a file.
    pub(crate) fn new(path: &str, text: &str) -> SourceCode {
        let name = path.rsplit('/').next().unwrap_or(path);
        let end = name.rsplit_once('.').map_or("..".to_owned(), |(_, end)| format!(".{}.", end.to_lowercase()));
        let language = LANGUAGES.iter().find(|language| language.ends.contains(&end)).unwrap_or(&OTHERS);
        let lines = code_lines(language, text);
        let mut rest = &lines[..];
        let (mut statements, mut words) = (Vec::new(), Vec::new());
        while !rest.is_empty() {
            let (own, behind) = rest.split_at(length(rest));
            let statement = own.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ");
            let own = statement.split(|letter| !is_of_word(letter)).filter(|word| !word.is_empty());
            words.extend(own.map(|word| (xxh3_64(word.as_bytes()), statements.len())));
            statements.push(statement);
            rest = behind;
        }
        words.sort_unstable();
        words.dedup();
        SourceCode { statements, words, quotes: language.quotes }
    }

    /// Returns what became of the statements with these names in the `new` state of the file. White space, comments and
    /// the place of a statement do not count, nor do imports, unless nothing else has the name.
    pub(crate) fn changed(&self, names: &[String], new: &SourceCode) -> NamedLines {
        let mut is_there = false;
        let first = names.iter().find(|name| {
            let mut with = self.with(name);
            if with.iter().any(|statement| !is_import(statement)) {
                with.retain(|statement| !is_import(statement));
            }
            if with.len() > COMMON {
                with.retain(|statement| is_definition(statement, name));
            }
            is_there |= !with.is_empty();
            let keys: Vec<String> = match with.len() {
                0 => Vec::new(),
                _ => new.with(name).into_iter().map(|statement| key(statement, new.quotes)).collect(),
            };
            with.iter().any(|statement| !keys.contains(&key(statement, self.quotes)))
        });
        match first {
            Some(name) => NamedLines::Changed(name.clone()),
            None if is_there => NamedLines::Same,
            None => NamedLines::Nowhere,
        }
    }

    /// Returns the statements with a name.
    fn with(&self, name: &str) -> Vec<&str> {
        let longest = name.split(|letter| !is_of_word(letter)).max_by_key(|word| word.len()).unwrap_or_default();
        let hash = xxh3_64(longest.as_bytes());
        let first = self.words.partition_point(|(other, _)| *other < hash);
        let with = self.words[first..].iter().take_while(|(other, _)| *other == hash);
        let with = with.map(|(_, at)| self.statements[*at].as_str());
        with.filter(|statement| place(statement, name).is_some()).collect()
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

/// Returns whether a statement only makes names of other files known.
fn is_import(text: &str) -> bool {
    const STARTS: [&str; 8] =
        ["import ", "use ", "using ", "include ", "require ", "#include", "#import", "extern crate "];
    let public = text.strip_prefix("pub").map(|rest| rest.split_once(')').map_or(rest, |(_, rest)| rest).trim_start());
    STARTS.iter().any(|start| text.starts_with(start))
        || public.is_some_and(|rest| rest.starts_with("use "))
        || text.starts_with("from ") && text.contains(" import")
        || text.starts_with("export ") && text.contains(" from ")
        || text.contains("= require(")
}

/// Returns whether only words stand before the name, beside what is in brackets.
fn is_definition(text: &str, name: &str) -> bool {
    let (mut depth, mut before) = (0, String::new());
    for letter in place(text, name).map_or("", |at| &text[..at]).chars() {
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

/// A line without comments and outer white space.
#[derive(Default)]
struct CodeLine {
    text: String,
    /// How many brackets open, less those that close.
    brackets: i32,
    braces: i32,
}

/// Returns the lines in which something is left without comments. A text over several lines is one.
fn code_lines(language: &Language, text: &str) -> Vec<CodeLine> {
    let mut lines: Vec<CodeLine> = Vec::new();
    // What ends a comment or a text over several lines, and whether it is kept.
    let mut open: Option<(&str, bool)> = None;
    for line in text.lines() {
        let mut rest = line.trim();
        let mut line = CodeLine::default();
        if open.is_some_and(|(_, is_kept)| is_kept) {
            line = lines.pop().unwrap_or_default();
            line.text.push('\n');
        }
        while let Some(letter) = rest.chars().next() {
            let taken;
            if let Some((end, is_kept)) = open {
                let closed = rest.find(end).map(|at| at + end.len());
                open = open.filter(|_| closed.is_none());
                let length = closed.unwrap_or(rest.len());
                (taken, rest) = (if is_kept { &rest[..length] } else { "" }, &rest[length..]);
            } else if let length @ 1.. = rest.find(|letter| !is_plain(letter)).unwrap_or(rest.len()) {
                (taken, rest) = rest.split_at(length);
            } else if let Some((start, end)) =
                language.blocks.iter().find(|(start, _)| rest.starts_with(start) && is_apart(&line.text, "([{"))
            {
                (taken, rest, open) = ("", &rest[start.len()..], Some((*end, false)));
            } else if language.marks.iter().any(|mark| rest.starts_with(mark)) && is_apart(&line.text, "") {
                break;
            } else if let Some(mark) = language.texts.iter().find(|mark| rest.starts_with(**mark)) {
                let is_documentation = ["", "r", "R", "u", "@doc", "@moduledoc"].contains(&line.text.trim());
                if is_documentation {
                    line.text.clear();
                }
                open = Some((mark, !is_documentation));
                (taken, rest) = (if is_documentation { "" } else { mark }, &rest[mark.len()..]);
            } else {
                match letter {
                    '(' | '[' => line.brackets += 1,
                    ')' | ']' => line.brackets -= 1,
                    '{' => line.braces += 1,
                    '}' => line.braces -= 1,
                    _ => {}
                }
                (taken, rest) = rest.split_at(quoted(rest, language.quotes).unwrap_or(letter.len_utf8()));
            }
            line.text += taken;
        }
        line.text.truncate(line.text.trim_end().len());
        if !line.text.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// Returns whether no mark of a language, quote or bracket begins with this letter.
fn is_plain(letter: char) -> bool {
    is_of_word(letter) || letter == ' '
}

/// Returns whether a mark behind this text begins a comment, and is not within a word or an address.
fn is_apart(before: &str, others: &str) -> bool {
    let last = before.chars().next_back();
    last.is_none_or(|last| last.is_whitespace() || ";,)}".contains(last) || others.contains(last))
}

/// Returns the length of the text in quotes at the beginning.
fn quoted(text: &str, quotes: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|letter| quotes.contains(*letter));
    let Some(quote) = quote else {
        // A quote as a single letter, where an apostrophe begins no text.
        return text.starts_with("'\"'").then_some(3);
    };
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let is_end = *letter == quote && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        is_end
    });
    end.map(|(at, _)| at + 1)
}

/// Returns how many of the lines are the first statement: those up to the one that closes its brackets. A block is no
/// statement, nor is a list of declarations, as `const (` begins one.
fn length(lines: &[CodeLine]) -> usize {
    let first = lines[0].text.as_str();
    let is_whole = is_import(first) || opens_value(first);
    if first.ends_with(" (") && !is_whole {
        return 1;
    }
    let mut depth = 0;
    for (number, line) in lines.iter().take(MAX_LINES).enumerate() {
        depth += line.brackets + if is_whole { line.braces } else { 0 };
        if depth <= 0 && !lines.get(number + 1).is_some_and(|next| goes_on(&line.text, &next.text)) {
            return number + 1;
        }
        if !is_whole && line.text.ends_with('{') {
            break;
        }
    }
    1
}

/// Returns whether a line ends with the opening bracket of a value, as `= [`, `= {` and `= Limits {`, and not of a block.
fn opens_value(line: &str) -> bool {
    let Some((before, value)) = line.rsplit_once("= ") else { return false };
    let is_compared = before.ends_with(['=', '!', '<', '>']) || line.contains("if ") || line.contains("while ");
    let of_type =
        |name: &str| !name.contains(char::is_whitespace) && name.contains(|letter: char| !letter.is_lowercase());
    let opens = |kind: &str| ["[", "(", "{"].contains(&kind);
    !is_compared && (opens(value) || value.strip_suffix('{').is_some_and(|name| of_type(name.trim_end())))
}

/// Returns whether a statement whose brackets are closed goes on in the next line.
fn goes_on(line: &str, next: &str) -> bool {
    let is_call = next.strip_prefix('.').is_some_and(|name| name.starts_with(char::is_alphabetic));
    [" =", " =>", "\\", "&&", "||"].iter().any(|end| line.ends_with(end))
        || (is_call || ["?.", "&&", "||", "|>"].iter().any(|start| next.starts_with(start)))
            && !line.ends_with([';', ',', '{', '}'])
}

/// Returns the text as no formatter changes it: without white space outside of quotes, with one kind of quotes, without
/// brackets around the only parameter of a function, and without a mark at the end.
fn key(text: &str, quotes: &str) -> String {
    let (mut key, mut rest) = (String::new(), text);
    while let Some(letter) = rest.chars().next() {
        let length = quoted(rest, quotes).unwrap_or(letter.len_utf8());
        if length > 1 && quotes.contains(letter) {
            key.extend(["\"", &rest[1..length - 1], "\""]);
        } else if !letter.is_whitespace() {
            key += &rest[..length];
        }
        rest = &rest[length..];
    }
    for (at, _) in key.clone().rmatch_indices(")=>") {
        let start = key[..at].trim_end_matches(is_of_word).len();
        if start < at && key[..start].ends_with('(') && !key[..start - 1].ends_with(is_of_word) {
            key.remove(at);
            key.remove(start - 1);
        }
    }
    key.replace(",)", ")").replace(",]", "]").replace(",}", "}").trim_end_matches([',', ';']).to_owned()
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
        // A string over several lines is not a comment, and neither is what follows.
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
    fn comments_are_known_by_their_marks() {
        for (path, old, new) in [
            ("a.c", "#define LIMIT 3", "#define LIMIT 3 /* s */"),
            ("a.c", "int LIMIT = 3; /* a\n LIMIT */ f();", "int LIMIT = 3;\nf(); // LIMIT"),
            ("a.cs", "LIMIT = 3;", "LIMIT = 3;//sec"),
            ("a.tsx", "<a b={LIMIT}>{/* LIMIT */}</a>", "<a b={LIMIT}>{/* the LIMIT */}</a>"),
            ("a.graphql", "LIMIT: Int # a", "LIMIT: Int # b"),
            ("a.R", "LIMIT <- 3 # a", "LIMIT <- 3 # b"),
            ("a.ps1", "LIMIT = 3 <# a #>", "LIMIT = 3 # b"),
            ("a.pyi", "LIMIT: int # a", "LIMIT: int"),
            ("a.php", "$LIMIT = 3; # a", "$LIMIT = 3; // b"),
            (".env.example", "LIMIT=3 # a", "LIMIT=3"),
            ("a.properties", "LIMIT=3\n# LIMIT", "LIMIT=3"),
            ("a.clj", "(def LIMIT 3) ; a", "(def LIMIT 3) ; b"),
            ("a.erl", "LIMIT = 3. % a", "LIMIT = 3."),
            ("a.sql", "SELECT LIMIT /* a */ FROM b", "SELECT LIMIT FROM b"),
            ("a.lua", "LIMIT = 3 --[[ a\nLIMIT ]]", "LIMIT = 3 -- b"),
            ("a.rb", "=begin\nLIMIT\n=end\nLIMIT = 3", "LIMIT = 3"),
            ("a.py", "r\"\"\"LIMIT\"\"\"\nLIMIT = 3", "LIMIT = 3"),
            ("a.ex", "@doc \"\"\"\nLIMIT\n\"\"\"\nLIMIT = 3", "LIMIT = 3"),
        ] {
            check(path, old, new, "same");
        }
        for (path, old, new) in [
            ("a.sh", "LIMIT='a # b'", "LIMIT='a # c'"),
            ("a.ts", "LIMIT = 'http://a/*'; f('*/')", "LIMIT = 'http://b/*'; f('*/')"),
            ("a.md", "See src/* there\nThe LIMIT is 3", "See src/* there\nThe LIMIT is 4"),
        ] {
            check(path, old, new, "LIMIT");
        }
    }

    #[test]
    fn a_formatter_changes_nothing() {
        for (path, old, new) in [
            ("a.rs", "fn take<'a>(x: &'a str, y: &'a str) {", "fn take<'a>(\n    x: &'a str,\n    y: &'a str,\n) {"),
            ("a.rs", "const LIMIT: Duration = f(3);", "const LIMIT: Duration =\n    f(3);"),
            ("a.ts", "const LIMIT = 3", "const LIMIT = 3;"),
            ("a.ts", "const take = x => x", "const take = (x) => x;"),
            ("a.ts", "const take = a.b(1).c();", "const take = a\n  .b(1)\n  .c();"),
            ("a.ts", "const LIMIT = {a: 1, b: 2};", "const LIMIT = {\n  a: 1,\n  b: 2,\n};"),
        ] {
            check(path, old, new, "same");
            check(path, new, old, "same");
        }
    }

    #[test]
    fn a_value_may_follow_on_other_lines() {
        for (path, old) in [
            ("a.rs", "const LIMIT: u8 =\n    3;"),
            ("a.ts", "const LIMIT = a\n  .b(3)"),
            ("a.ts", "const LIMIT = {\n  a: 3,\n}"),
            ("a.rs", "const LIMIT: Limits = Limits {\n    a: [{ 3 }],\n};"),
            ("a.go", "var LIMIT = map[string]int{\n\t\"a\": 3,\n}"),
            ("a.ts", "const LIMIT = [\n  {\n    a: 3,\n  },\n];"),
            ("a.py", "LIMIT = \"\"\"\nSELECT 3 -- x\n\"\"\""),
        ] {
            check(path, old, &old.replace('3', "4"), "LIMIT");
        }
        // A block is no value.
        check("a.rs", "let LIMIT = match a {\n    a => 3,\n};", "let LIMIT = match a {\n    a => 4,\n};", "same");
        check("a.css", ".LIMIT {\n}\n.b { a: 3 }", ".LIMIT {\n}\n.b { a: 4 }", "same");
    }

    #[test]
    fn imports_count_only_if_nothing_else_has_the_name() {
        for (path, old, new) in [
            ("a.ts", "import { LIMIT } from './c'", "import { LIMIT, B } from './c'"),
            ("a.ts", "import {\n  LIMIT,\n} from './c'", "import {\n  B,\n  LIMIT,\n} from './d'"),
            ("a.js", "const { LIMIT } = require('./c')", "const { LIMIT, B } = require('./c')"),
            ("a.rs", "use x::{LIMIT};", "use x::{A, LIMIT};"),
            ("a.rs", "pub(crate) use x::{\n    LIMIT,\n};", "pub(crate) use x::{A, LIMIT};"),
            ("a.py", "from x import LIMIT", "from x import LIMIT, Other"),
            ("a.c", "#include LIMIT", "#include <LIMIT>"),
        ] {
            check(path, &format!("{old}\nf(LIMIT)"), &format!("{new}\nf(LIMIT)"), "same");
            check(path, old, new, "LIMIT");
        }
    }

    #[test]
    fn only_definitions_count_of_a_common_name() {
        let uses = |n: u8| format!("f({n}, LIMIT);\n").repeat(9);
        let text = |value: u8, uses: &str| format!("pub const LIMIT: u8 = {value};\n{uses}");
        check("a.rs", &text(1, &uses(1)), &text(1, &uses(2)), "same");
        check("a.rs", &text(1, &uses(1)), &text(2, &uses(1)), "LIMIT");
        for (path, old, new) in [
            ("a.rs", "pub(crate) const LIMIT: u8 = 3;", "pub(crate) const LIMIT: u8 = 4;"),
            ("a.c", "#define LIMIT 3", "#define LIMIT 4"),
            ("a.go", "func (q *Queue) LIMIT(a int)", "func (q *Queue) LIMIT(b int)"),
            ("a.c", "struct user *LIMIT(int a)", "struct user *LIMIT(int b)"),
            ("a.java", "List<User> LIMIT(int a)", "List<User> LIMIT(int b)"),
            ("a.json", "\"LIMIT\": 30", "\"LIMIT\": 31"),
        ] {
            check(path, &format!("{old}\n{}", uses(1)), &format!("{new}\n{}", uses(1)), "LIMIT");
        }
        for n in ["return LIMIT(1)", "if (a) LIMIT(1)", "case LIMIT:", "await LIMIT(1)"] {
            check("a.ts", &format!("{n}\n{}", uses(1)), &uses(1), "nowhere");
        }
    }
}
