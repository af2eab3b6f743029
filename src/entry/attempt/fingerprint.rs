//! Whether two errors are the same, apart from details that change from run to run.

use xxhash_rust::xxh3::Xxh3;

use crate::text::words;

/// The length from which a word of hexadecimal digits counts as an address or a hash, if one is a digit.
const LONG_HEX: usize = 8;
/// The longest line that is compared with others, in bytes.
const MAX_LINE: usize = 2_000;
/// The words by which programs call an error.
const WORDS_OF_ERRORS: [&str; 7] = ["error", "failed", "failure", "fatal", "panicked", "panic", "exception"];
/// The units of durations and sizes, which change with the number before them.
const UNITS: [&str; 14] = ["ns", "us", "µs", "ms", "s", "sec", "secs", "m", "min", "mins", "h", "b", "kb", "mb"];

/// The beginnings of lines that say only that something failed, in lower case and folded: any two failures may have them.
const CLOSINGS: [&str; 21] = [
    "error: could not compile",
    "error: aborting due to",
    "error: test failed, to rerun",
    "error: process didn't exit successfully",
    "for more information about this error",
    "test result: failed",
    "thread 'main' panicked at",
    "thread 'main' (0) panicked at",
    "assertion `left == right` failed",
    "assertionerror: expected",
    "traceback (most recent call last)",
    "failures (",
    "npm err!",
    "npm error",
    "make: ***",
    "make[0]: ***",
    "error command failed with exit code",
    "command exited with",
    "found 0 error",
    "panic: runtime error:",
    "process completed with exit code",
];
/// What the system says of any file and any port.
const OF_SYSTEM: [&str; 5] =
    ["(os error ", "no such file or directory", "permission denied", "connection refused", "address already in use"];
/// Names that are of no project.
const COMMON_NAMES: [&str; 10] =
    ["null", "undefined", "any", "string", "number", "boolean", "object", "never", "nonetype", "none"];
/// The fewest words that tell one error from others.
const LEAST_WORDS: usize = 4;

/// Returns the fingerprint of a line of a program's output that tells one error from others: equal for lines that differ
/// only in case, white space, paths, numbers and addresses. `None` for a line that many errors share.
pub fn line_fingerprint(line: &str) -> Option<u64> {
    let line = line.trim();
    // A program that prints all of its output in one line has no lines to compare.
    if line.len() > MAX_LINE {
        return None;
    }
    let is_of_any = is_formula(line) && !line.split_whitespace().any(is_name);
    let line = line.split_whitespace().map(folded).collect::<Vec<_>>().join(" ");
    let is_telling = |word: &String| word.chars().filter(|letter| letter.is_alphabetic()).count() > 1;
    let n_telling = words(&line).into_iter().filter(is_telling).count();
    let is_rule = line.starts_with(['=', '-', '_', '*']);
    let is_closing = CLOSINGS.iter().any(|closing| line.starts_with(closing));
    if n_telling < LEAST_WORDS || is_rule || is_closing || is_of_any { None } else { error_fingerprint(&line) }
}

/// Returns whether a compiler or the system has such a line for every project: with a place or a code before it, or what the
/// system says of any file.
fn is_formula(line: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_code = |word: &str| {
        let word = word.trim_end_matches(':');
        let code = word.strip_prefix("error[E").and_then(|code| code.strip_suffix(']')).or(word.strip_prefix("TS"));
        code.is_some_and(is_number)
    };
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_place = first.split_once(':').is_some_and(|(row, column)| is_number(row) && is_number(column));
    let is_of_file = first.ends_with(':') && is_path(first.trim_end_matches(':'));
    let folded = line.to_lowercase();
    let is_of_system = OF_SYSTEM.iter().any(|text| folded.contains(text));
    is_place || is_of_file || is_of_system || line.split_whitespace().take(3).any(is_code)
}

/// Returns whether a word is the name of something in a project: it is quoted, or written as programs write names.
fn is_name(word: &str) -> bool {
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    let is_inner = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    let is_written = core.contains('_') || core.contains("::") || core.as_bytes().windows(2).any(is_inner);
    let is_quoted = word.starts_with(['\'', '"', '`']);
    core.chars().filter(|letter| letter.is_alphabetic()).count() > 1
        && !is_path(core)
        && !["Error", "Exception"].iter().any(|end| core.ends_with(end))
        && !COMMON_NAMES.contains(&core.to_lowercase().as_str())
        && (is_quoted || is_written)
}

/// Returns a hash of an error's text, equal for texts that differ only in case, white space, paths, numbers and
/// addresses; `None` for a text without a letter.
pub(crate) fn error_fingerprint(text: &str) -> Option<u64> {
    if !text.contains(char::is_alphabetic) {
        return None;
    }
    let mut hash = Xxh3::new();
    for word in text.split_whitespace() {
        hash.update(folded(word).as_bytes());
        hash.update(b" ");
    }
    Some(hash.digest())
}

/// Returns the most telling line of an error's text, without its outer white space: the first line that calls itself an
/// error, else the last one with a letter, where most programs say why they gave up.
pub(crate) fn error_line(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| line.contains(char::is_alphabetic));
    lines().find(|line| says_error(line)).or_else(|| lines().next_back())
}

/// Returns the lines of an output, those first that are likely to be the most telling one of an error: the lines that call
/// themselves an error, then the others from the end.
pub(crate) fn error_lines(text: &str) -> impl Iterator<Item = &str> {
    let (errors, others): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| line.len() <= MAX_LINE).partition(|line| says_error(line));
    errors.into_iter().chain(others.into_iter().rev())
}

/// Returns whether a line has a word by which programs call an error, or the name of an exception.
fn says_error(line: &str) -> bool {
    let is_exception = |word: &str| ["Error:", "Exception:"].iter().any(|end| word.ends_with(end));
    let is_none = |word: &str| matches!(word, "0" | "no" | "without");
    let mut before = String::new();
    let says = words(line).into_iter().any(|word| {
        let says = WORDS_OF_ERRORS.contains(&word.as_str()) && !is_none(&before);
        before = word;
        says
    });
    says || line.split_whitespace().any(is_exception)
}

/// Returns a word without the parts that may change from run to run.
fn folded(word: &str) -> String {
    let word = word.to_lowercase();
    let is_edge = |character: char| !character.is_alphanumeric() && !matches!(character, '/' | '\\' | '.' | '~' | '_');
    let core = word.trim_matches(is_edge);
    let start = word.find(core).unwrap_or(0);
    let (before, after) = (&word[..start], &word[start + core.len()..]);
    if is_path(core) {
        return format!("{before}/{after}");
    }
    let mut kept = String::from(before);
    let mut rest = core;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
        let (part, next) = if length == 0 { rest.split_at(first.len_utf8()) } else { rest.split_at(length) };
        kept.push_str(&folded_part(part));
        rest = next;
    }
    kept.push_str(after);
    // The rest of a number with a fraction, a version or a time of day.
    while kept.contains("0.0") || kept.contains("0:0") {
        kept = kept.replace("0.0", "0").replace("0:0", "0");
    }
    kept
}

fn is_path(word: &str) -> bool {
    let has_name = word.contains(char::is_alphanumeric);
    let is_place = word
        .split_once(':')
        .is_some_and(|(file, place)| file.contains('.') && place.starts_with(|digit: char| digit.is_ascii_digit()));
    has_name && (word.contains(['/', '\\']) || is_place)
}

/// Returns a run of letters and digits without its numbers.
fn folded_part(part: &str) -> String {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = part.contains(|digit: char| digit.is_ascii_digit());
    if part.strip_prefix("0x").is_some_and(|digits| !digits.is_empty() && is_hex(digits))
        || (has_digit && part.len() >= LONG_HEX && is_hex(part))
    {
        return "0".to_owned();
    }
    let unit = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
    if unit.len() < part.len() && UNITS.contains(&unit) {
        return "0".to_owned();
    }
    let mut kept = String::with_capacity(part.len());
    for character in part.chars() {
        if !character.is_ascii_digit() {
            kept.push(character);
        } else if !kept.ends_with('0') {
            kept.push('0');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        assert_eq!(error_fingerprint(one) == error_fingerprint(other), same, "{one:?} {other:?}");
    }

    #[test]
    fn details_that_change_from_run_to_run_are_folded() {
        check("error[E0308]: mismatched types", "ERROR[E0308]:   mismatched types\n", true);
        check("at src/a.rs:10:5", "at src/other/b.rs:7", true);
        check("a.rs:10: no", "b.rs:11: no", true);
        check("(/tmp/.tmpAbC1/x)", "(/tmp/.tmpZz9/y)", true);
        check("C:\\a\\b.rs failed", "D:\\c.rs failed", true);
        check("finished in 0.31s", "finished in 12s", true);
        check("took 3ms", "took 1.5s", true);
        check("at 0x7ffe12ab", "at 0x55d0", true);
        check("commit 4b825dc642cb failed", "commit 1234567890ab failed", true);
        check("pid 812", "pid 4711", true);
        check("12:31:07 boom", "03:00:59 boom", true);
        check("test_17 failed", "test_18 failed", true);
        let panicked = "thread 'main' (812) panicked at src/a.rs:10:5 after 0.31s";
        check(panicked, "Thread 'main' (4711)  panicked at /tmp/x/src/a.rs:12:9 after 2ms", true);
        check(panicked, "thread 'main' (812) overflowed its stack", false);
    }

    #[test]
    fn different_errors_have_different_fingerprints() {
        check("mismatched types", "unresolved import", false);
        check("assertion failed: expected Ok", "assertion failed: expected Err", false);
        check("deadbeef", "feedface", false);
        check("a b", "b a", false);
    }

    #[test]
    fn the_most_telling_line_is_found() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(error_line(text), expected, "{text:?}");
        check("\n  only this  \n", Some("only this"));
        check("first\nlast\n---\n12\n", Some("last"));
        check("running 3 tests\ntest a::b ... FAILED\ntest c ... ok", Some("test a::b ... FAILED"));
        check("Traceback (most recent call last):\n  File \"a.py\"\nValueError: no\nbye", Some("ValueError: no"));
        check("0 failed, 3 passed\nthread 'main' panicked at src/a.rs:1", Some("thread 'main' panicked at src/a.rs:1"));
        check("no error here\nwithout failure\ndone", Some("done"));
        check("Compiling thiserror v1\nbye", Some("bye"));
        let rustc = "   Compiling thiserror v2.0.1\nerror[E0308]: mismatched types\n  --> src/a.rs:10:5";
        check(rustc, Some("error[E0308]: mismatched types"));
        check("", None);
        check("\n 12 \n--", None);
    }

    #[test]
    fn without_words_there_is_no_error() {
        for text in ["", " \n", "123", "---"] {
            assert_eq!(error_fingerprint(text), None, "{text:?}");
        }
    }
    #[test]
    fn only_a_line_that_tells_errors_apart_has_a_fingerprint() {
        let check = |line: &str, expected: bool| assert_eq!(line_fingerprint(line).is_some(), expected, "{line:?}");
        check("test keep::tests::stays_open_for_a_minute ... FAILED", true);
        check("TypeError: Cannot read properties of undefined (reading 'id')", true);
        check("error[E0425]: cannot find value `idle` in this scope", true);
        check("thread 'keep::tests::idle' panicked at src/keep.rs:10:5:", true);
        check("src/a.ts(7,6): error TS2322: Type 'Cart' is not assignable to type 'Order'.", true);
        check("./a.go:7:6: cannot use price_cart as int value in return statement", true);
        check("  1:2  error  'load_cart' is assigned a value but never used  no-unused-vars", true);
        for line in [
            "error[E0308]: mismatched types",
            "FAILED tests/test_x.py::test_y - AssertionError: assert 1 == 2",
            "error: could not compile `shop` (lib test) due to 2 previous errors",
            "error: test failed, to rerun pass `--lib`",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; finished in 0.01s",
            "thread 'main' panicked at src/main.rs:2:5:",
            "thread 'main' (4711) panicked at src/main.rs:2:5:",
            "===== 1 failed, 3 passed, 2 warnings in 0.31s =====",
            "npm ERR! Test failed.  See above for more details.",
            "make[2]: *** [Makefile:12: all] Error 2 in the folder",
            "src/a.ts(76,64): error TS2554: Expected 64 arguments, but got 76.",
            "src/a.ts(3,1): error TS2531: Object is possibly 'null'.",
            "src/a.ts(1,8): error TS2307: Cannot find module './b' or its corresponding type declarations.",
            "error[E0106]: missing lifetime specifier in this type",
            "error: couldn't read `src/a.rs`: No such file or directory (os error 2)",
            "  58:36  error  Parsing error: Unexpected token, expected \",\"",
            "  12:9  error  Unexpected any. Specify a different type  @typescript-eslint/no-explicit-any",
            "panic: runtime error: invalid memory address or nil pointer dereference",
            "Found 3 errors in 2 files.",
            "",
        ] {
            check(line, false);
        }
        check(&"error in the words ".repeat(200), false);
        let one = line_fingerprint("error: the server at 10.0.0.1:80 closed the connection after 31 s");
        assert_eq!(one, line_fingerprint("  Error: the server at 10.2.0.7:8080 closed the connection after 9 s"));
    }
}
