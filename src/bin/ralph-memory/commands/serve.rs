//! `serve`: shows the memory in a browser.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::thread;
use std::time::Duration;

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
/// How long a browser may take to read the file with the address, which then loses its secret.
const OPENING: Duration = Duration::from_secs(10);

/// Show the memory in a browser, until Ctrl-C
///
/// Prints the address of a page on this machine. The address contains a secret: whoever has it can read the memory, confirm and archive
/// entries, and undo the last change. Nobody else can, neither other users nor other pages. A coding agent that runs this does not learn the
/// secret, and its page has no buttons.
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
    token: Option<&'a str>,
    port: u16,
    pid: u32,
}

pub(crate) fn run(ui: &mut Ui<'_>, globals: &Globals, args: &ServeArgs) -> anyhow::Result<Exit> {
    let memory = globals.open()?;
    let interrupt = activity::interrupt()?;
    let listener = listen(args.port)?;
    let (port, token) = (listener.local_addr()?.port(), serve::new_token()?);
    announce(ui, port, Some(token.as_str()).filter(|_| !is_run_by_agent()))?;
    let root = memory.root().canonicalize().map_err(|source| Error::Io {
        action: "read",
        path: memory.root().to_owned(),
        source,
    })?;
    let globals = globals.placed(Vec::new(), Some(root));
    if args.open {
        open(ui, &memory, &address(port, Some(&token)));
        let globals = globals.clone();
        thread::spawn(move || {
            thread::sleep(OPENING);
            globals.open_in(None).and_then(|memory| Ok(memory.page_launcher(&address(port, None))?))
        });
    }
    serve::run(memory, Box::new(move || globals.open_in(None)), listener, (port, token), &interrupt)?;
    Ok(Exit::Interrupted)
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

fn address(port: u16, token: Option<&str>) -> String {
    let secret = token.map(|token| format!("{token}/")).unwrap_or_default();
    format!("http://127.0.0.1:{port}/{secret}")
}

/// Prints where the page is. An agent does not learn the secret.
fn announce(ui: &mut Ui<'_>, port: u16, token: Option<&str>) -> anyhow::Result<()> {
    let address = address(port, token);
    if ui.json {
        ui.json(ServeAnswer { address, token, port, pid: std::process::id() }, &[])?;
    } else {
        let address = ui.styled(ID, &address);
        ui.line(address)?;
        ui.note(match token {
            Some(_) => "Ctrl-C ends it",
            None => "a coding agent runs this, so the address lacks its secret; `--open` opens the page for the person",
        });
    }
    Ok(ui.out.flush()?)
}

/// Opens the page in a browser. The page is there all the same if no browser opens.
fn open(ui: &mut Ui<'_>, memory: &Memory, address: &str) {
    let opened = memory.page_launcher(address).map_err(|error: Error| error.to_string());
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
