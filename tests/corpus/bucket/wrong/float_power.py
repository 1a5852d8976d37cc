"""A float power of two.

step: bucket
expect: failed
cause: wrong_type
"""

import math


def bucket(M):
    return 2.0 ** math.ceil(math.log2(min(max(M, 16), 4096)))
