//! Every kind of bad input is reported where it is wrong, hides no other file, is never rewritten,
//! and costs next to nothing. (Invariant 6; `fixtures/README.md` says what each file is.)

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::process::Command;
use std::time::Duration;

use ralph_memory::memory::EntryFilter;
use ralph_memory::{Id, Knowledge, Memory, Problem, Query, Request, Task};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::time::{ClockId, clock_gettime};

/// What can be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is an entry: found, and shown to agents.
    Entry,
    /// It is found by its words, and shown to no agent.
    Found,
    /// It is reported, and nothing else.
    Reported,
}
use Use::{Entry, Found, Reported};

/// The expected problem of a file: code, line and column (0 if there is none).
type Expected = &'static [(&'static str, u32, u32)];

/// What the files of `fixtures/broken` show, below `.ralph/`.
const KEPT: [(&str, Use, Expected); 29] = [
    ("knowledge/healthy.md", Entry, &[]),
    ("knowledge/alias-bomb.md", Found, &[("yaml-anchor", 4, 4)]),
    ("knowledge/bom.md", Entry, &[]),
    ("knowledge/brackets.md", Found, &[("frontmatter-too-large", 2, 1)]),
    ("knowledge/conflict-in-body.md", Entry, &[("merge-conflict", 6, 1)]),
    ("knowledge/conflict-in-frontmatter.md", Found, &[("merge-conflict", 2, 1)]),
    ("knowledge/control-in-body.md", Entry, &[("control-character", 6, 6)]),
    ("knowledge/control-in-frontmatter.md", Found, &[("control-character", 2, 11)]),
    ("knowledge/crlf.md", Entry, &[]),
    ("knowledge/dashes-in-body.md", Entry, &[]),
    ("knowledge/dashes-in-value.md", Entry, &[]),
    // The mapping is the first collection, so the 32nd bracket opens the 33rd.
    ("knowledge/deep.md", Found, &[("yaml-too-deep", 4, 40)]),
    ("knowledge/duplicate-keys.md", Found, &[("duplicate-key", 4, 1)]),
    ("knowledge/empty-tags.md", Entry, &[]),
    ("knowledge/empty.md", Reported, &[("no-frontmatter", 1, 1)]),
    ("knowledge/invalid-yaml.md", Found, &[("yaml", 2, 17)]),
    ("knowledge/large-frontmatter.md", Found, &[("frontmatter-too-large", 2, 1)]),
    ("knowledge/missing-title.md", Entry, &[]),
    ("knowledge/no-frontmatter.md", Entry, &[]),
    ("knowledge/not-utf8.md", Reported, &[("not-utf8", 6, 30)]),
    ("knowledge/tab.md", Found, &[("yaml", 3, 1)]),
    ("knowledge/tags-block-list.md", Entry, &[]),
    ("knowledge/tags-comma-string.md", Entry, &[]),
    ("knowledge/events/two-files.md", Entry, &[]),
    ("knowledge/title-number.md", Entry, &[]),
    ("knowledge/two-files.md", Reported, &[("duplicate-id", 0, 0)]),
    ("knowledge/unclosed.md", Found, &[("frontmatter-unclosed", 1, 1)]),
    ("journal/run-0badc0de/0001.md", Found, &[("missing-outcome", 2, 1)]),
    ("config.toml", Reported, &[]),
];

/// What the test makes, since git does not hold it or should not. U+FFFD stands for a byte that is
/// not UTF-8.
const MADE: [(&str, Use, Expected); 13] = [
    ("knowledge/large.md", Reported, &[("too-large", 0, 0)]),
    ("knowledge/caf\u{fffd}.md", Reported, &[("name-not-utf8", 0, 0)]),
    ("knowledge/fifo.md", Reported, &[("not-a-file", 0, 0)]),
    ("knowledge/socket.md", Reported, &[("not-a-file", 0, 0)]),
    ("knowledge/outside.md", Reported, &[("link", 0, 0)]),
    ("knowledge/outside", Reported, &[("link", 0, 0)]),
    ("knowledge/loop.md", Reported, &[("link", 0, 0)]),
    ("knowledge/loop", Reported, &[("link", 0, 0)]),
    ("knowledge/dangling.md", Reported, &[("link", 0, 0)]),
    ("knowledge/folder.md", Reported, &[("not-a-file", 0, 0)]),
    ("knowledge/folder.md/inside.md", Entry, &[]),
    ("knowledge/brackets-in-body.md", Entry, &[]),
    ("archive/knowledge/old.md", Reported, &[]),
];

/// How long any call may take.
const LIMIT: Duration = Duration::from_secs(1);
/// The same for 1 MiB of the worst, which takes unoptimised code most of a second. What is not linear
/// takes minutes.
const LIMIT_AT_WORST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

/// The fixture in a temporary folder.
struct Broken {
    /// Contains the memory in `root`, and something unrelated.
    folder: tempfile::TempDir,
}

impl Broken {
    fn new() -> Broken {
        let broken = Broken::empty();
        copy(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/broken")), &broken.root());
        broken
    }

    fn empty() -> Broken {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/.ralph/knowledge")).unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let secret = "---\ntitle: Secret\ntags: [secret]\n---\n\nThe word zzelsewhere is out of reach.\n";
        fs::write(folder.path().join("elsewhere/secret.md"), secret).unwrap();
        Broken { folder }
    }

    /// Adds files that git cannot contain.
    fn with_made(self) -> Broken {
        let at = |path: &str| self.root().join(".ralph/knowledge").join(path);
        let head = "---\ntitle: \"Made by the test\"\ntags: [made]\n---\n\n";
        fs::write(at("large.md"), format!("{head}{}", "The word zzlarge. ".repeat(2 * 1024 * 1024 / 18))).unwrap();
        fs::write(at("").join(OsStr::from_bytes(b"caf\xe9.md")), format!("{head}The word zzcafe.\n")).unwrap();
        mknodat(CWD, at("fifo.md"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        drop(std::os::unix::net::UnixListener::bind(at("socket.md")).unwrap());
        symlink("../../../elsewhere/secret.md", at("outside.md")).unwrap();
        symlink("../../../elsewhere", at("outside")).unwrap();
        symlink("loop.md", at("loop.md")).unwrap();
        symlink(".", at("loop")).unwrap();
        symlink("nowhere.md", at("dangling.md")).unwrap();
        fs::create_dir(at("folder.md")).unwrap();
        let inside = "---\ntitle: \"In a folder with an entry's name\"\ntags: [made]\n---\n\nThe word zzinside.\n";
        fs::write(at("folder.md/inside.md"), inside).unwrap();
        fs::write(at("brackets-in-body.md"), format!("{head}The word zzbracketsinbody.\n\n{}\n", "[".repeat(32_000)))
            .unwrap();
        fs::create_dir_all(self.root().join(".ralph/archive/knowledge")).unwrap();
        fs::write(self.root().join(".ralph/archive/knowledge/old.md"), "The word zzold.\n").unwrap();
        self
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn memory(&self) -> Memory {
        Memory::open(&self.root()).unwrap()
    }

    /// Returns the kind and content of every file, links as links, except rebuilt files.
    fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|found| found.unwrap().path()) {
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if path.ends_with(".ralph/cache") || path.ends_with(".ralph/state") {
                    continue;
                }
                let bytes = if kind.is_file() {
                    fs::read(&path).unwrap()
                } else if kind.is_symlink() {
                    fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
                } else {
                    format!("{kind:?}").into_bytes()
                };
                found.insert(path.clone(), bytes);
                if kind.is_dir() {
                    folders.push(path);
                }
            }
        }
        found
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for found in fs::read_dir(from).unwrap().map(|found| found.unwrap()) {
        let to = to.join(found.file_name());
        if found.file_type().unwrap().is_dir() {
            copy(&found.path(), &to);
        } else {
            fs::copy(found.path(), to).unwrap();
        }
    }
}

fn all() -> Vec<(&'static str, Use, Expected)> {
    KEPT.into_iter().chain(MADE).collect()
}

/// Returns the word that only one file's body contains.
fn word(path: &str) -> String {
    match path {
        "knowledge/events/two-files.md" => "zzfirstfile".to_owned(),
        "knowledge/two-files.md" => "zzsecondfile".to_owned(),
        "journal/run-0badc0de/0001.md" => "zzattempt".to_owned(),
        path => {
            let stem = path.rsplit('/').next().unwrap().trim_end_matches(".md");
            format!("zz{}", stem.replace('-', "").replace('\u{fffd}', "e"))
        }
    }
}

fn places(problems: &[Problem]) -> BTreeMap<String, Vec<(String, u32, u32)>> {
    let mut places: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for problem in problems {
        assert!(!problem.hint.trim().is_empty() && !problem.message.trim().is_empty(), "{problem:?}");
        assert!(!problem.hint.contains('\n') && !problem.message.contains('\n'), "{problem:?}");
        let place = (problem.code.clone(), problem.line.unwrap_or(0), problem.column.unwrap_or(0));
        places.entry(problem.path.clone()).or_default().push(place);
    }
    places
}

fn expected(files: &[(&str, Use, Expected)]) -> BTreeMap<String, Vec<(String, u32, u32)>> {
    let with_problems = files.iter().filter(|(_, _, expected)| !expected.is_empty());
    with_problems
        .map(|(path, _, expected)| {
            let places = expected.iter().map(|(code, line, column)| ((*code).to_owned(), *line, *column));
            (format!(".ralph/{path}"), places.collect())
        })
        .collect()
}

/// Makes a call that must not take long: of this thread's CPU, since the machine has other work too.
#[track_caller]
fn quick<T>(what: &str, call: impl FnOnce() -> T) -> T {
    within(LIMIT, what, call)
}

#[track_caller]
fn within<T>(limit: Duration, what: &str, call: impl FnOnce() -> T) -> T {
    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
    };
    let started = cpu();
    let result = call();
    let took = cpu().saturating_sub(started);
    assert!(took < limit, "{what} took {took:?}");
    result
}

fn found(memory: &Memory, text: &str) -> Vec<String> {
    let query = Query { text: text.to_owned(), ..Query::default() };
    quick(text, || memory.search(&query, 100)).unwrap().hits.into_iter().map(|hit| hit.entry.path.to_string()).collect()
}

#[test]
fn check_reports_the_place_the_problem_and_the_fix() {
    let broken = Broken::new().with_made();
    let memory = broken.memory();
    let checked = quick("the first check", || memory.check());
    assert_eq!(places(&checked.problems), expected(&all()));
    memory.rebuild_index().unwrap();
    let again = quick("a check with an index", || memory.check());
    // What is said of the index is another.
    assert_eq!((&again.problems, again.total, again.files), (&checked.problems, checked.total, checked.files));
    // Rows have an entry's name; a folder, or a name that is not text, is a problem and not a row.
    let not_rows =
        ["config.toml", "knowledge/caf\u{fffd}.md", "knowledge/folder.md", "knowledge/outside", "knowledge/loop"];
    assert_eq!(checked.files, all().len() - not_rows.len());
}

#[test]
fn each_broken_file_is_reported_and_hides_nothing() {
    for (path, _, expected_places) in KEPT {
        // Of two files with one id it takes two.
        if matches!(path, "knowledge/healthy.md" | "knowledge/two-files.md") {
            continue;
        }
        let broken = Broken::empty();
        let fixture = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/broken/.ralph"));
        for path in [path, "knowledge/healthy.md"] {
            let to = broken.root().join(".ralph").join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(fixture.join(path), to).unwrap();
        }
        let memory = broken.memory();
        let checked = quick(path, || memory.check());
        assert_eq!(places(&checked.problems), expected(&[(path, Entry, expected_places)]), "{path}");
        assert_eq!(found(&memory, "zzhealthy"), [".ralph/knowledge/healthy.md"], "{path}");
    }
}

#[test]
fn bodies_stay_searchable_and_agents_see_only_valid_entries() {
    let broken = Broken::new().with_made();
    let memory = broken.memory();
    for _ in 0..2 {
        for (path, usage, _) in all() {
            let word = word(path);
            let hits = found(&memory, &word);
            let expected = if usage == Reported { Vec::new() } else { vec![format!(".ralph/{path}")] };
            assert_eq!(hits, expected, "{path}");

            let request = Request { task: Task::new(&word), ..Request::default() };
            let context = quick(path, || memory.context(&request)).unwrap();
            let ids: Vec<Id> = if usage == Entry { Id::of_path(path).into_iter().collect() } else { Vec::new() };
            assert_eq!((context.entries, context.left_out), (ids, Vec::new()), "{path}");
            assert_eq!(context.text[context.notes_start..].contains(&word), usage == Entry, "{path}");
        }
        assert_eq!(found(&memory, "zzelsewhere"), Vec::<String>::new());
        // Once more from the index.
        memory.rebuild_index().unwrap();
    }
    let (healthy, title) = (".ralph/knowledge/healthy.md", "A healthy entry among broken ones");
    assert_eq!(found(&memory, title)[0], healthy);
    let listed = quick("list", || memory.list(&EntryFilter::default())).entries;
    assert!(listed.iter().any(|item| item.path.as_str() == healthy && item.title == title));
    let shown = quick("show", || memory.show(&Id::parse("healthy").unwrap())).unwrap();
    assert!(shown.entry.body.contains("zzhealthy") && shown.problems.is_empty());
}

#[test]
fn no_call_rewrites_a_broken_file() {
    let broken = Broken::new().with_made();
    let before = broken.bytes();
    let memory = broken.memory();
    // A title whose file name a broken file has already.
    let knowledge = Knowledge::new("No frontmatter", ["zznew"], "Ten new words that stand in no other file of these.");
    let added = quick("add", || memory.add(&knowledge)).unwrap();
    assert_eq!(added.path.as_str(), ".ralph/knowledge/no-frontmatter-2.md");
    found(&memory, "zzhealthy");
    memory.check();
    memory.context(&Request { task: Task::new("fixture entries"), ..Request::default() }).unwrap();
    quick("a new index", || memory.rebuild_index()).unwrap();
    quick("list", || memory.list(&EntryFilter { archived: true, ..EntryFilter::default() }));
    quick("status", || memory.status());
    for (path, _, _) in all() {
        if let Some(id) = Id::of_path(path) {
            // What cannot be read is refused, and that is all that may happen.
            let _ = quick(path, || memory.show(&id));
        }
    }
    found(&memory, "zzhealthy");

    let mut after = broken.bytes();
    let new = after.remove(&broken.root().join(&added.path)).unwrap();
    assert!(String::from_utf8(new).unwrap().contains("Ten new words"));
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{}", path.display());
    }
}

#[test]
fn a_body_that_is_slow_to_parse_stops_no_check() {
    let broken = Broken::empty();
    // As large as an entry may be, of what markdown parsers are slow at.
    let repeated = [
        "[", "![", "[[", "](", "[a][", "[x](", "[[a", "[[a]] ", "*", "_a ", "*a_ ", "**a", "`", "`a", "``` ", "<",
        "<a", "<!--", "&", ">", "> ", "- ", "1. ", "|", "a|b\n", "\\", "# ", "~~", "$", "a\n-\n",
    ];
    for (at, part) in repeated.iter().enumerate() {
        let head = format!("---\ntitle: \"Body {at}\"\ntags: [t{at}]\n---\n\n");
        let body = part.repeat((1024 * 1024 - head.len()) / part.len());
        let path = broken.root().join(".ralph/knowledge/slow.md");
        fs::write(&path, format!("{head}{body}")).unwrap();
        let memory = broken.memory();
        let checked = within(LIMIT_AT_WORST, part, || memory.check());
        // However many links there are, they are not reported one by one.
        assert!(checked.problems.len() < 100, "{part}: {} problems", checked.problems.len());
        fs::remove_file(path).unwrap();
    }
}

/// Names the memory that a process of its own reads.
const CHILD: &str = "RALPH_TEST_BROKEN_ROOT";
/// The most that a process may take to read them, in KiB.
const MAX_PEAK: u64 = 256 * 1024;

/// Starts itself once more, in a process in which nothing else runs: the peak is one of the process.
#[test]
#[cfg(target_os = "linux")]
fn reading_broken_files_takes_little_memory() {
    if let Some(root) = std::env::var_os(CHILD) {
        let memory = Memory::open(Path::new(&root)).unwrap();
        memory.check();
        found(&memory, "zzhealthy");
        memory.rebuild_index().unwrap();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < MAX_PEAK, "{peak} KiB");
        return;
    }
    let broken = Broken::new().with_made();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["broken::reading_broken_files_takes_little_memory", "--exact"]).env(CHILD, broken.root());
    let done = child.output().unwrap();
    assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains("1 passed"), "{done:?}");
}

/// Files as editors, templates, git and other systems leave them: each is read, or named where it is wrong.
#[test]
fn odd_files_are_read_or_named() {
    let entry = |head: &str| format!("---\ntitle: \"Turnips\"\n{head}\n---\nturnip\n");
    let (plain, lfs) =
        (entry("tags: [a]"), "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_owned());
    // The name, the text, whether its words find it, and the code and line of its problem.
    let cases: [(&str, &String, bool, &str, u32); 24] = [
        ("upper.MD", &plain, true, "", 0),
        ("long.markdown", &plain, true, "", 0),
        ("Mixed.Markdown", &plain, true, "", 0),
        ("team/upper.Md", &plain, true, "", 0),
        ("note.mdx", &plain, false, "", 0),
        ("note.txt", &plain, false, "", 0),
        ("#note.MD", &plain, false, "", 0),
        ("con.md", &plain, true, "lost-name", 0),
        ("aux.notes.MD", &plain, true, "lost-name", 0),
        ("a:b?.md", &plain, true, "lost-name", 0),
        ("dot./x.md", &plain, true, "lost-name", 0),
        ("lfs.md", &lfs, false, "lfs-pointer", 1),
        ("a.md", &entry("tags: #infra"), true, "lost-word", 3),
        ("b.md", &entry("tags: infra #db"), true, "lost-word", 3),
        ("c.md", &entry("tags:\n  - #infra\n  - db"), true, "lost-word", 4),
        ("d.md", &entry("tags: [infra,\n  #db\n  x]"), true, "lost-word", 4),
        ("e.md", &entry("aliases: Issue #12"), true, "lost-word", 3),
        ("f.md", &entry("tags: [a] #infra\nfeature: x #y"), true, "", 0),
        ("g.md", &entry("tags: \"a #b\" # a note\nquestions: ['what #c']"), true, "", 0),
        ("h.md", &entry("tags: [a]\ndate: {{date}}"), true, "yaml", 4),
        ("i.md", &entry("tags: [a]\ndate: {{ date }}\nfeature: x"), true, "yaml", 4),
        ("j.md", &entry("tags: [#a, b]\nfeature: x"), true, "yaml", 3),
        ("k.md", &entry("tags: [a]\nfiles: **/*.ts # web"), true, "yaml-alias", 4),
        ("l.md", &entry("tags: [a]\nfiles: src/**/*.ts # web"), true, "", 0),
    ];
    for (name, text, is_found, code, line) in cases {
        let folder = tempfile::tempdir().unwrap();
        Memory::init(folder.path()).unwrap();
        let path = folder.path().join(".ralph/knowledge").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let memory = Memory::open(folder.path()).unwrap();
        let found = memory.search(&Query { text: "turnip".into(), ..Query::default() }, 10).unwrap().hits;
        assert_eq!(!found.is_empty(), is_found, "{name}: {found:?}");
        let problems = memory.check().problems;
        let named: Vec<(&str, u32)> =
            problems.iter().map(|problem| (problem.code.as_str(), problem.line.unwrap_or(0))).collect();
        let is_named = if code.is_empty() {
            named.iter().all(|(code, _)| *code == "unsafe-name")
        } else {
            named.contains(&(code, line))
        };
        assert!(is_named, "{name}: {problems:?}");
        if name == "upper.MD" {
            assert_eq!(found[0].entry.id, Id::parse("upper.MD").unwrap());
            let moved = memory.archive(&[found[0].entry.id.clone()]).unwrap().moved;
            assert_eq!(moved[0].id.as_str(), "knowledge/upper");
            memory.restore(&Id::parse("upper").unwrap(), None).unwrap();
            assert!(path.is_file());
        }
    }
}
