#!/bin/sh
# Runs after `npm ci`: sees that the Node of this checkout starts. Node 26 needs libatomic.so.1, which a small Debian
# does not have; where this is root and there is apt-get, it is installed.
set -eu

main() {
  node=$(dirname "$0")/../node_modules/.bin/node
  message=$("$node" --version 2>&1) && return
  case $message in
    *libatomic.so.1*) install_libatomic ;;
    *) fail "$message" ;;
  esac
  message=$("$node" --version 2>&1) || fail "$message"
}

install_libatomic() {
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    fail "libatomic.so.1 is missing: install the package libatomic1 (Debian, Ubuntu) or libatomic (Fedora)"
  fi
  echo "preflight: installing libatomic1, which Node needs"
  apt-get -q -o DPkg::Lock::Timeout=300 update >/dev/null 2>&1 || true
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
    libatomic1 </dev/null >/dev/null || fail "apt-get install libatomic1 failed"
}

fail() {
  echo "preflight: the Node of this checkout does not start: $1" >&2
  exit 1
}

main
