"""A grader without grading, for tests of what is around it on a cluster.

Dask's processes import this module, so it must be on their path.
"""

import time
from pathlib import Path

from autograder.batch import cluster, record
from autograder.batch.worker import about_of

_supervise = cluster.supervise


class Grader:
    """Gives every submission one point, after a moment in which something can be lost."""

    def grade(self, order: dict) -> str:
        time.sleep(0.3)
        found = record.Record(**about_of(order), state="graded", points=1.0)
        record.save(Path(order["record"]), found)
        return found.state


def supervise(order: dict) -> str:
    """The task of cluster.py, in a process of Dask, with this grader."""
    cluster.Grader = Grader
    return _supervise(order)
