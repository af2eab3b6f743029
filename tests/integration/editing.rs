//! `edit` opens the entry's own file, loses no text whatever the editor does, and accepts nothing that another command would
//! refuse.

use std::fs;

use crate::support::{PROGRAM, Ran, TestBase};

const ENTRY: &str = ".ralph/knowledge/ports.md";

fn base() -> TestBase {
    let base = TestBase::new();
    base.entry("ports", "Ports", "net", "The proxy is on 80.\n\nThe database is on 5432.");
    base
}

/// Edits the entry by a script; `$1` in it is the file.
fn edit(base: &TestBase, script: &str) -> Ran {
    base.write("../home/editor.sh", format!("{script}\n"));
    let editor = format!("sh {}", base.home().join("editor.sh").display());
    base.with(["edit", "ports"]).env("EDITOR", editor).env("PATH", std::env::var_os("PATH").unwrap()).run()
}

#[test]
fn a_valid_text_stays_however_the_editor_ends_and_undo_takes_it_back() {
    for script in ["sed -i s/80/81/ \"$1\"", "sed -i s/80/81/ \"$1\"; exit 1"] {
        let base = base();
        let before = base.read(ENTRY);
        edit(&base, script).says(0, "updated knowledge/ports");
        let after = base.read(ENTRY);
        assert!(after.contains("on 81.") && after.contains("updated_at: "), "{after}");
        assert!(base.run(["search", "81", "--json"]).answer(0).contains("on 81."), "the index follows");
        base.run(["undo"]).says(0, "took back");
        assert_eq!(base.read(ENTRY), before);
        let redone = base.run(["undo", "--redo"]);
        assert_eq!(redone.stdout.matches("ports.md").count(), 1, "{redone}");
        assert_eq!(base.read(ENTRY), after);
    }
    let base = base();
    edit(&base, "true").says(0, "unchanged knowledge/ports");
    edit(&base, "exit 1").refuses(2, "nothing was changed");
    base.run(["edit", "ports"]).refuses(2, "no editor is set");
}

#[test]
fn an_invalid_text_gives_way_to_the_old_one_and_undo_has_it() {
    let base = base();
    base.run(["add", "Ports of 2027", "--tags", "net", "--body", "443.", "--supersedes", "ports"]).answer(0);
    let before = base.read(ENTRY);
    for (script, reason) in [
        ("sed -i s/^tags:/title:/ \"$1\"", "the key `title` is here for the second time"),
        ("echo 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzKEYzzzz' >> \"$1\"", "looks like a secret"),
        ("printf 'caf\\351\\n' >> \"$1\"", "UTF-8"),
        ("yes long | head -c 1500000 >> \"$1\"", "the limit of an entry is 1048576"),
        (": > \"$1\"", "the file is empty"),
        ("sed -i 's/^title:.*/title: ports OF 2027/' \"$1\"", "`knowledge/ports-of-2027` already has the title"),
        ("sed -i 's/^tags:.*/tags: [net]\\nsupersedes: [knowledge\\/ports-of-2027]/' \"$1\"", "cannot replace"),
        ("sed -i 's/^tags:.*/tags: [net]\\nsupersedes: [knowledge\\/ports]/' \"$1\"", "cannot replace itself"),
    ] {
        let attempted = base.at("attempted");
        let ran = edit(&base, &format!("{script}; cp \"$1\" attempted"));
        assert!(ran.stderr.contains("undo` brings back yours"), "{ran}");
        ran.refuses(4, reason);
        assert_eq!(base.read(ENTRY), before, "{script}");
        base.run(["undo"]).says(0, "took back");
        assert_eq!(fs::read(base.at(ENTRY)).unwrap(), fs::read(attempted).unwrap(), "{script}");
        base.run(["undo", "--redo"]).says(0, "brought back");
        assert_eq!(base.read(ENTRY), before, "{script}");
    }
}

#[test]
fn nothing_is_restored_over_what_others_did_meanwhile() {
    // Another command changed it, and the editor saved nothing.
    let confirm = format!("{PROGRAM} edit ports --confirm > log");
    let base = base();
    edit(&base, &confirm).says(0, "unchanged knowledge/ports");
    assert!(base.read(ENTRY).contains("updated_at: "));
    // The editor saved, too.
    edit(&base, &format!("{PROGRAM} edit ports --tags web > log; sed -i s/80/81/ \"$1\""))
        .says(0, "another command changed");
    assert!(base.read(ENTRY).contains("on 81.") && base.read(ENTRY).contains("web"), "{}", base.read(ENTRY));
    edit(&base, &format!("{PROGRAM} edit ports --tags net > log; sed -i s/^tags:/title:/ \"$1\""))
        .refuses(4, "second time");
    assert!(
        base.read(ENTRY).contains("title: [\"net\"]") || base.read(ENTRY).contains("title: [net]"),
        "{}",
        base.read(ENTRY)
    );
}

#[test]
fn a_file_that_is_gone_or_a_link_stays_so_and_the_old_text_can_be_restored() {
    for (script, code) in [
        ("rm \"$1\"", 4),
        ("mv \"$1\" .ralph/knowledge/gates.md", 4),
        ("rm \"$1\"; ln -s ../../outside.md \"$1\"", 4),
        ("rm \"$1\"; mkdir \"$1\"", 6),
    ] {
        let base = base();
        base.write("outside.md", "Not of the memory.\n");
        let before = base.read(ENTRY);
        let ran = edit(&base, script);
        ran.refuses(code, "once the place is free, `ralph-memory undo` brings back the old text");
        assert_eq!(base.read("outside.md"), "Not of the memory.\n");
        assert!(fs::symlink_metadata(base.at(ENTRY)).is_ok_and(|found| !found.is_file()) || !base.at(ENTRY).exists());
        let _ = fs::remove_file(base.at(ENTRY));
        let _ = fs::remove_dir(base.at(ENTRY));
        base.run(["undo"]).says(0, "took back");
        assert_eq!(base.read(ENTRY), before, "{script}");
    }
}
