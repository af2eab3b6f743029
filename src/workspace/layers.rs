//! Layers: other memories that a person's own settings name, read and never changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CONFIG, Workspace};
use crate::entry::EntrySummary;
use crate::error::{Error, Problem, Result};
use crate::settings::{Origin, Settings};
use crate::store::{Store, Trust, Unreadable};
use crate::system::posix::variable;

/// What `show` takes before an id already.
const RESERVED: [&str; 2] = ["task", "run"];

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
        left_out(&self.folder, error)
    }
}

impl Workspace {
    /// Opens the layers, and reports those that cannot be used. Layers of a layer are not followed.
    pub(crate) fn layers(&self) -> (Vec<Layer>, Vec<Problem>) {
        let real = |root: &Path| root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let (mut layers, mut problems, mut roots) = (Vec::new(), Vec::new(), vec![real(self.root())]);
        for (folder, name) in self.settings.layers.iter().zip(names(&self.settings.layers)) {
            match self.layer(folder, name) {
                Ok(layer) => {
                    let root = real(layer.workspace.root());
                    match roots.iter().position(|known| *known == root) {
                        // The settings are those of all projects, so whoever works in a layer has it in them.
                        Some(0) => {}
                        Some(_) => problems.push(left_out(folder, "it is listed twice")),
                        None => {
                            roots.push(root);
                            layers.push(layer);
                        }
                    }
                }
                Err(error) => problems.push(left_out(folder, why_not(&error))),
            }
        }
        (layers, problems)
    }

    /// Opens the layer with this name; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it cannot be used.
    pub(crate) fn layer_named(&self, name: &str) -> Option<Result<Layer>> {
        let mut named = self.settings.layers.iter().zip(names(&self.settings.layers));
        let (folder, name) = named.find(|(_, known)| known == name)?;
        Some(self.layer(folder, name.clone()).map_err(|error| {
            let reason = why_not(&error);
            Error::invalid(
                "layer",
                format!("`{name}`, which is `{folder}` in your own settings, cannot be read: {reason}"),
            )
        }))
    }

    /// Returns the workspace of an entry: this one, or that of one of these layers.
    pub(crate) fn among<'a>(&'a self, layers: &'a [Layer], entry: &EntrySummary) -> Option<&'a Workspace> {
        let Some(name) = &entry.layer else { return Some(self) };
        layers.iter().find(|layer| layer.name == *name).map(|layer| &layer.workspace)
    }

    fn layer(&self, folder: &str, name: String) -> Result<Layer> {
        let root = self.root().join(at_home(folder));
        // `safe.directories` is held against the real folder, which `..` hides.
        let root = root.canonicalize().unwrap_or(root);
        let mut store = self.store.open_other(&root, &Trust::of_process(&self.settings.safe_directories))?;
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
            unchanged: None,
            feature: self.feature.clone(),
            ..*self
        };
        Ok(Layer { name, folder: folder.to_owned(), workspace })
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
    if matches!(error, Error::NoMemory { .. }) { "it has no `.ralph` folder".to_owned() } else { error.to_string() }
}

fn left_out(folder: &str, reason: impl std::fmt::Display) -> Problem {
    let message = format!("this layer is not searched: {reason}");
    Problem::warning(folder, "layer", message, "correct `layers` in your own settings")
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
