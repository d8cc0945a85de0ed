#!/bin/sh
# Builds the C++ core of xgrammar, which constrains output to a grammar, from its source package at
# a pinned version, as a static library in ~/.cache/quire/deps (QUIRE_CACHE overrides ~/.cache/quire).
# Does nothing where it is there already; prints the folder, which has include/ and lib/.
#
#   tools/get_xgrammar.sh [--path]     --path: only print where it is or would be
set -eu

version="0.2.9"
sha256="87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90"
# Plain code: debug builds and sanitizers link the same library. Its own flags make warnings errors
# and ask for link-time optimisation; these come after them.
flags="-O2 -fno-lto -fPIC -fno-gnu-unique -w"
# Its memory comes from quire_xgrammar_new (src/structured/work_budget.cc), which bounds what a
# grammar may cost. One object with its templates kept to itself, so that none of the program's
# takes their place, or they the program's.
names="--redefine-sym _Znwm=quire_xgrammar_new --redefine-sym _ZdlPvm=quire_xgrammar_delete
  --wildcard --keep-global-symbol *8xgrammar*"
key=$(echo "$sha256 $flags $names" | sha256sum | cut -c 1-12)
deps="${QUIRE_CACHE:-$HOME/.cache/quire}/deps"
folder="$deps/xgrammar-$version-$key"

if [ "${1:-}" = --path ] || [ -e "$folder/lib/libxgrammar.a" ]; then
  echo "$folder"
  exit 0
fi
mkdir -p "$deps"
scratch=$(mktemp -d "$deps/.build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM
echo "building xgrammar $version (about two minutes)" >&2
# With the hash in the list pip checks the package before it looks into it.
echo "xgrammar==$version --hash=sha256:$sha256" >"$scratch/wanted.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary xgrammar \
  --dest "$scratch" --require-hashes --requirement "$scratch/wanted.txt" >&2
mkdir "$scratch/source" "$scratch/build"
tar -xzf "$scratch/xgrammar-$version.tar.gz" -C "$scratch/source" --strip-components 1
# The package's own config.cmake would switch the Python bindings on.
echo "set(XGRAMMAR_BUILD_PYTHON_BINDINGS OFF)" >"$scratch/build/config.cmake"
cmake -S "$scratch/source" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_COMPILER="${CXX:-g++}" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
  -DCMAKE_CXX_FLAGS="$flags -ffile-prefix-map=$scratch=xgrammar -DNDEBUG" >"$scratch/log" 2>&1 &&
  ninja -C "$scratch/build" -j "$(nproc)" xgrammar >>"$scratch/log" 2>&1 ||
  { tail -30 "$scratch/log" >&2; echo "quire: xgrammar $version does not build" >&2; exit 1; }
mkdir -p "$scratch/made/lib" "$scratch/made/include"
ld -r --force-group-allocation --whole-archive "$scratch/build/libxgrammar.a" -o "$scratch/whole.o"
set -f  # the names' * is objcopy's
# shellcheck disable=SC2086  # several arguments
objcopy $names "$scratch/whole.o" "$scratch/xgrammar.o"
set +f
ar rcs "$scratch/made/lib/libxgrammar.a" "$scratch/xgrammar.o"
cp -r "$scratch/source/include/xgrammar" "$scratch/source/3rdparty/dlpack/include/dlpack" \
  "$scratch/made/include/"
cp "$scratch/source/LICENSE" "$scratch/made/LICENSE"
mv -T "$scratch/made" "$folder" 2>/dev/null || [ -e "$folder/lib/libxgrammar.a" ]
echo "$folder"
