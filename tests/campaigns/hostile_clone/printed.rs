//! The commands that answers print, run as a person who copies them would run them: by `sh -c`, in the clone.
//!
//! In the only folder of `PATH` are stubs that note their arguments and do nothing. So whatever else happens is the work
//! of a name in the command: a file, another program, or an argument that is not what it was to be.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::MARK;
use super::names::{STARTED, TOKEN};

/// What printed commands begin with.
const PROGRAMS: [&str; 8] = ["ralph-memory", "git", "cargo", "chmod", "rm", "mv", "claude", "codex"];
/// Programs that only a hostile name starts.
const OTHERS: [&str; 5] = [STARTED, "sh", "touch", "x", "cat"];
/// The most characters of a command.
const MAX_LENGTH: usize = 600;

/// Returns the commands in an answer, in the order in which they stand there: those between backquotes, and lines that
/// are one. Of JSON, the texts are searched; of a page, what is marked as code.
pub(crate) fn commands_in(answer: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut texts = Vec::new();
    if let Ok(value) = serde_json::from_str(answer) {
        strings(&value, &mut texts);
    } else if answer.starts_with("<!DOCTYPE") {
        texts.push(plain(answer));
    } else if answer.starts_with("::") {
        texts.extend(answer.lines().map(annotation));
    } else {
        // Lines may be objects, too.
        let objects = answer.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        objects.filter(Value::is_object).for_each(|value| strings(&value, &mut texts));
        texts.push(answer.to_owned());
    }
    for text in &texts {
        quoted(text, &mut found);
        let lines = text.lines().map(|line| line.trim_start().trim_start_matches("hint: ").trim_start_matches("$ "));
        // A hook begins its messages with its own name.
        let commands = lines.filter(|line| is_command(line) && !line.starts_with("ralph-memory hook "));
        found.extend(commands.map(str::to_owned));
    }
    found
}

fn is_command(text: &str) -> bool {
    PROGRAMS.iter().any(|program| text.strip_prefix(program).is_some_and(|rest| rest.starts_with(' ')))
}

fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| strings(value, texts)),
        Value::Object(members) => members.values().for_each(|value| strings(value, texts)),
        _ => {}
    }
}

/// Returns the text of an annotation for GitHub.
fn annotation(line: &str) -> String {
    let escapes = [("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
    escapes.iter().fold(line.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

/// Returns the text of a page, with backquotes around code.
fn plain(page: &str) -> String {
    let mut text = String::new();
    let page = page.replace("<code>", "`").replace("</code>", "`");
    for (number, part) in page.split('<').enumerate() {
        if number > 0 {
            text.push(' ');
        }
        text.push_str(if number == 0 { part } else { part.split_once('>').map_or("", |(_, rest)| rest) });
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text, |text, (entity, character)| text.replace(entity, character))
}

/// Finds commands between backquotes. One that goes on behind a backquote, since a name in it has one, is taken up to
/// the backquote behind which a sentence could go on.
fn quoted(text: &str, found: &mut Vec<String>) {
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        rest = &rest[start + 1..];
        if !is_command(rest) {
            continue;
        }
        let mut open = None;
        for (at, character) in rest.char_indices().take(MAX_LENGTH) {
            match (open, character) {
                (Some(quote), _) if quote == character => open = None,
                (None, '\'') => open = Some('\''),
                (None, '`') => {
                    let next = rest[at + 1..].chars().next();
                    if next.is_none_or(|next| next.is_whitespace() || ".,;:)|\"'".contains(next)) {
                        found.push(rest[..at].to_owned());
                        rest = &rest[at + 1..];
                        break;
                    }
                }
                _ => {}
            }
        }
    }
}

/// A shell with stubs for programs, and what came of commands in it.
pub(super) struct Shell {
    stubs: PathBuf,
    log: PathBuf,
    /// Commands of plain characters that were run, in whatever clone: they do the same in each.
    known: BTreeSet<String>,
    /// How many commands were found, and how many of them were run.
    pub(super) found: usize,
    pub(super) run: usize,
}

impl Shell {
    pub(super) fn new(place: &Path) -> Shell {
        let stubs = place.join("stubs");
        fs::create_dir_all(&stubs).unwrap();
        let text = "#!/bin/sh\nprintf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" >> \"$ZQLOG\"\n";
        for name in PROGRAMS.iter().chain(&OTHERS) {
            let path = stubs.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Shell { log: place.join("stubs.log"), stubs, known: BTreeSet::new(), found: 0, run: 0 }
    }

    /// Runs what an answer tells in a folder, and returns what must not be. `names` are the hostile ones of the clone.
    pub(super) fn try_all(&mut self, answer: &str, root: &Path, names: &[OsString]) -> Vec<String> {
        let commands = commands_in(answer);
        self.found += commands.len();
        let mut wrong = Vec::new();
        for command in commands.into_iter().collect::<BTreeSet<_>>() {
            if self.known.contains(&command) {
                continue;
            }
            self.run += 1;
            wrong.extend(self.wrong_with(&command, root, names));
            if command.chars().all(is_plain) {
                self.known.insert(command);
            }
        }
        wrong
    }

    /// Runs a command, and returns what must not be.
    fn wrong_with(&self, command: &str, root: &Path, names: &[OsString]) -> Option<String> {
        if command.contains('\0') {
            return Some(format!("it prints a command with a zero byte: {command:?}"));
        }
        let _ = fs::remove_file(&self.log);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).current_dir(root).env_clear();
        shell.env("PATH", &self.stubs).env("HOME", &self.stubs).env("ZQLOG", &self.log);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = shell.status().unwrap();
        let mark = root.join(MARK);
        if fs::remove_file(mark).is_ok() {
            return Some(format!("it prints a command that runs a name: {command:?}"));
        }
        let calls = calls(&fs::read(&self.log).unwrap_or_default());
        if let Some(other) = calls.iter().find(|call| OTHERS.iter().any(|name| call[0] == *name)) {
            return Some(format!("it prints a command that starts {other:?}: {command:?}"));
        }
        if !command.contains(TOKEN) {
            return None;
        }
        if !status.success() || calls.is_empty() {
            return Some(format!("it prints a command that no shell runs ({status}): {command:?}"));
        }
        let wrong = calls.iter().find_map(|call| wrong_argument(call, names)).or_else(|| unquoted(command))?;
        Some(format!("it prints a command {wrong}: {command:?}"))
    }
}

/// Returns whether a character means itself in every shell, wherever it stands in a command.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || " -_./:@,+%".contains(character)
}

/// Returns the calls that the stubs noted: each a program and its arguments.
fn calls(log: &[u8]) -> Vec<Vec<OsString>> {
    let mut words = log.split(|byte| *byte == 0);
    let mut calls = Vec::new();
    while let Some(count) = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse::<usize>().ok()) {
        calls.push(words.by_ref().take(count + 1).map(|word| OsString::from_vec(word.to_vec())).collect());
    }
    calls
}

/// Returns what is wrong with the arguments of a call: a part of a name, a changed name, or one that is an option.
fn wrong_argument(call: &[OsString], names: &[OsString]) -> Option<String> {
    let mut is_behind_options = false;
    for argument in &call[1..] {
        let bytes = argument.as_bytes();
        let has = |part: &[u8]| !part.is_empty() && bytes.windows(part.len()).any(|window| window == part);
        is_behind_options |= argument == "--";
        let shown = argument.to_string_lossy();
        if !has(TOKEN.as_bytes()) {
            continue;
        }
        if !names.iter().any(|name| has(name.as_bytes())) {
            return Some(format!("with {shown:?}, which is nobody's name"));
        }
        if bytes.starts_with(b"-") && !is_behind_options && names.iter().any(|name| name == OsStr::from_bytes(bytes)) {
            return Some(format!("in which the name {shown:?} is an option"));
        }
    }
    None
}

/// Returns a complaint if a command with a hostile name has characters on which some shell or a terminal acts: zsh on `=`
/// at the beginning of a word, bash on `!` also in double quotes, others on more.
fn unquoted(command: &str) -> Option<String> {
    let (mut quote, mut is_first) = (None, true);
    for character in command.chars() {
        let is_blank = character == ' ' && quote.is_none();
        let is_harmless = match (quote, character) {
            (_, control) if control.is_control() => false,
            (None, '\'' | '"') => {
                quote = Some(character);
                true
            }
            (Some(open), _) if open == character => {
                quote = None;
                true
            }
            (Some('\''), _) => true,
            (Some(_), _) => !"$`\\!".contains(character),
            (None, '=') => !is_first,
            (None, _) => is_plain(character),
        };
        if !is_harmless {
            return Some(format!("with {character:?}, on which a shell or a terminal acts"));
        }
        is_first = is_blank;
    }
    None
}
