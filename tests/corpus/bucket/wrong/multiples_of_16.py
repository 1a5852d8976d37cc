"""Multiples of 16, not powers of two.

step: bucket
expect: failed
cause: bucket_wrong
"""


def bucket(M):
    return min(max((M + 15) // 16 * 16, 16), 4096)
