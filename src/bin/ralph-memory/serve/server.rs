//! The server: connections, their limits, and which page has which address.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::IntoResponse as _;
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ralph_memory::runner::Interrupt;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::actions::act;
use super::guard::{refusal, with_headers};
use super::html::{BUTTONS, PageFields};
use super::pages;
use super::site::SiteState;

/// How many connections are open at a time; another one takes the place of the oldest.
const MAX_CONNECTIONS: usize = 256;
/// How long the head of a request may take to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may last: one request and its answer, which may have to wait for another process.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest head of a request, in bytes.
const MAX_HEAD: usize = 32 * 1024;
/// The largest form, in bytes: an id and a token.
const MAX_FORM: usize = 16 * 1024;
/// The threads that make pages and change the memory.
const MAX_THREADS: usize = 8;
/// How often the interrupt is checked.
const LOOK: Duration = Duration::from_millis(100);

/// The files beside the pages, with their types.
const ASSETS: [(&str, &str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    ("page.js", "text/javascript; charset=utf-8", include_str!("assets/page.js")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// Answers requests until the interrupt.
pub(super) fn run(listener: TcpListener, site: &Arc<SiteState>, interrupt: &Interrupt) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(MAX_THREADS).build()?;
    listener.set_nonblocking(true)?;
    let router = router(Arc::clone(site));
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::spawn(accept(listener, router));
        while !interrupt.is_raised() {
            tokio::time::sleep(LOOK).await;
        }
        anyhow::Ok(())
    })?;
    // A connection may wait for its next request.
    runtime.shutdown_background();
    Ok(())
}

async fn accept(listener: tokio::net::TcpListener, router: Router) {
    let mut open: VecDeque<JoinHandle<()>> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The process has too many open files, perhaps.
            tokio::time::sleep(LOOK).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() == MAX_CONNECTIONS {
            // The oldest one may wait for a reader that never reads.
            open.pop_front().iter().for_each(JoinHandle::abort);
        }
        let service = TowerToHyperService::new(router.clone());
        open.push_back(tokio::spawn(async move {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD).keep_alive(false);
            // An error is the end of the connection, which the browser notices itself.
            let _ = timeout(EXCHANGE_TIMEOUT, builder.serve_connection(TokioIo::new(stream), service)).await;
        }));
    }
}

fn router(site: Arc<SiteState>) -> Router {
    let mut router = Router::new();
    for (name, make) in pages::PAGES {
        let page = move |State(site): State<Arc<SiteState>>, uri: Uri| {
            let fields = Query::try_from_uri(&uri).map_or_else(|_| PageFields::default(), |Query(fields)| fields);
            site.page(StatusCode::OK, move |context| make(context, &fields))
        };
        router = router.route(&format!("/{{token}}/{name}"), get(page));
    }
    for name in BUTTONS {
        router = router.route(&format!("/{{token}}/{name}"), post(move |site, request| act(name, site, request)));
    }
    for (name, kind, text) in ASSETS {
        router = router.route(&format!("/{{token}}/{name}"), get(([(header::CONTENT_TYPE, kind)], text)));
    }
    router
        .fallback(missing)
        .method_not_allowed_fallback(missing)
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), guarded))
        .with_state(site)
}

/// Answers only requests that may be answered.
async fn guarded(State(site): State<Arc<SiteState>>, request: Request, next: Next) -> Response<Body> {
    if !site.guard.accepts(&request) {
        return refusal();
    }
    // The address without the last `/` is easily copied.
    if request.uri().path().len() == site.guard.token().len() + 1 {
        let to = HeaderValue::try_from(format!("/{}/", site.guard.token()));
        let to = [(header::LOCATION, to.unwrap_or(HeaderValue::from_static("/")))];
        return with_headers((StatusCode::SEE_OTHER, to).into_response());
    }
    with_headers(next.run(request).await)
}

async fn missing(State(site): State<Arc<SiteState>>) -> Response<Body> {
    site.page(StatusCode::NOT_FOUND, |_| Ok(pages::missing())).await
}
