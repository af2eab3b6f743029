//! Full and read-only disks. Acknowledged entries are whole, refused calls report the reason with exit code 6 and leave
//! nothing behind, reading works, also in a browser, and so does writing once there is room.
//!
//! The campaign runs in a folder of [`own_disk`](crate::own_disk): `disk` in it has 1 MiB.
//!
//! The tests fill the disk once, and the program `campaigns` any number of times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::browser::visit;
use crate::program::{NOW, Program, Ran, copy_project, files, is_temporary, word};
use crate::random::Random;

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How often the disk was full.
    pub(crate) fills: usize,
    /// How many commands wrote something, and how many were refused, by name.
    pub(crate) written: BTreeMap<&'static str, usize>,
    pub(crate) refused: BTreeMap<&'static str, usize>,
}

/// A memory on a small disk, and its expected content.
struct Disk {
    program: Program,
    root: PathBuf,
    /// What each file holds that was acknowledged, or comes with a memory.
    kept: BTreeMap<PathBuf, Vec<u8>>,
    /// The words of the live entries, by path.
    words: BTreeMap<PathBuf, String>,
    /// The words of knowledge that a refused `record` may have written down, as it says it does.
    maybe: Vec<String>,
    n_words: usize,
    outcome: Outcome,
}

/// Fills the disk in `place` so often, with what is written at random.
pub(crate) fn run(place: &Path, program: &Path, fills: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    let mut disk = Disk {
        program: Program::new(program, place),
        root: place.join("disk"),
        kept: BTreeMap::new(),
        words: BTreeMap::new(),
        maybe: Vec::new(),
        n_words: 0,
        outcome: Outcome::default(),
    };
    let _ = disk.ask(&["init"], "").ended(0, "init");
    for path in disk.entry_files() {
        disk.kept.insert(path.clone(), fs::read(path).unwrap());
    }
    while disk.outcome.fills < fills {
        disk.outcome.fills += 1;
        let place = format!("seed {seed}, fill {}", disk.outcome.fills);
        while disk.write(&mut random, &place) {}
        disk.check(&mut random, &place);
        disk.browse(&mut random, &place);
        disk.check(&mut random, &place);
        disk.make_room(&mut random, &place);
    }
    disk.outcome
}

impl Disk {
    fn ask(&self, arguments: &[&str], input: &str) -> Ran {
        self.program.run(&self.root, NOW, arguments, input)
    }

    /// Returns the files of entries, and whatever else lies among them.
    fn entry_files(&self) -> Vec<PathBuf> {
        let memory = self.root.join(".ralph");
        ["knowledge", "journal", "archive"].iter().flat_map(|folder| files(&memory.join(folder))).collect()
    }

    fn text(&mut self, random: &mut Random) -> (String, String) {
        self.n_words += 1;
        let own = word(self.n_words);
        let mut body = format!("It says {own}.");
        // Some are less than a page of memory, and some as long as a section of the journal may be.
        let longest = *random.pick(&[100, 100, 100, 1_500]);
        for _ in 0..random.below(longest) {
            body = format!("{body} {}", word(1_000_000 + random.below(5_000)));
        }
        (own.clone(), format!("{body} That was {own}."))
    }

    /// Writes something, and returns whether there was room for it.
    fn write(&mut self, random: &mut Random, place: &str) -> bool {
        let live: Vec<PathBuf> =
            self.words.keys().filter(|path| path.starts_with(self.root.join(".ralph/knowledge"))).cloned().collect();
        match random.below(6) {
            0..3 => self.add(random, None, place),
            3 if !live.is_empty() => {
                let path = random.pick(&live).clone();
                self.add(random, Some(&path), place)
            }
            3 => true,
            4 => self.record(random, place),
            _ => self.ask_context(place),
        }
    }

    /// Adds an entry, or updates one, as an agent, like the facts in `record`.
    fn add(&mut self, random: &mut Random, over: Option<&Path>, place: &str) -> bool {
        let (own, body) = self.text(random);
        let title = over.map_or_else(|| format!("About {own}"), |path| title_of(&self.kept[path]));
        let ran = self.ask(&["add", &title, "--tags", &own, "--source", "agent", "--json"], &body);
        let what = if over.is_some() { "update" } else { "add" };
        let Some(added) = self.acknowledged(what, &ran, place) else { return false };
        assert_eq!(added["action"], if over.is_some() { "updated" } else { "created" }, "{place}: {ran}");
        self.keep(added["path"].as_str().unwrap(), &own, &body, place);
        true
    }

    /// Asks for a prompt, which needs no room: only a note of it may be missing.
    fn ask_context(&mut self, place: &str) -> bool {
        let ran = self.ask(&["context", "--task", "Fill the disk", "--run", "run-0000000f", "--json"], "");
        self.acknowledged("context", &ran, place).expect(place);
        true
    }

    fn record(&mut self, random: &mut Random, place: &str) -> bool {
        let ((own, notes), (said, body)) = (self.text(random), self.text(random));
        let text = format!(
            "<knowledge tags=\"{said}\" title=\"About {said}\">{body}</knowledge>\n<journal>{notes}</journal>\n"
        );
        let ran = self.ask(
            &["record", "--task", "Fill the disk", "--run", "run-0000000f", "--outcome", "failed", "--json"],
            &text,
        );
        let Some(recorded) = self.acknowledged("record", &ran, place) else {
            self.maybe.push(said);
            return false;
        };
        let written = &recorded["attempt"];
        self.keep(recorded["knowledge"][0]["path"].as_str().unwrap(), &said, &body, place);
        self.keep(written["path"].as_str().unwrap(), &own, &notes, place);
        true
    }

    /// Returns the answer of a command that did what it was asked; one that did not must say that there is no room.
    fn acknowledged(&mut self, what: &'static str, ran: &Ran, place: &str) -> Option<Value> {
        if ran.code == Some(0) {
            *self.outcome.written.entry(what).or_default() += 1;
            return Some(ran.json());
        }
        *self.outcome.refused.entry(what).or_default() += 1;
        assert_eq!((ran.code, ran.signal), (Some(6), None), "{place}: {ran}");
        let error = &ran.json()["error"];
        let causes = error["causes"].as_array().unwrap();
        assert_eq!(causes.last(), Some(&json!("No space left on device (os error 28)")), "{place}: {ran}");
        // The agent's output is kept, and the error names the command that records it.
        let hint = error["hint"].as_str().unwrap();
        let is_kept = what == "record" && hint.starts_with("make room on the disk; then `ralph-memory --root ");
        assert!(is_kept || hint == "make room on the disk, and run the command again", "{place}: {ran}");
        None
    }

    /// Records the content of an entry's file, which must be the expected one.
    fn keep(&mut self, path: &str, own: &str, body: &str, place: &str) {
        let path = self.root.join(path);
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let is_whole = text.contains(body) || text.replace("\n> ", "\n").contains(body);
        assert!(is_whole, "{place}: {} is not whole", path.display());
        self.kept.insert(path.clone(), bytes);
        self.words.insert(path, own.to_owned());
    }

    /// Looks at every file, and asks for some of them.
    fn check(&mut self, random: &mut Random, place: &str) {
        for path in self.entry_files() {
            if self.kept.contains_key(&path) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let own = self.maybe.iter().find(|own| text.ends_with(&format!("That was {own}.\n"))).cloned();
            let own = own.unwrap_or_else(|| panic!("{place}: nobody wrote {}: {text}", path.display()));
            self.kept.insert(path.clone(), text.into_bytes());
            self.words.insert(path, own);
        }
        for (path, bytes) in &self.kept {
            assert!(fs::read(path).is_ok_and(|found| found == *bytes), "{place}: {} was changed", path.display());
        }
        for path in files(&self.root.join(".ralph")) {
            assert!(!is_temporary(&path), "{place}: {} is left over", path.display());
        }
        let words: Vec<&String> = self.words.values().collect();
        for _ in 0..5 {
            let own = *random.pick(&words);
            let hits = self.ask(&["search", own, "--json"], "").ended(0, place).json()["entries"].clone();
            let found: Vec<PathBuf> =
                hits.as_array().unwrap().iter().map(|hit| self.root.join(hit["path"].as_str().unwrap())).collect();
            assert!(found.iter().any(|path| self.words.get(path) == Some(own)), "{place}: `{own}` is not in {hits}");
        }
        let listed = self.ask(&["list", "--archived", "--json"], "").ended(0, place).json();
        let is_entry = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "md");
        let entries = self.kept.keys().filter(is_entry).count();
        assert_eq!(listed["entries"].as_array().unwrap().len(), entries, "{place}: {listed}");
        for command in [&["check", "--json"][..], &["--json"], &["context", "--task", "x", "--json"]] {
            let told = self.ask(command, "").ended(0, place).json();
            assert_eq!(told["problems"], json!([]), "{place}: {told}");
        }
    }

    /// Opens every page, and archives an entry by its form, which says so if there is no room for that.
    fn browse(&mut self, random: &mut Random, place: &str) {
        let knowledge = self.root.join(".ralph/knowledge");
        let live: Vec<PathBuf> = self.words.keys().filter(|path| path.starts_with(&knowledge)).cloned().collect();
        let path = random.pick(&live).clone();
        let id = format!("knowledge/{}", path.file_stem().unwrap().to_str().unwrap());
        let mut server = self.program.start(&self.root, NOW, &["serve", "--port", "0", "--json"]);
        let mut visit = visit(&mut server, &[("archive", &id)]);
        assert_eq!(server.wait().unwrap().code(), Some(130), "{place}: {}", visit.stderr);
        // The last one is a form without the token.
        visit.answers.pop();
        let (_, status, page) = visit.answers.pop().unwrap();
        for (name, status, page) in &visit.answers {
            assert!(matches!(status, 200 | 404), "{place}, {name}: {status} {page}");
        }
        if status == 303 {
            *self.outcome.written.entry("serve, archive").or_default() += 1;
            let (bytes, is_new) = (self.kept.remove(&path).unwrap(), |path: &PathBuf| !self.kept.contains_key(path));
            let moved: Vec<PathBuf> = self.entry_files().into_iter().filter(is_new).collect();
            assert_eq!(moved.len(), 1, "{place}: {id} became {moved:?}");
            self.words.remove(&path);
            self.kept.insert(moved[0].clone(), bytes);
        } else {
            *self.outcome.refused.entry("serve, archive").or_default() += 1;
            assert!(status == 500 && page.contains("No space left on device"), "{place}: {status} {page}");
        }
    }

    /// Deletes entries, as a person does, and sometimes the cache; then all is as ever.
    fn make_room(&mut self, random: &mut Random, place: &str) {
        let cache = self.root.join(".ralph/cache");
        if random.below(3) == 0 {
            let _ = fs::remove_dir_all(&cache);
        }
        let free = || {
            let stat = rustix::fs::statvfs(&self.root).unwrap();
            stat.f_bavail * stat.f_frsize
        };
        while free() < 600 * 1024 {
            if self.words.len() < 10 {
                // What is left of the room is in the cache, and in what `undo` keeps.
                let _ = fs::remove_dir_all(&cache);
                let _ = self.ask(&["undo", "--clear"], "").ended(0, place);
                if free() >= 600 * 1024 {
                    break;
                }
            }
            let paths: Vec<PathBuf> = self.words.keys().chain(self.kept.keys()).cloned().collect();
            let path = random.pick(&paths).clone();
            fs::remove_file(&path).unwrap();
            self.kept.remove(&path);
            self.words.remove(&path);
        }
        assert!(self.record(random, place), "{place}: there is room, and an attempt cannot be recorded");
        assert!(self.add(random, None, place), "{place}: there is room, and an entry cannot be written");
        self.check(random, place);
        let findings = self.ask(&["check", "--json"], "").ended(0, place).json()["ok"].clone();
        let is_known =
            |finding: &Value| finding["message"].as_str().is_some_and(|detail| detail.starts_with("live: commit"));
        assert!(findings.as_array().unwrap().iter().any(is_known), "{place}: {findings}");
    }
}

/// Returns the problems of files in the answer of `check`.
fn of_files(checked: &str) -> Value {
    let checked: Value = serde_json::from_str(checked).unwrap();
    checked["problems"].as_array().unwrap().iter().filter(|problem| problem["path"] != ".ralph/").cloned().collect()
}

fn title_of(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap().trim_matches('"').to_owned()
}

/// What only reads. None of it may need to write.
const READING: [&[&str]; 7] = [
    &["search", "nightly", "--json"],
    &["search", "nightly", "--archived", "--json"],
    &["show", "kept", "--json"],
    &["list", "--archived", "--json"],
    &["context", "--task", "nightly", "--json"],
    &["--json"],
    &["check", "--json"],
];
/// What writes entries.
const WRITING: [&[&str]; 11] = [
    &["add", "Other", "--tags", "a", "--body", "b"],
    &["add", "Kept", "--tags", "nightly", "--body", "A third one."],
    &["add", "--event", "decision", "It is decided."],
    &["edit", "other-one", "--supersedes", "kept"],
    &["edit", "kept", "--scope", "feature:x"],
    &["restore", "kept"],
    &["edit", "kept", "--title", "Renamed"],
    &["archive", "other-one"],
    &["undo"],
    &["record", "--task", "nightly", "--run", "run-0000000a", "--outcome", "failed"],
    &["index", "--rebuild"],
];

/// Creates a memory below `place`, and mounts first its cache, then all of it, read-only.
pub(crate) fn read_only(place: &Path, program: &Path) {
    let program = Program::new(program, place);
    let (root, own) = (place.join("disk/whole"), place.join("disk/own"));
    fs::create_dir(&root).unwrap();
    let run = |root: &Path, arguments: &[&str]| program.run(root, NOW, arguments, "");
    let must = |root: &Path, arguments: &[&str]| run(root, arguments).ended(0, &root.display().to_string());
    let mount = |arguments: &[&str], path: &Path| {
        assert!(Command::new("mount").args(arguments).arg(path).arg(path).status().unwrap().success());
    };
    let read_only = |path: &Path| {
        mount(&["--bind"], path);
        mount(&["-o", "remount,bind,ro"], path);
    };
    must(&root, &["init"]);
    must(&root, &["add", "Kept", "--tags", "nightly", "--body", "One."]);
    must(&root, &["add", "Kept", "--tags", "nightly", "--body", "Another nightly one."]);
    must(&root, &["add", "Other one", "--tags", "b", "--body", "Nothing of that sort."]);
    must(&root, &["context", "--task", "nightly", "--run", "run-0000000a"]);
    for has_cache in [true, false] {
        if !has_cache {
            fs::remove_dir_all(root.join(".ralph/cache")).unwrap();
            fs::create_dir(root.join(".ralph/cache")).unwrap();
        }
        let answers = |root: &Path, commands: &[&[&str]]| -> Vec<(Option<i32>, String)> {
            let ran = commands.iter().map(|arguments| run(root, arguments));
            ran.map(|ran| (ran.code, ran.stdout.replace(root.to_str().unwrap(), ""))).collect()
        };
        let told = answers(&root, &READING);
        // What is read is the same; what is written is refused, and nothing changes. `check` alone speaks of it.
        let memory = own.join(".ralph");
        let again = || {
            let _ = fs::remove_dir_all(&own);
            copy_project(&root, &own, &|_| false);
            if has_cache {
                // The one that was copied is of another folder.
                must(&own, &["index"]);
            }
        };
        again();
        read_only(&own);
        let before: Vec<(PathBuf, Vec<u8>)> =
            files(&own).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        for (at, (found, expected)) in answers(&own, &READING[..6]).iter().zip(&told).enumerate() {
            assert_eq!(found, expected, "{:?}", READING[at]);
        }
        let checked = run(&own, READING[6]).ended(1, "what `check` says").stdout;
        assert!(checked.contains("cannot be written, so no command can change anything"), "{checked}");
        assert_eq!(of_files(&checked), of_files(&told[6].1));
        for arguments in WRITING {
            let ran = run(&own, arguments).ended(6, "a memory that can only be read");
            let why = "caused by: Read-only file system (os error 30)\n\
                       hint: the file system is mounted read-only; only reading commands work there";
            let behind = ran.stderr.split_once(why).expect(&ran.stderr).1;
            // The agent's output is kept, and the error names the command that records it.
            let is_kept = behind.contains("; then `ralph-memory --root ") && arguments[0] == "record";
            assert!(behind == "\n" || is_kept, "{ran}");
        }
        // What `record` kept would be reported from here on.
        for kept in files(&program.state_folder()).into_iter().filter(|path| !path.ends_with("key")) {
            fs::remove_file(kept).unwrap();
        }
        let after = before.iter().all(|(path, bytes)| fs::read(path).unwrap() == *bytes);
        assert!(after && files(&own).len() == before.len());
        assert!(Command::new("umount").arg(&own).status().unwrap().success());

        // Without a cache that can be written, everything works but the command for it.
        for kept in files(&place.join("home/.local/state")).iter().filter(|path| path.extension().is_some()) {
            fs::remove_file(kept).unwrap();
        }
        again();
        read_only(&memory.join("cache"));
        for (at, (found, expected)) in answers(&own, &READING[..6]).iter().zip(&told).enumerate() {
            assert_eq!(found, expected, "{:?}", READING[at]);
        }
        let checked = must(&own, READING[6]).stdout;
        assert!(checked.contains("cannot be written, so every search reads all files"), "{checked}");
        assert_eq!(of_files(&checked), of_files(&told[6].1));
        let (index, writing) = WRITING.split_last().unwrap();
        for arguments in writing {
            must(&own, arguments);
        }
        assert_eq!(run(&own, index).code, Some(6));
        let _ = must(&own, &["search", "decided"]);
        let cache = memory.join("cache");
        assert!(Command::new("umount").arg(cache).status().unwrap().success());
        let (found, writable) = (must(&own, READING[0]).stdout, must(&own, READING[3]).stdout);
        fs::remove_dir_all(memory.join("cache")).unwrap();
        assert_eq!((found, writable), (must(&own, READING[0]).stdout, must(&own, READING[3]).stdout));
    }
}
