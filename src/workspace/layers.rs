//! Layers: other memories that a person's own settings name, and the person's own memory, read and never changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Workspace;
use crate::entry::EntrySummary;
use crate::error::{Error, Problem, Result};
use crate::git::top_of;
use crate::settings::{Origin, Settings};
use crate::store::{CONFIG, Store, Trust, Unreadable, check_own_memory};
use crate::system::posix::variable;

/// The name of the layer that is the person's own memory.
pub const OWN: &str = "own";
/// What stands before an id already.
const RESERVED: [&str; 3] = ["task", "run", OWN];

/// Another memory that is searched with this one.
pub(crate) struct Layer {
    /// The name of its folder, with a number if another layer has it.
    pub name: String,
    /// Its folder, as the settings name it.
    folder: String,
    pub workspace: Workspace,
}

impl Layer {
    /// Reports that the layer does not answer.
    pub(crate) fn problem(&self, error: &impl std::fmt::Display) -> Problem {
        left_out(&self.name, &self.folder, error)
    }
}

impl Workspace {
    /// Opens the layers, and reports those that cannot be used. Layers of a layer are not followed.
    pub(crate) fn layers(&self) -> (Vec<Layer>, Vec<Problem>) {
        let real = |root: &Path| root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let (mut layers, mut problems, mut roots) = (Vec::new(), Vec::new(), vec![real(self.root())]);
        for (folder, name) in self.named_layers() {
            match self.layer(&folder, &name) {
                Ok(layer) => {
                    let root = real(layer.workspace.root());
                    match roots.iter().position(|known| *known == root) {
                        // The settings are those of all projects, so whoever works in a layer has it in them.
                        Some(0) => {}
                        Some(_) => problems.push(left_out(&name, &folder, "it is listed twice")),
                        None => {
                            roots.push(root);
                            layers.push(layer);
                        }
                    }
                }
                Err(error) => problems.push(left_out(&name, &folder, why_not(&error))),
            }
        }
        (layers, problems)
    }

    /// Returns whether other memories are searched with this one.
    pub(crate) fn has_layers(&self) -> bool {
        self.own.is_some() || !self.settings.layers.is_empty()
    }

    /// Returns the layers: their folders and names. The person's own memory comes first.
    fn named_layers(&self) -> Vec<(String, String)> {
        let folders = &self.settings.layers;
        let own = self.own.iter().map(|own| (own.display().to_string(), OWN.to_owned()));
        own.chain(folders.iter().cloned().zip(names(folders))).collect()
    }

    /// Opens the layer with this name; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it cannot be used.
    pub(crate) fn layer_named(&self, name: &str) -> Option<Result<Layer>> {
        let (folder, name) = self.named_layers().into_iter().find(|(_, known)| known == name)?;
        Some(self.layer(&folder, &name).map_err(|error| {
            let (reason, named) = (why_not(&error), if name == OWN { "" } else { " in your own settings" });
            Error::invalid("layer", format!("`{name}`, which is `{folder}`{named}, cannot be read: {reason}"))
        }))
    }

    /// Returns the workspace of an entry: this one, or that of one of these layers.
    pub(crate) fn among<'a>(&'a self, layers: &'a [Layer], entry: &EntrySummary) -> Option<&'a Workspace> {
        let Some(name) = &entry.layer else { return Some(self) };
        layers.iter().find(|layer| layer.name == *name).map(|layer| &layer.workspace)
    }

    fn layer(&self, folder: &str, name: &str) -> Result<Layer> {
        let own = self.own.as_ref().filter(|_| name == OWN);
        let (root, safe) = if let Some(own) = own {
            check_own_memory(own)?;
            (own.clone(), &[][..])
        } else {
            (self.root().join(at_home(folder)), &self.settings.safe_directories[..])
        };
        // `safe.directories` is held against the real folder, which `..` hides.
        let root = root.canonicalize().unwrap_or(root);
        let here = self.root().canonicalize().unwrap_or_else(|_| self.root().to_owned());
        // What lies in the work tree may have come with it.
        if own.is_some() && root != here && root.starts_with(top_of(&here)) {
            return Err(Error::invalid("layer", "it lies in the work tree of this project"));
        }
        let mut store = self.store.open_other(&root, &Trust::of_process(safe))?;
        let mut settings = Settings::default();
        read_config(&store, &mut settings)?;
        if !settings.git_common {
            store.leave_copies();
        }
        let workspace = Workspace {
            store,
            settings,
            settings_problems: Vec::new(),
            clock: Arc::clone(&self.clock),
            observer: None,
            own: None,
            unchanged: None,
            feature: self.feature.clone(),
            ..*self
        };
        Ok(Layer { name: name.to_owned(), folder: folder.to_owned(), workspace })
    }
}

/// Applies the `config.toml` of a memory to settings, and returns its problems.
pub(crate) fn read_config(store: &Store, settings: &mut Settings) -> Result<Vec<Problem>> {
    let shown = format!(".ralph/{CONFIG}");
    match store.read(CONFIG) {
        Ok(file) => {
            let refused = |_| Error::Settings { place: shown.clone(), reason: "it is not UTF-8".to_owned() };
            let text = String::from_utf8(file.bytes).map_err(refused)?;
            settings.read_file(&text, &shown, Origin::Project)
        }
        Err(Unreadable::Missing) => Ok(Vec::new()),
        Err(unreadable) => Err(unreadable.into_error(store.memory().join(CONFIG))),
    }
}

fn why_not(error: &Error) -> String {
    if matches!(error, Error::NoMemory { .. }) { "it has no memory".to_owned() } else { error.to_string() }
}

fn left_out(name: &str, folder: &str, reason: impl std::fmt::Display) -> Problem {
    let message = format!("this layer is not searched: {reason}");
    let hint = match name {
        OWN => "correct what is there, or name another place for your own memory with XDG_DATA_HOME",
        _ => "correct `layers` in your own settings",
    };
    Problem::warning(folder, "layer", message, hint)
}

/// Returns the path with the user's home for a `~` at its beginning.
fn at_home(folder: &str) -> PathBuf {
    let below = folder.strip_prefix('~').filter(|below| below.is_empty() || below.starts_with('/'));
    let home = below.and_then(|below| Some((variable("HOME")?, below)));
    home.map_or_else(|| folder.into(), |(home, below)| Path::new(&home).join(below.trim_start_matches('/')))
}

/// Returns the names of layers: those of their folders, of letters, digits, `.`, `_` and `-` alone, so that they can stand
/// before an id.
fn names(folders: &[String]) -> Vec<String> {
    let mut taken = RESERVED.map(str::to_owned).to_vec();
    for folder in folders {
        let name =
            at_home(folder).file_name().map_or_else(|| "layer".to_owned(), |name| name.to_string_lossy().into_owned());
        let is_plain = |character: char| character.is_alphanumeric() || "._-".contains(character);
        let name: String = name.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        taken.extend(std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)));
    }
    taken.split_off(RESERVED.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_and_differ() {
        let folders = ["~/notes", "../notes/", "my notes", "/run", ".."].map(str::to_owned);
        assert_eq!(names(&folders), ["notes", "notes-2", "my-notes", "run-2", "layer"]);
    }
}
