"""The grader's side of the worker: starts it, hands it runs, and gets back bytes.

One zygote serves many runs, two at a time on two cores. A zygote that a submission kills is
replaced. Must never believe a run: `Outcome.account` is evidence for a diagnosis only.
"""

import base64
import errno
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from autograder import account
from autograder.account import Account, Called, Compiled

MAX_ANSWER = 4 * 2**20
START_SECONDS = 120  # a cold disk reads torch slowly
GRACE_SECONDS = 10  # between a run's own limit and giving up on its guard
MARK = "AUTOGRADER_WORKER"  # in the environment of every process that descends from a zygote
# All that a run may see of the grader's environment, which may hold passwords and tokens.
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
END_SECONDS = 1.0  # for a zygote that a run kills after its guard to be gone, on a busy machine
SWEEP_SECONDS = 5  # to kill what forks as fast as it is killed
SEAL_SECONDS = 0.5  # a process of the system that looks at an ended one may keep it for a moment


class WorkerError(Exception):
    """The worker cannot be started at all, or not run safely; one sentence."""


@dataclass(frozen=True)
class Layer:
    """A layer of isolation: whether it is on, and why not, or what it lacks."""

    on: bool
    remark: str


@dataclass(frozen=True)
class Outcome:
    """What became of one run. `end` is one of worker/guard.py's, or `lost` when the guard vanished,
    or `still_writable` when something of the run could still change the arena after its end.

    `account` is None when the run left none; `trace` is faulthandler's text, which names lines of
    files in `folder`.
    """

    end: str
    code: int = 0
    seconds: float = 0.0
    account: Account | Compiled | Called | None = None
    output: str = ""
    trace: str = ""
    folder: str = ""


# What Triton must find in its environment before it is imported.
MODES = {
    "interpret": {"TRITON_INTERPRET": "1"},
    "compile": {"TRITON_DUMP_PTXAS_LOG": "1"},  # where registers and spills stand
    "cuda": {},
}


class Sandbox:
    """Runs cases of submissions. Thread-safe; use as a context manager, or keep it for a session.

    `without` is for tests: layers of isolation that are left off. Raises WorkerError when the
    worker does not start.
    """

    def __init__(self, mode: str = "interpret", without: Collection[str] = (), gpu: bool = False):
        """`mode` is what its zygote does with kernels: interpret, compile, or run on the GPU (cuda).
        `gpu`: have one of that kind at `gpu`, for those steps whose kernels run there.
        """
        self._mode = mode
        self._parse = account.parse_compiled if mode == "compile" else account.parse
        self._without = sorted(without)
        # Loads while the interpreter does; whoever only interprets pays nothing but memory.
        self.compiler = Sandbox("compile", without) if mode == "interpret" else None
        self.gpu = Sandbox("cuda", without) if gpu else None
        self._lock = threading.Lock()
        self._closed = False
        self.knows_bfloat16 = True  # until the worker says otherwise when it is ready
        self._mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self._start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Ends the worker and whatever is left of its runs."""
        for other in (self.compiler, self.gpu):
            if other is not None:
                other.close()
        self._closed = True
        self._end()  # who waits for it to be ready, and holds the lock meanwhile, sees its end
        with self._lock:
            self._end()  # of one that was started just then
            self._control.close()
            self._sweep()

    @contextmanager
    def pool(self, threads: int) -> Iterator[ThreadPoolExecutor]:
        """Threads that wait for runs. An interrupt closes the sandbox: they would wait on."""
        with ThreadPoolExecutor(threads) as pool:
            try:
                yield pool
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise

    def _end(self) -> None:
        if not self._ready:  # it has no run to end, and would hear of this only once it is ready
            self._process.kill()
        try:
            self._control.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # ended by itself, or closed before
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def layers(self) -> dict[str, Layer]:
        """The layers of isolation by name, as the worker found them when it started."""
        with self._lock:
            self.wait_until_ready()
            return self._layers

    def run(
        self, job: dict, arena_fd: int, parse: Callable | None = None, memory_fd: int | None = None
    ) -> Outcome:
        """One run of a submission; `job` as worker/runner.py reads it, and `parse` its account.
        `memory_fd` is GPU memory that the run is to share.

        Afterwards nobody can write to the arena any more. Raises WorkerError when a layer of
        isolation that was promised failed; then nothing of the submission was run.
        """
        for attempt in (1, 2):
            ours, theirs = socket.socketpair()
            try:
                with self._lock, theirs:
                    self.wait_until_ready()
                    zygote = self._process
                    shared = [] if memory_fd is None else [memory_fd]
                    socket.send_fds(self._control, [b"J"], [arena_fd, theirs.fileno(), *shared])
                break
            except OSError:
                ours.close()
                if attempt == 2:
                    raise WorkerError("the worker process ended twice in a row") from None
                self._replace(self._process)
        with Connection(ours.detach()) as connection:
            try:
                connection.send_bytes(json.dumps(job).encode())
                if not connection.poll(job["wall_seconds"] + GRACE_SECONDS):
                    self._replace(zygote)
                    return Outcome("lost")
                outcome = _outcome(connection.recv_bytes(MAX_ANSWER), parse or self._parse)
            except (EOFError, OSError):
                self._replace_if_ended(zygote)
                return Outcome("lost")
        if outcome.end == "not_isolated":
            raise WorkerError(
                "a layer of isolation that worked when the worker started failed in a run, which "
                f"was not begun: {outcome.output}. `autograder doctor` shows the layers."
            )
        if not _sealed(arena_fd):
            return Outcome("still_writable", folder=outcome.folder)
        return outcome

    # --- the zygote ---------------------------------------------------------------------------

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._folder = tempfile.mkdtemp(prefix="autograder-")
        environment = {
            **{name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
            **MODES[self._mode],
            "HOME": self._folder,
            "TMPDIR": self._folder,
            "OMP_NUM_THREADS": "1",  # one thread, so that forking is safe
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONNOUSERSITE": "1",
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # large pages: a fork copies fewer tables
            **self._visible_gpus(),
            MARK: self._mark,
        }
        root = str(Path(__file__).resolve().parent.parent)
        code = (
            f"import sys; sys.path.insert(0, {root!r})\n"
            f"from autograder.worker.zygote import main\n"
            f"main({theirs.fileno()}, {self._folder!r}, {self._mode!r}, {self._without})"
        )
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env=environment,
                cwd="/",
                start_new_session=True,  # who kills the grader's group leaves it time to clean up
            )
        self._ready = False

    def _visible_gpus(self) -> dict[str, str]:
        """One GPU, the first that the grader may use; none where kernels do not run on it."""
        if self._mode != "cuda":
            return {"CUDA_VISIBLE_DEVICES": ""}
        given = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        return {"CUDA_VISIBLE_DEVICES": given.split(",")[0]}

    def wait_until_ready(self) -> None:
        """Returns once the worker has loaded torch and Triton and run a kernel."""
        if self._ready:
            return
        self._control.settimeout(START_SECONDS)
        told = b""
        try:
            while not told.endswith(b"\n") and (part := self._control.recv(4096)):
                told += part
        except TimeoutError:
            pass
        self._control.settimeout(None)
        if not told.endswith(b"\n"):
            self._process.kill()
            last = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            reason = last[-1] if last else "no reason given"
            raise WorkerError(f"the worker process did not start: {reason}")
        ready = json.loads(told)
        self.knows_bfloat16 = ready["bfloat16"]
        self._layers = {name: Layer(**layer) for name, layer in ready["layers"].items()}
        self._ready = True

    def _replace(self, zygote: subprocess.Popen) -> None:
        with self._lock:
            if self._closed or self._process is not zygote:
                return  # nobody needs another, or another thread was faster
            self._process.kill()
            self._process.wait()
            self._control.close()
            self._sweep()
            self._start()

    def _replace_if_ended(self, zygote: subprocess.Popen) -> None:
        """A run that killed its guard may have killed the zygote next, and left its own behind."""
        try:
            zygote.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return
        self._replace(zygote)

    def leftovers(self) -> list[psutil.Process]:
        """Processes that descend from this sandbox's zygotes, by the mark they inherited."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self._mark:
                    found.append(process)
            except (psutil.Error, OSError):
                pass  # ended meanwhile, or not ours to look at
        return [p for p in found if p.pid != self._process.pid]

    def _sweep(self) -> None:
        deadline = time.monotonic() + SWEEP_SECONDS
        # Again until there are none: one that forks while they are looked for hides its child.
        while (left := self.leftovers()) and time.monotonic() < deadline:
            for process in left:
                try:
                    process.kill()
                except psutil.NoSuchProcess:
                    pass
        shutil.rmtree(self._folder, ignore_errors=True)


def _outcome(answer: bytes, parse=account.parse) -> Outcome:
    """What a guard says; one that does not say it in the expected form counts as lost."""
    try:
        told = json.loads(answer)
        texts = [told[name] for name in ("end", "output", "trace", "folder")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("text was expected")
        end, output, trace, folder = texts
        report = base64.b64decode(told["report"])
        code, seconds = int(told["code"]), float(told["seconds"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return Outcome("lost")
    return Outcome(end, code, seconds, parse(report, folder), output, trace, folder)


def _sealed(arena_fd: int) -> bool:
    """Takes away everybody's right to write to the arena; False if somebody keeps it mapped, or
    has seen to it that nothing can be taken away.
    """
    import fcntl  # not on Windows, where `doctor` must still be able to say what is missing

    deadline = time.monotonic() + SEAL_SECONDS
    while True:
        try:
            fcntl.fcntl(arena_fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                return False
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
