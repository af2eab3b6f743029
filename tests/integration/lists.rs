//! Lists of the page: a number that is a link leads to as many things, who wrote an entry, and which attempt did.

use crate::serving::{PageProcess, figure, hidden, main_of};
use crate::support::TestBase;
use crate::timeline::attempt;

/// Writes an entry that an attempt of a run wrote.
fn learned(base: &TestBase, stem: &str, at: &str, fields: &str) {
    let head = format!("title: {stem}\ntags: [x]\nsource: agent\ncreated_at: {at}\n{fields}");
    base.write(&format!(".ralph/knowledge/{stem}.md"), format!("---\n{head}\n---\n\nThe proxy restarts.\n"));
}

/// Returns a memory in which something was reused, recovered, met again and got stuck, this week and before. It is the 20th, 10 o'clock.
fn varied() -> TestBase {
    let base = TestBase::new();
    for (stem, tags) in [("fact-a", "ci"), ("fact-b", "ci/cache"), ("fact-c", "cafe"), ("fact-d", "café, ci")] {
        base.entry(stem, &format!("The {stem}"), tags, "The proxy restarts.");
    }
    learned(&base, "theirs", "2026-11-19T10:00:00Z", "feature: api");
    let error = "## Error output\n\nerror: the pool is exhausted\n";
    let knows = |ids: &str| format!("outcome: done\nfeature: api\nmodel: opus\ncontext: [{ids}]");
    let of =
        |run: &str, at: &str, fields: &str, body: &str| attempt(&base, run, &format!("2026-11-{at}Z"), fields, body);
    // A week ago, to the day, and two hours more than that.
    of("run-a/1", "13T08:00:00", &format!("task_id: t-old\n{}", knows("knowledge/fact-c")), "");
    of("run-a/2", "01T08:00:00", "task_id: t-met", error);
    of("run-b/1", "18T08:00:00", "task_id: t-met\nmodel: sonnet", error);
    of("run-b/2", "18T09:00:00", &format!("task_id: t-met\n{}", knows("knowledge/fact-a, knowledge/gone")), "");
    of("run-b/3", "19T08:00:00", &format!("task_id: t-one\n{}", knows("knowledge/fact-a, knowledge/fact-b")), "");
    of("run-b/4", "19T09:00:00", "task_id: t-two\noutcome: done", "");
    for task in 0..14 {
        for number in 1..=3 {
            let fields = format!("task_id: t-stuck-{task}\ntask_title: Sort the index {task}\nfeature: sorting");
            let at = format!("2026-11-{:02}T11:0{number}:00Z", 5 + task);
            attempt(&base, &format!("run-{task}/{number}"), &at, &fields, "");
        }
    }
    base
}

/// Returns what a text of a page shows, without its tags.
fn shown(html: &str) -> String {
    html.split('<').map(|part| part.split_once('>').map_or("", |(_, text)| text)).collect()
}

/// Returns the number of things that a link promises, with the address of their list: `3`, `All 3 attempts`, a tag's and a column's.
fn promised(link: &str) -> Option<(usize, String)> {
    let (tag, content) = link.split_once('>')?;
    let address = tag.split("href=\"").nth(1)?.split('"').next()?.replace("&amp;", "&");
    let text = shown(&format!("a>{}", content.split("</a>").next()?)).replace(',', "");
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = match &words[..] {
        [number] | ["All", number, _] => number.parse().ok()?,
        [.., number] if tag.contains("class=\"tag\"") => number.parse().ok()?,
        [day, number, "attempt" | "attempts"] if day.ends_with(':') => number.parse().ok()?,
        _ => return None,
    };
    Some((count, address))
}

/// Returns how many things a list has, on all of its pages.
fn listed(server: &PageProcess, address: &str) -> usize {
    let (page, fragment) = address.trim_start_matches("./").split_once('#').unwrap_or((address, ""));
    let next = if page.contains('?') { '&' } else { '?' };
    let rows = |html: &str| {
        let main = main_of(html);
        let of_fragment = |main: &str| {
            let from = main.split(&format!("id=\"{fragment}\"")).nth(1).unwrap_or_else(|| panic!("{address}: {main}"));
            from.split("<h2").next().unwrap().to_owned()
        };
        let main = if fragment.is_empty() { main.to_owned() } else { of_fragment(main) };
        main.matches("<li class=\"row").count() + main.matches("scope=\"row\"").count()
    };
    let first = server.page(page);
    let pages = main_of(&first).split(", page 1 of ").nth(1);
    let pages: usize = pages.map_or(1, |rest| rest.split('<').next().unwrap().parse().unwrap());
    rows(&first) + (2..=pages).map(|number| rows(&server.page(&format!("{page}{next}page={number}")))).sum::<usize>()
}

#[test]
fn a_number_that_is_a_link_leads_to_as_many_things() {
    let base = varied();
    let server = PageProcess::start(&base);
    let mut followed = 0;
    for page in [
        "",
        "features",
        "feature?id=api",
        "feature?id=sorting",
        "timeline",
        "entries",
        "entries?kind=all",
        "entries?tag=ci",
        "task?id=t-met",
        "run?id=run-b",
        "entry?id=fact-a",
        "context",
        "health",
    ] {
        let html = server.page(page);
        for (count, address) in main_of(&html).split("<a ").skip(1).filter_map(promised) {
            let address = if address.starts_with('#') { format!("{page}{address}") } else { address };
            assert_eq!(listed(&server, &address), count, "{page} has {count}, which leads to {address}");
            followed += 1;
        }
    }
    assert!(followed > 30, "{followed}");
    let now = server.page("");
    let figures = ["Stuck", "Facts reused", "Successes with a fact", "Successes after a failure", "Repeated errors"];
    assert_eq!(figures.map(|name| figure(&now, name)), ["14", "3", "2", "1", "1"], "{now}");
    let facts = server.page("reuse?of=facts");
    assert!(facts.contains("The fact-a") && facts.contains("knowledge/gone") && !facts.contains("fact-c"), "{facts}");
    let recovered = server.page("reuse?of=recovered");
    assert!(recovered.contains("journal%2Frun-b%2F0002") && !recovered.contains("run-a"), "{recovered}");
}

#[test]
fn lists_say_which_entries_agents_wrote() {
    let base = TestBase::new();
    base.run(["add", "Use make", "--tags", "build", "--body", "It builds all."]).says(0, "created");
    base.run(["add", "Use mold", "--tags", "build", "--body", "It links.", "--source", "agent"]).says(0, "created");
    learned(&base, "reviewed", "2026-11-19T10:00:00Z", "");
    let expired = "expires_at: 2026-11-19T12:00:00Z";
    learned(&base, "expired", "2026-11-19T10:00:00Z", expired);
    attempt(&base, "run-a/1", "2026-11-19T10:00:00Z", "source: agent", "");
    let server = PageProcess::start(&base);
    let row = |page: &str, title: &str| {
        let html = server.page(page);
        let row =
            html.split("<li class=\"row").find(|row| row.contains(title)).unwrap_or_else(|| panic!("{title}: {html}"));
        row.split("</li>").next().unwrap().to_owned()
    };
    for page in ["entries", "search?q=use+mold+make", "", "health"] {
        let (theirs, ours) = if page.is_empty() || page == "health" {
            (row(page, "written by agent"), row(page, ">Use make<"))
        } else {
            (row(page, "Use mold"), row(page, "Use make"))
        };
        assert!(theirs.contains("by agent") && !ours.contains("by "), "{page}: {theirs} {ours}");
    }
    assert!(!row("entries?kind=journal", "Fix the login").contains("by agent"), "an attempt is never a person's");
    let of = |author: &str| {
        let html = server.page(&format!("entries?author={author}"));
        let has =
            ["Use make", "Use mold", "reviewed", "expired"].map(|title| main_of(&html).contains(&format!(">{title}<")));
        let selected = format!("<option value=\"{author}\" selected>");
        assert!(html.contains(&selected) && !html.contains("name=\"unreviewed\""), "{author}: {html}");
        has
    };
    assert_eq!(of("people"), [true, false, false, false]);
    assert_eq!(of("agents"), [false, true, true, true]);
    assert_eq!(of("unreviewed"), [false, true, true, false]);
    assert_eq!(of(""), [true; 4]);
}

#[test]
fn a_form_that_changes_nothing_says_so() {
    let base = TestBase::new();
    base.run(["add", "Use make", "--tags", "build", "--body", "It builds all."]).says(0, "created");
    let server = PageProcess::start(&base);
    let seen = hidden(&server.page("edit?id=use-make"), "seen").to_owned();
    let fields =
        format!("token={}&id=use-make&seen={seen}&title=Use+make&tags=build&body=It+builds+all.", server.token);
    let saved = server.post("edit", &fields, &[]);
    let added = server.post("add", &format!("{}&", fields.replace("id=", "other=")), &[]);
    for answer in [saved, added] {
        assert!(answer.status == 303 && answer.head.contains("done=nothing"), "{answer:?}");
    }
    let page = server.page("entry?id=use-make&done=nothing");
    assert!(page.contains("Nothing was changed.") && !page.contains("Changed."), "{page}");
    assert!(!page.contains("Written."), "{page}");
}

#[test]
fn an_attempt_and_what_it_wrote_link_to_each_other() {
    let base = TestBase::new();
    for (number, task, at) in [(1, "t-1", "08:00"), (2, "t-1", "09:00"), (3, "t-2", "10:00")] {
        let fields = format!("task_id: {task}\noutcome: done");
        attempt(&base, &format!("run-a/{number}"), &format!("2026-11-19T{at}:00Z"), &fields, "");
    }
    for (stem, at, task, written_by) in [
        ("first", "08:30", "task_id: t-1", 1),
        // The next attempt began in the second in which this one ended.
        ("ended", "09:00", "task_id: t-1", 1),
        ("second", "09:10", "task_id: t-1", 2),
        ("told-late", "11:00", "task_id: t-1", 2),
        ("third", "11:00", "feature: api", 3),
    ] {
        learned(&base, stem, &format!("2026-11-19T{at}:00Z"), &format!("run_id: run-a\n{task}"));
        let server = PageProcess::start(&base);
        let fact = server.page(&format!("entry?id={stem}"));
        let link = format!(
            "<dt>Attempt</dt><dd><a href=\"entry?id=journal%2Frun-a%2F000{written_by}\">#{written_by}</a></dd>"
        );
        assert!(fact.contains(&link), "{stem}: {fact}");
        for number in 1..=3 {
            let page = server.page(&format!("entry?id=journal/run-a/000{number}"));
            let facts = page.split("What it wrote</h2>").nth(1).unwrap_or_default();
            assert_eq!(
                facts.contains(&format!("knowledge%2F{stem}\"")),
                number == written_by,
                "{stem} {number}: {page}"
            );
        }
    }
    learned(&base, "of-no-attempt", "2026-11-19T07:00:00Z", "run_id: run-a");
    learned(&base, "of-no-run", "2026-11-19T11:00:00Z", "task_id: t-1");
    let server = PageProcess::start(&base);
    for stem in ["of-no-attempt", "of-no-run"] {
        assert!(!server.page(&format!("entry?id={stem}")).contains("<dt>Attempt</dt>"), "{stem}");
    }
}

#[test]
fn a_task_that_was_blocked_has_a_reason_and_no_failures() {
    let base = TestBase::new();
    for number in 1..=3 {
        let at = format!("2026-11-19T0{number}:00:00Z");
        attempt(&base, &format!("run-a/{number}"), &at, "outcome: blocked", "## Summary\n\n> I looked around.\n");
    }
    let server = PageProcess::start(&base);
    let reason = "the agent reported neither success nor failure";
    for page in ["", "task?id=t-1"] {
        let html = server.page(page);
        let main = main_of(&html);
        assert!(main.contains("3 attempts without success") && main.contains(reason), "{page}: {main}");
        assert!(!main.contains("failures") && !main.contains("failed in a row"), "{page}: {main}");
    }
    let task = server.page("task?id=t-1");
    assert_eq!(main_of(&task).matches(reason).count(), 3, "of each attempt: {task}");
}

/// Seen by a new user: nothing led from an attempt to the facts that it had.
#[test]
fn an_attempt_lists_what_its_context_had() {
    let base = TestBase::new();
    base.entry("ports", "Ports", "net", "On 8443.").entry("keys", "Keys", "net", "In the safe.");
    attempt(&base, "run-a/1", "2026-11-19T08:00:00Z", "task_id: t-1\noutcome: done\ncontext: [knowledge/ports]", "");
    let server = PageProcess::start(&base);
    let page = server.page("entry?id=journal/run-a/0001");
    let had = page.split("What its context had</h2>").nth(1).unwrap();
    assert!(had.contains("entry?id=knowledge%2Fports") && !had.contains("entry?id=knowledge%2Fkeys"), "{page}");
    assert!(!server.page("entry?id=ports").contains("What its context had"));
}

/// Seen by a new user: the days of one week stood at the left end of an axis that went on to "today".
#[test]
fn the_columns_of_a_chart_fill_its_axis() {
    let base = TestBase::new();
    for (number, day) in [(1, 17), (2, 20)] {
        let at = format!("2026-11-{day}T08:00:00Z");
        attempt(&base, &format!("run-a/{number}"), &at, "task_id: t-1\noutcome: done", "");
    }
    let page = PageProcess::start(&base).page("features");
    let columns: Vec<&str> =
        page.split("class=\"hit\" x=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    // Four days on an axis of 720 units; two of them are empty.
    assert_eq!(columns, ["0.0", "540.0"], "{page}");
}
