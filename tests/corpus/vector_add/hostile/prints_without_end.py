"""The function prints the same line for a minute.

step: vector_add
expect: timed_out|crashed|error|refused|failed
attack: endless output
"""

import time


def vector_add(x, y):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        print("still adding " * 100)
