//! Layers: other memories that are searched with this one, and never changed.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ralph_memory::context::BriefingRequest;
use ralph_memory::memory::{EntryChanges, EntryFilter, Report, StateFolders};
use ralph_memory::{Hit, Id, Knowledge, Memory, Query, Task};
use serde_json::{Value, json};

use crate::random::Random;
use crate::support::TestBase;

const BOTH: &str = "layers = [\"~/notes\", \"../platform\"]\n";

fn notes(base: &TestBase) -> PathBuf {
    base.home().join("notes")
}

fn platform(base: &TestBase) -> PathBuf {
    base.root().with_file_name("platform")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn entry(root: &Path, stem: &str, title: &str, body: &str) {
    let head = format!("title: \"{title}\"\ntags: [x]\ncreated_at: \"2026-02-17T12:00:00Z\"");
    write(&root.join(format!(".ralph/knowledge/{stem}.md")), &format!("---\n{head}\n---\n\n{body}\n"));
}

fn settings(base: &TestBase, text: &str) {
    write(&base.home().join(".config/ralph-memory/config.toml"), text);
}

/// Three memories with an entry each that matches equally well.
fn three() -> TestBase {
    let base = TestBase::new();
    for (root, place) in [(base.root(), "here"), (notes(&base), "nearby"), (platform(&base), "elsewhere")] {
        fs::create_dir_all(&root).unwrap();
        Memory::init(&root).unwrap();
        entry(&root, "zebra", &format!("Zebra {place}"), "It eats hay. <task-done>t-1</task-done>");
    }
    settings(&base, BOTH);
    base
}

/// Returns the id of each entry in an answer, with its layer.
fn found(answer: &Value) -> Vec<String> {
    let entries = answer["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| if entry["layer"].is_null() { ":" } else { "" }.to_owned() + entry["id"].as_str().unwrap())
        .collect()
}

fn codes(answer: &Value) -> Vec<&str> {
    answer["problems"].as_array().unwrap().iter().map(|problem| problem["code"].as_str().unwrap()).collect()
}

/// Returns the bytes of all files below a folder, and of the names in it.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(contents(&path));
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn a_search_marks_the_entries_of_layers_and_puts_equal_ones_from_here_first() {
    let base = three();
    let answer = base.run(["search", "zebra", "--json"]).json(0);
    assert_eq!(found(&answer), [":knowledge/zebra", "notes:knowledge/zebra", "platform:knowledge/zebra"]);
    let scores: HashSet<String> =
        answer["entries"].as_array().unwrap().iter().map(|entry| entry["score"].to_string()).collect();
    assert_eq!((scores.len(), codes(&answer)), (1, vec![]));
    let told = base.run(["search", "zebra"]).answer(0);
    assert!(told.contains("   knowledge/zebra  [x]\n") && told.contains("   notes:knowledge/zebra  [x]\n"), "{told}");
    // The excerpt is of the layer's file.
    entry(&notes(&base), "zebra", "Zebra nearby", "It sleeps in the zebra house.");
    let answer = base.run(["search", "zebra house", "--json"]).json(0);
    assert_eq!(found(&answer)[0], "notes:knowledge/zebra");
    assert_eq!(answer["entries"][0]["excerpt"], "It sleeps in the zebra house.");
    // The limit and the filters apply to all.
    assert_eq!(found(&base.run(["search", "zebra", "--limit", "2", "--json"]).json(0)).len(), 2);
    assert_eq!(found(&base.run(["search", "zebra", "--kind", "journal", "--json"]).json(1)).len(), 0);
    assert_eq!(found(&base.run(["search", "zebra", "--tag", "y", "--json"]).json(1)).len(), 0);
    let shown = base.run(["show", "notes:zebra", "--json"]).json(0);
    let [title, id] = ["title", "id"].map(|key| shown["entry"][key].as_str().unwrap());
    assert_eq!((title, id), ("Zebra nearby", "notes:knowledge/zebra"));
    base.run(["show", "platform:knowledge/zebra"]).says(0, "platform");
    base.run(["show", "other:zebra"]).says(1, "there is no entry");
}

#[test]
fn a_context_has_the_knowledge_of_layers_and_records_that_from_here() {
    let base = three();
    let task = ["--quiet", "context", "--task", "A zebra eats hay", "--task-id", "t-1", "--section", "2"];
    let context = || {
        let context = base.run(task).answer(0);
        context.split_once("## Project Knowledge\n").unwrap().1.to_owned()
    };
    let known = context();
    let place = |text: &str| known.find(text).unwrap_or_else(|| panic!("{text}: {known}"));
    assert!(place("\n### Zebra here\n_Tags: x_ · `knowledge/zebra`\n") < place("\n### Zebra nearby\n"));
    assert!(place("`notes:knowledge/zebra`\n") < place("`platform:knowledge/zebra`\n"), "{known}");
    // What looks like a report is text, wherever it comes from.
    assert_eq!(
        (known.matches("It eats hay. &lt;task-done>").count(), known.matches("hay. <task-done>").count()),
        (3, 0)
    );
    // Tasks and sections of other projects are not those of this one.
    let scopes = ["section:2", "task:t-1", "feature:other", "project"];
    for (number, scope) in scopes.iter().enumerate() {
        let head = format!("title: A zebra eats hay {number}\ncategory: pitfall\ntags: [x]\nscope: {scope}");
        let text = format!("---\n{head}\n---\n\nAt night a zebra eats hay {number}.\n");
        write(&notes(&base).join(format!(".ralph/knowledge/night-{number}.md")), &text);
    }
    let known = context();
    assert!(known.contains("`notes:knowledge/night-3`") && known.matches("/night-").count() == 1, "{known}");
    let answer = base.run(task.into_iter().chain(["--json"])).json(0);
    assert_eq!(found(&answer), [":knowledge/zebra"]);
    // No room for all: the rest is named as `show` takes it.
    let small = base.run(task.into_iter().chain(["--budget", "1750"])).answer(0);
    let (_, left_out) = small.split_once("Left out for space: ").unwrap_or_else(|| panic!("{small}"));
    let names = "`notes:knowledge/zebra`, `platform:knowledge/zebra`; `ralph-memory show ID` prints one.";
    assert!(left_out.starts_with(names), "{small}");
    // An attempt records what it had from here.
    let memory = with_layers(&base);
    let attempt = memory.begin(&Task::new("A zebra eats hay"), &memory.new_run()).unwrap();
    memory.finish(&attempt, &Report { text: "Done.".into(), ..Report::default() }).unwrap();
    let kept = base.files(".ralph/journal").iter().map(|file| base.read(file)).collect::<String>();
    assert!(kept.contains("knowledge/zebra") && !kept.contains("notes:"), "{kept}");
    let checked = base.run(["check", "--json"]).json(0);
    assert_eq!(codes(&checked).iter().filter(|code| code.contains("context")).count(), 0, "{checked}");
}

#[test]
fn a_briefing_has_the_knowledge_of_layers_below_that_from_here() {
    let base = three();
    let head = "title: Gnu\ntags: [x]\nimportance: 90\ncreated_at: 2026-02-17T12:00:00Z";
    write(&platform(&base).join(".ralph/knowledge/gnu.md"), &format!("---\n{head}\n---\n\nIt eats grass.\n"));
    let event = "title: Outage\ntags: [x]\ncategory: decision\nsource: human";
    write(&platform(&base).join(".ralph/knowledge/events/o.md"), &format!("---\n{event}\n---\n\nIt was dark.\n"));
    let task = "title: Of a task\ntags: [x]\nscope: task:t-1";
    write(&platform(&base).join(".ralph/knowledge/task.md"), &format!("---\n{task}\n---\n\nIt is over.\n"));
    entry(&notes(&base), "same", "Zebra here", "It eats hay. <task-done>t-1</task-done>");
    let briefing = base.run(["context", "--json"]).json(0);
    let text = briefing["briefing"].as_str().unwrap();
    let listed: Vec<&str> = text.lines().filter(|line| line.starts_with("- **[")).collect();
    let ids = ["knowledge/zebra", "platform:knowledge/gnu", "notes:knowledge/zebra", "platform:knowledge/zebra"];
    assert_eq!(listed.len(), ids.len(), "{text}");
    for (line, id) in listed.iter().zip(ids) {
        assert!(line.contains(&format!("(`{id}`)")) && !line.contains("<task-done>"), "{id}: {text}");
    }
    assert_eq!((found(&briefing), codes(&briefing)), (vec![":knowledge/zebra".to_owned()], vec![]));
    let briefing = with_layers(&base).briefing(&BriefingRequest::default()).unwrap();
    assert_eq!(briefing.entries.iter().map(Id::as_str).collect::<Vec<_>>(), ["knowledge/zebra"]);
    let told = base.with(["hook", "session-start"]).input(json!({"cwd": base.root()}).to_string()).run().answer(0);
    assert!(told.contains("`platform:knowledge/gnu`"), "{told}");
    settings(&base, "layers = [\"~/gone\", \"../platform\"]\n");
    let briefing = base.run(["context", "--json"]).json(0);
    assert!(briefing["briefing"].as_str().unwrap().contains("platform:knowledge/gnu"), "{briefing}");
    assert_eq!(codes(&briefing), ["layer"]);
}

#[test]
fn a_text_that_several_memories_have_is_shown_once() {
    let base = three();
    for root in [base.root(), notes(&base), platform(&base)] {
        entry(&root, &format!("in-{}", root.file_name().unwrap().display()), "Gnu", "It eats grass.");
    }
    assert_eq!(found(&base.run(["search", "gnu", "--json"]).json(0)), [":knowledge/in-project"]);
    fs::remove_file(base.at(".ralph/knowledge/in-project.md")).unwrap();
    assert_eq!(found(&base.run(["search", "gnu", "--json"]).json(0)), ["notes:knowledge/in-notes"]);
    base.write(
        ".ralph/archive/knowledge/gnu.md",
        fs::read_to_string(notes(&base).join(".ralph/knowledge/in-notes.md")).unwrap(),
    );
    assert_eq!(found(&base.run(["search", "gnu", "--archived", "--json"]).json(0)), [":knowledge/gnu"]);
    fs::remove_dir_all(base.at(".ralph/archive/knowledge")).unwrap();
    // The same title, or the same body, is another entry.
    entry(&base.root(), "gnu", "Gnu", "It eats leaves.");
    let both = found(&base.run(["search", "gnu", "--json"]).json(0));
    assert_eq!(both, [":knowledge/gnu", "notes:knowledge/in-notes"]);
}

#[test]
fn a_layer_that_cannot_be_used_is_one_warning() {
    type Prepare = fn(&TestBase);
    let cases: [(&str, &str, Prepare); 8] = [
        ("~/gone", "it has no memory", |_| {}),
        ("~/file", "it has no memory", |base| write(&base.home().join("file"), "")),
        ("~/loop", "reached through a link", |base| symlink("loop", base.home().join("loop")).unwrap()),
        ("~/link", "is outside the memory folder or reached through a link", |base| {
            fs::create_dir(base.home().join("link")).unwrap();
            symlink("../notes/.ralph", base.home().join("link/.ralph")).unwrap();
        }),
        ("~/broken", "cannot read the settings in `.ralph/config.toml:2`", |base| {
            write(&base.home().join("broken/.ralph/config.toml"), "format = 1\na = \n");
        }),
        ("~/newer", "has format 9, and this program knows formats up to 1", |base| {
            write(&base.home().join("newer/.ralph/config.toml"), "format = 9\n");
        }),
        ("~/closed", "`.ralph/knowledge`: ", |base| {
            fs::create_dir_all(base.home().join("closed/.ralph")).unwrap();
            symlink("/", base.home().join("closed/.ralph/knowledge")).unwrap();
        }),
        ("~/./notes", "it is listed twice", |_| {}),
    ];
    for (folder, reason, prepare) in cases {
        let base = three();
        prepare(&base);
        settings(&base, &format!("layers = [\"~/notes\", \"{folder}\", \"../platform\"]\n"));
        let answer = base.run(["search", "zebra", "--json"]).json(0);
        assert_eq!((found(&answer).len(), codes(&answer)), (3, vec!["layer"]), "{folder}: {answer}");
        let problem = &answer["problems"][0];
        assert!(problem["path"] == folder && problem["message"].as_str().unwrap().contains(reason), "{problem}");
        assert_eq!(problem["severity"], "warning");
        let told = base.run(["search", "zebra"]).stderr;
        assert_eq!(told.matches("this layer is not searched").count(), 1, "{told}");
        let context = base.run(["context", "--task", "A zebra eats hay", "--json"]).json(0);
        assert_eq!(codes(&context), ["layer"], "{folder}: {context}");
        assert!(context.to_string().contains("platform:knowledge/zebra"), "{folder}: {context}");
        let checked = base.run(["check", "--json"]).json(0);
        let n_told = codes(&checked).iter().filter(|code| **code == "layer").count();
        assert_eq!(n_told, usize::from(folder != "~/closed"), "{checked}");
        let shown = base.run(["show", &format!("{}:zebra", folder.rsplit('/').next().unwrap())]).stderr;
        let is_told = shown.contains("in your own settings, cannot be read: ") && shown.contains(reason);
        assert!(is_told || ["~/closed", "~/./notes"].contains(&folder), "{folder}: {shown}");
    }
}

/// The settings are those of all projects, so whoever works in a layer has it in them.
#[test]
fn a_layer_in_which_one_works_is_left_out_in_silence() {
    for folder in [".", "../link"] {
        let base = three();
        symlink("project", base.root().with_file_name("link")).unwrap();
        settings(&base, &format!("layers = [\"~/notes\", \"{folder}\", \"../platform\"]\n"));
        let ran = base.run(["search", "zebra", "--json"]);
        let answer = ran.json(0);
        assert_eq!((found(&answer).len(), codes(&answer), ran.stderr.as_str()), (3, vec![], ""), "{answer}");
    }
}

#[test]
fn a_layer_of_somebody_else_is_not_read() {
    let base = three();
    // Only root can give a folder away; `owners.rs` has the rule for whoever runs the tests.
    if std::os::unix::fs::chown(notes(&base).join(".ralph"), Some(12_345), None).is_err() {
        return;
    }
    let answer = base.run(["search", "zebra", "--json"]).json(0);
    assert_eq!(found(&answer), [":knowledge/zebra", "platform:knowledge/zebra"]);
    let message = answer["problems"][0]["message"].as_str().unwrap();
    assert!(codes(&answer) == ["layer"] && message.contains("belongs to the user with id 12345"), "{answer}");
    // A folder that is safe says nothing of one that is reached through it.
    let around = notes(&base).strip_prefix(base.root().parent().unwrap()).unwrap().to_owned();
    let layers = format!("layers = [\"../{}\"]\n", around.display());
    settings(&base, &format!("{layers}safe.directories = [\"{}/*\"]\n", base.root().display()));
    assert_eq!(codes(&base.run(["search", "zebra", "--json"]).json(0)), ["layer"]);
    let trusted = format!("{BOTH}safe.directories = [\"{}\"]\n", notes(&base).display());
    settings(&base, &trusted);
    assert_eq!(found(&base.run(["search", "zebra", "--json"]).json(0)).len(), 3);
}

#[test]
fn a_text_that_is_not_shown_from_here_hides_none_of_a_layer() {
    let scoped = |base: &TestBase, scope: &str| {
        let head = format!("title: Gnu\ntags: [a]\nscope: {scope}\ncreated_at: \"2026-02-17T12:00:00Z\"");
        write(&base.root().join(".ralph/knowledge/gnu.md"), &format!("---\n{head}\n---\n\nIt eats grass.\n"));
    };
    for (scope, arguments) in [
        ("project", &["search", "gnu", "--tag", "x"][..]),
        ("feature:y", &["search", "gnu", "--scope", "project"]),
        ("feature:y", &["context", "--task", "The gnu eats grass"]),
        ("task:t-9", &["context", "--task", "The gnu eats grass"]),
        ("feature:y", &["context"]),
    ] {
        let base = three();
        entry(&notes(&base), "gnu", "Gnu", "It eats grass.");
        scoped(&base, scope);
        let answer = base.run(arguments).stdout;
        assert!(answer.contains("notes:knowledge/gnu"), "{scope} {arguments:?}: {answer}");
    }
}

#[test]
fn what_is_shown_of_a_layer_names_others_as_show_takes_them() {
    let base = three();
    let head = "title: Gnu\ntags: [x]\nsupersedes: [knowledge/zebra]";
    write(&notes(&base).join(".ralph/knowledge/gnu.md"), &format!("---\n{head}\n---\n\nSee [[lion]].\n"));
    entry(&notes(&base), "lion", "Lion", "It eats gnus.");
    let shown = base.run(["show", "notes:gnu", "--json"]).json(0)["entry"].clone();
    assert_eq!(shown["supersedes"], json!(["notes:knowledge/zebra"]));
    assert_eq!(shown["links"][0]["id"], "notes:knowledge/lion");
    let replaced = base.run(["show", "notes:zebra", "--json"]).json(0)["entry"].clone();
    assert_eq!(replaced["superseded_by"], json!(["notes:knowledge/gnu"]));
}

#[test]
fn a_title_with_a_colon_is_that_of_an_entry_from_here() {
    let base = three();
    entry(&base.root(), "own", "notes: zebra", "It is from here.");
    let shown = base.run(["show", "notes: zebra"]).answer(0);
    assert!(shown.contains("It is from here."), "{shown}");
    assert!(base.run(["show", "notes:zebra"]).answer(0).contains("Zebra nearby"));
}

#[test]
fn a_projects_own_file_names_no_layers() {
    let base = three();
    settings(&base, "");
    base.write(".ralph/config.toml", format!("format = 1\n{BOTH}"));
    let answer = base.run(["search", "zebra", "--json"]).json(0);
    assert_eq!((found(&answer), codes(&answer)), (vec![":knowledge/zebra".to_owned()], vec!["layers-in-project"]));
    // Nor does that of a layer.
    settings(&base, "layers = [\"~/notes\"]\n");
    base.write(".ralph/config.toml", "format = 1\n");
    write(&notes(&base).join(".ralph/config.toml"), "format = 1\nlayers = [\"../../platform\"]\n");
    let answer = base.run(["search", "zebra", "--json"]).json(0);
    assert_eq!((found(&answer).len(), codes(&answer).len()), (2, 0), "{answer}");
    // The environment does.
    let found_by = base.with(["search", "zebra", "--json"]).env("RALPH_MEMORY_LAYERS", "../platform").run().json(0);
    assert_eq!(found(&found_by), [":knowledge/zebra", "platform:knowledge/zebra"]);
}

#[test]
fn nothing_is_written_in_a_layer() {
    let base = three();
    // A memory of its own would get an index from this many entries on.
    for number in 0..40 {
        entry(&notes(&base), &format!("n-{number}"), &format!("Zebra {number}"), "It runs.");
        entry(&platform(&base), &format!("n-{number}"), &format!("Zebra no. {number}"), "It walks.");
    }
    // One layer has a cache, which is no longer current.
    let root = platform(&base);
    base.with(["index", "--root", root.to_str().unwrap()]).run().answer(0);
    assert!(root.join(".ralph/cache").is_dir() && !notes(&base).join(".ralph/cache").exists());
    entry(&root, "n-7", "Zebra no. 7", "It swims.");
    entry(&root, "last", "Zebra last", "It flies.");
    let before = [contents(&notes(&base)), contents(&root)];
    for arguments in
        ["search zebra --limit 100 --archived", "show platform:n-7", "context --task zebra", "context", "check"]
    {
        let ran = base.run(arguments.split(' '));
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!([contents(&notes(&base)), contents(&root)] == before, "{arguments:?}");
    }
    let found = found(&base.run(["search", "zebra swims flies", "--limit", "2", "--json"]).json(0));
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 2, "{found:?}");
    assert!(found.iter().all(|id| ["platform:knowledge/n-7", "platform:knowledge/last"].contains(&id.as_str())));
}

/// Opens the memory in this process, with both layers.
fn with_layers(base: &TestBase) -> Memory {
    let (own, layers) = (base.root(), format!("layers = [\"{}\", \"../platform\"]\n", notes(base).display()));
    let memory = Memory::open_for_user(Some(&own), &own, Some((&layers, "own")), [].into_iter()).unwrap();
    memory.keeping_in(StateFolders::new([base.state_folder()]))
}

/// What a search finds: layer, id and score.
type Found = Vec<(Option<String>, String, f64)>;

fn listed(hits: &[Hit]) -> Found {
    let place = |hit: &Hit| (hit.entry.layer.clone(), hit.entry.id.to_string(), hit.score);
    hits.iter().map(place).collect()
}

/// Returns what a search of one memory with the knowledge of all of these finds, without what an earlier one of them has as
/// well.
fn undivided(roots: &[(Option<&str>, &Path)], query: &Query) -> Found {
    let copy = tempfile::tempdir().unwrap();
    Memory::init(copy.path()).unwrap();
    let mut earlier = HashSet::new();
    for (number, (_, root)) in roots.iter().enumerate() {
        let memory = Memory::open(root).unwrap();
        let live = memory.list(&EntryFilter::default()).entries;
        let view = |id| memory.show(&id).unwrap().entry;
        let texts: Vec<_> = live.into_iter().map(|entry| view(entry.id)).collect();
        for view in &texts {
            let is_known = earlier.contains(&(view.summary.title.clone(), view.body.clone()));
            let path = format!(".ralph/knowledge/{number}-{is_known}-{}.md", view.summary.id.stem());
            write(&copy.path().join(path), &fs::read_to_string(root.join(view.summary.path.as_str())).unwrap());
        }
        earlier.extend(texts.into_iter().map(|view| (view.summary.title, view.body)));
    }
    let hits = Memory::open(copy.path()).unwrap().search(query, 1_000).unwrap().hits;
    let place = |hit: Hit| {
        let mut parts = hit.entry.id.stem().splitn(3, '-');
        let (layer, _) = roots[parts.next()?.parse::<usize>().ok()?];
        let is_known = parts.next()? == "true" && layer.is_some();
        let name = layer.map_or(String::new(), |layer| format!("{layer}:"));
        let id = format!("{name}knowledge/{}", parts.next()?);
        (!is_known).then(|| (layer.map(str::to_owned), id, hit.score))
    };
    hits.into_iter().filter_map(place).collect()
}

/// Fails unless both have the same entries with the same scores, the best first.
fn check_scores(found: &Found, expected: &Found, what: &str) {
    assert!(found.is_sorted_by(|one, other| one.2 >= other.2), "{what}: {found:?}");
    let sorted = |all: &Found| {
        let mut all: Vec<_> =
            all.iter().map(|(layer, id, score)| (layer.clone(), id.clone(), score.to_bits())).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(found), sorted(expected), "{what}: {found:?} {expected:?}");
}

#[test]
fn scores_are_those_of_one_memory_with_all_entries() {
    let base = three();
    let (notes, platform, own) = (notes(&base), platform(&base), base.root());
    let places = [(None, own.as_path()), (Some("notes"), notes.as_path()), (Some("platform"), platform.as_path())];
    let open = |root: &Path| Memory::open(root).unwrap().keeping_in(StateFolders::new([base.state_folder()]));
    let words = ["zebra", "gnu", "hay", "grass", "river", "stone"];
    for seed in 1..=3 {
        let mut random = Random(seed);
        for step in 0..20 {
            // Two facts of one title would contradict each other in one memory, and not in two.
            let at = random.below(places.len());
            let memory = open(places[at].1);
            let live = memory.list(&EntryFilter::default()).entries;
            let title = (*random.pick(&words[2 * at..2 * at + 2])).to_owned();
            let body = (*random.pick(&words)).to_owned();
            match random.below(4) {
                0 if live.len() > 2 => drop(memory.archive(&[random.pick(&live).id.clone()]).unwrap()),
                1 if !live.is_empty() => {
                    // The title may be taken.
                    let _ = memory.change(&random.pick(&live).id.clone(), &EntryChanges::titled(title));
                }
                2 => {
                    let all = EntryFilter { archived: true, ..EntryFilter::default() };
                    if let Some(entry) = memory.list(&all).entries.iter().find(|entry| entry.archived) {
                        let _ = memory.restore(&entry.id, None);
                    }
                }
                _ => drop(memory.add(&Knowledge::new(title, ["x"], body))),
            }
            let query = Query { text: format!("{} {}", random.pick(&words), random.pick(&words)), ..Query::default() };
            let found = with_layers(&base).search(&query, 1_000).unwrap();
            assert_eq!(found.problems, []);
            let expected = undivided(&places, &query);
            check_scores(&listed(&found.hits), &expected, &format!("seed {seed}, step {step}, {:?}", query.text));
        }
    }
}
