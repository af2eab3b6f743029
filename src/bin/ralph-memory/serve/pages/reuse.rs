//! What the memory was good for in the last seven days: the things that the first page counts.

use chrono::Days;
use maud::{Markup, html};
use ralph_memory::memory::{LogFilter, ReuseStats, StatsFilter};
use ralph_memory::{Id, Memory};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, counted, cut, empty, entry_list, isolated};
use super::super::links::with_query;
use super::attempts::attempt_table;

/// How many things a page shows.
const PER_PAGE: usize = 50;
/// How many days count as this week.
const WEEK: u64 = 7;

/// Returns the filter for the attempts of this week.
pub(super) fn week(memory: &Memory) -> StatsFilter {
    StatsFilter { since: memory.now().checked_sub_days(Days::new(WEEK)), ..StatsFilter::default() }
}

/// One of the lists.
#[derive(Clone, Copy)]
pub(super) enum ReuseList {
    Facts,
    Attempts,
    Recovered,
    ErrorsAgain,
}

impl ReuseList {
    pub(super) const ALL: [ReuseList; 4] =
        [ReuseList::Facts, ReuseList::Attempts, ReuseList::Recovered, ReuseList::ErrorsAgain];

    pub(super) fn title(self) -> &'static str {
        match self {
            ReuseList::Facts => "Facts reused",
            ReuseList::Attempts => "Successes with a fact",
            ReuseList::Recovered => "Successes after a failure",
            ReuseList::ErrorsAgain => "Repeated errors",
        }
    }

    fn name(self) -> &'static str {
        match self {
            ReuseList::Facts => "facts",
            ReuseList::Attempts => "attempts",
            ReuseList::Recovered => "recovered",
            ReuseList::ErrorsAgain => "errors",
        }
    }

    /// Says what the list has, after the number of its things.
    fn meaning(self) -> &'static str {
        match self {
            ReuseList::Facts => "in the contexts of attempts that succeeded in the last seven days",
            ReuseList::Attempts => "that succeeded in the last seven days with a fact in the context",
            ReuseList::Recovered => "that succeeded in the last seven days where the one before at the task had failed",
            ReuseList::ErrorsAgain => {
                "in the last seven days that failed with an error that an earlier attempt had met"
            }
        }
    }

    pub(super) fn address(self) -> String {
        with_query("reuse", [("of", self.name())])
    }

    pub(super) fn ids(self, reuse: &ReuseStats) -> &[Id] {
        match self {
            ReuseList::Facts => &reuse.facts,
            ReuseList::Attempts => &reuse.attempts,
            ReuseList::Recovered => &reuse.recovered,
            ReuseList::ErrorsAgain => &reuse.errors_again,
        }
    }
}

/// Makes the page.
pub(super) fn reuse(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let memory = context.memory;
    let list = ReuseList::ALL.into_iter().find(|list| list.name() == fields.text("of")).unwrap_or(ReuseList::Facts);
    let reuse = memory.reuse(&week(memory));
    let ids = list.ids(&reuse);
    let page = fields.list_page(ids.len(), PER_PAGE);
    let count = match list {
        ReuseList::Facts => counted(ids.len(), "entry", "entries"),
        _ => counted(ids.len(), "attempt", "attempts"),
    };
    let main = html! {
        p.lead { (page.lead(&format!("{count} {}", list.meaning()))) }
        @if ids.is_empty() { (empty("Nothing so far.")) }
        @else if matches!(list, ReuseList::Facts) { (facts(memory, &ids[page.offset()..ids.len().min(page.offset() + PER_PAGE)])) }
        @else {
            @let of_list = LogFilter { ids: ids.to_vec(), offset: page.offset(), limit: Some(PER_PAGE), ..LogFilter::default() };
            (attempt_table("Attempts, newest first", &memory.log(&of_list).attempts, false))
        }
        (page.pager(fields, "reuse"))
    };
    Ok(HtmlPage { title: list.title().to_owned(), trail: Some(Vec::new()), main, is_live: true, ..HtmlPage::default() })
}

/// Returns facts, those last that are not here any more or belong to another memory.
fn facts(memory: &Memory, ids: &[Id]) -> Markup {
    let entries = memory.summaries(ids);
    let others = ids.iter().filter(|id| entries.iter().all(|entry| entry.id != **id));
    html! {
        (entry_list(memory, &entries))
        @let others: Vec<&Id> = others.collect();
        @if !others.is_empty() {
            h2 { "Not in this memory" }
            p.lead { "They were removed since, or belong to a layer." }
            ul.rows { @for id in others { li.row { p.row-title { code { (isolated(&cut(id.as_str(), 160))) } } } } }
        }
    }
}
