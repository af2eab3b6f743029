//! The pages of what is known: entries, one entry, a search, and what waits for a person.

use std::cmp::Reverse;

use maud::{Markup, html};
use ralph_memory::entry::EntrySummary;
use ralph_memory::memory::{EntryFilter, EntryLink, EntrySort, EntryView, ListResult, SemanticStatus, WrittenBy};
use ralph_memory::text::printed_command;
use ralph_memory::{Id, Kind, Problem, Query, Scope};

use super::super::html::{
    ARCHIVE, HtmlPage, KEEP, PageContext, PageFields, SEARCH, ShownTime, badge, button, counted, cut, empty,
    entry_address, entry_badges, entry_list, fact, hidden_value, isolated, named_link, problems, tags, title,
    with_code, with_query,
};
use super::super::markdown::{Targets, rendered};
use super::journal::attempt;
use super::{done, last_change, nothing};
use crate::ui::used;

/// How many entries a page shows, how many results of a search, and how many tags are offered.
const PER_PAGE: usize = 50;
const MAX_FOUND: usize = 50;
const MAX_TAGS: usize = 60;
/// How many links, files or problems are listed.
const MAX_LISTED: usize = 100;
/// What `check` finds that a person has to decide: what an agent wants to replace, and what contradicts or repeats something else.
const SUGGESTIONS: [&str; 1] = ["suggested-replacement"];
const CONTRADICTIONS: [&str; 4] = ["near-duplicate", "supersedes-cycle", "merge-conflict", "alias-taken"];

/// Entries: knowledge by its last change, with filters and tags.
pub(super) fn entries(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let tags = fields.text("tag").split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
    let listed = context.memory.list(&EntryFilter {
        // Attempts are many, and have a page of their own.
        kind: if fields.text("kind").is_empty() { Some(Kind::Knowledge) } else { None },
        tags,
        feature: fields.given("feature"),
        category: fields.given("category"),
        archived: !fields.text("archived").is_empty(),
        author: WrittenBy::parse(fields.text("author")),
        sort: Some(EntrySort::parse(fields.text("sort")).unwrap_or(EntrySort::Updated)),
        ..EntryFilter::default()
    });
    let in_all = listed.entries.len();
    let main = html! {
        form.filters action="entries" method="get" {
            (fields.text_input("tag", "Tags"))
            (fields.text_input("feature", "Feature"))
            (fields.text_input("category", "Category"))
            (fields.choice("author", "Written by", &[("", "Anyone"), ("people", "People"), ("agents", "Agents")]))
            (fields.choice("sort", "Sort by", &[("", "Last change"), ("created", "Creation"), ("title", "Title"), ("used", "Use"), ("importance", "Importance")]))
            (fields.choice("archived", "Archive", &[("", "Without"), ("1", "With")]))
            (fields.choice("kind", "Attempts", &[("", "Without"), ("all", "With")]))
            button { "Filter" }
        }
        p.lead { (counted(in_all, "entry", "entries")) }
        @if in_all == 0 { (empty("No entry matches. Change the filters, or write one: `ralph-memory add`.")) }
        @else { (entry_list(context.memory, listed.entries.iter().skip(fields.offset(PER_PAGE)).take(PER_PAGE), "", |_| html! {})) }
        (fields.pager("entries", in_all, PER_PAGE))
        (all_tags(&listed))
        (problems(&listed.problems))
    };
    Ok(HtmlPage { title: "Entries".to_owned(), part: "entries", main, is_live: false })
}

/// Returns the tags of the listed entries, the most frequent first.
fn all_tags(listed: &ListResult) -> Markup {
    let mut tags: Vec<(&String, &usize)> = listed.tags.iter().collect();
    tags.sort_by_key(|(name, count)| (Reverse(**count), (*name).clone()));
    html! {
        @if !tags.is_empty() {
            h2 { "Tags" }
            p { @for (tag, count) in tags.iter().take(MAX_TAGS) {
                a.tag href=(with_query("entries", [("tag", tag.as_str())])) { (isolated(&cut(tag, 40))) " " (count) } " "
            } }
        }
    }
}

/// Search: the entries that match, best first.
pub(super) fn search(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let text = fields.text("q").to_owned();
    let query = Query {
        text: text.clone(),
        in_feature: fields.given("feature"),
        scope: fields.given("scope").map(Scope::from),
        archived: !fields.text("archived").is_empty(),
        ..Query::default()
    };
    let found = if text.trim().is_empty() { None } else { Some(context.memory.search(&query, MAX_FOUND)?) };
    let main = html! {
        form.filters role="search" action=(SEARCH) method="get" aria-label="Search" {
            (fields.text_input("q", "Search for"))
            (fields.text_input("feature", "Feature"))
            (fields.text_input("scope", "Scope"))
            (fields.choice("archived", "Archive", &[("", "Without"), ("1", "With")]))
            button { "Search" }
        }
        @match &found {
            None => { (empty("Type the words of an error, or of what you are about to do.")) }
            Some(found) if found.hits.is_empty() => { (empty("Nothing found. Fewer or other words may help.")) }
            Some(found) => {
                p.lead {
                    @if found.hits.len() == MAX_FOUND { "The best " (MAX_FOUND) " entries" }
                    @else { (counted(found.hits.len(), "entry", "entries")) }
                }
                (entry_list(context.memory, found.hits.iter().map(|hit| &hit.entry), &text, |_| html! {}))
                (problems(&found.problems))
            }
        }
    };
    Ok(HtmlPage { title: "Search".to_owned(), part: SEARCH, main, is_live: false })
}

/// Review: what agents wrote and nobody confirmed, what they suggest, and what contradicts something else.
pub(super) fn review(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let unreviewed = EntryFilter {
        kind: Some(Kind::Knowledge),
        author: Some(WrittenBy::Unreviewed),
        sort: Some(EntrySort::Updated),
        ..EntryFilter::default()
    };
    let listed = context.memory.list(&unreviewed);
    // No page waits for the servers of semantic search.
    let status = SemanticStatus { wanted: false, active: false, detail: String::new(), fix: None };
    let report = context.memory.check_with(status, Vec::new());
    let suggested = of_kinds(&report.problems, &SUGGESTIONS);
    let contradictions = of_kinds(&report.problems, &CONTRADICTIONS);
    let buttons = |entry: &EntrySummary| {
        let fields = [("id", entry.id.as_str()), ("from", "review")];
        // What is suggested is confirmed by a command that names what it replaces.
        let is_suggested = suggested.iter().any(|problem| problem.path == entry.path.as_str());
        html! { div.actions {
            @if !is_suggested { (button(context, KEEP, "Keep", &fields)) }
            (button(context, ARCHIVE, "Archive", &fields))
        } }
    };
    let main = html! {
        (done(fields))
        @if !fields.text("done").is_empty() { (last_change(context)) }
        h2 { "Written by agents" }
        @if listed.entries.is_empty() { p.quiet { "There is nothing that a person has not confirmed." } }
        @else {
            p.lead { (counted(listed.entries.len(), "entry", "entries")) " that nobody has confirmed. " strong { "Keep" } " makes one yours." }
            (entry_list(context.memory, listed.entries.iter().take(PER_PAGE), "", buttons))
            @if listed.entries.len() > PER_PAGE { p.quiet { (listed.entries.len() - PER_PAGE) " more; " code { "ralph-memory list --unreviewed" } " lists all" } }
        }
        (found("Suggestions", "No agent wants to replace what a person wrote.", &suggested))
        (found("Contradictions", "No two entries repeat or contradict each other, as far as is known.", &contradictions))
    };
    Ok(HtmlPage { title: "Review".to_owned(), part: "review", main, is_live: false })
}

fn of_kinds<'a>(problems: &'a [Problem], codes: &[&str]) -> Vec<&'a Problem> {
    problems.iter().filter(|problem| codes.contains(&problem.code.as_str())).collect()
}

/// Returns what `check` found.
fn found(heading: &str, none: &str, found: &[&Problem]) -> Markup {
    let id = |problem: &Problem| problem.path.strip_prefix(".ralph/").and_then(Id::of_path);
    html! {
        h2 { (heading) }
        @if found.is_empty() { p.quiet { (none) } }
        @else {
            ul.rows { @for problem in found.iter().take(MAX_LISTED) { li.row {
                p.row-title {
                    @if let Some(id) = id(problem) { a href=(entry_address(&id)) { (isolated(&problem.path)) } } @else { (isolated(&problem.path)) }
                }
                p dir="auto" { (with_code(problem.message.as_str())) }
                p.meta dir="auto" { (with_code(problem.hint.as_str())) }
            } } }
            @if found.len() > MAX_LISTED { p.quiet { (found.len() - MAX_LISTED) " more; " code { "ralph-memory check" } " lists all" } }
        }
    }
}

/// One entry: its text, where it belongs, and what links to it.
pub(super) fn entry(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = Id::parse(fields.text("id")).ok_or_else(|| nothing("entry", fields.text("id")))?;
    let shown = context.memory.show(&id)?;
    let entry = &shown.entry;
    let summary = &entry.summary;
    let is_attempt = summary.kind == Kind::Journal;
    let whole = summary.title.trim();
    let attempt_view = if is_attempt { context.memory.attempt(&summary.id) } else { None };
    let (frontmatter, short) = (serde_json::to_string_pretty(&entry.frontmatter).unwrap_or_default(), title(whole));
    // The page may be opened again when what was done was taken back.
    let is_so = match fields.text("done") {
        ARCHIVE => summary.archived,
        _ => summary.source.is_person() && !summary.archived,
    };
    let main = html! {
        @if is_so && !fields.text("done").is_empty() { (done(fields)) (last_change(context)) }
        @if short.len() < whole.len() { details { summary { "Whole title" } p dir="auto" { (whole) } } }
        p { (entry_badges(summary)) (tags(&summary.tags)) }
        (problems(&shown.problems))
        div.beside-facts {
            article.card.prose aria-labelledby="text" {
                h2.sr id="text" { "Text" }
                @if let Some(view) = &attempt_view { (attempt(view)) }
                @else if entry.body.trim().is_empty() { p.quiet { "This entry has no text." } }
                @else { (rendered(&entry.body, Some(&targets(entry)))) }
            }
            section aria-labelledby="facts" { h2.sr id="facts" { "Facts" } (facts(entry)) }
        }
        (actions(context, entry))
        (links("Links from here", &entry.links))
        (links("Links to this entry", &entry.backlinks))
        details { summary { "Frontmatter" } pre.wrap tabindex="0" { (frontmatter) } }
    };
    let part = if is_attempt { "timeline" } else { "entries" };
    Ok(HtmlPage { title: short, part, main, is_live: false })
}

fn targets(entry: &EntryView) -> Targets {
    entry.links.iter().filter_map(|link| Some((link.text.clone(), link.id.clone()?))).collect()
}

fn facts(entry: &EntryView) -> Markup {
    let EntryView { summary, .. } = entry;
    let named =
        |kind: &str, name: &Option<String>| html! { @if let Some(name) = name { (named_link(kind, name, name)) } };
    let time = |time: &Option<String>| html! { @if let Some(time) = time { (ShownTime(time)) } };
    let ids = |ids: &[Id]| {
        html! { @for id in ids.iter().take(MAX_LISTED) { a href=(entry_address(id)) { (isolated(id.as_str())) } " " } }
    };
    let list =
        |texts: &[String]| html! { @for text in texts.iter().take(MAX_LISTED) { (isolated(&cut(text, 300))) br; } };
    let changed = if summary.updated_at == summary.created_at {
        html! {}
    } else {
        time(&summary.updated_at)
    };
    let written_by = if summary.source.is_person() { "a person" } else { summary.source.as_str() };
    let usage = html! { @if let Some(usage) = &entry.usage { (used(usage)) } };
    let facts = [
        ("Id", html! { code { (isolated(summary.id.as_str())) } }),
        ("File", html! { code { (isolated(summary.path.as_str())) } }),
        ("Category", html! { @if let Some(category) = &summary.category { (isolated(&cut(category, 100))) } }),
        ("Scope", isolated(&cut(&summary.scope.to_string(), 200))),
        ("Importance", html! { (summary.importance) " of 100" }),
        ("Written by", html! { (written_by) }),
        ("Created", time(&summary.created_at)),
        ("Changed", changed),
        ("Expires", time(&entry.expires_at)),
        ("Feature", named("feature", &summary.feature)),
        ("Task", named("task", &entry.task_id)),
        ("Run", named("run", &entry.run_id)),
        ("Replaces", ids(&entry.supersedes)),
        ("Replaced by", ids(&entry.superseded_by)),
        ("Would replace, if you confirm it", ids(&entry.would_supersede)),
        ("Would be replaced, if you confirm it, by", ids(&entry.would_be_superseded_by)),
        ("Names", list(&entry.files)),
        ("Answers", list(&entry.questions)),
        ("Used", usage),
    ];
    html! { dl.facts { @for (name, value) in &facts { (fact(name, value)) } } }
}

/// Returns the buttons of an entry of knowledge, and the command that opens its file.
fn actions(context: &PageContext<'_>, entry: &EntryView) -> Markup {
    let summary = &entry.summary;
    let (id, is_live) = (summary.id.as_str(), summary.kind == Kind::Knowledge && !summary.archived);
    let printed = printed_command("ralph-memory edit ID", &[("ID", id)]);
    // A name that no shell can be given is said beside the command.
    let command = printed.strip_prefix('`').and_then(|command| command.strip_suffix('`'));
    html! {
        @if is_live {
            div.actions {
                @if !summary.source.is_person() && entry.would_supersede.is_empty() { (button(context, KEEP, "Keep", &[("id", id)])) }
                (button(context, ARCHIVE, "Archive", &[("id", id)]))
            }
            p.command {
                "To change it: "
                @if let Some(command) = command {
                    code { (isolated(command)) } " " button.copy type="button" data-copy=(hidden_value(command)) { "Copy" }
                } @else { (with_code(&printed)) }
            }
        }
    }
}

fn links(label: &str, links: &[EntryLink]) -> Markup {
    html! {
        @if !links.is_empty() {
            h2 { (label) }
            ul {
                @for link in links.iter().take(MAX_LISTED) {
                    li {
                        @if let Some(id) = &link.id { a href=(entry_address(id)) { (isolated(&title(&link.text))) } }
                        @else { span.dead { (isolated(&title(&link.text))) } " " (badge("warn", "leads nowhere")) }
                        span.quiet { ", line " (link.line) }
                    }
                }
                @if links.len() > MAX_LISTED { li.quiet { "and " (links.len() - MAX_LISTED) " more" } }
            }
        }
    }
}
