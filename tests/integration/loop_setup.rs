//! What a run is started with: programs that are there, models that the agent's client has, limits, and options that
//! `--resume` goes on with; and what agents and people are told of a task that does not get on.

use std::fs;

use crate::support::{Ran, TestBase, git, write_program};

fn run(base: &TestBase, arguments: &[&str]) -> Ran {
    base.with([&["run"], arguments].concat()).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

/// Runs a command line, as a shell splits it.
fn run_line(base: &TestBase, line: &str) -> Ran {
    let words = shlex::split(line).unwrap();
    run(base, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Nothing was recorded, and nothing is open.
#[track_caller]
fn check_nothing(base: &TestBase) {
    let written =
        base.files(".ralph").into_iter().filter(|path| path.contains("journal/") || path.contains("attempts/"));
    assert_eq!(written.collect::<Vec<_>>(), [""; 0]);
}

/// What was seen: `--verify "carg test"` let the agent work, was held against it, and raised the model.
#[test]
fn a_command_that_cannot_run_costs_no_attempt() {
    let base = TestBase::new();
    let touch = format!("touch {}", base.home().join("worked").display());
    let check = |arguments: &[&str], parts: [&str; 2]| {
        let ran = run(&base, &[&["--task", "x"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran}");
        assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{ran}");
        check_nothing(&base);
    };
    for verify in ["carg test", "env A=b carg test", "./gone.sh"] {
        check(&["--agent", &touch, "--verify", verify], ["there is no command `", "--verify"]);
    }
    for agent in ["no-such-agent -p", "sh -c 'no-such-agent -p'"] {
        check(&["--agent", agent], ["no-such-agent", "--agent"]);
    }
    check(&["--agent", "true --model {modle}"], ["`{modle}`", "{model}"]);
    assert!(!base.home().join("worked").exists());
}

/// An agent of a client's name, which records its model and prints nothing.
fn client(base: &TestBase, name: &str) -> String {
    let folder = base.home().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let script = "#!/bin/sh\nwhile [ \"$1\" != --model ]; do shift; done\necho \"$2\" >>";
    write_program(&path, format!("{script} {}\n", base.home().join("models").display()));
    path.display().to_string()
}

#[test]
fn each_client_gets_its_own_models() {
    let base = TestBase::new();
    let models = || fs::read_to_string(base.home().join("models")).unwrap_or_default();
    let agent = format!("{} --model {{model}}", client(&base, "codex"));
    let arguments = ["--task", "x", "--agent", &agent, "--max-iterations", "3"];
    let ran = run(&base, &arguments);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert_eq!(models(), "gpt-6.1-sol\ngpt-6.1-sol\ngpt-6-astra\n");
    assert!(!ran.stderr.contains("is a model of"), "{ran}");
    // Configured models are used, with a warning if they cannot be right.
    let agent = format!("{} --model sonnet", client(&base, "codex"));
    let ran = run(&base, &["--task", "y", "--agent", &agent, "--max-iterations", "1"]);
    assert!(ran.stderr.contains("warning: `sonnet` is a model of claude, and the agent is codex"), "{ran}");
    let agent = format!("{} --model {{model}}", client(&base, "gemini"));
    let _ = run(&base, &["--task", "z", "--agent", &agent, "--max-iterations", "1"]);
    assert!(models().ends_with("\nflash\n"), "{}", models());
}

/// Writes an agent of a client's name that keeps its last prompt and prints this, and returns its path.
fn speaker(base: &TestBase, name: &str, says: &str) -> String {
    let path = base.home().join("bin").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path.with_extension("txt"), says).unwrap();
    let script = format!(
        "#!/bin/sh\ncat > {}\ncat {}\n",
        base.home().join("prompt").display(),
        path.with_extension("txt").display()
    );
    write_program(&path, script);
    path.display().to_string()
}

/// What was seen: `codex exec -m gpt-5.1-codex` was recorded as `gpt-6.1-sol`, and opencode as `sonnet`.
#[test]
fn a_model_is_recorded_where_the_agent_was_told_it_or_named_it() {
    #[track_caller]
    fn check(says: &str, agent: &str, expected: Option<&str>) {
        let base = TestBase::new();
        base.write("agent.sh", "echo $RALPH_MODEL\n");
        let (name, arguments) = agent.split_once(' ').unwrap_or((agent, ""));
        let agent = match name {
            "sh" => agent.to_owned(),
            name => format!("{} {arguments}", speaker(&base, name, says)),
        };
        let ran = run(&base, &["--task", "x", "--agent", &agent, "--max-iterations", "2", "--json"]);
        let answer = ran.json(1);
        let models = || answer["attempts"].as_array().unwrap().iter().map(|attempt| attempt["model"].as_str());
        assert_eq!(models().collect::<Vec<_>>(), [expected; 2], "{agent}: {ran}");
        let logged = base.run(["log", "--json"]).json(0);
        assert_eq!(logged["attempts"][0]["model"].as_str(), expected, "{agent}");
        let of_stats = base.run(["stats", "--json"]).json(0);
        let of_stats: Vec<_> =
            of_stats["total"]["models"].as_array().unwrap().iter().map(|of| of["model"].as_str()).collect();
        assert_eq!(of_stats, Vec::from_iter(expected.map(Some)), "{agent}");
        // It is said once, and no prompt names a model that nobody works with.
        let n_told = ran.stderr.matches("the agent's model is unknown").count();
        assert_eq!(n_told, usize::from(expected.is_none()), "{agent}: {ran}");
        let prompt = fs::read_to_string(base.home().join("prompt")).unwrap_or_default();
        if name != "sh" {
            assert!(prompt.contains("**Iteration:** 2 of 2"), "{prompt}");
            let is_chosen = agent.contains("{model}");
            assert_eq!(prompt.contains("Current model"), is_chosen, "{prompt}");
            assert_eq!(prompt.contains(" Models: "), is_chosen, "{prompt}");
        }
    }
    let stream = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-opus-4-5"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"hm"}"#;
    check("hm", "codex exec -m gpt-5.1-codex", None);
    check("hm", "opencode run", None);
    check("hm", "claude -p", None);
    check(stream, "claude -p", Some("claude-opus-4-5"));
    check("hm", "claude -p --model {model}", Some("sonnet"));
    check("hm", "my-agent", None);
    check("", "sh -c 'echo $RALPH_MODEL'", Some("sonnet"));
    check("", "sh agent.sh", Some("sonnet"));
    check("", "sh -c 'cat > prompt; ./gone.sh || sh ./agent.sh'", Some("sonnet"));
    check("", "sh -c 'echo hm'", None);
}

#[test]
fn a_client_without_known_models_gets_no_others() {
    let base = TestBase::new();
    let opencode = speaker(&base, "opencode", "hm");
    for agent in [format!("{opencode} run --model {{model}}"), format!("env A=b {opencode} run -m {{model}}")] {
        let arguments = ["run", "--task", "x", "--agent", &agent, "--max-iterations", "1", "--json"];
        let with = || base.with(arguments).env("PATH", std::env::var_os("PATH").unwrap());
        let refused = with().run();
        assert!(
            refused.code == Some(2) && refused.stderr.contains("the models of `opencode` are unknown"),
            "{refused}"
        );
        assert!(refused.stderr.contains("`strategy.models`"), "{refused}");
        check_nothing(&base);
        let answer = with().env("RALPH_MEMORY_STRATEGY__MODELS", "anthropic/a, openai/b").run().json(1);
        assert_eq!(answer["attempts"][0]["model"], "anthropic/a");
        fs::remove_dir_all(base.at(".ralph/journal")).unwrap();
    }
}

/// Seed 000: what happened to similar tasks informs the choice of the model.
#[test]
fn a_task_begins_with_the_model_that_did_similar_ones() {
    let base = TestBase::new();
    let attempt = |number: u32, title: &str, outcome: &str, model: &str| {
        let id = ralph_memory::Task::id_of_title(title);
        let text = format!(
            "---\nrun_id: run-0000000b\niteration: {number}\ntask_id: {id}\ntask_title: \"{title}\"\noutcome: {outcome}\n{model}source: agent\nstarted_at: \"2026-11-19T10:{number:02}:00Z\"\n---\n"
        );
        base.write(&format!(".ralph/journal/run-0000000b/{number:04}.md"), text);
    };
    let (sonnet, opus) = ("model: sonnet\n", "model: claude-opus-4-5\n");
    attempt(1, "Port the login form to Svelte", "failed", sonnet);
    attempt(2, "Port the login form to Svelte", "done", opus);
    attempt(3, "Port the search form to Svelte", "retried", sonnet);
    attempt(4, "Port the search form to Svelte", "done", opus);
    // An unknown model says nothing.
    attempt(5, "Port the upload form to Svelte", "failed", "");
    attempt(6, "Port the upload form to Svelte", "done", "");
    let check = |title: &str, strategy: &str, model: &str, rationale: &str| {
        let arguments = ["--task", title, "--agent", "echo {model}", "--max-iterations", "1", "--strategy", strategy];
        let answer = run(&base, &[&arguments[..], &["--json"]].concat()).json(1);
        assert_eq!(answer["attempts"][0]["model"], model, "{title}");
        let path = format!(".ralph/journal/{}/0001.md", answer["run_id"].as_str().unwrap());
        let entry = base.read(&path);
        assert!(entry.contains("\nmodel_rationale: ") && entry.contains(rationale), "{entry}");
        fs::remove_file(base.at(&path)).unwrap();
    };
    let cost = "cost-optimized";
    let similar = "2 similar tasks failed with sonnet and were done by opus";
    check("Port the signup form to Svelte", cost, "opus", similar);
    check("Port the login form to Svelte again", cost, "opus", similar);
    check("Compress the backups", cost, "sonnet", "default (cost-optimized strategy)");
    check("Draw the login form", cost, "sonnet", "default (cost-optimized strategy)");
    // The cheapest was not tried.
    check("Port the signup form to Svelte", "escalate", "haiku", "default (escalate strategy)");
    check("Port the signup form to Svelte", "fixed", "opus", similar);
    // Tasks that touched its files are similar, whatever their titles.
    let at_scan = |model: &str| format!("{model}files:\n  modified: [src/scan.rs]\n");
    for (number, title) in [(9, "Widen the catalog"), (11, "Trim the reader")] {
        attempt(number, title, "failed", &at_scan(sonnet));
        attempt(number + 1, title, "done", &at_scan(opus));
    }
    let context = ["context", "--task", "Repair this", "--file", "src/scan.rs", "--strategy", cost, "--json"];
    let answer = base.run(context).json(0);
    assert!(answer["rationale"].as_str().unwrap().contains(similar) && answer["model"] == "opus", "{answer}");
    // As many were done by the model that is the default.
    attempt(7, "Port the profile form to Svelte", "done", sonnet);
    attempt(8, "Port the billing form to Svelte", "done", sonnet);
    check("Port the signup form to Svelte", cost, "sonnet", "default (cost-optimized strategy)");
}

#[test]
fn zero_means_no_limit() {
    let base = TestBase::new();
    base.write(
        "agent.sh",
        "cat > prompt\necho x >> n\n[ $(wc -l < n) -lt 12 ] || echo \"<task-done>$RALPH_TASK_ID</task-done>\"\n",
    );
    let ran = run_line(&base, "--task x --agent 'sh agent.sh' --max-iterations 0");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("12 (1 done, 11 blocked)"), "{ran}");
    assert!(base.read("prompt").contains("**Iteration:** 12 of unlimited"), "{}", base.read("prompt"));
    // A custom loop passes its limit.
    let context = base.run(["context", "--task", "x", "--limit", "7", "--run", "run-0000000a"]).stdout;
    assert!(context.contains("**Iteration:** 1 of 7"), "{context}");
}

#[test]
fn a_resumed_run_keeps_its_options() {
    let base = TestBase::new();
    base.write("agent.sh", "echo $RALPH_MODEL >> models\necho \"<task-done>$RALPH_TASK_ID</task-done>\"\n");
    let options = "--task x --agent 'sh agent.sh' --verify \"sh -c 'exit 3'\" --strategy escalate --max-iterations 1";
    run_line(&base, options).says(1, "--max-iterations N");
    let ran = run(&base, &["--resume"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("1 (1 retried)"), "{ran}");
    // What is given now counts, and is kept for the next time.
    let ran = run(&base, &["--resume", "--verify", "true"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(base.read("models"), "haiku\nsonnet\nopus\n");

    // A checklist continues, from any folder.
    base.write("todo.md", "- [ ] one\n- [ ] two\n");
    run_line(&base, "--task-file todo.md --agent 'sh agent.sh' --max-iterations 1").says(1, "--max-iterations N");
    base.write("sub/x", "");
    let ran =
        base.with(["run", "--resume"]).env("PATH", std::env::var_os("PATH").unwrap()).folder(base.at("sub")).run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(base.read("todo.md"), "- [x] one\n- [x] two\n");
}

#[test]
fn a_run_in_which_no_agent_ran_is_not_the_one_that_is_resumed() {
    let base = TestBase::new();
    base.write("no-shell.sh", "#!/no/such/shell\n").write("text.sh", "");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(base.at("no-shell.sh"), executable).unwrap();
    let agent = "sh -c 'echo I give up.'";
    let begun = run(&base, &["--task", "x", "--agent", agent, "--max-iterations", "1", "--json"]).json(1);
    let failures: [&[&str]; 5] = [
        &["--task-file", "no-such.md", "--agent", agent],
        &["--task", "y", "--agent", agent, "--tokens", "1"],
        &["--task", "y", "--agent", "./text.sh"],
        &["--task", "y", "--agent", "./no-shell.sh"],
        &["--task", "y", "--agent", "sh -c 'cd . && no-such-agent'"],
    ];
    for arguments in failures {
        let failed = run(&base, arguments);
        assert_eq!((failed.code, failed.stdout.as_str()), (Some(2), ""), "{arguments:?}: {failed}");
        let resumed = run(&base, &["--resume", "--json"]).json(1);
        assert_eq!((&resumed["run_id"], &resumed["tasks"][0]["title"]), (&begun["run_id"], &"x".into()));
    }
    // Attempts of another loop are newer; the run that was started here is still the one.
    let record =
        || base.with(["record", "--task", "z", "--run", "run-0000000c"]).input("Hm.").run().says(0, "recorded");
    record();
    assert_eq!(run(&base, &["--resume", "--json"]).json(1)["run_id"], begun["run_id"]);
    // Without options, the journal says which run is the newest.
    record();
    fs::remove_file(base.at(".ralph/state/run.json")).unwrap();
    run(&base, &["--resume"]).says(2, "no agent is named, and the options of `run-0000000c` are not saved here");
}

#[test]
fn a_run_with_nothing_to_do_says_why() {
    let base = TestBase::new();
    base.write("todo.md", "- [x] one\n");
    let done = run(&base, &["--task-file", "todo.md", "--agent", "true"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ""), "{done}");
    assert_eq!(done.stderr, "every box of `todo.md` is ticked; there is nothing to do\n");
    run(&base, &["--agent", "true"]).says(2, "<--task <TITLE>|--task-file <FILE>|--resume>");
}

#[test]
fn a_run_says_why_an_attempt_did_not_finish_its_task() {
    let base = TestBase::new();
    let done = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";
    let check = |script: &str, more: &[&str], expected: &str| {
        base.write("agent.sh", format!("# $RALPH_MODEL\n{script}"));
        let task = format!("task {expected}");
        let arguments = [&["--task", &task, "--agent", "sh agent.sh", "--max-iterations", "1"], more].concat();
        let ran = run(&base, &arguments);
        let end = ran.stderr.lines().rfind(|line| line.starts_with("attempt 1 of 1 · ")).unwrap();
        let parts: Vec<&str> = end.split(" · ").collect();
        assert_eq!((parts[2], parts[parts.len() - 1]), expected.split_once(": ").unwrap(), "{ran}");
        let answer = run(&base, &[&arguments[..], &["--json"]].concat()).json(1);
        let end = &answer["attempts"][0];
        assert_eq!(format!("{}: {}", end["outcome"].as_str().unwrap(), end["reason"].as_str().unwrap()), expected);
    };
    check("echo one >&2; echo 'error: invalid API key' >&2; exit 3", &[], "error: exit code 3: error: invalid API key");
    check("echo Working.; exit 3", &[], "error: exit code 3");
    let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    check(&format!("echo 'no {token}' >&2; exit 1"), &[], "error: exit code 1: no [redacted: github-token]");
    check("sleep 600", &["--timeout", "1s"], "blocked: timed out after 1 s");
    check("true", &[], "blocked: its answer is empty");
    check("echo I am done.", &["--verify", "true"], "blocked: no <task-done> in its answer");
    check(
        "echo '<task-failed>t</task-failed>'; echo x",
        &["--task-id", "t"],
        "failed: the agent gave up without a report",
    );
    let report = "echo '<failure-report>\nwhat_tried: a\nwhy_failed: It is locked.\n</failure-report>\n<task-failed>t</task-failed>'";
    check(report, &["--task-id", "t"], "failed: It is locked.");
    check(done, &["--verify", "sh -c 'exit 101'"], "retried: `sh -c 'exit 101'` failed with exit code 101");
    check(done, &["--verify", "sleep 600", "--verify-timeout", "1s"], "retried: `sleep 600` timed out after 1 s");
    let others = "echo '<task-done>one</task-done><task-done>two</task-done>'";
    check(
        others,
        &["--task-id", "t"],
        "blocked: line 1: <task-done> names `two`, which is no known task; this one is `t`",
    );
    let limit = r#"echo '{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s"}'"#;
    check(limit, &["--format", "claude"], "blocked: error_max_turns");
}

#[test]
fn a_command_in_the_settings_is_named_as_such() {
    let base = TestBase::new();
    let check = |variable: &str, command: &str, expected: &str| {
        let run = base.with(["run", "--task", "x", "--agent", "true"]).env("PATH", std::env::var_os("PATH").unwrap());
        run.env(variable, command).run().says(2, expected);
    };
    check("RALPH_MEMORY_RUN__VERIFY", "carg test", "there is no command `carg`, which `run.verify` names");
    check("RALPH_MEMORY_RUN__VERIFY", "a && b", "run one: `run.verify = \"sh -c '…'\"`");
    let ran = base.with(["run", "--task", "x"]).env("RALPH_MEMORY_RUN__AGENT", "nosuchprog").run();
    ran.says(2, "there is no command `nosuchprog`, which `run.agent` names");
}

#[test]
fn options_from_a_repository_are_not_trusted() {
    let base = TestBase::new();
    let evil = format!("touch {}", base.home().join("evil").display());
    run(&base, &["--task", "x", "--agent", &evil, "--max-iterations", "1"]).says(1, "--max-iterations N");
    fs::remove_file(base.home().join("evil")).unwrap();
    let kept = base.read(".ralph/state/run.json");
    // Written elsewhere, or changed.
    base.write(".ralph/state/run.json", kept.replace("\"run_id\"", " \"run_id\""));
    let ran = run(&base, &["--resume"]);
    assert_eq!(ran.code, Some(2), "{ran}");
    assert!(ran.stderr.contains("no agent is named"), "{ran}");
    // As it was, but tracked by git.
    base.write(".ralph/state/run.json", &kept);
    git(&base, &["init", "-q"]);
    git(&base, &["add", "-f", ".ralph/state/run.json"]);
    run(&base, &["--resume"]).refuses(2, "no agent is named");
    assert!(!base.home().join("evil").exists());
    git(&base, &["rm", "-q", "--cached", ".ralph/state/run.json"]);
    run(&base, &["--resume"]).says(1, "--max-iterations N");
    assert!(base.home().join("evil").exists());
}

/// Writes attempts at a task into the journal of a run.
fn attempts(base: &TestBase, outcomes: &[(&str, &str)]) {
    for (number, (outcome, more)) in outcomes.iter().enumerate() {
        let number = number + 1;
        let text = format!(
            "---\nrun_id: run-0000000b\niteration: {number}\ntask_id: t-1\ntask_title: \"x\"\noutcome: {outcome}\nmodel: sonnet\nsource: agent\nstarted_at: \"2026-11-19T10:{number:02}:00Z\"\n{more}"
        );
        base.write(&format!(".ralph/journal/run-0000000b/{number:04}.md"), text);
    }
}

/// Checks what a context says of a task with these attempts, and what it does not.
#[track_caller]
fn check_context(outcomes: &[(&str, &str)], more: &[&str], says: &[&str], leaves_out: &[&str]) -> TestBase {
    let base = TestBase::new();
    attempts(&base, outcomes);
    let text = base.run([&["context", "-q", "--task", "x", "--task-id", "t-1"], more].concat()).answer(0);
    for part in says {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    for part in leaves_out {
        assert!(!text.contains(part), "{part} is in {text}");
    }
    base
}

#[test]
fn a_stuck_task_is_reported_everywhere() {
    let says = ["Stuck loop detected", "12 consecutive failure(s)"];
    let base = check_context(&[("failed", "---\n"); 12], &[], &says, &[]);
    // The warning refers to an existing attempt, and not to models that were never tried.
    let task = ["--task", "x", "--task-id", "t-1"];
    let ran = run(&base, &[&task[..], &["--agent", "true", "--max-iterations", "1", "--strategy", "fixed"]].concat());
    assert!(
        ran.stderr.contains("warning: `x` keeps failing; see `ralph-memory show journal/run-0000000b/0012`"),
        "{ran}"
    );
}

#[test]
fn a_context_tells_of_attempts_what_helps() {
    // A refuted attempt shows the refutation, not the claim.
    let validation = "validation: {command: cargo test, exit_code: 101, duration_ms: 1}\n---\n";
    let refuted =
        format!("{validation}\n## Summary\n\n> All tests pass now.\n\n## Error output\n\n> Everything is fine.\n");
    let says = "`cargo test` failed with exit code 101";
    check_context(&[("retried", &refuted)], &[], &[says], &["All tests pass", "Everything is fine"]);
    // An attempt that was done is not a failed approach.
    let says = "**Do not repeat the approaches that failed.**";
    check_context(&[("done", "---\n"), ("failed", "---\n")], &[], &[says], &["these approaches"]);
    // The errors of a task are a sentence.
    let failed = [("failed", "error_category: test_failure\n---\n"), ("failed", "---\n"), ("failed", "---\n")];
    check_context(&failed, &[], &["> It failed with: test_failure; 2 times without a reported cause.\n"], &[]);
    // A report need not name a category.
    let report = |why: &str| format!("error_category: unknown\n---\n\n## Why it failed\n\n> {why}\n");
    let (tls, port) = (report("The broker wants TLS.\n> It says so."), report("The port is taken."));
    let failed = [("failed", &*port), ("done", "---\n"), ("failed", &tls), ("failed", &port), ("failed", &tls)];
    check_context(&failed, &[], &["> It failed with: The broker wants TLS (2), The port is taken.\n"], &[]);
    // A suggestion stays until an attempt followed it.
    let suggested = "---\n\n## Retry suggestion\n\n> Look at keep-alive.\n";
    let says = "**Suggested approach for this retry:**\nLook at keep-alive.";
    check_context(&[("failed", suggested), ("blocked", "---\n"), ("interrupted", "---\n")], &[], &[says], &[]);
    let followed = ("failed", "---\n\n## What was tried\n\n> I looked at it.\n");
    check_context(&[("failed", suggested), followed, ("interrupted", "---\n")], &[], &[], &["Suggested approach"]);
    // A recurring error refers to an attempt that shows it.
    let output = "## Validation output\n\n> E42: no such port\n";
    let validation = "validation: {command: make, exit_code: 2, duration_ms: 1}\n---\n";
    let refuted = format!("{validation}\n{output}");
    let failed = format!("{validation}\n## What was tried\n\n> Another port.\n\n{output}");
    let all: [(&str, &str); 4] =
        [("retried", &refuted), ("failed", &failed), ("retried", &refuted), ("failed", &failed)];
    check_context(&all, &[], &["Recurring error", "(that of attempt 3 above)\n"], &[]);
}

#[test]
fn reports_come_before_attempts_without_one() {
    let report = format!("---\n\n## What was tried\n\n> The only report. {}\n", "word ".repeat(100));
    let all = [[("failed", report.as_str())].as_slice(), &[("interrupted", "---\n"); 9]].concat();
    check_context(&all, &["--budget", "2600"], &["The only report.", "like 8 earlier attempts"], &[]);
    let report = "---\n\n## What was tried\n\n> The only report.\n";
    let words = |letter| format!("---\n\n## Error output\n\n> {}\n", format!("word{letter} ").repeat(60));
    let words: Vec<String> = ('a'..'m').map(words).collect();
    let mut all = vec![("failed", report)];
    all.extend(words.iter().map(|words| ("blocked", words.as_str())));
    all.insert(5, ("interrupted", "---\n"));
    // An attempt without a report is not shown while others are left out.
    let says = ["Left out for space", "The only report."];
    check_context(&all, &["--budget", "3600"], &says, &["(sonnet, interrupted)"]);
}

/// What was seen: a prompt that said `Error output: I read the worker first.` of an attempt that a turn limit had
/// ended.
#[test]
fn the_reason_of_an_end_is_shown_without_a_report() {
    let limit = "---\n\n## Summary\n\n> I read the worker first.\n\n## Error output\n\n> I read the worker first.\n\n## Errors\n\n> - error_max_turns: Reached maximum number of turns (30)\n";
    let says = [
        "- **Errors:**\n  ```\n  error_max_turns: Reached maximum number of turns (30)\n",
        "- **Last output:**\n  ```\n  I read the worker first.\n",
    ];
    let base = check_context(&[("blocked", limit)], &[], &says, &[]);
    let text = base.run(["context", "-q", "--task", "x", "--task-id", "t-1"]).answer(0);
    assert_eq!(text.matches("I read the worker first.").count(), 1, "{text}");
    // The run's journal shows it to other tasks.
    let arguments = ["context", "-q", "--task", "Another x", "--task-id", "t-2", "--run", "run-0000000b"];
    let other = base.run(arguments).answer(0);
    assert!(other.contains("**Why it failed**: error_max_turns: Reached maximum"), "{other}");
}

#[test]
fn accepted_report_elements_are_not_error_output() {
    let base = TestBase::new();
    base.write(
        "out",
        "I tried it.\n<learning category=\"pitfall\" tags=\"a\">The sky is blue.</learning>\nIt does not work.\n",
    );
    run(&base, &["--task", "x", "--agent", "cat out", "--max-iterations", "1"]).says(1, "--max-iterations N");
    let path = base.files(".ralph/journal").pop().unwrap();
    let entry = base.read(&path);
    assert!(entry.contains("> I tried it.") && entry.contains("> It does not work."), "{entry}");
    assert!(!entry.contains("The sky is blue"), "{entry}");
}

#[test]
fn a_silent_crash_shows_its_exit_code() {
    let base = TestBase::new();
    base.write("agent.sh", "kill -KILL $$\n");
    run(&base, &["--task", "x", "--agent", "sh agent.sh", "--max-iterations", "1"]).says(1, "--max-iterations N");
    let text = base.run(["context", "-q", "--task", "x"]).answer(0);
    assert!(text.contains("the agent ended with exit code 137"), "{text}");
}
