//! `mcp`: serves the memory to an agent.

use std::io::{self, IsTerminal as _};

use crate::exit::Exit;
use crate::mcp;
use crate::session::Globals;
use crate::ui::Ui;

/// Serve the memory to an agent over the Model Context Protocol, on standard input and output
///
/// An agent's client starts and ends this. Each call reads the files as they are. Nothing is kept and no lock is held
/// between two calls. The server ends when its standard input ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "The memory is the one in --root, else the nearest one upward from CLAUDE_PROJECT_DIR (which
Claude Code sets), else from the working folder. It may be created after the server starts.

Examples:
  claude mcp add ralph-memory -- ralph-memory mcp
  codex mcp add ralph-memory -- ralph-memory mcp
  ralph-memory mcp --root ~/projects/shop")]
pub(crate) struct McpArgs {
    /// The feature of the agent's task: what it writes belongs to this feature, and it sees nothing of other features
    #[arg(long, value_name = "NAME")]
    feature: Option<String>,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &McpArgs) -> anyhow::Result<Exit> {
    if io::stdin().is_terminal() {
        ui.note("this speaks the Model Context Protocol with a program, not with a person; Ctrl-D ends it");
    }
    mcp::serve(globals, args.feature.clone(), ui.out)?;
    Ok(Exit::Done)
}
