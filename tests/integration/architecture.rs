//! The rules of the module tree, read from the source text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules in their order; each uses only those before it. `true` marks the pure ones: no I/O,
/// clock, environment or randomness.
const ORDER: [(&str, bool); 24] = [
    ("system", false),
    ("text", true),
    ("error", true),
    ("settings", true),
    ("entry", true),
    ("agent_output", true),
    ("store", false),
    ("index", false),
    ("git", false),
    ("workspace", false),
    ("search", false),
    ("open", false),
    ("journal", false),
    ("knowledge", false),
    ("context", false),
    ("recording", false),
    ("timeline", false),
    ("sessions", false),
    ("diagnostics", false),
    ("import", false),
    ("memory", false),
    ("runner", false),
    ("setup", false),
    // What tests, benches and the fuzzer of the crate see of the rest.
    ("internals", false),
];
/// The pure parts of modules that are not pure as a whole.
const PURE_PARTS: [&str; 16] = [
    "src/context/mod.rs",
    "src/context/write/",
    "src/diagnostics/check/",
    "src/diagnostics/doctor/",
    "src/journal/history/",
    "src/journal/progress.rs",
    "src/journal/strategy.rs",
    "src/knowledge/code_names.rs",
    "src/knowledge/dedup.rs",
    "src/knowledge/tidy/plan/",
    "src/knowledge/undo/plan.rs",
    "src/open/watch/changes.rs",
    "src/search/retrieve/",
    "src/sessions/dialect.rs",
    "src/sessions/payload.rs",
    "src/sessions/tool_call.rs",
];
/// Crates that only some files may name.
const CRATES: [(&str, &[&str]); 8] = [
    ("tantivy", &["src/index/"]),
    ("serde_yaml", &["src/entry/frontmatter.rs", "src/setup/"]),
    ("gray_matter", &["src/entry/frontmatter.rs"]),
    ("notify", &["src/open/watch/"]),
    ("ureq", &["src/search/semantic/http.rs"]),
    ("rustix", &["src/system/"]),
    ("signal_hook", &["src/system/"]),
    ("tokio", &["src/bin/ralph-memory/mcp/", "src/bin/ralph-memory/serve/"]),
];
/// The files that may write, rename or remove files: first those that do so outside of `.ralph/`, then those that know no
/// place but `.ralph/`. Everything else calls them: they follow no link, and lose nothing that others save.
const WRITERS: [&str; 14] = [
    "outside.rs",
    "private.rs",
    "replace_file.rs",
    "temp.rs",
    "init.rs",
    "files.rs",
    "make_folders.rs",
    "anchor.rs",
    "cache.rs",
    "lock.rs",
    "remove.rs",
    "write.rs",
    "operation_log/mod.rs",
    "folder.rs",
];
/// How the names begin of calls of `std` and `rustix` that write, rename or remove a file at a path.
const WRITING: &[&str] = &[
    "write",
    "rename",
    "copy",
    "remove",
    "create",
    "hard_link",
    "set_permissions",
    "symlink",
    "openat",
    "unlink",
    "mkdir",
    "link",
    "mknod",
    "rmdir",
    "chmod",
    "OpenOptions",
    "DirBuilder",
];
/// The most lines of a file before its tests.
const MAX_LINES: usize = 450;

/// A source file without its comments.
pub(crate) struct Source {
    pub(crate) path: String,
    /// Everything, line by line, comments made empty.
    pub(crate) code: String,
    /// How much of `code` comes before the tests in it.
    n_before_tests: usize,
}

impl Source {
    pub(crate) fn new(path: String, text: &str) -> Source {
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        let lines = text.lines().map(|line| if is_comment(line) { "" } else { line });
        let code = lines.flat_map(|line| [line, "\n"]).collect::<String>();
        let is_all_tests = path.ends_with("/tests.rs") || path.contains("/tests/");
        let n_before_tests = if is_all_tests { 0 } else { tests_in(&code).unwrap_or(code.len()) };
        Source { path, code, n_before_tests }
    }

    /// The names from the crate's root to this file's module; none in the program.
    pub(crate) fn modules(&self) -> Vec<&str> {
        let Some(path) = self.path.strip_prefix("src/").filter(|path| !path.starts_with("bin/")) else {
            return Vec::new();
        };
        let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
        if path == "lib" { Vec::new() } else { path.split('/').collect() }
    }

    pub(crate) fn before_tests(&self) -> &str {
        &self.code[..self.n_before_tests]
    }
}

/// Returns where the module of the tests begins; a declaration of one in another file is none.
fn tests_in(code: &str) -> Option<usize> {
    let mut modules = code.match_indices("#[cfg(test)]\n");
    let has_body =
        |after: &str| after.split_once([';', '{']).is_some_and(|(head, _)| after[head.len()..].starts_with('{'));
    modules.find_map(|(at, cfg)| {
        let after = &code[at + cfg.len()..];
        let is_module = ["mod ", "pub(super) mod ", "pub(crate) mod "].iter().any(|start| after.starts_with(start));
        (is_module && has_body(after)).then_some(at)
    })
}

pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = vec![root.join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let shown = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.push(Source::new(shown, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// Returns the first names after every `prefix::`, those of a group each.
pub(crate) fn names_behind(code: &str, prefix: &str) -> BTreeSet<String> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut found = BTreeSet::new();
    for (at, found_prefix) in code.match_indices(&format!("{prefix}::")) {
        // `xcrate::` and `$crate::`, but for the latter's own sake.
        if code[..at].ends_with(is_name) {
            continue;
        }
        let rest = &code[at + found_prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.insert(rest.chars().take_while(|character| is_name(*character)).collect());
            continue;
        };
        let mut depth = 0;
        let mut name = String::new();
        let mut is_first = true;
        for character in group.chars() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    found.insert(std::mem::take(&mut name));
                    is_first = true;
                    continue;
                }
                _ => {}
            }
            is_first &= is_name(character) || character.is_whitespace();
            if is_first && is_name(character) {
                name.push(character);
            }
        }
        found.insert(name);
    }
    found.remove("");
    found
}

/// Returns how many `super::` follow each other, for each row of them.
fn climbs(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("super::") {
        rest = &rest[at..];
        let mut n_climbed = 0;
        while let Some(next) = rest.strip_prefix("super::") {
            (rest, n_climbed) = (next, n_climbed + 1);
        }
        found.push(n_climbed);
    }
    found
}

fn position(module: &str) -> Option<usize> {
    ORDER.iter().position(|(name, _)| *name == module)
}

/// Returns the violations of the order of modules in a file.
fn order_faults(source: &Source) -> Vec<String> {
    let modules = source.modules();
    let Some(own) = modules.first() else { return Vec::new() };
    let mut faults = Vec::new();
    let Some(own_position) = position(own) else {
        return vec![format!("{}: `{own}` is not in the table", source.path)];
    };
    for used in names_behind(source.before_tests(), "crate") {
        match position(&used) {
            Some(used_position) if used_position <= own_position => {}
            Some(_) => faults.push(format!("{}: uses `{used}`, which comes later", source.path)),
            None => faults.push(format!("{}: `crate::{used}` is no module; name it where it is defined", source.path)),
        }
    }
    let (before, tests) = source.code.split_at(source.n_before_tests);
    // The tests in a file are a module of their own, one deeper.
    let is_inside = source.n_before_tests > 0;
    for (code, depth) in [(before, modules.len()), (tests, modules.len() + usize::from(is_inside))] {
        if climbs(code).into_iter().any(|n_climbed| n_climbed >= depth) {
            faults.push(format!("{}: leaves its module by `super::`", source.path));
        }
    }
    faults
}

/// Returns the violations of purity in a file.
fn purity_faults(source: &Source) -> Vec<String> {
    let is_pure = source.modules().first().and_then(|own| position(own)).is_some_and(|own| ORDER[own].1);
    if !is_pure && !PURE_PARTS.iter().any(|part| source.path.starts_with(part)) {
        return Vec::new();
    }
    let code = source.before_tests();
    let mut faults: Vec<String> = ["fs", "env", "process", "net", "thread", "os"]
        .into_iter()
        .filter(|part| names_behind(code, "std").contains(*part))
        .map(|part| format!("{}: uses `std::{part}`", source.path))
        .collect();
    for call in ["Instant::now", "SystemTime::now", "Utc::now", "Local::now", "RandomState", "posix::"] {
        if code.contains(call) {
            faults.push(format!("{}: uses `{call}`", source.path));
        }
    }
    faults
}

/// Returns which crates a file names that it must not.
fn crate_faults(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, homes) in CRATES {
        let is_home = homes.iter().any(|home| source.path.starts_with(home));
        if !is_home && !names_behind(source.before_tests(), name).is_empty() {
            faults.push(format!("{}: names `{name}`", source.path));
        }
    }
    if !source.path.starts_with("src/system/") && names_behind(source.before_tests(), "std").contains("os") {
        faults.push(format!("{}: uses `std::os`, which is not the same on Windows", source.path));
    }
    let runs = ["process::Command", "Command::new"].iter().any(|call| source.before_tests().contains(call));
    let homes = [
        "src/bin/ralph-memory/commands/edit.rs",
        "src/bin/ralph-memory/commands/serve.rs",
        "src/git/",
        "src/runner/process/",
        // `ps`, where there is no `/proc`, and what Windows has in the place of signals.
        "src/system/",
    ];
    let may_run = homes.iter().any(|home| source.path.starts_with(home));
    if runs && !may_run {
        faults.push(format!("{}: runs a program", source.path));
    }
    faults
}

/// Returns the calls in a file that write, rename or remove files, and are not those of the store.
fn write_faults(source: &Source) -> Vec<String> {
    // The store alone calls what `system` has of that: below a folder that it opened.
    let is_writer = source.path.strip_prefix("src/store/").is_some_and(|file| WRITERS.contains(&file))
        || source.path.starts_with("src/system/");
    if is_writer {
        return Vec::new();
    }
    let code = source.before_tests();
    let found = |place: &'static str, starts: &'static [&'static str]| {
        let is_writing =
            move |name: &String| starts.iter().any(|start| name.starts_with(start)) && name != "symlink_metadata";
        names_behind(code, place).into_iter().filter(is_writing).map(move |name| format!("{place}::{name}"))
    };
    let by_path = found("fs", WRITING).chain(found("tempfile", &[""]));
    let of_a_file =
        found("File", &["create", "options"]).chain(found("OFlags", &["WRONLY", "RDWR", "CREATE", "TRUNC"]));
    // Crates that write by a path.
    let of_crates = ["generate_to"].into_iter().filter(|call| code.contains(call)).map(str::to_owned);
    let calls = by_path.chain(of_a_file).chain(of_crates);
    calls.map(|call| format!("{}: writes by `{call}`", source.path)).collect()
}

#[track_caller]
fn check(faults: impl Fn(&Source) -> Vec<String>) {
    let sources = sources("src");
    assert!(sources.len() > 40, "the source is not where this test looks");
    let found: Vec<String> = sources.iter().flat_map(faults).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn modules_use_only_those_before_them() {
    check(order_faults);
}

#[test]
fn pure_modules_are_pure() {
    check(purity_faults);
}

#[test]
fn crates_stay_in_their_modules() {
    check(crate_faults);
}

#[test]
fn files_are_written_by_the_store_alone() {
    check(write_faults);
}

#[test]
fn the_table_has_every_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let library = Source::new("src/lib.rs".to_owned(), &library);
    let modules: Vec<&str> = library
        .before_tests()
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        // Of the tests alone, and in their folder.
        .filter(|module| *module != "test_cases")
        .collect();
    assert_eq!(modules.len(), ORDER.len(), "{modules:?}");
    assert_eq!(modules.iter().filter(|module| position(module).is_none()).count(), 0, "{modules:?}");
}

#[test]
fn files_are_short_and_have_headers() {
    let all = ["src", "tests", "benches", "examples"].map(sources);
    let mut faults = Vec::new();
    for source in all.iter().flatten() {
        let n_lines = source.before_tests().lines().count();
        if source.path.starts_with("src/") && n_lines > MAX_LINES {
            faults.push(format!("{}: {n_lines} lines", source.path));
        }
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&source.path)).unwrap();
        if !text.starts_with("//! ") {
            faults.push(format!("{}: begins without a header", source.path));
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn violations_are_detected() {
    let faults = |path: &str, text: &str| {
        let source = Source::new(path.to_owned(), text);
        let lists = [order_faults(&source), purity_faults(&source), crate_faults(&source), write_faults(&source)];
        lists.concat().iter().map(|fault| fault.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    for (path, text, expected) in [
        ("src/entry/read.rs", "use crate::{text, store::{Store, Lock}, error};", "uses `store`, which comes later"),
        ("src/error.rs", "use crate::Knowledge;", "`crate::Knowledge` is no module; name it where it is defined"),
        ("src/entry/read.rs", "use super::super::store;", "leaves its module by `super::`"),
        ("src/store/tests/x.rs", "use super::super::super::y;", "leaves its module by `super::`"),
        ("src/entry/mod.rs", "#[cfg(test)]\nmod tests;\nuse crate::store::Store;", "uses `store`, which comes later"),
        ("src/entry/read.rs", "// crate::store\nuse std::{fmt, fs::File};", "uses `std::fs`"),
        ("src/knowledge/tidy/plan/x.rs", "let now = Utc::now();", "uses `Utc::now`"),
        ("src/store/mod.rs", "use tantivy::Index;", "names `tantivy`"),
        ("src/store/mod.rs", "use std::process::Command;", "runs a program"),
        (
            "src/store/mod.rs",
            "use std::os::unix::fs::MetadataExt as _;",
            "uses `std::os`, which is not the same on Windows",
        ),
        ("src/git/x.rs", "std::fs::write(path, text)", "writes by `fs::write`"),
        ("src/git/x.rs", "use crate::system::posix::fs::{Mode, renameat};", "writes by `fs::renameat`"),
        ("src/git/x.rs", "File::create_new(path)", "writes by `File::create_new`"),
        ("src/store/new.rs", "let flags = OFlags::CREATE;", "writes by `OFlags::CREATE`"),
        ("src/unheard_of.rs", "", "`unheard_of` is not in the table"),
    ] {
        assert_eq!(faults(path, text), [expected], "{path}: {text}");
    }
    for (path, text) in [
        ("src/entry/read.rs", "use super::x;\n#[cfg(test)]\nmod tests {use super::super::y;}"),
        ("src/system/unix.rs", "pub use std::os::fd;"),
        ("src/store/mod.rs", "#[cfg(test)]\nmod tests {use std::os::unix::fs::symlink;}"),
        ("src/store/outside.rs", "fs::create_dir_all(path)"),
    ] {
        assert_eq!(faults(path, text), [""; 0], "{path}: {text}");
    }
}
