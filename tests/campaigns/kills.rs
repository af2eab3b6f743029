//! Kills the program at random moments, while it writes entries and commits the index, and checks the rest:
//! acknowledged entries exist, nothing is torn, every version is kept, and the index is usable.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ralph_memory::internals::entry::read;

use crate::program::{NOW, Program, files, is_temporary, word};
use crate::random::Random;

/// How many kills one memory lives through: what grows in it would slow the rest down.
const PER_MEMORY: usize = 100;
/// How many entries it begins with.
const ENTRIES: usize = 8;
/// After how many kills all answers are held against those of a new index.
const COMPARED: usize = 10;

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How often the program was started, and how often it was killed before it ended by itself.
    pub(crate) rounds: usize,
    pub(crate) killed: usize,
    /// How often there was an old version and how often a new one, of what was killed.
    pub(crate) old: usize,
    pub(crate) new: usize,
    /// How many temporary files the kills left, each swept by the next call that wrote or by `check --fix`.
    pub(crate) leftovers: usize,
}

/// A memory that is killed.
struct Victim<'a> {
    program: &'a Program,
    root: PathBuf,
    /// How long a call takes at most, when it is not killed.
    longest: Duration,
}

impl Victim<'_> {
    /// Starts the program and kills it at a random moment. Returns whether it ended by itself, with success.
    fn strike(&self, random: &mut Random, outcome: &mut Outcome, arguments: &[&str], input: &str) -> bool {
        outcome.rounds += 1;
        let moment = Duration::from_micros(random.below(usize::try_from(self.longest.as_micros()).unwrap()) as u64);
        let mut command = self.program.command(&self.root, NOW, arguments);
        let input_file = self.root.join("input");
        fs::write(&input_file, input).unwrap();
        command.stdin(fs::File::open(input_file).unwrap()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Its error output closes when it ends: so the wait is for that, or for the moment.
        let mut stderr = child.stderr.take().unwrap();
        let (ended, waiting) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            let _ = ended.send(());
            said
        });
        let is_over = waiting.recv_timeout(moment).is_ok();
        if !is_over {
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        let said = reader.join().unwrap();
        assert!(status.success() || status.code().is_none(), "{arguments:?}: {status}: {said}");
        outcome.killed += usize::from(status.code().is_none());
        status.success()
    }

    fn run(&self, arguments: &[&str]) -> crate::program::Ran {
        self.program.run(&self.root, NOW, arguments, "")
    }
}

/// Returns a body that shows whether all of it is there.
fn body(word: &str) -> String {
    format!("Begin of {word}.\n\n{}\nEnd of {word}.\n", "What stands between is long enough to be torn.\n".repeat(40))
}

/// Makes a memory below `place` and measures how long a call takes in it.
fn victim<'a>(program: &'a Program, place: &Path, number: usize, call: &[&str]) -> Victim<'a> {
    let root = place.join(format!("memory-{number}"));
    fs::create_dir(&root).unwrap();
    program.run(&root, NOW, &["init"], "").ended(0, "init");
    for entry in 0..ENTRIES {
        let (title, word) = (format!("Entry {entry}"), word(20_000_000 + entry));
        program.run(&root, NOW, &["add", &title, "--tags", "killed", "--body", &body(&word)], "").ended(0, "add");
    }
    let mut usual = Duration::MAX;
    for _ in 0..3 {
        let begun = Instant::now();
        program.run(&root, NOW, call, "").ended(0, "measure");
        // On a busy machine one of the three may take long.
        usual = usual.min(begun.elapsed());
    }
    // Some end by themselves, so that there is something acknowledged.
    Victim { program, root, longest: usual * 3 / 2 }
}

/// Kills calls that write entries, so many times, and looks after each.
pub(crate) fn entries(place: &Path, path: &Path, kills: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    let program = Program::new(path, place);
    let mut outcome = Outcome::default();
    while outcome.rounds < kills {
        let call = ["add", "Entry 0", "--tags", "killed", "--body", &body(&word(20_000_000))];
        let victim = victim(&program, place, outcome.rounds, &call);
        // Every word that was acknowledged, or is an old version of one.
        let mut planted: BTreeSet<String> = (0..ENTRIES).map(|entry| word(20_000_000 + entry)).collect();
        for _ in 0..PER_MEMORY.min(kills - outcome.rounds) {
            let fresh = word(outcome.rounds);
            let (entry, other) = (random.below(ENTRIES), random.below(ENTRIES));
            let title = match random.below(3) {
                0 => format!("Fresh {fresh}"),
                _ => format!("Entry {entry}"),
            };
            let text = body(&fresh);
            let (old, new) = (format!("entry-{entry}"), format!("entry-{other}"));
            let has_archived = victim.root.join(".ralph/archive/knowledge").exists();
            let acknowledged = match random.below(8) {
                0..4 => victim.strike(&mut random, &mut outcome, &["add", &title, "--tags", "killed"], &text),
                4 => victim.strike(
                    &mut random,
                    &mut outcome,
                    &["add", "--event", "hint", &format!("Begin of {fresh}. End of {fresh}.")],
                    "",
                ),
                // Only the higher number replaces the lower one: a circle would be refused.
                5 if entry < other => {
                    victim.strike(&mut random, &mut outcome, &["edit", &new, "--supersedes", &old], "");
                    false
                }
                6 if has_archived
                    && files(&victim.root.join(".ralph/archive/knowledge"))
                        .iter()
                        .any(|path| path.display().to_string().contains(&format!("/{old}."))) =>
                {
                    victim.strike(&mut random, &mut outcome, &["restore", &old], "");
                    false
                }
                _ => {
                    let report =
                        format!("<journal>Begin of {fresh}. End of {fresh}.</journal>\n<task-failed>t-1</task-failed>");
                    victim.strike(&mut random, &mut outcome, &["record", "--task-id", "t-1"], &report)
                }
            };
            outcome.leftovers += leftovers(&victim.root).len();
            let is_there = examine(&victim.root, &planted, &fresh, acknowledged);
            outcome.new += usize::from(is_there);
            outcome.old += usize::from(!is_there);
            if is_there {
                planted.insert(fresh);
            }
        }
        victim.run(&["check", "--fix"]).ended(0, "check --fix");
        assert_eq!(leftovers(&victim.root), Vec::<PathBuf>::new(), "what a kill left is swept");
        examine(&victim.root, &planted, "nothing", false);
        fs::remove_dir_all(&victim.root).unwrap();
    }
    outcome
}

/// Looks at every file: none is torn, and all that was planted is somewhere. Returns whether the fresh word is, too.
fn examine(root: &Path, planted: &BTreeSet<String>, fresh: &str, acknowledged: bool) -> bool {
    let mut found = BTreeSet::new();
    for path in ["knowledge", "journal", "archive"].iter().flat_map(|folder| files(&root.join(".ralph").join(folder))) {
        let name = path.strip_prefix(root.join(".ralph")).unwrap().to_str().unwrap().to_owned();
        if is_temporary(&path) {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let entry = read(&name, &bytes);
        assert_eq!(entry.head.problems, [], "{name}");
        let text = String::from_utf8(bytes).unwrap();
        let begin = text.find("Begin of ").map(|at| &text[at + 9..at + 17]);
        if let Some(word) = begin {
            assert!(text.contains(&format!("End of {word}.")), "{name} is torn: {text}");
            found.insert(word.to_owned());
        }
    }
    // Earlier texts are in the undo log. One that was written in part has not been replaced.
    for path in files(&root.join(".ralph/state/undo")) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let words = text.match_indices("Begin of ").filter_map(|(at, begin)| text.get(at + begin.len()..at + 17));
        found.extend(words.filter(|word| text.contains(&format!("End of {word}."))).map(str::to_owned));
    }
    for word in planted {
        assert!(found.contains(word), "{word} is lost");
    }
    assert!(found.contains(fresh) || !acknowledged, "{fresh} was acknowledged and is lost");
    found.contains(fresh)
}

/// Returns the temporary files of the memory.
fn leftovers(root: &Path) -> Vec<PathBuf> {
    files(&root.join(".ralph")).into_iter().filter(|path| is_temporary(path)).collect()
}

/// Kills calls that commit the index, so many times. After each the index can commit again, and its answers are those
/// of a new one.
pub(crate) fn commits(place: &Path, path: &Path, kills: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    let program = Program::new(path, place);
    let mut outcome = Outcome::default();
    while outcome.rounds < kills {
        let victim = victim(&program, place, outcome.rounds, &["index", "--rebuild"]);
        let mut words: Vec<String> = (0..ENTRIES).map(|entry| word(20_000_000 + entry)).collect();
        for _ in 0..PER_MEMORY.min(kills - outcome.rounds) {
            let entry = random.below(ENTRIES);
            words[entry] = word(outcome.rounds);
            let text = format!("---\ntitle: \"Entry {entry}\"\ntags: [killed]\n---\n\n{}", body(&words[entry]));
            fs::write(victim.root.join(format!(".ralph/knowledge/entry-{entry}.md")), text).unwrap();
            let call: &[&str] = if random.below(3) == 0 { &["index", "--rebuild"] } else { &["index"] };
            victim.strike(&mut random, &mut outcome, call, "");
            victim.run(&["index"]).ended(0, "the index can commit again");
            let answers = || {
                let all = victim
                    .run(&["search", "entry what stands between", "--limit", "100", "--explain", "--json"])
                    .stdout;
                let one = victim.run(&["search", &words[entry], "--json"]).ended(0, "the new text is found").stdout;
                (all, one)
            };
            let grown = answers();
            if outcome.rounds % COMPARED == 0 {
                fs::rename(victim.root.join(".ralph/cache"), victim.root.join("aside")).unwrap();
                assert_eq!(grown, answers(), "it equals a rebuild");
                fs::remove_dir_all(victim.root.join(".ralph/cache")).unwrap_or_default();
                fs::rename(victim.root.join("aside"), victim.root.join(".ralph/cache")).unwrap();
            }
        }
        fs::remove_dir_all(&victim.root).unwrap();
    }
    outcome
}
