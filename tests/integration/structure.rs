//! The shape of the source, read from its text: how long it may be, names that occur once, and no circle of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::architecture::{Source, names_behind, sources};

/// How many lines of code `src` may have, without tests, comments and blank lines.
const MOST: usize = 53_307;
/// How many each of the ten largest rooms may have: a folder of the library, or of the program.
const ROOMS: [(&str, usize); 10] = [
    ("agent_output", 3_113),
    ("commands", 4_027),
    ("context", 2_938),
    ("entry", 3_653),
    ("index", 3_827),
    ("knowledge", 3_923),
    ("recording", 2_356),
    ("runner", 2_240),
    ("search", 3_361),
    ("store", 3_450),
];

/// Modules, each by the names that lead to it.
type Places = Vec<Vec<String>>;
/// Which files use which, by their paths.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn name_at(text: &str) -> &str {
    text.split(|character| !is_name(character)).next().unwrap_or_default()
}

/// Returns the types that a file defines before its tests; associated types are not among them.
fn types(source: &Source) -> Vec<&str> {
    let mut found = Vec::new();
    for line in source.before_tests().lines() {
        let bare = line.trim_start();
        let item = bare.strip_prefix("pub").map_or(bare, |rest| {
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest).trim_start()
        });
        for keyword in ["struct ", "enum ", "union ", "trait ", "type "] {
            if let Some(rest) = item.strip_prefix(keyword)
                && (keyword != "type " || bare.len() == line.len())
            {
                found.push(name_at(rest));
            }
        }
    }
    found
}

/// Returns a circle of the graph, if there is one.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    fn visit<'a>(graph: &'a Graph, at: &'a str, path: &mut Vec<&'a str>, done: &mut BTreeSet<&'a str>) -> bool {
        if let Some(start) = path.iter().position(|known| *known == at) {
            path.drain(..start);
            return true;
        }
        if done.contains(at) {
            return false;
        }
        path.push(at);
        for next in graph.get(at).into_iter().flatten() {
            if visit(graph, next, path, done) {
                return true;
            }
        }
        path.pop();
        done.insert(at);
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| {
        let mut path = Vec::new();
        visit(graph, start, &mut path, &mut done).then(|| path.into_iter().map(str::to_owned).collect())
    })
}

/// Returns which files of the library use which of the same module beside them: by `super::` and by the module's own name.
fn imports(sources: &[Source]) -> Graph {
    let modules = |source: &Source| source.modules().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let of_library = |own: &[String], code: &str| {
        let inner = names_behind(code, &format!("crate::{}", own[0])).into_iter();
        inner.map(|name| vec![own[0].clone(), name]).collect()
    };
    imports_of(sources, &|source| Some(modules(source)).filter(|own| own.len() > 1), &of_library)
}

/// Returns which files of the program use which, by `crate::` and `super::`.
fn program_imports(sources: &[Source]) -> Graph {
    let modules = |source: &Source| -> Option<Vec<String>> {
        let path = source.path.strip_prefix("src/bin/ralph-memory/")?.trim_end_matches(".rs").trim_end_matches("/mod");
        (path != "main").then(|| path.split('/').map(str::to_owned).collect())
    };
    let of_program = |_: &[String], code: &str| {
        let inner = |module: String| {
            let inner = names_behind(code, &format!("crate::{module}")).into_iter();
            inner.map(|name| vec![module.clone(), name]).chain([vec![module.clone()]]).collect::<Vec<_>>()
        };
        names_behind(code, "crate").into_iter().flat_map(inner).collect()
    };
    imports_of(sources, &modules, &of_program)
}

/// Returns which files use which. `modules` names the place of a file, and `by_root` the places that it names from the root.
/// A file and those in its folder belong together, so imports between them do not count.
fn imports_of(
    sources: &[Source],
    modules: &dyn Fn(&Source) -> Option<Vec<String>>,
    by_root: &dyn Fn(&[String], &str) -> Places,
) -> Graph {
    let files: BTreeMap<Vec<String>, &str> =
        sources.iter().filter_map(|source| Some((modules(source)?, source.path.as_str()))).collect();
    let mut graph = Graph::new();
    for (source, own) in sources.iter().filter_map(|source| Some((source, modules(source)?))) {
        // A row of two names a file further up.
        let code = source.before_tests().replace("super::super::", "above::");
        let mut used = by_root(&own, &code);
        let above = &own[..own.len() - 1];
        used.extend(names_behind(&code, "super").into_iter().map(|name| [above, &[name]].concat()));
        let targets = used.iter().filter(|path| !own.starts_with(path) && !path.starts_with(&own));
        let targets = targets.filter_map(|path| files.get(path)).map(|path| (*path).to_owned()).collect();
        graph.insert(source.path.clone(), targets);
    }
    graph
}

/// Counts lines of code, up to the first tests of a file.
fn lines_of_code(source: &Source) -> usize {
    let is_text = |line: &&str| !line.trim().is_empty();
    let is_declaration =
        |line: &str| line.ends_with(';') && [" mod ", " use "].iter().any(|word| format!(" {line}").contains(word));
    let mut lines = source.code.lines().filter(is_text);
    let mut count = 0;
    while let Some(line) = lines.next() {
        if line.starts_with("#[cfg(test)]") {
            if !lines.next().is_some_and(is_declaration) {
                break;
            }
        } else {
            count += 1;
        }
    }
    count
}

/// The sums may only fall: what a change adds, it takes away elsewhere.
#[test]
fn the_source_grows_nowhere() {
    let mut rooms: BTreeMap<&str, usize> = BTreeMap::new();
    let sources = sources("src");
    for source in
        sources.iter().filter(|source| !(source.path.ends_with("tests.rs") || source.path.contains("/tests/")))
    {
        let path = source.path.trim_start_matches("src/").trim_start_matches("bin/ralph-memory/");
        let room = path.split_once('/').map_or("files beside the rooms", |(room, _)| room);
        *rooms.entry(room).or_default() += lines_of_code(source);
    }
    let sum: usize = rooms.values().sum();
    let mut largest: Vec<(&str, usize)> = rooms.into_iter().collect();
    largest.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    let mut limits = BTreeMap::from(ROOMS);
    limits.insert("src", MOST);
    let mut wrong = Vec::new();
    for (room, lines) in largest.into_iter().take(ROOMS.len()).chain([("src", sum)]) {
        match limits.get(room) {
            Some(limit) if lines > *limit => wrong.push(format!("{room}: {lines} lines, at most {limit} are allowed")),
            Some(limit) if lines + 50.max(limit / 50) < *limit => {
                wrong.push(format!("{room}: lower the limit from {limit} to {lines}"));
            }
            Some(_) => {}
            None => wrong.push(format!("{room}: {lines} lines, and no limit")),
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn each_type_has_a_name_of_its_own() {
    let sources = sources("src");
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in &sources {
        for name in types(source) {
            files.entry(name).or_default().insert(&source.path);
        }
    }
    assert!(files.len() > 400, "types are not found where this test looks: {}", files.len());
    // One for each way of building the crate.
    files.remove("Searcher");
    files.retain(|_, files| files.len() > 1);
    assert_eq!(files, BTreeMap::new());
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let graph = imports(&sources("src"));
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 200, "imports are not found");
    assert_eq!(circle(&graph), None);
    let graph = program_imports(&sources("src/bin"));
    assert!(graph.values().map(BTreeSet::len).sum::<usize>() > 150, "imports of the program are not found");
    assert_eq!(circle(&graph), None);
}

#[test]
fn circles_and_duplicate_names_are_detected() {
    let file = |path: &str, text: &str| Source::new(path.to_owned(), text);
    let circle_of = |one: &str, other: &str| {
        circle(&imports(&[file("src/store/mod.rs", ""), file("src/store/a.rs", one), file("src/store/b.rs", other)]))
    };
    let both = Some(vec!["src/store/a.rs".to_owned(), "src/store/b.rs".to_owned()]);
    assert_eq!(circle_of("use super::b::X;", "use super::{a::Y, Store};"), both);
    assert_eq!(circle_of("use super::b::X;", "fn f() { crate::store::a::g() }"), both);
    assert_eq!(circle_of("use super::b::X;", "use super::Store;"), None);
    assert_eq!(circle_of("use super::b::X;", "#[cfg(test)]\nmod tests { use super::super::a::Y; }"), None);

    let of_program = |one: &str, other: &str| {
        let files = [("commands/add", one), ("ui", other)];
        circle(&program_imports(&files.map(|(path, text)| file(&format!("src/bin/ralph-memory/{path}.rs"), text))))
    };
    let both_of_program = ["commands/add", "ui"].map(|path| format!("src/bin/ralph-memory/{path}.rs"));
    assert_eq!(of_program("use crate::ui::Ui;", "use crate::commands::{add, show};"), Some(both_of_program.to_vec()));
    assert_eq!(of_program("use crate::ui::Ui;", "use crate::parse;"), None);

    let source = file("src/a.rs", "pub(crate) struct A;\nenum B {}\ntype C = A;\nimpl X {\n    type D = A;\n}\n");
    assert_eq!(types(&source), ["A", "B", "C"]);
}
