//! `serve`: shows the memory in a browser.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use ralph_memory::memory::{PageServer, ProcessIdentity};
use ralph_memory::{Error, Memory};
use serde::Serialize;

use crate::activity;
use crate::authors::is_run_by_agent;
use crate::error::UsageError;
use crate::exit::Exit;
use crate::serve;
use crate::session::Globals;
use crate::ui::{ID, Ui};

/// The port that is tried first.
const PORT: u16 = 7171;

/// Show the memory in a browser, until Ctrl-C
///
/// Prints the address of a page on this machine. The address contains a secret: whoever has it can read the memory, confirm and archive
/// entries, and undo the last change. Nobody else can, neither other users nor other pages. A second `serve` for the same memory prints the
/// address of the first. A page that a coding agent starts has no buttons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ralph-memory serve
  ralph-memory serve --open
  ralph-memory serve --port 0 --json")]
pub(crate) struct ServeArgs {
    /// The port; 0 for any free one [default: 7171, else any free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Open the page in your browser
    #[arg(long)]
    open: bool,
}

#[derive(Serialize)]
struct ServeAnswer<'a> {
    address: String,
    token: &'a str,
    port: u16,
    pid: u32,
    already_running: bool,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ServeArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let interrupt = activity::interrupt()?;
    // The page of an agent has no buttons, so that of a person is neither shown to it nor found in its place.
    let is_shared = !is_run_by_agent();
    if let Some(first) = memory.page_server().filter(|_| is_shared) {
        return already_running(ui, &memory, &first, args.open);
    }
    let listener = listen(args.port)?;
    let port = listener.local_addr()?.port();
    let server = PageServer { port, token: serve::new_token()?, process: ProcessIdentity::this_process() };
    match if is_shared { memory.claim_page(&server) } else { Ok(None) } {
        // Another one was quicker.
        Ok(Some(first)) => return already_running(ui, &memory, &first, args.open),
        Ok(None) => {}
        // A memory that cannot be written can be read.
        Err(error) => ui.warn(&format!("a second `serve` will not find this one: {error}")),
    }
    announce(ui, &server, false)?;
    open(ui, &memory, &server, args.open);
    let root = memory.root().canonicalize().map_err(|source| Error::Io {
        action: "read",
        path: memory.root().to_owned(),
        source,
    })?;
    let globals = globals.placed(Vec::new(), Some(root));
    serve::run(memory, Box::new(move || globals.open_in(None)), listener, &server, &interrupt)?;
    Ok(Exit::Interrupted)
}

/// Says where the memory is served already.
fn already_running(ui: &mut Ui<'_>, memory: &Memory, first: &PageServer, opens: bool) -> anyhow::Result<Exit> {
    announce(ui, first, true)?;
    open(ui, memory, first, opens);
    Ok(Exit::Done)
}

fn listen(port: Option<u16>) -> anyhow::Result<TcpListener> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    match port {
        None => Ok(bind(PORT).or_else(|_| bind(0)).map_err(|error| busy(PORT, &error))?),
        Some(port) => Ok(bind(port).map_err(|error| busy(port, &error))?),
    }
}

fn busy(port: u16, error: &std::io::Error) -> UsageError {
    let hint = "name another port, or `--port 0` for any that is free".to_owned();
    UsageError { message: format!("cannot listen on port {port} of 127.0.0.1: {error}"), hint }
}

/// Prints where the page is.
fn announce(ui: &mut Ui<'_>, server: &PageServer, already_running: bool) -> anyhow::Result<()> {
    let address = server.address();
    if ui.json {
        let pid = server.process.as_ref().map_or_else(std::process::id, ProcessIdentity::pid);
        ui.json(ServeAnswer { address, token: &server.token, port: server.port, pid, already_running }, &[])?;
    } else {
        let address = ui.styled(ID, &address);
        ui.line(address)?;
        ui.note(if already_running { "another process serves this memory already" } else { "Ctrl-C ends it" });
    }
    Ok(ui.out.flush()?)
}

/// Opens the page in a browser, if that is wanted. The page is there all the same if no browser opens.
fn open(ui: &mut Ui<'_>, memory: &Memory, server: &PageServer, is_wanted: bool) {
    if !is_wanted {
        return;
    }
    let opened = memory.page_launcher(server).map_err(|error: Error| error.to_string());
    if let Err(reason) = opened.and_then(|file| browse(&file)) {
        ui.warn(&format!("cannot open a browser: {reason}"));
    }
}

/// Starts the person's browser with a file, whose name other users may see; the address they may not.
fn browse(file: &Path) -> Result<(), String> {
    use std::process::Stdio;

    use ralph_memory::system::posix::{CommandExt as _, opener, plain};

    let mut command = opener();
    let file = plain(file.canonicalize().map_err(|error| error.to_string())?);
    // Ctrl-C must not end the browser.
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    std::thread::spawn(move || child.wait());
    Ok(())
}
