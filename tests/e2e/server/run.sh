#!/bin/sh
# Runs a client test in the environment of tools/make_venv.sh; 77 where that or the model is absent.
#
#   run.sh VENV TEST_MODULE
set -eu

venv=$1
module=$2
model=${HOME:-/root}/.cache/quire/models/SmolLM2-135M-Instruct.Q4_1.gguf
if [ ! -x "$venv/bin/python" ]; then
  echo "skipped: there is no $venv; make venv makes it"
  exit 77
fi
if [ ! -f "$model" ]; then
  echo "skipped: the default model is not there; make model gets it"
  exit 77
fi
cd "$(dirname "$0")"
exec "$venv/bin/python" -B -m unittest "$module"
