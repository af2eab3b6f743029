//! `hook`: what agents' clients call when a session begins, at a prompt, after a call of a tool, when the agent stops, and
//! when the session ends.
//!
//! It always ends with exit code 0, because other codes drop a prompt or make an agent continue forever. It always ends
//! in time, whatever the memory contains: a thread does the work, and the process does not wait long for it.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use ralph_memory::Error;
use ralph_memory::memory::{HookAnswer, HookCall, HookEvent};
use ralph_memory::system::posix::{processor_time, variable};
use serde::de::IgnoredAny;

use crate::authors::run_of_environment;
use crate::error;
use crate::exit::Exit;
use crate::own;
use crate::session::{Globals, is_elsewhere, is_switched_off};
use crate::ui::Ui;

/// How much of the input is read, in bytes.
const MAX_INPUT: usize = 8 * 1024 * 1024;
/// How long a client may take to begin the input, and between two pieces of it: a busy computer is slow. Some clients
/// never close it.
const PIECE_TIMEOUT: Duration = Duration::from_secs(1);
/// The same at the end of a session, for which some clients allow a second in all.
const LAST_TIMEOUT: Duration = Duration::from_millis(200);
/// How long the whole input may take.
const INPUT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the rest takes at most. Unoptimised code is some ten times slower.
///
/// The largest file takes 150 ms of the processor's time to read and to index. One that was begun is finished, or no hook
/// would ever get beyond it.
const LIMITS: HookLimits = {
    let factor = if cfg!(debug_assertions) { 10 } else { 1 };
    HookLimits {
        reading: Duration::from_millis(100 * factor),
        processor: Duration::from_millis(400 * factor),
        clock: Duration::from_millis(1_000 * factor),
    }
};
/// How often the time is looked at.
const TICK: Duration = Duration::from_millis(5);
/// The variable that switches the hook after calls of tools off with the value 0.
const TOOL_SWITCH: &str = "RALPH_MEMORY_HOOK_TOOL";

/// Answer an agent's client at an event of a session; `setup` registers this
///
/// It reads the client's JSON from standard input, and writes an answer in the client's form to standard output: one
/// document, or nothing. At the beginning of a session, that is the briefing that `context` prints, once. At a prompt,
/// it is entries about the prompt, if any share enough words with it. After a call of a tool, it is what is known about
/// exactly the file that was read or changed, or the error that was printed; each thing once in a session. When the
/// agent stops, what its last message reports is recorded.
///
/// The exit code is always 0, even for wrong options. Without a memory, during `run` (but for `tool`), and with
/// `RALPH_MEMORY=0`, it does nothing; with `RALPH_MEMORY_HOOK_TOOL=0`, `tool` alone does nothing. `check` shows the
/// last errors.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "In a client's file, each command ends in `|| exit 0`, for machines without the program:
  ralph-memory hook session-start || exit 0
  ralph-memory hook stop --agent codex || exit 0")]
pub(crate) struct HookArgs {
    /// The event: session-start, tool, prompt, stop or session-end
    #[arg(value_name = "EVENT", value_parser = event)]
    event: HookEvent,
    /// The client: claude, codex, cursor, copilot, vscode, gemini, qwen, devin, opencode, goose, kiro, zed or amp [default:
    /// recognised by the input and the environment, else claude]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

fn event(name: &str) -> Result<HookEvent, String> {
    let names: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
    HookEvent::parse(name).ok_or_else(|| format!("must be one of {}", names.join(", ")))
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &HookArgs) -> Exit {
    let is_tool = args.event == HookEvent::Tool;
    let is_off = || std::env::var_os(TOOL_SWITCH).is_some_and(|value| value == "0");
    if is_switched_off() || is_tool && is_off() || !is_tool && run_of_environment().is_some() {
        return Exit::Done;
    }
    // What the program took of the processor until now is the least that it has run.
    let began = Instant::now().checked_sub(processor_time()).unwrap_or_else(Instant::now);
    let (globals, own) = (globals.clone(), args.clone());
    // A panic's message is on standard error.
    match in_time(LIMITS, move |is_over| answer(&globals, &own, began, is_over)) {
        Some(Ok(HookAnswer { output, notes })) => {
            for note in notes {
                ui.warn(&format!("ralph-memory: hook {}: {note}", args.event.as_str()));
            }
            // A client that has gone away needs no answer.
            let _ = ui.out.write_all(output.as_bytes()).and_then(|()| ui.out.flush());
        }
        Some(Err(failure)) => {
            let report = error::report(&failure);
            let messages = [&[report.message], &report.causes[..]].concat();
            ui.warn(&format!("ralph-memory: hook {}: {}", args.event.as_str(), messages.join(": ")));
        }
        None => {}
    }
    Exit::Done
}

/// How long the work of a hook may take, after the message is saved.
#[derive(Clone, Copy)]
struct HookLimits {
    /// The processor's time after which no further file is read.
    reading: Duration,
    /// The processor's time for all of it. What waits for a busy machine or a slow disk takes none.
    processor: Duration,
    /// The time by the clock for all of it.
    clock: Duration,
}

/// Returns what `work` returns; `None` if it panics, or if its time is over: it then ends with the process. The time begins
/// when `work` first asks whether it is over.
fn in_time<T: Send + 'static>(
    limits: HookLimits,
    work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
) -> Option<T> {
    let begun: Arc<OnceLock<(Instant, Duration)>> = Arc::default();
    let (sender, result) = mpsc::channel();
    let of_work = Arc::clone(&begun);
    let took = |before: Duration| processor_time().saturating_sub(before);
    thread::spawn(move || {
        let is_over = || took(of_work.get_or_init(|| (Instant::now(), processor_time())).1) >= limits.reading;
        // Nobody waits for it any more.
        let _ = sender.send(work(&is_over));
    });
    loop {
        match result.recv_timeout(TICK) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                let is_over = |(clock, processor): &(Instant, Duration)| {
                    clock.elapsed() >= limits.clock || took(*processor) >= limits.processor
                };
                if begun.get().is_some_and(is_over) {
                    return None;
                }
            }
        }
    }
}

fn answer(
    globals: &Globals,
    args: &HookArgs,
    began: Instant,
    is_over: &dyn Fn() -> bool,
) -> anyhow::Result<HookAnswer> {
    let (input, problem) = input(if args.event == HookEvent::SessionEnd { LAST_TIMEOUT } else { PIECE_TIMEOUT });
    let call =
        HookCall::new(args.event, args.agent.as_deref(), &input, &variable)?.with_problem(problem).started_at(began);
    match globals.open_in(call.folder()).and_then(own::hide_from_client) {
        Ok(memory) => Ok(memory.hook(&call, is_over)),
        Err(error) if matches!(error.downcast_ref(), Some(Error::Settings { .. })) => {
            let report = error::report(&error);
            match globals.open_without_settings_in(call.folder()).and_then(own::hide_from_client) {
                Ok(memory) => Ok(memory.hook_without_settings(&call, &report.message)),
                Err(other) if is_elsewhere(&other) => Ok(HookAnswer::default()),
                Err(_) => Err(error),
            }
        }
        // Hooks of a user fire in every folder.
        Err(error) if is_elsewhere(&error) => Ok(HookAnswer::default()),
        Err(error) => Err(error),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: HookLimits = HookLimits { reading: Duration::ZERO, processor: Duration::ZERO, clock: Duration::ZERO };

    #[test]
    fn nobody_waits_for_work_that_does_not_end() {
        let endless = |is_over: &dyn Fn() -> bool| {
            assert!(is_over());
            loop {
                thread::park();
            }
        };
        assert_eq!(in_time::<()>(NONE, endless), None);
        assert_eq!(in_time::<()>(NONE, |_| panic!("a bug")), None);
    }

    #[test]
    fn the_time_begins_with_the_first_question() {
        // It takes its time to save a message first.
        assert_eq!(in_time(NONE, |_| processor_time() > Duration::ZERO), Some(true));
        assert_eq!(in_time(LIMITS, |is_over| is_over()), Some(false));
    }
}
