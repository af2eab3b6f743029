//! What all answers of the server share.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ralph_memory::Memory;
use tokio::sync::Semaphore;

use super::guard::RequestGuard;
use super::html::{HtmlPage, PageContext, document};
use super::pages::error_page;

/// How many pages are made at a time: each may hold a list of all entries.
const MAX_MAKING: usize = 4;

/// Opens the memory again.
pub(crate) type OpenMemory = Box<dyn Fn() -> anyhow::Result<Memory> + Send + Sync>;

/// The state of the server.
pub(super) struct SiteState {
    memory: Mutex<Arc<Memory>>,
    open: OpenMemory,
    pub(super) guard: RequestGuard,
    /// Whether its pages have buttons: they act for a person, so a server that an agent started has none.
    pub(super) has_buttons: bool,
    /// The name of the project's folder.
    project: String,
    making: Arc<Semaphore>,
}

impl SiteState {
    pub(super) fn new(memory: Memory, open: OpenMemory, guard: RequestGuard, has_buttons: bool) -> SiteState {
        let root = memory.root().canonicalize().unwrap_or_else(|_| memory.root().to_owned());
        let project = root.file_name().map_or_else(|| "memory".to_owned(), |name| name.to_string_lossy().into_owned());
        let (memory, making) = (Mutex::new(Arc::new(memory)), Arc::new(Semaphore::new(MAX_MAKING)));
        SiteState { memory, open, guard, has_buttons, project, making }
    }

    /// Returns the memory, with the settings that it has now. The open one is kept as long as these are the same: it knows which servers
    /// of semantic search do not answer.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::open`]: the memory may be removed while it is shown, or its settings be invalid.
    pub(super) fn memory(&self) -> anyhow::Result<Arc<Memory>> {
        let fresh = (self.open)()?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.settings() != fresh.settings() || memory.settings_problems() != fresh.settings_problems() {
            *memory = Arc::new(fresh);
        }
        Ok(Arc::clone(&memory))
    }

    /// Answers with a page that is made where waiting for disks and locks blocks nobody else.
    pub(super) async fn page(
        self: Arc<Self>,
        status: StatusCode,
        make: impl FnOnce(&PageContext<'_>) -> anyhow::Result<HtmlPage> + Send + 'static,
    ) -> Response<Body> {
        let turn = Arc::clone(&self.making).acquire_owned().await;
        let made = tokio::task::spawn_blocking(move || {
            // Whoever asked may have gone, and the next one still waits for the end of this.
            let _turn = turn;
            let token = self.has_buttons.then(|| self.guard.token());
            let made = self.memory().and_then(|memory| make(&PageContext { memory: &memory, token }));
            let (status, page) = made.map_or_else(|error| error_page(&error), |page| (status, page));
            (status, document(&page, &self.project))
        });
        // A panic has printed what it is and where to report it.
        let (status, text) =
            made.await.unwrap_or_else(|_| (StatusCode::INTERNAL_SERVER_ERROR, "This is a bug.\n".to_owned()));
        (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
    }
}
