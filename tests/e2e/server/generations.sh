#!/bin/sh
# Runs generations.py in the environment of tools/make_venv.sh; 77 where something is absent.
#
#   generations.sh VENV tiny|default [flags of generations.py]
set -eu

venv=$1
which=$2
shift 2
if [ ! -x "$venv/bin/python" ]; then
  echo "skipped: there is no $venv; make venv makes it"
  exit 77
fi
: "${QUIRE_TEST_DATA:=$QUIRE_SOURCE_DIR/../shared/data}"
export QUIRE_TEST_DATA
case $which in
  tiny) model=$QUIRE_TEST_DATA/models-tiny/llama-gqa-untied ;;
  *) model=${HOME:-/root}/.cache/quire/models/SmolLM2-135M-Instruct.Q4_1.gguf ;;
esac
exec "$venv/bin/python" -B "$(dirname "$0")/generations.py" "$model" "$@"
