//! The workflows run what there is, and build what a release is made of.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn workflows_run_pinned_actions_and_scripts_that_are_there() {
    for workflow in [".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let text = read(workflow);
        for line in text.lines().filter(|line| line.contains("uses: ") && !line.contains("uses: ./")) {
            let (commit, version) =
                line.split_once('@').and_then(|(_, pin)| pin.split_once(" # v")).unwrap_or_default();
            assert!(commit.len() == 40 && commit.chars().all(|digit| digit.is_ascii_hexdigit()), "{workflow}: {line}");
            assert!(!version.is_empty(), "{workflow}: {line}");
        }
        for script in text.lines().filter_map(|line| line.trim().strip_prefix("- run: .ci/")) {
            let script = format!(".ci/{}", script.split(' ').next().unwrap());
            assert!(read(&script).starts_with("#!"), "{workflow}: {script}");
        }
    }
}

#[test]
fn the_workflow_builds_every_target() {
    let workflow = read(".github/workflows/release.yml");
    let built: BTreeSet<&str> =
        workflow.lines().filter_map(|line| line.split("{ target: ").nth(1)?.split(',').next()).collect();
    let scripts = read(".ci/release/project.py");
    let list = scripts.split("TARGETS = [").nth(1).unwrap().split(']').next().unwrap();
    let known: BTreeSet<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!((built.len(), &built), (6, &known));
}
