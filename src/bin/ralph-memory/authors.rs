//! Who runs this process: a person, or a coding agent, as its environment says.

use ralph_memory::Author;

/// Returns the run that a loop names in the environment.
pub(crate) fn run_of_environment() -> Option<String> {
    std::env::var("RALPH_RUN_ID").ok().filter(|run| !run.is_empty())
}

/// Returns who runs this process.
pub(crate) fn author() -> Author {
    Author::of_process(&|name| std::env::var_os(name))
}

/// Returns whether a coding agent runs this process.
pub(crate) fn is_run_by_agent() -> bool {
    !author().is_person()
}
