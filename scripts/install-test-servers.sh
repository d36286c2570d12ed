#!/usr/bin/env bash
# Installs the Debian packages that tests need: a browser, a pooler of Postgres connections, a key-value server,
# a collector of metrics.
# Does nothing when all of their programs are there.
set -euo pipefail

missing=()
# A browser of another name will do; SLUICE_CHROMIUM names one that is not on the PATH.
command -v "${SLUICE_CHROMIUM:-chromium}" chromium chromium-browser google-chrome >/dev/null || missing+=(chromium)
command -v pgbouncer >/dev/null || missing+=(pgbouncer)
command -v memcached >/dev/null || missing+=(memcached)
command -v prometheus >/dev/null || missing+=(prometheus)
if [ "${#missing[@]}" -eq 0 ]; then exit 0; fi

if ! command -v apt-get >/dev/null; then
  echo "Expected ${missing[*]} on the PATH. Install them with this system's package manager." >&2
  exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Expected ${missing[*]} on the PATH. Run: sudo bash scripts/install-test-servers.sh" >&2
  exit 1
fi

echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -o DPkg::Lock::Timeout=120 update </dev/null
apt-get -qq -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "${missing[@]}" </dev/null
