"""One timed run per GPU, among all processes of a machine."""

import subprocess
import sys
import threading

from autograder import course
from autograder.gpu_lock import alone

HOLD = """
import sys
sys.path.insert(0, {root!r})
from autograder.gpu_lock import alone
with alone({gpu!r}):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(gpu: str) -> subprocess.Popen:
    """Another process that has a GPU for itself."""
    code = HOLD.format(root=str(course.ROOT), gpu=gpu)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_gpu_is_had_by_one_process_until_it_ends_or_is_killed(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for end in (lambda p: p.stdin.close(), lambda p: p.kill()):
        with hold("GPU-1") as other:
            got = threading.Event()

            def take(got=got):
                with alone("GPU-1"):
                    got.set()

            waiting = threading.Thread(target=take)
            waiting.start()
            with alone("GPU-2"):  # another GPU is free
                assert not got.wait(0.3)
            end(other)
            waiting.join(20)
            assert got.is_set()
