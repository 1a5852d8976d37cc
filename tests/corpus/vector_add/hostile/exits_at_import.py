"""A needed constant ends the process while the module is loaded.

step: vector_add
expect: crashed|error
attack: os._exit(0) at import
"""

import os

BLOCK = os._exit(0)


def vector_add(x, y):
    return x.new_zeros(BLOCK)
