//! Live updates: a stream of events for each page that somebody looks at.
//!
//! An event says only that something changed; the page is then reloaded.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use hyper::body::Frame;
use ralph_memory::Memory;
use ralph_memory::memory::{WatchEvent, WatchMode};
use tokio::sync::mpsc;

use super::site::SiteState;

/// How many streams are open at a time.
const MAX_STREAMS: usize = 64;
/// How often a stream says that it is still there, which shows whether anybody listens.
const ALIVE: Duration = Duration::from_secs(15);
/// How often it is checked whether the runs do something, while somebody looks.
const LOOK: Duration = Duration::from_secs(1);

/// The body of an answer that arrives piece by piece.
struct EventStream(mpsc::Receiver<String>);

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|event| event.map(|text| Ok(Frame::data(text.into()))))
    }
}

/// Answers with a stream of events: one at once, and one for each change.
pub(super) async fn events(State(site): State<Arc<SiteState>>) -> Response<Body> {
    if site.changes.receiver_count() >= MAX_STREAMS {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let mut changes = site.changes.subscribe();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut text = format!("retry: 2000\ndata: {}\n\n", *changes.borrow_and_update());
        while sender.send(text).await.is_ok() {
            let changed = tokio::select! {
                // Whoever leaves a page makes room for others at once.
                () = sender.closed() => return,
                changed = tokio::time::timeout(ALIVE, changes.changed()) => changed,
            };
            text = match changed {
                Ok(Ok(())) => format!("data: {}\n\n", *changes.borrow_and_update()),
                Ok(Err(_)) => return,
                Err(_) => ": alive\n\n".to_owned(),
            };
        }
    });
    let mut response = Response::new(Body::new(EventStream(receiver)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Notes changes of the memory from here on, in threads of their own.
pub(super) fn watch(memory: Arc<Memory>, site: &Arc<SiteState>) -> anyhow::Result<()> {
    let watcher = memory.watch(WatchMode::Native)?;
    let of_files = Arc::clone(site);
    let named = |name: &str| thread::Builder::new().name(name.to_owned());
    named("page-files").spawn(move || {
        while let Ok(event) = watcher.events().recv() {
            // What changed before the watcher was ready is in no event.
            if !matches!(event, WatchEvent::Notice { .. }) {
                of_files.changed();
            }
        }
    })?;
    let of_runs = Arc::clone(site);
    named("page-runs").spawn(move || {
        let mut known = None;
        loop {
            of_runs.ask_semantic();
            if of_runs.changes.receiver_count() > 0 {
                let open = memory.live_runs();
                if known.replace(open.clone()).is_some_and(|known| known != open) {
                    of_runs.changed();
                }
            }
            thread::park_timeout(LOOK);
        }
    })?;
    Ok(())
}
