//! A catalog that grows call by call equals one that is built at once, whatever happens to the files and to the cache
//! in between.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;

/// Changes to the files. There are only a few paths, so that changes collide.
#[derive(Debug, Clone)]
enum ModelStep {
    Write(usize, usize),
    Replace(usize, usize),
    /// In place, with the same size and the same mtime.
    SneakyWrite(usize, usize),
    /// With an mtime in the future.
    WriteAhead(usize, usize),
    Rename(usize, usize),
    Move(usize, usize),
    Remove(usize),
    RemoveFolder(usize),
    Make(usize),
    Touch(usize),
    Chmod(usize),
    Link(usize),
    Fifo(usize),
    Large(usize),
    NotText(usize),
    /// The cache as a whole, or one of its files.
    LoseCache(bool),
}

/// What a call does after its scan.
#[derive(Debug, Clone)]
enum Then {
    Nothing,
    /// Saved for the index as it is.
    Save,
    /// Saved, and the index committed, or not.
    Commit(bool),
}

const FOLDERS: [&str; 8] = [
    "knowledge",
    "knowledge/a",
    "knowledge/a-b",
    "knowledge/a/b",
    "knowledge/c.md",
    "journal",
    "journal/run-1",
    "journal/run-2",
];
const NAMES: [&str; 5] = ["x.md", "y.md", "0001.md", "c.md", "notes.txt"];
const N_FILES: usize = FOLDERS.len() * NAMES.len();
const N_TEXTS: usize = 3;

fn file(number: usize) -> String {
    format!("{}/{}", FOLDERS[number / NAMES.len()], NAMES[number % NAMES.len()])
}

fn step() -> impl Strategy<Value = ModelStep> {
    let file = || 0..N_FILES;
    let folder = || 0..FOLDERS.len();
    prop_oneof![
        6 => (file(), 0..N_TEXTS).prop_map(|(file, text)| ModelStep::Write(file, text)),
        4 => (file(), 0..N_TEXTS).prop_map(|(file, text)| ModelStep::Replace(file, text)),
        4 => (file(), 0..N_TEXTS).prop_map(|(file, text)| ModelStep::SneakyWrite(file, text)),
        1 => (file(), 0..N_TEXTS).prop_map(|(file, text)| ModelStep::WriteAhead(file, text)),
        4 => (file(), file()).prop_map(|(from, to)| ModelStep::Rename(from, to)),
        4 => (folder(), folder()).prop_map(|(from, to)| ModelStep::Move(from, to)),
        3 => file().prop_map(ModelStep::Remove),
        1 => folder().prop_map(ModelStep::RemoveFolder),
        1 => folder().prop_map(ModelStep::Make),
        1 => file().prop_map(ModelStep::Touch),
        1 => file().prop_map(ModelStep::Chmod),
        2 => file().prop_map(ModelStep::Link),
        1 => file().prop_map(ModelStep::Fifo),
        1 => file().prop_map(ModelStep::Large),
        1 => file().prop_map(ModelStep::NotText),
        1 => any::<bool>().prop_map(ModelStep::LoseCache),
    ]
}

fn then() -> impl Strategy<Value = Then> {
    prop_oneof![
        2 => Just(Then::Nothing),
        2 => Just(Then::Save),
        3 => any::<bool>().prop_map(Then::Commit),
    ]
}

/// Makes a step, if it is possible; a step that the file system refuses is skipped.
fn take(memory: &Memory, step: &ModelStep) -> Option<()> {
    let content = |number: usize| text(["one", "two", "six"][number]);
    let make_parent = |path: &str| fs::create_dir_all(memory.at(path).parent().unwrap()).ok();
    let clear = |path: &str| drop(fs::remove_file(memory.at(path)));
    match *step {
        ModelStep::Write(to, text) => {
            make_parent(&file(to))?;
            clear_special(memory, &file(to));
            fs::write(memory.at(&file(to)), content(text)).ok()
        }
        ModelStep::Replace(to, text) => {
            make_parent(&file(to))?;
            fs::write(memory.at("temporary"), content(text)).ok()?;
            fs::rename(memory.at("temporary"), memory.at(&file(to))).ok()
        }
        ModelStep::SneakyWrite(to, text) => {
            let metadata = memory.at(&file(to)).symlink_metadata().ok()?;
            let mtime = metadata.is_file().then(|| metadata.modified().unwrap())?;
            fs::write(memory.at(&file(to)), content(text)).ok()?;
            memory.set_mtime(&file(to), mtime);
            Some(())
        }
        ModelStep::WriteAhead(to, text) => {
            take(memory, &ModelStep::Write(to, text))?;
            memory.set_mtime(&file(to), SystemTime::now() + Duration::from_secs(100));
            Some(())
        }
        ModelStep::Rename(from, to) => {
            make_parent(&file(to))?;
            fs::rename(memory.at(&file(from)), memory.at(&file(to))).ok()
        }
        ModelStep::Move(from, to) => {
            make_parent(FOLDERS[to])?;
            fs::rename(memory.at(FOLDERS[from]), memory.at(FOLDERS[to])).ok()
        }
        ModelStep::Remove(path) => fs::remove_file(memory.at(&file(path))).ok(),
        ModelStep::RemoveFolder(path) => fs::remove_dir_all(memory.at(FOLDERS[path])).ok(),
        ModelStep::Make(path) => fs::create_dir_all(memory.at(FOLDERS[path])).ok(),
        ModelStep::Touch(path) => {
            memory.at(&file(path)).symlink_metadata().ok()?;
            memory.set_mtime(&file(path), SystemTime::now());
            Some(())
        }
        ModelStep::Chmod(path) => {
            use std::os::unix::fs::PermissionsExt as _;
            let metadata = memory.at(&file(path)).symlink_metadata().ok()?;
            let mode = metadata.is_file().then(|| metadata.permissions().mode() ^ 0o444)?;
            fs::set_permissions(memory.at(&file(path)), fs::Permissions::from_mode(mode)).ok()
        }
        ModelStep::Link(path) => {
            make_parent(&file(path))?;
            clear(&file(path));
            std::os::unix::fs::symlink("x.md", memory.at(&file(path))).ok()
        }
        ModelStep::Fifo(path) => {
            make_parent(&file(path))?;
            clear(&file(path));
            (!memory.at(&file(path)).exists()).then(|| memory.fifo(&file(path)))
        }
        ModelStep::Large(path) => {
            make_parent(&file(path))?;
            clear_special(memory, &file(path));
            fs::write(memory.at(&file(path)), vec![b'x'; 1024 * 1024 + 1]).ok()
        }
        ModelStep::NotText(path) => {
            make_parent(&file(path))?;
            clear_special(memory, &file(path));
            fs::write(memory.at(&file(path)), b"---\ntitle: caf\xe9\n---\n").ok()
        }
        ModelStep::LoseCache(true) => fs::remove_dir_all(memory.at("cache")).ok(),
        ModelStep::LoseCache(false) => {
            let files = fs::read_dir(memory.at("cache/catalog-v2/live")).ok()?;
            let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            files.sort();
            fs::remove_file(files.first()?).ok()
        }
    }
}

/// Writing to a FIFO would wait for a reader, and writing to a link would create its target.
fn clear_special(memory: &Memory, path: &str) {
    if memory.at(path).symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let _ = fs::remove_file(memory.at(path));
    }
}

/// The expected content of the index.
#[derive(Default)]
struct Model {
    index_id: Option<String>,
    documents: BTreeMap<String, Vec<u8>>,
    n_saves: usize,
}

impl Model {
    fn call(&mut self, memory: &Memory, is_settled: bool, then: &Then) {
        // At the real time everything is racy; ten seconds later nothing is, except files from the future.
        let now = if is_settled { later() } else { SystemTime::now() };
        let scan = Catalog::scan(&memory.store, Area::Live, self.index_id.as_deref(), now);
        let at_most = scan.n_pending();
        let mut pending = Vec::new();
        let mut catalog = scan.read(&memory.store, &mut |path, entry| {
            assert_eq!(*entry, entry::read(path, &fs::read(memory.at(path)).unwrap()));
            pending.push(path.to_owned());
        });
        pending.sort();

        let mut whole_pending = Vec::new();
        let whole = Catalog::scan(&memory.store, Area::Live, None, now);
        let whole = whole.read(&memory.store, &mut |path, _| whole_pending.push(path.to_owned()));
        memory.tick();
        assert_eq!(said(&catalog), said(&whole));

        let indexable = catalog.rows().filter(|&row| catalog.is_indexable(row));
        let files: BTreeMap<String, Vec<u8>> =
            indexable.map(|row| (catalog.path(row), fs::read(memory.at(&catalog.path(row))).unwrap())).collect();
        whole_pending.sort();
        assert_eq!(whole_pending, files.keys().cloned().collect::<Vec<_>>());
        assert_eq!(catalog.n_pending(), pending.len());
        assert!(pending.len() <= at_most);
        if catalog.index_is_known() {
            let differs = |from: &BTreeMap<String, Vec<u8>>, to: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
                from.iter().filter(|(path, bytes)| to.get(*path) != Some(bytes)).map(|(path, _)| path.clone()).collect()
            };
            assert_eq!(pending, differs(&files, &self.documents));
            assert_eq!(catalog.stale_paths(), differs(&self.documents, &files));
        } else {
            assert_eq!(pending, whole_pending);
        }

        match then {
            Then::Nothing => {}
            Then::Save => {
                if let Some(index_id) = &self.index_id {
                    catalog.save(&memory.store, index_id, false).unwrap();
                    assert!(!catalog.changed_since_manifest());
                }
            }
            Then::Commit(is_committed) => {
                self.n_saves += 1;
                let index_id = format!("i{}", self.n_saves);
                catalog.save(&memory.store, &index_id, true).unwrap();
                assert_eq!(said(&catalog), said(&whole));
                assert_eq!((catalog.n_pending(), catalog.stale_paths().len()), (0, 0));
                if *is_committed {
                    self.index_id = Some(index_id);
                    self.documents = files;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn is_the_same_as_from_scratch(
        calls in prop::collection::vec((prop::collection::vec(step(), 0..4), any::<bool>(), then()), 1..24),
    ) {
        let memory = Memory::new();
        let mut model = Model::default();
        for (steps, is_settled, then) in &calls {
            for step in steps {
                take(&memory, step);
            }
            model.call(&memory, *is_settled, then);
        }
    }
}
