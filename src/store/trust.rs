//! Which memories in parent folders are trusted without being named.
//!
//! Anyone who may write to a parent folder, such as `/tmp`, could put a `.ralph` there, and its text goes into prompts.
//! So its owner must be the user, the same rule that git has for repositories (`safe.directory`).

use std::path::Path;

use crate::system::posix::process::geteuid;

/// Whose memories are used.
#[derive(Debug, Clone, Copy)]
pub struct Trust<'a> {
    /// The user id of this process.
    pub user: u32,
    /// The user who became root with `sudo` for this process; root trusts that user's files like its own.
    pub invoker: Option<u32>,
    /// Folders whose memories are used, whoever owns them: absolute paths, `/path/*` for all below a folder, `*` for
    /// all.
    pub safe: &'a [String],
}

impl<'a> Trust<'a> {
    /// Returns the rules for this process. `sudo_uid` is the variable `SUDO_UID`, which counts only for root.
    pub fn new(user: u32, sudo_uid: Option<&str>, safe: &'a [String]) -> Trust<'a> {
        Trust { user, invoker: sudo_uid.filter(|_| user == 0).and_then(|id| id.parse().ok()), safe }
    }

    /// Returns the rules for this process, with these folders of the settings.
    pub fn of_process(safe: &'a [String]) -> Trust<'a> {
        let sudo_uid = std::env::var("SUDO_UID").ok();
        Trust::new(geteuid().as_raw(), sudo_uid.as_deref(), safe)
    }

    /// Returns whether the memories of this user are trusted.
    pub(super) fn is_own(&self, owner: u32) -> bool {
        owner == self.user || self.invoker == Some(owner)
    }

    /// Returns whether the memory in this folder is used whoever owns it.
    pub(super) fn is_safe(&self, root: &Path) -> bool {
        // `/var` is a link on some systems, and the listed folders may be written with or without it resolved.
        let real = root.canonicalize();
        let is = |folder: &Path, of: &dyn Fn(&Path, &Path) -> bool| {
            of(root, folder) || real.as_ref().is_ok_and(|real| of(real, &folder.canonicalize().unwrap_or_default()))
        };
        self.safe.iter().any(|safe| match safe.strip_suffix("/*") {
            _ if safe == "*" => true,
            Some("") => true,
            Some(above) => is(Path::new(above), &|root, above| root != above && root.starts_with(above)),
            None => is(Path::new(safe), &|root, safe| root == safe),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_memories_are_trusted_also_under_sudo() {
        let owns = |trust: Trust<'_>| [0, 1000, 1001].map(|owner| trust.is_own(owner));
        assert_eq!(owns(Trust::new(1000, None, &[])), [false, true, false]);
        assert_eq!(owns(Trust::new(0, None, &[])), [true, false, false]);
        assert_eq!(owns(Trust::new(0, Some("1000"), &[])), [true, true, false]);
        assert_eq!(owns(Trust::new(0, Some("x"), &[])), [true, false, false]);
        // Any process can set the variable, so it counts only for root.
        assert_eq!(owns(Trust::new(1000, Some("1001"), &[])), [false, true, false]);
    }

    #[test]
    fn listed_folders_are_trusted() {
        let check = |safe: &str, root: &str, expected: bool| {
            let safe = [safe.to_owned()];
            assert_eq!(Trust::new(1, None, &safe).is_safe(Path::new(root)), expected, "{safe:?} {root}");
        };
        check("*", "/a", true);
        check("/*", "/a", true);
        check("/no/such", "/no/such", true);
        check("/no/such/", "/no/such", true);
        check("/no/such", "/no/such/below", false);
        check("/no/such/*", "/no/such/be/low", true);
        check("/no/such/*", "/no/such", false);
        check("/no/such/*", "/no/suchlike", false);
        check("/no/such", "/no", false);
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        check(link.to_str().unwrap(), real.to_str().unwrap(), true);
        check(real.to_str().unwrap(), link.to_str().unwrap(), true);
    }
}
