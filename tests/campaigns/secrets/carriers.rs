//! The ten places of a secret in the notes of an agent or an engineer.

use super::kinds::{Leak, Shape};
use super::lines::{assignment, indented, json, log_head, shell, short_hash, yaml};
use super::notes::sentence;
use super::tables::TABLES;
use super::template::{capital, fill, word};
use crate::random::Random;

/// A carrier: what it is called, and how it writes a secret down.
pub(crate) type Carrier = (&'static str, fn(&mut Random, &Leak) -> String);

/// All carriers.
pub(crate) const CARRIERS: [Carrier; 10] = [
    ("prose", prose),
    ("fence", fence),
    ("env", env),
    ("yaml", yaml_file),
    ("json", json_file),
    ("source", source_file),
    ("curl", curl),
    ("log", log),
    ("diff", diff),
    ("inline", inline),
];

/// Some lines of those that stand around a secret there, in their order, filled in.
fn some(random: &mut Random, place: &str) -> Vec<String> {
    let lines: Vec<&String> = TABLES.carriers["among"][place].iter().filter(|_| random.below(2) == 0).collect();
    lines.into_iter().map(|line| fill(random, line)).collect()
}

/// Writes a secret into one of the lines for its shape.
fn written(random: &mut Random, leak: &Leak, carrier: &str, shape: &str) -> String {
    let template = random.pick::<String>(&TABLES.carriers[carrier][shape]);
    leak.fill(template)
}

/// Puts a line among others.
fn among(random: &mut Random, mut lines: Vec<String>, line: String) -> String {
    let at = random.below(lines.len() + 1);
    lines.insert(at, line);
    lines.join("\n")
}

/// Puts sentences before and after.
fn framed(random: &mut Random, block: &str) -> String {
    let before = if random.below(3) > 0 { sentence(random) + "\n\n" } else { String::new() };
    let after = if random.below(2) > 0 { format!("\n\n{}", sentence(random)) } else { String::new() };
    format!("{before}{block}{after}\n")
}

fn prose(random: &mut Random, leak: &Leak) -> String {
    let shape = match leak.shape {
        Shape::Block | Shape::Document => "block",
        Shape::Named | Shape::Password => "named",
        Shape::Header => "header",
        Shape::Url => "url",
        Shape::Token => "token",
    };
    let value = written(random, leak, "prose", shape);
    let (before, after) = (sentence(random), sentence(random));
    let space = if leak.is_long() { "\n\n" } else { " " };
    match random.below(3) {
        0 => value + "\n",
        1 => format!("{before}{space}{value}\n"),
        _ => format!("# {}\n\n{before}{space}{value}{space}{after}\n", fill(random, "«Word» of the «word»")),
    }
}

fn fence(random: &mut Random, leak: &Leak) -> String {
    let file = fill(random, "«word».pem");
    let line = match leak.shape {
        Shape::Block if random.below(2) == 0 => format!("cat > {file} <<'EOF'\n{}\nEOF", leak.value),
        Shape::Document => format!("cat > account.json <<'EOF'\n{}\nEOF", leak.value),
        _ => assignment(random, leak, "export "),
    };
    let lines = some(random, "fence");
    let (tag, body) = (*random.pick(&["sh", "bash", "", "console"]), among(random, lines, line));
    framed(random, &format!("```{tag}\n{body}\n```"))
}

fn env(random: &mut Random, leak: &Leak) -> String {
    let lines = some(random, "env");
    let line = assignment(random, leak, "");
    let body = among(random, lines, line);
    match random.below(3) {
        0 => body + "\n",
        1 => framed(random, &format!("```env\n{body}\n```")),
        _ => framed(random, &format!("`.env`:\n\n{}", indented(&body, "    "))),
    }
}

fn yaml_file(random: &mut Random, leak: &Leak) -> String {
    let member = yaml(random, leak);
    let is_list = member.starts_with("- ");
    let parent = if is_list { "env:".to_owned() } else { fill(random, "«word»:") };
    let mut lines = vec![parent];
    if !is_list {
        lines.extend(some(random, "yaml"));
    }
    let indent = if random.below(2) == 0 || is_list { "  " } else { "    " };
    let indent = if lines.len() > 1 { "  " } else { indent };
    lines.push(indented(&member, indent));
    lines.extend(some(random, "behind_yaml"));
    let tag = *random.pick(&["yaml", "yml"]);
    framed(random, &format!("```{tag}\n{}\n```", lines.join("\n")))
}

fn json_file(random: &mut Random, leak: &Leak) -> String {
    let member = json(random, leak);
    if member.starts_with('{') {
        let list = format!("\"environment\": [\n{}\n]", indented(&member, "  "));
        return framed(random, &format!("```json\n{{\n{}\n}}\n```", indented(&list, "  ")));
    }
    let mut members = some(random, "json");
    let at = random.below(members.len() + 1);
    members.insert(at, member);
    let is_compact = random.below(3) == 0 && !leak.is_long();
    let text = if is_compact {
        format!("{{{}}}", members.join(", ").replace(",\n", ", "))
    } else {
        format!("{{\n{}\n}}", indented(&members.join(",\n"), "  "))
    };
    framed(random, &format!("```json\n{text}\n```"))
}

fn source_file(random: &mut Random, leak: &Leak) -> String {
    let line = source(random, leak);
    let lines = some(random, "source");
    let tag = *random.pick(&["rust", "python", "js", "ts", "go", ""]);
    let body = among(random, lines, line);
    framed(random, &format!("```{tag}\n{body}\n```"))
}

/// A line or two of a program.
fn source(random: &mut Random, leak: &Leak) -> String {
    let shape = match leak.shape {
        Shape::Block => "block",
        Shape::Document => "document",
        Shape::Header => "header",
        Shape::Token | Shape::Url if random.below(3) == 0 => {
            let module = word(random);
            let line = written(random, leak, "source", "client");
            return line.replace("{m}", module).replace("{M}", &capital(module));
        }
        _ => "other",
    };
    match &leak.companion {
        Some((name, value)) if shape == "other" => {
            format!("{name} = \"{value}\"\n{} = \"{}\"", leak.constant(), leak.value)
        }
        _ => written(random, leak, "source", shape),
    }
}

fn curl(random: &mut Random, leak: &Leak) -> String {
    let url = fill(random, "https://api.«host»/v«1-3 1»/«word»s");
    let shape = match leak.shape {
        Shape::Document | Shape::Block if random.below(2) == 0 => "stdin",
        Shape::Document => "document",
        Shape::Block => "block",
        Shape::Header => "header",
        Shape::Url => "url",
        Shape::Password if random.below(2) == 0 => "password",
        Shape::Named | Shape::Password => "named",
        Shape::Token => "token",
    };
    let rest = if shape == "url" && (leak.kind.ends_with("https") || leak.kind.ends_with("webhook")) {
        shell(random, &leak.value)
    } else {
        written(random, leak, "curl", shape).replace("{U}", &url)
    };
    let call = format!("curl {}{rest}", random.pick(&["", "-s ", "-fsSL ", "-X POST ", "-i "]));
    match random.below(3) {
        0 => call + "\n",
        1 => {
            let answer = fill(random, "{\"status\":\"ok\",\"request_id\":\"«uuid»\"}");
            framed(random, &format!("```sh\n$ {call}\n{answer}\n```"))
        }
        _ => framed(random, &format!("```\n{call}\n```")),
    }
}

fn log(random: &mut Random, leak: &Leak) -> String {
    let shape = match leak.shape {
        Shape::Header => "header",
        Shape::Url => "url",
        Shape::Token if random.below(2) == 0 => "token",
        Shape::Document => "document",
        _ => "other",
    };
    let line = log_head(random) + &written(random, leak, "logged", shape);
    let lines: Vec<String> = some(random, "log").into_iter().map(|line| log_head(random) + &line).collect();
    let body = among(random, lines, line);
    if random.below(2) == 0 { body + "\n" } else { framed(random, &format!("```text\n{body}\n```")) }
}

fn diff(random: &mut Random, leak: &Leak) -> String {
    let (file, added) = match random.below(4) {
        0 => ("deploy/.env", assignment(random, leak, "")),
        1 => ("config/settings.yml", yaml(random, leak)),
        2 => ("config/settings.json", indented(&json(random, leak), "  ") + ","),
        _ => ("src/client.py", source(random, leak)),
    };
    let (from, to) = (short_hash(random), short_hash(random));
    let removed = if random.below(2) == 0 { fill(random, "-«word» = \"«»\"\n") } else { String::new() };
    let (before, after) = (word(random), word(random));
    let text = format!(
        "diff --git a/{file} b/{file}\nindex {from}..{to} 100644\n--- a/{file}\n+++ b/{file}\n@@ -1,2 +1,3 @@\n {before}\n{removed}{}\n {after}",
        indented(&added, "+")
    );
    if random.below(2) == 0 { text + "\n" } else { framed(random, &format!("```diff\n{text}\n```")) }
}

/// A list item, a row of a table or a quotation.
fn inline(random: &mut Random, leak: &Leak) -> String {
    if leak.is_long() {
        let value = &leak.value;
        return match random.below(2) {
            0 => format!("> {}\n>\n{}\n", sentence(random), indented(value, "> ")),
            _ => format!("- {}\n\n  ```\n{}\n  ```\n", sentence(random), indented(value, "  ")),
        };
    }
    let mut leak = leak.clone();
    if leak.shape == Shape::Header {
        leak.name = leak.header();
    }
    let is_told = matches!(leak.shape, Shape::Named | Shape::Password | Shape::Header) || random.below(2) == 0;
    let row = written(random, &leak, "inline", if is_told { "named" } else { "bare" });
    let lines = some(random, "inline");
    if row.starts_with('|') { framed(random, &row) } else { among(random, lines, row) + "\n" }
}
