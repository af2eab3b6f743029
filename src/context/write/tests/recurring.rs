//! Recurring errors and files in a context, and their places.

use super::*;
use crate::context::write::recurring::bullets;

fn error(iterations: &[u32], line: &str) -> ErrorLine {
    let id = |iteration| Id::parse(&format!("journal/run-1/{iteration:04}")).unwrap();
    ErrorLine { attempts: iterations.iter().map(id).collect(), line: line.to_owned() }
}

fn files(paths: &[&str]) -> Recurring {
    Recurring { files: paths.iter().map(|path| (*path).to_owned()).collect(), errors: Vec::new() }
}

/// Returns a task's attempts, each with its error output and the files that it wrote.
fn attempts(said: &[(&str, &[&str])]) -> Vec<NumberedAttempt> {
    let attempt = |(number, (output, paths)): (usize, &(&str, &[&str]))| {
        let mut past = past("run-1", u32::try_from(number).unwrap() + 1, number + 1, Outcome::Failed);
        past.attempt.sections.error_output = (*output).to_owned();
        past.attempt.head.files.modified = paths.iter().map(|path| (*path).to_owned()).collect();
        past
    };
    said.iter().enumerate().map(attempt).collect()
}

fn status_of(material: &Material, characters: usize) -> String {
    let material = Material { n_attempts: material.attempts.len(), ..material.clone() };
    let context = build(&material, default_budget(characters, &material.instructions), 500);
    let start = context.text.find("## Loop Status\n");
    let status = start.map(|start| &context.text[start..]).unwrap_or_default();
    status.split("\n\n#").next().unwrap_or_default().replace("## Loop Status\n\n", "")
}

#[test]
fn recurring_errors_are_shown_if_nothing_else_is() {
    let errors =
        vec![error(&[7, 8, 9], "error[E0308]: <journal> `a`\n# b"), error(&[1, 2], "boom"), error(&[3, 4], "no")];
    let material = Material { recurring: Recurring { errors, ..Recurring::default() }, ..Material::default() };
    assert_eq!(
        status_of(&material, 27_000),
        "- **Recurring error:** this error has occurred in 3 previous iterations: `error[E0308]: &lt;journal> 'a'\\u{a}# b`\n\
         - **Recurring error:** this error has occurred in 2 previous iterations: `boom`"
    );
    assert_eq!(status_of(&Material::default(), 27_000), "");
}

#[test]
fn an_error_shown_above_is_named_by_its_attempt() {
    let attempts = attempts(&[("other", &[]), ("thread  panicked\nerror: <b> no", &[])]);
    let check = |iterations: &[u32], line: &str, expected: &str| {
        let recurring = Recurring { errors: vec![error(iterations, line)], ..Recurring::default() };
        let status = status_of(&Material { attempts: attempts.clone(), recurring, ..Material::default() }, 27_000);
        let told = status.strip_prefix("- **Recurring error:** this error has occurred in ").unwrap();
        assert_eq!(told, expected);
    };
    check(&[2, 9], "error: <b> no", "2 previous iterations (that of attempt 2 above)");
    check(&[2, 9], "thread  panicked", "2 previous iterations (that of attempt 2 above)");
    check(&[1, 8, 9], "other", "3 previous iterations (that of attempt 1 above)");
    // The error above is another one, or the attempt is not among those above.
    check(&[2, 9], "elsewhere", "2 previous iterations: `elsewhere`");
    check(&[8, 9], "other", "2 previous iterations: `other`");
}

#[test]
fn the_warning_is_not_repeated() {
    let told = |streak, same_error, iterations: &[u32]| {
        let stuck = Stuck { same_error, ..stuck() };
        let status = Some(Status { streak, stuck: Some(stuck), ..status() });
        let recurring = Recurring { errors: vec![error(iterations, "boom")], ..Recurring::default() };
        let attempts = attempts(&[("x", &[]), ("y", &[])]);
        bullets(&Material { attempts, status, recurring, ..Material::default() }, &[], "").errors.len()
    };
    assert_eq!(told(2, true, &[1, 2]), 0);
    // If it covers less, or there is another error, the bullet is shown.
    assert_eq!(told(2, true, &[1, 2, 3]), 1);
    assert_eq!(told(2, false, &[1, 2]), 1);
    assert_eq!(told(3, true, &[1, 2]), 1);
    assert_eq!(told(2, true, &[8, 9]), 1);
}

#[test]
fn files_named_by_attempts_above_are_not_suggested() {
    let check = |attempts: &[NumberedAttempt], paths: &[&str], expected: &str| {
        let material = Material { attempts: attempts.to_vec(), recurring: files(paths), ..Material::default() };
        let expected = if expected.is_empty() {
            String::new()
        } else {
            format!("- **Suggested context files:** {expected} (touched in 3 or more iterations of this feature)")
        };
        assert_eq!(status_of(&material, 27_000), expected);
    };
    check(&[], &["src/a.rs", "src/b`<journal>.rs"], "`src/a.rs`, `src/b'&lt;journal>.rs`");
    check(&[], &["a", "a", "", " "], "`a`");
    check(&[], &[&"x".repeat(121), "a"], "`a`");
    check(&[], &["1", "2", "3", "4", "5", "6", "7", "8", "9"], "`1`, `2`, `3`, `4`, `5`, `6`, `7`, `8`");
    let many: Vec<String> = (1..=12).map(|number| format!("f{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let above = attempts(&[("", &["src/a.rs", "b"]), ("", &many)]);
    check(&above, &["src/a.rs", "src/a.r", "b", "f10", "f11", "f12"], "`src/a.r`, `f11`, `f12`");
    check(&above, &["b", "f1"], "");
}

#[test]
fn recurring_errors_and_files_get_the_remaining_room() {
    let error = error(&[1, 2], "boom");
    let recurring = Recurring { errors: vec![error], ..files(&["src/a.rs", "src/b.rs", "src/c.rs"]) };
    let material = Material { status: Some(status()), recurring, ..Material::default() };
    let told = |amount: usize| {
        let room = Budget::characters(amount);
        let text = status::section(material.status.as_ref(), &bullets(&material, &[], ""), room);
        assert!(text.chars().count() <= amount, "{text}");
        (text.contains("Run success rate"), text.contains("Recurring error"), text.matches("src/").count())
    };
    let whole = (0..2_000).find(|amount| told(*amount) == (true, true, 3)).unwrap();
    // The share of the section is enough for all of it.
    assert!(whole <= 500, "{whole}");
    assert_eq!(told(whole - 1), (true, true, 2));
    assert_eq!(told(whole - 50), (true, true, 0));
    assert_eq!(told(270), (true, false, 0));
    assert_eq!(told(100), (false, true, 0));
    assert_eq!(told(10), (false, false, 0));
}
