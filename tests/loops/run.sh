#!/usr/bin/env bash
# Runs the loops of the guide, as they stand there, against an agent that fails twice and then does its task.
#
# Usage: tests/loops/run.sh PROGRAM [LANGUAGE…], of bash, python and typescript; all by default. What is missing is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."
guide=docs/src/guides/own-loop.md
program=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bash python typescript

fail() {
    echo "FAILED: $1" >&2
    exit 1
}

need() {
    command -v "$1" >/dev/null || fail "$1 is missing: install it, for instance with \`apt-get install $2\`"
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/home" "$folder/tmp"
ln -s "$program" "$folder/bin/ralph-memory"
# The agent keeps each prompt. It changes a file, so that an attempt has changes.
cat >"$folder/bin/claude" <<'AGENT'
#!/bin/sh
n=$(($(ls "$KEPT" | wc -l) + 1))
cat >"$KEPT/$n"
id=$(sed -n 's/^\*\*ID:\*\* //p' "$KEPT/$n")
echo "change $n" >>app.txt
case $n in
    3) echo "<task-done>$id</task-done>" ;;
    *) printf '<task-failed>%s</task-failed>\n<failure-report>\nwhat_tried: approach %s\nwhy_failed: reason %s\n</failure-report>\n' "$id" $n $n ;;
esac
AGENT
# Verification agrees with the agent.
cat >"$folder/bin/cargo" <<'TESTS'
#!/bin/sh
n=$(ls "$KEPT" | wc -l)
echo "test login::works ... run $n"
[ "$n" = 3 ] || { echo "assertion $n failed" >&2; exit 101; }
TESTS
chmod +x "$folder/bin/claude" "$folder/bin/cargo"

# Runs a loop in a project of its own, and looks at what came of it.
try() {
    language=$1
    shift
    project=$folder/$language
    mkdir "$project" "$project-kept"
    cd "$project"
    export KEPT="$project-kept"
    git init --quiet .
    ralph-memory init >/dev/null
    "$@" "Fix the login" >"$folder/out.txt" 2>"$folder/err.txt" || fail "$language: exit code $?: $(cat "$folder/out.txt" "$folder/err.txt")"
    said=$(sed 's/.*[ (]\([a-z]*\))\{0,1\}$/\1/' "$folder/out.txt" | tr '\n' ' ')
    [ "$said" = "failed failed done " ] || fail "$language: it printed: $(cat "$folder/out.txt")"
    outcomes=$(cat .ralph/journal/*/*.md | sed -n 's/^outcome: //p' | tr '\n' ' ')
    [ "$outcomes" = "failed failed done " ] || fail "$language: the journal has: $outcomes"
    [ "$(ls .ralph/journal)" = "$(cd .ralph/journal && ls -d loop-*)" ] || fail "$language: it is not one run: $(ls .ralph/journal)"
    for n in 1 2 3; do
        grep -qx '\*\*Title:\*\* Fix the login' "$KEPT/$n" || fail "$language: prompt $n lacks the task: $(cat "$KEPT/$n")"
        grep -q '^## What to Report' "$KEPT/$n" || fail "$language: prompt $n lacks the instructions: $(cat "$KEPT/$n")"
    done
    for shown in "2:approach 1" "2:reason 1" "3:reason 1" "3:approach 2" "3:reason 2"; do
        grep -q "${shown#*:}" "$KEPT/${shown%%:*}" || fail "$language: prompt ${shown%%:*} lacks \`${shown#*:}\`: $(cat "$KEPT/${shown%%:*}")"
    done
    for printed in "assertion 1 failed" "assertion 2 failed"; do
        grep -rq "$printed" .ralph/journal || fail "$language: the journal lacks what the tests printed: $printed"
    done
    left=$(git status --porcelain --untracked-files=all | grep -v '^?? \.ralph/\|^?? app.txt$' || true)
    [ -z "$left" ] || fail "$language: it left in the work tree: $left"
    cd - >/dev/null
    echo "$language: failed, failed, done"
}

export HOME="$folder/home" TMPDIR="$folder/tmp" PATH="$folder/bin:$PATH"
unset "${!RALPH_@}" "${!XDG_@}"
for language in "$@"; do
    loop=$folder/loop.$language
    awk -v begin="\`\`\`$language" '$0 == begin { inside = 1; next } /^```$/ { inside = 0 } inside' "$guide" >"$loop"
    lines=$(wc -l <"$loop")
    [ "$lines" -gt 0 ] && [ "$lines" -le 25 ] || fail "the loop for $language in $guide has $lines lines"
    case $language in
        bash) try bash sh "$loop" ;;
        python)
            need python3 python3
            try python python3 -B "$loop"
            ;;
        typescript)
            need node nodejs
            # A Node that knows no TypeScript gets it as JavaScript, as the guide says.
            if node --experimental-strip-types --eval 0 2>/dev/null; then
                mv "$loop" "$folder/loop.mts"
                try typescript node --experimental-strip-types --no-warnings "$folder/loop.mts"
            else
                mv "$loop" "$folder/loop.mjs"
                try typescript node "$folder/loop.mjs"
            fi
            ;;
        *) fail "there is no loop in $language" ;;
    esac
done
