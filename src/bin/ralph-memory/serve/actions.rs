//! The three buttons: keep, archive, undo. Their forms carry the token, which no other page knows.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Form, FromRequest as _, State};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ralph_memory::memory::EntryChanges;
use ralph_memory::{Id, Memory};

use super::guard::refusal;
use super::html::{KEEP, PageFields, UNDO, with_query};
use super::pages::{error_page, nothing};
use super::site::SiteState;
use crate::error::UsageError;

/// How long a form may take to arrive.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns the answer to a form: the page that it was sent from, or why nothing was changed.
pub(super) async fn act(
    action: &'static str,
    State(site): State<Arc<SiteState>>,
    request: Request<Body>,
) -> Response<Body> {
    let fields = match tokio::time::timeout(LONGEST, Form::<PageFields>::from_request(request, &())).await {
        Ok(Ok(Form(fields))) => fields,
        Ok(Err(rejection)) => return rejection.into_response(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    if !site.guard.is_token(fields.text("token")) {
        return refusal();
    }
    if !site.has_buttons {
        let message = "a coding agent started this server, so it changes nothing";
        let error = UsageError::new(message, "`ralph-memory serve` in your own terminal has buttons");
        return site.page(StatusCode::FORBIDDEN, move |_| Ok(error_page(&error.into()).1)).await;
    }
    let opened = Arc::clone(&site);
    match tokio::task::spawn_blocking(move || perform(&*opened.memory()?, action, &fields)).await {
        Ok(Ok(address)) => {
            let to = HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("./"));
            (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response()
        }
        Ok(Err(error)) => site.page(StatusCode::OK, |_| Err(error)).await,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Changes the memory, and returns the address of the page that shows it.
fn perform(memory: &Memory, action: &str, fields: &PageFields) -> anyhow::Result<String> {
    let given = fields.text("id");
    if action == UNDO {
        let number: u64 = given.parse().map_err(|_| nothing("operation", given))?;
        memory.undo(Some(number), false)?;
        return Ok(with_query("", [("done", UNDO)]));
    }
    let id = Id::parse(given).ok_or_else(|| nothing("entry", given))?;
    if action == KEEP {
        memory.change(&id, &EntryChanges { confirm: true, ..EntryChanges::default() })?;
    } else {
        memory.archive(std::slice::from_ref(&id))?;
    }
    Ok(match fields.text("from") {
        "review" => with_query("review", [("done", action)]),
        _ => with_query("entry", [("id", id.as_str()), ("done", action)]),
    })
}
