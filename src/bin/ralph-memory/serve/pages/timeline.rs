//! Timeline: all attempts, newest first, with filters.

use chrono::{Days, NaiveTime};
use maud::{Markup, html};
use ralph_memory::Id;
use ralph_memory::entry::Outcome;
use ralph_memory::memory::{Log, LogFilter, StatsFilter};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, counted, empty, problems};
use super::NO_ATTEMPT;
use super::attempts::{attempt_table, duration_chart, task_table};

/// How many attempts a page shows.
const PER_PAGE: usize = 50;

/// Returns the attempts that the fields ask for, from one on.
fn log(context: &PageContext<'_>, fields: &PageFields, offset: usize) -> Log {
    let day = |name: &str, later: u64| {
        let date = fields.date(name)?.checked_add_days(Days::new(later))?;
        Some(date.and_time(NaiveTime::MIN).and_utc())
    };
    context.memory.log(&LogFilter {
        task_id: fields.given("task"),
        run_id: fields.given("run"),
        feature: fields.given("feature"),
        outcomes: Outcome::parse(fields.text("outcome")).into_iter().collect(),
        model: fields.given("model"),
        fact: Id::parse(fields.text("fact")),
        since: day("since", 0),
        // The last day counts.
        until: day("until", 1),
        offset,
        limit: Some(PER_PAGE),
        ..LogFilter::default()
    })
}

/// Makes the page.
pub(super) fn timeline(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let wanted = fields.list_page(usize::MAX, PER_PAGE).offset();
    let mut log = self::log(context, fields, wanted);
    let page = fields.list_page(log.in_all, PER_PAGE);
    if page.offset() != wanted {
        log = self::log(context, fields, page.offset());
    }
    let mut oldest_first = log.attempts.clone();
    oldest_first.reverse();
    let is_filtered = FILTERS.iter().any(|name| !fields.text(name).is_empty());
    let main = html! {
        (filters(context, fields))
        div id="results" {
            p.lead role="status" { (page.lead(&counted(log.in_all, "attempt", "attempts"))) }
            @if log.attempts.is_empty() { (empty(if is_filtered { "No attempt matches. Change the filters." } else { NO_ATTEMPT })) }
            @else {
                (duration_chart(context.memory, &oldest_first))
                @if fields.text("by") == "task" { (task_table("Tasks, the one with the newest attempt first", &log.attempts, PER_PAGE)) }
                @else { (attempt_table("Attempts, newest first", &log.attempts, false)) }
            }
            (page.pager(fields, "timeline"))
            (problems(&log.problems))
        }
    };
    Ok(HtmlPage { title: "Timeline".to_owned(), part: "timeline", main, is_live: true, ..HtmlPage::default() })
}

/// The names of the filters.
const FILTERS: [&str; 8] = ["feature", "task", "run", "outcome", "model", "fact", "since", "until"];

fn filters(context: &PageContext<'_>, fields: &PageFields) -> Markup {
    let stats = context.memory.stats(&StatsFilter::default());
    let features = stats.features.into_iter().filter_map(|stats| stats.feature).collect();
    let models = stats.total.models.into_iter().map(|stats| stats.model).collect();
    let outcomes = Outcome::WORDS.iter().map(|word| (*word).to_owned()).collect();
    fields.folded(
        &FILTERS,
        html! {
            form.filters action="timeline" method="get" {
                (fields.choice("by", "Show", &[("", "Attempts"), ("task", "Tasks")]))
                (fields.known_choice("feature", "Feature", &features))
                (fields.known_choice("outcome", "Outcome", &outcomes))
                (fields.known_choice("model", "Model", &models))
                (fields.text_input("task", "Task id"))
                (fields.text_input("run", "Run"))
                (fields.text_input("fact", "Fact in the context"))
                (fields.date_input("since", "Since"))
                (fields.date_input("until", "Until"))
                div { button { "Filter" } }
            }
        },
    )
}
