//! Points that do not come from words.

use std::collections::HashMap;

use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet as _, TERMINATED};

use super::score::{Candidate, Scores};

/// What was added to the scores of documents, by their segments and numbers.
pub(super) type Extra = HashMap<(u32, DocId), i64>;

impl Scores<'_> {
    /// Returns the best score, in millionths; 0 where nothing matches.
    pub fn best(&self) -> i64 {
        self.candidates.iter().map(|candidate| candidate.score).max().unwrap_or(0)
    }

    /// Adds points, in millionths, to the live documents of these paths, whether a word of the query stands there or
    /// not. What the query's filters leave out is for the caller to leave out here, too.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    pub fn add(&mut self, points: &[(String, i64)]) -> tantivy::Result<()> {
        for (number, segment) in self.snapshot.segments.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            for (path, points) in points.iter().filter(|(_, points)| *points > 0) {
                let postings = segment.postings(self.snapshot.fields.path, path, IndexRecordOption::Basic)?;
                let Some(mut postings) = postings else { continue };
                while postings.doc() != TERMINATED {
                    if segment.dead.binary_search(&postings.doc()).is_err() {
                        *self.extra.entry((number, postings.doc())).or_default() += points;
                    }
                    postings.advance();
                }
            }
        }
        let mut left = self.extra.clone();
        for candidate in &mut self.candidates {
            candidate.score += left.remove(&(candidate.segment, candidate.doc)).unwrap_or(0);
        }
        let mut left: Vec<_> = left.into_iter().collect();
        left.sort_unstable();
        self.candidates.extend(left.into_iter().map(|((segment, doc), score)| Candidate { score, segment, doc }));
        Ok(())
    }
}
