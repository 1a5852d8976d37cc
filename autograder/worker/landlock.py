"""Landlock: a process gives up the right to files, TCP and signals outside a list (Linux 5.13).

A rule is for a folder and all below it; nothing can be taken out again below an allowed folder. What
is already open stays open. Must never loosen anything: the kernel only ever adds restrictions.
"""

import errno
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from autograder.worker.system import call

# The same numbers on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1
NEWEST = 7  # the newest version of the interface that this module knows

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_SOCK, MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
ALL_OF_VERSION_1 = (1 << 13) - 1
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15  # versions 2, 3 and 5
BIND_AND_CONNECT_TCP = 3  # version 4
ABSTRACT_SOCKETS_AND_SIGNALS = 3  # version 6
SIGNALS_SINCE = 6

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def version() -> int:
    """The interface that the kernel offers, or 0 when it has none or it is switched off."""
    try:
        return min(call("syscall", CREATE_RULESET, None, 0, VERSION_FLAG), NEWEST)
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def restrict(readable: Iterable[Path], folder: Path, devices: Iterable[str] = ()) -> None:
    """From now on this thread and its children read `readable`, and write below `folder` and to
    `devices` only.

    TCP is denied from version 4 on; signals and abstract Unix sockets to processes that are not
    restricted with it from version 6 on. Needs no_new_privs. Raises OSError.
    """
    offered = version()
    files = ALL_OF_VERSION_1
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        files |= right if offered >= since else 0
    tcp = BIND_AND_CONNECT_TCP if offered >= 4 else 0
    scope = ABSTRACT_SOCKETS_AND_SIGNALS if offered >= SIGNALS_SINCE else 0
    # Older kernels accept the longer record, since what they do not know is zero.
    rules = call("syscall", CREATE_RULESET, struct.pack("QQQ", files, tcp, scope), 24, 0)
    try:
        for path in readable:
            _allow(rules, path, files & (EXECUTE | READ_FILE | READ_DIR))
        for path in DEVICES:
            _allow(rules, path, files & (READ_FILE | WRITE_FILE | TRUNCATE))
        for path in devices:
            _allow(rules, path, files & (READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEV))
        _allow(rules, folder, files & ~(MAKE_CHAR | MAKE_SOCK | MAKE_BLOCK))
        call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: Path | str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # what cannot be reached needs no permission
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
        call("syscall", ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
