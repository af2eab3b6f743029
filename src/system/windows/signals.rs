//! Ctrl-C, which stands for every signal: a console has no other that a program could act on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

pub const SIGHUP: i32 = 1;
pub const SIGINT: i32 = 2;
pub const SIGTERM: i32 = 15;

/// How long one goes unnoticed at most.
const POLL: Duration = Duration::from_millis(50);
/// How Windows ends a program at Ctrl-C: `STATUS_CONTROL_C_EXIT`.
const ENDED: i32 = 0xC000_013A_u32.cast_signed();
/// How often it was pressed.
static N_PRESSED: AtomicUsize = AtomicUsize::new(0);

/// Lets it no longer end the program.
fn listen() -> io::Result<()> {
    let count = || {
        N_PRESSED.fetch_add(1, Ordering::SeqCst);
    };
    match ctrlc::set_handler(count) {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Signals as they arrive, by how many of them were seen.
pub struct Signals(usize);

impl Signals {
    pub fn new(_: impl IntoIterator<Item = i32>) -> io::Result<Signals> {
        listen()?;
        Ok(Signals(N_PRESSED.load(Ordering::SeqCst)))
    }

    pub fn forever(&mut self) -> impl Iterator<Item = i32> {
        std::iter::from_fn(|| {
            while N_PRESSED.load(Ordering::SeqCst) == self.0 {
                thread::sleep(POLL);
            }
            self.0 += 1;
            Some(SIGINT)
        })
    }
}

/// Lets Ctrl-C no longer end the program.
pub fn register(_: i32, _: Arc<AtomicBool>) -> io::Result<()> {
    listen()
}

/// Ends the program as Ctrl-C would.
pub fn emulate_default_handler(_: i32) -> io::Result<()> {
    #[expect(clippy::exit, reason = "it is what a signal does")]
    std::process::exit(ENDED)
}

/// There is no such limit.
pub fn outlive_file_limit() {}
