//! Tokens whose first characters name their service.
//!
//! Each row of the table ends with where its prefixes, alphabet and lengths come from: rules of Gitleaks
//! (<https://github.com/gitleaks/gitleaks>), detectors of `TruffleHog` (<https://github.com/trufflesecurity/trufflehog>),
//! or a page of the service's documentation.

use std::sync::OnceLock;

use super::MAX_KEY_BYTES;
use super::values::{is_random, is_words};

/// The characters of a token, as bits.
type Alphabet = u16;
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
const TILDE: Alphabet = 256;
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
        b'~' => TILDE,
        _ => 0,
    };
    bits & alphabet != 0
}

/// One kind: the name of its pattern, its beginnings, the alphabet of the rest, and the length of that.
struct Token(&'static str, &'static str, Alphabet, (usize, usize));

/// No upper bound besides the end of the word. So much of it is examined.
const LONG: usize = 600;

#[rustfmt::skip]
const TOKENS: &[Token] = &[
    Token("aws-access-key", "AKIA ASIA ABIA ACCA", UPPER | DIGIT, (16, 16)), // gitleaks aws-access-token
    Token("aws-access-key", "A3T", UPPER | DIGIT, (17, 17)), // gitleaks aws-access-token
    Token("aws-access-key", "ABSK", ALNUM | BASE64, (109, 269)), // gitleaks aws-amazon-bedrock-api-key-long-lived
    Token("aws-access-key", "bedrock-api-key-", ALNUM | BASE64, (60, LONG)), // gitleaks aws-amazon-bedrock-api-key-short-lived
    Token("github-token", "ghp_ gho_ ghu_ ghr_", ALNUM, (36, 255)), // gitleaks github-pat, github-oauth, github-app-token, github-refresh-token
    Token("github-token", "ghs_", SAFE | DOT, (36, LONG)), // GitHub: app installation tokens
    Token("github-token", "github_pat_", SAFE, (36, 255)), // gitleaks github-fine-grained-pat
    Token("gitlab-token", "glpat- glrt- glrtr-", SAFE | DOT, (20, 300)), // gitleaks gitlab-pat-routable, gitlab-runner-authentication-token-routable
    Token("gitlab-token", "gldt- glcbt- glptt- gloas- glsoat- glft- glimt- glagent- glffct- glwt- GR1348941", SAFE, (20, 70)), // gitleaks gitlab-*; GitLab: token prefixes
    Token("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xapp-", SAFE, (20, LONG)), // gitleaks slack-*
    Token("slack-token", "xoxe- xoxe.xox", SAFE | DOT, (20, LONG)), // gitleaks slack-config-*
    Token("slack-token", "xoxd-", SAFE | PERCENT | BASE64, (20, LONG)), // Slack: cookies of the client
    Token("slack-webhook", "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", ALNUM | BASE64, (30, 120)), // gitleaks slack-webhook-url
    Token("discord-webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", SAFE | BASE64, (50, 150)), // trufflehog discordwebhook
    Token("teams-webhook", "webhook.office.com/webhookb2/", SAFE | BASE64, (60, 300)), // gitleaks microsoft-teams-webhook
    Token("zapier-webhook", "hooks.zapier.com/hooks/catch/", ALNUM | BASE64, (12, 24)), // trufflehog zapierwebhook
    Token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", ALNUM, (16, 250)), // gitleaks stripe-access-token; Clerk, Paystack: the same
    Token("stripe-key", "whsec_", ALNUM | BASE64, (24, 100)), // Stripe: webhook signatures
    Token("google-key", "AIza", SAFE, (35, 35)), // gitleaks gcp-api-key
    Token("google-key", "GOCSPX-", SAFE, (28, 28)), // Google: OAuth client secrets
    Token("google-key", "ya29.", SAFE | DOT, (30, LONG)), // trufflehog googleoauth2
    Token("google-key", "1//0", SAFE, (40, 200)), // Google: refresh tokens
    Token("azure-sas", "sig=", SAFE | BASE64 | PERCENT, (43, 120)), // trufflehog azuresastoken
    Token("openai-key", "sk-proj- sk-svcacct- sk-service- sk-admin- sk-None-", SAFE, (40, 250)), // gitleaks openai-api-key; trufflehog openai
    Token("anthropic-key", "sk-ant-", SAFE, (30, 250)), // gitleaks anthropic-api-key, anthropic-admin-api-key
    Token("openrouter-key", "sk-or-v1-", HEX, (64, 64)), // trufflehog openrouter
    Token("langfuse-key", "sk-lf-", HEX | URL, (36, 36)), // Langfuse: API keys
    Token("openai-key", "sk-", ALNUM, (32, 64)), // gitleaks openai-api-key; DeepSeek, Moonshot: the same
    Token("elevenlabs-key", "sk_", HEX, (48, 48)), // trufflehog elevenlabs
    Token("perplexity-key", "pplx-", ALNUM, (40, 64)), // gitleaks perplexity-api-key
    Token("groq-key", "gsk_", ALNUM, (48, 60)), // trufflehog groq
    Token("xai-key", "xai-", SAFE, (70, 100)), // trufflehog xai
    Token("nvidia-key", "nvapi-", SAFE, (60, 80)), // trufflehog nvapi
    Token("cerebras-key", "csk-", LOWER | DIGIT, (48, 48)), // Cerebras: quickstart
    Token("fireworks-key", "fw_", ALNUM, (22, 28)), // Fireworks: API keys
    Token("tavily-key", "tvly-", SAFE, (32, 60)), // Tavily: quickstart
    Token("firecrawl-key", "fc-", HEX, (32, 32)), // Firecrawl: quickstart
    Token("jina-key", "jina_", SAFE, (48, 70)), // Jina: API keys
    Token("voyage-key", "pa-", SAFE, (43, 43)), // Voyage AI: API keys
    Token("pinecone-key", "pcsk_", SAFE, (69, 70)), // trufflehog pinecone
    Token("e2b-key", "e2b_", HEX, (40, 40)), // E2B: API keys
    Token("langsmith-key", "lsv2_pt_ lsv2_sk_", SAFE, (40, 60)), // trufflehog langsmith
    Token("replicate-token", "r8_", SAFE, (37, 40)), // trufflehog replicate
    Token("huggingface-token", "hf_ api_org_", ALNUM, (30, 50)), // gitleaks huggingface-*
    Token("npm-token", "npm_", ALNUM, (36, 36)), // gitleaks npm-access-token
    Token("pypi-token", "pypi-AgE", SAFE, (40, LONG)), // gitleaks pypi-upload-token
    Token("crates-io-token", "cio", ALNUM, (32, 32)), // Cargo: API tokens
    Token("rubygems-token", "rubygems_", HEX, (48, 48)), // gitleaks rubygems-api-token
    Token("clojars-token", "CLOJARS_", LOWER | DIGIT, (60, 60)), // gitleaks clojars-api-token
    Token("docker-token", "dckr_pat_ dckr_oat_", SAFE, (20, 64)), // trufflehog dockerhub
    Token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", HEX, (64, 64)), // gitleaks digitalocean-*
    Token("heroku-key", "HRKU-", SAFE, (30, 120)), // gitleaks heroku-api-key-v2
    Token("sendgrid-key", "SG.", SAFE | DOT, (60, 80)), // gitleaks sendgrid-api-token
    Token("resend-key", "re_", SAFE, (33, 33)), // Resend: API keys
    Token("brevo-key", "xkeysib-", SAFE, (70, 90)), // gitleaks sendinblue-api-token
    Token("mailgun-key", "key-", HEX, (32, 32)), // gitleaks mailgun-private-api-token
    Token("mailchimp-key", "md-", SAFE, (22, 22)), // Mailchimp: Mandrill keys
    Token("twilio-key", "SK", HEX, (32, 32)), // gitleaks twilio-api-key
    Token("shopify-token", "shpat_ shpss_ shpca_ shppa_", ALNUM, (32, 64)), // gitleaks shopify-*
    Token("square-token", "sq0atp- sq0csp-", SAFE, (22, 60)), // gitleaks square-access-token; trufflehog squareapp
    Token("square-token", "EAAA", SAFE, (56, 80)), // gitleaks square-access-token
    Token("paypal-token", "access_token$production$", ALNUM | BASE64, (30, 120)), // PayPal: Braintree access tokens
    Token("databricks-token", "dapi", HEX | URL, (32, 36)), // gitleaks databricks-api-token
    Token("vault-token", "hvs. hvb. hvr.", SAFE, (24, LONG)), // gitleaks vault-service-token, vault-batch-token
    Token("vault-token", "s.", ALNUM, (24, 24)), // gitleaks vault-service-token
    Token("sentry-token", "sntrys_", SAFE | BASE64, (40, LONG)), // gitleaks sentry-org-token
    Token("sentry-token", "sntryu_", HEX, (64, 64)), // gitleaks sentry-user-token
    Token("linear-key", "lin_api_ lin_oauth_", ALNUM, (32, 80)), // gitleaks linear-api-key
    Token("notion-token", "ntn_", ALNUM, (40, 60)), // gitleaks notion-api-token
    Token("notion-token", "secret_", ALNUM, (43, 43)), // trufflehog notion
    Token("figma-token", "figd_ figp_ figo", SAFE, (36, 60)), // trufflehog figmapersonalaccesstoken
    Token("postman-key", "PMAK-", HEX | URL, (59, 59)), // gitleaks postman-api-token
    Token("grafana-token", "glsa_", SAFE, (41, 41)), // gitleaks grafana-service-account-token
    Token("grafana-token", "glc_", ALNUM | BASE64, (32, 400)), // gitleaks grafana-cloud-api-token
    Token("grafana-token", "eyJrIjoi", ALNUM | BASE64, (70, 400)), // gitleaks grafana-api-key
    Token("new-relic-key", "NRAK-", UPPER | DIGIT, (27, 27)), // gitleaks new-relic-user-api-key
    Token("new-relic-key", "NRJS- NRBR-", HEX, (19, 19)), // gitleaks new-relic-browser-api-token
    Token("new-relic-key", "NRIQ- NRII-", SAFE, (25, 32)), // gitleaks new-relic-insert-key; trufflehog newrelicinsights*
    Token("new-relic-key", "NRRA-", HEX, (42, 42)), // New Relic: REST API keys
    Token("doppler-token", "dp.pt. dp.sa. dp.ct. dp.scim. dp.audit.", ALNUM, (40, 44)), // gitleaks doppler-api-token; trufflehog doppler
    Token("doppler-token", "dp.st.", SAFE | DOT, (40, 80)), // trufflehog doppler
    Token("cloudflare-key", "v1.0-", HEX | URL, (150, 180)), // gitleaks cloudflare-origin-ca-key
    Token("cloudflare-key", "cfk_ cfut_ cfat_", ALNUM, (48, 48)), // Cloudflare: token formats
    Token("atlassian-token", "ATATT3 ATCTT3", SAFE | BASE64, (100, 300)), // gitleaks atlassian-api-token
    Token("atlassian-token", "ATBB BBDC-", SAFE | BASE64, (28, 60)), // trufflehog bitbucketapppassword, bitbucketdatacenter
    Token("age-key", "AGE-SECRET-KEY-1", UPPER | DIGIT, (58, 58)), // gitleaks age-secret-key
    Token("netlify-token", "nfp_", ALNUM, (36, 44)), // Netlify: personal access tokens
    Token("supabase-key", "sbp_", HEX, (40, 40)), // trufflehog supabasetoken
    Token("supabase-key", "sb_secret_", SAFE, (28, 48)), // Supabase: API keys
    Token("neon-key", "npg_", ALNUM, (12, 20)), // Neon: connecting
    Token("neon-key", "napi_", LOWER | DIGIT, (64, 64)), // Neon: API keys
    Token("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", SAFE | DOT, (32, 64)), // gitleaks planetscale-*
    Token("fly-token", "fo1_", SAFE, (43, 43)), // gitleaks flyio-access-token
    Token("fly-token", "fm1a_ fm1r_ fm2_", ALNUM | BASE64, (100, LONG)), // gitleaks flyio-access-token
    Token("pulumi-token", "pul-", HEX, (40, 40)), // gitleaks pulumi-api-token
    Token("prefect-token", "pnu_", ALNUM, (36, 36)), // gitleaks prefect-api-token
    Token("dynatrace-token", "dt0c01.", UPPER | DIGIT | DOT, (80, 100)), // gitleaks dynatrace-api-token
    Token("contentful-token", "CFPAT-", SAFE, (43, 43)), // trufflehog contentfulpersonalaccesstoken
    Token("typeform-token", "tfp_", SAFE | DOT, (40, 70)), // gitleaks typeform-api-token
    Token("onepassword-token", "ops_eyJ", SAFE | BASE64, (100, LONG)), // gitleaks 1password-service-account-token
    Token("onepassword-token", "A3-", UPPER | DIGIT | URL, (34, 37)), // gitleaks 1password-secret-key
    Token("alibaba-key", "LTAI", ALNUM, (20, 26)), // gitleaks alibaba-access-key-id
    Token("easypost-key", "EZAK EZTK", ALNUM, (54, 54)), // gitleaks easypost-*
    Token("artifactory-token", "AKCp cmVmd", ALNUM, (59, 80)), // gitleaks artifactory-*
    Token("tailscale-key", "tskey-", SAFE, (20, 120)), // trufflehog tailscale
    Token("adobe-secret", "p8e-", ALNUM, (32, 32)), // gitleaks adobe-client-secret
    Token("airtable-token", "pat", ALNUM | DOT, (79, 79)), // gitleaks airtable-personnal-access-token
    Token("harness-key", "pat. sat.", SAFE | DOT, (68, 68)), // gitleaks harness-api-key
    Token("hubspot-token", "pat-na1- pat-na2- pat-eu1-", HEX | URL, (36, 36)), // trufflehog hubspot_apikey
    Token("authress-key", "sc_ scauth_ authress_", SAFE | DOT | BASE64, (60, 200)), // gitleaks authress-service-client-access-key
    Token("clickhouse-key", "4b1d", ALNUM, (38, 38)), // gitleaks clickhouse-cloud-api-secret-key
    Token("defined-networking-token", "dnkey-", SAFE, (79, 79)), // gitleaks defined-networking-api-token
    Token("dropbox-token", "sl.", SAFE, (130, LONG)), // gitleaks dropbox-short-lived-api-token
    Token("duffel-token", "duffel_live_ duffel_test_", SAFE | BASE64, (43, 43)), // gitleaks duffel-api-token
    Token("facebook-token", "EAAC EAAM", ALNUM, (100, LONG)), // gitleaks facebook-page-access-token
    Token("flutterwave-key", "FLWSECK_TEST- FLWSECK-", SAFE, (12, 34)), // gitleaks flutterwave-secret-key, flutterwave-encryption-key
    Token("frameio-token", "fio-u-", SAFE, (64, 64)), // gitleaks frameio-api-token
    Token("gocardless-token", "live_", SAFE, (40, 40)), // gitleaks gocardless-api-token
    Token("lob-key", "live_ test_", HEX, (35, 35)), // gitleaks lob-api-key
    Token("infracost-token", "ico-", ALNUM, (32, 32)), // gitleaks infracost-api-token
    Token("intra42-secret", "s-s4t2ud- s-s4t2af-", HEX, (64, 64)), // gitleaks intra42-client-secret
    Token("jwt", "ZXlK", SAFE | BASE64, (80, LONG)), // gitleaks jwt-base64
    Token("launchdarkly-token", "api- sdk-", HEX | URL, (36, 36)), // trufflehog launchdarkly
    Token("mapbox-token", "sk.eyJ", SAFE | DOT, (70, 240)), // trufflehog mapbox
    Token("octopus-key", "API-", UPPER | DIGIT, (26, 26)), // gitleaks octopus-deploy-api-key
    Token("openshift-token", "sha256~", SAFE, (43, 43)), // gitleaks openshift-user-token
    Token("plaid-token", "access-sandbox- access-development- access-production-", HEX | URL, (36, 36)), // gitleaks plaid-api-token
    Token("readme-token", "rdme_", LOWER | DIGIT, (70, 70)), // gitleaks readme-api-token
    Token("scalingo-token", "tk-us-", SAFE, (48, 48)), // gitleaks scalingo-api-token
    Token("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", ALNUM, (16, 16)), // gitleaks settlemint-*
    Token("shippo-token", "shippo_live_ shippo_test_", HEX, (40, 40)), // gitleaks shippo-api-token
    Token("sonar-token", "sqp_ squ_ sqa_", HEX, (40, 40)), // gitleaks sonar-api-token
    Token("sonar-token", "sqco_", ALNUM, (59, 59)), // trufflehog sonarcloud
    Token("sourcegraph-token", "sgp_", HEX | URL, (40, 57)), // gitleaks sourcegraph-access-token
    Token("sourcegraph-token", "sgp_local_", HEX, (40, 40)), // gitleaks sourcegraph-access-token
    Token("sourcegraph-token", "slk_", HEX, (64, 64)), // trufflehog sourcegraphcody
    Token("twitter-token", "AAAAAAAAAAAAAAAAAAAAAA", ALNUM | PERCENT, (80, 100)), // gitleaks twitter-bearer-token
    Token("yandex-key", "AQVN", SAFE, (35, 38)), // gitleaks yandex-api-key
    Token("yandex-key", "t1.", SAFE | DOT | BASE64, (90, LONG)), // gitleaks yandex-access-token
    Token("posthog-key", "phx_", SAFE, (40, 48)), // trufflehog posthog
    Token("circleci-token", "CCIPAT_", SAFE, (60, 63)), // trufflehog circleci
    Token("buildkite-token", "bkua_", LOWER | DIGIT, (40, 40)), // trufflehog buildkite
    Token("apify-token", "apify_api_", SAFE, (36, 40)), // trufflehog apify
    Token("adafruit-key", "aio_", ALNUM, (28, 28)), // trufflehog adafruitio
    Token("deno-token", "ddp_ ddw_", ALNUM, (36, 36)), // trufflehog deno
    Token("rootly-token", "rootly_", HEX, (64, 64)), // trufflehog rootly
    Token("trigger-key", "tr_prod_ tr_dev_ tr_stg_ tr_preview_", ALNUM, (20, 32)), // Trigger.dev: API keys
    Token("inngest-key", "signkey-prod- signkey-test- signkey-branch-", HEX, (32, 64)), // Inngest: signing keys
    Token("zoho-token", "1000.", HEX | DOT, (65, 65)), // trufflehog zohocrm
    Token("salesforce-token", "3MVG9", SAFE | DOT | BASE64, (80, 251)), // trufflehog salesforceoauth2
    Token("voiceflow-key", "VF.DM. VF.WS. VF.", ALNUM | DOT, (41, 41)), // trufflehog voiceflow
    Token("bannerbear-key", "bb_pr_ bb_ma_", HEX, (30, 30)), // trufflehog bannerbear
    Token("ramp-secret", "ramp_sec_", ALNUM, (48, 48)), // trufflehog ramp
    Token("flexport-token", "shltm_", SAFE, (40, 40)), // trufflehog flexport
    Token("fleetbase-key", "flb_live_", ALNUM, (20, 20)), // trufflehog fleetbase
    Token("pagarme-key", "ak_live_", ALNUM, (30, 30)), // trufflehog pagarme
    Token("bitcoin-key", "xprv9 xprvA", ALNUM, (106, 106)), // BIP 32: serialization format
    Token("context7-key", "ctx7sk-", HEX | URL, (36, 36)), // Context7: API keys
    Token("render-key", "rnd_", ALNUM, (28, 32)), // Render: API keys
    Token("runpod-key", "rpa_", ALNUM, (40, 50)), // RunPod: API keys
    Token("together-key", "tgp_v1_", SAFE, (40, 48)), // Together AI: API keys
    Token("trello-token", "ATTA", HEX, (72, 72)), // Trello: API tokens
    Token("session-cookie", "gitlab_session= PHPSESSID= JSESSIONID=", ALNUM, (26, 64)), // gitleaks gitlab-session-cookie; PHP, Jakarta Servlet: sessions
];

/// The tokens by the first byte of their prefix.
struct Index {
    /// Hashes of the first three bytes of prefixes, as bits. Nearly no word of a text begins with such three.
    starts: [u64; 128],
    /// The prefixes, the longest first.
    prefixes: [Vec<(&'static str, &'static Token)>; 128],
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index { starts: [0; 128], prefixes: [const { Vec::new() }; 128] };
        for token in TOKENS {
            for prefix in token.1.split(' ') {
                let bytes = prefix.as_bytes();
                // Any byte may follow a prefix of two.
                for third in 0..=u8::MAX {
                    let (word, bit) = start_of([bytes[0], bytes[1], *bytes.get(2).unwrap_or(&third)]);
                    index.starts[word] |= bit;
                }
                index.prefixes[usize::from(bytes[0])].push((prefix, token));
            }
        }
        index.prefixes.iter_mut().for_each(|prefixes| prefixes.sort_by_key(|(prefix, _)| usize::MAX - prefix.len()));
        index
    })
}

fn start_of(bytes: [u8; 3]) -> (usize, u64) {
    let [first, second, third] = bytes.map(usize::from);
    let hash = (first * 31 + second) * 31 + third;
    (hash / 64 % 128, 1 << (hash % 64))
}

/// Returns the pattern and the length of the token at the start of `rest`, where a word begins.
pub(super) fn token(rest: &str) -> Option<(&'static str, usize)> {
    prefixed(rest).or_else(|| parts(rest))
}

fn prefixed(rest: &str) -> Option<(&'static str, usize)> {
    let [first, second, third, ..] = *rest.as_bytes() else { return None };
    let index = index();
    let (word, bit) = start_of([first, second, third]);
    if index.starts[word] & bit == 0 {
        return None;
    }
    index.prefixes.get(usize::from(first))?.iter().find_map(|(prefix, Token(pattern, _, alphabet, (least, most)))| {
        let value = rest.strip_prefix(prefix)?;
        let length = run(value, *alphabet, most + usize::from(*most != LONG));
        // A full stop or a separator at the end belongs to the sentence.
        let start = value[..length].trim_end_matches(['.', '-', '/', '%']);
        // Names of programs consist of words, except those in capitals.
        let is_name = || alphabet & LOWER != 0 && is_words(start);
        let is_one = (*least..=*most).contains(&start.len()) && is_random(start) && !is_name();
        let whole = || if length == LONG { run(value, *alphabet, MAX_KEY_BYTES) } else { start.len() };
        is_one.then(|| (*pattern, prefix.len() + whole()))
    })
}

/// Returns how many bytes at the start are of the alphabet, up to `most`. Examining more at every word would take
/// quadratic time.
fn run(text: &str, alphabet: Alphabet, most: usize) -> usize {
    text.bytes().take(most).take_while(|byte| is_of(*byte, alphabet)).count()
}

/// Finds tokens of several parts that have no prefix of their own.
fn parts(rest: &str) -> Option<(&'static str, usize)> {
    let found = match rest.as_bytes()[0] {
        b'0'..=b'9' => telegram(rest),
        // In an address, the token follows the word.
        b'b' => rest.strip_prefix("bot").and_then(telegram).map(|(pattern, length)| (pattern, 3 + length)),
        b'e' if rest.starts_with("eyJ") => return jwt(rest),
        b'M' | b'N' | b'O' => discord(rest),
        _ => None,
    };
    // Nearly no word ends in one of these ways.
    let head = rest.bytes().take(45).take_while(u8::is_ascii_alphanumeric).count();
    let may_be =
        head >= 4 && rest.as_bytes().get(head).map_or(head >= 40, |next| head >= 40 || b".~-_!|".contains(next));
    let known = || PARTS.iter().find_map(|(pattern, parts)| joined(rest, parts).map(|length| (*pattern, length)));
    found.or_else(|| if may_be { known() } else { None })
}

/// A part of a token: an alphabet, and how many characters it has.
type TokenPart = (Alphabet, usize, usize);

/// Tokens by their parts, and what joins these: after the first part, the second, and so on.
const PARTS: &[(&str, &[(TokenPart, &str)])] = &[
    ("terraform-token", &[((ALNUM, 14, 14), ".atlasv1."), ((SAFE | BASE64, 60, LONG), "")]), // gitleaks hashicorp-tf-api-token
    ("azure-secret", &[((SAFE | DOT, 4, 4), "Q~"), ((SAFE | DOT | TILDE, 31, 34), "")]), // gitleaks azure-ad-client-secret
    ("mailchimp-key", &[((HEX, 32, 32), "-us"), ((DIGIT, 1, 2), "")]),                   // gitleaks mailchimp-api-key
    ("mailgun-key", &[((HEX, 32, 32), "-"), ((HEX, 8, 8), "-"), ((HEX, 8, 8), "")]),     // gitleaks mailgun-signing-key
    ("new-relic-key", &[((HEX, 32, 36), "FFFFNRAL"), ((ALNUM, 0, 0), "")]), // trufflehog newreliclicensekey
    ("maxmind-key", &[((ALNUM, 6, 6), "_"), ((ALNUM, 29, 29), "_mmk")]),    // gitleaks maxmind-license-key
    ("salesforce-token", &[((ALNUM, 15, 18), "!"), ((SAFE | DOT, 90, 120), "")]), // trufflehog salesforce
    ("facebook-token", &[((DIGIT, 15, 16), "|"), ((SAFE, 27, 40), "")]),    // gitleaks facebook-access-token
];

fn telegram(rest: &str) -> Option<(&'static str, usize)> {
    let digits = run(rest, DIGIT, 11);
    let key = rest[digits..].strip_prefix(':')?;
    let key = &key[..run(key, SAFE, 37)];
    let is_mixed =
        key.bytes().any(|byte| byte.is_ascii_uppercase()) && key.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_one = (8..=10).contains(&digits) && (34..=36).contains(&key.len()) && is_mixed && is_random(key);
    is_one.then_some(("telegram-token", digits + 1 + key.len()))
}

/// Returns the length of a token of these parts at the start of `rest`, which looks random and ends a word.
fn joined(rest: &str, parts: &[(TokenPart, &str)]) -> Option<usize> {
    let mut length = 0;
    for ((alphabet, least, most), joint) in parts {
        let part = run(&rest[length..], *alphabet, *most);
        if !(*least..=*most).contains(&part) || !rest[length + part..].starts_with(joint) {
            return None;
        }
        length += part + joint.len();
    }
    let is_end = !rest[length..].starts_with(|next: char| next.is_ascii_alphanumeric());
    (is_end && is_random(&rest[..length])).then_some(length)
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
