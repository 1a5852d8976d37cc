"""The class that several tests look at: graded once."""

import pytest
from school import Class, hold_class


@pytest.fixture(scope="session")
def school(tmp_path_factory) -> Class:
    return hold_class(tmp_path_factory.mktemp("school"))
