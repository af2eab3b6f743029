//! The ten places of a secret in the notes of an agent or an engineer.

use super::codes::percent;
use super::kinds::{Leak, Shape};
use super::lines::{assignment, indented, json, log_head, logged, shell, short_hash, source, yaml};
use super::notes::sentence;
use super::template::{fill, word};
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

/// Some of these lines, in their order, filled in.
fn some(random: &mut Random, lines: &[&str]) -> Vec<String> {
    let lines: Vec<&str> = lines.iter().copied().filter(|_| random.below(2) == 0).collect();
    lines.into_iter().map(|line| fill(random, line)).collect()
}

/// Puts a line among others.
fn among(random: &mut Random, mut lines: Vec<String>, line: String) -> String {
    let at = random.below(lines.len() + 1);
    lines.insert(at, line);
    lines.join("\n")
}

/// Puts sentences before and after.
fn framed(random: &mut Random, block: &str) -> String {
    let before = if random.below(3) > 0 {
        sentence(random)
            + "

"
    } else {
        String::new()
    };
    let after = if random.below(2) > 0 {
        format!(
            "

{}",
            sentence(random)
        )
    } else {
        String::new()
    };
    format!("{before}{block}{after}\n")
}

fn prose(random: &mut Random, leak: &Leak) -> String {
    let templates: &[&str] = match leak.shape {
        Shape::Block | Shape::Document => &[
            "The {S} key of the CI account is:\n\n{V}",
            "It only worked with this key in place:\n\n{V}\n\nTurn it over later.",
        ],
        Shape::Named | Shape::Password => &[
            "`{N}` is `{V}` on staging, and nothing else is needed to start it.",
            "The {W} of the {S} service is `{V}`; ask before it is changed.",
            "The {W} for staging is {V} and the one of production is in the vault.",
            "To reproduce it log in with {W}: {V}",
            "Set `{n}` to `{V}` before the worker starts, else it exits with 78.",
            "The job runs with {N}={V} since last week.",
            "It only works with {W} = \"{V}\" in the settings of the {S} service.",
            "Use `{V}` as the {W} when the {S} client asks for one.",
        ],
        Shape::Header => &[
            "Every call needs the header `{H}: {V}`, else the answer is 401.",
            "With {H}: {V} the gateway let the request through.",
            "I sent \"{H}: {V}\" and got 200.",
        ],
        Shape::Url => &[
            "The worker connects to {V} and nothing else.",
            "`{N}` must be `{V}` for the migration to run.",
            "Staging is at <{V}>, see the runbook.",
            "I pointed it at {V}.",
        ],
        Shape::Token => &[
            "The {S} token of the CI account is {V}.",
            "I used {V} to reproduce it, the {S} key from the build.",
            "Calls failed with 401 until `{V}` was sent along; `{N}` was stale.",
            "Deploys need `{N}` (at present `{V}`), otherwise the upload is skipped.",
            "It was hard-coded ({V}) and is read from the environment now.",
            "Key: {V}, valid until the rotation on Friday.",
        ],
    };
    let template = *random.pick(templates);
    let value = template
        .replace("{N}", &leak.name)
        .replace("{n}", &leak.snake())
        .replace("{W}", &leak.words())
        .replace("{H}", &leak.header())
        .replace("{S}", leak.service)
        .replace("{V}", &leak.value);
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
    let lines = some(
        random,
        &[
            "cd «word»",
            "export RUST_LOG=info",
            "# once per shell",
            "cargo run -- «word» --dry-run",
            "export PORT=«dig 4»",
        ],
    );
    let (tag, body) = (*random.pick(&["sh", "bash", "", "console"]), among(random, lines, line));
    framed(random, &format!("```{tag}\n{body}\n```"))
}

fn env(random: &mut Random, leak: &Leak) -> String {
    let lines = some(
        random,
        &[
            "# «Word»",
            "NODE_ENV=production",
            "PORT=«dig 4»",
            "LOG_LEVEL=«info|debug|warn»",
            "APP_URL=https://«host»",
            "«WORD»_TIMEOUT=«dig 2»",
            "FEATURE_«WORD»=«true|false»",
            "DB_HOST=«host»",
            "AWS_REGION=eu-central-1",
            "TOKEN_TTL=3600",
        ],
    );
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
        lines.extend(some(
            random,
            &["  host: «host»", "  port: «dig 4»", "  enabled: true", "  region: eu-west-«1-3 1»"],
        ));
    }
    let indent = if random.below(2) == 0 || is_list { "  " } else { "    " };
    let indent = if lines.len() > 1 { "  " } else { indent };
    lines.push(indented(&member, indent));
    lines.extend(some(random, &["replicas: «1-9 1»", "image: «word»/«word»:«ver»", "log_level: info"]));
    let tag = *random.pick(&["yaml", "yml"]);
    framed(random, &format!("```{tag}\n{}\n```", lines.join("\n")))
}

fn json_file(random: &mut Random, leak: &Leak) -> String {
    let member = json(random, leak);
    if member.starts_with('{') {
        let list = format!("\"environment\": [\n{}\n]", indented(&member, "  "));
        return framed(random, &format!("```json\n{{\n{}\n}}\n```", indented(&list, "  ")));
    }
    let mut members =
        some(random, &["\"host\": \"«host»\"", "\"port\": «1-9 1»«dig 3»", "\"retries\": 3", "\"«word»\": true"]);
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
    let lines = some(
        random,
        &[
            "// «Word» «word»",
            "fn «word»_«word»(&self) -> usize {",
            "import «word»",
            "    let «word» = self.«word»()?;",
            "return «word»",
        ],
    );
    let tag = *random.pick(&["rust", "python", "js", "ts", "go", ""]);
    let body = among(random, lines, line);
    framed(random, &format!("```{tag}\n{body}\n```"))
}

fn curl(random: &mut Random, leak: &Leak) -> String {
    let url = fill(random, "https://api.«host»/v«1-3 1»/«word»s");
    let value = &leak.value;
    let rest = match leak.shape {
        Shape::Document | Shape::Block if random.below(2) == 0 => {
            format!("--data-binary @- {url} <<'EOF'\n{value}\nEOF")
        }
        Shape::Document => format!("-d '{{\"account\": {}}}' {url}", leak.one_line()),
        Shape::Block => format!("-d '{{\"{}\": \"{}\"}}' {url}", leak.snake(), leak.one_line()),
        Shape::Header => match random.below(2) {
            0 => format!("-H \"{}: {value}\" {url}", leak.header()),
            _ => format!("{url} \\\n  --header '{}: {value}' \\\n  --header 'Accept: application/json'", leak.header()),
        },
        Shape::Url if leak.kind.ends_with("https") || leak.kind.ends_with("webhook") => shell(random, value),
        Shape::Url => format!("{url} -d '{{\"dsn\": \"{value}\"}}'"),
        Shape::Password if random.below(2) == 0 => format!("-u 'admin:{value}' {url}"),
        Shape::Named | Shape::Password => match random.below(4) {
            0 => format!("-H \"X-{}: {value}\" {url}", leak.header()),
            1 => format!("-d '{{\"{}\": \"{value}\"}}' {url}", leak.snake()),
            2 => format!("\"{url}?limit=10&{}={}\"", leak.snake(), percent(value)),
            _ => format!(
                "{url} \\\n  -d grant_type=client_credentials \\\n  --data-urlencode '{}={value}'",
                leak.snake()
            ),
        },
        Shape::Token => match random.below(6) {
            0 | 1 => format!("-H \"Authorization: Bearer {value}\" {url}"),
            2 => format!("{url} \\\n  -H 'Authorization: token {value}' \\\n  -H 'Content-Type: application/json'"),
            3 => format!("-H 'X-Api-Key: {value}' {url}"),
            4 => format!("-u '{value}:' {url}"),
            _ => format!("'{url}?access_token={}'", percent(value)),
        },
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
    let line = log_head(random) + &logged(random, leak);
    let mut lines = Vec::new();
    for template in
        ["listening on 0.0.0.0:«dig 4»", "request «uuid» took «dig 3» ms", "retrying in «dig 2»s", "commit «hex 40»"]
    {
        if random.below(2) == 0 {
            lines.push(log_head(random) + &fill(random, template));
        }
    }
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
    let (name, value) = (&leak.name, &leak.value);
    if leak.is_long() {
        return match random.below(2) {
            0 => format!("> {}\n>\n{}\n", sentence(random), indented(value, "> ")),
            _ => format!("- {}\n\n  ```\n{}\n  ```\n", sentence(random), indented(value, "  ")),
        };
    }
    let name = if leak.shape == Shape::Header { leak.header() } else { name.clone() };
    let is_told = matches!(leak.shape, Shape::Named | Shape::Password | Shape::Header) || random.below(2) == 0;
    let row = match (random.below(5), is_told) {
        (0, true) => format!("- `{name}`: `{value}`"),
        (0, false) => format!("- `{value}`"),
        (1, true) => format!("| name | value |\n|---|---|\n| `{name}` | `{value}` |\n| PORT | 8080 |"),
        (1, false) => format!("| where | what |\n|---|---|\n| staging | `{value}` |"),
        (2, true) => format!("> {name}={value}"),
        (2, false) => format!("> he sent me {value} for that"),
        (3, true) => format!("1. `{name}={value}`\n2. restart the worker"),
        (3, false) => format!("* staging: {value}"),
        (_, true) => format!("- **{name}**: {value}"),
        (_, false) => format!("- connect with `{value}`, then wait"),
    };
    let lines = some(random, &["- see the runbook", "- «word» before «word»", "Needed for the «word»:"]);
    if row.starts_with('|') { framed(random, &row) } else { among(random, lines, row) + "\n" }
}
