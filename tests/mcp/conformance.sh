#!/usr/bin/env bash
# Runs the MCP conformance suite for both revisions against the program, through the HTTP front in front.mjs. What fails must be in the lists
# beside this script, with the reason, and what is in them must fail.
#
# Usage: tests/mcp/conformance.sh [PROGRAM], the debug build by default. Needs npm; a Node that is new enough comes from there.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
cd "$here/../.."
program=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/ralph-memory}")
folder=$(mktemp -d)
front=
trap '[ -z "$front" ] || kill "$front"; rm -rf "$folder"' EXIT
export HOME="$folder" npm_config_update_notifier=false
unset XDG_DATA_HOME
cd "$folder"
for version in 0.1.16 0.2.0-alpha.12; do
    npm install --silent --no-fund --no-audit --prefix "$version" node@22 "@modelcontextprotocol/conformance@$version" >/dev/null
done
export PATH="$folder/0.1.16/node_modules/node/bin:$PATH"
mkdir project
"$program" init --root project >/dev/null
"$program" add --root project "WAL mode" --tags sqlite --body "Readers go on while one writes." >/dev/null
port=${PORT:-4837}
mkfifo ready
node "$here/front.mjs" "$port" "$program" project >ready &
front=$!
read -r _ <ready

# A version of the suite, the list of what fails, and what is run.
check() {
    local version=$1 list=$2
    shift 2
    local code=0
    "$folder/$version/node_modules/.bin/conformance" server --url "http://127.0.0.1:$port/mcp" --expected-failures "$here/$list" \
        -o "$folder/results" "$@" >"$folder/output" 2>&1 || code=$?
    echo "== conformance $version $*: exit code $code"
    sed -n '/=== SUMMARY ===/,$p' "$folder/output"
    return "$code"
}
failed=0
check 0.1.16 not-offered-0.1.16.yml || failed=1
check 0.2.0-alpha.12 not-offered-2025-11-25.yml --requirements 2025-11-25 || failed=1
check 0.2.0-alpha.12 not-offered-2026-07-28.yml --requirements 2026-07-28 || failed=1
exit "$failed"
