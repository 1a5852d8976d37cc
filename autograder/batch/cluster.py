"""The same work on a cluster, through Dask: processes on this machine, a scheduler that runs, or Slurm.

A task only supervises a worker process of run.py, so that nothing a submission does can end the Dask
worker, whose end would make Dask forget what it has finished. Results go into the result files, which
all machines must see; through Dask goes a word for each. A task that Dask repeats finds its file.
Must never be imported where Dask is not asked for.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from autograder.batch import record
from autograder.batch.plan import Job, Plan
from autograder.batch.record import Record
from autograder.batch.run import Grader
from autograder.batch.worker import about_of
from autograder.sandbox import WorkerError
from autograder.submission import BadInput

REACH_SECONDS = 30  # to find a scheduler
_graders = threading.local()  # of a Dask worker: one for each thread that runs tasks


def grade(
    plan: Plan, jobs: list[Job], where: str, workers: int, heard: Callable[[Job, str], None]
) -> None:
    """Grades submissions on a cluster; `heard` is told of each and its state.

    `where` is `local`, `slurm` (as dask-jobqueue is configured) or the address of a scheduler;
    `workers` is how many the first two start. Raises BadInput when there is no such cluster or when
    it is lost on the way, and WorkerError when a machine of it cannot grade.
    """
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
    except ImportError:
        raise BadInput("--scheduler needs Dask: pip install 'autograder[dask]'") from None

    try:
        cluster = _cluster(where, workers)
        client = Client(cluster or where, timeout=REACH_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise BadInput(f"--scheduler {where}: cannot be reached ({error})") from None
    lost = f"--scheduler {where}: lost on the way; the same command goes on from here"
    try:
        futures = {}
        for job in jobs:
            futures[client.submit(supervise, plan.order(job), pure=False)] = job
        for future in as_completed(list(futures)):
            job = futures.pop(future)
            try:
                state = future.result()
            except KilledWorker:
                state = "failed"
                text = "every Dask worker that tried it was lost"
                about = about_of(plan.order(job))
                record.save(plan.path_of(job), Record(**about, state=state, reason=text))
            except CancelledError:
                raise BadInput(lost) from None
            heard(job, state)
            future.release()
    except OSError as error:
        raise BadInput(f"{lost} ({error})") from None
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def _cluster(where: str, workers: int):
    """A cluster of our own, or None for one that runs somewhere."""
    if where == "local":
        from distributed import LocalCluster

        return LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    if where == "slurm":
        try:
            from dask_jobqueue import SLURMCluster
        except ImportError:
            raise BadInput(
                "--scheduler slurm needs dask-jobqueue: pip install 'autograder[dask]'"
            ) from None
        cluster = SLURMCluster()
        cluster.scale(jobs=workers)
        return cluster
    return None


def supervise(order: dict) -> str:
    """The task: the state of a submission's result file, graded unless the file holds already."""
    known = record.load(Path(order["record"]))
    if known is not None and known.basis == order["basis"] and known.state != "failed":
        return known.state
    if not Path(order["folder"], order["file"]).exists():
        raise WorkerError(
            f"a worker does not see {order['folder']}: all machines of a cluster must share the "
            "file system with the class and its results"
        )
    if not hasattr(_graders, "mine"):
        _graders.mine = Grader()
    return _graders.mine.grade(order)
