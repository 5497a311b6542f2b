#!/usr/bin/env bash
# Build a library from examples/ in the fresh folder demo/ and ask it questions.
set -euo pipefail
cd "$(dirname "$0")/.."

run() {
  local part line='$ pagetrail'
  for part in "$@"; do
    case "$part" in *' '*) line+=" \"$part\"" ;; *) line+=" $part" ;; esac
  done
  printf '\n%s\n' "$line"
  pagetrail "$@"
}

rm -rf demo
mkdir demo
export PAGETRAIL_LIBRARY=demo/library

run add examples
run search "reasons for late departures" --top 3
run ask "How much will be invested in shore charging?"
run ask "What is the main reason for late departures?"
run ask "What is the depth of the harbour at low tide?"
run ask "What was the fire pump pressure of the Curlew?" --evidence-image demo/evidence.png
