//! Names that a shell would run, split or expand, for everything that has a name: entries, tasks, runs, tags, features,
//! sections, titles, branches and folders.
//!
//! Every such name has [`TOKEN`] in it, in capitals, which no id that the program makes has. So whatever a printed
//! command says of it can be told from all else.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde_json::Value;

use super::repository::put;
use crate::random::Random;

/// What every hostile name has in it.
pub(super) const TOKEN: &str = "ZQ";
/// A program that only such names start; see [`Shell`](super::printed::Shell).
pub(super) const STARTED: &str = "zqstarted";

/// Shapes of names. What a shell runs creates `executed`, or starts [`STARTED`].
const SHAPES: [&str; 42] = [
    "ZQa$(>executed)",
    "ZQb`>executed`",
    "ZQc;>executed",
    "ZQd|zqstarted",
    "ZQe&zqstarted",
    "ZQf && zqstarted ;",
    "ZQg<x",
    "ZQh>executed",
    "ZQi'$(>executed)'",
    "ZQj';>executed;'",
    "ZQk\";>executed;\"",
    "ZQl\"$(zqstarted)\"",
    "ZQm!zqstarted",
    "ZQn ! zqstarted",
    "-ZQo",
    "--ZQp=x",
    "-ZQq -rf",
    "~ZQr",
    "~root ZQs",
    "=ZQt",
    "ZQu zqstarted",
    " ZQv ",
    "ZQw\nzqstarted",
    "ZQx\r>executed",
    "ZQy\u{1b}[31m",
    "ZQz\u{7f}\t\u{8}",
    "ZQA\\",
    "ZQB\\'$(>executed)",
    "ZQC*",
    "ZQD{a,b}",
    "#ZQE",
    "ZQF#",
    "ZQG$HOME",
    "ZQH%s%n",
    "ZQI(zqstarted)",
    "ZQJ$'\\x60'",
    "ZQK[a-z]?",
    "ZQL^M",
    "ZQM\u{202e}\u{200b}",
    "ZQN\u{2019};zqstarted",
    "ZQO`zqstarted`'\"",
    "ZQP: $((1))",
];

/// The names of a clone. Without hostile ones they are those of ordinary things.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// Names of files of entries, without their ending.
    pub(super) entries: Vec<String>,
    pub(super) tasks: Vec<String>,
    pub(super) runs: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) features: Vec<String>,
    pub(super) titles: Vec<String>,
    /// All that are hostile, whatever they name.
    pub(super) hostile: Vec<OsString>,
    /// The clients of whose files a stranger wrote some, and others by chance.
    pub(super) clients: Vec<&'static str>,
}

impl Names {
    pub(super) fn plain() -> Names {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Names {
            entries: list(&["note-1", "note-2"]),
            tasks: list(&["t-1"]),
            runs: list(&["run-0000000b"]),
            tags: list(&["nightly"]),
            features: list(&["x"]),
            titles: list(&["Use the nightly toolchain"]),
            hostile: Vec::new(),
            clients: Vec::new(),
        }
    }

    /// Returns an argument of a step with the names that it asks for, by chance one of those that there are.
    pub(super) fn filled(&self, argument: &str, random: &mut Random) -> String {
        let mut filled = argument.to_owned();
        let lists = [
            ("{entry}", &self.entries),
            ("{task}", &self.tasks),
            ("{run}", &self.runs),
            ("{tag}", &self.tags),
            ("{feature}", &self.features),
            ("{title}", &self.titles),
        ];
        for (place, names) in lists {
            if filled.contains(place) {
                filled = filled.replace(place, random.pick::<String>(names));
            }
        }
        if filled.contains("{client}") {
            let clients = if self.clients.is_empty() { &["claude", "codex"][..] } else { &self.clients };
            filled = filled.replace("{client}", random.pick::<&str>(clients));
        }
        filled
    }
}

/// Returns a hostile name.
pub(super) fn hostile(random: &mut Random) -> String {
    (*random.pick(&SHAPES)).to_owned()
}

/// Returns a text as a scalar of YAML, with whatever is in it.
fn scalar(text: &str) -> String {
    Value::from(text).to_string()
}

/// Puts entries and attempts with such names into a memory: pairs with one title, links to old versions, tasks and runs.
pub(super) fn plant(memory: &Path, random: &mut Random) -> Names {
    let mut names = Names::plain();
    let knowledge = memory.join("knowledge");
    let mut name = |names: &mut Names| {
        let name = hostile(random);
        names.hostile.push(name.clone().into());
        name
    };
    for pair in 0..2 {
        let (one, other, tag, title) = (name(&mut names), name(&mut names), name(&mut names), name(&mut names));
        let (feature, gone) = (name(&mut names), name(&mut names));
        let file = |name: &str, more: &str| {
            let (title, tag, feature) = (scalar(&format!("Pair {pair} {title}")), scalar(&tag), scalar(&feature));
            let head = format!("title: {title}\ntags: [{tag}, nightly]\nfeature: {feature}\n{more}");
            put(&knowledge.join(format!("{name}.md")), format!("---\n{head}---\n\nAbout [[{gone}]] and nightly.\n"));
        };
        file(&one, "");
        file(&other, &format!("supersedes: [{}]\n", scalar(&format!("knowledge/{gone}"))));
        let old = "---\ntitle: Old\ntags: [old]\n---\n\nOld.\n";
        put(&memory.join(format!("archive/knowledge/{gone}.20260101T000000Z.md")), old);
        names.entries.extend([one, other, gone]);
        names.tags.push(tag);
        names.titles.push(title);
        names.features.push(feature);
    }
    // A name that is no text.
    let raw = [b"ZQR\xff", &b"$(>executed)"[..]].concat();
    put(&knowledge.join(OsStr::from_bytes(&[&raw, &b".md"[..]].concat())), "---\ntitle: Raw\ntags: [raw]\n---\n\nx\n");
    names.hostile.push(OsStr::from_bytes(&raw).to_owned());
    let (task, run, section) = (name(&mut names), name(&mut names), name(&mut names));
    // More than `show` prints of a task.
    for number in 1..=15 {
        let head = format!(
            "run_id: {}\niteration: {number}\ntask_id: {}\ntask_title: {}\nsection: {}\noutcome: failed\nstarted_at: \"2026-11-19T10:{number:02}:00Z\"\n",
            scalar(&run),
            scalar(&task),
            scalar(&task),
            scalar(&section),
        );
        let text = format!("---\n{head}---\n\n## Summary\n\nNo.\n");
        put(&memory.join("journal").join(&run).join(format!("{number:04}.md")), text);
    }
    // An entry that has the name of a task.
    put(&knowledge.join(format!("{task}.md")), "---\ntitle: A task's\ntags: [x]\n---\n\nx\n");
    names.entries.push(task.clone());
    names.tasks.push(task);
    names.runs.push(run);
    names
}

/// Gives the only branch of a repository a name that git allows and a shell runs.
pub(super) fn branch(git: &Path, random: &mut Random) -> Option<String> {
    const BRANCHES: [&str; 8] = [
        "ZQa$(>executed)",
        "ZQb`>executed`",
        "ZQc;>executed",
        "ZQd|zqstarted",
        "ZQe'$(zqstarted)'",
        "ZQf\";zqstarted;\"",
        "ZQg!zqstarted",
        "ZQh>executed",
    ];
    let name = *random.pick(&BRANCHES);
    let heads = git.join("refs/heads");
    let old = fs::read_dir(&heads).ok()?.find_map(|head| head.ok()?.file_name().into_string().ok())?;
    fs::rename(heads.join(old), heads.join(name)).ok()?;
    fs::write(git.join("HEAD"), format!("ref: refs/heads/{name}\n")).ok()?;
    Some(name.to_owned())
}

/// Returns a name of a folder for a clone, in which somebody may well unpack an archive.
pub(super) fn folder(random: &mut Random) -> String {
    loop {
        let name = hostile(random);
        // It is a single name, which begins with no blank.
        if !name.contains('/') && !name.starts_with(' ') {
            return name;
        }
    }
}
