//! Notifications of the system that something changed in a folder. They only say when to scan again.
//!
//! The catalog finds out what changed: systems drop notifications, send them for what this program itself does, and
//! send none for files that were in a folder before it was watched. So all notifications together set one flag, and no
//! memory grows while nobody scans. This file knows paths, but nothing about entries.
//!
//! The crate watches a folder with all below it, but misses some when folders come and go meanwhile (notify 8.2). So a change of
//! a folder begins a new watch, and so does every scan without a reason.

use std::ffi::OsStr;
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

/// The folders of `.ralph` in which entries are.
const ENTRY_FOLDERS: [&[u8]; 3] = [b"knowledge", b"journal", b"archive"];

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
    Changed,
    /// [`SharedHints::stop`] was called.
    Stopped,
}

/// The notifications since the last scan.
#[derive(Debug, Default)]
struct PendingHints {
    /// When the first and the last of them arrived.
    span: Option<(Instant, Instant)>,
    /// Whether the watch may have gaps: a folder changed, or notifications were lost.
    has_gaps: bool,
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

/// Watches a memory.
pub(super) struct Watcher {
    shared: Arc<SharedHints>,
    native: Option<RecommendedWatcher>,
    /// The folder `.ralph`, and others whose content matters.
    folders: Vec<PathBuf>,
    failure: Option<String>,
}

impl Watcher {
    /// Watches these folders with all below them, the memory's own first.
    ///
    /// Where the system sends no notifications, or has run out of watches, it polls; [`Watcher::take_failure`] says
    /// why.
    pub(super) fn new(mode: WatchMode, folders: Vec<PathBuf>) -> Watcher {
        let mut watcher = Watcher { shared: Arc::default(), native: None, folders, failure: None };
        if mode == WatchMode::Native {
            watcher.begin();
        }
        watcher
    }

    /// Begins to receive notifications. A scan must follow: those between two watches are lost.
    fn begin(&mut self) {
        let (shared, memory) = (Arc::clone(&self.shared), self.folders[0].clone());
        let handler = move |notification: notify::Result<Event>| receive(&shared, &memory, notification);
        // A link may lead out of the project.
        let config = Config::default().with_follow_symlinks(false);
        let begun = RecommendedWatcher::new(handler, config).and_then(|mut native| {
            for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
                match native.watch(folder, RecursiveMode::Recursive) {
                    // A folder below it disappeared meanwhile.
                    Err(error) if is_gone(&error) => self.shared.hint(|hints| hints.has_gaps = true),
                    other => other?,
                }
            }
            Ok(native)
        });
        match begun {
            Ok(native) => self.native = Some(native),
            Err(error) => self.give_up(&error),
        }
    }

    /// Begins again, if it receives notifications: the system may have left out some.
    pub(super) fn renew(&mut self) {
        if self.native.is_some() {
            self.begin();
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
        let PendingHints { span, has_gaps, .. } = std::mem::take(&mut *hints);
        drop(hints);
        if has_gaps {
            self.renew();
        }
        if span.is_some() { WakeReason::Changed } else { WakeReason::Time }
    }
}

/// Turns a notification into a hint.
fn receive(shared: &SharedHints, memory: &Path, notification: notify::Result<Event>) {
    match notification {
        Ok(event) if event.flag() == Some(Flag::Rescan) => shared.hint(|hints| hints.has_gaps = true),
        // Reading changes nothing, and every scan reads.
        Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
        Ok(event) if !event.paths.is_empty() && !event.paths.iter().any(|path| is_of_interest(path, memory)) => {}
        Ok(event) => {
            let is_content = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)));
            // The kind does not say whether a file or a folder was renamed; entry files have their ending.
            let is_file = event.paths.iter().all(|path| path.extension().is_some_and(|extension| extension == "md"));
            let is_folder =
                matches!(event.kind, EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder));
            shared.hint(|hints| hints.has_gaps |= is_folder || !is_content && !is_file);
        }
        Err(_) => shared.hint(|hints| hints.has_gaps = true),
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
fn is_of_interest(path: &Path, memory: &Path) -> bool {
    let inside = path.strip_prefix(memory).unwrap_or(path);
    let mut names = inside.iter().map(OsStr::as_encoded_bytes);
    let is_other = inside != path && names.next().is_some_and(|name| !ENTRY_FOLDERS.contains(&name));
    !is_other && !names.next_back().is_some_and(|name| name.starts_with(b"."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use notify::event::{AccessKind, AccessMode};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn watcher(folder: &Path) -> Watcher {
        Watcher::new(WatchMode::Native, vec![folder.to_path_buf()])
    }

    /// Waits for a notification, and fails where none comes.
    #[track_caller]
    fn is_woken(watcher: &mut Watcher) {
        let begun = Instant::now();
        assert_eq!(watcher.wait(SOON), WakeReason::Changed);
        assert!(begun.elapsed() < SOON, "no notification came");
    }

    #[test]
    fn writes_of_entries_are_reported_and_reads_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let watcher = watcher(folder.path());
        let is_hint = |kind, path: &str| {
            receive(&watcher.shared, folder.path(), Ok(Event::new(kind).add_path(folder.path().join(path))));
            std::mem::take(&mut *watcher.shared.hints()).span.is_some()
        };
        for read in [AccessKind::Read, AccessKind::Open(AccessMode::Any), AccessKind::Close(AccessMode::Read)] {
            assert!(!is_hint(EventKind::Access(read), "knowledge/a.md"));
        }
        let changed = EventKind::Modify(ModifyKind::Any);
        for path in ["", "knowledge", "knowledge/a.md", "journal/run-1/0001.md", "archive/knowledge/events"] {
            assert!(is_hint(changed, path), "{path}");
        }
        // The program's own files, and those of editors and of unfinished writes.
        for path in ["cache/search/meta.json", "state/lock", "config.toml", "knowledge/.a.md.swp"] {
            assert!(!is_hint(changed, path), "{path}");
        }
        assert!(is_hint(changed, "/copies/run-1/0001.md"), "another folder");
    }

    #[test]
    fn folders_that_come_and_go_are_watched() {
        let folder = tempfile::tempdir().unwrap();
        let [knowledge, below] = ["knowledge", "knowledge/below"].map(|path| folder.path().join(path));
        let mut watcher = watcher(folder.path());
        fs::create_dir_all(&below).unwrap();
        is_woken(&mut watcher);
        fs::write(below.join("a.md"), "x").unwrap();
        is_woken(&mut watcher);
        // Another folder of its name.
        fs::rename(&below, knowledge.join("other")).unwrap();
        fs::create_dir(&below).unwrap();
        is_woken(&mut watcher);
        for file in ["below/b.md", "other/c.md"] {
            fs::write(knowledge.join(file), "x").unwrap();
            is_woken(&mut watcher);
        }
        fs::remove_dir_all(&knowledge).unwrap();
        is_woken(&mut watcher);
        assert_eq!((watcher.mode(), watcher.take_failure()), (WatchMode::Native, None));
    }

    #[test]
    fn a_lost_notification_starts_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = watcher(folder.path());
        for lost in [Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)), Err(notify::Error::generic("x"))] {
            // As if the system had dropped the watch.
            watcher.native.as_mut().unwrap().unwatch(folder.path()).unwrap();
            receive(&watcher.shared, folder.path(), lost);
            is_woken(&mut watcher);
            fs::create_dir_all(folder.path().join("knowledge")).unwrap();
            fs::write(folder.path().join("knowledge/a.md"), "x").unwrap();
            is_woken(&mut watcher);
        }
    }

    #[test]
    fn it_polls_where_the_system_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut watcher = watcher(folder.path());
        watcher.give_up(&notify::Error::new(ErrorKind::MaxFilesWatch));
        assert_eq!(watcher.mode(), WatchMode::Poll);
        assert_eq!(watcher.take_failure().as_deref(), Some("there are no more inotify watches"));
        assert_eq!(watcher.take_failure(), None, "once");
        watcher.renew();
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
