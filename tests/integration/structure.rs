//! The shape of the source, read from its text: names that occur once, and no circle of files.

use std::collections::{BTreeMap, BTreeSet};

use crate::architecture::{Source, names_behind, sources};

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

/// Returns the `impl` blocks of a file, each with the name of its type.
fn impls(code: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut starts = code.match_indices("\nimpl").map(|(at, _)| at + 1).collect::<Vec<_>>();
    if code.starts_with("impl") {
        starts.insert(0, 0);
    }
    for start in starts {
        let block = &code[start..];
        let block = &block[..block.find("\n}").map_or(block.len(), |end| end)];
        let head = block.split('{').next().unwrap_or_default();
        let head = head.strip_prefix("impl").unwrap_or_default();
        let head = if head.starts_with('<') { head.split_once("> ").map_or("", |(_, rest)| rest) } else { head };
        let of = head.rsplit(" for ").next().unwrap_or_default().trim();
        found.push((name_at(of), block));
    }
    found
}

/// Returns which files call which by methods of the same type: `self.method(` and `Self::method(`.
fn calls(sources: &[Source]) -> BTreeMap<String, Graph> {
    let mut methods: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for source in sources {
        for (of, block) in impls(source.before_tests()) {
            for (at, _) in block.match_indices("fn ") {
                methods.insert((of, name_at(&block[at + 3..])), &source.path);
            }
        }
    }
    let mut graphs: BTreeMap<String, Graph> = BTreeMap::new();
    for source in sources {
        for (of, block) in impls(source.before_tests()) {
            for prefix in ["self.", "Self::"] {
                for (at, _) in block.match_indices(prefix) {
                    let rest = &block[at + prefix.len()..];
                    let name = name_at(rest);
                    let is_call = rest[name.len()..].starts_with('(');
                    let target = methods.get(&(of, name)).filter(|target| is_call && **target != source.path);
                    if let Some(target) = target {
                        let graph = graphs.entry(of.to_owned()).or_default();
                        graph.entry(source.path.clone()).or_default().insert((*target).to_owned());
                    }
                }
            }
        }
    }
    graphs
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
fn no_methods_of_a_type_call_each_other_in_a_circle_of_files() {
    for (of, graph) in calls(&sources("src")) {
        assert_eq!(circle(&graph), None, "{of}");
    }
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

    let called = |one: &str, other: &str| {
        let graphs = calls(&[file("src/store/a.rs", one), file("src/store/b.rs", other)]);
        graphs.get("Store").and_then(circle)
    };
    let one = "impl Store {\n    fn one(&self) { self.two() }\n}\n";
    assert_eq!(called(one, "impl<'a> Store<'a> {\n    fn two(&self) { Self::one(self) }\n}\n"), both);
    assert_eq!(called(one, "impl Store {\n    fn two(&self) { self.one }\n}\n"), None);
    assert_eq!(
        called(one, "impl Store {\n    fn two(&self) {}\n}\nimpl Other {\n    fn x(&self) { self.one() }\n}\n"),
        None
    );

    let source = file("src/a.rs", "pub(crate) struct A;\nenum B {}\ntype C = A;\nimpl X {\n    type D = A;\n}\n");
    assert_eq!(types(&source), ["A", "B", "C"]);
}
