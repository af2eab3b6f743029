//! The parts that pages are made of, and the frame around them. Every text of an entry comes through `maud`, which escapes it; what a browser
//! acts on without markup, such as a change of direction, is made visible when the page is finished.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};
use ralph_memory::entry::{EntrySummary, Outcome};
use ralph_memory::text::{address_part, for_terminal, shorten};
use ralph_memory::{Id, Kind, Memory, Problem};
use serde::Deserialize;

use crate::activity::grouped;
use crate::answers::EXCERPT;

/// The product's name, which every page bears.
const PRODUCT: &str = env!("CARGO_PKG_NAME");
/// The parts of the navigation, with the names of their pages. The search has its field on every page.
const PARTS: [(&str, &str); 5] =
    [("", "Now"), ("review", "Review"), ("entries", "Entries"), ("timeline", "Timeline"), ("features", "Features")];
/// The page that is nothing but a search, and has the one field for it.
pub(super) const SEARCH: &str = "search";
/// The buttons, by the names of their addresses.
pub(super) const KEEP: &str = "keep";
pub(super) const ARCHIVE: &str = "archive";
pub(super) const UNDO: &str = "undo";
pub(super) const BUTTONS: [&str; 3] = [KEEP, ARCHIVE, UNDO];
/// The longest title outside of its own page, in characters.
const MAX_TITLE: usize = 160;
/// How many tags of an entry are shown, and how many problems of a page.
const MAX_TAGS: usize = 12;
const MAX_PROBLEMS: usize = 5;

/// What a page is made from.
pub(super) struct PageContext<'a> {
    pub(super) memory: &'a Memory,
    /// What forms carry; `None` where pages have no buttons.
    pub(super) token: Option<&'a str>,
}

/// A finished page without its frame.
#[derive(Default)]
pub(super) struct HtmlPage {
    /// Its heading.
    pub(super) title: String,
    /// The part of the navigation that it belongs to.
    pub(super) part: &'static str,
    pub(super) main: Markup,
    /// Whether it is loaded again from time to time.
    pub(super) is_live: bool,
}

/// The fields of a query or a form, by their names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct PageFields(BTreeMap<String, String>);

impl PageFields {
    /// Returns a field as it is; empty if it is not there.
    pub(super) fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Returns a field without white space around it; `None` if there is nothing in it.
    pub(super) fn given(&self, name: &str) -> Option<String> {
        Some(self.text(name).trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// Returns an input for a text.
    pub(super) fn text_input(&self, name: &str, label: &str) -> Markup {
        html! {
            div.field {
                label for=(name) { (label) }
                input id=(name) name=(name) value=(field_value(self.text(name))) dir="auto" autocomplete="off";
            }
        }
    }

    /// Returns an input for one of several values, each with its label.
    pub(super) fn choice(&self, name: &str, label: &str, choices: &[(&str, &str)]) -> Markup {
        html! {
            div.field {
                label for=(name) { (label) }
                select id=(name) name=(name) {
                    @for (value, label) in choices { option value=(value) selected[*value == self.text(name)] { (label) } }
                }
            }
        }
    }

    /// Returns how many items are on the pages of a list before the one that is asked for.
    pub(super) fn offset(&self, per_page: usize) -> usize {
        self.text("page").parse().map_or(0, |page: usize| page.saturating_sub(1).saturating_mul(per_page))
    }

    /// Returns links to the pages of a list before and after this one.
    pub(super) fn pager(&self, list: &str, in_all: usize, per_page: usize) -> Markup {
        let number = self.offset(per_page) / per_page + 1;
        let at = |number: usize| {
            let mut fields = self.0.clone();
            fields.insert("page".to_owned(), number.to_string());
            with_query(list, fields.iter().map(|(name, value)| (name.as_str(), value.as_str())))
        };
        html! {
            @if in_all > per_page {
                nav.pager aria-label="Pages" {
                    @if number > 1 { a rel="prev" href=(at(number - 1)) { "← Before" } } @else { span {} }
                    @if number.saturating_mul(per_page) < in_all { a rel="next" href=(at(number + 1)) { "Next →" } }
                }
            }
        }
    }
}

/// Returns the page as a document. Control characters and characters that nobody sees are visible in it: no markup of ours has any.
pub(super) fn document(page: &HtmlPage, project: &str) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · " (project) " · " (PRODUCT) }
                link rel="icon" type="image/svg+xml" href="icon.svg";
                link rel="stylesheet" href="style.css";
                script src="page.js" defer {}
            }
            body data-live[page.is_live] {
                a.skip href="#main" { "Skip to content" }
                header.top {
                    a.brand href="./" {
                        img src="icon.svg" alt="" width="20" height="20";
                        span { span.product { (PRODUCT) } " " bdi { (project) } }
                    }
                    nav aria-label="Main" { ul {
                        @for (name, label) in PARTS {
                            li { a href=(with_query(name, [])) aria-current=[(name == page.part).then_some("page")] { (label) } }
                        }
                    } }
                    @if page.part != SEARCH {
                        form.quick role="search" action=(SEARCH) method="get" aria-label="Search everywhere" {
                            label.sr for="quick" { "Search the memory" }
                            input id="quick" type="search" name="q" placeholder="Search" autocomplete="off";
                        }
                    }
                }
                main id="main" tabindex="-1" {
                    p.note id="offline" role="status" hidden {}
                    h1 dir="auto" { (page.title) }
                    div id="content" { (page.main) }
                }
                footer { p { (PRODUCT) " " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    };
    for_terminal(&document.into_string())
}

/// Returns the address of a page with a query; fields without a value are left out. `""` is the first page.
///
/// Addresses are relative, all pages are in one folder, and names are in the query: browsers resolve `..` in a path even where it is encoded.
pub(super) fn with_query<'a>(page: &str, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut address = if page.is_empty() { "./".to_owned() } else { page.to_owned() };
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    for (index, (name, value)) in given.enumerate() {
        let mark = if index == 0 { '?' } else { '&' };
        let _ = write!(address, "{mark}{}={}", address_part(name), address_part(value));
    }
    address
}

/// Returns the address of an entry.
pub(super) fn entry_address(id: &Id) -> String {
    with_query("entry", [("id", id.as_str())])
}

/// Returns a text as the value of a field, which a form sends back as it is: [`document`] makes characters visible that nobody sees, and leaves
/// references alone. Characters that change the direction would turn the text of the field around, so they have none.
fn field_value(text: &str) -> PreEscaped<String> {
    with_references(text, |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
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

/// Returns a form of one button that changes something, with the fields that say what; nothing where pages have no buttons.
pub(super) fn button(context: &PageContext<'_>, action: &str, label: &str, fields: &[(&str, &str)]) -> Markup {
    html! {
        @if let Some(token) = context.token {
            form method="post" action=(action) {
                input type="hidden" name="token" value=(token);
                @for (name, value) in fields { input type="hidden" name=(name) value=(hidden_value(value)); }
                button { (label) }
            }
        }
    }
}

/// Returns a text that stands among others, isolated from their direction.
pub(super) fn isolated(text: &str) -> Markup {
    html! { bdi { (text) } }
}

/// Returns a message in which names stand between backticks.
pub(super) fn with_code(text: &str) -> Markup {
    html! {
        bdi { @for (index, part) in text.split('`').enumerate() { @if index % 2 == 1 { code { (part) } } @else { (part) } } }
    }
}

/// Returns a title as lists show it.
pub(super) fn title(text: &str) -> String {
    if text.trim().is_empty() { "(no title)".to_owned() } else { cut(text.trim(), MAX_TITLE) }
}

/// Returns a text in a line, cut to so many characters, also within a word.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let line: String = text.chars().take(limit * 4).map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect();
    shorten(&line, limit)
}

/// Returns a link to the page of a task or a run, or to the attempts of a feature.
pub(super) fn named_link(kind: &str, id: &str, shown: &str) -> Markup {
    let address = if kind == "feature" { with_query("timeline", [(kind, id)]) } else { with_query(kind, [("id", id)]) };
    html! { a href=(address) { (isolated(&title(shown))) } }
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

/// Returns a badge: `good`, `bad`, `warn` or `plain`.
pub(super) fn badge(class: &str, text: &str) -> Markup {
    html! { span class={ "badge " (class) } { (text) } }
}

/// Returns the badge of an outcome, which says it in words, too.
pub(super) fn outcome_badge(outcome: Outcome) -> Markup {
    let class = match outcome {
        Outcome::Done => "good",
        Outcome::Failed | Outcome::Error => "bad",
        Outcome::Blocked | Outcome::Retried => "warn",
        Outcome::Partial | Outcome::Interrupted => "plain",
    };
    badge(class, outcome.as_str())
}

/// Returns a length of time.
pub(super) fn duration(seconds: f64) -> String {
    Duration::try_from_secs_f64(seconds).map(ralph_memory::text::duration).unwrap_or_default()
}

/// Returns a number of things, with the noun in the right number.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Returns a fact with its name.
pub(super) fn fact(name: &str, value: &Markup) -> Markup {
    html! { @if !value.0.is_empty() { dt { (name) } dd { (value) } } }
}

/// Returns a table from the cells of its rows. A heading that ends in `#` is that of numbers. The stylesheet hides the caption where a heading
/// stands right before the table. Where the window is narrow, each row becomes a block of lines, each with its heading; the roles say that
/// it still is a table. A wide one scrolls in its own box, which the keyboard reaches.
pub(super) fn table(caption: &str, headings: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    let class = |heading: &str| heading.ends_with('#').then_some("num");
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table role="table" {
                caption { (caption) }
                thead role="rowgroup" { tr role="row" { @for heading in headings {
                    th scope="col" role="columnheader" class=[class(heading)] { (heading.trim_end_matches('#')) }
                } } }
                tbody role="rowgroup" { @for row in rows { tr role="row" { @for (at, (cell, heading)) in row.iter().zip(headings).enumerate() {
                    @if at == 0 { th scope="row" role="rowheader" { (cell) } }
                    @else { td role="cell" class=[class(heading)] data-label=(heading.trim_end_matches('#')) { (cell) } }
                } } } }
            }
        }
    }
}

/// Returns a list of entries, each with the line of its text that matches a query best. `more` is what stands below an entry.
pub(super) fn entry_list<'a>(
    memory: &Memory,
    entries: impl IntoIterator<Item = &'a EntrySummary>,
    query: &str,
    more: impl Fn(&EntrySummary) -> Markup,
) -> Markup {
    let entries: Vec<&EntrySummary> = entries.into_iter().collect();
    let excerpts = memory.excerpts(entries.iter().copied(), query, EXCERPT);
    html! {
        ul.rows { @for (entry, excerpt) in entries.iter().zip(&excerpts) {
            li.row {
                p.row-title { (entry_link(entry)) " " (entry_badges(entry)) }
                // An event says all in its title.
                @if !excerpt.is_empty() && *excerpt != entry.title { p dir="auto" { (excerpt) } }
                (entry_meta(entry))
                (more(entry))
            }
        } }
    }
}

/// Returns the title of an entry as a link to its page; an entry of a layer has none.
fn entry_link(entry: &EntrySummary) -> Markup {
    let shown = isolated(&title(&entry.title));
    html! { @if let Some(layer) = &entry.layer { (layer) ": " (shown) } @else { a href=(entry_address(&entry.id)) { (shown) } } }
}

/// Returns what is known of an entry beside its title: what it is, who wrote it, the feature, when it changed, and its tags. An entry of
/// which nothing is said is a person's, and an attempt is an agent's anyway.
fn entry_meta(entry: &EntrySummary) -> Markup {
    let kind = if entry.kind == Kind::Journal { "attempt" } else { entry.kind.as_str() };
    html! {
        p.meta {
            (isolated(&cut(entry.category.as_deref().unwrap_or(kind), 40)))
            @if entry.kind == Kind::Knowledge && !entry.source.is_person() { " · by " (entry.source.as_str()) }
            @if let Some(feature) = &entry.feature { " · " (named_link("feature", feature, feature)) }
            @if let Some(time) = entry.updated_at.as_deref().or(entry.created_at.as_deref()) { " · " (ShownTime(time)) }
            (tags(&entry.tags))
        }
    }
}

/// Returns what a reader should know of an entry at first sight.
pub(super) fn entry_badges(entry: &EntrySummary) -> Markup {
    html! {
        @if let Some(outcome) = entry.outcome { (outcome_badge(outcome)) " " }
        @for (is_so, class, text) in
            [(entry.superseded, "warn", "superseded"), (entry.expired, "warn", "expired"), (entry.archived, "plain", "archived")]
        {
            @if is_so { (badge(class, text)) " " }
        }
    }
}

/// Returns the tags of an entry, each with a link to its list.
pub(super) fn tags(tags: &[String]) -> Markup {
    html! {
        @for tag in tags.iter().take(MAX_TAGS) {
            " " a.tag href=(with_query("entries", [("kind", "all"), ("tag", tag)])) { (isolated(&cut(tag, 40))) }
        }
        @if tags.len() > MAX_TAGS { " " span.quiet { "+" (tags.len() - MAX_TAGS) } }
    }
}

/// Returns the problems that were found on the way.
pub(super) fn problems(problems: &[Problem]) -> Markup {
    html! {
        @if !problems.is_empty() {
            aside.note aria-label="Problems" {
                p { strong { (counted(problems.len(), "problem", "problems")) " found on the way" } }
                ul { @for problem in problems.iter().take(MAX_PROBLEMS) { li { (isolated(&problem.to_string())) } } }
                @if problems.len() > MAX_PROBLEMS { p { code { "ralph-memory check" } " lists all" } }
            }
        }
    }
}

/// Returns a message where there is no content, in which commands stand between backticks.
pub(super) fn empty(text: &str) -> Markup {
    html! { p.empty { (with_code(text)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_and_encoded() {
        let id = Id::parse("knowledge/a b&c").unwrap();
        assert_eq!(entry_address(&id), "entry?id=knowledge%2Fa%20b%26c");
        assert_eq!(with_query("task", [("id", "..")]), "task?id=..");
        assert_eq!(with_query("entries", [("tag", "a\"b"), ("kind", ""), ("a&b", "c")]), "entries?tag=a%22b&a%26b=c");
        assert_eq!(with_query("", []), "./");
    }
}
