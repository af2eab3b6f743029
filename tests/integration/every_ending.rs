//! A run of twenty iterations in which agents end in every way that real clients were recorded to end: what each prompt
//! says, and how outcomes, streaks, models and warnings follow from each other.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use ralph_memory::agent_output::transcript::{Format, Options, Reader};
use ralph_memory::internals::entry::{Attempt, read};

use crate::loops::steady;
use crate::support::{TestBase, git, heed_interrupts};

/// What happens beside the end of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// Verification refutes whatever the agent says.
    Fails,
    /// Verification agrees.
    Passes,
    /// The stream ends inside a line.
    Cut,
    /// Somebody presses Ctrl-C while the agent works.
    Interrupted,
    /// The run is killed while the agent works.
    Killed,
}
use Beside::{Cut, Fails, Interrupted, Killed, Passes};

/// An iteration: what the agent prints and its exit status, then what must become of it. `streak` and `model` are what the
/// iteration begins with.
struct Turn {
    recording: &'static str,
    exit: i32,
    beside: Beside,
    attempt: u32,
    streak: u32,
    model: &'static str,
    outcome: &'static str,
}

const fn turn(
    recording: &'static str,
    exit: i32,
    beside: Beside,
    (attempt, streak, model): (u32, u32, &'static str),
    outcome: &'static str,
) -> Turn {
    Turn { recording, exit, beside, attempt, streak, model, outcome }
}

/// Failed, blocked and retried attempts and errors lengthen a streak, unless an account has no money; a done one ends it, and
/// others leave it. From two on the strongest model works, but a hint comes first. The first task needed opus for the same file.
const TURNS: [Turn; 20] = [
    turn("claude-failed", 0, Fails, (1, 0, "sonnet"), "failed"),
    turn("claude-done", 0, Fails, (2, 1, "sonnet"), "retried"),
    turn("claude-done", 0, Passes, (3, 2, "opus"), "done"),
    // The second task.
    turn("claude-max-turns", 1, Fails, (1, 0, "sonnet"), "blocked"),
    turn("claude-overloaded", 1, Fails, (2, 1, "opus"), "error"),
    turn("claude-refusal", 1, Fails, (3, 2, "opus"), "blocked"),
    turn("claude-cut", 137, Cut, (4, 3, "opus"), "error"),
    turn("claude-interrupted", 0, Interrupted, (5, 4, "opus"), "interrupted"),
    turn("claude-cut", 0, Killed, (6, 4, "opus"), "interrupted"),
    turn("codex-failed", 0, Fails, (7, 4, "opus"), "failed"),
    // Its agent asked for this one.
    turn("codex-done", 0, Fails, (8, 5, "haiku"), "retried"),
    turn("codex-overloaded", 1, Fails, (9, 6, "opus"), "error"),
    turn("claude-nothing", 0, Fails, (10, 7, "opus"), "blocked"),
    turn("opencode-failed", 0, Fails, (11, 8, "opus"), "failed"),
    turn("opencode-no-balance", 1, Fails, (12, 9, "opus"), "error"),
    turn("opencode-done", 0, Fails, (13, 9, "opus"), "retried"),
    turn("codex-max-tokens", 1, Fails, (14, 10, "opus"), "blocked"),
    turn("opencode-refusal", 1, Fails, (15, 11, "opus"), "blocked"),
    turn("claude-failed", 0, Fails, (16, 12, "opus"), "failed"),
    turn("claude-done", 0, Passes, (17, 13, "opus"), "done"),
];

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts/recorded").join(name).with_extension("jsonl")
}

/// A project with a checklist and a verification; beside it the agent that plays the recordings.
struct Played {
    base: TestBase,
}

impl Played {
    fn new() -> Played {
        let base = TestBase::new();
        base.write("todo.md", "- [ ] Retry the jobs that fail\n- [ ] Drain the queue before the exit\n");
        base.write("src/worker.py", "def work(job):\n    return job.run()\n");
        base.write(
            "check.sh",
            "[ -f passes ] && exit\necho 'tests/test_worker.py: 3 passed, 1 failed in 0.25 s'\n\
             echo 'OSError: connection reset'\nexit 1\n",
        );
        base.write(".gitignore", "passes\n");
        let played = Played { base };
        git(&played.base, &["init", "--quiet"]);
        git(&played.base, &["add", "--all"]);
        git(&played.base, &["commit", "--quiet", "--message", "begin"]);
        let beside = played.beside();
        fs::create_dir(&beside).unwrap();
        let plan: Vec<String> = TURNS
            .iter()
            .map(|turn| format!("{} {} {:?}\n", recording(turn.recording).display(), turn.exit, turn.beside))
            .collect();
        fs::write(beside.join("plan"), plan.concat()).unwrap();
        // How long attempts took decides how many there is room for, by a digit or two. So all but the newest take the same
        // time, and what verification prints is long enough that the newest may take two minutes. Whoever is
        // killed or interrupted goes when everything is said; the pipe says when it is gone.
        let agent = format!(
            "cd '{}'\nn=$(( $(ls | grep -c '^prompt-') + 1 ))\ncat > prompt-$n\necho \"$RALPH_MODEL\" >> models\n\
             set -- $(sed -n \"${{n}}p\" plan)\nproject='{}'\n\
             sed -i 's/^duration_secs: .*/duration_secs: 0.1/' \"$project\"/.ralph/journal/run-*/*.md 2> errors\n\
             echo \"# try $n\" >> \"$project/src/worker.py\"\n\
             rm -f \"$project/passes\"\n[ $3 = Passes ] && : > \"$project/passes\"\n\
             sed \"s/t-queue/$RALPH_TASK_ID/g; s/claude-sonnet-4-5/claude-$RALPH_MODEL-4-5/g\" $1 > output\n\
             if [ $3 = Cut ]; then head -c 2600 output; else cat output; fi\n\
             case $3 in\nInterrupted) kill -INT $PPID; exec sleep 600;;\n\
             Killed) exec 9> gone; kill -KILL $PPID;;\nesac\nexit $2\n",
            beside.display(),
            played.base.root().display()
        );
        fs::write(beside.join("agent.sh"), agent).unwrap();
        played
    }

    fn beside(&self) -> PathBuf {
        self.base.home().join("beside")
    }

    /// Runs the loop, or resumes it, and returns its exit status and its output.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let ran = self.base.with([&["run"], arguments].concat()).env("PATH", path()).env("GIT_CONFIG_NOSYSTEM", "1");
        let mut command = ran.command();
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    /// Plays all of it, and returns the run's output.
    fn play(&self) -> String {
        heed_interrupts();
        let agent = format!("sh {}", self.beside().join("agent.sh").display());
        // With room for every attempt: how long a duration is does not decide what is left out.
        let begun = [
            "--task-file",
            "todo.md",
            "--agent",
            &agent,
            "--verify",
            "sh check.sh",
            "--max-iterations",
            "20",
            "--tokens",
            "25000",
        ];
        let (code, mut said) = self.run(&begun);
        assert_eq!(code, Some(130), "{said}");
        // A run that is killed leaves its agent, which must be gone before the run is resumed.
        let gone = self.beside().join("gone");
        assert!(Command::new("mkfifo").arg(&gone).env("PATH", path()).status().unwrap().success());
        let (code, more) = std::thread::scope(|scope| {
            let killed = scope.spawn(|| self.run(&["--resume", "--max-iterations", "12"]));
            fs::File::open(&gone).unwrap().read_to_end(&mut Vec::new()).unwrap();
            killed.join().unwrap()
        });
        assert_eq!(code, None, "{more}");
        said += &more;
        let (code, more) = self.run(&["--resume", "--max-iterations", "11"]);
        assert!(code == Some(1) && more.contains("the agent's account has no money left"), "{more}");
        said += &more;
        let (code, more) = self.run(&["--resume", "--max-iterations", "5"]);
        assert_eq!(code, Some(0), "{more}");
        said + &more
    }

    /// Returns the run's attempts, in order, and its name.
    fn attempts(&self) -> (String, Vec<Attempt>) {
        let files: Vec<String> =
            self.base.files(".ralph/journal").into_iter().filter(|path| path.contains("/run-")).collect();
        let run = files[0].split('/').nth(2).unwrap().to_owned();
        let attempts = files.iter().map(|path| {
            assert_eq!(path.split('/').nth(2), Some(run.as_str()), "one run goes on");
            let name = path.strip_prefix(".ralph/").unwrap();
            Attempt::of(&read(name, self.base.read(path).as_bytes())).unwrap()
        });
        (run.clone(), attempts.collect())
    }
}

fn path() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap()
}

#[test]
fn twenty_iterations_end_in_every_way() {
    let played = Played::new();
    let said = played.play();
    let (run, attempts) = played.attempts();
    let outcomes: Vec<&str> = attempts.iter().map(|attempt| attempt.head.outcome.as_str()).collect();
    assert_eq!(outcomes, TURNS.map(|turn| turn.outcome), "{said}");
    let models = fs::read_to_string(played.beside().join("models")).unwrap();
    assert_eq!(models.lines().collect::<Vec<_>>(), TURNS.map(|turn| turn.model));

    assert_eq!(said.matches("` keeps failing").count(), TURNS.iter().filter(|turn| turn.streak >= 3).count(), "{said}");

    let temp = played.base.home().parent().unwrap().display().to_string();
    for (number, turn) in (1..).zip(&TURNS) {
        let prompt = fs::read_to_string(played.beside().join(format!("prompt-{number}"))).unwrap();
        if number > 1 {
            let attempt = format!("attempt #{}, {} consecutive failure(s)", turn.attempt, turn.streak);
            assert!(prompt.contains(&attempt), "{number}: {attempt}: {prompt}");
            assert!(prompt.contains(&format!("**Iteration:** {number} of 20")), "{number}: {prompt}");
            assert!(prompt.contains(&format!("**Current model:** {} (", turn.model)), "{number}: {prompt}");
        }
        // Verification fails with the same error each time, so a second failure is a circle, and a rung more. From
        // the third rung on the agent is warned, from the fourth on a person is told.
        // An error is no second failure with the same error.
        assert_eq!(prompt.contains("Stuck loop detected"), turn.streak >= 2 && number != 6, "{number}: {prompt}");
        assert_eq!(prompt.contains("A person should look at this task"), turn.streak >= 3, "{number}: {prompt}");
        // A claim that verification refutes is never shown.
        assert!(!prompt.contains("All tests pass"), "{number}: {prompt}");
        // A first failure, a warning, a hint of the agent, and a long history.
        if [2, 7, 11, 20].contains(&number) {
            let prompt = prompt.replace(&run, "run-0a1b2c3d").replace(&temp, "[TEMP]");
            assert_snapshot!(format!("every-ending-{number:02}"), steady(&prompt));
        }
    }
}

/// What a recording must be read as: the outcome of an attempt with this exit status, tokens read and written, cost, files that
/// were changed, and errors.
struct Reading {
    name: &'static str,
    exit: i32,
    outcome: &'static str,
    tokens: Option<(u64, u64)>,
    cost_usd: Option<f64>,
    changed: &'static [&'static str],
    errors: &'static [&'static str],
}

const fn reading(
    (name, exit, outcome): (&'static str, i32, &'static str),
    tokens: Option<(u64, u64)>,
    cost_usd: Option<f64>,
    changed: &'static [&'static str],
    errors: &'static [&'static str],
) -> Reading {
    Reading { name, exit, outcome, tokens, cost_usd, changed, errors }
}

const WORKER: &[&str] = &["src/worker.py"];
const TEST_FAILED: &str = "`python3 tests/test_worker.py`: Exit code 1: OSError: connection reset";

/// The model was made to report these figures.
const READINGS: [Reading; 26] = [
    reading(("claude-done", 0, "done"), Some((8400, 240)), Some(0.0288), &["NOTES.md", "src/worker.py"], &[]),
    reading(("claude-done-list", 0, "done"), Some((100, 10)), Some(0.00045), &[], &[]),
    reading(("claude-failed", 0, "failed"), Some((8900, 310)), Some(0.03135), WORKER, &[TEST_FAILED]),
    reading(
        ("claude-max-turns", 1, "blocked"),
        Some((3600, 120)),
        Some(0.0126),
        WORKER,
        &["error_max_turns: Reached maximum number of turns (2)"],
    ),
    reading(
        ("claude-max-budget", 1, "blocked"),
        Some((1500, 40)),
        Some(0.0051),
        &[],
        &["error_max_budget_usd: Reached maximum budget ($0.0001)"],
    ),
    reading(
        ("claude-max-tokens", 1, "blocked"),
        Some((9500, 128_040)),
        Some(1.9491),
        &[],
        &["API Error: Claude's response exceeded the 32000 output token maximum. To configure this behavior, set the \
           CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable."],
    ),
    reading(("claude-too-long", 1, "blocked"), Some((1500, 40)), Some(0.0051), &[], &["Prompt is too long"]),
    reading(
        ("claude-refusal", 1, "blocked"),
        Some((1500, 8)),
        Some(0.00462),
        &[],
        &[
            "the model stopped with `refusal`",
            "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy \
             (https://www.anthropic.com/legal/aup). Try rephrasing the request in a new session or change your model.",
        ],
    ),
    reading(
        ("claude-overloaded", 1, "error"),
        Some((1500, 40)),
        Some(0.0051),
        &[],
        &["API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it \
           persists, check your inference gateway (127.0.0.1:8000)."],
    ),
    reading(
        ("claude-unauthorized", 1, "error"),
        Some((0, 0)),
        Some(0.0),
        &[],
        &["Invalid API key · Fix external API key"],
    ),
    reading(("claude-nothing", 0, "blocked"), Some((1500, 9)), Some(0.004_635), &[], &[]),
    reading(("claude-interrupted", 0, "interrupted"), Some((3600, 120)), Some(0.0126), WORKER, &[]),
    // A stream that was cut has no total; its two messages name 1,500 and 2,100 tokens, and one each that was written.
    reading(("claude-cut", 137, "error"), Some((3600, 2)), None, WORKER, &[]),
    reading(("codex-done", 0, "done"), Some((6200, 190)), None, WORKER, &[]),
    reading(("codex-failed", 0, "failed"), Some((8900, 290)), None, WORKER, &[TEST_FAILED]),
    reading(
        ("codex-overloaded", 1, "error"),
        None,
        None,
        &[],
        &["We’re currently experiencing high demand, which may cause temporary errors."],
    ),
    reading(
        ("codex-usage-limit", 1, "error"),
        None,
        None,
        &[],
        &["You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit \
           https://chatgpt.com/settings/usage to purchase more credits or try again later."],
    ),
    reading(("codex-refused-request", 1, "error"), None, None, &[], &["The model `gpt-0` does not exist"]),
    reading(
        ("codex-max-tokens", 1, "blocked"),
        None,
        None,
        &[],
        &["Incomplete response returned, reason: max_output_tokens"],
    ),
    reading(
        ("codex-too-long", 1, "blocked"),
        None,
        None,
        &[],
        &["Codex ran out of room in the model's context window. Start a new thread or clear earlier history before \
           retrying."],
    ),
    reading(("codex-cut", 137, "error"), None, None, WORKER, &[]),
    reading(("opencode-done", 0, "done"), Some((6200, 190)), None, WORKER, &[]),
    reading(("opencode-failed", 0, "failed"), Some((8900, 290)), None, WORKER, &[TEST_FAILED]),
    reading(("opencode-no-balance", 1, "error"), Some((1500, 40)), None, &[], &["APIError: Insufficient balance"]),
    reading(("opencode-max-tokens", 0, "blocked"), Some((1600, 50)), None, &[], &["the model stopped with `length`"]),
    reading(
        ("opencode-refusal", 1, "blocked"),
        Some((100, 10)),
        None,
        &[],
        &[
            "the model stopped with `content-filter`",
            "ContentFilterError: The response was blocked by the provider's content filter",
        ],
    ),
];

#[test]
fn recordings_are_read_correctly() {
    for Reading { name, exit, outcome, tokens, cost_usd, changed, errors } in READINGS {
        let text = fs::read(recording(name)).unwrap();
        let options = Options { root: "/home/dev/queue".to_owned(), ..Options::default() };
        let said = Reader::new(options).read(&text[..]).unwrap();
        let client = match name.split('-').next().unwrap() {
            "claude" => Format::Claude,
            "codex" => Format::Codex,
            "opencode" => Format::Opencode,
            other => panic!("no format is known for {other}"),
        };
        assert_eq!((said.format, said.broken.len()), (client, 0), "{name}");
        assert_eq!(said.tokens_in.zip(said.tokens_out), tokens, "{name}");
        assert_eq!(said.cost_usd, cost_usd, "{name}");
        assert_eq!(said.model.as_deref(), (client == Format::Claude).then_some("claude-sonnet-4-5"), "{name}");
        assert_eq!([said.files.created, said.files.modified].concat(), changed, "{name}");
        assert_eq!(said.errors, errors, "{name}");
        // Error messages of the client are not the agent's text.
        for error in errors {
            let is_told = said.text.contains(error) && !said.text.contains("<failure-report>");
            assert!(!is_told && !said.summary.contains(error), "{name}: {}", said.text);
        }
        let base = TestBase::new();
        let begun = ["context", "--task", "Retry", "--task-id", "t-queue", "--run", "run-0000000a"];
        base.run(begun).says(0, "attempt 1 at t-queue");
        let ran = base.with(["record", "--agent-exit", &exit.to_string()]).input(&text).run();
        assert_eq!(ran.code, Some(0), "{name}: {ran}");
        let entry = base.read(".ralph/journal/run-0000000a/0001.md");
        assert!(entry.contains(&format!("\noutcome: {outcome}\n")), "{name}: {entry}");
    }
}

#[test]
fn a_client_that_is_interrupted_alone_does_not_stop_the_run() {
    let base = TestBase::new();
    let agent = format!("cat {}", recording("claude-interrupted").display());
    let arguments = ["run", "--task", "x", "--agent", &agent, "--max-iterations", "2"];
    let ran = base.with(arguments).env("PATH", path()).run();
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stdout.contains("2 (2 interrupted)"), "{ran}");
}
