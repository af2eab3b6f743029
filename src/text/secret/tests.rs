//! Secrets that are found, texts that are not, and places.

use super::*;

/// Returns `length` characters of the alphabet that look random, and are the same each time. No test holds a
/// token in one piece: other scanners would stop at it.
fn made(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap()
    };
    (0..length).map(|_| letters[next() % letters.len()]).collect()
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

#[track_caller]
fn found(text: &str, expected: &[(&str, &str)]) {
    let secrets = find(text);
    let secrets: Vec<(&str, &str)> =
        secrets.iter().map(|secret| (secret.pattern, &text[secret.range.clone()])).collect();
    assert_eq!(secrets, expected, "{text}");
}

#[test]
fn tokens_are_recognised_by_their_beginning() {
    for (pattern, prefix, alphabet, length) in [
        ("github-token", "gho_", ALNUM, 36),
        ("aws-access-key", "AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
        ("stripe-key", "sk_live_", ALNUM, 24),
        ("anthropic-key", "sk-ant-api03-", ALNUM, 93),
        ("openai-key", "sk-", ALNUM, 48),
        ("digitalocean-token", "dop_v1_", HEX, 64),
        ("google-key", "AIza", ALNUM, 35),
        ("npm-token", "npm_", ALNUM, 36),
        ("gitlab-token", "glpat-", ALNUM, 20),
    ] {
        let token = format!("{prefix}{}", made(alphabet, length, 7));
        for text in ["{}", "see `{}`.", "KEY={}\n", "{\"k\":\"{}\"}", "a/{}?x", "> {}, then", "日本{}語"] {
            found(&text.replace("{}", &token), &[(pattern, &token)]);
        }
        // One letter short, inside a longer word, or made up: not a token.
        let short = &token[..token.len() - 1];
        if !matches!(pattern, "stripe-key" | "anthropic-key" | "openai-key") {
            found(short, &[]);
        }
        found(&format!("x{token}"), &[]);
        found(&format!("{prefix}{}", "x".repeat(length)), &[]);
        found(
            &format!(
                "{prefix}{}",
                &"1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".repeat(2)[..length]
            ),
            &[],
        );
    }
}

#[test]
fn private_keys_are_found_whole() {
    let body = made(ALNUM, 160, 3);
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let key = format!("-----BEGIN {label}-----\n{}\n{}\n-----END {label}-----", &body[..64], &body[64..]);
        found(&format!("before\n{key}\nafter"), &[("private-key", &key)]);
        let escaped = key.replace('\n', "\\n");
        found(&format!("{{\"private_key\": \"{escaped}\\n\"}}"), &[("private-key", &escaped)]);
        let quoted = key.replace('\n', "\n> ");
        found(&format!("> {quoted}"), &[("private-key", &quoted)]);
        found(&key.replace("PRIVATE", "PUBLIC"), &[]);
        // A cut key is redacted as far as it goes.
        let cut = &key[..key.len() - 40];
        assert_eq!(redact(&format!("a {cut}!"), &[]), "a [redacted: private-key]!");
    }
    found("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", &[]);
    found("a file begins with -----BEGIN PRIVATE KEY----- and is base64", &[]);
    let certificate = ["LS0tLS1CRUdJTi", "BDRVJUSUZJQ0FURS0tLS0tCk"].concat() + &body;
    found(&format!("certificate-authority-data: {certificate}"), &[]);
}

#[test]
fn values_are_found_after_their_names() {
    let key = made(ALNUM, 32, 11);
    let hex = made(HEX, 32, 12);
    for (value, name) in [(&key, "api-key"), (&hex, "api-key")] {
        for text in [
            "API_KEY={}",
            "export SERVICE_API_KEY='{}'",
            "api_key: {}\n",
            "  apiKey: \"{}\",",
            "{\"client_secret\": \"{}\", \"x\": 1}",
            "let secret_key: &str = \"{}\";",
            "const string AccessToken = \"{}\";",
            "auth_token := `{}`",
            "+SECRET_KEY_BASE={}",
            "X-Api-Key: {}",
            "https://host/x?access_token={}&page=2",
            "| api key | {} |",
            "the API key for staging is `{}`.",
            "curl --token {} https://host",
        ] {
            found(&text.replace("{}", value), &[(name, value)]);
        }
    }
    let bearer = made(ALNUM, 40, 13);
    found(&format!("-H 'Authorization: Bearer {bearer}'"), &[("api-key", &bearer)]);
    found(&format!("sends Bearer {bearer}."), &[("bearer-token", &bearer)]);
    let password = "Tr7#".to_owned() + "kq!Zv9";
    for text in [
        "password = \"{}\"",
        "DB_PASSWORD={}\n",
        "  password: {}\n",
        "the root password is `{}`",
        "curl -u admin:{} https://x",
    ] {
        found(&text.replace("{}", &password), &[("password", &password)]);
    }
    let basic = "YWRtaW46R2s3cEwycXo5".to_owned() + "eFQ=";
    found(&format!("Authorization: Basic {basic}"), &[("api-key", &basic)]);
}

#[test]
fn redacted_text_stays_redacted() {
    let key = made(ALNUM, 40, 21);
    let token = format!("ghp_{}", made(ALNUM, 36, 22));
    let text = format!("API_KEY={key}\nurl: https://a:{}@h\ngit {token}.\n", made(ALNUM, 14, 23));
    let safe = redact(&text, &[]);
    assert_eq!(
        safe,
        "API_KEY=[redacted: api-key]\nurl: https://a:[redacted: url-password]@h\ngit [redacted: github-token].\n"
    );
    assert_eq!(redact(&safe, &[]), safe);
    let allowed = vec![find(&text)[2].fingerprint.to_uppercase()];
    assert!(redact(&text, &allowed).contains(&token));
    assert!(is_fingerprint(&allowed[0]) && !allowed[0].eq_ignore_ascii_case(&find(&text)[0].fingerprint));
}

/// White space of other scripts is longer than a byte.
#[test]
fn no_character_is_cut_in_two() {
    for space in ['\u{a0}', '\u{3000}', '\u{2028}', '\u{200b}', 'é', '語'] {
        for text in [
            format!("the token {space}is"),
            format!("password {space} x"),
            format!("le{space}token: x"),
            format!("arn:{space}secret: x"),
            format!("`x{space}` as token {space}"),
            format!("token: S{space} = {space}"),
            format!("password = \"{space}"),
            format!("https://a:{space}@b{space}"),
            format!("-----BEGIN {space}PRIVATE KEY-----{space}"),
            format!("-----END {space}PRIVATE KEY-----{space}"),
        ] {
            for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
                let _ = redact(&text[..end], &[]);
            }
        }
    }
    assert!(find("password=.Gk7pL2qZ9.xQ4mN8vR2tY6.wE3rT5yU7iO9pA1sD3fGzz").len() <= 1);
}

#[test]
fn coloured_and_escaped_output_hides_no_token() {
    let token = format!("ghp_{}", made(ALNUM, 36, 5));
    for text in [
        "\u{1b}[33m{}\u{1b}[0m",
        "[1;31m{}",
        "\\u{1b}[32m{}",
        "\\u001b[32m{}",
        "q=%3D{}",
        "a\\u003d{}",
        "a\\n{}",
        "\\x3d{}",
    ] {
        assert_eq!(find(&text.replace("{}", &token)).len(), 1, "{text}");
    }
    found(&format!("xm{token}"), &[]);
}

#[test]
fn the_end_of_a_private_key_counts_as_one() {
    let body = made(ALNUM, 120, 9);
    let end = ["-----END RSA ", "PRIVATE KEY-----"].concat();
    let cut = format!("{}\n{}\n{end}\nafter", &body[..60], &body[60..]);
    assert_eq!(redact(&format!("cut: {cut}"), &[]).split("[redacted: private-key]").last(), Some("\nafter"));
    assert!(!redact(&cut, &[]).contains(&body[60..100]));
    found(&format!("a file ends with {end}"), &[]);
}

#[test]
fn secrets_are_found_at_places_of_programs() {
    let password = ["Tr7#", "kq!Zv9xW"].concat();
    let session = made(ALNUM, 32, 31);
    for text in [
        "machine git.host login me password {}",
        "machine git.host\n  login me\n  password {}\n",
        "machine git.host login me account team password {}",
        "machine git.host password {}",
        "docker login -u ci -p {} ghcr.io",
        "docker login -u ci \\\n  -p '{}' \\\n  ghcr.io",
        "docker login ghcr.io -u me@host -p {}",
        "mysql shop -h db.internal -P 3306 -u root --protocol tcp -p{}",
        "default login me password {}",
        "$ podman login -p={}",
        "docker login --username ci --password {} ghcr.io",
        "mysql -u root -p{} shop",
        "mysqldump -h db -p'{}' shop > dump.sql",
        "sshpass -p {} ssh me@host",
        "sshpass -p'{}' ssh me@host",
        "| user | password |\n|---|---|\n| me | {} |\n",
        "> | password | host |\n> | :--- | --- |\n> | `{}` | a |\n> | none | b |",
        "CREATE USER 'a'@'%' IDENTIFIED BY '{}';",
        "alter user a identified with caching_sha2_password by \"{}\";",
        "password: >-\n  {}\nport: 1",
        "password: |-  # of staging\n  {}\n",
        "+  db_password: |\n+    {}\n",
        "> password: >\n>   {}\n",
    ] {
        found(&text.replace("{}", &password), &[("password", &password)]);
    }
    for text in [
        "Cookie: theme=dark; sid={}; lang=en",
        "-H 'Cookie: sid={}'",
        "{\"Cookie\": \"theme=dark; sid={}\"}",
        "curl -s -b 'sid={}' https://host",
        "Set-Cookie: sid={}; Path=/; HttpOnly",
        "curl --cookie \"sid={}\" x",
    ] {
        found(&text.replace("{}", &session), &[("cookie", &session)]);
    }
    let two = format!("{session}; b={}", made(ALNUM, 32, 32));
    found(&format!("Cookie: a={two}; c=d"), &[("cookie", &two)]);
    let other = ["Qx4$", "mN8vR2tY"].concat();
    found(
        &format!(
            "| a | password | token |\n|--|---|---|\n| x | {password} | none |\n| y | {other} | {session} |\n\n| {other} |"
        ),
        &[("password", &password), ("password", &other), ("api-key", &session)],
    );
    // A key of a kubeconfig, whole however long it is.
    let key = format!("{}{}", ["LS0tLS1CRUdJTi", "BSU0EgUFJJVkFURSBLRVktLS0tLQ"].concat(), made(ALNUM, 900, 33));
    found(&format!("    client-key-data: {key}\n    x: 1"), &[("private-key", &key)]);
    found(&format!("data:\n  tls.key: {key}\n"), &[("private-key", &key)]);
    let other = made(ALNUM, 900, 34);
    found(&format!("client-key-data: {other}\n"), &[("api-key", &other)]);
}

#[test]
fn no_value_runs_past_a_closing_tag() {
    let password = ["Tr7#", "kq!Zv9xW"].concat();
    for text in [
        "mysql -u root -p{}</failure-report>",
        "sshpass -p {}</failure-report>",
        "machine git.host login me password {}</failure-report>",
        "password = \"{}</failure-report>\"",
        "password: {}</failure-report>",
    ] {
        found(&text.replace("{}", &password), &[("password", &password)]);
    }
    let short = ["Hunter2", "xYz9"].concat();
    found(&format!("mysql -p{short}</failure-report>"), &[("password", &short)]);
    let session = made(ALNUM, 32, 41);
    found(&format!("Cookie: sid={session}</failure-report>"), &[("cookie", &session)]);
    found(&format!("API_KEY='{session}</failure-report>'"), &[("api-key", &session)]);
}

/// Each of these is so short that a pattern which looks at all that follows takes minutes.
#[test]
fn hostile_lines_take_linear_time() {
    for part in [
        "a",
        "A",
        "0",
        "-",
        "ZXlK/",
        "t1.Zx9/",
        "sk-",
        "pat.",
        "live_aB3-",
        "AAAAAAAAAAAAAAAAAAAAAAA ",
        "0123abcd-",
        "EAAC",
        "eyJ",
        "://",
        "https://a:",
        "@tcp(",
        "jdbc:oracle:thin:a/",
        " -p a1B2c3D4e ",
        " -a a1B2c3D4e ",
        "snyk auth ",
        "\"d\":\"aZ3kQ9xR7mN2pL5v\" ",
        "b3BlbnNzaC1rZXktdjE\n",
        "MIIEvQIBADAN\n",
        "Private-Lines: 1\n",
        "-----BEGIN ",
        "-----END ",
        "cookie a=b ",
        "password|",
        "('key',",
        "<key>",
    ] {
        let text = part.repeat((64 << 10) / part.len());
        assert!(find(&text).len() <= text.len() / part.len(), "{part}");
    }
}

#[test]
fn keys_without_their_first_line_are_found_whole() {
    let body = made(ALNUM, 188, 51);
    for start in [["b3BlbnNz", "aC1rZXktdjE"], ["MIIEvQIB", "ADANBgkqhki"], ["MIIEpAIB", "AAKCAQEA"], ["MHcCAQ", "EEI"]]
    {
        let whole = start.concat() + &body;
        let lines = format!("{}\n{}\n{}=", &whole[..64], &whole[64..128], &whole[128..150]);
        found(&format!("its key:\n{lines}\nand more of it"), &[("private-key", &lines)]);
        let escaped = lines.replace('\n', "\\n");
        found(&format!("\"{escaped}\\n\", \"x\": 1"), &[("private-key", &escaped)]);
        let end = format!("{lines}\n-----END {} KEY-----", "PRIVATE");
        found(&format!("{end}\nafter"), &[("private-key", &end)]);
    }
    found(&format!("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A{}", &body[..64]), &[]);
}

#[test]
fn a_part_of_a_login_is_found_alone() {
    let (password, token) = (made(ALNUM, 14, 61), made(HEX, 40, 62));
    found(&format!("postgres://app:{password}@db.internal:5432/x"), &[("url-password", &password)]);
    found(&format!("app:{password}@tcp(db:3306)/shop"), &[("url-password", &password)]);
    found(&format!("jdbc:oracle:thin:scott/{password}@db:1521/x"), &[("url-password", &password)]);
    found(&format!("https://{token}@host/x.git"), &[("url-token", &token)]);
    found(&format!("the cookie sid={token}."), &[("cookie", &token)]);
    found(&format!("<password>{password}</password>"), &[("password", &password)]);
    found(&format!("define( 'DB_PASSWORD', '{password}' )"), &[("password", &password)]);
    found(&format!("https://{}@o1.ingest.sentry.io/2", &token[..32]), &[]);
    found(&format!("https://{}@host/{token}", "deploy"), &[]);
}

#[test]
fn what_holds_a_secret_does_not_hide_it() {
    let (password, key, hex) = (made(ALNUM, 14, 71), made(ALNUM, 32, 72), made(HEX, 72, 73));
    let bot = format!("225675814:AA{}", made(ALNUM, 33, 74));
    found(&format!("https://api.telegram.org/bot{bot}/sendMessage"), &[("telegram-token", &format!("bot{bot}"))]);
    found(&format!("[\"--password\", \"{password}\"]"), &[("password", &password)]);
    found(&format!("args: ['--api-key',\n  '{key}']"), &[("api-key", &key)]);
    found(&format!("/login?next=%2Fx%3Fpassword%3D{password}"), &[("password", &password)]);
    found(&format!("password：{password}"), &[("password", &password)]);
    found(&format!("-storepass={password}"), &[("password", &password)]);
    found(&format!("sent {{\\\"password\\\":\\\"{password}\\\"}}"), &[("password", &password)]);
    for (pattern, prefix, rest) in [
        ("trello-token", "ATTA", hex.clone()),
        ("runpod-key", "rpa_", made(ALNUM, 46, 75)),
        ("render-key", "rnd_", made(ALNUM, 28, 76)),
        ("together-key", "tgp_v1_", made(ALNUM, 43, 77)),
        ("bitcoin-key", "xprv9", made(ALNUM, 106, 78)),
    ] {
        found(&format!("use {prefix}{rest}."), &[(pattern, &(prefix.to_owned() + &rest))]);
    }
}

#[test]
fn texts_about_secrets_are_none() {
    for text in [
        "postgres://user:password@localhost/db",
        "postgres://postgres:postgres@localhost",
        "https://host:8080/a@b",
        "redis://:${REDIS_PASSWORD}@cache:6379",
        "https://user:<password>@host",
        "ssh://git@github.com:22/x",
        "password = get_password()",
        "let token: String = next_token();",
        "token: &str",
        "password: \"changeme\"",
        "API_KEY=<your-key-here>",
        "API_KEY=${API_KEY}",
        "api_key: ${{ secrets.NPM_TOKEN }}",
        "process.env.SECRET_TOKEN",
        "secret = std::env::var(\"API_KEY\")?",
        "the token limit is 4096, and tokens_in: 41000",
        "token_count = 123456789012345678",
        "cache_key: 3f2a9c1e8b7d6f5a4c3b2a1908f7e6d5",
        "commit 3f2a9c1e8b7d6f5a4c3b2a1908f7e6d5c4b3a291",
        "the token is checked in commit 3f2a9c1e8b7d6f5a4c3b2a1908f7e6d5c4b3a291",
        "public_key = \"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA7\"",
        "integrity sha512-oRKoaPiJ7jcL2PfT5lHQCe7Xk0oWbCwYFZ8f0Q==",
        "secret: see docs/security/secrets-and-keys.md",
        "password: correct-horse-battery-staple",
        "auth: AuthenticationServiceV2",
        "run-1a2b3c4d and t-0123456789",
        "token = \"[redacted: api-key]\"",
        "secret_name: projects/app/secrets/db-password-2024",
        "password_hash(password, rounds=12)",
        "bearer tokens are read from the header",
        "pass --token-file secrets/token-2024.txt",
        "password: typing.Optional[bytes],",
        "in_token: Token![in](span),",
        "password=self._socks_options[\"password\"]",
        "password: user!.credentials!.password2",
        "token = ctx.Request.Headers[\"X-Auth2\"][0];",
        "unexpected token: ExprCall@12..40",
        "Unexpected token … at Parser2.tsx:118:22abc",
        "auth -> src/auth/Login2.tsx#L33",
        "pwd=C:\\Users\\Bob1\\proj",
        "secret: kube-system/my-secret-v2-abc9d",
        "http://localhost:3000?next=Alice@example.com",
        "<div class=\"md-checkbox-primary-color\">",
        "A token bucket in Redis (`rl:carrier:{account}`) keeps all workers together",
        "the secret of `cache:user:profile:settings`",
        "docker run -p 8080:80 image",
        "docker login -u ci -p $TOKEN ghcr.io",
        "docker login --username ci --password-stdin ghcr.io < /run/secrets/registry",
        "mysql -p shop_production_2024",
        "mysql -u root -p\"$MYSQL_PASSWORD\" shop",
        "mkdir -p build/Output2024x/assets",
        "sshpass -p \"$PASS\" ssh me@host",
        "machine git.host login me password <token>",
        "login with the password that the vault has",
        "Cookie: theme=dark; lang=en-US; consent=yes",
        "Set-Cookie: session=<id>; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
        "cookie: the browser sends it back",
        "IDENTIFIED BY '<password>'",
        "IDENTIFIED BY 'changeme'",
        "sorted by 'created_at2'",
        "After docker login use `cargo test -p Serde2Json`",
        "After docker login then cargo test -p Serde2Json",
        "docker login ghcr.io && cargo test -p Serde2Json",
        "docker login ghcr.io; cargo test -p Serde2Json",
        "docker login ghcr.io | tee -p Serde2Json",
        "login then password Reset2FA flow",
        "users login password Argon2id-hash",
        "the users login form password Argon2id-hash",
        "the default login page password Argon2id-hash",
        "on every machine the password Argon2id-hash",
        "password: |\n  Argon2id with 64MiB",
        "Entries are identified by \"knowledge/Use2Phase-commit\"",
        "Each user is identified by \"Use2Phase-commit\"",
        "CREATE TABLE a (b int); rows identified by \"Use2Phase-commit\"",
        "Cookie: consent=accepted-2024-01-01T00:00:00Z",
        "Cookie: consent=accepted-2024-01-01T00%3A00%3A00Z; seen=2024-01-01",
        "| name | password |\n|---|---|\n| me | in the vault |\n| you | `$DB_PASSWORD` |",
        "| password | required | at least 12 characters |",
        "password: >-\n  read from the environment\n",
        "curl -b 'theme=dark' https://host",
        "cargo build -b sid=Gk7pQ2rZ9xVt4Lm8 # no cookie of curl's",
        "password: |\n  {{ lookup('env', 'ADMIN_PASSWORD2') }}\n",
        "client-key: /etc/kubernetes/pki/client2.key",
        "secret-key-data-size: 4096",
        "app:${DB_PASSWORD}@tcp(db:3306)/shop",
        "jdbc:oracle:thin:scott/tiger@db:1521/x",
        "the cookie theme=dark-high-contrast2",
        "<password>${env.PASSWORD}</password>",
        "assert_eq!('token', 'identifier')",
        "robot225675814:AA is a number",
        "[\"--password\", \"$PASSWORD\"]",
        "[\"--token\", \"--verbose-output2\"]",
        "[\"password\", \"username-or-mail2\"]",
        "?password%3D%24%7BPASSWORD%7D",
        "password：changeme",
        "bypass=aZ3kQ9xR7mN2",
    ] {
        found(text, &[]);
    }
}

#[test]
fn placeholders_and_patterns_are_no_secrets_beside_real_ones() {
    let (key, hash) = (made(ALNUM, 32, 11), made(HEX, 16, 5));
    for text in [
        "Result: PASS|FAIL|SKIPPED",
        "(api_key|apikey)=[A-Za-z0-9]+",
        "(?i)(api[_-]?key|secret)\\s*[:=]\\s*['\"]?[A-Za-z0-9_-]{16,}",
        "grep -E 'password=\\S+' .env",
        "password: <your password>",
        "token: ${TOKEN}",
        "TOKEN=${{ secrets.GITHUB_TOKEN }}",
        "OPENAI_API_KEY=sk-...",
        "OPENAI_API_KEY=sk-proj-YOUR_KEY_HERE",
        "mongodb+srv://<user>:<password>@cluster0.mongodb.net",
        &format!(
            "details: {{\"imported\":{{\"hash\":\"{hash}\",\"id\":\"docs/api_key.md#Secret: where/It lies\",\
             \"heading\":\"API key: rotation\",\"path\":\"docs/api_key.md\",\"tags\":[\"auth/token\"]}}}}"
        ),
    ] {
        found(text, &[]);
        // Nor do they hide one.
        found(&format!("{text}\napi_key = {key}"), &[("api-key", &key)]);
    }
}
