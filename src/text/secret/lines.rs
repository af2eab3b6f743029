//! Redacts text that arrives line by line, as it arrives.
//!
//! A line alone does not say what it is: a key has many lines, and a value may be on the line after its name. So each
//! line is redacted together with those before it, and lines that may be of a private key are held back until the end
//! of that key is known.

use super::{MAX_KEY_BYTES, find, is_allowed, is_of_key, redact_part};
use crate::text::floor;

/// How much text before a line is looked at, in bytes; more than a name and its value are apart.
const MAX_BEFORE: usize = 600;
/// The same in a table, whose first row names its columns.
const MAX_TABLE: usize = 8_192;
/// How long a word is at least that may be a line of a key, in characters.
const MIN_WORD: usize = 32;
/// How many words a line of a key has at most, with what stands before it: a number, a mark of a quotation.
const MAX_WORDS: usize = 3;

/// What a text has, in lower case, in which a line decides what the next one is: names of secrets, commands that take one, rows of a
/// table, and the ends of keys. Nearly no line has any of these, and all others are redacted alone.
const CONTEXT: &str = "\
    pass pw secret token cred auth bearer key basic user cookie login identified -p -u -b | ----- private- kty psk";

/// Redacts the lines of one output. Nothing is shown that [`redact`](super::redact) would replace in the whole text, except where a
/// key is longer than 20,000 bytes.
#[derive(Debug)]
pub(crate) struct LineRedactor<'a> {
    /// The fingerprints of texts that look like a secret and are not.
    allowed: &'a [String],
    /// The end of what was returned, as it came.
    before: String,
    /// Where in it the last line ends that decides what the next one is; 0 if there is none.
    decided: usize,
    /// Lines that may be of a private key.
    held: String,
    /// Whether the first of them is the first line of a key.
    has_begun: bool,
}

impl<'a> LineRedactor<'a> {
    pub(crate) fn new(allowed: &'a [String]) -> LineRedactor<'a> {
        LineRedactor { allowed, before: String::new(), decided: 0, held: String::new(), has_begun: false }
    }

    /// Takes the next line, and returns the lines that can be shown now.
    pub(crate) fn push(&mut self, line: &str) -> Vec<String> {
        let mut shown = Vec::new();
        if begins_key(line) {
            shown = self.finish();
            self.has_begun = true;
        } else if self.held.is_empty() && !is_bare(line) || !self.held.is_empty() && !self.continues(line) {
            self.hold(line);
            return self.finish();
        }
        self.hold(line);
        shown
    }

    /// Returns the lines that are held back: nothing follows them.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let text = format!("{}{}", self.before, self.held);
        // Looking for the words in all that came before would take longer than everything else.
        let lower = self.held.to_ascii_lowercase();
        if CONTEXT.split(' ').any(|word| lower.contains(word)) {
            self.decided = text.len();
        }
        let from = if self.decided > 0 { 0 } else { self.before.len() };
        let looked_at = &text[from..];
        let mut secrets = find(looked_at);
        secrets.retain(|secret| !is_allowed(secret, self.allowed));
        let shown = redact_part(looked_at, self.before.len() - from..looked_at.len(), &secrets);
        context(&text).clone_into(&mut self.before);
        self.decided = self.decided.saturating_sub(text.len() - self.before.len());
        self.held.clear();
        self.has_begun = false;
        shown.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
    }

    fn hold(&mut self, line: &str) {
        self.held.push_str(line);
        self.held.push('\n');
    }

    /// Returns whether the key, if it is one, may go on after this line.
    fn continues(&self, line: &str) -> bool {
        let n_words = line.split_whitespace().count();
        let is_likely = if self.has_begun {
            n_words <= MAX_WORDS || line.split_whitespace().any(|word| word.len() >= MIN_WORD)
        } else {
            n_words <= MAX_WORDS && line.bytes().all(is_of_key)
        };
        is_likely && !line.contains("-----") && self.held.len() + line.len() <= MAX_KEY_BYTES
    }
}

/// Returns whether a private key begins in this line, and does not end there.
fn begins_key(line: &str) -> bool {
    let Some((_, label)) = line.rsplit_once("-----BEGIN ") else { return false };
    label.split_once("-----").is_some_and(|(label, rest)| label.contains("PRIVATE KEY") && !rest.contains("-----END "))
}

/// Returns whether this may be a line of a key of which the first line is missing.
fn is_bare(line: &str) -> bool {
    let is_long =
        |word: &str| word.bytes().filter(|byte| !matches!(byte, b'"' | b',' | b'>' | b'|')).count() >= MIN_WORD;
    line.bytes().all(is_of_key) && line.split_whitespace().count() <= MAX_WORDS && line.split_whitespace().any(is_long)
}

/// Returns the end of a text that decides what the next line is: whole lines where it can.
fn context(text: &str) -> &str {
    let mut start = floor(text, text.len().saturating_sub(MAX_BEFORE));
    if start > 0 {
        start += text[start..].find('\n').filter(|at| start + at + 1 < text.len()).map_or(0, |at| at + 1);
    }
    // A table, from its first row.
    let mut rows = text.len();
    for row in text.split_inclusive('\n').rev().take_while(|row| row.contains('|')) {
        rows -= row.len();
    }
    &text[start.min(if text.len() - rows <= MAX_TABLE { rows } else { start })..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::redact;
    use super::*;

    fn shown(text: &str) -> Vec<Vec<String>> {
        let mut lines = LineRedactor::new(&[]);
        let mut shown: Vec<Vec<String>> = text.lines().map(|line| lines.push(line)).collect();
        shown.push(lines.finish());
        shown
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(shown(text).concat(), expected, "{text}");
    }

    fn key(n_lines: usize) -> String {
        let body: Vec<String> = (0..n_lines)
            .map(|at| format!("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMw{at:04}AA"))
            .collect();
        let (begin, end) =
            (["-----BEGIN OPENSSH PRI", "VATE KEY-----"].concat(), ["-----END OPENSSH PRI", "VATE KEY-----"].concat());
        format!("{begin}\n{}\nAbC=\n{end}", body.join("\n"))
    }

    #[test]
    fn a_key_is_one_line() {
        let key = key(5);
        check(&format!("reading\n{key}\ndone, all well"), &["reading", "[redacted: private-key]", "done, all well"]);
        check(&format!("key: {key}"), &["key: [redacted: private-key]"]);
        // Its beginning or its end is missing.
        let lines: Vec<&str> = key.lines().collect();
        check(&lines[2..].join("\n"), &["[redacted: private-key]"]);
        check(&lines[..4].join("\n"), &["[redacted: private-key]"]);
        check(&format!("{}\n(It was cut off.)", lines[..4].join("\n")), &["[redacted: private-key](It was cut off.)"]);
        // Quoted, indented, numbered, and two of them.
        for prefix in ["> ", "    ", "  12\t", "| "] {
            let text = lines.iter().map(|line| [prefix, line, "\n"].concat()).collect::<String>();
            let all = shown(&text).concat().join("\n");
            assert!(all.contains("[redacted: private-key]") && !all.contains("b3Blbn"), "{prefix:?} {all}");
        }
        check(&format!("{key}\n{key}"), &["[redacted: private-key]", "[redacted: private-key]"]);
        let with_headers = key.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233\n", 1);
        check(&with_headers, &["[redacted: private-key]"]);
    }

    #[test]
    fn nothing_of_a_key_is_shown_before_its_end() {
        let lines = format!("one\n{}", key(300));
        let shown = shown(&lines);
        assert_eq!(shown[0], ["one"]);
        assert!(shown[1..shown.len() - 2].iter().all(Vec::is_empty), "{shown:?}");
    }

    #[test]
    fn a_value_belongs_to_the_name_above_it() {
        let password = ["Gk7-pL2q", "z9rT"].concat();
        check(
            &format!("machine example.com\nlogin me\npassword {password}"),
            &["machine example.com", "login me", "password [redacted: password]"],
        );
        let table = format!("| name | password |\n| --- | --- |\n| a | {password} |");
        check(&table, &["| name | password |", "| --- | --- |", "| a | [redacted: password] |"]);
    }

    #[test]
    fn other_lines_come_at_once() {
        let check = |line: &str| assert_eq!(LineRedactor::new(&[]).push(line), [line]);
        check("   Compiling tiles v0.1.0 (/home/dev/project/crates/tiles)");
        check("test result: ok. 12 passed; 0 failed");
        check("-----");
        check("src/bin/tiles/commands/render/options.rs");
        // The next line says whether this is of a key.
        let hash = "0123456789abcdef0123456789abcdef01234567";
        let mut lines = LineRedactor::new(&[]);
        assert_eq!(lines.push(hash), Vec::<String>::new());
        assert_eq!(lines.push("It is the last commit."), [hash, "It is the last commit."]);
        // A text about keys.
        let begin = ["-----BEGIN PRI", "VATE KEY-----"].concat();
        let text = format!("{begin}\nis how a file with one begins, as you know.\nNext.");
        assert_eq!(super::tests::shown(&text).concat().join("\n"), text);
    }

    proptest! {
        /// What comes line by line is redacted as the whole is.
        #[test]
        fn lines_are_redacted_as_the_whole(parts in prop::collection::vec(0..12usize, 1..12)) {
            let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
            let all = parts.iter().map(|part| match part {
                0 => key(3),
                1 => key(40),
                2 => format!("Its end:\n{}", key(3).lines().skip(1).collect::<Vec<_>>().join("\n")),
                3 => format!("export GH={token}"),
                4 => "test result: ok. 12 passed; 0 failed".to_owned(),
                5 => "0123456789abcdef0123456789abcdef01234567".to_owned(),
                6 => "password:\n  none, as it is optional".to_owned(),
                7 => "machine example.com login me\npassword Gk7-pL2qz9rT".to_owned(),
                8 => key(3).lines().skip(1).take(3).collect::<Vec<_>>().join("\n") + "\nAbC=",
                9 => format!("Private-Lines: 2\n{}\nAbC=\nPrivate-MAC: 1", &key(1).lines().nth(1).unwrap()[..64]),
                10 => ["{\n  \"kty\": \"OKP\",\n  \"d\": \"Gk7_pL2qz9rT", "w4Xn8vBc\"\n}"].concat(),
                _ => "word".to_owned(),
            }).collect::<Vec<_>>().join("\n");
            // A line break beside a key may belong to it.
            let joined = |text: &str| text.replace('\n', "");
            prop_assert_eq!(joined(&shown(&all).concat().concat()), joined(&redact(&all, &[])), "{}", all);
        }
    }
}
