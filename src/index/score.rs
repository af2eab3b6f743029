//! Scores: BM25 over the token streams, coverage of short queries, and points for tags.
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
use super::plan::{K1, PlannedField, QueryPlan, TagPoints, UNIT};
use super::query::{COVERAGE, Part, TextQuery};
use super::snapshot::{Segment, Snapshot, Statistics, documents};

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

/// Evidence that a document is about a query, independent of other matches.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TermEvidence {
    /// How many of the query's words it has, stop words left out.
    pub words: usize,
    /// The share of the query's words by weight, from 0 to 1: a rare word counts more than a common one.
    pub share: f64,
}

/// What a document matches.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Match {
    /// The parts of its score, those of 0 left out. They add up to it.
    pub parts: Vec<(Part, i64)>,
    /// The evidence for it.
    pub evidence: TermEvidence,
}

/// Terms of a plan, each as the bit of its number: the streams have at most 128 together.
type TermSet = u128;

/// The postings of a term in a field of a segment.
struct TermList<'a> {
    field: usize,
    factor: f32,
    postings: SegmentPostings,
    lengths: &'a FieldNormReader,
    norms: &'a [f32; 256],
}

impl TermList<'_> {
    fn points(&self) -> i64 {
        let norm = self.norms[usize::from(self.lengths.fieldnorm_id(self.postings.doc()))];
        let frequency = self.postings.term_freq() as f32;
        // No part is negative, so this rounds; `f64::round` is a call into the C library.
        (f64::from(self.factor * (frequency / (frequency + norm))) * UNIT + 0.5) as i64
    }
}

/// The scores of every live document that a query matches.
pub(crate) struct Scores<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) plan: QueryPlan,
    pub(super) candidates: Vec<Candidate>,
    pub(super) extra: Extra,
}

impl<'a> Scores<'a> {
    /// Scores every live document of the snapshot, by the statistics of those `elsewhere` as well.
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        query: &TextQuery,
        elsewhere: &Statistics,
    ) -> tantivy::Result<Scores<'a>> {
        let plan = QueryPlan::new(snapshot, query, elsewhere)?;
        let mut scores = Scores { snapshot, plan, candidates: Vec::new(), extra: Extra::new() };
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

    /// Returns the documents with the `n` best scores, and all others that have the last one's score, in no particular
    /// order.
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
        let mut paths = vec![String::new(); candidates.len()];
        for (number, segment) in self.snapshot.segments.iter().enumerate() {
            let column = segment.paths()?;
            let here = candidates.iter().enumerate().filter(|(_, candidate)| candidate.segment as usize == number);
            let place = |(index, candidate): (usize, &Candidate)| Some((column.ords().first(candidate.doc)?, index));
            let mut places: Vec<(u64, usize)> = here.filter_map(place).collect();
            // The dictionary is read once, from its beginning: each look-up of its own would read a block.
            places.sort_unstable();
            let (ords, indices): (Vec<u64>, Vec<usize>) = places.into_iter().unzip();
            let mut indices = indices.into_iter();
            column.dictionary().sorted_ords_to_term_cb(&ords, |path| {
                if let Some(index) = indices.next() {
                    paths[index] = String::from_utf8_lossy(path).into_owned();
                }
            })?;
        }
        Ok(paths)
    }

    /// Returns what candidates match, in their order.
    ///
    /// # Errors
    ///
    /// Those of reading the index.
    pub(crate) fn matches(&self, candidates: &[Candidate]) -> tantivy::Result<Vec<Match>> {
        let mut points = vec![([0i64; Part::ALL.len()], TermSet::default()); candidates.len()];
        let norms = self.norms();
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|index| (candidates[*index].segment, candidates[*index].doc));
        // Every list of postings is opened once for all candidates of its segment.
        for wanted in order.chunk_by(|one, other| candidates[*one].segment == candidates[*other].segment) {
            let segment = candidates[wanted[0]].segment as usize;
            self.each_term(segment, &norms, &mut |at, mut lists| {
                for index in wanted {
                    let (parts, terms) = &mut points[*index];
                    let mut best = None;
                    for list in &mut lists {
                        if is_at(&mut list.postings, candidates[*index].doc) {
                            let part = if list.field < N_OF_STREAM { list.field } else { Part::Identifiers as usize };
                            parts[part] += list.points() / self.plan.other_fields;
                            best = best.max(Some((list.points(), part)));
                        }
                    }
                    if let Some((best, part)) = best {
                        parts[part] += best - best / self.plan.other_fields;
                        *terms |= 1 << at;
                    }
                }
            })?;
            for index in wanted {
                let (parts, terms) = &mut points[*index];
                parts[Part::Coverage as usize] = self.coverage(parts.iter().sum(), self.bits(*terms));
            }
            self.each_tag(segment, &mut |tag, mut postings| {
                for index in wanted {
                    if is_at(&mut postings, candidates[*index].doc) {
                        for (part, added) in tag.points.iter().enumerate() {
                            points[*index].0[Part::TaskTags as usize + part] += added;
                        }
                    }
                }
            })?;
        }
        let matched = |(candidate, (mut parts, terms)): (&Candidate, ([i64; Part::ALL.len()], TermSet))| {
            parts[Part::Semantic as usize] = self.extra.get(&(candidate.segment, candidate.doc)).copied().unwrap_or(0);
            let parts = Part::ALL.iter().copied().zip(parts).filter(|(_, value)| *value != 0).collect();
            Match { parts, evidence: self.evidence(terms) }
        };
        Ok(candidates.iter().zip(points).map(matched).collect())
    }

    /// Returns the evidence of a document with these terms: by words or by parts of identifiers, whichever is more.
    fn evidence(&self, terms: TermSet) -> TermEvidence {
        let mut found = [TermEvidence::default(); 2];
        for (_, term) in self.plan.terms.iter().enumerate().filter(|(at, _)| terms & 1 << at != 0) {
            // A whole token is among the words and the parts, too.
            let Some(evidence) = found.get_mut(term.stream) else { continue };
            evidence.words += 1;
            evidence.share += term.says;
        }
        let share = |said: f64, asked: f64| if asked > 0.0 { (said / asked).min(1.0) } else { 0.0 };
        let [one, other] = found;
        TermEvidence {
            words: one.words.max(other.words),
            share: share(one.share, self.plan.asked[0]).max(share(other.share, self.plan.asked[1])),
        }
    }

    fn bits(&self, terms: TermSet) -> u16 {
        let has = |at: usize| terms & 1 << at != 0;
        self.plan.terms.iter().enumerate().filter(|(at, _)| has(*at)).fold(0, |bits, (_, term)| bits | term.bit)
    }

    /// Calls `each` with the number of each term and its postings in the fields of a segment.
    fn each_term(
        &self,
        segment: usize,
        norms: &[[f32; 256]],
        each: &mut dyn FnMut(usize, Vec<TermList<'_>>),
    ) -> tantivy::Result<()> {
        let reader = &self.snapshot.segments[segment].reader;
        let read = |field| Ok((reader.inverted_index(field)?, reader.get_fieldnorms_reader(field)?));
        let readers = self.snapshot.fields.text.into_iter().map(read).collect::<tantivy::Result<Vec<_>>>()?;
        for (at, term) in self.plan.terms.iter().enumerate() {
            let mut lists = Vec::with_capacity(term.fields.len());
            for PlannedField { field, factor, postings } in &term.fields {
                let Some(info) = &postings[segment] else { continue };
                let (inverted, lengths) = &readers[*field];
                let postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
                lists.push(TermList { field: *field, factor: *factor, postings, lengths, norms: &norms[*field] });
            }
            each(at, lists);
        }
        Ok(())
    }

    /// Calls `each` with each tag of a segment that gives points, and its postings.
    fn each_tag(&self, segment: usize, each: &mut dyn FnMut(&TagPoints, SegmentPostings)) -> tantivy::Result<()> {
        let inverted = self.snapshot.segments[segment].reader.inverted_index(self.snapshot.fields.tag)?;
        for tag in self.plan.tags.iter().filter(|tag| tag.segment == segment) {
            each(tag, inverted.read_postings_from_terminfo(&tag.postings, IndexRecordOption::Basic)?);
        }
        Ok(())
    }

    /// Returns, for each text field and length of it, the length's part of the BM25 formula.
    fn norms(&self) -> Vec<[f32; 256]> {
        (0..N_TEXTS)
            .map(|field| {
                let average = self.plan.statistics.average_length(field);
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
        // The best field of a term in each document that has it.
        let (mut best, mut found) = (vec![0; n_documents], Vec::new());
        self.each_term(index, norms, &mut |at, lists| {
            for mut list in lists {
                while list.postings.doc() != TERMINATED {
                    let (doc, points) = (list.postings.doc() as usize, list.points());
                    if best[doc] == 0 {
                        found.push(doc);
                    }
                    best[doc] = points.max(best[doc]);
                    scores[doc] += points / self.plan.other_fields;
                    list.postings.advance();
                }
            }
            for doc in found.drain(..) {
                let best = std::mem::take(&mut best[doc]);
                scores[doc] += best - best / self.plan.other_fields;
                if let Some(mask) = masks.get_mut(doc) {
                    *mask |= self.plan.terms[at].bit;
                }
            }
        })?;
        for (doc, mask) in masks.iter().enumerate() {
            if *mask != 0 {
                scores[doc] += self.coverage(scores[doc], *mask);
            }
        }
        self.each_tag(index, &mut |tag, postings| {
            let points: i64 = tag.points.iter().sum();
            documents(postings).for_each(|doc| scores[doc as usize] += points);
        })?;
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

    fn coverage(&self, text: i64, mask: u16) -> i64 {
        if self.plan.coverage_total <= 0.0 || mask == 0 {
            return 0;
        }
        let covered: f64 = self.plan.terms.iter().filter(|term| term.bit & mask != 0).map(|term| term.coverage).sum();
        (text as f64 * COVERAGE * covered / self.plan.coverage_total).round() as i64
    }
}

/// Sets the score of every document that the filter excludes to 0.
fn keep_filtered(segment: &Segment, snapshot: &Snapshot, filter: &Filter, scores: &mut [i64]) -> tantivy::Result<()> {
    let mut from = 0usize;
    let postings = segment.postings(snapshot.fields.filter, &filter.term(), IndexRecordOption::Basic)?;
    for doc in postings.into_iter().flat_map(documents) {
        scores[from..doc as usize].fill(0);
        from = doc as usize + 1;
    }
    scores[from..].fill(0);
    Ok(())
}

/// Advances the postings to `doc`, which must not be before their current place, and returns whether they contain it.
fn is_at(postings: &mut SegmentPostings, doc: DocId) -> bool {
    postings.doc() == doc || (postings.doc() < doc && postings.seek(doc) == doc)
}
