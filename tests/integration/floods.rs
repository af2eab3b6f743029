//! Small files that are full of faults: every command continues, and reports the first few.

use std::fs;

use ralph_memory::error::{MAX_IN_ALL, MAX_OF_FILE, Tally};

use crate::support::{Ran, TestBase};

const COUNTED: usize = MAX_OF_FILE + 1;

/// An entry of nearly 1 MiB that replaces 2,300 missing entries.
fn superseding() -> String {
    let ids: Vec<String> = (0..2_300).map(|at| format!("x{at}")).collect();
    let body = "word and more words\n".repeat(50_000);
    format!("---\ntitle: T\ntags: [a]\nsupersedes: [{}]\n---\n{body}", ids.join(", "))
}

#[test]
fn a_file_with_thousands_of_faults_gets_a_few_lines_of_report() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/a.md", superseding());
    let checked = base.run(["check", "--json"]).json(0);
    assert_eq!(
        (&checked["counts"]["warnings"], checked["problems"].as_array().unwrap().len()),
        (&2_300.into(), COUNTED)
    );
    let last = &checked["problems"][MAX_OF_FILE];
    assert_eq!(
        (&last["code"], &last["message"]),
        (&"more-problems".into(), &"2280 more warnings in this file are not listed".into())
    );
    let human = base.run(["check"]).stdout;
    assert_eq!(human.matches("warning[").count(), COUNTED);
    assert!(human.ends_with("\n0 errors, 2300 warnings in 1 file\n") && human.len() < 20_000, "{}", human.len());
    assert_eq!(base.run(["check", "--format", "github"]).stdout.lines().count(), COUNTED);
    base.run(["check", "--strict"]).says(1, "0 errors, 2300 warnings in 1 file");
}

/// Each problem of a file once cost a search for secrets in all of it: 400 s for such a file. The file is read once
/// now, so what is shown of it does not even need the file any more.
#[test]
fn a_file_is_read_once_for_all_its_problems() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/a.md", superseding());
    let memory = base.memory();
    let mut sources = memory.source_lines();
    assert_eq!(sources.line(".ralph/knowledge/a.md", 2).as_deref(), Some("title: T"));
    fs::remove_file(base.at(".ralph/knowledge/a.md")).unwrap();
    for line in 0..20_000 {
        assert_eq!(sources.line(".ralph/knowledge/a.md", 6 + line).as_deref(), Some("word and more words"));
    }
}

#[test]
fn a_flood_of_links_is_followed_for_a_thousand_of_them() {
    let base = TestBase::new();
    base.write(".ralph/knowledge/a.md", format!("---\ntitle: T\ntags: [a]\n---\n{}", "[[q]]\n".repeat(170_000)));
    let memory = base.memory();
    let checked = memory.check();
    assert_eq!((checked.problems.len(), checked.total), (COUNTED, Tally { errors: 0, warnings: 1_001, notices: 0 }));
    let shown = base.run(["show", "a", "--json"]).json(0);
    assert_eq!(shown["entry"]["links"].as_array().unwrap().len(), 1_000);
    let told = "the body has 170000 links, and the first 1000 are followed";
    assert!(base.run(["list"]).stderr.contains(told));
    // Its part of the cache is not larger.
    memory.rebuild_index().unwrap();
    let catalog: Vec<String> =
        base.files(".ralph/cache").into_iter().filter(|path| path.contains("catalog-")).collect();
    let n_bytes: u64 = catalog.iter().map(|path| fs::metadata(base.at(path)).unwrap().len()).sum();
    assert!(!catalog.is_empty() && n_bytes < 64 * 1024, "{n_bytes}");
}

#[test]
fn too_many_problems_are_counted() {
    let base = TestBase::new();
    for at in 0..MAX_IN_ALL + 30 {
        base.write(
            &format!(".ralph/knowledge/{at:04}.md"),
            format!("---\ntitle: Number {at}\ntags: [a]\nsource: x\n---\nb {at}\n"),
        );
    }
    base.write(".ralph/knowledge/z.md", "---\ntitle: never closed\n");
    let checked = base.run(["check", "--json"]).json(1);
    let problems = checked["problems"].as_array().unwrap();
    assert_eq!((problems.len(), &checked["counts"]["warnings"]), (MAX_IN_ALL + 1, &(MAX_IN_ALL + 30).into()));
    // The worst problem is reported, wherever it is.
    assert!(problems.iter().any(|problem| problem["code"] == "frontmatter-unclosed"));
    assert_eq!(problems[MAX_IN_ALL]["message"], "31 more warnings in other files are not listed");
    // A query reads the heads of the first few alone, those with errors before all others.
    for arguments in [&["list", "--json"][..], &["search", "number", "--json"], &["context", "--task", "b", "--json"]] {
        let told = base.run(arguments).json(0)["problems"].as_array().unwrap().clone();
        let codes: Vec<&str> = told.iter().map(|problem| problem["code"].as_str().unwrap()).collect();
        assert_eq!(codes, [&["bad-value"; 9][..], &["frontmatter-unclosed", "more-problems"]].concat());
        assert_eq!(told[10]["message"], format!("{} more files have problems", MAX_IN_ALL + 21));
        assert_eq!(told[9]["path"], ".ralph/knowledge/z.md");
    }
}

#[test]
fn thousands_of_unknown_settings_get_a_few_lines_of_report() {
    let base = TestBase::new();
    let keys = |n: usize| (0..n).map(|at| format!("k{at} = 1")).collect::<Vec<_>>().join("\n");
    base.write(".ralph/config.toml", format!("format = 1\n{}", keys(5_000)));
    let told = |ran: &Ran| ran.stderr.matches("there is no setting `k").count();
    let ran = base.run([""; 0]);
    assert_eq!((ran.code, told(&ran)), (Some(0), 0), "{ran}");
    let ran = base.run(["list"]);
    assert_eq!((ran.code, told(&ran)), (Some(0), 5), "{ran}");
    let problems = base.run(["list", "--json"]).json(0)["problems"].clone();
    assert_eq!(problems.as_array().unwrap().len(), 11);
    assert_eq!(problems[10]["message"], "4990 more keys are not settings");
    // What is larger than any settings are is not looked into.
    base.write(".ralph/config.toml", format!("format = 1\n{}", keys(90_000)));
    let ran = base.run([""; 0]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains(".ralph/config.toml`: it has 978900 bytes; the limit is 65536"), "{ran}");
}

/// Seen in 0.1.0: of thirty files with errors `status` counted ten, since it counted only the listed ones.
#[test]
fn status_counts_every_error() {
    let base = TestBase::new();
    for number in 0..30 {
        base.write(&format!(".ralph/knowledge/{number}.md"), "---\ntitle: T\n");
    }
    let counts = |command: &str, code| base.run([command, "--json"]).json(code)["counts"]["errors"].clone();
    assert_eq!((counts("--quiet", 0), counts("check", 1)), (30.into(), 30.into()));
}
