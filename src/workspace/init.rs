//! Creates a memory: the folders, the template's files and the settings.
//!
//! It decides what a new memory contains; the store creates files and never replaces one.

use std::path::Path;

use include_dir::{Dir, include_dir};
use serde::Serialize;

use crate::error::Result;
use crate::settings;
use crate::store::{CONFIG, Created, Store, make_own_memory, write_file};

/// The file with what git ignores in `.ralph/`.
pub(crate) const IGNORE: &str = ".gitignore";
/// The files of a new memory.
static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/knowledge-template");
/// Names in the template that would have an effect there, and their names in a memory.
const RENAMED: [(&str, &str); 2] = [("gitignore", IGNORE), ("gitattributes", ".gitattributes")];
/// The folders of entries, which git does not keep while they are empty.
const FOLDERS: [&str; 3] = ["knowledge", "journal", "archive"];

/// The result of [`Memory::init`](crate::Memory::init).
///
/// ```
/// use ralph_memory::Memory;
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// let initialised = Memory::init(root)?;
/// assert!(initialised.created.contains(&".ralph/config.toml".to_owned()));
/// assert_eq!(Memory::init(root)?.created, [""; 0], "everything is there already");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Initialised {
    /// The files and folders that were created, relative to the root, in order. Empty when all of them existed.
    pub created: Vec<String>,
    /// The skills that were moved from `.ralph/skills/` to `.claude/skills/`.
    pub skills_moved: Vec<String>,
    /// The skills that stay in `.ralph/skills/`, since `.claude/skills/` already has one of that name.
    pub skills_left: Vec<String>,
}

/// Creates the missing parts of a memory in `root`, and leaves the rest alone.
///
/// # Errors
///
/// [`Error::OutsideRoot`](crate::error::Error::OutsideRoot) if `.ralph` is a link, and
/// [`Error::Io`](crate::error::Error::Io).
pub(crate) fn init(root: &Path) -> Result<Initialised> {
    let store = Store::create_root(root)?;
    let mut done = fill(&store)?;
    if store.make_folder(".claude/skills")? {
        done.created.push(".claude/skills/".to_owned());
    }
    (done.skills_moved, done.skills_left) = store.move_skills()?;
    Ok(done)
}

/// Creates the missing parts of a person's own memory in `folder`, which no other user can read from then on. It has no
/// skills: it belongs to no project.
///
/// # Errors
///
/// Those of [`init`] and [`make_own_memory`].
pub(crate) fn init_own(folder: &Path) -> Result<Initialised> {
    make_own_memory(folder)?;
    fill(&Store::create_root(folder)?)
}

/// Creates what is missing in `.ralph/`.
fn fill(store: &Store) -> Result<Initialised> {
    let mut done = Initialised::default();
    for folder in FOLDERS {
        if store.make_folder(&format!(".ralph/{folder}"))? {
            done.created.push(format!(".ralph/{folder}/"));
        }
    }
    let mut write = |name: &str, bytes: &[u8]| -> Result<()> {
        let path = format!(".ralph/{name}");
        if store.init_file(&path, bytes)? == Created::Made {
            done.created.push(path);
        }
        Ok(())
    };
    for file in TEMPLATE.files() {
        let name = file.path().to_str().unwrap_or_default();
        let name = RENAMED.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
        write(name, file.contents())?;
    }
    write(CONFIG, settings::template().as_bytes())?;
    Ok(done)
}

/// Adds the line `*` to the memory's `.gitignore`, where it is not the last rule. What a person wrote there stays.
///
/// # Errors
///
/// Those of [`write_file`], and [`Error::Io`](crate::error::Error::Io) if the file cannot be read.
pub(crate) fn hide_from_git(root: &Path) -> Result<()> {
    let store = Store::open(root)?;
    let path = store.memory().join(IGNORE);
    let mut rules = store.read(IGNORE).map_err(|unreadable| unreadable.into_error(&path))?.bytes;
    let is_rule = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    if rules.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).rfind(is_rule) == Some(b"*") {
        return Ok(());
    }
    if rules.last().is_some_and(|last| *last != b'\n') {
        rules.push(b'\n');
    }
    rules.extend_from_slice(b"# This memory is its user's own.\n*\n");
    write_file(&path, &rules)
}
