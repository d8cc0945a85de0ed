#!/bin/bash
# Installs Quire into an empty folder, builds the examples against it as a project of their own, and
# runs them with a small model.
#
#   run.sh BUILD_DIR SOURCE_DIR WORK_DIR MODEL_WRITER
set -euo pipefail
build=$1 source=$2 work=$3 model_writer=$4
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" --component library >/dev/null
cmake -S "$source/examples" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build"
"$model_writer" "$work/model"
"$work/build/generate" "$work/model" "one" "two" | tee "$work/generate.txt"
[ "$(grep -c '|' "$work/generate.txt")" -ge 2 ]
"$work/build/stream" "$work/model" >/dev/null
"$work/build/generate_c" "$work/model" "three"
if "$work/build/generate_c" "$work/no-such-model" 2>"$work/error.txt"; then
  echo "a model that is not there was loaded" >&2
  exit 1
fi
grep -q "no-such-model" "$work/error.txt"
