//! What concerns the whole project: troubles of many tasks, decisions, and what people write down.

use super::words::{Cause, Plague};

/// Troubles that many tasks meet while they last. Some return.
pub(super) const PLAGUES: [Plague; 9] = [
    Plague {
        name: "postgres",
        areas: &[0, 3],
        lasts: [(4, 30), (150, 166)],
        cause: Cause {
            tried: [
                "Ran the integration tests against the database of the compose file",
                "Restarted the database and ran the tests again",
            ],
            why: "the tests connect before the database has loaded its extensions",
            error: "connection to server at localhost port 5432 refused after {n} tries",
            lesson: (
                "tool_usage",
                "Start the database with make db-wait",
                "compose up returns before the extensions are loaded. make db-wait polls until a query works.",
            ),
        },
    },
    Plague {
        name: "lockfile",
        areas: &[],
        lasts: [(22, 48), (0, 0)],
        cause: Cause {
            tried: ["Updated the dependency and ran the build", "Ran the install again with a clean cache"],
            why: "the lock file was written by a newer package manager than the one of the build image",
            error: "ERR lockfile version 9 is not supported by this client ({n} packages)",
            lesson: (
                "pitfall",
                "Use the package manager that corepack pins",
                "A newer one rewrites the lock file, and the build image refuses it. corepack enable picks the right one.",
            ),
        },
    },
    Plague {
        name: "certificates",
        areas: &[2, 3, 5],
        lasts: [(52, 66), (204, 214)],
        cause: Cause {
            tried: ["Called the staging server with the development client", "Imported the new certificate by hand"],
            why: "the staging certificate is signed by an intermediate that the test images do not have",
            error: "x509: certificate signed by unknown authority (staging, request {n})",
            lesson: (
                "tool_usage",
                "Refresh the staging CA with tools/ca-sync",
                "The intermediate changes twice a year. tools/ca-sync puts it into the images.",
            ),
        },
    },
    Plague {
        name: "snapshot",
        areas: &[1, 4, 5],
        lasts: [(70, 98), (0, 0)],
        cause: Cause {
            tried: ["Accepted the changed snapshots", "Ran the snapshot tests one by one"],
            why: "snapshots contain the time zone of the machine, so they differ between laptops and CI",
            error: "snapshot does not match: 1 changed line near +02:00 ({n} snapshots)",
            lesson: (
                "testing_strategy",
                "Set TZ=UTC for snapshot tests",
                "The time zone ends up in snapshots. The test script sets TZ=UTC; do not call the runner without it.",
            ),
        },
    },
    Plague {
        name: "memory",
        areas: &[],
        lasts: [(104, 128), (0, 0)],
        cause: Cause {
            tried: ["Ran the whole suite in CI", "Split the suite into two jobs"],
            why: "the linker of the test binaries needs more memory than a runner has",
            error: "collect2: fatal: ld terminated with signal 9 (Killed), {n} objects",
            lesson: (
                "tool_usage",
                "Link tests with lld and two jobs",
                "The default linker needs 7 GB for the suite. lld with two jobs stays under 3 GB.",
            ),
        },
    },
    Plague {
        name: "feature-flags",
        areas: &[0, 1, 3, 4],
        lasts: [(132, 158), (0, 0)],
        cause: Cause {
            tried: ["Turned the flag on in the test's setup", "Waited for the flag service before the test"],
            why: "the flag client keeps its first answer for 60 seconds, also in tests",
            error: "expected new behaviour, got old one: flag cache is {n} s old",
            lesson: (
                "testing_strategy",
                "Tests set flags through FlagFixture",
                "The client caches for a minute. FlagFixture replaces it and is reset after each test.",
            ),
        },
    },
    Plague {
        name: "rate-limit",
        areas: &[2, 5, 3],
        lasts: [(170, 196), (0, 0)],
        cause: Cause {
            tried: ["Ran the end-to-end tests in parallel", "Gave each test a user of its own"],
            why: "all runners share one address, and the gateway limits by address",
            error: "HTTP 429 from gateway.staging after {n} requests",
            lesson: (
                "pitfall",
                "End-to-end tests send the bypass header",
                "The gateway limits by address. X-Load-Test with the secret of the pipeline is exempt.",
            ),
        },
    },
    Plague {
        name: "migration",
        areas: &[0, 1, 2, 4],
        lasts: [(84, 100), (220, 238)],
        cause: Cause {
            tried: ["Added a migration and ran it on a copy", "Renumbered the migration"],
            why: "two branches added a migration with the same number, and the tool applies only one",
            error: "relation already exists while applying migration {n}",
            lesson: (
                "pitfall",
                "Number migrations by date and time",
                "Equal numbers of two branches broke main three times. bin/migration new uses a time stamp.",
            ),
        },
    },
    Plague {
        name: "docker-hub",
        areas: &[],
        lasts: [(226, 248), (0, 0)],
        cause: Cause {
            tried: ["Rebuilt the image in CI", "Pulled the base image with a personal account"],
            why: "anonymous pulls are limited, and the runners share an address",
            error: "toomanyrequests: pull rate limit reached (layer {n})",
            lesson: (
                "tool_usage",
                "Pull base images through the mirror",
                "registry.internal/hub mirrors what we use. A Dockerfile that names the hub directly fails in CI.",
            ),
        },
    },
];

/// A decision that replaces an earlier one: its day and its text.
type Later = Option<(usize, &'static str)>;

/// Decisions: the day and the text of each, and the decision that replaces it.
pub(super) const DECISIONS: [(usize, &str, Later); 17] = [
    (2, "Amounts are integers of the smallest unit, with the currency beside them.", None),
    (6, "Sessions are kept in Redis.", Some((88, "Sessions move to Postgres; Redis only caches them."))),
    (11, "Services talk by REST and JSON.", Some((131, "Services talk by gRPC; the public interface stays REST."))),
    (
        15,
        "The search index is rebuilt every night.",
        Some((63, "The search index is updated as documents change; a rebuild needs a ticket.")),
    ),
    (24, "Main is released every Tuesday at 10:00.", Some((141, "Every merge to main is released behind a flag."))),
    (33, "Sync speaks protocol 2 only; version 1 ends in June.", None),
    (45, "Imports run in the browser.", Some((118, "Imports above 50 MB run on the server."))),
    (57, "New code in the back office is written in TypeScript with strict checks.", None),
    (72, "We support the two newest major versions of iOS and Android 10 and later.", None),
    (79, "Feature flags live for at most 90 days.", None),
    (95, "Logs contain no e-mail addresses; the user's number is enough.", None),
    (109, "Errors for users have a code and a page in the help centre.", None),
    (
        124,
        "Every table gets a tenant column and row-level security.",
        Some((188, "Tenants get a schema each; row-level security stays for shared tables.")),
    ),
    (153, "Load tests run against a copy of production with scrambled names.", None),
    (172, "Invoices are immutable; corrections are credit notes.", None),
    (199, "Push messages carry an id only; the app fetches the content.", None),
    (231, "The year-end freeze of billing lasts from 15 December to 7 January.", None),
];

/// What people write down: the day, a category or none, a title and a text.
pub(super) const NOTES: [(usize, &str, &str, &str); 24] = [
    (
        1,
        "",
        "How to run all tests",
        "make test runs the unit tests, make test-all also the integration tests; the latter need Docker and 8 minutes.",
    ),
    (
        1,
        "",
        "Where configuration comes from",
        "Defaults are in config/default.toml; an environment variable APP_SECTION_KEY wins. Secrets come from the vault, never from files.",
    ),
    (
        2,
        "code_structure",
        "Modules and their owners",
        "Each folder below services/ has an OWNERS file. A change across two owners needs a review from both.",
    ),
    (
        3,
        "testing_strategy",
        "Fixtures are made by factories",
        "Do not write fixtures by hand. factories/ builds valid objects, with a clock that the test passes in.",
    ),
    (
        3,
        "tool_usage",
        "Regenerate clients after a change of the interface",
        "make clients writes the generated clients. CI compares them and fails if they are stale.",
    ),
    (
        4,
        "debugging_technique",
        "Follow a request by its trace id",
        "Each answer has X-Trace-Id. tools/trace ID prints the log lines of all services in order.",
    ),
    (
        5,
        "pitfall",
        "Never call a service inside of a transaction",
        "A slow call holds locks. Write to the outbox table and let the worker call.",
    ),
    (
        7,
        "",
        "Environments",
        "dev is reset every night, staging has a copy of last week, production needs the release role.",
    ),
    (
        8,
        "success_pattern",
        "Small migrations in three releases",
        "Add, copy and switch, remove: each in its own release. It has never needed a rollback.",
    ),
    (
        9,
        "",
        "Words of the domain",
        "A party is a customer or a supplier; an account belongs to one party; a document is anything with a number that an auditor may ask for.",
    ),
    (
        12,
        "pitfall",
        "Time zones of customers",
        "The customer's zone is in party.zone. The server's zone is UTC and must not appear in texts for people.",
    ),
    (
        14,
        "tool_usage",
        "Profile with make flame",
        "make flame SERVICE=name records 30 seconds and opens a flame graph.",
    ),
    (28, "", "Who is on call", "The rota is in ops/rota.yaml. Page only for what customers notice."),
    (
        40,
        "code_structure",
        "Generated code is in gen/",
        "Do not edit it and do not review it. Its sources are the .proto and .sql files.",
    ),
    (
        51,
        "pitfall",
        "Retries need an idempotency key",
        "The gateway repeats POST after a timeout. A handler without a key did the same thing twice.",
    ),
    (66, "", "Names of branches", "area/short-description, for example sync/late-joiner. Others are not built."),
    (
        83,
        "testing_strategy",
        "Contract tests between services",
        "Consumers write the contract, make contracts checks it. A provider cannot merge a break.",
    ),
    (
        101,
        "debugging_technique",
        "Slow queries are in the weekly report",
        "reports/slow-queries has plans for the fifty slowest. Look there before adding an index.",
    ),
    (116, "", "Support rotation", "Each Wednesday one of us answers support. Questions that come twice become a page."),
    (137, "tool_usage", "Preview environments", "A label preview on a change request starts one for three days."),
    (
        161,
        "pitfall",
        "The cache is shared between versions",
        "Old and new release run side by side for ten minutes. Change a key's name when its format changes.",
    ),
    (
        183,
        "success_pattern",
        "Shadow traffic before a switch",
        "We sent a copy of the requests to the new implementation for a week and compared answers. It found 14 differences.",
    ),
    (208, "", "Accessibility checks", "make a11y runs them; a new page without a passing check is not merged."),
    (236, "", "Plan for the holidays", "From 21 December only fixes are released. Two people are on call."),
];

/// What went well without any trouble before; `{c}` is a component.
pub(super) const PRAISE: [(&str, &str, &str); 6] = [
    (
        "success_pattern",
        "Write the failing test of the {c} first",
        "It took ten minutes and showed that the report was about another place.",
    ),
    (
        "code_structure",
        "The {c} has its own error type",
        "Callers match on it; do not turn it into text before the edge.",
    ),
    ("tool_usage", "Seed the {c} with make seed-small", "It needs 4 seconds and has all special cases."),
    ("success_pattern", "Feature flag first, then the {c}", "The half-finished {c} could be merged every day."),
    ("other", "The {c} has a page in the handbook", "docs/handbook explains the states of the {c} with a diagram."),
    (
        "testing_strategy",
        "Property tests for the {c}",
        "Two hundred random cases replaced forty written ones for the {c}.",
    ),
];
