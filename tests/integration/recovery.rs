//! Leftovers of crashes and of other versions, and how `check --fix` handles them.

use std::fs;

use crate::support::{TestBase, git};

/// A process of this number cannot be: it is beyond what Linux gives.
const DEAD: &str = "4194305";

fn leftover(number: u32) -> String {
    format!(".tmp-{DEAD}-{number:016x}")
}

#[test]
fn the_next_writer_sweeps_leftovers_of_a_crash() {
    let base = TestBase::new();
    let path = format!(".ralph/knowledge/{}", leftover(1));
    base.write(&path, "half of an entr");
    let add = |title: &str| base.run(["add", title, "--tags", "a", "--body", title]).answer(0);
    add("One");
    assert!(base.at(&path).exists(), "no process was killed while it had the lock, so nothing is swept");
    base.write(".ralph/state/lock", format!("pid {DEAD} on host (ralph-memory add)\n"));
    add("Two");
    assert!(!base.at(&path).exists());
}

#[test]
fn check_fix_repairs_everything_that_needs_no_decision() {
    let base = TestBase::new();
    base.entry("a", "Alpha", "x", "one");
    base.run(["index"]).says(0, "the index has ");
    // A temporary file, one with the only copy of a version, old caches, and a broken index.
    base.write(&format!(".ralph/journal/{}", leftover(1)), "half");
    let exchanged = format!(".ralph/knowledge/{}-{:016x}-{:016x}-a.md", leftover(2), 1, 2);
    base.write(&exchanged, "---\nthe only copy\n");
    base.write(".ralph/cache/index-v0-0123/live/meta.json", "{}").write(".ralph/cache/catalog-v0/live", "x");
    let live: Vec<String> = base.files(".ralph/cache").into_iter().filter(|path| path.ends_with("catalog")).collect();
    assert_eq!(live, Vec::<String>::new());
    for path in base.files(".ralph/cache").iter().filter(|path| path.contains("manifest") || path.contains("catalog-v"))
    {
        fs::write(base.at(path), "damaged").unwrap();
    }
    assert!(base.run(["check"]).stdout.contains("warning[leftovers]"));

    let ran = base.run(["check", "--fix"]);
    // What may be the only copy of a text is not an entry.
    assert_eq!(ran.code, Some(1), "{ran}");
    for expected in [
        "error[frontmatter-unclosed]",
        "fixed    leftovers    removed `.ralph/journal/.tmp-4194305-0000000000000001`\n",
        "fixed    leftovers    kept what may be the only copy of a text as `.ralph/archive/knowledge/a.conflict-",
        "fixed    old-caches   removed `.ralph/cache/index-v0-0123`\n",
        "fixed    old-caches   removed `.ralph/cache/catalog-v0`\n",
        "fixed    index        rebuilt the index of 1 live entries\n",
        "ok       leftovers    none\n",
        "ok       old-caches   none\n",
        "1 document for 1 entry, 0 not indexed yet\n",
        "warning[conflicts]: 1 version that another program saved at the same moment: `.ralph/archive/knowledge/a.conflict-",
    ] {
        assert!(ran.stdout.contains(expected), "{expected}\n{ran}");
    }
    let kept: Vec<String> = base.files(".ralph/archive");
    assert_eq!(kept.len(), 1);
    assert_eq!(base.read(&kept[0]), "---\nthe only copy\n");
    assert!(!base.at(&exchanged).exists());
    // Done a second time there is nothing to do.
    let again = base.run(["check", "--fix", "--json"]).json(1);
    assert_eq!(again["fixed"], serde_json::json!([]));
    assert_eq!(base.run(["check", "--json"]).json(1).get("fixed"), None);
}

#[test]
fn git_ignores_files_of_this_machine() {
    let base = TestBase::new();
    git(&base, &["init", "-q"]);
    base.write(".ralph/.gitignore", "/cache/\n*.bak").write(".ralph/cache/x", "x");
    let fix = || base.with(["check", "--fix"]).env("PATH", std::env::var_os("PATH").unwrap()).run();
    let ran = fix();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("fixed    git-ignore   put `/state/` into `.ralph/.gitignore`\n"), "{ran}");
    assert_eq!(base.read(".ralph/.gitignore"), "/cache/\n*.bak\n/state/\n");
    assert!(!fix().stdout.contains("fixed"), "once");
    fs::remove_file(base.at(".ralph/.gitignore")).unwrap();
    assert!(fix().stdout.contains("put `/cache/` and `/state/` into"));
    assert_eq!(base.read(".ralph/.gitignore"), "/cache/\n/state/\n");
}
