//! `import`: what becomes of each source, and that nothing is lost, overwritten or imported twice.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{TestBase, write_program};

/// The project's folder in fixtures of transcripts.
const PROJECT: &str = "/home/dev/project";

/// Copies a folder of `fixtures/import/` to another folder, with the project's own folder in transcripts.
fn copy(base: &TestBase, from: &str, to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import").join(from);
    let mut folders = vec![from.clone()];
    while let Some(folder) = folders.pop() {
        for found in fs::read_dir(folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let to = to.join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(to, text.replace(PROJECT, &base.root().display().to_string())).unwrap();
        }
    }
}

/// Returns Claude Code's folder of the project.
fn claude_folder(base: &TestBase) -> std::path::PathBuf {
    let root = base.root().canonicalize().unwrap().display().to_string();
    let slug: String = root.chars().map(|next| if next.is_ascii_alphanumeric() { next } else { '-' }).collect();
    base.home().join(".claude/projects").join(slug)
}

/// Returns every file below `.ralph/` that is not derived, with its bytes.
fn tree(base: &TestBase) -> BTreeMap<String, Vec<u8>> {
    let is_kept = |path: &String| !path.starts_with(".ralph/cache/") && !path.starts_with(".ralph/state/");
    let files = base.files(".ralph").into_iter().filter(is_kept);
    files.map(|path| (path.clone(), fs::read(base.at(&path)).unwrap())).collect()
}

/// Returns the entries as text, one after another, with the mark of a temporary folder replaced.
fn entries(base: &TestBase) -> String {
    let mut text = String::new();
    for path in tree(base).keys().filter(|path| path.contains("/knowledge/") || path.contains("/journal/")) {
        let entry = base.read(path);
        let (start, end) = match entry.find(".md@") {
            Some(at) => (&entry[..at + 4], format!("[MARK]{}", &entry[at + 12..])),
            None => (entry.as_str(), String::new()),
        };
        text.push_str(&["==> ", path, "\n", start, &end].concat());
    }
    text
}

/// Returns a text of each item of an import's answer; empty where it is null.
fn each(answer: &Value, name: &str) -> Vec<String> {
    let items = answer["items"].as_array().unwrap().iter();
    items.map(|item| item[name].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns what became of the item of an import's answer whose path has this part, and why.
fn became(answer: &Value, part: &str) -> [String; 2] {
    let mut items = answer["items"].as_array().unwrap().iter();
    let item = items.find(|item| item["from"]["path"].as_str().unwrap().contains(part)).unwrap();
    ["action", "reason"].map(|name| item[name].as_str().unwrap_or_default().to_owned())
}

/// Replaces a text in each file of a folder.
fn replace_in(folder: &Path, text: &str, by: &str) {
    for path in fs::read_dir(folder).unwrap() {
        let path = path.unwrap().path();
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(text, by)).unwrap();
    }
}

/// Imports, and returns what became of the items, as words with counts.
#[track_caller]
fn import(base: &TestBase, arguments: &[&str], code: i32) -> String {
    counted(&base.run([&["import"], arguments, &["--json"]].concat()).json(code))
}

/// Returns how many items became what, as a summary has it.
fn counted(answer: &Value) -> String {
    let counts = counts(answer);
    counts.iter().map(|(action, count)| format!("{count} {action}")).collect::<Vec<_>>().join(", ")
}

/// Returns the counts of an import's answer.
fn counts(answer: &Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for item in answer["items"].as_array().unwrap() {
        *counts.entry(item["action"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Imports twice after a dry run: the dry run writes nothing and announces the first, the second changes nothing.
#[track_caller]
fn import_twice(base: &TestBase, arguments: &[&str], code: i32) -> String {
    let before = tree(base);
    let announced = base.run([&["import"], arguments, &["--dry-run", "--json"]].concat()).json(code);
    assert_eq!(tree(base), before, "a dry run writes nothing");
    let ran = base.run([&["import"], arguments].concat());
    assert_eq!(ran.code, Some(code), "{ran}");
    let after = tree(base);
    let again = base.run([&["import"], arguments, &["--json"]].concat()).json(code);
    assert_eq!(tree(base), after, "twice is once");
    let (first, second) = (counts(&announced), counts(&again));
    let done = |counts: &BTreeMap<String, usize>| {
        ["added", "unchanged"].iter().map(|action| counts.get(*action).unwrap_or(&0)).sum::<usize>()
    };
    assert_eq!(second.get("added"), None, "{again}");
    assert!(done(&second) >= done(&first), "{announced}\n{again}");
    ran.to_string()
}

/// Imports the fixtures of a source from its usual place, and compares the entries with a snapshot.
#[track_caller]
fn check_entries(fixtures: &str, place: impl Fn(&TestBase) -> std::path::PathBuf, arguments: &[&str]) -> TestBase {
    let base = TestBase::new();
    copy(&base, fixtures, &place(&base));
    let ran = import_twice(&base, arguments, 0);
    assert_snapshot!(format!("import-{fixtures}"), format!("{ran}\n{}", entries(&base)));
    base
}

#[test]
fn every_source_becomes_entries() {
    check_entries("sections", TestBase::root, &["sections"]);
    check_entries("rules", TestBase::root, &["rules"]);
    check_entries("memory-bank", |base| base.at("memory-bank"), &["memory-bank", "--tag", "bank"]);
    check_entries("jsonl", TestBase::root, &["jsonl", "memories.jsonl"]);
    // What is personal stays where it is.
    let base = check_entries("claude-memory", |base| claude_folder(base).join("memory"), &["claude-memory"]);
    assert!(!entries(&base).contains("short answers"));
    // Decisions replace each other.
    let base = check_entries("adr", |base| base.at("docs/adr"), &["adr"]);
    let found = base.run(["search", "where are sessions kept", "--json"]).json(0);
    assert_eq!(crate::support::ids(&found["entries"]), ["knowledge/keep-sessions-in-postgres"]);
}

#[test]
fn a_context_has_an_imported_decision_and_not_its_date() {
    let base = TestBase::new();
    let nygard = "# 7. Use a queue\n\nDate: 2026-01-15\n\n## Status\n\nAccepted\n\n## Context\n\nJobs are lost.\n\n\
                  ## Decision\n\nJobs go through a queue.\n\n## Consequences\n\nA worker more.\n";
    base.write("docs/adr/0007-use-a-queue.md", nygard);
    base.run(["import", "adr"]).says(0, "1 added");
    let entry = base.read(".ralph/knowledge/use-a-queue.md");
    let body = "---\n\nJobs go through a queue.\n\n## Context\n\nJobs are lost.\n\n## Consequences\n\nA worker more.\n";
    assert!(entry.ends_with(body), "{entry}");
    assert!(entry.contains("created_at: \"2026-01-15T00:00:00Z\"") && entry.contains("status: accepted"), "{entry}");
    let context = base.run(["context", "-q", "--task", "Use a queue for jobs"]).answer(0);
    assert!(context.contains("Jobs go through a queue.") && !context.contains("2026-01-15"), "{context}");
}

#[test]
fn an_import_alone_shows_what_there_is_and_changes_nothing() {
    let base = TestBase::new();
    base.run(["import"]).says(0, "found nothing to import");
    base.write("AGENTS.md", "## Ports\n\nThe API has 8080.\n\n## Logs\n\nJSON.\n")
        .write(".cursorrules", "Return JSON.\n");
    copy(&base, "adr", &base.at("docs/adr"));
    base.write(".ralph/progress.db", "SQLite format 3\0");
    with_sessions(&base);
    base.run(["import", "rules"]).says(0, "1 added");
    let before = tree(&base);
    let found = || base.with(["import"]).env("PATH", base.home());
    let ran = found().run();
    assert_eq!(ran.code, Some(0), "{ran}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[..2], ["sections: 2 new in AGENTS.md", "rules: 1 unchanged in .cursorrules"]);
    assert!(lines[2].starts_with("adr: 4 new in docs/adr/0001"), "{ran}");
    assert!(lines[3].starts_with("transcripts: 5 new, 2 skipped in ") && lines.len() == 4, "{ran}");
    assert!(ran.stderr.contains("`ralph-memory import SOURCE` imports one of these"), "{ran}");
    // What cannot be read hides nothing else.
    assert!(ran.stderr.contains("`sqlite3` is not installed") && ran.stderr.contains("import ralph"), "{ran}");
    assert_eq!(tree(&base), before);
    let answer = base.with(["import", "--json"]).env("PATH", base.home()).run().json(0);
    let words: Vec<&str> =
        answer["sources"].as_array().unwrap().iter().map(|source| source["source"].as_str().unwrap()).collect();
    assert_eq!(words, ["sections", "rules", "adr", "transcripts"]);
    assert_eq!(counted(&answer["sources"][0]), "2 added");
}

#[test]
fn the_last_line_of_an_import_alone_says_what_is_left_to_do() {
    // In pieces, so that scanners do not report it.
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    let (ports, empty, secret) = ("The API has 8080.\n", "# Calls\n", format!("It is {token}.\n"));
    let all = "there is nothing new to import: the memory has all of it";
    let some = "nothing was imported; `ralph-memory import SOURCE` imports one of these";
    let left_out = "there is nothing new to import; `ralph-memory import SOURCE --dry-run` says why of each item";
    for (known, other, expected) in [
        ("", "", "found nothing to import"),
        ("", ports, some),
        (ports, "", all),
        (ports, "The page has 8081.\n", some),
        (ports, empty, left_out),
        ("", empty, left_out),
        ("", &secret, left_out),
    ] {
        let base = TestBase::new();
        if !known.is_empty() {
            base.write("memory-bank/known.md", known);
            base.run(["import", "memory-bank"]).says(0, "1 added");
        }
        if !other.is_empty() {
            base.write("memory-bank/other.md", other);
        }
        let ran = base.run(["import"]);
        assert!(ran.code == Some(0) && ran.stderr.lines().any(|line| line.starts_with(expected)), "{expected}\n{ran}");
    }
}

#[test]
fn a_path_alone_is_imported_as_what_it_is() {
    let base = TestBase::new();
    let check = |path: &str, source: &str| {
        let answer = base.run(["import", path, "--dry-run", "--json"]).json(0);
        assert_eq!((answer["source"].as_str(), &answer["searched"]), (Some(source), &json!([])), "{path}");
        assert!(!answer["items"].as_array().unwrap().is_empty(), "{path}: {answer}");
    };
    let text = "## Ports\n\n8080.\n";
    let decision = "# Use WAL\n\n## Status\n\nAccepted\n\n## Decision\n\nYes.\n";
    let line = "{\"title\":\"Ports\",\"body\":\"8080\"}\n";
    for (path, text, source) in [
        ("CLAUDE.md", text, "sections"),
        ("web/AGENTS.md", text, "sections"),
        (".cursor/rules/api.mdc", text, "rules"),
        (".claude/rules/plain.md", text, "rules"),
        ("elsewhere/api.instructions.md", text, "rules"),
        ("docs/adr/0001-use-wal.md", decision, "adr"),
        ("choices/0002-use-wal.md", decision, "adr"),
        ("choices/adr-3.md", decision, "adr"),
        ("memory-bank/search.md", text, "memory-bank"),
        ("notes/2026-01-15-search.md", text, "memory-bank"),
        ("memories.jsonl", line, "jsonl"),
        ("learned/MEMORY.md", text, "claude-memory"),
        ("learned/tests.md", text, "memory-bank"),
    ] {
        base.write(path, text);
        check(path, source);
    }
    // A folder is what most tells one from another in it.
    for (path, source) in [
        (".", "sections"),
        (".cursor/rules", "rules"),
        ("docs/adr", "adr"),
        ("choices", "adr"),
        ("./memory-bank", "memory-bank"),
        ("notes", "memory-bank"),
        ("learned", "claude-memory"),
    ] {
        check(path, source);
    }
    with_sessions(&base);
    let sessions = claude_folder(&base);
    check(sessions.to_str().unwrap(), "transcripts");
    check(sessions.join("11111111-0000-4000-8000-000000000003.jsonl").to_str().unwrap(), "transcripts");
    base.with(["import", "-"]).input(line).run().says(0, "1 added; read standard input as `jsonl`");
    base.run(["import", "CLAUDE.md"]).says(0, "read CLAUDE.md as `sections`");
    // What is both is the source.
    base.write("adr/9.md", "x").run(["import", "adr"]).says(0, "read docs/adr/0001-use-wal.md, adr/9.md");
    base.write("picture.png", "x");
    base.run(["import", "picture.png"]).says(2, "nothing says what `picture.png` is\nhint: name the source before");
    base.run(["import", "rulez"]).says(2, "`rulez` does not exist\nhint: check the spelling; sources are `sections`");
    base.run(["import", "rulez", "CLAUDE.md"]).says(2, "`rulez` is not a source\nhint: sources are");
    base.run(["import", "CLAUDE.md", "--since", "3"]).says(2, "--since has no meaning for `sections`");
}

/// Puts a program in the place of `sqlite3` that answers each query that has a text with a file, and returns the folder of
/// both.
fn sqlite_stub(base: &TestBase, answers: &[(String, &str)]) -> std::path::PathBuf {
    let folder = base.home().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let place = folder.display();
    let answer = |(text, file): &(String, &str)| format!("*{text:?}*) read_it={place}/{file} ;;\n");
    let script = format!(
        "#!/bin/sh\nfor query; do :; done\ncase \" $* \" in *' -safe -init /dev/null -batch -readonly -json '*) ;; *) exit 9 ;; esac\n\
         echo '[{{\"hard_heap_limit\":1}}]'\ncase \"$query\" in\n{}*) exit 8 ;;\nesac\n\
         while IFS= read -r line || [ -n \"$line\" ]; do printf '%s\\n' \"$line\"; done < \"$read_it\"\n",
        answers.iter().map(answer).collect::<String>(),
    );
    write_program(&folder.join("sqlite3"), script);
    folder
}

/// Does so with a database of ralph.
fn ralph_stub(base: &TestBase) -> std::path::PathBuf {
    let answers = [("sqlite_master", "tables"), ("journal", "journal"), ("tasks", "tasks"), ("features", "features")];
    let files = answers.map(|(text, file)| (text.to_owned(), format!("{file}.json")));
    let answers: Vec<_> = files.iter().map(|(text, file)| (text.clone(), file.as_str())).collect();
    let folder = sqlite_stub(base, &answers);
    copy(base, "ralph", &folder);
    folder
}

#[test]
fn the_journal_of_ralph_becomes_attempts() {
    let base = TestBase::new();
    base.write(".ralph/progress.db", "SQLite format 3\0");
    let bin = ralph_stub(&base);
    let run = |arguments: &[&str]| base.with([&["import", "ralph"], arguments].concat()).env("PATH", &bin).run();
    let missing = base.with(["import", "ralph"]).env("PATH", base.home()).run();
    assert!(missing.stderr.contains("apt install sqlite3"), "{missing}");
    missing.says(2, "`sqlite3` is not installed");
    let before = tree(&base);
    assert_eq!(counted(&run(&["--dry-run", "--json"]).json(1)), "2 added, 2 refused");
    assert_eq!(tree(&base), before);
    let ran = run(&[]).to_string();
    assert_snapshot!("import-ralph", format!("{ran}\n{}", entries(&base)));
    let after = tree(&base);
    assert_eq!(counted(&run(&["--json"]).json(1)), "2 refused, 2 unchanged");
    assert_eq!(tree(&base), after);
    let memory = base.memory();
    assert_eq!(memory.failed_attempts(Some("basket"), Some("t-abc123"), 9).unwrap().in_all, 1);
}

#[test]
fn only_ordinary_tables_of_a_database_are_read() {
    let base = TestBase::new();
    base.write(".ralph/progress.db", "SQLite format 3\0");
    let bin = ralph_stub(&base);
    let check = |tables: &str, expected: &str| {
        fs::write(bin.join("tables.json"), tables).unwrap();
        base.with(["import", "ralph"]).env("PATH", &bin).run().says(2, expected);
        assert!(!base.at(".ralph/journal/run-1").exists());
    };
    let other = "is a view or a virtual table";
    check(r#"[{"type":"view","name":"journal","sql":"CREATE VIEW journal AS SELECT 1 AS id"}]"#, other);
    check(r#"[{"type":"table","name":"journal","sql":"CREATE VIRTUAL TABLE journal USING fts5(id)"}]"#, other);
    let plain = r#"{"type":"table","name":"journal","sql":"CREATE TABLE journal (id)"}"#;
    check(&format!(r#"[{plain},{{"type":"view","name":"tasks","sql":"CREATE VIEW tasks AS SELECT 1 AS id"}}]"#), other);
    check(&format!(r#"[{plain},{{"type":"view","name":"Journal","sql":"CREATE VIEW Journal AS SELECT 1"}}]"#), other);
    check(r#"[{"type":"table","name":"tasks","sql":"CREATE TABLE tasks (id)"}]"#, "has no table `journal`");
    check("no JSON", "its answer is not JSON");
}

/// The sessions of opencode, each as `info` and `messages`, which have `info` and `parts`. Sorted by their names, parts are
/// in their order.
fn opencode_sessions(base: &TestBase) -> Value {
    copy(base, "opencode", &base.home().join("opencode"));
    let mut sessions: Value =
        serde_json::from_slice(&fs::read(base.home().join("opencode/sessions.json")).unwrap()).unwrap();
    let messages = sessions.as_array_mut().unwrap().iter_mut().flat_map(|session| {
        let id = session["info"]["id"].clone();
        session["messages"].as_array_mut().unwrap().iter_mut().map(move |message| (id.clone(), message))
    });
    for (session, message) in messages {
        message["info"]["sessionID"] = session;
        let id = message["info"]["id"].clone();
        for (number, part) in message["parts"].as_array_mut().unwrap().iter_mut().enumerate() {
            part["id"] = json!(format!("prt_{number}"));
            part["messageID"] = id.clone();
        }
    }
    sessions
}

/// The usual place of opencode.
const OPENCODE: &str = ".local/share/opencode";

/// Puts the sessions of opencode in files, as its older versions do.
fn with_opencode_files(base: &TestBase) {
    let storage = base.home().join(OPENCODE).join("storage");
    let write = |path: String, value: &Value| {
        let path = storage.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, serde_json::to_string_pretty(value).unwrap()).unwrap();
    };
    for session in opencode_sessions(base).as_array().unwrap() {
        let id = session["info"]["id"].as_str().unwrap();
        write(format!("session/prj_1/{id}.json"), &session["info"]);
        for message in session["messages"].as_array().unwrap() {
            let of = message["info"]["id"].as_str().unwrap();
            write(format!("message/{id}/{of}.json"), &message["info"]);
            for part in message["parts"].as_array().unwrap() {
                write(format!("part/{of}/{}.json", part["id"].as_str().unwrap()), part);
            }
        }
    }
}

/// Puts them in the database of its newer versions, and returns the folder of the program that reads it.
fn with_opencode_database(base: &TestBase, database: &Path) -> std::path::PathBuf {
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    fs::write(database, "SQLite format 3\0").unwrap();
    let sessions = opencode_sessions(base);
    let sessions: Vec<&Value> = sessions.as_array().unwrap().iter().collect();
    let own = sessions.iter().map(|session| &session["info"]).filter(|info| info["parentID"].is_null());
    let row = |info: &Value| {
        json!({"id": info["id"], "directory": info["directory"], "title": info["title"],
            "time_created": info["time"]["created"], "time_updated": info["time"]["updated"]})
    };
    let table =
        |name: &str| json!({"type": "table", "name": name, "sql": format!("CREATE TABLE `{name}` (`id` text)")});
    let mut files = vec![
        ("sqlite_master".to_owned(), "tables.json".to_owned(), json!(["session", "message", "part"].map(table))),
        (" FROM session WHERE parent_id IS NULL ".to_owned(), "session.json".to_owned(), own.map(row).collect()),
    ];
    for session in sessions {
        let id = session["info"]["id"].as_str().unwrap();
        let messages = session["messages"].as_array().unwrap();
        let infos =
            messages.iter().map(|message| json!({"id": message["info"]["id"], "data": message["info"].to_string()}));
        let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
        let parts = parts.map(|part| json!({"message_id": part["messageID"], "data": part.to_string()}));
        for (name, rows) in [("message", infos.collect::<Value>()), ("part", parts.collect())] {
            files.push((format!(" FROM {name} WHERE session_id = '{id}' "), format!("{name}-{id}.json"), rows));
        }
    }
    let answers: Vec<_> = files.iter().map(|(text, file, _)| (text.clone(), file.as_str())).collect();
    let bin = sqlite_stub(base, &answers);
    for (_, file, rows) in &files {
        fs::write(bin.join(file), rows.to_string()).unwrap();
    }
    bin
}

/// Puts the sessions where their clients do.
fn with_sessions(base: &TestBase) {
    with_opencode_files(base);
    copy(base, "transcripts", &base.home().join("all"));
    for found in fs::read_dir(base.home().join("all")).unwrap() {
        let path = found.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let folder = if name.starts_with("rollout-") {
            base.home().join(".codex/sessions/2026/11/04")
        } else {
            claude_folder(base)
        };
        fs::create_dir_all(&folder).unwrap();
        fs::rename(&path, folder.join(name)).unwrap();
    }
}

#[test]
fn past_sessions_become_attempts_once() {
    let base = TestBase::new();
    with_sessions(&base);
    let ran = import_twice(&base, &["transcripts"], 0);
    assert_snapshot!("import-transcripts", format!("{ran}\n{}", entries(&base)));
    let memory = base.memory();
    assert_eq!(memory.recent_iterations(None, 9).in_all, 5);
    // Also when the attempts are in the archive.
    fs::create_dir_all(base.at(".ralph/archive")).unwrap();
    fs::rename(base.at(".ralph/journal"), base.at(".ralph/archive/journal")).unwrap();
    assert_eq!(import(&base, &["transcripts"], 0), "2 skipped, 5 unchanged");
}

#[test]
fn sessions_of_other_projects_old_ones_and_the_one_that_goes_on_are_left_alone() {
    let base = TestBase::new();
    with_sessions(&base);
    let import =
        |arguments: &[&str]| base.with([&["import", "transcripts", "--dry-run", "--json"], arguments].concat());
    let items = |answer: &Value| answer["items"].as_array().unwrap().len();
    assert_eq!(items(&import(&[]).run().json(0)), 7);
    assert_eq!(items(&import(&["--since", "18"]).run().json(0)), 5, "those of the last 18 days");
    let id = "11111111-0000-4000-8000-000000000003";
    let goes_on = ["skipped", "it may still be going on; import it when it has ended"];
    assert_eq!(became(&import(&[]).env("CLAUDE_CODE_SESSION_ID", id).run().json(0), id), goes_on);
    assert_eq!(became(&import(&[]).now("2026-11-03T09:05:00Z").run().json(0), id), goes_on);
    // The same folder name may belong to another project.
    replace_in(&claude_folder(&base), &format!("\"{}\"", base.root().display()), "\"/home/dev/other\"");
    assert_eq!(items(&import(&[]).run().json(0)), 4);
}

#[test]
fn sessions_that_began_in_a_subfolder_are_found() {
    let base = TestBase::new();
    with_sessions(&base);
    let own = claude_folder(&base);
    let [below, beside] = ["-web", "-2"].map(|end| Path::new(&format!("{}{end}", own.display())).to_owned());
    let root = format!("\"{}", base.root().display());
    fs::rename(&own, &beside).unwrap();
    with_sessions(&base);
    fs::rename(&own, &below).unwrap();
    // Another project, whose name begins alike.
    replace_in(&beside, &root, "\"/home/dev/other");
    replace_in(&below, &format!("{root}\""), &format!("{root}/web\""));
    let answer = base.run(["import", "transcripts", "--dry-run", "--json"]).json(0);
    assert_eq!(answer["items"].as_array().unwrap().len(), 7, "{answer}");
}

#[test]
fn what_the_journal_has_is_not_imported_from_a_transcript() {
    let base = TestBase::new();
    with_sessions(&base);
    // A loop recorded the first, an agent without a loop the second, and the third began when both had ended.
    for (task, at) in [("t-importer", "2026-11-03T09:00:10Z"), ("t-other", "2026-11-01T09:00:03Z")] {
        base.with(["record", "--task-id", task, "--outcome", "failed"]).now(at).input("x").run().says(0, "recorded");
    }
    let answer = base.run(["import", "transcripts", "--dry-run", "--json"]).json(0);
    let known = "the journal has an attempt of that time or that output already";
    let nothing = "no file was changed in it, and its agent reported nothing";
    let expected = [known, nothing, known, "", "", nothing, ""];
    assert_eq!(each(&answer, "reason"), expected);
}

/// Sessions of each client that changed files, with what the client says at their end.
fn recorded_sessions(base: &TestBase) -> [(&'static str, &'static str, Value); 3] {
    with_sessions(base);
    let (claude, codex) = ("11111111-0000-4000-8000-000000000003", "22222222-0000-4000-8000-000000000001");
    let rollout = base.home().join(format!(".codex/sessions/2026/11/04/rollout-2026-11-04T09-00-00-{codex}.jsonl"));
    let transcript = claude_folder(base).join(format!("{claude}.jsonl"));
    [
        ("claude", claude, json!({"transcript_path": transcript})),
        ("codex", codex, json!({"transcript_path": rollout})),
        ("opencode", "ses_1a", json!({"messages": opencode_sessions(base)[0]["messages"]})),
    ]
}

/// Returns how many attempts the sessions of a client have.
fn attempts_of(base: &TestBase, client: &str) -> usize {
    base.files(".ralph/journal").iter().filter(|path| path.contains(&format!("/{client}-"))).count()
}

/// Fires a hook of a session, with the setting that a session without a report is recorded as well.
#[track_caller]
fn fire(base: &TestBase, event: &str, client: &str, session: &str, now: &str, more: &Value) {
    let mut input = json!({"session_id": session});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let run = base.with(["hook", event, "--agent", client]).env("RALPH_MEMORY_SESSIONS__RECORD", "changes");
    let ran = run.input(input.to_string()).now(now).run();
    assert_eq!(ran.code, Some(0), "{ran}");
}

/// Imports the sessions, and returns what became of one.
fn import_of(base: &TestBase, session: &str) -> String {
    let [action, _] = became(&base.run(["import", "transcripts", "--json"]).json(0), session);
    action
}

#[test]
fn a_session_that_a_hook_recorded_is_not_imported() {
    let base = TestBase::new();
    let sessions = recorded_sessions(&base);
    for (client, session, end) in &sessions {
        // Long after the session: the time does not say that they are the same.
        fire(&base, "session-end", client, session, "2026-11-18T10:00:00Z", end);
        assert_eq!(attempts_of(&base, client), 1, "{:?}", base.files(".ralph/journal"));
    }
    for (_, session, _) in sessions {
        assert_eq!(import_of(&base, session), "unchanged");
    }
    let files = base.files(".ralph/journal");
    assert!(base.run(["import", "transcripts"]).stderr.contains("5 unchanged, 2 skipped"));
    assert_eq!(base.files(".ralph/journal"), files);
    // A message of the agent is as good as a transcript.
    let base = TestBase::new();
    for (client, session, _) in recorded_sessions(&base) {
        let message = json!({"last_assistant_message": "<task-done>t-other</task-done>"});
        fire(&base, "stop", client, session, "2026-11-18T10:00:00Z", &message);
        assert_eq!(import_of(&base, session), "unchanged");
    }
}

#[test]
fn a_session_that_was_imported_is_not_recorded_by_a_hook() {
    let base = TestBase::new();
    let sessions = recorded_sessions(&base);
    // A message that waits for a lock while the transcripts are imported.
    fs::create_dir_all(base.at(".ralph/state")).unwrap();
    let lock = fs::File::create(base.at(".ralph/state/lock")).unwrap();
    lock.lock().unwrap();
    let at = ["2026-11-03T09:00:30Z", "2026-11-04T09:00:06Z", "2026-11-05T09:03:30Z"];
    for ((client, session, _), at) in sessions.iter().zip(at) {
        let message = format!("<task-done>t-kept-{client}</task-done>");
        fire(&base, "stop", client, session, at, &json!({"last_assistant_message": message}));
    }
    drop(lock);
    // The user's key is there, too.
    let files = || fs::read_dir(base.home().join(".local/state/ralph-memory")).unwrap();
    let kept = || files().filter(|file| file.as_ref().unwrap().file_name() != "key").count();
    assert_eq!(kept(), 3);
    assert_eq!(import_of(&base, sessions[0].1), "added");
    let before = base.files(".ralph/journal");
    for (client, session, end) in &sessions {
        fire(&base, "session-end", client, session, "2026-11-18T10:00:00Z", end);
    }
    assert_eq!((base.files(".ralph/journal"), kept()), (before.clone(), 0));
    // Who goes on with the session later and reports something has a new attempt.
    let (client, session, _) = &sessions[0];
    let message = json!({"last_assistant_message": "<task-failed>t-importer</task-failed>"});
    fire(&base, "stop", client, session, "2026-11-18T11:00:00Z", &message);
    assert_eq!(base.files(".ralph/journal").len(), before.len() + 1);
}

#[test]
fn opencode_has_the_same_sessions_in_files_and_in_a_database() {
    let files = TestBase::new();
    with_opencode_files(&files);
    let only_files = files.with(["import", "transcripts"]).env("PATH", files.home()).run();
    only_files.says(0, "added journal/opencode-");
    for (database, variable) in [
        (".local/share/opencode/opencode.db", None),
        (".local/share/opencode/opencode-dev.db", None),
        ("data/opencode/opencode.db", Some(("XDG_DATA_HOME", "data"))),
        ("other/sessions.sqlite", Some(("OPENCODE_DB", "other/sessions.sqlite"))),
    ] {
        let base = TestBase::new();
        let bin = with_opencode_database(&base, &base.home().join(database));
        let import = |arguments: &[&str]| {
            let run = base.with([&["import"], arguments].concat()).env("PATH", &bin);
            match variable {
                Some((name, place)) => run.env(name, base.home().join(place)).run(),
                None => run.run(),
            }
        };
        let name = database.rsplit('/').next().unwrap();
        let from = format!("from {name} (ses_1a)\n");
        assert!(import(&["transcripts", "--dry-run"]).stdout.contains(&from));
        assert_eq!(base.files(".ralph/journal"), [""; 0]);
        import(&["transcripts"]).says(0, &format!("3 added, 1 skipped; read {name}"));
        assert_eq!(tree(&base), tree(&files), "{database}");
        import(&["transcripts"]).says(0, "2 unchanged, 1 skipped");
        // Older files that are still there have the same sessions.
        with_opencode_files(&base);
        import(&["transcripts"]).says(0, "2 unchanged, 1 skipped");
        let path = base.home().join(database);
        import(&["transcripts", path.to_str().unwrap()]).says(0, "2 unchanged, 1 skipped");
    }
    // A path alone says what it is.
    for path in ["", "opencode.db"] {
        let bin = with_opencode_database(&files, &files.home().join(OPENCODE).join("opencode.db"));
        let path = files.home().join(OPENCODE).join(path);
        let ran = files.with(["import", path.to_str().unwrap()]).env("PATH", bin).run();
        ran.says(0, "2 unchanged, 1 skipped; read opencode.db as `transcripts`");
    }
}

#[test]
fn what_opencode_has_is_read_like_anything_from_outside() {
    let base = TestBase::new();
    let database = base.home().join(OPENCODE).join("opencode.db");
    let bin = with_opencode_database(&base, &database);
    let check = |file: &str, text: &str, expected: &str| {
        let before = fs::read(bin.join(file)).unwrap();
        fs::write(bin.join(file), text).unwrap();
        let ran = base.with(["import", "transcripts", "--dry-run"]).env("PATH", &bin).run();
        ran.says(0, expected);
        fs::write(bin.join(file), before).unwrap();
    };
    let plain = |name: &str| format!(r#"{{"type":"table","name":"{name}","sql":"CREATE TABLE {name} (id)"}}"#);
    let view = r#"{"type":"view","name":"session","sql":"CREATE VIEW session AS SELECT 1 AS id"}"#;
    check("tables.json", &format!("[{view}]"), "`session` in");
    check("tables.json", &format!("[{}]", plain("session_v2")), "`opencode.db` has no table `session`");
    check("tables.json", &format!("[{},{}]", plain("session"), view.replace("session", "part")), "is a view");
    check("session.json", "no JSON", "its answer is not JSON");
    // An id would be a part of a query and of a path.
    let odd = fs::read_to_string(bin.join("session.json")).unwrap();
    check("session.json", &odd.replace("ses_1a", "x' OR '1'='1"), "1 added, 1 skipped");
    check("session.json", &odd.replace("ses_1a", "../../ses_1a"), "1 added, 1 skipped");
    check("session.json", &odd.replace("17938", "9991793800"), "found no transcripts");
    check("part-ses_1a.json", r#"[{"message_id":"msg_2","data":"no JSON"},{"data":7}]"#, "1 added, 2 skipped");
    // Without the program, the sessions of other clients are imported.
    with_sessions(&base);
    let ran = base.with(["import", "transcripts", "--dry-run"]).env("PATH", base.home()).run();
    ran.says(0, "skipped from opencode.db: `sqlite3` is not installed");
    // Links are not followed.
    let storage = base.home().join(OPENCODE).join("storage");
    fs::remove_file(&database).unwrap();
    symlink("/etc/passwd", &database).unwrap();
    fs::remove_file(storage.join("session/prj_1/ses_1a.json")).unwrap();
    symlink("ses_5a.json", storage.join("session/prj_1/ses_1a.json")).unwrap();
    fs::rename(storage.join("part/msg_c"), storage.join("part/elsewhere")).unwrap();
    symlink("elsewhere", storage.join("part/msg_c")).unwrap();
    let answer = base.with(["import", "transcripts", "--json"]).env("PATH", &bin).run().json(0);
    let link = ["skipped", "it is a link, and links are not followed"];
    assert_eq!(became(&answer, "opencode.db"), link);
    assert_eq!(became(&answer, "ses_1a"), link);
    let nothing = ["skipped", "no file was changed in it, and its agent reported nothing"];
    assert_eq!(became(&answer, "ses_5a"), nothing);
}

/// When the files of streams were written.
const WRITTEN: &str = "2026-11-06T10:00:00Z";

/// The stream of a client that changed a file in this folder, without a time in Codex's.
fn stream(client: &str, id: &str, root: &str, said: &str) -> String {
    let events = match client {
        "claude" => vec![
            json!({"type": "system", "subtype": "init", "cwd": root, "session_id": id, "model": "claude-sonnet-4-5"}),
            json!({"type": "assistant", "session_id": id, "message": {"id": "m", "role": "assistant", "content": [
                {"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": format!("{root}/src/{client}.rs")}}]}}),
            json!({"type": "user", "session_id": id, "parent_tool_use_id": "t", "message": {"role": "user", "content": [
                {"type": "text", "text": "What one agent asks another."}]}}),
            json!({"type": "user", "session_id": id, "timestamp": "2026-11-06T09:00:04.000Z", "message": {"role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Done."}]}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": 5_000, "session_id": id,
                "result": said, "usage": {"input_tokens": 700, "output_tokens": 70}}),
        ],
        "codex" => vec![
            json!({"type": "thread.started", "thread_id": id}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "1", "type": "file_change", "status": "completed",
                "changes": [{"path": format!("{root}/src/{client}.rs"), "kind": "update"}]}}),
            json!({"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": said}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 800, "output_tokens": 80}}),
        ],
        _ => vec![
            json!({"type": "step_start", "timestamp": 1_793_955_600_000_u64, "sessionID": id, "part": {"type": "step-start"}}),
            json!({"type": "tool_use", "timestamp": 1_793_955_630_000_u64, "sessionID": id, "part": {"type": "tool",
                "tool": "edit", "state": {"status": "completed", "input": {"filePath": format!("{root}/src/{client}.rs")}}}}),
            json!({"type": "text", "timestamp": 1_793_955_659_000_u64, "sessionID": id, "part": {"type": "text", "text": said}}),
            json!({"type": "step_finish", "timestamp": 1_793_955_660_000_u64, "sessionID": id, "part": {
                "type": "step-finish", "reason": "stop", "tokens": {"input": 900, "output": 90}}}),
        ],
    };
    events.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

/// Writes the file of a stream outside of the project, at that time.
fn with_stream(base: &TestBase, name: &str, text: &str, written: &str) -> std::path::PathBuf {
    let path = base.home().join("runs").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let at = chrono::DateTime::parse_from_rfc3339(written).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(at.into()).unwrap();
    path
}

/// The clients whose streams are read, each with the id of a session and what an attempt has of its times.
const STREAMS: [(&str, &str, &str); 3] = [
    ("claude", "33333333-0000-4000-8000-000000000001", "\"2026-11-06T08:59:59Z\"\nduration_secs: 5.0\n"),
    ("codex", "44444444-0000-4000-8000-000000000001", "\"2026-11-06T10:00:00Z\"\ntokens_in: 800\n"),
    ("opencode", "ses_9a", "\"2026-11-06T09:00:00Z\"\nduration_secs: 60.0\n"),
];

#[test]
fn saved_streams_become_attempts_once() {
    let base = TestBase::new();
    let root = base.root().canonicalize().unwrap().display().to_string();
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    for (client, id, times) in STREAMS {
        let text = stream(client, id, &root, &format!("The {client} page loads again with {token}."));
        let path = with_stream(&base, &format!("{client}.jsonl"), &text, WRITTEN);
        let path = path.to_str().unwrap();
        base.run(["import", path]).says(0, &format!("1 added; read {client}.jsonl as `transcripts`"));
        base.run(["import", "transcripts", path]).says(0, "1 unchanged");
        let files = base.files(".ralph/journal");
        let attempt = base.read(files.iter().find(|file| file.contains(&format!("/{client}-"))).unwrap());
        assert!(attempt.contains(&format!("files: {{modified: [src/{client}.rs]}}")), "{attempt}");
        assert!(attempt.contains(&format!("started_at: {times}")), "{attempt}");
        assert!(attempt.contains(&format!("task_title: \"The {client} page loads again with ")), "{attempt}");
        assert!(!attempt.contains(&token), "{attempt}");
        assert!(id.starts_with("ses_") || files.iter().any(|file| file.contains(id)), "{files:?}");
    }
    let runs = base.home().join("runs");
    assert_eq!(import(&base, &["transcripts", runs.to_str().unwrap()], 0), "3 unchanged");
    assert_eq!(import(&base, &[runs.to_str().unwrap()], 0), "3 unchanged");
}

#[test]
fn a_file_with_several_streams_has_as_many_attempts() {
    for (client, id, _) in STREAMS {
        let base = TestBase::new();
        let root = base.root().canonicalize().unwrap().display().to_string();
        let ids = ["1", "2", "3"].map(|end| format!("{}{end}", &id[..id.len() - 1]));
        let [one, two, three] = ids.each_ref().map(|id| stream(client, id, &root, &format!("Decision: keep {id}")));
        // Two that ran at the same time take turns.
        let turns = if client == "codex" {
            format!("{two}{three}")
        } else {
            two.lines().zip(three.lines()).flat_map(|(one, other)| [one, "\n", other, "\n"]).collect()
        };
        let path = with_stream(&base, "all.jsonl", &format!("starting\n{one}\nagain\n{turns}"), WRITTEN);
        let answer = base.run(["import", "transcripts", path.to_str().unwrap(), "--json"]).json(0);
        assert_eq!(each(&answer, "action"), ["added"; 3], "{answer}");
        assert_eq!(attempts_of(&base, client), 3);
        for file in base.files(".ralph/journal") {
            let attempt = base.read(&file);
            assert_eq!(ids.iter().filter(|id| attempt.contains(*id)).count(), 1, "{attempt}");
            assert!(attempt.contains(&format!("modified: [src/{client}.rs]")), "{attempt}");
        }
    }
}

#[test]
fn streams_that_are_nobodys_unfinished_or_known_are_left_alone() {
    let base = TestBase::new();
    let root = base.root().canonicalize().unwrap().display().to_string();
    let check = |name: &str, text: &str, written: &str, expected: [&str; 2]| {
        let path = with_stream(&base, name, text, written);
        let answer = base.run(["import", "transcripts", path.to_str().unwrap(), "--json"]).json(0);
        assert_eq!(became(&answer, name), expected, "{name}");
        fs::remove_file(path).unwrap();
    };
    let [claude, codex, opencode] = STREAMS.map(|(client, id, _)| stream(client, id, &root, "It loads again."));
    let elsewhere = claude.replace(&root, "/home/dev/other");
    check("other.jsonl", &elsewhere, WRITTEN, ["skipped", "it is a session in another folder"]);
    let goes_on = ["skipped", "it may still be going on; import it when it has ended"];
    check("new.jsonl", &codex, "2026-11-20T09:55:00Z", goes_on);
    let nothing = ["skipped", "no file was changed in it, and its agent reported nothing"];
    check("read.jsonl", &opencode.replace("\"edit\"", "\"read\""), WRITTEN, nothing);
    let other = ["skipped", "it is not a session of Claude Code, Codex or opencode"];
    check("notes.jsonl", "{\"title\":\"Ports\",\"session_id\":\"s\"}\n", WRITTEN, other);
    // A loop that ended with the stream recorded it; somebody recorded the stream days later; a hook did.
    let known = ["skipped", "the journal has an attempt of that time or that output already"];
    let record = |now: &str, input: &str| {
        base.with(["record", "--task-id", "t-page", "--outcome", "partial"])
            .now(now)
            .input(input)
            .run()
            .says(0, "recorded");
    };
    record("2026-11-06T09:57:00Z", &claude.replace("\"duration_ms\":5000", "\"duration_ms\":180000"));
    check("loop.jsonl", &codex, WRITTEN, known);
    record("2026-11-09T10:00:00Z", &opencode);
    check("recorded.jsonl", &opencode, WRITTEN, known);
    let message = json!({"last_assistant_message": "<task-done>t-page</task-done>"});
    fire(&base, "stop", "claude", STREAMS[0].1, "2026-11-18T10:00:00Z", &message);
    check("hook.jsonl", &claude, WRITTEN, ["unchanged", ""]);
    // A folder may have links.
    let path = with_stream(&base, "real.txt", &claude, WRITTEN);
    symlink(&path, path.with_file_name("link.jsonl")).unwrap();
    let answer = base.run(["import", "transcripts", path.parent().unwrap().to_str().unwrap(), "--json"]).json(0);
    assert_eq!(became(&answer, "link.jsonl"), ["skipped", "it is a link, and links are not followed"]);
}

#[test]
fn one_secret_in_a_hundred_is_refused_and_named() {
    let base = TestBase::new();
    // In pieces, so that scanners do not report it.
    let token = ["gh", "p_", "16C7e42F292c6912E7", "710c838347Ae178B4a"].concat();
    let section = |number: usize| {
        let secret = match number {
            57 => format!(" The token is {token}."),
            58 => " ab\u{202e}cd".to_owned(),
            _ => String::new(),
        };
        format!("## Service {number}\n\nIt listens on port {}.{secret}\n\n", 8_000 + number)
    };
    base.write("CLAUDE.md", (0..100).map(section).collect::<String>());
    let ran = base.run(["import", "sections"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let refused: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("refused")).collect();
    assert_eq!(refused.len(), 2, "{ran}");
    assert!(refused[1].contains("U+202E is an invisible character"), "{ran}");
    assert!(refused[0].contains("CLAUDE.md:229 (Service 57)") && refused[0].contains("github-token"), "{ran}");
    assert_eq!(base.files(".ralph/knowledge").len(), 98);
    assert!(!ran.stdout.contains(&token) && !entries(&base).contains(&token));
    // A person can let it pass.
    let fingerprint = refused[0].rsplit(' ').next().unwrap();
    base.run(["import", "sections", "--allow-secret", fingerprint]).says(1, "added knowledge/service-57");
}

#[test]
fn a_changed_source_updates_what_nobody_edited() {
    let base = TestBase::new();
    base.write("AGENTS.md", "## Ports\n\nThe API is on 8080.\n\n## Logs\n\nJSON.\n");
    base.run(["import", "sections"]).says(0, "2 added");
    // Someone edits one of them, and gives the other one a better title.
    let logs = base.read(".ralph/knowledge/logs.md");
    base.write(".ralph/knowledge/logs.md", logs.replace("JSON.", "JSON, one object a line."));
    let ports = base.read(".ralph/knowledge/ports.md");
    base.write(".ralph/knowledge/ports.md", ports.replace("title: \"Ports\"", "title: \"Ports of all services\""));
    base.run(["import", "sections"]).says(0, "2 unchanged");
    base.write("AGENTS.md", "## Ports\n\nThe API is on 9090.\n\n## Logs\n\nPlain text.\n");
    let ran = base.run(["import", "sections"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("updated knowledge/ports") && ran.stdout.contains("conflict knowledge/logs"), "{ran}");
    let ports = base.read(".ralph/knowledge/ports.md");
    assert!(ports.contains("9090") && ports.contains("title: \"Ports of all services\""), "{ports}");
    assert!(base.read(".ralph/knowledge/logs.md").contains("one object a line"));
    base.run(["restore", "ports", "--list"]).says(0, "8080");
    fs::create_dir_all(base.at(".ralph/archive/knowledge")).unwrap();
    // An archived entry is not brought back.
    fs::rename(base.at(".ralph/knowledge/ports.md"), base.at(".ralph/archive/knowledge/ports.md")).unwrap();
    assert_eq!(import(&base, &["sections"], 1), "1 conflict, 1 unchanged");
}

#[test]
fn a_change_outside_of_the_body_updates_an_entry() {
    let base = TestBase::new();
    let import = |source: &str| import(&base, &[source], 0);
    let updated = "1 updated";
    // The status of a decision, in its frontmatter and as a section.
    let madr = "---\nstatus: accepted\n---\n# Use Redis\n\nIt is fast.\n";
    base.write("docs/adr/0001-use-redis.md", madr);
    assert_eq!(import("adr"), "1 added");
    base.write("docs/adr/0001-use-redis.md", madr.replace("accepted", "deprecated"));
    assert_eq!(import("adr"), updated);
    let entry = base.read(".ralph/knowledge/use-redis.md");
    assert!(entry.contains("title: \"Use Redis\"") && entry.contains("status: \"deprecated\""), "{entry}");
    let nygard = "# 2. Use Kafka\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use it.\n";
    base.write("docs/adr/0002-use-kafka.md", nygard);
    import("adr");
    base.write("docs/adr/0002-use-kafka.md", nygard.replace("Accepted", "Rejected"));
    assert_eq!(import("adr"), "1 unchanged, 1 updated");
    assert!(base.read(".ralph/knowledge/use-kafka.md").contains("status: \"rejected\""));
    assert_eq!(import("adr"), "2 unchanged");
    // The files and the tags of a rule. What a person added to them, and a title of theirs, stay.
    let rule = "---\ndescription: API\nglobs: src/api/**\ntags: http\n---\n\nReturn JSON.\n";
    base.write(".cursor/rules/api.mdc", rule);
    import("rules");
    let path = ".ralph/knowledge/api.md";
    base.write(path, base.read(path).replacen("files: [\"src/api/**\"]", "files: [\"src/api/**\", docs/api.md]", 1));
    base.write(".cursor/rules/api.mdc", rule.replace("src/api", "src/web").replace("http", "rest"));
    assert_eq!(import("rules"), updated);
    let entry = base.read(path);
    assert!(entry.contains("files: [docs/api.md, \"src/web/**\"]") && entry.contains("tags: [rules, rest]"), "{entry}");
    base.write(path, entry.replacen("title: \"API\"", "title: \"Rules for the API\"", 1));
    assert_eq!(import("rules"), "1 unchanged");
    base.write(".cursor/rules/api.mdc", rule.replace("description: API", "description: HTTP"));
    assert_eq!(import("rules"), updated);
    assert!(base.read(path).contains("title: \"Rules for the API\""), "{}", base.read(path));
    // A tag of an import is no change of the source.
    base.run(["import", "rules", "--tag", "team"]).says(0, "1 unchanged");
}

#[test]
fn a_link_that_a_source_takes_back_is_taken_back() {
    let base = TestBase::new();
    let first = "---\nstatus: superseded by 0002\n---\n# Use cron\n\nIt is there.\n";
    base.write("docs/adr/0001-use-cron.md", first);
    base.write("docs/adr/0002-use-a-queue.md", "---\nstatus: accepted\n---\n# Use a queue\n\nIt scales.\n");
    base.run(["import", "adr"]).says(0, "2 added");
    assert!(base.read(".ralph/knowledge/use-a-queue.md").contains("supersedes: [knowledge/use-cron]"));
    base.write("docs/adr/0001-use-cron.md", first.replace("superseded by 0002", "accepted"));
    base.run(["import", "adr"]).says(0, "2 updated");
    assert!(!base.read(".ralph/knowledge/use-a-queue.md").contains("supersedes:"));
}

#[test]
fn an_entry_from_elsewhere_is_never_overwritten() {
    let base = TestBase::new();
    base.entry("testing", "Testing", "tests", "Only on Mondays.").entry("logs", "Logs", "ops", "JSON.");
    base.write("AGENTS.md", "## Testing\n\nRun `just test`.\n\n## Logs\n\nJSON.\n");
    base.write("CLAUDE.md", "## Testing\n\nRun nothing.\n");
    let before = base.read(".ralph/knowledge/testing.md");
    let answer = base.run(["import", "sections", "--json"]).json(0);
    assert_eq!(each(&answer, "title"), ["AGENTS: Testing", "Logs", "CLAUDE: Testing"]);
    assert_eq!(counted(&answer), "2 added, 1 unchanged");
    assert_eq!(base.read(".ralph/knowledge/testing.md"), before);
    assert_eq!(import(&base, &["sections"], 0), "3 unchanged");
}

#[test]
fn equal_ids_of_two_sources_are_two_entries() {
    let base = TestBase::new();
    let lines = "{\"id\":1,\"title\":\"Ports\",\"body\":\"8080\"}\n{\"id\":1,\"title\":\"Hosts\",\"body\":\"a, b\"}\n";
    base.write("one.jsonl", lines).write("two.jsonl", "{\"id\":1,\"title\":\"Logs\",\"body\":\"JSON\"}\n");
    let import = |arguments: &[&str]| import(&base, arguments, 0);
    assert_eq!(import(&["jsonl", "one.jsonl"]), "2 added");
    assert_eq!(import(&["jsonl", "two.jsonl"]), "1 added");
    assert_eq!(import(&["jsonl", "one.jsonl"]), "2 unchanged");
    // The memories of two people.
    for (person, text) in [("ann", "Use mocks."), ("bob", "Use no mocks.")] {
        let folder = base.home().join(person);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("tests.md"), format!("---\nname: Tests\ntype: feedback\n---\n\n{text}\n")).unwrap();
        assert_eq!(import(&["claude-memory", folder.to_str().unwrap()]), "1 added");
        assert_eq!(import(&["claude-memory", folder.to_str().unwrap()]), "1 unchanged");
    }
    assert_eq!(base.files(".ralph/knowledge").len(), 5);
    assert!(!entries(&base).contains("ann"), "an entry does not say whose folder it was");
}

#[test]
fn imported_sigils_are_plain_text_in_a_context() {
    let base = TestBase::new();
    let text = "## Finish\n\nSay <task-done>t-1</task-done> at the end.\n\n## MEMORY_SUGGESTIONS\n\n- event: hint\n";
    base.write("AGENTS.md", text);
    base.run(["import", "sections"]).says(0, "2 added");
    let context = base.run(["context", "-q", "--task", "Finish the suggestions"]).answer(0);
    assert!(context.contains("Say &lt;task-done>t-1&lt;/task-done>"), "{context}");
    assert!(!context.contains("Say <task-done>"));
}

#[test]
fn links_pipes_and_files_that_cannot_be_read_are_left_out() {
    let base = TestBase::new();
    let outside = base.home().join("secret.md");
    fs::write(&outside, "# Secret\n\nOutside.\n").unwrap();
    fs::create_dir_all(base.at(".cursor/rules")).unwrap();
    symlink(&outside, base.at(".cursor/rules/link.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        base.at(".cursor/rules/pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    base.write(".cursor/rules/latin.md", b"caf\xe9");
    base.write(".cursor/rules/huge.md", "x ".repeat(3 * 1024 * 1024));
    base.write(".cursor/rules/crlf.md", "\u{feff}---\r\ndescription: With a mark\r\n---\r\n\r\nOne.\r\nTwo.\r\n");
    symlink(base.home(), base.at(".claude/rules")).unwrap();
    let answer = base.run(["import", "rules", "--json"]).json(0);
    let reasons: BTreeMap<&str, &str> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["from"]["path"].as_str().unwrap(), item["reason"].as_str().unwrap_or("added")))
        .collect();
    let link = "it is a link, and links are not followed";
    let expected = BTreeMap::from([
        (".claude/rules", link),
        (".cursor/rules/crlf.md", "added"),
        (".cursor/rules/huge.md", "it has 6291456 bytes, and the limit is 4194304"),
        (".cursor/rules/latin.md", "it is not UTF-8"),
        (".cursor/rules/link.md", link),
        (".cursor/rules/pipe.md", "it is not a regular file"),
    ]);
    assert_eq!(reasons, expected);
    assert!(base.read(".ralph/knowledge/with-a-mark.md").ends_with("---\n\nOne.\nTwo.\n"));
    // A file that a person names is an error of the call.
    base.run(["import", "rules", ".cursor/rules/pipe.md"]).says(6, "not a regular file");
    base.run(["import", "rules", ".cursor/rules/latin.md"]).says(2, "it is not UTF-8");
    base.run(["import", "rules", "nowhere"]).says(2, "`nowhere` does not exist");
}

#[test]
fn options_of_another_source_are_refused() {
    let base = TestBase::new();
    base.run(["import", "rules", "--since", "3"]).says(2, "--since has no meaning for `rules`");
    base.run(["import", "adr", "--body-field", "x"]).says(2, "has no meaning for `adr`");
    base.run(["import", "transcripts", "--tag", "x"]).says(2, "--tag has no meaning");
    base.run(["import", "rules", "-"]).says(2, "name a file or a folder");
    base.run(["import", "jsonl"]).says(0, "found no jsonl: looked in .agent_memory/packets");
    base.run(["import", "rules"]).says(0, "found no rules: looked in .cursor/rules");
}

#[test]
fn the_block_of_set_up_is_not_imported() {
    let base = TestBase::new();
    base.write("AGENTS.md", "# Rules\n\n## Tests\n\nUse a temporary folder.\n");
    base.run(["setup", "agents-md"]).says(0, "AGENTS.md");
    assert!(base.read("AGENTS.md").contains("build_context"), "{}", base.read("AGENTS.md"));
    base.run(["import", "sections"]).says(0, "knowledge/tests");
    let entries = base.files(".ralph/knowledge").iter().map(|path| base.read(path)).collect::<String>();
    assert!(entries.contains("Use a temporary folder.") && !entries.contains("build_context"), "{entries}");
}

#[test]
fn markers_of_set_up_that_form_no_pair_hide_nothing() {
    let check = |text: &str, line: u32| {
        let base = TestBase::new();
        base.write("AGENTS.md", text);
        let answer = base.run(["import", "sections", "--json"]).json(0);
        let entries = entries(&base);
        for word in ["alpha", "beta", "gamma"] {
            assert!(entries.contains(word), "{word} is missing after {text:?}: {answer}");
        }
        let mut reasons = each(&answer, "reason");
        reasons.retain(|reason| !reason.is_empty());
        let said = format!("do not form one pair (the last one is on line {line})");
        assert!(reasons.len() == 1 && reasons[0].contains(&said), "{reasons:?}");
    };
    let (begin, end) = ("<!-- ralph-memory:begin -->", "<!-- ralph-memory:end -->");
    check(&format!("# P\n## A\n\nalpha\n\n{begin}\n## B\n\nbeta\n\n## C\n\ngamma\n"), 6);
    check(&format!("## A\n\nalpha\n\n```html\n{begin}\n```\n\n## B\n\nbeta\n\n## C\n\ngamma\n"), 6);
    check(&format!("---\nx: y\n---\n## A\n\nalpha\n{end}\n## B\n\nbeta\n{begin}\n## C\n\ngamma\n"), 11);
    check(&format!("## A\n\nalpha\n{begin}\n{begin}\n## B\n\nbeta\n{end}\n## C\n\ngamma\n"), 9);
}

#[test]
fn a_note_is_one_entry_and_its_folder_a_tag() {
    let base = TestBase::new();
    let fact = "# Ports of the services\n\n## Statement\n\nThe API listens on 8080.\n\n## Created\n\n2026-02-03\n\n\
                ## Related\n\n- [hosts](hosts.md)\n";
    base.write("notes/ops/net/ports.md", fact).write("notes/plain.md", "Only words.\n");
    let licence = format!(
        "# License\n\nPermission is hereby granted {}, without warranty of any kind.\n",
        "to a user ".repeat(20)
    );
    base.write("notes/license.md", licence).write("notes/licensing.md", "# Licensing\n\nEach file has 0BSD.\n");
    base.write("notes/empty, with a comma/todo.md", "# Goals\n\n[Describe the goals]\n");
    let answer = base.run(["import", "memory-bank", "notes", "--json"]).json(0);
    assert_eq!(became(&answer, "license"), ["skipped", "it is the text of a licence"]);
    assert_eq!(became(&answer, "licensing"), ["added", ""], "a rule about licences is none");
    assert_eq!(became(&answer, "todo"), ["skipped", "it is what a template says, which nobody filled in"]);
    let entry = base.read(".ralph/knowledge/ports-of-the-services.md");
    let body = fact["# Ports of the services\n\n".len()..].replace("(hosts", "(../../notes/ops/net/hosts");
    assert!(entry.contains("tags: [ops/net]") && entry.ends_with(&body), "{entry}");
    assert!(base.read(".ralph/knowledge/plain.md").contains("tags: [notes]"));
    // A tag is found by the one above it.
    for arguments in [["search", "listens", "--tag", "ops"], ["list", "--kind=knowledge", "--tag", "ops"]] {
        let found = base.run(arguments.into_iter().chain(["--json"])).json(0);
        assert_eq!(crate::support::ids(&found["entries"]), ["knowledge/ports-of-the-services"], "{arguments:?}");
    }
    base.run(["search", "listens", "--tag", "op"]).says(1, "");
}

#[test]
fn instructions_are_about_the_files_of_their_folder() {
    let base = TestBase::new();
    let web =
        "# Web\n\n<!-- tool:start -->\n## Generated\n\nUse the tool.\n<!-- tool:end -->\n\n## Testing\n\nRun vitest.\n";
    base.write("packages/web/AGENTS.md", web).write("packages/api/AGENTS.md", "## Testing\n\nRun pytest.\n");
    let rules: String = (1..=8)
        .flat_map(|number| ["- ALWAYS do thing ".to_owned(), number.to_string(), ". It helps.\n".to_owned()])
        .collect();
    base.write("AGENTS.md", rules).write("packages/api/CLAUDE.md", "@AGENTS.md\n");
    let answer = base.run(["import", "sections", ".", "--json"]).json(0);
    let titles = each(&answer, "title");
    assert!(titles.iter().any(|title| title == "ALWAYS do thing 3."), "{titles:?}");
    assert!(["web", "api"].iter().all(|folder| titles.contains(&(*folder).to_owned())), "{titles:?}");
    assert!(!entries(&base).contains("Use the tool."));
    assert_eq!(each(&answer, "reason").iter().filter(|reason| reason.contains("generates as `tool`")).count(), 1);
    assert!(base.read(".ralph/knowledge/web.md").contains("files: [\"packages/web/**\"]"));
    // Two files may have a section of the same name.
    let checked = base.run(["check"]);
    assert!(!format!("{checked}").contains("near-duplicate"), "{checked}");
    // A client has them anyway.
    let briefing = base.run(["context", "-q"]).answer(0);
    assert!(!briefing.contains("vitest") && !briefing.contains("ALWAYS"), "{briefing}");
}

#[test]
fn what_a_source_no_longer_has_is_archived() {
    let base = TestBase::new();
    base.write("AGENTS.md", "## Ports\n\nThe API is on a port.\n\n## Logs\n\nJSON.\n\n## Keys\n\nIn the vault.\n");
    base.write("memory-bank/old.md", "# Old way\n\nBy hand.\n");
    import(&base, &["sections"], 0);
    import(&base, &["memory-bank"], 0);
    let keys = base.read(".ralph/knowledge/keys.md");
    base.write(".ralph/knowledge/keys.md", keys.replace("In the vault.", "In the other vault."));
    base.write("AGENTS.md", "## Ports\n\nThe API is on a port.\n");
    let ran = base.run(["import", "sections", "--dry-run"]);
    assert!(ran.stdout.contains("archived knowledge/logs from AGENTS.md (Logs): it is no longer in the file"), "{ran}");
    assert!(base.at(".ralph/knowledge/logs.md").exists());
    let ran = base.run(["import", "sections"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("conflict knowledge/keys") && ran.stdout.contains("and the entry was edited"), "{ran}");
    assert!(base.at(".ralph/archive/knowledge/logs.md").exists() && base.at(".ralph/knowledge/keys.md").exists());
    // Another file is not gone because this one was read alone.
    import(&base, &["sections", "AGENTS.md"], 1);
    assert!(base.at(".ralph/knowledge/old-way.md").exists());
    fs::remove_dir_all(base.at("memory-bank")).unwrap();
    base.run(["check"]).says(0, "it was imported from `memory-bank/old.md`, which is gone");
    base.run(["import", "memory-bank"]).says(0, "1 archived");
    assert!(base.at(".ralph/archive/knowledge/old-way.md").exists());
    base.run(["undo"]).says(0, "old-way");
    assert!(base.at(".ralph/knowledge/old-way.md").exists());
}

#[test]
fn a_record_is_not_doubted_for_the_commit_that_added_it() {
    let base = TestBase::new();
    let record = format!("# 3. Queue\n\nDate: 2023-02-01\n\n## Decision\n\n{}", "Redis is the queue.\n".repeat(20));
    base.write("docs/adr/0003-queue.md", record);
    for arguments in
        [&["init", "--quiet"][..], &["add", "."], &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "m"]]
    {
        let ran = std::process::Command::new("git").current_dir(base.root()).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
    import(&base, &["adr"], 0);
    let checked = format!("{}", base.run(["check"]));
    assert!(!checked.contains("unverified"), "{checked}");
}

#[test]
fn an_entry_follows_its_source_to_another_file() {
    let base = TestBase::new();
    base.write("memory-bank/a.md", "# Note\n\nAgents need a harness.\n");
    import(&base, &["memory-bank"], 0);
    fs::create_dir(base.at("memory-bank/ops")).unwrap();
    fs::rename(base.at("memory-bank/a.md"), base.at("memory-bank/ops/b.md")).unwrap();
    base.run(["import", "memory-bank"]).says(0, "1 updated; read memory-bank/ops/b.md");
    let entry = base.read(".ralph/knowledge/note.md");
    assert!(entry.contains("\"path\":\"memory-bank/ops/b.md\"") && entry.contains("tags: [ops]"), "{entry}");
    base.run(["import", "memory-bank"]).says(0, "1 unchanged");
}

#[test]
fn a_decision_has_a_number_a_status_and_what_it_supersedes() {
    let base = TestBase::new();
    let record = |number: u32, title: &str, status: &str| {
        let text = format!(
            "# ADR-{number:04} — {title} {{#adr-{number}}}\n\n**Status:** {status}\n\n## Decision\n\n{title}, always.\n"
        );
        base.write(&format!("docs/adr/{number:04}-it.md"), text);
    };
    record(24, "Use cron", "Accepted");
    record(25, "Use at", "Deprecated");
    record(26, "Use timers", "Accepted (supersedes ADR-024, ADR-025)");
    record(27, "Use a queue", "Proposed");
    base.write(
        "docs/adr/0028-it.md",
        "---\nstatus: accepted\nsupersedes: [ADR-0026]\n---\n# Use events: all of them\n\nThey scale.\n",
    );
    // Of several files with one number, that of the outer folder has it, and then the first one.
    let same = ["docs/adr/0-old/0026-inner.md", "docs/adr/0027-more.md"];
    for (path, title) in same.into_iter().zip(["Inner", "More"]) {
        base.write(path, format!("# {title}\n\n## Decision\n\n{title}, always.\n"));
    }
    base.run(["import", "adr"]).says(0, "7 added");
    for name in ["inner", "more"] {
        assert!(!base.read(&format!(".ralph/knowledge/{name}.md")).contains("aliases:"), "{name}");
    }
    let timers = base.read(".ralph/knowledge/use-timers.md");
    assert!(timers.contains("supersedes: [knowledge/use-cron, knowledge/use-at]"), "{timers}");
    assert!(timers.contains("title: \"Use timers\"") && timers.contains("aliases: [ADR-0026, ADR-26]"), "{timers}");
    let found = base.run(["search", "ADR-0027", "--json"]).json(0);
    assert_eq!(found["entries"][0]["id"], "knowledge/use-a-queue");
    assert_eq!(found["entries"][0]["status"], "proposed");
    base.run(["search", "ADR-27"]).says(0, "knowledge/use-a-queue  [adr]  (proposed)");
    let context = base.run(["context", "-q", "Use a queue"]).answer(0);
    assert!(context.contains("### Use a queue (proposed)"), "{context}");
    let found = base.run(["search", "use timers events", "--json"]).json(0);
    assert!(!crate::support::ids(&found["entries"]).contains(&"knowledge/use-timers".to_owned()), "{found}");
}

#[test]
fn frontmatter_is_read_as_other_programs_write_it() {
    let base = TestBase::new();
    let check = |name: &str, text: &str, expected: &str| {
        base.write(&format!(".cursor/rules/{name}.mdc"), text);
        base.run(["import", "rules"]).says(0, "1 added");
        let entry = entries(&base);
        assert!(entry.contains(expected), "{text}\n{entry}");
    };
    check("two", "---\nglobs: \"**/a/**\", \"**/b/**\"\n---\n# Two\n\nText.\n", "files: [\"**/a/**\", \"**/b/**\"]");
    check(
        "comma",
        "---\nglobs: \"src/a,b.ts\", \"lib/x.ts\"\n---\n# Comma\n\nOne.\n",
        "files: [\"src/a,b.ts\", lib/x.ts]",
    );
    check(
        "braces",
        "---\nglobs: src/**/*.{ts,tsx}, lib/x.ts\n---\n# Braces\n\nText.\n",
        "files: [\"src/**/*.{ts,tsx}\", lib/x.ts]",
    );
    check("colon", "---\ntitle: One: two\nalwaysApply: false\n---\nText.\n", "title: \"One: two\"");
    // Of all that names a rule, the first counts: its title, its first heading, its description, its file.
    let named = |fields: &str| format!("---\n{fields}description: Third\n---\n");
    check("a", &(named("title: First\n") + "# Second\n\nText of a.\n"), "title: \"First\"");
    check("b", &(named("") + "# Second\n\nText of b.\n"), "title: \"Second\"");
    check("c", &(named("") + "Text of c.\n"), "title: \"Third\"");
    check("fourth-of-all", "---\nalwaysApply: true\n---\nText of d.\n", "title: \"fourth of all\"");
    check("empty", "---\n---\n\n---\ndescription: Behind an empty one\n---\nText.\n", "title: \"Behind an empty one\"");
    check(
        "all",
        "---\nglobs: \"**/*\"\n---\n# For all\n\nText.\n",
        "title: \"For all\"\ntags: [rules]\nsource: human\ncreated_at: \"2026-11-20T10:00:00Z\"\ndetails:",
    );
    // A pattern that matches nothing is no reason for doubt.
    base.run(["add", "Next", "--body", "More.", "--tags", "x"]).says(0, "");
    assert!(!base.run(["context", "-q", "Two texts"]).answer(0).contains("unverified"));
}

#[test]
fn a_briefing_shows_what_a_colleague_would_say() {
    let base = TestBase::new();
    let body = "**Status:** Accepted\n\n<!-- hidden -->\n\n```bash\nrun it\n```\n\n1. 2026-01-02\n\nThe broker wants TLS, so connect with `--tls`.\n";
    base.write("memory-bank/broker.md", format!("# Broker\n\n{body}"));
    let long = "word ".repeat(300);
    let section = |number: u32| format!("## Part {number}\n\nPart {number} matters. {long}\n\n");
    let sections = [1, 2, 3, 4, 5].map(section).concat();
    base.write("memory-bank/long.md", format!("# Long\n\n{sections}"));
    base.run(["import", "memory-bank"]).says(0, "6 added");
    let briefing = base.run(["context", "-q"]).answer(0);
    assert!(briefing.contains("Broker: The broker wants TLS, so connect with `--tls`."), "{briefing}");
    assert_eq!(briefing.matches("matters.").count(), 3, "{briefing}");
}

#[test]
fn the_files_of_an_entry_are_its_scope() {
    let base = TestBase::new();
    let add = |title: &str, files: &str| {
        let text = format!(
            "---\ntitle: \"{title}\"\ntags: [testing]\nfiles: [{files}]\n---\n\nHow to run the suite: {title}.\n"
        );
        base.write(&format!(".ralph/knowledge/{title}.md"), text);
    };
    add("alpha", "\"packages/web/**\"");
    add("beta", "\"packages/api/**\"");
    add("gamma", "packages/jobs");
    add("delta", "packages/web/src/app.ts");
    add("epsilon", "\"*.{ts,tsx}\"");
    add("zeta", "docs/x.md");
    let first = |query: &str| {
        let found = base.run(["search", query, "--json"]).json(0);
        let ids = crate::support::ids(&found["entries"]);
        ids.iter().map(|id| id.trim_start_matches("knowledge/").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(first("run the suite of packages/web/src/app.ts")[..3], ["delta", "alpha", "epsilon"]);
    assert_eq!(first("run the suite of `packages/api/main.py`,")[0], "beta");
    assert_eq!(first("run the suite in packages/jobs/mail.rb.")[0], "gamma");
    // The words alone are equal, and so are the scores.
    let found = base.run(["search", "run the suite", "--json"]).json(0);
    let scores: Vec<f64> =
        found["entries"].as_array().unwrap().iter().map(|entry| entry["score"].as_f64().unwrap()).collect();
    assert!(scores.iter().all(|score| (score - scores[0]).abs() < 1e-6), "{found}");
    // What names the file is in the context, whatever its words are.
    base.write(
        ".ralph/knowledge/pool.md",
        "---\ntitle: Pool size\ntags: [db]\nfiles: [src/server.rs]\n---\n\nAt most five.\n",
    );
    let context = base.run(["context", "-q", "Rename a variable in src/server.rs"]).answer(0);
    assert!(context.contains("At most five."), "{context}");
}

#[test]
fn the_fields_of_other_memories_become_ours() {
    let base = TestBase::new();
    let packet = "---\ntitle: Pool runs dry\ntype: Gotcha\nstatus: deprecated\nstale_after: 2027-03-01\n\
                  verified: true\npaths: [src/pool.rs]\naliases: [Pool]\npermalink: db/pool\n---\n\nAt most five connections.\n";
    base.write("packets/pool.md", packet);
    base.write("memory-bank/idea.md", "---\ntype: Idea\n---\n# Cache more\n\nIt is cheap.\n");
    base.run(["import", "memory-bank", "packets"]).says(0, "1 added");
    base.run(["import", "memory-bank"]).says(0, "1 added");
    let entry = base.read(".ralph/knowledge/pool-runs-dry.md");
    for line in [
        "category: pitfall",
        "status: deprecated",
        "source: human",
        "expires_at: \"2027-03-01T00:00:00Z\"",
        "aliases: [Pool, db/pool]",
        "files: [src/pool.rs]",
    ] {
        assert!(entry.contains(&format!("\n{line}\n")), "{line}\n{entry}");
    }
    // What agents keep for themselves is an agent's; a kind that nobody knows is a tag.
    let idea = base.read(".ralph/knowledge/cache-more.md");
    assert!(idea.contains("tags: [idea]") && idea.contains("source: agent") && !idea.contains("category"), "{idea}");
    base.run(["import", "memory-bank"]).says(0, "1 unchanged");
}
