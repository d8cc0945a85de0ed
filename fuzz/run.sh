#!/bin/sh
# Replays a fuzz target's corpus, searches for new inputs for QUIRE_FUZZ_SECONDS, or keeps those
# that a search has found and that reach code which nothing in the corpus reaches.
#
#   fuzz/run.sh replay|search|keep PROGRAM CORPUS
#
# What the search finds lies in found/ beside the program: inputs of new coverage in found/NAME,
# inputs that fail as found/NAME-crash-…. In the corpus the kept ones are named by their hash; the
# others are seeds, written by tools/fuzz_seeds.py or by hand.
set -eu
mode=$1
program=$2
corpus=$3
name=$(basename "$program")

# An input of a few kilobytes that needs 64 MB at once is a fault: a length was believed.
limits="-malloc_limit_mb=64 -rss_limit_mb=2048 -timeout=10"

if [ "$mode" = replay ]; then
  # shellcheck disable=SC2086
  exec "$program" $limits -runs=0 "$corpus"
fi
found=$(dirname "$program")/found
if [ "$mode" = keep ]; then
  exec "$program" -set_cover_merge=1 -use_counters=0 "$corpus" "$found/$name"
fi
if [ -z "${QUIRE_FUZZ_SECONDS:-}" ]; then
  echo "skipped: QUIRE_FUZZ_SECONDS is not set"
  exit 77
fi
mkdir -p "$found/$name"
dict=$(dirname "$corpus")/../dict/$name.dict
[ -e "$dict" ] && limits="$limits -dict=$dict"
# shellcheck disable=SC2086
exec nice -n 19 "$program" $limits -max_len=8192 -max_total_time="$QUIRE_FUZZ_SECONDS" \
  -print_final_stats=1 -artifact_prefix="$found/$name-" "$found/$name" "$corpus"
