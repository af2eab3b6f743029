//! What people have already: in every folder of a project, in other memories' forms, and in formats for exchange.

use std::fs;

use serde_json::Value;

use crate::support::{TestBase, git};

/// Makes a project of several packages, with something of every source in one of them.
fn packages() -> TestBase {
    let base = TestBase::new();
    let decision = |status: &str, decision: &str| {
        format!("# {decision}\n\n## Status\n\n{status}\n\n## Decision\n\n{decision}, always.\n")
    };
    for (path, text) in [
        ("AGENTS.md", "## Tests\n\nRun `just test`.\n".to_owned()),
        ("packages/web/CLAUDE.md", "## Tests\n\nRun `vitest`.\n".to_owned()),
        ("packages/web/.claude/CLAUDE.md", "## Styles\n\nUse tokens.\n".to_owned()),
        ("packages/web/.cursor/rules/api.mdc", "---\nglobs: src/**\n---\n# Calls\n\nUse the client.\n".to_owned()),
        ("packages/web/.cursor/rules/all.mdc", "# All of it\n\nNo default exports.\n".to_owned()),
        ("packages/web/docs/adr/0001-signals.md", decision("Accepted", "Use signals")),
        ("packages/api/docs/adr/0001-cron.md", decision("Superseded by ADR-0002", "Use cron")),
        ("packages/api/docs/adr/0002-queue.md", decision("Accepted", "Use a queue")),
        ("packages/api/memory-bank/ops/ports.md", "# Ports\n\nThe API has 8080.\n".to_owned()),
        (".kiro/steering/tech.md", "# Stack\n\nRust.\n".to_owned()),
        (
            ".github/instructions/sql.instructions.md",
            "---\napplyTo: '**/*.sql'\n---\n# SQL\n\nLower case.\n".to_owned(),
        ),
        (".agent_memory/packets/pool.json", r#"{"id":"p1","title":"Pool","body":"Five."}"#.to_owned()),
        ("wiki/.obsidian/app.json", "{}".to_owned()),
        ("wiki/Areas/Deploys.md", "Deploys run at *noon*.\n".to_owned()),
        ("wiki/.trash/Old.md", "Gone.\n".to_owned()),
        ("wiki/CLAUDE.md", "## Wiki\n\nWrite short notes.\n".to_owned()),
        ("node_modules/x/AGENTS.md", "## Other\n\nOf others.\n".to_owned()),
        ("packages/api/vendor/y/AGENTS.md", "## Other\n\nOf others.\n".to_owned()),
    ] {
        base.write(path, text);
    }
    base
}

/// What `import` alone shows of it.
const FOUND: [&str; 5] = [
    "sections: 4 new in AGENTS.md, packages/web/.claude/CLAUDE.md, packages/web/CLAUDE.md, wiki/CLAUDE.md",
    "rules: 4 new in .github/instructions/sql.instructions.md, .kiro/steering/tech.md, packages/web/.cursor/rules/all.mdc, packages/web/.cursor/rules/api.mdc",
    "adr: 3 new in packages/api/docs/adr/0001-cron.md, packages/api/docs/adr/0002-queue.md, packages/web/docs/adr/0001-signals.md",
    "memory-bank: 2 new in packages/api/memory-bank/ops/ports.md, wiki/Areas/Deploys.md",
    "jsonl: 1 new in .agent_memory/packets/pool.json",
];

#[test]
fn an_import_alone_finds_what_every_folder_has() {
    let base = packages();
    let without_git = base.with(["import"]).env("PATH", base.home()).run();
    assert_eq!(without_git.stdout.lines().collect::<Vec<_>>(), FOUND, "{without_git}");
    git(&base, &["init", "-q"]);
    base.write(".gitignore", "/built\n").write("built/AGENTS.md", "## Other\n\nGenerated.\n");
    git(&base, &["add", "packages", "wiki"]);
    // What is new, and what git tracks and is gone, change nothing.
    base.write("packages/gone/AGENTS.md", "## Gone\n\nGone.\n");
    git(&base, &["add", "packages/gone"]);
    fs::remove_dir_all(base.at("packages/gone")).unwrap();
    let ran = base.run(["import"]);
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), FOUND, "{ran}");
    let answer = base.run(["import", "--json"]).json(0);
    assert_eq!(answer["sources"][3]["read"][0], "packages/api/memory-bank/ops/ports.md", "{answer}");
}

#[test]
fn what_a_folder_has_is_about_the_folder() {
    let base = packages();
    for source in ["sections", "rules", "adr", "memory-bank", "jsonl"] {
        let ran = base.run(["import", source]);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    // A folder of packets is known by its place, whichever form they have.
    base.run(["import", ".agent_memory/packets"])
        .says(0, "1 unchanged; read .agent_memory/packets/pool.json as `jsonl`");
    for (entry, lines) in [
        // Short instructions of a folder are one entry, called after it.
        ("web", &["tags: [guidelines, packages/web]", "files: [\"packages/web/**\"]"][..]),
        ("packages-web", &["files: [\"packages/web/**\"]"]),
        ("calls", &["tags: [rules, packages/web]", "files: [\"packages/web/src/**\"]"]),
        ("all-of-it", &["files: [\"packages/web/**\"]"]),
        ("ports", &["tags: [packages/api/ops]", "files: [\"packages/api/**\"]", "source: agent"]),
        ("deploys", &["tags: [areas]", "source: human"]),
        ("pool", &["source: agent"]),
        // Each package counts its decisions from 1.
        ("use-a-queue", &["supersedes: [knowledge/use-cron]", "source: human"]),
        ("use-signals", &["aliases: [ADR-0001, ADR-1]"]),
    ] {
        let text = base.read(&format!(".ralph/knowledge/{entry}.md"));
        let missing: Vec<_> = lines.iter().filter(|line| !text.contains(&format!("\n{line}\n"))).collect();
        assert!(missing.is_empty(), "{missing:?}\n{text}");
    }
}

#[test]
fn the_name_of_a_folder_is_no_pattern() {
    let base = TestBase::new();
    base.write("app/[slug]/AGENTS.md", "# Slug\n\nThe quokka route is static.\n");
    base.write(
        "app/[slug]/.cursor/rules/r.mdc",
        "---\nglobs: src/**, \"!src/gen/**\", src/a.ts\n---\n# Rule\n\nUse it.\n",
    );
    base.run(["import", "sections"]).says(0, "1 added");
    base.run(["import", "rules"]).says(0, "1 added");
    let files = |id: &str| base.run(["show", id, "--json"]).json(0)["entry"]["files"].clone();
    assert_eq!(files("slug"), serde_json::json!([r"app/\[slug\]/**"]));
    let expected = [r"app/\[slug\]/src/**", r"!app/\[slug\]/src/gen/**", "app/[slug]/src/a.ts"];
    assert_eq!(files("rule"), serde_json::json!(expected));
}

#[test]
fn only_what_is_gone_from_a_folder_is_archived() {
    let base = packages();
    git(&base, &["init", "-q"]);
    base.write(".gitignore", "/built\n").write("built/AGENTS.md", "## Built\n\nBy hand.\n");
    base.run(["import", "sections", "built/AGENTS.md"]).says(0, "1 added");
    base.run(["import", "sections"]).says(0, "4 added");
    base.run(["import", "memory-bank"]).says(0, "2 added");
    for path in ["packages/web/CLAUDE.md", "packages/api/memory-bank/ops/ports.md", "wiki/Areas/Deploys.md"] {
        fs::remove_file(base.at(path)).unwrap();
    }
    base.run(["import", "sections"]).says(0, "1 archived, 3 unchanged");
    base.run(["import", "memory-bank"]).says(0, "2 archived");
    assert_eq!(base.files(".ralph/archive/knowledge").len(), 3);
    // Git ignores this one, and it is there.
    assert!(base.at(".ralph/knowledge/built.md").exists());
}

/// A packet as Kage writes it, with what it keeps for itself below.
const PACKET: &str = "---\ntype: \"Negative Result\"\ntitle: \"Pool runs dry\"\ndescription: \"At most five connections, and the sixth caller waits for\"\n\
    resource: \"src/pool.rs\"\ntags: [\"db\"]\nx-kage-id: \"repo:x:pool\"\nx-kage-status: \"deprecated\"\nx-kage-verified: \"unverified\"\n\
    x-kage-paths: [\"src/pool.rs\", \"src/db.rs\"]\n---\n\n# Pool runs dry\n\n> At most five connections, and the sixth…\n\n\
    At most five connections, and the sixth caller waits for ever.\n\n## Why\n\nThe driver has no timeout.\n\n# Citations\n\n[1] session\n\n## Kage state\n\n```json kage-state\n{}\n```\n";

/// A concept of a bundle in the Open Knowledge Format.
const CONCEPT: &str = "---\ntype: Playbook\ntitle: Restore a backup\ndescription: How to restore one.\nresource: https://example.com/runbook\n\
    tags: [ops]\nstatus: draft\nstale_after: 2027-03-01\ngenerated: { by: writer/1.0, at: 2026-05-28T14:30:00Z }\n\
    verified:\n  - { by: process:nightly, at: 2026-06-01T00:00:00Z }\nsources:\n  - { id: s, resource: src/pool.rs }\n---\n\nRun `just restore`.\n";

#[test]
fn packets_and_concepts_come_as_they_are() {
    let base = TestBase::new();
    base.write("src/pool.rs", "").write(".agent_memory/packets/pool.md", PACKET);
    base.write("bundle/index.md", "---\nokf_version: \"0.2\"\n---\n\n# All\n\n* [Restore](ops/restore.md) - how\n");
    base.write("bundle/log.md", "# Log\n\n## 2026-05-22\n* **Creation**: Made it.\n");
    base.write("bundle/ops/index.md", "# Ops\n\n* [Restore](restore.md) - how\n");
    base.write("bundle/ops/restore.md", CONCEPT);
    let by_person = CONCEPT.replace("process:nightly", "human:ana").replace("a backup", "by hand");
    base.write("bundle/ops/by-hand.md", by_person);
    base.write("bundle/table.md", "---\ntype: Table\ntitle: Orders\ndescription: One row for each order.\n---\n");
    base.run(["import", "bundle"]).says(0, "3 added, 3 skipped; read ");
    base.run(["import", ".agent_memory/packets"])
        .says(0, "1 added; read .agent_memory/packets/pool.md as `memory-bank`");
    for (entry, parts) in [
        (
            "pool-runs-dry",
            &[
                "\ntags: [db]\n",
                "\ncategory: pitfall\nstatus: deprecated\n",
                "\nsource: agent\n",
                "\nfiles: [src/pool.rs, src/db.rs]\n",
                "---\n\nAt most five connections, and the sixth caller waits for ever.\n\n## Why\n\nThe driver has no timeout.\n",
            ][..],
        ),
        (
            "restore-a-backup",
            &[
                "\ntags: [ops, playbook]\n",
                "\nstatus: draft\n",
                "\nsource: agent\n",
                "\ncreated_at: \"2026-05-28T14:30:00Z\"\n",
                "\nexpires_at: \"2027-03-01T00:00:00Z\"\n",
                "\nfiles: [src/pool.rs]\n",
                "\"verified\":[\"process:nightly 2026-06-01T00:00:00Z\"]",
                "\"resource\":\"https://example.com/runbook\"",
                "---\n\nRun `just restore`.\n",
            ],
        ),
        // What a person confirmed is a person's.
        ("restore-by-hand", &["\nsource: human\n", "\"verified\":[\"human:ana 2026-06-01T00:00:00Z\"]"]),
        ("orders", &["\ntags: [table]\n", "---\n\nOne row for each order.\n"]),
    ] {
        let text = base.read(&format!(".ralph/knowledge/{entry}.md"));
        let missing: Vec<_> = parts.iter().filter(|part| !text.contains(**part)).collect();
        assert!(missing.is_empty(), "{missing:?}\n{text}");
    }
}

#[test]
fn json_documents_are_imported_once() {
    let base = TestBase::new();
    let graph = r#"{"entities":[{"name":"Shop","entityType":"project","observations":["Sells tea."]}],"relations":[]}"#;
    base.write("graph.json", graph);
    base.run(["import", "graph.json"]).says(0, "1 added; read graph.json as `jsonl`");
    base.run(["import", "jsonl", "graph.json"]).says(0, "1 unchanged");
    // An entity is known by its name.
    base.write("graph.json", graph.replace("tea.", "tea and cups."));
    base.run(["import", "jsonl", "graph.json"]).says(0, "1 updated");
    assert!(base.read(".ralph/knowledge/shop.md").ends_with("---\n\n- Sells tea and cups.\n"));
    let log = "[\n  {\n    \"day\": \"2026-01-02\",\n    \"learned\": [\"One.\", \"Two.\"]\n  },\n  {\n    \"day\": \"2026-01-03\"\n  }\n]\n";
    let fields = ["import", "jsonl", "-", "--title-field", "day", "--body-field", "learned"];
    base.with(fields).input(log).run().says(0, "1 added, 1 skipped");
}

#[test]
fn an_id_that_is_there_twice_loses_no_text() {
    let base = TestBase::new();
    let line = |text: &str| format!("{{\"id\":7,\"title\":\"Ports\",\"text\":\"{text}\"}}\n");
    base.write("facts.jsonl", ["On 8080.", "On 9090.", "On 8080."].map(line).concat());
    base.run(["import", "jsonl", "facts.jsonl"]).says(0, "2 added, 1 skipped");
    assert!(base.read(".ralph/knowledge/ports-2.md").ends_with("---\n\nOn 9090.\n"));
    base.run(["import", "jsonl", "facts.jsonl"]).says(0, "2 unchanged, 1 skipped");
    base.write("facts.jsonl", line("On 8080."));
    base.run(["import", "jsonl", "facts.jsonl"]).says(0, "1 archived, 1 unchanged");
}

#[test]
fn an_object_that_left_its_file_takes_its_entry_along() {
    let base = TestBase::new();
    let line = |title: &str, body: &str| format!("{{\"title\":\"{title}\",\"body\":\"{body}\"}}\n");
    let (ports, logs) = (line("Ports", "On 8080."), line("Logs", "JSON."));
    base.write("facts.jsonl", format!("{ports}{logs}"));
    let import = || base.run(["import", "jsonl", "facts.jsonl"]);
    import().says(0, "2 added");
    import().says(0, "2 unchanged");
    // Another file or a pipe says nothing about this one.
    let other = TestBase::new();
    other.write("facts.jsonl", line("Keys", "In the vault."));
    base.run(["import", "jsonl", other.at("facts.jsonl").to_str().unwrap()]).says(0, "1 added; ");
    base.with(["import", "jsonl", "-"]).input(line("Pipes", "One.")).run().says(0, "1 added; ");
    base.with(["import", "jsonl", "-"]).input(line("Pipes", "Two.")).run().says(0, "1 added; ");
    // A line that cannot be read may be the object.
    base.write("facts.jsonl", format!("{}{{\"title\":\"Logs\",\"bo\n", line("Ports", "On 9090.")));
    import().says(0, "facts.jsonl:2: the line is incomplete");
    assert!(!base.at(".ralph/archive/knowledge").exists());
    base.write("facts.jsonl", line("Ports", "On 9090."));
    let ran = import();
    assert!(ran.stderr.contains("2 archived, 1 unchanged"), "{ran}");
    assert!(ran.stdout.contains("archived knowledge/ports from facts.jsonl: it is no longer in the file"), "{ran}");
    assert!(base.read(".ralph/knowledge/ports-2.md").ends_with("\n\nOn 9090.\n"));
    assert_eq!(base.files(".ralph/archive/knowledge").len(), 2);
}

#[test]
fn an_object_whose_text_is_not_found_keeps_its_entry() {
    let base = TestBase::new();
    base.write("k.jsonl", "{\"id\":1,\"mem\":\"K says one thing.\"}\n{\"id\":2,\"mem\":\"L says one thing.\"}\n");
    let import = |more: &[&str]| base.run([&["import", "jsonl", "k.jsonl"], more].concat());
    import(&["--body-field", "mem"]).says(0, "2 added");
    let ran = import(&[]);
    assert!(ran.stderr.contains("2 skipped") && !ran.stdout.contains("archived"), "{ran}");
    base.write("k.jsonl", "{\"id\":1,\"mem\":\"K says one thing.\"}\n");
    import(&["--body-field", "mem"]).says(0, "1 archived, 1 unchanged");
}

#[test]
fn an_entry_that_another_file_says_too_stays() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", "# Cache limits\n\nThe cache has 5 GB at most on the host.\n");
    base.write("memory-bank/b.md", "# Cache limits\n\nThe cache has 5 GB at most\non the host.\n");
    let import = || base.run(["import", "memory-bank"]);
    import().says(0, "1 added, 1 unchanged");
    std::fs::remove_file(base.at("memory-bank/a.md")).unwrap();
    for outcome in ["1 updated; ", "1 unchanged; "] {
        import().says(0, outcome);
        assert_eq!(base.files(".ralph/knowledge"), [".ralph/knowledge/cache-limits.md"]);
    }
    std::fs::remove_file(base.at("memory-bank/b.md")).unwrap();
    base.write("memory-bank/c.md", "# Keys\n\nThey are in the vault.\n");
    import().says(0, "1 added, 1 archived");
}

#[test]
fn only_an_accepted_decision_replaces_another() {
    for (status, is_replaced) in [
        ("Accepted (supersedes ADR-0001)", true),
        ("Deprecated\n\nSupersedes ADR-0001", true),
        ("Proposed\n\nSupersedes ADR-0001", false),
        ("Rejected (supersedes ADR-0001)", false),
        ("Accepted, supersedes ADR-1 in part (mails only)", false),
        ("Accepted\n\nSupersedes: N/A (see ADR-1)", false),
        ("Accepted\n\nSupersedes: none; ADR-1 holds", false),
        ("Accepted\n\n- Supersedes: - (see ADR-1)", false),
        ("Accepted, supersedes no record, see ADR-1", false),
    ] {
        let base = TestBase::new();
        base.write("docs/adr/0001-x.md", "# 1. Use X\n\n## Status\n\nAccepted\n\n## Decision\n\nUse Xenon.\n");
        let newer = format!("# 2. Use Y\n\n## Status\n\n{status}\n\n## Decision\n\nUse Yttrium.\n");
        base.write("docs/adr/0002-y.md", newer);
        base.run(["import", "adr"]).says(0, "2 added");
        assert_eq!(base.read(".ralph/knowledge/use-y.md").contains("knowledge/use-x"), is_replaced, "{status}");
    }
}

#[test]
fn an_object_whose_key_did_not_name_its_file_is_known() {
    let line = |title: &str| format!("{{\"title\":\"{title}\",\"body\":\"On 8080.\"}}\n");
    let base = TestBase::new();
    base.write("facts.jsonl", ["Ports", "Edited", "Archived"].map(line).concat());
    let import = || base.run(["import", "jsonl", "facts.jsonl"]);
    import().says(0, "3 added");
    for name in ["ports", "edited", "archived"] {
        let path = format!(".ralph/knowledge/{name}.md");
        let entry = base.read(&path);
        assert_eq!(entry.matches("\"id\":\"facts.jsonl#").count(), 1, "{entry}");
        base.write(&path, entry.replace("\"id\":\"facts.jsonl#", "\"id\":\""));
    }
    let edited = base.read(".ralph/knowledge/edited.md");
    base.write(".ralph/knowledge/edited.md", edited.replace("On 8080.", "On 8081."));
    base.run(["archive", "archived"]).says(0, "");
    import().says(0, "1 updated, 2 unchanged");
    import().says(0, "3 unchanged");
    base.write("facts.jsonl", line("Edited"));
    import().says(0, "1 archived, 1 unchanged");
}

#[test]
fn a_file_that_cannot_be_read_keeps_its_entries() {
    let base = TestBase::new();
    for (source, path, text, broken) in [
        ("memory-bank", "memory-bank/ports.md", "---\ntype: note\n---\nOn 8080.\n", "---\n[note\n---\nOn 8080.\n"),
        (
            "adr",
            "docs/adr/0001-logs.md",
            "---\nstatus: accepted\n---\n# Logs\n\nJSON.\n",
            "---\n[accepted\n---\n# Logs\n\nJSON.\n",
        ),
        ("jsonl", ".agent_memory/packets/a.json", "[{\"id\": 1, \"text\": \"One.\"}]", "[{\"id\": 1, \"te"),
    ] {
        base.write(path, text);
        base.run(["import", source]).says(0, "1 added; ");
        base.write(path, broken);
        base.run(["import", source]).says(0, "1 skipped; ");
        base.write(path, text);
        base.run(["import", source]).says(0, "1 unchanged; ");
    }
    assert!(!base.at(".ralph/archive/knowledge").exists());
}

#[test]
fn json_that_cannot_be_read_at_all_is_an_error() {
    let base = TestBase::new();
    for (text, expected) in [
        ("[\n  {\"text\": \"One.\"},\n  {\n", ":4: it is not JSON: column 0"),
        ("One.\nTwo.\n", ":1: it is not JSON: column 1"),
        ("\n{\"text\": \"One.\n", ":2: the line is incomplete"),
    ] {
        base.write("broken/facts.json", text);
        for place in ["broken/facts.json", "broken"] {
            base.run(["import", "jsonl", place]).says(2, &format!("error: broken/facts.json{expected}"));
        }
        base.with(["import", "jsonl", "-"]).input(text).run().says(2, &format!("error: standard input{expected}"));
    }
    // Among others, and where nobody named it, it is left out.
    base.write("broken/good.json", "{\"text\": \"One.\"}");
    base.run(["import", "jsonl", "broken"]).says(0, "1 added, 1 skipped");
    base.write(".agent_memory/packets/a.json", "{");
    base.run(["import", "jsonl"]).says(0, "1 skipped");
    base.write("empty.json", "");
    base.run(["import", "jsonl", "empty.json"]).says(0, "nothing to import");
}

#[test]
fn a_relation_links_only_to_what_is_an_entry() {
    let base = TestBase::new();
    // In pieces, so that scanners do not report it.
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    let graph = |of_shop: &str| {
        let entity = |name: &str, text: &str| {
            format!("{{\"type\":\"entity\",\"name\":\"{name}\",\"entityType\":\"x\",\"observations\":[{text}]}}\n")
        };
        let relation = |to: &str| {
            format!("{{\"type\":\"relation\",\"from\":\"Ana\",\"to\":\"{to}\",\"relationType\":\"knows\"}}\n")
        };
        let entities = [
            ("Ana", "\"See [[Shop]].\""),
            ("Bo", "\"Writes.\""),
            ("Key", &format!("\"It is {token}.\"")),
            ("Shop", of_shop),
        ];
        let entities = entities.map(|(name, text)| entity(name, text)).concat();
        entities + &["Bo", "Key", "Shop", "Nobody"].map(relation).concat()
    };
    let expect = |key: &str, shop: &str| {
        let ana = base.read(".ralph/knowledge/ana.md");
        let expected =
            format!("---\n\n- See [[Shop]].\n\n- knows [[Bo]]\n- knows {key}\n- knows {shop}\n- knows Nobody\n");
        assert!(ana.ends_with(&expected), "{expected}\n{ana}");
    };
    base.write("graph.jsonl", graph(""));
    base.run(["import", "jsonl", "graph.jsonl"]).says(1, "2 added, 1 skipped, 1 refused");
    expect("Key", "Shop");
    base.write("graph.jsonl", graph("\"Sells tea.\""));
    base.run(["import", "jsonl", "graph.jsonl"]).says(1, "1 added, 1 updated, 1 unchanged, 1 refused");
    expect("Key", "[[Shop]]");
    base.run(["import", "jsonl", "graph.jsonl"]).says(1, "3 unchanged, 1 refused");
    // What was imported before is an entry, whatever its source says now.
    base.write("graph.jsonl", graph(&format!("\"It is {token}.\"")));
    base.run(["import", "jsonl", "graph.jsonl"]).says(1, "2 unchanged, 2 refused");
    expect("Key", "[[Shop]]");
    base.write("graph.jsonl", graph(""));
    base.run(["import", "jsonl", "graph.jsonl"]).says(1, "1 updated, 1 unchanged, 1 skipped, 1 refused");
    expect("Key", "Shop");
}

#[test]
fn a_link_leads_to_no_note_that_was_refused() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", "# A\n\nSee [b](b.md).\n")
        .write("memory-bank/b.md", "# B\n\nTurned \u{202e}text.\n");
    base.run(["import", "memory-bank"]).says(1, "1 added, 1 refused");
    let a = base.read(".ralph/knowledge/a.md");
    assert!(a.ends_with("\n\nSee [b](../../memory-bank/b.md).\n"), "{a}");
}

/// Returns whether each live entry is replaced by another one, by the titles.
fn superseded(base: &TestBase) -> Vec<(String, bool)> {
    let found = base.run(["list", "--kind=knowledge", "--json", "--limit", "100"]).json(0);
    let of = |entry: &Value| (entry["title"].as_str().unwrap().to_owned(), entry["superseded"] == true);
    let mut superseded: Vec<_> = found["entries"].as_array().unwrap().iter().map(of).collect();
    superseded.sort();
    superseded
}

#[test]
fn notes_replace_each_other_from_either_side() {
    let check = |new: &str, old: &str, is_replaced: bool| {
        // Whichever file comes first.
        for [new_name, old_name] in [["a-new", "z-old"], ["z-new", "a-old"]] {
            let base = TestBase::new();
            let write = |name: &str, title: &str, head: &str| {
                let head = head.replace("NEW", new_name).replace("OLD", old_name);
                base.write(
                    &format!("memory-bank/ops/{name}.md"),
                    format!("---\ntitle: {title}\n{head}\n---\n\nThe {title} of things.\n"),
                );
            };
            write(new_name, "Newer way", new);
            write(old_name, "Older way", old);
            base.run(["import", "memory-bank"]).says(0, "2 added");
            let expected = [("Newer way".to_owned(), false), ("Older way".to_owned(), is_replaced)];
            assert_eq!(superseded(&base), expected, "{new}\n{old}");
            base.run(["import", "memory-bank"]).says(0, "2 unchanged");
        }
    };
    for said in [
        "supersedes: OLD",
        "supersedes: OLD.md",
        "supersedes: [ops/OLD.md, other.md]",
        "supersedes: memory-bank/ops/OLD.md",
        "supersedes: ../ops/OLD.md",
        "supersedes: \"[[OLD]]\"",
        "supersedes: [[OLD]]",
        "supersedes:\n  - \"[[ops/OLD|the old one]]\"",
        "supersedes:\n  - \"[it](OLD.md)\"",
        "supersedes: older way",
        "supersedes: [other-way, way-1]",
    ] {
        check(said, "aliases: [way-1]", true);
    }
    for said in
        ["superseded-by: NEW", "superseded_by: [newer way]", "supersededBy: \"[[NEW]]\"", "superseded_by: ./NEW.md"]
    {
        check("tags: [x]", said, true);
    }
    for said in ["supersedes: nothing", "supersedes: true", "supersedes: [docs/OLD.md]", "supersedes: NEW"] {
        check(said, "tags: [x]", false);
    }
    // Of two that replace each other, the first in the order of the files does.
    let base = TestBase::new();
    base.write("memory-bank/a.md", "---\nsupersedes: b\n---\n# A\n\nOne thing.\n")
        .write("memory-bank/b.md", "---\nsupersedes: a\n---\n# B\n\nAnother thing.\n");
    base.run(["import", "memory-bank"]).says(0, "2 added");
    base.run(["import", "memory-bank"]).says(0, "2 unchanged");
    assert_eq!(superseded(&base), [("A".to_owned(), false), ("B".to_owned(), true)]);
}

/// Imports a file of this path and text, and checks that an entry has each of these texts, in its title or below it.
#[track_caller]
fn check_kept(source: &str, path: &str, text: &str, kept: &[&str]) {
    let base = TestBase::new();
    base.write(path, text);
    let ran = base.run(["import", source, path]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let is_kept = |words: &&&str| {
        let plain = |text: &str| text.replace("\\\"", "\"");
        let lines = |text: &str| -> String {
            let kept = text.lines().filter(|line| !line.starts_with("details:"));
            kept.map(|line| plain(line) + "\n").collect()
        };
        base.files(".ralph/knowledge").iter().any(|file| lines(&base.read(file)).contains(**words))
    };
    let lost: Vec<_> = kept.iter().filter(|words| !is_kept(words)).collect();
    assert!(lost.is_empty(), "{lost:?} of {path}:\n{text}\n{ran}");
}

#[test]
fn only_a_line_that_is_a_path_names_a_file_to_read_instead() {
    let check = |text: &str| {
        check_kept("memory-bank", "memory-bank/x.md", &format!("# Tx\n\n{text}\n"), &[text]);
        check_kept("sections", "CLAUDE.md", &format!("## Tx\n\n{text}\n\n## Other\n\nText of it.\n"), &[text]);
    };
    check("@Transactional on private methods does nothing: Spring proxies never see the call.");
    check("@alice owns billing and must review every change of it.");
    check("@Deprecated goes first.\n@Override goes second, docs/order.md says why.");
    check("@docs/deploys.md\n\nNever on Fridays.");
}

/// Returns a list of this many rules.
fn numbered_rules(count: usize) -> String {
    let rule = |number: usize| ["- Rule number ".to_owned(), number.to_string(), " holds.\n".to_owned()];
    (1..=count).flat_map(rule).collect()
}

#[test]
fn sections_say_what_their_file_is_about() {
    let check = |path: &str, text: &str, kept: &[&str]| check_kept("sections", path, text, kept);
    let rules = numbered_rules(8);
    check(
        "AGENTS.md",
        "# Zookeeper runbook\n\n## Restart\n\nRestart with systemctl.\n",
        &["title: \"Zookeeper runbook: Restart\""],
    );
    check(
        "AGENTS.md",
        &format!("# Zookeeper runbook\n\n{rules}"),
        &["title: \"Zookeeper runbook: Rule number 1 holds.\""],
    );
    check(
        "packages/web/AGENTS.md",
        "# Storefront (Next.js)\n\nRun `pnpm dev`.\n",
        &["title: \"Storefront (Next.js)\""],
    );
    // What every such file or all of the project is called says nothing.
    for heading in
        ["AGENTS.md", "Project guidelines", "AGENTS.md (Root)", "Repository Guidelines", "Instructions for AI agents"]
    {
        check("AGENTS.md", &format!("# {heading}\n\n## Restart\n\nRestart with systemctl.\n"), &["title: \"Restart\""]);
    }
}

#[test]
fn rules_that_begin_alike_are_each_kept() {
    let base = TestBase::new();
    let others = numbered_rules(7);
    base.write(
        "CLAUDE.md",
        format!("{others}- Run the linter first. In api use ruff.\n- Run the linter first. In web use biome.\n"),
    );
    base.run(["import", "sections"]).says(0, "9 added");
    base.run(["import", "sections"]).says(0, "9 unchanged");
}

#[test]
fn a_heading_alone_is_a_rule_if_it_is_a_sentence() {
    let others = "## Tests\n\nRun `just test`.\n\n";
    check_kept(
        "sections",
        "CLAUDE.md",
        &format!("{others}## Never commit secrets\n"),
        &["---\n\nNever commit secrets\n"],
    );
    for (source, path) in
        [("sections", "CLAUDE.md"), ("rules", ".cursor/rules/x.mdc"), ("memory-bank", "memory-bank/x.md")]
    {
        check_kept(source, path, "# Never deploy on Fridays\n", &["---\n\nNever deploy on Fridays\n"]);
    }
    let base = TestBase::new();
    base.write("CLAUDE.md", format!("{others}## Open questions\n"));
    base.run(["import", "sections"]).says(0, "1 added, 1 skipped");
}

#[test]
fn text_between_two_lines_is_no_frontmatter() {
    let text = "---\n\n# Rule first\n\nText about walrus: yes.\n\n---\n\nMore text.\n";
    check_kept("memory-bank", "memory-bank/x.md", text, &["walrus", "More text."]);
    let base = TestBase::new();
    base.write(".ralph/knowledge/hr.md", text);
    base.run(["search", "walrus"]).says(0, "Rule first");
}

#[test]
fn the_tags_of_obsidian_are_tags() {
    for (written, tags) in
        [("[\"#infra\"]", "[infra]"), ("\"#a #b, c/d\"", "[a, b, c/d]"), ("\n  - \"#x\"\n  - y z", "[x, y z]")]
    {
        let base = TestBase::new();
        let note = format!("---\ntitle: T\ntags: {written}\n---\n\nText of it.\n");
        base.write(".ralph/knowledge/raw.md", &note).write("memory-bank/x.md", note.replace("title: T", "title: U"));
        base.run(["import", "memory-bank"]).says(0, "1 added");
        let answer = base.run(["list", "--kind=knowledge", "--json"]).json(0);
        for entry in answer["entries"].as_array().unwrap() {
            let found: Vec<&str> = entry["tags"].as_array().unwrap().iter().map(|tag| tag.as_str().unwrap()).collect();
            assert_eq!(format!("[{}]", found.join(", ")), tags, "{entry}");
        }
    }
}

#[test]
fn the_heading_at_the_top_of_a_note_is_its_title() {
    let check = |text: &str, title: &str| {
        let base = TestBase::new();
        base.write("memory-bank/x_notes.md", text).write(".ralph/knowledge/x_notes.md", text);
        base.run(["import", "memory-bank"]).says(0, "; read memory-bank/x_notes.md");
        let answer = base.run(["list", "--kind=knowledge", "--json"]).json(0);
        for entry in answer["entries"].as_array().unwrap() {
            assert_eq!(entry["title"], title, "{text}");
        }
    };
    check("## Deployment of billing\n\nBy hand.\n", "Deployment of billing");
    check("### Deployment of billing\n\nBy hand.\n\n#### Steps\n\nTwo of them.\n", "Deployment of billing");
    check("## Deploys\n\nBy hand.\n\n## Tests\n\nBy hand, too.\n", "x notes");
    check("By hand.\n\n## Deploys\n\nAs above.\n", "x notes");
}

#[test]
fn a_link_with_a_folder_leads_to_the_note_in_it() {
    let base = TestBase::new();
    base.write("memory-bank/a/overview.md", "# Overview A\n\nAlpha, see [[b/overview]].\n")
        .write("memory-bank/a/more.md", "# More of A\n\nSee [[overview]].\n")
        .write("memory-bank/b/overview.md", "# Overview B\n\nBeta.\n")
        .write("memory-bank/b/more.md", "# More of B\n\nSee [[overview|it]], and [[Overview#Size]] `[[overview]]`.\n");
    base.run(["import", "memory-bank"]).says(0, "4 added");
    let check = |id: &str, links: &str| base.run(["show", id]).says(0, &format!("links to     {links}"));
    check("overview-a", "knowledge/overview-b");
    check("more-of-a", "knowledge/overview-a");
    check("more-of-b", "knowledge/overview-b");
    let text = base.read(".ralph/knowledge/more-of-b.md");
    let expected =
        "See [[memory-bank/b/overview.md|it]], and [[memory-bank/b/overview.md#Size|Overview#Size]] `[[overview]]`.\n";
    assert!(text.ends_with(expected), "{text}");
    base.run(["import", "memory-bank"]).says(0, "4 unchanged");
}

#[test]
fn no_words_of_json_are_lost() {
    let check = |object: &str, kept: &[&str]| check_kept("jsonl", "facts.jsonl", object, kept);
    check(
        r#"{"id":"a","title":"A","observations":["one",{"content":"second, port 99","why":"the first is taken"}]}"#,
        &["- one\n", "- second, port 99\n", "the first is taken"],
    );
    check(r#"{"id":"a","title":"A","observations":[{"content":"port 99"}]}"#, &["title: \"A\"", "- port 99\n"]);
    check(
        r#"{"id":"p","title":"Pool","summary":"Five at most.","body":"The driver waits."}"#,
        &["---\n\nFive at most.\n\nThe driver waits.\n"],
    );
    check(
        r#"{"uuid":"u","title":"Nested","body":{"text":"It says so."}}"#,
        &["title: \"Nested\"", "---\n\nIt says so.\n"],
    );
    check(
        r#"{"title":"T","narrative":"What happened.","facts":["Port 99 is free."]}"#,
        &["What happened.", "- Port 99 is free."],
    );
}
