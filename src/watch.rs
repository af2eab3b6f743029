//! Notifications that something changed below some folders, meaning only "look again here".
//!
//! What came of it is for the catalog to find out: systems drop notifications, give them for what a program
//! does itself, and say nothing of files that were in a folder before it was watched. So they set a flag, of which
//! there is one, however many they are; nothing grows while nobody looks. This module knows paths alone.
//!
//! Every folder is watched by itself and none with what is below it: the crate's own way of watching trees stops at
//! the first folder that goes away meanwhile, and leaves its neighbours out in silence (notify 8.2).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, EventKind, Flag, ModifyKind, RemoveKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// How long nothing must have happened before it is looked: an editor saves in several steps.
const QUIET: Duration = Duration::from_millis(200);
/// How long it is waited for that at most: some programs never stop writing.
const LONGEST: Duration = Duration::from_secs(1);
/// How often it is looked where nothing notifies.
const POLL: Duration = Duration::from_secs(1);
/// How often it is looked all the same: systems drop notifications without a word.
pub const RECONCILE: Duration = Duration::from_secs(30);

/// How changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The system says so.
    Native,
    /// Files are looked at every second.
    Poll,
}

/// Why [`Watcher::wait`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Nothing was told, and it is time to look all the same.
    Time,
    /// Something may have changed.
    Look,
    /// The same, and a folder may have come, gone or been replaced by another of its name.
    LookAtFolders,
    /// Somebody wants it to end.
    Stopped,
}

/// What is known of the world since the last look.
#[derive(Debug, Default)]
struct Hints {
    /// When the first and the last of them came.
    span: Option<(Instant, Instant)>,
    folders: bool,
    lost: bool,
    stopped: bool,
}

#[derive(Debug, Default)]
struct Shared {
    hints: Mutex<Hints>,
    changed: Condvar,
}

impl Shared {
    fn hints(&self) -> MutexGuard<'_, Hints> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hint(&self, set: impl FnOnce(&mut Hints)) {
        let now = Instant::now();
        let mut hints = self.hints();
        hints.span = Some((hints.span.map_or(now, |(first, _)| first), now));
        set(&mut hints);
        self.changed.notify_all();
    }
}

/// Ends a [`Watcher::wait`], from wherever it is called.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Shared>);

impl Stopper {
    /// Lets every wait come back at once, this one and all that follow.
    pub fn stop(&self) {
        self.0.hint(|hints| hints.stopped = true);
    }
}

/// Watches folders.
pub struct Watcher {
    shared: Arc<Shared>,
    native: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Folders of which only some names are of interest.
    partly: Vec<(PathBuf, Vec<&'static str>)>,
    trouble: Option<String>,
}

impl Watcher {
    /// Makes one that watches nothing yet. In a folder of `partly`, only these names are of interest.
    ///
    /// Where the system has no notifications, or no more of them, it polls; [`Watcher::trouble`] says why.
    pub fn new(mode: Mode, partly: Vec<(PathBuf, Vec<&'static str>)>) -> Watcher {
        let shared = Arc::<Shared>::default();
        let mut watcher = Watcher { shared, native: None, watched: BTreeSet::new(), partly, trouble: None };
        if mode == Mode::Native {
            watcher.begin();
        }
        watcher
    }

    /// Takes notifications, from nothing.
    fn begin(&mut self) {
        let (shared, partly) = (Arc::clone(&self.shared), self.partly.clone());
        let told = move |told: notify::Result<Event>| tell(&shared, &partly, told);
        // A link may lead out of the project.
        let config = Config::default().with_follow_symlinks(false);
        self.watched.clear();
        match RecommendedWatcher::new(told, config) {
            Ok(native) => self.native = Some(native),
            Err(error) => self.give_up(&error),
        }
    }

    fn give_up(&mut self, error: &notify::Error) {
        let reason = match &error.kind {
            ErrorKind::MaxFilesWatch => "there are no more inotify watches".to_owned(),
            ErrorKind::Io(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
                "there are no more inotify instances, or no more files may be open".to_owned()
            }
            _ => error.to_string(),
        };
        self.trouble = Some(reason);
        self.native = None;
        self.watched.clear();
    }

    /// Returns how changes are noticed.
    pub fn mode(&self) -> Mode {
        if self.native.is_some() { Mode::Native } else { Mode::Poll }
    }

    /// Returns why it polls, where it was to do better; only once.
    pub fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Returns what ends its waits.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Watches these folders and no others, and returns whether one is among them that was not watched before: what
    /// happened in it until now was not told. With `anew` that is said of every folder, since another one may have
    /// its name by now.
    pub fn follow(&mut self, folders: &BTreeSet<PathBuf>, anew: bool) -> bool {
        let Some(native) = &mut self.native else { return false };
        // First, since a folder that was renamed is one and the same watch under both names.
        for gone in self.watched.difference(folders) {
            // The system may have dropped it already.
            let _ = native.unwatch(gone);
        }
        self.watched.retain(|path| folders.contains(path));
        let mut is_any_new = false;
        for folder in folders {
            let is_new = !self.watched.contains(folder);
            if !is_new && !anew {
                continue;
            }
            match native.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.clone());
                    is_any_new |= is_new || anew;
                }
                Err(error) if is_gone(&error) => {
                    self.watched.remove(folder);
                }
                Err(error) => {
                    self.give_up(&error);
                    return true;
                }
            }
        }
        is_any_new
    }

    /// Waits until something may have changed and then all was quiet for a moment, or until it is time to look
    /// anyway. `longest` bounds the latter.
    pub fn wait(&mut self, longest: Duration) -> Woken {
        let begun = Instant::now();
        let until = begun + longest.min(if self.native.is_some() { RECONCILE } else { POLL });
        let shared = Arc::clone(&self.shared);
        let mut hints = shared.hints();
        loop {
            if hints.stopped {
                return Woken::Stopped;
            }
            let now = Instant::now();
            let due = hints
                .span
                .map_or(until, |(first, last)| (last + QUIET).min(first + LONGEST).min(until.max(now + QUIET)));
            if now >= due {
                break;
            }
            hints = shared.changed.wait_timeout(hints, due - now).unwrap_or_else(PoisonError::into_inner).0;
        }
        let Hints { span, folders, lost, .. } = std::mem::take(&mut *hints);
        drop(hints);
        if lost && self.native.is_some() {
            // Whatever was in the queue is gone: nothing that was known of the watches counts any more.
            self.begin();
        }
        match span {
            _ if folders || lost => Woken::LookAtFolders,
            Some(_) => Woken::Look,
            None => Woken::Time,
        }
    }
}

/// Takes a notification.
fn tell(shared: &Shared, partly: &[(PathBuf, Vec<&'static str>)], told: notify::Result<Event>) {
    match told {
        Ok(event) if event.flag() == Some(Flag::Rescan) => shared.hint(|hints| hints.lost = true),
        // Reading is what everybody does, this program first of all.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) if !event.paths.is_empty() && !event.paths.iter().any(|path| is_of_interest(path, partly)) => {}
        Ok(event) => {
            let is_content = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)));
            // What is created or renamed is a file more often than not, and then has its ending.
            let is_file = event.paths.iter().all(|path| path.extension().is_some_and(|extension| extension == "md"));
            let is_folder =
                matches!(event.kind, EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder));
            shared.hint(|hints| hints.folders |= is_folder || !is_content && !is_file);
        }
        Err(_) => shared.hint(|hints| hints.lost = true),
    }
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
        _ => false,
    }
}

/// Returns whether a name in a folder is one of those that matter there. Hidden files never do: editors keep their
/// swap files so, and this program what it has not finished.
fn is_of_interest(path: &Path, partly: &[(PathBuf, Vec<&'static str>)]) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return true };
    match partly.iter().find(|(folder, _)| folder == parent) {
        Some((_, names)) => names.iter().any(|wanted| *wanted == name),
        // The folder itself, which may be one of those above.
        None if partly.iter().any(|(folder, _)| folder == path) => true,
        None => !name.as_encoded_bytes().starts_with(b"."),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::event::{AccessKind, AccessMode};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn watched(folders: &[&Path]) -> BTreeSet<PathBuf> {
        folders.iter().map(|folder| folder.to_path_buf()).collect()
    }

    /// Waits until it is told to look, and fails where nothing tells it.
    #[track_caller]
    fn told(watcher: &mut Watcher) -> Woken {
        let begun = Instant::now();
        let woken = watcher.wait(SOON);
        assert!(begun.elapsed() < SOON, "nothing was told");
        woken
    }

    #[test]
    fn what_is_written_is_told_and_what_is_read_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        fs::write(&file, "1").unwrap();
        let mut watcher = Watcher::new(Mode::Native, Vec::new());
        assert!(watcher.follow(&watched(&[folder.path()]), false));
        assert!(!watcher.follow(&watched(&[folder.path()]), false), "it is watched already");
        fs::write(&file, "2").unwrap();
        assert_eq!(told(&mut watcher), Woken::Look);
        // An editor's own files are none: they would be told as what may be a folder.
        fs::write(folder.path().join(".a.md.swp"), "x").unwrap();
        fs::write(folder.path().join("b.md"), "x").unwrap();
        assert_eq!(told(&mut watcher), Woken::Look);
        let hints = |kind| {
            tell(&watcher.shared, &[], Ok(Event::new(kind).add_path(file.clone())));
            std::mem::take(&mut *watcher.shared.hints()).span.is_some()
        };
        for read in [AccessKind::Read, AccessKind::Open(AccessMode::Any), AccessKind::Close(AccessMode::Read)] {
            assert!(!hints(EventKind::Access(read)));
        }
        assert!(hints(EventKind::Modify(ModifyKind::Any)));
    }

    #[test]
    fn folders_that_come_and_go_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        let mut watcher = Watcher::new(Mode::Native, Vec::new());
        watcher.follow(&watched(&[folder.path()]), false);
        fs::create_dir(&below).unwrap();
        assert_eq!(told(&mut watcher), Woken::LookAtFolders);
        assert!(watcher.follow(&watched(&[folder.path(), &below]), false));
        fs::write(below.join("a.md"), "x").unwrap();
        assert_eq!(told(&mut watcher), Woken::Look);
        // Another folder of its name is watched when that is asked for.
        fs::rename(&below, folder.path().join("other")).unwrap();
        fs::create_dir(&below).unwrap();
        assert_eq!(told(&mut watcher), Woken::LookAtFolders);
        assert!(watcher.follow(&watched(&[folder.path(), &below, &folder.path().join("other")]), true));
        for file in ["below/b.md", "other/c.md"] {
            fs::write(folder.path().join(file), "x").unwrap();
            assert_eq!(told(&mut watcher), Woken::Look, "{file}");
        }
        // A folder that went away before it was watched is none.
        fs::remove_dir_all(folder.path().join("other")).unwrap();
        watcher.follow(&watched(&[folder.path(), &below, &folder.path().join("other")]), true);
        assert_eq!((watcher.mode(), watcher.trouble()), (Mode::Native, None));
    }

    #[test]
    fn of_some_folders_only_some_names_matter() {
        let folder = tempfile::tempdir().unwrap();
        let partly = vec![(folder.path().to_path_buf(), vec![".ralph"])];
        let mut watcher = Watcher::new(Mode::Native, partly);
        watcher.follow(&watched(&[folder.path()]), false);
        fs::write(folder.path().join("target"), "x").unwrap();
        fs::write(folder.path().join(".git"), "x").unwrap();
        fs::create_dir(folder.path().join(".ralph")).unwrap();
        assert_eq!(told(&mut watcher), Woken::LookAtFolders);
    }

    #[test]
    fn a_lost_notification_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(Mode::Native, Vec::new());
        watcher.follow(&watched(&[folder.path()]), false);
        let rescan = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        tell(&watcher.shared, &[], Ok(rescan));
        assert_eq!(told(&mut watcher), Woken::LookAtFolders);
        assert!(watcher.follow(&watched(&[folder.path()]), false), "nothing is watched any more");
        fs::write(folder.path().join("a.md"), "x").unwrap();
        assert_eq!(told(&mut watcher), Woken::Look);
        tell(&watcher.shared, &[], Err(notify::Error::generic("x")));
        assert_eq!(told(&mut watcher), Woken::LookAtFolders);
    }

    #[test]
    fn it_polls_where_the_system_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(Mode::Native, Vec::new());
        watcher.follow(&watched(&[folder.path()]), false);
        watcher.give_up(&notify::Error::new(ErrorKind::MaxFilesWatch));
        assert_eq!(watcher.mode(), Mode::Poll);
        assert_eq!(watcher.trouble().as_deref(), Some("there are no more inotify watches"));
        assert_eq!(watcher.trouble(), None, "once");
        assert!(!watcher.follow(&watched(&[folder.path()]), true));
        let begun = Instant::now();
        assert_eq!(watcher.wait(SOON), Woken::Time);
        assert!(begun.elapsed() < SOON);
    }

    #[test]
    fn it_ends_when_it_is_told_to() {
        let mut watcher = Watcher::new(Mode::Poll, Vec::new());
        let stopper = watcher.stopper();
        let other = std::thread::spawn(move || stopper.stop());
        while watcher.wait(SOON) != Woken::Stopped {}
        other.join().unwrap();
        assert_eq!(watcher.wait(SOON), Woken::Stopped, "for good");
    }
}
