//! Titles of texts that have none.

use super::shorten;

/// Returns the first line of `text`, or its first sentence if that is shorter, cut between words to at most `limit`
/// characters, marked with `…` if it was cut.
pub fn first_sentence(text: &str, limit: usize) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    let marks = line.match_indices(['.', '!', '?']).map(|(at, _)| at);
    let end = marks.into_iter().find(|at| ends_sentence(line, *at)).map_or(line.len(), |at| at + 1);
    shorten(&line[..end], limit)
}

/// Words after which a sentence goes on.
const GOING_ON: [&str; 7] = ["e.g.", "i.e.", "vs.", "cf.", "approx.", "fig.", "incl."];
/// Words after which one goes on in lower case or with a number.
const OFTEN_GOING_ON: [&str; 4] = ["etc.", "sec.", "no.", "resp."];

/// Returns whether a sentence ends with the mark at a place of a line.
fn ends_sentence(line: &str, at: usize) -> bool {
    let (said, rest) = line.split_at(at + 1);
    let next = rest.trim_start().chars().next();
    if !rest.starts_with(char::is_whitespace) || is_in_brackets(said, rest) {
        return false;
    }
    let word = said.rsplit(|letter: char| letter.is_whitespace() || "([".contains(letter)).next().unwrap_or_default();
    let word = word.to_lowercase();
    let goes_on = next.is_some_and(|letter| letter.is_lowercase() || letter.is_numeric());
    let is_number = word.ends_with('.') && word[..word.len() - 1].ends_with(char::is_numeric);
    !GOING_ON.contains(&word.as_str()) && !(goes_on && (is_number || OFTEN_GOING_ON.contains(&word.as_str())))
}

/// Returns whether a bracket that is open at the end of one text closes in the other.
fn is_in_brackets(said: &str, rest: &str) -> bool {
    [('(', ')'), ('[', ']')]
        .into_iter()
        .any(|(open, close)| said.rfind(open).is_some_and(|at| !said[at..].contains(close)) && rest.contains(close))
}

/// The longest title that is made from a text, in characters.
const MAX_TITLE: usize = 80;

/// Returns a title for a text that has none: its first sentence, without the marks of a list, a heading or a quotation,
/// at most 80 characters.
pub fn title_of(text: &str) -> String {
    let line = text.lines().map(|line| line.trim().trim_start_matches(['#', '-', '*', '>', ' '])).find(|line| {
        // A line with only markup has no text.
        line.contains(char::is_alphanumeric)
    });
    let line = line.unwrap_or_else(|| text.lines().next().unwrap_or_default());
    // A sentence may continue on the next line.
    let from = line.as_ptr() as usize - text.as_ptr() as usize;
    let paragraph: Vec<&str> = text[from..].lines().take_while(|line| !line.trim().is_empty()).collect();
    first_sentence(&paragraph.join(" "), MAX_TITLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence_without_markup() {
        assert_eq!(title_of("- Use the nightly\ntoolchain. It is pinned."), "Use the nightly toolchain.");
        assert_eq!(title_of("---\n# A heading\n\nText."), "A heading");
        assert_eq!(first_sentence("Use `cargo b.c`. Then more.", 80), "Use `cargo b.c`.");
        assert_eq!(first_sentence("one two three", 8), "one two…");
    }

    #[test]
    fn a_sentence_does_not_end_in_a_word() {
        let check = |text: &str, expected: &str| assert_eq!(first_sentence(text, 200), expected, "{text}");
        for whole in [
            "Use e.g. the mirror.",
            "Use the mirror, i.e. Not the origin.",
            "Run it vs. Postgres.",
            "See sec. 4 of fig. 2, and cf. Chapter no. 3.",
            "It takes approx. Ten hours.",
            "Keys, certificates, etc. are in the vault.",
            "Version v1.2. and later ones work.",
            "Version 1. 2 works.",
            "Option B (e.g. Redis. It is quick) wins.",
            "Nodes [see A. and B.] are alike.",
        ] {
            check(&format!("{whole} More."), whole);
        }
        check("Keys, certificates, etc. More.", "Keys, certificates, etc.");
        check("Do we restart it? No. Never.", "Do we restart it?");
        check("It waits 30 sec. Then it ends.", "It waits 30 sec.");
        check("It is on port 80. Then it ends.", "It is on port 80.");
        check("It is sad :( today. More.", "It is sad :( today.");
    }
}
