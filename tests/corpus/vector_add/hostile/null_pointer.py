"""The function reads address zero through ctypes.

step: vector_add
expect: crashed|error
attack: segmentation fault outside any kernel
"""

import ctypes


def vector_add(x, y):
    return ctypes.string_at(0)
