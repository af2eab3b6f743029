//! The page: the memory in a browser, on this machine only.
//!
//! `guard` decides who may use the server, `server` has the connections and addresses, `site` has what the answers
//! share, `live` has the stream of changes, and `actions` has the forms that change something. `pages` makes one page
//! each from answers of the library, with the parts in `html`, `markdown`, `charts`, `fields` and `links`; `layout`
//! puts the frame around it.
//!
//! Pages contain text of entries, which may come from anywhere: it is escaped by type, and every page is sent with a policy that lets a
//! browser run and load nothing but the two files in `assets/`.

mod actions;
mod charts;
mod fields;
mod guard;
mod html;
mod layout;
mod links;
mod live;
mod markdown;
mod pages;
mod server;
mod site;

use std::net::TcpListener;
use std::sync::Arc;

use ralph_memory::Memory;
use ralph_memory::memory::PageServer;
use ralph_memory::runner::Interrupt;

use guard::RequestGuard;
use site::{OpenMemory, SiteState};

/// Serves the page of the memory until the interrupt. `open` opens it again, and `server` names the address of the listener.
pub(crate) fn run(
    memory: Memory,
    open: OpenMemory,
    listener: TcpListener,
    server: &PageServer,
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let guard = RequestGuard::new(server.token.clone(), server.port);
    let memory = Arc::new(memory);
    let site = Arc::new(SiteState::new(Arc::clone(&memory), open, guard));
    live::watch(memory, &site)?;
    server::run(listener, &site, interrupt)
}

/// Returns a new token: 128 random bits.
pub(crate) fn new_token() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("the system has no random numbers: {error}"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
