//! Notifications of the system that something changed in a folder. They only say when to scan again.
//!
//! The catalog finds out what changed: systems drop notifications, send them for what this program itself does, and
//! send none for files that were in a folder before it was watched. So all notifications together set one flag, and no
//! memory grows while nobody scans. This file knows paths, but nothing about entries.
//!
//! Each folder is watched without the folders below it: the crate's recursive mode stops at the first folder that
//! disappears while it begins, and leaves out its neighbours without an error (notify 8.2).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{CreateKind, EventKind, Flag, ModifyKind, RemoveKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::system::posix::io::Errno;

/// How long no notification must have come before a scan: an editor saves in several steps.
const QUIET: Duration = Duration::from_millis(200);
/// The longest wait for that: some programs never stop writing.
const LONGEST: Duration = Duration::from_secs(1);
/// How often the files are scanned without notifications.
const POLL: Duration = Duration::from_secs(1);
/// How often the files are scanned without a reason: systems drop notifications silently.
pub(super) const RECONCILE: Duration = Duration::from_secs(30);

/// How changes are noticed.
///
/// ```
/// use std::sync::Arc;
/// use ralph_memory::Memory;
/// use ralph_memory::memory::{WatchEvent, WatchMode};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # Memory::init(root)?;
/// # let memory = Memory::open(root)?;
/// let watcher = Arc::new(memory).watch(WatchMode::Poll)?; // `.ralph/` is on a network file system
/// assert!(matches!(watcher.events().recv()?, WatchEvent::Ready { polling: true, .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// By notifications of the system.
    Native,
    /// By checking the files every second, for network and virtual file systems.
    Poll,
}

/// Why [`Watcher::wait`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeReason {
    /// No notification came, and the time is up.
    Time,
    /// Something may have changed.
    FilesChanged,
    /// The same, and a folder may have appeared, disappeared or been replaced by another of its name.
    FoldersChanged,
    /// [`SharedHints::stop`] was called.
    Stopped,
}

/// The notifications since the last scan.
#[derive(Debug, Default)]
struct PendingHints {
    /// When the first and the last of them arrived.
    span: Option<(Instant, Instant)>,
    folders: bool,
    lost: bool,
    stopped: bool,
}

/// The notifications, as the threads of the system and of the watcher share them.
#[derive(Debug, Default)]
pub(super) struct SharedHints {
    hints: Mutex<PendingHints>,
    changed: Condvar,
}

impl SharedHints {
    fn hints(&self) -> MutexGuard<'_, PendingHints> {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hint(&self, set: impl FnOnce(&mut PendingHints)) {
        let now = Instant::now();
        let mut hints = self.hints();
        hints.span = Some((hints.span.map_or(now, |(first, _)| first), now));
        set(&mut hints);
        self.changed.notify_all();
    }

    /// Lets the present wait and all later ones return at once.
    pub(super) fn stop(&self) {
        self.hint(|hints| hints.stopped = true);
    }
}

/// Watches folders.
pub(super) struct Watcher {
    shared: Arc<SharedHints>,
    native: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// Folders in which only some names matter.
    partly: Vec<(PathBuf, Vec<&'static str>)>,
    failure: Option<String>,
}

impl Watcher {
    /// Makes a watcher without folders. In a folder of `partly`, only these names matter.
    ///
    /// Where the system sends no notifications, or has run out of watches, it polls; [`Watcher::take_failure`] says
    /// why.
    pub(super) fn new(mode: WatchMode, partly: Vec<(PathBuf, Vec<&'static str>)>) -> Watcher {
        let shared = Arc::<SharedHints>::default();
        let mut watcher = Watcher { shared, native: None, watched: BTreeSet::new(), partly, failure: None };
        if mode == WatchMode::Native {
            watcher.begin();
        }
        watcher
    }

    /// Begins to receive notifications, with no folder watched.
    fn begin(&mut self) {
        let (shared, partly) = (Arc::clone(&self.shared), self.partly.clone());
        let handler = move |notification: notify::Result<Event>| receive(&shared, &partly, notification);
        // A link may lead out of the project.
        let config = Config::default().with_follow_symlinks(false);
        self.watched.clear();
        match RecommendedWatcher::new(handler, config) {
            Ok(native) => self.native = Some(native),
            Err(error) => self.give_up(&error),
        }
    }

    fn give_up(&mut self, error: &notify::Error) {
        let reason = match &error.kind {
            ErrorKind::MaxFilesWatch => "there are no more inotify watches".to_owned(),
            ErrorKind::Io(error) if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => {
                "there are no more inotify instances, or no more files may be open".to_owned()
            }
            _ => error.to_string(),
        };
        self.failure = Some(reason);
        self.native = None;
        self.watched.clear();
    }

    /// Returns how changes are noticed at present.
    pub(super) fn mode(&self) -> WatchMode {
        if self.native.is_some() { WatchMode::Native } else { WatchMode::Poll }
    }

    /// Returns once why it polls although it should use notifications.
    pub(super) fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    /// Returns the notifications, by which another thread can end its waits.
    pub(super) fn hints(&self) -> Arc<SharedHints> {
        Arc::clone(&self.shared)
    }

    /// Watches these folders and no others, and returns whether one of them was not watched before: changes in it until
    /// now brought no notification. With `again` every folder counts as one that was not watched, since a new folder
    /// may have taken its name.
    pub(super) fn follow(&mut self, folders: &BTreeSet<PathBuf>, again: bool) -> bool {
        let Some(native) = &mut self.native else { return false };
        // Before new ones: a renamed folder has one watch for both of its names.
        for gone in self.watched.difference(folders) {
            // The system may have dropped it already.
            let _ = native.unwatch(gone);
        }
        self.watched.retain(|path| folders.contains(path));
        let mut is_any_new = false;
        for folder in folders {
            let is_new = !self.watched.contains(folder);
            if !is_new && !again {
                continue;
            }
            match native.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.clone());
                    is_any_new |= is_new || again;
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

    /// Waits until something may have changed and no further notification has come for a moment, or until the next scan
    /// is due: after `longest` at the latest.
    pub(super) fn wait(&mut self, longest: Duration) -> WakeReason {
        let begun = Instant::now();
        let until = begun + longest.min(if self.native.is_some() { RECONCILE } else { POLL });
        let shared = Arc::clone(&self.shared);
        let mut hints = shared.hints();
        loop {
            if hints.stopped {
                return WakeReason::Stopped;
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
        let PendingHints { span, folders, lost, .. } = std::mem::take(&mut *hints);
        drop(hints);
        if lost && self.native.is_some() {
            // The queue of notifications was lost, so the watches may be incomplete as well.
            self.begin();
        }
        match span {
            _ if folders || lost => WakeReason::FoldersChanged,
            Some(_) => WakeReason::FilesChanged,
            None => WakeReason::Time,
        }
    }
}

/// Turns a notification into a hint.
fn receive(shared: &SharedHints, partly: &[(PathBuf, Vec<&'static str>)], notification: notify::Result<Event>) {
    match notification {
        Ok(event) if event.flag() == Some(Flag::Rescan) => shared.hint(|hints| hints.lost = true),
        // Reading changes nothing, and every scan reads.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) if !event.paths.is_empty() && !event.paths.iter().any(|path| is_of_interest(path, partly)) => {}
        Ok(event) => {
            let is_content = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)));
            // The kind does not say whether a file or a folder was renamed; entry files have their ending.
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

/// Returns whether a change of this path matters. Hidden files never do: they are the swap files of editors and the
/// unfinished writes of this program.
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

    /// Waits for a notification, and fails where none comes.
    #[track_caller]
    fn woken(watcher: &mut Watcher) -> WakeReason {
        let begun = Instant::now();
        let reason = watcher.wait(SOON);
        assert!(begun.elapsed() < SOON, "no notification came");
        reason
    }

    #[test]
    fn writes_are_reported_and_reads_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        fs::write(&file, "1").unwrap();
        let mut watcher = Watcher::new(WatchMode::Native, Vec::new());
        assert!(watcher.follow(&watched(&[folder.path()]), false));
        assert!(!watcher.follow(&watched(&[folder.path()]), false), "it is watched already");
        fs::write(&file, "2").unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FilesChanged);
        // An editor's own files do not matter; they would count as folders.
        fs::write(folder.path().join(".a.md.swp"), "x").unwrap();
        fs::write(folder.path().join("b.md"), "x").unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FilesChanged);
        let hints = |kind| {
            receive(&watcher.shared, &[], Ok(Event::new(kind).add_path(file.clone())));
            std::mem::take(&mut *watcher.shared.hints()).span.is_some()
        };
        for read in [AccessKind::Read, AccessKind::Open(AccessMode::Any), AccessKind::Close(AccessMode::Read)] {
            assert!(!hints(EventKind::Access(read)));
        }
        assert!(hints(EventKind::Modify(ModifyKind::Any)));
    }

    #[test]
    fn new_and_removed_folders_are_distinguished() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("below");
        let mut watcher = Watcher::new(WatchMode::Native, Vec::new());
        watcher.follow(&watched(&[folder.path()]), false);
        fs::create_dir(&below).unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FoldersChanged);
        assert!(watcher.follow(&watched(&[folder.path(), &below]), false));
        fs::write(below.join("a.md"), "x").unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FilesChanged);
        // Another folder of its name is watched when that is asked for.
        fs::rename(&below, folder.path().join("other")).unwrap();
        fs::create_dir(&below).unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FoldersChanged);
        assert!(watcher.follow(&watched(&[folder.path(), &below, &folder.path().join("other")]), true));
        for file in ["below/b.md", "other/c.md"] {
            fs::write(folder.path().join(file), "x").unwrap();
            assert_eq!(woken(&mut watcher), WakeReason::FilesChanged, "{file}");
        }
        // A folder that disappeared before it was watched is not an error.
        fs::remove_dir_all(folder.path().join("other")).unwrap();
        watcher.follow(&watched(&[folder.path(), &below, &folder.path().join("other")]), true);
        assert_eq!((watcher.mode(), watcher.take_failure()), (WatchMode::Native, None));
    }

    #[test]
    fn in_some_folders_only_some_names_matter() {
        let folder = tempfile::tempdir().unwrap();
        let partly = vec![(folder.path().to_path_buf(), vec![".ralph"])];
        let mut watcher = Watcher::new(WatchMode::Native, partly);
        watcher.follow(&watched(&[folder.path()]), false);
        fs::write(folder.path().join("target"), "x").unwrap();
        fs::write(folder.path().join(".git"), "x").unwrap();
        fs::create_dir(folder.path().join(".ralph")).unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FoldersChanged);
    }

    #[test]
    fn a_lost_notification_starts_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(WatchMode::Native, Vec::new());
        watcher.follow(&watched(&[folder.path()]), false);
        let rescan = Event::new(EventKind::Other).set_flag(Flag::Rescan);
        receive(&watcher.shared, &[], Ok(rescan));
        assert_eq!(woken(&mut watcher), WakeReason::FoldersChanged);
        assert!(watcher.follow(&watched(&[folder.path()]), false), "nothing is watched any more");
        fs::write(folder.path().join("a.md"), "x").unwrap();
        assert_eq!(woken(&mut watcher), WakeReason::FilesChanged);
        receive(&watcher.shared, &[], Err(notify::Error::generic("x")));
        assert_eq!(woken(&mut watcher), WakeReason::FoldersChanged);
    }

    #[test]
    fn it_polls_where_the_system_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new(WatchMode::Native, Vec::new());
        watcher.follow(&watched(&[folder.path()]), false);
        watcher.give_up(&notify::Error::new(ErrorKind::MaxFilesWatch));
        assert_eq!(watcher.mode(), WatchMode::Poll);
        assert_eq!(watcher.take_failure().as_deref(), Some("there are no more inotify watches"));
        assert_eq!(watcher.take_failure(), None, "once");
        assert!(!watcher.follow(&watched(&[folder.path()]), true));
        let begun = Instant::now();
        assert_eq!(watcher.wait(SOON), WakeReason::Time);
        assert!(begun.elapsed() < SOON);
    }

    #[test]
    fn it_ends_on_request() {
        let mut watcher = Watcher::new(WatchMode::Poll, Vec::new());
        let hints = watcher.hints();
        let other = std::thread::spawn(move || hints.stop());
        while watcher.wait(SOON) != WakeReason::Stopped {}
        other.join().unwrap();
        assert_eq!(watcher.wait(SOON), WakeReason::Stopped, "for good");
    }
}
