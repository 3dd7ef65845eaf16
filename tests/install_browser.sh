#!/usr/bin/env bash
# Installs Chromium, which prints the cheat sheet and opens pages in tests, where apt-get and root allow it; says so in
# one line where they do not.
set -euo pipefail
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "What needs a browser is skipped: installing chromium needs apt-get and root."
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core >/dev/null ||
  echo "What needs a browser is skipped: chromium could not be installed."
