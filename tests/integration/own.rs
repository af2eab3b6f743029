//! A person's own memory: read beside every project, written by that person alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use ralph_memory::Memory;
use serde_json::json;

use crate::agent::Agent;
use crate::layers::contents;
use crate::support::{Ran, TestBase, git, ids};

fn folder(base: &TestBase) -> PathBuf {
    base.home().join(".local/share/ralph-memory/own")
}

/// The texts of its entries, by their paths.
fn texts(base: &TestBase) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = contents(&folder(base).join(".ralph"));
    all.retain(|path, _| path.extension().is_some_and(|extension| extension == "md"));
    all
}

/// A project, and a memory of one's own with an entry.
fn with_own() -> TestBase {
    let base = TestBase::new();
    base.entry("zebra", "Zebra here", "x", "It eats hay.");
    base.run(["init", "--own"]).says(0, "created ");
    base.run(["add", "--own", "VPN host", "--tags", "vpn", "--body", "The zebra VPN is jump.example."]).tells(
        0,
        &["created knowledge/vpn-host\n"],
        &["in your own memory, ", "`ralph-memory --own undo` takes it back"],
    );
    base
}

#[test]
fn it_is_read_beside_every_project() {
    let base = with_own();
    assert_eq!(fs::metadata(folder(&base)).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!folder(&base).join(".claude").exists());
    fs::set_permissions(folder(&base), fs::Permissions::from_mode(0o755)).unwrap();
    base.run(["search", "zebra"]).says(0, "own:");
    assert_eq!(fs::metadata(folder(&base)).unwrap().permissions().mode() & 0o777, 0o700);
    base.run(["init", "--own"]).says(0, "nothing to do");
    base.with(["init"]).folder(folder(&base)).run().says(0, "nothing to do");
    assert!(!folder(&base).join(".claude").exists());
    let other = base.root().with_file_name("other");
    fs::create_dir(&other).unwrap();
    Memory::init(&other).unwrap();
    for root in [base.root(), other] {
        let run = |arguments: &[&str]| base.with(arguments).folder(&root).run();
        assert!(
            ids(&run(&["search", "zebra VPN", "--json"]).json(0)["entries"]).contains(&"own:knowledge/vpn-host".into())
        );
        assert!(run(&["show", "own:vpn-host"]).answer(0).contains("jump.example"));
        assert!(run(&["context"]).answer(0).contains("`own:knowledge/vpn-host`"));
        assert!(!run(&["list"]).stdout.contains("vpn"));
        assert!(run(&["list", "--own"]).stdout.contains("knowledge/vpn-host"));
        let mut agent = Agent::greeted(base.with(["mcp"]).folder(&root).command());
        let call = json!({"name": "search_memory", "arguments": {"query": "zebra VPN"}});
        assert!(agent.ask("tools/call", call).to_string().contains("own:knowledge/vpn-host"));
        // An attempt does not name what other people lack.
        let told = run(&["context", "--task", "Feed the zebra VPN", "--task-id", "t-1"]).stdout;
        assert!(told.contains("`own:knowledge/vpn-host`"), "{told}");
        run(&["record", "--task-id", "t-1", "--outcome", "failed"]).says(0, "recorded");
        let journal = contents(&root.join(".ralph/journal"));
        assert!(!journal.is_empty() && journal.values().all(|text| !String::from_utf8_lossy(text).contains("own:")));
    }
}

#[test]
fn a_person_corrects_it_from_any_project() {
    let base = with_own();
    let run = |arguments: &[&str]| base.run(arguments);
    run(&["edit", "own:vpn-host", "--title", "The VPN host"])
        .says(0, "updated knowledge/the-vpn-host (was knowledge/vpn-host)");
    run(&["add", "--own", "Bastion", "--body", "It is b.example.", "--supersedes", "own:the-vpn-host"])
        .says(0, "created");
    run(&["archive", "own:the-vpn-host", "own:bastion"]).tells(
        0,
        &["archived knowledge/bastion"],
        &["in your own memory"],
    );
    run(&["restore", "own:bastion"]).says(0, "restored knowledge/bastion");
    run(&["search", "bastion"]).says(0, "own:knowledge/bastion");
    // Each memory has its own undo, and says where the newer change is.
    run(&["archive", "zebra"]).says(0, "archived");
    base.with(["add", "--own", "Newest", "--body", "b"]).now("2026-11-20T11:00:00Z").run().says(0, "created");
    run(&["undo"]).tells(0, &["moved    .ralph/knowledge/zebra.md"], &["`ralph-memory undo --own` takes that back"]);
    run(&["undo", "--own"]).tells(
        0,
        &["removed  .ralph/knowledge/newest.md"],
        &["`ralph-memory --own undo --redo` reverses this"],
    );
    assert!(base.at(".ralph/knowledge/zebra.md").exists());
}

/// A hint that is followed as it stands changes this memory, not the project's.
#[test]
fn hints_name_it() {
    let base = with_own();
    base.run(["add", "--own", "VPN host", "--tags", "vpn", "--body", "The VPN is b.example."])
        .says(0, "1 line is gone; `ralph-memory --own undo` brings back");
    let own = folder(&base).join(".ralph/knowledge");
    let cases: [(&[&str], i32, &str); 4] = [
        (&["edit", "own:vpn-host"], 2, &format!("or change `{}/vpn-host.md`", own.display())),
        (&["undo", "--own", "99"], 1, "`ralph-memory --own undo --list` shows"),
        (&["--own"], 0, "next: `ralph-memory --own search WORDS`"),
        (&["check", "--own"], 0, "`ralph-memory --own restore knowledge/gone`, or remove the link"),
    ];
    base.run(["add", "--own", "Gone", "--body", "b"]).says(0, "created");
    base.run(["archive", "own:gone"]).says(0, "archived");
    fs::write(own.join("x.md"), "---\ntitle: X\ntags: [x]\n---\n\nSee [[knowledge/gone]].\n").unwrap();
    for (arguments, code, hint) in cases {
        let ran: Ran = base.run(arguments);
        assert!(
            ran.code == Some(code) && format!("{}{}", ran.stdout, ran.stderr).contains(hint),
            "{arguments:?}: {ran}"
        );
    }
}

#[test]
fn no_agent_writes_there() {
    let base = with_own();
    let (before, root) = (texts(&base), folder(&base).display().to_string());
    let commands: [&[&str]; 7] = [
        &["init", "--own"],
        &["add", "--own", "A", "--body", "b"],
        &["edit", "own:vpn-host", "--confirm"],
        &["archive", "own:vpn-host"],
        &["restore", "own:vpn-host"],
        &["undo", "--own"],
        &["add", "A", "--body", "b", "--root", &root],
    ];
    for variable in ["CLAUDECODE", "CODEX_THREAD_ID", "AI_AGENT", "RALPH_RUN_ID"] {
        for arguments in commands {
            let refused = base.with(arguments).env(variable, "1").run();
            refused.tells(2, &[], &["a coding agent runs this command", "`ralph-memory list --unreviewed`"]);
        }
    }
    // Nor does a server or a hook that a client starts there, nor one with another home.
    for (variable, value) in [("UNUSED", ""), ("HOME", ""), ("XDG_DATA_HOME", "/nowhere")] {
        let with = |arguments: &[&str]| base.with(arguments).env(variable, value);
        with(&["add", "A", "--body", "b", "--root", &root]).env("CLAUDECODE", "1").run().refuses(2, "a coding agent");
        let message = "<task-done>t-1</task-done>";
        let call = json!({"cwd": root, "session_id": "s", "last_assistant_message": message}).to_string();
        assert_eq!(with(&["hook", "stop"]).input(call).run().answer(0), "");
        let mut agent = Agent::greeted(with(&["mcp", "--root", &root]).command());
        let call = json!({"name": "add_knowledge", "arguments": {"title": "A", "tags": ["x"], "body": "b"}});
        let answer = agent.ask("tools/call", call).to_string();
        assert!(answer.contains("isError\":true") && texts(&base) == before, "{answer}");
    }
    // Nor does one make it.
    let base = TestBase::new();
    base.with(["init", "--own"]).env("CLAUDECODE", "1").run().refuses(2, "a coding agent runs this command");
    assert!(!folder(&base).exists());
}

#[test]
fn it_is_left_out_where_others_see_the_result_or_it_may_not_be_ones_own() {
    type Case<'a> = (&'a [(&'a str, &'a str)], bool, &'a str, &'a dyn Fn(&TestBase));
    let moved = |base: &TestBase| base.home().join("moved");
    let cases: [Case<'_>; 10] = [
        (&[], true, "", &|_| {}),
        (&[("CI", "false"), ("XDG_DATA_HOME", "relative")], true, "", &|_| {}),
        (&[("CI", "true")], false, "", &|_| {}),
        (&[("RALPH_RUN_ID", "run-1")], false, "", &|_| {}),
        (&[("XDG_DATA_HOME", "/nowhere")], false, "", &|_| {}),
        (&[], false, "it is a link, and links are not followed", &|base| {
            fs::rename(folder(base), moved(base)).unwrap();
            symlink(moved(base), folder(base)).unwrap();
        }),
        (&[], false, "reached through a link", &|base| {
            fs::rename(folder(base).join(".ralph"), moved(base)).unwrap();
            symlink(moved(base), folder(base).join(".ralph")).unwrap();
        }),
        (&[], false, "it has no memory", &|base| {
            fs::rename(folder(base).join(".ralph"), moved(base)).unwrap();
        }),
        (&[], true, "it is listed twice", &|base| {
            let layers = format!("layers = [{:?}]\n", folder(base).display().to_string());
            base.write("../home/.config/ralph-memory/config.toml", layers);
        }),
        // What lies in the work tree may have come with it.
        (&[], false, "it lies in the work tree of this project", &|base| {
            git(base, &["init", "--quiet", base.home().parent().unwrap().to_str().unwrap()]);
        }),
    ];
    for (variables, is_read, reason, prepare) in cases {
        let base = with_own();
        prepare(&base);
        let mut search = base.with(["search", "zebra", "--json"]);
        for (name, value) in variables {
            search = search.env(name, value);
        }
        let answer = search.run().json(0);
        let found = ids(&answer["entries"]).contains(&"own:knowledge/vpn-host".to_owned());
        let problems = answer["problems"].as_array().unwrap();
        assert_eq!(
            (found, problems.len()),
            (is_read, usize::from(!reason.is_empty())),
            "{reason} {variables:?}: {answer}"
        );
        assert!(problems.iter().all(|problem| problem["message"].as_str().unwrap().contains(reason)), "{answer}");
        let is_twice = problems.iter().any(|problem| problem["hint"] == "correct `layers` in your own settings");
        assert_eq!(is_twice, reason.contains("twice"), "{answer}");
    }
    // A run leaves it out, though a person starts it.
    let base = with_own();
    let agent = format!("sh -c 'cat > {}'", base.home().join("prompt").display());
    let run = base.with(["run", "--task", "Feed the zebra VPN", "--agent", &agent, "--max-iterations", "1"]);
    assert_eq!(run.env("PATH", std::env::var_os("PATH").unwrap()).run().code, Some(1));
    let prompt = fs::read_to_string(base.home().join("prompt")).unwrap();
    assert!(prompt.contains("Zebra here") && !prompt.contains("own:"), "{prompt}");
    // Only root can give a folder away.
    if std::os::unix::fs::chown(folder(&base), Some(12_345), None).is_ok() {
        base.run(["search", "zebra"]).says(0, "it belongs to another user");
        base.run(["add", "--own", "A", "--body", "b"]).refuses(2, "it belongs to another user");
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let base = TestBase::new();
    base.entry("zebra", "Zebra here", "x", "It eats hay.");
    base.run(["add", "--own", "A", "--body", "b"]).refuses(3, "`ralph-memory init --own` makes your own memory");
    base.with(["init", "--own"]).env("HOME", "").run().refuses(2, "neither HOME nor XDG_DATA_HOME is an absolute path");
    fs::create_dir_all(folder(&base).parent().unwrap()).unwrap();
    symlink(base.root(), folder(&base)).unwrap();
    base.run(["init", "--own"]).refuses(2, "it is a link, and links are not followed");
    let base = with_own();
    base.entry("zebra", "Zebra here", "x", "It eats hay.");
    let secret = ["ghp_", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"].concat();
    let own = folder(&base).display().to_string();
    let cases: [(&[&str], i32, &str); 11] = [
        (&["list", "--own", "--root", &own], 2, "`--own` and `--root` name two memories"),
        (&["archive", "own:vpn-host", "zebra"], 2, "some of the entries are in your own memory"),
        (&["edit", "own:gnu", "--confirm"], 1, "there is no entry `knowledge/gnu`"),
        (&["add", "--own", "Token", "--body", &secret], 4, "looks like a secret"),
        (
            &["add", "Vpn", "--body", "b", "--supersedes", "own:vpn-host"],
            1,
            "there is no entry `own:knowledge/vpn-host`",
        ),
        (&["run", "--own", "--task", "x", "--agent", "true"], 2, "this command works on a project"),
        (&["run", "--root", &own, "--task", "x", "--agent", "true"], 2, "this command works on a project"),
        (&["run", "-C", &own, "--task", "x", "--agent", "true"], 2, "this command works on a project"),
        (&["init", "--own", "--root", "x"], 2, "`--own` and `--root` name two memories"),
        (&["setup", "--own", "claude"], 2, "this command works on a project"),
        (&["setup", "-C", &own, "--check"], 2, "this command works on a project"),
    ];
    let before = texts(&base);
    for (arguments, code, reason) in cases {
        let refused: Ran = base.run(arguments);
        assert!(refused.code == Some(code) && refused.stderr.contains(reason), "{arguments:?}: {refused}");
    }
    assert!(texts(&base) == before && base.files(".ralph/knowledge").len() == 1);
}

/// Names of a clone that look like ids of one's own memory mean nothing there.
#[test]
fn a_clone_reaches_nothing_of_it() {
    let base = with_own();
    let before = texts(&base);
    let head = "title: \"own:vpn-host\"\ntags: [x]\naliases: [\"own:knowledge/vpn-host\"]\nsupersedes: [\"own:knowledge/vpn-host\"]";
    base.write(".ralph/knowledge/own:vpn-host.md", format!("---\n{head}\n---\n\nSee [[own:vpn-host]], a zebra.\n"));
    base.write(".ralph/config.toml", "format = 1\nlayers = [\"~/.local/share/ralph-memory/own\"]\nown = \"/\"\n");
    assert!(
        ids(&base.run(["search", "zebra", "--json"]).json(0)["entries"]).contains(&"own:knowledge/vpn-host".into())
    );
    base.run(["show", "own:vpn-host"]).says(0, "jump.example");
    assert_ne!(base.run(["check"]).code, None);
    let clone = base.read(".ralph/knowledge/own:vpn-host.md");
    base.run(["archive", "knowledge/own:vpn-host"]).says(0, "archived knowledge/own:vpn-host");
    assert!(texts(&base) == before);
    base.run(["restore", "knowledge/own:vpn-host"]).says(0, "restored");
    base.run(["archive", "own:vpn-host"]).says(0, "archived knowledge/vpn-host");
    assert_eq!(base.read(".ralph/knowledge/own:vpn-host.md"), clone);
    assert!(Path::new(&folder(&base)).join(".ralph/archive/knowledge/vpn-host.md").exists());
}
