//! A coding-agent loop that remembers: each iteration begins with what earlier ones tried and learned.
//!
//! `cargo run --example agent_loop -- AGENT TASK` gives the prompt to the standard input of `AGENT`, a command,
//! until it says that the task is done. With `--own` before it, the loop is this program's own; without, it is the
//! library's [`Runner`], which also verifies, ends what takes too long, and can be interrupted.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ralph_memory::entry::Outcome;
use ralph_memory::memory::{Report, Run};
use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
use ralph_memory::{Memory, Task};

/// How often it is tried.
const ITERATIONS: u32 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_own = arguments.next_if_eq("--own").is_some();
    let agent = arguments.next().unwrap_or_else(|| "cat".to_owned());
    let task = Task::new(arguments.next().unwrap_or_else(|| "Speed up the search".to_owned()));
    let memory = Memory::discover(&std::env::current_dir()?)?;
    if is_own { own_loop(&memory, &agent, &task) } else { with_runner(&memory, &agent, task) }
}

/// Lets the library run the loop.
fn with_runner(memory: &Memory, agent: &str, task: Task) -> Result<(), Box<dyn std::error::Error>> {
    let agent = CommandLine::parse("AGENT", agent)?;
    let options = RunOptions { max_iterations: Some(ITERATIONS), ..RunOptions::new(agent) };
    let mut show = |event: RunEvent<'_>| {
        if let RunEvent::AttemptEnded { recorded, .. } = event {
            let _ = writeln!(std::io::stdout(), "{} {}", recorded.id, recorded.outcome.as_str());
        }
    };
    Runner::new(memory, options).run(&Assignment::Task(task), &mut RunProgress::default(), &mut show)?;
    Ok(())
}

/// Runs the loop here: begin an iteration, run the agent, finish the iteration.
fn own_loop(memory: &Memory, agent: &str, task: &Task) -> Result<(), Box<dyn std::error::Error>> {
    let run = Run { limit: Some(ITERATIONS), ..memory.new_run() };
    for _ in 0..ITERATIONS {
        let iteration = memory.begin(task, &run)?;
        let mut child = Command::new(agent)
            .env("RALPH_MODEL", &iteration.model)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        // An agent that does not read it closes its input.
        let _ = child.stdin.take().ok_or("the agent has no input")?.write_all(iteration.context.as_bytes());
        let output = child.wait_with_output()?;
        let report = Report {
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            agent_exit: output.status.code(),
            ..Report::default()
        };
        let recorded = memory.finish(&iteration, &report)?;
        writeln!(std::io::stdout(), "{} {}", recorded.id, recorded.outcome.as_str())?;
        if recorded.outcome == Outcome::Done {
            break;
        }
    }
    Ok(())
}
