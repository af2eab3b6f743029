//! What pages say in prose holds: commands, options, variables and settings that they name, messages that they quote,
//! tokens that they count.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::docs::{Page, blocks, pages, sources};
use crate::support::TestBase;

/// Options that pages name of other programs.
const OTHERS: [&str; 10] = [
    "--allowedTools",
    "--mcp-config",
    "--output-format",
    "--passphrase",
    "--password",
    "--profile",
    "--separate-git-dir",
    "--strict-mcp-config",
    "--test",
    "--verbose",
];
/// Options that no help lists: for tests.
const HIDDEN: [&str; 2] = ["--lock-timeout", "--now"];

fn page(path: &str) -> Page {
    pages().into_iter().find(|page| page.path == path).unwrap()
}

/// Returns the text of all files of the program.
fn code() -> String {
    sources().into_iter().filter(|(path, _)| path.starts_with("src/")).map(|(_, text)| text).collect()
}

/// Returns each command with its options, from the reference, which another test compares with the program. Those of every
/// command are under "".
fn options() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::from([(String::new(), BTreeSet::from(HIDDEN.map(str::to_owned)))]);
    let mut command = String::new();
    for line in page("docs/src/reference/commands.md").text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            command = if heading == "Global options" { String::new() } else { heading.to_owned() };
            all.entry(command.clone()).or_default();
        }
        let names =
            line.strip_prefix("- `-").and_then(|rest| rest.split_once("`:")).map(|(names, _)| format!("-{names}"));
        let names = names.iter().flat_map(|names| names.split("`, `"));
        let names = names.map(|name| name.split([' ', '[']).next().unwrap_or_default().to_owned());
        all.get_mut(&command).unwrap().extend(names);
    }
    all.get_mut("").unwrap().extend(["--help", "--version"].map(str::to_owned));
    all.insert("help".to_owned(), BTreeSet::from(["--all".to_owned()]));
    all
}

/// Returns the texts between single backticks, outside of blocks.
fn spans(page: &Page) -> Vec<String> {
    let mut fence = 0;
    let mut text = String::new();
    for line in page.text.lines() {
        let n_ticks = line.chars().take_while(|character| *character == '`').count();
        if n_ticks >= 3 && (fence == 0 || n_ticks >= fence) {
            fence = if fence == 0 { n_ticks } else { 0 };
        } else if fence == 0 {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")).collect()
}

/// Returns the options in a command line, up to where another program's begin.
fn named(words: &str) -> impl Iterator<Item = &str> {
    let words = words
        .split_whitespace()
        .take_while(|word| !matches!(*word, "|" | "--" | "&&" | ";" | ">" | "--agent" | "--verify"));
    let words = words.map(|word| word.trim_matches(|character: char| !character.is_alphanumeric() && character != '-'));
    words
        .filter(|word| word.starts_with("--") && !word.ends_with('-'))
        .map(|word| word.split('=').next().unwrap_or_default())
}

#[test]
fn every_option_that_a_page_names_exists() {
    let known = options();
    let is_known = |command: &str, option: &str| known[""].contains(option) || known[command].contains(option);
    let anywhere: BTreeSet<&String> = known.values().flatten().collect();
    let mut wrong = Vec::new();
    let mut n_named = 0;
    for page in pages() {
        let lines = blocks(&page)
            .into_iter()
            .filter(|block| block.language != "rust")
            .map(|block| block.text.replace("\\\n", " "));
        let in_blocks = lines.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        let calls = in_blocks.filter_map(|line| Some(line[line.find("ralph-memory ")?..].to_owned()));
        for span in spans(&page).into_iter().chain(calls) {
            let words = span.strip_prefix("ralph-memory ").unwrap_or(&span);
            let command = words.split_whitespace().find(|word| known.contains_key(*word)).unwrap_or_default();
            let begins = words.starts_with(command) && !command.is_empty() || span.starts_with("ralph-memory ");
            for option in named(words) {
                n_named += 1;
                let exists = if begins {
                    is_known(command, option)
                } else {
                    anywhere.contains(&option.to_owned()) || OTHERS.contains(&option) || !words.starts_with("--")
                };
                if !exists {
                    wrong.push(format!("{}: there is no `{option}` in `{span}`", page.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_named > 300, "{n_named}");
}

#[test]
fn every_command_that_a_page_names_exists() {
    let known = options();
    for page in pages() {
        for span in spans(&page) {
            let Some(words) = span.strip_prefix("ralph-memory ") else { continue };
            let command = words.split_whitespace().find(|word| !word.starts_with('-')).unwrap_or_default();
            let is_value = words.starts_with('-')
                || command.chars().any(|character| !character.is_ascii_lowercase() && character != '-');
            assert!(is_value || known.contains_key(command), "{}: `{span}`", page.path);
        }
    }
}

#[test]
fn every_variable_and_setting_that_a_page_names_exists() {
    let code = code();
    let reference = page("docs/src/reference/settings.md").text;
    let keys: BTreeSet<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key).collect();
    let tables: BTreeSet<&str> = keys.iter().filter_map(|key| Some(key.split_once('.')?.0)).collect();
    let mut n_named = 0;
    for page in pages() {
        for span in spans(&page) {
            let name = span.split(['=', ' ']).next().unwrap_or_default();
            let plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.');
            if !name.chars().all(plain) {
                continue;
            }
            if name.starts_with("RALPH_") && !name.contains("__") && name.len() > 6 {
                assert!(code.contains(name), "{}: there is no variable `{name}`", page.path);
                n_named += 1;
            }
            if let Some((_, key)) = name.split_once('.').filter(|(table, _)| tables.contains(table)) {
                // Git has one that this is compared with.
                let is_other = name == "safe.directory" || ["rs", "md", "json", "toml", "jsonl"].contains(&key);
                assert!(is_other || keys.contains(name), "{}: there is no setting `{name}`", page.path);
                n_named += 1;
            }
        }
    }
    assert!(n_named > 50, "{n_named}");
}

/// Returns the rows of the tables with this head in their first column, as cells.
fn rows(page: &Page, head: &str) -> Vec<Vec<String>> {
    let tables = page.text.split("\n\n").filter(|table| table.starts_with(&format!("| {head} |")));
    let lines = tables.flat_map(|table| table.lines().skip(2));
    lines.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()).collect()
}

#[test]
fn every_message_in_the_troubleshooting_is_one_of_the_program() {
    let code = code().replace('`', "");
    let code = code.split("\\\n").map(str::trim_start).collect::<String>();
    let messages = rows(&page("docs/src/guides/troubleshooting.md"), "message");
    assert!(messages.len() > 10, "{messages:?}");
    for row in messages {
        for part in row[0].split('…').map(str::trim).filter(|part| part.len() > 2) {
            assert!(code.contains(part), "no message says `{part}`");
        }
    }
}

/// Messages in other blocks, as those of [`every_message_in_the_troubleshooting_is_one_of_the_program`]. What differs from call to
/// call is between backticks or behind a colon, or is a number.
#[test]
fn every_message_that_a_page_quotes_is_one_of_the_program() {
    let code = code();
    let code = code.split("\\\n").map(str::trim_start).collect::<String>();
    let mut n_quoted = 0;
    for page in pages() {
        let texts = blocks(&page).into_iter().filter(|block| block.language == "text");
        for line in texts.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()) {
            let Some(message) =
                ["error: ", "hint: ", "warning: ", "unverified: "].iter().find_map(|kind| line.strip_prefix(kind))
            else {
                continue;
            };
            let said = message.split('`').step_by(2);
            let differs = |character: char| matches!(character, '…' | ';') || character.is_ascii_digit();
            let said = said.flat_map(|part| part.split(differs).filter_map(|part| part.split(": ").next()));
            for part in said.map(str::trim).filter(|part| part.len() > 5) {
                assert!(code.contains(part), "{}: no message says `{part}`", page.path);
                n_quoted += 1;
            }
        }
    }
    assert!(n_quoted > 8, "{n_quoted}");
}

#[test]
fn every_name_in_snake_case_is_one_of_the_program() {
    let known = sources().into_iter().filter(|(path, _)| !path.starts_with("docs/src/"));
    let known: String = known.map(|(_, text)| text).collect();
    let mut wrong = Vec::new();
    for page in pages().iter().filter(|page| !page.path.contains("/development/") && !page.path.contains("/design/")) {
        for span in spans(page) {
            let is_part = |character: char| character.is_ascii_lowercase() || character == '_';
            let is_name = span.contains('_') && !span.ends_with('_') && span.chars().all(is_part);
            // Fields of other programs are told by their words.
            if is_name && !known.contains(span.as_str()) && !known.contains(&span.replace('_', " ")) {
                wrong.push(format!("{}: nothing is called `{span}`", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks the first number of a cell against this many characters, four to a token; a tenth more or less is no matter.
fn check_tokens(costs: &[Vec<String>], what: &str, n_characters: usize) {
    let row = costs.iter().find(|row| row[0].contains(what)).unwrap_or_else(|| panic!("no row is about {what}"));
    let digits: String = row[2].chars().filter(|character| *character != ',').collect();
    let said: f64 = digits
        .split(|character: char| !character.is_ascii_digit())
        .find(|part| !part.is_empty())
        .unwrap()
        .parse()
        .unwrap();
    let measured = f64::from(u32::try_from(n_characters).unwrap()) / 4.0;
    assert!((said - measured).abs() <= measured / 10.0, "{what}: the page says {said}, measured are {measured}");
}

#[test]
fn what_a_memory_costs_is_what_the_page_says() {
    let base = TestBase::new();
    assert_eq!(base.run(["setup", "claude", "--yes"]).code, Some(0));
    let costs = rows(&page("docs/src/guides/cost.md"), "text");
    let rule = base.read(".claude/rules/ralph-memory.md");
    check_tokens(&costs, "AGENTS.md", rule.len());
    let skill = base.read(".claude/skills/ralph-memory/SKILL.md");
    check_tokens(&costs, "skill", skill.split("---").nth(1).unwrap().len());
    let mut agent = Agent::stateless(base.with(["mcp"]).command());
    let mut ask = |method: &str| -> Value { agent.ask(method, json!({}))["result"].clone() };
    check_tokens(&costs, "server's tools", ask("tools/list")["tools"].to_string().len());
    check_tokens(&costs, "instructions of the server", ask("server/discover")["instructions"].as_str().unwrap().len());
    check_tokens(&costs, "of a task", base.run(["context", "Fix the login"]).stdout.len());
    let fact = "The database says so. ".repeat(20);
    for number in 0..60 {
        base.entry(&format!("fact-{number}"), &format!("Fact {number}"), "login", &format!("{number}. {fact}"));
    }
    let briefing = base.run(["context"]).stdout;
    assert!(ralph_memory::text::estimate_tokens(&briefing) <= 1_200 && briefing.len() > 2_000, "{briefing}");
}
