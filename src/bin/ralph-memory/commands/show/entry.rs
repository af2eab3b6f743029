//! An entry in full: its fields, its links both ways and its body.

use std::collections::BTreeMap;

use ralph_memory::memory::{EntryLink, EntryView, ShowResult};
use ralph_memory::{Id, Kind};

use crate::ui::{ID, TITLE, Ui, used};

pub(super) fn show(ui: &mut Ui<'_>, shown: &ShowResult) -> anyhow::Result<()> {
    if ui.json {
        ui.json(BTreeMap::from([("entry", &shown.entry)]), &shown.problems)?;
    } else {
        head(ui, &shown.entry)?;
        let body = shown.entry.body.trim_matches(['\n', '\r']);
        if !body.is_empty() {
            ui.line("")?;
            ui.text(body)?;
            ui.line("")?;
        }
        ui.problems(&shown.problems);
    }
    Ok(())
}

fn head(ui: &mut Ui<'_>, entry: &EntryView) -> anyhow::Result<()> {
    let title = if entry.summary.title.is_empty() { "(no title)" } else { &entry.summary.title };
    let title = ui.styled(TITLE, title);
    ui.line(title)?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let ids = |ids: &[Id]| ids.iter().map(Id::as_str).collect::<Vec<_>>().join(", ");
    let would = |what: &str, of: &[Id]| match of {
        [] => String::new(),
        of => format!("{what} {}, once a person confirms it", ids(of)),
    };
    let archived = if entry.summary.archived { " (archived)" } else { "" };
    // Default values are not shown.
    let importance = entry.summary.importance;
    let importance = if importance == 50 { String::new() } else { importance.to_string() };
    let said =
        |key: &str| entry.frontmatter.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    let attempt = |key: &str| if entry.summary.kind == Kind::Journal { said(key) } else { String::new() };
    let fields = [
        ("layer", text(&entry.summary.layer)),
        ("path", format!("{}{archived}", entry.summary.path)),
        ("category", text(&entry.summary.category)),
        ("tags", entry.summary.tags.join(", ")),
        ("feature", text(&entry.summary.feature)),
        ("scope", entry.summary.scope.to_string()),
        ("importance", importance),
        ("source", entry.summary.source.as_str().to_owned()),
        ("outcome", attempt("outcome")),
        ("model", attempt("model")),
        ("report", entry.frontmatter.get("refused").map(problems).unwrap_or_default()),
        ("task", text(&entry.task_id)),
        ("run", text(&entry.run_id)),
        ("created", text(&entry.summary.created_at)),
        ("updated", text(&entry.summary.updated_at)),
        ("expires", text(&entry.expires_at)),
        ("files", entry.files.join(", ")),
        ("answers", entry.questions.join(" ")),
        ("replaces", ids(&entry.supersedes)),
        ("replaced by", ids(&entry.superseded_by)),
        ("suggested", would("this entry replaces", &entry.would_supersede)),
        ("suggested", would("replaced by", &entry.would_be_superseded_by)),
        ("links to", links(&entry.links)),
        ("linked from", links(&entry.backlinks)),
        ("used", entry.usage.as_ref().map(used).unwrap_or_default()),
    ];
    ui.field("id", ID, entry.summary.id.as_str())?;
    ui.fields(&fields)?;
    Ok(())
}

fn problems(refused: &serde_json::Value) -> String {
    let refused = refused.as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
    refused.collect::<Vec<_>>().join("; ")
}

/// Returns where links lead, each place once.
fn links(links: &[EntryLink]) -> String {
    let link = |link: &EntryLink| match &link.id {
        Some(id) => id.to_string(),
        None => format!("{} (no such entry)", link.text),
    };
    let mut shown: Vec<String> = Vec::new();
    for link in links.iter().map(link) {
        if !shown.contains(&link) {
            shown.push(link);
        }
    }
    shown.join(", ")
}
