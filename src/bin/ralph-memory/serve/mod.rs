//! The page: the memory in a browser, on this machine only, for looking.
//!
//! `guard` decides who may use the server, `server` has the connections and addresses, `site` what answers share, and `actions` has the three
//! buttons that change something. `pages` draws each page from an answer of the library, the one that `--json` prints,
//! with the parts in `html` and `markdown`.
//!
//! Pages contain text of entries, which may come from anywhere: it is escaped by type, and every page is sent with a policy that lets a
//! browser run and load nothing but the files in `assets/`.

mod actions;
mod guard;
mod html;
mod markdown;
mod pages;
mod server;
mod site;

use std::net::TcpListener;
use std::sync::Arc;

use ralph_memory::Memory;
use ralph_memory::runner::Interrupt;

use guard::RequestGuard;
use site::{OpenMemory, SiteState};

use crate::authors::is_run_by_agent;

/// Serves the page of the memory until the interrupt. `open` opens it again, and the listener has this port.
pub(crate) fn run(
    memory: Memory,
    open: OpenMemory,
    listener: TcpListener,
    (port, token): (u16, String),
    interrupt: &Interrupt,
) -> anyhow::Result<()> {
    let guard = RequestGuard::new(token, port);
    let site = Arc::new(SiteState::new(memory, open, guard, !is_run_by_agent()));
    server::run(listener, &site, interrupt)
}

/// Returns a new token: 128 random bits.
pub(crate) fn new_token() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("the system has no random numbers: {error}"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
