//! Health: what `check` reports, duplicates, and knowledge that was never useful.

use maud::{Markup, html};
use ralph_memory::entry::EntrySummary;
use ralph_memory::error::Severity;
use ralph_memory::memory::{EntryFilter, EntrySort, SemanticStatus, Useless};
use ralph_memory::{Id, Kind, Problem};

use super::super::fields::PageFields;
use super::super::html::{HtmlPage, PageContext, badge, counted, entry_list, isolated, table, with_code};
use super::super::links::entry_address;
use super::now::semantic;
use super::operations::operations;

/// How many problems of a group are shown.
const MAX_SHOWN: usize = 100;
/// How many entries are listed that were never useful.
const MAX_USELESS: usize = 50;

/// Makes the page.
pub(super) fn health(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    // The servers of semantic search are asked by a thread of their own: they may take seconds.
    let status = context.semantic.clone().unwrap_or_else(|| SemanticStatus {
        wanted: false,
        active: false,
        detail: "the servers are being asked".to_owned(),
        fix: None,
    });
    let report = context.memory.check_with(status, Vec::new());
    let (similar, others): (Vec<&Problem>, Vec<&Problem>) =
        report.problems.iter().partition(|problem| problem.code == "near-duplicate");
    let (useless, others): (Vec<&Problem>, Vec<&Problem>) =
        others.into_iter().partition(|problem| matches!(problem.code.as_str(), "suspect" | "unused" | "unfound"));
    let never_helped = never_helped(context);
    let main = html! {
        (semantic(context))
        dl.figures {
            div { dt { "Files" } dd { (report.files) } }
            div { dt { "Errors" } dd { (report.total.errors) } }
            div { dt { "Warnings" } dd { (report.total.warnings) } }
            div { dt { "Notices" } dd { (report.total.notices) } }
        }
        (group("Problems", "No problem was found.", &others))
        (examined(&report.ok))
        (group("Duplicates", "No two entries say nearly the same.", &similar))
        @if !useless.is_empty() || never_helped.is_empty() {
            (group("Of no use so far", "Nothing that contexts included looks useless.", &useless))
        }
        @if !never_helped.is_empty() {
            h2 { "Never helped" }
            p.lead { (counted(never_helped.len(), "entry was", "entries were")) " in contexts of attempts at several tasks that failed, and of none that succeeded." }
            (entry_list(context.memory, &never_helped[..never_helped.len().min(MAX_USELESS)]))
            @if never_helped.len() > MAX_USELESS { p.quiet { "and " (never_helped.len() - MAX_USELESS) " more; ralph-memory list --never-helped lists them" } }
        }
        (operations(context, fields, "health"))
    };
    Ok(HtmlPage { title: "Health".to_owned(), part: "health", main, is_live: true, ..HtmlPage::default() })
}

fn group(heading: &str, none: &str, found: &[&Problem]) -> Markup {
    html! {
        h2 { (heading) }
        @if found.is_empty() { p.quiet { (none) } }
        @else {
            ul.rows { @for problem in found.iter().take(MAX_SHOWN) { li.row { (row(problem)) } } }
            @if found.len() > MAX_SHOWN { p.quiet { "and " (found.len() - MAX_SHOWN) " more; ralph-memory check lists them" } }
        }
    }
}

fn row(problem: &Problem) -> Markup {
    let (class, word) = match problem.severity {
        Severity::Error => ("bad", "error"),
        Severity::Warning => ("warn", "warning"),
        Severity::Notice => ("plain", "notice"),
    };
    let id = problem.path.strip_prefix(".ralph/").and_then(Id::of_path);
    html! {
        p.row-title {
            (badge(class, word)) " "
            @if let Some(id) = id { a href=(entry_address(&id)) { (isolated(&problem.path)) } }
            @else { (isolated(&problem.path)) }
            @if let Some(line) = problem.line { span.quiet { ", line " (line) } }
        }
        p dir="auto" { (with_code(problem.message.as_str())) }
        p.meta dir="auto" { (with_code(problem.hint.as_str())) }
    }
}

/// Shows what is as it should be.
fn examined(ok: &[Problem]) -> Markup {
    let rows = ok.iter().map(|part| vec![html! { (part.code) }, with_code(part.message.as_str())]);
    html! { h2 { "What was examined" } (table("The parts, and what was found", &["Part", "Finding"], rows)) }
}

/// Returns the knowledge that was included in contexts of attempts that failed, and of none that succeeded; most often first.
fn never_helped(context: &PageContext<'_>) -> Vec<EntrySummary> {
    let filter = EntryFilter {
        kind: Some(Kind::Knowledge),
        useless: Some(Useless::NeverHelped),
        sort: Some(EntrySort::Used),
        ..EntryFilter::default()
    };
    context.memory.list(&filter).entries
}
