"""The process that grades, one submission after the other, with a sandbox of its own.

Over a socket come orders (plan.py makes them); back goes one message when it is ready, one for
every case, and one when a result file is written. It ends when the socket does: whoever started it
may be gone. Must never let one submission's trouble end it.
"""

import json
import os
import queue
import socket
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from autograder import grading
from autograder.batch import record, similar
from autograder.batch.plan import steps_of
from autograder.batch.record import Record
from autograder.environment import describe
from autograder.gpu import has_gpu
from autograder.result import Grading
from autograder.sandbox import Sandbox, WorkerError
from autograder.submission import BadInput, Submission, read


def main(fd: int, gpu: bool) -> None:
    """Serves until the socket is closed; `gpu`: kernels run on this machine's."""
    with Connection(fd) as connection:
        if gpu and not has_gpu():
            _say(
                connection, broken=f"--device cuda: no GPU found on {socket.gethostname()}; use cpu"
            )
            return
        try:
            with Sandbox(gpu=gpu) as sandbox:
                sandbox.wait_until_ready()
                _say(connection, ready=True)
                _serve(connection, sandbox)
        except WorkerError as error:
            _say(connection, broken=str(error))


def _serve(connection: Connection, sandbox: Sandbox) -> None:
    orders: queue.SimpleQueue[dict] = queue.SimpleQueue()
    saving = threading.Lock()

    def listen() -> None:
        try:
            while True:
                orders.put(json.loads(connection.recv_bytes()))
        except (EOFError, OSError):
            saving.acquire()  # for good: the run that is ended here looks like one that crashed
            sandbox.close()
            os._exit(0)  # in the middle of a submission, too: nobody waits for it

    threading.Thread(target=listen, daemon=True).start()
    while True:
        order = orders.get()
        found = grade(order, sandbox, lambda *_: _say(connection, at_work=True))
        with saving:
            record.save(Path(order["record"]), found)
        _say(connection, state=found.state)


def _say(connection: Connection, **told) -> None:
    try:
        connection.send_bytes(json.dumps(told).encode())
    except OSError:
        pass  # the listener sees the same and ends this process


def grade(order: dict, sandbox: Sandbox, heard=lambda *_: None) -> Record:
    """Grades the file of an order. Raises WorkerError when nothing can be graded here."""
    about = about_of(order)
    try:
        submission = _read(Path(order["folder"], order["file"]))
    except BadInput as error:
        return Record(**about, state="unreadable", reason=str(error))
    submission.path = Path(order["file"])
    basis = order["basis"]
    settings = grading.Settings(basis["seed"], basis["timeout"], basis["speed"], at_once=1)
    try:
        steps = steps_of(order["exercise"])
        result = grading.grade_submission(submission, steps, sandbox, settings, heard)
        tokens = similar.tokens(submission, order["exercise"])
    except WorkerError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the class goes on
        reason = f"the grader failed on it ({type(error).__name__}: {error}); please report this"
        return Record(**about, state="failed", reason=reason)
    whole = Grading(settings.seed, describe(basis["gpu"]), [result])
    return record.graded(whole, **about, tokens=tokens)


def about_of(order: dict) -> dict:
    """The fields of a record that do not depend on the grading."""
    return {
        "student": order["student"],
        "exercise": order["exercise"],
        "file": order["file"],
        "notes": order["notes"],
        "basis": order["basis"],
        "max_points": sum(order["basis"]["points"].values()),
    }


def _read(path: Path) -> Submission:
    """As submission.read, with messages that begin behind the path."""
    try:
        return read(path)
    except BadInput as error:
        raise BadInput(str(error).removeprefix(f"{path}: ")) from None
