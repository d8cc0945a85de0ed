#!/bin/bash
# Everything that a change must pass besides the tests of the dev preset, cheapest first. Each step
# is a command that a contributor can type.
#
#   tools/check.sh [STEP …]     by default format, layers, headers, tidy, asan, tsan; `all` for every step
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

step_format() {
  git ls-files '*.h' '*.cc' | xargs -r clang-format --dry-run --Werror
}

step_layers() {
  python3 tools/layers.py
}

step_headers() {
  cmake --preset dev --log-level=WARNING >/dev/null
  cmake --build --preset dev --target headers_alone -j "$jobs" >/dev/null
}

step_tidy() {
  cmake --preset clang --log-level=WARNING >/dev/null
  tools/tidy.py
}

step_asan() {
  cmake --preset asan --log-level=WARNING >/dev/null
  cmake --build --preset asan --target unit_tests -j "$jobs"
  ctest --preset asan -j "$jobs"
}

# The folders that have threads of their own.
step_tsan() {
  cmake --preset tsan --log-level=WARNING >/dev/null
  local targets=() name
  for name in base platform ops exec engine server; do
    grep -qs 'TESTS' "src/$name/CMakeLists.txt" && targets+=("${name}_test")
  done
  cmake --build --preset tsan --target "${targets[@]}" -j "$jobs"
  ctest --preset tsan -R "^($(IFS='|'; echo "${targets[*]}"))(\.|$)" -j 1
}

# Every corpus, then each target for QUIRE_FUZZ_SECONDS more.
step_fuzz() {
  cmake --preset fuzz --log-level=WARNING >/dev/null
  cmake --build --preset fuzz -j "$jobs"
  QUIRE_FUZZ_SECONDS=${QUIRE_FUZZ_SECONDS:-60} ctest --preset fuzz -j "$jobs"
}

step_arm64() {
  cmake --preset arm64 --log-level=WARNING >/dev/null
  cmake --build --preset arm64 -j "$jobs"
  ctest --preset arm64 -j "$jobs"
}

# The lock analysis of clang over the same sources.
step_clang() {
  cmake --preset clang --log-level=WARNING >/dev/null
  cmake --build --preset clang -j "$jobs"
}

steps=("$@")
[ $# -gt 0 ] || steps=(format layers headers tidy asan tsan)
[ "${1:-}" != all ] || steps=(format layers headers tidy clang asan tsan fuzz arm64)
for name in "${steps[@]}"; do
  echo "== $name"
  began=$SECONDS
  "step_$name"
  echo "== $name passed in $((SECONDS - began)) s"
done
