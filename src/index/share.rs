//! How much of a query a document matches, independently of the others.

use tantivy::schema::IndexRecordOption;

use super::document::N_OF_STREAM;
use super::score::{Candidate, Scores, is_at};

/// Evidence that a document is about a query, independent of other matches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TermEvidence {
    /// How many of the query's words it has, stop words left out.
    pub words: usize,
    /// The share of the query's words by weight, from 0 to 1: a rare word counts more than a common one.
    pub share: f64,
}

impl Scores<'_> {
    /// Returns the evidence for each candidate, in the order of the candidates: by words or by parts of identifiers,
    /// whichever is more.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    pub(crate) fn evidence(&self, candidates: &[Candidate]) -> tantivy::Result<Vec<TermEvidence>> {
        let mut found = vec![[TermEvidence::default(); 2]; candidates.len()];
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|index| (candidates[*index].segment, candidates[*index].doc));
        for wanted in order.chunk_by(|one, other| candidates[*one].segment == candidates[*other].segment) {
            let number = candidates[wanted[0]].segment as usize;
            let segment = &self.snapshot.segments[number];
            for term in &self.plan.terms {
                let mut has = vec![false; wanted.len()];
                for planned in &term.fields {
                    let Some(info) = &planned.postings[number] else { continue };
                    let inverted = segment.reader.inverted_index(self.snapshot.fields.text[planned.field])?;
                    let mut postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
                    for (has, index) in has.iter_mut().zip(wanted) {
                        *has |= is_at(&mut postings, candidates[*index].doc);
                    }
                }
                let stream = usize::from(term.fields.iter().any(|planned| planned.field >= N_OF_STREAM));
                for (_, index) in has.iter().zip(wanted).filter(|(has, _)| **has) {
                    let evidence = &mut found[*index][stream];
                    evidence.words += 1;
                    evidence.share += term.says;
                }
            }
        }
        let share = |said: f64, asked: f64| if asked > 0.0 { (said / asked).min(1.0) } else { 0.0 };
        let most = |[one, other]: [TermEvidence; 2]| TermEvidence {
            words: one.words.max(other.words),
            share: share(one.share, self.plan.asked[0]).max(share(other.share, self.plan.asked[1])),
        };
        Ok(found.into_iter().map(most).collect())
    }
}
