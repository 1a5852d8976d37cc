"""A class graded by the jobs of a Slurm array: the same results, whatever jobs are lost.

Slurm has one node here, of Debian's packages `slurm-wlm` and `munge`. It is started and ended by the
test, with all that it keeps in a folder of its own. Where it is not installed, the test is skipped.
"""

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time

import psutil
import pytest
from class_files import EXERCISE, good_class, put, results, solved
from seeds import SEED

from autograder import course

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue")
missing = [name for name in PROGRAMS if shutil.which(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(missing),
        reason=f"no Slurm here ({', '.join(missing)} not found): apt-get install slurm-wlm munge",
    ),
]

CONFIG = """\
ClusterName=course
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
MailProg=/bin/true
MpiDefault=none
# No control groups: a container may have none.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# Two jobs at once, on a machine of one core, too.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=node NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes=node Default=YES
"""
PATIENCE = 100  # seconds, for whatever the test waits for
OTHERS = 14  # students who give each job something to be killed in


def until(holds, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"waited {PATIENCE} s in vain: {what}"
        time.sleep(0.1)


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def kill_processes(array: str, task: str) -> None:
    """What happens to a job that takes more memory than there is."""
    ours = {"SLURM_CONF": os.environ["SLURM_CONF"], "SLURM_ARRAY_JOB_ID": array}
    ours["SLURM_ARRAY_TASK_ID"] = task
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if ours.items() <= process.environ().items():
                process.kill()


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A cluster of one node. Returns what runs one of Slurm's commands and gives what it printed."""
    folder = tmp_path / "slurm"
    for part in ("state", "spool"):
        (folder / part).mkdir(parents=True)
    key, config = folder / "munge.key", folder / "slurm.conf"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    about = {"host": socket.gethostname().split(".")[0], "user": getpass.getuser()}
    config.write_text(CONFIG.format(folder=folder, ports=free_ports(2), **about))
    monkeypatch.setenv("SLURM_CONF", str(config))

    def run(*command: str) -> str:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    running: list[subprocess.Popen] = []

    def start(*daemon: str) -> None:
        with (folder / f"{daemon[0]}.log").open("wb") as log:
            running.append(subprocess.Popen(daemon, stdout=log, stderr=log))

    def alive() -> bool:
        for daemon in running:
            if daemon.poll() is not None:
                log = folder / f"{daemon.args[0]}.log"
                pytest.fail(f"{daemon.args[0]} does not start:\n{log.read_text()}")
        return True

    def idle() -> bool:
        told = subprocess.run(["sinfo", "-h", "-o", "%T"], check=False, capture_output=True)
        return told.stdout.strip() == b"idle"

    munge = folder / "munge.socket"
    files = [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "seed")]
    try:
        # By force, since it wants a socket that every user can reach, and this folder is its owner's.
        start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}", *files)
        until(lambda: alive() and munge.exists(), "munged listens")
        start("slurmctld", "-D")
        start("slurmd", "-D", "-N", "node")
        until(lambda: alive() and idle(), "the node is idle")
        yield run
        run("scancel", "--user", about["user"])
        until(lambda: not run("squeue", "--noheader"), "no job is left")
    finally:
        for daemon in reversed(running):
            daemon.terminate()
            daemon.wait(timeout=30)


def test_jobs_of_an_array_that_are_lost_cost_only_time(slurm, tmp_path):
    for name in ("undisturbed", "class"):
        good_class(tmp_path / name)
        for n in range(OTHERS):
            put(tmp_path / name, f"student {n}", solved() + b"\n" * n)

    def batch(name: str) -> str:
        command = [sys.executable, "-m", "autograder", "batch", str(tmp_path / name)]
        return shlex.join([*command, "--workers", "1", "--seed", str(SEED)])

    subprocess.run(batch("undisturbed"), shell=True, check=True, cwd=course.ROOT)
    expected = results(tmp_path / "undisturbed-results")

    def submit() -> str:
        wrapped = f"{batch('class')} --shard $SLURM_ARRAY_TASK_ID/2"
        options = ("--parsable", f"--chdir={course.ROOT}", f"--output={tmp_path}/%A_%a.txt")
        return slurm("sbatch", "--array=1-2", *options, "--wrap", wrapped)

    def state(job: str) -> str:
        [told] = [w for w in slurm("scontrol", "show", "job", job).split() if "JobState=" in w]
        return told.removeprefix("JobState=")

    def finish(job: str) -> str:
        until(lambda: state(job) not in ("PENDING", "RUNNING", "COMPLETING"), f"{job} ends")
        return state(job)

    kept = tmp_path / "class-results"
    students = sorted(path.name for path in (tmp_path / "class").iterdir())
    shards = {part: students[part - 1 :: 2] for part in (1, 2)}

    def graded(part: int) -> list[str]:
        done = {s for s in shards[part] if (kept / s / f"{EXERCISE}.json").exists()}
        return sorted(done - {"hal"})  # who handed in nothing, which is found before any grading

    array = submit()
    # One is asked to end, as by whoever wants the machine back; the other is not asked.
    ends = {1: lambda: slurm("scancel", f"{array}_1"), 2: lambda: kill_processes(array, "2")}

    def lost() -> bool:
        for part in [part for part in ends if graded(part)]:
            ends.pop(part)()
        return not ends

    until(lost, "a result of each job, and its end")
    assert [finish(f"{array}_{part}") for part in shards] == ["CANCELLED", "FAILED"]
    found = results(kept)  # raises for a file that is not whole
    assert all(found[path] == expected[path] for path in found)
    for part, whole in shards.items():
        assert 0 < len(graded(part)) < len(whole) - 1, "not lost in the middle"
    told = {part: (tmp_path / f"{array}_{part}.txt").read_text() for part in shards}
    assert "interrupted; the same command goes on from here" in told[1]
    assert "interrupted" not in told[2]

    again = submit()
    assert [finish(f"{again}_{part}") for part in shards] == ["COMPLETED", "COMPLETED"]
    assert results(kept) == expected
