//! What imported decision records say of their status, and which of them replaces which.

use crate::support::TestBase;

/// A record of number 1 and one of number 3, each as its status or as a whole file, and what becomes of the first one:
/// whether the third replaces it, its status, and the third one's.
type Row = (&'static str, &'static str, bool, &'static str, &'static str);

/// Returns the text of a record. One with `@` in it is a whole file, with its heading there.
fn record(number: usize, title: &str, text: &str) -> String {
    let heading = format!("# {number}. {title}");
    if text.contains('@') {
        return text.replacen('@', &heading, 1) + "\n\n## Decision\n\nWe do it.\n";
    }
    format!("{heading}\n\n## Status\n\n{text}\n\n## Decision\n\nWe do it.\n")
}

/// Imports the records of all rows, each in a project of its own, with an accepted record of number 2.
fn imported(rows: &[Row]) -> TestBase {
    let base = TestBase::new();
    for (row, (old, new, ..)) in rows.iter().enumerate() {
        for (number, name, text) in [(1, "old", *old), (2, "two", "Accepted"), (3, "new", *new)] {
            let path = format!("packages/p{row}/docs/adr/{number:04}-{name}.md");
            base.write(&path, record(number, &format!("Row {row} {name}"), text));
        }
    }
    base.run(["import", "adr"]).says(0, &format!("{} added", rows.len() * 3));
    base
}

fn status_of(entry: &str) -> String {
    let status = entry
        .lines()
        .skip(1)
        .take_while(|line| *line != "---")
        .find_map(|line| line.strip_prefix("status: "))
        .unwrap_or_default();
    status.trim_matches('"').to_owned()
}

fn check(rows: &[Row]) {
    let base = imported(rows);
    let mut wrong = Vec::new();
    for (row, (old, new, is_replaced, of_old, of_new)) in rows.iter().enumerate() {
        let [first, second, third] =
            ["old", "two", "new"].map(|name| base.read(&format!(".ralph/knowledge/row-{row}-{name}.md")));
        let name = |name: &str| format!("knowledge/row-{row}-{name}");
        let supersedes =
            |entry: &str, id: &str| entry.lines().any(|line| line.starts_with("supersedes:") && line.contains(id));
        let found = (supersedes(&third, &name("old")), status_of(&first), status_of(&third));
        let expected = (*is_replaced, (*of_old).to_owned(), (*of_new).to_owned());
        let hidden = [(&first, "two"), (&first, "new"), (&second, "old"), (&second, "new"), (&third, "two")];
        if found != expected || hidden.iter().any(|(entry, id)| supersedes(entry, &name(id))) {
            wrong.push(format!("{old:?} / {new:?}\n  found {found:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn a_decision_in_force_is_not_hidden() {
    const A: &str = "Accepted";
    let of_old = [
        ("<!-- Proposed | Accepted | Superseded by ADR-0003 -->\n\nAccepted", "accepted"),
        ("Accepted\n\n```\nSuperseded by ADR-0003\n```", "accepted"),
        ("- [ ] Proposed\n- [x] Accepted\n- [ ] Superseded by ADR-0003", "accepted"),
        ("- [ ] Proposed\n- [x] Accepted", "accepted"),
        ("---\nstatus: \"{proposed | rejected | accepted | … | superseded by ADR-0003}\"\n---\n@", ""),
        ("---\nstatus: \"proposed | accepted | superseded by ADR-0003\"\n---\n@", ""),
        ("Accepted, partially superseded by ADR-0003", "accepted"),
        ("Partially superseded by ADR-0003", ""),
        ("Superseded in part by ADR-0003", ""),
        ("Superseded by ADR-0003 for mobile", ""),
        ("Superseded by ADR-0003, but only for mobile", ""),
        ("Superseded by ADR-0003\nfor mobile.", ""),
        ("Superseded by ADR-0003 (mobile)", ""),
        ("Accepted, not superseded by ADR-0003", "accepted"),
        ("Accepted. Will be superseded by ADR-0003 if load grows", "accepted"),
        ("May be superseded by ADR-0003.", ""),
        ("If load grows, superseded by ADR-0003", ""),
        ("Teilweise ersetzt durch ADR-0003", ""),
        ("ADR-0003に置き換えられる予定", ""),
        ("Superseded by PostgreSQL 3", "superseded"),
        ("Accepted. It will be\nsuperseded by ADR-0003.", "accepted"),
        ("@\n\nStatus: Accepted\n\n## Context\n\nWe ask if this is\n\nsuperseded by ADR-0003.", "accepted"),
        ("@\n\n| Status | Supersedes |\n|---|---|\n| Accepted | ADR-0003 |", "accepted"),
        ("@\n\n| Supersedes | Status |\n|---|---|\n| ADR-0003 | Accepted |", "accepted"),
        ("Accepted, but partly ersetzt durch ADR-0003", "accepted"),
        ("Accepted.\n\n- Superseded by ADR-0003 for the API\n  and nothing else", "accepted"),
        ("Superseded by ADR-0003. Only for mobile.", ""),
        ("Superseded by ADR-0003 — mobile", ""),
        ("Superseded by ADR-0003 or ADR-0002", ""),
        ("Should this be superseded by ADR-0003?", ""),
        ("Accepted\n\n> We asked whether it is superseded by ADR-0003.", "accepted"),
        ("---\nstatus: accepted\nsuperseded_by: null\n---\n@", "accepted"),
        ("---\nstatus: accepted\nsuperseded_by: []\n---\n@", "accepted"),
        ("@\n\n**Superseded by:** -\n**Status:** Accepted", "accepted"),
        ("Superseded by ADR-0003?", ""),
        ("Accepted\n\ne.g. superseded by ADR-0003", "accepted"),
        ("What is it: proposed, accepted, rejected, deprecated, superseded?", ""),
        ("Proposed, Accepted, Deprecated, Superseded by ADR-0003", ""),
        ("> Superseded by ADR-0003\n> in part", ""),
        ("[Superseded](0009-x.md) by [ADR-0003](https://example.com/issues/9)", ""),
    ];
    let of_new = [
        "Accepted\n\n<!-- Supersedes ADR-0001 -->",
        "Accepted\n\n```\nSupersedes ADR-0001\n```",
        "Accepted\n\nSupersedes parts of ADR-0001",
        "Accepted\n\nSupersedes ADR-0001 for mobile only",
        "Accepted\n\nSupersedes the section on caching of ADR-0001",
        "Accepted\n\nThis never supersedes ADR-0001.",
        "Accepted\n\nSupersedes nothing; extends ADR-0001",
        "Accepted\n\nSupersedes: none (ADR-0001 stays)",
        "Accepted\n\nReplaces REST. See ADR-0001",
        "Accepted\n\nSupersedes the cache of 2005 and 1 cron jobs.",
        "Accepted\n\nSupersedes [Use Java 1](0004-x4.md)",
        "Accepted\n\nSupersedes ADR-0001, ADR-0002 in part",
        "Accepted\n\nSupersedes ADR-0001-ADR-0002",
        "Accepted\n\nSupersedes ADR-0001 through ADR-0002",
        "Accepted\n\nSupersedes ADR-0001’s cache",
        "Accepted\n\nSupersedes ADR-0001\nfor the API only",
        "Accepted\n\nSupersedes ADR-0001, except for mails",
        "Accepted\n\nSupersedes:\n\n- ADR-0001 (partially)",
        "Accepted\n\nSupersedes [ADR-0001](../../../other/docs/adr/0001-old.md)",
        "Accepted\n\nSupersedes 1 of the two caches.",
        "Accepted\n\n- [ ] Supersedes ADR-0001",
        "Accepted\n\n## Links\n\n* Supersedes ADR-0001 in part\n* Extends [ADR-0001](0001-old.md)",
        "@\n\nWe think that this\nsupersedes ADR-0001.\n\nStatus: Accepted",
        "@\n\n## Status\n\nAccepted\n\n## Context\n\nSupersedes ADR-0001",
    ];
    let of_fields = ["ADR-0001 (partially)", "ADR-0001 in part", "ADR-0001, partially", "none (see ADR-0001)"];
    let mut rows: Vec<Row> = of_old.iter().map(|(old, status)| (*old, A, false, *status, "accepted")).collect();
    rows.extend(of_new.iter().map(|new| (A, *new, false, "accepted", "accepted")));
    rows.extend(of_fields.iter().map(|value| {
        let new = format!("---\nstatus: accepted\nsupersedes: {value}\n---\n@");
        (A, &*new.leak(), false, "accepted", "accepted")
    }));
    // What is not agreed replaces nothing, whichever of the two says it.
    for (new, status) in [
        ("Proposed\n\nSupersedes ADR-0001", "proposed"),
        ("Under construction\n\nSupersedes ADR-0001", ""),
        ("Not accepted, supersedes ADR-0001", "rejected"),
    ] {
        rows.push((A, new, false, "accepted", status));
    }
    rows.push(("Superseded by ADR-0003", "Proposed", false, "superseded", "proposed"));
    check(&rows);
}

#[test]
fn a_decision_that_is_replaced_is_superseded() {
    let mut rows: Vec<Row> = Vec::new();
    for new in [
        "Accepted, supersedes ADR-0001 and extends ADR-0002",
        "Accepted\n\nSupersedes ADR-0001, amended by ADR-0002",
        "Accepted\n\nSupersedes:\n\n- ADR-0001",
        "Accepted\n\nSupersedes:\n- ADR-0001",
        "Accepted\n\nSupersedes\n[ADR-0001](0001-old.md)",
        "Accepted\n\nSupersedes [9. E](0009-x9.md)\n\nSupersedes [1. T](0001-old.md)",
        "Accepted\n\nSuperseding ADR-0001",
        "Accepted\n\nSupercedes [1. Old](0001-old.md)",
        "@\n\n## Status\n\nAccepted\n\n### Supersedes\n\n* [Old](0001-old.md)\n* [[0009-x]]",
        "@\n\n- Status: Accepted\n- Supersedes: ADR-0001\n- Deciders: Ann",
        "@\n\n| Supersedes | Status |\n|---|---|\n| [1](0001-old.md) | Accepted |",
        "Accepted. Replaces ADR-0001 and ADR-0009.",
        "Accepted (2024-03-01), supersedes ADR 1.",
        "Accepted; this decision supersedes #1",
        "Accepted\n\nSupersedes [Use Java 2](./0001-old.md)",
        "Accepted\n\nSupersedes ADR-0001 (2024-01-02). See the notes for more.",
        "Accepted (supersedes ADR-0001, which was slow)",
        "Akzeptiert (löst ADR-0001 ab)",
        "Accepté, remplace ADR-0001",
        "已接受。取代 ADR-0001",
        "承認済み。ADR-0001を置き換える",
        "승인됨. ADR-0001을 대체함",
        "Принято, заменяет ADR-0001",
        "Accepted\n\n## Supersedes\n\n- [Old](0001-old.md)",
        "Accepted\n\n## Links\n\n* Supersedes [ADR-0001](0001-old.md)",
        "@\n\n| Status | Supersedes |\n|---|---|\n| Accepted | ADR-0001 |",
        "@\n\n| Status | Accepted |\n|---|---|\n| Supersedes | 1 |",
        "---\nStatus: accepted\nSupersedes: 0001\n---\n@",
        "---\nstatus: accepted\nsupersedes: [[0001-old]]\n---\n@",
        "---\nstatus: accepted\nobsoletes: docs/adr/0001-old.md\n---\n@",
        "---\nstatus: accepted\nREPLACES: [ADR-9, \"[Old](0001-old.md)\"]\n---\n@",
        "@\n\n**Status:** Accepted\n**Replaces:** ADR-0001",
    ] {
        rows.push(("Accepted", new, true, "accepted", "accepted"));
    }
    for (old, new) in [("title", "Row"), ("other", "Other")] {
        // A title may follow, but nothing else.
        let status = format!("Superseded by ADR-0003: {new} {} new", rows.len());
        let status: &str = status.leak();
        rows.push((status, "Accepted", old == "title", if old == "title" { "superseded" } else { "" }, "accepted"));
    }
    for old in [
        "## Superseded by\n\n[3](0003-new.md)",
        "Superseded on 2023-04-05 by ADR-0003",
        "Superseded by [ADR 9](0003-new.md)",
        "_Superseded by ADR-0003_",
        "Accepted\n\nSuperseded by ADR-0003",
        "~~Accepted~~\n\nSuperseded by [[0003-new]]. Kept for history.",
        "- [ ] Accepted\n- [x] Superseded by ADR-0003",
        "Has been replaced by ADR-3.",
        "@\n\n## Status: Superseded by ADR-0003\n\nSince May.",
        "@\n\n> **Superseded by [New](0003-new.md)**",
        "> [!WARNING]\n> This ADR has been superseded by ADR-0003.\n\n@",
        "@\n\n**NOTE: This ADR has been superseded by ADR-0003.**",
        "@\n\n| Status | Date |\n|---|---|\n| Superseded by ADR-0003 | 2020-02-02 |",
        "@\n\n| Date | Status |\n|---|---|\n| 2020 | Accepted |\n| 2021 | Superseded by [3](0003-new.md) |",
        "---\nreplaced_by: ADR-0003\n---\n@",
        "---\nObsoleted-By: 3\n---\n@",
        "---\nstatus: superseded by 0003\n---\n@",
        "ADR-0003に置き換えられた",
        "ADR-0003により置き換え",
        "ADR-0003로 대체됨",
        "已被 ADR-0003 取代",
        "Abgelöst durch ADR-0003",
        "Wurde durch ADR-0003 ersetzt",
        "Reemplazada por ADR-0003",
        "Substituído por ADR-0003",
        "Remplacée par ADR-0003",
        "Sostituita da ADR-0003",
        "Заменено на ADR-0003",
    ] {
        rows.push((old, "Accepted", true, "superseded", "accepted"));
    }
    rows.push(("Obsoleted by ADR-3", "Accepted", true, "superseded", "accepted"));
    rows.push(("ADR-0003 により廃止", "Accepted", true, "superseded", "accepted"));
    check(&rows);
}

#[test]
fn a_status_is_a_word_that_is_known_and_the_last_one_counts() {
    let rows: Vec<Row> = [
        ("Not accepted", "rejected"),
        ("Not yet approved", "proposed"),
        ("Under review", "proposed"),
        ("In review", "proposed"),
        ("On hold", "pending"),
        ("No longer valid", "deprecated"),
        ("Won't do", "rejected"),
        ("Draft", "draft"),
        ("Approved by the board", "accepted"),
        ("Something else", ""),
        ("Implemented", "accepted"),
        ("`Accepted`", "accepted"),
        ("✅ **Accepted** by all on 2024-02-01", "accepted"),
        ("Accepted | Proposed | Rejected", ""),
        ("{Accepted | Proposed}", ""),
        ("Idea", "draft"),
        ("Superseded", "superseded"),
        ("Superseded by the new platform", "superseded"),
        ("- [ ] Accepted\n- [x] Rejected", "rejected"),
        ("Accepted → Deprecated", "deprecated"),
        ("2024-01-01: Proposed\n\n2024-02-01: Accepted", "accepted"),
        ("- Proposed: 2024-01-01\n- Accepted: 2024-02-01", "accepted"),
        ("- Accepted: 2024-02-01\n- Proposed: 2024-01-01", "accepted"),
        ("Proposed → Accepted", "accepted"),
        ("Draft -> Accepted", "accepted"),
        ("Rejected → Accepted (2024-03-01)", "accepted"),
        ("Accepted (proposed 2024-01-01)", "accepted"),
        ("Accepted\n\nProposed changes to it are in ADR-9.", "accepted"),
        ("@\n\n| Status | Date |\n|---|---|\n| Accepted | 2020-02-02 |", "accepted"),
        ("@\n\n| Date | Status |\n|---|---|\n| 2020 | Proposed |\n| 2021 | Accepted |", "accepted"),
        ("@\n\n## Status: Rejected", "rejected"),
        ("Angenommen", "accepted"),
        ("Propuesto", "proposed"),
        ("Rejeitada", "rejected"),
        ("Déprécié", "deprecated"),
        ("Accettata", "accepted"),
        ("非推奨", "deprecated"),
        ("已拒绝", "rejected"),
        ("제안됨", "proposed"),
        ("Отклонено", "rejected"),
    ]
    .map(|(old, status)| (old, "Accepted", false, status, "accepted"))
    .to_vec();
    check(&rows);
}

#[test]
fn no_word_of_a_record_is_lost() {
    let base = TestBase::new();
    let cases: [(&str, &[&str], &[&str]); 11] = [
        ("Accepted for new services only; billing keeps SOAP until 2027", &["billing keeps SOAP"], &[]),
        ("Accepted\n\nPartially supersedes ADR-0004", &["Partially supersedes ADR-0004"], &[]),
        ("Accepted\n\nSupersedes ADR-0099", &["ADR-0099"], &[]),
        ("Accepted", &[], &["Accepted", "Status"]),
        ("- [ ] Proposed\n- [x] Accepted", &[], &["Proposed", "Status"]),
        ("Accepted\n\n- [ ] Move billing", &["Move billing"], &[]),
        ("@\n\n**Status:** Accepted | **Date:** 2024-01-01 | **Owner:** Ann", &["Owner:** Ann"], &[]),
        ("@\n\n* Status: Accepted\n* Date: 2024-01-01\n* Owner: Ann", &["Owner: Ann"], &["Status", "2024"]),
        ("Accepted\n\n## Context\n\nStatus: the old queue drops jobs.", &["Status: the old queue drops jobs."], &[]),
        ("---\nstatus: partially superseded by ADR-4\n---\n@", &["partially superseded by ADR-4"], &[]),
        ("---\nstatus: accepted\nsupersedes: ADR-4 (partially)\n---\n@", &["supersedes: ADR-4 (partially)"], &[]),
    ];
    for (row, (text, ..)) in cases.iter().enumerate() {
        base.write(&format!("packages/p{row}/docs/adr/0005-x.md"), record(5, &format!("Row {row}"), text));
    }
    base.run(["import", "adr"]).says(0, &format!("{} added", cases.len()));
    for (row, (text, kept, left_out)) in cases.iter().enumerate() {
        let entry = base.read(&format!(".ralph/knowledge/row-{row}.md"));
        let body = entry.splitn(3, "---\n").nth(2).unwrap();
        assert!(kept.iter().all(|words| body.contains(words)), "{text}\n{entry}");
        assert!(left_out.iter().all(|words| !body.contains(words)), "{text}\n{entry}");
    }
}

#[test]
fn a_proposed_note_replaces_no_other_and_keys_have_many_forms() {
    for (fields, is_replaced) in [
        ("supersedes: old", true),
        ("Replaces: \"[[old]]\"", true),
        ("status: accepted\nobsoletes: [old.md]", true),
        ("status: Proposed\nsupersedes: old", false),
        ("status: draft\nsupersedes: old", false),
        ("supersedes: old (partially)", false),
    ] {
        let base = TestBase::new();
        base.write("memory-bank/old.md", "# Old way\n\nCron runs it.\n");
        base.write("memory-bank/new.md", format!("---\n{fields}\n---\n# New way\n\nA queue runs it.\n"));
        base.run(["import", "memory-bank"]).says(0, "2 added");
        let entry = base.read(".ralph/knowledge/new-way.md");
        assert_eq!(entry.contains("supersedes: [knowledge/old-way]"), is_replaced, "{fields}\n{entry}");
    }
}
