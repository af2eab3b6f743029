//! A coding-agent loop that remembers: each iteration begins with what earlier ones learned.
//!
//! `cargo run --example agent_loop -- AGENT TASK` gives the context to the standard input of `AGENT`,
//! a program, and keeps what it prints as knowledge.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ralph_memory::{Knowledge, Memory, Request, Source, Task};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let agent = arguments.next().unwrap_or_else(|| "cat".to_owned());
    let task = Task::new(arguments.next().unwrap_or_else(|| "Speed up the search".to_owned()));

    let memory = Memory::discover(&std::env::current_dir()?)?;
    let context = memory.context(&Request { task: task.clone(), budget: None })?;

    let mut child = Command::new(agent).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let prompt = format!("{}\n{}", task.text(), context.text);
    child.stdin.take().ok_or("the agent has no input")?.write_all(prompt.as_bytes())?;
    let answer = String::from_utf8_lossy(&child.wait_with_output()?.stdout).into_owned();

    let note =
        Knowledge { source: Source::Agent, ..Knowledge::new(format!("Notes on: {}", task.title), ["loop"], answer) };
    let added = memory.add(&note)?;
    writeln!(std::io::stdout(), "{} {}", added.action.as_str(), added.id)?;
    Ok(())
}
