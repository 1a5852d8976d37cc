"""The nearest power of two, which may be below M.

step: bucket
expect: failed
cause: bucket_wrong
"""

import math


def bucket(M):
    return 2 ** round(math.log2(min(max(M, 16), 4096)))
