//! Scores: BM25 over both token streams, coverage of short queries, and points for tags.
//!
//! The loops over the postings are our own, one term at a time into one number per document. Tantivy's queries skip
//! documents that cannot win, which is slower with so many terms, and they sum floats in an order that depends on the
//! segments.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "scores are rounded to millionths on purpose, and counts have far fewer than 2^52"
)]

use std::collections::HashMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings as _, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

use super::document::{Filter, N_OF_STREAM, N_TEXTS};
use super::plan::{K1, QueryPlan, UNIT};
use super::query::{Part, TextQuery, Weights};
use super::snapshot::{Segment, Snapshot, path_of};

/// BM25's length normalisation, at the value of Robertson and of every engine.
const B: f32 = 0.75;

/// The additions to the scores of documents, by their segments and numbers.
pub(super) type Extra = HashMap<(u32, DocId), i64>;

/// A document with a score over 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// In millionths.
    pub score: i64,
    pub(super) segment: u32,
    pub(super) doc: DocId,
}

/// The scores of every live document that a query matches.
pub(crate) struct Scores<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) plan: QueryPlan,
    weights: Weights,
    pub(super) candidates: Vec<Candidate>,
    pub(super) extra: Extra,
}

impl<'a> Scores<'a> {
    /// Scores every live document of the snapshot.
    pub(crate) fn new(snapshot: &'a Snapshot, query: &TextQuery, weights: Weights) -> tantivy::Result<Scores<'a>> {
        let mut scores = Scores {
            snapshot,
            plan: QueryPlan::new(snapshot, query, weights)?,
            weights,
            candidates: Vec::new(),
            extra: Extra::new(),
        };
        let norms = scores.norms();
        for segment in 0..snapshot.segments.len() {
            scores.score_segment(segment, &norms, query)?;
        }
        Ok(scores)
    }

    /// Returns how many documents have a score over 0.
    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the documents with the `n` best scores, and every other with the last one's score, in
    /// no order.
    pub(crate) fn top(&mut self, n: usize) -> &[Candidate] {
        if n == 0 {
            return &[];
        }
        if n >= self.candidates.len() {
            return &self.candidates;
        }
        self.candidates.select_nth_unstable_by_key(n - 1, |candidate| std::cmp::Reverse(candidate.score));
        let last = self.candidates[n - 1].score;
        let mut end = n;
        for index in n..self.candidates.len() {
            if self.candidates[index].score == last {
                self.candidates.swap(index, end);
                end += 1;
            }
        }
        &self.candidates[..end]
    }

    /// Returns the paths of the entries, in the order of the candidates.
    pub(crate) fn paths(&self, candidates: &[Candidate]) -> tantivy::Result<Vec<String>> {
        let mut stores = HashMap::new();
        let mut paths = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let store = match stores.entry(candidate.segment) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(self.snapshot.segments[candidate.segment as usize].store()?)
                }
            };
            paths.push(path_of(store, &self.snapshot.fields, candidate.doc)?);
        }
        Ok(paths)
    }

    /// Returns the parts of the candidates' scores, those of 0 left out, in the order of the
    /// candidates. The parts of a score add up to it.
    pub(crate) fn explain(&self, candidates: &[Candidate]) -> tantivy::Result<Vec<Vec<(Part, i64)>>> {
        let mut explained = vec![([0i64; Part::ALL.len()], 0u16); candidates.len()];
        let norms = self.norms();
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|index| (candidates[*index].segment, candidates[*index].doc));
        // Every list of postings is opened once for all candidates of its segment.
        for wanted in order.chunk_by(|one, other| candidates[*one].segment == candidates[*other].segment) {
            let number = candidates[wanted[0]].segment as usize;
            let segment = &self.snapshot.segments[number];
            for (field, norms) in norms.iter().enumerate() {
                let tantivy_field = self.snapshot.fields.text[field];
                let inverted = segment.reader.inverted_index(tantivy_field)?;
                let lengths = segment.reader.get_fieldnorms_reader(tantivy_field)?;
                let part = if field < N_OF_STREAM { field } else { Part::Identifiers as usize };
                for term in &self.plan.terms {
                    let Some(planned) = term.fields.iter().find(|planned| planned.field == field) else { continue };
                    let Some(info) = &planned.postings[number] else { continue };
                    let mut postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
                    for index in wanted {
                        let doc = candidates[*index].doc;
                        if is_at(&mut postings, doc) {
                            let norm = norms[usize::from(lengths.fieldnorm_id(doc))];
                            explained[*index].0[part] += contribution(planned.factor, postings.term_freq(), norm);
                            explained[*index].1 |= term.bit;
                        }
                    }
                }
            }
            for index in wanted {
                let (parts, mask) = &mut explained[*index];
                parts[Part::Coverage as usize] = self.coverage(parts.iter().sum(), *mask);
            }
            for tag in self.plan.tags.iter().filter(|tag| tag.segment == number) {
                let inverted = segment.reader.inverted_index(self.snapshot.fields.tag)?;
                let mut postings = inverted.read_postings_from_terminfo(&tag.postings, IndexRecordOption::Basic)?;
                for index in wanted {
                    if is_at(&mut postings, candidates[*index].doc) {
                        for (part, points) in tag.points.iter().enumerate() {
                            explained[*index].0[Part::TaskTags as usize + part] += points;
                        }
                    }
                }
            }
        }
        for (candidate, (parts, _)) in candidates.iter().zip(&mut explained) {
            parts[Part::Semantic as usize] = self.extra.get(&(candidate.segment, candidate.doc)).copied().unwrap_or(0);
        }
        let named =
            |parts: [i64; Part::ALL.len()]| Part::ALL.into_iter().zip(parts).filter(|(_, value)| *value != 0).collect();
        Ok(explained.into_iter().map(|(parts, _)| named(parts)).collect())
    }

    /// Returns, for each text field and length of it, the length's part of the BM25 formula.
    fn norms(&self) -> Vec<[f32; 256]> {
        (0..N_TEXTS)
            .map(|field| {
                let average = self.snapshot.average_length(field);
                std::array::from_fn(|id| {
                    let length = FieldNormReader::id_to_fieldnorm(id as u8) as f32;
                    K1 * (1.0 - B + B * length / average)
                })
            })
            .collect()
    }

    fn score_segment(&mut self, index: usize, norms: &[[f32; 256]], query: &TextQuery) -> tantivy::Result<()> {
        let segment = &self.snapshot.segments[index];
        let n_documents = segment.reader.max_doc() as usize;
        let mut scores = vec![0i64; n_documents];
        let mut masks = vec![0u16; if self.plan.coverage_total > 0.0 { n_documents } else { 0 }];
        for (field, norms) in norms.iter().enumerate() {
            let tantivy_field = self.snapshot.fields.text[field];
            let inverted = segment.reader.inverted_index(tantivy_field)?;
            let lengths = segment.reader.get_fieldnorms_reader(tantivy_field)?;
            for term in &self.plan.terms {
                let Some(planned) = term.fields.iter().find(|planned| planned.field == field) else { continue };
                let Some(info) = &planned.postings[index] else { continue };
                let mut postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
                let mut doc = postings.doc();
                while doc != TERMINATED {
                    let norm = norms[usize::from(lengths.fieldnorm_id(doc))];
                    scores[doc as usize] += contribution(planned.factor, postings.term_freq(), norm);
                    if term.bit != 0 {
                        masks[doc as usize] |= term.bit;
                    }
                    doc = postings.advance();
                }
            }
        }
        for (doc, mask) in masks.iter().enumerate() {
            if *mask != 0 {
                scores[doc] += self.coverage(scores[doc], *mask);
            }
        }
        for tag in self.plan.tags.iter().filter(|tag| tag.segment == index) {
            let inverted = segment.reader.inverted_index(self.snapshot.fields.tag)?;
            let mut postings = inverted.read_postings_from_terminfo(&tag.postings, IndexRecordOption::Basic)?;
            let points: i64 = tag.points.iter().sum();
            while postings.doc() != TERMINATED {
                scores[postings.doc() as usize] += points;
                postings.advance();
            }
        }
        for doc in &segment.dead {
            scores[*doc as usize] = 0;
        }
        for filter in &query.filters {
            keep_filtered(segment, self.snapshot, filter, &mut scores)?;
        }
        let segment = u32::try_from(index).unwrap_or(u32::MAX);
        let matched = scores.into_iter().enumerate().filter(|(_, score)| *score > 0);
        self.candidates.extend(matched.map(|(doc, score)| Candidate { score, segment, doc: doc as DocId }));
        Ok(())
    }

    /// Returns the gain of a document for the words whose bits are set.
    fn coverage(&self, text: i64, mask: u16) -> i64 {
        if self.plan.coverage_total <= 0.0 || mask == 0 {
            return 0;
        }
        let covered: f64 = self.plan.terms.iter().filter(|term| term.bit & mask != 0).map(|term| term.coverage).sum();
        (text as f64 * self.weights.coverage * covered / self.plan.coverage_total).round() as i64
    }
}

/// Sets the score of every document that the filter excludes to 0.
fn keep_filtered(segment: &Segment, snapshot: &Snapshot, filter: &Filter, scores: &mut [i64]) -> tantivy::Result<()> {
    let mut from = 0usize;
    if let Some(mut postings) = segment.postings(snapshot.fields.filter, &filter.term(), IndexRecordOption::Basic)? {
        while postings.doc() != TERMINATED {
            let doc = postings.doc() as usize;
            scores[from..doc].fill(0);
            from = doc + 1;
            postings.advance();
        }
    }
    scores[from..].fill(0);
    Ok(())
}

/// Advances the postings to `doc`, which must not be before their current place, and returns whether they contain it.
pub(super) fn is_at(postings: &mut SegmentPostings, doc: DocId) -> bool {
    postings.doc() == doc || (postings.doc() < doc && postings.seek(doc) == doc)
}

fn contribution(factor: f32, frequency: u32, norm: f32) -> i64 {
    let frequency = frequency as f32;
    // No part is negative, so this rounds; `f64::round` is a call into the C library.
    (f64::from(factor * (frequency / (frequency + norm))) * UNIT + 0.5) as i64
}
