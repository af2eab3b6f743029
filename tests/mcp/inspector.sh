#!/usr/bin/env bash
# Calls every tool with the command line of the MCP Inspector, from a folder of its own.
#
# Usage: tests/mcp/inspector.sh [PROGRAM], the debug build by default. Needs npm; a Node that is new enough comes from there.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/ralph-memory}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder" npm_config_update_notifier=false
unset XDG_DATA_HOME
cd "$folder"
npm install --silent --no-fund --no-audit node@22 @modelcontextprotocol/inspector@2.12.0 >/dev/null
export PATH="$folder/node_modules/node/bin:$folder/node_modules/.bin:$PATH"
echo "node $(node --version), inspector $(mcp-inspector --cli --version)"

mkdir project
cd project
"$program" init >/dev/null
"$program" add "WAL mode" --tags sqlite --feature storage --body "Readers go on while one writes." >/dev/null
"$program" context --task "Add the tables" --task-id t-1 --feature storage >/dev/null 2>&1
printf '<failure-report>\nwhat_tried: one transaction\nwhy_failed: the table was locked\nrelevant_files: src/db.rs\n</failure-report>\n<task-failed>t-1</task-failed>\n' |
    "$program" record >/dev/null 2>&1

inspect() {
    mcp-inspector --cli "$program" mcp --format json "$@"
}
# What the call is to answer with, as it is said by jq's cousin in Node: a condition on `r`, the result.
expect() {
    local condition=$1
    shift
    inspect "$@" | node -e "
        const r = JSON.parse(require('fs').readFileSync(0)).result;
        if (!($condition)) { console.error('not so: $condition', JSON.stringify(r)); process.exit(1); }"
    echo "ok  ${*//$'\n'/ }"
}
call() {
    expect "$1" --method tools/call --tool-name "$2" --tool-args-json "$3"
}

expect 'r.tools.length === 9' --method tools/list --strict
call 'r.structuredContent.entries[0].id === "knowledge/wal-mode"' search_memory '{"query":"do readers go on"}'
call 'r.structuredContent.body.startsWith("Readers")' read_entry '{"id":"knowledge/wal-mode"}'
call 'r.structuredContent.action === "created"' add_knowledge '{"title":"Locks","tags":["sqlite"],"body":"One for each file."}'
call 'r.structuredContent.context.includes("the table was locked")' build_context '{"task":"Add the tables","task_id":"t-1"}'
call 'r.structuredContent.attempt === 2' record_attempt '{"task":"Add the tables","task_id":"t-1","outcome":"failed","what_tried":"A lock","why_failed":"It waits."}'
call 'r.structuredContent.entries[0].score === 1' search_feature_memory '{"query":"readers","feature":"storage","limit":3,"min_score":0.5}'
call 'r.structuredContent.iterations[0].outcome === "failed"' get_recent_iterations '{"feature":"storage","count":2}'
call 'Array.isArray(r.structuredContent.files)' get_feature_files '{"feature":"storage"}'
call 'r.structuredContent.iterations.length >= 1' get_failed_attempts '{"feature":"storage","task_id":"t-1"}'

# A tool that cannot do it, and one that is not there: exit code 5.
for arguments in 'read_entry {"id":"knowledge/wal"}' 'forget {}'; do
    code=0
    inspect --method tools/call --tool-name "${arguments%% *}" --tool-args-json "${arguments#* }" >/dev/null 2>&1 || code=$?
    [ "$code" = 5 ] || { echo "$arguments: exit code $code" >&2; exit 1; }
    echo "ok  refused: $arguments"
done
echo "The Inspector called every tool."
