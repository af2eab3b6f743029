//! Work trees of one clone: what one of them recorded, all know, also when it is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Ran, TestBase, git, ids};

/// A repository with a memory, and linked work trees beside it.
struct Clone(TestBase);

impl Clone {
    fn new() -> Clone {
        let base = TestBase::new();
        git(&base, &["init", "--quiet", "--initial-branch=main"]);
        Clone(base).with_commit()
    }

    fn with_commit(self) -> Clone {
        self.commit("first");
        self
    }

    fn commit(&self, message: &str) {
        git(&self.0, &["add", "--all"]);
        git(&self.0, &["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Adds a work tree, on a branch of its name.
    fn add(&self, name: &str) -> PathBuf {
        let path = self.tree(name);
        git(&self.0, &["worktree", "add", "--quiet", "-b", name, path.to_str().unwrap()]);
        path
    }

    fn tree(&self, name: &str) -> PathBuf {
        self.0.root().with_file_name(name)
    }

    fn remove(&self, name: &str) {
        git(&self.0, &["worktree", "remove", "--force", self.tree(name).to_str().unwrap()]);
    }

    fn run(&self, folder: &Path, arguments: &[&str]) -> Ran {
        self.0.with(arguments).folder(folder).run()
    }

    /// Records a failed attempt in a work tree, and returns its id.
    fn fail(&self, folder: &Path, task: &str, run: &str, why: &str) -> String {
        let arguments = ["record", "--task", task, "--run", run, "--outcome", "failed", "--json"];
        let report = format!("<failure-report>what_tried: {why}\nwhy_failed: {why}</failure-report>");
        let ran = self.0.with(arguments).folder(folder).input(report).run();
        ran.json(0)["attempt"]["id"].as_str().unwrap().to_owned()
    }

    /// Returns the ids of the attempts that a work tree knows, sorted.
    #[track_caller]
    fn known(&self, folder: &Path) -> Vec<String> {
        let log: Value = self.run(folder, &["log", "--limit", "1000", "--json"]).json(0);
        let mut known = ids(&log["attempts"]);
        known.sort();
        known
    }

    /// Returns the folder of the copies.
    fn copies(&self) -> PathBuf {
        let found = fs::read_dir(self.0.at(".git/ralph-memory")).unwrap();
        let mut folders: Vec<PathBuf> = found.map(|found| found.unwrap().path()).collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        folders.remove(0)
    }
}

#[test]
fn each_work_tree_knows_the_attempts_of_all_once() {
    let clone = Clone::new();
    let (root, one, two) = (clone.0.root(), clone.add("one"), clone.add("two"));
    let first = clone.fail(&one, "Keep the connection open", "run-a", "zebra sockets");
    let second = clone.fail(&two, "Keep the connection open", "run-b", "pings");
    let expected = [first.as_str(), second.as_str()];
    for folder in [&root, &one, &two] {
        assert_eq!(clone.known(folder), expected);
        let found = clone.run(folder, &["search", "zebra", "--kind", "journal", "--json"]).json(0);
        assert_eq!(ids(&found["entries"]), [expected[0]], "{}", folder.display());
        let context = clone.run(folder, &["context", "--task", "Keep the connection open"]).stdout;
        assert_eq!(context.matches("**Approach:** zebra sockets").count(), 1, "{context}");
        assert!(context.contains("**Approach:** pings"), "{context}");
        // The run of another work tree goes on there, and the state of its files says nothing here.
        let run = if folder == &root { "0/0" } else { "0/1" };
        assert!(context.contains(run) && !context.contains("back in a state"), "{context}");
        let shown = clone.run(folder, &["show", &first]).answer(0);
        assert!(shown.contains("zebra sockets"), "{shown}");
    }
    // The files are those of the tree that recorded.
    assert!(one.join(".ralph/journal/run-a/0001.md").is_file() && !root.join(".ralph/journal/run-a").exists());
    assert_eq!(git(&clone.0, &["status", "--porcelain"]), "");
    // A branch that hides the file does not hide the attempt.
    clone.run(&one, &["check"]).says(0, "");
    clone.remove("one");
    clone.remove("two");
    assert_eq!(clone.known(&root), expected);
    // Restored, it is a file to commit.
    clone.run(&root, &["restore", &first]).says(0, "");
    assert!(clone.0.read(".ralph/journal/run-a/0001.md").contains("zebra sockets"));
    assert_eq!(clone.known(&root), expected);
    // Taken back, it is where it was.
    clone.run(&root, &["undo"]).says(0, "");
    assert!(!root.join(".ralph/journal/run-a").exists());
    assert_eq!(clone.known(&root), expected);
}

#[test]
fn what_git_does_to_the_files_loses_no_attempt() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let id = clone.fail(&root, "Sort the list", "run-a", "bubble");
    let known = [id.as_str()];
    let steps: [&[&[&str]]; 5] = [
        &[&["clean", "-fdxq"]],
        &[&["stash", "--include-untracked", "--quiet"]],
        &[&["add", "--all"], &["commit", "--quiet", "-m", "x"], &["reset", "--quiet", "--hard", "HEAD~1"]],
        &[&["checkout", "--quiet", "-b", "other"], &["gc", "--quiet", "--prune=now"]],
        &[&["commit", "--quiet", "--allow-empty", "-m", "y"], &["rebase", "--quiet", "main"]],
    ];
    for commands in steps {
        for command in commands {
            git(&clone.0, command);
        }
        assert_eq!(clone.known(&root), known, "{commands:?}");
        assert_eq!(clone.known(&tree), known, "{commands:?}");
        let _ = clone.run(&root, &["restore", &id]);
    }
}

#[test]
fn a_number_belongs_to_one_attempt_in_all_work_trees() {
    let clone = Clone::new();
    let trees = [clone.0.root(), clone.add("one"), clone.add("two")];
    let record = |folder: &PathBuf| {
        let mut command =
            clone.0.with(["record", "--task", "Same", "--run", "nightly", "--outcome", "failed"]).command();
        let command = command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    for _ in 0..10 {
        let mut children: Vec<_> = trees.iter().map(record).collect();
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
    }
    let all: Vec<String> = (1..=30).map(|number| format!("journal/nightly/{number:04}")).collect();
    for folder in &trees {
        assert_eq!(clone.known(folder), all);
    }
}

#[test]
fn what_is_taken_back_or_forgotten_does_not_come_back() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let first = clone.fail(&root, "Sort the list", "run-a", "bubble");
    clone.run(&root, &["undo"]).says(0, "");
    assert_eq!((clone.known(&root), clone.known(&tree)), (vec![], vec![]));
    clone.run(&root, &["undo", "--redo"]).says(0, "");
    assert_eq!((clone.known(&root), clone.known(&tree)), (vec![first.clone()], vec![first.clone()]));
    // An attempt's id, as lists and people write it.
    clone.run(&root, &["archive", "run-a/1"]).says(0, "archived journal/run-a/0001");
    clone.run(&root, &["restore", "run-a/1"]).says(0, "restored journal/run-a/0001");
    clone.run(&root, &["archive", "--forget", "run-a/1"]).says(0, "");
    assert_eq!((clone.known(&root), clone.known(&tree)), (vec![], vec![]));
    assert!(!root.join(".ralph/journal/run-a/0001.md").exists());
    // Its number stays taken.
    assert_eq!(clone.fail(&tree, "Sort the list", "run-a", "heap"), "journal/run-a/0002");
}

#[test]
fn what_a_person_takes_out_of_an_attempt_goes_from_its_copy() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let id = clone.fail(&root, "Sort the list", "run-a", "zebra");
    let file = root.join(format!(".ralph/{id}.md"));
    let why = |folder: &Path| clone.run(folder, &["show", &id]).answer(0).contains("zebra");
    clone.run(&root, &["tidy"]).says(0, "");
    assert!(why(&root) && why(&tree));
    // As many bytes as before.
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("zebra", "horse")).unwrap();
    assert!(!why(&root) && why(&tree));
    clone.run(&root, &["tidy"]).says(0, "");
    assert!(!why(&root) && !why(&tree));
    fs::remove_file(file).unwrap();
    assert!(!why(&root), "what git's folder has is the text that was there last");
}

#[test]
fn an_archived_attempt_is_archived_in_all_work_trees_without_a_file_of_their_own() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let id = clone.fail(&root, "Sort the list", "run-a", "zebra");
    let is_found = |folder: &Path| {
        let found = clone.run(folder, &["search", "zebra", "--json"]);
        !ids(&found.json(found.code.unwrap())["entries"]).is_empty()
    };
    assert!(is_found(&root) && is_found(&tree));
    clone.run(&root, &["archive", &id]).says(0, "");
    assert!(!is_found(&root) && !is_found(&tree));
    assert_eq!((clone.known(&root), clone.known(&tree)), (vec![id.clone()], vec![id.clone()]));
    clone.run(&root, &["restore", &id]).says(0, "");
    assert!(is_found(&root) && is_found(&tree));
    // A tree that has no file of it may archive it too.
    clone.run(&tree, &["archive", &id]).says(0, "");
    assert!(is_found(&root) && !is_found(&tree));
}

#[test]
fn a_common_folder_that_cannot_be_written_is_said_and_made_up_for() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    // A file in the way is what root meets, whom no mode stops.
    clone.0.write(".git/ralph-memory", "");
    let id = clone.fail(&root, "Sort the list", "run-a", "bubble");
    assert_eq!((clone.known(&root), clone.known(&tree)), (vec![id.clone()], vec![]));
    let checked = clone.run(&root, &["check"]);
    assert!(checked.stdout.contains("has no copy of 1 attempt for the other work trees"), "{checked}");
    fs::remove_file(clone.0.at(".git/ralph-memory")).unwrap();
    // The next attempt of the run takes it along.
    clone.fail(&root, "Another", "run-a", "heap");
    assert_eq!(clone.known(&tree).len(), 2);
    assert!(!clone.run(&root, &["check"]).stdout.contains("has no copy of"));
}

#[test]
fn copies_that_were_not_made_here_are_named_and_not_read() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    clone.fail(&root, "Sort the list", "run-a", "bubble");
    let (copies, aside) = (clone.copies(), clone.0.root().with_file_name("aside"));
    // As an archive brings it: the same files with other inode numbers.
    fs::rename(&copies, &aside).unwrap();
    let copied = std::process::Command::new("cp").arg("-a").arg(&aside).arg(&copies).status().unwrap();
    assert!(copied.success());
    assert_eq!(clone.known(&tree), Vec::<String>::new());
    let checked = clone.run(&root, &["check"]);
    assert!(checked.stdout.contains("is not sealed with your key, so its attempts are not read"), "{checked}");
    // The next attempt gets a folder of its own, and nothing is lost.
    let id = clone.fail(&root, "Another", "run-b", "heap");
    assert_eq!(clone.known(&tree), [id]);
    assert!(copies.with_file_name(format!("{}-1", copies.file_name().unwrap().to_str().unwrap())).is_dir());
}

#[test]
fn a_git_file_leads_to_no_other_project() {
    let clone = Clone::new();
    clone.fail(&clone.0.root(), "Sort the list", "run-a", "bubble");
    let other = TestBase::new();
    let lead_to = |target: &Path| other.write(".git", format!("gitdir: {}\n", target.display()));
    lead_to(&clone.0.at(".git"));
    let log = || other.with(["log", "--json"]).env("XDG_STATE_HOME", clone.0.home().join(".local/state")).run().json(0);
    assert_eq!(ids(&log()["attempts"]), Vec::<String>::new());
    // A linked work tree is known by the path that git keeps of it.
    clone.add("one");
    lead_to(&clone.0.at(".git/worktrees/one"));
    assert_eq!(ids(&log()["attempts"]), Vec::<String>::new());
    // A folder of git's own form that an archive brings points wherever it likes.
    let common = clone.0.at(".git").display().to_string();
    lead_to(&other.at("g"));
    other.write("g/HEAD", "ref: refs/heads/main\n").write("g/commondir", &common).write("g/gitdir", "../.git\n");
    assert_eq!(ids(&log()["attempts"]), Vec::<String>::new());
    fs::remove_file(other.at(".git")).unwrap();
    other.write(".git/HEAD", "ref: refs/heads/main\n").write(".git/commondir", &common);
    assert_eq!(ids(&log()["attempts"]), Vec::<String>::new());
}

/// Whatever an archive that is unpacked inside of another project says of git's folder, nothing is written there.
/// Makes a hostile `.git` in a folder, which may lead to another.
type Make = fn(&Path, &Path);

#[test]
fn copies_are_written_into_no_other_projects_git_folder() {
    let outer = Clone::new();
    let allowed = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "part"];
    git(&outer.0, &allowed);
    let linked = outer.add("linked");
    let evil = outer.0.at("vendor/evil");
    let target = outer.0.root().with_file_name("target");
    fs::create_dir_all(&target).unwrap();
    let before = |folder: &str| outer.0.files(folder);
    let known = before(".git");
    let is_as_before = |what: &str| {
        assert_eq!(before(".git"), known, "{what}");
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "{what}");
    };
    let kinds: [(&str, Make); 9] = [
        ("a submodule of another path", |evil, _| {
            fs::write(evil.join(".git"), "gitdir: ../../.git/modules/part\n").unwrap();
        }),
        ("a folder of a submodule", |evil, _| {
            fs::write(evil.join(".git"), "gitdir: ../../.git/modules/part/refs\n").unwrap();
        }),
        ("the outer repository", |evil, _| fs::write(evil.join(".git"), "gitdir: ../../.git\n").unwrap()),
        ("a work tree of it", |evil, _| fs::write(evil.join(".git"), "gitdir: ../../.git/worktrees/linked\n").unwrap()),
        ("a link to it", |evil, _| std::os::unix::fs::symlink("../../.git", evil.join(".git")).unwrap()),
        ("a link in a folder of its own", |evil, target| {
            fs::create_dir(evil.join(".git")).unwrap();
            fs::write(evil.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
            std::os::unix::fs::symlink(target, evil.join(".git/ralph-memory")).unwrap();
        }),
        ("a common folder elsewhere", |evil, target| {
            fs::create_dir_all(evil.join("g/worktrees")).unwrap();
            fs::write(evil.join("g/HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(evil.join("g/commondir"), target.display().to_string()).unwrap();
            fs::write(evil.join("g/gitdir"), evil.join(".git").display().to_string()).unwrap();
            fs::write(evil.join(".git"), "gitdir: g\n").unwrap();
        }),
        ("modules that are a link", |evil, target| {
            fs::create_dir_all(evil.join("o/.git")).unwrap();
            fs::write(evil.join(".git"), "gitdir: ../../.git/modules/part/../part\n").unwrap();
            std::os::unix::fs::symlink(target, evil.join("o/.git/modules")).unwrap();
        }),
        ("nothing that is there", |evil, _| fs::write(evil.join(".git"), "gitdir: ../../.git/modules/none\n").unwrap()),
    ];
    for (what, make) in kinds {
        fs::create_dir_all(&evil).unwrap();
        outer.run(&evil, &["init", "--here"]).says(0, "");
        make(&evil, &target);
        outer.fail(&evil, "Sort the list", "run-a", "bubble");
        outer.run(&evil, &["check", "--fix"]).says(0, "");
        is_as_before(what);
        fs::remove_dir_all(&evil).unwrap();
    }
    // Real ones go on to work.
    for tree in [linked, outer.0.at("part")] {
        let id = outer.fail(&tree, "Sort the list", "run-b", "heap");
        assert!(outer.known(&tree).contains(&id));
    }
    assert_eq!(before(".git").iter().filter(|file| file.ends_with("run-b/0001.md")).count(), 2);
}

#[test]
fn another_home_has_copies_of_its_own() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let first = clone.fail(&tree, "Sort the list", "run-a", "bubble");
    let other = clone.0.home().join("other");
    let record = ["record", "--task", "Sort the list", "--run", "run-b", "--outcome", "failed"];
    let elsewhere = || clone.0.with(record).env("XDG_STATE_HOME", &other).run();
    elsewhere().answer(0);
    let second = clone.fail(&tree, "Sort the list", "run-a", "heap");
    elsewhere().answer(0);
    clone.remove("one");
    assert_eq!(clone.known(&root), [first.as_str(), &second, "journal/run-b/0001", "journal/run-b/0002"]);
    let checked = clone.run(&root, &["check"]).stdout;
    assert_eq!(checked.matches("is not sealed with your key").count(), 1, "{checked}");
}

impl Clone {
    /// Does something while git's common folder can be neither read nor written.
    fn while_unwritable(&self, act: impl Fn()) {
        let (folder, aside) = (self.0.at(".git/ralph-memory"), self.0.at(".git/aside"));
        let was_there = fs::rename(&folder, &aside).is_ok();
        fs::write(&folder, "").unwrap();
        act();
        fs::remove_file(&folder).unwrap();
        if was_there {
            fs::rename(&aside, &folder).unwrap();
        }
    }

    fn begin_session(&self, folder: &Path) {
        let input = serde_json::json!({"session_id": "s-1", "cwd": folder, "hook_event_name": "SessionStart"});
        self.0.with(["hook", "session-start"]).folder(folder).input(input.to_string()).run().answer(0);
    }
}

#[test]
fn nothing_is_removed_for_good_whose_copy_would_bring_it_back() {
    const ID: &str = "journal/run-a/0001";
    for arguments in [&["undo"][..], &["archive", "--forget", ID]] {
        let clone = Clone::new();
        let (root, tree) = (clone.0.root(), clone.add("one"));
        clone.fail(&tree, "Sort the list", "run-a", "zebra");
        clone.while_unwritable(|| {
            let refused = clone.run(&tree, arguments);
            let path = "run-a/0001.md";
            assert!(refused.code == Some(6) && refused.stderr.contains(path), "{arguments:?}: {refused}");
            assert!(refused.stderr.contains(".git/ralph-memory"), "{arguments:?}: {refused}");
        });
        assert_eq!((clone.known(&root), clone.known(&tree)), (vec![ID.to_owned()], vec![ID.to_owned()]));
        clone.run(&tree, arguments).says(0, "");
        assert_eq!((clone.known(&root), clone.known(&tree)), (vec![], vec![]));
    }
}

#[test]
fn an_attempt_recorded_while_nothing_could_be_copied_is_copied_when_it_can_be() {
    type Act = fn(&Clone, &Path);
    let before: [(&str, Act, Act); 4] = [
        ("unwritable", |_, _| (), |_, _| ()),
        (
            "off",
            |_, tree| fs::write(tree.join(".ralph/config.toml"), "format = 1\n[git]\ncommon = false\n").unwrap(),
            |_, tree| fs::write(tree.join(".ralph/config.toml"), "format = 1\n").unwrap(),
        ),
        (
            "no link",
            |_, tree| fs::rename(tree.join(".git"), tree.join("git")).unwrap(),
            |_, tree| fs::rename(tree.join("git"), tree.join(".git")).unwrap(),
        ),
        ("not sealed", |_, _| (), |clone, _| fs::write(clone.copies().join("seal"), "").unwrap()),
    ];
    for (name, prepare, repair) in before {
        for begins in [true, false] {
            let clone = Clone::new();
            let (root, tree) = (clone.0.root(), clone.add("one"));
            prepare(&clone, &tree);
            let record = || drop(clone.fail(&tree, "Sort the list", "run-a", "zebra"));
            if name == "unwritable" {
                clone.while_unwritable(record);
            } else {
                record();
            }
            repair(&clone, &tree);
            assert_eq!(clone.known(&root), Vec::<String>::new(), "{name}");
            let checked = clone.run(&tree, &["check"]).stdout;
            assert!(checked.contains("has no copy of 1 attempt for the other work trees"), "{name}: {checked}");
            if begins {
                clone.begin_session(&tree);
            } else {
                clone.run(&tree, &["tidy"]).says(0, "nothing to do");
            }
            assert_eq!(clone.known(&root), ["journal/run-a/0001"], "{name}");
            assert!(!clone.run(&tree, &["check"]).stdout.contains("has no copy of"), "{name}");
        }
    }
}

#[test]
fn attempts_that_git_has_for_all_are_not_copied() {
    let clone = Clone::new();
    let root = clone.0.root();
    clone.while_unwritable(|| drop(clone.fail(&root, "Sort the list", "run-a", "zebra")));
    clone.commit("attempt");
    clone.begin_session(&root);
    assert!(!clone.0.at(".git/ralph-memory").exists());
    assert!(!clone.run(&root, &["check"]).stdout.contains("has no copy of"));
}

#[test]
fn of_two_attempts_with_one_id_the_later_gets_another() {
    const ID: &str = "journal/run-a/0001";
    let clone = Clone::new();
    let (root, one, two) = (clone.0.root(), clone.add("one"), clone.add("two"));
    clone.while_unwritable(|| {
        clone.fail(&one, "Sort the list", "run-a", "bubble");
        clone.fail(&two, "Another task", "run-a", "heap");
    });
    clone.begin_session(&one);
    let checked = clone.run(&two, &["check"]).stdout;
    assert!(checked.contains("another work tree has another attempt with the id"), "{checked}");
    // What is done to one of them is not done to the other.
    clone.run(&two, &["archive", ID]).answer(0);
    clone.run(&two, &["restore", ID]).answer(0);
    assert_eq!(clone.known(&root), [ID]);
    clone.begin_session(&two);
    for folder in [&root, &one, &two] {
        assert_eq!(clone.known(folder), [ID, "journal/run-a/0002"]);
        assert!(clone.run(folder, &["show", ID]).answer(0).contains("bubble"));
        let second = clone.run(folder, &["show", "run-a/0002"]).answer(0);
        assert!(second.contains("heap") && !second.contains("0001"), "{second}");
    }
    assert!(!two.join(".ralph/journal/run-a/0001.md").exists());
    clone.run(&two, &["check"]).says(0, "");
}

#[test]
fn an_attempt_that_the_default_branch_has_keeps_its_number() {
    let clone = Clone::new();
    let (root, one) = (clone.0.root(), clone.add("one"));
    clone.while_unwritable(|| drop(clone.fail(&root, "Another task", "run-a", "heap")));
    clone.commit("attempt");
    clone.fail(&one, "Sort the list", "run-a", "bubble");
    clone.begin_session(&root);
    assert!(clone.0.read(".ralph/journal/run-a/0001.md").contains("heap"));
    assert!(clone.run(&root, &["check"]).stdout.contains("another work tree has another attempt with the id"));
}

#[test]
fn a_copy_is_not_overwritten_by_another_attempt_of_the_same_second() {
    let clone = Clone::new();
    let (root, one, two) = (clone.0.root(), clone.add("one"), clone.add("two"));
    fs::write(one.join("one.rs"), "// one").unwrap();
    fs::write(two.join("two.rs"), "// two").unwrap();
    let record = |folder: &Path, why: &str| {
        let arguments = ["record", "--task", "Same", "--run", "nightly", "--outcome", "failed"];
        let report = format!("<failure-report>what_tried: {why}\nwhy_failed: {why}</failure-report>");
        clone.0.with(arguments).now("2026-11-05T10:00:00Z").folder(folder).input(report).run().answer(0);
    };
    clone.while_unwritable(|| {
        record(&one, "bubble");
        record(&two, "insertion sort");
    });
    let tidy = |folder: &Path| {
        clone.0.with(["tidy"]).now("2026-11-05T11:00:00Z").folder(folder).run().says(0, "nothing to do");
    };
    tidy(&one);
    tidy(&two);
    clone.remove("one");
    clone.remove("two");
    assert!(clone.run(&root, &["show", "nightly/0001"]).answer(0).contains("bubble"));
    assert!(clone.run(&root, &["show", "nightly/0002"]).answer(0).contains("insertion sort"));
}

#[test]
fn the_copies_follow_a_memory_that_moves_in_its_repository() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let id = clone.fail(&tree, "Sort the list", "run-a", "bubble");
    let old = clone.copies();
    clone.remove("one");
    clone.begin_session(&root);
    fs::create_dir(root.join("pkgs")).unwrap();
    fs::rename(root.join(".ralph"), root.join("pkgs/.ralph")).unwrap();
    let moved = root.join("pkgs");
    // What is recorded first is kept as well.
    let second = clone.fail(&moved, "Another", "run-b", "heap");
    clone.begin_session(&moved);
    assert_eq!(clone.known(&moved), [id, second]);
    assert!(!old.exists() && clone.copies() != old);
}

#[test]
fn a_forgotten_attempt_stays_so_whoever_has_its_file() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let id = clone.fail(&tree, "Sort the list", "run-a", "bubble");
    // Where there is no file but the copy.
    clone.run(&root, &["archive", "--forget", &id]).answer(0);
    assert_eq!(clone.known(&root), Vec::<String>::new());
    // The file of the other work tree is that tree's own, and it is told.
    assert_eq!(clone.known(&tree), std::slice::from_ref(&id));
    let checked = clone.run(&tree, &["check"]).stdout;
    assert!(checked.contains("it was removed for good in another work tree"), "{checked}");
    assert!(checked.contains(&format!("`ralph-memory archive --forget {id}` removes it here, too")), "{checked}");
    clone.run(&tree, &["archive", &id]).answer(0);
    assert_eq!(clone.known(&root), Vec::<String>::new());
    assert_eq!(clone.run(&root, &["undo"]).code, Some(0));
    assert_eq!(clone.known(&root), [id]);
}

#[test]
fn a_link_in_gits_folder_is_not_followed_and_stops_no_record() {
    let clone = Clone::new();
    let outside = clone.0.home().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, clone.0.at(".git/ralph-memory")).unwrap();
    let id = clone.fail(&clone.0.root(), "Sort the list", "run-a", "bubble");
    assert_eq!(clone.known(&clone.0.root()), [id]);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(clone.run(&clone.0.root(), &["check"]).stdout.contains("has no copy of 1 attempt"));
}

#[test]
fn bare_repositories_submodules_and_monorepos_have_copies_of_their_own() {
    let clone = Clone::new();
    let place = clone.0.root().with_file_name("x").parent().unwrap().to_owned();
    let path = |name: &str| place.join(name);
    let (bare, one, two) = (path("bare.git"), path("one"), path("two"));
    git(&clone.0, &["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    for tree in [&one, &two] {
        let arguments = ["--git-dir", bare.to_str().unwrap(), "worktree", "add", "--quiet", "--detach"];
        git(&clone.0, &[arguments.as_slice(), &[tree.to_str().unwrap()]].concat());
    }
    let id = clone.fail(&one, "Sort the list", "run-a", "bubble");
    assert_eq!((clone.known(&two), clone.known(&clone.0.root())), (vec![id], vec![]));
    // Another memory in the same repository.
    let service = clone.0.root().join("services/api");
    fs::create_dir_all(&service).unwrap();
    clone.run(&service, &["init", "--here"]).answer(0);
    let id = clone.fail(&service, "Answer", "run-b", "slow");
    assert_eq!((clone.known(&service), clone.known(&clone.0.root())), (vec![id.clone()], vec![]));
    clone.commit("service");
    let tree = clone.add("three").join("services/api");
    assert_eq!(clone.known(&tree), [id]);
    // A submodule.
    let allowed = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare.to_str().unwrap(), "part"];
    git(&clone.0, &allowed);
    let part = clone.0.at("part");
    clone.fail(&part, "Part", "run-c", "missing");
    assert!(clone.0.at(".git/modules/part/ralph-memory").is_dir());
    assert_eq!(clone.known(&clone.0.root()), Vec::<String>::new());
}

#[test]
fn entries_of_a_work_tree_that_is_gone_are_named_and_brought_back() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    clone.run(&tree, &["add", "Ports", "--body", "Use 8443.", "--tags", "net"]).answer(0);
    assert!(!clone.run(&root, &["check"]).stdout.contains("Ports"));
    assert_eq!(clone.run(&root, &["search", "8443"]).code, Some(1), "it is not searched");
    clone.remove("one");
    let checked = clone.run(&root, &["check"]).stdout;
    assert!(checked.contains("`knowledge/ports`, which the work tree `one-"), "{checked}");
    clone.run(&root, &["restore", "ports"]).says(0, "");
    assert!(clone.0.read(".ralph/knowledge/ports.md").contains("Use 8443."));
    assert!(!clone.run(&root, &["check"]).stdout.contains("which the work tree"));
    // A later text comes back with the command that `check` names.
    clone.commit("ports");
    let other = clone.add("two");
    assert_eq!(clone.run(&other, &["add", "Ports", "--body", "Use 9443.", "--tags", "net"]).code, Some(0));
    clone.remove("two");
    let checked = clone.run(&root, &["check"]).stdout;
    let command = checked.split('`').find_map(|text| text.strip_prefix("ralph-memory restore ")).expect(&checked);
    let arguments: Vec<&str> = ["restore"].into_iter().chain(command.split(' ')).collect();
    clone.run(&root, &arguments).answer(0);
    assert!(clone.0.read(".ralph/knowledge/ports.md").contains("Use 9443."), "{command}");
}

#[test]
fn copies_go_90_days_after_the_default_branch_had_them() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let merged = clone.fail(&tree, "Merged", "run-a", "bubble");
    let open = clone.fail(&tree, "Open", "run-b", "heap");
    clone.run(&root, &["restore", &merged]).answer(0);
    clone.commit("squashed");
    let n_copies = || fs::read_dir(clone.copies().join("journal")).unwrap().count();
    // The files have this machine's times, so the program's clock is ahead of them.
    let tidy = |days: i64| {
        let now = chrono::Utc::now() + chrono::TimeDelta::days(days);
        clone.0.with(["tidy"]).now(&now.format("%Y-%m-%dT%H:%M:%SZ").to_string()).run().stdout
    };
    tidy(89);
    assert_eq!(n_copies(), 2);
    tidy(91);
    assert_eq!(n_copies(), 1);
    clone.remove("one");
    assert_eq!(clone.known(&root), [merged, open]);
}

#[test]
fn copies_are_switched_off() {
    let clone = Clone::new();
    let (root, tree) = (clone.0.root(), clone.add("one"));
    let off = |arguments: &[&str]| clone.0.with(arguments).env("RALPH_MEMORY_GIT__COMMON", "false").run();
    assert_eq!(off(&["record", "--task", "Quiet", "--outcome", "failed"]).code, Some(0));
    assert!(!clone.0.at(".git/ralph-memory").exists());
    clone.fail(&root, "Sort the list", "run-a", "bubble");
    assert_eq!(clone.known(&tree).len(), 1);
    let log = clone.0.with(["log", "--json"]).folder(&tree).env("RALPH_MEMORY_GIT__COMMON", "false").run().json(0);
    assert_eq!(ids(&log["attempts"]), [""; 0]);
}

#[test]
fn check_names_texts_that_removed_trees_wrote_over() {
    let clone = Clone::new();
    let root = clone.0.root();
    clone.run(&root, &["add", "Port", "--body", "It is 80."]).says(0, "created");
    clone.commit("port");
    let tree = clone.add("one");
    let later = clone.0.with(["add", "Port", "--body", "It is 8080."]).folder(&tree).now("2026-11-21T10:00:00Z").run();
    later.says(0, "updated");
    assert_eq!(clone.run(&tree, &["tidy"]).code, Some(0));
    clone.remove("one");
    let checked = clone.run(&root, &["check"]).answer(0);
    let of_tree =
        checked.split("restore knowledge/port --before ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    clone.run(&root, &["restore", "port", "--before", of_tree]).says(0, "restored");
    clone.run(&root, &["show", "port"]).says(0, "It is 8080.");
}
