//! Merges two versions of a body, block by block.

use std::collections::HashSet;

use similar::{Algorithm, DiffOp, capture_diff};

use crate::entry::body::{bare, parts};

/// The most blocks of both versions, without those that are equal at the beginning and at the end, that are compared
/// block by block. The time grows with their square, and whoever wrote them may want git to wait.
const MAX_COMPARED: usize = 4_000;

/// A version of a body, compared with the blocks of the base.
struct Side<'a> {
    parts: Vec<&'a str>,
    folded: Vec<String>,
    /// For each block of the base, which of the parts it is; `None` if it was removed.
    kept: Vec<Option<usize>>,
    /// The parts that were added before each block of the base, and after the last.
    added: Vec<Vec<usize>>,
}

impl<'a> Side<'a> {
    fn new(base: &[String], body: &'a str) -> Side<'a> {
        let parts = parts(body);
        let folded: Vec<String> = parts.iter().map(|part| fold(part)).collect();
        let mut side = Side { kept: vec![None; base.len()], added: vec![Vec::new(); base.len() + 1], parts, folded };
        for op in differences(base, &side.folded) {
            match op {
                DiffOp::Equal { old_index, new_index, len } => {
                    (0..len).for_each(|at| side.kept[old_index + at] = Some(new_index + at));
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert { old_index, new_index, new_len }
                | DiffOp::Replace { old_index, new_index, new_len, .. } => {
                    side.added[old_index].extend(new_index..new_index + new_len);
                }
            }
        }
        side
    }

    /// Returns its text for the blocks of the base from `start` up to `end`, with the additions before each.
    fn version(&self, start: usize, end: usize) -> Vec<usize> {
        (start..end).flat_map(|at| self.added[at].iter().copied().chain(self.kept[at])).collect()
    }

    fn has_added(&self, start: usize, end: usize) -> bool {
        self.added[start..end].iter().any(|added| !added.is_empty())
    }

    fn is_unchanged(&self, start: usize, end: usize) -> bool {
        !self.has_added(start, end) && self.kept[start..end].iter().all(Option::is_some)
    }
}

/// Returns what is equal and what is not, in order. More than can be compared is not equal.
fn differences(base: &[String], side: &[String]) -> Vec<DiffOp> {
    let is_equal = |(old, new): &(&String, &String)| old == new;
    let head = base.iter().zip(side).take_while(is_equal).count();
    let (old, new) = (&base[head..], &side[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(is_equal).count();
    let (old_end, new_end) = (base.len() - tail, side.len() - tail);
    let (old_len, new_len) = (old_end - head, new_end - head);
    if old_len + new_len <= MAX_COMPARED {
        return capture_diff(Algorithm::Myers, base, 0..base.len(), side, 0..side.len());
    }
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: head },
        DiffOp::Replace { old_index: head, old_len, new_index: head, new_len },
        DiffOp::Equal { old_index: old_end, new_index: new_end, len: tail },
    ]
}

/// Returns a block in the form for comparisons: line ends and trailing white space do not count.
fn fold(part: &str) -> String {
    bare(part).lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Returns the merged body, and the number of its conflicts, between markers of `marker_size` characters.
///
/// A change of one side alone is taken over. Additions of both at one place follow each other, ours first, equal blocks
/// once. Blocks that both changed, or that one side changed and the other removed, are a conflict. `newline` ends the
/// lines that are not ours.
pub(super) fn merge(base: &str, ours: &str, theirs: &str, marker_size: usize, newline: &str) -> (String, usize) {
    let base: Vec<String> = parts(base).into_iter().map(fold).collect();
    let (ours_side, theirs_side) = (Side::new(&base, ours), Side::new(&base, theirs));
    let begins_blank = ours.starts_with(['\n', '\r']) || ours.is_empty();
    let mut merged = MergedBlocks { text: String::new(), newline, begins_blank };
    let mut n_conflicts = 0;
    let mut at = 0;
    loop {
        // The blocks from here on that at least one side removed.
        let is_out = |at: &usize| ours_side.kept[*at].is_none() || theirs_side.kept[*at].is_none();
        let end = at + (at..base.len()).take_while(is_out).count();
        if end > at {
            let (mine, yours) = (ours_side.version(at, end), theirs_side.version(at, end));
            let text = |side: &Side<'_>, version: &[usize]| -> Vec<String> {
                version.iter().map(|part| side.folded[*part].clone()).collect()
            };
            let is_out_of_both = |at: usize| ours_side.kept[at].is_none() && theirs_side.kept[at].is_none();
            let is_conflict =
                (at..end).any(is_out_of_both) && (ours_side.has_added(at, end) || theirs_side.has_added(at, end));
            if text(&ours_side, &mine) == text(&theirs_side, &yours) || theirs_side.is_unchanged(at, end) {
                for part in mine {
                    merged.push(ours_side.parts[part]);
                }
            } else if ours_side.is_unchanged(at, end) {
                for part in yours {
                    merged.push(theirs_side.parts[part]);
                }
            } else if is_conflict {
                n_conflicts += 1;
                let mine: Vec<&str> = mine.iter().map(|part| ours_side.parts[*part]).collect();
                let yours: Vec<&str> = yours.iter().map(|part| theirs_side.parts[*part]).collect();
                merged.conflict(&mine, &yours, marker_size);
            } else {
                // The other side left the removed blocks alone, so only additions between them remain.
                (at..end).for_each(|at| merged.push_added(&ours_side, &theirs_side, at));
            }
            at = end;
            continue;
        }
        merged.push_added(&ours_side, &theirs_side, at);
        let Some(part) = ours_side.kept.get(at).copied().flatten() else { break };
        merged.push(ours_side.parts[part]);
        at += 1;
    }
    (merged.ended_like(ours), n_conflicts)
}

/// A body under construction.
struct MergedBlocks<'a> {
    text: String,
    newline: &'a str,
    /// Whether a blank line is between the frontmatter and the first block.
    begins_blank: bool,
}

impl MergedBlocks<'_> {
    /// Adds a part, with a blank line before it if there is none.
    fn push(&mut self, part: &str) {
        let ends_blank = self.text.ends_with("\n\n") || self.text.ends_with("\n\r\n");
        if !self.text.trim().is_empty() && !ends_blank {
            if !self.text.ends_with('\n') {
                self.text.push_str(self.newline);
            }
            self.text.push_str(self.newline);
        }
        let is_first = self.text.is_empty();
        if is_first && self.begins_blank && !part.starts_with(['\n', '\r']) {
            self.text.push_str(self.newline);
        }
        let part = if is_first { part } else { part.trim_start_matches(['\n', '\r']) };
        let has_own = !part.contains('\n') || (part.contains("\r\n") == (self.newline == "\r\n"));
        if has_own {
            self.text.push_str(part);
        } else {
            self.text.push_str(&part.replace("\r\n", "\n").replace('\n', self.newline));
        }
    }

    /// Adds the additions of both before a block of the base, equal blocks once.
    fn push_added(&mut self, ours: &Side<'_>, theirs: &Side<'_>, at: usize) {
        let mine: HashSet<&str> = ours.added[at].iter().map(|part| ours.folded[*part].as_str()).collect();
        for part in &ours.added[at] {
            self.push(ours.parts[*part]);
        }
        for part in &theirs.added[at] {
            if !mine.contains(theirs.folded[*part].as_str()) {
                self.push(theirs.parts[*part]);
            }
        }
    }

    /// Returns the text with the same ending after its last line as our version has.
    fn ended_like(self, ours: &str) -> String {
        let text = self.text.trim_end();
        if text.is_empty() {
            return String::new();
        }
        let own = ours.trim_end();
        let end = &ours[own.len()..];
        let has_none = end.is_empty() && text != own;
        format!("{text}{}", if own.is_empty() || has_none { self.newline } else { end })
    }

    fn conflict(&mut self, ours: &[&str], theirs: &[&str], marker_size: usize) {
        let line = |mark: &str, label: &str| format!("{}{label}", mark.repeat(marker_size));
        let text = |version: &[&str]| version.iter().map(|part| bare(part)).collect::<Vec<_>>().join("\n\n");
        let versions = [line("<", " ours"), text(ours), line("=", ""), text(theirs), line(">", " theirs")];
        let lines: Vec<&str> = versions.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        self.push(&format!("{}\n\n", lines.join("\n")).replace("\r\n", "\n").replace('\n', self.newline));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, ours: &str, theirs: &str, expected: &str) {
        let (merged, n_conflicts) = merge(base, ours, theirs, 7, "\n");
        assert_eq!(merged, expected);
        assert_eq!(n_conflicts, expected.matches("<<<<<<< ours\n").count());
    }

    #[test]
    fn changes_of_one_side_are_taken_over() {
        let base = "\nA.\n\nB.\n\nC.\n";
        check(base, base, "\nA.\n\nB two.\n\nC.\n", "\nA.\n\nB two.\n\nC.\n");
        check(base, "\nA one.\n\nB.\n\nC.\n", "\nA.\n\nB.\n\nC two.\n", "\nA one.\n\nB.\n\nC two.\n");
        // Neighbours, a removed block, white space.
        check(base, "\nA one.\n\nB.\n\nC.\n", "\nA.\n\nB two.\n\nC.\n", "\nA one.\n\nB two.\n\nC.\n");
        check(base, "\nA.\n\nC.\n", "\nA.\n\nB.\n\nC two.\n", "\nA.\n\nC two.\n");
        check(base, "\nA.\n\nB.  \n\n\nC.\n", "\nA.\n\nB.\n\nC.\n\nD.\n", "\nA.\n\nB.  \n\n\nC.\n\nD.\n");
        check(base, "\nC.\n", "\nA.\n", "");
        check(base, "\nB.\n\nC.\n", "\nA.\n\nB.\n", "\nB.\n");
    }

    #[test]
    fn additions_of_both_sides_follow_each_other() {
        let base = "\nA.\n";
        check(base, "\nA.\n\nB.\n", "\nA.\n\nC.\n", "\nA.\n\nB.\n\nC.\n");
        check(base, "\nA.\n\nB.\n\nC.\n", "\nA.\n\nC.\n\nD.\n", "\nA.\n\nB.\n\nC.\n\nD.\n");
        check("", "\nA.\n\nB.\n", "\nB.\n\nC.\n", "\nA.\n\nB.\n\nC.\n");
        check("", "\nA.", "\nC.\n", "\nA.\n\nC.\n");
        check("", "", "\nC.\n", "\nC.\n");
        // A fence is a block, whatever is inside.
        check(base, "\nA.\n\n```\nx\n\ny\n```\n", "\nA.\n\n- i\n- j\n", "\nA.\n\n```\nx\n\ny\n```\n\n- i\n- j\n");
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let [base, ours, theirs, expected] = ["\nA.\n", "\nA.\n\nB.\n", "\nA.\n\nC.\n", "\nA.\n\nB.\n\nC.\n"].map(crlf);
        assert_eq!(merge(&base, &ours, &theirs, 7, "\r\n"), (expected, 0));
    }

    #[test]
    fn versions_that_take_long_to_compare_are_a_conflict_as_a_whole() {
        let blocks = |step: usize, more: &str| -> String {
            let letters = (0..3_000).map(|at| ((at * at + step) % 7).to_string() + "\n\n");
            format!("\nFirst.\n\n{}{more}Last.\n", letters.collect::<String>())
        };
        let (base, ours, theirs) = (blocks(3, ""), blocks(5, ""), blocks(11, ""));
        let (merged, n_conflicts) = merge(&base, &ours, &theirs, 7, "\n");
        assert_eq!(n_conflicts, 1);
        let part = |body: &str| body["\nFirst.\n\n".len()..body.len() - "\n\nLast.\n".len()].to_owned();
        let expected =
            format!("\nFirst.\n\n<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n\nLast.\n", part(&ours), part(&theirs));
        assert_eq!(merged, expected);
        // The length alone is no reason.
        check(&base, &blocks(3, "Ours.\n\n"), &base.replace("First.", "Theirs."), &{
            blocks(3, "Ours.\n\n").replace("First.", "Theirs.")
        });
    }

    #[test]
    fn changes_of_both_sides_are_a_conflict() {
        let base = "\nA.\n\nB.\n\nC.\n";
        let expected = "\nA.\n\n<<<<<<< ours\nB one.\n=======\nB two.\n\nMore.\n>>>>>>> theirs\n\nC.\n";
        check(base, "\nA.\n\nB one.\n\nC.\n", "\nA.\n\nB two.\n\nMore.\n\nC.\n", expected);
        check(base, "\nA.\n\nB one.\n\nC.\n", "\nA.\n\nB one.\n\nC.\n", "\nA.\n\nB one.\n\nC.\n");
        let expected = "\nA.\n\n<<<<<<< ours\n=======\nB two.\n>>>>>>> theirs\n\nC.\n";
        check(base, "\nA.\n\nC.\n", "\nA.\n\nB two.\n\nC.\n", expected);
        let (merged, _) = merge("\nB.\n", "\nB one.\n", "\nB two.\n", 12, "\n");
        assert!(merged.contains(&format!("\n{} theirs\n", ">".repeat(12))), "{merged}");
    }
}
