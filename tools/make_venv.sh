#!/bin/sh
# Makes a Python environment from a list of packages, or keeps the one that was made from this list.
#
#   tools/make_venv.sh FOLDER REQUIREMENTS
set -eu

folder=$1
requirements=$2
stamp=$folder/made-from.txt
if [ -f "$stamp" ] && cmp -s "$stamp" "$requirements"; then
  exit 0
fi
echo "making $folder from $requirements"
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
cp "$requirements" "$stamp"
