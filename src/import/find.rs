//! Finds the files to import: those that a person named, or those in the usual places.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Component, Path};
use std::rc::Rc;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::places::{self, file_name};
use super::report::{ImportOrigin, ImportReport, reason_of};
use super::request::{AgentFolders, ImportInput, ImportKind, ImportRequest};
use super::session_events::session_of;
use super::sessions::{self, SessionFile};
use crate::error::{Error, IoContext as _, Result};
use crate::git::{Lookup, WorkTree};
use crate::store::{Folder, SourceFiles, Unreadable};
use crate::system::posix::slashed;
use crate::text::{decoded, read_json};
use crate::workspace::Workspace;

/// How much of a JSON Lines file is examined to decide what it has, in bytes.
const MAX_HEAD: u64 = 64 * 1024;
/// Folders whose files are of others, made by a program, or read by tests.
const FOREIGN: [&str; 9] =
    [".git", ".ralph", ".venv", "__fixtures__", "fixtures", "node_modules", "testdata", "third_party", "vendor"];

/// A file to read.
pub(super) struct FoundFile {
    pub(super) folder: Rc<Folder>,
    /// Its path below the folder.
    pub(super) name: String,
    /// Its path in messages: in the project if it is there, else below the folder.
    pub(super) shown: String,
    /// What distinguishes it from the files of every other folder and machine.
    pub(super) key: String,
    pub(super) kind: ImportKind,
    /// Whether a person named it: what is wrong with it is an error of the call.
    pub(super) is_named: bool,
    /// Whether it is among an agent's own files.
    pub(super) is_of_agent: bool,
}

/// What there is to import.
#[derive(Default)]
pub(super) struct Sources {
    pub(super) files: Vec<FoundFile>,
    pub(super) sessions: Vec<SessionFile>,
}

/// Finds what a request asks for.
pub(super) fn find(workspace: &Workspace, request: &ImportRequest, report: &mut ImportReport) -> Result<Sources> {
    let mut finder = Finder { workspace, kind: request.kind, report, found: Sources::default(), seen: BTreeSet::new() };
    match &request.input {
        ImportInput::UsualPlaces(folders) => finder.usual(folders)?,
        ImportInput::Paths(paths) => paths.iter().try_for_each(|path| finder.named(path))?,
        ImportInput::Text(_) => {}
    }
    Ok(finder.found)
}

struct Finder<'a> {
    workspace: &'a Workspace,
    kind: Option<ImportKind>,
    report: &'a mut ImportReport,
    found: Sources,
    seen: BTreeSet<String>,
}

impl Finder<'_> {
    /// Adds a file or a folder that a person named. It may be a link, but not one of the project that leads out of it: a clone
    /// can bring that. Links below it are not followed.
    fn named(&mut self, path: &Path) -> Result<()> {
        let full = path.canonicalize().io("read", path)?;
        let root = self.workspace.root().canonicalize().unwrap_or_else(|_| self.workspace.root().to_owned());
        let in_project = full.strip_prefix(&root).ok();
        let shown = slashed(in_project.or_else(|| full.file_name().map(Path::new)).unwrap_or(&full));
        let invalid = |reason: &str| Error::invalid(format!("`{}`", path.display()), reason.to_owned());
        let shown = shown.ok_or_else(|| invalid("its name is not UTF-8"))?;
        let is_up = path.components().any(|part| part == Component::ParentDir);
        let named = std::path::absolute(path).io("read", path)?;
        if in_project.is_none() && !is_up && (named.starts_with(&root) || named.starts_with(self.workspace.root())) {
            return Err(invalid("a link on the way leads out of this project; name the place where it leads"));
        }
        if full.starts_with(root.join(".ralph")) {
            return Err(invalid("it is in this memory; name a file from elsewhere"));
        }
        // The name of a folder elsewhere reveals who someone is, so no entry has it.
        let mark = |folder: &Path| format!("@{:08x}", xxh3_64(folder.as_os_str().as_encoded_bytes()) >> 32);
        if full.is_dir() {
            let folder = Folder::open(&full).io("open", path)?;
            let wanted = |name: &str| match self.kind {
                None => self.kind_of(name).is_some(),
                Some(ImportKind::Markdown | ImportKind::Rules) => places::is_markdown(name) || places::is_rules(name),
                Some(ImportKind::Jsonl | ImportKind::Transcript) => places::is_lines(name),
            };
            let files = folder.files(&wanted);
            let prefix = in_project.filter(|_| !shown.is_empty()).map(|_| format!("{shown}/")).unwrap_or_default();
            let mark = if in_project.is_some() { String::new() } else { mark(&full) };
            self.below(folder, &prefix, &mark, files, places::is_agent_note(&shown));
            return Ok(());
        }
        let kind = self.kind_of(&shown).ok_or_else(|| {
            invalid("nothing says what it is: add --as markdown, --as rules, --as jsonl or --as transcript")
        })?;
        let parent = full.parent().unwrap_or(&full);
        let folder = Rc::new(Folder::open(parent).io("open", path)?);
        let key = if in_project.is_some() { shown.clone() } else { format!("{shown}{}", mark(parent)) };
        let (name, is_of_agent) = (file_name(&shown).to_owned(), places::is_agent_note(&shown));
        self.add(FoundFile { folder, name, shown, key, kind, is_named: true, is_of_agent });
        Ok(())
    }

    /// Adds the files of the usual places.
    fn usual(&mut self, folders: &AgentFolders) -> Result<()> {
        if self.kind != Some(ImportKind::Transcript) {
            self.in_project()?;
            let memory = folders.claude_project(self.workspace.root()).map(|project| project.join("memory"));
            if let Some((folder, path)) = memory.and_then(|path| Some((Folder::open(&path).ok()?, path))) {
                let mark = format!("@{:08x}", xxh3_64(path.as_os_str().as_encoded_bytes()) >> 32);
                let files = folder.files(&places::is_markdown);
                self.below(folder, "", &mark, files, true);
            }
        }
        if matches!(self.kind, None | Some(ImportKind::Transcript)) {
            self.found.sessions.extend(sessions::usual(self.workspace, folders, self.report));
        }
        Ok(())
    }

    /// Adds those in the project: what git knows or does not ignore, without git those of a bounded walk, and what is in a
    /// usual place of the project itself.
    fn in_project(&mut self) -> Result<()> {
        let root = Folder::open(self.workspace.root()).io("open", self.workspace.root())?;
        let of_git = match WorkTree::find(self.workspace.root()) {
            Lookup::Found(tree) => tree.files().ok(),
            _ => None,
        };
        let mut all = of_git.unwrap_or_else(|| root.files(&places::is_usual));
        let is_own = |path: &String| places::is_usual(path) && !path.split('/').any(|part| FOREIGN.contains(&part));
        let mut paths: BTreeSet<String> = all.paths.drain(..).filter(is_own).collect();
        for place in places::usual() {
            match root.descend(place).map_err(Unreadable::from) {
                Ok(folder) => {
                    let below = folder.files(&|path| places::is_usual(&format!("{place}/{path}")));
                    paths.extend(below.paths.into_iter().map(|path| format!("{place}/{path}")));
                    all.left_out.extend(below.left_out.into_iter().map(|(path, why)| (format!("{place}/{path}"), why)));
                }
                Err(Unreadable::Link) => all.left_out.push((place.to_owned(), reason_of(&Unreadable::Link))),
                Err(_) if root.has(place) => drop(paths.insert(place.to_owned())),
                Err(_) => {}
            }
        }
        all.left_out.retain(|(path, _)| is_own(path));
        all.left_out.sort();
        all.left_out.dedup();
        // Git also lists files that are gone.
        all.paths = paths.into_iter().filter(|path| root.has(path)).collect();
        self.below(root, "", "", all, false);
        Ok(())
    }

    /// Adds the files below a folder.
    fn below(&mut self, folder: Folder, prefix: &str, mark: &str, files: SourceFiles, is_of_agent: bool) {
        for (path, reason) in files.left_out {
            self.report.skip(ImportOrigin::file(format!("{prefix}{path}")), "", reason);
        }
        let folder = Rc::new(folder);
        for name in files.paths {
            let shown = format!("{prefix}{name}");
            let Some(kind) = self.kind_of(&shown) else { continue };
            let (key, folder) = (format!("{shown}{mark}"), Rc::clone(&folder));
            let is_of_agent = is_of_agent || places::is_agent_note(&shown);
            self.add(FoundFile { folder, name, shown, key, kind, is_named: false, is_of_agent });
        }
    }

    fn add(&mut self, file: FoundFile) {
        if !self.seen.insert(file.key.clone()) {
            return;
        }
        let is_session = file.kind == ImportKind::Transcript
            || file.kind == ImportKind::Jsonl && self.kind.is_none() && is_session(&file);
        if !is_session {
            return self.found.files.push(file);
        }
        let FoundFile { folder, name, shown, is_named, .. } = file;
        if is_named || !sessions::is_of_sub_agent(&name) {
            let from = ImportOrigin::file(shown);
            self.found.sessions.push(SessionFile { folder, name, from, is_of_project: true, is_named });
        }
    }

    /// Returns how a file is read; `None` if it is not.
    fn kind_of(&self, path: &str) -> Option<ImportKind> {
        let is_rules = places::is_rules(path);
        let by_name = if is_rules {
            Some(ImportKind::Rules)
        } else if places::is_markdown(path) {
            Some(ImportKind::Markdown)
        } else {
            places::is_lines(path).then_some(ImportKind::Jsonl)
        };
        match self.kind {
            // Clients read their skills themselves.
            None => by_name.filter(|_| file_name(path) != "SKILL.md"),
            Some(ImportKind::Markdown) => Some(if is_rules { ImportKind::Rules } else { ImportKind::Markdown }),
            some => some,
        }
    }
}

/// Returns whether one of the first lines of a file is an event of a session. Some clients begin one with lines that do not
/// name it.
fn is_session(file: &FoundFile) -> bool {
    let mut head = Vec::new();
    // What cannot be read is reported where it is read.
    let _ = file.folder.open_file(&file.name).and_then(|open| open.take(MAX_HEAD).read_to_end(&mut head));
    let head = decoded(&head);
    let mut events = head.lines().take(20).filter_map(|line| read_json::<Value>(line.as_bytes()).ok());
    events.any(|event| session_of(&event).is_some())
}
