//! The program on a terminal: the display at any time, and at the end.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Action, Winsize, tcflow, tcsetwinsize};

/// How many columns the terminal has.
const COLUMNS: u16 = 80;

/// How often is read for something to be shown.
const MAX_READS: usize = 500;

/// A terminal with a program on it.
pub(crate) struct Terminal {
    child: Child,
    ours: File,
    /// The name of the program's end.
    name: String,
    /// Everything that came, as it came.
    pub(crate) bytes: Vec<u8>,
    screen: Screen,
}

impl Terminal {
    /// Starts a program whose three files are a new terminal.
    pub(crate) fn start(mut command: Command) -> Terminal {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let name = name.into_string().unwrap();
        let theirs: OwnedFd = File::options().read(true).write(true).open(&name).unwrap().into();
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
        // With the command its end of the terminal is closed, so that reading ends when the program does.
        let child = command.spawn().unwrap();
        drop(command);
        Terminal { child, ours: ours.into(), name, bytes: Vec::new(), screen: Screen::default() }
    }

    /// Reads until a text is shown.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        // A moving line never ends.
        for n_read in 0.. {
            if self.screen.text().contains(text) {
                return;
            }
            assert!(n_read < MAX_READS && self.read(), "never shown: {text}\n{}", self.screen.text());
        }
    }

    /// Types something.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).unwrap();
    }

    /// Pauses its output, as Ctrl-S does.
    pub(crate) fn pause(&self) {
        tcflow(File::options().write(true).open(&self.name).unwrap(), Action::OOff).unwrap();
    }

    /// Returns how the program ended, whatever it still had to show.
    pub(crate) fn ended(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads to the end; returns the exit status, the display then, and all output.
    pub(crate) fn end(mut self) -> (ExitStatus, String, String) {
        while self.read() {}
        let bytes = String::from_utf8(self.bytes).unwrap();
        (self.child.wait().unwrap(), self.screen.text(), bytes)
    }

    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        // Linux says that it failed, where others say that it is the end.
        let n_read = self.ours.read(&mut buffer).unwrap_or(0);
        self.bytes.extend(&buffer[..n_read]);
        self.screen.take(&buffer[..n_read]);
        n_read > 0
    }
}

/// What a terminal shows that has any number of rows.
#[derive(Default)]
struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// What came of a sequence that is not complete yet.
    pending: Vec<u8>,
}

impl Screen {
    fn take(&mut self, bytes: &[u8]) {
        self.pending.extend(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = match std::str::from_utf8(&pending) {
            Ok(text) => text,
            Err(error) => {
                pending[error.valid_up_to()..].clone_into(&mut self.pending);
                std::str::from_utf8(&pending[..error.valid_up_to()]).unwrap()
            }
        };
        while let Some(character) = rest.chars().next() {
            let mut length = character.len_utf8();
            match character {
                '\r' => self.column = 0,
                '\n' => self.row += 1,
                '\u{1b}' => {
                    let Some(end) = rest.find(|last: char| last.is_ascii_alphabetic()) else {
                        self.pending = [rest.as_bytes(), &self.pending].concat();
                        return;
                    };
                    self.act(&rest[1..=end]);
                    length = end + 1;
                }
                _ => self.put(character),
            }
            rest = &rest[length..];
        }
    }

    fn act(&mut self, sequence: &str) {
        let (arguments, act) = sequence.split_at(sequence.len() - 1);
        let number = arguments.trim_start_matches('[').parse().unwrap_or(1);
        match act {
            "A" => self.row = self.row.saturating_sub(number),
            "B" => self.row += number,
            "K" => {
                let from = if arguments == "[2" { 0 } else { self.column };
                self.row().truncate(from);
            }
            "m" => {}
            _ => panic!("a sequence that no terminal here knows: {sequence}"),
        }
    }

    fn put(&mut self, character: char) {
        assert!(!character.is_control(), "{character:?}");
        let width = if character >= '\u{1100}' && !('\u{2000}'..'\u{2e80}').contains(&character) { 2 } else { 1 };
        if self.column + width > usize::from(COLUMNS) {
            (self.row, self.column) = (self.row + 1, 0);
        }
        let column = self.column;
        let row = self.row();
        row.resize(row.len().max(column + width), ' ');
        row[column] = character;
        if width == 2 {
            row[column + 1] = '\0';
        }
        self.column += width;
    }

    fn row(&mut self) -> &mut Vec<char> {
        self.rows.resize(self.rows.len().max(self.row + 1), Vec::new());
        &mut self.rows[self.row]
    }

    /// Returns the display, without trailing spaces and trailing empty lines.
    fn text(&self) -> String {
        let line = |row: &Vec<char>| row.iter().filter(|character| **character != '\0').collect::<String>();
        let lines: Vec<String> = self.rows.iter().map(|row| line(row).trim_end().to_owned()).collect();
        lines.join("\n").trim_end().to_owned()
    }
}
