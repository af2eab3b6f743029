//! Which names announce a secret value.

/// The longest name, in bytes.
pub(super) const MAX_NAME: usize = 80;
/// The endings of names of values; the first are those of passwords, which people choose.
const PASSWORDS: [&str; 9] = ["password", "passwd", "passphrase", "pwd", "passwort", "passcode", "pass", "psk", "pw"];
/// Whose password it is, where a short ending follows without a joint: `dbpass`, `bindpw`.
const OWNERS: &str = "db bind root user admin smtp mail ftp ssh sql pg sudo ldap wifi store key";
const NAMES: [&str; 9] =
    ["secret", "token", "credential", "credentials", "creds", "authorization", "secretkeybase", "auth", "bearer"];
/// The other words that a name which ends with `key` must contain; many are services, whose name alone is before `key`.
const KEYS: &str = "\
    api access secret private auth account encryption signing master shared app application service license jwt \
    session cookie deploy storage subscription consumer client webhook hmac fernet preshared admin cipher aes unseal \
    recovery airtable algolia anthropic aws azure brevo cerebras cohere cosmos cosmosdb datadog deepseek elevenlabs \
    fal figma gemini google grafana groq huggingface langfuse linear mailgun mapbox mistral notion nvidia openai \
    pinecone posthog replicate resend sendgrid sentry snyk stripe supabase twilio xai voyage";
/// Every name of a secret contains one of these.
const STEMS: [&[u8]; 9] = [b"pass", b"pw", b"psk", b"secret", b"token", b"cred", b"auth", b"bearer", b"key"];
/// Words after a name that say what the value is for.
const FOR: &str = "prod production staging stage dev development test testing live ci value primary secondary string";

/// What kind of value a name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Password,
    Key,
}

impl ValueKind {
    /// Returns the pattern of such values.
    pub(super) fn name(self) -> &'static str {
        match self {
            ValueKind::Password => "password",
            ValueKind::Key => "api-key",
        }
    }
}

/// Returns the kind of a value with this name, if it is a secret. The end of a name decides: `token_count` is not one.
pub(super) fn kind_of(word: &str, before: &str) -> Option<ValueKind> {
    if has_stem(word) { kind_of_name(word, before) } else { None }
}

fn kind_of_name(word: &str, before: &str) -> Option<ValueKind> {
    let last = word.rsplit('.').find(|part| !part.is_empty())?;
    let mut parts = split(last);
    while parts.len() > 1
        && parts.last().is_some_and(|part| has_word(FOR, part) || part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        parts.pop();
    }
    // A kubeconfig says `client-key-data`.
    if parts.ends_with(&["key".to_owned(), "data".to_owned()]) {
        parts.pop();
    }
    let name = parts.concat();
    let has = |part: &str| parts.iter().any(|own| own == part);
    if has("public") || has("max") || has("min") || has("next") || has("page") || has("csrf") {
        return None;
    }
    let ends = |suffix: &&str| {
        // Other words end with `pass` and `auth`, too.
        let is_short =
            |part: &String| part.strip_suffix(suffix).is_some_and(|owner| owner.is_empty() || has_word(OWNERS, owner));
        if suffix.len() <= 4 { parts.last().is_some_and(is_short) } else { name.ends_with(*suffix) }
    };
    if PASSWORDS.iter().any(ends) {
        return Some(ValueKind::Password);
    }
    if NAMES.iter().any(ends) {
        return Some(ValueKind::Key);
    }
    let before = before.to_ascii_lowercase();
    let is_key = name.ends_with("key")
        && (KEYS.split(' ').any(|part| name.starts_with(part) || has(part)) || has_word(KEYS, &before));
    is_key.then_some(ValueKind::Key)
}

fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|own| own == word)
}

/// Returns whether a word is short enough for a name and contains a stem, whatever joins its letters. Nearly no word of a
/// text does, and all others are costlier.
fn has_stem(word: &str) -> bool {
    let mut letters = [0; MAX_NAME];
    let mut length = 0;
    for byte in word.bytes().filter(u8::is_ascii_alphanumeric) {
        let Some(letter) = letters.get_mut(length) else { return false };
        *letter = byte.to_ascii_lowercase();
        length += 1;
    }
    let letters = &letters[..length];
    let begins =
        |at: usize| b"pstcabk".contains(&letters[at]) && STEMS.iter().any(|stem| letters[at..].starts_with(stem));
    word.len() <= MAX_NAME && (0..length).any(begins)
}

/// Splits a name at `_`, `-` and before capitals, in lower case.
fn split(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let is_start = character.is_ascii_uppercase() && was_lower;
        if matches!(character, '_' | '-') || is_start {
            parts.push(String::new());
        }
        if character.is_ascii_alphanumeric()
            && let Some(last) = parts.last_mut()
        {
            last.push(character.to_ascii_lowercase());
        }
        was_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_name_of_a_secret_has_a_stem() {
        for name in PASSWORDS.into_iter().chain(NAMES).chain(["key"]) {
            assert!(has_stem(name), "{name}");
        }
        assert!(!has_stem("connection") && !has_stem(&"key".repeat(MAX_NAME)));
    }

    proptest! {
        /// Few letters, so that names of secrets occur.
        #[test]
        fn no_name_is_missed_for_its_stem(
            start in "[a-z._-]{0,4}",
            name in prop::sample::select([&PASSWORDS[..], &NAMES, &KEYS.split(' ').collect::<Vec<_>>(), &["API_KEY", "p-w", "to_ken", "passWord"]].concat()),
            end in "(|Key|_key|-data|_prod|Value|[0-9]{1,3}|[._a-z-]{1,4})",
            before in "(|client|API|the)",
        ) {
            let word = format!("{start}{name}{end}");
            prop_assert_eq!(kind_of(&word, &before), kind_of_name(&word, &before), "{}", word);
        }
    }
}
