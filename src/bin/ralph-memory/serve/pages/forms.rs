//! The forms for the text of an entry: a new one, one that replaces another, and an edit.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use maud::{Markup, html};
use ralph_memory::entry::EntrySummary;
use ralph_memory::memory::{EntryChanges, EntryText, EntryView, WriteAction, Written};
use ralph_memory::{Error, Id, Knowledge, Memory};

use super::super::fields::{PageFields, labelled};
use super::super::html::{HtmlPage, PageContext, acts, field_value, isolated, named_link, title};
use super::super::links::entry_address;
use super::{ADD, EDIT, hidden_fields, nothing};
use crate::error::UsageError;

/// Returns the lines of a field as they were typed: browsers end each with two characters.
pub(super) fn lines(field: &str) -> String {
    field.replace("\r\n", "\n").replace('\r', "\n")
}

/// Makes the page for a new entry. It is of the same sort as the one that it replaces, if there is one.
pub(super) fn add(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let mut fields = fields.clone();
    if let Some(old) = fields.given("supersedes") {
        let old = context.memory.show(&parsed(&old)?)?.entry.summary;
        let same = [
            ("supersedes", old.id.as_str()),
            ("tags", &old.tags.join(", ")),
            ("category", old.category.as_deref().unwrap_or_default()),
            ("feature", old.feature.as_deref().unwrap_or_default()),
        ];
        fields = same.into_iter().fold(fields, |fields, (name, value)| fields.with(name, value));
    }
    Ok(add_page(context.token, &fields, html! {}))
}

/// Makes the page again for an entry that was refused.
pub(super) fn add_again(fields: &PageFields, reason: Markup) -> HtmlPage {
    add_page(fields.text("token"), fields, reason)
}

fn add_page(token: &str, fields: &PageFields, reason: Markup) -> HtmlPage {
    let replaced = fields.given("supersedes").and_then(|id| Id::parse(&id));
    let main = html! {
        (reason)
        @if let Some(old) = &replaced {
            p.lead { "The new entry replaces " a href=(entry_address(old)) { code { (isolated(old.as_str())) } } ", which searches and contexts then leave out." }
        }
        form.text method="post" action=(ADD) {
            (hidden_fields(token, &[("supersedes", fields.text("supersedes"))]))
            (texts(fields))
            (fields.text_input("category", "Category"))
            (fields.text_input("feature", "Feature"))
            div { button.main { "Write it" } }
        }
    };
    let title = if replaced.is_some() { "Replace an entry" } else { "Add an entry" };
    HtmlPage { title: title.to_owned(), part: "entries", trail: Some(Vec::new()), main, is_live: false }
}

/// Returns the fields that every entry has. The parser of HTML drops a line end at the beginning of a text.
fn texts(fields: &PageFields) -> Markup {
    html! {
        (labelled("title", "Title", html! { input id="title" name="title" value=(field_value(fields.text("title"))) dir="auto" required autocomplete="off"; }))
        (labelled("body", "Text, in markdown", html! {
            textarea id="body" name="body" rows="14" dir="auto" required { "\n" (field_value(&lines(fields.text("body")))) }
        }))
        (fields.list_input("tags", "Tags"))
    }
}

/// Makes the page for an edit of an entry.
pub(super) fn edit(context: &PageContext<'_>, fields: &PageFields) -> anyhow::Result<HtmlPage> {
    let id = parsed(fields.text("id"))?;
    let EditedEntry { old, summary, body, .. } = EditedEntry::read(context.memory, &id)?;
    let values = [
        ("id", old.id.as_str()),
        ("seen", &fingerprint(&old)),
        ("title", &summary.title),
        ("tags", &summary.tags.join(", ")),
        ("body", &body),
        ("supersedes", ""),
    ];
    let fields = values.into_iter().fold(fields.clone(), |fields, (name, value)| fields.with(name, value));
    Ok(edit_page(context.token, &fields, html! {}))
}

/// Makes the page again for an edit that was refused. What was typed stays; the next try is compared with what the entry is now.
pub(super) fn edit_again(context: &PageContext<'_>, fields: &PageFields, reason: Markup) -> anyhow::Result<HtmlPage> {
    let old = context.memory.text(&parsed(fields.text("id"))?)?;
    let is_newer = fingerprint(&old) != fields.text("seen");
    let reason = html! {
        (reason)
        @if is_newer {
            p.note { "Your text is below. Compare it with " a href=(entry_address(&old.id)) { "the entry as it is now" } "; if you save again, yours replaces it." }
        }
    };
    Ok(edit_page(context.token, &fields.with("seen", &fingerprint(&old)), reason))
}

fn edit_page(token: &str, fields: &PageFields, reason: Markup) -> HtmlPage {
    let id = fields.text("id");
    let main = html! {
        (reason)
        form.text method="post" action=(EDIT) {
            (hidden_fields(token, &[("id", id), ("seen", fields.text("seen"))]))
            (texts(fields))
            (fields.list_input("supersedes", "It also replaces (ids)"))
            div { button.main { "Save" } }
        }
    };
    let trail = vec![named_link("entry", id, id)];
    HtmlPage {
        title: format!("Edit {}", title(fields.text("title"))),
        part: "entries",
        trail: Some(trail),
        main,
        is_live: false,
    }
}

fn parsed(id: &str) -> anyhow::Result<Id> {
    Ok(Id::parse(id).ok_or_else(|| nothing("entry", id))?)
}

/// An entry that a form can hold as it is.
struct EditedEntry {
    old: EntryText,
    summary: EntrySummary,
    /// What stands before the body.
    head: String,
    /// The body, with plain line ends.
    body: String,
}

impl EditedEntry {
    fn read(memory: &Memory, id: &Id) -> anyhow::Result<EditedEntry> {
        let old = memory.text(id)?;
        let EntryView { summary, body, .. } = memory.show(&old.id)?.entry;
        let body = body.trim_start_matches(['\r', '\n']);
        let head = old.text.strip_suffix(body).map(str::to_owned);
        let body = lines(body);
        let is_odd = [&summary.title].into_iter().chain(&summary.tags).any(|text| text.contains(acts))
            || body.replace(['\n', '\t'], "").contains(acts);
        let Some(head) = head.filter(|_| !is_odd) else {
            let hint = format!("edit `{}` in an editor: `ralph-memory edit`", old.path);
            return Err(UsageError { message: "a form cannot hold this text as it is".to_owned(), hint }.into());
        };
        Ok(EditedEntry { old, summary, head, body })
    }
}

/// Returns what tells a text from another one.
fn fingerprint(old: &EntryText) -> String {
    let mut hasher = DefaultHasher::new();
    old.text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Writes a new entry.
pub(in crate::serve) fn write(memory: &Memory, fields: &PageFields) -> anyhow::Result<Written> {
    let knowledge = Knowledge {
        category: fields.given("category"),
        feature: fields.given("feature"),
        supersedes: replaced(memory, fields)?,
        ..Knowledge::new(fields.text("title"), fields.list("tags"), lines(fields.text("body")))
    };
    Ok(memory.add(&knowledge)?)
}

/// Returns the entries that another one shall replace, under their ids of today.
fn replaced(memory: &Memory, fields: &PageFields) -> anyhow::Result<Vec<Id>> {
    fields.list("supersedes").iter().map(|id| Ok(memory.show(&parsed(id)?)?.entry.summary.id)).collect()
}

/// Changes an entry if it still is as it was when the form was made.
pub(in crate::serve) fn change(memory: &Memory, fields: &PageFields) -> anyhow::Result<Written> {
    let _operation = memory.operation(EDIT);
    let EditedEntry { old, summary, head, body } = EditedEntry::read(memory, &parsed(fields.text("id"))?)?;
    if fingerprint(&old) != fields.text("seen") {
        return Err(Error::Conflict { path: old.path.as_str().into(), kept: None }.into());
    }
    let (new_title, tags) = (fields.text("title").trim(), fields.list("tags"));
    let changes = EntryChanges {
        title: Some(new_title.to_owned()).filter(|title| *title != summary.title),
        tags: Some(tags).filter(|tags| *tags != summary.tags),
        supersedes: replaced(memory, fields)?,
        ..EntryChanges::default()
    };
    let typed = lines(fields.text("body"));
    let mut edited = WriteAction::Unchanged;
    if typed.trim_end() != body.trim_end() {
        let typed = format!("{}\n", typed.trim_end());
        let typed = if old.text.contains("\r\n") { typed.replace('\n', "\r\n") } else { typed };
        edited = memory.edit(&old, &format!("{head}{typed}"))?.action;
    }
    let changed = memory.change(&old.id, &changes)?;
    let action = if changed.action == WriteAction::Unchanged { edited } else { changed.action };
    Ok(Written { action, ..changed })
}
