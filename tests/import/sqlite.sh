#!/usr/bin/env bash
# Imports databases that the real sqlite3 made, in the forms of RefoundAI's ralph and of opencode, from a folder of its own.
#
# Usage: tests/import/sqlite.sh [PROGRAM], the debug build by default. Needs sqlite3.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/ralph-memory}")
if ! command -v sqlite3 >/dev/null; then
    echo "sqlite3 is missing: install it, for instance with \`apt-get install sqlite3\`" >&2
    exit 1
fi
sqlite3 --version
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder"
# A start-up file must not change the answers.
printf '.mode csv\n.headers off\n' > "$folder/.sqliterc"
mkdir "$folder/project"
cd "$folder/project"
"$program" init >/dev/null

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

# Without a journal.
sqlite3 -init /dev/null .ralph/progress.db "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT)" 2>/dev/null
"$program" import ralph >out.txt 2>&1 && fail "a database without a journal was imported"
grep -q 'has no table `journal`' out.txt || fail "$(cat out.txt)"
rm .ralph/progress.db

# A database from a clone: whatever it has in the place of a table, nothing of it runs, and the import ends.
hostile() {
    rm -f .ralph/progress.db
    timeout 60 sqlite3 -init /dev/null .ralph/progress.db "$1" >/dev/null 2>&1 || fail "the database cannot be made: $1"
    timeout 60 "$program" import ralph >out.txt 2>&1 && fail "it was imported: $1"
    grep -q "$2" out.txt || fail "$(cat out.txt)"
    [ ! -e "$folder/ran" ] || fail "a program was run by: $1"
    [ ! -e .ralph/journal ] || [ -z "$(ls -A .ralph/journal)" ] || fail "it was written: $1"
    rm .ralph/progress.db
}
edit="edit('x', 'touch $folder/ran;:')"
hostile "CREATE VIEW journal AS SELECT 1 AS id, $edit AS outcome" 'is a view or a virtual table'
hostile "CREATE TABLE b (i); INSERT INTO b VALUES (1); CREATE VIEW v AS SELECT 1 AS rowid, 1 AS id, $edit AS outcome;
    CREATE VIRTUAL TABLE journal USING fts5(id, outcome, content = 'v', content_rowid = 'rowid')" 'is a view or a virtual table'
hostile "CREATE TABLE journal (id INTEGER PRIMARY KEY); INSERT INTO journal VALUES (1);
    CREATE VIEW tasks AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS id FROM t" \
    '`tasks` in .* is a view or a virtual table'
# Columns that the database computes, one with a gigabyte and one that takes years.
hostile "CREATE TABLE journal (id INTEGER PRIMARY KEY, notes TEXT AS (hex(zeroblob(400000000)))); INSERT INTO journal VALUES (1)" \
    '`sqlite3` cannot read .*: .*out of memory'
hostile "CREATE TABLE journal (id INTEGER PRIMARY KEY); INSERT INTO journal VALUES (1);
    ALTER TABLE journal ADD COLUMN notes TEXT AS (instr(hex(zeroblob(20000000)), hex(zeroblob(5000000)) || '1'))" \
    '`sqlite3` cannot read .*: it took over 10 s'

sqlite3 -init /dev/null .ralph/progress.db >/dev/null 2>&1 <<'SQL'
PRAGMA journal_mode = WAL;
PRAGMA user_version = 3;
CREATE TABLE features (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, status TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, status TEXT NOT NULL, feature_id TEXT REFERENCES features(id));
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, iteration INTEGER NOT NULL, task_id TEXT, feature_id TEXT,
    outcome TEXT NOT NULL, model TEXT, duration_secs REAL, cost_usd REAL, files_modified TEXT, notes TEXT, created_at TEXT NOT NULL
);
INSERT INTO features VALUES ('f-1', 'basket', 'running', '2026-02-17T11:00:00Z');
INSERT INTO tasks VALUES ('t-1', 'Empty the basket', 'done', 'f-1');
INSERT INTO journal VALUES (1, 'run-1', 1, 't-1', 'f-1', 'failed', 'sonnet', 90.5, 0.12, '["src/a.rs"]', 'It says "no"; two
lines', '2026-02-17T12:01:30Z');
INSERT INTO journal VALUES (2, 'run-1', 2, 't-1', NULL, 'done', 'opus', 30.0, NULL, NULL, NULL, '2026-02-17T12:05:00Z');
SQL
before=$(sha256sum .ralph/progress.db)
"$program" import ralph >out.txt 2>&1 || fail "$(cat out.txt)"
grep -q '^2 added' out.txt || fail "$(cat out.txt)"
[ "$before" = "$(sha256sum .ralph/progress.db)" ] || fail "the database was changed"
grep -q 'task_title: "Empty the basket"' .ralph/journal/run-1/0001.md || fail "the title is missing"
grep -q '^> lines$' .ralph/journal/run-1/0001.md || fail "the notes are not whole"
grep -q '^feature: basket$' .ralph/journal/run-1/0002.md || fail "the feature of the task is missing"
"$program" import ralph 2>&1 | grep -q '^2 unchanged' || fail "it was imported twice"

echo "no database" > .ralph/progress.db
"$program" import ralph >out.txt 2>&1 && fail "what is no database was imported"
grep -q '`sqlite3` cannot read' out.txt || fail "$(cat out.txt)"
# The database of opencode 1.18, which has more columns and tables, and is in WAL mode. Times are milliseconds.
root=$(pwd -P)
data="$folder/.local/share/opencode"
mkdir -p "$data"
sqlite3 -init /dev/null "$data/opencode.db" >/dev/null <<SQL
PRAGMA journal_mode = WAL;
CREATE TABLE \`session\` (\`id\` text PRIMARY KEY, \`project_id\` text NOT NULL, \`parent_id\` text, \`directory\` text NOT NULL,
    \`title\` text NOT NULL, \`time_created\` integer NOT NULL, \`time_updated\` integer NOT NULL);
CREATE TABLE \`message\` (\`id\` text PRIMARY KEY, \`session_id\` text NOT NULL, \`time_created\` integer NOT NULL, \`data\` text NOT NULL,
    CONSTRAINT \`fk_message\` FOREIGN KEY (\`session_id\`) REFERENCES \`session\`(\`id\`) ON DELETE CASCADE);
CREATE TABLE \`part\` (\`id\` text PRIMARY KEY, \`message_id\` text NOT NULL, \`session_id\` text NOT NULL, \`data\` text NOT NULL);
INSERT INTO session VALUES ('ses_1', 'p', NULL, '$root', 'A title', 1793869200000, 1793869440000);
INSERT INTO session VALUES ('ses_2', 'p', 'ses_1', '$root', 'A sub-agent', 1793869200000, 1793869440000);
INSERT INTO session VALUES ('ses_3', 'p', NULL, '/elsewhere', 'Another project', 1793869200000, 1793869440000);
INSERT INTO message VALUES ('msg_2', 'ses_1', 2, '{"role":"assistant","modelID":"scripted"}');
INSERT INTO message VALUES ('msg_1', 'ses_1', 1, '{"role":"user"}');
INSERT INTO message VALUES ('msg_3', 'ses_2', 2, '{"role":"assistant"}');
INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"Quote the \"names\" of it''s files."}');
INSERT INTO part VALUES ('prt_2', 'msg_2', 'ses_1', '{"type":"tool","tool":"edit","state":{"status":"completed","input":{"filePath":"$root/a.rs"}}}');
INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_1', '{"type":"text","text":"They are quoted."}');
INSERT INTO part VALUES ('prt_4', 'msg_3', 'ses_2', '{"type":"tool","tool":"edit","state":{"status":"completed","input":{"filePath":"$root/b.rs"}}}');
SQL
before=$(sha256sum "$data/opencode.db")
"$program" import transcripts >out.txt 2>&1 || fail "$(cat out.txt)"
grep -q '^1 added; read opencode.db' out.txt || fail "$(cat out.txt)"
[ "$before" = "$(sha256sum "$data/opencode.db")" ] || fail "the database of opencode was changed"
grep -q '^task_title: .*Quote the .*names.* of it.s files' .ralph/journal/opencode-*/0001.md || fail "the prompt is missing"
grep -q '^files: {modified: \[a.rs\]}' .ralph/journal/opencode-*/0001.md || fail "the files are missing"
"$program" import transcripts 2>&1 | grep -q '^1 unchanged' || fail "a session was imported twice"
# Whatever is in the place of a table, nothing of it runs.
sqlite3 -init /dev/null "$data/opencode.db" "DROP TABLE part; CREATE VIEW part AS SELECT session_id, id AS message_id, $edit AS data FROM message"
rm -r .ralph/journal
"$program" import transcripts >out.txt 2>&1 || fail "$(cat out.txt)"
grep -q 'cannot be read: `part` in .* is a view or a virtual table' out.txt || fail "$(cat out.txt)"
[ ! -e "$folder/ran" ] || fail "a program was run by a view of opencode's database"

echo "The import of a real database works."
