//! Where a client's files are: below the project, or below the user's folders.
//!
//! A link is followed only to a place in the same project, or in the same user's folders, and never into `.git`. So a
//! clone cannot make setup write elsewhere.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::system::posix::slashed;

/// A folder below which a client has files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Base {
    Project,
    Home,
    /// `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    ClaudeHome,
    /// `$CODEX_HOME`, else `~/.codex`.
    CodexHome,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    ConfigHome,
    /// The settings of Claude Code that an administrator manages.
    Managed,
}

/// The folder of the settings of Claude Code that an administrator manages.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode"
} else if cfg!(windows) {
    "C:/Program Files/ClaudeCode"
} else {
    "/etc/claude-code"
};

/// The folders that are given.
#[derive(Debug, Clone)]
pub(super) struct Bases {
    pub(super) project: PathBuf,
    pub(super) home: Option<PathBuf>,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    config: Option<PathBuf>,
    pub(super) managed: PathBuf,
}

/// A file's place: a folder without links, and the path below it, in which nothing that exists is a link.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientPlace {
    pub(super) root: PathBuf,
    pub(super) path: String,
}

impl ClientPlace {
    pub(super) fn full(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    /// Returns the paths of the folders above it, below the root, innermost first.
    pub(super) fn folders(&self) -> impl Iterator<Item = &str> {
        let above = |path: &str| path.rfind('/');
        std::iter::successors(above(&self.path), move |at| above(&self.path[..*at])).map(|at| &self.path[..at])
    }
}

impl Bases {
    /// Takes the user's folders from the environment's variables.
    pub(super) fn new(project: PathBuf, variable: &dyn Fn(&str) -> Option<OsString>) -> Bases {
        let set = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Bases {
            project,
            home: set("HOME"),
            claude: set("CLAUDE_CONFIG_DIR"),
            codex: set("CODEX_HOME"),
            config: set("XDG_CONFIG_HOME"),
            managed: MANAGED.into(),
        }
    }

    /// Returns the folder at which a path of a base begins, or none if it is an unknown home, and the path below it.
    fn start(&self, base: Base, path: &str) -> (Option<&Path>, String) {
        let join = |folder: &str| if path.is_empty() { folder.to_owned() } else { format!("{folder}/{path}") };
        let (named, default) = match base {
            Base::Project => return (Some(&self.project), path.to_owned()),
            Base::Home => return (self.home.as_deref(), path.to_owned()),
            Base::Managed => return (Some(&self.managed), path.to_owned()),
            Base::ClaudeHome => (&self.claude, ".claude"),
            Base::CodexHome => (&self.codex, ".codex"),
            Base::ConfigHome => (&self.config, ".config"),
        };
        match named {
            Some(folder) => (Some(folder), path.to_owned()),
            None => (self.home.as_deref(), join(default)),
        }
    }

    /// Returns the path of a file as it is shown, before links are followed.
    pub(super) fn shown(&self, base: Base, path: &str) -> PathBuf {
        let (folder, path) = self.start(base, path);
        folder.unwrap_or(Path::new("~")).join(path)
    }

    /// Returns a path as it is named: in the project, from its folder.
    pub(super) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.project).unwrap_or(path)
    }

    /// Returns the settings of Claude Code that an administrator manages, in the order in which they are read.
    pub(super) fn managed_settings(&self) -> Vec<String> {
        const PARTS: &str = "managed-settings.d";
        let parts = std::fs::read_dir(self.managed.join(PARTS)).into_iter().flatten().filter_map(Result::ok);
        let names = parts.filter_map(|part| part.file_name().into_string().ok());
        let is_json = |name: &String| Path::new(name).extension().is_some_and(|end| end == "json");
        let is_part = |name: &String| is_json(name) && !name.starts_with('.');
        let mut parts: Vec<String> = names.filter(is_part).map(|name| format!("{PARTS}/{name}")).collect();
        parts.sort();
        ["managed-settings.json".to_owned()].into_iter().chain(parts).collect()
    }

    /// Returns whether there is something at a path.
    pub(super) fn exists(&self, base: Base, path: &str) -> bool {
        let (folder, path) = self.start(base, path);
        folder.is_some_and(|folder| folder.join(path).exists())
    }

    /// Returns the place of a file, with links followed.
    ///
    /// # Errors
    ///
    /// Why the place must not, or cannot, be used.
    pub(super) fn locate(&self, base: Base, path: &str) -> Result<ClientPlace, String> {
        let (folder, path) = self.start(base, path);
        let folder = folder.ok_or("the variable HOME is not set to a full path")?;
        // A home that does not exist is wrong. A folder that a variable names may be created by whoever needs it first.
        let may_be_new = base != Base::Project && self.home.as_deref() != Some(folder);
        let root = if may_be_new { future(folder) } else { folder.canonicalize() };
        let root = root.map_err(|error| format!("the folder `{}` cannot be used: {error}", folder.display()))?;
        let mut allowed = vec![root];
        if base != Base::Project {
            allowed.extend(self.home.as_deref().and_then(|home| home.canonicalize().ok()));
        }
        let (mut root, mut below) = (allowed[0].clone(), PathBuf::new());
        for part in path.split('/') {
            let full = root.join(&below).join(part);
            let is_link = match full.symlink_metadata() {
                Ok(found) => found.is_symlink(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                    return Err("a part of its path is not a folder".to_owned());
                }
                Err(error) => return Err(error.to_string()),
            };
            if !is_link {
                below.push(part);
                continue;
            }
            let target = full.canonicalize().map_err(|error| format!("a link in its path leads nowhere: {error}"))?;
            let inside = allowed.iter().find_map(|root| Some((root, target.strip_prefix(root).ok()?)));
            let (new_root, inside) =
                inside.ok_or_else(|| format!("a link in its path leads outside, to `{}`", target.display()))?;
            (root, below) = (new_root.clone(), inside.to_owned());
        }
        if below.components().any(|part| part == Component::Normal(".git".as_ref())) {
            return Err("a link in its path leads into `.git`".to_owned());
        }
        let path = slashed(&below).ok_or("its path is not UTF-8")?;
        Ok(ClientPlace { root, path })
    }
}

/// Returns the path without links that a folder has, or will have once it is made.
fn future(folder: &Path) -> io::Result<PathBuf> {
    match (folder.symlink_metadata(), folder.parent(), folder.file_name()) {
        (Err(error), Some(above), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(future(above)?.join(name))
        }
        _ => folder.canonicalize(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_inside_only() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (project, home) = (place.join("home/project"), place.join("home"));
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(home.join("dotfiles/codex")).unwrap();
        fs::create_dir_all(place.join("elsewhere")).unwrap();
        fs::write(project.join(".git/config"), "").unwrap();
        fs::write(project.join("REAL.md"), "").unwrap();
        let link = |target: &str, path: &Path| symlink(target, path).unwrap();
        link("REAL.md", &project.join("AGENTS.md"));
        link(".git/config", &project.join("CLAUDE.md"));
        link("../dotfiles", &project.join("home"));
        link("gone", &project.join("dangling"));
        link("dotfiles/codex", &home.join(".codex"));
        link("../elsewhere", &home.join(".claude"));
        let bases = Bases::new(project.clone(), &|name| (name == "HOME").then(|| home.clone().into()));
        let at = |base, path| bases.locate(base, path).map(|found| (found.root, found.path));
        assert_eq!(at(Base::Project, "a/b.json"), Ok((project.clone(), "a/b.json".to_owned())));
        assert_eq!(at(Base::Project, "AGENTS.md"), Ok((project.clone(), "REAL.md".to_owned())));
        assert_eq!(at(Base::CodexHome, "hooks.json"), Ok((home.clone(), "dotfiles/codex/hooks.json".to_owned())));
        let refused = |base, path, reason: &str| {
            let error = at(base, path).unwrap_err();
            assert!(error.contains(reason), "{path}: {error}");
        };
        refused(Base::Project, "CLAUDE.md", "into `.git`");
        refused(Base::Project, "home/x", "leads outside");
        refused(Base::Project, "dangling", "leads nowhere");
        refused(Base::Project, "REAL.md/x", "not a folder");
        refused(Base::ClaudeHome, "settings.json", "leads outside");
        let homeless = Bases::new(project, &|_| None);
        assert!(homeless.locate(Base::Home, "x").unwrap_err().contains("HOME"));
    }
}
