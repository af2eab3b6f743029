//! A memory that is open: [`Memory`], with its settings and options.
//!
//! [`Memory`] layers the settings when it is opened; only the root and the settings are kept between calls. Each call is a
//! method in the module that answers it, and reads the files as they are.

mod state_folders;
mod vectors;
pub(crate) mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};

use crate::entry::Author;
use crate::entry::path::MEMORY_FOLDER;
use crate::error::{Error, Problem, Result};
use crate::git::{Lookup, WorkTree};
use crate::search::semantic::SemanticMemory;
use crate::settings::{Origin, Settings};
use crate::store::{OperationScope, Store, Trust, check_own_memory};
use crate::text::secret;
use crate::workspace::{self, Activity, Initialised, LOCK_TIMEOUT, Rebuilt, Workspace, read_config};

pub(crate) use self::state_folders::NAME;
pub use self::state_folders::StateFolders;

/// The memory in one `.ralph/` folder.
///
/// ```
/// use ralph_memory::{Knowledge, Memory, Query};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// Memory::init(root)?;
/// let memory = Memory::open(root)?;
/// memory.add(&Knowledge::new("Cargo bench requires nightly", ["cargo", "nightly"], "Use `cargo +nightly bench`."))?;
///
/// let found = memory.search(&Query { text: "run the benches".into(), ..Query::default() }, 10)?;
/// assert_eq!(found.hits[0].entry.title, "Cargo bench requires nightly");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Memory {
    pub(crate) workspace: Workspace,
    pub(crate) semantic: SemanticMemory,
    pub(crate) state_folders: StateFolders,
}

impl Memory {
    /// Creates a memory in `root`: the `.ralph/` folder with its README, settings and git files, and the
    /// `.claude/skills/` folder. What already exists is left alone.
    ///
    /// # Errors
    ///
    /// [`Error::OutsideRoot`] where `.ralph` or a folder in it is a link, and [`Error::Io`] where `root` does not exist, a
    /// file is in the way of a folder, or nothing can be written.
    pub fn init(root: &Path) -> Result<Initialised> {
        workspace::init(root)
    }

    /// Does what [`Memory::init`] does, and adds the line `*` to `.ralph/.gitignore`, so that git ignores all of the memory: the
    /// file of the deepest folder decides, whatever those of the project say. Without git, the line is there for later.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::init`]; [`Error::Unusable`] where git tracks files of the memory, which it would not ignore, and
    /// [`Error::Git`] where it does not say. Then nothing is created.
    pub fn init_private(root: &Path) -> Result<Initialised> {
        match WorkTree::find(&root.join(MEMORY_FOLDER)) {
            Lookup::Found(tree) if !tree.tracked(&[""])?.is_empty() => {
                let message = "git tracks files of `.ralph`, so this memory is shared already".to_owned();
                let hint = "`ralph-memory init --own` makes a memory of your own, which is searched in every project";
                return Err(Error::unusable(message, hint));
            }
            Lookup::Refused(reason) => return Err(Error::Git { command: "rev-parse".to_owned(), reason }),
            Lookup::Found(_) | Lookup::NoGit | Lookup::NoWorkTree => {}
        }
        let initialised = workspace::init(root)?;
        workspace::hide_from_git(root)?;
        Ok(initialised)
    }

    /// Creates the missing parts of a person's own memory in `folder`, with mode 0700.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::init`], and of [`Memory::check_own`] if there is something of that name.
    #[doc(hidden)]
    pub fn init_own(folder: &Path) -> Result<Initialised> {
        workspace::init_own(folder)
    }

    /// Fails if a person's own memory in `folder` could be another user's.
    ///
    /// # Errors
    ///
    /// [`Error::Unusable`] if the folder is a link or belongs to another user, and [`Error::Io`].
    #[doc(hidden)]
    pub fn check_own(folder: &Path) -> Result<()> {
        check_own_memory(folder)
    }

    /// Returns whether git ignores the memory in `root`.
    pub fn is_private(root: &Path) -> bool {
        let Lookup::Found(tree) = WorkTree::find(&root.join(MEMORY_FOLDER)) else { return false };
        tree.ignored(&["config.toml"]).is_ok_and(|ignored| !ignored.is_empty())
    }

    /// Returns whether `folder` itself holds a memory, whoever owns it.
    pub fn is_in(folder: &Path) -> bool {
        Store::open(folder).is_ok()
    }

    /// Returns the nearest folder above `folder` that holds a memory, whoever owns it: commands in `folder` use that
    /// one as long as it has none of its own.
    pub fn above(folder: &Path) -> Option<PathBuf> {
        Store::above(folder)
    }

    /// Opens the memory in `root`, the folder that holds `.ralph/`, with the settings of its
    /// `config.toml`.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`] where there is none, [`Error::OutsideRoot`] where `.ralph` is a link, [`Error::Settings`] where a
    /// setting has no valid value, [`Error::NewerFormat`] where a newer program made the memory, and [`Error::Io`] where
    /// the settings cannot be read.
    pub fn open(root: &Path) -> Result<Memory> {
        Memory::with_settings(Store::open(root)?, Settings::default(), &[])
    }

    /// Opens the memory of the nearest folder upward from `start` that has one.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::open`], and [`Error::ForeignOwner`] where another user
    /// owns `.ralph` or the folder that holds it: open it by its name, or list the folder in the setting
    /// `safe.directories` and use [`Memory::open_for_user`]. Under `sudo`, what belongs to the user who called is
    /// accepted as well.
    pub fn discover(start: &Path) -> Result<Memory> {
        let settings = Settings::default();
        Memory::with_settings(discover(start, &settings)?, settings, &[])
    }

    /// Does what [`Memory::discover`] does, or, with `root`, what [`Memory::open`] does, with
    /// settings that begin from `user` (the text and the path of the user's own file) and end with
    /// the environment `variables`.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::open`], or of [`Memory::discover`] without `root`. [`Error::Settings`] also names a value of the
    /// user's own file or of a variable.
    pub fn open_for_user<'a>(
        root: Option<&Path>,
        start: &Path,
        user: Option<(&str, &str)>,
        variables: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Memory> {
        let variables: Vec<_> = variables.collect();
        let mut settings = Settings::default();
        let problems =
            user.map(|(text, path)| settings.read_file(text, path, Origin::User)).transpose()?.unwrap_or_default();
        let store = if let Some(root) = root {
            Store::open(root).map_err(|error| match error {
                Error::NoMemory { start, .. } => Error::NoMemory { above: Store::above(&start), start },
                error => error,
            })?
        } else {
            // The project's file is read only when its owner is trusted, and has no say in that.
            let mut own = settings.clone();
            own.read_env(variables.iter().copied())?;
            discover(start, &own)?
        };
        let mut memory = Memory::with_settings(store, settings, &variables)?;
        memory.workspace.settings_problems.extend(problems);
        Ok(memory)
    }

    /// Opens a memory with the default settings instead of its own, for what must not wait until these can be read.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::open`] and [`Memory::discover`], other than [`Error::Settings`].
    pub fn open_without_settings(root: Option<&Path>, start: &Path) -> Result<Memory> {
        let settings = Settings::default();
        let store = root.map_or_else(|| discover(start, &settings), Store::open)?;
        Ok(Memory::of(store, settings, Vec::new()))
    }

    fn with_settings(store: Store, mut settings: Settings, variables: &[(&str, &str)]) -> Result<Memory> {
        let mut problems = read_config(&store, &mut settings)?;
        problems.extend(settings.read_env(variables.iter().copied())?);
        Ok(Memory::of(store, settings, problems))
    }

    fn of(mut store: Store, settings: Settings, problems: Vec<Problem>) -> Memory {
        if !settings.git_common {
            store.leave_copies();
        }
        let semantic = SemanticMemory::new(&settings, store.root());
        let workspace = Workspace {
            store,
            settings,
            settings_problems: problems,
            clock: Arc::new(SystemTime::now),
            observer: None,
            own: None,
            lock_timeout: LOCK_TIMEOUT,
            is_hurried: false,
            unchanged: None,
            feature: None,
        };
        Memory { workspace, semantic, state_folders: StateFolders::default() }
    }

    /// Lets the memory take the time from `clock`, for results that must be the same each time.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Memory {
        self.workspace.clock = Arc::new(clock);
        self
    }

    /// Lets the memory examine its files once, for a process that gives one answer and ends: what others change
    /// meanwhile is not in the answer.
    #[must_use]
    pub fn for_one_answer(mut self) -> Memory {
        self.workspace.answer_once();
        self
    }

    /// Lets a writing call wait this long for another one, instead of 30 seconds, before it fails with [`Error::Locked`].
    #[must_use]
    pub fn with_lock_timeout(mut self, timeout: Duration) -> Memory {
        self.workspace.lock_timeout = timeout;
        self
    }

    /// Reads a person's own memory in this folder beside this one, if it exists, as a layer named `own`.
    #[doc(hidden)]
    #[must_use]
    pub fn beside_own(mut self, folder: Option<PathBuf>) -> Memory {
        self.workspace.own = folder.filter(|folder| folder.symlink_metadata().is_ok());
        self
    }

    /// Sends no text to a server, whatever the settings say.
    #[doc(hidden)]
    #[must_use]
    pub fn without_servers(mut self) -> Memory {
        self.workspace.settings.qdrant.url.clear();
        self.workspace.settings.ollama.url.clear();
        self.semantic = SemanticMemory::new(&self.workspace.settings, self.workspace.root());
        self
    }

    /// Takes these models instead of those of the settings, the cheapest first, where there are any.
    #[must_use]
    pub fn with_models(mut self, models: Vec<String>) -> Memory {
        if !models.is_empty() {
            self.workspace.settings.models = models;
        }
        self
    }

    /// Lets [`Memory::finish`] keep each attempt in one of these folders until it is in the journal: see
    /// [`StateFolders`]. Without this, an attempt that cannot be written is lost unless the caller still has it.
    ///
    /// The folders have a random key, too, which is made when it is first needed, and seals what is kept in `state/` and
    /// `cache/`. Without it, other processes take the iterations, sessions and changes that this one writes for another
    /// user's, and do not use its cache.
    #[must_use]
    pub fn keeping_in(mut self, folders: StateFolders) -> Memory {
        self.workspace.store.keep_key_in(folders.0.clone());
        self.state_folders = folders;
        self
    }

    /// Makes what follows an act of this author, who decides what may be done to whose text. Without this, it is a person.
    #[must_use]
    pub fn by(mut self, author: Author) -> Memory {
        self.workspace.store.author = author;
        self
    }

    /// Makes everything that this thread changes one operation, until the result is dropped. Without this, each call
    /// that changes something is an operation of its own.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// # let memory = Memory::open(root)?;
    /// let operation = memory.operation("my-importer");
    /// for port in [80, 443] {
    ///     memory.add(&Knowledge::new(format!("Port {port}"), ["ports"], "It is open."))?;
    /// }
    /// drop(operation);
    /// let undone = memory.undo(None, false)?;
    /// assert_eq!((undone.operation.command.as_str(), undone.files.len()), ("my-importer", 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn operation(&self, command: &str) -> OperationScope {
        self.workspace.store.operation(command, self.workspace.now())
    }

    /// Returns the folder that holds `.ralph/`.
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// Returns the time by the clock of this memory.
    pub fn now(&self) -> DateTime<Utc> {
        self.workspace.now()
    }

    /// Returns the settings in force.
    pub fn settings(&self) -> &Settings {
        &self.workspace.settings
    }

    /// Returns the problems of the settings files, such as unknown keys, which are no errors.
    pub fn settings_problems(&self) -> &[Problem] {
        &self.workspace.settings_problems
    }

    /// Tells `observer` what calls are doing, as it happens: work that may take a while begins, advances entry by
    /// entry, and ends. Pieces of work are nested, and each one that begins also ends, even if the call fails or
    /// panics.
    ///
    /// The observer is called in the middle of the work, so it should be quick, and must not call this memory.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use ralph_memory::Memory;
    /// use ralph_memory::memory::{Step, Work};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let memory = Memory::open(root)?.with_observer({
    ///     let seen = Arc::clone(&seen);
    ///     move |activity| seen.lock().unwrap().push((activity.work, activity.step))
    /// });
    /// memory.update_index()?;
    /// assert!(seen.lock().unwrap().contains(&(Work::Indexing, Step::Began)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_observer(mut self, observer: impl Fn(Activity) + Send + Sync + 'static) -> Memory {
        self.workspace.observer = Some(Box::new(observer));
        self
    }

    /// Leaves out of every answer what belongs to another feature than this one: knowledge and attempts of it, what it
    /// scopes, and whatever they count for. What belongs to no feature stays. Writes are not limited, but they take no name
    /// and no number that another feature has.
    ///
    /// ```
    /// use ralph_memory::{Knowledge, Memory, Query};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # Memory::init(root)?;
    /// let memory = Memory::open(root)?;
    /// for feature in ["login", "billing"] {
    ///     let fact = Knowledge::new(format!("Retries of {feature}"), ["retries"], "Three.");
    ///     memory.add(&Knowledge { feature: Some(feature.into()), ..fact })?;
    /// }
    /// let memory = memory.of_feature("login");
    /// let found = memory.search(&Query { text: "retries".into(), ..Query::default() }, 5)?;
    /// assert_eq!(found.hits.iter().map(|hit| hit.entry.title.as_str()).collect::<Vec<_>>(), ["Retries of login"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of_feature(mut self, feature: &str) -> Memory {
        self.workspace.feature = Some(feature.to_owned());
        self
    }

    /// Lets values with these [fingerprints](crate::text::secret::Secret::fingerprint) pass, in addition to those that
    /// the settings allow: they look like secrets but are not.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a text that is not a fingerprint.
    pub fn allow_secrets(mut self, fingerprints: &[String]) -> Result<Memory> {
        for fingerprint in fingerprints {
            if !secret::is_fingerprint(fingerprint) {
                let reason =
                    format!("`{fingerprint}` is not eight hexadecimal digits; copy the one that the refusal shows");
                return Err(Error::invalid("fingerprint", reason));
            }
            self.workspace.settings.allowed_secrets.push(fingerprint.clone());
        }
        Ok(self)
    }

    /// Rebuilds the index from the files, and the catalog with it.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process keeps writing the index, and [`Error::Io`] or [`Error::Index`] where it
    /// cannot be written.
    pub fn rebuild_index(&self) -> Result<Rebuilt> {
        self.workspace.write_index(true)
    }

    /// Brings the index up to date with the files, so that the next call has less to read.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::rebuild_index`].
    pub fn update_index(&self) -> Result<Rebuilt> {
        self.workspace.write_index(false)
    }
}

/// Opens the nearest memory upward, of an owner whom the settings or this process's user make trusted.
fn discover(start: &Path, settings: &Settings) -> Result<Store> {
    Store::discover(start, &Trust::of_process(&settings.safe_directories))
}
