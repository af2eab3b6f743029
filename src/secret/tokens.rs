//! Tokens whose first characters name their service.
//!
//! Prefixes, alphabets and lengths are those that the services document, as the rules of Gitleaks
//! (<https://github.com/gitleaks/gitleaks>) collect them.

use std::sync::OnceLock;

/// The characters of a token, as bits.
type Alphabet = u8;
const LOWER: Alphabet = 1;
const UPPER: Alphabet = 2;
const DIGIT: Alphabet = 4;
/// `-` and `_`, which make base 64 safe in URLs.
const URL: Alphabet = 8;
const DOT: Alphabet = 16;
/// `+`, `/` and `=`.
const BASE64: Alphabet = 32;
/// `a` to `f` and digits.
const HEX: Alphabet = 64;
const PERCENT: Alphabet = 128;
const ALNUM: Alphabet = LOWER | UPPER | DIGIT;
const SAFE: Alphabet = ALNUM | URL;

const fn is_of(byte: u8, alphabet: Alphabet) -> bool {
    let bits = match byte {
        b'a'..=b'f' => LOWER | HEX,
        b'g'..=b'z' => LOWER,
        b'A'..=b'Z' => UPPER,
        b'0'..=b'9' => DIGIT | HEX,
        b'-' | b'_' => URL,
        b'.' => DOT,
        b'+' | b'/' | b'=' => BASE64,
        b'%' => PERCENT,
        _ => 0,
    };
    bits & alphabet != 0
}

/// One kind: the name of its pattern, its beginning, the alphabet of the rest, and the length of that.
struct Token(&'static str, &'static str, Alphabet, (usize, usize));

/// No upper bound besides the end of the word.
const LONG: usize = 600;
/// The length from which a prefix alone distinguishes a token from words, without a look at its digits.
const TELLING: usize = 5;

/// An earlier row wins: a longer prefix comes before a shorter one.
#[rustfmt::skip]
const TOKENS: &[Token] = &[
    Token("aws-access-key", "AKIA", UPPER | DIGIT, (16, 16)),
    Token("aws-access-key", "ASIA", UPPER | DIGIT, (16, 16)),
    Token("aws-access-key", "ABIA", UPPER | DIGIT, (16, 16)),
    Token("aws-access-key", "ACCA", UPPER | DIGIT, (16, 16)),
    Token("github-token", "ghp_", ALNUM, (36, 255)),
    Token("github-token", "gho_", ALNUM, (36, 255)),
    Token("github-token", "ghu_", ALNUM, (36, 255)),
    Token("github-token", "ghs_", ALNUM | URL | DOT, (36, LONG)),
    Token("github-token", "ghr_", ALNUM, (36, 255)),
    Token("github-token", "github_pat_", ALNUM | URL, (36, 255)),
    Token("gitlab-token", "glpat-", SAFE | DOT, (20, 300)),
    Token("gitlab-token", "gldt-", SAFE, (20, 64)),
    Token("gitlab-token", "glrt-", SAFE | DOT, (20, 300)),
    Token("gitlab-token", "glrtr-", SAFE | DOT, (20, 300)),
    Token("gitlab-token", "glcbt-", SAFE, (20, 64)),
    Token("gitlab-token", "glptt-", SAFE, (20, 64)),
    Token("gitlab-token", "gloas-", SAFE, (20, 70)),
    Token("gitlab-token", "glsoat-", SAFE, (20, 64)),
    Token("gitlab-token", "glft-", SAFE, (20, 64)),
    Token("gitlab-token", "glimt-", SAFE, (20, 64)),
    Token("gitlab-token", "glagent-", SAFE, (20, 70)),
    Token("gitlab-token", "glffct-", SAFE, (20, 64)),
    Token("slack-token", "xoxb-", SAFE, (20, LONG)),
    Token("slack-token", "xoxp-", SAFE, (20, LONG)),
    Token("slack-token", "xoxa-", SAFE, (20, LONG)),
    Token("slack-token", "xoxr-", SAFE, (20, LONG)),
    Token("slack-token", "xoxs-", SAFE, (20, LONG)),
    Token("slack-token", "xoxo-", SAFE, (20, LONG)),
    Token("slack-token", "xoxe-", SAFE | DOT, (20, LONG)),
    Token("slack-token", "xoxe.xox", SAFE | DOT, (20, LONG)),
    Token("slack-token", "xoxd-", SAFE | PERCENT | BASE64, (20, LONG)),
    Token("slack-token", "xoxc-", SAFE, (20, LONG)),
    Token("slack-token", "xapp-", SAFE, (20, LONG)),
    Token("slack-webhook", "hooks.slack.com/services/", ALNUM | BASE64, (30, 120)),
    Token("slack-webhook", "hooks.slack.com/workflows/", ALNUM | BASE64, (30, 120)),
    Token("slack-webhook", "hooks.slack.com/triggers/", ALNUM | BASE64, (30, 120)),
    Token("discord-webhook", "discord.com/api/webhooks/", SAFE | BASE64, (50, 150)),
    Token("discord-webhook", "discordapp.com/api/webhooks/", SAFE | BASE64, (50, 150)),
    Token("teams-webhook", "webhook.office.com/webhookb2/", SAFE | BASE64, (60, 300)),
    Token("stripe-key", "sk_live_", ALNUM, (16, 250)),
    Token("stripe-key", "rk_live_", ALNUM, (16, 250)),
    Token("stripe-key", "sk_test_", ALNUM, (16, 250)),
    Token("stripe-key", "rk_test_", ALNUM, (16, 250)),
    Token("stripe-key", "whsec_", ALNUM | BASE64, (24, 100)),
    Token("google-key", "AIza", SAFE, (35, 35)),
    Token("google-key", "GOCSPX-", SAFE, (28, 28)),
    Token("google-key", "ya29.", SAFE | DOT, (30, LONG)),
    Token("google-key", "1//0", SAFE, (40, 200)),
    Token("azure-sas", "sig=", ALNUM | BASE64 | PERCENT | URL, (43, 120)),
    Token("openai-key", "sk-proj-", SAFE, (40, 250)),
    Token("openai-key", "sk-svcacct-", SAFE, (40, 250)),
    Token("openai-key", "sk-admin-", SAFE, (40, 250)),
    Token("openai-key", "sk-None-", SAFE, (40, 250)),
    Token("anthropic-key", "sk-ant-", SAFE, (30, 250)),
    Token("openrouter-key", "sk-or-v1-", HEX, (64, 64)),
    Token("openai-key", "sk-", ALNUM, (32, 64)),
    Token("perplexity-key", "pplx-", ALNUM, (40, 64)),
    Token("groq-key", "gsk_", ALNUM, (48, 60)),
    Token("xai-key", "xai-", ALNUM, (70, 100)),
    Token("replicate-token", "r8_", ALNUM, (37, 40)),
    Token("huggingface-token", "hf_", ALNUM, (30, 50)),
    Token("huggingface-token", "api_org_", ALNUM, (30, 50)),
    Token("npm-token", "npm_", ALNUM, (36, 36)),
    Token("pypi-token", "pypi-AgE", SAFE, (40, LONG)),
    Token("crates-io-token", "cio", ALNUM, (32, 32)),
    Token("rubygems-token", "rubygems_", HEX, (48, 48)),
    Token("clojars-token", "CLOJARS_", LOWER | DIGIT, (60, 60)),
    Token("docker-token", "dckr_pat_", SAFE, (20, 64)),
    Token("docker-token", "dckr_oat_", SAFE, (20, 64)),
    Token("digitalocean-token", "dop_v1_", HEX, (64, 64)),
    Token("digitalocean-token", "doo_v1_", HEX, (64, 64)),
    Token("digitalocean-token", "dor_v1_", HEX, (64, 64)),
    Token("heroku-key", "HRKU-", SAFE, (30, 120)),
    Token("sendgrid-key", "SG.", SAFE | DOT, (60, 80)),
    Token("brevo-key", "xkeysib-", SAFE, (70, 90)),
    Token("mailgun-key", "key-", HEX, (32, 32)),
    Token("mailchimp-key", "md-", SAFE, (22, 22)),
    Token("twilio-key", "SK", HEX, (32, 32)),
    Token("shopify-token", "shpat_", ALNUM, (32, 64)),
    Token("shopify-token", "shpss_", ALNUM, (32, 64)),
    Token("shopify-token", "shpca_", ALNUM, (32, 64)),
    Token("shopify-token", "shppa_", ALNUM, (32, 64)),
    Token("square-token", "sq0atp-", SAFE, (22, 60)),
    Token("square-token", "sq0csp-", SAFE, (43, 60)),
    Token("square-token", "EAAA", SAFE, (56, 80)),
    Token("paypal-token", "access_token$production$", ALNUM | BASE64, (30, 120)),
    Token("databricks-token", "dapi", HEX | URL, (32, 36)),
    Token("vault-token", "hvs.", SAFE, (24, LONG)),
    Token("vault-token", "hvb.", SAFE, (24, LONG)),
    Token("vault-token", "hvr.", SAFE, (24, LONG)),
    Token("sentry-token", "sntrys_", SAFE | BASE64, (40, LONG)),
    Token("sentry-token", "sntryu_", HEX, (64, 64)),
    Token("linear-key", "lin_api_", ALNUM, (32, 64)),
    Token("linear-key", "lin_oauth_", ALNUM, (32, 80)),
    Token("notion-token", "ntn_", ALNUM, (40, 60)),
    Token("notion-token", "secret_", ALNUM, (43, 43)),
    Token("figma-token", "figd_", SAFE, (36, 60)),
    Token("figma-token", "figo", SAFE, (40, 60)),
    Token("postman-key", "PMAK-", HEX | URL, (59, 59)),
    Token("grafana-token", "glsa_", ALNUM | URL, (41, 41)),
    Token("grafana-token", "glc_", ALNUM | BASE64, (32, 400)),
    Token("new-relic-key", "NRAK-", UPPER | DIGIT, (27, 27)),
    Token("new-relic-key", "NRJS-", HEX, (19, 19)),
    Token("new-relic-key", "NRIQ-", SAFE, (32, 32)),
    Token("new-relic-key", "NRII-", SAFE, (32, 32)),
    Token("new-relic-key", "NRRA-", HEX, (42, 42)),
    Token("doppler-token", "dp.pt.", ALNUM, (40, 44)),
    Token("doppler-token", "dp.st.", SAFE | DOT, (40, 80)),
    Token("doppler-token", "dp.sa.", ALNUM, (40, 44)),
    Token("doppler-token", "dp.ct.", ALNUM, (40, 44)),
    Token("doppler-token", "dp.scim.", ALNUM, (40, 44)),
    Token("cloudflare-key", "v1.0-", HEX | URL, (150, 180)),
    Token("atlassian-token", "ATATT3", SAFE | BASE64, (100, 300)),
    Token("atlassian-token", "ATCTT3", SAFE | BASE64, (100, 300)),
    Token("atlassian-token", "ATBB", SAFE | BASE64, (28, 60)),
    Token("age-key", "AGE-SECRET-KEY-1", UPPER | DIGIT, (58, 58)),
    Token("netlify-token", "nfp_", ALNUM, (36, 44)),
    Token("supabase-key", "sbp_", HEX, (40, 40)),
    Token("supabase-key", "sb_secret_", SAFE, (28, 48)),
    Token("planetscale-token", "pscale_tkn_", SAFE | DOT, (32, 64)),
    Token("planetscale-token", "pscale_pw_", SAFE | DOT, (32, 64)),
    Token("fly-token", "fo1_", SAFE, (43, 43)),
    Token("fly-token", "fm2_", ALNUM | BASE64, (100, LONG)),
    Token("pulumi-token", "pul-", HEX, (40, 40)),
    Token("prefect-token", "pnu_", ALNUM, (36, 36)),
    Token("dynatrace-token", "dt0c01.", UPPER | DIGIT | DOT, (80, 100)),
    Token("contentful-token", "CFPAT-", SAFE, (43, 43)),
    Token("typeform-token", "tfp_", SAFE | DOT, (40, 70)),
    Token("onepassword-token", "ops_eyJ", SAFE | BASE64, (100, LONG)),
    Token("alibaba-key", "LTAI", ALNUM, (20, 26)),
    Token("easypost-key", "EZAK", ALNUM, (54, 54)),
    Token("easypost-key", "EZTK", ALNUM, (54, 54)),
    Token("artifactory-token", "AKCp", ALNUM, (60, 80)),
    Token("tailscale-key", "tskey-", SAFE, (20, 120)),
    Token("langsmith-key", "lsv2_pt_", ALNUM | URL, (40, 60)),
    Token("langsmith-key", "lsv2_sk_", ALNUM | URL, (40, 60)),
];

/// Returns the tokens by the first byte of their prefix.
fn by_first_byte() -> &'static [Vec<&'static Token>; 128] {
    static TABLE: OnceLock<[Vec<&'static Token>; 128]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = [const { Vec::new() }; 128];
        for token in TOKENS {
            table[usize::from(token.1.as_bytes()[0])].push(token);
        }
        table
    })
}

/// Returns the pattern and the length of the token at the start of `rest`, where a word begins.
pub(super) fn token(rest: &str) -> Option<(&'static str, usize)> {
    let first = usize::from(*rest.as_bytes().first()?);
    let known = by_first_byte().get(first)?.iter().find_map(|Token(pattern, prefix, alphabet, (least, most))| {
        let value = rest.strip_prefix(prefix)?;
        let length = run(value, *alphabet, most + 1);
        // A full stop or a separator at the end belongs to the sentence.
        let value = value[..length].trim_end_matches(['.', '-', '/', '%']);
        let is_told = prefix.len() >= TELLING || value.bytes().any(|byte| byte.is_ascii_digit());
        ((*least..=*most).contains(&value.len()) && is_told && is_random(value))
            .then_some((*pattern, prefix.len() + value.len()))
    });
    known.or_else(|| parts(rest))
}

/// Returns how many bytes at the start are of the alphabet, up to `most`. Examining more at every word would take
/// quadratic time.
fn run(text: &str, alphabet: Alphabet, most: usize) -> usize {
    text.bytes().take(most).take_while(|byte| is_of(*byte, alphabet)).count()
}

/// Finds tokens of several parts that have no prefix of their own.
fn parts(rest: &str) -> Option<(&'static str, usize)> {
    match rest.as_bytes()[0] {
        b'0'..=b'9' => telegram(rest),
        b'e' if rest.starts_with("eyJ") => jwt(rest),
        b'M' | b'N' | b'O' => discord(rest).or_else(|| terraform(rest)),
        _ => terraform(rest),
    }
}

fn telegram(rest: &str) -> Option<(&'static str, usize)> {
    let digits = run(rest, DIGIT, 11);
    let key = rest[digits..].strip_prefix(':')?;
    let key = &key[..run(key, SAFE, 37)];
    let is_mixed =
        key.bytes().any(|byte| byte.is_ascii_uppercase()) && key.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_one = (8..=10).contains(&digits) && (34..=36).contains(&key.len()) && is_mixed && is_random(key);
    is_one.then_some(("telegram-token", digits + 1 + key.len()))
}

fn terraform(rest: &str) -> Option<(&'static str, usize)> {
    const MIDDLE: &str = ".atlasv1.";
    let value = rest.get(14..)?.strip_prefix(MIDDLE)?;
    let length = run(value, SAFE | BASE64, LONG);
    (length >= 60 && run(rest, ALNUM, 14) == 14).then_some(("terraform-token", 14 + MIDDLE.len() + length))
}

fn jwt(rest: &str) -> Option<(&'static str, usize)> {
    let header = run(rest, SAFE, LONG);
    let payload_at = header + 1;
    let payload =
        rest.get(payload_at..).filter(|payload| rest[header..].starts_with('.') && payload.starts_with("eyJ"))?;
    let payload = run(payload, SAFE, 10 * LONG);
    let signature = rest[payload_at + payload..].strip_prefix('.')?;
    let signature = run(signature, SAFE, LONG);
    (header >= 16 && payload >= 16 && signature >= 16).then_some(("jwt", payload_at + payload + 1 + signature))
}

fn discord(rest: &str) -> Option<(&'static str, usize)> {
    let id = run(rest, SAFE, 29);
    let time = rest[id..].strip_prefix('.')?;
    let time_length = run(time, SAFE, 8);
    let key = run(time[time_length..].strip_prefix('.')?, SAFE, 46);
    let is_one = (23..=28).contains(&id) && (6..=7).contains(&time_length) && (27..=45).contains(&key);
    (is_one && is_random(&rest[..id])).then_some(("discord-token", id + time_length + key + 2))
}

/// Returns whether a token's characters vary like those of a real one, and are not a sequence as in an example.
pub(super) fn is_random(value: &str) -> bool {
    entropy(value) >= if value.len() < 24 { 2.5 } else { 3.0 } && !is_placeholder(value)
}

/// Returns whether a value is a placeholder that the reader has to replace.
pub(super) fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 21] = [
        "example",
        "xxxx",
        "changeme",
        "change-me",
        "change_me",
        "placeholder",
        "redacted",
        "dummy",
        "replace",
        "insert",
        "yourtoken",
        "your-",
        "your_",
        "yourkey",
        "notreal",
        "not-real",
        "fake",
        "sample",
        "...",
        "****",
        "todo",
    ];
    let lower = value.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) || counts_up(value)
}

/// Returns whether seven characters or more are consecutive in the alphabet or in counting, or are the same.
fn counts_up(value: &str) -> bool {
    const RUN: usize = 7;
    let bytes = value.as_bytes();
    let follows = |step: u8| {
        let mut length = 1;
        bytes.windows(2).any(|pair| {
            let is_next = pair[1] == pair[0].wrapping_add(step) || (step == 1 && pair == b"90");
            length = if is_next { length + 1 } else { 1 };
            length >= RUN
        })
    };
    follows(0) || follows(1)
}

/// Returns Shannon's entropy of the bytes, in bits per byte.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX).max(1));
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}
