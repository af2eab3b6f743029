//! What a colleague sees in the files at the end of a sampled day, for readers who choose what is most useful. It has
//! nothing of the briefing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ralph_memory::entry::Outcome;
use ralph_memory::memory::EntryFilter;
use ralph_memory::{Kind, Scope};

use super::{HOUR, Past, Year, date, morning};

/// Returns the page of a day.
pub(super) fn page(year: &Year, day: usize) -> String {
    let mut page = format!("# Day {day}, {}, in the evening\n", date(day));
    attempts(year, day, &mut page);
    unfinished(year, &mut page);
    errors(year, &mut page);
    entries(year, &mut page);
    page
}

fn attempts(year: &Year, day: usize, page: &mut String) {
    page.push_str("\n## Attempts of the last 14 days, oldest first\n\n");
    let since = morning(day) - 14 * 24 * HOUR;
    for past in year.past.iter().filter(|past| morning(past.day) > since) {
        let task = &year.story.tasks[past.plan.task];
        let id = task.id.as_deref().unwrap();
        let outcome = past.plan.outcome.as_str();
        writeln!(page, "- {} {}: {id} \"{}\": **{outcome}**", date(past.day), past.id, task.title).unwrap();
        match &past.plan.failure {
            None => writeln!(page, "  - summary: {}", past.plan.summary).unwrap(),
            Some(failure) => {
                writeln!(page, "  - tried: {}", failure.tried).unwrap();
                writeln!(page, "  - why it failed: {}", failure.why).unwrap();
                writeln!(page, "  - error: {}", failure.error.line).unwrap();
                if let Some(next) = &failure.next {
                    writeln!(page, "  - suggestion: {next}").unwrap();
                }
            }
        }
    }
}

fn unfinished(year: &Year, page: &mut String) {
    page.push_str("\n## Tasks that are not done, by id\n\n");
    let mut tasks: BTreeMap<&str, Vec<&Past>> = BTreeMap::new();
    for past in &year.past {
        tasks.entry(year.story.tasks[past.plan.task].id.as_deref().unwrap()).or_default().push(past);
    }
    for (id, all) in tasks {
        let last = all.last().unwrap();
        if last.plan.outcome != Outcome::Done {
            let title = &year.story.tasks[last.plan.task].title;
            let failures = all.iter().filter(|past| past.plan.failure.is_some()).count();
            writeln!(page, "- {id} \"{title}\": last attempt {}, {failures} failures", date(last.day)).unwrap();
        }
    }
}

fn errors(year: &Year, page: &mut String) {
    page.push_str("\n## Errors that occurred in two or more tasks, by id\n\n");
    let mut errors: BTreeMap<&str, Vec<&Past>> = BTreeMap::new();
    for past in &year.past {
        if let Some(failure) = &past.plan.failure {
            errors.entry(&failure.error.name).or_default().push(past);
        }
    }
    for (name, all) in errors {
        let tasks: BTreeSet<usize> = all.iter().map(|past| past.plan.task).collect();
        if tasks.len() > 1 {
            let line = &all.last().unwrap().plan.failure.as_ref().unwrap().error.line;
            let dates: Vec<String> = all.iter().map(|past| date(past.day)).collect();
            writeln!(page, "- error:{name} \"{line}\": {} tasks; {}", tasks.len(), dates.join(", ")).unwrap();
        }
    }
}

fn entries(year: &Year, page: &mut String) {
    page.push_str("\n## Knowledge, by id\n\n");
    let usage = year.memory.usage();
    let list = year.memory.list(&EntryFilter { kind: Some(Kind::Knowledge), ..EntryFilter::default() });
    for entry in list.entries {
        let (had, succeeded) = usage.get(&entry.id).map_or((0, 0), |usage| (usage.recalls, usage.succeeded));
        let replaced = year.memory.show(&entry.id).unwrap().entry.superseded_by;
        let kind = entry.category.as_deref().unwrap_or("note");
        let date = entry.created_at.as_deref().unwrap_or("?").get(..10).unwrap_or("?");
        write!(page, "- {} \"{}\": {kind}, {date}", entry.id, entry.title).unwrap();
        if let Scope::Feature(feature) = &entry.scope {
            write!(page, ", only for {feature}").unwrap();
        }
        write!(page, "; {had} attempts had it, {succeeded} of them succeeded").unwrap();
        if let Some(by) = replaced.first() {
            write!(page, "; replaced by {by}").unwrap();
        }
        page.push('\n');
    }
}
