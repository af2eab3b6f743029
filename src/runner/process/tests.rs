//! Processes that end, processes that do not, and what they write.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::output::MAX_LINE;
use super::running::MAX_STDERR;
use super::*;
use crate::error::ErrorKind;

/// Short where something is held open, long where an interrupt must be enough.
const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(60);

/// Runs a script, and returns how it went and its lines.
fn run_script(
    script: &str,
    stdin: &[u8],
    limit: Option<Duration>,
    (interrupt, grace): (&Interrupt, Duration),
    at_line: &dyn Fn(),
) -> (ProcessOutput, Vec<String>) {
    let mut command = command("sh", &["-c", script], Path::new("/"));
    command.env("RALPH_MODEL", "a model");
    let mut lines = Vec::new();
    let output = run(command, stdin, limit, (interrupt, grace), &mut |event| {
        let line = match event {
            OutputEvent::Bytes(..) | OutputEvent::Started(_) | OutputEvent::Quiet => return,
            OutputEvent::Line(_, line) => line,
            OutputEvent::Stopping { is_late: false } => "(stopping)",
            OutputEvent::Stopping { is_late: true } => "(too long)",
        };
        lines.push(line.to_owned());
        at_line();
    });
    (output.unwrap(), lines)
}

fn finish(script: &str, stdin: &[u8]) -> ProcessOutput {
    run_script(script, stdin, None, (&Interrupt::default(), LONG), &|| {}).0
}

/// Runs a script and interrupts it at its first line.
fn interrupt(script: &str, grace: Duration) -> (ProcessOutput, Vec<String>) {
    // Tests that run in the background of a script ignore the signal, and a shell cannot trap what it
    // was started to ignore. What has a handler here is no longer ignored there.
    let ends = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, 130, ends).unwrap();
    let interrupt = Interrupt::default();
    run_script(script, b"", None, (&interrupt, grace), &|| {
        if !interrupt.is_raised() {
            interrupt.raise();
        }
    })
}

/// Returns whether a process is still running; one that nobody waited for is not.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

#[track_caller]
fn check_gone(pid: &str) {
    assert!(pid.parse::<u32>().is_ok(), "{pid}");
    let start = Instant::now();
    // It was sent the signal, and the system may take its time.
    while is_running(pid) {
        assert!(start.elapsed() < Duration::from_secs(60), "{pid} is still running");
        thread::yield_now();
    }
}

#[test]
fn a_command_gets_its_input_environment_and_folder() {
    let ran = finish("cat; echo \"$RALPH_MODEL\" >&2; pwd >&2; exit 3", "é\n".as_bytes());
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("é\n", "a model\n/\n"));
    assert_eq!((ran.exit_code, ran.interrupted), (3, false));
}

#[test]
fn exit_codes_are_those_of_a_shell() {
    let check = |script: &str, expected| assert_eq!(finish(script, b"").exit_code, expected, "{script}");
    check("true", 0);
    check("exit 255", 255);
    check("kill -TERM $$", 143);
    check("kill -KILL $$", 137);
}

#[test]
fn input_that_nobody_reads_is_no_failure() {
    let much = vec![b'x'; 1 << 20];
    assert_eq!(finish("exec true", &much).exit_code, 0);
    assert_eq!(finish("exec <&-; exit 0", &much).exit_code, 0);
    assert_eq!(finish("head -c 3", &much).stdout, "xxx");
}

#[test]
fn much_in_and_out_blocks_nothing() {
    let much: Vec<u8> = b"0123456789abcde\n".iter().copied().cycle().take(1 << 20).collect();
    let ran = finish("tee /dev/stderr", &much);
    assert_eq!((ran.stdout.len(), ran.stderr.len()), (much.len(), much.len()));
}

#[test]
fn of_too_much_the_end_is_kept() {
    #[track_caller]
    fn check(parts: &[&str], limit: usize, text: &str) {
        let mut collected = OutputTail::new(limit);
        for part in parts {
            collected.take(part.as_bytes(), &mut |_| {});
        }
        assert_eq!(collected.text(), text);
    }
    check(&["abc\n"], 4, "abc\n");
    check(&["abc\nd"], 4, "bc\nd");
    check(&["abc\n", "de\n"], 3, "de\n");
    check(&["abc\n", "d\ne\nf\n"], 8, "d\ne\nf\n");
    check(&["0123456789", "0123456789", "x\nabcdef"], 8, "abcdef");
    check(&["é", "éé"], 3, "\u{fffd}é");
    check(&[], 4, "");
    let ran = finish("yes 0123456 | head -c 1048592 >&2", b"");
    assert_eq!(ran.stderr.len(), MAX_STDERR);
    assert!(ran.stderr.starts_with("0123456\n") && ran.stderr.ends_with("0123456\n"));
}

#[test]
fn lines_are_offered_when_they_are_complete() {
    #[track_caller]
    fn check(parts: &[&str], expected: &[&str]) {
        let (mut collected, mut lines) = (OutputTail::new(100), Vec::new());
        for part in parts {
            collected.take(part.as_bytes(), &mut |line| lines.push(line.to_owned()));
        }
        assert_eq!(lines, expected);
    }
    check(&["a\nb", "c\n", "d"], &["a", "bc"]);
    check(&["a\r\nb\r", "c\n\n"], &["a", "b", "c"]);
    check(&[&"x".repeat(MAX_LINE + 9), "y\nz\n"], &[&"x".repeat(MAX_LINE), "z"]);
    let (_, mut seen) = run_script("echo out; echo err >&2", b"", None, (&Interrupt::default(), LONG), &|| {});
    seen.sort();
    assert_eq!(seen, ["err", "out"]);
}

#[test]
fn an_interrupt_ends_a_command_and_its_children() {
    let (ran, lines) = interrupt("trap 'echo bye; exit 7' INT; sleep 1000 & echo $!; wait", SHORT);
    assert!(ran.interrupted);
    check_gone(&lines[0]);
    let (ran, lines) = interrupt("sh -c 'trap \"\" INT; echo $$; while :; do sleep 1000; done'; :", SHORT);
    assert!(ran.interrupted);
    check_gone(&lines[0]);
    // It ends, its child does not, and holds nothing open by which that could be seen.
    let script = "sleep 1000 > /dev/null 2>&1 & echo $!; trap 'exit 0' INT; while :; do sleep 0.01; done";
    let (ran, lines) = interrupt(script, LONG);
    assert!(ran.duration < LONG);
    check_gone(&lines[0]);
}

#[test]
fn a_command_may_end_itself_when_it_is_interrupted() {
    let (ran, lines) = interrupt("trap 'echo bye; exit 7' INT; echo ready; while :; do sleep 0.01; done", LONG);
    assert_eq!(lines, ["ready", "(stopping)", "bye"]);
    assert_eq!((ran.exit_code, ran.stdout.as_str()), (7, "ready\nbye\n"));
    assert!(ran.interrupted && ran.duration < LONG);
    let (ran, _) = interrupt("echo ready; exec sleep 1000", LONG);
    assert_eq!(ran.exit_code, 130);
}

#[test]
fn what_takes_too_long_ends_with_its_children() {
    let limit = Some(Duration::from_millis(300));
    let timed = |script: &str, grace: Duration| run_script(script, b"", limit, (&Interrupt::default(), grace), &|| {});
    let (ran, lines) = timed("sleep 1000 & echo $!; exec sleep 1000", LONG);
    assert_eq!((ran.exit_code, ran.interrupted, ran.timed_out), (143, false, limit));
    assert_eq!(lines[1..], ["(too long)"]);
    check_gone(&lines[0]);
    // It may say something yet, and what ignores it is killed.
    let (ran, _) = timed("trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done", LONG);
    assert_eq!((ran.exit_code, ran.stdout.as_str(), ran.timed_out), (0, "bye\n", limit));
    let (ran, _) = timed("trap '' TERM; while :; do sleep 1000; done", SHORT);
    assert_eq!((ran.exit_code, ran.timed_out), (137, limit));
    // One that exits in time is not late for what its children do.
    let (ran, lines) = timed("sleep 1000 & echo $!", Duration::from_millis(600));
    assert_eq!((ran.exit_code, ran.timed_out), (0, None));
    assert!(is_running(&lines[0]));
    let pid = Pid::from_raw(lines[0].parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn a_second_interrupt_kills_at_once() {
    let interrupt = Interrupt::default();
    let script = "trap '' INT; echo ready; while :; do sleep 1000; done";
    let (ran, _) = run_script(script, b"", None, (&interrupt, LONG), &|| {
        interrupt.raise();
        interrupt.raise();
    });
    assert_eq!(ran.exit_code, 137);
}

#[test]
fn children_that_hold_an_output_open_are_not_waited_for() {
    let (ran, lines) = run_script("sleep 1000 & echo $!", b"", None, (&Interrupt::default(), SHORT), &|| {});
    assert_eq!((ran.exit_code, ran.interrupted), (0, false));
    assert_eq!(ran.stdout.trim_end(), lines[0]);
    // Nobody stopped the run, so it is left alone.
    assert!(is_running(&lines[0]));
    let pid = Pid::from_raw(lines[0].parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn what_cannot_be_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8], mode: u32| {
        fs::write(folder.path().join(name), text).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    write("plain", b"#!/bin/sh\n", 0o644);
    write("nothing", b"\x01\x02\x03", 0o755);
    write("lost", b"#!/no/such/program\n", 0o755);
    write("good", b"#!/bin/sh\nexit 4\n", 0o755);
    let start = |program: &str, folder: &Path| {
        let command = command(program, &[""; 0], folder);
        run(command, b"", None, (&Interrupt::default(), LONG), &mut |_| {}).map(|ran| ran.exit_code)
    };
    let check = |program: &str, message: &str, hint: &str| {
        let error = start(program, folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        let Error::Unusable { message: told, hint: advice } = error else { panic!("{error}") };
        assert!(told.contains(message) && told.contains(program), "{told}");
        assert!(advice.contains(hint), "{advice}");
    };
    check("no-such-command-anywhere", "there is no command", "install it");
    check("./absent", "there is no command", "write where it is");
    check("./plain", "not executable", "chmod +x");
    check("./nothing", "neither a program nor a script", "#!/bin/sh");
    check("./lost", "no program where its first line says", "#!");
    assert_eq!(start("./good", folder.path()).unwrap(), 4);
    let error = start("sh", &folder.path().join("absent")).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.kind()), ("cannot run `sh`", ErrorKind::Environment));
}
