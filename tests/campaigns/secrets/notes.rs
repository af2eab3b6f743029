//! Notes without any secret, as coding agents and engineers write them.

use super::tables::TABLES;
use super::template::{between, fill};
use crate::random::Random;

/// The most lines of a note.
const MAX_LINES: usize = 30;

/// A sentence on what happened in a project.
pub(crate) fn sentence(random: &mut Random) -> String {
    let template = random.pick::<String>(&TABLES.decoys.sentences);
    fill(random, template)
}

fn decoy(random: &mut Random) -> String {
    let template = random.pick::<String>(&TABLES.decoys.lines);
    fill(random, template)
}

/// Several sentences; now and then in another language, or one that was written about secrets.
fn paragraph(random: &mut Random) -> String {
    match random.below(8) {
        0 => random.pick::<String>(&TABLES.decoys.tongues).clone(),
        1 | 2 => {
            let template = random.pick::<String>(&TABLES.decoys.paragraphs);
            fill(random, template)
        }
        _ => {
            let count = between(random, 1, 3);
            (0..count).map(|_| sentence(random)).collect::<Vec<_>>().join(" ")
        }
    }
}

/// What an entry begins with.
fn head(random: &mut Random) -> String {
    let template = match random.below(5) {
        0 => {
            "---\ntitle: \"«Word» before «word», and what it costs\"\ntags: [«word», «word», tokens]\n\
             category: «pitfall|testing_strategy|tool_usage|code_structure»\ncreated_at: \"«time»Z\"\n---\n\n"
        }
        1 => {
            "---\nrun_id: run-«hex 8»\niteration: «1-9 1»\ntask_id: t-«hex 10»\noutcome: «done|failed|blocked»\n\
             model: sonnet\ntree: «hex 40»\ntokens_in: «1-9 1»«dig 4»\ntokens_out: «1-9 1»«dig 3»\n---\n\n"
        }
        2 => "# «Word» «word»\n\n",
        3 => "## What was tried\n\n",
        _ => "",
    };
    fill(random, template)
}

/// How a decoy is set into a note.
fn set(random: &mut Random, decoy: &str) -> String {
    let is_long = decoy.contains('\n');
    match random.below(6) {
        0 if !is_long => format!("- {decoy}"),
        1 if !is_long => format!("> {decoy}"),
        2 if !is_long && !decoy.contains('`') => format!("Seen: `{decoy}`."),
        3 if !is_long => format!("    {decoy}"),
        _ => format!("```\n{decoy}\n```"),
    }
}

/// A note of 2 to 30 lines.
pub(crate) fn note(random: &mut Random) -> String {
    let mut note = head(random);
    note.push_str(&paragraph(random));
    let count = between(random, 1, 6);
    for _ in 0..count {
        let text = decoy(random);
        let block = if random.below(4) == 0 {
            format!("{}\n\n{}", paragraph(random), set(random, &text))
        } else {
            set(random, &text)
        };
        let lines = note.lines().count() + 1 + block.lines().count();
        if lines <= MAX_LINES {
            note.push_str("\n\n");
            note.push_str(&block);
        }
    }
    if note.lines().count() < 2 {
        note.push_str("\n\n");
        note.push_str(&sentence(random));
    }
    note.push('\n');
    note
}
