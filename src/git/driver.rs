//! The merge driver: the command that git runs to merge entries, registered in the repository's own configuration.

use std::path::{Path, PathBuf};

use super::WorkTree;
use crate::error::{Error, Result};
use crate::system::posix::fs::{Access, access};
use crate::text::printed_command;

/// The name of the driver, which `.gitattributes` gives to entries.
pub(crate) const DRIVER: &str = "ralph-memory";
/// The section of the driver, its keys, and those of its command line and of its description.
const KEYS: &str = r"^merge\.ralph-memory\.";
const COMMAND_KEY: &str = "merge.ralph-memory.driver";
const NAME_KEY: &str = "merge.ralph-memory.name";
/// The command line after the program. Git treats every exit status up to 128 as a conflict, even that of a shell that
/// finds no program. The file is then still our side, and whoever commits it drops the other side. So git's own merge
/// takes over if the program does not exit with 0 or 1. Git quotes the path for the shell itself.
const ARGUMENTS: &str = " merge-driver --marker-size=%L --path=%P %O %A %B; case $? in 0) ;; 1) exit 1 ;; *) \
                         echo 'ralph-memory failed, so git merged this entry as text: \
                         `ralph-memory check --register-merge-driver` registers the program again' >&2; \
                         git merge-file -q --marker-size=%L -L ours -L base -L theirs %A %O %B ;; esac";

/// What git does to merge entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MergeDriver {
    /// No driver is registered: git merges entries as text.
    Absent,
    /// The registered program can be run.
    Works,
    /// The registered program cannot be run: git merges entries as text.
    Fails(PathBuf),
    /// The registered command line is not that of this version. It may lose one side of a merge when it fails.
    Unknown,
}

/// Returns the command line that makes git merge with `program`, which is an absolute path.
///
/// # Errors
///
/// [`Error::Invalid`] if the path is not absolute, or not UTF-8.
pub(crate) fn driver_line(program: &Path) -> Result<String> {
    // A shell parses it, after git has expanded `%`.
    let quoted = |path: &str| format!("'{}'", path.replace('\'', r"'\''").replace('%', "%%"));
    program.to_str().filter(|_| program.is_absolute()).map(|path| quoted(path) + ARGUMENTS).ok_or_else(|| {
        let reason = "the merge driver needs the full path of the program, in UTF-8";
        Error::invalid(format!("`{}`", program.display()), reason)
    })
}

/// Returns the program of a command line, if [`driver_line`] made it.
fn program_of(line: &str) -> Option<PathBuf> {
    let quoted = line.strip_suffix(ARGUMENTS)?.strip_prefix('\'')?.strip_suffix('\'')?;
    let program = PathBuf::from(quoted.replace("%%", "%").replace(r"'\''", "'"));
    driver_line(&program).is_ok_and(|own| own == line).then_some(program)
}

impl WorkTree {
    /// Returns what git does to merge entries. No program is run.
    ///
    /// # Errors
    ///
    /// [`Error::Git`] when `git` does not answer.
    pub(crate) fn merge_driver(&self) -> Result<MergeDriver> {
        let Some(line) = self.merge_driver_line()? else { return Ok(MergeDriver::Absent) };
        let Some(program) = program_of(&line) else { return Ok(MergeDriver::Unknown) };
        let can_run = program.is_file() && access(&program, Access::EXEC_OK).is_ok();
        Ok(if can_run { MergeDriver::Works } else { MergeDriver::Fails(program) })
    }

    /// Registers a command line in the configuration of the repository, which clones do not share. Returns whether it was
    /// registered already.
    ///
    /// # Errors
    ///
    /// Those of [`WorkTree::merge_driver`], and [`Error::Git`] if a value from elsewhere overrides the repository's.
    pub(crate) fn register_merge_driver(&self, line: &str) -> Result<bool> {
        if self.merge_driver_line()?.as_deref() == Some(line) {
            return Ok(true);
        }
        let name = "merges knowledge entries by key and by block";
        // With only a name, git merges nothing.
        for (key, value) in [(COMMAND_KEY, line), (NAME_KEY, name)] {
            self.call(&["config", "--local", "--replace-all", key]).value(value).ask()?;
        }
        if self.merge_driver_line()?.as_deref() == Some(line) {
            return Ok(false);
        }
        let show = printed_command("git config --show-origin KEY", &[("KEY", COMMAND_KEY)]);
        let reason = format!("another file than `.git/config` sets `{COMMAND_KEY}`, too: {show} names it");
        Err(Error::Git { command: "config".to_owned(), reason })
    }

    /// Returns the command line that git runs, which is empty if the driver has none: git then fails, or treats the
    /// merge as a conflict and leaves no markers.
    fn merge_driver_line(&self) -> Result<Option<String>> {
        let all = ["config", "--null", "--get-regexp", KEYS];
        let set = self.call(&all).good(&[0, 1]).ask_all()?;
        let set = String::from_utf8_lossy(&set);
        let mut settings = set.split_terminator('\0').map(|set| set.split_once('\n').unwrap_or((set, "")));
        // The last one wins.
        let line = settings.clone().rfind(|(key, _)| *key == COMMAND_KEY).map_or("", |(_, line)| line);
        Ok(settings.next().map(|_| line.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_a_command_line_is_found_whatever_its_name() {
        for path in ["/bin/x", "/a b/c", "/it's", "/\"$(x)\"", "/100% %P %%O", "/a\\b\n", "/é !&;`"] {
            let line = driver_line(Path::new(path)).unwrap();
            assert_eq!(program_of(&line).as_deref(), Some(Path::new(path)), "{line}");
        }
        for path in ["ralph-memory", "bin/ralph-memory", ""] {
            let error = driver_line(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("the merge driver needs the full path of the program"), "{error}");
        }
        let own = driver_line(Path::new("/bin/x")).unwrap();
        let bare = "ralph-memory merge-driver --marker-size %L --path %P %O %A %B";
        for line in
            [bare, "", "/bin/x", &format!("x; {own}"), &format!("{own};"), &own.replace("/bin/x", "/bin/x' y '")]
        {
            assert_eq!(program_of(line), None, "{line}");
        }
    }
}
