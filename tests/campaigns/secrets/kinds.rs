//! Synthetic secrets of every kind, before they are carried anywhere.

use super::codes::{base62, base64, bech32, crc32};
use super::tables::{Service, TABLES};
use super::template::{ALSO, CORE, WHOLE, between, bytes, fill, mark, marked, text, word};
use crate::random::Random;

/// What the value of a secret is, which decides how it may be written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A token that is recognisable alone.
    Token,
    /// A value that only its name identifies as a secret.
    Named,
    /// A password that people log in with; its name identifies it.
    Password,
    /// A URL or connection string.
    Url,
    /// The value of an HTTP header.
    Header,
    /// Several lines: a key.
    Block,
    /// Several lines of JSON.
    Document,
}

/// A secret before it is carried anywhere.
#[derive(Debug, Clone)]
pub(crate) struct Leak {
    pub(crate) kind: &'static str,
    pub(crate) shape: Shape,
    /// The value, with marks.
    pub(crate) value: String,
    /// What a variable is called that holds it, in capitals (for a header: the header's name).
    pub(crate) name: String,
    /// Whose it is.
    pub(crate) service: &'static str,
    /// A name and a value beside it: the id of the key, an account.
    pub(crate) companion: Option<(String, String)>,
}

type Make = fn(&mut Random) -> String;

/// Kinds with a structure or checksum: kind, weight, shape, service, name, value.
const MADE: [(&str, usize, Shape, &str, &str, Make); 18] = [
    ("github-classic", 18, Shape::Token, "GitHub", "GITHUB_TOKEN", github),
    ("npm", 4, Shape::Token, "npm", "NPM_TOKEN", npm),
    ("pypi", 3, Shape::Token, "PyPI", "TWINE_PASSWORD", pypi),
    ("discord-bot", 3, Shape::Token, "Discord", "DISCORD_TOKEN", discord),
    ("sentry-org", 1, Shape::Token, "Sentry", "SENTRY_AUTH_TOKEN", sentry),
    ("grafana-cloud", 1, Shape::Token, "Grafana", "GRAFANA_CLOUD_TOKEN", grafana),
    ("atlassian", 3, Shape::Token, "Jira", "JIRA_API_TOKEN", atlassian),
    ("jwt", 10, Shape::Token, "session", "ACCESS_TOKEN", jwt),
    ("age", 2, Shape::Token, "age", "SOPS_AGE_KEY", age),
    ("gcp-service-account", 5, Shape::Document, "Google Cloud", "GOOGLE_CREDENTIALS", service_account),
    ("pem-rsa", 7, Shape::Block, "deploy", "DEPLOY_KEY", rsa),
    ("pem-ec", 3, Shape::Block, "signing", "JWT_PRIVATE_KEY", ec),
    ("pem-openssh", 7, Shape::Block, "SSH", "SSH_PRIVATE_KEY", openssh),
    ("pem-pkcs8", 6, Shape::Block, "TLS", "TLS_PRIVATE_KEY", pkcs8),
    ("pem-encrypted", 3, Shape::Block, "TLS", "TLS_KEY", encrypted),
    ("pgp-block", 2, Shape::Block, "release", "GPG_PRIVATE_KEY", pgp),
    ("header-basic", 5, Shape::Header, "registry", "AUTHORIZATION", basic),
    ("header-bearer-jwt", 4, Shape::Header, "gateway", "AUTHORIZATION", bearer_jwt),
];

/// Returns every kind with its weight.
pub(crate) fn weights() -> Vec<(&'static str, usize)> {
    let of_services = TABLES.services.iter().map(|service| (service.kind.as_str(), service.weight));
    of_services.chain(MADE.iter().map(|made| (made.0, made.1))).collect()
}

/// Returns a secret of the kind with this number in [`weights`].
pub(crate) fn leak(random: &mut Random, kind: usize) -> Leak {
    if let Some(service) = TABLES.services.get(kind) {
        return of_service(random, service);
    }
    let (kind, _, shape, service, name, make) = MADE[kind - TABLES.services.len()];
    let mut value = make(random);
    while is_placeholder(&value) {
        value = make(random);
    }
    Leak { kind, shape, value, name: name.to_owned(), service, companion: None }
}

fn of_service(random: &mut Random, of: &'static Service) -> Leak {
    let name = random.pick::<String>(&of.names);
    let template = random.pick::<String>(&of.values);
    let shape = match of.kind.as_str() {
        kind if kind.starts_with("header-") => Shape::Header,
        kind if kind.starts_with("password-") => Shape::Password,
        _ if of.needs_name => Shape::Named,
        _ if template.contains("://") || template.starts_with("DefaultEnd") => Shape::Url,
        _ => Shape::Token,
    };
    let mut value = marked(random, template);
    while shape == Shape::Named && !is_mixed(core(&value)) || is_placeholder(&value) {
        value = marked(random, template);
    }
    let is_owned = of.kind.starts_with("generic") && random.below(4) == 0;
    let name = if is_owned { format!("{}_{name}", word(random).to_uppercase()) } else { name.clone() };
    let companion = match of.kind.as_str() {
        "aws-secret-key" if random.below(2) == 0 => Some(("AWS_ACCESS_KEY_ID", "AKIA«b32 16»")),
        "twilio-auth" => Some(("TWILIO_ACCOUNT_SID", "AC«hex 32»")),
        kind if kind.starts_with("password") && name.starts_with("DB_") => Some(("DB_USER", "«word»_«app|rw|admin»")),
        _ => None,
    };
    let companion = companion
        .map(|(name, template)| (name.to_owned(), format!("{}{}{}", ALSO[0], fill(random, template), ALSO[1])));
    Leak { kind: &of.kind, shape, value, name, service: &of.owner, companion }
}

/// Returns what is between the marks of the secret.
pub(crate) fn core(value: &str) -> &str {
    value.split_once(CORE[0]).and_then(|(_, after)| after.split_once(CORE[1])).unwrap().0
}

/// Says whether there are letters and digits: a value of one class is nothing that a generator of keys makes.
fn is_mixed(value: &str) -> bool {
    value.contains(|letter: char| letter.is_ascii_digit())
        && value.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Says whether chance made what documentation writes in place of a key. A whole key file is too long for that
/// to mean anything.
fn is_placeholder(value: &str) -> bool {
    let value = core(value).to_lowercase().replace("_test_", "_");
    let words = ["example", "xxxx", "0000", "test", "dummy", "fake", "changeme", "placeholder", "redacted", "your"];
    value.len() < 400 && words.iter().any(|word| value.contains(word))
}

fn checked(random: &mut Random, prefix: &str) -> String {
    let body = text(random, "b62", 30);
    let sum = base62(crc32(body.as_bytes()));
    mark(&format!("{prefix}_{body}{sum}"))
}

fn github(random: &mut Random) -> String {
    let prefix = *random.pick(&["ghp", "ghp", "ghp", "gho", "ghu", "ghs", "ghr"]);
    checked(random, prefix)
}

fn npm(random: &mut Random) -> String {
    checked(random, "npm")
}

/// A macaroon for one account: where it is from, which one it is, whom it is for, and a signature.
fn pypi(random: &mut Random) -> String {
    let (id, user) = (fill(random, "«uuid»"), fill(random, "[3,\"«uuid»\"]"));
    let mut macaroon = b"\x02\x01\x08pypi.org\x02\x24".to_vec();
    macaroon.extend(id.bytes());
    macaroon.extend(b"\x00\x02\x2a");
    macaroon.extend(user.bytes());
    macaroon.extend(b"\x00\x00\x06\x20");
    macaroon.extend(bytes(random, 32));
    mark(&format!("pypi-{}", base64(&macaroon, true)))
}

fn discord(random: &mut Random) -> String {
    let id = fill(random, "«1-9 1»«dig 17-18»");
    mark(&format!("{}.{}", base64(id.as_bytes(), true), fill(random, "«url 6».«url 37»«b62 1»")))
}

fn sentry(random: &mut Random) -> String {
    let told = fill(
        random,
        r#"{"iat":17«dig 8».«dig 6»,"url":"https://sentry.io","region_url":"https://us.sentry.io","org":"«word»"}"#,
    );
    mark(&format!("sntrys_{}_{}", base64(told.as_bytes(), false), fill(random, "«b64 43»")))
}

fn grafana(random: &mut Random) -> String {
    let told = fill(random, r#"{"o":"«dig 6»","n":"stack-«dig 6»-«word»","k":"«b62 24»","m":{"r":"eu"}}"#);
    mark(&format!("glc_{}", base64(told.as_bytes(), false)))
}

fn atlassian(random: &mut Random) -> String {
    let body = fill(random, "ATATT3x«»FfGF0«url 171»");
    let sum = crc32(body.as_bytes());
    mark(&format!("{body}={sum:08X}"))
}

fn token_of(random: &mut Random) -> String {
    let (algorithm, length) = *random.pick(&[("HS256", 32), ("HS512", 64), ("RS256", 256), ("ES256", 64)]);
    let key = if length == 256 { fill(random, r#","kid":"«hex 16»""#) } else { String::new() };
    let head = format!(r#"{{"alg":"{algorithm}","typ":"JWT"{key}}}"#);
    let body = fill(
        random,
        r#"{"sub":"«dig 6»","iss":"https://id.«word».io","scope":"«word»:read «word»:write","iat":17«dig 8»,"exp":18«dig 8»}"#,
    );
    let signature = bytes(random, length);
    [head.as_bytes(), body.as_bytes(), &signature].map(|part| base64(part, true)).join(".")
}

fn jwt(random: &mut Random) -> String {
    mark(&token_of(random))
}

fn bearer_jwt(random: &mut Random) -> String {
    format!("{}Bearer {}{}{}{}", WHOLE[0], CORE[0], token_of(random), CORE[1], WHOLE[1])
}

fn basic(random: &mut Random) -> String {
    let login = format!("{}:{}", fill(random, "«word»-«bot|ci|deploy»"), fill(random, "«b62 16-28»"));
    format!("{}Basic {}{}{}{}", WHOLE[0], CORE[0], base64(login.as_bytes(), false), CORE[1], WHOLE[1])
}

fn age(random: &mut Random) -> String {
    mark(&bech32("age-secret-key-", &bytes(random, 32)))
}

/// Puts a key between its two lines, with the header lines that its kind has.
fn armoured(label: &str, headers: &str, body: &[u8], width: usize, end: &str) -> String {
    let body: Vec<char> = base64(body, false).chars().collect();
    let lines: Vec<String> = body.chunks(width).map(|line| line.iter().collect()).collect();
    let (dashes, lines) = ("-".repeat(5), lines.join("\n"));
    format!(
        "{}{dashes}BEGIN {label}{dashes}\n{headers}{}{lines}{}\n{end}{dashes}END {label}{dashes}{}",
        WHOLE[0], CORE[0], CORE[1], WHOLE[1]
    )
}

fn rsa_bytes(random: &mut Random) -> Vec<u8> {
    let mut key = vec![0x30, 0x82, 4, 0xa4, 2, 1, 0, 2, 0x82, 1, 1, 0, 0xc1];
    key.extend(bytes(random, 255));
    key.extend([2, 3, 1, 0, 1, 2, 0x82, 1, 0]);
    key.extend(bytes(random, 915));
    key
}

fn rsa(random: &mut Random) -> String {
    armoured("RSA PRIVATE KEY", "", &rsa_bytes(random), 64, "")
}

fn pkcs8_text(random: &mut Random) -> String {
    let mut key = vec![0x30, 0x82, 4, 0xbe, 2, 1, 0, 0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0];
    key.extend([4, 0x82, 4, 0xa8]);
    key.extend(rsa_bytes(random));
    armoured("PRIVATE KEY", "", &key, 64, "")
}

fn pkcs8(random: &mut Random) -> String {
    pkcs8_text(random)
}

fn ec(random: &mut Random) -> String {
    let mut key = vec![0x30, 0x77, 2, 1, 1, 4, 0x20];
    key.extend(bytes(random, 32));
    key.extend([0xa0, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, 0xa1, 0x44, 3, 0x42, 0, 4]);
    key.extend(bytes(random, 64));
    armoured("EC PRIVATE KEY", "", &key, 64, "")
}

fn openssh(random: &mut Random) -> String {
    let mut key =
        b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x33\0\0\0\x0bssh-ed25519\0\0\0\x20"
            .to_vec();
    let length = 32 + 4 + 144;
    key.extend(bytes(random, length));
    armoured("OPENSSH PRIVATE KEY", "", &key, 70, "")
}

fn encrypted(random: &mut Random) -> String {
    if random.below(2) == 0 {
        let headers = fill(random, "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,«HEX 32»\n\n");
        return armoured("RSA PRIVATE KEY", &headers, &bytes(random, 1200), 64, "");
    }
    let mut key = vec![0x30, 0x82, 5, 0x2c, 0x30, 0x56, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 5, 13, 0x30, 0x49];
    key.extend(bytes(random, 1308));
    armoured("ENCRYPTED PRIVATE KEY", "", &key, 64, "")
}

fn pgp(random: &mut Random) -> String {
    let headers = if random.below(2) == 0 { "Version: GnuPG v2\n\n" } else { "\n" };
    let end = fill(random, "=«b64 4»\n");
    let mut key = vec![0x95, 3, 0xbe, 4];
    let length = between(random, 500, 900);
    key.extend(bytes(random, length));
    armoured("PGP PRIVATE KEY BLOCK", headers, &key, 64, &end)
}

fn service_account(random: &mut Random) -> String {
    let key = pkcs8_text(random);
    // The marks of the whole go around the whole document.
    let key = key.replace('\n', "\\n").replace(WHOLE, "");
    let project = fill(random, "«word»-«word»-«dig 6»");
    let account = fill(random, "«word»-«deployer|reader|ci»");
    let lines = [
        "{".to_owned(),
        "  \"type\": \"service_account\",".to_owned(),
        format!("  \"project_id\": \"{project}\","),
        fill(random, "  \"private_key_id\": \"«hex 40»\","),
        format!("  \"private_key\": \"{key}\\n\","),
        format!("  \"client_email\": \"{account}@{project}.iam.gserviceaccount.com\","),
        fill(random, "  \"client_id\": \"1«dig 20»\","),
        "  \"token_uri\": \"https://oauth2.googleapis.com/token\"".to_owned(),
        "}".to_owned(),
    ];
    format!("{}{}{}", WHOLE[0], lines.join("\n"), WHOLE[1])
}
