//! Features: how the work on each is going, what fails repeatedly, and which files are touched most.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use maud::{Markup, html};
use ralph_memory::Memory;
use ralph_memory::memory::{
    AttemptTotals, EntryFilter, FeatureStats, LogFilter, ModelStats, Stats, StatsFilter, TouchedFile,
};

use super::super::charts::{Column, columns, outcome_class};
use super::super::fields::PageFields;
use super::super::html::{
    HtmlPage, PageContext, ShownTime, badge, cell, counted, cut, dollars, duration, empty, entry_list, id_link,
    isolated, named_link, number, problems, rate, table, time_or_dash, title,
};
use super::super::links::with_query;
use super::attempts::{figures, optional, task_table};
use super::{NO_ATTEMPT, nothing};

/// How many features a page shows, and how many of its models, errors, files and days.
const PER_PAGE: usize = 100;
const MAX_ERRORS: usize = 20;
const MAX_FILES: usize = 20;
const MAX_DAYS: u64 = 60;
const MAX_MODELS: usize = 4;
/// How many attempts and entries of a feature are listed.
const MAX_ATTEMPTS: usize = 25;
const MAX_ENTRIES: usize = 25;
/// Where the others are.
const REST: &str = "ralph-memory stats --json";

/// Makes the page of all features.
pub(super) fn features(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let memory = context.memory;
    let stats = memory.stats(&StatsFilter::default());
    let in_all = stats.features.len();
    let page = fields.list_page(in_all, PER_PAGE);
    let headings = [
        "Feature",
        "Attempts#",
        "Success rate",
        "Tasks~",
        "Failures in a row#",
        "Cost#",
        "Tokens#",
        "Models",
        "Last attempt",
    ];
    let rows = stats.features.iter().skip(page.offset()).take(PER_PAGE).map(row);
    let main = html! {
        @if in_all == 0 { (empty(NO_ATTEMPT)) }
        @else {
            @if page.number == 1 { (figures(&stats.total.totals)) (days(memory, &stats.days, None)) }
            @if in_all > PER_PAGE { p.lead { (page.lead(&counted(in_all, "feature", "features"))) } }
            (table("Features, the one with the last attempt first", &headings, rows))
            (page.pager(fields, "features"))
        }
        @if page.number == 1 { (models(&stats, None)) (errors(&stats)) (files(&stats)) }
        (problems(&stats.problems))
    };
    Ok(HtmlPage { title: "Features".to_owned(), part: "features", main, is_live: true, ..HtmlPage::default() })
}

fn row(stats: &FeatureStats) -> Vec<Markup> {
    let totals = &stats.totals;
    let tokens = totals.tokens_in.into_iter().chain(totals.tokens_out).reduce(u64::saturating_add);
    let models: Vec<&str> = stats.models.iter().map(|model| model.model.as_str()).collect();
    let feature = html! {
        @if let Some(feature) = &stats.feature { (named_link("feature", feature, feature)) }
        @else { span.quiet { "without a feature" } }
    };
    let tasks = html! {
        (stats.tasks.done) " done, " (stats.tasks.open) " open"
        @if stats.tasks.stuck > 0 { br; (badge("bad", &format!("{} stuck", stats.tasks.stuck))) }
    };
    vec![
        feature,
        cell(totals.attempts),
        rate(totals.success_rate),
        tasks,
        cell(stats.streak),
        optional(totals.cost_usd.map(dollars)),
        optional(tokens.map(number)),
        isolated(&title_of_models(&models)),
        time_or_dash(stats.last_started_at.as_deref()),
    ]
}

fn title_of_models(models: &[&str]) -> String {
    let shown: Vec<String> = models.iter().take(MAX_MODELS).map(|model| cut(model, 40)).collect();
    match models.len() {
        0 => "–".to_owned(),
        all if all > MAX_MODELS => format!("{} and {} more", shown.join(", "), all - MAX_MODELS),
        _ => shown.join(", "),
    }
}

/// Says how many there are beside those that are shown, and where.
fn more(in_all: usize, shown: usize, place: &str) -> Markup {
    html! { @if in_all > shown { p.quiet { "and " (in_all - shown) " more, which " (place) " lists" } } }
}

/// Makes the page of one feature.
pub(super) fn feature(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let (memory, id) = (context.memory, fields.text("id"));
    let feature = Some(id.to_owned()).filter(|name| !name.is_empty());
    let stats = memory.stats(&StatsFilter { feature: feature.clone(), ..StatsFilter::default() });
    let mut listed = memory.list(&EntryFilter {
        feature: feature.clone(),
        kind: Some(ralph_memory::Kind::Knowledge),
        ..EntryFilter::default()
    });
    if feature.is_none() || (stats.total.totals.attempts == 0 && listed.entries.is_empty()) {
        return Err(nothing("feature", id).into());
    }
    let n_entries = listed.entries.len();
    listed.entries.truncate(MAX_ENTRIES);
    let mut log = memory.log(&LogFilter { feature, limit: Some(MAX_ATTEMPTS), ..LogFilter::default() });
    // The page names it once.
    log.attempts.iter_mut().for_each(|attempt| attempt.attempt.feature = None);
    listed.entries.iter_mut().for_each(|entry| entry.feature = None);
    let main = html! {
        (figures(&stats.total.totals))
        (days(memory, &stats.days, Some(id)))
        (models(&stats, Some(id)))
        @if !log.attempts.is_empty() {
            h2 { "Tasks" }
            @if log.in_all > MAX_ATTEMPTS {
                p.quiet { "Those of the last " (MAX_ATTEMPTS) " attempts of " a href=(with_query("timeline", [("feature", id)])) { (log.in_all) } "." }
            }
            (task_table("Tasks, the one with the newest attempt first", &log.attempts, MAX_ATTEMPTS))
        }
        (errors(&stats))
        (files(&stats))
        @if n_entries > 0 {
            h2 { "Knowledge " span.quiet { "(" (counted(n_entries, "entry", "entries")) ")" } }
            (entry_list(memory, &listed.entries))
            @if n_entries > MAX_ENTRIES { p { a href=(with_query("entries", [("feature", id)])) { "All " (counted(n_entries, "entry", "entries")) } } }
        }
        (problems(&stats.problems))
    };
    Ok(HtmlPage { title: title(id), part: "features", trail: Some(Vec::new()), main, is_live: true })
}

/// Returns the attempts by model, of one feature or of all.
fn models(stats: &Stats, feature: Option<&str>) -> Markup {
    let address = |model: &str| with_query("timeline", [("feature", feature.unwrap_or_default()), ("model", model)]);
    let rows = stats.total.models.iter().map(|ModelStats { model, totals }| {
        let tokens = totals.tokens_in.into_iter().chain(totals.tokens_out).reduce(u64::saturating_add);
        vec![
            html! { a href=(address(model)) { (isolated(&title(model))) } },
            cell(totals.attempts),
            rate(totals.success_rate),
            optional(totals.duration_secs.map(duration)),
            optional(totals.cost_usd.map(dollars)),
            optional(tokens.map(number)),
        ]
    });
    let headings = ["Model", "Attempts#", "Success rate", "Time#", "Cost#", "Tokens#"];
    html! { @if !stats.total.models.is_empty() { h2 { "Models" } (table("Attempts by model", &headings, rows)) } }
}

/// The tops of the scale of a chart of counts.
const COUNTS: [f64; 15] = [2.0, 4.0, 6.0, 10.0, 20.0, 40.0, 60.0, 100.0, 200.0, 400.0, 1e3, 2e3, 4e3, 1e4, 1e5];

/// Returns a chart of the last days up to today, those without attempts included, with its numbers.
fn days(memory: &Memory, days: &BTreeMap<NaiveDate, AttemptTotals>, feature: Option<&str>) -> Markup {
    let today = memory.now().date_naive();
    let earliest = today.checked_sub_days(Days::new(MAX_DAYS - 1)).unwrap_or(today);
    let shown = days.range(earliest..=today);
    let Some((first, _)) = shown.clone().next() else { return html! {} };
    let address = |date: &NaiveDate| {
        let date = date.to_string();
        with_query(
            "timeline",
            [("feature", feature.unwrap_or_default()), ("since", date.as_str()), ("until", date.as_str())],
        )
    };
    let column = |date: NaiveDate| Column {
        parts: days.get(&date).map(parts).unwrap_or_default(),
        title: format!(
            "{date}: {}",
            counted(days.get(&date).map_or(0, |totals| totals.attempts), "attempt", "attempts")
        ),
        address: address(&date),
    };
    let drawn: Vec<Column> = first.iter_days().take_while(|date| *date <= today).map(column).collect();
    let rows = shown.rev().map(|(date, totals)| {
        let failed = totals.counted - totals.succeeded;
        let link = html! { a href=(address(date)) { (date) } };
        vec![link, cell(totals.attempts), cell(totals.succeeded), cell(failed), cell(totals.attempts - totals.counted)]
    });
    let headings = ["Day", "Attempts#", "Succeeded#", "Failed#", "Not counted#"];
    html! {
        figure.card {
            figcaption.meta { "Attempts by day" }
            (columns("Attempts by day and outcome; the table has the numbers", &drawn, &COUNTS, |value| value.to_string(), &[html! { (first) }, html! { "today" }]))
            details { summary { "The numbers" } (table("Attempts by day", &headings, rows)) }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer attempts than that")]
fn parts(totals: &AttemptTotals) -> Vec<(&'static str, f64)> {
    let of = |class: &str| {
        let outcomes = totals.outcomes.iter().filter(|(outcome, _)| outcome_class(**outcome) == class);
        outcomes.map(|(_, count)| count).sum::<usize>()
    };
    ["good", "warn", "bad", "plain"].map(|class| (class, of(class) as f64)).to_vec()
}

fn errors(stats: &Stats) -> Markup {
    html! {
        @if !stats.errors.is_empty() {
            h2 id="errors" { "Recurring errors" }
            ul.rows {
                @for error in stats.errors.iter().take(MAX_ERRORS) {
                    li.row {
                        p { (badge("bad", &format!("{}×", error.attempts))) " " code dir="auto" { (isolated(&error.example)) } }
                        p.meta {
                            "First " (ShownTime(&error.first.started_at)) " in " (id_link(&error.first.id))
                            ", last " (ShownTime(&error.last.started_at)) " in " (id_link(&error.last.id))
                        }
                    }
                }
            }
            (more(stats.errors.len(), MAX_ERRORS, REST))
        }
    }
}

fn files(stats: &Stats) -> Markup {
    type Count = fn(&TouchedFile) -> usize;
    let files = &stats.files[..stats.files.len().min(MAX_FILES)];
    let counts: [(&str, Count); 4] = [
        ("Attempts#", |file| file.attempts),
        ("Created#", |file| file.created),
        ("Changed#", |file| file.modified),
        ("Read#", |file| file.read),
    ];
    // What happened to none of them needs no column.
    let counts = counts.into_iter().filter(|(_, count)| files.iter().any(|file| count(file) > 0));
    let (names, counts): (Vec<&str>, Vec<Count>) = counts.unzip();
    let rows = files.iter().map(|file| {
        let path = html! { code { (isolated(&title(&file.path))) } };
        [path].into_iter().chain(counts.iter().map(|count| cell(count(file)))).collect()
    });
    let headings: Vec<&str> = ["File"].into_iter().chain(names).collect();
    html! {
        @if !files.is_empty() {
            h2 { "Files touched most" }
            (table("Files, by the number of attempts", &headings, rows))
            (more(stats.files.len(), MAX_FILES, REST))
        }
    }
}
