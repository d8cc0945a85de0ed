#!/bin/sh
# Installs what a task needs and this machine lacks: Debian's packages, and xgrammar, which is built
# from its source package (tools/get_xgrammar.sh).
#
#   tools/deps.sh build|test|check|bench
set -eu

build="g++ cmake ninja-build ccache mold python3 python3-pip unzip pkg-config nlohmann-json3-dev
  libedit-dev libpcre2-dev libxxhash-dev libboost1.81-dev libssl-dev zlib1g-dev libyaml-dev"
test="$build python3-venv libgtest-dev libgmock-dev libbenchmark-dev"
check="$test clang clang-format clang-tidy libclang-rt-14-dev llvm g++-aarch64-linux-gnu qemu-user"
bench="$test"

case "${1:-}" in
  build) wanted=$build ;;
  test) wanted=$test ;;
  check) wanted=$check ;;
  bench) wanted=$bench ;;
  *) echo "usage: tools/deps.sh build|test|check|bench" >&2; exit 2 ;;
esac

missing=""
for package in $wanted; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
  exec "$(dirname "$0")/get_xgrammar.sh" >/dev/null
fi
if [ "$(id -u)" != 0 ]; then
  echo "quire: these packages are missing; install them as root:" >&2
  echo "  apt-get install$missing" >&2
  exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # one argument a package
apt-get install -y -qq --no-install-recommends $missing >/dev/null
exec "$(dirname "$0")/get_xgrammar.sh" >/dev/null
