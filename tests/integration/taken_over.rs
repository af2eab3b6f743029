//! Real forms of other programs' notes: what becomes of their links, dates, descriptions, marks and decisions.

use std::fs;

use serde_json::Value;

use crate::support::{TestBase, git, ids};

/// Returns the body of the entry with this name.
fn body(base: &TestBase, name: &str) -> String {
    let entry = base.read(&format!(".ralph/knowledge/{name}.md"));
    entry.splitn(3, "---\n").nth(2).unwrap().trim().to_owned()
}

/// Returns the codes of what `check` finds, with the files.
fn checked(base: &TestBase) -> Vec<String> {
    let answer = base.run(["check", "--json"]).json(0);
    let problems = answer["problems"].as_array().unwrap().iter();
    let name = |problem: &Value, key: &str| problem[key].as_str().unwrap().to_owned();
    let of_entries = problems.filter(|problem| name(problem, "path").contains("/knowledge/"));
    of_entries.map(|problem| format!("{} {}", name(problem, "code"), name(problem, "path"))).collect()
}

/// A vault with links of every kind.
fn vault() -> TestBase {
    let base = TestBase::new();
    base.write(
        "docs/notes/ops/deploy.md",
        "# How we deploy\n\nRead [the ports](../net/Port%20map.md#http \"Ports\") and [[Port map]], or [[Port map|its table]].\n\n\
         | who | where |\n|---|---|\n| [`web`](../net/Port%20map.md) | [main](../../../src/main.rs#L3) |\n\n\
         ![plan](plan.png) at [our site](https://example.org/a.md), [the list][list], [below](#later).\n\n\
         [list]: ../../list.txt\n",
    );
    base.write("docs/notes/net/Port map.md", "# The ports\n\nHTTP is on 8080. See [deploying](../ops/deploy.md).\n");
    base
}

#[test]
fn links_of_imported_notes_lead_to_what_they_led_to() {
    let base = vault();
    base.run(["import", "memory-bank", "docs/notes"]).says(0, "2 added");
    assert_eq!(
        body(&base, "how-we-deploy"),
        "Read [[docs/notes/net/Port map.md#http|the ports]] and [[Port map]], or [[Port map|its table]].\n\n\
         | who | where |\n|---|---|\n| [[docs/notes/net/Port map.md\\|`web`]] | [main](../../src/main.rs#L3) |\n\n\
         ![plan](plan.png) at [our site](https://example.org/a.md), [the list][list], [below](#later).\n\n\
         [list]: ../../docs/list.txt"
    );
    assert_eq!(body(&base, "the-ports"), "HTTP is on 8080. See [[docs/notes/ops/deploy.md|deploying]].");
    assert_eq!(checked(&base), [""; 0]);
    let shown = base.run(["show", "how-we-deploy", "--json"]).json(0);
    let links = shown["entry"]["links"].as_array().unwrap();
    assert!(links.len() == 4 && links.iter().all(|link| link["id"] == "knowledge/the-ports"), "{shown}");
    // Nothing is new, not even after one of them was renamed, or when one is read alone.
    base.run(["import", "memory-bank", "docs/notes"]).says(0, "2 unchanged");
    base.run(["edit", "the-ports", "--title", "Map of ports"]).says(0, "");
    assert!(body(&base, "how-we-deploy").contains("|the ports]]"), "{}", body(&base, "how-we-deploy"));
    base.run(["import", "memory-bank", "docs/notes"]).says(0, "2 unchanged");
    base.run(["import", "memory-bank", "docs/notes/net/Port map.md"]).says(0, "1 unchanged");
    assert_eq!(checked(&base), [""; 0]);
    // An edit by hand is seen as before.
    let path = ".ralph/knowledge/map-of-ports.md";
    base.write(path, base.read(path).replace("8080", "8081"));
    base.write("docs/notes/net/Port map.md", "# The ports\n\nHTTP is on 8082.\n");
    base.run(["import", "memory-bank", "docs/notes"]).says(1, "1 conflict");
}

#[test]
fn a_link_to_a_section_leads_to_its_entry() {
    let base = TestBase::new();
    let text = "# Guide\n\n## Testing\n\nRun `just test`, as in [logs](#the-logs) and [docs](docs/a.md).\n\n\
                ## The logs\n\nAll of them are JSON, one object a line, and go to standard error. What they hold is checked by [tests](CLAUDE.md#testing).\n";
    base.write("CLAUDE.md", text);
    base.run(["import", "sections"]).says(0, "2 added");
    assert_eq!(
        body(&base, "testing"),
        "Run `just test`, as in [[CLAUDE.md#The logs|logs]] and [docs](../../docs/a.md)."
    );
    assert_eq!(
        body(&base, "the-logs"),
        "All of them are JSON, one object a line, and go to standard error. What they hold is checked by [[CLAUDE.md#Testing|tests]]."
    );
    let shown = base.run(["show", "the-logs", "--json"]).json(0);
    assert_eq!(shown["entry"]["links"][0]["id"], "knowledge/testing");
    assert_eq!(checked(&base), [""; 0]);
}

#[test]
fn links_to_the_file_of_a_renamed_entry_follow_it() {
    let base = TestBase::new();
    let raw = |path: &str, text: &str| base.write(&format!(".ralph/knowledge/{path}.md"), text);
    raw("b/old note", "# Old note\n\nSee [me](old%20note.md).\n");
    raw(
        "a/linking",
        "# Linking\n\n[The *note*](../b/old%20note.md#why \"Why\"), [x](<../b/old note.md>), `[no](../b/old%20note.md)`,\n\
         [other](../b/other.md) and [far](../../../b/old%20note.md).\n\n[ref]: ../b/old%20note.md\n",
    );
    raw("b/other", "# Other\n\n[root](/.ralph/knowledge/b/old%20note.md)\n");
    let id = base.run(["search", "Old note", "--json"]).json(0)["entries"][0]["id"].as_str().unwrap().to_owned();
    base.run(["edit", &id, "--title", "New (note)"]).says(0, "changed 5 links");
    let read = |path: &str| base.read(&format!(".ralph/knowledge/{path}.md"));
    assert!(read("b/new-note").contains("See [me](new-note.md)."), "{}", read("b/new-note"));
    assert_eq!(
        read("a/linking"),
        "# Linking\n\n[The *note*](../b/new-note.md#why \"Why\"), [x](<../b/new-note.md>), `[no](../b/old%20note.md)`,\n\
         [other](../b/other.md) and [far](../../../b/old%20note.md).\n\n[ref]: ../b/new-note.md\n"
    );
    // What is still there, since a rename was interrupted, follows at the next call.
    raw("c", "# C\n\n[late](b/old%20note.md)\n");
    base.run(["edit", "new-note", "--title", "New (note)"]).says(0, "changed 1 link");
    assert!(read("c").contains("[late](b/new-note.md)"), "{}", read("c"));
    assert!(read("b/other").contains("[root](/.ralph/knowledge/b/new-note.md)"), "{}", read("b/other"));
}

#[test]
fn check_names_entries_whose_section_left_its_file() {
    let base = TestBase::new();
    base.write("AGENTS.md", "---\nx: y\n---\nRead this.\n\n## Ports\n\nOn 8080.\n\n## Logs / traces\n\nJSON.\n\n## Keys\n\nA.\n\n## Keys\n\nB.\n");
    let rules: String = (1..=8)
        .flat_map(|number| ["- Use [tool ".to_owned(), number.to_string(), "](x.md) for it. Always.\n".to_owned()])
        .collect();
    base.write("CLAUDE.md", &rules);
    base.run(["import", "sections", "."]).says(0, "13 added");
    assert_eq!(checked(&base), [""; 0]);
    base.write("AGENTS.md", "Read this.\n\n## Ports\n\nOn 8080. Keys are elsewhere.\n");
    base.write("CLAUDE.md", rules.replace("tool 3", "pliers"));
    let gone = ["keys", "agents-keys", "logs-traces", "use-tool-3-x-md-for-it"];
    let mut found = checked(&base);
    found.sort();
    let mut expected: Vec<String> = base
        .files(".ralph/knowledge")
        .into_iter()
        .filter(|path| ["keys", "logs", "tool-3"].iter().any(|part| path.contains(part)))
        .map(|path| format!("source-gone {path}"))
        .collect();
    expected.sort();
    assert_eq!((found.len(), found), (gone.len(), expected));
    base.run(["check"]).says(0, "it was imported from `AGENTS.md`, which no longer has it");
    // Seen by a new user: nothing kept such an entry, whatever the hint said.
    base.with(["edit", "logs-traces", "--confirm"]).env("CLAUDECODE", "1").run().refuses(2, "a person wrote");
    assert_eq!(checked(&base).len(), gone.len(), "a person decides");
    base.run(["edit", "logs-traces", "--confirm"]).says(0, "updated");
    assert!(!checked(&base).iter().any(|problem| problem.contains("logs-traces")), "{:?}", checked(&base));
    base.run(["import", "sections", "."]).says(0, "archived");
    base.run(["search", "JSON"]).says(0, "knowledge/logs-traces");
}

#[test]
fn an_entry_has_the_date_of_its_source() {
    let base = TestBase::new();
    git(&base, &["init", "--quiet"]);
    base.write("memory-bank/plain.md", "# Plain\n\nIt is.\n").write("memory-bank/other.md", "# Other\n\nIt is too.\n");
    base.write("memory-bank/dated.md", "---\ndate: 2026-03-04\n---\n# Dated\n\nIt was.\n");
    let commit = |date: &str| {
        git(&base, &["add", "memory-bank"]);
        let commit = ["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "--message", "m"];
        let done = std::process::Command::new("git")
            .current_dir(base.root())
            .args(commit)
            .env("GIT_COMMITTER_DATE", date)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    base.write("memory-bank/activeContext.md", "# Focus\n\nThe broker moves.\n");
    base.write("memory-bank/progress.md", "---\ndate: 2020-03-04\n---\n# Done\n\nThe broker moved.\n");
    commit("2026-01-02T03:04:05Z");
    base.write("memory-bank/new.md", "# New\n\nNot committed.\n");
    base.run(["import", "memory-bank"]).says(0, "6 added");
    // An old state is not hidden as soon as it is imported.
    let mut found = ids(&base.run(["search", "broker", "--json"]).json(0)["entries"]);
    found.sort();
    assert_eq!(found, ["knowledge/done", "knowledge/focus"]);
    let check = |name: &str, date: &str| {
        let entry = base.read(&format!(".ralph/knowledge/{name}.md"));
        assert!(entry.contains(&format!("\ncreated_at: \"{date}\"\n")), "{entry}");
    };
    check("plain", "2026-01-02T03:04:05Z");
    check("dated", "2026-03-04T00:00:00Z");
    check("new", "2026-11-20T10:00:00Z");
    // A later commit of the same text changes nothing.
    let text = base.read("memory-bank/plain.md");
    base.write("memory-bank/plain.md", "x");
    commit("2026-02-02T03:04:05Z");
    base.write("memory-bank/plain.md", text);
    commit("2026-03-02T03:04:05Z");
    base.run(["import", "memory-bank"]).says(0, "6 unchanged");
    check("plain", "2026-01-02T03:04:05Z");
}

#[test]
fn a_description_is_what_a_briefing_says() {
    let base = TestBase::new();
    let note =
        |description: &str| format!("---\n{description}\n---\n# Pool\n\nBackground.\n\nThe rest of it is long.\n");
    let check = |text: &str, expected: &str| {
        let base = TestBase::new();
        base.write(".ralph/knowledge/raw.md", text).write("memory-bank/imported.md", text.replace("Pool", "Lake"));
        base.run(["import", "memory-bank"]).says(0, "1 added");
        let briefing = base.run(["context", "-q"]).answer(0);
        for title in ["Pool", "Lake"] {
            assert!(briefing.contains(&format!("{title}: {expected} (")), "{text}\n{briefing}");
        }
        base.run(["import", "memory-bank"]).says(0, "1 unchanged");
    };
    check(&note("description: At most five connections."), "At most five connections.");
    check(&note("description: >-\n  At most five\n  connections. Not six."), "At most five connections.");
    check(&note("summary: Five, as Kage says."), "Five, as Kage says.");
    check(&note("description: [a, list]"), "The rest of it is long.");
    check(&note("tags: [x]"), "The rest of it is long.");
    check(&note("description: The rest of it is long."), "The rest of it is long.");
    // What a note says of itself in a line of its text has no name before it.
    check(
        "# Pool\n\n**Description:** At most five connections, and never six.\n",
        "At most five connections, and never six.",
    );
    // Of what a client loads anyway, nothing comes.
    base.write("AGENTS.md", "## Pool\n\nAt most five.\n");
    base.write(".cursor/rules/pool.mdc", "---\ndescription: A rule about pools\n---\nNot six.\n");
    base.run(["import", "sections"]).says(0, "1 added");
    base.run(["import", "rules"]).says(0, "1 added");
    let briefing = base.run(["context", "-q"]).answer(0);
    assert!(!briefing.contains("At most five") && !briefing.contains("pools"), "{briefing}");
    // A description is found, too.
    base.write(".ralph/knowledge/raw.md", note("description: It concerns the xylophone."));
    assert_eq!(ids(&base.run(["search", "xylophone", "--json"]).json(0)["entries"]), ["knowledge/raw"]);
}

#[test]
fn marks_without_meaning_are_dropped_and_those_that_hide_text_are_refused() {
    let base = TestBase::new();
    base.write(
        "vault/서버, 설정.md",
        "---\ntags: [서\u{200b}버]\n---\n\u{feff}# 서버\u{200b} 설정\n\n포트는\u{200b} 8080\u{2060}이다.\u{ad}\n\nمی\u{200c}خواهم 👩\u{200d}🔬 a\u{200d}b\n",
    );
    base.write("vault/ops, net/tags.md", "# Tags\n\nHidden\u{e0041}\u{e0042} text.\n");
    base.write("vault/ops, net/bidi.md", "# Bidi\n\nTurned \u{202e}text\u{202c}.\n");
    let ran = base.run(["import", "memory-bank", "vault"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert_eq!(ran.stdout.matches("refused").count(), 2, "{ran}");
    assert!(ran.stdout.contains("vault/서버, 설정.md: 7 invisible characters without a meaning left out"), "{ran}");
    let entry = fs::read_to_string(base.at(&base.files(".ralph/knowledge")[0])).unwrap();
    assert!(entry.contains("title: \"서버 설정\"") && entry.contains("tags: [\"서버\"]"), "{entry}");
    assert!(entry.ends_with("\n\n포트는 8080이다.\n\nمی\u{200c}خواهم 👩\u{200d}🔬 ab\n"), "{entry}");
    base.run(["import", "memory-bank", "vault"]).says(1, "1 unchanged");
    assert_eq!(checked(&base), [""; 0]);
}

#[test]
fn a_comma_in_a_name_refuses_nothing_and_our_own_details_are_no_secret() {
    let base = TestBase::new();
    base.write("memory-bank/a, b/c, d.md", "It is said.\n");
    base.run(["import", "memory-bank"]).says(0, "1 added");
    base.run(["import", "memory-bank"]).says(0, "1 unchanged");
    base.write("docs/adr/0001-use, not, this.md", "# Use this\n\n## Status\n\nAccepted\n\n## Decision\n\nWe do.\n");
    base.run(["import", "adr"]).says(0, "1 added");
    // What an import knows an entry by has the words of its path and headings beside a hash.
    let long = "It is rotated by hand, and nobody else has it. ".repeat(40);
    let section = |name: &str| format!("## {name}\n\n{long}\n\n");
    let text = ["API key: rotation", "Secret: where", "token/password: policy"].map(section).concat();
    base.write("memory-bank/auth/api_key-and-secret.md", format!("# API key\n\n{text}"));
    base.run(["import", "memory-bank"]).says(0, "3 added");
    assert!(checked(&base).iter().all(|found| !found.starts_with("secret")), "{:?}", checked(&base));
}

/// A folder of records, as people write them.
fn records(files: &[(&str, &str)]) -> TestBase {
    let base = TestBase::new();
    for (name, text) in files {
        base.write(&format!("docs/adr/{name}.md"), text);
    }
    base.run(["import", "adr"]).says(0, &format!("{} added", files.len()));
    base
}

#[test]
fn records_supersede_from_either_side() {
    let check = |new: &str, old: &str| {
        let new = new.replace("# New", "# ADR-0004: Use events");
        let base = records(&[("0002-cron", &old.replace("# Old", "# 2. Use cron")), ("0004-events", &new)]);
        let found = base.run(["show", "use-cron", "--json"]).json(0);
        assert_eq!(
            found["entry"]["superseded_by"],
            serde_json::json!(["knowledge/use-events"]),
            "{new}\n{old}\n{found}"
        );
        base.run(["import", "adr"]).says(0, "2 unchanged");
        assert!(!base.run(["context", "-q"]).answer(0).contains("Use cron"), "{new}");
    };
    let (new, old) = ("# New\n\n## Decision\n\nEvents.\n", "# Old\n\n## Decision\n\nCron.\n");
    let fields = |fields: &str, text: &str| format!("---\n{fields}\n---\n{text}");
    for said in ["supersedes: [ADR-002]", "supersedes: ADR-2", "supersedes:\n  - 0002-cron.md", "replaces: [2]"] {
        check(&fields(said, new), old);
    }
    for said in [
        "superseded-by: ADR-0004",
        "superseded_by: [ADR-4]",
        "status: superseded by ADR-0004",
        "status: \"superseded by [ADR-4](0004-events.md)\"",
    ] {
        check(new, &fields(said, old));
    }
    let status = |status: &str, text: &str| text.replacen("\n\n", &format!("\n\n{status}\n\n"), 1);
    for said in [
        "**Status:** Accepted (supersedes ADR-001, ADR-002)",
        "- Status: accepted, supersedes ADR-2",
        "* Supersedes: [ADR-0002](0002-cron.md)",
        "**Supersedes**: ADR-0002",
        "## Status\n\nAccepted\n\nSupersedes [2. Use cron](0002-cron.md)",
    ] {
        check(&status(said, new), old);
    }
    for said in [
        "## Status\n\nSuperseded by [ADR-4](0004-events.md)",
        "## Status\n\nSuperceded by [4. Use events](0004-events.md)",
        "Status: Superseded by ADR-0004",
        "**Status**: ~~Accepted~~ Superseded by ADR-4",
        "* Status: superseded by [ADR-0004](0004-events.md)",
        "**Superseded by:** ADR-0004",
    ] {
        check(new, &status(said, old));
    }
}

#[test]
fn the_status_of_a_record_is_shown_where_it_is_not_settled() {
    let check = |status: &str, expected: &str| {
        let text = format!(
            "# ADR-0117: Use sockets {{#adr-0117}}\n\n{status}\n\n## Context\n\nPolling costs.\n\n## Decision\n\nSockets carry it.\n\n## Consequences\n\n{}\n",
            "Much. ".repeat(2_000)
        );
        let base = records(&[("0117-use-sockets", &text)]);
        let title = ["Use sockets", expected].concat();
        for query in ["ADR-0117", "ADR 117", "ADR-117", "adr 0117", "sockets"] {
            let found = base.run(["search", query, "--json"]).json(0);
            assert_eq!(ids(&found["entries"]), ["knowledge/use-sockets"], "{query}");
            assert_eq!(found["entries"][0]["title"], "Use sockets");
        }
        let found = base.run(["search", "sockets"]).answer(0);
        assert!(found.contains(expected), "{found}");
        let context = base.run(["context", "-q", "Use sockets"]).answer(0);
        assert!(context.contains(&format!("### {title}\n")) && context.contains("Sockets carry it."), "{context}");
        let briefing = base.run(["context", "-q"]).answer(0);
        // What is not agreed is no news for a session.
        assert_eq!(briefing.contains("Sockets carry it."), expected.is_empty(), "{briefing}");
    };
    check("**Status:** Accepted", "");
    check("## Status\n\nAccepted on 2026-01-02", "");
    check("Status: Proposed", " (proposed)");
    check("* Status: _provisional_", " (provisional)");
    check("## Status\n\n**Deprecated**", " (deprecated)");
    check("## Status\n\n🟡 Proposed", " (proposed)");
    check("| Status | Proposed |\n|---|---|\n| Date | 2026-01-02 |", " (proposed)");
    check("## Status\n\nRejected because it is slow.", " (rejected)");
}

#[test]
fn a_briefing_has_the_rules_that_its_client_does_not_read_and_the_first_part_of_a_text() {
    let base = TestBase::new();
    base.write(".cursor/rules/api.mdc", "---\nalwaysApply: true\n---\n# API\n\nEach route has a test.\n");
    base.write("CLAUDE.md", "## Style\n\nNames say what a thing is.\n");
    let long = "The long text is about the brokers of the shop and nothing else.\n\n".repeat(800);
    base.write("memory-bank/long.md", format!("# Brokers\n\n{long}"));
    for source in ["rules", "sections", "memory-bank"] {
        base.run(["import", source]).says(0, "added");
    }
    let said = |client: &[&str]| {
        let input =
            format!(r#"{{"session_id": "s{}", "source": "startup", "hook_event_name": "SessionStart"}}"#, client.len());
        base.with([&["hook", "session-start"], client].concat()).input(input).run().answer(0)
    };
    let briefing = said(&[]);
    assert!(briefing.contains("Each route has a test.") && !briefing.contains("Names say"), "{briefing}");
    assert!(briefing.contains("Brokers (1 of 2)") && !briefing.contains("(2 of 2)"), "{briefing}");
    let briefing = said(&["--agent", "codex"]);
    assert!(briefing.contains("Names say"), "it reads AGENTS.md alone: {briefing}");
    // A briefing at a terminal is for no client.
    let briefing = base.run(["context", "-q"]).answer(0);
    assert!(!briefing.contains("Each route") && briefing.contains("Brokers"), "{briefing}");
}
