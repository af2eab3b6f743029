//! `edit` keeps every text that a person saved, merges what others changed meanwhile, and accepts nothing that another
//! command would refuse.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use crate::support::{Ran, Run, TestBase};

/// Where drafts are kept.
const DRAFT: &str = ".ralph/state/drafts/ports.md";
const ENTRY: &str = ".ralph/knowledge/ports.md";

fn base() -> TestBase {
    let base = TestBase::new();
    base.entry("ports", "Ports", "net", "The proxy is on 80.\n\nThe database is on 5432.");
    base
}

/// Returns a call whose editor is a script; `$1` in it is the file.
fn with_editor<'a>(base: &'a TestBase, arguments: &[&str], script: &str) -> Run<'a> {
    base.write("../home/editor.sh", format!("{script}\n"));
    let editor = format!("sh {}", base.home().join("editor.sh").display());
    base.with(arguments).env("EDITOR", editor).env("PATH", std::env::var_os("PATH").unwrap())
}

fn edit(base: &TestBase, script: &str) -> Ran {
    with_editor(base, &["edit", "ports"], script).run()
}

fn retry(base: &TestBase, script: &str) -> Ran {
    with_editor(base, &["edit", "ports", "--retry"], script).run()
}

#[test]
fn what_an_editor_saved_is_kept_however_it_ends() {
    for (script, code, reason) in [
        ("echo Mine. >> \"$1\"; exit 1", 2, "ended with exit status: 1; nothing was changed"),
        ("echo Mine. >> \"$1\"; kill -9 $$", 2, "the editor `sh"),
        ("printf 'Mine. caf\\351\\n' >> \"$1\"", 4, "it is not UTF-8"),
    ] {
        let base = base();
        let before = base.read(ENTRY);
        let ran = edit(&base, script);
        assert!(ran.stderr.contains("`ralph-memory edit knowledge/ports --retry` opens it again"), "{ran}");
        ran.refuses(code, reason);
        assert_eq!(base.read(ENTRY), before);
        assert!(String::from_utf8_lossy(&fs::read(base.at(DRAFT)).unwrap()).contains("Mine."), "{script}");
        edit(&base, "true").refuses(2, "an earlier call kept a copy of `knowledge/ports`");
        retry(&base, "LC_ALL=C sed -i 's/ caf.*//' \"$1\"").says(0, "updated knowledge/ports");
        assert!(base.read(ENTRY).contains("Mine."));
        assert_eq!(base.files(".ralph/state/drafts"), [""; 0]);
    }
    let base = base();
    base.run(["edit", "ports"]).refuses(2, "no editor is set");
    let before = base.read(ENTRY);
    for (script, reason) in [
        ("sed -i s/^tags:/title:/ \"$1\"", "the key `title` is here for the second time"),
        ("echo 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzKEYzzzz' >> \"$1\"", "looks like a secret"),
    ] {
        edit(&base, script).refuses(4, reason);
        assert_eq!(base.read(ENTRY), before);
        fs::remove_file(base.at(DRAFT)).unwrap();
    }
    // Nothing was saved, so nothing is kept; what was not saved before a kill is the text of the entry.
    edit(&base, "exit 1").refuses(2, "nothing was changed");
    assert_eq!(base.files(".ralph/state/drafts"), [""; 0]);
    fs::create_dir_all(base.at(".ralph/state/drafts/bases")).unwrap();
    for path in [DRAFT, ".ralph/state/drafts/bases/ports.md"] {
        base.write(path, base.read(ENTRY));
    }
    edit(&base, "sed -i s/80/81/ \"$1\"").says(0, "updated knowledge/ports");
}

#[test]
fn what_others_changed_meanwhile_is_not_overwritten() {
    let base = base();
    let both = "sed -i 's/5432/6432/' \"$1\"; sed -i 's/on 80/on 81 by an agent/' .ralph/knowledge/ports.md";
    edit(&base, both).refuses(4, "was changed by another program");
    retry(&base, "true").refuses(2, "`knowledge/ports` changed since");
    assert!(base.read(DRAFT).contains("on 6432.") && base.read(ENTRY).contains("on 81 by an agent."));
}

#[test]
fn a_copy_that_is_too_large_for_an_entry_can_be_opened_again() {
    let base = base();
    edit(&base, "yes long | head -c 1500000 >> \"$1\"").says(2, "the limit of an entry is 1048576");
    retry(&base, "sed -i '/^long$/d; /^lo*n*g*$/d; s/80/81/' \"$1\"").says(0, "updated knowledge/ports");
    assert!(base.read(ENTRY).contains("on 81."));
}

#[test]
fn an_entry_is_edited_by_one_person_at_a_time() {
    let base = base();
    let script = "echo First. >> \"$1\"; echo open; read line";
    let mut first = with_editor(&base, &["edit", "ports", "--json"], script).command();
    let mut first = first.stdin(Stdio::piped()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // With `--json` the editor's output goes to standard error.
    let mut line = String::new();
    BufReader::new(first.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "open\n");
    for ran in [edit(&base, "true"), retry(&base, "true")] {
        ran.refuses(2, &format!("`knowledge/ports` is being edited by pid {}", first.id()));
    }
    first.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert!(base.read(ENTRY).contains("First."));
    edit(&base, "true").says(0, "unchanged knowledge/ports");
}

#[test]
fn an_edit_that_another_command_would_refuse_is_refused() {
    let base = base();
    base.run(["add", "Ports of 2027", "--tags", "net", "--body", "443.", "--supersedes", "ports"])
        .says(0, "created knowledge/ports-of-2027");
    base.run(["add", "Doc", "--tags", "a", "--body", "See [[Ports]]."]).says(0, "created knowledge/doc");
    let before = base.read(ENTRY);
    for (change, reason) in [
        (
            "s/^tags:.*/tags: [net]\\nsupersedes: [knowledge\\/ports-of-2027]/",
            "`knowledge/ports-of-2027` cannot replace",
        ),
        ("s/^tags:.*/tags: [net]\\nsupersedes: [knowledge\\/ports]/", "the entry supersedes itself"),
        ("s/^title:.*/title: ports OF 2027/", "`knowledge/ports-of-2027` already has the title"),
    ] {
        let ran = edit(&base, &format!("sed -i '{change}' \"$1\""));
        let reason = if reason.contains("cannot replace") { "cannot replace" } else { reason };
        ran.refuses(4, reason);
        assert_eq!(base.read(ENTRY), before);
        fs::remove_file(base.at(DRAFT)).unwrap();
    }
    // Another scope may have an entry of that title.
    edit(&base, "sed -i 's/^title:.*/title: ports OF 2027\\nscope: feature:x/' \"$1\"")
        .says(0, "updated knowledge/ports");
    base.run(["undo"]).says(0, "took back");
    base.run(["check"]).answer(0);
}

#[test]
fn links_that_an_edit_breaks_are_reported() {
    let base = base();
    base.run(["add", "Doc", "--tags", "a", "--body", "See [[Ports]] and [[ports]]."]).says(0, "created");
    let ran = edit(&base, "echo 'See [[nobody]], [[doc]] and [[Doc]].' >> \"$1\"");
    assert!(
        ran.stderr.contains("warning: .ralph/knowledge/ports.md:10: the link `[[nobody]]` leads to no entry"),
        "{ran}"
    );
    assert!(!ran.stderr.contains("[[doc]]") && !ran.stderr.contains("[[Doc]]"), "{ran}");
    ran.says(0, "updated knowledge/ports");
    // What the entry had before is not said again.
    let ran = edit(&base, "sed -i 's/^title:.*/title: Gates/' \"$1\"");
    assert!(!ran.stderr.contains("[[nobody]]"), "{ran}");
    ran.says(0, "warning: .ralph/knowledge/doc.md: the link `[[Ports]]` leads to no entry any more");
    let ran = edit(&base, "sed -i 's/^tags:.*/tags: [net]\\nsupersedes: [knowledge\\/gone]/' \"$1\"");
    ran.says(0, "`supersedes` names `knowledge/gone`, and there is no such entry");
}
