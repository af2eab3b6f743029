//! `## Loop Status`: the state of the run and the task, problems of the last reports, recurring errors and files, and
//! the warning about a stuck task.

use super::recurring::Bullets;
use super::{Budget, escape};
use crate::context::{Status, Stuck};

/// How many refused sigils are listed.
const MAX_REFUSED: usize = 5;
/// How much of each is shown, in characters.
const REFUSED_CHARACTERS: usize = 160;
/// How many categories of failure are listed.
const MAX_CATEGORIES: usize = 5;
/// How much of a name is shown, in characters: a model, a category.
const NAME_CHARACTERS: usize = 60;
/// How much of a rationale is shown, in characters.
const RATIONALE_CHARACTERS: usize = 120;

/// The bullets of the section, and the warning below them.
type Parts = (String, String);

/// Writes the section: as much as fits, the warning with the highest priority, recurring errors and files with the
/// lowest.
pub(super) fn section(status: Option<&Status>, recurring: &Bullets, room: Budget) -> String {
    let fits = |bullets: &str, warning: &str| room.fits(&join(bullets, warning));
    let chosen = status.map(variants).unwrap_or_default().into_iter().find(|(bullets, warning)| fits(bullets, warning));
    let (mut bullets, warning) = chosen.unwrap_or_default();
    for bullet in &recurring.errors {
        let longer = format!("{bullets}{bullet}");
        if fits(&longer, &warning) {
            bullets = longer;
        }
    }
    let with_files = recurring.files.iter().map(|bullet| format!("{bullets}{bullet}"));
    bullets = with_files.into_iter().find(|longer| fits(longer, &warning)).unwrap_or(bullets);
    if bullets.is_empty() && warning.is_empty() { String::new() } else { join(&bullets, &warning) }
}

/// Returns the variants of the state, from the longest to the shortest.
fn variants(status: &Status) -> Vec<Parts> {
    let lines = lines(status);
    let refused = |n_told: usize| refused(&status.refused, n_told);
    let warning = status.stuck.as_ref().map(|stuck| warning(status.streak, stuck, true)).unwrap_or_default();
    let most = status.refused.len().min(MAX_REFUSED);
    let mut variants: Vec<Parts> =
        (0..=most).rev().map(|n_told| (format!("{lines}{}", refused(n_told)), warning.clone())).collect();
    if most > 0 {
        variants.extend((0..=most).rev().map(|n_told| (refused(n_told), warning.clone())));
    }
    variants.extend(musts(status));
    variants
}

/// Returns the minimum cost of the section, given the room for it: the warning, and a note that something was refused.
pub(super) fn reserve(status: Option<&Status>, room: Budget) -> usize {
    let variants = status.map(musts).unwrap_or_default();
    let costs = || variants.iter().map(|(bullets, warning)| room.cost(&join(bullets, warning)));
    costs().find(|cost| *cost <= room.amount).or(costs().next_back()).unwrap_or(0)
}

/// Returns the variants of the required part, from the longest to the shortest.
fn musts(status: &Status) -> Vec<Parts> {
    let refused = refused(&status.refused, 0);
    let Some(stuck) = &status.stuck else {
        return if refused.is_empty() { Vec::new() } else { vec![(refused, String::new())] };
    };
    let whole = warning(status.streak, stuck, true);
    let brief = Stuck { same_error: false, tree_seen: false, ..stuck.clone() };
    vec![
        (refused, whole.clone()),
        (String::new(), whole),
        (String::new(), warning(status.streak, stuck, false)),
        (String::new(), warning(status.streak, &brief, false)),
    ]
}

fn join(bullets: &str, warning: &str) -> String {
    let parts = [bullets, warning].into_iter().filter(|part| !part.is_empty());
    parts.fold("## Loop Status\n".to_owned(), |text, part| format!("{text}\n{part}"))
}

fn lines(status: &Status) -> String {
    let task = format!("- **This task:** attempt #{}, {} consecutive failure(s)\n", status.attempt, status.streak);
    let limit = status.limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let (succeeded, counted) = (status.succeeded, status.counted);
    let percent = match counted {
        0 => String::new(),
        _ => format!(" ({}%)", (succeeded.saturating_mul(100).saturating_add(counted / 2)) / counted),
    };
    let rationale = escape::short(&status.rationale, RATIONALE_CHARACTERS);
    let rationale = if rationale.is_empty() { String::new() } else { format!(" ({rationale})") };
    let model = escape::short(&status.model, NAME_CHARACTERS);
    let model = if model.is_empty() { model } else { format!("- **Current model:** {model}{rationale}\n") };
    format!(
        "- **Iteration:** {} of {limit}\n\
         {task}\
         - **Run success rate:** {succeeded}/{counted} iterations succeeded{percent}\n\
         {model}",
        status.iteration,
    )
}

/// Lists the problems of the last reports, the first `n_told` one by one.
fn refused(refused: &[String], n_told: usize) -> String {
    let bullet = |text: String| format!("- **Problem in the last report:** {text}\n");
    let mut bullets: String =
        refused[..n_told].iter().map(|text| bullet(escape::short(text, REFUSED_CHARACTERS))).collect();
    let n_more = refused.len() - n_told;
    if n_more > 0 {
        let what = if n_more == 1 { "element" } else { "elements" };
        bullets += &bullet(if n_told == 0 { format!("{n_more} {what}") } else { format!("and {n_more} more") });
    }
    bullets
}

/// Describes the errors of the task in a sentence.
fn failed_with(failed_with: &[(String, usize)]) -> String {
    let category = |(name, n_times): &(String, usize)| {
        let name = escape::short(name, NAME_CHARACTERS);
        if *n_times > 1 { format!("{name} ({n_times})") } else { name }
    };
    let is_known = |(name, _): &&(String, usize)| name != "unknown";
    let named: Vec<String> = failed_with.iter().filter(is_known).map(category).collect();
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let n_unknown = failed_with.iter().find(|failed| !is_known(failed)).map_or(0, |(_, n_times)| *n_times);
    let n_times = if n_unknown == 1 { "once".to_owned() } else { format!("{n_unknown} times") };
    match (named.is_empty(), n_unknown) {
        (true, 0) => String::new(),
        (true, _) => "> No attempt reported what it failed with.\n".to_owned(),
        (false, 0) => format!("> It failed with: {}.\n", escape::list(&named, MAX_CATEGORIES)),
        (false, _) => {
            format!("> It failed with: {}; {n_times} without a reported cause.\n", escape::list(&named, MAX_CATEGORIES))
        }
    }
}

fn warning(streak: u32, stuck: &Stuck, names_failures: bool) -> String {
    let failed = if streak >= stuck.threshold {
        format!("{}+ times consecutively", stuck.threshold)
    } else {
        let times = if streak == 1 { "time" } else { "times" };
        let error = if stuck.same_error { ", the last two with the same error" } else { "" };
        let tree = if stuck.tree_seen { ", and the work tree is back in a state it was in before" } else { "" };
        format!("{streak} {times} in a row{error}{tree}")
    };
    let mut warning = format!("> ⚠️ **Stuck loop detected.** This task has failed {failed}.\n");
    if names_failures && !stuck.failed_with.is_empty() {
        warning += &failed_with(&stuck.failed_with);
    }
    warning += "> Consider: decomposing the task, trying a fundamentally different approach,\n\
                > or signaling `<task-failed>` with a clear explanation.\n";
    if stuck.tell_person {
        warning += "> A person should look at this task: say in your notes what they need to know.\n";
    }
    warning
}
