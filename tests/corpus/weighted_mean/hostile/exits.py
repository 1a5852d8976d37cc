"""Ends the process.

step: weighted_mean
expect: crashed
attack: an exit code of 0 in place of a result
"""

import os


def weighted_mean(x, v):
    os._exit(0)
