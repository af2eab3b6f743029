//! Setup in homes and projects whose files have every form: order, comments, line ends, indentation, byte order marks,
//! entries of others, servers, hooks and permissions that a person has
//! written before, and broken ones.
//!
//! Set up twice is set up once; set up and removed leaves the same bytes; whatever is there of others stays, also when
//! the record is lost or the file was changed since; a broken file, and one with an imitation of setup's entries, is
//! refused, and nothing of its client is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_memory::error::Severity;
use ralph_memory::memory::StateFolders;
use ralph_memory::setup::{PlannedAction, Setup, SetupClient, SetupOptions, SetupScope};

use crate::program::{Content, content_below};
use crate::random::Random;

#[path = "setups/configs.rs"]
mod configs;

use configs::Config;

/// What came of a campaign.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many configuration files were generated, and how many of them were broken.
    pub(crate) files: usize,
    pub(crate) broken: usize,
    /// In how many homes and projects an entry only looked like one of setup's.
    pub(crate) imitated: usize,
    /// In how many homes and projects everything was removed with the record, without it, and after a change.
    pub(crate) exact: usize,
    pub(crate) without_record: usize,
    pub(crate) changed: usize,
    /// How many clients were set up.
    pub(crate) clients: usize,
}

/// A home with a project in it.
struct Place {
    home: PathBuf,
    project: PathBuf,
}

impl Place {
    fn new(at: &Path) -> Place {
        let (home, project) = (at.join("home"), at.join("home/project"));
        fs::create_dir_all(&project).unwrap();
        Place { home, project }
    }

    fn setup(&self) -> Setup {
        let variable = |name: &str| (name == "HOME").then(|| self.home.clone().into_os_string());
        let program = Path::new("/usr/local/bin/ralph-memory");
        Setup::new(&self.project, program, StateFolders::of_user(&variable), &variable)
    }

    fn tree(&self) -> Content {
        content_below(&self.home, &|_| true)
    }

    fn apply(&self, clients: &[SetupClient], scope: SetupScope, options: SetupOptions) {
        let setup = self.setup();
        let plan = setup.plan(clients, scope, options).unwrap();
        let errors = plan.problems.iter().filter(|problem| problem.severity == Severity::Error);
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<&ralph_memory::Problem>::new());
        setup.apply(plan).unwrap();
    }

    fn remove(&self, clients: &[SetupClient], scope: SetupScope) {
        let setup = self.setup();
        setup.apply(setup.plan_removal(clients, scope).unwrap()).unwrap();
    }
}

/// Returns what setup writes where there is nothing: the files that can be edited, and those that are setup's own.
fn template(at: &Path, clients: &[SetupClient], scope: SetupScope, options: SetupOptions) -> BTreeMap<PathBuf, String> {
    let place = Place::new(at);
    place.apply(clients, scope, options);
    let files = place.tree().into_iter().filter_map(|(path, bytes)| {
        let path = PathBuf::from(path);
        let is_own = path.starts_with(".local") || path.ends_with("SKILL.md") || path.ends_with("ralph-memory.js");
        let is_own = is_own || path.ends_with("plugin.json");
        (!is_own).then_some((path, String::from_utf8(bytes?).unwrap()))
    });
    files.collect()
}

/// Generates configuration files until there are `size`, and sets clients up with them.
pub(crate) fn run(folder: &Path, size: usize, seed: u64) -> Outcome {
    let mut random = Random(seed);
    let mut outcome = Outcome::default();
    let mut round = 0;
    while outcome.files < size {
        let at = folder.join(round.to_string());
        one(&at, &mut random, &mut outcome);
        fs::remove_dir_all(at).unwrap();
        round += 1;
    }
    outcome
}

fn one(at: &Path, random: &mut Random, outcome: &mut Outcome) {
    let scope = if random.below(3) > 0 { SetupScope::Project } else { SetupScope::User };
    let users = [SetupClient::VsCode, SetupClient::AgentsMd];
    let all = SetupClient::ALL.iter().copied().filter(|client| scope == SetupScope::Project || !users.contains(client));
    let all: Vec<SetupClient> = all.collect();
    let clients: Vec<SetupClient> = (0..=random.below(3)).map(|_| *random.pick(&all)).collect();
    let mut flip = || random.below(2) == 0;
    let options = SetupOptions { each_prompt: flip(), allow_tools: flip(), no_tool_hook: flip() };
    let template = template(&at.join("template"), &clients, scope, options);
    let place = Place::new(&at.join("place"));
    let mut configs = BTreeMap::new();
    for (path, own) in &template {
        if random.below(5) == 0 {
            continue;
        }
        let config = Config::generate(path, own, random);
        let full = place.home.join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, config.text.as_bytes()).unwrap();
        configs.insert(path.clone(), config);
    }
    outcome.files += configs.len().max(1);
    outcome.clients += clients.len();
    if random.below(4) == 0 && !configs.is_empty() {
        outcome.broken += 1;
        return broken(&place, &configs, &clients, scope, options, random);
    }
    if let Some((path, config)) = configs.iter().find(|(_, config)| config.is_imitation) {
        outcome.imitated += 1;
        return refused(&place, path, config.text.as_bytes(), &clients, scope, options);
    }
    let before = place.tree();
    place.apply(&clients, scope, options);
    let after = place.tree();
    for (path, own) in &template {
        let text = String::from_utf8(after[path.to_str().unwrap()].clone().unwrap()).unwrap();
        match configs.get(path) {
            Some(config) => config.assert_has_own(path, &text, own),
            None => assert_eq!(&text, own, "{}", path.display()),
        }
    }
    assert!(place.setup().plan(&clients, scope, options).unwrap().is_empty(), "nothing is missing");
    place.apply(&clients, scope, options);
    assert_eq!(place.tree(), after, "set up twice is set up once");
    let is_exact_by_hand = configs.values().any(|config| config.is_exact_by_hand);
    match random.below(3) {
        kind if kind == 0 || kind == 1 && is_exact_by_hand => {
            outcome.exact += 1;
            place.remove(&clients, scope);
            assert_eq!(shown(&place.tree()), shown(&before), "set up and removed leaves the same bytes");
        }
        1 => {
            outcome.without_record += 1;
            let _ = fs::remove_dir_all(place.home.join(".local"));
            place.remove(&clients, scope);
            assert_foreign(&place, &configs, &template);
        }
        _ => {
            outcome.changed += 1;
            for (path, config) in &mut configs {
                let full = place.home.join(path);
                let text = config.change(path, &fs::read_to_string(&full).unwrap());
                fs::write(full, text).unwrap();
            }
            place.remove(&clients, scope);
            assert_foreign(&place, &configs, &template);
        }
    }
}

/// Fails unless everything of others, and nothing of setup's, is there.
fn assert_foreign(place: &Place, configs: &BTreeMap<PathBuf, Config>, template: &BTreeMap<PathBuf, String>) {
    for path in template.keys() {
        let text = fs::read_to_string(place.home.join(path)).ok();
        match configs.get(path) {
            Some(config) => config.assert_foreign(path, text.as_deref()),
            // opencode, or a person, may have written this key.
            None if text.as_ref().is_some_and(|text| text.contains("$schema")) => {
                assert_eq!(serde_json::from_str::<BTreeMap<String, String>>(&text.unwrap()).unwrap().len(), 1);
            }
            None => assert_eq!(text, None, "{}", path.display()),
        }
    }
    if configs.values().any(|config| config.is_exact_by_hand) {
        return;
    }
    let plan = place.setup().plan_removal(SetupClient::ALL, SetupScope::Project).unwrap();
    let changed = plan.files.iter().filter(|file| file.action != PlannedAction::Keep);
    let changed: Vec<String> = changed.map(|file| format!("{}\n{}", file.path.display(), file.diff)).collect();
    assert!(changed.is_empty(), "what setup would still remove: {}", changed.join("\n"));
}

/// Breaks a file, whose clients are then refused.
fn broken(
    place: &Place,
    configs: &BTreeMap<PathBuf, Config>,
    clients: &[SetupClient],
    scope: SetupScope,
    options: SetupOptions,
    random: &mut Random,
) {
    let paths: Vec<&PathBuf> = configs.keys().collect();
    let path = (*random.pick(&paths)).clone();
    let bytes = configs[&path].broken(&path, random);
    fs::write(place.home.join(&path), &bytes).unwrap();
    refused(place, &path, &bytes, clients, scope, options);
}

/// Fails unless the clients of a file are refused, and it keeps its bytes.
fn refused(
    place: &Place,
    path: &Path,
    bytes: &[u8],
    clients: &[SetupClient],
    scope: SetupScope,
    options: SetupOptions,
) {
    let before = place.tree();
    let setup = place.setup();
    let plan = setup.plan(clients, scope, options).unwrap();
    let refused = plan.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    assert!(refused > 0, "{}: {}", path.display(), String::from_utf8_lossy(bytes));
    let uses = |client: &SetupClient| !plan.clients.contains(client);
    let refused: Vec<SetupClient> = clients.iter().copied().filter(uses).collect();
    let planned = plan.clients.clone();
    setup.apply(plan).unwrap();
    assert_eq!(fs::read(place.home.join(path)).unwrap(), bytes, "a refused file is not touched");
    place.remove(&planned, scope);
    assert_eq!(shown(&place.tree()), shown(&before), "nothing of {refused:?} was written");
}

/// Returns a tree in a form that can be compared by eye.
fn shown(tree: &Content) -> BTreeMap<&str, Option<String>> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    tree.iter().map(|(path, bytes)| (path.as_str(), bytes.as_ref().map(text))).collect()
}
