"""The autograder of the course. In a notebook: `from autograder import check`.

Importing the package does nothing; the first use of `check` looks for a GPU and, without one,
turns on Triton's interpreter. That must happen before triton is imported.
"""


def __getattr__(name: str):
    if name == "check":
        from autograder.notebook import check

        return check
    raise AttributeError(f"module 'autograder' has no attribute {name!r}")
