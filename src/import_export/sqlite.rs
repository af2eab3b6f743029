//! Reads a database of `SQLite` through the program `sqlite3`, so that no build needs the library.
//!
//! A database is data from others, and a view, a virtual table or a generated column is code: sqlite3 has functions that
//! run programs and write files. So only ordinary tables are read, in sqlite3's safe mode, and with limits of time, memory
//! and output.

use std::io;
use std::path::{self, Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::git::child;

/// The most output of a query, in bytes.
const MAX_OUTPUT: u64 = 64 * 1024 * 1024;
/// The most memory of a query, in bytes.
const MAX_MEMORY: u64 = 256 * 1024 * 1024;
/// How long a query may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// A row of an answer.
pub(super) type SqlRow = Map<String, Value>;

/// The tables of a database, by their names.
pub(super) struct SqlTables {
    database: PathBuf,
    /// The program that the database belongs to, in messages.
    owner: &'static str,
    /// The names of everything that a query can name, and whether it is an ordinary table.
    names: Vec<(String, bool)>,
}

impl SqlTables {
    /// Lists the tables of a database of `owner`, which is not changed.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if `sqlite3` is not installed or refuses.
    pub(super) fn open(database: PathBuf, owner: &'static str) -> Result<SqlTables> {
        let all = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')";
        let listed = rows(&database, owner, all)?;
        let text = |row: &SqlRow, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        // That of a virtual table begins with `CREATE VIRTUAL TABLE`, and its type is `table` as well.
        let is_plain = |row: &SqlRow| text(row, "type") == "table" && text(row, "sql").starts_with("CREATE TABLE ");
        let names = listed.iter().map(|row| (text(row, "name"), is_plain(row))).collect();
        Ok(SqlTables { database, owner, names })
    }

    /// Returns these columns of the rows of a table that fulfil a condition, by their ids; `None` if there is no such table.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if it is not an ordinary table, or `sqlite3` refuses.
    pub(super) fn rows(&self, table: &str, columns: &str, condition: &str) -> Result<Option<Vec<SqlRow>>> {
        let mut found = self.names.iter().filter(|(name, _)| name.eq_ignore_ascii_case(table)).peekable();
        if found.peek().is_none() {
            return Ok(None);
        }
        if found.any(|(_, is_plain)| !is_plain) {
            return Err(Error::Unusable {
                message: format!("`{table}` in `{}` is a view or a virtual table", self.database.display()),
                hint: format!(
                    "{} makes an ordinary table; anything else can run programs, and is not read",
                    self.owner
                ),
            });
        }
        let query = format!("SELECT {columns} FROM {table} WHERE {condition} ORDER BY id");
        rows(&self.database, self.owner, &query).map(Some)
    }
}

/// Returns the rows that a query gives.
fn rows(database: &Path, owner: &str, query: &str) -> Result<Vec<SqlRow>> {
    let refused = |reason: String| Error::Unusable {
        message: format!("`sqlite3` cannot read `{}`: {reason}", database.display()),
        hint: format!("check that it is a database of {owner}, and that sqlite3 is 3.37 or newer"),
    };
    // A start-up file of the user's could change the output.
    let mut command = Command::new("sqlite3");
    command.args(["-safe", "-init", "/dev/null", "-batch", "-readonly", "-json"]);
    command.arg(path::absolute(database).map_err(|error| refused(error.to_string()))?);
    command.arg(format!("PRAGMA trusted_schema = OFF; PRAGMA hard_heap_limit = {MAX_MEMORY}; {query}"));
    let ended = child::run(&mut command, b"", MAX_OUTPUT, MAX_TIME).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Unusable {
            message: format!("`sqlite3` is not installed, and nothing else reads `{}`", database.display()),
            hint: "install it (`apt install sqlite3`, `brew install sqlite`), and run the command again".to_owned(),
        },
        _ => refused(error.to_string()),
    })?;
    if ended.is_late {
        return Err(refused(format!("it took over {} s", MAX_TIME.as_secs())));
    }
    if ended.is_over {
        return Err(refused(format!("its answer is over the limit of {MAX_OUTPUT} bytes")));
    }
    if ended.code != Some(0) {
        return Err(refused(ended.reason()));
    }
    let mut answers = serde_json::Deserializer::from_slice(&ended.output).into_iter::<Vec<SqlRow>>();
    // The first answer is that of the memory limit. A query without rows has none.
    let answer = answers.next().transpose().and_then(|_| answers.next().transpose());
    answer.map(Option::unwrap_or_default).map_err(|error| refused(format!("its answer is not JSON: {error}")))
}
