#!/usr/bin/env bash
# The scripts of `completions` complete a command and an option in the real bash, zsh and fish.
# Usage: tests/shells/complete.sh [PROGRAM], the debug build by default.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/ralph-memory}")
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
for shell in bash zsh fish; do "$program" completions "$shell" > "$home/$shell"; done
cp "$home/zsh" "$home/_ralph-memory"

in_bash() {
    bash --norc -c 'source "$1"; COMP_WORDS=($2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _ralph__memory ralph-memory "${COMP_WORDS[-1]}" ""; echo "${COMPREPLY[@]}"' - "$home/bash" "$1"
}
in_zsh() { # which completes on a terminal alone
    zsh -f -c 'zmodload zsh/zpty; zpty z zsh -f -i
        zpty -w z "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; echo is-\${:-ready}"
        zpty -r -m z seen "*is-ready*"
        zpty -w -n z "$2"$'"'"'\t'"'"'; zpty -r -m z seen "*$3*" && print completed: "$3"' - "$home" "$1" "$2"
}
in_fish() { fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$home/fish" "$1"; }

for shell in bash zsh fish; do
    while IFS='|' read -r line expected; do
        got=$(timeout 60 bash -c "$(declare -f "in_$shell"); home=$home; in_$shell \"\$@\"" - "$line" "$expected" || true)
        [[ "$got" == *"$expected"* ]] || { echo "FAILED: $shell: \`$line\` gives: $got"; exit 1; }
    done <<< $'ralph-memory tid|tidy\nralph-memory list --never|--never-helped'
done
echo "bash, zsh and fish complete"
