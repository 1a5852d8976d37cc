"""The exponent is returned.

step: bucket
expect: failed
cause: bucket_wrong
"""

import math


def bucket(M):
    return math.ceil(math.log2(min(max(M, 16), 4096)))
