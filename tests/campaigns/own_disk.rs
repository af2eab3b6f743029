//! A process that may mount file systems: a user may do so in a namespace of their own. Where the system allows
//! none, this fails and says what is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder in which the process may mount what it likes.
const PLACE: &str = "RALPH_CAMPAIGN_PLACE";
/// Gives that folder a file system in its folder `disk`, and starts this program once more.
const BEGIN: &str = "mount \"$@\" \"$RALPH_CAMPAIGN_PLACE/disk\" && eval \"exec $RALPH_CAMPAIGN_COMMAND\"";

/// The message if the system allows none.
pub(crate) const NEEDED: &str = "this test mounts file systems of its own, as `unshare -rm mount -t tmpfs tmpfs FOLDER` does: that takes \
                                 util-linux, and either root or a system that lets a user make namespaces (see the settings \
                                 kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns)";

/// What a process leaves that got to its end.
const MARK: &str = "done";

/// A file system that holds 1 MiB.
pub(crate) const SMALL: &[&str] = &["-t", "tmpfs", "-o", "size=1m", "tmpfs"];
/// A disk in memory, on which many small files are quickly made and removed.
pub(crate) const MEMORY: &[&str] = &["-t", "tmpfs", "tmpfs"];
/// A disk with times no finer than the kernel's ticks, as many had before Linux 6.13.
pub(crate) const COARSE: &[&str] = &["-t", "ramfs", "ramfs"];

/// Returns a folder with such a file system in its folder `disk`, to a process that may mount more.
///
/// To any other process it returns nothing, when all is done: this program was run with these arguments by such
/// a process, and got there.
pub(crate) fn own_disk(disk: &[&str], arguments: &[&str]) -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(PLACE) {
        return Some(place.into());
    }
    // Without capitals, which the marks of campaigns have.
    let folder = (0..).find_map(|number: u32| {
        let name = format!("own-disk-{}-{number}", std::process::id());
        tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir().ok()
    });
    let folder = folder.unwrap();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let own = std::env::current_exe().unwrap();
    let words = std::iter::once(own.to_str().unwrap()).chain(arguments.iter().copied());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", BEGIN, "sh"]).args(disk);
    command.env(PLACE, folder.path()).env("RALPH_CAMPAIGN_COMMAND", words.join(" "));
    let status = command.status().unwrap_or_else(|error| panic!("cannot start `unshare`: {error}; {NEEDED}"));
    let got_there = folder.path().join(MARK).exists();
    assert!(status.success() && got_there, "{status}; where it is not said why: {NEEDED}");
    None
}

/// Says that the process in its own namespace got to its end.
pub(crate) fn got_there(place: &Path) {
    fs::write(place.join(MARK), "").unwrap();
}
