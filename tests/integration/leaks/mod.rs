//! How many secrets are found of those that services and other scanners describe, and at each place that shows a text. No test
//! and no fixture has a secret in one piece: all are made of templates.

use std::ops::{Range, RangeInclusive};

use ralph_memory::agent_output::transcript::Format;
use ralph_memory::entry::{Knowledge, Sections};
use ralph_memory::error::Message;
use ralph_memory::memory::Report;
use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
use ralph_memory::{Error, Memory, Task};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::random::Random;
use crate::support::TestBase;

mod template;

/// What people choose for a password, or have made.
const PASSWORDS: [&str; 6] =
    ["«b62 16-24»", "«b62 20»", "«Word»-«Word»-«dig 3»!", "«b62 8»#«b62 6»", "«url 23»«b62 1»", "«hex 32»"];
/// The beginnings of a private key and of a certificate in base64.
const KEY: &str = "LS0tLS1CRUdJTi«»BSU0EgUFJJVkFURSBLRVktLS0tLQo«b64 1200»";
const CERTIFICATE: &str = "LS0tLS1CRUdJTi«»BDRVJUSUZJQ0FURS0tLS0tCk«b64 1200»";

/// A kind of token: its name, how often it leaks, whose it is, the names of its variables, the templates of its values, and whether
/// only the name tells that the value is a secret.
type Service = (String, usize, String, Vec<String>, Vec<String>, bool);

/// Templates with the secret between `⟦` and `⟧`, each with where its shape is described, or with its kind.
#[derive(Deserialize)]
struct Shapes {
    known: Vec<(String, String)>,
    held_out: Vec<(String, String)>,
    /// Whole commands, files and statements.
    habits: Vec<(String, String)>,
}

/// Reads a table of templates, which `template.rs` explains.
fn table<Row: DeserializeOwned>(name: &str) -> Row {
    let path = format!("{}/fixtures/secrets/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A text with a secret in it.
struct Sample {
    text: String,
    secret: Range<usize>,
}

/// Fills in a template: the secret is what is between the marks.
fn sample(random: &mut Random, template: &str) -> Sample {
    let template =
        template.replace("{P}", random.pick::<&str>(&PASSWORDS)).replace("{K}", KEY).replace("{C}", CERTIFICATE);
    let filled = template::fill(random, &template);
    let (before, rest) = filled.split_once('⟦').unwrap_or_else(|| panic!("{template}"));
    let (secret, after) = rest.split_once('⟧').unwrap();
    Sample { text: format!("{before}{secret}{after}"), secret: before.len()..before.len() + secret.len() }
}

/// Fails if fewer than `least` of a hundred secrets are found, each by half of it at least.
#[track_caller]
fn check(samples: &[Sample], least: usize) {
    let is_missed = |sample: &&Sample| {
        let found = ralph_memory::text::secret::find(&sample.text);
        !found.iter().any(|found| {
            let common =
                found.range.end.min(sample.secret.end).saturating_sub(found.range.start.max(sample.secret.start));
            common * 2 >= sample.secret.len()
        })
    };
    let missed: Vec<&str> = samples.iter().filter(is_missed).map(|sample| sample.text.as_str()).collect();
    let found = samples.len() - missed.len();
    assert!(found * 100 >= least * samples.len(), "{found} of {}: {missed:#?}", samples.len());
}

#[test]
fn tokens_of_services_are_found_however_they_are_written_down() {
    const NAMED: [&str; 7] = [
        "export {N}={V}",
        "{N}: \"{V}\"",
        "```json\n{\"{N}\": \"{V}\", \"port\": 5432}\n```",
        "+{N}='{V}'\n-{N}=",
        "docker run -e {N}={V} app",
        "env:\n  - name: {N}\n    value: {V}",
        "We set `{N}={V}` in the pipeline.",
    ];
    const ALONE: [&str; 3] = ["The key is {V} for now.", "[12:01:07] refused: {V}", "`{V}`"];
    let services: std::collections::BTreeMap<String, Vec<Service>> = table("services");
    let mut random = Random(1);
    let mut samples = Vec::new();
    for (kind, _, _, names, values, needs_name) in &services["services"] {
        for value in values {
            let value = if value.contains('⟦') { value.clone() } else { format!("⟦{value}⟧") };
            let places = match kind.as_str() {
                "header-bearer" | "header-key" => &["curl -H '{N}: {V}' https://api.example.org"][..],
                _ if *needs_name || kind.starts_with("password") => &NAMED,
                _ => &[NAMED.as_slice(), &ALONE].concat(),
            };
            for (at, place) in places.iter().enumerate() {
                let place = place.replace("{N}", &names[at % names.len()]).replace("{V}", &value);
                samples.push(sample(&mut random, &place));
            }
        }
    }
    assert!(samples.len() > 700, "{}", samples.len());
    check(&samples, 95);
}

#[test]
fn secrets_are_found_in_the_formats_that_programs_use() {
    let mut random = Random(1);
    let habits = table::<Shapes>("shapes").habits;
    let samples: Vec<Sample> =
        (0..4).flat_map(|_| &habits).map(|(_, template)| sample(&mut random, template)).collect();
    check(&samples, 95);
}

/// Returns the texts as a channel shows them: each between a line with its number and the next, one after another.
fn by_case(shown: &str, count: usize) -> Vec<String> {
    let after = |number: usize| shown.split_once(&format!("case {number};")).map_or("", |(_, after)| after);
    (0..count).map(|number| after(number).split("case ").next().unwrap().to_owned()).collect()
}

/// What the channels show of these texts, by the name of the channel. What is refused shows nothing.
fn channels(texts: &[String]) -> Vec<(&'static str, Vec<String>)> {
    const REFUSED: &str = "[redacted: all]";
    let base = TestBase::new();
    let memory = Memory::open(&base.root()).unwrap();
    // A text that is refused as a title may pass as a body.
    let added = |text: &str| {
        let title = text.replace('\n', " ");
        match memory.add(&Knowledge::new(&title, ["a"], text)) {
            Err(Error::Secret { what: "title", .. }) => match memory.add(&Knowledge::new("T", ["a"], text)) {
                Err(Error::Secret { .. }) => [REFUSED.to_owned(), REFUSED.to_owned()],
                _ => [REFUSED.to_owned(), text.to_owned()],
            },
            Err(Error::Secret { .. }) => [title, REFUSED.to_owned()],
            _ => [title, text.to_owned()],
        }
    };
    let (titles, bodies) = texts.iter().map(|text| added(text).into()).unzip();
    let numbered: Vec<String> = texts.iter().enumerate().map(|(at, text)| format!("case {at};\n{text}\n\n")).collect();
    // An attempt has room for half of them.
    for half in numbered.chunks(numbered.len().div_ceil(2)) {
        let iteration = memory.begin(&Task::new("Look"), &memory.new_run()).unwrap();
        let sections = Sections { notes: half.concat(), ..Sections::default() };
        memory.finish(&iteration, &Report { sections, ..Report::default() }).unwrap();
    }
    let attempts: String = base.files(".ralph/journal").iter().map(|file| base.read(file)).collect();
    base.write("output", numbered.concat());
    let agent = format!("sh -c 'cat > /dev/null; cat {}'", base.at("output").display());
    let options = RunOptions {
        max_iterations: Some(1),
        format: Format::Text,
        ..RunOptions::new(CommandLine::parse("agent", &agent).unwrap())
    };
    let mut output = String::new();
    let mut io = |event: RunEvent<'_>| {
        if let RunEvent::Line(line) = event {
            output.extend([line, "\n"]);
        }
    };
    let task = Assignment::Task(Task::new("Look"));
    Runner::new(&memory, options).run(&task, &mut RunProgress::default(), &mut io).unwrap();
    let each = |show: &dyn Fn(&str) -> String| texts.iter().map(|text| show(text)).collect();
    vec![
        ("title", titles),
        ("body", bodies),
        ("message", each(&|text| Message::from(text).to_string())),
        ("text", each(&|text| ralph_memory::text::secret::redact(text, &[]))),
        ("attempt", by_case(&attempts, texts.len())),
        ("output", by_case(&output, texts.len())),
    ]
}

/// Checks, in each channel, how many of the texts have something redacted so that `is_gone`.
#[track_caller]
fn check_channels(texts: &[String], expected: RangeInclusive<usize>, is_gone: impl Fn(usize, &str) -> bool) {
    for (channel, shown) in channels(texts) {
        let is_hit = |number: &usize| shown[*number].contains("[redacted: ") && is_gone(*number, &shown[*number]);
        let (hits, others): (Vec<usize>, Vec<usize>) = (0..texts.len()).partition(is_hit);
        let odd = if *expected.start() > 0 { &others } else { &hits };
        let odd: Vec<&String> = odd.iter().map(|number| &texts[*number]).collect();
        assert!(expected.contains(&hits.len()), "{channel}: {} of {}: {odd:#?}", hits.len(), texts.len());
    }
}

/// Of 75 shapes that the patterns were made for 9 were found before, and of 75 that were held out 36.
#[test]
fn described_shapes_are_found_in_each_channel() {
    let Shapes { known, held_out, .. } = table("shapes");
    for (shapes, least) in [(known, 74), (held_out, 70)] {
        let mut random = Random(1);
        let samples: Vec<Sample> = shapes.iter().map(|(_, template)| sample(&mut random, template)).collect();
        let texts: Vec<String> = samples.iter().map(|sample| sample.text.clone()).collect();
        check_channels(&texts, least..=texts.len(), |number, shown| {
            !shown.contains(&texts[number][samples[number].secret.clone()])
        });
    }
}

/// Of 300 texts 16 were taken for a secret before.
#[test]
fn harmless_texts_are_left_alone_in_each_channel() {
    let harmless: std::collections::BTreeMap<String, Vec<String>> = table("harmless");
    let twice = harmless["harmless"].iter().chain(&harmless["harmless"]);
    let mut random = Random(1);
    let texts: Vec<String> = twice.map(|template| template::fill(&mut random, template)).collect();
    check_channels(&texts, 0..=0, |_, _| true);
}
