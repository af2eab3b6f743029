//! Makes a memory where there is none.

use std::path::Path;

use include_dir::{Dir, include_dir};
use serde::Serialize;

use super::CONFIG;
use crate::error::Result;
use crate::settings;
use crate::store::{Created, Store};

/// The files that a new memory begins with.
static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/knowledge-template");
/// Names in the template that would be in force there, and what they are called in a memory.
const RENAMED: [(&str, &str); 2] = [("gitignore", ".gitignore"), ("gitattributes", ".gitattributes")];
/// The folders that git would not keep, being empty.
const FOLDERS: [&str; 3] = ["knowledge", "journal", "archive"];

/// What [`Memory::init`](super::Memory::init) did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Initialised {
    /// What was made, relative to the root, in order. Empty when all was there.
    pub created: Vec<String>,
    /// The skills that were moved from `.ralph/skills/` to `.claude/skills/`.
    pub skills_moved: Vec<String>,
    /// The skills that stay where they were, since their name is taken there.
    pub skills_left: Vec<String>,
}

pub(super) fn init(root: &Path) -> Result<Initialised> {
    let store = Store::create_root(root)?;
    let mut done = Initialised::default();
    for folder in FOLDERS {
        if store.make_folder(folder)? {
            done.created.push(format!(".ralph/{folder}/"));
        }
    }
    let mut write = |name: &str, bytes: &[u8]| -> Result<()> {
        if store.init_file(name, bytes)? == Created::Made {
            done.created.push(format!(".ralph/{name}"));
        }
        Ok(())
    };
    for file in TEMPLATE.files() {
        let name = file.path().to_str().unwrap_or_default();
        let name = RENAMED.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| to);
        write(name, file.contents())?;
    }
    write(CONFIG, settings::template().as_bytes())?;
    if store.make_beside(".claude/skills")? {
        done.created.push(".claude/skills/".to_owned());
    }
    let skills = store.move_skills()?;
    (done.skills_moved, done.skills_left) = (skills.moved, skills.left);
    Ok(done)
}
