"""What a run can and cannot do: with each layer of isolation alone, with all, and with none.

Attacks are code inside a submission. Each is shown to work where no layer is on, so that a test of
a layer fails when the layer does nothing.
"""

import json
import math
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from corpus_files import CORPUS, left_behind

from autograder import course, doctor, grading
from autograder import sandbox as sandbox_module
from autograder.arena import Arena
from autograder.sandbox import Layer, Outcome, Sandbox, WorkerError
from autograder.shared import LAYERS
from autograder.submission import Cell, Submission, read
from autograder.verdict import Judge

STEP = course.find_step("vector_add")
CASE = grading.battery(STEP, 1)[0]

# A run sees the processes above it under the numbers of the machine, whatever its namespace.
HEAD = """\
import ctypes, mmap, os, pathlib, resource, signal, socket, subprocess, sys, tempfile, threading, time
import torch
libc = ctypes.CDLL(None, use_errno=True)

def check(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def ancestors():
    pid, found = os.readlink("/proc/self"), []
    while int(pid) > 1:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        pid = stat.rpartition(")")[2].split()[1]
        found.append(int(pid))
    return found

def vector_add(x, y):
"""


def submission(body: str) -> Submission:
    source = HEAD + textwrap.indent(body, "    ")
    return Submission.from_cells(Path("submission.py"), [Cell("", "submission.py", source)])


def run_in(arena: Arena, sandbox: Sandbox, body: str, seconds: float = 20) -> Outcome:
    """One run whose function has this body."""
    job = {
        "code": submission(body).payload(STEP.name),
        "arena": arena.describe(),
        "more": [],
        "named": {},
        "allowed": [],
        "kernel": True,
        "order": None,
        "fill": math.nan,
        "tuning": {"config": None, "winner": 0, "rehearse": False},
        "wall_seconds": seconds,
        "cpu_seconds": 20,
    }
    return sandbox.run(job, arena.fd)


def run(sandbox: Sandbox, body: str, seconds: float = 20) -> Outcome:
    """One run in an arena of its own."""
    with Arena(CASE) as arena:
        return run_in(arena, sandbox, body, seconds)


def error_of(outcome: Outcome) -> str:
    """The type of the exception that the run ended with, or "" if it came to its end."""
    assert outcome.end == "exited" and outcome.account is not None, outcome
    return outcome.account.error.type if outcome.account.error else ""


@pytest.fixture(scope="module")
def only(sandbox):
    """Sandboxes by layer: each has that one layer on; "" has none, "all" is the usual one."""
    made = {"all": sandbox}

    def get(layer: str) -> Sandbox:
        if layer not in made:
            made[layer] = Sandbox(without=set(LAYERS) - {layer})
        found = made[layer].layers()
        if layer in LAYERS and not found[layer].on:
            pytest.skip(f"{layer} is off here, since {found[layer].remark}")
        return made[layer]

    yield get
    for layer, box in made.items():
        if layer != "all":
            box.close()


# --- attacks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """Code that raises OSError when it is hindered, and the layers of which each hinders it.

    `needs` says that it works at all only for some: where no layer is on, it may fail.
    """

    code: str
    layers: tuple[str, ...]
    always_works: bool = True


ATTACKS = {
    "signal the guard": Attack("os.kill(ancestors()[0], 0)", ("namespaces", "landlock", "seccomp")),
    "signal the grader": Attack(
        "os.kill(ancestors()[2], 0)", ("namespaces", "landlock", "seccomp")
    ),
    "signal by descriptor": Attack(
        "signal.pidfd_send_signal(os.pidfd_open(ancestors()[0]), 0)",
        ("namespaces", "landlock", "seccomp"),
    ),
    "signal everybody": Attack("os.kill(-1, 0)", ("namespaces", "seccomp")),
    "limit the guard": Attack(
        "resource.prlimit(ancestors()[0], resource.RLIMIT_CORE, (0, 0))", ("namespaces", "seccomp")
    ),
    "slow the grader down": Attack(
        "os.setpriority(os.PRIO_PROCESS, ancestors()[2], 1)", ("namespaces", "seccomp"), False
    ),
    "trace the guard": Attack(
        "check(libc.ptrace(16, ancestors()[0], None, None))",
        ("privileges", "namespaces", "landlock", "seccomp"),
        False,
    ),
    "read the guard's memory": Attack(
        "open('/proc/%d/mem' % ancestors()[0], 'rb').close()",
        ("privileges", "namespaces", "landlock"),
        False,
    ),
    "read the grader's memory": Attack(
        "open('/proc/%d/mem' % ancestors()[2], 'rb').close()", ("namespaces", "landlock"), False
    ),
    # Landlock alone does not hinder root from this: the kernel lets CAP_PERFMON read it.
    "read the grader's environment": Attack(
        "open('/proc/%d/environ' % ancestors()[2], 'rb').close()", ("namespaces",)
    ),
    "send a packet": Attack(
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', 9))",
        ("namespaces", "seccomp"),
    ),
    "connect over TCP": Attack(
        "socket.create_connection(('127.0.0.1', {port})).close()",
        ("namespaces", "landlock", "seccomp"),
    ),
    "call a service": Attack("socket.socket(socket.AF_UNIX).connect({service!r})", ("seccomp",)),
    "call a service without a file": Attack(
        "socket.socket(socket.AF_UNIX).connect('\\0' + {abstract!r})",
        ("namespaces", "landlock", "seccomp"),
    ),
    "send from one end of a pair": Attack(
        "a, _ = socket.socketpair(type=socket.SOCK_DGRAM); a.connect({datagrams!r})", ("seccomp",)
    ),
    "write beside its folder": Attack("open({beside!r}, 'w').close()", ("landlock",)),
    "empty a file": Attack("os.truncate({secret!r}, 0)", ("landlock",)),
    "delete a file": Attack("os.unlink({victim!r})", ("landlock",)),
    "leave something in shared memory": Attack(
        "open('/dev/shm/autograder-test', 'w').close(); os.unlink('/dev/shm/autograder-test')",
        ("landlock",),
    ),
    "read another's file": Attack("open({secret!r}).read()", ("landlock",)),
    "read it through a link": Attack(
        "os.symlink({secret!r}, 'link'); open('link').read()", ("landlock",)
    ),
    "read the solutions": Attack(f"os.listdir({str(course.ROOT / 'solutions')!r})", ("landlock",)),
    "read the references": Attack(
        f"open({str(course.ROOT / 'autograder/steps/matmul.py')!r}).read()", ("landlock",)
    ),
    "look at other runs": Attack("os.listdir('..')", ("landlock",)),
    "become its own administrator": Attack("check(libc.unshare(0x10000000))", ("seccomp",), False),
    "mount": Attack(
        "check(libc.mount(b'none', b'.', b'tmpfs', 0, None))",
        ("privileges", "namespaces", "seccomp"),
        False,
    ),
    "hold uncounted memory": Attack("os.memfd_create('store')", ("seccomp",)),
    "leave System V memory": Attack("check(libc.shmget(0, 4096, 0o1600))", ("seccomp",)),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """What attacks aim at: files, and sockets that somebody listens on."""
    folder = tmp_path_factory.mktemp("outside")
    names = {name: str(folder / name) for name in ("secret", "victim", "beside")}
    names["abstract"] = f"autograder-test-{os.getpid()}"
    # A socket's address must be short.
    with tempfile.TemporaryDirectory() as short, socket.create_server(("127.0.0.1", 0)) as tcp:
        names |= {"service": f"{short}/service", "datagrams": f"{short}/datagrams"}
        names["port"] = tcp.getsockname()[1]
        listening = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for one, address in zip(listening, (names["service"], "\0" + names["abstract"])):
            one.bind(address)
            one.listen(50)
        listening.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        listening[-1].bind(names["datagrams"])
        yield names
        for one in listening:
            one.close()


def attempt(sandbox: Sandbox, attack: Attack, places: dict) -> str:
    for name in ("secret", "victim"):
        Path(places[name]).write_text("a solution")
    return error_of(run(sandbox, attack.code.format(**places)))


@pytest.mark.parametrize("name", [n for n, a in ATTACKS.items() if a.always_works])
def test_each_attack_works_where_nothing_is_on(only, places, name):
    assert attempt(only(""), ATTACKS[name], places) == ""


@pytest.mark.parametrize(
    ("layer", "name"), [(layer, n) for n, a in ATTACKS.items() for layer in a.layers]
)
def test_a_layer_alone_hinders(only, places, layer, name):
    box = only(layer)
    if "signal" in name and layer == "landlock" and box.layers()[layer].remark:
        pytest.skip(box.layers()[layer].remark)
    refused = ("PermissionError", "ProcessLookupError", "ConnectionRefusedError", "OSError")
    assert attempt(box, ATTACKS[name], places) in refused


@pytest.mark.parametrize("name", ATTACKS)
def test_all_layers_together_hinder(only, places, name):
    box = only("all")
    if not any(box.layers()[layer].on for layer in ATTACKS[name].layers):
        pytest.skip("none of the layers that hinder it is on here")
    assert attempt(box, ATTACKS[name], places) != ""


def test_signals_do_not_arrive_by_way_of_a_pipe(only):
    """A file can be told to signal its owner when there is something to read."""
    code = """
        import fcntl
        read_end, write_end = os.pipe()
        fcntl.fcntl(read_end, fcntl.F_SETOWN, ancestors()[0])
        fcntl.fcntl(read_end, 10, signal.SIGKILL)
        fcntl.fcntl(read_end, fcntl.F_SETFL, os.O_ASYNC)
        os.write(write_end, b"x")
        time.sleep(0.2)
    """
    code = textwrap.dedent(code)
    assert run(only(""), code).end == "lost"
    for layer in ("namespaces", "landlock", "seccomp", "all"):
        assert run(only(layer), code).end == "exited"


# --- what must still work -------------------------------------------------------------------------

WORKS = {
    "threads": """
        found = []
        threads = [threading.Thread(target=found.append, args=(i,)) for i in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert sorted(found) == [0, 1, 2, 3]
    """,
    "a Python of its own": """
        command = [sys.executable, "-c", "import numpy; print(numpy.arange(3).sum())"]
        assert subprocess.run(command, capture_output=True, text=True).stdout == "3\\n"
    """,
    "a shell": "assert subprocess.check_output('echo $((1 + 1))', shell=True) == b'2\\n'",
    "a fork": "assert os.waitstatus_to_exitcode(os.waitpid(os.fork() or os._exit(7), 0)[1]) == 7",
    "temporary files": """
        with tempfile.TemporaryDirectory() as folder:
            assert folder.startswith(os.getcwd())
            pathlib.Path(folder, "a").write_text("a")
            os.rename(f"{folder}/a", "b")
    """,
    "modules that nobody loaded yet": """
        import decimal, difflib, html.parser, sqlite3, unittest.mock, xml.dom.minidom
        import torch.fx.experimental.optimization, numpy.polynomial
    """,
    "devices": "print('x', file=open('/dev/null', 'w')); open('/dev/urandom', 'rb').read(1)",
    "a pair of sockets": """
        a, b = socket.socketpair()
        a.sendall(b"x")
        assert b.recv(1) == b"x"
    """,
    "what the machine is like": "open('/proc/cpuinfo').read(); assert os.cpu_count() > 0",
    "limits of its own": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "multi-threaded torch": """
        torch.set_num_threads(2)
        assert torch.ones(1 << 20).sum() == 1 << 20
    """,
}


# With seccomp alone its filter is at its strictest.
@pytest.mark.parametrize("layer", ["seccomp", "all"])
@pytest.mark.parametrize("name", WORKS)
def test_ordinary_work_is_not_hindered(only, layer, name):
    outcome = run(only(layer), textwrap.dedent(WORKS[name]))
    assert error_of(outcome) == "", outcome.account.error


@pytest.mark.parametrize("layer", ["namespaces", "landlock", "all"])
def test_a_run_may_end_its_own_processes(only, layer):
    """With seccomp alone it may not: that layer cannot tell whose child a process is."""
    code = "sleeper = subprocess.Popen(['sleep', '60']); sleeper.kill(); assert sleeper.wait() < 0"
    assert error_of(run(only(layer), code)) == ""


@pytest.mark.parametrize("layer", [*LAYERS, "all"])
def test_a_crash_and_a_hang_are_still_traced(only, layer):
    crash = run(only(layer), "ctypes.string_at(0)")
    assert crash.end == "signalled" and "Segmentation fault" in crash.trace
    hang = run(only(layer), "while True: pass", seconds=1)
    assert hang.end == "timed_out" and "submission.py" in hang.trace


# --- the guard, the zygote and the grader ---------------------------------------------------------


def test_the_grader_survives_without_any_layer(only):
    path = CORPUS / "vector_add" / "hostile" / "kills_parent.py"
    settings = grading.Settings(1)
    result = grading.grade_step(read(path), STEP, only(""), settings, lambda *_: None)
    assert result.status == "crashed"
    assert "killed the process that watched over it" in result.checks[0].message
    honest = read(CORPUS / "vector_add" / "honest" / "plain.py")
    assert grading.grade_step(honest, STEP, only(""), settings, lambda *_: None).passed


DETACH = """
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        os._exit(0)
"""


@pytest.mark.parametrize("above", [1, 2], ids=["guard", "guard and zygote"])
def test_what_is_killed_from_inside_leaves_no_process(only, above):
    code = DETACH + f"for pid in ancestors()[:{above}]: os.kill(pid, signal.SIGKILL)\n"
    assert run(only(""), code + "time.sleep(60)").end == "lost"
    assert left_behind(only("")) == []
    assert error_of(run(only(""), "pass")) == ""  # and the next run is served


FORKS_ON = """
guard, zygote = ancestors()[:2]
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        for n in range(400):
            if os.fork() == 0:
                os.setsid()
                time.sleep(60)
            if n == 20:
                os.kill(zygote, signal.SIGKILL)
                os.kill(guard, signal.SIGKILL)
time.sleep(60)
"""


def test_what_forks_while_it_is_killed_leaves_no_process(only):
    assert run(only(""), FORKS_ON).end == "lost"
    assert left_behind(only("")) == []


def test_a_killed_guard_does_not_disturb_another_run(only):
    outcomes = {}

    def start(name: str, code: str) -> threading.Thread:
        thread = threading.Thread(target=lambda: outcomes.update({name: run(only(""), code)}))
        thread.start()
        return thread

    only("")  # started by one thread only
    quiet = start("quiet", "time.sleep(2)")
    time.sleep(0.7)
    wild = start("wild", DETACH + "os.kill(ancestors()[0], signal.SIGKILL); time.sleep(60)")
    quiet.join()
    wild.join()
    assert outcomes["wild"].end == "lost"
    assert error_of(outcomes["quiet"]) == ""
    assert left_behind(only("")) == []


def test_nothing_of_the_graders_environment_is_handed_on(monkeypatch, tmp_path):
    monkeypatch.setenv("CLASS_TOKEN", "secret")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Sandbox() as box:
        assert "secret" not in run(box, "print(dict(os.environ))").output
        assert error_of(run(box, "open('left', 'w').close()")) == ""
    assert list(tmp_path.iterdir()) == []  # and no folder is left either


@pytest.mark.parametrize("killed", ["the grader", "its workers first", "its group"])
def test_a_grader_that_is_killed_leaves_no_process_and_no_folder(tmp_path, killed):
    """The kernel of a notebook, when it is restarted, sends its children SIGTERM before it ends; one
    that hangs is killed with its whole group."""
    code = (
        "from autograder.sandbox import Sandbox\n"
        "box = Sandbox()\n"
        "box.wait_until_ready(), box.compiler.wait_until_ready()\n"
        "print('ready', flush=True)\n"
        "input()"
    )
    grader = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=course.ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with grader:
        assert grader.stdout.readline() == "ready\n"
        theirs = psutil.Process(grader.pid).children(recursive=True)
        assert len(theirs) == 2 and list(tmp_path.iterdir())
        if killed == "its workers first":
            for process in theirs:
                process.terminate()
        if killed == "its group":
            os.killpg(grader.pid, signal.SIGKILL)
        grader.kill()
    assert psutil.wait_procs(theirs, timeout=10)[1] == []
    assert list(tmp_path.iterdir()) == []


# --- the result's memory --------------------------------------------------------------------------


def test_nobody_can_write_to_the_result_after_the_run(only):
    with Arena(CASE) as arena:
        assert run_in(arena, only("all"), "return x").end == "exited"
        with pytest.raises(PermissionError):
            mmap.mmap(arena.fd, arena.size)


def test_a_mapping_that_survives_the_run_is_refused(only):
    """As a process would have it that escaped every guard: here the test itself."""
    with Arena(CASE) as arena, mmap.mmap(arena.fd, arena.size):
        outcome = run_in(arena, only("all"), "return x")
        assert outcome.end == "still_writable"
        check = Judge(submission("return x"), STEP.name).judge(CASE, arena, outcome).check
    assert (check.status, check.kind) == ("refused", "integrity")
    assert check.message == "left something that could still change the result after the run."


def test_memory_shared_with_children_counts():
    """The kernel's limit on a process does not see it; the guard must."""
    script = """
import mmap, os
from autograder.worker.guard import _own_bytes
before = _own_bytes(os.getpid())
memory = mmap.mmap(-1, 64 << 20)
memory.write(bytes(64 << 20))
print(_own_bytes(os.getpid()) - before)
"""
    assert int(in_worker(script)) >= 64 << 20


# --- promises -------------------------------------------------------------------------------------

FAILING = """
import json, os, sys, tempfile
from autograder.worker import guard
class Failing:
    def {method}(self, *_): raise OSError(28, "No space left on device", "unshare")
    def {other}(self, *_): pass
tempfile.tempdir = {folder!r}
print(json.dumps(guard.supervise({{"wall_seconds": 5}}, 0, os.open("/dev/null", 0), Failing())))
"""


def in_worker(script: str) -> str:
    """What a Python prints that may import the worker, as the tests' own process must not."""
    environment = {**os.environ, "PYTHONPATH": str(course.ROOT), "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return done.stdout


@pytest.mark.parametrize(("method", "other"), [("enter", "confine"), ("confine", "enter")])
def test_a_layer_that_fails_in_a_run_stops_it(tmp_path, method, other):
    """The job is empty: had the run gone on to its code, it would have ended otherwise."""
    script = FAILING.format(method=method, other=other, folder=str(tmp_path))
    told = json.loads(in_worker(script))
    assert told["end"] == "not_isolated"
    assert "No space left on device: 'unshare'" in told["output"]
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_not_isolated_ends_the_grading_with_a_reason(only, monkeypatch):
    broken = Outcome("not_isolated", output="[Errno 28] No space left on device: 'unshare'")
    monkeypatch.setattr(sandbox_module, "_outcome", lambda *_: broken)
    with pytest.raises(
        WorkerError, match=r"not begun: \[Errno 28\] No space .* `autograder doctor`"
    ):
        run(only("all"), "pass")


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{}", b"\xff", b'{"end": 1}', b"[" * 100_000, b'{"end": "exited"}']
)
def test_a_guard_that_talks_nonsense_is_a_lost_run(answer):
    assert sandbox_module._outcome(answer) == Outcome("lost")


# --- the probe and doctor -------------------------------------------------------------------------


def test_the_probe_answers_for_every_layer(only):
    layers = only("all").layers()
    assert tuple(layers) == LAYERS
    assert all(layer.on or layer.remark for layer in layers.values())
    assert only("").layers() == {name: Layer(False, "a test left it off") for name in LAYERS}


def test_the_probe_says_what_landlock_cannot_hide_here(only):
    """A rule is for a folder and all below it: a course inside Python's folder stays readable."""
    only("landlock")
    script = """
import torch
from autograder.worker import isolation
isolation.SYSTEM += (str(isolation.PACKAGE.parent),)
print(isolation.Isolation().report()["landlock"])
"""
    found = in_worker(script)
    assert f"solutions/ stays readable, since it lies in {course.ROOT}" in found
    assert "'on': True" in found


def test_doctor_says_what_each_layer_does():
    findings = doctor.isolation(dict.fromkeys(LAYERS, Layer(True, "")))
    assert all(f.ok for f in findings[:-1]) and not any(f.needed for f in findings)
    texts = " ".join(f.text for f in findings)
    assert "a run reads Python and the system only, writes in its own folder only" in texts
    assert "off" not in texts.split()


def test_doctor_says_why_a_layer_is_off_and_what_is_then_open():
    layers = dict.fromkeys(LAYERS, Layer(True, ""))
    layers["landlock"] = Layer(False, "a container forbids it")
    found = next(f for f in doctor.isolation(layers) if not f.ok)
    assert found.text == (
        "Landlock: off, since a container forbids it; a run can read the solutions and the files "
        "of other students, and write where you can"
    )
    layers["landlock"] = Layer(True, "this kernel's version does not cover signals")
    found = next(f for f in doctor.isolation(layers) if "Landlock" in f.text)
    assert found.ok and found.text.endswith("; but this kernel's version does not cover signals")


def test_doctor_prints_the_layers_of_this_machine_and_the_limits_of_all(autograder, only):
    out = " ".join(autograder("doctor").out.split())
    for finding in doctor.isolation(only("all").layers()):
        assert finding.text in out
    assert "belongs in a container or a virtual machine as well" in out
