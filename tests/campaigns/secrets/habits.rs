//! Secrets as people write them down: whole commands, files and statements, in which the value stands in a place of its
//! own. They are carried as they are, since none of them fits into another's syntax.

use super::codes::base64;
use super::notes::sentence;
use super::tables::TABLES;
use super::template::{bytes, marked};
use crate::random::Random;

/// What people choose or have made, in place of `{P}`.
const PASSWORDS: [&str; 6] =
    ["«b62 16-24»", "«b62 20»", "«Word»-«Word»-«dig 3»!", "«b62 8»#«b62 6»", "«url 23»«b62 1»", "«hex 32»"];

/// Returns the kind of a habit and its text with marks, among sentences, in a fence or indented.
pub(crate) fn habit(random: &mut Random, number: usize) -> (&'static str, &'static str, String) {
    let habits = &TABLES.shapes.habits;
    let (kind, template) = &habits[number % habits.len()];
    let password = *random.pick(&PASSWORDS);
    let armoured = |random: &mut Random, label: &str| {
        let key = bytes(random, 900);
        let dashes = "-".repeat(5);
        let body = base64(&key, false);
        let text = format!("{dashes}BEGIN {label}{dashes}\n{body}\n{dashes}END {label}{dashes}\n");
        base64(text.as_bytes(), false)
    };
    let (key, certificate) = (armoured(random, "RSA PRIVATE KEY"), armoured(random, "CERTIFICATE"));
    let template = template.replace("{P}", password).replace("{K}", &key).replace("{C}", &certificate);
    let text = marked(random, &template);
    let (before, after) = (sentence(random), sentence(random));
    let (carrier, text) = match random.below(4) {
        0 => ("fence", format!("{before}\n\n```\n{text}\n```\n")),
        1 => ("plain", format!("{text}\n")),
        2 => ("among", format!("{before}\n\n{text}\n\n{after}\n")),
        _ => (
            "indented",
            format!("{before}\n\n{}\n", text.lines().flat_map(|line| ["    ", line, "\n"]).collect::<String>()),
        ),
    };
    (kind, carrier, text)
}
