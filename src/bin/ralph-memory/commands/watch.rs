//! `watch`: reports changes of the files, and keeps the index up to date.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ralph_memory::memory::{FileChanges, WatchEvent, WatchMode};
use ralph_memory::runner::Interrupt;
use serde_json::json;

use crate::activity;
use crate::exit::Exit;
use crate::session::Globals;
use crate::ui::{ID, QUIET, Ui, count, is_read};

/// How often the interrupt is checked.
const LOOK: Duration = Duration::from_millis(200);

/// Report changes and keep the index up to date, until Ctrl-C
///
/// No command needs this, since each one checks every file itself. It saves the next command from reading what changed,
/// and reports changes and problems to tools and people as they happen.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory watch
  ralph-memory watch --json

With --json every line is an object with an `event`: `ready`, `changed` with the paths `indexed` and `removed`, or `notice`.")]
pub(crate) struct WatchArgs {
    /// Check the files every second instead of waiting for notifications: for network and virtual file systems
    #[arg(long)]
    poll: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &WatchArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    if globals.shows_progress() {
        // This shows progress; the watcher meets and reports the same failure again.
        let _ = memory.update_index();
        activity::close();
    }
    let memory = Arc::new(memory);
    end_on_interrupt(activity::interrupt()?)?;
    let watcher = memory.watch(if args.poll { WatchMode::Poll } else { WatchMode::Native })?;
    loop {
        match watcher.events().recv() {
            Ok(watched) if ui.json => json(ui, &watched)?,
            Ok(watched) => text(ui, &watched)?,
            Err(_) => anyhow::bail!("the watcher ended unexpectedly"),
        }
        ui.out.flush()?;
    }
}

/// Ends the program at Ctrl-C, and when nobody reads its output any more. Nothing is lost: an interrupted index is rebuilt.
fn end_on_interrupt(interrupt: Interrupt) -> io::Result<()> {
    let wait = move || {
        while !interrupt.is_raised() && is_read() {
            thread::park_timeout(LOOK);
        }
        let exit = if interrupt.is_raised() { Exit::Interrupted } else { Exit::Done };
        #[expect(clippy::exit, reason = "the other threads may wait forever")]
        std::process::exit(exit as i32)
    };
    thread::Builder::new().name("interrupt".to_owned()).spawn(wait).map(drop)
}

fn json(ui: &mut Ui<'_>, watched: &WatchEvent) -> io::Result<()> {
    let (line, problems) = match watched {
        WatchEvent::Ready { entries, folders, polling } => {
            (json!({ "event": "ready", "entry_count": entries, "folder_count": folders, "polling": polling }), &[][..])
        }
        WatchEvent::Changed(FileChanges { indexed, removed, entries, problems }) => {
            let line = json!({ "event": "changed", "indexed": indexed, "removed": removed, "entry_count": entries });
            (line, &problems[..])
        }
        WatchEvent::Notice { message } => (json!({ "event": "notice", "message": message }), &[][..]),
    };
    ui.json(line, problems)
}

fn text(ui: &mut Ui<'_>, watched: &WatchEvent) -> io::Result<()> {
    match watched {
        WatchEvent::Ready { entries, folders, polling } => {
            let how = if *polling { ", by checking every second" } else { "" };
            let (entries, folders) = (count(*entries, "entry"), count(*folders, "folder"));
            ui.note(&format!("watching {entries} in {folders}{how}; Ctrl-C ends it"));
        }
        WatchEvent::Changed(changes) => {
            for (what, paths) in [("indexed", &changes.indexed), ("removed", &changes.removed)] {
                for path in paths {
                    let (what, path) = (ui.styled(QUIET, what), ui.styled(ID, path));
                    ui.line(format_args!("{what}  {path}"))?;
                }
            }
            ui.problems(&changes.problems);
        }
        WatchEvent::Notice { message } => ui.warn(message),
    }
    Ok(())
}
