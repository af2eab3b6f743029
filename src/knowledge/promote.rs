//! Promoting: an entry gets another scope, such as the project instead of one task.

use serde::Serialize;

use super::write::{edited, write_entry};
use crate::catalog::Catalog;
use crate::entry::edit::{self, Change};
use crate::entry::knowledge::timestamp;
use crate::entry::path::EntryPath;
use crate::entry::{Id, Kind, Scope};
use crate::error::{Error, Problem, Result};
use crate::store::Lock;
use crate::workspace::{Workspace, live_entry};

/// The result of [`Memory::promote`](crate::Memory::promote).
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Scope};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let scope = Scope::Task("t-9".into());
/// let id = memory.add(&Knowledge { scope, ..Knowledge::new("Seed the RNG", ["tests"], "With 42.") })?.id;
/// let promoted = memory.promote(&id, &Scope::Project)?;
/// assert_eq!((promoted.from, promoted.to), (Scope::Task("t-9".into()), Scope::Project));
/// assert!(promoted.changed && !memory.promote(&id, &Scope::Project)?.changed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Promoted {
    /// The entry.
    pub id: Id,
    /// Its file.
    pub path: EntryPath,
    /// Its scope before.
    pub from: Scope,
    /// Its scope now.
    pub to: Scope,
    /// Whether anything had to be written.
    pub changed: bool,
    /// Problems on the way that a person should see.
    pub problems: Vec<Problem>,
}

/// Gives an entry another scope.
pub(crate) fn promote(workspace: &Workspace, id: &Id, scope: &Scope) -> Result<Promoted> {
    if let Scope::Unknown(scope) = scope {
        let reason = format!("`{scope}` is not one of `project`, `feature:NAME`, `section:ID` and `task:ID`");
        return Err(Error::invalid("scope", reason));
    }
    workspace.refuse_secrets_in("scope", &scope.to_string())?;
    if id.kind() != Kind::Knowledge {
        return Err(Error::invalid("ID", "a journal entry never changes; name a knowledge entry"));
    }
    let lock = workspace.lock_entries()?;
    let (mut promoted, git_problem) =
        write_entry(workspace, &lock, |catalog| set_scope(workspace, &lock, catalog, id, scope))?;
    promoted.problems.extend(git_problem);
    Ok(promoted)
}

/// Also returns the path that was written; `None` if the entry has the scope already.
fn set_scope(
    workspace: &Workspace,
    lock: &Lock,
    catalog: &Catalog,
    id: &Id,
    scope: &Scope,
) -> Result<(Promoted, Option<EntryPath>)> {
    let (row, id) = live_entry(workspace, catalog, id)?;
    let path = catalog.path(row);
    let (text, entry) = workspace.read_entry(&path)?;
    let mut promoted = Promoted {
        id,
        path: EntryPath::new(&path),
        from: entry.head.scope,
        to: scope.clone(),
        changed: false,
        problems: Vec::new(),
    };
    if promoted.from == *scope {
        return Ok((promoted, None));
    }
    let scope = match scope {
        Scope::Project => Change::Remove("scope"),
        scope => Change::Set("scope", scope.to_string().into()),
    };
    let updated = Change::Set(edit::updated_key(&text), timestamp(workspace.now()).into());
    let edited = edited(&path, &text, &[scope, updated], false)?;
    promoted.problems = workspace.replace(lock, &path, &text, &edited)?;
    promoted.changed = true;
    let written = promoted.path.clone();
    Ok((promoted, Some(written)))
}
