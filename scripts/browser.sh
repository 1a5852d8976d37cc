#!/bin/sh
# Sees to it that the tests of the built pages find a Chromium. The Makefile calls it.
#
# Never fails: without a browser those tests are skipped, and one line says so.

set -u
cd "$(dirname "$0")/.."

for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null 2>&1 && exit 0
done

stamp=.venv/.stamps/browser
[ -f $stamp ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "browser: installing Chromium with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq chromium </dev/null && exit 0
fi
echo "browser: installing Playwright's Chromium"
.venv/bin/python -m playwright install chromium && touch $stamp && exit 0
echo "browser: no Chromium here and none could be installed; the tests of the built pages are skipped."
