//! Git as people have it: many settings and kinds of repository, with the same files in each. The program says the
//! same of all of them, changes nothing in any repository, fetches nothing, starts nothing, and leaves little behind.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use ralph_memory::Memory;
use serde_json::Value;

use crate::program::{NOW, files};
use crate::random::Random;

/// Settings of a repository that change what commands for people print, or how files are stored. `TRAP` is a program
/// that must never run.
const SETTINGS: &str = "core.splitIndex=true color.ui=always color.grep=always color.status=always color.diff=always log.showRoot=false \
    log.showSignature=true log.follow=true log.decorate=full log.date=relative log.diffMerges=first-parent \
    log.mailmap=true format.pretty=oneline format.notes=true diff.external=TRAP diff.renames=copies diff.noprefix=true \
    diff.relative=true diff.ignoreSubmodules=all diff.algorithm=patience diff.submodule=log diff.orderFile=/dev/null \
    diff.indentHeuristic=false diff.autoRefreshIndex=false status.showUntrackedFiles=no status.relativePaths=false \
    status.branch=true status.short=true status.renames=copies status.submoduleSummary=true core.quotePath=true \
    core.untrackedCache=true core.fsmonitor=TRAP core.preloadIndex=false core.commitGraph=false \
    core.precomposeUnicode=true core.autocrlf=input core.safecrlf=true core.abbrev=4 core.pager=TRAP pager.diff=TRAP \
    core.editor=TRAP core.askPass=TRAP core.sshCommand=TRAP core.hooksPath=TRAPS core.looseCompression=9 \
    core.trustctime=false core.checkStat=minimal core.bigFileThreshold=1 core.logAllRefUpdates=always index.version=4 \
    index.threads=1 index.sparse=true feature.manyFiles=true feature.experimental=true \
    i18n.logOutputEncoding=ISO-8859-1 submodule.recurse=true grep.lineNumber=true grep.column=true \
    grep.patternType=perl gc.auto=1 alias.status=!TRAP filter.trap.clean=TRAP filter.trap.process=TRAP";

/// Kinds of repository, and what may differ from a plain one in each.
const KINDS: [(&str, Differs); 20] = [
    ("plain", Differs::Nothing),
    ("sha256", Differs::Names),
    ("reftable", Differs::Nothing),
    ("linked", Differs::Nothing),
    ("beside-bare", Differs::Nothing),
    ("separate", Differs::Nothing),
    ("submodule", Differs::Nothing),
    ("with-submodule", Differs::Tree),
    ("detached", Differs::Nothing),
    ("packed", Differs::Nothing),
    ("shared", Differs::Nothing),
    ("shallow", Differs::History),
    ("blobless", Differs::Lines),
    ("treeless", Differs::Verdicts),
    ("sparse", Differs::Nothing),
    ("sparse-index", Differs::Nothing),
    ("touched", Differs::Nothing),
    ("locked", Differs::Nothing),
    ("large", Differs::Tree),
    ("environment", Differs::Nothing),
];

/// What may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Differs {
    Nothing,
    /// The names of objects, and with them of commits.
    Names,
    /// The trees, since there are more files.
    Tree,
    /// The extent of a file's change is in missing objects; its removal is reported anyway.
    Lines,
    /// What the oldest commit that is there changed: what was before it is not.
    History,
    /// Which commits changed a file is in objects that are not there.
    Verdicts,
}

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) settings: usize,
    /// How many settings were made at once that name a program.
    pub(crate) traps: usize,
    pub(crate) kinds: usize,
    /// What the git at hand cannot make.
    pub(crate) unsupported: Vec<&'static str>,
    /// The most that was left in the scratch of a memory, in bytes.
    pub(crate) most_left: u64,
}

/// What the program says of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    /// The trees before and behind a change, and on the way back.
    trees: Vec<Value>,
    /// The files that each of the attempts made and changed.
    files: Vec<Value>,
    /// The report about entries that name files.
    verdicts: Vec<String>,
    /// What is not committed.
    uncommitted: String,
}

/// Looks at every kind of repository, at a plain one with all settings that name a program, and at plain ones with one
/// setting each: so many of them, or all where there are no more.
pub(crate) fn run(place: &Path, program: &Path, settings: usize, seed: u64) -> Outcome {
    let matrix = Matrix::new(place, program);
    let mut outcome = Outcome::default();
    let expected = matrix.look(&matrix.make("plain").unwrap(), &mut outcome);
    assert!(expected.trees[0].is_string() && expected.trees[0] != expected.trees[1], "{expected:?}");
    assert_eq!(expected.trees[2], expected.trees[0]);
    assert_eq!(expected.verdicts.len(), 2, "{expected:?}");
    for (kind, differs) in KINDS {
        let Some(root) = matrix.make(kind) else {
            outcome.unsupported.push(kind);
            continue;
        };
        let mut said = matrix.look(&root, &mut outcome);
        let mut expected = expected.clone();
        let cut = |verdicts: &mut Vec<String>, keep: &dyn Fn(&str) -> bool| {
            verdicts.retain(|verdict| keep(verdict));
        };
        match differs {
            Differs::Nothing => {}
            Differs::Lines => cut(&mut expected.verdicts, &|verdict| verdict.contains("is gone")),
            Differs::History => expected.verdicts.clear(),
            Differs::Verdicts => [&mut expected, &mut said].into_iter().for_each(|said| said.verdicts.clear()),
            Differs::Names | Differs::Tree => {
                for said in [&mut expected, &mut said] {
                    assert!(said.trees[0] == said.trees[2] && said.trees[0] != said.trees[1], "{kind}: {said:?}");
                    said.trees.clear();
                }
            }
        }
        if differs == Differs::Names {
            // The commit follows `since`.
            let without = |verdict: &mut String| *verdict = verdict.split_once(": ").unwrap().1.to_owned();
            for said in [&mut expected, &mut said] {
                said.verdicts.iter_mut().for_each(without);
            }
        }
        assert_eq!(said, expected, "{kind}");
        outcome.kinds += 1;
    }
    let root = matrix.make("plain").unwrap();
    for setting in SETTINGS.split(' ').filter(|setting| setting.contains("TRAP")) {
        matrix.set(&root, setting);
        outcome.traps += 1;
    }
    assert_eq!(matrix.look(&root, &mut outcome), expected, "all settings that name a program");
    let mut left: Vec<&str> = SETTINGS.split(' ').collect();
    let mut random = Random(seed);
    for _ in 0..settings.min(left.len()) {
        let setting = left.swap_remove(random.below(left.len()));
        let root = matrix.make("plain").unwrap();
        matrix.set(&root, setting);
        assert_eq!(matrix.look(&root, &mut outcome), expected, "{setting}");
        outcome.settings += 1;
    }
    outcome
}

struct Matrix {
    place: PathBuf,
    program: PathBuf,
    home: PathBuf,
    trap: PathBuf,
    trace: PathBuf,
    /// A repository with two commits that others are cloned from.
    origin: PathBuf,
}

impl Matrix {
    fn new(place: &Path, program: &Path) -> Matrix {
        let at = |name: &str| place.join(name);
        let matrix = Matrix {
            place: place.to_owned(),
            program: program.to_owned(),
            home: at("home"),
            trap: at("traps/post-index-change"),
            trace: at("trace"),
            origin: at("origin"),
        };
        for folder in [&matrix.home, &at("traps"), &matrix.origin] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(&matrix.trap, format!("#!/bin/sh\ntouch '{}'\nexit 1\n", matrix.trace.display())).unwrap();
        fs::set_permissions(&matrix.trap, fs::Permissions::from_mode(0o755)).unwrap();
        matrix.fill(&matrix.origin, &[]);
        matrix.git(&matrix.origin, &["config", "uploadpack.allowFilter", "true"]);
        matrix
    }

    /// Runs git as a person would, without settings.
    fn try_git(&self, folder: &Path, arguments: &[&str]) -> Output {
        // The first commit is older than the entries.
        let at = if arguments.ends_with(&["one"]) { "2026-01-15T00:00:00Z" } else { "2026-03-01T00:00:00Z" };
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@e", "-c", "protocol.file.allow=always"]);
        command.args(["-c", "init.defaultBranch=main"]).args(arguments).current_dir(folder);
        command.env_clear().env("HOME", &self.home).env("PATH", std::env::var_os("PATH").unwrap());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_AUTHOR_DATE", at);
        command.env("GIT_COMMITTER_DATE", at).output().unwrap()
    }

    #[track_caller]
    fn git(&self, folder: &Path, arguments: &[&str]) {
        let output = self.try_git(folder, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// Makes a repository with two commits in a folder; returns whether git can.
    fn fill(&self, root: &Path, init: &[&str]) -> bool {
        fs::create_dir_all(root).unwrap();
        if !self.try_git(root, &[&["init", "--quiet"], init].concat()).status.success() {
            return false;
        }
        let lines = |from: usize| (from..from + 40).map(|line| line.to_string() + "\n").collect::<String>();
        for (path, text) in [
            (".gitignore", "/.ralph/\n".to_owned()),
            ("src/changed.rs", lines(200)),
            ("src/gone.rs", lines(300)),
            ("src/kept.rs", lines(0)),
            ("src/dropped é \"x\".rs", lines(0)),
            ("out/of/cone.txt", lines(0)),
        ] {
            put(&root.join(path), &text);
        }
        self.git(root, &["add", "--all"]);
        self.git(root, &["commit", "--quiet", "--message", "one"]);
        put(&root.join("src/changed.rs"), &lines(100));
        fs::remove_file(root.join("src/gone.rs")).unwrap();
        self.git(root, &["add", "--all"]);
        self.git(root, &["commit", "--quiet", "--message", "two"]);
        true
    }

    /// Makes a repository of a kind with a memory in it, and returns the folder that holds the memory; `None` where
    /// the git at hand knows none of the kind.
    fn make(&self, kind: &str) -> Option<PathBuf> {
        let base = self.place.join("made");
        let _ = fs::remove_dir_all(&base);
        fs::create_dir_all(&base).unwrap();
        let mut root = base.join("project");
        let (own, origin) = (root.display().to_string(), format!("file://{}", self.origin.display()));
        let clone = |more: &[&str]| self.git(&base, &[&["clone", "--quiet"], more, &[&origin, &own]].concat());
        match kind {
            "sha256" => self.fill(&root, &["--object-format=sha256"]).then_some(())?,
            "reftable" => self.fill(&root, &["--ref-format=reftable"]).then_some(())?,
            "separate" => drop(self.fill(&root, &["--separate-git-dir", "../elsewhere"])),
            "linked" => {
                self.fill(&base.join("main"), &[]);
                self.git(&base.join("main"), &["worktree", "add", "--quiet", "--detach", &own]);
            }
            "beside-bare" => {
                self.git(&base, &["clone", "--quiet", "--bare", &origin, "bare.git"]);
                root = base.join("bare.git/project");
                self.git(&base.join("bare.git"), &["worktree", "add", "--quiet", "project"]);
            }
            "submodule" => {
                self.git(&base, &["init", "--quiet", "outer"]);
                self.git(&base.join("outer"), &["submodule", "--quiet", "add", &origin, "project"]);
                root = base.join("outer/project");
            }
            "with-submodule" => {
                self.fill(&root, &[]);
                self.git(&root, &["submodule", "--quiet", "add", &origin, "part"]);
                self.git(&root, &["commit", "--quiet", "--message", "part"]);
                // Changed in itself, which is its own affair.
                put(&root.join("part/src/new.rs"), "x");
            }
            "shared" => clone(&["--shared"]),
            "shallow" => clone(&["--depth=1"]),
            "blobless" => clone(&["--filter=blob:none"]),
            "treeless" => clone(&["--filter=tree:0"]),
            _ => drop(self.fill(&root, &[])),
        }
        match kind {
            "detached" => self.git(&root, &["checkout", "--quiet", "--detach"]),
            "packed" => self.git(&root, &["gc", "--quiet"]),
            "sparse" => self.git(&root, &["sparse-checkout", "set", "src"]),
            "sparse-index" => self.git(&root, &["sparse-checkout", "set", "--sparse-index", "src"]),
            "touched" => {
                let kept = File::options().write(true).open(root.join("src/kept.rs")).unwrap();
                kept.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
            }
            "locked" => {
                // Of one that was killed long ago.
                let lock = File::create(root.join(".git/index.lock")).unwrap();
                lock.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
            }
            "large" => {
                for number in 0..4 {
                    let data = File::create(root.join(format!("data-{number}.bin"))).unwrap();
                    data.set_len(1024 * 1024 * 1024).unwrap();
                }
            }
            "blobless" | "treeless" => {
                self.git(&root, &["config", "remote.origin.uploadpack", self.trap.to_str().unwrap()]);
            }
            _ => {}
        }
        Memory::init(&root).unwrap();
        for name in ["changed", "gone", "kept"] {
            let head =
                format!("title: About {name}\ntags: [parser]\ncreated_at: \"2026-02-01\"\nfiles: [src/{name}.rs]");
            put(&root.join(format!(".ralph/knowledge/{name}.md")), &format!("---\n{head}\n---\n\nThe parser.\n"));
        }
        Some(root)
    }

    /// Changes a setting of a repository, and lets its index be as that wants it.
    fn set(&self, root: &Path, setting: &str) {
        let (name, value) = setting.split_once('=').unwrap();
        let traps = self.trap.parent().unwrap().to_str().unwrap();
        let value = value.replace("TRAPS", traps).replace("TRAP", self.trap.to_str().unwrap());
        if !value.contains(traps) {
            self.git(root, &["config", name, &value]);
            self.git(root, &["update-index", "--force-write-index"]);
            return;
        }
        self.git(root, &["config", name, &value]);
        put(&root.join(".git/info/attributes"), "* filter=trap diff=trap\n");
    }

    fn run(&self, root: &Path, arguments: &[&str], code: i32) -> Value {
        let mut command = Command::new(&self.program);
        command.args(["--now", NOW]).args(arguments).arg("--json").current_dir(root).env_clear();
        command.env("HOME", &self.home).env("PATH", std::env::var_os("PATH").unwrap()).env("GIT_CONFIG_NOSYSTEM", "1");
        // As a hook has it that git runs in another repository.
        let elsewhere = self.origin.join(".git");
        command.env("GIT_DIR", &elsewhere).env("GIT_INDEX_FILE", elsewhere.join("index")).env("GIT_PREFIX", "src/");
        command.env("GIT_TRACE", &self.trace).env("GIT_EXTERNAL_DIFF", &self.trap).env("GIT_PAGER", &self.trap);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Lets the program look at a repository while a change comes and goes.
    fn look(&self, root: &Path, outcome: &mut Outcome) -> Said {
        let before = self.hashes();
        let (kept, dropped, new) =
            (root.join("src/kept.rs"), root.join("src/dropped é \"x\".rs"), root.join("src/new.rs"));
        let old = [&kept, &dropped].map(|path| (path, fs::read(path).unwrap()));
        let mut said = Said { trees: Vec::new(), files: Vec::new(), verdicts: Vec::new(), uncommitted: String::new() };
        for change in [None, Some(true), Some(false)] {
            self.run(root, &["context", "--task", "parser", "--task-id", "t-1"], 0);
            // It goes once the attempt is recorded.
            let left: u64 =
                files(&root.join(".ralph/state")).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
            assert!(left > 0 && left < 256 * 1024, "{left} bytes are left in `state/`");
            outcome.most_left = outcome.most_left.max(left);
            match change {
                None => {}
                Some(true) => {
                    put(&new, "new\n");
                    put(&kept, "changed\n");
                    fs::remove_file(&dropped).unwrap();
                }
                Some(false) => {
                    fs::remove_file(&new).unwrap();
                    for (path, bytes) in &old {
                        fs::write(path, bytes).unwrap();
                    }
                }
            }
            let recorded = self.run(root, &["record", "--task-id", "t-1", "--outcome", "failed"], 0);
            said.trees.push(recorded["attempt"]["tree"].clone());
            said.files.push(recorded["attempt"]["files"].clone());
        }
        let checked = self.run(root, &["check"], 0);
        let verdicts = checked["problems"].as_array().unwrap().iter().filter(|problem| problem["code"] == "unverified");
        said.verdicts = verdicts.map(|problem| problem["message"].as_str().unwrap().to_owned()).collect();
        let findings = checked["ok"].as_array().unwrap();
        let of_git = findings.iter().filter(|finding| finding["code"] == "git-commit");
        said.uncommitted = of_git.map(|finding| finding["message"].as_str().unwrap()).collect();
        assert!(!self.trace.exists(), "a program was run, or a trace written");
        let after = self.hashes();
        let paths = before.keys().chain(after.keys());
        let changed: BTreeSet<_> = paths.filter(|path| before.get(*path) != after.get(*path)).collect();
        assert!(changed.is_empty(), "outside of the memory {changed:?} changed");
        said
    }

    /// Returns the hashes of all files outside of a memory, in repositories and work trees alike.
    fn hashes(&self) -> BTreeMap<PathBuf, u64> {
        let hash = |path: PathBuf| {
            let stat = fs::symlink_metadata(&path).unwrap();
            let mut hasher = DefaultHasher::new();
            stat.len().hash(&mut hasher);
            // Large files are never written here.
            if stat.is_file() && stat.len() < 1024 * 1024 {
                fs::read(&path).unwrap().hash(&mut hasher);
            }
            (path, hasher.finish())
        };
        let is_of_memory = |path: &PathBuf| {
            path.components().any(|part| part.as_os_str() == ".ralph" || part.as_os_str() == "ralph-memory")
        };
        files(&self.place).into_iter().filter(|path| !is_of_memory(path)).map(hash).collect()
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
