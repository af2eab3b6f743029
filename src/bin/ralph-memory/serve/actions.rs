//! The forms that change something. Each carries the token, which no other page knows.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Form, FromRequest as _, State};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ralph_memory::memory::{EntryChanges, WriteAction, Written};
use ralph_memory::{Id, Memory};

use super::fields::PageFields;
use super::guard::refusal;
use super::links::with_query;
use super::pages::{
    ADD, ARCHIVE, CHANGES, EDIT, KEEP, NOTHING, RESTORE, UNDO, change, error_page, is_large, nothing, refused_form,
    write,
};
use super::site::SiteState;

/// How long a form may take to arrive.
const LONGEST: Duration = Duration::from_secs(10);
/// How long after a form's change the pages are loaded again. The watcher sees changes together that are less than a second apart: one
/// that is undone at once is none to it.
const AGAIN: Duration = Duration::from_millis(1_500);

/// Returns the answer to a form: the page of the entry, or why nothing was changed.
pub(super) async fn act(
    action: &'static str,
    State(site): State<Arc<SiteState>>,
    request: Request<Body>,
) -> Response<Body> {
    let fields = tokio::time::timeout(LONGEST, Form::<PageFields>::from_request(request, &()));
    let fields = match fields.await {
        Ok(Ok(Form(fields))) => fields,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    if !site.guard.is_token(fields.text("token")) {
        return refusal();
    }
    let opened = Arc::clone(&site);
    let asked = fields.clone();
    let done = tokio::task::spawn_blocking(move || perform(&*opened.memory()?, action, &asked)).await;
    match done {
        Ok(Ok(address)) => {
            site.changed();
            tokio::spawn(async move {
                tokio::time::sleep(AGAIN).await;
                site.changed();
            });
            let to = HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("./"));
            (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
        }
        Ok(Err(error)) => {
            let status = error_page(&error).0;
            site.page(status, move |context| refused_form(context, action, &fields, &error)).await
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Changes the memory, and returns the address of the page that shows it.
fn perform(memory: &Memory, action: &str, fields: &PageFields) -> anyhow::Result<String> {
    let id = fields.text("id");
    let parse = || Id::parse(id).ok_or_else(|| nothing("entry", id));
    let written = match action {
        ARCHIVE => {
            let id = parse()?;
            memory.archive(std::slice::from_ref(&id))?;
            return Ok(with_query("entry", [("id", id.as_str()), ("done", action)]));
        }
        RESTORE => memory.restore(&parse()?, None)?,
        ADD => write(memory, fields)?,
        EDIT => change(memory, fields)?,
        KEEP => memory.change(&parse()?, &EntryChanges { confirm: true, ..EntryChanges::default() })?,
        _ => return take_back(memory, id, fields),
    };
    let Written { id, action: what, .. } = &written;
    let done = if *what == WriteAction::Unchanged { NOTHING } else { action };
    Ok(with_query("entry", [("id", id.as_str()), ("done", done)]))
}

/// Takes back an operation, and returns the address of the page on which that was asked for; or that of the page that asks whether one of
/// many files is meant.
fn take_back(memory: &Memory, id: &str, fields: &PageFields) -> anyhow::Result<String> {
    let number: u64 = id.parse().map_err(|_| nothing("operation", id))?;
    // Whoever names another page is sent to one of these.
    let from = if fields.text("from") == "health" { "health" } else { "" };
    let is_asked = fields.text("sure").is_empty()
        && memory.operations()?.iter().any(|operation| operation.number == number && is_large(operation));
    if is_asked {
        return Ok(with_query(UNDO, [("id", id), ("from", from)]));
    }
    memory.undo(Some(number), false)?;
    Ok(format!("{}#{CHANGES}", with_query(from, [("done", UNDO), ("from", from)])))
}
