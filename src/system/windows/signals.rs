//! Ctrl-C, and a console that is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

pub use signal_hook::consts::{SIGBREAK as SIGHUP, SIGINT, SIGTERM};
pub use signal_hook::flag::register;
pub use signal_hook::low_level::emulate_default_handler;

/// How long one goes unnoticed at most.
const POLL: Duration = Duration::from_millis(50);

/// Signals that arrive, each with whether it did.
pub struct Signals(Vec<(i32, Arc<AtomicBool>)>);

impl Signals {
    pub fn new(wanted: impl IntoIterator<Item = i32>) -> io::Result<Signals> {
        let flag = |signal| {
            let raised: Arc<AtomicBool> = Arc::default();
            register(signal, Arc::clone(&raised)).map(|_| (signal, raised))
        };
        wanted.into_iter().map(flag).collect::<io::Result<_>>().map(Signals)
    }

    pub fn forever(&mut self) -> impl Iterator<Item = i32> {
        std::iter::from_fn(|| {
            loop {
                let raised = self.0.iter().find(|(_, raised)| raised.swap(false, Ordering::SeqCst));
                match raised {
                    Some((signal, _)) => return Some(*signal),
                    None => thread::sleep(POLL),
                }
            }
        })
    }
}

/// There is no such limit.
pub fn outlive_file_limit() {}
