//! What a release is made of agrees with itself, and with `Cargo.toml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const WORKFLOWS: [&str; 2] = [".github/workflows/ci.yml", ".github/workflows/release.yml"];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Returns the path of each text that names the project's own repository, which is `address` or anybody's at a forge.
fn naming_the_repository(files: impl Iterator<Item = (String, String)>, address: &str) -> Vec<String> {
    let own = concat!("/", env!("CARGO_PKG_NAME"));
    let is_name = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let names_it = |text: &str| {
        let at_a_forge = text.split("github.com").skip(1).any(|rest| {
            let path = rest.trim_start_matches([':', '/']);
            let owner = path.find(|character| !is_name(character)).unwrap_or(path.len());
            path[owner..]
                .strip_prefix(own)
                .is_some_and(|rest| !rest.starts_with(|next: char| next == '-' || is_name(next) && next != '.'))
        });
        at_a_forge || (!address.is_empty() && text.contains(address.trim_start_matches("https://")))
    };
    files.filter(|(_, text)| names_it(text)).map(|(path, _)| path).collect()
}

#[test]
fn the_address_of_the_repository_stands_in_one_place() {
    let named = |text: &str, address| {
        !naming_the_repository([("file".to_owned(), text.to_owned())].into_iter(), address).is_empty()
    };
    let own = concat!("github", ".com/someone/", env!("CARGO_PKG_NAME"));
    for text in [own, &format!("git@{}.git", own.replace(".com/", ".com:")), &format!("({own}/releases)")] {
        assert!(named(text, ""), "{text}");
    }
    assert!(
        named("see https://forge.example/a/b.", "https://forge.example/a/b")
            && !named("https://forge.example", "https://forge.example/a/b")
    );
    assert!(!named("github.com/someone/another ralph-memory", "") && !named(&format!("{own}-page"), ""));

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_made = |name: &str| ["target", ".git", "node_modules", "book"].contains(&name);
    let files =
        walkdir::WalkDir::new(root).into_iter().filter_entry(|file| !is_made(&file.file_name().to_string_lossy()));
    let files = files.map(Result::unwrap).filter(|file| file.file_type().is_file());
    let texts = files.filter_map(|file| {
        let path = file.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        fs::read_to_string(file.path()).ok().map(|text| (path, text))
    });
    let found = naming_the_repository(texts.filter(|(path, _)| path != "Cargo.toml"), env!("CARGO_PKG_REPOSITORY"));
    assert_eq!(found, Vec::<String>::new(), "the address comes from `repository` in Cargo.toml");
}

#[test]
fn the_workflow_builds_what_the_packages_are_made_of() {
    let workflow = read(".github/workflows/release.yml");
    let built: BTreeSet<&str> =
        workflow.lines().filter_map(|line| line.split("{ target: ").nth(1)?.split(',').next()).collect();
    let scripts = read(".ci/release/project.py");
    let table = scripts.split("TARGETS = {").nth(1).unwrap().split('}').next().unwrap();
    let known: BTreeSet<&str> =
        table.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect();
    assert_eq!((built.len(), &built), (6, &known));
}

#[test]
fn every_script_of_the_workflows_is_one_that_can_be_run() {
    let n_scripts = WORKFLOWS.map(|workflow| {
        let text = read(workflow);
        let words = text.split_whitespace().filter(|word| word.starts_with(".ci/"));
        let scripts: BTreeSet<&str> = words.map(|word| word.trim_end_matches(['.', ',', ';', '`'])).collect();
        for script in &scripts {
            assert!(read(script).starts_with("#!"), "{workflow}: {script}");
        }
        scripts.len()
    });
    assert!(n_scripts[0] >= 4 && n_scripts[1] >= 7, "{n_scripts:?}");
}

#[test]
fn actions_are_pinned_by_commit() {
    for workflow in WORKFLOWS {
        for line in read(workflow).lines().filter(|line| line.contains("uses: ") && !line.contains("uses: ./")) {
            let (_, pin) = line.split_once('@').unwrap();
            let (commit, version) = pin.split_once(" # v").unwrap_or_default();
            assert!(commit.len() == 40 && commit.chars().all(|digit| digit.is_ascii_hexdigit()), "{workflow}: {line}");
            assert!(!version.is_empty(), "{workflow}: {line}");
        }
    }
}

#[test]
fn the_description_fits_where_it_is_shown() {
    // Homebrew allows 80 characters, and the MCP registry 100; a formula does not begin with an article.
    let description = env!("CARGO_PKG_DESCRIPTION");
    assert!(
        description.chars().count() <= 80 && !description.starts_with("The ") && !description.ends_with('.'),
        "{description}"
    );
}
