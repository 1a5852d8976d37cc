"""The function ends the process at once, with success.

step: vector_add
expect: crashed
attack: os._exit(0): silence must not be a pass
"""

import os


def vector_add(x, y):
    os._exit(0)
