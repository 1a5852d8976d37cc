"""All file descriptors are closed, among them those the grader listens on.

step: vector_add
expect: crashed|error|failed|timed_out
attack: os.closerange over everything
"""

import os


def vector_add(x, y):
    os.closerange(0, 65536)
    return x
