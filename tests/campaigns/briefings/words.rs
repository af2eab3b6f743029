//! The words of the year: features with their components, what goes wrong in them, and what people decide.
//!
//! `{c}` is a component, and `{n}` a number that differs from one occurrence to the next.

/// A part of the product.
pub(super) struct Area {
    pub(super) name: &'static str,
    pub(super) components: [&'static str; 6],
    /// What is to be done with a component.
    pub(super) goals: [&'static str; 12],
    pub(super) causes: [Cause; 7],
}

/// Something that goes wrong, with what people do about it first.
pub(super) struct Cause {
    pub(super) tried: [&'static str; 2],
    pub(super) why: &'static str,
    pub(super) error: &'static str,
    /// What one learns from it: a category, a title and a text.
    pub(super) lesson: (&'static str, &'static str, &'static str),
}

/// Something that goes wrong in several tasks while it lasts.
pub(super) struct Plague {
    pub(super) name: &'static str,
    /// The areas that it is met in; all, if there are none.
    pub(super) areas: &'static [usize],
    /// The first and the last working day, and those of its return.
    pub(super) lasts: [(usize, usize); 2],
    pub(super) cause: Cause,
}

pub(super) const AREAS: [Area; 6] = [
    Area {
        name: "billing",
        components: ["invoice run", "tax table", "dunning job", "payment webhook", "credit note", "price list"],
        goals: [
            "Round amounts per line in the {c}",
            "Make the {c} safe to repeat",
            "Add Swiss francs to the {c}",
            "Log every decision of the {c}",
            "Move the {c} off the legacy schema",
            "Show the {c} in the back office",
            "Cut the memory of the {c} in half",
            "Let support cancel the {c}",
            "Test the {c} against last year's data",
            "Split the {c} by legal entity",
            "Report the {c} to the auditors",
            "Make the {c} work over year end",
        ],
        causes: [
            Cause {
                tried: [
                    "Rounded the totals of the {c} after summing them",
                    "Switched the {c} to banker's rounding everywhere",
                ],
                why: "the tax office rounds each line before the sum, so the totals of the {c} differ by a cent",
                error: "assertion failed: total of {c} is off by 0.01 for {n} documents",
                lesson: (
                    "pitfall",
                    "Round the {c} by line, then sum",
                    "The tax office rounds each line. Summing first made the {c} differ by a cent in one of forty documents.",
                ),
            },
            Cause {
                tried: [
                    "Put a unique index on the provider's event id for the {c}",
                    "Checked for an earlier row before the {c} inserts",
                ],
                why: "the provider sends the same event with a new id after a timeout, so the key of the {c} does not recognise it",
                error: "duplicate key value violates unique constraint on {c} ledger (attempt {n})",
                lesson: (
                    "pitfall",
                    "Events for the {c} are recognised by payment reference",
                    "The provider changes the event id when it sends again. Only the payment reference stays the same, so the {c} uses it as its key.",
                ),
            },
            Cause {
                tried: ["Loaded the {c} in one transaction", "Raised the statement timeout for the {c}"],
                why: "a reporting query holds a lock on the same table for minutes, and the {c} waits behind it",
                error: "deadlock detected: {c} waits for ShareLock on transaction {n}",
                lesson: (
                    "debugging_technique",
                    "Look at pg_locks when the {c} hangs",
                    "The reporting job locks the ledger at 02:00 UTC. Run the {c} after it or read from the replica.",
                ),
            },
            Cause {
                tried: ["Compared dates of the {c} in local time", "Stored the day of the {c} as a string"],
                why: "the end of the month in Zurich is still the day before in UTC, so the {c} lands in the wrong period",
                error: "period mismatch in {c}: expected 31 entries, found {n}",
                lesson: (
                    "code_structure",
                    "Periods of the {c} are civil dates",
                    "Never derive a period of the {c} from a timestamp. It carries a civil date from the customer's time zone.",
                ),
            },
            Cause {
                tried: ["Wrote a backfill for the {c} in SQL", "Ran the backfill of the {c} in batches of 10,000"],
                why: "half of the old rows of the {c} have no currency, and nobody knows which one they had",
                error: "null value in column currency of {c}, row {n}",
                lesson: (
                    "pitfall",
                    "Old rows of the {c} have no currency",
                    "Before March 2022 the {c} had an implied currency. Join the customer's country of that time; do not assume euros.",
                ),
            },
            Cause {
                tried: ["Mocked the clock in the tests of the {c}", "Pinned the tests of the {c} to a date in June"],
                why: "the fixture of the {c} expires with the calendar year and the sandbox refuses expired cards",
                error: "sandbox declined card for {c}: expired ({n} cases)",
                lesson: (
                    "testing_strategy",
                    "Tests of the {c} need cards from the factory",
                    "Cards in fixtures expire. The card factory makes one valid for the {c}'s clock.",
                ),
            },
            Cause {
                tried: ["Cached the exchange rate for the {c}", "Read the rate of the {c} once a day"],
                why: "the bank publishes at 16:00 and corrects some rates the next morning; the {c} had already used them",
                error: "rate of {c} changed after posting, {n} entries to correct",
                lesson: (
                    "success_pattern",
                    "The {c} posts with the rate of the day before",
                    "Yesterday's rates are final. Using them in the {c} ended all corrections.",
                ),
            },
        ],
    },
    Area {
        name: "search",
        components: ["query parser", "synonym table", "facet counter", "ranking job", "index writer", "suggestion box"],
        goals: [
            "Support phrases in the {c}",
            "Halve the latency of the {c}",
            "Handle Finnish words in the {c}",
            "Make the {c} ignore accents",
            "Add a fuzz target for the {c}",
            "Rewrite the {c} without regular expressions",
            "Limit the memory of the {c}",
            "Let editors change the {c}",
            "Measure the {c} on real queries",
            "Replace the cache behind the {c}",
            "Show why the {c} decided so",
            "Keep the {c} up while shards move",
        ],
        causes: [
            Cause {
                tried: ["Normalised the input of the {c} to NFC", "Folded case in the {c} with to_lowercase"],
                why: "documents were indexed in NFD years ago, and the {c} compares bytes",
                error: "no hits where {n} were expected: {c} compared NFC with NFD",
                lesson: (
                    "pitfall",
                    "The {c} sees NFD in old documents",
                    "Everything before the second re-index is NFD. Normalise on both sides of the {c}.",
                ),
            },
            Cause {
                tried: ["Cached results of the {c} by query text", "Added an LRU in front of the {c}"],
                why: "permissions are applied before the {c}, so a cached result leaks documents of another tenant",
                error: "tenant isolation test failed: {c} returned {n} foreign documents",
                lesson: (
                    "pitfall",
                    "Cache keys of the {c} contain the tenant",
                    "Results of the {c} depend on permissions. A key without tenant and role set leaks documents.",
                ),
            },
            Cause {
                tried: ["Merged segments of the {c} at night", "Set the merge factor of the {c} to 4"],
                why: "a merge of the {c} needs twice the disk, and the nodes have only thirty percent free",
                error: "no space left on device while {c} merged segment {n}",
                lesson: (
                    "tool_usage",
                    "Force merges of the {c} only on the spare node",
                    "A merge doubles the disk for an hour. Drain the node first, then merge for the {c}.",
                ),
            },
            Cause {
                tried: ["Counted in the {c} with a bitmap per value", "Sampled one of eight documents in the {c}"],
                why: "deleted documents stay in the bitmaps until the next merge, so the {c} counts them",
                error: "count of {c} too high by {n} after deletes",
                lesson: (
                    "debugging_technique",
                    "Subtract live deletes in the {c}",
                    "Bitmaps keep deleted documents. The {c} must intersect with the live set before counting.",
                ),
            },
            Cause {
                tried: ["Recompiled the rules of the {c} at start", "Loaded the rules of the {c} lazily"],
                why: "two rules of the {c} rewrite each other for ever on words with a hyphen",
                error: "rewrite limit reached in {c} after {n} steps",
                lesson: (
                    "code_structure",
                    "Rules of the {c} are applied once, in order",
                    "A fixpoint does not exist for hyphenated words. One ordered pass of the {c} is enough.",
                ),
            },
            Cause {
                tried: ["Compared the {c} with the old one on ten queries", "Asked editors to judge the {c}"],
                why: "the judged set has no long queries, where the {c} got much worse",
                error: "ndcg of {c} fell to 0.{n} on queries of five words",
                lesson: (
                    "testing_strategy",
                    "Judge the {c} on long queries too",
                    "The golden set is short. tools/judge --long samples queries of five words and more for the {c}.",
                ),
            },
            Cause {
                tried: ["Moved the {c} to a thread pool of its own", "Gave the {c} a deadline of 80 ms"],
                why: "the {c} blocks on the configuration service at each request when the lease runs out",
                error: "deadline exceeded in {c} after {n} ms",
                lesson: (
                    "success_pattern",
                    "The {c} renews its lease in the background",
                    "Renewal at half of the lease removed the pauses of the {c}.",
                ),
            },
        ],
    },
    Area {
        name: "sync",
        components: [
            "outbox",
            "conflict resolver",
            "delta encoder",
            "presence channel",
            "retry queue",
            "snapshot loader",
        ],
        goals: [
            "Bound the {c} on slow networks",
            "Compress what the {c} sends",
            "Make the {c} survive a power cut",
            "Add metrics to the {c}",
            "Port the {c} to the new protocol",
            "Drop version 1 from the {c}",
            "Encrypt the {c} at rest",
            "Explain the {c} in the help centre",
            "Run the {c} in a worker",
            "Let the {c} pause on metered networks",
            "Model-check the {c}",
            "Test the {c} with 200 clients",
        ],
        causes: [
            Cause {
                tried: ["Ordered the {c} by wall clock", "Added a tie-breaker by device id to the {c}"],
                why: "phones set their clocks back by minutes, and the {c} then prefers the older change",
                error: "lost update in {c}: revision {n} overwritten",
                lesson: (
                    "pitfall",
                    "The {c} orders by hybrid clock, not by time",
                    "Device clocks jump. The {c} uses the hybrid logical clock of the header; wall time is for people.",
                ),
            },
            Cause {
                tried: ["Flushed the {c} after each write", "Wrote the {c} with O_SYNC"],
                why: "the rename of the {c} is durable only once its folder is synced as well",
                error: "{c} file empty after simulated crash {n}",
                lesson: (
                    "pitfall",
                    "Sync the folder after renaming the {c}",
                    "Without a sync of the parent folder the {c} was empty after one of fifty crashes.",
                ),
            },
            Cause {
                tried: ["Raised the window of the {c} to 64", "Acknowledged every tenth message of the {c}"],
                why: "the proxy buffers until 16 KB are there, so small messages of the {c} wait for seconds",
                error: "{c} stalled for {n} ms with an empty window",
                lesson: (
                    "tool_usage",
                    "Disable proxy buffering for the {c}",
                    "X-Accel-Buffering: no on the stream makes the {c} immediate. Heartbeats do not help.",
                ),
            },
            Cause {
                tried: ["Hashed records of the {c} with the default hasher", "Sorted keys before hashing in the {c}"],
                why: "floats are printed differently on Android, so the hashes of the {c} never agree",
                error: "checksum mismatch in {c}: client and server differ in {n} records",
                lesson: (
                    "code_structure",
                    "The {c} hashes numbers as bits",
                    "Never hash printed floats. The {c} writes the eight bytes in network order.",
                ),
            },
            Cause {
                tried: ["Doubled the delay of the {c} after each failure", "Capped the delay of the {c} at a minute"],
                why: "all clients reconnect in the same second after a deploy, and the {c} of each asks for everything",
                error: "429 too many requests for {c}, {n} clients waiting",
                lesson: (
                    "success_pattern",
                    "Spread the {c} with full jitter",
                    "Full jitter over the whole delay removed the wave of the {c} after a deploy.",
                ),
            },
            Cause {
                tried: ["Recorded a trace of the {c} and replayed it", "Simulated the {c} with three clients"],
                why: "the fault needs a fourth client that joins during a snapshot of the {c}",
                error: "invariant broken in {c} at step {n}: two leaders",
                lesson: (
                    "testing_strategy",
                    "Simulate the {c} with a late joiner",
                    "All real faults of the {c} needed a client that joins in the middle. The simulator has --late for it.",
                ),
            },
            Cause {
                tried: ["Freed the buffers of the {c} after sending", "Moved the {c} to a pool of buffers"],
                why: "a closure in the listener keeps every message of the {c} alive until the socket closes",
                error: "heap out of memory in {c} after {n} messages",
                lesson: (
                    "debugging_technique",
                    "Heap snapshots of the {c} need the retainer view",
                    "The leak of the {c} was invisible by size. Group by retainer to see the listener.",
                ),
            },
        ],
    },
    Area {
        name: "login",
        components: ["session store", "passkey flow", "password reset", "device list", "token refresh", "audit trail"],
        goals: [
            "Rate limit the {c}",
            "Move the {c} to the new identity provider",
            "Make the {c} work without cookies",
            "Translate the {c} into nine languages",
            "Expire the {c} after 30 days",
            "Let admins inspect the {c}",
            "Remove MD5 from the {c}",
            "Pen-test findings of the {c}",
            "Test the {c} in real browsers",
            "Document the {c} for partners",
            "Make the {c} accessible",
            "Shard the {c} by region",
        ],
        causes: [
            Cause {
                tried: ["Set SameSite=Strict for the {c}", "Put the {c} behind the same domain"],
                why: "the identity provider comes back with a POST from its own site, and the {c} loses its cookie",
                error: "state parameter missing in {c}, {n} redirects",
                lesson: (
                    "pitfall",
                    "The {c} needs SameSite=None for the return",
                    "The provider returns by POST. Only the short-lived state cookie of the {c} may be SameSite=None.",
                ),
            },
            Cause {
                tried: ["Rotated the signing key of the {c}", "Kept two keys for the {c}"],
                why: "the edge caches the key set for a day, so new tokens of the {c} are refused there",
                error: "signature verification failed for {c}, key {n} unknown",
                lesson: (
                    "tool_usage",
                    "Publish keys of the {c} two days before use",
                    "The edge caches the key set for 24 hours. keys publish --ahead 2d does it for the {c}.",
                ),
            },
            Cause {
                tried: [
                    "Compared the challenge of the {c} as text",
                    "Decoded the challenge of the {c} with the standard alphabet",
                ],
                why: "Safari pads the challenge, and the {c} compares it with one that is not padded",
                error: "challenge mismatch in {c} on Safari {n}",
                lesson: (
                    "pitfall",
                    "Compare decoded challenges in the {c}",
                    "Browsers differ in padding. The {c} decodes base64url before it compares.",
                ),
            },
            Cause {
                tried: ["Stored the {c} in one hash per user", "Set a lifetime on each key of the {c}"],
                why: "the cluster evicts by least use, so the {c} of people on holiday disappears",
                error: "{n} users signed out: {c} evicted",
                lesson: (
                    "code_structure",
                    "The {c} lives in the database, the cache only speeds it up",
                    "Eviction signed people out. Treat the cache of the {c} as absent at any time.",
                ),
            },
            Cause {
                tried: ["Let the {c} retry once after a 401", "Locked the {c} in the browser with a mutex"],
                why: "two tabs run the {c} at once, and the second one uses a token that was just revoked",
                error: "invalid_grant in {c}: token reused, {n} times an hour",
                lesson: (
                    "success_pattern",
                    "The {c} allows the old token for ten seconds",
                    "A grace of ten seconds ended the race of tabs in the {c}.",
                ),
            },
            Cause {
                tried: ["Ran the {c} in headless Chromium", "Stubbed the authenticator for the {c}"],
                why: "the virtual authenticator is gone after a navigation, in the middle of the {c}",
                error: "NotAllowedError in {c} after {n} ms",
                lesson: (
                    "testing_strategy",
                    "Attach the virtual authenticator per page for the {c}",
                    "It does not survive navigation. The helper in e2e/auth.ts attaches it again for the {c}.",
                ),
            },
            Cause {
                tried: ["Wrote the {c} after the response", "Queued the {c} in memory"],
                why: "a rolling deploy kills the process before the {c} is written",
                error: "gap in {c}: {n} events missing",
                lesson: (
                    "debugging_technique",
                    "Compare the {c} with the edge log to find gaps",
                    "The edge log has each request id. A join shows which events the {c} lost.",
                ),
            },
        ],
    },
    Area {
        name: "import",
        components: ["csv reader", "mapping editor", "preview table", "dedup step", "file watcher", "xlsx reader"],
        goals: [
            "Read 2 GB files with the {c}",
            "Show progress in the {c}",
            "Undo what the {c} did",
            "Recognise encodings in the {c}",
            "Accept semicolons in the {c}",
            "Make the {c} resumable",
            "Validate e-mail addresses in the {c}",
            "Run the {c} on the server",
            "Give the {c} a public API",
            "Keep the order of rows in the {c}",
            "Collect errors of the {c} in one report",
            "Benchmark the {c}",
        ],
        causes: [
            Cause {
                tried: [
                    "Detected the encoding from the first 4 KB in the {c}",
                    "Asked the user for the encoding in the {c}",
                ],
                why: "the first umlaut of most files is far behind the first 4 KB, so the {c} guesses ASCII",
                error: "invalid byte 0xfc at offset {n} in {c}",
                lesson: (
                    "pitfall",
                    "The {c} guesses encodings from the whole file",
                    "Umlauts come late. A pass over the file costs 80 ms a GB and makes the {c} right.",
                ),
            },
            Cause {
                tried: ["Split lines in the {c} at newlines", "Used a regular expression for fields in the {c}"],
                why: "quoted fields contain newlines, and the {c} loses its place",
                error: "expected 14 fields, found {n} in {c}",
                lesson: (
                    "code_structure",
                    "The {c} is a state machine over bytes",
                    "Quotes, newlines and separators cannot be split apart. The state machine of the {c} is 90 lines and correct.",
                ),
            },
            Cause {
                tried: ["Compared names in the {c} by edit distance", "Hashed the normalised name in the {c}"],
                why: "companies change their legal form, and the {c} calls them different",
                error: "{n} duplicates left after {c}",
                lesson: (
                    "success_pattern",
                    "The {c} drops legal forms before it compares",
                    "A list of 60 legal forms removed nine of ten false differences in the {c}.",
                ),
            },
            Cause {
                tried: ["Watched the folder with inotify in the {c}", "Polled every second in the {c}"],
                why: "network shares give no events, and files are seen by the {c} before they are complete",
                error: "unexpected end of file in {c} at byte {n}",
                lesson: (
                    "pitfall",
                    "The {c} waits for two equal sizes",
                    "On shares there is no close event. Two equal sizes five seconds apart mean complete for the {c}.",
                ),
            },
            Cause {
                tried: ["Streamed the sheet in the {c}", "Raised the heap for the {c} to 4 GB"],
                why: "the shared strings of a workbook come last in the archive, so the {c} has to hold all rows",
                error: "java heap space in {c} with {n} rows",
                lesson: (
                    "tool_usage",
                    "Read shared strings first in the {c}",
                    "Open the archive twice: strings first, rows second. The {c} then needs 60 MB.",
                ),
            },
            Cause {
                tried: ["Generated 1,000 files for the {c}", "Took ten files of customers for the {c}"],
                why: "none of the files has what breaks the {c}: a byte order mark in the middle",
                error: "header not recognised in {c}, column {n}",
                lesson: (
                    "testing_strategy",
                    "Keep each broken file of a customer as a test of the {c}",
                    "Generated files are too clean. corpus/ has the anonymised ones for the {c}.",
                ),
            },
            Cause {
                tried: ["Rendered all rows of the {c}", "Rendered the {c} in chunks of 500"],
                why: "measuring the width of each cell forces a layout for each row of the {c}",
                error: "frame took {n} ms in {c}",
                lesson: (
                    "debugging_technique",
                    "Record layouts of the {c} with the performance panel",
                    "Forced layouts show as purple blocks. Fixed column widths made the {c} smooth.",
                ),
            },
        ],
    },
    Area {
        name: "mobile",
        components: ["photo upload", "offline map", "push handler", "share sheet", "widget", "settings screen"],
        goals: [
            "Bring back the {c} on Android 9",
            "Draw the {c} in dark mode",
            "Start the {c} in under a second",
            "Save battery in the {c}",
            "Move the {c} to the new navigation",
            "Support tablets in the {c}",
            "Track crashes of the {c}",
            "Make the {c} work in landscape",
            "Write screenshot tests for the {c}",
            "Shrink the {c} by 3 MB",
            "Let the {c} work behind a VPN",
            "Localise dates in the {c}",
        ],
        causes: [
            Cause {
                tried: ["Ran the {c} in a foreground service", "Scheduled the {c} with the work manager"],
                why: "some vendors kill background work after a minute, so the {c} never ends",
                error: "{c} cancelled by system after {n} s",
                lesson: (
                    "pitfall",
                    "Split the {c} into steps of 20 seconds",
                    "Vendors kill longer work. Steps with a checkpoint let the {c} end on all phones.",
                ),
            },
            Cause {
                tried: ["Decoded images of the {c} at full size", "Recycled bitmaps in the {c}"],
                why: "two copies of a 48 megapixel picture exist while the {c} rotates it",
                error: "OutOfMemoryError in {c}: {n} MB requested",
                lesson: ("code_structure", "The {c} rotates by tiles", "Tiles of 512 pixels keep the {c} under 30 MB."),
            },
            Cause {
                tried: ["Signed the {c} with the upload key", "Rebuilt the {c} with a clean cache"],
                why: "the extension of the {c} has an entitlement that the profile lacks",
                error: "code signing failed for {c}: profile {n} lacks app groups",
                lesson: (
                    "tool_usage",
                    "Regenerate profiles after a change of entitlements in the {c}",
                    "fastlane match --force renews them. Without it the {c} fails only in the archive step.",
                ),
            },
            Cause {
                tried: ["Waited for the animation of the {c}", "Disabled animations in the tests of the {c}"],
                why: "the idle check ignores the coroutine in which the {c} loads",
                error: "view of {c} not found after {n} ms",
                lesson: (
                    "testing_strategy",
                    "Register the loader of the {c} as idling resource",
                    "Espresso does not see coroutines. The idling resource ended the flaky tests of the {c}.",
                ),
            },
            Cause {
                tried: ["Read the payload of the {c} on the main thread", "Handled the {c} in a broadcast receiver"],
                why: "the payload of the {c} is encrypted and the key store is locked before the first unlock",
                error: "key store locked in {c}, {n} messages dropped",
                lesson: (
                    "pitfall",
                    "The {c} must work before the first unlock",
                    "Keep the key of the {c} in device-protected storage; nothing else is readable after a reboot.",
                ),
            },
            Cause {
                tried: ["Collected a trace of the {c} with systrace", "Compared start times of the {c} by hand"],
                why: "the first start after an update compiles, which hides what the {c} really costs",
                error: "start of {c} took {n} ms, limit 1000",
                lesson: (
                    "debugging_technique",
                    "Warm up before measuring the {c}",
                    "Run the baseline profile first, drop three starts, then measure the {c}.",
                ),
            },
            Cause {
                tried: ["Wrapped the old view of the {c}", "Rewrote the {c} in one step"],
                why: "the {c} keeps its state in a singleton that the new screen does not see",
                error: "state of {c} lost after {n} rotations",
                lesson: (
                    "success_pattern",
                    "Move the state of the {c} into a view model first",
                    "With the state moved, the screen of the {c} could change in small steps.",
                ),
            },
        ],
    },
];
