//! Points that do not come from words.

use std::collections::HashMap;

use tantivy::DocId;
use tantivy::schema::IndexRecordOption;

use super::score::{Candidate, Scores};
use super::snapshot::documents;

/// Points for the document of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bonus {
    /// The file, relative to `.ralph/`.
    pub path: String,
    /// How much is added, in millionths.
    pub points: i64,
    /// Whether they make it a candidate even if no word of the query does.
    pub alone: bool,
}

impl Scores<'_> {
    /// Returns the best score, in millionths; 0 if nothing matches.
    pub(crate) fn best(&self) -> i64 {
        self.candidates.iter().map(|candidate| candidate.score).max().unwrap_or(0)
    }

    /// Adds points to the live documents of some paths: to those that have a score already, and to those for which they
    /// count [alone](Bonus::alone). The caller leaves out those that the query's filters exclude.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    pub(crate) fn add(&mut self, bonuses: &[Bonus]) -> tantivy::Result<()> {
        let mut left = self.documents(bonuses)?;
        for candidate in &mut self.candidates {
            let document = (candidate.segment, candidate.doc);
            if let Some((points, _)) = left.remove(&document) {
                candidate.score += points;
                *self.extra.entry(document).or_default() += points;
            }
        }
        let mut left: Vec<_> = left
            .into_iter()
            .filter(|(_, (_, alone))| *alone)
            .map(|(document, (points, _))| (document, points))
            .collect();
        left.sort_unstable();
        for ((segment, doc), score) in left {
            self.extra.insert((segment, doc), score);
            self.candidates.push(Candidate { score, segment, doc });
        }
        Ok(())
    }

    /// Returns the live documents that get points, how many, and whether these count alone.
    fn documents(&self, bonuses: &[Bonus]) -> tantivy::Result<HashMap<(u32, DocId), (i64, bool)>> {
        let bonuses: HashMap<&[u8], &Bonus> =
            bonuses.iter().filter(|bonus| bonus.points > 0).map(|bonus| (bonus.path.as_bytes(), bonus)).collect();
        let mut found = HashMap::with_capacity(bonuses.len());
        for (number, segment) in self.snapshot.segments.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let inverted = segment.reader.inverted_index(self.snapshot.fields.path)?;
            let mut paths = inverted.terms().stream()?;
            while let Some((path, info)) = paths.next() {
                let Some(bonus) = bonuses.get(path) else { continue };
                let postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
                let live = documents(postings).filter(|doc| segment.dead.binary_search(doc).is_err());
                found.extend(live.map(|doc| ((number, doc), (bonus.points, bonus.alone))));
            }
        }
        Ok(found)
    }
}
