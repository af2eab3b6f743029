//! The plan of a query: its terms in both streams, their places in the segments, and the tags that give points.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "points are rounded to millionths on purpose, and counts have far fewer than 2^52"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use super::document::{N_OF_STREAM, N_TEXTS, PATTERN_MARK, TAG_SEPARATOR, WHOLES, file_terms};
use super::query::{
    COVERAGE_TERMS, FIELDS, FILE_POINTS, FIRST_LINE, MAX_TERMS, OTHER_FIELDS, QUESTION_WORDS, SHORT_PATH_PART, STREAMS,
    TAG_POINTS, TextQuery,
};
use super::snapshot::{Snapshot, Statistics, documents};
use super::tokens::{self, Stems};
use crate::entry::path::{matches_pattern, named_file, without_line};

/// BM25's saturation, at the value of Robertson and of every engine.
pub(super) const K1: f32 = 1.2;
/// Scores are counted in millionths.
pub(super) const UNIT: f64 = 1_000_000.0;

/// What a query looks for in a snapshot.
#[derive(Default)]
pub(super) struct QueryPlan {
    pub(super) terms: Vec<PlannedTerm>,
    pub(super) tags: Vec<TagPoints>,
    pub(super) coverage_total: f64,
    /// By what a word's points in other fields than its best one are divided.
    pub(super) other_fields: i64,
    /// The total weight of the query's words, known or not, by stream.
    pub(super) asked: [f64; STREAMS.len()],
    /// The statistics of the entries that are searched for, those elsewhere among them.
    pub(super) statistics: Statistics,
}

/// A term to look for in one stream, the same in all segments.
pub(super) struct PlannedTerm {
    text: String,
    pub(super) stream: usize,
    /// For each field that has it, in whatever form: its index, the factor of its BM25 score, and the places in the segments.
    pub(super) fields: Vec<PlannedField>,
    /// The term's weight in the coverage, and its bit.
    pub(super) coverage: f64,
    pub(super) bit: u16,
    /// How much a match of the term counts for a document.
    pub(super) says: f64,
}

pub(super) struct PlannedField {
    pub(super) field: usize,
    pub(super) factor: f32,
    pub(super) postings: Vec<Option<TermInfo>>,
}

/// Where the segments have a term: the field, the places in it, and how many documents these are of.
type TermPlaces = (usize, Vec<Option<TermInfo>>, u64);

/// A tag in one segment that gives points to the documents that have it.
pub(super) struct TagPoints {
    pub(super) segment: usize,
    pub(super) postings: TermInfo,
    pub(super) points: [i64; 4],
}

/// Returns the statistics of a query in a snapshot, for searches elsewhere: scores by the same statistics compare.
///
/// # Errors
///
/// Those of reading the index.
pub(crate) fn statistics(snapshot: &Snapshot, query: &TextQuery) -> tantivy::Result<Statistics> {
    Ok(QueryPlan::new(snapshot, query, &Statistics::default())?.statistics)
}

impl QueryPlan {
    /// Returns the plan of a query. The statistics of documents `elsewhere` count as well.
    pub(super) fn new(snapshot: &Snapshot, query: &TextQuery, elsewhere: &Statistics) -> tantivy::Result<QueryPlan> {
        let statistics = query.kind().map_or_else(|| Ok(snapshot.all.clone()), |kind| snapshot.of_kind(kind))?;
        let mut plan = QueryPlan { statistics, ..QueryPlan::default() };
        plan.statistics.add_others(elsewhere);
        let mut stems = Stems::default();
        if query.text_weight > 0.0 {
            plan.plan_text(snapshot, query, &mut stems)?;
        }
        plan.plan_tags(snapshot, query, &mut stems)?;
        plan.plan_files(snapshot, query)?;
        Ok(plan)
    }

    fn plan_text(&mut self, snapshot: &Snapshot, query: &TextQuery, stems: &mut Stems) -> tantivy::Result<()> {
        let mut elsewhere = std::mem::take(&mut self.statistics.n_with_term).into_iter();
        let mut is_short = true;
        for (stream, share) in STREAMS.into_iter().enumerate() {
            let mut terms = Vec::new();
            let asked = query_terms(&query.text, stream, stems);
            is_short = if stream == 0 { asked.len() <= COVERAGE_TERMS } else { is_short };
            self.other_fields = if is_short { 1 } else { OTHER_FIELDS };
            // In a long text, one word that is written otherwise makes no difference, and whole tokens lost .001 to .011 on bugs.
            if stream > 1 && !is_short {
                break;
            }
            let words = if stream == 0 && is_short { tokens::plain_words(&query.text) } else { Vec::new() };
            for (text, query_weight) in asked {
                let mut places = Vec::new();
                for (field, form) in forms(&text, stream, &words, stems) {
                    let (postings, n_here) = look_up(snapshot, field, &form, &self.statistics)?;
                    let frequency = n_here + elsewhere.next().unwrap_or(0);
                    self.statistics.n_with_term.push(frequency);
                    places.push((field, postings, frequency));
                }
                let is_known = places.iter().any(|(.., frequency)| *frequency > 0);
                let word = words.iter().find(|word| !is_known && word.is_ascii() && stems.stem(word) == text);
                places.extend(word.map(|word| as_two_words(snapshot, word, stems)).transpose()?.unwrap_or_default());
                let most_frequent = places.iter().map(|(.., frequency)| *frequency).max().unwrap_or(0);
                // A word is as rare as in the field that has it most often. By the field's own count, an everyday word
                // that few titles have would weigh like a name.
                let rare = idf(&self.statistics, most_frequent);
                let rarity = rare * f64::from(K1 + 1.0) * query_weight * share * query.text_weight;
                let fields = places.into_iter().filter(|(.., frequency)| *frequency > 0).map(|(field, postings, _)| {
                    PlannedField { field, factor: (rarity * FIELDS[field % N_OF_STREAM]) as f32, postings }
                });
                // An unknown term counts no more than a known one: in a small memory most words of a task are unknown.
                let says = idf(&self.statistics, most_frequent.max(1)) * query_weight;
                terms.push(PlannedTerm { text, stream, fields: fields.collect(), coverage: rare, bit: 0, says });
            }
            if stream == 0 && terms.len() <= COVERAGE_TERMS {
                self.coverage_total = terms.iter().map(|term| term.coverage).sum();
                for (index, term) in terms.iter_mut().enumerate() {
                    term.bit = 1 << index;
                }
            }
            self.asked[stream] = heaviest(&terms);
            terms.retain(|term| !term.fields.is_empty());
            if terms.len() > MAX_TERMS {
                terms.sort_by(|one, other| other.says.total_cmp(&one.says).then_with(|| one.text.cmp(&other.text)));
                terms.truncate(MAX_TERMS);
            }
            self.terms.extend(terms);
        }
        Ok(())
    }

    /// Finds the tags whose words are all in the task's text, in the feature's name or in a path.
    fn plan_tags(&mut self, snapshot: &Snapshot, query: &TextQuery, stems: &mut Stems) -> tantivy::Result<()> {
        let text = if query.tag_text.is_empty() { &query.text } else { &query.tag_text };
        let task = tokens::tag_words(text, stems);
        let feature = query.feature.as_deref().map(|feature| tokens::tag_words(feature, stems)).unwrap_or_default();
        let path_words = |path: &String| {
            let parts: Vec<&str> = path
                .split(|character: char| !character.is_alphanumeric())
                .filter(|part| part.chars().count() > SHORT_PATH_PART)
                .collect();
            parts.join(" ")
        };
        let paths: Vec<Vec<String>> =
            query.paths.iter().map(|path| tokens::tag_words(&path_words(path), stems)).collect();
        let mut first_words: Vec<&String> = task.iter().chain(&feature).chain(paths.iter().flatten()).collect();
        first_words.sort_unstable();
        first_words.dedup();
        let points = TAG_POINTS.map(|points| (points * UNIT).round() as i64);
        for (index, segment) in snapshot.segments.iter().enumerate() {
            let inverted = segment.reader.inverted_index(snapshot.fields.tag)?;
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
                        let of_part = |part: usize| if matches.get(part) == Some(&true) { points[part] } else { 0 };
                        let points = std::array::from_fn(of_part);
                        self.tags.push(TagPoints { segment: index, postings: info.clone(), points });
                    }
                }
            }
        }
        Ok(())
    }

    /// Finds the files, folders and patterns of entries that are about a path of the task, in its paths or in its text. An
    /// entry that has several gets the points of each once for every one of them.
    fn plan_files(&mut self, snapshot: &Snapshot, query: &TextQuery) -> tantivy::Result<()> {
        let text = if query.tag_text.is_empty() { &query.text } else { &query.tag_text };
        let is_around = |character: char| !character.is_alphanumeric() && !matches!(character, '/' | '.' | '_' | '[');
        let said = text.split_whitespace().map(|word| word.trim_matches(is_around).trim_end_matches('.'));
        let said = said.filter(|word| word.contains(['/', '.']) && word.len() > SHORT_PATH_PART);
        let mut paths: Vec<&str> = said.chain(query.paths.iter().map(String::as_str)).collect();
        for path in &mut paths {
            *path = named_file(path);
        }
        paths.extend(paths.clone().into_iter().map(without_line));
        paths.sort_unstable();
        paths.dedup();
        paths.truncate(MAX_TERMS);
        if paths.is_empty() {
            return Ok(());
        }
        let [of_file, of_scope] = FILE_POINTS.map(|points| (points * UNIT).round() as i64);
        let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
        for path in &paths {
            let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            wanted.extend(file_terms(folders).map(|term| (term, of_scope)));
        }
        wanted.extend(file_terms(paths.iter().copied()).map(|term| (term, of_file)));
        let is_about = |pattern: &str| paths.iter().any(|path| matches_pattern(pattern, path));
        for (segment, reader) in snapshot.segments.iter().map(|segment| &segment.reader).enumerate() {
            let inverted = reader.inverted_index(snapshot.fields.tag)?;
            let found = |postings, points| TagPoints { segment, postings, points: [0, 0, 0, points] };
            for (term, points) in &wanted {
                let info = inverted.get_term_info(&tantivy::Term::from_field_text(snapshot.fields.tag, term))?;
                self.tags.extend(info.map(|info| found(info, *points)));
            }
            let (start, end) = (PATTERN_MARK.to_string(), char::from(PATTERN_MARK as u8 + 1).to_string());
            let mut patterns = inverted.terms().range().ge(start.as_bytes()).lt(end.as_bytes()).into_stream()?;
            while let Some((term, info)) = patterns.next() {
                if std::str::from_utf8(&term[start.len()..]).is_ok_and(is_about) {
                    self.tags.push(found(info.clone(), of_scope));
                }
            }
        }
        Ok(())
    }
}

/// Returns where the segments have a term, and how many of the documents that count do.
fn look_up(
    snapshot: &Snapshot,
    field: usize,
    term: &str,
    statistics: &Statistics,
) -> tantivy::Result<(Vec<Option<TermInfo>>, u64)> {
    let field = snapshot.fields.text[field];
    let mut frequency = 0;
    let mut infos = Vec::with_capacity(snapshot.segments.len());
    for (index, segment) in snapshot.segments.iter().enumerate() {
        let inverted = segment.reader.inverted_index(field)?;
        let info = inverted.get_term_info(&tantivy::Term::from_field_text(field, term))?;
        if let Some(info) = &info {
            frequency += statistics.frequency(index, &inverted, info)?;
        }
        infos.push(info);
    }
    Ok((infos, frequency))
}

/// Returns the forms in which a term of a query counts, each with its field. A word of a short query, which has these `words`, also
/// counts as what a token with symbols makes, and joined with the word before it or behind it: `nodejs` for `node` in `node js`.
fn forms(term: &str, stream: usize, words: &[String], stems: &mut Stems) -> Vec<(usize, String)> {
    let fields = stream * N_OF_STREAM..N_TEXTS.min((stream + 1) * N_OF_STREAM);
    let mut forms: Vec<(usize, String)> = fields.map(|field| (field, term.to_owned())).collect();
    // A single letter makes no token, and what an apostrophe leaves is no word.
    forms.extend((!words.is_empty() && term.len() > 1).then(|| (WHOLES, term.to_owned())));
    let is_word = |word: &String| word.is_ascii() && (word.len() > 1 || !tokens::is_stop_word(word));
    for pair in words.windows(2).filter(|pair| pair.iter().all(is_word)) {
        let is_of_pair = pair.iter().any(|word| stems.stem(word) == term);
        let joined = stems.stem(&pair.concat()).to_owned();
        if is_of_pair && joined != term {
            forms.extend((0..N_OF_STREAM).map(|field| (field, joined.clone())));
        }
    }
    forms
}

/// Returns the places of the two words that make a word which no document has, `rate` and `limiter` for `ratelimiter`, if a
/// document has both.
fn as_two_words(snapshot: &Snapshot, word: &str, stems: &mut Stems) -> tantivy::Result<Vec<TermPlaces>> {
    for at in 2..word.len().saturating_sub(1) {
        let (mut places, mut found) = (Vec::new(), [BTreeSet::new(), BTreeSet::new()]);
        for (half, found) in [&word[..at], &word[at..]].into_iter().zip(&mut found) {
            let half = stems.stem(half);
            for field in 0..N_OF_STREAM {
                for (number, segment) in snapshot.segments.iter().enumerate() {
                    let postings = segment.postings(snapshot.fields.text[field], half, IndexRecordOption::Basic)?;
                    found.extend(postings.into_iter().flat_map(documents).map(|doc| (number, doc)));
                }
                // As rare as a word of one entry, so that the weight is the same wherever the entries lie.
                places.push((field, look_up(snapshot, field, half, &Statistics::default())?.0, 1));
            }
        }
        if !found[0].is_disjoint(&found[1]) {
            return Ok(places);
        }
    }
    Ok(Vec::new())
}

fn idf(statistics: &Statistics, frequency: u64) -> f64 {
    let (all, frequency) = (statistics.n_live as f64, frequency as f64);
    (1.0 + (all - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// Returns the total weight of the `n` most telling terms.
fn heaviest(terms: &[PlannedTerm]) -> f64 {
    let mut says: Vec<f64> = terms.iter().map(|term| term.says).collect();
    says.sort_unstable_by(|one, other| other.total_cmp(one));
    says.iter().take(MAX_TERMS).sum()
}

/// Returns the distinct terms of a query in one stream, each with its weight: more for a term that
/// occurs often, and for one in the first of several lines.
fn query_terms(text: &str, stream: usize, stems: &mut Stems) -> Vec<(String, f64)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let title = lines.next().unwrap_or_default();
    let has_title = lines.next().is_some();
    let mut counts: Vec<(String, u32)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let (_, each) = tokens::STREAMS[stream];
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
                *weight *= FIRST_LINE;
            }
        }
    } else {
        let mut only_asks = |(term, _): &(String, f64)| {
            QUESTION_WORDS.into_iter().any(|word| *term == if stream == 0 { stems.stem(word) } else { word })
        };
        if stream > 0 || !weights.iter().all(&mut only_asks) {
            weights.retain(|term| !only_asks(term));
        }
    }
    weights
}
