//! What clients print when an account keeps them from working: a limit, a refused key, an empty balance.
//!
//! Pure. It says nothing about the task, and its exit status is lost where an agent's output goes through a pipe.

use super::transcript::Transcript;

/// In how many lines at the end a client says it: an agent may work on limits before.
const LAST_LINES: usize = 5;

/// Texts of limits, in lower case, with `|` between them.
const LIMITS: &str = "usage limit|usage_limit_reached|session limit|weekly limit|hour limit|hit your limit|limit will reset|\
    out of extra usage|quota exceeded|exceeded your current quota|insufficient_quota";
/// How the lines of clients begin that say so, behind the name of an error. Elsewhere such a text may be what an agent works on.
const OPENINGS: &str = "you've hit your|you've reached your|you have hit your|you have reached your|\
    you're out of extra usage|you are out of extra usage|you exceeded your current quota|your limit will reset|\
    claude ai usage limit|claude usage limit|usage limit reached|session limit reached|weekly limit reached|\
    5-hour limit reached|the usage limit has been reached|quota exceeded|insufficient_quota|request rejected (429)|\
    status 429";
/// How the lines of clients begin that say that a key is refused.
const KEYS: &str = "invalid api key|incorrect api key|api key not valid|status 401|status 403|failed to authenticate|\
    invalid authentication credentials|oauth token|please run /login|not logged in|your organization has been disabled|\
    this organization has been disabled|your account has been disabled|your account has been suspended";
/// How the lines of clients begin that say that there is no money.
const BALANCES: &str = "credit balance|your credit balance|status 402|insufficient balance|insufficient credits|\
    insufficient funds|you have run out of credits|you've run out of credits|you are out of credits|\
    you're out of credits|out of credits";

/// Returns the line that says that an account keeps the agent from working, and what is wrong with the account. `errors`
/// is what the agent wrote to its error output. An agent that `has_failed` may say it within a line, too.
pub(crate) fn account_trouble<'a>(
    errors: &'a str,
    transcript: &'a Transcript,
    has_failed: bool,
) -> Option<(&'static str, &'a str)> {
    let of_stream = transcript.errors.iter().rev().map(String::as_str);
    let texts = [errors].into_iter().chain(of_stream).chain([transcript.text.as_str()]);
    let lines =
        texts.flat_map(|text| text.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES));
    lines.into_iter().find_map(|line| Some((trouble(line, has_failed)?, line)))
}

/// Returns what a line says about the account.
fn trouble(line: &str, has_failed: bool) -> Option<&'static str> {
    let lower = |text: &str| text.to_lowercase().replace('’', "'");
    let bare = line.trim_start_matches(|next: char| !next.is_alphanumeric());
    let mut told = bare;
    while let Some((_, rest)) = told.split_once(": ").filter(|(name, _)| is_error(name)) {
        told = rest;
    }
    // A number is a status only where an error is named.
    let is_status = told.len() < bare.len() && told.starts_with(|first: char| first.is_ascii_digit());
    let told =
        if is_status { format!("status {told}") } else { lower(told).replacen("unexpected status", "status", 1) };
    let begins = |openings: &str| openings.split('|').any(|opening| told.starts_with(opening));
    let line = lower(line);
    let is_reset = || line.contains(" ∙ resets ") || line.contains(" · resets ");
    let has_limit = LIMITS.split('|').any(|limit| line.contains(limit));
    if has_limit && (has_failed || begins(OPENINGS) || is_reset()) {
        Some("is at its usage limit")
    } else if begins(KEYS) {
        Some("is refused")
    } else {
        begins(BALANCES).then_some("has no money left")
    }
}

/// Returns whether this is what clients call an error: `ERROR`, `APIError`, `API Error`, `Error code`, `RESOURCE_EXHAUSTED`.
fn is_error(name: &str) -> bool {
    let lower = name.to_lowercase();
    let is_code = lower.contains('_') && !name.contains(|next: char| next.is_lowercase());
    ["api error", "error code"].contains(&lower.as_str())
        || !name.contains(' ') && (lower.ends_with("error") || is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_name_what_is_wrong_with_an_account() {
        let (limit, key, money) = ("is at its usage limit", "is refused", "has no money left");
        // A line, and what it says at the end of an agent that ended well, and of one that failed.
        let rows = [
            ("You've hit your limit · resets 5pm (Europe/Vilnius)", Some(limit), Some(limit)),
            ("You’ve hit your usage limit. Try again later.", Some(limit), Some(limit)),
            ("ERROR: You've hit your usage limit. Upgrade to Pro", Some(limit), Some(limit)),
            ("■ You've hit your weekly limit · resets Nov 22, 5:30pm", Some(limit), Some(limit)),
            ("Claude AI usage limit reached|4070908800", Some(limit), Some(limit)),
            ("5-hour limit reached ∙ resets 2PM", Some(limit), Some(limit)),
            ("Quota exceeded. Check your plan and billing details.", Some(limit), Some(limit)),
            ("Error: You exceeded your current quota, please check your plan", Some(limit), Some(limit)),
            ("You're out of extra usage · resets 3pm", Some(limit), Some(limit)),
            (r#"{"type":"usage_limit_reached","resets_at":4070908800}"#, None, Some(limit)),
            ("Invalid API key · Please run /login", Some(key), Some(key)),
            ("API Error: 401 {\"type\":\"error\"}", Some(key), Some(key)),
            ("error: unexpected status 401 Unauthorized", Some(key), Some(key)),
            ("Incorrect API key provided: sk-x", Some(key), Some(key)),
            ("OAuth token has expired · Please run /login", Some(key), Some(key)),
            ("Credit balance is too low", Some(money), Some(money)),
            ("APIError: Insufficient balance", Some(money), Some(money)),
            ("API Error: 402 Payment Required", Some(money), Some(money)),
            ("Opus weekly limit reached ∙ resets Oct 6 at 1pm", Some(limit), Some(limit)),
            ("[API Error: You exceeded your current quota, please check your plan]", Some(limit), Some(limit)),
            ("RESOURCE_EXHAUSTED: Quota exceeded for metric: requests", Some(limit), Some(limit)),
            ("unexpected status 429 Too Many Requests: usage_limit_reached", Some(limit), Some(limit)),
            ("Request rejected (429) · usage limit reached", Some(limit), Some(limit)),
            ("openai.RateLimitError: Error code: 429 - {'code': 'insufficient_quota'}", Some(limit), Some(limit)),
            ("insufficient_quota", Some(limit), Some(limit)),
            ("Error: 401 Unauthorized", Some(key), Some(key)),
            ("Error code: 403 - {'error': {}}", Some(key), Some(key)),
            ("Your organization has been disabled", Some(key), Some(key)),
            ("Error: 402 Payment Required", Some(money), Some(money)),
            ("You have run out of credits", Some(money), Some(money)),
            // What an agent works on.
            ("The usage limit is tested.", None, Some(limit)),
            ("I show `Invalid API key` in the form now.", None, None),
            ("`curl x`: HTTPError: Invalid API key", None, None),
            ("The balance is insufficient: insufficient balance is shown.", None, None),
            ("You've reached your goal.", None, None),
            ("API Error: 529 overloaded_error", None, None),
            ("Rate limit exceeded", None, None),
            ("401 tests pass, and no status 401 is left.", None, None),
            ("TODO: You've hit your weekly limit is not translated.", None, Some(limit)),
            ("MAX_USERS is 403", None, None),
            ("Error: 429 Too Many Requests", None, None),
            ("Context limit reached · /compact or /clear to continue", None, None),
        ];
        for (line, well, failed) in rows {
            assert_eq!((trouble(line, false), trouble(line, true)), (well, failed), "{line}");
        }
        let said = |text: &str| Transcript { text: text.into(), ..Transcript::default() };
        let (early, late) = ("You've hit your limit.\n\n1\n2\n3\n4\n5", "You've hit your limit.\n\nSee the page.\n");
        assert_eq!(account_trouble("", &said(early), true), None);
        assert_eq!(account_trouble("", &said(late), false), Some((limit, "You've hit your limit.")));
    }
}
