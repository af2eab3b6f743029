//! Lets a loop, a watcher, an editor and git work on one memory for as long as one likes, and checks whether the watcher
//! grows and whether an answer is ever stale.
//!
//! Memory is what is the watcher's own (`Private_*` of `smaps_rollup`), its median over the second tenth of the
//! time beside that over the last tenth. How many entries there are stays about the same: the oldest runs are deleted.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{NOW, Program, Watcher, files, git_command, word};
use crate::random::Random;
use crate::{Order, saves};

/// How many entries the editor has.
const EDITED: usize = 50;
/// How many runs are kept.
const RUNS: usize = 20;
/// How long a watcher may take at most when all is quiet.
const SOON: Duration = Duration::from_secs(5);

/// Works for so many minutes, 60 by default.
pub(crate) fn run(order: &Order) -> Result<(), Box<dyn Error>> {
    let (minutes, seed) = (order.argument(0, 60.0)?, order.argument(1, 1)?);
    let place = tempfile::tempdir()?;
    let root = place.path().join("project");
    fs::create_dir(&root)?;
    let program = Program::new(&order.program, place.path());
    program.run(&root, NOW, &["init"], "").ended(0, "init");
    git(&root, &["init", "-q", "-b", "main"]);
    // A checkout would put its old text in place, which is no mistake of the memory.
    fs::write(root.join(".git/info/exclude"), "/.ralph/knowledge/probe.md\n")?;
    for number in 0..EDITED {
        fs::write(entry(&root, number), saves::text(&format!("Entry {number}"), &word(number), 3))?;
    }
    program.run(&root, NOW, &["index"], "").ended(0, "index");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "begin"]);

    let mut watcher = Watcher::start(&program, &root, on_disk(&root));

    let ends = AtomicBool::new(false);
    let counts: [AtomicUsize; 3] = Default::default();
    let git_lock = Mutex::new(());
    let duration = Duration::from_secs_f64(minutes * 60.0);
    let begun = Instant::now();
    let mut out = std::io::stdout();
    writeln!(out, "soak: {minutes} minutes, seed {seed}")?;
    let (samples, looks) = thread::scope(|scope| -> Result<_, Box<dyn Error>> {
        scope.spawn(|| work_loop(&program, &root, &ends, &counts[0]));
        scope.spawn(|| work_editor(&root, seed, &ends, &counts[1], &git_lock));
        scope.spawn(|| work_git(&root, seed, &ends, &counts[2], &git_lock));
        let mut samples: Vec<(Duration, u64, usize, usize)> = Vec::new();
        let mut looks = 0;
        let result = (|| -> Result<(), Box<dyn Error>> {
            while begun.elapsed() < duration {
                // A process without any hint finds a fresh entry at once, and its old text no more.
                let (old, fresh) = (word(10_000_000 + looks), word(10_000_001 + looks));
                let probe = root.join(".ralph/knowledge/probe.md");
                fs::write(&probe, saves::text("Probe", &fresh, looks % 7))?;
                for (word, expected) in [(&fresh, 0), (&old, 1)] {
                    let ran = program.run(&root, NOW, &["search", word, "--json"], "");
                    if ran.code != Some(expected) {
                        return Err(format!("stale after {looks} looks: {ran}").into());
                    }
                }
                looks += 1;
                let sample = sample(&watcher.child)?;
                samples.push((begun.elapsed(), sample.0, sample.1, sample.2));
                if let Some(status) = watcher.child.try_wait()? {
                    return Err(format!("the watcher ended: {status}").into());
                }
                thread::park_timeout(Duration::from_millis(700));
            }
            Ok(())
        })();
        ends.store(true, Ordering::SeqCst);
        result.map(|()| (samples, looks))
    })?;

    // All is quiet now.
    let (view_took, n_events) = watcher.catch_up(&|| on_disk(&root), SOON);
    let answers = || program.run(&root, NOW, &["search", "entry the word is", "--limit", "1000", "--json"], "").stdout;
    let grown = answers();
    fs::remove_dir_all(root.join(".ralph/cache"))?;
    if grown != answers() {
        return Err("the index differs from a new one".into());
    }
    report(&mut out, &samples, duration)?;
    writeln!(
        out,
        "{looks} looks, none stale; {} runs of the loop, {} saves, {} of git; {} changes told; the view was right {:.1} s after all was quiet",
        counts[0].load(Ordering::SeqCst),
        counts[1].load(Ordering::SeqCst),
        counts[2].load(Ordering::SeqCst),
        n_events,
        view_took.as_secs_f64()
    )?;
    Ok(())
}

/// Says how memory and descriptors went, and fails where they grew.
fn report(
    out: &mut impl std::io::Write,
    samples: &[(Duration, u64, usize, usize)],
    duration: Duration,
) -> Result<(), Box<dyn Error>> {
    let tenth = |number: u32| {
        let span = duration / 10 * number..duration / 10 * (number + 1);
        let mut within: Vec<_> =
            samples.iter().filter(|(at, ..)| span.contains(at)).map(|(_, kilobytes, ..)| *kilobytes).collect();
        within.sort_unstable();
        within.get(within.len() / 2).copied().unwrap_or_default()
    };
    for number in 0..10 {
        write!(out, "{} ", tenth(number))?;
    }
    writeln!(out, "kB, medians of tenths")?;
    let (first, last) = (tenth(1), tenth(9));
    let growth = i128::from(last) * 1000 / i128::from(first.max(1)) - 1000;
    // While it commits there are more for a moment: what counts is what is left when it has done.
    let least = |number: u32, count: fn(&(Duration, u64, usize, usize)) -> usize| {
        let span = duration / 10 * number..duration / 10 * (number + 1);
        samples.iter().filter(|(at, ..)| span.contains(at)).map(count).min().unwrap_or_default()
    };
    let descriptors = [1, 9].map(|number| least(number, |(_, _, count, _)| *count));
    let threads = [1, 9].map(|number| least(number, |(.., count)| *count));
    writeln!(
        out,
        "private memory {first} -> {last} kB, {:+}.{} %; descriptors {descriptors:?} at least, threads {threads:?}",
        growth / 10,
        (growth % 10).abs()
    )?;
    if descriptors[0] != descriptors[1] || threads[0] != threads[1] {
        return Err("it keeps descriptors or threads".into());
    }
    if growth > 50 {
        return Err("it grew by more than 5 %".into());
    }
    Ok(())
}

/// Returns what is the process's own, in kB, and how many descriptors and threads it has.
fn sample(child: &Child) -> Result<(u64, usize, usize), Box<dyn Error>> {
    let folder = PathBuf::from(format!("/proc/{}", child.id()));
    let rollup = fs::read_to_string(folder.join("smaps_rollup"))?;
    let kilobytes = rollup
        .lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    Ok((kilobytes, fs::read_dir(folder.join("fd"))?.count(), fs::read_dir(folder.join("task"))?.count()))
}

/// Runs a loop again and again, and deletes the oldest runs.
fn work_loop(program: &Program, root: &Path, ends: &AtomicBool, count: &AtomicUsize) {
    let agent = root.join("agent.sh");
    fs::write(
        &agent,
        "cat > /dev/null\necho \"<journal>turn $RALPH_ATTEMPT</journal>\"\n\
         echo \"<learning category=\\\"pitfall\\\" tags=\\\"soak, loop\\\">Iteration $RALPH_ATTEMPT of a loop learned that.</learning>\"\n\
         if [ \"$RALPH_ATTEMPT\" -ge 4 ]; then echo \"<task-done>$RALPH_TASK_ID</task-done>\"; else echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"; fi\n",
    )
    .unwrap();
    let agent = format!("/bin/sh {}", agent.display());
    let mut number = 0;
    while !ends.load(Ordering::SeqCst) {
        let task = format!("Entry {} is to be found", number % 10);
        let now = format!("2026-11-20T10:{:02}:{:02}Z", number / 60 % 60, number % 60);
        let ran = program.run(root, &now, &["run", "--task", &task, "--agent", &agent], "");
        // A checkout may take its files away under it.
        assert!(matches!(ran.code, Some(0 | 1 | 4 | 6)), "{ran}");
        let journal = root.join(".ralph/journal");
        let mut runs: Vec<PathBuf> =
            fs::read_dir(&journal).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        runs.sort_by_key(|path| fs::metadata(path).and_then(|stat| stat.modified()).ok());
        for run in runs.iter().take(runs.len().saturating_sub(RUNS)) {
            let _ = fs::remove_dir_all(run);
        }
        for old in files(&root.join(".ralph/archive")).iter().rev().skip(100) {
            let _ = fs::remove_file(old);
        }
        number += 1;
        count.fetch_add(1, Ordering::SeqCst);
        thread::park_timeout(Duration::from_millis(500));
    }
}

/// Saves entries in every way that editors have.
fn work_editor(root: &Path, seed: u64, ends: &AtomicBool, count: &AtomicUsize, git: &Mutex<()>) {
    let mut random = Random(seed);
    while !ends.load(Ordering::SeqCst) {
        {
            // A checkout in the middle would take the file away, which an editor would tell its user.
            let _git = git.lock().unwrap();
            let number = random.below(EDITED);
            let (_, save) = random.pick(&saves::WAYS);
            let path = entry(root, number);
            if path.exists() {
                save(&path, &saves::text(&format!("Entry {number}"), &word(random.below(1_000_000)), random.below(20)));
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
        thread::park_timeout(Duration::from_millis(50));
    }
}

/// Commits, and goes back and forth between commits.
fn work_git(root: &Path, seed: u64, ends: &AtomicBool, count: &AtomicUsize, lock: &Mutex<()>) {
    let mut random = Random(seed + 7);
    while !ends.load(Ordering::SeqCst) {
        {
            let _git = lock.lock().unwrap();
            git(root, &["add", "-A", ".ralph"]);
            git(root, &["commit", "-q", "-m", "work"]);
            if random.below(4) == 0 {
                git(root, &["checkout", "-q", "HEAD~1"]);
                git(root, &["checkout", "-q", "main"]);
            }
            if count.fetch_add(1, Ordering::SeqCst) % 50 == 49 {
                // Its own data is to stay small.
                git(root, &["gc", "-q", "--prune=now"]);
            }
        }
        thread::park_timeout(Duration::from_secs(3));
    }
    let _git = lock.lock().unwrap();
    git(root, &["checkout", "-q", "-f", "main"]);
}

/// Runs git. That it refuses, since files changed meanwhile, is its right.
fn git(root: &Path, arguments: &[&str]) {
    let _ = git_command(root, root, arguments).output().unwrap();
}

fn entry(root: &Path, number: usize) -> PathBuf {
    root.join(format!(".ralph/knowledge/entry-{number}.md"))
}

fn on_disk(root: &Path) -> BTreeSet<String> {
    let is_entry = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        !name.starts_with(['.', '#']) && path.extension().is_some_and(|extension| extension == "md")
    };
    let folders = ["knowledge", "journal", "archive"].map(|name| files(&root.join(".ralph").join(name)));
    let paths = folders.concat().into_iter().filter(is_entry);
    paths.map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
}
