//! Timeline: all attempts, newest first, with filters.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use maud::{Markup, html};
use ralph_memory::entry::Outcome;
use ralph_memory::memory::LogFilter;
use serde::Deserialize;

use super::super::html::{HtmlPage, PageContext, counted, empty, pager, problems};
use super::super::links::with_query;
use super::attempts::{attempt_table, duration_chart};
use super::entries::{choice_field, text_field};
use super::given;
use super::search::date_field;

/// How many attempts a page shows.
const PER_PAGE: usize = 50;

/// The query.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::serve) struct TimelineArgs {
    feature: String,
    run: String,
    task: String,
    outcome: String,
    model: String,
    since: String,
    until: String,
    /// The number of the page, from 1.
    page: String,
}

impl TimelineArgs {
    fn filter(&self, page: usize) -> LogFilter {
        let text = |field: &str| given(field).map(str::to_owned);
        let outcome = Outcome::parse(&self.outcome);
        LogFilter {
            task_id: text(&self.task),
            run_id: text(&self.run),
            feature: text(&self.feature),
            outcomes: outcome.into_iter().collect(),
            model: text(&self.model),
            since: day(&self.since),
            // The last day counts.
            until: day(&self.until).and_then(|day| day.checked_add_days(chrono::Days::new(1))),
            offset: (page - 1).saturating_mul(PER_PAGE),
            limit: Some(PER_PAGE),
            ..LogFilter::default()
        }
    }

    fn at(&self, page: usize) -> String {
        let page = if page > 1 { page.to_string() } else { String::new() };
        let Self { feature, run, task, outcome, model, since, until, .. } = self;
        let fields = [
            ("feature", feature),
            ("run", run),
            ("task", task),
            ("outcome", outcome),
            ("model", model),
            ("since", since),
            ("until", until),
            ("page", &page),
        ];
        with_query("timeline", &fields.map(|(name, value)| (name, value.as_str())))
    }
}

fn day(field: &str) -> Option<DateTime<Utc>> {
    let date: NaiveDate = given(field)?.parse().ok()?;
    Some(date.and_time(NaiveTime::MIN).and_utc())
}

/// Makes the page.
pub(in crate::serve) fn timeline(context: &PageContext<'_>, args: &TimelineArgs) -> anyhow::Result<HtmlPage> {
    let page = args.page.parse::<usize>().unwrap_or(1).max(1);
    let log = context.memory.log(&args.filter(page));
    let last = log.in_all.div_ceil(PER_PAGE).max(1);
    let mut oldest_first = log.attempts.clone();
    oldest_first.reverse();
    let main = html! {
        (filters(args))
        div id="results" {
            p.lead role="status" {
                (counted(log.in_all, "attempt", "attempts"))
                @if last > 1 { ", page " (page) " of " (last) }
            }
            @if log.attempts.is_empty() { (empty("No attempt matches.")) }
            @else {
                (duration_chart(&oldest_first))
                (attempt_table("Attempts, newest first", &log.attempts))
            }
            (pager((page > 1).then(|| args.at(page - 1)), (page < last).then(|| args.at(page + 1))))
            (problems(&log.problems))
        }
    };
    Ok(HtmlPage { title: "Timeline".to_owned(), part: "timeline", main, is_live: true })
}

fn filters(args: &TimelineArgs) -> Markup {
    let names = Outcome::WORDS.iter().map(|word| (*word, *word));
    let outcomes: Vec<(&str, &str)> = [("", "All")].into_iter().chain(names).collect();
    html! {
        form.filters action="timeline" method="get" {
            (text_field("feature", "Feature", &args.feature))
            (text_field("task", "Task id", &args.task))
            (text_field("run", "Run", &args.run))
            (choice_field("outcome", "Outcome", &args.outcome, &outcomes))
            (text_field("model", "Model", &args.model))
            (date_field("since", "Since", &args.since))
            (date_field("until", "Until", &args.until))
            div { button { "Filter" } }
        }
    }
}
