"""What keeps a run away from everything else: four layers, each used where the system offers it.

`privileges`  no administrator's rights, even where the grader has them
`namespaces`  no process to name but the run's own, no network, no shared memory of others
`landlock`    reads Python and the system only, writes below its folder only, signals nobody else
`seccomp`     no sockets, no tracing, no mounts, no parts of the kernel that it does not need

The zygote tries each layer once, in a process of its own, by what it hinders and by what must still
work; a layer that fails there is off, with the reason. One that fails later in a run stops that run
before it has loaded anything: must never run a submission with less than was promised.

Why no library does this. It must work in a forked process, without exec or root, layer by layer, on
Python 3.11 to 3.13 and both x86_64 and aarch64. Of those looked at, `sandlock` 0.9.0 (native) asks
for Landlock version 6 and runs a command under a supervisor for all but files; `landlock`
1.0.0.dev5 knows files only, neither TCP nor signals; `pyseccomp` 0.1.2 needs libseccomp on the
machine and starts a process to find it; `bwrap` is a command.
"""

import ctypes
import errno
import os
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

from autograder.shared import LAYERS
from autograder.worker import landlock, seccomp, system
from autograder.worker.system import call, prctl

PR_SET_NO_NEW_PRIVS = 38
CAPABILITY_VERSION_3 = 0x20080522
NEW_USER, NEW_PID, NEW_NETWORK, NEW_IPC = 0x10000000, 0x20000000, 0x40000000, 0x08000000

PACKAGE = Path(__file__).resolve().parent.parent
HIDDEN = ("solutions", "tests", "book", "exercises", "autograder/steps")  # in a checkout

SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys", "/nix/store",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/etc/os-release", "/etc/alternatives",
    "/etc/python{}.{}".format(*sys.version_info),
)  # fmt: skip

REFUSALS = {
    errno.EPERM: "a container or a setting of this system forbids it",
    errno.EACCES: "a container or a setting of this system forbids it",
    errno.ENOSPC: "this system allows no more of them",
    errno.EUSERS: "this system allows no more of them",
    errno.ENOSYS: "this kernel does not offer it",
    errno.EINVAL: "this kernel does not offer it",
}


class Isolation:
    """The layers of one zygote, whose runs may use the GPU if `gpu` says so. `without` is for tests:
    layers that are left off."""

    def __init__(self, without: Collection[str] = (), gpu: bool = False):
        self._readable = _readable()
        self._gpu = gpu
        self._devices = _gpu_devices() if gpu else []
        self._on: set[str] = set()
        self.reasons: dict[str, str] = {}  # layer → why it is off, or what it lacks, or ""
        for name in LAYERS:
            reason = "a test left it off" if name in without else self._why_not(name)
            self.reasons[name] = reason
            if not reason:
                self._on.add(name)
        if "landlock" in self._on:
            self.reasons["landlock"] = self._what_landlock_lacks()

    def report(self) -> dict[str, dict]:
        """Layer → whether it is on, and a remark, for the grader."""
        return {n: {"on": n in self._on, "remark": r} for n, r in self.reasons.items()}

    # --- applied to every run -----------------------------------------------------------------

    def enter(self) -> None:
        """In the guard, before it forks the run: the run will be process 1 of its own namespace.

        Raises OSError.
        """
        if "namespaces" in self._on:
            _enter_namespaces()

    def confine(self, folder: Path) -> None:
        """In the run, before anything of the submission is loaded. Raises OSError."""
        self._confine(folder, self._on)

    def _confine(self, folder: Path, layers: Collection[str]) -> None:
        if "privileges" in layers:
            header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
            call("capset", header, bytes(24))
        system.die_with_parent(signal.SIGKILL)  # a change of rights would have undone it
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        if "landlock" in layers:
            landlock.restrict(self._readable, folder, self._devices)
        if "seccomp" in layers:
            names_others = "namespaces" not in layers
            scoped = "landlock" in layers and landlock.version() >= landlock.SIGNALS_SINCE
            seccomp.install(os.getpid(), names_others, names_others and not scoped)

    # --- tried once ---------------------------------------------------------------------------

    def _why_not(self, layer: str) -> str:
        """Tries a layer alone, in a child: why it cannot be used here, or ""."""
        if layer == "landlock" and landlock.version() == 0:
            return "this kernel does not offer it or a container forbids it"
        if layer == "seccomp" and not seccomp.known_machine():
            return "the numbers of this processor's system calls are not known here"
        with tempfile.TemporaryDirectory() as folder:
            return _in_child(lambda: self._try(layer, Path(folder)))

    def _try(self, layer: str, folder: Path) -> str:
        try:
            if layer == "namespaces":
                _enter_namespaces()
                return _in_child(lambda: self._look(layer, folder))
            self._confine(folder, {layer})
        except OSError as error:
            return REFUSALS.get(error.errno, f"the system refuses it ({error.strerror})")
        return self._look(layer, folder)

    def _look(self, layer: str, folder: Path) -> str:
        """In a process with one layer on: does it hold, and does what a run needs still work?"""
        system.open_to_inspection(True)  # as a run is: a GPU's driver reads /proc/self
        try:
            for needed in (sys.modules["torch"].__file__, os.__file__, sys.executable):
                Path(needed).open("rb").close()
            (folder / "written").write_text("")
        except OSError as error:
            return f"with it a run could not use {error.filename}"
        if self._gpu and not _gpu_works():
            return "with it a run could not use the GPU"
        if layer == "namespaces" and os.getpid() != 1:
            return "it did not keep processes apart"
        if layer == "landlock" and _can(lambda: os.listdir(folder.parent)):
            return "it did not keep files apart"
        if layer == "seccomp" and _can(lambda: socket.socket().close()):
            return "it did not refuse sockets"
        return ""

    def _what_landlock_lacks(self) -> str:
        """What this kernel's Landlock, or the place of the course's files, leaves open."""
        lacks = []
        if landlock.version() < landlock.SIGNALS_SINCE:
            lacks.append("this kernel's version does not cover signals")
        for name in HIDDEN:
            folder = PACKAGE.parent / name
            holder = next((p for p in self._readable if folder.is_relative_to(p)), None)
            if folder.is_dir() and holder:
                lacks.append(f"{name}/ stays readable, since it lies in {holder}")
        return "; ".join(lacks)


def _gpu_devices() -> list[str]:
    """The files through which a program talks to its GPU."""
    return [*map(str, Path("/dev").glob("nvidia*")), "/dev/kfd", "/dev/dri"]


def _gpu_works() -> bool:
    """Whether this process can start a context on its GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return True  # a GPU of another maker: its runs will tell
    context = ctypes.c_void_p()
    return not (driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))


def _can(act: Callable[[], object]) -> bool:
    try:
        act()
    except PermissionError:
        return False
    return True


def _in_child(ask: Callable[[], str]) -> str:
    """What `ask` returns in a forked process."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_end, b"." + ask().encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(pid, 0)
    return answer[1:] if answer else "the attempt ended without an answer"


def _enter_namespaces() -> None:
    """This process's children live in namespaces of their own; it keeps its user and group."""
    user, group = os.geteuid(), os.getegid()
    system.open_to_inspection(True)  # or the three files below would belong to root
    call("unshare", NEW_USER | NEW_PID | NEW_NETWORK | NEW_IPC)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    system.open_to_inspection(False)


def _readable() -> list[Path]:
    """What a run must be able to read: Python, its packages, the system, and the worker's code.

    A folder that Python searches only because the course lies in it is left out.
    """
    python = {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}
    searched = {os.path.dirname(path) for path in _shared_libraries()} | set(sys.path)
    searched = {path for path in searched if path and not PACKAGE.is_relative_to(_real(path))}
    files = ("worker", "shared.py", "device_memory.py", "__init__.py")
    own = {PACKAGE / name for name in files}
    found = {_real(path) for path in {*SYSTEM, *python, *searched} if os.path.exists(path)} | own
    return sorted(p for p in found if not found.intersection(p.parents))


def _real(path: str) -> Path:
    return Path(path).resolve()


def _shared_libraries() -> set[str]:
    """Those that this process has loaded: they lie where the system likes."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        fields = [line.split(maxsplit=5) for line in maps]
    paths = {f[5].strip() for f in fields if len(f) == 6}
    return {path for path in paths if path.startswith("/") and ".so" in path}
