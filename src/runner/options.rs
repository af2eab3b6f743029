//! What a run is given, and how it can end: plain data.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::agent_log::AgentLog;
use super::command::CommandLine;
use super::interrupt::Interrupt;
use super::process::GRACE;
use super::template::PromptTemplate;
use crate::agent_output::transcript::Format;
use crate::context::Task;
use crate::journal::progress::ProgressStrategy;
use crate::memory::Run;
use crate::settings::Settings;

/// What to run, and how often.
///
/// ```
/// use std::time::Duration;
/// use ralph_memory::runner::{CommandLine, RunOptions};
/// let agent = CommandLine::parse("agent", "claude -p --model {model}")?;
/// let options = RunOptions { timeout: Some(Duration::from_secs(1800)), ..RunOptions::new(agent) };
/// assert_eq!(options.max_iterations, None);
/// # Ok::<(), ralph_memory::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The agent. It gets the prompt on its standard input, or in a file where its command names `{prompt_file}`.
    pub agent: CommandLine,
    /// The command of the memory's MCP server, `ralph-memory --root … mcp`: a program and its arguments. Claude Code,
    /// Codex and opencode get it with the agent's command, with `--feature` and the task's feature, and the prompt names
    /// its tools. Empty for no server.
    pub server: Vec<String>,
    /// The command that says whether a task is done, with exit status 0. Without one, the agent's own report decides.
    pub verify: Option<CommandLine>,
    /// The command that sums up what it reads, for the kinds of progress that need it.
    pub summarize: Option<CommandLine>,
    /// The template for prompts; without one a prompt is the task, the context and the progress.
    pub template: Option<PromptTemplate>,
    /// The run to continue; without one a new one begins. Its `limit` is set by the runner.
    pub run: Option<Run>,
    /// The most attempts.
    pub max_iterations: Option<u32>,
    /// The most attempts at one task.
    pub max_attempts: Option<u32>,
    /// Once the run has cost this much, in US dollars, no further attempt begins.
    pub max_cost: Option<f64>,
    /// The number of tokens, in and out, from which on no further attempt begins.
    pub max_tokens: Option<u64>,
    /// How long the agent may take; then it is ended, and the attempt is blocked.
    pub timeout: Option<Duration>,
    /// How long verification may take; after that, it counts as failed.
    pub verify_timeout: Option<Duration>,
    /// The time for a command and its children to end after an interrupt or a time-out, before they are killed. A child
    /// that holds an output open after the command has exited is waited for as long, and for two seconds at most.
    pub grace: Duration,
    /// Set if the run should continue although its agent cannot work (see [`RunEnd::Crashing`] and
    /// [`RunEnd::UsageLimit`]): the first pause, which each further crash doubles, up to 15 minutes. The end of a usage
    /// limit is waited for.
    pub keep_going: Option<Duration>,
    /// Keeps the agents' whole output.
    pub log: Option<AgentLog>,
    /// How the agent's output is written.
    pub format: Format,
    /// Whether what the agent does is reported as [`RunEvent::Agent`](super::RunEvent::Agent).
    pub reports_agent: bool,
    /// How prompts describe the progress of the run: [`ProgressKind::strategy`](crate::settings::ProgressKind::strategy), or one of your own.
    pub progress: Arc<Mutex<dyn ProgressStrategy>>,
    /// Stops the run.
    pub interrupt: Interrupt,
}

impl RunOptions {
    /// Returns options with this agent and no limits.
    pub fn new(agent: CommandLine) -> RunOptions {
        let settings = Settings::default();
        RunOptions {
            agent,
            server: Vec::new(),
            verify: None,
            summarize: None,
            template: None,
            run: None,
            max_iterations: None,
            max_attempts: None,
            max_cost: None,
            max_tokens: None,
            timeout: None,
            verify_timeout: None,
            grace: GRACE,
            keep_going: None,
            log: None,
            format: Format::Auto,
            reports_agent: false,
            progress: settings.progress.strategy(settings.progress_entries, settings.progress_characters),
            interrupt: Interrupt::default(),
        }
    }
}

/// Where tasks come from.
///
/// ```
/// use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// # let path = root.join("tasks.md");
/// std::fs::write(&path, "1. Compact the log\n")?;
/// let like = Task { feature: Some("storage".into()), files: vec!["src/wal.rs".into()], ..Task::default() };
/// let runner = Runner::new(&memory, RunOptions::new(CommandLine::parse("agent", "claude -p")?));
/// let tasks = Assignment::Checklist { path, like };
/// let refused = runner.run(&tasks, &mut RunProgress::default(), &mut |_: RunEvent<'_>| ()).unwrap_err();
/// assert!(refused.to_string().starts_with("there are no boxes in "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignment {
    /// This is the task.
    Task(Task),
    /// The open boxes of a markdown file are, one after the other; each is ticked when it is done.
    Checklist {
        /// The file.
        path: PathBuf,
        /// Its feature, section and files are those of each task.
        like: Task,
    },
}

/// Why a run ended.
///
/// ```
/// use ralph_memory::runner::{Assignment, CommandLine, RunEnd, RunEvent, RunLimit, RunOptions, RunProgress, Runner};
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// # let path = root.join("tasks.md");
/// std::fs::write(&path, "- [x] Choose a name\n- [x] Register it\n")?;
/// let runner = Runner::new(&memory, RunOptions::new(CommandLine::parse("agent", "claude -p")?));
/// let checklist = Assignment::Checklist { path, like: Task::default() };
/// let words = match runner.run(&checklist, &mut RunProgress::default(), &mut |_: RunEvent<'_>| ())? {
///     RunEnd::Done => "all boxes are ticked",
///     RunEnd::Limit(RunLimit::Iterations) => "no attempts are left",
///     RunEnd::Crashing(_) | RunEnd::UsageLimit(_) => "the agent cannot work",
///     RunEnd::Limit(_) | RunEnd::NotTicked(_) | RunEnd::Interrupted => "a person has to look",
/// };
/// assert_eq!(words, "all boxes are ticked");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum RunEnd {
    /// All tasks are done.
    Done,
    /// It reached a limit.
    Limit(RunLimit),
    /// The agent ended with an error three times in a row, each time in less than ten seconds, or ten times in a row:
    /// what happened, in a sentence that has what it printed last.
    Crashing(String),
    /// The agent's account is at its limit, refused or without money: what happened, with the line that the client
    /// printed, which may name the time when the limit ends.
    UsageLimit(String),
    /// A task is done, and its box could not be ticked, for this reason. What follows it is not begun:
    /// it would be the same task again.
    NotTicked(String),
    /// It was [interrupted](Interrupt).
    Interrupted,
}

/// A limit that ends a run, with what was reached of it.
///
/// ```
/// use ralph_memory::runner::*;
/// use ralph_memory::{Memory, Task};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let options = RunOptions { max_cost: Some(5.0), ..RunOptions::new(CommandLine::parse("agent", "claude -p")?) };
/// let mut progress = RunProgress { cost_usd: 5.1, tokens: 800_000, ..RunProgress::default() }; // of a run that is resumed
/// let task = Assignment::Task(Task::new("Cover the parser with tests"));
/// let end = Runner::new(&memory, options).run(&task, &mut progress, &mut |_: RunEvent<'_>| ())?;
/// assert_eq!(end, RunEnd::Limit(RunLimit::Cost { spent: 5.1, limit: 5.0 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunLimit {
    /// All attempts are used up.
    Iterations,
    /// The task had all its attempts.
    Attempts,
    /// The run reached its limit of cost, in US dollars.
    Cost {
        /// What it cost.
        spent: f64,
        /// What it may cost.
        limit: f64,
    },
    /// The run reached its limit of tokens.
    Tokens {
        /// How many it took.
        spent: u64,
        /// How many it may take.
        limit: u64,
    },
}
