//! `mcp`: serves the memory to an agent.

use std::io::{self, IsTerminal as _};

use crate::error::Exit;
use crate::mcp;
use crate::session::Globals;
use crate::ui::Ui;

/// Serve the memory to an agent, by the Model Context Protocol on standard input and output
///
/// An agent's program starts this and ends it. It keeps nothing between two calls: each one looks at the files as they
/// are, as any other command does, and holds no lock when it is answered. It ends when its standard input does.
#[derive(Debug, clap::Args)]
#[command(after_help = "The memory is the one in --root, else the nearest one upward from CLAUDE_PROJECT_DIR (which
Claude Code sets), else from the working folder. It need not be there yet when the server starts.

Examples:
  claude mcp add ralph-memory -- ralph-memory mcp
  codex mcp add ralph-memory -- ralph-memory mcp
  ralph-memory mcp --root ~/projects/shop")]
pub(crate) struct McpArgs {}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, McpArgs {}: &McpArgs) -> anyhow::Result<Exit> {
    if io::stdin().is_terminal() {
        ui.note("this speaks the Model Context Protocol with a program, not with a person; Ctrl-D ends it");
    }
    mcp::serve(globals, ui.out)?;
    Ok(Exit::Done)
}
