//! Files that entries were imported from: they move, change, go and come back, and the entry stays the one that it was.

use std::fs;

use crate::support::TestBase;

/// Returns the knowledge files, and those of the archive.
fn files(base: &TestBase) -> [Vec<String>; 2] {
    let below = |folder: &str| if base.at(folder).exists() { base.files(folder) } else { Vec::new() };
    [".ralph/knowledge", ".ralph/archive/knowledge"].map(below)
}

#[test]
fn what_left_a_source_returns_with_it() {
    let base = TestBase::new();
    let guide = "## Ports\n\nThe API has 8080.\n\n## Logs\n\nThey are JSON, one line each.\n";
    base.write("AGENTS.md", guide).write("memory-bank/keys.md", "# Keys\n\nIn the vault.\n");
    let import = |source: &str| base.run(["import", source]);
    import("sections").says(0, "added");
    import("memory-bank").says(0, "1 added");
    let keys = base.read(".ralph/knowledge/keys.md");
    let own = keys.replace("tags: [", "tags: [own, ");
    base.write(".ralph/knowledge/keys.md", own);
    let live = files(&base);
    // A branch without both, twice.
    for round in ["once", "twice"] {
        base.write("AGENTS.md", "## Styles\n\nUse tokens.\n");
        fs::remove_file(base.at("memory-bank/keys.md")).unwrap();
        import("sections").says(0, "archived");
        import("memory-bank").says(0, "1 archived");
        base.write("AGENTS.md", guide).write("memory-bank/keys.md", format!("# Keys\n\nIn the vault, {round}.\n"));
        let text = base.run(["import", "memory-bank", "--dry-run"]);
        text.says(0, "1 restored");
        assert!(!base.at(".ralph/knowledge/keys.md").exists());
        import("sections").says(0, "restored");
        let ran = import("memory-bank");
        assert!(ran.stdout.contains("restored knowledge/keys from memory-bank/keys.md"), "{ran}");
        import("memory-bank").says(0, "1 unchanged");
        assert_eq!(files(&base)[0], live[0]);
        let keys = base.read(".ralph/knowledge/keys.md");
        assert!(keys.contains(&format!("In the vault, {round}.")) && keys.contains("[own, "), "{keys}");
    }
    base.run(["search", "vault"]).says(0, "knowledge/keys");
}

#[test]
fn what_a_person_archived_or_restored_stays_so() {
    let base = TestBase::new();
    let write = |name: &str, text: &str| base.write(&format!("memory-bank/{name}.md"), text);
    write("keys", "# Keys\n\nIn the vault.\n");
    write("ports", "# Ports\n\nThe API has 8080.\n");
    let import = || base.run(["import", "memory-bank"]);
    import().says(0, "2 added");
    base.run(["archive", "keys"]).says(0, "");
    write("keys", "# Keys\n\nIn the other vault.\n");
    import().says(0, "1 skipped");
    fs::remove_file(base.at("memory-bank/ports.md")).unwrap();
    import().says(0, "1 archived");
    base.run(["restore", "ports"]).says(0, "");
    for _ in 0..2 {
        let ran = import();
        assert!(!ran.stdout.contains("archived knowledge/ports"), "{ran}");
        assert_eq!(base.files(".ralph/knowledge"), [".ralph/knowledge/ports.md"]);
    }
}

const KEYS: &str = "# Keys\n\nIn the vault.\n";

#[test]
fn an_entry_follows_its_text_to_another_place() {
    let record = |readers: &str| {
        format!(
            "# 7. Use WAL\n\n## Status\n\nAccepted\n\n## Decision\n\nIn WAL mode there is one writer, and {readers} readers.\n"
        )
    };
    let guide = |heading: &str| format!("## {heading}\n\nThe API has 8080.\n\n## Logs\n\nThey are JSON.\n");
    let objects =
        "{\"title\":\"Ports\",\"body\":\"On 8080.\"}\n{\"title\":\"Ports\",\"body\":\"On 9090.\"}\n".to_owned();
    let place = |path: &'static str, text: String| (path, text);
    for (source, (old, text), (new, new_text), outcome) in [
        (
            "adr",
            place("docs/adr/7-wal.md", record("any")),
            place("docs/decisions/7-wal.md", record("eight")),
            "1 updated",
        ),
        ("memory-bank", place("memory-bank/a.md", KEYS.into()), place("memory-bank/b.md", KEYS.into()), "1 updated"),
        (
            "memory-bank",
            place("memory-bank/a.md", KEYS.into()),
            place("memory-bank/b.md", KEYS.replace("Keys", "Secrets")),
            "1 updated",
        ),
        (
            "sections",
            place("AGENTS.md", guide("Ports")),
            place("AGENTS.md", guide("All ports")),
            "1 updated, 1 unchanged",
        ),
        ("jsonl", place("old.jsonl", objects.clone()), place("new.jsonl", objects), "2 updated"),
    ] {
        let base = TestBase::new();
        let import = |path: &str| base.run(["import", source].into_iter().chain((source == "jsonl").then_some(path)));
        base.write(old, &text);
        import(old).says(0, "added");
        let before = files(&base);
        fs::remove_file(base.at(old)).unwrap();
        base.write(new, new_text);
        let ran = import(new);
        assert!(ran.stderr.contains(outcome), "{source}: {ran}");
        assert_eq!(files(&base), before, "{source}");
        for entry in &before[0] {
            assert!(base.read(entry).contains(&format!("\"path\":\"{new}\"")), "{source}: {entry}");
        }
        let ran = import(new);
        assert!(!ran.stderr.contains("updated") && ran.stderr.contains("unchanged"), "{source}: {ran}");
        base.run(["check"]).says(0, "");
    }
}

#[test]
fn an_entry_follows_its_text_to_another_source() {
    let base = TestBase::new();
    base.write("AGENTS.md", "## Keys\n\nIn the vault.\n\n## Ports\n\nThe API has 8080.\n");
    base.write("memory-bank/guide.md", KEYS);
    base.run(["import", "sections"]).says(0, "2 added");
    base.run(["import", "memory-bank"]).says(0, "1 unchanged");
    base.write("AGENTS.md", "## Ports\n\nThe API has 8080.\n");
    base.run(["import", "sections"]).says(0, "1 archived, 1 unchanged");
    base.run(["import", "memory-bank"]).says(0, "1 restored");
    assert!(base.read(".ralph/knowledge/keys.md").contains("\"path\":\"memory-bank/guide.md\""));
    base.run(["import", "memory-bank"]).says(0, "1 unchanged");
    base.write("AGENTS.md", "## Keys\n\nIn the vault.\n\n## Ports\n\nThe API has 8080.\n");
    base.run(["import", "sections"]).says(0, "2 unchanged");
}

#[test]
fn what_a_person_wrote_meanwhile_is_not_doubled() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", KEYS).write("memory-bank/b.md", "# Ports\n\nThe API has 8080.\n");
    base.run(["import", "memory-bank"]).says(0, "2 added");
    fs::remove_file(base.at("memory-bank/a.md")).unwrap();
    base.run(["import", "memory-bank"]).says(0, "1 archived, 1 unchanged");
    base.run(["add", "Keys", "--tags", "own", "--body", "In the vault."]).says(0, "");
    base.write("memory-bank/a.md", KEYS);
    base.run(["import", "memory-bank"]).says(0, "2 unchanged");
    assert_eq!(files(&base)[0].len(), 2);
}

#[test]
fn another_text_under_a_title_is_another_entry() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", "# Overview\n\nThe shop has carts, orders and a payment service.\n");
    base.run(["import", "memory-bank"]).says(0, "1 added");
    fs::remove_file(base.at("memory-bank/a.md")).unwrap();
    base.write("memory-bank/b.md", "# Overview\n\nRockets burn kerosene.\n");
    base.run(["import", "memory-bank"]).says(0, "1 added, 1 archived");
}

#[test]
fn a_vanished_json_file_is_named() {
    let base = TestBase::new();
    base.write("facts.jsonl", "{\"title\":\"Ports\",\"body\":\"On 8080.\"}\n");
    base.run(["import", "jsonl", "facts.jsonl"]).says(0, "1 added");
    base.run(["check"]).says(0, "");
    fs::remove_file(base.at("facts.jsonl")).unwrap();
    let ran = base.run(["check"]);
    assert!(ran.stdout.contains("it was imported from `facts.jsonl`, which is gone"), "{ran}");
    assert!(ran.stdout.contains("ralph-memory archive knowledge/ports"), "{ran}");
}

#[test]
fn links_that_followed_a_rename_are_no_edit() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", "# Keys\n\nIn the vault.\n");
    let note = |words: &str| format!("# Deploys\n\nAsk for the keys, see [[Keys]]. {words}\n");
    base.write("memory-bank/b.md", note("Noon."));
    let import = || base.run(["import", "memory-bank"]);
    import().says(0, "2 added");
    base.run(["edit", "keys", "--title", "Secret keys"]).says(0, "");
    assert!(base.read(".ralph/knowledge/deploys.md").contains("[[Secret keys]]"));
    import().says(0, "2 unchanged");
    base.write("memory-bank/b.md", note("Midnight."));
    import().says(0, "1 updated, 1 unchanged");
    assert!(base.read(".ralph/knowledge/deploys.md").contains("Midnight."));
    import().says(0, "2 unchanged");
    base.run(["check"]).says(0, "");
}

#[test]
fn a_link_to_a_file_that_says_the_same_leads_to_its_entry() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", "# Keys\n\nIn the vault.\n").write("memory-bank/b.md", "# Keys\n\nIn the vault.\n");
    base.write("memory-bank/c.md", "# Deploys\n\nAsk for [the keys](b.md).\n");
    let import = || base.run(["import", "memory-bank"]);
    import().says(0, "2 added, 1 unchanged");
    assert!(base.read(".ralph/knowledge/deploys.md").contains("[[memory-bank/a.md|the keys]]"));
    import().says(0, "3 unchanged");
    base.run(["check"]).says(0, "");
}

#[test]
fn every_text_goes_into_its_own_entry() {
    let base = TestBase::new();
    let write = |name: &str, owner: &str| {
        base.write(&format!("memory-bank/{name}.md"), format!("# The {name} service\n\nOwner {owner}-{name}.\n"));
    };
    let import = || base.run(["import", "memory-bank"]);
    for name in ["alpha", "beta", "gamma"] {
        write(name, "old");
    }
    import().says(0, "3 added");
    fs::remove_file(base.at("memory-bank/alpha.md")).unwrap();
    import().says(0, "1 archived, 2 unchanged");
    for name in ["alpha", "beta", "gamma"] {
        write(name, "new");
    }
    import().says(0, "2 updated, 1 restored");
    for name in ["alpha", "beta", "gamma"] {
        let text = base.read(&format!(".ralph/knowledge/the-{name}-service.md"));
        assert!(text.contains(&format!("\n\nOwner new-{name}.\n")), "{text}");
    }
    import().says(0, "3 unchanged");
}

#[test]
fn of_two_files_with_a_text_each_keeps_it_when_the_other_changes() {
    for (changed, other) in [("a", "b"), ("b", "a")] {
        let base = TestBase::new();
        for name in ["a", "b"] {
            base.write(&format!("memory-bank/{name}.md"), "# Port\n\nStaging listens on 5433.\n");
        }
        let import = || base.run(["import", "memory-bank"]);
        import().says(0, "1 added, 1 unchanged");
        base.write(&format!("memory-bank/{changed}.md"), "# Port\n\nProduction listens on 6000.\n");
        import().says(0, "1 added");
        let bodies: String = files(&base)[0].iter().map(|file| base.read(file)).collect();
        assert!(bodies.contains("on 5433.") && bodies.contains("on 6000."), "{changed} {other}: {bodies}");
        import().says(0, "2 unchanged");
    }
}

#[test]
fn an_entry_with_the_text_of_its_source_is_in_no_conflict() {
    let base = TestBase::new();
    let write = |words: &str| base.write("memory-bank/pool.md", format!("# Pool\n\nThe pool has {words}.\n"));
    let import = || base.run(["import", "memory-bank"]);
    write("ten conections");
    import().says(0, "1 added");
    write("ten connections");
    let entry = base.read(".ralph/knowledge/pool.md").replace("ten conections", "ten connections");
    base.write(".ralph/knowledge/pool.md", entry);
    import().says(0, "1 updated");
    write("twelve connections");
    import().says(0, "1 updated");
    assert!(base.read(".ralph/knowledge/pool.md").contains("twelve"));
}

#[test]
fn a_number_or_an_end_that_a_source_changed_is_no_longer_that_of_the_entry() {
    let base = TestBase::new();
    let record = |number: u8, title: &str| {
        let text = format!("# {number}. {title}\n\n## Status\n\nAccepted\n\n## Decision\n\n{title} is it.\n");
        base.write(&format!("docs/adr/000{number}-x.md"), text);
    };
    record(2, "Use LMDB");
    base.run(["import", "adr"]).says(0, "1 added");
    record(3, "Use LMDB");
    record(2, "Use zstd");
    base.run(["import", "adr"]).says(0, "1 added");
    let aliases = |name: &str| {
        let text = base.read(&format!(".ralph/knowledge/{name}.md"));
        text.lines().find(|line| line.starts_with("aliases")).unwrap_or_default().to_owned()
    };
    assert_eq!(
        (aliases("use-lmdb"), aliases("use-zstd")),
        ("aliases: [ADR-0003, ADR-3]".into(), "aliases: [ADR-0002, ADR-2]".into())
    );
    let note = |end: &str| base.write("memory-bank/p.md", format!("---\n{end}---\n# P\n\nOn 8080.\n"));
    let import = || base.run(["import", "memory-bank"]);
    let expires =
        || base.read(".ralph/knowledge/p.md").lines().find(|line| line.starts_with("expires_at")).map(str::to_owned);
    note("stale_after: 2098-01-01\n");
    import().says(0, "1 added");
    note("stale_after: 2099-01-01\n");
    import().says(0, "1 updated");
    assert_eq!(expires().as_deref(), Some("expires_at: \"2099-01-01T00:00:00Z\""));
    note("");
    import().says(0, "1 updated");
    assert_eq!(expires(), None);
    import().says(0, "1 unchanged");
}

#[test]
fn a_rule_of_two_packages_is_about_both() {
    let base = TestBase::new();
    for package in ["api", "web"] {
        let path = format!("packages/{package}/.cursor/rules/testing.mdc");
        base.write(&path, "---\nglobs: tests/**\n---\n# Testing\n\nUse factories.\n");
    }
    base.run(["import", "rules"]).says(0, "1 added, 1 unchanged");
    let text = base.read(".ralph/knowledge/testing.md");
    assert!(
        text.contains("files: [\"packages/api/tests/**\",\"packages/web/tests/**\"]")
            || text.contains("files: [\"packages/api/tests/**\", \"packages/web/tests/**\"]"),
        "{text}"
    );
    base.run(["import", "rules"]).says(0, "2 unchanged");
    fs::remove_file(base.at("packages/api/.cursor/rules/testing.mdc")).unwrap();
    base.run(["import", "rules"]).says(0, "1 updated");
    let text = base.read(".ralph/knowledge/testing.md");
    assert!(!text.contains("packages/api"), "{text}");
}
