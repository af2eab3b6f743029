//! The parts that pages are made of. Every text of an entry comes through `maud`, which escapes it; what a browser acts on without markup,
//! such as a change of direction, is made visible when the page is finished (`layout`).

use std::collections::HashMap;
use std::fmt::{Display, Write as _};
use std::time::Duration;

use maud::{Markup, PreEscaped, Render, html};
use ralph_memory::entry::{EntrySummary, Outcome};
use ralph_memory::memory::{SemanticStatus, Usage};
use ralph_memory::text::shorten;
use ralph_memory::{Id, Kind, Memory, Problem};

use super::charts::{bar, outcome_class};
use super::links::{entry_address, page_of, with_query};
use crate::activity::grouped;

/// The length of the line that a list shows of an entry, in characters.
pub(super) const EXCERPT: usize = 220;
/// The longest title outside of its own page, in characters.
const MAX_TITLE: usize = 160;

/// What a page is made from.
pub(super) struct PageContext<'a> {
    pub(super) memory: &'a Memory,
    /// What forms that change something carry.
    pub(super) token: &'a str,
    /// The state of the servers of semantic search, as far as it is known.
    pub(super) semantic: Option<SemanticStatus>,
}

/// A finished page without its frame.
#[derive(Default)]
pub(super) struct HtmlPage {
    /// Its heading.
    pub(super) title: String,
    /// The part of the navigation that it belongs to.
    pub(super) part: &'static str,
    /// The links between the first page of that part and this one; `None` for a first page.
    pub(super) trail: Option<Vec<Markup>>,
    pub(super) main: Markup,
    /// Whether it is loaded again when the memory changes.
    pub(super) is_live: bool,
}

/// Returns a text that stands among others, isolated from their direction.
pub(super) fn isolated(text: &str) -> Markup {
    html! { bdi { (text) } }
}

/// Returns whether a character acts on whoever reads it: a control character, and one that changes the direction.
pub(super) fn acts(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a text as the value of a field, which a form sends back as it is: `layout` makes characters visible that nobody sees, and leaves
/// references alone. Those that [act](acts) on whoever reads the field have none.
pub(super) fn field_value(text: &str) -> PreEscaped<String> {
    with_references(text, acts)
}

/// Returns a text as the value of a field that nobody sees, with all its characters but control characters.
pub(super) fn hidden_value(text: &str) -> PreEscaped<String> {
    with_references(text, |_| false)
}

fn with_references(text: &str, is_left: impl Fn(char) -> bool) -> PreEscaped<String> {
    let mut value = String::with_capacity(text.len());
    for character in text.chars() {
        let is_plain = character.is_ascii() || character.is_control() || is_left(character);
        if matches!(character, '&' | '<' | '>' | '"') || !is_plain {
            let _ = write!(value, "&#{};", u32::from(character));
        } else {
            value.push(character);
        }
    }
    PreEscaped(value)
}

/// Returns a text in which the words of a query are marked.
pub(super) fn marked(memory: &Memory, text: &str, query: &str) -> Markup {
    let places = memory.highlights(text, query);
    let ends = [0].into_iter().chain(places.iter().map(|place| place.end));
    let starts = places.iter().map(|place| place.start).chain([text.len()]);
    let mut between = ends.zip(starts).map(|(end, start)| &text[end..start]);
    html! {
        (between.next().unwrap_or_default())
        @for (place, behind) in places.iter().zip(between) { mark { (text[place.clone()]) } (behind) }
    }
}

/// Returns a message in which names stand between backticks.
pub(super) fn with_code(text: &str) -> Markup {
    html! {
        bdi { @for (index, part) in text.split('`').enumerate() { @if index % 2 == 1 { code { (part) } } @else { (part) } } }
    }
}

/// Returns a title as lists show it.
pub(super) fn title(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { "(no title)".to_owned() } else { cut(text, MAX_TITLE) }
}

/// Returns a text in a line, cut to so many characters, also within a word.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let line: String = text.chars().take(limit * 4).map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect();
    shorten(&line, limit)
}

/// Returns a link to an entry by its title.
pub(super) fn entry_link(entry: &EntrySummary) -> Markup {
    html! { a href=(entry_address(&entry.id)) { (isolated(&title(&entry.title))) } }
}

/// Returns a link to an entry by its id.
pub(super) fn id_link(id: &Id) -> Markup {
    html! { a href=(entry_address(id)) { code { (isolated(&cut(id.as_str(), MAX_TITLE))) } } }
}

/// Returns a link to the page of a task, a run or a feature.
pub(super) fn named_link(kind: &str, id: &str, shown: &str) -> Markup {
    html! { a href=(page_of(kind, id)) { (isolated(&title(shown))) } }
}

/// A time, RFC 3339, as people read it. The text is exact and stays true; the script makes it relative to the clock of whoever looks, as
/// long as the page is open.
pub(super) struct ShownTime<'a>(pub(super) &'a str);

impl Render for ShownTime<'_> {
    fn render(&self) -> Markup {
        let utc = self.0.strip_suffix('Z').and_then(|time| time.split_once('T'));
        let utc = utc.and_then(|(day, time)| Some((day, time.get(..5)?, time.get(..8)?)));
        html! {
            @if let Some((day, minute, second)) = utc {
                time datetime=(self.0) title={ (day) " " (second) " UTC" } { (day) " " (minute) " UTC" }
            } @else { time datetime=(self.0) { (self.0) } }
        }
    }
}

/// Returns a value as a cell of a table.
pub(super) fn cell(value: impl Display) -> Markup {
    html! { (value.to_string()) }
}

/// Returns an optional time, or a dash.
pub(super) fn time_or_dash(time: Option<&str>) -> Markup {
    html! { @if let Some(time) = time { (ShownTime(time)) } @else { (dash()) } }
}

/// Returns what a table shows where there is no value.
pub(super) fn dash() -> Markup {
    html! { span.quiet aria-label="none" role="img" { "–" } }
}

/// Returns the badge of an outcome.
pub(super) fn outcome_badge(outcome: Outcome) -> Markup {
    badge(outcome_class(outcome), outcome.as_str())
}

/// Returns a share between 0 and 1 as a number and a bar.
pub(super) fn rate(share: Option<f64>) -> Markup {
    html! {
        @if let Some(share) = share { span.rate { span { (format!("{:.0} %", share * 100.0)) } (bar("good", share)) } }
        @else { (dash()) }
    }
}

/// Returns a badge: `good`, `bad`, `warn` or `plain`.
pub(super) fn badge(class: &str, text: &str) -> Markup {
    html! { span class={ "badge " (class) } { (text) } }
}

/// Returns a length of time.
pub(super) fn duration(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map(ralph_memory::text::duration).unwrap_or_default()
}

/// Returns an amount of money.
pub(super) fn dollars(amount: f64) -> String {
    if amount > 0.0 && amount < 0.01 { "< $0.01".to_owned() } else { format!("${amount:.2}") }
}

/// Returns a number with a comma every three digits.
pub(super) fn number(number: u64) -> String {
    grouped(usize::try_from(number).unwrap_or(usize::MAX))
}

/// Returns a number of things, with the noun in the right number.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Returns a table from the cells of its rows. A heading that ends in `#` is that of numbers, one that ends in `~` that of texts which are
/// not broken. The stylesheet hides the caption where a heading stands right before the table. Where the window is narrow, each row becomes a
/// block of lines, each with its heading; the roles say that it still is a table. A wide one scrolls in its own box, which the keyboard
/// reaches.
pub(super) fn table(caption: &str, headings: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    let class = |heading: &str| match heading.chars().last() {
        Some('#') => Some("num"),
        Some('~') => Some("line"),
        _ => None,
    };
    let name = |heading: &str| heading.trim_end_matches(['#', '~']).to_owned();
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table role="table" {
                caption { (caption) }
                thead role="rowgroup" { tr role="row" { @for heading in headings {
                    th scope="col" role="columnheader" class=[class(heading)] { (name(heading)) }
                } } }
                tbody role="rowgroup" { @for row in rows { tr role="row" { @for (at, (cell, heading)) in row.iter().zip(headings).enumerate() {
                    @if at == 0 { th scope="row" role="rowheader" { (cell) } }
                    @else { td role="cell" class=[class(heading)] data-label=(name(heading)) { (cell) } }
                } } } }
            }
        }
    }
}

/// Returns a list of entries, each with a line of its text, and with what became of the attempts that saw it.
pub(super) fn entry_list(memory: &Memory, entries: &[EntrySummary]) -> Markup {
    let excerpts = memory.excerpts(entries, "", EXCERPT);
    let usage = usage_of(memory, entries);
    html! {
        ul.rows { @for (entry, excerpt) in entries.iter().zip(&excerpts) {
            li.row {
                p.row-title { (entry_link(entry)) " " (entry_badges(entry)) }
                // An event says all in its title.
                @if !excerpt.is_empty() && *excerpt != entry.title { p dir="auto" { (excerpt) } }
                (entry_meta(entry, &usage))
            }
        } }
    }
}

/// Returns the usage of entries, which costs a look at all attempts, if knowledge is among these.
pub(super) fn usage_of<'a>(memory: &Memory, entries: impl IntoIterator<Item = &'a EntrySummary>) -> HashMap<Id, Usage> {
    let has_knowledge = entries.into_iter().any(|entry| entry.kind == Kind::Knowledge);
    if has_knowledge { memory.usage() } else { HashMap::new() }
}

/// Returns what is known of an entry beside its title: what it is, who wrote it, the feature, when it changed, its use, and its tags.
pub(super) fn entry_meta(entry: &EntrySummary, usage: &HashMap<Id, Usage>) -> Markup {
    let kind = if entry.kind == Kind::Journal { "attempt" } else { entry.kind.as_str() };
    html! {
        p.meta {
            @if let Some(category) = &entry.category { (isolated(&cut(category, 40))) } @else { (kind) }
            (by_agent(entry, " · "))
            @if let Some(feature) = &entry.feature { " · " (named_link("feature", feature, feature)) }
            @if let Some(time) = entry.updated_at.as_deref().or(entry.created_at.as_deref()) { " · " (ShownTime(time)) }
            @if let Some(usage) = usage.get(&entry.id) {
                " · in " (counted(usage.recalls, "context", "contexts"))
                @if usage.succeeded > 0 { ", " (usage.succeeded) " succeeded" }
                @if usage.failed > 0 { ", " (usage.failed) " failed" }
                @if usage.never_helped { " " (badge("warn", "never helped")) }
            }
            (tags(&entry.tags))
        }
    }
}

/// Says which kind of agent wrote an entry of knowledge, after `between`. An entry of which nothing is said is a person's, and an attempt is
/// an agent's anyway.
pub(super) fn by_agent(entry: &EntrySummary, between: &str) -> Markup {
    let is_agents = entry.kind == Kind::Knowledge && !entry.source.is_person();
    html! { @if is_agents { (between) "by " (entry.source.as_str()) } }
}

/// Returns what a reader should know of an entry at first sight.
pub(super) fn entry_badges(entry: &EntrySummary) -> Markup {
    html! {
        @if let Some(outcome) = entry.outcome { (outcome_badge(outcome)) " " }
        @if entry.superseded { (badge("warn", "superseded")) " " }
        @if entry.expired { (badge("warn", "expired")) " " }
        @if entry.archived { (badge("plain", "archived")) " " }
    }
}

/// How many tags of an entry are shown.
const MAX_TAGS: usize = 12;

/// Returns the tags of an entry, each with a link to its list.
pub(super) fn tags(tags: &[String]) -> Markup {
    html! {
        @for tag in tags.iter().take(MAX_TAGS) {
            " "
            a.tag href=(with_query("entries", [("kind", "all"), ("tag", tag)])) { (isolated(&cut(tag, 40))) }
        }
        @if tags.len() > MAX_TAGS { " " span.quiet { "+" (tags.len() - MAX_TAGS) } }
    }
}

/// How many problems a page shows that was not asked for problems.
const MAX_PROBLEMS: usize = 5;

/// Returns the problems that were found on the way.
pub(super) fn problems(problems: &[Problem]) -> Markup {
    html! {
        @if !problems.is_empty() {
            aside.note aria-label="Problems" {
                p { strong { (counted(problems.len(), "problem", "problems")) " found on the way" } }
                ul { @for problem in problems.iter().take(MAX_PROBLEMS) { li { (isolated(&problem.to_string())) } } }
                @if problems.len() > MAX_PROBLEMS { p { a href=("health") { "All problems" } } }
            }
        }
    }
}

/// Returns a message where there is no content, in which commands stand between backticks.
pub(super) fn empty(text: &str) -> Markup {
    html! { p.empty { (with_code(text)) } }
}
