//! A temporary folder with a memory in it, and the program run there with nothing from outside.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ralph_memory::Memory;
use ralph_memory::memory::{EntryText, StateFolders, Written};
use tempfile::TempDir;

/// The time of every run that sets no other.
pub(crate) const NOW: &str = "2026-11-20T10:00:00Z";
/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ralph-memory");

/// A project folder. Home is another folder beside it, empty at first.
pub(crate) struct TestBase {
    folder: TempDir,
}

impl TestBase {
    /// Makes a project with a new memory.
    pub(crate) fn new() -> TestBase {
        let base = TestBase::without_memory();
        Memory::init(&base.root()).unwrap();
        base
    }

    /// Makes a project without one.
    pub(crate) fn without_memory() -> TestBase {
        let base = TestBase { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(base.root()).unwrap();
        fs::create_dir(base.home()).unwrap();
        base
    }

    /// Returns the project's folder.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Returns the home folder.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns the user's own state folder.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.home().join(".local/state/ralph-memory")
    }

    /// Returns the files in it: all but the key.
    pub(crate) fn kept(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.state_folder()).into_iter().flatten();
        found.map(|found| found.unwrap().path()).filter(|path| !path.ends_with("key")).collect()
    }

    /// Opens the memory in this process, with the key of the programs that are run.
    pub(crate) fn memory(&self) -> Memory {
        let folders = StateFolders::new([self.state_folder()]);
        Memory::open(&self.root()).unwrap().keeping_in(folders)
    }

    /// Returns the full path of something in the project.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file of the project, and the folders above it.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &TestBase {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Writes the knowledge entry `stem` with a title, tags and a body.
    pub(crate) fn entry(&self, stem: &str, title: &str, tags: &str, body: &str) -> &TestBase {
        let head = format!("title: \"{title}\"\ntags: [{tags}]\ncreated_at: \"2026-02-17T12:00:00Z\"");
        self.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\n{body}\n"))
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Returns the files below a folder of the project, sorted.
    pub(crate) fn files(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.at(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    found.push(entry.path().strip_prefix(self.root()).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// Runs the program with these arguments and no input.
    pub(crate) fn run<Argument: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Argument>) -> Ran {
        self.with(arguments).run()
    }

    /// Returns the files of `state/` that say what is open: all but the log of changes, what runs printed last and the table
    /// of hints.
    pub(crate) fn open_state(&self) -> Vec<String> {
        let mut files = self.files(".ralph/state");
        let others = ["undo/", "live/", "hints"].map(|name| format!(".ralph/state/{name}"));
        files.retain(|file| !others.iter().any(|other| file.starts_with(other)));
        files
    }

    /// Prepares a run with these arguments.
    pub(crate) fn with<Argument: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = Argument>) -> Run<'_> {
        let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        Run {
            base: self,
            arguments,
            input: Vec::new(),
            variables: Vec::new(),
            folder: self.root(),
            now: NOW.to_owned(),
            lock_timeout: None,
        }
    }
}

/// A run of the program that is being prepared.
#[must_use]
pub(crate) struct Run<'a> {
    base: &'a TestBase,
    arguments: Vec<OsString>,
    input: Vec<u8>,
    variables: Vec<(String, OsString)>,
    folder: PathBuf,
    now: String,
    lock_timeout: Option<u64>,
}

impl Run<'_> {
    /// Gives it this on standard input.
    pub(crate) fn input(mut self, bytes: impl AsRef<[u8]>) -> Self {
        bytes.as_ref().clone_into(&mut self.input);
        self
    }

    /// Sets an environment variable.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it in another folder.
    pub(crate) fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        folder.as_ref().clone_into(&mut self.folder);
        self
    }

    /// Sets the time.
    pub(crate) fn now(mut self, now: &str) -> Self {
        now.clone_into(&mut self.now);
        self
    }

    /// Lets it wait so many milliseconds for another process that writes.
    pub(crate) fn lock_timeout(mut self, milliseconds: u64) -> Self {
        self.lock_timeout = Some(milliseconds);
        self
    }

    /// Returns the command, for what this cannot do.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["--now", &self.now]);
        command.args(self.lock_timeout.map(|timeout| format!("--lock-timeout={timeout}")));
        command.args(&self.arguments).current_dir(&self.folder).env_clear();
        command.env("HOME", self.base.home()).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it.
    pub(crate) fn run(self) -> Ran {
        let mut command = self.command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that does not read its input closes it, which is not a failure.
        let _ = child.stdin.take().unwrap().write_all(&self.input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let arguments: Vec<&str> = self.arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let ran = Ran {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            command: format!("$ ralph-memory {}", arguments.join(" ")),
            folder: self.base.folder.path().display().to_string(),
        };
        assert_answers(&arguments, &ran.stdout);
        ran
    }
}

/// What a run did. Shown, it is the exit code and both outputs, with the temporary folder's path
/// replaced; what is empty is left out.
#[must_use]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The command line, for failures.
    command: String,
    folder: String,
}

impl Ran {
    /// Fails if the exit code differs, and returns the answer.
    #[track_caller]
    pub(crate) fn answer(self, code: i32) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(code), ""), "{}\n{self}", self.command);
        self.stdout
    }

    /// Fails if the exit code differs, or the output does not contain this text: on standard error where the code is that
    /// of an error.
    #[track_caller]
    pub(crate) fn says(self, code: i32, text: &str) {
        let is_said = self.stderr.contains(text) || code < 2 && self.stdout.contains(text);
        assert!(self.code == Some(code) && is_said, "{}\nexpected {code} and {text:?}, got {self}", self.command);
    }

    /// Fails unless it ended with this exit code, and its outputs have these texts: the answer, and standard error.
    #[track_caller]
    pub(crate) fn tells(&self, code: i32, answer: &[&str], messages: &[&str]) {
        let is_told = answer.iter().all(|text| self.stdout.contains(text));
        let is_told = is_told && messages.iter().all(|text| self.stderr.contains(text));
        let expected = format!("{code}, {answer:?} and {messages:?}");
        assert!(self.code == Some(code) && is_told, "{}\nexpected {expected}, got {self}", self.command);
    }

    /// Fails unless it ended with this exit code, gave this reason on standard error, and answered nothing.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32, reason: &str) {
        let is_refusal = self.code == Some(code) && self.stdout.is_empty() && self.stderr.contains(reason);
        assert!(is_refusal, "{}\nexpected {code} and the error {reason:?}, got {self}", self.command);
    }

    /// Fails where the exit code is another one or the answer is not one JSON object on a line, and
    /// returns that.
    #[track_caller]
    pub(crate) fn json(&self, code: i32) -> serde_json::Value {
        assert_eq!(self.code, Some(code), "{}\n{self}", self.command);
        let is_line = self.stdout.ends_with("}\n") && self.stdout.lines().count() == 1;
        assert!(is_line, "{}\n{self}", self.command);
        let value: serde_json::Value = serde_json::from_str(&self.stdout).unwrap();
        assert_eq!(value["schema_version"], 1);
        assert!(value["problems"].is_array());
        value
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "killed".to_owned(), |code| code.to_string());
        write!(formatter, "exit {code}")?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                let text = text.replace(&self.folder, "[TEMP]");
                write!(formatter, "\n--- {name}\n{text}")?;
            }
        }
        Ok(())
    }
}

/// Fails if the output of `--json` does not match `docs/json-schema.json`.
#[track_caller]
pub(crate) fn assert_answers(arguments: &[&str], stdout: &str) {
    let arguments = arguments.split(|argument| *argument == "--").next().unwrap_or_default();
    if !arguments.contains(&"--json") || arguments.contains(&"--help") {
        return;
    }
    let has = |option: &str| arguments.contains(&option);
    for line in stdout.lines() {
        // `completions` prints no JSON, whatever it is asked for.
        let Ok(answer) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let names = crate::schemas::ANSWERS["$defs"].as_object().unwrap();
        let command = arguments.iter().copied().find(|argument| names.contains_key(*argument));
        let name = match command {
            _ if answer.get("error").is_some() => "error",
            Some("list") if has("--tags") => "list-tags",
            Some("undo") if has("--list") => "undo-list",
            Some("restore") if has("--list") => "restore-list",
            Some("edit") if answer.get("entries").is_some() => "edit-confirm",
            Some("undo") if has("--clear") => "undo-clear",
            Some("context") if answer.get("briefing").is_some() => "context-briefing",
            Some("log") if has("--follow") => "log-follow",
            Some("show") if answer.get("task").is_some() => "show-task",
            Some("show") if answer.get("run").is_some() => "show-run",
            command => command.unwrap_or("overview"),
        };
        crate::schemas::assert_answer(name, &answer);
    }
}

/// Writes a program. A child writes it: if another thread forked while this process had it open, starting it would fail with
/// "text file busy".
pub(crate) fn write_program(path: &Path, text: impl AsRef<[u8]>) {
    let mut command = Command::new("sh");
    command.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_ref()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// Runs git in a project, with an author's name and without settings, and returns what it prints.
#[track_caller]
pub(crate) fn git(base: &TestBase, arguments: &[&str]) -> String {
    let output = git_output(base, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs git in the project, and returns whether it ended with 0, and all that it said.
pub(crate) fn try_git(base: &TestBase, arguments: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = git_output(base, arguments);
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

fn git_output(base: &TestBase, arguments: &[&str]) -> Output {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command.args(identity).args(arguments).current_dir(base.root()).env_clear().env("HOME", base.home());
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    command.output().unwrap()
}

/// Does what `edit` does with an editor that leaves this text.
pub(crate) fn edit(memory: &Memory, old: &EntryText, new: &str) -> ralph_memory::Result<Written> {
    fs::write(memory.root().join(&old.path), new).unwrap();
    memory.edited(old, true)
}

/// Returns the ids of the entries that an answer lists.
pub(crate) fn ids(entries: &serde_json::Value) -> Vec<String> {
    let entries = entries.as_array().unwrap_or_else(|| panic!("{entries} is no list"));
    entries.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
}

/// Lets the programs that are run be interrupted. Tests that run in the background of a script ignore the signal, and so
/// would they; what has a handler here is no longer ignored there.
pub(crate) fn heed_interrupts() {
    let ends = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, ends).unwrap();
}

/// Takes the scores out of what `search` shows: they change whenever ranking gets better.
pub(crate) fn without_scores(text: &impl fmt::Display) -> String {
    let text = text.to_string();
    let lines = text.lines().map(|line| match line.rsplit_once("  ") {
        Some((title, score))
            if line.starts_with(|first: char| first.is_ascii_digit()) && score.parse::<f64>().is_ok() =>
        {
            format!("{title}  [SCORE]")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a text as PowerShell writes it to a file.
pub(crate) fn utf16(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
}
