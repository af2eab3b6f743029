//! Scores: BM25 over both token streams, coverage of short queries, and points for tags.
//!
//! The loops over the postings are our own, one term at a time into one number a document. Tantivy's
//! queries skip documents that cannot win, which at this many terms is slower, and they sum floats in
//! an order that depends on the segments.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "scores are rounded to millionths on purpose, and counts have far fewer than 2^52"
)]

use std::collections::HashMap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings as _, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED};

use super::document::{Filter, N_OF_STREAM, N_TEXTS, TAG_SEPARATOR};
use super::extra::Extra;
use super::query::{Part, TextQuery, Weights};
use super::share;
use super::snapshot::{Segment, Snapshot, path_of};
use super::tokens::{self, Stems};

/// BM25's saturation and length normalisation, at the values of Robertson and of every engine.
const K1: f32 = 1.2;
const B: f32 = 0.75;
/// Scores are counted in millionths.
const UNIT: f64 = 1_000_000.0;
/// A document's matched terms are bits of a `u16` while coverage is counted.
const MAX_COVERAGE_TERMS: usize = 16;

/// A document with a score over 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// In millionths.
    pub score: i64,
    pub(super) segment: u32,
    pub(super) doc: DocId,
}

/// The scores of every live document that a query matches.
pub struct Scores<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) terms: Vec<PlannedTerm>,
    tags: Vec<TagPoints>,
    weights: Weights,
    coverage_total: f64,
    /// What the words of the query are worth in all, known or not, by stream.
    pub(super) asked: [f64; 2],
    pub(super) candidates: Vec<Candidate>,
    pub(super) extra: Extra,
}

/// A term to look for in one stream, the same in all segments.
pub(super) struct PlannedTerm {
    text: String,
    /// For each of the stream's fields: its index, the factor of its BM25 score, and where the
    /// segments have it.
    pub(super) fields: Vec<PlannedField>,
    /// The term's weight in the coverage, and its bit.
    coverage: f64,
    bit: u16,
    /// Its worth for the choice of terms: how rare it is, times its weight in the query.
    worth: f64,
    /// What it says of a document that the document has it.
    pub(super) says: f64,
}

pub(super) struct PlannedField {
    pub(super) field: usize,
    factor: f32,
    pub(super) postings: Vec<Option<TermInfo>>,
}

/// A tag in one segment that gives points to the documents that have it.
struct TagPoints {
    segment: usize,
    postings: TermInfo,
    points: [i64; 3],
}

impl<'a> Scores<'a> {
    /// Scores every live document of the snapshot.
    pub fn new(snapshot: &'a Snapshot, query: &TextQuery, weights: Weights) -> tantivy::Result<Scores<'a>> {
        let mut scores = Scores {
            snapshot,
            terms: Vec::new(),
            tags: Vec::new(),
            weights,
            coverage_total: 0.0,
            asked: [0.0; 2],
            candidates: Vec::new(),
            extra: Extra::new(),
        };
        let mut stems = Stems::new();
        if weights.text > 0.0 {
            scores.plan_text(query, &mut stems)?;
        }
        scores.plan_tags(query, &mut stems)?;
        let norms = scores.norms();
        for segment in 0..snapshot.segments.len() {
            scores.score_segment(segment, &norms, query)?;
        }
        Ok(scores)
    }

    /// Returns how many documents have a score over 0.
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// Returns whether no document has a score over 0.
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// Returns the documents with the `n` best scores, and every other with the last one's score, in
    /// no order.
    pub fn top(&mut self, n: usize) -> &[Candidate] {
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
    pub fn paths(&self, candidates: &[Candidate]) -> tantivy::Result<Vec<String>> {
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
    pub fn explain(&self, candidates: &[Candidate]) -> tantivy::Result<Vec<Vec<(Part, i64)>>> {
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
                for term in &self.terms {
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
            for tag in self.tags.iter().filter(|tag| tag.segment == number) {
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

    fn plan_text(&mut self, query: &TextQuery, stems: &mut Stems) -> tantivy::Result<()> {
        let weights = self.weights;
        let field_weights = [weights.title, weights.tags, weights.body, weights.questions];
        for stream in 0..2 {
            let share = if stream == 0 { 1.0 - weights.parts_share } else { weights.parts_share };
            let mut terms = Vec::new();
            for (text, query_weight) in query_terms(&query.text, stream, weights.first_line, stems) {
                let mut term = PlannedTerm { text, fields: Vec::new(), coverage: 0.0, bit: 0, worth: 0.0, says: 0.0 };
                let looked_up = [0, 1, 2, 3].map(|within| self.look_up(stream * N_OF_STREAM + within, &term.text));
                let mut most_frequent = 0;
                let mut postings = Vec::with_capacity(N_OF_STREAM);
                for result in looked_up {
                    let (infos, frequency) = result?;
                    most_frequent = most_frequent.max(frequency);
                    postings.push((infos, frequency));
                }
                // A word is as rare as it is in the field that has it most often. By the field's own
                // count, an everyday word that few titles happen to have would weigh like a name.
                let rarity = self.idf(most_frequent) * f64::from(K1 + 1.0) * query_weight * share * weights.text;
                for (within, (postings, frequency)) in postings.into_iter().enumerate() {
                    if frequency > 0 {
                        let factor = (rarity * field_weights[within]) as f32;
                        term.fields.push(PlannedField { field: stream * N_OF_STREAM + within, factor, postings });
                    }
                }
                term.coverage = self.idf(most_frequent);
                // What no entry has is no more telling than what one has: in a small memory most of a task is unknown.
                term.says = self.idf(most_frequent.max(1)) * query_weight;
                term.worth = if most_frequent == 0 { 0.0 } else { term.coverage * query_weight };
                terms.push(term);
            }
            if stream == 0 && terms.len() <= weights.coverage_terms.min(MAX_COVERAGE_TERMS) && weights.coverage > 0.0 {
                self.coverage_total = terms.iter().map(|term| term.coverage).sum();
                for (index, term) in terms.iter_mut().enumerate() {
                    term.bit = 1 << index;
                }
            }
            self.asked[stream] = share::heaviest(&terms, weights.max_terms);
            terms.retain(|term| !term.fields.is_empty());
            if terms.len() > weights.max_terms {
                terms.sort_by(|one, other| other.worth.total_cmp(&one.worth).then_with(|| one.text.cmp(&other.text)));
                terms.truncate(weights.max_terms);
            }
            self.terms.extend(terms);
        }
        Ok(())
    }

    /// Returns where the segments have a term, and how many live documents do.
    fn look_up(&self, field: usize, term: &str) -> tantivy::Result<(Vec<Option<TermInfo>>, u64)> {
        let field = self.snapshot.fields.text[field];
        let mut frequency = 0;
        let mut infos = Vec::with_capacity(self.snapshot.segments.len());
        for segment in &self.snapshot.segments {
            let inverted = segment.reader.inverted_index(field)?;
            let info = inverted.get_term_info(&tantivy::Term::from_field_text(field, term))?;
            if let Some(info) = &info {
                frequency += if segment.dead.is_empty() {
                    u64::from(info.doc_freq)
                } else {
                    segment.live_frequency(&inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?)
                };
            }
            infos.push(info);
        }
        Ok((infos, frequency))
    }

    fn idf(&self, frequency: u64) -> f64 {
        let (all, frequency) = (self.snapshot.n_live as f64, frequency as f64);
        (1.0 + (all - frequency + 0.5) / (frequency + 0.5)).ln()
    }

    /// Finds the tags all of whose words are in the task's text, in the feature's name or in a path.
    fn plan_tags(&mut self, query: &TextQuery, stems: &mut Stems) -> tantivy::Result<()> {
        let text = if query.tag_text.is_empty() { &query.text } else { &query.tag_text };
        let task = tokens::tag_words(text, stems);
        let feature = query.feature.as_deref().map(|feature| tokens::tag_words(feature, stems)).unwrap_or_default();
        let short = self.weights.short_path_part;
        let path_words = |path: &String| {
            let parts: Vec<&str> = path
                .split(|character: char| !character.is_alphanumeric())
                .filter(|part| part.chars().count() > short)
                .collect();
            parts.join(" ")
        };
        let paths: Vec<Vec<String>> =
            query.paths.iter().map(|path| tokens::tag_words(&path_words(path), stems)).collect();
        let mut first_words: Vec<&String> = task.iter().chain(&feature).chain(paths.iter().flatten()).collect();
        first_words.sort_unstable();
        first_words.dedup();
        let points = [self.weights.task_tag, self.weights.feature_tag, self.weights.path_tag]
            .map(|points| (points * UNIT).round() as i64);
        for (index, segment) in self.snapshot.segments.iter().enumerate() {
            let inverted = segment.reader.inverted_index(self.snapshot.fields.tag)?;
            for first in &first_words {
                // Every tag whose first word this is: the word alone, or the word and a separator.
                let end = format!("{first}{}", char::from(TAG_SEPARATOR as u8 + 1));
                let mut tags = inverted.terms().range().ge(first.as_bytes()).lt(end.as_bytes()).into_stream()?;
                while let Some((term, info)) = tags.next() {
                    let Ok(term) = std::str::from_utf8(term) else { continue };
                    let is_in = |words: &Vec<String>| {
                        term.split(TAG_SEPARATOR)
                            .all(|word| words.binary_search_by(|known| known.as_str().cmp(word)).is_ok())
                    };
                    let matches = [is_in(&task), is_in(&feature), paths.iter().any(is_in)];
                    if matches.contains(&true) {
                        let points = std::array::from_fn(|part| if matches[part] { points[part] } else { 0 });
                        self.tags.push(TagPoints { segment: index, postings: info.clone(), points });
                    }
                }
            }
        }
        Ok(())
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
        let mut masks = vec![0u16; if self.coverage_total > 0.0 { n_documents } else { 0 }];
        for (field, norms) in norms.iter().enumerate() {
            let tantivy_field = self.snapshot.fields.text[field];
            let inverted = segment.reader.inverted_index(tantivy_field)?;
            let lengths = segment.reader.get_fieldnorms_reader(tantivy_field)?;
            for term in &self.terms {
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
        for tag in self.tags.iter().filter(|tag| tag.segment == index) {
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

    /// Returns what a document gains for having the words whose bits are set.
    fn coverage(&self, text: i64, mask: u16) -> i64 {
        if self.coverage_total <= 0.0 || mask == 0 {
            return 0;
        }
        let covered: f64 = self.terms.iter().filter(|term| term.bit & mask != 0).map(|term| term.coverage).sum();
        (text as f64 * self.weights.coverage * covered / self.coverage_total).round() as i64
    }
}

/// Sets the score of every document that lacks what the filter wants to 0.
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

/// Moves the postings on to `doc`, which must not be before where they stand, and returns whether they
/// have it.
pub(super) fn is_at(postings: &mut SegmentPostings, doc: DocId) -> bool {
    postings.doc() == doc || (postings.doc() < doc && postings.seek(doc) == doc)
}

fn contribution(factor: f32, frequency: u32, norm: f32) -> i64 {
    let frequency = frequency as f32;
    // No part is negative, so this rounds; `f64::round` is a call into the C library.
    (f64::from(factor * (frequency / (frequency + norm))) * UNIT + 0.5) as i64
}

/// Returns the distinct terms of a query in one stream, each with its weight: more for a term that
/// occurs often, and for one in the first of several lines.
fn query_terms(text: &str, stream: usize, first_line: f64, stems: &mut Stems) -> Vec<(String, f64)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let title = lines.next().unwrap_or_default();
    let has_title = lines.next().is_some();
    let mut counts: Vec<(String, u32)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let each = |text: &str, stems: &mut Stems, give: &mut dyn FnMut(&str)| {
        if stream == 0 { tokens::words(text, stems, give) } else { tokens::parts(text, give) }
    };
    each(text, stems, &mut |token| {
        let place = *places.entry(token.to_owned()).or_insert_with(|| {
            counts.push((token.to_owned(), 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
    });
    let mut weights: Vec<(String, f64)> =
        counts.into_iter().map(|(token, count)| (token, 1.0 + f64::from(count).ln())).collect();
    if has_title {
        let mut in_title = vec![false; weights.len()];
        each(title, stems, &mut |token| in_title[places[token]] = true);
        for ((_, weight), in_title) in weights.iter_mut().zip(in_title) {
            if in_title {
                *weight *= first_line;
            }
        }
    }
    weights
}
