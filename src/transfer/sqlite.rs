//! Reads a database of `SQLite` through the program `sqlite3`, so that no build needs the library.

use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The most output of a query, in bytes.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// A row of an answer.
pub(super) type SqlRow = Map<String, Value>;

/// Returns the rows that a query gives. The database is not changed.
///
/// # Errors
///
/// [`Error::Unusable`] if `sqlite3` is not installed or refuses.
pub(super) fn rows(database: &Path, query: &str) -> Result<Vec<SqlRow>> {
    let refused = |reason: String| Error::Unusable {
        message: format!("`sqlite3` cannot read `{}`: {reason}", database.display()),
        hint: "check that it is a database of ralph, and that sqlite3 is 3.33 or newer".to_owned(),
    };
    // A start-up file of the user's could change the output.
    let mut command = Command::new("sqlite3");
    command.args(["-init", "/dev/null", "-batch", "-readonly", "-json"]).arg(database).arg(query);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Unusable {
            message: format!("`sqlite3` is not installed, and nothing else reads `{}`", database.display()),
            hint: "install it (`apt install sqlite3`, `brew install sqlite`), and run the command again".to_owned(),
        },
        _ => refused(error.to_string()),
    })?;
    let mut output = Vec::new();
    let read = match child.stdout.take() {
        Some(stdout) => stdout.take(MAX_OUTPUT as u64 + 1).read_to_end(&mut output),
        None => Ok(0),
    };
    if output.len() > MAX_OUTPUT || read.is_err() {
        // It may wait for someone to read the rest.
        let _ = child.kill();
    }
    let ended = child.wait_with_output().map_err(|error| refused(error.to_string()))?;
    if output.len() > MAX_OUTPUT {
        return Err(refused(format!("its answer is over the limit of {MAX_OUTPUT} bytes")));
    }
    read.map_err(|error| refused(error.to_string()))?;
    if !ended.status.success() {
        let message = String::from_utf8_lossy(&ended.stderr);
        return Err(refused(message.lines().next().unwrap_or("it does not say why").trim().to_owned()));
    }
    // An answer without rows is empty.
    if output.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    serde_json::from_slice(&output).map_err(|error| refused(format!("its answer is not JSON: {error}")))
}
