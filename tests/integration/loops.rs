//! The loop: begun, worked on by a scripted agent, recorded; by one command, by two, and by the library.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use insta::assert_snapshot;
use ralph_memory::Task;
use ralph_memory::entry::parse_time;
use ralph_memory::entry::{Sections, Validation};
use ralph_memory::memory::{Report, Run};

use crate::support::{NOW, Ran, TestBase, git, heed_interrupts};

/// What is to be done in these tests.
const TITLE: &str = "Write the greeting";
/// The run of the iterations that no command names.
const RUN: &str = "run-0a1b2c3d";

/// The agent's first output: every sigil, and a failure.
const FIRST: &str = r#"I read the code first.

```
<task-done>TASK-ID</task-done>
```

<journal>
Looked at `src/` and found no greeting.

```sh
# an open fence in the notes
</journal>

<knowledge tags="Greeting, files" title="The greeting lies in hello.txt">
The check reads `hello.txt` in the root.
</knowledge>

<learning category="pitfall" tags="shell, greeting">
`echo -n` is not portable. Use `printf`.
</learning>

<learning category="pitfall">
This one has no tags.
</learning>

<failure-report>
what_tried: Wrote the greeting with echo -n
why_failed: The check saw "-n hello"
  and refused it
error_category: test_failure
relevant_files: hello.txt, check.sh
stack_trace: check.sh: line 1: not a greeting
</failure-report>

<retry-suggestion>Use printf instead of echo.</retry-suggestion>
<difficulty-estimate>easy</difficulty-estimate>

<task-failed>TASK</task-failed>
"#;

/// Its second output, after all of its instructions.
const SECOND: &str = "\nThat was what I was told. I used printf now.\n\n<next-model>opus</next-model>\n<journal>\nPrinted, and did not run the check.\n</journal>\n<task-done>TASK</task-done>\n";

/// What it says the third time.
const THIRD: &str = "<learning category=\"success_pattern\" tags=\"check\">\nRun the check before saying done.\n</learning>\n<task-done>TASK</task-done>\n";

/// A project with git, an agent and a check, which lie beside it.
struct Loop {
    base: TestBase,
}

impl Loop {
    fn new() -> Loop {
        let base = TestBase::new();
        base.write("check.sh", "#!/bin/sh\n[ \"$(cat hello.txt)\" = hello ] || { echo 'not a greeting'; exit 3; }\n");
        let base = Loop { base };
        git(&base.base, &["init", "--quiet"]);
        git(&base.base, &["add", "--all"]);
        git(&base.base, &["commit", "--quiet", "--message", "begin"]);
        let beside = base.beside();
        fs::create_dir(&beside).unwrap();
        let id = Task::id_of_title(TITLE);
        for (number, text) in [FIRST, SECOND, THIRD].iter().enumerate() {
            fs::write(beside.join(format!("say-{}", number + 1)), text.replace("TASK<", &format!("{id}<"))).unwrap();
        }
        // It saves its prompt, prints the next output, and edits the file.
        let agent = format!(
            "#!/bin/sh\ncd \"$(dirname \"$0\")\"\nn=$(( $(ls | grep -c '^prompt-') + 1 ))\ncat > prompt-$n\n\
             echo \"$1 $RALPH_MODEL $RALPH_RUN_ID $RALPH_ATTEMPT\" > model-$n\nfile={}\n\
             case $n in\n1) echo '-n hello' > $file;;\n2) sed -n '/^## What to Report/,/AGENTS.md/p' prompt-2 | grep -v '^```'; printf 'hello!' > $file;;\n\
             3) echo hello > $file;;\nesac\ncat say-$n\n",
            base.base.at("hello.txt").display()
        );
        fs::write(beside.join("agent.sh"), agent).unwrap();
        base
    }

    fn beside(&self) -> PathBuf {
        self.base.home().join("beside")
    }

    /// Runs the program with a path, so that it finds git and the shell.
    fn run(&self, arguments: &[&str]) -> Ran {
        self.base.with(arguments).env("PATH", path()).env("GIT_CONFIG_NOSYSTEM", "1").run()
    }

    /// Lets the agent work once, as a loop of one's own would.
    fn agent(&self, model: &str, number: u64, prompt: &str) -> String {
        let mut child = Command::new("sh")
            .arg(self.beside().join("agent.sh"))
            .arg(model)
            .env("RALPH_MODEL", model)
            .env("RALPH_RUN_ID", RUN)
            .env("RALPH_ATTEMPT", number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), prompt.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// Runs the check, as a loop of one's own would.
    fn check(&self) -> (i32, String) {
        let output = Command::new("sh").arg("check.sh").current_dir(self.base.root()).output().unwrap();
        let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    }

    /// Returns every entry by its path. What differs from one drive to the next is made the same: the
    /// run's name and how long things took.
    fn entries(&self) -> BTreeMap<String, String> {
        let run = self.runs().pop().unwrap_or_default();
        let mut entries = BTreeMap::new();
        for path in self.base.files(".ralph") {
            if path.contains("/knowledge/") || path.contains("/journal/") || path.contains("/archive/") {
                entries.insert(path.replace(&run, RUN), steady(&self.base.read(&path).replace(&run, RUN)));
            }
        }
        entries
    }

    fn runs(&self) -> Vec<String> {
        let names = fs::read_dir(self.base.at(".ralph/journal")).into_iter().flatten();
        let mut runs: Vec<String> = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        runs.retain(|run| run.starts_with("run-"));
        runs.sort();
        runs
    }

    /// Returns the prompts of the agent, in order, from the context on.
    fn told(&self) -> Vec<String> {
        let run = self.runs().pop().unwrap_or_default();
        let prompt = |number| fs::read_to_string(self.beside().join(format!("prompt-{number}"))).ok();
        (1..).map_while(prompt).map(|prompt| steady(&prompt.replace(&run, RUN))).collect()
    }

    fn models(&self) -> Vec<String> {
        let model = |number| fs::read_to_string(self.beside().join(format!("model-{number}"))).ok();
        let run = self.runs().pop().unwrap_or_default();
        (1..).map_while(model).map(|line| line.replace(&run, RUN).trim_end().to_owned()).collect()
    }
}

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

/// Returns the text with every duration the same, and every git tree.
pub(crate) fn steady(text: &str) -> String {
    let mut steady = String::new();
    for line in text.split_inclusive('\n') {
        let same = ["duration_secs: ", "commit: ", "- **Duration**: ", "**Duration:** "]
            .iter()
            .find(|start| line.starts_with(**start))
            .map(|start| format!("{start}…\n"));
        let line = same.unwrap_or_else(|| line.to_owned());
        // How an attempt of a prompt ended, and after how long.
        if let Some((outcome, _)) = line.split_once(" after ").filter(|(start, _)| start.starts_with("- **Outcome:**"))
        {
            steady.push_str(&format!("{outcome} after …\n"));
            continue;
        }
        match line.split_once("duration_ms: ") {
            Some((before, after)) => {
                let digits = after.len() - after.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
                steady.push_str(&format!("{before}duration_ms: …{}", &after[digits..]));
            }
            None => steady.push_str(&line),
        }
    }
    steady
}

/// By `run` alone.
fn by_run() -> (Loop, Ran) {
    let driven = Loop::new();
    let agent = format!("sh {} {{model}}", driven.beside().join("agent.sh").display());
    let ran = driven.run(&["run", "--task", TITLE, "--agent", &agent, "--verify", "sh check.sh"]);
    (driven, ran)
}

/// By the library, with a loop of one's own.
fn by_library() -> Loop {
    let driven = Loop::new();
    let now = SystemTime::from(parse_time(NOW).unwrap());
    let memory = driven.base.memory().with_clock(move || now);
    for _ in 0..3 {
        let run = Run { limit: Some(10), ..Run::named(RUN) };
        let iteration = memory.begin(&Task::new(TITLE), &run).unwrap();
        let text = driven.agent(&iteration.model, iteration.number.into(), &iteration.context);
        let (exit_code, output) = driven.check();
        let command = "sh check.sh".to_owned();
        let validation = Some(Validation { command, exit_code, duration_ms: 1 });
        let sections = Sections { validation_output: output, ..Sections::default() };
        let report = Report { text, agent_exit: Some(0), validation, sections, ..Report::default() };
        memory.finish(&iteration, &report).unwrap();
    }
    driven
}

/// By two commands, with a loop of one's own.
fn by_commands() -> Loop {
    let driven = Loop::new();
    for _ in 0..3 {
        let context = driven.run(&["context", "--task", TITLE, "--run", RUN, "--limit", "10", "--json"]).json(0);
        let (model, number) = (context["model"].as_str().unwrap(), context["attempt"].as_u64().unwrap());
        let text = driven.agent(model, number, context["prompt"].as_str().unwrap());
        let (exit_code, output) = driven.check();
        driven.base.write("../home/said", text).write("../home/checked", output);
        let (said, checked) = (driven.base.home().join("said"), driven.base.home().join("checked"));
        let exit_code = exit_code.to_string();
        let recorded = driven.run(&[
            "record",
            said.to_str().unwrap(),
            "--model",
            model,
            "--agent-exit",
            "0",
            "--verify-command",
            "sh check.sh",
            "--verify-exit",
            &exit_code,
            "--verify-output",
            checked.to_str().unwrap(),
            "--verify-ms",
            "1",
        ]);
        assert_eq!(recorded.code, Some(0), "{recorded}");
    }
    driven
}

fn shown(entries: &BTreeMap<String, String>) -> String {
    entries.iter().flat_map(|(path, text)| ["==> ", path, " <==\n", text, "\n"]).collect()
}

#[test]
fn run_records_attempts_and_learnings() {
    let (driven, ran) = by_run();
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(
        driven.models(),
        [format!("sonnet sonnet {RUN} 1"), format!("sonnet sonnet {RUN} 2"), format!("opus opus {RUN} 3")]
    );
    assert_snapshot!("loop-files", shown(&driven.entries()));
    let told = driven.told();
    assert_eq!(told.len(), 3);
    for (number, told) in told.iter().enumerate() {
        assert_snapshot!(format!("loop-prompt-{}", number + 1), told);
    }
    // Nothing is left open, and no object of a tree.
    assert_eq!(driven.base.open_state(), [".ralph/state/lock", ".ralph/state/run.json"]);
}

#[test]
fn the_library_and_two_commands_write_the_same_files() {
    let (by_run, _) = by_run();
    let (by_library, by_commands) = (by_library(), by_commands());
    assert_eq!(shown(&by_library.entries()), shown(&by_run.entries()));
    // Nobody measures how long an attempt takes that is told.
    let measured = shown(&by_run.entries()).replace("duration_secs: …\n", "");
    assert_eq!(shown(&by_commands.entries()), measured);
    for (by_run, by_library) in by_run.told().iter().zip(by_library.told()) {
        assert!(by_run.contains(&by_library), "{by_run}\n-- does not contain --\n{by_library}");
    }
}

#[test]
fn a_loop_is_visible_in_lists_and_entries() {
    let (driven, _) = by_run();
    let run = driven.runs().pop().unwrap();
    let listed = driven.base.run(["list", "--kind", "journal"]).answer(0);
    let expected: Vec<String> = [(1, "failed"), (2, "retried"), (3, "done")]
        .map(|(number, outcome)| format!("journal/{run}/{number:04}  {TITLE}  [{outcome}]"))
        .into();
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    let shown = driven.base.run(["show", "the-greeting-lies-in-hello-txt"]).answer(0);
    assert!(shown.contains("used         in 2 contexts, last on 2026-11-20; 1 succeeded, 1 failed"), "{shown}");
    let shown = driven.base.run(["show", &format!("journal/{run}/0002")]).answer(0);
    assert!(shown.contains("outcome      retried") && shown.contains("model        sonnet"), "{shown}");
    driven.base.run(["check", "--strict"]).says(0, "no problems in ");
}

#[test]
fn the_newest_run_is_resumed() {
    let base = TestBase::new();
    let with_path = |arguments: &[&str]| base.with(arguments).env("PATH", path()).run();
    with_path(&["run", "--resume", "--agent", "true"]).says(2, "no run to resume");
    // All in one second of the clock: the order is that in which they were written.
    for task in ["one", "two", "three", "four"] {
        with_path(&["run", "--task", task, "--agent", "true", "--max-iterations", "1"]).says(1, "--max-iterations N");
    }
    let agent = "sh -c 'echo \"<task-done>$RALPH_TASK_ID</task-done>\"'";
    let summary = with_path(&["run", "--resume", "--agent", agent, "--json"]).json(0);
    assert_eq!(summary["tasks"][0]["title"], "four");
    assert_eq!((summary["attempts"].as_array().unwrap().len(), &summary["done"]), (1, &true.into()));
}

#[test]
fn a_record_without_a_task_is_about_the_only_open_one() {
    let base = TestBase::new();
    let record = |arguments: &[&str], text: &str| base.with([&["record"], arguments].concat()).input(text).run();
    record(&[], "x").says(2, "cannot tell which task it is about");
    let ask = |task: &str| base.run(["context", "--task", task, "--run", RUN]).says(0, "attempt 1 at t-");
    ask("one");
    ask("two");
    record(&["--run", RUN], "x").says(2, "cannot tell which task it is about");
    let done = format!("<journal>late</journal><task-done>{}</task-done>", Task::id_of_title("one"));
    record(&["--run", RUN], &done).says(0, "(done)");
    record(&["--run", RUN], "x").says(0, "(blocked)");
    record(&["--task-id", "t-other", "--outcome", "partial"], "").says(0, "(partial)");
    let attempts: Vec<String> =
        base.memory().attempts_of_run(RUN).into_iter().map(|(_, attempt)| attempt.task_title).collect();
    assert_eq!(attempts, ["one", "two", "t-other"]);
    assert!(base.read(&format!(".ralph/journal/{RUN}/0001.md")).contains("> late"));
}

#[test]
fn an_interrupt_is_recorded_and_leaves_nothing_running() {
    heed_interrupts();
    let base = TestBase::new();
    let pids = base.home().join("pids");
    // The agent has a child, which would continue without it.
    let script = format!(
        "echo Half of it is written.\necho $$ > {0}.new\nsh -c 'echo $$ >> {0}.new; mv {0}.new {0}; exec sleep 1000'\n",
        pids.display()
    );
    base.write("../home/agent.sh", script);
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let _ = fs::remove_file(&pids);
        let mut command = base.with(["run", "--task", "wait", "--agent", &agent]).env("PATH", path()).command();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !pids.exists() {
            assert!(child.try_wait().unwrap().is_none(), "it goes on until it is told to stop");
            std::thread::yield_now();
        }
        let id = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{told}");
        assert!(told.contains("interrupted"), "{told}");
        for pid in fs::read_to_string(&pids).unwrap().split_whitespace() {
            // A zombie counts as gone.
            let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(state.is_empty() || state.contains(") Z "), "{state}");
        }
    }
    let journal: Vec<String> = base.files(".ralph/journal").iter().map(|path| base.read(path)).collect();
    let is_kept = |text: &&String| text.contains("outcome: interrupted") && text.contains("Half of it is written.");
    assert_eq!(journal.iter().filter(is_kept).count(), 2, "{journal:?}");
    assert_eq!(base.open_state(), [".ralph/state/lock", ".ralph/state/run.json"]);
}

/// Seen in 0.1.0: the summarising command got an empty list of changed files.
#[test]
fn the_summarising_command_gets_the_changed_files() {
    let drive = Loop::new();
    let seen = drive.beside().join("seen");
    drive.base.write("../home/sum.sh", format!("cat > {}\necho It writes the greeting.\n", seen.display()));
    let agent = format!("sh {} {{model}}", drive.beside().join("agent.sh").display());
    let sum = format!("sh {}", drive.base.home().join("sum.sh").display());
    let ran = drive.run(&[
        "run",
        "--task",
        TITLE,
        "--agent",
        &agent,
        "--verify",
        "sh check.sh",
        "--progress",
        "llm-summarized",
        "--summarize",
        &sum,
        "--max-iterations",
        "1",
    ]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let told = fs::read_to_string(&seen).unwrap_or_else(|_| panic!("{ran}"));
    assert!(told.contains("Files changed: hello.txt\n"), "{told}");
}

/// Runs an agent's script in a new memory, and returns what came of it.
fn ran(script: &str, more: &[&str]) -> (TestBase, Ran) {
    let base = TestBase::new();
    base.write("../home/agent.sh", format!("cat > /dev/null\n{script}\n"));
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let ran = base.with([&["run", "--agent", &agent], more].concat()).env("PATH", path()).run();
    (base, ran)
}

#[test]
fn a_promise_in_a_sentence_ends_no_run_and_a_verified_one_does() {
    let promise = "echo \"I will not write <task-done>$RALPH_TASK_ID</task-done> until they pass.\"";
    let task = ["--task", "Make it green", "--max-iterations", "1"];
    let (base, told) = ran(promise, &task);
    assert_eq!(told.code, Some(1), "{told}");
    assert!(told.stderr.contains("<task-done> stands in a sentence; put it on a line of its own"), "{told}");
    assert_eq!(told.stderr.matches("the agent's word decides").count(), 1, "{told}");
    assert!(base.read(&base.files(".ralph/journal")[0]).contains("outcome: blocked"));
    let (_, told) = ran(promise, &[&task[..], &["--verify", "true"]].concat());
    assert!(told.code == Some(0) && !told.stderr.contains("the agent's word decides"), "{told}");
}

#[test]
fn an_account_that_is_refused_ends_the_run_whatever_the_exit_code() {
    for (said, what) in [
        ("echo \"You've hit your limit · resets 5pm (Europe/Vilnius)\" | tee -a log", "is at its usage limit"),
        ("echo 'ERROR: You have hit your usage limit.' >&2", "is at its usage limit"),
        ("echo 'Invalid API key · Please run /login'; exit 1", "is refused"),
        ("echo 'Credit balance is too low' | cat", "has no money left"),
    ] {
        let (base, told) = ran(&format!("echo x >> starts\n{said}"), &["--task", "A", "--max-iterations", "4"]);
        assert_eq!((told.code, base.read("starts").as_str()), (Some(1), "x\n"), "{told}");
        assert!(told.stderr.contains(what), "{told}");
        let attempt = base.read(&base.files(".ralph/journal")[0]);
        assert!(attempt.contains("outcome: error") && attempt.contains("error_category: account"), "{attempt}");
        assert!(base.run(["context", "--task", "A"]).stdout.contains("0 consecutive failure(s)"), "it is no streak");
    }
    // Other errors are failures of the task.
    let (base, told) = ran("echo boom >&2; exit 3", &["--task", "A", "--max-iterations", "2"]);
    assert_eq!(told.code, Some(1), "{told}");
    assert!(base.run(["context", "--task", "A"]).stdout.contains("2 consecutive failure(s)"), "{told}");
}

#[test]
fn a_checklist_with_other_marks_is_not_done() {
    let list = "- [x] one\n- [~] two is half done\n- [ ] three\n-[ ] four\n- ☐ five\n- ( ) six\n";
    let base = TestBase::new();
    base.write("todo.md", list);
    base.write("../home/agent.sh", "cat > /dev/null\necho \"<task-done>$RALPH_TASK_ID</task-done>\"\n");
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let told = base.with(["run", "--task-file", "todo.md", "--agent", &agent]).env("PATH", path()).run();
    assert_eq!(told.code, Some(2), "{told}");
    for part in [
        "warning: this is neither an open nor a ticked box: line 2: - [~] two",
        "`todo.md` has lines that are neither open nor ticked: line 2",
        "line 4: -[ ] four; line 5: - ☐ five; line 6: - ( ) six",
    ] {
        assert!(told.stderr.contains(part), "{part}: {told}");
    }
    assert_eq!(base.read("todo.md"), list.replace("[ ] three", "[x] three"));
    let told = base.with(["run", "--task-file", "todo.md", "--agent", &agent]).env("PATH", path()).run();
    assert!(told.code == Some(2) && told.stderr.matches("line 2").count() == 1, "{told}");
}

/// A stream as the first design of this program has it: no line names a session.
#[test]
fn a_stream_without_sessions_is_read() {
    let said = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","id":"c1","input":{"file_path":"new.rs"}}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"Done.\n<task-done>TASK-ID</task-done>"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"Done.\n<task-done>TASK-ID</task-done>"}"#;
    let (_, told) = ran(&format!("cat <<'E'\n{said}\nE"), &["--task", "A", "--max-iterations", "1"]);
    assert_eq!(told.code, Some(0), "{told}");
}

#[test]
fn a_recorded_attempt_has_its_feature_and_section() {
    let base = TestBase::new();
    let options = ["record", "--task", "A", "--feature", "search", "--section", "s-1"];
    base.with(options).input("<task-done>A</task-done>").run().says(0, "");
    let attempt = base.read(&base.files(".ralph/journal")[0]);
    assert!(attempt.contains("feature: search") && attempt.contains("section: s-1"), "{attempt}");
    // Without a task, they are those of the task that the output names.
    base.with(["record", "--feature", "search"]).input("<task-done>B</task-done>").run().says(0, "");
    let last =
        base.files(".ralph/journal").into_iter().map(|path| base.read(&path)).find(|text| text.contains("task_id: B"));
    assert!(last.unwrap().contains("feature: search"));
}

#[test]
fn limits_of_the_progress_are_options() {
    let script =
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n\necho \"<task-done>$RALPH_TASK_ID</task-done>\"";
    let base = TestBase::new();
    base.write("prompt.md", "{{progress}}{{task_id}}");
    base.write("../home/agent.sh", format!("cat > prompt-$RALPH_ATTEMPT\n{script}\n"));
    base.write("check.sh", "echo 'the beginning is long enough to be cut'; echo fails\nexit 1\n");
    let agent = format!("sh {}", base.home().join("agent.sh").display());
    let options =
        ["--progress-entries", "1", "--progress-characters", "5", "--max-iterations", "3", "--prompt", "prompt.md"];
    let told =
        base.with([&["run", "--task", "A", "--agent", &agent, "--verify", "sh check.sh"], &options[..]].concat());
    let told = told.env("PATH", path()).run();
    let prompt = base.read("prompt-3");
    assert!(prompt.contains("## Iteration 2\n") && prompt.contains("...[truncated]...\nfails\n"), "{told} {prompt}");
    assert!(!prompt.contains("Iteration 1") && !prompt.contains("enough"), "{prompt}");
}

#[test]
fn a_section_is_told_commits_files_and_the_line_that_decides() {
    let base = TestBase::new();
    for arguments in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "begin"]] {
        git(&base, arguments);
    }
    let head = git(&base, &["rev-parse", "HEAD"]);
    base.write("out.txt", "Compiling\nerror[E0308]: mismatched types\n");
    let of_section = |task: &'static str| ["--task", task, "--section", "s-1"];
    let verified = ["--verify-exit", "1", "--verify-command", "cargo test", "--verify-output", "out.txt"];
    let refuted = [&["record"], &of_section("A")[..], &verified].concat();
    base.with(refuted).input("<task-done>A</task-done>").run().says(0, "");
    base.run([&["context"], &of_section("B")[..]].concat()).says(0, "");
    base.write("src/b.rs", "fn b() {}\n");
    base.with([&["record"], &of_section("B")[..]].concat()).input("<task-done>B</task-done>").run().says(0, "");
    let told = base.run([&["context", "--run", "run-other"], &of_section("C")[..]].concat());
    let submitted = format!("commit {}, changed src/b.rs", &head.trim()[..12]);
    for part in ["`cargo test` ended with 1: error[E0308]: mismatched types", &submitted] {
        assert!(told.stdout.contains(part), "{part}: {told}");
    }
}
