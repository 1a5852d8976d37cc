#!/bin/sh
# Makes .venv and installs the pinned set into it. The Makefile calls it.
#
#   scripts/setup.sh course    what a learner needs
#   scripts/setup.sh test      that, and what the test-suite needs
#
# Does nothing when the same set is already there. Whatever stands in the way is told in one line,
# with exit status 1. It must never leave a stamp behind an installation that did not end.

set -eu
cd "$(dirname "$0")/.."

# Disk space for .venv, in MB: measured, plus room for pip's downloads (see CONTRIBUTING.md).
# Without an own choice of torch, pip takes the build with the CUDA libraries.
NEEDED_CPU=3500
NEEDED_CUDA=11000

say() { printf 'setup: %s\n' "$1"; }
die() { printf 'setup: %s\n' "$1" >&2; exit 1; }

case "${1:-}" in
    course) wanted=. ;;
    test) wanted='.[test]' ;;
    *) die "usage: scripts/setup.sh course|test" ;;
esac
python=.venv/bin/python
stamp=.venv/.stamps/$1
log=.venv/pip.log

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The set was tested with Python 3.11, so that one comes first.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" && found=$PYTHON && return
        die "PYTHON=$PYTHON is not a working Python 3.11 or newer."
    fi
    for found in python3.11 python3.12 python3.13 python3; do
        new_enough "$found" && return
    done
    have=$(python3 --version 2>/dev/null) || have="no python3"
    die "Python 3.11 or newer is needed, and here is $have. Install one, or name it: make course PYTHON=/path/to/python3.12"
}

# The scripts in .venv/bin hold the path of the folder they were made in.
place=$(pwd)
if [ -f .venv/.stamps/place ] && [ "$(cat .venv/.stamps/place)" != "$place" ]; then
    say "this folder was moved; making .venv again"
    healthy=no
elif new_enough $python && $python -m pip --version >/dev/null 2>&1; then
    healthy=yes
else
    healthy=no
fi

fingerprint=$(cat requirements.txt constraints.txt pyproject.toml | cksum)
if [ $healthy = yes ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$fingerprint" ]; then
    exit 0
fi

if [ $healthy = no ]; then
    find_python
    "$found" -c 'import ensurepip, venv' >/dev/null 2>&1 ||
        die "$found has no venv module. On Debian and Ubuntu: apt-get install python3-venv"
fi

free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
used=0
[ -d .venv ] && used=$(du -sk .venv | awk '{ print int($1 / 1024) }')
[ $((free + used)) -ge $NEEDED_CPU ] ||
    die "not enough disk space: $free MB free here, $((NEEDED_CPU - used)) MB needed ($NEEDED_CUDA MB for a torch with CUDA)."
if [ $((free + used)) -lt $NEEDED_CUDA ] && ! ls -d .venv/lib/python*/site-packages/torch >/dev/null 2>&1; then
    say "$free MB free: enough for a CPU build of torch, not for the CUDA build ($NEEDED_CUDA MB). See README.md, 'Without CUDA'."
fi

if [ $healthy = no ]; then
    say "making .venv with $("$found" --version)"
    "$found" -m venv --clear .venv || die "$found could not make .venv; its message is above."
fi
mkdir -p .venv/.stamps
rm -f "$stamp"
printf '%s\n' "$place" >.venv/.stamps/place

unreachable() {
    grep -q -E 'NewConnectionError|NameResolutionError|ReadTimeoutError|ConnectTimeoutError|ProtocolError|ProxyError|SSLError' $log
}

# One small package shows whether the index answers, before pip's minutes of retries.
$python -m pip install --dry-run --no-deps --ignore-installed --no-input --disable-pip-version-check \
    --retries 1 --timeout 15 --constraint constraints.txt click >$log 2>&1 || {
    unreachable && die "pip cannot reach its package index. Is this machine online? Details: $log"
    die "pip cannot install anything here. Details: $log"
}

say "installing into .venv (the first time downloads much; a stopped run goes on where it was)"
rm -f $log
if ! $python -m pip install --no-input --disable-pip-version-check --log $log \
    --constraint constraints.txt --editable "$wanted"; then
    grep -q 'No space left on device' $log &&
        die "the disk became full. .venv needs $NEEDED_CPU MB ($NEEDED_CUDA MB with CUDA), and pip uses the temporary folder too."
    unreachable &&
        die "the connection to the package index broke. Run the same command again: it goes on where it was."
    die "pip could not install the set; its messages are above and in $log."
fi
printf '%s\n' "$fingerprint" >"$stamp"
