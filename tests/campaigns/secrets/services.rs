//! The tokens of services, as their documentation describes them: prefix, alphabet, length.
//!
//! Each row has a kind, a weight (about how often it leaks), what developers call the service and the variable,
//! and templates of its values. A row whose names begin with `=` holds what only its name tells to be a secret.

/// A kind of token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) kind: &'static str,
    pub(crate) weight: usize,
    pub(crate) owner: &'static str,
    pub(crate) names: &'static [&'static str],
    pub(crate) values: &'static [&'static str],
    /// Whether the value alone is not recognisable, so that its name is always beside it.
    pub(crate) needs_name: bool,
}

const fn token(
    kind: &'static str,
    weight: usize,
    owner: &'static str,
    names: &'static [&'static str],
    values: &'static [&'static str],
) -> Service {
    Service { kind, weight, owner, names, values, needs_name: false }
}

const fn named(
    kind: &'static str,
    weight: usize,
    owner: &'static str,
    names: &'static [&'static str],
    values: &'static [&'static str],
) -> Service {
    Service { kind, weight, owner, names, values, needs_name: true }
}

/// Tokens that a template describes; those with checksums or structure are in `kinds`.
pub(crate) const SERVICES: [Service; 53] = [
    token("aws-key-id", 10, "AWS", &["AWS_ACCESS_KEY_ID", "S3_ACCESS_KEY"], &["«AKIA|AKIA|AKIA|ASIA»«b32 16»"]),
    named("aws-secret-key", 16, "AWS", &["AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "S3_SECRET_KEY"], &["«b64 40»"]),
    token("github-fine-grained", 6, "GitHub", &["GITHUB_TOKEN", "GH_PAT"], &["github_pat_«b62 22»_«b62 59»"]),
    token(
        "gitlab",
        8,
        "GitLab",
        &["GITLAB_TOKEN", "CI_DEPLOY_TOKEN", "GL_TOKEN"],
        &["glpat-«url 20»", "glpat-«url 27».01.«b36 9»", "«gldt|glrt|glft|glsoat»-«url 20»", "glptt-«hex 40»"],
    ),
    token(
        "slack-token",
        8,
        "Slack",
        &["SLACK_BOT_TOKEN", "SLACK_TOKEN"],
        &[
            "xoxb-«1-9 1»«dig 11»-«1-9 1»«dig 12»-«b62 24»",
            "xoxp-«1-9 1»«dig 11»-«1-9 1»«dig 11»-«1-9 1»«dig 12»-«hex 32»",
            "xapp-1-A«B36 10»-«1-9 1»«dig 12»-«hex 64»",
        ],
    ),
    token(
        "slack-webhook",
        5,
        "Slack",
        &["SLACK_WEBHOOK_URL", "ALERT_WEBHOOK"],
        &["https://hooks.slack.com/services/⟦T«B36 8-10»/B«B36 10»/«b62 24»⟧"],
    ),
    token(
        "stripe",
        8,
        "Stripe",
        &["STRIPE_SECRET_KEY", "STRIPE_API_KEY"],
        &["«sk|rk»_live_«b62 24»", "sk_«live|test»_51«b62 97»", "whsec_«b62 32»"],
    ),
    token("google-api-key", 12, "Google Maps", &["GOOGLE_API_KEY", "GEMINI_API_KEY", "MAPS_KEY"], &["AIzaSy«url 33»"]),
    token(
        "google-oauth",
        5,
        "Google OAuth",
        &["GOOGLE_CLIENT_SECRET", "GOOGLE_OAUTH_TOKEN"],
        &["GOCSPX-«url 28»", "GOCSPX-«url 28»", "ya29.a0«url 150-200»", "1//0«dig 1»«url 98»"],
    ),
    token(
        "azure-storage",
        6,
        "Azure storage",
        &["AZURE_STORAGE_CONNECTION_STRING", "STORAGE_CONNECTION"],
        &["DefaultEndpointsProtocol=https;AccountName=«word»«dig 2»;AccountKey=⟦«b64 76»+ASt«b64 5»«AQgw 1»==⟧;\
           EndpointSuffix=core.windows.net"],
    ),
    token(
        "azure-sas",
        2,
        "Azure storage",
        &["AZURE_SAS_URL", "BACKUP_CONTAINER_URL"],
        &["https://«word»«dig 2».blob.core.windows.net/backup?sv=2022-11-02&ss=b&srt=co&sp=rwl\
           &se=2027-01-01T00:00:00Z&sig=⟦«b62 14»%2B«b62 12»%2F«b62 15»%3D⟧"],
    ),
    named("azure-client-secret", 3, "Azure", &["AZURE_CLIENT_SECRET"], &["«b62 3»8Q~«A-Za-z0-9_~.- 33»«b62 1»"]),
    token(
        "openai",
        12,
        "OpenAI",
        &["OPENAI_API_KEY", "OPENAI_KEY"],
        &["sk-«b62 20»T3Blbk«»FJ«b62 20»", "sk-«proj|proj|svcacct|admin»-«url 73»«b62 1»T3Blbk«»FJ«url 73»«b62 1»"],
    ),
    token(
        "anthropic",
        6,
        "Anthropic",
        &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"],
        &["sk-ant-«api03|api03|oat01|admin01»-«url 93»AA"],
    ),
    token("hugging-face", 4, "Hugging Face", &["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"], &["hf_«A-Za-z 34»"]),
    token("crates-io", 2, "crates.io", &["CARGO_REGISTRY_TOKEN"], &["cio«b62 32»"]),
    token("docker-hub", 3, "Docker Hub", &["DOCKER_PASSWORD", "DOCKERHUB_TOKEN"], &["dckr_pat_«url 26»«b62 1»"]),
    token("digitalocean", 3, "DigitalOcean", &["DIGITALOCEAN_TOKEN", "DO_PAT"], &["«dop|dop|doo|dor»_v1_«hex 64»"]),
    token("heroku", 2, "Heroku", &["HEROKU_API_KEY"], &["HRKU-AA«url 57»«b62 1»"]),
    named("heroku-uuid", 2, "Heroku", &["HEROKU_API_KEY"], &["«uuid»"]),
    token("sendgrid", 4, "SendGrid", &["SENDGRID_API_KEY"], &["SG.«url 22».«url 42»«b62 1»"]),
    named("mailgun", 2, "Mailgun", &["MAILGUN_API_KEY"], &["key-«hex 32»", "«hex 32»-«hex 8»-«hex 8»"]),
    named("twilio-auth", 3, "Twilio", &["TWILIO_AUTH_TOKEN"], &["«hex 32»"]),
    token("twilio-key", 2, "Twilio", &["TWILIO_API_KEY"], &["SK«hex 32»"]),
    token(
        "telegram",
        4,
        "Telegram",
        &["TELEGRAM_BOT_TOKEN", "BOT_TOKEN"],
        &["«1-9 1»«dig 9»:AA«EFGH 1»«url 31»«b62 1»"],
    ),
    token(
        "discord-webhook",
        3,
        "Discord",
        &["DISCORD_WEBHOOK_URL"],
        &["https://discord.com/api/webhooks/«1-9 1»«dig 18»/⟦«url 67»«b62 1»⟧"],
    ),
    token("shopify", 2, "Shopify", &["SHOPIFY_ACCESS_TOKEN", "SHOPIFY_SECRET"], &["shp«at|ca|pa|ss»_«hex 32»"]),
    token(
        "square",
        2,
        "Square",
        &["SQUARE_ACCESS_TOKEN", "SQUARE_SECRET"],
        &["sq0atp-«url 22»", "sq0csp-«url 43»", "EAAAE«url 58»«b62 1»"],
    ),
    token("databricks", 2, "Databricks", &["DATABRICKS_TOKEN"], &["dapi«hex 32»", "dapi«hex 32»-«2|3»"]),
    token(
        "vault",
        3,
        "Vault",
        &["VAULT_TOKEN"],
        &["hvs.CAESI«url 86-90»«b62 1»", "hvs.«b62 24»", "hvb.AAAAAQ«url 149»«b62 1»"],
    ),
    token("terraform-cloud", 2, "Terraform Cloud", &["TF_TOKEN", "TFC_TOKEN"], &["«b62 14».atlasv1.«b62 67»"]),
    token("sentry-user", 1, "Sentry", &["SENTRY_AUTH_TOKEN"], &["sntryu_«hex 64»"]),
    token("linear", 2, "Linear", &["LINEAR_API_KEY"], &["lin_api_«b62 40»"]),
    token("notion", 2, "Notion", &["NOTION_TOKEN", "NOTION_API_KEY"], &["secret_«b62 43»", "ntn_«dig 11»«b62 35»"]),
    token("figma", 2, "Figma", &["FIGMA_TOKEN"], &["figd_«url 39»«b62 1»"]),
    token("postman", 2, "Postman", &["POSTMAN_API_KEY"], &["PMAK-«hex 24»-«hex 34»"]),
    token("grafana", 2, "Grafana", &["GRAFANA_TOKEN"], &["glsa_«b62 32»_«hex 8»"]),
    token("new-relic", 2, "New Relic", &["NEW_RELIC_API_KEY"], &["NRAK-«B36 27»", "«hex 36»NR«»AL"]),
    token("doppler", 2, "Doppler", &["DOPPLER_TOKEN"], &["dp.«pt|ct».«b62 43»", "dp.st.«dev|stg|prd».«b62 43»"]),
    named("cloudflare", 4, "Cloudflare", &["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN"], &["«url 39»«b62 1»"]),
    named("cloudflare-global", 1, "Cloudflare", &["CLOUDFLARE_API_KEY", "CF_API_KEY"], &["«hex 37»"]),
    token("cloudflare-origin", 1, "Cloudflare", &["CLOUDFLARE_ORIGIN_CA_KEY"], &["v1.0-«hex 24»-«hex 146»"]),
    named("fastly", 2, "Fastly", &["FASTLY_API_TOKEN", "FASTLY_API_KEY"], &["«url 31»«b62 1»"]),
    named("atlassian-old", 1, "Jira", &["JIRA_API_TOKEN", "ATLASSIAN_TOKEN"], &["«b62 24»"]),
    named(
        "generic-hex",
        30,
        "billing",
        &["API_KEY", "SECRET_KEY", "API_SECRET", "AUTH_TOKEN", "SIGNING_KEY", "ENCRYPTION_KEY", "APP_SECRET"],
        &["«hex 32»", "«hex 40»", "«hex 64»", "«hex 16-64»"],
    ),
    named(
        "generic-base64",
        18,
        "mail",
        &["SECRET_KEY", "JWT_SECRET", "SESSION_SECRET", "CLIENT_SECRET", "COOKIE_SECRET", "HMAC_KEY"],
        &["«b64 43»=", "«b64 22»==", "«b64 32»", "«b64 64»"],
    ),
    named(
        "generic-base62",
        30,
        "search",
        &["API_KEY", "ACCESS_TOKEN", "CLIENT_SECRET", "ACCESS_KEY", "API_TOKEN", "PRIVATE_TOKEN", "PARTNER_API_KEY"],
        &["«b62 16-64»", "«b62 32»", "«b62 24»", "«b36 20-40»"],
    ),
    named(
        "generic-urlsafe",
        16,
        "identity",
        &["CLIENT_SECRET", "API_TOKEN", "REFRESH_TOKEN", "SECRET_TOKEN", "WEBHOOK_SECRET", "SECRET_KEY_BASE"],
        &["«url 43»", "«url 21»«b62 1»", "«url 31»«b62 1»", "«url 16-63»«b62 1»"],
    ),
    named(
        "password-random",
        14,
        "database",
        &["DB_PASSWORD", "PASSWORD", "SMTP_PASSWORD", "REDIS_PASSWORD", "ADMIN_PASSWORD", "PGPASSWORD"],
        &["«b62 16-24»", "«b62 8»-«b62 8»", "«b62 12»!«b62 4»", "«A-Za-z0-9 6»«!@#%^*+= 1»«A-Za-z0-9!@#%^*+=_- 10-18»"],
    ),
    named(
        "password-made-up",
        14,
        "admin",
        &[
            "PASSWORD",
            "DB_PASSWORD",
            "ADMIN_PASSWORD",
            "MYSQL_ROOT_PASSWORD",
            "SMTP_PASS",
            "DB_PASS",
            "PASSWD",
            "KEYSTORE_PASSPHRASE",
        ],
        &[
            "«Word»-«Word»-«dig 2-4»!",
            "«Word»«dig 2»«!@#%* 1»«Word»«dig 1»",
            "«Word»_«word»«dig 3»#",
            "«a-z 2»«A-Z 1»«dig 1»«!@#%^&* 1»«a-z 2»«A-Z 2»«dig 2»«!@#%^&* 1»«a-z 2»",
            "«dig 1»«Word»+«Word»=«Word»!",
        ],
    ),
    token(
        "header-bearer",
        9,
        "gateway",
        &["AUTHORIZATION"],
        &["Bearer ⟦«b62 32-64»⟧", "Bearer ⟦«hex 40-64»⟧", "Bearer ⟦«url 42»«b62 1»⟧"],
    ),
    token(
        "header-key",
        4,
        "gateway",
        &["X-Api-Key", "X-Auth-Token", "Api-Key"],
        &["⟦«b62 32»⟧", "⟦«hex 32-40»⟧", "⟦«uuid»⟧"],
    ),
    token(
        "url-redis",
        4,
        "Redis",
        &["REDIS_URL", "CACHE_URL"],
        &["redis«|s»://«|default»:⟦«b62 20-32»⟧@«host»:6379/0"],
    ),
];
