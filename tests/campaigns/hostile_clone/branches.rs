//! Two branches that both retitled an entry, or both added one of the same title, merged by git: whatever the merge
//! driver does, and also where there is none, no word of either branch is lost.
//!
//! What is in no commit after the merge, `git clean` removes and no other clone gets. It counts as kept only if the merge
//! failed and said where it is.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::names;
use crate::program::NOW;
use crate::random::Random;

/// How git is told of the merge driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Driver {
    /// It is registered, and a program of its name is in `PATH`.
    Found,
    /// It is registered, and git's `PATH` does not have it.
    NotInPath,
    /// It is registered by a program that is gone.
    Gone,
    /// Nobody has registered it.
    Unregistered,
}

const DRIVERS: [Driver; 4] = [Driver::Found, Driver::NotInPath, Driver::Gone, Driver::Unregistered];

/// What both branches do to the same entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Each gives it a title of its own.
    TwoTitles,
    /// Each gives it a title of its own, and both titles lead to the same file.
    TwoTitlesOneFile,
    /// Both give it the same title.
    OneTitle,
    /// Both add an entry of the same title.
    Added,
    /// One gives it a title, the other changes its text.
    TitleAndText,
    /// Both change its text.
    Texts,
}

const CHANGES: [Change; 6] =
    [Change::TwoTitles, Change::TwoTitlesOneFile, Change::OneTitle, Change::Added, Change::TitleAndText, Change::Texts];

/// The repository, the programs, and a home.
pub(super) struct Merge<'a> {
    pub(super) root: &'a Path,
    pub(super) home: &'a Path,
    /// A folder with the program under its own name.
    pub(super) bin: &'a Path,
    /// A folder for a program that will be gone.
    pub(super) gone: &'a Path,
}

impl Merge<'_> {
    fn prepared(&self, program: impl AsRef<std::ffi::OsStr>, path: &[&Path]) -> Command {
        let mut command = Command::new(program);
        let own = std::env::var_os("PATH").unwrap();
        let folders = path.iter().map(|folder| (*folder).to_owned()).chain(std::env::split_paths(&own));
        command.env_clear().env("PATH", std::env::join_paths(folders).unwrap()).env("HOME", self.home);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.current_dir(self.root);
        command
    }

    fn git(&self, path: &[&Path], arguments: &[&str]) -> Output {
        let settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"];
        self.prepared("git", path).args(settings).args(arguments).output().unwrap()
    }

    fn must(&self, arguments: &[&str]) {
        let done = self.git(&[], arguments);
        assert!(done.status.success(), "{arguments:?}: {}", text(&done));
    }

    fn program(&self, folder: &Path, arguments: &[&str]) {
        let done =
            self.prepared(folder.join("ralph-memory"), &[]).args(["--now", NOW]).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", text(&done));
    }

    /// Makes a branch's change, which says `word` twice: in a text, and as a tag.
    fn change(&self, what: Change, is_ours: bool, title: &str, word: &str) {
        let add = |path: &Path| {
            let old = fs::read_to_string(path).unwrap();
            fs::write(path, format!("{}\n\n{word} it is.\n", old.trim_end())).unwrap();
        };
        let entry = self.root.join(".ralph/knowledge/note-3.md");
        match what {
            Change::Added => {
                self.program(self.bin, &["add", title, "--tags", word, "--body", &format!("{word} it is.")]);
            }
            Change::TitleAndText if !is_ours => add(&entry),
            Change::Texts => add(&entry),
            Change::TwoTitles | Change::TwoTitlesOneFile | Change::OneTitle | Change::TitleAndText => {
                add(&entry);
                self.program(self.bin, &["edit", "note-3", "--title", title]);
            }
        }
        self.must(&["add", "--all", "--", ".ralph"]);
        self.must(&["commit", "--quiet", "--message", word]);
    }

    /// Makes both branches, merges them, and returns how that was done, whether a word is lost, and which. Each kind of
    /// change meets each kind of driver before one pair comes again.
    pub(super) fn run(&self, number: usize, random: &mut Random) -> (String, Option<String>) {
        const OURS: &str = "zqours";
        const THEIRS: &str = "zqtheirs";
        let driver = DRIVERS[number / CHANGES.len() % DRIVERS.len()];
        let what = CHANGES[number % CHANGES.len()];
        let how = format!("{what:?}, driver {driver:?}");
        match driver {
            Driver::Found | Driver::NotInPath => self.program(self.bin, &["check", "--register-merge-driver"]),
            Driver::Gone => self.program(self.gone, &["check", "--register-merge-driver"]),
            Driver::Unregistered => {}
        }
        if driver == Driver::Gone {
            fs::remove_file(self.gone.join("ralph-memory")).unwrap();
        }
        // The program takes no invisible characters in titles.
        let visible = |character: char| if matches!(character, ' '..='~') { character } else { ' ' };
        let titles = ["One", "Another"]
            .map(|start| format!("{start} {}", names::hostile(random).chars().map(visible).collect::<String>().trim()));
        let their_title = match what {
            Change::TwoTitles => titles[1].clone(),
            Change::TwoTitlesOneFile => format!("{}!", titles[0].to_uppercase()),
            _ => titles[0].clone(),
        };
        self.must(&["add", "--all", "--", ".ralph"]);
        self.must(&["commit", "--quiet", "--allow-empty", "--message", "base"]);
        self.must(&["checkout", "--quiet", "-b", "theirs"]);
        self.change(what, false, &their_title, THEIRS);
        self.must(&["checkout", "--quiet", "-"]);
        self.change(what, true, &titles[0], OURS);
        let path: &[&Path] = if driver == Driver::Found { &[self.bin] } else { &[] };
        let merged = self.git(path, &["merge", "--no-edit", "theirs"]);
        let is_clean = merged.status.success();
        if !is_clean {
            // What somebody does in a hurry.
            let committed = self.git(path, &["commit", "--quiet", "--all", "--no-edit"]);
            if !committed.status.success() {
                return (how, None);
            }
        }
        let untracked = self.git(&[], &["ls-files", "--others", "--exclude-standard", "-z", "--", ".ralph"]);
        let untracked = String::from_utf8_lossy(&untracked.stdout).into_owned();
        let said = text(&merged);
        let is_kept = |word: &str| {
            let is_committed = self.git(&[], &["grep", "--quiet", "--fixed-strings", word, "HEAD", "--", ".ralph"]);
            let is_told = |path: &str| {
                let has = |text: String| text.contains(word);
                said.contains(path) && fs::read_to_string(self.root.join(path)).is_ok_and(has)
            };
            is_committed.status.success() || !is_clean && untracked.split_terminator('\0').any(is_told)
        };
        let lost = [format!("{OURS} it is"), format!("{THEIRS} it is")].into_iter().find(|word| !is_kept(word));
        let ended = if is_clean { "cleanly" } else { "in a conflict, and then by `git commit --all`" };
        let told = lost.map(|word| format!("{how}: merged {ended}, and `{word}` is in no commit: {said}"));
        (how, told)
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
