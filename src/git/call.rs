//! The only place that starts `git`: all arguments and environment variables of a call are set here.
//!
//! A repository is untrusted data. A clone cannot make git run a program here, and the user's own settings do not
//! change an answer. Command-line arguments are literals of this crate; other values pass through [`GitCall::object`],
//! [`GitCall::number`] or [`GitCall::paths`], and cannot become options.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::WorkTree;
use super::object::ObjectName;
use crate::error::{Error, Result};
use crate::git::child::{self, ChildOutput};

/// The limit of an answer, in bytes, unless a caller sets another one.
const MAX_OUTPUT: u64 = 1024 * 1024;
/// How long a call may take, unless a caller sets another limit. A repository can keep git busy forever, with a pipe in
/// place of `.gitignore` or a tree nested into itself ten times.
const PATIENCE: Duration = Duration::from_secs(10);
/// Settings of every call. Those that name a program are empty, and a folder that only looks like a bare repository,
/// which a clone can contain, is not a repository (git 2.38; see [`WorkTree::find`] for older versions).
const SETTINGS: [&str; 11] = [
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.askPass=",
    "core.quotePath=false",
    "color.ui=false",
    "submodule.recurse=false",
    "protocol.allow=never",
    "i18n.commitEncoding=UTF-8",
    "core.safecrlf=false",
    "core.bigFileThreshold=512m",
];
/// Settings of calls with an index of our own, or with one that is only read. The repository's configuration would
/// otherwise apply: a split index would put half of ours into the repository, and a sparse one writes trees to it even
/// for a listing. Ours is never read again, so it needs no checksum.
const INDEX_SETTINGS: [&str; 5] = [
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "index.sparse=false",
    "feature.manyFiles=false",
    "index.skipHash=true",
];
/// The variables of a call, in addition to those kept from the environment. No call prompts, fetches, or takes an
/// optional lock.
const VARIABLES: [(&str, &str); 9] = [
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_LITERAL_PATHSPECS", "1"),
];
/// Git's variables that are kept: the paths of the user's settings and of git's own programs, and the limit of the search
/// for a repository. All others are removed: they select another repository, as in a hook, change how
/// paths are read, name programs, or write traces to files.
const KEPT: [&str; 7] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_EXEC_PATH",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];
/// The prefixes of the numbered variables that belong to `GIT_CONFIG_COUNT`.
const NUMBERED: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// A builder for a call of `git`.
#[must_use]
pub(super) struct GitCall<'a> {
    command: Command,
    /// Its name in messages.
    name: &'static str,
    input: &'a [u8],
    good: &'a [i32],
    limit: u64,
    patience: Duration,
    /// Whether a partial answer is accepted.
    takes_part: bool,
}

impl<'a> GitCall<'a> {
    /// Runs in a folder that is not known to be a work tree.
    pub(super) fn anywhere(folder: &Path, words: &[&'static str]) -> GitCall<'a> {
        GitCall::new(folder, None, &[], words)
    }

    /// Runs in a work tree. `settings` have the form `KEY=VALUE`.
    pub(super) fn within(tree: &WorkTree, settings: &[String], words: &[&'static str]) -> GitCall<'a> {
        GitCall::new(&tree.root, Some(tree), settings, words)
    }

    fn new(folder: &Path, tree: Option<&WorkTree>, settings: &[String], words: &[&'static str]) -> GitCall<'a> {
        let mut command = Command::new("git");
        command.current_dir(folder);
        if let Some(tree) = tree {
            // The repository is named, not searched for: nothing can replace it between two calls.
            command.arg(joined("--git-dir=", &tree.git_dir)).arg(joined("--work-tree=", &tree.root));
        }
        command.arg("--no-pager");
        for setting in SETTINGS.into_iter().chain(settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        command.args(words);
        for (name, _) in env::vars_os() {
            if !is_kept(&name) {
                command.env_remove(name);
            }
        }
        command.envs(VARIABLES);
        GitCall {
            command,
            name: words.first().copied().unwrap_or_default(),
            input: b"",
            good: &[0],
            limit: MAX_OUTPUT,
            patience: PATIENCE,
            takes_part: false,
        }
    }

    /// Adds the name of an object.
    pub(super) fn object(mut self, object: &ObjectName) -> Self {
        self.command.arg(object.as_str());
        self
    }

    /// Adds an option with a number.
    pub(super) fn number(mut self, option: &'static str, number: i64) -> Self {
        self.command.arg(format!("{option}{number}"));
        self
    }

    /// Adds a literal argument.
    pub(super) fn word(mut self, word: &'static str) -> Self {
        self.command.arg(word);
        self
    }

    /// Adds literal arguments.
    pub(super) fn words(mut self, words: &[&'static str]) -> Self {
        self.command.args(words);
        self
    }

    /// Adds a value where git expects no options, or one that cannot be an option.
    pub(super) fn value(mut self, value: &str) -> Self {
        self.command.arg(value);
        self
    }

    /// Adds paths, after `--`.
    pub(super) fn paths<Path: AsRef<OsStr>>(mut self, paths: impl IntoIterator<Item = Path>) -> Self {
        self.command.arg("--").args(paths);
        self
    }

    /// Makes git interpret its paths as pathspecs with magic.
    pub(super) fn magic(mut self) -> Self {
        self.command.env_remove("GIT_LITERAL_PATHSPECS");
        self
    }

    /// Sets the standard input.
    pub(super) fn input(mut self, input: &'a [u8]) -> Self {
        self.input = input;
        self
    }

    /// Makes git use this index instead of the repository's.
    pub(super) fn index(mut self, index: &Path) -> Self {
        self.command.env("GIT_INDEX_FILE", index);
        self
    }

    /// Makes git write objects to a folder, and read them from another one as well.
    pub(super) fn objects(mut self, own: &Path, others: &Path) -> Self {
        self.command.env("GIT_OBJECT_DIRECTORY", own).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", others);
        self
    }

    /// Accepts these exit statuses as success, instead of only 0.
    pub(super) fn good(mut self, good: &'a [i32]) -> Self {
        self.good = good;
        self
    }

    /// Sets the limit of the answer, in bytes.
    pub(super) fn limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the time limit.
    pub(super) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Accepts a partial answer at the time limit, instead of an error.
    pub(super) fn takes_part(mut self) -> Self {
        self.takes_part = true;
        self
    }

    /// Runs it, and fails on any other exit status.
    pub(super) fn ask(self) -> Result<ChildOutput> {
        let (name, good) = (self.name, self.good);
        let refused = |reason| Error::Git { command: name.to_owned(), reason };
        let answer = self.run().map_err(|error| refused(error.to_string()))?;
        if answer.is_over || answer.code.is_some_and(|code| good.contains(&code)) {
            Ok(answer)
        } else {
            Err(refused(answer.reason()))
        }
    }

    /// Like [`GitCall::ask`], but fails on an answer over the limit.
    pub(super) fn ask_all(self) -> Result<Vec<u8>> {
        let name = self.name;
        let answer = self.ask()?;
        if answer.is_over {
            return Err(Error::Git { command: name.to_owned(), reason: "its answer is too long".to_owned() });
        }
        Ok(answer.output)
    }

    /// Returns the only line of an answer; `None` if there is none.
    pub(super) fn line(self) -> Result<Option<String>> {
        let answer = self.ask()?;
        let line = String::from_utf8_lossy(&answer.output).trim_end_matches('\n').to_owned();
        Ok(Some(line).filter(|line| !line.is_empty()))
    }

    /// Returns the object that the answer names.
    pub(super) fn made(self) -> Result<ObjectName> {
        ObjectName::parse(&self.line()?.unwrap_or_default())
    }

    /// Runs it. An answer over a limit is truncated to whole records.
    pub(super) fn run(mut self) -> io::Result<ChildOutput> {
        let mut answer = child::run(&mut self.command, self.input, self.limit, self.patience)?;
        if answer.is_late && !self.takes_part {
            let reason = format!("it took over {} s", self.patience.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        answer.is_over |= answer.is_late;
        if answer.is_over {
            let end = answer.output.iter().rposition(|byte| *byte == 0).unwrap_or(0);
            answer.output.truncate(end);
        }
        Ok(answer)
    }
}

/// Returns the settings of calls with an index of our own, or with one that is only read.
pub(super) fn index_settings() -> Vec<String> {
    INDEX_SETTINGS.map(str::to_owned).into()
}

fn is_kept(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    let is_of_git = name.starts_with("GIT_") || name == "SSH_ASKPASS";
    !is_of_git || KEPT.contains(&name) || NUMBERED.iter().any(|start| name.starts_with(start))
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(path);
    joined
}
