//! `hook`: what agents' clients call when a session begins, at a prompt, when the agent stops, and when the session ends.
//!
//! Whatever happens, it ends with exit code 0: other codes drop a prompt, or make an agent go on for ever.

use std::io::{self, IsTerminal as _, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use ralph_memory::Error;
use ralph_memory::memory::{HookAnswer, HookCall, HookEvent};
use serde::de::IgnoredAny;

use crate::error;
use crate::exit::Exit;
use crate::session::{Globals, run_of_environment};
use crate::ui::Ui;

/// How much of the input is read, in bytes.
const MAX_INPUT: usize = 1024 * 1024;
/// How long a client may take to begin the input, and between two pieces of it: a busy computer is slow. Some clients
/// never close it.
const PIECE_TIMEOUT: Duration = Duration::from_secs(1);
/// The same at the end of a session, for which some clients allow a second in all.
const LAST_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the whole input may take.
const INPUT_TIMEOUT: Duration = Duration::from_secs(3);
/// The variable that switches hooks off, with the value 0.
const SWITCH: &str = "RALPH_MEMORY_HOOK";

/// Answer an agent's client at an event of a session; `setup` registers this
///
/// The client's JSON is read from standard input, and its form of answer is written to standard output: one document, or
/// nothing. At the beginning of a session that is the briefing that `context` prints, once. At a prompt it is entries
/// about the prompt, if any share enough with it. When the agent stops, what its last message reports is recorded.
///
/// The exit code is always 0, also for wrong options. Without a memory, during `run`, and with `RALPH_MEMORY_HOOK=0` it does
/// nothing. `doctor` shows the last errors.
#[derive(Debug, clap::Args)]
#[command(after_help = "Registered with a client, each line ends in `|| exit 0`, for computers without the program:
  ralph-memory hook session-start || exit 0
  ralph-memory hook stop --agent codex || exit 0")]
pub(crate) struct HookArgs {
    /// The event: session-start, prompt, stop or session-end
    #[arg(value_name = "EVENT", value_parser = event)]
    event: HookEvent,
    /// The client: claude, codex, cursor, copilot, vscode, gemini, qwen, kiro, devin, opencode or goose [default:
    /// recognised by the input and the environment, else claude]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

fn event(name: &str) -> Result<HookEvent, String> {
    let names: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
    HookEvent::parse(name).ok_or_else(|| format!("must be one of {}", names.join(", ")))
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &HookArgs) -> Exit {
    let is_off = std::env::var_os(SWITCH).is_some_and(|value| value == "0");
    if is_off || run_of_environment().is_some() {
        return Exit::Done;
    }
    // The panic's message is on standard error.
    match catch_unwind(AssertUnwindSafe(|| answer(globals, args))) {
        Ok(Ok(HookAnswer { output, notes })) => {
            for note in notes {
                ui.warn(&format!("ralph-memory: hook {}: {note}", args.event.as_str()));
            }
            // A client that has gone away needs no answer.
            let _ = ui.out.write_all(output.as_bytes()).and_then(|()| ui.out.flush());
        }
        Ok(Err(failure)) => {
            let report = error::report(&failure);
            let messages = [&[report.message], &report.causes[..]].concat();
            ui.warn(&format!("ralph-memory: hook {}: {}", args.event.as_str(), messages.join(": ")));
        }
        Err(_) => {}
    }
    Exit::Done
}

fn answer(globals: &Globals, args: &HookArgs) -> anyhow::Result<HookAnswer> {
    let variable = |name: &str| std::env::var_os(name);
    let (input, problem) = input(if args.event == HookEvent::SessionEnd { LAST_TIMEOUT } else { PIECE_TIMEOUT });
    let call = HookCall::new(args.event, args.agent.as_deref(), &input, &variable)?.with_problem(problem);
    match globals.open_for_hook(call.folder()) {
        Ok(memory) => Ok(memory.hook(&call)),
        Err(error) if matches!(error.downcast_ref(), Some(Error::Settings { .. })) => {
            let report = error::report(&error);
            match globals.open_for_hook_without_settings(call.folder()) {
                Ok(memory) => Ok(memory.hook_without_settings(&call, &report.message)),
                Err(other) if is_elsewhere(&other) => Ok(HookAnswer::default()),
                Err(_) => Err(error),
            }
        }
        Err(error) if is_elsewhere(&error) => Ok(HookAnswer::default()),
        Err(error) => Err(error),
    }
}

/// Returns whether the folder has no memory for this user: hooks of a user fire in every folder.
fn is_elsewhere(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::NoMemory { .. } | Error::ForeignOwner { .. }))
}

/// Returns what the client wrote in time, and a note if that is not all of it. A complete object needs no end of input.
fn input(timeout: Duration) -> (Vec<u8>, Option<String>) {
    if io::stdin().is_terminal() {
        return (Vec::new(), None);
    }
    let (sender, pieces) = mpsc::channel();
    // It may wait for ever; the end of the process ends it.
    thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while let Ok(n_read @ 1..) = io::stdin().lock().read(&mut piece) {
            if sender.send(piece[..n_read].to_vec()).is_err() {
                return;
            }
        }
    });
    let until = Instant::now() + INPUT_TIMEOUT;
    let mut input = Vec::new();
    loop {
        match pieces.recv_timeout(timeout.min(until.saturating_duration_since(Instant::now()))) {
            Ok(piece) => input.extend(piece),
            Err(RecvTimeoutError::Timeout) if !input.is_empty() => {
                return (Vec::new(), Some("the input was not complete in time, and is ignored".to_owned()));
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return (input, None),
        }
        if input.len() > MAX_INPUT {
            return (Vec::new(), Some(format!("the input has over {MAX_INPUT} bytes, and is ignored")));
        }
        let may_be_complete = input.trim_ascii_end().ends_with(b"}");
        if may_be_complete && serde_json::from_slice::<IgnoredAny>(&input).is_ok() {
            return (input, None);
        }
    }
}
