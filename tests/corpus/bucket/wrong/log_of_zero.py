"""The logarithm of no rows.

step: bucket
expect: error
cause: crashed
"""

import math


def bucket(M):
    return min(max(2 ** math.ceil(math.log2(M)), 16), 4096)
