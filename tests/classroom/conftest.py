"""The class that several tests look at: graded once, with the worker of the other tests."""

import pytest
from school import Class, hold_class

from autograder.classroom import converting


@pytest.fixture(scope="session")
def one_worker(sandbox):
    """nbgrader's commands run in this process; a worker of their own would load torch again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(converting, "_sandbox", lambda: sandbox)
        yield


@pytest.fixture(scope="session")
def school(tmp_path_factory, one_worker) -> Class:
    return hold_class(tmp_path_factory.mktemp("school"))
