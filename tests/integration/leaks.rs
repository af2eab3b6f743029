//! How well secrets are found, and that the campaign that says so is right itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use ralph_memory::agent_output::transcript::Format;
use ralph_memory::entry::{Knowledge, Sections};
use ralph_memory::error::Message;
use ralph_memory::memory::Report;
use ralph_memory::runner::{Assignment, CommandLine, RunEvent, RunOptions, RunProgress, Runner};
use ralph_memory::{Error, Memory, Task};

use crate::secrets::{self, Sample};
use crate::support::TestBase;

/// The detector and its interface.
fn detect(text: &str) -> Vec<Range<usize>> {
    ralph_memory::text::secret::find(text).into_iter().map(|finding| finding.range).collect()
}

#[test]
fn secrets_are_found_and_clean_notes_are_left_alone() {
    let outcome = secrets::run(500, 500, 1, detect);
    let missed: Vec<_> = outcome.missed.iter().take(10).collect();
    assert!(outcome.found_percent() >= 95.0, "{} %: {missed:#?}", outcome.found_percent());
    let alarms: Vec<_> = outcome.false_alarms.iter().take(10).collect();
    assert!(outcome.false_percent() <= 0.5, "{} %: {alarms:#?}", outcome.false_percent());
}

#[test]
fn secrets_are_found_in_the_formats_that_programs_use() {
    let samples = secrets::habits(600, 1);
    let mut of_kind: BTreeMap<&str, (usize, usize, Vec<&str>)> = BTreeMap::new();
    let mut alarms = Vec::new();
    for sample in &samples {
        let found = detect(&sample.text);
        let (n_found, all, missed) = of_kind.entry(sample.kind).or_default();
        let is_found = sample.is_found_by(&found);
        (*n_found, *all) = (*n_found + usize::from(is_found), *all + 1);
        missed.extend((!is_found).then_some(sample.text.as_str()));
        alarms.extend(
            Some(sample.alarms(&found)).filter(|alarms| !alarms.is_empty()).map(|alarms| (&sample.text, alarms)),
        );
    }
    assert_eq!(of_kind.len(), 9);
    for (kind, (found, all, missed)) in of_kind {
        assert!(secrets::percent(found, all) >= 95.0, "{kind}: {found} of {all}: {missed:#?}");
    }
    assert!(secrets::percent(alarms.len(), samples.len()) <= 0.5, "{alarms:#?}");
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
    for (samples, least) in secrets::shapes(1).iter().zip([74, 70]) {
        let texts: Vec<String> = samples.iter().map(|sample| sample.text.clone()).collect();
        check_channels(&texts, least..=texts.len(), |number, shown| {
            !shown.contains(&texts[number][samples[number].secret.clone()])
        });
    }
}

/// Of 300 texts 16 were taken for a secret before.
#[test]
fn harmless_texts_are_left_alone_in_each_channel() {
    check_channels(&secrets::harmless(1), 0..=0, |_, _| true);
}

fn bytes_of(sample: &Sample) -> (&str, &str) {
    (&sample.text[sample.secret.clone()], &sample.text[sample.around.last().unwrap().clone()])
}

#[test]
fn secrets_and_notes_depend_only_on_the_seed() {
    assert_eq!(secrets::samples(200, 7), secrets::samples(200, 7));
    assert_eq!(secrets::clean(200, 7), secrets::clean(200, 7));
    let (one, other) = (secrets::samples(200, 7), secrets::samples(200, 8));
    assert!(one.iter().zip(&other).all(|(one, other)| one.text != other.text));
    let (one, other): (BTreeSet<_>, BTreeSet<_>) =
        (secrets::clean(200, 7).into_iter().collect(), secrets::clean(200, 8).into_iter().collect());
    assert!(one.intersection(&other).count() < 3, "two seeds give the same notes");
    assert!(one.len() > 190, "a note comes again and again");
}

#[test]
fn every_kind_of_secret_occurs_in_every_carrier() {
    let few = secrets::samples(500, 3);
    assert_eq!(few.len(), 500);
    let all: BTreeSet<&str> = secrets::kinds().into_iter().collect();
    assert_eq!(all.len(), secrets::kinds().len(), "two kinds have one name");
    assert_eq!(few.iter().map(|sample| sample.kind).collect::<BTreeSet<_>>(), all);
    let carriers: BTreeSet<&str> = secrets::carriers().into_iter().collect();
    assert_eq!(carriers.len(), 10);
    let mut pairs: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for sample in secrets::samples(6_000, 3) {
        *pairs.entry((sample.kind, sample.carrier)).or_default() += 1;
    }
    for kind in all {
        for carrier in &carriers {
            assert!(pairs.contains_key(&(kind, *carrier)), "no {kind} in {carrier}");
        }
    }
}

#[test]
fn a_sample_says_where_its_secret_is() {
    for sample in secrets::samples(3_000, 5) {
        let (secret, around) = bytes_of(&sample);
        let place = format!("{sample:?}");
        assert!(around.contains(secret), "{place}");
        assert!(secret.chars().count() >= 10, "{place}");
        assert!(!sample.text.contains(['«', '»', '⟦', '⟧']), "{place}");
        assert!(!sample.text.contains(|letter| ('\u{e000}'..='\u{f8ff}').contains(&letter)), "{place}");
        // Placeholders of documentation are not secrets.
        let small = secret.to_lowercase();
        assert!(
            sample.any || !["xxxx", "example", "changeme", "${", "<"].iter().any(|no| small.contains(no)),
            "{place}"
        );
    }
}

#[test]
fn tokens_are_as_long_as_their_services_make_them() {
    let all = secrets::samples(2_000, 11);
    let check = |kind: &str, begins: &str, length: usize| {
        let mut of_kind = all.iter().filter(|sample| sample.kind == kind).map(|sample| bytes_of(sample).0);
        let is_so = |secret: &str| secret.starts_with(begins) && secret.len() == length;
        assert!(of_kind.any(is_so), "no {kind} begins with {begins} and has {length} characters");
    };
    check("aws-key-id", "AKIA", 20);
    check("aws-secret-key", "", 40);
    check("github-classic", "ghp_", 40);
    check("github-fine-grained", "github_pat_", 93);
    check("gitlab", "glpat-", 26);
    check("google-api-key", "AIza", 39);
    check("google-oauth", "GOCSPX-", 35);
    check("azure-storage", "", 88);
    check("azure-client-secret", "", 40);
    check("openai", "sk-", 51);
    check("openai", "sk-proj-", 164);
    check("anthropic", "sk-ant-", 108);
    check("hugging-face", "hf_", 37);
    check("npm", "npm_", 40);
    check("crates-io", "cio", 35);
    check("docker-hub", "dckr_pat_", 36);
    check("digitalocean", "dop_v1_", 71);
    check("heroku", "HRKU-AA", 65);
    check("sendgrid", "SG.", 69);
    check("telegram", "", 46);
    check("shopify", "shp", 38);
    check("databricks", "dapi", 36);
    check("atlassian", "ATATT", 192);
    check("postman", "PMAK-", 64);
    check("new-relic", "NRAK-", 32);
    check("age", "AGE-SECRET-KEY-1", 74);
    check("twilio-key", "SK", 34);
}

#[test]
fn clean_notes_have_two_to_thirty_lines() {
    for note in secrets::clean(2_000, 5) {
        let lines = note.lines().count();
        assert!((2..=30).contains(&lines), "{lines} lines: {note}");
        assert!(!note.contains(['«', '»']), "{note}");
    }
}

#[test]
fn a_perfect_detector_finds_all_and_a_blind_one_none() {
    let known: BTreeMap<String, Range<usize>> =
        secrets::samples(300, 2).into_iter().map(|sample| (sample.text, sample.secret)).collect();
    let outcome = secrets::run(300, 100, 2, |text| known.get(text).cloned().into_iter().collect());
    assert_eq!((outcome.found, outcome.missed.len(), outcome.false_alarms.len()), (300, 0, 0));
    assert!(outcome.found_percent() > 99.9 && outcome.false_percent() < 0.1);
    let outcome = secrets::run(300, 100, 2, |_| Vec::new());
    assert_eq!((outcome.found, outcome.missed.len(), outcome.false_alarms.len()), (0, 300, 0));
    assert!(outcome.found_percent() < 0.1);
    // Whoever takes everything for a secret finds all, and raises an alarm at each clean note.
    let outcome = secrets::run(300, 100, 2, |text| std::iter::once(0..text.len()).collect());
    assert_eq!((outcome.found, outcome.false_alarms.len()), (300, 100));
    let carried: usize = outcome.of_carrier.values().map(|(_, all)| all).sum();
    assert_eq!((carried, outcome.of_kind.values().map(|(found, _)| found).sum::<usize>()), (300, 300));
}

#[test]
fn half_of_a_secret_or_any_part_of_a_long_key_must_be_found() {
    #[track_caller]
    fn check(sample: &Sample, found: Range<usize>, expected: bool) {
        assert_eq!(sample.is_found_by(&[0..1, found]), expected);
    }

    let sample = Sample {
        kind: "a",
        carrier: "b",
        text: ["id 12 at https:", "//ab:secrét77@host"].concat(),
        secret: 20..29,
        around: [9..34, 3..5].to_vec(),
        any: false,
    };
    assert_eq!(&sample.text[sample.secret.clone()], "secrét77");
    check(&sample, 20..24, true);
    check(&sample, 20..23, false);
    check(&sample, 24..26, false);
    check(&sample, 24..40, true);
    check(&sample, 0..20, false);
    let key = Sample { any: true, ..sample.clone() };
    check(&key, 24..26, true);
    check(&key, 9..20, false);
}

#[test]
fn findings_outside_of_secrets_are_counted() {
    let samples = secrets::samples(200, 4);
    let beside = |text: &str| {
        let sample = samples.iter().find(|sample| sample.text == text);
        // Not the first byte of a text, but one that no secret has anything to do with.
        let is_free = |at: &usize| sample.is_some_and(|sample| !sample.around.iter().any(|around| around.contains(at)));
        (0..text.len()).find(is_free).map(|at| at..at + 1).into_iter().collect()
    };
    let outcome = secrets::run(200, 50, 4, beside);
    assert_eq!(outcome.found, 0);
    assert!(outcome.false_alarms.len() > 190, "{}", outcome.false_alarms.len());
    let around = |text: &str| {
        let sample = samples.iter().find(|sample| sample.text == text);
        sample.map_or_else(Vec::new, |sample| sample.around.clone())
    };
    let outcome = secrets::run(200, 50, 4, around);
    assert_eq!((outcome.found, outcome.false_alarms.len()), (200, 0));
}

#[test]
fn the_campaigns_sources_contain_no_secret() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let parts = fs::read_dir(tests.join("campaigns/secrets")).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = parts.chain([tests.join("campaigns/secrets.rs"), tests.join("integration/leaks.rs")]).collect();
    assert!(files.len() > 8);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.lines().count() <= 400, "{} is long", file.display());
        let private = ["PRIVATE KEY", "PRIVATE KEY BLOCK"].map(|label| format!("{label}{}", "-".repeat(5)));
        let headed: Vec<&str> =
            text.lines().filter(|line| private.iter().any(|end| line.contains(end)) && !line.contains("...")).collect();
        assert!(headed.is_empty(), "{}: {headed:?}", file.display());
        let is_part = |letter: char| !(letter.is_ascii_alphanumeric() || "+/_-".contains(letter));
        for word in text.split(is_part).filter(|word| word.len() >= 20) {
            let has = |is: fn(&char) -> bool| word.chars().filter(is).count() >= 3;
            let is_random = has(char::is_ascii_digit) && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
            assert!(!is_random, "{}: {word}", file.display());
        }
    }
}
