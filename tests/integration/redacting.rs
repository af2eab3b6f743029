//! Secrets are refused in new knowledge, redacted in the journal, found in committed files, and never shown.

use std::fs;

use serde_json::json;

use crate::agent::Agent;
use crate::support::TestBase;

/// Something that looks like a token, in no piece that another scanner would stop at.
fn token() -> String {
    ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat()
}

/// Something that looks like a password.
fn password() -> String {
    ["Tr7#", "kq!Zv9xW"].concat()
}

/// Fails if a file of the memory contains the text.
#[track_caller]
fn is_nowhere(base: &TestBase, text: &str) {
    for path in base.files(".ralph") {
        let bytes = fs::read(base.at(&path)).unwrap();
        assert!(!bytes.windows(text.len()).any(|window| window == text.as_bytes()), "{path}");
    }
}

#[test]
fn knowledge_with_a_secret_is_refused() {
    let base = TestBase::new();
    let body = format!("How to push:\n\n    export TOKEN={}\n", token());
    let add = |more: &[&str]| {
        let arguments = ["add", "Push", "--tags", "git", "--body", &body];
        base.run(arguments.iter().chain(more))
    };
    let ran = add(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{ran}");
    assert!(
        ran.stderr.starts_with("error: body, line 3: this looks like a secret: github-token, fingerprint "),
        "{ran}"
    );
    assert!(!ran.stderr.contains(&token()));
    let fingerprint = ran.stderr.split("fingerprint ").nth(1).unwrap()[..8].to_owned();
    assert!(ran.stderr.contains(&format!("`--allow-secret {fingerprint}`")), "{ran}");
    is_nowhere(&base, &token());
    // Whatever field it is in.
    let secret = token();
    for (field, fields) in [("title", [&*secret, "--tags", "a"]), ("tags", ["T", "--tags", &secret])] {
        let reason = format!("{field}, line 1: this looks like a secret: github-token");
        base.run(["add", "--body", "b"].iter().chain(&fields)).refuses(4, &reason);
    }
    let details = format!("{{\"db\": {{\"password\": \"{}\"}}}}", password());
    let ran = base.run(["add", "--event", "hint", "Look.", "--details", &details]);
    ran.refuses(4, "details, line 1: this looks like a secret: password");
    let ran = base.run(["add", "--event", "hint", &secret, "--json"]);
    assert_eq!(ran.json(4)["error"]["exit_code"], 4);
    assert_eq!(base.files(".ralph/knowledge"), Vec::<String>::new());

    // Another fingerprint allows nothing, this one does, and an invalid one is reported.
    add(&["--allow-secret", "01234567"]).says(4, "this looks like a secret");
    let ran = add(&["--allow-secret", "all"]);
    ran.refuses(2, "`all` is not eight hexadecimal digits");
    assert_eq!(add(&["--allow-secret", &fingerprint]).answer(0), "created knowledge/push\n");
    // It is in a file now, and check reports it until the settings allow it.
    base.run(["check"]).says(1, "this looks like a secret: github-token");
    let config = base
        .read(".ralph/config.toml")
        .replace("# secrets.allowed = []", &format!("secrets.allowed = [\"{fingerprint}\"]"));
    base.write(".ralph/config.toml", config);
    base.run(["check"]).says(0, "no problems in ");
    assert_eq!(add(&[]).answer(0), "unchanged knowledge/push\n");
}

#[test]
fn an_attempt_is_recorded_without_its_secrets() {
    let base = TestBase::new();
    let (token, password) = (token(), password());
    base.run(["context", "--task", "Push it", "--task-id", "t-1"]).says(0, "**ID:** t-1");
    let text = format!(
        "<journal>The remote wants {token}.</journal>\n<knowledge tags=\"git\" title=\"How to push\">Use {token}.</knowledge>\n\
         <knowledge tags=\"git\" title=\"Where to push\">To origin.</knowledge>\n\
         <failure-report>\nwhat_tried: DB_PASSWORD={password} git push\nwhy_failed: refused\n</failure-report>\n<task-failed>t-1</task-failed>\n"
    );
    let verify =
        ["--verify-command", &format!("curl -u me:{password} https://host"), "--verify-exit", "1"].map(str::to_owned);
    let output = base.home().join("output");
    fs::write(
        &output,
        format!(
            "{}-----BEGIN PRIVATE KEY-----\n{}\n",
            "x".repeat(16 * 1024),
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(20)
        ),
    )
    .unwrap();
    let record = ["record", "--verify-output", output.to_str().unwrap()].map(str::to_owned);
    base.with(record.iter().chain(&verify)).input(&text).run().says(0, "");
    is_nowhere(&base, &token);
    is_nowhere(&base, &password);
    is_nowhere(&base, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC");
    let journal = base.files(".ralph/journal");
    let journal = base.read(&journal[0]);
    for redacted in [
        "> The remote wants [redacted: github-token].",
        "> DB_PASSWORD=[redacted: password] git push",
        "command: \"curl -u me:[redacted: password] https://host\"",
        "[redacted: private-key]",
    ] {
        assert!(journal.contains(redacted), "{redacted}\n{journal}");
    }
    // Refused facts are reported, the others are kept.
    assert!(
        !base.at(".ralph/knowledge/how-to-push.md").exists() && base.at(".ralph/knowledge/where-to-push.md").exists()
    );
    let next = base.run(["context", "--task", "Push it", "--task-id", "t-1"]).stdout;
    assert!(
        next.contains("<knowledge>: body, line 1: this looks like a secret: github-token")
            || next.contains("looks like a secret: github-token"),
        "{next}"
    );
    assert!(!next.contains(&token));
}

#[test]
fn check_finds_committed_secrets() {
    let base = TestBase::new();
    let (token, password) = (token(), password());
    base.entry("push", "Push", "git", &format!("é {token}"));
    base.write(".ralph/journal/run-1a2b3c4d/0001.md", format!("---\nrun_id: run-1a2b3c4d\niteration: 1\noutcome: done\nstarted_at: \"2026-02-17T12:00:00Z\"\n---\n\n> password: {password}\n"));
    base.write(
        ".ralph/archive/knowledge/old.md",
        format!("---\ntitle: Old\ntags: [a]\n---\nhttps://me:{}@host/\n", password.replace('#', "%23")),
    );
    let ran = base.run(["check", "--json"]).json(1);
    let problems = ran["problems"].as_array().unwrap();
    let places: Vec<String> = problems
        .iter()
        .map(|problem| {
            format!("{} {}:{}:{}", problem["code"], problem["path"], problem["line"], problem["column"])
                .replace('"', "")
        })
        .collect();
    assert_eq!(
        places,
        [
            "secret .ralph/archive/knowledge/old.md:5:12",
            "secret .ralph/journal/run-1a2b3c4d/0001.md:8:13",
            "secret .ralph/knowledge/push.md:7:3",
        ]
    );
    for options in [&["check"][..], &["check", "--json"], &["check", "--format", "github"]] {
        let ran = base.run(options);
        assert_eq!(ran.code, Some(1), "{ran}");
        assert!(
            !ran.stdout.contains(&token) && !ran.stdout.contains(&password) && ran.stdout.contains("github-token"),
            "{ran}"
        );
    }
}

/// What is cut to its last or first characters is redacted before: half of a key is a secret too.
#[test]
fn redaction_comes_before_cuts() {
    let base = TestBase::new();
    let (token, key) = (token(), "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(20));
    let begin =
        |number: &str| base.run(["context", "--task", "Push it", "--task-id", number]).says(0, "**Title:** Push it");
    let tail = &token[token.len() - 16..];
    for (number, text) in [
        ("t-1", format!("It printed {token} {}", "z".repeat(470))),
        ("t-2", format!("cat key.pem\n-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n")),
        (
            "t-3",
            format!(
                "<failure-report>\nwhat_tried: a\nwhy_failed: b\nstack_trace: {} {token}\n</failure-report>",
                "y".repeat(480)
            ),
        ),
    ] {
        begin(number);
        base.with(["record", "--task-id", number]).input(&text).run().says(0, "recorded journal/");
    }
    for secret in [tail, &token[..20], "ADANBgkqhkiG9w0BAQEFAASC"] {
        is_nowhere(&base, secret);
    }
}

#[test]
fn no_field_or_message_shows_a_secret() {
    let base = TestBase::new();
    base.entry("a", "Alpha", "x", "one");
    let token = token();
    let scope = format!("feature:{token}");
    let key = ["AKIA", "Q7RZ2NLD", "5XWUB3TK"].concat();
    let all: [&[&str]; 6] = [
        &["add", "T", "--tags", "a", "--body", "b", "--scope", &scope],
        &["add", "T", "--tags", &key, "--body", "b"],
        &["add", "T", "--tags", "a", "--body", "b", "--task-id", &token],
        &["add", "--event", "hint", "S.", "--run-id", &token],
        &["add", "--event", "hint", "S.", "--feature", &token],
        &["edit", "a", "--scope", &scope],
    ];
    for arguments in all {
        let ran = base.run(arguments);
        assert_eq!(ran.code, Some(4), "{arguments:?}: {ran}");
        assert!(!ran.stderr.contains(&token) && !ran.stdout.contains(&token), "{ran}");
    }
    // A refused sigil is reported without it.
    base.run(["context", "--task", "x", "--task-id", "t-1"]).says(0, "**ID:** t-1");
    let ran = base
        .with(["record", "--json"])
        .input(format!("<next-model>{token}</next-model><task-done>t-1</task-done>"))
        .run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(!ran.stdout.contains(&token) && !ran.stderr.contains(&token), "{ran}");
    is_nowhere(&base, &token);
    // A list of variables has the name and the value on two lines, of which the check shows the second.
    let password = password();
    base.entry("k8s", "Deployment", "x", &format!("- name: DB_PASSWORD\n  value: \"{password}\""));
    let ran = base.run(["check"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("[redacted: password]") && !ran.stdout.contains(&password), "{ran}");
}

/// Whatever is wrong with a value, no message shows it if it is a secret.
#[test]
fn a_message_about_a_bad_value_contains_no_secret() {
    let base = TestBase::new();
    let secret = token();
    // The ways in which a value can be written, some of which break the frontmatter.
    let forms = |secret: &str| {
        [
            secret.to_owned(),
            format!("\"a {secret} b\""),
            format!("[{secret}, x/{secret}/y]"),
            format!("{{a: {secret}}}"),
            format!(">-\n  {secret}\n  {secret}"),
            format!("a: {secret}"),
            format!("\"{secret}"),
            format!("*{secret}"),
        ]
    };
    let knowledge =
        ["scope", "importance", "created_at", "updated_at", "expires_at", "source", "supersedes", "details"];
    let mut n = 0;
    let mut put = |folder: &str, text: String| {
        n += 1;
        base.write(&format!(".ralph/{folder}/{n:04}.md"), text);
    };
    for (key, form) in knowledge.iter().flat_map(|key| forms(&secret).map(|form| (key, form))) {
        put("knowledge", format!("---\ntitle: A title\ntags: [zebra]\n{key}: {form}\n---\n\nzebra\n"));
    }
    // Of the keys with free text, the invalid shapes.
    for key in ["title", "category", "feature", "task_id", "run_id", "files", "tags"] {
        for form in [&forms(&secret)[3], &forms(&secret)[5], &forms(&secret)[6], &forms(&secret)[7]] {
            put(
                "knowledge",
                format!("---\ntitle: A title\ntags: [zebra]\n{key}: {form}\n---\n\nzebra\n").replacen(
                    "title: A title\n",
                    if key == "title" { "" } else { "title: A title\n" },
                    1,
                ),
            );
        }
    }
    put("knowledge", format!("---\ntitle: A title\ntags: [zebra]\n{secret}: 1\n{secret}: 2\n---\n\nzebra\n"));
    put("knowledge", format!("---\ntitle: Another\ntags: [yak]\n---\n\nyak [[{secret}]] and [[token {secret}]]\n"));
    put("knowledge", format!("---\ntitle: A title\ntags: [zebra]\nfiles: [src/{secret}.rs]\n---\n\nzebra\n"));
    let journal =
        ["iteration", "outcome", "difficulty", "cost_usd", "tokens_in", "context", "files", "validation", "started_at"];
    for (key, form) in journal.iter().flat_map(|key| forms(&secret).map(|form| (key, form))) {
        let attempt = "iteration: 1\noutcome: failed\nstarted_at: \"2026-11-20T09:00:00Z\"\n";
        let attempt: String =
            attempt.lines().filter(|line| !line.starts_with(key)).flat_map(|line| [line, "\n"]).collect();
        put(
            "journal/run-1a2b3c4d",
            format!("---\nrun_id: run-1a2b3c4d\ntask_id: t-1\n{attempt}{key}: {form}\n---\n\n> zebra\n"),
        );
    }
    let config = base.read(".ralph/config.toml");
    base.write(".ralph/config.toml", format!("{config}\n\"{secret}\" = 1\n[\"a {secret}\"]\nb = 1\n"));

    let commands: [&[&str]; 21] = [
        &["check"],
        &["check", "--json"],
        &["check", "--format", "github"],
        &["list"],
        &["list", "--json"],
        &["list", "--archived", "--json"],
        &["search", "zebra"],
        &["search", "zebra", "--json"],
        &["search", "zebra", "--explain"],
        &["context", "--task", "zebra"],
        &["context", "--task", "zebra", "--task-id", "t-1", "--json"],
        &["--quiet"],
        &["--json"],
        &["check", "--json"],
        &["check", "--fix"],
        &["tidy", "--dry-run"],
        &["tidy", "--dry-run", "--json"],
        &["index"],
        &["index", "--json"],
        &["edit", "0002", "--supersedes", "0001"],
        &["add", "A title", "--tags", "zebra", "--body", "zebra"],
    ];
    for arguments in commands {
        let ran = base.run(arguments);
        assert!(!matches!(ran.code, None | Some(70)), "{arguments:?}: {ran}");
        for text in [&ran.stdout, &ran.stderr] {
            let told: Vec<&str> = text.lines().filter(|line| line.contains(&secret)).take(3).collect();
            assert_eq!(told, Vec::<&str>::new(), "{arguments:?}");
        }
    }
    // The output had content, and more of it was visible.
    let human = base.run(["check"]).stdout;
    for told in [
        "`scope` is unknown: `[redacted: github-token]`",
        "[[[redacted: github-token]]]",
        "no setting `[redacted: github-token]`",
    ] {
        assert!(human.contains(told), "{told}\n{human}");
    }
    let mut agent = Agent::greeted(base.with(["mcp"]).command());
    for call in [
        json!({"name": "search_memory", "arguments": {"query": "zebra"}}),
        json!({"name": "build_context", "arguments": {"task": "zebra"}}),
        json!({"name": "read_entry", "arguments": {"id": "knowledge/0001"}}),
    ] {
        let answer = agent.ask("tools/call", call);
        let problems = answer["result"]["structuredContent"]["problems"].to_string();
        assert!(!problems.contains(&secret), "{answer}");
    }

    // A settings file that stops every command.
    for line in [format!("search.limit = \"{secret}\""), format!("{secret} = = 1"), format!("a = 1\n[a.{secret}]\n")] {
        base.write(".ralph/config.toml", format!("format = 1\n{line}\n"));
        for arguments in [&["list"][..], &["check"], &["list", "--json"]] {
            let ran = base.run(arguments);
            assert!(ran.code == Some(2) && !ran.stdout.contains(&secret) && !ran.stderr.contains(&secret), "{ran}");
        }
    }
}
