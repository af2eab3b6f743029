//! Changes that a catalog must detect, case by case. The model test is in `model.rs`.

mod model;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, mknodat, utimensat};
use tempfile::TempDir;

use super::*;
pub(super) use crate::test_cases::cases;

/// A memory in a temporary folder.
pub(super) struct Memory {
    folder: TempDir,
    pub(super) store: Store,
}

impl Memory {
    pub(super) fn new() -> Memory {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create_root(folder.path()).unwrap();
        Memory { folder, store }
    }

    /// Makes a memory with an index, of entries in `knowledge/` with these names, which are their titles.
    fn indexed(names: &[&str]) -> Memory {
        let memory = Memory::new();
        for name in names {
            memory.write(&format!("knowledge/{name}.md"), text(name));
        }
        memory.index(None, "i1");
        memory
    }

    /// Does what a person does, one thing after the other: `write PATH TITLE` (in place), `replace PATH TITLE` (by a rename),
    /// `mv FROM TO`, `rm PATH`, `ln TARGET PATH`.
    fn act(&self, script: &str) {
        for line in script.split("; ") {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["write", path, title] => self.write(path, text(title)),
                ["replace", path, title] => self.replace(path, text(title)),
                ["mv", from, to] => self.rename(from, to),
                ["rm", path] => self.remove(path),
                ["ln", target, path] => self.link(target, path),
                _ => panic!("{line}"),
            }
        }
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(".ralph").join(path)
    }

    pub(super) fn make(&self, path: &str) {
        fs::create_dir_all(self.at(path)).unwrap();
    }

    /// Writes in place.
    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), bytes).unwrap();
    }

    /// Writes to another file and renames it.
    pub(super) fn replace(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let temporary = self.folder.path().join("temporary");
        fs::write(&temporary, bytes).unwrap();
        fs::rename(temporary, self.at(path)).unwrap();
    }

    pub(super) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.at(from), self.at(to)).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        if self.at(path).symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(self.at(path)).unwrap();
        } else {
            fs::remove_file(self.at(path)).unwrap();
        }
    }

    pub(super) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
    }

    pub(super) fn fifo(&self, path: &str) {
        mknodat(CWD, self.at(path), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    pub(super) fn set_mtime(&self, path: &str, time: SystemTime) {
        set_mtime(&self.at(path), time);
    }

    /// Waits until the file system's clock has advanced, so that the next change gets its own stamp even if stamps are
    /// coarse.
    pub(super) fn tick(&self) {
        use std::os::unix::fs::MetadataExt as _;
        let probe = self.folder.path().join("probe");
        let stamp = || {
            fs::write(&probe, "x").unwrap();
            let metadata = fs::metadata(&probe).unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let first = stamp();
        while stamp() == first {}
    }

    /// Scans at a time at which nothing is racy.
    pub(super) fn scan(&self, index_id: Option<&str>) -> (Catalog, Vec<String>) {
        let seen = self.scan_at(index_id, later());
        self.tick();
        seen
    }

    pub(super) fn scan_at(&self, index_id: Option<&str>, now: SystemTime) -> (Catalog, Vec<String>) {
        let mut pending = Vec::new();
        let scan = Catalog::scan(&self.store, Area::Live, index_id, now);
        let catalog = scan.read(&self.store, &mut |path, _| pending.push(path.to_owned()));
        pending.sort();
        (catalog, pending)
    }

    /// Scans and saves as if an index of everything were committed.
    fn index(&self, from: Option<&str>, to: &str) {
        self.scan(from).0.save(&self.store, to, true).unwrap();
    }

    fn cached(&self, start: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.at("cache/catalog-v2/live")).unwrap();
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.file_name().unwrap().to_str().unwrap().starts_with(start));
        files.sort();
        files
    }
}

pub(super) fn set_mtime(path: &Path, time: SystemTime) {
    let nanoseconds = nanoseconds(time);
    let time =
        Timespec { tv_sec: nanoseconds.div_euclid(1_000_000_000), tv_nsec: nanoseconds.rem_euclid(1_000_000_000) };
    utimensat(CWD, path, &Timestamps { last_access: time, last_modification: time }, AtFlags::SYMLINK_NOFOLLOW)
        .unwrap();
}

/// A time at which nothing that was written so far is racy.
pub(super) fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(10)
}

/// Returns an entry that is complete as knowledge and as an attempt.
pub(super) fn text(title: &str) -> String {
    let attempt = "run_id: run-1\niteration: 1\noutcome: done\nstarted_at: \"2026-02-17T12:00:00Z\"";
    let task = title.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
    format!(
        "---\ntitle: \"{title}\"\nfeature: \"f-{title}\"\ntask_id: \"t-{task}\"\ntask_title: \"{title}\"\ntags: [one, two]\n{attempt}\n---\n\nAbout {title}.\n"
    )
}

/// All data of a catalog about its rows.
#[derive(Debug, PartialEq)]
pub(super) struct RowView {
    path: String,
    id: Option<Id>,
    head: Head,
    recency: i64,
    flags: [bool; 3],
}

pub(super) fn said(catalog: &Catalog) -> (Vec<RowView>, Vec<Problem>) {
    let said = |row| RowView {
        path: catalog.path(row),
        id: catalog.id(row),
        head: catalog.head(row),
        recency: catalog.recency(row),
        flags: [catalog.is_indexable(row), catalog.has_problem(row), catalog.supersedes_any(row)],
    };
    for row in catalog.rows() {
        assert_eq!(catalog.row_of_path(&catalog.path(row)), Some(row));
        let first = catalog.row_of_id(&catalog.id(row).unwrap()).unwrap();
        assert_eq!(catalog.id(first), catalog.id(row));
        assert_eq!(
            catalog.is_indexable(first),
            catalog.is_indexable(row) || first != row && catalog.is_indexable(first)
        );
    }
    check_attempts(catalog);
    (catalog.rows().map(said).collect(), catalog.problems())
}

/// Checks that attempts are found by their task and their run, as by examining every row.
fn check_attempts(catalog: &Catalog) {
    let is_attempt = |row: &RowId| catalog.path(*row).trim_start_matches("archive/").starts_with("journal/");
    let attempts: Vec<RowId> = catalog.rows().filter(is_attempt).collect();
    assert_eq!(catalog.journal_rows().collect::<Vec<_>>(), attempts);
    assert_eq!(catalog.journal_rows().chain(catalog.knowledge_rows()).count(), catalog.len());
    let those = |is: &dyn Fn(RowId) -> bool| attempts.iter().copied().filter(|row| is(*row)).collect::<Vec<_>>();
    for row in catalog.rows() {
        if let Some(task) = catalog.head(row).task_id {
            assert_eq!(catalog.rows_of_task(&task), those(&|row| catalog.head(row).task_id.as_ref() == Some(&task)));
        }
        if let Some(feature) = catalog.head(row).feature {
            let of_feature = those(&|row| catalog.head(row).feature.as_ref() == Some(&feature));
            assert_eq!(catalog.rows_near_feature(&feature), of_feature, "{feature}");
        }
        let path = catalog.path(row);
        let folder = path.rsplit('/').nth(1).unwrap_or_default();
        if folder != "journal" {
            let in_it = those(&|row| catalog.path(row).rsplit('/').nth(1) == Some(folder));
            assert_eq!(catalog.rows_of_run(folder), in_it, "{folder}");
        }
    }
    assert!(catalog.rows_of_task("no such task").is_empty() && catalog.rows_near_feature("no such feature").is_empty());
    assert!(catalog.rows_of_run("no-such-run").is_empty());
}

/// Scans from the manifest of `index_id`, checks that a scan from nothing gives the same result, and returns the paths,
/// the indexable ones among them, and the problems as `path: code`.
#[track_caller]
fn check(memory: &Memory, index_id: Option<&str>) -> (Vec<String>, Vec<String>, Vec<String>) {
    let (catalog, pending) = memory.scan(index_id);
    let (whole, all) = memory.scan(None);
    assert_eq!(said(&catalog), said(&whole));
    let paths: Vec<String> = catalog.rows().map(|row| catalog.path(row)).collect();
    let indexable = |catalog: &Catalog| -> Vec<String> {
        catalog.rows().filter(|&row| catalog.is_indexable(row)).map(|row| catalog.path(row)).collect()
    };
    let mut sorted = indexable(&catalog);
    sorted.sort();
    assert_eq!(sorted, all);
    assert_eq!(catalog.n_pending(), pending.len());
    let problems = catalog.problems().into_iter().map(|problem| format!("{}: {}", problem.path, problem.code));
    (paths, indexable(&catalog), problems.collect())
}

#[test]
fn lists_entries_and_nothing_else() {
    let memory = Memory::new();
    for path in ["knowledge/b.md", "knowledge/a/z.md", "journal/run-1/0001.md", "knowledge/a-b/y.md", "knowledge/ü.md"]
    {
        memory.write(path, text(path));
    }
    for path in ["knowledge/.hidden.md", "knowledge/#a.md", "knowledge/a.md~", "knowledge/notes.txt", "README.md"] {
        memory.write(path, text(path));
    }
    memory.write("knowledge/.git/x.md", text("x"));
    memory.write("archive/knowledge/old.md", text("old"));
    memory.link("nowhere", "knowledge/.#a.md");
    let (paths, indexable, problems) = check(&memory, None);
    let expected =
        ["journal/run-1/0001.md", "knowledge/b.md", "knowledge/ü.md", "knowledge/a/z.md", "knowledge/a-b/y.md"];
    let mut sorted = expected.map(|path| path.rsplit_once('/').unwrap());
    sorted.sort_unstable();
    assert_eq!(paths, sorted.map(|(folder, name)| format!("{folder}/{name}")));
    assert_eq!(indexable, paths);
    assert!(problems.is_empty(), "{problems:?}");

    let scan = Catalog::scan(&memory.store, Area::Archive, None, later());
    let archive = scan.read(&memory.store, &mut |_, _| {});
    assert_eq!(archive.rows().map(|row| archive.path(row)).collect::<Vec<_>>(), ["archive/knowledge/old.md"]);
    assert_eq!(archive.id(0).unwrap().as_str(), "knowledge/old");
}

#[test]
fn opens_nothing_when_nothing_changed() {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("a"));
    memory.write("knowledge/sub/b.md", text("b"));
    memory.fifo("knowledge/pipe.md");
    memory.index(None, "i1");
    let scan = Catalog::scan(&memory.store, Area::Live, Some("i1"), later());
    assert_eq!(scan.n_pending(), 0);
    assert!(scan.index_is_known());
    let catalog = scan.read(&memory.store, &mut |_, _| panic!("nothing is pending"));
    assert_eq!((catalog.n_reread(), catalog.n_pending(), catalog.len()), (0, 0, 3));
    assert!(!catalog.changed_since_manifest());
    assert_eq!(catalog.head(catalog.row_of_path("knowledge/a.md").unwrap()).title, "a");
    assert_eq!(catalog.row_of_id(&Id::parse("knowledge/sub/b").unwrap()), catalog.row_of_path("knowledge/sub/b.md"));
    assert_eq!(catalog.row_of_path("knowledge/c.md"), None);
}

#[test]
fn hashes_recently_changed_files_again() {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("a"));
    let (mut catalog, _) = memory.scan_at(None, SystemTime::now());
    catalog.save(&memory.store, "i1", true).unwrap();
    let (mut catalog, pending) = memory.scan_at(Some("i1"), later());
    assert_eq!((catalog.n_reread(), pending.len()), (1, 0));
    assert!(catalog.changed_since_manifest());
    catalog.save(&memory.store, "i1", false).unwrap();
    let (catalog, _) = memory.scan_at(Some("i1"), later());
    assert_eq!(catalog.n_reread(), 0);
    // A time in the future is racy until it has passed.
    memory.set_mtime("knowledge/a.md", SystemTime::now() + Duration::from_secs(3600));
    for _ in 0..2 {
        let (mut catalog, _) = memory.scan_at(Some("i1"), later());
        assert_eq!(catalog.n_reread(), 1);
        catalog.save(&memory.store, "i1", false).unwrap();
    }
    let (catalog, _) = memory.scan_at(Some("i1"), later());
    assert!(!catalog.changed_since_manifest());
}

#[test]
fn knows_a_racy_stat() {
    let stat =
        |mtime, ctime| crate::store::FileStat { kind: crate::store::FileKind::File, size: 1, mtime, ctime, ino: 1 };
    let now = 1_800_000_000_500_000_000;
    let ms = 1_000_000;
    assert!(!table::is_racy(&stat(now - 21 * ms, now - 21 * ms), now));
    assert!(table::is_racy(&stat(now - 19 * ms, 0), now));
    assert!(table::is_racy(&stat(0, now - 20 * ms), now));
    assert!(table::is_racy(&stat(now + 5, now - 900 * ms), now));
    assert!(table::is_racy(&stat(0, now - 1_500 * ms), now), "whole seconds");
    assert!(!table::is_racy(&stat(0, now - 2_500 * ms), now), "whole seconds");
}

/// Makes a memory, indexes it, changes it, and compares the catalog with the expected one:
/// the titles by path, the pending and the stale paths.
#[track_caller]
fn check_change(change: impl Fn(&Memory), titles: &[(&str, &str)], pending: &[&str], stale: &[&str]) {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("one"));
    memory.write("knowledge/sub/b.md", text("two"));
    memory.write("journal/run-1/0001.md", text("six"));
    memory.index(None, "i1");
    change(&memory);
    memory.tick();
    check(&memory, Some("i1"));
    let (catalog, seen) = memory.scan(Some("i1"));
    let mut found: Vec<(String, String)> =
        catalog.rows().map(|row| (catalog.path(row), catalog.head(row).title)).collect();
    found.sort();
    assert_eq!(found, titles.iter().map(|(path, title)| (path.to_string(), title.to_string())).collect::<Vec<_>>());
    assert_eq!(seen, pending);
    assert_eq!(catalog.stale_paths(), stale);
}

const A: (&str, &str) = ("knowledge/a.md", "one");
const B: (&str, &str) = ("knowledge/sub/b.md", "two");
const J: (&str, &str) = ("journal/run-1/0001.md", "six");

#[test]
fn sees_files_change() {
    let act = |script: &'static str| move |memory: &Memory| memory.act(script);
    let (new, c) = (("knowledge/a.md", "new"), "knowledge/c.md");
    let a = ["knowledge/a.md"];
    check_change(|_| {}, &[J, A, B], &[], &[]);
    check_change(act("write knowledge/a.md new"), &[J, new, B], &a, &a);
    check_change(act("replace knowledge/a.md new"), &[J, new, B], &a, &a);
    // The stat differs and the bytes do not.
    check_change(act("replace knowledge/a.md one"), &[J, A, B], &[], &[]);
    check_change(act("rm knowledge/a.md"), &[J, B], &[], &a);
    check_change(act("mv knowledge/a.md knowledge/c.md"), &[J, (c, "one"), B], &[c], &a);
    let with_old_mtime = |path: &'static str, script: &'static str| {
        move |memory: &Memory| {
            let before = fs::metadata(memory.at(path)).unwrap().modified().unwrap();
            memory.act(script);
            memory.set_mtime(path, before);
        }
    };
    check_change(with_old_mtime("knowledge/a.md", "write knowledge/a.md new"), &[J, new, B], &a, &a);
    check_change(with_old_mtime("knowledge", "replace knowledge/c.md new"), &[J, A, (c, "new"), B], &[c], &[]);
    // Two files exchange their names.
    let swap = act(
        "mv knowledge/a.md knowledge/swap; mv knowledge/sub/b.md knowledge/a.md; mv knowledge/swap knowledge/sub/b.md",
    );
    let both = ["knowledge/a.md", "knowledge/sub/b.md"];
    check_change(swap, &[J, (both[0], "two"), (both[1], "one")], &both, &both);
}

#[test]
fn sees_folders_change() {
    let check = |script: &'static str, titles: &[(&str, &str)], pending: &[&str], stale: &[&str]| {
        check_change(|memory| memory.act(script), titles, pending, stale);
    };
    let (a, b, j) = (A.0, B.0, J.0);
    let [moved, deep, into, inside] =
        ["knowledge/moved/b.md", "knowledge/x/y/c.md", "knowledge/sub/run-1/0001.md", "knowledge/a.md/c.md"];
    check("mv knowledge/sub knowledge/moved", &[J, A, (moved, "two")], &[moved], &[b]);
    check("rm knowledge/sub", &[J, A], &[], &[b]);
    check("rm knowledge", &[J], &[], &[a, b]);
    check("write knowledge/x/y/c.md three", &[J, A, B, (deep, "three")], &[deep], &[]);
    check("mv journal/run-1 knowledge/sub/run-1", &[A, B, (into, "six")], &[into], &[j]);
    // A folder becomes a file, and a file a folder.
    check("rm knowledge/sub; write knowledge/sub no-entry", &[J, A], &[], &[b]);
    check("rm knowledge/a.md; write knowledge/a.md/c.md three", &[J, (inside, "three"), B], &[inside], &[a]);
    // Another folder takes the name.
    let other = "write knowledge/other/b.md new; rm knowledge/sub; mv knowledge/other knowledge/sub";
    check(other, &[J, A, (b, "new")], &[b], &[b]);
    // A folder becomes a link to itself: its content does not count.
    check("mv knowledge/sub elsewhere; ln ../elsewhere knowledge/sub", &[J, A], &[], &[b]);
    // So does the one above.
    check("mv knowledge elsewhere; ln elsewhere knowledge", &[J], &[], &[a, b]);
}

#[test]
fn sees_a_new_folder_fill_later() {
    let memory = Memory::new();
    memory.make("knowledge/new/deeper");
    memory.index(None, "i1");
    assert_eq!(check(&memory, Some("i1")).0.len(), 0);
    memory.write("knowledge/new/deeper/a.md", text("a"));
    assert_eq!(check(&memory, Some("i1")).0, ["knowledge/new/deeper/a.md"]);
    // The area's own folder comes last.
    memory.write("journal/run-1/0001.md", text("1"));
    assert_eq!(check(&memory, Some("i1")).0, ["journal/run-1/0001.md", "knowledge/new/deeper/a.md"]);
}

#[test]
fn reports_files_that_are_not_entries() {
    let memory = Memory::new();
    memory.write("knowledge/good.md", text("good"));
    memory.index(None, "i1");
    memory.make("journal");
    memory.act("ln good.md knowledge/link.md; ln nowhere knowledge/dangling.md; ln ../knowledge journal/folder-link");
    memory.act("ln good.md knowledge/notes.txt");
    memory.fifo("knowledge/pipe.md");
    memory.write("knowledge/large.md", vec![b'x'; 1024 * 1024 + 1]);
    memory.write("knowledge/folder.md/inside.md", text("inside"));
    memory.write("knowledge/latin.md", b"---\ntitle: caf\xe9\n---\n");
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    fs::write(memory.at("knowledge").join(name), text("lost")).unwrap();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    fs::create_dir(memory.at("knowledge").join(name)).unwrap();
    let deep = format!("knowledge{}", "/d".repeat(33));
    memory.make(&deep);
    let expected = [
        ".ralph/journal/folder-link: link",
        ".ralph/knowledge/caf\u{fffd}.md: name-not-utf8",
        ".ralph/knowledge/caf\u{fffd}: name-not-utf8",
        ".ralph/knowledge/dangling.md: link",
        &format!(".ralph/{deep}: too-deep"),
        ".ralph/knowledge/folder.md: not-a-file",
        ".ralph/knowledge/large.md: too-large",
        ".ralph/knowledge/link.md: link",
        ".ralph/knowledge/pipe.md: not-a-file",
    ];
    for (from, to) in [(Some("i1"), "i2"), (Some("i2"), "i3")] {
        let (paths, indexable, problems) = check(&memory, from);
        let mut problems: Vec<String> =
            problems.into_iter().filter(|problem| !problem.starts_with(".ralph/knowledge/latin.md")).collect();
        problems.sort();
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(problems, expected);
        assert_eq!(indexable, ["knowledge/good.md", "knowledge/folder.md/inside.md"]);
        assert_eq!(paths.len(), 7);
        memory.index(from, to);
    }
    // A file that was not an entry becomes one.
    memory.act(
        "rm knowledge/link.md; rm knowledge/pipe.md; write knowledge/link.md file; replace knowledge/large.md small",
    );
    let (_, indexable, _) = check(&memory, Some("i3"));
    assert_eq!(
        indexable,
        ["knowledge/good.md", "knowledge/large.md", "knowledge/link.md", "knowledge/folder.md/inside.md"]
    );
    // And the reverse.
    memory.index(Some("i3"), "i4");
    memory.remove("knowledge/good.md");
    memory.fifo("knowledge/good.md");
    memory.act("rm knowledge/link.md; ln large.md knowledge/link.md");
    check(&memory, Some("i4"));
    assert_eq!(memory.scan(Some("i4")).0.stale_paths(), ["knowledge/good.md", "knowledge/link.md"]);
}

#[test]
fn reports_obstacles_at_the_paths_of_its_folders() {
    let memory = Memory::new();
    memory.write("elsewhere/a.md", text("a"));
    memory.link("elsewhere", "knowledge");
    memory.write("journal", "a file");
    let expected = [".ralph/journal: not-a-folder", ".ralph/knowledge: link"];
    let (paths, _, problems) = check(&memory, None);
    assert_eq!((paths.len(), problems), (0, expected.map(str::to_owned).to_vec()));
    memory.index(None, "i1");
    memory.remove("knowledge");
    memory.rename("elsewhere", "knowledge");
    let (paths, _, problems) = check(&memory, Some("i1"));
    assert_eq!((paths.len(), problems.len()), (1, 1));
    memory.link("elsewhere", "archive");
    let scan = Catalog::scan(&memory.store, Area::Archive, None, later());
    let problems = scan.read(&memory.store, &mut |_, _| {}).problems();
    assert_eq!(problems.iter().map(|problem| problem.path.as_str()).collect::<Vec<_>>(), [".ralph/archive"]);
}

#[test]
fn gives_an_id_to_the_first_file_by_path() {
    let memory = Memory::new();
    memory.write("journal/m/r/1.md", text("second"));
    memory.index(None, "i1");
    memory.write("journal/a/r/1.md", text("first"));
    memory.write("journal/z/r/1.md", text("third"));
    let (_, indexable, problems) = check(&memory, Some("i1"));
    assert_eq!(indexable, ["journal/a/r/1.md"]);
    assert_eq!(problems, [".ralph/journal/m/r/1.md: duplicate-id", ".ralph/journal/z/r/1.md: duplicate-id"]);
    let (mut catalog, pending) = memory.scan(Some("i1"));
    assert_eq!((pending, catalog.stale_paths()), (vec!["journal/a/r/1.md".into()], vec!["journal/m/r/1.md".into()]));
    let problem = &catalog.problems()[0];
    assert!(problem.message.contains("`.ralph/journal/a/r/1.md`"), "{problem}");
    let first = catalog.row_of_id(&Id::parse("journal/r/1").unwrap()).unwrap();
    assert_eq!(catalog.path(first), "journal/a/r/1.md");
    catalog.save(&memory.store, "i2", true).unwrap();
    // The first goes: the second has the id, though its own file did not change.
    memory.remove("journal/a/r/1.md");
    let (catalog, pending) = memory.scan(Some("i2"));
    assert_eq!(pending, ["journal/m/r/1.md"]);
    assert_eq!(catalog.stale_paths(), ["journal/a/r/1.md"]);
    assert_eq!(check(&memory, Some("i2")).2, [".ralph/journal/z/r/1.md: duplicate-id"]);
    // A link that comes first hides nothing.
    memory.index(Some("i2"), "i3");
    memory.make("journal/a/r");
    memory.link("../../m/r/1.md", "journal/a/r/1.md");
    let (_, indexable, problems) = check(&memory, Some("i3"));
    assert_eq!(indexable, ["journal/m/r/1.md"]);
    assert_eq!(problems, [".ralph/journal/a/r/1.md: link", ".ralph/journal/z/r/1.md: duplicate-id"]);
    assert_eq!(memory.scan(Some("i3")).1.len(), 0);
    // The winner becomes unreadable.
    memory.write("journal/m/r/1.md", vec![b'x'; 1024 * 1024 + 1]);
    assert_eq!(check(&memory, Some("i3")).1, ["journal/z/r/1.md"]);
}

#[test]
fn keeps_rows_pending_until_they_are_indexed() {
    let memory = Memory::indexed(&["a", "b"]);
    memory.write("knowledge/a.md", text("A"));
    memory.remove("knowledge/b.md");
    for round in 0..3 {
        let (mut catalog, pending) = memory.scan(Some("i1"));
        assert_eq!(pending, ["knowledge/a.md"]);
        assert_eq!(catalog.stale_paths(), ["knowledge/a.md", "knowledge/b.md"]);
        assert_eq!(catalog.changed_since_manifest(), round == 0);
        catalog.save(&memory.store, "i1", false).unwrap();
    }
    // Back to what the index holds.
    memory.write("knowledge/a.md", text("a"));
    let (catalog, pending) = memory.scan(Some("i1"));
    assert_eq!((pending.len(), catalog.n_pending()), (0, 0));
    assert_eq!(catalog.stale_paths(), ["knowledge/b.md"]);
    // A save without the index commit: the old index is used again.
    memory.index(Some("i1"), "i2");
    memory.write("knowledge/c.md", text("c"));
    memory.index(Some("i2"), "i3");
    let (catalog, pending) = memory.scan(Some("i2"));
    assert_eq!(pending, ["knowledge/c.md"]);
    assert!(catalog.index_is_known());
    // But not the one before that.
    assert!(!memory.scan(Some("i1")).0.index_is_known());
}

#[test]
fn an_index_without_manifest_is_unknown() {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("a"));
    let (mut catalog, pending) = memory.scan(Some("i1"));
    assert_eq!((catalog.index_is_known(), pending.len()), (false, 1));
    catalog.save(&memory.store, "i1", false).unwrap();
    let (mut catalog, pending) = memory.scan(Some("i1"));
    assert_eq!((catalog.index_is_known(), pending.len()), (false, 1));
    catalog.save(&memory.store, "i2", false).unwrap();
    let (mut catalog, _) = memory.scan(Some("i2"));
    assert!(!catalog.index_is_known());
    catalog.save(&memory.store, "i2", true).unwrap();
    assert!(memory.scan(Some("i2")).0.index_is_known());
    assert!(memory.scan(None).0.index_is_known());
    assert!(catalog.save(&memory.store, "../i2", true).is_err());
    assert!(!memory.scan(Some("../i2")).0.index_is_known());
}

#[test]
fn one_file_is_examined_again() {
    let memory = Memory::indexed(&["a"]);
    let (mut catalog, _) = memory.scan(Some("i1"));
    for (number, path) in ["knowledge/b.md", "knowledge/a.md", "knowledge/new/c.md", "d.md"].into_iter().enumerate() {
        memory.write(path, text("new"));
        let mut pending = Vec::new();
        let scan = catalog.rescan_path(&memory.store, path, later());
        catalog = scan.read(&memory.store, &mut |path, _| pending.push(path.to_owned()));
        memory.tick();
        assert_eq!((pending.len(), catalog.n_pending()), ((number + 1).min(3), (number + 1).min(3)), "{path}");
        assert_eq!(said(&catalog), said(&memory.scan(None).0), "{path}");
    }
    memory.remove("knowledge/a.md");
    catalog = catalog.rescan_path(&memory.store, "knowledge/a.md", later()).read(&memory.store, &mut |_, _| {});
    assert_eq!((catalog.len(), catalog.stale_paths()), (2, vec!["knowledge/a.md".to_owned()]));
}

#[test]
fn answers_without_its_cache() {
    let memory = Memory::indexed(&["a", "b"]);
    // Heads that are gone are read again; the index is still known.
    for heads in memory.cached("heads-") {
        fs::remove_file(heads).unwrap();
    }
    let (mut catalog, pending) = memory.scan(Some("i1"));
    assert_eq!((catalog.n_reread(), pending.len(), catalog.index_is_known()), (2, 0, true));
    check(&memory, Some("i1"));
    catalog.save(&memory.store, "i1", false).unwrap();
    let (catalog, _) = memory.scan(Some("i1"));
    assert_eq!(catalog.n_reread(), 0);
    assert!(catalog.table.rows.iter().all(|row| row.head_len > 0));
    // Heads that disappear while they are in use stay readable, and are saved whole.
    let (mut catalog, _) = memory.scan(Some("i1"));
    for heads in memory.cached("heads-") {
        fs::remove_file(heads).unwrap();
    }
    assert_eq!(catalog.head(0).title, "a");
    memory.write("knowledge/c.md", text("c"));
    catalog = walk::run(catalog, &memory.store, nanoseconds(later())).read(&memory.store, &mut |_, _| {});
    catalog.save(&memory.store, "i2", true).unwrap();
    let (catalog, _) = memory.scan(Some("i2"));
    assert_eq!((catalog.n_reread(), catalog.head(0).title.as_str(), catalog.head(2).title.as_str()), (0, "a", "c"));
    // No cache at all.
    memory.remove("cache");
    let (catalog, pending) = memory.scan(Some("i2"));
    assert_eq!((pending.len(), catalog.index_is_known()), (3, false));
}

#[test]
fn works_where_the_cache_cannot_be_written() {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("a"));
    memory.write("cache", "a file, so that no folder can be made even by root");
    let (mut catalog, pending) = memory.scan(None);
    assert_eq!(pending, ["knowledge/a.md"]);
    let before = said(&catalog);
    assert!(catalog.save(&memory.store, "i1", true).is_err());
    assert_eq!((said(&catalog), catalog.n_pending()), (before, 1));
    // The same when the manifest fails and the heads do not.
    memory.remove("cache");
    memory.make("cache/catalog-v2/live/manifest-i1");
    let before = said(&catalog);
    assert!(catalog.save(&memory.store, "i1", true).is_err());
    assert_eq!((said(&catalog), catalog.n_pending()), (before, 1));
    catalog.save(&memory.store, "i2", true).unwrap();
    assert_eq!(memory.scan(Some("i2")).0.n_reread(), 0);
}

#[test]
fn keeps_its_files_small() {
    let memory = Memory::new();
    let count = 40;
    for number in 0..count {
        memory.write(&format!("knowledge/{number:02}.md"), text("first") + &"[[a link]] ".repeat(100));
    }
    memory.index(None, "i0");
    let whole = fs::metadata(&memory.cached("heads-")[0]).unwrap().len();
    for round in 0..60 {
        let name = format!("knowledge/{:02}.md", round % count);
        memory.write(&name, text(&format!("{round}")) + &"[[a link]] ".repeat(100));
        memory.index(Some(&format!("i{round}")), &format!("i{}", round + 1));
        assert!(memory.cached("manifest-").len() <= 2);
        assert!(memory.cached("heads-").len() <= 2);
    }
    let heads = memory.cached("heads-");
    let len = fs::metadata(heads.last().unwrap()).unwrap().len();
    assert!(len <= (2 * whole).max(64 << 10) + 4096, "{len} after {whole}");
    check(&memory, Some("i60"));
}

#[test]
fn survives_a_damaged_cache() {
    let memory = Memory::new();
    (0..6).for_each(|number| memory.write(&format!("knowledge/{number}.md"), text(&format!("number {number}"))));
    memory.write("knowledge/events/1.md", text("duplicate"));
    memory.fifo("knowledge/pipe.md");
    memory.index(None, "i1");
    memory.write("knowledge/2.md", text("changed"));
    memory.remove("knowledge/3.md");
    memory.scan(Some("i1")).0.save(&memory.store, "i1", false).unwrap();
    let expected = said(&memory.scan(None).0);
    let files = [memory.cached("manifest-"), memory.cached("heads-")].concat();
    assert_eq!(files.len(), 2);
    for file in files {
        let sound = fs::read(&file).unwrap();
        let check = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            let (catalog, pending) = memory.scan_at(Some("i1"), later());
            assert_eq!(said(&catalog), expected);
            if catalog.index_is_known() {
                assert_eq!(pending, ["knowledge/2.md"]);
                assert_eq!(catalog.stale_paths(), ["knowledge/2.md", "knowledge/3.md"]);
            } else {
                assert_eq!(pending.len(), 5);
            }
        };
        let mut bytes = sound.clone();
        for at in (0..sound.len()).step_by(3) {
            bytes[at] ^= 1 << (at % 8);
            check(&bytes);
            bytes[at] = sound[at];
        }
        for len in (0..sound.len()).step_by(7) {
            check(&sound[..len]);
        }
        check(&[sound.as_slice(), b"more"].concat());
        check(&vec![0; sound.len()]);
        fs::write(&file, &sound).unwrap();
    }
    assert!(memory.scan(Some("i1")).0.index_is_known());
}

#[test]
fn never_uses_the_head_of_another_entry() {
    let memory = Memory::new();
    // All have the same body, so that the heads have the same size.
    let text = |title: &str| format!("---\ntitle: \"{title}\"\ntags: [one]\n---\n\nThe same body.\n");
    memory.write("knowledge/b.md", text("one"));
    memory.write("knowledge/c.md", text("two"));
    memory.index(None, "i1");
    // The file loses its end, as in a power cut, and heads of the same size are put there; the
    // manifest from before points at them.
    let heads = memory.cached("heads-").remove(0);
    let half = fs::metadata(&heads).unwrap().len() / 2;
    fs::File::options().write(true).open(&heads).unwrap().set_len(half).unwrap();
    memory.write("knowledge/a.md", text("six"));
    memory.index(Some("i1"), "i2");
    assert_eq!(memory.cached("heads-"), [heads]);
    for index_id in ["i1", "i2"] {
        let (catalog, _) = memory.scan(Some(index_id));
        let titles: Vec<String> = catalog.rows().map(|row| catalog.head(row).title).collect();
        assert_eq!(titles, ["six", "one", "two"]);
    }
}

#[test]
fn trusts_no_stat_that_is_marked_as_racy() {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("one"));
    let (mut catalog, _) = memory.scan_at(None, SystemTime::now());
    assert!(catalog.table.rows[0].has(AGAIN) && catalog.table.folders[0].again > 0);
    catalog.save(&memory.store, "i1", true).unwrap();
    // What a file system with coarse stamps shows after a change: the same stat as before.
    let forge = |mut catalog: Catalog, again: bool| {
        memory.write("knowledge/a.md", text("two"));
        memory.write("knowledge/b.md", text("new"));
        let folder = memory.store.folder("knowledge").unwrap();
        catalog.table.folders[0].stat = table::fingerprint(&folder.stat().unwrap());
        catalog.table.folders[0].again = again.into();
        catalog.table.rows[0].stat = table::fingerprint(&folder.stat_of("a.md").unwrap());
        catalog.table.rows[0].set(AGAIN, again);
        let catalog = walk::run(catalog, &memory.store, nanoseconds(later())).read(&memory.store, &mut |_, _| {});
        memory.remove("knowledge/b.md");
        memory.write("knowledge/a.md", text("one"));
        catalog.rows().map(|row| catalog.head(row).title).collect::<Vec<_>>()
    };
    assert_eq!(forge(catalog, true), ["two", "new"]);
    assert_eq!(forge(memory.scan(Some("i1")).0, false), ["one"], "so stamps alone would not do");
}

#[test]
fn sees_everything_after_a_storm() {
    let memory = Memory::new();
    memory.write("knowledge/a/x.md", text("x"));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let is_over = &is_over;
    let at = |path: &str| memory.at(path);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0_usize.. {
                let (one, other) = if round % 2 == 0 { ("a", "b") } else { ("b", "a") };
                let folder = |name: &str| at("knowledge").join(name);
                fs::rename(folder(one), folder(other)).unwrap();
                fs::write(folder(other).join(format!("{}.md", round % 7)), text(&round.to_string())).unwrap();
                let _ = fs::remove_file(folder(other).join(format!("{}.md", round % 5)));
                let _ = fs::remove_dir_all(folder("c"));
                fs::create_dir_all(folder("c/d.md")).unwrap();
                fs::write(folder("c/d.md/y.md"), text(&round.to_string())).unwrap();
                let _ = fs::remove_file(folder("pipe.md"));
                mknodat(CWD, folder("pipe.md"), FileType::Fifo, Mode::RUSR, 0).unwrap();
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
            }
        });
        let mut index_id = None;
        for round in 0..150 {
            let (mut catalog, _) = memory.scan_at(index_id.as_deref(), SystemTime::now());
            said(&catalog);
            let next = format!("i{round}");
            catalog.save(&memory.store, &next, true).unwrap();
            index_id = Some(next);
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    memory.tick();
    check(&memory, Some("i149"));
}

#[test]
fn repairs_damaged_heads_when_it_saves() {
    let memory = Memory::indexed(&["0", "1", "2", "3", "4", "5"]);
    let file = memory.cached("heads-").remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[20] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (mut catalog, _) = memory.scan(Some("i1"));
    assert!(!catalog.changed_since_manifest());
    assert_eq!(catalog.head(0).title, "0");
    assert!(catalog.changed_since_manifest());
    catalog.save(&memory.store, "i1", false).unwrap();
    let (mut catalog, pending) = memory.scan(Some("i1"));
    assert_eq!((catalog.n_reread(), pending.len()), (1, 0));
    catalog.save(&memory.store, "i1", false).unwrap();
    let (catalog, _) = memory.scan(Some("i1"));
    assert_eq!((catalog.n_reread(), catalog.head(0).title.as_str()), (0, "0"));
    assert!(!catalog.changed_since_manifest());
}

#[test]
fn heads_survive_their_encoding() {
    let memory = Memory::new();
    memory.write("knowledge/a.md", text("a"));
    memory
        .write("journal/run-1/0001.md", "---\nrun_id: run-1\niteration: 1\noutcome: failed\n---\n\n## Summary\n\nx\n");
    let mut heads = Vec::new();
    let scan = Catalog::scan(&memory.store, Area::Live, None, later());
    let catalog = scan.read(&memory.store, &mut |path, entry| heads.push((path.to_owned(), entry.head.clone())));
    assert_eq!(heads.len(), 2);
    for (path, head) in heads {
        assert_eq!(catalog.head(catalog.row_of_path(&path).unwrap()), head);
    }
    assert!(!catalog.heads.is_damaged());
}
