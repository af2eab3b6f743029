//! Timeline: all attempts, newest first, with filters.

use chrono::{Days, NaiveTime};
use maud::{Markup, html};
use ralph_memory::entry::Outcome;
use ralph_memory::memory::{Log, LogFilter};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, counted, empty, problems};
use super::attempts::{attempt_table, duration_chart};

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
    let main = html! {
        (filters(fields))
        div id="results" {
            p.lead role="status" { (page.lead(&counted(log.in_all, "attempt", "attempts"))) }
            @if log.attempts.is_empty() { (empty("No attempt matches.")) }
            @else {
                (duration_chart(&oldest_first))
                (attempt_table("Attempts, newest first", &log.attempts, false))
            }
            (page.pager(fields, "timeline"))
            (problems(&log.problems))
        }
    };
    Ok(HtmlPage { title: "Timeline".to_owned(), part: "timeline", main, is_live: true })
}

fn filters(fields: &PageFields) -> Markup {
    let names = Outcome::WORDS.iter().map(|word| (*word, *word));
    let outcomes: Vec<(&str, &str)> = [("", "All")].into_iter().chain(names).collect();
    html! {
        form.filters action="timeline" method="get" {
            (fields.text_input("feature", "Feature"))
            (fields.text_input("task", "Task id"))
            (fields.text_input("run", "Run"))
            (fields.choice("outcome", "Outcome", &outcomes))
            (fields.text_input("model", "Model"))
            (fields.date_input("since", "Since"))
            (fields.date_input("until", "Until"))
            div { button { "Filter" } }
        }
    }
}
