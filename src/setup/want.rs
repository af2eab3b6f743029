//! What setup writes, and the one comparison of it with a file, which serves setup, `--check`, `--remove` and `--dry-run`.

use serde_json::Value;

use super::block;
use super::entry::{Compared, ConfigEntry, WantState};
use super::format::ConfigFormat;
use super::hook_line::OwnCommand;
use super::lines::{line_end, split_mark};

/// What distinguishes a file that setup has written from another one of the same name.
const OWN_MARKS: [&str; 2] = ["ralph-memory setup writes this file", "\"name\": \"ralph-memory\""];
/// What stands before the program in a script.
const PROGRAM_LINE: &str = "const PROGRAM = ";

/// Something that a file should contain.
#[derive(Debug, Clone)]
pub(super) enum Want {
    /// An entry among those of others.
    Entry(ConfigFormat, ConfigEntry),
    /// The block of instructions.
    Block,
    /// All of the file.
    Whole(Whole),
}

/// A file that is setup's as a whole.
#[derive(Debug, Clone)]
pub(super) struct Whole {
    /// The text, and those that other options write.
    pub(super) texts: Vec<String>,
    /// The program that the file names.
    pub(super) command: Option<OwnCommand>,
}

impl Want {
    /// Compares it with a file.
    pub(super) fn compare(&self, text: Option<&str>) -> Compared {
        match (self, text) {
            (Want::Entry(format, entry), text) => compare(*format, entry, text.unwrap_or_default()),
            (_, None) => Compared::new(WantState::Added),
            (Want::Block, Some(text)) => Compared::new(block::compare(split_mark(text).1)),
            (Want::Whole(whole), Some(text)) => whole.compare(text),
        }
    }

    /// Adds what a file lacks; `None` where a person must decide.
    ///
    /// # Errors
    ///
    /// Why it cannot be added.
    pub(super) fn added(&self, text: Option<&str>, state: &WantState) -> Result<Option<String>, String> {
        let (mark, bare) = split_mark(text.unwrap_or_default());
        let made = match (self, state) {
            (_, WantState::Broken(reason)) => return Err(reason.clone()),
            (Want::Whole(_), WantState::Taken) => return Err("there is another file of this name".to_owned()),
            (_, WantState::Taken) => {
                return Err(format!("{} is there already, and is not what setup writes", self.described(state)));
            }
            (Want::Entry(format, entry), WantState::Added) => format.with(bare, entry)?,
            (Want::Block, WantState::Added) => block::with(bare),
            (Want::Whole(whole), WantState::Added) => whole.texts[0].clone(),
            (Want::Whole(whole), _) if self.is_own_variant(bare) => whole.texts[0].replace('\n', line_end(bare)),
            _ => return Ok(None),
        };
        Ok(Some(format!("{mark}{made}")))
    }

    /// Removes what is as setup writes it; `None` if nothing of the file is left.
    ///
    /// # Errors
    ///
    /// Why it cannot be removed.
    pub(super) fn removed(&self, text: &str) -> Result<Option<String>, String> {
        let (mark, bare) = split_mark(text);
        let left = match self {
            Want::Entry(format, entry) => format.without(bare, entry)?,
            Want::Block => block::without(bare)?,
            Want::Whole(_) => return Ok(None),
        };
        Ok(Some(format!("{mark}{left}")))
    }

    /// Returns whether a file is what setup writes with other options.
    pub(super) fn is_own_variant(&self, text: &str) -> bool {
        matches!(self, Want::Whole(whole) if whole.matching(split_mark(text).1).is_some_and(|at| at > 0))
    }

    /// Returns the entry, unless it only accompanies what connects the client.
    pub(super) fn entry(&self) -> Option<&ConfigEntry> {
        if let Want::Entry(_, entry) = self { Some(entry).filter(|entry| !entry.is_any()) } else { None }
    }

    /// Returns whether it is a server under this program's name.
    pub(super) fn is_server(&self) -> bool {
        self.entry().is_some_and(|entry| entry.command.as_ref().is_some_and(|command| command.hook.is_none()))
    }

    /// Returns whether it is a hook.
    pub(super) fn is_hook(&self) -> bool {
        !self.is_server() && self.entry().is_some_and(|entry| entry.command.is_some())
    }

    /// Returns whether a member of a file only accompanies setup's entries.
    pub(super) fn accompanies(&self, key: &str, value: &Value) -> bool {
        matches!(self, Want::Entry(_, entry) if entry.is_any() && entry.key == Some(key) && entry.value == *value)
    }

    /// Returns what a file lacks without it, in words; empty if that says nothing to a person.
    pub(super) fn described(&self, state: &WantState) -> String {
        let is_changed = *state == WantState::Changed;
        let text = match self {
            Want::Block => "the block of instructions",
            Want::Whole(_) if is_changed => "the current version",
            Want::Whole(_) => "the file",
            Want::Entry(_, entry) => return entry.described(),
        };
        text.to_owned()
    }
}

/// Compares an entry with the text of a file.
fn compare(format: ConfigFormat, entry: &ConfigEntry, text: &str) -> Compared {
    let compared = match format.tree(text, entry) {
        Ok(tree) => entry.compare(&tree),
        Err(reason) => return Compared::new(WantState::Broken(reason)),
    };
    match compared.state {
        WantState::Unchanged if !format.can_remove(text, entry) => Compared { state: WantState::Changed, ..compared },
        _ => compared,
    }
}

impl Whole {
    fn compare(&self, text: &str) -> Compared {
        let program = self.program_in(text).map(|(_, program)| program);
        let state = match self.matching(split_mark(text).1) {
            Some(0) => WantState::Unchanged,
            Some(_) => WantState::Changed,
            None if OWN_MARKS.iter().any(|mark| text.contains(mark)) => WantState::Changed,
            None => WantState::Taken,
        };
        Compared { program, ..Compared::new(state) }
    }

    /// Returns which of its texts this is, but for line ends, which git may have changed in a clone, and the place of the
    /// program.
    fn matching(&self, text: &str) -> Option<usize> {
        let mut text = text.replace("\r\n", "\n");
        if let Some((line, _)) = self.program_in(&text) {
            let own = Value::from(self.command.as_ref()?.text());
            text = text.replacen(&line, &format!("{PROGRAM_LINE}{own}"), 1);
        }
        self.texts.iter().position(|own| *own == text)
    }

    fn program_in(&self, text: &str) -> Option<(String, String)> {
        let line = text.lines().find(|line| line.starts_with(PROGRAM_LINE))?;
        let named: String = serde_json::from_str(&line[PROGRAM_LINE.len()..]).ok()?;
        Some((line.to_owned(), self.command.as_ref()?.program_in(&named)?))
    }
}
