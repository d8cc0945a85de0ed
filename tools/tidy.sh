#!/bin/bash
# clang-tidy over every source of src/ and apps/. A source that passed is not read again until its
# preprocessed text or the checks change (marks in the cache folder). Reads the clang preset's compile
# commands; kernels of other processors are left out.
#
#   tools/tidy.sh [FILE …]
set -euo pipefail
cd "$(dirname "$0")/.."
marks=${XDG_CACHE_HOME:-$HOME/.cache}/quire/tidy
mkdir -p "$marks"

check_one() {
  local file=$1 key errors
  key=$(python3 tools/preprocessed.py build/clang/compile_commands.json "$file" | cat - .clang-tidy |
    sha256sum | cut -d' ' -f1)
  [ -e "$marks/$key" ] && return 0
  if errors=$(clang-tidy --quiet -p build/clang "$file" 2>&1); then
    touch "$marks/$key"
  else
    echo "$errors"
    echo "tidy: $file has findings"
    return 1
  fi
}
export -f check_one
export marks

if [ $# -gt 0 ]; then
  printf '%s\n' "$@"
else
  git ls-files 'src/*.cc' 'apps/*.cc' | grep -v '^src/kernels/neon' | grep -vE '_test(_[a-z]+)?\.cc$|test_main\.cc$'
fi | xargs -P "$(nproc)" -I{} bash -c 'check_one {}'
