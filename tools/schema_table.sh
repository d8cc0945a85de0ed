#!/bin/sh
# Writes the table of docs/structured.md: what of JSON-Schema-Test-Suite is enforced. Needs the
# reference data (QUIRE_TEST_DATA, or shared/data beside the source tree) and a dev build.
set -eu
cd "$(dirname "$0")/.."
table=$(mktemp)
trap 'rm -f "$table"' EXIT
cmake --build --preset dev --target structured_reference_test >/dev/null
QUIRE_SOURCE_DIR=$PWD QUIRE_SCHEMA_TABLE=$table build/dev/src/structured/structured_reference_test \
  --gtest_filter='Reference.NoInvalidInstanceOfTheSuiteIsAccepted' >/dev/null
sed -i -e '/<!-- schema table -->/,/<!-- end -->/{//!d}' -e "/<!-- schema table -->/r $table" \
  docs/structured.md
