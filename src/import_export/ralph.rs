//! The memory of `RefoundAI/ralph`: a database of `SQLite` with a journal, whose rows become attempts.
//!
//! Its knowledge is markdown in the folder that this program also uses, so none of it needs to be imported.

use std::collections::HashMap;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::files::NamedPath;
use super::gathered::SourceContent;
use super::report::{ImportAction, ImportOrigin, ImportedItem};
use super::request::{ImportInput, ImportRequest};
use super::sqlite::{SqlRow, SqlTables};
use crate::context::Task;
use crate::entry::path::is_project_path;
use crate::entry::{Attempt, AttemptHead, Files, Outcome, Sections, Source, parse_time};
use crate::error::{Error, Result};
use crate::journal::check_name;
use crate::workspace::Workspace;

/// The database, in the project.
const DATABASE: &str = ".ralph/progress.db";

/// The tables that name what the journal refers to.
struct Names {
    /// Titles of tasks, and the ids of their features.
    tasks: HashMap<String, (String, Option<String>)>,
    /// Names of features.
    features: HashMap<String, String>,
}

/// Finds the attempts of a database.
pub(super) fn gather(workspace: &Workspace, request: &ImportRequest, content: &mut SourceContent) -> Result<()> {
    let Some((database, shown)) = database(workspace, request, content)? else { return Ok(()) };
    let tables = SqlTables::open(database, "ralph")?;
    let all = |table: &str| tables.rows(table, "*", "TRUE");
    let Some(journal) = all("journal")? else {
        return Err(Error::Unusable {
            message: format!("`{shown}` has no table `journal`"),
            hint: "ralph keeps a journal since its schema 3; run the newest ralph once, and import again".to_owned(),
        });
    };
    content.report.read.push(shown.clone());
    let id_and = |row: &SqlRow, name: &str| Some((text(row, "id")?, text(row, name)?));
    let names = Names {
        tasks: all("tasks")?
            .iter()
            .flatten()
            .filter_map(|row| id_and(row, "title").map(|(id, title)| (id, (title, text(row, "feature_id")))))
            .collect(),
        features: all("features")?.iter().flatten().filter_map(|row| id_and(row, "name")).collect(),
    };
    for (index, row) in journal.iter().enumerate() {
        let place = text(row, "id").unwrap_or_else(|| (index + 1).to_string());
        let heading = Some(format!("journal row {place}").into());
        let from = ImportOrigin { heading, ..ImportOrigin::file(&shown) };
        match attempt(row, &names, &shown, &place) {
            Ok(attempt) => content.attempts.push((from, attempt)),
            Err(reason) => {
                content.report.items.push(ImportedItem::new(ImportAction::Refused, from, "").because(reason));
            }
        }
    }
    Ok(())
}

/// Returns the path of the database, and its name in messages.
fn database(
    workspace: &Workspace,
    request: &ImportRequest,
    content: &mut SourceContent,
) -> Result<Option<(PathBuf, String)>> {
    if let ImportInput::Path(path) = &request.input {
        let path = if path.is_dir() { path.join("progress.db") } else { path.clone() };
        let named = NamedPath::find(workspace, &path)?;
        if !named.full.is_file() {
            return Err(Error::invalid(format!("`{}`", named.full.display()), "it is not a database file"));
        }
        return Ok(Some((named.full, named.shown)));
    }
    content.report.searched.push(DATABASE.to_owned());
    let path = workspace.root().join(DATABASE);
    let Ok(found) = path.symlink_metadata() else { return Ok(None) };
    if !found.is_file() {
        let reason = "it is not a regular file, and links are not followed";
        content.report.skip(ImportOrigin::file(DATABASE), reason);
        return Ok(None);
    }
    Ok(Some((path, DATABASE.to_owned())))
}

/// Returns the attempt of a row, or why the row is not an attempt.
fn attempt(row: &SqlRow, names: &Names, database: &str, place: &str) -> std::result::Result<Attempt, String> {
    let missing = |name: &str| format!("it has no `{name}`");
    let outcome = text(row, "outcome").ok_or_else(|| missing("outcome"))?;
    let outcome = Outcome::in_file(&outcome).ok_or_else(|| format!("its outcome `{outcome}` is unknown"))?;
    let run_id = text(row, "run_id").ok_or_else(|| missing("run_id"))?;
    let number = row.get("iteration").and_then(Value::as_u64).ok_or_else(|| missing("iteration"))?;
    let number = u32::try_from(number).map_err(|_| format!("its number {number} is too high"))?;
    let created_at = text(row, "created_at").ok_or_else(|| missing("created_at"))?;
    let ended = parse_time(&created_at).ok_or_else(|| format!("`{created_at}` is not a time"))?;
    let duration_secs = row.get("duration_secs").and_then(Value::as_f64);
    let task_id = text(row, "task_id");
    let (title, of_task) = task_id.as_ref().and_then(|id| names.tasks.get(id)).cloned().unwrap_or_default();
    let title = Some(title).filter(|title| !title.is_empty()).or_else(|| task_id.clone()).unwrap_or_default();
    let feature = text(row, "feature_id").or(of_task);
    let files = text(row, "files_modified").and_then(|files| serde_json::from_str::<Vec<String>>(&files).ok());
    let files = files.unwrap_or_default().into_iter().filter(|path| is_project_path(path)).collect();
    let origin = format!("Imported from `{database}`, row {place}.");
    let notes = text(row, "notes").map_or_else(|| origin.clone(), |notes| format!("{}\n\n{origin}", notes.trim()));
    Ok(Attempt {
        run_id,
        // An id that cannot be a file name is derived from the title, as for a task without one.
        task_id: task_id.map(|id| if check_name("task id", &id).is_ok() { id } else { Task::id_of_title(&title) }),
        task_title: title,
        feature: feature.map(|id| names.features.get(&id).cloned().unwrap_or(id)),
        source: Source::Agent,
        started_at: started(ended, duration_secs),
        head: AttemptHead {
            model: text(row, "model"),
            duration_secs,
            cost_usd: row.get("cost_usd").and_then(Value::as_f64),
            files: Files { modified: files, ..Files::default() },
            ..AttemptHead::new(number, outcome)
        },
        sections: Sections { notes, ..Sections::default() },
    })
}

/// Returns when an attempt began: a row is written when it ends.
fn started(ended: DateTime<Utc>, duration_secs: Option<f64>) -> DateTime<Utc> {
    #[expect(clippy::cast_possible_truncation, reason = "whole seconds are enough, and too many are cut")]
    let seconds = duration_secs.filter(|seconds| seconds.is_finite() && *seconds >= 0.0).unwrap_or_default() as i64;
    TimeDelta::try_seconds(seconds).and_then(|duration| ended.checked_sub_signed(duration)).unwrap_or(ended)
}

fn text(row: &SqlRow, name: &str) -> Option<String> {
    match row.get(name)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
