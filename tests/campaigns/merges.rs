//! Random merges of two clones by git, and `check --fix` after each: no key, no tag and no statement is lost, and a file
//! without conflict markers is readable.
//!
//! The tests run a few of them, and the program `campaigns` any number.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ralph_memory::internals::entry;

use crate::program::git_command;
use crate::random::Random;

/// What came of a campaign.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// How many merges there were.
    pub(crate) merges: usize,
    /// How many of them had a conflict.
    pub(crate) conflicts: usize,
    /// How many files `check --fix` merged.
    pub(crate) merged: usize,
}

/// What one side did, as far as it can be looked for in the merge.
#[derive(Debug, Default, Clone)]
struct Done {
    /// Added statements, each one sentence that occurs nowhere else.
    added: BTreeSet<String>,
    /// Statements that were taken out.
    removed: BTreeSet<String>,
    /// Tags and keys that were added to a file of this title.
    tags: BTreeSet<(String, String)>,
    keys: BTreeSet<(String, String)>,
}

/// An entry as it is written here.
#[derive(Debug, Clone)]
struct Draft {
    title: String,
    tags: Vec<String>,
    keys: Vec<(String, String)>,
    blocks: Vec<String>,
    style: usize,
    updated: usize,
}

impl Draft {
    fn text(&self) -> String {
        let tags = match self.style {
            0 => format!("tags: [{}]\n", self.tags.join(", ")),
            1 => format!("tags:\n{}", self.tags.iter().map(|tag| format!("  - {tag}\n")).collect::<Vec<_>>().concat()),
            _ => format!("tags: {} # as words\n", self.tags.join(", ")),
        };
        let keys: Vec<String> = self.keys.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        let updated = format!("updated_at: \"2026-01-{:02}T12:00:00Z\"\n", self.updated + 1);
        let head = format!("# a comment of its own\ntitle: \"{}\"\n{tags}{}{updated}", self.title, keys.concat());
        format!("---\n{head}---\n\n{}\n", self.blocks.join("\n\n"))
    }
}

type Drafts = BTreeMap<String, Draft>;

/// Two clones of one repository.
struct Clones {
    folder: PathBuf,
    program: PathBuf,
}

impl Clones {
    fn git(&self, clone: &str, arguments: &[&str]) -> Output {
        let mut command = git_command(&self.folder.join(clone), &self.folder, arguments);
        command.env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z").env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z");
        command.output().unwrap()
    }

    #[track_caller]
    fn must(&self, clone: &str, arguments: &[&str]) {
        let output = self.git(clone, arguments);
        assert!(output.status.success(), "{arguments:?} {output:?}");
    }

    fn knowledge(&self, clone: &str) -> PathBuf {
        self.folder.join(clone).join(".ralph/knowledge")
    }

    fn write(&self, clone: &str, drafts: &Drafts) {
        let _ = fs::remove_dir_all(self.knowledge(clone));
        fs::create_dir_all(self.knowledge(clone)).unwrap();
        for (name, draft) in drafts {
            fs::write(self.knowledge(clone).join(name), draft.text()).unwrap();
        }
        self.must(clone, &["add", "--all"]);
        self.must(clone, &["commit", "--quiet", "--allow-empty", "--message", "m"]);
    }

    /// Starts again: one clone with these entries, and another one of it.
    fn begin(&self, drafts: &Drafts) {
        for clone in ["ours", "theirs"] {
            let _ = fs::remove_dir_all(self.folder.join(clone));
        }
        fs::create_dir_all(self.folder.join("ours/.ralph")).unwrap();
        self.must("ours", &["init", "--quiet", "--initial-branch", "main"]);
        let attributes = include_str!("../../knowledge-template/gitattributes");
        fs::write(self.folder.join("ours/.ralph/.gitattributes"), attributes).unwrap();
        fs::write(self.folder.join("ours/.ralph/.gitignore"), "/state/\n/cache/\n").unwrap();
        self.write("ours", drafts);
        let ours = self.folder.join("ours");
        self.must("", &["clone", "--quiet", ours.to_str().unwrap(), "theirs"]);
    }

    /// Lets the program fix what needs no decision, and returns how many files it merged.
    fn fix(&self) -> usize {
        let mut check = Command::new(&self.program);
        check.args(["check", "--fix", "--json"]).current_dir(self.folder.join("ours")).env_clear();
        check.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &self.folder);
        let answer: serde_json::Value = serde_json::from_slice(&check.output().unwrap().stdout).unwrap();
        let fixed = answer["fixed"].as_array().unwrap().iter();
        fixed.filter(|fixed| fixed["code"] == "merge-conflict").count()
    }

    fn files(&self) -> BTreeMap<String, String> {
        let files = fs::read_dir(self.knowledge("ours")).unwrap().map(|file| file.unwrap());
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap())).collect()
    }
}

const WORDS: [&str; 8] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];
const KEYS: [&str; 5] = ["feature", "category", "importance", "own_key", "other"];

fn draft(random: &mut Random, title: String, statement: &mut dyn FnMut() -> String) -> Draft {
    let n_tags = 1 + random.below(3);
    Draft {
        title,
        tags: (0..n_tags)
            .map(|at| WORDS[(random.below(3) + at * 2) % 8].to_owned())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        keys: vec![("importance".to_owned(), random.below(100).to_string())],
        blocks: (0..=random.below(4)).map(|_| block(random, statement())).collect(),
        style: random.below(3),
        updated: 0,
    }
}

fn block(random: &mut Random, statement: String) -> String {
    match random.below(4) {
        0 => format!("```sh\n{statement}\n\nmore\n```"),
        1 => format!("- {statement}\n- and that"),
        _ => statement,
    }
}

/// Does something to the entries, and notes it.
fn change(
    random: &mut Random,
    drafts: &mut Drafts,
    done: &mut Done,
    only_adds: bool,
    whose: &str,
    statement: &mut dyn FnMut() -> String,
) {
    let names: Vec<String> = drafts.keys().cloned().collect();
    let name = random.pick(&names).clone();
    let kind = if only_adds { random.below(4) } else { random.below(11) };
    let other = format!("{whose}-{name}");
    if kind == 9 && !drafts.contains_key(&other) {
        // Another title, and the name that goes with it; statements stay.
        let Some(mut entry) = drafts.remove(&name) else { return };
        entry.title = format!("{} of {whose}", entry.title);
        drafts.insert(other, entry);
        return;
    }
    let Some(entry) = drafts.get_mut(&name) else { return };
    entry.updated = entry.updated.max(1 + random.below(27));
    let title = entry.title.clone();
    match kind {
        0 => {
            // A new entry; sometimes both sides give one the same name, and sometimes the same title.
            let number = random.below(6);
            let own = if random.below(2) == 0 { String::new() } else { format!(" of {whose}") };
            let title = format!("New {number}{own}");
            let name = format!("new-{number}.md");
            if let std::collections::btree_map::Entry::Vacant(free) = drafts.entry(name) {
                let new = draft(random, title.clone(), statement);
                done.added.extend(statements(&new));
                done.tags.extend(new.tags.iter().map(|tag| (title.clone(), tag.clone())));
                done.keys.extend(new.keys.iter().map(|(key, _)| (title.clone(), key.clone())));
                free.insert(new);
            }
        }
        1 => {
            let tag = format!("{}-{}", random.pick(&WORDS), random.below(3));
            if !entry.tags.contains(&tag) {
                entry.tags.push(tag.clone());
                done.tags.insert((title, tag));
            }
        }
        2 => {
            let at = random.below(entry.blocks.len() + 1);
            let said = statement();
            done.added.insert(said.clone());
            entry.blocks.insert(at, block(random, said));
        }
        3 => {
            let key = format!("{}_{}", random.pick(&KEYS), random.below(2));
            if !entry.keys.iter().any(|(known, _)| *known == key) {
                let value = *random.pick(&["1", "\"two: 3\"", "[a, b]", "{k: v}", "plain words"]);
                entry.keys.push((key.clone(), value.to_owned()));
                done.keys.insert((title, key));
            }
        }
        4 => {
            let at = random.below(entry.blocks.len());
            let said = statement();
            done.removed.extend(statement_of(&entry.blocks[at]));
            done.added.insert(said.clone());
            entry.blocks[at] = block(random, said);
        }
        5 if entry.blocks.len() > 1 => {
            let gone = entry.blocks.remove(random.below(entry.blocks.len()));
            done.removed.extend(statement_of(&gone));
        }
        6 => entry.keys[0].1 = random.below(100).to_string(),
        7 => entry.title = format!("{title} again"),
        10 => entry.title = format!("{title} of {whose}"),
        _ => entry.style = random.below(3),
    }
}

fn statement_of(block: &str) -> Option<String> {
    let at = block.find("Statement ")?;
    block[at..].split('.').next().map(|statement| format!("{statement}."))
}

fn statements(draft: &Draft) -> BTreeSet<String> {
    draft.blocks.iter().filter_map(|block| statement_of(block)).collect()
}

/// Makes so many random merges in a folder, and checks each.
pub(crate) fn run(folder: &Path, program: &Path, merges: usize, seed: u64) -> Outcome {
    let clones = Clones { folder: folder.to_owned(), program: program.to_owned() };
    let mut random = Random(seed);
    let mut outcome = Outcome::default();
    for number in 0..merges {
        let mut count = 0;
        let mut statement = || {
            count += 1;
            format!("Statement {number}x{count} holds.")
        };
        let mut base = Drafts::new();
        for at in 0..2 + random.below(3) {
            base.insert(format!("entry-{at}.md"), draft(&mut random, format!("Entry {at}"), &mut statement));
        }
        clones.begin(&base);
        let only_adds = random.below(3) == 0;
        let (mut ours, mut theirs) = (base.clone(), base.clone());
        let (mut our_done, mut their_done) = (Done::default(), Done::default());
        for _ in 0..=random.below(6) {
            change(&mut random, &mut ours, &mut our_done, only_adds, "ours", &mut statement);
            change(&mut random, &mut theirs, &mut their_done, only_adds, "theirs", &mut statement);
        }
        clones.write("ours", &ours);
        clones.write("theirs", &theirs);
        let merge = ["pull", "--quiet", "--no-rebase", "--no-edit", "--no-ff", "../theirs", "main"];
        let output = clones.git("ours", &merge);
        let is_clean = output.status.success();
        outcome.merges += 1;
        outcome.conflicts += usize::from(!is_clean);
        let before = clones.files();
        let has_markers = before.values().any(|text| text.contains("<<<<<<< "));
        assert!(!(is_clean && has_markers), "a conflict ends with 0: seed {seed}, merge {number}: {before:#?}");
        let n_merged = clones.fix();
        outcome.merged += n_merged;
        let after = clones.files();
        for files in [&before, &after] {
            let place = format!("seed {seed}, merge {number}: {output:?}\n{files:#?}");
            check_statements(&base, &our_done, &their_done, files, &place);
            check_files(&our_done, &their_done, files, &place);
        }
        let n_changed = after.iter().filter(|(name, text)| before[*name] != **text).count();
        assert_eq!(n_changed, n_merged, "seed {seed}, merge {number}: {before:#?}\n{after:#?}");
    }
    outcome
}

fn check_statements(base: &Drafts, ours: &Done, theirs: &Done, files: &BTreeMap<String, String>, place: &str) {
    let all: String = files.values().map(String::as_str).collect();
    // Whatever one of the two wrote and neither took out is in a file; so is what was there before.
    let mut expected: BTreeSet<String> = base.values().flat_map(statements).collect();
    expected.extend(ours.added.iter().chain(&theirs.added).cloned());
    for statement in expected {
        let is_removed = ours.removed.contains(&statement) || theirs.removed.contains(&statement);
        assert!(is_removed || all.contains(&statement), "`{statement}` is lost: {place}");
    }
}

fn check_files(ours: &Done, theirs: &Done, files: &BTreeMap<String, String>, place: &str) {
    for (name, text) in files {
        let entry = entry::read(&format!("knowledge/{name}"), text.as_bytes());
        let codes: Vec<&str> = entry.head.problems.iter().map(|problem| problem.code.as_ref()).collect();
        let is_named = codes.iter().all(|code| *code == "merge-conflict") && text.contains("<<<<<<< ");
        assert!(is_named || codes.is_empty() && entry.head.valid, "{name}: {codes:?} {place}");
    }
    // A title may have changed since, so that the file is looked for by what it began with.
    let of_title = |title: &str| {
        let stem = title.split(" of ").next().unwrap().split(" again").next().unwrap();
        files.values().filter(|text| text.contains(&format!("title: \"{stem}"))).cloned().collect::<String>()
    };
    for (title, tag) in ours.tags.iter().chain(&theirs.tags) {
        let text = of_title(title);
        assert!(text.contains(tag.as_str()), "the tag `{tag}` of `{title}` is lost: {place}");
    }
    for (title, key) in ours.keys.iter().chain(&theirs.keys) {
        let text = of_title(title);
        assert!(text.contains(&format!("\n{key}: ")), "the key `{key}` of `{title}` is lost: {place}");
    }
}
