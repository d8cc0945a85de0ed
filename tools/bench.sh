#!/bin/bash
# Runs the benchmark programs of the dev preset one after another, pinned by the programs
# themselves; nothing else should be running.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev --log-level=WARNING >/dev/null
cmake --build --preset dev -j "$(nproc)" >/dev/null
for program in build/dev/bench/*_bench; do
  echo "== $(basename "$program")"
  "$program" "$@"
done
