"""Reads and writes have names.

step: vector_add_gb_s
expect: passed
"""


def vector_add_gb_s(n, itemsize, ms):
    read = 2 * n * itemsize
    written = n * itemsize
    seconds = ms / 1e3
    return (read + written) / seconds / 1e9
