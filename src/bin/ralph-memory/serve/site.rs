//! What all answers of the server share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse as _;
use ralph_memory::Memory;
use ralph_memory::memory::SemanticStatus;
use tokio::sync::{Semaphore, watch};

use super::guard::RequestGuard;
use super::html::{HtmlPage, PageContext};
use super::layout::document;
use super::pages::error_page;

/// How many pages are made at a time: each may hold a list of all entries.
const MAX_MAKING: usize = 4;
/// How long the state of the servers of semantic search is believed.
const SEMANTIC_AGE: Duration = Duration::from_secs(30);

/// Opens the memory again.
pub(crate) type OpenMemory = Box<dyn Fn() -> anyhow::Result<Memory> + Send + Sync>;

/// The state of the server.
pub(super) struct SiteState {
    memory: Mutex<Arc<Memory>>,
    open: OpenMemory,
    pub(super) guard: RequestGuard,
    /// The name of the project's folder.
    project: String,
    /// Counts the changes of the memory.
    pub(super) changes: watch::Sender<u64>,
    making: Arc<Semaphore>,
    semantic: Mutex<Option<(Instant, SemanticStatus)>>,
}

impl SiteState {
    pub(super) fn new(memory: Arc<Memory>, open: OpenMemory, guard: RequestGuard) -> SiteState {
        let project = project_name(&memory);
        let (changes, making) = (watch::Sender::new(0), Arc::new(Semaphore::new(MAX_MAKING)));
        SiteState { memory: Mutex::new(memory), open, guard, project, changes, making, semantic: Mutex::new(None) }
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
        let site = Arc::clone(&self);
        let turn = Arc::clone(&self.making).acquire_owned().await;
        let made = tokio::task::spawn_blocking(move || {
            // Whoever asked may have gone, and the next one still waits for the end of this.
            let _turn = turn;
            // Read before the page is made, so that a change in between is noticed.
            let generation = *site.changes.borrow();
            let made = site.memory().and_then(|memory| make(&site.context(&memory)));
            let (status, page) = made.map_or_else(|error| error_page(&error), |page| (status, page));
            (status, document(&page, &site.project, generation))
        });
        // A panic has printed what it is and where to report it.
        let (status, text) =
            made.await.unwrap_or_else(|_| (StatusCode::INTERNAL_SERVER_ERROR, "This is a bug.\n".to_owned()));
        (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
    }

    fn semantic(&self) -> MutexGuard<'_, Option<(Instant, SemanticStatus)>> {
        self.semantic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn context<'a>(&'a self, memory: &'a Memory) -> PageContext<'a> {
        let semantic = self.semantic().as_ref().map(|(_, status)| status.clone());
        PageContext { memory, token: self.guard.token(), semantic }
    }

    /// Asks the servers of semantic search whether they work, unless they were asked recently. A server may take seconds to answer, so no
    /// page waits for it.
    pub(super) fn ask_semantic(&self) {
        let before = self.semantic().clone();
        if before.as_ref().is_some_and(|(asked, _)| asked.elapsed() < SEMANTIC_AGE) {
            return;
        }
        let Ok(memory) = self.memory() else { return };
        let status = memory.semantic_status();
        let is_same = before.is_some_and(|(_, before)| before == status);
        *self.semantic() = Some((Instant::now(), status));
        if !is_same {
            self.changed();
        }
    }

    /// Lets the pages in browsers be loaded again.
    pub(super) fn changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

/// Returns the name of the folder that holds the memory.
fn project_name(memory: &Memory) -> String {
    let root = memory.root().canonicalize().unwrap_or_else(|_| memory.root().to_owned());
    root.file_name().map_or_else(|| "memory".to_owned(), |name| name.to_string_lossy().into_owned())
}
