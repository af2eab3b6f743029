//! One entry: its text, where it belongs, what links to it, and its earlier texts.

use std::time::Duration;

use maud::{Markup, html};
use ralph_memory::entry::{EntrySummary, timestamp};
use ralph_memory::memory::{EntryLink, EntryView};
use ralph_memory::{Id, Kind};
use similar::{ChangeTag, TextDiff};

use super::super::fields::PageFields;
use super::super::html::{
    HtmlPage, PageContext, ShownTime, badge, cut, entry_badges, entry_list, hidden_value, id_link, isolated,
    named_link, problems, tags, title,
};
use super::super::links::{entry_address, with_query};
use super::super::markdown::{Targets, linked_files, rendered};
use super::attempts::attempt_content;
use super::{ADD, ARCHIVE, EDIT, KEEP, NOTHING, RESTORE, button, nothing, said};

/// How many links, earlier texts or files are listed.
const MAX_LISTED: usize = 100;
/// How long the comparison of two texts may take.
const DIFF_TIME: Duration = Duration::from_millis(400);
/// How many lines around a difference are shown, and how many lines in all.
const DIFF_CONTEXT: usize = 3;
const MAX_DIFF_LINES: usize = 2_000;

/// Makes the page.
pub(super) fn entry(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = Id::parse(fields.text("id")).ok_or_else(|| nothing("entry", fields.text("id")))?;
    let shown = context.memory.show(&id)?;
    let entry = &shown.entry;
    let whole = entry.summary.title.trim();
    let short = title(whole);
    let main = html! {
        (done_here(fields.text("done"), entry.summary.archived))
        @if short.trim_end_matches('…') != whole && !whole.is_empty() && short.chars().count() < whole.chars().count() {
            details { summary { "Whole title" } p dir="auto" { (whole) } }
        }
        @let badges = html! { (entry_badges(&entry.summary)) (tags(&entry.summary.tags)) };
        @if !badges.0.is_empty() { p { (badges) } }
        (problems(&shown.problems))
        div.beside-facts {
            (text(context, entry))
            section aria-labelledby="facts" { h2.sr id="facts" { "Facts" } (facts(context, entry)) }
        }
        (actions(context, entry))
        @if !entry.questions.is_empty() {
            h2 { "Questions that it answers" }
            ul { @for question in entry.questions.iter().take(MAX_LISTED) { li dir="auto" { (question) } } }
        }
        (usage(entry))
        (knew(context, entry))
        (wrote(context, entry))
        (links(context, "Links from here", &entry.links))
        (links(context, "Links to this entry", &entry.backlinks))
        (versions(context, entry, fields.text("compare")))
        (details(entry))
    };
    let part = if entry.summary.kind == Kind::Journal { "timeline" } else { "entries" };
    Ok(HtmlPage { title: short, part, trail: Some(trail(entry)), main, is_live: true })
}

/// Returns the links to what an entry belongs to.
fn trail(entry: &EntryView) -> Vec<Markup> {
    let named = |page, name: &Option<String>| name.as_ref().map(|name| named_link(page, name, name));
    let feature = named("feature", &entry.summary.feature);
    let task = named("task", &entry.task_id).filter(|_| entry.summary.kind == Kind::Journal);
    feature.into_iter().chain(task).collect()
}

/// Says what a form has just done to the entry, as long as that is so: the page may be opened or updated again.
fn done_here(action: &str, archived: bool) -> Markup {
    let is_so = if archived { action == ARCHIVE } else { [RESTORE, ADD, EDIT, KEEP, NOTHING].contains(&action) };
    html! {
        @if is_so { (said(action)) }
        @if is_so && action == KEEP { p { a href=(with_query("entries", [("author", "unreviewed")])) { "What else agents wrote" } } }
    }
}

/// Returns the entries to which the links of the text lead.
fn targets(context: &PageContext<'_>, entry: &EntryView) -> Targets {
    let wiki = entry.links.iter().filter_map(|link| Some((link.text.clone(), link.id.clone()?)));
    let mut targets: Targets = wiki.collect();
    let files = linked_files(&entry.body, entry.summary.path.as_relative());
    if !files.is_empty() {
        let ids: Vec<Id> = files.values().cloned().collect();
        let known: Vec<Id> = context.memory.summaries(&ids).into_iter().map(|summary| summary.id).collect();
        targets.extend(files.into_iter().filter(|(_, id)| known.contains(id)));
    }
    targets
}

/// Returns the text of an entry; of an attempt all that a reader looks for in it.
fn text(context: &PageContext<'_>, entry: &EntryView) -> Markup {
    let attempt = (entry.summary.kind == Kind::Journal).then(|| context.memory.attempt(&entry.summary.id)).flatten();
    html! {
        @if let Some(attempt) = attempt {
            div { h2.sr { "The attempt" } (attempt_content(&attempt)) }
        } @else {
            article.card.prose aria-labelledby="text" {
                h2.sr id="text" { "Text" }
                @if entry.body.trim().is_empty() { p.quiet { "This entry has no text." } }
                @else { (rendered(&entry.body, Some(&targets(context, entry)))) }
            }
        }
    }
}

fn facts(context: &PageContext<'_>, entry: &EntryView) -> Markup {
    let summary = &entry.summary;
    let origin = entry.run_id.as_ref().and_then(|_| context.memory.origin(&summary.id));
    let number = |id: &Id| id.as_str().rsplit('/').next().unwrap_or_default().trim_start_matches('0').to_owned();
    let named = |page, name: &Option<String>| name.as_ref().map(|name| named_link(page, name, name));
    html! {
        dl.facts {
            (fact("Id", html! { code { (isolated(summary.id.as_str())) } }))
            (fact("Kind", html! {
                (summary.kind.as_str())
                @if let Some(category) = &summary.category { ", " (isolated(&cut(category, 100))) }
            }))
            (fact("Scope", html! { (isolated(&cut(&summary.scope.to_string(), 200))) }))
            @if let Some(feature) = named("feature", &summary.feature) { (fact("Feature", feature)) }
            @if let Some(task) = named("task", &entry.task_id) { (fact("Task", task)) }
            @if let Some(run) = named("run", &entry.run_id) { (fact("Run", run)) }
            @if let Some(id) = &origin { (fact("Attempt", html! { a href=(entry_address(id)) { "#" (number(id)) } })) }
            (fact("Written by", html! { @if summary.source.is_person() { "a person" } @else { (summary.source.as_str()) } }))
            @if let Some(time) = &summary.created_at { (fact("Created", html! { (ShownTime(time)) })) }
            @if let Some(time) = summary.updated_at.as_ref().filter(|time| summary.created_at.as_ref() != Some(time)) {
                (fact("Changed", html! { (ShownTime(time)) }))
            }
            @if let Some(time) = &entry.expires_at { (fact("Expires", html! { (ShownTime(time)) })) }
            @if summary.kind == Kind::Knowledge { (fact("Importance", html! { (summary.importance) " of 100" })) }
            @for (label, ids) in [
                ("Replaces", &entry.supersedes),
                ("Replaced by", &entry.superseded_by),
                ("Would replace, if you confirm it", &entry.would_supersede),
                ("Would be replaced, if you confirm it, by", &entry.would_be_superseded_by),
            ] {
                @if !ids.is_empty() {
                    (fact(label, html! { @for id in ids.iter().take(MAX_LISTED) { (id_link(id)) " " } }))
                }
            }
        }
    }
}

/// Returns a fact with its name.
pub(super) fn fact(name: &str, value: Markup) -> Markup {
    html! { dt { (name) } dd { (value) } }
}

fn actions(context: &PageContext<'_>, entry: &EntryView) -> Markup {
    let summary = &entry.summary;
    let id = summary.id.as_str();
    let (action, label) =
        if summary.archived { (RESTORE, "Restore from the archive") } else { (ARCHIVE, "Move to the archive") };
    html! {
        div.actions {
            @if summary.kind == Kind::Knowledge && !summary.archived {
                a.button href=(with_query(EDIT, [("id", id)])) { "Edit" }
                a.button href=(with_query(ADD, [("supersedes", id)])) { "Replace" }
            }
            @if summary.kind == Kind::Knowledge && !summary.archived && !summary.source.is_person() {
                (button(context, KEEP, &[("id", id)], html! { "Keep as mine" }))
            }
            button.copy type="button" data-copy=(hidden_value(summary.path.as_str())) { "Copy the path" }
            (button(context, action, &[("id", id)], html! { (label) }))
        }
    }
}

fn usage(entry: &EntryView) -> Markup {
    let fact = ("fact", entry.summary.id.as_str());
    let attempts = |more: &[(&str, &str)]| with_query("timeline", [&[fact], more].concat());
    html! {
        @if entry.summary.kind == Kind::Knowledge && !entry.summary.archived {
            h2 { "What became of the attempts that saw it" }
            @if let Some(usage) = &entry.usage {
                dl.figures {
                    div { dt { "In contexts" } dd { a href=(attempts(&[])) { (usage.recalls) } } }
                    div { dt { "Succeeded" } dd {
                        @if usage.succeeded == 0 { "0" } @else { a href=(attempts(&[("outcome", "done")])) { (usage.succeeded) } }
                    } }
                    div { dt { "Failed" } dd { (usage.failed) } }
                    @if let Some(last) = usage.last_used {
                        div { dt { "Last" } dd { (ShownTime(&timestamp(last))) } }
                    }
                }
                @if usage.never_helped {
                    p {
                        (badge("warn", "never helped"))
                        " None of the attempts whose contexts had it succeeded; " (usage.failed) " at several tasks failed."
                        " Does it mislead?"
                    }
                }
            } @else {
                p.quiet { "No context included it yet." }
            }
        }
    }
}

/// Returns the knowledge that was in the context of an attempt.
fn knew(context: &PageContext<'_>, entry: &EntryView) -> Markup {
    let attempt = context.memory.attempt(&entry.summary.id);
    let ids = attempt.map(|view| view.attempt.head.context).unwrap_or_default();
    let knowledge = context.memory.summaries(&ids);
    html! { @if !knowledge.is_empty() { h2 { "What its context had" } (entry_list(context.memory, &knowledge)) } }
}

/// Returns the knowledge that an attempt wrote.
fn wrote(context: &PageContext<'_>, entry: &EntryView) -> Markup {
    let is_attempt = entry.summary.kind == Kind::Journal;
    let knowledge = if is_attempt { context.memory.learned(&entry.summary.id) } else { Vec::new() };
    html! { @if !knowledge.is_empty() { h2 { "What it wrote" } (entry_list(context.memory, &knowledge)) } }
}

fn links(context: &PageContext<'_>, label: &str, links: &[EntryLink]) -> Markup {
    let ids: Vec<Id> = links.iter().take(MAX_LISTED).filter_map(|link| link.id.clone()).collect();
    let known = context.memory.summaries(&ids);
    // A link may have only the id of the entry to which it leads.
    let name = |link: &EntryLink, id: &Id| {
        let titled = |entry: &&EntrySummary| entry.id == *id && !entry.title.trim().is_empty();
        known.iter().find(titled).map_or_else(|| title(&link.text), |entry| title(&entry.title))
    };
    html! {
        @if !links.is_empty() {
            h2 { (label) }
            ul {
                @for link in links.iter().take(MAX_LISTED) {
                    li {
                        @if let Some(id) = &link.id { a href=(entry_address(id)) { (isolated(&name(link, id))) } }
                        @else { span.dead { (isolated(&title(&link.text))) } " " (badge("warn", "leads nowhere")) }
                        span.quiet { ", line " (link.line) }
                    }
                }
                @if links.len() > MAX_LISTED { li.quiet { "and " (links.len() - MAX_LISTED) " more" } }
            }
        }
    }
}

fn versions(context: &PageContext<'_>, entry: &EntryView, compare: &str) -> Markup {
    let versions = context.memory.versions(&entry.summary.id).unwrap_or_default();
    let Some(newest) = versions.first() else { return html! {} };
    let compared = versions.iter().find(|version| version.version == compare);
    let other = compared.unwrap_or(newest);
    html! {
        h2 id="versions" { "Earlier texts" }
        ul {
            @for version in versions.iter().take(MAX_LISTED) {
                li {
                    "Replaced " (ShownTime(&timestamp(version.at))) " "
                    a href={ (with_query("entry", [("id", entry.summary.id.as_str()), ("compare", version.version.as_str())])) "#versions" } {
                        "compare" span.sr { " with the text before operation " (version.version) }
                    }
                }
            }
        }
        details open[compared.is_some()] {
            summary { "What changed since the text that was replaced " (ShownTime(&timestamp(other.at))) }
            (difference(body_of(&other.text), &entry.body))
        }
    }
}

/// Returns a text without its frontmatter.
fn body_of(text: &str) -> &str {
    let end = text.strip_prefix("---\n").and_then(|head| head.split_once("\n---\n"));
    end.map_or(text, |(_, body)| body)
}

/// Returns the differences of two texts, with some lines around each.
fn difference(old: &str, new: &str) -> Markup {
    let (old, new) = (old.trim_start_matches(['\n', '\r']), new.trim_start_matches(['\n', '\r']));
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(old, new);
    let groups = diff.grouped_ops(DIFF_CONTEXT);
    if groups.is_empty() {
        return html! { p.quiet { "The text is the same; only the frontmatter differs." } };
    }
    let mut lines: Vec<(&str, &str, String)> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            lines.push(("gap", "", "⋯".to_owned()));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (class, sign) = match change.tag() {
                ChangeTag::Insert => ("ins", "+ "),
                ChangeTag::Delete => ("del", "- "),
                ChangeTag::Equal => ("same", "  "),
            };
            lines.push((class, sign, change.value().trim_end_matches(['\n', '\r']).to_owned()));
        }
    }
    html! {
        pre.diff tabindex="0" role="region" aria-label="Differences" {
            @for (class, sign, line) in lines.iter().take(MAX_DIFF_LINES) { span class=(class) { (sign) (line) "\n" } }
            @if lines.len() > MAX_DIFF_LINES { span.gap { "and " (lines.len() - MAX_DIFF_LINES) " more lines" } }
        }
    }
}

fn details(entry: &EntryView) -> Markup {
    let frontmatter = serde_json::to_string_pretty(&entry.frontmatter).unwrap_or_default();
    html! {
        h2 { "File" }
        p { code { (isolated(entry.summary.path.as_str())) } }
        @if !entry.files.is_empty() {
            details {
                summary { "Files that it names" }
                ul { @for file in entry.files.iter().take(MAX_LISTED) { li { code { (isolated(file)) } } } }
            }
        }
        details { summary { "Frontmatter" } pre.wrap tabindex="0" { (frontmatter) } }
    }
}
